"""Keys: what changes them, what does not, and what is said about it."""

import itertools
import json
import os
import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import nbformat
import pytest

from helpers.batch import closure, environment, keys
from helpers.batch.keys import Identity, changes, identify
from helpers.batch.plan import Job, read_grid
from helpers.batch.runner import explain
from helpers.batch.store import Entry, Store
from helpers.errors import InputError

from .conftest import PARAMETERS, make
from .test_closure import make_library

LIBRARY = {
    "__init__": "",
    "errors": "",
    "house/__init__": "from .score import value",
    "house/score": "from ..errors import E\nvalue = 1",
    "other/__init__": "",
    "batch/__init__": "",
    "batch/worker": "from . import parameters",
    "batch/parameters": "",
    "batch/render": "",
}
NOTEBOOK = Path("notebooks/pa.ipynb")
GRID = "chapters: {pa: {parameters: {alpha: 2, name: data/named.txt}}}"


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with one chapter, in the current folder, and the library that it imports."""
    make_library(tmp_path / "library", LIBRARY, monkeypatch)
    monkeypatch.setattr(keys, "ROOT", tmp_path / "library")
    project = tmp_path / "project"
    for folder in ("notebooks", "data"):
        (project / folder).mkdir(parents=True)
    monkeypatch.chdir(project)
    notebook = make(
        "from helpers import house", "alpha * house.value", parameters=f'{PARAMETERS}\nname: str = ""  # a path'
    )
    notebook.metadata["yardsticks"] = {"data": ["data/*.csv"]}
    notebook.cells += [nbformat.v4.new_raw_cell("raw"), nbformat.v4.new_code_cell("last = 1")]
    nbformat.write(notebook, NOTEBOOK)
    for name in ("data/table.csv", "data/named.txt", "data/undeclared.txt"):
        Path(name).write_text("1")
    Path("requirements.lock").write_text("numpy==1.0\n")
    Path("grid.yml").write_text(GRID)
    return project


def identity() -> Identity:
    (found,) = identify(read_grid("grid.yml"))
    return found


def edit(change: Callable[[Any], object]) -> None:
    notebook = json.loads(NOTEBOOK.read_text())
    change(notebook)
    NOTEBOOK.write_text(json.dumps(notebook))


def code(number: int, text: str) -> None:
    """Give the notebook's n-th cell another source."""
    edit(lambda notebook: notebook["cells"][number].update(source=text))


def tag(number: int, *tags: str) -> None:
    edit(lambda notebook: notebook["cells"][number]["metadata"].update(tags=list(tags)))


def insert(number: int, cell: Any) -> None:
    edit(lambda notebook: notebook["cells"].insert(number, dict(cell)))


def library(name: str, text: str) -> None:
    Path("../library/helpers", f"{name}.py").write_text(text)


