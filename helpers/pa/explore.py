"""What a reader moves: a panel computed beforehand, and controls for a live kernel."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from .. import explorer
from ..errors import InputError
from ..explorer import Axis, Explorer
from ..figures import Figure
from . import show
from .record import Logits
from .score import Agreement, agreement, kernel

POINTS = 49


def panel(record: Logits, results: Mapping[str, Agreement]) -> Explorer:
    """The kernel under every shift and strength: agreement against beta, its maximum, and what flips alone would leave.

    Parameters
    ----------
    record : Logits
        Clean and shifted logits; each shift is named with its strength, like "noise 0.2".
    results : mapping of str to Agreement
        The score of each shift of the record. Every kind of shift has the same shares of its strongest.

    Raises
    ------
    InputError
        A shift without a score; strengths whose shares of the strongest differ between the kinds of shift.
    """
    missing = [name for name in record.shifted if name not in results]
    if missing:
        raise InputError(f"results has no {missing[0]!r}, the record has: give the score of each shift")
    named = {name: show.shift_and_strength(name) for name in record.shifted}
    strongest = {shift: max(value for kind, value in named.values() if kind == shift) for shift, _ in named.values()}
    ranges = [show.range_of_beta(results[name], record.logits) for name in named]
    betas = np.geomspace(min(low for low, _ in ranges), max(high for _, high in ranges), POINTS)
    rows = []
    for name, (shift, strength) in named.items():
        where = {"shift": shift, "strength": round(strength / strongest[shift], 3)}
        rows += [{**where, **row} for row in _curve(record, name, results[name], betas)]
    units = "; ".join(f"{shift} {value:.3g} {show.UNITS.get(shift, '')}".strip() for shift, value in strongest.items())
    return explorer.build(
        rows,
        name="explore",
        x=Axis("beta", "inverse temperature beta (1 / logit)", log=True),
        y=Axis("agreement", "agreement at beta (nat)"),
        series="what",
        sliders={"strength": "strength (share of the strongest)"},
        menus={"shift": "shift"},
        start={"strength": 1.0},
        caption=(
            f"The strongest are {units}. Below a loss of half of log k the curve is left out. Without a maximum at a "
            "finite beta there is no mark."
        ),
    )


def _curve(record: Logits, name: str, result: Agreement, betas: np.ndarray) -> list[dict[str, Any]]:
    """The points of one setting: the kernel's curve, its maximum where there is one, and the flips alone."""
    log_k = math.log(result.k)
    values = log_k + kernel(record.logits, record.shifted[name], betas)
    rows: list[dict[str, Any]] = [
        {"what": "agreement", "beta": float(beta), "agreement": float(value)}
        for beta, value in zip(betas, values, strict=True)
        if value >= -0.5 * log_k
    ]
    if result.status == "interior":
        rows.append({"what": "its maximum", "beta": result.beta, "agreement": result.value})
    for end in (float(betas[0]), float(betas[-1])):
        rows.append({"what": "flips alone", "beta": end, "agreement": result.flip_rate_only})
    return rows


def controls(record: Logits) -> Any:
    """Live: the kernel under any shift, from all inputs or from the first few."""
    n = len(record.logits)
    outputs = dict(record.shifted)

    def draw(shift: str, rows: int) -> Figure:
        clean, shifted = record.logits[:rows], outputs[shift][:rows]
        return show.kernel_curve(clean, shifted, agreement(clean, shifted))

    return explorer.controls(
        draw,
        shift=("shift and strength", list(outputs)[::-1]),
        rows=("inputs used", sorted({max(1, n // part) for part in (16, 8, 4, 2, 1)}, reverse=True)),
    )
