"""Figures, the table and the report: what they say in words, and what they refuse."""

import pytest

from helpers import cl
from helpers.errors import InputError

from ..selfcontained import addresses_outside

SEED = cl.AccuracyMatrix([[90, 12, 9], [92, 88, 14], [75, 63, 93]], baseline=10, reference=[92, 90, 95])
HOLES = cl.AccuracyMatrix([[80, None], [74, 85]], tasks=["birds", "aeroplanes"], name="<b>ER</b>")


def test_matrix_picture():
    figure = cl.show.matrix_picture(SEED)
    assert figure.alt == (
        "accuracy of 3 tasks (columns) after training each of them (rows). No cell is missing. "
        "The last row reads 75, 63, 93."
    )
    assert "1 of 4 cells are missing" in cl.show.matrix_picture(HOLES).alt
    ends = cl.show.matrix_picture(cl.AccuracyMatrix([[80, None], [None, 85]])).alt
    assert ends.endswith("The last row reads missing, 85.")


def test_large_free_and_empty_matrices_are_drawn():
    large = cl.AccuracyMatrix([[50.0] * 30] * 30, scale="free", direction="lower", metric="loss")
    assert "loss of 30 tasks" in cl.show.matrix_picture(large).alt
    assert "4 of 4 cells are missing" in cl.show.matrix_picture(cl.AccuracyMatrix([[None] * 2] * 2, scale="free")).alt


def test_over_time():
    assert cl.show.over_time(SEED).alt == (
        "accuracy over 3 tasks. The mean over tasks seen goes from 90 after the first to 77 after the last."
    )
    gap = cl.AccuracyMatrix([[80, 1], [None, 85]])
    assert cl.show.over_time(gap).alt.endswith("from 80 after the first to undefined after the last.")
    with pytest.raises(InputError, match="matrix has 1 task"):
        cl.show.over_time(cl.AccuracyMatrix([[80]]))


def test_definitions():
    figure = cl.show.definitions(SEED, "backward transfer")
    assert figure.alt == (
        "One matrix under the formulas called backward transfer: bwt.gem -20.00; bwt.gem_script -13.33; "
        "bwt.dr -12.67; bwt.clear 76.67."
    )
    assert figure.name == "backward-transfer"
    assert "fwt.gem 3.00" in cl.show.definitions(SEED, "forward transfer").alt
    chance = cl.AccuracyMatrix(SEED.values, baseline={"chance": 5})
    assert "fwt.gem 8.00" in cl.show.definitions(chance, "forward transfer", baseline="chance", name="x").alt
    with pytest.raises(InputError, match="family is 'bwt': choose one of backward transfer"):
        cl.show.definitions(SEED, "bwt")
    with pytest.raises(InputError, match=r"none of fwt.gem, .* is defined"):
        cl.show.definitions(HOLES, "forward transfer")


def test_metrics_table():
    rows = {row[0]: row for row in cl.show.metrics_table(SEED).rows}
    assert rows["bwt.gem"][1] == -20.0
    assert rows["aia.icarl"][1].startswith("undefined: the matrix has no n")
    assert rows["bwt.clear"][2:] == [cl.METRICS["bwt.clear"].formula, cl.METRICS["bwt.clear"].source]
    assert len(cl.show.metrics_table(SEED, ids=["acc.final"]).rows) == 1
    assert "&lt;b&gt;ER" in cl.show.metrics_table(HOLES).html


def test_report():
    page = cl.show.report(SEED, title="<i>mine</i>", reconciled=cl.reconcile(SEED, -20))
    assert not addresses_outside(page)
    assert "&lt;i&gt;mine&lt;/i&gt;" in page
    assert "bwt.gem as computed; forgetting.avalanche with the sign reversed" in page
    assert "-12.6667 percentage points" in page
    assert "the mean over them at the end is 77 percent" in page
    assert "21 below their best moment" in page
    assert "changed by -20" in page
    assert page.count("<figure") == 6


def test_report_of_little():
    """One task, or a number that nothing yields: still a page."""
    single = cl.AccuracyMatrix([[0.5]])
    page = cl.show.report(single, title="one", reconciled=cl.reconcile(single, 3))
    assert "needs at least 2 tasks" in page
    assert "no formula yields it; nearest are" in page
    assert "<strong>Warning:</strong> 1 of 1 cells lie above 0" in page
    assert page.count("<figure") == 2
