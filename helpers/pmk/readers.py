"""Readers: the official layouts of both robust video sets, plain tables, and JSON files of sets and predictions."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from ..errors import InputError
from .folding import groups_of
from .record import FrameSets, Predictions, listed

T = TypeVar("T")
#: Classes of ImageNet-Vid-Robust.
IVR_CLASSES = 30
#: Youtube-BB-Robust's table of first labels swaps these two against its class index (none and car).
SWAPPED = {22: 23, 23: 22}
ANCHOR_REJECTS = frozenset({"bad", "unsure"})
PAIR_REJECTS = frozenset(
    {
        "dissimilar",
        "problematic",
        "incorrect",
        "dont know",
        "deformation",
        "background-change",
        "occlusion-increased",
        "blur-increase",
        "bad-anchor",
    }
)
FORMATS = ("imagenet-vid-robust", "ytbb-robust", "csv")
ENDINGS = {".csv": "csv", ".npz": "record"}
COLUMNS = ("anchor", "frame", "labels", "offset", "type", "group", "decision")


def read(
    path: str | Path, format: str | None = None, *, reviewed: bool = True, classes: int | None = None
) -> FrameSets:
    """Frame sets from an official layout, a plain table, or a record.

    Parameters
    ----------
    path : path
        The folder of ``imagenet-vid-robust`` or ``ytbb-robust`` metadata, or the file that the other formats name.
    format : str, optional
        "imagenet-vid-robust": a folder with ``pmsets.json`` and ``labels.json``, itself or in ``metadata``.
        "ytbb-robust": a folder with ``anchor_labels*.json``, ``pmk_labels*.json`` (in order of name; the latest
        annotation of a key wins), one ``*anchors_full.csv`` and ``ytbb_class_index.json``.
        "csv": a line for each frame under ``anchor,frame,labels[,offset][,type][,group][,decision]``, labels separated
        by spaces; an anchor has a line of its own, with itself as frame, and its group on any of its lines.
        By default what the ending says: ``.csv``, or ``.npz`` as `FrameSets.save` writes it.
    reviewed : bool
        Of "ytbb-robust": the sets that human review left (default), or every annotated anchor and pair, judged by the
        first labels alone, with each pair's decision.
    classes : int, optional
        Number of classes of a "csv", as for `FrameSets`. The other formats know theirs.

    Returns
    -------
    FrameSets

    Raises
    ------
    InputError
        Another format; a file of the layout that is missing, or is not what its format says; an annotation that is of
        no known kind; what `FrameSets` refuses.
    OSError
        A file cannot be read.

    Notes
    -----
    Each frame of ImageNet-Vid-Robust has labels of its own. In Youtube-BB-Robust the anchor's judge all its frames: the
    first label, with 22 and 23 swapped back, and those that review added. There an anchor needs the annotation "good"
    and neither "bad" nor "unsure"; a pair needs "similar" and none of the rejecting ones, and one "bad-anchor" removes
    its anchor.

    References
    ----------
    Layouts and rules: github.com/modestyachts/imagenet-testbed.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "sets.csv")
    ...     _ = path.write_text("anchor,frame,labels,offset\\nv/5,v/5,0 2,\\nv/5,v/6,,1\\nv/5,v/3,0,-2\\n")
    ...     read(path)
    FrameSets(1 anchors, 2 similar frames, 3 classes)
    """
    path = Path(path)
    chosen = ENDINGS.get(path.suffix) if format is None else format
    if chosen not in FORMATS and (chosen != "record" or format is not None):
        raise InputError(f"{path}: format is {format!r}: choose one of {', '.join(FORMATS)}")
    if not reviewed and chosen != "ytbb-robust":
        raise InputError(f"{path}: reviewed is False, but only ytbb-robust says what review left out")
    if classes is not None and chosen != "csv":
        raise InputError(f"{path}: classes is {classes}, but the {chosen} format knows its number of classes")
    if chosen == "record":
        return FrameSets.load(path)
    readers = {
        "imagenet-vid-robust": lambda: _read_ivr(path),
        "ytbb-robust": lambda: _read_ytbb(path, reviewed=reviewed),
        "csv": lambda: _read_csv(path, classes=classes),
    }
    return _named(path, readers[str(chosen)])


def read_sets(
    sets: str | Path, labels: str | Path, *, groups: str | Path | None = None, classes: int | None = None
) -> FrameSets:
    """Frame sets from two JSON files: anchor to list of frames, and frame to list of labels.

    Parameters
    ----------
    sets, labels : path
        JSON objects in the shape of ImageNet-Vid-Robust's ``pmsets.json`` and ``labels.json``.
    groups : path, optional
        A JSON object of anchor to clip, where some clips have several anchors.
    classes : int, optional
        Number of classes, as for `FrameSets`.

    Raises
    ------
    InputError
        No JSON object, a key twice in one, or what `FrameSets` refuses.
    OSError
        A file cannot be read.
    """
    content, judged = read_object(sets), read_object(labels)
    clips = None if groups is None else read_object(groups)
    return _named(sets, lambda: FrameSets(content, judged, groups=clips, classes=classes))


def read_predictions(path: str | Path) -> Predictions:
    """Predictions from a JSON object of frame to class, or to list of scores; or from a record (``.npz``).

    Raises
    ------
    InputError
        No JSON object, a key twice, or what `Predictions` refuses.
    OSError
        The file cannot be read.
    """
    path = Path(path)
    if path.suffix == ".npz":
        return Predictions.load(path)
    content = read_object(path)
    return _named(path, lambda: Predictions.of(content))


def read_class_map(path: str | Path, *, classes: int | None = None) -> list[list[int]]:
    """Groups for `fold` from a JSON class map in either direction, such as ``class_idx_map.json``.

    Raises
    ------
    InputError
        No JSON object, or what `groups_of` refuses.
    OSError
        The file cannot be read.
    """
    content = read_object(path)
    return _named(path, lambda: groups_of(content, classes=classes))


def read_object(path: str | Path) -> dict[str, Any]:
    """A JSON object; a key that is there twice is refused, where plain JSON readers keep the last.

    Raises
    ------
    InputError
        No JSON, not UTF-8, no object, or a repeated key.
    OSError
        The file cannot be read.
    """
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8-sig"), object_pairs_hook=_object)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: no JSON ({error})") from error
    if not isinstance(content, dict):
        raise InputError(f"{path}: no JSON object: give frame keys and their values")
    return content


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise InputError(f"the key {twice!r} is there twice: keep one")
    return content


def _named(path: str | Path, make: Callable[[], T]) -> T:
    """What `make` returns; its refusal says which file."""
    try:
        return make()
    except InputError as error:
        if str(error).startswith(str(path)):
            raise
        raise InputError(f"{path}: {error}") from error


# --- ImageNet-Vid-Robust


def _read_ivr(folder: Path) -> FrameSets:
    inner = folder / "metadata" if (folder / "metadata").is_dir() else folder
    sets, labels = read_object(_file(inner, "pmsets.json")), read_object(_file(inner, "labels.json"))
    return FrameSets(sets, labels, classes=IVR_CLASSES, provenance={"format": "imagenet-vid-robust"})


def _file(folder: Path, pattern: str) -> Path:
    """The one file of a pattern, or a message that says what is missing."""
    found = sorted(folder.glob(pattern))
    if len(found) != 1:
        raise InputError(f"{folder}: has {len(found)} files {pattern}, 1 is needed")
    return found[0]


# --- Youtube-BB-Robust


def _read_ytbb(folder: Path, *, reviewed: bool) -> FrameSets:
    index = read_object(_file(folder, "ytbb_class_index.json"))
    number = _class_numbers(index)
    first = _first_labels(_file(folder, "*anchors_full.csv"))
    anchors = _annotations(folder, "anchor_labels*.json")
    pairs = {_pair_of(key): names for key, names in _annotations(folder, "pmk_labels*.json").items()}
    if reviewed:
        spoilt = {anchor for (anchor, _), names in pairs.items() if "bad-anchor" in names}
        anchors = {
            key: names
            for key, names in anchors.items()
            if "good" in names and not names & ANCHOR_REJECTS and key not in spoilt
        }
        pairs = {key: names for key, names in pairs.items() if "similar" in names and not names & PAIR_REJECTS}
    sets: dict[str, list[str]] = {anchor: [] for anchor in anchors}
    for anchor, frame in pairs:
        if anchor in sets:
            sets[anchor].append(frame)
    review = {key: ", ".join(sorted(names)) or "none" for key, names in pairs.items() if key[0] in sets}
    labels = {
        anchor: first[_clip(anchor, first)] | (_added(anchor, names, number) if reviewed else set())
        for anchor, names in anchors.items()
    }
    return FrameSets(
        sets, labels, review=review, classes=len(index), provenance={"format": "ytbb-robust", "reviewed": reviewed}
    )


def _class_numbers(index: Mapping[str, Any]) -> dict[str, int]:
    """The number of each class by its name."""
    for key, name in index.items():
        if not key.isdecimal() or not isinstance(name, str):
            raise InputError(f"ytbb_class_index.json has {key!r}: {name!r}, class numbers and their names are needed")
    return {name: int(key) for key, name in index.items()}


def _annotations(folder: Path, pattern: str) -> dict[str, frozenset[str]]:
    """Names of the annotations of each key; files in order of name, the latest annotation of a key wins."""
    paths = sorted(folder.glob(pattern))
    if not paths:
        raise InputError(f"{folder}: has no file {pattern}")
    found: dict[str, frozenset[str]] = {}
    known: list[str] | None = None
    for path in paths:
        content = read_object(path)
        try:
            names, rows = list(content["labels"]), [(row["key"], row["labels"]) for row in content["annotations"]]
            if known is not None and names != known:
                raise InputError(f"{path}: its list of labels is unlike that of {paths[0].name}: they must agree")
            known = names
            for key, places in rows:
                if not all(0 <= place < len(names) for place in places):
                    raise InputError(f"{path}: annotation of {key!r} is {places}: places in a list of {len(names)}")
                short = ",".join(_short(part) for part in key.split(","))
                found[short] = frozenset(names[place] for place in places)
        except (KeyError, TypeError, AttributeError) as error:
            raise InputError(f"{path}: annotations with key and labels, and a list of labels, are needed") from error
    return found


def _short(key: str) -> str:
    """The last folder and the file name, which is what frames are named by."""
    return "/".join(key.strip().split("/")[-2:])


def _pair_of(key: str) -> tuple[str, str]:
    anchor, comma, frame = key.partition(",")
    if not comma or "," in frame:
        raise InputError(f"annotation {key!r} names no pair: <anchor>,<frame> is needed")
    return anchor, frame


def _first_labels(path: Path) -> dict[str, set[int]]:
    """The label that each clip came with, by clip name; 22 and 23 stand for each other in the table."""
    found: dict[str, set[int]] = {}
    for number, row in _rows(path, needed=("ytid", "time_ms", "label")):
        try:
            label = int(row["label"])
        except ValueError as error:
            raise InputError(f"{path}, line {number}: label {row['label']!r} is no class number") from error
        found[f"{row['ytid']}_{row['time_ms']}"] = {SWAPPED.get(label, label)}
    return found


def _clip(anchor: str, first: Mapping[str, Any]) -> str:
    clip = anchor.split("/")[0]
    if clip not in first:
        raise InputError(f"anchor {anchor!r} has no first label: clip {clip!r} is not in the table of anchors")
    return clip


def _added(anchor: str, names: frozenset[str], number: Mapping[str, int]) -> set[int]:
    """Classes that review added, by name."""
    classes = names - ANCHOR_REJECTS - {"good"}
    strange = sorted(classes - set(number))
    if strange:
        raise InputError(
            f"annotation of {anchor!r} names the class {strange[0]!r}, which the class index does not have"
        )
    return {number[name] for name in classes}


# --- plain tables


def _read_csv(path: Path, *, classes: int | None) -> FrameSets:
    sets: dict[str, list[str]] = {}
    labels: dict[str, list[int]] = {}
    columns: dict[str, dict[Any, Any]] = {name: {} for name in COLUMNS[3:]}
    offsets: dict[str, list[int]] = {}
    given: set[str] = set()
    for number, row in _rows(path, needed=COLUMNS[:3], optional=COLUMNS[3:]):
        given = set(row) - set(COLUMNS[:3])
        where, anchor, frame = f"{path}, line {number}", row["anchor"], row["frame"]
        members = sets.setdefault(anchor, [])
        if anchor != frame:
            members.append(frame)
            if "offset" in row:
                offsets.setdefault(anchor, []).append(_whole(row["offset"], f"{where}: offset"))
            columns["decision"][anchor, frame] = row.get("decision")
        elif row.get("offset") not in (None, "", "0"):
            raise InputError(f"{where}: the anchor {anchor!r} has the offset {row['offset']}: it lies at 0")
        elif row.get("decision"):
            raise InputError(f"{where}: the anchor {anchor!r} has a decision: decisions are about pairs")
        if row.get("group"):
            _once(columns["group"], anchor, row["group"], f"{where}: group")
        if row["labels"]:
            found = [_whole(text, f"{where}: labels") for text in row["labels"].split()]
            _once(labels, frame, found, f"{where}: labels")
        _once(columns["type"], frame, row.get("type"), f"{where}: type")
    return FrameSets(
        sets,
        labels,
        offsets=offsets if "offset" in given else None,
        frame_types=columns["type"] if "type" in given else None,
        groups=columns["group"] if "group" in given else None,
        review=columns["decision"] if "decision" in given else None,
        classes=classes,
        provenance={"format": "csv"},
    )


def _once(known: dict[Any, Any], key: str, value: Any, where: str) -> None:
    """Keep a value; a second line that says otherwise is refused."""
    if known.setdefault(key, value) != value:
        raise InputError(f"{where} of {key!r} is {value!r}, but an earlier line says {known[key]!r}")


def _whole(text: str, where: str) -> int:
    try:
        return int(text)
    except ValueError as error:
        raise InputError(f"{where} is {text!r}: whole numbers are needed") from error


def _rows(
    path: Path, *, needed: tuple[str, ...], optional: tuple[str, ...] = ()
) -> Iterator[tuple[int, dict[str, str]]]:
    """Lines of a table under its header, with their number."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            reader = csv.reader(stream, strict=True)
            names = [name.strip() for name in next(reader, [])]
            missing = [name for name in needed if name not in names]
            strange = [name for name in names if name not in (*needed, *optional)] if optional else []
            if missing or strange or len(set(names)) < len(names):
                raise InputError(
                    f"{path}, line 1: {listed(names) or 'no header'}: the header names {', '.join(needed)}"
                    + (f" and, optionally, {', '.join(optional)}" if optional else "")
                )
            empty = True
            for cells in reader:
                if not cells:
                    continue
                if len(cells) != len(names):
                    raise InputError(f"{path}, line {reader.line_num}: {len(cells)} cells, the header has {len(names)}")
                empty = False
                yield reader.line_num, {name: cell.strip() for name, cell in zip(names, cells, strict=True)}
            if empty:
                raise InputError(f"{path}: holds no line after the header")
    except (csv.Error, UnicodeDecodeError) as error:
        raise InputError(f"{path}: no table ({error}): save it as UTF-8 with commas") from error
