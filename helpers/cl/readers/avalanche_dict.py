"""Avalanche's metrics as JSON: a list of what ``strategy.eval`` returned, or ``get_all_metrics()``."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ... import arrays
from ...errors import InputError
from ..record import AccuracyMatrix, Run
from .reader import BEFORE, Cells, Log, Reader, shorten

KEY = re.compile(r"Top1_Acc_Exp/eval_phase/(?P<stream>[^/]{1,60})_stream(?:/Task\d{3,6})?/Exp(?P<exp>\d{3,6})")
LOSS = re.compile(KEY.pattern.replace("Top1_Acc_Exp", "Loss_Exp"))
MONITOR = "no key Top1_Acc_Exp/eval_phase/.../ExpNNN: monitor accuracy_metrics(experience=True)"
STALE = "accuracy and loss are those of the round before: a stale key, or a model that did not change"
REMEDY = "write json.dump(evaluator.get_all_metrics(), file), which says at how many iterations each value was measured"


def sniff(head: str) -> bool:
    """Whether it is JSON with keys of Avalanche's evaluation."""
    return head.lstrip().startswith(("[", "{")) and "/eval_phase/" in head


def parse(path: Path) -> list[Run]:
    """The one run of a JSON file in either of two shapes.

    A list has an object for each call of ``strategy.eval``, in order, one for each experience trained. Calls before
    the first with a key of the training phase are the baseline. As ``eval`` returns the latest known values, a key of
    an experience that was not evaluated again is stale: where accuracy and loss of an experience both stay what they
    were in the call before, the cell is missing, and where no loss was monitored they are kept and noted.

    An object has for each key its iterations and values, ``[[16, 32], [0.9, 0.8]]``, as ``get_all_metrics()`` returns
    them: a row is an iteration, 0 the baseline, and nothing can be stale.

    The column is the experience (``ExpNNN``); ``TaskNNN`` is a label that experiences may share.
    """
    log = Log(path, READER.name)
    content = log.json()
    matrix = _rounds(log, content) if isinstance(content, list) else _history(log, content)
    return [Run(matrix, path.stem)]


def one_stream(log: Log, found: Sequence[str]) -> tuple[str, list[str]]:
    """The stream that is read: "test", or the only one."""
    streams = sorted(set(found))
    if len(streams) == 1:
        return streams[0], []
    if "test" not in streams:
        names = ", ".join(map(repr, streams[:3]))
        raise log.fault(f"holds {len(streams)} streams, {names}, and no 'test': keep one of them")
    others = ", ".join(repr(name) for name in streams if name != "test")
    return "test", [f"only the stream 'test' is read, the file also holds {others}"]


def _rounds(log: Log, rounds: list[Any]) -> AccuracyMatrix:
    for i, entry in enumerate(rounds):
        if not isinstance(entry, dict):
            raise log.fault(f"entry {i} is {shorten(repr(entry))}: give the object that strategy.eval returned")
    keys = [match for entry in rounds for key in entry if (match := KEY.fullmatch(key))]
    if not keys:
        raise log.fault(MONITOR)
    stream, notes = one_stream(log, [match["stream"] for match in keys])
    count = 1 + max(int(match["exp"]) for match in keys if match["stream"] == stream)
    before = _untrained(log, rounds, count)
    cells, states, met = Cells(log, "fraction"), Counter[str](), Counter[str]()
    for i, entry in enumerate(rounds):
        time = BEFORE if i < before else i - before
        accuracies, losses = _by_experience(entry, KEY, stream), _by_experience(entry, LOSS, stream)
        for task, found in accuracies.items():
            key = found[0]
            line = log.line_of(key, met[key])
            if len(found) > 1:
                raise log.fault(f"round {i} has {key} and {found[1]}: one accuracy per experience is read", line)
            state = _state(entry, rounds[i - 1] if i else {}, key, losses.get(task, ()))
            states[state] += 1
            if state == "stale":
                cells.leave_out(time, task, STALE, line, last_wins=time == BEFORE)
            else:
                cells.put(time, task, _value(log, entry[key], key, line), line, last_wins=time == BEFORE)
        met.update(entry.keys())
    if states["stale"]:
        notes.append(f"{states['stale']} cells are left out as stale, accuracy and loss did not change: {REMEDY}")
    if states["unsure"]:
        notes.append(f"{states['unsure']} cells did not change, and without a loss none can be told stale: {REMEDY}")
    return cells.matrix(_why, count=count, notes=notes, name=log.path.stem)


