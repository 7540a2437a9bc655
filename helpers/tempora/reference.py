"""The reference latency: what standard inference hardly ever exceeds on a device."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import arrays
from ..errors import InputError
from ..uncertainty import Rate
from .percentiles import ordinal, share_of
from .record import Trace
from .times import NS_PER_MS, parse_ms_row


@dataclass(frozen=True)
class ReferenceLatency:
    """The reference latency of a device and how often standard inference exceeds it; see `reference_latency`.

    Attributes
    ----------
    value_ns, value_ms : int and float
        The latency.
    rule : str
        How it was chosen, in words.
    n : int
        Number of latencies.
    mean_ms, deviation_ms : float
        Their mean and their population standard deviation.
    exceedance : Rate
        How many of the latencies lie above the value, with the exact binomial interval of that share.
    """

    value_ns: int
    rule: str
    n: int
    mean_ms: float
    deviation_ms: float
    exceedance: Rate

    @property
    def value_ms(self) -> float:
        """The latency in ms."""
        return self.value_ns / NS_PER_MS

    def to_dict(self) -> dict[str, Any]:
        """The fields as valid JSON."""
        return {
            "value_ms": self.value_ms,
            "rule": self.rule,
            "n": self.n,
            "mean_ms": self.mean_ms,
            "deviation_ms": self.deviation_ms,
            "exceedance": self.exceedance.to_dict(),
        }


def reference_latency(
    latencies: Any, *, sigmas: float = 6.0, percent: float | None = None, confidence: float = 0.95
) -> ReferenceLatency:
    r"""The reference latency, lambda: what standard inference hardly ever exceeds on this device.

    .. math:: \lambda = \bar\delta + 6 \sigma, \qquad \sigma^2 = \frac1n \sum_i (\delta_i - \bar\delta)^2,

    over all batches of all streams, or an empirical percentile. Six standard deviations would be exceeded once in a
    thousand million batches if latencies were normal; they have long tails, so read the exceedance that comes with it.

    Parameters
    ----------
    latencies : Trace, sequence of Trace, or array of shape (n,)
        Standard inference: its traces on one device, pooled, or its latencies in ms.
    sigmas : float
        Standard deviations above the mean, 6 by default as in the source.
    percent : float, optional
        Take this percentile instead, such as 99.9: the smallest latency that so many of the batches do not exceed.
    confidence : float
        Level of the exact interval of the exceedance, 0.95 by default. Its upper end is what n batches can vouch for:
        with none of 781 above, up to 0.47 % may still be.

    Returns
    -------
    ReferenceLatency
        Rounded to the nearest nanosecond. The exceedance is that of the same batches, hence a little too low.

    Raises
    ------
    InputError
        Fewer than two latencies; traces of several methods or devices; a latency that is negative or not finite;
        `sigmas` negative or not finite; a percentage or a confidence out of range.

    References
    ----------
    TEMPORA (2026), arXiv:2602.06136.

    Examples
    --------
    >>> found = reference_latency([38, 38, 40, 40])
    >>> found.value_ms, found.mean_ms, found.deviation_ms
    (45.0, 39.0, 1.0)
    >>> reference_latency([38, 38, 40, 48], percent=75).exceedance
    Rate(count=1, n=4, rate=0.25, interval=(0.0063, 0.8059), reason=None)
    """
    times = _pooled_ns(latencies)
    if len(times) < 2:
        raise InputError(f"latencies has {len(times)} values: a spread needs at least 2, give a longer run")
    if not arrays.is_number(sigmas) or sigmas < 0:
        raise InputError(f"sigmas is {sigmas!r}: give a number of standard deviations, at least 0")
    mean, deviation = float(np.mean(times)), float(np.std(times))
    if percent is None:
        value, rule = round(mean + sigmas * deviation), f"mean + {sigmas:g} population standard deviations"
    else:
        value = int(np.sort(times)[math.ceil(share_of(percent) * len(times)) - 1])
        rule = f"{ordinal(percent)} percentile, nearest rank"
    over = Rate.of(int(np.count_nonzero(times > value)), len(times), confidence=confidence)
    return ReferenceLatency(value, rule, len(times), mean / NS_PER_MS, deviation / NS_PER_MS, over)


def _pooled_ns(latencies: Any) -> np.ndarray:
    """Latencies of one or several traces, or of an array in ms, as nanoseconds."""
    traces = [latencies] if isinstance(latencies, Trace) else latencies
    if not (isinstance(traces, Sequence) and any(isinstance(trace, Trace) for trace in traces)):
        return parse_ms_row(latencies, "latencies")
    for i, trace in enumerate(traces):
        if not isinstance(trace, Trace):
            raise InputError(f"latencies[{i}] is a {type(trace).__name__}: give traces only, or an array of ms only")
        for name in ("method", "device"):
            first, this = getattr(traces[0], name), getattr(trace, name)
            if this != first:
                raise InputError(f"latencies[{i}] has {name} {this!r} and latencies[0] {first!r}: give one at a time")
    return np.concatenate([trace.latency_ns[trace.measured] for trace in traces])
