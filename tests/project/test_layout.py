"""The top level is what the design says, and no file tells where it was written."""

import ast
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOP = set(
    """book notebooks helpers data tests benchmarks tools .ci .github _config.yml _toc.yml environment.yml
    README.md Makefile pyproject.toml requirements.lock .gitignore .pre-commit-config.yaml LICENSE
    LICENSE-prose CITATION.cff CONTRIBUTING.md CHANGELOG.md""".split()
)
# Folders of one machine, and the hosts that packages come from: neither belongs in a file of the project.
MACHINE = re.compile(
    r"(?<![\w.~*:/-])/(?:(?:work|farm|root|home)(?![\w-])|tmp/\w)"
    r"|pypi\.org|pythonhosted\.org|registry\.npmjs|registry\.yarnpkg|conda\.anaconda\.org|download\.pytorch"
)


@pytest.fixture(scope="module")
def files() -> list[Path]:
    """Every file that is in the repository or about to be."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        pytest.skip("not a git checkout, so what belongs to the project cannot be told")
    return [path for name in sorted(set(done.stdout.split("\0"))) if name and (path := ROOT / name).is_file()]


def test_top_level_is_the_designs(files: list[Path]) -> None:
    assert {path.relative_to(ROOT).parts[0] for path in files} == TOP


def test_no_file_names_a_machine(files: list[Path]) -> None:
    found = []
    for path in files:
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        for number, line in enumerate(text.splitlines(), 1):
            if MACHINE.search(line):
                found.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()[:80]}")
    assert found == []


def test_no_executed_copy_and_nothing_large_is_committed(files: list[Path]) -> None:
    assert [path.name for path in files if path.stat().st_size > 2_000_000] == []


def test_every_module_says_what_it_is(files: list[Path]) -> None:
    modules = [path for path in files if path.suffix == ".py" and path.is_relative_to(ROOT / "helpers")]
    assert modules
    silent = [path for path in modules if not ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))]
    assert [str(path.relative_to(ROOT)) for path in silent] == []
