"""Figures and the report of active testing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .. import figures
from ..errors import InputError
from ..figures import Figure
from .outcome import Estimates
from .record import Labels
from .score import prepare
from .sequence import ConfidenceSequence
from .simulation import Simulation
from .weighting import gamma, steps


def budget_curve(curve: Estimates, *, name: str = "budget") -> Figure:
    """The estimate after every label, with its interval for that number of labels."""
    count = np.arange(1, len(curve.risk) + 1)
    colour, _, line = figures.SERIES[0]
    fig, axes = figures.subplots()
    axes.plot(count, curve.risk, color=colour, linestyle=line, label="estimate")
    defined = np.isfinite(curve.low)
    axes.fill_between(
        count, curve.low, curve.high, where=defined, color=colour, alpha=0.2, linewidth=0, label="interval of each"
    )
    axes.set(xlabel="labels", ylabel="risk", ylim=_frame(curve))
    axes.legend(loc="best")
    said = f"It ends at {curve.risk[-1]:.4g} after {count[-1]} of {curve.pool_size} labels"
    if defined[-1]:
        said += f", interval {curve.low[-1]:.4g} to {curve.high[-1]:.4g}"
    caption = (
        f"Each interval holds at {curve.confidence:.4g} for a number of labels that was fixed in advance; all of them "
        "together do not."
    )
    alt = f"Estimated risk against the number of labels, with intervals. {said}."
    return figures.show(fig, alt=alt, name=name, caption=caption)


def _frame(curve: Estimates) -> tuple[float, float] | None:
    """A range that the wild first intervals do not blow up: that of the later half, and all estimates of it."""
    half = slice(len(curve.risk) // 2, None)
    ends = np.concatenate([curve.risk[half], curve.low[half], curve.high[half]])
    ends = ends[np.isfinite(ends)]
    span = float(np.ptp(ends))
    return (float(ends.min()) - span, float(ends.max()) + span) if span > 0 else None


def contributions(labels: Labels, settings: Mapping[str, Any], *, name: str = "contributions") -> Figure:
    """The share of each label in the variance, in the order drawn: one that stands out carries the whole interval.

    `settings` are those of `estimate` that concern the proxy.
    """
    run, q = prepare(**labels.arguments(), **settings)
    count = len(q)
    if count < 2:
        raise InputError("labels holds 1 label: shares of a variance need at least two")
    parts = gamma(steps(count), count, run.pool_size) * (run.at(count) - run.estimate_at(count))
    total = float(np.sum(parts**2))
    shares = parts**2 / total if total > 0 else np.zeros(count)
    colour, _, _ = figures.SERIES[1]
    fig, axes = figures.subplots()
    axes.vlines(np.arange(1, count + 1), 0, shares, color=colour, linewidth=1.2)
    axes.set(xlabel="label, in the order drawn", ylabel="share of the variance", ylim=(0, None))
    largest = int(np.argmax(shares))
    said = f"The largest is {shares[largest]:.1%}, of label {largest + 1}"
    alt = f"Share of each of {count} labels in the variance, in the order drawn. {said}."
    return figures.show(fig, alt=alt, name=name)


def errors(simulation: Simulation, methods: Sequence[str], *, name: str = "errors") -> Figure:
    """Median squared error against the number of labels, on logarithmic axes.

    The band is the median plus or minus 1.96 Monte-Carlo standard errors: how well the simulation knows it, not how
    much runs differ.

    Parameters
    ----------
    simulation : Simulation
        With two budgets at least.
    methods : sequence of str
        Up to four of its methods.
    name : str
        Name of the figure.

    Raises
    ------
    InputError
        More methods than can be told apart, a method that is not there, or a single budget.
    """
    curves = _curves(simulation, methods)
    fig, axes = figures.subplots()
    for (method, rows), (colour, marker, line) in zip(curves.items(), figures.SERIES, strict=False):
        budget, median, low, high = _band(rows)
        axes.plot(budget, median, color=colour, marker=marker, linestyle=line, label=method)
        axes.fill_between(budget, low, high, color=colour, alpha=0.2, linewidth=0)
    _budget_axis(axes, curves)
    axes.set(yscale="log", ylabel="median squared error")
    axes.legend(loc="best")
    said = ", ".join(f"{method} {rows[-1]['median_squared_error']:.2g}" for method, rows in curves.items())
    alt = f"Median squared error against the number of labels. At {_last(curves)} labels: {said}."
    caption = f"Medians over {_trials(curves)} runs; bands are what the simulation leaves open, at 95 %."
    return figures.show(fig, alt=alt, name=name, caption=caption)


def coverage(simulation: Simulation, methods: Sequence[str], *, name: str = "coverage") -> Figure:
    """How often intervals held the true risk, against the number of labels, beside what they promised.

    Parameters
    ----------
    simulation, methods, name
        As for `errors`; methods without an interval are refused.

    Raises
    ------
    InputError
        As `errors`, or a method without intervals.
    """
    curves = _curves(simulation, methods)
    fig, axes = figures.subplots()
    for number, ((method, rows), (colour, marker, line)) in enumerate(
        zip(curves.items(), figures.SERIES, strict=False)
    ):
        if any(row["coverage"] is None for row in rows):
            raise InputError(f"methods has {method!r}, which has no interval: leave it out")
        # side by side, so that bars of different methods do not hide each other
        budget = np.array([row["budget"] for row in rows]) * 1.03 ** (number - (len(curves) - 1) / 2)
        rate = np.array([row["coverage"] for row in rows])
        ends = np.array([[row["coverage_low"], row["coverage_high"]] for row in rows]).T
        distance = np.abs(ends - rate)
        axes.errorbar(budget, rate, yerr=distance, color=colour, marker=marker, linestyle=line, capsize=2, label=method)
    axes.axhline(simulation.confidence, color=axes.spines["left"].get_edgecolor(), linewidth=1, label="nominal")
    _budget_axis(axes, curves)
    axes.set(ylabel="coverage")
    axes.legend(loc="best")
    first = curves[methods[0]][0]["budget"]
    said = "; ".join(
        f"{method} {rows[0]['coverage']:.3f} and {rows[-1]['coverage']:.3f}" for method, rows in curves.items()
    )
    alt = (
        f"Coverage against the number of labels, nominal {simulation.confidence:.4g}. "
        f"At {first} and {_last(curves)} labels: {said}."
    )
    caption = f"Share of {_trials(curves)} runs whose interval held the risk; bars are exact 95 % intervals of it."
    return figures.show(fig, alt=alt, name=name, caption=caption)


def looks(curve: Estimates, sequence: ConfidenceSequence, *, risk: float | None = None, name: str = "looks") -> Figure:
    """One run under two kinds of interval after every label: for a fixed number of labels, and for all at once.

    Parameters
    ----------
    curve : Estimates
        The run's estimates with intervals for fixed numbers of labels.
    sequence : ConfidenceSequence
        Of the same run.
    risk : float, optional
        The truth, where it is known.
    name : str
        Name of the figure.

    Raises
    ------
    InputError
        A curve and a sequence of different runs.
    """
    if len(curve.risk) != len(sequence.risk) or not np.allclose(curve.risk, sequence.risk):
        raise InputError("sequence and curve have different estimates: show both of one run")
    count = np.arange(1, len(curve.risk) + 1)
    fig, axes = figures.subplots()
    axes.plot(count, curve.risk, color=figures.BLUE, label="estimate")
    axes.fill_between(
        count, curve.low, curve.high, color=figures.BLUE, alpha=0.2, linewidth=0, label="for a fixed number of labels"
    )
    for end, label in ((sequence.low, "for all numbers at once"), (sequence.high, None)):
        axes.plot(count, end, color=figures.VERMILION, linestyle="--", label=label)
    if risk is not None:
        axes.axhline(risk, color=figures.GREEN, linestyle=":", label="true risk")
    axes.set(xlabel="labels", ylabel="risk", ylim=_frame(curve))
    axes.legend(loc="best")
    said = "not defined"
    if sequence.interval is not None:
        said = "{:.4g} to {:.4g}".format(*sequence.interval)
    alt = (
        f"Estimated risk against the number of labels with two intervals. After {count[-1]} labels the one for a fixed "
        f"number is {curve.low[-1]:.4g} to {curve.high[-1]:.4g}, and the {sequence.kind} one {said}."
    )
    return figures.show(fig, alt=alt, name=name)


Curves = dict[str, list[dict[str, Any]]]


def _curves(simulation: Simulation, methods: Sequence[str]) -> Curves:
    """The rows of each method by budget."""
    if not 0 < len(methods) <= len(figures.SERIES):
        raise InputError(f"methods has {len(methods)} names: show 1 to {len(figures.SERIES)} in one figure")
    found: Curves = {}
    for method in methods:
        simulation.row(method)  # refuses what is not there
        rows = [row for row in simulation.rows if row["method"] == method]
        found[method] = sorted(rows, key=lambda row: row["budget"])
    if len(found[methods[0]]) < 2:
        raise InputError("simulation has one budget: a curve needs two at least")
    return found


def _band(rows: Sequence[Mapping[str, Any]]) -> tuple[np.ndarray, ...]:
    """Budgets, medians, and the medians less and plus 1.96 Monte-Carlo standard errors."""
    names = ("budget", "median_squared_error", "median_squared_error_se")
    budget, median, error = (np.array([row[name] for row in rows], dtype=float) for name in names)
    least = median / 10.0  # a logarithmic axis has no room for 0
    return budget, median, np.maximum(median - 1.96 * error, least), median + 1.96 * error


def _budget_axis(axes: Any, curves: Curves) -> None:
    budgets = [row["budget"] for row in next(iter(curves.values()))]
    axes.set(xscale="log", xlabel="labels")
    axes.set_xticks(budgets, [str(budget) for budget in budgets])
    axes.minorticks_off()


def _last(curves: Curves) -> int:
    return int(next(iter(curves.values()))[-1]["budget"])


def _trials(curves: Curves) -> int:
    return int(next(iter(curves.values()))[0]["trials"])
