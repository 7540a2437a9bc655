"""Panels that a reader moves without a kernel: every setting was computed beforehand, a slider picks one.

`build` turns a table of results into a figure with sliders and menus. On a page of the book it is drawn by
``explorer.js`` from the data that it carries; in print and without JavaScript it is the plain figure at the settings
that it starts with. `controls` is the other kind: in a live kernel it computes anew.
"""

from __future__ import annotations

import html
import itertools
import json
import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import arrays, lazy, results
from .errors import InputError
from .figures import SERIES

Row = Mapping[str, Any]
#: What a page may weigh by a panel: its data is part of the page.
MOST_BYTES = 200_000
VEGA_LITE = "6.4"
WIDTH, HEIGHT = 560, 300
_VEGA_LITE_TYPE = "application/vnd.vegalite.v5+json"  # the latest that JupyterLab knows
_SHAPES = {"o": "circle", "s": "square", "^": "triangle-up", "D": "diamond"}
_DASHES = {"-": [1, 0], "--": [6, 3], "-.": [7, 2, 2, 2], ":": [2, 2]}
_INK = "currentColor"  # the page's own, in light, in dark and in print
_CONFIG: dict[str, Any] = {
    "background": "transparent",
    "padding": 8,
    "view": {"stroke": None},
    "axis": {
        **{f"{part}Color": _INK for part in ("label", "title", "domain", "tick", "grid")},
        "gridOpacity": 0.15,
        "labelFontSize": 12,
        "titleFontSize": 13,
        "titleFontWeight": "normal",
        "titleLimit": 0,
    },
    "legend": {
        "labelColor": _INK,
        "labelFontSize": 13,
        "labelLimit": 0,
        "titleColor": _INK,
        "titleFontSize": 13,
        "titleFontWeight": "normal",
        "orient": "bottom",
        "columns": 2,
        "symbolSize": 80,
        "symbolStrokeWidth": 2,
    },
    "title": {"color": _INK, "anchor": "start", "fontSize": 13, "fontWeight": "normal"},
}


