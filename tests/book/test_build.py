"""The script that builds the book."""

from pathlib import Path
from typing import Any

import build
import nbformat
import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]


def test_all_pages_of_a_toc_are_found_root_first() -> None:
    toc = {
        "root": "book/index",
        "parts": [
            {"caption": "One", "chapters": [{"file": "a", "sections": [{"file": "a/b"}]}]},
            {"chapters": [{"file": "c", "title": "See"}]},
        ],
    }
    assert list(build.toc_pages(toc)) == ["book/index", "a", "a/b", "c"]


def test_every_notebook_is_in_the_toc() -> None:
    pages = build.toc_pages(yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8")))
    listed = {page for page in pages if page.startswith("notebooks/")}
    assert listed == {f"notebooks/{path.stem}" for path in (ROOT / "notebooks").glob("*.ipynb")}


def test_every_grid_of_the_book_runs_every_chapter() -> None:
    chapters = {path.stem for path in (ROOT / "notebooks").glob("*.ipynb")}
    for name in ("book", "smoke"):
        grid = yaml.safe_load((ROOT / "notebooks" / "grids" / f"{name}.yml").read_text(encoding="utf-8"))
        assert set(grid["chapters"]) == chapters


def test_a_page_that_was_not_built_is_named(tmp_path: Path) -> None:
    with pytest.raises(build.BuildError, match=r"pages that were not built: book/index, .*notebooks/pa"):
        build.complete(tmp_path, tmp_path)


def test_the_output_of_a_failure_is_cut_to_its_words() -> None:
    trace = "\nTraceback (most recent call last):\n  File x"
    output = "WARNING: a\n\nExtension error:\nnotebooks/pa: no copy"
    assert build.what_went_wrong(output + trace) == output
    assert build.what_went_wrong("a.md:1: WARNING: b" + trace) == "a.md:1: WARNING: b" + trace


def test_student_versions_and_results_are_written(
    tmp_path: Path, run: Path, notebook: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "notebooks").mkdir()
    for name in ("demo", "stub"):
        nbformat.write(nbformat.from_dict(notebook), tmp_path / "notebooks" / f"{name}.ipynb")
    monkeypatch.setattr(build, "ROOT", tmp_path)
    html = tmp_path / "html"
    html.mkdir()
    build.write_chapter_files(["demo", "stub"], html, run)
    assert {path.name for path in (html / "student").iterdir()} == {"demo.ipynb", "stub.ipynb"}
    assert {path.name for path in (html / "results").iterdir()} == {"demo.result.json"}
    assert "found = 42" not in (html / "student" / "demo.ipynb").read_text(encoding="utf-8")
