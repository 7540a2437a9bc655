"""``yardsticks score cl``: the runs of somebody's log under every definition."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..records import provenance, refuse_overwriting, write_json, write_text
from . import record
from .reconciliation import Reconciliation, reconcile
from .record import AccuracyMatrix, Run
from .score import Table, table

SUMMARY = "what was kept, lost and transferred over a sequence of tasks, under every definition"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "file", type=Path, help="a log of scores by time and task, a folder of them, or a saved matrix (.npz)"
    )
    parser.add_argument(
        "--format",
        default="auto",
        help="the tool that wrote it, such as avalanche-csv, facil, mammoth, gem, long-csv or wide-csv; by default the "
        "one whose grammar fits",
    )
    parser.add_argument("--scale", choices=record.SCALES, help="for tables, which do not say it")
    parser.add_argument("--rows", choices=("time", "task"), help="for wide tables: what a line stands for")
    parser.add_argument("--direction", choices=record.DIRECTIONS, help="for tables: which scores are better")
    parser.add_argument("--scenario", choices=record.SCENARIOS, help="where the log does not say it")
    parser.add_argument("--run", metavar="N", type=int, dest="number", help="only the N-th run of the file, from 1")
    parser.add_argument("--baseline", choices=record.BASELINES, help="what forward transfer is measured against")
    parser.add_argument(
        "--observed-only", action="store_true", help="forward transfer over the cells that are there, named as such"
    )
    parser.add_argument("--published", type=float, metavar="X", help="name the formulas that yield this number")
    parser.add_argument("--digits", type=int, help="decimals of the published number (default 2)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the result as JSON")
    parser.add_argument("--html", type=Path, metavar="FILE", help="write a self-contained report of one run")


def run(arguments: argparse.Namespace) -> int:
    """Score, print, and write what was asked for."""
    refuse_overwriting(vars(arguments), inputs=["file"])
    if arguments.digits is not None and arguments.published is None:
        raise InputError(f"--digits is {arguments.digits}, but there is no --published that has them: leave it out")
    runs = [_placed(each, arguments.scenario) for each in _chosen(read(arguments), arguments)]
    results = [_score(each.matrix, arguments) for each in runs]
    for each, (values, found) in zip(runs, results, strict=True):
        print(each, each.matrix, sep="\n")  # runs of one file may differ in their metric or scenario only
        print(values)
        if found is not None:
            print(found)
        for warning in each.matrix.warnings:
            print(f"warning: {each.name}: {warning}", file=sys.stderr)
    page = None
    if arguments.html is not None:
        from . import show  # drawing is only needed here

        page = show.report(
            runs[0].matrix,
            title=f"Continual learning: {runs[0].name or arguments.file.name}",
            baseline=arguments.baseline,
            observed_only=arguments.observed_only,
            reconciled=results[0][1],
        )
    if arguments.json is not None:
        content = {
            "runs": [_content(each, *result) for each, result in zip(runs, results, strict=True)],
            "provenance": {"file": str(arguments.file), "format": arguments.format, **provenance()},
        }
        write_json(arguments.json, content)
    if page is not None:
        write_text(arguments.html, page)
    return 0


def read(arguments: argparse.Namespace) -> list[Run]:
    """The runs of a log, in one of the formats of `helpers.cl.readers`, or of a saved matrix."""
    path: Path = arguments.file
    options = {name: getattr(arguments, name) for name in ("scale", "rows", "direction")}
    if path.suffix == ".npz":
        for name, value in {"format": arguments.format.replace("auto", ""), **options}.items():
            if value:
                raise InputError(f"{path}: --{name} is {value!r}, but a saved matrix knows its own: leave it out")
        matrix = AccuracyMatrix.load(path)
        return [Run(matrix, matrix.name or path.stem)]
    from . import readers  # eleven grammars, which a saved matrix does not need

    return readers.read(path, arguments.format, **options)


def _chosen(runs: Sequence[Run], arguments: argparse.Namespace) -> list[Run]:
    if arguments.number is not None:
        if not 1 <= arguments.number <= len(runs):
            raise InputError(f"--run is {arguments.number}: {arguments.file} holds {len(runs)}, counted from 1")
        return [runs[arguments.number - 1]]
    if arguments.html is not None and len(runs) > 1:
        names = ", ".join(f"{number} {_told(each)}" for number, each in enumerate(runs, start=1))
        raise InputError(f"{arguments.file} holds {len(runs)} runs ({names}): choose one for the report with --run")
    return list(runs)


def _placed(run: Run, scenario: str | None) -> Run:
    """The run under the scenario that was asked for, which its log must not contradict."""
    own = run.matrix.scenario
    if scenario is None or scenario == own:
        return run
    if own is not None:
        raise InputError(f"--scenario is {scenario!r}, but {run.name or 'the run'} is of {own!r}: leave it out")
    return replace(run, matrix=run.matrix._with(scenario=scenario))


def _told(run: Run) -> str:
    """The name of a run and what may tell it from others of the same file."""
    metric = None if run.matrix.metric == "accuracy" else run.matrix.metric
    kept = {"seed": run.seed, "order": run.order, "metric": metric, "scenario": run.matrix.scenario}
    return " ".join([repr(run.name), *(f"{name} {value}" for name, value in kept.items() if value is not None)])


def _score(matrix: AccuracyMatrix, arguments: argparse.Namespace) -> tuple[Table, Reconciliation | None]:
    values = table(matrix, baseline=arguments.baseline, observed_only=arguments.observed_only)
    if arguments.published is None:
        return values, None
    return values, reconcile(matrix, arguments.published, digits=2 if arguments.digits is None else arguments.digits)


def _content(run: Run, values: Table, found: Reconciliation | None) -> dict[str, Any]:
    return {
        "name": run.name,
        "seed": run.seed,
        "order": run.order,
        "matrix": run.matrix.to_dict(),
        "metrics": values.to_dict(),
        "reconciled": None if found is None else found.to_dict(),
        "measured": dict(run.matrix.provenance),
    }
