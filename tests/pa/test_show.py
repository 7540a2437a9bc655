"""Figures and report: they show the numbers of the score, and say them in words."""

import math
import re

import numpy as np
import pytest
from matplotlib.colors import to_hex

from helpers import figures, pa
from helpers.errors import InputError
from helpers.pa import show
from helpers.uncertainty import Rate

from ..selfcontained import addresses_outside
from . import oracle


@pytest.fixture
def drawn(monkeypatch):
    """The matplotlib figures behind what is shown, in order."""
    seen, original = [], figures.show

    def spy(fig, **words):
        seen.append(fig)
        return original(fig, **words)

    monkeypatch.setattr(figures, "show", spy)
    return seen


CASES = {
    "interior": (np.tile([2.0, 0.0], (4, 1)), np.array([[2.0, 0.0]] * 3 + [[0.0, 2.0]])),
    "infinite": (np.tile([2.0, 0.5], (4, 1)), np.tile([1.0, 0.0], (4, 1))),
    "zero": (np.tile([2.0, 0.0], (4, 1)), np.tile([0.0, 2.0], (4, 1))),
    "flat": (np.zeros((4, 3)), np.zeros((4, 3))),
}
WORDS = {
    "interior": "reached at beta",
    "infinite": "no label flips",
    "zero": "no belief sharper than a uniform one",
    "flat": "whatever beta",
}


def test_the_curve_is_the_kernel_and_its_maximum_is_the_score(drawn, bimodal):
    """Two local maxima: one is marked as the maximum, the other as another."""
    result = pa.agreement(*bimodal)
    figure = show.kernel_curve(*bimodal, result)
    curve, others, top = drawn[0].axes[0].lines
    for beta, value in zip(*curve.get_data(), strict=True):
        assert value == pytest.approx(oracle.kernel(*bimodal, beta) + math.log(3), abs=1e-9)
    assert curve.get_xdata()[0] < result.beta < curve.get_xdata()[-1]
    assert list(zip(*top.get_data(), strict=True)) == [(result.beta, result.value)]
    expected = [maximum for maximum in result.local_maxima if maximum[0] != result.beta]
    assert list(zip(*others.get_data(), strict=True)) == expected
    assert len(expected) == 1
    assert f"{result.value:.3f} nat" in figure.alt
    assert f"beta {result.beta:.3g}" in figure.alt
    assert "Local maxima found: 2." in figure.alt


@pytest.mark.parametrize("status", CASES)
def test_the_curve_of_every_status_says_what_it_means(drawn, status):
    result = pa.agreement(*CASES[status])
    assert result.status == status
    figure = show.kernel_curve(*CASES[status], result)
    assert WORDS[status] in figure.alt
    axes = drawn[0].axes[0]
    assert axes.get_xscale() == "log"
    assert "beta" in axes.get_xlabel()
    assert "nat" in axes.get_ylabel()
    low, high = axes.get_ylim()
    assert low <= result.value <= high


def test_probabilities_are_drawn_as_probabilities(drawn, noisy):
    probabilities = [np.exp(array) / np.exp(array).sum(axis=1, keepdims=True) for array in noisy]
    show.kernel_curve(*noisy, pa.agreement(*noisy))
    show.kernel_curve(*probabilities, pa.agreement(*probabilities, inputs="probs"), inputs="probs")
    first, second = (fig.axes[0].lines[0].get_ydata() for fig in drawn)
    assert np.allclose(first, second, atol=1e-6)


@pytest.fixture
def by_shift(noisy):
    """Agreement and accuracy under two shifts, listed in no order."""
    clean, shifted = noisy
    results = {
        f"{name} {strength:g}": pa.agreement(clean, clean + strength * (shifted - clean), confidence=level)
        for name, strength, level in (
            ("blur", 1.5, None),
            ("noise", 1.0, 0.9),
            ("noise", 0.5, 0.9),
            ("noise", 2.0, 0.9),
        )
    }
    return results, {name: Rate.of(300 - 10 * i, 400) for i, name in enumerate(results)}


