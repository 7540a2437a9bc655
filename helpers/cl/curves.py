"""How fast each task was learned: the learning curve area of A-GEM, as defined and as computed."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import arrays
from ..errors import InputError, brief
from .inputs import gapped
from .value import Value, outcome

FORMS = ("agem", "trapz")
#: No learning curve is looked at further than so many minibatches.
MOST_BATCHES = 1_000_000


def average_curve(curves: Any, *, beta: int = 10) -> np.ndarray:
    r"""Mean score on the task being trained, after 0 to `beta` of its minibatches.

    .. math:: Z_b = \frac1T \sum_{k=1}^T a_{k,b,k}, \qquad b = 0, \dots, \beta,

    where b = 0 is the score before the first minibatch (zero-shot).

    Parameters
    ----------
    curves : array of shape (T, B), or sequence of T curves
        Entry b of curve k is the score on task k after b of its minibatches. None or NaN is a point that was not
        evaluated; curves may differ in length.
    beta : int
        Last minibatch, 10 by default, as in the paper.

    Returns
    -------
    numpy.ndarray of shape (beta + 1,)
        NaN where a task has no score.

    Raises
    ------
    InputError
        No curves, scores that are infinite or no numbers, a beta below 0.

    Examples
    --------
    >>> average_curve([[0.1, 0.3, 0.5, 0.6], [0.2, 0.2, 0.4, 0.8]], beta=3)
    array([0.15, 0.25, 0.45, 0.7 ])
    """
    return np.mean(_points(curves, beta), axis=0)


def lca(curves: Any, *, beta: int = 10, form: str = "agem") -> Value:
    r"""Learning curve area: how fast tasks are learned, from their first `beta` minibatches.

    .. math::

       \text{agem:}\quad \mathrm{LCA}_\beta = \frac{1}{\beta + 1} \sum_{b=0}^{\beta} Z_b, \qquad
       \text{trapz:}\quad \frac1\beta \sum_{b=1}^{\beta} \frac{Z_{b-1} + Z_b}{2},

    with :math:`Z_b` of `average_curve`. The first is the definition; the second, which gives the ends half weight, is
    what the notebook released with the paper computes. For beta = 0 both are :math:`Z_0`. A method may forget nothing
    and yet have the lowest LCA: it learns slowly.

    Parameters
    ----------
    curves : array of shape (T, B), or sequence of T curves
        See `average_curve`; at least beta + 1 points each.
    beta : int
        10 by default, as in the paper.
    form : {"agem", "trapz"}
        The definition, or the notebook's trapezoid.

    Returns
    -------
    Value
        ``lca.agem`` or ``lca.trapz``, in the unit of the curves; higher is better. None with the reason where a task
        lacks a point: a shorter task is not filled up with its last score, as the notebook does on other benchmarks.

    Raises
    ------
    InputError
        No curves, scores that are infinite or no numbers, an unknown form, a beta below 0.

    References
    ----------
    Chaudhry et al. (2019), Efficient Lifelong Learning with A-GEM, ICLR.

    Examples
    --------
    >>> curves = [[0.1, 0.3, 0.5, 0.6], [0.2, 0.2, 0.4, 0.8]]
    >>> round(lca(curves, beta=3).value, 4), round(lca(curves, beta=3, form="trapz").value, 4)
    (0.3875, 0.375)
    >>> lca(curves).reason
    'curve 0 has no point for minibatch 4: LCA up to 10 needs all of them'
    """
    arrays.one_of(form, "form", FORMS)
    points = _points(curves, beta)
    gaps = np.argwhere(np.isnan(points))
    coverage = (points.size - len(gaps), points.size)
    if gaps.size:
        task, batch = gaps[0]
        reason = f"curve {task} has no point for minibatch {batch}: LCA up to {beta} needs all of them"
        return outcome(f"lca.{form}", None, coverage=coverage, reason=reason)
    z = np.mean(points, axis=0)
    area = z if form == "agem" or beta == 0 else (z[1:] + z[:-1]) / 2
    return outcome(f"lca.{form}", float(np.mean(area)), coverage=coverage)


def _points(curves: Any, beta: int) -> np.ndarray:
    """The first beta + 1 points of every curve, shape (T, beta + 1), NaN where there is none."""
    if arrays.whole_number(beta, "beta", least=0) > MOST_BATCHES:
        raise InputError(f"beta is {brief(beta)}: give at most {MOST_BATCHES} minibatches")
    if not hasattr(curves, "__len__") or not len(curves):
        raise InputError("curves is empty: give one curve for each task")
    points = np.full((len(curves), beta + 1), np.nan)
    for k, curve in enumerate(curves):
        row = gapped(curve, f"curves[{k}]", ndim=1)[: beta + 1]
        points[k, : len(row)] = row
    return points
