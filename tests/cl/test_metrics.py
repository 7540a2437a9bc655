"""Worked values of the specification, and every formula against plain loops."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import cl
from helpers.cl.metrics import MATRIX_IDS, METRICS
from helpers.errors import InputError

from . import oracle

N = None
#: Each worked example: the matrix, what belongs to it, and the values that the specification prints.
WORKED = {
    "E1 seed": (
        [[90, 12, 9], [92, 88, 14], [75, 63, 93]],
        {"baseline": 10, "reference": [92, 90, 95]},
        {
            "acc.final": 77,
            "bwt.gem": -20,
            "forgetting.rwalk": 21,
            "fwt.gem": 3,
            "intransigence.rwalk": 2,
            "learning_accuracy": 90.33,
            "aia.task_mean": 85.67,
            "acc.dr": 83.5,
            "bwt.dr": -12.67,
            "rem.dr": 0.8733,
            "bwtplus.dr": 0,
            "clear.in_domain": 90.33,
            "clear.next_domain": 13,
            "bwt.clear": 76.67,
            "fwt.clear": 11.67,
            "clear.accuracy": 83.5,
            "bwt.gem_script": -13.33,
            "fwt.gem_script": 2,
            "forgetting.inclusive": 21,
            "forgetting.raptormai": 14,
            "forgetting.worst": 25,
            "forgetting.avalanche": 20,
            "trace.bwt": -13.33,
            "trace.op": 77,
        },
    ),
    "E2 collapse of two": (
        [[100, 50], [0, 100]],
        {"baseline": 50},
        {
            "acc.final": 50,
            "bwt.gem": -100,
            "forgetting.rwalk": 100,
            "fwt.gem": 0,
            "learning_accuracy": 100,
            "aia.task_mean": 75,
            "bwt.clear": 0,
            "fwt.clear": 50,
            "bwt.gem_script": -50,
            "acc.dr": 66.67,
        },
    ),
    "E3 a": (
        [[90, 60, 55], [80, 88, 62], [70, 78, 86]],
        {"baseline": 33, "reference": 92},
        {
            "bwt.gem": -15,
            "bwt.clear": 76,
            "acc.final": 78,
            "forgetting.rwalk": 15,
            "fwt.gem": 28,
            "learning_accuracy": 88,
            "aia.task_mean": 84,
            "bwt.dr": -13.33,
            "intransigence.rwalk": 6,
        },
    ),
    "E3 b": (
        [[60, 30, 30], [60, 58, 32], [60, 58, 55]],
        {"baseline": 33, "reference": 92},
        {
            "bwt.gem": 0,
            "bwt.clear": 59.33,
            "acc.final": 57.67,
            "forgetting.rwalk": 0,
            "fwt.gem": -2,
            "learning_accuracy": 57.67,
            "aia.task_mean": 58.89,
            "bwt.dr": 0,
            "intransigence.rwalk": 37,
        },
    ),
    "E4 unobservable": (
        [[80, N, N], [78, 82, 40], [74, 80, 85]],
        {"baseline": [N, N, 35]},
        {
            "acc.final": 79.67,
            "bwt.gem": -4,
            "forgetting.rwalk": 4,
            "learning_accuracy": 82.33,
            "aia.task_mean": 79.89,
            "bwt.clear": 77.33,
            "fwt.gem": None,
            "fwt.clear": None,
        },
    ),
    "E4 filled with zeros": (
        [[80, 0, 0], [78, 82, 40], [74, 80, 85]],
        {"baseline": [0, 10, 35]},
        {"fwt.gem": -2.5, "fwt.clear": 13.33, "forgetting.rwalk": 4},
    ),
    "E5 missing diagonal": (
        [[80, 20, 20], [78, N, 40], [74, 70, 85]],
        {"baseline": 20},
        {
            "bwt.gem": None,
            "learning_accuracy": None,
            "aia.task_mean": None,
            "acc.dr": None,
            "forgetting.rwalk": None,
            "forgetting.worst": None,
            "forgetting.inclusive": None,
            "forgetting.continuum": None,
            "acc.final": 76.33,
            "bwt.clear": 74,
            "fwt.gem": 10,
        },
    ),
    "E6 positive": (
        [[50, 20, 20], [60, 70, 30], [65, 75, 80]],
        {"baseline": 20},
        {
            "bwt.gem": 10,
            "forgetting.rwalk": -5,
            "forgetting.inclusive": 0,
            "forgetting.avalanche": -10,
            "bwt.dr": 10,
            "bwtplus.dr": 10,
            "rem.dr": 1,
            "bwt.gem_script": 6.67,
            "acc.final": 73.33,
            "learning_accuracy": 66.67,
            "aia.task_mean": 62.78,
            "fwt.gem": 5,
            "bwt.clear": 66.67,
            "fwt.clear": 23.33,
        },
    ),
    "E7 zero-shot peak": (
        [[70, 85, 40], [72, 80, 45], [71, 78, 82]],
        {"baseline": 25},
        {
            "forgetting.rwalk": 4,
            "forgetting.continuum": 1.5,
            "forgetting.avalanche": 0.5,
            "bwt.gem": -0.5,
            "bwt.dr": 0.33,
            "acc.final": 77,
            "fwt.gem": 40,
            "learning_accuracy": 77.33,
            "aia.task_mean": 74.33,
        },
    ),
    "E8 domain": (
        [[95, 70, 50, 30], [85, 94, 72, 52], [74, 86, 93, 71], [60, 75, 85, 92]],
        {"baseline": 10, "reference": 95},
        {
            "acc.final": 78,
            "bwt.gem": -20.67,
            "forgetting.rwalk": 20.67,
            "fwt.gem": 61,
            "learning_accuracy": 93.5,
            "aia.task_mean": 86.71,
            "bwt.dr": -16.83,
            "bwt.gem_script": -15.5,
            "fwt.gem_script": 45.75,
            "clear.in_domain": 93.5,
            "clear.next_domain": 71,
            "bwt.clear": 77.5,
            "fwt.clear": 57.5,
            "forgetting.worst": 35,
        },
    ),
    "E9 collapse": (
        (99 * np.eye(5)).tolist(),
        {"baseline": 10, "reference": 97},
        {
            "acc.final": 19.8,
            "bwt.gem": -99,
            "forgetting.rwalk": 99,
            "learning_accuracy": 99,
            "aia.task_mean": 45.21,
            "intransigence.rwalk": -2,
            "fwt.gem": -10,
            "bwt.clear": 0,
        },
    ),
}


@pytest.mark.parametrize("example", WORKED)
def test_worked_values(example):
    values, given_with, expected = WORKED[example]
    found = cl.table(cl.AccuracyMatrix(values, **given_with))
    for id, value in expected.items():
        if value is None:
            assert found[id].value is None, id
            assert found[id].reason, id
        else:
            digits = 4 if id == "rem.dr" else 2
            assert round(found[id].value, digits) == value, id
            assert found[id].reason is None, id


@pytest.mark.parametrize(
    ("example", "id", "expected"),
    [
        ("E1 seed", "acc.final", [90, 90, 77]),
        ("E1 seed", "forgetting.rwalk", [None, -2, 21]),
        ("E1 seed", "intransigence.rwalk", [2, 2, 2]),
        ("E3 a", "intransigence.rwalk", [2, 4, 6]),
        ("E3 b", "intransigence.rwalk", [32, 34, 37]),
        ("E7 zero-shot peak", "forgetting.rwalk", [None, -2, 4]),
        ("E8 domain", "forgetting.rwalk", [None, 10, 14.5, 20.67]),
        ("E8 domain", "intransigence.rwalk", [0, 1, 2, 3]),
        ("E9 collapse", "intransigence.rwalk", [-2] * 5),
    ],
)
def test_worked_values_on_the_way(example, id, expected):
    values, given_with, _ = WORKED[example]
    found = [value.value for value in cl.steps(id, cl.AccuracyMatrix(values, **given_with))]
    assert [None if value is None else round(value, 2) for value in found] == expected


def test_ranking_reversal():
    """E3: which method transfers better backwards depends on whose formula is asked."""
    a, b = (cl.AccuracyMatrix(WORKED[name][0]) for name in ("E3 a", "E3 b"))
    assert cl.compare(cl.metric("bwt.gem", a), cl.metric("bwt.gem", b)).better == "second"
    assert cl.compare(cl.metric("bwt.clear", a), cl.metric("bwt.clear", b)).better == "first"


def test_e1_forgetting_less_transfer():
    """F - (-BWT) is the rise of task 1 before its fall, (92 - 90) / 2."""
    found = cl.table(cl.AccuracyMatrix(WORKED["E1 seed"][0]))
    assert found["forgetting.rwalk"].value + found["bwt.gem"].value == 1.0


@pytest.mark.parametrize(
    ("id", "expected"),
    [
        ("forgetting.rwalk", {"1": 17.0, "2": 25.0}),
        ("forgetting.inclusive", {"1": 17.0, "2": 25.0}),
        ("forgetting.raptormai", {"1": 17.0, "2": 25.0, "3": 0.0}),
        ("forgetting.avalanche", {"1": 15.0, "2": 25.0}),
        ("bwt.gem", {"1": -15.0, "2": -25.0}),
        ("fwt.gem", {"2": 2.0, "3": 4.0}),
        ("acc.final", {"1": 75.0, "2": 63.0, "3": 93.0}),
    ],
)
def test_terms_per_task(id, expected):
    values, given_with, _ = WORKED["E1 seed"]
    assert cl.per_task(id, cl.AccuracyMatrix(values, **given_with)) == expected


def test_terms_of_incomplete_tasks_are_none():
    values, given_with, _ = WORKED["E5 missing diagonal"]
    matrix = cl.AccuracyMatrix(values, **given_with)
    assert cl.per_task("forgetting.rwalk", matrix) == {"1": 6.0, "2": None}
    assert cl.per_task("bwt.gem", matrix) == {"1": -6.0, "2": None}
    assert cl.per_task("fwt.gem", cl.AccuracyMatrix(values)) == {}
    with pytest.raises(InputError, match=r"id is 'bwt.dr', which is no mean of one term per task: acc.final"):
        cl.per_task("bwt.dr", matrix)


def test_observed_only():
    """E4: what is offered, beside what stays strict."""
    values, given_with, _ = WORKED["E4 unobservable"]
    matrix = cl.AccuracyMatrix(values, **given_with)
    strict = cl.metric("fwt.gem", matrix)
    assert (strict.value, strict.coverage, strict.observed_only) == (None, (1, 2), False)
    assert strict.reason == "1 of 2 cells are missing, first values[0, 1]: not given"
    observed = cl.metric("fwt.gem", matrix, observed_only=True)
    assert (observed.value, observed.coverage, observed.observed_only) == (5.0, (1, 2), True)
    clear = cl.metric("fwt.clear", matrix, observed_only=True)
    assert (clear.value, clear.coverage) == (40.0, (1, 3))
    whole = cl.table(matrix, observed_only=True)
    assert whole["fwt.gem_script"].value is None
    assert whole["bwt.gem"].observed_only is False
    with pytest.raises(InputError, match=r"observed_only is not offered for 'bwt.gem'"):
        cl.metric("bwt.gem", matrix, observed_only=True)


def test_observed_only_pairs_each_cell_with_its_baseline():
    values = [[80, 30, 9], [78, 82, 40], [74, 80, 85]]
    half = cl.metric("fwt.gem", cl.AccuracyMatrix(values, baseline=[N, N, 35]), observed_only=True)
    assert (half.value, half.coverage) == (5.0, (1, 2))
    none = cl.metric("fwt.gem", cl.AccuracyMatrix(values, baseline=[7, N, N]), observed_only=True)
    assert (none.value, none.coverage, none.reason) == (None, (0, 2), "baseline['random-init'][1] is missing")
    other = cl.AccuracyMatrix([[80, N, 9], *values[1:]], baseline=[7, 20, 35])
    assert cl.metric("fwt.gem", other, observed_only=True).value == 5.0


def test_class_il_has_no_forward_transfer():
    """E9: what would be minus the baseline for every method is not reported."""
    values, given_with, _ = WORKED["E9 collapse"]
    found = cl.table(cl.AccuracyMatrix(values, **given_with, scenario="class"), observed_only=True)
    for id in ("fwt.gem", "fwt.gem_script", "fwt.clear", "fwt.dr", "clear.next_domain"):
        assert found[id].value is None
        assert "every method gets the same number" in found[id].reason
    assert found["bwt.gem"].value == -99
    assert cl.per_task("fwt.gem", cl.AccuracyMatrix(values, **given_with, scenario="class")) == {}
    many = cl.metrics_of([cl.AccuracyMatrix(values, **given_with, scenario="class")] * 2)
    assert np.isnan(many["fwt.gem"]).all()
    assert np.isnan(cl.metrics_of(np.zeros((2, 2, 2)), baseline=[1, 1], scenario="class")["fwt.gem"]).all()


def test_sample_weighted_and_class_weighted_means():
    matrix = cl.AccuracyMatrix([[80, 0], [60, 90]], n=[100, 300], classes=[5, 1])
    assert cl.metric("aia.icarl", matrix).value == pytest.approx((80 + (60 * 100 + 90 * 300) / 400) / 2)
    assert cl.metric("wavg.facil", matrix).value == pytest.approx((5 * 60 + 90) / 6)
    without = cl.table(cl.AccuracyMatrix([[80, 0], [60, 90]]))
    assert "has no n" in without["aia.icarl"].reason
    assert without["aia.icarl"].coverage == (0, 3)
    assert "has no classes" in without["wavg.facil"].reason
    assert without["wavg.facil"].coverage == (0, 2)
    partial = cl.AccuracyMatrix([[80, None], [None, 90]], n=[[100, None], [None, 300]])
    assert cl.metric("aia.icarl", partial).coverage == (2, 3)
    assert cl.metric("aia.icarl", partial).value is None


def test_lower_is_better_turns_differences_round():
    """A loss that rises is forgetting; the mean of losses stays the mean of losses."""
    losses = cl.AccuracyMatrix(
        [[1.0, 3.0], [2.5, 1.5]],
        baseline=[4.0, 4.0],
        reference=[0.5, 1.0],
        scale="free",
        direction="lower",
        metric="loss",
    )
    found = cl.table(losses)
    assert found["acc.final"].value == 2.0
    assert (found["acc.final"].direction, found["acc.final"].unit) == ("lower", "loss")
    assert (found["bwt.gem"].value, found["bwt.gem"].direction) == (-1.5, "higher")
    assert (found["forgetting.rwalk"].value, found["forgetting.rwalk"].direction) == (1.5, "lower")
    assert found["fwt.gem"].value == 1.0
    assert found["intransigence.rwalk"].value == 0.5
    assert found["rem.dr"].reason == "a share of 1 needs a bounded scale, and this one is free"
    assert cl.per_task("bwt.gem", losses) == {"1": -1.5}
    assert cl.per_task("forgetting.rwalk", losses) == {"1": 1.5}
    observed = cl.AccuracyMatrix([[1, 3, N], [2, 1, N], [2, 2, 1]], baseline=4, scale="free", direction="lower")
    assert cl.metric("fwt.gem", observed, observed_only=True).value == 1.0
    assert cl.metric("fwt.clear", observed, observed_only=True).value == 3.0


def test_units():
    percent, fraction = (cl.AccuracyMatrix([[1, 0], [1, 1]], scale=scale) for scale in ("percent", "fraction"))
    assert cl.metric("acc.final", percent).unit == "percent"
    assert cl.metric("bwt.gem", percent).unit == "percentage points"
    assert cl.metric("bwt.gem", fraction).unit == "fraction"
    assert cl.metric("rem.dr", percent).unit == "fraction"


def test_a_fraction_remembers_as_a_percentage_does():
    cells = np.array([[0.9, 0.1], [0.6, 0.8]])
    one, other = cl.AccuracyMatrix(cells, scale="fraction"), cl.AccuracyMatrix(100 * cells)
    assert cl.metric("rem.dr", one).value == pytest.approx(0.7)
    assert cl.metric("rem.dr", other).value == pytest.approx(0.7)


def test_the_kind_of_baseline():
    matrix = cl.AccuracyMatrix([[90, 40], [80, 90]], baseline={"chance": 10, "single-task": [90, 95]})
    chance, single = (cl.metric("fwt.gem", matrix, baseline=kind) for kind in ("chance", "single-task"))
    assert (chance.value, chance.baseline) == (30.0, "chance")
    assert (single.value, single.baseline) == (-55.0, "single-task")
    plain = cl.metric("fwt.gem", matrix)
    assert plain.reason == (
        "the matrix has no baseline of kind 'random-init': it has 'chance', 'single-task', which baseline= chooses"
    )
    assert plain.coverage == (0, 1)
    nothing = cl.metric("fwt.gem", cl.AccuracyMatrix([[90, 40], [80, 90]]))
    assert nothing.reason.endswith("give the scores of models that were not trained")
    assert cl.metric("bwt.gem", matrix, baseline="chance").baseline is None
    with pytest.raises(InputError, match="baseline is 'random': choose one of random-init"):
        cl.metric("fwt.gem", matrix, baseline="random")


def test_one_task_has_no_transfer():
    found = cl.table(cl.AccuracyMatrix([[70]], baseline=10, reference=80, n=[5], classes=[2]))
    defined = {id: value.value for id, value in found.items() if value.value is not None}
    assert defined == {
        "acc.final": 70.0,
        "intransigence.rwalk": 10.0,
        "learning_accuracy": 70.0,
        "aia.task_mean": 70.0,
        "aia.icarl": 70.0,
        "wavg.facil": 70.0,
        "clear.in_domain": 70.0,
        "clear.accuracy": 70.0,
        "acc.dr": 70.0,
        "trace.op": 70.0,
    }
    assert found["bwt.gem"].reason == "needs at least 2 tasks, the matrix has 1"
    assert found["bwt.gem"].coverage == (0, 0)


def test_what_a_matrix_cannot_yield_says_who_can():
    value = cl.metric("lca.agem", cl.AccuracyMatrix([[70]]))
    assert value.value is None
    assert value.reason == "a matrix does not hold learning curves within each task: cl.lca computes it from them"
    with pytest.raises(InputError, match=r"ids has 'lca.agem': a matrix does not hold"):
        cl.metrics_of(np.zeros((1, 2, 2)), ids=["lca.agem"])


def test_the_registry_is_complete():
    named = """acc.final bwt.gem fwt.gem forgetting.rwalk intransigence.rwalk forgetting.worst lca.agem lca.trapz
        bwt.clear fwt.clear clear.in_domain clear.next_domain clear.accuracy bwt.dr rem.dr bwtplus.dr acc.dr fwt.dr
        learning_accuracy aia.icarl wavg.facil opd mopd aopd path.min path.max path.random prequential ocp.online
        min_acc wc_acc wf_w wp_w aaa trace.dG trace.dI trace.dS trace.op trace.bwt bwt.gem_script fwt.gem_script
        forgetting.inclusive forgetting.avalanche aia.task_mean forgetting.continuum forgetting.raptormai
        prequential.window prequential.fading tta.delay tta.recovery""".split()
    assert set(cl.METRICS) == set(named)
    for id, entry in METRICS.items():
        assert entry.id == id
        assert entry.formula
        assert entry.source
        assert entry.needs
        assert entry.direction in ("higher", "lower", "matrix", "none")
    assert all(METRICS[id].from_matrix for id in MATRIX_IDS)
    for entry in METRICS.values():
        assert entry.from_matrix or callable(getattr(cl, entry.function)), entry.id


def test_unknown_ids_name_their_family():
    with pytest.raises(InputError, match=r"id is 'bwt': known are bwt.gem, bwt.gem_script, bwt.clear, bwt.dr"):
        cl.metric("bwt", cl.AccuracyMatrix([[70]]))
    with pytest.raises(InputError, match=r"id is 'accuracy': known are acc.final, bwt.gem"):
        cl.metric("accuracy", cl.AccuracyMatrix([[70]]))
    with pytest.raises(InputError, match="at is 0: give a whole number of at least 1"):
        cl.metric("acc.final", cl.AccuracyMatrix([[70]]), at=0)
    with pytest.raises(InputError, match="count is 2: the matrix has 1 tasks"):
        cl.metric("acc.final", cl.AccuracyMatrix([[70]]), at=2)
    with pytest.raises(InputError, match="matrix is of type list: give an AccuracyMatrix, which takes an array"):
        cl.table([[70]])
    run = cl.Run(cl.AccuracyMatrix([[70]]), "ER")
    with pytest.raises(InputError, match=r"matrix is of type Run: give its \.matrix"):
        cl.table(run)
    with pytest.raises(InputError, match=r"runs holds Run: give \[run\.matrix for run in runs\], or .* cl\.summary"):
        cl.metrics_of([run, run])
    with pytest.raises(InputError, match="matrix is of type NoneType"):
        cl.steps("acc.final", None)
    for ids in ("acc.final", 3):
        with pytest.raises(InputError, match=rf"ids is {ids!r}: give a list of ids"):
            cl.table(cl.AccuracyMatrix([[70]]), ids=ids)


def test_results_are_json_and_readable():
    matrix = cl.AccuracyMatrix([[90, 12], [70, 80]], baseline=10)
    found = cl.table(matrix)
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["bwt.gem"]["value"] == -20.0
    assert len(found) == len(MATRIX_IDS)
    assert repr(found["fwt.gem"]) == (
        "Value(fwt.gem 2 percentage points, baseline random-init, higher is better, 1 of 1 cells)"
    )
    assert repr(found["intransigence.rwalk"]).startswith("Value(intransigence.rwalk undefined: the matrix has no ref")
    assert "bwt.gem                 -20.0000 percentage points" in repr(found)
    partial = cl.AccuracyMatrix([[90, 12, None], [70, 80, 5], [7, 8, 9]], baseline=10)
    assert "observed cells only" in repr(cl.metric("fwt.clear", partial, observed_only=True))


# --- against plain loops -------------------------------------------------------------------------------------------


@st.composite
def runs(draw, least=1, missing=True):
    """A matrix of up to 6 tasks with everything that belongs to it, some of it missing."""
    count = draw(st.integers(least, 6))
    share = draw(st.sampled_from([0.0, 0.05, 0.4])) if missing else 0.0
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    whole = draw(st.booleans())  # small whole numbers bring ties

    def scores(*shape):
        raw = rng.integers(0, 6, shape) * 20.0 if whole else rng.uniform(0.0, 100.0, shape)
        return np.where(rng.random(shape) < share, np.nan, raw)

    return {
        "values": scores(count, count),
        "baseline": scores(count),
        "reference": scores(count),
        "n": rng.integers(1, 50, (count, count)),
        "classes": rng.integers(1, 9, count),
        "direction": draw(st.sampled_from(["higher", "lower"])),
    }


def loops(run):
    """The oracle's answer."""
    nulled = {
        name: np.where(np.isnan(run[name]), None, run[name]).tolist() for name in ("values", "baseline", "reference")
    }
    return oracle.evaluate(
        nulled["values"],
        baseline=nulled["baseline"],
        reference=nulled["reference"],
        n=run["n"].tolist(),
        classes=run["classes"].tolist(),
        higher=run["direction"] == "higher",
    )


