"""Two methods run by run on the same seeds and orders, and the order under which one does worst."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from .. import arrays, uncertainty
from ..errors import InputError
from ..uncertainty import PairedT, SignFlip
from .keyed import Key, averaged, numbers
from .orders import FEW_ORDERS
from .record import DIRECTIONS

#: With fewer pairs than this no two-sided sign-flip test reaches .05.
FEW_PAIRS = 6
UNITS = ("pair", "order", "seed")


@dataclass(frozen=True)
class Paired:
    """Two methods compared run by run; see `paired`.

    Attributes
    ----------
    unit : {"pair", "order", "seed"}
        What counts as one independent repetition.
    keys : tuple
        The units: (seed, order), or the orders or seeds alone.
    differences : tuple of float
        First less second, for each unit.
    t : PairedT
    sign_flip : SignFlip
    least, most : Any
        Units with the smallest and the largest difference.
    warnings : tuple of str
    """

    unit: str
    keys: tuple[Any, ...]
    differences: tuple[float, ...]
    t: PairedT
    sign_flip: SignFlip
    least: Any
    most: Any
    warnings: tuple[str, ...]

    @property
    def n(self) -> int:
        """Number of units."""
        return len(self.keys)

    @property
    def mean(self) -> float:
        """Mean difference."""
        return self.t.mean

    @property
    def interval(self) -> tuple[float, float] | None:
        """Of the mean difference, by Student's t; None where differences have no spread."""
        return self.t.interval

    def __repr__(self) -> str:
        t = "undefined" if self.t.p_value is None else f"{self.t.p_value:.3g}"
        warned = f", {len(self.warnings)} warnings" if self.warnings else ""
        between = "" if self.interval is None else f" ({self.interval[0]:.4g} to {self.interval[1]:.4g})"
        tests = f"p {t} (t), {self.sign_flip.p_value:.3g} (sign-flip)"
        return f"Paired({self.n} units, mean {self.mean:.4g}{between}, {tests}{warned})"

    def to_dict(self) -> dict[str, Any]:
        """Everything as valid JSON."""
        return {
            "unit": self.unit,
            "n": self.n,
            "keys": [list(key) if isinstance(key, tuple) else key for key in self.keys],
            "differences": list(self.differences),
            "t": self.t.to_dict(),
            "sign_flip": self.sign_flip.to_dict(),
            "least": list(self.least) if isinstance(self.least, tuple) else self.least,
            "most": list(self.most) if isinstance(self.most, tuple) else self.most,
            "warnings": list(self.warnings),
        }


def paired(
    first: Any,
    second: Any,
    *,
    metric: str = "acc.final",
    unit: str = "pair",
    alternative: str = "two-sided",
    confidence: float = 0.95,
    replicates: int = 100_000,
) -> Paired:
    r"""Compare two methods on the same seeds and orders, by Student's t and by sign flips.

    Runs of one seed and order share their luck, which cancels in the difference :math:`d_i = x_i - y_i`; two means with
    two standard deviations hide what pairs show. Runs are matched by their ids, never by position. The two tests are

    .. math::

       t = \frac{\bar d}{s_d / \sqrt n}, \qquad
       p = \frac{1}{2^n} \#\Big\{ \epsilon \in \{-1, 1\}^n :
           \Big| \sum_i \epsilon_i d_i \Big| \ge \Big| \sum_i d_i \Big| \Big\},

    Student's t with n - 1 degrees of freedom, which takes differences for roughly normal, and the sign-flip test (here
    two-sided), which takes them for symmetric about 0 only. Both take units for independent.

    Parameters
    ----------
    first, second : sequence of Run, or mapping of (seed, order) to number
        The two methods. The same keys on both sides, each once.
    metric : str
        For runs: the id that is compared; "acc.final" by default, the number that most papers claim.
    unit : {"pair", "order", "seed"}
        What is independent: "pair" by default, right where each run has its own seed and order. With several seeds
        under each of a few orders the pairs of one order share its effect, and counting them as independent finds too
        much; "order" averages over seeds first, "seed" over orders.
    alternative : {"two-sided", "greater", "less"}
        "two-sided" by default, since either method might be ahead; "greater": the first has the higher values.
    confidence : float
        Of the interval for the mean difference, 0.95 by default, as is customary.
    replicates : int
        Sign patterns drawn for the sign-flip test beyond 20 units, 100,000 by default, which leaves p = .05 a standard
        error of .0007; up to 20 units all patterns are counted.

    Returns
    -------
    Paired
        Differences, their mean and its interval in the unit of the values. Warned of where there are fewer than six
        units, since a two-sided sign-flip test then cannot fall below 0.05; and where pairs share orders or seeds, or
        all have one order, beyond which nothing follows.

    Raises
    ------
    InputError
        Ids that do not pair, or occur twice (all are named); runs of several methods on one side; a value that is
        undefined; an option out of range.

    References
    ----------
    Student (1908), The probable error of a mean, Biometrika 6, 1-25. Fisher (1935), The Design of Experiments,
    section 21, for sign flips.

    Examples
    --------
    >>> a = dict(zip([(seed, 0) for seed in range(5)], [77.1, 75.4, 78.0, 76.2, 77.3]))
    >>> b = dict(zip([(seed, 0) for seed in range(5)], [75.0, 74.1, 76.9, 74.2, 76.0]))
    >>> paired(a, b)
    Paired(5 units, mean 1.56 (0.9937 to 2.126), p 0.00157 (t), 0.0625 (sign-flip), 2 warnings)
    """
    arrays.one_of(unit, "unit", UNITS)
    x, y = numbers(first, "first", metric), numbers(second, "second", metric)
    lonely = [f"{key!r} only in {name}" for key, name in _unpaired(x, y)]
    if lonely:
        raise InputError(
            f"{len(lonely)} ids do not pair: {', '.join(lonely)}; run both methods on the same seeds and orders"
        )
    warnings = _dependence(list(x), unit)
    if unit != "pair":
        x, y = (averaged(side, {"seed": 0, "order": 1}[unit]) for side in (x, y))
    keys = list(x)
    left, right = [x[key] for key in keys], [y[key] for key in keys]
    t = uncertainty.paired_t(left, right, alternative=alternative, confidence=confidence)
    flips = uncertainty.sign_flip(left, right, alternative=alternative, replicates=replicates)
    differences = tuple(a - b for a, b in zip(left, right, strict=True))
    if len(keys) < FEW_PAIRS:
        few = f"{len(keys)} units: the sign-flip test cannot fall below {flips.floor:g} ({alternative})"
        warnings = (f"{few}; two-sided, {FEW_PAIRS} are needed for .05", *warnings)
    least, most = (keys[int(i)] for i in (np.argmin(differences), np.argmax(differences)))
    return Paired(unit, tuple(keys), differences, t, flips, least, most, warnings)


