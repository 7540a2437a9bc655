"""The built book in Chromium: quiet, self-contained, legible in light and dark, narrow enough for a phone."""

from pathlib import Path
from typing import Any

import build
import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
CONTRAST = (Path(__file__).parent / "contrast.js").read_text(encoding="utf-8")

WIDE = """[...document.querySelectorAll("article *")]
  .filter((element) => element.getBoundingClientRect().right > innerWidth + 1)
  .map((element) => element.outerHTML.slice(0, 120)).slice(0, 3)"""

pytestmark = pytest.mark.browser


PAGES = list(build.toc_pages(yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))))


def visit(tab: Any, address: str, page: str) -> None:
    """Open a page and wait until its scripts are done, formulas included."""
    tab.goto(f"{address}/{page}.html", wait_until="networkidle")
    tab.wait_for_function("document.documentElement.dataset.theme !== undefined")
    tab.evaluate("window.MathJax?.startup?.promise")


def illegible(tab: Any) -> list[str]:
    """The texts of the page whose contrast is too low, in words."""
    return [
        f"{one['text']!r}: {one['ratio']:.1f} ({one['colour']} on {one['ground']})" for one in tab.evaluate(CONTRAST)
    ]


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_quiet_and_legible(tab: Any, address: str, complaints: list[str], page: str) -> None:
    visit(tab, address, page)
    assert tab.evaluate("document.documentElement.dataset.theme") == "light"
    assert illegible(tab) == []
    tab.emulate_media(color_scheme="dark")
    tab.wait_for_function("document.documentElement.dataset.theme === 'dark'")
    assert illegible(tab) == []
    tab.set_viewport_size({"width": 375, "height": 800})
    assert tab.evaluate("document.documentElement.scrollWidth") <= 375, tab.evaluate(WIDE)
    assert complaints == []


def test_the_front_door_opens(tab: Any, address: str, complaints: list[str]) -> None:
    tab.goto(f"{address}/")
    tab.wait_for_url(f"{address}/{PAGES[0]}.html")
    assert tab.inner_text("h1").startswith("Yardsticks")
    assert complaints == []


def test_search_finds_the_chapter(tab: Any, address: str, complaints: list[str]) -> None:
    tab.goto(f"{address}/search.html?q=posterior")
    tab.wait_for_selector("#search-results a[href*='notebooks/pa.html']")
    assert complaints == []


def test_the_theme_button_changes_the_colours_and_is_remembered(tab: Any, address: str, complaints: list[str]) -> None:
    visit(tab, address, PAGES[0])
    background = "getComputedStyle(document.body).backgroundColor"
    light = tab.evaluate(background)
    for _ in range(3):  # the button goes round: automatic, light, dark
        tab.click("button.theme-switch-button:visible")
        if tab.evaluate("document.documentElement.dataset.mode") == "dark":
            break
    assert tab.evaluate("document.documentElement.dataset.theme") == "dark"
    assert tab.evaluate(background) != light
    visit(tab, address, PAGES[1])
    assert tab.evaluate("document.documentElement.dataset.theme") == "dark"
    assert complaints == []


def test_a_solution_opens_on_a_click(tab: Any, address: str) -> None:
    visit(tab, address, "notebooks/pa")
    solution = tab.locator(".cell.tag_solution").first
    code = solution.locator(".cell_input")
    assert not code.is_visible()
    solution.locator("summary").first.click()
    assert code.is_visible()


def test_formulas_are_set(tab: Any, address: str) -> None:
    visit(tab, address, "notebooks/pa")
    assert tab.locator("mjx-container").count() > 0
