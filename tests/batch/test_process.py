"""One job in a process of its own: what it sees, what it leaves behind, and how its failures read.

A kernel costs a second or more, so one round of jobs serves most tests of this file; where the notebook does not
matter, a few lines stand in for the worker.
"""

import json
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import nbformat
import pytest

from helpers.batch import environment, process
from helpers.batch.closure import WORKER, closure
from helpers.batch.process import describe_death, execute

from .conftest import CHECKOUT, jobs_in, make, nothing_left, until

CELL = "alpha: float = 1.0  # unitless, 0 to 5\nseed: int = 0  # any"
SEEN = """\
import json, os, sys, tempfile
import threadpoolctl, numpy
from ipykernel.connect import get_connection_info
files = sorted(os.path.relpath(os.path.join(top, name)) for top, _, names in os.walk(".") for name in names)
open(f"mine-{seed}", "w").close()
seen = {
    "seed": seed, "alpha": alpha, "cwd": os.getcwd(), "files": files, "mine": [f for f in os.listdir() if "mine" in f],
    "tmp": tempfile.gettempdir(), "python": sys.executable, "hash": hash("yardsticks"), "names": dict(os.environ),
    "threads": [pool["num_threads"] for pool in threadpoolctl.threadpool_info()],
    "transport": json.loads(get_connection_info())["transport"],
}
with open(os.environ["YARDSTICKS_RESULT"], "w") as file:
    json.dump(seen, file)"""
FIGURE = "import matplotlib.pyplot as plt\nplt.plot([1, 2]);"
#: Imported by every Python process of the job: the first kernels, as many as FEW, end before they are up.
UNLUCKY = """\
import sys
if any("ipykernel" in word for word in sys.orig_argv):
    with open("COUNT", "a+") as file:
        file.seek(0)
        begun = len(file.read())
        file.write("x")
    if begun < 2:
        sys.exit(7)"""
OUT_OF_MEMORY = b"\n_kills = iter((3, 4))\ndef out_of_memory_kills():\n    return next(_kills)\n"
DIES = "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)"

Outcome = dict[str, Any]


def task(*code: str, files: dict[str, bytes] | None = None, **options: Any) -> dict[str, Any]:
    """What the runner orders: a notebook with the modules that it can import, and all parameters."""
    modules = {name: path.read_bytes() for name, path in closure([WORKER, *code]).items()}
    values = {"alpha": options.pop("alpha", 1.0), "seed": options.pop("seed", 0)}
    ordered = {
        "notebook": nbformat.writes(make(*code, parameters=CELL)).encode(),
        "parameters": values,
        "files": modules | (files or {}),
        "environment": environment.required(CHECKOUT),
        "timeout_s": 60.0,
        "memory_mb": None,
    }
    return ordered | options


def stand_in(code: str, **options: Any) -> dict[str, Any]:
    """A job whose worker is this code; the folder of the job is `folder`."""
    head = "import os, pathlib, subprocess, sys, time\nfolder = pathlib.Path(sys.argv[1])\n"
    empty = {"helpers/__init__.py": b"", "helpers/batch/__init__.py": b""}
    return task(**options) | {"files": {**empty, "helpers/batch/worker.py": (head + code).encode()}}


def go_on() -> bool:
    return False


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    tmp_path_factory.getbasetemp()  # before the place for temporary files moves
    with nothing_left() as folder:
        yield folder


