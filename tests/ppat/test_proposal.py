"""Scores in closed form against quadrature and sums, and the law that mixes them with uniform draws."""

import json

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from helpers.errors import InputError
from helpers.ppat import proposal
from helpers.ppat.proposal import Moments

SCORES = [1, 0.5, 2, 0.5, 1, 3]
#: Losses and proxy losses of the specification's pool of six.
LOSS, PROXY = np.array([1, 0.2, 2.5, 0.4, 0.9, 3]), np.array([0.8, 0.3, 2, 0.5, 1.2, 2.6])
numbers = st.floats(-3, 3)


def test_gaussian_golden():
    assert proposal.gaussian([0.5], 0.25, [0.3]) == pytest.approx([0.644204936336], abs=1e-11)
    assert proposal.gaussian([0.5], [0.25]) == pytest.approx([0.790569415042], abs=1e-11)


def test_gaussian_against_quadrature():
    """The second moment of (Y - f)^2 - t over 40 Gauss-Hermite nodes, which are exact for polynomials of degree 4."""
    rng = np.random.default_rng(0)
    difference, term = rng.normal(size=200), rng.normal(size=200)
    variance = rng.gamma(1.0, size=200)
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    error = difference[:, None] + np.sqrt(variance)[:, None] * nodes
    second = (error**2 - term[:, None]) ** 2 @ weights / weights.sum()
    assert proposal.gaussian(difference, variance, term) == pytest.approx(np.sqrt(second), rel=1e-12)
    mean = error**2 @ weights / weights.sum()
    moments = Moments.gaussian(difference, variance)
    assert moments.mean == pytest.approx(mean, rel=1e-12)
    assert moments.deviation == pytest.approx(np.sqrt(error**4 @ weights / weights.sum() - mean**2), rel=1e-9)


@given(numbers, st.floats(0, 3), numbers)
def test_a_gaussian_score_is_at_least_the_loss_own_spread(difference, variance, term):
    assert proposal.gaussian([difference], variance, term)[0] >= np.sqrt(2) * variance * (1 - 1e-12) - 1e-300


def test_a_gaussian_score_without_variance_is_the_oracle_of_its_guess():
    assert proposal.gaussian([0.5, -2.0], 0.0, [1.0, 1.0]) == pytest.approx([0.75, 3.0])


def test_categorical_golden():
    losses = -np.log([[0.6, 0.3, 0.1]])
    assert proposal.categorical([[0.2, 0.5, 0.3]], losses, [0.4]) == pytest.approx([1.188104208245], abs=1e-11)
    assert proposal.categorical([[0.2, 0.5, 0.3]], losses) == pytest.approx([1.538679061241], abs=1e-11)


def test_categorical_is_the_sum_over_classes():
    rng = np.random.default_rng(1)
    p, losses, term = rng.dirichlet(np.ones(4), size=50), rng.normal(size=(50, 4)), rng.normal(size=50)
    direct = np.sqrt(np.sum(p * (losses - term[:, None]) ** 2, axis=1))
    assert proposal.categorical(p, losses, term) == pytest.approx(direct, rel=1e-12)
    assert Moments.categorical(p, losses).mean == pytest.approx(np.sum(p * losses, axis=1), rel=1e-12)


def test_categorical_divides_out_what_half_precision_leaves():
    p = np.array([[0.2, 0.5, 0.3]])
    losses = np.array([[1.0, 2.0, 4.0]])
    assert proposal.categorical(1.002 * p, losses) == pytest.approx(proposal.categorical(p, losses), rel=1e-12)


def test_a_large_common_loss_does_not_cancel():
    """Deviation 1 around a mean of 10^9: the difference of second moments would be all rounding."""
    assert proposal.categorical([[0.5, 0.5]], [[1e9 - 1, 1e9 + 1]], 1e9) == pytest.approx([1.0], rel=1e-12)


