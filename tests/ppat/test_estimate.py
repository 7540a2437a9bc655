"""Estimates: one pass against one prefix at a time, the textbook where it applies, diagnostics, refusals."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.optimize import minimize_scalar

from helpers import ppat
from helpers.errors import InputError
from helpers.ppat.control import controlled, is_defined, quantile
from helpers.ppat.weighting import gamma, steps, terms, uniform_q

CONTROLS = (0.0, 0.7, 1.0, "dagger", "star", "predictable")


def one_run(size=30, count=12, seed=0):
    """Losses, probabilities, and a proxy that is good but not perfect."""
    rng = np.random.default_rng(seed)
    pool = rng.gamma(2, size=size)
    proxy = 0.8 * pool + 0.3 * rng.normal(size=size)
    index = rng.permutation(size)[:count]
    q = rng.uniform(0.5, 2, count) * uniform_q(count, size)
    if count == size:
        q[-1] = 1
    return (
        pool[index],
        np.minimum(q, 1),
        {
            "pool_size": size,
            "proxy_loss": proxy[index],
            "pool_proxy_loss": proxy,
        },
    )


class TestPrefixes:
    """`estimates` says of every prefix what `estimate` says of those labels alone."""

    @pytest.mark.parametrize("variance", ["plugin", "unbiased"])
    @pytest.mark.parametrize("intercept", [False, True])
    @pytest.mark.parametrize("control", CONTROLS)
    def test_each_is_the_estimate_of_its_labels(self, control, intercept, variance):
        loss, q, pool = one_run(size=13, count=13)
        settings = {"control": control, "intercept": intercept, "variance": variance, "refresh": 3, "confidence": 0.8}
        curve = ppat.estimates(loss, q, **pool, **settings)
        for count in range(1, 14):
            cut = {**pool, "proxy_loss": pool["proxy_loss"][:count]}
            single = ppat.estimate(loss[:count], q[:count], **cut, **settings)
            i = count - 1
            assert curve.risk[i] == pytest.approx(single.risk, rel=1e-9)
            assert curve.control[i] == pytest.approx(single.control, rel=1e-9, abs=1e-9)
            if single.std_error is None:
                assert math.isnan(curve.std_error[i])
                assert math.isnan(curve.low[i])
            else:
                assert curve.std_error[i] == pytest.approx(single.std_error, rel=1e-7, abs=1e-12)
                assert (curve.low[i], curve.high[i]) == pytest.approx(single.interval, rel=1e-8)

    def test_without_a_proxy(self):
        loss, q, _ = one_run()
        curve = ppat.estimates(loss, q, pool_size=30)
        assert curve.control is None
        assert curve.risk[6] == pytest.approx(ppat.estimate(loss[:7], q[:7], pool_size=30).risk)

    def test_as_json(self):
        loss, q, pool = one_run()
        content = json.loads(json.dumps(ppat.estimates(loss, q, **pool).to_dict(), allow_nan=False))
        assert content["std_error"][0] is None
        assert content["std_error"][1] > 0
        assert content["low"][0] is content["high"][0] is None
        assert len(content["risk"]) == len(content["control"]) == 12
        lure = ppat.estimates(loss, q, pool_size=30)
        assert lure.to_dict()["control"] is None
        assert repr(lure).startswith("Estimates(12 prefixes, pool of 30, risk ")

    def test_equal_terms_have_no_spread(self):
        """Losses that are all zero but the last: no prefix before it shows a width made of rounding."""
        loss = np.zeros(50)
        loss[-1] = 1e6
        curve = ppat.estimates(loss, uniform_q(50, 100), pool_size=100)
        assert np.all(curve.std_error[1:-1] == 0)
        assert curve.std_error[-1] > 0

    @pytest.mark.parametrize("scale", [0.1, 0.7, 1.3, 2.9])
    def test_a_control_that_explains_all_leaves_no_negative_variance(self, scale):
        """Two proxy losses, as often each: "dagger" is exact. What is left is a difference of spreads, and rounding."""
        pool = np.random.default_rng(0).permutation(np.repeat([-1.0, 1.0], 150))
        curve = ppat.estimates(
            scale * pool[:100],
            uniform_q(100, 300),
            pool_size=300,
            proxy_loss=pool[:100],
            pool_proxy_loss=pool,
            control="dagger",
        )
        assert np.all((curve.std_error[1:] >= 0) & (curve.std_error[1:] < 1e-6))

    @pytest.mark.parametrize("control", CONTROLS)
    def test_many_trials_at_once(self, control):
        rng = np.random.default_rng(1)
        loss, centred, q = rng.normal(size=(4, 9)), rng.normal(size=(4, 9)), rng.uniform(0.05, 1, (4, 9))
        options = {"mean_square": 1.3, "proxy_mean": 0.4, "control": control, "refresh": 2}
        together = controlled(loss, q, 11, centred=centred, **options)
        for i in range(4):
            alone = controlled(loss[i], q[i], 11, centred=centred[i], **options)
            assert together.estimates()[i] == pytest.approx(alone.estimates(), rel=1e-12)
            assert together.estimate_at(7)[i] == pytest.approx(alone.estimate_at(7), rel=1e-12)
            for kind in ("plugin", "unbiased"):
                assert together.variances(kind)[i] == pytest.approx(alone.variances(kind), rel=1e-9, nan_ok=True)
                assert together.variance_at(7, kind)[i] == pytest.approx(alone.variance_at(7, kind), rel=1e-9)


class TestUniform:
    """Uniform draws are the textbook's simple random sample."""

    @given(st.integers(2, 30), st.integers(0, 1000), st.data())
    def test_sample_mean(self, size, seed, data):
        count = data.draw(st.integers(1, size))
        loss = np.random.default_rng(seed).normal(size=count)
        assert ppat.random_sampling(loss, pool_size=size).risk == pytest.approx(loss.mean(), rel=1e-9, abs=1e-12)

    def test_variance_tends_to_the_textbooks(self):
        """sigma^2 / M is (1 - M/N) s^2 / M for large M: the finite-population correction is inside gamma."""
        loss = np.random.default_rng(0).gamma(2, size=4000)
        found = ppat.random_sampling(loss, pool_size=10_000).std_error ** 2
        # a sample of 4000 terms A_m has a spread of its own: a relative sd of about sqrt(kurtosis / 4000), 0.03
        assert found == pytest.approx(0.6 * loss.var(ddof=1) / 4000, rel=0.1)

    def test_unbiased_variance_in_an_infinite_pool_is_the_textbooks(self):
        loss = np.random.default_rng(0).normal(size=25)
        found = ppat.random_sampling(loss, pool_size=10**9, variance="unbiased")
        assert found.std_error == pytest.approx(loss.std(ddof=1) / 5, rel=1e-6)
        low, high = stats.t.interval(0.9, 24, loss.mean(), loss.std(ddof=1) / 5)
        assert found.interval == pytest.approx((low, high), rel=1e-6)
        plugin = ppat.random_sampling(loss, pool_size=10**9)
        low, high = stats.norm.interval(0.9, loss.mean(), loss.std() / 5)
        assert plugin.interval == pytest.approx((low, high), rel=1e-6)

    @pytest.mark.parametrize("intercept", [False, True])
    @pytest.mark.parametrize("control", [0.3, 1.0])
    def test_with_a_proxy_it_is_prediction_powered_inference(self, control, intercept):
        loss, _, pool = one_run()
        found = ppat.random_sampling(loss, **pool, control=control, intercept=intercept)
        direct = control * pool["pool_proxy_loss"].mean() + np.mean(loss - control * pool["proxy_loss"])
        assert found.risk == pytest.approx(direct, rel=1e-12)


