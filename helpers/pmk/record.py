"""The records of PM-k: sets of frames around anchors with their labels, and what a model predicts for each frame."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .. import arrays, records
from ..errors import InputError, brief, listed, located
from ..records import Field, Schema
from . import inputs
from .inputs import TYPES

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
    labels : mapping of str to int or to iterable of int
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
        labels: Mapping[str, int | Iterable[int]],
        *,
        offsets: Mapping[str, Sequence[int]] | None = None,
        frame_types: Mapping[str, str] | None = None,
        groups: Mapping[str, str] | None = None,
        review: Mapping[tuple[str, str], str] | None = None,
        classes: int | None = None,
        provenance: Mapping[str, Any] | None = None,
    ) -> None:
        layout = inputs.layout_of(sets)
        self.anchors, self.frames = layout.anchors, layout.frames
        self.start, self.member, self.row = layout.start, layout.member, layout.row
        self.n, self.pairs = len(self.anchors), len(self.member)
        self.anchor = np.arange(self.n)
        self.offset = inputs.check_offsets(layout, sets, offsets)
        self.type = inputs.check_types(self.frames, frame_types)
        self.group, self.group_names = inputs.check_groups(self.anchors, groups)
        self.decision = inputs.check_decisions(layout, review)
        inputs.refuse_shared(layout, self.group)
        own = inputs.check_labels(layout, labels)
        self.label_start = inputs.starts_of([len(found) for found in own])
        self.label = np.array([label for found in own for label in found], dtype=np.int64)
        self.classes = inputs.check_classes(self.frames, own, classes)
        has_own = np.diff(self.label_start) > 0
        self.judge = np.where(has_own[self.member], self.member, self.row)
        self.provenance: dict[str, Any] = records.check_provenance(provenance)
        # What is judged, anchors first, then pairs. Where no frame comes twice these are the frames in their order: a
        # view instead of a copy.
        places = np.concatenate([self.anchor, self.member])
        self._judged: slice | np.ndarray = slice(None) if len(places) == len(self.frames) else places
        # The label set of each frame, over again up to the length of the longest. Of what is judged: the first label;
        # then where there are several and, row by row, their first labels, their second ones ...
        most = max(map(len, own))
        self._labels = np.array([(found * most)[:most] or [_NO_LABEL] * most for found in own], dtype=np.int64)
        judging = self._labels[np.concatenate([self.anchor, self.judge])]
        self._first = judging[:, 0].copy()
        self._several = np.flatnonzero((judging != judging[:, :1]).any(axis=1))
        self._labels_of_several = judging[self._several].T.copy()
        self.warnings: tuple[str, ...] = tuple(_unusual(self))
        for value in vars(self).values():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False

    def __repr__(self) -> str:
        groups = "" if self.group is None else f", {len(self.group_names)} groups"
        return f"FrameSets({self.n} anchors, {self.pairs} similar frames{groups}, {self.classes} classes)"

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
        predictions : int array of shape (..., frames), or float array of shape (..., frames, classes)
            Classes in the order of `frames`, -1 where there is none, which is wrong here; or scores, the largest of
            which wins, the first of equal ones. Leading axes are models.

        Returns
        -------
        tuple of boolean arrays
            Of the anchors, shape (..., n), and of the pairs, shape (..., pairs).

        Raises
        ------
        InputError
            Another shape, neither classes nor scores, or scores of a frame that no class can win.

        Examples
        --------
        >>> frames = FrameSets({"a": ["a2", "a3"]}, {"a": [0, 2], "a3": [1]})
        >>> frames.correct([2, 0, 0])
        (array([ True]), array([ True, False]))
        >>> frames.correct([[0.1, 0.7, 0.2], [0.2, 0.4, 0.4], [0.1, 0.8, 0.1]])
        (array([False]), array([False,  True]))
        """
        models, shape = check_aligned(predictions, self)
        said = (_winners(models, self) if models.ndim > 2 else models)[:, self._judged]
        right = said == self._first
        some = said.take(self._several, axis=1)
        right[:, self._several] = (some == self._labels_of_several[:, None]).any(axis=0)
        right = right.reshape(*shape, -1)
        return right[..., : self.n], right[..., self.n :]

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
        kept = inputs.check_mask(anchors, self.n, "anchors")
        chosen = inputs.check_mask(pairs, self.pairs, "pairs")
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
        with located(path):
            keys, names = _keys(manifest), _names_of(manifest)
            _check_places(content, len(keys), names)
            kept, chosen = np.ones(len(content["start"]) - 1, bool), np.ones(int(content["start"][-1]), bool)
            return cls(
                **_arguments(keys, content, names, kept, chosen),
                classes=manifest.get("classes"),
                provenance=manifest.get("provenance"),
            )

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
        if isinstance(self.frames, str) or not isinstance(self.frames, Iterable):
            raise InputError(f"frames is {brief(self.frames)}: give a list of frame keys")
        object.__setattr__(self, "frames", tuple(self.frames))
        object.__setattr__(self, "provenance", records.check_provenance(self.provenance))
        if isinstance(self.values, list | tuple):  # an array of them would turn True into 1
            arrays.floats(self.values, "predictions", remedy="give classes, or scores")
        values = arrays.to_numpy(arrays.detached(arrays.as_array(self.values, "predictions")))
        inputs.check_predictions(self.frames, values)
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
            raise InputError(f"predictions is {brief(predictions)}: give a class, or scores, for each frame key")
        return cls(tuple(predictions), inputs.check_values(predictions))

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
        return self.values if self.scores is None else arrays.first_largest(self.scores)[0]

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
        return records.save(path, PREDICTIONS, content, {"frames": self.frames, "provenance": self.provenance})

    @classmethod
    def load(cls, path: str | Path) -> Predictions:
        """Read a record that `save` wrote."""
        content, manifest = records.load(path, PREDICTIONS)
        if len(content) != 1:
            raise InputError(f"{path}: holds {len(content)} arrays: a record of predictions has classes or scores")
        with located(path):
            return cls(tuple(_keys(manifest)), next(iter(content.values())), manifest.get("provenance") or {})


