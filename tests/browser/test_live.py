""" "Run this page" in Chromium: cells run, stop, begin anew and go back, and nothing leaves the machine."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import build
import nbformat
import pytest
import yaml

from ..serving import TOKEN, Served, serving
from .conftest import watched
from .test_pages import WIDE, illegible
from .trial import CELLS

ROOT = Path(__file__).resolve().parents[2]
PAGES = list(build.toc_pages(yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))))
CHAPTERS = [page for page in PAGES if page.startswith("notebooks/")]
N = len(CELLS)
PARAMETERS, IMPORTS, FIGURE, WIDGET, SLOW, FORMULA, HIDDEN = range(N)
CURVE = "svg[aria-label='a curve of power {}']"

KERNEL = {"name": "python3", "display_name": "Python 3 (ipykernel)"}

pytestmark = pytest.mark.browser


def press(tab: Any, label: str) -> None:
    """Press a button of the bar."""
    tab.get_by_role("group", name="Run this page").get_by_role("button", name=label, exact=True).click()


def says(tab: Any, words: str, seconds: float = 60) -> str:
    """Wait until the state line matches; returns it."""
    line = "document.querySelector('.ys-live [role=status]').textContent"
    tab.wait_for_function(f"words => new RegExp(words).test({line})", arg=words, timeout=1000 * seconds)
    text: str = tab.evaluate(line)
    return text


def code(tab: Any, index: int) -> Any:
    return tab.locator("article .cell").nth(index).locator("pre[role=textbox]")


def output(tab: Any, index: int) -> Any:
    return tab.locator("article .cell").nth(index).locator(".ys-live-output")


def states(tab: Any) -> list[str]:
    return tab.eval_on_selector_all("article .cell", "cells => cells.map((cell) => cell.dataset.live)")


def rewrite(tab: Any, index: int, lines: str) -> None:
    """Replace the code of a cell by keyboard."""
    code(tab, index).focus()
    tab.keyboard.press("Control+a")
    tab.keyboard.insert_text(lines)


def run_one(tab: Any, index: int, lines: str) -> str:
    """Replace the code of a cell, run it by keyboard, and return how it ended."""
    rewrite(tab, index, lines)
    tab.keyboard.press("Shift+Enter")
    return says(tab, r"^1 cell done|^Stopped")


@pytest.fixture(scope="module")
def one_page(browser: Any, served: Served) -> Iterator[tuple[Any, list[str]]]:
    """The trial page, run once with the button, and what its tab has to complain about."""
    context = browser.new_context(color_scheme="light", viewport={"width": 1280, "height": 900})
    found: list[str] = []
    tab = watched(context, served.address, found)
    tab.goto(f"{served.address}/book/notebooks/trial.html?token={TOKEN}")
    press(tab, "Run this page")
    says(tab, f"^All {N} cells done")
    yield tab, found
    context.close()


@pytest.fixture
def trial(one_page: tuple[Any, list[str]]) -> Iterator[Any]:
    """The live trial page with its own code; the variables in its kernel are from whatever ran before."""
    tab, found = one_page
    for index, text in enumerate(CELLS):
        code(tab, index).evaluate("(element, text) => (element.textContent = text)", text)
    yield tab
    tab.set_viewport_size({"width": 1280, "height": 900})
    tab.emulate_media(color_scheme="light", media="screen")
    assert found == []
    found.clear()


# -------------------------------------------------------------------- where there is a server, and where not


@pytest.mark.parametrize("page", [CHAPTERS[0], PAGES[0]])
def test_without_the_server_there_is_no_button(tab: Any, address: str, complaints: list[str], page: str) -> None:
    tab.goto(f"{address}/{page}.html", wait_until="networkidle")
    assert tab.locator(".ys-live").count() == 0
    assert complaints == []


def test_the_served_book_offers_the_button_on_chapters_only(
    visitor: Any, served: Served, open_live: Callable[[str], Any]
) -> None:
    tab = open_live(CHAPTERS[0])
    assert tab.url == f"{served.address}/book/{CHAPTERS[0]}.html", "the token stays out of the address"
    assert TOKEN not in tab.content()
    tab.goto(f"{served.address}/book/{PAGES[0]}.html", wait_until="networkidle")
    assert tab.locator(".ys-live").count() == 0


@pytest.mark.parametrize("token", ["", "?token=wrong"])
def test_without_the_token_there_is_no_page(visitor: Any, served: Served, token: str) -> None:
    tab = visitor.new_page()
    tab.goto(f"{served.address}/book/notebooks/trial.html{token}")
    assert tab.url.startswith(f"{served.address}/login")
    assert "Trial" not in tab.inner_text("body")


def test_another_sites_page_gets_no_kernel(
    visitor: Any, served: Served, address: str, open_live: Callable[[str], Any]
) -> None:
    """The reader is logged in, and a page from elsewhere posts to the server with the reader's cookies."""
    before = served.kernels()
    open_live("notebooks/trial")
    evil = visitor.new_page()
    evil.goto(f"{address}/book/index.html")
    evil.evaluate(
        "(url) => fetch(url, {method: 'POST', mode: 'no-cors', credentials: 'include', body: '{}'})",
        f"{served.address}/api/kernels",
    )
    evil.set_content(f'<form method="post" action="{served.address}/api/kernels"><button>Win a prize</button></form>')
    evil.click("button")
    evil.wait_for_url(f"{served.address}/api/kernels")
    assert "python3" not in evil.inner_text("body")
    assert served.kernels() == before


