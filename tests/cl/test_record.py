"""The accuracy matrix: what it holds, what it warns of, what it refuses, and the file."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import cl, records
from helpers.cl.record import SCHEMA, AccuracyMatrix, Run
from helpers.errors import InputError

N = None
SEED = [[90, 12, 9], [92, 88, 14], [75, 63, 93]]
FULL = {
    "values": [[0.8, N, 0.1], [0.7, 0.9, 0.3], [N, 0.6, 0.95]],
    "baseline": {"random-init": [0.1, N, 0.1], "chance": 0.25},
    "reference": [0.9, 0.95, N],
    "n": [[100, N, 30], [100, 50, 30], [0, 50, 30]],
    "classes": [2, 2, 5],
    "reasons": {(0, 1): "no interface yet", (2, 0): "evaluation crashed"},
    "scale": "fraction",
    "direction": "higher",
    "scenario": "task",
    "metric": "top-1 accuracy",
    "tasks": ["cars", "birds", "planes"],
    "name": "ER, seed 1",
    "notes": ["the last of two evaluations was taken"],
    "provenance": {"seed": 1},
}


def test_what_it_holds():
    matrix = AccuracyMatrix(**FULL)
    assert (matrix.T, matrix.values.dtype, matrix.values.shape) == (3, np.float64, (3, 3))
    assert matrix.missing.tolist() == [[False, True, False], [False] * 3, [True, False, False]]
    assert matrix.reason(0, 1) == "no interface yet"
    assert matrix.reason(1, 1) is None
    assert np.isnan(matrix.baselines["random-init"][1])
    assert matrix.baselines["chance"].tolist() == [0.25] * 3
    assert matrix.n.tolist() == [[100, 0, 30], [100, 50, 30], [0, 50, 30]]
    assert matrix.warnings == ("the last of two evaluations was taken",)
    assert repr(matrix) == (
        "AccuracyMatrix('ER, seed 1', 3 tasks, fraction, top-1 accuracy, task-incremental, 2 cells missing, 1 warnings)"
    )


def test_defaults():
    matrix = AccuracyMatrix([[90, N], [50, 80]], baseline=[10, 20], n=[100, 200])
    assert (matrix.scale, matrix.direction, matrix.scenario, matrix.metric) == ("percent", "higher", None, "accuracy")
    assert matrix.tasks == ("1", "2")
    assert matrix.reason(0, 1) == "not given"
    assert list(matrix.baselines) == ["random-init"]
    assert matrix.n.tolist() == [[100, 200], [100, 200]]
    assert matrix.reference is None
    assert matrix.warnings == ()
    assert "lower is better" in repr(AccuracyMatrix([[1.5]], scale="free", direction="lower"))


def test_a_copy_is_kept():
    """What happens to the caller's array afterwards does not reach the record."""
    values = np.array([[90.0, 10.0], [50.0, 80.0]])
    matrix = AccuracyMatrix(values)
    values[:] = 0.0
    assert matrix.values[0, 0] == 90.0


@pytest.mark.parametrize("kind", [list, np.array, "torch"])
def test_kinds_of_arrays(kind):
    values = [[90, 12], [75, 80]]
    if kind == "torch":
        kind = pytest.importorskip("torch").tensor
    assert AccuracyMatrix(kind(values)).values.tolist() == values


def test_rows_that_are_tasks_are_turned_round():
    matrix = AccuracyMatrix(np.transpose(SEED), rows="task", n=np.arange(1, 10).reshape(3, 3))
    assert matrix.values.tolist() == SEED
    assert matrix.n.tolist() == [[1, 4, 7], [2, 5, 8], [3, 6, 9]]
    assert AccuracyMatrix(np.transpose(SEED), rows="task", n=[1, 2, 3]).n[0].tolist() == [1, 2, 3]


def test_one_reason_for_all():
    matrix = AccuracyMatrix([[90, N], [50, 80]], reasons="the tool does not evaluate future tasks")
    assert matrix.reasons == {(0, 1): "the tool does not evaluate future tasks"}


def test_leading():
    matrix = AccuracyMatrix(**FULL).leading(2)
    assert matrix.T == 2
    assert matrix.tasks == ("cars", "birds")
    assert matrix.reasons == {(0, 1): "no interface yet"}
    assert matrix.reference.tolist() == [0.9, 0.95]
    assert matrix.n.tolist() == [[100, 0], [100, 50]]
    assert matrix.classes.tolist() == [2, 2]
    assert matrix.baselines["chance"].tolist() == [0.25, 0.25]
    with pytest.raises(InputError, match="count is 4: the matrix has 3 tasks"):
        AccuracyMatrix(**FULL).leading(4)


