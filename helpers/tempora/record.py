"""The record of TEMPORA: one method on one stream, batch by batch, with what it got right and how long it took."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import arrays, records
from ..arrays import refuse_where
from ..errors import InputError, located
from ..records import Field, Schema
from .times import LONGEST_NS, NS_PER_MS, ms_text, parse_ms, parse_ms_row

if TYPE_CHECKING:
    from .validity import Validity

SCHEMA = Schema(
    "tempora-trace",
    1,
    {
        "correct": Field("int", ("n",), "samples"),
        "size": Field("int", ("n",), "samples"),
        "intrinsic_ns": Field("int", ("n",), "ns"),
        "extrinsic_ns": Field("int", ("n",), "ns"),
        "arrival_ns": Field("int", ("n",), "ns", optional=True),
        "served": Field("int", ("m",), "batch", optional=True),
    },
)

#: What a trace knows beside its arrays.
CONTEXT = ("corruption", "method", "device", "policy", "reference_ns", "live")


@dataclass(frozen=True, eq=False, init=False)
class Trace:
    r"""One method on one stream: what each of n batches got right and how long it took, in the order they arrived.

    The latency of batch i is :math:`\delta_i = e_i + \ell_i`: the intrinsic part until its prediction is out, and the
    extrinsic part in which the method goes on working (a gradient step, say) and holds up the next batch.

    Parameters
    ----------
    correct : array of int, shape (n,)
        Samples predicted right.
    size : array of int, shape (n,), or int
        Samples in the batch, at least 1; one number stands for every batch.
    intrinsic_ms, extrinsic_ms : array of shape (n,), or number
        The two parts of the latency in ms, at least 0. Milliseconds mean their shortest decimal and are kept as whole
        nanoseconds, see `parse_ms`.
    arrival_ms : array of shape (n,), optional
        When each batch arrived, non-decreasing; where the stream has arrivals of its own.
    corruption, method, device, policy : str
        What the stream and the method were; `policy` says what a frozen method keeps (of its batch statistics, say).
    reference_ms : number, optional
        Latency of standard inference on this device, the source's lambda.
    live : mapping, optional
        None: an offline log, every batch was given to the method. Else the protocol that the method met while it ran,
        such as ``{"protocol": "discrete", "period_ms": 39.9, "buffer": 1, "tie": "arrival"}``; an amortised run says
        under "switch" how many batches it adapted to.
    served : array of int, shape (m,), optional
        Of a live discrete run: the batches that reached the method, strictly increasing. The others have size, but
        neither correct samples nor latency, and enter no mean.
    provenance : mapping
        Where the numbers come from; see `records.provenance`.

    Attributes
    ----------
    correct, size, intrinsic_ns, extrinsic_ns : numpy.ndarray of int64, shape (n,)
    arrival_ns, served : numpy.ndarray of int64, or None
    reference_ns : int or None

    Raises
    ------
    InputError
        No batches, unequal lengths, correct outside 0..size, an empty batch, a time that is negative, NaN or infinite,
        arrivals that run backwards, served batches out of order or out of range. The message names argument and index.

    References
    ----------
    TEMPORA: Characterising the Time-Contingent Utility of Online Test-Time Adaptation (2026), arXiv:2602.06136.

    Examples
    --------
    >>> trace = Trace([1, 2, 3], 10, 40, [57.7, 57.7, 0], method="Tent")
    >>> trace
    Trace(3 batches, 30 samples, accuracy 0.2000, mean latency 78.467 ms, method Tent, offline log)
    >>> trace.accuracy
    array([0.1, 0.2, 0.3])
    >>> trace.latency_ns
    array([97700000, 97700000, 40000000])
    """

    correct: np.ndarray
    size: np.ndarray
    intrinsic_ns: np.ndarray
    extrinsic_ns: np.ndarray
    arrival_ns: np.ndarray | None
    corruption: str
    method: str
    device: str
    policy: str
    reference_ns: int | None
    live: Mapping[str, Any] | None
    served: np.ndarray | None
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def __init__(
        self,
        correct: Any,
        size: Any,
        intrinsic_ms: Any,
        extrinsic_ms: Any,
        *,
        arrival_ms: Any = None,
        corruption: str = "",
        method: str = "",
        device: str = "",
        policy: str = "",
        reference_ms: Any = None,
        live: Mapping[str, Any] | None = None,
        served: Any = None,
        provenance: Mapping[str, Any] | None = None,
    ) -> None:
        """Read milliseconds and check everything once, so that whoever holds a trace can rely on it."""
        hits = arrays.whole_row(correct, "correct")
        n = len(hits)
        self._fill(
            correct=hits,
            size=size,
            intrinsic_ns=_times(intrinsic_ms, "intrinsic_ms", n),
            extrinsic_ns=_times(extrinsic_ms, "extrinsic_ms", n),
            arrival_ns=None if arrival_ms is None else parse_ms_row(arrival_ms, "arrival_ms"),
            corruption=corruption,
            method=method,
            device=device,
            policy=policy,
            reference_ns=None if reference_ms is None else parse_ms(reference_ms, "reference_ms"),
            live=live,
            served=served,
            provenance=provenance or {},
        )

    @classmethod
    def from_ns(
        cls,
        correct: Any,
        size: Any,
        intrinsic_ns: Any,
        extrinsic_ns: Any,
        *,
        arrival_ns: Any = None,
        corruption: str = "",
        method: str = "",
        device: str = "",
        policy: str = "",
        reference_ns: int | None = None,
        live: Mapping[str, Any] | None = None,
        served: Any = None,
        provenance: Mapping[str, Any] | None = None,
    ) -> Trace:
        """A trace from times that are whole nanoseconds already, int arrays of shape (n,); else as the constructor.

        Raises
        ------
        InputError
            As the constructor.

        Examples
        --------
        >>> Trace.from_ns([1], [2], [39_900_000], [0]).intrinsic_ms
        array([39.9])
        """
        trace = cls.__new__(cls)
        trace._fill(
            correct=arrays.whole_row(correct, "correct"),
            size=size,
            intrinsic_ns=arrays.whole_row(intrinsic_ns, "intrinsic_ns"),
            extrinsic_ns=arrays.whole_row(extrinsic_ns, "extrinsic_ns"),
            arrival_ns=None if arrival_ns is None else arrays.whole_row(arrival_ns, "arrival_ns"),
            corruption=corruption,
            method=method,
            device=device,
            policy=policy,
            reference_ns=reference_ns,
            live=live,
            served=served,
            provenance=provenance or {},
        )
        return trace

    def _fill(self, *, size: Any, live: Mapping[str, Any] | None, served: Any, **fields: Any) -> None:
        n = len(fields["correct"])
        fields["size"] = np.full(n, size, dtype=np.int64) if _is_whole(size) else arrays.whole_row(size, "size")
        for name in ("corruption", "method", "device", "policy"):
            if not isinstance(fields[name], str):
                raise InputError(f"{name} is {fields[name]!r}: give a name")
        for name, value in (("live", {} if live is None else live), ("provenance", fields["provenance"])):
            if not isinstance(value, Mapping):
                raise InputError(f"{name} is {value!r}: give a mapping, or leave it out")
        fields["live"] = None if live is None else dict(live)
        if fields["reference_ns"] is not None:
            fields["reference_ns"] = arrays.whole_number(fields["reference_ns"], "reference_ns", least=0)
        fields["served"] = None if served is None else arrays.whole_row(served, "served")
        for name, value in fields.items():
            object.__setattr__(self, name, value)
        self._check()

    def _check(self) -> None:
        if self.n == 0:
            raise InputError("correct is empty: a trace has at least one batch")
        for name, row in self._arrays().items():
            if name != "served" and len(row) != self.n:
                given = name.removesuffix("_ns")
                raise InputError(f"{given} has {len(row)} values and correct {self.n}: give one for each batch")
        refuse_where(self.size < 1, self.size, "size", "a batch has at least one sample")
        refuse_where(self.correct < 0, self.correct, "correct", "count the samples predicted right")
        refuse_where(self.correct > self.size, self.correct, "correct", "there are not so many samples in the batch")
        for name in ("intrinsic_ns", "extrinsic_ns"):
            row = getattr(self, name)
            refuse_where(row < 0, row, name, "a latency is at least 0")
        if sum(float(np.sum(part, dtype=np.float64)) for part in (self.intrinsic_ns, self.extrinsic_ns)) >= LONGEST_NS:
            raise InputError("intrinsic_ms and extrinsic_ms add up to more than 73 years: give milliseconds")
        if self.arrival_ns is not None:
            arrival = self.arrival_ns
            refuse_where((arrival < 0) | (arrival >= LONGEST_NS), arrival, "arrival_ns", "count from 0, in nanoseconds")
            early = np.diff(arrival, prepend=0) < 0
            refuse_where(early, arrival, "arrival_ns", "the batch before it comes later, sort by arrival")
        if self.served is not None:
            self._check_served(self.served)

    def _check_served(self, served: np.ndarray) -> None:
        if self.live is None:
            raise InputError("served is given without live: only a live run leaves batches unserved")
        if len(served) == 0:
            raise InputError("served is empty: the first batch is always served")
        refuse_where((served < 0) | (served >= self.n), served, "served", f"batches are 0 to {self.n - 1}")
        refuse_where(np.diff(served, prepend=-1) < 1, served, "served", "list each batch once, in order")
        unserved = np.ones(self.n, dtype=bool)
        unserved[served] = False
        for name in ("correct", "intrinsic_ns", "extrinsic_ns"):
            row = getattr(self, name)
            refuse_where(unserved & (row != 0), row, name, "the batch was never served: it has neither hits nor time")

    @property
    def n(self) -> int:
        """Number of batches."""
        return len(self.correct)

    @property
    def measured(self) -> np.ndarray:
        """Indices of the batches that the method met: all of them, except in a live run that skipped some."""
        return np.arange(self.n) if self.served is None else self.served

    @property
    def accuracy(self) -> np.ndarray:
        """Share of right predictions in each batch, shape (n,)."""
        return self.correct / self.size

    @property
    def latency_ns(self) -> np.ndarray:
        """Intrinsic and extrinsic part together, int64 of shape (n,)."""
        return self.intrinsic_ns + self.extrinsic_ns

    @property
    def intrinsic_ms(self) -> np.ndarray:
        """Time from pick-up to prediction, shape (n,)."""
        return self.intrinsic_ns / NS_PER_MS

    @property
    def extrinsic_ms(self) -> np.ndarray:
        """Time that the method works on after its prediction, shape (n,)."""
        return self.extrinsic_ns / NS_PER_MS

    @property
    def arrival_ms(self) -> np.ndarray | None:
        """When each batch arrived, shape (n,), where the stream has arrivals of its own."""
        return None if self.arrival_ns is None else self.arrival_ns / NS_PER_MS

    @property
    def latency_ms(self) -> np.ndarray:
        """Intrinsic and extrinsic part together, shape (n,)."""
        return self.latency_ns / NS_PER_MS

    def __repr__(self) -> str:
        """What a reader wants to know of a trace at a glance."""
        seen = self.measured
        samples = int(np.sum(self.size))
        parts = [
            f"{self.n} batches",
            f"{samples} samples",
            f"accuracy {np.sum(self.correct) / np.sum(self.size[seen]):.4f}",
            f"mean latency {np.mean(self.latency_ms[seen]):.3f} ms",
        ]
        if self.served is not None:
            parts[2:2] = [f"{len(self.served)} batches served"]
        parts += [f"{name} {text}" for name in ("method", "corruption", "device") if (text := getattr(self, name))]
        parts.append("offline log" if self.live is None else f"live {self.live.get('protocol', 'run')}")
        return f"Trace({', '.join(parts)})"

    def retime(
        self,
        table: Mapping[str, tuple[Any, Any]] | None = None,
        *,
        intrinsic_ms: Any = None,
        extrinsic_ms: Any = None,
        reference_ms: Any = None,
        device: str = "",
    ) -> Trace:
        """The same predictions with another device's latencies.

        Whatever is scored from it afterwards is a projection: on another device the method would have met other
        batches. Hence a run that left batches unserved cannot be retimed.

        Parameters
        ----------
        table : mapping of str to (number, number), optional
            Intrinsic and extrinsic ms of each method, looked up under this trace's `method`.
        intrinsic_ms, extrinsic_ms : number or array of shape (n,)
            Both parts, instead of a table.
        reference_ms : number, optional
            Latency of standard inference on the other device; that of this one does not carry over.
        device : str
            Name of the other device.

        Raises
        ------
        InputError
            Neither or both of table and parts; a method that the table does not have; a run with unserved batches.

        Examples
        --------
        >>> trace = Trace([1, 2], 10, 40, 0, method="Tent")
        >>> trace.retime({"Tent": (41.1, 56.1)}, device="RTX 4080").latency_ms
        array([97.2, 97.2])
        """
        if (table is None) == (intrinsic_ms is None) or (intrinsic_ms is None) != (extrinsic_ms is None):
            raise InputError("retime takes a table, or intrinsic_ms and extrinsic_ms together")
        if self.served is not None and len(self.served) < self.n:
            raise InputError(
                f"{self.n - len(self.served)} of {self.n} batches were never served: retime an offline log, in which "
                "every batch has a prediction"
            )
        if table is not None:
            if self.method not in table:
                raise InputError(f"table has no method {self.method!r}, it has {', '.join(map(repr, table))}")
            intrinsic_ms, extrinsic_ms = table[self.method]
        return Trace(
            self.correct,
            self.size,
            intrinsic_ms,
            extrinsic_ms,
            arrival_ms=None if self.arrival_ns is None else [ms_text(time) for time in self.arrival_ns.tolist()],
            corruption=self.corruption,
            method=self.method,
            device=device,
            policy=self.policy,
            reference_ms=reference_ms,
            provenance=self.provenance,
        )

    def save(self, path: str | Path) -> Path:
        """Write the record to one .npz file, whole or not at all: it keeps everything."""
        manifest = {"trace": self._context(), "provenance": dict(self.provenance)}
        return records.save(path, SCHEMA, self._arrays(), manifest)

    @classmethod
    def load(cls, path: str | Path) -> Trace:
        """Read what `save` wrote; refuses what it cannot vouch for, see `records.load`."""
        content, manifest = records.load(path, SCHEMA)
        context = manifest.get("trace", {})
        if not isinstance(context, dict) or not set(context) <= set(CONTEXT):
            raise InputError(f"{path}: the manifest's entry 'trace' is {context!r}: it names {', '.join(CONTEXT)}")
        fields: dict[str, Any] = {**content, **context, "provenance": manifest.get("provenance", {})}
        with located(path):
            return cls.from_ns(**fields)

    def to_csv(self, path: str | Path) -> Path:
        """Write size, correct, intrinsic_ms, extrinsic_ms and, where there are any, arrival_ms: a line per batch.

        Names, reference and provenance are not in it: `save` and `to_jsonl` keep them.

        Raises
        ------
        InputError
            A live run: in a plain table it would pass for an offline log.
        """
        if self.live is not None:
            raise InputError("a live run would pass for an offline log in a .csv: use save or to_jsonl")
        columns = self._columns()
        lines = [",".join(columns), *(",".join(row) for row in zip(*columns.values(), strict=True))]
        return records.write_text(path, "\n".join(lines) + "\n")

    def to_jsonl(self, path: str | Path) -> Path:
        """Write one JSON object per line: first what the trace is, then each batch; it keeps everything."""
        served = None if self.served is None else self.served.tolist()
        head = {"trace": {**self._context(), "served": served, "provenance": dict(self.provenance)}}
        try:
            lines = [json.dumps(head, allow_nan=False)]
        except (TypeError, ValueError) as error:
            raise InputError(f"{path}: live or provenance cannot be written as JSON ({error})") from error
        columns = self._columns()
        for row in zip(*columns.values(), strict=True):
            lines.append("{" + ", ".join(f'"{name}": {text}' for name, text in zip(columns, row, strict=True)) + "}")
        return records.write_text(path, "\n".join(lines) + "\n")

    def validity(self, **options: Any) -> Validity:
        """Whether the latencies can carry what is said of them; see `validity.validity`."""
        from .validity import validity  # it needs Trace itself

        return validity(self, **options)

    def _arrays(self) -> dict[str, np.ndarray]:
        content = {name: getattr(self, name) for name in SCHEMA.fields}
        return {name: array for name, array in content.items() if array is not None}

    def _context(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in CONTEXT}

    def _columns(self) -> dict[str, list[str]]:
        """The columns of a plain table as exact text."""
        columns = {name: [str(count) for count in getattr(self, name).tolist()] for name in ("size", "correct")}
        times = {"intrinsic_ms": self.intrinsic_ns, "extrinsic_ms": self.extrinsic_ns, "arrival_ms": self.arrival_ns}
        for name, row in times.items():
            if row is not None:
                columns[name] = [ms_text(time) for time in row.tolist()]
        return columns


def _times(values: Any, name: str, n: int) -> np.ndarray:
    """A row of nanoseconds; one number stands for all n batches."""
    if np.ndim(values) == 0:
        return np.full(n, parse_ms(values, name), dtype=np.int64)
    return parse_ms_row(values, name)


def _is_whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)
