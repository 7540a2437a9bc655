"""Show: figures and reports of posterior agreement."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .. import arrays, figures
from ..errors import InputError
from ..figures import Figure, Table
from ..uncertainty import Rate
from .comparison import Row
from .record import Logits
from .score import Agreement, kernel


def kernel_curve(logits: Any, shifted: Any, result: Agreement, *, inputs: str = "logits") -> Figure:
    """Agreement over beta, with every local maximum marked and the global one named."""
    low, high = range_of_beta(result, logits)
    betas = np.geomspace(low, high, 120)
    values = math.log(result.k) + kernel(logits, shifted, betas, inputs=inputs)
    fig, axes = figures.subplots()
    axes.plot(betas, values, color=figures.BLUE)
    others = [point for point in result.local_maxima if point[0] != result.beta]
    if others:
        axes.plot(*zip(*others, strict=True), "o", color=figures.PURPLE, label="other local maxima")
    if result.status == "interior":
        label = f"maximum {result.value:.3f} nat at beta {result.beta:.3g}"
        axes.plot([result.beta], [result.value], "s", color=figures.VERMILION, label=label)
    else:
        axes.axhline(
            result.value,
            color=figures.VERMILION,
            linestyle="--",
            label=f"{result.status}: {result.value:.3f} nat",
        )
    axes.set(xscale="log", xlabel="inverse temperature beta (1 / logit)", ylabel="agreement at beta (nat)")
    ceiling = math.log(result.k) or 1.0  # one class leaves no room, an axis needs some
    axes.set_ylim(max(min(values), -0.5 * ceiling), 1.05 * ceiling)
    axes.legend(loc="lower center")
    alt = (
        f"Line plot of agreement in nats over the inverse temperature on a log axis. {_in_words(result)} "
        f"Local maxima found: {len(result.local_maxima)}."
    )
    return figures.show(fig, alt=alt, name="kernel")


def by_strength(results: Mapping[str, Agreement], accuracy: Mapping[str, Rate]) -> Figure:
    """Relative agreement and accuracy against the strength of each shift, one panel per shift.

    Both are keyed by shift and strength, like "noise 0.2", as `measure.shifts` names them.
    """
    panels: dict[str, list[tuple[float, str]]] = {}
    for name in results:
        if name not in accuracy:
            raise InputError(f"accuracy has no {name!r}, results has: give one for each shift")
        shift, strength = shift_and_strength(name)
        panels.setdefault(shift, []).append((strength, name))
    fig, all_axes = figures.subplots(1, len(panels), figsize=(3.1 * len(panels), 3.4), sharey=True, squeeze=False)
    said = []
    for axes, (shift, entries) in zip(all_axes[0], panels.items(), strict=True):
        strengths, names = zip(*sorted(entries), strict=True)
        agreements = [_relative(results[name]) for name in names]
        rates = [(accuracy[name].rate, *(accuracy[name].interval or (None, None))) for name in names]
        _band(axes, strengths, agreements, 0, "agreement / log k")
        _band(axes, strengths, rates, 1, "accuracy")
        axes.set(xlabel=f"{shift} {UNITS.get(shift, '')}".strip(), ylim=(-0.02, 1.04))
        said.append(f"under {shift} agreement goes from {agreements[0][0]:.2f} to {agreements[-1][0]:.2f}")
    all_axes[0][0].set_ylabel("share")
    all_axes[0][0].legend(loc="lower left")
    alt = f"Relative agreement and accuracy against the strength of each shift: {'; '.join(said)}."
    return figures.show(fig, alt=alt, name="strength")


def shift_and_strength(name: str) -> tuple[str, float]:
    shift, _, strength = name.rpartition(" ")
    try:
        return shift, float(strength)
    except ValueError as error:
        raise InputError(f"results has {name!r}: name each shift with its strength, like 'noise 0.2'") from error


#: What the strengths of the natural shifts are counted in.
UNITS = {"noise": "(sd, of full brightness)", "blur": "(sd, pixels)", "contrast": "(share removed)"}


def worst_rows(
    result: Agreement, record: Logits, shift: str, clean: np.ndarray, shifted: np.ndarray, *, count: int = 6
) -> Figure:
    """The pictures that lower agreement most, clean above and shifted below, with what the model says of each."""
    if shift not in record.shifted:
        raise InputError(f"shift is {shift!r}: the record has {', '.join(record.shifted)}")
    if not result.n == len(clean) == len(shifted):
        raise InputError(f"clean has {len(clean)} pictures, shifted {len(shifted)}, the result {result.n} rows")
    rows = result.worst_rows(count)
    before = record.logits.argmax(axis=1)
    after = record.shifted[shift].argmax(axis=1)
    fig, panels = figures.subplots(2, len(rows), figsize=(1.3 * len(rows), 3.0), squeeze=False)
    for column, row in enumerate(rows):
        for axes, picture, answer in zip(panels[:, column], (clean, shifted), (before, after), strict=True):
            axes.imshow(picture[row, 0], cmap="cividis", vmin=0, vmax=1)
            axes.set(xticks=[], yticks=[], title=f"says {answer[row]}")
            axes.grid(False)
    panels[0, 0].set_ylabel("clean")
    panels[1, 0].set_ylabel(shift)
    said = ", ".join(f"{before[row]} becomes {after[row]}" for row in rows)
    return figures.show(
        fig, alt=f"The {len(rows)} pictures that lower agreement most under {shift}: {said}.", name="worst"
    )


def contributions(result: Agreement) -> Figure:
    """How the agreement is made up: each row's contribution, sorted."""
    if result.per_row is None:
        raise InputError(f"there are no rows to show: {result.reasons['per_row']}")
    fig, axes = figures.subplots()
    values = np.sort(result.per_row)
    axes.plot(np.linspace(0, 100, len(values)), values, color=figures.BLUE)
    axes.axhline(result.value, color=figures.VERMILION, linestyle="--", label=f"mean {result.value:.3f} nat")
    axes.set(xlabel="rows, worst first (percent)", ylabel="contribution (nat)")
    axes.legend(loc="lower right")
    ends = f"from {values[0]:.2f} to {values[-1]:.2f} nat"
    alt = f"Sorted contributions of {result.n} rows, {ends}, mean {result.value:.3f}."
    return figures.show(fig, alt=alt, name="contributions")


