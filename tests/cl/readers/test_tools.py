"""Logs that the tools wrote: the tools' own sums come out of the matrices, and each trap of a grammar is handled."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from helpers import cl
from helpers.cl.readers import read
from helpers.errors import InputError

LOGS = Path(__file__).parents[1] / "logs"
AVALANCHE, FACIL = LOGS / "avalanche", LOGS / "facil" / "mnist_finetuning"
STAMP = "2026-11-30-02-03.txt"
TAG, RAW = FACIL / "results" / f"acc_tag-{STAMP}", FACIL / f"raw_log-{STAMP}"
EVALUATION = "Top1_Acc_Exp/eval_phase/test_stream/Task000/Exp{:03d}"
LOSS = "Loss_Exp/eval_phase/test_stream/Task000/Exp{:03d}"
TRAINING = "Top1_Acc_Epoch/train_phase/train_stream/Task000"


def value(metric, matrix):
    """A metric that must be defined."""
    found = cl.metric(metric, matrix)
    assert found.value is not None, found.reason
    return found.value


def only(path, format="auto", **options):
    """The matrix of a log with one run."""
    [run] = read(path, format, **options)
    return run.matrix


@pytest.fixture
def written(tmp_path):
    """Write a text, a list of lines or a JSON value to a file and give its path."""

    def write(content, name="log.txt"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, list) and all(isinstance(line, str) for line in content):
            content = "\n".join(content) + "\n"
        path.write_text(content if isinstance(content, str) else json.dumps(content, indent=1))
        return path

    return write


def edited(path, old, new, count=1):
    """The text of a log with one place changed."""
    text = path.read_text()
    assert old in text
    return text.replace(old, new, count)


# --- Avalanche


def test_the_four_forms_of_one_avalanche_run_agree():
    table = only(AVALANCHE / "eval_results.csv")
    for name in ("log.txt", "rounds.json", "all_metrics.json"):
        matrix = only(AVALANCHE / name)
        np.testing.assert_allclose(matrix.values, table.values, rtol=0, atol=5.1e-5, err_msg=name)  # four decimals
        np.testing.assert_allclose(matrix.baselines["random-init"], table.baselines["random-init"], rtol=0, atol=5.1e-5)
    assert table.scale == "fraction"
    assert table.values[:, 0].tolist() == [0.973, 0, 0, 0, 0]
    assert table.baselines["random-init"].tolist() == [0.045, 0.5278, 0, 0, 0]


def test_avalanches_own_stream_metrics_come_out():
    last = json.loads((AVALANCHE / "rounds.json").read_text())[-1]
    matrix = only(AVALANCHE / "rounds.json")
    bwt, forgetting = (last[f"{name}/eval_phase/test_stream"] for name in ("StreamBWT", "StreamForgetting"))
    assert value("bwt.gem", matrix) == pytest.approx(bwt)
    assert value("forgetting.avalanche", matrix) == pytest.approx(forgetting)


def test_a_score_that_the_end_of_the_file_cuts_is_refused(tmp_path):
    text = (AVALANCHE / "log.txt").read_text()
    score = re.search(r"Top1_Acc_Exp\S* = 0\.\d\d", text)
    path = tmp_path / "log.txt"
    path.write_text(text[: score.end()])
    line = text.count("\n", 0, score.end()) + 1
    with pytest.raises(InputError, match=rf"log\.txt, line {line}: the file ends within this line"):
        read(path, "avalanche-text")


def test_the_column_is_the_experience_whatever_the_task_label():
    keys = [line for line in (AVALANCHE / "log.txt").read_text().split("\n") if "Top1_Acc_Exp" in line]
    assert any("Task003/Exp003" in line for line in keys)
    assert "Task000/Exp003" in (AVALANCHE / "rounds.json").read_text()
    assert only(AVALANCHE / "log.txt").values[3].tolist() == [0, 0, 0, 1, 0]


CSV = ["eval_exp,training_exp,eval_accuracy,eval_loss,forgetting", "0,0,0.9000,0.1,0", "1,0,0.2000,0.1,0"]
CSV += ["0,1,0.8000,0.1,0.1000", "1,1,0.7000,0.1,0"]


def test_a_metric_that_was_not_monitored_is_missing_and_a_measured_zero_is_not(written):
    lines = [*CSV[:3], "0,1,0,0.1,0", "1,1,0.0000,0.1,0"]
    matrix = only(written(lines))
    assert np.isnan(matrix.values[1, 0])
    assert "not monitored" in matrix.reason(1, 0)
    assert matrix.values[1, 1] == 0.0
    with pytest.raises(InputError, match="holds no accuracy of a task after training"):
        read(written([CSV[0], "0,0,0,0.1,0"]))


def test_of_repeated_pairs_the_last_counts_and_is_noted(written):
    matrix = only(written([*CSV[:3], "0,0,0.9500,0.1,0", *CSV[3:]]))
    assert matrix.values[0, 0] == 0.95
    [note] = matrix.notes
    assert note == "the score of task 1 after task 1 stands on line 2 and again on line 4: the last one counts"
    assert note in matrix.warnings
    twice = only(written([*CSV[:3], *CSV[1:]]))
    assert "and 1 more such cells: the last one counts" in twice.notes[0]


def test_a_repeated_value_that_was_not_monitored_leaves_no_older_one(written):
    matrix = only(written([*CSV, "1,1,0,0.1,0"]))
    assert np.isnan(matrix.values[1, 1])
    matrix = only(written([*CSV, "1,1,0,0.1,0", "1,1,0.6000,0.1,0"]))
    assert matrix.values[1, 1] == 0.6


def test_what_was_not_evaluated_is_missing_with_its_reason(written):
    matrix = only(written([CSV[0], "4,None,0.1000,2.3,0", CSV[1], *CSV[3:]]))
    assert matrix.T == 5  # the baseline knows five experiences, of which two were trained
    assert matrix.reason(0, 1) == "no line with eval_exp 1 and training_exp 0"
    assert matrix.missing[2:].all()
    assert matrix.baselines["random-init"][4] == 0.1


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("0,0,0.9000,0.1,0", "line 6: training_exp is 0 after 1: a row is a moment"),
        ("0,None,0.9000,0.1,0", "line 6: training_exp is None after 1"),
        ("0,1,1.2000,0.1,0", r"line 6: the score of task 1 after task 2 is 1.2: 0 to 1 \(fraction\) is expected"),
        ("0,1,nan,0.1,0", "line 6: eval_accuracy is 'nan': give a number"),
        ("0,1,1_0,0.1,0", "line 6: eval_accuracy is '1_0': give a number"),
        ("-1,1,0.1,0.1,0", "line 6: eval_exp is '-1': give a whole number"),
        ("0,1,0.1", "line 6: 3 values, the header has 5"),
        ("1000,1,0.1,0.1,0", "line 6: the score of task 1001 after task 2: at most 1000 tasks"),
    ],
)
def test_lines_that_are_refused(written, line, said):
    with pytest.raises(InputError, match=f"log.txt, {said}"):
        read(written([*CSV, line]))


def test_the_log_of_training_is_refused_with_the_right_one(written):
    header = "training_exp,epoch,training_accuracy,val_accuracy,training_loss,val_loss"
    with pytest.raises(InputError, match=r"line 1: this is the log of training: read eval_results\.csv"):
        read(written([header, "0,0,0.5,0,1.2,0"]), "avalanche-csv")


TEXT = ["-- >> Start of training phase << --", "-- Starting training on experience 0 (Task 0) from train stream --"]
TEXT += [
    "> Eval on experience 1 (Task 0) from test stream ended.",
    "\tTop1_Acc_Exp/eval_phase/test_stream/Exp001 = 0.1",
]
TEXT += ["-- >> End of training phase << --", "-- >> Start of eval phase << --"]
TEXT += ["> Eval on experience 0 from test stream ended.", "\tTop1_Acc_Exp/eval_phase/test_stream/Exp000 = 0.9"]
TEXT += ["-- >> End of eval phase << --", "\tTop1_Acc_Stream/eval_phase/test_stream = 0.9"]


def test_evaluations_inside_training_are_passed_over(written):
    matrix = only(written(TEXT))
    assert matrix.values.tolist() == [[0.9]]


def test_text_of_two_runs_or_of_mixed_experiences_is_refused(written):
    later = [line.replace("experience 0", "experience 1").replace("Exp000", "Exp001") for line in TEXT]
    with pytest.raises(InputError, match="line 12: experience 0 is trained after 1"):
        read(written([*later, *TEXT]))
    with pytest.raises(InputError, match="line 8: Exp003 below the evaluation of experience 0"):
        read(written([line.replace("Exp000", "Exp003") for line in TEXT]))
    with pytest.raises(InputError, match="monitor accuracy_metrics"):
        read(written(TEXT[:2]))


def rounds(*scores, loss=True, trained=True):
    """What eval returns, round by round: accuracies, and losses that tell new from stale."""
    content = []
    for i, row in enumerate(scores):
        entry = {EVALUATION.format(j): score for j, score in enumerate(row) if score is not None}
        entry |= {LOSS.format(j): i + j / 10 for j, score in enumerate(row) if loss and score is not None}
        content.append(entry | ({TRAINING: 0.5} if trained and i else {}))
    return content


def test_stale_keys_are_missing_and_the_history_says_the_same():
    matrix = only(AVALANCHE / "stale_rounds.json")
    history = only(AVALANCHE / "stale_all_metrics.json")
    assert (matrix.missing == ~np.eye(5, dtype=bool)).all()
    np.testing.assert_array_equal(matrix.values, history.values)
    assert "stale key" in matrix.reason(1, 0)
    assert "20 cells are left out as stale" in matrix.warnings[0]
    assert not history.notes


def test_an_accuracy_that_stays_while_the_loss_moves_is_new(written):
    matrix = only(written(rounds([0.5, 0.5], [0.9, 0.5], [0.9, 0.8])))
    assert matrix.values.tolist() == [[0.9, 0.5], [0.9, 0.8]]
    assert not matrix.notes


def test_without_a_loss_nothing_can_be_told_stale_which_is_noted(written):
    matrix = only(written(rounds([0.5, 0.5], [0.9, 0.5], [0.9, 0.8], loss=False)))
    assert matrix.values.tolist() == [[0.9, 0.5], [0.9, 0.8]]
    assert "2 cells did not change" in matrix.notes[0]


def test_rounds_before_training_are_the_baseline_and_none_is_guessed(written):
    assert only(written(rounds([0.1, 0.2], [0.9, 0.5], [0.8, 0.8]))).baselines["random-init"].tolist() == [0.1, 0.2]
    without = rounds([0.1, 0.2], [0.9, 0.5], [0.8, 0.8], trained=False)
    with pytest.raises(InputError, match=r"3 rounds after training for 2 experiences \(no key of the training phase"):
        read(written(without))
    assert only(written(without[1:])).values.tolist() == [[0.9, 0.5], [0.8, 0.8]]


def test_several_streams_and_two_labels_of_one_experience(written):
    content = rounds([0.5], [0.9])
    content[1]["Top1_Acc_Exp/eval_phase/train_stream/Task000/Exp007"] = 0.99
    matrix = only(written(content))
    assert matrix.T == 1
    assert "only the stream 'test' is read, the file also holds 'train'" in matrix.notes[0]
    content[1][EVALUATION.format(0).replace("Task000", "Task001")] = 0.3
    with pytest.raises(InputError, match=r"line 7: round 1 has .*Task000/Exp000 and .*Task001/Exp000"):
        read(written(content))
    other = json.loads(json.dumps(rounds([0.5], [0.9])).replace("test_stream", "valid_stream"))
    assert only(written(other)).values.tolist() == [[0.9]]
    other[1]["Top1_Acc_Exp/eval_phase/train_stream/Task000/Exp000"] = 0.99
    with pytest.raises(InputError, match="holds 2 streams, 'train', 'valid', and no 'test'"):
        read(written(other))


def test_a_line_of_json_is_named(written):
    content = rounds([0.1, 0.2], [0.9, 0.5], [0.8, 0.8])
    content[2][EVALUATION.format(1)] = 1.5
    path = written(content)
    line = 1 + path.read_text().split("\n").index(f' "{EVALUATION.format(1)}": 1.5,'.replace(" ", "  ", 1))
    with pytest.raises(InputError, match=f"log.txt, line {line}: the score of task 2 after task 2 is 1.5"):
        read(path)
    content[2][EVALUATION.format(1)] = True
    with pytest.raises(InputError, match=f"line {line}: .* is 'True': give a finite number"):
        read(written(content))
    with pytest.raises(InputError, match="line 4: is no JSON"):
        read(written('[\n{"/eval_phase/": 1},\n{"a": 2},\n}]'))
    with pytest.raises(InputError, match="key 'a' occurs twice in one object"):
        read(written('{"/eval_phase/": 1, "a": 1, "a": 2}'))


def test_a_history_needs_one_moment_per_experience(written):
    history = {EVALUATION.format(0): [[0, 8, 16], [0.1, 0.9, 0.8]], EVALUATION.format(1): [[16], [0.7]]}
    matrix = only(written(history))
    assert matrix.values[1].tolist() == [0.8, 0.7]
    assert matrix.baselines["random-init"][0] == 0.1
    history[EVALUATION.format(0)] = [[0, 8, 12, 16], [0.1, 0.9, 0.85, 0.8]]
    with pytest.raises(InputError, match="3 moments of evaluation after training for 2 experiences"):
        read(written(history))
    history[EVALUATION.format(0)] = [[8, 16], [0.9]]
    with pytest.raises(InputError, match="iterations and values of equal length"):
        read(written(history))
    history[EVALUATION.format(0)] = [[8, 16.5], [0.9, 0.8]]
    with pytest.raises(InputError, match=r"iteration '16\.5'"):
        read(written(history))


def test_a_history_keeps_the_last_value_of_an_iteration(written):
    matrix = only(written({EVALUATION.format(0): [[8, 8], [0.5, 0.9]]}))
    assert matrix.values.tolist() == [[0.9]]
    assert "the last one counts" in matrix.notes[0]


# --- FACIL


def test_facils_own_means_come_out():
    matrix = only(TAG)
    means = np.loadtxt(FACIL / "results" / f"avg_accs_tag-{STAMP}")
    found = [value("acc.final", matrix.leading(k)) for k in range(1, 6)]
    np.testing.assert_allclose(found, means, rtol=0, atol=1.1e-6)  # six decimals


def test_the_raw_log_holds_both_matrices_in_percent():
    task, klass = read(RAW)
    assert (task.matrix.scenario, klass.matrix.scenario) == ("task", "class")
    np.testing.assert_allclose(klass.matrix.values / 100, only(TAG).values, rtol=0, atol=5.1e-7)
    assert klass.matrix.scale == "percent"
    assert task.matrix.beside(klass.matrix) is task.matrix  # nowhere easier without the task's identity


def test_seed_and_method_come_from_the_arguments_of_the_same_stamp(tmp_path, written):
    [run] = read(TAG)
    assert (run.name, run.seed, run.matrix.scenario) == ("finetuning", 0, "class")
    written(TAG.read_text(), f"results/{TAG.name}")
    [alone] = read(tmp_path / "results" / TAG.name)
    assert (alone.name, alone.seed) == (TAG.stem, None)
    arguments = f"args-{STAMP}"
    written('{"seed": 7, "approach": "ewc"}', arguments)
    [found] = read(tmp_path / "results" / TAG.name)
    assert (found.name, found.seed) == ("ewc", 7)
    for broken in ('{"seed": "7"', '{"seed": "7", "approach": "ewc"}', "[]", '{"seed": true, "approach": "ewc"}'):
        written(broken, arguments)
        with pytest.raises(InputError, match=arguments):
            read(tmp_path / "results" / TAG.name)


def test_zeros_above_the_diagonal_and_rows_of_zeros_are_missing(written):
    zero = "0.000000"
    path = written([f"0.900000\t{zero}\t{zero}", f"{zero}\t0.800000\t{zero}", f"{zero}\t{zero}\t{zero}"], "acc_tag.txt")
    matrix = only(path)
    assert matrix.values[:2, :2].tolist() == [[0.9, pytest.approx(np.nan, nan_ok=True)], [0.0, 0.8]]
    assert matrix.missing[2].all()
    assert "not run" in matrix.reason(2, 0)
    assert "stores 0" in matrix.reason(0, 2)
    assert "stores 0" in matrix.reason(1, 2)
    with pytest.raises(InputError, match="holds no accuracy of a task after training"):
        read(written([f"{zero}\t{zero}", f"{zero}\t{zero}"]))


def test_a_matrix_that_was_turned_round_is_refused(written):
    rows = np.loadtxt(TAG).T
    text = "\n".join("\t".join(f"{cell:.6f}" for cell in row) for row in rows)
    with pytest.raises(InputError, match=r"line 1: value 2 is 0\.398148, above the diagonal, where FACIL writes 0"):
        read(written(text))


def test_the_name_of_the_file_tells_task_aware_from_agnostic(written):
    matrix = only(written(TAG.read_text(), "copy.txt"))
    assert matrix.scenario is None
    assert "the scenario is not known" in matrix.notes[0]


@pytest.mark.parametrize("name", [f"avg_accs_tag-{STAMP}", f"wavg_accs_tag-{STAMP}"])
def test_means_and_forgetting_are_refused(name, written):
    with pytest.raises(InputError, match="forgetting or means, no accuracies"):
        read(FACIL / "results" / name, "facil")
    with pytest.raises(InputError, match="forgetting or means"):
        read(written(TAG.read_text(), "forg_tag-x.txt"))
    copy = written((FACIL / "results" / name).read_text(), "means.txt")
    with pytest.raises(InputError, match="1 lines and 5 values in the first"):
        read(copy)


def test_two_runs_in_one_minute_are_not_mixed(written):
    with pytest.raises(InputError, match="task 0, iter 0 stands on line 5 too: two runs that began in one minute"):
        read(written(RAW.read_text() * 2, RAW.name))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"iter": 0', '"iter": -1', r"line 5: task and iter are '\(0, -1\)'"),
        ('"iter": 0', '"iter": 0.5', r"line 5: task and iter are"),
        ('"time": ', '"clock": ', "line 5: is no entry of a raw log"),
        ('"value": ', '"value": "", "old": ', "line 5: value is \"''\": give a finite number"),
        ('"value": ', '"value": 1e999, "old": ', r"line 5: value is 'inf': give a finite number"),
        ('"value": ', '"value": 1' + "0" * 400 + ', "old": ', r"line 5: value is '10*\.\.\.': give a finite number"),
        ('"value": ', '"value": 1, "value": ', "line 5: key 'value' occurs twice"),
    ],
)
def test_entries_of_a_raw_log_that_are_refused(written, old, new, said):
    lines = RAW.read_text().split("\n")
    lines[4] = lines[4].replace(old, new)
    with pytest.raises(InputError, match=said):
        read(written(lines, RAW.name), "facil")


# --- Mammoth


MAMMOTH = {kind: LOGS / "mammoth" / kind / "seq-mnist" / "sgd" / "logs.pyd" for kind in ("class-il", "task-il")}


@pytest.mark.parametrize("kind", MAMMOTH)
def test_mammoths_own_sums_come_out(kind):
    """Its forgetting takes the current row into the maximum; its forward transfer cannot be had from the file."""
    for run, line in zip(read(MAMMOTH[kind]), MAMMOTH[kind].read_text().splitlines(), strict=True):
        for name, metric in (("backward_transfer", "bwt.gem"), ("forgetting", "forgetting.inclusive")):
            stored = re.search(rf"'{name}': np\.float64\(([-\d.]+)\)", line)
            assert value(metric, run.matrix) == pytest.approx(float(stored[1]))
        means = [float(text) for text in re.findall(r"'accmean_task\d': np\.float64\(([-\d.]+)\)", line)]
        assert [value("acc.final", run.matrix.leading(k)) for k in range(1, 6)] == pytest.approx(means)
        assert cl.metric("fwt.gem", run.matrix, baseline=None).value is None


def test_the_folder_tells_the_twins_apart(written):
    class_il, task_il = (read(MAMMOTH[kind]) for kind in ("class-il", "task-il"))
    assert {run.matrix.scenario for run in class_il} == {"class"}
    assert {run.matrix.scenario for run in task_il} == {"task"}
    assert [(run.name, run.seed) for run in class_il] == [("sgd", 0), ("sgd", 1)]
    assert all(t.matrix.beside(c.matrix) is t.matrix for t, c in zip(task_il, class_il, strict=True))
    moved = read(written(MAMMOTH["task-il"].read_text(), "logs.pyd"))
    assert {run.matrix.scenario for run in moved} == {None}
    assert "the scenario is not known" in moved[0].matrix.notes[0]


def results(folder, **changes):
    """A copy of Mammoth's results; of each setting and dataset named, the text is replaced."""
    for kind, path in MAMMOTH.items():
        copy = folder / "results" / kind / "seq-mnist" / "sgd" / "logs.pyd"
        copy.parent.mkdir(parents=True)
        copy.write_text(changes.get(kind.replace("-", "_"), path.read_text()))
    return folder / "results"


