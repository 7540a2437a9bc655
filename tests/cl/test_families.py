"""Several metrics: one matrix each; changes outside the stream, each by itself."""

import json
import math

import pytest

from helpers import cl
from helpers.cl.families import Families, deltas
from helpers.errors import InputError

BEFORE = {"general": [45, 60, 28], "instruction": [60, 52], "safety": {"toxic": 95, "privacy": 91}}
AFTER = {"general": [40, 55, 30], "instruction": [50, 38], "safety": {"privacy": 88, "toxic": 94}}


def test_worked_changes():
    """E18."""
    found = deltas(BEFORE, AFTER)
    assert {name: round(delta.value, 3) for name, delta in found.items()} == {
        "general": -2.667,
        "instruction": -12.0,
        "safety": -2.0,
    }
    assert [delta.id for delta in found.values()] == ["trace.dG", "trace.dI", "trace.dS"]
    assert all(delta.id in cl.METRICS for delta in found.values())
    assert found["safety"].by_probe == {"toxic": -1.0, "privacy": -3.0}
    assert "not drawn" in found["general"].reason


def test_a_probe_that_was_not_run_leaves_its_family_undefined_and_no_other():
    found = deltas(BEFORE, {**AFTER, "general": [40, None, 30]})
    assert (found["general"].value, found["general"].coverage) == (None, (2, 3))
    assert found["general"].by_probe == {"1": -5.0, "2": None, "3": 2.0}
    assert found["general"].reason == "probe '2' was not scored both times"
    assert found["general"].improved is None
    assert found["instruction"].value == -12
    content = {name: delta.to_dict() for name, delta in found.items()}
    assert json.loads(json.dumps(content, allow_nan=False)) == content


@pytest.mark.parametrize(
    ("direction", "improved"),
    [("higher", [False, True, None]), ("lower", [True, False, None]), (None, [False, False, None])],
)
def test_what_is_better(direction, improved):
    before = {"general": [10], "instruction": [10], "safety": [10]}
    after = {"general": [9], "instruction": [11], "safety": [10]}
    direction = direction or {"general": "higher", "instruction": "lower", "safety": "lower"}
    found = deltas(before, after, direction=direction)
    assert [delta.improved for delta in found.values()] == improved
    assert [delta.value for delta in found.values()] == [-1, 1, 0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"after": {"total": [1]}}, "after has 'total': the families are general, instruction, safety"),
        ({"after": {"general": [1, 2, 3]}}, "'instruction' is in one of before and after only"),
        ({"before": {"general": [1]}, "after": {"general": [1, 2]}}, "probe '2' of 'general' was given on one side"),
        ({"before": {"general": []}, "after": {"general": []}}, "before['general'] is []"),
        ({"before": {"general": "40"}, "after": {"general": [1, 2]}}, "before['general'] is '40'"),
        ({"before": {"general": [math.nan]}, "after": {"general": [1]}}, "before['general'][1] is nan"),
        ({"before": {"general": [True]}, "after": {"general": [1]}}, "before['general'][1] is True"),
        ({"before": {"general": [10**400]}, "after": {"general": [1]}}, "before['general'][1] is 1000"),
        ({"before": {"general": [-1e308]}, "after": {"general": [1e308]}}, "before['general'][1] is -1e+308"),
        ({"after": None}, "after is None: give the probes by family"),
        ({"before": {}, "after": {}}, "before is {}: give the probes by family, one of general"),
        ({"direction": "up"}, "direction for 'general' is 'up'"),
        ({"direction": {"general": "higher"}}, "direction for 'instruction' is None"),
    ],
)
def test_refusals(change, message):
    arguments = {"before": BEFORE, "after": AFTER, **change}
    with pytest.raises(InputError) as refusal:
        deltas(**arguments)
    assert message in str(refusal.value)


def test_families_are_scored_one_by_one():
    capability = cl.AccuracyMatrix([[90, 12], [70, 88]], baseline=10)
    refusal = cl.AccuracyMatrix([[2, 3], [9, 4]], direction="lower", metric="refusals")
    families = Families({"capability": capability, "refusal": refusal})
    found = families.metric("bwt.gem")
    assert found == {"capability": cl.metric("bwt.gem", capability), "refusal": cl.metric("bwt.gem", refusal)}
    assert (found["capability"].value, found["refusal"].value) == (-20, -7)
    assert families.metric("fwt.gem")["refusal"].value is None
    assert (list(families), len(families), families["refusal"]) == (["capability", "refusal"], 2, refusal)
    assert not {"total", "mean", "sum", "score"} & set(dir(families))
    assert json.dumps(families.to_dict(), allow_nan=False)


@pytest.mark.parametrize(
    ("matrices", "message"),
    [
        ({}, "matrices is empty"),
        ([cl.AccuracyMatrix([[1]])], "no mapping"),
        ({"quality": [[1]]}, "matrices['quality'] is list"),
        ({1: cl.AccuracyMatrix([[1]])}, "matrices has the family 1: name it by a text"),
        (
            {"quality": cl.AccuracyMatrix([[50]]), "cost": cl.AccuracyMatrix([[50, 50], [50, 50]])},
            "matrices['cost'] has the tasks",
        ),
    ],
)
def test_families_refuse_what_does_not_go_together(matrices, message):
    with pytest.raises(InputError) as refusal:
        Families(matrices)
    assert message in str(refusal.value)