@dataclass(frozen=True)
class Explorer:
    """A finished panel: shows itself in a notebook, and `html` is what a page embeds.

    Attributes
    ----------
    name : str
        Short name, unique in its chapter.
    alt : str
        What it shows at the settings that it starts with.
    spec : mapping
        Vega-Lite, data included.
    svg : str or None
        The plain figure. None where vl-convert, which draws it, is not installed, as in a browser's Python.
    caption : str
        Text under the figure.
    """

    name: str
    alt: str
    spec: Mapping[str, Any] = field(repr=False)
    svg: str | None = field(repr=False)
    caption: str = ""

    @property
    def html(self) -> str:
        """The plain figure, with the data for ``explorer.js`` beside it."""
        caption = f"<figcaption>{html.escape(self.caption)}</figcaption>" if self.caption else ""
        return (
            f'<figure class="ys-explorer"><script type="application/json">{_json(self.spec)}</script>'
            f'<div class="ys-explorer-static">{self.svg or html.escape(self.alt)}</div>{caption}</figure>'
        )

    def _repr_mimebundle_(self, **_: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        # JupyterLab draws Vega-Lite itself, but would take the HTML, in which nothing moves there.
        if self.svg is None or _opened_as_notebook():
            vector = {"embed_options": {"renderer": "svg", "actions": False}}
            return {_VEGA_LITE_TYPE: {**self.spec, "width": WIDTH}, "text/plain": self.alt}, {_VEGA_LITE_TYPE: vector}
        return {"text/html": self.html, "text/plain": self.alt}, {}


def _opened_as_notebook() -> bool:
    """Whether the kernel is that of a notebook in JupyterLab: one that runs a page names no file."""
    return not results.in_batch() and Path(os.environ.get("JPY_SESSION_NAME", "")).is_file()


@dataclass(frozen=True)
class Axis:
    """A column of the table as an axis.

    Attributes
    ----------
    column : str
        Its name in the rows.
    label : str
        Words for the reader, with the unit.
    log : bool
        Logarithmic; every value must then be above 0.
    zero : bool
        Whether an axis y that is not logarithmic begins at 0.
    """

    column: str
    label: str
    log: bool = False
    zero: bool = True


@dataclass(frozen=True)
class _Control:
    """A slider or a menu: the filter goes by the index of an option, which no rounding can miss."""

    column: str
    label: str
    options: Sequence[Any]
    start: int
    is_slider: bool

    @property
    def parameter(self) -> str:
        return f"pick_{self.column}"

    @property
    def words(self) -> list[str]:
        return [f"{option:.4g}" if arrays.is_number(option) else str(option) for option in self.options]

    def binding(self, alt: Any) -> Any:
        if self.is_slider:
            return alt.binding_range(min=0, max=len(self.options) - 1, step=1, name=f"{self.label} ")
        return alt.binding_select(options=list(range(len(self.options))), labels=self.words, name=f"{self.label} ")


def build(
    rows: Sequence[Row],
    *,
    name: str,
    x: Axis,
    y: Axis,
    series: str,
    sliders: Mapping[str, str],
    menus: Mapping[str, str] | None = None,
    start: Mapping[str, Any] | None = None,
    interval: tuple[str, str] | None = None,
    caption: str = "",
) -> Explorer:
    """Make a panel from a table of results: `y` against `x`, a line for each of `series`, at one setting at a time.

    The y axis is the same at all settings, so that what moves is the result and not the frame.

    Parameters
    ----------
    rows : sequence of mapping
        The tidy table: a row for each point, with all the columns that the other arguments name. A result that is
        undefined is None and leaves a gap. Numbers are kept to 4 significant figures.
    name : str
        Short name, unique in its chapter.
    x, y : Axis
        Axes. Where x holds texts, its values stand in the order in which they occur, as points without lines.
    series : str
        The column that tells lines apart; it has at most four values, which are drawn in the colours, marks and dashes
        of `figures.SERIES`, in the order in which they occur.
    sliders : mapping of str to str
        Columns of numbers, and the label of the slider of each, with the unit. It runs through the values in order.
    menus : mapping of str to str, optional
        Columns of texts, and the label of the menu of each. Options stand in the order in which they occur.
    start : mapping, optional
        The value that a slider or menu starts with, by column; the first by default. The plain figure shows these.
    interval : (str, str), optional
        The columns of the lower and upper ends of the interval of y; None where there is none.
    caption : str
        Text under the panel.

    Returns
    -------
    Explorer

    Raises
    ------
    InputError
        No rows, a row without a column or with a number that cannot be drawn, more than four series, a start that is
        no option, settings without rows, each by name; data that would weigh more than 200 kB on the page.

    Examples
    --------
    >>> rows = [
    ...     {"speed": speed, "time": time, "method": method, "utility": 1 / (1 + speed * time * cost)}
    ...     for speed in (0.5, 1) for time in (1, 2, 4) for method, cost in (("fast", 1), ("slow", 3))
    ... ]
    >>> panel = build(
    ...     rows, name="demo", x=Axis("time", "time (ms)", log=True), y=Axis("utility", "utility (share)"),
    ...     series="method", sliders={"speed": "latency (of its own)"}, start={"speed": 1},
    ... )
    >>> panel.alt
    'Utility (share) against time (ms). At latency (of its own) 1: fast 0.5 at 1 to 0.2 at 4; slow 0.25 at 1 to
    0.07692 at 4.'
    """
    menus, start = dict(menus or {}), dict(start or {})
    columns = [x.column, y.column, series, *sliders, *menus, *(interval or ())]
    _check_rows(rows, columns)
    _check_start(start, [*sliders, *menus])
    _check_numbers(rows, x, y, sliders, interval)
    names = _distinct(rows, series)
    if len(names) > len(SERIES):
        raise InputError(f"rows has {len(names)} values of {series!r}: at most {len(SERIES)} can be told apart")
    controls = [
        _control(rows, column, label, start, is_slider=column in sliders)
        for column, label in {**sliders, **menus}.items()
    ]
    _check_holes(rows, controls)
    shown = [row for row in rows if all(row[c.column] == c.options[c.start] for c in controls)]
    alt = _in_words(shown, x, y, series, names, controls)
    spec = _specification(_data(rows, x, y, series, controls, interval), x, y, series, names, controls, alt)
    panel = Explorer(name, alt, spec, _draw(spec, alt), caption)
    if len(panel.html) > MOST_BYTES:
        raise InputError(
            f"rows makes {name!r} weigh {len(panel.html) // 1000} kB on the page: give fewer, 200 kB is the most"
        )
    return panel


def _check_rows(rows: Sequence[Row], columns: Sequence[str]) -> None:
    if not rows:
        raise InputError("rows is empty: give a row for each point")
    for number, row in enumerate(rows):
        missing = [column for column in columns if column not in row]
        if missing:
            raise InputError(f"rows[{number}] has no column {missing[0]!r}, it has {', '.join(map(repr, row))}")


def _check_start(start: Mapping[str, Any], controls: Sequence[str]) -> None:
    unknown = [column for column in start if column not in controls]
    if unknown:
        raise InputError(f"start has {unknown[0]!r}, which is neither among sliders nor menus")


def _check_numbers(
    rows: Sequence[Row], x: Axis, y: Axis, sliders: Mapping[str, str], interval: tuple[str, str] | None
) -> None:
    """Refuse what cannot be drawn; only a result may be undefined."""
    logarithmic = {axis.column for axis in (x, y) if axis.log} | (set(interval or ()) if y.log else set())
    optional = {y.column, *(interval or ())}
    numeric = [*optional, *sliders] + ([] if _has_texts(rows, x.column) else [x.column])
    for number, row in enumerate(rows):
        for column in numeric:
            value = row[column]
            if value is None and column in optional:
                continue
            if not arrays.is_number(value):
                hint = ", or None where it is undefined" if column in optional else ""
                raise InputError(f"rows[{number}][{column!r}] is {value!r}: give a finite number{hint}")
            if column in logarithmic and value <= 0:
                raise InputError(f"rows[{number}][{column!r}] is {value!r}: a logarithmic axis begins above 0")


def _has_texts(rows: Sequence[Row], column: str) -> bool:
    return all(isinstance(row[column], str) for row in rows)


def _distinct(rows: Sequence[Row], column: str) -> list[Any]:
    return list(dict.fromkeys(row[column] for row in rows))


def _control(rows: Sequence[Row], column: str, label: str, start: Mapping[str, Any], *, is_slider: bool) -> _Control:
    if not column.isidentifier():
        raise InputError(f"the column {column!r} cannot be a control: name it with letters, digits and _")
    options = _distinct(rows, column)
    if is_slider:
        options.sort()
    first = start.get(column, options[0])
    if first not in options:
        raise InputError(f"start has {first!r} for {column!r}, which has {', '.join(map(repr, options))}")
    return _Control(column, label, options, options.index(first), is_slider)


def _check_holes(rows: Sequence[Row], controls: Sequence[_Control]) -> None:
    """A setting that can be chosen must have something to show."""
    there = {tuple(row[c.column] for c in controls) for row in rows}
    for setting in itertools.product(*(c.options for c in controls)):
        if setting not in there:
            where = ", ".join(f"{c.column} {value!r}" for c, value in zip(controls, setting, strict=True))
            raise InputError(f"rows has none at {where}: every setting that can be chosen needs some")


def _in_words(
    shown: Sequence[Row], x: Axis, y: Axis, series: str, names: Sequence[Any], controls: Sequence[_Control]
) -> str:
    """What the panel shows at the start: settings, and each line from end to end."""
    said = []
    for name in names:
        mine = [row for row in shown if row[series] == name and row[y.column] is not None]
        if not _has_texts(shown, x.column):
            mine = sorted(mine, key=lambda row: row[x.column])
            mine = mine[:: max(1, len(mine) - 1)]
        points = [f"{row[y.column]:.4g} at {_plain(row[x.column])}" for row in mine]
        if points:
            said.append(f"{name} {(', ' if _has_texts(shown, x.column) else ' to ').join(points)}")
    settings = ", ".join(f"{c.label} {c.words[c.start]}" for c in controls)
    return f"{y.label[0].upper()}{y.label[1:]} against {x.label}. At {settings}: {'; '.join(said) or 'undefined'}."


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:.4g}"


