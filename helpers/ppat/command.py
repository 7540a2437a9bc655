"""``yardsticks score ppat``: the risk of a model from a file of labelled points."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from .. import figures
from ..errors import InputError
from ..records import provenance, refuse_overwriting, write_json, write_text
from . import inputs
from .outcome import Estimate
from .record import Labels, read, read_columns
from .saved import LabelsSaved, labels_saved, pool_variance
from .score import estimate, estimates

SUMMARY = "risk of a model over a pool, from labels drawn with known probabilities and a cheap proxy"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "labels", type=Path, help="labelled points in the order drawn: .csv with loss,q[,proxy_loss][,index], or .npz"
    )
    parser.add_argument("--pool-size", type=int, metavar="N", help="points in the pool; a record (.npz) knows it")
    parser.add_argument("--proxy-mean", type=float, metavar="X", help="mean proxy loss over the whole pool")
    parser.add_argument(
        "--pool-proxy",
        type=Path,
        metavar="FILE",
        help="proxy losses of the whole pool: .csv with the header proxy_loss",
    )
    parser.add_argument(
        "--control", default="1", help=f"strength of the proxy: a number (default 1), {', '.join(inputs.CONTROLS)}"
    )
    parser.add_argument("--refresh", type=int, default=100, help="labels between renewals of a predictable control")
    parser.add_argument("--initial-control", type=float, default=1.0, help="a predictable control begins with it")
    parser.add_argument("--intercept", action="store_true", help="subtract the proxy loss itself: steadier weights")
    parser.add_argument("--confidence", type=float, default=0.9, help="level of the interval (default 0.9)")
    parser.add_argument("--variance", choices=inputs.VARIANCES, default="plugin", help="how the width is found")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the result as JSON")
    parser.add_argument("--html", type=Path, metavar="FILE", help="write a self-contained report")


def run(arguments: argparse.Namespace) -> int:
    """Score, print, and write what was asked for."""
    refuse_overwriting(vars(arguments), inputs=("labels", "pool_proxy"))
    labels = _labels(arguments)
    proxy, interval = _proxy_settings(arguments), {"confidence": arguments.confidence, "variance": arguments.variance}
    result = estimate(**labels.arguments(), **proxy, **interval)
    plain = None
    if labels.proxy_loss is not None:
        plain = estimate(labels.loss, labels.q, pool_size=labels.pool_size, **interval)
    saved = _saved(labels, result)
    lines = _lines(result, plain, saved)
    for name, text in lines:
        print(f"{name}: {text}")
    for warning in result.diagnostics.warnings if result.diagnostics else ():
        print(f"warning: {warning}", file=sys.stderr)
    page = None
    if arguments.html is not None:
        from . import show  # drawing is only needed here

        drawn = [show.budget_curve(estimates(**labels.arguments(), **proxy, **interval))]
        if result.labels > 1:
            drawn.append(show.contributions(labels, proxy))
        warnings = [] if result.diagnostics is None else result.diagnostics.warnings
        page = figures.page(f"Risk from labels: {arguments.labels.name}", lines, drawn, warnings=warnings)
    if arguments.json is not None:
        content = {
            **result.to_dict(),
            "without_proxy": None if plain is None else plain.to_dict(),
            "labels_saved": saved.to_dict(),
            "provenance": _provenance(labels, arguments),
        }
        write_json(arguments.json, content)
    if page is not None:
        write_text(arguments.html, page)
    return 0


def _labels(arguments: argparse.Namespace) -> Labels:
    pool = None
    if arguments.pool_proxy is not None:
        pool = read_columns(arguments.pool_proxy, needed=("proxy_loss",))["proxy_loss"]
    return read(arguments.labels, pool_size=arguments.pool_size, proxy_mean=arguments.proxy_mean, pool_proxy_loss=pool)


def _proxy_settings(arguments: argparse.Namespace) -> dict[str, Any]:
    return {
        "control": _control(arguments.control),
        "refresh": arguments.refresh,
        "initial_control": arguments.initial_control,
        "intercept": arguments.intercept,
    }


def _control(text: str) -> float | str:
    if text in inputs.CONTROLS:
        return text
    try:
        return float(text)
    except ValueError as error:
        choices = ", ".join(inputs.CONTROLS)
        raise InputError(f"--control is {text!r}: give a number, or one of {choices}") from error


def _saved(labels: Labels, result: Estimate) -> LabelsSaved:
    """Against uniform draws without a proxy."""
    if result.std_error is None:
        return LabelsSaved(None, None, None, 1, result.reason)
    spread = pool_variance(labels.loss, labels.q, pool_size=labels.pool_size)
    if not isinstance(spread.value, float):
        return LabelsSaved(None, None, None, 1, spread.reason)
    return labels_saved(result.std_error, spread.value, labels=result.labels, pool_size=result.pool_size)


def _lines(result: Estimate, plain: Estimate | None, saved: LabelsSaved) -> list[tuple[str, str]]:
    """The numbers, as label and text."""
    lines = [("risk", _with_interval(result)), ("method", result.method)]
    if result.control is not None:
        lines.append(("control", f"{result.control:.6g}"))
    lines.append(("labels", f"{result.labels} of {result.pool_size}"))
    if plain is not None:
        lines.append(("without the proxy", _with_interval(plain)))
    worth = (
        f"undefined: {saved.reason}"
        if saved.equivalent is None
        else f"about {saved.equivalent:.0f}, from this run alone"
    )
    lines.append(("uniform labels, no proxy, of the same width", worth))
    if result.diagnostics is not None:
        found = result.diagnostics
        share = "undefined, all terms are equal" if found.dominance is None else f"{found.dominance**2:.1%}"
        lines += [
            ("effective sample size", f"{found.effective_sample_size:.1f}"),
            ("largest weight", f"{found.largest_weight:.4g}"),
            ("largest share of one label in the variance", share),
        ]
    return lines


def _with_interval(result: Estimate) -> str:
    if result.interval is None:
        return f"{result.risk:.6g}, no interval: {result.reason}"
    low, high = result.interval
    return f"{result.risk:.6g}, {result.confidence} interval {low:.6g} to {high:.6g}"


def _provenance(labels: Labels, arguments: argparse.Namespace) -> dict[str, Any]:
    """This computation, and where the labels come from if their record says."""
    files = {"labels": str(arguments.labels)}
    if arguments.pool_proxy is not None:
        files["pool_proxy"] = str(arguments.pool_proxy)
    return {"files": files, "variance": arguments.variance, "measured": dict(labels.provenance), **provenance()}
