"""Several losses of one classifier from one set of labels, clipped in one place for loss, proxy loss and scores."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import arrays
from ..errors import InputError

KINDS = ("zero_one", "cross_entropy", "squared")
LAYOUT = "a row per point and a column per class, shape (n, k)"
#: A probability of 0 would cost infinitely much. One floor for all losses keeps the proxy loss in step with the loss.
FLOOR = 1e-12


def class_losses(probabilities: Any, kind: str) -> np.ndarray:
    r"""The loss of every class at every point: what it would be if that class were the label.

    ``"zero_one"`` is 1 unless the class is the (first) most probable one; ``"cross_entropy"`` is :math:`-\log p_y` in
    nats; ``"squared"`` is Brier's :math:`\sum_k (p_k - [k = y])^2`, from 0 to 2.

    Parameters
    ----------
    probabilities : array of shape (n, k)
        The model's predictions, rows that sum to 1. Probabilities below 1e-12 count as 1e-12 in a cross-entropy.
    kind : {"zero_one", "cross_entropy", "squared"}
        The loss.

    Returns
    -------
    numpy.ndarray of shape (n, k)
        Feed it to `proposal.categorical`, and to `label_losses`.

    Raises
    ------
    InputError
        Another shape, rows that are no probabilities, an unknown kind.

    Examples
    --------
    >>> class_losses([[0.75, 0.25]], "squared")
    array([[0.125, 1.125]])
    """
    arrays.one_of(kind, "kind", KINDS)
    p = arrays.probabilities(probabilities, "probabilities", layout=LAYOUT)
    if kind == "cross_entropy":
        return -np.log(np.maximum(p, FLOOR))
    if kind == "squared":
        return np.sum(p * p, axis=1, keepdims=True) - 2.0 * p + 1.0
    table = np.ones_like(p)
    table[np.arange(len(p)), p.argmax(axis=1)] = 0.0
    return table


def label_losses(table: Any, labels: Any) -> np.ndarray:
    r"""The losses of labels, or the expected losses of pseudo-labels, from a table of `class_losses`.

    Parameters
    ----------
    table : array of shape (n, k)
        Loss of every class at every point.
    labels : array of shape (n,) or (n, k)
        Classes 0..k-1; or a distribution over classes for each point, as a cheap predictor gives it, and then the loss
        is :math:`\sum_y g_y L_y`.

    Returns
    -------
    numpy.ndarray of shape (n,)

    Raises
    ------
    InputError
        Shapes that do not match, a class outside 0..k-1, rows that are no probabilities.

    Examples
    --------
    >>> table = class_losses([[0.75, 0.25], [0.5, 0.5]], "zero_one")
    >>> label_losses(table, [0, 1]), label_losses(table, [[0.9, 0.1], [0.5, 0.5]])
    (array([0., 1.]), array([0.1, 0.5]))
    """
    values = arrays.to_numpy(arrays.check_matrix(table, "table", layout="a loss per point and class, shape (n, k)"))
    if arrays.as_array(labels, "labels").ndim == 2:
        soft = arrays.probabilities(labels, "labels", layout=LAYOUT)
        if soft.shape != values.shape:
            raise InputError(f"labels has shape {soft.shape} and table {values.shape}: column k of both is class k")
        return np.sum(soft * values, axis=1)
    hard = arrays.check_labels(labels, n=values.shape[0], k=values.shape[1])
    return values[np.arange(len(values)), hard].astype(np.float64)
