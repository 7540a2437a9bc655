"""Measure: a model looks at clean and shifted pictures, and its logits become a record. Needs torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from torch import nn

from .. import records
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
