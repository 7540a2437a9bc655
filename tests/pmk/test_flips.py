"""Flip probability and top-5 distance, their ratios to a reference, and flips in clips with ends and holes."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.errors import InputError
from helpers.pmk.flips import flip_probability, flips_in_time, mean_flip_rate, mean_top5_distance, top5_distance
from helpers.pmk.record import FrameSets
from helpers.pmk.timeline import Timeline

from . import oracle

SEQUENCES = st.integers(2, 6).flatmap(
    lambda m: st.lists(st.lists(st.integers(0, 2), min_size=m, max_size=m), min_size=1, max_size=5)
)


def test_worked_example_e9():
    assert flip_probability([[0, 0, 1, 0], [2, 2, 2, 2]]).value == pytest.approx(1 / 3, abs=1e-15)


def test_noise_sequences_are_held_against_the_first_frame():
    """0 1 1 2: three changes of three against the first, two of three against the previous."""
    assert flip_probability([[0, 1, 1, 2]], against="first").value == 1.0
    assert flip_probability([[0, 1, 1, 2]]).value == pytest.approx(2 / 3)
    assert flip_probability([[0, 1, 0, 1]], against="first").value == pytest.approx(2 / 3)


@given(SEQUENCES, st.sampled_from(["previous", "first"]))
def test_equals_the_loop(sequences, against):
    found = flip_probability(sequences, against=against)
    assert found.value == pytest.approx(float(oracle.flip_probability(sequences, against=against)), abs=1e-12)
    assert found.n == len(sequences)


def test_many_models_at_once():
    models = np.random.default_rng(0).integers(0, 2, size=(3, 2, 12, 5))
    found = flip_probability(models)
    assert found.value.shape == found.interval[0].shape == (3, 2)
    for place in np.ndindex(3, 2):
        one = flip_probability(models[place])
        assert found.value[place] == pytest.approx(one.value, abs=1e-12)
        assert (found.interval[0][place], found.interval[1][place]) == pytest.approx(one.interval, abs=1e-12)


def test_interval_is_over_sequences():
    """Half of 200 sequences flip always, half never: the mean is that of 200 coins, sd 0.5 / sqrt(200)."""
    found = flip_probability([[0, 1] * 10] * 100 + [[1] * 20] * 100)
    low, high = found.interval
    assert found.value == 0.5
    assert high - low == pytest.approx(2 * 1.96 * 0.5 / np.sqrt(200), rel=0.1)  # 2,000 resamples know it to 3 %


def test_steady_models_have_no_interval():
    found = flip_probability([[1, 1]] * 20)
    assert (found.value, found.interval) == (0.0, None)
    assert "all groups are alike" in found.reason


@pytest.mark.parametrize(
    ("predictions", "options", "message"),
    [
        ([[0], [1]], {}, r"predictions has shape \(2, 1\): give sequences of at least 2"),
        ([0, 1, 2], {}, r"predictions has shape \(3,\)"),
        ([[0.0, 1.0]], {}, "type float64: give class numbers"),
        ([[0, 1], [0, -1]], {}, r"predictions\[1, 1\] is -1: predict every frame"),
        ([[0, 1], [True, 1]], {}, r"predictions\[1, 0\] is True: give class numbers"),
        ([], {}, "predictions has shape .*: give a class for each frame"),
        (3, {}, "predictions has shape .*: give a class for each frame"),
        ([[0, 1]], {"against": ["first"]}, r"against is \['first'\]"),
        ([[0, 1], [0]], {}, "predictions is no array"),
        ([[0, 1]], {"against": "next"}, "against is 'next': choose one of previous, first"),
        ([[0, 1]], {"confidence": 1.0}, "confidence is 1.0"),
    ],
)
def test_refusals(predictions, options, message):
    with pytest.raises(InputError, match=message):
        flip_probability(predictions, **options)


# --- top-5 distance


@pytest.mark.parametrize(
    ("earlier", "later", "distance"),
    [
        ([0, 1, 2, 3, 4], [0, 1, 2, 3, 4], 0),
        ([0, 1, 2, 3, 4], [0, 2, 1, 3, 4], 2),  # one exchange
        ([0, 1, 2, 3, 4], [0, 1, 2, 3, 9], 1),  # the fifth leaves: one place
        ([0, 1, 2, 3, 4], [9, 0, 1, 2, 3], 5),  # all move down by one
        ([9, 0, 1, 2, 3], [0, 1, 2, 3, 4], 9),  # the first leaves: five places, and four of one
        ([0, 1, 2, 3, 4], [5, 6, 7, 8, 9], 15),
    ],
)
def test_top5_distance_by_hand(earlier, later, distance):
    assert top5_distance([[earlier, later]]).value == distance


RANKINGS = st.integers(2, 4).flatmap(
    lambda m: st.lists(st.lists(st.permutations(list(range(7))), min_size=m, max_size=m), min_size=1, max_size=3)
)


@given(RANKINGS, st.sampled_from(["previous", "first"]))
def test_top5_distance_equals_the_formula(rankings, against):
    found = top5_distance(np.array(rankings)[..., :5], against=against)
    assert found.value == pytest.approx(float(oracle.top5_distance(rankings, against=against)), abs=1e-12)
    assert found.n == len(rankings)


def test_top5_distance_of_scores_and_of_many_models():
    scores = np.random.default_rng(0).normal(size=(2, 12, 4, 9))
    best = np.argsort(-scores, axis=-1, kind="stable")
    found = top5_distance(best[..., :5])
    assert found.value.shape == found.interval[0].shape == (2,)
    for model in range(2):
        assert found.value[model] == pytest.approx(float(oracle.top5_distance(best[model].tolist())))
        assert found.interval[0][model] == pytest.approx(top5_distance(best[model][..., :5]).interval[0], abs=1e-12)


@pytest.mark.parametrize(
    ("predictions", "options", "message"),
    [
        ([[[0, 1, 2, 3], [0, 1, 2, 3]]], {}, r"predictions has shape \(1, 2, 4\): give the five best"),
        ([[[0, 1, 2, 3, 4]]], {}, r"predictions has shape \(1, 1, 5\)"),
        ([[0, 1, 2, 3, 4]] * 2, {}, r"predictions has shape \(2, 5\)"),
        ([[[0, 1, 2, 3, 4], [0, 1, 2, 3, 0]]], {}, r"predictions\[0, 1\] is \[0, 1, 2, 3, 0\]: give five different"),
        ([[[0, 1, 2, 3, 4], [0, 1, 2, 3, -1]]], {}, r"predictions\[0, 1, 4\] is -1"),
        ([[[0, 1, 2, 3, 4]] * 2], {"against": "next"}, "against is 'next'"),
        ([[[0.0, 1, 2, 3, 4]] * 2], {}, "type float64"),
    ],
)
def test_top5_distance_refusals(predictions, options, message):
    with pytest.raises(InputError, match=message):
        top5_distance(predictions, **options)


def test_mean_top5_distance_is_the_mean_of_ratios():
    found = mean_top5_distance({"tilt": 2.0, "noise": np.float64(9.0)}, {"tilt": 4.0, "noise": 3.0})
    assert (found.rates, found.value) == ({"tilt": 0.5, "noise": 3.0}, 1.75)
    assert mean_top5_distance({"a": 15}, {"a": 15}).value == 1.0
    with pytest.raises(InputError, match=r"distances\['a'\] is 15.1: a top-5 distance lies in 0..15"):
        mean_top5_distance({"a": 15.1}, {"a": 1.0})


# --- beside a reference


def test_mean_flip_rate_is_the_mean_of_ratios():
    """Ratios 1/2 and 3; the ratio of the means would be 4/3."""
    found = mean_flip_rate({"tilt": 0.25, "noise": 0.75}, {"tilt": 0.5, "noise": 0.25})
    assert found.rates == {"tilt": 0.5, "noise": 3.0}
    assert found.value == 1.75


def test_a_model_beside_itself_has_rate_one():
    flips = {"tilt": flip_probability([[0, 1, 1], [2, 2, 2]]), "noise": flip_probability([[0, 1, 0]])}
    assert mean_flip_rate(flips, flips).value == 1.0


def test_rare_flips_of_the_reference_still_divide():
    assert mean_flip_rate({"a": 0.001}, {"a": 0.002}).value == 0.5


def test_flip_rates_of_many_models():
    found = mean_flip_rate({"a": np.array([0.1, 0.2]), "b": np.array([0.3, 0.3])}, {"a": 0.2, "b": 0.3})
    assert found.value == pytest.approx([0.75, 1.0])
    assert json.loads(json.dumps(found.to_dict()))["rates"]["b"] == [1.0, 1.0]


def test_a_reference_without_flips_leaves_the_rate_undefined():
    found = mean_flip_rate({"a": 0.1, "b": 0.2}, {"a": 0.0, "b": 0.1})
    assert (found.value, found.rates["a"], found.rates["b"]) == (None, None, 2.0)
    assert found.reason == "the reference has 0 under a, which divides nothing"


@pytest.mark.parametrize(
    ("flips", "reference", "message"),
    [
        ({"a": 0.1}, {"b": 0.1}, r"differ in \['a', 'b'\]"),
        ({}, {}, "at least one"),
        ([0.5], {"a": 0.5}, "flips is a list: give a mapping of perturbation to flip probability"),
        ({"a": 1.5}, {"a": 0.5}, r"flips\['a'\] is 1.5: a flip probability lies in 0..1"),
        ({"a": 0.5}, {"a": -0.1}, r"reference\['a'\] is -0.1"),
        ({"a": 0.5}, {"a": np.array([0.5, 0.5])}, "the reference is one model"),
        ({"a": float("nan")}, {"a": 0.5}, "is nan"),
        ({"a": [0.5, 1.5]}, {"a": 0.5}, r"flips\['a'\]\[1\] is 1.5: a flip probability lies in 0..1"),
        ({"a": [0.5, True]}, {"a": 0.5}, r"flips\['a'\]\[1\] is True"),
        ({"a": None}, {"a": 0.5}, r"flips\['a'\] is nan: a flip probability lies in 0..1"),
        ({"a": "0.5"}, {"a": 0.5}, r"flips\['a'\] has type <U3"),
    ],
)
def test_flip_rate_refusals(flips, reference, message):
    with pytest.raises(InputError, match=message):
        mean_flip_rate(flips, reference)


CLIPS = st.dictionaries(
    st.sampled_from("uvw"), st.dictionaries(st.integers(-3, 6), st.integers(0, 2), min_size=1), min_size=1
)


@given(CLIPS, st.randoms())
def test_flips_in_clips_equal_the_loop(clips, random):
    rows = [("uvw".index(clip), t, c) for clip, numbers in clips.items() for t, c in numbers.items()]
    random.shuffle(rows)
    clip, time, classes = np.array(rows).T
    flips, pairs = oracle.flips_in_time(clips)
    found = flips_in_time(classes, Timeline(clip, time))
    if pairs:
        assert found.value == pytest.approx(flips / pairs, abs=1e-12)
    else:
        assert (found.value, found.interval) == (None, None)
        assert "no two frames follow each other" in found.reason


def test_nothing_is_compared_across_holes_and_clips():
    line = Timeline([0, 0, 0, 1, 1], [1, 2, 4, 5, 6])
    assert flips_in_time([0, 0, 1, 2, 2], line).value == 0.0
    assert flips_in_time([0, 1, 1, 2, 2], line).value == 0.5


def test_flips_of_frame_sets_run_through_the_anchor():
    frames = FrameSets(oracle.SETS, oracle.LABELS, offsets=oracle.OFFSETS)
    classes = [oracle.PREDICTIONS[key] for key in frames.frames]
    # a: 0 0 0, no flip of two; b: b-2 | b b+1, one of one; d: d d+1, one of one
    found = flips_in_time(classes, Timeline.of(frames))
    assert found.value == 0.5
    assert found.n == 3
    many = flips_in_time([classes, [0] * 9], Timeline.of(frames))
    assert many.value.tolist() == [0.5, 0.0]


def test_sets_of_one_group_are_one_unit():
    sets = {f"v{i // 2}/{10 * i}": [f"v{i // 2}/{10 * i + 1}"] for i in range(12)}
    groups = {anchor: anchor.split("/")[0] for anchor in sets}
    labels = {anchor: [0] for anchor in sets}
    alone, grouped = (FrameSets(sets, labels, classes=2, groups=g) for g in (None, groups))
    classes = [0] * 12 + [0, 1] * 6
    assert flips_in_time(classes, Timeline.of(alone)).n == 12
    found = flips_in_time(classes, Timeline.of(grouped))
    assert (found.value, found.n, found.interval) == (0.5, 6, None)


def test_flips_in_clips_refusals():
    with pytest.raises(InputError, match="the timeline has 2 frames"):
        flips_in_time([0, 1, 1], Timeline([0, 0], [1, 2]))
    with pytest.raises(InputError, match=r"predictions\[1\] is -1"):
        flips_in_time([0, -1], Timeline([0, 0], [1, 2]))


def test_json_of_an_average():
    found = flips_in_time([[0, 1], [0, 0]], Timeline([0, 1], [1, 2])).to_dict()
    assert found == {
        "value": [None, None],
        "n": [0, 0],
        "interval": None,
        "reason": "no two frames follow each other",
    }


@pytest.mark.parametrize(
    ("flips", "reference", "said"),
    [
        ([0.1], {"a": 0.1}, "flips is a list"),
        ({"a": 0.1}, 3, "reference is a int"),
        ({"a": 0.1, 1: 0.2}, {"b": 0.1}, "differ in"),
        ({"a": [0.1, 0.2], "b": [0.1]}, {"a": 0.1, "b": 0.2}, r"flips\['b'\] has shape \(1,\)"),
        ({"a": [[0.1], [0.2, 0.3]]}, {"a": 0.1}, r"flips\['a'\] is no array"),
    ],
)
def test_odd_rates_are_refused(flips, reference, said):
    with pytest.raises(InputError, match=said):
        mean_flip_rate(flips, reference)
