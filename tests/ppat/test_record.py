"""The record of active testing: checked once, saved whole, loaded as it was; and the plain table."""

import json

import numpy as np
import pytest

from helpers import ppat, records
from helpers.errors import InputError
from helpers.ppat.record import SCHEMA

POOL = np.array([0.8, 0.3, 2, 0.5, 1.2, 2.6])
FULL = {
    "loss": [3.0, 2.5, 1.0],
    "q": [0.3541666666666667, 0.38, 0.325],
    "pool_size": 6,
    "proxy_loss": [2.6, 2.0, 0.8],
    "index": [5, 2, 0],
    "pool_proxy_loss": POOL,
}
NAMES = ("loss", "q", "pool_size", "proxy_loss", "proxy_mean", "index", "pool_proxy_loss")


def same(first, second):
    """Whether two records hold the same, to the last bit."""
    for name in NAMES:
        a, b = getattr(first, name), getattr(second, name)
        assert (a is None) == (b is None), name
        if a is not None:
            assert np.array_equal(a, b), name
            assert np.asarray(a).dtype == np.asarray(b).dtype, name
    return first.provenance == second.provenance


@pytest.mark.parametrize("left_out", [(), ("index",), ("index", "pool_proxy_loss"), NAMES[3:]])
def test_round_trip(tmp_path, left_out):
    content = {name: value for name, value in FULL.items() if name not in left_out}
    if "pool_proxy_loss" in left_out and "proxy_loss" in content:
        content["proxy_mean"] = 7.4 / 6
    record = ppat.Labels(**content, provenance=records.provenance(seed=4))
    assert same(ppat.Labels.load(record.save(tmp_path / "labels.npz")), record)


def test_a_record_scores_as_its_arrays_do(tmp_path):
    path = ppat.Labels(**FULL).save(tmp_path / "labels.npz")
    without_index = {name: value for name, value in FULL.items() if name != "index"}
    for control in (1.0, "dagger", "predictable"):
        found = ppat.estimate(**ppat.Labels.load(path).arguments(), control=control)
        assert found == ppat.estimate(**without_index, control=control)


def test_the_mean_comes_from_the_pool():
    record = ppat.Labels(**FULL)
    assert record.proxy_mean == pytest.approx(POOL.mean())
    assert repr(record) == "Labels(3 of 6, mean proxy loss 1.23333)"
    assert repr(ppat.Labels(FULL["loss"], FULL["q"], 6)) == "Labels(3 of 6, no proxy)"


def test_whole_numbers_are_losses_too():
    """Losses of 0 and 1 are often stored as integers."""
    record = ppat.Labels([0, 1, 1], FULL["q"], 6)
    assert record.loss.dtype == np.float64


def test_units_are_in_the_file(tmp_path):
    _, manifest = records.load(ppat.Labels(**FULL).save(tmp_path / "x.npz"), SCHEMA)
    assert manifest["units"]["q"] == "probability"
    assert manifest["pool_size"] == 6
    assert json.loads(json.dumps(manifest)) == manifest


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"loss": [3.0, float("nan"), 1.0]}, "loss[1] is nan"),
        ({"loss": [3.0, 2.5]}, "loss has 2 values and q has 3"),
        ({"q": [0.35, 1.2, 0.3]}, "q[1] is 1.2"),
        ({"pool_size": 2}, "q has 3 labels and pool_size is 2"),
        ({"index": [5, 2, 5]}, "index[2] is 5, as index[0] is: without replacement no point is labelled twice"),
        ({"index": [5, 2, 6]}, "index[2] is 6"),
        ({"index": [5, 2, -1]}, "index[2] is -1"),
        ({"index": [5, 2]}, "index has shape (2,)"),
        ({"index": [5.0, 2.0, 0.0]}, "index has shape (3,) and type float64"),
        ({"proxy_loss": [2.6, 2.0]}, "proxy_loss has 2 values"),
        ({"proxy_loss": [2.6, 2.1, 0.8]}, "proxy_loss[1] is 2.1, but pool_proxy_loss[2], the same point, is 2.0"),
        ({"proxy_mean": 1.3}, "proxy_mean is 1.3, but pool_proxy_loss has mean"),
        ({"pool_proxy_loss": POOL[:5]}, "pool_proxy_loss has 5 values and pool_size is 6"),
        ({"proxy_loss": None}, "proxy_loss is missing, but pool_proxy_loss is given"),
    ],
)
def test_refusals_name_array_and_place(changes, message):
    with pytest.raises(InputError) as refusal:
        ppat.Labels(**{**FULL, **changes})
    assert message in str(refusal.value)


def test_a_file_that_lies_is_refused(tmp_path):
    arrays = {"loss": np.array([1.0, 2.0]), "q": np.array([0.5, 0.5])}
    path = records.save(tmp_path / "x.npz", SCHEMA, arrays, {"pool_size": 1})
    with pytest.raises(InputError, match=r"x\.npz: q has 2 labels and pool_size is 1"):
        ppat.Labels.load(path)
    path = records.save(tmp_path / "x.npz", SCHEMA, arrays, {})
    with pytest.raises(InputError, match=r"pool_size is None"):
        ppat.Labels.load(path)


