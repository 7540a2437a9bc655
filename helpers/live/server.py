"""One Jupyter Server for the book: its pages, kernels that run them, and JupyterLab on copies of the notebooks.

The server's folder is a scratch folder. Kernels start in it and JupyterLab sees nothing else, so that neither
overwrites a source. Everything needs the token; Jupyter's own checks of origin, host and request forgery hold.
"""

from __future__ import annotations

import itertools
import json
import os
import secrets
import signal
from pathlib import Path
from typing import Any, cast

from jupyter_server.base.handlers import JupyterHandler
from jupyter_server.serverapp import ServerApp
from jupyter_server.services.kernels.kernelmanager import AsyncMappingKernelManager
from jupyter_server.utils import url_path_join
from tornado import web
from tornado.ioloop import IOLoop
from traitlets import Unicode
from traitlets.config import Config

#: A kernel whose page is gone without having said so ends after this time, in seconds: long enough for a network that
#: falters, as the page tries to connect anew for about as long.
FORSAKEN_S = 60
#: Any other kernel that nobody is connected with ends after this time in which it did nothing, in seconds.
IDLE_S = 600


def serve(book: Path, scratch: Path, *, ip: str, port: int, open_browser: bool) -> None:
    """Serve the built book until interrupted.

    Parameters
    ----------
    book : Path
        The folder of the built book.
    scratch : Path
        The folder in which kernels start and copies of notebooks are laid; it is made where it is missing.
    ip : str
        The address to listen on.
    port : int
        The first port to try.
    open_browser : bool
        Whether to open the book in the browser; its address is printed either way.
    """
    scratch.mkdir(parents=True, exist_ok=True)
    prepare_environment(scratch)
    token = os.environ.get("JUPYTER_TOKEN") or secrets.token_hex(24)
    config = configuration(book, scratch, ip=ip, port=port, token=token, open_browser=open_browser)
    server = BookServer(config=config)
    server.initialize(argv=[], find_extensions=False)
    address = f"{url_path_join(server.connection_url, 'book/index.html')}?token={token}"
    words = f"The book is served at {address}\nCtrl-C stops it, and every kernel with it."
    server.io_loop.add_callback(print, words, flush=True)  # comes after the callback that begins to listen
    server.start()


def prepare_environment(scratch: Path) -> None:
    """Set what kernels inherit."""
    os.environ.pop("MPLBACKEND", None)  # whatever it says, it switches inline figures off without an error
    os.environ.pop("YARDSTICKS_RESULT", None)  # a live run must not overwrite the result of a batch run
    os.environ["JUPYTER_PREFER_ENV_PATH"] = "1"  # this environment's kernel, not one the user once registered
    # A network is trained once, not again after each change of a parameter that it does not depend on.
    cache = os.environ.get("YARDSTICKS_CACHE") or scratch / ".weights"
    os.environ["YARDSTICKS_CACHE"] = os.path.abspath(cache)


def configuration(book: Path, scratch: Path, *, ip: str, port: int, token: str, open_browser: bool) -> Config:
    """What is set on the server; nothing else is, as the user's own configuration is not read."""
    config = Config()
    config.BookServer.book = str(book)
    config.IdentityProvider.token = token
    config.Application.log_level = "WARN"
    config.ServerApp.update(
        ip=ip,
        port=port,
        open_browser=open_browser,
        root_dir=str(scratch),
        kernel_manager_class=PageKernels,
        allow_root=True,  # as in a container; who may come in is decided by address and token
        jpserver_extensions={"jupyterlab": True, "jupyter_lsp": True},
    )
    config.MappingKernelManager.update(cull_idle_timeout=IDLE_S, cull_interval=60, cull_connected=False)
    # JupyterLab asks its makers for nothing.
    config.LabApp.update(
        news_url=None, check_for_updates_class="jupyterlab.NeverCheckForUpdate", extension_manager="readonly"
    )
    return config


class PageKernels(AsyncMappingKernelManager):
    """Jupyter's kernels, less those whose page is gone.

    A page ends its kernel when it is left. One that crashes cannot, and no page finds the way back to that kernel: so
    it ends, busy or not, once nobody has been connected with it for FORSAKEN_S. What JupyterLab runs goes on while its
    tab is closed, as usual there; the notebook finds it again.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._left: dict[str, object] = {}

    def notify_disconnect(self, kernel_id: str) -> None:
        """Note that one connection less is there, and look again later."""
        super().notify_disconnect(kernel_id)
        self._left[kernel_id] = moment = object()
        IOLoop.current().call_later(FORSAKEN_S, self.end_if_forsaken, kernel_id, moment)

    async def end_if_forsaken(self, kernel_id: str, moment: object) -> None:
        """End a page's kernel if nobody has come since `moment`, of which it is the latest."""
        if self._left.get(kernel_id) is not moment:
            return
        del self._left[kernel_id]
        if kernel_id not in self or self.kernel_model(kernel_id)["connections"]:
            return
        sessions = cast(ServerApp, self.parent).session_manager
        for session in await sessions.list_sessions():
            if session["kernel"]["id"] == kernel_id and self.is_a_pages(session):
                await sessions.delete_session(session["id"])

    def is_a_pages(self, session: dict[str, Any]) -> bool:
        """Whether a session belongs to a page: it bears the name of a notebook that is not there."""
        return session["type"] == "notebook" and not Path(self.root_dir, session["path"]).is_file()


