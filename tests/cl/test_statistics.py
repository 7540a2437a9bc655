"""Repeated runs: pairs by key, worst orders, components of variance against simulation, and where two runs part."""

import json

import numpy as np
import pytest

from helpers import cl
from helpers.cl.record import AccuracyMatrix, Run
from helpers.cl.statistics import diff, paired, variance, worst_order
from helpers.errors import InputError

# Worked example E13.
A, B = [77.1, 75.4, 78.0, 76.2, 77.3], [75.0, 74.1, 76.9, 74.2, 76.0]


def keyed(values, order=0):
    return {(seed, order): value for seed, value in enumerate(values)}


def run(final, seed=0, order="a", name="ER", n=None, **options):
    matrix = AccuracyMatrix([[final, 10.0], [final, final]], n=n, **options)
    return Run(matrix, name, seed=seed, order=order)


# --- paired


def test_worked_example_13():
    found = paired(keyed(A), keyed(B))
    assert (found.n, found.mean, found.t.statistic) == (5, pytest.approx(1.56), pytest.approx(7.649, abs=5e-4))
    assert (found.t.p_value, found.sign_flip.p_value) == (pytest.approx(0.0016, abs=5e-5), 0.0625)
    assert found.t.interval == pytest.approx((0.994, 2.126), abs=5e-4)
    assert paired(keyed(A), keyed(B), alternative="greater").t.p_value == pytest.approx(0.0008, abs=5e-5)
    assert (found.least, found.most) == ((2, 0), (0, 0))


def test_worked_example_13b():
    found = paired(keyed([60, 72, 81, 68, 75]), keyed([58, 71, 78, 67, 73]))
    assert (found.mean, found.t.statistic) == (pytest.approx(1.8), pytest.approx(4.81, abs=5e-3))
    assert found.t.p_value == pytest.approx(0.0086, abs=5e-5)


def test_pairs_are_made_by_key_and_not_by_position():
    backwards = dict(reversed(keyed(B).items()))
    assert list(backwards) != list(keyed(B))
    assert paired(keyed(A), backwards) == paired(keyed(A), keyed(B))


def test_fewer_than_six_units_are_warned_of():
    five = paired(keyed(A), keyed(B)).warnings
    assert (
        five[0] == "5 units: the sign-flip test cannot fall below 0.0625 (two-sided); two-sided, 6 are needed for .05"
    )
    six = paired(keyed([*A, 77.0]), keyed([*B, 76.0]))
    assert six.sign_flip.p_value == 0.03125
    assert not [text for text in six.warnings if "units" in text]


def test_one_order_is_warned_of():
    assert any("all runs share one order" in text for text in paired(keyed(A), keyed(B)).warnings)
    several = {(seed, seed): value for seed, value in enumerate(A)}
    assert not any("share" in text for text in paired(several, several).warnings)


def test_ids_that_do_not_pair_are_all_named():
    with pytest.raises(InputError) as refusal:
        paired({(0, "a"): 1.0, (1, "a"): 2.0, (2, "a"): 3.0}, {(1, "a"): 1.0, (3, "a"): 2.0})
    message = str(refusal.value)
    assert message.startswith("3 ids do not pair:")
    for part in ("(0, 'a') only in first", "(2, 'a') only in first", "(3, 'a') only in second"):
        assert part in message


def test_runs_are_compared_by_a_metric():
    first = [run(80.0 + seed, seed) for seed in range(3)]
    second = [run(75.0, seed, name="EWC") for seed in (2, 0, 1)]
    found = paired(first, second)
    assert found.differences == (5.0, 6.0, 7.0)
    assert found.keys == ((0, "a"), (1, "a"), (2, "a"))
    assert paired(first, second, metric="clear.next_domain").mean == 0.0
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["keys"][0] == [0, "a"]


def test_a_run_without_the_metric_is_refused():
    with pytest.raises(InputError, match=r"first\[\(0, 'a'\)\] has no fwt.gem: "):
        paired([run(80.0)], [run(70.0)], metric="fwt.gem")