class TestControl:
    def test_estimates_are_affine_in_the_control(self):
        loss, q, pool = one_run()
        risks = [ppat.estimate(loss, q, **pool, control=control).risk for control in (0.0, 1.0, 3.5)]
        assert risks[2] == pytest.approx(risks[0] + 3.5 * (risks[1] - risks[0]), rel=1e-12)

    def test_control_zero_is_lure(self):
        loss, q, pool = one_run()
        assert ppat.estimate(loss, q, **pool, control=0).risk == ppat.estimate(loss, q, pool_size=30).risk

    def test_default_is_a_control_of_one(self):
        loss, q, pool = one_run()
        assert ppat.estimate(loss, q, **pool) == ppat.estimate(loss, q, **pool, control=1.0)

    def test_dagger_is_the_least_squares_control_of_the_whole_pool(self):
        loss, q, pool = one_run(size=20, count=20)
        c = pool["proxy_loss"] - pool["proxy_loss"].mean()
        best = minimize_scalar(lambda x: np.sum((loss - x * c) ** 2), bounds=(-3, 3), method="bounded").x
        assert ppat.estimate(loss, q, **pool, control="dagger").control == pytest.approx(best, abs=1e-5)

    @pytest.mark.parametrize("intercept", [False, True])
    @pytest.mark.parametrize("count", [5, 12])
    def test_star_minimises_the_spread_of_the_factored_terms(self, intercept, count):
        """Brute force over the control: terms around the estimate without control, as the formula has it."""
        loss, q, pool = one_run(count=count)
        found = ppat.estimate(loss, q, **pool, control="star", intercept=intercept).control
        proxy = pool["proxy_loss"]
        mean = pool["pool_proxy_loss"].mean()
        c = terms(proxy, q, 30) - mean if intercept else terms(proxy - mean, q, 30)
        a, factors = terms(loss, q, 30), gamma(steps(count), count, 30)
        a = a - np.mean(factors * a)
        best = minimize_scalar(lambda x: np.sum((factors * (a - x * c)) ** 2), bounds=(-9, 9), method="bounded").x
        assert found == pytest.approx(best, abs=1e-5)

    def test_predictable_follows_its_schedule(self):
        loss, q, pool = one_run(count=11)
        found = ppat.estimate(loss, q, **pool, control="predictable", refresh=4, initial_control=0.25)
        seen = {
            step: ppat.estimate(
                loss[:step], q[:step], **{**pool, "proxy_loss": pool["proxy_loss"][:step]}, control="dagger"
            ).control
            for step in (4, 8)
        }
        assert found.control_path[0] == (1, 0.25)
        assert [step for step, _ in found.control_path] == [1, 5, 9]
        assert [control for _, control in found.control_path[1:]] == pytest.approx([seen[4], seen[8]], rel=1e-12)
        assert found.control == found.control_path[-1][1]

    def test_predictable_before_its_first_renewal_is_fixed(self):
        loss, q, pool = one_run()
        path = ppat.estimate(loss, q, **pool, control="predictable", initial_control=0.4)
        assert path.risk == ppat.estimate(loss, q, **pool, control=0.4).risk
        assert path.control_path == ((1, 0.4),)

    def test_predictable_sees_no_later_label(self):
        """Another last label moves the estimate by its own term only."""
        loss, q, pool = one_run()
        settings = {**pool, "control": "predictable", "refresh": 1}
        before = ppat.estimate(loss, q, **settings)
        changed = ppat.estimate([*loss[:-1], loss[-1] + 1], q, **settings)
        assert changed.control_path == before.control_path
        assert changed.risk - before.risk == pytest.approx(ppat.weights(q, 30)[-1] / 12, rel=1e-9)

    def test_the_mean_alone_is_enough_for_fixed_and_star(self):
        loss, q, pool = one_run()
        mean = float(pool["pool_proxy_loss"].mean())
        for control in (0.5, "star"):
            for intercept in (False, True):
                settings = {"proxy_loss": pool["proxy_loss"], "control": control, "intercept": intercept}
                by_mean = ppat.estimate(loss, q, pool_size=30, proxy_mean=mean, **settings)
                assert by_mean == ppat.estimate(
                    loss, q, pool_size=30, pool_proxy_loss=pool["pool_proxy_loss"], **settings
                )

    def test_a_proxy_without_any_spread_changes_nothing(self):
        loss, q, _ = one_run()
        plain = ppat.estimate(loss, q, pool_size=30)
        for control in (1.0, "star"):
            found = ppat.estimate(loss, q, pool_size=30, proxy_loss=[0.1] * 12, proxy_mean=0.1, control=control)
            assert found.risk == plain.risk
        assert found.control == 0
        uniform = uniform_q(12, 30)
        found = ppat.estimate(
            loss, uniform, pool_size=30, proxy_loss=[0.1] * 12, proxy_mean=0.1, control="star", intercept=True
        )
        assert found.risk == ppat.estimate(loss, uniform, pool_size=30).risk  # rounding is no control variate
        assert found.control == 0

    def test_a_perfect_proxy_leaves_no_width_under_uniform_draws(self):
        pool = np.random.default_rng(0).gamma(2, size=40)
        found = ppat.random_sampling(pool[:10], pool_size=40, proxy_loss=pool[:10], pool_proxy_loss=pool)
        assert found.risk == pytest.approx(pool.mean(), rel=1e-12)
        assert found.std_error < 1e-15
        assert found.diagnostics.dominance is None
        assert "All terms are equal" in found.diagnostics.warnings[0]

    def test_intercept_takes_out_what_weights_do_to_the_mean(self):
        """A perfect proxy and uneven weights: nothing is left to fluctuate, while the plain form still does."""
        _, q, pool = one_run()
        truth = pool["pool_proxy_loss"]
        given = {"pool_size": 30, "proxy_loss": pool["proxy_loss"], "pool_proxy_loss": truth}
        with_it = ppat.estimate(pool["proxy_loss"], q, **given, intercept=True)
        without = ppat.estimate(pool["proxy_loss"], q, **given)
        assert with_it.risk == pytest.approx(truth.mean(), rel=1e-12)
        assert abs(without.risk - truth.mean()) > 1e-3