@pytest.fixture(scope="module")
def outcomes(place: Path) -> dict[str, Outcome]:
    """One round of jobs, two at a time, in an environment that says otherwise about threads and figures."""
    patched = closure([WORKER])["helpers/batch/process.py"].read_bytes() + OUT_OF_MEMORY
    tasks = {
        "one": task(SEEN, FIGURE, seed=3, alpha=float("inf"), files={"data/a.csv": b"1,2\n"}),
        "two": task(SEEN, seed=4),
        "broken": task("before = 1\nbefore", "# too\nraise ValueError('no\\nluck')", "after = 1"),
        "killed": task("before = 1\nbefore", DIES, "after = 1"),
        "oom": task(DIES, files={"helpers/batch/process.py": patched}),
        "orphan": task("import os, signal, time\nos.kill(os.getppid(), signal.SIGKILL)\ntime.sleep(60)"),
        "missing": task("from helpers import lazy\nlazy.require('no_such_module', extra='fast')"),
        "unlucky": task(SEEN, files={"sitecustomize.py": UNLUCKY.replace("COUNT", f"{place}/count").encode()}),
    }
    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(3) as pool:
        patch.setenv("MPLBACKEND", "agg")
        patch.setenv("OMP_NUM_THREADS", "2")
        patch.setenv("PYTHONPATH", "/elsewhere")
        futures = {name: pool.submit(execute, order, go_on) for name, order in tasks.items()}
        return {name: future.result() for name, future in futures.items()}


def seen(outcome: Outcome) -> dict[str, Any]:
    assert outcome["error"] is None
    return dict(json.loads(outcome["result"]))


def code_cells(outcome: Outcome) -> list[Any]:
    """The code cells of the executed notebook, but for those with parameters."""
    notebook = nbformat.reads(outcome["executed"].decode(), as_version=4)
    nbformat.validate(notebook)
    parameters = {"parameters", "injected-parameters"}
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return [cell for cell in code if not parameters & set(cell.metadata.get("tags", []))]


def test_success(outcomes: dict[str, Outcome]) -> None:
    one = outcomes["one"]
    assert (one["error"], one["attempts"], one["log"]) == (None, 1, b"")
    assert one["seconds"] > 0.3 and 30 < one["peak_mb"] < 2000 and one["host"]
    assert (seen(one)["alpha"], seen(one)["seed"]) == (float("inf"), 3)
    assert seen(outcomes["two"])["alpha"] == 1.0


def test_figures_are_inline_whatever_the_backend_outside(outcomes: dict[str, Outcome]) -> None:
    assert any("image/png" in output.get("data", {}) for output in code_cells(outcomes["one"])[-1].outputs)


def test_one_numeric_thread_and_a_fixed_hash(outcomes: dict[str, Outcome]) -> None:
    one, two = seen(outcomes["one"]), seen(outcomes["two"])
    assert one["threads"] and set(one["threads"]) == {1}
    for library in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
        assert one["names"][f"{library}_NUM_THREADS"] == "1"
    assert one["names"]["PYTHONHASHSEED"] == "0" and one["hash"] == two["hash"]


def test_parallel_jobs_do_not_mix(outcomes: dict[str, Outcome]) -> None:
    one, two = seen(outcomes["one"]), seen(outcomes["two"])
    assert (one["mine"], two["mine"]) == (["mine-3"], ["mine-4"])
    assert one["cwd"] != two["cwd"] and one["tmp"] != two["tmp"]
    for name in ("JUPYTER_RUNTIME_DIR", "IPYTHONDIR", "TMPDIR", "PYTHONPATH", "YARDSTICKS_RESULT"):
        assert one["names"][name] != two["names"][name]
    assert (one["transport"], one["python"]) == ("ipc", sys.executable)


def test_a_job_works_in_a_folder_with_its_files_and_no_others(outcomes: dict[str, Outcome], place: Path) -> None:
    one = seen(outcomes["one"])
    assert one["files"] == sorted([*closure([WORKER]), "data/a.csv"])
    assert Path(one["cwd"]).parent.parent == place and one["names"]["PYTHONPATH"] == one["cwd"]
    assert Path(one["tmp"]).parent.parent == place


def test_an_error_names_cell_and_reason(outcomes: dict[str, Outcome]) -> None:
    broken = outcomes["broken"]
    assert (broken["error"], broken["cell"]) == ("ValueError: no luck", "code cell 3 (`# too`)")
    assert (broken["result"], broken["attempts"]) == (None, 1)
    assert b"ValueError" in broken["log"] and b"# too" in broken["log"]
    before, error, after = code_cells(broken)
    assert before.outputs and error.outputs[0].ename == "ValueError" and not after.outputs


