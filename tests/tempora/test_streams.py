"""Streams: batches in order, Poisson arrivals, and chains over class and domain.

Bands are four standard errors unless said otherwise: by chance one such test in 16 000 fails, and with a fixed seed it
either always does or never.
"""

import math

import numpy as np
import pytest
from scipy.stats import kstest

from helpers.errors import InputError
from helpers.tempora.streams import Stream, correlated, markov, poisson

NAN = float("nan")
LABELS = np.arange(10) % 3
PICTURES = np.arange(40.0).reshape(10, 4)


def test_batches_come_in_order_and_the_last_holds_the_rest():
    stream = Stream(PICTURES, LABELS, batch=4, corruption="fog")
    assert len(stream) == 3
    assert stream.corruption == "fog"
    inputs, labels = zip(*stream, strict=True)
    assert [len(part) for part in labels] == [4, 4, 2]
    assert np.array_equal(np.concatenate(inputs), PICTURES)
    assert np.array_equal(np.concatenate(labels), LABELS)


def test_an_order_may_repeat_and_leave_out_rows():
    stream = Stream(PICTURES, LABELS, batch=2, order=[9, 0, 9, 5])
    assert [inputs[:, 0].tolist() for inputs, _ in stream] == [[36.0, 0.0], [36.0, 20.0]]
    assert [labels.tolist() for _, labels in stream] == [[0, 0], [0, 2]]


def test_a_stream_has_no_batch_beyond_its_end():
    stream = Stream(PICTURES, LABELS, batch=5)
    for i in (2, -1):
        with pytest.raises(IndexError, match=f"batch {i}: there are 2, counted from 0"):
            stream[i]


def test_batches_of_64_by_default():
    assert len(Stream(np.zeros((64 * 3, 1)), np.zeros(64 * 3, int))) == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"labels": LABELS[:9]}, "inputs has 10 rows and labels 9"),
        ({"labels": LABELS - 1}, "labels[0] is -1: give whole numbers of at least 0"),
        ({"labels": LABELS * 1.0}, "labels has shape (10,) and type float64"),
        ({"labels": LABELS[:, None]}, "labels has shape (10, 1)"),
        ({"inputs": PICTURES[:0], "labels": LABELS[:0]}, "labels is empty"),
        ({"order": [0, 10]}, "order[1] is 10: there are 10 rows, counted from 0"),
        ({"order": [0, 3, -1]}, "order[2] is -1"),
        ({"order": np.array([], int)}, "order is empty"),
        ({"batch": 0}, "batch is 0: give a whole number of at least 1"),
    ],
)
def test_a_stream_that_cannot_be_is_refused(arguments, message):
    with pytest.raises(InputError) as refusal:
        Stream(**{"inputs": PICTURES, "labels": LABELS, **arguments})
    assert message in str(refusal.value)


def test_poisson_gaps_are_exponential_with_the_mean_asked_for():
    n, mean = 100_001, 39.9
    times = poisson(n, period_ms=mean, seed=5)
    gaps = np.diff(times)
    assert times.shape == (n,) and times[0] == 0.0
    assert (gaps >= 0).all()
    assert abs(gaps.mean() - mean) < 4 * mean / math.sqrt(n - 1)
    # the whole distribution: Kolmogorov's distance exceeds 2.23 / sqrt(n) with probability 1e-4
    assert kstest(gaps, "expon", args=(0, mean)).statistic < 2.23 / math.sqrt(n - 1)
    # neighbouring gaps say nothing of each other: their correlation has standard error 1 / sqrt(n)
    assert abs(np.corrcoef(gaps[1:], gaps[:-1])[0, 1]) < 4 / math.sqrt(n)


def test_poisson_times_are_whole_nanoseconds_and_follow_the_seed():
    times = poisson(1000, period_ms="0.01", seed=2)
    assert np.array_equal(np.rint(times * 1e6) / 1e6, times)
    assert np.array_equal(times, poisson(1000, period_ms=0.01, seed=2))
    assert not np.array_equal(times, poisson(1000, period_ms=0.01, seed=3))
    assert poisson(1, period_ms=5).tolist() == [0.0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n": 0}, "n is 0"),
        ({"period_ms": 0}, "period_ms is 0: give a mean gap above 0"),
        ({"period_ms": -1}, "period_ms is -1"),
        ({"period_ms": NAN}, "period_ms is nan"),
        ({"seed": -1}, "seed is -1"),
    ],
)
def test_bad_arrivals_are_refused(arguments, message):
    with pytest.raises(InputError) as refusal:
        poisson(**{"n": 3, "period_ms": 1.0, **arguments})
    assert message in str(refusal.value)


