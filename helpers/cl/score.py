"""Scores of accuracy matrices: every formula under its id, for one matrix with reasons and for thousands at once."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import arrays
from ..errors import InputError, brief
from . import formulas
from .formulas import Sum
from .inputs import LIMITS, check_series, refuse_out_of_scale
from .metrics import END_INCLUDED, MATRIX_IDS, METRICS, PEAKS, SUMS, Metric, look_up
from .record import BASELINES, AccuracyMatrix, Run
from .value import Value

#: Ids that say nothing under Class-IL, where classes not yet seen cannot be predicted.
_FORWARD = ("fwt.gem", "fwt.gem_script", "fwt.clear", "fwt.dr", "clear.next_domain")
_CLASS_IL = (
    "under Class-IL a class that was not trained is never predicted, so every method gets the same number: there is no "
    "forward transfer to see"
)
GEM_BASELINE = "random-init"


@dataclass(frozen=True)
class Table(Mapping[str, Value]):
    """Several metrics of one matrix, by id.

    Attributes
    ----------
    values_by_id : dict of str to Value
        In the order of the registry.
    """

    values_by_id: dict[str, Value]

    def __getitem__(self, id: str) -> Value:
        return self.values_by_id[id]

    def __iter__(self) -> Iterator[str]:
        return iter(self.values_by_id)

    def __len__(self) -> int:
        return len(self.values_by_id)

    def __repr__(self) -> str:
        lines = []
        for id, value in self.items():
            shown = f"undefined: {value.reason}" if value.value is None else f"{value.value:10.4f} {value.unit}"
            lines.append(f"{id:22}{shown}")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """The metrics by id, as valid JSON."""
        return {id: value.to_dict() for id, value in self.items()}


def metric(
    id: str,
    matrix: AccuracyMatrix,
    *,
    baseline: str | None = None,
    at: int | None = None,
    observed_only: bool = False,
) -> Value:
    """One metric of one matrix, or None with the reason.

    Parameters
    ----------
    id : str
        One of `METRICS`.
    matrix : AccuracyMatrix
        Of T tasks.
    baseline : str, optional
        Kind of baseline for forward transfer; by default "random-init", as GEM has it. Forward transfers against
        different kinds answer different questions.
    at : int, optional
        Number of tasks learned, 1 to T (the default): the metric as it stood then, from the leading rows and columns.
    observed_only : bool
        Take the mean over the cells that are there. Offered for forward transfer, where tasks without an interface
        cannot be evaluated in time; for anything else a missing cell may hide the peak or the loss.

    Returns
    -------
    Value
        Strict unless `observed_only`: one missing cell that the formula needs leaves it undefined.

    Raises
    ------
    InputError
        An unknown id or kind, `at` outside 1..T, or `observed_only` where it is not offered.

    Notes
    -----
    Where lower scores are better, differences turn their sign: positive transfer is always good, positive forgetting
    always bad. Means of scores stay what they are.

    Examples
    --------
    >>> matrix = AccuracyMatrix([[90, 12, 9], [92, 88, 14], [75, 63, 93]], baseline=10)
    >>> metric("bwt.gem", matrix)
    Value(bwt.gem -20 percentage points, higher is better, 4 of 4 cells)
    >>> metric("forgetting.rwalk", matrix, at=2).value
    -2.0
    >>> metric("intransigence.rwalk", matrix).reason
    'the matrix has no reference: give the scores of jointly trained models'
    """
    if arrays.truth(observed_only, "observed_only") and not look_up(id).observed_only:
        raise InputError(
            f"observed_only is not offered for {id!r}: what is missing may be the peak or the loss that it measures"
        )
    return table(matrix, ids=[id], baseline=baseline, at=at, observed_only=observed_only)[id]


def table(
    matrix: AccuracyMatrix,
    *,
    ids: Sequence[str] | None = None,
    baseline: str | None = None,
    at: int | None = None,
    observed_only: bool = False,
) -> Table:
    """All metrics that a matrix yields, each with its value or its reason.

    Parameters
    ----------
    matrix : AccuracyMatrix
        Of T tasks.
    ids : sequence of str, optional
        Which ones; by default all that a matrix yields. ``METRICS[id]`` holds the formula of each and its source.
    baseline : str, optional
        Kind of baseline for forward transfer; by default "random-init", as GEM has it.
    at : int, optional
        Number of tasks learned, 1 to T (the default).
    observed_only : bool
        Whether metrics that offer it are means over the cells that are there; the others stay strict. False by
        default, since such a mean is another number.

    Returns
    -------
    Table
        A mapping of id to Value, in the order asked for: each with its unit, or None with the reason.

    Raises
    ------
    InputError
        Something else than a matrix, an unknown id or kind, `at` outside 1..T, an `observed_only` that is no truth
        value.

    References
    ----------
    Lopez-Paz and Ranzato (2017), Gradient episodic memory for continual learning, NeurIPS; for the others see the
    ``source`` of each entry of `METRICS`.

    Examples
    --------
    >>> METRICS["bwt.gem"].formula
    'sum_{i<T} (A[T,i] - A[i,i]) / (T-1)'
    >>> table(AccuracyMatrix([[100, 50], [0, 100]], baseline=50), ids=["acc.final", "bwt.gem", "fwt.gem", "bwt.dr"])
    acc.final                50.0000 percent
    bwt.gem                -100.0000 percentage points
    fwt.gem                   0.0000 percentage points
    bwt.dr                 -100.0000 percentage points
    """
    check_matrix(matrix)
    if baseline is not None:
        arrays.one_of(baseline, "baseline", BASELINES)
    part = matrix if at is None else matrix.leading(arrays.whole_number(at, "at", least=1))
    wanted = _wanted(ids)
    kind = baseline or GEM_BASELINE
    stack = _Stack.of([part], kind)
    arrays.truth(observed_only, "observed_only")
    found = _evaluate(stack, [id for id in wanted if METRICS[id].from_matrix], observed_only)
    return Table({id: _value(METRICS[id], part, stack, found.get(id), kind, observed_only) for id in wanted})


def steps(id: str, matrix: AccuracyMatrix, *, baseline: str | None = None) -> tuple[Value, ...]:
    r"""A metric as it stood after 1, 2, ..., T tasks, such as average accuracy: when did it fall?

    .. math:: A_k = \frac1k \sum_{j \le k} A_{k,j}, \qquad k = 1, \dots, T

    for ``acc.final``; any other metric likewise takes the leading k rows and columns for the whole matrix.

    Parameters
    ----------
    id : str
        One of `METRICS`, which hold the formulas and their sources.
    matrix : AccuracyMatrix
        Of T tasks.
    baseline : str, optional
        Kind of baseline for forward transfer; by default "random-init", as GEM has it.

    Returns
    -------
    tuple of T Value
        Each in its unit, or None with the reason: many metrics need two tasks, and have no first value.

    Raises
    ------
    InputError
        Something else than a matrix, an unknown id or kind.

    References
    ----------
    Chaudhry et al. (2018), Riemannian walk for incremental learning, ECCV: average accuracy, forgetting and
    intransigence after task k.

    Examples
    --------
    >>> matrix = AccuracyMatrix([[90, 12, 9], [92, 88, 14], [75, 63, 93]])
    >>> [step.value for step in steps("acc.final", matrix)]
    [90.0, 90.0, 77.0]
    """
    check_matrix(matrix)
    return tuple(metric(id, matrix, baseline=baseline, at=count) for count in range(1, matrix.T + 1))


def per_task(id: str, matrix: AccuracyMatrix, *, baseline: str | None = None) -> dict[str, float | None]:
    r"""The terms that a metric is the mean of, by name of the task: which one was lost?

    .. math:: m = \frac{1}{|J|} \sum_{j \in J} m_j

    over the tasks J that the formula counts, such as all but the last for forgetting; each :math:`m_j` has the unit and
    the sign of the metric.

    Parameters
    ----------
    id : str
        One of those `METRICS` that are a mean of one term per task; these hold the formulas and their sources.
    matrix : AccuracyMatrix
        Of T tasks.
    baseline : str, optional
        Kind of baseline for forward transfer; by default "random-init", as GEM has it.

    Returns
    -------
    dict of str to (float or None)
        None for a task that lacks a cell. Empty where no task can have a term: `metric` says why, such as a baseline
        that the matrix does not have.

    Raises
    ------
    InputError
        Something else than a matrix, an unknown id or kind, a metric that is no mean over tasks.

    References
    ----------
    Chaudhry et al. (2018), Riemannian walk for incremental learning, ECCV, for forgetting by task.

    Examples
    --------
    >>> per_task("forgetting.rwalk", AccuracyMatrix([[90, 12, 9], [92, 88, 14], [75, 63, 93]]))
    {'1': 17.0, '2': 25.0}
    """
    entry = look_up(id)
    if not entry.per_task:
        offered = ", ".join(known.id for known in METRICS.values() if known.per_task)
        raise InputError(f"id is {id!r}, which is no mean of one term per task: {offered} are")
    whole = metric(id, matrix, baseline=baseline)
    kind = baseline or GEM_BASELINE
    stack = _Stack.of([matrix], kind)
    if not _ready(entry, stack) or (whole.value is None and whole.reason == _CLASS_IL):
        return {}
    present = _present(stack, _against(entry, stack))[0]
    needed = _needed(entry, stack)
    complete = (present | ~needed).all(axis=0)
    if id in PEAKS:
        terms = _counted(id, PEAKS[id](stack.oriented), stack.tasks)[0]
    else:
        total = _sum_of(entry, stack)
        terms = (total.cells * np.nan_to_num(stack.cells[0])).sum(axis=0)
        if total.vector is not None:
            terms = terms + total.vector * np.nan_to_num(stack.against(total.against)[0])
        terms = terms * stack.sign(entry)
    columns = np.flatnonzero(needed.any(axis=0))
    return {matrix.tasks[j]: float(terms[j]) if complete[j] else None for j in columns}


def metrics_of(
    runs: Any,
    *,
    ids: Sequence[str] | None = None,
    baseline: Any = None,
    reference: Any = None,
    n: Any = None,
    classes: Any = None,
    scale: str = "percent",
    direction: str = "higher",
    scenario: str | None = None,
    observed_only: bool = False,
) -> dict[str, np.ndarray]:
    """Metrics of many matrices at once: an array of R values under each id, NaN where undefined.

    The formulas are those of `metric`, evaluated as one product over all matrices; ``METRICS[id]`` holds each formula
    and its source. What is undefined has no reason here: ask `metric` for it.

    Parameters
    ----------
    runs : sequence of R AccuracyMatrix, or array of shape (R, T, T)
        All of one size, scale, direction and scenario. Matrices bring all the rest with them.
    ids : sequence of str, optional
        By default all that a matrix yields.
    baseline : str, or number or array of shape (T,) or (R, T), optional
        With matrices the kind, by default "random-init", as GEM has it; with an array the baseline itself, in the unit
        of the scores.
    reference : number or array of shape (T,) or (R, T), optional
        With an array of runs: scores of jointly trained models, for intransigence.
    n : array of shape (T,), (T, T) or (R, T, T), optional
        With an array of runs: whole numbers of samples behind the cells.
    classes : array of shape (T,) or (R, T), optional
        With an array of runs: whole numbers of classes that each task brings.
    scale : {"percent", "fraction", "free"}
        With an array of runs: 0 to 100, as most papers print scores and so the default; 0 to 1; or any real number.
    direction : {"higher", "lower"}
        With an array of runs: which scores are better, "higher" by default, as for accuracy.
    scenario : str, optional
        With an array of runs, as for `AccuracyMatrix`; under "class" forward transfer is undefined.
    observed_only : bool
        As for `table`.

    Returns
    -------
    dict of str to numpy.ndarray of shape (R,)
        In the order of `ids`, float64, in the units that `metric` says.

    Raises
    ------
    InputError
        Matrices that do not go together, arguments that matrices already hold, an unknown id or one that no matrix
        yields, or what `AccuracyMatrix` refuses.

    References
    ----------
    Lopez-Paz and Ranzato (2017), Gradient episodic memory for continual learning, NeurIPS; for the others see the
    ``source`` of each entry of `METRICS`.

    Examples
    --------
    >>> found = metrics_of(np.array([[[90, 12], [70, 80]], [[90, 12], [np.nan, 80]]]), ids=["bwt.gem", "bwt.clear"])
    >>> found["bwt.gem"], found["bwt.clear"]
    (array([-20.,  nan]), array([70., nan]))
    """
    wanted = _wanted(ids)
    strange = [id for id in wanted if not METRICS[id].from_matrix]
    if strange:
        raise InputError(f"ids has {strange[0]!r}: {_elsewhere(METRICS[strange[0]])}")
    if isinstance(runs, list | tuple) and runs and all(isinstance(run, AccuracyMatrix) for run in runs):
        if any(given is not None for given in (reference, n, classes)):
            raise InputError("reference, n and classes are given, but matrices hold their own: leave them out")
        if baseline is not None:
            arrays.one_of(baseline, "baseline", BASELINES)
        stack = _Stack.of(runs, baseline or GEM_BASELINE)
    elif isinstance(runs, list | tuple) and any(isinstance(run, Run) for run in runs):
        raise InputError("runs holds Run: give [run.matrix for run in runs], or the runs to cl.summary")
    else:
        stack = _Stack.read(runs, baseline, reference, n, classes, scale, direction, scenario)
    arrays.truth(observed_only, "observed_only")
    found = _evaluate(stack, wanted, observed_only)
    values = {}
    for id in wanted:
        entry = METRICS[id]
        if id in found and not (stack.scenario == "class" and id in _FORWARD):
            values[id] = np.where(found[id].defined(entry, observed_only), found[id].values, np.nan)
        else:
            values[id] = np.full(len(stack.cells), np.nan)
    return values


def check_matrix(matrix: Any) -> None:
    """Refuse what is no matrix, and say how to get one from it."""
    if not isinstance(matrix, AccuracyMatrix):
        remedy = "its .matrix" if isinstance(matrix, Run) else "an AccuracyMatrix, which takes an array and its scale"
        raise InputError(f"matrix is of type {type(matrix).__name__}: give {remedy}")


def _wanted(ids: Any) -> list[str]:
    """The ids asked for, each of which is known; by default all that a matrix yields."""
    if ids is None:
        return list(MATRIX_IDS)
    if isinstance(ids, str) or not isinstance(ids, Iterable):
        raise InputError(f"ids is {brief(ids)}: give a list of ids")
    return [look_up(id).id for id in ids]


@dataclass(frozen=True, eq=False)
class _Stack:
    """Scores of R runs with what belongs to them, NaN where missing."""

    cells: np.ndarray  # (R, T, T)
    baseline: np.ndarray | None  # (R, T) or (1, T)
    reference: np.ndarray | None  # (R, T) or (1, T)
    n: np.ndarray | None  # (T, T) or (R, T, T)
    classes: np.ndarray | None  # (T,) or (R, T)
    scale: str
    direction: str
    scenario: str | None

    @classmethod
    def of(cls, matrices: Sequence[AccuracyMatrix], kind: str) -> _Stack:
        """From matrices that go together."""
        first = matrices[0]
        for name in ("T", "scale", "direction", "scenario", "metric"):
            for i, matrix in enumerate(matrices):
                if getattr(matrix, name) != getattr(first, name):
                    raise InputError(
                        f"runs[{i}] has {name} {getattr(matrix, name)!r} and runs[0] {getattr(first, name)!r}: score "
                        "them apart"
                    )
        return cls(
            cells=np.stack([matrix.values for matrix in matrices]),
            baseline=_vectors([matrix.baselines.get(kind) for matrix in matrices]),
            reference=_vectors([matrix.reference for matrix in matrices]),
            n=_weights([matrix.n for matrix in matrices], "n"),
            classes=_weights([matrix.classes for matrix in matrices], "classes"),
            scale=first.scale,
            direction=first.direction,
            scenario=first.scenario,
        )

    @classmethod
    def read(
        cls, runs: Any, baseline: Any, reference: Any, n: Any, classes: Any, scale: str, direction: str, scenario: Any
    ) -> _Stack:
        """From arrays, checked as `AccuracyMatrix` checks them."""
        cells = arrays.to_numpy(arrays.detached(arrays.as_array(runs, "runs")))
        if cells.ndim != 3 or cells.shape[1] != cells.shape[2] or not cells.size or cells.dtype.kind not in "fiu":
            raise InputError(
                f"runs has shape {cells.shape} and type {cells.dtype}: give matrices, or numbers of shape (R, T, T)"
            )
        cells = np.asarray(cells, dtype=np.float64)
        AccuracyMatrix([[None]], scale=scale, direction=direction, scenario=scenario)  # refuses unknown settings
        refuse_out_of_scale(cells, "runs", scale)
        shape = cells.shape
        samples = _counts(n, "n", [shape[1:2], shape[1:], shape], shape, least=0)
        if samples is not None and ((samples == 0) & ~np.isnan(cells)).any():
            raise InputError("n is 0 where runs has a value: give the number of samples behind every cell")
        return cls(
            cells=cells,
            baseline=_scores(baseline, "baseline", shape, scale),
            reference=_scores(reference, "reference", shape, scale),
            n=samples,
            classes=_counts(classes, "classes", [shape[1:2], shape[:2]], shape[:2], least=1),
            scale=scale,
            direction=direction,
            scenario=scenario,
        )

    @functools.cached_property
    def tasks(self) -> int:
        """T."""
        return int(self.cells.shape[-1])

    @functools.cached_property
    def present(self) -> np.ndarray | None:
        """Cells that are there; None where all of them are, which is quicker."""
        return ~np.isnan(self.cells) if np.isnan(np.sum(self.cells)) else None

    @functools.cached_property
    def filled(self) -> np.ndarray:
        """Cells with 0 for what is missing: sums that must not count it are thrown away afterwards."""
        return self.cells if self.present is None else np.where(self.present, self.cells, 0.0)

    @functools.cached_property
    def oriented(self) -> np.ndarray:
        """Cells of which higher ones are better."""
        return self.cells if self.direction == "higher" else -self.cells

    def against(self, name: str) -> np.ndarray:
        """The baseline or the reference, of shape (R, T) or (1, T)."""
        vector = self.baseline if name == "baseline" else self.reference
        assert vector is not None
        return vector

    def sign(self, entry: Metric) -> float:
        """-1 where a difference of lower-is-better scores turns round."""
        return -1.0 if self.direction == "lower" and entry.kind != "level" else 1.0


@dataclass(frozen=True, eq=False)
class _Found:
    """Values of R runs, the cells that were there for each, and the cells needed."""

    values: np.ndarray
    used: np.ndarray
    needed: int

    def defined(self, entry: Metric, observed_only: bool) -> np.ndarray:
        """Which runs have a value."""
        return self.used > 0 if observed_only and entry.observed_only else self.used == self.needed


def _evaluate(stack: _Stack, ids: Sequence[str], observed_only: bool) -> dict[str, _Found]:
    """Values of all ids that the stack has the means for; what is missing is in `used`, not in the values."""
    ready = [id for id in ids if _ready(METRICS[id], stack)]
    used = _used(stack, ready)
    needed = {id: int(_needed(METRICS[id], stack).sum()) for id in ready}
    values = {
        **_sums(stack, [id for id in ready if id not in PEAKS]),
        **_peaks(stack, [id for id in ready if id in PEAKS]),
    }
    found = {id: _Found(values[id], used[id], needed[id]) for id in ready}
    for id in ready:
        if observed_only and METRICS[id].observed_only and (used[id] < needed[id]).any():
            found[id] = dataclasses.replace(found[id], values=_observed(METRICS[id], stack, used[id]))
    return found


def _ready(entry: Metric, stack: _Stack) -> bool:
    """Whether the stack has all that the metric needs beside cells."""
    return not _lacks(entry, stack)


def _lacks(entry: Metric, stack: _Stack) -> str:
    """What the stack has not, which no cell could mend; empty where nothing is lacking."""
    if stack.tasks < entry.least:
        return f"needs at least {entry.least} tasks, the matrix has {stack.tasks}"
    if entry.id == "aia.icarl" and stack.n is None:
        return "the matrix has no n: give the samples behind each cell, or take aia.task_mean"
    if entry.id == "wavg.facil" and stack.classes is None:
        return "the matrix has no classes: give how many each task brings"
    if entry.kind == "share" and stack.scale not in LIMITS:
        return "a share of 1 needs a bounded scale, and this one is free"
    if entry.id.startswith("fwt.gem") and stack.baseline is None:
        return "no baseline"
    if entry.id.startswith("intransigence") and stack.reference is None:
        return "the matrix has no reference: give the scores of jointly trained models"
    return ""


def _sum_of(entry: Metric, stack: _Stack) -> Sum:
    if entry.id == "aia.icarl":
        assert stack.n is not None
        return formulas.incremental_accuracy(stack.n)
    if entry.id == "wavg.facil":
        assert stack.classes is not None
        return formulas.weighted_final_accuracy(stack.classes)
    return _plain_sum(entry.id, stack.tasks)


@functools.lru_cache(maxsize=256)
def _plain_sum(id: str, count: int) -> Sum:
    return SUMS[id](count)


def _against(entry: Metric, stack: _Stack) -> str:
    return "" if entry.id in PEAKS else _sum_of(entry, stack).against


def _needed(entry: Metric, stack: _Stack) -> np.ndarray:
    """Cells that the formula needs, bool of shape (T, T)."""
    if entry.id in PEAKS:
        return formulas.history(stack.tasks, last=entry.id == "forgetting.raptormai")
    needed = _sum_of(entry, stack).needed
    return needed if needed.ndim == 2 else needed[0]


def _present(stack: _Stack, against: str) -> np.ndarray:
    """Cells that are there together with what is subtracted from them, bool of shape (R, T, T)."""
    there = np.ones(stack.cells.shape, dtype=bool) if stack.present is None else stack.present
    return there & ~np.isnan(stack.against(against))[:, None, :] if against else there


def _used(stack: _Stack, ids: Sequence[str]) -> dict[str, np.ndarray]:
    """How many of the needed cells each run has, by one product per kind of vector that is subtracted."""
    used = {}
    for against in ("", "baseline", "reference"):
        chosen = [id for id in ids if _against(METRICS[id], stack) == against]
        if not chosen:
            continue
        needed = np.stack([_needed(METRICS[id], stack).ravel() for id in chosen], axis=1).astype(np.float32)
        if stack.present is None and not (against and np.isnan(stack.against(against)).any()):
            counts = np.broadcast_to(needed.sum(axis=0), (len(stack.cells), len(chosen)))
        else:
            counts = _present(stack, against).reshape(len(stack.cells), -1).astype(np.float32) @ needed
        used.update({id: counts[:, i].astype(np.int64) for i, id in enumerate(chosen)})
    return used


def _sums(stack: _Stack, ids: Sequence[str]) -> dict[str, np.ndarray]:
    """Weighted sums of all runs: one product for the formulas whose weights all runs share."""
    sums = {id: _sum_of(METRICS[id], stack) for id in ids}
    shared = [id for id in ids if sums[id].cells.ndim == 2]
    totals = {}
    if shared:
        weights = np.stack([sums[id].cells.ravel() for id in shared], axis=1)
        product = stack.filled.reshape(len(stack.cells), -1) @ weights
        totals = {id: product[:, i] for i, id in enumerate(shared)}
    for id, formula in sums.items():
        total = totals[id] if id in totals else np.einsum("rkj,rkj->r", stack.filled, formula.cells)
        if formula.vector is not None:
            total = total + np.nan_to_num(stack.against(formula.against)) @ formula.vector
        totals[id] = _finish(METRICS[id], stack, total / formula.divisor)
    return totals


def _finish(entry: Metric, stack: _Stack, values: np.ndarray) -> np.ndarray:
    """Turn the sign where lower scores are better, and take Díaz-Rodríguez's two sides of backward transfer."""
    values = values * stack.sign(entry)
    if entry.id == "rem.dr":
        return 1.0 - np.maximum(-values, 0.0) / LIMITS[stack.scale]
    return np.maximum(values, 0.0) if entry.id == "bwtplus.dr" else values


