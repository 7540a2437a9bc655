"""Simulations: their arithmetic, and what they find: unbiasedness, coverage, and where intervals fail.

Bands are stated in Monte-Carlo standard errors, or as the specification's acceptance set has them. All seeds are fixed.
"""

import csv
import io
import json
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.spatial.distance import cdist

from helpers import ppat
from helpers.errors import InputError
from helpers.ppat import METHODS, Method, Pool, proposal, simulate, simulation
from helpers.uncertainty import Rate

FIXED = ["random", "random + proxy", "lure", "ppat 0.5", "ppat 1", "ppat 0.5 + intercept", "ppat 1 + intercept"]


def regression(size, *, seed, hidden=0.0, misled=False):
    """Squared errors of a model that is off by a linear function, with noise of 0.3 in each label.

    The surrogate knows the model's error to 0.3, the proxy to 0.2. `misled`: the surrogate knows nothing of it.
    `hidden`: this share of the points has large losses that neither of them foresees.
    """
    rng = np.random.default_rng(seed)
    off = 0.5 + 0.5 * rng.uniform(-2, 2, size=size)
    error, known, proxy = (off + scale * rng.normal(size=size) for scale in (0.3, 0.3, 0.2))
    outlying = rng.permutation(size)[: round(hidden * size)]
    error[outlying] += 12 * rng.standard_t(3, size=len(outlying))
    moments = proposal.Moments.gaussian(rng.permutation(known) if misled else known, 0.18)
    return Pool(error**2, proxy**2, moments)


@pytest.fixture(scope="module")
def small():
    return regression(300, seed=1)


@pytest.fixture(scope="module")
def nice():
    """4000 runs on 2000 well-behaved points; of fixed controls also with the unbiased variance and t."""
    unbiased = {f"{name}, unbiased": replace(METHODS[name], variance="unbiased") for name in FIXED}
    methods = {name: METHODS[name] for name in [*FIXED, "ppat dagger", "ppat star", "ppat predictable"]} | unbiased
    return simulate(regression(2000, seed=0), methods, budget=[10, 20, 30, 50, 200], trials=4000, seed=2)


def z(row):
    """The bias in Monte-Carlo standard errors."""
    return row["bias"] / row["bias_se"]


# arithmetic


def assert_is_of(row, runs, risk):
    """The row holds what the single runs say."""
    error = np.array([run.risk for run in runs]) - risk
    width = np.array([run.high - run.low for run in runs])
    covered = Rate.of(sum(run.low <= risk <= run.high for run in runs), len(runs))
    root = np.sqrt(len(runs))
    assert row["risk"] == risk
    assert row["trials"] == len(runs)
    assert row["bias"] == pytest.approx(error.mean(), abs=1e-12)
    assert row["bias_se"] == pytest.approx(error.std(ddof=1) / root, rel=1e-9)
    assert row["mean_squared_error"] == pytest.approx(np.mean(error**2), rel=1e-9)
    assert row["mean_squared_error_se"] == pytest.approx(np.std(error**2, ddof=1) / root, rel=1e-9)
    assert row["median_squared_error"] == pytest.approx(np.median(error**2), rel=1e-9)
    assert row["width"] == pytest.approx(width.mean(), rel=1e-9)
    assert row["width_se"] == pytest.approx(width.std(ddof=1) / root, rel=1e-9)
    assert (row["coverage"], row["coverage_low"], row["coverage_high"]) == (covered.rate, *covered.interval)
    assert (row["undefined"], row["reason"]) == (0, None)


