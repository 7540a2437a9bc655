"""Build the JupyterLite site: `python book/lite.py HTML` writes HTML/lite.

It holds a copy of every chapter, `helpers` and `data`, and a Python that runs in the reader's browser. What the kernel
starts with is part of the site: Pyodide from `book/vendor.json`, and wheels that are packed from the packages
installed here, which are those of requirements.lock. NumPy, SciPy and the like exist for the browser only in Pyodide's
own distribution, so they are fetched from its public address when a chapter runs, each checked against the hash in
Pyodide's list of packages.
"""

import argparse
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from email.parser import HeaderParser
from importlib.metadata import Distribution, distribution
from pathlib import Path
from typing import Any

import nbformat
import torchless
import vendor
from jupyterlite_pyodide_kernel.constants import PYODIDE_CDN_URL, PYODIDE_KERNEL_PLUGIN_ID, PYODIDE_VERSION
from nbformat import NotebookNode
from packaging.requirements import Requirement

from helpers.batch import parameters

ROOT = Path(__file__).resolve().parents[1]
VENDOR = ROOT / "_build" / "lite"
#: What the kernel loads before it is ready; the first of them come with the kernel's own package.
KERNEL = ("piplite", "pyodide-kernel", "ipykernel", "micropip", "comm", "ipython", "jedi")
#: What is packed from here, besides what these need.
PACKED = ("ipython", "comm", "jedi", "packaging", "ipywidgets", "array-api-compat")
BROWSER = {
    "sys_platform": "emscripten",
    "platform_system": "Emscripten",
    "platform_machine": "wasm32",
    "os_name": "posix",
    "implementation_name": "cpython",
    "platform_python_implementation": "CPython",
    "extra": "",
}
INTRODUCTION = """\
**This copy runs in your browser.** The next cell fetches NumPy, SciPy and what else a chapter imports from a public
address, so running needs the network; reading does not. Their versions, and so the last digits of a result, can
differ from those of the book. What you change stays in this browser.
"""
SHIPPED = """
PyTorch, which measures, does not exist in a browser. So `record` is `"shipped"` here: the chapter starts from the
record that the book ships.
"""
TORCH = """
PyTorch does not exist in a browser. So the cells that need it, or what such a cell makes, are text here and do not run:
{what}.
"""
START = """\
import sys

sys.path.insert(0, "/drive")  # where helpers and data lie
import browser

await browser.ready()"""


class LiteError(RuntimeError):
    """The site could not be built; the message says why."""


def build(html: Path) -> None:
    """Replace `html`/lite. Raises LiteError, or VendorError where Pyodide cannot be had."""
    vendor.provide(vendor.read_packages(ROOT / "book" / "vendor.json", "lite"), VENDOR)
    # In a new folder: with the database of an earlier build JupyterLite takes steps for done whose outcome is gone,
    # and the kernel would start from outside.
    with tempfile.TemporaryDirectory() as temporary:
        site = Path(temporary)
        write_files(site / "files")
        write_python(site / "static" / "pyodide")
        (site / "jupyter-lite.json").write_text(json.dumps(settings()), encoding="utf-8")
        run_jupyter_lite(site, html / "lite")
    name_page(html / "lite" / "lab" / "index.html")


def write_files(folder: Path) -> None:
    """What the reader and the kernel find: the chapters' copies, `helpers`, `data`."""
    (folder / "notebooks").mkdir(parents=True)
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        nbformat.write(browser_copy(notebook, path.stem, ROOT / "data" / "records"), folder / "notebooks" / path.name)
    shutil.copytree(ROOT / "helpers", folder / "helpers", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "data", folder / "data")
    shutil.copy(ROOT / "book" / "browser.py", folder)
    shutil.copy(ROOT / "LICENSE", folder)


