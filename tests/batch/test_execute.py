"""Notebooks executed for good: what a job sees, leaves behind, and how its failures read.

A kernel costs a second or more, so one run of several jobs serves all tests of this file but the last.
"""

import json
import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import nbformat
import psutil
import pytest

from helpers.batch.execute import Outcome, run
from helpers.batch.plan import Job
from helpers.cli import main
from helpers.errors import InputError

from .conftest import Project, make

SEEN = """\
import json, os, tempfile, time
import threadpoolctl, numpy
open(f"mine-{seed}", "w").close()
time.sleep(0.5)
seen = {
    "seed": seed, "alpha": alpha, "cwd": os.getcwd(), "files": os.listdir(), "tmp": tempfile.gettempdir(),
    "threads": [pool["num_threads"] for pool in threadpoolctl.threadpool_info()],
    "hash": hash("yardsticks"),
    "names": {n: os.environ[n] for n in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "PYTHONHASHSEED")},
}
with open(os.environ["YARDSTICKS_RESULT"], "w") as file:
    json.dump(seen, file)"""
FIGURE = "import matplotlib.pyplot as plt\nplt.plot([1, 2]);"
SLOW = """\
import os, pathlib, subprocess, time
child = subprocess.Popen(["sleep", "60"])
pathlib.Path(name).with_suffix(".part").write_text(f"{os.getpid()} {child.pid}")
pathlib.Path(name).with_suffix(".part").rename(name)
time.sleep(60)"""
CODE = {
    "slow": [SLOW],
    "one": [SEEN, FIGURE],
    "two": [SEEN],
    "broken": ["before = 1\nbefore", "# too\nraise ValueError('no\\nluck')", "after = 1"],
    "killed": ["import os, signal", "os.kill(os.getpid(), signal.SIGKILL)", "after = 1"],
    "orphan": ["import os, signal, time\nos.kill(os.getppid(), signal.SIGKILL)\ntime.sleep(60)"],
    "missing": ["from helpers import lazy\nlazy.require('no_such_module', extra='fast')"],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("out")


@pytest.fixture(scope="module")
def outcomes(folder: Path) -> dict[str, Outcome]:
    """One run of all jobs, in a folder where an earlier run left the same names and another job's copy."""
    jobs = []
    for name, code in CODE.items():
        cell = "alpha: float = 1.0  # unitless, 0 to 5\nseed: int = 0  # any\nname: str = ''  # a path"
        nbformat.write(make(*code, parameters=cell), folder / f"source of {{{name}}}.ipynb")
        values = {"alpha": float("inf"), "seed": len(name), "name": str(folder / "pids")}
        seconds = 6.0 if name == "slow" else 60.0
        jobs.append(Job("pa", folder / f"source of {{{name}}}.ipynb", values, seconds, name))
        for kind in ("ipynb", "failed.ipynb", "result.json", "log"):
            (folder / f"{name}.{kind}").write_text("stale")
    (folder / "other.ipynb").write_text("fresh")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MPLBACKEND", "agg")
        patch.setenv("OMP_NUM_THREADS", "2")
        return {outcome.job.name: outcome for outcome in run(jobs, folder, workers=2)}


def files(folder: Path, name: str) -> set[str]:
    return {path.name.removeprefix(f"{name}.") for path in folder.glob(f"{name}.*")}


def assert_gone(pids: Path) -> None:
    """The kernel and the program that it started have ended, though nobody may have asked how."""
    for pid in map(int, pids.read_text().split()):
        end = time.monotonic() + 5
        with suppress(psutil.NoSuchProcess):
            while psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
                assert time.monotonic() < end, f"process {pid} still runs"
                time.sleep(0.05)


def seen(outcome: Outcome) -> dict[str, Any]:
    assert outcome.result is not None
    return json.loads(outcome.result.read_text())


def test_success(outcomes: dict[str, Outcome], folder: Path) -> None:
    one = outcomes["one"]
    assert one.ok and one.error is None and one.cell is None and one.seconds > 0.5
    assert files(folder, "one") == {"ipynb", "result.json", "log"}
    assert (one.notebook, one.result) == (folder / "one.ipynb", folder / "one.result.json")
    copy = nbformat.read(folder / "one.ipynb", as_version=4)
    assert "unit and range" in copy.cells[1].source and 'alpha: float = float("inf")' in copy.cells[2].source
    assert "injected-parameters" not in str(copy) and "papermill" not in str(copy)
    assert seen(one)["alpha"] == float("inf")


def test_figures_are_inline_whatever_the_backend_outside(outcomes: dict[str, Outcome], folder: Path) -> None:
    copy = nbformat.read(folder / "one.ipynb", as_version=4)
    assert any("image/png" in output.get("data", {}) for output in copy.cells[-1].outputs)


def test_one_numeric_thread_and_a_fixed_hash(outcomes: dict[str, Outcome]) -> None:
    one, two = seen(outcomes["one"]), seen(outcomes["two"])
    assert one["threads"] and set(one["threads"]) == {1}
    assert one["names"] == {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
    assert one["hash"] == two["hash"]


def test_parallel_jobs_do_not_mix(outcomes: dict[str, Outcome]) -> None:
    one, two = seen(outcomes["one"]), seen(outcomes["two"])
    assert one["cwd"] != two["cwd"] and one["tmp"] != two["tmp"]
    assert one["files"] == two["files"] == ["mine-3"]
    assert not os.path.exists(one["cwd"])


def test_an_error_names_cell_and_reason(outcomes: dict[str, Outcome], folder: Path) -> None:
    broken = outcomes["broken"]
    assert not broken.ok and broken.error == "ValueError: no luck"
    assert broken.cell == "code cell 3 (`# too`)"
    assert files(folder, "broken") == {"failed.ipynb", "log"} and broken.result is None
    assert broken.notebook == folder / "broken.failed.ipynb"
    partial = broken.notebook.read_text()
    assert nbformat.validate(nbformat.reads(partial, as_version=4)) is None and "no\\nluck" in partial
    assert "ValueError" in broken.log.read_text()


def test_a_killed_kernel_is_said_in_plain_words(outcomes: dict[str, Outcome], folder: Path) -> None:
    killed = outcomes["killed"]
    assert killed.error is not None
    assert killed.error.startswith(
        "the kernel was killed by signal 9 (SIGKILL), most often because memory ran out; it held up to "
    )
    assert killed.cell == "code cell 3 (`os.kill(os.getpid(), signal.SIGKILL)`)"
    assert files(folder, "killed") == {"failed.ipynb", "log"}


def test_a_killed_worker_takes_no_other_job_along(outcomes: dict[str, Outcome]) -> None:
    orphan = outcomes["orphan"]
    assert orphan.error == "the process of the job was killed by signal 9 (SIGKILL), most often because memory ran out"
    assert orphan.cell == "code cell 2 (`import os, signal, time`)"


def test_the_time_limit_is_that_of_the_job(outcomes: dict[str, Outcome], folder: Path) -> None:
    slow = outcomes["slow"]
    assert slow.error == "stopped at its time limit of 6 s: raise timeout_s in the grid"
    assert slow.cell == "code cell 2 (`import os, pathlib, subprocess, time`)"
    assert 6 <= slow.seconds < 9
    assert_gone(folder / "pids")


def test_a_missing_extra_is_shown(outcomes: dict[str, Outcome]) -> None:
    assert outcomes["missing"].error == (
        "MissingExtra: no_such_module is not installed: pip install 'yardsticks[fast]'"
    )


def test_nothing_else_is_touched_or_left(outcomes: dict[str, Outcome], folder: Path) -> None:
    assert (folder / "other.ipynb").read_text() == "fresh"
    assert not list(folder.glob(".*"))
    assert all(outcome.log.exists() and outcome.log.read_text() != "stale" for outcome in outcomes.values())


def test_an_interrupt_stops_the_running_jobs(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    nbformat.write(make(SLOW, parameters=f"name: str = {json.dumps(str(pids))}"), tmp_path / "a.ipynb")

    def interrupt() -> None:
        end = time.monotonic() + 30
        while not pids.exists() and time.monotonic() < end:
            time.sleep(0.1)
        raise KeyboardInterrupt

    jobs = [Job("pa", tmp_path / "a.ipynb", {}, 60.0, name) for name in ("running", "waiting")]
    with pytest.raises(KeyboardInterrupt):
        run(jobs, tmp_path, started=lambda job: interrupt() if job.name == "waiting" else None)
    assert files(tmp_path, "running") == {"failed.ipynb", "log"}
    assert_gone(pids)


def test_workers_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="workers: 0 is not a number of processes"):
        run([], tmp_path, workers=0)


def test_papermill_missing(tmp_path: Path) -> None:
    code = """if True:
        import sys
        sys.modules["papermill"] = None
        from helpers.batch import execute
        execute.run([], sys.argv[1])"""
    done = subprocess.run([sys.executable, "-c", code, tmp_path], capture_output=True, text=True)
    assert "papermill is not installed: pip install 'yardsticks[batch]'" in done.stderr


def test_an_unwritable_folder_is_one_line(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    grid = project("chapters: {pa: }", pa=make())
    Path("out").write_text("")
    assert main(["batch", "run", str(grid), "--out", "out"]) == 2
    assert capsys.readouterr().err.endswith("out: File exists\n")


def test_command_loads_nothing_heavy() -> None:
    code = """if True:
        import sys
        from helpers.batch import command, execute, render, worker
        heavy = {"papermill", "nbformat", "jupyter_client", "jsonschema", "torch", "pandas", "numpy"}
        print(sorted(heavy & set(sys.modules)))"""
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


def test_command(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    grid = project("chapters: {pa: {parameters: {seed: [0, 1]}}}", pa=make("1 / seed"))
    assert main(["batch", "run", str(grid), "--out", "out", "--jobs", "2"]) == 1
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == 5 and sum(line.endswith(" started") for line in printed) == 2
    assert printed[-1] == "2 jobs: 1 executed, 1 failed"
    failed = next(line for line in printed if " failed after " in line)
    assert " s in code cell 2 (`1 / seed`): ZeroDivisionError: division by zero (see " in failed
    assert failed.endswith(".failed.ipynb)") and any(" finished in " in line for line in printed)
    assert len(list(Path("out").glob("pa-????????.ipynb"))) == 1