def test_a_folder_of_results_gives_both_matrices_of_a_run(tmp_path):
    folder = results(tmp_path)
    copy = folder / "kept" / "seq-mnist" / "sgd" / "logs.pyd"  # no setting of Mammoth's
    copy.parent.mkdir(parents=True)
    copy.write_text(MAMMOTH["class-il"].read_text())
    runs = read(folder)
    assert [(run.name, run.seed, run.matrix.scenario) for run in runs] == [
        ("sgd", seed, scenario) for scenario in ("class", "task") for seed in (0, 1)
    ]
    alone = [run for kind in MAMMOTH for run in read(MAMMOTH[kind])]
    assert [run.matrix.to_dict()["values"] for run in runs] == [run.matrix.to_dict()["values"] for run in alone]
    assert not any("worse under Task-IL" in text for run in runs for text in run.matrix.warnings)


def test_twins_are_held_against_each_other_by_their_arguments_not_their_place(tmp_path):
    """A Task-IL score below the Class-IL one of the same seed is named, though the lines stand in another order."""
    first, second = MAMMOTH["task-il"].read_text().splitlines()
    low = re.sub(r"'accuracy_1_task1': [^,]*,", "'accuracy_1_task1': 1.5,", second)
    runs = read(results(tmp_path, task_il=f"{low}\n{first}\n"))
    warned = [(run.seed, run.matrix.warnings) for run in runs if run.matrix.scenario == "task"]
    assert [seed for seed, _ in warned] == [1, 0]
    assert "1 cells are worse under Task-IL than under Class-IL, first values[0, 0]: 1.5 and " in warned[0][1][0]
    assert not any("Task-IL" in text for text in warned[1][1])


