"""The records of PM-k: sets of frames around anchors with their labels, and what a model predicts for each frame."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np

from .. import arrays, records
from ..errors import InputError
from ..records import Field, Schema

#: Compressed frame types; "?" is what a decoder that does not tell leaves.
TYPES = ("?", "I", "P", "B")
#: What to do about frames without a prediction: refuse, count as wrong, leave out of their sets.
MISSING = ("error", "wrong", "skip")

SETS = Schema(
    "pmk-frames",
    1,
    {
        "start": Field("int", ("sets + 1",), "place in member"),
        "member": Field("int", ("pairs",), "place in frames", optional=True),
        "offset": Field("int", ("pairs",), "frames after the anchor", optional=True),
        "label_start": Field("int", ("frames + 1",), "place in label"),
        "label": Field("int", ("labels",), "class"),
        "type": Field("int", ("frames",), "place in ?, I, P, B", optional=True),
        "group": Field("int", ("sets",), "place in group_names", optional=True),
        "decision": Field("int", ("pairs",), "place in decisions", optional=True),
    },
)
PREDICTIONS = Schema(
    "pmk-predictions",
    1,
    {
        "class": Field("int", ("frames",), "class", optional=True),
        "score": Field("float", ("frames", "classes"), "score", optional=True, finite=False),
    },
)

# folder, name before the number, number, ending: "val/clip/000442.JPEG", "clip/frame-12.jpg"
_NUMBERED = re.compile(r"(?P<stem>.*/[^/\d]*)(?P<number>\d+)(?P<ending>\.[^./]+)?", re.DOTALL)
#: More classes than anybody has, and frames further apart than any neighbours: a larger number is a mistake.
MOST_CLASSES, FURTHEST = 1_000_000, 1_000_000_000
_NO_LABEL = -2  # unlike every class, and unlike -1, a missing prediction


class FrameSets:
    """Anchor frames, the similar frames of each, and the labels that judge them.

    Frames are named by keys, any texts: files of a video, or the names of paraphrases and re-rendered views. A frame is
    judged by its own labels where it has some, else by those of its anchor; a prediction is right when it is one of
    them.

    Parameters
    ----------
    sets : mapping of str to sequence of str
        The similar frames of each anchor, the anchor itself not among them. A set may be empty.
    labels : mapping of str to iterable of int
        Label set of every anchor, and of other frames where it is known, as class numbers from 0.
    offsets : mapping of str to sequence of int, optional
        How many frames after the anchor each frame lies (negative: before), in the order of `sets`. By default they are
        read from keys that end in a frame number within a folder, such as ``clip/000442.JPEG``; where one key does not,
        there are none, and `k` is not applied.
    frame_types : mapping of str to str, optional
        ``I``, ``P``, ``B``, or ``?`` where unknown, of every frame.
    groups : mapping of str to str, optional
        The clip or shot of every anchor. By default each anchor is from a video of its own.
    review : mapping of (str, str) to str, optional
        What a reviewer decided about each pair of anchor and frame, such as "similar".
    classes : int, optional
        Number of classes, by default one more than the largest label. Predictions beyond it are refused, because that
        is what unfolded predictions look like.
    provenance : mapping, optional
        Where the sets come from; see `records.provenance`.

    Attributes
    ----------
    anchors, frames : tuple of str
        The n anchors, and all distinct frames: the anchors first, then the others in order of appearance.
    n, pairs, classes : int
        Number of anchors, of pairs of anchor and similar frame, of classes.
    start : int64 array of shape (n + 1,)
        The frames similar to anchor i are ``member[start[i]:start[i + 1]]``.
    member, row, judge : int64 arrays of shape (pairs,)
        Of each pair: its frame, its anchor, and whose label set judges it, as places in `frames`.
    anchor : int64 array of shape (n,)
        The anchors as places in `frames`: 0 to n - 1.
    offset : int64 array of shape (pairs,) or None
        Frames after the anchor.
    type : array of str of shape (frames,) or None
        Frame types.
    group, group_names : int64 array of shape (n,) and tuple of str, or None and ()
        The group of each anchor.
    decision : array of str of shape (pairs,) or None
        Review decisions.
    label_start, label : int64 arrays
        The own labels of frame i, sorted, are ``label[label_start[i]:label_start[i + 1]]``; none where it has none.
    warnings : tuple of str
        What is unusual: empty sets, holes, frames judged by other labels than their anchor, frames in several sets, no
        offsets.

    Raises
    ------
    InputError
        No sets; an anchor or a repeated frame in a set; a frame in sets of two groups; an anchor without labels; an
        empty label set or a label that is no class; offsets that are 0, repeat within a set or do not match it; keys of
        labels, offsets, types, groups or review that match nothing, or frames that these leave out.

    Notes
    -----
    A frame in several sets of one group is allowed and named in the warnings. In sets of different groups it is
    refused: their sets are then not independent, as every interval assumes.

    Examples
    --------
    >>> frames = FrameSets(
    ...     {"a": ["a-1", "a+1"], "b": ["b-2", "b+1"], "c": [], "d": ["d+1"]},
    ...     {"a": [0], "b": [1, 2], "c": [3], "d": [0]},
    ...     offsets={"a": [-1, 1], "b": [-2, 1], "d": [1]},
    ... )
    >>> frames
    FrameSets(4 anchors, 5 similar frames, 4 classes)
    >>> frames.warnings
    ('1 set is empty and counts by its anchor: c', '1 set has holes in its offsets: b')
    """

    def __init__(
        self,
        sets: Mapping[str, Sequence[str]],
        labels: Mapping[str, Iterable[int]],
        *,
        offsets: Mapping[str, Sequence[int]] | None = None,
        frame_types: Mapping[str, str] | None = None,
        groups: Mapping[str, str] | None = None,
        review: Mapping[tuple[str, str], str] | None = None,
        classes: int | None = None,
        provenance: Mapping[str, Any] | None = None,
    ) -> None:
        flat = _check_sets(sets)
        self.anchors: tuple[str, ...] = tuple(sets)
        self.frames: tuple[str, ...] = tuple(dict.fromkeys([*sets, *flat]))
        self.n, self.pairs = len(self.anchors), len(flat)
        place = {frame: i for i, frame in enumerate(self.frames)}
        sizes = np.array([len(members) for members in sets.values()], dtype=np.int64)
        self.start = _starts(sizes)
        self.member = np.array([place[frame] for frame in flat], dtype=np.int64)
        self.anchor = np.arange(self.n)
        self.row = np.repeat(self.anchor, sizes)
        self.offset = _offsets(self, sets, offsets)
        self.type = _types(self.frames, frame_types)
        self.group, self.group_names = _groups(self.anchors, groups)
        self.decision = _decisions(self, review)
        _refuse_shared(self)
        own = _label_sets(self.anchors, self.frames, labels)
        self.label_start = _starts(np.array([len(found) for found in own], dtype=np.int64))
        self.label = np.array([label for found in own for label in found], dtype=np.int64)
        self.classes = _class_count(self, classes)
        has_own = np.diff(self.label_start) > 0
        self.judge = np.where(has_own[self.member], self.member, self.row)
        self.provenance: dict[str, Any] = dict(provenance or {})
        # Label sets side by side: column j holds the j-th label of every frame.
        self._labels = np.full((len(self.frames), max(map(len, own))), _NO_LABEL, dtype=np.int64)
        self._labels[np.arange(self._labels.shape[1]) < np.diff(self.label_start)[:, None]] = self.label
        # Where no frame is in two sets, the similar frames are all but the first n: a view instead of a copy.
        ordered = np.array_equal(self.member, np.arange(self.n, self.n + self.pairs))
        self._others: slice | np.ndarray = slice(self.n, None) if ordered else self.member
        self.warnings: tuple[str, ...] = tuple(_unusual(self))
        for value in vars(self).values():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False

    def __repr__(self) -> str:
        groups = "" if self.group is None else f", {len(self.group_names)} groups"
        return f"FrameSets({self.n} anchors, {self.pairs} similar frames{groups}, {self.classes} classes)"

    def __len__(self) -> int:
        return self.n

    def within(self, k: int) -> np.ndarray:
        """Which pairs lie at most `k` frames apart, shape (pairs,); all of them where there are no offsets.

        Raises
        ------
        InputError
            `k` is no whole number of at least 1.
        """
        arrays.whole_number(k, "k", least=1)
        return np.ones(self.pairs, dtype=bool) if self.offset is None else np.abs(self.offset) <= k

    def labels_of(self, frame: int) -> tuple[int, ...]:
        """The own labels of the frame at a place of `frames`; empty where its anchor's judge it."""
        return tuple(self.label[self.label_start[frame] : self.label_start[frame + 1]].tolist())

    def correct(self, predictions: Any) -> tuple[np.ndarray, np.ndarray]:
        """Which anchors, and which frames of which sets, are predicted right.

        Parameters
        ----------
        predictions : int array of shape (..., frames)
            Classes in the order of `frames`, -1 where there is none, which is wrong here. Leading axes are models.

        Returns
        -------
        tuple of boolean arrays
            Of the anchors, shape (..., n), and of the pairs, shape (..., pairs).

        Raises
        ------
        InputError
            Another length of the last axis, or no whole numbers.

        Examples
        --------
        >>> frames = FrameSets({"a": ["a2", "a3"]}, {"a": [0, 2], "a3": [1]})
        >>> frames.correct([2, 0, 0])
        (array([ True]), array([ True, False]))
        """
        array = check_aligned(predictions, self)
        return (
            self._right(array[..., : self.n], self.anchor),
            self._right(array[..., self._others], self.judge),
        )

    def _right(self, predicted: np.ndarray, judge: np.ndarray) -> np.ndarray:
        right = predicted == self._labels[judge, 0]
        for column in range(1, self._labels.shape[1]):
            more = np.flatnonzero(self._labels[judge, column] != _NO_LABEL)
            right[..., more] |= predicted[..., more] == self._labels[judge[more], column]
        return right

    def subset(self, anchors: Any = None, pairs: Any = None) -> FrameSets:
        """The sets of some anchors, with some of their frames; None keeps all.

        Parameters
        ----------
        anchors : boolean array of shape (n,), optional
            Which anchors to keep, with their sets.
        pairs : boolean array of shape (pairs,), optional
            Which frames of those sets to keep.

        Raises
        ------
        InputError
            A mask of another shape or type, or no anchor left.

        Examples
        --------
        >>> frames = FrameSets({"a": ["a2", "a3"], "b": ["b2"]}, {"a": [0], "b": [1]})
        >>> frames.subset([True, False], [True, False, True]).frames
        ('a', 'a2')
        """
        kept = _mask(anchors, self.n, "anchors")
        chosen = _mask(pairs, self.pairs, "pairs")
        if not kept.any():
            raise InputError("anchors keeps none of the anchors: keep at least one")
        return FrameSets(
            **_arguments(self.frames, self._content(), self._names(), kept, chosen),
            classes=self.classes,
            provenance=self.provenance,
        )

    def save(self, path: str | Path) -> Path:
        """Write the record to one .npz file, whole or not at all."""
        manifest = {
            "frames": self.frames,
            "classes": self.classes,
            "names": self._names(),
            "provenance": self.provenance,
        }
        return records.save(path, SETS, self._content(), manifest)

    @classmethod
    def load(cls, path: str | Path) -> FrameSets:
        """Read a record that `save` wrote, and check it again.

        Raises
        ------
        InputError
            No record of frame sets, arrays that point nowhere, or what `FrameSets` refuses.
        """
        content, manifest = records.load(path, SETS)
        try:
            keys, names = _keys(manifest), _names_of(manifest)
            _check_places(content, len(keys), names)
            kept, chosen = np.ones(len(content["start"]) - 1, bool), np.ones(int(content["start"][-1]), bool)
            return cls(
                **_arguments(keys, content, names, kept, chosen),
                classes=manifest.get("classes"),
                provenance=manifest.get("provenance"),
            )
        except InputError as error:
            raise InputError(f"{path}: {error}") from error

    def _content(self) -> dict[str, np.ndarray]:
        """The arrays as they are saved; an array without entries is left out."""
        names = self._names()
        coded = {
            "type": None if self.type is None else _codes(self.type, TYPES),
            "decision": None if self.decision is None else _codes(self.decision, names["decision"]),
        }
        plain = {name: getattr(self, name) for name in ("start", "member", "offset", "label_start", "label", "group")}
        return {name: array for name, array in {**plain, **coded}.items() if array is not None and array.size}

    def _names(self) -> dict[str, list[str]]:
        """What the numbers of groups and decisions stand for."""
        decisions = [] if self.decision is None else sorted(set(self.decision.tolist()))
        return {"group": list(self.group_names), "decision": decisions}