def _peaks(stack: _Stack, ids: Sequence[str]) -> dict[str, np.ndarray]:
    terms = {function: function(stack.oriented) for function in {PEAKS[id] for id in ids}}
    values = {}
    for id in ids:
        each = _counted(id, terms[PEAKS[id]], stack.tasks)
        values[id] = each.max(axis=1) if id == "forgetting.worst" else each.mean(axis=1)
    return values


def _counted(id: str, terms: np.ndarray, tasks: int) -> np.ndarray:
    """The terms that the formula counts: of old tasks, or of all; where the end is a moment like others, 0 at least."""
    counted = terms if id == "forgetting.raptormai" else terms[:, : tasks - 1]
    return np.fmax(counted, 0.0) if id in END_INCLUDED else counted


def _observed(entry: Metric, stack: _Stack, used: np.ndarray) -> np.ndarray:
    """The mean over the cells that are there, each with its own baseline; undefined (0/1) where there is none."""
    formula = _sum_of(entry, stack)
    keep = _present(stack, formula.against) & formula.needed
    total = np.einsum("rkj,kj->r", np.where(keep, stack.cells, 0.0), formula.cells)
    if formula.vector is not None:
        # each column has one cell here, so its baseline counts where that cell does
        total = total + np.where(keep.any(axis=1), stack.against(formula.against), 0.0) @ formula.vector
    return total / np.maximum(used, 1) * stack.sign(entry)


