r"""Weights and martingale terms of active testing without replacement: the array core of every estimator here.

A pool of N points is labelled one by one without replacement; step m draws its point with a probability q_m that may
depend on all that happened before. Everything in this chapter follows from the terms

.. math:: A_m = \frac1N \Big( \frac{z_{I_m}}{q_m} + \sum_{j<m} z_{I_j} \Big), \qquad
          E[A_m \mid \text{past}] = \frac1N \sum_{i=1}^N z_i,

and from their combination with the factors :math:`\gamma_{M,m} = N (N-M) / ((N-m)(N-m+1))`, which sum to M. Since
:math:`\gamma_{M,m} = N (N-M) g_m` with :math:`g_m = 1 / ((N-m)(N-m+1))`, one cumulative sum of :math:`g_m A_m` gives
the estimate after every label.

Steps lie along the last axis; leading axes are trials. Except for the public `weights` nothing is checked here: the
callers have done so.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .inputs import check_draws


def weights(q: Any, pool_size: int) -> np.ndarray:
    r"""LURE weights of M labelled points, in the order drawn.

    .. math:: V_m = 1 + \frac{N-M}{N-m} \Big( \frac{1}{(N-m+1)\, q_m} - 1 \Big)

    They undo two things at once: that points were not drawn with equal probability, and that the pool shrinks. The
    weighted mean :math:`\frac1M \sum_m V_m z_{I_m}` is an unbiased estimate of the pool's mean of z for every adaptive
    choice of the q. Uniform draws have weights of exactly 1; so has the whole pool (M = N).

    Parameters
    ----------
    q : array of shape (M,)
        Probability with which each point was drawn among the points that were left, in the order drawn.
    pool_size : int
        N, the number of points in the pool.

    Returns
    -------
    numpy.ndarray of shape (M,)
        Weights of mean 1 in expectation, never negative. They belong to this M: one more label changes them all.

    Raises
    ------
    InputError
        A probability outside (0, 1], more labels than points, a last point of the pool whose probability is not 1.

    References
    ----------
    Farquhar, Gal and Rainforth (2021), "On statistical bias in active learning: how and when to fix it".

    Examples
    --------
    >>> weights([0.3541666666666667, 0.38, 0.325], pool_size=6).round(4)
    array([0.6824, 0.6447, 0.7692])
    """
    q, pool_size = check_draws(q, pool_size)
    return lure_weights(q, pool_size)


def lure_weights(q: np.ndarray, pool_size: int) -> np.ndarray:
    """`weights` without its checks, for arrays of shape (..., M)."""
    count = q.shape[-1]
    if count == pool_size:
        return np.ones_like(q)
    step = steps(count)
    return 1.0 + (pool_size - count) / (pool_size - step) * (1.0 / ((pool_size - step + 1) * q) - 1.0)


def steps(count: int) -> np.ndarray:
    """1, 2, ..., count as floats."""
    return np.arange(1.0, count + 1.0)


def uniform_q(count: int, pool_size: int) -> np.ndarray:
    """The probabilities of `count` uniform draws without replacement: 1/N, 1/(N-1), ..."""
    return 1.0 / (pool_size + 1.0 - steps(count))


def terms(z: np.ndarray, q: np.ndarray, pool_size: int) -> np.ndarray:
    """The terms A_m, shape (..., m): each is unbiased for the pool's mean of z, given the past."""
    past = np.zeros_like(z, dtype=np.float64)
    np.cumsum(z[..., :-1], axis=-1, out=past[..., 1:])
    return (z / q + past) / pool_size


def increments(count: int, pool_size: int) -> np.ndarray:
    """g_m = 1/((N-m)(N-m+1)) for m = 1..count; infinite at m = N, where the estimate is A_N alone."""
    left = pool_size - steps(count)
    with np.errstate(divide="ignore"):
        return 1.0 / (left * (left + 1.0))


def gamma(step: Any, count: Any, pool_size: int) -> np.ndarray:
    """The factors of the terms at steps `step` (from 1) in an estimate from `count` labels; they broadcast.

    gamma_{M,m} = N (N-M) / ((N-m)(N-m+1)); at M = N they are (0, ..., 0, N).

    >>> gamma(np.arange(1, 4), 3, 6)
    array([0.6, 0.9, 1.5])
    >>> gamma(np.arange(1, 4), 3, 3)
    array([0., 0., 3.])
    """
    step, count = np.asarray(step, dtype=np.float64), np.asarray(count, dtype=np.float64)
    left = pool_size - step
    last = left == 0
    inner = pool_size * (pool_size - count) / np.where(last, 1.0, left * (left + 1.0))
    return np.where(last, float(pool_size), inner)


def prefix_estimates(a: np.ndarray, pool_size: int) -> np.ndarray:
    """The estimate after each of the m labels from the terms A, shape (..., m), in one pass."""
    count = a.shape[-1]
    inner = min(count, pool_size - 1)
    number = steps(inner)
    estimates = np.empty_like(a)
    sums = np.cumsum(increments(inner, pool_size) * a[..., :inner], axis=-1)
    estimates[..., :inner] = pool_size * (pool_size - number) / number * sums
    estimates[..., inner:] = a[..., inner:]  # the whole pool is labelled
    return estimates
