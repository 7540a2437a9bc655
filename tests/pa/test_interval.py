"""The interval: never of width zero, reproducible, and it covers."""

import math

import numpy as np
import pytest

from helpers import pa
from helpers.errors import InputError
from helpers.uncertainty import clopper_pearson


def test_no_flips_leave_room_below():
    """Zero flips of n: the lower end is the capacity at the Clopper-Pearson upper end of the flip rate."""
    for n in (1, 10, 200):
        clean = np.tile([2.0, 0.0, -1.0], (n, 1))
        low, high = pa.agreement(clean, clean, confidence=0.95).interval
        assert low == pytest.approx(pa.flip_rate_capacity(clopper_pearson(0, n)[1], 3), abs=1e-12)
        assert high == pytest.approx(math.log(3), abs=1e-12)
        assert low < high


def test_a_narrow_interval_still_holds_the_value(noisy):
    """Optimising beta anew lifts every replicate a little, so that their middle lies above the value."""
    result = pa.agreement(*noisy, confidence=0.01)
    assert result.interval[0] <= result.value <= result.interval[1]
    assert result.confidence == 0.01


def test_all_flips_leave_room_above():
    clean = np.tile([2.0, 0.0], (5, 1))
    low, high = pa.agreement(clean, clean[:, ::-1], confidence=0.95).interval
    assert low == 0.0
    assert high == pytest.approx(pa.flip_rate_capacity(clopper_pearson(5, 5)[0], 2), abs=1e-12)


@pytest.mark.parametrize("flips", [0, 1, 5, 9, 10, 40])
def test_never_of_width_zero(flips):
    clean = np.tile([2.0, 0.0], (100, 1))
    shifted = clean.copy()
    shifted[:flips] = shifted[:flips, ::-1]
    result = pa.agreement(clean, shifted, confidence=0.9)
    low, high = result.interval
    assert low < high
    assert low <= result.value <= high


def test_flat_data_have_none_and_say_why():
    result = pa.agreement(np.zeros((5, 3)), np.zeros((5, 3)), confidence=0.9)
    assert result.interval is None
    assert "flat" in result.reasons["interval"]
    assert "asked" in pa.agreement(np.eye(3), np.eye(3)).reasons["interval"]


def test_seed_and_level(noisy):
    narrow = pa.agreement(*noisy, confidence=0.5, seed=1).interval
    assert pa.agreement(*noisy, confidence=0.5, seed=1).interval == narrow
    assert pa.agreement(*noisy, confidence=0.5, seed=2).interval != narrow
    wide = pa.agreement(*noisy, confidence=0.99, seed=1).interval
    assert wide[0] < narrow[0] < narrow[1] < wide[1]


def test_replicates_equal_scores_of_resampled_rows(noisy):
    """The grid and its parabola stand for optimising beta anew: five replicates are scored in full beside it."""
    logits, shifted = noisy
    low, high = pa.agreement(logits, shifted, confidence=0.99, seed=0).interval
    rng = np.random.default_rng(0)
    for _ in range(5):
        rows = rng.integers(len(logits), size=len(logits))
        assert low - 0.02 < pa.agreement(logits[rows], shifted[rows]).value < high + 0.02


def test_bootstrap_spread_matches_the_spread_over_samples():
    """Standard deviation from one sample's 68 % interval against that over 200 fresh samples: within 25 %.

    200 samples tell a standard deviation to 5 %, 1000 replicates to 2 %; the rest is left for the sample itself.
    """
    rng = np.random.default_rng(7)

    def sample(n=300):
        logits = rng.normal(0, 3, size=(n, 4))
        return logits, logits + rng.normal(0, 2, size=(n, 4))

    spread = np.std([pa.agreement(*sample()).value for _ in range(200)])
    low, high = pa.agreement(*sample(), confidence=0.6827).interval
    assert (high - low) / 2 == pytest.approx(spread, rel=0.25)


@pytest.mark.slow
def test_coverage():
    """Nominal 90 % over 200 samples: between 84 and 95 % (binomial sd 2.1 %, and re-optimising beta biases upwards)."""
    rng = np.random.default_rng(11)

    def sample(n):
        logits = rng.normal(0, 3, size=(n, 4))
        return logits, logits + rng.normal(0, 2, size=(n, 4))

    truth = pa.agreement(*sample(100_000)).value
    hits = 0
    for _ in range(200):
        low, high = pa.agreement(*sample(200), confidence=0.9).interval
        hits += low <= truth <= high
    assert 0.84 <= hits / 200 <= 0.95


@pytest.mark.parametrize("rate", [-0.1, 1.1, math.nan, "half"])
def test_a_flip_rate_is_a_share(rate):
    assert pa.flip_rate_capacity(1.0, 2) == 0.0
    with pytest.raises(InputError, match=r"^rate is .*: give a share from 0 to 1$"):
        pa.flip_rate_capacity(rate, 10)
