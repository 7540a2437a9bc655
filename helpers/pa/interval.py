"""How sure is an agreement? A bootstrap over rows in which beta is optimised anew, and what flips alone can tell."""

from __future__ import annotations

import math

import numpy as np

from .. import arrays, uncertainty
from ..errors import InputError, brief
from ..uncertainty import Interval
from . import numerics, search
from .numerics import Pair, Profile

#: With fewer flipped (or unflipped) rows than this the bootstrap cannot see how rare they are.
FEW_ROWS = 10
REPLICATES = 1000


def bootstrap(pair: Pair, rows: Profile, maximum: search.Maximum, confidence: float, seed: int) -> Interval | None:
    """Bootstrap over rows; beta is optimised again in each replicate, on a grid with a parabola through its top."""
    log_k = math.log(pair.k)
    _, at = numerics.moments_and_rows(pair, _bootstrap_grid(maximum, rows), pair.working_dtype)
    values = np.stack([rows_at.value for rows_at in at], axis=1)
    flipped = rows.flips.astype(np.float64)
    limit = np.where(rows.flips, 0.0, rows.limit)

    def tops(weights: np.ndarray) -> np.ndarray:
        curve = _parabola_top(weights @ values / pair.n)
        at_infinity = np.where(weights @ flipped > 0, -np.inf, weights @ limit / pair.n)
        return np.maximum(np.maximum(curve, at_infinity), -log_k) + log_k

    value = maximum.kernel + log_k
    # what the grid and its parabola make of the sample itself tells their error, the same in every replicate
    error = tops(np.ones((1, pair.n))) - value
    draws = uncertainty.bootstrap_weights(pair.n, REPLICATES, np.random.default_rng(seed))
    low, high = uncertainty.percentile_interval(
        np.concatenate([tops(weights) for weights in draws]) - error, confidence=confidence
    )
    low, high = min(low, value), max(high, value)
    flips = int(np.sum(rows.flips))
    fewest, most = uncertainty.clopper_pearson(flips, pair.n, confidence=confidence)
    if flips < FEW_ROWS:
        low = min(low, flip_rate_capacity(most, pair.k))
    if pair.n - flips < FEW_ROWS:
        high = max(high, flip_rate_capacity(fewest, pair.k))
    low, high = max(0.0, low), min(log_k, high)
    return (low, high) if high - low > search.NOISE else None


def _bootstrap_grid(maximum: search.Maximum, rows: Profile) -> list[float]:
    """Betas around every local maximum, four to the octave; around the scale of the logits where there is none."""
    centres = [beta for beta, _ in maximum.local] or [4.0 / float(np.mean(rows.span))]
    low, high = min(centres) / 16.0, max(centres) * 32.0
    count = min(100, math.ceil(4 * math.log2(high / low)) + 1)
    return np.geomspace(low, high, count).tolist()


def _parabola_top(curves: np.ndarray) -> np.ndarray:
    """The top of each row's curve over an even grid in log beta, by a parabola through its three highest points."""
    best = np.clip(np.argmax(curves, axis=1), 1, curves.shape[1] - 2)
    at = np.arange(len(curves))
    left, middle, right = curves[at, best - 1], curves[at, best], curves[at, best + 1]
    bend = left - 2.0 * middle + right
    with np.errstate(divide="ignore", invalid="ignore"):
        top = middle - (right - left) ** 2 / (8.0 * bend)
    peak = (bend < 0) & (np.abs(right - left) <= -2.0 * bend)
    return np.where(peak, top, np.maximum(middle, np.maximum(left, right)))


def flip_rate_capacity(rate: float, k: int) -> float:
    r"""Agreement, in nats, of one-hot beliefs of which a share `rate` flips to any other class.

    .. math:: \log k - H_b(r) - r \log(k - 1) \quad\text{for } r < 1 - 1/k,\text{ else } 0,

    the capacity of the k-ary symmetric channel. 0 for fewer than two classes.

    Parameters
    ----------
    rate : float
        Share of flips, 0 to 1.
    k : int
        Classes.

    Returns
    -------
    float
        In [0, log k].

    Raises
    ------
    InputError
        A rate outside [0, 1], or no class.

    Examples
    --------
    >>> round(flip_rate_capacity(0.01, 1000), 6)
    6.782686
    """
    if not (arrays.is_number(rate) and 0.0 <= rate <= 1.0):
        raise InputError(f"rate is {brief(rate)}: give a share from 0 to 1")
    if arrays.whole_number(k, "k", least=1) == 1 or rate >= 1.0 - 1.0 / k:
        return 0.0
    entropy = -sum(p * math.log(p) for p in (rate, 1.0 - rate) if p > 0.0)
    return math.log(k) - entropy - (rate * math.log(k - 1) if rate > 0.0 else 0.0)
