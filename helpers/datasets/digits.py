"""The handwritten digits inside scikit-learn: 1,797 grey pictures of 8 x 8 pixels, ten classes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .. import arrays, lazy
from ..errors import InputError


@dataclass(frozen=True)
class Split:
    """Pictures of shape (n, 1, 8, 8) in [0, 1], float32, and their classes, for training and for testing."""

    train_images: np.ndarray
    train_labels: np.ndarray
    test_images: np.ndarray
    test_labels: np.ndarray


def load(*, train: int = 1200, seed: int = 0) -> Split:
    """Shuffle the digits by `seed` and use the first `train` of them for training, the rest for testing.

    Raises
    ------
    InputError
        `train` is no whole number, or leaves no picture for training or for testing.
    MissingExtra
        scikit-learn is absent.

    Examples
    --------
    >>> split = load(train=1200)
    >>> split.train_images.shape, split.test_images.shape
    ((1200, 1, 8, 8), (597, 1, 8, 8))
    """
    data = lazy.require("sklearn.datasets", extra="data").load_digits()
    total = len(data.target)
    if arrays.whole_number(train, "train", least=1) >= total:
        raise InputError(f"train is {train}: there are {total} digits, leave some for testing")
    order = np.random.default_rng(seed).permutation(total)
    images = (data.images[order] / 16.0).astype(np.float32)[:, None]
    labels = data.target[order].astype(np.int64)
    return Split(images[:train], labels[:train], images[train:], labels[train:])
