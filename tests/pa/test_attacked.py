"""Measuring under attack: names, budgets, and pictures that were never reached."""

import numpy as np
import pytest
import torch

from helpers import pa
from helpers.datasets import digits
from helpers.models import small, training


@pytest.fixture(scope="module")
def trained():
    split = digits.load()
    model = training.fit(small.SmallCNN(), split.train_images, split.train_labels, epochs=6)
    return model, split.test_images[:60], split.test_labels[:60]


def test_attacked_pictures_are_named_and_within_budget(trained):
    model, images, labels = trained
    found = pa.measure.attacked(model, images, labels, [0.05, 0.1], steps=5)
    assert list(found) == ["pgd-linf 0.05", "pgd-linf 0.1"]
    for (_, pictures), eps in zip(found.items(), (0.05, 0.1), strict=True):
        assert pictures.dtype == np.float32
        assert np.abs(pictures - images).max() == pytest.approx(eps, abs=1e-6)
    l2 = pa.measure.attacked(model, images, labels, [0.5], norm="l2", steps=5)["pgd-l2 0.5"]
    assert np.linalg.norm((l2 - images).reshape(60, -1), axis=1).max() == pytest.approx(0.5, abs=2e-3)  # the box


def test_nearest_says_what_was_not_reached():
    """A network without a gradient cannot be crossed: its distance is infinite, not 0."""
    model = small.SmallCNN()
    torch.nn.init.zeros_(model.layers[-1].weight)
    images = np.full((3, 1, 8, 8), 0.5, dtype=np.float32)
    said = int(training.logits(model, images)[0].argmax())
    pictures, size = pa.measure.nearest(model, images, np.full(3, said), steps=3)
    assert np.isinf(size).all()
    assert np.array_equal(pictures, images)


def test_within_a_budget_rows_are_attacked_or_clean(trained):
    model, images, labels = trained
    pictures, size = pa.measure.nearest(model, images, labels, steps=30)
    eps = float(np.median(size))
    budgeted = pa.measure.within(images, pictures, size, eps)
    reached = size <= eps
    assert np.array_equal(budgeted[reached], pictures[reached])
    assert np.array_equal(budgeted[~reached], images[~reached])
    assert np.abs(budgeted - images).max() <= eps + 1e-6


def test_on_the_boundary_agreement_is_the_same_for_every_model(trained):
    """FMN without a budget: PA / log k = 1 - log 2 / log k, whatever the network (here to .05)."""
    _, images, labels = trained
    split = digits.load()
    for seed in (1, 2):
        model = training.fit(small.SmallCNN(seed=seed), split.train_images, split.train_labels, epochs=4 + 4 * seed)
        right = training.logits(model, images).argmax(axis=1) == labels
        pictures, size = pa.measure.nearest(model, images[right], labels[right])
        assert np.isfinite(size).all()
        record = pa.measure.logits(model, images[right], {"fmn": pictures})
        relative = pa.agreement(record.logits, record.shifted["fmn"]).relative
        assert relative == pytest.approx(1 - np.log(2) / np.log(10), abs=0.05)
