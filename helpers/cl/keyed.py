"""Results of repeated runs by their ids: of a mapping, or of the runs of one method."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from .. import arrays
from ..errors import InputError, brief
from .inputs import LARGEST
from .record import AccuracyMatrix, Run
from .score import metric as metric_of

Key = tuple[Any, ...]


def entries_of(results: Any, name: str) -> list[tuple[Key, Any]]:
    """Keys and values of a mapping, or keys and matrices of runs of one method."""
    if isinstance(results, Mapping):
        entries = [(key if isinstance(key, tuple) else (key,), value) for key, value in results.items()]
    elif isinstance(results, Iterable) and not isinstance(results, str):
        entries = _of_runs(list(results), name)
    else:
        entries = []
    if not entries:
        raise InputError(
            f"{name} is {brief(results)}: give runs, or a mapping of (seed, order) to a number, at least one"
        )
    times = Counter(key for key, _ in entries)
    twice = sorted(repr(key) for key, count in times.items() if count > 1)
    if twice:
        raise InputError(f"{name} has {', '.join(twice)} more than once: give each seed and order one run")
    return entries


def _of_runs(runs: list[Any], name: str) -> list[tuple[Key, Any]]:
    for i, run in enumerate(runs):
        if not isinstance(run, Run):
            raise InputError(f"{name}[{i}] is of type {type(run).__name__}: give runs, or a mapping of (seed, order)")
        if run.name != runs[0].name:
            raise InputError(f"{name} has runs of {runs[0].name!r} and of {run.name!r}: give those of one method")
        if run.seed is None and run.order is None:
            raise InputError(f"{name}[{i}] has neither seed nor order: declare what tells it from the other runs")
    return [((run.seed, run.order), run.matrix) for run in runs]


def scored(value: Any, name: str, metric: str) -> Any:
    """What a matrix has by a metric, or an InputError that says why it has none; anything else is itself."""
    if not isinstance(value, AccuracyMatrix):
        return value
    score = metric_of(metric, value)
    if score.value is None:
        raise InputError(f"{name} has no {metric}: {score.reason}")
    return score.value


def numbers(results: Any, name: str, metric: str) -> dict[Key, float]:
    """One number for each (seed, order)."""
    found: dict[Key, float] = {}
    for key, value in entries_of(results, name):
        value = scored(value, f"{name}[{key!r}]", metric)
        if len(key) != 2:
            raise InputError(f"{name} has key {key!r}: give (seed, order)")
        if not arrays.is_number(value) or abs(value) > LARGEST:
            raise InputError(f"{name}[{key!r}] is {brief(value)}: give a finite number, of at most {LARGEST:g}")
        found[key] = float(value)
    return found


def averaged(values: Mapping[Key, float], position: int) -> dict[Any, float]:
    """Mean over all keys that share the id at a position."""
    groups: dict[Any, list[float]] = {}
    for key, value in values.items():
        groups.setdefault(key[position], []).append(value)
    return {id: math.fsum(group) / len(group) for id, group in groups.items()}
