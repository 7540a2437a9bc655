"""How much the order of the tasks matters, and which orders are extreme."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from .. import arrays
from ..errors import InputError, brief
from .inputs import LARGEST, gapped, refuse_endless
from .value import Value, outcome

#: Up to so many tasks a path is found by dynamic programming, and is the best; beyond, by local search.
EXACT_TASKS = 12
#: Random starts of the local search, beside one start from every task.
RANDOM_STARTS = 10
#: With fewer random orders than this the range over orders says little.
FEW_ORDERS = 5


@dataclass(frozen=True)
class OrderSensitivity:
    """How far scores move with the order of the tasks; see `order_sensitivity`.

    Attributes
    ----------
    opd : tuple of Value
        Order-normalised performance disparity of each task, ``opd``; lower is better.
    mopd, aopd : Value
        Its maximum and mean over tasks, ``mopd`` and ``aopd``.
    orders : tuple of str
        Names of the orders.
    tasks : int
    warnings : tuple of str
    """

    opd: tuple[Value, ...]
    mopd: Value
    aopd: Value
    orders: tuple[str, ...]
    tasks: int
    warnings: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Everything as valid JSON."""
        return {
            "opd": [value.to_dict() for value in self.opd],
            "mopd": self.mopd.to_dict(),
            "aopd": self.aopd.to_dict(),
            "orders": list(self.orders),
            "tasks": self.tasks,
            "warnings": list(self.warnings),
        }


def order_sensitivity(scores: Any, *, permutations: Mapping[Any, Sequence[int]] | None = None) -> OrderSensitivity:
    r"""Order-normalised performance disparity: how far does each task's score move with the order?

    .. math::

       \mathrm{OPD}_t = \max_r \bar P_t^r - \min_r \bar P_t^r, \qquad
       \mathrm{MOPD} = \max_t \mathrm{OPD}_t, \qquad \mathrm{AOPD} = \frac1T \sum_t \mathrm{OPD}_t,

    where :math:`\bar P_t^r` is the final score of task t under order r, averaged over seeds. A range grows with the
    number of orders: compare methods on the same orders only. It mixes order and position, since the last task of an
    order is usually the best, so it is large even for a method whose average hardly moves.

    Parameters
    ----------
    scores : array of shape (R, T) or (R, S, T), or mapping of order id to (T,) or (S, T)
        Final scores under R orders, with S seeds each (in a mapping, S may differ). Column t is the same task under
        every order, not the t-th trained, unless `permutations` says otherwise. None or NaN is missing.
    permutations : mapping of order id to sequence of T int, optional
        For scores in the order of training: entry i is the task (from 0) trained at position i. The ids of an array are
        0 to R - 1.

    Returns
    -------
    OrderSensitivity
        None with the reason for one order, and where a task lacks a score.

    Raises
    ------
    InputError
        Other shapes, orders of differing length, scores that are infinite or no numbers, a permutation that is missing
        or none.

    References
    ----------
    Yoon et al. (2020), Scalable and order-robust continual learning with additive parameter decomposition, ICLR.

    Examples
    --------
    >>> found = order_sensitivity([[80, 70, 60], [82, 64, 66], [78, 73, 63]])
    >>> [value.value for value in found.opd], found.mopd.value, round(found.aopd.value, 3)
    ([4.0, 9.0, 6.0], 9.0, 6.333)
    """
    by_order = _scores(scores)
    if permutations is not None:
        _refuse_strangers(permutations, by_order)
        by_order = {order: rows[:, _positions(permutations, order, rows.shape[1])] for order, rows in by_order.items()}
    # NaN in any seed: a mean over the others would be one of other runs
    means = np.array([rows.mean(axis=0) for rows in by_order.values()])
    count, tasks = means.shape
    reason = "one order: a range needs two" if count == 1 else None
    opd = tuple(_disparity(t, means[:, t], list(by_order), reason) for t in range(tasks))
    defined = [value.value for value in opd if value.value is not None]
    coverage = (len(defined), tasks)
    if reason is None and len(defined) < tasks:
        reason = next(value.reason for value in opd if value.value is None)
    warnings: tuple[str, ...] = ()
    if 1 < count < FEW_ORDERS:
        warnings = (f"{count} orders: a range over fewer than {FEW_ORDERS} understates what another order may do",)
    return OrderSensitivity(
        opd,
        outcome("mopd", None if reason else max(defined), coverage=coverage, reason=reason, direction="lower"),
        outcome(
            "aopd", None if reason else float(np.mean(defined)), coverage=coverage, reason=reason, direction="lower"
        ),
        tuple(str(order) for order in by_order),
        tasks,
        warnings,
    )


