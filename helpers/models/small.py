"""A small convolutional network for pictures of 8 x 8 pixels."""

from __future__ import annotations

import torch
from torch import nn


class SmallCNN(nn.Module):
    """Two convolutions, two linear layers: about 30,000 weights.

    >>> SmallCNN(seed=0)(torch.zeros(2, 1, 8, 8)).shape
    torch.Size([2, 10])
    """

    def __init__(self, *, classes: int = 10, seed: int = 0) -> None:
        super().__init__()
        with torch.random.fork_rng(devices=[]):  # weights depend on the seed alone, and nothing else on them
            torch.manual_seed(seed)
            self.layers = nn.Sequential(
                nn.Conv2d(1, 16, 3, padding=1),
                nn.ReLU(),
                nn.MaxPool2d(2),
                nn.Conv2d(16, 32, 3, padding=1),
                nn.ReLU(),
                nn.MaxPool2d(2),
                nn.Flatten(),
                nn.Linear(128, 64),
                nn.ReLU(),
                nn.Linear(64, classes),
            )

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Logits, shape (n, classes)."""
        return self.layers(images)
