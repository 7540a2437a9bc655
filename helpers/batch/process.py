"""One job in a process of its own: bytes in, bytes out.

`execute` runs where the job runs, here or on a worker of a cluster. It travels there by value, and brings the code of
the notebook and of this library along, so this module is plain functions over the standard library (and psutil).
Nothing is shared between jobs: a job that dies takes no other along.
"""

import contextlib
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ATTEMPTS = 3
_POLL_S = 0.05
#: What a kernel says now and then of being asked to end.
_NOISE = b"[IPKernelApp] ERROR | KeyboardInterrupt caught in kernel.\n"
_LOOK_S = 0.5  # between two looks at the memory of a job: they cost a millisecond each


def execute(task: dict[str, Any], stopped: Callable[[], bool]) -> dict[str, Any]:
    """Execute one notebook.

    Parameters
    ----------
    task : dict
        ``notebook`` (bytes), ``parameters``, ``files`` (relative path -> bytes; laid into the job's working folder,
        from where the library is imported), ``environment`` (what it must run in), ``timeout_s``, ``memory_mb`` (None:
        no limit).
    stopped : callable
        Whether to give up; asked twenty times a second.

    Returns
    -------
    dict
        ``error`` (None, or one line), ``cell`` (where the notebook stood), ``executed`` and ``result`` (bytes or None),
        ``log`` (bytes), ``seconds``, ``peak_mb``, ``attempts``, ``host``.

    A job is tried again only if it failed before its first cell had begun, in ways that may pass: a kernel that did
    not start. Its time limit holds for all attempts together.
    """
    begin = time.monotonic()
    log = b""
    for attempt in range(1, ATTEMPTS + 1):
        try:
            with scratch() as folder:
                outcome = _attempt(task, folder, begin + task["timeout_s"], stopped)
        except OSError as error:  # the disk of this machine is full, say: other jobs may run elsewhere
            place = error.filename or tempfile.gettempdir()
            outcome = _nothing(f"its scratch folder: {place}: {error.strerror or error}")
        log += outcome.pop("log")
        if outcome["error"] is None or outcome["final"] or outcome["cell"] or attempt == ATTEMPTS:
            break
        log += f"\nattempt {attempt} failed before the first cell: {outcome['error']}; trying again\n\n".encode()
    del outcome["final"]
    if outcome["error"] is not None and outcome["error"].encode() not in log:
        log += f"{outcome['error']}\n".encode()  # of a job that was stopped nothing else may be known
    seconds = round(time.monotonic() - begin, 3)
    return {**outcome, "log": log, "seconds": seconds, "attempts": attempt, "host": platform.node()}


def execute_on_a_worker(name: str, task: dict[str, Any], topic: str) -> dict[str, Any]:
    """`execute` inside a worker of a Dask cluster; says on `topic` that it began, and ends when nobody waits for it."""
    from distributed import get_worker

    worker = get_worker()
    key = worker.get_current_task()
    worker.log_event(topic, (name, worker.address))

    def forsaken() -> bool:
        known = worker.state.tasks.get(key)
        gone = worker.status.name in ("closing", "closed")  # with the scheduler, say
        return gone or known is None or known.state in ("cancelled", "resumed", "released", "forgotten")

    return execute(task, forsaken)


def _attempt(task: dict[str, Any], folder: Path, deadline: float, stopped: Callable[[], bool]) -> dict[str, Any]:
    for name, content in task["files"].items():
        path = folder / "work" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    (folder / "source.ipynb").write_bytes(task["notebook"])
    order = {key: task[key] for key in ("parameters", "environment")}
    (folder / "order.json").write_text(json.dumps(order), encoding="utf-8")
    with open(folder / "log", "wb") as log:
        verdict, peak_mb = _supervise(task, folder, log, deadline, stopped)
    executed = _read(folder / "executed.ipynb")
    if not _is_whole(executed):
        executed = None
    return {
        "error": verdict["error"],
        "final": verdict["final"],
        "cell": _where(executed) if executed is not None else None,
        "executed": executed,
        "result": _read(folder / "result.json") if verdict["error"] is None else None,
        "log": (_read(folder / "log") or b"").replace(_NOISE, b""),
        "peak_mb": peak_mb,
    }


def _nothing(error: str) -> dict[str, Any]:
    """The outcome of a job that could not begin."""
    nothing = dict.fromkeys(("cell", "executed", "result"))
    return nothing | {"error": error, "final": False, "log": f"{error}\n".encode(), "peak_mb": 0.0}


