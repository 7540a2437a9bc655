"""Where two runs part: the first stage that differs."""

import json

import numpy as np
import pytest

from helpers.cl.difference import diff
from helpers.cl.record import AccuracyMatrix
from helpers.errors import InputError

from .repeated import run

CELLS = [[90.0, 10.0], [70.0, 80.0]]
SAME = {
    "data": {"manifest": "3f"},
    "training": {"config": "a1", "seed": 0},
    "grader": {"version": 1},
    "checkpoints": ["c0", "c1"],
    "predictions": {(0, 0): "p", (1, 0): "q"},
}


def side(moved=0.0, **changes):
    cells = np.array(CELLS)
    cells[1, 0] += moved
    return {"matrix": AccuracyMatrix(cells), **SAME, **changes}


@pytest.mark.parametrize(
    ("moved", "changes", "verdict", "text"),
    [
        (0.0, {}, "none", "nothing differs; no cell differs"),
        (1e-9, {}, "noise", "nothing declared differs; no cell differs by more than 0.0001"),
        (0.0, {"checkpoints": ["c0", "d1"]}, "noise", "nothing declared differs; no cell differs"),
        (-5.0, {"data": {"manifest": "4a"}, "training": {"config": "b", "seed": 1}}, "data", "manifest of the data"),
        (-5.0, {"training": {"config": "b", "seed": 0}}, "training", "config of the training differs; 1 of 4 cells"),
        (0.0, {"training": {"config": "b", "seed": 1}}, "training", "config, seed of the training differ; no cell"),
        (-5.0, {"checkpoints": ["c0", "d1"]}, "training", "checkpoints differ from number 1 on"),
        (-5.0, {"predictions": {(0, 0): "p", (1, 0): "r"}}, "generation", "checkpoints agree, predictions of 1 cells"),
        (-5.0, {"grader": {"version": 2}}, "grader", "version of the grader differs"),
        (-5.0, {}, "grader", "the grader changed undeclared"),
        (-5.0, {"predictions": None}, "unexplained", "nothing declared explains the difference; 1 of 4 cells differ"),
        (1e-9, {"grader": {"version": 2}}, "grader", "version of the grader differs"),
    ],
)
def test_the_first_stage_that_differs(moved, changes, verdict, text):
    found = diff(side(), side(moved, **changes))
    assert found.verdict == verdict
    assert text in found.text
    json.dumps(found.to_dict(), allow_nan=False)


def test_where_and_how_much():
    found = diff(side(), side(-5.0))
    assert (found.cells, found.beyond, found.largest, found.first) == (4, 1, 5.0, (1, 0))
    assert "values[1, 0] by -5" in found.text
    assert diff(side(-5.0), side()).text.endswith("by 5")


def test_the_tolerance_is_declared():
    assert diff(side(), side(0.5)).verdict == "grader"
    assert diff(side(), side(0.5), tolerance=0.5).verdict == "noise"
    assert diff(side(), side(0.5), tolerance=0.49).verdict == "grader"
    fractions = [AccuracyMatrix(np.array(CELLS) / 100 + move, scale="fraction") for move in (0.0, 5e-6)]
    assert diff(*fractions).verdict == "unexplained"
    assert diff(*fractions).tolerance == 1e-6


def test_undeclared_stages_before_the_verdict_are_warned_of():
    found = diff(side(data={}, training={}, checkpoints=None), side(-5.0, grader={"version": 2}))
    assert found.verdict == "grader"
    for name in ("data", "training"):
        assert f"{name} is not declared by both: a difference there cannot be excluded" in found.warnings
    assert not diff(side(), side(-5.0, grader={"version": 2})).warnings
    assert diff(side(), side()).warnings == ()
    assert [stage.status for stage in found.stages] == ["not declared", "not declared", "same", "differs"]


def test_fields_of_one_side_are_warned_of():
    found = diff(side(), side(data={"manifest": "3f", "crop": 28}))
    assert (found.verdict, found.warnings) == ("none", ("crop of the data is declared by one run only",))


def test_a_field_called_checkpoint_is_a_field():
    changed = diff(side(training={"checkpoint hash": "a"}), side(training={"checkpoint hash": "b"}))
    assert (changed.verdict, changed.text) == ("training", "checkpoint hash of the training differs; no cell differs")


def test_runs_declare_order_seed_and_information():
    first, second = run(80.0, 0, "a"), run(80.0, 0, "b")
    assert diff(first, second).verdict == "data"
    assert diff(run(80.0, 0), run(80.0, 1)).verdict == "training"
    assert diff(run(80.0), run(80.0, name="EWC")).text.startswith("method of the training differs")
    assert diff(run(80.0), run(80.0)).verdict == "none"


def test_cells_of_one_side_are_not_compared():
    found = diff(AccuracyMatrix([[90, None], [70, 80]]), AccuracyMatrix([[90, 10], [70, 80]]))
    assert (found.verdict, found.cells) == ("none", 3)
    assert "1 cells are missing in one run only and are not compared" in found.warnings


@pytest.mark.parametrize(
    ("first", "second", "options", "message"),
    [
        (side(), {"matrix": AccuracyMatrix([[1.0]])}, {}, "run_b has T 1 and run_a 2"),
        (side(), side(matrix=AccuracyMatrix(CELLS, tasks=["x", "y"])), {}, "run_b has tasks"),
        (side(), side(matrix=CELLS), {}, "run_b has a matrix of type list"),
        ({"data": {}}, side(), {}, "run_a has a matrix of type NoneType"),
        (side(seed=1), side(), {}, "run_a has 'seed': known are 'matrix'"),
        (side(data="3f"), side(), {}, "run_a['data'] is '3f': give a mapping"),
        (side(checkpoints=["c0"]), side(), {}, "run_a['checkpoints'] is ['c0']: give 2"),
        (side(predictions=["p"]), side(), {}, "run_a['predictions'] is no mapping"),
        (side(matrix=run(80.0, 3)), side(), {}, "run_a['training'] has seed 0, its run 3"),
        (side(), side(), {"tolerance": -1.0}, "tolerance is -1.0"),
        (side(), side(), {"tolerance": float("nan")}, "tolerance is nan"),
    ],
)
def test_diff_refusals(first, second, options, message):
    with pytest.raises(InputError) as refusal:
        diff(first, second, **options)
    assert message in str(refusal.value)


def test_predictions_beyond_the_matrix_and_checkpoints_that_are_no_list_are_refused():
    with pytest.raises(
        InputError, match=r"run_a\['predictions'\] has place \(5, 0\): give \(time, task\), both from 0"
    ):
        diff(side(predictions={(5, 0): "p"}), side())
    with pytest.raises(InputError, match=r"run_b\['checkpoints'\] is 3: give 2"):
        diff(side(), side(checkpoints=3))