@dataclass(frozen=True, eq=False)
class Predictions:
    """What a model says of each frame: a class, or a score for every class.

    Parameters
    ----------
    frames : sequence of str
        Keys of the m frames.
    values : array
        Classes as whole numbers, shape (m,), or scores, shape (m, classes): any numbers of which the largest wins. A
        score of minus infinity is a class that can never win.
    provenance : mapping
        Where the numbers come from; see `records.provenance`.

    Raises
    ------
    InputError
        A key twice, another number of values than of keys, a class below 0, a score that is NaN or plus infinity, a
        frame without any finite score.

    Examples
    --------
    >>> predictions = Predictions.of({"a": [0.1, 0.7, 0.2], "b": [0.4, 0.4, 0.2]})
    >>> predictions
    Predictions(2 frames, scores of 3 classes)
    >>> predictions.classes, predictions.ties  # of equal scores the first wins
    (array([1, 0]), 1)
    """

    frames: tuple[str, ...]
    values: np.ndarray
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check everything once, so that whoever holds a record can rely on it."""
        object.__setattr__(self, "frames", tuple(self.frames))
        values = arrays.to_numpy(arrays.detached(arrays.as_array(self.values, "predictions")))
        _check_predictions(self.frames, values)
        object.__setattr__(self, "values", values.astype(np.int64 if values.ndim == 1 else np.float64))

    @classmethod
    def of(cls, predictions: Mapping[str, Any]) -> Predictions:
        """From a mapping of frame to class, or of frame to scores.

        Raises
        ------
        InputError
            No mapping or an empty one, classes and scores mixed, scores of unequal length, or what `Predictions`
            refuses; the message names the frame.
        """
        if not isinstance(predictions, Mapping) or not predictions:
            raise InputError(f"predictions is {_brief(predictions)}: give a class, or scores, for each frame key")
        return cls(tuple(predictions), _values(predictions))

    def __repr__(self) -> str:
        kind = "classes" if self.scores is None else f"scores of {self.scores.shape[1]} classes"
        return f"Predictions({len(self.frames)} frames, {kind})"

    @property
    def scores(self) -> np.ndarray | None:
        """Scores, shape (m, classes), or None where only classes are known."""
        return None if self.values.ndim == 1 else self.values

    @property
    def classes(self) -> np.ndarray:
        """The predicted class of each frame, shape (m,); of equal scores the first wins."""
        return self.values if self.scores is None else arrays.first_largest(self.scores)

    @property
    def ties(self) -> int:
        """In how many frames the largest score is that of several classes."""
        if self.scores is None:
            return 0
        top = self.scores == self.scores.max(axis=1, keepdims=True)
        return int(np.count_nonzero(top.sum(axis=1) > 1))

    def save(self, path: str | Path) -> Path:
        """Write the record to one .npz file, whole or not at all."""
        content = {"class" if self.scores is None else "score": self.values}
        return records.save(path, PREDICTIONS, content, {"frames": self.frames, "provenance": dict(self.provenance)})

    @classmethod
    def load(cls, path: str | Path) -> Predictions:
        """Read a record that `save` wrote."""
        content, manifest = records.load(path, PREDICTIONS)
        if len(content) != 1:
            raise InputError(f"{path}: holds {len(content)} arrays: a record of predictions has classes or scores")
        try:
            return cls(tuple(_keys(manifest)), next(iter(content.values())), manifest.get("provenance") or {})
        except InputError as error:
            raise InputError(f"{path}: {error}") from error


def aligned(predictions: Any, frames: FrameSets, *, missing: str = "error") -> np.ndarray:
    """Predicted classes in the order of `frames.frames`, -1 where there is none.

    Parameters
    ----------
    predictions : mapping of str to int or to scores, Predictions, or int array of shape (..., frames)
        By frame key, or in order already, with -1 for a frame without a prediction. Leading axes are models.
    frames : FrameSets
        The frames that are asked for; predictions for others are not used.
    missing : str
        "error" (default) refuses frames without a prediction and lists them; "wrong" and "skip" let them pass as -1.

    Returns
    -------
    int64 array of shape (..., frames)

    Raises
    ------
    InputError
        Missing predictions, keys of which none is a frame of the sets, a class that the sets do not know, or another
        shape.

    Examples
    --------
    >>> frames = FrameSets({"a": ["a2", "a3"]}, {"a": [0]}, classes=2)
    >>> aligned({"a": 0, "a3": 1}, frames, missing="wrong")
    array([ 0, -1,  1])
    """
    if missing not in MISSING:
        raise InputError(f"missing is {missing!r}: choose one of {', '.join(MISSING)}")
    if isinstance(predictions, Predictions | Mapping):
        classes = _by_key(predictions if isinstance(predictions, Predictions) else Predictions.of(predictions), frames)
    else:
        classes = check_aligned(predictions, frames).astype(np.int64, copy=False)
    lowest, highest = int(classes.min()), int(classes.max())
    if lowest < -1 or highest >= frames.classes:
        place = tuple(np.argwhere((classes < -1) | (classes >= frames.classes))[0])
        raise InputError(
            f"predictions of {frames.frames[place[-1]]!r} is class {classes[place]}, but the classes are "
            f"0..{frames.classes - 1}: fold the scores, or give the sets their number of classes"
        )
    if lowest == -1 and missing == "error":
        absent = np.flatnonzero((classes == -1).any(axis=tuple(range(classes.ndim - 1))))
        names = listed([frames.frames[i] for i in absent])
        raise InputError(
            f"predictions has none for {absent.size} of {len(frames.frames)} frames: {names}; "
            "predict them, or choose missing='wrong' or missing='skip'"
        )
    return classes


def check_aligned(predictions: Any, frames: FrameSets) -> np.ndarray:
    """Whole numbers with an entry for each frame along the last axis, or an InputError."""
    array = arrays.to_numpy(arrays.detached(arrays.as_array(predictions, "predictions")))
    if array.dtype.kind not in "iu" or array.shape[-1:] != (len(frames.frames),):
        raise InputError(
            f"predictions has shape {array.shape} and type {array.dtype}: give whole numbers, one for each of the "
            f"{len(frames.frames)} frames along the last axis"
        )
    return array


def is_class(value: Any) -> bool:
    """Whether the value is a class number."""
    return isinstance(value, Integral) and not isinstance(value, bool) and 0 <= int(value) < MOST_CLASSES


def listed(keys: Sequence[Any]) -> str:
    """The first ten keys, and how many more there are."""
    more = f" and {len(keys) - 10} more" if len(keys) > 10 else ""
    return ", ".join(map(str, keys[:10])) + more


def note(frames: FrameSets, sets: np.ndarray, one: str, many: str) -> list[str]:
    """A warning about the sets of some anchors (places in `anchors`), if there are any."""
    if not sets.size:
        return []
    said = f"1 set {one}" if sets.size == 1 else f"{sets.size} sets {many}"
    return [f"{said}: {listed([frames.anchors[i] for i in sets])}"]


def _by_key(predictions: Predictions, frames: FrameSets) -> np.ndarray:
    place = {frame: i for i, frame in enumerate(predictions.frames)}
    found = np.array([place.get(frame, -1) for frame in frames.frames], dtype=np.int64)
    if (found < 0).all():
        raise InputError(
            f"predictions has no key that is a frame of the sets: it has {listed(predictions.frames)}; the sets have "
            f"{listed(frames.frames)}"
        )
    return np.where(found < 0, -1, predictions.classes[found])


# --- checks of what FrameSets is given


def _check_sets(sets: Any) -> list[str]:
    """The similar frames of all sets in one list, or an InputError."""
    if not isinstance(sets, Mapping) or not sets:
        raise InputError(f"sets is {_brief(sets)}: give the similar frames of at least one anchor, as a mapping")
    flat: list[str] = []
    for anchor, members in sets.items():
        if not isinstance(members, list | tuple):
            raise InputError(f"sets[{anchor!r}] is {_brief(members)}: give a list of frame keys")
        strange = [key for key in (anchor, *members) if not isinstance(key, str)]
        if strange:
            raise InputError(f"sets[{anchor!r}] has the key {strange[0]!r}: frames are named by texts")
        if anchor in members:
            raise InputError(f"sets[{anchor!r}] holds the anchor itself: list only the other frames")
        if len(set(members)) < len(members):
            twice = next(key for key, count in Counter(members).items() if count > 1)
            raise InputError(f"sets[{anchor!r}] holds {twice!r} twice: list each frame once")
        flat += members
    return flat


def _label_sets(anchors: Sequence[str], frames: Sequence[str], labels: Any) -> list[list[int]]:
    """The sorted own labels of each frame, or an InputError."""
    if not isinstance(labels, Mapping):
        raise InputError(f"labels is {_brief(labels)}: give a mapping of frame keys to label sets")
    _refuse_keys("labels", labels, needed=anchors, allowed=frames, what="anchors")
    return [_label_set(frame, labels[frame]) if frame in labels else [] for frame in frames]


def _label_set(frame: str, values: Any) -> list[int]:
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise InputError(f"labels[{frame!r}] is {_brief(values)}: give a list of class numbers")
    found = list(values)
    for label in found:
        if not is_class(label):
            raise InputError(f"labels[{frame!r}] has {_brief(label)}: a label is a whole number of at least 0")
    if not found:
        raise InputError(f"labels[{frame!r}] is empty: no prediction could be right; label the frame or leave it out")
    return sorted({int(label) for label in found})


def _class_count(frames: FrameSets, classes: int | None) -> int:
    least = int(frames.label.max()) + 1
    if classes is None:
        return least
    arrays.whole_number(classes, "classes", least=1)
    if least > classes:
        frame = int(np.searchsorted(frames.label_start, np.argmax(frames.label), side="right")) - 1
        raise InputError(
            f"labels[{frames.frames[frame]!r}] has class {least - 1}, but classes is {classes}: labels lie in "
            f"0..{classes - 1}"
        )
    return int(classes)


def _offsets(frames: FrameSets, sets: Mapping[str, Sequence[str]], offsets: Any) -> np.ndarray | None:
    """Offset of each pair: as given, or as the keys say."""
    if offsets is None:
        found = _offsets_of_keys(frames)
    elif not offsets:
        found = None
    else:
        flat = _given_offsets(frames, sets, offsets)
        found = np.array(flat, dtype=np.int64)
    if found is None:
        return None
    zero = np.flatnonzero(found == 0)
    if zero.size:
        i = zero[0]
        raise InputError(f"offsets of {_pair(frames, i)} is 0: that is the anchor's own place")
    order = np.lexsort([found, frames.row])
    same = np.flatnonzero((np.diff(found[order]) == 0) & (np.diff(frames.row[order]) == 0))
    if same.size:
        first, second = order[same[0]], order[same[0] + 1]
        raise InputError(
            f"offsets of {_pair(frames, first)} and of {frames.frames[frames.member[second]]!r} are both "
            f"{found[first]}: two frames of a set cannot lie in one place"
        )
    return found


def _offsets_of_keys(frames: FrameSets) -> np.ndarray | None:
    """Differences of frame numbers; None unless every similar frame lies in its anchor's folder under a number."""
    parts = [_NUMBERED.fullmatch(key) for key in frames.frames]
    names = [match and (match["stem"], match["ending"]) for match in parts]
    numbers = [int(match["number"]) if match else 0 for match in parts]
    pairs = list(zip(frames.member.tolist(), frames.row.tolist(), strict=True))
    if any(names[member] is None or names[member] != names[anchor] for member, anchor in pairs):
        return None
    found = [numbers[member] - numbers[anchor] for member, anchor in pairs]
    return None if any(abs(offset) > FURTHEST for offset in found) else np.array(found, dtype=np.int64)


