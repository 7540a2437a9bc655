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
    COCO's own code breaks ties. Segmentations, areas and other entries are not kept; ``iscrowd`` is 0 where it is
    absent.

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
        is not four finite numbers with width and height of at least 0, or an annotation that is to be ignored without
        being a crowd (COCO's own code overlooks that mark). The message names the file and the entry.
    FileNotFoundError
        There is no such file.

    References
    ----------
    Lin et al. (2014), Microsoft COCO: Common Objects in Context; https://cocodataset.org/#format-data.
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
    """Write ground truth as a COCO file, which `read_coco` and pycocotools read; area is width times height.

    Annotations are numbered from 1, because pycocotools takes an object whose id is 0 for one that was never found.

    Parameters
    ----------
    path : str or Path
        Written whole or not at all.
    truth : Boxes
        What to write.

    Returns
    -------
    Path

    Examples
    --------
    >>> import tempfile
    >>> truth = Boxes.of({"clip/0.jpg": ([3], [[0, 0, 10, 20]])}, categories={3: "dog"})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     read_coco(write_coco(Path(folder) / "truth.json", truth)).categories
    {3: 'dog'}
    """
    rows = zip(truth.frame, truth.category, truth.box.tolist(), truth.crowd, strict=True)
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
                    "area": box[2] * box[3],
                    "iscrowd": int(crowd),
                }
                for i, (frame, category, box, crowd) in enumerate(rows, start=1)
            ],
            "categories": [{"id": number, "name": name} for number, name in truth.categories.items()],
        },
    )


def write_coco_results(path: str | Path, predictions: Detections, truth: Boxes) -> Path:
    """Write detections as a COCO list of results, with the image ids of the ground truth.

    Parameters
    ----------
    path : str or Path
        Written whole or not at all.
    predictions : Detections
        What to write. Frames in which nothing was found leave no trace in this format.
    truth : Boxes
        The ground truth that knows the image ids.

    Returns
    -------
    Path

    Raises
    ------
    InputError
        A frame that the ground truth does not have.

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
        raise InputError(f"{where} is to be ignored: COCO ignores crowds only; set iscrowd to 1, or leave it out")
    return bool(crowd)


def _boxes(entries: list[dict[str, Any]], key: str) -> np.ndarray:
    for i, entry in enumerate(entries):
        box = entry.get("bbox")
        if not isinstance(box, list) or len(box) != 4 or not all(map(arrays.is_number, box)):
            raise InputError(f"{key}[{i}].bbox is {brief(box)}: give x, y, width, height, four finite numbers")
    return np.array([entry["bbox"] for entry in entries], dtype=np.float64).reshape(-1, 4)
