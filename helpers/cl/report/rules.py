"""What the fields of a report must say together, one rule each.

A rule sees the report with None wherever ``{value: null, reason}`` stands, and only if the sections that it needs have
all their fields.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from ...errors import InputError
from ..inputs import LIMITS
from ..metrics import METRICS
from ..record import AccuracyMatrix
from ..safety import upper_bound
from ..score import metric
from ..timestamps import check_timestamps
from ..value import Value
from .cells import Cells, matrices
from .finding import FAIL, WARN, Finding

Report = Mapping[str, Any]

#: Ids that subtract a baseline.
AGAINST_BASELINE = ("fwt.gem", "fwt.gem_script")
#: The id that is held against joint training.
AGAINST_JOINT = "intransigence.rwalk"
#: How far a reported number may be from that of the cells, where `repro.tolerances` says nothing: half a last digit.
ROUNDING = {"percent": 0.00501, "fraction": 0.0000501, "free": 1e-6}
FEWEST_ORDERS = 5
FEWEST_PAIRS = 6


@dataclass(frozen=True)
class Rule:
    """A rule, its name, and the sections that it needs."""

    name: str
    needs: tuple[str, ...]
    function: Callable[[Report], Iterator[Finding]]

    def findings(self, report: Report) -> list[Finding]:
        """What it finds; nothing where a section that it needs is left out with a reason."""
        if any(report.get(section) is None for section in self.needs):
            return []
        return list(self.function(report))


RULES: list[Rule] = []


def rule(name: str, *needs: str) -> Callable[[Callable[[Report], Iterator[Finding]]], Any]:
    """Add a function to the rules."""

    def add(function: Callable[[Report], Iterator[Finding]]) -> Callable[[Report], Iterator[Finding]]:
        RULES.append(Rule(name, needs, function))
        return function

    return add


def fail(path: str, problem: str, remedy: str) -> Finding:
    """A failure."""
    return Finding(FAIL, path, problem, remedy)


def warn(path: str, problem: str, remedy: str) -> Finding:
    """A warning."""
    return Finding(WARN, path, problem, remedy)


def _listed(section: Mapping[str, Any], name: str) -> Iterator[tuple[int, Any]]:
    """The items of a list that may be absent, numbered."""
    return enumerate(section[name] or ())


def _task_ids(report: Report) -> list[str]:
    return [task["id"] for _, task in _listed(report["stream"], "tasks")]


def _few(names: Any) -> str:
    """The first names of many."""
    names = [str(name) for name in names]
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")


# The problem and the stream


@rule("the scenario fits what the learner is told", "problem")
def _scenario(report: Report) -> Iterator[Finding]:
    problem = report["problem"]
    given = {"task": True, "domain": False, "class": False}.get(problem["scenario"])
    told = problem["task_id_at_test"]
    if None not in (given, told) and told != given:
        expected = "is given" if given else "is not given"
        yield fail(
            "problem.task_id_at_test",
            f"is {str(told).lower()} under the scenario {problem['scenario']}",
            f"in {problem['scenario']}-incremental learning the task id {expected} at test time: mend one of the two",
        )
    source = problem["boundary_source"]
    if source == "detector" and problem["detector"] is None:
        yield fail("problem.detector", "is absent although boundaries come from a detector", "describe the detector")
    if source == "none" and problem["boundary_at_train"]:
        yield fail("problem.boundary_source", "is none although boundaries are visible", "say where they come from")
    passes = problem["passes"] or {}
    if passes.get("kind") == "online" and (passes.get("epochs") or 1) > 1:
        yield fail(
            "problem.passes.epochs", f"is {passes['epochs']} in an online run", "online is one pass: call it offline"
        )


@rule("tasks and orders name each other", "stream")
def _orders(report: Report) -> Iterator[Finding]:
    stream, tasks = report["stream"], _task_ids(report)
    known = set(tasks)
    for name in ("tasks", "orders"):
        repeated = [id for id, times in Counter(item["id"] for _, item in _listed(stream, name)).items() if times > 1]
        if repeated:
            yield fail(f"stream.{name}", f"has the id {repeated[0]} twice", "give each an id of its own")
    for place, order in _listed(stream, "orders"):
        path = f"stream.orders[{place}]"
        if tasks and order["permutation"] and sorted(order["permutation"]) != sorted(tasks):
            yield fail(f"{path}.permutation", "does not list every task once", f"list the ids {_few(tasks)} in order")
        if order["kind"] == "random" and order["seed"] is None:
            yield fail(f"{path}.seed", "is absent for a random order", "give the seed that generated it")
        if order["declared_before_run"] is False:
            yield warn(f"{path}.declared_before_run", "is false", "orders chosen after the results prove little")
    for place, cell in _listed(stream, "unobservable"):
        if known and cell["task"] not in known:
            yield fail(f"stream.unobservable[{place}].task", f"is {cell['task']}, which is no task", f"{_few(tasks)}")


@rule("random orders are at least five, natural orders are not averaged", "stream")
def _order_count(report: Report) -> Iterator[Finding]:
    orders = report["stream"]["orders"] or []
    random = [order for order in orders if order["kind"] == "random"]
    if report["stream"]["order_is_natural"]:
        if len(orders) > 1:
            problem = f"has {len(orders)} orders although the order is given by the data"
            yield fail("stream.orders", problem, "report the natural order, and others as another experiment")
    elif 0 < len(random) < FEWEST_ORDERS:
        problem = f"has {len(random)} random orders"
        yield fail("stream.orders", problem, f"run at least {FEWEST_ORDERS}: the order is a source of variance")


@rule("tasks used for selection are not reported", "method", "results", "stream")
def _selection(report: Report) -> Iterator[Finding]:
    selection = report["method"]["selection"]
    if selection is None:
        return
    path, used, known = "method.selection", selection["tasks"] or [], set(_task_ids(report))
    unknown = [task for task in used if task not in known]
    if known and unknown:
        yield fail(f"{path}.tasks", f"has {unknown[0]}, which is no task", "use the ids of stream.tasks")
    if selection["protocol"] == "all-tasks":
        yield warn(f"{path}.protocol", "is all-tasks: selection saw the future", "say so beside every number")
    if selection["protocol"] != "first-k":
        return
    if selection["k"] is not None and selection["k"] != len(used):
        yield fail(
            f"{path}.tasks", f"lists {len(used)} tasks and k is {selection['k']}", "list every task that was used"
        )
    reported = {cell["task"] for _, cell in _listed(report["results"], "cells")}
    both = [task for task in used if task in reported]
    if both:
        problem = f"has {_few(both)}, reported in results.cells"
        yield fail(f"{path}.tasks", problem, "take tasks that selection saw out of the results")


# The cells


@rule("cells name tasks, orders and metrics that exist, each once", "stream", "results")
def _names(report: Report) -> Iterator[Finding]:
    results = report["results"]
    known = {
        "task": set(_task_ids(report)),
        "order": {order["id"] for _, order in _listed(report["stream"], "orders")},
        "metric": set(results["metrics"] or ()),
    }
    for part, (name, names) in ((p, item) for p in ("cells", "curves") for item in known.items()):
        strange = [place for place, row in _listed(results, part) if names and row[name] not in names]
        if strange:
            value = results[part][strange[0]][name]
            yield fail(
                f"results.{part}[{strange[0]}].{name}",
                f"is {value}, which is declared nowhere ({len(strange)} such rows)",
                f"the report declares {_few(sorted(names))}",
            )
    seen: set[tuple[Any, ...]] = set()
    for place, cell in _listed(results, "cells"):
        key = tuple(cell[name] for name in ("run", "seed", "order", "step", "task", "metric"))
        if key in seen:
            problem = "repeats the run, seed, order, step, task and metric of an earlier cell"
            yield fail(f"results.cells[{place}]", problem, "keep one of them")
        seen.add(key)
    idle = sorted(known["order"] - {cell["order"] for _, cell in _listed(results, "cells")})
    if idle and results["cells"]:
        problem = f"declares {_few(idle)}, of which there are no cells"
        yield fail("stream.orders", problem, "report every order that was declared")


@rule("every cell has a value or a reason", "stream", "results")
def _complete(report: Report) -> Iterator[Finding]:
    masked = {(cell.get("order"), cell["step"], cell["task"]) for _, cell in _listed(report["stream"], "unobservable")}
    for cells in matrices(report):
        lacking = [
            (step, task)
            for step in range(1, len(cells.tasks) + 1)
            for task in cells.tasks
            if (step, task) not in cells.cells and not {(None, step, task), (cells.key.order, step, task)} & masked
        ]
        if lacking:
            step, task = lacking[0]
            yield fail(
                "results.cells",
                f"has no cell for step {step}, task {task} of {cells.key} ({len(lacking)} such cells)",
                "add the cell, or name it in stream.unobservable with its reason",
            )


@rule("values keep to one scale", "results")
def _scale(report: Report) -> Iterator[Finding]:
    scored: dict[str, list[tuple[int, Any]]] = {}
    for place, cell in _listed(report["results"], "cells"):
        if cell["value"] is not None:
            scored.setdefault(cell["metric"], []).append((place, cell))
    for name, entry in (report["results"]["metrics"] or {}).items():
        limit = LIMITS.get(entry["scale"])
        known = scored.get(name, [])
        outside = [(p, cell) for p, cell in known if limit is not None and not 0 <= cell["value"] <= limit]
        if outside:
            place, cell = outside[0]
            problem = f"is {cell['value']:g}, outside 0 to {limit:g}"
            yield fail(
                f"results.cells[{place}].value", problem, f"{name} is declared as {entry['scale']}: use one scale"
            )
        elif entry["scale"] == "percent" and known and max(cell["value"] for _, cell in known) <= 1:
            yield fail(
                f"results.metrics.{name}.scale",
                "is percent, but no value exceeds 1",
                "say fraction, or multiply by 100",
            )
        yield from _counts(known, limit)


def _counts(known: list[tuple[int, Any]], limit: float | None) -> Iterator[Finding]:
    """Values that are shares must be those of their counts."""
    for place, cell in known:
        correct, n = cell.get("correct"), cell["n"]
        if correct is None or n is None or limit is None:
            continue
        if correct > n or abs(cell["value"] - limit * correct / n) > ROUNDING["percent"] * limit / 100:
            problem = f"is {cell['value']:g} with {correct} of {n} correct"
            yield fail(f"results.cells[{place}].value", problem, "mend the value or the counts")


@rule("zeros above the diagonal are suspicious", "stream", "results")
def _zeros(report: Report) -> Iterator[Finding]:
    for cells in matrices(report):
        upper = list(cells.upper())
        if 0 in upper:
            problem = f"has {upper.count(0)} zeros of {len(upper)} for tasks before their training, in {cells.key}"
            yield warn("results.cells", problem, "leave out what was not evaluated, with its reason")


@rule("Task-IL is not below Class-IL", "stream", "results")
def _task_il(report: Report) -> Iterator[Finding]:
    entries = report["results"]["metrics"] or {}
    under = {entry["scenario"]: name for name, entry in entries.items() if entry["higher_is_better"]}
    if "task" not in under or "class" not in under:
        return
    found = {cells.key: cells for cells in matrices(report)}
    for key, cells in found.items():
        other = found.get(key._replace(metric=under["class"])) if key.metric == under["task"] else None
        for (step, task), cell in cells.cells.items() if other else ():
            value = other.value(step, task) if other else None
            if None not in (value, cell["value"]) and cell["value"] < value:
                problem = f"is lower under Task-IL than under Class-IL at step {step}, task {task} of {key}"
                yield warn("results.cells", problem, "knowing the task cannot hurt one model: are the two mixed up?")
                break


@rule("what was learned lies above chance", "stream", "results")
def _chance(report: Report) -> Iterator[Finding]:
    """Of accuracies, two standard errors allowed."""
    classes = {task["id"]: task["classes"] for _, task in _listed(report["stream"], "tasks")}
    for cells in matrices(report):
        entry = (report["results"]["metrics"] or {}).get(cells.key.metric) or {}
        limit = LIMITS.get(entry.get("scale"))  # type: ignore[arg-type]
        if not cells.key.metric.startswith("accuracy") or limit is None or entry["scenario"] is None:
            continue
        names: set[str] = set()
        for step, task in enumerate(cells.tasks, start=1):
            if entry["scenario"] != "class":
                names.clear()  # an answer is one of the classes of its own task
            names.update(classes.get(task) or ())
            value, n = cells.value(step, task), cells.cells.get((step, task), {}).get("n")
            if not names or value is None:
                continue
            chance = 1 / len(names)
            slack = 2 * math.sqrt(chance * (1 - chance) / n) if n else 0.0
            if value / limit < chance - slack:
                problem = f"is {value:g} just after task {task} was trained, below chance, in {cells.key}"
                yield warn("results.cells", problem, "are labels shifted, or is the matrix turned?")


# What is derived from them


@rule("metric ids are known, and say what they subtract", "results")
def _ids(report: Report) -> Iterator[Finding]:
    for place, derived in _listed(report["results"], "derived"):
        path, id = f"results.derived[{place}]", derived["metric"]
        if id not in METRICS:
            yield fail(f"{path}.metric", f"is {id}, which names no formula", f"the ids are {', '.join(METRICS)}")
            continue
        if id in AGAINST_BASELINE and derived["baseline"] is None:
            yield fail(f"{path}.baseline", f"is absent for {id}", "say which baseline was subtracted")
        better = {"higher": True, "lower": False}.get(METRICS[id].direction)
        if better is not None and derived["higher_is_better"] not in (None, better):
            yield fail(
                f"{path}.higher_is_better",
                f"is {str(derived['higher_is_better']).lower()} for {id}",
                f"{'higher' if better else 'lower'} values of it are better",
            )


@rule("derived numbers follow from the cells", "stream", "baselines", "results", "repro")
def _derived(report: Report) -> Iterator[Finding]:
    """BWT needs the diagonal, forgetting the history, and so on: a formula that lacks a cell gives no number."""
    found = matrices(report)
    scores = _Scores(report)
    tolerances = report["repro"]["tolerances"] or {}
    for place, derived in _listed(report["results"], "derived"):
        id, of, runs = derived["metric"], derived["of"] or [], derived["runs"] or []
        if id not in METRICS or not METRICS[id].from_matrix or derived["value"] is None:
            continue
        mine = [cells for cells in found if cells.key.metric in of and cells.key.run in runs]
        yield from _recomputed(scores, f"results.derived[{place}].value", derived, mine, tolerances.get(id))


class _Scores:
    """Metrics of the matrices of a report, each of which is built once, whatever is derived from it."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.built: dict[tuple[Any, ...], AccuracyMatrix] = {}

    def metric(self, id: str, cells: Cells, baseline: str | None) -> Value:
        """One metric; raises what the matrix, or the metric, refuses."""
        joint = id == AGAINST_JOINT
        key = (cells.key, baseline, joint)
        if key not in self.built:
            self.built[key] = cells.matrix(self.report, baseline=baseline, joint=joint)
        return metric(id, self.built[key], baseline=baseline)


