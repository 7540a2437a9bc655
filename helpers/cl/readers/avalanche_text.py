"""Avalanche's TextLogger and InteractiveLogger: what they print while a strategy trains and evaluates."""

from __future__ import annotations

import re
from pathlib import Path

from ..record import Run
from .avalanche_dict import KEY, one_stream
from .reader import BEFORE, Cells, Log, Reader

EVALUATED = re.compile(r"> Eval on experience (\d{1,6})(?: \(Task [^)]*\))? from (\S+) stream ended\.")
TRAINED = re.compile(r"-- Starting training on experience (\d{1,6})(?: \(Task [^)]*\))? from \S+ stream --")
SCORE = re.compile(r"\t(\S+) = (\S*)\s*")
BEGIN, END = "-- >> Start of training phase << --", "-- >> End of training phase << --"


def sniff(head: str) -> bool:
    """Whether a line announces a phase or an evaluation."""
    return any(line.startswith(("-- >> Start of ", "> Eval on experience ")) for line in head.split("\n"))


def parse(path: Path) -> list[Run]:
    """The one run of a text log.

    The row of a score is the experience trained last, its column the experience that the line above it names;
    evaluations inside a training phase are passed over. What was evaluated before any training is the baseline. A cell
    that is evaluated again replaces the first, and is noted.
    """
    log = Log(path, READER.name)
    found: list[tuple[str, int, int, float, int]] = []
    time, training, evaluated = BEFORE, False, None
    unfinished = None if log.text.endswith("\n") else log.text.count("\n") + 1
    for number, line in log.lines():
        if line.startswith((BEGIN, END)):
            training, evaluated = line.startswith(BEGIN), None
        elif match := TRAINED.match(line):
            if int(match[1]) < time:
                raise log.fault(f"experience {match[1]} is trained after {time}: keep the lines of one run", number)
            time, evaluated = int(match[1]), None
        elif match := EVALUATED.match(line):
            evaluated = int(match[1])
        elif not line.startswith("\t"):
            evaluated = None
        elif evaluated is not None and not training:
            score = SCORE.fullmatch(line)
            key = KEY.fullmatch(score[1]) if score else None
            if score and key and int(key["exp"]) != evaluated:
                raise log.fault(f"Exp{key['exp']} below the evaluation of experience {evaluated}", number)
            if score and key and number == unfinished:
                raise log.fault("the file ends within this line, perhaps within the number: was it cut off?", number)
            if score and key:
                found.append((key["stream"], time, evaluated, log.number(score[2], score[1], number), number))
    if not found:
        raise log.fault("no line 'Top1_Acc_Exp/... = ' below an evaluation: monitor accuracy_metrics(experience=True)")
    stream, notes = one_stream(log, [entry[0] for entry in found])
    cells = Cells(log, "fraction")
    for name, moment, task, score_found, number in found:
        if name == stream:
            cells.put(moment, task, score_found, number, last_wins=True)
    return [Run(cells.matrix(_why, notes=notes, name=path.stem), path.stem)]


def _why(time: int, task: int) -> str:
    return f"experience {task} was not evaluated after training on experience {time}"


READER = Reader("avalanche-text", "Avalanche, TextLogger or InteractiveLogger", "fraction", sniff, parse)
