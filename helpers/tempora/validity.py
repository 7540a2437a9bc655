"""What measured latencies can carry: percentiles with intervals, the reference latency, and a verdict with reasons."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.special import bdtr, bdtrc

from .. import arrays, uncertainty
from ..errors import InputError
from ..uncertainty import Interval, Rate
from .record import NS_PER_MS, Trace, parse_ms, parse_ms_row

#: A single latency is then known to about one part in a hundred, less than it varies from batch to batch.
COARSEST_SHARE = 0.01
#: A change of the median from the first to the last third of the run is drift only if chance makes one so large in
#: fewer than one run in a hundred.
DRIFT_CHANCE = 0.01
#: Fewest batches whose thirds are compared.
DRIFT_BATCHES = 15


def measured(trace: Trace) -> np.ndarray:
    """Indices of the batches that the method met: all of them, except in a live run that skipped some."""
    return np.arange(trace.n) if trace.served is None else trace.served


@dataclass(frozen=True)
class Percentile:
    """One percentile of latencies in ms, by nearest rank, with a distribution-free interval; see `percentile`."""

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
    share = _share(percent)
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
        reason = f"with {n} batches the {_ordinal(percent)} percentile has no {end} end: {needed} are needed"
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
    beyond = float(1 - _share(percent))
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


def _share(percent: float) -> Fraction:
    """The percentage as an exact share: 99.9 is 999/1000, not the binary fraction beside it."""
    if not arrays.is_number(percent) or not 0 < percent < 100:
        raise InputError(f"percent is {percent!r}: give a percentage between 0 and 100, such as 99")
    return Fraction(str(percent)) / 100


def _ordinal(percent: float) -> str:
    text = f"{percent:g}"
    ending = {"1": "st", "2": "nd", "3": "rd"}.get(text[-1], "th") if text not in ("11", "12", "13") else "th"
    return text + ending


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
        value = int(np.sort(times)[math.ceil(_share(percent) * len(times)) - 1])
        rule = f"{_ordinal(percent)} percentile, nearest rank"
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
    return np.concatenate([trace.latency_ns[measured(trace)] for trace in traces])


@dataclass(frozen=True)
class Check:
    """One thing that `validity` looks at: passed, failed, or None where it could not be judged; and why."""

    name: str
    passed: bool | None
    reason: str

    def to_dict(self) -> dict[str, Any]:
        """The fields as valid JSON."""
        return {"name": self.name, "passed": self.passed, "reason": self.reason}


@dataclass(frozen=True, repr=False)
class Validity:
    """Whether latencies can carry what is said of them; see `validity`.

    Attributes
    ----------
    checks : tuple of Check
        In order: batches, clock, drift, share over the reference latency.
    percentile : Percentile
        The percentile that is to be quoted.
    least_batches : int
        How many batches that takes.
    resolution_ms : float or None
        Step of the clock, given or seen; None where it could not be seen.
    drift : float or None
        Relative change of the median latency from the first to the last third of the run.
    over_reference : Rate or None
        Batches that took longer than the reference latency; None without one.
    """

    checks: tuple[Check, ...]
    percentile: Percentile
    least_batches: int
    resolution_ms: float | None
    drift: float | None
    over_reference: Rate | None

    @property
    def valid(self) -> bool:
        """Whether no check failed."""
        return all(check.passed is not False for check in self.checks)

    @property
    def verdict(self) -> str:
        """VALID or INVALID."""
        return "VALID" if self.valid else "INVALID"

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the verdict is INVALID; empty where it is VALID."""
        return tuple(check.reason for check in self.checks if check.passed is False)

    @property
    def not_judged(self) -> tuple[str, ...]:
        """What could not be judged, and why."""
        return tuple(f"{check.name}: {check.reason}" for check in self.checks if check.passed is None)

    def __repr__(self) -> str:
        """Verdict, reasons, and what stays open; a line each."""
        lines = [self.verdict, *self.reasons, *(f"not judged, {text}" for text in self.not_judged)]
        return f"Validity({'; '.join(lines)})"

    def to_dict(self) -> dict[str, Any]:
        """Everything as valid JSON."""
        return {
            "verdict": self.verdict,
            "reasons": list(self.reasons),
            "not_judged": list(self.not_judged),
            "checks": [check.to_dict() for check in self.checks],
            "percentile": self.percentile.to_dict(),
            "least_batches": self.least_batches,
            "resolution_ms": self.resolution_ms,
            "drift": self.drift,
            "over_reference": None if self.over_reference is None else self.over_reference.to_dict(),
        }