def test_units_average_what_depends():
    first = {(seed, order): 10.0 * order + seed for seed in range(3) for order in range(4)}
    second = dict.fromkeys(first, 0.0)
    by_order, by_seed = paired(first, second, unit="order"), paired(first, second, unit="seed")
    assert (by_order.keys, by_order.differences) == ((0, 1, 2, 3), (1.0, 11.0, 21.0, 31.0))
    assert (by_seed.keys, by_seed.differences) == ((0, 1, 2), (15.0, 16.0, 17.0))
    assert any("12 pairs share 3 seeds and 4 orders" in text for text in paired(first, second).warnings)
    assert not any("pairs share" in text for text in by_order.warnings)


def test_pairs_that_share_orders_find_too_much():
    """No difference on average, one that varies with the order: 6 orders, 5 seeds, level .05, 300 samples.

    Taking pairs as independent rejects far too often; averaging within orders keeps the level: 15 expected, sd 3.8,
    band up to 15 + 3.5 sd.
    """
    rng = np.random.default_rng(5)
    rejected = {"pair": 0, "order": 0}
    for _ in range(300):
        effect = rng.normal(size=6)
        first = {(s, o): effect[o] + rng.normal(scale=0.5) for s in range(5) for o in range(6)}
        for unit in rejected:
            found = paired(first, dict.fromkeys(first, 0.0), unit=unit, replicates=1)
            rejected[unit] += found.t.p_value <= 0.05
    assert rejected["order"] <= 28
    assert rejected["pair"] >= 90


@pytest.mark.parametrize(
    ("first", "second", "options", "message"),
    [
        ({}, {}, {}, "first is {}: give runs"),
        ([1, 2], [1, 2], {}, "first[0] is of type int"),
        ({0: 1.0}, {0: 1.0}, {}, "first has key (0,): give (seed, order)"),
        ({(0, 0): np.nan}, {(0, 0): 1.0}, {}, "first[(0, 0)] is nan"),
        ({(0, 0): 1.0}, {(0, 0): "a"}, {}, "second[(0, 0)] is 'a'"),
        ({(0, 0): 1.0}, {(0, 0): 1.0}, {"unit": "run"}, "unit is 'run'"),
        ({(0, 0): 1.0}, {(0, 0): 1.0}, {"alternative": "one"}, "alternative is 'one'"),
        ([run(80.0), run(81.0)], [run(80.0)], {}, "first has (0, 'a') more than once"),
        ([run(80.0), run(81.0, 1, name="EWC")], [run(80.0)], {}, "first has runs of 'ER' and of 'EWC'"),
        ([run(80.0, None, None)], [run(80.0)], {}, "first[0] has neither seed nor order"),
    ],
)
def test_paired_refusals(first, second, options, message):
    with pytest.raises(InputError) as refusal:
        paired(first, second, **options)
    assert message in str(refusal.value)


# --- worst order


def test_worst_order():
    values = {(0, "a"): 80.0, (1, "a"): 82.0, (0, "b"): 70.0, (1, "b"): 74.0, (0, "c"): 71.0, (1, "c"): 90.0}
    found = worst_order(values)
    assert (found.order, found.value, found.mean) == ("b", 72.0, pytest.approx((81 + 72 + 80.5) / 3))
    assert worst_order(values, direction="lower").order == "a"
    assert any("3 orders" in text for text in found.warnings)
    assert json.loads(json.dumps(found.to_dict()))["by_order"] == {"a": 81.0, "b": 72.0, "c": 80.5}


def test_one_order_has_no_worst():
    found = worst_order([run(80.0, 0), run(90.0, 1)])
    assert (found.order, found.value, found.mean) == (None, None, 85.0)
    assert "one order" in found.reason


