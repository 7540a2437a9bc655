"""What a chapter concludes: parameters, metrics with units and intervals, figures with alt text, provenance."""

from __future__ import annotations

import csv
import html
import importlib
import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import Any

from . import lazy, records
from .errors import InputError
from .uncertainty import Interval, Rate

#: The environment variable in which a batch run says where a chapter's result belongs.
DESTINATION = "YARDSTICKS_RESULT"
PUBLISHED = Path(__file__).resolve().parent.parent / "data" / "published"

_METRIC = {
    "type": "object",
    "required": ["value", "unit", "low", "high", "reason"],
    "additionalProperties": False,
    "properties": {
        "value": {"type": ["number", "string", "null"]},
        "unit": {"type": "string"},
        "low": {"type": ["number", "string", "null"]},
        "high": {"type": ["number", "string", "null"]},
        "reason": {"type": ["string", "null"]},
    },
    "if": {"properties": {"value": {"type": "null"}}},
    "then": {"properties": {"reason": {"type": "string", "minLength": 1}}},
}
SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "required": ["schema", "version", "chapter", "parameters", "metrics", "figures", "provenance"],
    "additionalProperties": False,
    "properties": {
        "schema": {"const": "yardsticks-result"},
        "version": {"const": 1},
        "chapter": {"type": "string", "minLength": 1},
        "parameters": {"type": "object"},
        "metrics": {"type": "object", "minProperties": 1, "additionalProperties": _METRIC},
        "figures": {
            "type": "object",
            "additionalProperties": {
                "type": "object",
                "required": ["alt"],
                "additionalProperties": False,
                "properties": {"alt": {"type": "string", "minLength": 10}},
            },
        },
        "provenance": {
            "type": "object",
            "required": ["python", "versions", "hardware", "seed", "time", "record"],
        },
    },
}


@dataclass(frozen=True)
class Metric:
    """One number of a chapter: a value with its unit and interval, or None with the reason.

    Attributes
    ----------
    value : float, str or None
        A text where the finding is one, such as the name of a winner.
    unit : str
        Of value and interval; "ratio" for a share.
    interval : tuple of float or None
    reason : str or None
        Why there is no value, or no interval.

    Examples
    --------
    >>> Metric(0.93, "ratio", interval=(0.9, 0.95)).to_dict()
    {'value': 0.93, 'unit': 'ratio', 'low': 0.9, 'high': 0.95, 'reason': None}
    """

    value: float | str | None
    unit: str
    interval: Interval | None = None
    reason: str | None = None

    @classmethod
    def of(cls, rate: Rate) -> Metric:
        """A proportion with its interval."""
        return cls(rate.rate, "ratio", rate.interval, rate.reason)

    def to_dict(self) -> dict[str, Any]:
        """As it stands in a result file: infinity is "inf"."""
        low, high = self.interval or (None, None)
        return {
            "value": json_number(self.value),
            "unit": self.unit,
            "low": json_number(low),
            "high": json_number(high),
            "reason": self.reason,
        }