def validity(
    trace: Trace,
    *,
    percent: float = 99.0,
    confidence: float = 0.99,
    reference_ms: Any = None,
    exceedance: float | None = None,
    resolution_ms: Any = None,
    drift: float = 0.05,
) -> Validity:
    r"""Can these latencies carry what is to be said of them? VALID or INVALID, with plain reasons.

    Four checks, on the batches that the method met:

    - *batches*: at least `least_batches` of them for the percentile that is to be quoted;
    - *clock*: the smallest step between two different latencies is at most 1 % of the median latency. If all are equal
      (as from a table) the step cannot be seen, and this is not judged;
    - *drift*: the median of the last third differs from that of the first by no more than `drift`, unless chance
      (Mann-Whitney test, level 0.01) explains it. A device that throttles fails here, and so does a method that does
      less and less work;
    - *share over the reference latency*: judged only where `exceedance` says what is promised, as it is for standard
      inference. Of n batches k took longer; it passes if k or fewer would be seen with a probability of at most
      1 - `confidence`, were the true share `exceedance`: the promise is then shown to hold, and not merely not refuted
      (MLPerf's Server rule).

    Parameters
    ----------
    trace : Trace
        One method on one stream.
    percent : float
        The percentile of latency to be quoted, 99 by default.
    confidence : float
        Of the checks of batches and share, 0.99 by default as in MLPerf.
    reference_ms : number, optional
        Reference latency; by default that of the trace.
    exceedance : float, optional
        Share of batches that may exceed the reference latency, in (0, 1). By default none is promised: an adapting
        method may exceed it all the time.
    resolution_ms : number, optional
        Step of the clock, where it is known. By default it is read off the latencies.
    drift : float
        Relative change of the median that still counts as steady, 0.05 by default.

    Returns
    -------
    Validity

    Raises
    ------
    InputError
        A percentage, confidence, exceedance, drift or time out of range; an exceedance without a reference latency.

    Notes
    -----
    Batches count as independent. Where slow ones come in clusters, more are needed than the binomial law says.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> trace = Trace(np.full(700, 30), 64, 39.0 + rng.random(700), 0, reference_ms=39.9)
    >>> validity(trace).verdict
    'VALID'
    >>> short = Trace(np.full(100, 30), 64, 39.0 + rng.random(100), 0)
    >>> validity(short, percent=90)
    Validity(VALID; not judged, share over reference: the trace has no reference latency)
    >>> validity(short).reasons
    ('100 batches are too few for the 99th percentile: 662 are needed',)
    """
    least = least_batches(percent, confidence=confidence)
    if not arrays.is_number(drift) or drift < 0:
        raise InputError(f"drift is {drift!r}: give the relative change that still counts as steady, such as 0.05")
    step_ns = None if resolution_ms is None else parse_ms(resolution_ms, "resolution_ms")
    reference_ns = trace.reference_ns if reference_ms is None else parse_ms(reference_ms, "reference_ms")
    _check_exceedance(exceedance, reference_ns)
    times = trace.latency_ns[measured(trace)]
    step_ns = _smallest_step(times) if step_ns is None else step_ns
    change, chance = _change(times)
    over = (
        None if reference_ns is None else Rate.of(int(np.sum(times > reference_ns)), len(times), confidence=confidence)
    )
    return Validity(
        checks=(
            _judge_batches(len(times), least, percent),
            _judge_clock(step_ns, float(np.median(times))),
            _judge_drift(change, chance, drift, len(times)),
            _judge_share(over, reference_ns, exceedance, confidence),
        ),
        percentile=percentile(times, percent, confidence=confidence),
        least_batches=least,
        resolution_ms=None if step_ns is None else step_ns / NS_PER_MS,
        drift=change,
        over_reference=over,
    )