def test_orders_with_unlike_numbers_of_seeds():
    found = worst_order({(s, o): float(o) for o in range(5) for s in range(1 + (o == 0))})
    assert found.order == 0
    assert found.warnings == ("orders have 1 to 2 seeds: means of few seeds vary more, and look worst",)
    with pytest.raises(InputError, match="direction is 'down'"):
        worst_order(keyed(A), direction="down")


# --- variance

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


# --- where two runs part

CELLS = [[90.0, 10.0], [70.0, 80.0]]
SAME = {
    "data": {"manifest": "3f"},
    "training": {"config": "a1", "seed": 0},
    "grader": {"version": 1},
    "checkpoints": ["c0", "c1"],
    "predictions": {(0, 0): "p", (1, 0): "q"},
}


def side(moved=0.0, **changes):
    cells = np.array(CELLS)
    cells[1, 0] += moved
    return {"matrix": AccuracyMatrix(cells), **SAME, **changes}


@pytest.mark.parametrize(
    ("moved", "changes", "verdict", "text"),
    [
        (0.0, {}, "none", "nothing differs; no cell differs"),
        (1e-9, {}, "noise", "nothing declared differs; no cell differs by more than 0.0001"),
        (0.0, {"checkpoints": ["c0", "d1"]}, "noise", "nothing declared differs; no cell differs"),
        (-5.0, {"data": {"manifest": "4a"}, "training": {"config": "b", "seed": 1}}, "data", "manifest of the data"),
        (-5.0, {"training": {"config": "b", "seed": 0}}, "training", "config of the training differs; 1 of 4 cells"),
        (0.0, {"training": {"config": "b", "seed": 1}}, "training", "config, seed of the training differ; no cell"),
        (-5.0, {"checkpoints": ["c0", "d1"]}, "training", "checkpoints differ from number 1 on"),
        (-5.0, {"predictions": {(0, 0): "p", (1, 0): "r"}}, "generation", "checkpoints agree, predictions of 1 cells"),
        (-5.0, {"grader": {"version": 2}}, "grader", "version of the grader differs"),
        (-5.0, {}, "grader", "the grader changed undeclared"),
        (-5.0, {"predictions": None}, "unexplained", "nothing declared explains the difference; 1 of 4 cells differ"),
        (1e-9, {"grader": {"version": 2}}, "grader", "version of the grader differs"),
    ],
)
def test_the_first_stage_that_differs(moved, changes, verdict, text):
    found = diff(side(), side(moved, **changes))
    assert found.verdict == verdict
    assert text in found.text
    json.dumps(found.to_dict(), allow_nan=False)


def test_where_and_how_much():
    found = diff(side(), side(-5.0))
    assert (found.cells, found.beyond, found.largest, found.first) == (4, 1, 5.0, (1, 0))
    assert "values[1, 0] by -5" in found.text
    assert diff(side(-5.0), side()).text.endswith("by 5")


def test_the_tolerance_is_declared():
    assert diff(side(), side(0.5)).verdict == "grader"
    assert diff(side(), side(0.5), tolerance=0.5).verdict == "noise"
    assert diff(side(), side(0.5), tolerance=0.49).verdict == "grader"
    fractions = [AccuracyMatrix(np.array(CELLS) / 100 + move, scale="fraction") for move in (0.0, 5e-6)]
    assert diff(*fractions).verdict == "unexplained"
    assert diff(*fractions).tolerance == 1e-6


def test_undeclared_stages_before_the_verdict_are_warned_of():
    found = diff(side(data={}, training={}, checkpoints=None), side(-5.0, grader={"version": 2}))
    assert found.verdict == "grader"
    for name in ("data", "training"):
        assert f"{name} is not declared by both: a difference there cannot be excluded" in found.warnings
    assert not diff(side(), side(-5.0, grader={"version": 2})).warnings
    assert diff(side(), side()).warnings == ()
    assert [stage.status for stage in found.stages] == ["not declared", "not declared", "same", "differs"]


def test_fields_of_one_side_are_warned_of():
    found = diff(side(), side(data={"manifest": "3f", "crop": 28}))
    assert (found.verdict, found.warnings) == ("none", ("crop of the data is declared by one run only",))