def agree(found, expected, id):
    """Equal up to rounding, or both undefined."""
    if expected is None:
        assert found is None, (id, found)
    else:
        assert found is not None, id
        assert found == pytest.approx(expected, abs=1e-9), id


@settings(max_examples=150)
@given(runs())
def test_every_formula_against_plain_loops(run):
    expected = loops(run)
    found = cl.table(cl.AccuracyMatrix(**run))
    assert set(expected) == set(found)
    for id, value in found.items():
        agree(value.value, expected[id], id)
        used, needed = value.coverage
        assert (value.reason is None) == (value.value is not None)
        if value.value is not None:
            assert used == needed > 0, id


@settings(max_examples=25)
@given(runs(), st.integers(1, 3))
def test_many_at_once_are_one_by_one(run, count):
    """The stack, with arguments of its own for each run, says what each matrix says."""
    rng = np.random.default_rng(count)
    shape = run["values"].shape
    many = {
        "values": np.stack([run["values"], *rng.uniform(0, 100, (count, *shape))]),
        "baseline": np.stack([run["baseline"], *rng.uniform(0, 100, (count, shape[0]))]),
        "reference": np.stack([run["reference"], *rng.uniform(0, 100, (count, shape[0]))]),
        "n": np.stack([run["n"], *rng.integers(1, 9, (count, *shape))]),
        "classes": np.stack([run["classes"], *rng.integers(1, 9, (count, shape[0]))]),
    }
    singles = [
        cl.AccuracyMatrix(**{name: array[r] for name, array in many.items()}, direction=run["direction"])
        for r in range(count + 1)
    ]
    arrays = {name: array for name, array in many.items() if name != "values"}
    stacked = cl.metrics_of(many["values"], **arrays, direction=run["direction"])
    listed = cl.metrics_of(singles)
    for id in MATRIX_IDS:
        for r, single in enumerate(singles):
            expected = cl.metric(id, single).value
            for found in (stacked[id][r], listed[id][r]):
                agree(None if np.isnan(found) else found, expected, id)