def test_runs_that_nothing_tells_apart_are_no_twins(tmp_path):
    low = re.sub(r"'accuracy_1_task1': [^,]*,", "'accuracy_1_task1': 1.5,", MAMMOTH["task-il"].read_text())
    line = low.splitlines()[0]
    runs = read(results(tmp_path, task_il=f"{line}\n{line}\n"))
    assert not any("worse under Task-IL" in text for run in runs for text in run.matrix.warnings)


def test_several_datasets_are_in_the_names(tmp_path):
    folder = results(tmp_path)
    other = folder / "domain-il" / "perm-mnist" / "sgd" / "logs.pyd"
    other.parent.mkdir(parents=True)
    other.write_text(MAMMOTH["task-il"].read_text().splitlines()[0])
    assert {(run.name, run.matrix.name, run.matrix.scenario) for run in read(folder, "mammoth")} == {
        ("sgd on seq-mnist", "sgd on seq-mnist", "class"),
        ("sgd on seq-mnist", "sgd on seq-mnist", "task"),
        ("sgd on perm-mnist", "sgd on perm-mnist", "domain"),
    }


def test_a_folder_without_results_and_a_bad_file_in_one_are_named(tmp_path):
    with pytest.raises(
        InputError, match=r"is a folder without SETTING/DATASET/MODEL/logs.pyd: name Mammoth's folder of results"
    ):
        read(tmp_path, "mammoth")
    folder = results(tmp_path, task_il="{'model': 'er'}\n")
    with pytest.raises(InputError, match=r"task-il/seq-mnist/sgd/logs.pyd, line 1: holds no accuracy_J_taskK"):
        read(folder)


