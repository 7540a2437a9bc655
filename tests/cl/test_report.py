"""The report checker: the example passes, every missing field fails by its path, every rule can fire."""

import copy
import json
import math
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import cl, cli
from helpers.cl.report import check, check_report, content_hash, reading, rules, template
from helpers.cl.report.finding import FAIL, WARN, Finding
from helpers.cl.report.schema import SCHEMA, described
from helpers.errors import InputError

EXAMPLE = Path(__file__).parents[2] / "data" / "reports" / "cl-synthetic.yml"
CONTENT = reading.read_report(EXAMPLE)
ABSENT = {"value": None, "reason": "not known"}


def changed(path, value):
    """The example with another value at a path; `...` takes the field out."""
    content = copy.deepcopy(CONTENT)
    *outer, last = path
    place = content
    for part in outer:
        place = place[part]
    if value is ...:
        del place[last]
    else:
        place[last] = value
    return content


@pytest.fixture
def verdict(tmp_path):
    """Check a content as a file, under its right hash."""

    def checked(content, name="report.json"):
        if isinstance(content.get("meta"), dict) and "content_hash" in content["meta"]:
            content["meta"]["content_hash"] = content_hash(content)
        (tmp_path / name).write_text(json.dumps(content))
        return check_report(tmp_path / name)

    return checked


def only(found, level):
    """The one finding, which has this level."""
    assert [finding.level for finding in found.findings] == [level], list(map(str, found.findings))
    return found.findings[0]


# The example and the template


def test_the_example_passes_without_a_finding():
    found = check_report(EXAMPLE)
    assert (found.ok, found.findings, found.skipped) == (True, (), ())


def test_the_example_says_that_it_is_synthetic():
    assert "synthetic" in CONTENT["meta"]["report_id"]


def test_the_example_is_the_template_filled(tmp_path):
    assert template(CONTENT) == EXAMPLE.read_text(encoding="utf-8")


def test_a_report_as_json_is_the_same_report(tmp_path):
    (tmp_path / "report.json").write_text(json.dumps(CONTENT), encoding="utf-8")
    assert check_report(tmp_path / "report.json").findings == ()


def leaves(group, path=()):
    """Every field of the form that is filled in by itself, with its path; lists of groups by their first item."""
    for name, wrapped in group["properties"].items():
        field, here = described(wrapped), (*path, name)
        if "properties" in field:
            yield from leaves(field, here)
        elif "properties" in field.get("items", {}):
            yield from leaves(field["items"], (*here, 0))
        else:
            yield here, name in group["required"]


def test_the_empty_template_has_every_field_and_fails_at_each(tmp_path):
    (tmp_path / "report.yml").write_text(template(), encoding="utf-8")
    found = check_report(tmp_path / "report.yml")
    assert not found.ok
    failed = {finding.path: finding for finding in found.findings}
    expected = {check.joined(path) for path, _ in leaves(SCHEMA)}
    assert set(failed) == expected
    assert len(expected) > 200
    assert {finding.level for finding in found.findings} == {FAIL}
    assert failed["stream.tasks[0].n_test"].problem == "is null without a reason"
    assert '{value: null, reason: "why"}' in failed["stream.tasks[0].n_test"].remedy


def test_every_line_of_the_template_says_what_belongs_there():
    lines = template().splitlines()
    assert all("#" in line for line in lines)
    text = template()
    for words in ("first-k | two-phase | all-tasks | fixed", "(may be left out)", "(true | false)", "(name: value)"):
        assert words in text


# The form


def required_fields(content, group, path=()):
    """Paths of all required fields of the example, groups and leaves."""
    for name in group["required"]:
        if name not in content:
            continue
        field, value = described(group["properties"][name]), content[name]
        yield (*path, name)
        if isinstance(value, dict) and "properties" in field and value.get("value", 0) is not None:
            yield from required_fields(value, field, (*path, name))
        elif isinstance(value, list) and value and "properties" in field.get("items", {}):
            yield from required_fields(value[0], field["items"], (*path, name, 0))


SHORT = {**CONTENT, "results": {**CONTENT["results"], "cells": CONTENT["results"]["cells"][:1]}}
REQUIRED = list(required_fields(SHORT, SCHEMA))


def test_every_missing_field_fails_with_its_path():
    """Taken out one by one, beside sections that are absent; each time that field and no other is found."""
    assert len(REQUIRED) > 200
    for path in REQUIRED:
        content = {name: ABSENT for name in CONTENT} | {path[0]: copy.deepcopy(SHORT[path[0]])}
        place = content
        for part in path[:-1]:
            place = place[part]
        for value, problem in ((..., "is missing"), (None, "is null without a reason"), (ABSENT, None)):
            if value is ...:
                del place[path[-1]]
            else:
                place[path[-1]] = value
            found = [(f.level, f.path, f.problem) for f in check._schema_findings(content)]
            assert found == ([(FAIL, check.joined(path), problem)] if problem else [])


def test_a_section_left_out_as_a_whole(verdict):
    essential = {"meta", "problem", "stream", "method", "results"}
    for absent in CONTENT:
        found = verdict(changed([absent], ABSENT))
        expected = FAIL if absent in essential else WARN
        if absent in ("safety", "grader"):
            assert found.findings == ()
        else:
            assert [(finding.level, finding.path) for finding in found.findings] == [(expected, absent)]
            assert "is left out as a whole" in found.findings[0].problem
        assert found.ok == (absent not in essential)
    everything = verdict({name: ABSENT for name in CONTENT})
    assert {finding.path for finding in everything.findings if finding.level == FAIL} == essential