def _data(
    rows: Sequence[Row],
    x: Axis,
    y: Axis,
    series: str,
    controls: Sequence[_Control],
    interval: tuple[str, str] | None,
) -> list[dict[str, Any]]:
    """The rows under short names, options as their index."""
    index = {c.column: {option: i for i, option in enumerate(c.options)} for c in controls}
    ends = zip(("low", "high"), interval or (), strict=False)
    plain = {"x": x.column, "y": y.column, "s": series, **dict(ends)}
    return [
        {short: _rounded(row[column]) for short, column in plain.items()}
        | {column: places[row[column]] for column, places in index.items()}
        for row in rows
    ]


def _rounded(value: Any) -> Any:
    return float(f"{value:.4g}") if arrays.is_number(value) else value


def _specification(
    data: list[dict[str, Any]],
    x: Axis,
    y: Axis,
    series: str,
    names: Sequence[Any],
    controls: Sequence[_Control],
    description: str,
) -> dict[str, Any]:
    """Vega-Lite: the layers, filtered by the controls."""
    alt = lazy.require("altair", extra="book")
    layers = _layers(alt, data, x, y, series, names)
    whole = alt.layer(*layers, data=alt.Data(values=data)).resolve_legend(fill="independent", stroke="independent")
    for control in controls:
        value = alt.param(name=control.parameter, value=control.start, bind=control.binding(alt))
        whole = whole.add_params(value).transform_filter(f"datum.{control.column} == {control.parameter}")
    spec: dict[str, Any] = whole.properties(
        width="container",
        height=HEIGHT,
        autosize={"type": "fit-x", "contains": "padding"},
        title=alt.TitleParams(text=alt.expr(_title(controls))),
        description=description,
        usermeta={"words": {control.parameter: control.words for control in controls if control.is_slider}},
    ).to_dict()
    del spec["$schema"]  # an address; nothing needs it
    return {**spec, "config": _CONFIG}


