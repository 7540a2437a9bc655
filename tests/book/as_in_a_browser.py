"""Run the browser's copy of a chapter with the packages that a browser has, and no others.

    python tests/book/as_in_a_browser.py CHAPTER      the parameters are those of the grid `smoke`

Prints a line for each cell that fails, what each of the others showed last, and the number of cells that ran. The
Python is this one: what it cannot show is what WebAssembly or another version does differently.
"""

import contextlib
import io
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import Any

import nbformat
import yaml
from IPython.core.interactiveshell import InteractiveShell

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "book")]

import browser  # noqa: E402
import lite  # noqa: E402

from helpers.batch import parameters  # noqa: E402

PYTHON = {"python_version": "3.14", "python_full_version": "3.14.2"}


def modules() -> set[str]:
    """Top-level modules of what the kernel and `browser.ready` load, of the standard library, and of the site."""
    packages = lite.needed((*browser.SHIPPED, *browser.FETCHED, "ipython", "comm", "jedi"), lite.BROWSER | PYTHON)
    files = [path for package in packages for path in package.files or [] if ".." not in path.parts]
    return {path.parts[0].removesuffix(".py") for path in files} | set(sys.stdlib_module_names) | {"helpers"}


class Browser(PathFinder):
    """Finds what a browser has."""

    has = frozenset(modules())

    @classmethod
    def find_spec(cls, fullname: str, path: Sequence[str] | None = None, target: Any = None) -> ModuleSpec | None:
        top = fullname.partition(".")[0]
        return super().find_spec(fullname, path, target) if top in cls.has or top.startswith("_") else None


def run(chapter: str) -> int:
    """Run every cell; returns how many of them failed that should not."""
    notebook = nbformat.read(ROOT / "notebooks" / f"{chapter}.ipynb", as_version=4)
    grid = yaml.safe_load((ROOT / "notebooks" / "grids" / "smoke.yml").read_text(encoding="utf-8"))
    copy = lite.browser_copy(notebook, chapter, ROOT / "data" / "records")
    cell = copy.cells[parameters.find(copy.cells, where=chapter)]
    cell.source = parameters.rewrite(cell.source, grid["chapters"][chapter].get("parameters", {}))
    shell = InteractiveShell.instance()
    for name in [name for name in sys.modules if name.partition(".")[0] in ("helpers", "lite", "torch")]:
        del sys.modules[name]
    finders = [one for one in sys.meta_path if "editable" not in repr(one).lower()]  # this project as it is installed
    sys.meta_path[:] = [Browser if one is PathFinder else one for one in finders]
    failed = ran = 0
    for cell in copy.cells:
        if cell.cell_type == "code" and cell.source != lite.START:
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                outcome = shell.run_cell(cell.source)
            ran += outcome.success
            if outcome.result is not None:
                print(f"{cell.id} shows {type(outcome.result).__name__}")
            if not outcome.success:
                failed += 1
                print(f"{cell.id}: {printed.getvalue()[-600:]}")
    print(f"{ran} cells ran")
    return failed


if __name__ == "__main__":
    sys.exit(run(sys.argv[1]) > 0)
