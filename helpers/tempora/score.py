r"""The three utilities of TEMPORA: what a method delivers when batches, users or a budget do not wait.

With :math:`a_i` the accuracy of batch i of N, each utility is an accuracy after time has taken its share, and splits
exactly into parts that say what was lost where:

.. math:: U_\text{discrete} = \alpha \, \bar a_\text{served}, \qquad
   U_\text{continuous} = \bar a \, \bar\kappa + \mathrm{Cov}(a, \kappa), \qquad
   U_\text{amortised} = \beta \, \bar a_\text{adapted} + (1 - \beta) \, \bar a_\text{frozen}.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import arrays
from ..arrays import one_of
from ..errors import InputError
from . import pipeline
from .record import Trace
from .rules import (
    CHARGES,
    CUTS,
    WEIGHTS,
    Frozen,
    arrivals_of,
    costs,
    discount,
    frozen_values,
    gains,
    joint_parts,
    kind_of,
    percentiles,
    reference_of,
    refuse_cut_short,
    responses,
    served_parts,
    split_at_switch,
    threshold_of,
)
from .times import NS_PER_MS, parse_ms


@dataclass(frozen=True, repr=False, eq=False)
class Discrete:
    """Discrete utility; see `discrete`.

    Attributes
    ----------
    utility : float
        availability x served_accuracy, in [0, 1].
    availability : float
        Share of the stream that was served, in (0, 1]: a ceiling on the utility.
    served_accuracy : float
        Mean accuracy of the served batches.
    served : numpy.ndarray of int, shape (m,)
        Their indices, increasing.
    start_ns, finish_ns : numpy.ndarray of int64, shape (m,)
        When each was picked up and when the pipeline was free again; also in ms, as `start_ms` and `finish_ms`.
    response_ns : numpy.ndarray of int64, shape (m,)
        From the arrival of each served batch to its prediction; also in ms, as `response_ms`. It costs nothing here.
    kind : str
        ``live``: the method met exactly these batches. ``projected``: rescored from a log in which it met all of them.
    n : int
        Batches in the stream.
    period_ms : float or None
        None where the stream has arrivals of its own.
    buffer, tie, weight
        As they were given.
    """

    utility: float
    availability: float
    served_accuracy: float
    served: np.ndarray
    start_ns: np.ndarray
    finish_ns: np.ndarray
    response_ns: np.ndarray
    kind: str
    n: int
    period_ms: float | None
    buffer: int
    tie: str
    weight: str

    @property
    def start_ms(self) -> np.ndarray:
        """When each served batch was picked up."""
        return self.start_ns / NS_PER_MS

    @property
    def finish_ms(self) -> np.ndarray:
        """When the pipeline was free again after each served batch."""
        return self.finish_ns / NS_PER_MS

    @property
    def response_ms(self) -> np.ndarray:
        """From the arrival of each served batch to its prediction."""
        return self.response_ns / NS_PER_MS

    def __repr__(self) -> str:
        """The decomposition on one line."""
        return (
            f"Discrete(utility={self.utility:.4f} = availability {self.availability:.4f} x served accuracy "
            f"{self.served_accuracy:.4f}, {len(self.served)} of {self.n} batches served, {self.kind})"
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything but the arrays, as valid JSON."""
        names = "utility availability served_accuracy kind period_ms buffer tie weight"
        return {
            **{name: getattr(self, name) for name in names.split()},
            "batches_served": len(self.served),
            "batches": self.n,
            "response_ms": percentiles(self.response_ms),
        }


