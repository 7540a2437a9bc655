"""A hybrid utility, beyond the source: a frame rate, an impatient user and a total budget at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import arrays
from ..arrays import one_of
from . import pipeline
from .record import Trace
from .rules import (
    CHARGES,
    CUTS,
    WEIGHTS,
    accuracies,
    arrivals_of,
    costs,
    discount,
    gains,
    joint_parts,
    percentiles,
    reference_of,
    refuse_cut_short,
    responses,
    split_at_switch,
    threshold_of,
)
from .times import NS_PER_MS, parse_ms


@dataclass(frozen=True, repr=False, eq=False)
class Hybrid:
    """Hybrid utility; see `hybrid`.

    Attributes
    ----------
    utility : float
        availability x (served_accuracy x responsiveness + alignment), in [0, 1].
    availability : float
        Share of the stream that was served.
    served_accuracy : float
        Mean accuracy of the served batches, adapted to or frozen: adapted_share x adapted_accuracy +
        (1 - adapted_share) x frozen_accuracy.
    responsiveness, alignment : float
        Mean discount of the served batches, and its covariance with their accuracy.
    adapted_share : float
        Share of what was served that was also adapted to.
    adapted_accuracy, frozen_accuracy : float or None
        Mean accuracy before and after the switch; None where there is no such batch.
    served : numpy.ndarray of int, shape (m,)
        Indices of the served batches.
    start_ns, finish_ns, response_ns : numpy.ndarray of int64, shape (m,)
        When each was picked up, when the pipeline was free again, and how long after its arrival the prediction was
        out.
    weights : numpy.ndarray of shape (m,)
        The discount of each served batch.
    switch : int
        How many of the served batches were adapted to.
    spent_ms : float
        What they cost.
    n : int
        Batches in the stream.
    period_ms, threshold_ms, budget_ms, reference_ms : float
        As they were given; no period (None) where the stream has arrivals of its own.
    reasons : mapping
        For each attribute that is None: why.
    kind : str
        Always ``projected``: no live run meets all three constraints.
    """

    utility: float
    availability: float
    served_accuracy: float
    responsiveness: float
    alignment: float
    adapted_share: float
    adapted_accuracy: float | None
    frozen_accuracy: float | None
    served: np.ndarray
    start_ns: np.ndarray
    finish_ns: np.ndarray
    response_ns: np.ndarray
    weights: np.ndarray
    switch: int
    spent_ms: float
    n: int
    period_ms: float | None
    threshold_ms: float
    budget_ms: float
    reference_ms: float
    reasons: Mapping[str, str] = field(default_factory=dict)
    kind: str = "projected"

    def __repr__(self) -> str:
        """The decomposition on one line."""
        return (
            f"Hybrid(utility={self.utility:.4f} = availability {self.availability:.4f} x (accuracy "
            f"{self.served_accuracy:.4f} x responsiveness {self.responsiveness:.4f} {self.alignment:+.4f} alignment), "
            f"{len(self.served)} of {self.n} batches served, {self.switch} adapted to, {self.kind})"
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything but the arrays, as valid JSON."""
        names = (
            "utility availability served_accuracy responsiveness alignment adapted_share adapted_accuracy "
            "frozen_accuracy switch spent_ms kind period_ms threshold_ms budget_ms reference_ms"
        )
        return {
            **{name: getattr(self, name) for name in names.split()},
            "batches_served": len(self.served),
            "batches": self.n,
            "response_ms": percentiles(self.response_ns / NS_PER_MS),
            "reasons": dict(self.reasons),
        }


