"""Average precision of detections: of every frame by itself, and pooled over frames, as COCO measures it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from .. import arrays
from ..uncertainty import Interval
from .boxes import Boxes, Detections
from .matching import Matches, match

#: The recall points of COCO, with the binary fractions that its own code has.
RECALL_POINTS = np.linspace(0.0, 1.0, 101)
AVERAGES = ("recall_points", "area")


@dataclass(frozen=True)
class MeanAP:
    """Mean average precision over the categories that have ground truth; see `mean_ap`.

    Attributes
    ----------
    value : float or None
        In [0, 1]; None with `reason` where no frame has ground truth.
    by_category : mapping of int to float or None
        Average precision of each category; None where it has no ground truth.
    frames, objects : int
        Frames that were pooled, and ground truth boxes in them, crowds not counted.
    interval : tuple of float or None
        Confidence interval of `value`, or None with `reason`.
    reason : str or None
        Why the value or the interval is missing.
    """

    value: float | None
    by_category: Mapping[int, float | None]
    frames: int
    objects: int
    interval: Interval | None
    reason: str | None = None

    def __repr__(self) -> str:
        """The headline; `by_category` has the rest."""
        if self.value is None:
            return f"MeanAP(undefined: {self.reason})"
        interval = "" if self.interval is None else " [{:.4f}, {:.4f}]".format(*self.interval)
        measured = sum(value is not None for value in self.by_category.values())
        return (
            f"MeanAP({self.value:.4f}{interval}, {measured} categories, {self.objects} objects in {self.frames} frames)"
        )

    def to_dict(self) -> dict[str, Any]:
        """The fields as valid JSON."""
        return {
            "value": self.value,
            "by_category": {str(number): value for number, value in self.by_category.items()},
            "frames": self.frames,
            "objects": self.objects,
            "interval": None if self.interval is None else list(self.interval),
            "reason": self.reason,
        }


def frame_ap(
    predictions: Detections,
    truth: Boxes,
    *,
    iou: float | Sequence[float] = 0.5,
    average: str = "recall_points",
    max_detections: int = 100,
    area_range: str | Sequence[float] = "all",
    merge: bool = False,
) -> dict[str, float | None]:
    r"""Average precision of every frame by itself.

    .. math:: s(b) = \frac{1}{|C_b|} \sum_{c \in C_b} \mathrm{AP}_c(\{b\}),

    the mean over the categories :math:`C_b` that have ground truth in frame b, each measured as if b were the whole
    data set. Equal to one pycocotools evaluation per frame, but made for many frames at once.

    Parameters
    ----------
    predictions : Detections
        What the detector says; it must have seen every frame of `truth`.
    truth : Boxes
        Ground truth. A crowd is no object to find, and boxes that match nothing better than a crowd do not count.
    iou : float or sequence of float
        Overlap (intersection over union) from which a box counts as found, in (0, 1]: 0.5 by default, as the source
        measures. With several, the mean of the average precisions at each; COCO's own metric has .50, .55, ... .95.
    average : {"recall_points", "area"}
        Precision made non-increasing in recall, then averaged over COCO's 101 recall points 0, .01, ..., 1 (default),
        or integrated over recall exactly.
    max_detections : int
        The highest scores kept per frame and category, 100 by default as in COCO.
    area_range : {"all", "small", "medium", "large"} or (float, float)
        Objects to find, by area in square pixels: all (default), COCO's small ones to 32 x 32, medium ones from there
        to 96 x 96, large ones above, or those between two areas of your own. Objects outside need not be found, and a
        box does not count that finds one of these, or that finds nothing and is outside itself.
    merge : bool
        Take all categories for one: localisation. False by default.

    Returns
    -------
    dict of str to float or None
        In [0, 1] for each frame of `truth`; None where it has no object to find.

    Raises
    ------
    InputError
        Something else than `Detections` and `Boxes`, a frame that the detector has not seen, a category that the truth
        does not know, a threshold outside (0, 1], an unknown average or range of areas, fewer than one detection.

    Notes
    -----
    Detections take the free object they overlap most, in the order of their scores; equal scores keep the order they
    are given in (after categories, where these are merged), and of objects overlapped equally the last is taken. Both
    ends of a range of areas belong to it; those of COCO that have no end here end at 1e10 square pixels there.

    References
    ----------
    Lin et al. (2014), Microsoft COCO: Common Objects in Context; its evaluation code, ``cocoeval.py`` of pycocotools.

    Examples
    --------
    Two objects and three boxes, the second box a miss: precision 1 up to recall 1/2, then 2/3.

    >>> truth = Boxes.of({"a": ([1, 1], [[0, 0, 10, 10], [50, 0, 10, 10]]), "b": ([], [])})
    >>> found = [[0, 0, 10, 10], [20, 0, 10, 10], [50, 0, 10, 10]]
    >>> said = Detections.of({"a": ([1, 1, 1], found, [0.9, 0.8, 0.7]), "b": ([], [], [])})
    >>> round(frame_ap(said, truth)["a"], 6), round((51 + 50 * 2 / 3) / 101, 6)
    (0.834983, 0.834983)
    >>> frame_ap(said, truth, average="area")
    {'a': 0.8333333333333333, 'b': None}
    """
    matches = match(predictions, truth, iou=iou, max_detections=max_detections, area_range=area_range, merge=merge)
    return {
        key: None if np.isnan(ap) else float(ap)
        for key, ap in zip(matches.keys, ap_by_frame(matches, average), strict=True)
    }


def mean_ap(
    predictions: Detections,
    truth: Boxes,
    *,
    iou: float | Sequence[float] = 0.5,
    average: str = "recall_points",
    max_detections: int = 100,
    area_range: str | Sequence[float] = "all",
    merge: bool = False,
) -> MeanAP:
    r"""Mean average precision (mAP) over all frames of the ground truth, pooled.

    .. math:: \mathrm{mAP} = \frac{1}{|C|} \sum_{c \in C} \mathrm{AP}_c,

    where each :math:`\mathrm{AP}_c` ranks the boxes of category c of all frames together, and C are the categories with
    ground truth. It is not the mean of `frame_ap`: a box of a low score in one frame counts against one of a high score
    in another.

    Parameters
    ----------
    predictions, truth, iou, average, max_detections, area_range, merge
        As for `frame_ap`.

    Returns
    -------
    MeanAP
        Without an interval: frames of one video are no independent draws, and only `detection` knows the videos.

    Raises
    ------
    InputError
        As `frame_ap`.

    References
    ----------
    As for `frame_ap`.

    Examples
    --------
    >>> truth = Boxes.of({"a": ([1], [[0, 0, 10, 10]]), "b": ([1], [[0, 0, 10, 10]])})
    >>> said = Detections.of({"a": ([1], [[0, 0, 10, 10]], [0.5]), "b": ([1], [[20, 0, 10, 10]], [0.9])})
    >>> mean_ap(said, truth)
    MeanAP(0.2525, 1 categories, 2 objects in 2 frames)
    >>> frame_ap(said, truth)
    {'a': 1.0, 'b': 0.0}
    """
    matches = match(predictions, truth, iou=iou, max_detections=max_detections, area_range=area_range, merge=merge)
    everywhere = np.arange(len(matches.keys))
    once = np.ones((1, len(everywhere)))
    return Pool(matches, everywhere, average).mean_ap(
        once, None, "frames of one video are no independent draws: detection() resamples whole groups"
    )


def ap_by_frame(matches: Matches, average: str) -> np.ndarray:
    """Average precision of every frame, NaN where it has no ground truth."""
    arrays.one_of(average, "average", AVERAGES)
    width = len(matches.categories)
    cells, objects = np.unique(matches.truth_frame * width + matches.truth_category, return_counts=True)
    of_detection = matches.frame * width + matches.category
    cell = np.searchsorted(cells, of_detection)
    known = np.isin(of_detection, cells)
    total = np.zeros(len(cells))
    for hit, counts in zip(matches.hit, matches.counts, strict=True):
        rows = known & counts
        total += _cell_ap(cell[rows], hit[rows], objects, average)
    frame = cells // width
    count = arrays.counts(frame, minlength=len(matches.keys)).astype(float)
    count[count == 0] = np.nan
    ap: np.ndarray = arrays.counts(frame, total / len(matches.hit), minlength=len(matches.keys)) / count
    return ap


class Pool:
    """Detections of some frames in one ranking per category, for any weights of the frames.

    A frame of weight w counts as w frames that are all alike.
    """

    def __init__(self, matches: Matches, frames: np.ndarray, average: str) -> None:
        arrays.one_of(average, "average", AVERAGES)
        self.categories, self.average = matches.categories, average
        place = np.full(len(matches.keys), -1)
        place[frames] = np.arange(len(frames))
        chosen = place[matches.frame] >= 0
        truth = place[matches.truth_frame]
        self.objects = [truth[(truth >= 0) & (matches.truth_category == c)] for c in range(len(matches.categories))]
        self.rankings: list[list[_Ranking]] = []  # by category, then threshold
        for c in range(len(matches.categories)):
            rows = np.flatnonzero(chosen & (matches.category == c))
            rows = rows[np.argsort(-matches.score[rows], kind="stable")]
            kept = [rows[counts[rows]] for counts in matches.counts]
            self.rankings.append(
                [
                    _Ranking.of(place[matches.frame[at]], hit[at], len(frames))
                    for at, hit in zip(kept, matches.hit, strict=True)
                ]
            )

    def ap(self, weights: np.ndarray) -> np.ndarray:
        """Average precision for each row of weights (replicates, frames), shape (replicates, categories), or NaN."""
        found = np.full((len(weights), len(self.categories)), np.nan)
        by_frame = np.ascontiguousarray(weights.T)
        for c, (objects, rankings) in enumerate(zip(self.objects, self.rankings, strict=True)):
            count = by_frame[objects].sum(axis=0)
            there = count > 0
            if there.any():
                each = [ranking.ap(by_frame[:, there], count[there], self.average) for ranking in rankings]
                found[there, c] = np.mean(each, axis=0)
        return found

    def mean_ap(self, weights: np.ndarray, interval: Interval | None, reason: str | None) -> MeanAP:
        """The mean over categories for one row of whole weights, with an interval or the reason why it has none."""
        by_category = self.ap(weights)[0]
        value = mean_over_categories(by_category[None])[0]
        frames, objects = int(weights.sum()), int(sum(weights[0, objects].sum() for objects in self.objects))
        listing = {
            number: None if np.isnan(ap) else float(ap) for number, ap in zip(self.categories, by_category, strict=True)
        }
        if np.isnan(value):
            return MeanAP(None, listing, frames, objects, None, "no frame has ground truth")
        return MeanAP(float(value), listing, frames, objects, interval, reason)


def mean_over_categories(ap: np.ndarray) -> np.ndarray:
    """Mean over the categories that are defined, row by row; NaN where none is."""
    defined = ~np.isnan(ap)
    count = defined.sum(axis=1)
    mean: np.ndarray = np.where(defined, ap, 0.0).sum(axis=1) / np.where(count, count, np.nan)
    return mean


def _cell_ap(cell: np.ndarray, hit: np.ndarray, objects: np.ndarray, average: str) -> np.ndarray:
    """Average precision of each cell; detections ordered by cell and falling score."""
    begin = np.searchsorted(cell, cell)
    found = np.cumsum(hit)
    before = np.concatenate([[0], found])[begin]
    found, rank, cell = (found - before)[hit], (np.arange(len(cell)) - begin + 1)[hit], cell[hit]
    precision = _falling(cell, found / rank)
    gain = _reached(found / objects[cell], average) - _reached((found - 1) / objects[cell], average)
    return arrays.counts(cell, gain * precision, minlength=len(objects))


def _falling(cell: np.ndarray, precision: np.ndarray) -> np.ndarray:
    """The highest precision from here to the end of the cell.

    Precisions are replaced by their ranks, to which a multiple of the cell can be added without rounding.
    """
    values, rank = np.unique(precision, return_inverse=True)
    width = len(values)
    raised = rank - cell * width
    best: np.ndarray = np.maximum.accumulate(raised[::-1])[::-1] + cell * width
    return values[best]


@dataclass(frozen=True)
class _Ranking:
    """The hits of one ranking: the frame of each, and how many boxes of which frame come up to it from the last."""

    frame: np.ndarray
    boxes: sparse.csr_array

    @classmethod
    def of(cls, frame: np.ndarray, hit: np.ndarray, frames: int) -> _Ranking:
        """From the frame and the success of each box, by falling score; boxes below the last hit change nothing."""
        stretch = np.cumsum(hit) - hit
        hits = int(hit.sum())
        rows = stretch < hits
        ones = np.ones(int(rows.sum()))
        return cls(frame[hit], sparse.csr_array((ones, (stretch[rows], frame[rows])), shape=(hits, frames)))

    def ap(self, weights: np.ndarray, objects: np.ndarray, average: str) -> np.ndarray:
        """Average precision for each column of weights (frames, replicates); `objects` counts what could be found."""
        if not len(self.frame):
            return np.zeros(weights.shape[1])
        seen = np.cumsum(self.boxes @ weights, axis=0)
        found = np.cumsum(weights[self.frame], axis=0)
        precision = np.divide(found, seen, out=np.zeros_like(found), where=seen > 0)
        precision = np.maximum.accumulate(precision[::-1], axis=0)[::-1]
        reached = _reached(found / objects, average)
        ap: np.ndarray = np.sum(np.diff(reached, axis=0, prepend=0.0) * precision, axis=0)
        return ap


def _reached(recall: np.ndarray, average: str) -> np.ndarray:
    """Share of the recall axis that lies at or below a recall; none before the first object is found."""
    if average == "area":
        return recall
    share: np.ndarray = np.searchsorted(RECALL_POINTS, recall, side="right") / len(RECALL_POINTS)
    return np.where(recall > 0, share, 0.0)