def sweep_table(tables: Mapping[str, Sequence[Row]], *, caption: str) -> Table:
    """Everything said of each shift of each model, side by side."""
    columns = ["model", "shift", "AFR_T", "AFR_P", "success", "PA / log k", "beta x margin", "flips alone", "ECE", "T"]
    rows = []
    for model, entries in tables.items():
        for row in entries:
            score = row.agreement
            flips_alone = score.flip_rate_only / math.log(score.k)
            rates = [row.afr_t.rate, row.afr_p.rate, row.success.rate]
            scores = [score.relative, score.beta_margin, flips_alone, row.calibration_error, row.temperature]
            rows.append([model, row.shift, *rates, *scores])
    return Table(columns, rows, caption)


def sweep(tables: Mapping[str, Sequence[Row]], *, unit: str, name: str = "sweep") -> Figure:
    """AFR_T and relative agreement of each model against the strength of one shift."""
    fig, (left, right) = figures.subplots(1, 2, figsize=(7.2, 3.4), sharey=True)
    for series, (model, rows) in enumerate(tables.items()):
        strengths = [shift_and_strength(row.shift)[1] for row in rows]
        rates = [(row.afr_t.rate, *(row.afr_t.interval or (None, None))) for row in rows]
        _band(left, strengths, rates, series, model)
        _band(right, strengths, [_relative(row.agreement) for row in rows], series, model)
    left.set(xlabel=unit, ylabel="share", title="AFR_T: accuracy under attack", ylim=(-0.02, 1.04))
    right.set(xlabel=unit, title="PA / log k: belief that is kept")
    right.legend(loc="best")
    said = "; ".join(
        f"{model}: AFR_T {rows[0].afr_t.rate:.2f} to {rows[-1].afr_t.rate:.2f}, "
        f"agreement {_relative(rows[0].agreement)[0]:.2f} to {_relative(rows[-1].agreement)[0]:.2f}"
        for model, rows in tables.items()
    )
    return figures.show(fig, alt=f"Accuracy under attack and relative agreement against {unit}. {said}.", name=name)


def ratio_curves(curves: Mapping[str, Sequence[Agreement]], ratios: Sequence[float]) -> Figure:
    """Relative agreement of each model against the share of rows that is attacked."""
    fig, axes = figures.subplots()
    for series, (model, results) in enumerate(curves.items()):
        _band(axes, ratios, [(result.relative, None, None) for result in results], series, model)
    axes.set(xlabel="share of rows attacked", ylabel="PA / log k", ylim=(-0.02, 1.04))
    axes.legend(loc="best")
    said = "; ".join(f"{model} falls to {results[-1].relative:.2f}" for model, results in curves.items())
    alt = f"Relative agreement against the share of rows attacked, 1 where none is: {said}."
    return figures.show(fig, alt=alt, name="ratios")


def distances(sizes: Mapping[str, np.ndarray], *, norm: str) -> Figure:
    """How many pictures of each model are crossed within a distance: what FMN has to tell."""
    fig, axes = figures.subplots()
    medians = []
    for series, (model, size) in enumerate(sizes.items()):
        colour, _, line = figures.SERIES[series]
        ordered = np.sort(size[np.isfinite(size)])
        axes.plot(ordered, np.arange(1, len(ordered) + 1) / len(size), color=colour, linestyle=line, label=model)
        medians.append(f"{model} {np.median(size):.3f}")
    axes.set(xlabel=f"{norm} distance to the nearest other class", ylabel="share of pictures", ylim=(0, 1.02))
    axes.legend(loc="lower right")
    alt = f"Share of pictures whose class can be changed within a distance. Medians: {', '.join(medians)}."
    return figures.show(fig, alt=alt, name="distances")


