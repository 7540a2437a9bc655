"""The only place that knows NumPy from torch: namespaces, devices, tiles of rows, threads.

Scores are written once against the array API; this module hands them the right namespace, walks
large (or memory-mapped, or half-precision) arrays a few rows at a time, and brings results home as NumPy.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
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
    bad = np.flatnonzero(~np.isfinite(array))
    if bad.size:
        raise InputError(f"{name}[{bad[0]}] is {array[bad[0]]}: give finite numbers")
    return array.astype(np.float64)


def _refuse_strange(values: Any, array: np.ndarray, name: str, remedy: str) -> None:
    """Refuse what is no number among the objects of an array, or of the list behind one, which turns True into 1."""
    if array.dtype.kind != "O" and not isinstance(values, list | tuple):
        return
    objects = array if array.dtype.kind == "O" else np.array(values, dtype=object)
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


def first_largest(values: np.ndarray) -> np.ndarray:
    """The column of each row's largest value, the first of equals, as ``argmax(axis=1)`` finds it; no NaN.

    For few columns, such as the scores of a few dozen classes, NumPy's own spends its time on starting each row: here a
    few thousand rows at a time are turned into columns, which takes half as long.

    >>> first_largest(np.array([[0.1, 0.7, 0.7], [2.0, 1.0, 0.0]]))
    array([1, 0])
    """
    rows, columns = values.shape
    if columns > 64:
        return np.argmax(values, axis=1)
    found = np.empty(rows, dtype=np.int64)
    rank = np.arange(columns, 0, -1, dtype=np.int8)[:, None]  # the first of equals ranks highest
    slab = min(rows, 8192)
    turned, largest = np.empty((columns, slab), values.dtype), np.empty((columns, slab), dtype=bool)
    for start in range(0, rows, slab or 1):
        some = values[start : start + slab].T
        now, hit = turned[:, : some.shape[1]], largest[:, : some.shape[1]]
        now[...] = some
        np.equal(now, now.max(axis=0), out=hit)
        ranks = hit.view(np.int8)
        np.multiply(ranks, rank, out=ranks)
        found[start : start + slab] = columns - ranks.max(axis=0)
    return found


def check_labels(values: Any, *, n: int, k: int, name: str = "labels") -> np.ndarray:
    """Class labels as NumPy: n whole numbers from 0 to k - 1, or an InputError that says which is not."""
    array = to_numpy(as_array(values, name))
    if array.shape != (n,):
        raise InputError(f"{name} has shape {array.shape}: give {n} class numbers, shape ({n},)")
    if array.dtype.kind not in "iu":
        raise InputError(f"{name} has type {array.dtype}: give class numbers as integers")
    bad = np.flatnonzero((array < 0) | (array >= k))
    if bad.size:
        raise InputError(f"{name}[{bad[0]}] is {array[bad[0]]}: with {k} classes a label lies in 0..{k - 1}")
    return array


def _is_floating(array: Any) -> bool:
    if array_api_compat.is_torch_array(array):
        return bool(array.dtype.is_floating_point)
    return bool(np.issubdtype(array.dtype, np.floating))


def _is_integer(array: Any) -> bool:
    if array_api_compat.is_torch_array(array):
        return not (array.dtype.is_floating_point or array.dtype.is_complex or str(array.dtype) == "torch.bool")
    return array.dtype.kind in "iu"


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
