"""Other people's logs: one reader per grammar, all behind `read`; nothing is ever unpickled or evaluated."""

from __future__ import annotations

from pathlib import Path

from ... import arrays
from ...errors import InputError
from ...records import checked_path
from ..record import DIRECTIONS, SCALES, Run
from . import (
    avalanche_csv,
    avalanche_dict,
    avalanche_text,
    continuum,
    facil,
    gem,
    long_csv,
    mammoth,
    pycil,
    trace,
    wide_csv,
)
from .reader import HEAD, Reader, decoded, read_bytes

#: Every format by name.
READERS: dict[str, Reader] = {
    module.READER.name: module.READER
    for module in (
        avalanche_csv,
        avalanche_dict,
        avalanche_text,
        facil,
        mammoth,
        gem,
        continuum,
        pycil,
        trace,
        long_csv,
        wide_csv,
    )
}
CHOICES = {"scale": SCALES, "rows": ("time", "task"), "direction": DIRECTIONS}


def read(
    path: str | Path,
    format: str = "auto",
    *,
    scale: str | None = None,
    rows: str | None = None,
    direction: str | None = None,
) -> list[Run]:
    """The runs of a log that another tool wrote, each with its accuracy matrix.

    It is always a list, in the order of the file: most files hold one run, ``logs.pyd`` of Mammoth holds one per line,
    a raw log of FACIL one per scenario, a folder of TRACE one per metric, a long table as many as it names. Mammoth
    writes a Class-IL run into two files: its folder of results (``data/results``) gives both matrices, told apart by
    their scenario.

    Parameters
    ----------
    path : path
        The file; for "trace" the folder, for "mammoth" either.
    format : str
        "avalanche-csv", "avalanche-dict", "avalanche-text", "facil", "mammoth", "gem", "continuum", "pycil", "trace",
        "long-csv", "wide-csv", or "auto": the one grammar that fits the head of the file.
    scale : {"percent", "fraction", "free"}, optional
        For the two CSV formats, and required there: a scale is declared, never guessed. The tools have their own.
    rows : {"time", "task"}, optional
        For "wide-csv", and required there: what a line stands for.
    direction : {"higher", "lower"}, optional
        For the two CSV formats: which scores are better, by default the higher.

    Returns
    -------
    list of Run
        What looked odd stands in ``run.matrix.warnings``; why a cell is missing says ``run.matrix.reason``.

    Raises
    ------
    InputError
        A path that is none; an unknown format; "auto" where no grammar or more than one fits; a scale or orientation
        that is missing, or one given to a tool's log; a file that does not follow its grammar, named with the line;
        pickles and archives, which can run code, with a recipe; files above 64 MiB.
    OSError
        The file cannot be read.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "matrix.csv")
    ...     _ = path.write_text("after,digits,letters\\n1,90,missing: no interface yet\\n2,75,93\\n")
    ...     [run] = read(path, "wide-csv", scale="percent", rows="time")
    >>> run.matrix
    AccuracyMatrix('matrix', 2 tasks, percent, 1 cells missing)
    >>> run.matrix.reason(0, 1), run.matrix.tasks
    ('no interface yet', ('digits', 'letters'))
    """
    path = checked_path(path)
    if not isinstance(format, str) or (format != "auto" and format not in READERS):
        raise InputError(f"format is {format!r}: choose one of {', '.join(READERS)}, or auto")
    reader = READERS[sniff(path) if format == "auto" else format]
    given = {"scale": scale, "rows": rows, "direction": direction}
    options = {name: value for name, value in given.items() if value is not None}
    for name, value in options.items():
        if name not in reader.options:
            own = f" ({reader.scale})" if name == "scale" and reader.scale else ""
            raise InputError(f"{name} is {value!r}, but {reader.name} logs have their own{own}: leave it out")
        arrays.one_of(value, name, CHOICES[name])
    for name in ("scale", "rows"):
        if name in reader.options and name not in options:
            choices = ", ".join(map(repr, CHOICES[name]))
            raise InputError(f"{path}: {name} is not given, and a {reader.name} file does not say it: {choices}")
    return reader.parse(path, **options)


def sniff(path: str | Path) -> str:
    """The name of the one format whose grammar fits the head of a file, or the names in a folder.

    Raises
    ------
    InputError
        None fits, or more than one: they are named, and one has to be chosen.
    OSError
        The file cannot be read.
    """
    path = checked_path(path)
    if path.is_dir():
        head = "\n".join(sorted(entry.name for entry in path.iterdir()))
        tests = {name: reader.folder for name, reader in READERS.items()}
    else:
        head = decoded(_whole_characters(read_bytes(path, "auto", HEAD)), path)
        tests = {name: reader.sniff for name, reader in READERS.items()}
    fitting = [name for name, fits in tests.items() if fits is not None and fits(head)]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise InputError(f"{path}: {' and '.join(fitting)} both fit: choose one of them with format")
    raise InputError(f"{path}: no known grammar fits: choose a format of {', '.join(READERS)}")


def _whole_characters(head: bytes) -> bytes:
    """Without the rest of a character that the cut went through."""
    for cut in range(1, 4):
        if len(head) == HEAD and head[-cut] >= 0xC0:
            return head[:-cut]
    return head