class BookServer(ServerApp):
    """Jupyter's server with the book below ``/book/``."""

    book = Unicode(help="The folder of the built book.").tag(config=True)
    default_url = Unicode("/book/index.html")

    def load_config_file(self, *_: Any, **__: Any) -> None:
        """Read none: a forgotten line in it could switch the token off, or open the server to other machines."""

    def init_signal(self) -> None:
        """Let Ctrl-C stop it without a question, and from a script too.

        Jupyter leaves it to Python where standard input is no terminal: an exception in whatever runs at that moment,
        which while the extensions start is a task that nobody waits for.
        """
        super().init_signal()
        signal.signal(signal.SIGINT, lambda *_: self.stop(from_signal=True))

    def init_webapp(self) -> None:
        """Add the book's addresses to Jupyter's."""
        super().init_webapp()
        book = Path(self.book).resolve()
        files = {"path": str(book), "default_filename": "index.html"}
        handlers: list[Any] = [
            (self._route(r"/book/_static/served\.js"), MarkHandler),
            (self._route(r"/book/copy/([\w-]+)"), CopyHandler, {"book": book, "scratch": Path(self.root_dir)}),
            (self._route(r"/book/(.*)"), BookHandler, files),
        ]
        self.web_app.add_handlers(".*$", handlers)
        self.web_app.settings["page_config_hook"] = quiet_lab

    def _route(self, pattern: str) -> str:
        return str(url_path_join(self.base_url, pattern))


def quiet_lab(handler: JupyterHandler, page_config: dict[str, Any]) -> dict[str, Any]:
    """JupyterLab's page without the kernels of JupyterLite, which fail here, and without the question about news."""
    extensions = page_config.get("federated_extensions", [])
    page_config["federated_extensions"] = [one for one in extensions if not one["name"].startswith("@jupyterlite/")]
    disabled = [*page_config.get("disabledExtensions", []), "@jupyterlab/apputils-extension:announcements"]
    return {**page_config, "disabledExtensions": disabled}


class BookHandler(JupyterHandler, web.StaticFileHandler):
    """The files of the built book. (Jupyter's own handler of files would take the page's origin away.)"""

    @web.authenticated
    async def get(self, path: str, include_body: bool = True) -> None:  # type: ignore[override]
        """Send a file; an address with the token has done its work by now, and leads to the same without it."""
        if "token" in self.request.query_arguments:
            self.redirect(self.request.path)
            return
        self.xsrf_token  # noqa: B018  it sets the cookie that the page's requests repeat
        await web.StaticFileHandler.get(self, path, include_body)

    def set_headers(self) -> None:
        """Let the browser ask each time whether the file is still the same: the book may have been built anew."""
        web.StaticFileHandler.set_headers(self)
        self.set_header("Cache-Control", "no-cache")


class MarkHandler(JupyterHandler):
    """``served.js``: in the built book it does nothing, from here it tells the page that there is a server."""

    @web.authenticated
    def get(self) -> None:
        """Send one line of JavaScript."""
        self.set_header("Content-Type", "text/javascript; charset=utf-8")
        self.set_header("Cache-Control", "no-store")
        self.finish(f"window.yardsticksServer = {json.dumps({'base': self.base_url})};\n")


class CopyHandler(JupyterHandler):
    """Open a notebook in JupyterLab, as a copy."""

    def initialize(self, book: Path, scratch: Path) -> None:
        """Remember where the notebooks lie, and where the copies go."""
        self.book, self.scratch = book, scratch

    @web.authenticated
    def get(self, chapter: str) -> None:
        """Lay a copy of the chapter's notebook in the scratch folder, and go there."""
        source = self.book / "_sources" / "notebooks" / f"{chapter}.ipynb"
        if not source.is_file():
            raise web.HTTPError(404, f"the book has no notebook {chapter}")
        name = lay_copy(source, self.scratch)
        self.redirect(url_path_join(self.base_url, "lab/tree", name))


def lay_copy(source: Path, folder: Path) -> str:
    """The name of a file in `folder` with the content of `source`.

    One that was changed there is left alone: the fresh copy gets a number.
    """
    content = source.read_bytes()
    for number in itertools.count(1):
        copy = folder / (source.name if number == 1 else f"{source.stem}-{number}{source.suffix}")
        try:
            with copy.open("xb") as stream:
                stream.write(content)
        except FileExistsError:
            if not copy.is_file() or copy.read_bytes() != content:
                continue
        return copy.name
    raise AssertionError("unreachable: numbers do not end")
