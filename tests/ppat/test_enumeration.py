"""Every sequence of tiny pools with its exact probability: bias and variance are known, not simulated."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from helpers import ppat
from helpers.ppat.control import Terms, controlled, unbiased_variance
from helpers.ppat.weighting import gamma, steps

from . import oracle

EXACT = {"rel": 0, "abs": 1e-12}
pools = pytest.mark.parametrize("pool", oracle.POOLS.values(), ids=oracle.POOLS)
proposals = pytest.mark.parametrize("proposal", oracle.PROPOSALS.values(), ids=oracle.PROPOSALS)


class Runs:
    """All sequences of one pool, budget and proposal, as arrays."""

    def __init__(self, pool: oracle.Pool, count: int, proposal: oracle.Proposal) -> None:
        runs = list(oracle.runs(pool, count, proposal))
        self.pool, self.count, self.exact = pool, count, runs
        self.probability = np.array([float(run.probability) for run in runs])
        self.index = np.array([run.index for run in runs])
        self.q = np.array([[float(share) for share in run.q] for run in runs])
        self.loss = np.array([float(x) for x in pool.loss])
        self.proxy = np.array([float(x) for x in pool.proxy])

    def mean(self, values: object) -> float:
        return float(self.probability @ np.asarray(values))

    def terms(self, **options: object) -> Terms:
        """The library's terms of all sequences at once."""
        centred = self.proxy - self.proxy.mean()
        return controlled(
            self.loss[self.index],
            self.q,
            self.pool.size,
            centred=centred[self.index],
            proxy_mean=self.proxy.mean(),
            mean_square=np.mean(centred**2),
            **options,
        )

    def risks(self, **options: object) -> np.ndarray:
        return self.terms(**options).estimate_at(self.count)

    def estimates(self, **options: object) -> list[ppat.Estimate]:
        """The library's public estimate of every sequence."""
        return [
            ppat.estimate(
                self.loss[index],
                q,
                pool_size=self.pool.size,
                proxy_loss=self.proxy[index],
                pool_proxy_loss=self.proxy,
                **options,
            )
            for index, q in zip(self.index, self.q, strict=True)
        ]


@pytest.fixture(scope="module")
def spec_runs():
    return {name: Runs(oracle.SPEC, 3, proposal) for name, proposal in oracle.PROPOSALS.items()}


@pools
@proposals
def test_probabilities_sum_to_one(pool, proposal):
    assert sum(run.probability for run in oracle.runs(pool, 3, proposal)) == 1


@pools
@proposals
@pytest.mark.parametrize("count", [1, 2, 3])
def test_unbiased(pool, proposal, count):
    """Fixed controls, with and without an intercept, and the predictable one at two schedules."""
    runs, risk = Runs(pool, count, proposal), float(pool.risk)
    for control, intercept in product((0.0, 0.5, 1.0, -2.0), (False, True)):
        assert runs.mean(runs.risks(control=control, intercept=intercept)) == pytest.approx(risk, **EXACT)
    for refresh, intercept in product((1, 2), (False, True)):
        found = runs.risks(control="predictable", refresh=refresh, initial_control=0.7, intercept=intercept)
        assert runs.mean(found) == pytest.approx(risk, **EXACT)


