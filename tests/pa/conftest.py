"""Logits that the tests of posterior agreement share."""

import numpy as np
import pytest


@pytest.fixture
def noisy() -> tuple[np.ndarray, np.ndarray]:
    """400 rows of 6 classes, of which a good part flips."""
    rng = np.random.default_rng(1)
    logits = rng.normal(0, 3, size=(400, 6))
    return logits, logits + rng.normal(0, 1.5, size=(400, 6))


@pytest.fixture
def bimodal() -> tuple[np.ndarray, np.ndarray]:
    """Rows of two scales, whose kernel has two local maxima; the right one is the global one."""
    clean = np.array([[1.69, -2.65, 1.73], [0.34, 0.19, -0.65]])
    return clean, np.array([[3.65, 2.01, 4.14], [0.80, 0.26, 0.87]])
