"""All results together: the tidy table, its file, and the page that lists the runs."""

import csv
import json
import math
import sys
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pandas
import pytest

from helpers.batch import collect
from helpers.batch.gather import tidy, write_index, write_table
from helpers.batch.keys import identify
from helpers.batch.plan import Job, read_grid
from helpers.batch.runner import Outcome, stored
from helpers.batch.store import Entry, Store
from helpers.errors import InputError, MissingExtra
from helpers.results import Metric

from ..selfcontained import addresses_outside
from .conftest import Project, make

METRICS = {
    "accuracy": Metric(0.912345, "ratio", interval=(0.9, 0.925)),
    "beta": Metric(math.inf, "", interval=(1.5, math.inf)),
    "lowest": Metric(-math.inf, "nat", reason="no interval: it is a limit"),
    "drop": Metric(None, "ratio", reason="no frame <changed>"),
    "verdict": Metric("holds & <stays>", "", reason="words have no interval"),
}
GRID = "chapters: {pa: {parameters: {alpha: [1, 2], seed: 7}}}"


def result(**metrics: Metric) -> bytes:
    return json.dumps({"metrics": {name: metric.to_dict() for name, metric in metrics.items()}}).encode()


def keep(grid: Path, results: Callable[[Job], bytes | None], *, store: str = "store") -> None:
    """Put outcomes of a grid's jobs into a store, as if they had been executed."""
    for identity in identify(read_grid(grid)):
        note = {"seconds": 2.0, "parts": identity.parts}
        Store(store).add(identity, Entry(identity.source, results(identity.job), b"log\n", note))


def test_collect(project: Project) -> None:
    grid = project(GRID, pa=make())
    keep(grid, lambda job: result(**METRICS) if job.parameters["alpha"] == 1 else result(accuracy=Metric(1, "ratio")))
    table = collect(grid, store="store")
    assert isinstance(table, pandas.DataFrame)
    assert {name: str(kind) for name, kind in table.dtypes.items()} == {
        "chapter": "string",
        "job": "string",
        "alpha": "Float64",  # though 1.0 and 2.0 are whole numbers
        "seed": "Int64",
        "metric": "string",
        "value": "float64",
        "text": "string",
        "unit": "string",
        "low": "float64",
        "high": "float64",
        "reason": "string",
    }
    names = [job.name for job in read_grid(grid)]
    assert list(table["job"]) == [names[0]] * 5 + [names[1]] and set(table["chapter"]) == {"pa"}
    assert list(table["metric"]) == [*METRICS, "accuracy"]
    assert list(table["alpha"]) == [1.0] * 5 + [2.0] and set(table["seed"]) == {7}
    assert [None if math.isnan(v) else v for v in table["value"]] == [0.912345, math.inf, -math.inf, None, None, 1.0]
    assert list(table["low"][:2]) == [0.9, 1.5] and list(table["high"][:2]) == [0.925, math.inf]
    assert table["low"][2:].isna().all() and table["high"][2:].isna().all()
    assert list(table["text"].isna()) == [True] * 4 + [False, True] and table["text"][4] == "holds & <stays>"
    assert list(table["unit"]) == ["ratio", "", "nat", "ratio", "", "ratio"]
    assert table["reason"][3] == "no frame <changed>" and table["reason"].isna()[0]


def test_collect_chapters_with_other_parameters(project: Project) -> None:
    long = 2**60 + 1  # which no float holds
    grid = project(
        f"chapters: {{pa: {{parameters: {{seed: {long}}}}}, cl: {{parameters: {{quick: true}}}}}}",
        pa=make(),
        cl=make(parameters='quick: bool = False\nname: str = "a"\nalpha: str = "one"'),
    )
    keep(grid, lambda job: result(m=Metric(0.5, "ratio")))
    table = collect(grid, store="store")
    kinds = {name: str(table[name].dtype) for name in ("alpha", "seed", "quick", "name")}
    assert kinds == {"alpha": "object", "seed": "Int64", "quick": "boolean", "name": "string"}
    assert list(table.columns)[:6] == ["chapter", "job", "alpha", "seed", "quick", "name"]
    assert table["seed"][0] == long and list(table["seed"].isna()) == [False, True]
    assert list(table["alpha"]) == [1.0, "one"] and list(table["quick"].isna()) == [True, False]
    assert table["text"].dtype == "string" and table["text"].isna().all()


