"""`yardsticks batch`: execute notebooks over a grid of parameters, once."""

from __future__ import annotations

import argparse
import glob
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..errors import InputError
from . import gather, keys, plan, progress, runner, verification
from .plan import Job
from .store import Store

SUMMARY = "execute the book's notebooks over a grid of parameters"
GRIDS = "notebooks/grids/*.yml"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add what `yardsticks batch` takes."""
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    run = _action(actions, "run", _run, "execute what of a grid is not stored, and lay all of it out in a folder")
    run.add_argument("--out", metavar="DIR", default="_build/executed", help="for the copies (%(default)s)")
    _engine(run)
    run.add_argument("--shard", metavar="I/N", help="only the I-th of N parts, for job arrays on one store")
    run.add_argument("--fresh", action="store_true", help="execute also what is stored")
    run.add_argument("--dry-run", action="store_true", help="only say what would be done")
    _action(actions, "explain", _explain, "say for each job what would be done, and which part of its key changed")
    collect = _action(actions, "collect", _collect, "lay out what is stored of a grid, with a table and an index page")
    collect.add_argument("--out", metavar="DIR", default="_build/executed", help="for all of it (%(default)s)")
    _engine(
        _action(actions, "verify", _verify, "execute what is stored once more, and say whether it comes out the same")
    )
    sweep = actions.add_parser("gc", help="remove from the store what no grid needs as things stand")
    sweep.add_argument("grids", metavar="GRID", nargs="*", help=f"what to keep (all of {GRIDS})")
    sweep.add_argument("--dry-run", action="store_true", help="only count")
    _store(sweep)
    sweep.set_defaults(action=_gc)


def run(arguments: argparse.Namespace) -> int:
    """Do what was asked; the exit status is 1 if a job failed."""
    return int(arguments.action(arguments))


def _action(actions: Any, name: str, function: Any, words: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = actions.add_parser(name, help=words, description=words)
    parser.add_argument("grid", metavar="GRID", help="YAML file: chapters with their parameter values")
    parser.add_argument("--tag", metavar="TAG", action="append", default=[], help="only jobs with this tag; repeatable")
    _store(parser)
    parser.set_defaults(action=function)
    return parser


def _store(parser: argparse.ArgumentParser) -> None:
    words = "where executed notebooks are kept: a folder, or an address for fsspec (%(default)s)"
    parser.add_argument("--store", metavar="PLACE", default=runner.STORE, help=words)


def _engine(parser: argparse.ArgumentParser) -> None:
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--jobs", metavar="N", type=int, default=2, help="how many at a time (%(default)s)")
    where.add_argument("--scheduler", metavar="ADDRESS", help="run on the workers of this Dask scheduler")


def _run(arguments: argparse.Namespace) -> int:
    if arguments.dry_run:
        return _dry_run(arguments)
    watch = progress.watch()
    try:
        outcomes = runner.run(
            arguments.grid,
            arguments.out,
            store=arguments.store,
            workers=arguments.jobs,
            scheduler=arguments.scheduler,
            shard=arguments.shard,
            tags=arguments.tag,
            fresh=arguments.fresh,
            watch=watch,
        )
    finally:
        watch.close()
    states = [outcome.state for outcome in outcomes]
    failed = states.count("failed")
    listed = outcomes
    if arguments.shard:  # the page lists all parts, as far as they are stored
        mine = {outcome.job.name: outcome for outcome in outcomes}
        everything = runner.stored(arguments.grid, arguments.out, store=arguments.store, tags=arguments.tag)
        listed = [mine.get(outcome.job.name, outcome) for outcome in everything]
    if failed:
        _say(f"What failed is in {arguments.out}: NAME.log, NAME.failed.ipynb")
    _say(f"The runs are listed in {gather.write_index(listed, arguments.out)}")
    _say(f"{len(states)} jobs: {states.count('executed')} executed, {states.count('cached')} cached, {failed} failed")
    return 1 if failed else 0


def _dry_run(arguments: argparse.Namespace) -> int:
    plans = _plans(arguments, fresh=arguments.fresh)
    for job, state, _ in plans:
        _say(f"{job.name}: {state}; {_values(job)}")
    states = [state for _, state, _ in plans]
    _say(f"{len(states)} jobs: {states.count('execute')} to execute, {len(states) - states.count('execute')} cached")
    return 0


def _explain(arguments: argparse.Namespace) -> int:
    for job, state, reasons in _plans(arguments):
        _say(f"{job.name}: {state}")
        for reason in reasons:
            _say(f"  {reason}")
    return 0


def _plans(arguments: argparse.Namespace, *, fresh: bool = False) -> list[tuple[Job, str, list[str]]]:
    shard = getattr(arguments, "shard", None)
    return runner.explain(arguments.grid, store=arguments.store, tags=arguments.tag, shard=shard, fresh=fresh)


def _values(job: Job) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in job.parameters.items()) or "no parameters"


def _collect(arguments: argparse.Namespace) -> int:
    outcomes = runner.stored(arguments.grid, arguments.out, store=arguments.store, tags=arguments.tag)
    table = gather.write_table(outcomes, arguments.out)
    _say(f"{table} and {gather.write_index(outcomes, arguments.out)}")
    missing = [outcome.job.name for outcome in outcomes if outcome.state == "missing"]
    _say(f"{len(outcomes)} jobs: {len(outcomes) - len(missing)} stored, {len(missing)} missing")
    return 1 if missing else 0


def _verify(arguments: argparse.Namespace) -> int:
    watch = progress.watch()
    try:
        verdicts = verification.verify(
            arguments.grid,
            store=arguments.store,
            workers=arguments.jobs,
            scheduler=arguments.scheduler,
            tags=arguments.tag,
            watch=watch,
        )
    finally:
        watch.close()
    for verdict in verdicts:
        _say(f"{verdict.job.name}: {verdict.state}")
        for difference in verdict.differences:
            _say(f"  {difference}")
    states = [verdict.state for verdict in verdicts]
    counts = ", ".join(f"{states.count(state)} {state}" for state in ("same", "different", "failed", "missing"))
    _say(f"{len(states)} jobs: {counts}")
    return 0 if set(states) <= {"same"} else 1


def _gc(arguments: argparse.Namespace) -> int:
    grids: Sequence[str] = arguments.grids or sorted(glob.glob(GRIDS))
    if not grids:
        raise InputError(f"GRID: there is none in {GRIDS} of {Path.cwd()}: name the grids whose runs are to be kept")
    kept = [identity for grid in grids for identity in keys.identify(plan.read_grid(grid))]
    count, size = Store(arguments.store).sweep(kept, dry=arguments.dry_run)
    _say(f"{count} files, {size / 1e6:.1f} MB {'would be ' if arguments.dry_run else ''}removed")
    return 0


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
