"""How estimators fare on a pool whose losses are all known: error, bias, width and coverage over many runs.

A simulation says what no single run can: whether an estimate is unbiased, whether its interval holds, and what a label
is worth. Nothing here says which method wins; that depends on the pool.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .. import arrays, records
from ..errors import InputError
from ..uncertainty import Rate, check_confidence
from . import proposal, rivals, sampler
from .control import Terms, is_defined, quantile
from .methods import Method, Pool, check_method, chosen_methods

COLUMNS = tuple(
    """method budget trials risk bias bias_se mean_squared_error mean_squared_error_se median_squared_error
    median_squared_error_se width width_se coverage coverage_low coverage_high undefined reason""".split()
)
#: Draws that are held at once.
DRAWS = 2**22


@dataclass(frozen=True, repr=False)
class Simulation:
    """Rows of a simulation, one for each method and budget.

    Attributes
    ----------
    rows : tuple of dict
        ``method``, ``budget``, ``trials``; ``risk``, the truth; ``bias``, ``mean_squared_error``,
        ``median_squared_error`` and ``width`` (mean of the interval's), each with its Monte-Carlo standard error under
        the same name and ``_se``; ``coverage`` with the ends of its exact 95 % interval; ``undefined``, the trials
        without an interval, over which width and coverage are not taken; ``reason`` where there is none at all.
    pool_size, seed : int
        N, and the seed.
    confidence : float
        Nominal level of the intervals.
    """

    rows: tuple[dict[str, Any], ...]
    pool_size: int
    confidence: float
    seed: int

    def row(self, method: str, budget: int | None = None) -> dict[str, Any]:
        """The row of a method, at its largest budget by default.

        Raises
        ------
        InputError
            There is no such row.
        """
        found = [row for row in self.rows if row["method"] == method and budget in (None, row["budget"])]
        if not found:
            raise InputError(f"there is no row of {method!r}" + ("" if budget is None else f" with budget {budget}"))
        return max(found, key=lambda row: row["budget"])

    def __repr__(self) -> str:
        """The rows as plain text."""
        names = "method budget bias mean_squared_error median_squared_error width coverage".split()
        table = [names] + [[_short(row[name]) for name in names] for row in self.rows]
        wide = [max(len(line[k]) for line in table) for k in range(len(names))]
        lines = [
            "  ".join(text.ljust(width) for text, width in zip(line, wide, strict=True)).rstrip() for line in table
        ]
        head = f"Simulation(pool of {self.pool_size}, nominal coverage {self.confidence:g}, seed {self.seed})"
        return "\n".join([head, *lines])

    def to_dict(self) -> dict[str, Any]:
        """Everything as valid JSON."""
        rows = [dict(row) for row in self.rows]
        return {"rows": rows, "pool_size": self.pool_size, "confidence": self.confidence, "seed": self.seed}

    def to_csv(self, path: str | Path | None = None) -> str:
        """The rows as CSV, written to `path` if there is one; what is undefined is left empty."""
        text = io.StringIO()
        writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.rows)
        if path is not None:
            records.write_text(path, text.getvalue())
        return text.getvalue()


def simulate(
    pool: Pool,
    methods: Sequence[str] | Mapping[str, Method],
    *,
    budget: int | Sequence[int],
    trials: int = 1000,
    seed: int = 0,
    confidence: float = 0.9,
) -> Simulation:
    r"""Run methods over and over on a pool whose losses are known, and say how far off they are.

    The error of a trial is estimate less :math:`R = \frac1N \sum_i \ell_i`; an interval covers if it holds R.

    Parameters
    ----------
    pool : Pool
        Losses, proxy losses and a surrogate's moments.
    methods : sequence of str, or mapping of str to Method
        Names from `METHODS`, or methods of your own by name.
    budget : int or sequence of int
        Labels, from 1 to N; several budgets are prefixes of the same runs.
    trials : int
        Independent runs, at least 2; 1000 by default, as in the source. A coverage near 0.9 is then known to about
        0.01.
    seed : int
        Trial t of every method uses the same random numbers, whatever the other methods are.
    confidence : float
        Nominal level of the intervals, 0.9 by default.

    Returns
    -------
    Simulation
        One row for each method and budget.

    Raises
    ------
    InputError
        An unknown method, a budget above N, a method that needs a proxy or moments that the pool lacks, trials below 2.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> surprise = rng.normal(size=500)
    >>> loss, moments = surprise**2, proposal.Moments.gaussian(surprise, 0.1)
    >>> found = simulate(Pool(loss, proxy_loss=0.9 * loss, moments=moments), ["random", "ppat 1"], budget=50, trials=50)
    >>> found.row("ppat 1")["mean_squared_error"] < found.row("random")["mean_squared_error"]
    True
    """
    chosen = chosen_methods(methods)
    budgets = _budgets(budget, len(pool))
    arrays.whole_number(trials, "trials", least=2)
    arrays.whole_number(seed, "seed", least=0)
    check_confidence(confidence)
    for name, method in chosen.items():
        check_method(name, method, pool)
    outcomes: dict[tuple[str, int], list[_Outcome]] = {}
    batch = max(1, DRAWS // max(budgets))
    for first in range(0, trials, batch):
        runs = _Runs(pool, max(budgets), range(first, min(first + batch, trials)), seed)
        for name, method in chosen.items():
            for count, outcome in zip(budgets, _outcomes(runs, method, budgets, confidence), strict=True):
                outcomes.setdefault((name, count), []).append(outcome)
    rows = tuple(_row(name, count, pool, parts) for (name, count), parts in outcomes.items())
    return Simulation(rows, len(pool), float(confidence), int(seed))


class _Outcome(NamedTuple):
    """Estimates of some trials and half the widths of their intervals, NaN where there is none."""

    risk: np.ndarray
    half: np.ndarray
    reason: str | None = None


class _Runs:
    """Draws of some trials; methods that draw alike share them."""

    def __init__(self, pool: Pool, budget: int, trials: range, seed: int) -> None:
        self.pool, self.budget, self.trials, self.seed = pool, budget, trials, seed
        self._drawn: dict[Method, tuple[np.ndarray, np.ndarray]] = {}

    def draw(self, method: Method) -> tuple[np.ndarray, np.ndarray]:
        """Points and probabilities of the method's proposal."""
        alike = _only_proposal(method)
        if alike not in self._drawn:
            self._drawn[alike] = self._new(method)
        return self._drawn[alike]

    def _new(self, method: Method) -> tuple[np.ndarray, np.ndarray]:
        pool = self.pool
        if method.follows_labels:
            assert pool.moments is not None and pool.proxy_loss is not None
            indices, q, _ = sampler.refreshed(
                pool.moments,
                pool.loss,
                pool.proxy_loss,
                self.budget,
                self.trials,
                refresh=method.refresh,
                initial_control=method.initial_control,
                grid=sampler.GRID,
                intercept=method.intercept,
                epsilon=method.epsilon,
                seed=self.seed,
            )
            return indices, q
        scores, epsilon = _scores(pool, method), 1.0 if method.proposal == "uniform" else method.epsilon
        values = proposal.check_scores(scores, epsilon)
        return sampler.drawn(values, self.budget, self.trials, epsilon=epsilon, seed=self.seed)


def _only_proposal(method: Method) -> Method:
    """The method with all fields that do not touch its draws at their defaults."""
    if method.proposal in ("uniform", "expected_loss"):
        return Method(method.proposal, epsilon=method.epsilon)
    if method.follows_labels:
        return Method(
            method.proposal,
            "dagger",
            intercept=method.intercept,
            epsilon=method.epsilon,
            refresh=method.refresh,
            initial_control=method.initial_control,
        )
    return Method(method.proposal, proposal_control=method.strength, intercept=method.intercept, epsilon=method.epsilon)


def _scores(pool: Pool, method: Method) -> np.ndarray:
    if method.proposal == "uniform":
        return proposal.uniform(len(pool))
    if method.proposal == "expected_loss":
        assert pool.moments is not None
        return proposal.expected_loss(pool.moments)
    has_term = method.strength != 0.0 and pool.proxy_loss is not None
    term = method.strength * pool.variate(method.intercept) if has_term else np.zeros(len(pool))
    if method.proposal == "oracle":
        return proposal.oracle(pool.loss, term)
    assert pool.moments is not None
    return pool.moments.scores(term)


def _outcomes(runs: _Runs, method: Method, budgets: Sequence[int], confidence: float) -> Iterator[_Outcome]:
    """What a method makes of its runs, at each budget."""
    pool, trials = runs.pool, len(runs.trials)
    if method.estimator in ("proxy", "ase"):
        values = pool.proxy_loss if method.estimator == "proxy" else pool.moments and pool.moments.mean
        found = rivals.pure_proxy(values) if method.estimator == "proxy" else rivals.ase(values)
        for _ in budgets:
            yield _Outcome(np.full(trials, found.risk), np.full(trials, np.nan), found.reason)
    elif method.estimator == "asi":
        for count in budgets:
            yield _asi(runs, count, confidence)
    else:
        indices, q = runs.draw(method)
        if method.estimator == "plain_mean":
            loss = pool.loss[indices]
            for count in budgets:
                yield _Outcome(loss[:, :count].mean(axis=1), np.full(trials, np.nan), rivals.BIASED)
        else:
            run = pool.terms(
                indices,
                q,
                method.control,
                refresh=method.refresh,
                initial_control=method.initial_control,
                intercept=method.intercept,
            )
            for count in budgets:
                yield _weighted(run, count, method.variance, confidence)


def _weighted(run: Terms, count: int, variance: str, confidence: float) -> _Outcome:
    half = quantile(count, variance, confidence) * np.sqrt(run.variance_at(count, variance))
    if is_defined(count, run.pool_size, variance):
        return _Outcome(run.estimate_at(count), half)
    return _Outcome(run.estimate_at(count), half, f"{count} of {run.pool_size} labels have no {variance} variance")


def _asi(runs: _Runs, count: int, confidence: float) -> _Outcome:
    """Half the labels go where the surrogate expects the proxy to be off, half anywhere, as in its reference code."""
    pool = runs.pool
    assert pool.proxy_loss is not None and pool.moments is not None
    share, error = count / len(pool), pool.moments.scores(pool.proxy_loss)
    chance = np.minimum(0.5 * share * error / max(error.mean(), np.finfo(np.float64).tiny) + 0.5 * share, 1.0)
    risk, half = np.full(len(runs.trials), pool.proxy_loss.mean()), np.full(len(runs.trials), np.nan)
    for k, trial in enumerate(runs.trials):
        labelled = np.flatnonzero(np.random.default_rng([runs.seed, trial]).random(len(pool)) < chance)
        if labelled.size:  # without any label the estimate is the proxy's, and has no interval
            found = rivals.asi(
                pool.loss[labelled], chance[labelled], labelled, pool_proxy_loss=pool.proxy_loss, confidence=confidence
            )
            assert found.high is not None
            risk[k], half[k] = found.risk, found.high - found.risk
    return _Outcome(risk, half)


def _row(name: str, count: int, pool: Pool, parts: Sequence[_Outcome]) -> dict[str, Any]:
    risk, half = (np.concatenate([getattr(part, which) for part in parts]) for which in ("risk", "half"))
    error, known = risk - pool.risk, ~np.isnan(half)
    squared = error**2
    # an interval of width 0 around the whole pool's mean differs from it by rounding
    rounding = 1e-12 * max(float(np.max(np.abs(pool.loss))), float(np.max(np.abs(risk))))
    covered = Rate.of(int(np.sum(np.abs(error[known]) <= half[known] + rounding)), int(known.sum()))
    low, high = covered.interval or (None, None)
    width = 2.0 * half[known]
    row = {"method": name, "budget": count, "trials": len(error), "risk": pool.risk}
    row |= with_error("bias", error) | with_error("mean_squared_error", squared)
    row |= {"median_squared_error": float(np.median(squared)), "median_squared_error_se": _median_se(squared)}
    row |= with_error("width", width)
    row |= {"coverage": covered.rate, "coverage_low": low, "coverage_high": high}
    return row | {"undefined": int(np.sum(~known)), "reason": parts[0].reason}


def with_error(name: str, values: np.ndarray) -> dict[str, float | None]:
    """A mean over trials with its Monte-Carlo standard error."""
    mean = float(values.mean()) if len(values) else None
    error = float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else None
    return {name: mean, f"{name}_se": error}


def _median_se(values: np.ndarray) -> float:
    """Half the distance of the order statistics one standard deviation of their rank from the median."""
    ordered, n = np.sort(values), len(values)
    low, high = np.clip(np.round((n - 1) / 2 + np.array([-0.5, 0.5]) * np.sqrt(n)).astype(int), 0, n - 1)
    return float(ordered[high] - ordered[low]) / 2.0


def _short(value: Any) -> str:
    return "-" if value is None else f"{value:.3g}" if isinstance(value, float) else str(value)


def _budgets(budget: Any, pool_size: int) -> list[int]:
    given = list(budget) if isinstance(budget, Sequence | np.ndarray) else [budget]
    if not given:
        raise InputError("budget is empty: give at least one number of labels")
    return sorted({sampler.check_budget(one, pool_size) for one in given})