WEIGHTS = np.array([0.5, 0.3, 0.2])


@pytest.mark.parametrize("length", [0.0, 1.0, 20.0])
def test_the_stationary_distribution_is_the_weights(length):
    """A share over n steps has variance p (1 - p) / n times (1 + s) / (1 - s)."""
    n = 200_000
    states = markov(3 * WEIGHTS, n, correlation_length=length, seed=11)
    keep = math.exp(-1 / length) if length else 0.0
    band = 4 * np.sqrt(WEIGHTS * (1 - WEIGHTS) / n * (1 + keep) / (1 - keep))
    assert (abs(np.bincount(states, minlength=3) / n - WEIGHTS) < band).all()


@pytest.mark.parametrize(("length", "lag"), [(5.0, 1), (5.0, 5), (5.0, 12), (0.5, 1), (0.0, 1)])
def test_the_correlation_falls_by_e_over_one_length(length, lag):
    """States k steps apart are equal with probability s^k + (1 - s^k) times the sum of squared weights.

    The pairs are taken 20 lengths apart, where what links them is e^-20, so they count as independent.
    """
    pairs, spacing = 5000, int(20 * max(length, 1)) + lag
    states = markov(WEIGHTS, pairs * spacing, correlation_length=length, seed=4)
    same = states[::spacing] == states[lag::spacing][:pairs]
    kept = math.exp(-lag / length) if length else 0.0
    expected = kept + (1 - kept) * np.sum(WEIGHTS**2)
    assert abs(same.mean() - expected) < 4 * math.sqrt(expected * (1 - expected) / pairs)


def test_worked_chain_of_two_states():
    """L = 1 / ln 2 keeps with probability 1/2; of two equal states half the new draws are the old one: 3/4 stay."""
    n = 100_000
    states = markov([1, 1], n, correlation_length=1 / math.log(2), seed=8)
    stays = (np.diff(states) == 0).mean()
    # whether a step changes the state is independent from step to step where both states are alike
    assert abs(stays - 0.75) < 4 * math.sqrt(0.75 * 0.25 / n)


def test_the_chain_starts_in_the_stationary_distribution():
    starts = np.array([markov(WEIGHTS, 1, correlation_length=50, seed=seed)[0] for seed in range(3000)])
    shares = np.bincount(starts, minlength=3) / 3000
    assert (abs(shares - WEIGHTS) < 4 * np.sqrt(WEIGHTS * (1 - WEIGHTS) / 3000)).all()


def test_neighbours_count_as_few_independent_draws():
    """The note's n tanh(1 / 2L): blocks of 300 at L = 3. The variance of 4000 means has a relative error of 2.2 %."""
    length, n, blocks = 3.0, 300, 4000
    states = markov([0.6, 0.4], n * blocks, correlation_length=length, seed=21)
    variance = states.reshape(blocks, n).mean(axis=1).var()
    expected = 0.6 * 0.4 / (n * math.tanh(1 / (2 * length)))
    assert abs(variance / expected - 1) < 4 * math.sqrt(2 / blocks)


def test_chains_follow_their_seed_and_leave_out_weight_zero():
    states = markov([1, 0, 1], 500, correlation_length=3, seed=1)
    assert set(states.tolist()) == {0, 2}
    assert states.dtype == np.int64
    assert np.array_equal(states, markov([2, 0, 2], 500, correlation_length=3, seed=1))
    assert not np.array_equal(states, markov([1, 0, 1], 500, correlation_length=3, seed=2))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"weights": [0.5, -0.1]}, "weights[1] is -0.1"),
        ({"weights": [0.0, 0.0]}, "weights sum to 0.0: give a finite sum above 0"),
        ({"weights": [1e308, 1e308]}, "weights sum to inf"),
        ({"weights": [1.0, NAN]}, "weights[1] is nan"),
        ({"weights": []}, "weights has shape (0,)"),
        ({"n": 0}, "n is 0"),
        ({"correlation_length": -1}, "correlation_length is -1: give a finite number"),
        ({"correlation_length": math.inf}, "correlation_length is inf"),
        ({"correlation_length": "long"}, "correlation_length is 'long'"),
    ],
)
def test_bad_chains_are_refused(arguments, message):
    with pytest.raises(InputError) as refusal:
        markov(**{"weights": [1, 1], "n": 3, "correlation_length": 1.0, **arguments})
    assert message in str(refusal.value)


RNG = np.random.default_rng(0)
POOL = RNG.permutation(np.repeat([0, 1, 2], [60, 30, 10]))
PLACES = np.array(["fog", "rain"])[np.arange(100) % 2]


