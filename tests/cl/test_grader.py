"""The grader protocol: agreement by its definition, variances by simulation, length by the textbook's matrices."""

import itertools
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import cl
from helpers.cl import grader
from helpers.cl.grader import cohen_kappa, fleiss_kappa, grader_variance, krippendorff_alpha, length_bias
from helpers.errors import InputError

#: Krippendorff (2011), the reliability data of section C: 4 observers, 12 units, 5 grades, missing values.
PUBLISHED = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
        [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
    ]
).T


def alpha_by_pairs(ratings, difference):
    """The definition in words: mean squared difference within units over that of all pairs of grades."""
    units = [[grade for grade in row if grade is not None] for row in ratings]
    units = [unit for unit in units if len(unit) > 1]
    pooled = [grade for unit in units for grade in unit]
    observed = sum(
        sum(difference(a, b) for a, b in itertools.permutations(unit, 2)) / (len(unit) - 1) for unit in units
    ) / len(pooled)
    expected = sum(difference(a, b) for a, b in itertools.permutations(pooled, 2))
    return 1 - observed / (expected / (len(pooled) * (len(pooled) - 1)))


def rank_difference(pooled):
    """Squared number of grades between two, the ends counted half."""

    def difference(a, b):
        low, high = min(a, b), max(a, b)
        between = sum(low <= grade <= high for grade in pooled)
        return (between - (pooled.count(a) + pooled.count(b)) / 2) ** 2 if a != b else 0.0

    return difference


def pairable(ratings):
    rows = [[grade for grade in row if grade is not None] for row in ratings]
    return [grade for row in rows if len(row) > 1 for grade in row]


@pytest.mark.parametrize(("level", "value"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
def test_the_published_example(level, value):
    found = krippendorff_alpha(PUBLISHED, level=level)
    assert round(found.value, 3) == value
    assert (found.n_items, found.n_raters) == (11, 4)
    assert found.interval[0] < found.value < found.interval[1] <= 1


ratings_with_gaps = st.lists(
    st.lists(st.one_of(st.none(), st.sampled_from([1, 2, 4, 9])), min_size=3, max_size=3), min_size=4, max_size=8
)


@given(ratings_with_gaps)
def test_alpha_is_its_definition(ratings):
    pooled = pairable(ratings)
    if len(set(pooled)) < 2 or sum(len(row) - row.count(None) > 1 for row in ratings) < 2:
        assert krippendorff_alpha(ratings).value is None
        return
    differences = {
        "nominal": lambda a, b: float(a != b),
        "interval": lambda a, b: (a - b) ** 2,
        "ordinal": rank_difference(pooled),
    }
    for level, difference in differences.items():
        expected = alpha_by_pairs(ratings, difference)
        assert krippendorff_alpha(ratings, level=level).value == pytest.approx(expected, abs=1e-9)


def test_alpha_knows_what_a_level_leaves_unchanged():
    rng = np.random.default_rng(0)
    ratings = rng.integers(1, 6, size=(30, 3))
    values = {level: krippendorff_alpha(ratings, level=level).value for level in grader.LEVELS}
    stretched = {level: krippendorff_alpha(ratings**3, level=level).value for level in grader.LEVELS}
    turned = {level: krippendorff_alpha(7 * ratings - 3, level=level).value for level in grader.LEVELS}
    assert values == pytest.approx(turned)
    assert (stretched["nominal"], stretched["ordinal"]) == pytest.approx((values["nominal"], values["ordinal"]))
    assert abs(stretched["interval"] - values["interval"]) > 1e-3


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_alpha_of_scores_does_not_mind_their_scale(scale):
    ratings = np.random.default_rng(1).normal(size=(200, 1)) + 0.5 * np.random.default_rng(2).normal(size=(200, 2))
    reference = krippendorff_alpha(ratings, level="interval").value
    assert krippendorff_alpha(scale * ratings + 5 * scale, level="interval").value == pytest.approx(reference)
    assert 0.7 < reference < 0.9  # the intraclass correlation of the simulation is 1 / 1.25 = 0.8


def test_cohen_worked_example():
    """2 x 2 table 20, 5, 10, 15: observed agreement .7, by chance .5, kappa .4."""
    first = [1] * 25 + [0] * 25
    second = [1] * 20 + [0] * 5 + [1] * 10 + [0] * 15
    assert cohen_kappa(first, second).value == pytest.approx(0.4)
    names = {1: "yes", 0: "no"}
    assert cohen_kappa([names[g] for g in first], [names[g] for g in second]).value == pytest.approx(0.4)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=12))
