"""The records of detection: the boxes that are there, and the boxes that a detector says are there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from .. import arrays, records
from ..errors import InputError, brief, listed
from ..records import Field, Schema

#: Areas of boxes beyond this would overflow.
LARGEST = 1e100
#: A record has no empty arrays, so those of a record without any box are left out of its file.
BOX_FIELDS = {
    "frame": Field("int", ("m",), "index of frame", optional=True),
    "category": Field("int", ("m",), "category id", optional=True),
    "box": Field("float", ("m", "xywh"), "pixel", optional=True),
}
#: How the parts of one frame's entry are read; lengths and ranges are checked when all of them are in one array.
PARTS: dict[str, Callable[[Any, str], np.ndarray]] = {
    "categories": lambda values, name: arrays.whole_numbers(values, name, layout="a category id for each box"),
    "boxes": lambda values, name: arrays.floats(values, name, remedy="give x, y, width, height for each box"),
    "scores": lambda values, name: arrays.floats(values, name, remedy="give a number for each box"),
}


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Boxes:
    """Ground truth: m boxes in a list of frames, some of which may hold none.

    Parameters
    ----------
    frames : sequence of str
        Keys of the frames, each once. Their order settles ties of score between frames, as the image id does in COCO.
    frame : array of int, shape (m,)
        In which frame each box lies, as an index into `frames`.
    category : array of int, shape (m,)
        What is in each box: a category id.
    box : array of shape (m, 4)
        x, y, width and height in pixels, finite, width and height at least 0. COCO's layout, with x and y of the
        top left corner; a box of width or height 0 is allowed and overlaps nothing.
    crowd : array of bool, shape (m,), optional
        COCO's ``iscrowd``: a region with many objects. It need not be found, and boxes that lie in it are not held
        against a detector. None means no box is a crowd.
    area : array of float, shape (m,), optional
        Size of the object in square pixels, for ranges of areas; by default width times height. COCO's annotations
        have the area of the segment, which is smaller.
    categories : mapping of int to str, optional
        Every category there is, id to name; by default those that occur. Give them all where a detector may name one
        that has no box here.
    image_ids : array of int, shape (frames,), optional
        Id of each frame in a COCO file, each once; by default 1, 2, ...
    provenance : mapping, optional
        Where the boxes come from; see `records.provenance`.

    Raises
    ------
    InputError
        A key or an image id that occurs twice, an index of no frame, unequal lengths, a width or height below 0, a
        value that is not finite, an unknown category. The message names argument, index and frame.

    Examples
    --------
    >>> Boxes(["a", "b"], frame=[0, 0], category=[1, 2], box=[[0, 0, 10, 10], [5, 5, 8, 8]])
    Boxes(2 boxes of 2 categories, 0 crowds, 2 frames, 1 without boxes)
    """

    frames: tuple[str, ...]
    frame: np.ndarray
    category: np.ndarray
    box: np.ndarray
    crowd: np.ndarray
    area: np.ndarray
    categories: Mapping[int, str]
    image_ids: np.ndarray
    provenance: Mapping[str, Any]

    SCHEMA: ClassVar[Schema] = Schema(
        "pmk-boxes",
        1,
        {
            **BOX_FIELDS,
            "crowd": Field("bool", ("m",), "truth value", optional=True),
            "area": Field("float", ("m",), "square pixel", optional=True),
            "image_ids": Field("int", ("frames",), "image id"),
        },
    )

    def __init__(
        self,
        frames: Sequence[str],
        frame: Any,
        category: Any,
        box: Any,
        *,
        crowd: Any = None,
        area: Any = None,
        categories: Mapping[int, str] | None = None,
        image_ids: Any = None,
        provenance: Mapping[str, Any] | None = None,
    ) -> None:
        """Check everything once, so that whoever holds the boxes can rely on them."""
        keys = check_keys(frames)
        place, kind, rectangle = _check_boxes(keys, frame, category, box)
        if categories is None:
            names = {int(number): str(number) for number in np.unique(kind)}
        else:
            names = _check_categories(categories)
        refuse_unknown_category(kind, place, keys, names, "category")
        known = {
            "frames": keys,
            "frame": place,
            "category": kind,
            "box": rectangle,
            "crowd": _check_crowd(crowd, len(place)),
            "area": _check_area(area, rectangle),
            "categories": names,
            "image_ids": _check_image_ids(image_ids, len(keys)),
            "provenance": records.check_provenance(provenance),
        }
        _fill(self, known)

    @classmethod
    def of(cls, boxes: Mapping[str, tuple[Any, Any]], *, categories: Mapping[int, str] | None = None) -> Boxes:
        """From one entry per frame, ``{frame: (categories, boxes)}``; a frame without boxes is ``([], [])``.

        Raises
        ------
        InputError
            As the constructor; an entry that is no pair of equal lengths.

        Examples
        --------
        >>> Boxes.of({"a": ([1, 1], [[0, 0, 10, 10], [20, 0, 10, 10]]), "b": ([], [])})
        Boxes(2 boxes of 1 categories, 0 crowds, 2 frames, 1 without boxes)
        """
        keys, place, (kind, box) = _flat(boxes, ("categories", "boxes"))
        return cls(keys, place, kind, box, categories=categories)

    def __repr__(self) -> str:
        """Counts; a record has too many boxes to print."""
        empty = len(self.frames) - len(np.unique(self.frame))
        return (
            f"Boxes({len(self.frame)} boxes of {len(self.categories)} categories, {int(self.crowd.sum())} crowds, "
            f"{len(self.frames)} frames, {empty} without boxes)"
        )

    def save(self, path: str | Path) -> Path:
        """Write the record to one .npz file, whole or not at all."""
        manifest = {
            "frames": list(self.frames),
            "categories": [[number, name] for number, name in self.categories.items()],
            "provenance": dict(self.provenance),
        }
        content = {**_filled(self, "crowd", "area"), "image_ids": self.image_ids}
        return records.save(path, self.SCHEMA, content, manifest)

    @classmethod
    def load(cls, path: str | Path) -> Boxes:
        """Read a record; refuses what it cannot vouch for, see `records.load`."""
        content, manifest = records.load(path, cls.SCHEMA)
        frames, categories = _named(path, manifest, "frames"), _named(path, manifest, "categories")
        try:
            names = {int(number): str(name) for number, name in categories}
        except (TypeError, ValueError) as error:
            raise InputError(f"{path}: its categories are no list of (id, name): copy it again") from error
        return cls(
            frames,
            *_stored(content),
            crowd=content.get("crowd"),
            area=content.get("area"),
            categories=names,
            image_ids=content["image_ids"],
            provenance=manifest.get("provenance", {}),
        )


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Detections:
    """What a detector says: m boxes with scores, in a list of frames of which it has seen every one.

    Parameters
    ----------
    frames : sequence of str
        Keys of the frames the detector was run on, each once. A frame in which it found nothing belongs here, without
        a box: a frame that is not listed counts as never looked at, and is refused when scored.
    frame, category, box
        As for `Boxes`. Boxes of equal score rank in the order they are given in.
    score : array of shape (m,)
        Confidence in each box: any finite number, higher is surer.
    provenance : mapping, optional
        Where the boxes come from; see `records.provenance`.

    Raises
    ------
    InputError
        As `Boxes`; a missing score, or one that is not finite.

    Examples
    --------
    >>> Detections(["a", "b"], frame=[0], category=[1], box=[[0, 0, 10, 9]], score=[0.8])
    Detections(1 boxes, 2 frames, 1 without boxes)
    """

    frames: tuple[str, ...]
    frame: np.ndarray
    category: np.ndarray
    box: np.ndarray
    score: np.ndarray
    provenance: Mapping[str, Any]

    SCHEMA: ClassVar[Schema] = Schema(
        "pmk-detections", 1, {**BOX_FIELDS, "score": Field("float", ("m",), "score", optional=True)}
    )

    def __init__(
        self,
        frames: Sequence[str],
        frame: Any,
        category: Any,
        box: Any,
        score: Any,
        *,
        provenance: Mapping[str, Any] | None = None,
    ) -> None:
        """Check everything once, so that whoever holds the detections can rely on them."""
        keys = check_keys(frames)
        place, kind, rectangle = _check_boxes(keys, frame, category, box)
        known = {
            "frames": keys,
            "frame": place,
            "category": kind,
            "box": rectangle,
            "score": _check_score(score, place, keys),
            "provenance": records.check_provenance(provenance),
        }
        _fill(self, known)

    @classmethod
    def of(cls, boxes: Mapping[str, tuple[Any, Any, Any]]) -> Detections:
        """From one entry per frame, ``{frame: (categories, boxes, scores)}``; one that is empty is ``([], [], [])``.

        Raises
        ------
        InputError
            As the constructor; an entry whose parts have unequal lengths.

        Examples
        --------
        >>> Detections.of({"a": ([1], [[0, 0, 10, 10]], [0.9]), "b": ([], [], [])})
        Detections(1 boxes, 2 frames, 1 without boxes)
        """
        keys, place, (kind, box, score) = _flat(boxes, ("categories", "boxes", "scores"))
        return cls(keys, place, kind, box, score)

    def __repr__(self) -> str:
        """Counts; a record has too many boxes to print."""
        empty = len(self.frames) - len(np.unique(self.frame))
        return f"Detections({len(self.frame)} boxes, {len(self.frames)} frames, {empty} without boxes)"

    def save(self, path: str | Path) -> Path:
        """Write the record to one .npz file, whole or not at all."""
        manifest = {"frames": list(self.frames), "provenance": dict(self.provenance)}
        return records.save(path, self.SCHEMA, _filled(self, "score"), manifest)

    @classmethod
    def load(cls, path: str | Path) -> Detections:
        """Read a record; refuses what it cannot vouch for, see `records.load`."""
        content, manifest = records.load(path, cls.SCHEMA)
        frame, category, box = _stored(content)
        return cls(
            _named(path, manifest, "frames"),
            frame,
            category,
            box,
            content.get("score", np.zeros(0)),
            provenance=manifest.get("provenance", {}),
        )


def check_keys(frames: Sequence[str]) -> tuple[str, ...]:
    """Frame keys as a tuple of texts, each once, at least one."""
    if isinstance(frames, str) or not isinstance(frames, Sequence) or not len(frames):
        raise InputError(f"frames is {brief(frames)}: give a list of at least one frame key")
    keys = tuple(frames)
    strangers = [i for i, key in enumerate(keys) if not isinstance(key, str)]
    if strangers:
        raise InputError(f"frames[{strangers[0]}] is {brief(keys[strangers[0]])}: a frame key is a text")
    seen: set[str] = set()
    for i, key in enumerate(keys):
        if key in seen:
            raise InputError(f"frames[{i}] is {brief(key)} for the second time: give each frame once")
        seen.add(key)
    return keys


def check_id(value: Any, name: str) -> int:
    """A whole number that serves as an id."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer):
        raise InputError(f"{name} has {brief(value)}: an id is a whole number")
    if not -(2**63) <= int(value) < 2**63:
        raise InputError(f"{name} has {brief(value)}: an id fits into 64 bits")
    return int(value)


