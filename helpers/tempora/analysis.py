"""What utilities say of methods: rankings, break-even accuracy, harm and fronts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from .. import arrays, uncertainty
from ..errors import InputError
from ..uncertainty import RankCorrelation
from .times import parse_ms

#: Utilities are sums of rounded numbers: what differs less than this is equal.
DECIMALS = 12


@dataclass(frozen=True, repr=False, eq=False)
class Rankings:
    """Who is best where; see `rankings`.

    Attributes
    ----------
    methods : tuple of str
        Names, along the first axis of the arrays.
    ranks : numpy.ndarray of shape (methods, ...)
        Rank of each method in each cell, 1 for the best; methods that tie share the average of their ranks.
    best : numpy.ndarray of bool, the same shape
        Whether a method has the highest utility of the cell, alone or with others.
    gap : numpy.ndarray of shape (methods,)
        How far each method lies below the best of the cell, averaged over cells.
    """

    methods: tuple[str, ...]
    ranks: np.ndarray
    best: np.ndarray
    gap: np.ndarray

    @property
    def cells(self) -> int:
        """Number of cells."""
        return int(self.ranks[0].size)

    @property
    def wins(self) -> dict[str, float]:
        """Cells won by each method; where k methods tie each gets 1 / k, so that all add up to the cells."""
        best = self.best.reshape(len(self.methods), -1)
        return dict(zip(self.methods, np.sum(best / best.sum(axis=0), axis=1).tolist(), strict=True))

    @property
    def sole_wins(self) -> dict[str, int]:
        """Cells won by each method alone; with `ties` they add up to the cells, in whole numbers."""
        best = self.best.reshape(len(self.methods), -1)
        return dict(zip(self.methods, np.sum(best & (best.sum(axis=0) == 1), axis=1).tolist(), strict=True))

    @property
    def ties(self) -> int:
        """Cells in which several methods are best."""
        return int(np.sum(self.best.sum(axis=0) > 1))

    @property
    def winners(self) -> np.ndarray:
        """The winner map: for each cell the name of the best method, several joined by " = ", in the cells' shape."""
        names = np.empty(self.best.shape[1:], dtype=object)
        for cell in np.ndindex(names.shape):
            names[cell] = " = ".join(name for name, won in zip(self.methods, self.best[:, *cell], strict=True) if won)
        return names

    def __repr__(self) -> str:
        """Wins, most first."""
        order = sorted(self.wins.items(), key=lambda item: -item[1])
        wins = ", ".join(f"{name} {count:.4g}" for name, count in order if count > 0)
        return f"Rankings({len(self.methods)} methods, {self.cells} cells, {self.ties} tied; wins: {wins})"

    def to_dict(self) -> dict[str, Any]:
        """Everything as valid JSON."""
        return {
            "methods": list(self.methods),
            "ranks": self.ranks.tolist(),
            "winners": self.winners.tolist(),
            "wins": self.wins,
            "sole_wins": self.sole_wins,
            "ties": self.ties,
            "cells": self.cells,
            "gap": dict(zip(self.methods, self.gap.tolist(), strict=True)),
        }


def rankings(utilities: Any, methods: Sequence[str], *, decimals: int = DECIMALS) -> Rankings:
    """Rank methods in every cell, such as each scenario on each corruption.

    The tie rule: utilities that are equal to `decimals` decimals tie. Tied methods share the average of the ranks that
    they take together, and share the win of the cell.

    Parameters
    ----------
    utilities : array of shape (methods, ...)
        Utility of each method in each cell; the cells may have any shape, such as (scenarios, corruptions).
    methods : sequence of str
        Name of each method, each once.
    decimals : int
        12 by default, which takes rounding for what it is. Give the decimals of a printed table to rank that.

    Returns
    -------
    Rankings

    Raises
    ------
    InputError
        No cells, names that are repeated or not as many as methods, a utility that is not finite (named by its place).

    Examples
    --------
    >>> found = rankings([[0.3, 0.2, 0.1], [0.1, 0.2, 0.4]], ["AdaBN", "ETA"])
    >>> found
    Rankings(2 methods, 3 cells, 1 tied; wins: AdaBN 1.5, ETA 1.5)
    >>> found.winners.tolist()
    ['AdaBN', 'AdaBN = ETA', 'ETA']
    >>> found.ranks.tolist()
    [[1.0, 1.5, 2.0], [2.0, 1.5, 1.0]]
    """
    values = _utilities(utilities, decimals)
    if len(methods) != len(values) or len(set(methods)) != len(methods):
        raise InputError(f"methods has {len(methods)} names, utilities {len(values)} rows: give each row its own name")
    top = values.max(axis=0)
    gap = np.mean((top - values).reshape(len(values), -1), axis=1)
    from scipy.stats import rankdata  # here: it takes half a second to import

    return Rankings(tuple(methods), rankdata(-values, axis=0), values == top, gap)


