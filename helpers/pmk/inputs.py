"""What may go into frame sets and predictions: each refusal names the argument, the key, and the remedy."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from .. import arrays
from ..errors import InputError, brief, listed

#: Compressed frame types; "?" is what a decoder that does not tell leaves.
TYPES = ("?", "I", "P", "B")
# folder, name before the number, number, ending: "val/clip/000442.JPEG", "clip/frame-12.jpg"
_NUMBERED = re.compile(r"(?P<stem>.*/[^/\d]*)(?P<number>\d+)(?P<ending>\.[^./]+)?", re.DOTALL)
#: More classes than anybody has, and frames further apart than any neighbours: a larger number is a mistake.
MOST_CLASSES, FURTHEST = 1_000_000, 1_000_000_000
_CLASS = f"a whole number from 0 to {MOST_CLASSES - 1}"


@dataclass(frozen=True)
class Layout:
    """Anchors, frames and pairs of both as places, which the other checks go by; see `FrameSets`."""

    anchors: tuple[str, ...]
    frames: tuple[str, ...]
    start: np.ndarray
    member: np.ndarray
    row: np.ndarray

    def pair(self, pair: int) -> str:
        """One pair in words."""
        return f"{brief(self.frames[self.member[pair]])} in the set of {brief(self.anchors[self.row[pair]])}"


def starts_of(sizes: Sequence[int] | np.ndarray) -> np.ndarray:
    """Where each of several runs begins that follow each other, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp)


def places_of(keys: Iterable[Hashable], among: Iterable[Hashable]) -> np.ndarray:
    """Where each key stands among others, -1 where it does not."""
    place = {key: i for i, key in enumerate(among)}
    return np.array([place.get(key, -1) for key in keys], dtype=np.int64)


def layout_of(sets: Any) -> Layout:
    """Check the sets, and number anchors, frames and pairs."""
    flat = _members(sets)
    anchors, frames = tuple(sets), tuple(dict.fromkeys([*sets, *flat]))
    place = {frame: i for i, frame in enumerate(frames)}
    sizes = np.array([len(members) for members in sets.values()], dtype=np.int64)
    member = np.array([place[frame] for frame in flat], dtype=np.int64)
    return Layout(anchors, frames, starts_of(sizes), member, arrays.repeat(np.arange(len(anchors)), sizes))


def _members(sets: Any) -> list[str]:
    """The similar frames of all sets in one list, or an InputError."""
    if not isinstance(sets, Mapping) or not sets:
        raise InputError(f"sets is {brief(sets)}: give the similar frames of at least one anchor, as a mapping")
    flat: list[str] = []
    for anchor, members in sets.items():
        if not isinstance(members, list | tuple):
            raise InputError(f"sets[{brief(anchor)}] is {brief(members)}: give a list of frame keys")
        strange = [key for key in (anchor, *members) if not isinstance(key, str)]
        if strange:
            raise InputError(f"sets[{brief(anchor)}] has the key {brief(strange[0])}: frames are named by texts")
        if anchor in members:
            raise InputError(f"sets[{brief(anchor)}] holds the anchor itself: list only the other frames")
        if len(set(members)) < len(members):
            twice = next(key for key, count in Counter(members).items() if count > 1)
            raise InputError(f"sets[{brief(anchor)}] holds {brief(twice)} twice: list each frame once")
        flat += members
    return flat


def check_offsets(layout: Layout, sets: Mapping[str, Sequence[str]], offsets: Any) -> np.ndarray | None:
    """Offset of each pair: as given, or as the keys say."""
    if offsets is None:
        found = _offsets_of_keys(layout)
    elif isinstance(offsets, Mapping) and not offsets:
        found = None
    else:
        found = np.array(_given_offsets(layout, sets, offsets), dtype=np.int64)
    if found is None:
        return None
    zero = np.flatnonzero(found == 0)
    if zero.size:
        i = zero[0]
        raise InputError(f"offsets of {layout.pair(i)} is 0: that is the anchor's own place")
    order = np.lexsort([found, layout.row])
    same = np.flatnonzero((np.diff(found[order]) == 0) & (np.diff(layout.row[order]) == 0))
    if same.size:
        first, second = order[same[0]], order[same[0] + 1]
        raise InputError(
            f"offsets of {layout.pair(first)} and of {brief(layout.frames[layout.member[second]])} are both "
            f"{found[first]}: two frames of a set cannot lie in one place"
        )
    return found