@pytest.mark.parametrize(
    ("path", "value", "where", "problem", "remedy"),
    [
        (["meta"], ..., "meta", "is missing", "add it (which report this is)"),
        (["meta", "title"], ..., "meta.title", "is missing", "add it (title)"),
        (["meta", "title"], None, "meta.title", "is null without a reason", "fill it in (title)"),
        (["meta", "title"], " ", "meta.title", "is ' '", "of the form"),
        (["meta", "title"], {"value": None}, "meta.title.reason", "is missing", "why there is no value"),
        (["meta", "title"], {"value": None, "reason": ""}, "meta.title.reason", "is ''", "of the form"),
        (["meta", "title"], {"value": None, "reason": "x", "b": 1}, "meta.title.b", "is not a field", "value, reason"),
        (["meta", "titel"], "x", "meta.titel", "is not a field of the form", "did you mean title?"),
        (["meta", "zzz"], "x", "meta.zzz", "is not a field of the form", "the fields here are schema_version"),
        (["meta", "schema_version"], 2, "meta.schema_version", "is 2", "exactly 1"),
        (["meta", "authors"], [], "meta.authors", "is empty", "who answers for it"),
        (["meta", "authors"], "Ann", "meta.authors", "is 'Ann'", "it must be a list"),
        (["meta", "date"], "June", "meta.date", "is 'June'", "of the form"),
        (["problem", "scenario"], "CIL", "problem.scenario", "is 'CIL'", "one of task, domain, class"),
        (["problem", "task_id_at_test"], "no", "problem.task_id_at_test", "is 'no'", "true or false"),
        (["stream", "tasks", 1, "n_test"], 0, "stream.tasks[1].n_test", "is 0", "at least 1"),
        (["stream", "tasks", 1, "n_test"], 1.5, "stream.tasks[1].n_test", "is 1.5", "a whole number"),
        (["stream", "tasks", 1, "n_test"], True, "stream.tasks[1].n_test", "is True", "a whole number"),
        (["stream", "dataset", "sha256"], "abc", "stream.dataset.sha256", "is 'abc'", "of the form"),
        (["method", "hyperparameters"], {}, "method.hyperparameters", "is empty", "every hyper-parameter"),
        (["baselines", "joint"], {}, "baselines.joint", "has neither runs nor scores", "give one of them"),
        (["results", "intervals", 0, "level"], 95, "results.intervals[0].level", "is 95", "at most 1"),
        (["results", "families", "total"], ["a"], "results.families.total", "is not a field of the form", "capability"),
        (["results", "total"], 3, "results.total", "is not a field of the form", ""),
    ],
)
def test_faults_of_the_form(verdict, path, value, where, problem, remedy):
    found = verdict(changed(path, value))
    finding = only(found, FAIL)
    assert finding.path == where
    assert finding.problem.startswith(problem)
    assert remedy in finding.remedy
    assert not found.ok
    assert found.skipped != ()


def test_a_failed_attempt_is_a_word_and_never_infinity(tmp_path, verdict):
    attempt = {"task": "a", "values": {"c": 8}, "score": "failed"}
    assert verdict(changed(["method", "selection", "tried"], [attempt])).findings == ()
    for text in ("diverged", ".inf", ".nan", "-.inf"):
        content = template(changed(["method", "selection", "tried"], [{**attempt, "score": "MARK"}]))
        (tmp_path / "report.yml").write_text(content.replace('"MARK"', text))
        paths = [finding.path for finding in check_report(tmp_path / "report.yml").findings]
        assert "method.selection.tried[0].score" in paths


# The rules

CELL = ["results", "cells", 0]
DERIVED = ["results", "derived"]


def cells_where(change, **like):
    """The example with some cells changed."""
    content = copy.deepcopy(CONTENT)
    kept = []
    for cell in content["results"]["cells"]:
        if all(cell[name] == value for name, value in like.items()):
            cell = change(cell)
        kept += [cell] if cell else []
    content["results"]["cells"] = kept
    return content


def several(*changes):
    content = copy.deepcopy(CONTENT)
    for path, value in changes:
        place = content
        for part in path[:-1]:
            place = place[part]
        place[path[-1]] = value
    return content


def with_test(**change):
    return {**copy.deepcopy(CONTENT["results"]["paired_tests"][0]), **change}


def with_set(**change):
    return {**CONTENT["safety"]["sets"]["harmful"], **change}


