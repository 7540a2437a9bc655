"""Figures of simulations and of looks: what they say in words, and what they refuse."""

import numpy as np
import pytest

from helpers import ppat
from helpers.errors import InputError
from helpers.ppat import Method, Pool, proposal, show


@pytest.fixture(scope="module")
def pool():
    surprise = np.random.default_rng(0).normal(size=300)
    return Pool(surprise**2, 0.9 * surprise**2, proposal.Moments.gaussian(surprise, 0.1))


@pytest.fixture(scope="module")
def simulated(pool):
    return ppat.simulate(pool, ["random", "lure", "ppat 1", "proxy"], budget=[20, 40], trials=50, seed=1)


def test_errors_say_the_last_of_each_curve(simulated):
    figure = ppat.show.errors(simulated, ["random", "proxy"])
    for name in ("random", "proxy"):
        assert f"{name} {simulated.row(name, 40)['median_squared_error']:.2g}" in figure.alt
    assert "At 40 labels" in figure.alt
    assert "over 50 runs" in figure.caption
    assert figure.name == "errors"


def test_the_band_of_a_curve():
    rows = [
        {"budget": 20, "median_squared_error": 0.4, "median_squared_error_se": 0.1},
        {"budget": 50, "median_squared_error": 0.1, "median_squared_error_se": 0.1},
    ]
    budget, median, low, high = show._band(rows)
    assert (list(budget), list(median)) == ([20, 50], [0.4, 0.1])
    assert low == pytest.approx([0.204, 0.01])  # never 0 or less, on a logarithmic axis
    assert high == pytest.approx([0.596, 0.296])


def test_coverage_says_both_ends(simulated):
    figure = ppat.show.coverage(simulated, ["random", "lure"], name="held")
    first, last = (simulated.row("lure", budget)["coverage"] for budget in (20, 40))
    assert f"lure {first:.3f} and {last:.3f}" in figure.alt
    assert "At 20 and 40 labels" in figure.alt
    assert "nominal 0.9" in figure.alt
    assert figure.name == "held"


@pytest.mark.parametrize(
    ("methods", "message"),
    [
        (["proxy"], "methods has 'proxy', which has no interval"),
        ([], "methods has 0 names: show 1 to 4"),
        (["random"] * 5, "methods has 5 names: show 1 to 4"),
        (["ase"], "there is no row of 'ase'"),
    ],
)
def test_refused_methods(simulated, methods, message):
    with pytest.raises(InputError, match=message):
        ppat.show.coverage(simulated, methods)


def test_a_curve_needs_two_budgets(pool):
    single = ppat.simulate(pool, {"one": Method("uniform")}, budget=20, trials=10)
    with pytest.raises(InputError, match="simulation has one budget"):
        ppat.show.errors(single, ["one"])


def test_looks_tell_both_intervals(pool):
    indices, q = ppat.sample(pool.moments.scores(), 120, seed=2)
    run = {"loss": pool.loss[indices[0]], "q": q[0], "pool_size": len(pool)}
    curve, sequence = ppat.estimates(**run), ppat.confidence_sequence(**run, first=50)
    figure = ppat.show.looks(curve, sequence, risk=pool.risk)
    low, high = sequence.interval
    assert f"{curve.low[-1]:.4g} to {curve.high[-1]:.4g}" in figure.alt
    assert f"asymptotic time-uniform one {low:.4g} to {high:.4g}" in figure.alt
    early = {name: values[:40] if name != "pool_size" else values for name, values in run.items()}
    undefined = ppat.show.looks(ppat.estimates(**early), ppat.confidence_sequence(**early))
    assert "asymptotic time-uniform one not defined" in undefined.alt
    with pytest.raises(InputError, match="show both of one run"):
        ppat.show.looks(ppat.estimates(**early), sequence)
