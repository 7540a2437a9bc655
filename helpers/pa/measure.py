"""Measure: a model looks at clean and shifted pictures, and its logits become a record. Needs torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import nn

from .. import attacks, records
from ..datasets import corruptions
from ..models import training
from .record import Logits


def shifts(images: np.ndarray, strengths: Mapping[str, Sequence[float]], *, seed: int = 0) -> dict[str, np.ndarray]:
    """Shifted copies of pictures, named like "noise 0.2": each corruption at each of its strengths.

    >>> list(shifts(np.zeros((1, 1, 8, 8)), {"noise": [0.1, 0.2]}))
    ['noise 0.1', 'noise 0.2']
    """
    return {
        f"{name} {strength:g}": corruptions.corrupt(images, name, strength, seed=seed)
        for name, levels in strengths.items()
        for strength in levels
    }


def logits(
    model: nn.Module,
    images: np.ndarray,
    shifted: Mapping[str, np.ndarray],
    *,
    labels: np.ndarray | None = None,
    seed: int | None = None,
) -> Logits:
    """Run a model on clean pictures and on every shifted copy of them.

    Parameters
    ----------
    model : torch.nn.Module
        Maps a batch of pictures to logits. It is run in evaluation mode, on the device where it lies.
    images : numpy.ndarray
        Clean pictures, first axis n.
    shifted : mapping of str to numpy.ndarray
        Shifted copies, row by row the same pictures.
    labels : numpy.ndarray of shape (n,), optional
        True classes, kept in the record for accuracies; agreement never uses them.
    seed : int, optional
        Kept in the record's provenance.

    Returns
    -------
    Logits
    """
    outputs = {name: training.logits(model, pictures) for name, pictures in shifted.items()}
    return Logits(training.logits(model, images), outputs, labels, records.provenance(seed=seed))


def attacked(
    model: nn.Module,
    images: np.ndarray,
    labels: np.ndarray,
    eps: Sequence[float],
    *,
    norm: str = "linf",
    steps: int = 40,
    step: float | None = None,
    objective: str = "cross_entropy",
    seed: int = 0,
) -> dict[str, np.ndarray]:
    """Copies of pictures attacked by PGD at each budget, named like "pgd-linf 0.1"; see `attacks.pgd`.

    `step` is the length of a step as a share of the budget, by default 2.5 / steps. The last iterate is kept, also
    where the attack failed: giving clean pictures back for failures would flatter the model.
    """
    x, y = _on_device(model, images), torch.from_numpy(labels)
    found = {}
    for budget in eps:
        length = None if step is None else step * budget
        result = attacks.pgd(
            model, x, y, norm=norm, eps=budget, steps=steps, step=length, objective=objective, seed=seed
        )
        found[f"pgd-{norm} {budget:g}"] = result.inputs.cpu().numpy()
    return found


def nearest(
    model: nn.Module, images: np.ndarray, labels: np.ndarray, *, norm: str = "linf", steps: int = 100
) -> tuple[np.ndarray, np.ndarray]:
    """The nearest pictures that are classified wrongly (FMN), and how far away each is; inf where none was found."""
    result = attacks.fmn(model, _on_device(model, images), torch.from_numpy(labels), norm=norm, steps=steps)
    size = torch.where(result.success, result.size, torch.inf)
    return result.inputs.cpu().numpy(), size.cpu().numpy()


def within(images: np.ndarray, nearest_images: np.ndarray, size: np.ndarray, eps: float) -> np.ndarray:
    """FMN under a budget: the attacked picture where it lies within `eps`, the clean one elsewhere.

    Without a budget every picture lies on the decision boundary, where agreement hardly depends on the model.
    """
    reached = (size <= eps).reshape(-1, *[1] * (images.ndim - 1))
    return np.where(reached, nearest_images, images)


def _on_device(model: nn.Module, images: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(images).to(next(model.parameters()).device)
