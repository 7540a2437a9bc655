"""What has been executed, kept by content: a folder, or any place that fsspec knows by an address.

A stored object is one file that is written beside its name and renamed, so there is never half of one, and two runs
may use a store at once. Only successes are stored. An object that is damaged counts as absent.
"""

from __future__ import annotations

import io
import json
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from .. import lazy, records
from ..errors import InputError, MissingExtra
from .keys import Identity
from .plan import digest

#: A name in a store that begins so is being written, or was when its run was killed.
_UNFINISHED = "."
_STALE_S = 3600.0
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest that a zip can say: its bytes depend on the content alone


@dataclass(frozen=True)
class Entry:
    """The outcome of a job: `executed` as `render.cleaned` leaves it, `result` (None: the notebook concludes nothing),
    `log`, and `note`: chapter, parameters, parts of the key, seconds, peak memory, host, time."""

    executed: bytes
    result: bytes | None
    log: bytes
    note: dict[str, Any]


class Store:
    """A store of executed notebooks (by execution key), pages (by both keys) and the latest note of each job.

    `place` is a path, or an address such as ``s3://bucket/yardsticks``, for which fsspec and its driver are needed.

    Raises
    ------
    InputError
        fsspec knows no such kind of address.
    MissingExtra
        fsspec or the driver is not installed.
    OSError
        From every method: the place cannot be read or written, named by it.
    """

    def __init__(self, place: str | Path) -> None:
        self.place = str(place).removeprefix("file://")
        self._files: _Files = _Remote(self.place) if "://" in self.place else _Folder(self.place)

    def entry(self, key: str) -> Entry | None:
        """What is stored under an execution key, or None."""
        content = self._files.read(_executed(key))
        if content is None:
            return None
        try:
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                named = {name: archive.read(name) for name in archive.namelist()}
            note = json.loads(named["job.json"])
            return Entry(named["executed.ipynb"], named["result.json"] or None, named["log.txt"], note)
        except records.DAMAGED:
            return None

    def add(self, identity: Identity, entry: Entry) -> None:
        """Store the outcome of a job that succeeded; pages made of an earlier one go."""
        named = {"executed.ipynb": entry.executed, "log.txt": entry.log, "job.json": _json(entry.note)}
        named["result.json"] = entry.result or b""  # always there: a damaged archive may lose a file without a word
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in sorted(named.items()):
                archive.writestr(zipfile.ZipInfo(name, _EPOCH), content, zipfile.ZIP_DEFLATED)
        self._files.write(_executed(identity.execution), stream.getvalue())
        for name in self._files.names(_rendered(identity).rpartition("/")[0]):
            self._files.remove(name)
        self._files.write(_latest(identity), _json(entry.note))

    def page(self, identity: Identity) -> bytes | None:
        """The page under a render key, made of what is stored under the execution key, or None."""
        content = self._files.read(_rendered(identity))
        try:
            json.loads(content or b"")
        except ValueError:  # cut off
            return None
        return content

    def add_page(self, identity: Identity, page: bytes) -> None:
        """Store a page."""
        self._files.write(_rendered(identity), page)

    def notes(self, chapter: str) -> dict[str, dict[str, Any]]:
        """The latest note of every job of a chapter that ever succeeded, by the digest of its parameters."""
        found = {}
        for name in self._files.names(f"latest/{chapter}"):
            try:
                note = dict(json.loads(self._files.read(name) or b""))
            except (ValueError, TypeError):
                continue
            found[name.rpartition("/")[2].removesuffix(".json")] = note
        return found

    def probe(self) -> None:
        """Raise OSError now, not after minutes of work, if nothing can be written."""
        name = f"latest/{_UNFINISHED}probe"
        self._files.write(name, bytes(4096))  # a full disk still takes an empty file
        self._files.remove(name)

    def sweep(self, kept: list[Identity], *, dry: bool = False) -> tuple[int, int]:
        """Remove what belongs to no identity in `kept`, and what killed runs left; how many files, and bytes.

        Unfinished files are spared for an hour: another run may be writing them.
        """
        wanted = {_executed(i.execution) for i in kept} | set(map(_rendered, kept)) | set(map(_latest, kept))
        count = size = 0
        for folder in ("executed", "rendered", "latest"):
            for name in self._files.names(folder, unfinished=True):
                unfinished = name.rpartition("/")[2].startswith(_UNFINISHED)
                age, length = self._files.age_and_size(name)
                if name in wanted or (unfinished and age < _STALE_S):
                    continue
                count, size = count + 1, size + length
                if not dry:
                    self._files.remove(name)
        return count, size