def _supervise(
    task: dict[str, Any], folder: Path, log: Any, deadline: float, stopped: Callable[[], bool]
) -> tuple[dict[str, Any], float]:
    """Run the worker until it ends, its time or memory is up, or it is to stop: its verdict and its largest memory."""
    kills = out_of_memory_kills()
    process = subprocess.Popen(
        [sys.executable, "-m", "helpers.batch.worker", str(folder)],
        cwd=folder / "work",
        env=_environment(folder),
        stdin=subprocess.PIPE,  # never written to: its end tells the worker that nobody waits for it any more
        stdout=log,
        stderr=subprocess.STDOUT,
        start_new_session=True,  # Ctrl-C is for the runner, which ends its jobs in order
    )
    family: set[Any] = set()
    peak_mb, look = 0.0, 0.0
    try:
        while process.poll() is None:
            now = time.monotonic()
            if now >= look:
                held = _look(process.pid, family)
                peak_mb, look = max(peak_mb, held), time.monotonic() + _LOOK_S
                if task["memory_mb"] is not None and held > task["memory_mb"]:
                    why = f"stopped, out of memory: it held {held:.0f} MB, more than its memory_mb of "
                    return _final(f"{why}{task['memory_mb']:g}: raise memory_mb in the grid"), peak_mb
            if now > deadline:
                why = f"stopped at its time limit of {task['timeout_s']:g} s: raise timeout_s in the grid"
                return _final(why), peak_mb
            if stopped():
                return _final("interrupted"), peak_mb
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_POLL_S)
    finally:
        _kill(process, family)
    try:
        verdict = json.loads((folder / "verdict.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        killed = out_of_memory_kills() > kills
        verdict = {"error": describe_death("the process of the job", process.returncode, killed), "final": False}
    if verdict["error"] is not None:
        verdict["error"] = " ".join(str(verdict["error"]).split())
    return verdict, peak_mb


def _final(error: str) -> dict[str, Any]:
    return {"error": error, "final": True}


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
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
    if environment.get("YARDSTICKS_CACHE"):  # the job's working folder is another
        environment["YARDSTICKS_CACHE"] = os.path.abspath(environment["YARDSTICKS_CACHE"])
    return environment | {
        "JUPYTER_RUNTIME_DIR": str(folder / "rt"),
        "JUPYTER_PREFER_ENV_PATH": "1",  # this environment's kernel, not one the user once registered
        "IPYTHONDIR": str(folder / "ip"),
        "TMPDIR": str(folder / "tmp"),
        "PYTHONPATH": str(folder / "work"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "NUMBA_NUM_THREADS": "1",
        "PYTHONHASHSEED": "0",
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
        "YARDSTICKS_RESULT": str(folder / "result.json"),
    }


def _look(pid: int, family: set[Any]) -> float:
    """Add a process and what it started to `family`; the memory that those alive hold, in MB."""
    import psutil

    with contextlib.suppress(psutil.NoSuchProcess):
        parent = psutil.Process(pid)
        family.update([parent, *parent.children(recursive=True)])
    held = 0
    for member in family:
        with contextlib.suppress(psutil.Error):
            held += member.memory_info().rss
    return held / 1e6


def _kill(process: "subprocess.Popen[bytes]", family: set[Any]) -> None:
    """End the worker and all it started: the kernel has a process group of its own, and may outlive the worker."""
    import psutil

    with contextlib.suppress(psutil.NoSuchProcess):
        family.update(psutil.Process(process.pid).children(recursive=True))
    process.kill()
    for member in family:
        with contextlib.suppress(psutil.Error):
            member.kill()  # psutil does not mistake a new process with an old number for the one it saw
    process.wait()
    if process.stdin is not None:
        process.stdin.close()


def describe_death(who: str, status: int | None, out_of_memory: bool) -> str:
    """Say how a process ended, from its exit status (negative: a signal).

    `out_of_memory`: whether the system is known to have killed something for want of memory meanwhile.
    """
    if status is None or status >= 0:
        return f"{who} exited in the middle of its work, with status {status}"
    if -status != signal.SIGKILL:
        return f"{who} was killed by signal {-status} ({signal.Signals(-status).name})"
    if out_of_memory:
        return f"{who} ran out of memory: the system killed it (signal 9, SIGKILL)"
    return f"{who} was killed by signal 9 (SIGKILL), most often because memory ran out"


def out_of_memory_kills() -> int:
    """How many processes of this control group Linux has killed for want of memory so far; 0 where it is not told."""
    group = ""
    with contextlib.suppress(OSError):
        lines = Path("/proc/self/cgroup").read_text().splitlines()
        group = next((line[3:] for line in lines if line.startswith("0::")), "")
    for events in (f"/sys/fs/cgroup{group}/memory.events", "/sys/fs/cgroup/memory/memory.oom_control"):
        with contextlib.suppress(OSError, ValueError):
            counts = dict(line.split() for line in Path(events).read_text().splitlines())
            return int(counts.get("oom_kill", 0))
    return 0


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def _is_whole(notebook: bytes | None) -> bool:
    """Whether there is a notebook whose writing was not cut off."""
    try:
        json.loads(notebook or b"")
    except ValueError:
        return False
    return True


def _where(notebook: bytes) -> str | None:
    """The code cell with an error, else the last that was started, such as "code cell 3 (`fit(x)`)"."""
    cells = json.loads(notebook)["cells"]
    tags = [cell["metadata"].get("tags", []) for cell in cells]
    code = [
        cell
        for cell, its in zip(cells, tags, strict=True)
        if cell["cell_type"] == "code" and "injected-parameters" not in its
    ]
    failed = [i for i, cell in enumerate(code) if any(o["output_type"] == "error" for o in cell["outputs"])]
    begun = [i for i, cell in enumerate(code) if cell["metadata"].get("papermill", {}).get("start_time")]
    if not (failed or begun):
        return None
    index = failed[-1] if failed else begun[-1]  # an error that a tag allows may come before
    first_line = "".join("".join(code[index]["source"]).strip().splitlines()[:1])
    return f"code cell {index + 1} (`{first_line[:60]}`)"
