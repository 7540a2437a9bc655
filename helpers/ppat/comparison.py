"""One set of labels, many questions: two models compared, the best of several, several losses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import arrays
from ..errors import InputError, located
from ..uncertainty import check_confidence
from . import inputs
from .control import quantile
from .outcome import Estimate
from .score import estimate


def difference(
    losses: Any,
    q: Any,
    *,
    pool_size: int,
    proxy_losses: Any = None,
    proxy_means: Any = None,
    pool_proxy_losses: Any = None,
    **options: Any,
) -> Estimate:
    """Risk of a first model less risk of a second, from the same labels.

    It is `estimate` on the differences of losses, point by point. Two models that fail on the same points have
    differences of little spread, so the interval is often far shorter than two separate ones suggest. Labels chosen for
    one model serve any other: the estimate stays unbiased.

    Parameters
    ----------
    losses : array of shape (2, m)
        Losses of both models on the labelled points, in the order drawn.
    q : array of shape (m,)
        Probability of each draw among the points that were left.
    pool_size : int
        N.
    proxy_losses : array of shape (2, m), optional
        Proxy losses of both on the labelled points.
    proxy_means : array of shape (2,), optional
        Their means over the pool.
    pool_proxy_losses : array of shape (2, N), optional
        Proxy losses of both on the whole pool.
    **options
        Any other keyword of `estimate`: control, intercept, confidence, variance.

    Returns
    -------
    Estimate
        Negative where the first model is better.

    Raises
    ------
    InputError
        Other than two rows, or what `estimate` refuses.

    Examples
    --------
    >>> losses = [[3, 2.5, 1], [2, 2.5, 2]]
    >>> round(difference(losses, [0.3541666666666667, 0.38, 0.325], pool_size=6).risk, 6)
    -0.028959
    """
    models = _Models.of(losses, q, pool_size, proxy_losses, proxy_means, pool_proxy_losses)
    if len(models.loss) != 2:
        raise InputError(f"losses has {len(models.loss)} rows: give two models, or use ppat.best for several")
    return models.difference(0, 1, options)


@dataclass(frozen=True)
class Best:
    """The best of k models, as far as the labels tell.

    Attributes
    ----------
    risks : tuple of Estimate
        Each model's risk, with an interval at its own level.
    selected : int
        The model of least estimated risk.
    candidates : tuple of int
        Models that may be the best: none of them is shown to be worse than another.
    regret : tuple of float or None
        For each model an upper bound on how far its risk lies above the least one; None with `reason` where undefined.
    confidence : float
        Level at which *all* of this holds together: the best model is a candidate, and no regret exceeds its bound.
    reason : str or None
        Why nothing is excluded and no regret bounded.
    """

    risks: tuple[Estimate, ...]
    selected: int
    candidates: tuple[int, ...]
    regret: tuple[float, ...] | None
    confidence: float
    reason: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The fields as valid JSON."""
        return {
            "risks": [risk.to_dict() for risk in self.risks],
            "selected": self.selected,
            "candidates": list(self.candidates),
            "regret": None if self.regret is None else list(self.regret),
            "confidence": self.confidence,
            "reason": self.reason,
        }


def best(
    losses: Any,
    q: Any,
    *,
    pool_size: int,
    proxy_losses: Any = None,
    proxy_means: Any = None,
    pool_proxy_losses: Any = None,
    confidence: float = 0.9,
    variance: str = "plugin",
    **options: Any,
) -> Best:
    r"""Which of k models has the least risk, and how much any other choice could cost, from one set of labels.

    Multiple comparisons with the best. With differences :math:`D_{ij}` of the estimated risks, and
    :math:`w_{ij}` their standard errors times the one-sided quantile at :math:`1 - (1 - \text{confidence})/(k-1)`:

    - i is a candidate if :math:`D_{ij} \le w_{ij}` for every j,
    - its regret is at most :math:`\max(0, \max_j (D_{ij} + w_{ij}))`.

    Both follow from k - 1 comparisons of the truly best model with the others, so Bonferroni's inequality over
    these covers all statements at once. It is a little conservative; the intervals it rests on are asymptotic.

    Parameters
    ----------
    losses : array of shape (k, m)
        Losses of the k models, at least two, on the labelled points in the order drawn.
    q, pool_size, proxy_losses, proxy_means, pool_proxy_losses, **options
        As for `difference`, a row per model.
    confidence : float
        Level at which everything holds together, 0.9 by default.
    variance : {"plugin", "unbiased"}
        As for `estimate`.

    Returns
    -------
    Best

    Raises
    ------
    InputError
        Fewer than two models, or what `estimate` refuses.

    References
    ----------
    Hsu (1996), "Multiple comparisons: theory and methods", chapter 4.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> losses = rng.exponential([[1.0], [1.1], [3.0]], size=(3, 200))
    >>> best(losses, 1 / (1000 - np.arange(200)), pool_size=1000).candidates
    (0, 1)
    """
    check_confidence(confidence)
    models = _Models.of(losses, q, pool_size, proxy_losses, proxy_means, pool_proxy_losses)
    k = len(models.loss)
    if k < 2:
        raise InputError("losses has 1 row: give at least two models to compare")
    options = {**options, "variance": variance, "confidence": confidence}
    risks = tuple(models.risk(i, options) for i in range(k))
    selected = int(np.argmin([risk.risk for risk in risks]))
    gap, error = np.zeros((k, k)), np.zeros((k, k))
    for i in range(k):
        for j in range(i):
            pair = models.difference(i, j, options)
            if pair.std_error is None:
                return Best(risks, selected, tuple(range(k)), None, float(confidence), pair.reason)
            gap[i, j], error[i, j] = pair.risk, pair.std_error
    gap, error = gap - gap.T, error + error.T
    width = quantile(models.loss.shape[1], variance, 1.0 - 2.0 * (1.0 - confidence) / (k - 1)) * error
    candidates = np.flatnonzero(np.all(gap <= width, axis=1))
    regret = np.maximum(np.max(np.where(np.eye(k, dtype=bool), -np.inf, gap + width), axis=1), 0.0)
    return Best(risks, selected, tuple(map(int, candidates)), tuple(map(float, regret)), float(confidence))


