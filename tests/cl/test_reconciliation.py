"""Which formula yields a published number."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings

from helpers import cl
from helpers.cl.readers import read
from helpers.cl.reconciliation import AS_COMPUTED
from helpers.errors import InputError

from .test_metrics import runs

N = None
SEED = cl.AccuracyMatrix([[90, 12, 9], [92, 88, 14], [75, 63, 93]], baseline=10, reference=[92, 90, 95])


@pytest.mark.parametrize(
    ("number", "ids"),
    [
        (-20, ("bwt.gem",)),
        (-13.33, ("bwt.gem_script", "trace.bwt")),
        (-12.67, ("bwt.dr",)),
        (76.67, ("bwt.clear",)),
        (21, ("forgetting.rwalk", "forgetting.continuum", "forgetting.inclusive")),
        (14, ("forgetting.raptormai",)),
        (77, ("acc.final", "trace.op")),
        (85.67, ("aia.task_mean",)),
        (3, ("fwt.gem",)),
    ],
)
def test_the_variants_of_the_seed(number, ids):
    assert cl.reconcile(SEED, number).matches == ids


def ways(matrix, number, **options):
    return {(match.id, match.variant) for match in cl.reconcile(matrix, number, **options).found}


def test_habits_of_print_are_named():
    assert ("bwt.gem", "with the sign reversed") in ways(SEED, 20)
    assert ("forgetting.rwalk", "as a fraction") in ways(SEED, 0.21)
    assert ("bwt.gem", "as a fraction with the sign reversed") in ways(SEED, 0.2)
    fractions = cl.AccuracyMatrix(SEED.values / 100, scale="fraction")
    assert ("bwt.dr", "as a percentage") in ways(fractions, -12.67)
    assert ("bwt.dr", "as a percentage with the sign reversed") in ways(fractions, 12.67)
    assert not any("as a" in way for _, way in ways(cl.AccuracyMatrix(SEED.values, scale="free"), 0.21))
    assert cl.reconcile(SEED, 20).variants[0].id == "bwt.gem"
    assert cl.reconcile(SEED, 20).matches == ("forgetting.avalanche",)


def test_zero_has_no_sign():
    found = cl.reconcile(SEED, 0.0)
    assert found.matches == ("bwtplus.dr",)
    assert found.variants == ()


def test_cells_that_a_tool_filled_or_skipped():
    """E4: the invented negative transfer, and the mean over what was observed."""
    values = [[80, N, N], [78, 82, 40], [74, 80, 85]]
    matrix = cl.AccuracyMatrix(values, baseline=[0, 10, 35])
    assert ways(matrix, -2.5) >= {("fwt.gem", "with zeros in missing cells")}
    assert ways(matrix, 13.33) >= {("fwt.clear", "with zeros in missing cells")}
    assert ways(matrix, 5) >= {("fwt.gem", "over observed cells only")}
    assert ways(matrix, 40) >= {("fwt.clear", "over observed cells only")}
    assert cl.reconcile(matrix, -2.5).matches == ()
    assert ways(matrix, 2.5) >= {("fwt.gem", "with zeros in missing cells, with the sign reversed")}
    holes = cl.AccuracyMatrix([[80, N], [70, 90]], n=[[5, N], [5, 5]])
    assert ("acc.final", AS_COMPUTED) in ways(holes, 80)


def test_what_the_script_of_gem_printed():
    """A log that the script itself wrote: its backward and forward transfer are the ones over T, not the paper's."""
    log = Path(__file__).parent / "logs" / "gem" / "gem.txt"
    [run] = read(log, "gem")
    printed = dict(line.split(":") for line in log.read_text(encoding="utf-8").splitlines() if ":" in line)
    for name, id in {
        "Final Accuracy": "acc.final",
        "Backward": "bwt.gem_script",
        "Forward": "fwt.gem_script",
    }.items():
        found = cl.reconcile(run.matrix, float(printed[name]), digits=4).matches
        assert id in found
        assert not {"bwt.gem", "fwt.gem"} & set(found)


def test_every_baseline_is_tried():
    matrix = cl.AccuracyMatrix(SEED.values, baseline={"random-init": 10, "chance": 5, "single-task": 90})
    found = cl.reconcile(matrix, 8)
    assert [(match.id, match.baseline) for match in found.found] == [("fwt.gem", "chance")]
    assert cl.reconcile(matrix, -77).found[0].baseline == "single-task"
    # what subtracts no baseline is one match, not one for each kind
    assert [
        (match.id, match.baseline) for match in cl.reconcile(matrix, -20).found if match.variant == AS_COMPUTED
    ] == [("bwt.gem", None)]


def test_what_class_il_leaves_undefined_is_recognised():
    matrix = cl.AccuracyMatrix([[99, 0], [0, 99]], baseline=10, scenario="class")
    assert cl.metric("fwt.gem", matrix).value is None
    assert "fwt.gem" in cl.reconcile(matrix, -10).matches


def test_digits():
    assert cl.reconcile(SEED, -12.7, digits=1).matches == ("bwt.dr",)
    assert cl.reconcile(SEED, -13, digits=0).matches == ("bwt.gem_script", "bwt.dr", "trace.bwt")
    assert cl.reconcile(SEED, -12.67, digits=3).matches == ()
    assert cl.reconcile(SEED, 0.8733, digits=4).matches == ("rem.dr",)
    half = cl.AccuracyMatrix([[80, 1], [60.125, 90]])
    for rounded in (75.06, 75.07):  # 75.0625 lies within half a unit of one only
        assert bool(cl.reconcile(half, rounded).matches) == (rounded == 75.06)
    exact = cl.AccuracyMatrix([[80.125]])
    for rounded in (80.12, 80.13):  # a tie is rounded either way
        assert "acc.final" in cl.reconcile(exact, rounded).matches


def test_nothing_yields_it():
    found = cl.reconcile(SEED, -18.9)
    assert found.found == ()
    assert found.nearest[0].id == "bwt.gem"
    assert repr(found).startswith("Reconciliation(-18.90: no formula yields it; nearest bwt.gem -20.000, ")
    assert len(found.nearest) == 3


def test_as_json():
    content = json.loads(json.dumps(cl.reconcile(SEED, -20).to_dict(), allow_nan=False))
    assert content["matches"] == ["bwt.gem"]
    assert content["found"][1] == {
        "id": "forgetting.avalanche",
        "variant": "with the sign reversed",
        "value": -20.0,
        "baseline": None,
    }
    assert repr(cl.reconcile(SEED, 3).found[0]) == "Match(fwt.gem as computed, baseline random-init: 3)"


@settings(max_examples=10)
@given(runs())
def test_every_value_is_recognised(run):
    matrix = cl.AccuracyMatrix(**run)
    for id, value in cl.table(matrix).items():
        if value.value is not None:
            assert id in cl.reconcile(matrix, round(value.value, 3), digits=3).matches


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"published": float("nan")}, "published is nan: give a finite number"),
        ({"published": "20"}, "published is '20'"),
        ({"published": True}, "published is True"),
        ({"published": 20, "digits": -1}, "digits is -1"),
        ({"published": 20, "digits": 16}, "digits is 16: give at most 15"),
        ({"published": 20, "matrix": [[1]]}, "matrix is of type list"),
    ],
)
def test_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        cl.reconcile(**{"matrix": SEED, **arguments})
