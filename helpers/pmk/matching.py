"""Which detection found which object: COCO's greedy matching, for all frames and categories at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from .. import arrays
from ..errors import InputError, brief, listed
from .boxes import Boxes, Detections, refuse_unknown_category
from .inputs import places_of

#: COCO's ranges of areas in square pixels, both ends inside; its own "all" and "large" end at 1e10.
AREA_RANGES = {
    "all": (0.0, math.inf),
    "small": (0.0, 32.0**2),
    "medium": (32.0**2, 96.0**2),
    "large": (96.0**2, math.inf),
}
#: A pair of boxes holds some 100 bytes while their overlap is measured.
PAIRS_AT_ONCE = 500_000


@dataclass(frozen=True)
class Matches:
    """Which detections of which frames found an object, by overlap threshold.

    Detections are ordered by frame, then category, then falling score; `hit` and `counts` have shape
    (thresholds, detections). A detection that does not count lies in a crowd, or found an object outside the range of
    areas, or found nothing and is outside the range itself.
    """

    keys: tuple[str, ...]
    categories: tuple[int, ...]
    frame: np.ndarray
    category: np.ndarray
    score: np.ndarray
    hit: np.ndarray
    counts: np.ndarray
    truth_frame: np.ndarray
    truth_category: np.ndarray


def match(
    predictions: Detections,
    truth: Boxes,
    *,
    keys: Sequence[str] | None = None,
    iou: float | Sequence[float],
    max_detections: int,
    area_range: str | Sequence[float] = "all",
    merge: bool,
) -> Matches:
    """Match the detections of the frames `keys` (by default all of the truth) to their objects; see `frame_ap`."""
    # as in COCO, a box that lies exactly on its object reaches the threshold 1 in spite of rounding
    thresholds = [min(threshold, 1 - 1e-10) for threshold in check_thresholds(iou)]
    arrays.whole_number(max_detections, "max_detections", least=1)
    area_range = check_area_range(area_range)
    if not isinstance(predictions, Detections):
        raise InputError(f"predictions is a {type(predictions).__name__}: give Detections")
    if not isinstance(truth, Boxes):
        raise InputError(f"truth is a {type(truth).__name__}: give Boxes")
    refuse_unknown_category(
        predictions.category, predictions.frame, predictions.frames, truth.categories, "category of predictions"
    )
    keys = truth.frames if keys is None else _ordered_as(keys, truth)
    numbers = np.array(list(truth.categories), dtype=np.int64)
    said = _rows(predictions, predictions.score, keys, numbers, merge, "predictions")
    kept = np.arange(len(said.cell)) - np.searchsorted(said.cell, said.cell) < max_detections
    said = said.take(kept)
    there = _rows(truth, np.zeros(len(truth.frame)), keys, numbers, merge, "truth")
    crowd = truth.crowd[there.source]
    ignored = crowd | _outside(truth.area[there.source], area_range)
    inside = ~_outside(said.box[:, 2] * said.box[:, 3], area_range)
    pairs = _overlapping(said, there, crowd, ignored, min(thresholds))
    matched = [_assign(said, crowd, ignored, inside, *pairs, t) for t in thresholds]
    hit, counts = (np.stack(each) for each in zip(*matched, strict=True))
    width = 1 if merge else max(1, len(numbers))
    return Matches(
        tuple(keys),
        (0,) if merge else tuple(truth.categories),
        said.cell // width,
        said.cell % width,
        said.score,
        hit,
        counts,
        there.cell[~ignored] // width,
        there.cell[~ignored] % width,
    )


def check_thresholds(iou: float | Sequence[float]) -> list[float]:
    """Overlap thresholds as a list of numbers in (0, 1]."""
    values = [iou] if isinstance(iou, Real) else list(np.atleast_1d(np.asarray(iou, dtype=object)))
    if not values:
        raise InputError("iou is empty: give at least one threshold")
    for value in values:
        if not arrays.is_number(value) or not 0.0 < float(value) <= 1.0:
            raise InputError(f"iou has {value!r}: an overlap threshold lies above 0 and at most at 1")
    return [float(value) for value in values]


def check_area_range(area_range: str | Sequence[float]) -> str | list[float]:
    """A named range of areas, or its two ends."""
    if isinstance(area_range, str) and area_range in AREA_RANGES:
        return area_range
    ends: list[Any] = [] if isinstance(area_range, str) or not isinstance(area_range, Sequence) else list(area_range)
    if len(ends) != 2 or not all(map(arrays.is_number, ends)) or not 0.0 <= ends[0] <= ends[1]:
        raise InputError(
            f"area_range is {brief(area_range)}: choose one of {', '.join(AREA_RANGES)}, or give the least and the "
            "largest area in square pixels"
        )
    return [float(end) for end in ends]


def _outside(area: np.ndarray, area_range: str | Sequence[float]) -> np.ndarray:
    least, most = AREA_RANGES[area_range] if isinstance(area_range, str) else area_range
    outside: np.ndarray = (area < least) | (area > most)
    return outside


def _ordered_as(keys: Sequence[str], truth: Boxes) -> list[str]:
    """The keys in the order of the ground truth, which settles ties between frames."""
    place = {key: i for i, key in enumerate(truth.frames)}
    absent = [key for key in keys if key not in place]
    if absent:
        raise InputError(
            f"truth lacks {len(absent)} of {len(keys)} frames: {listed(absent)}; list a frame without objects among "
            "its frames"
        )
    return sorted(keys, key=place.__getitem__)


@dataclass(frozen=True)
class _Rows:
    """Boxes ordered by cell (frame and category), then falling score, then category, then as given."""

    cell: np.ndarray
    box: np.ndarray
    score: np.ndarray
    source: np.ndarray

    def take(self, kept: np.ndarray) -> _Rows:
        return _Rows(self.cell[kept], self.box[kept], self.score[kept], self.source[kept])


def _rows(
    record: Boxes | Detections, score: np.ndarray, keys: Sequence[str], numbers: np.ndarray, merge: bool, name: str
) -> _Rows:
    seen = set(record.frames)
    absent = [key for key in keys if key not in seen]
    if absent:
        raise InputError(
            f"{name} lacks {len(absent)} of {len(keys)} frames: {listed(absent)}; run the detector on them, and list a "
            "frame in which it finds nothing without a box"
        )
    frame = places_of(record.frames, keys)[record.frame]
    source = np.flatnonzero(frame >= 0)
    frame, category = frame[source], np.searchsorted(numbers, record.category[source])
    cell = frame if merge else frame * max(1, len(numbers)) + category
    order = np.lexsort((category, -score[source], cell))
    source = source[order]
    return _Rows(cell[order], record.box[source], score[source], source)


def _overlapping(
    said: _Rows, there: _Rows, crowd: np.ndarray, ignored: np.ndarray, least: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pairs of detection and object in one cell that overlap by at least `least`, best object first.

    Objects come before ignored ones, then the larger overlap, then the later one: the order in which COCO prefers them.
    """
    first = np.searchsorted(there.cell, said.cell, side="left")
    count = np.searchsorted(there.cell, said.cell, side="right") - first

    def tile(start: int, stop: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        n = count[start:stop]
        detection = arrays.repeat(np.arange(start, stop), n)
        target = np.arange(len(detection)) + arrays.repeat(first[start:stop] - (np.cumsum(n) - n), n)
        overlap = _iou(said.box[detection], there.box[target], crowd[target])
        kept = overlap >= least
        return detection[kept], target[kept], overlap[kept]

    rows = max(1, PAIRS_AT_ONCE // max(1, int(count.max(initial=0))))
    tiles = arrays.map_tiles(tile, len(count), rows) or [tile(0, 0)]
    detection, target, overlap = (np.concatenate(each) for each in zip(*tiles, strict=True))
    order = np.lexsort((-target, -overlap, ignored[target], detection))
    return detection[order], target[order], overlap[order]


def _iou(said: np.ndarray, there: np.ndarray, crowd: np.ndarray) -> np.ndarray:
    """Intersection over union, row by row; of a crowd over the area of the detection. As pycocotools rounds it."""
    sides = np.minimum(said[:, :2] + said[:, 2:], there[:, :2] + there[:, 2:]) - np.maximum(said[:, :2], there[:, :2])
    common = np.where((sides > 0).all(axis=1), sides[:, 0] * sides[:, 1], 0.0)
    area = said[:, 2] * said[:, 3]
    whole = np.where(crowd, area, area + there[:, 2] * there[:, 3] - common)
    overlap: np.ndarray = np.divide(common, whole, out=np.zeros(len(common)), where=common > 0)
    return overlap


def _assign(
    said: _Rows,
    crowd: np.ndarray,
    ignored: np.ndarray,
    inside: np.ndarray,
    detection: np.ndarray,
    target: np.ndarray,
    overlap: np.ndarray,
    threshold: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Which detections find an object, and which count at all.

    In each turn every cell gives its next detection the best object that is still free; a crowd is never used up. One
    that gets an ignored object does not count, nor does one that gets none and lies outside the range of areas.
    """
    hit, counts = np.zeros(len(said.cell), dtype=bool), inside.copy()
    taken = np.zeros(len(crowd), dtype=bool)
    near = overlap >= threshold
    detection, target = detection[near], target[near]
    for turn in _turns(said.cell, detection):
        free = turn[~taken[target[turn]] | crowd[target[turn]]]
        best = free[_is_first(detection[free])]
        won, object_ = detection[best], target[best]
        taken[object_] = True
        hit[won] = counts[won] = ~ignored[object_]
    return hit, counts


def _turns(cell: np.ndarray, detection: np.ndarray) -> list[np.ndarray]:
    """The pairs in which the first detection of each cell has part, those of the second, and so on."""
    if not len(detection):
        return []
    is_first = _is_first(detection)
    own_cell = cell[detection[is_first]]
    turn = (np.arange(len(own_cell)) - np.searchsorted(own_cell, own_cell))[np.cumsum(is_first) - 1]
    order = np.argsort(turn, kind="stable")
    return np.split(order, np.cumsum(arrays.counts(turn))[:-1])


def _is_first(values: np.ndarray) -> np.ndarray:
    """Where a new value begins in sorted values."""
    return np.concatenate([np.ones(len(values[:1]), dtype=bool), values[1:] != values[:-1]])
