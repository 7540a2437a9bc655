"""What measured latencies can carry: a verdict with reasons."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import bdtr

from .. import arrays
from ..errors import InputError
from ..uncertainty import Rate
from .percentiles import Percentile, least_batches, ordinal, percentile
from .record import Trace
from .times import NS_PER_MS, parse_ms

#: A single latency is then known to about one part in a hundred, less than it varies from batch to batch.
COARSEST_SHARE = 0.01
#: A change of the median from the first to the last third of the run is drift only if chance makes one so large in
#: fewer than one run in a hundred.
DRIFT_CHANCE = 0.01
#: Fewest batches whose thirds are compared.
DRIFT_BATCHES = 15


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
    times = trace.latency_ns[trace.measured]
    step_ns = _smallest_step(times) if step_ns is None else step_ns
    change, chance = _change(times)
    over = None
    if reference_ns is not None:
        over = Rate.of(int(np.sum(times > reference_ns)), len(times), confidence=confidence)
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
        reason = f"{n} batches are too few for the {ordinal(percent)} percentile: {least} are needed"
        return Check("batches", False, reason)
    return Check("batches", True, f"{n} batches, {least} are needed for the {ordinal(percent)} percentile")


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
