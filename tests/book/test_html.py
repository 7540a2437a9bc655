"""The built book, read as files: pages, links, descriptions of pictures, outside addresses."""

import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

import build
import nbformat
import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
PAGES = list(build.toc_pages(yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))))
CHAPTERS = [Path(page).name for page in PAGES if page.startswith("notebooks/")]


@pytest.mark.parametrize("page", PAGES)
def test_every_page_of_the_toc_is_there(html: Path, page: str) -> None:
    assert (html / f"{page}.html").is_file()


def test_the_front_door_leads_to_the_first_page(html: Path) -> None:
    text = (html / "index.html").read_text(encoding="utf-8")
    assert f'content="0; url={PAGES[0]}.html"' in text


def test_links_inside_the_book_lead_somewhere(html: Path, pages: dict) -> None:
    broken = []
    for page in pages.values():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (page.path.parent / unquote(parts.path)).resolve() if parts.path else page.path
            anchor_missing = parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].ids
            if not target.exists() or anchor_missing:
                broken.append(f"{page.path.relative_to(html)} -> {link}")
    assert not broken


def test_pages_load_nothing_from_outside(html: Path, pages: dict) -> None:
    outside = [
        f"{page.path.relative_to(html)}: {url}"
        for page in pages.values()
        for url in page.loads
        if urlsplit(url).netloc or urlsplit(url).scheme not in ("", "data")
    ]
    assert not outside


def test_what_pages_load_is_there(html: Path, pages: dict) -> None:
    missing = [
        f"{page.path.relative_to(html)}: {url}"
        for page in pages.values()
        for url in page.loads
        if not urlsplit(url).scheme and not (page.path.parent / unquote(urlsplit(url).path)).is_file()
    ]
    assert not missing


def test_pictures_are_described(html: Path, pages: dict) -> None:
    """A description is words, and not the path that myst-nb writes where nothing else was given."""
    bad = []
    for page in pages.values():
        descriptions = [image.get("alt", "") for image in page.images]
        descriptions += [drawing.get("aria-label", "") for drawing in page.drawings]
        for text in descriptions:
            if len(text.split()) < 2 or re.search(r"[/\\]\w|\.(png|svg|jpe?g)$", text):
                bad.append(f"{page.path.relative_to(html)}: {text!r}")
    assert not bad


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_chapter_offers_its_student_version(html: Path, chapter: str) -> None:
    page = (html / "notebooks" / f"{chapter}.html").read_text(encoding="utf-8")
    assert f'href="../student/{chapter}.ipynb"' in page


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_the_student_version_holds_no_solution(html: Path, chapter: str) -> None:
    source = nbformat.read(ROOT / "notebooks" / f"{chapter}.ipynb", as_version=4)
    student = nbformat.read(html / "student" / f"{chapter}.ipynb", as_version=4)
    nbformat.validate(student)
    code = {cell.id: cell.source for cell in student.cells if cell.cell_type == "code"}
    for cell in source.cells:
        if cell.cell_type == "code" and "solution" in cell.metadata.get("tags", []):
            solution = cell.source.partition("# --- solution")[2] or cell.source
            assert solution.strip() not in code[cell.id]
    assert not any(cell.outputs or cell.execution_count for cell in student.cells if cell.cell_type == "code")


def test_no_solution_is_open_from_the_start(html: Path) -> None:
    for chapter in CHAPTERS:
        page = (html / "notebooks" / f"{chapter}.html").read_text(encoding="utf-8")
        assert "<details open" not in page


def test_no_launch_button_without_an_address(html: Path) -> None:
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    if config["sphinx"]["config"]["yardsticks_address"]:
        pytest.skip("the book has an address")
    for chapter in CHAPTERS:
        assert "mybinder" not in (html / "notebooks" / f"{chapter}.html").read_text(encoding="utf-8")