class TestScale:
    @given(st.floats(-3, 3), st.sampled_from(CONTROLS), st.booleans())
    def test_units_of_the_loss(self, power, control, intercept):
        """Loss and proxy in another unit: risk and width in that unit, the control as it was."""
        loss, q, pool = one_run()
        k = 10.0**power
        scaled = {name: k * pool[name] for name in ("proxy_loss", "pool_proxy_loss")}
        settings = {"control": control, "intercept": intercept, "refresh": 4}
        first = ppat.estimate(loss, q, **pool, **settings)
        second = ppat.estimate(k * loss, q, pool_size=30, **scaled, **settings)
        assert second.risk == pytest.approx(k * first.risk, rel=1e-9)
        assert second.std_error == pytest.approx(k * first.std_error, rel=1e-9)
        assert second.control == pytest.approx(first.control, rel=1e-9)

    @given(st.floats(-5, 5))
    def test_a_constant_added_to_the_proxy_changes_only_the_intercept_form(self, shift):
        loss, q, pool = one_run()
        shifted = {name: pool[name] + shift for name in ("proxy_loss", "pool_proxy_loss")}
        plain = [ppat.estimate(loss, q, pool_size=30, **p).risk for p in (shifted, {k: pool[k] for k in shifted})]
        assert plain[0] == pytest.approx(plain[1], rel=1e-9)


