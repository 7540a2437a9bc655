"""One finding of the checker."""

from __future__ import annotations

from dataclasses import dataclass

FAIL, WARN = "FAIL", "WARN"

FieldPath = tuple[str | int, ...]


@dataclass(frozen=True)
class Finding:
    """What is wrong where, and what to do.

    Attributes
    ----------
    level : {"FAIL", "WARN"}
        A report with failures is not accepted; a warning is for people to judge.
    path : str
        The field, such as ``stream.tasks[0].n_test``.
    problem, remedy : str
        What is missing or wrong, and what to do.
    """

    level: str
    path: str
    problem: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.level} {self.path}: {self.problem}; {self.remedy}"


def joined(path: FieldPath) -> str:
    """A path as it is written: names with dots, places in lists in brackets."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".") or "(top)"
