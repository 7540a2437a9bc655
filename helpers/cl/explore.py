"""What a reader moves: a panel computed beforehand, and controls for a live kernel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .. import arrays, explorer
from ..errors import InputError
from ..explorer import Axis, Explorer
from ..figures import Figure
from . import show
from .record import LIMITS, AccuracyMatrix
from .score import table

#: Names under which the panel shows formulas; "average accuracy" would need sizes and classes of the tasks.
NAMES = ("backward transfer", "forward transfer", "forgetting")
STEPS = 9


def panel(matrices: Mapping[str, AccuracyMatrix], moved: str) -> Explorer:
    """Methods under every formula of one name, while one of them gets better or worse by the same amount throughout.

    Parameters
    ----------
    matrices : mapping of str to AccuracyMatrix
        Up to four methods on the same tasks and scale, "percent" or "fraction", with a baseline.
    moved : str
        The method whose every cell is raised or lowered, as far as the scale allows.

    Raises
    ------
    InputError
        A `moved` that is none of the methods, methods on different or unlimited scales.
    """
    arrays.one_of(moved, "moved", matrices)
    [scale, *others] = {matrix.scale for matrix in matrices.values()}
    if others or scale not in LIMITS:
        raise InputError(f"matrices have the scales {', '.join([scale, *others])}: give one, percent or fraction")
    rows = []
    for amount in _amounts(matrices[moved]):
        shifted = matrices[moved]._with(values=matrices[moved].values + amount)
        for method, matrix in {**matrices, moved: shifted}.items():
            for family in NAMES:
                rows += [
                    {"raised": amount, "name": family, "method": method, "formula": id, "value": value.value}
                    for id, value in table(matrix, ids=show.FAMILIES[family]).items()
                ]
    unit = "points" if scale == "percent" else "fraction"
    return explorer.build(
        rows,
        name="explore",
        x=Axis("formula", "formula"),
        y=Axis("value", f"value ({unit})"),
        series="method",
        sliders={"raised": f"added to every cell of {moved} ({unit})"},
        menus={"name": "name in print"},
        start={"raised": 0.0, "name": NAMES[0]},
        caption=f"The methods above under every formula of one name, {moved} raised or lowered as a whole.",
    )


def _amounts(matrix: AccuracyMatrix) -> list[float]:
    """0 and steps of a twentieth of the scale on both sides, as far as every cell stays on it."""
    limit = LIMITS[matrix.scale]
    there = matrix.values[~matrix.missing]
    steps = [limit * step / 20 for step in range(-STEPS, STEPS + 1)]
    return [step for step in steps if there.min() + step >= 0 and there.max() + step <= limit]


def controls(matrix: AccuracyMatrix) -> Any:
    """Live: one matrix under all formulas of one name, as it stood after any number of tasks.

    Raises
    ------
    InputError
        Fewer than two tasks, or a matrix for which no formula is defined.
    """
    if matrix.T < 2:
        raise InputError("matrix has 1 task: transfer and forgetting need at least 2")

    def draw(name: str, learned: int) -> Figure:
        return show.definitions(matrix.leading(learned), name)

    return explorer.controls(
        draw,
        name=("name in print", [name for name in show.FAMILIES if _defined(matrix, name)]),
        learned=("tasks learned", list(range(matrix.T, 1, -1))),
    )


def _defined(matrix: AccuracyMatrix, name: str) -> bool:
    """Whether a formula of that name has a value at every moment."""
    counts = range(2, matrix.T + 1)
    return all(
        any(value.value is not None for value in table(matrix, ids=show.FAMILIES[name], at=count).values())
        for count in counts
    )
