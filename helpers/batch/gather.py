"""All results of a grid together: one tidy table, and a page that lists the runs."""

from __future__ import annotations

import csv
import html
import io
import json
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

from .. import lazy, records
from ..errors import InputError
from .runner import STORE, Outcome, stored

#: The columns of the table beside those of the parameters.
COLUMNS = ("chapter", "job", "metric", "value", "text", "unit", "low", "high", "reason")
_INFINITE = {"inf": float("inf"), "-inf": float("-inf")}

Row = dict[str, Any]


def collect(grid: str | Path, *, store: str | Path = STORE, tags: Collection[str] = (), missing: str = "error") -> Any:
    """All stored results of a grid as one tidy table: a row for each job and metric.

    Parameters
    ----------
    grid : path
        A grid file; its jobs are looked up by the keys that they have now.
    store : path or address
        Where `run` kept them.
    tags : collection of str
        Only jobs with one of these tags.
    missing : {"error", "skip"}
        What to do where a job is not stored.

    Returns
    -------
    pandas.DataFrame
        Columns ``chapter``, ``job``, one for each parameter, ``metric``, ``value`` (a number, infinity too; missing
        where undefined), ``text`` (for metrics that are words), ``unit``, ``low`` and ``high`` (the interval) and
        ``reason`` (why there is no value or interval). A job that concludes nothing has no row.

    Raises
    ------
    InputError
        A job is not stored; a parameter is called like one of the columns; the grid is wrong.
    MissingExtra
        pandas is not installed.
    OSError
        The store cannot be read.
    """
    if missing not in ("error", "skip"):
        raise InputError(f"missing is {missing!r}: give 'error' or 'skip'")
    pandas = lazy.require("pandas", extra="jupyter")
    outcomes = stored(grid, store=store, tags=tags)
    absent = [outcome.job.name for outcome in outcomes if outcome.state == "missing"]
    if absent and missing == "error":
        raise InputError(
            f"{grid}: {len(absent)} of {len(outcomes)} jobs are not stored as they stand now, such as {absent[0]}: "
            f"run `yardsticks batch run {grid}`, or give missing='skip'"
        )
    columns, rows = tidy(outcomes)
    table = pandas.DataFrame(rows, columns=columns, dtype=object)  # or pandas takes 2.0 for 2, and rounds long integers
    return table.astype({name: _dtype(name, table[name]) for name in columns})


def tidy(outcomes: Iterable[Outcome]) -> tuple[list[str], list[Row]]:
    """The columns, and a row for each job and metric; what a row has not is None.

    Raises
    ------
    InputError
        A parameter is called like one of the other columns.
    """
    outcomes = list(outcomes)
    parameters = list(dict.fromkeys(name for outcome in outcomes for name in outcome.job.parameters))
    for name in parameters:
        if name in COLUMNS:
            raise InputError(f"parameter {name!r} is called like a column of the table: rename it in the notebook")
    columns = [*COLUMNS[:2], *parameters, *COLUMNS[2:]]
    return columns, [dict.fromkeys(columns) | row for outcome in outcomes for row in _rows(outcome)]