DETECTOR = {"name": "d", "delay": 3, "false_alarm_rate": 0.1, "counted_in_result": True}
SELECTION = {**CONTENT["method"]["selection"], "protocol": "first-k", "k": 1, "tasks": ["a"]}
SIDE = {"run": "er", "metric": "acc.final"}
TIMES = {"train_max": "2024-05-01", "test_min": "2024-05-01", "violations": 0}
FAILURES = {
    "class scenario with a task id": (
        several((["problem", "scenario"], "class"), (["problem", "task_id_at_test"], True)),
        "problem.task_id_at_test",
        "is true under the scenario class",
    ),
    "task scenario without": (
        several((["problem", "scenario"], "task")),
        "problem.task_id_at_test",
        "is false under the scenario task",
    ),
    "no detector": (changed(["problem", "boundary_source"], "detector"), "problem.detector", "is absent although"),
    "boundaries from nowhere": (changed(["problem", "boundary_source"], "none"), "problem.boundary_source", "is none"),
    "online twice": (changed(["problem", "passes", "kind"], "online"), "problem.passes.epochs", "is 20 in an online"),
    "two orders of one id": (changed(["stream", "orders", 1, "id"], "o1"), "stream.orders", "has the id o1 twice"),
    "no permutation": (
        changed(["stream", "orders", 1, "permutation"], ["a", "b", "b"]),
        "stream.orders[1].permutation",
        "does not list every task once",
    ),
    "random without a seed": (changed(["stream", "orders", 2, "seed"], ABSENT), "stream.orders[2].seed", "is absent"),
    "mask of no task": (
        changed(["stream", "unobservable"], [{"step": 1, "task": "z", "reason": "no interface"}]),
        "stream.unobservable[0].task",
        "is z, which is no task",
    ),
    "natural and averaged": (changed(["stream", "order_is_natural"], True), "stream.orders", "has 6 orders although"),
    "four random orders": (
        several((["stream", "orders", 4, "kind"], "given"), (["stream", "orders", 5, "kind"], "given")),
        "stream.orders",
        "has 4 random orders",
    ),
    "selection on reported tasks": (
        changed(["method", "selection"], SELECTION),
        "method.selection.tasks",
        "has a, reported in results.cells",
    ),
    "selection on no task": (
        changed(["method", "selection", "tasks"], ["z"]),
        "method.selection.tasks",
        "has z, which is no task",
    ),
    "k is not the count": (
        changed(["method", "selection"], {**SELECTION, "k": 3, "tasks": []}),
        "method.selection.tasks",
        "lists 0 tasks and k is 3",
    ),
    "a cell of no metric": (
        changed([*CELL, "metric"], "f1"),
        "results.cells[0].metric",
        "is f1, which is declared nowhere (1 such rows)",
    ),
    "a cell twice": (
        changed(["results", "cells"], [*CONTENT["results"]["cells"], CONTENT["results"]["cells"][4]]),
        "results.cells[108]",
        "repeats the run",
    ),
    "an order not reported": (
        cells_where(lambda cell: None, order="o5"),
        "stream.orders",
        "declares o5, of which there are no cells",
    ),
    "a cell that is not there": (
        cells_where(lambda cell: None, run="er", seed=0, order="o2", step=2, task="a"),
        "results.cells",
        "has no cell for step 2, task a of accuracy of run er, seed 0, order o2 (1 such cells)",
    ),
    "out of scale": (changed([*CELL, "value"], 101), "results.cells[0].value", "is 101, outside 0 to 100"),
    "below scale": (changed([*CELL, "value"], -1), "results.cells[0].value", "is -1, outside 0 to 100"),
    "percent that are fractions": (
        cells_where(lambda cell: {**cell, "value": cell["value"] / 100}),
        "results.metrics.accuracy.scale",
        "is percent, but no value exceeds 1",
    ),
    "value is not the count": (changed([*CELL, "correct"], 3), "results.cells[0].value", "with 3 of 200 correct"),
    "unknown formula": (
        changed([*DERIVED, 0, "metric"], "bwt"),
        "results.derived[0].metric",
        "is bwt, which names no formula",
    ),
    "forward transfer against nothing": (
        changed([*DERIVED, 6, "baseline"], ABSENT),
        "results.derived[6].baseline",
        "is absent for fwt.gem",
    ),
    "wrong direction": (
        changed([*DERIVED, 2, "higher_is_better"], True),
        "results.derived[2].higher_is_better",
        "is true for forgetting.rwalk",
    ),
    "another number": (
        changed([*DERIVED, 1, "value"], -6.07),
        "results.derived[1].value",
        "is -6.07, but the cells give -6.04167 by bwt.gem",
    ),
    "no cells of that run": (
        changed([*DERIVED, 1, "runs"], ["gem"]),
        "results.derived[1].value",
        "is given, but there are no cells of accuracy",
    ),
    "backward transfer without the diagonal": (
        cells_where(lambda cell: {**cell, "value": ABSENT}, run="er", seed=0, order="o1", step=2, task="b"),
        "results.derived[1].value",
        "is given, but bwt.gem is undefined for accuracy of run er, seed 0, order o1",
    ),
    "forgetting without the history": (
        cells_where(lambda cell: {**cell, "value": ABSENT}, run="er", seed=0, order="o1", step=2, task="a"),
        "results.derived[2].value",
        "is given, but forgetting.rwalk is undefined",
    ),
    "a baseline that is not there": (
        changed([*DERIVED, 6, "baseline"], "single-task"),
        "results.derived[6].value",
        "is given, but fwt.gem is undefined",
    ),
    "a baseline out of scale": (
        changed(["baselines", "random_init", "scores", "b"], 500),
        "results.derived[6].value",
        "cannot be computed from accuracy of run er",
    ),
    "areas without curves": (
        changed([*DERIVED, 0], {**CONTENT["results"]["derived"][0], "metric": "lca.agem"}),
        "results.curves",
        "lacks learning curves of run er for a, b, c",
    ),
    "samples for a method": (
        changed(["results", "intervals", 0, "unit"], "sample"),
        "results.intervals[0].unit",
        "is sample for a claim about a method",
    ),
    "ends swapped": (changed(["results", "intervals", 0, "low"], 99), "results.intervals[0].low", "is above the upper"),
    "an interval of nothing": (
        changed(
            ["results", "intervals"],
            [*CONTENT["results"]["intervals"], {**CONTENT["results"]["intervals"][0], "metric": "aia.icarl"}],
        ),
        "results.intervals[4].metric",
        "is aia.icarl, not in results.derived",
    ),
    "unlike formulas": (
        changed(["results", "paired_tests"], [with_test(second={"run": "fine-tuning", "metric": "aia.icarl"})]),
        "results.paired_tests[0]",
        "compares acc.final with aia.icarl",
    ),
    "a p value that signs cannot give": (
        changed(["results", "paired_tests"], [with_test(p=0.02)]),
        "results.paired_tests[0].p",
        "is 0.02: 6 signs cannot give less than 0.03125",
    ),
    "a total over families": (
        several(
            (["results", "metrics", "cost"], {"scale": "free", "higher_is_better": False, "scenario": ABSENT}),
            (["results", "families", "cost"], ["cost"]),
            ([*DERIVED, 0, "of"], ["accuracy", "cost"]),
        ),
        "results.derived[0].of",
        "mixes the families capability, cost",
    ),
    "stored data out of nowhere": (
        changed(["problem", "old_data"], "none"),
        "resources.methods[0].buffer.samples",
        "is 100 although problem.old_data is none",
    ),
    "a bound that is none": (
        changed(["safety", "sets", "harmful"], with_set(count=1, upper=0.005)),
        "safety.sets.harmful.upper",
        "is 0.005",
    ),
    "a verdict on the rate": (
        changed(["safety", "sets", "harmful"], with_set(count=3, upper=0.0129)),
        "safety.sets.harmful.verdict",
        "is pass, but the bound 0.012872 against 0.01 says block",
    ),
    "more violations than requests": (
        changed(["safety", "sets", "harmful"], with_set(count=601)),
        "safety.sets.harmful",
        "has no bound",
    ),
    "a stale safety set": (
        changed(["safety", "rotation_date"], "2026-06-29"),
        "safety.rotation_date",
        "is 2026-06-29, before the report",
    ),
    "no such day": (changed(["safety", "rotation_date"], "2026-06-31"), "safety.rotation_date", "which is no day"),
    "no such day of the report": (changed(["meta", "date"], "2026-02-30"), "meta.date", "which is no day"),
    "dates that overlap": (
        changed(["contamination", "timestamps"], TIMES),
        "contamination.timestamps.violations",
        "is 0 with test items from 2024-05-01",
    ),
    "dates that do not": (
        changed(["contamination", "timestamps"], {**TIMES, "test_min": "2024-05-02", "violations": 2}),
        "contamination.timestamps.violations",
        "is 2 with test items",
    ),
    "dates unlike": (
        changed(
            ["contamination", "timestamps"],
            {**TIMES, "train_max": "2024-05-01T00:00:00Z", "test_min": "2024-05-01T00:00:00"},
        ),
        "contamination.timestamps",
        "with and without a time zone",
    ),
}
WARNINGS = {
    "orders after the fact": (
        changed(["stream", "orders", 0, "declared_before_run"], False),
        "stream.orders[0].declared_before_run",
        "is false",
    ),
    "selection on all tasks": (
        changed(["method", "selection", "protocol"], "all-tasks"),
        "method.selection.protocol",
        "saw the future",
    ),
    "a number without interval": (
        changed(["results", "intervals"], CONTENT["results"]["intervals"][1:]),
        "results.intervals",
        "has none for acc.final",
    ),
    "five pairs": (
        changed(["results", "paired_tests"], [with_test(n=5, p=0.0625)]),
        "results.paired_tests[0].n",
        "is 5: an exact two-sided test cannot reach .05",
    ),
    "a buffer of everything": (
        changed(["resources", "methods", 0, "buffer", "samples"], 1200),
        "resources.methods[0].buffer.samples",
        "no fewer than the 1200 training samples",
    ),
    "a family not run": (changed(["safety", "sets", "paraphrase"], ABSENT), "safety.sets.paraphrase", "was not run"),
    "tuned on": (changed(["safety", "used_for_tuning"], 2), "safety.used_for_tuning", "is 2"),
    "a shut gate": (
        changed(["safety", "sets", "harmful"], with_set(count=3, upper=0.0129, verdict="block")),
        "safety.sets.harmful.verdict",
        "is block",
    ),
    "short items": (
        changed(["contamination", "ngram"], {"n": 13, "tokeniser": "words", "coverage": 0.2, "hits": 0}),
        "contamination.short",
        "is absent",
    ),
    "uncommitted": (changed(["repro", "dirty"], True), "repro.dirty", "is true"),
}


