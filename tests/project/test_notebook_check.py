"""tools/notebooks.py: what it refuses, in which words, and what --fix mends."""

from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode, v4

from tools import notebooks

PARAMETERS = "seed: int = 0  # unitless, any integer >= 0\nalpha: float = 0.5  # 1/ms, 0 to 5"


def cell(kind: str, source: str, *tags: str) -> NotebookNode:
    made = v4.new_code_cell(source) if kind == "code" else v4.new_markdown_cell(source)
    if tags:
        made.metadata["tags"] = list(tags)
    return made


def chapter() -> NotebookNode:
    """A notebook that keeps every convention."""
    cells = [
        cell("markdown", "# Title\n\ntext\n\n```\n# no heading\n```"),
        cell("code", PARAMETERS, "parameters"),
        cell("markdown", "## Exercise\nHalve it.", "exercise"),
        cell("code", "alpha / 2", "solution"),
        cell("code", "alpha / 4", "solution", "hide-input"),
    ]
    return v4.new_notebook(cells=cells, metadata=notebooks.METADATA)


def parameters(source: str) -> Callable[[NotebookNode], None]:
    def change(notebook: NotebookNode) -> None:
        notebook.cells[1].source = source

    return change


def test_a_good_chapter_has_no_problems() -> None:
    assert list(notebooks.problems(chapter())) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda n: n.cells[3].outputs.append(v4.new_output("stream", text="1")), "cell 4: holds outputs"),
        (lambda n: n.cells[3].update(execution_count=1), "cell 4: holds outputs or an execution count"),
        (lambda n: n.cells[3].metadata.update(execution={}), "cell 4: has metadata besides tags (execution)"),
        (lambda n: n.metadata.update(papermill={}), "has metadata besides the kernel python3"),
        (
            lambda n: n.cells[3].metadata.tags.append("remove-cell"),
            "cell 4: has the unknown tag 'remove-cell'",
        ),
        (lambda n: n.cells.append(cell("markdown", "# Two")), "has 2 first-level headings"),
        (lambda n: n.cells.pop(0), "has 0 first-level headings"),
        (lambda n: n.cells.pop(1), "it has no code cells tagged `parameters`"),
        (lambda n: n.cells.append(cell("code", "", "parameters")), "it has 2 code cells tagged `parameters`"),
        (lambda n: n.cells.extend(cell("markdown", "x") for _ in range(41)), "has 46 cells, the most is 45"),
        (lambda n: n.cells[3].update(id=n.cells[2].id), "cell 4: the id"),
        (lambda n: n.update(nbformat_minor=4), "is older than format 4.5"),
        (lambda n: n.cells.pop(2), "cell 3: a solution is a code cell right after its exercise"),
        (lambda n: n.cells.insert(3, cell("markdown", "x")), "cell 3: an exercise is a Markdown cell"),
        (parameters("alpha = 0.5  # ms, 0 to 5"), "cell 2, line 1: `alpha = 0.5"),
        (parameters("alpha: float = 0.5"), "cell 2: end 'alpha' in unit and range"),
        (parameters("alpha: float = 0.5  # ms"), "in unit and range"),
        (parameters("alpha: float = 0.5  # , 0 to 5"), "in unit and range"),
        (parameters("a: str = 'x, # y'"), "in unit and range"),
        (parameters("alpha: float ="), "cell 2, line 1: not Python"),
    ],
)
def test_each_problem_is_named(change: Callable[[NotebookNode], None], message: str) -> None:
    notebook = chapter()
    change(notebook)
    assert any(problem.startswith(message) or message in problem for problem in notebooks.problems(notebook))


def test_a_value_over_several_lines_has_its_comment_at_the_end() -> None:
    notebook = chapter()
    notebook.cells[1].source = "text: str = (\n    'a'\n    'b'\n)  # none, any words"
    assert list(notebooks.problems(notebook)) == []


def test_fix_strips_and_then_nothing_is_left_to_say(tmp_path: Path) -> None:
    notebook = chapter()
    notebook.cells[3].update(execution_count=7, outputs=[v4.new_output("stream", text="1")])
    notebook.cells[3].metadata["collapsed"] = True
    notebook.metadata["language_info"]["version"] = "3.11"
    path = tmp_path / "x.ipynb"
    nbformat.write(notebook, path)
    assert notebooks.main([str(path)]) == 1
    assert notebooks.main(["--fix", str(path)]) == 0
    assert notebooks.main([str(path)]) == 0
    assert nbformat.read(path, as_version=4).cells[3].metadata == {"tags": ["solution"]}


def test_main_names_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    notebook = chapter()
    notebook.cells.pop(0)
    path = tmp_path / "x.ipynb"
    nbformat.write(notebook, path)
    assert notebooks.main([str(path)]) == 1
    wanted = f"{path}: has 0 first-level headings: keep exactly one, the chapter's title\n"
    assert capsys.readouterr().err == wanted