# --- refused -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"values": [[1, 2], [3]]}, r"values\[1\] has 1 cells and values\[0\] has 2"),
        ({"values": [[1, 2, 3], [3, 4, 5]]}, r"values has shape \(2, 3\): give a square matrix"),
        ({"values": []}, r"values has shape \(0,\)"),
        ({"values": np.zeros((0, 0))}, r"values has shape \(0, 0\)"),
        ({"values": np.zeros((2, 2, 2))}, r"values has shape \(2, 2, 2\)"),
        ({"values": [["a", "b"], ["c", "d"]]}, "values has type <U1"),
        ({"values": [[1, N], ["x", 2]]}, r"values\[1, 0\] is 'x': give numbers, and None"),
        ({"values": [[1, N], [True, 2]]}, r"values\[1, 0\] is True"),
        ({"values": [[True, False], [True, True]]}, "values has type bool"),
        ({"values": [[1, 101], [2, 3]]}, r"values\[0, 1\] is 101, outside 0..100 of scale 'percent'"),
        ({"values": [[100, 0], [101, 3]]}, r"values\[1, 0\] is 101, outside"),
        ({"values": [[1, -0.5], [2, 3]]}, r"values\[0, 1\] is -0.5, outside 0..100"),
        ({"values": [[1, 2], [2, np.inf]]}, r"values\[1, 1\] is inf: a score is finite"),
        ({"values": [[1, -np.inf], [2, 2]], "scale": "free"}, r"values\[0, 1\] is -inf"),
        ({"values": [[1, 2e100], [N, 2]], "scale": "free"}, r"values\[0, 1\] is 2e\+100: a score is finite"),
        ({"values": [[1, -2e100], [2, N]], "scale": "free"}, r"values\[0, 1\] is -2e\+100"),
        ({"values": [[0.5, 0.4], [90, 0.8]], "scale": "fraction"}, r"values\[1, 0\] is 90.*percents\? give scale"),
        ({"values": [[0.5, 0.4], [900, 0.8]], "scale": "fraction"}, r'values\[1, 0\] is 900.*scale="free" takes'),
        ({"scale": "percentage"}, "scale is 'percentage': choose one of percent, fraction, free"),
        ({"direction": "up"}, "direction is 'up': choose one of higher, lower"),
        ({"scenario": "class-il"}, "scenario is 'class-il': choose one of task, domain, class"),
        ({"rows": "tasks"}, "rows is 'tasks': choose one of time, task"),
        ({"baseline": [1, 2]}, r"baseline has shape \(2,\): give 3 values"),
        ({"baseline": {"chance": [1, 2]}}, r"baseline\['chance'\] has shape \(2,\)"),
        ({"baseline": {"random": 10}}, "baseline is 'random': choose one of random-init"),
        ({"baseline": 101}, r"baseline\[0\] is 101, outside"),
        ({"baseline": "chance"}, "baseline has type <U6"),
        ({"reference": [1, 2, 3, 4]}, r"reference has shape \(4,\): give 3 values"),
        ({"n": [1, 2]}, r"n has shape \(2,\): give shape \(3,\)"),
        ({"n": [1, 2, 0]}, r"n\[0, 2\] is 0: the cell has a value"),
        ({"n": [1, 2, -1]}, r"n\[2\] is -1: give whole numbers"),
        ({"n": [1, 2, 2.5]}, r"n\[2\] is 2.5: give whole numbers"),
        ({"n": [1, 2, np.inf]}, r"n\[2\] is inf: give whole numbers"),
        ({"n": [[1, 2, 3], [1, 2, N], [1, 2, 3]]}, r"n\[1, 2\] is nan: give whole numbers"),
        ({"classes": [1, 2, 0]}, r"classes\[2\] is 0: give whole numbers of at least 1"),
        ({"classes": [1, 2]}, r"classes has shape \(2,\)"),
        ({"reasons": {(0, 1): "why"}}, r"reasons\[\(0, 1\)\] is given, but values\[0, 1\] is there"),
        ({"reasons": {(0, 3): "why"}}, r"reasons has place \(0, 3\): give \(time, task\), both from 0 to 2"),
        ({"reasons": {(-1, 0): "why"}}, r"reasons has place \(-1, 0\)"),
        ({"reasons": {(True, 0): "why"}}, r"reasons has place \(True, 0\)"),
        ({"reasons": {"0,1": "why"}}, r"reasons has place '0,1'"),
        ({"reasons": ["why"]}, "reasons is of type list"),
        ({"reasons": " "}, "reasons is ' ': give a text"),
        ({"values": [[N, 1, 1]] * 3, "reasons": {(0, 0): ""}}, r"reasons\[\(0, 0\)\] is '': give a text"),
        ({"tasks": ["a", "b"]}, "give 3 names, one for each task"),
        ({"tasks": "abc"}, "tasks is 'abc': give 3 names"),
        ({"tasks": ["a", "b", "a"]}, r"tasks\[2\] is 'a', as tasks\[0\] is"),
        ({"tasks": ["a", "b", 3]}, "tasks is 3: give a text"),
        ({"metric": ""}, "metric is '': give a text"),
        ({"name": 3}, "name is 3: give a text"),
        ({"notes": [3]}, "notes is 3: give a text"),
    ],
)
def test_refused(changes, message):
    with pytest.raises(InputError, match=message):
        AccuracyMatrix(**{"values": SEED, **changes})