def test_zero_one_is_categorical():
    rng = np.random.default_rng(2)
    p, predicted, term = rng.dirichlet(np.ones(3), size=30), rng.integers(3, size=30), rng.normal(size=30)
    losses = 1.0 - np.eye(3)[predicted]
    found = proposal.zero_one(p, predicted, term)
    assert found == pytest.approx(proposal.categorical(p, losses, term), rel=1e-9)
    assert proposal.zero_one(p, predicted) == pytest.approx(np.sqrt(1 - p[np.arange(30), predicted]), rel=1e-9)


def test_the_earlier_proposal_is_the_first_moment():
    moments = Moments.gaussian([0.5, -1.0], [0.25, 0.5])
    assert proposal.expected_loss(moments) == pytest.approx([0.5, 1.5])
    assert moments.scores()[0] > proposal.expected_loss(moments)[0]


def test_oracle_and_uniform():
    c = PROXY - PROXY.mean()
    assert proposal.oracle(LOSS, 0.5 * c) == pytest.approx(np.abs(LOSS - 0.5 * c))
    assert proposal.oracle(-LOSS) == pytest.approx(LOSS)
    assert proposal.uniform(3).tolist() == [1.0, 1.0, 1.0]


@given(st.lists(st.floats(0.01, 10), min_size=6, max_size=6), numbers)
def test_no_law_has_less_conditional_variance_than_the_oracle(scores, control):
    """The variance of z/q under q is smallest, (sum |z|)^2 - (sum z)^2, for q in proportion to |z|."""
    z = LOSS - control * (PROXY - PROXY.mean())
    best = proposal.oracle(LOSS, control * (PROXY - PROXY.mean())) + 1e-12

    def variance(values):
        q = proposal.mixture(values, epsilon=0.0)
        return np.sum(z**2 / q) - np.sum(z) ** 2

    assert variance(best) == pytest.approx(np.sum(np.abs(z)) ** 2 - np.sum(z) ** 2, rel=1e-6, abs=1e-8)
    assert variance(scores) >= variance(best) - 1e-8


@given(st.lists(st.floats(0.01, 10), min_size=4, max_size=4))
def test_second_moment_scores_are_best_before_the_loss_is_known(scores):
    """E sum z^2/q over the surrogate is smallest for q in proportion to the root of E z^2."""
    moments = Moments.gaussian([0.1, -0.5, 1.0, 0.0], [0.2, 0.1, 0.4, 0.3])
    best = moments.scores([0.3, -0.2, 0.5, 0.1])
    q = [proposal.mixture(values, epsilon=0.0) for values in (best, scores)]
    assert np.sum(best**2 / q[0]) <= np.sum(best**2 / q[1]) * (1 + 1e-12)


def test_mixture_golden():
    """The three draws of the worked example: points 5, 2, 0."""
    left, q = np.ones(6, dtype=bool), []
    for point in (5, 2, 0):
        q.append(proposal.mixture(SCORES, epsilon=0.1, left=left)[point])
        left[point] = False
    assert q == pytest.approx([0.354166666666667, 0.38, 0.325], abs=1e-12)


@given(
    st.lists(st.floats(0, 1e6), min_size=2, max_size=8).filter(lambda scores: max(scores) > 0),
    st.floats(0.001, 1),
    st.data(),
)
def test_mixture_is_a_law_on_what_is_left(scores, epsilon, data):
    left = np.array(data.draw(st.lists(st.booleans(), min_size=len(scores), max_size=len(scores)).filter(any)))
    law = proposal.mixture(scores, epsilon=epsilon, left=left)
    assert law.sum() == pytest.approx(1.0)
    assert not law[~left].any()
    assert law[left].min() >= epsilon / left.sum() * (1 - 1e-12)


def test_mixture_is_uniform_where_all_scores_left_are_zero():
    left = np.array([False, True, True])
    assert proposal.mixture([1.0, 0.0, 0.0], left=left).tolist() == [0.0, 0.5, 0.5]