def test_cohen_is_its_definition(pairs):
    n, firsts, seconds = len(pairs), [a for a, _ in pairs], [b for _, b in pairs]
    rank = {grade: place for place, grade in enumerate(sorted(set(firsts + seconds)))}
    costs = {
        "none": lambda a, b: float(a != b),
        "linear": lambda a, b: float(abs(rank[a] - rank[b])),
        "quadratic": lambda a, b: float(rank[a] - rank[b]) ** 2,
    }
    for weights, cost in costs.items():
        found = sum(cost(a, b) for a, b in pairs) / n
        chance = sum(cost(a, b) for a in firsts for b in seconds) / n**2
        kappa = cohen_kappa(firsts, seconds, weights=weights)
        if chance == 0:
            assert kappa.value is None
            assert "one grade" in kappa.reason
        else:
            assert kappa.value == pytest.approx(1 - found / chance)


def test_fleiss_published_example():
    """Fleiss' worked table as it is commonly reprinted: 10 items, 14 raters, 5 grades, kappa .210."""
    table = [
        [0, 0, 0, 0, 14],
        [0, 2, 6, 4, 2],
        [0, 0, 3, 5, 6],
        [0, 3, 9, 2, 0],
        [2, 2, 8, 1, 1],
        [7, 7, 0, 0, 0],
        [3, 2, 6, 3, 0],
        [2, 5, 3, 2, 2],
        [6, 5, 2, 1, 0],
        [0, 2, 2, 3, 7],
    ]
    ratings = [[grade for grade, count in enumerate(row) for _ in range(count)] for row in table]
    assert round(fleiss_kappa(ratings).value, 3) == 0.210


@given(st.lists(st.lists(st.integers(0, 2), min_size=3, max_size=3), min_size=1, max_size=8))
def test_fleiss_is_its_definition(ratings):
    alike = [sum(a == b for a, b in itertools.permutations(row, 2)) / 6 for row in ratings]
    pooled = [grade for row in ratings for grade in row]
    chance = sum((pooled.count(grade) / len(pooled)) ** 2 for grade in set(pooled))
    kappa = fleiss_kappa(ratings)
    if len(set(pooled)) == 1:
        assert kappa.value is None
    else:
        assert kappa.value == pytest.approx((np.mean(alike) - chance) / (1 - chance))


def test_fleiss_with_two_raters_is_scotts_and_not_cohens():
    """Pooled habits against each rater's own: the two part where raters differ in their habits."""
    first, second = [1, 1, 1, 1, 0, 1], [1, 0, 0, 1, 0, 0]
    fleiss = fleiss_kappa(np.stack([first, second], axis=1)).value
    assert fleiss == pytest.approx((3 / 6 - (49 + 25) / 144) / (1 - (49 + 25) / 144))
    assert fleiss < cohen_kappa(first, second).value


def test_the_interval_covers():
    """300 data sets of 60 items, level 0.9: the count of hits lies within 4 standard errors, 270 +- 21, less 9 points
    for the percentile bootstrap's known shortfall at this size."""
    rng = np.random.default_rng(3)

    def draw(n):
        truth = rng.integers(0, 3, size=n)
        return np.stack([np.where(rng.random(n) < 0.8, truth, rng.integers(0, 3, size=n)) for _ in range(2)])

    truth = 0.8**2  # both keep the true grade; otherwise they agree as chance has it
    hits = 0
    for _ in range(300):
        low, high = cohen_kappa(*draw(60), confidence=0.9).interval
        hits += low <= truth <= high
    assert 240 <= hits <= 291


