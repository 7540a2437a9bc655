"""What build machines run: .ci/run and the workflows."""

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))


@pytest.fixture
def bin_folder(tmp_path: Path) -> Path:
    """A folder of stand-in programs for PATH; with `make` and the few that .ci/run cannot do without."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("bash", "dirname"):
        (folder / name).symlink_to(shutil.which(name) or name)
    stand_in(folder, "make", 'echo "make $*"; test "$1" != "$FAILS"')
    return folder


def stand_in(folder: Path, name: str, body: str) -> None:
    (folder / name).write_text(f"#!/bin/bash\n{body}\n", encoding="utf-8")
    (folder / name).chmod(0o755)


def ci(folder: Path, fails: str = "") -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PATH": str(folder), "FAILS": fails}
    return subprocess.run(["bash", ROOT / ".ci/run"], env=environment, capture_output=True, text=True)


def test_lint_then_test_and_nothing_after(bin_folder: Path) -> None:
    stand_in(bin_folder, "chromium", "")
    done = ci(bin_folder)
    assert (done.returncode, done.stdout) == (0, "make lint\nmake test\n")


@pytest.mark.parametrize(("fails", "printed"), [("lint", "make lint\n"), ("test", "make lint\nmake test\n")])
def test_a_failure_is_passed_on(bin_folder: Path, fails: str, printed: str) -> None:
    stand_in(bin_folder, "chromium", "")
    done = ci(bin_folder, fails)
    assert done.returncode != 0
    assert done.stdout == printed


def test_chromium_is_installed_where_it_may_be(bin_folder: Path) -> None:
    stand_in(bin_folder, "id", "echo 0")
    stand_in(bin_folder, "apt-get", 'echo "apt-get $*" >&2')
    done = ci(bin_folder)
    assert done.returncode == 0
    assert done.stderr.splitlines()[0] == "apt-get update -qq"
    assert re.match(r"apt-get install .*\bchromium\b", done.stderr.splitlines()[1])


def test_without_root_the_missing_chromium_is_named(bin_folder: Path) -> None:
    stand_in(bin_folder, "id", "echo 1000")
    done = ci(bin_folder)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("The browser tests need Chromium: install it")


def test_it_can_be_started() -> None:
    assert os.access(ROOT / ".ci/run", os.X_OK)


def steps(workflow: Path) -> list[dict[str, Any]]:
    content = yaml.safe_load(workflow.read_text(encoding="utf-8"))
    return [step for job in content["jobs"].values() for step in job["steps"]]


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_are_pinned_to_a_major_version(workflow: Path) -> None:
    for step in steps(workflow):
        assert "uses" not in step or re.fullmatch(r"actions/[a-z-]+@v\d+", step["uses"])


def test_the_workflows_run_what_a_person_runs() -> None:
    commands = {path.stem: [step.get("run") for step in steps(path)] for path in WORKFLOWS}
    assert {"make lint", "make test"} <= set(commands["test"])
    assert "make book" in commands["pages"]
