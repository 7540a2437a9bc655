"""The command `yardsticks batch`: what it prints, and how it ends. Executions are pretended but in the first tests."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from helpers.batch.plan import read_grid
from helpers.cli import main

from .conftest import CHECKOUT, Pretended, Project, make, nothing_left

GRID = "chapters: {pa: {parameters: {seed: [0, 1, 2]}, tags: [quick]}, cl: {tags: [slow]}}"


class Command:
    """`yardsticks batch ...` in this process."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: str, status: int = 0) -> list[str]:
        """The lines that it prints; `status` is how it must end, and nothing stands on standard error."""
        self._capsys.readouterr()
        assert main(["batch", *arguments]) == status
        printed = self._capsys.readouterr()
        assert printed.err == ""
        return printed.out.splitlines()

    def refused(self, *arguments: str) -> str:
        """The one line with which it refuses."""
        self._capsys.readouterr()
        assert main(["batch", *arguments]) == 2
        printed = self._capsys.readouterr()
        (line,) = printed.err.splitlines()
        assert printed.out == "" and line.startswith("yardsticks: ")
        return line.removeprefix("yardsticks: ")


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(capsys)


@pytest.fixture
def grid(project: Project) -> Path:
    return project(GRID, pa=make("alpha"), cl=make("alpha + 1"))


def edit(old: str, new: str, path: str = "notebooks/pa.ipynb") -> None:
    text = Path(path).read_text()
    assert old in text
    Path(path).write_text(text.replace(old, new))


# --- run


def test_a_run_for_good(project: Project, command: Command) -> None:
    project("chapters: {pa: {parameters: {seed: [0, 1]}}}", pa=make("1 / seed"))
    with nothing_left():
        lines = command("run", "grid.yml", "--out", "out", status=1)
    bad, good = (job.name for job in read_grid("grid.yml"))
    assert sorted(line for line in lines if line.endswith(" started")) == sorted(
        f"{name} started" for name in (bad, good)
    )
    assert any(re.fullmatch(rf"{good} executed in \d+\.\d s(; 1 left, about \d+ s)?", line) for line in lines)
    failed = rf"{bad} failed after \d+\.\d s in code cell 2 \(`1 / seed`\): ZeroDivisionError: division by zero.*"
    assert any(re.fullmatch(failed, line) for line in lines)
    assert lines[-3:] == [
        "What failed is in out: NAME.log, NAME.failed.ipynb",
        "The runs are listed in out/index.html",
        "2 jobs: 1 executed, 0 cached, 1 failed",
    ]


def test_the_last_line_and_the_status(grid: Path, command: Command, pretended: Pretended) -> None:
    run = ("run", "grid.yml", "--out", "out")
    assert command(*run)[-1] == "4 jobs: 4 executed, 0 cached, 0 failed"
    lines = command(*run)
    assert lines == [
        "4 cached, 0 to execute",
        "The runs are listed in out/index.html",
        "4 jobs: 0 executed, 4 cached, 0 failed",
    ]
    grid.write_text(GRID.replace("cl: {", "cl: {parameters: {alpha: [5, 2]}, "))
    assert command(*run, status=1)[-1] == "5 jobs: 1 executed, 3 cached, 1 failed"
    assert command(*run, status=1)[-1] == "5 jobs: 0 executed, 4 cached, 1 failed"


def test_a_second_run_of_fifty_jobs_executes_none(project: Project, command: Command, pretended: Pretended) -> None:
    project(f"chapters: {{pa: {{parameters: {{seed: {list(range(50))}}}}}}}", pa=make("alpha"))
    assert command("run", "grid.yml", "--out", "out")[-1] == "50 jobs: 50 executed, 0 cached, 0 failed"
    assert command("run", "grid.yml", "--out", "out")[-1] == "50 jobs: 0 executed, 50 cached, 0 failed"
    assert len(pretended.tasks) == 50