def test_padding_above_the_diagonal_is_missing_and_a_value_there_is_refused(written):
    padded = "{'model': 'er', 'accuracy_1_task1': 90, 'accuracy_2_task1': 0.0, 'accuracy_1_task2': 0.0, "
    padded += "'accuracy_2_task2': nan}"
    with pytest.raises(InputError, match="line 1: accuracy_2_task2 is 'nan': give a finite number"):
        read(written(padded))
    matrix = only(written(padded.replace("nan", "np.float64(80)")))
    assert matrix.missing.tolist() == [[False, True], [False, False]]
    with pytest.raises(InputError, match="line 1: accuracy_J_task1 has 2 cells, task 1 has 1: with eval_epochs"):
        read(written(padded.replace("'accuracy_2_task1': 0.0", "'accuracy_2_task1': 3.0").replace("nan", "80")))


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ("'accmean_task1': 5.0", "line 2: holds no accuracy_J_taskK"),
        ("'accuracy_1_task1': 'worst/task_0'", "line 2: accuracy_1_task1 is .*: give a finite number"),
        ("'accuracy_1_task1': True", "line 2: accuracy_1_task1 is 'True': give a finite number"),
        ("'accuracy_1_task1': 9, 'accuracy_1_task2': 8", "line 2: accuracy_J_task2 has 1 cells, task 2 has 2"),
        ("'accuracy_1_task2': 8, 'accuracy_2_task2': 8", "line 2: accuracy_J_task1 is missing, and task2 is there"),
        ("'accuracy_1_task1': 900", "line 2: the score of task 1 after task 1 is 900"),
        ("'accuracy_1_task1': 9, 'accuracy_1_task1': 9", "line 2: names the key 'accuracy_1_task1' twice"),
        ("'accuracy_1_task1': 9, 'seed': 'a'", "line 2: 'seed' is \"'a'\": a whole number"),
        ("'accuracy_1_task1': open('x')", "line 2: holds a call of 'open', which is no plain value"),
        ("'accuracy_1_task1': 9", None),
    ],
)
def test_runs_of_mammoth_that_are_refused(written, keys, said):
    path = written(["", "{'model': 'er', " + keys + "}"])
    if said is None:
        assert only(path, "mammoth").values.tolist() == [[9]]
        return
    with pytest.raises(InputError, match=said):
        read(path, "mammoth")


