"""Folding a run's parameters into its notebook, and taking solutions out."""

import copy
from typing import Any

import nbformat
import pytest

from helpers.batch.render import fold, student
from helpers.errors import InputError

from .conftest import make

CELL = """\
alpha: float = 1.0  # unitless, 0 to 5
steps: int = 10  # steps, > 0 | at most $N_max$
name: str = "digits"  # a name"""


def executed() -> Any:
    """A notebook as papermill leaves it."""
    notebook = make("alpha * 2", parameters=CELL)
    injected = nbformat.v4.new_code_cell("# Parameters\nalpha = 3.0", metadata={"tags": ["injected-parameters"]})
    notebook.cells.insert(2, injected)
    notebook.cells[3].outputs = [nbformat.v4.new_output("execute_result", {"text/plain": "6.0"}, execution_count=3)]
    notebook.metadata["papermill"] = {"input_path": "in.ipynb", "duration": 1.5}
    for cell in notebook.cells:
        cell.metadata.setdefault("tags", [])
        cell.metadata["papermill"] = {"duration": 0.1}
        cell.metadata["execution"] = {"iopub.execute_input": "2026"}
    return notebook


def test_fold() -> None:
    notebook = executed()
    before = copy.deepcopy(notebook)
    folded = fold(notebook, {"alpha": 3.0, "steps": 10, "name": "a|b"})
    assert notebook == before
    title, table, cell, rest = folded.cells
    assert table.cell_type == "markdown"
    assert table.source.splitlines() == [
        "| parameter | value | default | unit and range |",
        "|---|---|---|---|",
        "| `alpha` | `3.0` | `1.0` | unitless, 0 to 5 |",
        r"| `steps` | `10` | `10` | steps, \> 0 \| at most \$N\_max\$ |",
        r'| `name` | `"a\|b"` | `"digits"` | a name |',
    ]
    assert cell.source == CELL.replace("= 1.0", "= 3.0").replace('"digits"', '"a|b"')
    assert rest.outputs == notebook.cells[3].outputs
    assert [c.id for c in (title, cell, rest)] == [notebook.cells[i].id for i in (0, 1, 3)]
    assert table.id == f"{cell.id}-values"
    assert "papermill" not in folded.metadata
    assert [dict(c.metadata) for c in folded.cells] == [{}, {}, {"tags": ["parameters"]}, {}]
    nbformat.validate(folded)


def test_fold_writes_the_table_the_same_way_each_time() -> None:
    notebook = executed()
    assert fold(notebook, {"alpha": 3.0}) == fold(notebook, {"alpha": 3.0})


def test_fold_a_value_with_backticks() -> None:
    table = fold(make(parameters='a: str = "x"'), {"a": "``y`"}).cells[1]
    assert table.source.splitlines()[2] == '| `a` | ```"``y`"``` | `"x"` |  |'


def test_fold_without_parameters_adds_no_table() -> None:
    assert len(fold(make("1", parameters=""), {}).cells) == 3


def test_fold_a_long_id() -> None:
    notebook = make()
    notebook.cells[1]["id"] = "x" * 64
    assert len(fold(notebook, {}).cells[1].id) == 64


@pytest.mark.parametrize(
    ("notebook", "message"),
    [(make(parameters=None), "has no code cells tagged"), (make(), "declares no 'gamma'")],
)
def test_fold_refuses(notebook: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        fold(notebook, {"gamma": 1})


@pytest.mark.parametrize(
    ("solution", "stub"),
    [
        ("x = 1", "...  # your turn"),
        ("answer = ...\n# --- solution\nanswer = 42", "answer = ..."),
        ("# --- solution\nanswer = 42", "...  # your turn"),
        ("# Say why.\n\n# --- solution\nanswer = 42", "# Say why.\n...  # your turn"),
        ("def f(x):\n    # --- solution\n    return x", "def f(x):\n    ...  # your turn"),
        (
            'def f(x):\n    """Twice x."""\n    # --- solution\n    return 2 * x',
            'def f(x):\n    """Twice x."""',
        ),
        ("print('# --- solution')", "...  # your turn"),
    ],
)
def test_student_stub(solution: str, stub: str) -> None:
    notebook = make(solution)
    notebook.cells[2].metadata["tags"] = ["solution"]
    assert student(notebook).cells[2].source == stub


def test_student_has_no_outputs_and_no_solution_text() -> None:
    notebook = executed()
    notebook.metadata["widgets"] = {"state": {}}
    notebook.cells.append(nbformat.v4.new_markdown_cell("Because.", metadata={"tags": ["solution"]}))
    notebook.cells.append(nbformat.v4.new_markdown_cell("Now you.", metadata={"tags": ["exercise"]}))
    before = copy.deepcopy(notebook)
    sheet = student(notebook)
    assert notebook == before
    assert "Because." not in str(sheet) and sheet.cells[-1].source == "Now you."
    assert "widgets" not in sheet.metadata and "papermill" not in sheet.metadata
    assert all(c.outputs == [] and c.execution_count is None for c in sheet.cells if c.cell_type == "code")
    assert [c.id for c in sheet.cells] == [c.id for c in notebook.cells if c.source != "Because."]
    assert sheet.cells[1].source == CELL