@settings(max_examples=60)
@given(runs(missing=False), st.floats(0.1, 1.0), st.floats(0.0, 1.0))
def test_affine_maps(run, factor, offset):
    """Means of scores follow the scale; differences follow its unit and not its zero."""
    mapped = {name: run[name] * factor + offset * (100 - 100 * factor) for name in ("values", "baseline", "reference")}
    before, after = cl.table(cl.AccuracyMatrix(**run)), cl.table(cl.AccuracyMatrix(**{**run, **mapped}))
    for id, value in before.items():
        if value.value is None or METRICS[id].kind == "share":
            continue
        moved = offset * (100 - 100 * factor) if METRICS[id].kind == "level" else 0.0
        assert after[id].value == pytest.approx(factor * value.value + moved, abs=1e-9), id


@settings(max_examples=60)
@given(runs(least=2, missing=False))
def test_turned_scores_and_direction_are_the_same_differences(run):
    """100 - x with the other direction: an error rate says what the accuracy said."""
    other = "lower" if run["direction"] == "higher" else "higher"
    turned = {name: 100.0 - run[name] for name in ("values", "baseline", "reference")}
    before = cl.table(cl.AccuracyMatrix(**run))
    after = cl.table(cl.AccuracyMatrix(**{**run, **turned, "direction": other}))
    for id, value in before.items():
        expected = value.value if METRICS[id].kind != "level" else 100.0 - value.value
        assert after[id].value == pytest.approx(expected, abs=1e-9), id


