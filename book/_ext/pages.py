"""Sphinx extension: what stands around a page's text.

- drops sphinx-thebe's files, which name an outside host and throw in the console;
- adds a line of links under a chapter's title: the student version, the results, the copy that runs in the browser;
- adds launch and source links to it when `yardsticks_address` in `_config.yml` is set;
- mends roles and names that would mislead a screen reader.
"""

from collections.abc import Callable, Iterable
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from docutils import nodes
from executed import executed_folder
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.errors import ExtensionError

Link = tuple[str, str]
"""Words and target."""

#: What docutils and myst-nb write, and what stands in its place.
MENDED = {
    '<summary aria-label="Toggle hidden content">': "<summary>",  # its words say what is hidden
    '<div role="list" class="citation-list">': '<div class="citation-list">',  # it holds no list items
    ' role="doc-biblioentry">': ">",  # deprecated
}


def without_thebe(files: Iterable[Any]) -> list[Any]:
    """Script or style files, less those of sphinx-thebe (named by file name, or by body where inline)."""

    def text(file: Any) -> str:
        return f"{getattr(file, 'filename', file)} {getattr(file, 'attributes', {}).get('body', '')}".lower()

    return [file for file in files if "thebe" not in text(file)]


def check_address(app: Sphinx, config: Config) -> None:
    """Refuse an address that launch links cannot be made from."""
    address = config.yardsticks_address
    parts = urlsplit(address)
    if address and not (parts.scheme == "https" and parts.netloc and len(parts.path.strip("/").split("/")) == 2):
        raise ExtensionError(
            f"_config.yml: yardsticks_address {address!r} must be empty or a repository's address, "
            "https://HOST/OWNER/NAME"
        )


def launch_links(address: str, path: str) -> list[Link]:
    """Where to run or read the notebook at `path` of the repository at `address`."""
    address = address.rstrip("/")
    parts = urlsplit(address)
    tree = quote(f"lab/tree/{path}", safe="")
    links = [("Binder", f"https://mybinder.org/v2/git/{quote(address, safe='')}/HEAD?urlpath={tree}")]
    if parts.netloc == "github.com":
        links.append(("Colab", f"https://colab.research.google.com/github{parts.path}/blob/main/{path}"))
    return [*links, ("Source", f"{address}/blob/main/{path}")]


def download_links(name: str, folder: Path, pathto: Callable[[str, int], str]) -> list[Link]:
    """What the book offers for the chapter `name`; the results only if its run concluded any."""
    links = [("student version", pathto(f"student/{name}.ipynb", 1))]
    if (folder / f"{name}.result.json").is_file():
        links.append(("results", pathto(f"results/{name}.result.json", 1)))
    return links


def lite_link(name: str, pathto: Callable[[str, int], str]) -> Link:
    """Where the chapter `name` opens in the JupyterLite site, which book/lite.py adds to the book."""
    return ("in the browser (JupyterLite)", pathto("lite/lab/index.html", 1) + f"?path=notebooks/{name}.ipynb")


def link_line(downloads: list[Link], launches: list[Link]) -> str:
    """One HTML paragraph of links."""
    groups = [("Download", downloads, " download"), ("Open", launches, "")]
    text = " · ".join(
        f"{label}: " + ", ".join(f'<a href="{escape(url)}"{kind}>{escape(words)}</a>' for words, url in links)
        for label, links, kind in groups
        if links
    )
    return f'<p class="ys-links">{text}</p>'


def mended(body: str) -> str:
    """The page's text with MENDED done."""
    for old, new in MENDED.items():
        body = body.replace(old, new)
    return body


def decorate(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Tidy every page, and put the line of links under the title of a chapter."""
    for key in ("script_files", "css_files"):
        context[key] = without_thebe(context[key])
    if doctree is None:  # search, index: pages without a source
        return
    context["body"] = mended(context["body"])
    source = Path(app.env.doc2path(pagename))
    if source.suffix == ".ipynb":
        path = source.relative_to(app.srcdir).as_posix()
        address = app.config.yardsticks_address
        downloads = download_links(source.stem, executed_folder(app.srcdir), context["pathto"])
        launches = launch_links(address, path) if address else []
        line = link_line(downloads, [lite_link(source.stem, context["pathto"]), *launches])
        context["body"] = context["body"].replace("</h1>", "</h1>\n" + line, 1)


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_config_value("yardsticks_address", "", "html", types=[str])
    app.connect("config-inited", check_address)
    app.connect("html-page-context", decorate, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