def evidence(
    agreements: np.ndarray, accuracies: np.ndarray, groups: Sequence[str], *, labels: tuple[str, str]
) -> Figure:
    """One point a network: its agreement under the shift at hand against its accuracy under the one held out."""
    fig, axes = figures.subplots()
    for series, group in enumerate(dict.fromkeys(groups)):
        colour, marker, _ = figures.SERIES[series % len(figures.SERIES)]
        mine = [i for i, other in enumerate(groups) if other == group]
        axes.plot(agreements[mine], accuracies[mine], marker, color=colour, label=group)
    axes.set(xlabel=labels[0], ylabel=labels[1])
    axes.legend(loc="best")
    alt = f"Scatter of {len(agreements)} networks: {labels[1]} against {labels[0]}, marked by how they were trained."
    return figures.show(fig, alt=alt, name="evidence")


def report(result: Agreement, figures_of: Sequence[Figure], *, title: str, rates: Mapping[str, Rate]) -> str:
    """A self-contained HTML page: numbers, what they mean, figures. Nothing is loaded from elsewhere."""
    return figures.page(title, _lines(result, rates), figures_of, words=_in_words(result))


def _lines(result: Agreement, rates: Mapping[str, Rate]) -> list[tuple[str, str]]:
    """The numbers of a report, as label and text."""
    proof = "proven global" if result.certified else f"not proven: up to {result.bound:.4f} nat is possible"
    lines = [
        (
            "Posterior agreement",
            f"{result.value:.6f} nat of {math.log(result.k):.6f}{_interval_text(result)}",
        ),
        ("Relative agreement", _or_reason(result.relative, result.reasons.get("relative"))),
        ("Status", f"{result.status} ({proof})"),
        ("beta", f"{result.beta:.6g} per logit"),
        ("beta x median margin", _or_reason(result.beta_margin, result.reasons.get("beta_margin"))),
        ("Flip rate", _rate_text(result.flips)),
        ("From the flip rate alone", f"{result.flip_rate_only:.6f} nat"),
        ("Local maxima", str(len(result.local_maxima))),
        ("Rows, classes", f"{result.n}, {result.k}"),
        ("Level of all intervals", f"{result.confidence or 0.95:.4g}"),
    ]
    return lines + [(name, _rate_text(rate)) for name, rate in rates.items()]


def _interval_text(result: Agreement) -> str:
    if result.interval is None:
        return ""
    return f" (interval {result.interval[0]:.6f} to {result.interval[1]:.6f})"


def _or_reason(value: float | None, reason: str | None) -> str:
    return f"undefined: {reason}" if value is None else f"{value:.6g}"


def _rate_text(rate: Rate) -> str:
    if rate.rate is None or rate.interval is None:
        return f"undefined: {rate.reason}"
    return f"{rate.rate:.4f} ({rate.count} of {rate.n}; interval {rate.interval[0]:.4f} to {rate.interval[1]:.4f})"


def _in_words(result: Agreement) -> str:
    """One sentence that says what the status means."""
    share = f"{result.value:.3f} nat"
    return {
        "interior": f"Agreement is {share}, reached at beta {result.beta:.3g}.",
        "infinite": f"Agreement is {share}: it only grows with beta, because no label flips.",
        "zero": "Agreement is 0: no belief sharper than a uniform one is shared before and after the shift.",
        "flat": "Agreement is 0 whatever beta: in every row one of the two outputs does not depend on the class.",
    }[result.status]


def range_of_beta(result: Agreement, logits: Any) -> tuple[float, float]:
    """Where the curve is worth drawing: around the maximum, or around the scale of the logits where it is at an end."""
    if result.status == "interior":
        return result.beta / 100, result.beta * 30
    values = arrays.to_numpy(logits)
    scale = float(np.median(np.ptp(values, axis=1))) or float(np.max(np.ptp(values, axis=1))) or 1.0
    return 0.01 / scale, 1000.0 / scale


def _relative(result: Agreement) -> tuple[float, float | None, float | None]:
    """Relative agreement with its interval."""
    if result.relative is None:
        return math.nan, None, None
    low, high = result.interval or (None, None)
    log_k = math.log(result.k)
    return result.relative, None if low is None else low / log_k, None if high is None else high / log_k


def _band(axes: Any, x: Sequence[float], rows: Sequence[tuple[Any, Any, Any]], series: int, label: str) -> None:
    """A line with markers and, where there are intervals, a band."""
    colour, marker, line = figures.SERIES[series]
    middle, low, high = zip(*rows, strict=True)
    axes.plot(x, middle, color=colour, marker=marker, linestyle=line, label=label)
    if None not in low:
        axes.fill_between(x, low, high, color=colour, alpha=0.2, linewidth=0)
