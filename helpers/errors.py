"""What the library raises when it refuses something, one clear message each, and how such messages are put."""

from collections.abc import Iterable, Sequence
from typing import Any


class InputError(ValueError):
    """Bad input. The message names the argument, the offending place or value, and the remedy."""


class MissingExtra(ImportError):
    """An optional dependency is absent. The message names the extra that brings it."""


class located:
    """Put a file, or a line of it, in front of whatever is refused in the block.

    >>> with located("labels.csv, line 3"):
    ...     raise InputError("q is 0: give a positive number")
    Traceback (most recent call last):
    ...
    helpers.errors.InputError: labels.csv, line 3: q is 0: give a positive number
    """

    def __init__(self, where: Any) -> None:
        self.where = where

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: object, *_: object) -> None:
        if isinstance(error, InputError):
            raise InputError(f"{self.where}: {error}") from error


def bracketed(index: Iterable[Any]) -> str:
    """The index of a value as it stands behind the name of its array; nothing for a single number.

    >>> f"q{bracketed((2, 0))} is 0", f"q{bracketed(())} is 0"
    ('q[2, 0] is 0', 'q is 0')
    """
    inside = ", ".join(str(int(i)) for i in index)
    return f"[{inside}]" if inside else ""


def listed(names: Sequence[Any], *, most: int = 10) -> str:
    """The first few names, and how many more there are; long or unprintable ones as `brief` shows them.

    >>> listed(["a", "b", "c"], most=2)
    'a, b and 1 more'
    """
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(_shown, names[:most])) + more


def _shown(name: Any) -> str:
    text = str(name)
    return text if len(text) <= 60 and text.isprintable() else brief(name)


def brief(value: Any) -> str:
    """A value as a message shows it, cut where it is long.

    >>> brief("a" * 100)
    "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa..."
    """
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
