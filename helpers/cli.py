"""The command `yardsticks`: one verb per thing a person does.

``helpers/<house>/command.py`` adds ``yardsticks score <house>``, and the command module of each package in `VERBS`
its verb. A command module offers `SUMMARY`, `configure(parser)` and
`run(arguments) -> exit status`, and imports nothing heavy at module level.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence
from typing import Any

from . import __version__
from .errors import InputError, MissingExtra

HOUSES = ("tempora", "ppat", "pmk", "cl", "pa")
#: Verbs that are not about one house's score, and the packages that bring them.
VERBS = {"batch": "batch", "check-report": "cl.report", "serve": "live"}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; refusals become one line on standard error and exit status 2."""
    arguments = _parser().parse_args(argv)
    try:
        return int(arguments.run(arguments))
    except (InputError, MissingExtra, OSError) as error:
        print(f"yardsticks: {_one_line(error)}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("yardsticks: interrupted", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="yardsticks", description="Measure what plain test accuracy hides.")
    parser.add_argument("--version", action="version", version=f"yardsticks {__version__}")
    verbs = parser.add_subparsers(required=True, metavar="VERB")
    score = verbs.add_parser("score", help="score your own arrays or logs").add_subparsers(
        required=True, metavar="CHAPTER"
    )
    for house in HOUSES:
        _add(score, house, house)
    for verb, package in VERBS.items():
        _add(verbs, verb, package)
    return parser


def _add(verbs: Any, name: str, package: str) -> None:
    command = importlib.import_module(f"helpers.{package}.command")
    parser = verbs.add_parser(name, help=command.SUMMARY, description=command.SUMMARY)
    command.configure(parser)
    parser.set_defaults(run=command.run)


def _one_line(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return " ".join(str(error).split())


if __name__ == "__main__":
    sys.exit(main())