@pytest.mark.parametrize("name", FAILURES)
def test_contradictions_fail(verdict, name):
    content, path, problem = FAILURES[name]
    found = verdict(content)
    failures = [finding for finding in found.findings if finding.level == FAIL]
    matching = [finding for finding in failures if finding.path == path and problem in finding.problem]
    assert len(matching) == 1, list(map(str, found.findings))
    assert not found.ok
    assert found.skipped == ()


@pytest.mark.parametrize("name", WARNINGS)
def test_doubts_are_warnings(verdict, name):
    content, path, problem = WARNINGS[name]
    found = verdict(content)
    finding = only(found, WARN)
    assert finding.path == path
    assert problem in finding.problem
    assert found.ok


def upper_as(value):
    """The example without values of tasks before their training, or with another there."""
    content = copy.deepcopy(CONTENT)
    orders = {order["id"]: order["permutation"] for order in content["stream"]["orders"]}
    for cell in content["results"]["cells"]:
        if orders[cell["order"]].index(cell["task"]) >= cell["step"]:
            cell["value"] = value
            if value == 0:
                cell["correct"] = 0
            else:
                del cell["correct"]
    content["results"]["derived"] = [
        d for d in content["results"]["derived"] if d["metric"] in ("acc.final", "bwt.gem")
    ]
    content["results"]["intervals"] = content["results"]["intervals"][:2]
    return content


