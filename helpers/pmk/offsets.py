"""Errors by offset: how far from its anchor a frame must be to be wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import InputError
from ..uncertainty import Rate
from .judged import Judged
from .record import FrameSets, check_sets
from .resampling import by_group, plain, ratio


@dataclass(frozen=True, eq=False)
class OffsetErrors:
    """Wrong frames at each offset from the anchor; see `offset_errors`. Leading axes are models.

    Attributes
    ----------
    offset : int64 array of shape (m,)
        The offsets at which there are frames, ascending.
    wrong, n : int64 arrays of shape (..., m)
        Wrong frames and all frames at each offset.
    wrong_after_right, n_after_right : int64 arrays of shape (..., m)
        The same where the anchor is right.
    rates, rates_after_right : tuple of Rate, or None
        For one model the two error rates at each offset with their intervals; None for several models.
    """

    offset: np.ndarray
    wrong: np.ndarray
    n: np.ndarray
    wrong_after_right: np.ndarray
    n_after_right: np.ndarray
    rates: tuple[Rate, ...] | None
    rates_after_right: tuple[Rate, ...] | None

    def __repr__(self) -> str:
        models = "" if self.wrong.ndim == 1 else f", models {self.wrong.shape[:-1]}"
        return f"OffsetErrors({len(self.offset)} offsets from {self.offset[0]} to {self.offset[-1]}{models})"

    @property
    def error(self) -> np.ndarray:
        """Error rate of the frames at each offset, over all anchors; NaN where there is no frame."""
        return _share(self.wrong, self.n)

    @property
    def error_after_right(self) -> np.ndarray:
        """Error rate where the anchor is right; NaN where no anchor is."""
        return _share(self.wrong_after_right, self.n_after_right)

    @property
    def share(self) -> np.ndarray:
        """Of all wrong frames of right anchors, the share at each offset: adds up to 1; NaN where none is wrong."""
        return _share(self.wrong_after_right, self.wrong_after_right.sum(axis=-1, keepdims=True))

    def pooled(self) -> OffsetErrors:
        """All models in one count, as the source's figure has them.

        There is no interval: models err on the same frames, so that more models are no more evidence about frames.
        """
        models = tuple(range(self.wrong.ndim - 1))
        counts = [array.sum(axis=models) for array in (self.wrong, self.n, self.wrong_after_right, self.n_after_right)]
        return OffsetErrors(self.offset, counts[0], counts[1], counts[2], counts[3], None, None)

    def to_dict(self) -> dict[str, Any]:
        """Counts and rates as valid JSON."""
        names = ("offset", "wrong", "n", "wrong_after_right", "n_after_right", "error", "error_after_right", "share")
        content: dict[str, Any] = {name: plain(getattr(self, name)) for name in names}
        for name in ("rates", "rates_after_right"):
            rates = getattr(self, name)
            content[name] = None if rates is None else [rate.to_dict() for rate in rates]
        return content


def offset_errors(
    predictions: Any,
    frames: FrameSets,
    *,
    k: int = 10,
    missing: str = "error",
    confidence: float = 0.95,
    seed: int = 0,
) -> OffsetErrors:
    r"""How often a frame is wrong, by its offset from the anchor.

    .. math::

        e(d) = \frac{\#\{i : f(a_i) \in Y(a_i),\ f(b_{i,d}) \notin Y(b_{i,d})\}}
                    {\#\{i : f(a_i) \in Y(a_i),\ b_{i,d} \in N_k(a_i)\}}

    with :math:`b_{i,d}` the frame at offset d of anchor i, where there is one. The source's figure does not say what it
    divides by, so the condition that the anchor is right is left out in a second version, and `share` has the wrong
    frames in parts of their sum. The two answer unlike questions: whether a right answer is lost with distance, and
    whether frames far away are harder.

    Parameters
    ----------
    predictions
        As for `score`; an int array of shape (..., frames) holds many models.
    frames : FrameSets
        Sets with offsets.
    k : int
        Largest offset, 10 by default.
    missing : str
        "error" (default), "wrong" or "skip", as for `score`.
    confidence, seed
        Of the intervals for one model: Clopper-Pearson with one anchor per group, else a bootstrap over groups.

    Returns
    -------
    OffsetErrors

    Raises
    ------
    InputError
        No offsets, no frame within k, or what `score` refuses.

    Examples
    --------
    >>> frames = FrameSets({"v/3": ["v/2", "v/4"], "w/3": ["w/4"]}, {"v/3": [0], "w/3": [1]})
    >>> found = offset_errors({"v/3": 0, "v/2": 0, "v/4": 1, "w/3": 0, "w/4": 0}, frames)
    >>> found
    OffsetErrors(2 offsets from -1 to 1)
    >>> found.error_after_right, found.error
    (array([0., 1.]), array([0., 1.]))
    >>> found.n_after_right, found.n
    (array([1, 1]), array([1, 2]))
    """
    check_sets(frames)
    if frames.offset is None:
        raise InputError("frames has no offsets: give them, or number the frames in their keys")
    judged = Judged.of(predictions, frames, k=k, missing=missing)
    near = frames.within(k)
    offset = np.unique(frames.offset[near])
    if not offset.size:
        raise InputError(f"k is {k}: no frame lies so near to its anchor")
    right = judged.right[..., frames.row]
    marks = [judged.wrong_pair, judged.pair_counts, judged.wrong_pair & right, judged.pair_counts & right]
    counts = [np.stack([mark[..., frames.offset == d].sum(axis=-1) for d in offset], axis=-1) for mark in marks]
    rates: list[tuple[Rate, ...] | None] = [None, None]
    if right.ndim == 1:
        places = [np.flatnonzero(frames.offset == d) for d in offset]
        rates = [
            tuple(_rate(wrong[at], n[at], frames.row[at], frames, confidence, seed) for at in places)
            for wrong, n in (marks[:2], marks[2:])
        ]
    return OffsetErrors(offset, counts[0], counts[1], counts[2], counts[3], rates[0], rates[1])


def _rate(wrong: np.ndarray, n: np.ndarray, row: np.ndarray, frames: FrameSets, confidence: float, seed: int) -> Rate:
    """One offset has at most one frame of an anchor: only anchors of one group depend on each other."""
    count, total = int(wrong.sum()), int(n.sum())
    if frames.group is None or len(frames.group_names) == frames.n or not total:
        return Rate.of(count, total, confidence=confidence)
    group = frames.group[row]
    sums = (by_group(marks, group, len(frames.group_names)) for marks in (wrong, n))
    found = ratio(*sums, confidence=confidence, seed=seed, nothing="no frames")
    return Rate(count, total, count / total, found.interval, found.reason)


def _share(count: np.ndarray, n: np.ndarray) -> np.ndarray:
    count, n = np.broadcast_arrays(count, n)
    return np.divide(count, n, out=np.full(count.shape, np.nan), where=n > 0)