def _utilities(values: Any, decimals: int, name: str = "utilities") -> np.ndarray:
    """Finite utilities of shape (methods, ...), rounded so that equal ones are equal."""
    arrays.whole_number(decimals, "decimals", least=0)
    remedy = "give a row of numbers per method"
    array = arrays.floats(values, name, remedy=remedy)
    if array.ndim < 1 or array.size == 0:
        raise InputError(f"{name} has shape {array.shape} and type {array.dtype}: {remedy}")
    arrays.refuse_not_finite(array, name)
    # adding 0 makes a negative zero positive
    return np.round(array, decimals) + 0.0


def rank_agreement(
    utilities: Any,
    offline: Any,
    *,
    decimals: int = DECIMALS,
    confidence: float = 0.95,
    seed: int = 0,
    replicates: int = 2000,
) -> tuple[RankCorrelation, ...]:
    """Spearman's rank correlation of each scenario with offline accuracy: does the offline ranking predict it?

    Parameters
    ----------
    utilities : array of shape (methods, scenarios)
        Utility of each method in each scenario, averaged over corruptions or of one of them.
    offline : array of shape (methods,)
        Offline accuracy of the same methods.
    decimals : int
        What is equal to so many decimals ties and gets the average rank; 12 by default.
    confidence, seed, replicates
        Of the bootstrap over methods, see `uncertainty.rank_correlation`. It takes 0.2 s a scenario; fewer than five
        methods have none.

    Returns
    -------
    tuple of RankCorrelation
        One for each scenario; without a value, but with the reason, where either ranking is constant.

    Raises
    ------
    InputError
        Other shapes, values that are not finite.

    Examples
    --------
    >>> loose, tight, flat = rank_agreement([[0.5, 0.1, 0.2], [0.4, 0.3, 0.2], [0.2, 0.2, 0.2]], [0.5, 0.4, 0.2])
    >>> loose.value, tight.value, flat.reason
    (1.0, -0.5, 'one of the scores is the same for all: there is no order')
    """
    values, truth = _utilities(utilities, decimals), _utilities(offline, decimals, "offline")
    if values.ndim != 2 or truth.shape != values.shape[:1]:
        raise InputError(
            f"utilities has shape {values.shape} and offline {truth.shape}: give (methods, scenarios) and (methods,)"
        )
    return tuple(
        uncertainty.rank_correlation(column, truth, confidence=confidence, seed=seed, replicates=replicates)
        for column in values.T
    )


