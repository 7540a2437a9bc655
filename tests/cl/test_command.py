"""``yardsticks score cl`` on files: the library's numbers, or one line that says what to do."""

import json
from pathlib import Path

import pytest

from helpers import cl
from helpers.cl import show
from helpers.cli import main
from helpers.errors import InputError

from ..selfcontained import addresses_outside

LOGS = Path(__file__).parent / "logs"
LONG = "run,step,task,value,n\n" + "\n".join(
    f"{run},{step},{task},{value},100"
    for run, rows in {"ER": [[90, 12], [75, 93]], "EWC": [[90, 5], [20, 90]]}.items()
    for step, row in enumerate(rows, start=1)
    for task, value in enumerate(row, start=1)
)
WIDE = "90,12,9\n92,88,14\n75,63,93\n"


@pytest.fixture
def folder(tmp_path):
    """A long table of two runs, a wide one, and a saved matrix with a baseline."""
    (tmp_path / "long.csv").write_text(LONG, encoding="utf-8")
    (tmp_path / "wide.csv").write_text(WIDE, encoding="utf-8")
    values = [[90, None, 9], [92, 88, 14], [75, 63, 93]]
    cl.AccuracyMatrix(values, baseline={"chance": 10}, reasons="no interface yet", name="mine").save(
        tmp_path / "saved.npz"
    )
    return tmp_path


def score(folder, name, *options):
    placed = [str(folder / option) if option.endswith((".json", ".html")) else option for option in options]
    return main(["score", "cl", str(folder / name), *placed])


def test_the_numbers_are_the_librarys(folder, capsys):
    options = ("--format", "wide-csv", "--scale", "percent", "--rows", "time", "--json", "out.json")
    assert score(folder, "wide.csv", *options, "--published", "-12.67") == 0
    content = json.loads((folder / "out.json").read_text(encoding="utf-8"))
    [run] = content["runs"]
    matrix = cl.AccuracyMatrix([[90, 12, 9], [92, 88, 14], [75, 63, 93]])
    found = {id: value["value"] for id, value in run["metrics"].items()}
    assert found == {id: value.value for id, value in cl.table(matrix).items()}
    assert run["matrix"]["values"] == matrix.values.tolist()
    assert run["reconciled"]["matches"] == ["bwt.dr"]
    assert content["provenance"]["format"] == "wide-csv"
    printed = capsys.readouterr().out
    assert "bwt.gem                 -20.0000 percentage points" in printed
    assert "Reconciliation(-12.67: bwt.dr)" in printed


def test_several_runs(folder, capsys):
    table = ("--format", "long-csv", "--scale", "percent")
    assert score(folder, "long.csv", *table, "--json", "out.json") == 0
    content = json.loads((folder / "out.json").read_text(encoding="utf-8"))
    assert [(run["name"], run["metrics"]["bwt.gem"]["value"]) for run in content["runs"]] == [("ER", -15), ("EWC", -70)]
    assert score(folder, "long.csv", *table, "--run", "2", "--json", "out.json") == 0
    assert json.loads((folder / "out.json").read_text(encoding="utf-8"))["runs"][0]["name"] == "EWC"
    capsys.readouterr()
    assert score(folder, "long.csv", *table, "--html", "out.html") == 2
    assert "holds 2 runs (1 'ER', 2 'EWC'): choose one for the report with --run" in capsys.readouterr().err
    assert score(folder, "long.csv", *table, "--run", "3") == 2
    assert "--run is 3" in capsys.readouterr().err


