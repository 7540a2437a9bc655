"""What both plain CSV formats share: rows with their lines, and cells that say why they are empty."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from .reader import MAX_TASKS, NUMBER, Cells, Log, shorten

#: Values on a line: a matrix of the most tasks, turned, with a name and a baseline in front.
MAX_VALUES = MAX_TASKS + 2
MARK = "missing:"
REMEDY = f"write why, as in '{MARK} no interface yet'"


def rows_of(log: Log) -> Iterator[tuple[int, list[str]]]:
    """The rows of a CSV file with the number of the line on which each ends; blank ones are passed over."""
    reader = csv.reader(io.StringIO(log.text), strict=True)
    try:
        for row in reader:
            if len(row) > MAX_VALUES:
                raise log.fault(f"{len(row)} values: at most {MAX_TASKS} tasks are read", reader.line_num)
            if any(field.strip() for field in row):
                yield reader.line_num, [field.strip() for field in row]
    except csv.Error as error:
        raise log.fault(f"is no CSV ({error})", reader.line_num) from error


def put_cell(cells: Cells, time: int, task: int, text: str, line: int) -> bool:
    """Keep a number, or the reason after ``missing:``; an empty text is left to the caller: False."""
    if not text:
        return False
    if text.startswith(MARK):
        reason = text.removeprefix(MARK).strip()
        if not reason:
            raise cells.log.fault(f"{MARK} without a reason: {REMEDY}", line)
        cells.leave_out(time, task, reason, line)
    else:
        if not NUMBER.fullmatch(text):
            raise cells.log.fault(f"{shorten(text)} is no number: for a missing cell {REMEDY}", line)
        cells.put(time, task, cells.log.number(text, "value", line), line)
    return True


def is_cell(text: str) -> bool:
    """Whether a text is a number, a reason, or nothing, and no name."""
    return not text or text.startswith(MARK) or bool(NUMBER.fullmatch(text))


def refuse_unexplained(cells: Cells, count: int, line: int) -> None:
    """A cell on or below the diagonal that nobody mentions; above it a task is simply not evaluated yet."""
    for time in range(count):
        for task in range(time + 1):
            if (time, task) not in cells.lines:
                raise cells.log.fault(f"task {task + 1} has no score after task {time + 1}: {REMEDY}", line)
