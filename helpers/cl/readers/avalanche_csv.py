"""Avalanche's CSVLogger: ``eval_results.csv``, a line for each experience evaluated."""

from __future__ import annotations

from pathlib import Path

from ..record import Run
from .reader import BEFORE, Cells, Log, Reader, shorten

HEADER = "eval_exp,training_exp,eval_accuracy,eval_loss,forgetting"
TRAINING = "training_exp,epoch,training_accuracy,val_accuracy,training_loss,val_loss"
#: What the logger writes where the metric was not monitored: a whole number, while a measured accuracy has 4 decimals.
ABSENT = "0"


def sniff(head: str) -> bool:
    """Whether the first line is the logger's header."""
    return head.split("\n", 1)[0].strip() == HEADER


def parse(path: Path) -> list[Run]:
    """The one run of an ``eval_results.csv``.

    The column of a score is the experience (``eval_exp``), the row the experience trained last. ``None`` there is the
    model before any training: the baseline. A pair that occurs again replaces the first, and is noted.
    """
    log = Log(path, READER.name)
    cells, latest = Cells(log, "fraction"), BEFORE
    lines = log.lines()
    number, first = next(lines, (1, ""))
    if first.strip() == TRAINING:
        raise log.fault("this is the log of training: read eval_results.csv beside it", number)
    if first.strip() != HEADER:
        raise log.fault(f"the header is {shorten(first)}: {HEADER} is expected", number)
    for number, line in lines:
        fields = line.split(",")
        if len(fields) != 5:
            raise log.fault(f"{len(fields)} values, the header has 5", number)
        task = log.whole(fields[0], "eval_exp", number)
        time = BEFORE if fields[1].strip() == "None" else log.whole(fields[1], "training_exp", number)
        if time < latest:
            raise log.fault(
                f"training_exp is {fields[1]} after {latest}: a row is a moment, so experiences are trained in order; "
                "keep the lines of one run",
                number,
            )
        latest = time
        if fields[2].strip() == ABSENT:
            reason = "the accuracy of experiences was not monitored, for which Avalanche writes 0"
            cells.leave_out(time, task, reason, number, last_wins=True)
        else:
            cells.put(time, task, log.number(fields[2], "eval_accuracy", number), number, last_wins=True)
    return [Run(cells.matrix(_why, name=path.stem), path.stem)]


def _why(time: int, task: int) -> str:
    return f"no line with eval_exp {task} and training_exp {time}"


READER = Reader("avalanche-csv", "Avalanche, CSVLogger: eval_results.csv", "fraction", sniff, parse)
