"""Records: typed arrays with provenance in one file, refused when they cannot be vouched for.

A record is an ``.npz`` (nothing in it is ever pickled) whose entry ``manifest`` is JSON: schema name and version,
units, and where the numbers come from. `load` checks every array against the schema before it returns any.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import tempfile
import tokenize
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from .errors import InputError

KINDS = {"float": np.floating, "int": np.integer, "bool": np.bool_}
MANIFEST = "manifest"
#: What NumPy and the readers below it raise on a file that is not as it was written.
DAMAGED = (ValueError, RuntimeError, EOFError, KeyError, OSError, zipfile.BadZipFile, zlib.error, tokenize.TokenError)


@dataclass(frozen=True)
class Field:
    """What one array of a record must be.

    `dims` names its axes: equal names have equal lengths throughout the record. A field whose name ends in ``/*``
    stands for any number of arrays, at least one.
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

    Raises
    ------
    InputError
        An array that the schema does not allow; nothing is written.
    """
    path = Path(path)
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
    """Give a temporary name beside `path`; rename it to `path` if the block succeeds, remove it if not."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def __enter__(self) -> Path:
        try:
            handle, name = tempfile.mkstemp(prefix=f".{self.path.name}.", dir=self.path.parent)
        except OSError as error:
            raise self._named(error) from error
        os.close(handle)
        self.temporary = Path(name)
        return self.temporary

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            if kind is None:
                # mkstemp makes private files; a result is as readable as any other new file
                umask = os.umask(0)
                os.umask(umask)
                self.temporary.chmod(0o666 & ~umask)
                self.temporary.replace(self.path)
        except OSError as error:
            raise self._named(error) from error
        finally:
            self.temporary.unlink(missing_ok=True)

    def _named(self, error: OSError) -> OSError:
        """The same error under the name that the caller knows."""
        return OSError(error.errno, error.strerror, str(self.path))


def load(path: str | Path, schema: Schema) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Read a record: its arrays and its manifest.

    Raises
    ------
    InputError
        Not a record, truncated, of another schema or an unknown version, or an array that the schema does not
        allow; the message names the file, the array and the index.
    FileNotFoundError
        There is no such file.
    """
    content = read_npz(Path(path))
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


def refuse_not_finite(array: np.ndarray, name: str) -> None:
    """Refuse NaN and infinity, naming the first place."""
    bad = np.argwhere(~np.isfinite(array))
    if bad.size:
        index = tuple(int(i) for i in bad[0])
        place = ", ".join(map(str, index))
        raise InputError(f"{name}[{place}] is {array[index]}: every value must be finite; drop or mend this row")


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