# -------------------------------------------------------------------- every chapter


# No figure of this chapter depends on its seed.
CHANGES = {"notebooks/cl": ("confidence: float = 0.95", "confidence: float = 0.8")}


@pytest.mark.slow
@pytest.mark.parametrize("chapter", CHAPTERS)
def test_every_cell_of_a_chapter_runs_and_a_changed_parameter_changes_a_figure(
    open_live: Callable[[str], Any], chapter: str
) -> None:
    tab = open_live(chapter)
    figures = "figure.ys-figure > svg"
    # what live controls draw is not on the printed page
    content = "all => all.filter((one) => !one.closest('.jupyter-widgets')).map((one) => one.outerHTML)"
    printed = tab.eval_on_selector_all(figures, content)
    press(tab, "Edit first")
    says(tab, "^The cells are live")
    parameters = tab.locator(".cell.tag_parameters pre[role=textbox]")
    values = parameters.inner_text()
    assert parameters.count() == 1
    parameters.focus()
    tab.keyboard.press("Control+a")
    before, after = CHANGES.get(chapter, ("seed: int = 0", "seed: int = 1"))
    tab.keyboard.insert_text(values.replace(before, after))
    press(tab, "Run all")
    count = tab.locator("article pre[role=textbox]").count()
    assert says(tab, "^All|^Stopped", 180).startswith(f"All {count} cells done")
    assert set(states(tab)) == {"done"}
    now = tab.eval_on_selector_all(figures, content)
    assert len(now) == len(printed)
    if printed:
        assert before in values
        assert now != printed
    assert tab.locator("article svg[role=img]:not([aria-label]), article img:not([alt])").count() == 0
    assert illegible(tab) == []
    tab.set_viewport_size({"width": 375, "height": 800})
    assert tab.evaluate("document.documentElement.scrollWidth") <= 375, tab.evaluate(WIDE)


# -------------------------------------------------------------------- one page, in small


def test_every_cell_runs(trial: Any) -> None:
    press(trial, "Run all")
    says(trial, f"^All {N} cells done")
    assert states(trial) == ["done"] * N
    assert trial.locator(CURVE.format(2)).count() == 1
    assert output(trial, SLOW).inner_text().split("\n")[:2] == ["step 0", "step 1"]
    assert "printed steps" not in trial.inner_text("article")
    assert output(trial, HIDDEN).inner_text().strip() == "power is 2", "code that is folded away runs too"
    assert output(trial, HIDDEN).is_visible()
    output(trial, FORMULA).locator("mjx-container").wait_for()


