r"""Posterior agreement as a training loss: cross-entropy + :math:`\mu` times this is the regulariser of the source.."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn.functional import log_softmax

from ..errors import InputError
from .score import agreement


def loss(logits: Tensor, shifted: Tensor, *, beta: float | None = None) -> Tensor:
    r"""Minus the mean log agreement of a batch, to be minimised beside a task loss.

    .. math:: -\frac1n \sum_i \log \sum_j \mathrm{softmax}(\beta F_i)_j\, \mathrm{softmax}(\beta F'_i)_j

    at the batch's own optimal beta, which is found first and held fixed: at a maximum its own gradient is 0.

    Parameters
    ----------
    logits, shifted : torch.Tensor of shape (n, k)
        Outputs on clean and shifted inputs, row by row the same ones; gradients flow into both.
    beta : float, optional
        A fixed inverse temperature instead of the batch's own. Where no label of the batch flips, its own beta is
        infinite and the loss is exactly 0, without a gradient: give a beta to be pulled on in that case too.

    Returns
    -------
    torch.Tensor
        A scalar in nats, at least 0; 0 is full agreement at that beta.

    Raises
    ------
    InputError
        As `agreement`; a beta that is negative or not finite.

    Examples
    --------
    >>> clean = torch.tensor([[2.0, 0.0], [0.0, 1.0]], requires_grad=True)
    >>> value = loss(clean, clean.detach().flip(0), beta=1.0)
    >>> value.backward()
    >>> round(value.item(), 4), clean.grad.shape
    (1.1269, torch.Size([2, 2]))
    """
    if beta is None:
        beta = agreement(logits, shifted).beta
        if math.isinf(beta):
            return 0.0 * (logits.sum() + shifted.sum())
    if not 0.0 <= beta < math.inf:
        raise InputError(f"beta is {beta}: give a finite inverse temperature of at least 0")
    return -torch.logsumexp(log_softmax(beta * logits, dim=1) + log_softmax(beta * shifted, dim=1), dim=1).mean()