def _recomputed(
    scores: _Scores, path: str, derived: Mapping[str, Any], mine: list[Cells], tolerance: float | None
) -> Iterator[Finding]:
    id = derived["metric"]
    if not mine:
        yield fail(
            path, f"is given, but there are no cells of {_few(derived['of'] or ['?'])}", "add them to results.cells"
        )
        return
    kind = derived["baseline"] if id in AGAINST_BASELINE else None
    if kind == "chance":
        return  # a report holds no vector of chance levels
    values = []
    for cells in mine:
        try:
            value = scores.metric(id, cells, kind)
        except InputError as error:
            yield fail(
                path, f"cannot be computed from {cells.key}: {error}", "mend the cells, or the baseline's scores"
            )
            return
        if value.value is None:
            problem = f"is given, but {id} is undefined for {cells.key}: {value.reason}"
            yield fail(path, problem, f"it needs {METRICS[id].needs}; give them, or null and the reason")
            return
        values.append(value.value)
    mean = math.fsum(values) / len(values)
    scale = scores.report["results"]["metrics"][mine[0].key.metric]["scale"]
    if abs(mean - derived["value"]) > (ROUNDING[scale] if tolerance is None else tolerance):
        problem = f"is {derived['value']:g}, but the cells give {mean:.6g} by {id}"
        yield fail(path, problem, "another variant of the formula has another id: cl.reconcile finds it")


