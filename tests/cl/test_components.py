"""Components of variance: by hand, against simulation, and designs that cannot tell them apart."""

import json

import numpy as np
import pytest

from helpers.cl.components import variance
from helpers.errors import InputError

from .repeated import A, keyed, run

CROSSED = {(s, o): v for s, row in enumerate([[80, 74], [84, 76], [82, 78]]) for o, v in enumerate(row)}


def test_crossed_components_by_hand():
    """The mean squares of a table of three seeds and two orders, written out."""
    found = variance(CROSSED)
    y = np.array([[80, 74], [84, 76], [82, 78]], dtype=float)
    rest = y - y.mean(1, keepdims=True) - y.mean(0) + y.mean()
    ms_rest = np.sum(rest**2) / 2
    ms_seed, ms_order = 2 * y.mean(1).var(ddof=1), 3 * y.mean(0).var(ddof=1)
    parts = found.components
    assert parts["seed x order"].value == pytest.approx(ms_rest)
    assert parts["seed"].value == pytest.approx((ms_seed - ms_rest) / 2)
    assert parts["order"].value == pytest.approx((ms_order - ms_rest) / 3)
    assert (found.mean, found.design) == (79.0, "crossed")
    assert parts["seed x order"].note == "holds what generation and grading bring, which this design does not separate"
    assert parts["seed"].note is None
    # Searle: the variance of sum c MS is 2 sum (c MS)^2 / df, estimated over df + 2
    assert parts["order"].std_error == pytest.approx(np.sqrt(2 * ((ms_order / 3) ** 2 / 3 + (ms_rest / 3) ** 2 / 4)))


def test_absent_levels_are_none_with_a_reason():
    parts = variance(CROSSED).components
    for name in ("generation", "grading"):
        assert parts[name].value is None
        assert f"every result has one {name}" in parts[name].reason
    assert "neither n nor scores" in parts["sample"].reason
    one = variance(keyed(A)).components
    assert (one["order"].value, one["seed x order"].value) == (None, None)
    assert one["order"].reason == "every result has one order: its variance is not seen"
    assert one["seed"].value == pytest.approx(np.var(A, ddof=1))
    assert "seed x order and generation and grading" in one["seed"].note


def test_a_negative_estimate_is_zero_and_kept():
    """Seeds whose means agree while their cells do not."""
    found = variance({(0, 0): 1.0, (0, 1): 3.0, (1, 0): 3.0, (1, 1): 1.0})
    seed = found.components["seed"]
    assert (seed.value, seed.raw) == (0.0, -2.0)
    assert any("the estimate for seed is negative, -2, and reported as 0" in text for text in found.warnings)


def simulate(rng, shape, sd, samples=0, sample_sd=0.0, noise=0.0, nested=False):
    """Crossed seeds and orders (or seeds nested in orders), generations and gradings nested in them."""
    a, b, g, _ = shape
    seed = rng.normal(scale=sd["seed"], size=(a, b if nested else 1, 1, 1))
    order = rng.normal(scale=sd["order"], size=(1, b, 1, 1))
    both = rng.normal(scale=sd.get("both", 0.0), size=(a, b, 1, 1))
    generation = rng.normal(scale=sd.get("generation", 0.0), size=(a, b, g, 1))
    y = 70 + seed + order + both + generation + rng.normal(scale=sd.get("grading", 0.0), size=shape)
    if not samples:
        return y
    items = rng.normal(scale=sample_sd, size=samples)
    return y[..., None] + items + rng.normal(scale=noise, size=(*shape, samples))


def check(estimates, truth):
    """Unbiased: the mean of the estimates lies within four of its standard errors of the truth."""
    estimates = np.array(estimates)
    error = estimates.std(ddof=1) / np.sqrt(len(estimates))
    assert abs(estimates.mean() - truth) < 4 * error, (estimates.mean(), truth, error)
    assert error < 0.25 * max(truth, 1.0)  # a band that could not tell would be no test


def test_crossed_components_against_simulation():
    """5 seeds, 4 orders, 3 generations, 2 gradings, 300 sets; band of four standard errors (see `check`)."""
    sd = {"seed": 1.5, "order": 3.0, "both": 1.0, "generation": 2.0, "grading": 0.5}
    rng = np.random.default_rng(1)
    raws = {name: [] for name in ("seed", "order", "seed x order", "generation", "grading")}
    for _ in range(300):
        y = simulate(rng, (5, 4, 3, 2), sd)
        found = variance({i: y[i] for i in np.ndindex(y.shape)}, levels=("seed", "order", "generation", "grading"))
        for name, values in raws.items():
            values.append(found.components[name].raw)
            assert found.components[name].note is None
    for name, key in zip(raws, sd, strict=True):
        check(raws[name], sd[key] ** 2)


