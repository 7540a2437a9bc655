"""What every reader shares: its contract, a log whose lines can be named, and the cells found in it."""

from __future__ import annotations

import functools
import json
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import InputError
from ...records import unique_keys
from ..inputs import LIMITS
from ..record import AccuracyMatrix, Run

#: Larger files are refused: a matrix of a hundred tasks is a few hundred kilobytes in every grammar.
MAX_BYTES = 64 * 2**20
#: So much of a file decides which grammar it follows.
HEAD = 2**16
#: Tasks that a log may have: one mistyped number must not ask for a matrix of terabytes.
MAX_TASKS = 1000
#: The moment before any training, whose scores are the baseline.
BEFORE = -1

NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,4})?", re.ASCII)
KEY = re.compile(r'"([^"\\\n]{1,300})"\s*:')
WHOLE = re.compile(r"\d{1,6}", re.ASCII)
NUMPY = b"\x93NUMPY"
UNREADABLE = (b"\x80", b"PK\x03\x04")  # pickles, and the archives that hold them

RECIPES = {
    "gem": "GEM writes a .txt beside every .pt: read that one",
    "continuum": (
        "where the run was made, and only if you trust the file: json.dump(logger.logger_dict, "
        "open('log.json', 'w'), default=lambda array: array.tolist())"
    ),
}
RECIPE = (
    "where the run was made, and only if you trust the file, write its matrix as a CSV: "
    "numpy.savetxt('matrix.csv', matrix, delimiter=','), and read it as wide-csv; a record that this library saved is "
    "opened by AccuracyMatrix.load"
)


@dataclass(frozen=True)
class Reader:
    """One grammar of logs.

    Parameters
    ----------
    name : str
        What `format` calls it.
    source : str
        Which tool writes such files.
    scale : {"fraction", "percent"} or None
        What the tool writes; None where whoever reads the file has to say, and where it depends on the metric.
    sniff : callable or None
        Whether the head of a file can be of this grammar; None where a log is no file.
    parse : callable
        ``parse(path, **options)`` gives the runs of a file, in the order in which they stand there.
    options : tuple of str
        Which of the keywords `scale`, `rows` and `direction` the grammar leaves to the caller.
    folder : callable or None
        Whether a folder with these names, line by line, can be of this grammar; None where a log is no folder.
    """

    name: str
    source: str
    scale: str | None
    sniff: Callable[[str], bool] | None
    parse: Callable[..., list[Run]]
    options: tuple[str, ...] = ()
    folder: Callable[[str], bool] | None = None


class Log:
    """A text file, and the one way to name a place in it."""

    def __init__(self, path: Path, format: str) -> None:
        self.path = path
        self.format = format
        self.text = decoded(read_bytes(path, format), path)

    def lines(self) -> Iterator[tuple[int, str]]:
        """Number, from 1, and text of the lines that are not blank."""
        for number, line in enumerate(self.text.split("\n"), start=1):
            if line.strip():
                yield number, line

    def fault(self, message: str, line: int | None = None) -> InputError:
        """The refusal of a line, or of the whole file."""
        where = self.path if line is None else f"{self.path}, line {line}"
        return InputError(f"{where}: {message}")

    def number(self, cell: str, name: str, line: int) -> float:
        """A plain decimal number; neither nan nor inf, nor 1_000."""
        text = cell.strip()
        if len(text) > 64 or not NUMBER.fullmatch(text):
            raise self.fault(f"{name} is {shorten(cell)}: give a number", line)
        return float(text)

    def whole(self, cell: str, name: str, line: int) -> int:
        """A whole number from 0 on."""
        if not WHOLE.fullmatch(cell.strip()):
            raise self.fault(f"{name} is {shorten(cell)}: give a whole number, 0 to 999999", line)
        return int(cell)

    def json(self) -> Any:
        """The content of a JSON file whose objects name each key once."""
        return self.json_of(self.text, None)

    def json_of(self, text: str, line: int | None) -> Any:
        """JSON from one line, or from the whole text."""
        try:
            return json.loads(text, object_pairs_hook=unique_keys)
        except InputError as error:
            raise self.fault(str(error), line) from error
        except json.JSONDecodeError as error:
            raise self.fault(f"is no JSON ({error.msg})", line or error.lineno) from error
        except (ValueError, RecursionError) as error:
            raise self.fault(f"is no JSON that can be read ({shorten(str(error), quote=False)})", line) from error

    def line_of(self, key: str, occurrence: int = 0) -> int:
        """The line on which a key of a JSON file stands for the n-th time, from 0."""
        lines = self._keys.get(key, ())
        return lines[occurrence] if occurrence < len(lines) else 1

    @functools.cached_property
    def _keys(self) -> dict[str, list[int]]:
        """The lines of each key, found in one pass, because a log of many rounds repeats its keys."""
        found: dict[str, list[int]] = {}
        line, last = 1, 0
        for match in KEY.finditer(self.text):
            line, last = line + self.text.count("\n", last, match.start()), match.start()
            found.setdefault(match[1], []).append(line)
        return found