def _given_offsets(frames: FrameSets, sets: Mapping[str, Sequence[str]], offsets: Any) -> list[int]:
    if not isinstance(offsets, Mapping):
        raise InputError(f"offsets is {_brief(offsets)}: give a mapping of anchors to lists of whole numbers")
    needed = [anchor for anchor, members in sets.items() if members]
    _refuse_keys("offsets", offsets, needed=needed, allowed=frames.anchors, what="anchors")
    flat = []
    for anchor, members in sets.items():
        given = offsets.get(anchor, ())
        if isinstance(given, str) or not isinstance(given, Iterable):
            raise InputError(f"offsets[{anchor!r}] is {_brief(given)}: give a list of whole numbers")
        given = list(given)
        if len(given) != len(members):
            raise InputError(f"offsets[{anchor!r}] has {len(given)} entries, but the set has {len(members)} frames")
        for offset in given:
            if isinstance(offset, bool) or not isinstance(offset, Integral) or abs(int(offset)) > FURTHEST:
                raise InputError(f"offsets[{anchor!r}] has {_brief(offset)}: give whole numbers of frames")
        flat += [int(offset) for offset in given]
    return flat


def _types(frames: Sequence[str], frame_types: Any) -> np.ndarray | None:
    if frame_types is None:
        return None
    _refuse_keys("frame_types", frame_types, needed=frames, allowed=frames, what="frames")
    for frame in frames:
        if frame_types[frame] not in TYPES:
            choices = ", ".join(TYPES)
            raise InputError(f"frame_types[{frame!r}] is {frame_types[frame]!r}: give one of {choices} (? is unknown)")
    return np.array([frame_types[frame] for frame in frames])


