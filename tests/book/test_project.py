"""The extensions together, in a small Sphinx project: what builds, and what stops a build."""

import html
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

ROOT = Path(__file__).resolve().parents[2]
ADDRESS = "https://github.com/someone/yardsticks"
CONF = f"""
import sys
sys.path.insert(0, {str(ROOT / "book" / "_ext")!r})
extensions = ["myst_nb", "sphinx_design", "executed", "measured", "joined", "pages"]
nb_execution_mode = "off"
html_theme = "alabaster"
"""
INDEX = """# Book

```{{toctree}}
notebooks/demo
```

Score {{result}}`demo:score:.2f`, slope {{result}}`demo:slope`, a {{term}}`Pair`. {more}

## Terms

```{{joined-glossary}} glossary
```

```{{joined-errata}} errata
```
"""
ERRATUM = "- {id: not-so, source: a *paper*, claim: it is, holds: 'it is **not**', test: 't.py::test_not_so'}\n"


@pytest.fixture
def project(tmp_path: Path, run: Path) -> Path:
    """A book of two pages whose chapter has an executed copy and results."""
    source = tmp_path / "source"
    for folder in ("notebooks", "errata", "glossary"):
        (source / folder).mkdir(parents=True)
    (source / "conf.py").write_text(CONF, encoding="utf-8")
    (source / "index.md").write_text(INDEX.format(more=""), encoding="utf-8")
    stripped = '{"cells": [{"cell_type": "markdown", "id": "a", "metadata": {}, "source": "# A chapter"}],'
    stripped += '"metadata": {}, "nbformat": 4, "nbformat_minor": 5}'
    (source / "notebooks" / "demo.ipynb").write_text(stripped, encoding="utf-8")
    (source / "errata" / "demo.yml").write_text(ERRATUM, encoding="utf-8")
    (source / "glossary" / "common.yml").write_text("pair: two of a kind\n", encoding="utf-8")
    return source


def sphinx(project: Path, run: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Build the project strictly, with the executed copies in `run`."""
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "-n", "--keep-going", *options, ".", "out"]
    environment = os.environ | {"YARDSTICKS_EXECUTED": str(run)}
    return subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, check=False)


def test_a_sound_book_builds(project: Path, run: Path) -> None:
    done = sphinx(project, run, "-D", f"yardsticks_address={ADDRESS}")
    assert done.returncode == 0, done.stderr
    index = (project / "out" / "index.html").read_text(encoding="utf-8")
    assert '<span class="ys-result">2.12</span>' in index
    assert '<abbr title="one point only">—</abbr>' in index
    assert 'href="#term-pair"' in index
    assert 'id="erratum-not-so"' in index and "it is <strong>not</strong>" in index and "A chapter" in index
    chapter = (project / "out" / "notebooks" / "demo.html").read_text(encoding="utf-8")
    assert "42" in chapter, "the page shows the executed copy, not the stripped source"
    assert "<details" in chapter and "Show a solution" in chapter
    assert 'href="../student/demo.ipynb"' in chapter and 'href="../results/demo.result.json"' in chapter
    assert "lab%2Ftree%2Fnotebooks%2Fdemo.ipynb" in chapter and "/blob/HEAD/notebooks/demo.ipynb" in chapter
    assert "mybinder.org" in chapter and "colab.research" in chapter


def git(folder: Path, *arguments: str) -> str:
    """Run git in a folder, as nobody in particular, with the made-up address standing for the project."""
    settings = [
        "user.name=n",
        "user.email=e",
        f"url.{folder.as_uri()}.insteadOf={ADDRESS}",
        "protocol.file.allow=always",
    ]
    options = [part for setting in settings for part in ("-c", setting)]
    return subprocess.run(
        ["git", *options, "-C", str(folder), *arguments], check=True, capture_output=True, text=True
    ).stdout


def test_links_lead_to_the_commit_that_the_book_is_made_from(project: Path, run: Path, tmp_path: Path) -> None:
    """The address is made up, so git is told to find the project there; then every link is followed."""
    git(project, "init", "--quiet")
    git(project, "add", ".")
    git(project, "commit", "--quiet", "-m", "first")
    commit = git(project, "rev-parse", "HEAD").strip()
    done = sphinx(project, run, "-D", f"yardsticks_address={ADDRESS}")
    assert done.returncode == 0, done.stderr
    (project / "notebooks" / "demo.ipynb").unlink()
    git(project, "commit", "--quiet", "-a", "-m", "second: the notebook is gone")
    chapter = (project / "out" / "notebooks" / "demo.html").read_text(encoding="utf-8")
    links = [html.unescape(link) for link in re.findall(r'href="(https://[^"]+)"', chapter) if commit in link]
    assert [urlsplit(link).netloc for link in links] == ["mybinder.org", "colab.research.google.com", "github.com"]
    binder, colab, source = links
    assert unquote(urlsplit(binder).path) == f"/v2/git/{ADDRESS}/{commit}"
    path = parse_qs(urlsplit(binder).query)["urlpath"][0].removeprefix("lab/tree/")
    assert colab.endswith(f"/github/someone/yardsticks/blob/{commit}/{path}")
    assert source == f"{ADDRESS}/blob/{commit}/{path}"
    [lines] = re.findall(r'<details class="ys-colab">.*?<pre>(.*?)</pre>', chapter, re.S)
    for line in html.unescape(lines).splitlines():
        if line.startswith("!git "):
            git(project, *shlex.split(line.removeprefix("!git ").replace("/content", str(tmp_path))))
    assert (tmp_path / "yardsticks" / path).is_file(), "the clone is at the commit of the book, not at the newest"


def test_unknown_numbers_stop_the_build_and_all_are_named(project: Path, run: Path) -> None:
    more = "{result}`demo:bogus:.1f` and {result}`nobody:score`"
    (project / "index.md").write_text(INDEX.format(more=more), encoding="utf-8")
    done = sphinx(project, run)
    assert done.returncode == 1
    assert "index.md" in done.stderr
    assert "chapter 'demo' has no metric 'bogus'" in done.stderr
    assert "no results of a chapter 'nobody'" in done.stderr


def test_a_page_without_executed_copy_stops_the_build(project: Path, run: Path) -> None:
    (run / "demo.ipynb").unlink()
    done = sphinx(project, run)
    assert done.returncode != 0
    assert "notebooks/demo: no executed copy demo.ipynb" in done.stderr