def test_a_panel_for_each_shift_by_ascending_strength(drawn, by_shift):
    results, accuracy = by_shift
    figure = show.by_strength(results, accuracy)
    panels = {axes.get_xlabel().split()[0]: axes for axes in drawn[0].axes}
    assert list(panels) == ["blur", "noise"]
    agreement, right = panels["noise"].lines
    assert list(agreement.get_xdata()) == list(right.get_xdata()) == [0.5, 1.0, 2.0]
    assert list(agreement.get_ydata()) == [results[f"noise {s}"].relative for s in ("0.5", "1", "2")]
    assert list(right.get_ydata()) == [accuracy[f"noise {s}"].rate for s in ("0.5", "1", "2")]
    first, last = results["noise 0.5"].relative, results["noise 2"].relative
    assert f"under noise agreement goes from {first:.2f} to {last:.2f}" in figure.alt
    assert "under blur" in figure.alt


def test_bands_are_the_intervals_where_there_are_any(drawn, by_shift):
    results, accuracy = by_shift
    show.by_strength(results, accuracy)
    blur, noise = drawn[0].axes
    assert [to_hex(band.get_facecolor()) for band in blur.collections] == [figures.VERMILION]
    assert [to_hex(band.get_facecolor()) for band in noise.collections] == [figures.BLUE, figures.VERMILION]
    outline = noise.collections[0].get_paths()[0].vertices
    low, high = results["noise 1"].interval
    at_one = outline[outline[:, 0] == 1.0][:, 1]
    assert {at_one.min(), at_one.max()} == {low / math.log(6), high / math.log(6)}


@pytest.mark.parametrize("name", ["noise", "noise strong", ""])
def test_a_shift_without_a_strength_is_refused(by_shift, name):
    result = by_shift[0]["noise 1"]
    with pytest.raises(InputError) as refusal:
        show.by_strength({name: result}, {name: Rate.of(1, 2)})
    assert f"results has {name!r}: name each shift with its strength, like 'noise 0.2'" in str(refusal.value)


@pytest.mark.parametrize(("count", "shown"), [(3, 3), (6, 6), (500, 400)])
def test_the_worst_rows_are_shown_clean_above_and_shifted_below(drawn, monkeypatch, noisy, count, shown):
    clean, shifted = noisy
    if shown > 6:  # drawing hundreds of panels takes long; the count is what matters
        clean, shifted, shown = clean[:8], shifted[:8], 8
    record = pa.Logits(clean, {"noise 1": shifted})
    result = pa.agreement(clean, shifted)
    pictures = np.arange(float(len(clean)))[:, None, None, None] * np.ones((1, 1, 2, 2)) / 400
    figure = show.worst_rows(result, record, "noise 1", pictures, 1 - pictures, count=count)
    above, below = np.reshape(drawn[0].axes, (2, shown))
    rows = np.argsort(result.per_row, kind="stable")[:shown]
    for column, row in enumerate(rows):
        assert above[column].images[0].get_array()[0, 0] == pictures[row, 0, 0, 0]
        assert below[column].images[0].get_array()[0, 0] == 1 - pictures[row, 0, 0, 0]
        assert above[column].get_title() == f"says {clean[row].argmax()}"
        assert below[column].get_title() == f"says {shifted[row].argmax()}"
    assert f"{clean[rows[0]].argmax()} becomes {shifted[rows[0]].argmax()}" in figure.alt
    assert f"{shown} pictures" in figure.alt
    assert "noise 1" in figure.alt


def test_contributions_are_sorted_and_average_to_the_score(drawn, noisy):
    result = pa.agreement(*noisy)
    figure = show.contributions(result)
    curve, mean = drawn[0].axes[0].lines
    values = curve.get_ydata()
    assert np.all(np.diff(values) >= 0)
    assert np.mean(values) == pytest.approx(result.value, abs=1e-9)
    assert list(curve.get_xdata()[[0, -1]]) == [0, 100]
    assert set(mean.get_ydata()) == {result.value}
    assert f"from {result.per_row.min():.2f} to {result.per_row.max():.2f} nat" in figure.alt
    assert "400 rows" in figure.alt


