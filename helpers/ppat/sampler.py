r"""Draws of points to label, without replacement, for many trials at once: by fixed scores, or while these follow.

How a draw is made in constant expected time is the business of `drawing`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import arrays
from ..errors import InputError
from . import control as controls
from . import inputs, proposal
from .drawing import fill, tables_of, trial_keys

#: Distinct controls whose tables are held at once.
TABLES = 32
#: Controls that follow the labels are rounded to multiples of this, so that trials share their tables.
GRID = 0.05


def sample(
    scores: Any, budget: int, *, trials: int = 1, epsilon: float = 0.1, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    r"""Draw points to label, without replacement, with the probability of each draw.

    .. math:: Q_m(i) = (1 - \varepsilon) \frac{a_i}{\sum_{j \in S_m} a_j} + \frac{\varepsilon}{|S_m|}, \quad i \in S_m

    Parameters
    ----------
    scores : array of shape (N,)
        a, how much each point is worth drawing: see `proposal`. Once all points with a positive score are drawn, the
        rest is drawn uniformly.
    budget : int
        M, points to draw, from 1 to N.
    trials : int
        Independent repetitions, 1 by default.
    epsilon : float
        Share of uniform draws, from 0 to 1; 0.1 by default. See `proposal.mixture`.
    seed : int
        Trial t depends on seed and t alone, not on the number of trials, on threads, or on whether numba is installed.

    Returns
    -------
    indices : numpy.ndarray of int, shape (trials, M)
        The points of each trial in the order drawn, all different.
    q : numpy.ndarray of shape (trials, M)
        The probability with which each was drawn among the points that were left.

    Raises
    ------
    InputError
        A score that is negative or not finite, all scores 0, a budget above N, an epsilon outside [0, 1] or of 0
        together with a score of 0, trials below 1.

    Notes
    -----
    Setting up costs O(N), a draw O(1). Compiled by numba where the extra ``fast`` is installed; the first call then
    compiles, or loads what was compiled before.

    References
    ----------
    Vose (1991), "A linear algorithm for generating random numbers with a given distribution".

    Examples
    --------
    >>> indices, q = sample([1, 0.5, 2, 0.5, 1, 3], budget=3, seed=2)
    >>> indices.shape, q.shape
    ((1, 3), (1, 3))
    >>> from helpers.ppat import proposal
    >>> bool(np.isclose(q[0, 0], proposal.mixture([1, 0.5, 2, 0.5, 1, 3])[indices[0, 0]]))
    True
    """
    values = proposal.check_scores(scores, epsilon)
    trials = arrays.whole_number(trials, "trials", least=1)
    return drawn(values, check_budget(budget, len(values)), range(trials), epsilon=epsilon, seed=seed)


def sample_refreshed(
    moments: proposal.Moments,
    loss: Any,
    proxy_loss: Any,
    budget: int,
    *,
    refresh: int = 100,
    initial_control: float = 1.0,
    grid: float = GRID,
    intercept: bool = False,
    trials: int = 1,
    epsilon: float = 0.1,
    seed: int = 0,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    r"""Draw points while the control follows the labels: scores are computed anew every `refresh` labels.

    After m labels the control is the estimate of the pool's least-squares control,
    :math:`\hat\lambda = \frac1m \sum_j V_j \ell_{I_j} c_{I_j} / \mathrm{mean}(c^2)` with the weights of m labels,
    rounded to `grid`. It depends on the past only, so estimates stay unbiased. For simulations: the losses of the
    whole pool must be known.

    Parameters
    ----------
    moments : proposal.Moments
        The surrogate's mean and deviation of each loss; fixed during the run.
    loss, proxy_loss : array of shape (N,)
        Loss, and loss against the proxy's labels, of every point.
    budget : int
        M, points to draw, from 1 to N.
    refresh : int
        Labels between two updates, 100 by default, as in the source.
    initial_control : float
        The control before the first update, 1 by default, as for the control "predictable" of `estimate`.
    grid : float
        Controls are rounded to multiples of this, 0.05 by default, so that trials share their tables. The rounded
        control is what the draws use: rounding costs a little efficiency and no exactness.
    intercept : bool
        Take control times proxy loss, not centred proxy loss, off the loss in the scores; False by default.
    trials, epsilon, seed
        As for `sample`.

    Returns
    -------
    indices : numpy.ndarray of int, shape (trials, M)
        The points of each trial in the order drawn.
    q : numpy.ndarray of shape (trials, M)
        The probability of each draw.
    control : numpy.ndarray of shape (trials, M)
        The control in force at each draw.

    Raises
    ------
    InputError
        As `sample`; lengths that differ, an epsilon of 0 (later scores may be 0 somewhere), a proxy loss that is the
        same for all points, a grid that is not positive, an intercept that is neither True nor False.

    References
    ----------
    Ashouritaklimi et al. (2026), "Prediction-Powered Active Testing", arXiv:2607.08347.

    Examples
    --------
    >>> loss = np.linspace(0.1, 2.0, 50)
    >>> moments = proposal.Moments(loss, 0.1 * loss)
    >>> _, _, control = sample_refreshed(moments, loss, 0.5 * loss, budget=20, refresh=10)
    >>> control[0, [0, 9, 10, 19]].round(2)
    array([1. , 1. , ..., ...])
    """
    trials = arrays.whole_number(trials, "trials", least=1)
    losses, proxy = (
        inputs.check_pool(v, n, pool_size=len(moments)) for v, n in [(loss, "loss"), (proxy_loss, "proxy_loss")]
    )
    return refreshed(
        moments,
        losses,
        proxy,
        check_budget(budget, len(moments)),
        range(trials),
        refresh=refresh,
        initial_control=initial_control,
        grid=grid,
        intercept=intercept,
        epsilon=epsilon,
        seed=seed,
    )


def check_budget(budget: Any, pool_size: int) -> int:
    """Points to draw: a whole number from 1 to N."""
    if arrays.whole_number(budget, "budget", least=1) > pool_size:
        raise InputError(
            f"budget is {budget} and the pool has {pool_size} points: without replacement there are no more"
        )
    return int(budget)


def drawn(
    values: np.ndarray, budget: int, trials: range, *, epsilon: float, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """`sample` for some of the trials, without its checks of the scores."""
    keys = trial_keys(seed, trials)
    indices = np.empty((len(trials), budget), dtype=np.int64)
    q = np.empty((len(trials), budget))
    fill(keys, np.zeros(len(trials), dtype=np.int64), tables_of(values[None], epsilon), 0, epsilon, indices, q)
    return indices, q


def refreshed(
    moments: proposal.Moments,
    loss: np.ndarray,
    proxy_loss: np.ndarray,
    budget: int,
    trials: range,
    *,
    refresh: int,
    initial_control: float,
    grid: float,
    intercept: bool,
    epsilon: float,
    seed: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`sample_refreshed` for some of the trials, without its checks of the pool."""
    centred, mean_square = _check_schedule(proxy_loss, refresh, initial_control, grid, epsilon)
    off = proxy_loss if arrays.truth(intercept, "intercept") else centred
    keys = trial_keys(seed, trials)
    indices = np.empty((len(trials), budget), dtype=np.int64)
    q, control = (np.empty((len(trials), budget)) for _ in range(2))
    for start in range(0, budget, refresh):
        block = slice(start, min(start + refresh, budget))
        found = np.full(len(trials), initial_control)
        if start:
            past = indices[:, :start]
            found = controls.dagger(loss[past], q[:, :start], len(moments), centred[past], mean_square)[:, -1]
        rounded = np.round(found / grid) * grid
        control[:, block] = rounded[:, None]
        values, rows = np.unique(rounded, return_inverse=True)
        for first in range(0, len(values), TABLES):
            part = values[first : first + TABLES]
            tables = tables_of(np.stack([moments.scores(value * off) for value in part]), epsilon)
            # the trials that share these tables are not neighbours: `fill` works on copies
            who = np.flatnonzero((rows >= first) & (rows < first + len(part)))
            some, probabilities = indices[who, : block.stop], q[who, : block.stop]
            fill(keys[who], rows[who] - first, tables, start, epsilon, some, probabilities)
            indices[who, : block.stop], q[who, : block.stop] = some, probabilities
    return indices, q, control


def _check_schedule(
    proxy_loss: np.ndarray, refresh: Any, initial_control: Any, grid: Any, epsilon: Any
) -> tuple[np.ndarray, float]:
    """Refuse a schedule that cannot be followed; return the centred proxy loss and its mean square."""
    arrays.whole_number(refresh, "refresh", least=1)
    inputs.check_number(initial_control, "initial_control")
    if inputs.check_number(grid, "grid") <= 0:
        raise InputError(f"grid is {grid!r}: give the step to which controls are rounded, such as 0.05")
    if not 0.0 < inputs.check_number(epsilon, "epsilon") <= 1.0:
        raise InputError(f"epsilon is {epsilon!r}: with scores that change it must be above 0, and at most 1")
    mean = float(proxy_loss.mean())
    mean_square = float(np.mean((proxy_loss - mean) ** 2))
    if mean_square <= 1e-24 * mean**2:
        raise InputError(f"proxy_loss is {mean!r} for every point: it says nothing, and no control can be found for it")
    return proxy_loss - mean, mean_square
