"""Tiny notebooks for the tests of the batch, runs in processes of their own, and a look at what they leave behind."""

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

import helpers
from helpers import lazy
from helpers.batch import process

with lazy.hidden("rfc3987_syntax"):
    import nbformat

PARAMETERS = "alpha: float = 1.0  # unitless, 0 to 5\nseed: int = 0  # unitless, any integer >= 0"
#: The checkout that is tested.
CHECKOUT = Path(helpers.__file__).resolve().parents[1]


def make(*code: str, parameters: str | None = PARAMETERS) -> Any:
    """A notebook with a title, a `parameters` cell (unless None) and code cells."""
    cells = [nbformat.v4.new_markdown_cell("# A chapter")]
    if parameters is not None:
        cells.append(nbformat.v4.new_code_cell(parameters, metadata={"tags": ["parameters"]}))
    cells += [nbformat.v4.new_code_cell(source) for source in code]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})


Project = Callable[..., Path]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """Write `grid` and notebooks, by chapter, into an empty folder, go there, and give the grid's path."""
    monkeypatch.chdir(tmp_path)

    def write(grid: str, **notebooks: Any) -> Path:
        Path("notebooks").mkdir()
        for chapter, notebook in notebooks.items():
            nbformat.write(notebook, f"notebooks/{chapter}.ipynb")
        Path("grid.yml").write_text(grid, encoding="utf-8")
        return Path("grid.yml")

    return write


def until(condition: Callable[[], Any], what: str, seconds: float = 30.0) -> Any:
    """Wait for a condition, and give what it found."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, f"waited {seconds:g} s in vain: {what}"
        time.sleep(0.05)
    return found


@contextmanager
def nothing_left() -> Iterator[Path]:
    """A folder where jobs have their scratch folders. Afterwards none of these is there, nor a process of any job."""
    with tempfile.TemporaryDirectory(prefix="yt-", dir="/tmp") as name, pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", name)
        patch.setenv("TMPDIR", name)
        yield Path(name)
        until(lambda: not (list(Path(name).glob("ys-*")) or jobs_in(name)), f"no scratch, no process is left in {name}")


def jobs_in(folder: str | Path) -> list[psutil.Process]:
    """The processes of all jobs whose scratch folders are in `folder`; they carry its name in their environment."""
    found = []
    for candidate in psutil.process_iter(["environ", "status"]):
        environment = candidate.info["environ"] or {}
        alive = candidate.info["status"] != psutil.STATUS_ZOMBIE  # that one has ended, only nobody asked how
        if alive and environment.get("TMPDIR", "").startswith(f"{folder}/ys-"):
            found.append(candidate)
    return found


_COMMAND = "import sys\nfrom helpers.cli import main\nsys.exit(main())"
#: Makes a `Runner` pretend its jobs, as the fixture `pretended` does.
PRETEND = f"""\
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
import conftest
from helpers.batch import process
process.execute = conftest.Pretended()
"""


class Runner:
    """`yardsticks batch run` in a process (and process group) of its own, in the current folder."""

    def __init__(self, *arguments: str, checkout: Path = CHECKOUT, instead: str = "") -> None:
        """`instead`: Python to run in the process beforehand, such as `PRETEND`."""
        folder = Path(tempfile.mkdtemp(prefix="printed-", dir=Path.cwd()))
        self._out, self._err = folder / "out", folder / "err"
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self.process = subprocess.Popen(
                [sys.executable, "-c", f"{instead}\n{_COMMAND}", "batch", "run", *arguments],
                env={**os.environ, "PYTHONPATH": str(checkout)},
                stdout=out,
                stderr=err,
                start_new_session=True,
            )

    def printed(self) -> str:
        """What it has printed so far."""
        return self._out.read_text()

    def complained(self) -> str:
        """What stands on standard error so far."""
        return self._err.read_text()

    def await_lines(self, *parts: str) -> None:
        """Wait until lines that contain these texts are printed."""

        def all_there() -> bool:
            assert self.process.poll() is None, self.printed() + self.complained()
            return all(part in self.printed() for part in parts)

        until(all_there, f"lines with {parts}", 60)

    def kill(self, number: int) -> int:
        """Send a signal to its process group; its exit status."""
        os.killpg(self.process.pid, number)
        return self.process.wait(30)

    def last_line(self) -> str:
        """Wait for its end; the last line that it printed."""
        self.process.wait(120)
        assert self.complained() == ""
        return self.printed().splitlines()[-1]


class Pretended:
    """Stands in for `process.execute`, without a process.

    Code cells print `text`, or else a number that no other execution prints. `result` is concluded, or else a score.
    A job with ``alpha`` 5 fails. A job "takes" ``seed`` + 1 seconds. Every task is noted in `tasks`, and `before` is
    called with it and may wait or raise.
    """

    def __init__(self) -> None:
        self.tasks: list[dict[str, Any]] = []
        self.log = b"a log\n"
        self.text = ""
        self.result = b""
        self.before: Callable[[dict[str, Any]], object] = lambda task: None
        self._lock = threading.Lock()

    @property
    def seeds(self) -> list[int]:
        """The jobs that were executed, by their seeds, in order."""
        return [task["parameters"]["seed"] for task in self.tasks]

    def __call__(self, task: dict[str, Any], stopped: Callable[[], bool]) -> dict[str, Any]:
        with self._lock:
            self.tasks.append(task)
            number = len(self.tasks)
        self.before(task)
        values = task["parameters"]
        failed = values.get("alpha") == 5
        metric = {"value": values["seed"] / 2, "unit": "ratio", "low": None, "high": None, "reason": "one run"}
        result = self.result or json.dumps({"metrics": {"score": metric}}).encode()
        outcome = {"error": None, "cell": None, "result": result}
        if failed:
            outcome = {"error": "ValueError: no luck", "cell": "code cell 2 (`alpha`)", "result": None}
        common = {"log": self.log, "seconds": values["seed"] + 1.0, "peak_mb": 1.0, "attempts": 1, "host": "here"}
        return {**outcome, **common, "executed": _as_papermill(task["notebook"], self.text or f"execution {number}\n")}


def _as_papermill(notebook: bytes, text: str) -> bytes:
    """A notebook whose code cells print a text, with the cell and the notes that papermill adds."""
    executed = json.loads(notebook)
    injected = nbformat.v4.new_code_cell("# Parameters", metadata={"tags": ["injected-parameters"]})
    for count, cell in enumerate((cell for cell in executed["cells"] if cell["cell_type"] == "code"), start=1):
        cell["execution_count"] = count
        cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": text}]
        cell["metadata"]["papermill"] = {"duration": 0.1}
    executed["cells"].insert(2, injected)
    return json.dumps(executed).encode()


@pytest.fixture
def pretended(monkeypatch: pytest.MonkeyPatch) -> Pretended:
    """Jobs are not executed, but pretended."""
    stand_in = Pretended()
    monkeypatch.setattr(process, "execute", stand_in)
    return stand_in
