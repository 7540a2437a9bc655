"""Figures, tables and the report of accuracy matrices."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .. import arrays, figures, lazy
from ..errors import InputError
from ..figures import Figure, Table
from .components import Component, Variance
from .curves import FORMS, average_curve, lca
from .inputs import gapped
from .metrics import MATRIX_IDS, METRICS, look_up
from .pairing import Paired
from .reconciliation import Reconciliation
from .record import AccuracyMatrix
from .safety import FAMILIES as SETS
from .safety import KINDS, SafetyVerdict
from .score import metric, steps, table
from .testtime import adaptation
from .value import Value

#: Above this many tasks numbers no longer fit into cells.
WRITTEN = 12
#: The formulas that go by one name, in the order of the registry.
FAMILIES = {
    "backward transfer": ("bwt.gem", "bwt.gem_script", "bwt.dr", "bwt.clear"),
    "forward transfer": ("fwt.gem", "fwt.gem_script", "clear.next_domain", "fwt.clear"),
    "forgetting": (
        "forgetting.rwalk",
        "forgetting.continuum",
        "forgetting.inclusive",
        "forgetting.raptormai",
        "forgetting.avalanche",
        "forgetting.worst",
    ),
    "average accuracy": (
        "acc.final",
        "aia.task_mean",
        "aia.icarl",
        "wavg.facil",
        "clear.accuracy",
        "learning_accuracy",
    ),
}


def matrix_picture(matrix: AccuracyMatrix, *, name: str = "matrix") -> Figure:
    """The matrix as a picture: a row for each moment, a column for each task, hatching where nothing was observed.

    The frame marks each task just after its training.
    """
    fig, axes = figures.subplots(figsize=(6.4, 5.4))
    low, high = {"percent": (0.0, 100.0), "fraction": (0.0, 1.0)}.get(matrix.scale, _range(matrix.values))
    colours = "cividis" if matrix.direction == "higher" else "cividis_r"
    image = axes.imshow(np.ma.masked_invalid(matrix.values), vmin=low, vmax=high, cmap=colours)
    patch = lazy.require("matplotlib.patches", extra="jupyter").Rectangle
    for k, j in np.argwhere(matrix.missing):
        axes.add_patch(patch((j - 0.5, k - 0.5), 1, 1, fill=False, hatch="////", linewidth=0, edgecolor="#808080"))
    for k in range(matrix.T):
        axes.add_patch(patch((k - 0.5, k - 0.5), 1, 1, fill=False, linewidth=1.8, edgecolor=figures.VERMILION))
    if matrix.T <= WRITTEN:
        for k, j in np.argwhere(~matrix.missing):
            shade = image.cmap(image.norm(matrix.values[k, j]))
            # white on the dark half of the map, near-black on the light half: 0.299, 0.587 and 0.114 weigh the colours
            light = float(np.dot(shade[:3], (0.299, 0.587, 0.114))) > 0.5
            axes.text(
                j, k, _short(matrix.values[k, j]), ha="center", va="center", color="#111111" if light else "white"
            )
    _task_axes(axes, matrix)
    fig.colorbar(image, ax=axes, label=f"{matrix.metric}, {matrix.scale}" if matrix.scale != "free" else matrix.metric)
    said = (
        f"{int(matrix.missing.sum())} of {matrix.T**2} cells are missing"
        if matrix.missing.any()
        else "No cell is missing"
    )
    last = matrix.values[-1]
    ends = ", ".join("missing" if np.isnan(value) else _short(value) for value in last)
    alt = (
        f"{matrix.metric} of {matrix.T} tasks (columns) after training each of them (rows). {said}. "
        f"The last row reads {ends}."
    )
    return figures.show(fig, alt=alt, name=name)


def over_time(matrix: AccuracyMatrix, *, name: str = "over-time") -> Figure:
    """The mean over tasks seen so far, and every task from its own training on.

    Raises
    ------
    InputError
        Fewer than two tasks.
    """
    if matrix.T < 2:
        raise InputError("matrix has 1 task: a course over time needs at least 2")
    moments = np.arange(1, matrix.T + 1)
    fig, axes = figures.subplots()
    for j in range(matrix.T):
        axes.plot(
            moments[j:],
            matrix.values[j:, j],
            color=figures.VERMILION,
            linewidth=0.9,
            alpha=0.7,
            marker=".",
            label="each task since its training" if j == 0 else None,
        )
    means = [value.value for value in steps("acc.final", matrix)]
    course = np.array([np.nan if value is None else value for value in means])
    axes.plot(moments, course, color=figures.BLUE, marker="o", label="mean over tasks seen")
    axes.set(xlabel="tasks learned", ylabel=f"{matrix.metric}, {matrix.scale}")
    axes.set_xticks(moments[:: max(1, matrix.T // 10)])
    axes.legend(loc="best")
    ends = ["undefined" if value is None else _short(value) for value in (means[0], means[-1])]
    alt = (
        f"{matrix.metric} over {matrix.T} tasks. The mean over tasks seen goes from {ends[0]} after the first to "
        f"{ends[1]} after the last."
    )
    return figures.show(fig, alt=alt, name=name)


def definitions(matrix: AccuracyMatrix, family: str, *, baseline: str | None = None, name: str = "") -> Figure:
    """One matrix under every formula that goes by one name.

    Parameters
    ----------
    matrix : AccuracyMatrix
        The scores.
    family : str
        "backward transfer", "forward transfer", "forgetting" or "average accuracy".
    baseline : str, optional
        As for `metric`.
    name : str
        Name of the figure; by default that of the family.

    Raises
    ------
    InputError
        An unknown family, or a matrix for which none of its formulas is defined.
    """
    arrays.one_of(family, "family", FAMILIES)
    values = table(matrix, ids=FAMILIES[family], baseline=baseline)
    shown = {id: value.value for id, value in values.items() if value.value is not None}
    if not shown:
        raise InputError(f"none of {', '.join(FAMILIES[family])} is defined: {next(iter(values.values())).reason}")
    fig, axes = figures.subplots(figsize=(6.4, 0.8 + 0.5 * len(shown)))
    height = np.arange(len(shown))[::-1]
    axes.barh(height, list(shown.values()), height=0.55, color=figures.BLUE)
    for place, value in zip(height, shown.values(), strict=True):
        axes.annotate(
            f"{value:.2f}",
            (value, place),
            xytext=(4 if value >= 0 else -4, 0),
            textcoords="offset points",
            va="center",
            ha="left" if value >= 0 else "right",
        )
    axes.axvline(0, color=axes.spines["left"].get_edgecolor(), linewidth=0.8)
    axes.margins(x=0.16)
    axes.set_axisbelow(True)
    axes.set_yticks(height, list(shown))
    axes.set(xlabel=matrix.scale if matrix.scale != "free" else matrix.metric)
    said = "; ".join(f"{id} {value:.2f}" for id, value in shown.items())
    alt = f"One matrix under the formulas called {family}: {said}."
    caption = f"Formulas that are called {family}."
    return figures.show(fig, alt=alt, name=name or family.replace(" ", "-"), caption=caption)


def every_definition(matrix: AccuracyMatrix, *, baseline: str | None = None) -> list[Figure]:
    """`definitions` of each family of which some formula is defined."""
    return [
        definitions(matrix, family, baseline=baseline)
        for family, ids in FAMILIES.items()
        if any(value.value is not None for value in table(matrix, ids=ids, baseline=baseline).values())
    ]


def learning_curve(curves: Any, *, beta: int = 10, name: str = "learning-curve") -> Figure:
    """How fast tasks are learned: each curve, their mean, and both areas under it.

    Parameters
    ----------
    curves : array of shape (T, B), or sequence of T curves
        As for `lca`.
    beta : int
        Last minibatch.

    Raises
    ------
    InputError
        As `lca`.
    """
    mean = average_curve(curves, beta=beta)
    areas = [lca(curves, beta=beta, form=form) for form in FORMS]
    fig, axes = figures.subplots()
    for k, curve in enumerate(curves):
        points = gapped(curve, f"curves[{k}]", ndim=1)[: beta + 1]
        label = "each task" if k == 0 else None
        axes.plot(np.arange(len(points)), points, color=figures.VERMILION, linewidth=0.9, alpha=0.7, label=label)
    axes.plot(np.arange(beta + 1), mean, color=figures.BLUE, marker="o", label="mean over tasks, Z")
    axes.fill_between(np.arange(beta + 1), mean, color=figures.BLUE, alpha=0.12)
    axes.set(xlabel="minibatches of the new task", ylabel="score on it", ylim=(0, None))
    axes.set_xticks(np.arange(0, beta + 1, max(1, beta // 10)))
    axes.legend(loc="best")
    ends = ["undefined" if np.isnan(value) else _short(float(value)) for value in mean[[0, -1]]]
    said = "; ".join(
        f"{area.id} undefined: {area.reason}" if area.value is None else f"{area.id} {area.value:.4f}" for area in areas
    )
    alt = f"Mean score of {len(curves)} tasks over the first {beta} minibatches, from {ends[0]} to {ends[1]}: {said}."
    return figures.show(fig, alt=alt, name=name, caption=f"The shaded area, in two forms: {said}.")


def differences(found: Paired, *, name: str = "differences") -> Figure:
    """Two methods compared run by run: every difference, their mean, and its interval."""
    fig, axes = figures.subplots(figsize=(6.4, 1.4 + 0.35 * found.n))
    height = np.arange(found.n)[::-1]
    axes.plot(found.differences, height, "o", color=figures.BLUE, label="one pair")
    interval = found.interval
    if interval is not None:
        axes.axvspan(*interval, color=figures.VERMILION, alpha=0.15, linewidth=0)
    axes.axvline(found.mean, color=figures.VERMILION, linestyle="--", label="mean, and its interval")
    axes.axvline(0, color=axes.spines["left"].get_edgecolor(), linewidth=0.8)
    axes.set_yticks(height, [_key(key) for key in found.keys])
    axes.set(xlabel="first method less second", ylabel=found.unit, ylim=(-0.7, found.n - 0.3))
    axes.legend(loc="upper left", bbox_to_anchor=(0, -0.3 if found.n < 4 else -0.18), ncols=2)
    low, high = min(found.differences), max(found.differences)
    between = "no interval" if interval is None else f"interval {interval[0]:.2f} to {interval[1]:.2f}"
    alt = (
        f"{found.n} paired differences from {low:.2f} to {high:.2f}; mean {found.mean:.2f}, {between}; sign-flip "
        f"p {found.sign_flip.p_value:.3g}."
    )
    return figures.show(fig, alt=alt, name=name)


def components(found: Variance, *, name: str = "components") -> Figure:
    """Where the spread of results comes from: each component as a standard deviation, and its standard error.

    Raises
    ------
    InputError
        No component that has a value.
    """
    shown = {key: part for key, part in found.components.items() if part.value is not None}
    if not shown:
        raise InputError(f"found has no component with a value: {next(iter(found.components.values())).reason}")
    fig, axes = figures.subplots(figsize=(6.4, 0.8 + 0.5 * len(shown)))
    height = np.arange(len(shown))[::-1]
    spreads = [math.sqrt(part.value or 0.0) for part in shown.values()]
    axes.barh(height, spreads, height=0.55, color=figures.BLUE)
    ends = [_ends(part) for part in shown.values()]
    ink = axes.spines["left"].get_edgecolor()
    for place, (low, high) in zip(height, ends, strict=True):
        axes.plot([low, high], [place, place], color=ink, marker="|")
    for place, spread, (_, high) in zip(height, spreads, ends, strict=True):
        axes.annotate(f"{spread:.2f}", (high, place), xytext=(6, 0), textcoords="offset points", va="center")
    axes.margins(x=0.16)
    axes.set_yticks(height, list(shown))
    axes.set(xlabel="standard deviation, in the unit of the results", xlim=(0, None))
    said = "; ".join(f"{key} {spread:.2f}" for key, spread in zip(shown, spreads, strict=True))
    alt = f"Standard deviation of results by where it comes from: {said}."
    caption = "Line: one standard error of the variance to either side, where the design gives one."
    return figures.show(fig, alt=alt, name=name, caption=caption)


def adaptations(
    streams: Mapping[str, Any], *, shifts: Sequence[int], target: float, window: int = 1, name: str = "adaptations"
) -> Figure:
    """Accuracy of each batch of one stream for several methods, its shifts, and where each reaches the target.

    Parameters
    ----------
    streams : mapping of str to array of shape (n,)
        Accuracy of each batch by method, at most four of the same stream.
    shifts, target, window
        As for `adaptation`; one target.

    Raises
    ------
    InputError
        No method, more than four, streams of unlike length, or what `adaptation` refuses.
    """
    if not 1 <= len(streams) <= len(figures.SERIES):
        raise InputError(f"streams has {len(streams)} methods: give 1 to {len(figures.SERIES)}")
    values = {method: gapped(online, f"streams[{method!r}]", ndim=1) for method, online in streams.items()}
    if len({len(online) for online in values.values()}) > 1:
        lengths = ", ".join(f"{method} {len(online)}" for method, online in values.items())
        raise InputError(f"streams have unlike lengths ({lengths} batches): give methods on the same stream")
    fig, axes = figures.subplots()
    ink = axes.spines["left"].get_edgecolor()
    said = []
    for (method, online), (colour, marker, line) in zip(values.items(), figures.SERIES, strict=False):
        found = adaptation(online, shifts=shifts, target=target, window=window)
        axes.plot(np.arange(len(online)), online, color=colour, linestyle=line, label=method)
        first = [start + delay for start, delay in zip(shifts, found.delays, strict=True) if delay is not None]
        means = [float(online[at : at + window].mean()) for at in first]
        middles = [at + (window - 1) / 2 for at in first]
        axes.plot(middles, means, linestyle="", marker=marker, markersize=8, color=colour)
        delays = ", ".join("never" if delay is None else str(delay) for delay in found.delays)
        said.append(f"{method} {delays}")
    for start in shifts:
        axes.axvline(start, color=ink, linewidth=0.8, alpha=0.5)
    axes.axhline(target, color=ink, linestyle="--", linewidth=1)
    axes.set(xlabel="batch", ylabel="accuracy of the batch", ylim=(0, None))
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.18), ncols=len(values))
    alt = (
        f"Accuracy over {len(next(iter(values.values())))} batches with {len(shifts)} shifts. "
        f"Batches to {target:g} after each: {'; '.join(said)}."
    )
    what = "batch that reaches it" if window == 1 else f"{window} batches whose mean reaches it"
    caption = f"Upright lines: shifts. Dashed: the target. Markers: the first {what}."
    return figures.show(fig, alt=alt, name=name, caption=caption)


def gates(verdicts: Mapping[str, SafetyVerdict], *, name: str = "gates") -> Figure:
    """Safety gates of several rounds: point rate, upper bound, and the limit that the bound must keep to.

    Parameters
    ----------
    verdicts : mapping of str to SafetyVerdict
        By name of the round, all with the same families.

    Raises
    ------
    InputError
        No rounds, or rounds with different families.
    """
    families = [tuple(gate.family for gate in verdict.gates) for verdict in verdicts.values()]
    if not families or len(set(families)) > 1:
        raise InputError(f"verdicts has the families {families}: give rounds with the same ones, at least one round")
    fig, axes = figures.subplots(1, 2, figsize=(6.4, 1.6 + 0.5 * len(verdicts)), sharey=True)
    height = np.arange(len(verdicts))[::-1]
    for side, kind in zip(axes, KINDS, strict=True):
        chosen = [i for i, family in enumerate(families[0]) if SETS[family] == kind]
        for place, i in enumerate(chosen):
            found = [verdict.gates[i] for verdict in verdicts.values()]
            colour, marker, _ = figures.SERIES[place]
            level = height + 0.22 * (len(chosen) - 1) / 2 - 0.22 * place
            for gate, y in zip(found, level, strict=True):
                if gate.rate is not None and gate.upper is not None:
                    side.plot([100 * gate.rate, 100 * gate.upper], [y, y], color=colour)
                    side.plot(100 * gate.rate, y, marker=".", color=colour)
            points = [(100 * gate.upper, y) for gate, y in zip(found, level, strict=True) if gate.upper is not None]
            if points:
                label = families[0][i].replace("_", " ")
                side.plot(*zip(*points, strict=True), linestyle="", marker=marker, color=colour, label=label)
        limits = sorted({verdict.gates[i].limit for verdict in verdicts.values() for i in chosen})
        for limit in limits:
            side.axvline(100 * limit, color=side.spines["left"].get_edgecolor(), linestyle="--", linewidth=1)
        side.set(xlabel=f"{kind} (%)", xlim=(0, None), ylim=(-0.6, len(verdicts) - 0.4))
        side.set_yticks(height, list(verdicts))
        if side.get_legend_handles_labels()[1]:
            side.legend(loc="upper center", bbox_to_anchor=(0.5, -0.3))
    said = "; ".join(
        f"{label} {'passes' if verdict.passed else 'is blocked by ' + ', '.join(verdict.blocked_by)}"
        for label, verdict in verdicts.items()
    ).replace("_", " ")
    alt = f"Upper bounds of {len(families[0])} safety sets against their limits in {len(verdicts)} rounds: {said}."
    caption = "Dot: the rate seen. Marker: its upper bound. Dashed: the limit, which the bound must not exceed."
    return figures.show(fig, alt=alt, name=name, caption=caption)


def metrics_table(matrix: AccuracyMatrix, *, ids: Sequence[str] = MATRIX_IDS, baseline: str | None = None) -> Table:
    """Every metric with its value or reason, its formula and its source."""
    rows = []
    for id in ids:
        value, entry = metric(id, matrix, baseline=baseline), look_up(id)
        shown = f"undefined: {value.reason}" if value.value is None else value.value
        rows.append([id, shown, entry.formula, entry.source])
    caption = f"Metrics of {matrix.name or 'the matrix'}, scale {matrix.scale}."
    return Table(["metric", "value", "formula", "source"], rows, caption, digits=2)


def report(
    matrix: AccuracyMatrix,
    *,
    title: str,
    baseline: str | None = None,
    observed_only: bool = False,
    reconciled: Reconciliation | None = None,
) -> str:
    """A self-contained HTML page: all metrics or why they are undefined, warnings, figures."""
    values = table(matrix, baseline=baseline, observed_only=observed_only)
    lines = [(f"{id}: {METRICS[id].formula}", text_of(value)) for id, value in values.items()]
    if reconciled is not None:
        lines.insert(0, (f"Published {reconciled.published:g}", in_words(reconciled)))
    drawn = [matrix_picture(matrix)]
    if matrix.T > 1:
        drawn.append(over_time(matrix))
    drawn += every_definition(matrix, baseline=baseline)
    return figures.page(title, lines, drawn, words=_words(matrix, values), warnings=matrix.warnings)


def text_of(value: Value) -> str:
    """A value with its unit, or its reason; a baseline where one was subtracted."""
    if value.value is None:
        return f"undefined: {value.reason}"
    against = f", against {value.baseline}" if value.baseline else ""
    observed = f", {value.coverage[0]} of {value.coverage[1]} cells" if value.observed_only else ""
    return f"{value.value:.4f} {value.unit}{against}{observed}"


def in_words(reconciled: Reconciliation) -> str:
    """What yields a published number."""
    if reconciled.found:
        return "; ".join(
            f"{match.id} {match.variant}" + (f", baseline {match.baseline}" if match.baseline else "")
            for match in reconciled.found
        )
    near = ", ".join(f"{match.id} {match.value:.4f}" for match in reconciled.nearest)
    return f"no formula yields it; nearest are {near or 'none'}"


def _words(matrix: AccuracyMatrix, values: Any) -> str:
    final, lost, gained = (values[id] for id in ("acc.final", "forgetting.rwalk", "bwt.gem"))
    parts = [f"{matrix.T} tasks"]
    if final.value is not None:
        parts.append(f"the mean over them at the end is {final.value:.4g} {final.unit}")
    if lost.value is not None:
        parts.append(f"the old ones lie {lost.value:.4g} below their best moment on average")
    if gained.value is not None:
        parts.append(f"and changed by {gained.value:+.4g} since each was trained")
    return ", ".join(parts) + ". One name stands for several formulas: quote the id with the number."


def _task_axes(axes: Any, matrix: AccuracyMatrix) -> None:
    every = max(1, -(-matrix.T // 20))
    places = list(range(0, matrix.T, every))
    names = [matrix.tasks[place] for place in places]
    long = max(map(len, names)) > 4
    axes.set_xticks(places, names, rotation=90 if long else 0)
    axes.set_yticks(places, names)
    axes.set(xlabel="evaluated on task", ylabel="after training task")
    axes.grid(False)


def _range(values: np.ndarray) -> tuple[float, float]:
    there = values[~np.isnan(values)]
    return (float(there.min()), float(there.max())) if there.size else (0.0, 1.0)


def _short(value: float) -> str:
    return f"{value:.3g}"


def _ends(part: Component) -> tuple[float, float]:
    """One standard error of the variance to either side, as standard deviations; nothing where there is none."""
    value, error = part.value or 0.0, part.std_error or 0.0
    return math.sqrt(max(value - error, 0.0)), math.sqrt(value + error)


def _key(key: Any) -> str:
    return f"seed {key[0]}, order {key[1]}" if isinstance(key, tuple) else str(key)
