"""The browser libraries: fetched once, checked, unpacked."""

import base64
import dataclasses
import hashlib
import tarfile
from pathlib import Path

import pytest
import vendor

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def tarball(tmp_path: Path) -> Path:
    """A package as npm packs it."""
    content = tmp_path / "package"
    (content / "dist" / "fonts").mkdir(parents=True)
    (content / "dist" / "main.js").write_text("main", encoding="utf-8")
    (content / "dist" / "fonts" / "a.woff").write_text("font", encoding="utf-8")
    (content / "unwanted.js").write_text("unwanted", encoding="utf-8")
    path = tmp_path / "demo-1.0.0.tgz"
    with tarfile.open(path, "w:gz") as archive:
        archive.add(content, "package")
    return path


@pytest.fixture
def package(tarball: Path) -> vendor.Package:
    digest = base64.b64encode(hashlib.sha512(tarball.read_bytes()).digest()).decode()
    return vendor.Package("demo", "1.0.0", f"sha512-{digest}", {"dist/main.js": "main.js", "dist/fonts": "fonts"})


def fake_npm(path: Path, script: str) -> str:
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)
    return str(path)


def test_wanted_files_are_unpacked_and_the_second_build_fetches_nothing(
    tmp_path: Path, tarball: Path, package: vendor.Package, monkeypatch: pytest.MonkeyPatch
) -> None:
    npm = fake_npm(tmp_path / "npm", f'test "$2" = demo@1.0.0 && cp {tarball} "$4"')
    monkeypatch.setattr(vendor, "find_npm", lambda: npm)
    folder = tmp_path / "vendor"
    assert vendor.provide([package], folder) == ["demo"]
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert files == {"demo/main.js", "demo/fonts/a.woff", f"demo/{vendor.STAMP}"}
    assert vendor.provide([package], folder) == []


def test_another_version_is_fetched_again(tmp_path: Path, tarball: Path, package: vendor.Package) -> None:
    target = tmp_path / "vendor" / "demo"
    vendor.unpack(package, tarball, target)
    assert vendor.is_unpacked(package, target)
    newer = vendor.Package("demo", "1.0.1", package.integrity, package.files)
    assert not vendor.is_unpacked(newer, target)


def test_a_wrong_hash_is_refused(tarball: Path, package: vendor.Package) -> None:
    other = vendor.Package(package.name, package.version, "sha512-AAAA", package.files)
    with pytest.raises(vendor.VendorError, match=r"demo@1\.0\.0 has the hash sha512-.*, not the sha512-AAAA"):
        vendor.check(other, tarball)


def test_the_one_place_is_patched(tmp_path: Path, tarball: Path, package: vendor.Package) -> None:
    patched = dataclasses.replace(package, patches=[("main.js", "ai", "oo")])
    target = tmp_path / "vendor" / "demo"
    vendor.unpack(patched, tarball, target)
    assert (target / "main.js").read_text(encoding="utf-8") == "moon"
    assert vendor.is_unpacked(patched, target) and not vendor.is_unpacked(package, target)


@pytest.mark.parametrize(("old", "count"), [("gone", 0), ("", 5)])
def test_no_place_or_several_are_refused(
    tmp_path: Path, tarball: Path, package: vendor.Package, old: str, count: int
) -> None:
    patched = dataclasses.replace(package, patches=[("main.js", old, "new")])
    with pytest.raises(vendor.VendorError, match=f"main.js has {count} places with '{old}', not one"):
        vendor.unpack(patched, tarball, tmp_path / "vendor" / "demo")
    assert not vendor.is_unpacked(patched, tmp_path / "vendor" / "demo")


def test_a_wanted_file_that_is_not_there_is_named(tmp_path: Path, tarball: Path, package: vendor.Package) -> None:
    other = vendor.Package(package.name, package.version, package.integrity, {"gone.js": "gone.js"})
    with pytest.raises(vendor.VendorError, match=r"demo@1\.0\.0 has no gone\.js"):
        vendor.unpack(other, tarball, tmp_path / "vendor" / "demo")


def test_without_network_there_is_one_line(
    tmp_path: Path, package: vendor.Package, monkeypatch: pytest.MonkeyPatch
) -> None:
    npm = fake_npm(tmp_path / "npm", "echo 'npm error code ENOTFOUND' >&2; echo 'npm error more' >&2; exit 1")
    monkeypatch.setattr(vendor, "find_npm", lambda: npm)
    with pytest.raises(vendor.VendorError) as caught:
        vendor.provide([package], tmp_path / "vendor")
    assert str(caught.value) == ("demo@1.0.0 could not be fetched (code ENOTFOUND): the first build needs the network")


def test_without_npm_the_remedy_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vendor.sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(vendor.VendorError, match="npm is missing: install the extra `book`"):
        vendor.find_npm()


@pytest.fixture
def wheel(tmp_path: Path) -> tuple[vendor.Package, Path]:
    """A package of PyPI and its wheel, which is no archive that npm would make."""
    path = tmp_path / "demo-1.0-py3-none-any.whl"
    path.write_bytes(b"a wheel")
    digest = base64.b64encode(hashlib.sha512(path.read_bytes()).digest()).decode()
    package = vendor.Package("demo", "1.0", f"sha512-{digest}", {path.name: path.name}, registry="pypi", part="lite")
    return package, path


def test_a_wheel_is_checked_and_kept_whole(
    tmp_path: Path, wheel: tuple[vendor.Package, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    package, path = wheel
    monkeypatch.setattr(vendor, "pip_command", lambda package, folder: ["cp", str(path), str(folder)])
    assert vendor.provide([package], tmp_path / "vendor") == ["demo"]
    assert (tmp_path / "vendor" / "demo" / path.name).read_bytes() == b"a wheel"
    path.write_bytes(b"another wheel")
    with pytest.raises(vendor.VendorError, match=r"demo@1\.0 has the hash"):
        vendor.provide([package], tmp_path / "elsewhere")


def test_a_wheel_is_asked_for_by_version_and_for_the_browsers_python(wheel: tuple[vendor.Package, Path]) -> None:
    command = vendor.pip_command(wheel[0], Path("folder"))
    assert command[-1] == "demo==1.0"
    assert {"--no-deps", "--only-binary=:all:", "--python-version=3.14"} <= set(command)
    assert command[command.index("--dest") + 1] == "folder"


def test_a_wheel_that_cannot_be_had_takes_one_line(
    tmp_path: Path, wheel: tuple[vendor.Package, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    pip = fake_npm(tmp_path / "pip", "echo 'WARNING: x' >&2; echo 'ERROR: No matching distribution' >&2; exit 1")
    monkeypatch.setattr(vendor, "pip_command", lambda package, folder: [pip])
    with pytest.raises(vendor.VendorError) as caught:
        vendor.provide([wheel[0]], tmp_path / "vendor")
    assert str(caught.value) == (
        "demo@1.0 could not be fetched (No matching distribution): the first build needs the network"
    )


@pytest.mark.parametrize("part", ["pages", "lite", "tests", "numbers"])
def test_the_list_pins_versions_and_hashes(part: str) -> None:
    packages = vendor.read_packages(ROOT / "book" / "vendor.json", part)
    assert packages
    for package in packages:
        assert package.version[0].isdigit()
        assert len(base64.b64decode(package.integrity.removeprefix("sha512-"))) == 64
        assert package.files
