"""Which of two numbers is better, where that can be asked at all."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from numbers import Real
from typing import Any

from ..errors import InputError
from .metrics import look_up
from .record import INFORMATION, Run
from .score import metric
from .value import Value

#: What two values must share, and how to say that they do not.
_ALIKE = {
    "id": "they are different formulas",
    "baseline": "they subtract different baselines",
    "observed_only": "one leaves missing cells out of its mean",
    "metric": "they measure different things",
    "unit": "they are on different scales",
    "direction": "better means something else",
    "scenario": "the model was told different things",
}


@dataclass(frozen=True)
class Comparison:
    """Two values of one metric.

    Attributes
    ----------
    id : str
        The formula of both.
    difference : float or None
        First less second; None with `reason` where one is undefined.
    better : {"first", "second", "neither"} or None
        By the direction of the metric; None where it has none, or a value is undefined.
    unit : str
        Of the difference.
    reason : str or None
        Why there is no difference.
    """

    id: str
    difference: float | None
    better: str | None
    unit: str
    reason: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The fields as valid JSON."""
        return asdict(self)


def compare(first: Value, second: Value) -> Comparison:
    r"""The difference of two values of one metric; numbers that are not comparable are refused.

    .. math:: d = x_\text{first} - x_\text{second},

    the first is better where d has the sign of the metric's direction. The same name stands for formulas of opposite
    sign, other divisors and other scales (`METRICS` lists them): a difference across them would be a number without
    meaning. The difference says nothing of chance; `paired` compares the runs of two methods.

    Parameters
    ----------
    first, second : Value
        What `metric` returned for two runs. Their names of tasks may stand in another order, as under another order of
        training.

    Returns
    -------
    Comparison
        The difference in the unit of the two values, and which is better; None with the reason where one is undefined.

    Raises
    ------
    InputError
        Something else than a Value; different ids, baselines, metrics, units, directions, declared scenarios or tasks,
        or a mean over the observed cells beside a strict one; the message names the field.

    Notes
    -----
    The rule is this project's own; the sources of the formulas are in `METRICS`.

    Examples
    --------
    >>> from helpers import cl
    >>> er, ewc = cl.AccuracyMatrix([[90, 5], [80, 90]]), cl.AccuracyMatrix([[90, 5], [20, 90]])
    >>> cl.compare(cl.metric("bwt.gem", er), cl.metric("bwt.gem", ewc))
    Comparison(id='bwt.gem', difference=60.0, better='first', unit='percentage points', reason=None)
    >>> cl.compare(cl.metric("bwt.gem", er), cl.metric("bwt.clear", ewc))
    Traceback (most recent call last):
    ...
    helpers.errors.InputError: id is 'bwt.gem' and 'bwt.clear': they are different formulas, compare like with like
    """
    for name, value in (("first", first), ("second", second)):
        if not isinstance(value, Value):
            raise InputError(
                f"{name} is of type {type(value).__name__}: give what cl.metric(id, matrix) returns; cl.paired takes "
                "the runs of two methods"
            )
    refuse_unlike(first, second)
    for value in (first, second):
        if value.value is None:
            return Comparison(first.id, None, None, first.unit, value.reason)
    assert first.value is not None
    assert second.value is not None
    difference = first.value - second.value
    return Comparison(first.id, difference, _better(difference, first.direction), first.unit)


def refuse_unlike(first: Value, second: Value) -> None:
    """Refuse two values that no difference can be taken of, naming the field."""
    for field, fault in _ALIKE.items():
        one, other = getattr(first, field), getattr(second, field)
        if one != other:
            raise InputError(f"{field} is {one!r} and {other!r}: {fault}, compare like with like")
    if set(first.tasks) != set(second.tasks):
        raise InputError(
            f"tasks are {', '.join(first.tasks)} and {', '.join(second.tasks)}: values of different tasks are not "
            "compared"
        )


def _better(difference: float, direction: str) -> str | None:
    if direction == "none":
        return None
    if difference == 0.0:
        return "neither"
    return "first" if (difference > 0.0) == (direction == "higher") else "second"


@dataclass(frozen=True)
class Place:
    """One method in a ranking: its place from 1 (ties share one), the mean of its runs, and how many there are."""

    place: int
    name: str
    value: float
    runs: int


@dataclass(frozen=True)
class Ranking:
    """Methods in order, best first.

    Attributes
    ----------
    id, unit, direction : str
        What they are ordered by.
    places : tuple of Place
        Best first.
    undeclared : tuple of str
        Kinds of information that no run declares, and "budget" if none has one: the order holds only if they were the
        same for all.
    """

    id: str
    unit: str
    direction: str
    places: tuple[Place, ...]
    undeclared: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """The fields as valid JSON."""
        return {
            **asdict(self),
            "places": [asdict(place) for place in self.places],
            "undeclared": list(self.undeclared),
        }


