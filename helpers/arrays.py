"""The only place that knows NumPy from torch: namespaces, devices, tiles of rows, threads.

Scores are written once against the array API; this module hands them the right namespace, walks
large (or memory-mapped, or half-precision) arrays a few rows at a time, and brings results home as NumPy.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from numbers import Integral, Real
from typing import Any, TypeVar

import array_api_compat
import numpy as np

from .errors import InputError, bracketed, brief

T = TypeVar("T")


def as_array(value: Any, name: str) -> Any:
    """`value` itself if it is a NumPy array or a torch tensor, else a NumPy array of it.

    Raises
    ------
    InputError
        Nothing that an array can be made of, such as rows of unequal length; or a masked array.
    """
    if isinstance(value, np.ma.MaskedArray):
        raise InputError(f"{name} is a masked array: fill the masked values, or leave their rows out")
    if array_api_compat.is_array_api_obj(value):
        return value
    try:
        return np.asarray(value)
    except (ValueError, TypeError) as error:
        raise InputError(f"{name} is no array: {error}") from error


def whole_number(value: Any, name: str, *, least: int) -> int:
    """A whole number of at least `least`, or an InputError that names the argument."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise InputError(f"{name} is {brief(value)}: give a whole number of at least {least}")
    return int(value)


def truth(value: Any, name: str) -> bool:
    """True or False, or an InputError that names the argument: a text such as "no" would count as true."""
    if not isinstance(value, bool | np.bool_):
        raise InputError(f"{name} is {brief(value)}: give True or False")
    return bool(value)


def one_of(value: Any, name: str, known: Iterable[str]) -> str:
    """One of the known words, or an InputError that names the argument and lists them.

    >>> one_of("bufer", "tie", ("arrival", "buffer"))
    Traceback (most recent call last):
    ...
    helpers.errors.InputError: tie is 'bufer': choose one of arrival, buffer
    """
    words = tuple(known)
    if not isinstance(value, str) or value not in words:
        raise InputError(f"{name} is {brief(value)}: choose one of {', '.join(words)}")
    return value


