"""A Dask scheduler and two workers, started as a user would: the same as the pool, whoever is killed.

The workers do without this library: whatever imports `helpers` in one of them would find a package that raises.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import nbformat
import psutil
import pytest

from helpers.batch import engines, keys, render, verification
from helpers.batch.plan import read_grid
from helpers.batch.store import Entry, Store
from helpers.cli import main
from helpers.errors import InputError

from .conftest import Runner, jobs_in, make, nothing_left, until

pytestmark = pytest.mark.slow

CONCLUDED = [
    """\
import matplotlib.pyplot as plt
from helpers import figures, results
fig, axes = plt.subplots()
axes.plot([0, alpha], [0, 1])
axes.set_xlabel("effort")
shown = figures.show(fig, name="effort", alt="A straight line from nothing to one: effort pays.")
shown""",
    """\
results.conclude(
    "concluded", parameters={"alpha": alpha, "seed": seed}, figures=[shown],
    metrics={"pay": results.Metric(alpha / 3, "ratio", interval=(0.0, float("inf")))},
)""",
]
#: Notes that it runs, and in which process; then waits until there is a file `go`.
WAITS = """\
import os, pathlib, time
with open(pathlib.Path(where) / f"ran-{seed}", "a") as file:
    print(os.getpid(), file=file)
while not (pathlib.Path(where) / "go").exists():
    time.sleep(0.05)"""
GRIDS = {
    "equal": """
  concluded: {parameters: {alpha: 2}, tags: [both]}
  plain: {tags: [both]}
  two_gpus: {notebook: notebooks/plain.ipynb, parameters: {seed: [2, 3]}, gpus: 1}""",
    "survives": "{waits: {parameters: {seed: [0, 1], where: HERE}}}",
    "killed": "{waits: {parameters: {seed: 2, where: HERE}}}",
    "interrupted": "{waits: {parameters: {seed: 3, where: HERE}}}",
    "alone": "{waits: {parameters: {seed: 4, where: HERE}}}",
}


class Cluster:
    """A scheduler and two workers with a thread each: "plain", and "gpu" that offers the resource GPU."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        poison = folder / "poison" / "helpers"
        poison.mkdir(parents=True)
        (poison / "__init__.py").write_text("raise RuntimeError('helpers was imported')")
        self.environment = {
            **os.environ,
            "PYTHONPATH": str(poison.parent),
            "DASK_TEMPORARY_DIRECTORY": str(folder),
        }
        self.scheduler = self._start("scheduler", "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard")
        self.address = until(lambda: self._said("scheduler", "Scheduler at:"), "the scheduler is up")
        worker = ("worker", self.address, "--nthreads", "1", "--no-dashboard")
        self.nannies = {
            "plain": self._start("plain", *worker),
            "gpu": self._start("gpu", *worker, "--resources", "GPU=1"),
        }
        self.workers = {
            name: until(lambda name=name: self._said(name, "Start worker at:"), f"{name} is up")
            for name in self.nannies
        }

    def _start(self, name: str, *arguments: str) -> "subprocess.Popen[bytes]":
        dask = Path(sys.executable).with_name("dask")
        with (self._folder / f"{name}.log").open("wb") as log:
            return subprocess.Popen(
                [dask, *arguments],
                cwd=self._folder,
                env=self.environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def log(self, name: str) -> str:
        return (self._folder / f"{name}.log").read_text()

    def _said(self, name: str, words: str) -> str:
        """What stands behind these words in a log, or nothing."""
        return next((line.partition(words)[2].strip() for line in self.log(name).splitlines() if words in line), "")

    def close(self) -> None:
        everybody = (*self.nannies.values(), self.scheduler)
        for number in (signal.SIGTERM, signal.SIGKILL):
            for started in everybody:
                with suppress(ProcessLookupError):
                    os.killpg(started.pid, number)
            with suppress(subprocess.TimeoutExpired):
                for started in everybody:
                    started.wait(5)


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where jobs are scratched in, here and on the workers; nothing may be left there."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "notebooks").mkdir()
    waiting = 'where: str = ""  # a folder, any\nseed: int = 0  # any'
    notebooks = {
        "concluded": make(*CONCLUDED),
        "plain": make("print(alpha, object())\n{'b': seed}"),
        "waits": make(WAITS, parameters=waiting),
    }
    for name, notebook in notebooks.items():
        nbformat.write(notebook, folder / f"notebooks/{name}.ipynb")
    for name, chapters in GRIDS.items():
        (folder / f"{name}.yml").write_text(f"chapters: {chapters}".replace("HERE", str(folder)))
    with nothing_left() as place, pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        yield place


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory, scratch: Path) -> Iterator[Cluster]:
    started = Cluster(tmp_path_factory.mktemp("cluster"))
    yield started
    started.close()


