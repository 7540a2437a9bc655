r"""Which batches a busy pipeline serves: the recursion of the discrete protocol in whole nanoseconds.

A batch may be picked up when the one before it is finished. Of the batches that have arrived by then the newest
`buffer` are waiting, the older ones are lost, and the longest waiting one is served:

.. math:: p_{j+1} = \max(p_j + 1,\; \#\{i : t_i \le f_j\} - q), \qquad s_{j+1} = \max(f_j, t_{p_{j+1}}),
   \qquad f_j = s_j + \delta_{p_j}.

With ``tie="buffer"`` a batch that arrives in the very nanosecond of a finish is not there yet (:math:`t_i < f_j`);
without a buffer the next batch is the first that arrives at :math:`f_j` or later, which is the same formula. A fixed
period needs no flooring of a quotient of floats: times are integers, and so is their quotient.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

TIES = ("arrival", "buffer")


def serve(
    duration: Callable[[int], int], arrival: Sequence[int], *, buffer: int, tie: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The batches that are served, and when each is started and finished: three int64 arrays of equal length.

    `duration` is asked once for each batch that is picked up, in order, how long it takes.
    """
    inclusive, n = tie == "arrival" and buffer > 0, len(arrival)
    served, starts, finishes = [], [], []
    batch, arrived, free = 0, 0, 0
    while batch < n:
        start = max(free, arrival[batch])
        free = start + duration(batch)
        served.append(batch)
        starts.append(start)
        finishes.append(free)
        horizon = free + inclusive
        while arrived < n and arrival[arrived] < horizon:
            arrived += 1
        batch = max(batch + 1, arrived - buffer)
    return np.array(served), np.array(starts, dtype=np.int64), np.array(finishes, dtype=np.int64)


def serve_many(latency: np.ndarray, period: np.ndarray, *, buffer: int, tie: str) -> np.ndarray:
    """The same for t traces at s fixed periods, all stepped together: whether each batch is served.

    Parameters
    ----------
    latency : numpy.ndarray of int64, shape (t, n)
    period : numpy.ndarray of int64, shape (s,)

    Returns
    -------
    numpy.ndarray of bool, shape (t, s, n)
    """
    traces, n = latency.shape
    served = np.zeros((traces * len(period), n), dtype=bool)
    row, trace = np.arange(len(served)), np.repeat(np.arange(traces), len(period))
    gap = np.tile(period, traces)
    batch, start = np.zeros_like(row), np.zeros_like(row)
    while row.size:
        served[row, batch] = True
        finish = start + latency[trace, batch]
        arrived = finish // gap + 1 if tie == "arrival" and buffer > 0 else -(-finish // gap)
        batch = np.maximum(batch + 1, np.minimum(arrived, n) - buffer)
        going = batch < n
        if not going.all():
            row, trace, gap, batch, finish = (values[going] for values in (row, trace, gap, batch, finish))
        start = np.maximum(finish, batch * gap)
    return served.reshape(traces, len(period), n)


def work_through(
    served: Sequence[int], latency: Sequence[int], arrival: Sequence[int]
) -> tuple[np.ndarray, np.ndarray]:
    """When each batch that was served is started and finished: as soon as it is there and the pipeline is free."""
    start, finish, free = [], [], 0
    for batch in served:
        start.append(max(free, arrival[batch]))
        free = start[-1] + latency[batch]
        finish.append(free)
    return np.array(start, dtype=np.int64), np.array(finish, dtype=np.int64)
