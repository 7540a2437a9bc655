"""PM-k of detectors: what is left of the mean average precision when each anchor gives way to its worst frame?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import ndtri

from .. import arrays, uncertainty
from ..errors import listed
from ..results import Metric
from ..uncertainty import Interval
from .boxes import Boxes, Detections
from .inputs import places_of
from .matching import Matches, check_area_range, check_thresholds, match
from .precision import MeanAP, Pool, ap_by_frame, mean_over_categories
from .record import FrameSets, check_sets
from .resampling import FEW_GROUPS, REPLICATES

#: Average precisions that agree to this many decimals are the same number, summed in another order.
DECIMALS = 12
#: With objects in fewer groups than this to a category on average, a bootstrap sees too little of each.
FEW_PER_CATEGORY = 5


@dataclass(frozen=True, repr=False, eq=False)
class DetectionScore:
    """Mean average precision over anchors and over the worst frames of their sets; see `detection`.

    Attributes
    ----------
    task : str
        ``detection``, or ``localisation`` where all categories are one.
    original : MeanAP
        Pooled over the anchors.
    perturbed : MeanAP
        Pooled over the worst frame of each set. It can exceed `original`: frames are chosen one by one, and pooled
        boxes compete across frames.
    drop : results.Metric
        original less perturbed, with its interval.
    worst : mapping of str to str
        The chosen frame of each anchor.
    frame_ap : mapping of str to float or None
        Average precision of each frame of the sets by itself; None without ground truth.
    n : int
        Anchors.
    moved : int
        Sets whose worst frame is not the anchor.
    without_truth : tuple of str
        Anchors in whose set no frame has ground truth. Nothing tells its frames apart, so the anchor keeps its place:
        its false boxes count in `original` and in `perturbed` alike, and the drop is one of the same n sets.
    frames_without_truth : int
        Frames of the sets without ground truth: none of them takes an anchor's place.
    k : int or None
        Largest distance from the anchor; None where frames have no offsets, so that whole sets were used.
    settings : mapping
        ``iou`` (a list), ``average``, ``max_detections`` and ``area_range`` as asked for.
    notes : tuple of str
        What deserves a word.
    """

    task: str
    original: MeanAP
    perturbed: MeanAP
    drop: Metric
    worst: Mapping[str, str]
    frame_ap: Mapping[str, float | None]
    n: int
    moved: int
    without_truth: tuple[str, ...]
    frames_without_truth: int
    k: int | None
    settings: Mapping[str, Any]
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """The headline; `to_dict` has more."""
        values = [self.original.value, self.perturbed.value, self.drop.value]
        original, perturbed, drop = ("undefined" if v is None else f"{v:.4f}" for v in values)
        reach = "whole sets" if self.k is None else f"k={self.k}"
        return (
            f"DetectionScore({self.task}, mAP {original} over {self.n} anchors, {perturbed} over their worst frames "
            f"({reach}), drop {drop}, {self.moved} sets moved)"
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything but the single frames, as valid JSON."""
        return {
            "task": self.task,
            "original": self.original.to_dict(),
            "perturbed": self.perturbed.to_dict(),
            "drop": self.drop.to_dict(),
            "n": self.n,
            "moved": self.moved,
            "without_truth": list(self.without_truth),
            "frames_without_truth": self.frames_without_truth,
            "k": self.k,
            **self.settings,
            "notes": list(self.notes),
        }