def test_collect_integers_beyond_64_bits(project: Project) -> None:
    grid = project(f"chapters: {{pa: {{parameters: {{seed: [1, {2**63 - 1}]}}}}}}", pa=make())
    keep(grid, lambda job: result(m=Metric(0.5, "")))
    assert str(collect(grid, store="store")["seed"].dtype) == "Int64"
    for seed in (2**63, 2**127):
        grid.write_text(f"chapters: {{pa: {{parameters: {{seed: [1, {seed}]}}}}}}")
        keep(grid, lambda job: result(m=Metric(0.5, "")))
        assert list(collect(grid, store="store")["seed"]) == [1, seed]


def test_collect_an_infinite_parameter(project: Project) -> None:
    grid = project("chapters: {pa: {parameters: {alpha: [.inf, 0]}}}", pa=make(parameters="alpha: float = 1.0"))
    keep(grid, lambda job: result(m=Metric(0.5, "")))
    assert list(collect(grid, store="store")["alpha"]) == [math.inf, 0.0]


def test_a_job_that_concludes_nothing_has_no_row(project: Project) -> None:
    grid = project(GRID, pa=make())
    keep(grid, lambda job: None)
    table = collect(grid, store="store")
    assert len(table) == 0 and list(table.columns)[:4] == ["chapter", "job", "alpha", "seed"]
    assert table["value"].dtype == "float64"


def test_a_job_that_is_not_stored_is_an_error_unless_skipped(project: Project) -> None:
    grid = project(GRID, pa=make())
    with pytest.raises(
        InputError, match=r"grid.yml: 2 of 2 jobs are not stored as they stand now, such as pa-\w{8}: run"
    ):
        collect(grid, store="store")
    keep(grid, lambda job: result(m=Metric(0.5, "")))
    grid.write_text(GRID.replace("[1, 2]", "[1, 2, 3]"))
    with pytest.raises(InputError, match=r"1 of 3 jobs are not stored .* or give missing='skip'"):
        collect(grid, store="store")
    assert len(collect(grid, store="store", missing="skip")) == 2
    with pytest.raises(InputError, match="missing is 'ignore': give 'error' or 'skip'"):
        collect(grid, store="store", missing="ignore")


def test_collect_a_part_by_its_tags(project: Project) -> None:
    text = "chapters: {pa: {tags: [slow]}, cl: {tags: [quick]}}"
    grid = project(text, pa=make(), cl=make())
    keep(grid, lambda job: result(m=Metric(0.5, "")))
    assert list(collect(grid, store="store", tags=["quick"])["chapter"]) == ["cl"]


def test_collect_without_pandas(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtra, match=r"pandas is not installed: pip install 'yardsticks\[jupyter\]'"):
        collect(project(GRID, pa=make()), store="store")


def outcome(name: str = "pa", state: str = "executed", /, **parameters: Any) -> Outcome:
    job = Job(name.split("-")[0], Path("pa.ipynb"), parameters, 60.0, name)
    return Outcome(job, state, 2.25, result(**METRICS))


@pytest.mark.parametrize("name", ["chapter", "job", "metric", "value", "text", "unit", "low", "high", "reason"])
def test_a_parameter_called_like_a_column_is_refused(name: str) -> None:
    with pytest.raises(InputError, match=f"parameter '{name}' is called like a column of the table: rename it"):
        tidy([outcome(**{name: 1})])


def test_a_row_has_every_column() -> None:
    columns, rows = tidy([outcome("pa", a=1), outcome("cl", b=2)])
    assert columns[:4] == ["chapter", "job", "a", "b"] and len(rows) == 2 * len(METRICS)
    assert all(list(row) == columns for row in rows)
    assert (rows[0]["b"], rows[-1]["a"], rows[0]["text"], rows[-1]["value"]) == (None, None, None, None)
    assert tidy([])[1] == []