@dataclass(frozen=True, repr=False, eq=False)
class Continuous:
    """Continuous utility; see `continuous`.

    Attributes
    ----------
    utility : float or None
        accuracy x responsiveness + alignment; with population covariance in [0, accuracy].
    accuracy : float
        Mean accuracy of all batches.
    responsiveness : float
        Mean discount, in (0, 1].
    alignment : float or None
        Covariance of accuracy and discount: below 0 where the good predictions are the late ones.
    weights : numpy.ndarray of shape (n,)
        The discount of each batch, in (0, 1].
    wait_ns : numpy.ndarray of int64, shape (n,)
        How long the user waits for each prediction; also in ms, as `wait_ms`.
    n : int
        Batches in the stream.
    threshold_ms, reference_ms, ddof, weight
        As they were given, the reference by the trace where it was not.
    kind : str
        Always ``exact``: the user waits for the method, so a log of all batches is what happens.
    reasons : mapping
        For each attribute that is None: why.
    """

    utility: float | None
    accuracy: float
    responsiveness: float
    alignment: float | None
    weights: np.ndarray
    wait_ns: np.ndarray
    n: int
    threshold_ms: float
    reference_ms: float
    ddof: int
    weight: str
    reasons: Mapping[str, str] = field(default_factory=dict)
    kind: str = "exact"

    @property
    def wait_ms(self) -> np.ndarray:
        """How long the user waits for each prediction."""
        return self.wait_ns / NS_PER_MS

    def __repr__(self) -> str:
        """The decomposition on one line."""
        if self.utility is None:
            return f"Continuous(utility undefined: {self.reasons['utility']})"
        return (
            f"Continuous(utility={self.utility:.4f} = accuracy {self.accuracy:.4f} x responsiveness "
            f"{self.responsiveness:.4f} {self.alignment:+.4f} alignment, {self.n} batches, {self.kind})"
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything but the arrays, as valid JSON."""
        names = "utility accuracy responsiveness alignment kind threshold_ms reference_ms ddof weight"
        return {
            **{name: getattr(self, name) for name in names.split()},
            "batches": self.n,
            "wait_ms": percentiles(self.wait_ms),
            "reasons": dict(self.reasons),
        }


@dataclass(frozen=True, repr=False, eq=False)
class Amortised:
    """Amortised utility; see `amortised`.

    Attributes
    ----------
    utility : float
        adapted_share x adapted_accuracy + (1 - adapted_share) x frozen_accuracy, in [0, 1].
    adapted_share : float
        Share of the stream on which the method adapted.
    adapted_accuracy, frozen_accuracy : float or None
        Mean accuracy before and after the switch; None where there is no such batch.
    switch : int
        Batches adapted to: the first frozen one has this index.
    spent_ms : float
        What those batches cost; above the budget only with ``cut="overshoot"``.
    kind : str
        ``live``: the method was frozen while it ran. ``projected``: what it would score frozen was given.
    n : int
        Batches in the stream.
    budget_ms, reference_ms, cut, charge, weight
        As they were given, the reference by the trace where it was not; None where no reference was needed.
    reasons : mapping
        For each attribute that is None: why.
    """

    utility: float
    adapted_share: float
    adapted_accuracy: float | None
    frozen_accuracy: float | None
    switch: int
    spent_ms: float
    kind: str
    n: int
    budget_ms: float
    reference_ms: float | None
    cut: str
    charge: str
    weight: str
    reasons: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        """The decomposition on one line."""
        adapted, frozen = (
            "undefined" if part is None else f"{part:.4f}" for part in (self.adapted_accuracy, self.frozen_accuracy)
        )
        return (
            f"Amortised(utility={self.utility:.4f} = {self.adapted_share:.4f} x adapted {adapted} + "
            f"{1 - self.adapted_share:.4f} x frozen {frozen}, switch after {self.switch} of {self.n}, {self.kind})"
        )

    def to_dict(self) -> dict[str, Any]:
        """The fields as valid JSON."""
        names = (
            "utility adapted_share adapted_accuracy frozen_accuracy switch spent_ms kind budget_ms reference_ms cut "
            "charge weight"
        )
        return {
            **{name: getattr(self, name) for name in names.split()},
            "batches": self.n,
            "reasons": dict(self.reasons),
        }


def discrete(
    trace: Trace,
    *,
    period_ms: Any = None,
    buffer: int = 1,
    tie: str = "arrival",
    weight: str = "batch",
    require: str = "projected",
) -> Discrete:
    r"""Discrete utility: a sensor delivers batches at a fixed rate, and those that find the pipeline busy are lost.

    .. math:: U = \alpha \, \bar a_\text{served}, \qquad \alpha = |Q| / N,

    with Q the batches served. One batch may wait in the buffer, where a newer one replaces it; the first and, with a
    buffer, the last batch of the stream are always served. A served batch is never too late.

    Parameters
    ----------
    trace : Trace
        An offline log, rescored; or a live run under this very protocol, scored by the batches that it served.
    period_ms : number, optional
        :math:`\gamma`: batch i arrives at :math:`i\gamma`. Rounded once to whole nanoseconds, see `parse_ms`. By
        default the trace's own arrivals, or the period of a live run.
    buffer : int
        Batches that can wait: 1 as in the source; 0 none; more: first in, first out, the oldest is given up.
    tie : {"arrival", "buffer"}
        When a batch arrives in the very nanosecond at which the pipeline becomes free: it is there already, so the
        freshest wins (the published formula, default), or the waiting batch goes first (the source's code). Of no
        account without a buffer.
    weight : {"batch", "sample"}
        Whether batches count alike (default, as in the formula) or by their size. They differ only where sizes do.
    require : {"projected", "live"}
        "live" refuses an offline log: there the method has seen the skipped batches too, so its predictions on the
        others are not quite those it would make. The projection is exact for methods without state.

    Returns
    -------
    Discrete

    Raises
    ------
    InputError
        A period of 0 or less, neither period nor arrivals, a negative buffer, an unknown switch; a live run under
        another protocol or with other settings; an offline log where a live run is required.

    References
    ----------
    TEMPORA (2026), arXiv:2602.06136, discrete utility.

    Examples
    --------
    Batches take 25 ms and come every 10 ms. When batch 0 is done, at 25 ms, batch 2 waits; at 50 ms, batch 5 arrives:

    >>> trace = Trace([1, 2, 3, 4, 5, 6], 10, 25, 0)
    >>> result = discrete(trace, period_ms=10)
    >>> result
    Discrete(utility=0.1667 = availability 0.5000 x served accuracy 0.3333, 3 of 6 batches served, projected)
    >>> result.served, result.start_ms
    (array([0, 2, 5]), array([ 0., 25., 50.]))
    """
    one_of(weight, "weight", WEIGHTS)
    one_of(tie, "tie", pipeline.TIES)
    arrays.whole_number(buffer, "buffer", least=0)
    kind = kind_of(trace, "discrete", require, period_ms=period_ms, buffer=buffer, tie=tie)
    arrival, period = arrivals_of(trace, period_ms)
    if kind == "live":
        served = trace.measured
        start, finish = pipeline.work_through(served.tolist(), trace.latency_ns.tolist(), arrival)
    else:
        served, start, finish = pipeline.serve(trace.latency_ns.tolist().__getitem__, arrival, buffer=buffer, tie=tie)
    is_served = np.zeros(trace.n, dtype=bool)
    is_served[served] = True
    utility, availability, accuracy = served_parts(is_served, *gains(trace, weight))
    return Discrete(
        utility=float(utility),
        availability=float(availability),
        served_accuracy=float(accuracy),
        served=served,
        start_ns=start,
        finish_ns=finish,
        response_ns=responses(start, arrival, served, trace.intrinsic_ns[served]),
        kind=kind,
        n=trace.n,
        period_ms=None if period is None else period / NS_PER_MS,
        buffer=buffer,
        tie=tie,
        weight=weight,
    )


def continuous(
    trace: Trace, *, threshold_ms: Any, reference_ms: Any = None, ddof: int = 0, weight: str = "batch"
) -> Continuous:
    r"""Continuous utility: a user sends the next batch when the last prediction is out, and values late ones less.

    .. math:: U = \frac1N \sum_i a_i \kappa_i = \bar a \, \bar\kappa + \mathrm{Cov}(a, \kappa), \qquad
       \kappa_i = \Bigl(1 + \frac{\max(0, w_i - \lambda)}{T - \lambda}\Bigr)^{-1}, \qquad w_i = \ell_{i-1} + e_i,

    where :math:`w_i` is how long the user waits: the work that the method still does on the batch before
    (:math:`\ell_0 = 0`; the last batch's is not waited for), then the prediction. At :math:`w_i = T` the discount is
    one half. A prediction faster than :math:`\lambda` makes up for work on the batch before it.

    Parameters
    ----------
    trace : Trace
        A log in which the method met every batch.
    threshold_ms : number
        T, above the reference.
    reference_ms : number, optional
        :math:`\lambda`, latency of standard inference: so much is not held against the method. By default the trace's.
    ddof : {0, 1}
        0: the population covariance, with which the parts add up to the mean of :math:`a_i\kappa_i` (default). 1: as
        the source's code, N - 1 in the denominator; utility is then accuracy x responsiveness + alignment, which
        exceeds that mean in size by Cov / (N - 1) and does not exist for one batch.
    weight : {"batch", "sample"}
        Whether batches count alike or by their size.

    Returns
    -------
    Continuous

    Raises
    ------
    InputError
        A threshold that is not above the reference, no reference, an unknown switch, ``ddof=1`` with samples as
        weights; a live run that skipped batches or froze the method.

    References
    ----------
    TEMPORA (2026), arXiv:2602.06136, continuous utility.

    Examples
    --------
    >>> trace = Trace([2, 4, 6], 10, 40, 60)
    >>> result = continuous(trace, threshold_ms=100, reference_ms=40)
    >>> result
    Continuous(utility=0.2333 = accuracy 0.4000 x responsiveness 0.6667 -0.0333 alignment, 3 batches, exact)
    >>> result.wait_ms, result.weights
    (array([ 40., 100., 100.]), array([1. , 0.5, 0.5]))
    """
    one_of(weight, "weight", WEIGHTS)
    if ddof not in (0, 1) or isinstance(ddof, bool):
        raise InputError(f"ddof is {ddof!r}: choose 0 (the parts add up) or 1 (the source's code)")
    if ddof == 1 and weight == "sample":
        raise InputError("ddof=1 repeats the source's code, in which batches count alike: use it with weight='batch'")
    refuse_cut_short(trace, "continuous utility")
    reference = reference_of(trace, reference_ms)
    threshold = threshold_of(threshold_ms, reference)
    wait = trace.intrinsic_ns + np.concatenate([[0], trace.extrinsic_ns[:-1]])
    kappa = discount(wait, reference, threshold)
    gain, mass = gains(trace, weight)
    utility: float | None = float(np.sum(gain * kappa) / np.sum(mass))
    accuracy, responsiveness, covariance = joint_parts(gain, mass, kappa)
    alignment: float | None = covariance
    reasons: dict[str, str] = {}
    if ddof == 1:  # the parts no longer add up to the mean of a_i kappa_i, and the source takes their sum
        alignment = covariance * trace.n / (trace.n - 1) if trace.n > 1 else None
        utility = None if alignment is None else accuracy * responsiveness + alignment
        if alignment is None:
            reasons = dict.fromkeys(("alignment", "utility"), "one batch has no covariance with ddof=1")
    return Continuous(
        utility=utility,
        accuracy=accuracy,
        responsiveness=responsiveness,
        alignment=alignment,
        weights=kappa,
        wait_ns=wait,
        n=trace.n,
        threshold_ms=threshold / NS_PER_MS,
        reference_ms=reference / NS_PER_MS,
        ddof=ddof,
        weight=weight,
        reasons=reasons,
    )


def amortised(
    trace: Trace,
    *,
    budget_ms: Any,
    reference_ms: Any = None,
    frozen_accuracy: Frozen | None = None,
    cut: str = "within",
    charge: str = "excess",
    weight: str = "batch",
    require: str = "projected",
) -> Amortised:
    r"""Amortised utility: a device can spend so much time on adaptation in all, after that the method is frozen.

    .. math:: U = \beta \, \bar a_\text{adapted} + (1 - \beta) \, \bar a_\text{frozen}, \qquad \beta = m / N, \qquad
       m = \max\{j : \textstyle\sum_{i \le j} c_i \le B\}, \qquad c_i = \max(0, \delta_i - \lambda).

    A part without batches is undefined and has weight 0. Because :math:`c_i` stops at 0, a batch that happens to be
    fast earns nothing back: jitter of the latency alone makes the sum grow.

    Parameters
    ----------
    trace : Trace
        An offline log, rescored; or a live run under this very protocol, whose later batches were served frozen.
    budget_ms : number
        B, at least 0.
    reference_ms : number, optional
        :math:`\lambda`, latency of standard inference, which is not charged. By default the trace's; not needed with
        ``charge="total"``.
    frozen_accuracy : float, array of shape (n,), or function
        What the method scores once frozen: one number, one per batch (those from the switch on are used), or a
        function of the switch m that returns a number or the n - m values. Not needed for a live run, nor where the
        budget lasts.
    cut : {"within", "overshoot"}
        Whether the batch that would exceed the budget is frozen already (the published formula, default) or still
        adapted to (the source's code, which looks at the meter before each batch; the published numbers follow it).
    charge : {"excess", "total"}
        What a batch costs: its latency beyond the reference (default), or all of it.
    weight : {"batch", "sample"}
        Whether batches count alike or by their size.
    require : {"projected", "live"}
        "live" refuses an offline log.

    Returns
    -------
    Amortised

    Raises
    ------
    InputError
        A negative budget, no reference, an unknown switch; frozen accuracies that are missing, not in [0, 1] or of
        another number; a live run under another protocol or with other settings; an offline log where a live run is
        required.

    References
    ----------
    TEMPORA (2026), arXiv:2602.06136, amortised utility.

    Examples
    --------
    Each batch costs 10 ms, and 25 ms are there to spend:

    >>> trace = Trace([3, 4, 5, 6], 10, 40, 10)
    >>> amortised(trace, budget_ms=25, reference_ms=40, frozen_accuracy=0.1)
    Amortised(utility=0.2250 = 0.5000 x adapted 0.3500 + 0.5000 x frozen 0.1000, switch after 2 of 4, projected)
    >>> amortised(trace, budget_ms=25, reference_ms=40, frozen_accuracy=0.1, cut="overshoot").utility
    0.325
    """
    one_of(weight, "weight", WEIGHTS)
    one_of(cut, "cut", CUTS)
    one_of(charge, "charge", CHARGES)
    reference = None if charge == "total" and reference_ms is None else reference_of(trace, reference_ms)
    kind = kind_of(trace, "amortised", require, budget_ms=budget_ms, cut=cut, charge=charge)
    budget = parse_ms(budget_ms, "budget_ms")
    cost = costs(trace.latency_ns, reference, charge)
    switch = _switch(cost, budget, cut)
    if kind == "live":
        if reference_ms is not None and trace.reference_ns not in (None, reference):
            raise InputError(f"reference_ms is {reference_ms!r}, this live run had another: leave it out")
        if frozen_accuracy is not None:
            raise InputError("frozen_accuracy is given for a live run, which has its own frozen batches: leave it out")
        switch, later_accuracy = _live_switch(trace, switch), trace.accuracy
    else:
        later_accuracy = frozen_values(frozen_accuracy, switch, trace.n)
    gain, mass = gains(trace, weight)
    frozen = np.arange(trace.n) >= switch
    share, before, after, reasons = split_at_switch(np.where(frozen, later_accuracy * mass, gain), mass, frozen)
    return Amortised(
        utility=share * (before or 0.0) + (1.0 - share) * (after or 0.0),  # a part without batches has weight 0
        adapted_share=share,
        adapted_accuracy=before,
        frozen_accuracy=after,
        switch=switch,
        spent_ms=int(np.sum(cost[:switch])) / NS_PER_MS,
        kind=kind,
        n=trace.n,
        budget_ms=budget / NS_PER_MS,
        reference_ms=None if reference is None else reference / NS_PER_MS,
        cut=cut,
        charge=charge,
        weight=weight,
        reasons=reasons,
    )


def _switch(cost: np.ndarray, budget: int, cut: str) -> int:
    """How many batches the budget pays for."""
    spent = np.cumsum(cost)
    if cut == "within":
        return int(np.searchsorted(spent, budget, side="right"))
    return int(np.searchsorted(spent - cost, budget, side="left"))


def _live_switch(trace: Trace, replayed: int) -> int:
    """Where a live run was frozen: as it says, or else as its meter must have read, looked at before each batch."""
    assert trace.live is not None
    if "switch" in trace.live:
        return min(arrays.whole_number(trace.live["switch"], "live['switch']", least=0), trace.n)
    if trace.live.get("cut") != "overshoot":
        raise InputError("live has no entry 'switch': after a freeze the latencies no longer tell where it came")
    return replayed