def test_a_killed_kernel_is_said_in_plain_words(outcomes: dict[str, Outcome]) -> None:
    killed = outcomes["killed"]
    said, _, held = killed["error"].partition("; it held up to ")
    assert said == "the kernel was killed by signal 9 (SIGKILL), most often because memory ran out"
    assert 20 < float(held.removesuffix(" MB")) < 500
    assert (killed["cell"], killed["attempts"]) == ("code cell 3 (`import os, signal`)", 1)
    assert code_cells(killed)[0].outputs and killed["result"] is None


def test_a_kernel_that_the_system_killed_for_want_of_memory(outcomes: dict[str, Outcome]) -> None:
    said = "the kernel ran out of memory: the system killed it (signal 9, SIGKILL); it held up to "
    assert outcomes["oom"]["error"].startswith(said)


def test_a_killed_worker_takes_its_kernel_along(outcomes: dict[str, Outcome]) -> None:
    orphan = outcomes["orphan"]
    said = "the process of the job was killed by signal 9 (SIGKILL), most often because memory ran out"
    assert (orphan["error"], orphan["attempts"]) == (said, 1)
    assert orphan["cell"] == "code cell 2 (`import os, signal, time`)"


def test_a_missing_extra_is_shown(outcomes: dict[str, Outcome]) -> None:
    said = "MissingExtra: no_such_module is not installed: pip install 'yardsticks[fast]'"
    assert outcomes["missing"]["error"] == said


def test_a_kernel_that_does_not_start_is_tried_again(outcomes: dict[str, Outcome]) -> None:
    unlucky = outcomes["unlucky"]
    assert (unlucky["error"], unlucky["attempts"]) == (None, 3)
    assert "sitecustomize.py" in seen(unlucky)["files"]
    for attempt in (1, 2):
        assert f"attempt {attempt} failed before the first cell: RuntimeError: Kernel died" in unlucky["log"].decode()


def test_nothing_is_left(outcomes: dict[str, Outcome], place: Path) -> None:
    """No scratch folder; `place` looks for processes at its end."""
    assert [path.name for path in place.iterdir()] == ["count"]


@pytest.mark.parametrize("needed", [{"numpy": "0.1"}, {"python": "cpython 2.7"}])
def test_another_environment_is_refused_before_a_kernel_starts(place: Path, needed: dict[str, str]) -> None:
    outcome = execute(task("1", environment=environment.required(CHECKOUT) | needed), go_on)
    ((name, version),) = needed.items()
    assert f"another environment than the runner: {name} " in outcome["error"]
    assert f"(not {version}): install the same versions" in outcome["error"]
    assert (outcome["cell"], outcome["executed"], outcome["attempts"]) == (None, None, 1)


def test_three_attempts_and_no_more(place: Path) -> None:
    outcome = execute(stand_in("print('hm'); sys.exit(3)"), go_on)
    assert outcome["error"] == "the process of the job exited in the middle of its work, with status 3"
    assert (outcome["attempts"], outcome["cell"], outcome["executed"]) == (3, None, None)
    log = outcome["log"].decode()
    assert log.count("hm\n") == 3 and log.count("trying again") == 2 and log.endswith("hm\n")


def test_at_its_time_limit_a_job_ends_with_all_that_it_started(place: Path) -> None:
    notebook = make("begun = 1", "# and here it is", "after = 1", parameters=CELL)
    for cell in notebook.cells[1:4]:
        cell.metadata["papermill"] = {"start_time": "2026"}
    code = f"""\
subprocess.Popen(["sleep", "60"])
(folder / 'executed.ipynb').write_text({nbformat.writes(notebook)!r})
time.sleep(60)"""
    outcome = execute(stand_in(code, timeout_s=2.0), go_on)
    assert outcome["error"] == "stopped at its time limit of 2 s: raise timeout_s in the grid"
    assert (outcome["cell"], outcome["attempts"]) == ("code cell 3 (`# and here it is`)", 1)
    assert 2 <= outcome["seconds"] < 10 and not jobs_in(place)


def test_the_time_limit_holds_for_all_attempts_together(place: Path) -> None:
    outcome = execute(stand_in("time.sleep(0.5); sys.exit(3)", timeout_s=0.9), go_on)
    assert outcome["error"] == "stopped at its time limit of 0.9 s: raise timeout_s in the grid"
    assert outcome["attempts"] == 2 and outcome["seconds"] < 3