def _untrained(log: Log, rounds: list[dict[str, Any]], count: int) -> int:
    """How many rounds came before training: those before the first with a metric of the training phase."""
    trained = [any("/train_phase/" in key for key in entry) for entry in rounds]
    before = trained.index(True) if True in trained else 0
    if len(rounds) - before != count:
        hint = "" if True in trained else " (no key of the training phase says which rounds came before it)"
        raise log.fault(
            f"{len(rounds) - before} rounds after training for {count} experiences{hint}: give one round per "
            f"experience trained, or {REMEDY}"
        )
    return before


def _by_experience(entry: Mapping[str, Any], pattern: re.Pattern[str], stream: str) -> dict[int, list[str]]:
    """The keys of one metric and stream, by experience."""
    found: dict[int, list[str]] = {}
    for key in entry:
        if (match := pattern.fullmatch(key)) and match["stream"] == stream:
            found.setdefault(int(match["exp"]), []).append(key)
    return found


def _state(entry: Mapping[str, Any], earlier: Mapping[str, Any], key: str, losses: Sequence[str]) -> str:
    """Whether an experience's accuracy is new, stale, or cannot be told."""
    if key not in earlier or earlier[key] != entry[key]:
        return "new"
    if not losses:
        return "unsure"
    return "stale" if all(name in earlier and earlier[name] == entry[name] for name in losses) else "new"


def _history(log: Log, content: Any) -> AccuracyMatrix:
    if not isinstance(content, dict):
        raise log.fault("give a list of the objects that strategy.eval returned, or get_all_metrics()")
    keys = [(key, match) for key in content if (match := KEY.fullmatch(key))]
    if not keys:
        raise log.fault(MONITOR)
    stream, notes = one_stream(log, [match["stream"] for _, match in keys])
    keys = [(key, match) for key, match in keys if match["stream"] == stream]
    count = 1 + max(int(match["exp"]) for _, match in keys)
    moments = _moments(log, content, [key for key, _ in keys], count)
    cells = Cells(log, "fraction")
    owners: dict[int, str] = {}
    for key, match in keys:
        line, task = log.line_of(key), int(match["exp"])
        if owners.setdefault(task, key) != key:
            raise log.fault(f"{owners[task]} and {key}: one accuracy per experience is read", line)
        for iteration, value in zip(*content[key], strict=True):
            cells.put(moments[iteration], task, _value(log, value, key, line), line, last_wins=True)
    return cells.matrix(_why, count=count, notes=notes, name=log.path.stem)


def _moments(log: Log, content: Mapping[str, Any], keys: Sequence[str], count: int) -> dict[int, int]:
    """From the number of training iterations to the row."""
    iterations: set[int] = set()
    for key in keys:
        pair = content[key]
        fits = isinstance(pair, list) and len(pair) == 2 and all(isinstance(part, list) for part in pair)
        if not fits or len(pair[0]) != len(pair[1]):
            raise _entry_fault(log, key, "give iterations and values of equal length, [[16, 32], [0.9, 0.8]]")
        for x in pair[0]:
            if isinstance(x, bool) or not isinstance(x, int) or x < 0:
                raise _entry_fault(log, key, f"iteration {shorten(repr(x))}: give whole numbers")
        iterations |= set(pair[0])
    after = sorted(iterations - {0})
    if len(after) != count:
        raise log.fault(
            f"{len(after)} moments of evaluation after training for {count} experiences: which of them end an "
            "experience is not written; keep one evaluation per experience trained, or read the text log or the CSV",
            log.line_of(keys[0]),
        )
    return {0: BEFORE, **{iteration: row for row, iteration in enumerate(after)}}


def _value(log: Log, value: Any, key: str, line: int) -> float:
    if not arrays.is_number(value):
        raise log.fault(f"{key} is {shorten(repr(value))}: give a finite number", line)
    return float(value)


def _entry_fault(log: Log, key: str, message: str) -> InputError:
    return log.fault(f"{key}: {message}", log.line_of(key))


def _why(time: int, task: int) -> str:
    return f"experience {task} was not evaluated at moment {time + 1}"


READER = Reader("avalanche-dict", "Avalanche, metrics of the evaluator as JSON", "fraction", sniff, parse)