def hybrid(
    trace: Trace,
    *,
    threshold_ms: Any,
    budget_ms: Any,
    frozen_accuracy: Any = None,
    period_ms: Any = None,
    reference_ms: Any = None,
    buffer: int = 1,
    tie: str = "arrival",
    cut: str = "within",
    charge: str = "excess",
    weight: str = "batch",
) -> Hybrid:
    r"""Hybrid utility: batches come at a fixed rate, late predictions are worth less, and adaptation has a budget.

    Think of a battery-powered camera that raises an alarm. Of the batches that the pipeline can take (`discrete`),
    each is adapted to while the budget lasts (`amortised`); then the method is frozen and takes as long as standard
    inference (:math:`e = \lambda`, :math:`\ell = 0`), which lets it serve more of them. A prediction counts less the
    longer after the *arrival* of its batch it is out (the discount of `continuous`):

    .. math:: U = \frac1N \sum_{j \in Q} a_j \kappa_j
       = \alpha \, (\bar a_Q \, \bar\kappa_Q + \mathrm{Cov}_Q(a, \kappa)), \qquad
       \bar a_Q = \beta \, \bar a_\text{adapted} + (1 - \beta) \, \bar a_\text{frozen},

    with :math:`w_j = s_j - t_j + e_j` in the place of :math:`\ell_{i-1} + e_i`: arrivals do not wait for the method, so
    what the method still does on the batch before is felt as waiting in the buffer. Where one constraint alone is
    felt, its own utility remains: with a threshold and a budget out of reach the discrete one, with a threshold out of
    reach and a period that no batch exceeds the amortised one.

    Parameters
    ----------
    trace : Trace
        A log in which the method met every batch.
    threshold_ms, budget_ms, period_ms, reference_ms : number
        As in `continuous`, `amortised` and `discrete`.
    frozen_accuracy : float or array of shape (n,)
        What the method scores once frozen: a number, or one per batch. Not needed where the budget lasts.
    buffer, tie, cut, charge, weight
        As in `discrete` and `amortised`.

    Returns
    -------
    Hybrid
        Always *projected*: a log does not show what the method would do with the batches that are left to it.

    Raises
    ------
    InputError
        As the three utilities.

    References
    ----------
    TEMPORA (2026), arXiv:2602.06136, names such a mixture as open; the definition is this library's.

    Examples
    --------
    Batches come every 10 ms and take 20 + 5; standard inference takes 10; 15 ms may be spent. Batch 0 spends them all;
    batch 2 (batch 1 was replaced in the buffer) starts at 25, frozen, and is out at 35, 15 after its arrival.

    >>> trace = Trace([6, 6, 6, 6], 10, 20, 5)
    >>> result = hybrid(trace, period_ms=10, reference_ms=10, threshold_ms=20, budget_ms=15, frozen_accuracy=0.3)
    >>> result.served, result.response_ns // 10**6, result.weights.round(4)
    (array([0, 2, 3]), array([20, 15, 15]), array([0.5   , 0.6667, 0.6667]))
    >>> round(result.utility, 6)  # (0.6 / 2 + 2 x 0.3 x 2/3) / 4
    0.175
    """
    one_of(weight, "weight", WEIGHTS)
    one_of(tie, "tie", pipeline.TIES)
    one_of(cut, "cut", CUTS)
    one_of(charge, "charge", CHARGES)
    arrays.whole_number(buffer, "buffer", least=0)
    refuse_cut_short(trace, "hybrid utility")
    reference = reference_of(trace, reference_ms)
    threshold = threshold_of(threshold_ms, reference)
    meter = _Meter(trace, reference, parse_ms(budget_ms, "budget_ms"), cut, charge)
    arrival, period = arrivals_of(trace, period_ms)
    served, start, finish = pipeline.serve(meter, arrival, buffer=buffer, tie=tie)
    frozen = np.arange(len(served)) >= meter.adapted
    intrinsic = np.where(frozen, reference, trace.intrinsic_ns[served])
    response = responses(start, arrival, served, intrinsic)
    kappa = discount(response, reference, threshold)
    all_gain, all_mass = gains(trace, weight)
    gain, mass, total = all_gain[served], all_mass[served], np.sum(all_mass)
    if frozen.any():
        gain = np.where(frozen, accuracies(frozen_accuracy, trace.n, "frozen_accuracy")[served] * mass, gain)
    accuracy, responsiveness, alignment = joint_parts(gain, mass, kappa)
    adapted_share, before, after, reasons = split_at_switch(gain, mass, frozen)
    return Hybrid(
        utility=float(np.sum(gain * kappa) / total),
        availability=float(np.sum(mass) / total),
        served_accuracy=accuracy,
        responsiveness=responsiveness,
        alignment=alignment,
        adapted_share=adapted_share,
        adapted_accuracy=before,
        frozen_accuracy=after,
        served=served,
        start_ns=start,
        finish_ns=finish,
        response_ns=response,
        weights=kappa,
        switch=meter.adapted,
        spent_ms=meter.spent / NS_PER_MS,
        n=trace.n,
        period_ms=None if period is None else period / NS_PER_MS,
        threshold_ms=threshold / NS_PER_MS,
        budget_ms=meter.budget / NS_PER_MS,
        reference_ms=reference / NS_PER_MS,
        reasons=reasons,
    )


class _Meter:
    """Adapts while the budget lasts, then freezes once; says how long each batch takes."""

    def __init__(self, trace: Trace, reference: int, budget: int, cut: str, charge: str) -> None:
        self.latency: list[int] = trace.latency_ns.tolist()
        self.cost: list[int] = costs(trace.latency_ns, reference, charge).tolist()
        self.reference, self.budget, self.within = reference, budget, cut == "within"
        self.adapted, self.spent, self.frozen = 0, 0, False

    def __call__(self, batch: int) -> int:
        after = self.spent + self.cost[batch]
        self.frozen = self.frozen or (after > self.budget if self.within else self.spent >= self.budget)
        if self.frozen:
            return self.reference
        self.adapted, self.spent = self.adapted + 1, after
        return self.latency[batch]
