r"""Posterior agreement: how stable is a model's belief under covariate shift, labels aside?

For logits :math:`F, F'` of the same n inputs before and after a shift, and k classes,

.. math:: \mathrm{PA} = \log k + \max_{\beta \ge 0} \frac1n \sum_i \log \sum_j
   \mathrm{softmax}(\beta F_i)_j \, \mathrm{softmax}(\beta F'_i)_j \in [0, \log k].
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .. import arrays, uncertainty
from ..errors import InputError
from ..results import json_number
from ..uncertainty import Interval, Rate
from . import numerics, search
from .inputs import check_ratios, ordering, pair_of, profile_of
from .interval import bootstrap, flip_rate_capacity
from .numerics import Pair, Profile, RowsAt
from .record import LAYOUT

NOT_IN_A_CURVE = "a curve has none: ask agreement"


@dataclass(frozen=True, repr=False, eq=False)
class Agreement:
    """Posterior agreement of two sets of logits; see `agreement`.

    Attributes
    ----------
    value : float
        Agreement in nats, 0 to log k.
    relative : float or None
        value / log k, 0 to 1; None for k = 1.
    beta : float
        The inverse temperature at which agreement is highest: inf where no label ever flips, 0 where nothing beats
        a uniform belief. In inverse logits, hence not comparable between models.
    beta_margin : float or None
        beta times the median gap between the two highest clean logits: free of the logit scale.
    status : str
        ``interior``, ``infinite``, ``zero`` or ``flat`` (the kernel does not depend on beta).
    bound : float
        No beta gives more than this, in nats: value <= true maximum <= bound.
    certified : bool
        bound exceeds value by at most 1e-4 nat, so the maximum is proven global.
    local_maxima : tuple of (float, float)
        Each local maximum found, as (beta, agreement in nats at that beta), by ascending beta.
    searched : tuple of float
        The range of beta that was searched; outside it none can do better.
    per_row : numpy.ndarray or None
        Shape (n,): each row's contribution in nats; their mean is `value`. The lowest rows do the most damage. None in
        a `curve`.
    flips : Rate
        Rows in which no class is the top one before and after, with its exact binomial interval.
    flip_rate_only : float
        What the flip rate alone would give: the capacity of a k-ary symmetric channel, in nats.
    interval : tuple of float or None
        Confidence interval of `value`, where a confidence was asked for.
    confidence : float or None
        Its level, as asked for.
    reasons : mapping
        For each attribute that is None: why.
    """

    value: float
    relative: float | None
    beta: float
    beta_margin: float | None
    status: str
    bound: float
    local_maxima: tuple[tuple[float, float], ...]
    searched: tuple[float, float]
    per_row: np.ndarray | None
    flips: Rate
    flip_rate_only: float
    interval: Interval | None
    confidence: float | None
    n: int
    k: int
    reasons: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        """The headline; `to_dict` has everything."""
        interval = "" if self.interval is None else " [{:.4f}, {:.4f}]".format(*self.interval)
        proof = "proven global" if self.certified else f"not proven, at most {self.bound:.4f}"
        return (
            f"Agreement(value={self.value:.4f} nat{interval} of {math.log(self.k):.4f}, {proof},\n"
            f"          beta={self.beta:.4g}, {self.status}, {self.flips.count} of {self.n} rows flip)"
        )

    @property
    def certified(self) -> bool:
        """Whether the maximum is proven global, to 1e-4 nat."""
        return self.bound - self.value <= search.CERTIFIED

    def worst_rows(self, count: int = 10) -> np.ndarray:
        """Indices of the rows that lower the agreement most, worst first."""
        if self.per_row is None:
            raise InputError(f"there are no rows to rank: {self.reasons['per_row']}")
        return np.argsort(self.per_row, kind="stable")[:count]

    def to_dict(self) -> dict[str, Any]:
        """Everything but the rows, as valid JSON: infinity is "inf"."""
        return {
            "value": self.value,
            "relative": self.relative,
            "beta": json_number(self.beta),
            "beta_margin": json_number(self.beta_margin),
            "status": self.status,
            "certified": self.certified,
            "bound": self.bound,
            "local_maxima": [list(maximum) for maximum in self.local_maxima],
            "searched": [json_number(end) for end in self.searched],
            "flips": self.flips.to_dict(),
            "flip_rate_only": self.flip_rate_only,
            "interval": None if self.interval is None else list(self.interval),
            "confidence": self.confidence,
            "n": self.n,
            "k": self.k,
            "reasons": dict(self.reasons),
        }


def agreement(
    logits: Any,
    shifted: Any,
    *,
    inputs: str = "logits",
    chunk: int | None = None,
    confidence: float | None = None,
    seed: int = 0,
) -> Agreement:
    r"""Posterior agreement of a model with itself under a shift of its inputs.

    Measures whether the model believes the same before and after the shift, whether or not it is right; no
    labels are used. It is

    .. math:: \mathrm{PA} = \log k + \max_{\beta \ge 0} \frac1n \sum_i \log \sum_j p_{ij}(\beta) p'_{ij}(\beta),
       \qquad p(\beta) = \mathrm{softmax}(\beta F),

    the global maximum, found exactly (the kernel is not concave in beta) and with a proof of how far any other
    beta could exceed it.

    Parameters
    ----------
    logits, shifted : array of shape (n, k)
        The model's outputs on the clean and the shifted inputs; row i of both belongs to one pair. NumPy (also
        memory-mapped) or torch on any device; half precision is widened before any sum.
    inputs : {"logits", "log_probs", "probs"}
        What the arrays hold. Agreement is the same for logits and for log-probabilities.
    chunk : int, optional
        Rows of both arrays in flight at once, over all threads: bounds the extra memory. By default what fits the
        cache.
    confidence : float, optional
        Level of the interval, such as 0.95. By default there is none.
    seed : int
        Seed of the bootstrap behind the interval.

    Returns
    -------
    Agreement

    Raises
    ------
    InputError
        Arrays of other or unequal shapes, no rows, a value that is not finite (named by row and column),
        probabilities passed as logits, or a probability outside (0, 1].

    Notes
    -----
    The interval is a percentile bootstrap over rows in which beta is optimised again in every replicate. With fewer
    than ten flipped rows its lower end is no higher than the agreement that the Clopper-Pearson upper end of the
    flip rate would give by itself; likewise the upper end with fewer than ten rows that do not flip. Rows are taken
    as independent: give one row per group where they are not.

    References
    ----------
    Carvalho et al. (2025), Rethinking Robustness in Machine Learning: A Posterior Agreement Approach,
    arXiv:2503.16271.

    Examples
    --------
    Ten rows, one of which changes its mind:

    >>> import numpy as np
    >>> clean = np.tile([1.0, 0.0], (10, 1))
    >>> shifted = clean.copy()
    >>> shifted[9] = [0.0, 1.0]
    >>> result = agreement(clean, shifted)
    >>> round(result.value, 6), round(result.beta, 6), result.status
    (0.368064, 2.887271, 'interior')
    """
    arrays.whole_number(seed, "seed", least=0)
    if confidence is not None:
        uncertainty.check_confidence(confidence)
    pair = pair_of(logits, shifted, inputs=inputs, chunk=chunk)
    rows, _ = profile_of(pair)
    pair = replace(pair, wide=rows.too_wide_for_float32)
    maximum, seen = _maximise(pair, rows)
    per_row = _contributions(rows, maximum, seen, pair.k)
    result = _result(rows, pair.k, maximum, per_row, confidence)
    if confidence is None:
        return _with_interval(result, None, "no confidence was asked for")
    if maximum.status == "flat":
        return _with_interval(result, None, "the kernel is flat: resampling rows changes nothing")
    interval = bootstrap(pair, rows, maximum, confidence, seed)
    return _with_interval(result, interval, "every resample of the rows gives the same value")


def kernel(logits: Any, shifted: Any, beta: Any, *, inputs: str = "logits", chunk: int | None = None) -> Any:
    r"""Mean log agreement :math:`\frac1n \sum_i \log \sum_j p_{ij}(\beta) p'_{ij}(\beta)` at each beta.

    Parameters
    ----------
    logits, shifted : array of shape (n, k)
        As for `agreement`.
    beta : float or array of float
        Inverse temperatures >= 0; inf gives the limit.
    inputs, chunk
        As for `agreement`.

    Returns
    -------
    float or numpy.ndarray
        Nats in [-inf, 0], of the shape of `beta`: -log k at 0, and at inf -inf as soon as one row flips.

    Raises
    ------
    InputError
        As `agreement`, or a beta that is negative or NaN.

    Examples
    --------
    >>> round(kernel([[1.0, 0.0]], [[1.0, 0.0]], 0.0), 6)
    -0.693147
    """
    betas = arrays.floats(beta, "beta", remedy="give numbers")
    arrays.refuse_where(~(betas >= 0), betas, "beta", "an inverse temperature is at least 0")
    pair = pair_of(logits, shifted, inputs=inputs, chunk=chunk)
    rows, _ = profile_of(pair)
    values = np.full(betas.size, np.mean(rows.limit))
    finite = np.isfinite(betas.ravel())
    if finite.any():
        means = numerics.moments(pair, betas.ravel()[finite].tolist(), pair.xp.float64)
        values[finite] = means[:, numerics.G] - means[:, numerics.H]
    return float(values[0]) if betas.ndim == 0 else values.reshape(betas.shape)


def curve(
    logits: Any,
    attacked: Any,
    ratios: Sequence[float],
    *,
    order: str | Any = "random",
    size: Any = None,
    seed: int = 0,
    inputs: str = "logits",
    chunk: int | None = None,
) -> list[Agreement]:
    """Agreement when only a share of the rows is shifted, for many shares at about the cost of one.

    At ratio a, round(a n) rows come from `attacked` and the rest stay clean (whole rows are exchanged, nothing is
    blended). The rows are nested: those shifted at one ratio are shifted at every higher one.

    Parameters
    ----------
    logits, attacked : array of shape (n, k)
        Outputs on the clean and on the fully shifted inputs, as for `agreement`.
    ratios : sequence of float
        Shares in [0, 1], in any order.
    order : {"random", "smallest", "largest"} or array of int, shape (n,)
        Which rows are shifted first: by lot (with `seed`), by the `size` of their shift, or as listed.
    size : array of shape (n,), optional
        How large each row's shift is, such as the norm of its perturbation; for "smallest" and "largest".
    seed : int
        Seed of the random order.
    inputs, chunk
        As for `agreement`.

    Returns
    -------
    list of Agreement
        One per ratio, in the order given. Their `bound` rests on the shared search; where a curve's bound is not
        tight enough to be `certified`, `agreement` on the mixed rows proves it.

    Raises
    ------
    InputError
        As `agreement`; a ratio outside [0, 1]; an order that is no permutation of the rows; a missing `size`.

    Examples
    --------
    >>> import numpy as np
    >>> clean = np.tile([2.0, 0.0], (4, 1))
    >>> [round(result.relative, 3) for result in curve(clean, clean[:, ::-1], [0.0, 0.25, 1.0])]
    [1.0, 0.189, 0.0]
    """
    pair = pair_of(logits, attacked, inputs=inputs, chunk=chunk)
    counts = np.round(check_ratios(ratios) * pair.n).astype(int)
    cuts, which = np.unique(counts, return_inverse=True)
    place = np.empty(pair.n, dtype=int)
    place[ordering(order, size, seed, pair.n)] = np.arange(pair.n)
    shifted, clean = profile_of(pair)
    pair = replace(pair, wide=shifted.too_wide_for_float32)
    profiles = [clean.replaced(place < cut, shifted) for cut in cuts]
    found = _curve(numerics.Mixtures(pair, place, cuts), profiles)
    return [found[i] for i in which]


def _curve(mixtures: numerics.Mixtures, profiles: Sequence[Profile]) -> list[Agreement]:
    """The agreement of each mixture, all searched together."""
    pair = mixtures.pair
    bounds = [search.Bounds.of(rows, pair.k) for rows in profiles]
    wide = pair.n * pair.k <= numerics.SMALL
    maxima = search.maximise_mixtures(mixtures.moments, bounds, wide=wide, rounding=pair.rounding)
    results = [_result(rows, pair.k, maximum, None, None) for rows, maximum in zip(profiles, maxima, strict=True)]
    return [_with_interval(result, None, NOT_IN_A_CURVE) for result in results]


def failure_rate(shifted: Any, reference: Any, *, confidence: float = 0.95) -> Rate:
    """Attack failure rate: the share of shifted rows whose prediction is still that of the reference.

    Against labels it is AFR_T, plain accuracy on the shifted inputs; against the clean logits it is AFR_P, which
    needs no labels. All rows count, also those that were wrong from the start.

    Parameters
    ----------
    shifted : array of shape (n, k)
        Outputs on the shifted inputs. The prediction is the first of the highest classes.
    reference : array of shape (n,) of int, or (n, k)
        Labels 0..k-1 (AFR_T), or the clean outputs (AFR_P).
    confidence : float
        Level of the interval, 0.95 by default.

    Returns
    -------
    Rate
        With its Clopper-Pearson interval.

    Raises
    ------
    InputError
        Shapes that do not match, a value that is not finite, a label outside 0..k-1.

    Examples
    --------
    >>> failure_rate([[2.0, 0.0], [0.0, 1.0]], [0, 0]).rate
    0.5
    """
    scores = arrays.check_matrix(shifted, "shifted", layout=LAYOUT)
    n, k = scores.shape
    answers = arrays.as_array(reference, "reference")
    if answers.ndim == 2:
        if tuple(answers.shape) != (n, k):
            raise InputError(f"reference has shape {tuple(answers.shape)}, shifted {(n, k)}: row i of both is one pair")
        answers = _predict(arrays.check_matrix(answers, "reference", layout=LAYOUT), "reference")
    else:
        answers = arrays.check_labels(reference, n=n, k=k, name="reference")
    return Rate.of(int(np.sum(_predict(scores, "shifted") == answers)), n, confidence=confidence)


def _predict(scores: Any, name: str) -> np.ndarray:
    values = arrays.to_numpy(scores)
    arrays.refuse_not_finite(values, name)
    return np.argmax(values, axis=1)


def _maximise(pair: Pair, rows: Profile) -> tuple[search.Maximum, list[RowsAt]]:
    """The global maximum, and the rows at the betas that were evaluated in float64 on the way."""
    seen: list[RowsAt] = []

    def exact(betas: Sequence[float]) -> np.ndarray:
        moments, at = numerics.moments_and_rows(pair, betas, pair.xp.float64)
        seen.extend(at)
        return moments

    size = pair.n * pair.k
    maximum = search.maximise(
        lambda betas: numerics.moments(pair, betas, pair.working_dtype),
        exact,
        search.Bounds.of(rows, pair.k),
        # a proof may cost as much as the search itself on large data, and is free on small
        budget=max(24, min(400, 2_000_000_000 // size)),
        wide=size <= numerics.SMALL,
        rounding=pair.rounding,
    )
    return maximum, seen


def _contributions(rows: Profile, maximum: search.Maximum, seen: Sequence[RowsAt], k: int) -> np.ndarray:
    """Each row's contribution to the value, in nats, shape (n,)."""
    if math.isinf(maximum.beta):
        return math.log(k) + rows.limit
    if maximum.beta == 0.0:
        return np.zeros(len(rows.gap))
    nearest = min(seen, key=lambda at: abs(at.beta - maximum.beta))
    return math.log(k) + nearest.moved_to(maximum.beta)


