"""Which frames of which sets are right, and which count: where every analysis of sets begins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .record import FrameSets, aligned, check_sets
from .resampling import by_group


@dataclass(frozen=True, eq=False)
class Judged:
    """Predictions held against labels; leading axes are models.

    Attributes
    ----------
    frames : FrameSets
        The sets.
    right, right_pair : boolean arrays of shape (..., n) and (..., pairs)
        Whether anchors and similar frames are predicted right.
    counts, pair_counts : boolean arrays of the same shapes
        Whether they count at all: within k, and with a prediction where those without are skipped.
    """

    frames: FrameSets
    right: np.ndarray
    right_pair: np.ndarray
    counts: np.ndarray
    pair_counts: np.ndarray

    @classmethod
    def of(cls, predictions: Any, frames: FrameSets, *, k: int, missing: str) -> Judged:
        """Judge predictions as `score` does; a skipped anchor takes its whole set with it."""
        check_sets(frames)
        classes = aligned(predictions, frames, missing=missing)
        right, right_pair = frames.correct(classes)
        there = classes >= 0 if missing == "skip" else np.ones(classes.shape, dtype=bool)
        counts = there[..., frames.anchor]
        pair_counts = there[..., frames.member] & counts[..., frames.row] & frames.within(k)
        return cls(frames, right & counts, right_pair, counts, pair_counts)

    @property
    def wrong_pair(self) -> np.ndarray:
        """Similar frames that count and are wrong, shape (..., pairs)."""
        return self.pair_counts & ~self.right_pair

    @property
    def holds(self) -> np.ndarray:
        """Anchors that are right with their whole set, shape (..., n)."""
        return self.right & (self.per_set(self.wrong_pair) == 0)

    def per_set(self, pairs: np.ndarray) -> np.ndarray:
        """How many pairs of each set are marked, shape (..., n)."""
        sums = np.zeros((*pairs.shape[:-1], pairs.shape[-1] + 1), dtype=np.int64)
        np.cumsum(pairs, axis=-1, out=sums[..., 1:])
        return sums[..., self.frames.start[1:]] - sums[..., self.frames.start[:-1]]

    def per_group(self, values: np.ndarray) -> np.ndarray:
        """Sums over the anchors of each group, shape (..., groups); each anchor is one where there are no groups."""
        return by_group(values, self.frames.group, len(self.frames.group_names))
