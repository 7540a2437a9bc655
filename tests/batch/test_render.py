"""From a run to a page: papermill's file cleaned, outputs under the present text, parameters folded, solutions out."""

import copy
import json
import re
from typing import Any

import nbformat
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from helpers.batch.render import cleaned, fold, normalised, page, student
from helpers.errors import InputError

from .conftest import make

CELL = """\
alpha: float = 1.0  # unitless, 0 to 5
steps: int = 10  # steps, > 0 | at most $N_max$
name: str = "digits"  # a name"""


VALUES = {"alpha": 3.0, "steps": 10, "name": "a|b"}


def source(*code: str) -> Any:
    """A chapter, with cell ids that do not change from call to call."""
    notebook = make(*(code or ("alpha * 2", "")), parameters=CELL)
    for number, cell in enumerate(notebook.cells):
        cell["id"] = f"cell-{number}"
    return notebook


def executed(notebook: Any | None = None, *, when: str = "2026-01-01T10:00:00.000001+00:00") -> Any:
    """A notebook as papermill leaves it."""
    notebook = copy.deepcopy(notebook or source())
    injected = nbformat.v4.new_code_cell("# Parameters\nalpha = 3.0", metadata={"tags": ["injected-parameters"]})
    notebook.cells.insert(2, injected)
    count = 0
    for cell in notebook.cells:
        cell.metadata.setdefault("tags", [])
        cell.metadata["papermill"] = {"duration": 0.1, "start_time": when, "status": "completed"}
        cell.metadata["execution"] = {"iopub.execute_input": when}
        if cell.cell_type == "code" and cell.source:  # an empty cell is not executed
            count += 1
            cell.execution_count = count
            data = {"text/plain": f"{cell.source} gives 6.0"}
            cell.outputs = [
                nbformat.v4.new_output("stream", text=f"ran in {count}"),
                nbformat.v4.new_output("execute_result", data, execution_count=count),
            ]
    notebook.metadata["papermill"] = {"input_path": "in.ipynb", "start_time": when}
    notebook.metadata["language_info"] = {"name": "python", "version": "3.99"}
    notebook.metadata["widgets"] = {STATE: {"state": {}, "version_major": 2, "version_minor": 0}}
    return notebook


STATE = "application/vnd.jupyter.widget-state+json"


def written(notebook: Any) -> bytes:
    return nbformat.writes(notebook).encode()


def counts(notebook: Any) -> list[int | None]:
    return [cell.execution_count for cell in notebook.cells if cell.cell_type == "code"]


def test_cleaned() -> None:
    before = executed()
    found = nbformat.reads(cleaned(written(before)), as_version=4)
    nbformat.validate(found)
    assert [cell.source for cell in found.cells] == [cell.source for cell in source().cells]
    assert [cell.id for cell in found.cells] == [cell.id for cell in source().cells]
    assert [dict(cell.metadata) for cell in found.cells] == [{}, {"tags": ["parameters"]}, {}, {}]
    assert set(found.metadata) == {"kernelspec", "language_info", "widgets"}
    assert [o.text for cell in found.cells[1:3] for o in cell.outputs[:1]] == ["ran in 1", "ran in 3"]


def test_cleaned_closes_the_gap_that_the_injected_cell_leaves_in_the_numbers() -> None:
    before = executed(source("a", "", "b"))
    assert counts(before) == [1, 2, 3, None, 4]
    found = nbformat.reads(cleaned(written(before)), as_version=4)
    assert counts(found) == [1, 2, None, 3]
    results = [o for cell in found.cells for o in cell.get("outputs", []) if o.output_type == "execute_result"]
    assert [result.execution_count for result in results] == [1, 2, 3]


def test_cleaned_where_no_parameter_was_injected() -> None:
    notebook = executed()
    notebook.cells.pop(2)
    assert len(json.loads(cleaned(written(notebook)))["cells"]) == 4


def test_two_runs_cleaned_are_one_file() -> None:
    one = cleaned(written(executed()))
    two = cleaned(written(executed(when="2027-02-02T11:11:11.000000+00:00")))
    assert one == two and b"2026" not in one and b"papermill" not in one and one.endswith(b"\n}\n")
    assert cleaned(one) == one


