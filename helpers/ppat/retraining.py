r"""Estimates with a proxy that is trained again as labels arrive, unbiased all the same.

Whatever is known before step m, such as a proxy trained on the labels before it, may go into the m-th term:

.. math:: A_m(\lambda) = A_m(\ell) - \frac{\lambda}{N} \Big( \frac{c^{(m)}_{I_m}}{q_m} + \sum_{j<m} c^{(m)}_{I_j} \Big),
          \qquad c^{(m)} = \tilde\ell^{(m)} - \tilde R^{(m)},

with the proxy losses of step m centred over the whole pool, has mean R given the past. Taking the last proxy for all
terms does not: it has been fitted to labels that it then is compared with.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import arrays
from ..errors import InputError
from . import inputs
from .control import Terms
from .outcome import Estimate
from .score import concluded
from .weighting import terms


def retrained(
    loss: Any,
    q: Any,
    *,
    pool_size: int,
    proxy_losses: Any,
    proxy_means: Any,
    trained_on: Any,
    control: float = 1.0,
    intercept: bool = False,
    confidence: float = 0.9,
    variance: str = "plugin",
) -> Estimate:
    r"""Risk of a pool with a proxy that was trained again as labels arrived: version by version, without bias.

    .. math:: \hat R = \frac1m \sum_{j=1}^m \gamma_j A_j(\lambda),

    where each term uses the newest version that had not seen its label. A version trained on the first k labels is in
    force from step k + 1 on.

    Parameters
    ----------
    loss : array of shape (m,)
        Losses of the labelled points in the order drawn.
    q : array of shape (m,)
        Probability of each draw among the points that were left. It may depend on the proxies.
    pool_size : int
        N.
    proxy_losses : array of shape (versions, m)
        Proxy loss of every labelled point under every version: also under those that came later or earlier, since a
        term sums over all points before it.
    proxy_means : array of shape (versions,)
        Mean proxy loss of each version over the *whole* pool, labelled points included.
    trained_on : array of int, shape (versions,)
        How many of the labels, in the order drawn, each version has seen, increasing from 0. The first is trained on
        none of them, but perhaps on other data.
    control : float
        Strength of the proxy, fixed in advance; 1 by default. Rules that fit it to the labels are for a fixed proxy.
    intercept : bool
        Subtract the proxy loss itself, and add its mean again, as for `estimate`.
    confidence, variance
        As for `estimate`.

    Returns
    -------
    Estimate
        Without an interval where `estimate` has none. One version makes it `estimate` with that proxy.

    Raises
    ------
    InputError
        Other than one row of proxy losses, one mean and one number of labels for each version, numbers of labels that
        do not increase from 0 or exceed m - 1, or what `estimate` refuses.

    References
    ----------
    The martingale is that of Farquhar, Gal and Rainforth (2021), the control variate that of Ashouritaklimi et al.
    (2026), "Prediction-powered active testing", arXiv 2607.08347, whose proxy is fixed. This form is the library's.

    Examples
    --------
    A second version is trained after two labels; its means are over all six points.

    >>> retrained(
    ...     [3, 2.5, 1],
    ...     [0.3541666666666667, 0.38, 0.325],
    ...     pool_size=6,
    ...     proxy_losses=[[2.6, 2, 0.8], [2.9, 2.4, 0.9]],
    ...     proxy_means=[1.2333333333, 1.3],
    ...     trained_on=[0, 2],
    ... )
    Estimate(risk 1.05577, 0.9 interval [0.913348, 1.19819], 3 of 6 labelled, PPAT, retrained, control 1)
    """
    inputs.check_interval(confidence, variance)
    q, size = inputs.check_draws(q, pool_size)
    count = len(q)
    loss = inputs.check_series(loss, "loss", count=count)
    proxies, means, seen = _check_versions(proxy_losses, proxy_means, trained_on, count, size)
    strength = np.full(count, inputs.check_number(control, "control"))
    version = in_force(seen, count)
    variate = variates(proxies, means, q, size, version, arrays.truth(intercept, "intercept"))
    run = Terms(terms(loss, q, size), size, variate, strength)
    return concluded(run, q, f"PPAT{' with intercept' if intercept else ''}, retrained", confidence, variance)


def in_force(trained_on: np.ndarray, count: int) -> np.ndarray:
    """The newest version at each of `count` steps that has not seen the label of that step.

    >>> in_force(np.array([0, 2, 3]), 5)
    array([0, 0, 1, 2, 2])
    """
    return np.searchsorted(trained_on, np.arange(count), side="right") - 1


def variates(
    proxies: np.ndarray, means: np.ndarray, q: np.ndarray, size: int, version: np.ndarray, intercept: bool = False
) -> np.ndarray:
    """The control variate of every step under the version in force: each has mean zero given the past."""
    mean = means[:, None]
    found = terms(proxies, q, size) - mean if intercept else terms(proxies - mean, q, size)
    return found[version, np.arange(len(q))]


def _check_versions(
    proxy_losses: Any, proxy_means: Any, trained_on: Any, count: int, size: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """One row of proxy losses, one mean and one number of labels for each version."""
    matrix = arrays.check_matrix(proxy_losses, "proxy_losses", layout=f"one row of {count} losses per version")
    proxies = arrays.to_numpy(matrix).astype(np.float64)
    if proxies.shape[1] != count:
        raise InputError(
            f"proxy_losses has rows of {proxies.shape[1]} values and q has {count}: one per labelled point"
        )
    arrays.refuse_not_finite(proxies, "proxy_losses", "give finite numbers")
    means = arrays.real_vector(proxy_means, "proxy_means")
    seen = arrays.whole_row(trained_on, "trained_on")
    for name, values in (("proxy_means", means), ("trained_on", seen)):
        if len(values) != len(proxies):
            raise InputError(f"{name} has {len(values)} values and proxy_losses {len(proxies)} rows: one per version")
    if seen[0] != 0:
        raise InputError(
            f"trained_on[0] is {seen[0]}: the first term needs a version that has seen none of the labels, 0"
        )
    bad = np.flatnonzero(np.diff(seen) <= 0)
    if bad.size:
        i = bad[0] + 1
        raise InputError(f"trained_on[{i}] is {seen[i]} after {seen[i - 1]}: versions come in the order of training")
    if seen[-1] >= count:
        i = int(np.argmax(seen >= count))
        raise InputError(
            f"trained_on[{i}] is {seen[i]} of {count} labels: no term is left for that version, leave it out"
        )
    if count == size:
        _check_census(proxies, means)
    return proxies, means, seen


def _check_census(proxies: np.ndarray, means: np.ndarray) -> None:
    """With the whole pool labelled, the means are known."""
    found = proxies.mean(axis=1)
    bad = np.flatnonzero(~np.isclose(means, found, rtol=1e-6, atol=1e-9))
    if bad.size:
        i = bad[0]
        raise InputError(
            f"proxy_means[{i}] is {means[i]}, but proxy_losses[{i}], the whole pool, has mean {found[i]}: "
            "they must agree"
        )