def test_an_evaluation_that_mammoth_counts_as_a_task_is_refused(written):
    """With --validation the test set is evaluated once more at the end, and logged as task 6 with five cells."""
    line = MAMMOTH["class-il"].read_text().split("\n")[0]
    more = "".join(f"'accuracy_{j}_task6': 50.0, " for j in range(1, 6))
    with pytest.raises(InputError, match=r"accuracy_J_task6 has 5 cells, task 6 has 6: .*validation"):
        read(written(line.replace("'accmean_task1'", more + "'accmean_task1'")))


def test_a_declared_order_of_tasks_identifies_the_run(written):
    text = edited(MAMMOTH["class-il"], "'custom_task_order': None", "'custom_task_order': '4,3,2,1,0'")
    assert [run.order for run in read(written(text))] == ["4,3,2,1,0", None]


# --- GEM


def test_gems_own_sums_come_out():
    """The footer is by the script's own formulas, which divide by T."""
    for name in ("gem", "single"):
        path = LOGS / "gem" / f"{name}.txt"
        matrix = only(path)
        final, bwt, fwt = (float(line.split(":")[1]) for line in path.read_text().strip().split("\n")[-3:])
        assert value("acc.final", matrix) == pytest.approx(final, abs=1.1e-4)  # four decimals
        assert value("bwt.gem_script", matrix) == pytest.approx(bwt, abs=1.6e-4)
        assert value("fwt.gem_script", matrix) == pytest.approx(fwt, abs=1.6e-4)
    assert matrix.baselines["random-init"].tolist() == [0.2162, 0, 0, 0.1078, 0]