@pytest.mark.parametrize(
    ("name", "scores", "options"),
    [
        ("random", lambda pool, c: np.ones(300), None),
        ("random + proxy", lambda pool, c: np.ones(300), {"control": 1.0}),
        ("lure", lambda pool, c: pool.moments.mean, None),
        ("ppat 0.5", lambda pool, c: pool.moments.scores(0.5 * c), {"control": 0.5}),
        ("ppat 1", lambda pool, c: pool.moments.scores(c), {"control": 1.0}),
        ("ppat 0.5 + intercept", lambda pool, c: pool.moments.scores(0.5 * pool.proxy_loss), {"intercept": True}),
        ("lure proposal + proxy", lambda pool, c: pool.moments.mean, {"control": 1.0}),
        ("ppat proposal, no control", lambda pool, c: pool.moments.scores(c), None),
    ],
)
def test_rows_are_those_of_single_runs(small, name, scores, options):
    """Each number of a row, from `sample` and `estimate` one trial at a time."""
    c = small.proxy_loss - small.proxy_loss.mean()
    epsilon = 1.0 if name.startswith("random") else 0.1
    indices, q = ppat.sample(scores(small, c), 40, trials=12, seed=3, epsilon=epsilon)
    runs = []
    for points, chance in zip(indices, q, strict=True):
        proxy = {}
        if options is not None:
            proxy = {"proxy_loss": small.proxy_loss[points], "pool_proxy_loss": small.proxy_loss, "control": 0.5}
        runs.append(ppat.estimate(small.loss[points], chance, pool_size=300, **(proxy | (options or {}))))
    assert_is_of(simulate(small, [name], budget=40, trials=12, seed=3).row(name), runs, small.loss.mean())


def test_rows_of_asi(small):
    """Coins of one trial from its seed and number; a half share by the surrogate's error of the proxy, half uniform."""
    error = small.moments.scores(small.proxy_loss)
    chance = 40 / 300 * (0.5 * error / error.mean() + 0.5)
    assert chance.max() < 1.0
    assert chance.sum() == pytest.approx(40)
    runs = []
    for trial in range(12):
        points = np.flatnonzero(np.random.default_rng([3, trial]).random(300) < chance)
        runs.append(ppat.asi(small.loss[points], chance[points], points, pool_proxy_loss=small.proxy_loss))
    assert_is_of(simulate(small, ["asi"], budget=40, trials=12, seed=3).row("asi"), runs, small.loss.mean())


def test_asi_without_a_label_has_the_proxy_and_no_interval(small):
    row = simulate(small, ["asi"], budget=1, trials=200).row("asi")
    assert 40 < row["undefined"] < 110  # about 200 / e


def assert_same(one, other):
    """Two rows hold the same, but for the order in which numbers were added."""
    assert list(one) == list(other)
    for name, value in one.items():
        assert value == (pytest.approx(other[name], rel=1e-9) if isinstance(value, float) else other[name]), name


@pytest.mark.parametrize("control", ["dagger", "star", "predictable"])
@pytest.mark.parametrize("intercept", [False, True])
def test_rows_whose_scores_follow_the_labels(small, control, intercept):
    method = Method(control=control, refresh=20, initial_control=0.5, intercept=intercept, variance="unbiased")
    rule = {"refresh": 20, "initial_control": 0.5, "intercept": intercept}
    indices, q, _ = ppat.sample_refreshed(small.moments, small.loss, small.proxy_loss, 50, trials=8, seed=4, **rule)
    runs = [
        ppat.estimate(
            small.loss[points],
            chance,
            pool_size=300,
            proxy_loss=small.proxy_loss[points],
            pool_proxy_loss=small.proxy_loss,
            control=control,
            variance="unbiased",
            **rule,
        )
        for points, chance in zip(indices, q, strict=True)
    ]
    found = simulate(small, {"mine": method}, budget=50, trials=8, seed=4)
    assert_is_of(found.row("mine"), runs, small.loss.mean())


def test_methods_without_an_interval(small):
    found = simulate(small, ["proxy", "ase", "ppat proposal, plain mean"], budget=30, trials=20)
    for name, risk in [("proxy", small.proxy_loss.mean()), ("ase", small.moments.mean.mean())]:
        row = found.row(name)
        assert row["bias"] == pytest.approx(risk - small.loss.mean(), abs=1e-12)
        assert row["bias_se"] == pytest.approx(0.0, abs=1e-12)
    c = small.proxy_loss - small.proxy_loss.mean()
    indices, _ = ppat.sample(small.moments.scores(c), 30, trials=20)
    plain = found.row("ppat proposal, plain mean")
    assert plain["bias"] == pytest.approx(small.loss[indices].mean() - small.loss.mean(), abs=1e-12)
    for row in found.rows:
        assert row["width"] is row["width_se"] is row["coverage"] is row["coverage_low"] is None
        assert row["undefined"] == 20
        assert row["reason"]