def is_number(value: Any) -> bool:
    """Whether the value is one finite real number that float64 can hold; True and False are none.

    >>> is_number(0.5), is_number(np.int64(3)), is_number(float("nan")), is_number(10**400), is_number(True)
    (True, True, False, False, False)
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number of more than 308 digits
        return False


def floats(values: Any, name: str, *, remedy: str = "give numbers, and None for what is missing") -> np.ndarray:
    """Numbers as a float64 copy of the same shape, with NaN for None, or an InputError that names the place.

    >>> floats([[0.9, None], [1, 0.5]], "values")
    array([[0.9, nan],
           [1. , 0.5]])
    """
    array = to_numpy(detached(as_array(values, name)))
    if array.dtype.kind not in "fiuO":
        raise InputError(f"{name} has type {array.dtype}: {remedy}")
    _refuse_strange(values, array, name, remedy)
    return array.astype(np.float64)


def real_vector(values: Any, name: str) -> np.ndarray:
    """Finite real numbers in one row, float64, or an InputError that names the argument and the place."""
    array = to_numpy(detached(as_array(values, name)))
    if array.ndim != 1 or not array.size or array.dtype.kind not in "fiu":
        raise InputError(f"{name} has shape {array.shape} and type {array.dtype}: give a list of numbers")
    _refuse_strange(values, array, name, "give numbers")
    refuse_not_finite(array, name, "give finite numbers")
    return array.astype(np.float64)


def not_negative(values: Any, name: str) -> np.ndarray:
    """Finite numbers of at least 0 in one row, float64, or an InputError that names the argument and the place."""
    vector = real_vector(values, name)
    refuse_where(vector < 0, vector, name, "give numbers of at least 0")
    return vector


def whole_numbers(values: Any, name: str, *, layout: str, ndim: int | None = None) -> np.ndarray:
    """Whole numbers as int64, of any shape unless `ndim` is given, or an InputError; `layout` says what is wanted.

    >>> whole_numbers([[1, 2], [3, True]], "labels", layout="a class for each frame")
    Traceback (most recent call last):
    ...
    helpers.errors.InputError: labels[1, 1] is True: give a class for each frame
    """
    array = to_numpy(detached(as_array(values, name)))
    if array.size == 0 and isinstance(values, list | tuple):
        array = array.astype(np.int64)  # NumPy takes an empty list for floats
    if array.dtype.kind not in "iu" or ndim not in (None, array.ndim):
        raise InputError(f"{name} has shape {array.shape} and type {array.dtype}: give {layout}")
    _refuse_strange(values, array, name, f"give {layout}")
    if array.dtype == np.uint64:
        refuse_where(array > np.iinfo(np.int64).max, array, name, "give numbers below 2 to the power of 63")
    return array.astype(np.int64, copy=False)


def whole_row(values: Any, name: str) -> np.ndarray:
    """Whole numbers in one row, which may be empty, as an int64 copy, or an InputError that names the argument."""
    return whole_numbers(values, name, layout="a row of whole numbers", ndim=1).copy()


def probabilities(values: Any, name: str, *, layout: str) -> np.ndarray:
    """Rows of probabilities, float64 of shape (n, k): none outside [0, 1] by more than rounding, rows sum to 1.

    Rows may differ from 1 by a hundredth, as half precision lets them; they come back as they are.

    >>> probabilities([[0.5, 0.5], [0.6, 0.6]], "beliefs", layout="a row per point")
    Traceback (most recent call last):
    ...
    helpers.errors.InputError: beliefs[1] sums to 1.2: each row sums to 1
    """
    p = to_numpy(check_matrix(values, name, layout=layout)).astype(np.float64)
    refuse_where(~((p >= 0) & (p <= 1 + 1e-6)), p, name, "give probabilities, each in [0, 1]")
    sums = p.sum(axis=1)
    off = np.flatnonzero(np.abs(sums - 1.0) > 1e-2)
    if off.size:
        raise InputError(f"{name}[{off[0]}] sums to {sums[off[0]]:.6g}: each row sums to 1")
    return p


def refuse_where(bad: np.ndarray, values: np.ndarray, name: str, remedy: str) -> None:
    """Refuse the first value at which `bad`, of the same shape, is true; the message names its place.

    >>> refuse_where(np.array([False, True]), np.array([64, 0]), "size", "a batch has at least one sample")
    Traceback (most recent call last):
    ...
    helpers.errors.InputError: size[1] is 0: a batch has at least one sample
    """
    if np.any(bad):
        place = np.unravel_index(np.argmax(bad), np.shape(bad))
        raise InputError(f"{name}{bracketed(place)} is {values[place]}: {remedy}")


def refuse_not_finite(
    array: np.ndarray, name: str, remedy: str = "every value must be finite; drop or mend this row"
) -> None:
    """Refuse NaN and infinity, naming the first place."""
    refuse_where(~np.isfinite(array), array, name, remedy)


def _refuse_strange(values: Any, array: np.ndarray, name: str, remedy: str) -> None:
    """Refuse what is no number among the objects of an array, or of the list behind one, which turns True into 1."""
    if array.dtype.kind != "O" and not isinstance(values, list | tuple):
        return
    objects = array if array.dtype.kind == "O" else np.array(values, dtype=object)
    if array.dtype.kind != "O" and set(map(type, objects.flat)) <= {int, float}:
        return  # nearly always, and told in a tenth of the time that asking each value takes
    for place, value in enumerate(objects.flat):
        # a float may be NaN or infinite, a whole number too long for float64
        if value is not None and not isinstance(value, float | np.floating) and not is_number(value):
            where = bracketed(np.unravel_index(place, objects.shape))
            raise InputError(f"{name}{where} is {brief(value)}: {remedy}")


def namespace(first: Any, second: Any, *, names: tuple[str, str]) -> Any:
    """The array namespace that both arrays share.

    Raises
    ------
    InputError
        One is NumPy and the other torch, or they lie on different devices.
    """
    if array_api_compat.is_torch_array(first) != array_api_compat.is_torch_array(second):
        raise InputError(
            f"{names[0]} and {names[1]} come from different libraries "
            f"({type(first).__module__}, {type(second).__module__}): convert one of them"
        )
    if array_api_compat.device(first) != array_api_compat.device(second):
        raise InputError(f"{names[0]} and {names[1]} lie on different devices: move one of them")
    return array_api_compat.array_namespace(first, second)


def to_numpy(array: Any) -> np.ndarray:
    """The array as NumPy, from whatever device it lies on."""
    if array_api_compat.is_torch_array(array):
        array = array.detach().cpu()
        # NumPy has no float narrower than half precision, nor bfloat16
        return np.asarray(array.float() if array.dtype.is_floating_point and array.dtype.itemsize <= 2 else array)
    return np.asarray(array)


def device(array: Any) -> Any:
    """The device that the array lies on, as its library names it."""
    return array_api_compat.device(array)


def is_on_device(array: Any) -> bool:
    """Whether the array lies on an accelerator."""
    return array_api_compat.is_torch_array(array) and array.device.type != "cpu"


def detached(array: Any) -> Any:
    """The array without its gradient tape."""
    return array.detach() if array_api_compat.is_torch_array(array) else array


def is_narrow(array: Any) -> bool:
    """Whether float32 holds every value of the array: it is floating point of at most 4 bytes."""
    return _is_floating(array) and array.dtype.itemsize <= 4


def check_matrix(value: Any, name: str, *, layout: str) -> Any:
    """`value` as a two-dimensional array of real numbers with at least one row and one column.

    Raises
    ------
    InputError
        Another number of dimensions, an empty array, or complex, boolean or object values.
    """
    array = detached(as_array(value, name))
    if array.ndim != 2 or 0 in array.shape:
        raise InputError(f"{name} has shape {tuple(array.shape)}: give {layout}")
    if not (_is_floating(array) or _is_integer(array)):
        raise InputError(f"{name} has type {array.dtype}: give real numbers")
    return array


def first_largest(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The column of each row's largest value, the first of equals, and that value.

    A row with NaN has NaN as its largest value, and a column that means nothing.

    For few columns, such as the scores of a few dozen classes, ``argmax(axis=1)`` spends its time on starting each row:
    here some thousand rows at a time are turned into columns, which takes half as long.

    >>> first_largest(np.array([[0.1, 0.7, 0.7], [2.0, 1.0, 0.0]]))
    (array([1, 0]), array([0.7, 2. ]))
    """
    rows, columns = values.shape
    if columns > 64:
        found = np.argmax(values, axis=1)
        return found, np.take_along_axis(values, found[:, None], axis=1)[:, 0]
    found, largest = np.empty(rows, dtype=np.int64), np.empty(rows, dtype=values.dtype)
    rank = np.arange(columns, 0, -1, dtype=np.int8)[:, None]  # the first of equals ranks highest
    slab, near = 8192, 512  # rows that the second cache holds, and rows that the nearest one does
    space, marks = np.empty(columns * min(rows, slab), values.dtype), np.empty(columns * min(rows, slab), dtype=bool)
    for start in range(0, rows, slab):
        part = slice(start, start + slab)
        some = values[part]
        turned, equal = (room[: some.size].reshape(columns, -1) for room in (space, marks))
        for first in range(0, len(some), near):  # read in their order, then turned
            turned[:, first : first + near] = some[first : first + near].copy().T
        np.max(turned, axis=0, out=largest[part])
        np.equal(turned, largest[part], out=equal)
        ranks = equal.view(np.int8)
        np.multiply(ranks, rank, out=ranks)
        np.subtract(columns, ranks.max(axis=0), out=found[part])
    return found, largest


