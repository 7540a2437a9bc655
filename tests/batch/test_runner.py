"""A run of a plan: what is stored is taken, the rest executed and stored, whatever is killed, full or read-only.

Most tests pretend the execution (see `conftest.Pretended`); those about processes use real ones.
"""

import contextlib
import errno
import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import zipfile
from collections.abc import Iterator
from concurrent.futures import CancelledError, Future
from pathlib import Path
from typing import Any

import nbformat
import pytest

from helpers.batch import closure, keys, runner
from helpers.batch.plan import read_grid
from helpers.batch.runner import Outcome, run, stored
from helpers.cli import main
from helpers.errors import InputError

from .conftest import CHECKOUT, PRETEND, Pretended, Project, Runner, jobs_in, make, nothing_left, until

THREE = "chapters: {pa: {parameters: {seed: [0, 1, 2]}}}"
ONE_FAILS = "chapters: {pa: {parameters: {seed: 0, alpha: [1, 5, 2]}}}"
STORE = Path("_build/store")


def states(outcomes: list[Outcome]) -> list[str]:
    return [outcome.state for outcome in outcomes]


def listed(folder: Path) -> set[str]:
    """The files of a folder, the hidden ones too."""
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def laid_out(name: str) -> set[str]:
    return {path.name.removeprefix(f"{name}.") for path in Path("out").glob(f"{name}.*")}


def page(name: str) -> Any:
    notebook = nbformat.read(f"out/{name}.ipynb", as_version=4)
    nbformat.validate(notebook)
    return notebook


def assert_sound(store: Path = STORE) -> None:
    """Whatever is in the store is whole, and bears its final name."""
    for path in (store / name for name in listed(store)):
        assert not path.name.startswith("."), path
        if path.suffix == ".zip":
            with zipfile.ZipFile(path) as archive:
                assert archive.testzip() is None
                assert {"executed.ipynb", "job.json", "log.txt"} <= set(archive.namelist())
                nbformat.validate(nbformat.reads(archive.read("executed.ipynb").decode(), as_version=4))
        else:
            json.loads(path.read_bytes())


# --- what is done, and what is not done again


def test_a_second_run_executes_nothing(project: Project, pretended: Pretended) -> None:
    grid = project(THREE, pa=make("alpha"))
    first = run(grid, "out")
    assert states(first) == ["executed"] * 3 and sorted(pretended.seeds) == [0, 1, 2]
    before = {name: (Path("out") / name).read_bytes() for name in listed(Path("out"))}
    shutil.rmtree("out")
    second = run(grid, "out")
    assert states(second) == ["cached"] * 3 and len(pretended.tasks) == 3
    assert {name: (Path("out") / name).read_bytes() for name in listed(Path("out"))} == before
    for one, two in zip(first, second, strict=True):
        assert (two.job, two.seconds, two.result, two.error) == (one.job, one.seconds, one.result, None)
    assert_sound()


def test_what_a_job_leaves(project: Project, pretended: Pretended) -> None:
    (outcome,) = run(project("chapters: {pa: {parameters: {alpha: 3}}}", pa=make("alpha")), "out")
    assert laid_out("pa") == {"ipynb", "result.json", "log"}
    assert (outcome.state, outcome.seconds, outcome.cell) == ("executed", 1.0, None)
    assert Path("out/pa.result.json").read_bytes() == outcome.result
    assert Path("out/pa.log").read_bytes() == b"a log\n"
    _, table, parameters, code = page("pa").cells
    assert "unit and range" in table.source and parameters.source.startswith("alpha: float = 3.0")
    assert code.outputs[0].text == "execution 1\n" and "papermill" not in str(page("pa"))


@pytest.mark.parametrize("content", ["[]", "no JSON", "{}", '{"metrics": {"score": 1}}', '{"metrics": {"score": {}}}'])
def test_a_result_that_is_none_fails_the_job(project: Project, pretended: Pretended, content: str) -> None:
    pretended.result = content.encode()
    (outcome,) = run(project("chapters: {pa: }", pa=make("alpha")), "out")
    assert outcome.error == "its result is not one: let helpers.results.conclude write it"
    assert laid_out("pa") == {"failed.ipynb", "log"} and not list(STORE.rglob("*.zip"))


