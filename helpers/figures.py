"""Figures for page, notebook and report: one style, alt text always, legible on light and on dark ground.

A figure becomes inline SVG in which everything that is not data takes the colour of the surrounding text, so the
same figure serves both themes, and print.
"""

from __future__ import annotations

import hashlib
import html
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from . import lazy
from .errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure as MatplotlibFigure

#: Okabe and Ito's colours that keep a contrast of 3 on white and on near-black, with a marker and a line style each:
#: colour is never the only sign.
BLUE, VERMILION, GREEN, PURPLE = "#2b7bba", "#d55e00", "#009e73", "#b5679b"
SERIES = ((BLUE, "o", "-"), (VERMILION, "s", "--"), (GREEN, "^", "-."), (PURPLE, "D", ":"))

#: Stands for "the colour of the text around the figure" until the SVG is written.
_INK = "#010203"
_STYLE: dict[str, Any] = {
    "figure.figsize": (6.4, 3.8),
    "figure.facecolor": "none",
    "figure.constrained_layout.use": True,
    "axes.facecolor": "none",
    "axes.edgecolor": _INK,
    "axes.labelcolor": _INK,
    "axes.titlecolor": _INK,
    "axes.titlesize": 11,
    "axes.labelsize": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": _INK,
    "grid.alpha": 0.15,
    "text.color": _INK,
    "xtick.color": _INK,
    "ytick.color": _INK,
    "xtick.labelsize": 10,
    "ytick.labelsize": 10,
    "legend.frameon": False,
    "legend.fontsize": 10,
    "font.size": 10,
    "lines.linewidth": 1.8,
    "lines.markersize": 5,
    "image.cmap": "cividis",
    "svg.fonttype": "path",
}


@dataclass(frozen=True)
class Figure:
    """A finished figure: shows itself in a notebook, and `html` is what a page or a report embeds.

    Attributes
    ----------
    name, alt, caption : str
        As `show` was given them.
    svg : str
        The drawing, whose lines and text take the colour of the page.
    """

    name: str
    alt: str
    svg: str = field(repr=False)
    caption: str = ""

    @property
    def html(self) -> str:
        """The figure with its alt text and caption."""
        caption = f"<figcaption>{html.escape(self.caption)}</figcaption>" if self.caption else ""
        label = html.escape(self.alt, quote=True)
        svg = self.svg.replace("<svg ", f'<svg role="img" aria-label="{label}" ', 1)
        return f'<figure class="ys-figure">{svg}{caption}</figure>'

    def _repr_html_(self) -> str:
        return self.html