class TestSmall:
    def test_one_label(self):
        found = ppat.estimate([2.0], [0.25], pool_size=8)
        assert found.risk == pytest.approx(2 / 0.25 / 8)
        assert (found.std_error, found.low, found.high, found.interval) == (None, None, None, None)
        assert found.reason == "one label says nothing of the spread"
        assert "no interval (one label" in repr(found)

    def test_a_pool_of_one(self):
        found = ppat.estimate([2.0], [1.0], pool_size=1)
        assert (found.risk, found.interval, found.reason) == (2.0, (2.0, 2.0), None)
        curve = ppat.estimates([2.0], [1.0], pool_size=1, proxy_loss=[3], pool_proxy_loss=[3])
        assert (curve.risk[0], curve.std_error[0]) == (2.0, 0.0)

    @pytest.mark.parametrize("size", [5, 6, 7, 12, 50])
    def test_where_the_unbiased_variance_is_defined(self, size):
        for count in range(1, size):
            loss, q, pool = one_run(size=size, count=count)
            found = ppat.estimate(loss, q, **pool, variance="unbiased")
            assert (found.std_error is not None) == (count > 2 * size / (size - count + 1)), count
            assert (found.reason is None) == (found.std_error is not None)
            if found.reason and count > 1:
                assert f"{count} of {size} labels" in found.reason
            assert is_defined(count, size, "plugin") == (count > 1)

    def test_quantiles(self):
        assert quantile(20, "plugin", 0.9) == pytest.approx(1.6448536, abs=1e-7)
        assert quantile(20, "unbiased", 0.9) == pytest.approx(stats.t.ppf(0.95, 19))

    def test_whole_pool(self):
        loss, q, pool = one_run(size=9, count=9)
        found = ppat.estimate(loss, q, **pool)
        assert found.interval == (found.risk, found.risk)
        assert found.diagnostics.warnings == ()


