"""Orders: worked examples E11 and E12, all paths by enumeration, and how good the heuristic is where truth is known."""

import itertools
import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.cl import orders
from helpers.cl.orders import order_sensitivity, paths
from helpers.errors import InputError

E11 = [[80, 70, 60], [82, 64, 66], [78, 73, 63]]
E12 = [[0, 1, 4, 6], [1, 0, 2, 5], [4, 2, 0, 3], [6, 5, 3, 0]]


def test_worked_example_11():
    found = order_sensitivity(E11)
    assert [value.value for value in found.opd] == [4.0, 9.0, 6.0]
    assert (found.mopd.value, found.aopd.value) == (9.0, pytest.approx(6.333, abs=5e-4))
    assert [found.opd[0].id, found.mopd.id, found.aopd.id] == ["opd", "mopd", "aopd"]
    assert {found.opd[0].direction, found.mopd.direction, found.aopd.direction} == {"lower"}
    assert (found.opd[0].coverage, found.mopd.coverage) == ((3, 3), (3, 3))
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["mopd"]["value"] == 9.0


def test_seeds_are_averaged_before_orders_are_compared():
    """The range over single runs would be 20."""
    found = order_sensitivity([[[70.0], [90.0]], [[78.0], [86.0]]])
    assert found.mopd.value == 2.0


def test_orders_may_have_unlike_numbers_of_seeds():
    found = order_sensitivity({"a": [[70, 50], [90, 54]], "b": [82, 50]})
    assert [value.value for value in found.opd] == [2.0, 2.0]
    assert found.orders == ("a", "b")


def test_scores_by_position_are_brought_to_tasks():
    """Under the second order task 2 was trained first, then 0, then 1: its scores by position are 63, 82, 64."""
    by_task = order_sensitivity({"a": [80, 70, 60], "b": [82, 64, 63]})
    by_position = order_sensitivity(
        {"a": [80, 70, 60], "b": [63, 82, 64]}, permutations={"a": [0, 1, 2], "b": [2, 0, 1]}
    )
    assert by_position == by_task
    assert order_sensitivity([[80, 70, 60], [63, 82, 64]], permutations={0: [0, 1, 2], 1: [2, 0, 1]}).mopd.value == 6.0


def test_one_order_has_no_range():
    found = order_sensitivity([[80, 70]])
    assert (found.mopd.value, found.aopd.value, found.opd[0].value) == (None, None, None)
    assert found.mopd.reason == "one order: a range needs two"
    assert found.opd[0].coverage == (1, 2)


def test_a_missing_score_leaves_its_task_undefined():
    found = order_sensitivity({"a": [80, None], "b": [82, 64], "c": [78, 73]})
    assert (found.opd[0].value, found.opd[1].value, found.mopd.value) == (4.0, None, None)
    assert (found.opd[1].coverage, found.aopd.coverage) == ((2, 3), (1, 2))
    assert found.aopd.reason == "task 1 lacks a score under order 'a'"


def test_few_orders_are_warned_of():
    assert "3 orders" in order_sensitivity(E11).warnings[0]
    assert order_sensitivity([[float(i), 0.0] for i in range(5)]).warnings == ()


@pytest.mark.parametrize(
    ("scores", "permutations", "message"),
    [
        ([80, 70], None, "scores has shape (2,): give (orders, tasks) or (orders, seeds, tasks)"),
        ({}, None, "scores is empty"),
        ({"a": [80, 70], "b": [80]}, None, "scores['b'] has 1 tasks and scores['a'] 2"),
        ({"a": [80, np.inf]}, None, "scores['a'][1] is inf"),
        ({"a": [80, 70], "b": [80, 70]}, {"a": [0, 1]}, "permutations lacks order 'b'"),
        ({"a": [80, 70], "b": [80, 70]}, {"a": [0, 1], "b": [0, 0]}, "permutations['b'] is [0, 0]"),
    ],
)
def test_order_refusals(scores, permutations, message):
    with pytest.raises(InputError) as refusal:
        order_sensitivity(scores, permutations=permutations)
    assert message in str(refusal.value)


def every_path(d):
    return {
        order: sum(d[a][b] for a, b in itertools.pairwise(order)) for order in itertools.permutations(range(len(d)))
    }


def test_worked_example_12():
    found = paths(E12)
    assert (found.min.order, found.min.length) == ((0, 1, 2, 3), 6.0)
    assert (found.max.order, found.max.length) == ((1, 3, 0, 2), 15.0)
    assert (found.mean, found.min.exact, found.max.exact) == (10.5, True, True)
    assert [value.id for value in found.values] == ["path.min", "path.max", "path.random"]
    assert [value.value for value in found.values] == [6.0, 15.0, 10.5]
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["min"]["how"] == "exact, by dynamic programming"


@given(st.integers(2, 6).flatmap(lambda n: st.lists(st.integers(-9, 9), min_size=n * n, max_size=n * n)))
def test_paths_against_enumeration(flat):
    """Asymmetric distances of any sign; of equal paths the first in lexicographic order."""
    n = math.isqrt(len(flat))
    d = np.array(flat).reshape(n, n)
    lengths = every_path(d)
    found = paths(d, draws=3)
    shortest, longest = min(lengths.values()), max(lengths.values())
    assert (found.min.length, found.max.length) == (shortest, longest)
    assert found.min.order == min(order for order, length in lengths.items() if length == shortest)
    assert found.max.order == min(order for order, length in lengths.items() if length == longest)
    assert found.mean == pytest.approx(np.mean(list(lengths.values())))
    assert all(path.length == lengths[path.order] for path in found.random)


