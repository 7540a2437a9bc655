"""The two pictures of README's section "Explore and run": taken at every run, kept where YARDSTICKS_SHOTS says."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .test_live import press, says
from .test_pages import visit

pytestmark = pytest.mark.browser

ROOT = Path(__file__).resolve().parents[2]
SIZE = {"width": 900, "height": 800}
MOST_BYTES = 150_000


@pytest.fixture
def shots(tmp_path: Path) -> Path:
    """The folder that YARDSTICKS_SHOTS names, seen from the repository; otherwise one that is thrown away."""
    folder = ROOT / os.environ["YARDSTICKS_SHOTS"] if "YARDSTICKS_SHOTS" in os.environ else tmp_path
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def test_explore(tab: Any, address: str, shots: Path) -> None:
    tab.set_viewport_size(SIZE)
    visit(tab, address, "notebooks/tempora")
    panel = tab.locator("figure.ys-explorer").first
    slider = panel.get_by_role("slider").first
    slider.press("ArrowLeft")
    tab.wait_for_timeout(300)  # drawn anew
    panel.screenshot(path=shots / "explore.png")
    assert (shots / "explore.png").stat().st_size < MOST_BYTES


def test_run(open_live: Callable[[str], Any], shots: Path) -> None:
    tab = open_live("notebooks/cl")
    tab.set_viewport_size(SIZE)
    press(tab, "Run this page")
    assert says(tab, "^All|^Stopped", 180).startswith("All")
    figure = tab.locator(".ys-live-output figure.ys-figure").first
    figure.evaluate("figure => scrollTo(0, figure.getBoundingClientRect().top + scrollY - innerHeight / 2)")
    tab.wait_for_timeout(300)
    tab.screenshot(path=shots / "run.png")
    assert (shots / "run.png").stat().st_size < MOST_BYTES
