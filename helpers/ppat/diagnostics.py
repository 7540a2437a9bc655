"""Whether a run of labels can carry its interval, in numbers and in plain words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from .control import Terms
from .weighting import gamma, lure_weights, steps

#: Fewer effective labels than this leave an interval short; so does one label that makes more than half the variance.
FEW, HALF = 30, 0.5
#: Below this a control that was fitted to the labels that it is then used on biases the estimate: at 500 by up to a
#: third of a standard error, under a bad surrogate.
FEW_FOR_POST_HOC = 1000


@dataclass(frozen=True)
class Diagnostics:
    """Whether a run can carry its interval.

    Attributes
    ----------
    effective_sample_size : float
        (sum V)^2 / sum V^2 of the weights: the number of equally weighted labels that fluctuate as much.
    largest_weight : float
        The largest V.
    dominance : float or None
        The largest ``|gamma_m (A_m - risk)|`` over the root of the sum of their squares, in (0, 1]: 1 means that one
        label makes the whole width. None where all terms are equal.
    warnings : tuple of str
        In plain words, why not to trust the interval. No warning is no guarantee: a few points of enormous loss that no
        label has hit leave every diagnostic in order and the interval far too short.
    """

    effective_sample_size: float
    largest_weight: float
    dominance: float | None
    warnings: tuple[str, ...]


def diagnose(run: Terms, q: np.ndarray, risk: float, variance: str) -> Diagnostics:
    """Look at the weights, and at how the terms share the variance."""
    count, pool_size = len(q), run.pool_size
    v = lure_weights(q, pool_size)
    effective = float(v.sum() ** 2 / np.sum(v * v))
    factors = gamma(steps(count), count, pool_size)
    parts = np.abs(factors * (run.at(count) - risk))
    norm, rounding = float(np.linalg.norm(parts)), 1e-12 * float(np.linalg.norm(factors * run.base))
    dominance = float(parts.max()) / norm if norm > rounding and count < pool_size else None
    warnings = [] if count == pool_size else list(_warnings(run, count, effective, dominance, variance))
    return Diagnostics(effective, float(v.max()), dominance, tuple(warnings))


def _warnings(run: Terms, count: int, effective: float, dominance: float | None, variance: str) -> Iterator[str]:
    """Why not to trust the interval."""
    if dominance is None and count > 1:
        yield "All terms are equal, so the width of 0 says nothing of points that are not labelled."
    if effective < FEW:
        advice = "" if variance == "unbiased" else ' variance="unbiased" comes nearer.'
        yield (
            f"{count} labels, which count like {effective:.0f} of equal weight, are few: the interval covers less "
            f"often than it says.{advice}"
        )
    if effective < HALF * count:
        yield (
            f"The weights are so uneven that {count} labels count like {effective:.0f}: mix more uniform draws into "
            "the proposal or, with a proxy, set intercept=True."
        )
    if dominance is not None and dominance**2 > HALF and count >= FEW:
        yield (
            f"One label makes {dominance**2:.0%} of the variance: the loss has a heavy tail, and points like it that "
            "no label has hit make the interval far too short."
        )
    if run.post_hoc and count < FEW_FOR_POST_HOC:
        yield (
            "The control was fitted to the very labels it is used on, which at so few biases the estimate and shortens "
            'the interval: control="predictable", or a number, does not.'
        )
