"""Posterior agreement against what a user would otherwise run: ratios, measured in one process.

Rivals: the source's Adam loop over beta with its mistakes corrected (500 epochs, whole data each; a few epochs are
timed and scaled), and the source's sketch as printed. Exactness is held against a dense float64 grid.

    python benchmarks/pa.py [--rows 20000] [--classes 1000]
"""

from __future__ import annotations

import argparse
import time
import tracemalloc
from collections.abc import Callable

import numpy as np
import torch
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp

from helpers import pa

EPOCHS = 500
RATIOS = np.linspace(0.0, 1.0, 11)


def main() -> None:
    """Print one line per claim."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--classes", type=int, default=1_000)
    options = parser.parse_args()
    logits, shifted = make_logits(options.rows, options.classes)
    print(f"{options.rows} rows x {options.classes} classes, float32, {torch.get_num_threads()} torch threads")

    pa.agreement(logits[:100], shifted[:100])
    # rounds of rival and ours in turn, so that other load on the machine hits both
    ours, curves, adam, sketch = [], [], [], []
    for _ in range(3):
        ours.append(seconds(lambda: pa.agreement(logits, shifted)))
        adam.append(seconds(lambda: adam_epochs(logits, shifted, epochs=2)) / 2)
        sketch.append(seconds(lambda: sketch_epochs(logits, shifted, epochs=2)) / 2)
        curves.append(seconds(lambda: pa.curve(logits, shifted, RATIOS)))
    print(f"agreement                  {min(ours):8.2f} s")
    print(f"Adam, {EPOCHS} epochs, corrected {min(adam) * EPOCHS:6.0f} s   ratio {min(adam) * EPOCHS / min(ours):6.0f}")
    print(f"the source's sketch        {min(sketch) * EPOCHS:8.0f} s   ratio {min(sketch) * EPOCHS / min(ours):6.0f}")
    print(f"curve of {len(RATIOS)} ratios        {min(curves):8.2f} s   {min(curves) / min(ours):.2f} solves")

    result = pa.agreement(logits, shifted)
    dense = dense_grid(logits, shifted)
    print(f"value {result.value:.9f} nat, dense float64 grid {dense:.9f}: error {abs(result.value - dense):.1e} nat")
    print(f"proven: no beta gives more than {result.bound - result.value:.1e} nat above it")

    chunk = 2048
    tracemalloc.start()
    pa.agreement(logits, shifted, chunk=chunk)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    size = logits[:chunk].nbytes + shifted[:chunk].nbytes
    print(f"extra memory {peak / 1e6:.0f} MB = {peak / size:.2f} chunks of {chunk} rows")


def make_logits(rows: int, classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Logits of a classifier that is mostly right and often sure, and the same after a shift."""
    rng = np.random.default_rng(0)
    logits = rng.normal(0.0, 2.0, size=(rows, classes)).astype(np.float32)
    logits[np.arange(rows), rng.integers(classes, size=rows)] += rng.normal(9.0, 3.0, size=rows).astype(np.float32)
    return logits, logits + rng.normal(0.0, 1.0, size=(rows, classes)).astype(np.float32)


def seconds(work: Callable[[], object]) -> float:
    """Wall time of one call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def adam_epochs(logits: np.ndarray, shifted: np.ndarray, *, epochs: int) -> float:
    """The source's loop with the gradient kept: full-batch Adam on beta, learning rate 0.1, clamped at 0."""
    first, second = torch.from_numpy(logits), torch.from_numpy(shifted)
    beta = torch.tensor([1.0], requires_grad=True)
    optimiser = torch.optim.Adam([beta], lr=0.1)
    for _ in range(epochs):
        optimiser.zero_grad()
        log_p = torch.log_softmax(beta * first, dim=1) + torch.log_softmax(beta * second, dim=1)
        (-torch.logsumexp(log_p, dim=1).mean()).backward()
        optimiser.step()
        with torch.no_grad():
            beta.clamp_(min=0.0)
    return beta.item()


def sketch_epochs(logits: np.ndarray, shifted: np.ndarray, *, epochs: int) -> float:
    """As the source prints it: beta is detached in the kernel, so it gets no gradient and never moves."""
    first, second = torch.from_numpy(logits), torch.from_numpy(shifted)
    beta = torch.tensor([1.0], requires_grad=True)
    optimiser = torch.optim.Adam([beta], lr=0.1)
    for _ in range(epochs):
        optimiser.zero_grad()
        inner = beta.clone().detach().requires_grad_(True)
        log_p = torch.log_softmax(inner * first, dim=1) + torch.log_softmax(inner * second, dim=1)
        (-torch.logsumexp(log_p, dim=1).sum() / len(first)).backward()
        optimiser.step()
    return beta.item()


def dense_grid(logits: np.ndarray, shifted: np.ndarray) -> float:
    """The value by brute force: a grid of 33 betas in float64, then a bounded search around its top."""

    def kernel(log_beta: float) -> float:
        total = 0.0
        for start in range(0, len(logits), 1000):
            a, b = (np.exp(log_beta) * part[start : start + 1000].astype(np.float64) for part in (logits, shifted))
            total += float(np.sum(logsumexp(a + b, axis=1) - logsumexp(a, axis=1) - logsumexp(b, axis=1)))
        return total / len(logits)

    grid = np.linspace(np.log(0.01), np.log(100.0), 33)
    top = int(np.argmax([kernel(point) for point in grid]))
    bounds = (grid[max(0, top - 1)], grid[min(len(grid) - 1, top + 1)])
    best = minimize_scalar(lambda point: -kernel(point), bounds=bounds, method="bounded", options={"xatol": 1e-7})
    return float(np.log(logits.shape[1]) - best.fun)


if __name__ == "__main__":
    main()
