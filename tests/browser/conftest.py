"""A browser that can reach nothing but the built book, and the book's pages served to it."""

import os
import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from ..serving import TOKEN, Served, serving
from .trial import trial_page

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "book"))  # build.py knows the pages


class Quiet(SimpleHTTPRequestHandler):
    """Files, without a line on standard error for each."""

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def static(folder: Path, handler: type[Quiet] = Quiet) -> Iterator[str]:
    """Serve a folder on this machine; the address holds until the block ends."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture(scope="session")
def address(html: Path) -> Iterator[str]:
    """Where the built book is served."""
    with static(html) as served:
        yield served


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
    yield watched(context, address, complaints)
    context.close()


@pytest.fixture(scope="session")
def live_book(html: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the built book with one more page, `notebooks/trial`."""
    book = tmp_path_factory.mktemp("live") / "html"
    shutil.copytree(html, book)
    page = (book / "notebooks" / "pa.html").read_text(encoding="utf-8")  # a chapter with formulas
    (book / "notebooks" / "trial.html").write_text(trial_page(page), encoding="utf-8")
    return book


@pytest.fixture(scope="session")
def served(live_book: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The book's server."""
    with serving(live_book, tmp_path_factory.mktemp("server")) as one:
        yield one


@pytest.fixture
def visitor(browser: Any) -> Iterator[Any]:
    """A browser's profile without cookies."""
    context = browser.new_context(color_scheme="light", viewport={"width": 1280, "height": 900})
    yield context
    context.close()


@pytest.fixture
def open_live(visitor: Any, served: Served, complaints: list[str]) -> Iterator[Callable[[str], Any]]:
    """Open a page of the served book in a new tab; at the end it has not complained, and leaves no kernel behind."""
    before = served.kernels()

    def open_page(page: str) -> Any:
        one = watched(visitor, served.address, complaints)
        one.goto(f"{served.address}/book/{page}.html?token={TOKEN}", wait_until="load")
        one.wait_for_selector(".ys-live")
        return one

    yield open_page
    for one in visitor.pages:
        one.goto("about:blank")
    served.wait_for_kernels(before)
    assert complaints == []


def watched(context: Any, address: str, complaints: list[str]) -> Any:
    """A new tab that notes what there is to complain about."""
    page = context.new_page()
    page.on("request", lambda request: _note_outside(request.url, address, complaints))
    page.on("websocket", lambda socket: _note_outside(socket.url.replace("ws", "http", 1), address, complaints))
    page.on("console", lambda message: _note_console(message, complaints))
    page.on("pageerror", lambda error: complaints.append(f"uncaught: {error}"))
    return page


def _note_outside(url: str, address: str, complaints: list[str]) -> None:
    if not url.startswith((address, "data:", "blob:", "about:")):
        complaints.append(f"outside request: {url}")


def _note_console(message: Any, complaints: list[str]) -> None:
    if message.type == "error":
        complaints.append(f"console: {message.text}")
