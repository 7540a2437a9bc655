"""axe-core finds nothing but minor faults of accessibility, on the printed pages and on one that is live."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import vendor

from .test_live import FIGURE, N, press, rewrite, says
from .test_pages import WITH_INDEX, visit

ROOT = Path(__file__).resolve().parents[2]
# Contrast is left to contrast.js: axe takes most of its time for it, and does not look into figures. What is inside a
# picture that has a description, or a formula, is hidden from screen readers. What lies outside of every landmark is
# the same on each page, and looked for once.
RUN = """(without) => axe.run({exclude: ["svg[role=img] > *", "mjx-container > *", ...without]},
  {resultTypes: ["violations"], rules: {"color-contrast": {enabled: false}, region: {enabled: false}}})"""

pytestmark = pytest.mark.browser


@pytest.fixture(scope="session")
def axe() -> str:
    """The library; it is no part of the book."""
    folder = ROOT / "_build" / "tests"
    vendor.provide(vendor.read_packages(ROOT / "book" / "vendor.json", "tests"), folder)
    return (folder / "axe-core" / "axe.min.js").read_text(encoding="utf-8")


def faults(tab: Any, axe: str, without: Sequence[str] = ()) -> list[str]:
    """What is more than minor, in words, outside of the selectors in `without`."""
    tab.evaluate(f"() => {{ if (!window.axe) {{ {axe} }} }}")
    return [
        f"{found['impact']}, {found['id']}: {node['html'][:120]}"
        for found in tab.evaluate(RUN, list(without))["violations"]
        if found["impact"] != "minor"
        for node in found["nodes"]
    ]


def faults_in_both_themes(tab: Any, axe: str) -> list[str]:
    """The faults in light and dark: the dark has pictures of its own, but not in the article."""
    found = []
    for scheme, without in (("light", ()), ("dark", ("article",))):
        tab.emulate_media(color_scheme=scheme)
        tab.wait_for_function(f"document.documentElement.dataset.theme === '{scheme}'")
        found += [f"{scheme}: {fault}" for fault in faults(tab, axe, without)]
    return found


@pytest.mark.parametrize("page", WITH_INDEX)
def test_a_page_has_minor_faults_at_most(tab: Any, address: str, axe: str, page: str) -> None:
    visit(tab, address, page)
    assert faults_in_both_themes(tab, axe) == []


def test_everything_lies_in_a_landmark(tab: Any, address: str, axe: str) -> None:
    visit(tab, address, WITH_INDEX[0])
    tab.evaluate(axe)
    found = tab.evaluate("axe.run({runOnly: ['region']})")
    assert found["violations"] == [] and found["passes"]


def test_a_live_page_has_minor_faults_at_most(open_live: Callable[[str], Any], axe: str) -> None:
    tab = open_live("notebooks/trial")
    press(tab, "Run this page")
    says(tab, f"^All {N} cells done")
    assert faults_in_both_themes(tab, axe) == []
    rewrite(tab, FIGURE, "1 / 0")
    press(tab, "Run all")
    says(tab, "^Stopped")
    assert faults_in_both_themes(tab, axe) == []


def test_a_fault_is_found(tab: Any, axe: str) -> None:
    tab.set_content('<html lang="en"><title>t</title><main><h1>t</h1><input><img src="data:,"></main>')
    assert {fault.split(":")[0] for fault in faults(tab, axe)} == {"critical, image-alt", "critical, label"}