def _value(
    entry: Metric, matrix: AccuracyMatrix, stack: _Stack, found: _Found | None, kind: str, observed_only: bool
) -> Value:
    value, reason, coverage = None, None, (0, 0)
    if not entry.from_matrix:
        reason = _elsewhere(entry)
    elif found is None:
        reason = _lacks(entry, stack)
        reason = _no_baseline(matrix, kind) if reason == "no baseline" else reason
        coverage = (0, _cells_needed(entry, stack))
    else:
        coverage = (int(found.used[0]), found.needed)
        if stack.scenario == "class" and entry.id in _FORWARD:
            reason = _CLASS_IL
        elif found.defined(entry, observed_only)[0]:
            value = float(found.values[0])
        else:
            reason = _first_missing(entry, matrix, stack, kind)
    level = entry.kind == "level"
    return Value(
        id=entry.id,
        value=value,
        reason=reason,
        coverage=coverage,
        direction=matrix.direction if entry.direction == "matrix" else entry.direction,
        baseline=kind if entry.id.startswith("fwt.gem") else None,
        unit="fraction" if entry.kind == "share" else _unit(matrix, level),
        metric=matrix.metric,
        scenario=matrix.scenario,
        tasks=matrix.tasks,
        observed_only=observed_only and entry.observed_only,
    )


