"""The store: a folder and an address, whole objects or none, and only what the plan needs."""

import errno
import io
import json
import os
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fsspec.implementations.memory import MemoryFile, MemoryFileSystem

from helpers.batch.keys import Identity
from helpers.batch.plan import Job
from helpers.batch.store import Entry, Store
from helpers.errors import InputError, MissingExtra


class Folder:
    """A store in a folder, looked at from outside."""

    def __init__(self, path: Path) -> None:
        self.path, self.address = path, str(path)

    def names(self) -> list[str]:
        return sorted(p.relative_to(self.path).as_posix() for p in self.path.rglob("*") if p.is_file())

    def read(self, name: str) -> bytes:
        return (self.path / name).read_bytes()

    def write(self, name: str, content: bytes) -> None:
        (self.path / name).parent.mkdir(parents=True, exist_ok=True)
        (self.path / name).write_bytes(content)


class Memory:
    """A store at an address, looked at from outside."""

    def __init__(self, name: str) -> None:
        self.address, self._root, self._fs = f"memory://{name}", f"/{name}", MemoryFileSystem()

    def names(self) -> list[str]:
        return sorted(path.removeprefix(f"{self._root}/") for path in self._fs.store if path.startswith(self._root))

    def read(self, name: str) -> bytes:
        return bytes(self._fs.cat_file(f"{self._root}/{name}"))

    def write(self, name: str, content: bytes) -> None:
        self._fs.pipe_file(f"{self._root}/{name}", content)


Place = Folder | Memory