def _offsets_of_keys(layout: Layout) -> np.ndarray | None:
    """Differences of frame numbers; None unless every similar frame lies in its anchor's folder under a number."""
    parts = [_NUMBERED.fullmatch(key) for key in layout.frames]
    names = [match and (match["stem"], match["ending"]) for match in parts]
    numbers = [int(match["number"]) if match else 0 for match in parts]
    pairs = list(zip(layout.member.tolist(), layout.row.tolist(), strict=True))
    if any(names[member] is None or names[member] != names[anchor] for member, anchor in pairs):
        return None
    found = [numbers[member] - numbers[anchor] for member, anchor in pairs]
    return None if any(abs(offset) > FURTHEST for offset in found) else np.array(found, dtype=np.int64)


def _given_offsets(layout: Layout, sets: Mapping[str, Sequence[str]], offsets: Any) -> list[int]:
    if not isinstance(offsets, Mapping):
        raise InputError(f"offsets is {brief(offsets)}: give a mapping of anchors to lists of whole numbers")
    needed = [anchor for anchor, members in sets.items() if members]
    _refuse_keys("offsets", offsets, needed=needed, allowed=layout.anchors, what="anchors")
    flat = []
    for anchor, members in sets.items():
        given = offsets.get(anchor, ())
        given = _entries(given, f"offsets[{brief(anchor)}]", "give a list of whole numbers")
        if len(given) != len(members):
            name = f"offsets[{brief(anchor)}]"
            raise InputError(f"{name} has {len(given)} entries, but the set has {len(members)} frames")
        for offset in given:
            if isinstance(offset, bool) or not isinstance(offset, Integral) or abs(int(offset)) > FURTHEST:
                raise InputError(f"offsets[{brief(anchor)}] has {brief(offset)}: give whole numbers of frames")
        flat += [int(offset) for offset in given]
    return flat


def check_types(frames: Sequence[str], frame_types: Any) -> np.ndarray | None:
    """The type of each frame."""
    if frame_types is None:
        return None
    _refuse_keys("frame_types", frame_types, needed=frames, allowed=frames, what="frames")
    for frame in frames:
        if not isinstance(frame_types[frame], str) or frame_types[frame] not in TYPES:
            choices = ", ".join(TYPES)
            given = brief(frame_types[frame])
            raise InputError(f"frame_types[{brief(frame)}] is {given}: give one of {choices} (? is unknown)")
    return np.array([frame_types[frame] for frame in frames])


def check_groups(anchors: Sequence[str], groups: Any) -> tuple[np.ndarray | None, tuple[str, ...]]:
    """The group of each anchor as a place among names, and these names."""
    if groups is None:
        return None, ()
    _refuse_keys("groups", groups, needed=anchors, allowed=anchors, what="anchors")
    for anchor in anchors:
        if isinstance(groups[anchor], bool) or not isinstance(groups[anchor], str | Integral):
            raise InputError(f"groups[{brief(anchor)}] is {brief(groups[anchor])}: name the clip by a text or a number")
    names = [str(groups[anchor]) for anchor in anchors]
    place = {name: i for i, name in enumerate(dict.fromkeys(names))}
    return np.array([place[name] for name in names], dtype=np.int64), tuple(place)


def check_decisions(layout: Layout, review: Any) -> np.ndarray | None:
    """The decision about each pair."""
    if review is None:
        return None
    keys = [(layout.frames[a], layout.frames[m]) for a, m in zip(layout.row, layout.member, strict=True)]
    _refuse_keys("review", review, needed=keys, allowed=keys, what="pairs")
    for key in keys:
        if not isinstance(review[key], str) or not review[key]:
            raise InputError(f"review[{brief(key)}] is {brief(review[key])}: give the decision as a text")
    return np.array([review[key] for key in keys], dtype=str)


