"""Write requirements.lock: the exact version of every package that a fresh environment gets with all extras.

Run by `make lock`. It makes an environment of its own in a temporary folder, installs what pyproject.toml
asks for and writes down what came, so the lock never depends on what happens to lie in `.venv`.
"""

import os
import re
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "requirements.lock"
# Held by hand: the release that the book's numbers were made with.
HELD = ["torch==2.13.0"]
# What a GPU build of torch brings along on Linux only; pip adds it where it is wanted.
GPU_ONLY = re.compile(r"(nvidia|cuda)-.*|triton")


def requirements(pyproject: Path) -> list[str]:
    """Return everything the project asks for: to be built, to run, and for each extra."""
    content = tomllib.loads(pyproject.read_text(encoding="utf-8"))
    project = content["project"]
    wanted = [*content["build-system"]["requires"], *project["dependencies"]]
    for extra in project["optional-dependencies"].values():
        wanted += extra
    return wanted


def locked(frozen: str) -> list[str]:
    """Turn the output of `pip freeze --all` into the sorted lines of the lock.

    A local version such as `2.13.0+cpu` is on no public index, so it is cut; `2.13.0` is satisfied by it too.
    Raises ValueError for a line that is not `name==version` (a path or an address).
    """
    pins = {}
    for line in frozen.splitlines():
        name, exact, version = line.partition("==")
        if not exact:
            raise ValueError(f"pip froze {line!r}, which is not name==version: ask for a version on an index")
        if name != "pip" and not GPU_ONLY.fullmatch(name):
            pins[name.lower()] = f"{name}=={version.split('+')[0]}"
    return [pins[name] for name in sorted(pins)]


def freeze(wanted: list[str]) -> str:
    """Install `wanted` into a fresh environment and return its `pip freeze --all`."""
    with tempfile.TemporaryDirectory(prefix="yardsticks-lock-") as folder:
        venv.create(folder, with_pip=True)
        pip = [str(Path(folder, "bin", "python")), "-m", "pip", "--disable-pip-version-check"]
        subprocess.run([*pip, "install", "--quiet", *wanted], check=True)
        return subprocess.run([*pip, "freeze", "--all"], check=True, stdout=subprocess.PIPE, text=True).stdout


def main() -> int:
    """Write the lock beside pyproject.toml, all of it or nothing."""
    lines = locked(freeze(requirements(ROOT / "pyproject.toml") + HELD))
    unfinished = LOCK.with_suffix(".new")
    unfinished.write_text("\n".join(lines) + "\n", encoding="utf-8")
    os.replace(unfinished, LOCK)
    print(f"{LOCK.name}: {len(lines)} packages")
    return 0


if __name__ == "__main__":
    sys.exit(main())