def detection(
    predictions: Detections,
    truth: Boxes,
    frames: FrameSets | Mapping[str, Sequence[str]],
    *,
    k: int = 10,
    iou: float | Sequence[float] = 0.5,
    average: str = "recall_points",
    max_detections: int = 100,
    area_range: str | Sequence[float] = "all",
    confidence: float = 0.95,
    seed: int = 0,
) -> DetectionScore:
    r"""PM-k detection: mean average precision when each anchor is replaced by the worst frame of its set.

    .. math:: b_i^* = \arg\min_{b \in \mathcal{N}_k(a_i) \cup \{a_i\}} s(b), \qquad
       \mathrm{mAP}_{\mathrm{pmk}} = \mathrm{mAP}(\{b_1^*, \ldots, b_n^*\}),

    with s(b) the average precision of frame b by itself, see `frame_ap`, and the pooled mAP of `mean_ap`. Equal values
    keep the anchor, then the frame that its set lists first. A frame chosen for several anchors counts as often.

    A frame without ground truth has no average precision: it takes no anchor's place, and as an anchor gives way to the
    least of those that have some. Where no frame of a set has any, the anchor stays. So both means pool one frame of
    every set, false boxes of empty frames included, and the drop is one of the same sets.

    Parameters
    ----------
    predictions : Detections
        What the detector says of every frame of the sets; other frames are not used.
    truth : Boxes
        Ground truth of every frame of the sets.
    frames : FrameSets, or mapping of str to sequence of str
        The similar frames of each anchor. Class labels play no part, so that the bare sets will do; offsets and groups
        that are not in the keys come with `FrameSets`.
    k : int
        Largest distance from the anchor in frames, 10 by default as in the source; not applied without offsets.
    iou, average, max_detections, area_range
        As for `frame_ap`: overlap .5, 101 recall points and objects of every area by default, as the source. With a
        range of areas the objects within it are the ground truth that is spoken of here.
    confidence : float
        Level of the intervals, 0.95 by default.
    seed : int
        Of the bootstrap.

    Returns
    -------
    DetectionScore

    Raises
    ------
    InputError
        What `frame_ap` refuses; frames of the sets that predictions or truth lack, listed; a `k` below 1, a
        confidence outside (0, 1).

    Notes
    -----
    An interval is the normal one of a bootstrap: whole groups of sets are drawn (the anchors, where each is from a
    video of its own) and pooled anew, the same draw for original, perturbed and drop. The worst frame of a set depends
    on that set alone, so it stays. Average precision of few objects is too high; the draws tell by how much, and the
    interval is centred that much lower. Where simulated, with 7 to 35 groups to a category and values of .2 to .7, 95 %
    intervals held the value of a large population in 89 to 95 % of samples: they are rather too narrow. With fewer than
    ten groups in all, or five to a category on average, or where all draws agree, there is none.

    The source states the metric in words: the frame that minimises the average precision takes the anchor's place.

    References
    ----------
    Shankar et al. (2021), Do Image Classifiers Generalize Across Time?, section 3.2, detection.

    Examples
    --------
    The detector loses the object in the second frame.

    >>> truth = Boxes.of({name: ([1], [[0, 0, 10, 10]]) for name in ("a", "a2", "a3")})
    >>> said = Detections.of({
    ...     "a": ([1], [[0, 0, 10, 10]], [0.9]),
    ...     "a2": ([1], [[30, 0, 10, 10]], [0.9]),
    ...     "a3": ([1], [[0, 0, 10, 9]], [0.9]),
    ... })
    >>> score = detection(said, truth, {"a": ["a2", "a3"]})
    >>> score
    DetectionScore(detection, mAP 1.0000 over 1 anchors, 0.0000 over their worst frames (whole sets), drop 1.0000,
        1 sets moved)
    >>> score.worst, score.drop.reason
    ({'a': 'a2'}, '1 groups are too few for an interval: a bootstrap needs 10')
    """
    settings = {"iou": iou, "average": average, "max_detections": max_detections, "area_range": area_range}
    return _score("detection", predictions, truth, frames, k, settings, confidence, seed)


def localisation(
    predictions: Detections,
    truth: Boxes,
    frames: FrameSets | Mapping[str, Sequence[str]],
    *,
    k: int = 10,
    iou: float | Sequence[float] = 0.5,
    average: str = "recall_points",
    max_detections: int = 100,
    area_range: str | Sequence[float] = "all",
    confidence: float = 0.95,
    seed: int = 0,
) -> DetectionScore:
    """PM-k localisation: as `detection`, with all categories taken for one, so that only places count.

    A box is found whatever it is called. Worst frames are chosen anew, and may be others than those of `detection`.

    Parameters
    ----------
    predictions, truth, frames, k, iou, average, max_detections, area_range, confidence, seed
        As for `detection`; `max_detections` is now per frame.

    Returns
    -------
    DetectionScore
        In `by_category` the one category is number 0.

    Raises
    ------
    InputError
        As `detection`.

    References
    ----------
    Shankar et al. (2021), Do Image Classifiers Generalize Across Time?, section 4.2 and Table 3.

    Examples
    --------
    A dog (1) that is called a cat (2) is found all the same.

    >>> truth = Boxes.of({"a": ([1], [[0, 0, 10, 10]])}, categories={1: "dog", 2: "cat"})
    >>> said = Detections.of({"a": ([2], [[0, 0, 10, 10]], [0.9])})
    >>> [score(said, truth, {"a": []}).original.value for score in (detection, localisation)]
    [0.0, 1.0]
    """
    settings = {"iou": iou, "average": average, "max_detections": max_detections, "area_range": area_range}
    return _score("localisation", predictions, truth, frames, k, settings, confidence, seed)


