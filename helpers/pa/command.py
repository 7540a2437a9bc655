"""``yardsticks score pa``: posterior agreement of two files of logits."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

from .. import arrays
from ..errors import InputError
from ..records import DAMAGED, provenance, read_npz, read_text, refuse_overwriting, write_json, write_text
from ..uncertainty import Rate
from .inputs import INPUTS
from .score import Agreement, agreement, failure_rate

SUMMARY = "posterior agreement of a model's outputs before and after a shift"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "--logits", type=Path, required=True, help="outputs on the clean inputs: .npy, .npz or .csv of (n, k)"
    )
    parser.add_argument(
        "--shifted", type=Path, required=True, help="outputs on the shifted inputs, row by row the same"
    )
    parser.add_argument("--labels", type=Path, help="true classes, for the accuracies beside the score: (n,)")
    parser.add_argument("--inputs", choices=INPUTS, default="logits", help="what the two files hold")
    parser.add_argument("--confidence", type=float, default=0.95, help="level of the interval (default 0.95)")
    parser.add_argument("--chunk", type=int, help="rows in flight at once, bounds the memory")
    parser.add_argument("--seed", type=int, default=0, help="seed of the bootstrap")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the result as JSON")
    parser.add_argument("--html", type=Path, metavar="FILE", help="write a self-contained report")


def run(arguments: argparse.Namespace) -> int:
    """Score, print, and write what was asked for."""
    refuse_overwriting(vars(arguments), inputs=("logits", "shifted", "labels"))
    logits, shifted = read(arguments.logits), read(arguments.shifted)
    result = agreement(
        logits,
        shifted,
        inputs=arguments.inputs,
        chunk=arguments.chunk,
        confidence=arguments.confidence,
        seed=arguments.seed,
    )
    rates = _rates(arguments, logits, shifted)
    print(_summary(result))
    for name, rate in rates.items():
        print(f"{name}: {rate.rate:.4f}, {rate.count} of {rate.n}")
    if result.k > result.n:
        print(f"note: {result.k} classes and {result.n} rows; is the array transposed?", file=sys.stderr)
    page = None
    if arguments.html is not None:
        from . import show  # drawing is only needed here

        drawn = [
            show.kernel_curve(logits, shifted, result, inputs=arguments.inputs),
            show.contributions(result),
        ]
        title = f"Posterior agreement: {arguments.logits.name} and {arguments.shifted.name}"
        page = show.report(result, drawn, title=title, rates=rates)
    if arguments.json is not None:
        files = {"logits": str(arguments.logits), "shifted": str(arguments.shifted)}
        origin = {"files": files, "inputs": arguments.inputs, **provenance(seed=arguments.seed)}
        content = {
            **result.to_dict(),
            "provenance": origin,
            "rates": {name: rate.to_dict() for name, rate in rates.items()},
        }
        write_json(arguments.json, content)
    if page is not None:
        write_text(arguments.html, page)
    return 0


def _rates(arguments: argparse.Namespace, logits: np.ndarray, shifted: np.ndarray) -> dict[str, Rate]:
    """What is said beside the agreement, by name; accuracies where there are labels."""
    level = arguments.confidence
    rates = {"AFR_P, predictions kept": failure_rate(shifted, logits, confidence=level)}
    if arguments.labels is not None:
        n, k = logits.shape
        labels = arrays.check_labels(read(arguments.labels), n=n, k=k)
        rates["Accuracy, clean"] = failure_rate(logits, labels, confidence=level)
        rates["AFR_T, accuracy under the shift"] = failure_rate(shifted, labels, confidence=level)
    return rates


def read(path: Path) -> np.ndarray:
    """An array from a .npy (memory-mapped), a .npz with one array, or a .csv (a header line is allowed).

    Raises
    ------
    InputError
        Another ending, Python objects, several arrays, or text that is no number, named by line.
    """
    if path.suffix == ".csv":
        return _read_csv(path)
    if path.suffix == ".npz":
        content = read_npz(path)
        if len(content) != 1:
            raise InputError(f"{path}: holds {len(content)} arrays ({', '.join(content)}): save one array to a file")
        return next(iter(content.values()))
    if path.suffix != ".npy":
        raise InputError(f"{path}: arrays are read from .npy, .npz and .csv files")
    path.open("rb").close()  # a file that cannot be opened says so in its own words
    try:
        return np.lib.format.open_memmap(path, mode="r")
    except DAMAGED as error:
        raise InputError(f"{path}: not a readable array ({error})") from error


def _read_csv(path: Path) -> np.ndarray:
    rows: list[list[float]] = []
    for number, line in enumerate(read_text(path).splitlines(), start=1):
        cells = line.split(",")
        if not line.strip() or (number == 1 and not any(map(_is_number, cells))):
            continue  # an empty line, or the header
        if number == 1 and len(cells) > 1 and cells == [str(column) for column in range(len(cells))]:
            raise InputError(f"{path}, line 1: {line} looks like column numbers, not values: take the line out")
        try:
            row = [float(cell) for cell in cells]
        except ValueError as error:
            raise InputError(f"{path}, line {number}: {error}") from error
        if rows and len(row) != len(rows[0]):
            raise InputError(f"{path}, line {number}: {len(row)} values, the lines before have {len(rows[0])}")
        rows.append(row)
    _refuse_index(path, rows)
    array = np.array(rows)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    whole = array.ndim == 1 and array.size and bool(np.all(array == np.round(array)))
    return array.astype(np.int64) if whole else array


def _refuse_index(path: Path, rows: list[list[float]]) -> None:
    """A first column that counts the rows is an index, and would pass for a class that never flips."""
    counted = [row[0] for row in rows]
    if len(rows) > 1 and len(rows[0]) > 1 and counted in (list(range(len(rows))), list(range(1, len(rows) + 1))):
        raise InputError(f"{path}: the first column counts the rows, it is no class: write the file without its index")


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _summary(result: Agreement) -> str:
    interval = "" if result.interval is None else " [{:.6f}, {:.6f}]".format(*result.interval)
    relative = "" if result.relative is None else f", relative {result.relative:.6f}"
    proof = "proven global" if result.certified else f"not proven global (bound {result.bound:.6f})"
    margin = "" if result.beta_margin is None else f", beta x margin {result.beta_margin:.6g}"
    return (
        f"agreement {result.value:.6f} nat{interval}{relative}\n"
        f"beta {result.beta:.6g}{margin}, {result.status}, {proof}"
    )
