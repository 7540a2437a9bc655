"""What the scores share: settings that are checked, batches that are weighed, waits that are discounted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import arrays
from ..arrays import one_of
from ..errors import InputError
from .record import Trace
from .times import LONGEST_NS, ms_text, parse_ms

WEIGHTS, CUTS, CHARGES, KINDS = ("batch", "sample"), ("within", "overshoot"), ("excess", "total"), ("projected", "live")
#: Accuracy of a frozen method: a number, one per batch, or a function of the switch.
Frozen = float | Sequence[float] | np.ndarray | Callable[[int], Any]


def kind_of(trace: Trace, protocol: str, require: str, **asked: Any) -> str:
    """Whether a score is that of a live run or a projection; refuses what is neither."""
    one_of(require, "require", KINDS)
    if trace.live is None or trace.live.get("protocol") != protocol:
        refuse_cut_short(trace, f"{protocol} utility under other settings")
        if require == "live":
            raise InputError(
                f"require is 'live', but this trace is no live run under {protocol!r}: a projection does not show what "
                "the method does with the batches that time leaves it"
            )
        return "projected"
    for name, value in asked.items():
        if value is None or trace.live.get(name) is None:
            continue
        known = trace.live[name]
        same = parse_ms(known, name) == parse_ms(value, name) if name.endswith("_ms") else known == value
        if not same:
            raise InputError(f"{name} is {value!r}, but this trace is a live run with {known!r}: score an offline log")
    if asked.get("period_ms") is not None and trace.live.get("period_ms") is None:
        raise InputError("period_ms is given, but this live run had arrivals of its own: leave it out")
    return "live"


def refuse_cut_short(trace: Trace, what: str) -> None:
    """Refuse a live run in which time has already changed what the method met or did."""
    if trace.live is None:
        return
    skipped = trace.served is not None and len(trace.served) < trace.n
    frozen = trace.live.get("protocol") == "amortised" and trace.live.get("switch", 0) < trace.n
    if skipped or frozen:
        raise InputError(
            f"{what} needs a log in which the method met and adapted to every batch; this is a live run under "
            f"{trace.live.get('protocol')!r}: score it by that, or log it offline"
        )


def gains(trace: Trace, weight: str) -> tuple[np.ndarray, np.ndarray]:
    """What each batch adds to an accuracy and how much it counts: a mean is sum(gain) / sum(mass)."""
    if weight == "sample":
        return trace.correct.astype(np.float64), trace.size.astype(np.float64)
    return trace.accuracy, np.ones(trace.n)


def served_parts(served: np.ndarray, gain: np.ndarray, mass: np.ndarray) -> tuple[Any, Any, Any]:
    """Utility, availability and served accuracy from who was served; the last axis is the stream."""
    taken, kept = np.sum(np.where(served, gain, 0.0), axis=-1), np.sum(np.where(served, mass, 0.0), axis=-1)
    total = np.sum(mass, axis=-1)
    return taken / total, kept / total, taken / kept


def split_at_switch(
    gain: np.ndarray, mass: np.ndarray, frozen: np.ndarray
) -> tuple[float, float | None, float | None, dict[str, str]]:
    """Share adapted to, mean accuracy before and after the freeze, and for each accuracy that is None the reason."""
    adapted_mass, frozen_mass = np.sum(mass[~frozen]), np.sum(mass[frozen])
    before = after = None
    reasons = {}
    if frozen.all():
        reasons["adapted_accuracy"] = "the budget does not pay for the first batch: none was adapted to"
    else:
        before = float(np.sum(gain[~frozen]) / adapted_mass)
    if not frozen.any():
        reasons["frozen_accuracy"] = "the budget lasts to the end: no batch was frozen"
    else:
        after = float(np.sum(gain[frozen]) / frozen_mass)
    return float(adapted_mass / np.sum(mass)), before, after, reasons


def responses(start: np.ndarray, arrival: Sequence[int], served: np.ndarray, intrinsic: np.ndarray) -> np.ndarray:
    """How long after the arrival of each served batch its prediction is out, in nanoseconds."""
    return start - np.array([arrival[i] for i in served.tolist()], dtype=np.int64) + intrinsic


def joint_parts(gain: np.ndarray, mass: np.ndarray, kappa: np.ndarray) -> tuple[float, float, float]:
    """Mean accuracy, mean discount and their population covariance."""
    total = np.sum(mass)
    accuracy, responsiveness = np.sum(gain) / total, np.sum(mass * kappa) / total
    covariance = np.sum((gain - mass * accuracy) * (kappa - responsiveness)) / total
    return float(accuracy), float(responsiveness), float(covariance)


def discount(wait: np.ndarray, reference: int, threshold: int) -> np.ndarray:
    """1 up to the reference, one half at the threshold; one division of whole numbers."""
    return (threshold - reference) / (threshold - reference + np.maximum(0, wait - reference))


def costs(latency: np.ndarray, reference: int | None, charge: str) -> np.ndarray:
    """What each batch takes out of a budget, in nanoseconds."""
    return latency if charge == "total" or reference is None else np.maximum(0, latency - reference)


def frozen_values(frozen: Frozen | None, switch: int, n: int) -> np.ndarray:
    """Accuracy of the frozen method on each batch, shape (n,); what stands before the switch is not used."""
    if switch == n:
        return np.zeros(n)
    if frozen is None:
        raise InputError(
            f"frozen_accuracy is missing: the method is frozen before batch {switch} of {n}, and an offline log does "
            "not say what it scores then"
        )
    if callable(frozen):
        return np.concatenate([np.zeros(switch), accuracies(frozen(switch), n - switch, "frozen_accuracy")])
    return accuracies(frozen, n, "frozen_accuracy", since=switch)


def accuracies(values: Any, n: int, name: str, *, since: int = 0) -> np.ndarray:
    """One accuracy per batch, shape (n,), from one for all or from n; those before `since` are not looked at."""
    if values is None:
        raise InputError(f"{name} is missing: give one accuracy, or {n} of them")
    remedy = f"give one accuracy, or {n} of them"
    row = arrays.floats(values, name, remedy=remedy)
    if row.shape not in ((), (n,)):
        raise InputError(f"{name} has shape {row.shape} and type {row.dtype}: {remedy}")
    full = np.broadcast_to(row, n)
    bad = since + np.flatnonzero(~((full[since:] >= 0) & (full[since:] <= 1)))
    if bad.size:
        place = f"[{bad[0]}]" if row.ndim else ""
        raise InputError(f"{name}{place} is {full[bad[0]]}: an accuracy lies in [0, 1]")
    return full


def arrivals_of(trace: Trace, period_ms: Any) -> tuple[Sequence[int], int | None]:
    """When each batch arrives, in nanoseconds, and the period where there is one."""
    if period_ms is None and trace.live is not None:
        period_ms = trace.live.get("period_ms")
    if period_ms is None:
        if trace.arrival_ns is None:
            raise InputError("period_ms is missing: give it, or a trace that has arrivals of its own")
        return trace.arrival_ns.tolist(), None
    period = period_of(period_ms, trace.n)
    return list(range(0, period * trace.n, period)), period


def period_of(period_ms: Any, n: int) -> int:
    """A period in nanoseconds, above 0."""
    period = parse_ms(period_ms, "period_ms")
    if period == 0:
        raise InputError(f"period_ms is {period_ms}: give a period above 0")
    if period * n >= LONGEST_NS:
        raise InputError(f"period_ms is {period_ms}: {n} batches would take 73 years, give milliseconds")
    return period


def reference_of(trace: Trace, reference_ms: Any) -> int:
    """The latency of standard inference in nanoseconds: as given, or as the trace has it."""
    if reference_ms is not None:
        return parse_ms(reference_ms, "reference_ms")
    if trace.reference_ns is None:
        raise InputError("reference_ms is missing: give the latency of standard inference; the trace has none")
    return trace.reference_ns


def threshold_of(threshold_ms: Any, reference: int) -> int:
    """The threshold in nanoseconds, above the reference."""
    threshold = parse_ms(threshold_ms, "threshold_ms")
    if threshold <= reference:
        raise InputError(
            f"threshold_ms is {threshold_ms} and reference_ms {ms_text(reference)}: with no time beyond standard "
            "inference there is nothing to discount, give a threshold above the reference"
        )
    return threshold


def percentiles(times: np.ndarray) -> dict[str, float]:
    """The median and the tail, as times that occurred."""
    return {f"p{level}": float(np.quantile(times, level / 100, method="higher")) for level in (50, 90, 99)}