def _score(
    task: str,
    predictions: Detections,
    truth: Boxes,
    frames: FrameSets | Mapping[str, Sequence[str]],
    k: int,
    settings: Mapping[str, Any],
    confidence: float,
    seed: int,
) -> DetectionScore:
    if isinstance(frames, Mapping):
        frames = FrameSets(frames, {anchor: [0] for anchor in frames})
    check_sets(frames)
    uncertainty.check_confidence(confidence)
    arrays.whole_number(seed, "seed", least=0)
    iou, area_range = check_thresholds(settings["iou"]), check_area_range(settings["area_range"])
    pairs = frames.within(k)
    used = np.union1d(frames.anchor, frames.member[pairs])
    matches = match(
        predictions,
        truth,
        keys=[frames.frames[i] for i in used],
        iou=iou,
        max_detections=settings["max_detections"],
        area_range=area_range,
        merge=task == "localisation",
    )
    at = places_of(frames.frames, matches.keys)
    ap = np.where(at < 0, np.nan, ap_by_frame(matches, settings["average"])[at])
    worst = _worst(ap, frames, pairs)
    nowhere = worst < 0
    worst = np.where(nowhere, frames.anchor, worst)
    original, perturbed, drop = _estimates(matches, at, worst, frames, settings["average"], confidence, seed)
    without_truth = tuple(frames.anchors[i] for i in np.flatnonzero(nowhere))
    return DetectionScore(
        task=task,
        original=original,
        perturbed=perturbed,
        drop=drop,
        worst={key: frames.frames[b] for key, b in zip(frames.anchors, worst, strict=True)},
        frame_ap={frames.frames[i]: None if np.isnan(ap[i]) else float(ap[i]) for i in used},
        n=frames.n,
        moved=int(np.count_nonzero(worst != frames.anchor)),
        without_truth=without_truth,
        frames_without_truth=int(np.isnan(ap[used]).sum()),
        k=None if frames.offset is None else k,
        settings={**settings, "iou": iou, "area_range": area_range},
        notes=tuple(_notes(frames, without_truth)),
    )


def _worst(ap: np.ndarray, frames: FrameSets, pairs: np.ndarray) -> np.ndarray:
    """The frame of least average precision of each set and its anchor, -1 where no frame has one."""
    row = np.concatenate([frames.anchor, frames.row[pairs]])
    frame = np.concatenate([frames.anchor, frames.member[pairs]])
    defined = ~np.isnan(ap[frame])
    row, frame = row[defined], frame[defined]
    # a stable sort keeps the anchor before its set, and the set in its order
    order = np.lexsort((np.round(ap[frame], DECIMALS), row))
    rows, first = np.unique(row[order], return_index=True)
    worst = np.full(frames.n, -1)
    worst[rows] = frame[order[first]]
    return worst