def _unit(matrix: AccuracyMatrix, level: bool) -> str:
    if matrix.scale == "free":
        return matrix.metric
    return "percentage points" if matrix.scale == "percent" and not level else matrix.scale


def _cells_needed(entry: Metric, stack: _Stack) -> int:
    """Cells that the formula would need, had the matrix what it lacks."""
    if stack.tasks < entry.least:
        return 0
    if entry.id in ("aia.icarl", "wavg.facil"):
        return int(_needed(METRICS["aia.task_mean" if entry.id == "aia.icarl" else "acc.final"], stack).sum())
    return int(_needed(entry, stack).sum())


def _elsewhere(entry: Metric) -> str:
    return f"a matrix does not hold {entry.needs}: cl.{entry.function} computes it from them"


def _no_baseline(matrix: AccuracyMatrix, kind: str) -> str:
    held = ", ".join(map(repr, matrix.baselines))
    remedy = f"it has {held}, which baseline= chooses" if held else "give the scores of models that were not trained"
    return f"the matrix has no baseline of kind {kind!r}: {remedy}"


def _first_missing(entry: Metric, matrix: AccuracyMatrix, stack: _Stack, kind: str) -> str:
    needed, against = _needed(entry, stack), _against(entry, stack)
    absent = np.argwhere(needed & matrix.missing)
    if absent.size:
        k, j = map(int, absent[0])
        return f"{len(absent)} of {int(needed.sum())} cells are missing, first values[{k}, {j}]: {matrix.reason(k, j)}"
    j = int(np.argwhere(needed & ~_present(stack, against)[0])[0][1])
    return f"{f'baseline[{kind!r}]' if against == 'baseline' else 'reference'}[{j}] is missing"


