"""The table of results: means over runs with intervals, as text, Markdown and LaTeX."""

import json
import math

import numpy as np
import pytest
from scipy.stats import t as student

from helpers import cl
from helpers.errors import InputError

SCORES = {"ER": (80.0, 82.0, 81.0, 85.0), "EWC": (20.0, 26.0, 23.0)}


def runs_of(scores, **options):
    """Runs of two tasks, whose first task ends at these scores, one for each seed."""
    return [
        cl.Run(cl.AccuracyMatrix([[90, 5], [kept, 90]], **options), name, seed=seed)
        for name, each in scores.items()
        for seed, kept in enumerate(each)
    ]


RUNS = runs_of(SCORES)


def test_means_deviations_and_intervals_are_students():
    found = cl.summary(RUNS, ids=["bwt.gem", "acc.final"], confidence=0.9)
    assert list(found.rows) == ["ER", "EWC"]
    for name, kept in SCORES.items():
        changes = np.array(kept) - 90
        cell, level = found.rows[name]
        assert cell.n == len(kept)
        assert cell.value == pytest.approx(changes.mean())
        assert cell.std == pytest.approx(changes.std(ddof=1))
        reach = student.ppf(0.95, len(kept) - 1) * changes.std(ddof=1) / math.sqrt(len(kept))
        assert cell.interval == pytest.approx((changes.mean() - reach, changes.mean() + reach))
        assert level.value == pytest.approx(90 + changes.mean() / 2)


def test_the_order_of_runs_does_not_matter_but_the_order_of_methods_is_kept():
    mixed = [RUNS[i] for i in (4, 0, 6, 2, 1, 5, 3)]
    assert list(cl.summary(mixed).rows) == ["EWC", "ER"]
    assert {**cl.summary(mixed).rows} == {**cl.summary(RUNS).rows}


def test_printed():
    assert repr(cl.summary(RUNS, ids=["acc.final", "bwt.gem"])) == (
        "method  runs     acc.final        bwt.gem\n"
        "ER         4  86.00 ± 1.72   -8.00 ± 3.44\n"
        "EWC        3  56.50 ± 3.73  -67.00 ± 7.45"
    )


def test_fractions_have_four_digits_and_percents_two():
    fractions = [cl.Run(cl.AccuracyMatrix(run.matrix.values / 100, scale="fraction"), "ER") for run in RUNS[:1]]
    assert cl.summary(fractions, ids=["acc.final", "bwt.gem"]).latex().splitlines()[5] == (
        r"ER & 1 & 0.8500 & $-$0.1000 \\"
    )
    assert "| 85.00 | 0.9000 |" in cl.summary(RUNS[:1], ids=["acc.final", "rem.dr"]).markdown()


def test_markdown():
    names = {"a|b": (80.0, 82.0), "one": (70.0,), "equal": (60.0, 60.0)}
    text = cl.summary(runs_of(names), ids=["acc.final", "rem.dr"], confidence=0.5).markdown(digits=1)
    assert text.splitlines() == [
        "| method | runs | acc.final | rem.dr |",
        "| --- | ---: | ---: | ---: |",
        r"| a\|b | 2 | 85.5 ± 0.5 | 0.9 ± 0.0 |",
        "| one | 1 | 80.0 | 0.8 |",
        "| equal | 2 | 75.0 | 0.7 |",
        "",
        "Mean over runs and half the width of its 50 % interval (Student's t); acc.final in percent, "
        "rem.dr in fraction.",
    ]


def test_latex_prints_names_as_they_are():
    text = cl.summary(runs_of({"-e_{1} & 5%": (80.0, 82.0)}), ids=["bwt.gem_script"]).latex(digits=0)
    assert text.splitlines()[1:] == [
        r"\begin{tabular}{lrr}",
        r"\hline",
        r"method & runs & bwt.gem\_script \\",
        r"\hline",
        r"$-$e\_\{1\} \& 5\% & 2 & $-$4 $\pm$ 6 \\",
        r"\hline",
        r"\end{tabular}",
    ]
    assert text.startswith("% Mean over runs")
    strange = cl.summary(runs_of({r"a\b^2~": (80.0,)})).latex()
    assert r"a\textbackslash b\textasciicircum 2\textasciitilde  & 1" in strange


