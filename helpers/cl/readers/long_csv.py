"""A long table: a line for each score, with the columns step, task, value and some more."""

from __future__ import annotations

from pathlib import Path

from ...records import check_columns
from ..record import Run
from .reader import BEFORE, WHOLE, Cells, Log, Reader, shorten
from .table import put_cell, refuse_unexplained, rows_of

REQUIRED = ("step", "task", "value")
OPTIONAL = ("run", "seed", "order", "metric", "n")


def sniff(head: str) -> bool:
    """Whether the first line names the columns."""
    names = [name.strip() for name in head.split("\n", 1)[0].split(",")]
    return set(REQUIRED) <= set(names) <= {*REQUIRED, *OPTIONAL}


def parse(path: Path, *, scale: str, direction: str = "higher") -> list[Run]:
    """The runs of a long table, one for each run, seed, order and metric, as they first occur.

    ``step`` is the number of tasks trained so far, 0 for the baseline; ``task`` counts from 1 in the order of training;
    ``value`` is a number or ``missing: why``. Every cell on and below the diagonal must be there; above it a task that
    no line mentions was not evaluated. ``n`` is the number of test samples, for all cells of a run or for none.
    """
    log = Log(path, READER.name)
    rows = rows_of(log)
    number, header = next(rows, (1, []))
    check_columns(header, needed=REQUIRED, optional=OPTIONAL, where=f"{log.path}, line {number}")
    found: dict[tuple[str, ...], Cells] = {}
    counted: dict[tuple[str, ...], bool] = {}
    for number, row in rows:
        if len(row) != len(header):
            raise log.fault(f"{len(row)} values, the header has {len(header)}", number)
        entry = dict(zip(header, row, strict=True))
        key = tuple(entry.get(name, "") for name in ("run", "seed", "order", "metric"))
        cells = found.setdefault(key, Cells(log, scale))
        place = _put(log, cells, entry, number)
        if place[0] == BEFORE or place not in cells.scores:
            continue
        if counted.setdefault(key, bool(entry.get("n"))) != bool(entry.get("n")):
            raise log.fault("give n for every cell of a run, or for none", number)
        if counted[key]:
            cells.counts[place] = log.whole(entry["n"], "n", number)
    if not found:
        raise log.fault("holds no line below the header", number)
    return [_run(log, key, cells, direction, number) for key, cells in found.items()]


def _put(log: Log, cells: Cells, entry: dict[str, str], number: int) -> tuple[int, int]:
    step, task = (log.whole(entry[name], name, number) for name in ("step", "task"))
    if not task:
        raise log.fault("task is 0: tasks count from 1, step 0 is before training", number)
    if not put_cell(cells, step - 1, task - 1, entry["value"], number):
        raise log.fault("value is empty: write why, as in 'missing: no interface yet'", number)
    return step - 1, task - 1


def _run(log: Log, key: tuple[str, ...], cells: Cells, direction: str, line: int) -> Run:
    run, seed, order, metric = key
    if not any(time >= 0 for time, _ in cells.scores):
        raise log.fault(f"run {shorten(run)} has no score after training")
    count = 1 + max(max(place) for place in cells.lines)
    refuse_unexplained(cells, count, line)
    name = run or log.path.stem
    matrix = cells.matrix(_why, count=count, direction=direction, metric=metric or "accuracy", name=name)
    return Run(matrix, name, seed=_identity(seed), order=_identity(order))


def _identity(text: str) -> int | str | None:
    """A seed or order as it was written: a number where it is one."""
    if not text:
        return None
    return int(text) if WHOLE.fullmatch(text) else text


def _why(time: int, task: int) -> str:
    return "no line of the file: a task that was not evaluated before its training"


READER = Reader("long-csv", "a table with a line for each score", None, sniff, parse, options=("scale", "direction"))