def rank(
    runs: Sequence[Run], id: str = "acc.final", *, baseline: str | None = None, tolerance: float = 0.05
) -> Ranking:
    """Order methods by one metric, if they were told the same and used as much.

    Parameters
    ----------
    runs : sequence of Run
        Runs of one name are averaged.
    id : str
        The metric; a mean of the last row by default.
    baseline : str, optional
        As for `metric`.
    tolerance : float
        By how much any two budgets may differ, relative to the larger one; 0.05 by default, because wall-clock time is
        not reproduced more closely. 0 asks for equal budgets.

    Returns
    -------
    Ranking

    Raises
    ------
    InputError
        Runs whose information or budget differs (declared by one and not by the other counts as a difference), whose
        values are not comparable (see `compare`), an undefined value, or a metric that has no better side. The message
        names the field and both runs.

    Examples
    --------
    >>> from helpers import cl
    >>> er = cl.Run(cl.AccuracyMatrix([[90, 5], [80, 90]]), "ER", information={"task_id_at_test": False})
    >>> ewc = cl.Run(cl.AccuracyMatrix([[90, 5], [20, 90]]), "EWC", information={"task_id_at_test": True})
    >>> cl.rank([er, ewc])
    Traceback (most recent call last):
    ...
    helpers.errors.InputError: information['task_id_at_test'] is False for 'ER' and True for 'EWC': a score alone does \
not order them
    """
    if not isinstance(runs, Sequence) or not runs or not all(isinstance(run, Run) for run in runs):
        raise InputError("runs holds something else than Run: give cl.Run(matrix, name, information=..., budget=...)")
    if not isinstance(tolerance, Real) or not 0.0 <= tolerance < 1.0:
        raise InputError(f"tolerance is {tolerance!r}: give a relative difference from 0 to below 1")
    if look_up(id).direction == "none":
        raise InputError(f"id is {id!r}, which has no better side: it describes")
    values = [metric(id, run.matrix, baseline=baseline) for run in runs]
    for one, other in itertools.combinations(runs, 2):  # both may be near a third and far from each other
        _refuse_different(one, other, tolerance)
    for value in values[1:]:
        refuse_unlike(values[0], value)
    for run, value in zip(runs, values, strict=True):
        if value.value is None:
            raise InputError(f"{id} of {run.name!r} is undefined: {value.reason}")
    undeclared = [key for key in INFORMATION if all(key not in run.information for run in runs)]
    undeclared += [] if any(run.budget for run in runs) else ["budget"]
    direction = values[0].direction
    return Ranking(id, values[0].unit, direction, _places(runs, values, direction), tuple(undeclared))


def _places(runs: Sequence[Run], values: Sequence[Value], direction: str) -> tuple[Place, ...]:
    scores: dict[str, list[float]] = {}
    for run, value in zip(runs, values, strict=True):
        assert value.value is not None
        scores.setdefault(run.name, []).append(value.value)
    means = {name: math.fsum(each) / len(each) for name, each in scores.items()}
    ordered = sorted(means, key=lambda name: means[name], reverse=direction == "higher")
    found: list[Place] = []
    for position, name in enumerate(ordered, start=1):
        tied = bool(found) and found[-1].value == means[name]
        found.append(Place(found[-1].place if tied else position, name, means[name], len(scores[name])))
    return tuple(found)


def _refuse_different(first: Run, second: Run, tolerance: float) -> None:
    for kind in ("information", "budget"):
        one, other = getattr(first, kind), getattr(second, kind)
        for key in sorted({*one, *other}):
            slack = tolerance if kind == "budget" else 0.0
            if key not in one or key not in other or not _same(one[key], other[key], slack):
                held = [repr(part[key]) if key in part else "not declared" for part in (one, other)]
                raise InputError(
                    f"{kind}[{key!r}] is {held[0]} for {first.name!r} and {held[1]} for {second.name!r}: a score alone "
                    "does not order them"
                )


def _same(one: Any, other: Any, tolerance: float) -> bool:
    """Equal, or for numbers that are no truth values as close as the tolerance."""
    if isinstance(one, bool) or isinstance(other, bool) or isinstance(one, str) or isinstance(other, str):
        return type(one) is type(other) and bool(one == other)
    return bool(abs(one - other) <= tolerance * max(abs(one), abs(other)))
