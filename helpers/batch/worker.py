"""One notebook in this process: ``python -m helpers.batch.worker FOLDER``, started by `process`.

FOLDER holds ``source.ipynb`` and ``order.json``. The worker leaves there ``executed.ipynb`` (papermill's copy, saved
after every cell) and, last, ``verdict.json``: the error, or null, and whether trying again is no use.
"""

from __future__ import annotations

import json
import logging
import os
import resource
import shutil
import sys
import threading
import time
import traceback
from contextlib import suppress
from pathlib import Path
from subprocess import Popen
from typing import Any

from .. import lazy
from ..errors import InputError, MissingExtra
from . import environment
from .process import describe_death, out_of_memory_kills


def main(folder: Path) -> None:
    """Execute the notebook in `folder`; write the verdict."""
    threading.Thread(target=_end_with_the_runner, args=[folder], daemon=True).start()
    order = json.loads((folder / "order.json").read_text(encoding="utf-8"))
    final = False
    try:
        environment.refuse_another(order["environment"])
        error = _execute(folder, order["parameters"])
    except Exception as failure:
        traceback.print_exc()
        error = f"{type(failure).__name__}: {failure}"
        final = isinstance(failure, InputError | MissingExtra)
    (folder / "verdict.json").write_text(json.dumps({"error": error, "final": final}), encoding="utf-8")


def _end_with_the_runner(folder: Path) -> None:
    """Wait until the other end of standard input is gone, however it went; then end all that this job started."""
    os.read(0, 1)
    psutil = lazy.require("psutil", extra="batch")
    for member in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):  # it ended by itself meanwhile
            member.kill()
    for _ in range(3):  # the other thread may still be writing into it
        shutil.rmtree(folder, ignore_errors=True)
        time.sleep(0.1)
    os._exit(1)


def _execute(folder: Path, values: dict[str, Any]) -> str | None:
    """None, or why the notebook did not run to its end."""
    kills = out_of_memory_kills()
    with lazy.hidden("rfc3987_syntax"):
        papermill = lazy.require("papermill", extra="batch")
    # papermill warns of comments that it cannot read (one with "=" in it); `plan` has checked the cell.
    logging.getLogger("papermill").setLevel(logging.ERROR)
    nbclient = lazy.require("nbclient.exceptions", extra="batch")
    try:
        papermill.execute_notebook(
            folder / "source.ipynb",
            folder / "executed.ipynb",
            parameters=values,
            kernel_name=environment.KERNEL,
            language="python",
            kernel_manager_class=_kernel_manager(folder),
            progress_bar=False,
            autosave_cell_every=0,
        )
    except papermill.PapermillExecutionError as error:
        print(error)
        return f"{error.ename}: {error.evalue}".rstrip(": ")
    except nbclient.DeadKernelError:
        status = _Kernel.process.returncode if _Kernel.process else None
        return (
            f"{describe_death('the kernel', status, out_of_memory_kills() > kills)}; it held up to {_peak_mb():.0f} MB"
        )
    return None


class _Kernel:
    """The kernel's process, kept because its exit status is wanted after its manager has let go of it."""

    process: Popen[bytes] | None = None


def _kernel_manager(folder: Path) -> Any:
    """A kernel manager whose sockets are files in the job's folder: parallel jobs cannot race for ports."""
    from jupyter_client.manager import AsyncKernelManager
    from traitlets import default

    class IpcKernelManager(AsyncKernelManager):
        @default("transport")
        def _transport(self) -> str:
            return "ipc"

        @default("ip")
        def _ip(self) -> str:
            return str(folder / "rt" / "kernel")  # what the sockets' paths begin with

        async def start_kernel(self, **options: Any) -> None:  # type: ignore[override]
            await super().start_kernel(**options)
            _Kernel.process = getattr(self.provisioner, "process", None)

    return IpcKernelManager


def _peak_mb() -> float:
    """The largest memory that one ended child of this process has held, in megabytes."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * unit / 1e6


if __name__ == "__main__":
    main(Path(sys.argv[1]))
