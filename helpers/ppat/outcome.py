"""What the estimators return: a risk with its interval, or the curve of risks after every label."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from .diagnostics import Diagnostics


@dataclass(frozen=True)
class Estimate:
    """An estimated risk with its interval.

    Attributes
    ----------
    risk : float
        The estimate of the pool's mean loss.
    low, high : float or None
        Ends of the interval; None with `reason` where it is undefined.
    std_error : float or None
        Estimated standard deviation of `risk`.
    control : float or None
        Strength of the proxy: the one number, or the last in force; None without a proxy.
    diagnostics : Diagnostics or None
        None for methods that weigh nothing.
    labels, pool_size : int
        m of N.
    method : str
        What was computed, in words.
    confidence : float or None
        Level of the interval; None for methods that have none.
    reason : str or None
        Why there is no interval.
    control_path : tuple of (int, float)
        For a predictable control, the step (from 1) from which on each value was in force.
    """

    risk: float
    low: float | None
    high: float | None
    std_error: float | None
    control: float | None
    diagnostics: Diagnostics | None
    labels: int
    pool_size: int
    method: str
    confidence: float | None
    reason: str | None = None
    control_path: tuple[tuple[int, float], ...] = ()

    @property
    def interval(self) -> tuple[float, float] | None:
        """Both ends, or None."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    def __repr__(self) -> str:
        if self.interval is None or self.confidence is None:
            ends = f"no interval ({self.reason})"
        else:
            ends = "{:.4g} interval [{:.6g}, {:.6g}]".format(self.confidence, *self.interval)
        control = "" if self.control is None else f", control {self.control:.4g}"
        return (
            f"Estimate(risk {self.risk:.6g}, {ends}, "
            f"{self.labels} of {self.pool_size} labelled, {self.method}{control})"
        )

    def to_dict(self) -> dict[str, Any]:
        """The fields as valid JSON."""
        content = asdict(self)
        content["control_path"] = [list(step) for step in self.control_path]
        if self.diagnostics is not None:
            content["diagnostics"]["warnings"] = list(self.diagnostics.warnings)
        return content


@dataclass(frozen=True, eq=False)
class Estimates:
    """The estimate after every label of a run: what `estimate` says of its first M labels, for each M.

    Attributes
    ----------
    risk, low, high, std_error : numpy.ndarray of shape (m,)
        NaN in the last three where undefined (None in `to_dict`).
    control : numpy.ndarray of shape (m,), or None
        Strength of the proxy in each estimate; None without a proxy.
    pool_size : int
        N.
    confidence : float
        Level of each interval *on its own*: all of them together do not hold at that level, see
        `confidence_sequence`.
    """

    risk: np.ndarray
    low: np.ndarray
    high: np.ndarray
    std_error: np.ndarray
    control: np.ndarray | None
    pool_size: int
    confidence: float

    def __repr__(self) -> str:
        return (
            f"Estimates({len(self.risk)} prefixes, pool of {self.pool_size}, risk {self.risk[-1]:.6g} "
            f"at the last, {self.confidence:.4g} intervals for fixed numbers of labels)"
        )

    def to_dict(self) -> dict[str, Any]:
        """The fields as valid JSON."""
        series = {name: getattr(self, name) for name in ("risk", "low", "high", "std_error", "control")}
        return {
            **{name: None if array is None else or_none(array) for name, array in series.items()},
            "pool_size": self.pool_size,
            "confidence": self.confidence,
        }


def or_none(values: np.ndarray) -> list[float | None]:
    return [None if math.isnan(value) else float(value) for value in values]