def _scores(scores: Any) -> dict[Any, np.ndarray]:
    """Scores of shape (seeds, tasks) by order."""
    if isinstance(scores, Mapping):
        if not scores:
            raise InputError("scores is empty: give the final scores of at least one order")
        rows = {order: _rows(values, f"scores[{order!r}]") for order, values in scores.items()}
    else:
        array = arrays.floats(scores, "scores")
        if array.ndim not in (2, 3):
            raise InputError(f"scores has shape {array.shape}: give (orders, tasks) or (orders, seeds, tasks)")
        rows = {order: _rows(values, f"scores[{order}]") for order, values in enumerate(array)}
    first = next(iter(rows))
    for order, values in rows.items():
        if values.shape[1] != rows[first].shape[1]:
            raise InputError(
                f"scores[{order!r}] has {values.shape[1]} tasks and scores[{first!r}] {rows[first].shape[1]}: give the "
                "same tasks under every order"
            )
    return rows


def _rows(values: Any, name: str) -> np.ndarray:
    deep = bool(np.ndim(np.asarray(values, dtype=object)) == 2)
    return np.atleast_2d(gapped(values, name, ndim=2 if deep else 1))


def _refuse_strangers(permutations: Any, by_order: Mapping[Any, np.ndarray]) -> None:
    if not isinstance(permutations, Mapping):
        raise InputError(f"permutations is {brief(permutations)}: give a mapping of order to its tasks")
    strange = [order for order in permutations if order not in by_order]
    if strange:
        raise InputError(f"permutations has order {brief(strange[0])}, which scores have not: leave it out")


def _positions(permutations: Mapping[Any, Sequence[int]], order: Any, tasks: int) -> np.ndarray:
    """Where each task stands in an order."""
    if order not in permutations:
        raise InputError(f"permutations lacks order {order!r}: say which task was trained at each position")
    name, layout = f"permutations[{order!r}]", f"each of the tasks 0 to {tasks - 1} once"
    permutation = arrays.whole_numbers(permutations[order], name, layout=layout, ndim=1)
    if sorted(permutation) != list(range(tasks)):
        raise InputError(f"{name} is {brief(permutations[order])}: give {layout}")
    return np.argsort(permutation)


def _disparity(task: int, means: np.ndarray, orders: list[Any], reason: str | None) -> Value:
    missing = np.flatnonzero(np.isnan(means))
    if reason is None and missing.size:
        reason = f"task {task} lacks a score under order {orders[missing[0]]!r}"
    coverage = (len(means) - len(missing), max(2, len(means)))
    return outcome("opd", None if reason else float(np.ptp(means)), coverage=coverage, reason=reason, direction="lower")


@dataclass(frozen=True)
class Path:
    """One order of the tasks.

    Attributes
    ----------
    kind : {"min", "max", "random"}
    order : tuple of int
        Tasks from 0, in the order of training.
    length : float
        Sum of the distances from each task to the next.
    exact : bool
        Whether no order is better; for a random one whether it was drawn uniformly, which it always is.
    how : str
        How it was found, in words.
    """

    kind: str
    order: tuple[int, ...]
    length: float
    exact: bool
    how: str

    def to_dict(self) -> dict[str, Any]:
        """The fields as valid JSON."""
        return {
            "kind": self.kind,
            "order": list(self.order),
            "length": self.length,
            "exact": self.exact,
            "how": self.how,
        }


