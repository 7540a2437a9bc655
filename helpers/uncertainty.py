"""Intervals that state their assumptions. Undefined is None with a reason, never 0 or NaN."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.special import betaincinv, stdtr, stdtrit

from . import arrays
from .errors import InputError, brief

Interval = tuple[float, float]


@dataclass(frozen=True)
class Rate:
    """A proportion: `count` of `n`, with its exact binomial interval.

    Attributes
    ----------
    count, n : int
    rate : float or None
        count / n; None with `reason` where n is 0.
    interval : tuple of float or None
        See `clopper_pearson`.
    reason : str or None
        Why both are None.

    Examples
    --------
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
        """Count `count` of `n` with a Clopper-Pearson interval; n = 0 leaves the rate undefined.

        Raises
        ------
        InputError
            As `clopper_pearson`.
        """
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
    if not arrays.is_number(confidence) or not 0.0 < confidence < 1.0:
        raise InputError(f"confidence is {brief(confidence)}: give a level between 0 and 1, such as 0.95")
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
        yield arrays.counts(draws.ravel(), minlength=size * n).reshape(size, n).astype(np.float64)


def percentile_interval(values: np.ndarray, *, confidence: float) -> Interval:
    """The central percentile interval of bootstrap replicates."""
    tail = (1.0 - check_confidence(confidence)) / 2.0
    low, high = np.quantile(values, [tail, 1.0 - tail])
    return float(low), float(high)


@dataclass(frozen=True)
class RankCorrelation:
    """Spearman's rank correlation of n pairs; see `rank_correlation`.

    Attributes
    ----------
    value : float or None
        In [-1, 1].
    n : int
        Pairs.
    interval : tuple of float or None
        By bootstrap over pairs.
    reason : str or None
        Why one of the two is None.
    """

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


#: Up to so many pairs all 2^n sign patterns are counted; beyond, signs are drawn.
EXACT_FLIPS = 20
ALTERNATIVES = ("two-sided", "greater", "less")