def test_one_undefined_run_leaves_the_mean_undefined_with_its_reason():
    holed = cl.AccuracyMatrix([[None, 5], [70, 90]], reasons="crashed")
    found = cl.summary([*RUNS, cl.Run(holed, "EWC", seed=7, order="b")], ids=["acc.final", "bwt.gem"])
    level, change = found.rows["EWC"]
    assert (level.n, level.reason) == (4, None)
    assert (change.value, change.std, change.interval, change.n) == (None, None, None, 4)
    assert change.reason == "seed 7, order 'b': 1 of 2 cells are missing, first values[0, 0]: crashed"
    assert "undefined" in repr(found)
    alone = cl.summary([cl.Run(holed, "EWC")], ids=["bwt.gem"]).rows["EWC"][0]
    assert alone.reason == "1 of 2 cells are missing, first values[0, 0]: crashed"


def test_runs_that_share_seeds_are_warned_of():
    shared = [cl.Run(run.matrix, run.name, seed=run.seed % 2, order=run.seed // 2) for run in RUNS]
    assert cl.summary(RUNS).warnings == ()
    assert cl.summary(shared).warnings == (
        "4 runs of 'ER' share 2 seeds and 2 orders and may depend on each other: the interval of their mean may be too "
        "narrow",
        "3 runs of 'EWC' share 2 seeds and 2 orders and may depend on each other: the interval of their mean may be "
        "too narrow",
    )


def test_as_json():
    content = json.loads(json.dumps(cl.summary(RUNS[:1], ids=["acc.final"]).to_dict(), allow_nan=False))
    assert content["rows"]["ER"]["acc.final"] == {
        **{"value": 85.0, "std": None, "interval": None, "n": 1, "reason": None},
    }
    assert (content["ids"], content["units"]) == (["acc.final"], ["percent"])


def test_the_baseline_is_chosen():
    baselines = {"chance": 1.0, "random-init": 4.0}
    runs = runs_of({"ER": (80.0,)}, baseline=baselines)
    assert cl.summary(runs, ids=["fwt.gem"]).rows["ER"][0].value == 1.0
    assert cl.summary(runs, ids=["fwt.gem"], baseline="chance").rows["ER"][0].value == 4.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"runs": []}, "runs is no list of Run, or an empty one"),
        ({"runs": [RUNS[0].matrix]}, r"give what cl.read returns, or cl.Run\(matrix, name, seed=...\)"),
        ({"runs": RUNS[0]}, "runs is no list of Run"),
        ({"runs": [RUNS[0], RUNS[0]]}, r"runs of 'ER' has \(0, None\) more than once"),
        ({"runs": [cl.Run(RUNS[0].matrix, "ER")] * 2}, r"runs of 'ER'\[0\] has neither seed nor order"),
        ({"runs": [*RUNS, *runs_of({"task": (1.0,)}, scenario="task")]}, "scenario is None and 'task'"),
        ({"runs": [RUNS[0], *runs_of({"task": (1.0,)}, scenario="task")]}, "scenario is None and 'task'"),
        ({"runs": [*RUNS, *runs_of({"mine": (1.0,)}, tasks=["a", "b"])]}, "tasks are 1, 2 and a, b"),
        ({"ids": "acc.final"}, "ids is 'acc.final': give a list of ids"),
        ({"ids": []}, "ids is .*: give a list of ids, at least one"),
        ({"ids": ["bwt"]}, "id is 'bwt': known are bwt.gem"),
        ({"confidence": 1.5}, "confidence is 1.5"),
        ({"baseline": "none"}, "baseline is 'none': choose one of"),
    ],
)
def test_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        cl.summary(**{"runs": RUNS, **arguments})


@pytest.mark.parametrize("digits", [-1, 1.5, True])
def test_digits_are_a_whole_number(digits):
    with pytest.raises(InputError, match="digits is"):
        cl.summary(RUNS).markdown(digits=digits)
