"""Plain tables, long and wide: what is declared, what may be empty, and what is refused with its line."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.cl.readers import read
from helpers.errors import InputError


def long(tmp_path, text, **options):
    path = tmp_path / "long.csv"
    path.write_text(text)
    return read(path, "long-csv", **{"scale": "percent", **options})


def wide(tmp_path, text, **options):
    path = tmp_path / "wide.csv"
    path.write_text(text)
    [run] = read(path, "wide-csv", **{"scale": "percent", "rows": "time", **options})
    return run.matrix


# --- long


def test_a_long_table_with_everything(tmp_path):
    runs = long(
        tmp_path,
        "run,seed,order,metric,step,task,value,n\n"
        "ER,0,a,accuracy,0,1,10,50\n"
        "ER,0,a,accuracy,0,2,missing: no interface yet,50\n"
        "ER,0,a,accuracy,1,1,90,50\n"
        "ER,0,a,accuracy,2,1,80,50\n"
        "ER,0,a,accuracy,2,2,95,40\n"
        'ER,7,0,recall,1,1,"missing: crashed, out of memory",50\n'
        "ER,7,0,recall,2,1,60,50\n"
        "ER,7,0,recall,2,2,70,\n".replace("70,\n", "70,40\n"),
    )
    first, second = runs
    assert (first.name, first.seed, first.order, first.matrix.metric) == ("ER", 0, "a", "accuracy")
    assert (second.seed, second.order, second.matrix.metric) == (7, 0, "recall")
    assert first.matrix.values[1].tolist() == [80, 95]
    assert first.matrix.baselines["random-init"][0] == 10
    assert np.isnan(first.matrix.baselines["random-init"][1])
    assert first.matrix.n[1].tolist() == [50, 40]
    assert second.matrix.reason(0, 0) == "crashed, out of memory"
    assert "not evaluated before its training" in second.matrix.reason(0, 1)


def test_losses_have_another_scale_and_direction(tmp_path):
    [run] = long(tmp_path, "step,task,value\n1,1,-2.5\n", scale="free", direction="lower")
    assert (run.matrix.scale, run.matrix.direction, run.matrix.values[0, 0]) == ("free", "lower", -2.5)
    assert run.name == "long"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("step,task\n1,1\n", "line 1: 'value' is missing: the columns are step, task, value"),
        ("step,task,value,mood\n1,1,2,3\n", "line 1: 'mood' is unknown"),
        ("step,task,value,value\n1,1,2,3\n", "line 1: a name repeats"),
        ("step,task,value\n", "line 1: holds no line below the header"),
        ("step,task,value\n1,1\n", "line 2: 2 values, the header has 3"),
        ("step,task,value\n1,0,5\n", "line 2: task is 0: tasks count from 1"),
        ("step,task,value\n1,1.0,5\n", r"line 2: task is '1\.0': give a whole number"),
        ("step,task,value\n1,1,\n", "line 2: value is empty: write why"),
        ("step,task,value\n1,1,missing: \n", "line 2: missing: without a reason"),
        ("step,task,value\n1,1,9o\n", "line 2: '9o' is no number: for a missing cell write why"),
        ("step,task,value\n1,1,nan\n", "line 2: 'nan' is no number"),
        ("step,task,value\n1,1,101\n", r"line 2: the score of task 1 after task 1 is 101: 0 to 100 \(percent\)"),
        ("step,task,value\n1,1,5\n\n1,1,5\n", "line 4: the score of task 1 after task 1 stands on line 2 and again"),
        ("step,task,value\n1,1,5\n2,2,5\n", "line 3: task 1 has no score after task 2: write why"),
        ("step,task,value\n1,1,5\n2,1,5\n1,2,5\n", "line 4: task 2 has no score after task 2: write why"),
        ("step,task,value\n0,1,5\n", "has no score after training"),
        ("step,task,value\n1,5000,5\n", "line 2: .*at most 1000 tasks are read"),
        ("step,task,value,n\n1,1,5,10\n2,1,5,\n2,2,5,10\n", "line 3: give n for every cell of a run, or for none"),
        ("step,task,value,n\n1,1,5,\n2,1,5,10\n2,2,5,\n", "line 3: give n for every cell of a run, or for none"),
        ("step,task,value,n\n1,1,5,0\n", r"n\[0, 0\] is 0: the cell has a value"),
        ("step,task,value,n\n1,1,5,many\n", "line 2: n is 'many'"),
        ('step,task,value\n1,1,"5\n', "line 2: is no CSV"),
    ],
)
def test_long_tables_that_are_refused(tmp_path, text, said):
    with pytest.raises(InputError, match=f"long.csv.*{said}"):
        long(tmp_path, text)


# --- wide


@pytest.mark.parametrize(
    "text",
    [
        "90,20\n75,93\n",
        "after,digits,letters\n1,90,20\n2,75,93\n",
        ",digits,letters\ntask one,90,20\ntask two,75,93\n",
        "after,digits,letters\n0,10,12\n1,90,20\n2,75,93\n",
        "after,digits,letters\nbaseline,10,12\nfirst,90,20\nsecond,75,93\n",
    ],
)
def test_a_wide_table_with_and_without_names(tmp_path, text):
    matrix = wide(tmp_path, text)
    assert matrix.values.tolist() == [[90, 20], [75, 93]]
    assert matrix.tasks == (("digits", "letters") if "digits" in text else ("1", "2"))
    expected = {"random-init": [10, 12]} if "10" in text else {}
    assert {kind: vector.tolist() for kind, vector in matrix.baselines.items()} == expected


def test_rows_may_be_tasks(tmp_path):
    text = "task,0,1,2\ndigits,10,90,75\nletters,12,20,93\n"
    matrix = wide(tmp_path, text, rows="task")
    assert matrix.values.tolist() == [[90, 20], [75, 93]]
    assert matrix.tasks == ("digits", "letters")
    assert matrix.baselines["random-init"].tolist() == [10, 12]
    assert wide(tmp_path, "90,75\n20,93\n", rows="task").values.tolist() == [[90, 20], [75, 93]]


def test_a_table_that_looks_turned_round_is_warned_of(tmp_path):
    text = "90,80,75\n10,92,85\n12,11,93\n"
    assert any("transposed" in warning for warning in wide(tmp_path, text).warnings)
    assert not wide(tmp_path, text, rows="task").warnings


def test_cells_above_the_diagonal_may_be_empty(tmp_path):
    matrix = wide(tmp_path, "90,,missing: no interface yet\n80,85,\n70,75,95\n")
    assert matrix.missing.sum() == 3
    assert matrix.reason(0, 2) == "no interface yet"
    assert "before its training" in matrix.reason(0, 1)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("90,20\n,93\n", "line 2: task 1 has no score after task 2: write why, as in 'missing: no interface yet'"),
        ("90,20\n75,\n", "line 2: task 2 has no score after task 2: write why"),
        ("90,20\nn/a,93\n", "line 2: 'n/a' is no number"),
        ("90,20\n75\n", "line 2: 1 values, the first line has 2"),
        ("90,20\n", "line 1: 1 moments and 2 tasks"),
        (
            "after,a,b\n0,90,20\n1,75,93\n",
            "line 3: 1 moments and 2 tasks: .*one named 0 or baseline is before training",
        ),
        ("after,a,b\n2,90,20\n1,75,93\n", "line 2: moments are named '2, 1': count them from 1"),
        ("after,a,b\n1,90,20\nlast,75,93\n", "line 2: moments are named '1, last': count them from 1"),
        ("after,a,b\n", "line 1: holds names and no cells"),
        ("after,a,a\n1,90,20\n2,75,93\n", r"tasks\[1\] is 'a', as tasks\[0\] is"),
        ("90,20\n75,930\n", "line 2: the score of task 2 after task 2 is 930"),
    ],
)
def test_wide_tables_that_are_refused(tmp_path, text, said):
    with pytest.raises(InputError, match=f"wide.csv.*{said}"):
        wide(tmp_path, text)


@given(st.integers(1, 6), st.data())
def test_what_was_written_comes_back(tmp_path_factory, count, data):
    """Both tables of one matrix, whatever the cells, give it back exactly."""
    folder = tmp_path_factory.mktemp("table")
    cell = st.floats(0, 100)
    values = [[data.draw(cell if j <= k else st.none() | cell) for j in range(count)] for k in range(count)]
    square = "\n".join(",".join("" if score is None else repr(score) for score in row) for row in values) + "\n"
    lines = [f"{k + 1},{j + 1},{values[k][j]!r}" for k in range(count) for j in range(count)]
    lines = [line for line in lines if "None" not in line]
    expected = np.array(values, dtype=float)
    # a first line that begins with nothing would be a header; here it begins with a score
    np.testing.assert_array_equal(wide(folder, square).values, expected)
    [run] = long(folder, "\n".join(["step,task,value", *lines]) + "\n")
    np.testing.assert_array_equal(run.matrix.values, expected)


@pytest.mark.parametrize("read_as", [long, wide])
def test_a_line_of_more_values_than_tasks_can_be_is_refused_at_once(tmp_path, read_as):
    with pytest.raises(InputError, match=r"line 1: 1003 values: at most 1000 tasks are read"):
        read_as(tmp_path, "1" + ",1" * 1002)
