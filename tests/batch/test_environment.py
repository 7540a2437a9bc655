"""The environment: what of it a key says, and where a job refuses to run."""

import hashlib
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from helpers.batch.closure import ROOT
from helpers.batch.environment import describe, kernel, refuse_another, required
from helpers.errors import InputError

Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Put folders with these distributions on the path, and nothing else."""

    def put(*folders: list[str]) -> None:
        for number, names in enumerate(folders):
            for name in names:
                (tmp_path / f"site{number}" / name).mkdir(parents=True, exist_ok=True)
        path = [str(tmp_path / f"site{number}") for number in range(len(folders))]
        monkeypatch.setattr(sys, "path", [str(tmp_path / "absent"), *path])

    return put


def lock(folder: Path, text: str) -> str:
    (folder / "requirements.lock").write_text(text)
    return hashlib.sha256(text.encode()).hexdigest()


def test_the_kernel_is_that_of_this_python() -> None:
    version = ".".join(map(str, sys.version_info[:2]))
    assert kernel() == {"kernel": "python3", "python": f"{sys.implementation.name} {version}"}


def test_without_a_lock_every_distribution_counts(install: Install, tmp_path: Path) -> None:
    install(
        ["numpy-2.0.dist-info", "Zope.Interface_X-1.0.post1.dist-info", "torch-2.6+cpu.dist-info", "numpy"],
        ["numpy-1.0.dist-info", "a_b-0.1rc1.dist-info", "yardsticks-1.0.dist-info", "old-1.0.egg-info"],
    )
    found = {"numpy": "2.0", "zope-interface-x": "1.0.post1", "torch": "2.6", "a-b": "0.1rc1"}
    assert describe(tmp_path) == kernel() | found
    assert required(tmp_path) == kernel() | found


def test_with_a_lock_what_differs_from_it_counts(install: Install, tmp_path: Path) -> None:
    install(["numpy-2.0.dist-info", "scipy-1.2.dist-info", "torch-2.6+cpu.dist-info", "extra-1.dist-info"])
    text = "# pinned\nNumPy==2.0\nscipy==1.1 ; python_version > '3'\ntorch==2.6+cu1\nabsent==1.0\n"
    digest = lock(tmp_path, text)
    assert describe(tmp_path) == kernel() | {"requirements.lock": digest, "scipy": "1.2"}
    assert required(tmp_path) == kernel() | {"numpy": "2.0", "scipy": "1.2", "torch": "2.6"}


@pytest.mark.parametrize(
    "pin",
    ["a-b==1.0", "A_b==1.0", "a.b[x,y]==1.0", "a-b == 1.0", "a-b==1.0;python_version>'3'", "a-b==1.0 \\\n --hash=x"],
)
def test_every_way_of_pinning_is_read(install: Install, tmp_path: Path, pin: str) -> None:
    install(["a_b-1.0.dist-info"])
    lock(tmp_path, f"{pin}\n")
    assert set(describe(tmp_path)) == {"kernel", "python", "requirements.lock"}
    install(["a_b-0.9.dist-info"])
    assert describe(tmp_path)["a-b"] == "0.9"


@pytest.mark.parametrize("line", ["# a-b==1.0", "  # a-b==1.0", "a-b>=1.0", "-e .", "https://example.org/a-b==1.0"])
def test_what_is_no_pin_is_not_read(install: Install, tmp_path: Path, line: str) -> None:
    install(["a_b-0.9.dist-info"])
    lock(tmp_path, f"{line}\n")
    assert "a-b" not in describe(tmp_path)


def test_this_environment_may_stand_in_for_itself() -> None:
    assert {"kernel", "python", "requirements.lock"} <= set(describe(ROOT))
    needed = required(ROOT)
    assert len(needed) > 100 and {"numpy", "papermill", "scipy"} < set(needed)
    refuse_another(needed)


def test_another_version_is_refused(install: Install, tmp_path: Path) -> None:
    install(["numpy-2.0.dist-info", "scipy-1.0.dist-info", "torch-2.6+cpu.dist-info"])
    here = kernel() | {"numpy": "2.0", "torch": "2.6"}
    refuse_another(here | {"absent": "1.0"})  # the notebook finds out if it needs it
    with pytest.raises(InputError) as refusal:
        refuse_another(here | {"numpy": "1.9", "scipy": "1.1"})
    assert str(refusal.value) == (
        "this worker has another environment than the runner: numpy 2.0 (not 1.9), scipy 1.0 (not 1.1): "
        "install the same versions"
    )


def test_another_python_is_refused() -> None:
    with pytest.raises(
        InputError, match=rf"python {kernel()['python']} \(not cpython 2.7\): install the same versions"
    ):
        refuse_another({"python": "cpython 2.7"})


@pytest.mark.parametrize(("count", "end"), [(5, r"d4 2 \(not 1\): install"), (6, r"d4 2 \(not 1\), \.\.\.: install")])
def test_five_differences_are_listed(install: Install, count: int, end: str) -> None:
    install([f"d{number}-2.dist-info" for number in range(count)])
    with pytest.raises(InputError, match=end) as refusal:
        refuse_another({f"d{number}": "1" for number in range(count)})
    assert "d5" not in str(refusal.value) and "d0 2 (not 1)" in str(refusal.value)


def test_describing_imports_nothing() -> None:
    before = set(sys.modules)
    describe(ROOT)
    assert set(sys.modules) == before
