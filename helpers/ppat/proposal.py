r"""Acquisition scores: which points are worth a label.

A score :math:`a_i \ge 0` is given to every point of the pool. Step m draws among the points that are left, S_m, from

.. math:: Q_m(i) = (1 - \varepsilon) \frac{a_i}{\sum_{j \in S_m} a_j} + \frac{\varepsilon}{|S_m|}.

The conditional variance of the estimate is least for :math:`a_i = |\ell_i - t_i|`, where the *control term*
:math:`t_i` is what the estimator takes off the loss: :math:`\lambda c_i` with the centred proxy loss c, or
:math:`\lambda \tilde\ell_i`, the proxy loss itself, for the estimator with an intercept. The loss being unknown, the
score is the root of its second moment under a surrogate,
:math:`a_i = \sqrt{E(L_i - t_i)^2} = \sqrt{\mathrm{Var} L_i + (E L_i - t_i)^2}`: mean and variance of the loss are all
that is needed, and a new :math:`\lambda` costs O(N).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import arrays
from ..errors import InputError
from . import inputs

LAYOUT = "one row per point of the pool and one column per class, shape (N, K)"


@dataclass(frozen=True, eq=False, repr=False)
class Moments:
    """What a surrogate believes of the loss at each point of the pool.

    Attributes
    ----------
    mean : numpy.ndarray of shape (N,)
        Expected loss. As scores it is the earlier proposal of LURE, see `expected_loss`.
    deviation : numpy.ndarray of shape (N,)
        Standard deviation of the loss, 0 or more.

    Raises
    ------
    InputError
        Unequal lengths, a value that is not finite, a negative deviation.

    Examples
    --------
    >>> Moments([0.5, 2.0], [0.1, 0.0]).scores(control_term=[0.5, 1.0])
    array([0.1, 1. ])
    """

    mean: np.ndarray
    deviation: np.ndarray

    def __post_init__(self) -> None:
        mean, deviation = arrays.real_vector(self.mean, "mean"), arrays.not_negative(self.deviation, "deviation")
        if len(mean) != len(deviation):
            raise InputError(f"mean has {len(mean)} values and deviation {len(deviation)}: give one of each per point")
        object.__setattr__(self, "mean", mean)
        object.__setattr__(self, "deviation", deviation)

    def __len__(self) -> int:
        return len(self.mean)

    def __repr__(self) -> str:
        return f"Moments(of {len(self)} losses, mean={self.mean.mean():.4g})"

    @classmethod
    def gaussian(cls, difference: Any, variance: Any) -> Moments:
        r"""Squared error under a Gaussian surrogate of the label.

        With difference d = surrogate mean - prediction and variance :math:`s^2`,
        :math:`E L = s^2 + d^2` and :math:`\mathrm{Var} L = 2 s^4 + 4 s^2 d^2`. See `gaussian`.
        """
        d = arrays.real_vector(difference, "difference")
        s2 = arrays.not_negative(_per_point(variance, "variance", len(d)), "variance")
        return cls(s2 + d**2, np.sqrt(2.0 * s2) * np.sqrt(s2 + 2.0 * d**2))

    @classmethod
    def categorical(cls, probabilities: Any, losses: Any) -> Moments:
        """Any loss of a class label, which has one value for each class. See `categorical`."""
        p = _probabilities(probabilities)
        values = arrays.to_numpy(arrays.check_matrix(losses, "losses", layout=LAYOUT)).astype(np.float64)
        if values.shape != p.shape:
            raise InputError(
                f"losses has shape {values.shape} and probabilities {p.shape}: column k of both is class k"
            )
        arrays.refuse_not_finite(values, "losses")
        mean = np.sum(p * values, axis=1)
        return cls(mean, np.sqrt(np.sum(p * (values - mean[:, None]) ** 2, axis=1)))

    @classmethod
    def zero_one(cls, probabilities: Any, predictions: Any) -> Moments:
        """0-1 loss: 1 with the probability that the label is not the predicted class. See `zero_one`."""
        p = _probabilities(probabilities)
        predicted = arrays.check_labels(predictions, n=p.shape[0], k=p.shape[1], name="predictions")
        wrong = np.clip(1.0 - p[np.arange(len(p)), predicted], 0.0, 1.0)
        return cls(wrong, np.sqrt(wrong * (1.0 - wrong)))

    def scores(self, control_term: Any = 0.0) -> np.ndarray:
        """The root of the second moment of loss less `control_term`, a number or one per point."""
        return np.hypot(self.deviation, self.mean - _per_point(control_term, "control_term", len(self)))


def gaussian(difference: Any, variance: Any, control_term: Any = 0.0) -> np.ndarray:
    r"""PPAT's scores for squared error and a Gaussian surrogate, in closed form.

    .. math:: a_i = \sqrt{2 s_i^4 + 4 s_i^2 d_i^2 + (s_i^2 + d_i^2 - t_i)^2}

    They are large where the surrogate is unsure, where it disagrees with the prediction, and where the loss that it
    expects is far from the control term.

    Parameters
    ----------
    difference : array of shape (N,)
        d, the surrogate's mean of the label less the model's prediction.
    variance : number or array of shape (N,)
        s squared, the surrogate's predictive variance of the *label*: of its latent function plus noise.
    control_term : number or array of shape (N,)
        t, what the estimator takes off the loss: control times centred proxy loss. 0 by default, without a proxy.

    Returns
    -------
    numpy.ndarray of shape (N,)
        Scores for `sample`, at least sqrt(2) s squared.

    Raises
    ------
    InputError
        A value that is not finite, a negative variance, unequal lengths.

    References
    ----------
    Ashouritaklimi et al. (2026), "Prediction-Powered Active Testing", arXiv:2607.08347.

    Examples
    --------
    >>> gaussian([0.5], 0.25, [0.3]).round(6)
    array([0.644205])
    """
    return Moments.gaussian(difference, variance).scores(control_term)


def categorical(probabilities: Any, losses: Any, control_term: Any = 0.0) -> np.ndarray:
    r"""PPAT's scores for a loss of class labels, such as cross-entropy.

    .. math:: a_i = \sqrt{\sum_k \pi_{ik} (L_{ik} - t_i)^2}

    Parameters
    ----------
    probabilities : array of shape (N, K)
        pi, the surrogate's predictive probabilities; rows sum to 1 (what they differ by, up to 0.01, is divided out).
    losses : array of shape (N, K)
        L, the model's loss if the label were class k: minus its log probability of class k, for cross-entropy. Clip
        probabilities once, where losses, proxy losses and these come from, so that all three agree.
    control_term : number or array of shape (N,)
        t, what the estimator takes off the loss: control times centred proxy loss. 0 by default, without a proxy.

    Returns
    -------
    numpy.ndarray of shape (N,)
        Scores for `sample`.

    Raises
    ------
    InputError
        Shapes that differ, probabilities outside [0, 1] or with rows that do not sum to 1, a loss that is not finite.

    References
    ----------
    Ashouritaklimi et al. (2026), "Prediction-Powered Active Testing", arXiv:2607.08347.

    Examples
    --------
    >>> categorical([[0.2, 0.5, 0.3]], -np.log([[0.6, 0.3, 0.1]]), [0.4]).round(6)
    array([1.188104])
    """
    return Moments.categorical(probabilities, losses).scores(control_term)


def zero_one(probabilities: Any, predictions: Any, control_term: Any = 0.0) -> np.ndarray:
    r"""PPAT's scores for 0-1 loss.

    With :math:`p_i = 1 - \pi_{i, f_i}`, the surrogate's probability that prediction f is wrong,
    :math:`a_i = \sqrt{p_i (1 - p_i) + (p_i - t_i)^2}`; without a control term that is the root of p.

    Parameters
    ----------
    probabilities : array of shape (N, K)
        pi, the surrogate's predictive probabilities, as for `categorical`.
    predictions : array of int, shape (N,)
        The class that the model predicts.
    control_term : number or array of shape (N,)
        As for `categorical`.

    Returns
    -------
    numpy.ndarray of shape (N,)
        Scores for `sample`.

    Raises
    ------
    InputError
        As `categorical`, or a prediction outside 0..K-1.

    Examples
    --------
    >>> zero_one([[0.75, 0.25], [0.0, 1.0]], [0, 1])
    array([0.5, 0. ])
    """
    return Moments.zero_one(probabilities, predictions).scores(control_term)


def expected_loss(moments: Moments) -> np.ndarray:
    """The earlier proposal of LURE: draw in proportion to the loss that the surrogate expects.

    Not the same as PPAT's scores without a control term, which are the root of the expected *squared* loss.

    Parameters
    ----------
    moments : Moments
        Of a loss that is never negative.

    Returns
    -------
    numpy.ndarray of shape (N,)
        Scores for `sample`.

    Raises
    ------
    InputError
        A negative expected loss.

    References
    ----------
    Kossen, Farquhar, Gal and Rainforth (2021), "Active testing: sample-efficient model evaluation".

    Examples
    --------
    >>> expected_loss(Moments.gaussian([0.5, -1.0], 0.25))
    array([0.5 , 1.25])
    """
    return arrays.not_negative(moments.mean, "mean")


def oracle(loss: Any, control_term: Any = 0.0) -> np.ndarray:
    r"""The scores of least conditional variance, :math:`a_i = |\ell_i - t_i|`: for simulations, where losses are known.

    Parameters
    ----------
    loss : array of shape (N,)
        The loss of every point.
    control_term : number or array of shape (N,)
        t, what the estimator takes off the loss.

    Returns
    -------
    numpy.ndarray of shape (N,)
        Scores for `sample`. Where loss and control term are equal they are 0.

    Raises
    ------
    InputError
        A value that is not finite, unequal lengths.

    Examples
    --------
    >>> oracle([1.0, 0.2], [0.4, 0.5])
    array([0.6, 0.3])
    """
    losses = arrays.real_vector(loss, "loss")
    return np.abs(losses - _per_point(control_term, "control_term", len(losses)))


def uniform(pool_size: int) -> np.ndarray:
    """Equal scores: simple random sampling without replacement.

    Parameters
    ----------
    pool_size : int
        N.

    Returns
    -------
    numpy.ndarray of shape (N,)
        Scores for `sample`.

    Raises
    ------
    InputError
        A pool of less than one point.

    Examples
    --------
    >>> uniform(3)
    array([1., 1., 1.])
    """
    return np.ones(arrays.whole_number(pool_size, "pool_size", least=1))


def mixture(scores: Any, *, epsilon: float = 0.1, left: Any = None) -> np.ndarray:
    r"""The law of the next draw: the scores of the points that are left, mixed with the uniform law.

    .. math:: Q(i) = (1 - \varepsilon) \frac{a_i}{\sum_{j \in S} a_j} + \frac{\varepsilon}{|S|}, \quad i \in S

    The uniform part keeps every weight below :math:`1/\varepsilon`, whatever the surrogate overlooks. Where all
    scores that are left are 0, Q is uniform.

    Parameters
    ----------
    scores : array of shape (N,)
        Scores of the whole pool, 0 or more.
    epsilon : float
        Share of the uniform law, from 0 to 1. 0.1 by default: the source says only that it lies in (0, 1); intervals
        cover as well with 0.01 on well-behaved pools, and a tenth bounds the weights by ten.
    left : array of bool, shape (N,), optional
        S, the points without a label. All of them by default.

    Returns
    -------
    numpy.ndarray of shape (N,)
        Probabilities that sum to 1, and 0 outside S.

    Raises
    ------
    InputError
        A score that is negative or not finite, all scores 0, an epsilon outside [0, 1] or of 0 together with a score
        of 0, no points left.

    Examples
    --------
    The first two draws of a pool of six, of which point 5 is taken first:

    >>> scores = [1, 0.5, 2, 0.5, 1, 3]
    >>> mixture(scores)[5].round(6)
    np.float64(0.354167)
    >>> mixture(scores, left=np.arange(6) != 5)[2].round(6)
    np.float64(0.38)
    """
    values = check_scores(scores, epsilon)
    available = np.ones(len(values), dtype=bool) if left is None else arrays.to_numpy(arrays.as_array(left, "left"))
    if available.shape != values.shape or available.dtype != np.bool_:
        raise InputError(f"left has shape {available.shape} and type {available.dtype}: give True or False per score")
    count = int(available.sum())
    if count == 0:
        raise InputError("left has no True: there is no point to draw")
    remaining = np.where(available, values, 0.0)
    mass = remaining.sum()
    even = available / count
    return even if mass == 0.0 else (1.0 - epsilon) * remaining / mass + epsilon * even


def check_scores(scores: Any, epsilon: Any) -> np.ndarray:
    """Scores that can be drawn from, divided by the largest, so that no sum of them overflows.

    Raises
    ------
    InputError
        As `mixture`.
    """
    values = arrays.not_negative(scores, "scores")
    if not 0.0 <= inputs.check_number(epsilon, "epsilon") <= 1.0:
        raise InputError(f"epsilon is {epsilon!r}: give the share of uniform draws, from 0 to 1")
    largest = values.max()
    if largest == 0.0:
        raise InputError("scores are 0 for every point: give a positive score, or uniform scores for a random sample")
    if epsilon == 0.0 and values.min() == 0.0:
        place = int(np.argmin(values))
        raise InputError(
            f"scores[{place}] is 0 and so is epsilon: the point could not be drawn, and an estimate that leaves out "
            "its loss is biased. Give an epsilon above 0"
        )
    return values / largest


def _per_point(value: Any, name: str, count: int) -> np.ndarray:
    """One number for all points, or one for each, as shape (N,)."""
    array = arrays.as_array(value, name)
    vector = arrays.real_vector(array[None] if array.ndim == 0 else array, name)
    if len(vector) == 1 and array.ndim == 0:
        return np.full(count, vector[0])
    if len(vector) != count:
        raise InputError(f"{name} has {len(vector)} values for {count} points: give one number, or one per point")
    return vector


def _probabilities(values: Any) -> np.ndarray:
    """Rows of class probabilities, each divided by its sum, which may differ from 1 by rounding only."""
    p = arrays.probabilities(values, "probabilities", layout=LAYOUT)
    return p / p.sum(axis=1, keepdims=True)