def write_table(outcomes: Iterable[Outcome], out: str | Path) -> Path:
    """Write the tidy table as ``results.csv`` into a folder."""
    columns, rows = tidy(outcomes)
    stream = io.StringIO()
    writer = csv.DictWriter(stream, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return records.write_text(Path(out) / "results.csv", stream.getvalue())


def write_index(outcomes: Sequence[Outcome], out: str | Path) -> Path:
    """Write ``index.html`` into a folder: every run with its parameters, headline numbers and files."""
    chapters = dict.fromkeys(outcome.job.chapter for outcome in outcomes)
    sections = [_section(name, [o for o in outcomes if o.job.chapter == name], Path(out)) for name in chapters]
    return records.write_text(Path(out) / "index.html", _PAGE.replace("SECTIONS", "\n".join(sections)))


def _dtype(name: str, values: Iterable[Any]) -> str:
    """The type of a column that holds these values, and None where there is none."""
    if name in ("value", "low", "high"):
        return "float64"
    if name in COLUMNS:
        return "string"
    present = [value for value in values if value is not None]
    kinds = {type(value) for value in present}
    if len(kinds) != 1 or (kinds == {int} and max(map(abs, present)) >= 2**63):
        return "object"  # chapters use the name in two ways, or 64 bits are not enough
    return {bool: "boolean", int: "Int64", float: "Float64", str: "string"}[kinds.pop()]


def _rows(outcome: Outcome) -> list[Row]:
    job = outcome.job
    return [
        {"chapter": job.chapter, "job": job.name, **job.parameters, "metric": name, **_cells(metric)}
        for name, metric in _metrics(outcome).items()
    ]


def _metrics(outcome: Outcome) -> dict[str, dict[str, Any]]:
    return {} if outcome.result is None else dict(json.loads(outcome.result).get("metrics", {}))


def _cells(metric: dict[str, Any]) -> Row:
    """A metric of a result file, where infinity is a text, as cells of the table."""
    number = {key: _INFINITE.get(metric[key], metric[key]) for key in ("value", "low", "high")}
    if isinstance(number["value"], str):
        number = {"value": None, "text": number["value"], "low": None, "high": None}
    return {"text": None, **number, "unit": metric["unit"], "reason": metric["reason"]}


def _section(chapter: str, outcomes: Sequence[Outcome], out: Path) -> str:
    """The runs of one chapter: a column for what varies, one line for what does not, a column for each metric."""
    parameters = outcomes[0].job.parameters
    varying = [name for name in parameters if len({o.job.parameters[name] for o in outcomes}) > 1]
    same = [f"{name} = {_said(value)}" for name, value in parameters.items() if name not in varying]
    metrics: dict[str, str] = {}
    for outcome in outcomes:
        metrics |= {name: metric["unit"] for name, metric in _metrics(outcome).items()}
    if not metrics and any(outcome.error for outcome in outcomes):
        metrics = {"error": ""}  # a column for what is said of failures
    heads = ["run", "state", "time", *varying, *(f"{name}, {unit}" if unit else name for name, unit in metrics.items())]
    head = "".join(f'<th scope="col">{html.escape(text)}</th>' for text in heads)
    body = "\n".join(_line(outcome, varying, list(metrics), out) for outcome in outcomes)
    note = f"<p>All with {html.escape(', '.join(same))}.</p>" if same else ""
    title = f"<h2>{html.escape(chapter)}</h2>{note}"
    scroll = f'<div class="scroll" tabindex="0" role="region" aria-label="runs of {html.escape(chapter)}">'
    return f"{title}\n{scroll}<table><thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>"


def _line(outcome: Outcome, varying: list[str], metrics: list[str], out: Path) -> str:
    job = outcome.job
    kinds = {"ipynb": "notebook", "failed.ipynb": "notebook", "result.json": "results", "log": "log"}
    links = [
        f'<a href="{html.escape(f"{job.name}.{kind}")}">{word}</a>'
        for kind, word in kinds.items()
        if outcome.state != "missing" and (out / f"{job.name}.{kind}").is_file()
    ]
    cells = [
        f'<th scope="row">{html.escape(job.name)}<br><small>{" ".join(links)}</small></th>',
        f'<td class="{outcome.state}">{outcome.state}</td>',
        f"<td>{outcome.seconds:.1f} s</td>" if outcome.seconds else "<td></td>",
        *(f"<td>{html.escape(_said(job.parameters[name]))}</td>" for name in varying),
    ]
    if outcome.error is not None:
        where = f"{outcome.cell}: " if outcome.cell else ""
        cells.append(f'<td colspan="{len(metrics)}">{html.escape(where + outcome.error)}</td>')
    else:
        found = _metrics(outcome)
        cells += [_number(found.get(name)) for name in metrics]
    return f"<tr>{''.join(cells)}</tr>"


def _said(value: object) -> str:
    return "(empty)" if value == "" else str(value)


def _number(metric: dict[str, Any] | None) -> str:
    if metric is None:
        return "<td></td>"
    value, low, high = (_short(metric[key]) for key in ("value", "low", "high"))
    interval = f" <small>[{low}, {high}]</small>" if metric["low"] is not None else ""
    reason = f' title="{html.escape(metric["reason"])}"' if metric["reason"] else ""
    return f"<td{reason}>{value}{interval}</td>"


def _short(value: float | str | None) -> str:
    if value is None:
        return "undefined"
    if isinstance(value, str):
        return html.escape({"inf": "∞", "-inf": "−∞"}.get(value, value))
    return f"{value:.4g}".replace("-", "−")


_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Runs</title>
<style>
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 90rem; padding: 0 1rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .35rem .8rem; text-align: left; vertical-align: top; white-space: nowrap; }
th, td { border-bottom: 1px solid #8884; }
td[colspan] { white-space: normal; min-width: 20rem; }
thead th { border-bottom-width: 2px; }
.failed { font-weight: bold; }
.failed::before { content: "✗ "; }
.executed::before { content: "✓ "; }
.cached::before { content: "= "; }
.missing::before { content: "? "; }
</style>
</head>
<body>
<h1>Runs</h1>
<p>Every run of the grid with its parameters, its headline numbers (in brackets the interval) and its files.
<em>Executed</em> was measured now; <em>cached</em> was taken from the store, as nothing that it depends on has
changed.</p>
SECTIONS
</body>
</html>
"""