def test_an_edited_parameter_changes_the_figure(trial: Any) -> None:
    rewrite(trial, PARAMETERS, "power: int = 4")
    assert states(trial)[PARAMETERS] == "edited"
    press(trial, "Run all")
    trial.wait_for_selector(CURVE.format(4))
    says(trial, f"^All {N} cells done in .* Numbers in the text stay as printed")
    assert trial.locator(CURVE.format(2)).count() == 0
    assert output(trial, HIDDEN).inner_text().strip() == "power is 4"


def test_a_live_widget_redraws(trial: Any) -> None:
    press(trial, "Run all")
    says(trial, f"^All {N} cells done")
    output(trial, WIDGET).locator(CURVE.format(1)).wait_for()
    assert trial.locator(CURVE.format(1)).count() == 1
    slider = output(trial, WIDGET).get_by_role("slider")
    slider.focus()
    trial.keyboard.press("ArrowRight")
    trial.keyboard.press("ArrowRight")
    trial.wait_for_selector(CURVE.format(3))
    assert trial.locator(CURVE.format(1)).count() == 0


def test_a_progress_bar_that_closes_makes_no_noise(trial: Any) -> None:
    lines = (
        "from tqdm.auto import tqdm\nfor _ in range(3):\n    [time.sleep(0.01) for _ in tqdm(range(9), leave=False)]"
    )
    for _ in range(2):
        assert run_one(trial, SLOW, f"import time\n{lines}").startswith("1 cell done")
    trial.wait_for_timeout(300)  # complaints come a little later; the fixture looks at them


def test_an_error_is_shown_and_stops_there(trial: Any) -> None:
    press(trial, "Restart")
    says(trial, "^The kernel is new")
    rewrite(trial, FIGURE, "1 / 0")
    press(trial, "Run all")
    assert says(trial, "^Stopped") == f"Stopped in cell 3 of {N}. ZeroDivisionError: division by zero"
    assert states(trial) == ["done", "done", "failed", "", "", "", ""]
    assert "ZeroDivisionError" in output(trial, FIGURE).inner_text()
    assert "not run" in trial.locator("article .cell").nth(WIDGET).inner_text()
    assert run_one(trial, FIGURE, "'mended'").startswith("1 cell done")
    assert output(trial, FIGURE).inner_text().strip() == "'mended'"


def test_an_error_in_folded_code_unfolds_it(trial: Any) -> None:
    cell = trial.locator("article .cell").nth(HIDDEN)
    cell.locator("summary").click()
    rewrite(trial, HIDDEN, "no_such_name")
    cell.locator("summary").click()
    press(trial, "Run all")
    says(trial, f"^Stopped in cell {N} of {N}. NameError")
    assert code(trial, HIDDEN).is_visible()


def test_edit_first_runs_nothing_and_a_cell_that_runs_too_early_says_so(open_live: Callable[[str], Any]) -> None:
    tab = open_live("notebooks/trial")
    press(tab, "Edit first")
    says(tab, "^The cells are live")
    assert tab.evaluate("document.activeElement.ariaLabel") == f"Code of cell 1 of {N}. Shift+Enter runs it."
    assert states(tab) == [""] * N
    ended = run_one(tab, FORMULA, "power")
    assert ended.endswith("NameError: name 'power' is not defined (Not every cell above it has run.)")
    assert output(tab, SLOW).count() == 0
    assert "printed steps" in tab.inner_text("article"), "what has not run stays as printed"