def _vectors(parts: Sequence[np.ndarray | None]) -> np.ndarray | None:
    """Baselines or references of all runs, NaN for runs without; None where no run has any."""
    held = [part for part in parts if part is not None]
    if not held:
        return None
    return np.stack([np.full_like(held[0], np.nan) if part is None else part for part in parts])


def _weights(parts: Sequence[np.ndarray | None], name: str) -> np.ndarray | None:
    """Counts of all runs, without the run axis where all have the same; all runs have them or none."""
    held = [part for part in parts if part is not None]
    if not held:
        return None
    for i, part in enumerate(parts):
        if part is None:
            raise InputError(f"runs[{i}] has no {name} and others have: add it, or score them apart")
    return _shared(np.stack(held))


def _shared(stacked: np.ndarray) -> np.ndarray:
    """Without the run axis where all runs have the same, so that one product serves them."""
    return stacked[0] if (stacked == stacked[:1]).all() else stacked


def _scores(values: Any, name: str, shape: tuple[int, ...], scale: str) -> np.ndarray | None:
    """A baseline or reference as (1, T) or (R, T)."""
    if values is None:
        return None
    array = arrays.floats(values, name)
    if array.ndim < 2:
        return check_series(array, name, count=shape[-1], scale=scale)[None]
    if array.shape != shape[:2]:
        raise InputError(f"{name} has shape {array.shape}: give numbers of shape {shape[:2]}")
    refuse_out_of_scale(array, name, scale)
    return array


def _counts(
    values: Any, name: str, shapes: Sequence[tuple[int, ...]], full: tuple[int, ...], *, least: int
) -> np.ndarray | None:
    """Counts in one of the shapes allowed: shared by all runs, or with an axis for them."""
    if values is None:
        return None
    layout = f"whole numbers of shape {' or '.join(map(str, shapes))}"
    array = arrays.whole_numbers(values, name, layout=layout)
    if array.shape not in shapes:
        raise InputError(f"{name} has shape {array.shape}: give {layout}")
    arrays.refuse_where(array < least, array, name, f"give at least {least}")
    return array if array.shape == full else np.broadcast_to(array, full[1:])