def test_a_file_of_gem_that_was_turned_round_edited_or_cut_is_refused(written):
    path = LOGS / "gem" / "gem.txt"
    lines = path.read_text().split("\n")
    turned = [" ".join(column) for column in zip(*(line.split() for line in lines[2:7]), strict=True)]
    with pytest.raises(InputError, match=r"line 9: Final Accuracy: 0.9353, but the rows give 0.1843"):
        read(written([*lines[:2], *turned, *lines[7:]]))
    with pytest.raises(InputError, match=r"line 10: Backward: 0\.0362, but the rows give -0\.0362"):
        read(written(edited(path, "-0.0362", "0.0362")))
    with pytest.raises(InputError, match=r"line 11: Forward: -0.0266, but the rows give -0.0216"):
        read(written(edited(path, "-0.0216", "-0.0266")))
    for end, said in ((11, "2 lines below"), (8, "0 lines below"), (6, "3 rows for 5 tasks"), (1, "no bar")):
        with pytest.raises(InputError, match=said):
            read(written(lines[: end - 1]), "gem")
    with pytest.raises(InputError, match="line 5: 4 values, the baseline has 5"):
        read(written(edited(path, "0.9640 0.9630 0.9829", "0.9640 0.9630")))
    with pytest.raises(InputError, match="line 10: begins with 'Forward:"):
        read(written([*lines[:9], lines[10], lines[9]]))


# --- continuum


CONTINUUM = LOGS / "continuum" / "log.json"


def test_continuums_own_sums_come_out():
    """As its Logger printed them, see the README beside the log."""
    matrix = only(CONTINUUM)
    assert value("bwt.dr", matrix) == pytest.approx(-0.87)
    assert value("forgetting.rwalk", matrix) == pytest.approx(0.9)
    assert value("acc.dr", matrix) == pytest.approx(0.30666666666666664)
    assert (matrix.n == 10).all()


def epoch(predictions, targets, tasks):
    """One epoch of a logger's dictionary."""
    return {"predictions": predictions, "targets": targets, "task_ids": tasks}


def logged(*tasks, **others):
    """A logger's dictionary."""
    return {**others, "test": {"performance": list(tasks)}}


EMPTY = epoch([], [], [])


def test_the_last_epoch_with_predictions_counts(written):
    first = epoch([0, 1, 1], [0, 1, 0], [0, 0, 1])
    second = epoch([0, 0, 0], [0, 1, 0], [0, 0, 1])
    matrix = only(written(logged([first, second, EMPTY], [first], [EMPTY])))
    assert matrix.values.tolist() == [[0.5, 1.0], [1.0, 0.0]]
    assert matrix.n.tolist() == [[2, 1], [2, 1]]