def test_distances_are_taken_from_row_to_column():
    d = [[0, 1, 9], [9, 0, 1], [9, 9, 0]]
    assert (paths(d).min.order, paths(d).min.length) == ((0, 1, 2), 2.0)
    assert paths(np.transpose(d)).min.order == (2, 1, 0)


def test_the_diagonal_is_not_used():
    assert paths(np.array(E12) + 50 * np.eye(4)).mean == 10.5
    assert paths(np.where(np.eye(4, dtype=bool), np.nan, E12)).min.length == 6.0


def test_twelve_tasks_are_exact_and_thirteen_say_that_they_are_not():
    """On a line the shortest path is the line itself: both methods must find it."""
    for n, exact in ((12, True), (13, False)):
        place = np.random.default_rng(1).permutation(n).astype(float)
        found = paths(np.abs(place[:, None] - place), draws=0)
        assert found.min.exact is found.max.exact is exact
        assert found.min.length == n - 1
        assert list(place[list(found.min.order)]) in (sorted(place), sorted(place)[::-1])
        assert ("heuristic" in found.min.how) is not exact
    assert "no longer path was found" in found.max.how


def test_the_heuristic_comes_close_where_the_truth_is_known(monkeypatch):
    """Eight random asymmetric tasks, 10 times: never better than exact, at most 5 % worse, and mostly equal."""
    rng = np.random.default_rng(0)
    distances = [rng.uniform(1, 10, size=(8, 8)) for _ in range(10)]
    exact = [paths(d, draws=0) for d in distances]
    monkeypatch.setattr(orders, "EXACT_TASKS", 0)
    found = [paths(d, draws=0) for d in distances]
    short = np.array([h.min.length / e.min.length for h, e in zip(found, exact, strict=True)])
    long = np.array([h.max.length / e.max.length for h, e in zip(found, exact, strict=True)])
    assert short.min() >= 1 - 1e-12
    assert long.max() <= 1 + 1e-12
    assert short.max() <= 1.05
    assert long.min() >= 0.95
    assert np.mean(np.isclose(short, 1)) >= 0.8
    assert all(sorted(path.order) == list(range(8)) and not path.exact for h in found for path in (h.min, h.max))


def test_random_orders_repeat_by_seed_and_are_uniform():
    """All six orders of three tasks, 1200 draws: each 200 times, sd 12.9, band four of them."""
    d = [[0, 1, 4], [1, 0, 2], [4, 2, 0]]
    found = paths(d, draws=1200, seed=3).random
    assert found == paths(d, draws=1200, seed=3).random
    assert found != paths(d, draws=1200, seed=4).random
    counts = [sum(path.order == order for path in found) for order in itertools.permutations(range(3))]
    assert sum(counts) == 1200
    assert max(abs(count - 200) for count in counts) < 4 * 12.9


@pytest.mark.parametrize(
    ("distances", "options", "message"),
    [
        ([[0]], {}, "distances has shape (1, 1): give a square matrix of at least two tasks"),
        ([[0, 1]], {}, "distances has shape (1, 2)"),
        ([[0, 1], [np.nan, 0]], {}, "distances[1, 0] is nan"),
        (E12, {"draws": -1}, "draws is -1"),
        (E12, {"seed": -1}, "seed is -1"),
    ],
)
def test_path_refusals(distances, options, message):
    with pytest.raises(InputError) as refusal:
        paths(distances, **options)
    assert message in str(refusal.value)


@pytest.mark.parametrize(
    ("permutations", "message"),
    [
        ({0: [0, 1], 1: [1, 0], 2: [0, 1]}, "permutations has order 2, which scores have not"),
        ({0: [False, True], 1: [1, 0]}, r"permutations\[0\] has shape \(2,\) and type bool: give each of the tasks"),
        ({0: [0, True], 1: [1, 0]}, r"permutations\[0\]\[1\] is True: give each of the tasks 0 to 1 once"),
        ({0: [np.False_, 1], 1: [1, 0]}, r"permutations\[0\]\[0\] is (np\.)?False"),
        ({0: None, 1: [1, 0]}, r"permutations\[0\] has shape \(\) and type object"),
        ([[0, 1], [1, 0]], r"permutations is \[\[0, 1\], \[1, 0\]\]: give a mapping"),
    ],
)
def test_permutations_that_would_pass_or_crash_are_refused(permutations, message):
    with pytest.raises(InputError, match=f"^{message}"):
        order_sensitivity([[1, 2], [3, 4]], permutations=permutations)


def test_truth_values_among_scores_and_endless_distances_are_refused():
    with pytest.raises(InputError, match=r"scores\[0, 0\] is True"):
        order_sensitivity([[True, 2], [3, 4]])
    with pytest.raises(InputError, match=r"distances\[0, 1\] is 1e\+308: give distances of at most 1e\+100"):
        paths([[0, 1e308], [1e308, 0]])
