"""PM-k: the accuracy on anchors, and on the worst frame within k frames of each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np

from .. import arrays, uncertainty
from ..errors import InputError, brief, listed
from ..uncertainty import Rate
from .inputs import is_class, places_of
from .record import MISSING, FrameSets, Predictions, aligned, check_aligned, check_sets, note
from .resampling import FEW_GROUPS, by_group, ratio

_AT_ONCE, _ALL = 8, 255  # models that are counted together, each a bit of a byte, and the byte of all of them


@dataclass(frozen=True)
class Score:
    """PM-k of one model: three shares of the n anchors, each with count, n, rate and interval.

    Attributes
    ----------
    k : int or None
        Frames within k of the anchor count; None where the sets have no offsets, so that all frames count.
    original, perturbed, drop : Rate
        Anchors that are right; anchors whose whole set is; the first less the second, with an interval of its own.
    by_offset : mapping of int to Rate
        At each offset, how often the frame is wrong where the anchor is right.
    include_anchor : bool
        Whether the anchor takes part in its own set.
    missing : str
        What was done about frames without a prediction.
    reachable : int or None
        Anchors with a label that the model can name at all; None where `score` was not told which classes those are.
    method : str
        How the intervals were found.
    confidence : float
        Their level.
    warnings : tuple of str
        What is unusual about the sets and the predictions.
    """

    k: int | None
    original: Rate
    perturbed: Rate
    drop: Rate
    by_offset: Mapping[int, Rate]
    include_anchor: bool
    missing: str
    reachable: int | None
    method: str
    confidence: float
    warnings: tuple[str, ...]

    @property
    def n(self) -> int:
        """Number of anchors that were scored."""
        return self.original.n

    def __repr__(self) -> str:
        k = "all frames" if self.k is None else f"k={self.k}"
        anchor = "" if self.include_anchor else ", anchors left out of their sets"
        return (
            f"Score({k}, n={self.n}: original {self.original.rate:.4f}, perturbed {self.perturbed.rate:.4f}, "
            f"drop {self.drop.rate:.4f}{anchor})"
        )

    def to_dict(self) -> dict[str, Any]:
        """The fields as valid JSON; offsets in a list."""
        return {
            "k": self.k,
            "n": self.n,
            "original": self.original.to_dict(),
            "perturbed": self.perturbed.to_dict(),
            "drop": self.drop.to_dict(),
            "by_offset": [{"offset": offset, **rate.to_dict()} for offset, rate in self.by_offset.items()],
            "include_anchor": self.include_anchor,
            "missing": self.missing,
            "reachable": self.reachable,
            "method": self.method,
            "confidence": self.confidence,
            "warnings": list(self.warnings),
        }


@overload
def score(
    predictions: Any,
    frames: FrameSets,
    *,
    k: int = 10,
    include_anchor: bool = True,
    missing: str = "error",
    reachable: Iterable[int] | None = None,
    confidence: float = 0.95,
    seed: int = 0,
) -> Score: ...


@overload
def score(
    predictions: Any,
    frames: FrameSets,
    *,
    k: Sequence[int],
    include_anchor: bool = True,
    missing: str = "error",
    reachable: Iterable[int] | None = None,
    confidence: float = 0.95,
    seed: int = 0,
) -> list[Score]: ...


def score(
    predictions: Any,
    frames: FrameSets,
    *,
    k: int | Sequence[int] = 10,
    include_anchor: bool = True,
    missing: str = "error",
    reachable: Iterable[int] | None = None,
    confidence: float = 0.95,
    seed: int = 0,
) -> Score | list[Score]:
    r"""Accuracy on anchors, accuracy on the worst frame near each, and the drop between them.

    .. math::

        \mathrm{acc_{orig}} = \frac1n \sum_i \mathbb 1[f(a_i) \in Y(a_i)], \qquad
        \mathrm{acc_{pmk}} = \frac1n \sum_i \min_{b \in N_k(a_i) \cup \{a_i\}} \mathbb 1[f(b) \in Y(b)],

    where N_k holds the similar frames at offsets of at most k, and Y the labels that judge a frame. The drop is never
    negative, and 0 for a model that always says the same: read it beside the accuracy.

    Parameters
    ----------
    predictions : mapping of str to int or to scores, Predictions, or array
        The class of every frame; of scores the largest wins, the first of equal ones. An array follows the order of
        ``frames.frames``: classes as whole numbers, shape (frames,), or scores as floats, shape (frames, classes).
    frames : FrameSets
        Anchors, their sets and labels.
    k : int or sequence of int
        Largest offset, 10 by default as in the source (about 0.3 s). Several are scored in one pass, and come back as a
        list. Without offsets `k` is not applied, and the result says so.
    include_anchor : bool
        Whether the anchor is one of the frames that must be right, as in the public evaluations (default). The source's
        formula leaves it out; the drop can then be negative. A set without frames counts by its anchor either way.
    missing : str
        "error" (default) refuses frames without a prediction and lists them; "wrong" counts them as wrong; "skip"
        leaves them out of their sets, and an anchor with its whole set.
    reachable : iterable of int, optional
        The classes that the model can name. Anchors none of whose labels is among them are lost from the start; see
        ``Score.reachable``.
    confidence : float
        Level of the intervals, 0.95 by default.
    seed : int
        Of the bootstrap, where there is one.

    Returns
    -------
    Score, or list of Score
        One for each k.

    Raises
    ------
    InputError
        What `aligned` refuses, predictions of several models, a `k` below 1, a reachable class that the sets do not
        know, or all anchors skipped.

    Notes
    -----
    With one anchor per group all intervals are exact (Clopper-Pearson); the drop is a binomial count itself, because an
    anchor whose set holds is right. With several anchors per group, which are not independent, they come from a
    bootstrap over groups; with fewer than ten groups there is none.

    References
    ----------
    Shankar, Dave, Roelofs, Ramanan, Recht and Schmidt (2021), Do image classifiers generalize across time?, ICCV.

    Examples
    --------
    >>> frames = FrameSets(
    ...     {"a": ["a-1", "a+1"], "b": ["b-2", "b+1"], "c": [], "d": ["d+1"]},
    ...     {"a": [0], "b": [1, 2], "c": [3], "d": [0]},
    ...     offsets={"a": [-1, 1], "b": [-2, 1], "d": [1]},
    ... )
    >>> predictions = {"a": 0, "a-1": 0, "a+1": 0, "b": 2, "b-2": 1, "b+1": 3, "c": 3, "d": 1, "d+1": 0}
    >>> score(predictions, frames, k=2)
    Score(k=2, n=4: original 0.7500, perturbed 0.5000, drop 0.2500)
    >>> score(predictions, frames, k=2, include_anchor=False)
    Score(k=2, n=4: original 0.7500, perturbed 0.7500, drop 0.0000, anchors left out of their sets)

    Frames may be anything that should be told alike, such as paraphrases of a question:

    >>> questions = FrameSets({"how old are you": ["what is your age"]}, {"how old are you": [0]}, classes=2)
    >>> score({"how old are you": 0, "what is your age": 1}, questions)
    Score(all frames, n=1: original 1.0000, perturbed 0.0000, drop 1.0000)
    """
    check_sets(frames)
    limits = _limits(k)
    arrays.truth(include_anchor, "include_anchor")
    uncertainty.check_confidence(confidence)
    arrays.whole_number(seed, "seed", least=0)
    if isinstance(predictions, Mapping):
        predictions = Predictions.of(predictions)
    classes = aligned(predictions, frames, missing=missing)
    if classes.ndim != 1:
        raise InputError(f"predictions has shape {classes.shape}: score one model at a time, or use counts for many")
    if np.ndim(predictions) == 2:
        predictions = Predictions(frames.frames, predictions)
    notes = [*frames.warnings, *_about_predictions(predictions, classes, frames, missing)]
    if missing == "skip" and (classes < 0).any():
        frames, classes = _without_missing(frames, classes)
    right, right_members = frames.correct(classes)
    beyond = _beyond(frames, limits)
    held = _held(right[None], right_members[None], frames, beyond, include_anchor=include_anchor)[:, 0]
    table = _Table(frames, right, right_members, held, max(limits), include_anchor)
    original, *rates = table.rates(confidence=confidence, seed=seed)
    by_k, at_offsets = rates[: 2 * len(limits)], rates[2 * len(limits) :]
    named = None if reachable is None else _reachable(frames, reachable)
    found = [
        Score(
            k=None if frames.offset is None else limit,
            original=original,
            perturbed=perturbed,
            drop=drop,
            by_offset={d: rate for d, rate in zip(table.offsets, at_offsets, strict=True) if abs(d) <= limit},
            include_anchor=include_anchor,
            missing=missing,
            reachable=named,
            method=table.method,
            confidence=confidence,
            warnings=(*notes, *_about_k(frames, limit)),
        )
        for limit, perturbed, drop in zip(limits, by_k[::2], by_k[1::2], strict=True)
    ]
    return found if isinstance(k, Sequence) else found[0]


def counts(
    predictions: Any,
    frames: FrameSets,
    *,
    k: int | Sequence[int] = 10,
    include_anchor: bool = True,
    missing: str = "error",
) -> tuple[np.ndarray, np.ndarray]:
    """How many anchors are right, and how many sets hold, for many models at once.

    Parameters
    ----------
    predictions
        As for `score`; an array may have leading axes, which are models: whole numbers of shape (..., frames), or
        floats of shape (..., frames, classes), which may be a memory map: a few models are read at a time.
    frames, k, include_anchor
        As for `score`.
    missing : str
        "error" (default) or "wrong"; n must be the same for all models.

    Returns
    -------
    tuple of int64 arrays
        Right anchors, shape (...,), and sets that hold, shape (...,) for one k and (..., number of k) for several.

    Raises
    ------
    InputError
        What `aligned` refuses, a `k` below 1, or missing="skip".

    Examples
    --------
    >>> frames = FrameSets({"v/1": ["v/2"], "w/1": ["w/3"]}, {"v/1": [0], "w/1": [1]})
    >>> original, perturbed = counts([[0, 1, 0, 0], [0, 1, 1, 1]], frames, k=[1, 2])
    >>> original
    array([2, 2])
    >>> perturbed
    array([[2, 1],
           [1, 1]])
    """
    if arrays.one_of(missing, "missing", MISSING) == "skip":
        raise InputError("missing is 'skip': models would be counted over unlike anchors; score them one by one")
    check_sets(frames)
    limits = _limits(k)
    arrays.truth(include_anchor, "include_anchor")
    if isinstance(predictions, Predictions | Mapping):
        predictions = aligned(predictions, frames, missing=missing)
    models, shape = check_aligned(predictions, frames)
    beyond = _beyond(frames, limits)
    original = np.empty(len(models), dtype=np.int64)
    perturbed = np.empty((len(models), len(limits)), dtype=np.int64)
    for start in range(0, len(models), _AT_ONCE):
        some = slice(start, start + _AT_ONCE)
        right, right_members = frames.correct(aligned(models[some], frames, missing=missing))
        held = _held(right, right_members, frames, beyond, include_anchor=include_anchor)
        original[some] = np.count_nonzero(right, axis=-1)
        perturbed[some] = np.count_nonzero(held, axis=-1).T
    many = perturbed.reshape(*shape, len(limits))
    return original.reshape(shape), many if isinstance(k, Sequence) else many[..., 0]


def _limits(k: int | Sequence[int]) -> list[int]:
    if not isinstance(k, Sequence):
        return [arrays.whole_number(k, "k", least=1)]
    if isinstance(k, str) or not k:
        raise InputError(f"k is {brief(k)}: give a whole number of frames, or a list of them")
    return [arrays.whole_number(limit, f"k[{i}]", least=1) for i, limit in enumerate(k)]


def _beyond(frames: FrameSets, limits: Sequence[int]) -> np.ndarray:
    """Which pairs do not count for each k, shape (number of k, pairs), as `_ALL` or 0."""
    return np.stack([np.where(frames.within(limit), 0, _ALL) for limit in limits]).astype(np.uint8)


def _held(
    right: np.ndarray, right_members: np.ndarray, frames: FrameSets, beyond: np.ndarray, *, include_anchor: bool
) -> np.ndarray:
    """Which sets hold for each k and each of at most eight models, shape (number of k, models, n).

    Model j is bit j of a byte for each pair, so that one pass over the pairs is enough for all models.
    """
    bit = (1 << np.arange(len(right))).astype(np.uint8)[:, None]
    members = (right_members.view(np.uint8) * bit).sum(axis=0, dtype=np.uint8)
    whole = (_shared_bits(members | beyond, frames)[:, None] & bit) > 0
    if include_anchor:
        return whole & right
    alone = _shared_bits(beyond, frames)[:, None] == _ALL
    return whole & (right | ~alone)


def _shared_bits(pairs: np.ndarray, frames: FrameSets) -> np.ndarray:
    """The bits that are set in all pairs of a set, shape (..., n); in an empty set all are."""
    filled = np.diff(frames.start) > 0
    # one more at the end, so that an empty last set has a place to start at
    padded = np.concatenate([pairs, np.full((len(pairs), 1), _ALL, np.uint8)], axis=1)
    shared = np.bitwise_and.reduceat(padded, frames.start[:-1], axis=1)
    shared[:, ~filled] = _ALL
    return shared


class _Table:
    """What is counted in each anchor, column by column: original, then perturbed and drop of each k, then offsets."""

    def __init__(
        self,
        frames: FrameSets,
        right: np.ndarray,
        right_members: np.ndarray,
        held: np.ndarray,
        furthest: int,
        include_anchor: bool,
    ) -> None:
        self.frames = frames
        self.offsets: list[int] = []
        columns = [right.astype(np.int64)]
        for one in held.astype(np.int64):
            columns += [one, columns[0] - one]
        counted, total = np.stack(columns, axis=1), np.ones((frames.n, len(columns)), dtype=np.int64)
        # a drop that can be negative is no binomial count
        self.exact = np.ones(len(columns), dtype=bool)
        self.exact[2::2] = include_anchor
        if frames.offset is not None:
            near = np.flatnonzero((np.abs(frames.offset) <= furthest) & right[frames.row])
            seen = frames.offset[np.abs(frames.offset) <= furthest]
            self.offsets = np.unique(seen).tolist()
            place = np.searchsorted(self.offsets, frames.offset[near])
            wrong = np.zeros((2, frames.n, len(self.offsets)), dtype=np.int64)
            wrong[0, frames.row[near], place] = ~right_members[near]
            wrong[1, frames.row[near], place] = 1
            counted, total = np.concatenate([counted, wrong[0]], axis=1), np.concatenate([total, wrong[1]], axis=1)
            self.exact = np.concatenate([self.exact, np.ones(len(self.offsets), dtype=bool)])
        self.counted, self.total = counted, total
        self.one_each = frames.group is None or len(frames.group_names) == frames.n
        self.method = "Clopper-Pearson, one anchor per group"
        if not self.one_each:
            self.method = f"bootstrap over {len(frames.group_names)} groups"
        elif not include_anchor:
            self.method += "; of the drop, which can be negative, bootstrap over anchors"

    def rates(self, *, confidence: float, seed: int) -> list[Rate]:
        """A rate for each column."""
        count, n = self.counted.sum(axis=0).tolist(), self.total.sum(axis=0).tolist()
        if self.one_each and self.exact.all():
            return [Rate.of(*pair, confidence=confidence) for pair in zip(count, n, strict=True)]
        resampled = self._resampled(confidence=confidence, seed=seed)
        return [
            Rate.of(count[j], n[j], confidence=confidence)
            if n[j] == 0 or (self.one_each and self.exact[j])
            else Rate(count[j], n[j], count[j] / n[j], *resampled[j])
            for j in range(len(count))
        ]

    def _resampled(self, *, confidence: float, seed: int) -> list[tuple[uncertainty.Interval | None, str | None]]:
        """Bootstrap interval over groups of each column, or the reason why there is none."""
        group, groups = self.frames.group, len(self.frames.group_names)
        top, bottom = (by_group(values.T, group, groups) for values in (self.counted, self.total))
        average = ratio(top, bottom, confidence=confidence, seed=seed, nothing="no rows to count")
        low, high = average.interval or np.full((2, len(top)), np.nan)
        found: list[tuple[uncertainty.Interval | None, str | None]] = []
        for contributing, *ends in zip(average.n.tolist(), low.tolist(), high.tolist(), strict=True):
            if contributing < FEW_GROUPS:
                found.append((None, f"{contributing} groups are too few to resample: {FEW_GROUPS} are needed"))
            elif ends[0] == ends[1]:
                found.append((None, "all groups are alike: resampling them shows no spread"))
            else:
                found.append(((ends[0], ends[1]), None))
        return found


def _without_missing(frames: FrameSets, classes: np.ndarray) -> tuple[FrameSets, np.ndarray]:
    """The sets without frames that have no prediction, and the predictions in their order."""
    there = classes >= 0
    if not there[: frames.n].any():
        raise InputError("predictions has none for any anchor: with missing='skip' nothing is left to score")
    kept = frames.subset(there[frames.anchor], there[frames.member])
    return kept, classes[places_of(kept.frames, frames.frames)]


def _reachable(frames: FrameSets, reachable: Iterable[int]) -> int:
    """Anchors with at least one label among these classes."""
    if isinstance(reachable, str) or not isinstance(reachable, Iterable):
        raise InputError(f"reachable is {brief(reachable)}: give a list of classes")
    named = list(reachable)
    if not named:
        raise InputError("reachable is empty: a model that can name no class cannot be scored")
    for one in named:
        if not is_class(one) or one >= frames.classes:
            raise InputError(f"reachable has {brief(one)}: the classes are 0..{frames.classes - 1}")
    starts = frames.label_start[: frames.n + 1]
    inside = np.isin(frames.label[: starts[-1]], named)
    return int(np.count_nonzero(np.logical_or.reduceat(inside, starts[:-1])))


def _about_predictions(predictions: Any, classes: np.ndarray, frames: FrameSets, missing: str) -> list[str]:
    """What is unusual about the predictions."""
    found = []
    absent = np.flatnonzero(classes < 0)
    if absent.size:
        done = "counted as wrong" if missing == "wrong" else "left out"
        names = listed([frames.frames[i] for i in absent])
        found.append(f"{absent.size} of {len(classes)} frames have no prediction and are {done}: {names}")
    values = np.unique(classes[classes >= 0])
    if values.size == 1:
        found.append(f"every frame is predicted as class {values[0]}: a drop of 0 is then no merit")
    if isinstance(predictions, Predictions):
        if predictions.ties:
            found.append(
                f"equal top scores in {predictions.ties} of {len(predictions.frames)} frames: the first class counts"
            )
        known = set(frames.frames)
        others = [key for key in predictions.frames if key not in known]
        if others:
            found.append(
                f"{len(others)} of {len(predictions.frames)} predictions are for frames in no set: {listed(others)}"
            )
    return found


def _about_k(frames: FrameSets, k: int) -> list[str]:
    """What k leaves out."""
    if frames.offset is None or not frames.pairs:
        return []
    distance = np.abs(frames.offset)
    found = []
    beyond = int(np.count_nonzero(distance > k))
    if beyond:
        found.append(f"{beyond} of {frames.pairs} frames lie beyond k = {k} and do not count")
    elif distance.max() < k:
        found.append(f"no frame is further than {distance.max()} frames from its anchor, k is {k}")
    left = arrays.counts(frames.row[distance <= k], minlength=frames.n)
    emptied = np.flatnonzero((left == 0) & (np.diff(frames.start) > 0))
    found += note(frames, emptied, f"has no frame within k = {k}", f"have no frame within k = {k}")
    return found
