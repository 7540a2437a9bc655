"""What may go into a matrix, a run or a curve: each refusal names the argument, the place, and the remedy."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import Any

import numpy as np

from .. import arrays
from ..errors import InputError, bracketed

#: The largest value that a scale allows; the smallest is 0.
LIMITS = {"percent": 100.0, "fraction": 1.0}
#: No score is larger, on any scale: sums stay finite.
LARGEST = 1e100
ENDLESS = f"a score is finite (at most {LARGEST:g}), a failed run's is None"
#: No count is larger: float64 holds every whole number up to here, and sums fit into 64 bits.
MOST = 1e15


def check_cells(values: Any, name: str, *, scale: str, layout: str = "time") -> np.ndarray:
    """Scores of shape (T, T) as float64 with NaN for missing, or an InputError that names the cell."""
    _refuse_ragged(values, name)
    array = arrays.floats(values, name)
    axes = ("moment", "task") if layout == "time" else ("task", "moment")
    if array.ndim != 2 or array.shape[0] != array.shape[1] or not array.size:
        raise InputError(
            f"{name} has shape {array.shape}: give a square matrix, a row for each {axes[0]} and a column for each "
            f"{axes[1]}; what was not evaluated is None"
        )
    refuse_out_of_scale(array, name, scale)
    return array


def check_series(values: Any, name: str, *, count: int, scale: str) -> np.ndarray:
    """One score per task, NaN for missing; a single number stands for all."""
    array = arrays.floats(values, name)
    if array.ndim == 0:
        array = np.full(count, float(array))
    if array.shape != (count,):
        raise InputError(f"{name} has shape {array.shape}: give {count} values, one for each task")
    refuse_out_of_scale(array, name, scale)
    return array


def refuse_out_of_scale(array: np.ndarray, name: str, scale: str) -> None:
    """Refuse infinite scores, and on a bounded scale those outside it, naming the first."""
    limit = LIMITS.get(scale, np.inf)
    low, high = np.fmin.reduce(array, axis=None), np.fmax.reduce(array, axis=None)  # quick where nothing is wrong
    if not (max(-low, high) > LARGEST or (scale in LIMITS and (low < 0.0 or high > limit))):
        return
    refuse_endless(array, name)
    outside = np.argwhere((array < 0.0) | (array > limit))
    value = array[tuple(outside[0])]
    percent = scale == "fraction" and 1.0 < value <= 100.0
    hint = 'percents? give scale="percent"' if percent else 'scale="free" takes any number'
    raise InputError(f"{name}{bracketed(outside[0])} is {value:g}, outside 0..{limit:g} of scale {scale!r}: {hint}")


def gapped(values: Any, name: str, *, ndim: int) -> np.ndarray:
    """Finite scores as float64 with NaN for what is missing, or an InputError that names the place."""
    array = arrays.floats(values, name)
    if array.ndim != ndim or not array.size:
        layout = {1: "one row of scores", 2: "a row for each evaluation"}.get(ndim, f"{ndim} dimensions")
        raise InputError(f"{name} has shape {array.shape}: give {layout}, None for what is missing")
    refuse_endless(array, name)
    return array


def refuse_endless(array: np.ndarray, name: str, remedy: str = ENDLESS) -> None:
    """Refuse what is infinite or so large that sums of squares overflow, naming the first place."""
    arrays.refuse_where(np.abs(array) > LARGEST, array, name, remedy)


def _refuse_ragged(values: Any, name: str) -> None:
    """Name the first row of another length, which NumPy's own message does not."""
    if not isinstance(values, list | tuple):
        return
    lengths = [len(row) if isinstance(row, list | tuple | np.ndarray) else None for row in values]
    for i, length in enumerate(lengths):
        if length is not None and length != lengths[0]:
            raise InputError(
                f"{name}[{i}] has {length} cells and {name}[0] has {lengths[0]}: give every row as many, None for what "
                "was not evaluated"
            )


def check_samples(n: Any, missing: np.ndarray, *, turned: bool) -> np.ndarray:
    """Samples per cell; one number per task is repeated for every moment. Missing cells may have none."""
    array = arrays.floats(n, "n")
    array = array.T if turned and array.ndim == 2 else array
    if array.shape == missing.shape:
        array = np.where(missing & np.isnan(array), 0.0, array)
    counts = check_whole(array, "n", missing.shape if array.ndim == 2 else (len(missing),), least=0)
    counts = np.broadcast_to(counts, missing.shape).copy()
    arrays.refuse_where((counts == 0) & ~missing, counts, "n", "the cell has a value, give its number of samples")
    return counts