def test_the_memory_limit_is_that_of_all_its_processes(place: Path) -> None:
    code = """\
hold = "import time; block = b'x' * 80_000_000; time.sleep(60)"
subprocess.Popen([sys.executable, "-c", hold])
exec(hold)"""
    outcome = execute(stand_in(code, memory_mb=150.0), go_on)
    said, _, rest = outcome["error"].partition(" it held ")
    held, _, limit = rest.partition(" MB, ")
    assert (said, limit) == ("stopped, out of memory:", "more than its memory_mb of 150: raise memory_mb in the grid")
    # Twice 80 MB and two interpreters: neither process alone is above the limit.
    assert 150 < float(held) < 250 and round(outcome["peak_mb"]) == float(held)
    assert outcome["attempts"] == 1


def test_an_error_that_is_meant_is_not_taken_for_the_reason(place: Path) -> None:
    notebook = make("# meant\n1 / 0", "# not meant\n1 / 0", "after = 1", parameters=CELL)
    for cell in notebook.cells[2:4]:
        cell.outputs = [nbformat.v4.new_output("error", ename="ZeroDivisionError", evalue="", traceback=[])]
    code = f"""\
(folder / 'executed.ipynb').write_text({nbformat.writes(notebook)!r})
(folder / 'verdict.json').write_text('{{"error": "ZeroDivisionError", "final": false}}')"""
    outcome = execute(stand_in(code), go_on)
    assert (outcome["cell"], outcome["attempts"]) == ("code cell 3 (`# not meant`)", 1)


@pytest.mark.parametrize("verdict", ["", "{", "[}"])
def test_half_written_files_count_as_none(place: Path, verdict: str) -> None:
    code = f"""\
(folder / 'executed.ipynb').write_text('{{"cells": [')
(folder / 'verdict.json').write_text('{verdict}')"""
    outcome = execute(stand_in(code), go_on)
    assert outcome["error"] == "the process of the job exited in the middle of its work, with status 0"
    assert (outcome["executed"], outcome["cell"]) == (None, None)


def test_a_result_counts_only_after_success(place: Path) -> None:
    code = """\
(folder / 'result.json').write_text('{}')
(folder / 'verdict.json').write_text('{"error": "two\\\\n  lines", "final": true}')"""
    outcome = execute(stand_in(code), go_on)
    assert (outcome["error"], outcome["result"], outcome["attempts"]) == ("two lines", None, 1)


def test_when_to_stop_is_asked_all_the_time(place: Path) -> None:
    started = place / "started"
    code = f"subprocess.Popen(['sleep', '60']); pathlib.Path({str(started)!r}).touch(); time.sleep(60)"
    outcome = execute(stand_in(code), started.exists)
    assert (outcome["error"], outcome["attempts"]) == ("interrupted", 1)
    assert outcome["seconds"] < 5


def test_a_worker_that_the_system_killed_for_want_of_memory(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kills = iter((0, 1))
    monkeypatch.setattr(process, "out_of_memory_kills", lambda: next(kills))
    monkeypatch.setattr(process, "ATTEMPTS", 1)
    outcome = execute(stand_in("os.kill(os.getpid(), 9)"), go_on)
    assert outcome["error"] == "the process of the job ran out of memory: the system killed it (signal 9, SIGKILL)"


@pytest.mark.parametrize(
    ("status", "out_of_memory", "said"),
    [
        (None, False, "it exited in the middle of its work, with status None"),
        (0, True, "it exited in the middle of its work, with status 0"),
        (3, False, "it exited in the middle of its work, with status 3"),
        (-11, True, "it was killed by signal 11 (SIGSEGV)"),
        (-9, False, "it was killed by signal 9 (SIGKILL), most often because memory ran out"),
        (-9, True, "it ran out of memory: the system killed it (signal 9, SIGKILL)"),
    ],
)
def test_deaths(status: int | None, out_of_memory: bool, said: str) -> None:
    assert describe_death("it", status, out_of_memory) == said


V2 = {"/proc/self/cgroup": "0::/jobs/7\n", "/sys/fs/cgroup/jobs/7/memory.events": "low 0\noom 5\noom_kill 2\n"}
V1 = {
    "/proc/self/cgroup": "4:memory:/jobs\n0::/\n",
    "/sys/fs/cgroup/memory/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n",
}


@pytest.mark.parametrize(
    ("system", "kills"),
    [(V2, 2), (V1, 3), ({"/proc/self/cgroup": "0::/jobs/7\n"}, 0), ({}, 0)],
    ids=["version 2", "version 1", "not told", "not Linux"],
)
def test_what_linux_tells_of_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, system: dict[str, str], kills: int
) -> None:
    for name, content in system.items():
        (tmp_path / name[1:]).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name[1:]).write_text(content)
    monkeypatch.setattr(process, "Path", lambda name: tmp_path / name[1:])
    assert process.out_of_memory_kills() == kills


