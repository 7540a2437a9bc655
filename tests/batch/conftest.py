"""Tiny notebooks for the tests of the batch."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest

PARAMETERS = "alpha: float = 1.0  # unitless, 0 to 5\nseed: int = 0  # unitless, any integer >= 0"


def make(*code: str, parameters: str | None = PARAMETERS) -> Any:
    """A notebook with a title, a `parameters` cell (unless None) and code cells."""
    cells = [nbformat.v4.new_markdown_cell("# A chapter")]
    if parameters is not None:
        cells.append(nbformat.v4.new_code_cell(parameters, metadata={"tags": ["parameters"]}))
    cells += [nbformat.v4.new_code_cell(source) for source in code]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})


Project = Callable[..., Path]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """Write `grid` and notebooks, by chapter, into an empty folder, go there, and give the grid's path."""
    monkeypatch.chdir(tmp_path)

    def write(grid: str, **notebooks: Any) -> Path:
        Path("notebooks").mkdir()
        for chapter, notebook in notebooks.items():
            nbformat.write(notebook, f"notebooks/{chapter}.ipynb")
        Path("grid.yml").write_text(grid, encoding="utf-8")
        return Path("grid.yml")

    return write
