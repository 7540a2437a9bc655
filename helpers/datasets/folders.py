"""Data sets in their official folder layout, read and checked. Nothing is downloaded: put a set where you want it.

Pictures come as float32 in [0, 1], shape (n, channels, height, width), the layout that every model here takes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .. import arrays, lazy
from ..errors import InputError

ENDINGS = (".bmp", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp")
MODES = {"RGB": 3, "L": 1}  # Pillow's names: colour and grey

CIFAR10_RECORD = 1 + 3 * 32 * 32  # a class, then the red, green and blue plane
CIFAR10_ROWS = 10_000  # in each file
CIFAR10_PARTS = {"train": [f"data_batch_{i}.bin" for i in range(1, 6)], "test": ["test_batch.bin"]}
CIFAR10_SOURCE = "the CIFAR-10 page of the University of Toronto, 'CIFAR-10 binary version (suitable for C programs)'"

PACS_DOMAINS = ("art_painting", "cartoon", "photo", "sketch")
PACS_CLASSES = ("dog", "elephant", "giraffe", "guitar", "horse", "house", "person")
PACS_SOURCE = "the project page of 'Deeper, Broader and Artier Domain Generalization' (Li et al. 2017)"

IMAGENET_CLASSES = 1000
IMAGENET_SOURCE = "the download page of ImageNet, 'ILSVRC2012 validation images', sorted into a folder per WordNet id"


@dataclass(frozen=True, eq=False)
class Pictures:
    """Pictures of shape (n, channels, height, width), float32 in [0, 1], their labels (n,), and the classes' names."""

    images: np.ndarray
    labels: np.ndarray
    classes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Files:
    """The picture files of one domain, their labels (n,), and the classes' names. Nothing is read yet."""

    paths: tuple[Path, ...]
    labels: np.ndarray
    classes: tuple[str, ...]


def cifar10(root: str | Path, part: str = "test", *, rows: int = CIFAR10_ROWS) -> Pictures:
    """CIFAR-10 from its binary version: ``data_batch_1.bin`` ... ``test_batch.bin`` and ``batches.meta.txt``.

    Parameters
    ----------
    root : path
        The folder with these files, officially ``cifar-10-batches-bin``.
    part : {"train", "test"}
        The five training files in their order, or the test file.
    rows : int
        Pictures in each file, officially 10,000. A file of any other size is refused.

    Raises
    ------
    InputError
        A missing file, one of the wrong size, a class that has no name, each by file name.
    """
    arrays.whole_number(rows, "rows", least=1)
    arrays.one_of(part, "part", CIFAR10_PARTS)
    folder = Path(root)
    names = folder / "batches.meta.txt"
    files = [folder / name for name in CIFAR10_PARTS[part]]
    _refuse_missing("CIFAR-10", [names, *files], CIFAR10_SOURCE)
    classes = tuple(
        line.strip() for line in names.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()
    )
    if len(classes) != 10 or len(set(classes)) != 10:
        raise InputError(f"{names}: holds {len(set(classes))} class names, CIFAR-10 has 10: fetch it again")
    records = np.concatenate([_cifar10_records(path, rows, len(classes)) for path in files])
    images = records[:, 1:].reshape(-1, 3, 32, 32).astype(np.float32)
    images /= 255.0
    return Pictures(images, records[:, 0].astype(np.int64), classes)


def _cifar10_records(path: Path, rows: int, classes: int) -> np.ndarray:
    size, expected = path.stat().st_size, rows * CIFAR10_RECORD
    if size != expected:
        raise InputError(
            f"{path}: has {size} bytes, {rows} pictures take {expected}: unpack or fetch it again, "
            "or give rows if it was cut on purpose"
        )
    records = np.fromfile(path, dtype=np.uint8).reshape(rows, CIFAR10_RECORD)
    bad = np.flatnonzero(records[:, 0] >= classes)
    if bad.size:
        raise InputError(
            f"{path}: picture {bad[0]} has class {records[bad[0], 0]}, there are {classes}: "
            "this is no file of CIFAR-10's binary version"
        )
    return records


def pacs(root: str | Path, *, size: int, mode: str = "RGB", per_class: int | None = None) -> dict[str, Pictures]:
    """PACS, four domains of the same seven classes: ``root/<domain>/<class>/<picture>``; see `image_folder`."""
    folders = [Path(root) / domain for domain in PACS_DOMAINS]
    _refuse_missing("PACS", folders, PACS_SOURCE)
    return {
        folder.name: image_folder(folder, size=size, mode=mode, classes=PACS_CLASSES, per_class=per_class)
        for folder in folders
    }


def imagenet(root: str | Path, *, per_class: int | None = None) -> Files:
    """ImageNet's validation files, ``root/<WordNet id>/<picture>``: too many to hold at once, so `read` them in parts.

    The classes are the 1,000 ids in ascending order, which is the order of the usual models' outputs.

    Raises
    ------
    InputError
        A missing folder, other folders than 1,000 WordNet ids, or as `scan`.
    """
    folder = Path(root)
    _refuse_missing("The validation part of ImageNet", [folder], IMAGENET_SOURCE)
    names = [path.name for path in _visible(folder)]
    odd = [name for name in names if not re.fullmatch(r"n\d{8}", name)]
    if odd or len(names) != IMAGENET_CLASSES:
        seen = f"{odd[0]} is no WordNet id" if odd else f"it holds {len(names)} classes"
        raise InputError(
            f"{folder}: {seen}, ImageNet has {IMAGENET_CLASSES} folders like n01440764: "
            "sort the pictures into a folder per class"
        )
    return scan(folder, per_class=per_class)