def _groups(anchors: Sequence[str], groups: Any) -> tuple[np.ndarray | None, tuple[str, ...]]:
    if groups is None:
        return None, ()
    _refuse_keys("groups", groups, needed=anchors, allowed=anchors, what="anchors")
    for anchor in anchors:
        if not isinstance(groups[anchor], str | Integral):
            raise InputError(f"groups[{anchor!r}] is {_brief(groups[anchor])}: name the clip by a text or a number")
    names = [str(groups[anchor]) for anchor in anchors]
    place = {name: i for i, name in enumerate(dict.fromkeys(names))}
    return np.array([place[name] for name in names], dtype=np.int64), tuple(place)


def _decisions(frames: FrameSets, review: Any) -> np.ndarray | None:
    if review is None:
        return None
    keys = [(frames.frames[a], frames.frames[m]) for a, m in zip(frames.row, frames.member, strict=True)]
    _refuse_keys("review", review, needed=keys, allowed=keys, what="pairs")
    for key in keys:
        if not isinstance(review[key], str) or not review[key]:
            raise InputError(f"review[{key!r}] is {review[key]!r}: give the decision as a text")
    return np.array([review[key] for key in keys], dtype=str)


def _refuse_keys(name: str, given: Any, *, needed: Sequence[Hashable], allowed: Sequence[Hashable], what: str) -> None:
    """Refuse a mapping that leaves out needed keys, or has keys that match nothing; list them."""
    if not isinstance(given, Mapping):
        raise InputError(f"{name} is {_brief(given)}: give a mapping")
    known = set(allowed)
    strange = [key for key in given if key not in known]
    if strange:
        raise InputError(f"{name} has keys that match nothing in sets, {len(strange)} in all: {listed(strange)}")
    lacking = [key for key in needed if key not in given]
    if lacking:
        raise InputError(f"{name} lacks {len(lacking)} of {len(needed)} {what}: {listed(lacking)}")


