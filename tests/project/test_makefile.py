"""The Makefile: set-up once, plain words where Python is missing, and no step after a failed one."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TARGETS = ("book", "test", "serve", "lint", "lab", "bench")
SET_UP = ("-m venv", "pip install")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with the Makefile, what it depends on, and an environment that is ready."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    for name in ("pyproject.toml", "requirements.lock", ".venv/.ready"):
        touch(tmp_path / name, age=100)
    touch(tmp_path / ".venv/.ready", age=50)
    return tmp_path


def touch(path: Path, age: float) -> None:
    """Make sure `path` exists, and that it was changed `age` seconds ago."""
    path.parent.mkdir(exist_ok=True)
    path.touch()
    os.utime(path, (path.stat().st_atime, Path(__file__).stat().st_mtime - age))


def script(path: Path, body: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    path.chmod(0o755)


def make(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    # What an outer `make test` sets is not ours.
    outer = ("MAKE", "OMP_", "YARDSTICKS_")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(outer)}
    return subprocess.run(["make", *arguments], cwd=folder, env=environment, capture_output=True, text=True)


@pytest.mark.parametrize("target", TARGETS)
def test_a_ready_environment_is_not_set_up_again(checkout: Path, target: str) -> None:
    done = make(checkout, "-n", target)
    assert done.returncode == 0, done.stderr
    assert not [part for part in SET_UP if part in done.stdout]


@pytest.mark.parametrize("changed", ["requirements.lock", "pyproject.toml"])
def test_a_changed_requirement_means_one_set_up(checkout: Path, changed: str) -> None:
    touch(checkout / changed, age=0)
    done = make(checkout, "-n", *TARGETS)
    assert done.stdout.count("-m venv") == 1
    assert done.stdout.count("-r requirements.lock") == 1
    assert done.stdout.count("--no-deps --no-build-isolation -e .") == 1


@pytest.mark.parametrize(
    ("python", "message"),
    [
        ("no-such-python", "Yardsticks needs Python 3.11 or newer: make PYTHON=python3.12"),
        ("./old", "Yardsticks needs Python 3.11 or newer: make PYTHON=python3.12"),
        ("./bare", "This Python has no venv: install python3-venv"),
    ],
)
@pytest.mark.parametrize("target", ["book", "lock"])
def test_a_missing_python_is_one_plain_line(checkout: Path, python: str, message: str, target: str) -> None:
    script(checkout / "old", "exit 1")
    script(checkout / "bare", 'case "$2" in *venv*) echo "No module named venv" >&2; exit 1;; esac')
    (checkout / ".venv/.ready").unlink()
    done = make(checkout, target, f"PYTHON={python}")
    assert done.returncode != 0
    assert done.stdout == f"{message}\n"
    assert not (checkout / ".venv/.ready").exists()
    assert [line for line in done.stderr.splitlines() if not line.startswith("make: ***")] == []


def test_a_set_up_that_fails_is_not_stamped(checkout: Path) -> None:
    (checkout / ".venv/.ready").unlink()
    script(checkout / "python", 'case "$*" in "-m venv .venv") exit 3;; esac')
    assert make(checkout, "book", "PYTHON=./python").returncode != 0
    assert not (checkout / ".venv/.ready").exists()


@pytest.mark.parametrize("target", ["book", "test"])
def test_a_failed_step_stops_the_rest(checkout: Path, target: str) -> None:
    script(checkout / ".venv/bin/yardsticks", "echo batch; exit 1")
    script(checkout / ".venv/bin/python", 'echo "python $*"')
    done = make(checkout, "--silent", target)
    assert done.returncode != 0
    assert done.stdout == "batch\n"


def test_the_tests_come_last_on_the_smoke_book_with_one_thread(checkout: Path) -> None:
    script(checkout / ".venv/bin/yardsticks", 'echo "yardsticks $*"')
    script(checkout / ".venv/bin/python", 'echo "python $* | $OMP_NUM_THREADS $YARDSTICKS_HTML"')
    done = make(checkout, "--silent", "test")
    assert done.stdout.splitlines() == [
        "yardsticks batch run notebooks/grids/smoke.yml --out _build/smoke/executed",
        "python book/build.py --executed _build/smoke/executed --html _build/smoke/html |  ",
        "python -m pytest -m not gpu | 1 _build/smoke/html",
    ]


def test_bench_runs_every_benchmark_and_stops_at_a_failure(checkout: Path) -> None:
    for name in ("a", "b", "c"):
        touch(checkout / f"benchmarks/{name}.py", age=0)
    script(checkout / ".venv/bin/python", 'echo "ran $1"; test "$1" != benchmarks/b.py')
    done = make(checkout, "--silent", "bench")
    assert done.returncode != 0
    assert [line for line in done.stdout.splitlines() if line.startswith("ran")] == [
        "ran benchmarks/a.py",
        "ran benchmarks/b.py",
    ]


def test_clean_leaves_the_environment(checkout: Path) -> None:
    for name in ("_build/html/index.html", "helpers/__pycache__/x.pyc"):
        (checkout / name).parent.mkdir(parents=True)
        (checkout / name).touch()
    assert make(checkout, "clean").returncode == 0
    assert not (checkout / "_build").exists()
    assert not (checkout / "helpers/__pycache__").exists()
    assert (checkout / ".venv/.ready").exists()
