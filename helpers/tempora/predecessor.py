"""The rule of Alfarra et al., which TEMPORA replaces: speed relative to the model, skips counted beforehand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

import numpy as np

from ..arrays import one_of
from ..errors import InputError
from .record import Trace
from .rules import WEIGHTS, accuracies, gains, reference_of, refuse_cut_short
from .times import NS_PER_MS


@dataclass(frozen=True, repr=False, eq=False)
class RelativeSpeed:
    """Accuracy by the predecessor's rule; see `relative_speed`.

    Attributes
    ----------
    utility : float
        Mean accuracy of the whole stream, skipped batches answered by the fallback.
    availability : float
        Share of the stream that met the method.
    served_accuracy : float
        Mean accuracy of those batches.
    fallback_accuracy : float or None
        Mean accuracy of the fallback on the skipped batches; None where none was skipped.
    optimism : float
        What the fallback adds to the utility: (1 - availability) x fallback_accuracy.
    served, skips : numpy.ndarray of int, shape (m,)
        Indices of the served batches, and how many are skipped after each (also past the end of the stream).
    idle_ms : numpy.ndarray of shape (m,)
        How long the method, done with a served batch, has to wait for the next arrival: forced idling.
    n : int
        Batches in the stream.
    reference_ms, stream_speed, weight
        As they were given, the reference by the trace where it was not.
    reasons : mapping
        For each attribute that is None: why.
    kind : str
        Always ``projected``: the rule counts skips beforehand and is never run live.
    """

    utility: float
    availability: float
    served_accuracy: float
    fallback_accuracy: float | None
    optimism: float
    served: np.ndarray
    skips: np.ndarray
    idle_ms: np.ndarray
    n: int
    reference_ms: float
    stream_speed: float
    weight: str
    reasons: Mapping[str, str] = field(default_factory=dict)
    kind: str = "projected"

    def __repr__(self) -> str:
        """The headline."""
        return (
            f"RelativeSpeed(utility={self.utility:.4f}, of which fallback {self.optimism:.4f}; {len(self.served)} of "
            f"{self.n} batches served at accuracy {self.served_accuracy:.4f}, mean idling {self.idle_ms.mean():.3f} ms)"
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything but the arrays, as valid JSON."""
        return {
            "utility": self.utility,
            "availability": self.availability,
            "served_accuracy": self.served_accuracy,
            "fallback_accuracy": self.fallback_accuracy,
            "optimism": self.optimism,
            "batches_served": len(self.served),
            "batches": self.n,
            "idle_ms": float(self.idle_ms.mean()),
            "kind": self.kind,
            "reference_ms": self.reference_ms,
            "stream_speed": self.stream_speed,
            "weight": self.weight,
            "reasons": dict(self.reasons),
        }


def relative_speed(
    trace: Trace, *, fallback_accuracy: Any, reference_ms: Any = None, stream_speed: Any = 1, weight: str = "batch"
) -> RelativeSpeed:
    r"""Accuracy by the predecessor's rule: after a batch that took r times standard inference, some are skipped.

    .. math:: k_j = \max(0, \lceil \eta \, r_j \rceil - 1), \qquad r_j = \delta_j / \lambda,

    batches are skipped after the served batch j and answered by a fallback. Three things become visible that the
    discrete utility does away with: a *stepped penalty* (every latency in :math:`(k\lambda/\eta, (k+1)\lambda/\eta]`
    costs the same), *forced idling* (without a buffer the method waits for the next arrival), and an *optimistic
    fallback* (what was skipped still scores, at no cost). The batches served are those of `discrete` with
    ``buffer=0`` and the period :math:`\lambda/\eta`.

    Parameters
    ----------
    trace : Trace
        A log in which the method met every batch.
    fallback_accuracy : float or array of shape (n,)
        What answers in place of the method scores: the original takes the model that is being adapted, or random
        labels (1 / number of classes).
    reference_ms : number, optional
        :math:`\lambda`, latency of the model without adaptation; the original measures it anew for every batch. By
        default the trace's.
    stream_speed : number
        :math:`\eta` in (0, 1], speed of the stream relative to the model: 1, the default, is as fast as the model
        alone can follow. (At 0 nothing would ever be skipped.)
    weight : {"batch", "sample"}
        Whether batches count alike or by their size; the original counts samples.

    Returns
    -------
    RelativeSpeed

    Raises
    ------
    InputError
        A reference that is missing or 0, a speed outside (0, 1], accuracies outside [0, 1] or of another number, a live
        run that skipped batches or froze the method.

    References
    ----------
    Alfarra et al. (2024), Evaluation of Test-Time Adaptation Under Computational Time Constraints, ICML.

    Examples
    --------
    25 ms a batch where the model alone takes 10: two batches are skipped after each, and 5 ms are idled away.

    >>> trace = Trace([1, 2, 3, 4, 5, 6], 10, 25, 0)
    >>> result = relative_speed(trace, reference_ms=10, fallback_accuracy=0.1)
    >>> result.served, result.skips, result.idle_ms
    (array([0, 3]), array([2, 2]), array([5., 5.]))
    >>> round(result.utility, 6), round(result.optimism, 6)
    (0.15, 0.066667)
    """
    one_of(weight, "weight", WEIGHTS)
    refuse_cut_short(trace, "the predecessor's rule")
    reference = reference_of(trace, reference_ms)
    if reference == 0:
        raise InputError("reference_ms is 0: a speed relative to no time at all is undefined")
    period = reference / _speed(stream_speed)
    fallback = accuracies(fallback_accuracy, trace.n, "fallback_accuracy")
    served, skips, idle = [], [], []
    batch, latency = 0, trace.latency_ns.tolist()
    while batch < trace.n:
        skipped = max(0, -(-latency[batch] // period) - 1)  # the ceiling of a fraction, not of a float
        served.append(batch)
        skips.append(int(skipped))
        idle.append(float((skipped + 1) * period - latency[batch]) / NS_PER_MS)
        batch += int(skipped) + 1
    is_served = np.zeros(trace.n, dtype=bool)
    is_served[served] = True
    gain, mass = gains(trace, weight)
    total, lost = np.sum(mass), np.sum(mass[~is_served])
    optimism = float(np.sum((fallback * mass)[~is_served]) / total)
    taken = np.sum(gain[is_served])
    return RelativeSpeed(
        utility=float(taken / total) + optimism,
        availability=float(np.sum(mass[is_served]) / total),
        served_accuracy=float(taken / np.sum(mass[is_served])),
        fallback_accuracy=float(np.sum((fallback * mass)[~is_served]) / lost) if lost else None,
        optimism=optimism,
        served=np.array(served),
        skips=np.array(skips),
        idle_ms=np.array(idle),
        n=trace.n,
        reference_ms=reference / NS_PER_MS,
        stream_speed=float(_speed(stream_speed)),
        weight=weight,
        reasons={} if lost else {"fallback_accuracy": "no batch was skipped"},
    )


def _speed(value: Any) -> Fraction:
    """The shortest decimal that shows as `value`, as a fraction in (0, 1]."""
    try:
        speed = Decimal(str(value))
    except InvalidOperation:
        speed = Decimal("nan")
    if not speed.is_finite() or not 0 < speed <= 1:
        raise InputError(f"stream_speed is {value!r}: give a number above 0 and at most 1")
    return Fraction(speed)
