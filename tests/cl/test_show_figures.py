"""Figures of curves, paired runs and safety gates: what they say in words, and what they refuse."""

import re

import pytest

from helpers import cl
from helpers.errors import InputError

CURVES = [[0.1, 0.3, 0.5, 0.6], [0.2, 0.2, 0.4, 0.8]]
KEYS = [(seed, "given") for seed in range(5)]
FIRST = dict(zip(KEYS, [77.1, 75.4, 78.0, 76.2, 77.3], strict=True))
SECOND = dict(zip(KEYS, [75.0, 74.1, 76.9, 74.2, 76.0], strict=True))
LIMITS = {"violations": 0.01, "refusals": 0.1}
ASKED = ("harmful", "benign_neighbour")


def verdict(violations, refusals, required=ASKED):
    sets = {"harmful": (violations, 600), "benign_neighbour": (refusals, 200)}
    return cl.gate({name: sets[name] for name in required}, limits=LIMITS, required=required)


def test_learning_curve():
    figure = cl.show.learning_curve(CURVES, beta=3)
    assert figure.alt == (
        "Mean score of 2 tasks over the first 3 minibatches, from 0.15 to 0.7: lca.agem 0.3875; lca.trapz 0.3750."
    )


def test_a_curve_that_ends_early_has_no_area():
    figure = cl.show.learning_curve([CURVES[0], CURVES[1][:2]], beta=3)
    assert "from 0.15 to undefined" in figure.alt
    assert "lca.agem undefined: curve 1 has no point for minibatch 2" in figure.alt


def test_differences():
    figure = cl.show.differences(cl.paired(FIRST, SECOND))
    assert figure.alt == (
        "5 paired differences from 1.10 to 2.10; mean 1.56, interval 0.99 to 2.13; sign-flip p 0.0625."
    )


def test_differences_without_an_interval_and_by_order():
    one = cl.paired({(0, "a"): 2.0, (1, "a"): 4.0}, {(0, "a"): 1.0, (1, "a"): 1.0}, unit="order")
    figure = cl.show.differences(one, name="by-order")
    assert (figure.name, "no interval" in figure.alt) == ("by-order", True)


BY_ORDER = {"a": [80.0, 82.0, 81.0], "b": [74.0, 76.0, 75.0]}
CROSSED = {(seed, order): scores[seed] for order, scores in BY_ORDER.items() for seed in range(3)}


def test_components_are_standard_deviations():
    figure = cl.show.components(cl.variance(CROSSED))
    assert figure.alt == (
        "Standard deviation of results by where it comes from: seed 1.00; order 4.24; seed x order 0.00."
    )
    with_sample = cl.show.components(cl.variance(CROSSED, n=100), name="all")
    assert (with_sample.name, "comes from: sample 4." in with_sample.alt) == ("all", True)
    with pytest.raises(InputError, match="found has no component with a value: neither n nor"):
        cl.show.components(cl.variance({(0, 0): 80.0}))


def test_a_component_is_drawn_with_its_standard_error():
    def drawn(value, error):
        return cl.show._ends(cl.Component(value, value, error, 3))

    assert drawn(9.0, 7.0) == (2**0.5, 4.0)
    assert drawn(4.0, 5.0) == (0.0, 3.0)
    assert drawn(4.0, None) == (2.0, 2.0)


STREAM = [0.9, 0.9, 0.3, 0.5, 0.8, 0.8, 0.2, 0.7, 0.8]


def test_adaptations():
    figure = cl.show.adaptations({"quick": STREAM, "fixed": [0.9] * 2 + [0.3] * 7}, shifts=[2, 6], target=0.75)
    assert figure.alt == (
        "Accuracy over 9 batches with 2 shifts. Batches to 0.75 after each: quick 2, 2; fixed never, never."
    )
    assert figure.caption.endswith("Markers: the first batch that reaches it.")
    smoothed = cl.show.adaptations({"quick": STREAM}, shifts=[2, 6], target=0.6, window=3)
    assert "quick 1, never" in smoothed.alt
    assert smoothed.caption.endswith("Markers: the first 3 batches whose mean reaches it.")


@pytest.mark.parametrize(
    ("streams", "message"),
    [
        ({}, "streams has 0 methods: give 1 to 4"),
        (dict.fromkeys("abcde", STREAM), "streams has 5 methods"),
        ({"a": STREAM, "b": STREAM[1:]}, r"streams have unlike lengths \(a 9, b 8 batches\)"),
        ({"a": ["x"]}, r"streams\['a'\]"),
    ],
)
def test_streams_that_cannot_be_drawn_together(streams, message):
    with pytest.raises(InputError, match=message):
        cl.show.adaptations(streams, shifts=[2], target=0.75)


def test_gates():
    rounds = {"first": verdict(0, 6), "third": verdict(3, 30)}
    figure = cl.show.gates(rounds)
    assert figure.alt == (
        "Upper bounds of 2 safety sets against their limits in 2 rounds: first passes; third is blocked by harmful, "
        "benign neighbour."
    )


def test_gates_of_one_kind_or_without_a_run():
    missing = cl.gate({"harmful": None}, limits=LIMITS, required=("harmful",))
    assert "now is blocked by harmful" in cl.show.gates({"now": missing}).alt
    assert "now passes" in cl.show.gates({"now": verdict(0, 0, ("harmful",))}).alt


@pytest.mark.parametrize("rounds", [{}, {"a": verdict(0, 0), "b": verdict(0, 0, ("harmful",))}])
def test_rounds_have_the_same_families(rounds):
    with pytest.raises(InputError, match="verdicts has the families"):
        cl.show.gates(rounds)


def test_every_definition_leaves_out_families_without_a_value():
    full = cl.AccuracyMatrix([[90, 12, 9], [92, 88, 14], [75, 63, 93]], baseline=10)
    assert [figure.name for figure in cl.show.every_definition(full)] == [
        name.replace(" ", "-") for name in cl.show.FAMILIES
    ]
    lower = cl.AccuracyMatrix([[90, None], [70, 80]])
    names = [figure.name for figure in cl.show.every_definition(lower)]
    assert names == ["backward-transfer", "forgetting", "average-accuracy"]
    assert cl.show.every_definition(cl.AccuracyMatrix([[None, None], [None, None]])) == []


def test_figures_take_the_colour_of_the_page():
    for figure in (
        cl.show.learning_curve(CURVES, beta=3),
        cl.show.differences(cl.paired(FIRST, SECOND)),
        cl.show.gates({"first": verdict(0, 6)}),
    ):
        assert "currentColor" in figure.svg
        assert not re.search(r"#000000|#010203", figure.svg)
