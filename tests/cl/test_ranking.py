"""Comparisons and rankings: what may be ordered, and what is refused by name."""

import json
from dataclasses import replace

import pytest

from helpers import cl
from helpers.errors import InputError

ER = cl.AccuracyMatrix([[90, 5], [80, 90]], baseline=10)
EWC = cl.AccuracyMatrix([[90, 5], [20, 90]], baseline=10)
TOLD = {
    "task_id_at_train": True,
    "task_id_at_test": False,
    "boundary_at_train": True,
    "boundary_source": "human",
    "detector_delay": 0,
    "stored_data": "500 raw samples",
}
USED = {"buffer_bytes": 1000, "train_flops": 2.0e9}


def run(matrix=ER, name="ER", **changes):
    return cl.Run(matrix, name, information=TOLD, budget=USED, **changes)


def test_compare():
    found = cl.compare(cl.metric("forgetting.rwalk", ER), cl.metric("forgetting.rwalk", EWC))
    assert (found.difference, found.better, found.unit) == (-60.0, "first", "percentage points")
    assert cl.compare(cl.metric("acc.final", EWC), cl.metric("acc.final", ER)).better == "second"
    assert cl.compare(cl.metric("acc.final", ER), cl.metric("acc.final", ER)).better == "neither"
    assert json.loads(json.dumps(found.to_dict()))["better"] == "first"
    undirected = replace(cl.metric("acc.final", ER), direction="none")
    assert cl.compare(undirected, replace(undirected, value=3.0)).better is None


def test_undefined_is_no_difference():
    hole = cl.metric("bwt.gem", cl.AccuracyMatrix([[None, 5], [20, 90]]))
    for pair in ((cl.metric("bwt.gem", ER), hole), (hole, cl.metric("bwt.gem", ER))):
        found = cl.compare(*pair)
        assert (found.difference, found.better) == (None, None)
        assert "values[0, 0]" in found.reason


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (cl.metric("bwt.clear", ER), "id is 'bwt.gem' and 'bwt.clear': they are different formulas"),
        (cl.metric("bwt.gem", cl.AccuracyMatrix(ER.values / 100, scale="fraction")), "unit is 'percentage points' and"),
        (cl.metric("bwt.gem", cl.AccuracyMatrix(ER.values, scenario="class")), "scenario is None and 'class'"),
        (cl.metric("bwt.gem", cl.AccuracyMatrix(ER.values, metric="F1")), "metric is 'accuracy' and 'F1'"),
        (cl.metric("bwt.gem", cl.AccuracyMatrix([[1, 1, 1]] * 3)), "tasks are 1, 2 and 1, 2, 3"),
        (3.0, r"second is of type float: give what cl.metric\(id, matrix\) returns; cl.paired takes the runs of two"),
    ],
)
def test_unlike_values_are_refused(other, message):
    with pytest.raises(InputError, match=message):
        cl.compare(cl.metric("bwt.gem", ER), other)


def test_baselines_and_observed_cells_are_not_alike():
    two = cl.AccuracyMatrix(ER.values, baseline={"random-init": 10, "chance": 50})
    with pytest.raises(InputError, match="baseline is 'random-init' and 'chance': they subtract different baselines"):
        cl.compare(cl.metric("fwt.gem", two), cl.metric("fwt.gem", two, baseline="chance"))
    with pytest.raises(InputError, match="observed_only is False and True"):
        cl.compare(cl.metric("fwt.gem", two), cl.metric("fwt.gem", two, observed_only=True))
    losses = {"scale": "free", "metric": "loss"}
    rising = cl.AccuracyMatrix(ER.values, **losses)
    with pytest.raises(InputError, match="direction is 'higher' and 'lower'"):
        cl.compare(
            cl.metric("acc.final", rising),
            cl.metric("acc.final", cl.AccuracyMatrix(ER.values, **losses, direction="lower")),
        )


def test_rank():
    found = cl.rank([run(EWC, "EWC"), run(), run(name="copy")])
    assert [(place.place, place.name, place.value, place.runs) for place in found.places] == [
        (1, "ER", 85.0, 1),
        (1, "copy", 85.0, 1),
        (3, "EWC", 55.0, 1),
    ]
    assert found.undeclared == ()
    assert (found.id, found.direction, found.unit) == ("acc.final", "higher", "percent")
    assert json.loads(json.dumps(found.to_dict()))["places"][2]["name"] == "EWC"
    assert [place.name for place in cl.rank([run(EWC, "EWC"), run()], "forgetting.rwalk").places] == ["ER", "EWC"]


def test_runs_of_one_name_are_averaged():
    found = cl.rank([run(seed=0), run(EWC, seed=1), run(cl.AccuracyMatrix([[90, 5], [70, 90]], baseline=10), "other")])
    assert [(place.name, place.value, place.runs) for place in found.places] == [("other", 80.0, 1), ("ER", 70.0, 2)]