ARGUMENTS = (
    "values",
    "baseline",
    "reference",
    "n",
    "classes",
    "reasons",
    "scale",
    "tasks",
    "name",
    "notes",
    "provenance",
)
LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(-5, 150), st.floats(), st.text(max_size=3), st.complex_numbers()
)
JUNK = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.one_of(st.text(max_size=3), st.tuples(st.integers(-1, 2), st.integers(-1, 2))), inner),
    ),
    max_leaves=6,
)


@settings(max_examples=100)
@given(st.sampled_from(ARGUMENTS), JUNK)
def test_junk_is_refused_or_scored(argument, value):
    """Whatever is given for an argument: one InputError, or a matrix all of whose metrics are numbers or None."""
    try:
        matrix = AccuracyMatrix(**{"values": [[90, N], [50, 80]], argument: value})
    except InputError:
        return
    json.dumps([matrix.to_dict(), cl.table(matrix).to_dict()], allow_nan=False)


def test_the_ends_of_a_scale_are_in():
    AccuracyMatrix([[0, 100], [100, 0]])
    AccuracyMatrix([[0, 1.0], [1, 0]], scale="fraction")
    with pytest.raises(InputError):
        AccuracyMatrix([[0, np.nextafter(1.0, 2.0)], [1, 0]], scale="fraction")


def test_large_free_scores_stay_finite():
    found = cl.table(AccuracyMatrix([[1e100, -1e100], [-1e100, 1e100]], scale="free", baseline=1e100))
    assert all(value.value is None or np.isfinite(value.value) for value in found.values())


def test_refused_places():
    with pytest.raises(InputError, match=r"the cell has place \(0, 3\)"):
        AccuracyMatrix(SEED).reason(0, 3)


# --- named in warnings ---------------------------------------------------------------------------------------------


def warned(*args, **kwargs):
    return " | ".join(AccuracyMatrix(*args, **kwargs).warnings)


def test_small_cells_among_percents():
    assert "1 of 4 cells lie above 0 and at most at 1 percent, first values[1, 0] = 0.9" in warned(
        [[90, 12], [0.9, 80]]
    )
    assert "4 of 4 cells" in warned([[0.9, 0.1], [0.6, 1.0]])
    assert "fractions" not in warned([[90, 12], [1.01, 80]])
    assert "fractions" not in warned([[90, 12], [0, 80]])
    assert warned([[0.9, 0.1], [0.6, 0.8]], scale="fraction") == ""
    assert warned([[0.9, 0.1], [0.6, 0.8]], scale="free") == ""


def test_zeros_above_the_diagonal():
    text = warned([[90, 0, 0], [80, 80, 5], [70, 70, 70]])
    assert "2 of 3 cells above the diagonal are 0, first values[0, 1]" in text
    assert "0 invents a transfer" in text
    assert warned([[90, N, N], [0, 80, N], [0, 0, 70]]) == ""