@pools
@proposals
def test_the_public_estimate_of_a_sequence_is_the_exact_one(pool, proposal):
    """Not only the means: weights, estimate and control are those of exact arithmetic."""
    for run in list(oracle.runs(pool, 3, proposal))[::7]:
        size = pool.size
        given = {
            "loss": [float(pool.loss[i]) for i in run.index],
            "q": [float(share) for share in run.q],
            "pool_size": size,
            "proxy_loss": [float(pool.proxy[i]) for i in run.index],
            "pool_proxy_loss": [float(x) for x in pool.proxy],
        }
        assert ppat.weights(given["q"], size) == pytest.approx([float(v) for v in oracle.weights(run, size)], **EXACT)
        half = oracle.controlled(pool, Fraction(1, 2))
        found = ppat.estimate(**given, control=0.5)
        assert found.risk == pytest.approx(float(oracle.weighted_mean(half, run, size)), **EXACT)
        dagger = oracle.dagger(pool, run)
        found = ppat.estimate(**given, control="dagger")
        assert found.control == pytest.approx(float(dagger), rel=1e-12)
        exact = float(oracle.weighted_mean(oracle.controlled(pool, dagger), run, size))
        assert found.risk == pytest.approx(exact, rel=1e-11, abs=1e-11)
        for refresh in (1, 2):
            found = ppat.estimate(**given, control="predictable", refresh=refresh, initial_control=0.25)
            exact = float(oracle.predictable(pool, run, refresh, Fraction(1, 4)))
            assert found.risk == pytest.approx(exact, rel=1e-12, abs=1e-12)


@pools
@proposals
def test_two_forms_of_the_estimate_agree_exactly(pool, proposal):
    """The weighted mean, and the mean of gamma A, in rationals, up to the whole pool."""
    for count in (1, 2, 3, pool.size):
        for run in list(oracle.runs(pool, count, proposal))[::7]:
            factors = oracle.gamma(count, pool.size)
            assert sum(factors) == count
            a = oracle.terms(pool.loss, run, pool.size)
            combined = oracle.mean([f * term for f, term in zip(factors, a, strict=True)])
            assert combined == oracle.weighted_mean(pool.loss, run, pool.size)


@proposals
def test_weights_have_mean_one(proposal):
    runs = Runs(oracle.SPEC, 3, proposal)
    mean = runs.probability @ np.array([ppat.weights(q, 5) for q in runs.q])
    assert mean == pytest.approx([1, 1, 1], **EXACT)


@pools
@proposals
def test_the_whole_pool_has_its_mean(pool, proposal):
    size = pool.size
    for run in list(oracle.runs(pool, size, proposal))[::37]:
        loss, proxy = ([float(x[i]) for i in run.index] for x in (pool.loss, pool.proxy))
        for control in (1.0, "star", "dagger", "predictable"):
            for variance in ("plugin", "unbiased"):
                found = ppat.estimate(
                    loss,
                    [float(share) for share in run.q],
                    pool_size=size,
                    proxy_loss=proxy,
                    pool_proxy_loss=[float(x) for x in pool.proxy],
                    control=control,
                    refresh=1,
                    variance=variance,
                )
                assert found.risk == pytest.approx(float(pool.risk), **EXACT)
                assert (found.std_error, found.low, found.high) == (0.0, found.risk, found.risk)