@settings(max_examples=60)
@given(runs(least=3, missing=False), st.integers(0, 2**32))
def test_order_of_the_old_tasks(run, seed):
    """The diagonal, the last row and the plain peak do not show in which order the old tasks came."""
    order = np.random.default_rng(seed).permutation(len(run["values"]) - 1)
    order = np.append(order, len(order))
    shuffled = {**run, "values": run["values"][np.ix_(order, order)], "classes": run["classes"][order]}
    before, after = cl.table(cl.AccuracyMatrix(**run)), cl.table(cl.AccuracyMatrix(**shuffled))
    for id in (
        "acc.final",
        "bwt.gem",
        "bwt.gem_script",
        "forgetting.rwalk",
        "forgetting.worst",
        "forgetting.inclusive",
        "forgetting.raptormai",
        "forgetting.avalanche",
        "learning_accuracy",
        "wavg.facil",
        "trace.bwt",
    ):
        assert after[id].value == pytest.approx(before[id].value, abs=1e-9), id


@settings(max_examples=100)
@given(runs(least=2, missing=False), st.integers(0, 35))
def test_a_missing_cell_changes_only_what_needs_it(run, place):
    """One cell taken away: each metric is as it was or undefined, and undefined exactly where its coverage fell."""
    count = len(run["values"])
    k, j = divmod(place % count**2, count)
    holed = run["values"].copy()
    holed[k, j] = np.nan
    before, after = cl.table(cl.AccuracyMatrix(**run)), cl.table(cl.AccuracyMatrix(**{**run, "values": holed}))
    peaks = {"forgetting.rwalk", "forgetting.worst", "forgetting.inclusive", "forgetting.raptormai"}
    for id in MATRIX_IDS:
        if after[id].value is None:
            assert after[id].coverage[0] == after[id].coverage[1] - 1, id
            assert f"values[{k}, {j}]" in after[id].reason
        elif k < j and id in peaks:
            # the peak may have stood there: forgetting can only fall
            assert after[id].value <= before[id].value + 1e-9, id
        else:
            assert after[id].value == pytest.approx(before[id].value, abs=1e-9), id


