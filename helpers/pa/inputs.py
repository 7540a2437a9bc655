"""What may go into a score: two aligned arrays, checked a tile at a time, and the order in which rows are shifted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import arrays
from ..errors import InputError
from . import numerics
from .numerics import Pair, Profile
from .record import LAYOUT

INPUTS = ("logits", "log_probs", "probs")
ORDERS = ("random", "smallest", "largest")


def pair_of(logits: Any, shifted: Any, *, inputs: str, chunk: int | None) -> Pair:
    """Check everything that can be wrong with the two arrays, a tile at a time."""
    arrays.one_of(inputs, "inputs", INPUTS)
    if chunk is not None:
        arrays.whole_number(chunk, "chunk", least=1)
    first = arrays.check_matrix(logits, "logits", layout=LAYOUT)
    second = arrays.check_matrix(shifted, "shifted", layout=LAYOUT)
    if tuple(first.shape) != tuple(second.shape):
        raise InputError(
            f"logits has shape {tuple(first.shape)} and shifted {tuple(second.shape)}: "
            "row i, column j of both must be the same input and the same class"
        )
    xp = arrays.namespace(first, second, names=("logits", "shifted"))
    pair = Pair(first, second, xp, inputs == "probs", chunk)
    beliefs = [_inspect(pair, first, "logits", inputs), _inspect(pair, second, "shifted", inputs)]
    if inputs == "logits" and pair.k > 1 and any(beliefs):
        raise InputError(
            f"{_which(beliefs)} probabilities: every row lies in [0, 1] and sums to 1. Taken for logits they "
            "give another number, so pass inputs='probs'. If they really are logits, subtract 1 from both: "
            "a constant per row changes nothing"
        )
    return pair


def _which(beliefs: Sequence[bool]) -> str:
    if all(beliefs):
        return "logits and shifted hold"
    return "logits holds" if beliefs[0] else "shifted holds"


def _inspect(pair: Pair, array: Any, name: str, inputs: str) -> bool:
    """Refuse values that are not finite (or no probabilities); say whether all rows are probabilities.

    Rows of exact zeros and ones are votes rather than probabilities: as logits they are meant as they stand.
    """
    xp = pair.xp

    def tile(start: int, stop: int) -> tuple[bool, bool]:
        block = xp.astype(array[start:stop, :], pair.working_dtype, copy=False)
        if not bool(xp.all(xp.isfinite(block))):
            numpy_block = arrays.to_numpy(block)
            row, column = np.argwhere(~np.isfinite(numpy_block))[0]
            raise InputError(
                f"{name}[{start + row}, {column}] is {numpy_block[row, column]}: every value must be finite; "
                "drop or mend this row in both arrays"
            )
        inside = bool(xp.min(block) >= 0) and bool(xp.max(block) <= 1)
        sums = inside and bool(xp.all(xp.abs(xp.sum(block, axis=1) - 1) < 1e-2))
        if inputs == "probs":
            _refuse_no_probabilities(arrays.to_numpy(block), start, name, sums)
        return sums, sums and not bool(xp.all((block == 0) | (block == 1)))

    rows = pair.tile_rows(pair.working_dtype)
    seen = arrays.map_tiles(tile, pair.n, rows, pair.threads)
    return all(sums for sums, _ in seen) and any(graded for _, graded in seen)


def _refuse_no_probabilities(block: np.ndarray, start: int, name: str, sums: bool) -> None:
    bad = np.argwhere(~((block > 0) & (block <= 1)))
    if bad.size:
        row, column = bad[0]
        raise InputError(
            f"{name}[{start + row}, {column}] is {block[row, column]}: with inputs='probs' each value lies in (0, 1]. "
            "A probability that was rounded to 0 has no logarithm: pass the logits instead"
        )
    if not sums:
        row = int(np.argmax(np.abs(block.sum(axis=1) - 1)))
        raise InputError(
            f"{name}[{start + row}] sums to {block[row].sum():.4g}: with inputs='probs' each row sums to 1"
        )


def profile_of(pair: Pair) -> tuple[Profile, Profile]:
    """Profile the pair, and the clean array with itself; refuse logits whose squares leave the range of float64."""
    rows, itself = numerics.profile(pair)
    spans = rows.span[~rows.constant]
    bad = np.flatnonzero(rows.span > 1e100)
    if bad.size:
        raise InputError(
            f"logits or shifted range over {rows.span[bad[0]]:.3g} in row {bad[0]}: mask classes with -1e9 instead, or "
            "divide both arrays by the same number, which does not change agreement"
        )
    if spans.size and np.max(spans) < 1e-100:
        raise InputError("logits and shifted range over less than 1e-100: multiply both by the same number")
    return rows, itself


def check_ratios(ratios: Sequence[float]) -> np.ndarray:
    """Shares of the rows, each from 0 to 1."""
    values = arrays.real_vector(ratios, "ratios")
    arrays.refuse_where((values < 0) | (values > 1), values, "ratios", "give shares of the rows, each from 0 to 1")
    return values


def ordering(order: str | Any, size: Any, seed: int, n: int) -> np.ndarray:
    """The rows in the order in which they are shifted."""
    if isinstance(order, str):
        if order not in ORDERS:
            raise InputError(f"order is {order!r}: choose one of {', '.join(ORDERS)}, or list the rows")
        if order == "random":
            arrays.whole_number(seed, "seed", least=0)
            return np.random.default_rng(seed).permutation(n)
        if size is None:
            raise InputError(f"order={order!r} needs size: how large each row's shift is, shape ({n},)")
        sizes = arrays.real_vector(size, "size")
        if len(sizes) != n:
            raise InputError(f"size has {len(sizes)} numbers: give one per row, {n}")
        return np.argsort(sizes if order == "smallest" else -sizes, kind="stable")
    listed = arrays.to_numpy(arrays.as_array(order, "order"))
    if listed.dtype.kind not in "iu" or listed.shape != (n,) or not np.array_equal(np.sort(listed), np.arange(n)):
        raise InputError(f"order must list each of the {n} rows 0..{n - 1} once")
    return listed
