"""The digits: real, complete, split without overlap, and shuffled by the seed alone."""

import sys

import numpy as np
import pytest
from sklearn.datasets import load_digits

from helpers.datasets import digits
from helpers.errors import InputError, MissingExtra


def test_shapes_types_and_range():
    split = digits.load(train=1000)
    assert split.train_images.shape == (1000, 1, 8, 8)
    assert split.test_images.shape == (797, 1, 8, 8)
    assert split.train_labels.shape == (1000,)
    assert split.test_labels.shape == (797,)
    for images in (split.train_images, split.test_images):
        assert images.dtype == np.float32
        assert (images.min(), images.max()) == (0.0, 1.0)
    assert split.train_labels.dtype == split.test_labels.dtype == np.int64
    assert set(split.test_labels) == set(range(10))


def test_every_digit_is_there_once_with_its_own_label():
    split = digits.load(train=600, seed=5)
    images = np.concatenate([split.train_images, split.test_images])[:, 0]
    labels = np.concatenate([split.train_labels, split.test_labels])
    source = load_digits()

    def rows(pictures, classes):
        table = np.column_stack([np.round(pictures.reshape(len(pictures), 64)).astype(int), classes])
        return table[np.lexsort(table.T)]

    assert np.array_equal(rows(images * 16, labels), rows(source.images, source.target))


def test_the_seed_alone_decides_the_order():
    first, again, other = digits.load(seed=1), digits.load(seed=1), digits.load(seed=2)
    assert np.array_equal(first.train_images, again.train_images)
    assert np.array_equal(first.test_labels, again.test_labels)
    assert not np.array_equal(first.train_labels, other.train_labels)
    longer = digits.load(train=1300, seed=1)
    assert np.array_equal(longer.train_labels[:1200], first.train_labels)


@pytest.mark.parametrize(
    ("train", "remedy"),
    [(0, "at least 1"), (-1, "at least 1"), (1.5, "a whole number"), (1797, "leave some"), (5000, "leave some")],
)
def test_both_parts_need_pictures(train, remedy):
    with pytest.raises(InputError, match=f"train is {train}: .*{remedy}"):
        digits.load(train=train)
    assert len(digits.load(train=1796).test_labels) == len(digits.load(train=1).train_labels) == 1


def test_without_scikit_learn_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    with pytest.raises(MissingExtra, match=r"pip install 'yardsticks\[data\]'"):
        digits.load()