def check_whole(values: Any, name: str, shape: tuple[int, ...], *, least: int) -> np.ndarray:
    """Whole numbers of one shape, int64."""
    array = arrays.floats(values, name)
    if array.shape != shape:
        raise InputError(f"{name} has shape {array.shape}: give shape {shape}")
    bad = np.argwhere(~(array >= least) | (array != np.round(array)) | (array > MOST))
    if bad.size:
        where, value = bracketed(bad[0]), array[tuple(bad[0])]
        raise InputError(f"{name}{where} is {value:g}: give whole numbers of at least {least}, at most {MOST:g}")
    return array.astype(np.int64)


def check_reasons(reasons: Any, missing: np.ndarray) -> dict[tuple[int, int], str]:
    """Why cells are missing, by place; one text stands for all of them."""
    if reasons is None:
        return {}
    if isinstance(reasons, str):
        text = check_text(reasons, "reasons")
        return {(int(k), int(j)): text for k, j in np.argwhere(missing)}
    if not isinstance(reasons, Mapping):
        raise InputError(f"reasons is of type {type(reasons).__name__}: give a text, or {{(time, task): text}}")
    checked = {}
    for place, text in reasons.items():
        k, j = check_place(place, len(missing), "reasons")
        if not missing[k, j]:
            raise InputError(f"reasons[({k}, {j})] is given, but values[{k}, {j}] is there: leave the reason out")
        checked[k, j] = check_text(text, f"reasons[({k}, {j})]")
    return checked


def check_place(place: Any, count: int, name: str) -> tuple[int, int]:
    """A time and a task, both within the matrix."""
    pair = isinstance(place, tuple) and len(place) == 2 and all(isinstance(i, Integral) for i in place)
    if not pair or any(isinstance(i, bool) or not 0 <= i < count for i in place):
        raise InputError(f"{name} has place {place!r}: give (time, task), both from 0 to {count - 1}")
    return int(place[0]), int(place[1])


def stored_reasons(stored: Any) -> dict[Any, Any]:
    """The reasons of a file, which has no tuples for keys."""
    if not isinstance(stored, list) or any(not isinstance(entry, list) or len(entry) != 3 for entry in stored):
        raise InputError("reasons of the manifest are no list of [time, task, text]")
    places = [_hashable(tuple(entry[:2])) for entry in stored]
    if len(set(places)) < len(places):
        raise InputError("reasons of the manifest name a cell twice")
    return {place: entry[2] for place, entry in zip(places, stored, strict=True)}


def _hashable(place: tuple[Any, Any]) -> Any:
    return place if all(isinstance(i, int) for i in place) else repr(list(place))


def check_tasks(tasks: Any, count: int) -> tuple[str, ...]:
    """A name for each task, none twice; by default "1", "2" and so on."""
    if tasks is None:
        return tuple(str(number) for number in range(1, count + 1))
    if not isinstance(tasks, list | tuple) or len(tasks) != count:
        raise InputError(f"tasks is {tasks!r}: give {count} names, one for each task")
    names = tuple(check_text(task, "tasks") for task in tasks)
    for i, name in enumerate(names):
        if name in names[:i]:
            raise InputError(f"tasks[{i}] is {name!r}, as tasks[{names.index(name)}] is: give each task its own name")
    return names


def check_notes(notes: Any) -> tuple[str, ...]:
    """Texts, none of them empty."""
    if not isinstance(notes, list | tuple):
        raise InputError(f"notes is {notes!r}: give a list of texts")
    return tuple(check_text(note, "notes") for note in notes)


def check_text(value: Any, name: str, *, empty: bool = False) -> str:
    """A text, of more than blanks unless it may be empty."""
    if not isinstance(value, str) or not (value.strip() or empty):
        raise InputError(f"{name} is {value!r}: give a text")
    return value


def is_plain(value: Any) -> bool:
    """Whether a value is a text, a truth value or a finite number."""
    return isinstance(value, str | bool) or arrays.is_number(value)
