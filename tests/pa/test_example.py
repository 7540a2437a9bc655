"""The record that the book ships: what a fresh rebuild gives, at the chapter's defaults, and loaded without torch."""

import subprocess
import sys
from pathlib import Path

import nbformat
import numpy as np
import pytest

from helpers import pa
from helpers.batch import parameters
from helpers.datasets import digits
from helpers.errors import InputError
from helpers.pa import example
from helpers.pa.record import SHIPPED

ROOT = Path(__file__).resolve().parents[2]
#: Where a rebuild took place, and when, is not what it measured.
CIRCUMSTANCE = {"python", "versions", "hardware", "time"}
# Other CPUs and other numbers of threads add up in another order, and 30 epochs make more of the difference. Seen with
# kernels for SSE, AVX2 and AVX-512, with one thread and two: logits (of up to 20) differ by 0.02 in the median and by
# at most 0.12, agreement by 0.006 nat, and 3 of 597 predictions. About four times that is allowed, and six times the
# largest difference, which hangs on one logit. Another seed lies outside each of these, as a test below shows.
MEDIAN, LARGEST, AGREEMENT, FLIPPED = 0.08, 0.7, 0.024, 12


@pytest.fixture(scope="module")
def shipped():
    return pa.Logits.load("shipped")


@pytest.fixture(scope="module")
def rebuilt(tmp_path_factory):
    """What the one command writes."""
    path = tmp_path_factory.mktemp("new") / "folder" / "pa-digits.npz"
    example.main([str(path)])
    return pa.Logits.load(path)


def differences(one, other):
    """Median and largest difference of the logits, of agreement, and the most predictions that differ."""
    pairs = [(one.logits, other.logits), *((one.shifted[name], other.shifted[name]) for name in one.shifted)]
    apart = np.abs(np.stack([a - b for a, b in pairs]))
    agreed = [[pa.agreement(it.logits, it.shifted[name]).value for name in one.shifted] for it in (one, other)]
    flipped = max((a.argmax(axis=1) != b.argmax(axis=1)).sum() for a, b in pairs)
    return np.median(apart), apart.max(), np.abs(np.subtract(*agreed)).max(), flipped


def test_a_fresh_rebuild_is_what_is_shipped(shipped, rebuilt):
    assert list(shipped.shifted) == list(rebuilt.shifted)
    np.testing.assert_array_equal(shipped.labels, rebuilt.labels)
    median, largest, agreement, flipped = differences(shipped, rebuilt)
    assert median <= MEDIAN and largest <= LARGEST and agreement <= AGREEMENT and flipped <= FLIPPED
    kept = ({k: v for k, v in it.provenance.items() if k not in CIRCUMSTANCE} for it in (shipped, rebuilt))
    assert next(kept) == next(kept)


def test_another_seed_would_be_noticed(shipped):
    split = digits.load(train=example.TRAIN, seed=example.SEED)
    model = example.network("plain", split, epochs=example.EPOCHS, seed=example.SEED + 1)
    other = example.natural_shifts(model, split, example.STRONGEST, levels=example.LEVELS, seed=example.SEED)
    for found, band in zip(differences(shipped, other), (MEDIAN, LARGEST, AGREEMENT, FLIPPED), strict=True):
        assert found > band


def test_what_is_shipped_is_small_and_says_how_it_was_made(shipped):
    assert SHIPPED.stat().st_size < 500_000
    assert SHIPPED.name == "pa-digits.npz"
    assert shipped.provenance["rebuild"] == "python -m helpers.pa.example"
    assert shipped.provenance["digits"] == {"train": 1200, "seed": 0}
    assert shipped.provenance["seed"] == 0
    split = digits.load(**shipped.provenance["digits"])
    np.testing.assert_array_equal(shipped.labels, split.test_labels)
    assert pa.failure_rate(shipped.logits, shipped.labels).rate > 0.95  # its rows are these digits
    strongest = [f"{name} {most:g}" for name, most in example.STRONGEST.items()]
    assert [list(shipped.shifted)[i] for i in (4, 9, 14)] == strongest


def test_its_parameters_are_the_chapters_defaults():
    cells = nbformat.read(ROOT / "notebooks" / "pa.ipynb", as_version=4).cells
    declared = parameters.declared(cells[parameters.find(cells, where="pa")].source, where="pa")
    values = {one.name: one.default for one in declared}
    assert {name: values[f"strongest_{name}"] for name in example.STRONGEST} == example.STRONGEST
    made = (example.TRAIN, example.EPOCHS, example.LEVELS, example.SEED)
    assert made == tuple(values[name] for name in ("train", "epochs", "levels", "seed"))


def test_it_is_loaded_and_scored_without_torch():
    code = """
import sys
from helpers import pa
record = pa.Logits.load("shipped")
print(pa.agreement(record.logits, record.shifted["noise 0.5"]).status, "torch" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["interior", "False"], done.stderr


def test_a_network_depends_on_its_seed_and_its_options():
    split = digits.load(train=200, seed=0)

    def outputs(seed, **options):
        model = example.network("test", split, epochs=1, seed=seed, **options)
        assert not model.training
        return example.natural_shifts(model, split, {"blur": 1.0}, levels=2, seed=0)

    one = outputs(0)
    assert list(one.shifted) == ["blur 0.5", "blur 1"]
    np.testing.assert_array_equal(one.labels, split.test_labels)
    np.testing.assert_array_equal(one.logits, outputs(0).logits)
    assert not np.array_equal(one.logits, outputs(1).logits)
    assert not np.array_equal(one.logits, outputs(0, adversary=lambda model, x, y: 1 - x).logits)


def test_no_level_is_refused():
    split = digits.load(train=1700)
    with pytest.raises(InputError, match="levels is 0"):
        example.natural_shifts(None, split, {"blur": 1.0}, levels=0, seed=0)