def test_what_a_job_is_given(project: Project, pretended: Pretended) -> None:
    grid = project(
        "chapters: {pa: {timeout_s: 30, memory_mb: 200, parameters: {alpha: 3}}}",
        pa=make("from helpers import errors"),
    )
    notebook = json.loads(Path("notebooks/pa.ipynb").read_text())
    notebook["metadata"]["yardsticks"] = {"data": ["mine.csv"]}
    Path("notebooks/pa.ipynb").write_text(json.dumps(notebook))
    Path("mine.csv").write_text("1,2\n")
    run(grid, "out")
    (task,) = pretended.tasks
    assert (task["timeout_s"], task["memory_mb"]) == (30.0, 200.0)
    assert task["parameters"] == {"alpha": 3.0, "seed": 0}
    assert json.loads(task["notebook"]) == notebook
    assert task["files"]["mine.csv"] == b"1,2\n"
    assert {"helpers/errors.py", "helpers/batch/worker.py"} <= task["files"].keys()
    assert not any(name.startswith("helpers/pa/") for name in task["files"])
    assert {"python", "kernel", "papermill", "numpy"} <= task["environment"].keys()


def test_outcomes_come_in_the_order_of_the_plan(project: Project, pretended: Pretended) -> None:
    jobs = read_grid(project(THREE, pa=make()))
    assert [outcome.job for outcome in run(jobs[::-1], "out", workers=3)] == jobs[::-1]


def test_what_took_longest_goes_first_and_the_unknown_before(project: Project, pretended: Pretended) -> None:
    grid = project(THREE, pa=make())
    run(grid, "out", workers=1)
    grid.write_text("chapters: {pa: {parameters: {seed: [0, 3, 1, 2]}}, cl: {notebook: notebooks/pa.ipynb}}")
    run(grid, "out", workers=1, fresh=True)
    # seed + 1 seconds each; seed 3 has never run and may take as long as the mean of its chapter, 2 s; cl: unknown
    assert pretended.seeds[3:] == [0, 2, 3, 1, 0]


def test_only_as_many_jobs_at_a_time_as_workers(project: Project, pretended: Pretended) -> None:
    running, most = [0], [0]

    def count(task: dict[str, Any]) -> None:
        running[0] += 1
        most[0] = max(most[0], running[0])
        time.sleep(0.05)
        running[0] -= 1

    pretended.before = count
    run(project("chapters: {pa: {parameters: {seed: [0, 1, 2, 3, 4, 5]}}}", pa=make()), "out", workers=2)
    assert most == [2]


def test_a_fresh_run_takes_nothing_from_the_store(project: Project, pretended: Pretended) -> None:
    grid = project("chapters: {pa: }", pa=make("alpha"))
    run(grid, "out")
    assert states(run(grid, "out", fresh=True)) == ["executed"]
    assert page("pa").cells[-1].outputs[0].text == "execution 2\n"
    assert states(run(grid, "again")) == ["cached"]
    assert nbformat.read("again/pa.ipynb", as_version=4).cells[-1].outputs[0].text == "execution 2\n"


def test_a_changed_text_is_shown_with_the_outputs_of_before(project: Project, pretended: Pretended) -> None:
    grid = project(THREE, pa=make("alpha"))
    run(grid, "out")
    text = Path("notebooks/pa.ipynb").read_text().replace("# A chapter", "# Another title")
    Path("notebooks/pa.ipynb").write_text(text)
    outcomes = run(grid, "out")
    assert states(outcomes) == ["cached"] * 3 and len(pretended.tasks) == 3
    for outcome in outcomes:
        title, _, _, code = page(outcome.job.name).cells
        assert title.source == "# Another title" and code.outputs[0].text.startswith("execution ")


def test_a_changed_cell_or_value_is_executed(project: Project, pretended: Pretended) -> None:
    grid = project(THREE, pa=make("alpha"))
    run(grid, "out")
    grid.write_text(THREE.replace("2]", "7]"))
    assert sorted(states(run(grid, "out"))) == ["cached", "cached", "executed"] and pretended.seeds[3:] == [7]
    nbformat.write(make("alpha + 1"), "notebooks/pa.ipynb")
    assert states(run(grid, "out")) == ["executed"] * 3


