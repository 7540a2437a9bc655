"""Intervals against SciPy, against their definition and against exact enumeration."""

import itertools
import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from helpers.errors import InputError
from helpers.uncertainty import (
    Rate,
    bootstrap_weights,
    check_confidence,
    clopper_pearson,
    paired_t,
    percentile_interval,
    rank_correlation,
    sign_flip,
)

levels = st.floats(0.5, 0.999)


@st.composite
def counts(draw, most=500):
    """Successes and trials."""
    n = draw(st.integers(1, most))
    return draw(st.integers(0, n)), n


@given(counts(), levels)
def test_clopper_pearson_is_scipys_exact_interval(count, confidence):
    expected = stats.binomtest(*count).proportion_ci(confidence_level=confidence, method="exact")
    assert clopper_pearson(*count, confidence=confidence) == pytest.approx(tuple(expected), abs=1e-10)


@given(counts(60), levels)
def test_clopper_pearson_ends_put_half_the_rest_into_each_tail(count, confidence):
    """The definition, by summing the binomial law: no quantile function has a part in it."""
    successes, n = count
    low, high = clopper_pearson(successes, n, confidence=confidence)
    tail = (1 - confidence) / 2

    def chance(p, ks):
        return math.fsum(math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in ks)

    if successes > 0:
        assert chance(low, range(successes, n + 1)) == pytest.approx(tail, rel=1e-8)
    else:
        assert low == 0.0
    if successes < n:
        assert chance(high, range(successes + 1)) == pytest.approx(tail, rel=1e-8)
    else:
        assert high == 1.0


@pytest.mark.parametrize("n", [1, 5, 30])
@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_coverage_is_never_below_the_level(n, confidence):
    """By enumeration of all outcomes at 301 proportions: exact, no simulation."""
    intervals = np.array([clopper_pearson(count, n, confidence=confidence) for count in range(n + 1)])
    for p in np.linspace(0, 1, 301):
        covers = (intervals[:, 0] <= p) & (p <= intervals[:, 1])
        assert stats.binom.pmf(np.arange(n + 1), n, p) @ covers >= confidence - 1e-9


@given(counts(), levels)
def test_clopper_pearson_mirrors_and_holds_the_rate(count, confidence):
    successes, n = count
    low, high = clopper_pearson(successes, n, confidence=confidence)
    mirrored = clopper_pearson(n - successes, n, confidence=confidence)
    assert (1 - high, 1 - low) == pytest.approx(mirrored, abs=1e-12)
    assert 0 <= low <= successes / n <= high <= 1
    assert low < high


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((-1, 10), "count is -1 of n = 10: a proportion needs n >= 1 and 0 <= count <= n"),
        ((11, 10), "count is 11 of n = 10"),
        ((0, 0), "count is 0 of n = 0"),
    ],
)
def test_clopper_pearson_refuses(arguments, message):
    with pytest.raises(InputError) as refusal:
        clopper_pearson(*arguments)
    assert message in str(refusal.value)


@pytest.mark.parametrize("confidence", [0.0, 1.0, 95, -0.5, math.nan, "high", None])
def test_a_level_outside_0_to_1_is_refused(confidence):
    message = f"confidence is {confidence!r}: give a level between 0 and 1"
    for refuse in (
        lambda: check_confidence(confidence),
        lambda: clopper_pearson(1, 2, confidence=confidence),
        lambda: Rate.of(1, 2, confidence=confidence),
        lambda: percentile_interval(np.arange(3.0), confidence=confidence),
    ):
        with pytest.raises(InputError, match=message):
            refuse()


def test_rate():
    rate = Rate.of(3, 12, confidence=0.9)
    assert (rate.count, rate.n, rate.rate, rate.reason) == (3, 12, 0.25, None)
    assert rate.interval == clopper_pearson(3, 12, confidence=0.9)
    assert json.loads(json.dumps(rate.to_dict(), allow_nan=False)) == {
        "count": 3,
        "n": 12,
        "rate": 0.25,
        "interval": list(rate.interval),
        "reason": None,
    }


