"""environment.yml (conda, Binder) asks for what pyproject.toml asks for."""

import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
DEPENDENCIES = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))["dependencies"]


def test_pip_part_equals_pyproject() -> None:
    listed = next(entry["pip"] for entry in DEPENDENCIES if isinstance(entry, dict))
    extras = PROJECT["optional-dependencies"].values()
    wanted = [*PROJECT["dependencies"], *(line for extra in extras for line in extra), "-e ."]
    assert sorted(listed) == sorted(wanted)


def test_conda_part_is_python_and_pip() -> None:
    assert [entry for entry in DEPENDENCIES if isinstance(entry, str)] == [
        f"python{PROJECT['requires-python']}",
        "pip",
    ]
