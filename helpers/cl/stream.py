"""A stream without tasks: predict, score, then learn."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import numpy as np

from .. import arrays
from ..errors import InputError, brief
from .inputs import LARGEST, gapped, refuse_endless
from .value import Value, outcome

HOW = ("cumulative", "window", "fading")


def prequential(
    scores: Any, *, how: str = "cumulative", window: int | None = None, alpha: float | None = None, delay: Any = 0
) -> Value:
    r"""Prequential score at the end of a stream: every prediction was made before its label was learned.

    With :math:`x_1, \dots, x_n` the scores in the order in which their labels came,

    .. math::

       \text{cumulative:}\ \frac1n \sum_i x_i, \qquad
       \text{window:}\ \frac1w \sum_{i=n-w+1}^{n} x_i, \qquad
       \text{fading:}\ \frac{\sum_i \alpha^{n-i} x_i}{\sum_i \alpha^{n-i}}.

    The cumulative score remembers the first steps for ever; a window or fading forgets them, and so shows drift.

    Parameters
    ----------
    scores : array of shape (n,)
        Score of each prediction, made when its question came: 1 or 0 (True or False) for right or wrong, or any loss.
    how : {"cumulative", "window", "fading"}
    window : int
        Labels in the window, for "window"; while fewer have come, those.
    alpha : float
        Fading factor in (0, 1], for "fading"; 1 fades nothing, 0.9 halves the weight in about seven steps.
    delay : int, or array of shape (n,)
        Questions that pass before the label of a question comes; 0 by default: it comes at once. The label of the last
        questions comes after the stream, and counts.

    Returns
    -------
    Value
        ``prequential`` (cumulative), ``prequential.window`` or ``prequential.fading``; its coverage counts the scores
        that have weight. Higher is better where scores are hits; for losses read it the other way.
        See `prequential_curve` for the way there.

    Raises
    ------
    InputError
        Scores that are missing or no numbers, a window or alpha that is missing, out of range or of another kind, a
        negative delay.

    References
    ----------
    Dawid (1984), Statistical theory: the prequential approach, JRSS A 147, 278-292. Gama, Sebastião and Rodrigues
    (2013), On evaluating stream learning algorithms, Machine Learning 90, 317-346, for windows and fading. Grzenda,
    Gomes and Bifet (2020), Delayed labelling evaluation for data streams, Data Mining and Knowledge Discovery 34.

    Examples
    --------
    >>> hits = [1, 0, 1, 1, 0, 1, 1, 1]
    >>> prequential(hits).value, prequential(hits, how="window", window=4).value
    (0.75, 0.75)
    >>> round(prequential(hits, how="fading", alpha=0.9).value, 4)
    0.7787
    """
    values, arrival = _stream(scores, how, window, alpha, delay)
    came = values[np.argsort(arrival, kind="stable")]
    n = len(values)
    weighted = min(n, window) if how == "window" and window is not None else n
    id = "prequential" if how == "cumulative" else f"prequential.{how}"
    return outcome(id, float(_running(came, window, alpha)[-1]), coverage=(weighted, n))


def prequential_curve(
    scores: Any, *, how: str = "cumulative", window: int | None = None, alpha: float | None = None, delay: Any = 0
) -> np.ndarray:
    r"""The prequential score as it was known after each question of the stream: how it rises, and where it breaks.

    Entry t of n, counted from 0, is the mean of `prequential`, cumulative, of a window or fading, over the scores
    :math:`x_i` whose labels had come by then:

    .. math:: i + \mathrm{delay}_i \le t.

    Without a delay the last entry is what `prequential` returns; with one it lacks the labels that come after the
    stream, which `prequential` counts.

    Parameters
    ----------
    scores : array of shape (n,)
        Score of each prediction in the order of the questions: 1 or 0 (True or False) for right or wrong, or any loss.
    how : {"cumulative", "window", "fading"}
        "cumulative" by default, which has nothing to choose.
    window : int
        Labels in the window, for "window"; there is no default, for it sets how fast drift shows.
    alpha : float
        Fading factor in (0, 1], for "fading"; there is no default for the same reason.
    delay : int, or array of shape (n,)
        Questions that pass before the label of a question comes; 0 by default: it comes at once.

    Returns
    -------
    numpy.ndarray of shape (n,)
        In the unit of the scores; NaN until the first label came, since no score is known by then.

    Raises
    ------
    InputError
        Scores that are missing or no numbers, a window or alpha that is missing, out of range or of another kind, a
        negative delay.

    References
    ----------
    Dawid (1984), JRSS A 147, 278-292; Gama, Sebastião and Rodrigues (2013), Machine Learning 90, 317-346; for delays
    Grzenda, Gomes and Bifet (2020), Data Mining and Knowledge Discovery 34.

    Examples
    --------
    >>> prequential_curve([1, 0, 1, 1])
    array([1.        , 0.5       , 0.66666667, 0.75      ])
    >>> prequential_curve([1, 0, 1, 1], delay=2)
    array([nan, nan, 1. , 0.5])
    """
    values, arrival = _stream(scores, how, window, alpha, delay)
    came = values[np.argsort(arrival, kind="stable")]
    running = np.concatenate([[np.nan], _running(came, window, alpha)])
    return running[np.searchsorted(np.sort(arrival), np.arange(len(values)), side="right")]


def online_accuracy(batches: Any, *, sizes: Any = None) -> Value:
    r"""Accuracy of each incoming batch before the model learns from it, averaged over the stream.

    .. math:: \frac1n \sum_{i=1}^n a_i, \qquad \text{or, with sizes,} \quad \frac{\sum_i n_i a_i}{\sum_i n_i}.

    The two differ where the last batch is smaller.

    Parameters
    ----------
    batches : array of shape (n,)
        Accuracy of each batch before the update; None or NaN where it was not measured.
    sizes : array of shape (n,), optional
        Samples in each batch; without them every batch counts alike.

    Returns
    -------
    Value
        ``ocp.online``; None with the reason where a batch is missing.

    Raises
    ------
    InputError
        Scores that are infinite or no numbers, sizes of another length or below 1.

    Examples
    --------
    >>> found = online_accuracy([0.5, 0.75, 1.0]), online_accuracy([0.5, 0.75, 1.0], sizes=[10, 10, 5])
    >>> found[0].value, found[1].value
    (0.75, 0.7)
    """
    values = gapped(batches, "batches", ndim=1)
    weights = np.ones(len(values)) if sizes is None else arrays.real_vector(sizes, "sizes")
    if len(weights) != len(values):
        raise InputError(f"sizes has {len(weights)} entries for {len(values)} batches: give one for each")
    arrays.refuse_where(weights < 1, weights, "sizes", "a batch has at least 1 sample")
    missing = np.flatnonzero(np.isnan(values))
    coverage = (len(values) - len(missing), len(values))
    if missing.size:
        reason = f"batch {missing[0]} was not measured: the average over the stream needs all of them"
        return outcome("ocp.online", None, coverage=coverage, reason=reason)
    return outcome("ocp.online", float(np.average(values, weights=weights)), coverage=coverage)


def _stream(scores: Any, how: str, window: Any, alpha: Any, delay: Any) -> tuple[np.ndarray, np.ndarray]:
    """Scores, and the question after which the label of each came."""
    arrays.one_of(how, "how", HOW)
    if (how == "window") != (window is not None) or (how == "fading") != (alpha is not None):
        raise InputError(f"how is {how!r} with window={window} and alpha={alpha}: a window has one, fading an alpha")
    if window is not None:
        arrays.whole_number(window, "window", least=1)
    if alpha is not None and not (arrays.is_number(alpha) and 0.0 < alpha <= 1.0):
        raise InputError(f"alpha is {brief(alpha)}: give a factor above 0 and at most 1")
    given = arrays.as_array(scores, "scores")
    hits = str(given.dtype).endswith("bool")  # of NumPy or torch
    values = arrays.real_vector(arrays.to_numpy(given).astype(np.float64) if hits else scores, "scores")
    refuse_endless(values, "scores", f"give scores of at most {LARGEST:g}")
    layout = f"{len(values)} whole numbers, or one"
    delays = arrays.whole_numbers(delay, "delay", layout=layout)
    if delays.shape not in ((), values.shape):
        raise InputError(f"delay has shape {delays.shape}: give {layout}")
    delays = np.broadcast_to(delays, values.shape)
    arrays.refuse_where(delays < 0, delays, "delay", "no label comes before its question")
    return values, np.arange(len(values)) + delays


def _running(values: np.ndarray, window: int | None, alpha: float | None) -> np.ndarray:
    """The score after each label."""
    counts = np.arange(1, len(values) + 1)
    if alpha is not None:
        faded = list(accumulate(values.tolist(), lambda total, x: alpha * total + x))
        weights = list(accumulate([1.0] * len(values), lambda total, x: alpha * total + x))
        return np.array(faded) / np.array(weights)
    sums = np.cumsum(values)
    if window is not None and window < len(values):
        sums[window:] -= np.cumsum(values)[:-window]
        counts = np.minimum(counts, window)
    return sums / counts