def test_a_rate_of_numpy_counts_is_json_too():
    rate = Rate.of(np.int64(3), np.int64(12))
    assert json.loads(json.dumps(rate.to_dict()))["count"] == 3
    assert rate == Rate.of(3, 12)


def test_some_of_none_is_refused():
    with pytest.raises(InputError, match="count is 3 of n = 0"):
        Rate.of(3, 0)


def test_a_rate_of_nothing_is_undefined_and_says_why():
    rate = Rate.of(0, 0)
    assert (rate.rate, rate.interval) == (None, None)
    assert "no rows" in rate.reason
    assert "no rows" in repr(rate)


@pytest.mark.parametrize(
    ("n", "replicates", "sizes"),
    [
        (1, 1, [1]),
        (7, 64, [64]),
        (7, 150, [64, 64, 22]),
        (1_500_000, 3, [2, 1]),  # four million numbers at a time
        (5_000_000, 2, [1, 1]),
    ],
)
def test_bootstrap_weights_come_in_batches_and_sum_to_n(n, replicates, sizes):
    seen = []
    for weights in bootstrap_weights(n, replicates, np.random.default_rng(0)):
        seen.append(len(weights))
        assert weights.shape[1] == n
        assert weights.dtype == np.float64
        assert np.all(weights.sum(axis=1) == n)
        assert np.all(weights == np.round(weights))
    assert seen == sizes


def test_bootstrap_weights_count_draws_with_replacement():
    (weights,) = bootstrap_weights(5, 20, np.random.default_rng(3))
    draws = np.random.default_rng(3).integers(5, size=(20, 5))
    assert np.array_equal(weights, [[np.sum(row == i) for i in range(5)] for row in draws])


def test_bootstrap_weights_have_the_multinomial_law():
    """All ten outcomes for n = 3 against their multinomial chances: chi-square with 9 degrees, seeded."""
    replicates = 30_000
    weights = np.concatenate(list(bootstrap_weights(3, replicates, np.random.default_rng(5))))
    outcomes, seen = np.unique(weights, axis=0, return_counts=True)
    chances = [6 / math.prod(math.factorial(int(w)) for w in row) / 27 for row in outcomes]
    assert len(outcomes) == 10
    assert sum(chances) == pytest.approx(1)
    assert stats.chisquare(seen, np.array(chances) * replicates).pvalue > 0.01


def test_percentile_interval_is_central():
    values = np.random.default_rng(0).permutation(np.arange(1001.0))
    assert percentile_interval(values, confidence=0.9) == pytest.approx((50.0, 950.0))
    assert all(isinstance(end, float) for end in percentile_interval(values, confidence=0.5))


@given(st.lists(st.tuples(st.integers(-4, 4), st.integers(-4, 4)), min_size=2, max_size=12))
def test_rank_correlation_is_scipys(pairs):
    x, y = (list(column) for column in zip(*pairs, strict=True))
    found = rank_correlation(x, y, replicates=10)
    if len(set(x)) == 1 or len(set(y)) == 1:
        assert found.value is None
        assert "no order" in found.reason
    else:
        assert found.value == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-9)
        assert (found.interval is None) == (len(x) < 5)


def test_rank_correlation_interval_covers():
    """Normal pairs with correlation .7 (Spearman .683), n = 40, nominal 90 %: 100 samples, 82 to 97 (binomial sd 3)."""
    rng = np.random.default_rng(3)
    hits = 0
    for seed in range(100):
        x = rng.normal(size=40)
        y = 0.7 * x + np.sqrt(1 - 0.49) * rng.normal(size=40)
        low, high = rank_correlation(x, y, confidence=0.9, seed=seed, replicates=300).interval
        hits += low <= 0.683 <= high
    assert 82 <= hits <= 97


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [([1, 2], [1], "first has 2 values and second 1"), ([1, np.nan], [1, 2], "first[1] is nan")],
)
def test_rank_correlation_refusals(x, y, message):
    with pytest.raises(InputError) as refusal:
        rank_correlation(x, y)
    assert message in str(refusal.value)


