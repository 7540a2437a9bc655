"""The panels on the built pages: moved by keyboard, in both themes, on a phone, in print and without JavaScript."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from . import test_pages
from .test_pages import arrive

pytestmark = pytest.mark.browser

CHAPTERS = ["notebooks/tempora", "notebooks/ppat", "notebooks/pmk", "notebooks/cl", "notebooks/pa"]
CONTRAST = (Path(__file__).parent / "contrast.js").read_text(encoding="utf-8")
PANEL = "figure.ys-explorer"
READY = f"{PANEL}[data-explorer=ready]"
MARKS = ".ys-explorer-chart svg .mark-line path, .ys-explorer-chart svg .mark-symbol.role-mark path"


def visit(tab: Any, address: str, chapter: str) -> Any:
    """Open a chapter, wait until every panel on it is drawn, and return the first."""
    test_pages.visit(tab, address, chapter)
    return tab.locator(PANEL).first


def drawn(panel: Any) -> list[str]:
    """The shapes of all lines and points."""
    shapes: list[str] = panel.locator(MARKS).evaluate_all(
        "marks => marks.map((mark) => mark.getAttribute('d') + mark.getAttribute('transform'))"
    )
    assert shapes
    return shapes


def move(tab: Any, panel: Any, keys: list[str]) -> list[list[str]]:
    """What is drawn after each key."""
    seen = []
    for key in keys:
        tab.keyboard.press(key)
        tab.wait_for_timeout(150)
        seen.append(drawn(panel))
    return seen


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_every_control_moves_the_plot_by_keyboard(tab: Any, address: str, complaints: list[str], chapter: str) -> None:
    panel = visit(tab, address, chapter)
    at_start = drawn(panel)
    menu = panel.get_by_role("combobox").first
    menu.focus()
    tab.keyboard.press("ArrowDown")
    tab.wait_for_timeout(200)
    assert drawn(panel) != at_start, "the menu"
    tab.keyboard.press("ArrowUp")
    tab.wait_for_timeout(200)
    assert drawn(panel) == at_start
    tab.keyboard.press("Shift+Tab")  # sliders stand above menus
    slider = panel.get_by_role("slider").first
    assert slider.evaluate("slider => slider === document.activeElement")
    if slider.get_attribute("min") == slider.get_attribute("max"):
        assert chapter == "notebooks/pa"  # a small run measures one strength
        return
    value, said = slider.input_value(), slider.get_attribute("aria-valuetext")
    first, last = move(tab, panel, ["Home", "End"])
    assert first != last
    slider.fill(value)
    tab.wait_for_timeout(200)
    assert drawn(panel) == at_start and slider.get_attribute("aria-valuetext") == said
    assert complaints == []


def test_a_slider_says_what_it_stands_for(tab: Any, address: str) -> None:
    panel = visit(tab, address, "notebooks/tempora")
    slider = panel.get_by_role("slider", name="cost of adapting (share of its own)")
    assert slider.get_attribute("aria-valuetext") == "1"
    assert panel.locator(".ys-explorer-value").inner_text() == "1"
    slider.press("ArrowLeft")
    assert slider.get_attribute("aria-valuetext") == "0.75"
    assert panel.locator(".ys-explorer-value").inner_text() == "0.75"
    described = panel.locator(".ys-explorer-chart").get_attribute("aria-label")
    assert described.startswith("The plot at cost of adapting (share of its own) 0.75, what is short discrete")


def test_faster_adaptation_is_never_worse(tab: Any, address: str) -> None:
    """The plot shows the setting that its slider names: at no cost every line is at its offline accuracy."""
    panel = visit(tab, address, "notebooks/tempora")
    slider = panel.get_by_role("slider")
    heights = (
        "paths => paths.map((path) => path.getAttribute('d').match(/[^ML,]+,[^ML,]+/g).map((p) => +p.split(',')[1]))"
    )
    lines = panel.locator(".ys-explorer-chart svg .mark-line path")
    costly = lines.evaluate_all(heights)
    slider.press("Home")
    tab.wait_for_timeout(200)
    free = lines.evaluate_all(heights)
    assert len(free) == len(costly) == 4
    for now, then in zip(free, costly, strict=True):
        assert all(a <= b + 0.5 for a, b in zip(now, then, strict=True))  # pixels from the top
    assert any(a < b - 10 for now, then in zip(free, costly, strict=True) for a, b in zip(now, then, strict=True))


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_print_shows_the_plain_figure(tab: Any, address: str, chapter: str) -> None:
    panel = visit(tab, address, chapter)
    plain, live = panel.locator(".ys-explorer-static"), panel.locator(".ys-explorer-live")
    assert live.is_visible() and not plain.is_visible()
    tab.emulate_media(media="print")
    assert plain.is_visible() and not live.is_visible()
    assert plain.locator("svg[role=img]").get_attribute("aria-label")


@pytest.fixture
def without_javascript(browser: Any) -> Iterator[Any]:
    context = browser.new_context(java_script_enabled=False)
    yield context.new_page()
    context.close()


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_without_javascript_the_plain_figure_stands(without_javascript: Any, address: str, chapter: str) -> None:
    without_javascript.goto(f"{address}/{chapter}.html")
    panels = without_javascript.locator(PANEL)
    assert panels.count() > 0
    for panel in panels.all():
        assert panel.locator(".ys-explorer-static > svg").is_visible()
        assert panel.locator("figcaption").is_visible()


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_on_a_phone_nothing_sticks_out(tab: Any, address: str, complaints: list[str], chapter: str) -> None:
    tab.set_viewport_size({"width": 375, "height": 800})
    panel = visit(tab, address, chapter)
    assert tab.evaluate("document.documentElement.scrollWidth") <= 375
    for part in panel.locator("input, select, .ys-explorer-value, .ys-explorer-chart svg").all():
        box = part.bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= 375
    scroller = panel.evaluate(
        "panel => { const out = panel.closest('.text_html'); return out.scrollWidth - out.clientWidth }"
    )
    assert scroller <= 1
    assert complaints == []


def test_the_plot_is_as_wide_as_the_text_whatever_happens_to_the_window(tab: Any, address: str) -> None:
    drawing = visit(tab, address, "notebooks/tempora").locator(".ys-explorer-chart")
    fits = "chart => Math.abs(chart.querySelector('svg').getBoundingClientRect().width - chart.clientWidth) < 2"
    widths = set()
    for width in (375, 900, 1280, 900, 375, 1280):  # between the latter a sidebar comes and goes
        tab.set_viewport_size({"width": width, "height": 900})
        tab.wait_for_function(
            f"width => innerWidth === width && ({fits})(document.querySelector('.ys-explorer-chart'))", arg=width
        )
        tab.wait_for_timeout(300)
        assert drawing.evaluate(fits), width
        widths.add(drawing.evaluate("chart => chart.clientWidth"))
    assert len(widths) == 3
    tab.emulate_media(media="print")
    tab.emulate_media(media="screen")
    assert drawing.evaluate(fits)


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_panels_are_legible_in_both_themes(tab: Any, address: str, complaints: list[str], chapter: str) -> None:
    panel = visit(tab, address, chapter)
    ink = "panel => getComputedStyle(panel.querySelector('.ys-explorer-chart .role-axis-title text')).fill"
    colours = []
    for theme in ("light", "dark"):
        tab.emulate_media(color_scheme=theme)
        tab.wait_for_function(f"document.documentElement.dataset.theme === '{theme}'")
        assert tab.evaluate(CONTRAST) == []
        colours.append(panel.evaluate(ink))
    assert colours[0] != colours[1]
    assert complaints == []


def test_a_panel_that_comes_later_is_drawn_too(tab: Any, address: str, complaints: list[str]) -> None:
    visit(tab, address, "notebooks/tempora")
    tab.evaluate("""() => {
      const copy = document.querySelector("figure.ys-explorer").cloneNode(true);
      copy.querySelector(".ys-explorer-live").remove();
      delete copy.dataset.explorer;
      const cell = Object.assign(document.createElement("div"), { id: "later" });
      cell.append(copy);
      document.querySelector("article").append(cell);
    }""")
    tab.locator("#later").scroll_into_view_if_needed()
    tab.wait_for_selector(f"#later {READY}")
    assert drawn(tab.locator("#later"))
    assert complaints == []


@pytest.fixture
def loaded(tab: Any) -> list[str]:
    """What the tab has asked for."""
    urls: list[str] = []
    tab.on("request", lambda request: urls.append(request.url))
    return urls


def has_vega(urls: list[str]) -> bool:
    return any("/vega/" in url for url in urls)


def test_where_vega_does_not_come_the_plain_figure_stays_and_says_so(
    tab: Any, address: str, complaints: list[str]
) -> None:
    tab.route("**/vega/vega.js*", lambda route: route.abort())
    arrive(tab, address, "notebooks/ppat")
    panels = tab.locator(PANEL).all()
    assert len(panels) == 2
    for panel in panels:
        panel.scroll_into_view_if_needed()
        note = panel.get_by_role("status")
        note.wait_for()
        assert note.inner_text().startswith("The controls of this panel could not be loaded, so it shows one setting.")
        assert panel.locator(".ys-explorer-static").is_visible()
        assert panel.locator(".ys-explorer-live").count() == 0 and panel.get_attribute("tabindex") is None
    assert complaints and all("vega.js" in one or "ERR_FAILED" in one for one in complaints), (
        "it is in the console, too"
    )
    tab.emulate_media(media="print")
    assert not note.is_visible() and panels[-1].locator(".ys-explorer-static").is_visible()


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_vega_is_loaded_when_a_panel_comes_near(tab: Any, address: str, loaded: list[str], chapter: str) -> None:
    arrive(tab, address, chapter)
    panel = tab.locator(PANEL).first
    assert panel.get_attribute("data-explorer") == "waiting"
    assert panel.locator(".ys-explorer-static").is_visible() and panel.locator(".ys-explorer-live").count() == 0
    assert not has_vega(loaded)
    before = "panel => scrollTo(0, panel.getBoundingClientRect().top + scrollY - 1.5 * innerHeight)"
    panel.evaluate(before)  # below the window still
    tab.wait_for_selector(READY)
    assert panel.bounding_box()["y"] > 900
    visit(tab, address, chapter)
    assert sum("/vega/vega.js" in url for url in loaded) == 2, "once for each time that the page is opened"


def test_the_keyboard_reaches_a_panel_that_waits(tab: Any, address: str, complaints: list[str]) -> None:
    arrive(tab, address, "notebooks/tempora")
    assert tab.evaluate(f"document.querySelector('{PANEL}').matches('[data-explorer=waiting]:not(:focus)')")
    last = """panel => [...document.querySelectorAll("a[href], button, input, select, [tabindex='0']")].filter(
      (one) => one.checkVisibility() && one.compareDocumentPosition(panel) & 4).at(-1).focus({preventScroll: true})"""
    panel = tab.locator(PANEL).first
    panel.evaluate(last)
    assert tab.evaluate("scrollY") == 0 and panel.get_attribute("data-explorer") == "waiting"
    tab.keyboard.press("Tab")
    tab.wait_for_selector(READY)
    assert panel.get_by_role("slider").first.evaluate("slider => slider === document.activeElement")
    assert panel.get_attribute("tabindex") is None
    tab.keyboard.press("Shift+Tab")
    assert not panel.evaluate("panel => panel.contains(document.activeElement)")
    assert complaints == []


def test_a_page_that_nobody_has_scrolled_prints_the_plain_figure(tab: Any, address: str, loaded: list[str]) -> None:
    arrive(tab, address, "notebooks/tempora")
    tab.emulate_media(media="print")
    assert tab.locator(PANEL).first.locator(".ys-explorer-static > svg").is_visible()
    assert not has_vega(loaded)


def test_a_page_without_panels_loads_no_vega(tab: Any, address: str, loaded: list[str]) -> None:
    visit(tab, address, "book/how-to-read")
    tab.keyboard.press("End")
    tab.wait_for_timeout(300)
    assert loaded and not has_vega(loaded)


def test_panels_move_in_a_book_that_is_opened_as_a_file(tab: Any, html: Path, complaints: list[str]) -> None:
    """README tells to open the built book so. Browsers load no JavaScript modules there."""
    panel = visit(tab, html.as_uri(), "notebooks/cl")
    before = drawn(panel)
    panel.get_by_role("slider").first.press("ArrowRight")
    tab.wait_for_timeout(200)
    assert drawn(panel) != before
    assert [one for one in complaints if not one.startswith("outside request: file:")] == []


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_the_page_holds_no_widget_state(tab: Any, address: str, chapter: str) -> None:
    visit(tab, address, chapter)
    assert "widget-view" not in tab.content() and "widget-state" not in tab.content()
    assert tab.locator(".ys-note").inner_text() == "Controls appear here when this page runs live."
