"""One notebook in this process: ``python -m helpers.batch.worker FOLDER``, started by `execute`.

FOLDER holds ``source.ipynb`` and ``parameters.json``. The worker leaves there ``executed.ipynb`` (papermill's
copy, saved after every cell), ``folded.ipynb`` (the copy to publish, on success) and, last, ``verdict.json``:
null, or why it failed.
"""

from __future__ import annotations

import json
import logging
import resource
import signal
import sys
import traceback
from pathlib import Path
from subprocess import Popen
from typing import Any

from .. import lazy
from . import render


def main(folder: Path) -> None:
    """Execute and fold the notebook in `folder`; write the verdict."""
    values = json.loads((folder / "parameters.json").read_text(encoding="utf-8"))
    try:
        verdict = _execute(folder, values)
    except Exception as error:
        traceback.print_exc()
        verdict = f"{type(error).__name__}: {error}"
    (folder / "verdict.json").write_text(json.dumps(verdict), encoding="utf-8")


def _execute(folder: Path, values: dict[str, Any]) -> str | None:
    """None, or why the notebook did not run to its end."""
    # An optional format of jsonschema, which notebooks do not use, takes two seconds to import: hide it.
    sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
    papermill = lazy.require("papermill", extra="batch")
    # papermill warns of comments that it cannot read (one with "=" in it); `plan` has checked the cell.
    logging.getLogger("papermill").setLevel(logging.ERROR)
    nbclient = lazy.require("nbclient.exceptions", extra="batch")
    try:
        executed = papermill.execute_notebook(
            folder / "source.ipynb",
            folder / "executed.ipynb",
            parameters=values,
            kernel_name="python3",
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
        return f"{describe_death('the kernel', status)}; it held up to {_peak_mb():.0f} MB"
    nbformat = lazy.require("nbformat", extra="batch")
    nbformat.write(render.fold(executed, values), folder / "folded.ipynb")
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


def describe_death(who: str, status: int | None) -> str:
    """Say how a process ended, from its exit status (negative: a signal)."""
    if status is None or status >= 0:
        return f"{who} exited in the middle of its work, with status {status}"
    name = signal.Signals(-status).name
    often = ", most often because memory ran out" if -status == signal.SIGKILL else ""
    return f"{who} was killed by signal {-status} ({name}){often}"


def _peak_mb() -> float:
    """The largest memory that one ended child of this process has held, in megabytes."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * unit / 1e6


if __name__ == "__main__":
    main(Path(sys.argv[1]))
