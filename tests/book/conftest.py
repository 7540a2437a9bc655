"""Tests of the book: scripts and extensions are imported from where they lie, pages parsed once."""

import json
import sys
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "book"), str(ROOT / "book" / "_ext")]


@dataclass
class Page:
    """What the tests ask of an HTML page."""

    path: Path
    ids: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)  # where a reader may go
    loads: list[str] = field(default_factory=list)  # what the browser fetches unasked
    images: list[dict[str, str]] = field(default_factory=list)
    drawings: list[dict[str, str]] = field(default_factory=list)  # svg elements with role img


class _Parser(HTMLParser):
    def __init__(self, page: Page) -> None:
        super().__init__()
        self.page = page

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        page = self.page
        if "id" in values:
            page.ids.add(values["id"])
        if tag == "a" and "href" in values:
            page.links.append(values["href"])
        if tag == "link" and values.get("rel") not in (
            "index",
            "search",
            "next",
            "prev",
            "author",
            "canonical",
        ):
            page.loads.append(values.get("href", ""))
        if tag in ("script", "img", "iframe", "source", "video", "audio", "embed") and "src" in values:
            page.loads.append(values["src"])
        if tag == "img":
            page.images.append(values)
        if tag == "svg" and values.get("role") == "img":
            page.drawings.append(values)


def parse(path: Path) -> Page:
    """The page at `path`."""
    page = Page(path)
    _Parser(page).feed(path.read_text(encoding="utf-8"))
    return page


@pytest.fixture(scope="session")
def pages(html: Path) -> dict[Path, Page]:
    """Every HTML page of the built book, by its path."""
    own = [path for path in sorted(html.rglob("*.html")) if path.relative_to(html).parts[0] not in ("_static", "lite")]
    return {path: parse(path) for path in own}


@pytest.fixture
def notebook() -> dict[str, Any]:
    """An executed notebook: a title, the parameters, an exercise and its solution."""
    return {
        "cells": [
            {"cell_type": "markdown", "id": "a", "metadata": {}, "source": "# A chapter"},
            {
                "cell_type": "code",
                "id": "b",
                "metadata": {"tags": ["parameters"]},
                "execution_count": 1,
                "source": "seed: int = 0  # unitless, any integer >= 0",
                "outputs": [],
            },
            {"cell_type": "markdown", "id": "c", "metadata": {"tags": ["exercise"]}, "source": "Find it."},
            {
                "cell_type": "code",
                "id": "d",
                "metadata": {"tags": ["solution"]},
                "execution_count": 2,
                "source": ["found = 42\n", "found"],
                "outputs": [
                    {
                        "output_type": "execute_result",
                        "execution_count": 2,
                        "metadata": {},
                        "data": {"text/plain": "42"},
                    }
                ],
            },
        ],
        "metadata": {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


@pytest.fixture
def results() -> dict[str, Any]:
    """A result file with a number, an infinite, an undefined and a textual value."""
    return {
        "schema": "yardsticks-result",
        "version": 1,
        "chapter": "demo",
        "metrics": {
            "score": {"value": 2.125, "unit": "nat", "low": 2.0, "high": 2.25, "reason": None},
            "beta": {"value": "inf", "unit": "1", "low": None, "high": None, "reason": None},
            "slope": {"value": None, "unit": "1", "low": None, "high": None, "reason": "one point only"},
            "status": {"value": "interior", "unit": "", "low": None, "high": None, "reason": None},
            "bwt.gem": {"value": -20.0, "unit": "%", "low": None, "high": None, "reason": None},
        },
    }


@pytest.fixture
def run(tmp_path: Path, notebook: dict[str, Any], results: dict[str, Any]) -> Path:
    """A folder of executed copies and results with one chapter, `demo`."""
    folder = tmp_path / "executed"
    folder.mkdir()
    (folder / "demo.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    (folder / "demo.result.json").write_text(json.dumps(results), encoding="utf-8")
    return folder