def test_a_safety_set_is_good_until_its_date(verdict):
    assert verdict(changed(["safety", "rotation_date"], CONTENT["meta"]["date"])).findings == ()


def test_zeros_above_the_diagonal_are_pointed_out_and_nulls_are_not(verdict):
    found = verdict(upper_as(0))
    assert found.ok
    assert {finding.problem.split(",")[0] for finding in found.findings} == {
        "has 3 zeros of 3 for tasks before their training"
    }
    assert len(found.findings) == 12
    assert verdict(upper_as(ABSENT)).findings == ()


def test_missing_cells_may_be_named_in_the_mask_for_one_order_or_for_all(verdict):
    lacking = {"step": 1, "task": "b"}
    content = cells_where(lambda cell: None, order="o1", **lacking)
    content["results"]["derived"] = [
        d for d in content["results"]["derived"] if d["metric"] in ("acc.final", "bwt.gem")
    ]
    content["results"]["intervals"] = content["results"]["intervals"][:2]
    assert len(verdict(content).findings) == 2
    for order, findings in ({"order": "o1"}, 0), ({}, 0), ({"order": "o2"}, 2):
        content["stream"]["unobservable"] = [{**lacking, "reason": "not evaluated", **order}]
        assert len(verdict(content).findings) == findings


def test_task_il_below_class_il_is_pointed_out(verdict):
    content = copy.deepcopy(CONTENT)
    metrics = content["results"]["metrics"]
    metrics["accuracy-til"] = {**metrics["accuracy"], "scenario": "task"}
    metrics["accuracy-cil"] = {**metrics["accuracy"], "scenario": "class"}
    first = [
        cell for cell in CONTENT["results"]["cells"] if (cell["run"], cell["seed"], cell["order"]) == ("er", 0, "o1")
    ]
    extra = [{**cell, "metric": "accuracy-til"} for cell in first] + [
        {**cell, "metric": "accuracy-cil"} for cell in first
    ]
    content["results"]["cells"] += extra
    assert verdict(content).findings == ()
    mark = next(cell for cell in content["results"]["cells"] if cell["metric"] == "accuracy-til" and cell["step"] == 3)
    mark["value"], mark["correct"] = mark["value"] - 1, mark["correct"] - 2
    finding = only(verdict(content), WARN)
    assert "is lower under Task-IL than under Class-IL at step 3" in finding.problem


def test_learning_below_chance_is_pointed_out(verdict):
    """Two classes and 200 samples: 43 lies 2 standard errors (7.07) below 50, 42.5 more."""

    def with_value(value):
        content = copy.deepcopy(CONTENT)
        for cell in content["results"]["cells"]:
            if (cell["run"], cell["seed"], cell["order"], cell["step"], cell["task"]) == ("er", 0, "o1", 1, "a"):
                cell["value"], cell["correct"] = value, round(2 * value)
        content["results"]["derived"] = [d for d in content["results"]["derived"] if d["runs"] != ["er"]]
        content["results"]["intervals"] = content["results"]["intervals"][:3]
        return content

    assert verdict(with_value(43.0)).findings == ()
    finding = only(verdict(with_value(42.5)), WARN)
    assert "is 42.5 just after task a was trained, below chance" in finding.problem


