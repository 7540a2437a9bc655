"""Calibration: does stated confidence match the share that is right?"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_softmax, softmax

from . import arrays

LAYOUT = "a row per input and a column per class, shape (n, k)"


def expected_calibration_error(logits: Any, labels: Any, *, bins: int = 15) -> float:
    r"""Expected calibration error of the top class, with bins of equal width.

    .. math:: \mathrm{ECE} = \sum_b \frac{n_b}{n} \left| \mathrm{accuracy}_b - \mathrm{confidence}_b \right|

    Parameters
    ----------
    logits : array of shape (n, k)
        Scores before the softmax.
    labels : array of int, shape (n,)
        True classes 0..k-1.
    bins : int
        Bins of (0, 1], each closed on the right, so that a confidence of exactly 1 is in the last; 15 as usual.

    Returns
    -------
    float
        Between 0 and 1; 0 is calibrated.

    Raises
    ------
    InputError
        Shapes that do not match, a value that is not finite, a label outside 0..k-1, fewer than one bin.

    References
    ----------
    Guo et al. (2017), On Calibration of Modern Neural Networks, arXiv:1706.04599.

    Examples
    --------
    Sure of both answers, right with one:

    >>> round(expected_calibration_error([[50.0, 0.0], [50.0, 0.0]], [0, 1]), 6)
    0.5
    """
    arrays.whole_number(bins, "bins", least=1)
    scores, classes = _scores_and_labels(logits, labels)
    probabilities = softmax(scores, axis=1)
    confidence = probabilities.max(axis=1)
    right = probabilities.argmax(axis=1) == classes
    which = np.clip(np.ceil(confidence * bins).astype(int) - 1, 0, bins - 1)
    gap = arrays.counts(which, weights=right - confidence, minlength=bins)
    return float(np.sum(np.abs(gap)) / len(classes))


def fit_temperature(logits: Any, labels: Any) -> float:
    r"""The temperature T that minimises the cross-entropy of softmax(logits / T).

    Above 1 the model is over-confident on these data. The loss is convex in 1 / T, so the root of its derivative is
    the minimum.

    Parameters
    ----------
    logits : array of shape (n, k)
        Scores before the softmax.
    labels : array of int, shape (n,)
        True classes 0..k-1.

    Returns
    -------
    float
        In (0, inf): inf where the logits tell nothing of the labels, and 0 where every row is right (no finite
        temperature is low enough).

    Raises
    ------
    InputError
        Shapes that do not match, a value that is not finite, a label outside 0..k-1.

    References
    ----------
    Guo et al. (2017), On Calibration of Modern Neural Networks, arXiv:1706.04599.

    Examples
    --------
    >>> round(fit_temperature([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [0, 0, 1, 1]), 4)
    0.9102
    """
    scores, classes = _scores_and_labels(logits, labels)
    scores = scores - scores.max(axis=1, keepdims=True)
    own = scores[np.arange(len(classes)), classes]
    gaps = -scores[scores < 0.0]

    def slope(log_inverse: float) -> float:
        weights = np.exp(log_softmax(np.exp(log_inverse) * scores, axis=1))
        return float(np.mean(np.sum(weights * scores, axis=1) - own))

    if not gaps.size:
        return np.inf
    # from where all classes count alike to where the top one alone counts, however unequal the gaps
    low, high = -20.0 - np.log(gaps.max()), 20.0 - np.log(gaps.min())
    if slope(low) >= 0.0:
        return np.inf
    if slope(high) <= 0.0:
        return 0.0
    return float(np.exp(-brentq(slope, low, high, xtol=1e-12)))


def _scores_and_labels(logits: Any, labels: Any) -> tuple[np.ndarray, np.ndarray]:
    scores = arrays.to_numpy(arrays.check_matrix(logits, "logits", layout=LAYOUT)).astype(np.float64)
    arrays.refuse_not_finite(scores, "logits")
    n, k = scores.shape
    return scores, arrays.check_labels(labels, n=n, k=k)
