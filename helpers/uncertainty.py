"""Intervals that state their assumptions. Undefined is None with a reason, never 0 or NaN."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from numbers import Real
from typing import Any

import numpy as np
from scipy.special import betaincinv

from . import arrays
from .errors import InputError

Interval = tuple[float, float]


@dataclass(frozen=True)
class Rate:
    """A proportion: `count` of `n`, with its exact binomial interval.

    >>> Rate.of(3, 10)
    Rate(count=3, n=10, rate=0.3, interval=(0.0667, 0.6525), reason=None)
    """

    count: int
    n: int
    rate: float | None
    interval: Interval | None
    reason: str | None = None

    @classmethod
    def of(cls, count: int, n: int, *, confidence: float = 0.95) -> Rate:
        """Count `count` of `n` with a Clopper-Pearson interval; n = 0 leaves the rate undefined."""
        if n == 0 == count:
            return cls(0, 0, None, None, "no rows to count")
        interval = clopper_pearson(count, n, confidence=confidence)
        return cls(int(count), int(n), float(count / n), interval)

    def __repr__(self) -> str:
        interval = self.interval and tuple(round(end, 4) for end in self.interval)
        return f"Rate(count={self.count}, n={self.n}, rate={self.rate}, interval={interval}, reason={self.reason!r})"

    def to_dict(self) -> dict[str, Any]:
        """The fields as valid JSON."""
        return asdict(self)


def check_confidence(confidence: float) -> float:
    """Refuse a confidence level outside (0, 1)."""
    if not (isinstance(confidence, Real) and 0.0 < confidence < 1.0):
        raise InputError(f"confidence is {confidence!r}: give a level between 0 and 1, such as 0.95")
    return confidence


def clopper_pearson(count: int, n: int, *, confidence: float = 0.95) -> Interval:
    r"""The exact two-sided binomial interval of a proportion.

    The ends are the proportions at which `count` or more (fewer) successes have probability
    :math:`(1 - \text{confidence}) / 2`, quantiles of beta distributions. Coverage is never below the nominal level;
    for small `n` it lies well above.

    Parameters
    ----------
    count : int
        Successes, 0 to n.
    n : int
        Independent trials, at least 1.
    confidence : float
        Nominal level in (0, 1), 0.95 by default.

    Returns
    -------
    tuple of float
        Lower and upper end, each in [0, 1].

    Raises
    ------
    InputError
        `count` outside 0..n, n < 1, or a confidence outside (0, 1).

    References
    ----------
    Clopper and Pearson (1934), Biometrika 26, 404-413.

    Examples
    --------
    >>> low, high = clopper_pearson(0, 10)
    >>> low, round(high, 4)
    (0.0, 0.3085)
    """
    tail = (1.0 - check_confidence(confidence)) / 2.0
    if n < 1 or not 0 <= count <= n:
        raise InputError(f"count is {count} of n = {n}: a proportion needs n >= 1 and 0 <= count <= n")
    low = float(betaincinv(count, n - count + 1, tail)) if count > 0 else 0.0
    high = float(betaincinv(count + 1, n - count, 1.0 - tail)) if count < n else 1.0
    return low, high


def bootstrap_weights(n: int, replicates: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """How often each of n rows is drawn in each bootstrap replicate, a few replicates at a time.

    Yields arrays of shape (some, n) whose rows sum to n, so that a whole batch of replicate means is one matrix
    product, ``weights @ values / n``. A batch has at most 64 replicates and about four million numbers.
    """
    batch = max(1, min(64, 4_000_000 // n))
    for start in range(0, replicates, batch):
        size = min(batch, replicates - start)
        draws = rng.integers(n, size=(size, n))
        draws += np.arange(size)[:, None] * n
        yield np.bincount(draws.ravel(), minlength=size * n).reshape(size, n).astype(np.float64)


def percentile_interval(values: np.ndarray, *, confidence: float) -> Interval:
    """The central percentile interval of bootstrap replicates."""
    tail = (1.0 - check_confidence(confidence)) / 2.0
    low, high = np.quantile(values, [tail, 1.0 - tail])
    return float(low), float(high)


@dataclass(frozen=True)
class RankCorrelation:
    """Spearman's rank correlation of n pairs, with its bootstrap interval; None with the reason where undefined."""

    value: float | None
    n: int
    interval: Interval | None
    reason: str | None = None


def rank_correlation(
    first: Any, second: Any, *, confidence: float = 0.95, seed: int = 0, replicates: int = 2000
) -> RankCorrelation:
    r"""Spearman's rank correlation: do two scores put the same things in the same order?

    .. math:: \rho = \mathrm{corr}(\mathrm{rank}(x), \mathrm{rank}(y)) \in [-1, 1],

    with average ranks for ties. The interval is a percentile bootstrap over pairs: wide for few pairs, and honest about
    it.

    Parameters
    ----------
    first, second : array of shape (n,)
        The two scores of the same n things.
    confidence : float
        Level of the interval, 0.95 by default.
    seed, replicates : int
        Of the bootstrap.

    Returns
    -------
    RankCorrelation
        Without a value where one score is constant, without an interval for fewer than five pairs.

    Raises
    ------
    InputError
        Unequal lengths, values that are not finite numbers.

    Examples
    --------
    >>> rank_correlation([1, 2, 3, 4], [10, 20, 40, 30]).value
    0.8
    """
    x, y = arrays.real_vector(first, "first"), arrays.real_vector(second, "second")
    check_confidence(confidence)
    if len(x) != len(y):
        raise InputError(f"first has {len(x)} values and second {len(y)}: give pairs")
    value = _spearman(x, y)
    if value is None:
        return RankCorrelation(None, len(x), None, "one of the scores is the same for all: there is no order")
    if len(x) < 5:
        return RankCorrelation(value, len(x), None, f"{len(x)} pairs are too few for an interval")
    rng = np.random.default_rng(seed)
    draws = [_spearman(x[rows], y[rows]) for rows in rng.integers(len(x), size=(replicates, len(x)))]
    defined = np.array([draw for draw in draws if draw is not None])
    return RankCorrelation(value, len(x), percentile_interval(defined, confidence=confidence))


def _spearman(x: np.ndarray, y: np.ndarray) -> float | None:
    a, b = _centred_ranks(x), _centred_ranks(y)
    norm = float(np.sqrt(np.sum(a * a) * np.sum(b * b)))
    return round(float(np.sum(a * b)) / norm, 12) if norm > 0 else None


def _centred_ranks(values: np.ndarray) -> np.ndarray:
    """Average ranks, less their mean."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return (last - (counts - 1) / 2)[inverse] - (len(values) + 1) / 2
