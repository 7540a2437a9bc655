"""Time on which a live run takes place: whole nanoseconds that advance by measured latencies or by those of a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .. import results
from ..errors import InputError
from .times import parse_ms, parse_ms_row

#: Intrinsic and extrinsic ms of each method: one number each, or one per batch; `Trace.retime` takes the same.
Table = Mapping[str, tuple[Any, Any]]


class VirtualClock:
    """A clock that stands still until it is told how long something took, in whole nanoseconds from 0.

    A method runs as fast as it can; the clock then advances by its latency. No run sleeps, and integers add up
    exactly: with latencies from a table two runs meet the same batches, on any machine.

    Examples
    --------
    >>> clock = VirtualClock()
    >>> clock.advance(25)
    >>> clock.wait_until(20)  # that is past: nothing to wait for
    >>> clock.wait_until(30)
    >>> clock.now_ns
    30
    """

    def __init__(self) -> None:
        self.now_ns = 0

    def __repr__(self) -> str:
        return f"VirtualClock(now_ns={self.now_ns})"

    def advance(self, duration_ns: int) -> None:
        """Let something take `duration_ns`, at least 0.

        Raises
        ------
        InputError
            A duration that would turn the clock back.
        """
        if duration_ns < 0:
            raise InputError(f"duration_ns is {duration_ns}: a clock never runs backwards")
        self.now_ns += int(duration_ns)

    def wait_until(self, time_ns: int) -> None:
        """Stand idle until `time_ns`; a time that is past already takes no waiting."""
        self.now_ns = max(self.now_ns, int(time_ns))


def published() -> dict[str, tuple[float, float]]:
    r"""The source's latencies as a table: ResNet-50 on batches of 64 of ImageNet-C, on an RTX 4080.

    The source prints the mean latency :math:`\bar\delta`, its extrinsic part :math:`\bar\ell` and the intrinsic part
    above :math:`\lambda` = 39.9 ms, each rounded to 0.1 ms. Rounded parts do not always add up, so the intrinsic part
    here is :math:`\bar\delta - \bar\ell`: the sum, on which availability rests, is the printed one.

    Returns
    -------
    dict of str to (float, float)
        Intrinsic and extrinsic ms of AdaBN, Tent, ETA, SHOT-IM, CMF and SAR. "Standard" is :math:`\lambda` itself, the
        latency that the source compares all others with: it lies six standard deviations above the mean, which the
        source does not print. LAME, NEO and DeYO have no printed latency.

    Raises
    ------
    InputError
        The published tables are not there, as in a run that was not given them.

    Examples
    --------
    >>> published()["ETA"]
    (41.1, 56.6)
    >>> published()["Standard"]
    (39.9, 0.0)
    """
    printed: dict[str, dict[str, int]] = {}
    for row in results.published("tempora", "T2-latency"):
        if row["unit"] == "ms":
            printed.setdefault(row["row"], {})[row["column"]] = parse_ms(row["value"])
    [reference] = [row["value"] for row in results.published("tempora", "text") if row["column"] == "reference latency"]
    parts = {
        name: ((times["latency"] - times["extrinsic"]) / 1e6, times["extrinsic"] / 1e6)
        for name, times in printed.items()
    }
    return {"Standard": (reference, 0.0), **parts}


def latencies(table: Table, method: str, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Intrinsic and extrinsic nanoseconds of a method on each of n batches, from a table of milliseconds.

    Parameters
    ----------
    table : mapping of str to (intrinsic, extrinsic)
        In ms, each one number for all batches or a row of n.
    method : str
        Which entry.
    n : int
        Batches.

    Returns
    -------
    tuple of numpy.ndarray of int64, shape (n,)

    Raises
    ------
    InputError
        No such method in the table, an entry that is no pair, another number of rows than n, or a latency that is no
        time.

    Examples
    --------
    >>> latencies({"Tent": (41, [56.1, 0])}, "Tent", 2)
    (array([41000000, 41000000]), array([56100000,        0]))
    """
    if not isinstance(table, Mapping) or method not in table:
        known = ", ".join(map(str, table)) if isinstance(table, Mapping) else f"is {table!r}, no mapping"
        raise InputError(
            f"the table has no latencies of {method!r} ({known}): add them, as {{name: (intrinsic, extrinsic)}}"
        )
    entry = table[method]
    if not isinstance(entry, tuple | list) or len(entry) != 2:
        raise InputError(f"the table gives {entry!r} for {method!r}: give intrinsic and extrinsic ms, a pair")
    names = (f"intrinsic ms of {method!r}", f"extrinsic ms of {method!r}")
    intrinsic, extrinsic = (_row(times, n, name) for times, name in zip(entry, names, strict=True))
    return intrinsic, extrinsic


def _row(times: Any, n: int, name: str) -> np.ndarray:
    if np.ndim(times) == 0:
        return np.full(n, parse_ms(times, name), dtype=np.int64)
    row = parse_ms_row(times, name)
    if len(row) != n:
        raise InputError(
            f"{name}: the table has {len(row)} batches and the stream {n}: give one time for each, or one for all"
        )
    return row