def test_a_saved_matrix(folder, capsys):
    assert score(folder, "saved.npz", "--baseline", "chance", "--observed-only", "--html", "out.html") == 0
    printed = capsys.readouterr().out
    assert printed.startswith("Run('mine', 3 tasks)")
    assert "fwt.gem                   4.0000 percentage points" in printed
    page = (folder / "out.html").read_text(encoding="utf-8")
    assert not addresses_outside(page)
    assert "4.0000 percentage points, against chance, 1 of 2 cells" in page
    assert "no interface yet" in page
    assert page.count("<figure") == 5  # no forward transfer to draw
    assert score(folder, "saved.npz", "--scale", "percent") == 2
    assert "--scale is 'percent', but a saved matrix knows its own" in capsys.readouterr().err
    assert score(folder, "saved.npz", "--format", "gem") == 2
    assert "--format is 'gem', but a saved matrix knows its own" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--json", "{folder}/wide.csv"), "wide.csv, which is read as file: give a file of its own"),
        (("--json", "out", "--html", "./out"), "--html is out, which --json writes"),
    ],
)
def test_nothing_is_written_over(folder, capsys, options, message):
    table = ("--format", "wide-csv", "--scale", "percent", "--rows", "time")
    assert score(folder, "wide.csv", *table, *(option.format(folder=folder) for option in options)) == 2
    assert message in capsys.readouterr().err
    assert (folder / "wide.csv").read_text(encoding="utf-8") == WIDE


def test_runs_of_one_name_are_told_apart(capsys):
    log = LOGS / "facil" / "mnist_finetuning" / "raw_log-2026-11-30-02-03.txt"
    assert main(["score", "cl", str(log)]) == 0
    printed = capsys.readouterr().out
    assert "AccuracyMatrix('finetuning', 5 tasks, percent, task-incremental" in printed
    assert "AccuracyMatrix('finetuning', 5 tasks, percent, class-incremental" in printed
    assert main(["score", "cl", str(log), "--html", "unwritten.html"]) == 2
    told = "(1 'finetuning' seed 0 scenario task, 2 'finetuning' seed 0 scenario class)"
    assert told in capsys.readouterr().err


def test_a_folder_of_results_gives_both_scenarios(tmp_path, capsys):
    assert main(["score", "cl", str(LOGS / "mammoth"), "--json", str(tmp_path / "out.json")]) == 0
    runs = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))["runs"]
    assert [(run["seed"], run["matrix"]["scenario"]) for run in runs] == [
        (seed, scenario) for scenario in ("class", "task") for seed in (0, 1)
    ]
    assert "task-incremental" in capsys.readouterr().out


def test_warnings_are_told(folder, capsys):
    (folder / "zeros.csv").write_text("90,0\n75,93\n", encoding="utf-8")
    assert score(folder, "zeros.csv", "--format", "wide-csv", "--scale", "percent", "--rows", "time") == 0
    assert "1 of 1 cells above the diagonal are 0" in capsys.readouterr().err


def test_a_refusal_is_one_line(folder, capsys):
    (folder / "bad.csv").write_text("90,101\n75,93\n", encoding="utf-8")
    assert score(folder, "bad.csv", "--format", "wide-csv", "--scale", "percent", "--rows", "time") == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "bad.csv" in error
    assert "101" in error
    assert score(folder, "absent.csv", "--format", "gem") == 2
    assert "absent.csv: No such file" in capsys.readouterr().err


def test_a_failing_report_leaves_nothing_written(folder, monkeypatch):
    def fails(*_, **__):
        raise InputError("nothing can be drawn")

    before = set(folder.iterdir())
    monkeypatch.setattr(show, "report", fails)
    assert score(folder, "saved.npz", "--json", "out.json", "--html", "out.html") == 2
    assert set(folder.iterdir()) == before


def test_a_scenario_is_declared_where_the_log_has_none(folder, capsys):
    table = ("--format", "wide-csv", "--scale", "percent", "--rows", "time", "--json", "out.json")
    assert score(folder, "wide.csv", *table, "--scenario", "class") == 0
    [run] = json.loads((folder / "out.json").read_text(encoding="utf-8"))["runs"]
    assert run["matrix"]["scenario"] == "class"
    assert run["metrics"]["fwt.clear"]["value"] is None  # columns of unseen classes say nothing of transfer
    cl.AccuracyMatrix([[90, 1], [80, 90]], scenario="task").save(folder / "task.npz")
    assert score(folder, "task.npz", "--scenario", "task") == 0
    assert score(folder, "task.npz", "--scenario", "class") == 2
    assert "--scenario is 'class', but task is of 'task': leave it out" in capsys.readouterr().err


def test_digits_without_a_published_number_are_refused(folder, capsys):
    assert score(folder, "saved.npz", "--digits", "3") == 2
    assert "--digits is 3, but there is no --published that has them: leave it out" in capsys.readouterr().err
