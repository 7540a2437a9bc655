"""GEM (Gradient Episodic Memory): the ``.txt`` that its script writes, baseline and matrix."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..record import Run
from .reader import BEFORE, Cells, Log, Reader

FOOTER = ("Final Accuracy:", "Backward:", "Forward:")
#: With 4 decimals each of two cells and their printed mean may be off by half a unit.
ROUNDING = 1.6e-4


def sniff(head: str) -> bool:
    """Whether the second line is the bar below the baseline."""
    lines = head.split("\n", 2)
    return len(lines) > 1 and lines[1].strip() == "|"


def parse(path: Path) -> list[Run]:
    """The one run of a ``.txt``: the baseline (the net before training), ``|``, a row per task, three sums.

    The sums are the script's own, with divisor T; they are compared with the rows, so that a file that was cut, edited
    or turned round is refused.
    The script leaves the last test sample of each task out and divides by all, so its accuracies are a little low.
    """
    log = Log(path, READER.name)
    lines = list(log.lines())
    if len(lines) < 2 or lines[1][1].strip() != "|":
        raise log.fault("the second line is no bar '|' below the baseline", lines[1][0] if len(lines) > 1 else 1)
    count = len(lines[0][1].split())
    cells = Cells(log, "fraction")
    table = [lines[0], *lines[2 : 2 + count]]
    for time, (number, line) in enumerate(table, start=BEFORE):
        fields = line.split()
        if len(fields) != count:
            raise log.fault(f"{len(fields)} values, the baseline has {count}: a matrix of {count} rows is due", number)
        for task, field in enumerate(fields):
            cells.put(time, task, log.number(field, f"value {task + 1}", number), number)
    if len(table) != count + 1:
        raise log.fault(f"{len(table) - 1} rows for {count} tasks: was the file cut off?", table[-1][0])
    matrix = cells.matrix(lambda time, task: "", name=path.stem)
    _check_footer(log, lines[2 + count :], lines[-1][0], matrix.values, matrix.baselines["random-init"])
    return [Run(matrix, path.stem)]


def _check_footer(log: Log, lines: list[tuple[int, str]], last: int, values: np.ndarray, baseline: np.ndarray) -> None:
    if len(lines) != len(FOOTER):
        raise log.fault(
            f"{len(lines)} lines below the matrix, {', '.join(FOOTER)} are due: was the file cut off?", last
        )
    ahead = np.diagonal(values, 1) - baseline[1:]
    sums = (values[-1].mean(), (values[-1] - np.diagonal(values)).mean(), ahead.sum() / len(values))
    for (number, line), name, expected in zip(lines, FOOTER, sums, strict=True):
        if not line.startswith(name):
            raise log.fault(f"begins with {line[:20]!r}, {name!r} is due", number)
        found = log.number(line.removeprefix(name), name, number)
        if abs(found - expected) > ROUNDING:
            raise log.fault(
                f"{name} {found:g}, but the rows give {expected:.4f}: was the file edited or turned round?", number
            )


READER = Reader("gem", "GEM: the .txt of its main.py", "fraction", sniff, parse)
