r"""Estimates after every label, with a proxy as control variate: arrays in, arrays out, many trials at once.

With losses l and centred proxy losses c, whose mean over the pool is zero, the terms of the controlled loss are
:math:`A_m(\lambda) = A_m(l) - \lambda\, C_m` with :math:`C_m = A_m(c)`. So both parts are computed once, and every
control :math:`\lambda` after that is free. Nothing is checked here: `score.estimate` has done so.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri, stdtrit

from .weighting import gamma, increments, prefix_estimates, steps, terms


@dataclass(frozen=True, eq=False)
class Terms:
    """The terms of one run, or of many along the leading axes; steps lie along the last.

    Attributes
    ----------
    base : numpy.ndarray of shape (..., m)
        A_m of the loss.
    pool_size : int
        N.
    proxy : numpy.ndarray of shape (..., m), optional
        C_m, the terms of the control variate, each of mean zero given the past.
    control : numpy.ndarray that broadcasts to (..., m), optional
        Its strength: in force at each step or, if `post_hoc`, found from all labels up to each step.
    post_hoc : bool
        Whether an estimate from M labels takes the M-th control for all its terms.
    """

    base: np.ndarray
    pool_size: int
    proxy: np.ndarray | None = None
    control: np.ndarray | None = None
    post_hoc: bool = False

    def at(self, count: int) -> np.ndarray:
        """The terms of the estimate from the first `count` labels."""
        base = self.base[..., :count]
        if self.proxy is None or self.control is None:
            return base
        control = self.control[..., count - 1 : count] if self.post_hoc else self.control[..., :count]
        return base - control * self.proxy[..., :count]

    def estimate_at(self, count: int) -> np.ndarray:
        """The estimate from the first `count` labels."""
        a = self.at(count)
        return a[..., -1] if count == self.pool_size else a @ self._factors(count) / count

    def variance_at(self, count: int, kind: str) -> np.ndarray:
        """Its estimated variance, "plugin" or "unbiased"; NaN where undefined."""
        a, risk = self.at(count), np.asarray(self.estimate_at(count))[..., None]
        if count == self.pool_size:
            return np.zeros(a.shape[:-1])
        if not is_defined(count, self.pool_size, kind):
            return np.full(a.shape[:-1], np.nan)
        share = self._factors(count) / count
        return plugin_variance(a, risk, share) if kind == "plugin" else unbiased_variance(a, risk, share)

    def estimates(self) -> np.ndarray:
        """The estimate after every label, in one pass."""
        if self.proxy is None or self.control is None or not self.post_hoc:
            return prefix_estimates(self.at(self.base.shape[-1]), self.pool_size)
        return prefix_estimates(self.base, self.pool_size) - self.control * prefix_estimates(self.proxy, self.pool_size)

    def variances(self, kind: str) -> np.ndarray:
        """The estimated variance after every label; NaN where undefined.

        "plugin" takes one pass. The unbiased one weighs the terms anew for every number of labels: O(m^2).
        """
        counts = range(1, self.base.shape[-1] + 1)
        if kind == "unbiased":
            return self._unbiased_variances()
        if self.proxy is None or self.control is None or not self.post_hoc:
            a = self.at(self.base.shape[-1])
            found = spread(a, a, self.pool_size)
        else:
            found = spread(self.base, self.base, self.pool_size)
            found -= 2.0 * self.control * spread(self.base, self.proxy, self.pool_size)
            found += self.control**2 * spread(self.proxy, self.proxy, self.pool_size)
            np.maximum(found, 0.0, out=found)
        found[..., [not is_defined(count, self.pool_size, kind) for count in counts]] = np.nan
        return found

    def _unbiased_variances(self) -> np.ndarray:
        risks, last = self.estimates(), self.at(self.base.shape[-1])
        found = np.full_like(risks, np.nan)
        for count in range(1, risks.shape[-1] + 1):
            if count == self.pool_size:
                found[..., -1] = 0.0
            elif is_defined(count, self.pool_size, "unbiased"):
                a = self.at(count) if self.post_hoc else last[..., :count]
                share = self._factors(count) / count
                found[..., count - 1] = unbiased_variance(a, risks[..., count - 1 : count], share)
        return found

    def _factors(self, count: int) -> np.ndarray:
        return gamma(steps(count), count, self.pool_size)


def spread(a: np.ndarray, b: np.ndarray, pool_size: int) -> np.ndarray:
    """sum_m (gamma_{M,m} / M)^2 (a_m - mean a)(b_m - mean b) for every M; the means are the estimates.

    Weighted sums of products are updated around a running mean. No difference of large numbers is taken, so terms
    that are all alike have a spread of zero.
    """
    inner = min(a.shape[-1], pool_size - 1)
    weight = increments(inner, pool_size) ** 2
    total = np.cumsum(weight)
    before = np.concatenate([[0.0], total])[:-1]
    (step_a, offset_a), (step_b, offset_b) = (_around_mean(x[..., :inner], weight, pool_size) for x in (a, b))
    sums = np.cumsum(weight * before / total * step_a * step_b, axis=-1) + total * offset_a * offset_b
    number = steps(inner)
    found = np.zeros_like(a)  # the whole pool has none
    found[..., :inner] = (pool_size * (pool_size - number) / number) ** 2 * sums
    return found


def _around_mean(values: np.ndarray, weight: np.ndarray, pool_size: int) -> tuple[np.ndarray, np.ndarray]:
    """Each value less the weighted mean before it, and the weighted mean up to it less the estimate."""
    mean = np.cumsum(weight * values, axis=-1) / np.cumsum(weight)
    step = values.copy()
    step[..., 1:] -= mean[..., :-1]
    return step, mean - prefix_estimates(values, pool_size)


def plugin_variance(a: np.ndarray, risk: np.ndarray, share: np.ndarray) -> np.ndarray:
    """The asymptotic variance of the estimate sum(share * a), share = gamma / M."""
    return np.square(a - risk) @ share**2


def unbiased_variance(a: np.ndarray, risk: np.ndarray, share: np.ndarray) -> np.ndarray:
    """The variance whose mean is that of the estimate at every M: it solves for what the plug-in misses.

    E (A_m - estimate)^2 = Var(A_m) (1 - 2 share_m) + Var(estimate), because the terms are uncorrelated.
    """
    scale = share**2 / (1.0 - 2.0 * share)
    return np.square(a - risk) @ scale / (1.0 + scale.sum())


def is_defined(count: int, pool_size: int, kind: str) -> bool:
    """Whether `count` labels say anything of the spread: one says nothing, unless it is the whole pool.

    The unbiased variance stays unbiased beyond, but may be negative once gamma_{M,M} >= M/2.
    """
    if count == pool_size:
        return True
    return count > 1 if kind == "plugin" else count * (pool_size - count + 1) > 2 * pool_size


def quantile(count: int, kind: str, confidence: float) -> float:
    """Half the width of an interval in standard errors: normal for "plugin", Student's t for "unbiased"."""
    level = (1.0 + confidence) / 2.0
    return float(ndtri(level)) if kind == "plugin" else float(stdtrit(max(count - 1, 1), level))