def risks(
    losses: Mapping[str, Any],
    q: Any,
    *,
    pool_size: int,
    proxy_losses: Mapping[str, Any] | None = None,
    proxy_means: Mapping[str, float] | None = None,
    pool_proxy_losses: Mapping[str, Any] | None = None,
    confidence: float = 0.9,
    simultaneous: bool = False,
    **options: Any,
) -> dict[str, Estimate]:
    """Several losses from one set of labels: 0-1, cross-entropy, squared or any other.

    The weights do not depend on the loss, so labels that were chosen for one loss serve all, unbiased; the interval is
    shortest for the loss that the proposal was made for.

    Parameters
    ----------
    losses : mapping of str to array of shape (m,)
        Losses of the labelled points in the order drawn, by name; see `class_losses` and `label_losses`.
    q, pool_size
        As for `estimate`.
    proxy_losses, proxy_means, pool_proxy_losses : mappings, optional
        Proxy of each loss, under the same names.
    confidence : float
        Level of each interval, 0.9 by default.
    simultaneous : bool
        Let the level hold for all intervals together (Bonferroni): each is then made at 1 - (1 - confidence) / k.
    **options
        Any other keyword of `estimate`.

    Returns
    -------
    dict of str to Estimate

    Raises
    ------
    InputError
        No loss, names that do not match, or what `estimate` refuses, named by its loss.

    Examples
    --------
    >>> q = [0.3541666666666667, 0.38, 0.325]
    >>> found = risks({"zero_one": [1, 0, 1], "squared": [0.9, 0.1, 0.7]}, q, pool_size=6)
    >>> {name: round(risk.risk, 4) for name, risk in found.items()}
    {'zero_one': 0.4839, 'squared': 0.4057}
    """
    check_confidence(confidence)
    if not isinstance(losses, Mapping) or not losses:
        raise InputError("losses is empty or no mapping: give at least one loss by name")
    level = 1.0 - (1.0 - confidence) / len(losses) if simultaneous else confidence
    proxies: dict[str, Mapping[str, Any] | None] = {
        "proxy_loss": proxy_losses,
        "proxy_mean": proxy_means,
        "pool_proxy_loss": pool_proxy_losses,
    }
    for name, family in proxies.items():
        if family is not None and set(family) != set(losses):
            raise InputError(f"{name} has {', '.join(family)} and losses has {', '.join(losses)}: use the same names")
    found = {}
    for name, loss in losses.items():
        own: dict[str, Any] = {key: family[name] for key, family in proxies.items() if family is not None}
        with located(name):
            found[name] = estimate(loss, q, pool_size=pool_size, confidence=level, **own, **options)
    return found


@dataclass(frozen=True, eq=False)
class _Models:
    """Losses of k models on the same labels, and their proxies if there are any."""

    loss: np.ndarray  # (k, m)
    q: np.ndarray
    pool_size: int
    proxy: dict[str, np.ndarray]  # keyword of `estimate` -> (k, ...)

    @classmethod
    def of(cls, losses: Any, q: Any, pool_size: Any, proxy_losses: Any, means: Any, pools: Any) -> _Models:
        q, pool_size = inputs.check_draws(q, pool_size)
        loss = _rows(losses, "losses", columns=len(q))
        k = len(loss)
        proxy = {}
        if proxy_losses is not None:
            proxy["proxy_loss"] = _rows(proxy_losses, "proxy_losses", columns=len(q), rows=k)
        if pools is not None:
            proxy["pool_proxy_loss"] = _rows(pools, "pool_proxy_losses", columns=pool_size, rows=k)
        if means is not None:
            proxy["proxy_mean"] = arrays.real_vector(means, "proxy_means")
            if len(proxy["proxy_mean"]) != k:
                raise InputError(f"proxy_means has {len(proxy['proxy_mean'])} values: give one for each of {k} models")
        return cls(loss, q, pool_size, proxy)

    def risk(self, i: int, options: Mapping[str, Any]) -> Estimate:
        proxy = {name: values[i] for name, values in self.proxy.items()}
        return estimate(self.loss[i], self.q, pool_size=self.pool_size, **proxy, **options)

    def difference(self, i: int, j: int, options: Mapping[str, Any]) -> Estimate:
        proxy = {name: values[i] - values[j] for name, values in self.proxy.items()}
        return estimate(self.loss[i] - self.loss[j], self.q, pool_size=self.pool_size, **proxy, **options)


def _rows(values: Any, name: str, *, columns: int, rows: int | None = None) -> np.ndarray:
    layout = f"a row per model and {columns} columns"
    array = arrays.to_numpy(arrays.check_matrix(values, name, layout=layout)).astype(np.float64)
    if array.shape[1] != columns or (rows is not None and len(array) != rows):
        models = "" if rows is None else f" for each of {rows} models"
        raise InputError(f"{name} has shape {array.shape}: give a row of {columns} values{models}")
    arrays.refuse_not_finite(array, name, "give finite numbers")
    return array