CELL = nbformat.v4.new_code_cell("1", id="one")
TEXT = nbformat.v4.new_markdown_cell("Words.", id="words")
CHANGES: dict[str, tuple[Callable[[], object], str, list[str]]] = {
    "a code cell": (lambda: code(3, "alpha * 3"), "code", ["code cell 3 changed"]),
    "a comment in a code cell": (lambda: code(3, "alpha * house.value  # so"), "code", ["code cell 3 changed"]),
    "a cell more": (lambda: insert(6, CELL), "code", ["code cell 5 is new"]),
    "a cell less": (lambda: edit(lambda n: n["cells"].pop()), "code", ["code cell 4 is gone"]),
    "cells in another order": (
        lambda: edit(lambda n: n["cells"].insert(2, n["cells"].pop(3))),
        "code",
        ["code cell 2 changed", "code cell 3 changed"],
    ),
    "the parameters at another place": (
        lambda: edit(lambda n: n["cells"].insert(2, n["cells"].pop(1))),
        "code",
        ["code cell 1 is new", "code cell 2 is gone"],
    ),
    "tagged skip-execution": (lambda: tag(3, "hide-input", "skip-execution"), "code", ["code cell 3 changed"]),
    "a parameter": (
        lambda: Path("grid.yml").write_text(GRID.replace("alpha: 2", "alpha: 3")),
        "parameters",
        ["alpha 2.0 -> 3.0"],
    ),
    "a default that holds": (
        lambda: code(1, f'{PARAMETERS.replace("= 0", "= 1")}\nname: str = ""'),
        "parameters",
        ["seed 0 -> 1"],
    ),
    "a parameter more": (
        lambda: code(1, f'{PARAMETERS}\nname: str = ""\nlimit: float = float("inf")'),
        "parameters",
        ["limit absent -> Infinity"],
    ),
    "a module": (
        lambda: library("house/score", "from ..errors import E\nvalue = 2"),
        "helpers",
        ["helpers/house/score.py changed"],
    ),
    "a module behind a module": (lambda: library("errors", "x = 1"), "helpers", ["helpers/errors.py changed"]),
    "a comment in a module": (lambda: library("__init__", "# so"), "helpers", ["helpers/__init__.py changed"]),
    "one module more": (
        lambda: library("house/__init__", "from . import score\nfrom .. import other"),
        "helpers",
        ["helpers/house/__init__.py changed", "helpers/other/__init__.py is new"],
    ),
    "one module less": (
        lambda: library("house/score", "value = 1"),
        "helpers",
        ["helpers/errors.py is gone", "helpers/house/score.py changed"],
    ),
    "data": (lambda: Path("data/table.csv").write_text("2"), "data", ["data/table.csv changed"]),
    "data that a pattern finds": (lambda: Path("data/new.csv").write_text("1"), "data", ["data/new.csv is new"]),
    "a file that a parameter names": (
        lambda: Path("data/named.txt").write_text("2"),
        "data",
        ["data/named.txt changed"],
    ),
    "a file that a parameter no longer finds": (
        lambda: Path("data/named.txt").unlink(),
        "data",
        ["data/named.txt is gone"],
    ),
    "the lock": (
        lambda: Path("requirements.lock").write_text("numpy==1.0\n#"),
        "environment",
        ["requirements.lock changed"],
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_changes_its_own_part_and_is_named(workplace: Path, name: str) -> None:
    change, part, lines = CHANGES[name]
    before = identity()
    change()
    after = identity()
    assert after.execution != before.execution and after.render != before.render
    assert [key for key in before.parts if before.parts[key] != after.parts[key]] == [part]
    assert changes(before.parts, after.parts) == [f"{part}: {line}" for line in lines]


NEITHER: dict[str, Callable[[], object]] = {
    "outputs and counts": lambda: edit(
        lambda n: n["cells"][3].update(execution_count=4, outputs=[{"output_type": "stream", "name": "", "text": "x"}])
    ),
    "sources as texts, where they were lists of lines": lambda: edit(
        lambda n: [cell.update(source="".join(cell["source"])) for cell in n["cells"]]
    ),
    "the same notebook, written in another way": lambda: NOTEBOOK.write_text(
        json.dumps(json.loads(NOTEBOOK.read_text()), indent=7, sort_keys=True)
    ),
    "times": lambda: [os.utime(path, (1e9, 1e9)) for path in Path("..").rglob("*")],
    "a module outside the closure": lambda: library("other/__init__", "x = 1"),
    "a new module outside the closure": lambda: library("house/extra", ""),
    "a module that runs jobs": lambda: library("batch/worker", "from . import parameters  # so"),
    "a file that nobody declares": lambda: Path("data/undeclared.txt").write_text("2"),
    "time limit, memory, tags and GPUs": lambda: Path("grid.yml").write_text(
        GRID.replace("{parameters", "{timeout_s: 5, memory_mb: 7, tags: [slow], gpus: 1, parameters")
    ),
    "keys of the grid in another order": lambda: Path("grid.yml").write_text(
        "chapters:\n  pa:\n    timeout_s: 600\n    parameters:\n      name: data/named.txt\n      alpha: [2.0]\n"
    ),
}
PROSE: dict[str, Callable[[], object]] = {
    "prose": lambda: code(0, "# Another title"),
    "raw text": lambda: code(4, "another"),
    "a text cell more": lambda: insert(2, TEXT),
    "a comment in the parameters cell": lambda: code(1, f'{PARAMETERS}, so\nname: str = ""  # a path'),
    "a default that the grid overrides": lambda: code(1, f'{PARAMETERS.replace("1.0", "1.5")}\nname: str = ""'),
    "tags that change the page": lambda: tag(3, "hide-input"),
    "metadata": lambda: edit(lambda n: n["metadata"].update(title="x")),
    "the name of a cell": lambda: edit(lambda n: n["cells"][3].update(id="another")),
    "the renderer": lambda: library("batch/render", "x = 1"),
}


@pytest.mark.parametrize("name", NEITHER)
def test_a_change_that_counts_for_nothing(workplace: Path, name: str) -> None:
    before = identity()
    NEITHER[name]()
    after = identity()
    assert (after.execution, after.render) == (before.execution, before.render)
    assert changes(before.parts, after.parts) == []


@pytest.mark.parametrize("name", PROSE)
def test_a_change_of_the_page_alone(workplace: Path, name: str) -> None:
    before = identity()
    PROSE[name]()
    after = identity()
    assert after.execution == before.execution and after.render != before.render
    assert changes(before.parts, after.parts) == []


def test_the_place_counts_for_nothing(workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = identity()
    there = workplace.parent / "another place"
    shutil.copytree(workplace, there / "work")
    shutil.copytree(workplace.parent / "library", there / "library")
    for module in (keys, closure):
        monkeypatch.setattr(module, "ROOT", there / "library")
    monkeypatch.chdir(there / "work")
    NOTEBOOK.rename("other.ipynb")
    Path("grid.yml").write_text(GRID.replace("{parameters", "{notebook: other.ipynb, parameters"))
    after = identity()
    assert after.job.notebook == there / "work/other.ipynb"
    assert (after.execution, after.render, after.files) == (before.execution, before.render, before.files)


def test_the_order_of_parameters_and_jobs_counts_for_nothing(workplace: Path) -> None:
    values = {"alpha": 2.0, "seed": 0, "name": "x"}
    for order in itertools.permutations(values):
        jobs = [Job(chapter, NOTEBOOK, {name: values[name] for name in order}, 1.0, chapter) for chapter in order]
        found = identify(jobs)
        assert [one.job for one in found] == jobs
        assert {(one.execution, one.render) for one in found} == {
            (one.execution, one.render) for one in identify([Job("pa", NOTEBOOK, values, 1.0, "pa")])
        }


def test_python_counts(workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = identity()
    fake = SimpleNamespace(implementation=SimpleNamespace(name="pypy"), version_info=(3, 99, 1), path=sys.path)
    monkeypatch.setattr(environment, "sys", fake)
    after = identity()
    assert after.execution != before.execution
    here = f"{sys.implementation.name} {sys.version_info[0]}.{sys.version_info[1]}"
    assert changes(before.parts, after.parts) == [f"environment: python {here} -> pypy 3.99"]


def test_a_distribution_that_differs_from_the_lock_counts(workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(workplace / "site")])
    versions = []
    for name in ("numpy-1.0", "numpy-2.0", "unlocked-3.0"):
        (workplace / "site").mkdir(exist_ok=True)
        for old in (workplace / "site").iterdir():
            old.rmdir()
        (workplace / "site" / f"{name}.dist-info").mkdir()
        versions.append(identity())
    locked, newer, unlocked = versions
    assert changes(locked.parts, newer.parts) == ["environment: numpy as locked -> 2.0"]
    assert changes(newer.parts, locked.parts) == ["environment: numpy 2.0 -> as locked"]
    assert locked.execution != newer.execution and locked.execution == unlocked.execution


def test_the_way_of_executing_counts(workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = identity()
    monkeypatch.setattr(keys, "FORMAT", "next")
    after = identity()
    assert after.execution != before.execution
    assert changes(before.parts, after.parts) == [f"format: batch {before.parts['format']['batch']} -> next"]


def test_where_one_text_ends_and_the_next_begins_counts(workplace: Path) -> None:
    keyed = []
    for text, tags in (("x", ["skip-execution"]), ("xskip-execution", []), ("x", [])):
        code(3, text)
        tag(3, *tags)
        keyed.append(identity())
    code(3, "a")
    insert(4, CELL | {"source": "b"})
    keyed.append(identity())
    code(3, "a\nb")
    code(4, "")
    keyed.append(identity())
    assert len({one.execution for one in keyed}) == 5


def test_values_of_another_type_count(workplace: Path) -> None:
    jobs = [Job("pa", NOTEBOOK, {"x": value}, 1.0, "pa") for value in (1, 1.0, True, "1", "true", 2**60, 2**60 + 1)]
    assert len({one.execution for one in identify(jobs)}) == len(jobs)


def test_two_jobs_differ_in_their_parameters_alone(workplace: Path) -> None:
    Path("grid.yml").write_text("chapters: {pa: {parameters: {seed: [0, 1]}}}")
    one, two = identify(read_grid("grid.yml"))
    assert changes(one.parts, two.parts) == ["parameters: seed 0 -> 1"]
    assert one.execution != two.execution and one.render != two.render


def test_what_travels_with_a_job(workplace: Path) -> None:
    Path("../outside.txt").write_text("out")
    Path("grid.yml").write_text(f"chapters: {{pa: {{parameters: {{name: {Path('../outside.txt')}}}}}}}")
    found = identity()
    assert found.source == NOTEBOOK.read_bytes()
    modules = (
        "__init__",
        "errors",
        "house/__init__",
        "house/score",
        "batch/__init__",
        "batch/parameters",
        "batch/worker",
    )
    assert set(found.files) == {f"helpers/{name}.py" for name in modules} | {"data/table.csv"}
    assert found.files["data/table.csv"] == b"1"
    assert found.files["helpers/house/score.py"].decode() == LIBRARY["house/score"]
    assert set(found.parts["data"]) == {"data/table.csv", "../outside.txt"}  # hashed, but not laid out
    Path("../outside.txt").write_text("changed")
    assert identity().execution != found.execution


def test_a_folder_written_with_a_slash_stands_for_its_files(workplace: Path) -> None:
    grid = Path("grid.yml").read_text()
    Path("data/deep/er").mkdir(parents=True)
    Path("data/deep/er/x.csv").write_text("x")
    Path("grid.yml").write_text(grid.replace("data/named.txt", "data/deep/"))
    found = identity()
    assert "data/deep/er/x.csv" in found.files and "data/deep/er/x.csv" in found.parts["data"]
    Path("data/deep/er/x.csv").write_text("another")
    assert identity().execution != found.execution
    elsewhere = workplace / "elsewhere"
    elsewhere.mkdir()
    Path("grid.yml").write_text(grid.replace("data/named.txt", f"{elsewhere}/"))
    (elsewhere / "x").write_text("1")
    assert not any(str(elsewhere) in name for name in identity().parts["data"])


def test_a_file_named_inside_travels(workplace: Path) -> None:
    assert identity().files["data/named.txt"] == b"1"


@pytest.mark.parametrize("text", ["", "data", "x" * 5000, "nul\0byte", "no/such/file", "data/named.txt/under"])
def test_a_text_that_names_no_file_is_only_a_text(workplace: Path, text: str) -> None:
    (found,) = identify([Job("pa", NOTEBOOK, {"name": text}, 1.0, "pa")])
    assert set(found.parts["data"]) == {"data/table.csv"}


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        (
            {"data": ["data/absent.csv"]},
            "declares the data 'data/absent.csv': there is no such file in .*project: run fr",
        ),
        ({"data": ["data/absent*"]}, r"declares the data 'data/absent\*': there is no such file"),
        ({"data": ["data/"]}, r"declares the data 'data/', which is a folder: name its files, as data/\*"),
        ({"data": ["../library/helpers/errors.py"]}, "'../library/.*': write a path inside the project"),
        ({"data": ["data/../../library/helpers/errors.py"]}, "write a path inside the project"),
        ({"data": ["/etc/hostname"]}, "'/etc/hostname': write a path inside the project"),
        ({"data": "data/table.csv"}, "metadata.yardsticks.data is 'data/table.csv': write a list of paths"),
        ({"data": [3]}, r"metadata.yardsticks.data is \[3\]: write a list of paths"),
        (["data/table.csv"], "metadata.yardsticks.data is None: write a list of paths"),
    ],
)
def test_data_refused(workplace: Path, declared: object, message: str) -> None:
    edit(lambda notebook: notebook["metadata"].update(yardsticks=declared))
    with pytest.raises(InputError, match=message) as refusal:
        identity()
    assert "pa.ipynb" in str(refusal.value)


def test_data_in_folders_below(workplace: Path) -> None:
    Path("data/deep/er").mkdir(parents=True)
    Path("data/deep/er/x.csv").write_text("x")
    edit(lambda notebook: notebook["metadata"].update(yardsticks={"data": ["./data/**/*.csv", "data/table.csv"]}))
    assert set(identity().parts["data"]) == {"data/table.csv", "data/deep/er/x.csv", "data/named.txt"}


def test_a_notebook_without_metadata(workplace: Path) -> None:
    edit(lambda notebook: notebook.pop("metadata"))
    assert set(identity().parts["data"]) == {"data/named.txt"}


def test_changes_of_parts_that_were_not_there() -> None:
    assert changes({}, {"code": {"code cell 1": "x"}}) == ["code: code cell 1 is new"]
    assert changes({"code": {"b": "1", "a": "1"}}, {"code": {}}) == ["code: a is gone", "code: b is gone"]


def stored(store: Store, *, note: Mapping[str, Any] | None = None) -> Identity:
    """Put the present outcome of the one job into a store."""
    now = identity()
    notes = {"seconds": 1.0, "parts": now.parts, **(note or {})}
    store.add(now, Entry(NOTEBOOK.read_bytes(), None, b"", notes))
    store.add_page(now, NOTEBOOK.read_bytes())
    return now


def told() -> tuple[str, list[str]]:
    ((_, state, reasons),) = explain("grid.yml", store="store")
    return state, reasons


def test_explain(workplace: Path) -> None:
    store = Store("store")
    assert told() == ("execute", ["no job of this chapter is stored"])
    stored(store)
    assert told() == ("cached", [])
    PROSE["prose"]()
    assert told() == ("prose", ["the notebook's text changed: its page is made anew from the stored outputs"])
    CHANGES["a module"][0]()
    CHANGES["data"][0]()
    assert told() == ("execute", ["helpers: helpers/house/score.py changed", "data: data/table.csv changed"])
    (_, state, reasons), *_ = explain("grid.yml", store="store", fresh=True)
    assert (state, reasons) == ("execute", ["a fresh run was asked for"])


def test_explain_compares_with_the_job_itself_and_else_with_the_nearest(workplace: Path) -> None:
    store = Store("store")
    stored(store)
    for name in ("a code cell", "the lock", "data"):
        CHANGES[name][0]()
    edits = ["code: code cell 3 changed", "data: data/table.csv changed", "environment: requirements.lock changed"]
    Path("grid.yml").write_text(GRID.replace("alpha: 2", "alpha: 2, seed: 5"))
    stored(store)
    Path("grid.yml").write_text(GRID.replace("alpha: 2", "alpha: 2, seed: 6"))
    assert told() == ("execute", ["parameters: seed 5 -> 6"])  # the other is three edits away
    Path("grid.yml").write_text(GRID)
    assert told() == ("execute", edits)  # though the other differs in its seed alone


def test_explain_says_when_the_store_has_lost_what_it_had(workplace: Path) -> None:
    stored(Store("store"))
    shutil.rmtree("store/executed")
    assert told() == ("execute", ["what was stored is gone or damaged"])


def test_explain_looks_at_its_part_and_tags(workplace: Path) -> None:
    Path("grid.yml").write_text("chapters: {pa: {parameters: {seed: [0, 1, 2]}, tags: [slow]}}")
    names = [job.name for job, _, _ in explain("grid.yml", store="store")]
    assert [job.name for job, _, _ in explain("grid.yml", store="store", shard="2/2", tags=["slow"])] == names[1::2]
    with pytest.raises(InputError, match="no chapter of the grid has 'fast'"):
        explain("grid.yml", store="store", tags=["fast"])


def test_nothing_is_written_by_looking(workplace: Path) -> None:
    before = sorted(Path("..").rglob("*"))
    told()
    assert sorted(Path("..").rglob("*")) == before


def test_the_books_chapters_depend_on_what_they_use_alone() -> None:
    """Of this very library and book."""
    found = {i.job.chapter: i for i in identify(read_grid(keys.ROOT / "notebooks/grids/book.yml"))}
    assert "helpers/pa/score.py" in found["pa"].parts["helpers"]
    others = ("tempora", "ppat", "pmk", "cl", "batch")
    assert not [name for name in found["pa"].parts["helpers"] if name.split("/")[1] in others]
    assert set(found["pa"].parts["data"]) == {"data/published/pa.csv", "data/records/pa-digits.npz"}