def quantiles(count: int, kind: str, confidence: float) -> np.ndarray:
    """`quantile` after each of so many labels."""
    return np.array([quantile(number, kind, confidence) for number in range(1, count + 1)])


def controlled(
    loss: np.ndarray,
    q: np.ndarray,
    pool_size: int,
    *,
    centred: np.ndarray | None = None,
    proxy_mean: float = 0.0,
    mean_square: float | None = None,
    control: float | str = 1.0,
    refresh: int = 100,
    initial_control: float = 1.0,
    intercept: bool = False,
) -> Terms:
    """The terms of the loss under a proxy; `loss`, `q` and `centred` have shape (..., m).

    With `intercept` the control variate is A_m(proxy loss) - proxy mean instead of A_m(centred proxy loss): both have
    mean zero, and this one also takes out what fluctuating weights do to the proxy's mean.
    """
    base = terms(loss, q, pool_size)
    if centred is None:
        return Terms(base, pool_size)
    proxy = terms(centred + proxy_mean, q, pool_size) - proxy_mean if intercept else terms(centred, q, pool_size)
    proxy[np.abs(proxy) <= 1e-12 * abs(proxy_mean)] = 0.0  # rounding, to which "star" would fit a huge control
    if control == "star":
        return Terms(base, pool_size, proxy, star(base, proxy, pool_size), post_hoc=True)
    if isinstance(control, str):
        assert mean_square is not None
        found = dagger(loss, q, pool_size, centred, mean_square)
        if control == "dagger":
            return Terms(base, pool_size, proxy, found, post_hoc=True)
        return Terms(base, pool_size, proxy, on_schedule(found, refresh, initial_control))
    return Terms(base, pool_size, proxy, np.full(base.shape[-1], float(control)))


def dagger(loss: np.ndarray, q: np.ndarray, pool_size: int, centred: np.ndarray, mean_square: float) -> np.ndarray:
    """The estimate of mean(l c) / mean(c^2), the least-squares control of the pool, after every label."""
    return prefix_estimates(terms(loss * centred, q, pool_size), pool_size) / mean_square


def star(base: np.ndarray, proxy: np.ndarray, pool_size: int) -> np.ndarray:
    """The control of least estimated variance after every label; 0 where the control variate is zero throughout.

    sum gamma^2 (A - estimate) C / sum gamma^2 C^2: unlike `dagger` it looks at how this run was drawn.
    """
    inner = min(base.shape[-1], pool_size - 1)
    weight = increments(inner, pool_size) ** 2
    shifted, proxy_terms = (base - base[..., :1])[..., :inner], proxy[..., :inner]
    square = np.cumsum(weight * proxy_terms**2, axis=-1)
    product = np.cumsum(weight * shifted * proxy_terms, axis=-1)
    product -= prefix_estimates(shifted, pool_size) * np.cumsum(weight * proxy_terms, axis=-1)
    found = np.zeros_like(base)
    np.divide(product, square, out=found[..., :inner], where=square > 0)
    return found


def on_schedule(found: np.ndarray, refresh: int, initial: float) -> np.ndarray:
    """The control in force at each step: what was found when last refreshed, every `refresh` labels, else `initial`."""
    seen = np.arange(found.shape[-1]) // refresh * refresh  # labels that had been used by then
    return np.where(seen > 0, found[..., seen - 1], initial)
