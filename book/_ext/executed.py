"""Sphinx extension: a chapter's page is its executed copy, never the stripped source.

The executed copies and results lie in the folder named by the environment variable YARDSTICKS_EXECUTED,
relative to the repository root; without it, in `_build/executed`.
A missing copy, or one in which a cell failed, stops the build.
"""

import json
import os
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

DEFAULT_FOLDER = "_build/executed"


def executed_folder(root: Path | str) -> Path:
    """The folder of executed copies and results, for a book whose sources lie in `root`."""
    return Path(root, os.environ.get("YARDSTICKS_EXECUTED") or DEFAULT_FOLDER)


def read_copy(path: Path, page: str) -> dict[str, Any]:
    """The executed notebook at `path`, ready to be shown as `page`.

    Raises ExtensionError where there is no copy or where one of its cells failed.
    """
    if not path.is_file():
        raise ExtensionError(f"{page}: no executed copy {path.name} in {path.parent}; run `make book`")
    notebook: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    for number, cell in enumerate(notebook["cells"], start=1):
        refuse_error(cell, number, page)
        fold_solution(cell)
    return notebook


def refuse_error(cell: dict[str, Any], number: int, page: str) -> None:
    """Raise ExtensionError if the cell's outputs hold an error; the message names page, cell and error."""
    for output in cell.get("outputs", []):
        if output["output_type"] == "error":
            lines = "".join(cell["source"]).strip().splitlines() or [""]
            raise ExtensionError(
                f"{page}: cell {number} ({lines[0]!r}) failed with {output['ename']}: {output['evalue']}; "
                "mend the notebook and run `make book`"
            )


def fold_solution(cell: dict[str, Any]) -> None:
    """Make a cell tagged `solution` open on a click."""
    metadata = cell["metadata"]
    tags = metadata.get("tags", [])
    if "solution" not in tags:
        return
    if cell["cell_type"] == "code":
        metadata["tags"] = [*tags, "hide-cell"]
        metadata["mystnb"] = {"code_prompt_show": "Show a solution", "code_prompt_hide": "Hide the solution"}
    else:
        cell["source"] = "\n".join(["``````{dropdown} Show a solution", "".join(cell["source"]), "``````"])


def substitute(app: Sphinx, docname: str, source: list[str]) -> None:
    """Hand Sphinx the executed copy in the moment it reads the stripped notebook."""
    page = Path(app.env.doc2path(docname))
    if page.suffix != ".ipynb":
        return
    copy = executed_folder(app.srcdir) / page.name
    source[0] = json.dumps(read_copy(copy, docname))
    app.env.note_dependency(str(copy))


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", substitute)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