def test_a_run_with_nothing_to_do_loads_nothing_heavy(grid: Path, command: Command, pretended: Pretended) -> None:
    command("run", "grid.yml", "--out", "out")
    code = """if True:
        import sys
        from helpers.cli import main
        status = main(sys.argv[1:])
        heavy = "torch papermill pandas matplotlib nbformat nbclient jupyter_client jsonschema distributed"
        print(status, sorted({*heavy.split()} & {*sys.modules}))"""
    for arguments in (["run", "grid.yml", "--out", "out"], ["run", "grid.yml", "--dry-run"], ["explain", "grid.yml"]):
        done = subprocess.run(
            [sys.executable, "-c", code, "batch", *arguments],
            env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
            capture_output=True,
            text=True,
        )
        assert done.stdout.splitlines()[-1] == "0 []", done.stdout + done.stderr


def test_a_run_without_papermill(grid: Path) -> None:
    code = """if True:
        import sys
        sys.modules["papermill"] = None
        from helpers.cli import main
        sys.exit(main(["batch", "run", "grid.yml", "--out", "out"]))"""
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "yardsticks: papermill is not installed: pip install 'yardsticks[batch]'\n"


def test_only_a_tag(grid: Path, command: Command, pretended: Pretended) -> None:
    run = ("run", "grid.yml", "--out", "out")
    assert command(*run, "--tag", "slow")[-1] == "1 jobs: 1 executed, 0 cached, 0 failed"
    assert command(*run, "--tag", "slow", "--tag", "quick")[-1] == "4 jobs: 3 executed, 1 cached, 0 failed"
    assert command.refused(*run, "--tag", "slwo") == (
        "tag: no chapter of the grid has 'slwo'; did you mean slow? (known: quick, slow)"
    )


def test_only_a_part(grid: Path, command: Command, pretended: Pretended) -> None:
    """The page lists all parts, as far as they are stored."""
    run = ("run", "grid.yml", "--out", "out")
    assert command(*run, "--shard", "1/2")[-1] == "2 jobs: 2 executed, 0 cached, 0 failed"
    page = Path("out/index.html").read_text()
    assert [page.count(f'<td class="{state}">') for state in ("executed", "missing")] == [2, 2]
    assert command(*run, "--shard", "2/2")[-1] == "2 jobs: 2 executed, 0 cached, 0 failed"
    page = Path("out/index.html").read_text()
    assert [page.count(f'<td class="{state}">') for state in ("executed", "cached", "missing")] == [2, 2, 0]
    assert command(*run)[-1] == "4 jobs: 0 executed, 4 cached, 0 failed"
    assert command.refused(*run, "--shard", "3/2").startswith("shard: '3/2' is no part")


def test_fresh(grid: Path, command: Command, pretended: Pretended) -> None:
    run = ("run", "grid.yml", "--out", "out")
    command(*run)
    assert command(*run, "--fresh")[-1] == "4 jobs: 4 executed, 0 cached, 0 failed"
    assert command(*run)[-1] == "4 jobs: 0 executed, 4 cached, 0 failed"


def test_jobs_at_a_time(grid: Path, command: Command, pretended: Pretended) -> None:
    assert command.refused("run", "grid.yml", "--out", "out", "--jobs", "0") == (
        "workers: 0 is not a number of processes: give 1 or more"
    )
    assert command("run", "grid.yml", "--out", "out", "--jobs", "4")[-1].startswith("4 jobs: 4 executed")
    with pytest.raises(SystemExit, match="2"):
        main(["batch", "run", "grid.yml", "--jobs", "3", "--scheduler", "tcp://127.0.0.1:1"])


@pytest.mark.parametrize(
    ("text", "named"),
    [("chapters: {pa: {parameters: {sede: 1}}}", "grid.yml: chapters.pa.parameters.sede: "), ("{", "grid.yml, line 1")],
)
def test_a_wrong_grid_is_refused_before_anything_is_made(
    grid: Path, command: Command, pretended: Pretended, text: str, named: str
) -> None:
    grid.write_text(text)
    before = sorted(Path().rglob("*"))
    for action in ("run", "explain", "collect", "verify", "gc"):
        assert command.refused(action, "grid.yml").startswith(named)
    assert sorted(Path().rglob("*")) == before and pretended.tasks == []