def test_one_label_has_no_interval(small):
    row = simulate(small, ["ppat 1"], budget=1, trials=20).row("ppat 1")
    assert row["coverage"] is None
    assert row["reason"] == "1 of 300 labels have no plugin variance"


def test_the_median_knows_its_error():
    """Against the scatter of the medians of 2000 other samples; within a tenth on average over 50 samples."""
    rng = np.random.default_rng(5)
    medians = np.median(rng.normal(size=(2000, 401)) ** 2, axis=1)
    errors = [simulation._median_se(rng.normal(size=401) ** 2) for _ in range(200)]
    assert np.mean(errors) == pytest.approx(medians.std(), rel=0.1)


def test_monte_carlo_errors_are_the_scatter_over_seeds(small):
    """60 simulations of 50 runs; a standard deviation of 60 is known to a tenth, the band is three of these."""
    rows = [simulate(small, ["ppat 1"], budget=20, trials=50, seed=seed).row("ppat 1") for seed in range(60)]
    for name in ("bias", "mean_squared_error", "width"):
        scatter = np.std([row[name] for row in rows], ddof=1)
        assert np.mean([row[f"{name}_se"] for row in rows]) == pytest.approx(scatter, rel=0.3)


def test_budgets_are_prefixes_of_the_same_runs(small):
    both = simulate(small, ["ppat 1", "ppat predictable"], budget=[120, 20], trials=10)
    assert [(row["method"], row["budget"]) for row in both.rows] == [
        ("ppat 1", 20),
        ("ppat 1", 120),
        ("ppat predictable", 20),
        ("ppat predictable", 120),
    ]
    for budget in (20, 120):
        alone = simulate(small, ["ppat predictable"], budget=budget, trials=10)
        assert_same(both.row("ppat predictable", budget), alone.row("ppat predictable"))


def test_what_is_held_at_once_changes_nothing(small, monkeypatch):
    methods = ["ppat 1", "ppat dagger", "asi"]
    whole = simulate(small, methods, budget=30, trials=25)
    monkeypatch.setattr(simulation, "DRAWS", 300)
    parts = simulate(small, methods, budget=30, trials=25)
    for one, other in zip(whole.rows, parts.rows, strict=True):
        assert_same(one, other)