def image_folder(
    root: str | Path,
    *,
    size: int,
    mode: str = "RGB",
    classes: Sequence[str] | None = None,
    per_class: int | None = None,
) -> Pictures:
    """Every picture of ``root/<class>/<picture>``: `scan`, then `read`.

    Raises
    ------
    InputError
        As `scan` and `read`.
    MissingExtra
        Pillow is absent.
    """
    files = scan(root, classes=classes, per_class=per_class)
    return Pictures(read(files.paths, size=size, mode=mode), files.labels, files.classes)


def scan(root: str | Path, *, classes: Sequence[str] | None = None, per_class: int | None = None) -> Files:
    """List the picture files of ``root/<class>/<picture>``, by class and then by name; hidden files do not count.

    Parameters
    ----------
    root : path
        Holds a folder for each class.
    classes : sequence of str, optional
        The classes in the order of the model's outputs; the folders must be just these. By default the names of the
        folders in ascending order.
    per_class : int, optional
        Take the first so many pictures of each class; by default all.

    Raises
    ------
    InputError
        No such folder, a folder of no known class, a class without a folder or without pictures, or something in a
        class folder that is no picture.
    """
    folder = Path(root)
    if per_class is not None:
        arrays.whole_number(per_class, "per_class", least=1)
    _refuse_missing("A set of pictures", [folder], "whoever made it")
    found = _visible(folder)
    stray = [path for path in found if not path.is_dir()]
    if stray or not found:
        seen = f"holds the file {stray[0].name}" if stray else "is empty"
        raise InputError(f"{folder}: {seen}, there must be one folder per class: root/<class>/<picture>")
    names = tuple(path.name for path in found) if classes is None else tuple(classes)
    unknown = [path for path in found if path.name not in names]
    if unknown:
        raise InputError(f"{unknown[0]}: {unknown[0].name!r} is no class of {', '.join(names)}: remove it, or name it")
    if len(set(names)) != len(names):
        raise InputError(f"classes names one class twice: {', '.join(names)}")
    missing = [name for name in names if not (folder / name).is_dir()]
    if missing:
        raise InputError(f"{folder / missing[0]}: there is no such folder for class {missing[0]!r}: add it")
    members = [_pictures_in(folder / name)[:per_class] for name in names]
    labels = np.repeat(np.arange(len(names)), [len(paths) for paths in members])
    return Files(tuple(path for paths in members for path in paths), labels, names)


def read(paths: Sequence[str | Path], *, size: int, mode: str = "RGB") -> np.ndarray:
    """Read pictures, bring them to one size, and scale them to [0, 1].

    The shorter side is resized to `size` pixels with Pillow's bilinear filter (which averages when it shrinks, and
    also enlarges), then the middle square is cut out. Transparency is dropped.

    Parameters
    ----------
    paths : sequence of path
        Pictures in any format that Pillow reads, 8 bits a channel.
    size : int
        Height and width of what comes out.
    mode : {"RGB", "L"}
        Three channels or grey; pictures are converted.

    Returns
    -------
    numpy.ndarray
        float32, shape (n, 3 or 1, size, size).

    Raises
    ------
    InputError
        A file that is damaged, no picture, or of more than 8 bits a channel, by name.
    MissingExtra
        Pillow is absent.
    """
    arrays.whole_number(size, "size", least=1)
    arrays.one_of(mode, "mode", MODES)
    pillow = lazy.require("PIL.Image", extra="jupyter")
    images = np.empty((len(paths), MODES[mode], size, size), dtype=np.float32)
    for image, path in zip(images, paths, strict=True):
        pixels = np.asarray(_squared(_decoded(pillow, Path(path), mode), size, pillow))
        image[:] = np.moveaxis(pixels.reshape(size, size, -1), 2, 0)
    images /= 255.0
    return images


def _decoded(pillow: Any, path: Path, mode: str) -> Any:
    """The picture in `mode`, complete."""
    try:
        with pillow.open(path) as picture:
            picture.load()
            kind = picture.mode
            converted = picture.convert(mode)
    except Exception as error:  # a damaged file makes Pillow's readers raise almost anything
        raise InputError(f"{path}: cannot be read as a picture ({error}): fetch it again, or remove it") from error
    if kind.startswith(("I", "F")):
        raise InputError(f"{path}: has more than 8 bits a channel (Pillow's mode {kind}): convert it to 8 bits")
    return converted


def _squared(picture: Any, size: int, pillow: Any) -> Any:
    """The middle square, `size` pixels wide, after the shorter side was resized to that."""
    shorter = min(picture.size)
    width, height = (max(size, round(side * size / shorter)) for side in picture.size)
    left, top = (width - size) // 2, (height - size) // 2
    resized = picture.resize((width, height), pillow.Resampling.BILINEAR)
    return resized.crop((left, top, left + size, top + size))


def _visible(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise InputError(f"{folder}: is a file: give the folder that holds one folder per class")
    return sorted(path for path in folder.iterdir() if not path.name.startswith("."))


def _pictures_in(folder: Path) -> list[Path]:
    paths = _visible(folder)
    if not paths:
        raise InputError(f"{folder}: is empty: put the pictures of this class there, or remove it")
    for path in paths:
        if path.is_dir():
            raise InputError(f"{path}: is a folder among pictures: is root one level too high? root/<class>/<picture>")
        if path.suffix.lower() not in ENDINGS:
            raise InputError(f"{path}: is no picture ({', '.join(ENDINGS)}): remove it")
    return paths


def _refuse_missing(what: str, paths: Sequence[Path], source: str) -> None:
    """One message: what is missing, where it is had, where to put it."""
    missing = [path.name for path in paths if not path.exists()]
    if missing:
        place = paths[0].parent
        raise InputError(
            f"{what} is missing: there is no {', '.join(missing)} in {place}. Nothing is downloaded: "
            f"get it from {source} and put it there"
        )