def test_cells_are_edited_by_keyboard(trial: Any) -> None:
    code(trial, 0).focus()
    trial.keyboard.press("Control+a")
    trial.keyboard.type("if 1 / 2:\nprint('s')")  # a slash is the page's key for the search
    assert code(trial, 0).inner_text() == "if 1 / 2:\n    print('s')"
    trial.keyboard.press("Shift+Enter")
    says(trial, "^1 cell done")
    assert output(trial, 0).inner_text() == "s\n"
    trial.keyboard.press("Tab")  # leaves the code for the theme's button that copies it
    trial.keyboard.press("Tab")
    assert trial.evaluate("document.activeElement.ariaLabel") == f"Run cell 1 of {N}"
    trial.keyboard.press("Enter")
    says(trial, "^1 cell done")


def test_edited_code_is_plain_until_it_is_as_printed_again(open_live: Callable[[str], Any]) -> None:
    """Colours of the printed letters would stay on whatever takes their place."""
    tab = open_live("notebooks/cl")
    colours = "pre => [...new Set([...pre.querySelectorAll('span')].map((one) => getComputedStyle(one).color))]"
    press(tab, "Edit first")
    says(tab, "^The cells are live")
    first = code(tab, 0)
    printed = first.evaluate(colours)
    assert len(printed) > 2
    first.focus()
    tab.keyboard.type("#")
    assert first.inner_text().startswith("#")
    assert first.evaluate(colours) == [first.evaluate("pre => getComputedStyle(pre).color")]
    assert len(code(tab, 1).evaluate(colours)) > 2, "other cells keep theirs"
    tab.keyboard.press("Backspace")
    assert first.evaluate(colours) == printed


def test_a_long_cell_shows_where_it_is_and_can_be_interrupted(trial: Any) -> None:
    rewrite(
        trial, SLOW, "import time\nfor step in range(300):\n    print('step', step, flush=True)\n    time.sleep(0.1)"
    )
    trial.keyboard.press("Shift+Enter")
    assert says(trial, "^Running") == f"Running cell 5 of {N}"
    trial.wait_for_function("/^[1-9].* s$/.test(document.querySelector('.ys-live-clock').textContent)")
    assert "step 1" in output(trial, SLOW).inner_text(), "output comes while it runs"
    assert states(trial)[SLOW] == "running"
    press(trial, "Interrupt")
    assert says(trial, "^Stopped") == f"Stopped in cell 5 of {N}. Interrupted."
    assert "KeyboardInterrupt" in output(trial, SLOW).inner_text()
    assert run_one(trial, SLOW, "step").startswith("1 cell done"), "its variables are still there"


def test_a_restart_gives_a_new_kernel_also_while_a_cell_runs(trial: Any, served: Served) -> None:
    run_one(trial, PARAMETERS, "kept = 1")
    rewrite(trial, SLOW, "import time; time.sleep(600)")
    trial.keyboard.press("Shift+Enter")
    says(trial, "^Running")
    before = served.kernels()
    press(trial, "Restart")
    assert says(trial, "^The kernel") == "The kernel is new: nothing has run in it yet."
    assert "NameError" in run_one(trial, SLOW, "kept")
    assert served.kernels() == before, "in the same place"


def test_a_kernel_that_dies_is_reported_and_replaced(trial: Any) -> None:
    died = run_one(trial, SLOW, "import os; os._exit(1)")
    assert died.startswith(f"Stopped in cell 5 of {N}. The kernel has died")
    assert run_one(trial, SLOW, "40 + 2").startswith("1 cell done")
    assert output(trial, SLOW).inner_text().strip() == "42"


def test_reset_brings_the_printed_page_back_and_ends_the_kernel(trial: Any, served: Served) -> None:
    rewrite(trial, PARAMETERS, "power = 5")
    before = served.kernels()
    press(trial, "Reset")
    assert says(trial, "^The page") == "The page is as printed, and its kernel has ended."
    assert trial.locator("[role=textbox], [data-live], .ys-live-output, .ys-cell-bar").count() == 0
    cells = trial.locator("article .cell .cell_input pre").all()
    assert [cell.text_content().strip() for cell in cells] == [text.strip() for text in CELLS]
    assert "printed figure" in trial.inner_text("article") and "printed steps" in trial.inner_text("article")
    for _ in range(100):
        if len(served.kernels()) == len(before) - 1:
            break
        trial.wait_for_timeout(100)
    assert len(served.kernels()) == len(before) - 1
    press(trial, "Run this page")
    says(trial, f"^All {N} cells done")