@pytest.mark.parametrize("damage", [b"", b"PK", None])
def test_what_is_damaged_or_gone_is_executed_again(
    project: Project, pretended: Pretended, damage: bytes | None
) -> None:
    grid = project("chapters: {pa: }", pa=make("alpha"))
    run(grid, "out")
    (entry,) = STORE.glob("executed/*/*.zip")
    if damage is None:
        entry.unlink()
    else:
        entry.write_bytes(damage)
    assert states(stored(grid)) == ["missing"]
    assert states(run(grid, "out")) == ["executed"]
    assert page("pa").cells[-1].outputs[0].text == "execution 2\n"
    assert_sound()


def test_parts_on_one_store_are_the_whole(project: Project, pretended: Pretended) -> None:
    grid = project("chapters: {pa: {parameters: {seed: [0, 1, 2, 3, 4]}}}", pa=make("alpha"))
    parts = [run(grid, f"out {part}", shard=f"{part}/2") for part in (1, 2)]
    assert [len(part) for part in parts] == [3, 2] and sorted(pretended.seeds) == [0, 1, 2, 3, 4]
    assert states(run(grid, "out")) == ["cached"] * 5
    both = {name: (Path(out) / name).read_bytes() for out in ("out 1", "out 2") for name in listed(Path(out))}
    assert {name: (Path("out") / name).read_bytes() for name in listed(Path("out"))} == both


def test_a_store_at_an_address(project: Project, pretended: Pretended) -> None:
    grid = project(THREE, pa=make("alpha"))
    place = f"memory://{Path.cwd().name}"
    assert states(run(grid, "out", store=place, shard="1/2")) == ["executed"] * 2
    assert states(run(grid, "out", store=place)) == ["cached", "executed", "cached"]
    assert states(stored(grid, "other", store=place)) == ["cached"] * 3
    assert listed(Path("other")) == listed(Path("out")) and not STORE.exists()


# --- failures


def test_a_failure_stops_no_other_job_and_is_not_stored(project: Project, pretended: Pretended) -> None:
    grid = project(ONE_FAILS, pa=make("alpha"))
    outcomes = run(grid, "out")
    assert states(outcomes) == ["executed", "failed", "executed"]
    failed = outcomes[1]
    assert (failed.error, failed.cell) == ("ValueError: no luck", "code cell 2 (`alpha`)")
    assert (failed.result, failed.seconds) == (None, 1.0)
    assert laid_out(failed.job.name) == {"failed.ipynb", "log"}
    assert "execution " in Path(f"out/{failed.job.name}.failed.ipynb").read_text()
    assert Path(f"out/{failed.job.name}.log").read_bytes() == b"a log\n"
    assert len(list(STORE.glob("executed/*/*"))) == len(list(STORE.glob("rendered/*/*"))) == 2
    assert states(run(grid, "out")) == ["cached", "failed", "cached"] and len(pretended.tasks) == 4


def test_what_an_earlier_run_left_does_not_pass_for_this_ones(project: Project, pretended: Pretended) -> None:
    grid = project("chapters: {pa: , cl: {parameters: {alpha: 5}}}", pa=make("alpha"), cl=make("alpha"))
    Path("out").mkdir()
    for kind in ("ipynb", "failed.ipynb", "result.json", "log"):
        for name in ("pa", "cl", "other"):
            Path(f"out/{name}.{kind}").write_text("stale")

    def only_others(task: dict[str, Any]) -> None:
        assert listed(Path("out")) <= {f"other.{kind}" for kind in runner.KINDS}

    pretended.before = only_others
    assert states(run(grid, "out", workers=1, store="first")) == ["executed", "failed"]
    assert laid_out("pa") == {"ipynb", "result.json", "log"} and laid_out("cl") == {"failed.ipynb", "log"}
    assert all("stale" not in Path(f"out/{name}").read_text() for name in listed(Path("out")) if "other" not in name)
    assert Path("out/other.ipynb").read_text() == "stale"


def test_a_job_that_fails_now_and_succeeds_later(project: Project, pretended: Pretended) -> None:
    grid = project("chapters: {pa: {parameters: {alpha: 1}}}", pa=make("alpha"))
    run(grid, "out")
    grid.write_text("chapters: {pa: {parameters: {alpha: 5}}}")
    assert states(run(grid, "out")) == ["failed"] and laid_out("pa") == {"failed.ipynb", "log"}
    grid.write_text("chapters: {pa: {parameters: {alpha: 1}}}")
    assert states(run(grid, "out")) == ["cached"] and laid_out("pa") == {"ipynb", "result.json", "log"}