@dataclass(frozen=True)
class Table:
    """A small table that shows itself: rows of text or numbers under column names; None shows as a dash.

    Attributes
    ----------
    columns : sequence of str
    rows : sequence of sequences
        Of which the first cell is the head of the row.
    caption : str
    digits : int
        Decimals of floats, 3 by default.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    caption: str
    digits: int = 3

    @property
    def html(self) -> str:
        """The table with its caption; the first cell of a row is its head."""
        head = "".join(f"<th scope='col'>{html.escape(name)}</th>" for name in self.columns)
        body = "".join(
            "<tr>"
            + f"<th scope='row'>{self._text(row[0])}</th>"
            + "".join(f"<td>{self._text(cell)}</td>" for cell in row[1:])
            + "</tr>"
            for row in self.rows
        )
        caption = f"<caption>{html.escape(self.caption)}</caption>"
        return f"<table class='ys-table'>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

    def _text(self, cell: Any) -> str:
        if cell is None:
            return "\u2014"
        return f"{cell:.{self.digits}f}" if isinstance(cell, float) else html.escape(str(cell))

    def _repr_html_(self) -> str:
        return self.html


def page(
    title: str,
    lines: Sequence[tuple[str, str]],
    figures: Sequence[Figure],
    *,
    words: str = "",
    warnings: Sequence[str] = (),
) -> str:
    """A self-contained HTML page of a score: what it means in words, warnings, labelled numbers, figures.

    All text is escaped; nothing is loaded from elsewhere; it follows the reader's light or dark theme.
    """
    cautions = "".join(f"<p class='warning'><strong>Warning:</strong> {html.escape(text)}</p>" for text in warnings)
    rows = "".join(f"<tr><th scope='row'>{html.escape(a)}</th><td>{html.escape(b)}</td></tr>" for a, b in lines)
    return (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<title>{html.escape(title)}</title><style>{_PAGE_STYLE}</style></head><body><main>"
        f"<h1>{html.escape(title)}</h1>{f'<p>{html.escape(words)}</p>' if words else ''}{cautions}"
        f"<table>{rows}</table>{''.join(figure.html for figure in figures)}</main></body></html>\n"
    )


_PAGE_STYLE = (
    ":root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;margin:0}"
    "main{max-width:46rem;margin:auto;padding:1.5rem;overflow-wrap:anywhere}table{border-collapse:collapse}"
    "th,td{padding:.3rem .8rem;text-align:left;border-bottom:1px solid #8886;vertical-align:top}"
    "th{font-weight:600}figure{margin:1.5rem 0}svg{width:100%;height:auto}"
    f".warning{{border-left:.3rem solid {VERMILION};padding-left:.8rem}}"
)


def subplots(*args: Any, **kwargs: Any) -> tuple[MatplotlibFigure, Any]:
    """``matplotlib.pyplot.subplots``, with its arguments, in the style of the book.

    Raises
    ------
    MissingExtra
        matplotlib is not installed.
    """
    pyplot = lazy.require("matplotlib.pyplot", extra="jupyter")
    with pyplot.rc_context(_STYLE):
        return pyplot.subplots(*args, **kwargs)


def show(fig: MatplotlibFigure, *, alt: str, name: str, caption: str = "") -> Figure:
    """Turn a matplotlib figure into one that shows itself with its alt text, and close it.

    Parameters
    ----------
    fig : matplotlib.figure.Figure
        Made by `subplots`.
    alt : str
        What the figure shows, for those who cannot see it: at least a short sentence.
    name : str
        Short name, unique in its chapter; it enters the result file.
    caption : str
        Text under the figure; none by default.

    Returns
    -------
    Figure

    Raises
    ------
    InputError
        An alt text of fewer than ten characters.
    """
    if len(alt.strip()) < 10:
        raise InputError(f"alt is {alt!r}: say in a sentence what the figure shows")
    pyplot = lazy.require("matplotlib.pyplot", extra="jupyter")
    # ids in the SVG must not clash with those of other figures on the page, and must not change between runs
    salt = hashlib.sha256(name.encode()).hexdigest()[:8]
    stream = io.StringIO()
    _follow_page(fig)
    with pyplot.rc_context({**_STYLE, "svg.hashsalt": salt}):
        fig.savefig(stream, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    pyplot.close(fig)
    return Figure(name, alt, _inline(stream.getvalue(), salt), caption)


def _follow_page(fig: MatplotlibFigure) -> None:
    """Mend what was drawn outside the style: black text would vanish on a dark page, a white legend box glares."""
    text = lazy.require("matplotlib.text", extra="jupyter").Text
    legend = lazy.require("matplotlib.legend", extra="jupyter").Legend
    for label in fig.findobj(text):
        if label.get_color() == "black":
            label.set_color(_INK)
    for box in fig.findobj(legend):
        box.set_frame_on(False)


def _inline(svg: str, salt: str) -> str:
    """Strip what only a file needs, let text and axes take the page's colour, make every id the figure's own."""
    svg = svg[svg.index("<svg ") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.S)
    svg = re.sub(r"<!--.*?-->", "", svg, flags=re.S)
    # its style sheet would reach the whole page
    svg = re.sub(r"<defs>\s*<style.*?</style>\s*</defs>", "", svg, count=1, flags=re.S)
    svg = svg.replace("<svg ", '<svg style="stroke-linejoin: round; stroke-linecap: butt" ', 1)
    svg = re.sub(r'(<svg [^>]*?) width="[^"]*"', r"\1", svg, count=1)
    svg = re.sub(r'(<svg [^>]*?) height="[^"]*"', r"\1", svg, count=1)
    svg = re.sub(r'\bid="([^"]+)"', rf'id="{salt}-\1"', svg)
    svg = re.sub(r'(xlink:href="#|url\(#)', rf"\g<1>{salt}-", svg)
    return svg.replace(_INK, "currentColor").strip()
