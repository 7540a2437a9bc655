"""Sphinx extension: what stands around a page's text.

- drops sphinx-thebe's files, which name an outside host and throw in the console;
- adds a line of links under a chapter's title: the student version, the results, the copy that runs in the browser;
- adds launch and source links to it when `yardsticks_address` in `_config.yml` is set, and what Colab needs first;
- mends roles and names that would mislead a screen reader.
"""

import subprocess
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

#: The only host whose repositories Colab opens.
COLABS_HOST = "github.com"
#: What Colab has not: the library with its data, and what draws the panels.
COLAB = """\
!git clone --quiet {address} /content/yardsticks
!git -C /content/yardsticks checkout --quiet {commit}
%pip install --quiet --editable /content/yardsticks "altair>=6.0" "vl-convert-python>=1.9"
import sys; sys.path.insert(0, "/content/yardsticks")
"""

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


def revision(root: Path | str) -> str:
    """The commit that the book is made from: what it links to is then what it shows.

    Outside a checkout it is HEAD, by which every host means the newest.
    """
    git = ["git", "-C", str(root), "rev-parse", "--verify", "--quiet", "HEAD"]
    try:
        return subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "HEAD"


def launch_links(address: str, path: str, commit: str) -> list[Link]:
    """Where to run or read the notebook at `path` of the repository at `address`, as of `commit`."""
    address = address.rstrip("/")
    parts = urlsplit(address)
    tree = quote(f"lab/tree/{path}", safe="")
    links = [("Binder", f"https://mybinder.org/v2/git/{quote(address, safe='')}/{commit}?urlpath={tree}")]
    if parts.netloc == COLABS_HOST:
        links.append(("Colab", f"https://colab.research.google.com/github{parts.path}/blob/{commit}/{path}"))
    return [*links, ("Source", f"{address}/blob/{commit}/{path}")]


def colab_note(address: str, commit: str) -> str:
    """HTML for the lines that a chapter needs before all others in Colab; empty where Colab cannot open it.

    Colab opens the notebook alone. The library reads the data that lies beside it, so a clone is needed.
    """
    if urlsplit(address).netloc != COLABS_HOST:
        return ""
    lines = COLAB.format(address=address.rstrip("/"), commit=commit)
    return (
        '<details class="ys-colab"><summary>Colab needs these lines in a cell above all others</summary>'
        f'<div class="highlight"><pre>{escape(lines)}</pre></div></details>'
    )


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
        commit = revision(app.srcdir) if address else ""
        launches = launch_links(address, path, commit) if address else []
        line = link_line(downloads, [lite_link(source.stem, context["pathto"]), *launches])
        note = colab_note(address, commit) if address else ""
        context["body"] = context["body"].replace("</h1>", f"</h1>\n{line}{note}", 1)


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_config_value("yardsticks_address", "", "html", types=[str])
    app.connect("config-inited", check_address)
    app.connect("html-page-context", decorate, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