def browser_copy(notebook: NotebookNode, chapter: str, records: Path) -> NotebookNode:
    """The chapter for a browser: what to expect and a cell that starts come first, `record` is the shipped one.

    Raises LiteError where the folder of records and the chapter's parameter do not agree.
    """
    cell = notebook.cells[parameters.find(notebook.cells, where=chapter)]
    shipped = is_shipped(cell.source, chapter, records)
    if shipped:
        cell.source = parameters.rewrite(cell.source, {"record": "shipped"})
    try:
        out = torchless.left_out(notebook.cells)
    except SyntaxError as error:
        raise LiteError(f"{chapter}: a cell is no Python ({error})") from error
    missing = TORCH.format(what=named(notebook.cells, out)) if out else ""
    text = (INTRODUCTION + SHIPPED * shipped + missing).rstrip()
    first = nbformat.v4.new_markdown_cell(text, id="in-the-browser")
    start = nbformat.v4.new_code_cell(START, id="start-in-the-browser")
    cells = [as_text(cell) if position in out else cell for position, cell in enumerate(notebook.cells)]
    notebook.cells = [first, start, *cells]
    notebook.metadata["kernelspec"] = {"name": "python", "display_name": "Python (Pyodide)", "language": "python"}
    return notebook


def is_shipped(source: str, chapter: str, records: Path) -> bool:
    """Whether the parameters' cell has a `record` that can be "shipped". Raises LiteError if only one side says so."""
    helps = {one.name: one.help for one in parameters.declared(source, where=chapter)}
    offered = '"shipped"' in helps.get("record", "")
    there = any(records.glob(f"{chapter}-*.npz"))
    if offered != there:
        raise LiteError(
            f"{chapter}: "
            + ('its parameter `record` may be "shipped", but ' if offered else "")
            + f"there {'are records' if there else 'is no record'} {chapter}-*.npz in {records}"
            + ("" if offered else ', and no parameter `record` whose comment says that it may be "shipped"')
        )
    return offered


def named(cells: list[NotebookNode], positions: set[int]) -> str:
    """Where some cells stand: the headings above them, in order, and the cell that concludes by its name."""
    where, heading = {}, "the beginning"
    for position, cell in enumerate(cells):
        if cell.cell_type == "markdown":
            heading = next(iter(re.findall(r"^#+ (.+)$", cell.source, flags=re.M)[::-1]), heading)
        elif position in positions:
            concludes = "results.conclude(" in cell.source
            where["the conclusion" if concludes else heading if heading == "the beginning" else f"*{heading}*"] = None
    return "; ".join(where)


def as_text(cell: NotebookNode) -> NotebookNode:
    """A code cell as text: one that fails would end "run all", whatever its tags."""
    text = f"*Needs PyTorch:*\n\n```python\n{cell.source}\n```"
    return nbformat.v4.new_markdown_cell(text, id=cell.id, metadata=cell.metadata)


def settings() -> dict[str, Any]:
    """The site's jupyter-lite.json. The address of Pyodide is given here too, in case a build step does not."""
    kernel = {"pyodideUrl": "./static/pyodide/pyodide.mjs", "loadPyodideOptions": {"packages": list(KERNEL)}}
    return {
        "jupyter-lite-schema-version": 0,
        "jupyter-config-data": {
            "appName": "Yardsticks",
            "litePluginSettings": {PYODIDE_KERNEL_PLUGIN_ID: kernel},
        },
    }


def write_python(folder: Path) -> None:
    """Pyodide, the wheels that come with the site, and one list of these and of what is to be fetched."""
    shutil.copytree(VENDOR / "pyodide", folder, ignore=shutil.ignore_patterns(vendor.STAMP))
    version = json.loads((folder / "package.json").read_text(encoding="utf-8"))["version"]
    if version != PYODIDE_VERSION:
        raise LiteError(f"vendor.json has pyodide {version}, the kernel wants {PYODIDE_VERSION}: mend vendor.json")
    lock = json.loads((folder / "pyodide-lock.json").read_text(encoding="utf-8"))
    environment = BROWSER | {
        "python_version": ".".join(lock["info"]["python"].split(".")[:2]),
        "python_full_version": lock["info"]["python"],
    }
    wheels = [*copy_wheels(folder), *(pack(found, folder) for found in needed(PACKED, environment))]
    for entry in lock["packages"].values():
        entry["file_name"] = f"{PYODIDE_CDN_URL}/{entry['file_name']}"
    lock["packages"] |= {entry["name"]: entry for entry in (describe(wheel, environment) for wheel in wheels)}
    (folder / "pyodide-lock.json").write_text(json.dumps(lock), encoding="utf-8")