@settings(max_examples=60)
@given(runs(least=2))
def test_inequalities(run):
    """What holds between the formulas, whatever the scores."""
    found = {id: value.value for id, value in cl.table(cl.AccuracyMatrix(**run)).items()}
    if found["forgetting.rwalk"] is not None:
        assert found["forgetting.rwalk"] >= found["forgetting.continuum"] - 1e-9
        assert found["forgetting.continuum"] >= found["forgetting.avalanche"] - 1e-9
        assert found["forgetting.worst"] >= found["forgetting.rwalk"] - 1e-9
        assert found["forgetting.inclusive"] >= max(0.0, found["forgetting.rwalk"] - 1e-9)
    if found["bwt.dr"] is not None:
        assert found["bwtplus.dr"] - 100.0 * (1.0 - found["rem.dr"]) == pytest.approx(found["bwt.dr"], abs=1e-9)


def test_sums_of_whole_scores_are_exact():
    """A transfer of 0 is 0, not 1e-15: 49 tasks are divided by numbers that binary fractions do not hold."""
    flat = cl.metrics_of(np.full((1, 49, 49), 37.0), baseline=np.full(49, 37.0))
    for id in ("bwt.gem", "bwt.dr", "bwtplus.dr", "fwt.gem", "forgetting.avalanche", "trace.bwt"):
        assert flat[id][0] == 0.0, id
    assert flat["acc.final"][0] == 37.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"runs": np.zeros((2, 3))}, r"runs has shape \(2, 3\)"),
        ({"runs": np.zeros((2, 3, 2))}, r"runs has shape \(2, 3, 2\)"),
        ({"runs": np.full((1, 2, 2), "a")}, "type <U1"),
        ({"runs": [cl.AccuracyMatrix([[1]]), [[1]]]}, "runs is no array|type object"),
        ({"runs": np.array([[[1.0, 2], [3, 4]], [[1, 2], [3, 101]]])}, r"runs\[1, 1, 1\] is 101, outside 0..100"),
        ({"runs": np.array([[[1.0, np.inf], [3, 4]]])}, r"runs\[0, 0, 1\] is inf"),
        ({"runs": np.zeros((2, 3, 3)), "baseline": [1, 2]}, r"baseline has shape \(2,\): give 3 values"),
        ({"runs": np.zeros((2, 3, 3)), "baseline": [[1, 2, 3], [1, 2, True]]}, r"baseline\[1, 2\] is True"),
        ({"runs": np.zeros((2, 3, 3)), "classes": [2, True, 2]}, r"classes\[1\] is True"),
        ({"runs": np.zeros((2, 3, 3)), "baseline": np.zeros((3, 3))}, r"baseline has shape \(3, 3\)"),
        ({"runs": np.zeros((2, 3, 3)), "reference": np.full((2, 3), 101.0)}, r"reference\[0, 0\] is 101"),
        ({"runs": np.zeros((2, 3, 3)), "n": [1, 2, 0]}, "n is 0 where runs has a value"),
        ({"runs": np.zeros((2, 3, 3)), "n": [1, 2, -1]}, r"n\[2\] is -1: give at least 0"),
        ({"runs": np.zeros((2, 3, 3)), "classes": [1, 2, 0]}, r"classes\[2\] is 0: give at least 1"),
        ({"runs": np.zeros((2, 3, 3)), "classes": [1.5, 2, 3]}, "classes has shape .* and type float64"),
        ({"runs": np.zeros((2, 3, 3)), "scale": "points"}, "scale is 'points'"),
        ({"runs": [cl.AccuracyMatrix([[1]])], "n": [1]}, "matrices hold their own"),
        ({"runs": [cl.AccuracyMatrix([[1]])], "baseline": [1]}, r"baseline is \[1\]: choose one of random-init"),
        ({"runs": [cl.AccuracyMatrix([[1]]), cl.AccuracyMatrix(np.eye(2))]}, r"runs\[1\] has T 2 and runs\[0\] 1"),
        (
            {"runs": [cl.AccuracyMatrix([[1]]), cl.AccuracyMatrix([[1]], direction="lower")]},
            r"runs\[1\] has direction 'lower'",
        ),
        (
            {"runs": [cl.AccuracyMatrix([[1]], n=[4]), cl.AccuracyMatrix([[1]])]},
            r"runs\[1\] has no n and others have",
        ),
    ],
)
def test_refused_stacks(arguments, message):
    with pytest.raises(InputError, match=message):
        cl.metrics_of(**arguments)


