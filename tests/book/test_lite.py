"""The JupyterLite site: the chapters' copies, what the kernel starts with, the built files."""

import asyncio
import base64
import copy
import hashlib
import json
import os
import re
import subprocess
import sys
import types
import zipfile
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import browser
import lite
import nbformat
import pytest
import vendor
from nbformat import NotebookNode

from helpers.batch import parameters

ROOT = Path(__file__).resolve().parents[2]
CHAPTERS = sorted(path.stem for path in (ROOT / "notebooks").glob("*.ipynb"))
PYTHON = lite.BROWSER | {"python_version": "3.14", "python_full_version": "3.14.2"}
SHIPPABLE = 'record: str = ""  # "shipped" or a folder, empty to measure here'


def chapter(*sources: str) -> NotebookNode:
    """A notebook whose first code cell is the parameters'."""
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    cells[0].metadata["tags"] = ["parameters"]
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("# A chapter"), *cells])


@pytest.fixture
def records(tmp_path: Path) -> Path:
    """A folder of records with one of the chapter `demo`."""
    folder = tmp_path / "records"
    folder.mkdir()
    (folder / "demo-one.npz").touch()
    return folder


def test_a_copy_says_what_to_expect_and_starts_the_browsers_python(tmp_path: Path) -> None:
    made = lite.browser_copy(chapter("seed: int = 0  # unitless, 0 to 5", "seed"), "demo", tmp_path)
    nbformat.validate(made)
    assert [cell.cell_type for cell in made.cells[:3]] == ["markdown", "code", "markdown"]
    assert "running needs the network; reading does not" in made.cells[0].source
    assert "PyTorch" not in made.cells[0].source
    assert "await browser.ready()" in made.cells[1].source
    assert [cell.source for cell in made.cells[2:]] == ["# A chapter", "seed: int = 0  # unitless, 0 to 5", "seed"]
    assert made.metadata.kernelspec.name == "python"


def test_a_copy_starts_from_the_shipped_record_and_says_so(records: Path) -> None:
    made = lite.browser_copy(chapter(SHIPPABLE), "demo", records)
    assert made.cells[3].source == SHIPPABLE.replace('""', '"shipped"', 1)
    assert '`record` is `"shipped"` here' in made.cells[0].source


def test_a_record_that_no_parameter_takes_is_refused(records: Path) -> None:
    with pytest.raises(lite.LiteError, match=r"demo: there are records demo-\*\.npz in .*, and no parameter `record`"):
        lite.browser_copy(chapter('record: str = ""  # path, empty to measure here'), "demo", records)


def test_a_parameter_without_its_record_is_refused(records: Path) -> None:
    with pytest.raises(lite.LiteError, match=r'other: its parameter `record` may be "shipped", but there is no record'):
        lite.browser_copy(chapter(SHIPPABLE), "other", records)


def test_cells_that_need_torch_do_not_stop_the_others(tmp_path: Path) -> None:
    sources = [
        "import torch",
        "if True:\n    from torch import nn",
        "torchvision = 'import torch'",
        "import torchmetrics",
    ]
    made = lite.browser_copy(chapter("seed: int = 0  # unitless, 0 to 5", *sources), "demo", tmp_path)
    nbformat.validate(made)
    assert [cell.cell_type for cell in made.cells[4:]] == ["markdown", "markdown", "code", "code"]
    assert made.cells[5].source == f"*Needs PyTorch:*\n\n```python\n{sources[1]}\n```"


def test_the_note_says_what_is_left_out(tmp_path: Path) -> None:
    text, code = nbformat.v4.new_markdown_cell, nbformat.v4.new_code_cell
    made = chapter("seed: int = 0  # unitless, 0 to 5", "1")
    made.cells += [
        text("## Zero\n\n## One\n\ntext"),
        code("import torch\nx = 1"),
        code("x"),
        text("## Two"),
        code("seed"),
    ]
    made.cells += [text("text\n\n### Three"), code("y = x"), code("results.conclude('demo', metrics=y)")]
    made = lite.browser_copy(made, "demo", tmp_path)
    assert made.cells[0].source.endswith("are text here and do not run:\n*One*; *Three*; the conclusion.")
    assert [cell.source for cell in made.cells if cell.cell_type == "code"][2:] == ["1", "seed"]


def test_a_cell_that_is_no_python_is_refused(tmp_path: Path) -> None:
    with pytest.raises(lite.LiteError, match="demo: a cell is no Python"):
        lite.browser_copy(chapter("seed: int = 0  # unitless, 0 to 5", "x = = 1"), "demo", tmp_path)