class _Sets:
    """One frame for each of some sets, pooled with weights of the groups that the sets belong to."""

    def __init__(self, matches: Matches, chosen: np.ndarray, group: np.ndarray, average: str) -> None:
        distinct, self.place = np.unique(chosen, return_inverse=True)
        self.order = np.argsort(self.place, kind="stable")
        self.start = np.flatnonzero(np.diff(self.place[self.order], prepend=-1))
        self.group = group
        self.pool = Pool(matches, distinct, average)

    def weights(self, weights: np.ndarray) -> np.ndarray:
        """Weight of each distinct frame, from weights of groups (replicates, groups)."""
        of_set = weights[:, self.group[self.order]]
        # without a single set there is nothing to add up
        return np.add.reduceat(of_set, self.start, axis=1) if of_set.shape[1] else of_set

    def draws(self, weights: np.ndarray) -> np.ndarray:
        """Mean average precision for each row of weights of groups, NaN where a draw has no ground truth."""
        return mean_over_categories(self.pool.ap(self.weights(weights)))

    def too_few(self, groups: int) -> str | None:
        """Why a bootstrap over groups would not tell enough, if so."""
        if groups < FEW_GROUPS:
            return f"{groups} groups are too few for an interval: a bootstrap needs {FEW_GROUPS}"
        spread = [len(np.unique(self.group[np.isin(self.place, objects)])) for objects in self.pool.objects]
        filled = [count for count in spread if count]
        if filled and np.mean(filled) < FEW_PER_CATEGORY:
            return (
                f"a category has objects in {np.mean(filled):.1f} groups on average, too few for an interval: "
                f"a bootstrap needs {FEW_PER_CATEGORY}"
            )
        return None


def _estimates(
    matches: Matches,
    at: np.ndarray,
    worst: np.ndarray,
    frames: FrameSets,
    average: str,
    confidence: float,
    seed: int,
) -> tuple[MeanAP, MeanAP, Metric]:
    """Original, perturbed and drop, each with the interval of one and the same bootstrap over groups."""
    group, count = (frames.anchor, frames.n) if frames.group is None else (frames.group, len(frames.group_names))
    anchors = _Sets(matches, at[frames.anchor], group, average)
    chosen = _Sets(matches, at[worst], group, average)
    original, perturbed = (
        sets.pool.mean_ap(sets.weights(np.ones((1, count))), None, sets.too_few(count)) for sets in (anchors, chosen)
    )
    if original.value is None or perturbed.value is None:
        return original, perturbed, Metric(None, "mAP", reason=original.reason or perturbed.reason)
    drop = Metric(original.value - perturbed.value, "mAP", reason=original.reason or perturbed.reason)
    if original.reason and perturbed.reason:
        return original, perturbed, drop
    rng = np.random.default_rng(seed)
    drawn = [(anchors.draws(w), chosen.draws(w)) for w in uncertainty.bootstrap_weights(count, REPLICATES, rng)]
    before, after = (np.concatenate(each) for each in zip(*drawn, strict=True))
    return (
        _with_interval(original, before, 0.0, confidence),
        _with_interval(perturbed, after, 0.0, confidence),
        _with_interval(drop, before - after, -1.0, confidence),
    )


def _with_interval(estimate: Any, draws: np.ndarray, least: float, confidence: float) -> Any:
    """The same mean average precision, or drop, with its interval, or with the reason why it has none."""
    if estimate.reason:
        return estimate
    known = draws[~np.isnan(draws)]  # a draw without ground truth defines no precision
    if np.ptp(np.round(known, DECIMALS)) == 0:
        return replace(estimate, reason="all groups are alike: resampling them shows no spread")
    return replace(estimate, interval=_interval(estimate.value, known, least, confidence))


def _interval(value: float, draws: np.ndarray, least: float, confidence: float) -> Interval:
    """Some standard errors to either side of the value less its bias, both from the draws, within the possible range.

    Not the percentiles of the draws: average precision of few objects is too high, and that of a draw, in which copies
    of a frame have equal scores, is higher by as much again. Percentiles can lie above the value altogether.
    """
    centre = 2.0 * value - float(np.mean(draws))
    error = float(np.std(draws, ddof=1)) * float(ndtri((1.0 + confidence) / 2.0))
    low, high = np.clip([centre - error, centre + error], least, 1.0).tolist()
    return low, high


def _notes(frames: FrameSets, without_truth: tuple[str, ...]) -> list[str]:
    notes = []
    if frames.offset is None:
        notes.append("frames have no offsets: k was not applied, whole sets were used")
    if without_truth:
        notes.append(
            f"{len(without_truth)} sets have no frame with ground truth and keep their anchors in both figures: "
            f"{listed(without_truth)}"
        )
    return notes