def refuse_shared(layout: Layout, group: np.ndarray | None) -> None:
    """A frame may be in sets of one group only: a frame belongs to one video."""
    anchor = np.arange(len(layout.anchors))
    group = anchor if group is None else group
    owner, owned = np.concatenate([anchor, layout.member]), np.concatenate([group, group[layout.row]])
    least = np.full(len(layout.frames), len(layout.anchors))
    most = np.full(len(layout.frames), -1)
    np.minimum.at(least, owner, owned)
    np.maximum.at(most, owner, owned)
    bad = np.flatnonzero(least != most)
    if bad.size:
        names = listed([layout.frames[i] for i in bad])
        raise InputError(
            f"sets of several groups share {bad.size} of the frames: {names}; such sets are not "
            "independent: give such anchors one group (their clip) by groups="
        )


def check_labels(layout: Layout, labels: Any) -> list[list[int]]:
    """The sorted own labels of each frame, or an InputError."""
    if not isinstance(labels, Mapping):
        raise InputError(f"labels is {brief(labels)}: give a mapping of frame keys to label sets")
    _refuse_keys("labels", labels, needed=layout.anchors, allowed=layout.frames, what="anchors")
    return [_label_set(frame, labels[frame]) if frame in labels else [] for frame in layout.frames]


def _entries(values: Any, name: str, remedy: str) -> list[Any]:
    """What a list, a set or an array of one axis holds."""
    single = isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable)
    if single or (isinstance(values, np.ndarray) and values.ndim != 1):
        raise InputError(f"{name} is {brief(values)}: {remedy}")
    return list(values)


def _label_set(frame: str, values: Any) -> list[int]:
    values, name = _number(values), f"labels[{brief(frame)}]"
    found = [values] if is_class(values) else _entries(values, name, f"give class numbers{_named(values)}")
    for label in found:
        if not is_class(label):
            raise InputError(f"{name} has {brief(label)}: a label is {_CLASS}{_named(label)}")
    if not found:
        raise InputError(f"{name} is empty: no prediction could be right; label the frame or leave it out")
    return sorted({int(label) for label in found})


def check_classes(frames: Sequence[str], own: Sequence[Sequence[int]], classes: int | None) -> int:
    """The number of classes: as given, or one more than the largest label."""
    least = 1 + max(found[-1] for found in own if found)
    if classes is None:
        return least
    if arrays.whole_number(classes, "classes", least=1) > MOST_CLASSES:
        raise InputError(f"classes is {brief(classes)}: give at most {MOST_CLASSES}")
    if least > classes:
        frame = next(frame for frame, found in zip(frames, own, strict=True) if found and found[-1] == least - 1)
        raise InputError(
            f"labels[{brief(frame)}] has class {least - 1}, but classes is {classes}: labels lie in 0..{classes - 1}"
        )
    return int(classes)


def _refuse_keys(name: str, given: Any, *, needed: Sequence[Hashable], allowed: Sequence[Hashable], what: str) -> None:
    """Refuse a mapping that leaves out needed keys, or has keys that match nothing; list them."""
    if not isinstance(given, Mapping):
        raise InputError(f"{name} is {brief(given)}: give a mapping")
    known = set(allowed)
    strange = [key for key in given if key not in known]
    if strange:
        raise InputError(f"{name} has keys that match nothing in sets, {len(strange)} in all: {listed(strange)}")
    lacking = [key for key in needed if key not in given]
    if lacking:
        raise InputError(f"{name} lacks {len(lacking)} of {len(needed)} {what}: {listed(lacking)}")


def check_mask(mask: Any, length: int, name: str) -> np.ndarray:
    """A boolean mask; None is one that keeps all."""
    if mask is None:
        return np.ones(length, dtype=bool)
    array = np.asarray(mask)
    if array.dtype != bool or array.shape != (length,):
        raise InputError(
            f"{name} has shape {array.shape} and type {array.dtype}: give a boolean mask of length {length}"
        )
    return array