def check_sets(frames: Any, name: str = "frames") -> None:
    """Refuse what is no `FrameSets`, such as the mapping that one is made of."""
    if not isinstance(frames, FrameSets):
        raise InputError(f"{name} is a {type(frames).__name__}: give FrameSets(sets, labels)")


def aligned(predictions: Any, frames: FrameSets, *, missing: str = "error") -> np.ndarray:
    """Predicted classes in the order of `frames.frames`, -1 where there is none.

    Parameters
    ----------
    predictions : mapping of str to int or to scores, Predictions, or array
        By frame key; or in order already: classes as whole numbers, shape (..., frames), with -1 for a frame without a
        prediction, or scores as floats, shape (..., frames, classes). Leading axes are models.
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
        Missing predictions, keys of which none is a frame of the sets, a class that the sets do not know, scores that
        `Predictions` refuses, or another shape.

    Examples
    --------
    >>> frames = FrameSets({"a": ["a2", "a3"]}, {"a": [0]}, classes=2)
    >>> aligned({"a": 0, "a3": 1}, frames, missing="wrong")
    array([ 0, -1,  1])
    """
    check_sets(frames)
    arrays.one_of(missing, "missing", MISSING)
    if isinstance(predictions, Predictions | Mapping):
        classes = _by_key(predictions if isinstance(predictions, Predictions) else Predictions.of(predictions), frames)
    else:
        models, shape = check_aligned(predictions, frames)
        classes = (_winners(models, frames) if models.ndim > 2 else models).reshape(*shape, -1)
    if classes.view(np.uint64).max() < frames.classes:  # what is negative is then larger than any class
        return classes
    lowest, highest = int(classes.min()), int(classes.max())
    if lowest < -1 or highest >= frames.classes:
        place = tuple(np.argwhere((classes < -1) | (classes >= frames.classes))[0])
        raise InputError(
            f"predictions of {brief(frames.frames[place[-1]])} is class {classes[place]}, but the classes are "
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


def check_aligned(predictions: Any, frames: FrameSets) -> tuple[np.ndarray, tuple[int, ...]]:
    """Classes of shape (models, frames), or scores of shape (models, frames, classes), and what `models` was before."""
    array = arrays.to_numpy(arrays.detached(arrays.as_array(predictions, "predictions")))
    n = len(frames.frames)
    if array.dtype.kind == "f" and array.shape[-2:-1] == (n,) and array.size:
        if isinstance(predictions, list | tuple):  # an array of them would turn True into 1
            arrays.floats(predictions, "predictions", remedy="give scores")
        if array.shape[-1] != frames.classes:
            raise InputError(
                f"predictions has scores of {array.shape[-1]} classes, but the classes are 0..{frames.classes - 1}: "
                "fold the scores, or give the sets their number of classes"
            )
        return array.reshape(-1, n, frames.classes), array.shape[:-2]
    if array.dtype.kind not in "iu" or array.shape[-1:] != (n,) or not array.size:
        raise InputError(
            f"predictions has shape {array.shape} and type {array.dtype}: give whole numbers, one for each of the {n} "
            f"frames along the last axis, or scores of shape (..., {n}, {frames.classes})"
        )
    if array.dtype == np.uint64 and array.max() > np.iinfo(np.int64).max:
        raise InputError(f"predictions has the class {array.max()}: the classes are 0..{frames.classes - 1}")
    whole = arrays.whole_numbers(predictions, "predictions", layout="whole numbers")
    return whole.reshape(-1, n), array.shape[:-1]


def _winners(scores: np.ndarray, frames: FrameSets) -> np.ndarray:
    """The class of the largest score, shape (models, frames)."""
    classes, largest = arrays.first_largest(scores.reshape(-1, frames.classes))
    bad = np.flatnonzero(~np.isfinite(largest))
    if bad.size:
        inputs.check_predictions(frames.frames, scores[bad[0] // len(frames.frames)])
    return classes.reshape(scores.shape[:-1])


def note(frames: FrameSets, sets: np.ndarray, one: str, many: str) -> list[str]:
    """A warning about the sets of some anchors (places in `anchors`), if there are any."""
    if not sets.size:
        return []
    said = f"1 set {one}" if sets.size == 1 else f"{sets.size} sets {many}"
    return [f"{said}: {listed([frames.anchors[i] for i in sets])}"]


def _by_key(predictions: Predictions, frames: FrameSets) -> np.ndarray:
    found = inputs.places_of(frames.frames, predictions.frames)
    if (found < 0).all():
        raise InputError(
            f"predictions has no key that is a frame of the sets: it has {listed(predictions.frames)}; the sets have "
            f"{listed(frames.frames)}"
        )
    return np.where(found < 0, -1, predictions.classes[found])


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
    shared = np.flatnonzero(arrays.counts(np.concatenate([frames.anchor, frames.member])) > 1)
    if shared.size:
        found.append(f"several sets share {shared.size} of the frames: {listed([frames.frames[i] for i in shared])}")
    return found


# --- plain arrays and names, as they are saved


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
        outside = (array < 0) | (array >= limit)
        arrays.refuse_where(outside, array, f"array {name!r}", f"it points beyond the {limit} there are")
    if len(content["start"]) - 1 > frames or len(content.get("type", range(frames))) != frames:
        raise InputError(f"its manifest has {frames} frame keys, its arrays have another number")
