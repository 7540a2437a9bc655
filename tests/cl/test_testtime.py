"""Test-time adaptation as continual learning."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.cl.testtime import adaptation
from helpers.errors import InputError

STREAM = [0.9, 0.9, 0.3, 0.5, 0.8, 0.8, 0.2, 0.7, 0.8]


def test_online_delay_and_recovery():
    found = adaptation(STREAM, shifts=[2, 6], target=0.75, source_before=0.9, source_after=0.8)
    assert found.online.value == pytest.approx(np.mean(STREAM))
    assert (found.delays, found.delay.value, found.delay.coverage) == ((2, 2), 2.0, (2, 2))
    assert (found.delay.direction, found.delay.unit) == ("lower", "batches")
    assert (found.recovery.id, found.recovery.value) == ("tta.recovery", pytest.approx(-0.1))
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["delays"] == [2, 2]


def test_a_target_for_each_shift():
    assert adaptation(STREAM, shifts=[2, 6], target=[0.5, 0.2]).delays == (1, 0)
    assert adaptation(STREAM, shifts=[0], target=0.9).delays == (0,)


def test_a_shift_that_is_never_adapted_to_leaves_the_mean_undefined():
    found = adaptation(STREAM, shifts=[2, 6], target=[0.75, 0.95])
    assert found.delays == (2, None)
    assert (found.delay.value, found.delay.coverage) == (None, (1, 2))
    assert "the shift at batch 6 has no delay: 0.95 is not reached in 3 batches" in found.delay.reason


def test_batches_before_the_shift_and_after_the_segment_do_not_help():
    """A window over the border would reach .6 at once from the .9 before it."""
    assert adaptation(STREAM, shifts=[2], target=0.6, window=2).delays == (1,)  # (.5 + .8) / 2
    assert adaptation([0.1, 0.1, 0.9, 0.9], shifts=[0, 2], target=0.5).delays == (None, 0)


def test_a_window_needs_its_batches():
    found = adaptation(STREAM, shifts=[2, 6], target=0.1, window=4)
    assert found.delays == (0, None)
    assert "its 3 batches are fewer than the window of 4" in found.delay.reason


def test_a_gap_before_the_target_is_reached():
    gap = adaptation([0.2, None, 0.8], shifts=[0], target=0.7)
    assert gap.delays == (None,)
    assert "batch 1 of the segment was not measured" in gap.delay.reason
    assert gap.online.value is None
    assert adaptation([0.8, None, 0.2], shifts=[0], target=0.7).delays == (0,)


@given(st.lists(st.integers(0, 10), min_size=1, max_size=10), st.integers(0, 10), st.integers(1, 3))
def test_delay_is_the_first_window_that_reaches_the_target(batches, target, window):
    means = [np.mean(batches[m : m + window]) for m in range(len(batches) - window + 1)]
    expected = next((m for m, value in enumerate(means) if value >= target - 1e-9), None)
    assert adaptation(batches, shifts=[0], target=target, window=window).delays == (expected,)


def test_equal_accuracies_reach_their_own_level():
    """The mean of three .01 lies below .01 by a rounding, and so it is for many levels and windows."""
    for level in np.arange(1, 100) / 100:
        for window in (3, 6, 7):
            assert adaptation([level] * 8, shifts=[0], target=level, window=window).delays == (0,)


def test_recovery_needs_both_ends():
    found = adaptation(STREAM, shifts=[2], target=0.5, source_after=0.8).recovery
    assert (found.value, found.coverage, found.reason) == (None, (1, 2), "source_before was not measured")
    none = adaptation(STREAM, shifts=[2], target=0.5).recovery
    assert none.coverage == (0, 2)


def test_sizes_weigh_the_online_accuracy():
    assert adaptation([0.5, 1.0], shifts=[0], target=0.5, sizes=[30, 10]).online.value == pytest.approx(0.625)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"shifts": []}, "shifts is empty: give the first batch"),
        ({"shifts": 3}, "shifts has shape ()"),
        ({"shifts": [True, 3]}, "shifts[0] is True"),
        ({"shifts": [3, 3]}, "shifts[1] is 3: give increasing batches from 0 to 8"),
        ({"shifts": [9]}, "shifts[0] is 9"),
        ({"shifts": [-1]}, "shifts[0] is -1"),
        ({"target": [0.1, 0.2]}, "target has 2 levels for 1 shifts"),
        ({"target": np.nan}, "target[0] is nan"),
        ({"window": 0}, "window is 0"),
        ({"source_before": "high"}, "source_before is 'high'"),
        ({"source_after": np.inf}, "source_after is inf"),
    ],
)
def test_refusals(options, message):
    with pytest.raises(InputError) as refusal:
        adaptation(STREAM, **{"shifts": [2], "target": 0.5, **options})
    assert message in str(refusal.value)