def test_transposed_layouts():
    """E1 to E9 are laid out as declared, but for E2, whose old task collapsed below the untrained one."""
    assert warned(SEED) == ""
    assert "is it transposed?" in warned(np.transpose(SEED))
    assert "is it transposed?" in warned([[100, 50], [0, 100]])
    assert warned([[70, 85, 40], [72, 80, 45], [71, 78, 82]]) == ""
    assert "none below it: is it transposed?" in warned([[90, 80], [N, 90]])
    assert warned([[90, N], [80, 90]]) == ""
    losses = [[1.0, 3.0, 3.1], [1.5, 1.0, 3.2], [1.9, 1.5, 1.0]]
    assert warned(losses, scale="free", direction="lower") == ""
    assert "is it transposed?" in warned(np.transpose(losses), scale="free", direction="lower")
    assert warned([[50.0, 50.4], [50.0, 60.0]]) == ""  # within the margin


def test_task_il_below_class_il():
    task = AccuracyMatrix([[90, N], [80, 70]], name="til", baseline=10)
    equal = AccuracyMatrix([[90, N], [80, 70]])
    assert task.beside(equal) is task
    found = task.beside(AccuracyMatrix([[90, N], [81, 75]]))
    assert found.warnings == (
        "2 cells are worse under Task-IL than under Class-IL, first values[1, 0]: 80 and 81; were files mixed up?",
    )
    assert found.name == "til"
    assert found.baselines["random-init"].tolist() == [10, 10]
    lower = {"scale": "free", "direction": "lower"}
    assert AccuracyMatrix([[2.0]], **lower).beside(AccuracyMatrix([[1.0]], **lower)).warnings
    assert not AccuracyMatrix([[1.0]], **lower).beside(AccuracyMatrix([[2.0]], **lower)).warnings
    with pytest.raises(InputError, match="class_il has T 1 and the Task-IL matrix 2"):
        task.beside(AccuracyMatrix([[90]]))
    with pytest.raises(InputError, match="class_il has scale 'fraction' and the Task-IL matrix 'percent'"):
        task.beside(AccuracyMatrix([[0.9, N], [0.8, 0.7]], scale="fraction"))


# --- the file ------------------------------------------------------------------------------------------------------


def same(first, second):
    """Whether two matrices hold the same, to the last bit."""
    return json.dumps(first.to_dict()) == json.dumps(second.to_dict()) and first.provenance == second.provenance


def test_round_trip(tmp_path):
    matrix = AccuracyMatrix(**FULL)
    assert same(AccuracyMatrix.load(matrix.save(tmp_path / "full.npz")), matrix)
    plain = AccuracyMatrix(SEED)
    loaded = AccuracyMatrix.load(plain.save(tmp_path / "plain.npz"))
    assert same(loaded, plain)
    assert (loaded.n, loaded.reference, loaded.baselines) == (None, None, {})


@settings(max_examples=25)
@given(st.integers(0, 2**32), st.integers(1, 5))
def test_a_loaded_matrix_scores_the_same(tmp_path_factory, seed, count):
    rng = np.random.default_rng(seed)
    values = np.where(rng.random((count, count)) < 0.2, np.nan, rng.uniform(0, 100, (count, count)))
    matrix = AccuracyMatrix(values, baseline=rng.uniform(0, 100, count), n=rng.integers(1, 9, count), reasons="lost")
    loaded = AccuracyMatrix.load(matrix.save(tmp_path_factory.mktemp("cl") / "m.npz"))
    assert cl.table(loaded).to_dict() == cl.table(matrix).to_dict()


def test_a_file_needs_reasons(tmp_path):
    with pytest.raises(InputError, match=r"values\[0, 1\] is missing without a reason: give reasons="):
        AccuracyMatrix([[90, N], [50, 80]]).save(tmp_path / "m.npz")
    with pytest.raises(InputError, match=r"values\[2, 0\] is missing without a reason"):
        AccuracyMatrix(**{**FULL, "reasons": {(0, 1): "no interface"}}).save(tmp_path / "m.npz")
    assert not list(tmp_path.iterdir())


def write(tmp_path, manifest, **arrays):
    content = {"values": np.array([[90.0, np.nan], [50.0, 80.0]]), **arrays}
    return records.save(tmp_path / "m.npz", SCHEMA, content, manifest)


