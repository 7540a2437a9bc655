"""Training and inference on whatever device there is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from tqdm.auto import tqdm

from .. import arrays, results
from ..errors import InputError, brief

#: (model, pictures, labels) -> the same pictures, shifted: an attack, or any other shift.
Adversary = Callable[[nn.Module, Tensor, Tensor], Tensor]
#: (clean logits, shifted logits) -> a scalar to be kept small, such as `pa.loss`.
Penalty = Callable[[Tensor, Tensor], Tensor]


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
    adversary: Adversary | None = None,
    penalty: Penalty | None = None,
    penalty_weight: float = 1.0,
) -> nn.Module:
    r"""Train a classifier with Adam and cross-entropy; the order of the batches follows from `seed`.

    Parameters
    ----------
    model : torch.nn.Module
        Maps pictures to logits; it is trained in place.
    images, labels : numpy.ndarray
        Pictures of shape (n, ...) and their classes, shape (n,).
    epochs, learning_rate, batch, seed
        Passes over all rows, Adam's step, rows a step, and the seed of their order.
    adversary : callable, optional
        Shifts each batch before the step. Without a penalty the network learns from shifted pictures alone, which is
        adversarial training if they are attacked ones (`defences.pgd_adversary`).
    penalty : callable, optional
        The network learns from clean pictures, and :math:`\mu` times the penalty of clean against shifted logits is
        added to the loss: with `pa.loss` the regulariser of posterior agreement. Start it from a network that was
        trained without: from random weights agreement is reached soonest by one constant class, and stays there.
    penalty_weight : float
        :math:`\mu`, at least 0.

    Returns
    -------
    torch.nn.Module
        The model itself, on the device it was trained on and in evaluation mode.

    Raises
    ------
    InputError
        No epochs, rows in a batch or step of Adam, a negative weight, or a penalty without an adversary: there would
        be no shifted logits.
    """
    arrays.whole_number(epochs, "epochs", least=1)
    arrays.whole_number(batch, "batch", least=1)
    if not arrays.is_number(learning_rate) or learning_rate <= 0:
        raise InputError(f"learning_rate is {brief(learning_rate)}: give a step above 0")
    if penalty is not None and adversary is None:
        raise InputError("penalty needs shifted pictures: give an adversary too, such as defences.pgd_adversary")
    if not arrays.is_number(penalty_weight) or penalty_weight < 0:
        raise InputError(f"penalty_weight is {brief(penalty_weight)}: give a finite weight of at least 0")
    device = best_device()
    model.to(device).train()
    x, y = torch.from_numpy(images).to(device), torch.from_numpy(labels).to(device)
    optimiser = torch.optim.Adam(model.parameters(), lr=learning_rate)
    generator = torch.Generator().manual_seed(seed)
    for _ in tqdm(range(epochs), desc="training", unit="epoch", leave=False, disable=results.in_batch()):
        for rows in torch.randperm(len(x), generator=generator).split(batch):
            clean, classes = x[rows], y[rows]
            shifted = clean if adversary is None else adversary(model, clean, classes)
            optimiser.zero_grad()  # after the adversary, which may have left gradients in the weights
            if penalty is None:
                loss = cross_entropy(model(shifted), classes)
            else:
                outputs = model(clean)
                loss = cross_entropy(outputs, classes) + penalty_weight * penalty(outputs, model(shifted))
            loss.backward()
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
