"""Weights, terms and their factors: the identities that everything else rests on."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import ppat
from helpers.errors import InputError
from helpers.ppat.weighting import gamma, increments, lure_weights, prefix_estimates, steps, terms, uniform_q


@st.composite
def runs(draw, least=1):
    """Losses, probabilities that some adaptive proposal could have had, and the size of the pool."""
    size = draw(st.integers(least, 40))
    count = draw(st.integers(least, size))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    q = rng.uniform(0.02, 1, count)
    if count == size:
        q[-1] = 1.0
    return rng.normal(size=count), q, size


@given(runs())
def test_weighted_mean_is_the_mean_of_the_factored_terms(run):
    z, q, size = run
    count = len(z)
    direct = np.mean(lure_weights(q, size) * z)
    a = terms(z, q, size)
    assert np.mean(gamma(steps(count), count, size) * a) == pytest.approx(direct, rel=1e-9, abs=1e-9)


@given(runs())
def test_every_prefix_in_one_pass(run):
    """Each is the weighted mean with the weights of its own length, which differ from those of the whole."""
    z, q, size = run
    found = prefix_estimates(terms(z, q, size), size)
    for count in range(1, len(z) + 1):
        direct = np.mean(lure_weights(q[:count], size) * z[:count])
        assert found[count - 1] == pytest.approx(direct, rel=1e-9, abs=1e-9)


@given(st.integers(1, 300), st.data())
def test_factors_sum_to_the_number_of_labels(size, data):
    count = data.draw(st.integers(1, size))
    factors = gamma(steps(count), count, size)
    assert factors.sum() == pytest.approx(count)
    assert np.all(np.diff(factors) >= 0)
    if 1 < count < size:
        assert factors[0] == pytest.approx((size - count) / (size - 1))
        assert factors[-1] == pytest.approx(size / (size - count + 1))
        assert factors[0] < 1 < factors[-1]


@given(runs())
def test_weights_are_bounded_below(run):
    _, q, size = run
    count = len(q)
    if count == size:
        assert np.array_equal(lure_weights(q, size), np.ones(count))
        return
    bound = (count - steps(count)) / (size - steps(count))
    assert np.all(lure_weights(q, size) >= bound - 1e-12)


@given(st.integers(1, 50), st.data())
def test_uniform_draws_have_weights_of_one(size, data):
    count = data.draw(st.integers(1, size))
    assert ppat.weights(uniform_q(count, size), size) == pytest.approx(np.ones(count), abs=1e-12)


def test_uniform_probabilities():
    assert uniform_q(3, 5) == pytest.approx([1 / 5, 1 / 4, 1 / 3])


def test_terms_by_hand():
    """A_m = (z_m / q_m + what was drawn before) / N."""
    found = terms(np.array([3.0, 1.0, 4.0]), np.array([0.5, 0.25, 0.1]), 10)
    assert found == pytest.approx([6 / 10, (4 + 3) / 10, (40 + 3 + 1) / 10])


def test_leading_axes_are_trials():
    rng = np.random.default_rng(0)
    z, q = rng.normal(size=(2, 3, 7)), rng.uniform(0.1, 1, (2, 3, 7))
    a, v = terms(z, q, 9), lure_weights(q, 9)
    found = prefix_estimates(a, 9)
    for i in np.ndindex(2, 3):
        assert np.array_equal(a[i], terms(z[i], q[i], 9))
        assert np.array_equal(v[i], lure_weights(q[i], 9))
        assert np.array_equal(found[i], prefix_estimates(a[i], 9))


def test_factors_broadcast_over_budgets():
    table = gamma(np.arange(1, 5), np.array([[1], [2], [3], [4]]), 4)
    assert table[0, 0] == 1
    assert table[1, :2] == pytest.approx([4 * 2 / 12, 4 * 2 / 6])
    assert list(table[3]) == [0, 0, 0, 4]


def test_increments():
    assert increments(3, 5) == pytest.approx([1 / 20, 1 / 12, 1 / 6])
    assert increments(2, 2) == pytest.approx([1 / 2, np.inf])


def test_a_large_pool_keeps_its_digits():
    """N = 10^9: products of pool sizes stay far inside the range of floats."""
    size, count = 10**9, 1000
    q = np.full(count, 2.0 / size)
    expected = 1 + (size - count) / (size - steps(count)) * (size / 2 / (size - steps(count) + 1) - 1)
    assert ppat.weights(q, size) == pytest.approx(expected, rel=1e-12)
    z = np.random.default_rng(0).normal(size=count)
    assert prefix_estimates(terms(z, q, size), size)[-1] == pytest.approx(np.mean(expected * z), rel=1e-9)


@pytest.mark.parametrize(
    ("q", "size", "message"),
    [
        ([0.5, 0.0], 4, "q[1] is 0.0: give the probability, in (0, 1]"),
        ([0.5, 1.5], 4, "q[1] is 1.5"),
        ([-0.1], 4, "q[0] is -0.1"),
        ([0.5, float("nan")], 4, "q[1] is nan: give finite numbers"),
        ([0.5, float("inf")], 4, "q[1] is inf"),
        ([], 4, "q has shape (0,)"),
        ([[0.5]], 4, "q has shape (1, 1)"),
        (["half"], 4, "q has shape (1,) and type <U4"),
        ([0.5] * 5, 4, "q has 5 labels and pool_size is 4"),
        ([0.5, 0.5], 2, "q[1] is 0.5: the last point of a pool is drawn with probability 1"),
        ([0.5], 0, "pool_size is 0"),
        ([0.5], 3.5, "pool_size is 3.5"),
        ([0.5], True, "pool_size is True"),
        ([0.5], None, "pool_size is None"),
    ],
)
def test_refusals(q, size, message):
    with pytest.raises(InputError) as refusal:
        ppat.weights(q, size)
    assert message in str(refusal.value)