def test_what_cannot_be_written_or_read(grid: Path, command: Command, pretended: Pretended) -> None:
    Path("file").write_text("")
    assert command.refused("run", "grid.yml", "--out", "file") == "file: File exists"
    assert command.refused("run", "grid.yml", "--out", "out", "--store", "file") == "file: Not a directory"
    assert command.refused("run", "grid.yml", "--store", "nonsense://x").startswith(
        "store: 'nonsense://x' is no address"
    )
    assert command.refused("run", "nowhere.yml") == "nowhere.yml: No such file or directory"
    assert pretended.tasks == []


# --- --dry-run and explain


def test_a_dry_run_only_says_what_would_be_done(grid: Path, command: Command, pretended: Pretended) -> None:
    before = sorted(Path().rglob("*"))
    lines = command("run", "grid.yml", "--out", "out", "--dry-run")
    assert len(lines) == 5 and lines[-1] == "4 jobs: 4 to execute, 0 cached"
    assert re.fullmatch(r"pa-[0-9a-f]{8}: execute; alpha=1\.0, seed=0", lines[0])
    assert lines[3] == "cl: execute; alpha=1.0, seed=0"
    assert sorted(Path().rglob("*")) == before and pretended.tasks == []

    command("run", "grid.yml", "--out", "out", "--tag", "slow")
    edit("# A chapter", "# Another title", "notebooks/cl.ipynb")
    lines = command("run", "grid.yml", "--dry-run")
    assert lines[3] == "cl: prose; alpha=1.0, seed=0" and lines[-1] == "4 jobs: 3 to execute, 1 cached"
    assert command("run", "grid.yml", "--dry-run", "--fresh")[-1] == "4 jobs: 4 to execute, 0 cached"
    assert command("run", "grid.yml", "--dry-run", "--shard", "2/2")[-1] == "2 jobs: 1 to execute, 1 cached"
    assert command("run", "grid.yml", "--dry-run", "--tag", "slow")[-1] == "1 jobs: 0 to execute, 1 cached"


def reasons(command: Command) -> list[str]:
    """What is said of the chapter `cl`."""
    lines = command("explain", "grid.yml", "--tag", "slow")
    assert lines[0].startswith("cl: ")
    return [lines[0].removeprefix("cl: "), *(line.strip() for line in lines[1:])]


def test_explain_says_what_changed(grid: Path, command: Command, pretended: Pretended) -> None:
    nbformat.write(make("from helpers import errors", "alpha + 1"), "notebooks/cl.ipynb")
    notebook = json.loads(Path("notebooks/cl.ipynb").read_text())
    notebook["metadata"]["yardsticks"] = {"data": ["mine.csv"]}
    Path("notebooks/cl.ipynb").write_text(json.dumps(notebook))
    Path("mine.csv").write_text("1")
    assert reasons(command) == ["execute", "no job of this chapter is stored"]
    command("run", "grid.yml", "--out", "out")
    assert reasons(command) == ["cached"]
    edit("# A chapter", "# Another title", "notebooks/cl.ipynb")
    assert reasons(command) == [
        "prose",
        "the notebook's text changed: its page is made anew from the stored outputs",
    ]
    edit("alpha + 1", "alpha + 2", "notebooks/cl.ipynb")
    assert reasons(command) == ["execute", "code: code cell 3 changed"]
    Path("mine.csv").write_text("2")
    assert reasons(command) == ["execute", "code: code cell 3 changed", "data: mine.csv changed"]
    edit("cl: {", "cl: {parameters: {alpha: 3}, ", "grid.yml")
    assert reasons(command)[0] == "execute" and "parameters: alpha 1.0 -> 3.0" in reasons(command)
    shutil.rmtree("_build/store/executed")
    edit("parameters: {alpha: 3}, ", "", "grid.yml")
    edit("alpha + 2", "alpha + 1", "notebooks/cl.ipynb")
    Path("mine.csv").write_text("1")
    assert reasons(command) == ["execute", "what was stored is gone or damaged"]
    assert len(pretended.tasks) == 4