class TestVariance:
    """The finite-sample variance: unbiased under every proposal, whether or not it can be negative."""

    @proposals
    @pytest.mark.parametrize(("pool", "count"), [(oracle.SPEC, 3), (oracle.SEVEN, 3), (oracle.SEVEN, 4)])
    @pytest.mark.parametrize(
        "options",
        [
            {"control": 0.0},
            {"control": 1.0},
            {"control": 0.5, "intercept": True},
            {"control": "predictable", "refresh": 1},
        ],
        ids=str,
    )
    def test_unbiased_variance(self, pool, count, proposal, options):
        runs = Runs(pool, count, proposal)
        run = runs.terms(**options)
        risks = run.estimate_at(count)
        found = unbiased_variance(run.at(count), risks[:, None], gamma(steps(count), count, pool.size) / count)
        true = runs.mean((risks - runs.mean(risks)) ** 2)
        assert runs.mean(found) == pytest.approx(true, **EXACT)

    @proposals
    def test_of_the_public_estimate(self, proposal):
        runs = Runs(oracle.SEVEN, 3, proposal)
        found = runs.estimates(variance="unbiased")
        risks = np.array([estimate.risk for estimate in found])
        true = runs.mean((risks - runs.mean(risks)) ** 2)
        assert runs.mean([estimate.std_error**2 for estimate in found]) == pytest.approx(true, **EXACT)

    @pytest.mark.parametrize(
        ("name", "variance", "ratio"), [("fixed", 0.0185165355, 0.60), ("uniform", 0.0130666667, 0.59)]
    )
    def test_the_specifications_numbers(self, spec_runs, name, variance, ratio):
        """Its other two proposals depend on labels in a way that it does not write down."""
        runs = spec_runs[name]
        found = runs.estimates(control=1.0)
        risks = np.array([estimate.risk for estimate in found])
        true = runs.mean((risks - risks @ runs.probability) ** 2)
        assert true == pytest.approx(variance, abs=1e-10)
        plugin = runs.mean([estimate.std_error**2 for estimate in found])
        assert plugin / true == pytest.approx(ratio, abs=0.005)  # the plug-in understates: printed to two digits

    @pytest.mark.parametrize(
        ("pool", "proposal"), [(oracle.SPEC, oracle.label_adaptive), (oracle.SEVEN, oracle.control_adaptive)]
    )
    def test_rationals(self, pool, proposal):
        """In exact arithmetic the two sides are the same fraction."""
        z, count = oracle.controlled(pool, Fraction(1)), 3
        variance = oracle.expectation(
            pool, count, proposal, lambda run: (oracle.weighted_mean(z, run, pool.size) - pool.risk) ** 2
        )
        estimated = oracle.expectation(
            pool,
            count,
            proposal,
            lambda run: oracle.unbiased_variance(oracle.terms(z, run, pool.size), pool.size),
        )
        assert variance == estimated

    def test_library_and_rationals_agree_on_every_sequence(self):
        z = oracle.controlled(oracle.SEVEN, Fraction(1))
        for proposal in oracle.PROPOSALS.values():
            runs = Runs(oracle.SEVEN, 3, proposal)
            exact = [float(oracle.unbiased_variance(oracle.terms(z, run, 7), 7)) for run in runs.exact]
            assert runs.terms().variance_at(3, "unbiased") == pytest.approx(exact, rel=1e-10)

    def test_where_it_may_be_negative_it_is_undefined(self, spec_runs):
        """N = 5, M = 3, the specification's own example: unbiased, and negative for some sequences."""
        run = spec_runs["fixed"].terms()
        values = unbiased_variance(run.at(3), run.estimate_at(3)[:, None], gamma(steps(3), 3, 5) / 3)
        assert values.min() < 0
        assert np.isnan(run.variance_at(3, "unbiased")).all()


class TestPostHoc:
    """A control that is fitted to the labels it is used on biases the estimate."""

    @pytest.mark.parametrize(("name", "bias"), [("fixed", -0.1282), ("uniform", -0.2716)])
    def test_the_specifications_bias_of_dagger(self, spec_runs, name, bias):
        runs = spec_runs[name]
        assert runs.mean(runs.risks(control="dagger")) - 1.0 == pytest.approx(bias, abs=5e-5)

    @pytest.mark.parametrize("name", oracle.PROPOSALS)
    def test_the_exact_bias_of_dagger(self, spec_runs, name):
        runs = spec_runs[name]
        exact = sum(
            run.probability
            * oracle.weighted_mean(oracle.controlled(oracle.SPEC, oracle.dagger(oracle.SPEC, run)), run, 5)
            for run in runs.exact
        )
        assert exact != oracle.SPEC.risk
        assert runs.mean(runs.risks(control="dagger")) == pytest.approx(float(exact), **EXACT)

    @pytest.mark.parametrize("name", oracle.PROPOSALS)
    def test_star_is_biased_too(self, spec_runs, name):
        """By its own formula in rationals; so little labels leave it no advantage that could be relied on."""
        runs = spec_runs[name]
        exact = Fraction(0)
        for run in runs.exact:
            factors = oracle.gamma(3, 5)
            a, c = oracle.terms(oracle.SPEC.loss, run, 5), oracle.terms(oracle.SPEC.centred, run, 5)
            risk = oracle.weighted_mean(oracle.SPEC.loss, run, 5)
            top = sum(f * f * (x - risk) * y for f, x, y in zip(factors, a, c, strict=True))
            bottom = sum(f * f * y * y for f, y in zip(factors, c, strict=True))
            exact += run.probability * oracle.weighted_mean(oracle.controlled(oracle.SPEC, top / bottom), run, 5)
        assert abs(exact - 1) > Fraction(1, 100)
        assert runs.mean(runs.risks(control="star")) == pytest.approx(float(exact), **EXACT)


