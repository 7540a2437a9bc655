"""The book's server in a process of its own, for tests with and without a browser."""

import json
import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

TOKEN = "a-token-for-tests"
# What a reader may have lying about; the server must not read it.
CARELESS = """
c.ServerApp.ip = "0.0.0.0"
c.ServerApp.disable_check_xsrf = True
c.ServerApp.allow_origin = "*"
c.IdentityProvider.token = ""
c.ServerApp.token = ""
"""


@dataclass
class Served:
    """A running server: its address, its scratch folder, its process."""

    address: str
    scratch: Path
    process: "subprocess.Popen[str]"

    def kernels(self) -> set[str]:
        """The ids of the kernels that there are."""
        with urllib.request.urlopen(f"{self.address}/api/kernels?token={TOKEN}", timeout=30) as answer:
            return {kernel["id"] for kernel in json.load(answer)}

    def end(self, kernels: set[str]) -> None:
        """End kernels that would go on: JupyterLab keeps its own until its tab has been gone for a while."""
        for kernel in kernels:
            request = urllib.request.Request(f"{self.address}/api/kernels/{kernel}", method="DELETE")
            request.add_header("Authorization", f"token {TOKEN}")
            urllib.request.urlopen(request, timeout=30).close()

    def wait_for_kernels(self, expected: set[str]) -> None:
        """Wait until these are there and no other."""
        for _ in range(300):
            if self.kernels() == expected:
                return
            time.sleep(0.1)
        raise AssertionError(f"there are the kernels {self.kernels()}, not {expected}")

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Stop the server, and return its exit status."""
        self.process.send_signal(number)
        return self.process.wait(timeout=30)


@contextmanager
def serving(book: Path, folder: Path, *, forsaken_s: float | None = None) -> Iterator[Served]:
    """Serve `book`, with everything that the server writes in `folder`; it is stopped at the end.

    `forsaken_s` stands in for the time after which it gives up the kernel of a page that is gone.
    """
    for name in ("config", "runtime", "data"):
        (folder / name).mkdir(parents=True)
    (folder / "config" / "jupyter_server_config.py").write_text(CARELESS, encoding="utf-8")
    environment = os.environ | {
        "JUPYTER_TOKEN": TOKEN,
        "JUPYTER_CONFIG_DIR": str(folder / "config"),
        "JUPYTER_RUNTIME_DIR": str(folder / "runtime"),
        "JUPYTER_DATA_DIR": str(folder / "data"),
        "IPYTHONDIR": str(folder / "ipython"),
        "MPLBACKEND": "agg",  # would switch figures off: the server must not hand it on
        "YARDSTICKS_RESULT": str(folder / "result.json"),
    }
    scratch = folder / "scratch"
    options = ["--book", str(book), "--scratch", str(scratch), "--port", "18888", "--no-browser"]
    start = ["-m", "helpers.cli"]
    if forsaken_s is not None:
        lines = f"server.FORSAKEN_S = {forsaken_s}; sys.exit(cli.main())"
        start = ["-c", f"import sys; from helpers import cli; from helpers.live import server; {lines}"]
    command = [sys.executable, *start, "serve", *options]
    with (folder / "log").open("w", encoding="utf-8") as log:
        process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=log, text=True)
        try:
            yield Served(first_address(process, folder / "log"), scratch, process)
        finally:
            if process.poll() is None:
                process.terminate()
                try:
                    process.wait(timeout=20)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
            assert process.stdout is not None
            process.stdout.close()


def first_address(process: "subprocess.Popen[str]", log: Path) -> str:
    """The address that the server prints, without path and token."""
    lines: queue.Queue[str] = queue.Queue()
    assert process.stdout is not None
    threading.Thread(target=lambda stream: lines.put(stream.readline()), args=[process.stdout], daemon=True).start()
    line = lines.get(timeout=60)
    found = re.fullmatch(rf"The book is served at (http://\S+)/book/index\.html\?token={TOKEN}\n", line)
    assert found, f"printed {line!r}, logged {log.read_text(encoding='utf-8')}"
    return found[1]