def _check_exceedance(exceedance: float | None, reference_ns: int | None) -> None:
    if exceedance is None:
        return
    if not arrays.is_number(exceedance) or not 0 < exceedance < 1:
        raise InputError(f"exceedance is {exceedance!r}: give the share allowed over the reference, such as 0.01")
    if reference_ns is None:
        raise InputError("exceedance is given, but the trace has no reference latency: give reference_ms")


def _smallest_step(times: np.ndarray) -> int | None:
    """The smallest difference between two latencies that differ: the clock cannot be coarser than that."""
    distinct = np.unique(times)
    return int(np.diff(distinct).min()) if len(distinct) > 1 else None


def _change(times: np.ndarray) -> tuple[float | None, float]:
    """Relative change of the median from the first third to the last, and how often chance makes one so large."""
    from scipy.stats import mannwhitneyu  # here: it takes half a second to import

    third = len(times) // 3
    first, last = times[:third], times[len(times) - third :]
    if len(times) < DRIFT_BATCHES or np.median(first) == 0:
        return None, 1.0
    change = float(np.median(last) / np.median(first) - 1.0)
    return change, float(mannwhitneyu(first, last).pvalue) if change else 1.0


def _judge_batches(n: int, least: int, percent: float) -> Check:
    if n < least:
        reason = f"{n} batches are too few for the {_ordinal(percent)} percentile: {least} are needed"
        return Check("batches", False, reason)
    return Check("batches", True, f"{n} batches, {least} are needed for the {_ordinal(percent)} percentile")


def _judge_clock(step_ns: int | None, median_ns: float) -> Check:
    if median_ns == 0:
        return Check("clock", False, "half of the latencies are 0: nothing was timed, or the clock is too coarse")
    if step_ns is None:
        return Check("clock", None, "all latencies are equal, so the step of the clock cannot be seen")
    share = step_ns / median_ns
    text = f"the clock steps by {step_ns / NS_PER_MS:g} ms, {share:.2%} of the median latency"
    if share > COARSEST_SHARE:
        return Check("clock", False, f"{text}: at most {COARSEST_SHARE:.0%} is fine enough")
    return Check("clock", True, text)


def _judge_drift(change: float | None, chance: float, allowed: float, n: int) -> Check:
    if change is None:
        few = f"{n} batches are too few to compare the first third with the last"
        return Check("drift", None, few if n < DRIFT_BATCHES else "the latencies begin at 0")
    text = f"the median latency changes by {change:+.1%} from the first to the last third of the run"
    if abs(change) > allowed and chance < DRIFT_CHANCE:
        return Check("drift", False, f"{text}: {allowed:.0%} is steady; let the device settle, or explain the change")
    return Check("drift", True, text)


def _judge_share(over: Rate | None, reference_ns: int | None, exceedance: float | None, confidence: float) -> Check:
    name = "share over reference"
    if over is None or reference_ns is None:
        return Check(name, None, "the trace has no reference latency")
    text = f"{over.count} of {over.n} batches took longer than the reference latency of {reference_ns / NS_PER_MS:g} ms"
    if exceedance is None:
        return Check(name, None, f"{text}, and no share is promised")
    if bdtr(over.count, over.n, exceedance) > 1.0 - confidence:
        return Check(name, False, f"{text}: that does not show, with confidence {confidence:g}, at most {exceedance:g}")
    return Check(name, True, f"{text}: with confidence {confidence:g} the share is at most {exceedance:g}")
