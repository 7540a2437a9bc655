"""The record of a continual run: one score for every moment and task, and what makes the numbers comparable."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np

from .. import arrays, records
from ..errors import InputError, located
from ..records import Field, Schema
from .inputs import (
    LIMITS,
    check_cells,
    check_notes,
    check_place,
    check_reasons,
    check_samples,
    check_series,
    check_tasks,
    check_text,
    check_whole,
    is_plain,
    stored_reasons,
)

SCALES = ("percent", "fraction", "free")
DIRECTIONS = ("higher", "lower")
SCENARIOS = (
    "task",
    "domain",
    "class",
    "task-free",
    "continual-pretraining",
    "test-time",
    "instruction",
)
BASELINES = ("random-init", "old-zero-shot", "interface-only", "single-task", "chance")
#: What a method was told: methods that were told different things are not ranked by a score alone.
INFORMATION = (
    "task_id_at_train",
    "task_id_at_test",
    "boundary_at_train",
    "boundary_source",
    "detector_delay",
    "stored_data",
)
NOT_GIVEN = "not given"
#: What a file holds of a matrix as plain text.
SETTINGS = ("scale", "direction", "scenario", "metric", "name")

SCHEMA = Schema(
    "cl-matrix",
    1,
    {
        "values": Field("float", ("time", "task"), "score", finite=False),
        "baseline/*": Field("float", ("task",), "score", optional=True, finite=False),
        "reference": Field("float", ("task",), "score", optional=True, finite=False),
        "n": Field("int", ("time", "task"), "samples", optional=True),
        "classes": Field("int", ("task",), "classes", optional=True),
    },
)


@dataclass(frozen=True, eq=False, init=False)
class AccuracyMatrix:
    r"""Scores :math:`A_{k,j}` on task j after training task k, for T tasks in the order in which they were trained.

    Parameters
    ----------
    values : array of shape (T, T)
        A row for each moment, a column for each task. None or NaN is a cell that was not observed: never write 0 there.
    baseline : number, array of shape (T,), or mapping of kind to one of these, optional
        What a model scores that has not learned the tasks, for forward transfer. Kinds are "random-init",
        "old-zero-shot", "interface-only", "single-task" and "chance"; without a kind it is "random-init", the one that
        GEM subtracts. None or NaN where it is not known.
    reference : number or array of shape (T,), optional
        Score on task k of a model trained jointly on tasks 1 to k, for intransigence.
    n : array of shape (T,) or (T, T), optional
        Test samples behind each cell; a vector holds one number per task.
    classes : array of shape (T,), optional
        Classes that each task brings, for averages weighted by them.
    reasons : text, or mapping of (time, task) to text, optional
        Why cells are missing, counted from 0; one text stands for all of them. "not given" where nothing is said, which
        a file does not accept.
    scale : {"percent", "fraction", "free"}
        0 to 100, 0 to 1, or any real number, such as a loss.
    direction : {"higher", "lower"}
        Which scores are better.
    scenario : str, optional
        "task", "domain", "class", "task-free", "continual-pretraining", "test-time" or "instruction": scores of
        different scenarios are not comparable.
    metric : str
        What a score is, "accuracy" by default.
    tasks : sequence of T str, optional
        Names of the tasks; by default "1" to "T".
    name : str
        Name of the run or method.
    rows : {"time", "task"}
        What a row of `values`, and of an `n` of two dimensions, stands for; "task" turns both round. The matrix itself
        always has a row for each moment.
    notes : sequence of str
        What a reader noticed, put in front of `warnings`.
    provenance : mapping
        Where the numbers come from; see `records.provenance`.

    Attributes
    ----------
    T : int
        Number of tasks.
    missing : numpy.ndarray of bool, shape (T, T)
        Cells that were not observed.
    baselines : mapping of str to numpy.ndarray of shape (T,)
        The baselines by kind, NaN where not known.
    warnings : tuple of str
        What is allowed and yet looks wrong: small cells among percents, zeros above the diagonal, a layout that looks
        transposed, a task that is easier without its identity (see `beside`).

    Raises
    ------
    InputError
        Rows of unequal length, a matrix that is not square, cells out of scale or infinite, a baseline or count of
        another length, a reason for a cell that is there, or an unknown scale, direction, scenario or kind.

    Examples
    --------
    >>> matrix = AccuracyMatrix([[90, 12, 9], [92, 88, 14], [75, 63, 93]], baseline=10, reference=[92, 90, 95])
    >>> matrix
    AccuracyMatrix(3 tasks, percent)
    >>> matrix.baselines["random-init"]
    array([10., 10., 10.])
    >>> partial = AccuracyMatrix([[0.8, None], [0.7, 0.9]], scale="fraction", reasons={(0, 1): "no interface yet"})
    >>> partial.reason(0, 1), partial.reason(0, 0)
    ('no interface yet', None)
    """

    values: np.ndarray
    baselines: Mapping[str, np.ndarray]
    reference: np.ndarray | None
    n: np.ndarray | None
    classes: np.ndarray | None
    reasons: Mapping[tuple[int, int], str]
    scale: str
    direction: str
    scenario: str | None
    metric: str
    tasks: tuple[str, ...]
    name: str
    notes: tuple[str, ...]
    provenance: Mapping[str, Any]
    warnings: tuple[str, ...]

    def __init__(
        self,
        values: Any,
        *,
        baseline: Any = None,
        reference: Any = None,
        n: Any = None,
        classes: Any = None,
        reasons: str | Mapping[tuple[int, int], str] | None = None,
        scale: str = "percent",
        direction: str = "higher",
        scenario: str | None = None,
        metric: str = "accuracy",
        tasks: Sequence[str] | None = None,
        name: str = "",
        rows: str = "time",
        notes: Sequence[str] = (),
        provenance: Mapping[str, Any] | None = None,
    ) -> None:
        arrays.one_of(scale, "scale", SCALES)
        arrays.one_of(direction, "direction", DIRECTIONS)
        arrays.one_of(rows, "rows", ("time", "task"))
        if scenario is not None:
            arrays.one_of(scenario, "scenario", SCENARIOS)
        cells = check_cells(values, "values", scale=scale, layout=rows)
        cells = cells.T.copy() if rows == "task" else cells
        count = len(cells)
        checked: dict[str, Any] = {
            "values": cells,
            "scale": scale,
            "direction": direction,
            "scenario": scenario,
            "metric": check_text(metric, "metric"),
            "name": check_text(name, "name", empty=True),
            "baselines": _baselines(baseline, count, scale),
            "reference": None if reference is None else check_series(reference, "reference", count=count, scale=scale),
            "n": None if n is None else check_samples(n, np.isnan(cells), turned=rows == "task"),
            "classes": None if classes is None else check_whole(classes, "classes", (count,), least=1),
            "reasons": check_reasons(reasons, np.isnan(cells)),
            "tasks": check_tasks(tasks, count),
            "notes": check_notes(notes),
            "provenance": records.check_provenance(provenance),
        }
        for key, value in checked.items():
            object.__setattr__(self, key, value)
        object.__setattr__(self, "warnings", (*self.notes, *_suspicions(self)))

    @property
    def T(self) -> int:
        """Number of tasks."""
        return len(self.values)

    @property
    def missing(self) -> np.ndarray:
        """Cells that were not observed, bool of shape (T, T)."""
        return np.isnan(self.values)

    def reason(self, time: int, task: int) -> str | None:
        """Why a cell is missing, counted from 0; None for a cell that is there."""
        place = check_place((time, task), self.T, "the cell")
        return self.reasons.get(place, NOT_GIVEN) if self.missing[place] else None

    def beside(self, class_il: AccuracyMatrix) -> AccuracyMatrix:
        """The same matrix, warned of cells in which the same run scores better without the task's identity.

        Knowing the task only takes wrong answers away, so a Task-IL accuracy is at least the Class-IL one of the same
        model; where it is below, files were mixed up or one of the two was computed wrongly.

        Parameters
        ----------
        class_il : AccuracyMatrix
            The same run and tasks under Class-IL, on the same scale.

        Raises
        ------
        InputError
            Matrices of different size, scale or direction.
        """
        if not isinstance(class_il, AccuracyMatrix):
            raise InputError(f"class_il is of type {type(class_il).__name__}: give an AccuracyMatrix")
        for name in ("T", "scale", "direction"):
            if getattr(self, name) != getattr(class_il, name):
                raise InputError(
                    f"class_il has {name} {getattr(class_il, name)!r} and the Task-IL matrix {getattr(self, name)!r}: "
                    "give the same run under both scenarios"
                )
        sign = 1.0 if self.direction == "higher" else -1.0
        slack = 1e-9 * LIMITS.get(self.scale, 1.0)  # rounding of the two files
        below = np.argwhere(sign * (self.values - class_il.values) < -slack)
        if not below.size:
            return self
        k, j = map(int, below[0])
        note = (
            f"{len(below)} cells are worse under Task-IL than under Class-IL, first values[{k}, {j}]: "
            f"{self.values[k, j]:g} and {class_il.values[k, j]:g}; were files mixed up?"
        )
        return self._with(notes=(*self.notes, note))

    def leading(self, count: int) -> AccuracyMatrix:
        """The matrix as it stood after `count` tasks: the first `count` rows and columns.

        Raises
        ------
        InputError
            A count outside 1..T.
        """
        if arrays.whole_number(count, "count", least=1) > self.T:
            raise InputError(f"count is {count}: the matrix has {self.T} tasks")
        if count == self.T:
            return self
        short = slice(count)
        return self._with(
            values=self.values[short, short],
            baseline={kind: vector[short] for kind, vector in self.baselines.items()} or None,
            reference=None if self.reference is None else self.reference[short],
            n=None if self.n is None else self.n[short, short],
            classes=None if self.classes is None else self.classes[short],
            reasons={place: text for place, text in self.reasons.items() if max(place) < count},
            tasks=self.tasks[short],
        )

    def _with(self, **changes: Any) -> AccuracyMatrix:
        """A copy with some arguments changed."""
        names = ("values", "reference", "n", "classes", "reasons", "tasks", "notes", "provenance", *SETTINGS)
        held = {name: getattr(self, name) for name in names}
        return AccuracyMatrix(**{"baseline": dict(self.baselines) or None, **held, **changes})

    def __repr__(self) -> str:
        parts = [f"{self.T} tasks", self.scale]
        parts += [self.metric] if self.metric != "accuracy" else []
        parts += ["lower is better"] if self.direction == "lower" else []
        parts += [f"{self.scenario}-incremental"] if self.scenario in ("task", "domain", "class") else []
        parts += [self.scenario] if self.scenario not in (None, "task", "domain", "class") else []
        parts += [f"{int(self.missing.sum())} cells missing"] if self.missing.any() else []
        parts += [f"{len(self.warnings)} warnings"] if self.warnings else []
        return f"AccuracyMatrix({f'{self.name!r}, ' if self.name else ''}{', '.join(parts)})"

    def to_dict(self) -> dict[str, Any]:
        """All of it as valid JSON; a missing cell is null, its reason stands in `missing`."""
        return {
            "metric": self.metric,
            "name": self.name,
            "scale": self.scale,
            "direction": self.direction,
            "scenario": self.scenario,
            "tasks": list(self.tasks),
            "rows": "time",
            "values": [_nulled(row) for row in self.values],
            "missing": [
                {"time": int(k), "task": int(j), "reason": self.reason(int(k), int(j))}
                for k, j in np.argwhere(self.missing)
            ],
            "baselines": {kind: _nulled(vector) for kind, vector in self.baselines.items()},
            "reference": None if self.reference is None else _nulled(self.reference),
            "n": None if self.n is None else self.n.tolist(),
            "classes": None if self.classes is None else self.classes.tolist(),
            "warnings": list(self.warnings),
        }

    def save(self, path: str | Path) -> Path:
        """Write the record to one .npz file, whole or not at all.

        Raises
        ------
        InputError
            A missing cell without a reason: who reads the file later cannot ask.
        """
        for k, j in np.argwhere(self.missing):
            if self.reasons.get((int(k), int(j)), NOT_GIVEN) == NOT_GIVEN:
                raise InputError(
                    f"{path}: values[{k}, {j}] is missing without a reason: give reasons={{({k}, {j}): ...}}, or one "
                    "text for all missing cells"
                )
        content = {f"baseline/{kind}": vector for kind, vector in self.baselines.items()}
        for name in ("values", "reference", "n", "classes"):
            if getattr(self, name) is not None:
                content[name] = getattr(self, name)
        manifest = {
            "reasons": [[*place, text] for place, text in sorted(self.reasons.items())],
            **{key: getattr(self, key) for key in SETTINGS},
            "tasks": list(self.tasks),
            "notes": list(self.notes),
            "provenance": dict(self.provenance),
        }
        return records.save(path, SCHEMA, content, manifest)

    @classmethod
    def load(cls, path: str | Path) -> AccuracyMatrix:
        """Read a record; refuses what it cannot vouch for, see `records.load`."""
        content, manifest = records.load(path, SCHEMA)
        baselines = {key.split("/", 1)[1]: array for key, array in content.items() if key.startswith("baseline/")}
        plain: dict[str, Any] = {key: array for key, array in content.items() if not key.startswith("baseline/")}
        settings: dict[str, Any] = {key: manifest[key] for key in SETTINGS if key in manifest}
        with located(path):
            matrix = cls(
                **plain,
                **settings,
                baseline=baselines or None,
                reasons=stored_reasons(manifest.get("reasons", [])),
                tasks=manifest.get("tasks"),
                notes=manifest.get("notes", ()),
                provenance=manifest.get("provenance"),
            )
        unexplained = [tuple(map(int, place)) for place in np.argwhere(matrix.missing)]
        unexplained = [place for place in unexplained if place not in matrix.reasons]
        if unexplained:
            k, j = unexplained[0]
            raise InputError(f"{path}: values[{k}, {j}] is missing and the file does not say why")
        return matrix


@dataclass(frozen=True)
class Run:
    """One training run: its matrix, what distinguishes it, and what it was told and allowed to use.

    Parameters
    ----------
    matrix : AccuracyMatrix
        What came out.
    name : str
        The method; runs of one name differ by seed and order.
    seed, order : int or str, optional
        Identifiers of the random seed and of the order of the tasks: runs are paired by them, never by position.
    information : mapping
        What the method was told: "task_id_at_train", "task_id_at_test", "boundary_at_train", "boundary_source",
        "detector_delay", "stored_data". What is not declared is left out.
    budget : mapping
        What it used, under names of your own, such as "buffer_bytes" or "train_flops".

    Raises
    ------
    InputError
        Something else than a matrix, a seed or order that is neither whole number nor text, an unknown kind of
        information, or a budget that is no finite number, text or truth value.

    Examples
    --------
    >>> run = Run(AccuracyMatrix([[90, 10], [60, 90]]), "ER", seed=0, order="a", budget={"buffer_bytes": 2000})
    >>> run
    Run('ER', seed 0, order 'a', 2 tasks)
    """

    matrix: AccuracyMatrix
    name: str
    seed: int | str | None = None
    order: int | str | None = None
    information: Mapping[str, Any] = field(default_factory=dict)
    budget: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check everything once, so that whoever holds a run can rely on it."""
        if not isinstance(self.matrix, AccuracyMatrix):
            raise InputError(f"matrix is of type {type(self.matrix).__name__}: give an AccuracyMatrix")
        check_text(self.name, "name")
        for key in ("seed", "order"):
            value = getattr(self, key)
            if value is not None and (isinstance(value, bool) or not isinstance(value, Integral | str)):
                raise InputError(f"{key} is {value!r}: give a whole number or a text")
        for kind in ("information", "budget"):
            if not isinstance(getattr(self, kind), Mapping):
                raise InputError(f"{kind} is {getattr(self, kind)!r}: give a mapping of names to values")
        for key in self.information:
            arrays.one_of(key, "information", INFORMATION)
        for kind in ("information", "budget"):
            for key, value in getattr(self, kind).items():
                if not isinstance(key, str) or not is_plain(value):
                    raise InputError(f"{kind}[{key!r}] is {value!r}: give a finite number, a text, True or False")

    def __repr__(self) -> str:
        keys = [f"{key} {getattr(self, key)!r}" for key in ("seed", "order") if getattr(self, key) is not None]
        return f"Run({', '.join([repr(self.name), *keys, f'{self.matrix.T} tasks'])})"