@dataclass(frozen=True)
class PairedT:
    """Student's t on paired differences; see `paired_t`.

    Attributes
    ----------
    n : int
        Pairs.
    mean, std : float or None
        Of the differences, first less second; the standard deviation has divisor n - 1.
    statistic, p_value : float or None
    interval : tuple of float or None
        Two-sided, for the mean difference.
    confidence : float
    alternative : str
    reason : str or None
        Why something above is None.
    """

    n: int
    mean: float
    std: float | None
    statistic: float | None
    p_value: float | None
    interval: Interval | None
    confidence: float
    alternative: str
    reason: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The fields as valid JSON."""
        return {**asdict(self), "interval": None if self.interval is None else list(self.interval)}


@dataclass(frozen=True)
class SignFlip:
    """The sign-flip test on paired differences; see `sign_flip`.

    Attributes
    ----------
    n : int
        Pairs.
    mean : float
        Of the differences.
    p_value : float
    floor : float
        The least p-value that so many non-zero differences can give.
    exact : bool
        Whether all sign patterns were counted.
    error : float or None
        Standard error of a drawn p-value; None where it is exact.
    alternative : str
    """

    n: int
    mean: float
    p_value: float
    floor: float
    exact: bool
    error: float | None
    alternative: str

    def to_dict(self) -> dict[str, Any]:
        """The fields as valid JSON."""
        return asdict(self)


def paired_t(first: Any, second: Any, *, alternative: str = "two-sided", confidence: float = 0.95) -> PairedT:
    r"""Student's paired t test: is the mean difference of n pairs zero?

    .. math:: t = \frac{\bar d}{s_d / \sqrt n}, \qquad d_i = x_i - y_i,

    with n - 1 degrees of freedom. It assumes that pairs are independent and that differences are roughly normal; with
    few pairs the latter cannot be checked, so report `sign_flip` beside it.

    Parameters
    ----------
    first, second : array of shape (n,)
        Values of the same n units, in the same order. Pair them by key, not by chance of position.
    alternative : {"two-sided", "greater", "less"}
        "two-sided" by default; "greater": the first mean is the greater one.
    confidence : float
        Of the two-sided interval for the mean difference, 0.95 by default.

    Returns
    -------
    PairedT
        Without a test, but with the reason, for one pair and where all differences are equal.

    Raises
    ------
    InputError
        Unequal lengths, values that are not finite numbers, an option out of range.

    References
    ----------
    Student (1908), The probable error of a mean, Biometrika 6, 1-25.

    Examples
    --------
    >>> found = paired_t([77.1, 75.4, 78.0, 76.2, 77.3], [75.0, 74.1, 76.9, 74.2, 76.0])
    >>> round(found.mean, 2), round(found.statistic, 3), round(found.p_value, 4)
    (1.56, 7.649, 0.0016)
    """
    d, rounding = _differences(first, second, alternative)
    check_confidence(confidence)
    n, mean = len(d), float(np.mean(d))
    if n < 2:
        reason = "one pair has no spread: two are needed"
        return PairedT(n, mean, None, None, None, None, confidence, alternative, reason)
    # equal differences may part in their last bits
    std = 0.0 if np.ptp(d) <= rounding else float(np.std(d, ddof=1))
    if std == 0.0:
        reason = "all differences are equal: t would divide by their spread, which is zero"
        return PairedT(n, mean, std, None, None, None, confidence, alternative, reason)
    error = std / math.sqrt(n)
    t = mean / error
    tails = {"two-sided": 2 * stdtr(n - 1, -abs(t)), "greater": stdtr(n - 1, -t), "less": stdtr(n - 1, t)}
    reach = error * float(stdtrit(n - 1, (1.0 + confidence) / 2.0))
    return PairedT(n, mean, std, t, float(tails[alternative]), (mean - reach, mean + reach), confidence, alternative)


def sign_flip(
    first: Any, second: Any, *, alternative: str = "two-sided", replicates: int = 100_000, seed: int = 0
) -> SignFlip:
    r"""The sign-flip (paired permutation) test: is the sum of n paired differences larger than chance signs make it?

    Were the two alike, each difference would have either sign with equal chance. The p-value is the share of the
    :math:`2^n` sign patterns whose sum is as extreme as the one seen,

    .. math:: p = 2^{-n} \, \#\{ s \in \{-1, 1\}^n : |\textstyle\sum_i s_i d_i| \ge |\sum_i d_i| \},

    so it cannot fall below :math:`2 / 2^n` (one-sided :math:`1 / 2^n`): five pairs never reach 0.05 two-sided, six
    are needed. Only symmetry under exchange is assumed, no normal law.

    All patterns are counted up to 20 pairs. Beyond, `replicates` of them are drawn and
    :math:`p = (1 + \text{hits}) / (1 + \text{replicates})`, which keeps the level; its standard error is said.

    Parameters
    ----------
    first, second : array of shape (n,)
        Values of the same n units, in the same order.
    alternative : {"two-sided", "greater", "less"}
        "two-sided" by default; "greater": the first is the greater one.
    replicates, seed : int
        Of the drawing, for more than 20 pairs.

    Returns
    -------
    SignFlip
        Where all differences are zero the p-value is 1: every pattern is as extreme.

    Raises
    ------
    InputError
        Unequal lengths, values that are not finite numbers, an option out of range.

    References
    ----------
    Fisher (1935), The Design of Experiments, section 21. Phipson and Smyth (2010), Permutation p-values should never be
    zero, for the drawn p-value.

    Examples
    --------
    >>> found = sign_flip([77.1, 75.4, 78.0, 76.2, 77.3], [75.0, 74.1, 76.9, 74.2, 76.0])
    >>> found.p_value, found.floor
    (0.0625, 0.0625)
    """
    d, rounding = _differences(first, second, alternative)
    arrays.whole_number(replicates, "replicates", least=1)
    arrays.whole_number(seed, "seed", least=0)
    d = np.where(np.abs(d) <= rounding, 0.0, d)
    n, mean = len(d), float(np.mean(d))
    floor = min(1.0, (2.0 if alternative == "two-sided" else 1.0) * 0.5 ** int(np.count_nonzero(d)))
    # sums that tie must count as ties, whatever the order of summing did to their last bits
    slack = n * rounding
    extreme = {"two-sided": abs(d.sum()), "greater": d.sum(), "less": -d.sum()}[alternative] - slack

    def hits(sums: np.ndarray) -> int:
        side = np.abs(sums) if alternative == "two-sided" else sums if alternative == "greater" else -sums
        return int(np.count_nonzero(side >= extreme))

    if n <= EXACT_FLIPS:
        sums = np.zeros(1)
        for value in d:
            sums = np.concatenate([sums + value, sums - value])
        return SignFlip(n, mean, hits(sums) / len(sums), floor, True, None, alternative)
    rng = np.random.default_rng(seed)
    batch = max(1, 4_000_000 // n)
    sizes = [min(batch, replicates - start) for start in range(0, replicates, batch)]
    found = sum(hits((2.0 * rng.integers(2, size=(size, n)) - 1.0) @ d) for size in sizes)
    p = (1 + found) / (1 + replicates)
    return SignFlip(n, mean, p, floor, False, math.sqrt(p * (1 - p) / replicates), alternative)


def _differences(first: Any, second: Any, alternative: str) -> tuple[np.ndarray, float]:
    """The differences, and how far one may lie from another that it equals on paper."""
    x, y = arrays.real_vector(first, "first"), arrays.real_vector(second, "second")
    arrays.one_of(alternative, "alternative", ALTERNATIVES)
    if len(x) != len(y):
        raise InputError(f"first has {len(x)} values and second {len(y)}: give pairs")
    return x - y, 8 * float(np.finfo(np.float64).eps) * float(np.max(np.abs([x, y])))
