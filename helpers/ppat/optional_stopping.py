"""What becomes of intervals when one looks after every label and stops by a rule: a simulation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import arrays
from ..errors import InputError
from ..uncertainty import Rate
from . import inputs, martingale, proposal, sampler
from .control import Terms, quantiles
from .martingale import FIRST, TIGHTEST, Bounded, Plan
from .methods import Pool
from .sequence import KINDS
from .simulation import DRAWS, with_error

RULES = ("fixed budget", "narrow enough", "target excluded", "every look")
#: The interval of `estimate`, beside the kinds of a sequence.
FIXED = "fixed number"


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
    plan = Plan.of(confidence, tightest, first)
    inputs.check_interval(confidence, variance)
    arrays.whole_number(trials, "trials", least=2)
    if budget < plan.first:
        raise InputError(f"budget is {budget} and first is {plan.first}: looks begin after `first` labels")
    if inputs.check_number(width, "width") <= 0:
        raise InputError(f"width is {width!r}: give a positive width at which to stop")
    goal = pool.risk if target is None else inputs.check_number(target, "target")
    _check_control(control, intercept, pool)
    within = None if bounds is None else martingale.check_bounds(bounds, pool.loss)
    values = _check_scores(scores, epsilon, len(pool), within)
    found: dict[tuple[str, str], list[np.ndarray]] = {}
    batch = max(1, DRAWS // (4 * budget))
    for start in range(0, trials, batch):
        part = range(start, min(start + batch, trials))
        indices, q = sampler.drawn(values, budget, part, epsilon=epsilon, seed=seed)
        run = pool.terms(indices, q, control, intercept=intercept)
        half = quantiles(budget, variance, confidence) * np.sqrt(run.variances(variance))
        if within is None:
            ends = martingale.asymptotic(run, plan)
        else:
            controlled = _bounded(run, pool, indices, intercept, within)
            ends = martingale.bernstein(run, pool.loss[indices], q, controlled, within, epsilon, plan)
        risk = run.estimates()
        intervals = {FIXED: (risk - half, risk + half), KINDS[within is None]: (ends.low, ends.high)}
        for kind, (low, high) in intervals.items():
            for rule, outcome in _stopped(low, high, pool, plan.first, width, goal):
                found.setdefault((kind, rule), []).append(outcome)
    rows = tuple(_row(*key, np.concatenate(parts, axis=1), budget) for key, parts in found.items())
    return Stopping(rows, trials, budget, plan.first, float(confidence))


def _check_control(control: float | None, intercept: bool, pool: Pool) -> None:
    if control is None:
        if arrays.truth(intercept, "intercept"):
            raise InputError("intercept is True, but there is no control: give the strength of the proxy")
        return
    inputs.check_number(control, "control")
    if pool.proxy_loss is None:
        raise InputError("control is given, but the pool has no proxy_loss: give it in the pool")


def _check_scores(scores: Any, epsilon: float, size: int, bounds: tuple[float, float] | None) -> np.ndarray:
    values = proposal.check_scores(scores, epsilon)
    if len(values) != size:
        raise InputError(f"scores has {len(values)} values and the pool {size}: give one for each point")
    if bounds is not None and epsilon == 0.0:
        raise InputError("epsilon is 0, but bounds need a share of uniform draws: give a positive one")
    return values


def _bounded(run: Terms, pool: Pool, indices: np.ndarray, intercept: bool, bounds: tuple[float, float]) -> Bounded:
    """The controlled loss of simulated runs, with its bounds."""
    loss = pool.loss[indices]
    if run.control is None:
        return martingale.bounded(run, loss, bounds)
    variate = pool.variate(intercept)
    return martingale.bounded(run, loss, bounds, variate[indices], (float(variate.min()), float(variate.max())))


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
    every = covers[:, first - 1 :].all(axis=1)
    yield RULES[3], np.stack([np.full(len(rows), last + 1.0), every, (high - low)[:, last]])


def _row(kind: str, rule: str, found: np.ndarray, budget: int) -> dict[str, Any]:
    labels, covered, width = found
    known = ~np.isnan(covered)
    rate = Rate.of(int(covered[known].sum()), int(known.sum()))
    low, high = rate.interval or (None, None)
    row = {"interval": kind, "rule": rule, "trials": len(labels), "coverage": rate.rate}
    row |= {"coverage_low": low, "coverage_high": high, "early": float(np.mean(labels < budget))}
    row |= with_error("labels", labels) | with_error("width", width[~np.isnan(width)])
    return row | {"undefined": int(np.sum(~known))}


def _short(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
