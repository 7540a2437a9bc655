"""The command `yardsticks`: one verb per thing a person does.

``helpers/<house>/command.py`` adds ``yardsticks score <house>``, and the command module of each package in `VERBS`
its verb, as far as there is one. A command module offers `SUMMARY`, `configure(parser)` and
`run(arguments) -> exit status`, and imports nothing heavy at module level.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import sys
from collections.abc import Sequence
from types import ModuleType
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
        _add(score, house, _command(house))
    for verb, package in VERBS.items():
        _add(verbs, verb, _command(package))
    return parser


def _command(package: str) -> ModuleType | None:
    """The package's command module, or None where the package has none yet."""
    name = f"helpers.{package}.command"
    return importlib.import_module(name) if importlib.util.find_spec(name) else None


def _add(verbs: Any, name: str, command: ModuleType | None) -> None:
    if command is not None:
        parser = verbs.add_parser(name, help=command.SUMMARY, description=command.SUMMARY)
        command.configure(parser)
        parser.set_defaults(run=command.run)


def _one_line(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return " ".join(str(error).split())


if __name__ == "__main__":
    sys.exit(main())