@pytest.mark.parametrize("name", CHAPTERS)
def test_the_copy_of_a_chapter_differs_in_its_record_and_where_it_needs_torch(name: str) -> None:
    source = nbformat.read(ROOT / "notebooks" / f"{name}.ipynb", as_version=4)
    made = lite.browser_copy(copy.deepcopy(source), name, ROOT / "data" / "records")
    nbformat.validate(made)
    assert len(made.cells) == len(source.cells) + 2
    changed = [
        other.source for one, other in zip(source.cells, made.cells[2:], strict=True) if one.source != other.source
    ]
    changed = [text for text in changed if "*Needs PyTorch:*" not in text]
    shipped = any((ROOT / "data" / "records").glob(f"{name}-*.npz"))
    assert len(changed) == shipped
    if shipped:
        cell = made.cells[parameters.find(made.cells, where=name)]
        values = {one.name: one.default for one in parameters.declared(cell.source)}
        assert values["record"] == "shipped"


def test_some_chapter_ships_its_record() -> None:
    assert [name for name in CHAPTERS if any((ROOT / "data" / "records").glob(f"{name}-*.npz"))]


@pytest.mark.slow
@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapter_runs_with_what_a_browser_has(name: str, tmp_path: Path) -> None:
    command = [sys.executable, "tests/book/as_in_a_browser.py", name]
    place = os.environ | {"IPYTHONDIR": str(tmp_path), "MPLBACKEND": "agg"}
    done = subprocess.run(command, cwd=ROOT, env=place, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    assert re.search(r"[1-9]\d* cells ran", done.stdout)
    if name == "pa":  # from the shipped record, up to the attacks
        assert {"pa-11 shows Figure", "pa-13 shows Figure", "pa-49 shows Explorer"} <= set(done.stdout.splitlines())


@pytest.fixture
def pyodide(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A stand-in for the browser's own module: `has` is what can be fetched, `asked` what was asked for."""
    state: dict[str, Any] = {"has": set(), "asked": []}

    async def load(names: list[str]) -> None:
        state["asked"] += names

    def version(name: str) -> str:
        if name in state["has"] and name in state["asked"]:
            return "1.2"
        raise PackageNotFoundError(name)

    monkeypatch.setitem(sys.modules, "pyodide_js", types.SimpleNamespace(loadPackage=load))
    monkeypatch.setattr(browser.metadata, "version", version)
    return state


def test_the_browsers_python_is_ready_with_everything(
    pyodide: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    pyodide["has"] = set(browser.FETCHED)
    asyncio.run(browser.ready())
    assert pyodide["asked"] == [*browser.SHIPPED, *browser.FETCHED]
    assert "Ready: numpy 1.2, scipy 1.2" in capsys.readouterr().out


def test_what_could_not_be_fetched_is_named(pyodide: dict[str, Any]) -> None:
    pyodide["has"] = set(browser.FETCHED) - {"numpy", "scipy"}
    with pytest.raises(ConnectionError, match=r"^numpy, scipy could not be fetched\. To run a chapter here"):
        asyncio.run(browser.ready())


def test_pyodide_and_micropip_are_pinned() -> None:
    packages = {one.name: one for one in vendor.read_packages(ROOT / "book" / "vendor.json", "lite")}
    assert packages["pyodide"].version == lite.PYODIDE_VERSION
    assert set(packages) == {"pyodide", "micropip"}
    for package in packages.values():
        assert len(base64.b64decode(package.integrity.removeprefix("sha512-"))) == 64


def test_what_the_pages_take_is_not_what_the_site_takes() -> None:
    pages = {one.name for one in vendor.read_packages(ROOT / "book" / "vendor.json")}
    assert "mathjax" in pages
    assert not pages & {"pyodide", "micropip"}


def test_requirements_are_those_of_the_browser() -> None:
    asked = ["Stack_Data>=1", "pexpect>4; sys_platform != 'win32' and sys_platform != 'emscripten'"]
    asked += ["typing_extensions; python_version < '3.12'", "black; extra == 'dev'", "six; python_version >= '3.14'"]
    assert lite.required(asked, PYTHON) == ["six", "stack-data"]


def test_what_is_needed_is_found_through_others_less_the_stand_in() -> None:
    names = {lite.normal(one.metadata["Name"]) for one in lite.needed(("ipywidgets",), PYTHON)}
    assert {"ipywidgets", "ipython", "traitlets", "stack-data", "pure-eval"} <= names
    assert "widgetsnbextension" not in names


def test_a_packed_wheel_is_complete_pure_and_the_same_each_time(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
    one, two = (lite.pack(distribution("wcwidth"), tmp_path / folder) for folder in ("one", "two"))
    assert one.name == f"wcwidth-{distribution('wcwidth').version}-py3-none-any.whl"
    assert one.read_bytes() == two.read_bytes()
    with zipfile.ZipFile(one) as archive:
        names = archive.namelist()
        assert {one.date_time for one in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
    assert "wcwidth/__init__.py" in names
    assert not [name for name in names if name.endswith((".so", ".pyd", ".pyc")) or ".." in name]


def test_a_wheel_is_described_as_the_list_wants_it(tmp_path: Path) -> None:
    wheel = lite.pack(distribution("matplotlib-inline"), tmp_path)
    entry = lite.describe(wheel, PYTHON)
    assert entry["name"] == "matplotlib-inline"
    assert entry["file_name"] == wheel.name
    assert entry["imports"] == ["matplotlib_inline"]
    assert entry["depends"] == ["traitlets"]
    assert entry["sha256"] == hashlib.sha256(wheel.read_bytes()).hexdigest()


@pytest.fixture
def vendored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What book/vendor.json brings, in small: Pyodide's list has NumPy and an older `comm`."""
    folder = tmp_path / "vendored"
    for package in ("pyodide", "micropip"):
        (folder / package).mkdir(parents=True)
    packages = {
        name: {"name": name, "file_name": f"{name}-1-py3-none-any.whl", "sha256": "0" * 64, "depends": []}
        for name in ("numpy", "comm")
    }
    lock = {"info": {"python": "3.14.2"}, "packages": packages}
    (folder / "pyodide" / "package.json").write_text(f'{{"version": "{lite.PYODIDE_VERSION}"}}', encoding="utf-8")
    (folder / "pyodide" / "pyodide-lock.json").write_text(json.dumps(lock), encoding="utf-8")
    (folder / "pyodide" / vendor.STAMP).touch()
    with zipfile.ZipFile(folder / "micropip" / "micropip-1-py3-none-any.whl", "w") as archive:
        archive.writestr("micropip-1.dist-info/METADATA", "Name: micropip\nVersion: 1\n")
    monkeypatch.setattr(lite, "VENDOR", folder)
    monkeypatch.setattr(lite, "PACKED", ("comm",))
    return folder


def test_what_the_site_has_comes_from_it_and_the_rest_from_pyodides_address(vendored: Path, tmp_path: Path) -> None:
    lite.write_python(tmp_path / "site")
    lock = json.loads((tmp_path / "site" / "pyodide-lock.json").read_text(encoding="utf-8"))["packages"]
    assert lock["numpy"]["file_name"] == f"{lite.PYODIDE_CDN_URL}/numpy-1-py3-none-any.whl"
    assert lock["numpy"]["sha256"] == "0" * 64
    assert lock["comm"]["file_name"] == f"comm-{distribution('comm').version}-py3-none-any.whl"
    assert {"piplite", "pyodide-kernel", "ipykernel", "widgetsnbextension"} <= set(lock)
    assert lock["micropip"]["file_name"] == "micropip-1-py3-none-any.whl"
    assert [path.name[:20] for path in (tmp_path / "site").glob("widgetsnbextension-*")] == ["widgetsnbextension-4"]
    assert not (tmp_path / "site" / vendor.STAMP).exists()


def test_another_pyodide_than_the_kernels_is_refused(vendored: Path, tmp_path: Path) -> None:
    (vendored / "pyodide" / "package.json").write_text('{"version": "1.0"}', encoding="utf-8")
    with pytest.raises(lite.LiteError, match=rf"has pyodide 1\.0, the kernel wants {lite.PYODIDE_VERSION}"):
        lite.write_python(tmp_path / "site")


def test_the_site_names_its_own_python_and_loads_the_kernel_from_it() -> None:
    kernel = lite.settings()["jupyter-config-data"]["litePluginSettings"][lite.PYODIDE_KERNEL_PLUGIN_ID]
    assert kernel["pyodideUrl"].startswith("./")
    assert {"micropip", "piplite", "ipython", "pyodide-kernel"} <= set(kernel["loadPyodideOptions"]["packages"])


def test_each_build_begins_in_a_new_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the database of an earlier build JupyterLite leaves steps out, see book/lite.py."""
    sites: list[Path] = []

    def run(site: Path, target: Path) -> None:
        assert {path.name for path in site.iterdir()} == {"jupyter-lite.json"}
        sites.append(site)
        (target / "lab").mkdir(parents=True, exist_ok=True)
        (target / "lab" / "index.html").write_text("<title>JupyterLite</title>", encoding="utf-8")

    monkeypatch.setattr(lite.vendor, "provide", lambda packages, folder: [])
    monkeypatch.setattr(lite, "write_files", lambda folder: None)
    monkeypatch.setattr(lite, "write_python", lambda folder: None)
    monkeypatch.setattr(lite, "run_jupyter_lite", run)
    lite.build(tmp_path)
    lite.build(tmp_path)
    assert len(set(sites)) == 2
    assert not any(site.exists() for site in sites)
    assert "<title>Yardsticks</title>" in (tmp_path / "lite" / "lab" / "index.html").read_text(encoding="utf-8")


def test_a_page_without_its_title_is_refused(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("<title>Another</title>", encoding="utf-8")
    with pytest.raises(lite.LiteError, match="has no <title>JupyterLite</title>"):
        lite.name_page(tmp_path / "index.html")


def test_a_failure_of_jupyterlite_is_told_by_its_last_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\nseq 1 30\necho 'no such file' >&2\nexit 3\n", encoding="utf-8")
    python.chmod(0o755)
    monkeypatch.setattr(lite.sys, "executable", str(python))
    with pytest.raises(lite.LiteError, match=r"^JupyterLite failed\n17\n(\d+\n)+30\nno such file$"):
        lite.run_jupyter_lite(tmp_path, tmp_path / "out")


# The built site


@pytest.fixture(scope="session")
def site(html: Path) -> Path:
    """The JupyterLite site of the built book."""
    return html / "lite"


def test_the_site_has_every_chapter_the_library_and_the_data(site: Path) -> None:
    assert {path.stem for path in (site / "files" / "notebooks").iterdir()} == set(CHAPTERS)
    listed = json.loads((site / "api" / "contents" / "notebooks" / "all.json").read_text(encoding="utf-8"))
    assert {Path(entry["name"]).stem for entry in listed["content"]} == set(CHAPTERS)
    for folder, kind in (("helpers", "*.py"), ("data", "*.csv"), ("data", "*.npz")):
        there = {path.relative_to(site / "files").as_posix() for path in (site / "files" / folder).rglob(kind)}
        assert there == {path.relative_to(ROOT).as_posix() for path in (ROOT / folder).rglob(kind)}


def test_the_kernel_starts_from_the_site(site: Path) -> None:
    """The setting was seen to vanish, after which the kernel started from outside."""
    configured = json.loads((site / "jupyter-lite.json").read_text(encoding="utf-8"))
    kernel = configured["jupyter-config-data"]["litePluginSettings"][lite.PYODIDE_KERNEL_PLUGIN_ID]
    assert kernel["pyodideUrl"] == "./static/pyodide/pyodide.mjs"
    lock = json.loads((site / "static" / "pyodide" / "pyodide-lock.json").read_text(encoding="utf-8"))["packages"]
    waiting, loaded = list(kernel["loadPyodideOptions"]["packages"]), set()
    while waiting:
        name = waiting.pop()
        if name not in loaded:
            loaded.add(name)
            waiting += lock[name]["depends"]
            wheel = site / "static" / "pyodide" / lock[name]["file_name"]
            assert hashlib.sha256(wheel.read_bytes()).hexdigest() == lock[name]["sha256"], name
    assert {"ipython", "micropip", "pyodide-kernel"} <= loaded
    for name in browser.SHIPPED:
        assert (site / "static" / "pyodide" / lock[name]["file_name"]).is_file()
    for name in browser.FETCHED:
        assert lock[name]["file_name"].startswith(lite.PYODIDE_CDN_URL)


def test_the_site_is_small(site: Path) -> None:
    """Seen: 43 MB, of which the application takes 18, Pyodide 13 and jedi 5; with everything it would be 92."""
    files = [path for path in site.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 50e6
    assert not [path for path in files if path.suffix == ".map"]


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapters_page_leads_to_its_copy(html: Path, name: str) -> None:
    page = (html / "notebooks" / f"{name}.html").read_text(encoding="utf-8")
    assert f'href="../lite/lab/index.html?path=notebooks/{name}.ipynb"' in page
    assert (html / "lite" / "files" / "notebooks" / f"{name}.ipynb").is_file()
