"""A grid becomes jobs, or is refused before anything runs."""

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import nbformat
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.batch.plan import Job, digest, read_grid, read_parameters, select, shard
from helpers.errors import InputError

from .conftest import Project, make


def test_defaults_types_and_names(project: Project) -> None:
    grid = project("chapters:\n  pa: {parameters: {alpha: 3}, timeout_s: 30}\n  cl:", pa=make(), cl=make())
    here = Path.cwd() / "notebooks"
    assert read_grid(grid) == [
        Job("pa", here / "pa.ipynb", {"alpha": 3.0, "seed": 0}, 30.0, "pa"),
        Job("cl", here / "cl.ipynb", {"alpha": 1.0, "seed": 0}, 600.0, "cl"),
    ]
    assert type(read_grid(grid)[0].parameters["alpha"]) is float


def test_lists_are_multiplied(project: Project) -> None:
    grid = project("chapters: {pa: {parameters: {seed: [0, 1], alpha: [2, 5.0]}}}", pa=make())
    jobs = read_grid(grid)
    assert [(job.parameters["alpha"], job.parameters["seed"]) for job in jobs] == [
        (2.0, 0),
        (2.0, 1),
        (5.0, 0),
        (5.0, 1),
    ]
    assert all(job.name.startswith("pa-") and len(job.name) == 11 for job in jobs)
    assert len({job.name for job in jobs}) == 4


def test_a_name_depends_on_the_values_alone(project: Project) -> None:
    grid = project("chapters: {pa: {parameters: {seed: [0, 1]}}}", pa=make())
    before = [job.name for job in read_grid(grid)]
    grid.write_text("chapters: {pa: {parameters: {seed: [1, 0], alpha: 1.0}, timeout_s: 5}}")
    assert [job.name for job in read_grid(grid)] == before[::-1]


def test_a_list_of_one_is_one_job(project: Project) -> None:
    grid = project("chapters: {pa: {parameters: {seed: [4]}}}", pa=make())
    assert [(job.name, job.parameters["seed"]) for job in read_grid(grid)] == [("pa", 4)]


def test_another_notebook(project: Project) -> None:
    grid = project("chapters: {pa_wide: {notebook: notebooks/pa.ipynb}}", pa=make())
    assert read_grid(grid)[0].notebook == Path("notebooks/pa.ipynb").resolve()


def test_empty_parameters_cell(project: Project) -> None:
    grid = project("chapters: {pa: }", pa=make(parameters=""))
    assert read_grid(grid)[0].parameters == {}