def test_seeds_tell_runs_apart(small):
    first, again, other = (simulate(small, ["ppat 1"], budget=20, trials=10, seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_methods_that_draw_alike_share_their_draws(small, monkeypatch):
    calls = []
    new = simulation._Runs._new
    monkeypatch.setattr(simulation._Runs, "_new", lambda runs, method: calls.append(method) or new(runs, method))
    simulate(small, list(METHODS), budget=20, trials=5)
    assert len(calls) == 7  # uniform, expected loss, PPAT at 0.5 and 1, each with the intercept, and following labels


def test_every_method_runs_and_its_row_is_json(small):
    found = simulate(small, list(METHODS), budget=[5, 25], trials=10)
    content = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert [(row["method"], row["budget"]) for row in content["rows"]] == [(m, b) for m in METHODS for b in (5, 25)]
    assert content["pool_size"] == 300
    assert all(tuple(row) == simulation.COLUMNS for row in content["rows"])


def test_csv(small, tmp_path):
    found = simulate(small, ["ppat 1", "proxy"], budget=20, trials=10)
    text = found.to_csv(tmp_path / "simulation.csv")
    assert (tmp_path / "simulation.csv").read_text(encoding="utf-8") == text == found.to_csv()
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [row["method"] for row in rows] == ["ppat 1", "proxy"]
    assert float(rows[0]["width"]) == found.row("ppat 1")["width"]
    assert rows[1]["width"] == ""


def test_repr_is_a_table(small):
    lines = repr(simulate(small, ["random", "proxy"], budget=20, trials=10)).splitlines()
    assert lines[0] == "Simulation(pool of 300, nominal coverage 0.9, seed 0)"
    assert lines[1].split() == "method budget bias mean_squared_error median_squared_error width coverage".split()
    assert lines[3].split()[0] == "proxy"
    assert lines[3].split()[-2:] == ["-", "-"]
    assert repr(small) == f"Pool(300 points, risk {small.risk:.6g}, with proxy and moments)"
    assert repr(Pool([1.0, 2.0])) == "Pool(2 points, risk 1.5)"


def test_the_whole_pool_has_no_error_and_no_width(small):
    names = ["random", "lure", "ppat 1", "ppat star", "ppat 1 + intercept"]
    for row in simulate(small, names, budget=300, trials=4).rows:
        assert row["mean_squared_error"] < 1e-24
        assert row["width"] == 0.0
        assert row["coverage"] == 1.0


def test_an_oracle_has_no_variance(small):
    """Without a control, and without uniform draws, in proportion to the loss: every term is the risk."""
    found = simulate(small, {"oracle": Method("oracle", epsilon=0.0)}, budget=30, trials=50).row("oracle")
    assert found["mean_squared_error"] < 1e-20
    assert found["width"] < 1e-9


def test_a_pool_without_proxy_or_surrogate_has_its_random_sample():
    assert simulate(Pool([1.0, 2.0, 4.0, 3.0]), ["random"], budget=3, trials=10).row("random")["undefined"] == 0


# what simulations find


@pytest.mark.parametrize("name", [*FIXED, "ppat predictable"])
@pytest.mark.parametrize("budget", [10, 20, 30, 50, 200])
def test_fixed_and_predictable_controls_are_unbiased(nice, name, budget):
    assert abs(z(nice.row(name, budget))) < 4


@pytest.mark.parametrize("name", [*FIXED, "ppat predictable"])
def test_intervals_cover_at_200_labels(nice, name):
    """The specification's band for 4000 runs; one standard error is 0.005."""
    assert 0.88 <= nice.row(name, 200)["coverage"] <= 0.915


@pytest.mark.parametrize("name", FIXED)
def test_the_unbiased_variance_covers_at_50_labels(nice, name):
    assert nice.row(f"{name}, unbiased", 50)["coverage"] >= 0.875


@pytest.mark.parametrize("name", FIXED)
@pytest.mark.parametrize(("budget", "least", "most"), [(10, 0.78, 0.87), (20, 0.83, 0.89), (30, 0.85, 0.905)])
def test_few_labels_leave_plugin_intervals_short(nice, name, budget, least, most):
    """Documented, not wished for: what a nominal 0.9 covers at 10, 20 and 30 labels; one standard error is 0.006."""
    plugin, unbiased = (nice.row(which, budget)["coverage"] for which in (name, f"{name}, unbiased"))
    assert least <= plugin <= most
    assert plugin + 0.003 < unbiased < 0.925


def test_a_control_from_the_same_labels_is_biased(nice):
    """The one of least variance is nearly free of that, the predictable one wholly."""
    for budget in (10, 20, 30, 50):
        dagger, star = nice.row("ppat dagger", budget), nice.row("ppat star", budget)
        assert z(dagger) < -10
        assert abs(star["bias"]) < 0.25 * abs(dagger["bias"])
        assert dagger["coverage"] < nice.row("ppat predictable", budget)["coverage"] - 0.015


def test_a_good_surrogate_and_proxy_pay(nice):
    """Order of the mean squared errors on a pool that was made for it, each gap more than four standard errors."""
    rows = [nice.row(name, 200) for name in ("random", "random + proxy", "ppat 0.5", "ppat 0.5 + intercept")]
    for worse, better in pairwise(rows):
        error = np.hypot(worse["mean_squared_error_se"], better["mean_squared_error_se"])
        assert worse["mean_squared_error"] - better["mean_squared_error"] > 4 * error


def test_nothing_covers_where_losses_nobody_foresees_carry_the_risk():
    found = simulate(regression(5000, seed=2, hidden=0.005), FIXED, budget=[30, 100, 500], trials=500, seed=1)
    for row in found.rows:
        assert row["coverage_high"] < 0.6, row
    assert all(found.row(name, 30)["coverage"] < 0.2 for name in FIXED)


def test_a_surrogate_that_is_wrong_costs_and_the_intercept_mends_most_of_it():
    found = simulate(regression(5000, seed=3, misled=True), FIXED, budget=500, trials=1000, seed=1)
    error = {name: found.row(name)["mean_squared_error"] for name in FIXED}
    assert error["lure"] > 1.7 * error["random"]
    assert error["ppat 1"] > 1.5 * error["random + proxy"]
    assert error["ppat 1 + intercept"] < 0.75 * error["ppat 1"]
    assert error["ppat 0.5 + intercept"] < 0.85 * error["ppat 0.5"]
    assert all(abs(z(found.row(name))) < 4 for name in FIXED)


def test_asi_is_unbiased_and_covers_too_often():
    """Its standard error counts the spread of the pool itself; exact budgets it keeps on average only."""
    pool = regression(2000, seed=0)
    row = simulate(pool, ["asi"], budget=200, trials=2000, seed=3).row("asi")
    assert abs(z(row)) < 4
    assert row["coverage_low"] > 0.91


def test_the_plain_mean_of_chosen_labels_is_biased(small):
    found = simulate(small, ["ppat proposal, plain mean", "ppat proposal, no control"], budget=60, trials=500)
    assert z(found.row("ppat proposal, plain mean")) > 15
    assert abs(z(found.row("ppat proposal, no control"))) < 4


# real data, with cheap stand-ins: a Gaussian process of 500 points is judged, boosted trees are the proxy, and a
# Gaussian process of 1500 points is the surrogate


def gaussian_process(x, y, at, length, noise):
    """Predictive mean and variance of the label, with a squared exponential kernel of unit variance."""
    factor = cho_factor(np.exp(-0.5 * cdist(x, x, "sqeuclidean") / length**2) + noise * np.eye(len(x)), lower=True)
    weight = cho_solve(factor, y)
    mean, variance = np.empty(len(at)), np.empty(len(at))
    for start in range(0, len(at), 4000):
        part = slice(start, start + 4000)
        k = np.exp(-0.5 * cdist(at[part], x, "sqeuclidean") / length**2)
        mean[part] = k @ weight
        variance[part] = 1.0 + noise - np.sum(solve_triangular(factor[0], k.T, lower=True) ** 2, axis=0)
    return mean, np.maximum(variance, noise)


def real_pool(folder, name, length, noise):
    """All points of a data set but 4000 for training; kernel length and noise are those of largest evidence."""
    ensemble = pytest.importorskip("sklearn.ensemble")
    path = folder / "data" / "uci" / f"{name}-data.csv.gz"
    if not path.is_file():
        pytest.skip(f"no {name} in ../shared/data/uci")
    data = np.loadtxt(path, delimiter=",")
    order = np.random.default_rng(0).permutation(len(data))
    train, rest = order[:4000], order[4000:]
    scaled = (data - data[train].mean(axis=0)) / np.maximum(data[train].std(axis=0), 1e-9)
    x, y = scaled[:, :-1], scaled[:, -1]
    predicted, _ = gaussian_process(x[train[:500]], y[train[:500]], x[rest], length, noise)
    guess, variance = gaussian_process(x[train[:1500]], y[train[:1500]], x[rest], length, noise)
    trees = ensemble.HistGradientBoostingRegressor(max_iter=300, random_state=0).fit(x[train], y[train])
    moments = proposal.Moments.gaussian(guess - predicted, variance)
    return Pool((y[rest] - predicted) ** 2, (trees.predict(x[rest]) - predicted) ** 2, moments)


@pytest.mark.data
@pytest.mark.slow
def test_keggdirected_orders_methods_as_the_source_does(shared):
    """Random, random with the proxy, LURE, PPAT, from the largest median squared error to the smallest."""
    pool = real_pool(shared, "keggdirected", 4.472, 0.01)
    assert len(pool) == 44827
    found = simulate(pool, FIXED, budget=500, trials=2000, seed=1)
    rows = [found.row(name) for name in ("random", "random + proxy", "lure", "ppat 1")]
    for worse, better in pairwise(rows):
        error = np.hypot(worse["median_squared_error_se"], better["median_squared_error_se"])
        assert worse["median_squared_error"] - better["median_squared_error"] > 3 * error
    assert rows[0]["coverage"] < 0.85  # most random samples miss the few enormous losses
    assert all(abs(z(found.row(name))) < 4 for name in FIXED)


@pytest.mark.data
@pytest.mark.slow
def test_kin40k_is_better_off_without_its_proxy(shared):
    """A proxy of little correlation: a control of 1 loses to LURE, and still nothing is biased."""
    pool = real_pool(shared, "kin40k", 1.697, 0.03)
    assert len(pool) == 36000
    assert np.corrcoef(pool.loss, pool.proxy_loss)[0, 1] < 0.5
    found = simulate(pool, FIXED, budget=500, trials=2000, seed=1)
    lure, ppat_1 = found.row("lure"), found.row("ppat 1")
    error = np.hypot(lure["median_squared_error_se"], ppat_1["median_squared_error_se"])
    assert ppat_1["median_squared_error"] - lure["median_squared_error"] > 3 * error
    assert ppat_1["median_squared_error"] < found.row("random")["median_squared_error"]
    assert all(abs(z(found.row(name))) < 4 for name in FIXED)


# refusals

BARE = Pool([1.0, 2.0, 3.0])
FLAT = Pool([1.0, 2.0, 3.0], [1.0, 1.0, 1.0], proposal.Moments([1.0, 1.0, 1.0], [1.0, 1.0, 1.0]))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Pool([1.0, np.nan]), r"loss\[1\] is nan"),
        (lambda: Pool([1.0, 2.0], [1.0]), "proxy_loss has 1 values and pool_size is 2"),
        (lambda: Pool([1.0, 2.0], moments=proposal.Moments([1.0], [1.0])), "moments are of 1 points and loss of 2"),
        (lambda: Method("best"), "proposal is 'best'"),
        (lambda: Method(variance="exact"), "variance is 'exact'"),
        (lambda: Method(estimator="mean"), "estimator is 'mean'"),
        (lambda: Method(control="best"), "control is 'best'"),
        (lambda: Method(control=np.inf), "control is inf"),
        (lambda: Method(proposal_control=np.nan), "proposal_control is nan"),
        (lambda: Method(refresh=0), "refresh is 0"),
        (lambda: Method(intercept=1), "intercept is 1"),
        (lambda: Method("oracle", "dagger"), "give proposal_control"),
        (lambda: simulate(BARE, ["best"], budget=1), "methods has 'best'"),
        (lambda: simulate(BARE, {"mine": "random"}, budget=1), r"methods\['mine'\] is 'random'"),
        (lambda: simulate(BARE, [], budget=1), "methods is empty"),
        (lambda: simulate(BARE, ["random"], budget=[]), "budget is empty"),
        (lambda: simulate(BARE, ["random"], budget=4), "budget is 4 and the pool has 3 points"),
        (lambda: simulate(BARE, ["random"], budget=[1, 0]), "budget is 0"),
        (lambda: simulate(BARE, ["random"], budget=1, trials=1), "trials is 1"),
        (lambda: simulate(BARE, ["random"], budget=1, seed=-1), "seed is -1"),
        (lambda: simulate(BARE, ["random"], budget=1, confidence=1.0), "confidence is 1.0"),
        (lambda: simulate(BARE, ["lure"], budget=1), "'lure', which needs the moments"),
        (lambda: simulate(BARE, ["ase"], budget=1), "'ase', which needs the moments"),
        (lambda: simulate(BARE, ["random + proxy"], budget=1), "'random \\+ proxy', which needs a proxy loss"),
        (lambda: simulate(BARE, ["proxy"], budget=1), "'proxy', which needs a proxy loss"),
        (lambda: simulate(FLAT, ["ppat dagger"], budget=1), "proxy_loss is the same for all points"),
        (lambda: simulate(FLAT, {"mine": Method(epsilon=2.0)}, budget=1), "epsilon is 2.0"),
        (lambda: simulate(BARE, ["random"], budget=1, trials=5).row("lure"), "there is no row of 'lure'"),
        (lambda: simulate(BARE, ["random"], budget=1, trials=5).row("random", 2), "'random' with budget 2"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(InputError, match=message):
        call()