def test_weights_of_the_wrong_budget_bias_the_estimate(spec_runs):
    """The check can fail: weights of one label more are not unbiased."""
    runs = spec_runs["fixed"]
    wrong = [
        float(loss @ ppat.weights([*q, 0.5], 5)[:3]) / 3 for loss, q in zip(runs.loss[runs.index], runs.q, strict=True)
    ]
    assert abs(runs.mean(wrong) - 1) > 1e-3


@proposals
def test_pool_variance_is_unbiased(proposal):
    """Negative estimates are withheld, so the mean is taken over the formula, and each value is compared."""
    runs = Runs(oracle.SEVEN, 3, proposal)
    run = controlled(runs.loss[runs.index], runs.q, 7)
    square = controlled(runs.loss[runs.index] ** 2, runs.q, 7).estimate_at(3)
    values = 7 / 6 * (square - run.estimate_at(3) ** 2 + run.variance_at(3, "unbiased"))
    assert runs.mean(values) == pytest.approx(runs.loss.var(ddof=1), **EXACT)
    for index, q, value in zip(runs.index[::3], runs.q[::3], values[::3], strict=True):
        found = ppat.pool_variance(runs.loss[index], q, pool_size=7)
        assert found.value == (None if value < 0 else pytest.approx(value, **EXACT))


@pytest.mark.parametrize("name", oracle.PROPOSALS)
def test_a_difference_of_models_is_unbiased(spec_runs, name):
    """Two models with a proxy each, labels chosen for one of them."""
    runs = spec_runs[name]
    second, second_proxy = runs.loss[::-1].copy() ** 2, runs.proxy[::-1].copy()
    risks = []
    for index, q in zip(runs.index, runs.q, strict=True):
        found = ppat.difference(
            np.stack([runs.loss[index], second[index]]),
            q,
            pool_size=5,
            proxy_losses=np.stack([runs.proxy[index], second_proxy[index]]),
            pool_proxy_losses=np.stack([runs.proxy, second_proxy]),
            control=0.8,
        )
        risks.append(found.risk)
    assert runs.mean(risks) == pytest.approx(runs.loss.mean() - second.mean(), **EXACT)


def test_asi_over_all_coins():
    """Active statistical inference: unbiased, and its design variance is unbiased for the true one."""
    loss, proxy = (np.array([float(x) for x in series]) for series in (oracle.SPEC.loss, oracle.SPEC.proxy))
    pi = np.array([0.5, 0.25, 0.8, 0.3, 0.9])
    probability, risk, design, iid = [], [], [], []
    for coins in product((0, 1), repeat=5):
        hit = np.flatnonzero(coins)
        probability.append(np.prod(np.where(coins, pi, 1 - pi)))
        if not len(hit):  # no label: the library needs at least one, and the formula leaves the proxy alone
            found = [proxy.mean(), 0.0, proxy.std() / np.sqrt(5)]
        else:
            both = [
                ppat.asi(loss[hit], pi[hit], hit, pool_proxy_loss=proxy, variance=kind) for kind in ("design", "iid")
            ]
            found = [both[0].risk, both[0].std_error, both[1].std_error]
        for series, value in zip((risk, design, iid), found, strict=True):
            series.append(value)
    p = np.array(probability)
    assert p.sum() == pytest.approx(1, **EXACT)
    assert p @ risk == pytest.approx(loss.mean(), **EXACT)
    variance = p @ (np.array(risk) - loss.mean()) ** 2
    assert p @ np.square(design) == pytest.approx(variance, **EXACT)
    assert p @ np.square(iid) > 1.5 * variance  # it also counts the spread of the proxy
