"""Training and inference on whatever device there is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from torch import nn
from torch.nn.functional import cross_entropy
from tqdm.auto import tqdm

from .. import results
from ..errors import InputError


def best_device() -> torch.device:
    """A GPU where there is one, else the CPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def fit(
    model: nn.Module,
    images: np.ndarray,
    labels: np.ndarray,
    *,
    epochs: int,
    learning_rate: float = 1e-3,
    batch: int = 64,
    seed: int = 0,
) -> nn.Module:
    """Train a classifier with Adam and cross-entropy; the order of the batches follows from `seed`.

    Returns the model itself, on the device it was trained on and in evaluation mode.
    """
    if epochs < 1:
        raise InputError(f"epochs is {epochs}: train for at least 1")
    device = best_device()
    model.to(device).train()
    x, y = torch.from_numpy(images).to(device), torch.from_numpy(labels).to(device)
    optimiser = torch.optim.Adam(model.parameters(), lr=learning_rate)
    generator = torch.Generator().manual_seed(seed)
    for _ in tqdm(range(epochs), desc="training", unit="epoch", leave=False, disable=results.in_batch()):
        for rows in torch.randperm(len(x), generator=generator).split(batch):
            optimiser.zero_grad()
            cross_entropy(model(x[rows]), y[rows]).backward()
            optimiser.step()
    return model.eval()


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Run a model in evaluation mode, where dropout and batch statistics stand still; then leave it as it was."""
    modes = {module: module.training for module in model.modules()}
    model.eval()
    try:
        yield
    finally:
        for module, training in modes.items():
            module.training = training


@torch.no_grad()
def logits(model: nn.Module, images: np.ndarray, *, batch: int = 512) -> np.ndarray:
    """The model's outputs as float32 NumPy, shape (n, k), computed a batch at a time in evaluation mode."""
    device = next(model.parameters()).device
    with evaluating(model):
        outputs = [model(part.to(device)).cpu() for part in torch.from_numpy(images).split(batch)]
    return torch.cat(outputs).float().numpy()