@dataclass(frozen=True)
class Paths:
    """The shortest, the longest and some random orders; see `paths`.

    Attributes
    ----------
    min, max : Path
    random : tuple of Path
    mean : float
        Mean length over all T! orders, exact for any T.
    values : tuple of Value
        ``path.min``, ``path.max`` and ``path.random`` (the mean).
    """

    min: Path
    max: Path
    random: tuple[Path, ...]
    mean: float

    @property
    def values(self) -> tuple[Value, ...]:
        """The three lengths under their ids."""
        count = len(self.min.order)
        found = {"path.min": self.min.length, "path.max": self.max.length, "path.random": self.mean}
        return tuple(
            outcome(id, length, coverage=(count, count), direction="none", unit="distance")
            for id, length in found.items()
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything as valid JSON."""
        return {
            "min": self.min.to_dict(),
            "max": self.max.to_dict(),
            "random": [path.to_dict() for path in self.random],
            "mean": self.mean,
        }


def paths(distances: Any, *, draws: int = 10, seed: int = 0) -> Paths:
    r"""Orders of the tasks along the shortest and the longest path through them, and random ones.

    .. math:: L(\pi) = \sum_{i=1}^{T-1} D_{\pi_i, \pi_{i+1}},

    over open paths that visit each task once. Distances may be asymmetric: :math:`D_{ij}` is that from task i to the
    task j trained next, such as the curvature of the loss of i along a gradient step towards j. For up to 12 tasks the
    two extremes are exact (dynamic programming over subsets, :math:`2^T T^2` steps); beyond they come from a local
    search and are bounds: no shorter (longer) path was found. Among equal paths, such as a path and its reversal where
    distances are symmetric, the first in lexicographic order is taken.

    The mean over all orders needs no search: each ordered pair is adjacent in :math:`(T-1)!` of :math:`T!` orders, so
    it is :math:`\frac1T \sum_{i \ne j} D_{ij}`.

    Parameters
    ----------
    distances : array of shape (T, T)
        From the task of the row to the task of the column; at least two tasks. The diagonal is not used.
    draws : int
        Random orders, 10 by default, drawn uniformly and independently.
    seed : int
        Of the random orders, and of the local search.

    Returns
    -------
    Paths

    Raises
    ------
    InputError
        A matrix that is not square, has fewer than two tasks or distances that are not finite, an option out of range.

    References
    ----------
    Bell and Lawrence (2022), The effect of task ordering in continual learning, arXiv:2205.13323: the longest paths
    forgot less than the shortest (compare by `paired` with ``alternative="less"``). Held and Karp (1962), A dynamic
    programming approach to sequencing problems.

    Examples
    --------
    >>> found = paths([[0, 1, 4, 6], [1, 0, 2, 5], [4, 2, 0, 3], [6, 5, 3, 0]])
    >>> found.min.order, found.min.length, found.max.order, found.max.length, found.mean
    ((0, 1, 2, 3), 6.0, (1, 3, 0, 2), 15.0, 10.5)
    """
    d = _distances(distances)
    arrays.whole_number(draws, "draws", least=0)
    rng = np.random.default_rng(arrays.whole_number(seed, "seed", least=0))
    orders = [tuple(int(task) for task in rng.permutation(len(d))) for _ in range(draws)]
    drawn = tuple(Path("random", order, _length(d, order), True, f"drawn with seed {seed}") for order in orders)
    return Paths(_extreme(d, "min", rng), _extreme(d, "max", rng), drawn, float(d.sum()) / len(d))


def _distances(distances: Any) -> np.ndarray:
    array = arrays.to_numpy(arrays.check_matrix(distances, "distances", layout="a square matrix of distances"))
    if array.shape[0] != array.shape[1] or len(array) < 2:
        raise InputError(f"distances has shape {array.shape}: give a square matrix of at least two tasks")
    array = array.astype(np.float64)
    np.fill_diagonal(array, 0.0)
    arrays.refuse_not_finite(array, "distances")
    refuse_endless(array, "distances", f"give distances of at most {LARGEST:g}")
    return array


def _length(d: np.ndarray, order: Any) -> float:
    return math.fsum(d[a, b] for a, b in pairwise(order))


def _extreme(d: np.ndarray, kind: str, rng: np.random.Generator) -> Path:
    signed = d if kind == "min" else -d
    if len(d) <= EXACT_TASKS:
        order = _shortest(signed)
        return Path(kind, order, _length(d, order), True, "exact, by dynamic programming")
    order = _short(signed, rng)
    bound = "no shorter" if kind == "min" else "no longer"
    how = f"heuristic, by local search: {bound} path was found, which does not rule one out"
    return Path(kind, order, _length(d, order), False, how)


def _shortest(d: np.ndarray) -> tuple[int, ...]:
    """The shortest open path, by dynamic programming over subsets.

    ``rest[s, i]`` is the length of the shortest path that begins at i and visits the tasks of the bit set s, which
    holds i. Going from ends to beginnings lets the path be read off from its first task on, smallest number first.
    """
    n = len(d)
    bits = 1 << np.arange(n)
    rest = np.full((1 << n, n), np.inf)
    rest[bits, np.arange(n)] = 0.0
    for subset in range(1, 1 << n):
        inside = np.flatnonzero(subset & bits)
        if len(inside) > 1:
            # a task is not in the set without it, so that it never follows itself: its entry there is infinite
            onward = rest[np.ix_(subset ^ bits[inside], inside)]
            rest[subset, inside] = np.min(d[np.ix_(inside, inside)] + onward, axis=1)
    subset = (1 << n) - 1
    order = [int(np.argmin(rest[subset]))]
    while len(order) < n:
        subset ^= int(bits[order[-1]])
        order.append(int(np.argmin(d[order[-1]] + rest[subset])))
    return tuple(order)


def _short(d: np.ndarray, rng: np.random.Generator) -> tuple[int, ...]:
    """A short open path: the nearest neighbour from every task, and random starts, each improved by moving runs."""
    n = len(d)
    starts = [_nearest(d, first) for first in range(n)] + [rng.permutation(n) for _ in range(RANDOM_STARTS)]
    moves = _moves(n)
    found = [tuple(int(task) for task in _improved(d, np.array(order), moves)) for order in starts]
    return min(found, key=lambda order: (_length(d, order), order))


def _nearest(d: np.ndarray, first: int) -> list[int]:
    order, left = [first], set(range(len(d))) - {first}
    while left:
        order.append(min(left, key=lambda task: (d[order[-1], task], task)))
        left.remove(order[-1])
    return order


def _improved(d: np.ndarray, order: np.ndarray, moves: np.ndarray) -> np.ndarray:
    """Take the move that shortens the path most until none does."""
    best = _length(d, order)
    while True:
        candidates = order[moves]
        lengths = d[candidates[:, :-1], candidates[:, 1:]].sum(axis=1)
        shortest = int(np.argmin(lengths))
        # a rounding is no improvement, and could be taken back for ever
        if not lengths[shortest] < best - 1e-9 * max(1.0, abs(best)):
            return order
        order, best = candidates[shortest], float(lengths[shortest])


def _moves(n: int) -> np.ndarray:
    """Rearrangements of n positions: up to three in a row put elsewhere, either way round, or any number reversed."""
    places = list(range(n))
    found = []
    for start in range(n):
        for stop in range(start + 1, n + 1):
            run, others = places[start:stop], places[:start] + places[stop:]
            found.append(others[:start] + run[::-1] + others[start:])
            if len(run) <= 3:
                found += [others[:at] + way + others[at:] for at in range(len(others) + 1) for way in (run, run[::-1])]
    return np.unique(np.array(found), axis=0)
