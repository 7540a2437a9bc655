"""Average drop and conditional error, and why they are smaller than PM-k's."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.errors import InputError
from helpers.pmk.neighbours import neighbour_averages
from helpers.pmk.record import FrameSets
from helpers.pmk.score import score

from . import oracle

NAMES = ("average_drop", "conditional_error", "set_conditional_error", "worst_conditional_error", "worst_drop")


def frame_sets(case):
    return FrameSets(case["sets"], case["labels"], offsets=case["offsets"], classes=4)


def test_toy_by_hand():
    """a 0/2, b 1/2 after a right anchor, c empty and right, d 0/1 after a wrong one."""
    frames = FrameSets(oracle.SETS, oracle.LABELS, offsets=oracle.OFFSETS)
    found = neighbour_averages(oracle.PREDICTIONS, frames)
    assert found.average_drop.value == (0 + 1 / 2 + 0 - 1) / 4
    assert found.conditional_error.value == 1 / 4
    assert found.set_conditional_error.value == 1 / 4
    assert found.worst_conditional_error.value == 1 / 2
    assert found.worst_drop.value == 1 / 4


@given(st.integers(0, 10_000), st.sampled_from([1, 2, 10]))
def test_equals_the_loop(seed, k):
    case = oracle.random_case(seed)
    near = oracle.within(case["sets"], case["offsets"], k)
    expected = oracle.neighbours(near, case["labels"], case["predictions"])
    found = neighbour_averages(case["predictions"], frame_sets(case), k=k)
    assert found.average_drop.value == pytest.approx(float(expected["average_drop"]), abs=1e-12)
    for name, key in (
        ("conditional_error", "conditional_error"),
        ("set_conditional_error", "conditional_error_of_sets"),
    ):
        value = expected[key]
        assert getattr(found, name).value == (None if value is None else pytest.approx(float(value), abs=1e-12))
    assert found.worst_drop.value == pytest.approx(
        score(case["predictions"], frame_sets(case), k=k).drop.rate, abs=1e-12
    )


@given(st.integers(0, 10_000))
def test_averages_are_never_above_the_worst(seed):
    case = oracle.random_case(seed, anchors=6)
    found = neighbour_averages(case["predictions"], frame_sets(case))
    assert found.average_drop.value <= found.worst_drop.value + 1e-12
    if found.set_conditional_error.value is not None:
        assert found.set_conditional_error.value <= found.worst_conditional_error.value + 1e-12


def test_pooled_frames_can_exceed_the_share_of_lost_sets():
    """One set of three wrong frames beside one of a right frame: 3/4 of the frames, 1/2 of the sets."""
    frames = FrameSets({"v/1": ["v/2", "v/3", "v/4"], "w/1": ["w/2"]}, {"v/1": [0], "w/1": [0]}, classes=2)
    classes = {"v/1": 0, "w/1": 0, "w/2": 0, "v/2": 1, "v/3": 1, "v/4": 1}
    found = neighbour_averages(classes, frames)
    assert (found.conditional_error.value, found.worst_conditional_error.value) == (0.75, 0.5)
    assert found.set_conditional_error.value == 0.5


def test_a_constant_model_drops_nowhere():
    frames = FrameSets(oracle.SETS, oracle.LABELS, offsets=oracle.OFFSETS)
    found = neighbour_averages(dict.fromkeys(frames.frames, 0), frames)
    assert (found.average_drop.value, found.worst_drop.value) == (0.0, 0.0)
    never = neighbour_averages([3] * 2 + [0] + [3] * 6, frames)  # no anchor right
    assert never.conditional_error.value is None
    assert "no right anchor has a similar frame" in never.conditional_error.reason


def test_many_models_at_once():
    case = oracle.random_case(3, anchors=14)
    frames = frame_sets(case)
    models = np.random.default_rng(0).integers(0, 4, size=(2, 2, len(frames.frames)))
    found = neighbour_averages(models, frames)
    for place in np.ndindex(2, 2):
        one = neighbour_averages(models[place], frames)
        for name in NAMES:
            value = getattr(one, name).value
            assert getattr(found, name).value[place] == pytest.approx(np.nan if value is None else value, nan_ok=True)
    json.dumps(found.to_dict(), allow_nan=False)


def test_interval_of_the_average_drop_is_over_sets():
    """120 sets, a quarter loses all ten frames: as uncertain as 120 coins of 1/4, not as 1,200."""
    sets = {f"v{i}/{10}": [f"v{i}/{10 + d}" for d in range(1, 11)] for i in range(120)}
    frames = FrameSets(sets, {anchor: [0] for anchor in sets}, classes=2)
    classes = np.zeros(len(frames.frames), dtype=int)
    classes[frames.member[frames.row % 4 == 0]] = 1
    found = neighbour_averages(classes, frames)
    sd = np.sqrt(0.25 * 0.75 / 120)
    for average in (found.average_drop, found.conditional_error, found.worst_drop):
        assert average.value == 0.25
        assert average.interval[1] - average.interval[0] == pytest.approx(2 * 1.96 * sd, rel=0.12)


def test_groups_make_intervals_wider():
    """Four anchors of a clip that fare alike are one. Ends are multiples of 1/200, 4 % of the width."""
    sets = {f"v{i // 4}/{10 * i}": [f"v{i // 4}/{10 * i + 1}"] for i in range(800)}
    groups = {anchor: anchor.split("/")[0] for anchor in sets}
    labels = {anchor: [0] for anchor in sets}
    alone, grouped = (FrameSets(sets, labels, classes=2, groups=g) for g in (None, groups))
    classes = np.zeros(1600, dtype=int)
    classes[800:] = np.arange(800) // 4 % 2  # whole clips fail
    narrow, wide = (neighbour_averages(classes, f).average_drop for f in (alone, grouped))
    assert (narrow.value, wide.value, narrow.n, wide.n) == (0.5, 0.5, 800, 200)
    ratio = (wide.interval[1] - wide.interval[0]) / (narrow.interval[1] - narrow.interval[0])
    assert ratio == pytest.approx(2.0, rel=0.15)


def test_missing_predictions():
    frames = FrameSets(oracle.SETS, oracle.LABELS, offsets=oracle.OFFSETS)
    absent = {key: value for key, value in oracle.PREDICTIONS.items() if key not in ("b+1", "d")}
    with pytest.raises(InputError, match="none for 2 of 9"):
        neighbour_averages(absent, frames)
    skipped = neighbour_averages(absent, frames, missing="skip")
    assert (skipped.average_drop.value, skipped.average_drop.n) == (0.0, 3)
    wrong = neighbour_averages(absent, frames, missing="wrong")
    assert wrong.average_drop.value == -1 / 8