@pytest.fixture(scope="module")
def remote(cluster: Cluster) -> Runner:
    """A run on the workers, and beside it one here, of the jobs tagged `both`."""
    here = Runner("equal.yml", "--store", "here", "--tag", "both", "--out", "out here", "--jobs", "1")
    there = Runner("equal.yml", "--store", "there", "--scheduler", cluster.address, "--out", "out there")
    assert here.last_line() == "2 jobs: 2 executed, 0 cached, 0 failed"
    assert there.last_line() == "4 jobs: 4 executed, 0 cached, 0 failed"
    return there


def workers_of(runner: Runner) -> dict[str, list[str]]:
    """Where each job was started, by the lines that were printed."""
    found: dict[str, list[str]] = {}
    for line in runner.printed().splitlines():
        name, started, where = line.partition(" started on ")
        if started:
            found.setdefault(name, []).append(where)
    return found


def entries(store: str, chapters: set[str]) -> dict[str, Entry]:
    found = {}
    for identity in keys.identify(read_grid("equal.yml")):
        entry = Store(store).entry(identity.execution)
        if identity.job.chapter in chapters:
            assert entry is not None
            found[identity.job.name] = entry
    return found


def without_time(result: bytes) -> Any:
    content = json.loads(result)
    assert content["provenance"].pop("time")
    return content


def kernels(seed: int) -> list[psutil.Process]:
    """The kernels of a waiting job that are alive, once it has begun."""
    noted = Path(f"ran-{seed}")
    until(lambda: noted.exists() and noted.read_text().endswith("\n"), f"job {seed} runs", 60)
    found = []
    for pid in noted.read_text().split():
        with suppress(psutil.NoSuchProcess):
            kernel = psutil.Process(int(pid))
            if kernel.status() != psutil.STATUS_ZOMBIE:
                found.append(kernel)
    return found


def test_results_equal_the_pools(remote: Runner) -> None:
    here, there = (entries(store, {"concluded", "plain"}) for store in ("here", "there"))
    assert len(here) == 2 and here.keys() == there.keys()
    for name in here:
        assert render.normalised(here[name].executed) == render.normalised(there[name].executed)
        assert verification.differences(here[name], there[name]) == []
        pages = [Path(out, f"{name}.ipynb").read_bytes() for out in ("out here", "out there")]
        assert render.normalised(pages[0]) == render.normalised(pages[1])
    local, distant = (without_time(found["concluded"].result or b"") for found in (here, there))
    assert local == distant
    assert local["parameters"] == {"alpha": 2.0, "seed": 0} and local["figures"].keys() == {"effort"}
    assert local["metrics"]["pay"]["high"] == "inf"
    assert (
        "<svg" in there["concluded"].executed.decode()
        and "effort pays" in Path("out there/concluded.ipynb").read_text()
    )


def test_the_workers_do_not_have_this_library(remote: Runner, cluster: Cluster) -> None:
    """They could not: the name stands for something that raises, and nobody met it."""
    done = subprocess.run([sys.executable, "-c", "import helpers"], env=cluster.environment, capture_output=True)
    assert b"helpers was imported" in done.stderr
    for name in ("scheduler", *cluster.workers):
        assert "helpers was imported" not in cluster.log(name)


