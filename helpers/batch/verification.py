"""Is it reproducible? Execute what is stored once more, and compare."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import render
from .plan import Job
from .runner import STORE, Watch, planned, run
from .store import Entry, Store

#: What a result says of its own run, and of no other.
_OF_THE_RUN = ("time", "hardware")


@dataclass(frozen=True)
class Verdict:
    """Whether a job gave the same again: `state` is "same", "different", "failed" or "missing" (nothing is stored).

    `differences` has a line for each metric and each cell that is not the same, or the error of the new run.
    """

    job: Job
    state: str
    differences: tuple[str, ...] = ()


def verify(
    grid: str | Path,
    *,
    store: str | Path = STORE,
    workers: int = 2,
    scheduler: str | None = None,
    tags: Collection[str] = (),
    watch: Watch | None = None,
) -> list[Verdict]:
    """Execute the stored jobs of a grid afresh, beside the store, and compare results and outputs.

    Times, hosts, addresses of objects and names of widgets do not count; everything else must be equal, to the last
    digit. The store is only read.

    Raises
    ------
    InputError, MissingExtra, OSError
        As `runner.run`.
    """
    place = Store(store)
    identities = planned(grid, tags)
    before = {i.job.name: place.entry(i.execution) for i in identities}
    known = [i.job for i in identities if before[i.job.name] is not None]
    with tempfile.TemporaryDirectory() as folder:
        aside = Path(folder, "store")
        outcomes = run(known, Path(folder, "out"), store=aside, workers=workers, scheduler=scheduler, watch=watch)
        errors = {outcome.job.name: outcome.error for outcome in outcomes}
        after = {i.job.name: Store(aside).entry(i.execution) for i in identities}
    return [_verdict(i.job, before[i.job.name], after[i.job.name], errors.get(i.job.name)) for i in identities]


def _verdict(job: Job, before: Entry | None, after: Entry | None, error: str | None) -> Verdict:
    if before is None:
        return Verdict(job, "missing")
    if after is None:
        return Verdict(job, "failed", (error or "its files changed meanwhile",))
    found = differences(before, after)
    return Verdict(job, "different" if found else "same", tuple(found))


def differences(before: Entry, after: Entry) -> list[str]:
    """What two executions of one job do not agree on, a line each."""
    old, new = _result(before), _result(after)
    lines = []
    for name in sorted(old.get("metrics", {}).keys() | new.get("metrics", {}).keys()):
        values = [_metric(result.get("metrics", {}).get(name)) for result in (old, new)]
        if values[0] != values[1]:
            lines.append(f"metric {name}: {values[0]} -> {values[1]}")
    for part in sorted((old.keys() | new.keys()) - {"metrics"}):
        if old.get(part) != new.get(part):
            lines.append(f"{part} of the result")
    notebooks = (render.normalised(entry.executed) for entry in (before, after))
    cells = [[cell for cell in notebook["cells"] if cell["cell_type"] == "code"] for notebook in notebooks]
    for number, (one, other) in enumerate(zip(*cells, strict=True), start=1):
        if one["outputs"] != other["outputs"]:
            lines.append(f"output of code cell {number}")
    return lines


def _result(entry: Entry) -> dict[str, Any]:
    if entry.result is None:
        return {}
    content = dict(json.loads(entry.result))
    origin = content.get("provenance", {})
    return content | {"provenance": {name: value for name, value in origin.items() if name not in _OF_THE_RUN}}


def _metric(metric: dict[str, Any] | None) -> str:
    if metric is None:
        return "absent"
    interval = "" if metric["low"] is None else f" [{metric['low']}, {metric['high']}]"
    return f"{metric['value']}{interval}"