class Engine:
    """An engine whose jobs all come to the same end."""

    workers = 1
    ends: BaseException

    def __init__(self, *_: object) -> None:
        self.stopped: list[bool] = []

    def submit(self, name: str, task: dict[str, Any], gpus: int) -> Future[dict[str, Any]]:
        future: Future[dict[str, Any]] = Future()
        future.set_exception(self.ends)
        return future

    def close(self, *, stop: bool) -> None:
        self.stopped.append(stop)


def test_an_engine_that_gives_a_job_up(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "Local", Engine)
    monkeypatch.setattr(Engine, "ends", RuntimeError("two\nlines"), raising=False)
    outcomes = run(project(THREE, pa=make()), "out")
    assert {(outcome.state, outcome.error) for outcome in outcomes} == {
        ("failed", "the engine gave up: RuntimeError: two lines")
    }
    assert laid_out(outcomes[0].job.name) == {"log"}


def test_a_scheduler_that_goes_away(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "Local", Engine)
    monkeypatch.setattr(Engine, "ends", CancelledError(), raising=False)
    with pytest.raises(InputError, match=r"^scheduler: it went away; run again to go on from here$"):
        run(project(THREE, pa=make()), "out")


class Offering(Engine):
    """A cluster whose best worker offers one GPU."""

    threads, dashboard, gpus = 2, "none", 1
    ends = RuntimeError("enough")


