"""Exact times: milliseconds are read as decimals and kept as whole nanoseconds."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from numbers import Real
from typing import Any

import numpy as np

from .. import arrays
from ..errors import InputError

NS_PER_MS = 1_000_000
#: Times and sums of latencies stay below this many nanoseconds (73 years), so that no sum of two leaves 64 bits.
LONGEST_NS = 2**61


def parse_ms(value: Any, name: str = "value") -> int:
    """Milliseconds as whole nanoseconds: the shortest decimal that a number shows as, rounded once, half to even.

    Parameters
    ----------
    value : int, float, decimal.Decimal or str
        A time in ms, finite and at least 0. A float means its shortest decimal, so 39.9 is exactly 39 900 000 ns and
        not the binary fraction below it; 39.9 * 2 ** 0.5 is rounded to the nearest nanosecond, here and nowhere else.
    name : str
        What the error calls it.

    Returns
    -------
    int
        Nanoseconds.

    Raises
    ------
    InputError
        Not a number, negative, NaN, infinite, or 73 years and more.

    Examples
    --------
    >>> parse_ms(39.9), parse_ms("39.9"), parse_ms(39.9 * 2 ** 0.5)
    (39900000, 39900000, 56427121)
    """
    time = _decimal(value)
    if time is None:
        raise InputError(f"{name} is {value!r}: give a time in ms, such as 39.9")
    if not time.is_finite() or time < 0:
        raise InputError(f"{name} is {value}: a time in ms is finite and at least 0")
    if time * NS_PER_MS >= LONGEST_NS:
        raise InputError(f"{name} is {value} ms: give a time in ms of less than 73 years")
    return int((time * NS_PER_MS).to_integral_value())


def _decimal(value: Any) -> Decimal | None:
    """The shortest decimal that shows as `value`, or None where it is no number."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real | Decimal | str):
        return None
    try:
        return Decimal(str(value).strip())
    except InvalidOperation:
        return None


def parse_ms_row(values: Any, name: str = "values") -> np.ndarray:
    """A row of times in ms as whole nanoseconds, int64 of shape (n,); each value is read as by `parse_ms`.

    Raises
    ------
    InputError
        No row of numbers; the first value that is negative, NaN, infinite or too long, named by its index.

    Examples
    --------
    >>> parse_ms_row([39.9, "97.7", 0])
    array([39900000, 97700000,        0])
    """
    if isinstance(values, Sequence) and not isinstance(values, str):
        return np.array([parse_ms(value, f"{name}[{i}]") for i, value in enumerate(values)], dtype=np.int64)
    times = arrays.to_numpy(arrays.as_array(values, name))
    if times.ndim != 1 or times.dtype.kind not in "fiu":
        raise InputError(f"{name} has shape {times.shape} and type {times.dtype}: give a row of times in ms")
    with np.errstate(over="ignore", invalid="ignore"):  # what is not finite goes to parse_ms, which refuses it
        scaled = times.astype(np.float64) * NS_PER_MS
        whole = np.rint(scaled)
        to_a_tie = abs(abs(scaled - whole) - 0.5)
    # a double is within 1e-3 ns of its decimal up to 2^42 ns; nearer to a tie than that the decimal itself must tell
    plain = (times.dtype == np.float64) & (scaled >= 0) & (scaled < 2**42) & (to_a_tie > 2e-3)
    result = np.where(plain, whole, 0).astype(np.int64)
    for i in np.flatnonzero(~plain):
        result[i] = parse_ms(times[i], f"{name}[{i}]")
    return result


def ms_text(time_ns: int) -> str:
    """Nanoseconds as an exact decimal of milliseconds: 39900000 is 39.9."""
    whole, rest = divmod(time_ns, NS_PER_MS)
    return f"{whole}.{rest:06d}".rstrip("0").rstrip(".")