def test_one_class_can_be_drawn(drawn):
    logits = np.zeros((3, 1))
    show.kernel_curve(logits, logits, pa.agreement(logits, logits))
    low, high = drawn[0].axes[0].get_ylim()
    assert low <= 0 < high


def test_one_row_can_be_drawn():
    result = pa.agreement([[2.0, 0.0]], [[1.0, 0.0]])
    assert "1 rows" in show.contributions(result).alt


def test_figures_have_names_of_their_own(by_shift, noisy):
    results, accuracy = by_shift
    result = results["noise 1"]
    record = pa.Logits(noisy[0], {"noise 1": noisy[1]})
    pictures = np.zeros((400, 1, 2, 2))
    shown = [
        show.kernel_curve(*noisy, result),
        show.by_strength(results, accuracy),
        show.worst_rows(result, record, "noise 1", pictures, pictures, count=2),
        show.contributions(result),
    ]
    assert len({figure.name for figure in shown}) == len(shown)


def lines(page):
    """Label and text of each row of the report's table."""
    return dict(re.findall(r"<th scope='row'>(.*?)</th><td>(.*?)</td>", page))


def test_the_report_holds_the_numbers(noisy):
    result = pa.agreement(*noisy, confidence=0.9)
    rates = {"Accuracy, clean": Rate.of(300, 400), "Nothing": Rate.of(0, 0)}
    figure = show.contributions(result)
    page = show.report(result, [figure], title="Posterior agreement", rates=rates)
    table = lines(page)
    low, high = result.interval
    assert table["Posterior agreement"] == (
        f"{result.value:.6f} nat of {math.log(6):.6f} (interval {low:.6f} to {high:.6f})"
    )
    assert table["Relative agreement"] == f"{result.relative:.6g}"
    assert table["Status"] == "interior (proven global)"
    assert table["beta"] == f"{result.beta:.6g} per logit"
    assert table["Flip rate"].startswith(f"{result.flips.rate:.4f} ({result.flips.count} of 400; ")
    assert table["From the flip rate alone"] == f"{result.flip_rate_only:.6f} nat"
    assert table["Rows, classes"] == "400, 6"
    assert table["Accuracy, clean"] == "0.7500 (300 of 400; interval 0.7046 to 0.7917)"
    assert table["Nothing"] == "undefined: no rows to count"
    assert figure.html in page
    assert f"reached at beta {result.beta:.3g}" in page


@pytest.mark.parametrize("status", CASES)
def test_the_report_of_every_status_says_what_it_means(status):
    result = pa.agreement(*CASES[status], confidence=0.9)
    page = show.report(result, [], title="t", rates={})
    assert WORDS[status] in page
    assert lines(page)["Status"].startswith(status)


def test_the_report_of_one_class_says_why_there_is_no_relative_agreement():
    page = show.report(pa.agreement([[1.0]], [[2.0]]), [], title="t", rates={})
    assert lines(page)["Relative agreement"].startswith("undefined: one class")


def test_an_unproven_maximum_says_how_much_more_is_possible(noisy):
    from dataclasses import replace

    result = replace(pa.agreement(*noisy), bound=1.75)
    page = show.report(result, [], title="t", rates={})
    assert lines(page)["Status"] == "interior (not proven: up to 1.7500 nat is possible)"


def test_the_report_is_self_contained_and_escaped(noisy):
    result = pa.agreement(*noisy)
    drawn = [show.kernel_curve(*noisy, result), show.contributions(result)]
    page = show.report(result, drawn, title="<a> & b", rates={"<script>x": Rate.of(1, 2)})
    assert addresses_outside(page) == []
    assert page.count("&lt;a&gt; &amp; b") == 2
    assert "<script" not in page
    assert page.startswith("<!doctype html><html lang='en'>")
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