def _layers(alt: Any, data: Sequence[Row], x: Axis, y: Axis, series: str, names: Sequence[Any]) -> list[Any]:
    """Intervals below, lines, and points on top. With texts on the x axis there are no lines."""
    texts = _has_texts(data, "x")
    colours, marks, dashes = zip(*SERIES[: len(names)], strict=True)

    def told_apart(channel: Any, signs: Sequence[Any]) -> Any:
        return channel("s:N").scale(domain=list(names), range=list(signs)).title(series)

    across, scale = _across(alt, data, x, texts), _up(alt, data, y)
    up = _log_labels(scale.domain) if y.log else {}
    chart = alt.Chart().encode(x=across, y=alt.Y("y:Q").scale(scale).axis(**up).title(y.label))
    chart = chart.encode(told_apart(alt.Color, colours))
    tips = [
        alt.Tooltip("s:N", title=series),
        alt.Tooltip(f"x:{'N' if texts else 'Q'}", title=x.label),
        alt.Tooltip("y:Q", title=y.label),
    ]
    shape = told_apart(alt.Shape, [_SHAPES[mark] for mark in marks])
    layers = [chart.mark_point(filled=True, size=45, opacity=1).encode(shape, tooltip=tips)]
    if not texts:
        dash = told_apart(alt.StrokeDash, [_DASHES[line] for line in dashes])
        layers.insert(0, chart.mark_line(strokeWidth=2).encode(dash))
    if "low" in data[0]:
        # paint of its own: in the colour of the lines, the legend would be as pale as the band
        band = alt.Chart().mark_rule(strokeWidth=2) if texts else alt.Chart().mark_area(fillOpacity=0.2)
        paint = told_apart(alt.Stroke if texts else alt.Fill, colours).legend(None)
        band = band.encode(paint, x=across, y=alt.Y("low:Q").scale(scale).axis(**up).title(y.label), y2="high:Q")
        layers.insert(0, band)
    return layers


def _across(alt: Any, data: Sequence[Row], x: Axis, texts: bool) -> Any:
    if texts:
        return alt.X("x:N").sort(None).axis(labelAngle=0).title(x.label)
    if not x.log:
        return alt.X("x:Q").scale(zero=False, nice=False).title(x.label)
    labels = _log_labels([row["x"] for row in data])
    return alt.X("x:Q").scale(type="log", nice=False).axis(**labels).title(x.label)


