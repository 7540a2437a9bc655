"""Readers: a trace from a plain table, lines of JSON, a record, or a result file of the source's code."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from ..errors import InputError, located
from ..records import check_columns, read_text
from .record import Trace
from .times import parse_ms

COLUMNS = ("size", "correct", "intrinsic_ms", "extrinsic_ms")
OPTIONAL = "arrival_ms"
FORMATS = {".csv": "csv", ".jsonl": "jsonl", ".npz": "npz", ".json": "upstream"}


def read(path: str | Path, format: str | None = None, *, corruption: str | None = None) -> Trace:
    """A trace from a file.

    Parameters
    ----------
    path : path
        ``.csv`` with the columns ``size``, ``correct``, ``intrinsic_ms``, ``extrinsic_ms`` and, optionally,
        ``arrival_ms``, a line per batch; ``.jsonl`` with the same names, an object per batch, after an optional first
        line ``{"trace": {...}}`` that says what the trace is (see `Trace.to_jsonl`); ``.npz`` as `Trace.save` writes
        it; ``.json`` as the source's code writes its results.
    format : {"csv", "jsonl", "npz", "upstream"}, optional
        By default what the ending says.
    corruption : str, optional
        Which stream of a result file that holds several.

    Returns
    -------
    Trace

    Raises
    ------
    InputError
        A file that is not of that format, named by line or entry; times and counts that no `Trace` may have; a result
        file of several corruptions where none is chosen.
    OSError
        The file cannot be read.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "log.csv")
    ...     _ = path.write_text("size,correct,intrinsic_ms,extrinsic_ms\\n64,20,39.9,56.6\\n64,30,41,56.6\\n")
    ...     read(path)
    Trace(2 batches, 128 samples, accuracy 0.3906, mean latency 97.050 ms, offline log)
    """
    path = Path(path)
    chosen = FORMATS.get(path.suffix) if format is None else format
    if chosen is None or chosen not in FORMATS.values():
        raise InputError(
            f"{path}: format is {format!r}: a trace is read from {', '.join(FORMATS)} files, or choose one of "
            f"{', '.join(FORMATS.values())}"
        )
    if chosen == "upstream":
        return _choose(read_upstream(path), corruption, path)
    if corruption is not None:
        raise InputError(f"{path}: corruption is {corruption!r}, but a {chosen} file holds one stream: leave it out")
    readers: dict[str, Callable[[Path], Trace]] = {"csv": _read_csv, "jsonl": _read_jsonl, "npz": Trace.load}
    return readers[chosen](path)


def _choose(traces: Mapping[str, Trace], corruption: str | None, path: Path) -> Trace:
    if corruption is None and len(traces) == 1:
        return next(iter(traces.values()))
    if corruption is None or corruption not in traces:
        raise InputError(f"{path}: corruption is {corruption!r}: choose one of {', '.join(traces)}")
    return traces[corruption]


def _read_csv(path: Path) -> Trace:
    rows: list[tuple[str, dict[str, Any]]] = []
    lines = [(number, line) for number, line in enumerate(read_text(path).splitlines(), start=1) if line.strip()]
    if not lines:
        raise InputError(f"{path}: is empty: begin with the header {','.join(COLUMNS)}")
    names = [name.strip() for name in lines[0][1].split(",")]
    check_columns(names, needed=COLUMNS, optional=(OPTIONAL,), where=f"{path}, line {lines[0][0]}")
    for number, line in lines[1:]:
        cells = line.split(",")
        if len(cells) != len(names):
            raise InputError(f"{path}, line {number}: {len(cells)} values, the header has {len(names)}")
        rows.append((f"{path}, line {number}", dict(zip(names, cells, strict=True))))
    return _from_rows(rows, path, {})


def _read_jsonl(path: Path) -> Trace:
    context: dict[str, Any] = {}
    rows: list[tuple[str, dict[str, Any]]] = []
    for number, line in enumerate(read_text(path).splitlines(), start=1):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        content = _json(line, where)
        if not isinstance(content, dict):
            raise InputError(f"{where}: is no JSON object: give one per batch")
        if set(content) == {"trace"} and not rows:
            context = _context(json.loads(line)["trace"], where)
        else:
            check_columns(list(content), needed=COLUMNS, optional=(OPTIONAL,), where=where)
            rows.append((where, content))
    return _from_rows(rows, path, context)


def _context(head: Any, where: str) -> dict[str, Any]:
    known = ("corruption", "method", "device", "policy", "reference_ns", "live", "served", "provenance")
    if not isinstance(head, dict) or not set(head) <= set(known):
        raise InputError(f"{where}: the entry 'trace' is {head!r}: it may name {', '.join(known)}")
    return head


def _from_rows(rows: list[tuple[str, dict[str, Any]]], path: Path, context: dict[str, Any]) -> Trace:
    if not rows:
        raise InputError(f"{path}: holds no batch: a trace has at least one")
    for where, row in rows:
        if (OPTIONAL in row) != (OPTIONAL in rows[0][1]):
            raise InputError(f"{where}: give {OPTIONAL} for every batch, or for none")

    def column(name: str, cell: Callable[[Any, str], int]) -> list[int]:
        return [cell(row[name], f"{where}: {name}") for where, row in rows]

    size, correct = column("size", _count), column("correct", _count)
    intrinsic, extrinsic = column("intrinsic_ms", parse_ms), column("extrinsic_ms", parse_ms)
    arrival = column(OPTIONAL, parse_ms) if OPTIONAL in rows[0][1] else None
    with located(path):
        return Trace.from_ns(correct, size, intrinsic, extrinsic, arrival_ns=arrival, **context)


def _count(cell: Any, name: str) -> int:
    try:
        if isinstance(cell, bool) or not isinstance(cell, int | str):
            raise ValueError
        return int(cell)
    except ValueError:
        raise InputError(f"{name} is {str(cell)!r}: give a whole number of samples") from None


def read_upstream(path: str | Path) -> dict[str, Trace]:
    """Every stream of a result file of the source's code, by corruption.

    Offline logs and continuous projections become offline logs; discrete and amortised ones are live runs and keep
    their settings, with the source's rules: a waiting batch goes before one that arrives at that instant
    (``tie="buffer"``), and the budget is looked at before each batch (``cut="overshoot"``). The file stores all
    settings as text; the latency of standard inference is its ``response_budget``, where it has one.

    Parameters
    ----------
    path : path
        The ``.json`` of one method.

    Returns
    -------
    dict of str to Trace
        By corruption, in the order of the file.

    Raises
    ------
    InputError
        No such file, named by the entry that is missing or wrong.
    OSError
        The file cannot be read.

    Examples
    --------
    >>> import json, pathlib, tempfile
    >>> batch = {"num_samples": 64, "num_correct": 20, "prediction_time": 39.9, "adaptation_time": 56.6}
    >>> content = {"arguments": {"method": "ETA"}, "results": {"fog": {"batch_summaries": [batch]}}}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "eta.json")
    ...     _ = path.write_text(json.dumps(content))
    ...     read_upstream(path)["fog"]
    Trace(1 batches, 64 samples, accuracy 0.3125, mean latency 96.500 ms, method ETA, corruption fog, offline log)
    """
    path = Path(path)
    content = _json(read_text(path), str(path))
    arguments, results = _entry(content, "arguments", dict, path), _entry(content, "results", dict, path)
    if not results:
        raise InputError(f"{path}: entry 'results' is empty: it has a stream for each corruption")
    return {name: _stream(name, result, arguments, path) for name, result in results.items()}


def _stream(corruption: str, result: Any, arguments: Mapping[str, str], path: Path) -> Trace:
    where = f"{path}, results, {corruption}"
    batches = _entry(result, "batch_summaries", list, where)
    fields = ("num_samples", "num_correct", "prediction_time", "adaptation_time")
    for i, batch in enumerate(batches):
        for name in fields:
            if not isinstance(batch, dict) or name not in batch:
                raise InputError(f"{where}, batch {i}: entry {name!r} is missing: is this a file of the source's code?")
    size, correct, intrinsic, extrinsic = ([batch[name] for batch in batches] for name in fields)
    served = None
    if "interval" in arguments:
        served = [i for i, batch in enumerate(batches) if batch.get("num_skipped", 0) == 0]
    with located(where):
        return Trace(
            correct,
            size,
            intrinsic,
            extrinsic,
            corruption=corruption,
            method=arguments.get("method", ""),
            device=arguments.get("device", ""),
            reference_ms=arguments.get("response_budget"),
            live=_protocol(arguments, where),
            served=served,
            provenance={"file": path.name, "arguments": dict(arguments)},
        )


def _protocol(arguments: Mapping[str, str], where: str) -> dict[str, Any] | None:
    """Under what rules the file came about; None for an offline log."""
    if "interval" in arguments:
        return {
            "protocol": "discrete",
            "period_ms": arguments["interval"],
            "buffer": _count(arguments.get("queue_size", "0"), f"{where}: queue_size"),
            "tie": "buffer",
        }
    if "overhead_budget" in arguments:
        return {
            "protocol": "amortised",
            "budget_ms": arguments["overhead_budget"],
            "cut": "overshoot",
            "charge": "excess",
        }
    return None


def _entry(content: Any, name: str, kind: type, where: Any) -> Any:
    if not isinstance(content, dict) or not isinstance(content.get(name), kind):
        raise InputError(f"{where}: entry {name!r} is missing or of another kind: is this a file of the source's code?")
    return content[name]


def _json(text: str, where: str) -> Any:
    """JSON whose numbers keep their digits; NaN and infinity pass, to be refused where they matter."""
    try:
        return json.loads(text, parse_float=Decimal, parse_constant=Decimal)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: is no JSON ({error})") from error