# Worked examples E13 and E13b of the continual-learning chapter.
E13 = [77.1, 75.4, 78.0, 76.2, 77.3], [75.0, 74.1, 76.9, 74.2, 76.0]
E13B = [60, 72, 81, 68, 75], [58, 71, 78, 67, 73]
sides = st.sampled_from(["two-sided", "greater", "less"])
pairs_of_numbers = st.lists(st.tuples(st.integers(-6, 6), st.integers(-6, 6)), min_size=1, max_size=9)


def test_paired_t_of_worked_example_13():
    found = paired_t(*E13)
    assert (found.n, found.mean, found.std) == (5, pytest.approx(1.56), pytest.approx(0.456, abs=5e-4))
    assert (found.statistic, found.p_value) == (pytest.approx(7.649, abs=5e-4), pytest.approx(0.0016, abs=5e-5))
    assert found.interval == pytest.approx((0.994, 2.126), abs=5e-4)
    assert paired_t(*E13, alternative="greater").p_value == pytest.approx(0.0008, abs=5e-5)
    assert sign_flip(*E13).p_value == 0.0625


def test_paired_t_of_worked_example_13b():
    """Runs that differ much among each other, yet always in the same way: unpaired, p is .72."""
    found = paired_t(*E13B)
    assert (found.mean, found.statistic) == (pytest.approx(1.8), pytest.approx(4.81, abs=5e-3))
    assert found.p_value == pytest.approx(0.0086, abs=5e-5)
    assert stats.ttest_ind(*E13B, equal_var=False).pvalue == pytest.approx(0.72, abs=5e-3)


@given(pairs_of_numbers, sides, levels)
def test_paired_t_is_scipys(pairs, alternative, confidence):
    x, y = (list(column) for column in zip(*pairs, strict=True))
    found = paired_t(x, y, alternative=alternative, confidence=confidence)
    assert found.mean == pytest.approx(np.mean(np.subtract(x, y)))
    if len(set(np.subtract(x, y).tolist())) == 1:
        assert (found.statistic, found.p_value, found.interval) == (None, None, None)
        assert found.reason
        return
    expected = stats.ttest_rel(x, y, alternative=alternative)
    assert (found.statistic, found.p_value) == (pytest.approx(expected.statistic), pytest.approx(expected.pvalue))
    two_sided = stats.ttest_rel(x, y).confidence_interval(confidence)
    assert found.interval == pytest.approx(tuple(two_sided), abs=1e-9)
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["interval"] == list(found.interval)


def test_equal_differences_have_no_t():
    """.3 - .2 and .2 - .1 differ in the last bit: that is no spread."""
    found = paired_t([0.3, 0.2, 1.1], [0.2, 0.1, 1.0])
    assert (found.std, found.statistic, found.p_value) == (0.0, None, None)
    assert "all differences are equal" in found.reason
    assert "one pair" in paired_t([1], [2]).reason


@given(pairs_of_numbers, sides)
def test_sign_flip_counts_every_pattern(pairs, alternative):
    """Against an enumeration in whole numbers, where no rounding can break a tie; a tenth of them rounds."""
    x, y = (list(column) for column in zip(*pairs, strict=True))
    d = [a - b for a, b in pairs]
    extreme = {"two-sided": lambda s: abs(s) >= abs(sum(d)), "greater": lambda s: s >= sum(d)}
    extreme["less"] = lambda s: s <= sum(d)
    sums = [sum(s * v for s, v in zip(signs, d, strict=True)) for signs in itertools.product([1, -1], repeat=len(d))]
    share = np.mean([extreme[alternative](s) for s in sums])
    found = sign_flip(x, y, alternative=alternative)
    assert (found.p_value, found.exact, found.error) == (share, True, None)
    assert sign_flip(np.array(x) / 10, np.array(y) / 10, alternative=alternative).p_value == share
    assert found.floor <= found.p_value <= 1