class Listening(runner._Blind):
    """A watch that keeps what it is told."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def say(self, text: str) -> None:
        self.heard.append(text)


@pytest.mark.parametrize(
    ("gpus", "said"),
    [
        ((0, 1), []),
        ((1, 2), ["1 job waits for a worker with --resources GPU=2: none that is there offers as much"]),
        ((2, 4), ["2 jobs wait for a worker with --resources GPU=4: none that is there offers as much"]),
    ],
)
def test_jobs_whose_gpus_no_worker_offers_are_named(
    project: Project, monkeypatch: pytest.MonkeyPatch, gpus: tuple[int, int], said: list[str]
) -> None:
    monkeypatch.setattr(runner, "Cluster", Offering)
    watch = Listening()
    grid = project(f"chapters: {{pa: {{gpus: {gpus[0]}}}, cl: {{gpus: {gpus[1]}}}}}", pa=make(), cl=make())
    run(grid, "out", scheduler="tcp://made.up:8786", watch=watch)
    assert watch.heard == ["2 worker threads at tcp://made.up:8786; dashboard: none", *said]


@pytest.mark.parametrize("workers", [0, -1])
def test_workers_refused(project: Project, workers: int) -> None:
    with pytest.raises(InputError, match=f"workers: {workers} is not a number of processes: give 1 or more"):
        run(project("chapters: {pa: }", pa=make()), "out", workers=workers)


# --- interrupts


class Interrupting(runner._Blind):
    """A watch under which Ctrl-C comes as soon as a job has finished."""

    def __init__(self) -> None:
        self.interrupted = threading.Event()
        self.kept: list[str] = []

    def finished(self, outcome: Outcome) -> None:
        self.kept.append(outcome.job.name)
        if not self.interrupted.is_set():
            self.interrupted.set()
            raise KeyboardInterrupt


def test_an_interrupt_keeps_what_has_succeeded_and_begins_nothing(project: Project, pretended: Pretended) -> None:
    """Of six jobs two end at the same time, and the interrupt comes while the first of them is looked at."""
    grid = project("chapters: {pa: {parameters: {seed: [0, 1, 2, 3, 4, 5]}}}", pa=make())
    watch, together = Interrupting(), threading.Barrier(2)

    pretended.before = lambda task: together.wait(10) if len(pretended.tasks) <= 2 else watch.interrupted.wait(10)
    with pytest.raises(KeyboardInterrupt):
        run(grid, "out", watch=watch)
    assert 2 <= len(watch.kept) == len(pretended.tasks) <= 4
    kept = states(stored(grid))
    assert kept.count("cached") == len(watch.kept)
    pretended.tasks.clear()
    pretended.before = lambda task: None
    assert states(run(grid, "out")) == [{"cached": "cached", "missing": "executed"}[state] for state in kept]
    assert len(pretended.tasks) == kept.count("missing")


# --- disks


def fails(code: int, *, inside: Path) -> Any:
    """What stands in for a function of a path (or of a keyword `dir`): inside a folder it raises this error."""

    def refuse(original: Any) -> Any:
        def instead(*arguments: Any, **options: Any) -> Any:
            where = Path(options.get("dir") or arguments[0])
            if inside.resolve() in [where.resolve(), *where.resolve().parents]:
                if original.__name__ == "write_bytes":
                    original(where, arguments[1][: len(arguments[1]) // 2])  # as much as there was room for
                raise OSError(code, os.strerror(code))
            return original(*arguments, **options)

        return instead

    return refuse


@pytest.mark.parametrize("full", [STORE / "executed", STORE / "rendered", STORE / "latest", Path("out")])
def test_a_full_disk_is_one_clear_error(
    project: Project,
    pretended: Pretended,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    full: Path,
) -> None:
    grid = project(THREE, pa=make("alpha"))
    run(grid, "first", store=STORE, shard="2/3")
    for folder in ("executed", "rendered", "latest"):
        (STORE / folder).mkdir(exist_ok=True)
    Path("out").mkdir()
    with monkeypatch.context() as patch:
        patch.setattr(runner.Store, "probe", lambda self: None)  # the disk fills up later
        patch.setattr(Path, "write_bytes", fails(errno.ENOSPC, inside=full)(Path.write_bytes))
        assert main(["batch", "run", str(grid), "--out", "out"]) == 2
    printed = capsys.readouterr()
    (line,) = printed.err.splitlines()
    place = "_build/store" if STORE in full.parents else "out/pa"
    assert line.startswith(f"yardsticks: {place}") and line.endswith(": No space left on device")
    assert_sound()
    assert not [name for name in listed(Path("out")) if name.startswith(".")]
    assert "cached" in states(stored(grid))
    assert sorted(set(states(run(grid, "out")))) == ["cached", "executed"] or full == Path("out")
    assert states(run(grid, "out")) == ["cached"] * 3
    assert_sound()


@pytest.mark.parametrize("exists", [True, False])
def test_a_read_only_store_is_one_clear_error_before_anything_is_executed(
    project: Project,
    pretended: Pretended,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    exists: bool,
) -> None:
    grid = project(THREE, pa=make("alpha"))
    if exists:
        run(grid, "out", shard="1/3")
    before = listed(Path.cwd())
    with monkeypatch.context() as patch:
        patch.setattr(tempfile, "mkstemp", fails(errno.EROFS, inside=STORE)(tempfile.mkstemp))
        patch.setattr(Path, "mkdir", fails(errno.EROFS, inside=STORE)(Path.mkdir))
        pretended.tasks.clear()
        assert main(["batch", "run", str(grid), "--out", "out"]) == 2
    assert capsys.readouterr().err == "yardsticks: _build/store: Read-only file system\n"
    assert pretended.tasks == [] and listed(Path.cwd()) == before


def test_a_read_only_store_serves_what_it_has(
    project: Project, pretended: Pretended, monkeypatch: pytest.MonkeyPatch
) -> None:
    grid = project(THREE, pa=make("alpha"))
    run(grid, "out")
    monkeypatch.setattr(tempfile, "mkstemp", fails(errno.EROFS, inside=STORE)(tempfile.mkstemp))
    assert states(run(grid, "elsewhere")) == ["cached"] * 3


@contextlib.contextmanager
def disk(folder: Path, options: str) -> Iterator[None]:
    """A file system in memory, mounted on a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], capture_output=True, text=True)
    if mounted.returncode:
        pytest.skip(f"no tmpfs can be mounted here ({mounted.stderr.strip() or 'not as root'})")
    try:
        yield
    finally:
        subprocess.run(["umount", folder], check=True)


need_root = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0 or shutil.which("mount") is None,
    reason="only root may mount a small disk",
)


