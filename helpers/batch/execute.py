"""Execute: each job in a process of its own, with its own folders, kernel and one numeric thread.

Nothing is shared between jobs, so that they may run side by side, and a job that dies takes no other along.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import lazy
from ..errors import InputError
from . import parameters, worker
from .plan import Job


@dataclass(frozen=True)
class Outcome:
    """What became of a job.

    `error` is None after success, else one plain line; then `cell` says where the notebook stood, if it had
    begun. `notebook` is the folded executed copy, or after a failure what there is of it, or None. `result`
    is the file that the notebook concluded, or None.
    """

    job: Job
    seconds: float
    notebook: Path | None
    result: Path | None
    log: Path
    error: str | None = None
    cell: str | None = None

    @property
    def ok(self) -> bool:
        """Whether the job succeeded."""
        return self.error is None


def run(
    jobs: Sequence[Job],
    out: str | Path,
    *,
    workers: int = 2,
    started: Callable[[Job], object] = lambda job: None,
    finished: Callable[[Outcome], object] = lambda outcome: None,
) -> list[Outcome]:
    """Execute jobs, `workers` at a time, into the folder `out`; outcomes come in the order of `jobs`.

    A job leaves ``<name>.ipynb``, ``<name>.result.json`` (if the notebook concludes one) and ``<name>.log``;
    a failed one leaves ``<name>.failed.ipynb`` and the log. A failure stops no other job; an interrupt stops
    all. `started` is called from the jobs' threads, `finished` from the caller's.

    Raises
    ------
    InputError
        `workers` is below 1.
    MissingExtra
        papermill is not installed.
    OSError
        A file cannot be written: `out` is no folder, is read-only, or the disk is full.
    """
    if workers < 1:
        raise InputError(f"workers: {workers} is not a number of processes: give 1 or more")
    if importlib.util.find_spec("papermill") is None:  # look without importing: that takes a second
        lazy.require("papermill", extra="batch")
    out = Path(out).resolve()
    out.mkdir(parents=True, exist_ok=True)
    stop = threading.Event()
    with ThreadPoolExecutor(workers) as pool:

        def one(job: Job) -> Outcome:
            started(job)
            return execute(job, out, stop=stop)

        futures = [pool.submit(one, job) for job in jobs]
        try:
            for future in as_completed(futures):
                finished(future.result())
        except BaseException:
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise
    return [future.result() for future in futures]


def execute(job: Job, out: Path, *, stop: threading.Event) -> Outcome:
    """Execute one job in a process of its own into the folder `out`, which must exist; see `run`.

    Setting `stop` ends it early, as a failure.
    """
    begin = time.monotonic()
    copy, failed, result, log = (out / f"{job.name}.{kind}" for kind in ("ipynb", "failed.ipynb", "result.json", "log"))
    for file in (copy, failed, result, log):
        file.unlink(missing_ok=True)  # what an earlier run left must not pass for this run's
    with _scratch() as folder:
        shutil.copyfile(job.notebook, folder / "source.ipynb")
        (folder / "parameters.json").write_text(json.dumps(job.parameters), encoding="utf-8")
        with open(log, "wb") as stream:
            error = _supervise(job, folder, stream, stop)
        if error is None:
            concluded = _place(folder / "result.json", result)
            notebook = _place(folder / "folded.ipynb", copy)
            return Outcome(job, time.monotonic() - begin, notebook, concluded, log)
        partial = _partial(folder / "executed.ipynb")
        notebook = _place(folder / "executed.ipynb", failed) if partial else None
    return Outcome(job, time.monotonic() - begin, notebook, None, log, error, _where(partial))


def _supervise(job: Job, folder: Path, log: Any, stop: threading.Event) -> str | None:
    """Run the worker until it ends, its time is up, or `stop` is set; say why it failed, if it did."""
    process = subprocess.Popen(
        [sys.executable, "-m", "helpers.batch.worker", str(folder)],
        cwd=folder / "work",
        env=_environment(folder),
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=subprocess.STDOUT,
    )
    deadline = time.monotonic() + job.timeout_s
    while process.poll() is None:
        if time.monotonic() > deadline:
            _kill(process)
            return f"stopped at its time limit of {job.timeout_s:g} s: raise timeout_s in the grid"
        if stop.wait(0.05):
            _kill(process)
            return "interrupted"
    try:
        verdict = json.loads((folder / "verdict.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return worker.describe_death("the process of the job", process.returncode)
    return None if verdict is None else " ".join(str(verdict).split())


@contextmanager
def _scratch() -> Iterator[Path]:
    """A job's own folder. Its path is short: that of a socket in it has about 100 characters at most."""
    parent = tempfile.gettempdir()
    if len(parent) > 40 and os.path.isdir("/tmp"):
        parent = "/tmp"
    folder = Path(tempfile.mkdtemp(prefix="ys-", dir=parent))
    try:
        for name in ("rt", "ip", "tmp", "work"):
            (folder / name).mkdir()
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _environment(folder: Path) -> dict[str, str]:
    """The environment of a job: this process's, except where jobs would meet or differ."""
    environment = dict(os.environ)
    environment.pop("MPLBACKEND", None)  # whatever it says, it switches inline figures off without an error
    return environment | {
        "JUPYTER_RUNTIME_DIR": str(folder / "rt"),
        "JUPYTER_PREFER_ENV_PATH": "1",  # this environment's kernel, not one the user once registered
        "IPYTHONDIR": str(folder / "ip"),
        "TMPDIR": str(folder / "tmp"),
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "PYTHONHASHSEED": "0",
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
        "YARDSTICKS_RESULT": str(folder / "result.json"),
    }


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End the worker and all it started; the kernel has a process group of its own, so that is not enough."""
    psutil = lazy.require("psutil", extra="batch")
    family = []
    with suppress(psutil.NoSuchProcess):
        family = psutil.Process(process.pid).children(recursive=True)
    process.kill()
    for member in family:
        with suppress(psutil.NoSuchProcess):
            member.kill()
    process.wait()


def _place(source: Path, target: Path) -> Path | None:
    """Copy a file, if it exists, beside its target, then rename it: the target is never half a file."""
    if not source.exists():
        return None
    beside = target.with_name(f".{target.name}.part")
    try:
        shutil.copyfile(source, beside)
        os.replace(beside, target)
    finally:
        beside.unlink(missing_ok=True)
    return target


def _partial(path: Path) -> dict[str, Any] | None:
    """papermill's copy, or None where there is none or its writing was cut off."""
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return None


def _where(notebook: dict[str, Any] | None) -> str | None:
    """The code cell with an error, else the last that was started, such as "code cell 3 (`fit(x)`)"."""
    code = [
        cell
        for cell in (notebook or {"cells": []})["cells"]
        if cell["cell_type"] == "code" and "injected-parameters" not in parameters.tags(cell)
    ]
    failed = [i for i, cell in enumerate(code) if any(o["output_type"] == "error" for o in cell["outputs"])]
    begun = [i for i, cell in enumerate(code) if cell["metadata"].get("papermill", {}).get("start_time")]
    if not (failed or begun):
        return None
    index = failed[0] if failed else begun[-1]
    first_line = "".join(parameters.source(code[index]).strip().splitlines()[:1])
    return f"code cell {index + 1} (`{first_line[:60]}`)"
