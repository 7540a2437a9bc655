"""Streams: batches in the order they come, when they arrive, and how alike neighbours are. NumPy only."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import arrays
from ..errors import InputError, brief
from .times import NS_PER_MS, parse_ms


@dataclass(frozen=True, eq=False)
class Stream:
    """Inputs and labels, cut into batches in the order they arrive: ``stream[i]`` is (inputs, labels) of batch i.

    Parameters
    ----------
    inputs : array of shape (N, ...)
        NumPy or torch. It is indexed batch by batch, so it may be memory-mapped.
    labels : array of int, shape (N,)
        True classes. They grade the predictions; a method never sees them.
    batch : int
        Samples in a batch; 64, as in the source. The last batch holds what is left: give `order` a multiple of `batch`
        (the source drops the rest) where all should be equal.
    order : array of int, shape (n,), optional
        Rows in the order of the stream, such as a permutation or what `correlated` gives; by default as they lie.
    corruption : str
        The name of the shift, kept in the trace.

    Raises
    ------
    InputError
        No rows, unequal lengths, labels that are no whole numbers from 0, a row in `order` that does not exist.

    Examples
    --------
    >>> stream = Stream(np.zeros((5, 2)), [0, 1, 2, 0, 1], batch=2, order=[4, 3, 2, 1, 0])
    >>> len(stream), [labels.tolist() for _, labels in stream]
    (3, [[1, 0], [2, 1], [0]])
    """

    inputs: Any
    labels: np.ndarray
    batch: int = 64
    order: np.ndarray | None = None
    corruption: str = ""

    def __post_init__(self) -> None:
        """Check everything once; `order` becomes an array."""
        arrays.whole_number(self.batch, "batch", least=1)
        labels = _counts(self.labels, "labels")
        if len(self.inputs) != len(labels):
            raise InputError(f"inputs has {len(self.inputs)} rows and labels {len(labels)}: give one label per row")
        order = np.arange(len(labels)) if self.order is None else _counts(self.order, "order")
        arrays.refuse_where(order >= len(labels), order, "order", f"there are {len(labels)} rows, counted from 0")
        object.__setattr__(self, "labels", labels)
        object.__setattr__(self, "order", order)

    def __len__(self) -> int:
        """How many batches there are."""
        return -(-len(self.order) // self.batch)  # type: ignore[arg-type]

    def __getitem__(self, i: int) -> tuple[Any, np.ndarray]:
        """Inputs and labels of batch i."""
        if not 0 <= i < len(self):
            raise IndexError(f"batch {i}: there are {len(self)}, counted from 0")
        rows = self.order[i * self.batch : (i + 1) * self.batch]  # type: ignore[index]
        return self.inputs[rows], self.labels[rows]


def poisson(n: int, *, period_ms: Any, seed: int = 0) -> np.ndarray:
    r"""When n batches arrive that come independently of each other: a Poisson process, as in a server's load.

    Batch 0 arrives at time 0; the gaps are independent and exponential with mean :math:`\gamma` = `period_ms`, each
    rounded to the nearest nanosecond. At the same mean rate as a steady stream, arrivals bunch: with a constant
    latency :math:`\delta` and :math:`r = \delta / \gamma` the share of batches that is served tends to

    .. math:: \alpha_0 = \frac{1}{1 + r} \text{ without a buffer}, \qquad
       \alpha_1 = \frac{1}{r + e^{-r}} \text{ with a buffer of one batch.}

    (Between two pickups lie :math:`\max(K, 1)` arrivals with a buffer, :math:`1 + K` without, where K is Poisson of
    mean r.) At r = 1 a steady stream loses nothing; a Poisson stream keeps 0.5 without and 0.7311 with a buffer.

    Parameters
    ----------
    n : int
        Batches, at least 1.
    period_ms : number
        Mean gap in ms, above 0.
    seed : int
        Seed of the gaps, 0 by default.

    Returns
    -------
    numpy.ndarray of float64, shape (n,)
        Arrival times in ms, whole nanoseconds, non-decreasing from 0: an `arrival_ms` of a trace or of a
        `measure.DiscreteScenario`.

    Raises
    ------
    InputError
        No batches, or a mean gap that is no time above 0.

    Examples
    --------
    >>> poisson(4, period_ms=39.9, seed=1)
    array([  0.      ,  42.813858,  55.121138, 269.601069])
    """
    arrays.whole_number(n, "n", least=1)
    mean = parse_ms(period_ms, "period_ms")
    if mean == 0:
        raise InputError(f"period_ms is {period_ms}: give a mean gap above 0")
    gaps = np.rint(_generator(seed).exponential(mean, size=n - 1)).astype(np.int64)
    return np.concatenate([[0], np.cumsum(gaps)]) / NS_PER_MS


def markov(weights: Any, n: int, *, correlation_length: float, seed: int = 0) -> np.ndarray:
    r"""States of a Markov chain that keeps its state for a while and then draws a new one by `weights`.

    At each step the chain keeps its state with probability :math:`s = e^{-1/L}`, else it draws from :math:`\pi`, the
    weights made to sum to 1 (the draw may give the old state again). Hence for every lag k

    .. math:: P(x_{t+k} = b \mid x_t = a) = s^k \, [a = b] + (1 - s^k) \, \pi_b,

    so :math:`\pi` is the stationary distribution, in which the chain starts, and the autocorrelation of every function
    of the state is :math:`e^{-k/L}`: L is the correlation length in steps.

    Parameters
    ----------
    weights : array of shape (k,)
        Finite, at least 0, not all 0.
    n : int
        Steps, at least 1.
    correlation_length : float
        L, at least 0 and finite; 0 means independent draws.
    seed : int
        Seed of the chain, 0 by default.

    Returns
    -------
    numpy.ndarray of int64, shape (n,)

    Raises
    ------
    InputError
        A negative weight or weights that are all 0, no steps, or a length that is negative or not finite.

    Notes
    -----
    The mean of many neighbours, n well above L, varies like a mean of :math:`n \tanh(1 / 2L)`, about n / 2L,
    independent draws.

    Examples
    --------
    >>> markov([0.5, 0.3, 0.2], 20, correlation_length=5, seed=2)
    array([0, 0, 2, 2, 2, 1, 1, 1, 1, 1, 1, 0, 0, 1, 1, 1, 1, 1, 0, 0])
    """
    shares = _shares(weights)
    arrays.whole_number(n, "n", least=1)
    keep = _keep(correlation_length, "correlation_length")
    generator = _generator(seed)
    draws = generator.choice(len(shares), size=n, p=shares)
    fresh = generator.random(n) >= keep
    # before the first new draw the chain has the state that it started in, draw 0
    return draws[np.maximum.accumulate(np.where(fresh, np.arange(n), 0))].astype(np.int64)


def correlated(
    labels: Any,
    n: int,
    *,
    class_length: float,
    class_weights: Mapping[int, float] | None = None,
    domains: Any = None,
    domain_length: float = 0.0,
    domain_weights: Mapping[Any, float] | None = None,
    seed: int = 0,
) -> np.ndarray:
    """Rows of a pool in the order of a stream whose class and domain persist: no longer independent draws.

    Two independent chains (see `markov`) say which class and which domain each sample has. The row itself comes from
    the rows of that class and domain in random order; when all have been used, in a new random order.

    Parameters
    ----------
    labels : array of int, shape (N,)
        Classes of the pool's rows.
    n : int
        Samples in the stream; it may exceed N, rows then come back.
    class_length, domain_length : float
        Correlation lengths in samples, at least 0; 0 means independent draws.
    class_weights, domain_weights : mapping, optional
        The stationary distribution by class and by domain; one that is not named does not occur. By default the
        shares in the pool.
    domains : array of shape (N,), optional
        Domains of the pool's rows, such as names of corruptions; by default there is one.
    seed : int
        Seed of both chains and of the orders.

    Returns
    -------
    numpy.ndarray of int64, shape (n,)
        Row numbers: the `order` of a `Stream`.

    Raises
    ------
    InputError
        As `markov`; unequal lengths, a weight for a class or a domain that the pool lacks, or a class that has no row
        in some domain.

    Examples
    --------
    >>> labels = np.repeat([0, 1, 2], 4)
    >>> labels[correlated(labels, 12, class_length=4, seed=1)]
    array([2, 2, 1, 1, 0, 0, 0, 0, 0, 1, 1, 1])
    """
    classes = _counts(labels, "labels")
    places = np.zeros(len(classes), dtype=np.int64) if domains is None else arrays.as_array(domains, "domains")
    if places.shape != classes.shape:
        raise InputError(f"domains has shape {places.shape} and labels {classes.shape}: give one domain per row")
    names, class_shares = _stationary(classes, class_weights, "class_weights")
    areas, domain_shares = _stationary(places, domain_weights, "domain_weights")
    seeds = np.random.SeedSequence(arrays.whole_number(seed, "seed", least=0)).generate_state(3)
    _keep(class_length, "class_length"), _keep(domain_length, "domain_length")
    wanted = names[markov(class_shares, n, correlation_length=class_length, seed=int(seeds[0]))]
    where = areas[markov(domain_shares, n, correlation_length=domain_length, seed=int(seeds[1]))]
    generator = _generator(int(seeds[2]))
    order = np.empty(n, dtype=np.int64)
    for name in names[class_shares > 0]:
        for area in areas[domain_shares > 0]:
            rows = np.flatnonzero((classes == name) & (places == area))
            if not rows.size:
                raise InputError(f"labels has no row of class {name} in domain {area}: leave one out by its weight")
            visits = np.flatnonzero((wanted == name) & (where == area))
            rounds = [generator.permutation(rows) for _ in range(-(-len(visits) // len(rows)))]
            order[visits] = np.concatenate([rows[:0], *rounds])[: len(visits)]
    return order


def _stationary(values: np.ndarray, weights: Mapping[Any, float] | None, name: str) -> tuple[np.ndarray, np.ndarray]:
    """The distinct values and their shares in the stream."""
    present, counts = np.unique(values, return_counts=True)
    if weights is None:
        return present, _shares(counts, name)
    strangers = [value for value in weights if value not in present]
    if strangers:
        raise InputError(f"{name} names {strangers[0]!r}, which no row has: the pool has {present.tolist()}")
    return present, _shares([weights.get(value, 0.0) for value in present.tolist()], name)


def _shares(weights: Any, name: str = "weights") -> np.ndarray:
    values = arrays.not_negative(weights, name)
    with np.errstate(over="ignore"):
        total = float(values.sum())
    if not 0.0 < total < math.inf:
        raise InputError(f"{name} sum to {total}: give a finite sum above 0")
    return values / total


def _keep(length: Any, name: str) -> float:
    """The probability to keep the state at a step, from the correlation length."""
    if not arrays.is_number(length) or length < 0.0:
        raise InputError(f"{name} is {brief(length)}: give a finite number of samples of at least 0")
    return math.exp(-1.0 / length) if length > 0.0 else 0.0


def _counts(values: Any, name: str) -> np.ndarray:
    """At least one whole number, none below 0."""
    row = arrays.whole_row(values, name)
    if not row.size:
        raise InputError(f"{name} is empty: give at least one whole number")
    arrays.refuse_where(row < 0, row, name, "give whole numbers of at least 0")
    return row


def _generator(seed: int) -> np.random.Generator:
    return np.random.default_rng(arrays.whole_number(seed, "seed", least=0))
