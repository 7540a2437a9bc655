"""Contamination by date: test items that are no later than the latest training text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime
from typing import Any

from ..errors import InputError


@dataclass(frozen=True)
class Timestamps:
    """Whether all test items are later than all training texts.

    Attributes
    ----------
    train_max, test_min : str
        Latest training text, earliest test item, ISO.
    violations : tuple of int
        Test items that are not later than the latest training text.
    """

    train_max: str
    test_min: str
    violations: tuple[int, ...]

    def to_dict(self) -> dict[str, Any]:
        """The fields as valid JSON."""
        return {**asdict(self), "violations": list(self.violations)}


def check_timestamps(train: Iterable[str | date], test: Sequence[str | date]) -> Timestamps:
    """Test items that may have been there when the training texts were collected.

    An item is clean by date if it is strictly later than the latest training text (or than the cut-off date that the
    maker of a model states, passed as the only entry of `train`). If any entry has no time of day, all are compared by
    day. The date is that of the content: a new copy of an old text passes.

    Parameters
    ----------
    train, test : iterable of str or date or datetime
        ISO texts such as 2024-05-01 or 2024-05-01T12:00:00Z; all with a time zone or all without.

    Returns
    -------
    Timestamps
        `violations` lists the items that are not later.

    Raises
    ------
    InputError
        An entry that is no date, named by side and index; times with and without a zone; an empty side.

    Examples
    --------
    >>> check_timestamps(["2023-01-05", "2023-09-30"], ["2023-10-01", "2023-09-30", "2021-01-01"]).violations
    (1, 2)
    """
    sides = {"train": _moments(train, "train"), "test": _moments(test, "test")}
    whole = [moment for moments in sides.values() for moment in moments if isinstance(moment, datetime)]
    if len({moment.tzinfo is None for moment in whole}) > 1:
        raise InputError("train and test hold times with and without a time zone: give all of them one")
    if len(whole) < sum(map(len, sides.values())):
        sides = {name: [_day(moment) for moment in moments] for name, moments in sides.items()}
    latest = max(sides["train"])
    late = tuple(index for index, moment in enumerate(sides["test"]) if moment <= latest)
    return Timestamps(latest.isoformat(), min(sides["test"]).isoformat(), late)


def _moments(entries: Any, name: str) -> list[Any]:
    if isinstance(entries, str) or not isinstance(entries, Iterable):
        raise InputError(f"{name} is {entries!r}: give several dates, such as a list")
    found = [_moment(entry, f"{name}[{index}]") for index, entry in enumerate(entries)]
    if not found:
        raise InputError(f"{name} is empty: give at least one date")
    return found


def _moment(entry: Any, name: str) -> date | datetime:
    """A day, or a moment in universal time."""
    fault = InputError(f"{name} is {entry!r}: give an ISO date such as 2024-05-01")
    try:
        if isinstance(entry, str):
            entry = date.fromisoformat(entry) if len(entry) <= 10 else datetime.fromisoformat(entry)
        if isinstance(entry, datetime) and entry.tzinfo:
            return entry.astimezone(UTC)
    except (ValueError, OverflowError) as error:  # OverflowError: in universal time it lies outside the calendar
        raise fault from error
    if not isinstance(entry, date):
        raise fault
    return entry


def _day(moment: date | datetime) -> date:
    return moment.date() if isinstance(moment, datetime) else moment
