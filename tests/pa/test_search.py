"""The bounds that make a maximum certain are never below the kernel."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import pa
from helpers.pa import inputs, numerics, search

from . import oracle
from .test_agreement import pairs


def prepare(logits, shifted):
    pair = inputs.pair_of(logits, shifted, inputs="logits", chunk=None)
    rows, _ = numerics.profile(pair)
    return search.Bounds.of(rows, pair.k), lambda betas: numerics.moments(pair, betas, pair.xp.float64, curvature=True)


@given(pairs())
def test_profile_matches_its_definitions(pair):
    logits, shifted = pair
    rows, itself = numerics.profile(inputs.pair_of(logits, shifted, inputs="logits", chunk=None))
    alone, _ = numerics.profile(inputs.pair_of(logits, logits, inputs="logits", chunk=None))
    for name in ("gap", "limit", "tied", "shared", "span", "margin", "constant", "step"):
        assert getattr(itself, name) == pytest.approx(getattr(alone, name), abs=1e-12), name
    gap = logits.max(axis=1) + shifted.max(axis=1) - (logits + shifted).max(axis=1)
    tops = [array == array.max(axis=1, keepdims=True) for array in pair]
    assert rows.gap == pytest.approx(gap, abs=1e-12)
    assert np.array_equal(rows.flips, ~np.any(tops[0] & tops[1], axis=1))
    assert np.mean(rows.limit) == pytest.approx(oracle.limit(*pair), abs=1e-12)
    assert rows.span == pytest.approx(np.ptp(logits, axis=1) + np.ptp(shifted, axis=1), abs=1e-12)
    assert np.array_equal(rows.constant, (np.ptp(logits, axis=1) == 0) | (np.ptp(shifted, axis=1) == 0))


@given(pairs(), st.floats(1e-3, 100))
def test_both_ends_bound_the_kernel(pair, beta):
    bounds, _ = prepare(*pair)
    at_beta = oracle.kernel(*pair, beta)
    assert bounds.head(beta) >= at_beta - 1e-9
    assert bounds.tail(beta) >= at_beta - 1e-9
    # decreasing: it bounds everything to the right as well
    assert bounds.tail(beta) >= oracle.kernel(*pair, 3 * beta) - 1e-9


@given(pairs(), st.floats(0, 3), st.floats(0.01, 3), st.lists(st.floats(0, 1), min_size=3, max_size=3))
def test_cells_bound_the_kernel_between_two_betas(pair, low, width, fractions):
    _, evaluate = prepare(*pair)
    samples = search.Samples(evaluate)
    samples.add([low, low + width])
    (bound,) = samples.cell_bounds()
    for fraction in fractions:
        assert oracle.kernel(*pair, low + fraction * width) <= bound + 1e-9


def test_an_unproven_maximum_says_so(bimodal):
    """Without a budget for the proof the search still answers, and admits that it proved nothing."""
    bounds, evaluate = prepare(*bimodal)
    hasty = search.maximise(evaluate, evaluate, bounds, budget=0, wide=True)
    careful = search.maximise(evaluate, evaluate, bounds, budget=400, wide=True)
    assert hasty.bound > hasty.kernel + search.CERTIFIED
    assert not hasty.certified
    assert careful.certified
    assert careful.bound >= careful.kernel


def test_narrow_search_finds_the_same_maximum(noisy):
    bounds, evaluate = prepare(*noisy)
    narrow = search.maximise(evaluate, evaluate, bounds, budget=40, wide=False)
    wide = search.maximise(evaluate, evaluate, bounds, budget=400, wide=True)
    assert narrow.beta == pytest.approx(wide.beta, rel=1e-9)
    assert narrow.certified
    assert narrow.searched[0] > wide.searched[0]


def test_newton_survives_a_bad_start():
    """Started where the kernel is convex the step is replaced by a bisection, never followed downhill."""
    logits = np.array([[4.0, 0.0, 0.0], [0.0, 4.0, 0.0], [4.0, 0.0, 0.0]])
    shifted = logits[[0, 1, 1]]
    _, evaluate = prepare(logits, shifted)
    ((beta, kernel),) = search._newton(
        evaluate, [search.Bracket(math.log(1e-3), math.log(50.0), math.log(0.01), 0.0)], tolerance=1e-6
    )
    assert beta == pytest.approx(pa.agreement(logits, shifted).beta, rel=1e-8)
    assert kernel == pytest.approx(oracle.kernel(logits, shifted, beta), abs=1e-12)
