"""Models to judge a measure by: defended ones, and ones whose score is known beforehand.

`pgd_adversary` makes `training.fit` train adversarially. `JpegReverseSigmoid` hides its gradient instead of being
robust. `ConstantClassifier`, `PerfectClassifier` and `ScoreModel` have no useful gradient at all: they are given
pictures that were attacked on another model.
"""

from __future__ import annotations

import io
import math
import zlib
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import log_softmax

from .. import arrays, attacks, lazy
from ..errors import InputError
from .training import Adversary
from .weights import content_hash

GRADIENTS = ("blocked", "straight_through")


def pgd_adversary(eps: float, *, steps: int = 7, norm: str = "linf") -> Adversary:
    """PGD from a random start against each batch, for `training.fit`: adversarial training after Madry et al. (2018).

    It remembers nothing, so that the same training gives the same weights: starts follow from the batch itself.
    """

    def attack(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
        seed = zlib.crc32(x.cpu().numpy().tobytes())
        return attacks.pgd(model, x, y, norm=norm, eps=eps, steps=steps, seed=seed).inputs

    return attack


def jpeg(images: Tensor, quality: int = 75) -> Tensor:
    """Pictures after Pillow's JPEG encoder and decoder, one by one; no gradient passes.

    Parameters
    ----------
    images : torch.Tensor of shape (n, 1 or 3, height, width)
        Grey or RGB pictures in [0, 1]; they are rounded to 8 bits first.
    quality : int
        1 to 100, Pillow's own default is 75.

    Raises
    ------
    InputError
        Another shape or quality.
    MissingExtra
        Pillow is absent.
    """
    if images.ndim != 4 or images.shape[1] not in (1, 3):
        raise InputError(f"images has shape {tuple(images.shape)}: JPEG takes (n, 1 or 3, height, width)")
    if arrays.whole_number(quality, "quality", least=1) > 100:
        raise InputError(f"quality is {quality}: JPEG goes from 1 to 100")
    module = lazy.require("PIL.Image", extra="data")
    pixels = (255 * images.detach().clamp(0.0, 1.0)).round().byte().cpu().permute(0, 2, 3, 1).numpy()
    decoded = np.empty_like(pixels)
    for i, picture in enumerate(pixels):
        buffer = io.BytesIO()
        module.fromarray(picture.squeeze(2) if picture.shape[2] == 1 else picture).save(buffer, "JPEG", quality=quality)
        decoded[i] = np.asarray(module.open(buffer)).reshape(picture.shape)
    return torch.from_numpy(decoded).permute(0, 3, 1, 2).to(images) / 255


class Jpeg(nn.Module):
    """JPEG compression as the first layer of a model.

    Parameters
    ----------
    quality : int
        See `jpeg`.
    gradient : {"blocked", "straight_through"}
        What an attack sees. Blocked: exactly 0, as through any rounding, so that a gradient attack stands still.
        Straight through: as if nothing had been compressed (BPDA of Athalye et al. 2018, arXiv:1802.00420).
    """

    def __init__(self, quality: int = 75, *, gradient: str = "blocked") -> None:
        super().__init__()
        self.quality, self.gradient = quality, arrays.one_of(gradient, "gradient", GRADIENTS)

    def forward(self, images: Tensor) -> Tensor:
        """Compressed pictures, of the same shape."""
        slope = 1.0 if self.gradient == "straight_through" else 0.0
        return jpeg(images, self.quality) + slope * (images - images.detach())  # adds 0, with that gradient


def reverse_sigmoid(logits: Tensor, *, beta: float = 1.0, gamma: float = 0.1) -> Tensor:
    r"""Logarithms of the beliefs that Lee et al. (2018) publish in place of the softmax p, to mislead who copies them.

    .. math:: \hat p_j \propto p_j - r(p_j),\qquad
       r(p) = \beta\,\bigl(\sigma(\gamma\,\sigma^{-1}(p)) - \tfrac12\bigr),\qquad \sigma^{-1}(p) = \log\frac{p}{1-p}.

    A class above one half stays the top one. Below that the order may change, since r is steepest near 0 and 1, where
    it also turns the gradient around: a more certain belief is published as a less certain one.

    Parameters
    ----------
    logits : torch.Tensor of shape (n, k), k at least 2
    beta : float
        Size of the perturbation, 0 < beta <= 1; the default is that of the Adversarial Robustness Toolbox.
    gamma : float
        How slowly it saturates, 0 < gamma < 1; the default is that of the Adversarial Robustness Toolbox.

    Returns
    -------
    torch.Tensor of shape (n, k)

    Raises
    ------
    InputError
        A beta or gamma out of range, for which beliefs could become negative; fewer than 2 classes.

    References
    ----------
    Lee, Edwards, Molloy and Su (2018), arXiv:1806.00054.
    """
    numbers = arrays.is_number(beta) and arrays.is_number(gamma)
    if not (numbers and 0.0 < beta <= 1.0 and 0.0 < gamma < 1.0):
        raise InputError(f"beta is {beta} and gamma {gamma}: give 0 < beta <= 1 and 0 < gamma < 1")
    if logits.ndim != 2 or logits.shape[1] < 2:
        raise InputError(f"logits has shape {tuple(logits.shape)}: give (n, k) with at least 2 classes")
    log_p = log_softmax(logits, dim=1)
    top = torch.zeros_like(log_p, dtype=torch.bool).scatter(1, log_p.argmax(dim=1, keepdim=True), True)
    others = log_p.masked_fill(top, -math.inf)
    # log(1 - p) from the other classes where p rounds to 1: clipping p instead would leave certain rows no gradient
    log_rest = torch.where(top, others.logsumexp(dim=1, keepdim=True), torch.log1p(-others.exp()))
    perturbed = log_p.exp() - beta * (torch.sigmoid(gamma * (log_p - log_rest)) - 0.5)
    return (perturbed / perturbed.sum(dim=1, keepdim=True)).log()


class JpegReverseSigmoid(nn.Module):
    """A model behind JPEG compression, with the reverse sigmoid on its output: the defence that the source praises.

    Both parts hide the gradient rather than make the model robust. Attack it as it is; with
    ``gradient="straight_through"``; and through ``nn.Sequential(Jpeg(gradient="straight_through"), model)``, which
    leaves the reverse sigmoid out; then judge it on the strongest.

    Parameters
    ----------
    model : torch.nn.Module
        Maps pictures to logits.
    quality, gradient
        See `Jpeg`.
    beta, gamma
        See `reverse_sigmoid`.
    """

    def __init__(
        self,
        model: nn.Module,
        *,
        quality: int = 75,
        beta: float = 1.0,
        gamma: float = 0.1,
        gradient: str = "blocked",
    ) -> None:
        super().__init__()
        self.compress, self.model = Jpeg(quality, gradient=gradient), model
        self.beta, self.gamma = beta, gamma

    def forward(self, images: Tensor) -> Tensor:
        """Log-probabilities, shape (n, k), which serve as logits."""
        return reverse_sigmoid(self.model(self.compress(images)), beta=self.beta, gamma=self.gamma)


class ConstantClassifier(nn.Module):
    """Prefers the same class whatever it sees: agreement is log k, its highest value, at chance accuracy.

    >>> ConstantClassifier(3, preferred=1)(torch.rand(2, 1, 8, 8))
    tensor([[0., 1., 0.],
            [0., 1., 0.]])
    """

    def __init__(self, classes: int, *, preferred: int = 0) -> None:
        super().__init__()
        arrays.whole_number(classes, "classes", least=1)
        if arrays.whole_number(preferred, "preferred", least=0) >= classes:
            raise InputError(f"preferred is {preferred}: with {classes} classes it lies in 0..{classes - 1}")
        self.scores = nn.Parameter(torch.eye(classes)[preferred], requires_grad=False)

    def forward(self, images: Tensor) -> Tensor:
        """Logits, shape (n, classes): 1 for the preferred class."""
        return self.scores.expand(len(images), -1) + _no_slope(images)


class PerfectClassifier(nn.Module):
    """Knows the class of every picture that it was told, by content, and refuses all others.

    Parameters
    ----------
    images : numpy.ndarray
        All pictures that it will see, attacked ones too, first axis n.
    labels : numpy.ndarray of int, shape (n,)
        Their classes.
    classes : int
        How many classes there are.
    """

    def __init__(self, images: np.ndarray, labels: np.ndarray, *, classes: int) -> None:
        super().__init__()
        arrays.whole_number(classes, "classes", least=1)
        known = arrays.check_labels(labels, n=len(images), k=classes)
        self.one_hot = nn.Parameter(torch.eye(classes), requires_grad=False)
        self.known: dict[str, int] = {}
        for i, (name, label) in enumerate(zip(_names(images), known.tolist(), strict=True)):
            if self.known.setdefault(name, label) != label:
                raise InputError(f"labels[{i}] is {label}, but the same picture was {self.known[name]} before")

    def forward(self, images: Tensor) -> Tensor:
        """Logits, shape (n, classes): 1 for the true class."""
        names = _names(arrays.to_numpy(images))
        strangers = [i for i, name in enumerate(names) if name not in self.known]
        if strangers:
            raise InputError(f"images[{strangers[0]}] is not among the pictures that the perfect classifier was told")
        return self.one_hot[[self.known[name] for name in names]] + _no_slope(images)


class ScoreModel(nn.Module):
    """The decision function of a fitted scikit-learn classifier, such as SVC, as scores of pictures.

    Scores are not probabilities and have no gradient: the model is evaluated, on pictures attacked on another one.

    Parameters
    ----------
    classifier
        Fitted on flattened pictures with classes 0 to k - 1, k at least 3; its ``decision_function`` gives one column a
        class (for SVC, ``decision_function_shape="ovr"``).
    """

    def __init__(self, classifier: Any) -> None:
        super().__init__()
        found = np.asarray(getattr(classifier, "classes_", [])).tolist()
        if len(found) < 3 or found != list(range(len(found))):
            raise InputError(f"classifier has classes {found}: fit it on classes 0 to k - 1, at least 3 of them")
        self.classifier, self.classes = classifier, len(found)
        self.home = nn.Parameter(torch.empty(0), requires_grad=False)  # by it callers see where the model lies

    def forward(self, images: Tensor) -> Tensor:
        """Scores, float32 of shape (n, k)."""
        if images.requires_grad:
            raise InputError("a score-only model has no gradient: attack another model, and give it those pictures")
        scores = self.classifier.decision_function(arrays.to_numpy(images).reshape(len(images), -1))
        if scores.shape != (len(images), self.classes):
            raise InputError(f"decision_function gives shape {scores.shape}: set decision_function_shape='ovr'")
        return torch.from_numpy(scores).float().to(self.home.device)


def _names(images: np.ndarray) -> list[str]:
    """Each picture's content hash."""
    return [content_hash(picture) for picture in np.asarray(images, dtype=np.float32)]


def _no_slope(images: Tensor) -> Tensor:
    """Zeros of shape (n, 1) that depend on the pictures with gradient 0, so that an attack finds a gradient."""
    return 0.0 * images.flatten(1).sum(dim=1, keepdim=True)
