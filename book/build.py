"""Build the book: `python book/build.py --executed DIR --html DIR`.

The first DIR holds the executed copies of the notebooks and their results, the second is replaced by the
finished book. Warnings are errors. Everything is built afresh each time: it takes seconds, and Sphinx would
not notice a changed static file or a new file among those that are joined.
"""

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lite
import nbformat
import vega
import vendor
import yaml

from helpers.batch import render

ROOT = Path(__file__).resolve().parents[1]
REDIRECT = """<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<title>Yardsticks</title>
<link rel="icon" href="_static/favicon.svg">
<meta http-equiv="refresh" content="0; url={url}">
<p><a href="{url}">Yardsticks</a></p>
</html>
"""


class BuildError(RuntimeError):
    """The book could not be built; the message says why."""


def toc_pages(toc: Any) -> Iterator[str]:
    """Every page that a parsed `_toc.yml` names, the root first, as paths without suffix."""
    if isinstance(toc, list):
        for entry in toc:
            yield from toc_pages(entry)
    elif isinstance(toc, dict):
        yield from (toc[key] for key in ("root", "file") if key in toc)
        for key in ("parts", "chapters", "sections"):
            yield from toc_pages(toc.get(key, []))


def build(executed: Path, html: Path) -> None:
    """Replace `html` by the book made of the executed copies. Raises BuildError, LiteError or VendorError."""
    shutil.rmtree(html, ignore_errors=True)  # a failed build must not leave an older book behind
    vendor.provide(vendor.read_packages(ROOT / "book" / "vendor.json"), ROOT / "_build" / "vendor")
    vega.provide(ROOT / "_build" / "vendor")
    work = html.with_name(html.name + ".work")  # beside it: two books are never built in one place
    try:
        run_jupyter_book(executed, work)
        complete(work / "_build" / "html", executed)
        lite.build(work / "_build" / "html")
        (work / "_build" / "html").rename(html)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def run_jupyter_book(executed: Path, work: Path) -> None:
    """Run Jupyter Book on the repository, with its output under `work`. Raises BuildError."""
    command = [str(Path(sys.executable).with_name("jupyter-book")), "build", ".", "--all", "-q"]
    options = ["-W", "-n", "--keep-going", "--path-output", str(work)]
    done = subprocess.run(
        [*command, *options],
        cwd=ROOT,
        env=os.environ | {"YARDSTICKS_EXECUTED": str(executed)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        raise BuildError(f"Jupyter Book failed\n{what_went_wrong(done.stdout)}")


def what_went_wrong(output: str) -> str:
    """Jupyter Book's output, less the traceback of an error that an extension has put into words."""
    if "Extension error:" in output:
        output = output.partition("Traceback (most recent call last)")[0]
    return output.strip()


def complete(html: Path, executed: Path) -> None:
    """Add what Sphinx does not make, and see that every page of `_toc.yml` is there. Raises BuildError."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    pages = list(toc_pages(toc))
    missing = [page for page in pages if not (html / f"{page}.html").is_file()]
    if missing:
        raise BuildError(f"_toc.yml names pages that were not built: {', '.join(missing)}")
    write_chapter_files([Path(page).name for page in pages if page.startswith("notebooks/")], html, executed)
    (html / "index.html").write_text(REDIRECT.format(url=f"{pages[0]}.html"), encoding="utf-8")


def write_chapter_files(chapters: list[str], html: Path, executed: Path) -> None:
    """Write the student version of every chapter, and the results of those that concluded some."""
    for folder in ("student", "results"):
        (html / folder).mkdir()
    for chapter in chapters:
        notebook = nbformat.read(ROOT / "notebooks" / f"{chapter}.ipynb", as_version=4)
        nbformat.write(render.student(notebook), html / "student" / f"{chapter}.ipynb")
        results = executed / f"{chapter}.result.json"
        if results.is_file():
            shutil.copy(results, html / "results")


def main() -> int:
    """Parse the command line and build; the exit status is 1 if the book is not there afterwards."""
    parser = argparse.ArgumentParser(description="Build the book from executed notebooks.")
    parser.add_argument("--executed", type=Path, default=Path("_build/executed"), metavar="DIR")
    parser.add_argument("--html", type=Path, default=Path("_build/html"), metavar="DIR")
    arguments = parser.parse_args()
    try:
        build(arguments.executed.resolve(), arguments.html.resolve())
    except (BuildError, lite.LiteError, vendor.VendorError) as error:
        print(f"The book was not built: {error}", file=sys.stderr)
        return 1
    print(f"The book is in {arguments.html / 'index.html'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
