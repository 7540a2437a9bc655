"""The record of active testing: the labelled points in the order drawn, and the pool they were drawn from."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .. import arrays, records
from ..errors import InputError, located
from ..records import Field, Schema
from . import inputs

SCHEMA = Schema(
    "ppat-labels",
    1,
    {
        "loss": Field("float", ("m",), "loss"),
        "q": Field("float", ("m",), "probability"),
        "proxy_loss": Field("float", ("m",), "loss", optional=True),
        "index": Field("int", ("m",), "place in the pool", optional=True),
        "pool_proxy_loss": Field("float", ("n",), "loss", optional=True),
    },
)
COLUMNS, OPTIONAL = ("loss", "q"), ("proxy_loss", "index")


@dataclass(frozen=True, eq=False)
class Labels:
    """The m labelled points of one run, in the order drawn, out of a pool of N.

    Parameters
    ----------
    loss : array of shape (m,)
        Losses of the model under test, in whatever unit.
    q : array of shape (m,)
        Probability of each draw among the points that were left, in (0, 1].
    pool_size : int
        N.
    proxy_loss : array of shape (m,), optional
        What the losses would be if a cheap predictor were right.
    proxy_mean : float, optional
        Mean proxy loss over the whole pool; needed with `proxy_loss`, taken from `pool_proxy_loss` where that is given.
    index : array of shape (m,), optional
        Which points of the pool were labelled, from 0.
    pool_proxy_loss : array of shape (N,), optional
        Proxy losses of the whole pool.
    provenance : mapping
        Where the numbers come from; see `records.provenance`.

    Raises
    ------
    InputError
        Series of unequal length, values that are not finite, a probability outside (0, 1], more labels than points, a
        point labelled twice, a proxy without its mean, proxy losses of labelled points that are not the pool's.

    Examples
    --------
    >>> labels = Labels([3, 2.5, 1], [0.3541666666666667, 0.38, 0.325], 6)
    >>> labels
    Labels(3 of 6, no proxy)
    >>> from helpers import ppat
    >>> round(ppat.estimate(**labels.arguments()).risk, 6)
    1.476044
    """

    loss: np.ndarray
    q: np.ndarray
    pool_size: int
    proxy_loss: np.ndarray | None = None
    proxy_mean: float | None = None
    index: np.ndarray | None = None
    pool_proxy_loss: np.ndarray | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check everything once, so that whoever holds a record can rely on it."""
        q, pool_size = inputs.check_draws(self.q, self.pool_size)
        checked: dict[str, Any] = {
            "q": q,
            "pool_size": pool_size,
            "loss": inputs.check_series(self.loss, "loss", count=len(q)),
        }
        proxy = inputs.check_proxy(
            self.proxy_loss, self.proxy_mean, self.pool_proxy_loss, count=len(q), pool_size=pool_size
        )
        if proxy is not None:
            checked["proxy_loss"] = arrays.real_vector(self.proxy_loss, "proxy_loss")
            checked["proxy_mean"] = proxy.mean
        if self.pool_proxy_loss is not None:
            checked["pool_proxy_loss"] = arrays.real_vector(self.pool_proxy_loss, "pool_proxy_loss")
        if self.index is not None:
            checked["index"] = inputs.check_index(self.index, count=len(q), pool_size=pool_size)
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        self._refuse_strangers()

    def _refuse_strangers(self) -> None:
        """The labelled points are points of the pool, so their proxy losses are the pool's."""
        if self.index is None or self.pool_proxy_loss is None or self.proxy_loss is None:
            return
        pool = self.pool_proxy_loss[self.index]
        bad = np.flatnonzero(~np.isclose(self.proxy_loss, pool, rtol=1e-6, atol=1e-9))
        if bad.size:
            i = bad[0]
            raise InputError(
                f"proxy_loss[{i}] is {self.proxy_loss[i]}, but pool_proxy_loss[{self.index[i]}], the same point, is "
                f"{pool[i]}: index or one of the two is wrong"
            )

    def __repr__(self) -> str:
        proxy = "no proxy" if self.proxy_mean is None else f"mean proxy loss {self.proxy_mean:.6g}"
        return f"Labels({len(self.loss)} of {self.pool_size}, {proxy})"

    def arguments(self) -> dict[str, Any]:
        """What `estimate` takes from here, by keyword."""
        names = ("loss", "q", "pool_size", "proxy_loss", "proxy_mean", "pool_proxy_loss")
        return {name: getattr(self, name) for name in names}

    def save(self, path: str | Path) -> Path:
        """Write the record to one .npz file, whole or not at all."""
        content = {name: getattr(self, name) for name in SCHEMA.fields if getattr(self, name) is not None}
        manifest = {
            "pool_size": self.pool_size,
            "proxy_mean": self.proxy_mean,
            "provenance": dict(self.provenance),
        }
        return records.save(path, SCHEMA, content, manifest)

    @classmethod
    def load(cls, path: str | Path) -> Labels:
        """Read a record; refuses what it cannot vouch for, see `records.load`."""
        content, manifest = records.load(path, SCHEMA)
        with located(path):
            return cls(
                pool_size=manifest.get("pool_size"),  # type: ignore[arg-type]
                proxy_mean=manifest.get("proxy_mean"),
                provenance=manifest.get("provenance", {}),
                **content,
            )


