"""Bounds on how far a martingale strays at any time, solved for the risk: arrays in, arrays out, many runs at once.

Steps lie along the last axis. `sequence.confidence_sequence` says what the bounds are, and checks what goes in.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.special import lambertw

from .. import arrays
from ..errors import InputError
from ..uncertainty import check_confidence
from . import inputs
from .control import Terms
from .weighting import steps

#: Labels before the first asymptotic interval, and labels at which an interval is planned to be narrowest.
FIRST, TIGHTEST = 100, 200


class Plan(NamedTuple):
    """What is fixed before the first label."""

    alpha: float
    tightest: int = TIGHTEST
    first: int = FIRST
    intersect: bool = True

    @classmethod
    def of(cls, confidence: Any, tightest: Any, first: Any, intersect: Any = True) -> Plan:
        """The plan of what the user asked for, checked."""
        return cls(
            1.0 - check_confidence(confidence),
            arrays.whole_number(tightest, "tightest", least=1),
            arrays.whole_number(first, "first", least=2),
            arrays.truth(intersect, "intersect"),
        )


class Ends(NamedTuple):
    """Ends of the intervals, NaN where there is none, and where they have been held because none was left."""

    low: np.ndarray
    high: np.ndarray
    crossed: np.ndarray


class Bounded(NamedTuple):
    """The controlled loss of the labelled points, and its bounds over the pool at each step."""

    z: np.ndarray
    low: np.ndarray
    high: np.ndarray


def asymptotic(run: Terms, plan: Plan) -> Ends:
    """Robbins' normal mixture around the estimates of runs, along the last axis."""
    size, count = run.pool_size, run.base.shape[-1]
    inner = min(count, size - 1)
    risk, error = run.estimates(), np.sqrt(run.variances("plugin"))
    best = -lambertw(-(plan.alpha**2) / math.e, -1).real - 1.0  # x at which the interval is narrowest
    x = best * clock(steps(inner), size) / clock(min(plan.tightest, size // 2), size)
    half = np.full_like(risk, np.nan)
    half[..., :inner] = error[..., :inner] * np.sqrt((1.0 + 1.0 / x) * np.log((1.0 + x) / plan.alpha**2))
    half[..., : plan.first - 1] = np.nan
    half[error <= 1e-12 * np.abs(risk)] = np.nan  # no spread so far: that says nothing of the rest
    low, high, crossed = joined(risk - half, risk + half, plan.intersect)
    if count == size:
        low[..., -1] = high[..., -1] = risk[..., -1]
        crossed[..., -1] = False
    return Ends(low, high, crossed)


def bernstein(
    run: Terms,
    loss: np.ndarray,
    q: np.ndarray,
    controlled_loss: Bounded,
    bounds: tuple[float, float],
    epsilon: float,
    plan: Plan,
) -> Ends:
    """Empirical Bernstein intervals of runs, along the last axis, within what is certain."""
    size, count = run.pool_size, q.shape[-1]
    least, most = certain(loss, bounds, size)
    inner = min(count, size - 1)
    low, high = np.full_like(least, -np.inf), np.full_like(most, np.inf)
    if inner:
        a = run.at(count)[..., :inner]
        z = Bounded(*(part[..., :inner] for part in controlled_loss))
        below, above = sides(z, q[..., :inner], size, epsilon, plan)
        low[..., :inner] = limit(a, below, plan.alpha)
        high[..., :inner] = -limit(-a, above, plan.alpha)
    low, high, crossed = joined(low, high, plan.intersect)
    return Ends(np.clip(low, least, most), np.clip(high, least, most), crossed)


def certain(loss: np.ndarray, bounds: tuple[float, float], size: int) -> tuple[np.ndarray, np.ndarray]:
    """The least and the greatest risk that the labelled losses leave possible."""
    known, rest = np.cumsum(loss, axis=-1), size - steps(loss.shape[-1])
    return (known + rest * bounds[0]) / size, (known + rest * bounds[1]) / size


class Side(NamedTuple):
    """Weight of each A_m - R in the exponent of a supermartingale, and what is taken off at each step."""

    weight: np.ndarray
    penalty: np.ndarray


def sides(z: Bounded, q: np.ndarray, size: int, epsilon: float, plan: Plan) -> tuple[Side, Side]:
    """The bets that R is not as low, and not as high, as it might be; they look at the past only."""
    step = steps(q.shape[-1])
    left = size - step + 1.0
    y = z.z / (q * left)
    # q lies between epsilon / left and 1
    floor = np.minimum(z.low / epsilon, z.low / left)
    ceiling = np.maximum(z.high / epsilon, z.high / left)
    middle, radius = (z.low[..., :1] + z.high[..., :1]) / 2.0, (z.high[..., :1] - z.low[..., :1]) / 2.0
    guess = np.clip((middle + before(y)) / step, z.low, z.high)
    deviation = np.sqrt((radius**2 + before(np.square(y - guess))) / step)
    time = np.maximum(clock(step, size), clock(min(plan.tightest, size // 2), size))
    aim = np.sqrt(2.0 * math.log(2.0 / plan.alpha) / time) / deviation * (size / (size - step))
    scale = size / left
    return side(y, guess, guess - floor, aim, scale), side(-y, -guess, ceiling - guess, aim, scale)


def side(y: np.ndarray, guess: np.ndarray, reach: np.ndarray, aim: np.ndarray, scale: np.ndarray) -> Side:
    """Bets where y is at least guess - reach: `aim` if reach is small, always below the 1 / reach that ruin needs.

    1 / (1 / aim + reach) is the bet of Bernstein's inequality, the best one while the exponent's second order counts.
    """
    bet = aim / (1.0 + aim * reach)
    return Side(bet * scale, bet**2 * psi_ratio(bet * reach) * np.square(y - guess))


def limit(a: np.ndarray, one: Side, alpha: float) -> np.ndarray:
    """The R below which the supermartingale has exceeded 2 / alpha."""
    spent = math.log(2.0 / alpha) + np.cumsum(one.penalty, axis=-1)
    return (np.cumsum(one.weight * a, axis=-1) - spent) / np.cumsum(one.weight, axis=-1)


def psi_ratio(u: np.ndarray) -> np.ndarray:
    """(-log(1 - u) - u) / u^2, which is 1/2 at 0."""
    small = u < 1e-4
    safe = np.where(small, 0.5, u)
    return np.where(small, 0.5 + u / 3.0, (-np.log1p(-safe) - safe) / safe**2)


def clock(step: Any, size: int) -> Any:
    """N m / (N - m): the variance of m uniform draws without replacement is 1 / clock of the loss's."""
    return size * step / (size - step)


def before(values: np.ndarray) -> np.ndarray:
    """Sums of all values before each."""
    sums = np.zeros_like(values)
    np.cumsum(values[..., :-1], axis=-1, out=sums[..., 1:])
    return sums


def joined(low: np.ndarray, high: np.ndarray, intersect: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Running intersections; where they are empty, the last interval that is not."""
    if intersect:
        low, high = np.fmax.accumulate(low, axis=-1), np.fmin.accumulate(high, axis=-1)
    crossed = low > high
    if crossed.any():
        place = np.maximum.accumulate(np.where(crossed, 0, np.arange(low.shape[-1])), axis=-1)
        low, high = (np.take_along_axis(end, place, axis=-1) for end in (low, high))
    return low, high, crossed


def bounded(
    run: Terms,
    loss: np.ndarray,
    bounds: tuple[float, float],
    offset: np.ndarray | None = None,
    span: tuple[float, float] = (0.0, 0.0),
) -> Bounded:
    """The loss less control times offset, where the offset of every point of the pool lies within `span`."""
    if run.control is None or offset is None:
        return Bounded(loss, *(np.full(loss.shape[-1], end) for end in bounds))
    ends = run.control * span[0], run.control * span[1]
    return Bounded(loss - run.control * offset, bounds[0] - np.maximum(*ends), bounds[1] - np.minimum(*ends))


def check_bounds(bounds: Any, loss: np.ndarray) -> tuple[float, float]:
    """Two numbers between which every loss lies."""
    ends = arrays.real_vector(bounds, "bounds")
    if len(ends) != 2 or not ends[0] < ends[1]:
        raise InputError(f"bounds is {bounds!r}: give the least and the greatest loss a point can have, such as (0, 1)")
    bad = np.flatnonzero((loss < ends[0]) | (loss > ends[1]))
    if bad.size:
        raise InputError(
            f"loss[{bad[0]}] is {loss.ravel()[bad[0]]}, outside bounds {tuple(map(float, ends))}: give bounds that hold"
        )
    return float(ends[0]), float(ends[1])


def check_share(epsilon: Any, q: np.ndarray, size: int) -> float:
    """The share of uniform draws, which no probability contradicts."""
    if epsilon is None:
        raise InputError("epsilon is missing: with bounds, give the least share of uniform draws (1 if all were)")
    share = inputs.check_number(epsilon, "epsilon")
    if not 0.0 < share <= 1.0:
        raise InputError(f"epsilon is {epsilon!r}: give the least share of uniform draws, above 0 and at most 1")
    least = share / (size + 1.0 - steps(len(q)))
    bad = np.flatnonzero(q < least * (1.0 - 1e-9))
    if bad.size:
        i = bad[0]
        raise InputError(f"q[{i}] is {q[i]}, below epsilon / (N - m + 1) = {least[i]}: give the epsilon that was used")
    return share
