"""The formulas on an accuracy matrix: what each adds up, and over which cells.

Most are weighted sums of cells, so each function here states the weights for T tasks, once, and a thousand matrices are
scored by one product. Weights are whole numbers over one divisor wherever the formula allows it: sums of whole scores
are then exact, and a transfer of 0 is 0. The two peaks, on which five kinds of forgetting rest, stand at the
end.

Notation: :math:`A_{k,j}` is the score on task j after training task k, both from 1 to T; :math:`b_j` a baseline;
:math:`a^*_k` the joint reference. Sources are with the ids, in `helpers.cl.metrics`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Sum:
    r""":math:`\big(\sum_{k,j} c_{k,j} A_{k,j} + \sum_j v_j x_j\big) / d`, where x is the baseline or the reference.

    Attributes
    ----------
    cells : numpy.ndarray of shape (T, T), or (R, T, T) where R runs have weights of their own
        The weights c; a cell is needed where its weight is not 0.
    divisor : float
        d.
    against : {"", "baseline", "reference"}
        What x is, if anything.
    vector : numpy.ndarray of shape (T,), or None
        The weights v.
    """

    cells: np.ndarray
    divisor: float
    against: str = ""
    vector: np.ndarray | None = None

    @property
    def needed(self) -> np.ndarray:
        """Which cells must be there, bool of shape (T, T)."""
        return self.cells != 0.0


def final_accuracy(count: int) -> Sum:
    r"""Mean of the last row, :math:`\frac{1}{T} \sum_j A_{T,j}`.

    Examples
    --------
    >>> final_accuracy(2).cells.astype(int)
    array([[0, 0],
           [1, 1]])
    """
    cells = np.zeros((count, count))
    cells[-1] = 1.0
    return Sum(cells, count)


def backward_transfer(count: int) -> Sum:
    r""":math:`\frac{1}{T-1} \sum_{i<T} (A_{T,i} - A_{i,i})`: the end against the moment after training.

    Examples
    --------
    >>> backward_transfer(3).cells.astype(int)
    array([[-1,  0,  0],
           [ 0, -1,  0],
           [ 1,  1,  0]])
    """
    cells = np.zeros((count, count))
    cells[-1] = 1.0
    return Sum(cells - np.eye(count), count - 1)  # the last task's own term cancels


def backward_transfer_by_t(count: int) -> Sum:
    r"""The same sum over T, as if the last task, which cannot have changed, were one more: GEM's script, TRACE."""
    return Sum(backward_transfer(count).cells, count)


def avalanche_forgetting(count: int) -> Sum:
    r""":math:`\frac{1}{T-1} \sum_{i<T} (A_{i,i} - A_{T,i})`: minus backward transfer, without any maximum."""
    return Sum(-backward_transfer(count).cells, count - 1)


def forward_transfer(count: int) -> Sum:
    r""":math:`\frac{1}{T-1} \sum_{i=2}^{T} (A_{i-1,i} - b_i)`: before training a task, against a baseline."""
    vector = -np.ones(count)
    vector[0] = 0.0
    return Sum(np.eye(count, k=1), count - 1, "baseline", vector)


def forward_transfer_by_t(count: int) -> Sum:
    """The same sum over T, as GEM's script has it."""
    plain = forward_transfer(count)
    return Sum(plain.cells, count, plain.against, plain.vector)


def below_diagonal(count: int) -> Sum:
    r""":math:`\frac{2}{T(T-1)} \sum_{k>j} A_{k,j}`: CLEAR's backward transfer, from which nothing is subtracted."""
    return _mean_of(np.tri(count, k=-1))


def above_diagonal(count: int) -> Sum:
    r""":math:`\frac{2}{T(T-1)} \sum_{k<j} A_{k,j}`: forward transfer of CLEAR and of Díaz-Rodríguez."""
    return _mean_of(np.tri(count, k=-1).T)


def diagonal(count: int) -> Sum:
    r""":math:`\frac{1}{T} \sum_k A_{k,k}`: how well each task is learned when its turn comes."""
    return _mean_of(np.eye(count))


def next_domain(count: int) -> Sum:
    r""":math:`\frac{1}{T-1} \sum_{k<T} A_{k,k+1}`: the task that comes next, before it is trained."""
    return _mean_of(np.eye(count, k=1))


