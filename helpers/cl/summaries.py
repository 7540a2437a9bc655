"""The table of results: methods by metrics, each cell a mean over runs with its interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from .. import arrays
from ..errors import InputError, brief
from ..uncertainty import check_confidence, paired_t
from .keyed import entries_of
from .ranking import refuse_unlike
from .record import Run
from .score import table
from .value import Value

#: What a table shows unless other ids are asked for: where the model stands, what it lost, and how well it learns.
IDS = ("acc.final", "bwt.gem", "forgetting.rwalk", "learning_accuracy")
UNDEFINED = "undefined"


@dataclass(frozen=True)
class Mean:
    """One metric of one method.

    Attributes
    ----------
    value : float or None
        Mean over its runs; None with the reason where a run has no value.
    std : float or None
        Standard deviation over runs, with n - 1; None for one run.
    interval : tuple of float or None
        Of the mean, by Student's t with n - 1 degrees of freedom; None for one run, and where all runs are equal.
    n : int
        Number of runs.
    reason : str or None
        Why there is no value.
    """

    value: float | None
    std: float | None
    interval: tuple[float, float] | None
    n: int
    reason: str | None = None

    def text(self, digits: int) -> str:
        """The mean and half the width of its interval, which is symmetric."""
        if self.value is None:
            return UNDEFINED
        reach = "" if self.interval is None else f" ± {self.interval[1] - self.value:.{digits}f}"
        return f"{self.value:.{digits}f}{reach}"


@dataclass(frozen=True)
class Summary:
    """Methods by metrics; see `summary`.

    Attributes
    ----------
    ids, units : tuple of str
        The columns.
    rows : dict of str to tuple of Mean
        One for each method, in the order in which they were given.
    confidence : float
        Of the intervals.
    warnings : tuple of str
        What the ids of the runs say against taking them as independent.
    """

    ids: tuple[str, ...]
    units: tuple[str, ...]
    rows: dict[str, tuple[Mean, ...]]
    confidence: float
    warnings: tuple[str, ...]

    @property
    def note(self) -> str:
        """What a cell shows, and in which unit."""
        units = (
            f"{', '.join(id for id, other in zip(self.ids, self.units, strict=True) if other == unit)} in {unit}"
            for unit in dict.fromkeys(self.units)
        )
        return (
            f"Mean over runs and half the width of its {100 * self.confidence:g} % interval (Student's t); "
            f"{', '.join(units)}."
        )

    def markdown(self, *, digits: int | None = None) -> str:
        """A Markdown table, and below it what a cell shows; by default 2 digits for percent, and 4 for all else."""
        head, *body = self._lines(digits)
        rule = ["---", *("---:" for _ in head[1:])]
        lines = ["| " + " | ".join(cell.replace("|", r"\|") for cell in row) + " |" for row in (head, rule, *body)]
        return "\n".join([*lines, "", self.note])

    def latex(self, *, digits: int | None = None) -> str:
        """A ``tabular`` that needs no package, and a comment that says what a cell shows; digits as for `markdown`."""
        head, *body = (" & ".join(map(_escaped, row)) + r" \\" for row in self._lines(digits))
        columns = "l" + "r" * (len(self.ids) + 1)
        lines = [rf"\begin{{tabular}}{{{columns}}}", r"\hline", head, r"\hline", *body, r"\hline", r"\end{tabular}"]
        return "\n".join(["% " + self.note, *lines])

    def _lines(self, digits: int | None) -> list[list[str]]:
        """The names of the columns, and a line for each method."""
        shown = [2 if unit.startswith("percent") else 4 for unit in self.units]
        if digits is not None:
            shown = [arrays.whole_number(digits, "digits", least=0)] * len(self.units)
        body = [
            [name, str(cells[0].n), *(cell.text(places) for cell, places in zip(cells, shown, strict=True))]
            for name, cells in self.rows.items()
        ]
        return [["method", "runs", *self.ids], *body]

    def __repr__(self) -> str:
        lines = self._lines(None)
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join("  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in lines)

    def to_dict(self) -> dict[str, Any]:
        """Everything as valid JSON."""
        return {
            "ids": list(self.ids),
            "units": list(self.units),
            "rows": {
                name: {id: asdict(cell) for id, cell in zip(self.ids, cells, strict=True)}
                for name, cells in self.rows.items()
            },
            "confidence": self.confidence,
            "warnings": list(self.warnings),
        }


def summary(
    runs: Sequence[Run], *, ids: Sequence[str] = IDS, baseline: str | None = None, confidence: float = 0.95
) -> Summary:
    r"""The table of results of a paper: a row for each method, a column for each metric, a mean over runs in each cell.

    It describes each method by itself. Whether two of them differ is another question, which `paired` answers: runs of
    one seed share their luck, and intervals that overlap may belong to methods that differ in every pair.

    Parameters
    ----------
    runs : sequence of Run
        Of one or more methods; runs of one name are averaged, and need a seed or an order that tells them apart.
    ids : sequence of str
        The metrics: by default final accuracy, backward transfer, forgetting and learning accuracy.
    baseline : str, optional
        As for `metric`.
    confidence : float
        Of the intervals, 0.95 by default.

    Returns
    -------
    Summary
        Printed as plain text; ``markdown()`` and ``latex()`` give the table for a page or a paper. An undefined value
        of one run leaves the mean undefined: a mean over the others would be another experiment's.

    Raises
    ------
    InputError
        No runs, something else than runs, two runs of one name, seed and order, an unknown id, values that are not
        comparable (see `compare`), a confidence outside 0 to 1.

    Examples
    --------
    >>> from helpers import cl
    >>> scores = {"ER": (80.0, 82.0, 81.0), "EWC": (20.0, 26.0, 23.0)}
    >>> runs = [
    ...     cl.Run(cl.AccuracyMatrix([[90, 5], [kept, 90]]), name, seed=seed)
    ...     for name, each in scores.items()
    ...     for seed, kept in enumerate(each)
    ... ]
    >>> table = cl.summary(runs, ids=["acc.final", "bwt.gem"])
    >>> table
    method  runs     acc.final        bwt.gem
    ER         3  85.50 ± 1.24   -9.00 ± 2.48
    EWC        3  56.50 ± 3.73  -67.00 ± 7.45
    >>> comment, *lines = table.latex(digits=1).splitlines()
    >>> print(*lines, sep="\n")
    \begin{tabular}{lrrr}
    \hline
    method & runs & acc.final & bwt.gem \\
    \hline
    ER & 3 & 85.5 $\pm$ 1.2 & $-$9.0 $\pm$ 2.5 \\
    EWC & 3 & 56.5 $\pm$ 3.7 & $-$67.0 $\pm$ 7.5 \\
    \hline
    \end{tabular}
    """
    groups = _by_name(runs)
    if not isinstance(ids, list | tuple) or not ids:
        raise InputError(f"ids is {brief(ids)}: give a list of ids, at least one")
    columns = tuple(ids)
    check_confidence(confidence)
    values = {
        name: [table(run.matrix, ids=columns, baseline=baseline) for run in each] for name, each in groups.items()
    }
    for id in columns:
        first, *others = (found[id] for each in values.values() for found in each)
        for other in others:
            refuse_unlike(first, other)
    rows = {
        name: tuple(_mean([found[id] for found in each], groups[name], confidence) for id in columns)
        for name, each in values.items()
    }
    units = next(iter(values.values()))[0]
    warnings = (text for name, each in groups.items() for text in _dependence(name, each))
    return Summary(columns, tuple(units[id].unit for id in columns), rows, confidence, tuple(warnings))


def _by_name(runs: Any) -> dict[str, list[Run]]:
    """The runs of each method; several runs of one need keys that tell them apart."""
    if not isinstance(runs, list | tuple) or not runs or not all(isinstance(run, Run) for run in runs):
        raise InputError(
            "runs is no list of Run, or an empty one: give what cl.read returns, or cl.Run(matrix, name, seed=...) each"
        )
    groups: dict[str, list[Run]] = {}
    for run in runs:
        groups.setdefault(run.name, []).append(run)
    for name, each in groups.items():
        if len(each) > 1:
            entries_of(each, f"runs of {name!r}")
    return groups


def _mean(values: list[Value], runs: list[Run], confidence: float) -> Mean:
    numbers = [found.value for found in values if found.value is not None]
    if len(numbers) < len(values):
        i = next(i for i, found in enumerate(values) if found.value is None)
        which = f"seed {runs[i].seed!r}, order {runs[i].order!r}: " if len(runs) > 1 else ""
        return Mean(None, None, None, len(values), f"{which}{values[i].reason}")
    found = paired_t(numbers, [0.0] * len(numbers), confidence=confidence)  # of the numbers themselves
    return Mean(found.mean, found.std, found.interval, found.n)


def _dependence(name: str, runs: list[Run]) -> list[str]:
    """A warning where several runs share a seed or an order, and the interval counts them as independent."""
    seeds, orders = len({run.seed for run in runs}), len({run.order for run in runs})
    if 1 < seeds < len(runs) or 1 < orders < len(runs):
        return [
            f"{len(runs)} runs of {name!r} share {seeds} seeds and {orders} orders and may depend on each other: the "
            "interval of their mean may be too narrow"
        ]
    return []


def _escaped(text: str) -> str:
    """Text as LaTeX prints it."""
    for sign, written in {"\\": r"\textbackslash ", **{sign: "\\" + sign for sign in "&%$#_{}"}}.items():
        text = text.replace(sign, written)
    text = text.replace("~", r"\textasciitilde ").replace("^", r"\textasciicircum ").replace("±", r"$\pm$")
    return f"$-${text[1:]}" if text.startswith("-") else text