def copy_wheels(folder: Path) -> list[Path]:
    """Micropip, and what the kernel's own package brings: stand-ins among it, which go before the real packages."""
    files = distribution("jupyterlite-pyodide-kernel").files or []
    brought = [path for path in files if path.match("static/pypi/*.whl")]
    old = "widgetsnbextension-3"  # for ipywidgets 7
    paths = [Path(str(path.locate())) for path in brought if not path.name.startswith(old)]
    return [Path(shutil.copy(path, folder)) for path in [*paths, *(VENDOR / "micropip").glob("*.whl")]]


def needed(names: tuple[str, ...], environment: dict[str, str]) -> list[Distribution]:
    """Installed packages and what they need in the browser, less those that the kernel has stand-ins for."""
    found: dict[str, Distribution] = {}
    waiting = list(names)
    while waiting:
        name = normal(waiting.pop())
        if name not in found and name != "widgetsnbextension":
            found[name] = distribution(name)
            waiting += required(found[name].requires or [], environment)
    return list(found.values())


def required(requirements: list[str], environment: dict[str, str]) -> list[str]:
    """The names of those requirements that hold in the browser."""
    parsed = [Requirement(text) for text in requirements]
    return sorted({normal(one.name) for one in parsed if one.marker is None or one.marker.evaluate(environment)})


def normal(name: str) -> str:
    """A package's name as lists of packages spell it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def pack(found: Distribution, folder: Path) -> Path:
    """A wheel of an installed package, without what cannot run elsewhere. It is the same in each build."""
    wheel = folder / f"{normal(found.metadata['Name']).replace('-', '_')}-{found.version}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(found.files or []):
            if ".." not in path.parts and path.suffix not in (".pyc", ".so", ".pyd"):
                archive.writestr(zipfile.ZipInfo(path.as_posix()), path.read_binary(), zipfile.ZIP_DEFLATED)
    return wheel


def describe(wheel: Path, environment: dict[str, str]) -> dict[str, Any]:
    """The entry of a wheel in Pyodide's list of packages."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        [metadata] = [name for name in names if name.endswith(".dist-info/METADATA")]
        header = HeaderParser().parsestr(archive.read(metadata).decode())
    modules = {name.split("/")[0].removesuffix(".py") for name in names if name.endswith(".py")}
    return {
        "name": normal(header["Name"]),
        "version": header["Version"],
        "file_name": wheel.name,
        "install_dir": "site",
        "sha256": hashlib.sha256(wheel.read_bytes()).hexdigest(),
        "package_type": "package",
        "imports": sorted(modules),
        "depends": required(header.get_all("Requires-Dist") or [], environment),
        "unvendored_tests": False,
    }


def run_jupyter_lite(site: Path, target: Path) -> None:
    """Run JupyterLite on what was laid out in `site`. Raises LiteError."""
    command = [sys.executable, "-m", "jupyter", "lite", "build", "--contents", "files", "--output-dir", str(target)]
    small = ["--apps", "lab", "--no-sourcemaps", "--no-unused-shared-packages"]
    done = subprocess.run(
        [*command, *small],
        cwd=site,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        last = done.stdout.strip().splitlines()[-15:]  # before that, the steps that went well
        raise LiteError("\n".join(["JupyterLite failed", *last]))


def name_page(page: Path) -> None:
    """Give JupyterLite's page its name, and its icon before the browser looks for one at the root of the host."""
    text = page.read_text(encoding="utf-8")
    title = "<title>JupyterLite</title>"
    if text.count(title) != 1:
        raise LiteError(f"{page.name} of JupyterLite has no {title}: mend book/lite.py")
    icon = '<link rel="icon" href="favicon.ico">'
    page.write_text(text.replace(title, f"<title>Yardsticks</title>\n    {icon}"), encoding="utf-8")


def main() -> int:
    """Build the site beside a finished book; the exit status is 1, with the reason, where that fails."""
    parser = argparse.ArgumentParser(description="Build the JupyterLite site of a book.")
    parser.add_argument("html", type=Path, nargs="?", default=ROOT / "_build" / "html", help="the book's folder")
    html = parser.parse_args().html.resolve()
    try:
        build(html)
    except (LiteError, vendor.VendorError) as error:
        print(f"The JupyterLite site was not built: {error}", file=sys.stderr)
        return 1
    print(f"The JupyterLite site is in {html / 'lite'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
