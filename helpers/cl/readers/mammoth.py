"""Mammoth: ``logs.pyd``, the text of one Python dict per run, read without running it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from ...errors import InputError
from ..record import AccuracyMatrix, Run
from .literal import literal
from .reader import Cells, Log, Reader, as_float, is_number, shorten

CELL = re.compile(r"accuracy_(\d{1,6})_task(\d{1,6})")
SCENARIOS = {
    "class-il": "class",
    "task-il": "task",
    "domain-il": "domain",
    "general-continual": "task-free",
    "biased-class-il": "class",
}
UNSEEN = "Mammoth stores the tasks trained so far only"


def sniff(head: str) -> bool:
    """Whether the first line begins a Python dict, whose texts have single quotes where JSON has double ones."""
    return head.startswith("{'")


def parse(path: Path) -> list[Run]:
    """The runs of a ``logs.pyd``, a line each.

    A Class-IL run writes two files with the same keys, under ``class-il/`` and ``task-il/``: the folder is the only
    thing that tells them apart, so the scenario is taken from it. Zeros above the diagonal are padding and missing.
    Mammoth numbers evaluations, not tasks: where it evaluated more often than once per task (``eval_epochs``,
    ``eval_future``, ``validation``, ``start_from``) a row has another number of cells than its own, and is refused.
    """
    log = Log(path, READER.name)
    folders = [name for name in path.parts[-4:-1] if name in SCENARIOS]
    scenario = SCENARIOS[folders[0]] if folders else None
    notes = [] if folders else [f"no folder of the path is {' or '.join(SCENARIOS)}, so the scenario is not known"]
    runs = [_run(log, number, line, scenario, notes) for number, line in log.lines()]
    if not runs:
        raise log.fault("is empty: Mammoth writes a line per run")
    return runs


def _run(log: Log, number: int, line: str, scenario: str | None, notes: list[str]) -> Run:
    try:
        content = literal(line)
    except InputError as error:
        raise log.fault(str(error), number) from error
    if not isinstance(content, dict):
        raise log.fault("is no Python dict", number)
    name, seed, order = content.get("model"), content.get("seed"), content.get("custom_task_order")
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int)):
        raise log.fault(f"'seed' is {shorten(repr(seed))}: a whole number or None is expected", number)
    name = name if isinstance(name, str) and name.strip() else log.path.stem
    matrix = _matrix(log, number, content, scenario=scenario, notes=notes, name=name)
    return Run(matrix, name, seed=seed, order=None if order is None else shorten(str(order), quote=False))


def _matrix(log: Log, number: int, content: dict[Any, Any], **declared: Any) -> AccuracyMatrix:
    rows: dict[int, dict[int, float]] = {}
    for key, value in content.items():
        if match := CELL.fullmatch(str(key)):
            if not is_number(value):
                raise log.fault(f"{key} is {shorten(repr(value))}: give a number", number)
            rows.setdefault(int(match[2]), {})[int(match[1])] = as_float(value)
    if not rows:
        raise log.fault(
            "holds no accuracy_J_taskK: Mammoth stores them for class-il and task-il runs, of others only the means, "
            "from which no matrix follows",
            number,
        )
    cells = Cells(log, "percent")
    for row in range(1, len(rows) + 1):
        if row not in rows:
            raise log.fault(f"accuracy_J_task{row} is missing, and task{max(rows)} is there", number)
        _check_row(log, number, row, rows[row])
        for task in range(1, row + 1):
            cells.put(row - 1, task - 1, rows[row][task], number)
    return cells.matrix(lambda time, task: UNSEEN, **declared)


def _check_row(log: Log, number: int, row: int, found: dict[int, float]) -> None:
    measured = {task for task, score in found.items() if task <= row or score != 0.0}
    if measured != set(range(1, row + 1)):
        raise log.fault(
            f"accuracy_J_task{row} has {len(measured)} cells, task {row} has {row}: with eval_epochs, eval_future, "
            "validation or start_from Mammoth counts evaluations, not tasks; run without them, or keep the keys of one "
            "evaluation per task",
            number,
        )


READER = Reader("mammoth", "Mammoth: logs.pyd", "percent", sniff, parse)
