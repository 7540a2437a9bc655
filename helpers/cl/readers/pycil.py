"""PyCIL: what its trainer prints, with the matrix turned round, or the log with the accuracies of every task."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ... import arrays
from ...errors import InputError
from ..record import AccuracyMatrix, Run
from .literal import literal
from .reader import Cells, Log, Reader, shorten

BLOCK = re.compile(r"Accuracy Matrix \((CNN|NME)\):")
KINDS = ("CNN", "NME")
GROUP = re.compile(r"(\d{1,6})-(\d{1,6})")
SETTING = re.compile(r"(?:^|=> )(seed|model_name|init_cls|increment): (\S+)\s*$")
WIDTH = 10
UNSEEN = "PyCIL evaluates the classes trained so far only"
TENS = (
    "PyCIL groups classes by tens whatever a task holds, so groups are tasks only where init_cls and increment are 10: "
    "evaluate the tasks yourself and read a wide-csv"
)


def sniff(head: str) -> bool:
    """Whether the trainer speaks in it."""
    return bool(BLOCK.search(head)) or "[trainer.py] =>" in head or "CNN top1 curve: [" in head


def parse(path: Path) -> list[Run]:
    """The runs of a log or of a captured standard output, one for each classifier (CNN, NME).

    ``Accuracy Matrix (CNN):`` goes to standard output only; it has a row per task and a column per moment, and is
    turned round here. From eleven tasks on its tasks stand in the order of their names as texts (100-109 before
    20-29), which is undone. Where no matrix was captured the lines ``CNN: {'total': ..., '00-09': ...}`` give the
    same cells. Curves alone are refused: they are means over all classes. Percents; cells above the diagonal are
    missing.
    """
    log = Log(path, READER.name)
    runs = list(_from_blocks(log)) if BLOCK.search(log.text) else list(_from_lines(log))
    if not runs:
        raise log.fault(
            "holds neither 'Accuracy Matrix (CNN):' nor 'CNN: {...}': curves are means over all classes, from which no "
            "matrix follows; capture the standard output"
        )
    return runs


def _from_blocks(log: Log) -> Iterator[Run]:
    settings: dict[str, str] = {}
    lines = log.text.split("\n")
    for number, line in enumerate(lines, start=1):
        _note_setting(log, settings, line, number)
        if match := BLOCK.search(line):
            rows = _printed(log, lines, number)
            cells = Cells(log, "percent")
            count = len(rows)
            for time in range(count):
                for place, task in enumerate(_by_name(time + 1)):
                    cells.put(time, task, rows[place][time], number)
            _check_printed(log, rows, number)
            notes = [f"the order of the {count} tasks as texts was undone"] if count > 10 else []
            yield _run(log, cells, match[1], settings, number, notes)


def _printed(log: Log, lines: list[str], start: int) -> list[list[float]]:
    """The square of numbers that NumPy printed below a line, row by row."""
    text = ""
    for line in lines[start : start + 4000]:
        text += line + " "
        if "]]" in line:
            break
    body = text.strip()
    if "..." in body:
        raise log.fault("the matrix is abbreviated ('...'): use numpy.set_printoptions(threshold=10**6)", start)
    if not (body.startswith("[[") and body.endswith("]]")):
        raise log.fault("no matrix of numbers in double brackets follows", start)
    rows = [[log.number(cell, "a cell", start) for cell in row.strip(" [").split()] for row in body[2:-2].split("]")]
    if any(len(row) != len(rows) for row in rows):
        raise log.fault(f"the matrix has {len(rows)} rows, one of them of another length", start)
    return rows


def _check_printed(log: Log, rows: list[list[float]], number: int) -> None:
    for task, row in enumerate(rows):
        if any(row[:task]):
            raise log.fault(
                f"row {task + 1} of the matrix has a value before task {task + 1} was trained: PyCIL prints a row per "
                "task and a column per moment; was it turned round?",
                number,
            )
        if not any(row):
            raise log.fault(f"row {task + 1} of the matrix is all 0: {TENS}", number)


def _by_name(count: int) -> list[int]:
    """Groups in the order in which PyCIL sorts their names, as texts."""
    return sorted(range(count), key=lambda i: f"{str(WIDTH * i).rjust(2, '0')}-{WIDTH * i + WIDTH - 1}")


def _from_lines(log: Log) -> Iterator[Run]:
    settings: dict[str, str] = {}
    open_runs: dict[str, tuple[Cells, dict[str, str], int]] = {}
    for number, line in log.lines():
        _note_setting(log, settings, line, number)
        kind = next((kind for kind in KINDS if f"{kind}: {{" in line), None)
        if kind is None:
            continue
        scores = _groups(log, line.split(f"{kind}: ", 1)[1], number)
        if len(scores) == 1 and kind in open_runs:
            yield _finish(log, kind, open_runs.pop(kind))
        cells, begun, row = open_runs.get(kind, (Cells(log, "percent"), dict(settings), 0))
        if len(scores) != row + 1:
            raise log.fault(f"{len(scores)} groups of classes after task {row + 1}: {TENS}", number)
        for task, score in enumerate(scores):
            cells.put(row, task, score, number)
        open_runs[kind] = (cells, begun, row + 1)
    for kind, held in open_runs.items():
        yield _finish(log, kind, held)


def _finish(log: Log, kind: str, held: tuple[Cells, dict[str, str], int]) -> Run:
    cells, settings, _ = held
    return _run(log, cells, kind, settings, max(cells.lines.values()), [])


def _groups(log: Log, text: str, number: int) -> list[float]:
    try:
        content = literal(text)
    except InputError as error:
        raise log.fault(str(error), number) from error
    found: dict[int, float] = {}
    for key, value in content.items() if isinstance(content, dict) else ():
        if match := GROUP.fullmatch(str(key)):
            if int(match[2]) - int(match[1]) != WIDTH - 1 or not arrays.is_number(value):
                raise log.fault(f"group {key} is {shorten(repr(value))}: {TENS}", number)
            found[int(match[1])] = float(value)
    if sorted(found) != [WIDTH * i for i in range(len(found))] or not found:
        raise log.fault(f"groups of classes begin at {shorten(str(sorted(found)))}: {TENS}", number)
    return [found[first] for first in sorted(found)]


def _note_setting(log: Log, settings: dict[str, str], line: str, number: int) -> None:
    if match := SETTING.search(line):
        settings[match[1]] = match[2]
        if match[1] in ("init_cls", "increment") and match[2] != str(WIDTH):
            raise log.fault(f"{match[1]} is {shorten(match[2])}: {TENS}", number)


def _run(log: Log, cells: Cells, kind: str, settings: dict[str, str], number: int, notes: list[str]) -> Run:
    seed: Any = settings.get("seed")
    name = f"{settings.get('model_name', log.path.stem)}, {kind}"
    if seed is not None:
        seed = log.whole(seed, "seed", number)
    matrix: AccuracyMatrix = cells.matrix(lambda time, task: UNSEEN, scenario="class", name=name, notes=notes)
    return Run(matrix, name, seed=seed)


READER = Reader("pycil", "PyCIL: standard output or log of its trainer", "percent", sniff, parse)
