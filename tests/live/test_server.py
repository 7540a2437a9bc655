"""The book's server: who gets in, what is served, and that no source is overwritten."""

import http.client
import http.cookiejar
import json
import os
import signal
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from helpers.live import server

from ..serving import TOKEN, Served, serving

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOK = '{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}'
PAGE = "<title>A chapter</title>"


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A built book with one chapter, and a file beside it that is none of its pages."""
    folder = tmp_path_factory.mktemp("book")
    html = folder / "html"
    for name, text in {
        "index.html": "<title>A book</title>",
        "notebooks/demo.html": PAGE,
        "_sources/notebooks/demo.ipynb": NOTEBOOK,
        "_static/served.js": "// nothing",
    }.items():
        (html / name).parent.mkdir(parents=True, exist_ok=True)
        (html / name).write_text(text, encoding="utf-8")
    (folder / "secret.txt").write_text("not for readers", encoding="utf-8")
    (html / "way-out.txt").symlink_to(folder / "secret.txt")
    return html


@pytest.fixture(scope="module")
def served(book: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(book, tmp_path_factory.mktemp("server")) as one:
        yield one


class Browser:
    """What a browser does of its own accord: it keeps cookies and follows where it is sent."""

    def __init__(self, served: Served) -> None:
        self.address = served.address
        self.cookies = http.cookiejar.CookieJar()
        self.opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(self.cookies))

    def ask(self, path: str, method: str = "GET", **headers: str) -> tuple[int, str, str]:
        """Status, text and final address of the answer."""
        data = b'{"name": "python3"}' if method == "POST" else None
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        request = urllib.request.Request(self.address + path, data=data, headers=named, method=method)
        try:
            answer = self.opener.open(request, timeout=30)
        except urllib.error.HTTPError as error:
            answer = error
        with answer:
            return answer.status, answer.read().decode(), answer.url

    def cookie(self, name: str) -> str:
        return next(cookie.value or "" for cookie in self.cookies if cookie.name == name)


@pytest.fixture
def stranger(served: Served) -> Browser:
    return Browser(served)


@pytest.fixture
def reader(served: Served) -> Browser:
    """A browser that has opened the address that the server printed."""
    one = Browser(served)
    assert one.ask(f"/book/index.html?token={TOKEN}")[0] == 200
    return one


PAGES = ["/", "/book/index.html", "/book/notebooks/demo.html", "/book/_static/served.js", "/book/copy/demo", "/lab"]


@pytest.mark.parametrize("token", ["", "?token=", "?token=wrong"])
@pytest.mark.parametrize("page", PAGES)
def test_no_token_or_a_wrong_one_gets_no_page(stranger: Browser, served: Served, page: str, token: str) -> None:
    _, text, where = stranger.ask(page + token)
    assert where.startswith(f"{served.address}/login?")
    assert "A book" not in text and "A chapter" not in text
    assert not list(served.scratch.glob("*.ipynb"))


@pytest.mark.parametrize("headers", [{}, {"Authorization": "token wrong"}])
@pytest.mark.parametrize("path", ["/api/kernels", "/api/sessions", "/api/kernels?token=wrong"])
def test_no_token_or_a_wrong_one_gets_no_kernel(
    stranger: Browser, served: Served, path: str, headers: dict[str, str]
) -> None:
    assert stranger.ask(path, "POST", **headers)[0] == 403
    assert stranger.ask(path)[0] == 403
    assert served.kernels() == set()


def test_the_printed_address_leads_to_the_book_and_takes_the_token_out(reader: Browser, served: Served) -> None:
    assert reader.ask(f"/book/notebooks/demo.html?token={TOKEN}") == (
        200,
        PAGE,
        f"{served.address}/book/notebooks/demo.html",
    )
    assert reader.ask("/book/notebooks/demo.html")[1] == PAGE, "from then on the cookie is enough"
    assert reader.ask("/")[2] == f"{served.address}/book/index.html"


def test_a_page_is_asked_for_anew_each_time(reader: Browser, served: Served) -> None:
    with reader.opener.open(f"{served.address}/book/notebooks/demo.html?v=1", timeout=30) as answer:
        assert answer.headers["Cache-Control"] == "no-cache"


def test_a_forged_request_of_another_site_gets_no_kernel(reader: Browser, served: Served) -> None:
    """The browser sends the cookies along; what another site cannot send is the header that repeats one of them."""
    assert reader.ask("/api/kernels", "POST")[0] == 403
    assert reader.ask("/api/kernels", "POST", X_XSRFToken="guessed")[0] == 403
    right = reader.cookie("_xsrf")
    assert reader.ask("/api/kernels", "POST", X_XSRFToken=right, Origin="http://evil.example")[0] in (403, 404)
    assert served.kernels() == set()


def upgraded(reader: Browser, path: str, origin: str) -> int:
    """Status of the answer to a page of `origin` that wants to open a web socket, which is closed at once."""
    with connected(reader, path, origin) as status:
        return status


@contextmanager
def connected(reader: Browser, path: str, origin: str = "") -> Iterator[int]:
    """A web socket, which urllib cannot ask for: the status of the answer, while it is open."""
    connection = http.client.HTTPConnection(reader.address.removeprefix("http://"), timeout=30)
    headers = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
        "Origin": origin or reader.address,
        "Cookie": "; ".join(f"{cookie.name}={cookie.value}" for cookie in reader.cookies),
    }
    connection.request("GET", path, headers=headers)
    try:
        yield connection.getresponse().status
    finally:
        connection.close()


def test_a_foreign_origin_cannot_listen_to_a_kernel(reader: Browser, served: Served) -> None:
    status, text, _ = reader.ask("/api/kernels", "POST", X_XSRFToken=reader.cookie("_xsrf"))
    assert status == 201
    kernel = json.loads(text)["id"]
    path = f"/api/kernels/{kernel}/channels"
    assert upgraded(reader, path, "http://evil.example") == 403
    assert upgraded(reader, path, reader.address) == 101
    assert reader.ask(f"/api/kernels/{kernel}", "DELETE")[0] == 403
    assert reader.ask(f"/api/kernels/{kernel}", "DELETE", X_XSRFToken=reader.cookie("_xsrf"))[0] == 204
    served.wait_for_kernels(set())


def test_a_name_that_points_here_from_outside_is_refused(served: Served) -> None:
    """Else a site could have its own name resolve to this machine, and be taken for the server."""
    host, _, port = served.address.removeprefix("http://").rpartition(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=30)
    connection.request("GET", f"/book/index.html?token={TOKEN}", headers={"Host": "evil.example"})
    assert connection.getresponse().status == 403
    connection.close()


def test_the_server_listens_on_loopback_only(served: Served) -> None:
    assert served.address.startswith("http://127.0.0.1:")


def test_nothing_but_the_book_is_served(reader: Browser) -> None:
    for path in ("/book/../secret.txt", "/book/%2e%2e/secret.txt", "/book/way-out.txt", "/book/no-such-page.html"):
        status, text, _ = reader.ask(path)
        assert status in (403, 404), path
        assert "not for readers" not in text


def test_only_a_served_page_learns_of_the_server(reader: Browser) -> None:
    assert reader.ask("/book/_static/served.js?v=1")[1] == 'window.yardsticksServer = {"base": "/"};\n'
    printed = (ROOT / "book" / "_static" / "served.js").read_text(encoding="utf-8")
    assert all(line.startswith("//") for line in printed.splitlines())


def test_a_notebook_opens_as_a_copy_and_what_was_changed_there_is_kept(
    reader: Browser, served: Served, book: Path
) -> None:
    lab = f"{served.address}/lab/tree/demo"
    assert reader.ask("/book/copy/demo")[2] == f"{lab}.ipynb"
    assert reader.ask("/book/copy/demo")[2] == f"{lab}.ipynb", "one that is as it came is good enough"
    (served.scratch / "demo.ipynb").write_text("changed", encoding="utf-8")
    assert reader.ask("/book/copy/demo")[2] == f"{lab}-2.ipynb"
    assert (served.scratch / "demo.ipynb").read_text(encoding="utf-8") == "changed"
    assert (served.scratch / "demo-2.ipynb").read_text(encoding="utf-8") == NOTEBOOK
    assert (book / "_sources" / "notebooks" / "demo.ipynb").read_text(encoding="utf-8") == NOTEBOOK


@pytest.mark.parametrize("name", ["nobody", "..%2fdemo", "demo.ipynb", ""])
def test_only_notebooks_of_the_book_are_copied(reader: Browser, name: str) -> None:
    assert reader.ask(f"/book/copy/{name}")[0] == 404


def test_jupyter_sees_the_scratch_folder_only(reader: Browser, served: Served) -> None:
    (served.scratch / "mine.txt").write_text("mine", encoding="utf-8")
    names = {entry["name"] for entry in json.loads(reader.ask("/api/contents")[1])["content"]}
    assert "mine.txt" in names
    assert not names & {"helpers", "notebooks", "html"}
    assert reader.ask("/api/contents/../html/index.html")[0] in (403, 404)


@pytest.mark.parametrize("presses", [1, 2])
def test_an_interrupt_stops_it_quietly(book: Path, tmp_path: Path, presses: int) -> None:
    with serving(book, tmp_path) as one:
        if presses == 2:
            one.process.send_signal(signal.SIGINT)
            time.sleep(0.05)
        assert one.stop(signal.SIGINT) in (0, -signal.SIGINT)  # the second may come when Python has put its own away
        assert "Traceback" not in (tmp_path / "log").read_text(encoding="utf-8")


def test_the_kernels_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(os, "environ", {"MPLBACKEND": "agg", "YARDSTICKS_RESULT": "result.json", "KEPT": "1"})
    server.prepare_environment(tmp_path)
    assert os.environ == {
        "KEPT": "1",
        "JUPYTER_PREFER_ENV_PATH": "1",
        "YARDSTICKS_CACHE": str(tmp_path / ".weights"),
    }


def test_a_cache_of_the_readers_own_is_used_from_wherever_a_kernel_starts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(os, "environ", {"YARDSTICKS_CACHE": "cache"})
    server.prepare_environment(tmp_path)
    assert os.environ["YARDSTICKS_CACHE"] == str(Path("cache").absolute())


def test_a_copy_takes_no_folders_place(tmp_path: Path) -> None:
    source = tmp_path / "source" / "pa.ipynb"
    source.parent.mkdir()
    source.write_text("{}", encoding="utf-8")
    (tmp_path / "pa.ipynb").mkdir()
    assert [server.lay_copy(source, tmp_path) for _ in range(2)] == ["pa-2.ipynb", "pa-2.ipynb"]
    source.write_text("newer", encoding="utf-8")
    assert server.lay_copy(source, tmp_path) == "pa-3.ipynb"


def test_idle_kernels_end_and_connected_ones_do_not(tmp_path: Path) -> None:
    config = server.configuration(tmp_path, tmp_path, ip="127.0.0.1", port=1, token="t", open_browser=False)
    assert config.MappingKernelManager == {
        "cull_idle_timeout": server.IDLE_S,
        "cull_interval": 60,
        "cull_connected": False,
    }


FORSAKEN_S = 2.0


@pytest.fixture(scope="module")
def impatient(book: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server that gives up a page's kernel soon."""
    with serving(book, tmp_path_factory.mktemp("impatient"), forsaken_s=FORSAKEN_S) as one:
        yield one