def test_a_run_without_a_baseline_among_others():
    cells = [[90, 40], [80, 90]]
    found = cl.metrics_of([cl.AccuracyMatrix(cells, baseline=10), cl.AccuracyMatrix(cells)], ids=["fwt.gem"])
    assert found["fwt.gem"][0] == 30.0
    assert np.isnan(found["fwt.gem"][1])


def test_values_go_by_the_ids_of_the_registry():
    """The same direction as the registry states, and every function that it names is there."""
    values = [
        cl.lca([[0.1] * 11]),
        cl.lca([[0.1] * 11], form="trapz"),
        cl.prequential([1, 0]),
        cl.prequential([1, 0], how="window", window=1),
        cl.prequential([1, 0], how="fading", alpha=0.5),
        cl.online_accuracy([0.5]),
        cl.min_acc([[0.5, 0.5]] * 2, [0, 1]),
        cl.wc_acc([[0.5, 0.5]] * 2, [0, 1]),
        cl.aaa([[0.5]], [0]),
        *(getattr(cl.adaptation([0.5], shifts=[0], target=0.5), name) for name in ("online", "delay", "recovery")),
        *(getattr(cl.order_sensitivity([[1, 2], [3, 4]]), name) for name in ("mopd", "aopd")),
        *cl.order_sensitivity([[1, 2], [3, 4]]).opd,
        *cl.paths([[0, 1], [1, 0]]).values,
    ]
    for value in values:
        assert value.direction == cl.METRICS[value.id].direction, value.id
        assert hasattr(cl, cl.METRICS[value.id].function)
    assert cl.windowed([[0.5]] * 2, [0, 0]).direction == cl.METRICS["wf_w"].direction
    assert cl.windowed([[0.5]] * 2, [0, 0], change="rise").direction == cl.METRICS["wp_w"].direction


def test_a_text_is_no_switch():
    matrix = cl.AccuracyMatrix([[90, 10], [60, 90]])
    calls = (
        lambda: cl.metric("fwt.gem", matrix, observed_only="no"),
        lambda: cl.table(matrix, observed_only="no"),
        lambda: cl.metrics_of([matrix], observed_only="no"),
    )
    for call in calls:
        with pytest.raises(InputError, match="observed_only is 'no': give True or False"):
            call()


@pytest.mark.parametrize("change", ["drop", "rise"])
@pytest.mark.parametrize("log", [[[0.5], [0.4]], [[0.5], [None]]])
def test_windowed_values_have_an_id_of_the_registry_whatever_their_window(change, log):
    found = cl.windowed(log, [0, 0], window=100, change=change)
    assert METRICS[found.id].function == "windowed"
    assert found.unit == "score, window of 100"