def _check_categories(categories: Any) -> dict[int, str]:
    """Names by id, in the order of the ids."""
    if not isinstance(categories, Mapping):
        raise InputError(f"categories is {brief(categories)}: give a mapping of id to name")
    names = {check_id(number, "categories"): str(name) for number, name in categories.items()}
    return dict(sorted(names.items()))


def refuse_unknown_category(
    category: np.ndarray, frame: np.ndarray, keys: Sequence[str], known: Iterable[int], name: str
) -> None:
    """Refuse a box of a category that the ground truth does not list, naming the box and its frame."""
    known = sorted(known)
    bad = np.flatnonzero(~np.isin(category, np.array(known, dtype=np.int64)))
    if bad.size:
        raise InputError(
            f"{name}[{bad[0]}] is {category[bad[0]]} (frame {brief(keys[frame[bad[0]]])}), and the ground truth knows "
            f"only {listed(known) or 'none'}: mend the id, or list it in the categories of the ground truth"
        )


def _fill(record: Any, values: Mapping[str, Any]) -> None:
    """Set the attributes of a frozen record, its arrays read-only."""
    for name, value in values.items():
        if isinstance(value, np.ndarray):
            value.flags.writeable = False
        object.__setattr__(record, name, value)


def _check_boxes(keys: Sequence[str], frame: Any, category: Any, box: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Indices of frames, category ids and boxes, as int64 (m,), int64 (m,) and float64 (m, 4)."""
    place = _integers(frame, "frame")
    kind = _integers(category, "category", count=len(place))
    outside = (place < 0) | (place >= len(keys))
    arrays.refuse_where(outside, place, "frame", f"with {len(keys)} frames an index lies in 0..{len(keys) - 1}")
    values = _numbers(box, "box", (len(place), 4), f"x, y, width, height for each of the {len(place)} boxes")
    _refuse_rows(np.any(~np.isfinite(values), axis=1), values, place, keys, "four finite numbers are needed")
    far = np.any(np.abs(values) > LARGEST, axis=1)
    _refuse_rows(far, values, place, keys, f"numbers of pixels lie within {LARGEST:g} of 0")
    _refuse_rows(
        np.any(values[:, 2:] < 0, axis=1),
        values,
        place,
        keys,
        "a box is x, y, width, height, with width and height of at least 0",
    )
    return place, kind, values


def _refuse_rows(bad: np.ndarray, values: np.ndarray, place: np.ndarray, keys: Sequence[str], remedy: str) -> None:
    if bad.any():
        i = int(np.flatnonzero(bad)[0])
        raise InputError(f"box[{i}] is {values[i].tolist()} (frame {brief(keys[place[i]])}): {remedy}")


def _check_crowd(crowd: Any, count: int) -> np.ndarray:
    if crowd is None:
        return np.zeros(count, dtype=bool)
    values = arrays.to_numpy(arrays.as_array(crowd, "crowd"))
    if not count and not values.size:
        return np.zeros(0, dtype=bool)
    if values.shape != (count,) or values.dtype != bool:
        raise InputError(f"crowd has shape {values.shape} and type {values.dtype}: give {count} truth values")
    return values.copy()


def _check_area(area: Any, box: np.ndarray) -> np.ndarray:
    if area is None:
        return box[:, 2] * box[:, 3]
    values = _numbers(area, "area", (len(box),), f"square pixels for each of the {len(box)} boxes")
    bad = ~(np.isfinite(values) & (values >= 0))
    arrays.refuse_where(bad, values, "area", "an area is a finite number of at least 0")
    return values


def _check_score(score: Any, place: np.ndarray, keys: Sequence[str]) -> np.ndarray:
    if score is None:
        raise InputError("score is None: average precision ranks boxes by score, give one for each box")
    values = _numbers(score, "score", place.shape, f"a number for each of the {len(place)} boxes")
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size:
        key = brief(keys[place[bad[0]]])
        raise InputError(f"score[{bad[0]}] is {values[bad[0]]} (frame {key}): give finite scores")
    return values


def _check_image_ids(image_ids: Any, count: int) -> np.ndarray:
    if image_ids is None:
        return np.arange(1, count + 1)
    values = _integers(image_ids, "image_ids", count=count)
    unique, first = np.unique(values, return_index=True)
    if len(unique) < count:
        again = np.setdiff1d(np.arange(count), first)[0]
        raise InputError(f"image_ids[{again}] is {values[again]} for the second time: give each frame an id of its own")
    return values


def _integers(values: Any, name: str, count: int | None = None) -> np.ndarray:
    """Whole numbers in one row, as many as there are boxes or frames; an empty row may have any type."""
    wanted = "whole numbers in one row" if count is None else f"{count} whole numbers in one row"
    if getattr(values, "shape", None) == (0,):
        values = []
    whole = arrays.whole_numbers(values, name, layout=wanted, ndim=1)
    if count not in (None, len(whole)):
        raise InputError(f"{name} has shape {whole.shape}: give {wanted}")
    return whole.copy()


def _numbers(values: Any, name: str, shape: tuple[int, ...], wanted: str) -> np.ndarray:
    """Numbers of that shape, float64, or an InputError that says what is wanted; without boxes any empty array will do.

    What is missing comes as NaN, which nobody here lets pass.
    """
    found = arrays.floats(values, name, remedy=f"give {wanted}")
    if not shape[0] and not found.size:
        return np.zeros(shape)
    if found.shape != shape:
        raise InputError(f"{name} has shape {found.shape}: give {wanted}, shape {shape}")
    return found


def _flat(boxes: Mapping[str, Sequence[Any]], parts: tuple[str, ...]) -> tuple[list[str], np.ndarray, list[Any]]:
    """One entry per frame as flat arrays: keys, index of the frame of each box, and each part end to end."""
    if not isinstance(boxes, Mapping):
        raise InputError(f"boxes is {brief(boxes)}: give a mapping of frame key to ({', '.join(parts)})")
    columns: list[list[Any]] = [[] for _ in parts]
    counts = []
    for key, entry in boxes.items():
        if not isinstance(entry, Sequence) or isinstance(entry, str) or len(entry) != len(parts):
            raise InputError(f"frame {brief(key)} has {brief(entry)}: give ({', '.join(parts)})")
        rows = [
            # an array of numbers needs no look at its entries, which takes most of the time
            part
            if type(part) is np.ndarray and part.dtype.kind in "fiu"
            else PARTS[name](part, f"boxes[{brief(key)}].{name}")
            for name, part in zip(parts, entry, strict=True)
        ]
        lengths = [len(row) if row.ndim else -1 for row in rows]
        if len(set(lengths)) > 1 or lengths[0] < 0:
            raise InputError(
                f"frame {brief(key)} has {', '.join(map(str, lengths))} {', '.join(parts)}: give one of each per box"
            )
        counts.append(lengths[0])
        for column, row in zip(columns, rows, strict=True):
            if len(row):
                column.append(row)
    try:
        flat: list[Any] = [np.concatenate(column) if column else [] for column in columns]
    except ValueError as error:
        raise InputError(f"boxes of unlike shapes: give x, y, width, height for each ({error})") from error
    return list(boxes), np.repeat(np.arange(len(counts)), counts), flat


def _filled(record: Any, *more: str) -> dict[str, np.ndarray]:
    names = (*BOX_FIELDS, *more)
    return {name: getattr(record, name) for name in names} if len(record.frame) else {}


def _stored(content: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    """What `_filled` wrote, with the empty arrays that it left out."""
    empty = {"frame": np.zeros(0, np.int64), "category": np.zeros(0, np.int64), "box": np.zeros((0, 4))}
    return [content.get(name, empty[name]) for name in BOX_FIELDS]


def _named(path: str | Path, manifest: Mapping[str, Any], key: str) -> list[Any]:
    value = manifest.get(key)
    if not isinstance(value, list):
        raise InputError(f"{path}: its manifest does not list the {key}: copy or make it again")
    return value
