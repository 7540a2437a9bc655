"""The record of posterior agreement: checked once, saved whole, loaded as it was."""

import json

import numpy as np
import pytest

from helpers import pa, records
from helpers.errors import InputError
from helpers.pa.record import SCHEMA

CLEAN = np.array([[2.0, 0.5, -1.0], [0.0, 1.5, 0.25]])
SHIFTED = {"noise 0.1": CLEAN[:, ::-1], "blur 2": CLEAN + 1}


@pytest.mark.parametrize("labels", [None, np.array([0, 1]), np.array([2, 0], np.uint8)])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_round_trip(tmp_path, labels, dtype):
    record = pa.Logits(
        CLEAN.astype(dtype),
        {name: array.astype(dtype) for name, array in SHIFTED.items()},
        labels,
        records.provenance(seed=4),
    )
    path = record.save(tmp_path / "digits.npz")
    loaded = pa.Logits.load(path)
    assert loaded.logits.dtype == dtype
    assert np.array_equal(loaded.logits, record.logits)
    assert list(loaded.shifted) == list(SHIFTED)  # in the order of measurement
    for name, array in record.shifted.items():
        assert np.array_equal(loaded.shifted[name], array), name
    if labels is None:
        assert loaded.labels is None
    else:
        assert loaded.labels.dtype == labels.dtype
        assert np.array_equal(loaded.labels, labels)
    assert loaded.provenance == record.provenance


def test_a_loaded_record_scores_as_the_arrays_did(tmp_path, noisy):
    path = pa.Logits(noisy[0], {"noise": noisy[1]}).save(tmp_path / "x.npz")
    loaded = pa.Logits.load(path)
    assert pa.agreement(loaded.logits, loaded.shifted["noise"]).value == pa.agreement(*noisy).value


def test_the_name_of_a_shift_is_free(tmp_path):
    names = ["", "a/b", "Größe 0,1", "logits", "labels", "manifest"]
    record = pa.Logits(CLEAN, {name: CLEAN + i for i, name in enumerate(names)})
    loaded = pa.Logits.load(record.save(tmp_path / "x.npz"))
    assert list(loaded.shifted) == names
    assert np.array_equal(loaded.shifted["manifest"], CLEAN + 5)


def test_units_are_in_the_file(tmp_path):
    path = pa.Logits(CLEAN, {"noise 0.1": CLEAN}, np.array([0, 1])).save(tmp_path / "x.npz")
    _, manifest = records.load(path, SCHEMA)
    assert manifest["units"] == {"logits": "logit", "shifted/noise 0.1": "logit", "labels": "class"}
    assert json.loads(json.dumps(manifest)) == manifest


NAN = float("nan")


@pytest.mark.parametrize(
    ("logits", "shifted", "labels", "message"),
    [
        (CLEAN, {}, None, "array 'shifted/*' is missing"),
        (CLEAN[0], {"a": CLEAN}, None, "array 'logits' has shape (3,)"),
        (CLEAN, {"a": CLEAN[:1]}, None, "array 'shifted/a' has 1 along axis 0 (n), but 'logits' has 2"),
        (CLEAN, {"a": CLEAN, "b": CLEAN[:, :2]}, None, "array 'shifted/b' has 2 along axis 1 (k)"),
        (CLEAN.astype(int), {"a": CLEAN}, None, "array 'logits' has type int64, float is expected"),
        (np.where(CLEAN == 1.5, NAN, CLEAN), {"a": CLEAN}, None, "array 'logits'[1, 1] is nan"),
        (CLEAN, {"a": np.where(CLEAN == -1, np.inf, CLEAN)}, None, "array 'shifted/a'[0, 2] is inf"),
        (CLEAN, {"a": CLEAN}, np.array([0, 1, 2]), "array 'labels' has 3 along axis 0 (n)"),
        (CLEAN, {"a": CLEAN}, np.array([0.0, 1.0]), "array 'labels' has type float64, int is expected"),
        (CLEAN, {"a": CLEAN}, np.array([0, 3]), "labels[1] is 3: with 3 classes a label lies in 0..2"),
        (CLEAN, {"a": CLEAN}, np.array([-1, 0]), "labels[0] is -1"),
    ],
)
def test_refusals_name_array_and_place(logits, shifted, labels, message):
    with pytest.raises(InputError) as refusal:
        pa.Logits(logits, shifted, labels)
    assert message in str(refusal.value)


def test_a_record_of_another_house_is_refused(tmp_path):
    other = records.Schema("tempora-trace", 1, {"size": records.Field("int", ("n",), "count")})
    path = records.save(tmp_path / "x.npz", other, {"size": np.ones(2, int)}, {})
    with pytest.raises(InputError, match="this is a 'tempora-trace' record, a 'pa-logits' record is needed"):
        pa.Logits.load(path)


def test_bad_labels_in_a_file_are_refused(tmp_path):
    """The schema alone allows any whole number; the record knows how many classes there are."""
    arrays = {"logits": CLEAN, "shifted/a": CLEAN, "labels": np.array([0, 7])}
    path = records.save(tmp_path / "x.npz", SCHEMA, arrays, {})
    with pytest.raises(InputError, match=r"labels\[1\] is 7"):
        pa.Logits.load(path)
