"""Show: figures and reports of what a method delivers in time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from .. import arrays, figures
from ..errors import InputError
from ..figures import Figure
from .analysis import rankings
from .record import Trace
from .score import Amortised, Continuous, Discrete
from .sweep import Grid

Score = Discrete | Continuous | Amortised
#: The parts that each kind of score is made of, as they are called in figures.
PARTS = {
    Discrete: ("availability", "served_accuracy", "utility"),
    Continuous: ("accuracy", "responsiveness", "alignment", "utility"),
    Amortised: ("adapted_share", "adapted_accuracy", "frozen_accuracy", "utility"),
}
AXIS = {
    "discrete": "period between two batches (ms)",
    "continuous": "threshold, a wait that halves the worth (ms)",
    "amortised": "budget for all adaptation (ms)",
}


def timeline(trace: Trace, result: Discrete, *, batches: int = 24) -> Figure:
    """The first batches on a time axis: which arrive, which are served and which lost, and what the pipeline does.

    Parameters
    ----------
    trace : Trace
        The trace that was scored.
    result : Discrete
        Its score.
    batches : int
        How many arrivals to show, 24 by default: more cannot be told apart.

    Raises
    ------
    InputError
        A result of another trace; fewer than one batch.
    """
    if result.n != trace.n:
        raise InputError(f"result is of {result.n} batches, trace has {trace.n}: show the trace that was scored")
    shown = min(arrays.whole_number(batches, "batches", least=1), trace.n)
    arrival = trace.arrival_ms if result.period_ms is None else np.arange(trace.n) * result.period_ms
    assert arrival is not None
    served = result.served[result.served < shown]
    lost = np.setdiff1d(np.arange(shown), served)
    start, intrinsic, extrinsic = (
        values[: len(served)]
        for values in (result.start_ms, trace.intrinsic_ms[result.served], trace.extrinsic_ms[result.served])
    )
    fig, axes = figures.subplots(figsize=(7.2, 2.6))
    axes.plot(arrival[served], np.ones(len(served)), "o", color=figures.GREEN, label="arrives, is served")
    axes.plot(arrival[lost], np.ones(len(lost)), "x", color=figures.VERMILION, label="arrives, is lost")
    for i, time in zip(served, start, strict=True):
        axes.plot([arrival[i], time], [1, 0.4], color=figures.GREEN, linewidth=0.7)
    axes.broken_barh(
        list(zip(start, intrinsic, strict=True)), (0, 0.4), color=figures.BLUE, label="until the prediction is out"
    )
    axes.broken_barh(
        list(zip(start + intrinsic, extrinsic, strict=True)),
        (0, 0.4),
        facecolor="none",
        edgecolor=figures.PURPLE,
        hatch="////",
        label="goes on adapting",
    )
    axes.set(xlabel="time (ms)", ylim=(-0.1, 1.2), yticks=[0.2, 1], yticklabels=["pipeline", "stream"])
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.25), ncols=2)
    alt = (
        f"Time line of the first {shown} batches: {len(served)} are served and {len(lost)} lost. The pipeline works "
        f"on a batch for {np.mean(intrinsic + extrinsic):.1f} ms on average, "
        f"{np.mean(extrinsic):.1f} ms of them after its prediction is out."
    )
    return figures.show(fig, alt=alt, name="timeline")


def pressure(table: Grid, names: Sequence[str], *, offline: Sequence[float] | None = None) -> Figure:
    """Utility of each trace against the time it is given, on a log axis: pressure falls from left to right.

    Parameters
    ----------
    table : Grid
        From `grid`, with a trace per name.
    names : sequence of str
        What the traces are called, such as their methods.
    offline : sequence of float, optional
        Accuracy of each without any constraint of time, drawn as a mark at the right end.

    Raises
    ------
    InputError
        Another number of names, or of offline accuracies, than traces.
    """
    for given, what in ((names, "names"), (offline, "offline")):
        if given is not None and len(given) != len(table.utility):
            raise InputError(f"{what} has {len(given)} entries for {len(table.utility)} traces: give one for each")
    order = np.argsort(table.times_ms)
    times = np.array(table.times_ms)[order]
    fig, axes = figures.subplots()
    for series, name in enumerate(names):
        colour, marker, line = figures.SERIES[series % len(figures.SERIES)]
        axes.plot(times, table.utility[series, order], color=colour, marker=marker, linestyle=line, label=name)
        if offline is not None:
            label = "without hurry (offline)" if series == 0 else None
            axes.plot([times[-1] * 1.3], [offline[series]], marker, color=colour, markerfacecolor="none", label=label)
    axes.set(xscale="log" if times[0] > 0 else "symlog", xlabel=AXIS[table.rule])
    axes.set(ylabel=f"{table.rule} utility", ylim=(0, None))
    axes.set_xticks(times[::2], [f"{time:.5g}" for time in times[::2]], rotation=30)
    axes.set_xticks([], minor=True)
    axes.legend(loc="best")
    ends = "; ".join(
        f"{name} {table.utility[i, order[0]]:.3f} to {table.utility[i, order[-1]]:.3f}" for i, name in enumerate(names)
    )
    alt = f"{table.rule} utility from {times[0]:.4g} to {times[-1]:.4g} ms, {table.kind}: {ends}."
    return figures.show(fig, alt=alt[0].upper() + alt[1:], name=f"pressure-{table.rule}")


def decomposition(results: Mapping[str, Score]) -> Figure:
    """What each utility is made of, as bars side by side; scores of one kind, by name.

    Raises
    ------
    InputError
        No results, or results of different kinds.
    """
    kinds = {type(result) for result in results.values()}
    if len(kinds) != 1 or not kinds <= set(PARTS):
        raise InputError(f"results holds {sorted(kind.__name__ for kind in kinds)}: give scores of one kind")
    kind = kinds.pop()
    parts = PARTS[kind]
    fig, axes = figures.subplots(figsize=(max(6.4, 1.4 + 1.1 * len(results)), 3.0))
    width = 0.8 / len(parts)
    for series, part in enumerate(parts):
        colour = figures.SERIES[series][0]
        values = [getattr(result, part) for result in results.values()]
        places = np.arange(len(results)) + (series - (len(parts) - 1) / 2) * width
        defined = [i for i, value in enumerate(values) if value is not None]
        # what shows as 0.00 stands on the axis: a label under it would hide behind the axis
        heights = [0.0 if abs(values[i]) < 0.005 else values[i] for i in defined]
        hatch = ("", "//", "..", "xx")[series]
        bars = axes.bar(places[defined], heights, width * 0.9, color=colour, hatch=hatch, label=part.replace("_", " "))
        axes.bar_label(bars, fmt="%.2f", fontsize=8, padding=2)
    axes.set(xticks=range(len(results)), xticklabels=list(results), ylabel="share", ylim=(None, 1.12))
    axes.axhline(0, linewidth=0.8, color=figures.BLUE)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=2)
    said = "; ".join(f"{name}: {_parts_in_words(result, parts)}" for name, result in results.items())
    name = kind.__name__.lower()
    return figures.show(fig, alt=f"Bars of the parts of {name} utility. {said}.", name=f"parts-{name}")


def _parts_in_words(result: Score, parts: Sequence[str]) -> str:
    values = ((part.replace("_", " "), getattr(result, part)) for part in parts)
    return ", ".join(f"{part} {'undefined' if value is None else format(value, '.3f')}" for part, value in values)


def winner_map(utilities: np.ndarray, methods: Sequence[str], scenarios: Sequence[str]) -> Figure:
    """Who is best in which scenario: a cell for each method and scenario, its utility in it, the best one framed.

    Parameters
    ----------
    utilities : numpy.ndarray of shape (methods, scenarios)
        Utilities, 0 to 1; shown in percent. The fuller the colour, the nearer to the best of the scenario.
    methods, scenarios : sequence of str
        What rows and columns are called.

    Raises
    ------
    InputError
        Other numbers of names than rows and columns; what `analysis.rankings` refuses.
    """
    found, values = rankings(utilities, methods), np.asarray(utilities)
    if values.shape[1:] != (len(scenarios),):
        raise InputError(f"utilities has shape {values.shape}, scenarios {len(scenarios)} names: give one a column")
    best = values.max(axis=0)
    share = np.divide(values, best, out=np.ones_like(values), where=best > 0)
    fig, axes = figures.subplots(figsize=(1.2 + 0.5 * len(scenarios), 1.3 + 0.38 * len(methods)))
    # the page shines through: its own text colour reads on every cell, in light and in dark
    colour = np.array([int(figures.BLUE[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    axes.imshow(np.dstack([np.broadcast_to(colour, (*share.shape, 3)), 0.4 * share]), aspect="auto")
    for row, column in np.ndindex(values.shape):
        won = found.best[row, column]
        text = f"{100 * values[row, column]:.1f}"
        axes.text(column, row, text, ha="center", va="center", weight="bold" if won else None)
        if won:
            place = (column - 0.46, row - 0.44)
            frame = type(axes.patch)(place, 0.92, 0.88, fill=False, edgecolor=figures.VERMILION, linewidth=2)
            axes.add_patch(frame)
    axes.set_xticks(range(len(scenarios)), list(scenarios), rotation=60, ha="right", rotation_mode="anchor")
    axes.set(yticks=range(len(methods)), yticklabels=list(methods))
    axes.grid(visible=False)
    said = "; ".join(f"{name}: {winner}" for name, winner in zip(scenarios, found.winners, strict=True))
    return figures.show(
        fig,
        alt=f"Utility in percent by method and scenario. The best in {said}.",
        name="winners",
        caption="Utility in percent. Framed: the best of the scenario; the fuller the colour, the nearer to it.",
    )