class TestDiagnostics:
    def test_by_hand(self):
        loss, q, pool = one_run()
        found = ppat.estimate(loss, q, **pool)
        v = ppat.weights(q, 30)
        assert found.diagnostics.effective_sample_size == pytest.approx(v.sum() ** 2 / np.sum(v**2))
        assert found.diagnostics.largest_weight == v.max()
        c = pool["proxy_loss"] - pool["pool_proxy_loss"].mean()
        parts = gamma(steps(12), 12, 30) * (terms(loss - c, q, 30) - found.risk)
        assert found.diagnostics.dominance == pytest.approx(np.abs(parts).max() / np.sqrt(np.sum(parts**2)))

    def warnings(self, loss, q, size, **options):
        return ppat.estimate(loss, q, pool_size=size, **options).diagnostics.warnings

    def test_an_ordinary_run_has_none(self):
        rng = np.random.default_rng(0)
        assert self.warnings(rng.normal(1, 0.1, 100), uniform_q(100, 1000), 1000) == ()

    def test_few_labels(self):
        rng = np.random.default_rng(0)
        few = self.warnings(rng.normal(1, 0.1, 29), uniform_q(29, 1000), 1000)
        assert len(few) == 1
        assert few[0].startswith("29 labels, which count like 29 of equal weight, are few")
        assert 'variance="unbiased" comes nearer' in few[0]
        assert self.warnings(rng.normal(1, 0.1, 30), uniform_q(30, 1000), 1000) == ()
        unbiased = self.warnings(rng.normal(1, 0.1, 29), uniform_q(29, 1000), 1000, variance="unbiased")
        assert "comes nearer" not in unbiased[0]

    def test_uneven_weights(self):
        rng = np.random.default_rng(0)
        q = uniform_q(100, 1000) * rng.choice([0.1, 4], 100)
        assert any(
            "so uneven that 100 labels count like" in text for text in self.warnings(rng.normal(1, 0.1, 100), q, 1000)
        )

    def test_many_labels_may_count_like_few(self):
        rng = np.random.default_rng(0)
        q = uniform_q(40, 1000) * rng.choice([0.5, 4], 40)
        found = ppat.estimate(rng.normal(1, 0.1, 40), q, pool_size=1000).diagnostics
        assert 20 < found.effective_sample_size < 30
        assert any("which count like 2" in text and "are few" in text for text in found.warnings)

    def test_one_label_that_makes_the_width(self):
        loss = np.random.default_rng(0).normal(1, 0.1, 100)
        loss[40] = 50
        assert "One label makes 99% of the variance" in self.warnings(loss, uniform_q(100, 1000), 1000)[0]

    @pytest.mark.parametrize(("outlier", "share", "warned"), [(7.5, 0.36, False), (11.0, 0.55, True)])
    def test_half_of_the_variance_is_too_much(self, outlier, share, warned):
        """Squares add up in a large pool: t^2 / (t^2 + 99) beside 99 losses of plus or minus one."""
        loss = np.array([*[-1.0, 1.0] * 49, 1.0, outlier])
        found = ppat.random_sampling(loss, pool_size=10**9).diagnostics
        assert found.dominance**2 == pytest.approx(share, abs=0.01)
        assert bool(found.warnings) == warned

    def test_no_error_seen(self):
        assert "All terms are equal" in self.warnings(np.zeros(100), uniform_q(100, 1000), 1000)[0]
        assert "All terms are equal" in self.warnings(np.full(100, 0.3), uniform_q(100, 1000), 1000)[0]

    @pytest.mark.parametrize("control", ["dagger", "star"])
    def test_a_control_fitted_to_its_own_labels(self, control):
        loss, q, pool = one_run(size=400, count=200)
        posthoc = ppat.estimate(loss, q, **pool, control=control).diagnostics.warnings
        assert any("fitted to the very labels" in text for text in posthoc)
        assert ppat.estimate(loss, q, **pool, control="predictable").diagnostics.warnings == ()


def test_results_are_json_and_read_well():
    loss, q, pool = one_run()
    found = ppat.estimate(loss, q, **pool, control="predictable", refresh=6)
    content = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert content["control_path"] == [list(step) for step in found.control_path]
    assert content["diagnostics"]["warnings"] == list(found.diagnostics.warnings)
    assert (content["risk"], content["low"], content["high"]) == (found.risk, found.low, found.high)
    assert repr(found).startswith(f"Estimate(risk {found.risk:.6g}, 0.9 interval [{found.low:.6g}, ")
    assert f"12 of 30 labelled, PPAT, predictable, control {found.control:.4g})" in repr(found)
    assert ppat.estimate(loss, q, **pool, intercept=True).method == "PPAT with intercept"
    assert ppat.estimate(loss, q, pool_size=30).method == "LURE"