REFUSED = [
    ("", "grid.yml: chapters is empty: name at least one"),
    ("chapters: {}", "grid.yml: chapters is empty"),
    ("- pa", r"grid.yml: \['pa'\] stands where keys belong: write `chapters: ...` lines"),
    ("chapters: [pa]", "grid.yml: chapters: .* stands where keys belong"),
    ("chapter: {pa: }", r"grid.yml: chapter: unknown key; did you mean chapters\?"),
    ("chapters: {pa: {params: {}}}", r"grid.yml: chapters.pa.params: unknown key; .*parameters"),
    ("chapters: {pa: {timeout: 3}}", r"grid.yml: chapters.pa.timeout: unknown key; did you mean timeout_s\?"),
    ("chapters: {pa: 3}", "grid.yml: chapters.pa: 3 stands where keys belong"),
    ("chapters: {pa: {parameters: [1]}}", "chapters.pa.parameters: .* stands where keys belong"),
    ("chapters: {Pa: }", "chapters.Pa: a chapter's name is lower-case letters"),
    ("chapters: {no: }", "chapters.False: a chapter's name is"),
    ("chapters: {pa: {timeout_s: 0}}", "chapters.pa.timeout_s: 0 is no limit: write seconds, above 0, at most 604800"),
    ("chapters: {pa: {timeout_s: true}}", "chapters.pa.timeout_s: True is no limit"),
    ("chapters: {pa: {timeout_s: .nan}}", "chapters.pa.timeout_s: nan is no limit"),
    ("chapters: {pa: {timeout_s: .inf}}", "chapters.pa.timeout_s: inf is no limit"),
    (
        "chapters: {ppat: }",
        "chapters.ppat.notebook: there is no file notebooks/ppat.ipynb in .*current",
    ),
    ("chapters: {pa: {notebook: 3}}", "chapters.pa.notebook: 3 is not a path"),
    (
        "chapters: {pa: {parameters: {sed: 1}}}",
        r"chapters.pa.parameters.sed: pa.ipynb has no such parameter; did you mean seed\? \(known: alpha,",
    ),
    (
        "chapters: {pa: {parameters: {seed: true}}}",
        r"chapters.pa.parameters.seed: True is a truth value, not int: .*\(pa.ipynb declares seed: int\)",
    ),
    (
        "chapters: {pa: {parameters: {alpha: 1e-3}}}",
        "parameters.alpha: '1e-3' is text, not float: write 0.001",
    ),
    ("chapters: {pa: {parameters: {alpha: true}}}", "parameters.alpha: True is a truth value, not float"),
    ("chapters: {pa: {parameters: {seed: 1.5}}}", "parameters.seed: 1.5 is a decimal number, not int"),
    ("chapters: {pa: {parameters: {seed: }}}", "parameters.seed: None is nothing, not int"),
    ("chapters: {pa: {parameters: {seed: [[1]]}}}", r"parameters.seed: \[1\] is a list, not int"),
    ("chapters: {pa: {parameters: {seed: []}}}", "parameters.seed: an empty list gives no job"),
    (
        "chapters: {pa: {parameters: {alpha: [1, 1.0]}}}",
        r"chapters.pa: two jobs have \{'alpha': 1.0, 'seed': 0\}: drop the repeated value",
    ),
    ("chapters: {pa: {memory_mb: -1}}", "chapters.pa.memory_mb: -1 is no limit: write megabytes, above 0"),
    ("chapters: {pa: {memory_mb: 2 GB}}", "chapters.pa.memory_mb: '2 GB' is no limit: write megabytes"),
    ("chapters: {pa: {gpus: -1}}", "chapters.pa.gpus: -1 is no number of GPUs: write an integer from 0 to 1024"),
    ("chapters: {pa: {gpus: 1025}}", "chapters.pa.gpus: 1025 is no number of GPUs"),
    ("chapters: {pa: {gpus: 1.0}}", "chapters.pa.gpus: 1.0 is no number of GPUs"),
    ("chapters: {pa: {gpus: true}}", "chapters.pa.gpus: True is no number of GPUs"),
    ("chapters: {pa: {tags: slow}}", r"chapters.pa.tags: 'slow' is no list of tags: .* as \[slow, gpu\]"),
    ("chapters: {pa: {tags: [3]}}", r"chapters.pa.tags: \[3\] is no list of tags"),
    ("chapters: {pa: {tags: [two words]}}", r"chapters.pa.tags: \['two words'\] is no list of tags"),
    (
        "chapters: {pa: {include: {seed: 3}}}",
        r"chapters.pa.include: \{'seed': 3\} stands where a list belongs: write `- \{<parameter>: <value>\}` lines",
    ),
    ("chapters: {pa: {exclude: 3}}", "chapters.pa.exclude: 3 stands where a list belongs"),
    ("chapters: {pa: {include: [{seed: 1}, 3]}}", r"chapters.pa.include\[1\]: 3 stands where keys belong"),
    ("chapters: {pa: {include: [{sed: 1}]}}", r"chapters.pa.include\[0\].sed: .* did you mean seed\?"),
    ("chapters: {pa: {include: [{seed: x}]}}", r"chapters.pa.include\[0\].seed: 'x' is text, not int"),
    ("chapters: {pa: {include: [{alpha: 9}]}}", r"chapters.pa.include\[0\].alpha: 9.0 is out of range"),
    ("chapters: {pa: {exclude: [{alpha: 9}]}}", r"chapters.pa.exclude\[0\].alpha: 9.0 is out of range"),
    (
        "chapters: {pa: {parameters: {seed: [0, 1]}, exclude: [{seed: 1}, {seed: 2, alpha: 1}]}}",
        r"chapters.pa.exclude\[1\]: no job has seed: 2, alpha: 1: mend it or drop it",
    ),
    (
        "chapters: {pa: {parameters: {seed: [0, 1]}, exclude: [{seed: [0, 1]}]}}",
        "chapters.pa.exclude: leaves no job: drop an entry, or the chapter",
    ),
    ("chapters: {pa: {exclude: [{}]}}", "chapters.pa.exclude: leaves no job"),
    (
        "chapters: {pa: {include: [{seed: 1}], exclude: [{}]}}",
        r"chapters.pa.exclude\[0\]: no job has no parameter at all",
    ),
    (
        "chapters: {pa: {parameters: {seed: [0, 1]}, include: [{alpha: 2}]}}",
        r"chapters.pa.include\[0\]: parameters lists several values of seed: say which one this job takes",
    ),
    ("chapters: {pa: {parameters: {seed: 3}, include: [{alpha: 1}]}}", "chapters.pa: two jobs have .*'seed': 3"),
    ("chapters: {pa: , pa: }", "grid.yml, line 1: .* pa is given twice, keep one"),
    ("chapters: {pa: {parameters: {seed: 1, seed: 2}}}", "seed is given twice"),
    ("chapters: {pa: {", "grid.yml, line 1: this is not YAML"),
    ("chapters: {pa: 2020-99-99}", "grid.yml: this is not YAML that a grid may have: month"),
    (
        "chapters: {pa: !!python/object:os.system {}}",
        "grid.yml, line 1: this is not YAML that a grid may have",
    ),
]