@rule("learning-curve areas have their curves", "stream", "results")
def _curves(report: Report) -> Iterator[Finding]:
    curves = report["results"]["curves"] or []
    for place, curve in enumerate(curves):
        batches, values = curve["batches"] or [], curve["values"] or []
        if len(batches) != len(values):
            problem = f"has {len(values)} values for {len(batches)} batches"
            yield fail(f"results.curves[{place}].values", problem, "give one value for each batch number")
    for place, derived in _listed(report["results"], "derived"):
        if not derived["metric"].startswith("lca.") or derived["value"] is None:
            continue
        for run in derived["runs"] or []:
            mine = [curve for curve in curves if curve["run"] == run and curve["batches"]]
            drawn = {curve["task"] for curve in mine}
            lacking = [task for task in _task_ids(report) if task not in drawn]
            if lacking:
                problem = f"lacks learning curves of run {run} for {_few(lacking)}"
                yield fail("results.curves", problem, f"results.derived[{place}] needs them: {derived['metric']}")
            elif any(curve["batches"] != list(range(len(curve["batches"]))) for curve in mine):
                problem = f"has curves of run {run} that do not count batches from 0 one by one"
                yield fail("results.curves", problem, f"{derived['metric']} starts before the first batch")


@rule("intervals of a method come from runs, not from test samples", "results")
def _intervals(report: Report) -> Iterator[Finding]:
    derived = {entry["metric"] for _, entry in _listed(report["results"], "derived")}
    for place, interval in _listed(report["results"], "intervals"):
        path = f"results.intervals[{place}]"
        if interval["about"] == "method" and interval["unit"] == "sample":
            problem = "is sample for a claim about a method"
            yield fail(f"{path}.unit", problem, "more test samples do not train again: vary seeds or orders")
        if None not in (interval["low"], interval["high"]) and interval["low"] > interval["high"]:
            yield fail(f"{path}.low", "is above the upper end", "swap them")
        if derived and interval["metric"] not in derived:
            yield fail(f"{path}.metric", f"is {interval['metric']}, not in results.derived", "use the same id")
    covered = {interval["metric"] for _, interval in _listed(report["results"], "intervals")}
    bare = sorted(derived - covered)
    if bare and report["results"]["intervals"] is not None:
        yield warn("results.intervals", f"has none for {_few(bare)}", "give an interval for every number claimed")


