"""Posterior agreement the slow way: written from the formula, sharing nothing with the library."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy.special import log_softmax, logsumexp


def kernel_rows(logits: np.ndarray, shifted: np.ndarray, beta: float | np.ndarray) -> np.ndarray:
    """log sum_j p_j p'_j of every row; for many betas give shape (betas, 1, 1)."""
    first = log_softmax(beta * np.asarray(logits, dtype=np.float64), axis=-1)
    second = log_softmax(beta * np.asarray(shifted, dtype=np.float64), axis=-1)
    return logsumexp(first + second, axis=-1)


def kernel(logits: np.ndarray, shifted: np.ndarray, beta: float) -> float:
    """Mean log agreement at one beta."""
    return float(kernel_rows(logits, shifted, beta).mean())


def dense_value(logits: np.ndarray, shifted: np.ndarray, *, points: int = 4000) -> float:
    """log k plus the maximum over beta = 0, a dense grid of beta over nine decades, and the limit."""
    scale = np.abs(logits).max() + np.abs(shifted).max() + 1e-300
    grid = np.concatenate([[0.0], np.geomspace(1e-4, 1e5, points) / scale])
    values = kernel_rows(logits, shifted, grid[:, None, None]).mean(axis=1)  # all of the grid at once
    return float(np.log(logits.shape[1]) + max(values.max(), limit(logits, shifted)))


def limit(logits: np.ndarray, shifted: np.ndarray) -> float:
    """The kernel as beta grows without bound: uniform beliefs over the highest classes."""
    first = logits == logits.max(axis=1, keepdims=True)
    second = shifted == shifted.max(axis=1, keepdims=True)
    shared = (first & second).sum(axis=1)
    if np.any(shared == 0):
        return -np.inf
    return float(np.mean(np.log(shared / (first.sum(axis=1) * second.sum(axis=1)))))


def examples(shared: Path) -> Iterator[tuple[dict, np.ndarray, np.ndarray]]:
    """The worked examples (50 digits) with their logits."""
    for example in json.loads((shared / "specs" / "pa_examples.json").read_text(encoding="utf-8")):
        yield example, np.array(example["logits"], dtype=float), np.array(example["shifted"], dtype=float)