@pytest.mark.parametrize(
    ("scenario", "classes", "below"),
    [
        ("class", {"a": ["0", "1"], "b": ["2", "3"]}, {1: 50.0, 2: 25.0}),
        ("class", {"a": ["0", "1"], "b": ["0", "1"]}, {1: 50.0, 2: 50.0}),
        ("task", {"a": ["0", "1"], "b": ["2", "3", "4", "5"]}, {1: 50.0, 2: 25.0}),
        ("domain", {"a": ["0", "1", "2", "3"], "b": ["0", "1"]}, {1: 25.0, 2: 50.0}),
    ],
)
def test_chance_is_one_of_the_classes_that_may_be_predicted(scenario, classes, below):
    """Those seen so far under Class-IL, else those of the task; without n there is no slack."""
    [chance] = [rule for rule in rules.RULES if rule.name == "what was learned lies above chance"]
    cell = {"run": "er", "seed": 0, "order": "o", "metric": "accuracy", "n": None}

    def found(shift):
        cells = [
            {**cell, "step": step, "task": task, "value": below[step] + shift} for step, task in ((1, "a"), (2, "b"))
        ]
        report = {
            "stream": {
                "tasks": [{"id": task, "classes": names} for task, names in classes.items()],
                "orders": [{"id": "o", "permutation": ["a", "b"]}],
            },
            "results": {"metrics": {"accuracy": {"scale": "percent", "scenario": scenario}}, "cells": cells},
        }
        return [finding.problem for finding in chance.findings(report)]

    assert found(0.0) == []
    assert [problem.split(" was trained")[0] for problem in found(-1.0)] == [
        f"is {below[1] - 1:g} just after task a",
        f"is {below[2] - 1:g} just after task b",
    ]


def test_each_matrix_is_built_once_whatever_is_derived_from_it(verdict, monkeypatch):
    """Per matrix two: with the baseline of forward transfer, and without."""
    built = []
    build = rules.Cells.matrix
    monkeypatch.setattr(
        rules.Cells, "matrix", lambda cells, *args, **named: built.append(cells.key) or build(cells, *args, **named)
    )
    assert verdict(copy.deepcopy(CONTENT)).findings == ()
    assert len(set(built)) == 12
    assert max(map(built.count, built)) == 2


def test_curves_make_areas_complete(verdict):
    derived = {**CONTENT["results"]["derived"][0], "metric": "lca.agem", "value": 60}
    content = changed([*DERIVED, 0], derived)
    curve = {"run": "er", "seed": 0, "order": "o1", "metric": "accuracy", "batches": [0, 1, 2], "values": [50, 60, 70]}
    content["results"]["curves"] = [{**curve, "task": task} for task in "abc"]
    content["results"]["intervals"][0]["metric"] = "lca.agem"
    found = verdict(content)
    assert found.ok, list(map(str, found.findings))
    content["results"]["curves"][1]["batches"] = [1, 2, 3]
    assert "do not count batches from 0" in only_failure(verdict(content)).problem
    content["results"]["curves"][1] |= {"batches": [0, 1], "task": "b"}
    assert "has 3 values for 2 batches" in only_failure(verdict(content)).problem
    content["results"]["curves"][1] |= {"batches": [0, 1, 2], "run": "fine-tuning"}
    assert only_failure(verdict(content)).problem == "lacks learning curves of run er for b"
    content["results"]["curves"][1] |= {"run": "er", "task": "z"}
    paths = [finding.path for finding in verdict(content).findings if finding.level == FAIL]
    assert paths == ["results.curves", "results.curves[1].task"]


def test_without_declared_tasks_none_is_called_unknown():
    [selection] = [rule for rule in rules.RULES if rule.name == "tasks used for selection are not reported"]
    content = check.without_markers(changed(["method", "selection", "tasks"], ["z"]))
    assert [finding.problem for finding in selection.findings(content)] == ["has z, which is no task"]
    content["stream"]["tasks"] = None
    assert selection.findings(content) == []


def only_failure(found):
    [finding] = [finding for finding in found.findings if finding.level == FAIL]
    return finding


def test_intransigence_is_held_against_joint_training(verdict):
    entry = {**CONTENT["results"]["derived"][2], "metric": "intransigence.rwalk", "value": 0}
    content = changed([*DERIVED, 2], entry)
    content["results"]["intervals"][2]["metric"] = "intransigence.rwalk"
    finding = only_failure(verdict(content))
    number = float(finding.problem.split("give ")[1].split()[0])
    joint, runs = CONTENT["baselines"]["joint"]["scores"], []
    for order in CONTENT["stream"]["orders"]:
        last = order["permutation"][2]
        [cell] = [
            cell
            for cell in CONTENT["results"]["cells"]
            if (cell["run"], cell["order"], cell["step"], cell["task"]) == ("er", order["id"], 3, last)
        ]
        runs.append(joint[last] - cell["value"])
    assert number == pytest.approx(sum(runs) / 6, abs=1e-4)
    entry["value"] = round(number, 2)
    assert verdict(content).ok
    content["baselines"]["joint"] = ABSENT
    assert "the matrix has no reference" in only_failure(verdict(content)).problem


def test_declared_tolerances_are_used(verdict):
    content = changed([*DERIVED, 1, "value"], -6.07)
    content["repro"]["tolerances"]["bwt.gem"] = 0.05
    assert verdict(content).findings == ()


def test_rules_wait_for_the_sections_that_they_need(verdict):
    content = changed(["safety", "rotation_date"], ...)
    content["problem"]["passes"]["kind"] = "online"
    found = verdict(content)
    assert [finding.path for finding in found.findings] == ["problem.passes.epochs", "safety.rotation_date"]
    assert set(found.skipped) == {rule.name for rule in rules.RULES if "safety" in rule.needs}


def test_every_rule_has_a_name_of_its_own_and_needs_real_sections():
    assert len({rule.name for rule in rules.RULES}) == len(rules.RULES) >= 20
    assert {section for rule in rules.RULES for section in rule.needs} <= set(CONTENT)


