"""Figures and tables of attacks say in words what they show."""

import numpy as np
import pytest

from helpers import pa


@pytest.fixture
def tables(noisy):
    labels = noisy[0].argmax(axis=1)
    shifted = {f"pgd-linf {eps}": noisy[0] + eps * (noisy[1] - noisy[0]) for eps in (0.5, 1.0)}
    rows = pa.table(pa.Logits(noisy[0], shifted, labels))
    return {"plain": rows, "robust": rows}


def test_sweep_table_has_a_row_for_each_shift_of_each_model(tables):
    table = pa.show.sweep_table(tables, caption="Under attack")
    assert [row[:2] for row in table.rows] == [
        [model, shift] for model in ("plain", "robust") for shift in ("pgd-linf 0.5", "pgd-linf 1.0")
    ]
    first = tables["plain"][0]
    assert table.rows[0][2:6] == [
        first.afr_t.rate, first.afr_p.rate, first.success.rate, first.agreement.relative
    ]  # fmt: skip
    assert f"<td>{first.agreement.relative:.3f}</td>" in table.html


def test_sweep_names_the_ends_of_each_model(tables):
    figure = pa.show.sweep(tables, unit="eps")
    rows = tables["plain"]
    assert f"plain: AFR_T {rows[0].afr_t.rate:.2f} to {rows[1].afr_t.rate:.2f}" in figure.alt
    assert "robust:" in figure.alt


def test_ratio_curves(noisy):
    ratios = [0.0, 0.5, 1.0]
    results = pa.curve(*noisy, ratios)
    figure = pa.show.ratio_curves({"plain": results}, ratios)
    assert f"plain falls to {results[-1].relative:.2f}" in figure.alt


def test_distances_keep_what_was_never_reached_in_the_share():
    figure = pa.show.distances({"plain": np.array([0.1, 0.2, np.inf, 0.3])}, norm="Linf")
    assert "plain 0.250" in figure.alt


def test_evidence_counts_networks():
    figure = pa.show.evidence(np.arange(4.0), np.arange(4.0), ["a", "a", "b", "b"], labels=("PA", "accuracy"))
    assert "4 networks: accuracy against PA" in figure.alt