def test_explain_compares_a_job_with_itself_or_else_with_the_nearest(
    grid: Path, command: Command, pretended: Pretended
) -> None:
    command("run", "grid.yml", "--out", "out", "--tag", "quick")
    nbformat.write(make("alpha * 2", "alpha + 1"), "notebooks/pa.ipynb")
    Path("other.yml").write_text("chapters: {pa: {parameters: {seed: 1}}}")
    command("run", "other.yml", "--out", "out")
    own = command("explain", "grid.yml")[:3]
    assert own[0].endswith(": execute") and own[1:] == ["  code: code cell 2 changed", "  code: code cell 3 is new"]
    Path("other.yml").write_text("chapters: {pa: {parameters: {seed: 9}}}")
    assert command("explain", "other.yml") == ["pa: execute", "  parameters: seed 1 -> 9"]


# --- gc, collect, verify


def stored_files() -> list[str]:
    return sorted(path.as_posix() for path in Path("_build/store").rglob("*") if path.is_file())


def test_gc_removes_what_no_grid_needs(grid: Path, command: Command, pretended: Pretended) -> None:
    command("run", "grid.yml", "--out", "out")
    before = stored_files()
    assert command("gc", "grid.yml") == ["0 files, 0.0 MB removed"] and stored_files() == before
    Path("other.yml").write_text("chapters: {pa: {parameters: {seed: [1, 2]}}}")
    Path("third.yml").write_text("chapters: {cl: }")
    assert command("gc", "other.yml", "third.yml", "--dry-run") == ["3 files, 0.0 MB would be removed"]
    assert stored_files() == before
    assert command("gc", "other.yml", "third.yml") == ["3 files, 0.0 MB removed"]
    assert len(stored_files()) == 9 and set(stored_files()) < set(before)
    assert command("run", "grid.yml", "--out", "out")[-1] == "4 jobs: 1 executed, 3 cached, 0 failed"


def test_gc_keeps_what_the_projects_grids_need(grid: Path, command: Command, pretended: Pretended) -> None:
    command("run", "grid.yml", "--out", "out")
    before = stored_files()
    assert command.refused("gc").startswith("GRID: there is none in notebooks/grids/*.yml of ")
    assert stored_files() == before
    Path("notebooks/grids").mkdir()
    Path("notebooks/grids/one.yml").write_text("chapters: {pa: {parameters: {seed: [0, 1, 2]}}}")
    assert command("gc") == ["3 files, 0.0 MB removed"]


def test_collect(grid: Path, command: Command, pretended: Pretended) -> None:
    command("run", "grid.yml", "--out", "elsewhere", "--tag", "quick")
    lines = command("collect", "grid.yml", "--out", "out", status=1)
    assert lines == ["out/results.csv and out/index.html", "4 jobs: 3 stored, 1 missing"]
    table = Path("out/results.csv").read_text().splitlines()
    assert table[0] == "chapter,job,alpha,seed,metric,value,text,unit,low,high,reason" and len(table) == 4
    assert re.fullmatch(r"pa,pa-[0-9a-f]{8},1\.0,1,score,0\.5,,ratio,,,one run", table[2])
    assert len(list(Path("out").glob("pa-*.ipynb"))) == 3 and not Path("out/cl.ipynb").exists()
    command("run", "grid.yml", "--out", "elsewhere")
    assert command("collect", "grid.yml", "--out", "out")[-1] == "4 jobs: 4 stored, 0 missing"
    assert command("collect", "grid.yml", "--out", "out", "--tag", "slow")[-1] == "1 jobs: 1 stored, 0 missing"


def test_verify(grid: Path, command: Command, pretended: Pretended, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pretended executions print another number each time: nothing comes out the same."""
    command("run", "grid.yml", "--out", "out", "--tag", "slow")
    before = stored_files()
    lines = command("verify", "grid.yml", status=1)
    assert lines[-4] == "cl: different" and lines[-3:] == [
        "  output of code cell 1",
        "  output of code cell 2",
        "4 jobs: 0 same, 1 different, 0 failed, 3 missing",
    ]
    assert stored_files() == before
    monkeypatch.setattr(pretended, "text", "always the same\n")
    command("run", "grid.yml", "--out", "out", "--fresh")
    assert command("verify", "grid.yml")[-1] == "4 jobs: 4 same, 0 different, 0 failed, 0 missing"