def test_the_standard_error_is_that_of_the_estimate():
    """Its mean square against the variance of 1000 estimates, whose own sd is 5 to 10 %: band 25 to 30 %."""
    rng = np.random.default_rng(2)
    found = [
        variance({i: y[i] for i in np.ndindex(y.shape)}, levels=("seed", "order")).components["order"]
        for y in (
            simulate(rng, (4, 12, 1, 1), {"seed": 1.0, "order": 2.0, "both": 1.0})[..., 0, 0] for _ in range(1000)
        )
    ]
    ratio = np.mean([part.std_error**2 for part in found]) / np.var([part.raw for part in found], ddof=1)
    assert 0.75 < ratio < 1.3


def test_nested_components_against_simulation():
    """6 orders with 4 seeds each of their own: what a crossed reading would call missing."""
    rng = np.random.default_rng(3)
    seeds, orders = [], []
    for _ in range(300):
        y = simulate(rng, (4, 6, 1, 1), {"seed": 2.0, "order": 3.0}, nested=True)
        found = variance({(f"{o}-{s}", o): y[s, o, 0, 0] for s in range(4) for o in range(6)})
        assert found.design == "seeds within orders"
        seeds.append(found.components["seed"].raw)
        orders.append(found.components["order"].raw)
    check(seeds, 4.0)
    check(orders, 9.0)
    assert "their interaction is part of seed" in found.components["seed x order"].reason
    assert (found.components["seed"].levels, found.components["order"].levels) == (4, 6)


def test_orders_within_seeds_is_the_mirror_image():
    values = {(o, f"{o}-{s}"): float(s * s + 3 * o) for s in range(3) for o in range(4)}
    mirrored = variance({(key[1], key[0]): value for key, value in values.items()})
    found = variance(values)
    assert found.design == "orders within seeds"
    assert found.components["seed"].raw == pytest.approx(mirrored.components["order"].raw)
    assert found.components["order"].raw == pytest.approx(mirrored.components["seed"].raw)


def test_seed_and_order_one_to_one_cannot_be_told_apart():
    """The trap of a seed that also shuffles the classes."""
    found = variance({(seed, f"order {seed}"): value for seed, value in enumerate(A)})
    parts = found.components
    assert found.design == "one to one"
    assert (parts["seed"].value, parts["order"].value) == (None, None)
    assert "cannot be told apart" in parts["seed"].reason
    assert parts["seed x order"].value == pytest.approx(np.var(A, ddof=1))
    assert "seed and order and generation and grading" in parts["seed x order"].note


def test_sample_is_told_from_seed_by_the_scores_of_samples():
    """8 seeds on the same 40 samples, 300 sets: noise of each sample under each seed must not look like seed variance.

    Sample variance of one result: (item sd^2 + noise sd^2) / 40 = (16 + 25) / 40; the seed component stays 1.
    """
    rng = np.random.default_rng(4)
    seeds, samples, naive = [], [], []
    for _ in range(300):
        y = simulate(rng, (8, 1, 1, 1), {"seed": 1.0, "order": 0.0}, samples=40, sample_sd=4.0, noise=5.0)[:, 0, 0, 0]
        found = variance({(seed,): y[seed] for seed in range(8)}, levels="seed")
        seeds.append(found.components["seed"].raw)
        samples.append(found.components["sample"].raw)
        naive.append(y.mean(axis=1).var(ddof=1))
    check(seeds, 1.0)
    check(samples, 41 / 40)
    with pytest.raises(AssertionError):
        check(naive, 1.0)  # 1 + 25 / 40


def test_sample_and_seed_are_those_of_the_two_way_table():
    """Three seeds, four samples: the textbook's (MS_seed - MS_rest) / n, and the standard error of that difference."""
    y = np.array([[3.0, 1.0, 4.0, 1.0], [5.0, 9.0, 2.0, 6.0], [5.0, 3.0, 5.0, 8.0]])
    rest = y - y.mean(1, keepdims=True) - y.mean(0) + y.mean()
    ms_rest, ms_seed = np.sum(rest**2) / 6, 4 * y.mean(1).var(ddof=1)
    parts = variance({(seed,): y[seed] for seed in range(3)}, levels="seed").components
    assert parts["seed"].raw == pytest.approx((ms_seed - ms_rest) / 4)
    assert parts["seed"].std_error == pytest.approx(np.sqrt(2 * ((ms_seed / 4) ** 2 / 4 + (ms_rest / 4) ** 2 / 8)))
    assert parts["sample"].raw == pytest.approx(y.var(axis=1, ddof=1).mean() / 4)


def test_sample_scores_in_a_crossed_design_with_generations():
    """The same correction for every mean square: 6 seeds, 5 orders, 2 generations, 20 samples, 200 sets."""
    sd = {"seed": 1.5, "order": 2.0, "both": 1.0, "generation": 1.0}
    rng = np.random.default_rng(6)
    raws = {name: [] for name in ("seed", "order", "seed x order", "generation")}
    for _ in range(200):
        y = simulate(rng, (6, 5, 2, 1), sd, samples=20, sample_sd=3.0, noise=4.0)[:, :, :, 0]
        found = variance({i: y[i] for i in np.ndindex(y.shape[:3])}, levels=("seed", "order", "generation"))
        for name, values in raws.items():
            values.append(found.components[name].raw)
    for name, key in zip(raws, sd, strict=True):
        check(raws[name], sd[key] ** 2)


