"""continuum: the dictionary of its Logger, predictions and all, written as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ... import arrays
from ..record import Run
from .reader import MAX_TASKS, Cells, Log, Reader, shorten

PARTS = ("predictions", "targets", "task_ids")
ELSEWHERE = "not in this file: a Logger with end_task(clean=True) keeps each task in a file of its own"


def sniff(head: str) -> bool:
    """Whether it is JSON that begins with the logger's subsets."""
    return head.lstrip().startswith("{") and '"performance"' in head and '"predictions"' in head


def parse(path: Path) -> list[Run]:
    """The one run of a logger's dictionary.

    ``{"test": {"performance": [[{"predictions": [...], "targets": [...], "task_ids": [...]}, ...], ...]}}``: a list per
    task trained, in it an object per epoch; other subsets are passed over. A row is the last epoch of a task that holds
    predictions; its cells are the share of predictions that meet the target, by ``task_ids``, and know their number.
    The logger's own files are pickles and are not opened: write the dictionary with
    ``json.dump(logger.logger_dict, file, default=lambda array: array.tolist())``.
    """
    log = Log(path, READER.name)
    content = log.json()
    tasks = content.get("test") if isinstance(content, dict) else None
    tasks = tasks.get("performance") if isinstance(tasks, dict) else None
    if not isinstance(tasks, list):
        raise log.fault("has no entry 'test', 'performance': give logger.logger_dict with a subset 'test'")
    cells = Cells(log, "fraction")
    for time, line, right, counts in _evaluations(log, content):
        for task in map(int, np.flatnonzero(counts)):
            cells.put(time, task, float(right[task] / counts[task]), line)
            cells.counts[time, task] = int(counts[task])
    gone = {time for time, epochs in enumerate(tasks) if epochs is None}

    def why(time: int, task: int) -> str:
        return ELSEWHERE if time in gone else f"task {task} was not evaluated after training task {time}"

    return [Run(cells.matrix(why, name=path.stem), path.stem)]


def _evaluations(log: Log, content: dict[str, Any]) -> Iterator[tuple[int, int, np.ndarray, np.ndarray]]:
    """For each row that holds predictions: row, line, and by task how many were right, and how many there are."""
    seen = sum(_epochs_before_test(content))
    for time, epochs in enumerate(content["test"]["performance"]):
        latest = None
        if not isinstance(epochs, list | None):
            raise log.fault(f"task {time} is {shorten(repr(epochs))}: a list of epochs is expected")
        for epoch in epochs or []:
            line, seen = log.line_of("predictions", seen), seen + 1
            parts = _parts(log, epoch, f"task {time}", line)
            latest = (parts, line) if parts[0].size else latest
        if latest is None:
            continue
        (predictions, targets, tasks), line = latest
        tasks = tasks.astype(int)
        yield time, line, arrays.counts(tasks, weights=predictions == targets), arrays.counts(tasks)


def _epochs_before_test(content: dict[str, Any]) -> Iterator[int]:
    """How many epochs each subset before the tested one has, to find the lines."""
    for name, subset in content.items():
        if name == "test":
            return
        tasks = subset.get("performance") if isinstance(subset, dict) else None
        yield from (len(epochs) for epochs in (tasks if isinstance(tasks, list) else []) if isinstance(epochs, list))


def _parts(log: Log, epoch: Any, where: str, line: int) -> list[np.ndarray]:
    if not isinstance(epoch, dict) or any(not isinstance(epoch.get(name), list) for name in PARTS):
        raise log.fault(f"{where}: an epoch is an object of the lists {', '.join(PARTS)}", line)
    parts = []
    for name in PARTS:
        try:
            part = np.array(epoch[name] or np.zeros(0))
        except (ValueError, OverflowError) as error:
            raise log.fault(f"{where}: {name} is no list of numbers", line) from error
        if part.ndim != 1 or part.dtype.kind not in "fiu" or not np.isfinite(part).all():
            raise log.fault(f"{where}: {name} is no list of finite numbers", line)
        parts.append(part)
    if len(parts[0]) != len(parts[1]):
        raise log.fault(f"{where}: {len(parts[0])} predictions and {len(parts[1])} targets", line)
    if len(parts[2]) != len(parts[0]):
        raise log.fault(
            f"{where}: {len(parts[0])} predictions and {len(parts[2])} task_ids: log them, "
            "logger.add([predictions, targets, task_ids], subset='test')",
            line,
        )
    ids = parts[2]
    if (ids != np.round(ids)).any() or (ids < 0).any() or (ids >= MAX_TASKS).any():
        raise log.fault(f"{where}: task_ids are no whole numbers from 0 to {MAX_TASKS - 1}", line)
    return parts


READER = Reader("continuum", "continuum: logger.logger_dict as JSON", "fraction", sniff, parse)
