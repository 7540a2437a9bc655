"""Pairs for domains that have none: by class at random, or by nearest neighbour; and what such a pairing costs.

Agreement compares the same input before and after a shift. Two sets of different pictures hold no such pairs, so a
row gets a partner that merely resembles it. That lowers agreement even where nothing shifted: see `ceiling`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import arrays
from ..errors import InputError
from .record import LAYOUT
from .score import Agreement, agreement

HOW = ("label", "nearest")
#: Rows of each side in a block, and numbers in it: what is in flight at once takes about 200 MB at most.
FIRST_ROWS, SECOND_ROWS, NUMBERS = 512, 4096, 4_000_000

Groups = list[tuple[Any, np.ndarray, np.ndarray]]  # class, its rows on the first side, its rows on the shifted side


@dataclass(frozen=True, repr=False, eq=False)
class Pairs:
    """Which row of the first domain goes with which row of the shifted one; see `pair`.

    Attributes
    ----------
    first, second : numpy.ndarray of shape (m,)
        Row ``first[i]`` of the first domain and row ``second[i]`` of the shifted one are a pair; `first` ascends.
    dropped : (int, int)
        Rows of the first and of the shifted domain that are in no pair.
    replaced : int
        Pairs whose shifted row already stands in another pair: m less the shifted rows in use.
    one_sided : mapping of class to (int, int)
        The classes that only one domain has, with their rows in the first and in the shifted domain; all dropped.
    """

    first: np.ndarray
    second: np.ndarray
    dropped: tuple[int, int]
    replaced: int
    one_sided: Mapping[Any, tuple[int, int]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.first)

    def __repr__(self) -> str:
        """The counts; `first` and `second` have the rows."""
        parts = [f"{len(self)} pairs", "dropped={} and {} rows".format(*self.dropped), f"replaced={self.replaced}"]
        if self.one_sided:
            parts.append(f"classes on one side only: {', '.join(map(str, self.one_sided))}")
        return f"Pairs({', '.join(parts)})"

    def to_dict(self) -> dict[str, Any]:
        """Everything as valid JSON."""
        return {
            "first": self.first.tolist(),
            "second": self.second.tolist(),
            "dropped": list(self.dropped),
            "replaced": self.replaced,
            "one_sided": {str(name): list(rows) for name, rows in self.one_sided.items()},
        }


def pair(
    labels: Any,
    shifted_labels: Any,
    *,
    how: str = "label",
    features: Any = None,
    shifted_features: Any = None,
    seed: int = 0,
) -> Pairs:
    """Pair the rows of two domains that hold different inputs.

    Where the rows of two domains are the same inputs, they are pairs already: do not pair them again.

    Parameters
    ----------
    labels, shifted_labels : array of shape (n,) and (n',)
        Classes of the rows, whole numbers or names. None for both lets "nearest" search all rows.
    how : {"label", "nearest"}
        "label" (default) pairs the rows of each class at random, each row at most once; the smaller side decides how
        many. "nearest" gives each row of the first domain the nearest row (Euclidean distance) of the shifted domain,
        of its own class where labels are given. Rows may serve several times; of equally near rows the first serves.
    features, shifted_features : array of shape (n, ...) and (n', ...)
        What "nearest" measures distance in, such as pictures or the activations of a layer; each row is flattened.
    seed : int
        Seed of the random pairs of "label".

    Returns
    -------
    Pairs
        With counts of the rows that were dropped and of those used again.

    Raises
    ------
    InputError
        Lengths or feature widths that do not match, missing labels or features, a feature that is not finite, or
        domains without a common class.

    Notes
    -----
    "nearest" is exact: candidates come from matrix products, and those within their rounding error are compared by
    their differences in float64. Memory beyond the inputs stays bounded, so features may be memory-mapped.

    Examples
    --------
    >>> pair([0, 0, 1, 2], [1, 0, 1])
    Pairs(2 pairs, dropped=2 and 1 rows, replaced=0, classes on one side only: 2)
    >>> near = pair(None, None, how="nearest", features=[[0.0], [1.0]], shifted_features=[[5.0], [0.9]])
    >>> near.second, near.replaced
    (array([1, 1]), 1)
    """
    _check_how(how, features, shifted_features, seed)
    if (labels is None) != (shifted_labels is None):
        raise InputError("labels are given for one domain only: give them for both, or for neither with how='nearest'")
    first, second = _classes(labels, "labels"), _classes(shifted_labels, "shifted_labels")
    if first is not None and second is not None and (first.dtype.kind == "U") != (second.dtype.kind == "U"):
        raise InputError(f"labels are {first.dtype} and shifted_labels {second.dtype}: name the classes the same way")
    if how == "label":
        if first is None or second is None:
            raise InputError("how='label' needs labels and shifted_labels: without labels use how='nearest'")
        return _collect(_by_label(_groups(first, second), seed), (len(first), len(second)), _one_sided(first, second))
    a = _features(features, first, "features", "labels")
    b = _features(shifted_features, second, "shifted_features", "shifted_labels")
    if a.shape[1] != b.shape[1]:
        raise InputError(f"features have {a.shape[1]} numbers a row and shifted_features {b.shape[1]}: use the same")
    if first is None or second is None:
        everything: Groups = [(None, np.arange(len(a)), np.arange(len(b)))]
        return _collect(_by_distance(everything, a, b), (len(a), len(b)), {})
    found = _by_distance(_groups(first, second), a, b)
    return _collect(found, (len(a), len(b)), _one_sided(first, second))


def pair_with_itself(labels: Any, *, how: str = "label", features: Any = None, seed: int = 0) -> Pairs:
    """Pair each row of one domain with another row of it, the way `pair` pairs two domains.

    By label, the rows of a class are put in a random circle and each is paired with the next; by nearest neighbour,
    the row itself is left out of the search. A row without another of its class is dropped.

    Raises
    ------
    InputError
        As `pair`.

    Examples
    --------
    >>> pairs = pair_with_itself([0, 0, 0, 1])
    >>> pairs, bool(np.any(pairs.first == pairs.second))
    (Pairs(3 pairs, dropped=1 and 1 rows, replaced=0), False)
    """
    _check_how(how, features, features, seed)
    classes = _classes(labels, "labels")
    if how == "label":
        if classes is None:
            raise InputError("how='label' needs labels: without labels use how='nearest'")
        return _collect(_in_circles(_groups(classes, classes), seed), (len(classes), len(classes)), {})
    a = _features(features, classes, "features", "labels")
    groups: Groups = [(None, np.arange(len(a)), np.arange(len(a)))] if classes is None else _groups(classes, classes)
    return _collect(_by_distance(groups, a, a, itself=True), (len(a), len(a)), {})


def ceiling(
    logits: Any, labels: Any, *, how: str = "label", features: Any = None, seed: int = 0, inputs: str = "logits"
) -> Agreement:
    """The agreement of one domain with itself under the same kind of pairing: what is left without any shift.

    Partners that are different inputs differ in belief, shift or no shift. Compare the agreement of two paired
    domains with this, as the ratio agreement / ceiling, not with log k. The ratio is an estimate and may exceed 1.

    Parameters
    ----------
    logits : array of shape (n, k)
        Outputs on the first (clean) domain.
    labels, how, features, seed
        As for `pair_with_itself`.
    inputs : {"logits", "log_probs", "probs"}
        As for `agreement`.

    Returns
    -------
    Agreement
        Without an interval, because each row stands in two pairs; its n is the number of pairs.

    Raises
    ------
    InputError
        As `pair` and `agreement`, or logits of another length than labels or features.

    Examples
    --------
    Two inputs of class 0 that a model tells apart:

    >>> round(ceiling([[2.0, 0.0], [0.0, 2.0]], [0, 0]).value, 6)
    0.0
    """
    outputs = arrays.check_matrix(logits, "logits", layout=LAYOUT)
    pairs = pair_with_itself(labels, how=how, features=features, seed=seed)
    rows = len(pairs) + pairs.dropped[0]
    if rows != outputs.shape[0]:
        given = "features" if labels is None else "labels"
        raise InputError(f"logits has {outputs.shape[0]} rows and {given} {rows}: give one of each per input")
    return agreement(outputs[pairs.first], outputs[pairs.second], inputs=inputs)


def _check_how(how: Any, features: Any, shifted_features: Any, seed: Any) -> None:
    arrays.whole_number(seed, "seed", least=0)
    arrays.one_of(how, "how", HOW)
    missing = [
        name for name, value in [("features", features), ("shifted_features", shifted_features)] if value is None
    ]
    if how == "nearest" and missing:
        raise InputError(
            f"how='nearest' needs {missing[0]}: pictures, or the activations of a layer, one row per input"
        )
    if how == "label" and len(missing) < 2:
        raise InputError("how='label' looks at no features: leave them out, or use how='nearest'")


def _classes(labels: Any, name: str) -> np.ndarray | None:
    """Class numbers or names in one row, or None."""
    if labels is None:
        return None
    array = arrays.to_numpy(arrays.as_array(labels, name))
    if array.ndim != 1 or not array.size or array.dtype.kind not in "iuU":
        raise InputError(
            f"{name} has shape {array.shape} and type {array.dtype}: give one class per row, whole numbers or names"
        )
    return array


def _features(features: Any, classes: np.ndarray | None, name: str, labels_name: str) -> np.ndarray:
    """Features as a matrix with a row per input, still in their own type, all finite."""
    array = arrays.to_numpy(arrays.as_array(features, name))
    if array.ndim < 2 or not array.size or array.dtype.kind not in "fiu":
        raise InputError(f"{name} has shape {array.shape} and type {array.dtype}: give numbers, one row per input")
    if classes is not None and len(classes) != len(array):
        raise InputError(f"{name} has {len(array)} rows and {labels_name} {len(classes)}: give one of each per input")
    array = array.reshape(len(array), -1)
    rows = _rows_in_block(array, FIRST_ROWS)
    for start in range(0, len(array), rows):
        block = array[start : start + rows]
        if not np.isfinite(block).all():
            row, column = np.argwhere(~np.isfinite(block))[0]
            raise InputError(f"{name}[{start + row}] holds {block[row, column]}: drop or mend this row")
        # squares of anything larger leave the range of float64
        if np.abs(block.astype(np.float64)).max() > 1e140:
            raise InputError(
                f"{name} reaches {np.abs(block).max():.3g}: divide the features of both domains by a number"
            )
    return array


def _groups(first: np.ndarray, second: np.ndarray) -> Groups:
    """The rows of each class that both sides have, by ascending class."""
    common = np.intersect1d(first, second)
    return [(name, np.flatnonzero(first == name), np.flatnonzero(second == name)) for name in common]


def _one_sided(first: np.ndarray, second: np.ndarray) -> dict[Any, tuple[int, int]]:
    alone = np.setxor1d(first, second)
    return {name.item(): (int(np.sum(first == name)), int(np.sum(second == name))) for name in alone}


def _by_label(groups: Groups, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(seed)
    # zip would truncate as silently as the published code; here `_collect` counts what is left
    sizes = [min(len(rows), len(others)) for _, rows, others in groups]
    return [
        (rng.permutation(rows)[:size], rng.permutation(others)[:size])
        for (_, rows, others), size in zip(groups, sizes, strict=True)
    ]


def _in_circles(groups: Groups, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(seed)
    circles = [rng.permutation(rows) for _, rows, _ in groups if len(rows) > 1]
    return [(circle, np.roll(circle, -1)) for circle in circles]


def _by_distance(
    groups: Groups, a: np.ndarray, b: np.ndarray, *, itself: bool = False
) -> list[tuple[np.ndarray, np.ndarray]]:
    usable = [(rows, others) for _, rows, others in groups if not itself or len(rows) > 1]
    return [
        (part, _nearest(a, part, b, others, itself)) for rows, others in usable for part in _blocks(rows, a, FIRST_ROWS)
    ]


def _nearest(a: np.ndarray, rows: np.ndarray, b: np.ndarray, others: np.ndarray, itself: bool) -> np.ndarray:
    """For each of `rows` of a the nearest of `others`, rows of b: the best of one block of b after another."""
    points = a[rows].astype(np.float64)
    best, nearest = np.full(len(rows), np.inf), np.full(len(rows), -1)
    for part in _blocks(others, b, SECOND_ROWS):
        barred = rows[:, None] == part if itself else None
        distances, found = _nearest_in_block(points, b[part].astype(np.float64), barred)
        closer = distances < best
        best[closer], nearest[closer] = distances[closer], part[found[closer]]
    return nearest


def _blocks(rows: np.ndarray, features: np.ndarray, most: int) -> list[np.ndarray]:
    size = _rows_in_block(features, most)
    return [rows[start : start + size] for start in range(0, len(rows), size)]


def _rows_in_block(features: np.ndarray, most: int) -> int:
    return max(1, min(most, NUMBERS // features.shape[1]))


def _nearest_in_block(a: np.ndarray, b: np.ndarray, barred: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Squared distance and place of the point of b nearest to each point of a; inf where every one is barred."""
    squares_a, squares_b = np.einsum("ij,ij->i", a, a), np.einsum("ij,ij->i", b, b)
    rough = squares_a[:, None] + squares_b - 2.0 * (a @ b.T)
    if barred is not None:
        rough[barred] = np.inf
    # twice the rounding error of `rough`: no row outside this margin can be the nearest
    margin = 8.0 * (a.shape[1] + 4) * np.finfo(float).eps * (squares_a + squares_b.max())
    distances, found = np.full(len(a), np.inf), np.zeros(len(a), dtype=np.intp)
    for row, limit in enumerate(rough.min(axis=1) + margin):
        if np.isfinite(limit):
            candidates = np.flatnonzero(rough[row] <= limit)
            exact = np.sum((b[candidates] - a[row]) ** 2, axis=1)
            best = int(np.argmin(exact))
            distances[row], found[row] = exact[best], candidates[best]
    return distances, found


def _collect(
    found: list[tuple[np.ndarray, np.ndarray]], sizes: tuple[int, int], one_sided: Mapping[Any, tuple[int, int]]
) -> Pairs:
    """The pairs of all classes, counted."""
    if not found:
        raise InputError(f"no pair is left of {sizes[0]} and {sizes[1]} rows: no class has a partner for any row")
    first = np.concatenate([rows for rows, _ in found])
    second = np.concatenate([others for _, others in found])
    order = np.argsort(first, kind="stable")
    used = len(np.unique(second))
    return Pairs(
        first[order], second[order], (sizes[0] - len(first), sizes[1] - used), len(second) - used, dict(one_sided)
    )