@pytest.mark.parametrize(("text", "message"), REFUSED, ids=[text for text, _ in REFUSED])
def test_grid_refused(project: Project, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as refusal:
        read_grid(project(text, pa=make()))
    assert str(refusal.value).startswith("grid.yml") and "\n" not in str(refusal.value)


def tagged_to_fail() -> Any:
    """A notebook whose second cell is meant to raise."""
    notebook = make()
    notebook.cells[1].metadata["tags"] = ["parameters", "raises-exception"]
    return notebook


@pytest.mark.parametrize(
    ("notebook", "message"),
    [
        (make(parameters=None), "pa.ipynb has no code cells tagged `parameters`: tag one"),
        (
            nbformat.v4.new_notebook(cells=make().cells + make().cells),
            "pa.ipynb has 2 code cells tagged `parameters`",
        ),
        (make(parameters="\nalpha = 1"), "pa.ipynb, cell 2, line 2: `alpha = 1` is not a declaration"),
        (tagged_to_fail(), "pa.ipynb, cell 2 is tagged raises-exception, which is not looked at: catch the exception"),
    ],
)
def test_notebook_refused(project: Project, notebook: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_grid(project("chapters: {pa: }", pa=notebook))


def changed(**changes: Any) -> str:
    return json.dumps(make() | changes)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        "\x00",
        '{"worksheets": []}',
        changed(cells=None),
        changed(cells=[3]),
        changed(cells={}),
        changed(cells=[{"metadata": {"tags": ["parameters"]}}]),
        changed(cells=[make().cells[1] | {"source": 3}]),
        changed(cells=[make().cells[1] | {"metadata": {"tags": 3}}]),
        changed(nbformat=3),
        changed(nbformat_minor=4),
    ],
)
def test_no_notebook(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.ipynb").write_text(text)
    with pytest.raises(InputError, match=r"a.ipynb is not a notebook of format 4.5: save it anew with Jupyter$"):
        read_parameters(tmp_path / "a.ipynb")


def test_what_is_newer_than_the_oldest_format_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.ipynb").write_text(changed(nbformat_minor=6))
    assert [parameter.name for parameter in read_parameters(tmp_path / "a.ipynb")] == ["alpha", "seed"]


def test_nothing_runs_when_one_chapter_is_refused(project: Project) -> None:
    from helpers.cli import main

    grid = project("chapters: {pa: , cl: {parameters: {x: 1}}}", pa=make(), cl=make())
    assert main(["batch", "run", str(grid), "--out", "out"]) == 2
    assert not os.path.exists("out")


@pytest.mark.parametrize("value", ["-0.1", "5.5", ".inf"])
def test_a_value_outside_the_declared_range_is_refused_before_anything_runs(project, value):
    grid = project(f"chapters: {{pa: {{parameters: {{alpha: {value}}}}}}}", pa=make())
    with pytest.raises(InputError, match=r"parameters.alpha: .* is out of range; pa.ipynb declares: unitless, 0 to 5"):
        read_grid(grid)


def rows(grid: Path) -> list[tuple[Any, ...]]:
    return [tuple(job.parameters.values()) for job in read_grid(grid)]


def test_exclude_takes_the_jobs_that_have_all_its_values(project: Project) -> None:
    grid = project(
        "chapters: {pa: {parameters: {alpha: [1, 2], seed: [0, 1]}, exclude: [{alpha: 2, seed: [1, 5]}, {seed: 0}]}}",
        pa=make(),
    )
    assert rows(grid) == [(1.0, 1)]


def test_exclude_leaves_alone_what_is_included(project: Project) -> None:
    grid = project(
        "chapters: {pa: {parameters: {seed: [0, 1]}, include: [{seed: 1, alpha: 5}, {seed: 7}], exclude: [{seed: 1}]}}",
        pa=make(),
    )
    assert rows(grid) == [(1.0, 0), (5.0, 1), (1.0, 7)]


def test_include_alone_is_all(project: Project) -> None:
    grid = project("chapters: {pa: {include: [{seed: 3}, {seed: [4, 5], alpha: 2}]}}", pa=make())
    assert rows(grid) == [(1.0, 3), (2.0, 4), (2.0, 5)]


def test_include_beside_parameters_comes_after_them_and_takes_their_one_value(project: Project) -> None:
    grid = project("chapters: {pa: {parameters: {alpha: 3}, include: [{seed: 9}]}}", pa=make())
    assert rows(grid) == [(3.0, 0), (3.0, 9)]
    grid.write_text("chapters: {pa: {parameters: {}, include: [{seed: 9}]}}")
    assert rows(grid) == [(1.0, 0), (1.0, 9)]


def test_nothing_written_counts_as_an_empty_list(project: Project) -> None:
    assert rows(project("chapters: {pa: {include: , exclude: , tags: , memory_mb: }}", pa=make())) == [(1.0, 0)]


def test_what_is_left_alone_has_the_chapter_as_its_name(project: Project) -> None:
    grid = project("chapters: {pa: {parameters: {seed: [0, 1]}, exclude: [{seed: 0}]}}", pa=make())
    assert [job.name for job in read_grid(grid)] == ["pa"]


def test_limits_gpus_and_tags_are_those_of_all_jobs_of_a_chapter(project: Project) -> None:
    text = "chapters: {pa: {parameters: {seed: [0, 1]}, memory_mb: 1500, gpus: 2, tags: [slow, v1.0-a]}, cl: }"
    one, two, other = read_grid(project(text, pa=make(), cl=make()))
    assert [(job.memory_mb, job.gpus, job.tags) for job in (one, two)] == [(1500.0, 2, ("slow", "v1.0-a"))] * 2
    assert (other.memory_mb, other.gpus, other.tags) == (None, 0, ())


def tagged(*tags: str) -> Job:
    return Job("pa", Path("pa.ipynb"), {}, 1.0, "-".join(tags) or "none", tags=tags)


def test_select_takes_the_jobs_with_any_of_the_tags_in_their_order() -> None:
    jobs = [tagged("slow"), tagged(), tagged("gpu", "slow"), tagged("gpu")]
    assert select(jobs, []) == jobs
    assert select(jobs, ["gpu"]) == jobs[2:]
    assert select(jobs, ["gpu", "slow"]) == [jobs[0], jobs[2], jobs[3]]


@pytest.mark.parametrize(
    ("jobs", "message"),
    [
        (
            [tagged("slow"), tagged("gpu")],
            r"tag: no chapter of the grid has 'slwo'; did you mean slow\? \(known: gpu, sl",
        ),
        ([tagged()], "tag: no chapter of the grid has 'slwo'; it has none"),
    ],
)
def test_a_tag_that_no_job_has_is_refused(jobs: list[Job], message: str) -> None:
    with pytest.raises(InputError, match=message):
        select(jobs, ["slwo"])


@given(st.integers(0, 40), st.integers(1, 12))
def test_the_shards_of_a_plan_are_the_plan(count: int, parts: int) -> None:
    jobs: list[Any] = list(range(count))
    shards = [shard(jobs, f"{number}/{parts}") for number in range(1, parts + 1)]
    assert sorted(job for one in shards for job in one) == jobs
    assert all(one == sorted(one) for one in shards)
    assert max(map(len, shards)) - min(map(len, shards)) <= 1  # no part has much more to do than another
    assert count == 0 or shards[0][0] == 0


@pytest.mark.parametrize("part", ["", "1", "0/2", "3/2", "0/0", "-1/2", "1/2/3", "1 / 2", "a/b", "1.0/2"])
def test_a_shard_of_another_form_is_refused(part: str) -> None:
    with pytest.raises(InputError, match=f"shard: '{part}' is no part: write i/n with i from 1 to n, such as 1/4"):
        shard([], part)


def test_a_digest_names_typed_values_whatever_their_order() -> None:
    names = {digest(values) for values in ({"a": 1}, {"a": 1.0}, {"a": True}, {"a": "1"}, {"b": 1}, {"a": 1, "b": 1})}
    assert len(names) == 6 and all(len(name) == 8 for name in names)
    assert digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})
    assert digest({"a": 1, "b": 2}) == hashlib.sha256(b'{"a": 1, "b": 2}').hexdigest()[:8]  # so named files stay found


def test_order_of_the_file_is_kept(project: Project) -> None:
    grid = project("chapters: {pmk: , cl: , pa: {parameters: {seed: [1, 0]}}}", pa=make(), cl=make(), pmk=make())
    assert [job.chapter for job in read_grid(grid)] == ["pmk", "cl", "pa", "pa"]
    assert [job.parameters["seed"] for job in read_grid(grid)] == [0, 0, 1, 0]
