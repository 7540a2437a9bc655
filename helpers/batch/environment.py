"""The software that a job runs in, as far as its key says it: Python, the lock, and what differs from the lock."""

from __future__ import annotations

import hashlib
import re
import sys
from pathlib import Path

from ..errors import InputError

KERNEL = "python3"
LOCK = "requirements.lock"
_INSTALLED = re.compile(r"(?P<name>.+?)-(?P<version>[^-]+)\.dist-info")
_PIN = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^]]*\])?\s*==\s*([^\s;+]+)", flags=re.M)


def describe(root: Path) -> dict[str, str]:
    """The environment of this process.

    With a file ``requirements.lock`` in `root`: its hash, and every distribution whose installed version is not the
    locked one. Without: every installed distribution. Only the names of folders are read, which takes milliseconds.
    """
    described = kernel()
    found = _installed()
    lock = root / LOCK
    if not lock.is_file():
        return described | found
    described[LOCK] = hashlib.sha256(lock.read_bytes()).hexdigest()
    for name, version in _locked(lock).items():
        if name in found and found[name] != version:
            described[name] = found[name]
    return described


def kernel() -> dict[str, str]:
    """The kernel and the minor version of Python, which decides how code runs."""
    return {"kernel": KERNEL, "python": f"{sys.implementation.name} {sys.version_info[0]}.{sys.version_info[1]}"}


def required(root: Path) -> dict[str, str]:
    """What a worker elsewhere must have to stand in for this process: Python and, of what is locked, the versions."""
    found = _installed()
    locked = _locked(root / LOCK) if (root / LOCK).is_file() else found
    return kernel() | {name: found[name] for name in locked if name in found}


def refuse_another(needed: dict[str, str]) -> None:
    """Refuse to run a job here if its key would not say the truth about this environment.

    A distribution that is not here at all is let pass: the notebook finds out if it needs it.

    Raises
    ------
    InputError
        Another version of Python or of a distribution than `needed`.
    """
    here = kernel() | _installed()
    other = [
        f"{name} {here[name]} (not {version})" for name, version in needed.items() if here.get(name, version) != version
    ]
    if other:
        listed = ", ".join(other[:5]) + (", ..." if len(other) > 5 else "")
        raise InputError(f"this worker has another environment than the runner: {listed}: install the same versions")


def _installed() -> dict[str, str]:
    """Installed distributions, by normalised name; the first on the path counts, as for Python. No local versions."""
    found: dict[str, str] = {}
    for entry in sys.path:
        folder = Path(entry or ".")
        if not folder.is_dir():
            continue
        for path in sorted(folder.glob("*.dist-info")):
            match = _INSTALLED.fullmatch(path.name)
            if match:
                found.setdefault(_normalised(match["name"]), match["version"].partition("+")[0])
    found.pop("yardsticks", None)  # its code is in the key, file by file
    return found


def _locked(lock: Path) -> dict[str, str]:
    pins = _PIN.findall(lock.read_text(encoding="utf-8"))
    return {_normalised(name): version for name, version in pins}


def _normalised(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
