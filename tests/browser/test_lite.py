"""The JupyterLite site in Chromium: it starts, lists and opens the chapters from the book alone, and says so where more
is needed."""

import hashlib
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import browser as browsers_python
import pytest

from .conftest import Quiet, static, watched

ROOT = Path(__file__).resolve().parents[2]
CHAPTERS = sorted(path.name for path in (ROOT / "notebooks").glob("*.ipynb"))
LOCK = "/lite/static/pyodide/pyodide-lock.json"
PATIENCE = 240_000  # ms; a kernel takes ten seconds to start, on a busy machine a minute

pytestmark = pytest.mark.browser


def open_chapter(tab: Any, address: str, chapter: str) -> None:
    """Open the browser's copy of a chapter, as its page's link does, and wait for text and kernel."""
    tab.set_default_timeout(PATIENCE)
    tab.goto(f"{address}/lite/lab/index.html?path=notebooks/{chapter}.ipynb")
    tab.wait_for_selector(".jp-Notebook .jp-MarkdownOutput")
    tab.wait_for_selector(".jp-Notebook-ExecutionIndicator[data-status='idle']")


def code_cell(tab: Any, number: int) -> Any:
    """A code cell, counted from 0."""
    return tab.locator(".jp-Notebook .jp-CodeCell").nth(number)


def run_cell(tab: Any, number: int, code: str = "") -> str:
    """Run a cell, with other code if some is given, and return what it shows once it is done."""
    cell = code_cell(tab, number)
    cell.locator(".cm-content").click()
    if code:
        tab.keyboard.press("ControlOrMeta+a")
        tab.keyboard.insert_text(code)
    tab.keyboard.press("Control+Enter")
    done = """cell => /^\\[\\d+\\]/.test(cell.querySelector(".jp-InputPrompt").textContent)"""
    tab.wait_for_function(done, arg=cell.element_handle())
    tab.wait_for_selector(".jp-Notebook-ExecutionIndicator[data-status='idle']")
    return "\n".join(text.strip() for text in cell.locator(".jp-OutputArea-output").all_inner_texts())


def test_a_chapters_link_opens_its_copy_and_lists_the_others(tab: Any, address: str, complaints: list[str]) -> None:
    tab.set_default_timeout(PATIENCE)
    tab.goto(f"{address}/notebooks/tempora.html")
    tab.click("text=in the browser (JupyterLite)")
    tab.wait_for_selector(".jp-Notebook .jp-MarkdownOutput")
    tab.wait_for_selector(".jp-Notebook-ExecutionIndicator[data-status='idle']")
    assert tab.title().startswith("tempora")
    tab.wait_for_function(f"document.querySelectorAll('.jp-DirListing-itemText').length === {len(CHAPTERS)}")
    assert sorted(tab.locator(".jp-DirListing-itemText").all_inner_texts()) == CHAPTERS
    assert "This copy runs in your browser" in tab.locator(".jp-MarkdownOutput").first.inner_text()
    assert 'record: str = "shipped"' in code_cell(tab, 1).inner_text()
    assert run_cell(tab, 1, "6 * 7") == "42"
    assert complaints == []


def test_without_network_a_cell_says_what_is_missing(tab: Any, address: str, complaints: list[str]) -> None:
    open_chapter(tab, address, "synthesis")
    assert complaints == []
    shown = run_cell(tab, 0)
    assert "numpy, scipy, matplotlib" in shown
    assert "could not be fetched. To run a chapter here, the browser must reach the public address" in shown
    # these would have been noted above, too
    assert [one for one in complaints if one.startswith("outside request") and "/numpy-" in one]
    assert "No module named 'numpy'" in run_cell(tab, 1, "import numpy")
    assert "yardsticks[torch]" in run_cell(tab, 1, "from helpers import lazy\nlazy.require('torch', extra='torch')")
    assert run_cell(tab, 1, "import sys\nprint(len(sys.path) > 1)") == "True"


class Distribution(Quiet):
    """What Pyodide's public address is in the world outside."""

    def end_headers(self) -> None:
        self.send_header("Access-Control-Allow-Origin", "*")
        super().end_headers()


@pytest.fixture(scope="module")
def distribution(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, dict[str, Path]]]:
    """Another host that has empty packages of the right names, and these files by name."""
    folder = tmp_path_factory.mktemp("distribution")
    wheels = {name: empty_wheel(name, folder) for name in browsers_python.FETCHED}
    with static(folder, Distribution) as host:
        yield host, wheels


def empty_wheel(name: str, folder: Path) -> Path:
    """A wheel of version 7.7 with a module that says so."""
    module = name.replace("-", "_")
    wheel = folder / f"{module}-7.7-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(f"{module}/__init__.py", "__version__ = '7.7'")
        archive.writestr(f"{module}-7.7.dist-info/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 7.7\n")
        archive.writestr(
            f"{module}-7.7.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
    return wheel


@pytest.fixture
def moved(html: Path, distribution: tuple[str, dict[str, Path]]) -> Iterator[str]:
    """The book, served with a list of packages that names the other host in place of Pyodide's."""
    host, wheels = distribution
    lock = json.loads((html / LOCK[1:]).read_text(encoding="utf-8"))
    for name, wheel in wheels.items():
        digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
        lock["packages"][name] |= {"file_name": f"{host}/{wheel.name}", "sha256": digest, "depends": []}
    text = json.dumps(lock).encode()

    class Book(Quiet):
        def do_GET(self) -> None:
            if urlsplit(self.path).path != LOCK:
                return super().do_GET()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

    with static(html, Book) as served:
        yield served


def test_with_network_the_packages_come_from_the_other_host(
    visitor: Any, moved: str, distribution: tuple[str, dict[str, Path]]
) -> None:
    complaints: list[str] = []
    tab = watched(visitor, moved, complaints)
    open_chapter(tab, moved, "synthesis")
    assert complaints == []
    assert "Ready: numpy 7.7, scipy 7.7" in run_cell(tab, 0)
    wanted = {f"outside request: {distribution[0]}/{wheel.name}" for wheel in distribution[1].values()}
    assert set(complaints) == wanted
    assert run_cell(tab, 1, "import numpy, array_api_compat, ipywidgets\nprint(numpy.__version__)") == "7.7"
