"""Records: typed arrays with provenance in one file, refused when they cannot be vouched for.

A record is an ``.npz`` (nothing in it is ever pickled) whose entry ``manifest`` is JSON: schema name and version,
units, and where the numbers come from. `load` checks every array against the schema before it returns any.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import secrets
import stat
import tokenize
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from .arrays import refuse_not_finite
from .errors import InputError, brief, located

KINDS = {"float": np.floating, "int": np.integer, "bool": np.bool_}
MANIFEST = "manifest"
#: What NumPy and the readers below it raise on a file that is not as it was written.
DAMAGED = (ValueError, RuntimeError, EOFError, KeyError, OSError, zipfile.BadZipFile, zlib.error, tokenize.TokenError)


@dataclass(frozen=True)
class Field:
    """What one array of a record must be.

    A field whose name ends in ``/*`` stands for any number of arrays, at least one.

    Attributes
    ----------
    kind : {"float", "int", "bool"}
        Its type, of any width.
    dims : tuple of str
        A name for each axis: equal names have equal lengths throughout the record.
    unit : str
        What the numbers count.
    optional : bool
        Whether the record may lack it.
    finite : bool
        Whether floats must be finite.
    """

    kind: str
    dims: tuple[str, ...]
    unit: str
    optional: bool = False
    finite: bool = True


@dataclass(frozen=True)
class Schema:
    """The name and version of a kind of record, and its arrays."""

    name: str
    version: int
    fields: Mapping[str, Field]

    def field_of(self, array: str) -> Field | None:
        """The field that an array belongs to, by its own name or by its family's."""
        family, slash, _ = array.partition("/")
        return self.fields.get(array) or (self.fields.get(f"{family}/*") if slash else None)


def save(path: str | Path, schema: Schema, arrays: Mapping[str, np.ndarray], manifest: Mapping[str, Any]) -> Path:
    """Check the arrays and write the record beside its final name, then rename: never half a file.

    Parameters
    ----------
    path : path
        A name that ends in ``.npz``.
    schema : Schema
        What the arrays must be.
    arrays : mapping of str to numpy.ndarray
        The arrays, by the names that the schema has for them.
    manifest : mapping
        What JSON can hold, such as the provenance; schema, version and units are added.

    Returns
    -------
    pathlib.Path
        Where the record is.

    Raises
    ------
    InputError
        A path that is none, or an array that the schema does not allow; nothing is written.
    """
    path = checked_path(path)
    if path.suffix != ".npz":
        raise InputError(f"{path}: a record is a .npz file, give its name that ending")
    check(schema, arrays, where=str(path))
    head = {
        "schema": schema.name,
        "version": schema.version,
        "units": {name: schema.field_of(name).unit for name in arrays},  # type: ignore[union-attr]
        **manifest,
    }
    try:
        text = json.dumps(head, sort_keys=True, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InputError(f"{path}: the manifest cannot be written as JSON ({error}): mend the provenance") from error
    content = {**arrays, MANIFEST: np.frombuffer(text.encode(), dtype=np.uint8)}
    with atomic(path) as temporary, temporary.open("wb") as stream:
        np.savez_compressed(stream, **content)  # type: ignore[arg-type]
    return path


class atomic:
    """Give a temporary name beside `path`; rename it to `path` if the block succeeds, remove it if not.

    A symbolic link stays one: the file that it names is replaced.

    Raises
    ------
    InputError
        At `path` stands a device or a pipe.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def __enter__(self) -> Path:
        self.target = Path(os.path.realpath(self.path))
        try:
            # one look: another writer may rename or remove the file between two
            mode = self.target.stat().st_mode
        except OSError:
            mode = stat.S_IFREG  # nothing is there, or making the file will say what is wrong
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            raise InputError(f"{self.path}: is a device or a pipe, which a file would replace: give the name of a file")
        self.temporary = self.target.with_name(f".{self.target.name}.{secrets.token_hex(8)}")
        try:
            # not tempfile's private file: a result is as readable as any other new file
            self.temporary.touch(exist_ok=False)
        except OSError as error:
            raise self._named(error) from error
        return self.temporary

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            if kind is None:
                self.temporary.replace(self.target)
        except OSError as error:
            raise self._named(error) from error
        finally:
            self.temporary.unlink(missing_ok=True)

    def _named(self, error: OSError) -> OSError:
        """The same error under the name that the caller knows."""
        return OSError(error.errno, error.strerror, str(self.path))


def load(path: str | Path, schema: Schema) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Read a record: its arrays and its manifest.

    Parameters
    ----------
    path : path
        A file that `save` wrote.
    schema : Schema
        What is expected.

    Returns
    -------
    tuple of (dict of str to numpy.ndarray, dict)

    Raises
    ------
    InputError
        No path; not a record, truncated, of another schema or an unknown version, or an array that the schema does not
        allow; the message names the file, the array and the index.
    FileNotFoundError
        There is no such file.
    """
    path = checked_path(path)
    content = read_npz(path)
    manifest = _manifest(path, content.pop(MANIFEST, None))
    if manifest.get("schema") != schema.name:
        raise InputError(f"{path}: this is a {manifest.get('schema')!r} record, a {schema.name!r} record is needed")
    if manifest.get("version") != schema.version:
        raise InputError(
            f"{path}: version {manifest.get('version')!r} of {schema.name!r} is unknown here, "
            f"version {schema.version} is read: measure again with this release"
        )
    check(schema, content, where=str(path))
    return content, manifest


def checked_path(path: Any) -> Path:
    """The path of a file, or an InputError for what names none.

    >>> checked_path(None)
    Traceback (most recent call last):
    ...
    helpers.errors.InputError: path is None: give the name of a file
    """
    if not isinstance(path, str | os.PathLike) or "\0" in str(path):
        raise InputError(f"path is {brief(path)}: give the name of a file")
    return Path(path)


def read_npz(path: Path) -> dict[str, np.ndarray]:
    """All arrays of a .npz file by name; nothing is ever unpickled.

    Raises
    ------
    InputError
        No .npz file, a truncated or damaged one, or Python objects in it.
    OSError
        The file cannot be opened.
    """
    with path.open("rb") as stream:
        start = stream.read(6)
        stream.seek(0)
        # NumPy takes whatever is neither of these for a pickle, and so calls a text file one
        if not start.startswith((b"PK", b"\x93NUMPY", b"\x80")):
            raise InputError(f"{path}: is no .npz file: save the arrays with numpy.savez")
        try:
            archive = np.load(stream, allow_pickle=False)
            if isinstance(archive, np.ndarray):
                raise InputError(f"{path}: a single array (.npy), not an archive of arrays (.npz)")
            with archive:
                content = {name: archive[name] for name in archive.files}
        except InputError:
            raise
        except DAMAGED as error:
            if "pickle" in str(error) or "Object arrays" in str(error):
                raise InputError(f"{path}: holds Python objects, which are never loaded: save plain arrays") from error
            raise InputError(f"{path}: truncated or damaged ({error}): copy or measure it again") from error
    strangers = [name for name, array in content.items() if not isinstance(array, np.ndarray)]
    if strangers:
        raise InputError(f"{path}: entry {strangers[0]!r} is no array: an archive (.npz) holds arrays only")
    return content


def check_provenance(provenance: Any) -> dict[str, Any]:
    """Where numbers come from, as a dict of its own; None is an empty one."""
    if provenance is not None and not isinstance(provenance, Mapping):
        raise InputError(f"provenance is {brief(provenance)}: give a mapping")
    return dict(provenance or {})


def _manifest(path: str | Path, stored: np.ndarray | None) -> dict[str, Any]:
    if stored is None:
        raise InputError(f"{path}: has no manifest, so it is no record: build one from its arrays instead")
    try:
        manifest = json.loads(stored.tobytes())
    except ValueError as error:
        raise InputError(f"{path}: its manifest is no JSON ({error})") from error
    if not isinstance(manifest, dict):
        raise InputError(f"{path}: its manifest is no JSON object")
    return manifest


def check(schema: Schema, arrays: Mapping[str, np.ndarray], *, where: str) -> None:
    """Hold arrays against a schema: names, types, shapes and finite values.

    Raises
    ------
    InputError
        The first array that does not fit, with the index of the value at fault and what was expected.
    """
    for name, field in schema.fields.items():
        present = any(array.startswith(name[:-1]) for array in arrays) if name.endswith("/*") else name in arrays
        if not present and not field.optional:
            raise InputError(f"{where}: array {name!r} is missing from this {schema.name!r} record")
    lengths: dict[str, tuple[int, str]] = {}
    for name, array in arrays.items():
        entry = schema.field_of(name)
        if entry is None:
            raise InputError(f"{where}: array {name!r} does not belong in a {schema.name!r} record: leave it out")
        _check_array(where, name, np.asarray(array), entry, lengths)


def _check_array(where: str, name: str, array: np.ndarray, field: Field, lengths: dict[str, tuple[int, str]]) -> None:
    if not np.issubdtype(array.dtype, KINDS[field.kind]):
        raise InputError(f"{where}: array {name!r} has type {array.dtype}, {field.kind} is expected")
    if array.ndim != len(field.dims):
        raise InputError(
            f"{where}: array {name!r} has shape {array.shape}, axes ({', '.join(field.dims)}) are expected"
        )
    if array.size == 0:
        raise InputError(f"{where}: array {name!r} has shape {array.shape}: there is nothing in it")
    for axis, (dim, length) in enumerate(zip(field.dims, array.shape, strict=True)):
        expected, source = lengths.setdefault(dim, (length, name))
        if length != expected:
            raise InputError(
                f"{where}: array {name!r} has {length} along axis {axis} ({dim}), but {source!r} has {expected}"
            )
    if field.finite and field.kind == "float":
        refuse_not_finite(array, f"{where}: array {name!r}")


def read_text(path: str | Path) -> str:
    """The text of a UTF-8 file, without the mark that spreadsheets put in front.

    Raises
    ------
    InputError
        A path that is none, or bytes that are not UTF-8.
    OSError
        The file cannot be read.
    """
    try:
        return checked_path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text ({error}): save it again as UTF-8") from error


def write_text(path: str | Path, text: str) -> Path:
    """Write a UTF-8 file, whole or not at all.

    Raises
    ------
    InputError
        A path that is none, or of a device or a pipe.
    OSError
        The file cannot be written.
    """
    path = checked_path(path)
    with atomic(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return path


def read_json(path: str | Path) -> Any:
    """The content of a JSON file; a key that an object has twice is refused, where plain readers keep the last.

    Raises
    ------
    InputError
        Not UTF-8, no JSON, or a repeated key.
    OSError
        The file cannot be read.
    """
    text = read_text(path)
    try:
        with located(path):
            return json.loads(text, object_pairs_hook=unique_keys)
    except InputError:
        raise
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: no JSON ({error})") from error


def unique_keys(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """An object of a JSON file, for ``object_pairs_hook``; a repeated key is refused.

    >>> json.loads('{"a": 1, "a": 2}', object_pairs_hook=unique_keys)
    Traceback (most recent call last):
    ...
    helpers.errors.InputError: key 'a' occurs twice in one object: keep one
    """
    content: dict[str, Any] = {}
    for key, value in pairs:
        if key in content:
            raise InputError(f"key {brief(key)} occurs twice in one object: keep one")
        content[key] = value
    return content


def write_json(path: str | Path, content: Any) -> Path:
    """Write a JSON file that people can read, whole or not at all; NaN and infinity are refused as no JSON."""
    return write_text(path, json.dumps(content, indent=2, allow_nan=False) + "\n")


def refuse_overwriting(arguments: Mapping[str, Any], *, inputs: Sequence[str]) -> None:
    """Refuse `json` or `html`, the files that a command writes, in the place of one that it reads or of each other.

    >>> refuse_overwriting({"labels": Path("a.csv"), "json": Path("./a.csv")}, inputs=["labels"])
    Traceback (most recent call last):
    ...
    helpers.errors.InputError: --json is a.csv, which is read as labels: give a file of its own
    """
    taken = {arguments[name].resolve(): f"is read as {name}" for name in inputs if arguments.get(name) is not None}
    for name in ("json", "html"):
        path = arguments.get(name)
        if path is None:
            continue
        place = path.resolve()
        for other, what in taken.items():
            if place == other or (other.is_dir() and other in place.parents):
                within = "" if place == other else f"in {other}, "
                raise InputError(f"--{name} is {path}, {within}which {what}: give a file of its own")
        taken[place] = f"--{name} writes"


def check_columns(
    names: Sequence[str], *, needed: Sequence[str], optional: Sequence[str] = (), others: bool = False, where: str
) -> None:
    """Refuse the header of a table that lacks a column, has one twice, or one that is not known unless `others` may be.

    >>> check_columns(["loss", "p"], needed=["loss", "q"], where="labels.csv, line 1")
    Traceback (most recent call last):
    ...
    helpers.errors.InputError: labels.csv, line 1: 'q' is missing: the columns are loss, q
    """
    missing = [name for name in needed if name not in names]
    strange = [] if others else [name for name in names if name not in (*needed, *optional)]
    if not (missing or strange or len(set(names)) < len(names)):
        return
    fault = "a name repeats"
    if missing or strange:
        fault = f"{missing[0]!r} is missing" if missing else f"{brief(strange[0])} is unknown"
    further = f" and, optionally, {', '.join(optional)}" if optional else ""
    raise InputError(f"{where}: {fault}: the columns are {', '.join(needed)}{further}")


def provenance(*, seed: int | None = None, hardware: str | None = None) -> dict[str, Any]:
    """Where and with what numbers were made: software versions, hardware, seed and time.

    Only distributions that are installed are named; nothing is imported for it.
    """
    versions = {}
    for name in ("yardsticks", "numpy", "scipy", "torch", "scikit-learn"):
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return {
        "python": platform.python_version(),
        "versions": versions,
        "hardware": hardware or f"{platform.machine()}, {os.cpu_count()} CPU cores",
        "seed": seed,
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
    }