def test_mixture_takes_enormous_scores():
    assert proposal.mixture([1e308, 1e308], epsilon=0.0).tolist() == [0.5, 0.5]


def test_torch_tensors_are_taken():
    d, s2 = torch.tensor([0.5, 1.0]), torch.tensor([0.25, 0.5])
    assert proposal.gaussian(d, s2, torch.tensor(0.25)) == pytest.approx(proposal.gaussian([0.5, 1], [0.25, 0.5], 0.25))


def test_repr_names_the_size():
    assert repr(Moments([1.0, 3.0], [0.0, 1.0])) == "Moments(of 2 losses, mean=2)"
    assert json.dumps(Moments([1.0, 3.0], [0.0, 1.0]).scores(1.0).tolist())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: proposal.gaussian([0.5, np.nan], 1.0), r"difference\[1\] is nan"),
        (lambda: proposal.gaussian([0.5, 1.0], [1.0, -1.0]), r"variance\[1\] is -1.0"),
        (lambda: proposal.gaussian([0.5, 1.0], [1.0, 1.0, 1.0]), "variance has 3 values for 2 points"),
        (lambda: proposal.gaussian([0.5, 1.0], 1.0, [0.0]), "control_term has 1 values for 2 points"),
        (lambda: proposal.gaussian([0.5], 1.0, np.inf), r"control_term\[0\] is inf"),
        (lambda: Moments([1.0, 2.0], [1.0]), "mean has 2 values and deviation 1"),
        (lambda: Moments([1.0], [-1.0]), r"deviation\[0\] is -1.0"),
        (lambda: proposal.categorical([[0.2, 0.9]], [[1.0, 2.0]]), r"probabilities\[0\] sums to 1.1"),
        (lambda: proposal.categorical([[-0.2, 1.2]], [[1.0, 2.0]]), r"probabilities\[0, 0\] is -0.2"),
        (lambda: proposal.categorical([[0.5, 0.5]], [[1.0, np.inf]]), r"losses\[0, 1\] is inf"),
        (lambda: proposal.categorical([[0.5, 0.5]], [[1.0]]), r"losses has shape \(1, 1\)"),
        (lambda: proposal.categorical([[np.nan, 0.5]], [[1.0, 1.0]]), r"probabilities\[0, 0\] is nan"),
        (lambda: proposal.zero_one([[0.5, 0.5]], [2]), r"predictions\[0\] is 2"),
        (lambda: proposal.expected_loss(Moments([-1.0], [0.0])), r"mean\[0\] is -1.0"),
        (lambda: proposal.oracle([1.0, 2.0], [1.0, 1.0, 1.0]), "control_term has 3 values"),
        (lambda: proposal.uniform(0), "pool_size is 0"),
        (lambda: proposal.mixture([0.0, 0.0]), "scores are 0 for every point"),
        (lambda: proposal.mixture([1.0, -1.0]), r"scores\[1\] is -1.0"),
        (lambda: proposal.mixture([1.0, np.nan]), r"scores\[1\] is nan"),
        (lambda: proposal.mixture([1.0, 0.0], epsilon=0.0), r"scores\[1\] is 0 and so is epsilon"),
        (lambda: proposal.mixture([1.0, 1.0], epsilon=1.5), "epsilon is 1.5"),
        (lambda: proposal.mixture([1.0, 1.0], epsilon=True), "epsilon is True"),
        (lambda: proposal.mixture([1.0, 1.0], epsilon="a tenth"), "epsilon is 'a tenth'"),
        (lambda: proposal.mixture([1.0, 1.0], left=[False, False]), "left has no True"),
        (lambda: proposal.mixture([1.0, 1.0], left=[True]), r"left has shape \(1,\)"),
        (lambda: proposal.mixture([1.0, 1.0], left=[1, 0]), "left has shape"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(InputError, match=message):
        call()
