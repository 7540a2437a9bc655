"""What happens between the ends of tasks: worst case, stability gap, anytime average.

All functions take the log of a continual evaluation: one row of scores for each evaluation, and for each row the task
that was being trained.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import arrays
from ..errors import InputError
from .inputs import gapped
from .value import Value, outcome


def min_acc(values: Any, current: Any) -> Value:
    r"""Average minimum accuracy: how low did old tasks fall at their worst moment?

    .. math:: \mathrm{min\text{-}ACC}_k = \frac{1}{k - 1} \sum_{i<k} \min_{e :\, c_e > i} A_{e,i},

    the minimum over all evaluations e after task i was learned, that is while a later task was being trained. Accuracy
    at the ends of tasks misses a drop that is made up again (the stability gap).

    Parameters
    ----------
    values : array of shape (E, T)
        Score on each task at each evaluation, in time order, higher being better; columns in the order of training.
        None or NaN where a task was not evaluated.
    current : array of shape (E,)
        The task that was being trained at each evaluation, from 0, never going back.

    Returns
    -------
    Value
        ``min_acc``, over the k tasks trained so far; its coverage counts old tasks. None with the reason where there
        is no old task, or one was never evaluated afterwards.

    Raises
    ------
    InputError
        Other shapes, scores that are infinite or no numbers, a current task that is no column or goes back.

    References
    ----------
    De Lange, van de Ven and Tuytelaars (2023), Continual evaluation for lifelong learning: identifying the stability
    gap, ICLR.

    Examples
    --------
    >>> log = [[0.9, None], [0.4, 0.3], [0.7, 0.6], [0.8, 0.85]]
    >>> min_acc(log, current=[0, 1, 1, 1]).value
    0.4
    """
    scores, task = _log(values, current)
    lows, reason = _lows(scores, task)
    coverage = (int(np.sum(~np.isnan(lows))), len(lows))
    return outcome("min_acc", None if reason else float(np.mean(lows)), coverage=coverage, reason=reason)


def wc_acc(values: Any, current: Any) -> Value:
    r"""Worst-case accuracy: the current task as it is, the old ones at their worst.

    .. math:: \mathrm{WC\text{-}ACC}_k = \tfrac1k A_{E,k} + \left(1 - \tfrac1k\right) \mathrm{min\text{-}ACC}_k

    at the last evaluation E, k being the task trained then and :math:`\mathrm{min\text{-}ACC}_k` that of `min_acc`. For
    one task it is that task's accuracy.

    Parameters
    ----------
    values : array of shape (E, T)
        Score on each task at each evaluation, in time order, higher being better; columns in the order of training.
        None or NaN where a task was not evaluated.
    current : array of shape (E,)
        The task that was being trained at each evaluation, from 0, never going back.

    Returns
    -------
    Value
        ``wc_acc``, in the unit of the scores; its coverage counts the k tasks. None with the reason where the last
        evaluation lacks the current task, or an old one was never evaluated after it was learned.

    Raises
    ------
    InputError
        Other shapes, scores that are infinite or no numbers, a current task that is no column or goes back.

    References
    ----------
    De Lange, van de Ven and Tuytelaars (2023), Continual evaluation for lifelong learning: identifying the stability
    gap, ICLR.

    Examples
    --------
    >>> log = [[0.9, None], [0.4, 0.3], [0.7, 0.6], [0.8, 0.85]]
    >>> wc_acc(log, current=[0, 1, 1, 1]).value
    0.625
    """
    scores, task = _log(values, current)
    k = int(task[-1]) + 1
    lows, reason = _lows(scores, task)
    last = scores[-1, k - 1]
    terms = np.append(lows, last)
    coverage = (int(np.sum(~np.isnan(terms))), k)
    if np.isnan(last):
        reason = f"the last evaluation lacks task {k - 1}, the one being trained"
    elif k == 1:
        reason = None
    return outcome("wc_acc", None if reason else float(np.mean(terms)), coverage=coverage, reason=reason)


def windowed(values: Any, current: Any, *, window: int = 10, change: str = "drop") -> Value:
    r"""The largest drop, or rise, within a few evaluations, averaged over tasks.

    .. math::

       \mathrm{WF}_w = \frac1k \sum_{i \le k} \max_{0 \le n - m < w} (A_{m,i} - A_{n,i}), \qquad
       \mathrm{WP}_w = \frac1k \sum_{i \le k} \max_{0 \le n - m < w} (A_{n,i} - A_{m,i}),

    m and n counting the evaluations of task i from when its training began; a window holds `window` of them. A curve
    that never falls has forgetting 0.

    Parameters
    ----------
    values, current
        See `min_acc`.
    window : int
        Evaluations in the window, at least 2; 10 by default, 100 being the other common choice.
    change : {"drop", "rise"}
        Windowed forgetting, or windowed plasticity.

    Returns
    -------
    Value
        ``wf_w`` or ``wp_w``, whose unit names the window, for only equal windows compare; a drop is better low, a rise
        high. None with the reason where a task has fewer than two evaluations.

    Raises
    ------
    InputError
        As for `min_acc`; a window below 2, an unknown change.

    References
    ----------
    De Lange, van de Ven and Tuytelaars (2023), ICLR. The released code gives the numbers per task.

    Examples
    --------
    >>> log, current = [[0.9], [0.4], [0.7], [0.3]], [0, 0, 0, 0]
    >>> windowed(log, current, window=2).value, round(windowed(log, current, window=4).value, 12)
    (0.5, 0.6)
    >>> round(windowed(log, current, window=2, change="rise").value, 12)
    0.3
    """
    arrays.whole_number(window, "window", least=2)
    arrays.one_of(change, "change", ("drop", "rise"))
    scores, task = _log(values, current)
    signed = scores if change == "drop" else -scores
    changes = [_largest_drop(signed[task >= i, i], window) for i in range(int(task[-1]) + 1)]
    defined = [found for found in changes if found is not None]
    coverage = (len(defined), len(changes))
    name, direction = ("wf_w", "lower") if change == "drop" else ("wp_w", "higher")
    unit = f"score, window of {window}"
    if len(defined) < len(changes):
        reason = f"task {changes.index(None)} has fewer than two evaluations since its training began"
        return outcome(name, None, coverage=coverage, reason=reason, direction=direction, unit=unit)
    return outcome(name, float(np.mean(defined)), coverage=coverage, direction=direction, unit=unit)


def aaa(values: Any, current: Any) -> Value:
    r"""Average anytime accuracy: mean over evaluations of the mean accuracy on the tasks seen by then.

    .. math:: \mathrm{AAA} = \frac1E \sum_{e=1}^E \frac{1}{c_e} \sum_{i \le c_e} A_{e,i}.

    The task being trained counts as seen.

    Parameters
    ----------
    values, current
        See `min_acc`.

    Returns
    -------
    Value
        ``aaa``; its coverage counts evaluations. None with the reason where a seen task was not evaluated.

    Raises
    ------
    InputError
        As for `min_acc`.

    References
    ----------
    Caccia et al. (2022), New insights on reducing abrupt representation change in online continual learning, ICLR; the
    formula is taken from papers that quote it, among them Soutif-Cormerais et al. (2023), not from the paper itself.

    Examples
    --------
    >>> log = [[0.9, None, None], [0.5, 0.8, None], [0.8, 0.85, None], [0.6, 0.5, 0.9]]
    >>> round(aaa(log, current=[0, 1, 1, 2]).value, 4)
    0.7604
    """
    scores, task = _log(values, current)
    seen = np.arange(scores.shape[1]) <= task[:, None]
    gaps = np.argwhere(seen & np.isnan(scores))
    coverage = (len(scores) - len(set(gaps[:, 0].tolist())), len(scores))
    if gaps.size:
        reason = f"evaluation {gaps[0, 0]} lacks task {gaps[0, 1]}, which had been seen"
        return outcome("aaa", None, coverage=coverage, reason=reason)
    means = np.where(seen, scores, 0.0).sum(axis=1) / seen.sum(axis=1)
    return outcome("aaa", float(np.mean(means)), coverage=coverage)


def _log(values: Any, current: Any) -> tuple[np.ndarray, np.ndarray]:
    scores = gapped(values, "values", ndim=2)
    layout = f"the number of the task for each of {len(scores)} evaluations"
    task = arrays.whole_numbers(current, "current", layout=layout, ndim=1)
    if len(task) != len(scores):
        raise InputError(f"current has shape {task.shape}: give {layout}")
    last = scores.shape[1] - 1
    arrays.refuse_where((task < 0) | (task > last), task, "current", f"values has tasks 0 to {last}")
    back = np.flatnonzero(np.diff(task) < 0)
    if back.size:
        raise InputError(
            f"current[{back[0] + 1}] is {task[back[0] + 1]} after {task[back[0]]}: order the columns as the tasks were "
            "trained; a task that returns is a task of its own"
        )
    return scores, task


def _lows(scores: np.ndarray, task: np.ndarray) -> tuple[np.ndarray, str | None]:
    """The worst score of every task but the current one after it was learned, NaN where there is none."""
    old = int(task[-1])
    later = np.where(task[:, None] > np.arange(old), scores[:, :old], np.nan)
    lows = np.min(np.where(np.isnan(later), np.inf, later), axis=0) if old else np.empty(0)
    lows = np.where(np.isinf(lows), np.nan, lows)
    if not old:
        return lows, "only one task was trained: none was learned before it"
    never = np.flatnonzero(np.isnan(lows))
    return lows, f"task {never[0]} was never evaluated after it was learned" if never.size else None


def _largest_drop(series: np.ndarray, window: int) -> float | None:
    """From one evaluation to a later one, both among `window` in a row; None for fewer than two evaluations."""
    series = series[~np.isnan(series)]
    if len(series) < 2:
        return None
    lags = range(1, min(window, len(series)))
    return max(0.0, *(float(np.max(series[:-lag] - series[lag:])) for lag in lags))