@pytest.fixture(params=["folder", "memory"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    yield Folder(tmp_path / "deep/store") if request.param == "folder" else Memory("tests/deep store")
    MemoryFileSystem.store.clear()
    MemoryFileSystem.pseudo_dirs[:] = [""]


@pytest.fixture
def store(place: Place) -> Store:
    return Store(place.address)


def identity(number: int = 0, *, chapter: str = "pa", page: int = 0) -> Identity:
    job = Job(chapter, Path("pa.ipynb"), {"seed": number}, 1.0, chapter)
    return Identity(job, f"{number:064x}", f"{page or number:063x}e", {"code": {}}, b"", {})


def entry(number: int = 0) -> Entry:
    note = {"chapter": "pa", "parameters": {"seed": number}, "parts": {"code": {}}, "seconds": 1.5 + number}
    return Entry(json.dumps(["executed", number, *range(50)]).encode(), b'{"metrics": 1}', b"one log\n" * 9, note)


PAGE = b'{\n "cells": []\n}\n'


def fill(store: Store, *identities: Identity) -> None:
    for one in identities:
        store.add(one, entry(one.job.parameters["seed"]))
        store.add_page(one, PAGE)


def test_what_is_put_in_comes_out(store: Store, place: Place) -> None:
    fill(store, identity(1))
    assert store.entry(identity(1).execution) == entry(1)
    assert store.page(identity(1)) == PAGE
    assert Store(place.address).entry(identity(1).execution) == entry(1)
    folders = {name.split("/")[0] for name in place.names()}
    assert len(place.names()) == 3 and folders == {"executed", "rendered", "latest"}


def test_a_job_that_concludes_nothing(store: Store) -> None:
    store.add(identity(), replace(entry(), result=None, log=b""))
    assert store.entry(identity().execution) == replace(entry(), result=None, log=b"")


def test_an_empty_store_has_nothing_and_stays_empty(store: Store, place: Place) -> None:
    assert store.entry("ab") is None and store.page(identity()) is None and store.notes("pa") == {}
    assert store.sweep([identity()]) == (0, 0)
    assert place.names() == [] and not (isinstance(place, Folder) and place.path.parent.exists())


def test_what_is_stored_anew_replaces_the_old(store: Store, place: Place) -> None:
    fill(store, identity())
    names = place.names()
    newer = replace(entry(), log=b"newer", note={"seconds": 9.0})
    store.add(identity(), newer)
    store.add_page(identity(), b"[1]")
    assert store.entry(identity().execution) == newer and store.page(identity()) == b"[1]"
    assert list(store.notes("pa").values()) == [newer.note] and place.names() == names


def test_a_file_in_the_store_depends_on_its_content_alone(store: Store, place: Place) -> None:
    fill(store, identity())
    before = {name: place.read(name) for name in place.names()}
    fill(store, identity())
    assert {name: place.read(name) for name in place.names()} == before
    with zipfile.ZipFile(io.BytesIO(before[place.names()[0]])) as archive:
        assert {member.date_time for member in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_notes_are_the_latest_of_every_job_of_a_chapter(store: Store) -> None:
    fill(store, identity(1), identity(2), identity(3, chapter="pa_wide"))
    other = replace(identity(2), execution="f" * 64)  # the same job after an edit
    store.add(other, entry(9))
    seconds = {note["seconds"] for note in store.notes("pa").values()}
    assert seconds == {2.5, 10.5} and len(store.notes("pa_wide")) == 1
    assert all(len(name) == 8 for name in store.notes("pa"))


@pytest.mark.parametrize("damage", [b"", b"{", b"null", b"[1]", b"\xff\xfe\x00", b'"x"'])
def test_a_damaged_note_counts_as_absent(store: Store, place: Place, damage: bytes) -> None:
    fill(store, identity(1), identity(2))
    name = next(name for name in place.names() if name.startswith("latest"))
    place.write(name, damage)
    assert len(store.notes("pa")) == 1


def test_a_damaged_entry_counts_as_absent(store: Store, place: Place) -> None:
    """Cut off anywhere, and with any byte changed: it is absent or it is what was stored, result and all."""
    fill(store, identity())
    (name,) = (name for name in place.names() if name.startswith("executed"))
    whole = place.read(name)
    damaged = [whole[:length] for length in range(len(whole))]
    for mask in (0x01, 0x39, 0x80):  # 0x39: what makes a file's comment swallow the entry of result.json
        damaged += [bytes([*whole[:i], whole[i] ^ mask, *whole[i + 1 :]]) for i in range(len(whole))]
    damaged = damaged[:: 1 if isinstance(place, Memory) else 29]  # a disk is slow
    absent = 0
    for content in damaged:
        place.write(name, content)
        found = store.entry(identity().execution)
        assert found in (None, entry())
        absent += found is None
    assert absent > len(damaged) / 2  # most of it is noticed; flags and dates of a zip do not matter
    fill(store, identity())
    assert store.entry(identity().execution) == entry()


@pytest.mark.parametrize("member", ["executed.ipynb", "job.json", "log.txt", "result.json"])
def test_an_entry_that_lacks_a_part_counts_as_absent(store: Store, place: Place, member: str) -> None:
    fill(store, identity())
    (name,) = (name for name in place.names() if name.startswith("executed"))
    place.write(name, place.read(name).replace(member.encode(), b"x" * len(member)))
    assert store.entry(identity().execution) is None


@pytest.mark.parametrize("length", range(len(PAGE) - 1))
def test_a_page_that_was_cut_off_counts_as_absent(store: Store, place: Place, length: int) -> None:
    fill(store, identity())
    (name,) = (name for name in place.names() if name.startswith("rendered"))
    place.write(name, PAGE[:length])
    assert store.page(identity()) is None


def test_a_probe_leaves_nothing(store: Store, place: Place) -> None:
    store.probe()
    assert place.names() == []
    fill(store, identity())
    names = place.names()
    store.probe()
    assert place.names() == names and len(store.notes("pa")) == 1


def test_what_another_run_removed_first_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*_: object) -> None:
        raise FileNotFoundError("nothing there")

    store = Store("memory://tests/gone")
    fill(store, identity())
    monkeypatch.setattr(MemoryFileSystem, "rm_file", gone)
    store.probe()
    assert store.sweep([])[0] == 3
    MemoryFileSystem.store.clear()


# A full disk and a read-only one


def failing(code: int) -> Callable[..., Any]:
    def fail(*_: object, **__: object) -> None:
        raise OSError(code, os.strerror(code), "some/temporary/name")

    return fail


def cut_off(code: int) -> Callable[..., Any]:
    def write(path: Path, content: bytes) -> int:
        if not content:  # a full disk has room for it
            return 0
        with open(path, "wb") as stream:
            stream.write(content[: len(content) // 2])
        raise OSError(code, os.strerror(code))

    return write


STEPS: dict[str, Callable[[int], tuple[object, str, Any]]] = {
    "folder: make the folder": lambda code: (Path, "mkdir", failing(code)),
    "folder: name it beside": lambda code: (Path, "touch", failing(code)),
    "folder: write": lambda code: (Path, "write_bytes", cut_off(code)),
    "folder: rename": lambda code: (Path, "replace", failing(code)),
    "memory: make the folder": lambda code: (MemoryFileSystem, "makedirs", failing(code)),
    "memory: open": lambda code: (MemoryFileSystem, "_open", failing(code)),
    "memory: write": lambda code: (MemoryFile, "write", failing(code)),
    "memory: commit": lambda code: (MemoryFile, "commit", failing(code)),
}
WRITES: dict[str, Callable[[Store], None]] = {
    "entry": lambda store: store.add(identity(), replace(entry(), log=b"newer")),
    "page": lambda store: store.add_page(identity(), b"[1]"),
    "probe": lambda store: store.probe(),
}


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS], ids=["full", "read-only"])
@pytest.mark.parametrize("step", STEPS)
def test_a_store_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, code: int, write: str
) -> None:
    place: Place = Folder(tmp_path / "store") if step.startswith("folder") else Memory("tests/full")
    store = Store(place.address)
    fill(store, identity())
    before = {name: place.read(name) for name in place.names()}
    for fresh in (False, True):  # what is there stays as it was, what is not does not come to be
        with monkeypatch.context() as patch:
            patch.setattr(*STEPS[step](code))
            with pytest.raises(OSError) as refusal:
                WRITES[write](Store(place.address + "2") if fresh else store)
            assert refusal.value.errno == code and refusal.value.strerror == os.strerror(code)
            assert str(refusal.value.filename).startswith(place.address)
            assert store.entry(identity().execution) == entry() and store.page(identity()) == PAGE
        assert {name: place.read(name) for name in place.names()} == before
        beside = Folder(tmp_path / "store2") if isinstance(place, Folder) else Memory("tests/full2")
        assert beside.names() == []
    MemoryFileSystem.store.clear()


def test_a_write_that_failed_is_forgotten(store: Store, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """And the next succeeds: fsspec keeps a failed transaction's state beyond its end if one lets it."""
    where, name, fail = STEPS["folder: write" if isinstance(place, Folder) else "memory: write"](errno.ENOSPC)
    with monkeypatch.context() as patch:
        patch.setattr(where, name, fail)
        with pytest.raises(OSError):
            fill(store, identity())
    assert place.names() == []
    fill(store, identity())
    assert store.entry(identity().execution) == entry() and len(place.names()) == 3


@pytest.mark.parametrize("step", ["folder: write", "folder: rename"])
def test_a_full_disk_in_the_middle_of_an_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    """The entry went in, its note does not: the success is kept, and the error is said."""
    store, place = Store(tmp_path / "store"), Folder(tmp_path / "store")
    where, name, fail = STEPS[step](errno.ENOSPC)
    original = getattr(where, name)
    with monkeypatch.context() as patch:
        patch.setattr(where, name, lambda path, *a: (fail if "latest" in str(path) else original)(path, *a))
        with pytest.raises(OSError, match="No space left on device"):
            store.add(identity(), entry())
    assert store.entry(identity().execution) == entry()
    assert [name.split("/")[0] for name in place.names()] == ["executed"]


def test_what_cannot_be_removed_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(tmp_path / "store")
    fill(store, identity())
    monkeypatch.setattr(os, "unlink", failing(errno.EROFS))
    monkeypatch.setattr(Path, "unlink", failing(errno.EROFS))
    with pytest.raises(OSError, match="Read-only file system"):
        store.sweep([])
    assert store.sweep([], dry=True)[0] == 3


@pytest.mark.skipif(os.geteuid() == 0, reason="for the superuser every folder can be written")
def test_a_folder_without_permission(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir(mode=0o500)
    with pytest.raises(PermissionError, match="store"):
        Store(tmp_path / "store").probe()


def test_a_file_where_the_store_should_be(tmp_path: Path) -> None:
    (tmp_path / "store").write_text("")
    store = Store(tmp_path / "store")
    assert store.entry("ab") is None
    with pytest.raises(OSError, match="store"):
        store.probe()
    assert (tmp_path / "store").read_text() == ""


# Addresses


def test_an_address_of_no_known_kind_is_refused() -> None:
    with pytest.raises(InputError, match=r"store: 'nosuch://x' is no address that fsspec knows \(.*nosuch"):
        Store("nosuch://x")


def test_a_driver_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gcsfs", None)
    with pytest.raises(MissingExtra, match=r"store gs://bucket/x: .*gcsfs"):
        Store("gs://bucket/x")
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(MissingExtra, match=r"fsspec is not installed: pip install 'yardsticks\[batch\]'"):
        Store("memory://x")


class DriverError(Exception):
    """What a driver may raise: not an OSError at all."""


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (DriverError("access denied"), "DriverError: access denied"),
        (PermissionError("access denied"), "access denied"),
        (OSError(errno.EACCES, "denied"), "denied"),
        (FileNotFoundError("no such bucket"), "no such bucket"),
    ],
)
def test_what_drivers_raise_becomes_one_clear_error(
    monkeypatch: pytest.MonkeyPatch, error: Exception, reason: str
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    store = Store("memory://tests/bucket")
    monkeypatch.setattr(MemoryFileSystem, "_open", fail)
    monkeypatch.setattr(MemoryFileSystem, "makedirs", fail)
    for act in WRITES.values():
        with pytest.raises(OSError) as refusal:
            act(store)
        assert refusal.value.strerror == reason
        assert str(refusal.value.filename).startswith("memory://tests/bucket/")


@pytest.mark.parametrize("call", ["cat_file", "find", "size", "rm_file"])
def test_a_failure_to_read_is_not_taken_for_absence(monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    store = Store("memory://tests/bucket")
    fill(store, identity())

    def fail(*_: object, **__: object) -> None:
        raise DriverError("no connection")

    monkeypatch.setattr(MemoryFileSystem, call, fail)
    with pytest.raises(OSError, match=r"memory://tests/bucket.*DriverError: no connection|no connection.*memory://"):
        store.entry(identity().execution)
        store.notes("pa")
        store.sweep([])
    MemoryFileSystem.store.clear()


# Sweeping


def test_a_fresh_outcome_takes_the_place_of_all_pages_of_the_old_one(store: Store) -> None:
    other_text = replace(identity(), render="d" * 64)
    fill(store, identity(), identity(1))
    store.add_page(other_text, PAGE)
    store.add(identity(), entry(7))
    assert store.page(identity()) is None and store.page(other_text) is None
    assert store.page(identity(1)) == PAGE


def test_sweep_keeps_exactly_the_plan(store: Store, place: Place) -> None:
    kept = [identity(1), identity(2), identity(4, chapter="pa_wide")]
    edited = replace(identity(1), execution="e" * 64, render="f" * 64)  # what the plan's job was before an edit
    page = replace(identity(2), render="d" * 64)  # the same outputs under another text
    fill(store, edited, *kept)
    store.add_page(page, PAGE)
    wanted = set(place.names())
    fill(store, identity(3), identity(5, chapter="cl"))
    wanted -= {name for name in wanted if any(key in name for key in ("e" * 64, "f" * 64, "d" * 64))}
    unwanted = set(place.names()) - wanted
    size = sum(len(place.read(name)) for name in unwanted)
    assert len(wanted) == 9 and len(unwanted) == 9
    assert store.sweep(kept, dry=True) == (9, size)
    assert set(place.names()) == wanted | unwanted
    assert store.sweep(kept) == (9, size)
    assert set(place.names()) == wanted
    assert store.sweep(kept) == (0, 0)
    assert all(store.entry(one.execution) and store.page(one) for one in kept)
    assert store.sweep([])[0] == 9 and place.names() == []


def test_sweep_removes_old_unfinished_files_and_spares_young_ones(tmp_path: Path) -> None:
    store, place = Store(tmp_path), Folder(tmp_path)
    fill(store, identity())
    now = time.time()
    for folder in ("executed/00", "rendered/00", "latest/pa", "latest"):
        for age in (10, 3500, 3700):
            place.write(f"{folder}/.half.{age}", b"half")
            os.utime(tmp_path / folder / f".half.{age}", (now - age, now - age))
    place.write("latest/.half.young", b"")
    assert store.sweep([identity()]) == (4, 16)
    left = [name for name in place.names() if ".half." in name]
    assert len(left) == 9 and not any(name.endswith("3700") for name in left)
    assert len(store.notes("pa")) == 1 and store.entry(identity().execution) == entry()


def test_sweep_leaves_alone_what_is_not_the_stores(store: Store, place: Place) -> None:
    fill(store, identity())
    place.write("README", b"mine")
    place.write("other/executed/x.zip", b"mine")
    assert store.sweep([])[0] == 3
    assert place.names() == ["README", "other/executed/x.zip"]


# Two at once


def test_two_writers_and_a_reader_at_once(store: Store, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each writes its own content under the same and under other names; a reader sees one or the other, whole."""
    write_at_once = MemoryFile.write

    def write_slowly(file: MemoryFile, content: bytes) -> int:
        time.sleep(0.001)  # so that they do meet
        return int(write_at_once(file, content))

    monkeypatch.setattr(MemoryFile, "write", write_slowly)
    contents = [replace(entry(), log=bytes([65 + who]) * 200_000) for who in range(2)]
    pages = [json.dumps("AB"[who] * 100_000).encode() for who in range(2)]
    faults: list[object] = []
    done = threading.Event()

    def write(who: int) -> None:
        try:
            writer = Store(place.address)
            for number in range(25):
                writer.add(identity(), contents[who])
                writer.add_page(identity(), pages[who])
                writer.add_page(identity(100 * who + number + 1), pages[who])
                writer.probe()
        except Exception as error:
            faults.append(error)

    def read() -> None:
        try:
            while not done.is_set():
                found, page = store.entry(identity().execution), store.page(identity())
                if found not in (None, *contents) or page not in (None, *pages) or len(store.notes("pa")) > 1:
                    faults.append((found, page))
        except Exception as error:
            faults.append(error)

    writers = [threading.Thread(target=write, args=[who]) for who in range(2)]
    reader = threading.Thread(target=read)
    for thread in (*writers, reader):
        thread.start()
    for thread in writers:
        thread.join()
    done.set()
    reader.join()
    assert faults == []
    assert store.entry(identity().execution) in contents
    assert len(place.names()) == 2 + 1 + 50
    for who in range(2):
        assert all(store.page(identity(100 * who + number + 1)) == pages[who] for number in range(25))


WRITER = """
import sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from helpers.batch.keys import Identity
from helpers.batch.plan import Job
from helpers.batch.store import Store
store = Store(sys.argv[2])
one = Identity(Job("pa", Path("pa.ipynb"), {}, 1.0, "pa"), "ab" * 32, "cd" * 32, {}, b"", {})
print("ready", flush=True)
sys.stdin.readline()
number = 0
while True:
    store.add_page(one, b'"' + bytes([65 + number % 26]) * 500_000 + b'"')
    number += 1
"""


def test_two_processes_that_are_killed_leave_a_whole_file(tmp_path: Path) -> None:
    root = str(Path(__file__).resolve().parents[2])
    place, store = Folder(tmp_path / "store"), Store(tmp_path / "store")
    one = replace(identity(), execution="ab" * 32, render="cd" * 32)
    for _ in range(2):
        command = [sys.executable, "-c", WRITER, root, place.address]
        writers = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(2)]
        for writer in writers:
            assert writer.stdout and writer.stdout.readline() == b"ready\n"
        for writer in writers:
            assert writer.stdin
            writer.stdin.write(b"go\n")
            writer.stdin.flush()
        end = time.monotonic() + 0.3
        while time.monotonic() < end:
            assert store.page(one) is None or len(store.page(one) or b"") == 500_002
        for writer in writers:
            writer.kill()
            writer.communicate()
        whole = [name for name in place.names() if "/." not in name]
        assert whole == [f"rendered/ab/{'ab' * 32}/{'cd' * 32}.ipynb"]
        assert len(set(json.loads(place.read(whole[0])))) == 1
    store.sweep([])
    assert all("/." in name for name in place.names())  # what the killed ones left, and is too young to be swept