@rule("only numbers of one formula are compared", "results")
def _paired(report: Report) -> Iterator[Finding]:
    for place, test in _listed(report["results"], "paired_tests"):
        path, first, second = f"results.paired_tests[{place}]", test["first"], test["second"]
        if first and second and None not in (first["metric"], second["metric"]) and first["metric"] != second["metric"]:
            problem = f"compares {first['metric']} with {second['metric']}"
            yield fail(path, problem, "compute both by one formula")
        n, p = test["n"], test["p"]
        if n is None:
            continue
        if test["test"] == "sign-flip" and p is not None:
            least = (1 if test["sides"] == "one-sided" else 2) / 2.0**n
            if p < least * (1 - 1e-3):
                yield fail(f"{path}.p", f"is {p:g}: {n} signs cannot give less than {least:.4g}", "compute it again")
        if n < FEWEST_PAIRS:
            problem = f"is {n}: an exact two-sided test cannot reach .05"
            yield warn(f"{path}.n", problem, f"run at least {FEWEST_PAIRS} pairs")


@rule("no total over families", "results")
def _no_total(report: Report) -> Iterator[Finding]:
    families = report["results"]["families"] or {}
    family_of = {name: family for family, names in families.items() for name in names or ()}
    for place, derived in _listed(report["results"], "derived"):
        mixed = sorted({family_of[name] for name in derived["of"] or () if name in family_of})
        if len(mixed) > 1:
            problem = f"mixes the families {', '.join(mixed)}"
            yield fail(f"results.derived[{place}].of", problem, "report each family by itself: safety has no price")


