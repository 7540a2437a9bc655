"""Check that the source notebooks are stripped and keep the book's conventions.

    python tools/notebooks.py notebooks/*.ipynb          # one line per problem, exit status 1
    python tools/notebooks.py --fix notebooks/*.ipynb    # strip first, then check

A source notebook holds no outputs, one `parameters` cell whose every line says unit and range, one
first-level heading, known tags only, at most 45 cells, and a solution right after each exercise.
"""

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from helpers.batch import parameters
from helpers.errors import InputError

MOST_CELLS = 45
# `remove-cell` is missing on purpose: a cell that is not on the page cannot be run from the page.
TAGS = {
    "parameters",
    "exercise",
    "solution",
    "hide-input",
    "hide-output",
    "hide-cell",
    "remove-output",
    "scroll-output",
    "full-width",
    "margin",
}
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
DECLARED = "yardsticks"  # what a chapter says to the batch: the data files it reads
UNIT_AND_RANGE = re.compile(r"[^,]+,\s*\S.*")
FENCE = re.compile(r"\s{0,3}(```|~~~)")


def strip(notebook: NotebookNode) -> NotebookNode:
    """Remove, in place, what executing or editing leaves behind: outputs, counts, metadata but tags."""
    declared = {DECLARED: notebook.metadata[DECLARED]} if DECLARED in notebook.metadata else {}
    notebook.metadata = nbformat.from_dict(METADATA | declared)
    for cell in notebook.cells:
        tags = _tags(cell)
        cell.metadata = nbformat.from_dict({"tags": tags} if tags else {})
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    return notebook


def problems(notebook: NotebookNode) -> Iterator[str]:
    """Yield one sentence, with the remedy, for each convention broken; cells are counted from 1."""
    if (notebook.nbformat, notebook.nbformat_minor) < (4, 5):
        yield "is older than format 4.5, which gives cells their ids: save it with a current JupyterLab"
        return
    if {k: v for k, v in notebook.metadata.items() if k != DECLARED} != METADATA:
        yield "has metadata besides the kernel python3 and the data it declares: run this script with --fix"
    count = len(notebook.cells)
    if count > MOST_CELLS:
        yield f"has {count} cells, the most is {MOST_CELLS}: move work into helpers or split the chapter"
    yield from _heading_problems(notebook)
    yield from _parameter_problems(notebook)
    yield from _exercise_problems(notebook)
    ids: set[str] = set()
    for number, cell in enumerate(notebook.cells, 1):
        if cell.id in ids:
            yield f"cell {number}: the id {cell.id!r} is taken: give the copy one of its own"
        ids.add(cell.id)
        yield from (f"cell {number}: {problem}" for problem in _cell_problems(cell))


def _cell_problems(cell: NotebookNode) -> Iterator[str]:
    if cell.get("outputs") or cell.get("execution_count") is not None:
        yield "holds outputs or an execution count: run this script with --fix"
    if surplus := sorted(set(cell.metadata) - {"tags"}):
        yield f"has metadata besides tags ({', '.join(surplus)}): run this script with --fix"
    for tag in _tags(cell):
        if tag not in TAGS:
            yield f"has the unknown tag {tag!r}: use one of {', '.join(sorted(TAGS))}"


def _heading_problems(notebook: NotebookNode) -> Iterator[str]:
    prose = (cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    count = sum(_headings(text) for text in prose)
    if count != 1:
        yield f"has {count} first-level headings: keep exactly one, the chapter's title"


def _headings(markdown: str) -> int:
    """Count the first-level headings of a Markdown text; a `#` inside a code fence is none."""
    count, fenced = 0, False
    for line in markdown.split("\n"):
        fenced ^= bool(FENCE.match(line))
        count += line.startswith("# ") and not fenced
    return count


def _parameter_problems(notebook: NotebookNode) -> Iterator[str]:
    try:
        index = parameters.find(notebook.cells, where="it")
        declared = parameters.declared(notebook.cells[index].source, where=f"cell {index + 1}")
    except InputError as error:
        yield str(error)
        return
    for parameter in declared:
        if not UNIT_AND_RANGE.fullmatch(parameter.help):
            yield f"cell {index + 1}: end {parameter.name!r} in unit and range, such as `# unitless, 0 to 5`"


def _exercise_problems(notebook: NotebookNode) -> Iterator[str]:
    roles = ["", *(_role(cell) for cell in notebook.cells), ""]
    for number, cell in enumerate(notebook.cells, 1):
        before, role, after = roles[number - 1 : number + 2]
        if role == "exercise" and (cell.cell_type != "markdown" or after != "solution"):
            yield f"cell {number}: an exercise is a Markdown cell, and its solution is the next cell"
        if role == "solution" and (cell.cell_type != "code" or not before):
            yield f"cell {number}: a solution is a code cell right after its exercise"


def _role(cell: NotebookNode) -> str:
    return next((tag for tag in ("exercise", "solution") if tag in _tags(cell)), "")


def _tags(cell: NotebookNode) -> list[str]:
    return list(cell.metadata.get("tags", []))


def main(argv: list[str] | None = None) -> int:
    """Check each notebook; print one line per problem and return 1 if there is any."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("notebooks", nargs="+", type=Path)
    parser.add_argument("--fix", action="store_true", help="strip the notebooks first")
    arguments = parser.parse_args(argv)
    found = 0
    for path in arguments.notebooks:
        notebook = nbformat.read(path, as_version=nbformat.NO_CONVERT)
        if arguments.fix:
            nbformat.write(strip(notebook), path)
        for problem in problems(notebook):
            print(f"{path}: {problem}", file=sys.stderr)
            found += 1
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
