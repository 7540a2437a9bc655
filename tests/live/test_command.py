"""`yardsticks serve`: what it refuses, and with what it starts the server."""

import subprocess
import sys
from pathlib import Path

import pytest

from helpers import cli
from helpers.errors import InputError
from helpers.live import command


@pytest.fixture
def book(tmp_path: Path) -> Path:
    folder = tmp_path / "html"
    folder.mkdir()
    (folder / "index.html").write_text("<p>A book</p>", encoding="utf-8")
    return folder


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[tuple[tuple, dict]]:
    """What the server was started with, in place of starting it."""
    calls: list[tuple[tuple, dict]] = []
    monkeypatch.setattr("helpers.live.server.serve", lambda *places, **options: calls.append((places, options)))
    return calls


def test_loopback_and_a_browser_are_the_default(book: Path, started: list) -> None:
    assert cli.main(["serve", "--book", str(book)]) == 0
    places = (book, Path("_build/scratch").resolve())
    assert started == [(places, {"ip": "127.0.0.1", "port": 8888, "open_browser": True})]


def test_options_are_handed_on(book: Path, tmp_path: Path, started: list) -> None:
    options = ["--scratch", str(tmp_path / "s"), "--port", "9000", "--ip", "::1", "--no-browser"]
    assert cli.main(["serve", "--book", str(book), *options]) == 0
    assert started == [((book, tmp_path / "s"), {"ip": "::1", "port": 9000, "open_browser": False})]


def test_without_a_book_the_command_that_builds_it_is_named(
    tmp_path: Path, started: list, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["serve", "--book", str(tmp_path)]) == 2
    assert capsys.readouterr().err == f"yardsticks: --book: there is no book in {tmp_path}: build it with `make book`\n"
    assert not started


@pytest.mark.parametrize("ip", ["127.0.0.1", "127.1.2.3", "::1", "localhost"])
def test_loopback_is_let_through(ip: str) -> None:
    command.check_address(ip, expose=False)


@pytest.mark.parametrize("ip", ["0.0.0.0", "::", "", "*", "192.168.1.7", "8.8.8.8", "example.org", "localhost.example"])
def test_another_address_is_refused_unless_it_is_wanted(
    ip: str, book: Path, started: list, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["serve", "--book", str(book), "--ip", ip]) == 2
    assert "add --yes-expose if that is what you want" in capsys.readouterr().err
    assert not started
    assert cli.main(["serve", "--book", str(book), "--ip", ip, "--yes-expose"]) == 0
    assert started[0][1]["ip"] == ip


@pytest.mark.parametrize("port", ["0", "-1", "65536"])
def test_a_port_that_is_none_is_refused(
    port: str, book: Path, started: list, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["serve", "--book", str(book), "--port", port]) == 2
    assert f"--port is {port}: give one from 1 to 65535" in capsys.readouterr().err
    assert not started


def test_a_missing_server_is_named_with_its_extra(book: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.setitem(sys.modules, "helpers.live.server", None)  # how Python itself says "not there"
    assert cli.main(["serve", "--book", str(book)]) == 2
    assert "pip install 'yardsticks[jupyter]'" in capsys.readouterr().err


def test_refusals_load_no_server() -> None:
    code = (
        "import sys; from helpers import cli; assert cli.main(['serve', '--book', 'no-such-folder']) == 2; "
        "sys.exit(bool({'jupyter_server', 'tornado', 'jupyterlab'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0


def test_the_check_can_be_called_with_what_is_there(book: Path) -> None:
    command.check_book(book)
    with pytest.raises(InputError, match="make book"):
        command.check_book(book / "index.html")
