"""Natural shifts of pictures in [0, 1], shape (n, channels, height, width), by strength."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.ndimage import gaussian_filter

from .. import arrays
from ..errors import InputError, brief


def noise(images: np.ndarray, strength: float, *, seed: int = 0) -> np.ndarray:
    """Add Gaussian noise of standard deviation `strength` (in units of full brightness), then clip to [0, 1]."""
    draws = np.random.default_rng(seed).standard_normal(images.shape)
    return _finished(images + strength * draws)


def blur(images: np.ndarray, strength: float, *, seed: int = 0) -> np.ndarray:
    """Blur with a Gaussian of standard deviation `strength` pixels; nothing is random."""
    return _finished(gaussian_filter(images, sigma=(0, 0, strength, strength)))


def contrast(images: np.ndarray, strength: float, *, seed: int = 0) -> np.ndarray:
    """Pull each picture towards its mean: a share `strength` in [0, 1] of the contrast goes; nothing is random."""
    mean = images.mean(axis=(1, 2, 3), keepdims=True)
    return _finished(mean + (1.0 - strength) * (images - mean))


CORRUPTIONS: dict[str, Callable[..., np.ndarray]] = {"noise": noise, "blur": blur, "contrast": contrast}


def corrupt(images: np.ndarray, name: str, strength: float, *, seed: int = 0) -> np.ndarray:
    """Apply a corruption by name.

    Raises
    ------
    InputError
        An unknown name, a negative strength, or a contrast strength above 1.

    Examples
    --------
    >>> pictures = np.full((1, 1, 8, 8), 0.5)
    >>> float(corrupt(pictures, "contrast", 0.5).std())
    0.0
    """
    arrays.one_of(name, "corruption", CORRUPTIONS)
    most = 1.0 if name == "contrast" else np.inf
    if not arrays.is_number(strength) or not 0.0 <= strength <= most:
        raise InputError(f"strength of {name} is {brief(strength)}: give a number from 0 to {most}")
    return CORRUPTIONS[name](images, strength, seed=seed)


def _finished(images: np.ndarray) -> np.ndarray:
    return np.clip(images, 0.0, 1.0).astype(np.float32)