@dataclass(frozen=True)
class Result:
    """A concluded chapter. In a notebook it shows itself as the stamp at the end of the page."""

    chapter: str
    parameters: Mapping[str, Any]
    metrics: Mapping[str, Metric]
    figures: Mapping[str, str]
    provenance: Mapping[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """The content of the result file."""
        return {
            "schema": "yardsticks-result",
            "version": 1,
            "chapter": self.chapter,
            "parameters": dict(self.parameters),
            "metrics": {name: metric.to_dict() for name, metric in self.metrics.items()},
            "figures": {name: {"alt": alt} for name, alt in self.figures.items()},
            "provenance": dict(self.provenance),
        }

    def _repr_html_(self) -> str:
        rows = {
            "Numbers": self.provenance["record"],
            "Measured": f"{self.provenance['time']} on {self.provenance['hardware']}",
            "Parameters": ", ".join(f"{name} {value}" for name, value in self.parameters.items() if value != ""),
            "Python": self.provenance["python"],
            "Packages": ", ".join(f"{name} {version}" for name, version in self.provenance["versions"].items()),
        }
        cells = "".join(
            f"<tr><th scope='row'>{html.escape(name)}</th><td>{html.escape(str(value))}</td></tr>"
            for name, value in rows.items()
        )
        return f"<table class='ys-stamp'><caption>How these numbers were made</caption>{cells}</table>"


def conclude(
    chapter: str,
    *,
    parameters: Mapping[str, Any],
    metrics: Mapping[str, Metric],
    figures: Sequence[Any] = (),
    record: str = "",
    provenance: Mapping[str, Any] | None = None,
) -> Result:
    """End a chapter: check what it found and, in a batch run, write its result file.

    Parameters
    ----------
    chapter : str
        The chapter's name, such as "pa".
    parameters : mapping
        The values of the notebook's parameters cell; one is named ``seed``.
    metrics : mapping of str to Metric
        The headline numbers, each with an interval or the reason why it has none.
    figures : sequence of Figure
        What `figures.show` returned.
    record : str
        The record that was loaded, or empty where everything was measured here.
    provenance : mapping, optional
        Where a loaded record comes from; by default this very run.

    Returns
    -------
    Result
        Shown last in the notebook, it is the stamp of the page.

    Raises
    ------
    InputError
        Something that the schema of results does not allow, named by its path; a metric that has neither interval nor
        reason; two figures of one name.
    """
    origin = dict(provenance or records.provenance(seed=parameters.get("seed")))
    origin["record"] = f"loaded from {record}" if record else "measured in this run"
    names = [figure.name for figure in figures]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise InputError(f"figures has {names.count(repeated[0])} named {repeated[0]!r}: give each a name of its own")
    result = Result(chapter, dict(parameters), dict(metrics), {figure.name: figure.alt for figure in figures}, origin)
    check(result.to_dict(), where=f"result of {chapter!r}")
    for name, metric in metrics.items():
        if isinstance(metric.value, Real) and metric.interval is None and not metric.reason:
            raise InputError(f"metrics has {name!r} without an interval: give one, or a reason why there is none")
    text = _as_json(result.to_dict(), where=f"result of {chapter!r}")
    destination = os.environ.get(DESTINATION)
    if destination:
        records.write_text(destination, text)
    return result


def in_batch() -> bool:
    """Whether this run makes a page: nobody watches, and progress bars would be printed into it."""
    return DESTINATION in os.environ


def check(content: Any, *, where: str) -> None:
    """Hold the content of a result file against the schema; the error names the path of the first fault."""
    jsonschema = _jsonschema()
    error = jsonschema.exceptions.best_match(jsonschema.Draft202012Validator(SCHEMA).iter_errors(content))
    if error is not None:
        raise InputError(f"{where}: {error.json_path}: {error.message}")
    for name, metric in content["metrics"].items():
        for key in ("value", "low", "high"):
            if isinstance(metric[key], float) and math.isnan(metric[key]):
                raise InputError(f"{where}: $.metrics.{name}.{key}: nan says nothing, give None and a reason")


def _jsonschema() -> Any:
    with lazy.hidden("rfc3987_syntax"):
        return importlib.import_module("jsonschema")


def _as_json(content: Any, *, where: str) -> str:
    try:
        return json.dumps(content, indent=2, allow_nan=False) + "\n"
    except (TypeError, ValueError) as error:
        raise InputError(f"{where}: cannot be written as JSON ({error}): use plain numbers, texts and lists") from error


def published(source: str, table: str) -> list[dict[str, Any]]:
    """Rows of a published table, from ``data/published/<source>.csv``; numbers are floats, empty cells None.

    Parameters
    ----------
    source : str
        The chapter's name, such as "pa".
    table : str
        Which of its tables, as the column ``table`` has it.

    Returns
    -------
    list of dict
        In the order of the file.

    Raises
    ------
    InputError
        An unknown source or table; the known ones are listed.

    Examples
    --------
    >>> published("pa", "T1-trends")[0]["unit"]
    'words'
    """
    path = PUBLISHED / f"{source}.csv"
    if not path.exists() and in_batch():  # where a notebook finds only the data that it declares
        declare = f"add data/published/{source}.csv to the notebook's metadata.yardsticks.data"
        raise InputError(f"source is {source!r}, and this run was given no such table: {declare}")
    if source == "tables" or not path.exists():
        known = ", ".join(sorted(p.stem for p in PUBLISHED.glob("*.csv") if p.stem != "tables"))
        raise InputError(f"source is {source!r}: published tables exist for {known}")
    with path.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    chosen = [row for row in rows if row["table"] == table]
    if not chosen:
        raise InputError(f"table is {table!r}: {source} has {', '.join(sorted({row['table'] for row in rows}))}")
    numeric = ("value", "low", "high", "n")
    return [{**row, **{key: float(row[key]) if row[key] else None for key in numeric}} for row in chosen]


def json_number(value: float | str | None) -> float | str | None:
    """A number as it stands in JSON, which has no infinity; texts and None are themselves.

    >>> json_number(0.5), json_number(-math.inf), json_number(None)
    (0.5, '-inf', None)
    """
    if isinstance(value, str) or value is None:
        return value
    return ("inf" if value > 0 else "-inf") if math.isinf(value) else float(value)
