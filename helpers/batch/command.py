"""`yardsticks batch`: execute notebooks over a grid of parameters."""

from __future__ import annotations

import argparse
import sys

from . import execute, plan

SUMMARY = "execute the book's notebooks over a grid of parameters"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add what `yardsticks batch` takes."""
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    action = actions.add_parser("run", help="execute every job of a grid")
    action.add_argument("grid", metavar="GRID", help="YAML file: chapters with their parameter values")
    action.add_argument("--out", metavar="DIR", default="_build/executed", help="for the copies (%(default)s)")
    action.add_argument("--jobs", metavar="N", type=int, default=2, help="how many at a time (%(default)s)")
    action.set_defaults(action=_run)


def run(arguments: argparse.Namespace) -> int:
    """Do what was asked; the exit status is 1 if a job failed."""
    return int(arguments.action(arguments))


def _run(arguments: argparse.Namespace) -> int:
    jobs = plan.read_grid(arguments.grid)
    outcomes = execute.run(
        jobs,
        arguments.out,
        workers=arguments.jobs,
        started=lambda job: _say(f"{job.name} started"),
        finished=lambda outcome: _say(_line(outcome)),
    )
    failed = sum(not outcome.ok for outcome in outcomes)
    _say(f"{len(jobs)} jobs: {len(jobs) - failed} executed, {failed} failed")
    return 1 if failed else 0


def _line(outcome: execute.Outcome) -> str:
    if outcome.ok:
        return f"{outcome.job.name} finished in {outcome.seconds:.1f} s"
    where = f" in {outcome.cell}" if outcome.cell else ""
    kept = outcome.notebook or outcome.log
    return f"{outcome.job.name} failed after {outcome.seconds:.1f} s{where}: {outcome.error} (see {kept})"


def _say(line: str) -> None:
    """One whole line at once, because jobs report from threads."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
