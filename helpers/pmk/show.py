"""Figures and the report of PM-k."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .. import figures
from ..errors import InputError, brief
from ..figures import Figure
from ..uncertainty import Rate
from .effective import Line, Point
from .offsets import OffsetErrors
from .record import FrameSets, aligned, check_sets
from .score import Score
from .smoothing import SmoothingEffect


def errors_by_offset(score: Score, *, name: str = "offsets") -> Figure:
    """How often the frame at each offset is wrong where its anchor is right, with intervals.

    Raises
    ------
    InputError
        A score of sets without offsets.
    """
    offsets = [offset for offset, rate in score.by_offset.items() if rate.rate is not None]
    if not offsets:
        raise InputError("score has no errors by offset: its sets have no offsets, or no anchor is right")
    rates = [score.by_offset[offset] for offset in offsets]
    fig, axes = figures.subplots()
    _with_bars(axes, offsets, rates, series=1, label="", joined=False)
    axes.set(xlabel="frames after the anchor", ylabel="wrong frames of right anchors (share)")
    _from_zero(axes)
    worst = max(zip(offsets, rates, strict=True), key=lambda pair: pair[1].rate or 0.0)
    said = f"The largest is {worst[1].rate:.1%} at {worst[0]:+d} ({worst[1].count} of {worst[1].n})"
    alt = f"Share of frames that are wrong at each of {len(offsets)} offsets from anchors that are right. {said}."
    return figures.show(fig, alt=alt, name=name)


def accuracy_by_k(scores: Sequence[Score], *, name: str = "k") -> Figure:
    """Accuracy on anchors and on the worst frame within k frames, against k.

    Raises
    ------
    InputError
        Fewer than two scores, or scores to which k was not applied.
    """
    ks = [score.k for score in scores]
    if len(set(ks)) < 2 or None in ks:
        raise InputError(f"scores are of k = {ks}: a curve needs two at least, of sets with offsets")
    ordered = sorted(scores, key=lambda score: score.k or 0)
    fig, axes = figures.subplots()
    place = np.array([score.k for score in ordered], dtype=np.float64)
    aside = 0.006 * np.ptp(place)  # or one bar would hide the other
    _with_bars(axes, place - aside, [score.original for score in ordered], series=0, label="anchors")
    _with_bars(axes, place + aside, [score.perturbed for score in ordered], series=1, label="worst frame within k")
    if len(place) <= 12:
        axes.set_xticks(place)
    axes.set(xlabel="k, frames on either side", ylabel="accuracy")
    axes.legend(loc="best")
    first, last = ordered[0], ordered[-1]
    alt = (
        f"Accuracy against k. On anchors it is {first.original.rate:.3f}; on the worst frame it goes from "
        f"{first.perturbed.rate:.3f} at k = {first.k} to {last.perturbed.rate:.3f} at k = {last.k}."
    )
    return figures.show(fig, alt=alt, name=name)


def frame_set(frames: FrameSets, predictions: Any, anchor: str, *, name: str = "set") -> Figure:
    """One set on a time axis: which frames are predicted right, which wrong.

    Parameters
    ----------
    frames, predictions
        As for `score`; sets with offsets.
    anchor : str
        The anchor of the set to be drawn.
    name : str
        Name of the figure.

    Raises
    ------
    InputError
        No `FrameSets`, an anchor that is none, no offsets, or what `aligned` refuses.
    """
    check_sets(frames)
    if anchor not in frames.anchors:
        raise InputError(f"anchor is {brief(anchor)}: the sets have no such anchor")
    if frames.offset is None:
        raise InputError("frames has no offsets: there is no axis of time to draw a set on")
    i = frames.anchors.index(anchor)
    near = slice(frames.start[i], frames.start[i + 1])
    right_anchors, right_members = frames.correct(aligned(predictions, frames))
    offset = np.append(frames.offset[near], 0)
    right = np.append(right_members[near], right_anchors[i])
    fig, axes = figures.subplots(figsize=(6.4, 1.8))
    for which, height, (colour, marker, _) in ((right, 1, figures.SERIES[0]), (~right, 0, figures.SERIES[1])):
        axes.plot(offset[which], np.full(which.sum(), height), color=colour, marker=marker, linestyle="none")
    axes.axvline(0, color=axes.spines["left"].get_edgecolor(), linewidth=0.8)
    axes.set(xlabel="frames after the anchor", yticks=[0, 1], yticklabels=["wrong", "right"], ylim=(-0.5, 1.5))
    axes.xaxis.get_major_locator().set_params(integer=True)
    wrong = sorted(offset[~right].tolist())
    said = ", ".join(f"{d:+d}" if d else "the anchor" for d in wrong) or "none"
    alt = f"Frames of one set at their distance from the anchor, {len(offset)} with it. Wrong are: {said}."
    return figures.show(fig, alt=alt, name=name)


def both_errors(errors: OffsetErrors, *, name: str = "offsets") -> Figure:
    """Errors at each offset of one model, where the anchor is right and over all anchors, with intervals.

    Raises
    ------
    InputError
        Errors of several models, which have no intervals.
    """
    if errors.rates is None or errors.rates_after_right is None:
        raise InputError("errors is of several models: draw one")
    fig, axes = figures.subplots()
    drawn = []
    for series, (label, rates, shift) in enumerate(
        (("all anchors", errors.rates, -0.12), ("anchors that are right", errors.rates_after_right, 0.12))
    ):
        kept = [
            (d + shift, rate) for d, rate in zip(errors.offset.tolist(), rates, strict=True) if rate.rate is not None
        ]
        if kept:
            _with_bars(axes, *zip(*kept, strict=True), series=series, label=label, joined=False)
            drawn.append(f"{label}: {kept[0][1].rate:.1%} at the first offset and {kept[-1][1].rate:.1%} at the last")
    axes.set(xlabel="frames after the anchor", ylabel="share of frames that are wrong")
    _from_zero(axes, room=1.15)  # for the legend, which would hide bars
    axes.legend(loc="upper center", ncols=2)
    alt = f"Share of wrong frames at offsets {errors.offset[0]:+d} to {errors.offset[-1]:+d}. {'; '.join(drawn)}."
    return figures.show(fig, alt=alt, name=name)


def smoothing(effects: Sequence[SmoothingEffect], *, name: str = "smoothing") -> Figure:
    """Accuracy on the worst frame against the window, centred and causal, beside the anchors' own without smoothing.

    Raises
    ------
    InputError
        No row without smoothing (window 1), or none with; rows of several models.
    """
    scores = {(row.window, row.mode): row.score for row in effects if isinstance(row.score, Score)}
    if len(scores) < len(effects):
        raise InputError("effects is of several models: draw one")
    plain = next((score for (window, _), score in scores.items() if window == 1), None)
    modes = dict.fromkeys(mode for window, mode in scores if window > 1)
    if plain is None or not modes:
        raise InputError("effects needs window 1 and a larger one: smoothing shows beside the model as it is")
    fig, axes = figures.subplots()
    said = []
    for series, mode in enumerate(modes):
        worst = {1: plain.perturbed} | {w: score.perturbed for (w, m), score in scores.items() if w > 1 and m == mode}
        _with_bars(axes, list(worst), list(worst.values()), series=series, label=mode)
        last, rate = worst.popitem()
        said.append(f"{mode} {rate.rate:.3f} with {last}")
    original = plain.original.rate
    axes.axhline(
        original, color=axes.spines["left"].get_edgecolor(), linewidth=1, linestyle=":", label="anchors, no smoothing"
    )
    axes.set(xlabel="frames in the window", ylabel="accuracy on the worst frame")
    axes.legend(loc="best")
    alt = (
        f"Accuracy on the worst frame against the window: {plain.perturbed.rate:.3f} without smoothing, "
        f"{', '.join(said)}. On anchors, without smoothing, it is {original:.3f}."
    )
    return figures.show(fig, alt=alt, name=name)


def scatter(series: Mapping[str, Sequence[Point]], line: Line | None = None, *, name: str = "models") -> Figure:
    """Models by original and perturbed accuracy with both intervals, beside no drop at all and a fitted line.

    Parameters
    ----------
    series : mapping of str to sequence of Point
        Up to four kinds of models, each with at least one, of `Testbed.points`.
    line : Line, optional
        Drawn over the range of the models.
    name : str
        Name of the figure.

    Raises
    ------
    InputError
        More kinds than can be told apart, or a kind without a model.
    """
    if not 1 <= len(series) <= len(figures.SERIES) or not all(series.values()):
        raise InputError(f"series has {len(series)} kinds: draw 1 to {len(figures.SERIES)}, each with a model")
    fig, axes = figures.subplots(figsize=(6.4, 4.6))
    many = max(len(points) for points in series.values()) > 50
    for (kind, points), (colour, marker, _) in zip(series.items(), figures.SERIES, strict=False):
        x, y = ([getattr(point, which) for point in points] for which in ("original", "perturbed"))
        axes.errorbar(
            [rate.rate for rate in x],
            [rate.rate for rate in y],
            xerr=_arms(x),
            yerr=_arms(y),
            color=colour,
            marker=marker,
            markersize=3 if many else 5,
            elinewidth=0.4 if many else 1,
            linestyle="none",
            label=kind,
        )
    ends = np.array([point.original.rate for points in series.values() for point in points])
    ends = np.array([ends.min(), ends.max()])
    axes.plot(ends, ends, color=axes.spines["left"].get_edgecolor(), linewidth=1, linestyle=":", label="no drop")
    if line is not None:
        axes.plot(
            ends,
            line(ends),
            color=axes.spines["left"].get_edgecolor(),
            linewidth=1,
            label=f"{line.slope:.3f} x {line.intercept:+.3f}",
        )
    axes.set(xlabel="accuracy on anchors", ylabel="accuracy on the worst frame")
    axes.legend(loc="upper left")
    first = {kind: points[0] for kind, points in series.items()}
    said = "; ".join(
        f"{kind} ({len(series[kind])}), such as {point.model}: {point.original.rate:.3f} and {point.perturbed.rate:.3f}"
        for kind, point in first.items()
    )
    fitted = "" if line is None else f" The line is {line.slope:.3f} x {line.intercept:+.3f}, of {line.n} models."
    alt = (
        f"Accuracy on the worst frame against accuracy on anchors. {said}. "
        f"The dotted diagonal is where nothing is lost.{fitted}"
    )
    return figures.show(fig, alt=alt, name=name)


def report(scores: Sequence[Score], *, title: str) -> str:
    """A self-contained HTML page of one model: the accuracy beside every drop, warnings, figures.

    Parameters
    ----------
    scores : sequence of Score
        Of one model on the same sets, one for each k: what `score` returns for several.
    title : str
        Stands above the numbers.

    Raises
    ------
    InputError
        No scores.
    """
    if not scores:
        raise InputError("scores is empty: give at least one")
    drawn = []
    if len({score.k for score in scores} - {None}) > 1:
        drawn.append(accuracy_by_k(scores))
    widest = max(scores, key=lambda score: score.k or 0)
    if any(rate.rate is not None for rate in widest.by_offset.values()):
        drawn.append(errors_by_offset(widest))
    warnings = list(dict.fromkeys(text for score in scores for text in score.warnings))
    return figures.page(title, lines(scores), drawn, words=_in_words(widest), warnings=warnings)


def lines(scores: Sequence[Score]) -> list[tuple[str, str]]:
    """The numbers of scores of one model, as label and text."""
    first = scores[0]
    found = [("original accuracy", _text(first.original, first.confidence))]
    for score in scores:
        name = "all frames" if score.k is None else f"k = {score.k}"
        found.append((f"perturbed accuracy, {name}", _text(score.perturbed, score.confidence)))
        found.append((f"drop, {name}", _text(score.drop, score.confidence)))
    takes = "takes part in its set" if first.include_anchor else "is left out of its set, unless that is empty"
    found += [("anchor", takes), ("intervals", first.method)]
    if first.reachable is not None:
        ceiling = f"{first.reachable} of {first.n}, so that {first.reachable / first.n:.4f} is the most to be had"
        found.append(("anchors with a label that the model can name", ceiling))
    return list(dict.fromkeys(found))  # without offsets the k are all the same


def _text(rate: Rate, confidence: float) -> str:
    if rate.rate is None:
        return f"undefined: {rate.reason}"
    said = f"{rate.rate:.4f} ({rate.count} of {rate.n})"
    if rate.interval is None:
        return f"{said}, no interval: {rate.reason}"
    return f"{said}, {confidence:.4g} interval {rate.interval[0]:.4f} to {rate.interval[1]:.4f}"


def _in_words(score: Score) -> str:
    near = "whole sets" if score.k is None else f"all similar frames within {score.k} frames of them"
    return (
        f"{score.original.count} of {score.n} anchors are right; {score.perturbed.count} are, with {near}. "
        "A drop means little without the accuracy: a model that always says the same has none."
    )


def _with_bars(
    axes: Any, x: Sequence[Any] | np.ndarray, rates: Sequence[Rate], *, series: int, label: str, joined: bool = True
) -> None:
    """Markers, joined by a line or not, and a bar where there is an interval; whole numbers along x."""
    colour, marker, line = figures.SERIES[series]
    axes.errorbar(
        x,
        [rate.rate for rate in rates],
        yerr=_arms(rates),
        color=colour,
        marker=marker,
        linestyle=line if joined else "none",
        label=label,
    )
    axes.xaxis.get_major_locator().set_params(integer=True)


def _from_zero(axes: Any, room: float = 1.0) -> None:
    """Shares from 0 up, with whole markers at 0."""
    top = room * axes.get_ylim()[1]
    axes.set_ylim(-0.02 * top, top)


def _arms(rates: Sequence[Rate]) -> np.ndarray:
    """How far each interval reaches below and above its rate, 0 where there is none; shape (2, rates)."""
    middle = np.array([rate.rate for rate in rates], dtype=np.float64)
    ends = np.array([rate.interval or (rate.rate, rate.rate) for rate in rates], dtype=np.float64).T
    return np.abs(ends - middle)
