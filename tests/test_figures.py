"""Figures: alt text always, legible on both grounds, safe to put side by side on one page."""

import os
import re
import subprocess
import sys
from collections import Counter
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib import pyplot

from helpers import figures
from helpers.errors import InputError

from .selfcontained import addresses_outside

ALT = "A line that rises from zero to one."
SVG, XLINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}"


def busy():
    """A figure with everything that puts ids into an SVG: lines, markers, clipping, hatches, a picture, text."""
    fig, (left, right) = figures.subplots(1, 2)
    left.plot([0, 1, 2], [0, 1, 4], marker="o", label="a line")
    left.bar([0, 1], [1, 2], hatch="//")
    left.fill_between([0, 1], [0, 0], [1, 1], alpha=0.2)
    left.set(xlabel="x", ylabel="y", title="Title")
    left.text(0.5, 0.5, "a note")
    left.legend()
    right.imshow(np.eye(4))
    return fig


def ids_and_references(svg):
    ids = re.findall(r'\bid="([^"]+)"', svg)
    return ids, set(re.findall(r'href="#([^"]+)"', svg) + re.findall(r"url\(#([^)]+)\)", svg))


def test_ids_are_unique_on_a_page_and_every_reference_stays_in_its_figure():
    """The same drawing twice under two names: the worst case, since matplotlib names both alike."""
    drawn = [figures.show(busy(), alt=ALT, name=name) for name in ("first", "second")]
    page = "".join(figure.html for figure in drawn)
    assert max(Counter(ids_and_references(page)[0]).values()) == 1
    for figure in drawn:
        ids, references = ids_and_references(figure.svg)
        assert references
        assert references <= set(ids)


SCRIPT = """
from matplotlib import pyplot
from helpers import figures
{before}
fig, axes = figures.subplots()
axes.plot([0, 1], [0, 1], marker="o", label="a")
axes.bar([0, 1], [1, 2], hatch="/")
axes.legend()
print(figures.show(fig, alt={alt!r}, name="same").html)
"""


def test_the_svg_is_the_same_in_every_run():
    """In two processes with other hash seeds, one of which has drawn before."""
    pages = []
    for seed, before in (("1", ""), ("2", "pyplot.close(figures.subplots()[0])")):
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT.format(before=before, alt=ALT)],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        )
        pages.append(done.stdout)
    assert "<svg" in pages[0]
    assert pages[0] == pages[1]


def test_the_alt_text_and_the_caption_are_escaped():
    alt, caption = 'Agreement "falls" & a < b, <script>', "<b>bold</b> & more"
    markup = figures.show(busy(), alt=alt, name="x", caption=caption).html
    figure = ElementTree.fromstring(markup)
    svg = figure.find(f"{SVG}svg")
    assert (figure.tag, figure.get("class")) == ("figure", "ys-figure")
    assert (svg.get("role"), svg.get("aria-label")) == ("img", alt)
    assert figure.find("figcaption").text == caption
    assert "<script" not in markup


def test_without_a_caption_there_is_none():
    assert "figcaption" not in figures.show(busy(), alt=ALT, name="x").html


def test_it_shows_itself_and_keeps_the_markup_out_of_its_repr():
    figure = figures.show(busy(), alt=ALT, name="x")
    assert figure._repr_html_() == figure.html
    assert repr(figure) == f"Figure(name='x', alt={ALT!r}, caption='')"


def test_nothing_is_loaded_from_elsewhere_and_nothing_reaches_the_page():
    markup = figures.show(busy(), alt=ALT, name="x").html
    assert addresses_outside(markup) == []
    for word in ("<style", "<script", "<metadata", "<?xml", "<!DOCTYPE", "<!--"):
        assert word not in markup


def test_it_scales_with_the_page():
    svg = ElementTree.fromstring(figures.show(busy(), alt=ALT, name="x").svg)
    assert svg.get("viewBox")
    assert (svg.get("width"), svg.get("height")) == (None, None)


def texts(svg):
    return [group for group in svg.iter(f"{SVG}g") if "-text_" in group.get("id", "")]


def filled(group):
    return {re.search(r"fill: ([^;]+)", style).group(1) for e in group.iter() if (style := e.get("style"))}


