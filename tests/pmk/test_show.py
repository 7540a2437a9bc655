"""Figures and report of PM-k: what they say in words, and what they refuse."""

import pytest

from helpers import pmk
from helpers.errors import InputError
from helpers.pmk import show

from . import oracle


@pytest.fixture(scope="module")
def scores():
    case = oracle.random_case(5)
    frames = pmk.FrameSets(case["sets"], case["labels"], classes=4)
    return pmk.score(case["predictions"], frames, k=[4, 1, 2])


def test_errors_by_offset_name_the_largest(scores):
    figure = show.errors_by_offset(scores[0])
    worst = max(scores[0].by_offset, key=lambda offset: scores[0].by_offset[offset].rate)
    rate = scores[0].by_offset[worst]
    assert f"The largest is {rate.rate:.1%} at {worst:+d} ({rate.count} of {rate.n})" in figure.alt
    assert f"each of {len(scores[0].by_offset)} offsets" in figure.alt
    assert figure.name == "offsets"


def test_accuracy_by_k_is_drawn_in_order(scores):
    figure = show.accuracy_by_k(scores)
    assert f"{scores[1].perturbed.rate:.3f} at k = 1 to {scores[0].perturbed.rate:.3f} at k = 4" in figure.alt
    assert f"On anchors it is {scores[0].original.rate:.3f}" in figure.alt


def test_figures_that_cannot_be_drawn(scores):
    bare = pmk.score({"a": 0, "b": 0}, pmk.FrameSets({"a": ["b"]}, {"a": [0]}))
    with pytest.raises(InputError, match="no errors by offset"):
        show.errors_by_offset(bare)
    with pytest.raises(InputError, match=r"scores are of k = \[4\]"):
        show.accuracy_by_k(scores[:1])
    with pytest.raises(InputError, match=r"scores are of k = \[None, 4\]"):
        show.accuracy_by_k([bare, scores[0]])


def test_intervals_are_bars_and_none_is_no_bar():
    sets = {f"v{i}/1": [f"v{i}/2"] for i in range(4)}
    groups = {anchor: f"g{i // 2}" for i, anchor in enumerate(sets)}
    frames = pmk.FrameSets(sets, {anchor: [0] for anchor in sets}, groups=groups)
    score = pmk.score(dict.fromkeys(frames.frames, 0), frames)
    assert score.by_offset[1].interval is None
    assert "0.0% at +1 (0 of 4)" in show.errors_by_offset(score).alt


def test_the_report_has_the_accuracy_beside_the_drop(scores):
    page = show.report(scores, title="A model")
    assert page.count("<svg ") == 2
    for name, text in show.lines(scores):
        assert f"<th scope='row'>{name}</th><td>{text}</td>" in page
    assert f"{scores[0].original.count} of 12 anchors are right" in page
    assert "with all similar frames within 4 frames of them." in page
    assert page.count("beyond k = 1 and do not count") == 1


def test_a_report_of_nothing_is_refused():
    with pytest.raises(InputError, match="scores is empty: give at least one"):
        show.report([], title="A model")


def test_lines(scores):
    lines = dict(show.lines(scores))
    rate = scores[1].drop
    assert lines["drop, k = 1"] == (
        f"{rate.rate:.4f} ({rate.count} of 12), 0.95 interval {rate.interval[0]:.4f} to {rate.interval[1]:.4f}"
    )
    assert lines["intervals"] == "Clopper-Pearson, one anchor per group"
    assert "anchors with a label that the model can name" not in lines
