"""Render: from an executed notebook to the copy that is published, and from a chapter to its student version.

Both functions are pure: a notebook of nbformat 4.5 goes in, another comes out.
"""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Mapping
from typing import Any

from .. import lazy
from . import parameters
from .parameters import Parameter, Value

SOLUTION_MARK = "# --- solution"
YOUR_TURN = "...  # your turn"


def fold(notebook: Any, values: Mapping[str, Value]) -> Any:
    """The executed `notebook` with its run's parameter values in one place.

    The `parameters` cell gets the run's values, line by line, comments kept; the cell that papermill injected
    goes; a Markdown table of parameter, value, default, and unit and range stands before the cell; what
    papermill and nbclient noted (times, paths) is dropped. Cell ids stay.

    Raises
    ------
    InputError
        `notebook` has not exactly one `parameters` cell, or `values` do not fit it.
    """
    folded = copy.deepcopy(notebook)
    folded.cells = [cell for cell in folded.cells if "injected-parameters" not in parameters.tags(cell)]
    index = parameters.find(folded.cells, where="the notebook")
    cell = folded.cells[index]
    declared = parameters.declared(cell.source)
    cell.source = parameters.rewrite(cell.source, values)
    if declared:
        folded.cells.insert(index, _table_cell(declared, values, cell.id))
    _strip_run(folded)
    return _validated(folded)


def student(notebook: Any) -> Any:
    """The chapter as an exercise sheet: no outputs, and solutions taken out.

    A code cell tagged `solution` keeps what stands above its line ``# --- solution``, and gets a line to fill
    in where nothing complete stands there; a text cell tagged so goes.
    """
    sheet = copy.deepcopy(notebook)
    sheet.metadata.pop("widgets", None)  # the state of widgets is output too
    sheet.cells = [cell for cell in sheet.cells if cell.cell_type == "code" or not _is_solution(cell)]
    for cell in sheet.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
            if _is_solution(cell):
                cell.source = _stub(cell.source)
    _strip_run(sheet)
    return _validated(sheet)


def _table_cell(declared: list[Parameter], values: Mapping[str, Value], below: str) -> Any:
    rows = []
    for p in declared:
        value = values.get(p.name, p.default)
        rows.append(f"| `{p.name}` | {_code(value, p)} | {_code(p.default, p)} | {_text(p.help)} |")
    table = "\n".join(["| parameter | value | default | unit and range |", "|---|---|---|---|", *rows])
    nbformat = lazy.require("nbformat", extra="batch")
    return nbformat.v4.new_markdown_cell(table, id=f"{below[:57]}-values")  # an id has 64 characters at most


def _code(value: Value, parameter: Parameter) -> str:
    """A value as inline code in a table cell, as Python writes it."""
    text = parameters.literal(parameters.canonical(value, parameter.type)).replace("|", "\\|")
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * (longest + 1)
    return f"{fence}{text}{fence}"


def _text(plain: str) -> str:
    """Plain text as Markdown that reads the same."""
    return re.sub(r"([\\`*_{}\[\]<>|$~#])", r"\\\1", plain)


def _strip_run(notebook: Any) -> None:
    notebook.metadata.pop("papermill", None)
    for cell in notebook.cells:
        for key in ("papermill", "execution"):
            cell.metadata.pop(key, None)
        if not cell.metadata.get("tags", True):  # papermill gives every cell a list of tags
            del cell.metadata["tags"]


def _is_solution(cell: Any) -> bool:
    return "solution" in parameters.tags(cell)


def _stub(solution: str) -> str:
    """What a student sees of a solution."""
    lines = solution.split("\n")
    mark = next((i for i, line in enumerate(lines) if line.strip() == SOLUTION_MARK), None)
    if mark is None:
        return YOUR_TURN
    above = "\n".join(lines[:mark]).rstrip()
    if _is_complete(above):
        return above
    indent = lines[mark][: lines[mark].index("#")]
    return f"{above}\n{indent}{YOUR_TURN}".lstrip("\n")


def _is_complete(code: str) -> bool:
    try:
        return bool(ast.parse(code).body)
    except SyntaxError:
        return False


def _validated(notebook: Any) -> Any:
    lazy.require("nbformat", extra="batch").validate(notebook)
    return notebook