def _refuse_shared(frames: FrameSets) -> None:
    """A frame may be in sets of one group only: a frame belongs to one video."""
    group = frames.anchor if frames.group is None else frames.group
    owner, owned = np.concatenate([frames.anchor, frames.member]), np.concatenate([group, group[frames.row]])
    least = np.full(len(frames.frames), len(frames.anchors))
    most = np.full(len(frames.frames), -1)
    np.minimum.at(least, owner, owned)
    np.maximum.at(most, owner, owned)
    bad = np.flatnonzero(least != most)
    if bad.size:
        names = listed([frames.frames[i] for i in bad])
        raise InputError(
            f"sets of several groups share {bad.size} of the frames: {names}; such sets are not "
            "independent: give such anchors one group (their clip) by groups="
        )


def _unusual(frames: FrameSets) -> list[str]:
    """What deserves a word, counted and named."""
    filled = np.flatnonzero(np.diff(frames.start))
    empty = np.setdiff1d(frames.anchor, filled)
    found = note(frames, empty, "is empty and counts by its anchor", "are empty and count by their anchors")
    if frames.offset is None and frames.pairs:
        found.append("no offsets are known: k is not applied")
    elif frames.offset is not None and frames.pairs:
        starts = frames.start[filled]
        last = np.maximum(np.maximum.reduceat(frames.offset, starts), 0)
        first = np.minimum(np.minimum.reduceat(frames.offset, starts), 0)
        holes = filled[last - first > np.diff(frames.start)[filled]]
        found += note(frames, holes, "has holes in its offsets", "have holes in their offsets")
    unlike = np.unique(frames.row[(frames._labels[frames.judge] != frames._labels[frames.row]).any(axis=1)])
    found += note(
        frames,
        unlike,
        "has frames with other labels than its anchor",
        "have frames with other labels than their anchors",
    )
    shared = np.flatnonzero(np.bincount(np.concatenate([frames.anchor, frames.member])) > 1)
    if shared.size:
        found.append(f"several sets share {shared.size} of the frames: {listed([frames.frames[i] for i in shared])}")
    return found