def test_the_table_as_a_file(tmp_path: Path) -> None:
    path = write_table([outcome("pa", name='a, "b"\nc', alpha=1.0, quick=True), outcome("cl")], tmp_path)
    assert path == tmp_path / "results.csv"
    with path.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert list(rows[0]) == ["chapter", "job", "name", "alpha", "quick", *tidy([])[0][2:]]
    assert (rows[0]["name"], rows[0]["alpha"], rows[0]["quick"]) == ('a, "b"\nc', "1.0", "True")
    assert [row["value"] for row in rows[:5]] == ["0.912345", "inf", "-inf", "", ""]
    assert [row["text"] for row in rows[:5]] == ["", "", "", "", "holds & <stays>"]
    assert (rows[5]["name"], rows[5]["chapter"]) == ("", "cl") and len(rows) == 10
    assert b"\r" not in path.read_bytes()
    before = path.read_bytes()
    write_table([], tmp_path)
    assert len(before.splitlines()) > 10 and len(path.read_bytes().splitlines()) == 1
    assert [found.name for found in tmp_path.iterdir()] == ["results.csv"]


class Page(HTMLParser):
    """The tables of the page as rows of texts, its links, and what stands outside the tables."""

    VOID = ("meta", "br")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tables: list[list[list[str]]] = []
        self.links: list[str] = []
        self.attributes: list[dict[str, str | None]] = []
        self.outside = ""
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.attributes.append(given)
        if tag not in self.VOID:
            self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1] += [""] * int(given.get("colspan") or 1)
        elif tag == "a":
            self.links.append(str(given["href"]))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "td" in self.open or "th" in self.open:
            self.tables[-1][-1][-1] += data
        elif "style" not in self.open:
            self.outside += data


def listed(tmp_path: Path, *outcomes: Outcome) -> Page:
    path = write_index(outcomes, tmp_path)
    assert path == tmp_path / "index.html"
    text = path.read_text(encoding="utf-8")
    assert addresses_outside(text.replace('href="pa', 'href="#pa')) == []
    page = Page(text)
    for table in page.tables:
        assert len({len(row) for row in table}) == 1, "a row has more or fewer cells than the head"
    return page


def test_the_page_has_a_column_for_what_varies_and_a_line_for_the_rest(tmp_path: Path) -> None:
    page = listed(
        tmp_path,
        outcome("pa-1", alpha=1.0, seed=0, name=""),
        outcome("pa-2", "cached", alpha=2.5, seed=0, name=""),
        replace(outcome("cl", seed=3), result=None, seconds=0.0),
    )
    pa, cl = page.tables
    assert pa[0] == [
        "run",
        "state",
        "time",
        "alpha",
        "accuracy, ratio",
        "beta",
        "lowest, nat",
        "drop, ratio",
        "verdict",
    ]
    assert pa[1][:4] == ["pa-1", "executed", "2.2 s", "1.0"] and pa[2][:4] == ["pa-2", "cached", "2.2 s", "2.5"]
    assert pa[1][4:] == ["0.9123 [0.9, 0.925]", "∞ [1.5, ∞]", "−∞", "undefined", "holds & <stays>"]
    assert "All with seed = 0, name = (empty)." in page.outside
    assert cl == [["run", "state", "time"], ["cl", "executed", ""]] and "All with seed = 3." in page.outside
    assert any(given.get("title") == "no frame <changed>" for given in page.attributes)


def test_the_page_of_a_chapter_without_parameters(tmp_path: Path) -> None:
    page = listed(tmp_path, outcome())
    assert "All with" not in page.outside and page.tables[0][1][0] == "pa"


def test_small_numbers(tmp_path: Path) -> None:
    values = {"a": -1.5, "b": 1e-5, "c": 123456.0, "d": 0, "e": 3}
    metrics = {name: Metric(value, "", reason="none") for name, value in values.items()}
    page = listed(tmp_path, replace(outcome(), result=result(**metrics)))
    assert page.tables[0][1][3:] == ["−1.5", "1e−05", "1.235e+05", "0", "3"]