def test_reset_in_the_middle_leaves_nothing_behind(open_live: Callable[[str], Any], served: Served) -> None:
    tab = open_live("notebooks/trial")
    before = served.kernels()
    press(tab, "Run this page")
    press(tab, "Reset")  # while the kernel starts
    press(tab, "Run this page")
    says(tab, f"Running cell 5 of {N}")
    press(tab, "Reset")  # while a cell runs
    tab.wait_for_timeout(300)
    assert says(tab, "^The page").endswith("its kernel has ended.")
    assert tab.locator("[role=textbox], [data-live], .ys-live-output").count() == 0
    served.wait_for_kernels(before)


def test_two_pages_do_not_mix_and_leaving_one_ends_its_kernel(open_live: Callable[[str], Any], served: Served) -> None:
    before = served.kernels()
    pages = [open_live("notebooks/trial") for _ in range(2)]
    own = []
    for value, tab in enumerate(pages):
        tab.bring_to_front()
        press(tab, "Edit first")
        says(tab, "^The cells are live")
        run_one(tab, PARAMETERS, f"mine = {value}")
        own.append(served.kernels() - before - set().union(*own))
    assert [len(kernels) for kernels in own] == [1, 1]
    for value, tab in enumerate(pages):
        tab.bring_to_front()
        run_one(tab, FIGURE, "mine")
        assert output(tab, FIGURE).inner_text().strip() == str(value)
    pages[1].goto(f"{served.address}/book/{PAGES[0]}.html")
    served.wait_for_kernels(before | own[0])
    pages[0].bring_to_front()
    run_one(pages[0], FIGURE, "mine + 40")
    assert output(pages[0], FIGURE).inner_text().strip() == "40"
    pages[0].close()
    served.wait_for_kernels(before)


@pytest.fixture
def playwright_error() -> type[Exception]:
    from playwright.sync_api import Error

    return Error


def test_a_page_that_crashes_loses_its_kernel_soon(
    visitor: Any, live_book: Path, tmp_path: Path, complaints: list[str], playwright_error: type[Exception]
) -> None:
    """Even where a cell is running. The page next to it keeps its own."""
    with serving(live_book, tmp_path, forsaken_s=3) as one:
        tabs, own = [], []
        for _ in range(2):
            tab = watched(visitor, one.address, complaints)
            tab.goto(f"{one.address}/book/notebooks/trial.html?token={TOKEN}")
            press(tab, "Edit first")
            says(tab, "^The cells are live")
            own.append(one.kernels().difference(*own))
            tabs.append(tab)
        crashing, staying = tabs
        rewrite(crashing, SLOW, "import time; time.sleep(600)")
        crashing.keyboard.press("Shift+Enter")
        says(crashing, "^Running")
        crashing.bring_to_front()
        with crashing.expect_event("crash"), pytest.raises(playwright_error):
            crashing.goto("chrome://crash")
        assert one.kernels() == own[0] | own[1], "at first it could be the network"
        one.wait_for_kernels(own[1])
        staying.bring_to_front()
        assert run_one(staying, FIGURE, "6 * 7").startswith("1 cell done")
    assert complaints == []


def test_a_kernel_starts_in_the_scratch_folder_with_figures_switched_on(trial: Any, served: Served) -> None:
    run_one(trial, PARAMETERS, "import os, helpers; print(os.getcwd())")
    assert output(trial, PARAMETERS).inner_text().strip() == str(served.scratch)
    run_one(trial, FIGURE, "import matplotlib.pyplot as plt; plt.plot([1, 2]); plt.show()")
    picture = output(trial, FIGURE).locator("img")
    assert picture.get_attribute("alt") == f"Picture made by cell 3 of {N}, without a description"