def test_the_bootstrap_is_seeded():
    first, second = np.random.default_rng(0).integers(0, 3, size=(2, 40))
    one, again = cohen_kappa(first, second, seed=1), cohen_kappa(first, second, seed=1)
    assert one == again
    assert one.interval != cohen_kappa(first, second, seed=2).interval
    wide = cohen_kappa(first, second, seed=1, confidence=0.99).interval
    assert wide[0] < one.interval[0] < one.interval[1] < wide[1]


@pytest.mark.parametrize(
    ("ratings", "reason"),
    [
        (([0, 1, 0, 1], [0, 1, 1, 1]), "4 items are too few for an interval"),
        (([0, 1] * 5, [0, 1] * 5), "no disagreement seen"),
        (([0, 0, 0, 0, 0, 1], [0, 0, 0, 0, 1, 0]), "resamples have one grade only"),
    ],
)
def test_why_there_is_no_interval(ratings, reason):
    found = cohen_kappa(*ratings)
    assert found.value is not None
    assert found.interval is None
    assert reason in found.reason


def test_too_few_items_with_two_grades():
    found = krippendorff_alpha([[1, 2], [1, None], [None, None]])
    assert (found.value, found.n_items) == (None, 1)
    assert "fewer than two items" in found.reason


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: cohen_kappa([1, 2], [1]), "first has 2 grades and second 1"),
        (lambda: cohen_kappa([1, None], [1, 2]), "first[1] is missing"),
        (lambda: cohen_kappa([], []), "first has shape (0,)"),
        (lambda: cohen_kappa([1, "a"], [1, 2]), "first holds numbers and texts"),
        (lambda: fleiss_kappa([[1, "1"], [2, "2"]]), "ratings holds numbers and texts"),
        (lambda: krippendorff_alpha([["a", "a"], ["b", np.nan]]), "ratings holds numbers and texts"),
        (lambda: cohen_kappa([1j, 2], [1, 2]), "ratings hold complex numbers"),
        (lambda: cohen_kappa([float("inf"), 2], [1, 2]), "ratings hold a grade that is not finite"),
        (lambda: krippendorff_alpha([[1, -np.inf], [1, 2]], level="interval"), "a grade that is not finite"),
        (lambda: cohen_kappa([1, 2], [1, 2], weights="cubic"), "weights is 'cubic'"),
        (lambda: cohen_kappa([1, 2], [1, 2], confidence=1), "confidence is 1"),
        (lambda: cohen_kappa(range(101), range(101)), "101 different grades"),
        (lambda: fleiss_kappa([1, 2]), "ratings has shape (2,)"),
        (lambda: fleiss_kappa([[1], [2]]), "at least two"),
        (lambda: fleiss_kappa([[1, 2], [float("nan"), 1]]), "ratings[1, 0] is missing: use krippendorff_alpha"),
        (lambda: krippendorff_alpha([[1, 2]] * 3, level="ratio"), "level is 'ratio'"),
        (lambda: krippendorff_alpha([["a", "b"]] * 3, level="interval"), "no numbers"),
        (lambda: krippendorff_alpha(np.arange(202).reshape(101, 2), level="ordinal"), "202 different grades"),
        (lambda: krippendorff_alpha([[1, 2], [1]]), "ratings is no array"),
    ],
)
def test_agreement_refusals(call, message):
    with pytest.raises(InputError) as refusal:
        call()
    assert message in str(refusal.value)


def simulate(rng, items, outputs, gradings, generation, grading):
    n = len(items)
    made = items[:, None, None] + rng.normal(0, generation, size=(n, outputs, 1))
    return made + rng.normal(0, grading, size=(n, outputs, gradings))


