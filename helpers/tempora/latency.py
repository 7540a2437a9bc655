"""Where the time of each method goes, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import InputError
from ..uncertainty import Interval
from .interval import Contributions, Phase, bootstrap
from .percentiles import Percentile, percentile
from .record import Trace
from .times import NS_PER_MS, parse_ms


@dataclass(frozen=True)
class LatencyRow:
    """Where the time of one method goes; see `latency_table`.

    Attributes
    ----------
    method : str
    batches : int
        Batches timed, over all streams.
    latency_ms, intrinsic_ms, extrinsic_ms : float
        Means of the whole latency and of its two parts.
    interval : tuple of float or None
        Of the mean latency, in ms; the reason for None is in `reasons`.
    intrinsic_above_reference_ms, slow_down : float or None
        Mean intrinsic part less the reference latency, and mean latency over the reference latency.
    percentiles : tuple of Percentile
        Of the whole latency.
    """

    method: str
    batches: int
    latency_ms: float
    intrinsic_ms: float
    extrinsic_ms: float
    interval: Interval | None
    intrinsic_above_reference_ms: float | None
    slow_down: float | None
    percentiles: tuple[Percentile, ...]
    reasons: Mapping[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """The fields as valid JSON."""
        own = {name: getattr(self, name) for name in self.__dataclass_fields__}
        own["interval"] = None if self.interval is None else list(self.interval)
        own["percentiles"] = [found.to_dict() for found in self.percentiles]
        own["reasons"] = dict(self.reasons)
        return own


def latency_table(
    traces: Sequence[Trace],
    *,
    reference_ms: Any = None,
    percents: Sequence[float] = (50, 90, 99),
    confidence: float = 0.95,
    seed: int = 0,
) -> list[LatencyRow]:
    """Intrinsic and extrinsic time of each method, its slow-down and percentiles, over all of its streams.

    Parameters
    ----------
    traces : sequence of Trace
        Any number per method; those with the same `method` are pooled, batch by batch.
    reference_ms : number, optional
        Reference latency; by default that of the traces.
    percents : sequence of float
        Percentiles to give, each with a distribution-free interval; 50, 90 and 99 by default.
    confidence : float
        Level of the intervals, 0.95 by default.
    seed : int
        Of the block bootstrap of the mean latency.

    Returns
    -------
    list of LatencyRow
        In the order in which methods first appear. Only batches that the method met are counted. A reference latency
        is meant to be hardly ever exceeded and so lies above the mean: standard inference itself has a slow-down
        below 1.

    Raises
    ------
    InputError
        No traces; traces from different devices or with different reference latencies; percentages or a confidence
        out of range.

    Examples
    --------
    >>> rows = latency_table([Trace([1, 1], 10, 41.1, [56, 57.2], method="ETA")], reference_ms=39.9)
    >>> rows[0].latency_ms, round(rows[0].intrinsic_above_reference_ms, 6), round(rows[0].slow_down, 4)
    (97.7, 1.2, 2.4486)
    >>> rows[0].reasons["interval"]
    '2 timed batches are too few for a bootstrap: 10 are needed'
    """
    if not traces:
        raise InputError("traces is empty: give at least one")
    for i, trace in enumerate(traces):
        if trace.device != traces[0].device:
            raise InputError(f"traces[{i}] was timed on {trace.device!r}, traces[0] on {traces[0].device!r}: give one")
    reference_ns = _common_reference(traces) if reference_ms is None else parse_ms(reference_ms, "reference_ms")
    methods = list(dict.fromkeys(trace.method for trace in traces))
    return [
        _latency_row([t for t in traces if t.method == name], reference_ns, percents, confidence, seed)
        for name in methods
    ]


def _common_reference(traces: Sequence[Trace]) -> int | None:
    """The reference latency that all traces share, or None where none has one."""
    for i, trace in enumerate(traces):
        if trace.reference_ns != traces[0].reference_ns:
            raise InputError(f"traces[{i}] has another reference latency than traces[0]: give reference_ms")
    return traces[0].reference_ns


def _latency_row(
    traces: Sequence[Trace], reference_ns: int | None, percents: Sequence[float], confidence: float, seed: int
) -> LatencyRow:
    rows = [trace.measured for trace in traces]
    n = sum(map(len, rows))
    pairs = list(zip(traces, rows, strict=True))
    intrinsic = np.concatenate([trace.intrinsic_ns[row] for trace, row in pairs])
    latency = np.concatenate([trace.latency_ns[row] for trace, row in pairs])
    mean_ns, intrinsic_ns = float(np.mean(latency)), float(np.mean(intrinsic))
    streams = [Phase("timed", len(row) / n, trace.latency_ms[row]) for trace, row in pairs]
    mean = bootstrap(Contributions(tuple(streams)), confidence=confidence, seed=seed)
    reasons = {} if mean.reason is None else {"interval": mean.reason}
    if not reference_ns:
        text = "the traces have no reference latency" if reference_ns is None else "the reference latency is 0"
        reasons |= dict.fromkeys(("intrinsic_above_reference_ms", "slow_down"), text)
    return LatencyRow(
        method=traces[0].method,
        batches=n,
        latency_ms=mean_ns / NS_PER_MS,
        intrinsic_ms=intrinsic_ns / NS_PER_MS,
        extrinsic_ms=float(np.mean(latency - intrinsic)) / NS_PER_MS,
        interval=mean.interval,
        intrinsic_above_reference_ms=(intrinsic_ns - reference_ns) / NS_PER_MS if reference_ns else None,
        slow_down=mean_ns / reference_ns if reference_ns else None,
        percentiles=tuple(percentile(latency, percent, confidence=confidence) for percent in percents),
        reasons=reasons,
    )