def test_a_widget_of_another_package_is_not_fetched_from_elsewhere(trial: Any, one_page: tuple[Any, list[str]]) -> None:
    lines = (
        "import ipywidgets, traitlets\n"
        "class Foreign(ipywidgets.DOMWidget):\n"
        "    _model_module = traitlets.Unicode('foreign').tag(sync=True)\n"
        "    _model_name = traitlets.Unicode('ForeignModel').tag(sync=True)\n"
        "    _view_module = traitlets.Unicode('foreign').tag(sync=True)\n"
        "    _view_name = traitlets.Unicode('ForeignView').tag(sync=True)\n"
        "Foreign()"
    )
    run_one(trial, FIGURE, lines)
    complaints = one_page[1]
    for _ in range(50):
        if any("404" in one for one in complaints):
            break
        trial.wait_for_timeout(100)
    assert "404" in complaints[0], "it was looked for where the book lies"
    assert not [one for one in complaints if one.startswith("outside")]
    complaints.clear()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_live_page_is_legible_and_fits_a_phone(trial: Any, scheme: str) -> None:
    trial.emulate_media(color_scheme=scheme)
    trial.wait_for_function(f"document.documentElement.dataset.theme === '{scheme}'")
    run_one(trial, SLOW, "print('seen', file=sys.stderr)\nimport json\njson.loads('{')")
    assert illegible(trial) == []
    trial.set_viewport_size({"width": 375, "height": 800})
    assert trial.evaluate("document.documentElement.scrollWidth") <= 375, trial.evaluate(WIDE)


def test_the_bar_stays_in_sight_and_is_not_printed(trial: Any) -> None:
    bar = trial.locator(".ys-live")
    code(trial, HIDDEN - 1).scroll_into_view_if_needed()
    trial.evaluate("scrollTo(0, document.body.scrollHeight / 2)")
    assert 0 <= bar.bounding_box()["y"] < 100
    trial.emulate_media(media="print")
    assert not bar.is_visible()
    assert trial.locator(".ys-cell-bar:visible").count() == 0


def test_a_link_opens_a_copy_in_jupyterlab(
    open_live: Callable[[str], Any], served: Served, live_book: Path, complaints: list[str]
) -> None:
    before = served.kernels()
    tab = open_live("notebooks/pa")
    with tab.expect_popup() as popup:
        tab.get_by_role("link", name="Open a copy in JupyterLab").click()
    lab = popup.value
    lab.on("request", lambda one: one.url.startswith((served.address, "data:", "blob:")) or complaints.append(one.url))
    lab.on("console", lambda one: one.type != "error" or complaints.append(one.text))
    lab.wait_for_selector(".jp-Notebook .jp-CodeCell", timeout=60_000)
    assert re.fullmatch(f"{served.address}/lab/tree/pa(-\\d+)?\\.ipynb", lab.url)
    copied = json.loads((served.scratch / lab.url.rpartition("/")[2]).read_text(encoding="utf-8"))
    source = json.loads((live_book / "_sources" / "notebooks" / "pa.ipynb").read_text(encoding="utf-8"))
    assert copied == source
    lab.wait_for_selector(".jp-Notebook-ExecutionIndicator[data-status=idle]", timeout=60_000)
    lab.close()  # which would complain that its kernel is gone
    served.end(served.kernels() - before)


PANEL = """from helpers.explorer import Axis, build
rows = [
    {"speed": speed, "time": time, "utility": 1 / (1 + speed * time), "method": "one"}
    for speed in (1, 2, 3) for time in (1, 2, 4)
]
build(
    rows, name="demo", x=Axis("time", "time (ms)"), y=Axis("utility", "utility (share)"), series="method",
    sliders={"speed": "latency (ms)"},
)"""