def _unpaired(x: Mapping[Key, float], y: Mapping[Key, float]) -> list[tuple[Key, str]]:
    alone = [(key, "first") for key in x if key not in y] + [(key, "second") for key in y if key not in x]
    return sorted(alone, key=repr)


def _dependence(keys: Sequence[Key], unit: str) -> tuple[str, ...]:
    """What the ids say against taking units as independent, or beyond what a result reaches."""
    seeds, orders = {key[0] for key in keys}, {key[1] for key in keys}
    found = []
    if len(orders) == 1:
        found.append(
            "all runs share one order: the comparison says nothing of other orders, unless this one is given by nature"
        )
    shares_orders, shares_seeds = 1 < len(orders) < len(keys), 1 < len(seeds) < len(keys)
    if unit == "pair" and (shares_orders or shares_seeds):
        found.append(
            f"{len(keys)} pairs share {len(seeds)} seeds and {len(orders)} orders and may depend on each other: unit="
            '"order" or "seed" is on the safe side'
        )
    return tuple(found)


@dataclass(frozen=True)
class WorstOrder:
    """The order under which a method does worst; see `worst_order`.

    Attributes
    ----------
    order : Any or None
        Its id; None with the reason where there is only one.
    value : float or None
        Mean over its seeds.
    mean : float
        Mean over all orders, each counting alike.
    by_order : dict
        The mean of every order.
    reason : str or None
    warnings : tuple of str
    """

    order: Any
    value: float | None
    mean: float
    by_order: dict[Any, float]
    reason: str | None = None
    warnings: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Everything as valid JSON; orders are written as texts."""
        return {**asdict(self), "by_order": {str(order): value for order, value in self.by_order.items()}}


def worst_order(results: Any, *, metric: str = "acc.final", direction: str = "higher") -> WorstOrder:
    """The order under which a method does worst, which a mean over orders hides.

    Parameters
    ----------
    results : sequence of Run, or mapping of (seed, order) to number
    metric : str
        For runs: the id.
    direction : {"higher", "lower"}
        Which values are better. Of equal orders the first is named.

    Returns
    -------
    WorstOrder
        Warned of where orders have unlike numbers of seeds, and where there are fewer than five.

    Raises
    ------
    InputError
        As for `paired`; an unknown direction.

    Examples
    --------
    >>> found = worst_order({(0, "a"): 80.0, (1, "a"): 82.0, (0, "b"): 70.0, (1, "b"): 74.0})
    >>> found.order, found.value, found.mean
    ('b', 72.0, 76.5)
    """
    arrays.one_of(direction, "direction", DIRECTIONS)
    values = numbers(results, "results", metric)
    by_order = averaged(values, 1)
    mean = math.fsum(by_order.values()) / len(by_order)
    if len(by_order) == 1:
        return WorstOrder(None, None, mean, by_order, "one order: there is none to be worse than")
    counts = [sum(key[1] == order for key in values) for order in by_order]
    warnings = []
    if len(set(counts)) > 1:
        warnings.append(
            f"orders have {min(counts)} to {max(counts)} seeds: means of few seeds vary more, and look worst"
        )
    if len(by_order) < FEW_ORDERS:
        few = f"{len(by_order)} orders: the worst of fewer than {FEW_ORDERS}"
        warnings.append(f"{few} says little of the worst there is")
    worst = (min if direction == "higher" else max)(by_order, key=by_order.__getitem__)
    return WorstOrder(worst, by_order[worst], mean, by_order, None, tuple(warnings))