def on_and_below_diagonal(count: int) -> Sum:
    r""":math:`\frac{2}{T(T+1)} \sum_{k \ge j} A_{k,j}`: every task at every moment since it was trained."""
    return _mean_of(np.tri(count))


def backward_transfer_at_all_times(count: int) -> Sum:
    r""":math:`\frac{2}{T(T-1)} \sum_{k>j} (A_{k,j} - A_{j,j})`: Díaz-Rodríguez averages over every later moment."""
    below = np.tri(count, k=-1)
    return Sum(below - np.diag(below.sum(axis=0)), below.sum())


def mean_of_accuracies(count: int) -> Sum:
    r""":math:`\frac{1}{T} \sum_k \frac{1}{k} \sum_{j \le k} A_{k,j}`: the mean over time of the mean over tasks."""
    return Sum(np.tri(count) / np.arange(1, count + 1)[:, None], count)


def incremental_accuracy(samples: np.ndarray) -> Sum:
    r""":math:`\frac{1}{T} \sum_k \sum_{j \le k} n_{k,j} A_{k,j} / \sum_{j \le k} n_{k,j}`: by samples seen so far.

    `samples` has shape (..., T, T), and so have the weights: runs may have test sets of their own.
    """
    count = samples.shape[-1]
    # a cell without samples is missing and still needed, so its weight must not be 0
    seen = np.maximum(samples, 1) * np.tri(count)
    return Sum(seen / seen.sum(axis=-1, keepdims=True), count)


def weighted_final_accuracy(classes: np.ndarray) -> Sum:
    r""":math:`\sum_j c_j A_{T,j} / \sum_j c_j`: the last row by classes :math:`c_j` per task, shape (..., T)."""
    cells = np.zeros((*classes.shape, classes.shape[-1]))
    cells[..., -1, :] = classes / classes.sum(axis=-1, keepdims=True)
    return Sum(cells, 1.0)


def intransigence(count: int) -> Sum:
    r""":math:`a^*_T - A_{T,T}`: what a jointly trained model reaches on the newest task, and this one does not."""
    cells, vector = np.zeros((count, count)), np.zeros(count)
    cells[-1, -1], vector[-1] = -1.0, 1.0
    return Sum(cells, 1.0, "reference", vector)


def _mean_of(cells: np.ndarray) -> Sum:
    return Sum(cells, cells.sum())


def history(count: int, *, last: bool = False) -> np.ndarray:
    """Cells that forgetting needs: each old task from its own training on; with `last` the newest task's, too.

    What came before a task was trained may be missing, and the maximum then runs over what is there. A missing cell
    after it may have held the peak, so the peak is unknown.

    Examples
    --------
    >>> history(3).astype(int)
    array([[1, 0, 0],
           [1, 1, 0],
           [1, 1, 0]])
    """
    cells = np.tri(count, dtype=bool)
    cells[-1, -1] = last
    return cells


def peak_forgetting(cells: np.ndarray) -> np.ndarray:
    r""":math:`f_j = \max_{l<T} A_{l,j} - A_{T,j}`: from the best moment before, trained or not, to the end.

    Parameters
    ----------
    cells : numpy.ndarray of shape (..., T, T)
        Higher is better; NaN is skipped by the maximum.

    Returns
    -------
    numpy.ndarray of shape (..., T)
        Negative where the end is the best of all. The newest task, which has nothing to forget yet, stands last.

    Examples
    --------
    >>> peak_forgetting(np.array([[90, 12, 9], [92, 88, 14], [75, 63, 93.0]]))
    array([ 17.,  25., -79.])
    """
    return np.fmax.reduce(cells[..., :-1, :], axis=-2) - cells[..., -1, :]


def peak_forgetting_since_training(cells: np.ndarray) -> np.ndarray:
    r""":math:`f_j = \max_{j \le l < T} A_{l,j} - A_{T,j}` for j < T: only moments since the task was trained count.

    Shapes as for `peak_forgetting`, without the newest task, which has no such moment.
    """
    peak = np.array(cells[..., -2, :-1])  # after the last old task all of them are trained
    for time in range(cells.shape[-1] - 2):
        trained = peak[..., : time + 1]
        np.fmax(trained, cells[..., time, : time + 1], out=trained)
    return peak - cells[..., -1, :-1]
