"""The chapter's networks on handwritten digits, and the record of natural shifts that the book ships. Needs torch.

``python -m helpers.pa.example`` rebuilds the shipped record; ``Logits.load("shipped")`` loads it, and needs no torch.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from torch import nn

from .. import arrays
from ..datasets import digits
from ..models import small, training, weights
from . import measure
from .record import SHIPPED, Logits

REBUILD = "python -m helpers.pa.example"
#: The chapter's defaults; `tests/pa/test_example.py` holds them against its parameters.
STRONGEST = {"noise": 0.5, "blur": 1.2, "contrast": 0.9}
TRAIN, EPOCHS, LEVELS, SEED = 1200, 30, 5, 0


def network(recipe: str, split: digits.Split, *, epochs: int, seed: int, **options: Any) -> nn.Module:
    """A `SmallCNN` trained on the digits of a split, in evaluation mode on the best device there is.

    Parameters
    ----------
    recipe : str
        The name under which `weights.cached` keeps the weights: another name for other options.
    split : digits.Split
        Its training digits are learned.
    epochs, seed : int
        Passes over the digits; seed of weights and batches.
    **options
        For `training.fit`, such as an adversary.

    Returns
    -------
    torch.nn.Module

    Raises
    ------
    InputError
        An option that `training.fit` refuses.
    """
    model, data = small.SmallCNN(seed=seed), (split.train_images, split.train_labels)
    key = {"recipe": recipe, "epochs": epochs, "seed": seed, "data": weights.content_hash(*data)}
    state = weights.cached(lambda: training.fit(model, *data, epochs=epochs, seed=seed, **options), key=key)
    model.load_state_dict(state)
    return model.to(training.best_device()).eval()


def natural_shifts(
    model: nn.Module, split: digits.Split, strongest: Mapping[str, float], *, levels: int, seed: int
) -> Logits:
    """A model's logits on the test digits as they are, and under each shift at evenly spaced strengths.

    Parameters
    ----------
    model : torch.nn.Module
        As `network` gives it.
    split : digits.Split
        Its test digits are looked at; their labels are kept.
    strongest : mapping of str to float
        The largest strength of each of `corruptions.CORRUPTIONS`.
    levels : int
        Strengths of each shift besides 0, at least 1.
    seed : int
        Of the noise.

    Returns
    -------
    Logits
        Shifts named like "noise 0.2".

    Raises
    ------
    InputError
        No level; a shift or a strength that there is not.
    """
    steps = arrays.whole_number(levels, "levels", least=1) + 1
    strengths = {name: np.linspace(0, most, steps)[1:].tolist() for name, most in strongest.items()}
    shifted = measure.shifts(split.test_images, strengths, seed=seed)
    return measure.logits(model, split.test_images, shifted, labels=split.test_labels, seed=seed)


def record() -> Logits:
    """What the chapter measures at its default parameters; `digits` in its provenance says which digits these are."""
    split = digits.load(train=TRAIN, seed=SEED)
    model = network("plain", split, epochs=EPOCHS, seed=SEED)
    found = natural_shifts(model, split, STRONGEST, levels=LEVELS, seed=SEED)
    made = {"digits": {"train": TRAIN, "seed": SEED}, "epochs": EPOCHS, "rebuild": REBUILD}
    what = "measured: a small convolutional network on scikit-learn's handwritten digits"
    return replace(found, provenance={**found.provenance, "what": what, **made})


def main(argv: list[str] | None = None) -> None:
    """Measure the record anew and write it."""
    parser = argparse.ArgumentParser(prog=REBUILD, description="Measure the record that the chapter ships.")
    parser.add_argument("path", nargs="?", type=Path, default=SHIPPED, help="where to (data/records/pa-digits.npz)")
    path = parser.parse_args(argv).path
    path.parent.mkdir(parents=True, exist_ok=True)
    print(record().save(path))


if __name__ == "__main__":
    main()