def check_labels(values: Any, *, n: int, k: int, name: str = "labels") -> np.ndarray:
    """Class labels as NumPy: n whole numbers from 0 to k - 1, or an InputError that says which is not."""
    shape = tuple(as_array(values, name).shape)
    if shape != (n,):
        raise InputError(f"{name} has shape {shape}: give {n} class numbers, shape ({n},)")
    array = whole_numbers(values, name, layout="class numbers as integers")
    refuse_where((array < 0) | (array >= k), array, name, f"with {k} classes a label lies in 0..{k - 1}")
    return array


def _is_floating(array: Any) -> bool:
    if array_api_compat.is_torch_array(array):
        return bool(array.dtype.is_floating_point)
    return bool(np.issubdtype(array.dtype, np.floating))


def _is_integer(array: Any) -> bool:
    if array_api_compat.is_torch_array(array):
        return not (array.dtype.is_floating_point or array.dtype.is_complex or str(array.dtype) == "torch.bool")
    return array.dtype.kind in "iu"


def counts(index: np.ndarray, weights: np.ndarray | None = None, minlength: int = 0) -> np.ndarray:
    """`np.bincount`, which takes no index wider than the machine's own: a browser's Python has 32 bits.

    Examples
    --------
    >>> counts(np.array([0, 2, 2], dtype=np.int64), minlength=4)
    array([1, 0, 2, 0])
    """
    return np.bincount(np.asarray(index).astype(np.intp, copy=False), weights, minlength)


def repeat(values: np.ndarray, times: np.ndarray) -> np.ndarray:
    """`np.repeat` for numbers of times of any width, as in `counts`.

    Examples
    --------
    >>> repeat(np.array([5, 7]), np.array([1, 2], dtype=np.int64))
    array([5, 7, 7])
    """
    return np.repeat(values, np.asarray(times).astype(np.intp, copy=False))


def thread_count(array: Any) -> int:
    """Threads worth starting for this array: the numeric threads allowed, and one for a tensor.

    Torch runs threads (or a device) of its own. ``OMP_NUM_THREADS`` is respected, because that is how a
    batch runner gives each job its share of the machine.
    """
    if array_api_compat.is_torch_array(array):
        return 1
    allowed = os.environ.get("OMP_NUM_THREADS", "")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(int(allowed), cores) if allowed.isdigit() and int(allowed) > 0 else cores


def map_tiles(function: Callable[[int, int], T], rows: int, tile: int, threads: int = 1) -> list[T]:
    """Call ``function(start, stop)`` on consecutive tiles of `tile` rows; results come back in order."""
    starts = range(0, rows, tile)
    spans: Sequence[tuple[int, int]] = [(start, min(start + tile, rows)) for start in starts]
    if threads == 1 or len(spans) == 1:
        return [function(*span) for span in spans]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(lambda span: function(*span), spans))
