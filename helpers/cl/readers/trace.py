"""TRACE: a folder of ``results-ROUND-INDEX-TASK.json``, one file for each evaluation."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from ... import arrays
from ...errors import InputError
from ..record import Run
from .reader import Cells, Log, Reader, shorten

NAME = re.compile(r"results-(\d{1,6})-(\d{1,6})-([^/\n]+)\.json")
#: What TRACE's evaluations return: most are fractions, two count to a hundred.
SCALES = {
    "accuracy": "fraction",
    "F1": "fraction",
    "bleu-1": "fraction",
    "bleu-4": "fraction",
    "rouge-L": "fraction",
    "similarity": "percent",
    "sari": "percent",
}


def sniff_folder(names: str) -> bool:
    """Whether a folder holds results under TRACE's names."""
    return any(NAME.fullmatch(name) for name in names.split("\n"))


def parse(path: Path) -> list[Run]:
    """One run for each metric, because tasks are scored by different ones.

    A row is a round, a column a task, both counted from 0 in the names of the files. Each file holds
    ``{"eval": {metric: value}, "prompts": [...], "results": [...], "labels": [...]}``; the labels give the number of
    samples. A task that is not scored by a metric is missing in its matrix, and so is what TRACE does not evaluate:
    tasks after the round.
    """
    if not path.is_dir():
        raise InputError(f"{path}: a log of TRACE is a folder of results-*.json: name the folder")
    files = sorted((match, file) for file in path.iterdir() if (match := _key(file.name)) is not None)
    if not files:
        raise InputError(f"{path}: holds no file results-ROUND-INDEX-TASK.json")
    names: dict[int, str] = {}
    tables: dict[str, Cells] = {}
    scored: set[tuple[int, int]] = set()
    for (time, task, name), file in files:
        log = Log(file, READER.name)
        if names.setdefault(task, name) != name:
            raise log.fault(f"task {task} is {name!r} here and {names[task]!r} in an earlier file", 1)
        if task > time:
            raise log.fault(f"task {task} comes after round {time}: TRACE evaluates trained tasks only", 1)
        metrics, samples = _evaluation(log)
        scored.add((time, task))
        for metric, score in metrics.items():
            cells = tables.setdefault(metric, Cells(log, SCALES[metric]))
            cells.log = log  # a refusal names the file at hand
            cells.put(time, task, score, log.line_of(metric))
            cells.counts[time, task] = samples
    return _runs(path, names, tables, scored)


def _key(name: str) -> tuple[int, int, str] | None:
    match = NAME.fullmatch(name)
    return (int(match[1]), int(match[2]), match[3]) if match else None


def _evaluation(log: Log) -> tuple[dict[str, float], int]:
    content = log.json()
    found = content.get("eval") if isinstance(content, dict) else None
    labels = content.get("labels") if isinstance(content, dict) else None
    if not isinstance(found, dict) or not isinstance(labels, list) or not labels:
        raise log.fault("is no result of TRACE: an object with 'eval', an object, and 'labels', a list", 1)
    return {metric: _score(log, metric, value) for metric, value in found.items()}, len(labels)


def _score(log: Log, metric: str, value: Any) -> float:
    if metric not in SCALES:
        known = ", ".join(SCALES)
        raise log.fault(f"metric {shorten(metric)} is not among TRACE's {known}, so its scale is not known", 1)
    if metric == "sari" and isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict):
        value = value[0].get("sari")  # as the evaluation library returns it
    if not arrays.is_number(value):
        raise log.fault(f"{metric} is {shorten(repr(value))}: give a finite number", log.line_of(metric))
    return float(value)


def _runs(path: Path, names: dict[int, str], tables: dict[str, Cells], scored: set[tuple[int, int]]) -> list[Run]:
    count = 1 + max(time for time, _ in scored)
    if sorted(names) != list(range(count)):
        raise InputError(f"{path}: {count} rounds, and tasks {sorted(names)}: a round trains one task each")
    if not tables:
        raise InputError(f"{path}: every 'eval' is empty: TRACE has no evaluation for these tasks")
    tasks = [f"{j + 1} {names[j]}" if list(names.values()).count(names[j]) > 1 else names[j] for j in range(count)]

    def why(time: int, task: int) -> str:
        if task > time:
            return "TRACE evaluates trained tasks only"
        return "this metric does not score the task" if (time, task) in scored else "no file for this round and task"

    runs = []
    for metric, cells in tables.items():
        declared = {"metric": metric, "scenario": "instruction", "tasks": tasks, "name": path.name, "source": path}
        matrix = cells.matrix(why, count=count, **declared)
        runs.append(Run(matrix, path.name))
    return runs


READER = Reader("trace", "TRACE: folder of results-*.json", None, None, parse, folder=sniff_folder)
