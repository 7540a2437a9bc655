"""What one would otherwise report: random labels, the proxy alone, the plain mean, ASE and ASI."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import ndtri

from .. import arrays
from ..errors import InputError
from ..uncertainty import check_confidence
from . import inputs
from .outcome import Estimate
from .score import estimate
from .weighting import uniform_q

ASI_VARIANCES = ("iid", "design")
#: Why a plain mean of labels has no interval.
BIASED = "the mean of labels that were chosen is biased by an unknown amount"


def random_sampling(loss: Any, *, pool_size: int, **options: Any) -> Estimate:
    r"""Risk from m points that were drawn uniformly without replacement.

    All weights are 1, so the risk is the sample mean, and its plug-in variance is the textbook's
    :math:`(1 - m/N)\, s^2 / m`. With a proxy it is prediction-powered inference over a finite pool:
    :math:`\lambda \tilde R + \frac1m \sum_j (\ell_j - \lambda \tilde\ell_j)`.

    Parameters
    ----------
    loss : array of shape (m,)
        Losses in the order drawn.
    pool_size : int
        N.
    **options
        Any other keyword of `estimate`: a proxy, its control, confidence, variance.

    Returns
    -------
    Estimate

    Raises
    ------
    InputError
        As `estimate` does.

    Examples
    --------
    >>> random_sampling([3, 2.5, 1], pool_size=6).risk
    2.1666666666666665
    >>> random_sampling([3, 2.5, 1], pool_size=6, proxy_loss=[2.6, 2, 0.8], proxy_mean=7.4 / 6).risk.__round__(6)
    1.6
    """
    loss = arrays.real_vector(loss, "loss")
    pool_size = arrays.whole_number(pool_size, "pool_size", least=1)
    if len(loss) > pool_size:
        raise InputError(
            f"loss has {len(loss)} labels and pool_size is {pool_size}: without replacement there are no more"
        )
    return estimate(loss, uniform_q(len(loss), pool_size), pool_size=pool_size, **options)


def pure_proxy(pool_proxy_loss: Any) -> Estimate:
    """The mean proxy loss over the pool, as if the cheap predictor were right: no label, and a bias that stays.

    Parameters
    ----------
    pool_proxy_loss : array of shape (N,)
        Proxy losses of the whole pool.

    Returns
    -------
    Estimate
        Without an interval: nothing here says how wrong the proxy is.

    Raises
    ------
    InputError
        Values that are not finite.

    Examples
    --------
    >>> pure_proxy([0.8, 0.4])
    Estimate(risk 0.6, no interval (no label says how far the proxy is off), 0 of 2 labelled, pure proxy)
    """
    pool = arrays.real_vector(pool_proxy_loss, "pool_proxy_loss")
    return _without_interval(float(pool.mean()), 0, len(pool), "pure proxy", "no label says how far the proxy is off")


def biased_mean(loss: Any, *, pool_size: int) -> Estimate:
    """The plain mean of the labelled losses, however they were chosen: biased unless they were drawn uniformly.

    Parameters
    ----------
    loss : array of shape (m,)
        Losses of the labelled points.
    pool_size : int
        N.

    Returns
    -------
    Estimate
        Without an interval.

    Raises
    ------
    InputError
        Values that are not finite, more labels than points.

    Examples
    --------
    >>> biased_mean([3, 2.5, 1], pool_size=6).risk
    2.1666666666666665
    """
    risk = random_sampling(loss, pool_size=pool_size)
    return _without_interval(risk.risk, risk.labels, risk.pool_size, "plain mean", BIASED)


def ase(expected_loss: Any, *, loss: Any = None, index: Any = None) -> Estimate:
    r"""Active surrogate estimator: the mean over the pool of the loss that a surrogate expects.

    .. math:: \hat R_{ASE} = \frac1N \sum_{i=1}^N E_{Y \sim \pi(\cdot | x_i)} L(f(x_i), Y)

    For a Gaussian surrogate and squared error the expectation is :math:`s_i^2 + (\mu_i - f_i)^2`; see
    `proposal.expected_loss` for others. Low in variance, and biased by all that the surrogate gets wrong.

    Parameters
    ----------
    expected_loss : array of shape (N,)
        Expected loss of every point.
    loss, index : arrays of shape (m,), optional
        Losses of labelled points and their places in the pool. They then replace the expectations; the reference
        implementation leaves these as they are, which is the default.

    Returns
    -------
    Estimate
        Without an interval.

    Raises
    ------
    InputError
        Values that are not finite, unequal lengths, a place outside the pool or twice.

    References
    ----------
    Kossen et al. (2022), "Active surrogate estimators".

    Examples
    --------
    >>> round(ase([0.5, 0.08, 2.44]).risk, 6)
    1.006667
    >>> round(ase([0.5, 0.08, 2.44], loss=[2.0], index=[2]).risk, 6)
    0.86
    """
    expected = arrays.real_vector(expected_loss, "expected_loss").copy()
    if (loss is None) != (index is None):
        raise InputError("loss and index belong together: give both, or neither")
    labels = 0
    if loss is not None:
        known = arrays.real_vector(loss, "loss")
        expected[inputs.check_index(index, count=len(known), pool_size=len(expected))] = known
        labels = len(known)
    reason = "nothing here says how far the surrogate is off"
    return _without_interval(float(expected.mean()), labels, len(expected), "ASE", reason)


def asi(
    loss: Any,
    inclusion: Any,
    index: Any,
    *,
    pool_proxy_loss: Any,
    confidence: float = 0.9,
    variance: str = "iid",
) -> Estimate:
    r"""Active statistical inference: every point is labelled or not by a coin of its own.

    .. math:: \hat R_{ASI} = \frac1N \sum_{i=1}^N
              \Big( \tilde\ell_i + (\ell_i - \tilde\ell_i) \frac{\xi_i}{\pi_i} \Big), \qquad
              \xi_i \sim \mathrm{Bernoulli}(\pi_i).

    Unbiased, but the number of labels is random: a budget holds in expectation only.

    Parameters
    ----------
    loss, inclusion, index : arrays of shape (m,)
        Loss of each labelled point, the probability pi, in (0, 1], with which it came to be labelled, and its place in
        the pool.
    pool_proxy_loss : array of shape (N,)
        Proxy losses of the whole pool.
    confidence : float
        Level of the normal interval, 0.9 by default.
    variance : {"iid", "design"}
        "iid", the source's: the spread of the summands over N. It counts the spread of the proxy loss, as if the pool
        were a sample itself, and covers too often for the risk over this pool. "design": the coins alone,
        :math:`N^{-2} \sum \xi_i (1 - \pi_i) \pi_i^{-2} (\ell_i - \tilde\ell_i)^2`.

    Returns
    -------
    Estimate

    Raises
    ------
    InputError
        Values that are not finite, unequal lengths, a probability outside (0, 1], a place outside the pool or twice.

    References
    ----------
    Zrnic and Candès (2024), "Active statistical inference".

    Examples
    --------
    >>> proxy = [0.8, 0.3, 2, 0.5, 1.2, 2.6]
    >>> asi([1, 2.5, 3], [0.5, 0.8, 0.9], [0, 2, 5], pool_proxy_loss=proxy)
    Estimate(risk 1.47824, 0.9 interval [0.791894, 2.16459], 3 of 6 labelled, ASI)
    """
    check_confidence(confidence)
    arrays.one_of(variance, "variance", ASI_VARIANCES)
    pool = arrays.real_vector(pool_proxy_loss, "pool_proxy_loss")
    loss, inclusion = arrays.real_vector(loss, "loss"), arrays.real_vector(inclusion, "inclusion")
    if len(inclusion) != len(loss):
        raise InputError(f"inclusion has {len(inclusion)} values and loss has {len(loss)}: give one for each label")
    outside = (inclusion <= 0) | (inclusion > 1)
    arrays.refuse_where(outside, inclusion, "inclusion", "give the probability, in (0, 1], of being labelled")
    place = inputs.check_index(index, count=len(loss), pool_size=len(pool))
    summands, residual = pool.copy(), loss - pool[place]
    summands[place] += residual / inclusion
    risk, size = float(summands.mean()), len(pool)
    if variance == "iid":
        std_error = float(summands.std()) / np.sqrt(size)
    else:
        std_error = float(np.sqrt(np.sum((1.0 - inclusion) * (residual / inclusion) ** 2))) / size
    half = float(ndtri((1.0 + confidence) / 2.0)) * float(std_error)
    return Estimate(
        risk, risk - half, risk + half, float(std_error), None, None, len(loss), size, "ASI", float(confidence)
    )


def _without_interval(risk: float, labels: int, pool_size: int, method: str, reason: str) -> Estimate:
    return Estimate(risk, None, None, None, None, None, labels, pool_size, method, None, reason)
