"""The long table of results as accuracy matrices, one for each run, seed, order and metric."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..record import AccuracyMatrix

#: Where a kind of baseline stands in a report.
BASELINE_SECTIONS = {
    "random-init": "random_init",
    "old-zero-shot": "old_zero_shot",
    "interface-only": "interface_control",
    "single-task": "single_task",
}


class Key(NamedTuple):
    """What one matrix is of."""

    run: str
    seed: int
    order: str
    metric: str

    def __str__(self) -> str:
        return f"{self.metric} of run {self.run}, seed {self.seed}, order {self.order}"


@dataclass(frozen=True)
class Cells:
    """The cells of one matrix by (step, task id), in the order of training.

    Attributes
    ----------
    key : Key
        Run, seed, order and metric.
    tasks : tuple of str
        In the order of training.
    cells : dict
        The entries of the report by step and task.
    """

    key: Key
    tasks: tuple[str, ...]
    cells: dict[tuple[int, str], Mapping[str, Any]]

    def value(self, step: int, task: str) -> float | None:
        """The score after `step` tasks, or None."""
        value: float | None = self.cells.get((step, task), {}).get("value")
        return value

    def upper(self) -> Iterator[float]:
        """The scores of tasks that were not trained yet."""
        for step in range(1, len(self.tasks)):
            for task in self.tasks[step:]:
                if (value := self.value(step, task)) is not None:
                    yield value

    def matrix(self, report: Mapping[str, Any], *, baseline: str | None, joint: bool) -> AccuracyMatrix:
        """The accuracy matrix with its sizes and class counts, a baseline of this kind, joint training as reference.

        Raises
        ------
        InputError
            Values that are out of the metric's scale.
        """
        steps = range(1, len(self.tasks) + 1)
        values = [[self.value(step, task) for task in self.tasks] for step in steps]
        entry = report["results"]["metrics"][self.key.metric]
        sizes = [[self.cells.get((step, task), {}).get("n") for task in self.tasks] for step in steps]
        counted = all(size is not None for row in sizes for size in row)
        classes = {task["id"]: task["classes"] for task in report["stream"]["tasks"]}
        named = all(classes[task] for task in self.tasks)
        baselines = report["baselines"] or {}
        vector = self._scores(baselines.get(BASELINE_SECTIONS.get(baseline or "")))
        return AccuracyMatrix(
            np.array(values, dtype=np.float64),
            baseline=None if vector is None else {baseline: vector},
            reference=self._scores(baselines.get("joint")) if joint else None,
            n=np.array(sizes) if counted else None,
            classes=[len(classes[task]) for task in self.tasks] if named else None,
            scale=entry["scale"],
            direction="lower" if entry["higher_is_better"] is False else "higher",
            scenario=entry["scenario"],
            metric=self.key.metric,
            tasks=self.tasks,
        )

    def _scores(self, baseline: Mapping[str, Any] | None) -> list[float] | None:
        scores = (baseline or {}).get("scores")
        return [scores[task] for task in self.tasks] if scores and set(self.tasks) <= set(scores) else None


def matrices(report: Mapping[str, Any]) -> list[Cells]:
    """Every matrix of the report whose order is known, and is one of the tasks that the report declares."""
    ids = sorted(task["id"] for task in report["stream"]["tasks"] or ())
    orders = {order["id"]: tuple(order["permutation"] or ()) for order in report["stream"]["orders"] or ()}
    orders = {id: order for id, order in orders.items() if sorted(order) == ids}
    groups: dict[Key, dict[tuple[int, str], Mapping[str, Any]]] = {}
    for cell in report["results"]["cells"] or ():
        key = Key(cell["run"], cell["seed"], cell["order"], cell["metric"])
        groups.setdefault(key, {})[cell["step"], cell["task"]] = cell
    return [Cells(key, orders[key.order], cells) for key, cells in groups.items() if orders.get(key.order)]
