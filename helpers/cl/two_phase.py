"""Hyper-parameters from the new task alone: the two-phase search of De Lange et al."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

from .. import arrays
from ..errors import InputError, brief

Hyper = float | dict[str, float]


@dataclass(frozen=True)
class Attempt:
    r"""One training of the second phase: what was tried, how well the new task was learned, and whether that sufficed.

    .. math:: \text{accepted} \iff A(\lambda) \ge \tau,

    with the threshold :math:`\tau` of `two_phase_search`.

    Attributes
    ----------
    value : float or dict of str to float
        The hyper-parameters :math:`\lambda` of this training: one number, or one for each name.
    accuracy : float or None
        Validation accuracy on the new task, in the unit that the training function returned; None for a training that
        failed, which is never counted as a number.
    accepted : bool
        Whether the accuracy reached the threshold; False for a failed training.

    References
    ----------
    De Lange et al. (2022), A continual learning survey: defying forgetting in classification tasks, IEEE TPAMI.

    Examples
    --------
    >>> found = two_phase_search({8: None, 4: 0.65, 2: 0.71, 1: 0.73}.get, 8, best=0.9, relative=False)
    >>> found.attempts[0]
    Attempt(value=8.0, accuracy=None, accepted=False)
    >>> [attempt.accepted for attempt in found.attempts]
    [False, False, True]
    """

    value: Hyper
    accuracy: float | None
    accepted: bool

    def to_dict(self) -> dict[str, Any]:
        """The fields as valid JSON; an accuracy of None reads "failed"."""
        accuracy = "failed" if self.accuracy is None else self.accuracy
        return {"value": self.value, "accuracy": accuracy, "accepted": self.accepted}


@dataclass(frozen=True)
class TwoPhase:
    """What the search chose for one task; see `two_phase_search`.

    Attributes
    ----------
    value : float or dict of str to float
        The values of the last training: those accepted, or the last ones tried. They were always trained. Start the
        next task from them.
    accepted : bool
        Whether they reached the threshold.
    accuracy : float or None
        Accuracy of that training.
    best : float
        The reference accuracy A* of the first phase.
    learning_rate : Any
        Learning rate that reached it, None where only A* was given.
    threshold : float
    relative : bool
        Whether the threshold is (1 - p) A*, or A* - p.
    attempts : tuple of Attempt
        Every training, in order.
    reason : str or None
        Why nothing was accepted.
    """

    value: Hyper
    accepted: bool
    accuracy: float | None
    best: float
    learning_rate: Any
    threshold: float
    relative: bool
    attempts: tuple[Attempt, ...]
    reason: str | None = None

    def __repr__(self) -> str:
        how = "relative" if self.relative else "absolute"
        state = "accepted" if self.accepted else "not accepted"
        done = f"{state} after {len(self.attempts)} trainings"
        return f"TwoPhase({self.value}, {done}, {how} threshold {self.threshold:.4g})"

    def to_dict(self) -> dict[str, Any]:
        """Everything as valid JSON, in the words of the report's `selection` field."""
        return {
            "protocol": "two-phase",
            "value": self.value,
            "accepted": self.accepted,
            "accuracy": "failed" if self.accuracy is None else self.accuracy,
            "best": self.best,
            "learning_rate": self.learning_rate,
            "threshold": self.threshold,
            "relative": self.relative,
            "attempts": [attempt.to_dict() for attempt in self.attempts],
            "reason": self.reason,
        }


