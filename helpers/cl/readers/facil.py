"""FACIL: the matrices ``acc_taw-*.txt`` and ``acc_tag-*.txt``, or the ``raw_log-*.txt`` beside them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from ... import arrays
from ..record import AccuracyMatrix, Run
from .reader import Cells, Log, Reader, shorten

SCENARIOS = {"taw": "task", "tag": "class"}
NAME = re.compile(r"(?P<what>acc_(?P<kind>taw|tag)|raw_log)-(?P<stamp>\d{4}(?:-\d\d){4})")
ROW = re.compile(r"\d\.\d{6}(?:\t\d\.\d{6})*", re.ASCII)
ENTRY = ("group", "iter", "name", "task", "time", "value")
UNSEEN = "FACIL evaluates tasks that were trained, and stores 0 for the others"
NOT_RUN = "not run: FACIL stores a row of zeros until the task is trained"


def sniff(head: str) -> bool:
    """Whether the first line is a row of tab-separated fractions, or an entry of the raw log."""
    first = head.split("\n", 1)[0]
    return bool(ROW.fullmatch(first)) or (first.startswith("{") and all(f'"{key}":' in first for key in ENTRY))


def parse(path: Path) -> list[Run]:
    """The run of a matrix file, or the two of a raw log, Task-IL (``taw``) and Class-IL (``tag``).

    Matrix files hold fractions and 0 where nothing was measured: cells above the diagonal are missing, and so is a row
    of zeros. A raw log holds percents and only what was measured. The seed and the method are taken from
    ``args-*.txt`` of the same time stamp where that file lies in its place.
    """
    log = Log(path, READER.name)
    if re.match(r"(forg|w?avg_acc)", path.name):
        raise log.fault("holds forgetting or means, no accuracies: read acc_taw-*.txt or acc_tag-*.txt beside it")
    name, seed = _arguments(path)
    if log.text.startswith("{"):
        return [Run(matrix, name, seed=seed) for matrix in _raw(log, name)]
    return [Run(_square(log, name), name, seed=seed)]


def _square(log: Log, name: str) -> AccuracyMatrix:
    rows = [(number, line.split("\t")) for number, line in log.lines()]
    count = len(rows)
    if not rows or len(rows[0][1]) != count:
        width = len(rows[0][1]) if rows else 0
        raise log.fault(f"{count} lines and {width} values in the first: a matrix has a line for each task")
    scores: list[list[float]] = []
    for number, fields in rows:
        if len(fields) != count:
            raise log.fault(f"{len(fields)} values, the first line has {count}", number)
        scores.append([log.number(field, f"value {j + 1}", number) for j, field in enumerate(fields)])
    cells, notes = Cells(log, "fraction"), []
    for k, (number, _) in enumerate(rows):
        above = [j for j in range(k + 1, count) if scores[k][j] != 0.0]
        if above:
            raise log.fault(
                f"value {above[0] + 1} is {scores[k][above[0]]:g}, above the diagonal, where FACIL writes 0: was the "
                "matrix turned round?",
                number,
            )
        for j in range(k + 1):
            if any(scores[k]):
                cells.put(k, j, scores[k][j], number)
            else:
                cells.leave_out(k, j, NOT_RUN, number)
    match = NAME.match(log.path.name)
    if match is None or not match["kind"]:
        notes = ["the file's name does not begin with acc_taw or acc_tag, so the scenario is not known"]
    scenario = SCENARIOS[match["kind"]] if match and match["kind"] else None
    return cells.matrix(_why, count=count, scenario=scenario, notes=notes, name=name)


def _raw(log: Log, name: str) -> list[AccuracyMatrix]:
    found = {f"acc_{kind}": Cells(log, "percent") for kind in SCENARIOS}
    for number, line in log.lines():
        entry = log.json_of(line, number)
        if not isinstance(entry, dict) or any(key not in entry for key in ENTRY):
            raise log.fault(f"is no entry of a raw log, which has {', '.join(ENTRY)}", number)
        if entry["group"] != "test" or not isinstance(entry["name"], str) or entry["name"] not in found:
            continue
        time, task, cells = entry["task"], entry["iter"], found[entry["name"]]
        if any(isinstance(i, bool) or not isinstance(i, int) or i < 0 for i in (time, task)):
            raise log.fault(f"task and iter are {shorten(repr((time, task)))}: give whole numbers from 0 on", number)
        if (time, task) in cells.lines:
            raise log.fault(
                f"task {time}, iter {task} stands on line {cells.lines[time, task]} too: two runs that began in one "
                "minute share the file, keep the lines of one",
                number,
            )
        if not arrays.is_number(entry["value"]):
            raise log.fault(f"value is {shorten(repr(entry['value']))}: give a finite number", number)
        cells.put(time, task, float(entry["value"]), number)
    present = {kind: cells for kind, cells in found.items() if cells.scores}
    if not present:
        raise log.fault("no entry acc_taw or acc_tag of group 'test'")
    return [
        cells.matrix(_why, scenario=SCENARIOS[kind.removeprefix("acc_")], name=name) for kind, cells in present.items()
    ]


def _arguments(path: Path) -> tuple[str, int | None]:
    """Method and seed from the arguments that FACIL stores beside a raw log, or above the folder of the matrices."""
    match = NAME.match(path.name)
    folder = path.parent.parent if match and match["kind"] else path.parent
    beside = folder / f"args-{match['stamp']}.txt" if match else None
    if beside is None or not beside.is_file():
        return path.stem, None
    log = Log(beside, READER.name)
    content: Any = log.json()
    seed = content.get("seed") if isinstance(content, dict) else None
    method = content.get("approach") if isinstance(content, dict) else None
    if isinstance(seed, bool) or not isinstance(seed, int) or not isinstance(method, str) or not method:
        raise log.fault("does not name 'seed' and 'approach': it belongs to the log beside it, mend it or move it away")
    return method, seed


def _why(time: int, task: int) -> str:
    return UNSEEN if task > time else NOT_RUN


READER = Reader("facil", "FACIL: acc_taw-*.txt, acc_tag-*.txt, raw_log-*.txt", "fraction", sniff, parse)