def test_page() -> None:
    text = page(written(source()), cleaned(written(executed())), VALUES)
    found = nbformat.reads(text.decode(), as_version=4)
    nbformat.validate(found)
    assert [cell.id for cell in found.cells] == ["cell-0", "cell-1-values", "cell-1", "cell-2", "cell-3"]
    assert found.cells[2].source == CELL.replace("= 1.0", "= 3.0").replace('"digits"', '"a|b"')
    assert found.cells[3].outputs[1].data == {"text/plain": "alpha * 2 gives 6.0"}
    assert counts(found) == [1, 2, None]
    assert found.metadata.language_info.version == "3.99" and STATE in found.metadata.widgets
    assert page(written(source()), cleaned(written(executed())), VALUES) == text and text.endswith(b"\n")


def test_page_has_the_present_text_and_the_outputs_of_the_run() -> None:
    now = source()
    now.cells[0].source = "# Another title"
    now.cells[1].source = CELL.replace("unitless", "no unit").replace("10", "99").replace("digits", "letters")
    now.cells[2].metadata["tags"] = ["hide-input"]
    now.cells.insert(2, nbformat.v4.new_markdown_cell("More.", id="more"))
    now.cells[3].outputs = [nbformat.v4.new_output("stream", text="stale")]
    now.metadata |= {"title": "now", "yardsticks": {"data": []}}
    then = executed()
    then.metadata |= {"title": "then", "subtitle": "gone"}
    found = nbformat.reads(page(written(now), cleaned(written(then)), VALUES).decode(), as_version=4)
    assert [cell.id for cell in found.cells] == ["cell-0", "cell-1-values", "cell-1", "more", "cell-2", "cell-3"]
    assert found.cells[0].source == "# Another title"
    assert "| `steps` | `10` | `99` |" in found.cells[1].source and "no unit, 0 to 5" in found.cells[1].source
    assert "= 10  #" in found.cells[2].source and '"a|b"' in found.cells[2].source
    assert found.cells[4].metadata.tags == ["hide-input"]
    assert [output.output_type for output in found.cells[4].outputs] == ["stream", "execute_result"]
    assert found.cells[4].outputs[0].text == "ran in 3"
    assert (found.metadata.title, "subtitle" in found.metadata, found.metadata.yardsticks) == (
        "now",
        False,
        {"data": []},
    )
    assert found.metadata.language_info.version == "3.99"


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (("alpha * 3", ""), "code cell 2 is not the one that was executed: execute the notebook again"),
        (("alpha * 2", "more"), "code cell 3 is not the one that was executed"),
        (("alpha * 2",), "2 code cells, but 3 were executed: execute the notebook again"),
        (("alpha * 2", "", ""), "4 code cells, but 3 were executed"),
    ],
)
def test_page_refuses_other_code(code: tuple[str, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        page(written(source(*code)), cleaned(written(executed())), VALUES)


ACCIDENTS = [
    ("<f at 0x7f3a5c0b1d60>", "<f at 0xdeadbeef0000>"),
    ("id 0123456789abcdef0123456789abcdef.", "id fedcba9876543210fedcba9876543210."),
    ("at 2026-01-01T10:00:00Z", "at 2026-12-31T23:59:59Z"),
    ("at 2026-01-01T10:00:00.5+00:00", "at 2026-12-31T23:59:59.123456+00:00"),
]
DIFFERENCES = [
    ("0x1f", "0x2f"),  # a small number in hexadecimal
    ("0.123456", "0.123457"),
    ("seed 7", "seed 8"),
    ("0123456789abcdef0123456789abcdef01", "1123456789abcdef0123456789abcdef01"),
    ("2026-01-01", "2026-01-02"),
]


def printing(text: str) -> bytes:
    notebook = source()
    notebook.cells[2].outputs = [nbformat.v4.new_output("stream", text=f"a\n{text}\nz")]
    notebook.metadata["widgets"] = {"state": text}
    return written(notebook)


@pytest.mark.parametrize(("one", "two"), ACCIDENTS)
def test_normalised_without_accidents(one: str, two: str) -> None:
    assert printing(one) != printing(two) and normalised(printing(one)) == normalised(printing(two))


@pytest.mark.parametrize(("one", "two"), DIFFERENCES)
def test_normalised_with_differences(one: str, two: str) -> None:
    assert normalised(printing(one)) != normalised(printing(two))


def test_normalised_keeps_all_else() -> None:
    notebook = source()
    notebook.cells[0].source = "at 0x7f3a5c0b1d60, 2026-01-01T10:00:00Z"
    plain = json.loads(written(notebook))
    assert normalised(written(notebook)) == plain
    assert normalised(printing("0x7f3a5c0b1d60"))["cells"][2]["outputs"][0]["text"] == ["a\n", "0x\n", "z"]


def test_fold() -> None:
    notebook = source()
    before = copy.deepcopy(notebook)
    folded = fold(notebook, VALUES)
    assert notebook == before
    _, table, cell, *_ = folded.cells
    assert table.cell_type == "markdown"
    assert table.source.splitlines() == [
        "| parameter | value | default | unit and range |",
        "|---|---|---|---|",
        "| `alpha` | `3.0` | `1.0` | unitless, 0 to 5 |",
        r"| `steps` | `10` | `10` | steps, \> 0 \| at most \$N\_max\$ |",
        r'| `name` | `"a\|b"` | `"digits"` | a name |',
    ]
    assert cell.source == CELL.replace("= 1.0", "= 3.0").replace('"digits"', '"a|b"')
    assert [c.id for c in folded.cells] == ["cell-0", "cell-1-values", "cell-1", "cell-2", "cell-3"]
    assert dict(table.metadata) == {} and [c for c in folded.cells if c is not table and c is not cell] == [
        c for c in before.cells if c.id != "cell-1"
    ]


PRINTABLE = st.text(
    st.characters(min_codepoint=32, max_codepoint=0x2FF, exclude_categories=["Cc", "Zs"]) | st.just(" ")
)


@given(PRINTABLE, PRINTABLE)
@example("R&D &lt; 1 | *a* <b> $x$ [c](d) ~e~ `f` \\ #", "``|`")
def test_the_table_reads_as_the_comment_and_the_value_do(comment: str, value: str) -> None:
    """As a Markdown reader shows it."""
    notebook = make(parameters=f'a: str = "x"  # {comment}')
    html = MarkdownIt("commonmark").enable("table").render(fold(notebook, {"a": value}).cells[1].source)
    name, shown, default, described = re.findall("<td>(.*?)</td>", html, flags=re.S)
    assert (name, default) == ("<code>a</code>", "<code>&quot;x&quot;</code>")
    assert plain(described) == comment.strip()
    assert plain(shown.removeprefix("<code>").removesuffix("</code>")) == json.dumps(value, ensure_ascii=False)


def plain(html: str) -> str:
    assert "<" not in html
    for entity, sign in (("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&amp;", "&")):
        html = html.replace(entity, sign)
    return html


def test_fold_writes_the_table_the_same_way_each_time() -> None:
    assert fold(source(), {"alpha": 3.0}) == fold(source(), {"alpha": 3.0})


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
    notebook = fold(nbformat.reads(cleaned(written(executed())), as_version=4), VALUES)
    notebook.cells.append(nbformat.v4.new_markdown_cell("Because.", metadata={"tags": ["solution"]}))
    notebook.cells.append(nbformat.v4.new_markdown_cell("Now you.", metadata={"tags": ["exercise"]}))
    before = copy.deepcopy(notebook)
    sheet = student(notebook)
    assert notebook == before
    assert "Because." not in str(sheet) and sheet.cells[-1].source == "Now you."
    assert "widgets" not in sheet.metadata
    assert all(c.outputs == [] and c.execution_count is None for c in sheet.cells if c.cell_type == "code")
    assert [c.id for c in sheet.cells] == [c.id for c in notebook.cells if c.source != "Because."]
    assert sheet.cells[2].source == notebook.cells[2].source