@pytest.mark.parametrize("styled", [True, False])
def test_text_takes_the_colour_of_the_page(styled):
    """Also where the figure was made by pyplot itself, whose text is black and whose legend has a white box."""
    if styled:
        fig = busy()
    else:
        fig, axes = pyplot.subplots()
        axes.plot([0, 1], [0, 1], label="a")
        axes.set(xlabel="x", title="Title")
        axes.legend()
    svg = ElementTree.fromstring(figures.show(fig, alt=ALT, name="x").svg)
    assert len(texts(svg)) > 8
    for group in texts(svg):
        assert filled(group) == {"currentColor"}, group.get("id")
    legend = next(group for group in svg.iter(f"{SVG}g") if "-legend_" in group.get("id", ""))
    assert not any("-patch_" in group.get("id", "") for group in legend.iter(f"{SVG}g"))


def test_axes_and_ground_take_the_colours_of_the_page():
    """No colour but those of the series is left: no black, no white, no stand-in."""
    fig, axes = figures.subplots()
    for colour, marker, line in figures.SERIES:
        axes.plot([0, 1], [0, 1], color=colour, marker=marker, linestyle=line)
    svg = figures.show(fig, alt=ALT, name="x").svg
    colours = set(re.findall(r"(?:fill|stroke): ([^;\"]+)", svg))
    assert colours == {"none", "currentColor", *(colour for colour, _, _ in figures.SERIES)}


def test_text_that_was_coloured_on_purpose_keeps_its_colour():
    fig, axes = figures.subplots()
    axes.text(0.5, 0.5, "note", color=figures.BLUE)
    svg = figures.show(fig, alt=ALT, name="x").svg
    assert any(filled(group) == {figures.BLUE} for group in texts(ElementTree.fromstring(svg)))


def luminance(colour):
    """Relative luminance, WCAG 2.2."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(first, second):
    """Contrast ratio, WCAG 2.2: 1 to 21."""
    dark, light = sorted([luminance(first), luminance(second)])
    return (light + 0.05) / (dark + 0.05)


def test_the_contrast_formula():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.005)  # the lightest grey that passes AA


@pytest.mark.parametrize("ground", ["#ffffff", "#14181e"])
@pytest.mark.parametrize("colour", [colour for colour, _, _ in figures.SERIES])
def test_series_stand_out_on_both_grounds(colour, ground):
    assert contrast(colour, ground) >= 3


def test_colour_is_never_the_only_sign():
    for signs in zip(*figures.SERIES, strict=True):
        assert len(set(signs)) == len(figures.SERIES)


def test_show_closes_the_figure():
    before = pyplot.get_fignums()
    fig = busy()
    assert pyplot.get_fignums() != before
    figures.show(fig, alt=ALT, name="x")
    assert pyplot.get_fignums() == before


def test_subplots_leave_the_readers_own_style_alone():
    with pyplot.rc_context():
        pyplot.rcdefaults()  # whatever other tests have left behind
        before = dict(pyplot.rcParams)
        fig, axes = figures.subplots(2, 3, sharex=True)
        figures.show(fig, alt=ALT, name="x")
        assert axes.shape == (2, 3)
        assert dict(pyplot.rcParams) == before


@pytest.mark.parametrize("alt", ["", "   ", "a plot", "  a plot     "])
def test_an_alt_text_is_a_sentence(alt):
    fig = busy()
    with pytest.raises(InputError) as refusal:
        figures.show(fig, alt=alt, name="x")
    pyplot.close(fig)
    assert f"alt is {alt!r}: say in a sentence" in str(refusal.value)


def test_a_table_shows_numbers_text_and_gaps():
    table = figures.Table(["model", "value"], [["a < b", 0.12345], ["c", None], ["d", 3]], "Some & all", digits=2)
    assert "<caption>Some &amp; all</caption>" in table.html
    assert "<th scope='row'>a &lt; b</th><td>0.12</td>" in table.html
    assert "<th scope='row'>c</th><td>\u2014</td>" in table.html
    assert "<td>3</td>" in table._repr_html_()


def test_a_page_escapes_what_it_is_given_and_loads_nothing():
    page = figures.page("a < b", [("name", "<script>")], [], words="1 & 2", warnings=["<b>"])
    assert "a &lt; b" in page and "&lt;script&gt;" in page and "1 &amp; 2" in page
    assert "<strong>Warning:</strong> &lt;b&gt;" in page
    assert "<script>" not in page and "http" not in page