def test_where_the_jobs_run_is_said(remote: Runner, cluster: Cluster) -> None:
    first = remote.printed().splitlines()[0]
    assert first.startswith(f"2 worker threads at {cluster.address}; dashboard: http://127.0.0.1:")
    places = workers_of(remote)
    assert len(places) == 4 and {where for place in places.values() for where in place} == set(cluster.workers.values())


def test_gpu_jobs_go_only_where_there_is_one(remote: Runner, cluster: Cluster) -> None:
    """Two such jobs at once, which Dask would give to two idle workers; none waits for what nobody offers."""
    assert "--resources" not in remote.printed()
    places = [where for name, where in workers_of(remote).items() if name.startswith("two_gpus")]
    assert places == [[cluster.workers["gpu"]]] * 2


def test_a_worker_killed_in_the_middle_is_survived(cluster: Cluster) -> None:
    runner = Runner("survives.yml", "--scheduler", cluster.address)
    ((victim,), (other,)) = (kernels(seed) for seed in (0, 1))
    victim.parent().parent().kill()
    until(lambda: not victim.is_running() or victim.status() == psutil.STATUS_ZOMBIE, "the kernel went with it", 10)
    again = until(lambda: kernels(0), "the job runs again", 60)
    assert again != [victim] and kernels(1) == [other]
    Path("go").touch()
    assert runner.last_line() == "2 jobs: 2 executed, 0 cached, 0 failed"
    assert sorted(map(len, workers_of(runner).values())) == [1, 2]
    Path("go").unlink()


def test_jobs_end_soon_when_their_runner_does(cluster: Cluster, scratch: Path) -> None:
    """One is killed, one is interrupted with Ctrl-C."""
    killed, interrupted = (
        Runner(f"{name}.yml", "--scheduler", cluster.address, "--store", name) for name in ("killed", "interrupted")
    )
    assert kernels(2) and kernels(3)
    assert killed.kill(signal.SIGKILL) == -signal.SIGKILL
    assert interrupted.kill(signal.SIGINT) == 130
    assert interrupted.complained() == "yardsticks: interrupted\n"
    until(lambda: not (kernels(2) or kernels(3) or jobs_in(scratch)), "the jobs have ended", 10)


def test_no_scheduler(scratch: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Within seconds: ten, which are too long for a test."""
    assert engines._PATIENCE_S == 10
    monkeypatch.setattr(engines, "_PATIENCE_S", 0.5)
    since = time.monotonic()
    assert main(["batch", "run", "equal.yml", "--out", "nowhere", "--scheduler", "tcp://127.0.0.1:1"]) == 2
    assert time.monotonic() - since < 8
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("yardsticks: scheduler: no Dask scheduler answers at 'tcp://127.0.0.1:1' (")


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("nonsense://127.0.0.1:1", "unknown address scheme 'nonsense'"),
        ("tcp://127.0.0.1", "missing port number in address '127.0.0.1'"),
        ("", "missing port number in address ''"),
    ],
)
def test_no_address(address: str, reason: str) -> None:
    with pytest.raises(InputError) as error:
        engines.Cluster(address, print)
    assert str(error.value).startswith(f"scheduler: no Dask scheduler answers at {address!r} ({reason}")


def test_something_else_at_the_address(monkeypatch: pytest.MonkeyPatch) -> None:
    """It accepts the connection and says nothing, as the scheduler's own dashboard does."""
    monkeypatch.setattr(engines, "_PATIENCE_S", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as mute:
        address = f"tcp://127.0.0.1:{mute.getsockname()[1]}"
        with pytest.raises(InputError, match=rf"no Dask scheduler answers at '{address}' \(nothing in 0.5 s\)"):
            engines.Cluster(address, print)


def test_a_scheduler_that_dies(cluster: Cluster, scratch: Path) -> None:
    """The last of these tests: the workers end, too."""
    runner = Runner("alone.yml", "--scheduler", cluster.address, "--store", "alone")
    assert kernels(4)
    cluster.scheduler.kill()
    assert runner.process.wait(30) == 2
    assert runner.complained() == "yardsticks: scheduler: it went away; run again to go on from here\n"
    until(lambda: not (kernels(4) or jobs_in(scratch)), "the job has ended", 10)