def two_phase_search(
    train: Callable[[Hyper], float | None],
    start: float | Mapping[str, float],
    *,
    best: float | Mapping[Any, float | None],
    p: float = 0.2,
    alpha: float = 0.5,
    relative: bool = True,
    max_attempts: int = 10,
) -> TwoPhase:
    r"""Choose stability hyper-parameters for a new task without looking at any other.

    Phase 1 fine-tunes on the new task alone over a grid of learning rates; its best validation accuracy is
    :math:`A^*`. Phase 2 starts from the most stable hyper-parameters :math:`\lambda` and multiplies them by
    :math:`\alpha` until the new task is learned well enough,

    .. math:: A(\lambda) \ge (1 - p) A^* \quad\text{(relative)}, \qquad A(\lambda) \ge A^* - p \quad\text{(absolute)}.

    The paper's code is relative; some descriptions can be read as absolute, which chooses other values. Several
    hyper-parameters decay one at a time from their common start, then all together, which is the next start: (5, 2) is
    followed by (2.5, 2), (5, 1), (2.5, 1), (1.25, 1) and so on.

    Parameters
    ----------
    train : function
        Trains on the new task with the given value (or dict of values) and returns validation accuracy on that task.
        None or NaN is a training that failed, such as one that diverged: it counts as an attempt, never as a number.
    start : number, or mapping of name to number
        The largest values of the hyper-parameters; for later tasks the `value` of the task before.
    best : float, or mapping of learning rate to accuracy
        :math:`A^*`, or the grid of phase 1, from which the best is taken (of equal ones the first); None is a failed
        training there too.
    p : float
        Tolerated drop, in [0, 1), 0.2 by default as in the paper; for the absolute reading in the unit of accuracy, not
        above :math:`A^*`.
    alpha : float
        Decay, in (0, 1), 0.5 by default as in the paper.
    relative : bool
        True by default, as in the released code.
    max_attempts : int
        Trainings of phase 2, 10 by default as in the released code; after them the last one is kept, marked as not
        accepted.

    Returns
    -------
    TwoPhase

    Raises
    ------
    InputError
        A start that is not positive, an accuracy that is negative, infinite or no number, a grid in which all failed,
        an option out of range.

    References
    ----------
    De Lange et al. (2022), A continual learning survey: defying forgetting in classification tasks, IEEE TPAMI.

    Examples
    --------
    >>> accuracy = {8: 0.50, 4: 0.65, 2: 0.71, 1: 0.73}
    >>> two_phase_search(accuracy.get, 8, best=0.9)
    TwoPhase(1.0, accepted after 4 trainings, relative threshold 0.72)
    >>> two_phase_search(accuracy.get, 8, best=0.9, relative=False)
    TwoPhase(2.0, accepted after 3 trainings, absolute threshold 0.7)
    """
    if not callable(train):
        raise InputError(f"train is {brief(train)}: give a function that trains and returns an accuracy")
    arrays.truth(relative, "relative")
    values = _start(start)
    reference, rate = _best(best)
    arrays.whole_number(max_attempts, "max_attempts", least=1)
    _between(alpha, "alpha", low=0.0, high=1.0)
    if not arrays.is_number(p) or not 0.0 <= p < (1.0 if relative else math.inf):
        raise InputError(f"p is {p!r}: give a tolerated drop, from 0 to below 1 where it is relative")
    threshold = (1.0 - p) * reference if relative else reference - p
    if threshold < 0.0:
        raise InputError(f"p is {p}, above the best accuracy {reference}: every training would be accepted")
    single = not isinstance(start, Mapping)
    attempts: list[Attempt] = []
    for tried in _decays(values, alpha):
        given: Hyper = tried[""] if single else dict(tried)
        accuracy = _accuracy(train(given if single else dict(tried)), f"train({given})")
        # a threshold such as .8 * .9 lies a rounding above .72
        accepted = accuracy is not None and accuracy >= threshold - 1e-12 * max(1.0, threshold)
        attempts.append(Attempt(given, accuracy, accepted))
        if accepted or len(attempts) == max_attempts:
            break
    last = attempts[-1]
    reason = (
        None if last.accepted else f"none of {max_attempts} trainings reached {threshold:.6g}: the last one is kept"
    )
    return TwoPhase(
        last.value, last.accepted, last.accuracy, reference, rate, threshold, relative, tuple(attempts), reason
    )


def _decays(start: dict[str, float], alpha: float) -> Iterator[dict[str, float]]:
    """The start, then for ever each value decayed alone and all of them together, from where the round began."""
    yield start
    while True:
        decayed = {name: alpha * value for name, value in start.items()}
        if len(start) > 1:
            yield from ({**start, name: value} for name, value in decayed.items())
        yield decayed
        start = decayed


def _start(start: Any) -> dict[str, float]:
    named = dict(start) if isinstance(start, Mapping) else {"": start}
    if not named:
        raise InputError("start is empty: name at least one hyper-parameter")
    for name, value in named.items():
        if not arrays.is_number(value) or value <= 0.0:
            where = f"start[{name!r}]" if name != "" else "start"
            raise InputError(f"{where} is {value!r}: give a positive number, the most stable one to try")
    return {name: float(value) for name, value in named.items()}


def _best(best: Any) -> tuple[float, Any]:
    if not isinstance(best, Mapping):
        value = _accuracy(best, "best")
        if value is None:
            raise InputError("best is missing: fine-tune on the new task first, or give the grid of phase 1")
        return value, None
    found = {rate: _accuracy(value, f"best[{rate!r}]") for rate, value in best.items()}
    defined = {rate: value for rate, value in found.items() if value is not None}
    if not defined:
        raise InputError("best has no training that succeeded: widen the grid of learning rates")
    rate = max(defined, key=defined.__getitem__)
    return defined[rate], rate


def _accuracy(value: Any, name: str) -> float | None:
    if value is None or (isinstance(value, Real) and math.isnan(value)):
        return None
    if not arrays.is_number(value) or value < 0.0:
        raise InputError(f"{name} is {value!r}: give an accuracy of at least 0, and None for a training that failed")
    return float(value)


def _between(value: Any, name: str, *, low: float, high: float) -> None:
    if not arrays.is_number(value) or not low < value < high:
        raise InputError(f"{name} is {value!r}: give a number between {low:g} and {high:g}")
