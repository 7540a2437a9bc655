"""Several metrics side by side: one matrix each, changes outside the stream, and no weighted total."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from .. import arrays
from ..errors import InputError, brief
from .inputs import LARGEST
from .record import AccuracyMatrix
from .score import metric
from .value import Value

#: What is asked outside the stream, and the id of its change.
OUTSIDE = {"general": "trace.dG", "instruction": "trace.dI", "safety": "trace.dS"}
DIRECTIONS = ("higher", "lower")
NO_INTERVAL = "the probes are chosen, not drawn: train again with other seeds for an interval"

Probes = Mapping[str, float | None] | Sequence[float | None]


@dataclass(frozen=True)
class Families(Mapping[str, AccuracyMatrix]):
    """One matrix for each family of metrics, such as capability, quality, calibration, refusal, cost.

    A family's metric is compared with the same metric of the same family only: nothing here adds families up.

    Attributes
    ----------
    matrices : mapping of str to AccuracyMatrix
        All over the same tasks in the same order.

    Raises
    ------
    InputError
        No matrix, something that is none, or matrices over different tasks.

    Examples
    --------
    >>> families = Families({
    ...     "capability": AccuracyMatrix([[90, 12], [70, 88]]),
    ...     "refusal": AccuracyMatrix([[2, 3], [9, 4]], direction="lower", metric="refusals"),
    ... })
    >>> {name: value.value for name, value in families.metric("bwt.gem").items()}
    {'capability': -20.0, 'refusal': -7.0}
    """

    matrices: Mapping[str, AccuracyMatrix]

    def __post_init__(self) -> None:
        if not isinstance(self.matrices, Mapping) or not self.matrices:
            raise InputError("matrices is empty or no mapping: give one matrix for each family by its name")
        first_name, first = next(iter(self.matrices.items()))
        for name, matrix in self.matrices.items():
            if not isinstance(name, str):
                raise InputError(f"matrices has the family {name!r}: name it by a text")
            if not isinstance(matrix, AccuracyMatrix):
                raise InputError(f"matrices[{name!r}] is {type(matrix).__name__}: give an AccuracyMatrix")
            if matrix.tasks != first.tasks:
                raise InputError(
                    f"matrices[{name!r}] has the tasks {', '.join(matrix.tasks)} and {first_name!r} has "
                    f"{', '.join(first.tasks)}: all families are measured on the same tasks in the same order"
                )

    def __getitem__(self, name: str) -> AccuracyMatrix:
        return self.matrices[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.matrices)

    def __len__(self) -> int:
        return len(self.matrices)

    def metric(self, id: str, **options: Any) -> dict[str, Value]:
        """One metric of every family, each by itself; options as for `cl.metric`.

        Raises
        ------
        InputError
            As `cl.metric` does.
        """
        return {name: metric(id, matrix, **options) for name, matrix in self.matrices.items()}

    def to_dict(self) -> dict[str, Any]:
        """The matrices by family, as valid JSON."""
        return {name: matrix.to_dict() for name, matrix in self.matrices.items()}


@dataclass(frozen=True)
class Delta:
    """What the whole sequence did to one ability outside it.

    Attributes
    ----------
    family, id : str
        "general", "instruction" or "safety", and trace.dG, trace.dI or trace.dS.
    value : float or None
        Mean change over the probes, later less earlier, in the unit of the scores; None with `reason`.
    by_probe : dict of str to (float or None)
        The change of each probe.
    coverage : tuple of int
        Probes that were scored both times, and probes there are.
    direction : {"higher", "lower"}
        Which scores are better.
    improved : bool or None
        Whether the change is for the better; None for no change or an undefined one.
    reason : str or None
        Why there is no value; with a value, why there is no interval.
    """

    family: str
    id: str
    value: float | None
    by_probe: dict[str, float | None]
    coverage: tuple[int, int]
    direction: str
    improved: bool | None
    reason: str | None

    def to_dict(self) -> dict[str, Any]:
        """The fields as valid JSON."""
        return {**asdict(self), "coverage": list(self.coverage)}


def deltas(
    before: Mapping[str, Probes], after: Mapping[str, Probes], *, direction: str | Mapping[str, str] = "higher"
) -> dict[str, Delta]:
    r"""Changes of general ability, instruction following and safety, each by itself.

    .. math:: \Delta R = \frac{1}{M} \sum_{i=1}^{M} (R_{T,i} - R_{0,i})

    over the M probes of a family: a probe's score after the sequence, :math:`R_{T,i}`, less its score before it,
    :math:`R_{0,i}`. There is no total over families: a gain in one is no price for a loss in another.

    Parameters
    ----------
    before, after : mapping of str to probes
        By family: "general", "instruction", "safety"; the M scores of its probes by name, or as lists in the same
        order, in any unit that is the same both times. None where a probe was not scored.
    direction : {"higher", "lower"} or mapping of str to these
        Which scores are better, for all families or for each: "higher" by default, as for the accuracies and win rates
        of TRACE; "lower" for violation rates or losses. The sign of the change is left as it is.

    Returns
    -------
    dict of str to Delta
        In the order given, each in the unit of its scores. One probe that was not scored both times leaves its family
        undefined, for a mean over the others would be another number.

    Raises
    ------
    InputError
        Another family, families or probes that the two sides do not share, no probes, scores that are not finite, a
        direction that is missing or neither of the two.

    References
    ----------
    Wang et al. (2023), TRACE: A Comprehensive Benchmark for Continual Learning in Large Language Models.

    Examples
    --------
    >>> found = deltas({"general": [45, 60, 28]}, {"general": [40, 55, 30]})
    >>> round(found["general"].value, 3), found["general"].improved
    (-2.667, False)
    """
    for name, side in (("before", before), ("after", after)):
        if not isinstance(side, Mapping) or not side:
            raise InputError(
                f"{name} is {brief(side)}: give the probes by family, one of {', '.join(OUTSIDE)} at least"
            )
        for family in side:
            if family not in OUTSIDE:
                raise InputError(f"{name} has {family!r}: the families are {', '.join(OUTSIDE)}")
    if set(before) != set(after):
        lacking = sorted(set(before) ^ set(after))[0]
        raise InputError(f"{lacking!r} is in one of before and after only: score the same probes both times")
    return {family: _delta(family, before[family], after[family], _direction(direction, family)) for family in before}


def _delta(family: str, before: Probes, after: Probes, direction: str) -> Delta:
    first, last = _named(before, f"before[{family!r}]"), _named(after, f"after[{family!r}]")
    if set(first) != set(last):
        lacking = sorted(set(first) ^ set(last))[0]
        raise InputError(f"probe {lacking!r} of {family!r} was given on one side only: give None where it was not run")
    changes = {name: _less(last[name], first[name]) for name in first}
    known = [change for change in changes.values() if change is not None]
    coverage = (len(known), len(changes))
    if len(known) < len(changes):
        lacking = next(name for name, change in changes.items() if change is None)
        reason = f"probe {lacking!r} was not scored both times"
        return Delta(family, OUTSIDE[family], None, changes, coverage, direction, None, reason)
    value = math.fsum(known) / len(known)
    improved = None if value == 0 else (value > 0) == (direction == "higher")
    return Delta(family, OUTSIDE[family], value, changes, coverage, direction, improved, NO_INTERVAL)


def _less(later: float | None, earlier: float | None) -> float | None:
    return None if later is None or earlier is None else later - earlier


def _named(probes: Any, name: str) -> dict[str, float | None]:
    if isinstance(probes, str) or not isinstance(probes, Mapping | Sequence) or not probes:
        raise InputError(f"{name} is {probes!r}: give the probes' scores, by name or in a list, at least one")
    pairs = probes.items() if isinstance(probes, Mapping) else enumerate(probes, start=1)
    scores: dict[str, float | None] = {}
    for key, value in pairs:
        if value is not None and not (arrays.is_number(value) and abs(value) <= LARGEST):
            raise InputError(f"{name}[{key!r}] is {brief(value)}: give a finite score, or None where it was not run")
        scores[str(key)] = None if value is None else float(value)
    return scores


def _direction(direction: Any, family: str) -> str:
    chosen = direction.get(family) if isinstance(direction, Mapping) else direction
    if chosen not in DIRECTIONS:
        raise InputError(f"direction for {family!r} is {chosen!r}: say 'higher' or 'lower', which scores are better")
    return str(chosen)
