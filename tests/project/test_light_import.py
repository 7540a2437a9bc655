"""Importing the library and asking the command for help load nothing heavy."""

import subprocess
import sys

import pytest

HEAVY = ("torch", "matplotlib", "pandas", "seaborn", "papermill", "ipywidgets", "sklearn")
REPORT = f"import sys; print(*sorted(set({HEAVY!r}) & set(sys.modules)))"


def loaded_after(code: str) -> list[str]:
    """Run `code` in a fresh interpreter and return which heavy modules it loaded."""
    done = subprocess.run([sys.executable, "-c", f"{code}\n{REPORT}"], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[-1].split()


@pytest.mark.parametrize(
    "code",
    [
        "import helpers; from helpers import pa, tempora, ppat, pmk, cl",
        "from helpers import errors, arrays, uncertainty, calibration, records, results",
        "from helpers.pa import agreement, kernel, curve, failure_rate, Agreement, Logits",
        "import helpers.cli",
    ],
)
def test_import_is_light(code: str) -> None:
    assert loaded_after(code) == []


@pytest.mark.parametrize("arguments", [["--help"], ["score", "--help"], ["batch", "run", "--help"]])
def test_help_is_light(arguments: list[str]) -> None:
    run = f"""
from helpers.cli import main
try:
    main({arguments!r})
except SystemExit as end:
    assert end.code == 0
"""
    assert loaded_after(run) == []


def test_a_missing_extra_is_one_import_error_that_names_it() -> None:
    # None in sys.modules is how Python itself says "not there".
    code = """
import sys; sys.modules["torch"] = None
from helpers import lazy; lazy.require("torch", extra="torch")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("helpers.errors.MissingExtra: torch is not installed")
    assert "yardsticks[torch]" in done.stderr
