"""The grids that come with the book plan, and the pages about running them say what the command takes."""

import re
import shlex
from pathlib import Path

import pytest
import yaml

from helpers import cli
from helpers.batch import keys, read_grid

ROOT = Path(__file__).resolve().parents[2]
GRIDS = sorted((ROOT / "notebooks" / "grids").glob("*"))
CHAPTERS = re.findall(r"file: notebooks/(\w+)", (ROOT / "_toc.yml").read_text(encoding="utf-8"))
RE_RUN, CLUSTER = ((ROOT / "book" / name).read_text(encoding="utf-8") for name in ("re-run.md", "cluster.md"))


@pytest.fixture(autouse=True)
def _in_the_project(monkeypatch: pytest.MonkeyPatch) -> None:
    """Grids name notebooks, and notebooks data, from the top of the project."""
    monkeypatch.chdir(ROOT)


def test_there_are_the_four() -> None:
    assert [path.name for path in GRIDS] == ["book.yml", "paper.yml", "smoke.yml", "workshop.yml"]


@pytest.mark.parametrize("grid", GRIDS, ids=lambda path: path.stem)
def test_a_grid_plans_and_what_it_needs_is_there(grid: Path) -> None:
    assert keys.identify(read_grid(grid))


@pytest.mark.parametrize("name", ["book", "smoke"])
def test_a_book_has_every_chapter_once(name: str) -> None:
    """A page is made of the job that is called like its chapter."""
    jobs = [job.name for job in read_grid(ROOT / "notebooks" / "grids" / f"{name}.yml")]
    assert sorted(jobs) == sorted(CHAPTERS)


def test_the_published_book_runs_at_the_defaults() -> None:
    for chapter, entry in yaml.safe_load((ROOT / "notebooks/grids/book.yml").read_bytes())["chapters"].items():
        assert "parameters" not in entry and "include" not in entry, chapter


def test_the_sources_scale_means_several_seeds() -> None:
    jobs = read_grid(ROOT / "notebooks" / "grids" / "paper.yml")
    for chapter in {job.chapter for job in jobs}:
        assert len({job.parameters["seed"] for job in jobs if job.chapter == chapter}) >= 3, chapter


def test_the_grid_on_the_page_plans(tmp_path: Path) -> None:
    text = re.search(r"```yaml\n(# mine\.yml\n.*?)```", RE_RUN, flags=re.S).group(1)
    (tmp_path / "mine.yml").write_text(text, encoding="utf-8")
    jobs = read_grid(tmp_path / "mine.yml")
    assert len(jobs) == 5
    for job in jobs:
        assert job.name in RE_RUN, "the printed names are those of this grid"


@pytest.mark.parametrize("line", re.findall(r"yardsticks batch (?:[^`\\\n]|\\\n)+", RE_RUN + CLUSTER))
def test_a_printed_command_is_one(line: str) -> None:
    cli._parser().parse_args(shlex.split(line.replace("\\\n", ""))[1:])