def _baselines(baseline: Any, count: int, scale: str) -> dict[str, np.ndarray]:
    if baseline is None:
        return {}
    if not isinstance(baseline, Mapping):
        return {"random-init": check_series(baseline, "baseline", count=count, scale=scale)}
    for kind in baseline:
        arrays.one_of(kind, "baseline", BASELINES)
    return {
        kind: check_series(vector, f"baseline[{kind!r}]", count=count, scale=scale) for kind, vector in baseline.items()
    }


def _nulled(values: np.ndarray) -> list[float | None]:
    return [None if math.isnan(value) else float(value) for value in values]


def _suspicions(matrix: AccuracyMatrix) -> list[str]:
    """What a matrix is allowed to be and rarely is."""
    found = [_small(matrix), _zeros(matrix), _transposed(matrix)]
    return [text for text in found if text]


def _small(matrix: AccuracyMatrix) -> str:
    """Fractions among percents: 0 is no sign, a cell in (0, 1] is one."""
    if matrix.scale != "percent":
        return ""
    small = np.argwhere((matrix.values > 0.0) & (matrix.values <= 1.0))
    if not small.size:
        return ""
    k, j = map(int, small[0])
    return (
        f"{len(small)} of {int((~matrix.missing).sum())} cells lie above 0 and at most at 1 percent, first "
        f'values[{k}, {j}] = {matrix.values[k, j]:g}: fractions are declared by scale="fraction"'
    )