@pytest.mark.parametrize(("n", "floor"), [(1, 1.0), (4, 0.125), (5, 0.0625), (6, 0.03125), (20, 2 / 2**20)])
def test_sign_flip_floor(n, floor):
    """Differences of one sign give the least p-value there is: five pairs never reach .05, six do."""
    found = sign_flip(np.arange(1.0, n + 1), np.zeros(n))
    assert (found.p_value, found.floor) == (floor, floor)
    assert sign_flip(np.arange(1.0, n + 1), np.zeros(n), alternative="greater").p_value == floor / 2


def test_sign_flip_of_no_difference():
    assert sign_flip([1.0, 2.0, 3.0], [1.0, 2.0, 3.0]).p_value == 1.0
    assert sign_flip([0.3, 0.2], [0.1 + 0.2, 0.2]).floor == 1.0


def test_a_zero_difference_raises_the_floor():
    found = sign_flip([1, 2, 3, 4, 5, 6], [0, 0, 0, 0, 0, 6])
    assert (found.floor, found.p_value) == (0.0625, 0.0625)


def test_drawn_signs_agree_with_counted_ones():
    """22 pairs: all 2^22 patterns counted here. Band: four of the standard errors that the result states."""
    d = np.random.default_rng(4).normal(0.3, 1.0, size=22)
    sums = np.zeros(1)
    for value in d:
        sums = np.concatenate([sums + value, sums - value])
    exact = np.mean(np.abs(sums) >= abs(d.sum()) - 1e-12)
    found = sign_flip(d, np.zeros(22), replicates=20_000)
    assert not found.exact
    assert found.error == pytest.approx(math.sqrt(exact * (1 - exact) / 20_000), rel=0.1)
    assert abs(found.p_value - exact) < 4 * found.error
    assert found == sign_flip(d, np.zeros(22), replicates=20_000)
    assert found != sign_flip(d, np.zeros(22), replicates=20_000, seed=1)


def test_a_drawn_p_value_is_never_zero():
    found = sign_flip(np.full(40, 1.0), np.zeros(40), replicates=99)
    assert found.p_value == 0.01


def test_sign_flip_keeps_its_level():
    """No difference, skewed noise in each of 8 pairs, level .1: 1000 samples, at most 100 + 3 sd (sd 9.5) rejections.

    Eight pairs have 128 two-sided levels of which .1 lies between two, so that somewhat fewer than 100 are rejected.
    """
    rng = np.random.default_rng(8)
    rejected = sum(sign_flip(*rng.exponential(size=(2, 8))).p_value <= 0.1 for _ in range(1000))
    assert 60 <= rejected <= 128


@pytest.mark.parametrize("test", [paired_t, sign_flip])
@pytest.mark.parametrize(
    ("first", "second", "options", "message"),
    [
        ([1, 2], [1], {}, "first has 2 values and second 1: give pairs"),
        ([1, 2], [1, np.nan], {}, "second[1] is nan: give finite numbers"),
        ([], [], {}, "first has shape (0,)"),
        ([1, 2], [2, 1], {"alternative": "one-sided"}, "alternative is 'one-sided': choose one of two-sided, greater"),
    ],
)
def test_paired_refusals(test, first, second, options, message):
    with pytest.raises(InputError) as refusal:
        test(first, second, **options)
    assert message in str(refusal.value)


def test_paired_options_out_of_range_are_refused():
    with pytest.raises(InputError, match="replicates is 0"):
        sign_flip([1], [2], replicates=0)
    with pytest.raises(InputError, match="seed is -1"):
        sign_flip([1], [2], seed=-1)
    with pytest.raises(InputError, match="confidence is 95"):
        paired_t([1], [2], confidence=95)
