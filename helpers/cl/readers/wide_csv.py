"""A wide table: the matrix as it stands, with or without names for rows and columns."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from ..record import Run
from .reader import BEFORE, Cells, Log, Reader, shorten
from .table import is_cell, put_cell, refuse_unexplained, rows_of

BASELINE = ("0", "baseline")


class Grid(NamedTuple):
    """Cells with their lines, a row for each moment, and the names of both axes (empty where there are none)."""

    cells: list[list[tuple[str, int]]]
    moments: list[str]
    tasks: list[str]


def sniff(head: str) -> bool:
    """Whether it is a comma-separated matrix, one way or the other, perhaps with names and a baseline."""
    rows = [[field.strip() for field in line.split(",")] for line in head.split("\n") if line.strip()]
    width = len(rows[0]) if rows else 0
    if width < 2 or any(len(row) != width for row in rows):
        return False
    above, beside = [], []
    if _is_header(rows[0]):
        above, beside = rows[0][1:], [row[0] for row in rows[1:]]
        rows = [row[1:] for row in rows[1:]]
    if not rows or not all(is_cell(field) for row in rows for field in row):
        return False
    height, breadth = len(rows), len(rows[0])
    ways = ((beside, above, height, breadth), (above, beside, breadth, height))
    return any(_fits(moments, tasks, count, other) for moments, tasks, count, other in ways)


def _fits(moments: list[str], tasks: list[str], rows: int, columns: int) -> bool:
    before = _has_baseline(moments)
    return rows - before == columns and _are_counted(moments[before:]) and len(set(tasks)) == len(tasks)


def parse(path: Path, *, scale: str, rows: str, direction: str = "higher") -> list[Run]:
    """The one run of a wide table.

    ``rows="time"``: a line for each moment, a column for each task; ``rows="task"``: the other way round. If the first
    line holds names, so does the first column; names of moments are 1 to T, or texts of your own, and a moment called 0
    or ``baseline``, in front, is the model before training. A cell is a number or ``missing: why``; it may be empty
    above the diagonal only, where a task was not evaluated before its training.
    """
    log = Log(path, READER.name)
    grid = _grid(log, turned=rows == "task")
    before = _has_baseline(grid.moments)
    count, last = len(grid.cells) - before, grid.cells[-1][-1][1]
    if count != len(grid.cells[0]):
        raise log.fault(
            f"{count} moments and {len(grid.cells[0])} tasks: a matrix has a moment after each task; one named 0 or "
            "baseline is before training, the others count from 1",
            last,
        )
    if not _are_counted(grid.moments[before:]):
        names = shorten(", ".join(grid.moments[before:]))
        raise log.fault(f"moments are named {names}: count them from 1, in order", grid.cells[0][0][1])
    cells = Cells(log, scale)
    for time, row in enumerate(grid.cells, start=BEFORE if before else 0):
        for task, (text, line) in enumerate(row):
            put_cell(cells, time, task, text, line)
    refuse_unexplained(cells, count, last)
    matrix = cells.matrix(_why, count=count, direction=direction, tasks=grid.tasks or None, name=path.stem)
    return [Run(matrix, path.stem)]


def _grid(log: Log, *, turned: bool) -> Grid:
    table = list(rows_of(log))
    if not table:
        raise log.fault("is empty: give a line for each row of the matrix")
    width = len(table[0][1])
    for number, row in table:
        if len(row) != width:
            raise log.fault(f"{len(row)} values, the first line has {width}", number)
    above, beside = [], []
    if _is_header(table[0][1]):
        above, beside = table[0][1][1:], [row[0] for _, row in table[1:]]
        table = [(number, row[1:]) for number, row in table[1:]]
    if not table or not table[0][1]:
        raise log.fault("holds names and no cells: give a line for each row of the matrix", 1)
    cells = [[(field, number) for field in row] for number, row in table]
    if turned:
        return Grid([list(column) for column in zip(*cells, strict=True)], above, beside)
    return Grid(cells, beside, above)


def _is_header(fields: list[str]) -> bool:
    """A first line that begins with nothing, or that holds something that no cell can be."""
    return not fields[0] or not all(is_cell(field) for field in fields)


def _has_baseline(moments: list[str]) -> bool:
    return bool(moments) and moments[0] in BASELINE


def _are_counted(moments: list[str]) -> bool:
    """Numbered moments must be 1 to T, because 0 to T - 1 could as well begin before training."""
    numbered = any(name.isdecimal() for name in moments)
    return not numbered or moments == [str(k + 1) for k in range(len(moments))]


def _why(time: int, task: int) -> str:
    return "empty in the file: a task that was not evaluated before its training"


READER = Reader(
    "wide-csv", "a table that is the matrix itself", None, sniff, parse, options=("scale", "rows", "direction")
)
