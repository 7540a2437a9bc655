"""The extension that adds links to a page and takes outside scripts from it."""

import re
import tomllib
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import parse_qs, urlsplit

import build
import pages as extension
import pytest
import yaml
from sphinx.errors import ExtensionError

ROOT = Path(__file__).resolve().parents[2]
PAGES = build.toc_pages(yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8")))
CHAPTERS = [page for page in PAGES if page.startswith("notebooks/")]

PLACE = "https://github.com/someone/yardsticks"


def test_thebe_is_dropped_by_file_name_and_by_body() -> None:
    kept = SimpleNamespace(filename="_static/doctools.js", attributes={})
    named = SimpleNamespace(filename="_static/sphinx-thebe.js", attributes={})
    inline = SimpleNamespace(filename=None, attributes={"body": "const THEBE_JS_URL = 'x'"})
    assert extension.without_thebe([kept, named, inline, "plain.css", "sphinx-thebe.css"]) == [
        kept,
        "plain.css",
    ]


def test_a_screen_reader_is_not_misled() -> None:
    folded = '<details><summary aria-label="Toggle hidden content">\n<p>Show a solution</p></summary></details>'
    assert extension.mended(folded) == "<details><summary>\n<p>Show a solution</p></summary></details>"
    entry = '<div role="list" class="citation-list">\n<div class="citation" id="id5" role="doc-biblioentry">'
    assert extension.mended(entry) == '<div class="citation-list">\n<div class="citation" id="id5">'


def test_launch_links_follow_from_the_address() -> None:
    assert dict(extension.launch_links(PLACE + "/", "notebooks/pa.ipynb", "4f2a")) == {
        "Binder": "https://mybinder.org/v2/git/https%3A%2F%2Fgithub.com%2Fsomeone%2Fyardsticks/4f2a"
        "?urlpath=lab%2Ftree%2Fnotebooks%2Fpa.ipynb",
        "Colab": "https://colab.research.google.com/github/someone/yardsticks/blob/4f2a/notebooks/pa.ipynb",
        "Source": "https://github.com/someone/yardsticks/blob/4f2a/notebooks/pa.ipynb",
    }


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_launch_links_name_files_of_the_repository(chapter: str) -> None:
    links = dict(extension.launch_links(PLACE, f"{chapter}.ipynb", "4f2a"))
    binder = parse_qs(urlsplit(links["Binder"]).query)["urlpath"][0]
    assert (ROOT / binder.removeprefix("lab/tree/")).is_file()
    for name in ("Colab", "Source"):
        path = urlsplit(links[name]).path.partition("/blob/4f2a/")[2]
        assert path == f"{chapter}.ipynb" and (ROOT / path).is_file()


def test_colab_is_offered_for_its_own_host_only() -> None:
    elsewhere = "https://git.example.org/someone/yardsticks"
    assert set(dict(extension.launch_links(elsewhere, "notebooks/pa.ipynb", "4f2a"))) == {"Binder", "Source"}
    assert extension.colab_note(elsewhere, "4f2a") == ""


def test_what_colab_installs_is_what_the_project_asks_for() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    asked = re.findall(r'"([^"/]+)"', extension.COLAB)
    assert len(asked) == 2 and set(asked) <= set(extras["book"])


@pytest.mark.parametrize("address", ["", PLACE, "https://git.example.org/someone/yardsticks/"])
def test_a_usable_address_is_accepted(address: str) -> None:
    extension.check_address(None, SimpleNamespace(yardsticks_address=address))


@pytest.mark.parametrize("address", ["github.com/a/b", "http://github.com/a/b", "https://github.com/a"])
def test_another_address_is_refused(address: str) -> None:
    with pytest.raises(ExtensionError, match=r"yardsticks_address .* must be empty or a repository's address"):
        extension.check_address(None, SimpleNamespace(yardsticks_address=address))


def test_a_chapter_without_address_offers_downloads_only() -> None:
    line = extension.link_line([("student version", "../student/pa.ipynb")], [])
    assert line == ('<p class="ys-links">Download: <a href="../student/pa.ipynb" download>student version</a></p>')


def test_a_chapter_opens_in_the_browser() -> None:
    words, url = extension.lite_link("pa", lambda path, resource: f"../{path}")
    assert words == "in the browser (JupyterLite)"
    assert url == "../lite/lab/index.html?path=notebooks/pa.ipynb"


def test_a_chapter_with_address_offers_both() -> None:
    line = extension.link_line([("results", "r.json")], [("Binder", "https://example.org/?a=1&b=2")])
    assert ' · Open: <a href="https://example.org/?a=1&amp;b=2">Binder</a></p>' in line