def _up(alt: Any, data: Sequence[Row], y: Axis) -> Any:
    """The same at every setting."""
    values = [row[key] for row in data for key in ("y", "low", "high") if row.get(key) is not None]
    low, high = (min(values), max(values)) if values else (1.0, 1.0)
    if y.zero and not y.log:
        low, high = min(low, 0.0), max(high, 0.0)
    if low == high:  # a line needs some room
        low, high = (low / 2, high * 2) if y.log else (low - 0.5, high + 0.5)
    return alt.Scale(type="log" if y.log else "linear", domain=[low, high], nice=not y.log)


def _log_labels(values: Sequence[float]) -> dict[str, Any]:
    """Labels at 1, 2, 5, 10 and so on within the range of the values; Vega leaves out those that would touch."""
    decades = range(math.floor(math.log10(min(values))), math.ceil(math.log10(max(values))) + 1)
    numbers = [float(f"{first}e{power}") for power in decades for first in (1, 2, 5)]
    inside = [number for number in numbers if min(values) <= number <= max(values)]
    return {"values": inside, "format": "~g", "labelOverlap": "greedy", "labelSeparation": 8}


def _title(controls: Sequence[_Control]) -> str:
    """The settings, a line each: a Vega expression."""
    lines = [f"{json.dumps(f'{c.label}: ')} + {json.dumps(c.words)}[{c.parameter}]" for c in controls]
    return f"[{', '.join(lines)}]"


def _draw(spec: Mapping[str, Any], alt: str) -> str | None:
    """The plain figure as inline SVG with the alt text; None without vl-convert."""
    try:
        converter = lazy.require("vl_convert", extra="book")
    except ImportError:
        return None
    svg: str = converter.vegalite_to_svg(json.dumps({**spec, "width": WIDTH}), vl_version=VEGA_LITE)
    head = re.match(r"<svg [^>]*>", svg)
    assert head is not None
    [box] = re.findall(r'viewBox="[^"]*"', head[0])
    label = html.escape(alt, quote=True)
    return f'<svg {box} role="img" aria-label="{label}">' + svg[head.end() :]


def _json(spec: Mapping[str, Any]) -> str:
    """JSON that cannot end the script element that it stands in."""
    return json.dumps(spec, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


@dataclass(frozen=True)
class Note:
    """A line of text in place of something that only a live kernel has."""

    text: str

    def _repr_html_(self) -> str:
        return f'<p class="ys-note">{html.escape(self.text)}</p>'


def controls(draw: Callable[..., Any], **choices: tuple[str, Sequence[Any]]) -> Any:
    """Widgets that call `draw` anew at each change, and show what it returns. Needs a live kernel.

    Parameters
    ----------
    draw : callable
        Takes the chosen values by keyword and returns a figure or a table.
    **choices : (str, sequence)
        For each keyword the label, with the unit, and the values to choose from: numbers become a slider, texts a
        menu. The first is the start.

    Returns
    -------
    ipywidgets.Widget or Note
        A page keeps no widgets: in a batch run it is a line that says so.

    Raises
    ------
    InputError
        A keyword without values to choose from.

    Examples
    --------
    >>> controls(lambda beta: beta, beta=("beta (1 / logit)", []))
    Traceback (most recent call last):
    ...
    helpers.errors.InputError: choices has nothing to choose from for 'beta': give at least one value
    """
    for name, (_, values) in choices.items():
        if not len(values):
            raise InputError(f"choices has nothing to choose from for {name!r}: give at least one value")
    if results.in_batch():
        return Note("Controls appear here when this page runs live.")
    widgets = lazy.require("ipywidgets", extra="jupyter")
    display = lazy.require("IPython.display", extra="jupyter").display
    chosen = {name: _widget(widgets, *choice) for name, choice in choices.items()}
    return widgets.VBox(
        [*chosen.values(), widgets.interactive_output(lambda **values: display(draw(**values)), chosen)]
    )


def _widget(widgets: Any, label: str, values: Sequence[Any]) -> Any:
    style = {"description_width": "initial"}
    wide = {"width": "100%", "max_width": "34rem"}
    if not all(arrays.is_number(value) for value in values):
        return widgets.Dropdown(options=list(values), description=label, style=style, layout=wide)
    options = [(f"{value:.4g}", value) for value in values]
    # redrawn once the slider is let go: a figure takes a moment
    return widgets.SelectionSlider(
        options=options, description=label, style=style, layout=wide, continuous_update=False
    )