def test_rows_have_the_class_and_domain_of_their_chains():
    n, length = 60_000, 8.0
    order = correlated(POOL, n, class_length=length, domains=PLACES, domain_length=40.0, seed=6)
    keep, keep_domain = math.exp(-1 / length), math.exp(-1 / 40.0)
    shares = np.array([0.6, 0.3, 0.1])
    found = np.bincount(POOL[order], minlength=3) / n
    assert (abs(found - shares) < 4 * np.sqrt(shares * (1 - shares) / n * (1 + keep) / (1 - keep))).all()
    foggy = (PLACES[order] == "fog").mean()
    assert abs(foggy - 0.5) < 4 * math.sqrt(0.25 / n * (1 + keep_domain) / (1 - keep_domain))
    # a share 1 - s of the steps draws anew, and the draw is another class with probability 1 - sum of squares
    differ = (np.diff(POOL[order]) != 0).mean()
    expected = (1 - keep) * (1 - np.sum(shares**2))
    assert abs(differ - expected) < 4 * math.sqrt(expected / n)
    moved = (PLACES[order][1:] != PLACES[order][:-1]).mean()
    assert abs(moved - 0.5 * (1 - keep_domain)) < 4 * math.sqrt(0.5 * (1 - keep_domain) / n)


def test_class_and_domain_move_independently():
    """The correlation of two independent chains has variance (1 + s s') / (1 - s s') / n."""
    n = 60_000
    order = correlated(POOL, n, class_length=8.0, domains=PLACES, domain_length=8.0, seed=6)
    both = math.exp(-2 / 8.0)
    correlation = np.corrcoef(POOL[order] == 0, PLACES[order] == "fog")[0, 1]
    assert abs(correlation) < 4 * math.sqrt((1 + both) / (1 - both) / n)


def test_weights_replace_the_shares_of_the_pool():
    order = correlated(POOL, 20_000, class_length=0, class_weights={2: 3.0, 0: 1.0}, seed=3)
    assert set(POOL[order].tolist()) == {0, 2}
    assert abs((POOL[order] == 2).mean() - 0.75) < 4 * math.sqrt(0.75 * 0.25 / 20_000)
    foggy = correlated(POOL, 50, class_length=2, domains=PLACES, domain_weights={"fog": 1.0}, seed=3)
    assert set(PLACES[foggy].tolist()) == {"fog"}


def test_every_row_of_a_class_comes_before_any_comes_again():
    order = correlated(POOL, 1000, class_length=5, domains=PLACES, domain_length=3, seed=9)
    for name in range(3):
        for place in ("fog", "rain"):
            rows = np.flatnonzero((name == POOL) & (place == PLACES))
            visits = order[np.isin(order, rows)]
            full = len(visits) // len(rows)
            rounds = visits[: full * len(rows)].reshape(full, len(rows))
            assert full >= 2, "else this test shows nothing"
            assert (np.sort(rounds, axis=1) == rows).all()
            assert len(set(visits[full * len(rows) :].tolist())) == len(visits) - full * len(rows)
    most = np.flatnonzero((POOL == 0) & (PLACES == "fog"))
    first, second = order[np.isin(order, most)][: 2 * len(most)].reshape(2, -1)
    assert not np.array_equal(first, second)


def test_an_order_follows_its_seed_and_makes_a_stream():
    order = correlated(POOL, 130, class_length=30, seed=1)
    assert np.array_equal(order, correlated(POOL, 130, class_length=30, seed=1))
    assert not np.array_equal(order, correlated(POOL, 130, class_length=30, seed=2))
    stream = Stream(RNG.normal(size=(100, 2)), POOL, order=order)
    assert [len(labels) for _, labels in stream] == [64, 64, 2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"domains": PLACES[:99]}, "domains has shape (99,) and labels (100,)"),
        ({"class_weights": {3: 1.0}}, "class_weights names 3, which no row has: the pool has [0, 1, 2]"),
        ({"domains": PLACES, "domain_weights": {"snow": 1}}, "domain_weights names 'snow'"),
        ({"class_weights": {0: -1.0}}, "class_weights[0] is -1.0"),
        ({"class_length": -2.0}, "class_length is -2.0"),
        ({"domain_length": NAN}, "domain_length is nan"),
        ({"n": 0}, "n is 0"),
        ({"seed": 1.5}, "seed is 1.5"),
        ({"domains": np.where(POOL == 2, "fog", PLACES)}, "labels has no row of class 2 in domain rain"),
    ],
)
def test_a_pool_that_cannot_give_the_stream_is_refused(arguments, message):
    with pytest.raises(InputError) as refusal:
        correlated(**{"labels": POOL, "n": 20, "class_length": 1.0, **arguments})
    assert message in str(refusal.value)