def _with_interval(result: Agreement, interval: Interval | None, why_not: str) -> Agreement:
    reasons = result.reasons if interval is not None else {**result.reasons, "interval": why_not}
    return replace(result, interval=interval, reasons=reasons)


def _result(
    rows: Profile, k: int, maximum: search.Maximum, per_row: np.ndarray | None, confidence: float | None
) -> Agreement:
    log_k = math.log(k)
    reasons = {}
    if per_row is None:
        reasons["per_row"] = NOT_IN_A_CURVE
    if k == 1:
        reasons["relative"] = "one class: there is nothing to disagree about"
    margin = float(np.median(rows.margin)) if k > 1 else None
    beta_margin = None if margin is None else _scale_free(maximum.beta, margin)
    if beta_margin is None:
        reasons["beta_margin"] = "one class has no margin" if k == 1 else "the median clean margin is 0"
    return Agreement(
        value=max(0.0, maximum.kernel + log_k),
        relative=None if k == 1 else max(0.0, maximum.kernel + log_k) / log_k,
        beta=maximum.beta,
        beta_margin=beta_margin,
        status=maximum.status,
        bound=min(log_k, max(0.0, maximum.bound + log_k)),
        local_maxima=tuple((beta, value + log_k) for beta, value in maximum.local),
        searched=maximum.searched,
        per_row=per_row,
        flips=Rate.of(int(np.sum(rows.flips)), len(rows.gap), confidence=confidence or 0.95),
        flip_rate_only=flip_rate_capacity(float(np.mean(rows.flips)), k),
        interval=None,
        confidence=confidence,
        n=len(rows.gap),
        k=k,
        reasons=reasons,
    )


def _scale_free(beta: float, margin: float) -> float | None:
    """beta times the margin; inf times 0 is not defined."""
    return None if margin == 0.0 and math.isinf(beta) else beta * margin
