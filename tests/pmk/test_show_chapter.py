"""The figures of the chapter: what they say in words, and what they refuse."""

import numpy as np
import pytest

from helpers import pmk
from helpers.errors import InputError
from helpers.pmk import show, synthetic

LINE = pmk.Line(1.1, -0.2, 7, 0.02)


@pytest.fixture(scope="module")
def made():
    return synthetic.clips(60, k=3, beyond=2, seed=1)


@pytest.fixture(scope="module")
def said(made):
    return synthetic.predict(made, seed=1)


@pytest.fixture(scope="module")
def toy():
    return pmk.FrameSets({"v/5": ["v/3", "v/4", "v/6"], "w/1": []}, {"v/5": [0], "w/1": [1]})


def test_a_set_names_its_wrong_frames(toy):
    answers = {"v/5": 1, "v/3": 1, "v/4": 0, "v/6": 1, "w/1": 1}
    figure = show.frame_set(toy, answers, "v/5")
    assert figure.alt == (
        "Frames of one set at their distance from the anchor, 4 with it. Wrong are: -2, the anchor, +1."
    )
    assert show.frame_set(toy, answers, "w/1").alt.endswith("Wrong are: none.")


def test_a_set_that_cannot_be_drawn(toy):
    answers = dict.fromkeys(toy.frames, 0)
    with pytest.raises(InputError, match="frames is a dict: give FrameSets"):
        show.frame_set({"v/5": []}, answers, "v/5")
    with pytest.raises(InputError, match="anchor is 'v/3': the sets have no such anchor"):
        show.frame_set(toy, answers, "v/3")
    bare = pmk.FrameSets({"a": ["b"]}, {"a": [0]})
    with pytest.raises(InputError, match="no offsets"):
        show.frame_set(bare, {"a": 0, "b": 0}, "a")


def test_both_errors_say_both_ends(made, said):
    errors = pmk.offset_errors(said, made.reviewed)
    alt = show.both_errors(errors).alt
    for label, rates in (("all anchors", errors.rates), ("anchors that are right", errors.rates_after_right)):
        assert f"{label}: {rates[0].rate:.1%} at the first offset and {rates[-1].rate:.1%} at the last" in alt
    many = pmk.offset_errors(np.stack([pmk.aligned(said, made.reviewed)] * 2), made.reviewed)
    with pytest.raises(InputError, match="errors is of several models"):
        show.both_errors(many)


def test_both_errors_without_a_right_anchor(toy):
    errors = pmk.offset_errors(dict.fromkeys(toy.frames, 1), toy)
    alt = show.both_errors(errors).alt
    assert "all anchors: 100.0%" in alt
    assert "anchors that are right" not in alt


def test_smoothing_says_where_it_ends(made, said):
    effects = pmk.smoothing_effect(said, made.reviewed, windows=[1, 3, 5], places=made.places)
    alt = show.smoothing(effects).alt
    rates = {(row.window, row.mode): row.score for row in effects}
    assert f"{rates[1, 'centred'].perturbed.rate:.3f} without smoothing" in alt
    for mode in ("centred", "causal"):
        assert f"{mode} {rates[5, mode].perturbed.rate:.3f} with 5" in alt
    assert f"it is {rates[1, 'centred'].original.rate:.3f}." in alt
    for part in (effects[:1], effects[1:]):
        with pytest.raises(InputError, match="effects needs window 1 and a larger one"):
            show.smoothing(part)
    scores = np.stack([said.values] * 2)
    with pytest.raises(InputError, match="effects is of several models: draw one"):
        show.smoothing(pmk.smoothing_effect(scores, made.reviewed, windows=[1, 3], places=made.places))


def test_scatter_says_counts_and_line():
    bed = pmk.Testbed("s", 100, ("m1", "m2"), np.array([60, 80]), np.array([40, 70]))
    figure = show.scatter({"ours": bed.points()}, LINE)
    assert "ours (2), such as m1: 0.600 and 0.400" in figure.alt
    assert "The line is 1.100 x -0.200, of 7 models." in figure.alt
    assert "The line" not in show.scatter({"ours": bed.points()}).alt
    with pytest.raises(InputError, match="series has 5 kinds"):
        show.scatter({str(i): bed.points() for i in range(5)})
    with pytest.raises(InputError, match="series has 1 kinds: draw 1 to 4, each with a model"):
        show.scatter({"none": ()})
    with pytest.raises(InputError, match="series has 0 kinds"):
        show.scatter({})


def test_scatter_of_many(made):
    n = 60
    bed = pmk.Testbed("s", 100, tuple(map(str, range(n))), np.arange(n) + 20, np.arange(n))
    assert f"all ({n})" in show.scatter({"all": bed.points()}, bed.line()).alt
