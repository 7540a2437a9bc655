"""A browser that can reach nothing but the built book, and the book's pages served to it."""

import os
import shutil
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "book"))  # build.py knows the pages


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture(scope="session")
def address(html: Path) -> Iterator[str]:
    """Where the built book is served."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(html)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """The system's Chromium, without a way out."""
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("no chromium on the PATH")
    from playwright.sync_api import sync_playwright

    arguments = ["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]
    if os.geteuid() == 0:
        arguments.append("--no-sandbox")
    with sync_playwright() as playwright:
        instance = playwright.chromium.launch(executable_path=chromium, args=arguments)
        yield instance
        instance.close()


@pytest.fixture
def complaints() -> list[str]:
    """Outside requests, console errors and uncaught errors of the tab, in the order seen."""
    return []


@pytest.fixture
def tab(browser: Any, address: str, complaints: list[str]) -> Iterator[Any]:
    """A fresh tab with light colours that keeps a list of what it has to complain about."""
    context = browser.new_context(color_scheme="light", viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.on("request", lambda request: _note_outside(request.url, address, complaints))
    page.on("console", lambda message: _note_console(message, complaints))
    page.on("pageerror", lambda error: complaints.append(f"uncaught: {error}"))
    yield page
    context.close()


def _note_outside(url: str, address: str, complaints: list[str]) -> None:
    if not url.startswith((address, "data:", "blob:")):
        complaints.append(f"outside request: {url}")


def _note_console(message: Any, complaints: list[str]) -> None:
    if message.type == "error":
        complaints.append(f"console: {message.text}")