def test_panels_move_in_jupyterlab(
    open_live: Callable[[str], Any], visitor: Any, served: Served, complaints: list[str]
) -> None:
    before = served.kernels()
    open_live("notebooks/trial")  # logs in
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(PANEL)], metadata={"kernelspec": KERNEL})
    nbformat.write(notebook, served.scratch / "panel.ipynb")
    lab = watched(visitor, served.address, complaints)
    lab.goto(f"{served.address}/lab/tree/panel.ipynb?reset")  # else it opens what was open before, too
    lab.wait_for_selector(".jp-Notebook-ExecutionIndicator[data-status=idle]", timeout=60_000)
    lab.get_by_text("Python 3 (ipykernel) | Idle").wait_for(timeout=60_000)
    lab.locator(".jp-Notebook .cm-content").first.click()
    lab.keyboard.press("Control+Enter")
    output = lab.locator(".jp-OutputArea-output")
    slider = output.get_by_role("slider")
    slider.wait_for(timeout=60_000)
    drawing = output.locator("svg.marks")
    drawing.wait_for()
    assert drawing.bounding_box()["width"] > 400
    shape = "svg => svg.querySelector('.mark-line path').getAttribute('d')"
    at_start = drawing.evaluate(shape)
    assert "latency (ms): 1" in drawing.text_content()
    box = slider.bounding_box()
    slider.click(position={"x": box["width"] - 2, "y": box["height"] / 2})  # JupyterLab keeps the arrow keys to itself
    output.get_by_text("latency (ms): 3").wait_for()
    assert drawing.evaluate(shape) != at_start
    lab.close()  # which would complain that its kernel is gone
    served.end(served.kernels() - before)


def test_a_server_that_stops_in_the_middle_is_named_and_a_new_one_taken(
    visitor: Any, live_book: Path, tmp_path: Path, complaints: list[str]
) -> None:
    tab = visitor.new_page()
    tab.on("pageerror", lambda error: complaints.append(f"uncaught: {error}"))
    with serving(live_book, tmp_path / "first") as first:
        tab.goto(f"{first.address}/book/notebooks/trial.html?token={TOKEN}")
        press(tab, "Edit first")
        says(tab, "^The cells are live")
        rewrite(tab, SLOW, "import time; print('begun'); time.sleep(600)")
        tab.keyboard.press("Shift+Enter")
        says(tab, "^Running")
        first.stop()
        assert says(tab, "^The server").startswith("The server has stopped, and every kernel with it. Start it again")
        assert states(tab)[SLOW] == "failed"
        assert tab.inner_text(".ys-live-clock") == ""
        assert code(tab, SLOW).inner_text().startswith("import time"), "what was typed is still there"
        press(tab, "Run this page")
        says(tab, "^The server has stopped")
    with serving(live_book, tmp_path / "second") as second:
        assert second.address == first.address
        rewrite(tab, SLOW, "'again'")
        tab.keyboard.press("Shift+Enter")
        says(tab, "^The server does not know this browser")
        other = visitor.new_page()
        other.goto(f"{second.address}/book/index.html?token={TOKEN}")
        tab.bring_to_front()
        code(tab, SLOW).focus()
        tab.keyboard.press("Shift+Enter")
        says(tab, "^1 cell done")
        press(tab, "Reset")
        assert "printed steps" in tab.inner_text("article")
    assert complaints == []


def test_the_library_comes_from_the_book(html: Path) -> None:
    """What it would fetch from elsewhere was replaced when it was unpacked, and require.js lies where it says."""
    text = (html / "_static" / "thebe-core" / "thebe-core.min.js").read_text(encoding="utf-8")
    assert "require.js/2.3.6" not in text and "cdn.jsdelivr.net" not in text
    assert text.count('"../_static/requirejs/require.js"') == 1
    assert (html / "_static" / "requirejs" / "require.js").is_file()
