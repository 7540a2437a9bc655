"""Which frames of which sets are right, and which count, of one model or many: where every analysis of sets begins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .record import FrameSets, Predictions, aligned, check_sets
from .resampling import by_group, plain
from .score import Score, counts, score


@dataclass(frozen=True, eq=False)
class Tally:
    """PM-k of many models on the same anchors, as counts: what `Score` is for one model.

    Attributes
    ----------
    k : int or None
        As in `Score`: None where the sets have no offsets.
    n : int
        Anchors.
    original, perturbed : int64 arrays of shape (...)
        Of each model the anchors that are right, and those whose whole set is.
    """

    k: int | None
    n: int
    original: np.ndarray
    perturbed: np.ndarray

    @property
    def drop(self) -> np.ndarray:
        """Right anchors that only their set gets wrong, shape (...)."""
        return self.original - self.perturbed

    def __repr__(self) -> str:
        return f"Tally(models {self.original.shape}, n={self.n})"

    def to_dict(self) -> dict[str, Any]:
        """Settings and counts as valid JSON."""
        found = {name: plain(getattr(self, name)) for name in ("original", "perturbed", "drop")}
        return {"k": self.k, "n": self.n, **found}


def scored(
    predictions: Predictions | Mapping[str, Any] | np.ndarray,
    frames: FrameSets,
    *,
    k: int,
    missing: str = "error",
    confidence: float,
    seed: int,
) -> Score | Tally:
    """The score of one model, by key or as classes of shape (frames,), or the tally of many, shape (..., frames)."""
    if isinstance(predictions, np.ndarray) and predictions.ndim > 1:
        original, perturbed = counts(predictions, frames, k=k, missing=missing)
        return Tally(None if frames.offset is None else k, frames.n, original, perturbed)
    return score(predictions, frames, k=k, missing=missing, confidence=confidence, seed=seed)


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
