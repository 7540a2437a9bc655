r"""Intervals that hold at every number of labels at once, so that one may look after each label and stop at will.

The terms of `weights` have :math:`E[A_m \mid \text{past}] = R`, so for every fixed sequence of factors, such as
:math:`g_m = 1/((N-m)(N-m+1))` of the estimate itself, the sums :math:`\sum_{m \le M} g_m (A_m - R)` are a martingale
in M. A bound on how far a martingale strays *at any time* turns into an interval for R at all M together.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import lambertw

from .. import arrays
from ..errors import InputError
from ..uncertainty import Rate, check_confidence
from . import inputs, proposal, sampler
from .control import Terms, controlled, quantile
from .outcome import or_none
from .score import prepare
from .simulate import DRAWS, Pool
from .weights import steps

KINDS = ("time-uniform", "asymptotic time-uniform")
RULES = ("fixed budget", "narrow enough", "target excluded", "every look")
#: Labels before the first asymptotic interval, and labels at which an interval is planned to be narrowest.
FIRST, TIGHTEST = 100, 200


@dataclass(frozen=True, eq=False, repr=False)
class ConfidenceSequence:
    """An interval for the risk after every label, all of which hold together.

    Attributes
    ----------
    risk : numpy.ndarray of shape (m,)
        The estimate after every label.
    low, high : numpy.ndarray of shape (m,)
        Ends of the intervals; NaN with `reason` where there is none (None in `to_dict`).
    kind : {"time-uniform", "asymptotic time-uniform"}
        "time-uniform": with probability of at least `confidence`, for every number of labels, no interval misses the
        risk. "asymptotic time-uniform": so in the limit of many labels, which is not reached under heavy tails.
    confidence : float
        Level of all intervals together.
    pool_size : int
        N.
    reason : str or None
        Why some labels have no interval, or why the last intervals do not change.
    """

    risk: np.ndarray
    low: np.ndarray
    high: np.ndarray
    kind: str
    confidence: float
    pool_size: int
    reason: str | None = None

    @property
    def interval(self) -> tuple[float, float] | None:
        """Both ends after the last label, or None."""
        return None if math.isnan(self.low[-1]) else (float(self.low[-1]), float(self.high[-1]))

    def __repr__(self) -> str:
        if self.interval is None:
            ends = f"no interval at the last ({self.reason})"
        else:
            ends = "{:.4g} {} interval [{:.6g}, {:.6g}] at the last".format(self.confidence, self.kind, *self.interval)
        return f"ConfidenceSequence({len(self.risk)} of {self.pool_size} labelled, risk {self.risk[-1]:.6g}, {ends})"

    def to_dict(self) -> dict[str, Any]:
        """The fields as valid JSON."""
        return {
            **{name: or_none(getattr(self, name)) for name in ("risk", "low", "high")},
            **{name: getattr(self, name) for name in ("kind", "confidence", "pool_size", "reason")},
        }


def confidence_sequence(
    loss: Any,
    q: Any,
    *,
    pool_size: int,
    bounds: tuple[float, float] | None = None,
    epsilon: float | None = None,
    proxy_loss: Any = None,
    proxy_mean: float | None = None,
    pool_proxy_loss: Any = None,
    control: float | str = 1.0,
    refresh: int = 100,
    initial_control: float = 1.0,
    intercept: bool = False,
    confidence: float = 0.9,
    tightest: int = TIGHTEST,
    first: int = FIRST,
    intersect: bool = True,
) -> ConfidenceSequence:
    r"""Intervals for the risk of a pool that hold after every label: stop whenever you like.

    The interval of `estimate` is for a number of labels fixed in advance. Who looks at it after each of 500 labels and
    stops at a good moment is wrong far more often than the level says. These intervals are wider, and hold however one
    stops.

    With `bounds` of the loss they hold at every N and m (empirical Bernstein). Write
    :math:`Y_m = z_m / (q_m (N-m+1))` with the controlled loss z, and :math:`\mu_m(R)` for its mean given the past, so
    that :math:`Y_m - \mu_m(R)` is N / (N - m + 1) times :math:`A_m - R`. For bets :math:`\lambda_m \ge 0` and guesses
    :math:`\hat\mu_m` that depend on the past alone, and :math:`Y_m \ge \hat\mu_m - b_m`,

    .. math:: \exp \sum_m \Big( \lambda_m (Y_m - \mu_m(R))
              - \frac{\psi(\lambda_m b_m)}{b_m^2} (Y_m - \hat\mu_m)^2 \Big), \qquad \psi(u) = -\log(1-u) - u,

    is a supermartingale that starts at 1, and exceeds :math:`2/\alpha` at *some* m with probability of at most
    :math:`\alpha/2` (Ville). Solved for R, that is the lower end; the same with -Y is the upper. The bets are those of
    Bernstein's inequality,

    .. math:: 1 / \lambda_m = b_m + \hat\sigma_m \frac{N-m}{N} \sqrt{t_m / (2 \log(2/\alpha))},

    with the deviation of Y so far and :math:`t_m = N m / (N - m)`, or that of `tightest` where it is larger: up to
    there, and with a small b, the sum has the factors g_m of the estimate. Losses that labels have shown, with the
    bounds for all others, give an interval that is certain; the result lies within it, and at m = N it is the pool's
    mean loss.

    Without `bounds` there is no such guarantee. Then the interval is the estimate plus or minus

    .. math:: \hat\sigma_m \sqrt{(1 + 1/x_m) \log \big( (1 + x_m) / \alpha^2 \big)}, \qquad
              x_m = \rho^2 \frac{N m}{N - m},

    with the plug-in standard error of `estimate`: Robbins' normal mixture, valid in the limit of many labels.

    Parameters
    ----------
    loss, q, pool_size, proxy_loss, proxy_mean, pool_proxy_loss, refresh, initial_control, intercept
        As for `estimate`.
    bounds : tuple of float, optional
        Least and greatest loss that a point of the pool can have, such as (0, 1). Known from how the loss is made, not
        read off the labels. None, the default, gives an asymptotic sequence.
    epsilon : float
        Least share of uniform draws: each q was at least epsilon / (N - m + 1) for *every* point that was left. The
        epsilon of `sample`; 1 for uniform draws. Needed with `bounds`, because a point that is hardly ever drawn may
        hide any loss.
    control : float or "predictable"
        As for `estimate`; "dagger" and "star" look at all labels, which no martingale may. With `bounds` a proxy needs
        `pool_proxy_loss`, which bounds the controlled loss.
    confidence : float
        Level at which all intervals hold together, 0.9 by default.
    tightest : int
        Number of labels at which the interval is planned to be narrowest, 200 by default, half the pool at most; later
        ones are a little wider than they could be. Chosen before the first label: a number that depends on the losses
        voids the guarantee.
    first : int
        Labels at the first asymptotic interval, 100 by default, chosen in advance. Under a good proxy 30 are enough;
        skewed losses without one need 100 (see Notes).
    intersect : bool
        Intersect each interval with those before it, as their joint validity allows; True by default.

    Returns
    -------
    ConfidenceSequence
        One label alone says little: with bounds the interval is then close to them, without it is undefined.

    Raises
    ------
    InputError
        Bounds that are no bounds or that a loss violates, bounds without epsilon or the other way round, a q below what
        epsilon allows, "dagger" or "star", `tightest` below 1, `first` below 2, or what `estimate` refuses.

    Notes
    -----
    With bounds, a small epsilon has its price: a point drawn with the least probability counts like 1 / epsilon labels,
    and bets must survive that one such label has the greatest loss. The upper end comes near only after some
    log(2 / alpha) / epsilon labels, however good the proposal. In simulations with 0-1 losses of which a fifth are 1,
    500 labels of 2000 gave a mean width of 0.074 under uniform draws and, by LURE's, of 0.078 with an epsilon of 0.3
    and 0.110 with 0.1; intervals of `estimate` had 0.051 and 0.047. All looks were covered in more than 0.95 of 600
    runs. A proxy widens the range of the controlled loss, and with bounds can do more harm than good: 0.151 for the
    last of these cases with a control of 0.8 and an intercept.

    Without bounds, all looks from 100 to 500 of 2000 skewed losses were covered in 0.88 (random), 0.92 (LURE) and 0.95
    (PPAT) of 600 runs at a level of 0.9, and in 0.78 under a bad surrogate; looks from 30 on in 0.78, 0.86, 0.95 and
    0.63. Intervals of `estimate` at all looks from 30 on: 0.38, 0.39, 0.45 and 0.30.

    References
    ----------
    Waudby-Smith and Ramdas (2024), "Estimating means of bounded random variables by betting", JRSS B 86: predictable
    plug-in empirical Bernstein sequences, with and without replacement. The inequality is of Fan, Grama and Liu (2015),
    "Exponential inequalities for martingales with applications", EJP 20, Lemma 4.1. Asymptotic: Waudby-Smith, Arbour,
    Sinha, Kennedy and Ramdas (2024), "Time-uniform central limit theory and asymptotic confidence sequences", Annals of
    Statistics 52. Importance weights without replacement, and the bounds they take, are this library's.

    Examples
    --------
    >>> loss, q = [0, 1, 0, 0], [1 / 6, 1 / 5, 1 / 4, 1 / 3]
    >>> confidence_sequence(loss, q, pool_size=6, bounds=(0, 1), epsilon=1)
    ConfidenceSequence(4 of 6 labelled, risk 0.25, 0.9 time-uniform interval [0.166667, 0.5] at the last)
    >>> confidence_sequence(loss, q, pool_size=6).reason
    'the first asymptotic interval is after 100 labels'
    """
    check_confidence(confidence)
    plan = Plan(
        1.0 - confidence,
        arrays.whole_number(tightest, "tightest", least=1),
        arrays.whole_number(first, "first", least=2),
        _check_flag(intersect, "intersect"),
    )
    if isinstance(control, str) and control in ("dagger", "star"):
        raise InputError(
            f"control is {control!r}, which is fitted to all labels: a sequence needs a number, or 'predictable'"
        )
    run, q = prepare(
        loss,
        q,
        pool_size=pool_size,
        proxy_loss=proxy_loss,
        proxy_mean=proxy_mean,
        pool_proxy_loss=pool_proxy_loss,
        control=control,
        refresh=refresh,
        initial_control=initial_control,
        intercept=intercept,
    )
    loss = arrays.real_vector(loss, "loss")
    if bounds is None:
        if epsilon is not None:
            raise InputError("epsilon is given without bounds, and says nothing on its own: give bounds of the loss")
        ends = asymptotic(run, plan)
        reason = _undefined(ends, run.pool_size, plan)
    else:
        checked = check_bounds(bounds, loss)
        share = check_share(epsilon, q, run.pool_size)
        given = (proxy_loss, pool_proxy_loss, intercept)
        ends = bernstein(run, loss, q, bounded(run, loss, checked, *_offset(*given)), checked, share, plan)
        reason = None
    if ends.crossed.any():
        reason = (
            f"after {int(ends.crossed.argmax()) + 1} labels no risk agrees with all intervals, which has probability "
            f"{plan.alpha:.3g} at most: the last interval that was not empty stands"
        )
    kind = KINDS[bounds is None]
    return ConfidenceSequence(run.estimates(), ends.low, ends.high, kind, float(confidence), run.pool_size, reason)


class Plan(NamedTuple):
    """What is fixed before the first label."""

    alpha: float
    tightest: int = TIGHTEST
    first: int = FIRST
    intersect: bool = True


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
    run: Terms, loss: np.ndarray, bounds: tuple[float, float], offset: np.ndarray | None, span: tuple[float, float]
) -> Bounded:
    """The loss less control times offset, where the offset of every point of the pool lies within `span`."""
    if run.control is None or offset is None:
        return Bounded(loss, *(np.full(loss.shape[-1], end) for end in bounds))
    ends = run.control * span[0], run.control * span[1]
    return Bounded(loss - run.control * offset, bounds[0] - np.maximum(*ends), bounds[1] - np.minimum(*ends))


def _offset(proxy_loss: Any, pool_proxy_loss: Any, intercept: bool) -> tuple[np.ndarray | None, tuple[float, float]]:
    """What the control multiplies, at the labelled points, and its least and greatest value over the pool."""
    if proxy_loss is None:
        return None, (0.0, 0.0)
    if pool_proxy_loss is None:
        raise InputError(
            "pool_proxy_loss is missing: with bounds of the loss, the controlled loss is bounded by the whole pool's "
            "proxy losses"
        )
    offset, pool = (arrays.real_vector(x, "proxy_loss") for x in (proxy_loss, pool_proxy_loss))
    mean = 0.0 if intercept else float(pool.mean())
    return offset - mean, (float(pool.min()) - mean, float(pool.max()) - mean)


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


def _check_flag(value: Any, name: str) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise InputError(f"{name} is {value!r}: give True or False")
    return bool(value)


def _undefined(ends: Ends, size: int, plan: Plan) -> str | None:
    missing = np.isnan(ends.low)
    if missing[plan.first - 1 :].any():
        return "so far all terms are equal, which says nothing of points that are not labelled"
    return f"the first asymptotic interval is after {plan.first} labels" if missing.any() else None


@dataclass(frozen=True, repr=False)
class Stopping:
    """What becomes of intervals when one looks after every label and stops by a rule.

    Attributes
    ----------
    rows : tuple of dict
        One for each ``interval`` ("fixed number" or the kind of the sequence) and ``rule`` of `RULES`: ``coverage`` of
        the interval at which the rule stopped, with the ends of its exact 95 % interval; for "every look" the share of
        runs in which no look missed. ``labels`` used and ``width`` in the mean, each with its Monte-Carlo standard
        error under the same name and ``_se``; ``early``, the share of trials that stopped before the budget;
        ``undefined``, the trials without an interval where they stopped, over which coverage and width are not taken.
    trials, budget, first : int
        Runs, and the range of looks.
    confidence : float
        Nominal level.
    """

    rows: tuple[dict[str, Any], ...]
    trials: int
    budget: int
    first: int
    confidence: float

    def row(self, interval: str, rule: str) -> dict[str, Any]:
        """The row of an interval and a rule.

        Raises
        ------
        InputError
            There is no such row.
        """
        for row in self.rows:
            if (row["interval"], row["rule"]) == (interval, rule):
                return row
        raise InputError(f"there is no row of {interval!r} and {rule!r}")

    def __repr__(self) -> str:
        """The rows as plain text."""
        head = (
            f"Stopping({self.trials} trials, looks from {self.first} to {self.budget} labels, "
            f"nominal coverage {self.confidence:g})"
        )
        lines = [
            f"{row['interval']:<23}  {row['rule']:<15}  coverage {_short(row['coverage'])}  labels {row['labels']:.1f}"
            for row in self.rows
        ]
        return "\n".join([head, *lines])

    def to_dict(self) -> dict[str, Any]:
        """Everything as valid JSON."""
        names = ("trials", "budget", "first", "confidence")
        return {"rows": [dict(row) for row in self.rows], **{name: getattr(self, name) for name in names}}


def stopping(
    pool: Pool,
    scores: Any,
    *,
    budget: int,
    width: float,
    target: float | None = None,
    epsilon: float = 0.1,
    control: float | None = None,
    intercept: bool = False,
    bounds: tuple[float, float] | None = None,
    confidence: float = 0.9,
    variance: str = "plugin",
    tightest: int = TIGHTEST,
    first: int = FIRST,
    trials: int = 1000,
    seed: int = 0,
) -> Stopping:
    """How often intervals cover when one looks after every label: those of `estimate`, and a `confidence_sequence`.

    Both are taken from the same runs, under three rules of stopping: at the budget; as soon as the interval is at most
    `width` wide; as soon as it excludes `target`. Looks begin after `first` labels, and end at the budget.

    Parameters
    ----------
    pool : Pool
        Losses, and proxy losses where there is a control.
    scores : array of shape (N,)
        What points are drawn by, as for `sample`; uniform draws have an epsilon of 1.
    budget : int
        Labels of a run, from `first` to N.
    width : float
        Width that is narrow enough to stop.
    target : float, optional
        Risk that the third rule waits to see excluded. The true risk by default, the worst case: who waits for the
        truth to be excluded finds it excluded by chance.
    epsilon : float
        Share of uniform draws, 0.1 by default.
    control, intercept
        As for `estimate`; no proxy by default.
    bounds, tightest, first
        As for `confidence_sequence`; `first` holds for both intervals.
    confidence : float
        Level of both, 0.9 by default.
    variance : {"plugin", "unbiased"}
        Of the interval of `estimate`.
    trials : int
        Runs, at least 2; 1000 by default.
    seed : int
        Trial t depends on seed and t alone.

    Returns
    -------
    Stopping

    Raises
    ------
    InputError
        A budget outside `first` to N, a width that is not positive, a control without a proxy, bounds that a loss
        violates, or what `sample` refuses.

    Examples
    --------
    >>> import numpy as np
    >>> pool = Pool(np.random.default_rng(0).uniform(size=400))
    >>> found = stopping(pool, np.ones(400), budget=200, width=0.1, epsilon=1.0, bounds=(0, 1), first=30, trials=200)
    >>> found.row("time-uniform", "every look")["coverage"] >= 0.9
    True
    >>> found.row("fixed number", "every look")["coverage"] < 0.7
    True
    """
    budget = sampler.check_budget(budget, len(pool))
    plan = Plan(
        1.0 - check_confidence(confidence),
        arrays.whole_number(tightest, "tightest", least=1),
        arrays.whole_number(first, "first", least=2),
    )
    inputs.check_interval(confidence, variance)
    if budget < plan.first:
        raise InputError(f"budget is {budget} and first is {plan.first}: looks begin after `first` labels")
    if inputs.check_number(width, "width") <= 0:
        raise InputError(f"width is {width!r}: give a positive width at which to stop")
    goal = pool.risk if target is None else inputs.check_number(target, "target")
    arrays.whole_number(trials, "trials", least=2)
    if control is not None:
        inputs.check_number(control, "control")
        if pool.proxy_loss is None:
            raise InputError("control is given, but the pool has no proxy_loss: give it in the pool")
    elif intercept:
        raise InputError("intercept is True, but there is no control: give the strength of the proxy")
    checked = None if bounds is None else check_bounds(bounds, pool.loss)
    values = proposal.check_scores(scores, epsilon)
    if len(values) != len(pool):
        raise InputError(f"scores has {len(values)} values and the pool {len(pool)}: give one for each point")
    if checked is not None and epsilon == 0.0:
        raise InputError("epsilon is 0, but bounds need a share of uniform draws: give a positive one")
    kinds = ("fixed number", KINDS[checked is None])
    found: dict[tuple[str, str], list[np.ndarray]] = {}
    batch = max(1, DRAWS // (4 * budget))
    for start in range(0, trials, batch):
        part = range(start, min(start + batch, trials))
        indices, q = sampler.drawn(values, budget, part, epsilon=epsilon, seed=seed)
        run, bound = _run(pool, indices, q, control, intercept, checked)
        risk = run.estimates()
        factor = np.array([quantile(count, variance, confidence) for count in range(1, budget + 1)])
        half = factor * np.sqrt(run.variances(variance))
        if checked is None or bound is None:
            ends = asymptotic(run, plan)
        else:
            ends = bernstein(run, pool.loss[indices], q, bound, checked, epsilon, plan)
        for kind, low, high in [(kinds[0], risk - half, risk + half), (kinds[1], ends.low, ends.high)]:
            for rule, outcome in _stopped(low, high, pool, plan.first, width, goal):
                found.setdefault((kind, rule), []).append(outcome)
    rows = tuple(_stopping_row(*key, np.concatenate(parts, axis=1), budget) for key, parts in found.items())
    return Stopping(rows, trials, budget, plan.first, float(confidence))


def _run(
    pool: Pool,
    indices: np.ndarray,
    q: np.ndarray,
    control: float | None,
    intercept: bool,
    bounds: tuple[float, float] | None,
) -> tuple[Terms, Bounded | None]:
    """The terms of simulated runs and, with bounds, the bounded controlled loss."""
    loss, offset, span = pool.loss[indices], None, (0.0, 0.0)
    run = controlled(loss, q, len(pool))
    if control is not None and pool.proxy_loss is not None:
        mean = float(pool.proxy_loss.mean())
        centred = pool.proxy_loss - mean
        run = controlled(
            loss, q, len(pool), centred=centred[indices], proxy_mean=mean, control=control, intercept=intercept
        )
        over = pool.proxy_loss if intercept else centred
        offset, span = over[indices], (float(over.min()), float(over.max()))
    return run, None if bounds is None else bounded(run, loss, bounds, offset, span)


def _stopped(
    low: np.ndarray, high: np.ndarray, pool: Pool, first: int, width: float, target: float
) -> Iterator[tuple[str, np.ndarray]]:
    """For each rule and trial: labels used, whether it covers (NaN without an interval), and the width."""
    rounding = 1e-12 * float(np.max(np.abs(pool.loss)))
    covers = (low - rounding <= pool.risk) & (pool.risk <= high + rounding) | np.isnan(low)
    last, rows = low.shape[1] - 1, np.arange(len(low))
    stops = {
        RULES[0]: np.zeros_like(covers),
        RULES[1]: high - low <= width,
        RULES[2]: (target < low - rounding) | (target > high + rounding),
    }
    for rule, stop in stops.items():
        stop = stop.copy()
        stop[:, : first - 1], stop[:, last] = False, True
        at = stop.argmax(axis=1)
        span = (high - low)[rows, at]
        yield rule, np.stack([at + 1.0, np.where(np.isnan(span), np.nan, covers[rows, at]), span])
    yield RULES[3], np.stack([rows * 0.0 + last + 1, covers[:, first - 1 :].all(axis=1), (high - low)[:, last]])


def _stopping_row(kind: str, rule: str, found: np.ndarray, budget: int) -> dict[str, Any]:
    labels, covered, width = found
    known = ~np.isnan(covered)
    rate = Rate.of(int(covered[known].sum()), int(known.sum()))
    low, high = rate.interval or (None, None)
    row = {"interval": kind, "rule": rule, "trials": len(labels), "coverage": rate.rate}
    row |= {"coverage_low": low, "coverage_high": high, "early": float(np.mean(labels < budget))}
    for name, values in [("labels", labels), ("width", width[~np.isnan(width)])]:
        many = len(values) > 1
        row |= {name: float(values.mean()) if len(values) else None}
        row |= {f"{name}_se": float(values.std(ddof=1) / math.sqrt(len(values))) if many else None}
    return row | {"undefined": int(np.sum(~known))}


def _short(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
