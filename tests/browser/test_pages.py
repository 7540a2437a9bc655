"""The built book in Chromium: quiet, self-contained, light, legible in both themes, narrow enough for a phone."""

import gzip
from pathlib import Path
from typing import Any
from urllib.parse import quote

import build
import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
CONTRAST = (Path(__file__).parent / "contrast.js").read_text(encoding="utf-8")

WIDE = """[...document.querySelectorAll("article *")]
  .filter((element) => element.getBoundingClientRect().right > innerWidth + 1)
  .map((element) => element.outerHTML.slice(0, 120)).slice(0, 3)"""

# Pictures that a screen reader could only call "graphic": without a name, and not part of something that has one.
NAMELESS = """[...document.querySelectorAll("svg, img, canvas")]
  .filter((one) => one.getClientRects().length && !one.closest("[aria-hidden=true], [role=none], :is([role=img], \
[role=graphics-document])[aria-label]:not([aria-label=''])"))
  .filter((one) => !(one.getAttribute("alt") || one.getAttribute("aria-label") || one.querySelector(":scope > title")))
  .map((one) => one.outerHTML.slice(0, 120))"""
BLACK = "<svg xmlns='http://www.w3.org/2000/svg' width='10' height='10'><rect width='10' height='10'/></svg>"
MOST_BYTES = 2_000_000  # what a chapter may weigh before any click, compressed as servers do

pytestmark = pytest.mark.browser


PAGES = list(build.toc_pages(yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))))
CHAPTERS = [page for page in PAGES if page.startswith("notebooks/")]
WITH_INDEX = [*PAGES, "search", "genindex"]


def visit(tab: Any, address: str, page: str) -> None:
    """Open a page and wait until its scripts are done, formulas included, and each of its panels is drawn."""
    arrive(tab, address, page, until="load")
    for panel in tab.locator("figure.ys-explorer").all():
        panel.scroll_into_view_if_needed()
    tab.wait_for_function("!document.querySelector('figure.ys-explorer:not([data-explorer=ready])')")
    tab.evaluate("scrollTo(0, 0)")


def arrive(tab: Any, address: str, page: str, *, until: str = "networkidle") -> None:
    """Open a page as a reader does who has not moved yet; to be idle it waits half a second for nothing to happen."""
    tab.goto(f"{address}/{page}.html", wait_until=until)
    tab.wait_for_function("document.documentElement.dataset.theme !== undefined")
    tab.evaluate("window.MathJax?.startup?.promise")


def illegible(tab: Any) -> list[str]:
    """The texts and controls of the page whose contrast is too low, in words."""
    return [
        f"{one['text']!r}: {one['ratio']:.1f} ({one['colour']} on {one['ground']})" for one in tab.evaluate(CONTRAST)
    ]


def test_a_look_at_contrast_finds_what_is_hard_to_see(tab: Any) -> None:
    """A fault of each kind, and beside it the same without the fault."""
    square = '<path d="M 2 2 h 6 v 6 h -6 z" fill="{}"/>'
    tab.set_content(f"""<style>body {{ background: white; color: black }} input, select {{ border: 1px solid black }}
        input.faint::placeholder {{ color: #aaa }} .faint {{ border-color: #ccc; accent-color: #ccc }}</style>
      <p>good <span style="color: #888">grey</span> <b style="font-size: 24px; color: #888">large</b>
        <i style="opacity: 0.4">faded</i> <u style="visibility: hidden; color: white">hidden</u></p>
      <input placeholder="word" aria-label="good"> <input placeholder="pale" class="faint" aria-label="field">
      <select name="good"></select> <select name="menu" class="faint"></select>
      <input type="range" name="slider" class="faint"> <input type="range" name="firm" style="accent-color: black">
      <button style="color: black"><svg data-icon="good"></svg></button>
      <button style="color: #bbb; background: white"><svg data-icon="pale"></svg></button>
      <figure class="ys-figure"><svg width="10" height="10" viewBox="0 0 10 10">
        <image width="10" height="10" href="data:image/svg+xml,{quote(BLACK)}"/>
        <g id="text_good">{square.format("white")}</g> <g id="text_lost">{square.format("black")}</g></svg></figure>""")
    tab.wait_for_load_state("load")
    assert sorted(one["text"] for one in tab.evaluate(CONTRAST)) == sorted(
        [
            "grey",
            "faded",
            "placeholder pale",
            "edge of field",
            "edge of menu",
            "edge of slider",
            "icon pale",
            "text_lost",
        ]
    )


@pytest.mark.parametrize("page", WITH_INDEX)
def test_a_page_is_quiet_and_legible(tab: Any, address: str, complaints: list[str], page: str) -> None:
    visit(tab, address, page)
    assert tab.evaluate("document.documentElement.dataset.theme") == "light"
    assert illegible(tab) == []
    assert tab.evaluate(NAMELESS) == []
    tab.emulate_media(color_scheme="dark")
    tab.wait_for_function("document.documentElement.dataset.theme === 'dark'")
    assert illegible(tab) == []
    tab.set_viewport_size({"width": 375, "height": 800})
    assert tab.evaluate("document.documentElement.scrollWidth") <= 375, tab.evaluate(WIDE)
    tab.wait_for_load_state("networkidle")
    assert complaints == []


def test_the_front_door_opens(tab: Any, address: str, complaints: list[str]) -> None:
    tab.goto(f"{address}/")
    tab.wait_for_url(f"{address}/{PAGES[0]}.html")
    assert tab.inner_text("h1").startswith("Yardsticks")
    assert complaints == []


@pytest.mark.parametrize("start", [PAGES[0], "search"])
def test_search_leads_to_the_chapter(tab: Any, address: str, complaints: list[str], start: str) -> None:
    visit(tab, address, start)
    if start == "search":
        tab.locator("article, .bd-search-container").get_by_role("searchbox").last.focus()
    else:
        tab.keyboard.press("Control+k")
    tab.keyboard.type("posterior")
    tab.keyboard.press("Enter")
    tab.click("#search-results a[href*='notebooks/pa.html']")
    tab.wait_for_url(f"{address}/notebooks/pa.html*")
    assert "posterior" in tab.inner_text("article").lower()
    assert complaints == []


@pytest.mark.parametrize("page", CHAPTERS)
def test_a_chapter_is_light_to_load(tab: Any, address: str, page: str) -> None:
    loaded: dict[str, Any] = {}
    tab.on("response", lambda response: loaded.update({response.url: response}))
    arrive(tab, address, page)
    sizes = {
        url.removeprefix(address): len(gzip.compress(response.body(), compresslevel=9))
        for url, response in list(loaded.items())  # to read a body lets more come in
        if url.startswith(address)
    }
    assert f"/{page}.html" in sizes
    assert sum(sizes.values()) < MOST_BYTES, sorted(sizes.items(), key=lambda one: -one[1])[:5]


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
