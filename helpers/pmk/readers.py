"""Readers: the official layouts of both robust video sets, plain tables, and JSON files of sets and predictions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import InputError, brief, located
from ..records import read_json
from .folding import groups_of
from .record import FrameSets, Predictions
from .tables import rows_of

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
    if chosen == "csv":
        return _read_csv(path, classes=classes)
    return _read_ivr(path) if chosen == "imagenet-vid-robust" else _read_ytbb(path, reviewed=reviewed)


def read_sets(
    sets: str | Path, labels: str | Path, *, groups: str | Path | None = None, classes: int | None = None
) -> FrameSets:
    """Frame sets from two JSON files: anchor to list of frames, and frame to list of labels.

    For sets of one's own in the shape of ImageNet-Vid-Robust's files; `read` takes its whole folder. Offsets are read
    from keys that end in frame numbers, as `FrameSets` does.

    Parameters
    ----------
    sets : path
        A JSON object of anchor to list of similar frames, as ``pmsets.json``.
    labels : path
        A JSON object of frame to class number or list of them, as ``labels.json``; of every anchor, and of other frames
        where their own are known.
    groups : path, optional
        A JSON object of anchor to clip, where some clips have several anchors; by default each anchor is from a video
        of its own.
    classes : int, optional
        Number of classes, by default one more than the largest label, as for `FrameSets`.

    Returns
    -------
    FrameSets

    Raises
    ------
    InputError
        No JSON object, a key twice in one, or what `FrameSets` refuses; the message names the files.
    OSError
        A file cannot be read.

    References
    ----------
    The files of ImageNet-Vid-Robust in github.com/modestyachts/imagenet-testbed.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     sets, labels = Path(folder, "pmsets.json"), Path(folder, "labels.json")
    ...     _ = sets.write_text('{"v/05": ["v/04", "v/07"]}')
    ...     _ = labels.write_text('{"v/05": [0, 2], "v/07": [2]}')
    ...     found = read_sets(sets, labels)
    >>> found, found.offset
    (FrameSets(1 anchors, 2 similar frames, 3 classes), array([-1,  2]))
    """
    content, judged = read_object(sets), read_object(labels)
    clips = None if groups is None else read_object(groups)
    with located(f"{sets} with {labels}" if groups is None else f"{sets} with {labels} and {groups}"):
        return FrameSets(content, judged, groups=clips, classes=classes)


def read_predictions(path: str | Path) -> Predictions:
    """Predictions from a JSON object of frame to class, or to list of scores; or from a record (``.npz``).

    Parameters
    ----------
    path : path
        What ends in ``.npz`` is read as `Predictions.save` writes it, any other file as JSON: every frame has a class
        number, or every frame has a list of scores, one for each class.

    Returns
    -------
    Predictions
        Of m frames: classes of shape (m,), or scores of shape (m, classes).

    Raises
    ------
    InputError
        No JSON object, a key twice, or what `Predictions` refuses, such as classes and scores mixed; a file that is no
        record of predictions. The message names the file.
    OSError
        The file cannot be read.

    References
    ----------
    The layout is this package's own; the published sets come without predictions.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "said.json")
    ...     _ = path.write_text('{"v/05": [0.1, 0.7, 0.2], "v/07": [0.4, 0.5, 0.1]}')
    ...     found = read_predictions(path)
    >>> found, found.classes
    (Predictions(2 frames, scores of 3 classes), array([1, 1]))
    """
    path = Path(path)
    if path.suffix == ".npz":
        return Predictions.load(path)
    content = read_object(path)
    with located(path):
        return Predictions.of(content)


def read_class_map(path: str | Path, *, classes: int | None = None) -> list[list[int]]:
    """Groups for `fold` from a JSON class map: which fine classes, such as ImageNet's, make up each class of the sets.

    Parameters
    ----------
    path : path
        A JSON object of fine class to coarse class, such as ``class_idx_map.json`` of the published sets, or of coarse
        class to list of fine ones, such as ``rev_class_idx_map.json``.
    classes : int, optional
        Number of coarse classes, as for `groups_of`: by default one more than the largest that the map names.

    Returns
    -------
    list of list of int
        The fine classes of coarse class 0, 1, ...; empty for one that the map does not name.

    Raises
    ------
    InputError
        No JSON object, or what `groups_of` refuses; the message names the file.
    OSError
        The file cannot be read.

    References
    ----------
    The class maps of both robust video sets in github.com/modestyachts/imagenet-testbed.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "class_idx_map.json")
    ...     _ = path.write_text('{"7": 1, "8": 1, "404": 0}')
    ...     read_class_map(path, classes=3)
    [[404], [7, 8], []]
    """
    content = read_object(path)
    with located(path):
        return groups_of(content, classes=classes)


def read_object(path: str | Path) -> dict[str, Any]:
    """A JSON object.

    Raises
    ------
    InputError
        No object, or what `records.read_json` refuses, such as a repeated key.
    OSError
        The file cannot be read.
    """
    content = read_json(path)
    if not isinstance(content, dict):
        raise InputError(f"{path}: no JSON object: give frame keys and their values")
    return content


# --- ImageNet-Vid-Robust


def _read_ivr(folder: Path) -> FrameSets:
    inner = folder / "metadata" if (folder / "metadata").is_dir() else folder
    sets, labels = read_object(_file(inner, "pmsets.json")), read_object(_file(inner, "labels.json"))
    with located(folder):
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
    first = _first_labels(_file(folder, "*anchors_full.csv"))
    anchors, similar = _annotations(folder, "anchor_labels*.json"), _annotations(folder, "pmk_labels*.json")
    with located(folder):
        return _ytbb_sets(index, first, anchors, similar, reviewed=reviewed)


def _ytbb_sets(
    index: Mapping[str, Any],
    first: Mapping[str, set[int]],
    anchors: Mapping[str, frozenset[str]],
    similar: Mapping[str, frozenset[str]],
    *,
    reviewed: bool,
) -> FrameSets:
    """The sets that annotations of anchors, and of pairs of anchor and similar frame, amount to."""
    number = _class_numbers(index)
    pairs = {_pair_of(key): names for key, names in similar.items()}
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
            pair = f"{brief(key)}: {brief(name)}"
            raise InputError(f"ytbb_class_index.json has {pair}, class numbers and their names are needed")
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
                    where = f"{path}: annotation of {brief(key)}"
                    raise InputError(f"{where} is {places}: places in a list of {len(names)}")
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
        raise InputError(f"annotation {brief(key)} names no pair: <anchor>,<frame> is needed")
    return anchor, frame


def _first_labels(path: Path) -> dict[str, set[int]]:
    """The label that each clip came with, by clip name; 22 and 23 stand for each other in the table."""
    found: dict[str, set[int]] = {}
    for number, row in rows_of(path, needed=("ytid", "time_ms", "label")):
        label = _whole(row["label"], f"{path}, line {number}: label")
        found[f"{row['ytid']}_{row['time_ms']}"] = {SWAPPED.get(label, label)}
    return found


def _clip(anchor: str, first: Mapping[str, Any]) -> str:
    clip = anchor.split("/")[0]
    if clip not in first:
        lacking = f"clip {brief(clip)} is not in the table of anchors"
        raise InputError(f"anchor {brief(anchor)} has no first label: {lacking}")
    return clip


def _added(anchor: str, names: frozenset[str], number: Mapping[str, int]) -> set[int]:
    """Classes that review added, by name."""
    classes = names - ANCHOR_REJECTS - {"good"}
    strange = sorted(classes - set(number))
    if strange:
        raise InputError(
            f"annotation of {brief(anchor)} names the class {brief(strange[0])}, which the class index does not have"
        )
    return {number[name] for name in classes}


# --- plain tables


def _read_csv(path: Path, *, classes: int | None) -> FrameSets:
    sets: dict[str, list[str]] = {}
    labels: dict[str, list[int]] = {}
    columns: dict[str, dict[Any, Any]] = {name: {} for name in COLUMNS[3:]}
    offsets: dict[str, list[int]] = {}
    given: set[str] = set()
    own_line: dict[Any, int] = {}
    for number, row in rows_of(path, needed=COLUMNS[:3], optional=COLUMNS[3:]):
        given = set(row) - set(COLUMNS[:3])
        where, anchor, frame = f"{path}, line {number}", row["anchor"], row["frame"]
        if not anchor or not frame:
            raise InputError(f"{where}: its anchor or frame is empty: name both")
        if own_line.setdefault((anchor, frame), number) != number:
            pair = f"{brief(frame)} of {brief(anchor)}"
            raise InputError(f"{where}: {pair} has line {own_line[anchor, frame]} already: keep one")
        members = sets.setdefault(anchor, [])
        if anchor != frame:
            members.append(frame)
            if "offset" in row:
                offsets.setdefault(anchor, []).append(_whole(row["offset"], f"{where}: offset"))
            columns["decision"][anchor, frame] = row.get("decision")
        elif row.get("offset") not in (None, "", "0"):
            raise InputError(f"{where}: the anchor {brief(anchor)} has the offset {row['offset']}: it lies at 0")
        elif row.get("decision"):
            raise InputError(f"{where}: the anchor {brief(anchor)} has a decision: decisions are about pairs")
        if row.get("group"):
            _once(columns["group"], anchor, row["group"], f"{where}: group")
        if row["labels"]:
            found = [_whole(text, f"{where}: labels") for text in row["labels"].split()]
            _once(labels, frame, found, f"{where}: labels")
        _once(columns["type"], frame, row.get("type"), f"{where}: type")
    with located(path):
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
        raise InputError(f"{where} of {brief(key)} is {brief(value)}, but an earlier line says {brief(known[key])}")


def _whole(text: str, where: str) -> int:
    # int() would also read 1_0, and digits of other scripts
    if not re.fullmatch(r"[+-]?[0-9]{1,18}", text):
        raise InputError(f"{where} is {brief(text)}: whole numbers of at most 18 digits are needed")
    return int(text)