@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        ({}, r"m.npz: values\[0, 1\] is missing and the file does not say why"),
        ({"reasons": [[0, 0, "x"]]}, r"m.npz: reasons\[\(0, 0\)\] is given"),
        ({"reasons": [[0, 1, "x"], [0, 1, "y"]]}, "m.npz: reasons of the manifest name a cell twice"),
        ({"reasons": [[0, 1]]}, "m.npz: reasons of the manifest are no list"),
        ({"reasons": "x"}, "m.npz: reasons of the manifest are no list"),
        ({"reasons": [[0, [1], "x"]]}, r"m.npz: reasons has place '\[0, \[1\]\]'"),
        ({"reasons": [[0, 1, "x"]], "notes": 3}, "m.npz: notes is 3: give a list of texts"),
        ({"reasons": [[0, 1, "x"]], "provenance": 3}, "m.npz: provenance is 3: give a mapping"),
        ({"reasons": [[0, 1, "x"]], "name": None}, "m.npz: name is None: give a text"),
        ({"reasons": [[0, 1, "x"]], "scale": "per mille"}, "m.npz: scale is 'per mille'"),
        ({"reasons": [[0, 1, "x"]], "tasks": ["a"]}, "m.npz: tasks is .*give 2 names"),
    ],
)
def test_refused_files(tmp_path, manifest, message):
    path = write(tmp_path, manifest)
    with pytest.raises(InputError, match=message):
        AccuracyMatrix.load(path)


def test_units_are_in_the_file(tmp_path):
    _, manifest = records.load(AccuracyMatrix(**FULL).save(tmp_path / "x.npz"), SCHEMA)
    assert manifest["units"]["n"] == "samples"
    assert manifest["reasons"] == [[0, 1, "no interface yet"], [2, 0, "evaluation crashed"]]


def test_as_json():
    content = json.loads(json.dumps(AccuracyMatrix(**FULL).to_dict(), allow_nan=False))
    assert content["values"][0] == [0.8, None, 0.1]
    assert content["missing"][0] == {"time": 0, "task": 1, "reason": "no interface yet"}
    assert content["baselines"]["random-init"] == [0.1, None, 0.1]
    assert content["reference"][2] is None
    assert content["rows"] == "time"


# --- runs ----------------------------------------------------------------------------------------------------------


def test_run():
    run = Run(AccuracyMatrix(SEED), "ER", seed=3, information={"stored_data": "500 raw samples"}, budget={"bytes": 4.0})
    assert repr(run) == "Run('ER', seed 3, 3 tasks)"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"matrix": SEED}, "matrix is of type list: give an AccuracyMatrix"),
        ({"name": ""}, "name is ''"),
        ({"seed": 1.5}, "seed is 1.5: give a whole number or a text"),
        ({"seed": True}, "seed is True"),
        ({"order": [0, 1]}, r"order is \[0, 1\]"),
        ({"information": {"task_id": True}}, "information is 'task_id': choose one of task_id_at_train"),
        ({"information": {"stored_data": None}}, r"information\['stored_data'\] is None"),
        ({"budget": {"flops": float("inf")}}, r"budget\['flops'\] is inf"),
        ({"budget": [1000]}, r"budget is \[1000\]: give a mapping"),
        ({"information": "human"}, "information is 'human': give a mapping"),
        ({"budget": {3: 1}}, r"budget\[3\] is 1"),
    ],
)
def test_refused_runs(changes, message):
    with pytest.raises(InputError, match=message):
        Run(**{"matrix": AccuracyMatrix(SEED), "name": "ER", **changes})


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: AccuracyMatrix([[10**400, 1], [1, 1]]), r"values\[0, 0\] is 10+\.\.\.: give numbers"),
        (lambda: AccuracyMatrix([[True, 2], [3, 4]]), r"values\[0, 0\] is True: give numbers"),
        (lambda: AccuracyMatrix([[1, 2], [3, 4]], n=[10**30, 2]), r"n\[0\] is 1e\+30: give whole numbers .* at most"),
        (lambda: AccuracyMatrix([[1, 2], [3, 4]], classes=[2, 10**30]), r"classes\[1\] is 1e\+30: give whole numbers"),
        (lambda: AccuracyMatrix([[1, 2], [3, 4]]).beside(None), "class_il is of type NoneType: give an AccuracyMatrix"),
        (lambda: AccuracyMatrix.load(None), "path is None: give the name of a file"),
    ],
)
def test_what_overflows_or_is_of_another_type_is_refused(make, message):
    with pytest.raises(InputError, match=f"^{message}"):
        make()


def test_the_largest_counts_are_kept():
    assert AccuracyMatrix([[1, 2], [3, 4]], n=[10**15, 1]).n.tolist() == [[10**15, 1]] * 2