def availability(latency_ms: Any, *, period_ms: Any, batches: int | None = None) -> float:
    r"""Share of the batches that a method of constant latency serves: what its latency alone settles.

    Under the discrete protocol with its buffer of one, for :math:`\delta \ge \gamma`,

    .. math:: \alpha = \frac1N \min\left(N, \left\lceil \frac{(N - 1) \gamma}{\delta} \right\rceil + 1\right)
       \;\longrightarrow\; \frac{\gamma}{\delta},

    and 1 for :math:`\delta \le \gamma`. The limit is never above the value of a finite stream. With `break_even` it
    tells whether a method can pay for itself before it is ever run.

    Parameters
    ----------
    latency_ms, period_ms : number
        The method's whole latency, at least 0, and the period, above 0.
    batches : int, optional
        Length N of the stream; by default it never ends.

    Returns
    -------
    float
        In (0, 1].

    Raises
    ------
    InputError
        A latency or period out of range, fewer than one batch.

    Examples
    --------
    >>> round(availability(97.7, period_ms=39.9, batches=781), 4), round(availability(97.7, period_ms=39.9), 4)
    (0.4097, 0.4084)
    """
    latency, period = parse_ms(latency_ms, "latency_ms"), parse_ms(period_ms, "period_ms")
    if period == 0:
        raise InputError(f"period_ms is {period_ms}: give a period above 0, of at least a nanosecond")
    if batches is not None:
        arrays.whole_number(batches, "batches", least=1)
    if latency <= period:
        return 1.0
    if batches is None:
        return period / latency
    return min(batches, -((1 - batches) * period // latency) + 1) / batches


@dataclass(frozen=True)
class BreakEven:
    """The accuracy at which a method draws level with a rival; see `break_even`.

    Attributes
    ----------
    protocol : str
        ``discrete``, ``continuous`` or ``amortised``.
    accuracy : float or None
        What the method must reach: on served batches, on all, or on adapted ones. At or below 0 it is level already.
    reason : str or None
        Why there is none.
    """

    protocol: str
    accuracy: float | None
    reason: str | None = None

    @property
    def insolvent(self) -> bool | None:
        """Whether no accuracy would do: more than 1 is needed. Exactly 1 is solvent; None where nothing is defined."""
        return None if self.accuracy is None else round(self.accuracy, DECIMALS) > 1.0

    def to_dict(self) -> dict[str, Any]:
        """The fields as valid JSON."""
        return {**asdict(self), "insolvent": self.insolvent}


def break_even(
    reference_utility: float,
    *,
    availability: float | None = None,
    responsiveness: float | None = None,
    alignment: float = 0.0,
    adapted_share: float | None = None,
    frozen_accuracy: float | None = None,
) -> BreakEven:
    r"""Accuracy that a method needs to draw level with a rival's utility, its timing being what it is.

    Each protocol splits utility into timing and accuracy; solved for accuracy,

    .. math:: a^* = \frac{U}{\alpha}, \qquad a^* = \frac{U - \mathrm{cov}}{\bar\kappa}, \qquad
       a^*_\text{adapted} = \frac{U - (1 - \beta) \bar a_\text{frozen}}{\beta}

    under the discrete, the continuous (covariance held fixed) and the amortised protocol. A method is insolvent if
    :math:`a^* > 1`: no accuracy would make up for its latency.

    Parameters
    ----------
    reference_utility : float
        U, the utility of the rival in the same scenario, 0 to 1.
    availability : float
        Discrete: share of batches that the method serves, see `availability`.
    responsiveness, alignment : float
        Continuous: mean of the weights, and their covariance with accuracy; 0 by default, which is right for constant
        latencies. Take both from a `Continuous` result.
    adapted_share, frozen_accuracy : float
        Amortised: share of batches before the switch, and accuracy after it; the latter may be left out for a share
        of 1.

    Returns
    -------
    BreakEven
        Without an accuracy, but with the reason, where the divisor is 0.

    Raises
    ------
    InputError
        None or several of availability, responsiveness and adapted share; a share or an accuracy outside 0..1 (percent
        are divided by 100); a frozen accuracy that is missing.

    References
    ----------
    TEMPORA (2026), arXiv:2602.06136.

    Examples
    --------
    The source's two cases against AdaBN, and a method 810 times slower than standard inference, which need not be run:

    >>> eta, sar = break_even(0.308, availability=0.41), break_even(0.308, availability=0.206)
    >>> round(eta.accuracy, 4), eta.insolvent, round(sar.accuracy, 4), sar.insolvent
    (0.7512, False, 1.4951, True)
    >>> served = availability(810 * 39.9, period_ms=39.9)
    >>> break_even(0.182, availability=served).insolvent
    True
    """
    shares = {"availability": availability, "responsiveness": responsiveness, "adapted_share": adapted_share}
    given = [name for name, value in shares.items() if value is not None]
    if len(given) != 1:
        raise InputError(f"break_even takes one of {', '.join(shares)}: {len(given)} are given")
    utility = _fraction(reference_utility, "reference_utility")
    share = _fraction(shares[given[0]], given[0])
    protocol = {"availability": "discrete", "responsiveness": "continuous", "adapted_share": "amortised"}[given[0]]
    if alignment and protocol != "continuous":
        raise InputError(f"alignment is {alignment}: it belongs to responsiveness, leave it out")
    if frozen_accuracy is not None and protocol != "amortised":
        raise InputError(f"frozen_accuracy is {frozen_accuracy}: it belongs to adapted_share, leave it out")
    if share == 0.0:
        return BreakEven(protocol, None, f"{given[0]} is 0: no accuracy of the method enters the utility")
    if protocol == "continuous":
        utility -= _covariance(alignment)
    if protocol == "amortised" and share < 1.0:
        if frozen_accuracy is None:
            raise InputError(f"frozen_accuracy is missing: {1 - share:.4g} of the batches are frozen")
        utility -= (1.0 - share) * _fraction(frozen_accuracy, "frozen_accuracy")
    return BreakEven(protocol, utility / share)


def _fraction(value: Any, name: str) -> float:
    if not arrays.is_number(value) or not 0.0 <= value <= 1.0:
        raise InputError(f"{name} is {value!r}: give a number from 0 to 1 (divide percent by 100)")
    return float(value)


def _covariance(value: Any) -> float:
    """Two numbers in 0..1 have a covariance of at most 1/4."""
    if not arrays.is_number(value) or not -0.25 <= value <= 0.25:
        raise InputError(f"alignment is {value!r}: a covariance of accuracies and weights lies in -0.25..0.25")
    return float(value)


@dataclass(frozen=True)
class Harm:
    """Whether adapting left a model worse than it was; see `harmful_adaptation`.

    Attributes
    ----------
    harmful : bool or None
    difference : float or None
        Frozen accuracy less that of the model that never adapted.
    reason : str or None
        Why both are None.
    """

    harmful: bool | None
    difference: float | None
    reason: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The fields as valid JSON."""
        return asdict(self)


def harmful_adaptation(frozen_accuracy: float | None, unadapted_accuracy: float) -> Harm:
    r"""Is the model that is left when the budget is spent worse than one that never adapted?

    Harmful if and only if :math:`\bar a_\text{frozen} < a_0`, strictly.

    Parameters
    ----------
    frozen_accuracy : float or None
        Accuracy after the switch; None where every batch was adapted.
    unadapted_accuracy : float
        Accuracy of the source model on the same batches.

    Returns
    -------
    Harm
        `difference` is frozen less unadapted. Both are None, with the reason, where no batch was frozen.

    Raises
    ------
    InputError
        An accuracy outside 0..1.

    Examples
    --------
    >>> harmful_adaptation(0.001, 0.182).harmful, harmful_adaptation(0.182, 0.182).harmful
    (True, False)
    """
    unadapted = _fraction(unadapted_accuracy, "unadapted_accuracy")
    if frozen_accuracy is None:
        return Harm(None, None, "no batch was frozen: the budget was never spent")
    difference = round(_fraction(frozen_accuracy, "frozen_accuracy") - unadapted, DECIMALS)
    return Harm(difference < 0.0, difference)


@dataclass(frozen=True, eq=False)
class Front:
    """The Pareto front of costs and utilities; see `pareto`.

    Attributes
    ----------
    on_front : numpy.ndarray of bool, shape (n,)
        Whether no other point is at least as good in both and better in one.
    indices : numpy.ndarray of int
        The points on the front, cheapest first; equal ones in the order given.
    """

    on_front: np.ndarray
    indices: np.ndarray

    def to_dict(self) -> dict[str, Any]:
        """Everything as valid JSON."""
        return {"on_front": self.on_front.tolist(), "indices": self.indices.tolist()}


def pareto(cost: Any, utility: Any, *, decimals: int = DECIMALS) -> Front:
    """The points that nothing beats: no other costs no more and delivers no less without being their equal.

    The tie rule: points that are equal in both are on the front together, or not at all; of points that are equal in
    one only the one that is better in the other is.

    Parameters
    ----------
    cost : array of shape (n,)
        Budget, latency or period of each point, in any one unit; less is better.
    utility : array of shape (n,)
        What it delivers; more is better. Several methods over the same budgets are simply all put in one row.
    decimals : int
        Utilities equal to so many decimals are equal; 12 by default.

    Returns
    -------
    Front

    Raises
    ------
    InputError
        Unequal lengths, no points, values that are not finite.

    Examples
    --------
    >>> pareto([1, 1, 2, 4, 4], [0.1, 0.3, 0.3, 0.4, 0.4]).indices
    array([1, 3, 4])
    """
    price, gain = arrays.real_vector(cost, "cost"), _utilities(arrays.real_vector(utility, "utility"), decimals)
    if len(price) != len(gain):
        raise InputError(f"cost has {len(price)} values and utility {len(gain)}: give one of each per point")
    prices, group = np.unique(price, return_inverse=True)
    best = np.full(len(prices), -np.inf)
    np.maximum.at(best, group, gain)
    cheaper = np.concatenate([[-np.inf], np.maximum.accumulate(best)[:-1]])
    on_front = (gain == best[group]) & (gain > cheaper[group])
    order = np.argsort(price, kind="stable")
    return Front(on_front, order[on_front[order]])
