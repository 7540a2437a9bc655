"""The average over neighbouring frames, which is what earlier work measured, beside the worst of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .judged import Judged
from .record import FrameSets
from .resampling import Average, ratio


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Averages over the similar frames, and the worst frames beside them; see `neighbour_averages`.

    Attributes
    ----------
    average_drop : Average
        Original accuracy less the accuracy on similar frames, every set weighing alike.
    worst_drop : Average
        PM-k's drop on the same frames; never below `average_drop`.
    conditional_error : Average
        Error rate of the similar frames of right anchors, every frame weighing alike.
    set_conditional_error : Average
        The same, every set weighing alike.
    worst_conditional_error : Average
        Share of the right anchors with similar frames that have a wrong one among them; never below
        `set_conditional_error`.
    """

    average_drop: Average
    worst_drop: Average
    conditional_error: Average
    set_conditional_error: Average
    worst_conditional_error: Average

    def to_dict(self) -> dict[str, Any]:
        """The fields as valid JSON."""
        return {name: getattr(self, name).to_dict() for name in self.__dataclass_fields__}


def neighbour_averages(
    predictions: Any,
    frames: FrameSets,
    *,
    k: int = 10,
    missing: str = "error",
    confidence: float = 0.95,
    seed: int = 0,
) -> Neighbours:
    r"""Average drop and conditional error of the similar frames.

    With L the 0-1 loss and :math:`N_i` the frames of set i within k (for an empty set the anchor itself),

    .. math::

        \text{average drop} = \frac1n \sum_i \Big( \frac1{|N_i|} \sum_{b \in N_i} L(b) - L(a_i) \Big), \qquad
        \text{conditional error} = \frac{\sum_{i : L(a_i) = 0} \sum_{b \in N_i} L(b)}{\sum_{i : L(a_i) = 0} |N_i|}.

    **Why these are smaller than PM-k's drop.** A mean of losses is never above their maximum, so in every set
    :math:`\frac1{|N_i|} \sum_b L(b) \le \max_{b \in N_i \cup \{a_i\}} L(b)`, and the same holds for their means over
    sets: a single wrong frame of twenty costs a twentieth here, and the whole set there. Moreover the average forgives:
    a wrong anchor among right frames makes the average drop smaller, even negative, where PM-k counts the set as lost
    either way. The conditional error has another base, the right anchors alone, and compares with the share of them
    that are lost, PM-k's drop over the original accuracy where no set is empty. Both inequalities need sets that weigh
    alike. Pooled frames, which is how the conditional error is usually counted, weigh a large set more: where few large
    sets are lost it can exceed the share of sets that are.

    Parameters
    ----------
    predictions
        As for `score`; an int array of shape (..., frames) holds many models.
    frames, k, missing
        As for `score`, the anchor taking part in PM-k's drop.
    confidence, seed
        Of percentile bootstraps over groups, which each anchor is where none are given: frames of one set are not
        independent of each other.

    Returns
    -------
    Neighbours

    Raises
    ------
    InputError
        What `score` refuses.

    References
    ----------
    Gu, Yang, Ngiam, Le and Shlens (2019), "Using videos to evaluate image model robustness".

    Examples
    --------
    >>> frames = FrameSets({"v/3": ["v/1", "v/2", "v/4", "v/5"], "w/3": ["w/4"]}, {"v/3": [0], "w/3": [1]})
    >>> found = neighbour_averages({"v/1": 0, "v/2": 0, "v/3": 0, "v/4": 1, "v/5": 0, "w/3": 1, "w/4": 1}, frames)
    >>> found.average_drop.value, found.worst_drop.value
    (0.125, 0.5)
    >>> found.conditional_error.value, found.worst_conditional_error.value
    (0.2, 0.5)
    """
    judged = Judged.of(predictions, frames, k=k, missing=missing)
    size, wrong = judged.per_set(judged.pair_counts), judged.per_set(judged.wrong_pair)
    anchor_wrong = judged.counts & ~judged.right
    share = np.where(size > 0, wrong / np.maximum(size, 1), anchor_wrong)
    lost = judged.right & (wrong > 0)
    filled = judged.right & (size > 0)

    def average(top: np.ndarray, bottom: np.ndarray, nothing: str) -> Average:
        sums = (judged.per_group(values.astype(np.float64)) for values in (top, bottom))
        return ratio(*sums, confidence=confidence, seed=seed, nothing=nothing)

    no_anchor, no_frame = "no anchor counts", "no right anchor has a similar frame"
    return Neighbours(
        average_drop=average((share - anchor_wrong) * judged.counts, judged.counts, no_anchor),
        worst_drop=average(lost, judged.counts, no_anchor),
        conditional_error=average(wrong * judged.right, size * judged.right, no_frame),
        set_conditional_error=average(share * filled, filled, no_frame),
        worst_conditional_error=average(lost, filled, no_frame),
    )
