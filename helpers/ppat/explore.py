"""What a reader moves: panels computed beforehand, and controls for a live kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .. import explorer
from ..errors import InputError
from ..explorer import Axis, Explorer
from ..figures import Figure
from . import show
from .methods import Method, Pool
from .record import Labels
from .score import estimates
from .simulation import simulate

CONTROLS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5)
#: What is compared at each control; LURE has none, and stays where it is.
COMPARED: dict[str, dict[str, Any]] = {
    "random + proxy": {"proposal": "uniform"},
    "LURE": {"proposal": "expected_loss"},
    "PPAT": {},
    "PPAT + intercept": {"intercept": True},
}


def panels(
    pools: Mapping[str, Pool],
    *,
    budget: Sequence[int],
    epsilon: float = 0.1,
    trials: int = 300,
    seed: int = 0,
    confidence: float = 0.9,
) -> tuple[Explorer, Explorer]:
    """Squared error as a share of that of random labels, and coverage, against the control of the proxy.

    Parameters
    ----------
    pools : mapping of str to Pool
        Pools with proxy and moments, by name; the first is shown at the start.
    budget : sequence of int
        Numbers of labels.
    epsilon : float
        Share of uniform draws.
    trials, seed, confidence
        As for `simulate`, which every number is from; 300 trials by default, since there are many points.

    Returns
    -------
    (Explorer, Explorer)
        For error and for coverage.

    Raises
    ------
    InputError
        No pools; what `simulate` refuses.
    """
    if not pools:
        raise InputError("pools is empty: give at least one")
    rows = [
        row
        for name, pool in pools.items()
        for row in _simulated(pool, {"pool": name}, budget, epsilon, trials=trials, seed=seed, confidence=confidence)
    ]
    shared: dict[str, Any] = {
        "x": Axis("control", "control (strength of the proxy)"),
        "series": "method",
        "sliders": {"labels": "labels"},
        "menus": {"pool": "pool"},
        "start": {"labels": budget[-1]},
    }
    said = f"{trials} runs for each point."
    error = explorer.build(
        rows,
        name="explore-error",
        y=Axis("error", "squared error (1 is random labels)", log=True),
        caption=f"Mean squared error over that of random labels with no proxy. {said} No interval: a ratio of means.",
        **shared,
    )
    coverage = explorer.build(
        rows,
        name="explore-coverage",
        y=Axis("coverage", "coverage (share of runs)", zero=False),
        interval=("coverage_low", "coverage_high"),
        caption=f"Share of runs whose {confidence:.4g} interval held the risk. {said} Bands are exact 95 % intervals.",
        **shared,
    )
    return error, coverage


def _simulated(
    pool: Pool, where: Mapping[str, Any], budget: Sequence[int], epsilon: float, **settings: Any
) -> list[dict[str, Any]]:
    """Every method at every control and budget, in one simulation."""
    methods = {
        (control, name): Method(**options, epsilon=epsilon, control=None if name == "LURE" else control)
        for control in CONTROLS
        for name, options in COMPARED.items()
    }
    by_text = {f"{name} {control:g}": method for (control, name), method in methods.items()}
    found = simulate(pool, {"random": Method("uniform"), **by_text}, budget=budget, **settings)
    rows = []
    for control, name in methods:
        for labels in budget:
            row, random = found.row(f"{name} {control:g}", labels), found.row("random", labels)
            rows.append(
                {
                    **where,
                    "control": control,
                    "method": name,
                    "labels": labels,
                    "error": row["mean_squared_error"] / random["mean_squared_error"],
                    **{key: row[key] for key in ("coverage", "coverage_low", "coverage_high")},
                }
            )
    return rows


def controls(labels: Labels) -> Any:
    """Live: the estimate from these labels, at another control, level and kind of variance."""

    def draw(control: float, confidence: float, variance: str) -> Figure:
        curve = estimates(**labels.arguments(), control=control, confidence=confidence, variance=variance)
        return show.budget_curve(curve)

    return explorer.controls(
        draw,
        control=("control (strength of the proxy)", CONTROLS),
        confidence=("level of the interval", [0.5, 0.8, 0.9, 0.95, 0.99]),
        variance=("variance", ["plugin", "unbiased"]),
    )