def test_the_hash_is_of_everything_else(tmp_path):
    (tmp_path / "report.json").write_text(json.dumps(changed(["meta", "title"], "Another")))
    finding = only(check_report(tmp_path / "report.json"), FAIL)
    assert finding.path == "meta.content_hash"
    assert finding.remedy == f"write {content_hash(changed(['meta', 'title'], 'Another'))}"
    content = changed(["meta", "content_hash"], f"sha256:{content_hash(CONTENT)}")
    (tmp_path / "report.json").write_text(json.dumps(content))
    assert check_report(tmp_path / "report.json").findings == ()


# Files


@pytest.fixture(params=["libyaml", "python"])
def parser(request, monkeypatch):
    """Both of PyYAML's parsers, of which an installation may have the slow one only."""
    loader = {"libyaml": getattr(yaml, "CSafeLoader", None), "python": yaml.SafeLoader}[request.param]
    if loader is None:
        pytest.skip("PyYAML was built without libyaml")
    monkeypatch.setattr(reading, "PARSER", loader)


def test_what_yaml_means(tmp_path, parser):
    (tmp_path / "x.yml").write_text(
        "{a: 2026-01-31, b: 1e-3, c: 1.5, d: true, e: null, f: 08, g: 2E+5, 1: x, h: =, i: '1', j: !!str 1, k: ! 1,"
        " l: [], m: {}, n: , true: [-3, [.inf]]}"
    )
    found = reading.read_report(tmp_path / "x.yml")
    assert found == {
        **{"a": "2026-01-31", "b": 1e-3, "c": 1.5, "d": True, "e": None, "f": "08", "g": 2e5, "1": "x", "h": "="},
        **{"i": "1", "j": "1", "k": "1", "l": [], "m": {}, "n": None, "true": [-3, [math.inf]]},
    }


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("x.yml", "a: 1\nb: 2\na: 3\n", "'a' is written twice: keep one in \"<unicode string>\", line 3, column 1"),
        ("x.yml", "s:\n  a: 1\n  'a': 3\n", "line 3, column 3"),
        ("x.json", '{"s": {"a": 1, "a": 2}}', "key 'a' occurs twice"),
        ("x.yml", "a: &x [1]\nb: *x\n", 'an alias (*name): write the values out in "<unicode string>", line 2'),
        ("x.yml", "a: {<<: {b: 1}}", "a name must be plain text"),
        ("x.yml", "? [1]\n: 2\n", "a name must be plain text"),
        ("x.yml", "!!int 1: 2\n", "a name must be plain text"),
        ("x.yml", "a: !!python/object/apply:os.system ['true']", "python/object/apply:os.system: write a plain value"),
        ("x.yml", "a: !!bool 1", "2002:bool: write a plain value"),
        ("x.yml", "a: !!set {1, 2}", "2002:set: write a plain value"),
        ("x.yml", "a: 0x_", "'0x_' has the form of a number and is none"),
        ("x.yml", "a: [1", "cannot be read"),
        ("x.yml", "a: 1\n---\nb: 2\n", 'a second document: a report is one in "<unicode string>", line 2'),
        ("x.json", "{", "cannot be read"),
        ("x.yml", "- 1\n", "holds list: a report is a mapping"),
        ("x.yml", "", "holds NoneType"),
        ("x.yml", "# nothing\n", "holds NoneType"),
        ("x.json", "[" * 100000, "nested too deeply"),
        ("x.yml", "[" * 5000, "nest"),
        ("x.yml", "[" * 100, 'nested too deeply: a report has a few levels in "<unicode string>", line 1, column 31'),
        ("x.json", '{"a": ' + "[" * 30 + "]" * 30 + "}", "nested too deeply"),
        ("x.yml", '{"a": ' + "[" * 30 + "]" * 30 + "}", "nested too deeply"),
        ("x.txt", "a: 1", "a report is a .yml, .yaml or .json file"),
        ("x.yml", "a: \x00", "cannot be read"),
    ],
)
def test_files_that_are_no_report(tmp_path, parser, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError) as refusal:
        check_report(tmp_path / name)
    assert message in str(refusal.value)
    assert name in str(refusal.value)


def test_json_and_yaml_say_the_same(tmp_path, parser):
    (tmp_path / "x.json").write_text(json.dumps(CONTENT))
    (tmp_path / "x.yml").write_text(yaml.safe_dump(CONTENT, allow_unicode=True))
    assert reading.read_report(tmp_path / "x.yml") == reading.read_report(tmp_path / "x.json") == CONTENT


@pytest.mark.parametrize("name", ["x.json", "x.yml"])
def test_what_is_nested_as_deep_as_allowed_is_checked(tmp_path, name):
    (tmp_path / name).write_text('{"a": ' + "[" * 29 + "]" * 29 + "}")
    assert not check_report(tmp_path / name).ok


@pytest.mark.parametrize("path", [None, 3, "a\0.yml"])
def test_what_is_no_path_is_refused(path):
    with pytest.raises(InputError, match=r"path is .*: give the name of a file"):
        check_report(path)


def test_an_order_of_tasks_that_nobody_declares_is_a_finding(verdict):
    found = verdict(changed(["stream", "orders", 0, "permutation"], ["a", "b", "z"]))
    assert "stream.orders[0].permutation" in [finding.path for finding in found.findings]


