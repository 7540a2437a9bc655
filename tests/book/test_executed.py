"""The extension that shows executed copies."""

import json
from pathlib import Path
from typing import Any

import executed
import pytest
from sphinx.errors import ExtensionError


def test_a_missing_copy_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(ExtensionError, match=r"notebooks/pa: no executed copy pa\.ipynb in .*run `make book`"):
        executed.read_copy(tmp_path / "pa.ipynb", "notebooks/pa")


def test_a_failed_cell_is_refused_by_page_cell_and_error(run: Path, notebook: dict[str, Any]) -> None:
    error = {
        "output_type": "error",
        "ename": "ZeroDivisionError",
        "evalue": "division by zero",
        "traceback": [],
    }
    notebook["cells"][3]["outputs"].append(error)
    (run / "demo.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    with pytest.raises(
        ExtensionError,
        match=r"notebooks/demo: cell 4 \('found = 42'\) failed with ZeroDivisionError: division by zero",
    ):
        executed.read_copy(run / "demo.ipynb", "notebooks/demo")


def test_a_solution_opens_on_a_click(run: Path) -> None:
    cells = executed.read_copy(run / "demo.ipynb", "notebooks/demo")["cells"]
    assert cells[3]["metadata"]["tags"] == ["solution", "hide-cell"]
    assert cells[3]["metadata"]["mystnb"]["code_prompt_show"] == "Show a solution"
    assert cells[1]["metadata"] == {"tags": ["parameters"]}, "other cells stay as they are"


def test_a_solution_in_words_opens_on_a_click() -> None:
    cell = {"cell_type": "markdown", "metadata": {"tags": ["solution"]}, "source": ["It is\n", "42."]}
    executed.fold_solution(cell)
    assert cell["source"] == "``````{dropdown} Show a solution\nIt is\n42.\n``````"


def test_the_folder_comes_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("YARDSTICKS_EXECUTED", raising=False)
    assert executed.executed_folder(tmp_path) == tmp_path / "_build" / "executed"
    monkeypatch.setenv("YARDSTICKS_EXECUTED", "elsewhere")
    assert executed.executed_folder(tmp_path) == tmp_path / "elsewhere"
    monkeypatch.setenv("YARDSTICKS_EXECUTED", str(tmp_path / "absolute"))
    assert executed.executed_folder("/anywhere") == tmp_path / "absolute"