def _zeros(matrix: AccuracyMatrix) -> str:
    above = np.tri(matrix.T, k=-1, dtype=bool).T
    zeros = np.argwhere(above & (matrix.values == 0.0))
    if not zeros.size:
        return ""
    k, j = map(int, zeros[0])
    return (
        f"{len(zeros)} of {int(above.sum())} cells above the diagonal are 0, first values[{k}, {j}]: where a task was "
        "not evaluated, or its classes were masked, the cell is missing; 0 invents a transfer that nobody saw"
    )


def _transposed(matrix: AccuracyMatrix) -> str:
    """A task scores better once it was trained, so the better cells lie on and below the diagonal.

    The margin, a tenth of the spread, keeps chance differences of near-constant matrices quiet.
    """
    scores = matrix.values if matrix.direction == "higher" else -matrix.values
    trained = np.tri(matrix.T, k=-1, dtype=bool)  # before this moment's task; the transpose holds those to come
    below, above = scores[trained & ~matrix.missing], scores[trained.T & ~matrix.missing]
    if not above.size:
        return ""
    remedy = 'rows are moments and columns tasks; rows="task" turns a matrix round'
    if not below.size:
        return f"cells above the diagonal are there and none below it: is it transposed? {remedy}"
    spread = float(np.ptp(matrix.values[~matrix.missing]))
    if np.mean(above) - np.mean(below) > 0.1 * spread:
        return f"untrained tasks score better than trained ones on average: is it transposed? {remedy}"
    return ""
