"""Renderings of light-on-dark pictures in [0, 1], shape (n, channels, height, width): domains with natural pairs.

Row i of every rendering is the same picture, so agreement needs no pairing, and what a pairing costs can be measured.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import ndimage

from .. import arrays
from ..errors import InputError

TILT = 20.0  # degrees, counter-clockwise
STRIPE, STRIPE_WIDTH = 0.5, 2  # brightness, and pixels along a row


def plain(images: np.ndarray, seed: int) -> np.ndarray:
    """As they are."""
    return images


def inverted(images: np.ndarray, seed: int) -> np.ndarray:
    """Dark on light."""
    return 1.0 - images


def thick(images: np.ndarray, seed: int) -> np.ndarray:
    """Strokes a pixel wider: the brightest of each 2 x 2 pixels (grey dilation)."""
    return ndimage.grey_dilation(images, size=(1, 1, 2, 2))


def outline(images: np.ndarray, seed: int) -> np.ndarray:
    """Edges only: the length of the Sobel gradient, 1 at a straight edge from dark to full brightness."""
    return np.hypot(_sobel(images, along=2, across=3), _sobel(images, along=3, across=2)) / 4.0


def tilted(images: np.ndarray, seed: int) -> np.ndarray:
    """Turned counter-clockwise by `TILT` degrees about the middle, linearly interpolated, dark where nothing was."""
    return ndimage.rotate(images, TILT, axes=(2, 3), reshape=False, order=1, mode="constant")


def textured(images: np.ndarray, seed: int) -> np.ndarray:
    """On diagonal stripes of brightness `STRIPE`, which start elsewhere in each picture, by `seed`."""
    n, _, height, width = images.shape
    start = np.random.default_rng(seed).integers(2 * STRIPE_WIDTH, size=(n, 1, 1, 1))
    diagonal = np.arange(height)[:, None] + np.arange(width) + start
    return np.maximum(images, STRIPE * (diagonal // STRIPE_WIDTH % 2))


RENDERINGS: dict[str, Callable[[np.ndarray, int], np.ndarray]] = {
    "plain": plain,
    "inverted": inverted,
    "thick": thick,
    "outline": outline,
    "tilted": tilted,
    "textured": textured,
}


def render(images: np.ndarray, name: str, *, seed: int = 0) -> np.ndarray:
    """Show pictures in another way, by name; row i stays the same picture.

    Parameters
    ----------
    images : numpy.ndarray of shape (n, channels, height, width)
        Light on dark, in [0, 1].
    name : {"plain", "inverted", "thick", "outline", "tilted", "textured"}
    seed : int
        Seed of what is random, which only "textured" has.

    Returns
    -------
    numpy.ndarray
        float32 in [0, 1], of the same shape; a copy.

    Raises
    ------
    InputError
        An unknown name, another shape, or values outside [0, 1].

    Examples
    --------
    >>> float(render(np.zeros((1, 1, 8, 8)), "inverted").mean())
    1.0
    """
    arrays.one_of(name, "rendering", RENDERINGS)
    pictures = np.asarray(images)
    if pictures.ndim != 4 or 0 in pictures.shape or pictures.dtype.kind != "f":
        raise InputError(
            f"images has shape {pictures.shape} and type {pictures.dtype}: "
            "give floating-point pictures of shape (n, channels, height, width)"
        )
    if not (pictures.min() >= 0.0 and pictures.max() <= 1.0):
        raise InputError(
            f"images range from {pictures.min():g} to {pictures.max():g}: scale their brightness to [0, 1]"
        )
    return np.clip(RENDERINGS[name](pictures.astype(np.float64), seed), 0.0, 1.0).astype(np.float32)


def _sobel(images: np.ndarray, *, along: int, across: int) -> np.ndarray:
    # ndimage.sobel would smooth across pictures and channels too
    return ndimage.correlate1d(ndimage.correlate1d(images, [-1, 0, 1], axis=along), [1, 2, 1], axis=across)