def test_tensors_are_taken():
    torch = pytest.importorskip("torch")
    loss, q, pool = one_run()
    tensors = {name: torch.tensor(pool[name]) for name in ("proxy_loss", "pool_proxy_loss")}
    found = ppat.estimate(torch.tensor(loss), torch.tensor(q), pool_size=30, **tensors)
    assert found == ppat.estimate(loss, q, **pool)


GOOD = {"loss": [1.0, 2.0], "q": [0.5, 0.5], "pool_size": 3}
PROXY = {"proxy_loss": [1.0, 2.0], "pool_proxy_loss": [1.0, 2.0, 6.0]}


@pytest.mark.parametrize("function", [ppat.estimate, ppat.estimates])
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"q": [0.5, 0.0]}, "q[1] is 0.0"),
        ({"q": [0.5, 1.01]}, "q[1] is 1.01"),
        ({"pool_size": 1}, "q has 2 labels and pool_size is 1"),
        ({"loss": [1.0, math.nan]}, "loss[1] is nan"),
        ({"loss": [1.0, 2.0, 3.0]}, "loss has 3 values and q has 2: give one for each labelled point"),
        ({"loss": ["a", "b"]}, "loss has shape (2,) and type <U1"),
        ({"loss": [[1.0], [2.0, 3.0]]}, "loss is no array"),
        ({**PROXY, "proxy_loss": [1.0]}, "proxy_loss has 1 values and q has 2"),
        ({**PROXY, "proxy_loss": [1.0, math.inf]}, "proxy_loss[1] is inf"),
        ({**PROXY, "pool_proxy_loss": [1.0, 2.0]}, "pool_proxy_loss has 2 values and pool_size is 3"),
        ({**PROXY, "pool_proxy_loss": [1.0, 2.0, math.nan]}, "pool_proxy_loss[2] is nan"),
        ({**PROXY, "proxy_mean": 3.1}, "proxy_mean is 3.1, but pool_proxy_loss has mean 3.0: they must agree"),
        ({"proxy_loss": [1.0, 2.0]}, "proxy_mean is missing"),
        ({"proxy_mean": 1.0}, "proxy_loss is missing, but proxy_mean is given"),
        ({"pool_proxy_loss": [1.0, 2.0, 6.0]}, "proxy_loss is missing, but pool_proxy_loss is given"),
        ({"proxy_loss": [1.0, 2.0], "proxy_mean": math.nan}, "proxy_mean is nan: give a finite number"),
        (
            {"q": [0.5, 1.0], "pool_size": 2, "proxy_loss": [1.0, 2.0], "proxy_mean": 1.6},
            "proxy_mean is 1.6, but proxy_loss, the whole pool, has mean 1.5",
        ),
        ({"control": "dagger"}, "control is 'dagger', but there is no proxy_loss to control with"),
        ({"proxy_loss": [1.0, 2.0], "proxy_mean": 3.0, "control": "dagger"}, "give pool_proxy_loss"),
        ({"proxy_loss": [1.0, 2.0], "proxy_mean": 3.0, "control": "predictable"}, "give pool_proxy_loss"),
        ({**PROXY, "control": "best"}, "control is 'best': give a number, or one of dagger, star, predictable"),
        ({**PROXY, "control": math.inf}, "control is inf: give a finite number, or one of dagger"),
        ({**PROXY, "control": None}, "control is None"),
        ({**PROXY, "control": True}, "control is True"),
        (
            {"proxy_loss": [0.1, 0.1], "pool_proxy_loss": [0.1] * 3, "control": "dagger"},
            "for every point, so control='dagger' divides by zero",
        ),
        ({**PROXY, "refresh": 0}, "refresh is 0: give a whole number of at least 1"),
        ({**PROXY, "refresh": 2.5}, "refresh is 2.5"),
        ({**PROXY, "initial_control": math.nan}, "initial_control is nan"),
        ({"intercept": True}, "intercept is True, but there is no proxy_loss"),
        ({**PROXY, "intercept": 0.3}, "intercept is 0.3: give True or False"),
        ({"confidence": 0.0}, "confidence is 0.0"),
        ({"confidence": 90}, "confidence is 90"),
        ({"variance": "t"}, "variance is 't': choose one of plugin, unbiased"),
        ({"variance": None}, "variance is None"),
    ],
)
def test_refusals(function, changes, message):
    with pytest.raises(InputError) as refusal:
        function(**{**GOOD, **changes})
    assert message in str(refusal.value)
    assert "\n" not in str(refusal.value)