def begin(served: Served, path: str, kind: str = "notebook") -> tuple[Browser, str, str]:
    """A reader with a session of this path and kind, its kernel, and where to connect with that."""
    reader = Browser(served)
    reader.ask(f"/book/index.html?token={TOKEN}")
    body = {"path": path, "name": path, "type": kind, "kernel": {"name": "python3"}}
    request = urllib.request.Request(
        f"{served.address}/api/sessions",
        data=json.dumps(body).encode(),
        headers={"X-XSRFToken": reader.cookie("_xsrf")},
    )
    with reader.opener.open(request, timeout=60) as answer:
        kernel = json.load(answer)["kernel"]["id"]
    return reader, kernel, f"/api/kernels/{kernel}/channels"


def kernels_after(served: Served, seconds: float) -> set[str]:
    time.sleep(seconds)
    return served.kernels()


def test_a_kernel_ends_soon_after_its_page_is_gone(impatient: Served) -> None:
    reader, kernel, channels = begin(impatient, "demo-1-2.ipynb")
    assert upgraded(reader, channels, reader.address) == 101  # and closed at once, as by a crash
    closed = time.monotonic()
    assert kernel in kernels_after(impatient, FORSAKEN_S / 2)
    impatient.wait_for_kernels(impatient.kernels() - {kernel})
    assert FORSAKEN_S - 0.2 < time.monotonic() - closed < FORSAKEN_S + 5
    assert reader.ask("/api/sessions")[1] == "[]"