def test_a_report_has_a_size(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "LARGEST", 2**20)
    (tmp_path / "x.json").write_bytes(b" " * (2**20 - 2) + b"{}")
    assert reading.read_report(tmp_path / "x.json") == {}
    (tmp_path / "x.json").write_bytes(b" " * (2**20 - 1) + b"{}")
    with pytest.raises(InputError, match="larger than 1 MiB"):
        check_report(tmp_path / "x.json")


def test_latin_text_is_refused(tmp_path):
    (tmp_path / "x.yml").write_bytes("a: größe".encode("latin-1"))
    with pytest.raises(InputError, match=r"x\.yml: cannot be read"):
        check_report(tmp_path / "x.yml")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=40)
@given(st.sampled_from(REQUIRED), json_values)
def test_whatever_stands_in_a_field_the_checker_answers(tmp_path_factory, path, value):
    content = copy.deepcopy(SHORT)
    place = content
    for part in path[:-1]:
        place = place[part]
    place[path[-1]] = value
    file = tmp_path_factory.getbasetemp() / "fuzzed.json"
    file.write_text(json.dumps(content))
    found = check_report(file)
    assert json.dumps(found.to_dict(), allow_nan=False)
    assert all(isinstance(finding, Finding) and finding.path for finding in found.findings)


@settings(max_examples=30)
@given(st.integers(0, len(EXAMPLE.read_bytes()) - 1), st.binary(min_size=1, max_size=4))
def test_damaged_files_are_refused_or_checked(tmp_path_factory, place, junk):
    data = "\n".join(line for line in EXAMPLE.read_text().splitlines() if '"step": 2' not in line).encode()
    file = tmp_path_factory.getbasetemp() / "damaged.yml"
    file.write_bytes(data[:place] + junk + data[place + len(junk) :])
    try:
        assert isinstance(check_report(file).ok, bool)
    except InputError as refusal:
        assert "damaged.yml" in str(refusal)


# The command


def test_the_command_says_one_line_per_finding_and_fails(tmp_path, capsys):
    content = changed(["safety", "used_for_tuning"], 2)
    del content["meta"]["license"], content["model"]["precision"]
    (tmp_path / "r.json").write_text(json.dumps(content))
    assert cli.main(["check-report", str(tmp_path / "r.json"), "--json", str(tmp_path / "out.json")]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("FAIL meta.license: is missing; add it (licence of the report)")
    assert lines[1].startswith("FAIL model.precision: is missing; add it")
    assert [line for line in lines if line.startswith("SKIP")]
    assert lines[-1] == f"{tmp_path / 'r.json'}: 2 failures, 0 warnings"
    written = json.loads((tmp_path / "out.json").read_text())
    assert (written["ok"], len(written["findings"])) == (False, 2)
    assert written["findings"][0]["path"] == "meta.license"


def test_the_command_passes_the_example(capsys):
    assert cli.main(["check-report", str(EXAMPLE)]) == 0
    assert capsys.readouterr().out == f"{EXAMPLE}: 0 failures, 0 warnings\n"


def test_a_warning_is_printed_and_passes(tmp_path, capsys, verdict):
    verdict(changed(["repro", "dirty"], True))
    assert cli.main(["check-report", str(tmp_path / "report.json")]) == 0
    assert capsys.readouterr().out.splitlines()[0].startswith("WARN repro.dirty: is true; ")


def test_the_command_does_not_write_over_the_report(tmp_path, capsys):
    path = tmp_path / "r.json"
    path.write_text(json.dumps(CONTENT))
    assert cli.main(["check-report", str(path), "--json", str(path)]) == 2
    assert "which is read as report: give a file of its own" in capsys.readouterr().err
    assert json.loads(path.read_text()) == CONTENT


def test_the_command_prints_the_template(capsys):
    assert cli.main(["check-report", "--template"]) == 0
    text = capsys.readouterr().out
    assert text == template()
    assert yaml.safe_load(text)["meta"]["title"] is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "REPORT is missing"),
        (["absent.yml"], "absent.yml: No such file or directory"),
        (["--template", "x.yml"], "--template stands alone"),
        (["--template", "--json", "x.json"], "--template stands alone"),
    ],
)
def test_the_command_refuses(capsys, arguments, message):
    assert cli.main(["check-report", *arguments]) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert message in output.err
    assert output.err.count("\n") == 1


def test_the_registry_has_the_version_that_the_template_and_the_example_name():
    line = next(line for line in template().splitlines() if "metric_registry_version" in line)
    assert line.endswith(f"ids: {cl.REGISTRY_VERSION}")
    assert f'metric_registry_version: "{cl.REGISTRY_VERSION}"' in EXAMPLE.read_text(encoding="utf-8")


@pytest.mark.parametrize("n", [1e30, 10**30])
def test_a_cell_with_more_samples_than_there_can_be_fails(tmp_path, n):
    cells = [{**CONTENT["results"]["cells"][0], "n": n}, *CONTENT["results"]["cells"][1:]]
    (tmp_path / "x.json").write_text(json.dumps(changed(["results", "cells"], cells)), encoding="utf-8")
    findings = [str(found) for found in check_report(tmp_path / "x.json").findings]
    assert any("results.cells[0].n" in text and "at most 1000000000000000" in text for text in findings), findings