def test_a_field_called_checkpoint_is_a_field():
    changed = diff(side(training={"checkpoint hash": "a"}), side(training={"checkpoint hash": "b"}))
    assert (changed.verdict, changed.text) == ("training", "checkpoint hash of the training differs; no cell differs")


def test_runs_declare_order_seed_and_information():
    first, second = run(80.0, 0, "a"), run(80.0, 0, "b")
    assert diff(first, second).verdict == "data"
    assert diff(run(80.0, 0), run(80.0, 1)).verdict == "training"
    assert diff(run(80.0), run(80.0, name="EWC")).text.startswith("method of the training differs")
    assert diff(run(80.0), run(80.0)).verdict == "none"


def test_cells_of_one_side_are_not_compared():
    found = diff(AccuracyMatrix([[90, None], [70, 80]]), AccuracyMatrix([[90, 10], [70, 80]]))
    assert (found.verdict, found.cells) == ("none", 3)
    assert "1 cells are missing in one run only and are not compared" in found.warnings


@pytest.mark.parametrize(
    ("first", "second", "options", "message"),
    [
        (side(), {"matrix": AccuracyMatrix([[1.0]])}, {}, "run_b has T 1 and run_a 2"),
        (side(), side(matrix=AccuracyMatrix(CELLS, tasks=["x", "y"])), {}, "run_b has tasks"),
        (side(), side(matrix=CELLS), {}, "run_b has a matrix of type list"),
        ({"data": {}}, side(), {}, "run_a has a matrix of type NoneType"),
        (side(seed=1), side(), {}, "run_a has 'seed': known are 'matrix'"),
        (side(data="3f"), side(), {}, "run_a['data'] is '3f': give a mapping"),
        (side(checkpoints=["c0"]), side(), {}, "run_a['checkpoints'] has 1 entries: give 2"),
        (side(predictions=["p"]), side(), {}, "run_a['predictions'] is no mapping"),
        (side(matrix=run(80.0, 3)), side(), {}, "run_a['training'] has seed 0, its run 3"),
        (side(), side(), {"tolerance": -1.0}, "tolerance is -1.0"),
        (side(), side(), {"tolerance": float("nan")}, "tolerance is nan"),
    ],
)
def test_diff_refusals(first, second, options, message):
    with pytest.raises(InputError) as refusal:
        diff(first, second, **options)
    assert message in str(refusal.value)


def test_values_go_by_the_ids_of_the_registry():
    """The same direction as the registry states, and every function that it names is there."""
    values = [
        cl.lca([[0.1] * 11]),
        cl.lca([[0.1] * 11], form="trapz"),
        cl.prequential([1, 0]),
        cl.prequential([1, 0], how="window", window=1),
        cl.prequential([1, 0], how="fading", alpha=0.5),
        cl.online_accuracy([0.5]),
        cl.min_acc([[0.5, 0.5]] * 2, [0, 1]),
        cl.wc_acc([[0.5, 0.5]] * 2, [0, 1]),
        cl.aaa([[0.5]], [0]),
        *(getattr(cl.adaptation([0.5], shifts=[0], target=0.5), name) for name in ("online", "delay", "recovery")),
        *(getattr(cl.order_sensitivity([[1, 2], [3, 4]]), name) for name in ("mopd", "aopd")),
        *cl.order_sensitivity([[1, 2], [3, 4]]).opd,
        *cl.paths([[0, 1], [1, 0]]).values,
    ]
    for value in values:
        assert value.direction == cl.METRICS[value.id].direction, value.id
        assert hasattr(cl, cl.METRICS[value.id].function)
    assert cl.windowed([[0.5]] * 2, [0, 0]).direction == cl.METRICS["wf_w"].direction
    assert cl.windowed([[0.5]] * 2, [0, 0], change="rise").direction == cl.METRICS["wp_w"].direction
