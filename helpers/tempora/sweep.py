"""Many traces under many settings at once, for tables and rankings: the same numbers as one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

import numpy as np

from .. import arrays
from ..arrays import one_of
from ..errors import InputError, located
from . import pipeline
from .record import Trace
from .rules import WEIGHTS, gains, period_of, refuse_cut_short, served_parts
from .score import amortised, continuous
from .times import NS_PER_MS, parse_ms

RULES = ("discrete", "continuous", "amortised")


@dataclass(frozen=True, repr=False, eq=False)
class Grid:
    """Utilities of t traces at s settings; see `grid`.

    Attributes
    ----------
    rule : str
        discrete, continuous or amortised.
    times_ms : tuple of float, length s
        The periods, thresholds or budgets.
    utility : numpy.ndarray of shape (t, s)
    share : numpy.ndarray of shape (t, s)
        What time left of it: availability, responsiveness or the adapted share.
    kind : str
        ``projected`` or, for continuous, ``exact``.
    """

    rule: str
    times_ms: tuple[float, ...]
    utility: np.ndarray
    share: np.ndarray
    kind: str

    def __repr__(self) -> str:
        """What it holds."""
        return f"Grid({self.rule}, {self.utility.shape[0]} traces x {self.utility.shape[1]} settings, {self.kind})"


def grid(traces: Sequence[Trace], rule: str, times_ms: Sequence[Any], **options: Any) -> Grid:
    """One utility of many offline logs at many periods, thresholds or budgets.

    All pairs of trace and period advance together through the stream, so that a table of the source's size takes a
    fraction of a second. Every number is that of `discrete`, `continuous` or `amortised`, to the last bit.

    Parameters
    ----------
    traces : sequence of Trace
        Offline logs; their lengths may differ.
    rule : {"discrete", "continuous", "amortised"}
        Which utility.
    times_ms : sequence of number
        The periods, thresholds or budgets, in ms.
    **options
        The other keywords of that utility, the same for all traces, except that ``frozen_accuracy`` of "amortised" is
        one entry per trace, or one number for all.

    Returns
    -------
    Grid

    Raises
    ------
    InputError
        No traces, no settings, an unknown rule, or what the utility refuses, with the index of the trace.

    Examples
    --------
    >>> traces = [Trace([1, 2, 3, 4, 5, 6], 10, latency, 0) for latency in (8, 25)]
    >>> table = grid(traces, "discrete", [10, 20])
    >>> table, table.share
    (Grid(discrete, 2 traces x 2 settings, projected), array([[1.        , 1.        ],
           [0.5       , 0.83333333]]))
    """
    one_of(rule, "rule", RULES)
    if not len(traces) or not len(times_ms):
        raise InputError(f"{len(traces)} traces and {len(times_ms)} settings: give at least one of each")
    frozen = options.get("frozen_accuracy")
    if _is_row(frozen) and len(frozen) != len(traces):
        raise InputError(f"frozen_accuracy has {len(frozen)} entries for {len(traces)} traces: give one for each")
    if rule == "discrete":
        utility, share = _discrete(traces, times_ms, **options)
    else:
        cells = [_row(i, trace, rule, times_ms, dict(options)) for i, trace in enumerate(traces)]
        utility, share = np.moveaxis(np.array(cells), -1, 0)
    times = tuple(parse_ms(time, "times_ms") / NS_PER_MS for time in times_ms)
    return Grid(rule, times, utility, share, "exact" if rule == "continuous" else "projected")


def _is_row(frozen: Any) -> TypeGuard[Sequence[Any]]:
    """Whether a frozen accuracy has an entry per trace, and is not one number or function for all."""
    return isinstance(frozen, Sequence) or (isinstance(frozen, np.ndarray) and frozen.ndim > 0)


def _row(i: int, trace: Trace, rule: str, times_ms: Sequence[Any], options: dict[str, Any]) -> list[tuple[Any, Any]]:
    """Utility and share of one trace at every setting."""
    frozen = options.get("frozen_accuracy")
    if _is_row(frozen):
        options["frozen_accuracy"] = frozen[i]
    with located(f"traces[{i}]"):
        if rule == "continuous":
            found = [continuous(trace, threshold_ms=time, **options) for time in times_ms]
            undefined = [result.reasons["utility"] for result in found if result.utility is None]
            if undefined:
                raise InputError(undefined[0])
            return [(result.utility, result.responsiveness) for result in found]
        spent = [amortised(trace, budget_ms=time, **options) for time in times_ms]
        return [(result.utility, result.adapted_share) for result in spent]


def _discrete(
    traces: Sequence[Trace],
    times_ms: Sequence[Any],
    *,
    buffer: int = 1,
    tie: str = "arrival",
    weight: str = "batch",
) -> tuple[np.ndarray, np.ndarray]:
    one_of(weight, "weight", WEIGHTS)
    one_of(tie, "tie", pipeline.TIES)
    arrays.whole_number(buffer, "buffer", least=0)
    longest = max(trace.n for trace in traces)
    periods = np.array([period_of(time, longest) for time in times_ms], dtype=np.int64)
    utility, share = np.empty((2, len(traces), len(periods)))
    for n in {trace.n for trace in traces}:
        rows = [i for i, trace in enumerate(traces) if trace.n == n]
        for i in rows:
            refuse_cut_short(traces[i], f"a projection of traces[{i}]")
        latency = np.stack([traces[i].latency_ns for i in rows])
        gain, mass = np.stack([gains(traces[i], weight) for i in rows], axis=1)[:, :, None, :]
        served = pipeline.serve_many(latency, periods, buffer=buffer, tie=tie)
        utility[rows], share[rows], _ = served_parts(served, gain, mass)
    return utility, share
