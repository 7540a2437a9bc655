"""Errors by offset, with both denominators, for one model and for many."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.errors import InputError
from helpers.pmk.offsets import offset_errors
from helpers.pmk.record import FrameSets
from helpers.uncertainty import clopper_pearson

from . import oracle


def frame_sets(case, **more):
    return FrameSets(case["sets"], case["labels"], offsets=case["offsets"], classes=4, **more)


@pytest.fixture
def toy():
    return FrameSets(oracle.SETS, oracle.LABELS, offsets=oracle.OFFSETS)


def table(found, wrong, n):
    return {
        int(d): pair
        for d, *pair in zip(found.offset, getattr(found, wrong).tolist(), getattr(found, n).tolist(), strict=True)
    }


def test_worked_examples_e3_and_e3b(toy):
    found = offset_errors(oracle.PREDICTIONS, toy)
    assert table(found, "wrong_after_right", "n_after_right") == {-2: [0, 1], -1: [0, 1], 1: [1, 2]}
    assert table(found, "wrong", "n") == {-2: [0, 1], -1: [0, 1], 1: [1, 3]}
    assert found.share.tolist() == [0.0, 0.0, 1.0]
    assert found.error.tolist() == [0.0, 0.0, 1 / 3]
    assert found.error_after_right.tolist() == [0.0, 0.0, 0.5]


@given(st.integers(0, 10_000), st.sampled_from([1, 2, 3, 10]))
def test_equals_the_loop(seed, k):
    case = oracle.random_case(seed)
    near = oracle.within(case["sets"], case["offsets"], k)
    offsets = {anchor: [d for d in case["offsets"][anchor] if abs(d) <= k] for anchor in near}
    found = offset_errors(case["predictions"], frame_sets(case), k=k)
    for right_anchors, names in ((True, ("wrong_after_right", "n_after_right")), (False, ("wrong", "n"))):
        expected = oracle.by_offset(near, offsets, case["labels"], case["predictions"], right_anchors=right_anchors)
        assert table(found, *names) == {d: list(pair) for d, pair in expected.items()}


def test_rates_carry_exact_intervals_and_reasons(toy):
    found = offset_errors(oracle.PREDICTIONS, toy, confidence=0.8)
    assert [(rate.count, rate.n) for rate in found.rates] == [(0, 1), (0, 1), (1, 3)]
    assert found.rates[2].interval == clopper_pearson(1, 3, confidence=0.8)
    assert [(rate.count, rate.n) for rate in found.rates_after_right] == [(0, 1), (0, 1), (1, 2)]
    nobody = offset_errors({**oracle.PREDICTIONS, "b": 0}, toy)  # the only anchor with a frame at -2 is wrong
    assert (nobody.rates_after_right[0].rate, nobody.rates_after_right[0].reason) == (None, "no rows to count")
    assert np.isnan(nobody.error_after_right[0])


def test_many_models_at_once_and_pooled(toy):
    rng = np.random.default_rng(0)
    models = rng.integers(0, 4, size=(2, 3, len(toy.frames)))
    found = offset_errors(models, toy)
    assert found.wrong.shape == found.n_after_right.shape == (2, 3, 3)
    assert found.rates is None
    for place in np.ndindex(2, 3):
        one = offset_errors(models[place], toy)
        for name in ("wrong", "n", "wrong_after_right", "n_after_right"):
            assert getattr(found, name)[place].tolist() == getattr(one, name).tolist()
    pooled = found.pooled()
    assert pooled.wrong.tolist() == found.wrong.sum(axis=(0, 1)).tolist()
    assert pooled.n.tolist() == [6, 6, 18]
    assert pooled.share.sum() == pytest.approx(1.0)
    assert (pooled.rates, pooled.rates_after_right) == (None, None)


def test_missing_predictions(toy):
    absent = {key: value for key, value in oracle.PREDICTIONS.items() if key not in ("b+1", "a")}
    with pytest.raises(InputError, match="none for 2 of 9 frames: a, b"):
        offset_errors(absent, toy)
    wrong = offset_errors(absent, toy, missing="wrong")
    assert table(wrong, "wrong", "n") == {-2: [0, 1], -1: [0, 1], 1: [1, 3]}
    assert table(wrong, "wrong_after_right", "n_after_right") == {-2: [0, 1], -1: [0, 0], 1: [1, 1]}
    skipped = offset_errors(absent, toy, missing="skip")  # an anchor takes its set along
    assert table(skipped, "wrong", "n") == {-2: [0, 1], -1: [0, 0], 1: [0, 1]}


def test_groups_are_resampled_together():
    """Twelve clips of two anchors that fare alike: the interval is that of twelve, wider than that of 24."""
    sets = {f"v{i}/{a}": [f"v{i}/{a + 1}"] for i in range(12) for a in (10, 20)}
    labels = {anchor: [0] for anchor in sets}
    groups = {anchor: anchor.split("/")[0] for anchor in sets}
    predictions = {key: 0 for key in sets} | {
        m: int(m.startswith(("v1/", "v2/", "v3/"))) for s in sets.values() for m in s
    }
    frames = FrameSets(sets, labels, groups=groups, classes=2)
    (rate,) = offset_errors(predictions, frames).rates_after_right
    assert (rate.count, rate.n) == (6, 24)
    low, high = rate.interval
    alone = clopper_pearson(6, 24)
    assert low <= 1 / 12 + 1e-9 and high >= 5 / 12 and high - low > alone[1] - alone[0]
    few = FrameSets(
        {a: s for a, s in sets.items() if a[1:].split("/")[0] in "12"},
        {a: [0] for a in sets if a[1:].split("/")[0] in "12"},
        groups={a: g for a, g in groups.items() if g in ("v1", "v2")},
        classes=2,
    )
    (rate,) = offset_errors(predictions, few).rates_after_right
    assert (rate.interval, rate.reason) == (None, "10 groups are needed to resample")


def test_refusals(toy):
    with pytest.raises(InputError, match="frames has no offsets"):
        offset_errors({"a": 0, "x": 0}, FrameSets({"a": ["x"]}, {"a": [0]}))
    with pytest.raises(InputError, match="k is 1: no frame lies so near"):
        offset_errors({"v/1": 0, "v/4": 0}, FrameSets({"v/1": ["v/4"]}, {"v/1": [0]}), k=1)


def test_json(toy):
    found = offset_errors({**oracle.PREDICTIONS, "b": 0}, toy)
    content = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert content["error_after_right"][0] is None
    assert content["rates"][2]["n"] == 3
    assert repr(found) == "OffsetErrors(3 offsets from -2 to 1)"
    assert "rates" in offset_errors([[0] * 9], toy).to_dict()


@pytest.mark.data
def test_worked_example_e12_on_the_real_sets(shared):
    folder = shared / "data" / "ivr"
    if not folder.is_dir():
        pytest.skip("no ivr in ../shared/data")
    sets, labels = (json.loads((folder / f"{name}.json").read_text()) for name in ("pmsets", "labels"))
    # a class of its own for wrong answers: every label set has its first label as the right one
    oracle_classes = {key: 30 if int(key[-11:-5]) % 7 == 0 else labels[key][0] for key in labels}
    frames = FrameSets(sets, labels, classes=31)
    found = offset_errors(oracle_classes, frames)
    after = table(found, "wrong_after_right", "n_after_right")
    assert (after[-10], after[10]) == ([128, 872], [181, 858])
    assert (after[-7][0], after[7][0]) == (0, 0)
    before = [1009, 1010, 1027, 1041, 1046, 1056, 1079, 1084, 1093, 1101]
    behind = [1100, 1088, 1080, 1070, 1063, 1048, 1040, 1027, 1012, 996]
    assert found.n.tolist() == before + behind
