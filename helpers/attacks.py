"""White-box attacks on a classifier, in torch: PGD within a budget, FMN to the nearest boundary.

Both look at the pictures in [0, 1] and at nothing else of the model but its gradient. What they return is judged
anew: predictions are computed again from the stored pictures.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, log_softmax

from . import arrays
from .errors import InputError, brief
from .models.training import evaluating

NORMS = ("linf", "l2")
KEEP = ("last", "highest_loss")
OBJECTIVES = ("cross_entropy", "agreement")
#: Gradients of dead networks are exactly 0; their norm is a divisor.
TINY = 1e-12


@dataclass(frozen=True)
class Attacked:
    """Attacked pictures and how they were made.

    Attributes
    ----------
    inputs : torch.Tensor
        The pictures after the attack, in [0, 1], of the shape of the clean ones.
    size : torch.Tensor of shape (n,)
        Norm of each perturbation.
    success : torch.Tensor of bool, shape (n,)
        The prediction on the stored picture differs from the class that was attacked.
    settings : dict
        Everything that the attack was told, for the record's provenance.
    """

    inputs: Tensor
    size: Tensor
    success: Tensor
    settings: dict[str, Any]

    def __repr__(self) -> str:
        won = int(self.success.sum())
        return (
            f"Attacked({won} of {len(self.success)} succeed, median {self.settings['norm']} {self.size.median():.4g})"
        )


def pgd(
    model: nn.Module,
    x: Tensor,
    y: Tensor | None = None,
    *,
    norm: str,
    eps: float,
    steps: int = 40,
    step: float | None = None,
    random_start: bool = True,
    restarts: int = 1,
    keep: str = "last",
    objective: str = "cross_entropy",
    seed: int = 0,
) -> Attacked:
    r"""Projected gradient descent: climb the loss in steps, and after each go back into the ball and into [0, 1].

    .. math:: x_{t+1} = \Pi_{\|\delta\| \le \epsilon,\,[0,1]}\left(x_t + \alpha\, d(\nabla_x L)\right),\qquad
       d = \mathrm{sign} \text{ for } L_\infty,\ \ g / \|g\|_2 \text{ for } L_2.

    Parameters
    ----------
    model : torch.nn.Module
        Maps pictures to logits; run in evaluation mode and left as it was.
    x : torch.Tensor
        Clean pictures in [0, 1], first axis n.
    y : torch.Tensor of int, shape (n,), optional
        Classes to move away from: the true ones, or None for the model's own clean predictions.
    norm : {"linf", "l2"}
        No default: at the same number the two are attacks of very different strength.
    eps : float
        Budget, in units of full brightness; 0 changes nothing.
    steps : int
        Gradient steps, 40.
    step : float, optional
        Length of a step; by default 2.5 eps / steps, enough to cross the ball and come back.
    random_start : bool
        Start at a uniform point of the ball rather than at the clean picture.
    restarts : int
        Runs from different starts; of each picture the one with the highest loss is kept.
    keep : {"last", "highest_loss"}
        Which iterate of a run is kept. Clean pictures are never given back for failures.
    objective : {"cross_entropy", "agreement"}
        What is climbed: the cross-entropy of `y`, or minus the log agreement with the clean belief, which needs no
        labels.
    seed : int
        Seed of the random starts.

    Returns
    -------
    Attacked

    Raises
    ------
    InputError
        An unknown norm, keep or objective, a negative budget, a step that is not positive, pictures outside [0, 1],
        labels that do not match.

    References
    ----------
    Madry et al. (2018), arXiv:1706.06083.
    """
    settings = {
        "attack": "pgd",
        "norm": norm,
        "eps": eps,
        "steps": steps,
        "step": step,
        "random_start": random_start,
        "restarts": restarts,
        "keep": keep,
        "objective": objective,
        "seed": seed,
    }
    arrays.one_of(norm, "norm", NORMS)
    arrays.one_of(keep, "keep", KEEP)
    arrays.one_of(objective, "objective", OBJECTIVES)
    if not arrays.is_number(eps) or eps < 0:
        raise InputError(f"eps is {brief(eps)}: give a budget of at least 0, in units of full brightness")
    if step is not None:
        _check_length(step)
    arrays.truth(random_start, "random_start")
    arrays.whole_number(steps, "steps", least=1)
    arrays.whole_number(restarts, "restarts", least=1)
    arrays.whole_number(seed, "seed", least=0)
    length = 2.5 * eps / steps if step is None else step
    generator = torch.Generator().manual_seed(seed)
    with _ready(model, x):
        classes = _classes(model, x, y)
        loss = _objective(objective, model, x, classes)
        best, best_loss = x.clone(), torch.full((len(x),), -math.inf, device=x.device)
        for _ in range(restarts):
            start = _random_start(x, norm, eps, generator) if random_start else x
            found, value = _climb(loss, x, start, norm=norm, eps=eps, steps=steps, length=length, keep=keep)
            better = value > best_loss
            best = torch.where(_column(better, x), found, best)
            best_loss = torch.where(better, value, best_loss)
        return _judged(model, x, best, classes, norm, settings)


def fmn(
    model: nn.Module,
    x: Tensor,
    y: Tensor | None = None,
    *,
    norm: str,
    steps: int = 100,
    step: float = 1.0,
    gamma: float = 0.05,
) -> Attacked:
    r"""Fast minimum-norm attack: the nearest picture that is classified differently.

    A step along the gradient, then a projection on a ball whose radius shrinks by 1 - gamma while the picture is
    adversarial and grows by 1 + gamma while it is not; before the first success it is the distance to the boundary
    by first order, :math:`|m| / \|\nabla m\|_*` with the margin m. Step and gamma fall along a cosine, to a
    hundredth of `step` and to 0.001.

    What it returns lies on the decision boundary, so that agreement over *all* rows hardly depends on the model:
    compare `size` instead, or keep rows within a budget.

    Parameters
    ----------
    model, x, y
        As for `pgd`.
    norm : {"linf", "l2"}
        Distance that is minimised.
    steps : int
        Gradient steps, 100.
    step : float
        Length of the first step in L2, 1.
    gamma : float
        First relative change of the radius, 0.05.

    Returns
    -------
    Attacked
        Rows that were wrong from the start have size 0; rows never crossed stay clean, and `success` is False.

    Raises
    ------
    InputError
        As `pgd`.

    References
    ----------
    Pintor et al. (2021), arXiv:2102.12827.
    """
    arrays.one_of(norm, "norm", NORMS)
    arrays.whole_number(steps, "steps", least=1)
    _check_length(step)
    if not arrays.is_number(gamma) or not 0 < gamma < 1:
        raise InputError(f"gamma is {brief(gamma)}: give a number between 0 and 1")
    settings = {"attack": "fmn", "norm": norm, "steps": steps, "step": step, "gamma": gamma}
    with _ready(model, x):
        classes = _classes(model, x, y)
        best = _nearest(model, x, classes, norm=norm, steps=steps, step=step, gamma=gamma)
        return _judged(model, x, best, classes, norm, settings)


def _climb(
    loss: Callable[[Tensor], Tensor],
    x: Tensor,
    start: Tensor,
    *,
    norm: str,
    eps: float,
    steps: int,
    length: float,
    keep: str,
) -> tuple[Tensor, Tensor]:
    """One run of PGD: the kept iterate of each picture and its loss."""
    point, best, best_loss = start, start, torch.full((len(x),), -math.inf, device=x.device)
    for _ in range(steps):
        gradient, value = _gradient(loss, point)
        if keep == "highest_loss":
            better = value > best_loss
            best = torch.where(_column(better, x), point, best)
            best_loss = torch.where(better, value, best_loss)
        point = _project(point + length * _ascent(gradient, norm), x, norm, _radii(x, eps))
    with torch.no_grad():
        value = loss(point)
    if keep == "last":
        return point, value
    better = value > best_loss
    return torch.where(_column(better, x), point, best), torch.maximum(value, best_loss)


def _nearest(
    model: nn.Module, x: Tensor, classes: Tensor, *, norm: str, steps: int, step: float, gamma: float
) -> Tensor:
    """The iterations of FMN; clean pictures where no adversarial one was found."""
    farthest = _size(torch.maximum(x, 1 - x), norm)
    delta, best = torch.zeros_like(x), torch.zeros_like(x)
    best_size, radius = farthest.clone(), torch.full_like(farthest, math.inf)
    found = torch.zeros(len(x), dtype=torch.bool, device=x.device)

    def minus_margin(point: Tensor) -> Tensor:
        return -_margin(model(point), classes)

    for i in range(steps):
        cosine = (1 + math.cos(math.pi * i / steps)) / 2
        gradient, value = _gradient(minus_margin, x + delta)
        if norm == "l2":  # along pixels that are at their end nothing is gained, however steep the loss
            gradient = torch.where(_blocked(x + delta, gradient), 0.0, gradient)
        adversarial = value > 0
        size = _size(delta, norm)
        closer = adversarial & (size <= best_size)
        found |= adversarial
        best_size = torch.where(closer, size, best_size)
        best = torch.where(_column(closer, x), delta, best)
        distance = value.abs() / _dual(gradient, norm).clamp(min=TINY)
        now = 0.001 + (gamma - 0.001) * cosine
        shrunk = torch.minimum(radius * (1 - now), _size(best, norm))
        # a hair beyond the boundary: landing on it exactly, as on a linear model, would never cross it
        grown = torch.where(found, radius * (1 + now), (size + distance) * (1 + 1e-5))
        radius = torch.minimum(torch.where(adversarial, shrunk, grown), farthest)
        length = step * (0.01 + 0.99 * cosine)
        delta = _project(x + delta + length * _ascent(gradient, "l2"), x, norm, radius) - x
    return x + best


def _gradient(loss: Callable[[Tensor], Tensor], point: Tensor) -> tuple[Tensor, Tensor]:
    """Gradient of the summed loss, and the loss of each picture."""
    point = point.detach().requires_grad_(True)
    with torch.enable_grad():
        value = loss(point)
        (gradient,) = torch.autograd.grad(value.sum(), point)
    return gradient, value.detach()


def _blocked(point: Tensor, direction: Tensor) -> Tensor:
    """Pixels that the direction would push out of [0, 1]."""
    return ((point <= 0) & (direction < 0)) | ((point >= 1) & (direction > 0))


def _objective(objective: str, model: nn.Module, x: Tensor, classes: Tensor) -> Callable[[Tensor], Tensor]:
    if objective == "cross_entropy":
        return lambda point: cross_entropy(model(point), classes, reduction="none")
    with torch.no_grad():
        clean = log_softmax(model(x), dim=1)
    return lambda point: -torch.logsumexp(clean + log_softmax(model(point), dim=1), dim=1)


def _margin(logits: Tensor, classes: Tensor) -> Tensor:
    """Logit of the class minus the highest other one; negative where the prediction differs."""
    rows = torch.arange(len(logits), device=logits.device)
    others = logits.clone()
    others[rows, classes] = -math.inf
    return logits[rows, classes] - others.max(dim=1).values


def _ascent(gradient: Tensor, norm: str) -> Tensor:
    """The direction of a step of length 1."""
    if norm == "linf":
        return gradient.sign()
    return gradient / _column(_size(gradient, "l2").clamp(min=TINY), gradient)


def _project(point: Tensor, x: Tensor, norm: str, radius: Tensor) -> Tensor:
    """Back into the ball around x, then into [0, 1]."""
    delta, limit = point - x, _column(radius, x)
    if norm == "linf":
        delta = torch.minimum(torch.maximum(delta, -limit), limit)
    else:
        delta = delta * (limit / _column(_size(delta, "l2").clamp(min=TINY), x)).clamp(max=1.0)
    return (x + delta).clamp(0.0, 1.0)


def _random_start(x: Tensor, norm: str, eps: float, generator: torch.Generator) -> Tensor:
    """A uniform point of the ball around each picture, clipped to [0, 1]."""
    if norm == "linf":
        delta = eps * (2 * torch.rand(x.shape, generator=generator) - 1)
    else:
        direction = torch.randn(x.shape, generator=generator)
        length = torch.rand(len(x), generator=generator) ** (1 / x[0].numel())
        delta = eps * _ascent(direction, "l2") * _column(length, x)
    return (x + delta.to(x)).clamp(0.0, 1.0)


def _size(delta: Tensor, norm: str) -> Tensor:
    flat = delta.flatten(1)
    return flat.abs().amax(dim=1) if norm == "linf" else flat.norm(dim=1)


def _dual(gradient: Tensor, norm: str) -> Tensor:
    flat = gradient.flatten(1)
    return flat.abs().sum(dim=1) if norm == "linf" else flat.norm(dim=1)


def _radii(x: Tensor, eps: float) -> Tensor:
    return torch.full((len(x),), eps, dtype=x.dtype, device=x.device)


def _column(values: Tensor, like: Tensor) -> Tensor:
    """One value a picture, shaped to broadcast over its pixels."""
    return values.reshape(-1, *[1] * (like.ndim - 1))


def _classes(model: nn.Module, x: Tensor, y: Tensor | None) -> Tensor:
    """The classes to move away from, checked."""
    with torch.no_grad():
        logits = model(x if y is None else x[:1])  # one picture tells how many classes there are
    if y is None:
        return logits.argmax(dim=1)
    checked = arrays.check_labels(y, n=len(x), k=logits.shape[1], name="y")
    return torch.from_numpy(checked).long().to(x.device)


def _judged(
    model: nn.Module, x: Tensor, attacked: Tensor, classes: Tensor, norm: str, settings: dict[str, Any]
) -> Attacked:
    """Predict again from the pictures that are given back: nothing computed on the way is taken on trust."""
    with torch.no_grad():
        success = model(attacked).argmax(dim=1) != classes
    return Attacked(attacked.detach(), _size(attacked - x, norm), success, settings)


@contextmanager
def _ready(model: nn.Module, x: Tensor) -> Iterator[None]:
    """Check the pictures, and run the model in evaluation mode meanwhile."""
    if not isinstance(x, Tensor):
        raise InputError(f"x is a {type(x).__name__}: give a torch tensor of pictures")
    if not (x.is_floating_point() and x.ndim >= 2 and len(x)):
        raise InputError(f"x has shape {tuple(x.shape)} and type {x.dtype}: give floating-point pictures, first axis n")
    bad = ((x < 0) | (x > 1) | x.isnan()).flatten(1).any(dim=1).nonzero()
    if len(bad):
        raise InputError(
            f"x[{int(bad[0])}] leaves [0, 1]: attack pictures before normalisation, put that into the model"
        )
    with evaluating(model):
        yield


def _check_length(step: float) -> None:
    if not arrays.is_number(step) or step <= 0:
        raise InputError(f"step is {brief(step)}: give a length above 0")