def test_tasks_of_another_file_and_tasks_not_evaluated_are_missing(written):
    matrix = only(written(logged(None, [epoch([0.0], [0.0], [1])])))
    assert "file of its own" in matrix.reason(0, 0)
    assert matrix.reason(1, 0) == "task 0 was not evaluated after training task 1"


@pytest.mark.parametrize(
    ("tasks", "said"),
    [
        ([[epoch([0, 1], [0], [0, 0])]], "task 0: 2 predictions and 1 targets"),
        ([[epoch([0, 1], [0, 1], [])]], r"task 0: 2 predictions and 0 task_ids: log them"),
        ([[epoch([0], [0], [0.5])]], "task_ids are no whole numbers"),
        ([[epoch([0], [0], [-1])]], "task_ids are no whole numbers"),
        ([[epoch([0], [0], [1000])]], "task_ids are no whole numbers from 0 to 999"),
        ([[epoch([[0]], [[0]], [0])]], "predictions is no list of finite numbers"),
        ([[epoch([[0], []], [0, 0], [0, 0])]], "predictions is no list of numbers"),
        ([[epoch(["a"], [0], [0])]], "predictions is no list of finite numbers"),
        ([[epoch([True], [0], [0])]], "predictions is no list of finite numbers"),
        ([[epoch([None], [0], [0])]], "predictions is no list of finite numbers"),
        ([[epoch([float("nan")], [0], [0])]], "predictions is no list of finite numbers"),
        ([[{"predictions": [0]}]], "an epoch is an object of the lists"),
        ([[3]], "an epoch is an object of the lists"),
        ([3], "task 0 is '3': a list of epochs is expected"),
        ([[EMPTY]], "holds no accuracy of a task after training"),
    ],
)
def test_logs_of_continuum_that_are_refused(written, tasks, said):
    with pytest.raises(InputError, match=said):
        read(written(logged(*tasks)), "continuum")


def test_the_line_of_an_epoch_is_found_behind_other_subsets(written):
    train = {"performance": [[epoch([0], [0], [0])], [epoch([0], [0], [0])]]}
    path = written(logged([epoch([0], [0], [0])], [epoch([0], [0, 1], [0])], train=train))
    lines = [number for number, line in enumerate(path.read_text().split("\n"), 1) if '"predictions"' in line]
    with pytest.raises(InputError, match=f"line {lines[3]}: task 1: 1 predictions and 2 targets"):
        read(path)
    with pytest.raises(InputError, match="no entry 'test', 'performance'"):
        read(written({"train": train}))


# --- PyCIL


def test_the_matrix_of_pycil_is_turned_round_and_its_own_forgetting_comes_out():
    path = LOGS / "pycil" / "stdout.txt"
    runs = read(path)
    assert [(run.name, run.seed) for run in runs] == [
        (f"icarl, {kind}", seed) for seed in (1993, 1994) for kind in ("CNN", "NME")
    ]
    assert runs[0].matrix.values[2].tolist() == [79.0, 84.0, 88.5]
    stored = [float(text) for text in re.findall(r"^Forgetting \(\w+\): ([\d.]+)$", path.read_text(), re.MULTILINE)]
    assert [value("forgetting.inclusive", run.matrix) for run in runs] == pytest.approx(stored)
    assert {run.matrix.scenario for run in runs} == {"class"}


@pytest.mark.parametrize("name", ["stdout.txt", "stdout_12_tasks.txt"])
def test_the_log_without_a_matrix_gives_the_same_cells(name, written):
    path = LOGS / "pycil" / name
    lines = path.read_text().split("\n")
    kept = [line for line in lines if not line.startswith(("[[", " [", "Accuracy Matrix"))]
    assert len(kept) < len(lines)
    expected, found = read(path), read(written(kept))
    assert sorted((run.name, run.seed) for run in found) == sorted((run.name, run.seed) for run in expected)
    for run in found:
        [other] = [other for other in expected if (other.name, other.seed) == (run.name, run.seed)]
        np.testing.assert_array_equal(run.matrix.values, other.matrix.values)


def test_tasks_that_pycil_sorts_as_texts_are_put_in_order():
    """Its own forgetting mixes the tasks up from eleven on; the one of the matrix is another."""
    path = LOGS / "pycil" / "stdout_12_tasks.txt"
    matrix = only(path)
    assert matrix.values[10, 10] == 92.0  # in the print, 92.0 stands in the row of the third task
    assert matrix.values[11, 10:].tolist() == [84.0, 93.0]
    stored = float(re.search(r"^Forgetting \(CNN\): ([\d.]+)$", path.read_text(), re.MULTILINE)[1])
    assert abs(value("forgetting.inclusive", matrix) - stored) > 1
    assert matrix.notes == ("the order of the 12 tasks as texts was undone",)


