"""A grid becomes jobs, or is refused before anything runs."""

import os
from pathlib import Path
from typing import Any

import nbformat
import pytest

from helpers.batch.plan import Job, read_grid, read_parameters
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
    ("chapters: {pa: {timeout_s: 0}}", "chapters.pa.timeout_s: 0 is no time limit: write seconds, above 0"),
    ("chapters: {pa: {timeout_s: true}}", "chapters.pa.timeout_s: True is no time limit"),
    ("chapters: {pa: {timeout_s: .nan}}", "chapters.pa.timeout_s: nan is no time limit"),
    ("chapters: {pa: {timeout_s: .inf}}", "chapters.pa.timeout_s: inf is no time limit"),
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
        "chapters.pa.parameters: two jobs have .*drop the repeated",
    ),
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
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("notebook", "message"),
    [
        (make(parameters=None), "pa.ipynb has no code cells tagged `parameters`: tag one"),
        (
            nbformat.v4.new_notebook(cells=make().cells + make().cells),
            "pa.ipynb has 2 code cells tagged `parameters`",
        ),
        (make(parameters="\nalpha = 1"), "pa.ipynb, cell 2, line 2: `alpha = 1` is not a declaration"),
    ],
)
def test_notebook_refused(project: Project, notebook: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_grid(project("chapters: {pa: }", pa=notebook))


@pytest.mark.parametrize("text", ["", "[]", "{}", "\x00", '{"worksheets": []}'])
def test_no_notebook(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.ipynb").write_text(text)
    with pytest.raises(InputError, match=r"a.ipynb is not a notebook of format 4"):
        read_parameters(tmp_path / "a.ipynb")


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
