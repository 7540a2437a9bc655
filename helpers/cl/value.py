"""One number with its id, its unit, its direction, and the reason where there is none."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Value:
    """One metric of one matrix.

    Attributes
    ----------
    id : str
        The formula.
    value : float or None
        None where it is undefined.
    reason : str or None
        Why it is undefined.
    coverage : tuple of int
        Cells that were there, and cells that the formula needs; a cell whose baseline or reference is missing counts
        as missing.
    direction : {"higher", "lower", "none"}
        Which values are better.
    baseline : str or None
        The kind of baseline that was subtracted.
    unit : str
        "percent", "percentage points", "fraction", or on a free scale the name of the metric.
    metric, scenario
        What a score was and the scenario, as the matrix declares them.
    tasks : tuple of str
        The tasks it is about.
    observed_only : bool
        Whether cells that are missing were left out of the mean: another number than the strict one.
    """

    id: str
    value: float | None
    reason: str | None
    coverage: tuple[int, int]
    direction: str
    baseline: str | None
    unit: str
    metric: str
    scenario: str | None
    tasks: tuple[str, ...]
    observed_only: bool = False

    def __repr__(self) -> str:
        if self.value is None:
            return f"Value({self.id} undefined: {self.reason}; {self.coverage[0]} of {self.coverage[1]} cells)"
        against = f", baseline {self.baseline}" if self.baseline else ""
        observed = ", observed cells only" if self.observed_only else ""
        used, needed = self.coverage
        return (
            f"Value({self.id} {self.value:.6g} {self.unit}{against}{observed}, {self.direction} is better, "
            f"{used} of {needed} cells)"
        )

    def to_dict(self) -> dict[str, Any]:
        """The fields as valid JSON."""
        return {**dataclasses.asdict(self), "coverage": list(self.coverage), "tasks": list(self.tasks)}


def outcome(
    id: str,
    value: float | None,
    *,
    coverage: tuple[int, int],
    reason: str | None = None,
    direction: str = "higher",
    unit: str = "score",
) -> Value:
    """A value that comes from scores as they were given, in their own unit."""
    return Value(
        id=id,
        value=value,
        reason=reason,
        coverage=coverage,
        direction=direction,
        baseline=None,
        unit=unit,
        metric="score",
        scenario=None,
        tasks=(),
    )
