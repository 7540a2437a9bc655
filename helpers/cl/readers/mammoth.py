"""Mammoth: ``logs.pyd``, the text of one Python dict per run, read without running it."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

from ... import arrays
from ...errors import InputError
from ..record import AccuracyMatrix, Run
from .literal import literal
from .reader import Cells, Log, Reader, shorten

CELL = re.compile(r"accuracy_(\d{1,6})_task(\d{1,6})")
SCENARIOS = {
    "class-il": "class",
    "task-il": "task",
    "domain-il": "domain",
    "general-continual": "task-free",
    "biased-class-il": "class",
}
UNSEEN = "Mammoth stores the tasks trained so far only"
#: What the two files of one run differ in; the rest, its arguments and the id of the job, is the same.
RESULT = re.compile(r"accmean_task\d+|accuracy_\d+_task\d+|forward_transfer|backward_transfer|forgetting")


def sniff(head: str) -> bool:
    """Whether the first line begins a Python dict, whose texts have single quotes where JSON has double ones."""
    return head.startswith("{'")


def sniff_folder(names: str) -> bool:
    """Whether a folder holds one for each setting, as Mammoth's results do."""
    return any(name in SCENARIOS for name in names.split("\n"))


def parse(path: Path) -> list[Run]:
    """The runs of a ``logs.pyd``, a line each, or of all those in a folder of results.

    A Class-IL run writes two files with the same keys, under ``class-il/`` and ``task-il/``: the folder is the only
    thing that tells them apart, so the scenario is taken from it. Zeros above the diagonal are padding and missing.
    Mammoth numbers evaluations, not tasks: where it evaluated more often than once per task (``eval_epochs``,
    ``eval_future``, ``validation``, ``start_from``) a row has another number of cells than its own, and is refused.

    Of a folder (``data/results``) every ``SETTING/DATASET/MODEL/logs.pyd`` is read, and both matrices of a Class-IL run
    are in the list; the Task-IL one is warned where it lies below the other, see `AccuracyMatrix.beside`.
    """
    if not path.is_dir():
        return [run for run, _ in _runs(path, path)]
    files = sorted(file for file in path.glob("*/*/*/logs.pyd") if file.parts[-4] in SCENARIOS)
    if not files:
        raise InputError(
            f"{path}: is a folder without SETTING/DATASET/MODEL/logs.pyd: name Mammoth's folder of results, or one of "
            "these files"
        )
    several = len({file.parts[-3] for file in files}) > 1
    found = []
    for file in files:
        setting, dataset, model = file.parts[-4:-1]
        for run, arguments in _runs(file, path, f" on {dataset}" if several else ""):
            found.append((setting, (dataset, model, arguments), run))
    return _beside(found)


def _beside(found: list[tuple[str, tuple[str, str, str], Run]]) -> list[Run]:
    """All runs, each Task-IL matrix held against the Class-IL one of the same run, where there is one such run."""
    keys = Counter((setting, key) for setting, key, _ in found)
    class_il = {key: run for setting, key, run in found if setting == "class-il"}
    runs = []
    for setting, key, run in found:
        if setting == "task-il" and keys["class-il", key] == keys[setting, key] == 1:
            run = replace(run, matrix=run.matrix.beside(class_il[key].matrix))
        runs.append(run)
    return runs


def _runs(path: Path, source: Path, suffix: str = "") -> list[tuple[Run, str]]:
    """The runs of one file, each with its arguments."""
    log = Log(path, READER.name)
    folders = [name for name in path.parts[-4:-1] if name in SCENARIOS]
    scenario = SCENARIOS[folders[0]] if folders else None
    notes = [] if folders else [f"no folder of the path is {' or '.join(SCENARIOS)}, so the scenario is not known"]
    declared = {"scenario": scenario, "notes": notes, "source": source}
    runs = [_run(log, number, line, suffix, declared) for number, line in log.lines()]
    if not runs:
        raise log.fault("is empty: Mammoth writes a line per run")
    return runs


def _run(log: Log, number: int, line: str, suffix: str, declared: dict[str, Any]) -> tuple[Run, str]:
    try:
        content = literal(line)
    except InputError as error:
        raise log.fault(str(error), number) from error
    if not isinstance(content, dict):
        raise log.fault("is no Python dict", number)
    name, seed, order = content.get("model"), content.get("seed"), content.get("custom_task_order")
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int)):
        raise log.fault(f"'seed' is {shorten(repr(seed))}: a whole number or None is expected", number)
    name = (name if isinstance(name, str) and name.strip() else log.path.stem) + suffix
    matrix = _matrix(log, number, content, name=name, **declared)
    arguments = repr({key: value for key, value in content.items() if not RESULT.fullmatch(str(key))})
    return Run(matrix, name, seed=seed, order=None if order is None else shorten(str(order), quote=False)), arguments


def _matrix(log: Log, number: int, content: dict[Any, Any], **declared: Any) -> AccuracyMatrix:
    rows: dict[int, dict[int, float]] = {}
    for key, value in content.items():
        if match := CELL.fullmatch(str(key)):
            if not arrays.is_number(value):
                raise log.fault(f"{key} is {shorten(repr(value))}: give a finite number", number)
            rows.setdefault(int(match[2]), {})[int(match[1])] = float(value)
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


READER = Reader("mammoth", "Mammoth: logs.pyd, or the folder of results", "percent", sniff, parse, folder=sniff_folder)