def block(*rows):
    """A captured matrix."""
    return ["Accuracy Matrix (CNN):", *rows]


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (block("[[90. 80.]", " [10. 70.]]"), "line 1: row 2 of the matrix has a value before task 2 was trained"),
        (block("[[90. 80.]", " [ 0.  0.]]"), "line 1: row 2 of the matrix is all 0: PyCIL groups classes by tens"),
        (block("[[90. 80. ... 5.]", " [ 0.  7.]]"), r"line 1: the matrix is abbreviated \('...'\)"),
        (block("[[90. 80.]", " [ 0.]]"), "line 1: the matrix has 2 rows, one of them of another length"),
        (block("[[90. nan]", " [ 0. 1.]]"), "line 1: a cell is 'nan'"),
        (block("(90. 80.)"), "line 1: no matrix of numbers in double brackets follows"),
        (block("[[190.]]"), "line 1: the score of task 1 after task 1 is 190"),
        (["=> increment: 5", *block("[[90.]]")], "line 1: increment is '5': PyCIL groups classes by tens"),
        (["=> seed: [1993]", *block("[[90.]]")], r"line 2: seed is '\[1993\]'"),
        (["x => CNN top1 curve: [90.0, 80.0]"], "curves are means over all classes"),
        (["x => CNN: {'total': 9, '00-04': 9}"], "line 1: group 00-04"),
        (["x => CNN: {'total': 9, '00-09': 'a'}"], "line 1: group 00-09"),
        (["x => CNN: {'total': 9, '10-19': 9}"], r"line 1: groups of classes begin at '\[10\]'"),
        (["x => CNN: {'00-09': 9, '10-19': 9}"], "line 1: 2 groups of classes after task 1: PyCIL groups"),
        (["x => CNN: {'00-09': open('x')}"], "line 1: holds a call of 'open'"),
    ],
)
def test_logs_of_pycil_that_are_refused(written, lines, said):
    with pytest.raises(InputError, match=said):
        read(written(lines), "pycil")


def test_a_wide_print_is_joined_again(written):
    rows = ["[[90. 80.", "  70.]", " [ 0. 85.", "  75.]", " [ 0. 0.", "  95.]]"]
    assert only(written(block(*rows))).values[2].tolist() == [70, 75, 95]


# --- TRACE


def test_trace_gives_a_matrix_for_each_metric():
    runs = {run.matrix.metric: run.matrix for run in read(LOGS / "trace" / "finetuning")}
    assert set(runs) == {"accuracy", "bleu-1", "bleu-4", "rouge-L", "sari"}
    assert runs["accuracy"].values[:, 0].tolist() == [0.5, 0.42, 0.375]
    assert runs["rouge-L"].values[2, 1:].tolist() == [0.22, 0.28]
    assert (runs["sari"].scale, runs["sari"].values[2, 2]) == ("percent", 38.4)
    assert runs["accuracy"].tasks == ("C-STANCE", "MeetingBank", "20Minuten")
    assert runs["accuracy"].n[0, 0] == 8
    assert runs["accuracy"].reason(1, 1) == "this metric does not score the task"
    assert runs["accuracy"].reason(0, 1) == "TRACE evaluates trained tasks only"


def result(metrics, labels=("a",)):
    """What TRACE writes for one evaluation."""
    return {"eval": metrics, "prompts": ["p"], "results": ["a"], "labels": list(labels)}


def test_a_missing_file_is_a_missing_cell(written, tmp_path):
    for k, j in ((0, 0), (1, 1)):
        written(result({"accuracy": 0.5}), f"results-{k}-{j}-FOMC.json")
    written("not of TRACE", "notes.txt")
    [run] = read(tmp_path)
    assert run.matrix.reason(1, 0) == "no file for this round and task"
    assert run.matrix.tasks == ("1 FOMC", "2 FOMC")


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("results-0-1-Py150.json", result({}), "task 1 comes after round 0"),
        ("results-1-0-Py150.json", result({}), "task 0 is 'Py150' here and 'FOMC' in an earlier file"),
        ("results-2-2-Py150.json", result({}), r"3 rounds, and tasks \[0, 2\]"),
        ("results-1-1-Py150.json", result({"exactness": 1}), "metric 'exactness' is not among TRACE's"),
        ("results-1-1-Py150.json", result({"similarity": 101}), r"the score of task 2 .* is 101: 0 to 100 \(percent\)"),
        ("results-1-1-Py150.json", result({"F1": 1.1}), r"the score of task 2 .* is 1\.1: 0 to 1 \(fraction\)"),
        ("results-1-1-Py150.json", result({"accuracy": "1"}), "line 3: accuracy is \"'1'\": give a finite number"),
        ("results-1-1-Py150.json", result({"sari": [{"bleu": 1}]}), "sari is 'None': give a finite number"),
        ("results-1-1-Py150.json", result({"accuracy": 1}, ()), "is no result of TRACE"),
        ("results-1-1-Py150.json", [1], "is no result of TRACE"),
        ("results-1-1-Py150.json", "{", "is no JSON"),
    ],
)
def test_results_of_trace_that_are_refused(written, tmp_path, name, content, said):
    written(result({"accuracy": 0.5}), "results-0-0-FOMC.json")
    written(content, name)
    with pytest.raises(InputError, match=said) as refusal:
        read(tmp_path, "trace")
    assert name in str(refusal.value) or "3 rounds" in said


def test_a_file_of_trace_and_empty_evaluations_are_refused(written, tmp_path):
    path = written(result({}), "results-0-0-FOMC.json")
    with pytest.raises(InputError, match="every 'eval' is empty"):
        read(tmp_path)
    with pytest.raises(InputError, match="is a folder of results"):
        read(path, "trace")