def test_the_page_shows_failures(tmp_path: Path) -> None:
    failed = Outcome(
        outcome("pa-2", alpha=2.0).job, "failed", 1.0, None, "ValueError: <b>no</b>", "code cell 3 (`a<b`)"
    )
    unborn = Outcome(outcome("pa-3", alpha=3.0).job, "failed", 0.0, None, "the kernel died & left")
    page = listed(tmp_path, outcome("pa-1", alpha=1.0), failed, unborn)
    (table,) = page.tables
    assert table[2][:4] == ["pa-2", "failed", "1.0 s", "2.0"]
    assert "".join(table[2][4:]) == "code cell 3 (`a<b`): ValueError: <b>no</b>"
    assert "".join(table[3][4:]) == "the kernel died & left" and table[3][2] == ""
    silent = replace(outcome("pa-1", alpha=1.0), result=None)
    (table,) = listed(tmp_path, silent, failed).tables  # where there is no metric, whose place the error could take
    assert [row[3:] for row in table] == [
        ["alpha", "error"],
        ["1.0", ""],
        ["2.0", "code cell 3 (`a<b`): ValueError: <b>no</b>"],
    ]


def test_the_page_shows_what_is_missing(tmp_path: Path) -> None:
    page = listed(tmp_path, outcome("pa-1", alpha=1.0), Outcome(outcome("pa-2", alpha=2.0).job, "missing", 0.0))
    assert page.tables[0][2] == ["pa-2", "missing", "", "2.0", *[""] * 5]


def test_everything_on_the_page_is_escaped(tmp_path: Path) -> None:
    nasty = "<script>&\"'</script>"
    one = outcome("pa-1", text=nasty, same=nasty)
    two = outcome("pa-2", text="x", same=nasty)
    one = replace(one, result=result(**{nasty: Metric(nasty, nasty, reason=nasty)}))
    page = listed(tmp_path, one, two)
    head, row, _ = page.tables[0]
    assert row[3:5] == [nasty, nasty] and head[4] == f"{nasty}, {nasty}"
    assert f"All with same = {nasty}." in page.outside
    assert any(given.get("title") == nasty for given in page.attributes)


def test_a_word_that_the_page_is_made_with_is_only_a_word(tmp_path: Path) -> None:
    page = listed(tmp_path, outcome("pa-1", name="SECTIONS"))
    assert "All with name = SECTIONS." in page.outside and len(page.tables) == 1


def test_the_links_of_the_page_lead_to_what_is_there(tmp_path: Path) -> None:
    for name in (
        "pa-1.ipynb",
        "pa-1.result.json",
        "pa-1.log",
        "pa-2.failed.ipynb",
        "pa-2.log",
        "other.ipynb",
        "pa.log",
    ):
        (tmp_path / name).write_text("")
    failed = replace(outcome("pa-2", alpha=2.0), state="failed", error="no")
    page = listed(tmp_path, outcome("pa-1", alpha=1.0), failed, outcome("pa-3", alpha=3.0))
    assert page.links == ["pa-1.ipynb", "pa-1.result.json", "pa-1.log", "pa-2.failed.ipynb", "pa-2.log"]
    assert all((tmp_path / link).is_file() for link in page.links)
    assert [row[0] for row in page.tables[0][1:]] == ["pa-1notebook results log", "pa-2notebook log", "pa-3"]


def test_what_is_stored_is_laid_out_and_listed(project: Project) -> None:
    grid = project(GRID, pa=make())
    keep(grid, lambda job: result(**METRICS) if job.parameters["alpha"] == 1 else None)
    outcomes = stored(grid, "out", store="store")
    page = Page(write_index(outcomes, "out").read_text(encoding="utf-8"))
    one, two = (job.name for job in read_grid(grid))
    kinds = [f"{one}.ipynb", f"{one}.result.json", f"{one}.log", f"{two}.ipynb", f"{two}.log"]
    assert page.links == kinds and all(Path("out", link).is_file() for link in page.links)
    assert sorted(path.name for path in Path("out").iterdir()) == sorted([*kinds, "index.html"])
    assert [row[1] for row in page.tables[0]] == ["state", "cached", "cached"]


def test_a_page_that_cannot_be_written_leaves_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_index([outcome()], tmp_path)
    before = (tmp_path / "index.html").read_text()

    def fail(path: Path, text: str, **_: object) -> None:
        path.write_bytes(text[:100].encode())
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", fail)
    with pytest.raises(OSError, match="No space left"):
        write_index([], tmp_path)
    assert (tmp_path / "index.html").read_text() == before and len(list(tmp_path.iterdir())) == 1