def _pair(frames: FrameSets, pair: int) -> str:
    return f"{frames.frames[frames.member[pair]]!r} in the set of {frames.anchors[frames.row[pair]]!r}"


def _mask(mask: Any, length: int, name: str) -> np.ndarray:
    if mask is None:
        return np.ones(length, dtype=bool)
    array = np.asarray(mask)
    if array.dtype != bool or array.shape != (length,):
        raise InputError(
            f"{name} has shape {array.shape} and type {array.dtype}: give a boolean mask of length {length}"
        )
    return array


def _brief(value: Any) -> str:
    """A value in a message, cut where it is long."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


# --- checks of predictions


def _values(predictions: Mapping[str, Any]) -> np.ndarray:
    """Classes, or scores, of a mapping in one array."""
    scored = [hasattr(value, "__len__") and not isinstance(value, str) for value in predictions.values()]
    if any(scored) and not all(scored):
        odd = next(key for key, is_scored in zip(predictions, scored, strict=True) if is_scored != scored[0])
        first = next(iter(predictions))
        raise InputError(
            f"predictions[{odd!r}] and predictions[{first!r}] are unlike: give a class for every frame, or scores"
        )
    if scored[0]:
        return _score_rows(predictions)
    for key, value in predictions.items():
        if not is_class(value):
            raise InputError(f"predictions[{key!r}] is {_brief(value)}: a class is a whole number of at least 0")
    return np.array([int(value) for value in predictions.values()], dtype=np.int64)


def _score_rows(predictions: Mapping[str, Any]) -> np.ndarray:
    first, width = next(iter(predictions)), None
    rows = []
    for key, value in predictions.items():
        try:
            row = np.asarray(arrays.to_numpy(arrays.as_array(value, f"predictions[{key!r}]")), dtype=np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            raise InputError(f"predictions[{key!r}] is {_brief(value)}: give a class, or a list of scores") from error
        width = row.shape if width is None else width
        if row.ndim != 1 or row.shape != width:
            raise InputError(
                f"predictions[{key!r}] has scores of shape {row.shape}, predictions[{first!r}] of shape {width}: give "
                "one score for each class"
            )
        rows.append(row)
    return np.stack(rows)


def _check_predictions(frames: tuple[str, ...], values: np.ndarray) -> None:
    if len(set(frames)) < len(frames):
        twice = next(key for key, count in Counter(frames).items() if count > 1)
        raise InputError(f"frames holds {twice!r} twice: give each frame one prediction")
    whole = values.ndim == 1 and values.dtype.kind in "iu"
    scores = values.ndim == 2 and values.dtype.kind in "fiu"
    if not (whole or scores) or len(values) != len(frames) or not values.size:
        raise InputError(
            f"predictions has shape {values.shape} and type {values.dtype} for {len(frames)} frames: give classes as "
            "whole numbers, shape (m,), or scores, shape (m, classes)"
        )
    if whole:
        bad = np.flatnonzero(values < 0)
        if bad.size:
            raise InputError(f"predictions[{frames[bad[0]]!r}] is {values[bad[0]]}: a class is at least 0")
        return
    faults = np.argwhere(np.isnan(values) | (values == np.inf))
    if faults.size:
        row, column = faults[0]
        raise InputError(
            f"predictions[{frames[row]!r}] has the score {values[row, column]} for class {column}: no class can win "
            "over that; mend or leave out the frame"
        )
    hopeless = np.flatnonzero((values == -np.inf).all(axis=1))
    if hopeless.size:
        raise InputError(f"predictions[{frames[hopeless[0]]!r}] has no finite score: no class can win; leave it out")


# --- plain arrays and names, as they are saved


def _starts(sizes: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def _codes(values: np.ndarray, names: Sequence[str]) -> np.ndarray:
    place = {name: code for code, name in enumerate(names)}
    return np.array([place[value] for value in values.tolist()], dtype=np.int64)


def _arguments(
    keys: Sequence[str],
    content: Mapping[str, np.ndarray],
    names: Mapping[str, Sequence[str]],
    kept: np.ndarray,
    chosen: np.ndarray,
) -> dict[str, Any]:
    """What `FrameSets` takes, from saved arrays, for some sets and pairs of them."""
    rows = np.flatnonzero(kept).tolist()
    spans = {row: np.flatnonzero(chosen[a:b]) + a for row in rows for a, b in [content["start"][row : row + 2]]}
    member = content.get("member", np.zeros(0, dtype=np.int64))
    sets = {keys[row]: [keys[i] for i in member[span].tolist()] for row, span in spans.items()}
    used = [*rows, *dict.fromkeys(i for span in spans.values() for i in member[span].tolist())]
    bounds, label = content["label_start"].tolist(), content["label"].tolist()
    found: dict[str, Any] = {
        "sets": sets,
        "labels": {keys[i]: label[bounds[i] : bounds[i + 1]] for i in used if bounds[i] < bounds[i + 1]},
        "offsets": {},
    }
    if "offset" in content:
        found["offsets"] = {keys[row]: content["offset"][span].tolist() for row, span in spans.items()}
    if "type" in content:
        found["frame_types"] = {keys[i]: TYPES[content["type"][i]] for i in used}
    if "group" in content:
        found["groups"] = {keys[row]: names["group"][content["group"][row]] for row in rows}
    if "decision" in content:
        found["review"] = {
            (keys[row], keys[member[pair]]): names["decision"][content["decision"][pair]]
            for row, span in spans.items()
            for pair in span.tolist()
        }
    return found


def _keys(manifest: Mapping[str, Any]) -> list[str]:
    keys = manifest.get("frames")
    if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
        raise InputError("its manifest has no list of frame keys")
    if len(set(keys)) < len(keys):
        raise InputError("its manifest names a frame twice")
    return keys


def _names_of(manifest: Mapping[str, Any]) -> dict[str, list[str]]:
    names = manifest.get("names")
    if not isinstance(names, dict) or not all(isinstance(names.get(name), list) for name in ("group", "decision")):
        raise InputError("its manifest has no names of groups and decisions")
    return names


def _check_places(content: Mapping[str, np.ndarray], frames: int, names: Mapping[str, Sequence[str]]) -> None:
    """Refuse saved arrays whose entries point nowhere."""
    pairs, labels = len(content.get("member", ())), len(content["label"])
    for name, length, total in (("start", None, pairs), ("label_start", frames + 1, labels)):
        array = content[name]
        rising = array[0] == 0 and array[-1] == total and (np.diff(array) >= 0).all()
        if not rising or (length is not None and len(array) != length):
            raise InputError(f"array {name!r} does not rise from 0 to {total} in the length that is expected")
    limits = {
        "member": frames,
        "type": len(TYPES),
        "group": len(names["group"]),
        "decision": len(names["decision"]),
    }
    for name, limit in limits.items():
        array = content.get(name, np.zeros(0, dtype=np.int64))
        bad = np.flatnonzero((array < 0) | (array >= limit))
        if bad.size:
            raise InputError(f"array {name!r}[{bad[0]}] is {array[bad[0]]}: it points beyond the {limit} there are")
    if len(content["start"]) - 1 > frames or len(content.get("type", range(frames))) != frames:
        raise InputError(f"its manifest has {frames} frame keys, its arrays have another number")
