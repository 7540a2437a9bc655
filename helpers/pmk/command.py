"""``yardsticks score pmk``: PM-k of a model from its predictions for the frames of some sets."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from ..errors import InputError, located
from ..records import provenance, refuse_overwriting, write_json, write_text
from . import show  # loads matplotlib only where something is drawn
from .folding import HOW, fold
from .readers import FORMATS, read, read_class_map, read_predictions, read_sets
from .record import MISSING, FrameSets, Predictions
from .score import score

#: Arguments that name what is read.
FILES = ("predictions", "frames", "labels", "groups", "class_map")

SUMMARY = "accuracy on video frames, and on the worst of the similar frames around each"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "predictions", type=Path, help="JSON object of frame to class, or to list of scores; or a record (.npz)"
    )
    parser.add_argument(
        "--frames",
        type=Path,
        required=True,
        metavar="PATH",
        help="JSON object of anchor to list of similar frames; or a table (.csv), a record (.npz), a folder",
    )
    parser.add_argument("--labels", type=Path, metavar="FILE", help="JSON object of frame to list of class numbers")
    parser.add_argument(
        "--groups", type=Path, metavar="FILE", help="JSON object of anchor to clip, if clips have several"
    )
    parser.add_argument("--format", choices=FORMATS, help="what --frames names, where it is no JSON file")
    parser.add_argument(
        "--classes", type=int, metavar="N", help="number of classes, if the labels do not have them all"
    )
    parser.add_argument(
        "--k", type=int, nargs="+", default=[10], metavar="K", help="largest offsets that count (default 10)"
    )
    parser.add_argument("--missing", choices=MISSING, default="error", help="what to do about missing predictions")
    parser.add_argument(
        "--leave-anchor-out", action="store_true", help="the anchor need not be right itself, as the formula has it"
    )
    parser.add_argument("--class-map", type=Path, metavar="FILE", help="JSON object of fine class to coarse, or back")
    parser.add_argument("--fold", choices=tuple(HOW), default="max", help="how scores of fine classes become one")
    parser.add_argument("--confidence", type=float, default=0.95, help="level of the intervals (default 0.95)")
    parser.add_argument("--seed", type=int, default=0, help="of the bootstrap over groups, where there is one")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the result as JSON")
    parser.add_argument("--html", type=Path, metavar="FILE", help="write a self-contained report")


def run(arguments: argparse.Namespace) -> int:
    """Score, print, and write what was asked for."""
    refuse_overwriting(vars(arguments), inputs=FILES)
    predictions, groups = read_predictions(arguments.predictions), None
    if arguments.class_map is not None:
        predictions, groups = _folded(predictions, arguments)
    frames = _frames(arguments, groups)
    scores = score(
        predictions,
        frames,
        k=arguments.k,
        include_anchor=not arguments.leave_anchor_out,
        missing=arguments.missing,
        reachable=None if groups is None else [coarse for coarse, group in enumerate(groups) if group],
        confidence=arguments.confidence,
        seed=arguments.seed,
    )
    for name, text in show.lines(scores):
        print(f"{name}: {text}")
    for warning in dict.fromkeys(text for one in scores for text in one.warnings):
        print(f"warning: {warning}", file=sys.stderr)
    page = None
    if arguments.html is not None:
        page = show.report(scores, title=f"PM-k: {arguments.predictions.name}")
    if arguments.json is not None:
        content = {"scores": [one.to_dict() for one in scores], "provenance": _provenance(frames, arguments)}
        write_json(arguments.json, content)
    if page is not None:
        write_text(arguments.html, page)
    return 0


def _folded(predictions: Predictions, arguments: argparse.Namespace) -> tuple[Predictions, list[list[int]]]:
    """Scores of coarse classes, and which fine classes each has."""
    if predictions.scores is None:
        raise InputError(f"{arguments.predictions}: holds classes, but --class-map folds scores: give lists of scores")
    groups = read_class_map(arguments.class_map, classes=arguments.classes)
    with located(f"{arguments.class_map} with {arguments.predictions}"):
        return Predictions(predictions.frames, fold(predictions.scores, groups, how=arguments.fold)), groups


def _frames(arguments: argparse.Namespace, groups: list[list[int]] | None) -> FrameSets:
    """The sets, from whichever files hold them."""
    path, classes = arguments.frames, arguments.classes
    if classes is None and groups is not None:
        classes = len(groups)
    if arguments.labels is not None:
        if arguments.format is not None or path.suffix in (".csv", ".npz"):
            raise InputError(f"--labels is given, but {path} has its labels: leave it out")
        return read_sets(path, arguments.labels, groups=arguments.groups, classes=classes)
    if arguments.format is None and path.suffix == ".json":
        raise InputError(f"--labels is missing: {path} does not say which classes its frames show")
    if arguments.groups is not None:
        raise InputError(
            f"--groups is given, but {path} has no --labels beside it: only JSON files take groups from a file"
        )
    if arguments.format == "csv" or path.suffix == ".csv":
        return read(path, arguments.format, classes=classes)
    frames = read(path, arguments.format, classes=arguments.classes)
    if groups is not None and len(groups) > frames.classes:
        raise InputError(f"{arguments.class_map}: has {len(groups)} coarse classes, the sets have {frames.classes}")
    return frames


def _provenance(frames: FrameSets, arguments: argparse.Namespace) -> dict[str, Any]:
    """This computation, and where the sets come from if their record says."""
    files = {name: str(getattr(arguments, name)) for name in FILES if getattr(arguments, name) is not None}
    fold_used = arguments.fold if arguments.class_map is not None else None
    return {"files": files, "fold": fold_used, "sets": frames.provenance, **provenance(seed=arguments.seed)}