@pytest.mark.parametrize("field", TOLD)
def test_different_information_is_named(field):
    other = {**TOLD, field: "something else"}
    with pytest.raises(InputError, match=rf"information\['{field}'\] is .* for 'ER' and 'something else' for 'EWC'"):
        cl.rank([run(), run(name="same"), cl.Run(EWC, "EWC", information=other, budget=USED)])
    undeclared = {key: value for key, value in TOLD.items() if key != field}
    with pytest.raises(InputError, match=rf"information\['{field}'\] is .* for 'ER' and not declared for 'EWC'"):
        cl.rank([run(), cl.Run(EWC, "EWC", information=undeclared, budget=USED)])


def test_what_only_the_second_declares_is_named():
    bare = cl.Run(ER, "ER", information={"task_id_at_test": False})
    with pytest.raises(InputError, match=r"information\['detector_delay'\] is not declared for 'ER' and 3 for 'b'"):
        cl.rank([bare, cl.Run(ER, "b", information={"task_id_at_test": False, "detector_delay": 3})])


def test_information_has_no_tolerance():
    told = [cl.Run(ER, name, information={"detector_delay": delay}) for name, delay in (("a", 100), ("b", 101))]
    with pytest.raises(InputError, match=r"information\['detector_delay'\] is 100 for 'a' and 101 for 'b'"):
        cl.rank(told, tolerance=0.5)


def test_true_is_not_one():
    """A delay of 1 and a boundary that is True are different statements."""
    one, other = ({**TOLD, "detector_delay": value} for value in (1, True))
    with pytest.raises(InputError, match="detector_delay"):
        cl.rank([cl.Run(ER, "a", information=one), cl.Run(ER, "b", information=other)])


@pytest.mark.parametrize(
    ("bytes_used", "tolerance", "fits"),
    [
        (1050, 0.05, True),
        (1060, 0.05, False),
        (950, 0.05, True),
        (949, 0.05, False),
        (1001, 0.0, False),
        (1000, 0.0, True),
    ],
)
def test_budgets_within_a_tolerance(bytes_used, tolerance, fits):
    runs = [run(), cl.Run(EWC, "EWC", information=TOLD, budget={**USED, "buffer_bytes": bytes_used})]
    if fits:
        assert cl.rank(runs, tolerance=tolerance).places[0].name == "ER"
    else:
        with pytest.raises(InputError, match=rf"budget\['buffer_bytes'\] is 1000 for 'ER' and {bytes_used} for 'EWC'"):
            cl.rank(runs, tolerance=tolerance)


def test_budgets_are_held_against_each_other_and_not_against_the_first_alone():
    used = {"a": 1000, "b": 1050, "c": 960}
    runs = [
        cl.Run(ER, name, information=TOLD, budget={"buffer_bytes": bytes_used}) for name, bytes_used in used.items()
    ]
    assert [place.name for place in cl.rank(runs[:2]).places] == ["a", "b"]
    with pytest.raises(InputError, match=r"budget\['buffer_bytes'\] is 1050 for 'b' and 960 for 'c'"):
        cl.rank(runs)


def test_what_nobody_declares_is_said():
    found = cl.rank(
        [
            cl.Run(ER, "a", information={"task_id_at_test": True}),
            cl.Run(EWC, "b", information={"task_id_at_test": True}),
        ]
    )
    assert found.undeclared == (
        "task_id_at_train",
        "boundary_at_train",
        "boundary_source",
        "detector_delay",
        "stored_data",
        "budget",
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"runs": []}, "runs holds something else than Run"),
        ({"runs": None}, "runs holds something else than Run"),
        ({"runs": [ER]}, "runs holds something else than Run"),
        ({"id": "bwt"}, "id is 'bwt'"),
        ({"id": "path.min"}, "id is 'path.min', which has no better side"),
        ({"id": "intransigence.rwalk"}, "intransigence.rwalk of 'ER' is undefined: the matrix has no reference"),
        ({"tolerance": 1.0}, "tolerance is 1.0"),
        ({"tolerance": "5%"}, "tolerance is '5%'"),
        ({"runs": [run(), run(cl.AccuracyMatrix(EWC.values, scenario="task"), "b")]}, "scenario is None and 'task'"),
    ],
)
def test_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        cl.rank(**{"runs": [run(), run(EWC, "EWC")], **arguments})


def test_the_baseline_is_passed_on():
    matrix = cl.AccuracyMatrix(ER.values, baseline={"chance": 2})
    assert cl.rank([run(matrix)], "fwt.gem", baseline="chance").places[0].value == 3.0