# Resources, safety, contamination, reproduction


@rule("stored data agree with what is said of old data", "problem", "stream", "method", "resources")
def _stored(report: Report) -> Iterator[Finding]:
    sizes = [task["n_train"] for _, task in _listed(report["stream"], "tasks")]
    total = sum(sizes) if sizes and None not in sizes else None
    for place, costs in _listed(report["resources"], "methods"):
        samples = (costs["buffer"] or {}).get("samples") or 0
        path = f"resources.methods[{place}].buffer.samples"
        mine = costs["name"] == report["method"]["name"]
        if mine and samples and report["problem"]["old_data"] == "none":
            yield fail(path, f"is {samples} although problem.old_data is none", "mend one of the two")
        if total is not None and samples >= total > 0:
            yield warn(path, f"is {samples}, no fewer than the {total} training samples", "this is joint training")


@rule("bounds and verdicts of safety follow from the counts", "meta", "safety")
def _safety(report: Report) -> Iterator[Finding]:
    safety = report["safety"]
    for family, given in (safety["sets"] or {}).items():
        if given is None:
            yield warn(f"safety.sets.{family}", "was not run", "a round without it is not complete")
            continue
        yield from _gate(f"safety.sets.{family}", given)
    if safety["used_for_tuning"]:
        problem = f"is {safety['used_for_tuning']}"
        yield warn("safety.used_for_tuning", problem, "a set that was tuned on is a development set: draw fresh ones")
    due, today = _day(safety["rotation_date"]), _day(report["meta"]["date"])
    if safety["rotation_date"] is not None and due is None:
        yield fail("safety.rotation_date", f"is {safety['rotation_date']}, which is no day", "write it as 2026-01-31")
    elif due and today and due < today:
        problem = f"is {due}, before the report"
        yield fail("safety.rotation_date", problem, "replace the sealed variants and test again")


