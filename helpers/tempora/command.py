"""``yardsticks score tempora``: the utilities of one trace when batches, users or a budget do not wait."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .. import figures
from ..errors import InputError
from ..records import provenance, refuse_overwriting, write_json, write_text
from . import rules
from .interval import Estimate, bootstrap, contributions
from .pipeline import TIES
from .readers import FORMATS, read
from .record import Trace
from .score import Amortised, Continuous, Discrete, amortised, continuous, discrete
from .sweep import grid
from .times import NS_PER_MS

SUMMARY = "what a test-time adaptation method delivers when time is limited"
OWN = "trace"
#: Settings that a report draws around the one that was asked for, as factors.
AROUND = [2.0 ** (k / 2) for k in range(-4, 5)]


@dataclass(frozen=True)
class Scored:
    """One utility with its interval, or the reason why there is none."""

    rule: str
    result: Discrete | Continuous | Amortised
    estimate: Estimate | None

    @property
    def reason(self) -> str | None:
        """Why there is no interval."""
        return "ddof=1 is no mean over batches" if self.estimate is None else self.estimate.reason

    def text(self) -> str:
        """The utility with its interval, and how it splits."""
        if self.estimate is None or self.estimate.interval is None:
            return f"{self.result!r}, no interval: {self.reason}"
        return "{!r}, interval {:.4f} to {:.4f}".format(self.result, *self.estimate.interval)

    def to_dict(self) -> dict[str, Any]:
        """The fields as valid JSON."""
        interval = None if self.estimate is None or self.estimate.interval is None else list(self.estimate.interval)
        return {**self.result.to_dict(), "interval": interval, "interval_reason": self.reason}


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("trace", type=Path, help="log of one method on one stream: .csv, .jsonl, .npz or .json")
    parser.add_argument("--format", choices=sorted(FORMATS.values()), help="what the file is, if its ending is another")
    parser.add_argument("--corruption", help="which stream of a result file that holds several")
    parser.add_argument(
        "--period", metavar="MS", help=f"discrete utility: a batch every MS; {OWN!r}: when its batches arrived"
    )
    parser.add_argument("--threshold", metavar="MS", help="continuous utility: half the worth at this waiting time")
    parser.add_argument("--budget", metavar="MS", help="amortised utility: adaptation in all")
    parser.add_argument("--reference", metavar="MS", help="latency of standard inference, if not in the trace")
    parser.add_argument("--frozen-accuracy", type=float, metavar="A", help="what the method scores once frozen, 0 to 1")
    parser.add_argument("--buffer", type=int, default=1, help="batches that can wait (default 1)")
    parser.add_argument("--tie", choices=TIES, default="arrival", help="who goes first at the same instant")
    parser.add_argument("--cut", choices=rules.CUTS, default="within", help="is the batch that exceeds the budget paid")
    parser.add_argument("--charge", choices=rules.CHARGES, default="excess", help="what a batch costs")
    parser.add_argument("--ddof", type=int, choices=(0, 1), default=0, help="1 repeats the source's covariance")
    parser.add_argument("--weight", choices=rules.WEIGHTS, default="batch", help="what counts alike")
    parser.add_argument("--live", action="store_true", help="refuse to project from an offline log")
    parser.add_argument("--confidence", type=float, default=0.95, help="level of the intervals (default 0.95)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the bootstrap")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the result as JSON")
    parser.add_argument("--html", type=Path, metavar="FILE", help="write a self-contained report")


def run(arguments: argparse.Namespace) -> int:
    """Score, print, and write what was asked for."""
    refuse_overwriting(vars(arguments), inputs=["trace"])
    if arguments.period is arguments.threshold is arguments.budget is None:
        raise InputError("nothing to score: give --period, --threshold or --budget, or several of them")
    trace = read(arguments.trace, arguments.format, corruption=arguments.corruption)
    scores = _scores(trace, arguments)
    verdict = trace.validity(reference_ms=arguments.reference)
    print(trace)
    for score in scores:
        print(score.text())
    print(f"latencies {verdict!r}")
    page = None if arguments.html is None else _report(trace, scores, repr(verdict), arguments)
    if arguments.json is not None:
        content = {
            "trace": _about(trace),
            **{score.rule: score.to_dict() for score in scores},
            "confidence": arguments.confidence,
            "validity": verdict.to_dict(),
            "provenance": {"file": str(arguments.trace), **provenance(seed=arguments.seed)},
        }
        write_json(arguments.json, content)
    if page is not None:
        write_text(arguments.html, page)
    return 0


def _scores(trace: Trace, arguments: argparse.Namespace) -> list[Scored]:
    require = "live" if arguments.live else "projected"
    shared = {"weight": arguments.weight}
    found: list[tuple[str, Discrete | Continuous | Amortised]] = []
    if arguments.period is not None:
        period = None if arguments.period == OWN else arguments.period
        result = discrete(
            trace, period_ms=period, buffer=arguments.buffer, tie=arguments.tie, require=require, **shared
        )
        found.append(("discrete", result))
    if arguments.threshold is not None:
        times = {"threshold_ms": arguments.threshold, "reference_ms": arguments.reference}
        found.append(("continuous", continuous(trace, ddof=arguments.ddof, **times, **shared)))
    if arguments.budget is not None:
        spent = amortised(
            trace, budget_ms=arguments.budget, require=require, cut=arguments.cut, **_frozen(arguments), **shared
        )
        found.append(("amortised", spent))
    return [Scored(rule, result, _interval(trace, result, arguments)) for rule, result in found]


def _frozen(arguments: argparse.Namespace) -> dict[str, Any]:
    """What amortised utility takes beside its budget and cut."""
    return {
        "reference_ms": arguments.reference,
        "frozen_accuracy": arguments.frozen_accuracy,
        "charge": arguments.charge,
    }


def _interval(
    trace: Trace, result: Discrete | Continuous | Amortised, arguments: argparse.Namespace
) -> Estimate | None:
    if isinstance(result, Continuous) and result.ddof == 1:
        return None
    parts = contributions(trace, result, frozen_accuracy=arguments.frozen_accuracy)
    return bootstrap(parts, confidence=arguments.confidence, seed=arguments.seed)


def _about(trace: Trace) -> dict[str, Any]:
    """What a trace says of itself, as valid JSON."""
    names = ("n", "corruption", "method", "device", "policy", "live")
    reference = None if trace.reference_ns is None else trace.reference_ns / NS_PER_MS
    return {**{name: getattr(trace, name) for name in names}, "reference_ms": reference}


def _report(trace: Trace, scores: list[Scored], verdict: str, arguments: argparse.Namespace) -> str:
    from . import show  # drawing is only needed here

    name = trace.method or arguments.trace.stem
    drawn = []
    for score in scores:
        if isinstance(score.result, Discrete):
            drawn.append(show.timeline(trace, score.result))
        drawn.append(show.decomposition({name: score.result}))
        table = _around(trace, score, arguments)
        if table is not None:
            drawn.append(show.pressure(table, [name], offline=[float(np.mean(trace.accuracy))]))
    lines = [("Trace", repr(trace)), *((score.rule, score.text()) for score in scores)]
    lines += [("Latencies", verdict), ("Level of all intervals", f"{arguments.confidence:.4g}")]
    return figures.page(f"Utility in time: {arguments.trace.name}", lines, drawn)


def _around(trace: Trace, score: Scored, arguments: argparse.Namespace) -> Any:
    """The same utility at tighter and looser settings; None where nothing can be projected."""
    result, shared = score.result, {"weight": arguments.weight}
    if isinstance(result, Continuous):
        room = result.threshold_ms - result.reference_ms
        times = [result.reference_ms + factor * room for factor in AROUND]
        return grid([trace], "continuous", times, reference_ms=arguments.reference, ddof=arguments.ddof, **shared)
    if trace.live is not None:
        return None
    if isinstance(result, Discrete):
        if result.period_ms is None:
            return None
        times = [factor * result.period_ms for factor in AROUND]
        return grid([trace], "discrete", times, buffer=arguments.buffer, tie=arguments.tie, **shared)
    if arguments.frozen_accuracy is None:
        return None
    times = [factor * result.budget_ms for factor in AROUND] if result.budget_ms else [0.0]
    return grid([trace], "amortised", times, cut=arguments.cut, **_frozen(arguments), **shared)
