"""Averages over independent groups with a bootstrap over those groups, for one model or for many at once."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import whole_number
from ..uncertainty import bootstrap_weights, check_confidence

#: Fewer groups than this say too little about how groups differ for a bootstrap over them.
FEW_GROUPS = 10
REPLICATES = 2000


@dataclass(frozen=True, eq=False)
class Average:
    """A mean over things that fall into independent groups, such as frames of videos.

    Attributes
    ----------
    value : float, or numpy.ndarray of shape (...)
        The mean; an array where there are several models, NaN in it where undefined (None in `to_dict`). None for a
        single model where undefined.
    n : int or numpy.ndarray
        Groups that had something to average.
    interval : tuple, or None
        Lower and upper end, numbers or arrays as `value`. Where all groups are alike a single model has None; in arrays
        both ends are equal there.
    reason : str or None
        Why there is no interval, or no value.
    """

    value: Any
    n: Any
    interval: tuple[Any, Any] | None
    reason: str | None = None

    def __repr__(self) -> str:
        if isinstance(self.value, np.ndarray):
            return f"Average(models {self.value.shape}, reason={self.reason!r})"
        ends = self.interval and tuple(round(end, 4) for end in self.interval)
        value = None if self.value is None else round(self.value, 6)
        return f"Average(value={value}, n={self.n}, interval={ends}, reason={self.reason!r})"

    def to_dict(self) -> dict[str, Any]:
        """The fields as valid JSON."""
        return {
            "value": plain(self.value),
            "n": plain(self.n),
            "interval": None if self.interval is None else [plain(end) for end in self.interval],
            "reason": self.reason,
        }


def ratio(numerator: Any, denominator: Any, *, confidence: float, seed: int, nothing: str) -> Average:
    """Sum of numerators over sum of denominators, with a percentile bootstrap over the last axis, the groups.

    `nothing` says what is missing where all denominators are 0.
    """
    return difference(numerator, denominator, None, None, confidence=confidence, seed=seed, nothing=nothing)


def difference(
    numerator: Any, denominator: Any, less: Any, less_denominator: Any, *, confidence: float, seed: int, nothing: str
) -> Average:
    """`ratio` of the first two, less that of the last two where given, in the same resamples of the groups."""
    check_confidence(confidence)
    whole_number(seed, "seed", least=0)
    columns = [numerator, denominator] + ([] if less is None else [less, less_denominator])
    sums = list(np.broadcast_arrays(*(np.asarray(column, dtype=np.float64) for column in columns)))
    value = _value([column.sum(axis=-1) for column in sums])
    groups = np.min([np.count_nonzero(column, axis=-1) for column in sums[1::2]], axis=0)
    low, high = np.full((2, *value.shape), np.nan)
    enough = groups >= FEW_GROUPS
    if np.any(enough):
        low, high = _bootstrap(sums, confidence, seed)
    alike = enough & (low == high)
    reasons = {
        nothing: groups == 0,
        f"{FEW_GROUPS} groups are needed to resample": (groups > 0) & ~enough,
        "all groups are alike: resampling them shows no spread": alike,
    }
    said = "; ".join(reason for reason, where in reasons.items() if np.any(where)) or None
    known = enough if value.ndim else enough & ~alike
    ends = (scalar(np.where(known, low, np.nan)), scalar(np.where(known, high, np.nan))) if np.any(known) else None
    return Average(scalar(value), scalar(groups), ends, said)


def mean(values: Any, *, confidence: float, seed: int) -> Average:
    """The mean over the last axis, whose entries are independent."""
    return ratio(values, np.ones(np.shape(values)[-1]), confidence=confidence, seed=seed, nothing="nothing to average")


def by_group(values: np.ndarray, group: np.ndarray | None, groups: int) -> np.ndarray:
    """Sums over entries of the last axis that belong to one group; the values themselves where there are no groups."""
    if group is None:
        return values
    sums = np.zeros((groups, *values.shape[:-1]))
    np.add.at(sums, group, np.moveaxis(values, -1, 0))
    return np.moveaxis(sums, 0, -1)


def scalar(value: np.ndarray) -> Any:
    """A plain number in place of an array without axes, None in place of its NaN."""
    if np.ndim(value):
        return value
    number = np.asarray(value).item()
    return None if isinstance(number, float) and math.isnan(number) else number


def plain(value: Any) -> Any:
    """Numbers, lists of numbers, None, as JSON has them: None in place of NaN."""
    if isinstance(value, np.ndarray):
        return [plain(entry) for entry in value] if value.ndim else plain(value.item())
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and math.isnan(value) else value


def _bootstrap(sums: list[np.ndarray], confidence: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Ends of the percentile interval; a resample that draws nothing to count says nothing, and is left out."""
    groups, shape = sums[0].shape[-1], sums[0].shape[:-1]
    flat = [column.reshape(-1, groups).T for column in sums]
    draws = bootstrap_weights(groups, REPLICATES, np.random.default_rng(seed))
    replicates = np.concatenate([_value([weights @ column for column in flat]) for weights in draws])
    tail = (1.0 - confidence) / 2.0
    replicates[0, np.all(np.isnan(replicates), axis=0)] = 0.0  # undefined anyway, and said so by the caller
    low, high = np.nanquantile(replicates, [tail, 1.0 - tail], axis=0)
    return low.reshape(shape), high.reshape(shape)


def _value(sums: list[np.ndarray]) -> np.ndarray:
    top, bottom = sums[0], sums[1]
    found = np.divide(top, bottom, out=np.full(np.shape(top), np.nan), where=bottom > 0)
    return found - _value(sums[2:]) if len(sums) > 2 else found
