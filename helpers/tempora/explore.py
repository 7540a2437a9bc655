"""What a reader moves: a panel computed beforehand, and controls for a live kernel."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np

from .. import explorer
from ..errors import InputError
from ..explorer import Axis, Explorer
from ..figures import Figure
from . import show
from .record import Trace
from .score import discrete
from .sweep import grid
from .times import NS_PER_MS

#: What is short, and how much of it is given, as multiples of the reference latency; budgets are for 781 batches.
SETTINGS: dict[str, tuple[str, dict[str, Any], tuple[float, ...]]] = {
    "discrete: period, one batch waits": ("discrete", {"buffer": 1}, (0.5, 0.71, 1, 1.41, 2, 2.83, 4, 5.66, 8)),
    "discrete: period, none waits": ("discrete", {"buffer": 0}, (0.5, 0.71, 1, 1.41, 2, 2.83, 4, 5.66, 8)),
    "continuous: wait that halves the worth": ("continuous", {}, (1.25, 1.75, 2.5, 3.5, 5, 10, 25)),
    "amortised: budget for 781 batches": ("amortised", {}, (25, 50, 100, 200, 400, 800, 1600)),
}
FASTER = (0.0, 0.125, 0.25, 0.5, 0.75, 1.0)


def panel(traces: Mapping[str, Trace], frozen: Mapping[str, float | None]) -> Explorer:
    """Utility of each method under three kinds of time pressure, while its adaptation gets cheaper.

    The slider scales what a method takes beyond standard inference and leaves its predictions as they are; at 0 it
    costs nothing. Every number is one of `sweep.grid`.

    Parameters
    ----------
    traces : mapping of str to Trace
        Up to four offline logs with a reference latency, by method.
    frozen : mapping of str to float or None
        Accuracy of each once it is frozen; None for one whose adaptation fits into every budget shown.

    Raises
    ------
    InputError
        Traces of different streams or devices, or without a reference latency; a method without a frozen accuracy;
        what `sweep.grid` refuses.
    """
    reference, n = _in_common(traces)
    for name in traces:
        if name not in frozen:
            raise InputError(f"frozen has no {name!r}: give its accuracy once frozen, or None")
    cases = list(itertools.product(FASTER, traces))
    cheaper = [_cheaper(traces[name], share, reference) for share, name in cases]
    rows = []
    for setting, (rule, options, multiples) in SETTINGS.items():
        unit = reference * (n / 781 if rule == "amortised" else 1.0)
        times = [multiple * unit for multiple in multiples]
        left = {"frozen_accuracy": [frozen[name] for _, name in cases]} if rule == "amortised" else {}
        found = grid(cheaper, rule, times, **options, **left).utility
        rows += [
            {"share": share, "setting": setting, "method": name, "time": multiple, "utility": float(utility)}
            for (share, name), line in zip(cases, found, strict=True)
            for multiple, utility in zip(multiples, line, strict=True)
        ]
    return explorer.build(
        rows,
        name="explore",
        x=Axis("time", "time given (multiples of lambda)", log=True),
        y=Axis("utility", "utility (share)"),
        series="method",
        sliders={"share": "cost of adapting (share of its own)"},
        menus={"setting": "what is short"},
        start={"share": 1.0},
        caption=(
            "Utility of the traces above, rescored with cheaper adaptation and the same predictions: 1 is what a "
            "method takes, at 0 adapting costs no time."
        ),
    )


def _in_common(traces: Mapping[str, Trace]) -> tuple[float, int]:
    """Reference latency in ms and number of batches, which all traces must share."""
    found = {name: (trace.reference_ns, trace.n) for name, trace in traces.items()}
    if len(set(found.values())) != 1 or None in next(iter(found.values())):
        said = ", ".join(f"{name} {reference} ns and {n} batches" for name, (reference, n) in found.items())
        raise InputError(f"traces has {said or 'none'}: give logs of one stream on one device, with its reference_ms")
    reference, n = next(iter(found.values()))
    assert reference is not None
    return reference / NS_PER_MS, n


def _cheaper(trace: Trace, share: float, reference: float) -> Trace:
    """The same predictions, with this share of the time that adaptation takes beyond the reference."""
    beyond = np.maximum(trace.intrinsic_ms - reference, 0.0)
    return trace.retime(
        intrinsic_ms=trace.intrinsic_ms - (1.0 - share) * beyond,
        extrinsic_ms=share * trace.extrinsic_ms,
        reference_ms=reference,
    )


def controls(traces: Mapping[str, Trace]) -> Any:
    """Live: the time line of any method at any period, with and without a waiting place."""

    reference, _ = _in_common(traces)

    def draw(method: str, period: float, buffer: int) -> Figure:
        found = discrete(traces[method], period_ms=period * reference, buffer=buffer)
        return show.timeline(traces[method], found, batches=16)

    return explorer.controls(
        draw,
        method=("method", list(traces)),
        period=("period (multiples of lambda)", [0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0]),
        buffer=("batches that can wait", [0, 1, 2, 4]),
    )
