"""Where two runs part: in the data, in training, in grading, or by arithmetic noise alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from .. import arrays
from ..errors import InputError, brief, listed
from .inputs import LIMITS, check_place
from .record import AccuracyMatrix, Run

#: What a run may declare, in the order in which a difference would spread.
STAGES = ("data", "training", "generation", "grader")
_EVIDENCE = ("matrix", "data", "training", "grader", "checkpoints", "predictions")


@dataclass(frozen=True)
class Stage:
    """What two runs declare of one stage.

    Attributes
    ----------
    name : {"data", "training", "generation", "grader"}
    status : {"same", "differs", "not declared"}
    differs : tuple of str
        The fields, tasks or cells that differ.
    one_sided : tuple of str
        Fields that only one run declares.
    """

    name: str
    status: str
    differs: tuple[str, ...] = ()
    one_sided: tuple[str, ...] = ()


@dataclass(frozen=True)
class Difference:
    """Where two runs part; see `diff`.

    Attributes
    ----------
    verdict : {"none", "data", "training", "generation", "grader", "noise", "unexplained"}
        The first stage that differs.
    text : str
        The same in words.
    stages : tuple of Stage
        All stages, in order.
    cells : int
        Cells that both runs have.
    beyond : int
        Of these, how many differ by more than the tolerance.
    largest : float
        The largest difference of a cell, second less first in size.
    first : tuple of int or None
        Earliest cell (time, task) beyond the tolerance, from 0.
    tolerance : float
    warnings : tuple of str
    """

    verdict: str
    text: str
    stages: tuple[Stage, ...]
    cells: int
    beyond: int
    largest: float
    first: tuple[int, int] | None
    tolerance: float
    warnings: tuple[str, ...]

    def __repr__(self) -> str:
        return f"Difference({self.verdict}: {self.text})"

    def to_dict(self) -> dict[str, Any]:
        """Everything as valid JSON."""
        return {
            **asdict(self),
            "stages": [
                {**asdict(stage), "differs": list(stage.differs), "one_sided": list(stage.one_sided)}
                for stage in self.stages
            ],
            "first": None if self.first is None else list(self.first),
            "warnings": list(self.warnings),
        }


def diff(run_a: Any, run_b: Any, *, tolerance: float | None = None) -> Difference:
    """Where do two runs part: in the data, in training, in grading, or by arithmetic noise alone?

    Stages are compared in the order in which a difference spreads, and the first that differs is the verdict:

    1. ``data``: a declared field of the data differs (manifest hash, order of tasks, preprocessing).
    2. ``training``: a declared field differs (seed, configuration, commit, environment), or checkpoints differ and so
       do cells beyond the tolerance.
    3. ``generation``: checkpoints agree, predictions do not, and cells differ beyond the tolerance.
    4. ``grader``: a declared field of the grader differs, or predictions agree and cells differ beyond the tolerance.
    5. ``noise``: nothing declared differs, and no cell differs beyond the tolerance.

    What differs beyond the tolerance without any of these is ``unexplained``; equal cells without any of these are
    ``none``. A checkpoint hash changes with the last bit, so checkpoints that differ while cells agree are noise.

    Parameters
    ----------
    run_a, run_b : Run, AccuracyMatrix, or mapping
        A run declares its order (data), its method, seed and information (training). A mapping has ``matrix`` (any of
        the other two) and what is known of:

        - ``data``, ``training``, ``grader``: a mapping of field to hash, number or text;
        - ``checkpoints``: T hashes, one after each task;
        - ``predictions``: a mapping of (time, task) from 0 to a hash.
    tolerance : float, optional
        How far a cell may move by arithmetic alone, in its own unit; declare what a repetition of one run gives. By
        default a millionth of the scale, which is rounding in a file or in single precision.

    Returns
    -------
    Difference
        Warned of stages before the verdict that are not declared: an earlier difference cannot be excluded then.

    Raises
    ------
    InputError
        Runs of other tasks, size, scale or metric, whose cells cannot be compared; unknown keys; a tolerance below 0.

    Examples
    --------
    >>> first, second = AccuracyMatrix([[90, 10], [70, 80]]), AccuracyMatrix([[90, 10], [65, 80]])
    >>> same = {"data": {"manifest": "3f"}, "training": {"config": "a1", "seed": 0}, "checkpoints": ["c0", "c1"]}
    >>> diff(
    ...     {"matrix": first, "grader": {"version": 1}, **same},
    ...     {"matrix": second, "grader": {"version": 2}, **same},
    ... )
    Difference(grader: version of the grader differs; 1 of 4 cells differ, first values[1, 0] by -5)
    """
    a, b = _declared(run_a, "run_a"), _declared(run_b, "run_b")
    left, right = a["matrix"], b["matrix"]
    for name in ("T", "tasks", "scale", "metric"):
        if getattr(left, name) != getattr(right, name):
            raise InputError(
                f"run_b has {name} {getattr(right, name)!r} and run_a {getattr(left, name)!r}: cells of unlike "
                "matrices are not compared"
            )
    allowed = 1e-6 * LIMITS.get(left.scale, 1.0) if tolerance is None else tolerance
    if not arrays.is_number(allowed) or allowed < 0.0:
        raise InputError(f"tolerance is {tolerance!r}: give a number of at least 0, in the unit of the cells")
    moved = right.values - left.values
    both = ~np.isnan(moved)
    far = np.argwhere(both & (np.abs(np.nan_to_num(moved)) > allowed))
    largest = float(np.max(np.abs(moved[both]), initial=0.0))
    declared = {name: _fields(name, a[name], b[name]) for name in ("data", "training", "grader")}
    hashes = {name: _fields(name, a[name], b[name]) for name in ("checkpoints", "predictions")}
    stages = _stages(declared, hashes)
    verdict, cause = _verdict(declared, hashes, len(far) > 0, largest > 0.0)
    first = (int(far[0, 0]), int(far[0, 1])) if far.size else None
    seen = "no cell differs" if largest == 0.0 else f"no cell differs by more than {allowed:g}"
    if first:
        seen = f"{len(far)} of {int(both.sum())} cells differ, first values[{first[0]}, {first[1]}] by {moved[first]:g}"
    return Difference(
        verdict=verdict,
        text=f"{cause}; {seen}",
        stages=stages,
        cells=int(both.sum()),
        beyond=len(far),
        largest=largest,
        first=first,
        tolerance=float(allowed),
        warnings=_doubts(stages, verdict, int(np.sum(left.missing != right.missing))),
    )


def _declared(run: Any, name: str) -> dict[str, Any]:
    """The matrix, and what is declared of each stage."""
    given = dict(run) if isinstance(run, Mapping) else {"matrix": run}
    unknown = [key for key in given if key not in _EVIDENCE]
    if unknown:
        raise InputError(f"{name} has {unknown[0]!r}: known are {', '.join(map(repr, _EVIDENCE))}")
    matrix = given.get("matrix")
    found: dict[str, Any] = {"data": {}, "training": {}, "grader": {}}
    if isinstance(matrix, Run):
        known = {"method": matrix.name, "seed": matrix.seed, **matrix.information}
        found["training"] = {key: value for key, value in known.items() if value is not None}
        found["data"] = {} if matrix.order is None else {"order": matrix.order}
        matrix = matrix.matrix
    if not isinstance(matrix, AccuracyMatrix):
        raise InputError(f"{name} has a matrix of type {type(matrix).__name__}: give a Run or an AccuracyMatrix")
    for key in ("data", "training", "grader"):
        if not isinstance(given.get(key, {}), Mapping):
            raise InputError(f"{name}[{key!r}] is {given[key]!r}: give a mapping of field to hash, number or text")
        for field, value in given.get(key, {}).items():
            if found[key].setdefault(field, value) != value:
                raise InputError(
                    f"{name}[{key!r}] has {field} {value!r}, its run {found[key][field]!r}: which is right?"
                )
    checkpoints = given.get("checkpoints")
    if checkpoints is not None and (not isinstance(checkpoints, list | tuple) or len(checkpoints) != matrix.T):
        raise InputError(f"{name}['checkpoints'] is {brief(checkpoints)}: give {matrix.T}, one after each task")
    predictions = given.get("predictions")
    if predictions is not None and not isinstance(predictions, Mapping):
        raise InputError(f"{name}['predictions'] is no mapping: give a hash for each (time, task)")
    for place in predictions or ():
        check_place(place, matrix.T, f"{name}['predictions']")
    numbered = {} if checkpoints is None else dict(enumerate(checkpoints))
    return {**found, "matrix": matrix, "checkpoints": numbered, "predictions": dict(predictions or {})}


def _fields(name: str, a: Mapping[Any, Any], b: Mapping[Any, Any]) -> Stage:
    shared = [key for key in a if key in b]
    differs = tuple(str(key) for key in shared if a[key] != b[key])
    one_sided = tuple(str(key) for key in {**a, **b} if (key in a) != (key in b))
    return Stage(name, "differs" if differs else "same" if shared else "not declared", differs, one_sided)


def _stages(declared: Mapping[str, Stage], hashes: Mapping[str, Stage]) -> tuple[Stage, ...]:
    """The four stages; hashes of checkpoints stand for training too, those of predictions for generation."""
    fields, checkpoints, predictions = declared["training"], hashes["checkpoints"], hashes["predictions"]
    known = [part.status for part in (fields, checkpoints) if part.status != "not declared"]
    training = Stage(
        "training",
        "differs" if "differs" in known else "same" if known else "not declared",
        (*fields.differs, *(f"checkpoint {k}" for k in checkpoints.differs)),
        fields.one_sided,
    )
    generation = Stage("generation", predictions.status, predictions.differs, predictions.one_sided)
    return declared["data"], training, generation, declared["grader"]


def _verdict(declared: Mapping[str, Stage], hashes: Mapping[str, Stage], beyond: bool, moved: bool) -> tuple[str, str]:
    """The first stage that differs, and why it is that one."""
    checkpoints, predictions = hashes["checkpoints"], hashes["predictions"]
    for name in ("data", "training"):
        if declared[name].differs:
            return name, _differ(declared[name])
    if checkpoints.differs and beyond:
        return "training", f"checkpoints differ from number {checkpoints.differs[0]} on though what is declared agrees"
    if checkpoints.status == "same" and predictions.differs and beyond:
        return "generation", f"checkpoints agree, predictions of {len(predictions.differs)} cells do not"
    if declared["grader"].differs:
        return "grader", _differ(declared["grader"])
    if predictions.status == "same" and beyond:
        return "grader", "predictions agree and their scores do not: the grader changed undeclared"
    if beyond:
        return "unexplained", "nothing declared explains the difference"
    if moved or checkpoints.differs or predictions.differs:
        return "noise", "nothing declared differs"
    return "none", "nothing differs"


def _differ(stage: Stage) -> str:
    return f"{listed(stage.differs, most=5)} of the {stage.name} {'differs' if len(stage.differs) == 1 else 'differ'}"


def _doubts(stages: Sequence[Stage], verdict: str, one_sided_cells: int) -> tuple[str, ...]:
    reach = STAGES.index(verdict) if verdict in STAGES else len(STAGES)
    found = []
    for i, stage in enumerate(stages):
        if stage.status == "not declared" and i < reach and stage.name != "generation":
            found.append(f"{stage.name} is not declared by both: a difference there cannot be excluded")
        if stage.one_sided:
            found.append(f"{listed(stage.one_sided, most=5)} of the {stage.name} is declared by one run only")
    if one_sided_cells:
        found.append(f"{one_sided_cells} cells are missing in one run only and are not compared")
    return tuple(found)