def read(
    path: str | Path,
    *,
    pool_size: int | None = None,
    proxy_mean: float | None = None,
    pool_proxy_loss: Any = None,
) -> Labels:
    """Labels from a plain table, or from a record.

    Parameters
    ----------
    path : path
        ``.csv`` with the header ``loss,q[,proxy_loss][,index]`` and a line for each labelled point in the order drawn;
        or ``.npz`` as `Labels.save` writes it, which knows its pool.
    pool_size, proxy_mean, pool_proxy_loss
        What a table does not hold, as for `Labels`. Those of a record need not be repeated; if they are, they must
        agree.

    Returns
    -------
    Labels

    Raises
    ------
    InputError
        Another ending, a line that is no row of numbers, an unknown or missing column, no pool_size, or what `Labels`
        refuses.
    OSError
        The file cannot be read.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "labels.csv")
    ...     _ = path.write_text("loss,q,proxy_loss\\n3,0.354166666667,2.6\\n2.5,0.38,2\\n1,0.325,0.8\\n")
    ...     read(path, pool_size=6, proxy_mean=1.2333333333)
    Labels(3 of 6, mean proxy loss 1.23333)
    """
    path = Path(path)
    given = {"pool_size": pool_size, "proxy_mean": proxy_mean, "pool_proxy_loss": pool_proxy_loss}
    if path.suffix == ".npz":
        labels = Labels.load(path)
        _refuse_conflict(path, labels, given)
        return labels
    if path.suffix != ".csv":
        raise InputError(f"{path}: labels are read from .csv and .npz files")
    columns = read_columns(path, needed=COLUMNS, optional=OPTIONAL)
    if pool_size is None:
        raise InputError(f"{path}: pool_size is missing: a table does not say how many points there were to draw from")
    if "index" in columns:
        columns["index"] = _whole(columns["index"], path)
    with located(path):
        return Labels(**columns, **given)  # type: ignore[arg-type]


def read_columns(path: Path, *, needed: tuple[str, ...], optional: tuple[str, ...] = ()) -> dict[str, np.ndarray]:
    """Columns of numbers from a .csv file with one header line.

    Raises
    ------
    InputError
        A column that is missing, unknown or there twice; a line of another length; text that is no finite number.
    """
    numbered = enumerate(records.read_text(path).splitlines(), start=1)
    lines = [(number, line.split(",")) for number, line in numbered if line.strip()]
    names = [name.strip() for name in lines[0][1]] if lines else []
    records.check_columns(names, needed=needed, optional=optional, where=f"{path}, line 1")
    rows = [_row(cells, len(names), f"{path}, line {number}") for number, cells in lines[1:]]
    if not rows:
        raise InputError(f"{path}: holds no line after the header")
    return dict(zip(names, np.array(rows).T.copy(), strict=True))


def _row(cells: list[str], width: int, where: str) -> list[float]:
    if len(cells) != width:
        raise InputError(f"{where}: {len(cells)} values, the header has {width}")
    row = []
    for cell in cells:
        try:
            row.append(float(cell))
        except ValueError as error:
            raise InputError(f"{where}: {cell.strip()!r} is no number") from error
        if not math.isfinite(row[-1]):
            raise InputError(f"{where}: {cell.strip()} is not finite: every labelled point has a loss")
    return row


def _whole(values: np.ndarray, path: Path) -> np.ndarray:
    bad = np.flatnonzero(values != np.round(values))
    if bad.size:
        raise InputError(f"{path}: index[{bad[0]}] is {values[bad[0]]}: give the place in the pool as a whole number")
    return values.astype(np.int64)


def _refuse_conflict(path: Path, labels: Labels, given: Mapping[str, Any]) -> None:
    for name, value in given.items():
        held = getattr(labels, name)
        if value is not None and (held is None or not _same(held, value)):
            raise InputError(f"{path}: {name} is given, but the record says otherwise: leave it out")


def _same(held: Any, value: Any) -> bool:
    first, second = np.asarray(held, dtype=np.float64), np.asarray(value, dtype=np.float64)
    return first.shape == second.shape and bool(np.allclose(first, second, rtol=1e-6, atol=1e-9))
