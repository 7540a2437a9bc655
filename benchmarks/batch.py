"""The batch engine against what a user would otherwise run, and against itself: one process, rounds back to back.

Ten equal jobs of about three seconds of arithmetic, with one worker and with two. Jobs that do nothing, beside
papermill in a loop: what a job costs that has a process, a time limit and a key of its own. The same run once more, in
a fresh process, with what it imports.

    python benchmarks/batch.py [--jobs 20] [--rounds 2]

Every round starts as many notebooks as it says: 100 jobs a round take a quarter of an hour on two idle cores.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import nbformat

from helpers import batch
from helpers.batch.plan import Job

SECONDS, EQUAL, STORED = 3.0, 10, 50
HEAVY = ("torch", "papermill", "pandas", "matplotlib")
BUSY = """
def work(steps):
    total = 0
    for step in range(steps):
        total += step % 7
    return total
"""
AGAIN = f"""
import sys
from helpers.cli import main
status = main(sys.argv[1:])
print(status, "loaded:", *sorted(set({HEAVY!r}) & set(sys.modules)) or ["none of", *{HEAVY!r}])
"""


class Spent(NamedTuple):
    """Seconds on the clock and seconds of CPU time; the latter hardly depend on other load."""

    wall: float
    cpu: float


def main() -> None:
    """Print one line per claim; the least of several times first, their median in brackets (of ratios the best)."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=20, help="jobs that do nothing, in each round (%(default)s)")
    parser.add_argument("--rounds", type=int, default=2, help="how often everything is measured (%(default)s)")
    options = parser.parse_args()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, {options.rounds} rounds", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        measure(Path(folder), options.jobs, options.rounds)


def measure(folder: Path, count: int, rounds: int) -> None:
    """Two workers against one, jobs against bare papermill, and a run that finds everything stored."""
    steps = calibrated()
    write(folder / "equal.ipynb", "steps: int = 1\nnumber: int = 0", f"{BUSY}\nwork(steps)")
    write(folder / "tiny.ipynb", "number: int = 0", "number")
    equal = batch.read_grid(grid(folder, "equal", EQUAL, f"steps: {steps}, "))
    tiny = batch.read_grid(grid(folder, "tiny", max(count, STORED)))

    equals: dict[int, list[Spent]] = {1: [], 2: []}
    tinies: dict[int, list[Spent]] = {0: [], 1: [], 2: []}  # 0: without the engine
    store = folder / "store"
    for number in range(rounds):  # in turn, so that other load on the machine hits all of them
        for workers in (1, 2):
            equals[workers].append(run(equal, folder, folder / f"equal-{number}-{workers}", workers))
        tinies[0].append(bare(folder, count))
        for workers in (1, 2):
            store = folder / f"tiny-{number}-{workers}"
            tinies[workers].append(run(tiny[:count], folder, store, workers))
    print(f"{EQUAL} jobs of {SECONDS:g} s   1 worker {spread(equals[1])}   2 workers {spread(equals[2])}")
    ratios = [one.wall / two.wall for one, two in zip(equals[1], equals[2], strict=True)]
    print(f"   two workers are {max(ratios):.2f} ({statistics.median(ratios):.2f}) times as fast as one")
    names = {0: "bare papermill", 1: "1 worker", 2: "2 workers"}
    print(f"{count} jobs of nothing, each", *(f"  {name} {spread(tinies[i], count)}" for i, name in names.items()))
    loop, engine = (min(tinies[i]) for i in (0, 1))
    wall, cpu = ((engine[i] - loop[i]) / count for i in (0, 1))
    print(f"   overhead of a job {wall:+.2f} s, of its CPU time {cpu:+.2f} s", end="; ")
    print(f"two workers against the loop: {min(tinies[0]).wall / min(tinies[2]).wall:.2f} times as fast")
    again(folder, tiny, store, rounds)


def again(folder: Path, jobs: Sequence[Job], store: Path, rounds: int) -> None:
    """Store what is missing, then run the command anew: nothing is left to do."""
    batch.run(jobs, folder / "out", store=store)
    command = [sys.executable, "-c", AGAIN, "batch", "run", str(folder / "tiny.yml")]
    options = ["--store", str(store), "--out", str(folder / "out")]
    said: list[str] = []

    def once() -> None:
        done = subprocess.run([*command, *options], capture_output=True, text=True, check=True)
        said[:] = done.stdout.splitlines()

    times = [spent(once) for _ in range(rounds + 1)]
    print(f"once more, in a fresh process {spread(times)}   {said[-2]}")
    print(f"   exit status {said[-1]}")


def calibrated() -> int:
    """How many steps of the arithmetic take about `SECONDS` here; the least of three, to leave out other load."""
    space: dict[str, Callable[[int], int]] = {}
    exec(BUSY, space)
    return int(SECONDS * 1_000_000 / min(spent(lambda: space["work"](1_000_000)) for _ in range(3)).cpu)


def run(jobs: Sequence[Job], folder: Path, store: Path, workers: int) -> Spent:
    """Execute jobs into a store that is empty."""
    found: list[str] = []
    took = spent(lambda: found.extend(o.state for o in batch.run(jobs, folder / "out", store=store, workers=workers)))
    if found != ["executed"] * len(jobs):
        raise SystemExit(f"a job did not run: {found}")
    return took


def bare(folder: Path, count: int) -> Spent:
    """papermill in a loop, its import left out."""
    import papermill

    def loop() -> None:
        for number in range(count):
            papermill.execute_notebook(
                folder / "tiny.ipynb",
                folder / "bare.ipynb",
                parameters={"number": number},
                kernel_name="python3",
                progress_bar=False,
            )

    with silence():
        return spent(loop)


@contextlib.contextmanager
def silence() -> Iterator[None]:
    """Without what kernels write on standard error: a line each on their way of talking."""
    kept = os.dup(2)
    with open(os.devnull, "wb") as nothing:
        os.dup2(nothing.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(kept, 2)
            os.close(kept)


def write(path: Path, parameters: str, code: str) -> None:
    """A notebook of two cells."""
    first = nbformat.v4.new_code_cell(parameters, metadata={"tags": ["parameters"]})
    kernel = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    notebook = nbformat.v4.new_notebook(cells=[first, nbformat.v4.new_code_cell(code)], metadata=kernel)
    nbformat.write(notebook, path)


def grid(folder: Path, name: str, count: int, more: str = "") -> Path:
    """A grid of `count` jobs of one notebook."""
    path = folder / f"{name}.yml"
    parameters = f"{{{more}number: {list(range(count))}}}"
    path.write_text(f"chapters:\n  {name}: {{notebook: {folder / name}.ipynb, parameters: {parameters}}}\n")
    return path


def spent(work: Callable[[], object]) -> Spent:
    """What one call takes."""
    start = Spent(time.perf_counter(), cpu_seconds())
    work()
    return Spent(time.perf_counter() - start.wall, cpu_seconds() - start.cpu)


def cpu_seconds() -> float:
    """CPU time of this process and of those it started and saw end."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def spread(times: Sequence[Spent], count: int = 1) -> str:
    """The least wall time, in brackets the median, and the least CPU time; of one of `count` parts."""
    walls = [one.wall / count for one in times]
    cpu = min(one.cpu for one in times) / count
    return f"{min(walls):.2f} ({statistics.median(walls):.2f}) s, CPU {cpu:.2f} s"


if __name__ == "__main__":
    main()