def _gate(path: str, given: Mapping[str, Any]) -> Iterator[Finding]:
    count, n, confidence, method = (given[name] for name in ("count", "n", "confidence", "method"))
    if None in (count, n, confidence, method):
        return
    try:
        upper = upper_bound(count, n, confidence=confidence, method=method)
    except InputError as error:
        yield fail(path, f"has no bound: {error}", "mend the counts or the level")
        return
    if given["upper"] is not None and abs(given["upper"] - upper) > 5.01e-5:
        yield fail(f"{path}.upper", f"is {given['upper']:g}", f"{count} of {n} give {upper:.6f} by {method}")
    if given["limit"] is None:
        return
    verdict = "pass" if upper <= given["limit"] else "block"
    if given["verdict"] not in (None, verdict):
        problem = f"is {given['verdict']}, but the bound {upper:.6f} against {given['limit']:g} says {verdict}"
        yield fail(f"{path}.verdict", problem, "the bound decides, not the rate")
    elif verdict == "block":
        yield warn(f"{path}.verdict", "is block", "no gain elsewhere makes up for it")


@rule("dates of contamination agree", "contamination")
def _contamination(report: Report) -> Iterator[Finding]:
    dates = report["contamination"]["timestamps"]
    if dates is None or None in (dates["train_max"], dates["test_min"], dates["violations"]):
        return
    try:
        late = bool(check_timestamps([dates["train_max"]], [dates["test_min"]]).violations)
    except InputError as error:
        yield fail("contamination.timestamps", str(error), "write both dates alike")
        return
    if late != bool(dates["violations"]):
        problem = f"is {dates['violations']} with test items from {dates['test_min']}, training to {dates['train_max']}"
        yield fail("contamination.timestamps.violations", problem, "count the items that are not later")


@rule("short items have a rule", "contamination")
def _short_items(report: Report) -> Iterator[Finding]:
    if report["contamination"]["ngram"] is not None and report["contamination"]["short"] is None:
        yield warn("contamination.short", "is absent", "items of fewer tokens than n have no n-gram: say what was done")


@rule("the code is that of the commit", "repro")
def _dirty(report: Report) -> Iterator[Finding]:
    if report["repro"]["dirty"]:
        yield warn("repro.dirty", "is true", "commit the changes and run again")


@rule("the date is a date", "meta")
def _date(report: Report) -> Iterator[Finding]:
    text = report["meta"]["date"]
    if text is not None and _day(text) is None:
        yield fail("meta.date", f"is {text}, which is no day", "write it as 2026-01-31")


def _day(text: str | None) -> date | None:
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:
        return None