def test_a_page_that_connects_anew_keeps_its_kernel(impatient: Served) -> None:
    """The time counts from the last time that it went, not from the first."""
    reader, kernel, channels = begin(impatient, "demo-3-4.ipynb")
    for _ in range(3):
        assert upgraded(reader, channels, reader.address) == 101
        assert kernel in kernels_after(impatient, 0.7 * FORSAKEN_S)
    impatient.wait_for_kernels(impatient.kernels() - {kernel})


def test_a_connected_page_keeps_its_kernel(impatient: Served) -> None:
    reader, kernel, channels = begin(impatient, "demo-5-6.ipynb")
    assert upgraded(reader, channels, reader.address) == 101
    with connected(reader, channels):
        assert kernel in kernels_after(impatient, FORSAKEN_S + 1)
    impatient.wait_for_kernels(impatient.kernels() - {kernel})


@pytest.mark.parametrize(("path", "kind"), [("kept.ipynb", "notebook"), ("console-1", "console")])
def test_what_jupyterlab_runs_goes_on_without_its_tab(impatient: Served, path: str, kind: str) -> None:
    (impatient.scratch / "kept.ipynb").write_text(NOTEBOOK, encoding="utf-8")
    reader, kernel, channels = begin(impatient, path, kind)
    assert upgraded(reader, channels, reader.address) == 101
    assert kernel in kernels_after(impatient, FORSAKEN_S + 1.5)


def test_jupyterlab_asks_nobody_for_news() -> None:
    page = {"federated_extensions": [{"name": "@jupyterlite/pyodide-kernel-extension"}, {"name": "widgets"}]}
    quiet = server.quiet_lab(None, page)
    assert quiet["federated_extensions"] == [{"name": "widgets"}]
    assert quiet["disabledExtensions"] == ["@jupyterlab/apputils-extension:announcements"]