@need_root
def test_a_disk_that_is_really_full(project: Project, pretended: Pretended, capsys: pytest.CaptureFixture[str]) -> None:
    """It has room for what two of three jobs leave."""
    grid = project(THREE, pa=make("alpha"))
    pretended.log = os.urandom(65536)
    with disk(STORE, "size=192k"):
        assert main(["batch", "run", str(grid), "--out", "out", "--jobs", "1"]) == 2
        assert capsys.readouterr().err == "yardsticks: _build/store: No space left on device\n"
        assert_sound()
        assert sorted(states(stored(grid))) == ["cached", "cached", "missing"]
        subprocess.run(["mount", "-o", "remount,size=1m", STORE], check=True)
        assert sorted(states(run(grid, "out"))) == ["cached", "cached", "executed"]
        assert_sound()


@need_root
def test_a_store_that_is_really_read_only(
    project: Project, pretended: Pretended, capsys: pytest.CaptureFixture[str]
) -> None:
    grid = project(THREE, pa=make("alpha"))
    with disk(STORE, "size=1m"):
        run(grid, "out", shard="1/3")
        subprocess.run(["mount", "-o", "remount,ro", STORE], check=True)
        assert main(["batch", "run", str(grid), "--out", "out"]) == 2
        assert capsys.readouterr().err == "yardsticks: _build/store: Read-only file system\n"
        assert pretended.seeds == [0]
        assert states(run(grid, "again", shard="1/3")) == ["cached"]


# --- with real processes: kill -9, Ctrl-C, two at once, a changed line

#: Jobs that come to a bad end, or none, until there is a file `go`.
MISCHIEF = """\
import json, os, pathlib, signal, time
place = pathlib.Path(where)
(place / f"began-{what}").write_text("")
if not (place / "go").exists():
    if what == "kernel":
        os.kill(os.getpid(), signal.SIGKILL)
    if what == "worker":
        os.kill(os.getppid(), signal.SIGKILL)
    if what in ("worker", "slow"):
        time.sleep(60)
pathlib.Path(os.environ["YARDSTICKS_RESULT"]).write_text(json.dumps({"metrics": {}}))"""
MISCHIEVOUS = 'what: str = "fast"  # which, any\nwhere: str = ""  # a folder, any'


@pytest.fixture
def scratch(tmp_path: Path) -> Iterator[Path]:
    """Where the jobs of a test are scratched in; nothing may be left there."""
    with nothing_left() as folder:
        yield folder


@pytest.mark.slow
def test_nothing_is_lost_whoever_is_killed(project: Project, scratch: Path) -> None:
    """A kernel, a worker and the runner are killed with -9 in one run, the next one is interrupted with Ctrl-C."""
    notebook = make("'some output'", MISCHIEF, parameters=MISCHIEVOUS)
    grid = project(
        f"""chapters:
  bad: {{notebook: notebooks/pa.ipynb, parameters: {{what: [kernel, worker], where: {Path.cwd()}}}}}
  good: {{notebook: notebooks/pa.ipynb, parameters: {{what: [fast, slow], where: {Path.cwd()}}}, tags: [good]}}""",
        pa=notebook,
    )
    kernel, worker, fast, slow = (job.name for job in read_grid(grid))

    first = Runner("grid.yml", "--out", "out", "--jobs", "3")
    first.await_lines(f"{kernel} failed", f"{worker} failed", f"{fast} executed", f"{slow} started")
    began = Path("began-slow")
    until(began.exists, "the slow job has begun")
    assert len(jobs_in(scratch)) >= 2 and first.kill(signal.SIGKILL) == -signal.SIGKILL
    failures = {job: Path(f"out/{job}.log").exists() and laid_out(job) for job in (kernel, worker)}
    assert failures == {kernel: {"failed.ipynb", "log"}, worker: {"failed.ipynb", "log"}}
    assert laid_out(fast) == {"ipynb", "result.json", "log"} and laid_out(slow) == set()
    assert "the kernel was killed by signal 9 (SIGKILL)" in first.printed()
    assert "the process of the job was killed by signal 9 (SIGKILL)" in first.printed()
    assert_sound()
    assert not [name for name in listed(Path("out")) if name.startswith(".")]
    assert states(stored(grid)) == ["missing", "missing", "cached", "missing"]

    began.unlink()
    second = Runner("grid.yml", "--out", "out", "--tag", "good")
    second.await_lines("1 cached, 1 to execute", f"{slow} started")
    until(began.exists, "the slow job has begun")
    assert second.kill(signal.SIGINT) == 130
    assert second.complained() == "yardsticks: interrupted\n"
    assert not jobs_in(scratch) and not list(scratch.glob("ys-*"))  # an interrupt waits for the end of its jobs
    assert_sound()
    assert not [name for name in listed(Path("out")) if name.startswith(".")]

    Path("go").touch()
    third = Runner("grid.yml", "--out", "out")
    assert third.last_line() == "4 jobs: 3 executed, 1 cached, 0 failed"
    assert third.process.returncode == 0
    assert all(laid_out(job) == {"ipynb", "result.json", "log"} for job in (kernel, worker, fast, slow))
    assert_sound()