def test_binomial_sample_variance():
    """Unbiased over n - 1: 80 % of 101 samples has p (1 - p) / 100 = .0016, or 16 square points."""
    found = variance(dict.fromkeys(keyed(A), 80.0), n=101)
    assert found.components["sample"].value == pytest.approx(16.0)
    assert variance(dict.fromkeys(keyed(A), 0.8), n=101, scale="fraction").components["sample"].value == pytest.approx(
        0.0016
    )
    assert "same test samples" in found.components["sample"].note


def test_binomial_sample_variance_of_matrices():
    """Two tasks of 101 and 51 samples at 80 %: the mean of both has a quarter of each variance."""
    found = variance([run(80.0, seed, n=[101, 51]) for seed in range(3)]).components["sample"]
    assert found.value == pytest.approx((16.0 + 32.0) / 4)
    without = variance([run(80.0, seed) for seed in range(3)]).components["sample"]
    assert (without.value, "lacks n" in without.reason) == (None, True)
    other = variance([run(80.0, seed, n=[101, 51]) for seed in range(3)], metric="bwt.gem").components["sample"]
    assert (other.value, "share test samples" in other.reason) == (None, True)


def test_few_levels_are_warned_of():
    found = variance(CROSSED)
    assert any(text.startswith("2 levels of order") for text in found.warnings)
    assert not variance({(s, o): float(s * o + s) for s in range(5) for o in range(5)}).warnings


def test_variance_is_json_and_readable():
    found = variance(CROSSED)
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["components"]["grading"]["value"] is None
    assert "order 17" in repr(found)
    assert "grading undefined" in repr(found)


@pytest.mark.parametrize(
    ("results", "options", "message"),
    [
        ({(0, "a"): 1.0, (0, "b"): 2.0, (1, "a"): 3.0}, {}, "seed 1 lacks order 'b'"),
        ({(0, 0, 0): 1.0}, {}, "results has key (0, 0, 0): give ids for seed, order"),
        ({(0, 0): 1.0}, {"levels": ("seed", "epoch")}, "levels is ('seed', 'epoch')"),
        ({(0, 0): 1.0}, {"levels": ("seed", "seed")}, "each once"),
        ([run(80.0)], {"levels": ("seed",)}, "runs have a seed and an order"),
        ({(0, 0): [1.0, None], (1, 0): [1.0, 2.0]}, {}, "results[(0, 0)] lacks sample 1"),
        ({(0, 0): [1.0, 2.0], (1, 0): [1.0]}, {}, "results[(1, 0)] has 1 samples and results[(0, 0)] 2"),
        ({(0, 0): np.inf}, {}, "results[(0, 0)][0] is inf"),
        ({(0, 0): 80.0}, {"n": 1}, "n is 1: give the number of test samples"),
        ({(0, 0): 80.0}, {"n": 10, "scale": "free"}, "scale is 'free'"),
        ({(0, 0): 80.0}, {"n": 10, "scale": "fraction"}, "results has 80, outside 0..1"),
    ],
)
def test_variance_refusals(results, options, message):
    with pytest.raises(InputError) as refusal:
        variance(results, **options)
    assert message in str(refusal.value)


def test_unbalanced_generations_and_gradings_are_refused():
    levels = ("seed", "generation", "grading")
    full = {(s, g, r): float(s + g + r) for s in range(2) for g in range(2) for r in range(2)}
    assert variance(full, levels=levels).design == "crossed"
    with pytest.raises(InputError, match=r"generations of run \(0, 0\) have \[1, 2\] gradings"):
        variance({key: value for key, value in full.items() if key != (0, 1, 1)}, levels=levels)
    with pytest.raises(InputError, match="same number of generations"):
        variance({key: value for key, value in full.items() if key[:2] != (0, 1)}, levels=levels)


@pytest.mark.parametrize("levels", [None, 3, [[]], [None]])
def test_levels_that_are_none_are_refused(levels):
    with pytest.raises(InputError, match=r"^levels is"):
        variance({(0, 0): 1.0, (1, 1): 2.0}, levels=levels)


def test_results_near_the_limit_have_finite_components_and_beyond_it_are_refused():
    results = {(seed, order): 1e99 * (seed + order**2) for seed in range(3) for order in range(3)}
    assert np.isfinite(variance(results).components["seed"].std_error)
    with pytest.raises(InputError, match=r"results\[\(0, 0\)\]\[0\] is 1e\+300: a score is finite"):
        variance({key: 1e300 for key in results})
