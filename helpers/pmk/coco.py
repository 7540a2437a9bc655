"""COCO JSON in and out: a file of images, annotations and categories, and a list of results."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .. import arrays, records
from ..errors import InputError, brief, located
from .boxes import Boxes, Detections, check_id


def read_coco(path: str | Path) -> Boxes:
    """Ground truth from a COCO file, ``{"images": [...], "annotations": [...], "categories": [...]}``.

    A frame's key is the ``file_name`` of its image. Frames are ordered by image id, annotations as in the file: so
    COCO's own code breaks ties. Segmentations and other entries are not kept; ``iscrowd`` is 0 and ``area`` is width
    times height where they are absent.

    Parameters
    ----------
    path : str or Path
        A JSON file.

    Returns
    -------
    Boxes

    Raises
    ------
    InputError
        No COCO file, an id or a file name that occurs twice, an annotation of an unknown image or category, a box that
        is not four finite numbers with width and height of at least 0, an area below 0, or an annotation with an
        ``ignore`` mark that is no crowd. COCO's own code overlooks that mark and wants the object found, which is
        hardly what the mark says, so that you decide: set ``iscrowd`` as well, or leave the mark out. The message names
        the file and the entry.
    FileNotFoundError
        There is no such file.

    References
    ----------
    Lin et al. (2014), Microsoft COCO: Common Objects in Context; https://cocodataset.org/#format-data.

    Examples
    --------
    >>> import tempfile
    >>> content = {
    ...     "images": [{"id": 7, "file_name": "clip/0.jpg"}, {"id": 8, "file_name": "clip/1.jpg"}],
    ...     "annotations": [{"image_id": 7, "category_id": 3, "bbox": [0, 0, 10, 20]}],
    ...     "categories": [{"id": 3, "name": "dog"}],
    ... }
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "truth.json")
    ...     _ = path.write_text(json.dumps(content))
    ...     found = read_coco(path)
    >>> found
    Boxes(1 boxes of 1 categories, 0 crowds, 2 frames, 1 without boxes)
    >>> found.frames, found.area
    (('clip/0.jpg', 'clip/1.jpg'), array([200.]))
    """
    content = records.read_json(path)
    if not isinstance(content, dict):
        raise InputError(f"{path}: is no object with images, annotations and categories: give a COCO file")
    images, categories, annotations = (_entries(path, content, key) for key in ("images", "categories", "annotations"))
    names = _by_id(path, images, "images", "file_name")
    kinds = _by_id(path, categories, "categories", "name")
    ids = sorted(names)
    place = {number: i for i, number in enumerate(ids)}
    crowd = []
    for i, entry in enumerate(annotations):
        where = f"{path}: annotations[{i}]"
        crowd.append(_is_crowd(entry, where))
        _check_links(entry, where, place, kinds)
    with located(path):
        return Boxes(
            [names[number] for number in ids],
            [place[entry["image_id"]] for entry in annotations],
            [entry["category_id"] for entry in annotations],
            _boxes(annotations, "annotations"),
            crowd=crowd,
            area=_areas(annotations),
            categories=kinds,
            image_ids=ids,
        )


def read_coco_results(path: str | Path, truth: Boxes) -> Detections:
    """Detections from a COCO list of results, ``[{"image_id", "category_id", "bbox", "score"}, ...]``.

    Every frame of the ground truth counts as seen: the format has no way to list an image in which nothing was found.

    Parameters
    ----------
    path : str or Path
        A JSON file.
    truth : Boxes
        The ground truth whose image ids and categories the results refer to.

    Returns
    -------
    Detections

    Raises
    ------
    InputError
        No list, a result of an unknown image or category, a missing or not finite score, a box that is not four finite
        numbers with width and height of at least 0. The message names the file and the entry.
    FileNotFoundError
        There is no such file.

    References
    ----------
    Lin et al. (2014), Microsoft COCO: Common Objects in Context; https://cocodataset.org/#format-results.

    Examples
    --------
    >>> import tempfile
    >>> truth = Boxes(["clip/0.jpg"], [0], [3], [[0, 0, 10, 20]], image_ids=[7])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "results.json")
    ...     _ = path.write_text('[{"image_id": 7, "category_id": 3, "bbox": [0, 0, 9, 20], "score": 0.5}]')
    ...     found = read_coco_results(path, truth)
    >>> found, found.score
    (Detections(1 boxes, 1 frames, 0 without boxes), array([0.5]))
    """
    entries = records.read_json(path)
    if not isinstance(entries, list):
        raise InputError(f"{path}: is no list: give COCO results, one entry per box")
    place = {int(number): i for i, number in enumerate(truth.image_ids)}
    for i, entry in enumerate(entries):
        where = f"{path}: [{i}]"
        _check_links(entry, where, place, truth.categories)
        if not arrays.is_number(entry.get("score")):
            raise InputError(
                f"{where} has score {brief(entry.get('score'))}: average precision ranks by score, give a number"
            )
    with located(path):
        return Detections(
            truth.frames,
            [place[entry["image_id"]] for entry in entries],
            [entry["category_id"] for entry in entries],
            _boxes(entries, ""),
            [entry["score"] for entry in entries],
        )


def write_coco(path: str | Path, truth: Boxes) -> Path:
    """Write ground truth as a COCO file, which `read_coco` and pycocotools read.

    Annotations are numbered from 1, because pycocotools takes an object whose id is 0 for one that was never found.
    Frames become images under their ``image_ids``, their keys the ``file_name``; boxes are x, y, width, height in
    pixels. The provenance has no place in the format and is not written.

    Parameters
    ----------
    path : str or Path
        Written whole or not at all; a file that is there is replaced.
    truth : Boxes
        What to write.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    OSError
        The folder is not there or cannot be written to.

    References
    ----------
    Lin et al. (2014), Microsoft COCO: Common Objects in Context; https://cocodataset.org/#format-data.

    Examples
    --------
    >>> import tempfile
    >>> truth = Boxes.of({"clip/0.jpg": ([3], [[0, 0, 10, 20]])}, categories={3: "dog"})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     read_coco(write_coco(Path(folder) / "truth.json", truth)).categories
    {3: 'dog'}
    """
    rows = zip(truth.frame, truth.category, truth.box.tolist(), truth.crowd, truth.area.tolist(), strict=True)
    return _write(
        path,
        {
            "images": [
                {"id": int(number), "file_name": key} for number, key in zip(truth.image_ids, truth.frames, strict=True)
            ],
            "annotations": [
                {
                    "id": i,
                    "image_id": int(truth.image_ids[frame]),
                    "category_id": int(category),
                    "bbox": box,
                    "area": area,
                    "iscrowd": int(crowd),
                }
                for i, (frame, category, box, crowd, area) in enumerate(rows, start=1)
            ],
            "categories": [{"id": number, "name": name} for number, name in truth.categories.items()],
        },
    )


def write_coco_results(path: str | Path, predictions: Detections, truth: Boxes) -> Path:
    """Write detections as a COCO list of results, with the image ids of the ground truth.

    Boxes are x, y, width, height in pixels. The provenance has no place in the format and is not written.

    Parameters
    ----------
    path : str or Path
        Written whole or not at all; a file that is there is replaced.
    predictions : Detections
        What to write. Frames in which nothing was found leave no trace in this format.
    truth : Boxes
        The ground truth that knows the image ids.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    InputError
        A frame that the ground truth does not have.
    OSError
        The folder is not there or cannot be written to.

    References
    ----------
    Lin et al. (2014), Microsoft COCO: Common Objects in Context; https://cocodataset.org/#format-results.

    Examples
    --------
    >>> import tempfile
    >>> truth = Boxes.of({"clip/0.jpg": ([3], [[0, 0, 10, 20]])})
    >>> said = Detections.of({"clip/0.jpg": ([3], [[0, 0, 9, 20]], [0.5])})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     read_coco_results(write_coco_results(Path(folder) / "results.json", said, truth), truth)
    Detections(1 boxes, 1 frames, 0 without boxes)
    """
    ids = dict(zip(truth.frames, truth.image_ids.tolist(), strict=True))
    strangers = [key for key in predictions.frames if key not in ids]
    if strangers:
        raise InputError(
            f"predictions has {len(strangers)} frames that truth lacks, first {brief(strangers[0])}: leave them out"
        )
    rows = zip(predictions.frame, predictions.category, predictions.box.tolist(), predictions.score, strict=True)
    return _write(
        path,
        [
            {
                "image_id": ids[predictions.frames[frame]],
                "category_id": int(category),
                "bbox": box,
                "score": float(score),
            }
            for frame, category, box, score in rows
        ],
    )


def _write(path: str | Path, content: Any) -> Path:
    # without the indents of records.write_json, which would make files of many boxes several times as long
    return records.write_text(path, json.dumps(content, allow_nan=False) + "\n")


def _entries(path: str | Path, content: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    entries = content.get(key)
    if not isinstance(entries, list):
        raise InputError(f"{path}: has no list of {key}: a COCO file has images, annotations and categories")
    for i, entry in enumerate(entries):
        if not isinstance(entry, dict):
            raise InputError(f"{path}: {key}[{i}] is {brief(entry)}: each entry is an object")
    return entries


def _by_id(path: str | Path, entries: list[dict[str, Any]], key: str, field: str) -> dict[int, str]:
    found: dict[int, str] = {}
    for i, entry in enumerate(entries):
        number = check_id(entry.get("id"), f"{path}: {key}[{i}].id")
        if number in found:
            raise InputError(f"{path}: {key}[{i}].id is {number} for the second time: give each its own")
        if not isinstance(entry.get(field), str):
            raise InputError(f"{path}: {key}[{i}].{field} is {brief(entry.get(field))}: give a text")
        found[number] = entry[field]
    return found


def _check_links(entry: Any, where: str, images: Mapping[int, Any], categories: Mapping[int, Any]) -> None:
    """Refuse an entry of an image or a category that nobody knows."""
    if not isinstance(entry, dict):
        raise InputError(f"{where} is {brief(entry)}: each entry is an object")
    for field, known in (("image_id", images), ("category_id", categories)):
        if check_id(entry.get(field), f"{where}.{field}") not in known:
            raise InputError(
                f"{where}.{field} is {entry[field]}: the ground truth has no such id; mend it or add it there"
            )


def _is_crowd(entry: Mapping[str, Any], where: str) -> bool:
    crowd = entry.get("iscrowd", 0)
    if crowd not in (0, 1):
        raise InputError(f"{where}.iscrowd is {brief(crowd)}: give 0 or 1")
    if entry.get("ignore") and not crowd:
        raise InputError(
            f"{where} has the mark ignore, which COCO's code overlooks: set iscrowd to 1 as well, so that it need not "
            "be found, or leave the mark out"
        )
    return bool(crowd)


def _boxes(entries: list[dict[str, Any]], key: str) -> np.ndarray:
    for i, entry in enumerate(entries):
        box = entry.get("bbox")
        if not isinstance(box, list) or len(box) != 4 or not all(map(arrays.is_number, box)):
            raise InputError(f"{key}[{i}].bbox is {brief(box)}: give x, y, width, height, four finite numbers")
    return np.array([entry["bbox"] for entry in entries], dtype=np.float64).reshape(-1, 4)


def _areas(annotations: list[dict[str, Any]]) -> np.ndarray:
    """The area of each annotation, that of its box where it has none."""
    found = []
    for i, entry in enumerate(annotations):
        area = entry.get("area", 0.0)
        if not arrays.is_number(area) or area < 0:
            raise InputError(f"annotations[{i}].area is {brief(area)}: give square pixels, or leave it out")
        found.append(area if "area" in entry else entry["bbox"][2] * entry["bbox"][3])
    return np.array(found, dtype=np.float64)