def _number(value: Any) -> Any:
    """What an array or a tensor without axes holds, such as one taken out of a longer one; others as they are."""
    return value.item() if getattr(value, "ndim", 1) == 0 else value


def _named(value: Any) -> str:
    """A word to whoever gives the name of a class."""
    return ", such as the places of names in a list" if isinstance(value, str) else ""


def is_class(value: Any) -> bool:
    """Whether the value is a class number."""
    return isinstance(value, Integral) and not isinstance(value, bool) and 0 <= int(value) < MOST_CLASSES


def check_values(predictions: Mapping[str, Any]) -> np.ndarray:
    """Classes, or scores, of a mapping in one array."""
    predictions = {key: _number(value) for key, value in predictions.items()}
    scored = [hasattr(value, "__len__") and not isinstance(value, str) for value in predictions.values()]
    if any(scored) and not all(scored):
        odd = next(key for key, is_scored in zip(predictions, scored, strict=True) if is_scored != scored[0])
        first = next(iter(predictions))
        raise InputError(
            f"predictions[{brief(odd)}] and predictions[{brief(first)}] are unlike: give a class for every frame, or "
            "scores"
        )
    if scored[0]:
        return _score_rows(predictions)
    for key, value in predictions.items():
        if not is_class(value):
            raise InputError(f"predictions[{brief(key)}] is {brief(value)}: a class is {_CLASS}{_named(value)}")
    return np.array([int(value) for value in predictions.values()], dtype=np.int64)


def _score_rows(predictions: Mapping[str, Any]) -> np.ndarray:
    first, width = next(iter(predictions)), None
    rows = []
    for key, value in predictions.items():
        row = arrays.floats(value, f"predictions[{brief(key)}]", remedy="give a class, or a list of scores")
        width = row.shape if width is None else width
        if row.ndim != 1 or row.shape != width:
            other = f"predictions[{brief(first)}] of shape {width}"
            raise InputError(
                f"predictions[{brief(key)}] has scores of shape {row.shape}, {other}: give one score for each class"
            )
        rows.append(row)
    return np.stack(rows)


def check_predictions(frames: tuple[str, ...], values: np.ndarray) -> None:
    """Refuse a key that is there twice, and values that are neither classes nor scores of which one can win."""
    strange = [key for key in frames if not isinstance(key, str)]
    if strange:
        raise InputError(f"frames has the key {brief(strange[0])}: frames are named by texts")
    if len(set(frames)) < len(frames):
        twice = next(key for key, count in Counter(frames).items() if count > 1)
        raise InputError(f"frames holds {brief(twice)} twice: give each frame one prediction")
    whole = values.ndim == 1 and values.dtype.kind in "iu"
    scores = values.ndim == 2 and values.dtype.kind in "fiu"
    if not (whole or scores) or len(values) != len(frames) or not values.size:
        raise InputError(
            f"predictions has shape {values.shape} and type {values.dtype} for {len(frames)} frames: give classes as "
            "whole numbers, shape (m,), or scores, shape (m, classes)"
        )
    if whole:
        bad = np.flatnonzero((values < 0) | (values >= MOST_CLASSES))
        if bad.size:
            raise InputError(f"predictions[{brief(frames[bad[0]])}] is {values[bad[0]]}: a class is {_CLASS}")
        return
    faults = np.argwhere(np.isnan(values) | (values == np.inf))
    if faults.size:
        row, column = faults[0]
        raise InputError(
            f"predictions[{brief(frames[row])}] has the score {values[row, column]} for class {column}: no class can "
            "win over that; mend or leave out the frame"
        )
    hopeless = np.flatnonzero((values == -np.inf).all(axis=1))
    if hopeless.size:
        key = brief(frames[hopeless[0]])
        raise InputError(f"predictions[{key}] has no finite score: no class can win; leave it out")
