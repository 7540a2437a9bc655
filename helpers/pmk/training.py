r"""PM-k as a training loss: the worst frame of each window counts, not the average one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy
from torch.nn.utils.rnn import pad_sequence

from .. import arrays
from ..errors import InputError, brief


def loss(logits: Tensor, labels: Tensor, windows: Tensor | Sequence[Sequence[int]]) -> Tensor:
    r"""Mean over windows of the largest cross-entropy among the frames of a window.

    .. math:: \frac1T \sum_t \max_{x \in \mathcal{N}_k(x_t),\; y(x) = y_t} -\log \mathrm{softmax}(f(x))_{y_t}

    A window is an anchor frame :math:`x_t`, which belongs to it, and the frames around it; those whose label differs
    from the anchor's do not compete. The gradient flows through the worst frame of each window alone; of frames that
    are equally bad the first counts, so the anchor before the others.

    Frames need not come from a video: paraphrases of a sentence or re-rendered views of a scene are windows too.

    Parameters
    ----------
    logits : torch.Tensor of shape (frames, classes)
        Outputs on all frames of the batch, each computed once even where windows overlap.
    labels : torch.Tensor of int, shape (frames,)
        Class of each frame.
    windows : sequence of sequences of int, or tensor of int of shape (windows, longest)
        Each window's frames as rows of `logits`, its anchor first. In a tensor, shorter windows are filled up with -1.

    Returns
    -------
    torch.Tensor
        A scalar in nats, at least 0.

    Raises
    ------
    InputError
        Shapes or types that do not match, a label that is no class, no windows, an empty window, a row that does not
        exist, or logits that make the cross-entropy of a frame NaN.

    References
    ----------
    Shankar et al. (2021), Do Image Classifiers Generalize Across Time?, section 4.1, robust loss; after Madry et al.
    (2018). The source leaves open whether the anchor takes part; here it does, as in the score.

    Examples
    --------
    The third frame is the worst, and the only one that is pulled on.

    >>> logits = torch.tensor([[2.0, 0, 0], [0.5, 1, 0], [0, 3, 1]], requires_grad=True)
    >>> value = loss(logits, torch.tensor([0, 0, 0]), [[0, 1, 2]])
    >>> value.backward()
    >>> round(value.item(), 4), logits.grad.abs().sum(dim=1).nonzero().flatten().tolist()
    (3.1698, [2])

    Two sentences with three and two paraphrases:

    >>> logits = torch.randn(5, 4, generator=torch.Generator().manual_seed(0))
    >>> loss(logits, torch.tensor([1, 1, 1, 3, 3]), [[0, 1, 2], [3, 4]]).shape
    torch.Size([])
    """
    _check(logits, labels)
    rows = _check_windows(windows, len(logits)).to(logits.device)
    error = cross_entropy(logits, labels.long(), reduction="none")
    undefined = torch.isnan(error).nonzero().flatten()
    if len(undefined):
        frame = int(undefined[0])
        raise InputError(f"logits[{frame}] is {logits[frame].tolist()}: no cross-entropy is defined; mend or drop it")
    # -1 reads the last frame, which must not compete
    competes = (rows >= 0) & (labels[rows] == labels[rows[:, :1]])
    errors = error[rows]
    worst = errors.detach().masked_fill(~competes, -torch.inf).argmax(dim=1, keepdim=True)
    return errors.gather(1, worst).mean()


def _check(logits: Tensor, labels: Tensor) -> None:
    if not isinstance(logits, Tensor) or logits.ndim != 2 or 0 in logits.shape or not logits.is_floating_point():
        raise InputError(f"logits is {_described(logits)}: give a tensor of outputs, shape (frames, classes)")
    if not isinstance(labels, Tensor) or labels.shape != logits.shape[:1] or not _is_integer(labels):
        raise InputError(f"labels is {_described(labels)}: give a class number for each of the {len(logits)} frames")
    bad = ((labels < 0) | (labels >= logits.shape[1])).nonzero().flatten()
    if len(bad):
        first = int(bad[0])
        raise InputError(
            f"labels[{first}] is {labels[first]}: with {logits.shape[1]} classes it lies in 0..{logits.shape[1] - 1}"
        )


def _check_windows(windows: Tensor | Sequence[Sequence[int]], frames: int) -> Tensor:
    """The windows as one tensor, -1 behind the end of each."""
    if not isinstance(windows, Tensor):
        windows = _padded(windows)
    if windows.ndim != 2 or 0 in windows.shape or not _is_integer(windows):
        raise InputError(f"windows is {_described(windows)}: give whole numbers, an anchor and its frames in each row")
    bad = ((windows < -1) | (windows >= frames)).nonzero()
    if len(bad):
        row, column = bad[0].tolist()
        raise InputError(
            f"windows[{row}, {column}] is {windows[row, column]}: with {frames} frames it lies in 0..{frames - 1}"
        )
    empty = (windows[:, 0] < 0).nonzero().flatten()
    if len(empty):
        raise InputError(f"windows[{int(empty[0])}] does not begin with a frame: its anchor comes first")
    return windows.long()


def _padded(windows: Sequence[Sequence[int]]) -> Tensor:
    if not isinstance(windows, Sequence | np.ndarray) or isinstance(windows, str) or not len(windows):
        raise InputError(f"windows is {brief(windows)}: give at least one, as [[anchor, frame, ...], ...]")
    rows = []
    for i, window in enumerate(windows):
        name, wanted = f"windows[{i}]", "the rows of an anchor and its frames, from 0 up"
        row = arrays.whole_numbers(window, name, layout=wanted, ndim=1)
        if not row.size:
            raise InputError(f"{name} is empty: give {wanted}")
        arrays.refuse_where(row < 0, row, name, f"give {wanted}")
        rows.append(torch.tensor(row))
    return pad_sequence(rows, batch_first=True, padding_value=-1)


def _is_integer(tensor: Tensor) -> bool:
    return not (tensor.is_floating_point() or tensor.is_complex() or tensor.dtype == torch.bool)


def _described(value: object) -> str:
    return (
        f"of shape {tuple(value.shape)} and type {value.dtype}" if isinstance(value, Tensor) else type(value).__name__
    )
