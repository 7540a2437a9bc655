"""Folding of fine classes, against lists, and the fault of other code: a class that nothing maps to never wins."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from helpers import pmk
from helpers.errors import InputError

from . import oracle

GROUPS = [[0], [1, 2], []]


@pytest.mark.parametrize(("how", "winner"), [("max", 0), ("sum", 1)])
def test_example_e5(how, winner):
    assert pmk.fold([[0.30, 0.26, 0.25, 0.19]], GROUPS, how=how).argmax(axis=1).tolist() == [winner]


def test_example_e5_negative_logits_and_a_tie():
    folded = pmk.fold([[-3.0, -2.0, -2.5], [0.4, 0.4, 0.2]], GROUPS)
    assert folded.argmax(axis=1).tolist() == [1, 0]
    filled_with_zero = np.where(np.isinf(folded), 0.0, folded)
    assert filled_with_zero.argmax(axis=1).tolist() == [2, 0]  # what other code did


@given(st.lists(st.floats(-50, -0.01), min_size=4, max_size=4), st.sampled_from(["max", "sum", "mean", "median"]))
def test_a_class_without_members_never_wins(row, how):
    folded = pmk.fold([row], [[], [0, 1], [], [2, 3], []], how=how)
    assert folded.argmax(axis=1)[0] in (1, 3)
    assert np.isneginf(folded[0, [0, 2, 4]]).all()


@given(st.integers(0, 2**32 - 1), st.sampled_from(["max", "sum", "mean", "median"]))
def test_equals_lists(seed, how):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(5, 9))
    order = rng.permutation(9)
    groups = [order[:3].tolist(), [], order[3:7].tolist(), order[7:8].tolist()]
    folded = pmk.fold(scores, groups, how=how)
    for row, found in zip(scores.tolist(), folded.tolist(), strict=True):
        expected = [-math.inf if one is None else one for one in oracle.fold(row, groups, how)]
        assert found == pytest.approx(expected, rel=1e-12)


def test_tensors_are_taken_and_minus_infinity_is_kept():
    scores = torch.tensor([[0.0, -math.inf, 2.0]], requires_grad=True)
    assert pmk.fold(scores, [[0, 1], [2]], how="sum").tolist() == [[-math.inf, 2.0]]


@pytest.mark.parametrize(
    ("scores", "groups", "how", "message"),
    [
        ([[0.0, math.nan]], [[0], [1]], "max", r"scores\[0, 1\] is nan"),
        ([[0.0, 1.0], [math.inf, 0.0]], [[0], [1]], "max", r"scores\[1, 0\] is inf"),
        ([0.0, 1.0], [[0], [1]], "max", "scores has shape"),
        ([[0.0, 1.0]], [[0], [2]], "max", r"groups\[1\] has 2: of 2 scores a class lies in 0\.\.1"),
        ([[0.0, 1.0]], [[-1]], "max", r"groups\[0\] has -1"),
        ([[0.0, 1.0]], [[0], [1, 0]], "max", r"groups\[1\] has 0, which is in groups\[0\] already"),
        ([[0.0, 1.0]], [[0, 0]], "max", r"groups\[0\] has 0, which is in groups\[0\] already"),
        ([[0.0, 1.0]], [[], []], "max", "no fine class at all"),
        ([[0.0, 1.0]], [0, 1], "max", "groups is no list of lists"),
        ([[0.0, 1.0]], {"0": 0}, "max", "groups is a dict: groups_of makes lists of a class map"),
        ([[0.0, 1.0]], "map.json", "max", "groups is a str"),
        ([[0.0, True]], [[0]], "max", r"scores\[0, 1\] is True: give numbers"),
        ([[0.0, 1.0]], [[0]], "best", "how is 'best': choose one of max, sum, mean, median"),
    ],
)
def test_refusals(scores, groups, how, message):
    with pytest.raises(InputError, match=message):
        pmk.fold(scores, groups, how=how)


def test_class_maps_in_both_directions_agree():
    forth, back = {"7": 2, "8": 2, "404": 0}, {"0": [404], "2": [7, 8]}
    assert pmk.groups_of(forth) == pmk.groups_of(back) == [[404], [], [7, 8]]
    assert pmk.groups_of(forth, classes=5) == [[404], [], [7, 8], [], []]
    assert pmk.groups_of({"0": [1], "1": []}) == [[1], []]


@pytest.mark.parametrize(
    ("class_map", "classes", "message"),
    [
        ({}, None, "class_map is empty"),
        ({"a": 1}, None, "class_map has 'a'"),
        ({"1": -1}, None, "class_map has -1"),
        ({"1": 10**12}, None, "class_map has 1000000000000"),
        ({"99999999999": 0}, None, "class_map has '99999999999'"),
        ({"1": True}, None, "class_map has True"),
        ({"1": 0, "2": [3]}, None, "mixes class numbers and lists"),
        ({"1": 4}, 4, r"coarse class 4, but there are 4: 0\.\.3"),
    ],
)
def test_refused_class_maps(class_map, classes, message):
    with pytest.raises(InputError, match=message):
        pmk.groups_of(class_map, classes=classes)


@pytest.mark.data
def test_the_maps_of_imagenet_vid_robust(shared):
    folder = shared / "data" / "ivr"
    if not folder.is_dir():
        pytest.skip("no ../shared/data/ivr beside the checkout")
    groups = pmk.read_class_map(folder / "class_idx_map.json")
    assert groups == [sorted(group) for group in pmk.read_class_map(folder / "rev_class_idx_map.json")]
    assert (len(groups), sum(map(len, groups))) == (30, 288)


@pytest.mark.parametrize("how", ["sum", "mean"])
def test_half_precision_is_added_in_double(how):
    folded = pmk.fold(np.array([[60000.0, 60000.0]], dtype=np.float16), [[0, 1]], how=how)
    assert folded[0, 0] == (120000.0 if how == "sum" else 60000.0)


def test_scores_that_add_up_to_infinity_are_refused():
    with pytest.raises(InputError, match=r"scores\[1\] come to infinity over groups\[0\]"):
        pmk.fold([[1.0, 1.0], [1.7e308, 1.7e308]], [[0, 1]], how="sum")


@pytest.mark.parametrize(("groups", "how"), [(None, "max"), ([[0]], ["max"]), (3, "sum")])
def test_odd_groups_and_ways_are_refused(groups, how):
    with pytest.raises(InputError, match=r"groups is|how is"):
        pmk.fold([[0.0, 1.0]], groups, how=how)


def test_one_class_under_two_keys_is_refused():
    with pytest.raises(InputError, match="class_map has the class 7 under two keys"):
        pmk.groups_of({"7": 0, "07": 1})


def test_a_fine_class_has_one_coarse_class():
    with pytest.raises(InputError, match="class_map has the fine class 7 in 0 and in 1: give it one place"):
        pmk.groups_of({"0": [404, 7], "1": [7, 8]})