def _executed(key: str) -> str:
    return f"executed/{key[:2]}/{key}.zip"


def _rendered(identity: Identity) -> str:
    return f"rendered/{identity.execution[:2]}/{identity.execution}/{identity.render}.ipynb"


def _latest(identity: Identity) -> str:
    return f"latest/{identity.job.chapter}/{digest(identity.job.parameters)}.json"


def _json(content: Any) -> bytes:
    return (json.dumps(content, indent=1, sort_keys=True) + "\n").encode()


class _Files(Protocol):
    """Objects by name, names with slashes."""

    def read(self, name: str) -> bytes | None: ...
    def write(self, name: str, content: bytes) -> None: ...
    def remove(self, name: str) -> None: ...
    def names(self, folder: str, *, unfinished: bool = False) -> Iterator[str]: ...
    def age_and_size(self, name: str) -> tuple[float, int]: ...


class _Folder:
    """Objects as files under a folder of this machine."""

    def __init__(self, place: str) -> None:
        self._root = Path(place)

    def read(self, name: str) -> bytes | None:
        try:
            return (self._root / name).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None

    def write(self, name: str, content: bytes) -> None:
        path = self._root / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with records.atomic(path) as beside:
                beside.write_bytes(content)
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(self._root)) from error

    def remove(self, name: str) -> None:
        (self._root / name).unlink(missing_ok=True)

    def names(self, folder: str, *, unfinished: bool = False) -> Iterator[str]:
        for path in sorted((self._root / folder).rglob("*")):
            if path.is_file() and (unfinished or not path.name.startswith(_UNFINISHED)):
                yield path.relative_to(self._root).as_posix()

    def age_and_size(self, name: str) -> tuple[float, int]:
        try:
            status = (self._root / name).stat()
        except FileNotFoundError:  # another run finished or removed it
            return 0.0, 0
        return time.time() - status.st_mtime, status.st_size


class _Remote:
    """Objects at an address, through fsspec; its transactions write beside and rename, or upload at once."""

    def __init__(self, place: str) -> None:
        fsspec = lazy.require("fsspec", extra="batch")
        try:
            self._fs, self._root = fsspec.core.url_to_fs(place)
        except ImportError as error:
            raise MissingExtra(f"store {place}: {error}") from error
        except ValueError as error:
            raise InputError(f"store: {place!r} is no address that fsspec knows ({error})") from error
        self._place = place

    def read(self, name: str) -> bytes | None:
        try:
            return bytes(self._named(name, lambda path: self._fs.cat_file(path)))
        except FileNotFoundError:
            return None

    def write(self, name: str, content: bytes) -> None:
        def put(path: str) -> None:
            self._fs.makedirs(path.rpartition("/")[0], exist_ok=True)
            with self._fs.transaction, self._fs.open(path, "wb") as stream:
                stream.write(content)

        self._named(name, put)

    def remove(self, name: str) -> None:
        with suppress(FileNotFoundError):
            self._named(name, lambda path: self._fs.rm_file(path))

    def names(self, folder: str, *, unfinished: bool = False) -> Iterator[str]:
        self._fs.invalidate_cache()
        root = self._fs._strip_protocol(self._root)
        try:
            found = sorted(self._named(folder, lambda path: self._fs.find(path)))
        except FileNotFoundError:
            return
        for path in found:
            name = path.removeprefix(root).lstrip("/")
            if unfinished or not name.rpartition("/")[2].startswith(_UNFINISHED):
                yield name

    def age_and_size(self, name: str) -> tuple[float, int]:
        try:
            return 0.0, int(self._named(name, lambda path: self._fs.size(path)) or 0)
        except FileNotFoundError:
            return 0.0, 0

    def _named(self, name: str, action: Callable[[str], Any]) -> Any:
        """Do something to the object's path; an error that drivers raise in their own ways becomes one OSError."""
        try:
            return action(f"{self._root.rstrip('/')}/{name}")
        except FileNotFoundError as error:
            raise FileNotFoundError(error.errno, error.strerror or str(error), f"{self._place}/{name}") from error
        except OSError as error:
            raise OSError(error.errno, error.strerror or str(error), f"{self._place}/{name}") from error
        except Exception as error:
            raise OSError(None, f"{type(error).__name__}: {error}", f"{self._place}/{name}") from error