class Killed(BaseException):
    """Stands in for a kill: nothing is tidied up."""


@pytest.mark.parametrize("folder", ["executed", "latest", "rendered", "out"])
def test_a_run_that_ends_while_it_writes(
    project: Project, pretended: Pretended, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    """What is written but not yet renamed bears no name that anyone asks for."""
    grid = project("chapters: {pa: }", pa=make("alpha"))
    replace = Path.replace

    def killed(self: Path, target: Path) -> Path:
        if folder in target.parts and "probe" not in target.name:
            raise Killed
        return replace(self, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", killed)
        patch.setattr(Path, "unlink", lambda self, missing_ok=False: None)
        with pytest.raises(Killed):
            run(grid, "out")
    place = Path("out" if folder == "out" else STORE / folder)
    assert [Path(name).name[0] for name in listed(place) if "probe" not in name] == ["."]
    assert laid_out("pa") == set()
    assert states(run(grid, "out")) == ["executed" if folder == "executed" else "cached"]
    assert laid_out("pa") == {"ipynb", "result.json", "log"} and states(stored(grid)) == ["cached"]


def test_two_runs_at_once_on_one_store(project: Project) -> None:
    grid = project(f"chapters: {{pa: {{parameters: {{seed: {list(range(30))}}}}}}}", pa=make("alpha"))
    arguments = ("grid.yml", "--jobs", "4", "--out")
    lasts = [one.last_line() for one in [Runner(*arguments, out, instead=PRETEND) for out in ("one", "two")]]
    for line in lasts:
        executed, cached = (int(line.split()[index]) for index in (2, 4))
        assert line == f"30 jobs: {executed} executed, {cached} cached, 0 failed" and executed + cached == 30
    assert_sound()
    assert listed(Path("one")) == listed(Path("two")) and len(listed(Path("one"))) == 91
    assert states(stored(grid, "three")) == ["cached"] * 30
    assert_sound()


@pytest.mark.slow
def test_one_changed_line_executes_only_the_chapters_that_import_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scratch: Path
) -> None:
    """In a copy of the checkout, whose own chapters are planned but not executed: small ones with imports are."""
    ignore = shutil.ignore_patterns("__pycache__")
    for folder in ("helpers", "notebooks", "data"):
        shutil.copytree(CHECKOUT / folder, tmp_path / folder, ignore=ignore)
    shutil.copy(CHECKOUT / "requirements.lock", tmp_path)
    monkeypatch.chdir(tmp_path)
    small = {
        "one": "from helpers import pa\nprint(pa.agreement([[1.0, 0.0]], [[1.0, 0.0]]).value)",
        "two": "from helpers import errors\nprint(errors.__name__)",
    }
    for name, code in small.items():
        nbformat.write(make(code), f"notebooks/{name}.ipynb")
    Path("small.yml").write_text(f"chapters: {{{', '.join(f'{name}: ' for name in small)}}}")

    monkeypatch.setattr(closure, "ROOT", tmp_path)

    def executions() -> dict[str, str]:
        return {i.job.chapter: i.execution for i in keys.identify(read_grid("notebooks/grids/smoke.yml"))}

    before = executions()
    assert Runner("small.yml", checkout=tmp_path).last_line() == "2 jobs: 2 executed, 0 cached, 0 failed"
    module = Path("helpers/pa/numerics.py")
    module.write_text(module.read_text() + "\nCHANGED = True\n")
    second = Runner("small.yml", checkout=tmp_path)
    assert second.last_line() == "2 jobs: 1 executed, 1 cached, 0 failed"
    assert "one executed in" in second.printed()
    after = executions()
    changed = {chapter for chapter in before if before[chapter] != after[chapter]}
    assert "pa" in changed and not changed & {"tempora", "ppat", "pmk", "cl"}