def test_a_scratch_folder_has_a_short_path(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with process.scratch() as folder:
        assert folder.parent == place
    monkeypatch.setattr("tempfile.tempdir", str(place / ("long" * 10)))
    with process.scratch() as folder:
        assert len(str(folder / "rt" / "kernel-1")) < 60
        (folder / "work" / "something").touch()
    assert not folder.exists()


def test_without_a_runner_a_worker_ends_with_all_that_it_started(place: Path) -> None:
    """Also if one of these has just ended by itself."""
    code = """if True:
        import subprocess, sys, psutil
        from pathlib import Path
        from helpers.batch import worker
        gone, alive = (subprocess.Popen(["sleep", seconds]) for seconds in ("0", "60"))
        known = [psutil.Process(gone.pid), psutil.Process(alive.pid)]
        gone.wait()
        psutil.Process.children = lambda self, recursive: known
        worker._end_with_the_runner(Path(sys.argv[1]))"""
    (place / "ys-abandoned" / "tmp").mkdir(parents=True)
    folder = str(place / "ys-abandoned")
    run = {"env": {**os.environ, "PYTHONPATH": str(CHECKOUT), "TMPDIR": f"{folder}/tmp"}, "stdin": subprocess.DEVNULL}
    assert subprocess.run([sys.executable, "-c", code, folder], timeout=20, **run).returncode == 1
    assert not Path(folder).exists()


def test_a_worker_notices_that_its_runner_is_gone(tmp_path: Path) -> None:
    """The runner is killed without a word, in the middle of a job: `nothing_left` waits for the end of the rest."""
    execute_it = """if True:
        import pickle, sys
        from helpers.batch import process
        process.execute(pickle.load(sys.stdin.buffer), lambda: False)"""
    began = tmp_path / "began"
    code = f"""\
import pathlib, subprocess, time
subprocess.Popen(["sleep", "60"])
pathlib.Path({str(began)!r}).touch()
time.sleep(60)"""
    order = task(code)
    with nothing_left() as folder:
        environment = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
        runner = subprocess.Popen([sys.executable, "-c", execute_it], env=environment, stdin=subprocess.PIPE)
        assert runner.stdin
        with runner.stdin as stream:
            pickle.dump(order, stream)
        until(began.exists, "the first cell began")
        assert jobs_in(folder)
        runner.kill()
        runner.wait()


@pytest.mark.parametrize("place_of_the_error", ["ys-1/notebooks/a", None])
def test_a_job_fails_when_there_is_no_room_for_its_files(
    place: Path, monkeypatch: pytest.MonkeyPatch, place_of_the_error: str | None
) -> None:
    def full(self: Path, content: bytes) -> int:
        raise OSError(28, "No space left on device", *([place_of_the_error] if place_of_the_error else []))

    monkeypatch.setattr(Path, "write_bytes", full)
    outcome = execute(task("1"), go_on)
    assert outcome["error"] == f"its scratch folder: {place_of_the_error or place}: No space left on device"
    assert (outcome["attempts"], outcome["executed"], outcome["result"]) == (3, None, None)
    assert b"No space left on device" in outcome["log"]
    assert not list(place.glob("ys-*"))
