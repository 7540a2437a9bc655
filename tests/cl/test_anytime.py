"""Between the ends of tasks: worked example E17, and plain loops over all pairs of evaluations."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.cl.anytime import aaa, min_acc, wc_acc, windowed
from helpers.errors import InputError

# E17: task 0 is evaluated at .9, .4, .7, .8 and task 1 at .85, .6, .82, all after they were learned; task 2 is at .9.
E17 = [[0.9, None, None], [0.4, 0.85, None], [0.7, 0.6, None], [0.8, 0.82, 0.9]]
E17_CURRENT = [1, 2, 2, 2]
E17_ROWS = [[0.9, None, None], [0.5, 0.8, None], [0.8, 0.85, None], [0.6, 0.5, 0.9]]


def test_worked_example_17():
    assert min_acc(E17, E17_CURRENT).value == pytest.approx(0.5)
    assert wc_acc(E17, E17_CURRENT).value == pytest.approx(0.6333, abs=5e-5)
    assert aaa(E17_ROWS, [0, 1, 1, 2]).value == pytest.approx(0.7604, abs=5e-5)


def test_coverage_and_direction():
    assert (min_acc(E17, E17_CURRENT).coverage, wc_acc(E17, E17_CURRENT).coverage) == ((2, 2), (3, 3))
    assert aaa(E17_ROWS, [0, 1, 1, 2]).coverage == (4, 4)
    assert windowed(E17_ROWS[:3], [0, 0, 0]).direction == "lower"
    assert windowed(E17_ROWS[:3], [0, 0, 0], change="rise").direction == "higher"


def test_evaluations_before_a_task_was_learned_do_not_count():
    """While it is trained, a task may be as bad as it likes."""
    log = [[0.1, 0.0], [0.9, 0.0], [0.8, 0.2]]
    assert min_acc(log, [0, 0, 1]).value == 0.8
    assert wc_acc(log, [0, 0, 1]).value == pytest.approx(0.5)


def test_columns_of_tasks_to_come_do_not_count():
    log = [[0.9, 0.0, 0.0], [0.7, 0.8, 0.0]]
    assert min_acc(log, [0, 1]).value == 0.7
    assert aaa(log, [0, 1]).value == pytest.approx((0.9 + 0.75) / 2)


def test_one_task():
    one = min_acc([[0.5], [0.9]], [0, 0])
    assert (one.value, one.coverage) == (None, (0, 0))
    assert "only one task" in one.reason
    assert wc_acc([[0.5], [0.9]], [0, 0]).value == 0.9


def test_undefined_says_which():
    never = min_acc([[0.9, None], [None, 0.5]], [0, 1])
    assert (never.value, never.coverage) == (None, (0, 1))
    assert "task 0 was never evaluated" in never.reason
    assert wc_acc([[0.9, None], [None, 0.5]], [0, 1]).reason == never.reason
    lacking = wc_acc([[0.9, None], [0.8, None]], [0, 1])
    assert (lacking.value, lacking.coverage) == (None, (1, 2))
    assert "the last evaluation lacks task 1" in lacking.reason
    gap = aaa([[0.9, None], [None, 0.5], [None, None]], [0, 1, 1])
    assert (gap.value, gap.coverage) == (None, (1, 3))
    assert "evaluation 1 lacks task 0" in gap.reason
    single = windowed([[0.9, None], [0.8, 0.5]], [0, 1])
    assert (single.id, single.value, single.coverage) == ("wf_w", None, (1, 2))
    assert "task 1 has fewer than two evaluations" in single.reason


def test_a_drop_that_is_made_up_again():
    """The stability gap: no end of a task shows it."""
    log = [[0.9, 0.1], [0.3, 0.6], [0.85, 0.9]]
    assert min_acc(log, [0, 1, 1]).value == 0.3
    assert windowed(log, [0, 1, 1], window=2).value == pytest.approx((0.6 + 0.0) / 2)
    assert windowed(log, [0, 1, 1], window=2, change="rise").value == pytest.approx((0.55 + 0.3) / 2)


@given(
    st.lists(st.tuples(st.integers(0, 10), st.integers(0, 10)), min_size=3, max_size=12),
    st.integers(1, 2),
    st.integers(2, 6),
)
def test_windowed_changes_are_those_of_all_pairs(rows, switch, window):
    """Two tasks, the second from row `switch` on; a pair lies in a window if fewer than `window` rows hold both."""
    current = [0] * switch + [1] * (len(rows) - switch)
    series = [[row[0] for row in rows], [row[1] for row in rows[switch:]]]
    if len(series[1]) < 2:
        return
    pairs = [
        [(one[m], one[n]) for m, n in itertools.combinations(range(len(one)), 2) if n - m < window] for one in series
    ]
    drops = [max(0, *(a - b for a, b in some)) if some else 0 for some in pairs]
    rises = [max(0, *(b - a for a, b in some)) if some else 0 for some in pairs]
    assert windowed(rows, current, window=window).value == pytest.approx(np.mean(drops))
    assert windowed(rows, current, window=window, change="rise").value == pytest.approx(np.mean(rises))
    assert windowed(rows, current, window=window).unit == f"score, window of {window}"


def test_a_window_counts_evaluations_that_were_made():
    assert windowed([[0.9], [None], [None], [0.2]], [0, 0, 0, 0], window=2).value == pytest.approx(0.7)


@pytest.mark.parametrize(
    ("values", "current", "message"),
    [
        ([0.5], [0], "values has shape (1,): give a row for each evaluation"),
        ([[0.5]], [0, 0], "current has shape (2,)"),
        ([[0.5]], [0.0], "current has shape (1,) and type float64"),
        ([[0.5], [0.5]], [0, 1], "current[1] is 1: values has tasks 0 to 0"),
        ([[0.5], [0.5]], [-1, 0], "current[0] is -1"),
        ([[0.5, 0.1]] * 3, [0, 1, 0], "current[2] is 0 after 1: order the columns"),
        ([[0.5, 0.1]] * 3, np.array([0, 1, 0], dtype=np.uint8), "current[2] is 0 after 1: order the columns"),
        ([[0.5, 0.1]] * 2, [True, 1], "current[0] is True: give the number of the task"),
        ([[np.inf]], [0], "values[0, 0] is inf"),
    ],
)
def test_refusals(values, current, message):
    for function in (min_acc, wc_acc, aaa, windowed):
        with pytest.raises(InputError) as refusal:
            function(values, current)
        assert message in str(refusal.value)


def test_options_out_of_range():
    with pytest.raises(InputError, match="window is 1"):
        windowed([[0.5]], [0], window=1)
    with pytest.raises(InputError, match="change is 'fall'"):
        windowed([[0.5]], [0], change="fall")
