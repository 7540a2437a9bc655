"""Percentiles of latencies with distribution-free intervals, and how many batches it takes to quote one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.special import bdtr, bdtrc

from .. import arrays, uncertainty
from ..errors import InputError
from ..uncertainty import Interval
from .times import NS_PER_MS


@dataclass(frozen=True)
class Percentile:
    """One percentile of latencies in ms, by nearest rank, with a distribution-free interval; see `percentile`.

    Attributes
    ----------
    percent : float
        Which one, such as 99.
    value_ms : float
        A latency that occurred.
    n : int
        Latencies.
    interval : tuple of float or None
        In ms; None with `reason` where there are too few.
    reason : str or None
        How many it takes.
    """

    percent: float
    value_ms: float
    n: int
    interval: Interval | None
    reason: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The fields as valid JSON."""
        interval = None if self.interval is None else list(self.interval)
        return {
            "percent": self.percent,
            "value_ms": self.value_ms,
            "n": self.n,
            "interval": interval,
            "reason": self.reason,
        }


def percentile(latency_ns: np.ndarray, percent: float, *, confidence: float = 0.95) -> Percentile:
    r"""A percentile of latencies: the smallest one that at least that percentage of the batches do not exceed.

    With latencies sorted, :math:`x_{(1)} \le \dots \le x_{(n)}`, it is :math:`x_{(\lceil np \rceil)}`, a value that
    occurred; nothing is interpolated. The interval runs between the two of these order statistics that enclose the
    percentile of the distribution with the given confidence, by the binomial law and without any assumption on the
    shape of the distribution.

    Parameters
    ----------
    latency_ns : numpy.ndarray of int, shape (n,)
        Latencies in nanoseconds, in any order; independent of one another, for the interval.
    percent : float
        Between 0 and 100, such as 99.
    confidence : float
        Level of the interval, 0.95 by default.

    Returns
    -------
    Percentile
        Without an interval, but with the number of batches that it takes, where there are too few.

    Raises
    ------
    InputError
        No latencies; a percentage or a confidence out of range.

    Examples
    --------
    >>> found = percentile(np.arange(1, 101) * 1_000_000, 90)
    >>> found.value_ms, found.interval
    (90.0, (84.0, 96.0))
    >>> percentile(np.arange(1, 101) * 1_000_000, 99).reason
    'with 100 batches the 99th percentile has no upper end: 368 are needed'
    """
    share = share_of(percent)
    tail = (1.0 - uncertainty.check_confidence(confidence)) / 2.0
    times = np.sort(latency_ns)
    n = len(times)
    if n == 0:
        raise InputError("latency_ns is empty: a percentile needs at least one latency")
    value = float(times[math.ceil(share * n) - 1]) / NS_PER_MS
    below = bdtr(np.arange(n), n, float(share))
    low = int(np.searchsorted(below, tail, side="right"))
    high = int(np.count_nonzero(bdtrc(np.arange(n), n, float(share)) > tail)) + 1
    if low < 1 or high > n:
        needed = math.ceil(math.log(tail) / math.log(max(share, 1 - share)))
        end = "upper" if high > n else "lower"
        reason = f"with {n} batches the {ordinal(percent)} percentile has no {end} end: {needed} are needed"
        return Percentile(percent, value, n, None, reason)
    return Percentile(percent, value, n, (float(times[low - 1]) / NS_PER_MS, float(times[high - 1]) / NS_PER_MS))


def least_batches(percent: float, *, confidence: float = 0.99) -> int:
    r"""How many batches must be timed before a percentile may be quoted.

    The least n with

    .. math:: P(\mathrm{Bin}(n, 1 - p) \le 1) \le 1 - \text{confidence}:

    with that confidence at least two batches lie beyond the percentile, so that the second slowest is no lower than
    it. It is the rule of MLPerf's early stopping, which asks for 64 queries at the 90th percentile and for 662 at the
    99th.

    Parameters
    ----------
    percent : float
        Between 0 and 100, such as 99.
    confidence : float
        0.99 by default, as in MLPerf.

    Returns
    -------
    int

    Raises
    ------
    InputError
        A percentage or a confidence out of range.

    References
    ----------
    MLCommons, MLPerf Inference: LoadGen, early stopping.

    Examples
    --------
    >>> least_batches(90), least_batches(99), least_batches(99.9)
    (64, 662, 6636)
    """
    beyond = float(1 - share_of(percent))
    allowed = 1.0 - uncertainty.check_confidence(confidence)
    enough = 2
    while bdtr(1, enough, beyond) > allowed:
        enough *= 2
    short = enough // 2
    while enough - short > 1:
        middle = (enough + short) // 2
        if bdtr(1, middle, beyond) > allowed:
            short = middle
        else:
            enough = middle
    return enough


def share_of(percent: float) -> Fraction:
    """The percentage as an exact share: 99.9 is 999/1000, not the binary fraction beside it."""
    if not arrays.is_number(percent) or not 0 < percent < 100:
        raise InputError(f"percent is {percent!r}: give a percentage between 0 and 100, such as 99")
    return Fraction(str(percent)) / 100


def ordinal(percent: float) -> str:
    text = f"{percent:g}"
    ending = {"1": "st", "2": "nd", "3": "rd"}.get(text[-1], "th") if text not in ("11", "12", "13") else "th"
    return text + ending
