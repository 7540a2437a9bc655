"""Tables with a header line, read a line at a time."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path

from ..errors import InputError
from ..records import check_columns


def rows_of(
    path: str | Path, *, needed: Sequence[str], optional: Sequence[str] = ()
) -> Iterator[tuple[int, dict[str, str]]]:
    """Lines of a .csv file under its header, each with its number; blank ones are passed over.

    Parameters
    ----------
    path : path
    needed, optional : sequence of str
        Columns that must and may be there. Without optional ones any others may.

    Raises
    ------
    InputError
        Other columns, a line of another length, no line at all, not UTF-8, or quotes that do not close.
    OSError
        The file cannot be read.
    """
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as stream:
            reader = csv.reader(stream, strict=True)
            names = [name.strip() for name in next(reader, [])]
            check_columns(names, needed=needed, optional=optional, others=not optional, where=f"{path}, line 1")
            empty = True
            for cells in filter(None, reader):
                if len(cells) != len(names):
                    raise InputError(f"{path}, line {reader.line_num}: {len(cells)} cells, the header has {len(names)}")
                empty = False
                yield reader.line_num, {name: cell.strip() for name, cell in zip(names, cells, strict=True)}
            if empty:
                raise InputError(f"{path}: holds no line after the header")
    except (csv.Error, UnicodeDecodeError) as error:
        raise InputError(f"{path}: no table ({error}): save it as UTF-8 with commas") from error