class Cells:
    """Scores by moment and task, each with the line that it stands on."""

    def __init__(self, log: Log, scale: str) -> None:
        self.log = log
        self.scale = scale
        self.scores: dict[tuple[int, int], float] = {}
        self.counts: dict[tuple[int, int], int] = {}
        self.reasons: dict[tuple[int, int], str] = {}
        self.lines: dict[tuple[int, int], int] = {}
        self.repeats: list[str] = []

    def put(self, time: int, task: int, score: float, line: int, *, last_wins: bool = False) -> None:
        """Keep a score; a second one for the same cell is refused, or replaces the first and is noted."""
        self._place(time, task, line, last_wins=last_wins)
        limit = LIMITS.get(self.scale, math.inf)
        if not math.isfinite(score) or (self.scale != "free" and not 0.0 <= score <= limit):
            allowed = "a finite number" if self.scale == "free" else f"0 to {limit:g} ({self.scale})"
            raise self.log.fault(f"{self._name(time, task)} is {score:g}: {allowed} is expected", line)
        self.scores[time, task] = score

    def leave_out(self, time: int, task: int, reason: str, line: int, *, last_wins: bool = False) -> None:
        """Note that the file names a cell and why it holds no score."""
        self._place(time, task, line, last_wins=last_wins)
        self.scores.pop((time, task), None)
        self.reasons[time, task] = reason

    def matrix(self, why: Callable[[int, int], str], *, count: int | None = None, **declared: Any) -> AccuracyMatrix:
        """The matrix of these cells; ``why(time, task)`` explains what the file does not mention.

        Raises
        ------
        InputError
            Not one score after training, or what `AccuracyMatrix` refuses.
        """
        if all(time == BEFORE for time, _ in self.scores):
            raise self.log.fault("holds no accuracy of a task after training")
        size = count or 1 + max(max(place) for place in self.lines)
        values = [[self.scores.get((k, j)) for j in range(size)] for k in range(size)]
        before = [self.scores.get((BEFORE, j)) for j in range(size)]
        reasons = {
            (k, j): self.reasons.get((k, j)) or why(k, j)
            for k in range(size)
            for j in range(size)
            if values[k][j] is None
        }
        samples = [[self.counts.get((k, j), 0) for j in range(size)] for k in range(size)] if self.counts else None
        notes = [*declared.pop("notes", ()), *self._repeated()]
        source = declared.pop("source", self.log.path)
        try:
            return AccuracyMatrix(
                values,
                baseline=None if all(score is None for score in before) else {"random-init": before},
                n=samples,
                reasons=reasons,
                scale=self.scale,
                notes=notes,
                provenance={"file": source.name, "format": self.log.format},
                **declared,
            )
        except InputError as error:
            raise self.log.fault(str(error)) from error

    def _place(self, time: int, task: int, line: int, *, last_wins: bool) -> None:
        if max(time, task) >= MAX_TASKS:
            raise self.log.fault(f"{self._name(time, task)}: at most {MAX_TASKS} tasks are read", line)
        if (time, task) in self.lines:
            earlier = f"{self._name(time, task)} stands on line {self.lines[time, task]} and again on line {line}"
            if not last_wins:
                raise self.log.fault(f"{earlier}: give each cell once", line)
            self.repeats.append(earlier)
        self.lines[time, task] = line

    def _name(self, time: int, task: int) -> str:
        moment = "before training" if time == BEFORE else f"after task {time + 1}"
        return f"the score of task {task + 1} {moment}"

    def _repeated(self) -> list[str]:
        if not self.repeats:
            return []
        more = f", and {len(self.repeats) - 1} more such cells" if len(self.repeats) > 1 else ""
        return [f"{self.repeats[0]}{more}: the last one counts"]


def read_bytes(path: Path, format: str, head: int | None = None) -> bytes:
    """The bytes of a file, or its first ones; neither too large nor a file that only a pickle reader opens."""
    if path.is_dir():
        raise InputError(f"{path}: is a folder, and a log of format {format!r} is a file: name the file")
    with path.open("rb") as stream:
        content = stream.read(head or MAX_BYTES + 1)
    if content.startswith(NUMPY):
        raise InputError(
            f"{path}: is a NumPy array, not a log: AccuracyMatrix(numpy.load({path.name!r}), scale=...) takes it"
        )
    if content.startswith(UNREADABLE) or path.suffix in (".pt", ".pth", ".pkl", ".pickle", ".npz", ".ckpt"):
        recipe = RECIPES.get(format, RECIPE)
        raise InputError(f"{path}: pickles and archives are never opened here, because they can run code: {recipe}")
    if len(content) > MAX_BYTES:
        raise InputError(f"{path}: is larger than {MAX_BYTES // 2**20} MiB: keep the lines that hold the accuracies")
    return content


def decoded(content: bytes, path: Path) -> str:
    """UTF-8 text with one kind of line end; spreadsheets put a mark in front, which goes."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError(f"{path}, line {line}: not UTF-8 text ({error.reason}): save it again as UTF-8") from error
    return text.replace("\r\n", "\n").replace("\r", "\n")


def shorten(text: str, limit: int = 60, *, quote: bool = True) -> str:
    """A piece of the file for a message, never a whole long line."""
    kept = text if len(text) <= limit else f"{text[:limit]}..."
    return repr(kept) if quote else kept
