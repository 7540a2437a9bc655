"""``yardsticks check-report``: what a report lacks, and where it contradicts itself."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ...errors import InputError
from ...records import refuse_overwriting, write_json
from .check import ReportCheck, check_report
from .finding import FAIL
from .template import template

SUMMARY = "check the report of a continual-learning experiment for what is missing or contradicts itself"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("report", type=Path, nargs="?", metavar="REPORT", help="the report: .yml, .yaml or .json")
    parser.add_argument("--template", action="store_true", help="print an empty report with comments, to fill in")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the findings as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Print one line per finding; the exit status is 1 if one is a failure."""
    if arguments.template:
        if arguments.report is not None or arguments.json is not None:
            raise InputError("--template stands alone: it prints an empty report")
        sys.stdout.write(template())
        return 0
    if arguments.report is None:
        raise InputError("REPORT is missing: name a report file, or ask for one with --template")
    refuse_overwriting(vars(arguments), inputs=["report"])
    found = check_report(arguments.report)
    if arguments.json is not None:
        write_json(arguments.json, found.to_dict())
    for finding in found.findings:
        print(" ".join(str(finding).split()))
    for rule in found.skipped:
        print(f"SKIP {rule}: what it needs has failures")
    print(_summary(found))
    return 0 if found.ok else 1


def _summary(found: ReportCheck) -> str:
    failures = sum(finding.level == FAIL for finding in found.findings)
    return f"{found.path}: {failures} failures, {len(found.findings) - failures} warnings"