def test_variances_are_unbiased_and_apart():
    """2,000 items: standard errors below 4 % of the grading variance and 6 % of the other; the bands are 4 of them."""
    rng = np.random.default_rng(0)
    for generation, grading in ((3.0, 1.0), (1.0, 3.0)):
        found = grader_variance(simulate(rng, rng.normal(50, 20, size=2000), 3, 3, generation, grading))
        assert found.grading == pytest.approx(grading**2, rel=0.08)
        assert found.generation == pytest.approx(generation**2, abs=4 * 0.03 * (generation**2 + grading**2 / 3))
        assert found.grading_interval[0] < found.grading < found.grading_interval[1]
        assert found.generation_interval[0] < generation**2 < found.generation_interval[1]


def test_the_standard_error_is_that_of_the_mean_over_fixed_items():
    """1,000 repetitions: both spreads are known to about 2.2 %; the band is 4 of that. Items spread ten times wider."""
    rng = np.random.default_rng(1)
    items = rng.normal(0, 30, size=8)
    runs = [simulate(rng, items, 4, 2, 2.0, 1.0) for _ in range(1000)]
    errors = [grader_variance(run).standard_error ** 2 for run in runs]
    truth = np.sqrt((2.0**2 + 1.0**2 / 2) / 4 / 8)
    assert np.sqrt(np.mean(errors)) == pytest.approx(truth, rel=0.09)
    assert np.std([run.mean() for run in runs]) == pytest.approx(truth, rel=0.09)


def test_for_one_item_it_is_the_nested_variance_of_the_library():
    scores = simulate(np.random.default_rng(4), np.array([50.0]), 5, 3, 2.0, 1.0)
    found = grader_variance(scores)
    keyed = {(g, r): float(scores[0, g, r]) for g in range(5) for r in range(3)}
    components = cl.variance(keyed, levels=("generation", "grading")).components
    assert found.grading == pytest.approx(components["grading"].raw)
    assert found.generation == pytest.approx(components["generation"].raw)


def test_a_small_generation_variance_may_come_out_negative():
    scores = np.array([[[0.0, 2.0], [2.0, 0.0]]])
    found = grader_variance(scores)
    assert (found.grading, found.generation) == (2.0, -1.0)
    assert "too few" in found.reasons["intervals"]


def test_one_grading_or_one_output_says_what_is_not_known():
    single = grader_variance(np.arange(12.0).reshape(6, 2, 1))
    assert (single.generation, single.grading) == (None, None)
    assert single.standard_error == pytest.approx(np.sqrt(0.5 / 2 / 6))
    assert "grade the same outputs again" in single.reasons["grading"]
    fixed = grader_variance(np.arange(12.0).reshape(6, 1, 2))
    assert (fixed.generation, fixed.grading, fixed.standard_error) == (None, 0.5, None)
    assert fixed.grading_interval == (0.5, 0.5)
    assert "generate again" in fixed.reasons["generation"]
    for found in (single, fixed):
        assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["n_items"] == 6


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ([[1.0, 2.0]], "scores has shape (1, 2)"),
        ([[[1.0, float("nan")]]], "scores[0, 0, 1] is nan"),
        ([[["a"]]], "scores has type <U1: give numbers of shape (n, G, R)"),
        ([[[1.0, True]]], "scores[0, 0, 1] is True"),
        ([[[1.0, None]]], "scores[0, 0, 1] is nan"),
        ([[[1e200, -1e200], [1.0, 2.0]]], "scores[0, 0, 0] is 1e+200: give finite numbers, up to 1e+50"),
        (np.zeros((0, 2, 2)), "scores has shape (0, 2, 2)"),
    ],
)
def test_variance_refusals(scores, message):
    with pytest.raises(InputError) as refusal:
        grader_variance(scores)
    assert message in str(refusal.value)


