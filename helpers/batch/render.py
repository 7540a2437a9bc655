"""Render: from an executed notebook to the copy that is published, and from a chapter to its student version.

All functions are pure: a notebook of nbformat 4.5 goes in, another comes out.
"""

from __future__ import annotations

import ast
import copy
import json
import re
from collections.abc import Mapping
from typing import Any

from .. import lazy
from ..errors import InputError
from . import parameters
from .parameters import Parameter, Value

SOLUTION_MARK = "# --- solution"
YOUR_TURN = "...  # your turn"


#: What differs from run to run in a notebook that is otherwise the same: addresses of objects, names of widgets, times.
_ACCIDENTS = (
    (re.compile(r"\b0x[0-9a-f]{6,16}\b"), "0x"),
    (re.compile(r"\b[0-9a-f]{32}\b"), "model"),
    (re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(\+00:00|Z)?"), "time"),
)


def cleaned(executed: bytes) -> bytes:
    """papermill's file without the cell it injected and what it and nbclient noted (times, paths)."""
    notebook = json.loads(executed)
    cells = notebook["cells"] = [c for c in notebook["cells"] if "injected-parameters" not in parameters.tags(c)]
    notebook["metadata"].pop("papermill", None)
    code = 0
    for cell in cells:
        for key in ("papermill", "execution"):
            cell["metadata"].pop(key, None)
        if not cell["metadata"].get("tags", True):  # papermill gives every cell a list of tags
            del cell["metadata"]["tags"]
        if cell.get("execution_count") is not None:  # cells without code are not executed
            code += 1
            _count(cell, code)
    return (json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n").encode()


def page(source: bytes, executed: bytes, values: Mapping[str, Value]) -> bytes:
    """The notebook `source` as it stands now, with the outputs of a run of the same code, folded; see `fold`.

    Raises
    ------
    InputError
        `executed` has other code cells than `source`.
    """
    with lazy.hidden("rfc3987_syntax"):
        nbformat = lazy.require("nbformat", extra="batch")
    notebook, run = (nbformat.reads(text.decode(), as_version=4) for text in (source, executed))
    code, done = ([cell for cell in one.cells if cell.cell_type == "code"] for one in (notebook, run))
    for number, (cell, its) in enumerate(zip(code, done, strict=False), start=1):
        if "parameters" not in parameters.tags(cell) and cell.source != its.source:
            raise InputError(f"code cell {number} is not the one that was executed: execute the notebook again")
        cell.outputs, cell.execution_count = its.outputs, its.execution_count
    if len(code) != len(done):
        raise InputError(f"{len(code)} code cells, but {len(done)} were executed: execute the notebook again")
    # what the kernel said of its language, and the state of widgets
    notebook.metadata |= {key: run.metadata[key] for key in ("language_info", "widgets") if key in run.metadata}
    return (nbformat.writes(fold(notebook, values)) + "\n").encode()


def normalised(notebook: bytes) -> Any:
    """A notebook as plain data to compare with another run of it: without what differs by accident.

    Addresses of objects, identifiers of widgets and times of day in outputs are replaced by a word, and a stream that
    came in several pieces is put together: where it is cut depends on time.
    """
    content = json.loads(notebook)
    for cell in content["cells"]:
        outputs = json.dumps(cell.get("outputs", []), sort_keys=True)
        for pattern, word in _ACCIDENTS:
            outputs = pattern.sub(word, outputs)
        if cell["cell_type"] == "code":
            cell["outputs"] = _joined(json.loads(outputs))
    content["metadata"].pop("widgets", None)
    return content


def _joined(outputs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Outputs in which neighbouring pieces of one stream are one.

    >>> piece = {"output_type": "stream", "name": "stdout"}
    >>> _joined([piece | {"text": ["a"]}, piece | {"text": ["b\\n", "c"]}]) == [piece | {"text": ["ab\\n", "c"]}]
    True
    """
    joined: list[dict[str, Any]] = []
    for output in outputs:
        if output["output_type"] == "stream" and joined and joined[-1].get("name") == output["name"]:
            text = "".join([*joined[-1]["text"], *output["text"]])
            joined[-1] = joined[-1] | {"text": text.splitlines(keepends=True)}
        else:
            joined.append(output)
    return joined


def fold(notebook: Any, values: Mapping[str, Value]) -> Any:
    """The executed `notebook` with its run's parameter values in one place.

    The `parameters` cell gets the run's values, line by line, comments kept, and a Markdown table of parameter, value,
    default, and unit and range stands before it. Cell ids stay.

    Raises
    ------
    InputError
        `notebook` has not exactly one `parameters` cell, or `values` do not fit it.
    """
    folded = copy.deepcopy(notebook)
    index = parameters.find(folded.cells, where="the notebook")
    cell = folded.cells[index]
    declared = parameters.declared(cell.source)
    cell.source = parameters.rewrite(cell.source, values)
    if declared:
        folded.cells.insert(index, _table_cell(declared, values, cell.id))
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
    return re.sub(r"([\\`*_{}\[\]<>|$~#&])", r"\\\1", plain)


def _count(cell: dict[str, Any], number: int) -> None:
    """Number an executed cell and its result, so that the injected cell leaves no gap."""
    cell["execution_count"] = number
    for output in cell["outputs"]:
        if "execution_count" in output:
            output["execution_count"] = number


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