class TestTable:
    TEXT = "loss,q,proxy_loss\n3,0.3541666666666667,2.6\n2.5,0.38,2\n1,0.325,0.8\n"

    def write(self, folder, text, name="labels.csv"):
        path = folder / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    @pytest.mark.parametrize(
        "text",
        [
            TEXT,
            "\ufeff" + TEXT,
            TEXT.replace("\n", "\r\n"),
            TEXT.rstrip(),
            TEXT.replace("loss,q,proxy_loss", " loss, q ,proxy_loss"),
            "q,proxy_loss,loss\n0.3541666666666667,2.6,3\n\n0.38,2,2.5\n0.325,0.8,1\n",
        ],
    )
    def test_read(self, tmp_path, text):
        found = ppat.read(self.write(tmp_path, text), pool_size=6, pool_proxy_loss=POOL)
        assert same(found, ppat.Labels(**{name: value for name, value in FULL.items() if name != "index"}))

    def test_with_places(self, tmp_path):
        text = "loss,q,proxy_loss,index\n3,0.3541666666666667,2.6,5\n2.5,0.38,2,2\n1,0.325,0.8,0\n"
        assert same(ppat.read(self.write(tmp_path, text), pool_size=6, pool_proxy_loss=POOL), ppat.Labels(**FULL))

    def test_losses_alone(self, tmp_path):
        found = ppat.read(self.write(tmp_path, "loss,q\n1,0.5\n0,1e-1\n"), pool_size=9)
        assert list(found.loss) == [1, 0]
        assert list(found.q) == [0.5, 0.1]
        assert found.proxy_loss is None

    def test_a_record_knows_its_pool(self, tmp_path):
        path = ppat.Labels(**FULL).save(tmp_path / "labels.npz")
        assert same(ppat.read(path), ppat.Labels(**FULL))
        assert same(ppat.read(str(path), pool_size=6, pool_proxy_loss=POOL), ppat.Labels(**FULL))
        for name, value in (("pool_size", 7), ("proxy_mean", 1.3), ("pool_proxy_loss", POOL[:3])):
            with pytest.raises(InputError, match=f"{name} is given, but the record says otherwise"):
                ppat.read(path, **{name: value})
        bare = ppat.Labels(FULL["loss"], FULL["q"], 6).save(tmp_path / "bare.npz")
        with pytest.raises(InputError, match="proxy_mean is given, but the record says otherwise"):
            ppat.read(bare, proxy_mean=1.0)

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("", "line 1: 'loss' is missing: the columns are loss, q and, optionally, proxy_loss, index"),
            ("3,0.5\n", "line 1: 'loss' is missing"),
            ("loss,p\n1,0.5\n", "line 1: 'q' is missing"),
            ("loss,q,weight\n1,0.5,1\n", "line 1: 'weight' is unknown"),
            ("loss,q,q\n1,0.5,0.5\n", "line 1: a name repeats"),
            ("loss,q\n", "holds no line after the header"),
            ("loss,q\n1,0.5\n1\n", "line 3: 1 values, the header has 2"),
            ("loss,q\n1,0.5\n\n1,half\n", "line 4: 'half' is no number"),
            ("loss,q\n1,\n", "line 2: '' is no number"),
            ("loss,q\nnan,0.5\n", "line 2: nan is not finite"),
            ("loss,q\n1,0.5\n-inf,0.5\n", "line 3: -inf is not finite"),
            ("loss,q\n1,0.5\n1,2\n", "q[1] is 2.0"),
            ("loss,q,index\n1,0.5,0.5\n", "index[0] is 0.5: give the place in the pool as a whole number"),
            ("loss,q,index\n1,0.5,1\n1,0.5,1\n", "index[1] is 1, as index[0] is"),
            ("loss,q,proxy_loss\n1,0.5,1\n", "proxy_mean is missing"),
            (b"\xff\xfeloss", "not UTF-8 text"),
        ],
    )
    def test_refusals_name_file_and_line(self, tmp_path, text, message):
        path = self.write(tmp_path, text)
        with pytest.raises(InputError) as refusal:
            ppat.read(path, pool_size=9)
        assert message in str(refusal.value)
        assert str(path) in str(refusal.value)

    def test_a_table_needs_the_size_of_its_pool(self, tmp_path):
        with pytest.raises(InputError, match="pool_size is missing: a table does not say"):
            ppat.read(self.write(tmp_path, self.TEXT), proxy_mean=1.0)

    def test_other_endings(self, tmp_path):
        with pytest.raises(InputError, match=r"labels are read from \.csv and \.npz files"):
            ppat.read(self.write(tmp_path, self.TEXT, "labels.txt"), pool_size=6)

    def test_no_such_file(self, tmp_path):
        with pytest.raises(FileNotFoundError):
            ppat.read(tmp_path / "none.csv", pool_size=6)
