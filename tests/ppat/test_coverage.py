"""How often intervals cover in simulation: the bands they hold, and the failures that the chapter documents."""

import numpy as np
import pytest

from helpers import ppat
from helpers.ppat.control import Terms, controlled, quantile

from . import simulation


def coverage(case: simulation.Case, budget: int, trials: int, seed: int, kind: str = "plugin", **options) -> dict:
    """How often the 90% interval covers, the mean error in Monte-Carlo standard errors, and in standard deviations."""
    index, q = simulation.draws(case, budget, trials, seed=seed)
    proxied: dict = {}
    if options:
        c = case.centred
        proxied = {"centred": c[index], "proxy_mean": case.proxy.mean(), "mean_square": np.mean(c**2), **options}
    run: Terms = controlled(case.loss[index], q, len(case.loss), **proxied)
    risk, variance = run.estimate_at(budget), run.variance_at(budget, kind)
    error = risk - case.risk
    return {
        "coverage": np.mean(np.abs(error) <= quantile(budget, kind, 0.9) * np.sqrt(variance)),
        "z": error.mean() / error.std() * np.sqrt(trials),
        "bias": error.mean() / error.std(),
        "ratio": variance.mean() / error.var(),
    }


NICE = simulation.regression(2000, seed=1)
TRIALS = 4000
#: Three Monte-Carlo standard errors of a coverage of .9 from 4000 trials: sqrt(.9 * .1 / 4000) = .0047.
BAND = 0.0145
FORMS = {
    "random": None,
    "LURE": {},
    "PPAT 0.5": {"control": 0.5},
    "PPAT 1": {"control": 1.0},
    "intercept": {"control": 1.0, "intercept": True},
    "predictable": {"control": "predictable", "refresh": 50},
}


class TestCoverage:
    """Nominal level .9 throughout; draws come from the tests' own sampler."""

    @pytest.mark.parametrize("name", FORMS)
    def test_nominal_at_two_hundred_labels(self, name):
        """The specification's band of [.88, .915]; its own runs gave .893 to .899.

        Random draws see the losses as they are, of skewness 3.6: five runs of 4000 at other seeds gave .882 on average.
        """
        options = FORMS[name]
        case = NICE if options is not None else simulation.Case(NICE.loss, NICE.proxy, np.ones(2000), epsilon=1.0)
        found = coverage(case, 200, TRIALS, 3, **(options or {}))
        assert (0.88 if options is not None else 0.882 - BAND) <= found["coverage"] <= 0.915
        assert abs(found["z"]) < 3.3  # unbiased: one run in a thousand lies beyond
        # the plug-in misses the factor 1 - 2 gamma / M, 1% here; a variance from 4000 trials is known to 3%
        assert found["ratio"] == pytest.approx(1.0, abs=0.08)

    @pytest.mark.parametrize("options", [{"control": 1.0}, {"control": 1.0, "intercept": True}], ids=str)
    def test_unbiased_variance_and_t_at_fifty(self, options):
        """The specification asks for .875 at least; skewed terms keep t from reaching .9 in general."""
        found = coverage(NICE, 50, TRIALS, 4, kind="unbiased", **options)
        assert 0.875 <= found["coverage"] <= 0.9 + BAND
        assert found["ratio"] == pytest.approx(1.0, abs=0.08)

    @pytest.mark.parametrize(
        ("budget", "plugin", "unbiased"), [(10, 0.854, 0.909), (20, 0.878, 0.902), (30, 0.882, 0.9)]
    )
    def test_few_labels(self, budget, plugin, unbiased):
        """The plug-in falls short by two to five points; the unbiased variance with t mends it on this pool.

        The centres are this simulation's own, at another seed: a regression test of the size of the effect.
        """
        short = coverage(NICE, budget, TRIALS, 5, control=1.0)
        mended = coverage(NICE, budget, TRIALS, 5, kind="unbiased", control=1.0)
        assert short["coverage"] == pytest.approx(plugin, abs=1.5 * BAND)
        assert mended["coverage"] == pytest.approx(unbiased, abs=1.5 * BAND)
        assert short["coverage"] < mended["coverage"]
        assert short["ratio"] < mended["ratio"]
        assert mended["ratio"] == pytest.approx(1.0, abs=0.12)

    @pytest.mark.parametrize("budget", [10, 20, 30])
    def test_without_a_proxy_few_labels_fail_even_with_t(self, budget):
        """Documented failure: LURE on skewed losses, whatever the variance."""
        found = coverage(NICE, budget, TRIALS, 6, kind="unbiased")
        assert found["coverage"] < 0.9 - BAND

    def test_documented_failure_under_a_bad_surrogate(self):
        """LURE at 100 labels covers far below .9; an intercept with the same labels does not."""
        case = simulation.bad_surrogate(2000, seed=1)
        assert coverage(case, 100, TRIALS, 7)["coverage"] < 0.85
        assert coverage(case, 100, TRIALS, 7, control=1.0, intercept=True)["coverage"] > 0.9 - BAND

    @pytest.mark.parametrize("options", [{}, {"control": 1.0}, {"control": 1.0, "intercept": True}], ids=str)
    def test_documented_failure_on_unseen_outliers(self, options):
        """Half a percent of enormous losses: most runs meet none of them. No form and no diagnostic mends that."""
        case = simulation.outliers(2000, seed=1)
        found = coverage(case, 100, TRIALS, 8, kind="unbiased", **options)
        assert found["coverage"] < 0.4
        assert abs(found["z"]) < 3.3  # unbiased all the same

    def test_documented_failure_of_post_hoc_controls(self):
        """Fitted to twenty labels and used on them: biased by over a quarter of a standard deviation, and too short."""
        dagger = coverage(NICE, 20, TRIALS, 9, control="dagger")
        assert dagger["bias"] < -0.25
        assert dagger["coverage"] < 0.85
        star = coverage(simulation.bad_surrogate(2000, seed=1), 20, TRIALS, 9, control="star")
        assert star["bias"] < -0.25
        assert star["coverage"] < 0.75
        predictable = coverage(NICE, 20, TRIALS, 9, control="predictable", refresh=5)
        assert abs(predictable["z"]) < 3.3

    def test_looking_after_every_label_breaks_the_interval(self):
        """Each interval holds at its own number of labels; all of them from 30 to 200 together do not."""
        index, q = simulation.draws(NICE, 200, 2000, seed=10)
        run = controlled(NICE.loss[index], q, 2000, centred=NICE.centred[index], control=1.0)
        outside = np.abs(run.estimates() - NICE.risk) > quantile(200, "plugin", 0.9) * np.sqrt(run.variances("plugin"))
        assert np.mean(outside[:, 29:].any(axis=1)) > 0.3

    def test_asi_covers_too_often_on_a_fixed_pool(self):
        """Its iid variance counts the proxy's spread; that of the design alone does not."""
        rng = np.random.default_rng(11)
        pi = np.clip(400 * NICE.scores / NICE.scores.sum(), 0.05, 1)
        hits = {"iid": 0, "design": 0}
        for _ in range(1500):
            index = np.flatnonzero(rng.random(2000) < pi)
            for kind in hits:
                found = ppat.asi(NICE.loss[index], pi[index], index, pool_proxy_loss=NICE.proxy, variance=kind)
                hits[kind] += found.low <= NICE.risk <= found.high
        assert hits["design"] / 1500 == pytest.approx(0.9, abs=3.3 * np.sqrt(0.09 / 1500))
        assert hits["iid"] / 1500 > 0.95
