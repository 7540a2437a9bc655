"""Test-time adaptation seen as continual learning: each shift is a task, the source is the old one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import arrays
from ..errors import InputError
from .inputs import gapped
from .stream import online_accuracy
from .value import Value, outcome


@dataclass(frozen=True)
class Adaptation:
    """How a model adapts at test time; see `adaptation`.

    Attributes
    ----------
    online : Value
        ``ocp.online``: accuracy of each batch before, or while, the model adapts to it, averaged over the stream.
    delay : Value
        ``tta.delay``: batches until the target is reached, averaged over the shifts.
    delays : tuple of int or None
        The same for each shift; None where the target was not reached before the next shift or the end.
    recovery : Value
        ``tta.recovery``: accuracy on the source after the stream less before it.
    """

    online: Value
    delay: Value
    delays: tuple[int | None, ...]
    recovery: Value

    def to_dict(self) -> dict[str, Any]:
        """Everything as valid JSON."""
        return {
            "online": self.online.to_dict(),
            "delay": self.delay.to_dict(),
            "delays": list(self.delays),
            "recovery": self.recovery.to_dict(),
        }


def adaptation(
    online: Any,
    *,
    shifts: Any,
    target: Any,
    window: int = 1,
    sizes: Any = None,
    source_before: float | None = None,
    source_after: float | None = None,
) -> Adaptation:
    r"""Online accuracy, delay of adaptation, and recovery on the source, from one stream.

    A shift is a batch at which the distribution changes; its segment ends where the next begins. From the shift at
    batch s, with w the `window`,

    .. math::

       \text{delay} = \min \Big\{ m \ge 0 : \tfrac1w \sum_{i=0}^{w-1} a_{s+m+i} \ge \text{target} \Big\}, \qquad
       \text{recovery} = a_\text{source after} - a_\text{source before}.

    A delay of 0 means that the segment was good from its first batch on. Windows lie within their segment, so that no
    batch from before the shift helps.

    Parameters
    ----------
    online : array of shape (n,)
        Accuracy of each batch as it came, in any unit; None or NaN where it was not measured.
    shifts : sequence of int
        First batch of each segment, from 0, increasing. The first may be 0: the stream starts away from the source.
    target : number, or array with one per shift
        Accuracy that counts as adapted. Declare it before the run, such as nine tenths of what a model trained on the
        shifted data reaches: a level read off the same curve would be reached by definition.
    window : int
        Batches averaged before comparing, 1 by default; more for small batches, of which one may be good by luck.
    sizes : array of shape (n,), optional
        Samples in each batch, for the online accuracy.
    source_before, source_after : number, optional
        Accuracy on held-out source data of the model before the stream, and of the adapted model after it.

    Returns
    -------
    Adaptation
        A mean delay only where every shift was adapted to: leaving out those that never were would flatter the slowest.

    Raises
    ------
    InputError
        Shifts that are outside the stream or not increasing, targets of another number, scores that are infinite or no
        numbers, a window below 1.

    Examples
    --------
    >>> found = adaptation(
    ...     [0.9, 0.9, 0.3, 0.5, 0.8, 0.8, 0.2, 0.7, 0.8],
    ...     shifts=[2, 6],
    ...     target=0.75,
    ...     source_before=0.91,
    ...     source_after=0.85,
    ... )
    >>> found.delays, found.delay.value, round(found.recovery.value, 4)
    ((2, 2), 2.0, -0.06)
    """
    values = gapped(online, "online", ndim=1)
    starts = _starts(shifts, len(values))
    levels = np.atleast_1d(arrays.real_vector(np.atleast_1d(arrays.as_array(target, "target")), "target"))
    if len(levels) not in (1, len(starts)):
        raise InputError(f"target has {len(levels)} levels for {len(starts)} shifts: give one, or one for each")
    arrays.whole_number(window, "window", least=1)
    ends = [*starts[1:], len(values)]
    segments = [values[start:end] for start, end in zip(starts, ends, strict=True)]
    found = [_delay(*pair, window) for pair in zip(segments, np.broadcast_to(levels, len(starts)), strict=True)]
    return Adaptation(
        online_accuracy(values, sizes=sizes),
        _mean_delay(found, starts),
        tuple(delay for delay, _ in found),
        _recovery(source_before, source_after),
    )


def _starts(shifts: Any, n: int) -> list[int]:
    starts = arrays.whole_numbers(shifts, "shifts", layout="the first batch of each segment", ndim=1)
    if not starts.size:
        raise InputError("shifts is empty: give the first batch of each segment, at least one")
    for i, start in enumerate(starts):
        if not (starts[i - 1] if i else -1) < start < n:
            raise InputError(f"shifts[{i}] is {start}: give increasing batches from 0 to {n - 1}")
    return [int(start) for start in starts]


def _delay(segment: np.ndarray, target: float, window: int) -> tuple[int | None, str]:
    """Batches to the target within one segment, or None and why."""
    if len(segment) < window:
        return None, f"its {len(segment)} batches are fewer than the window of {window}"
    means = np.convolve(segment, np.ones(window) / window, mode="valid")
    # a mean of equal accuracies may lie a rounding below them
    reached = np.flatnonzero(means >= target - 1e-12)
    gap = np.flatnonzero(np.isnan(segment))
    if gap.size and (not reached.size or gap[0] < reached[0] + window):
        return None, f"batch {gap[0]} of the segment was not measured"
    return (int(reached[0]), "") if reached.size else (None, f"{target:g} is not reached in {len(segment)} batches")


def _mean_delay(found: list[tuple[int | None, str]], starts: list[int]) -> Value:
    delays = [delay for delay, _ in found if delay is not None]
    coverage = (len(delays), len(found))
    for start, (delay, why) in zip(starts, found, strict=True):
        if delay is None:
            reason = f"the shift at batch {start} has no delay: {why}"
            return outcome("tta.delay", None, coverage=coverage, reason=reason, direction="lower", unit="batches")
    return outcome("tta.delay", float(np.mean(delays)), coverage=coverage, direction="lower", unit="batches")


def _recovery(before: Any, after: Any) -> Value:
    given = [value for value in (before, after) if value is not None]
    for name, value in (("source_before", before), ("source_after", after)):
        if value is not None and not arrays.is_number(value):
            raise InputError(f"{name} is {value!r}: give a finite number, or nothing where it was not measured")
    if len(given) < 2:
        missing = "source_before" if before is None else "source_after"
        return outcome("tta.recovery", None, coverage=(len(given), 2), reason=f"{missing} was not measured")
    return outcome("tta.recovery", float(after - before), coverage=(2, 2))
