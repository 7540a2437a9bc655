"""The panels on the built pages: moved by keyboard, in both themes, on a phone, in print and without JavaScript."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.browser

CHAPTERS = ["notebooks/tempora", "notebooks/ppat", "notebooks/pmk", "notebooks/cl", "notebooks/pa"]
CONTRAST = (Path(__file__).parent / "contrast.js").read_text(encoding="utf-8")
PANEL = "figure.ys-explorer"
READY = f"{PANEL}[data-explorer=ready]"
MARKS = ".ys-explorer-chart svg .mark-line path, .ys-explorer-chart svg .mark-symbol.role-mark path"


def visit(tab: Any, address: str, chapter: str) -> Any:
    """Open a chapter, wait until every panel on it is drawn, and return the first."""
    tab.goto(f"{address}/{chapter}.html")
    tab.wait_for_selector(READY, timeout=30_000)
    tab.wait_for_function(f"document.querySelectorAll('{PANEL}:not([data-explorer=ready])').length === 0")
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


def test_a_wider_window_gets_a_wider_plot(tab: Any, address: str) -> None:
    tab.set_viewport_size({"width": 375, "height": 800})
    drawing = visit(tab, address, "notebooks/tempora").locator(".ys-explorer-chart svg")
    narrow = drawing.bounding_box()["width"]
    tab.set_viewport_size({"width": 1280, "height": 900})
    tab.wait_for_function(
        "([svg, width]) => svg.getBoundingClientRect().width > 1.3 * width", arg=[drawing.element_handle(), narrow]
    )


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
    tab.wait_for_selector(f"#later {READY}")
    assert drawn(tab.locator("#later"))
    assert complaints == []


def test_where_vega_does_not_come_the_plain_figure_stays(tab: Any, address: str) -> None:
    tab.route("**/vega/vega.js*", lambda route: route.abort())
    tab.goto(f"{address}/notebooks/tempora.html")
    tab.wait_for_selector(f"{PANEL}[data-explorer=failed]")
    assert tab.locator(".ys-explorer-static").first.is_visible()
    assert tab.locator(".ys-explorer-live").count() == 0


def test_only_pages_with_panels_load_vega(tab: Any, address: str) -> None:
    loaded: list[str] = []
    tab.on("request", lambda request: loaded.append(request.url))
    tab.goto(f"{address}/book/how-to-read.html", wait_until="networkidle")
    assert loaded and not any("vega" in url for url in loaded)
    visit(tab, address, "notebooks/tempora")
    assert sum("vega.js" in url for url in loaded) == 1


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_the_page_holds_no_widget_state(tab: Any, address: str, chapter: str) -> None:
    visit(tab, address, chapter)
    assert "widget-view" not in tab.content() and "widget-state" not in tab.content()
    assert tab.locator(".ys-note").inner_text() == "Controls appear here when this page runs live."