def hc3_by_matrices(design, y):
    inverse = np.linalg.inv(design.T @ design)
    beta = inverse @ design.T @ y
    leverage = np.diag(design @ inverse @ design.T)
    meat = design.T @ np.diag(((y - design @ beta) / (1 - leverage)) ** 2) @ design
    return beta[0], np.sqrt((inverse @ meat @ inverse)[0, 0])


def test_the_slope_is_that_of_the_matrices():
    from scipy import stats

    rng = np.random.default_rng(0)
    items = np.repeat(np.arange(9), rng.integers(2, 5, size=9))
    x = rng.normal(100, 30, size=len(items)) + 20 * items
    y = 0.02 * x - 0.7 * items + rng.normal(size=len(x))
    dummies = (items[:, None] == np.arange(9)).astype(float)
    for given_items, rest in ((None, np.ones((len(x), 1))), (items, dummies)):
        design = np.column_stack([x, rest])
        slope, error = hc3_by_matrices(design, y)
        found = length_bias(y, x, items=given_items)
        reach = stats.t.ppf(0.975, len(x) - design.shape[1]) * error
        assert found.slope == pytest.approx(slope)
        assert found.interval == pytest.approx((slope - reach, slope + reach))
        assert found.n_items == (None if given_items is None else 9)


def test_within_items_the_need_for_length_drops_out():
    """Hard items get long answers and low scores; within an item length helps."""
    rng = np.random.default_rng(1)
    items = np.repeat(np.arange(50), 4)
    x = 100.0 * items + rng.normal(0, 10, size=200)
    y = -1.0 * items + 0.05 * (x - 100.0 * items) + rng.normal(0, 0.2, size=200)
    assert length_bias(y, x).slope < 0
    low, high = length_bias(y, x, items=items).interval
    assert 0.04 < low < 0.05 < high < 0.06


def test_the_slope_interval_covers_scores_of_unequal_spread():
    """1,000 data sets of 40 with a spread that grows with length: 95 % less or more 4 standard errors, 2.8 points."""
    rng = np.random.default_rng(2)
    hits = 0
    for _ in range(1000):
        x = rng.uniform(0, 1, size=40)
        low, high = length_bias(2 + 0.5 * x + rng.normal(size=40) * (0.1 + 2 * x), x).interval
        hits += low <= 0.5 <= high
    assert 922 <= hits <= 978


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (([1, 2, 3], [5, 5, 5], None), "lengths do not vary"),
        (([1, 2, 3, 4], [5, 5, 9, 9], [0, 0, 1, 1]), "lengths do not vary within items"),
    ],
)
def test_no_slope_without_variation(arguments, reason):
    found = length_bias(*arguments[:2], items=arguments[2])
    assert (found.slope, found.interval, found.reason) == (None, None, reason)


@pytest.mark.parametrize("lengths", [[1, 2], [1, 1, 1, 9]])
def test_no_interval_where_one_output_sets_the_slope(lengths):
    found = length_bias(list(range(len(lengths))), lengths)
    assert found.slope is not None
    assert found.interval is None
    assert "sets the slope" in found.reason


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: length_bias([1, 2], [1, 2, 3]), "scores has 2 values and lengths 3"),
        (lambda: length_bias([1, float("inf")], [1, 2]), "scores[1] is inf"),
        (lambda: length_bias([1, 2], [1, 1e200]), "lengths[1] is 1e+200: give numbers up to 1e+50"),
        (lambda: length_bias([1, 2, 3, 4], [1, 2, 3, 4], items=["a", "a", None, None]), "items[2] is missing"),
        (lambda: length_bias([1, 2], [1, 2], items=[0]), "items has shape (1,)"),
        (lambda: length_bias([1, 2, 3], [1, 2, 3], items=["a", "a", "b"]), "items has one output of 'b'"),
        (lambda: length_bias([1, 2, 3], [1, 2, 3], confidence=0), "confidence is 0"),
    ],
)
def test_length_refusals(call, message):
    with pytest.raises(InputError) as refusal:
        call()
    assert message in str(refusal.value)
