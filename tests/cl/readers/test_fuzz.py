"""Damaged and hostile logs: one InputError that names the file, or a matrix; never a crash, a hang, or an execution."""

import builtins
import contextlib
import re
import shutil
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helpers.cl.readers import READERS, read
from helpers.errors import InputError

LOGS = Path(__file__).parents[1] / "logs"
FOLDER = LOGS / "facil" / "mnist_finetuning"
VALID = {
    "avalanche-csv": [LOGS / "avalanche" / "eval_results.csv"],
    "avalanche-dict": [LOGS / "avalanche" / "stale_rounds.json", LOGS / "avalanche" / "all_metrics.json"],
    "avalanche-text": [LOGS / "avalanche" / "log.txt"],
    "facil": [*sorted((FOLDER / "results").glob("acc_*")), *FOLDER.glob("raw_log*")],
    "mammoth": [LOGS / "mammoth" / "class-il" / "seq-mnist" / "sgd" / "logs.pyd"],
    "gem": [LOGS / "gem" / "gem.txt"],
    "continuum": [LOGS / "continuum" / "log.json"],
    "pycil": [LOGS / "pycil" / "stdout.txt"],
    "trace": [LOGS / "trace" / "finetuning" / "results-2-1-MeetingBank.json"],
    "long-csv": ["run,step,task,value,n\nER,0,1,10,50\nER,1,1,90,50\nER,2,1,missing: crashed,50\nER,2,2,95,40\n"],
    "wide-csv": ["after,a,b\nbaseline,10,12\n1,90,\n2,75,93\n"],
}
DECLARED = {"long-csv": {"scale": "percent"}, "wide-csv": {"scale": "percent", "rows": "time"}}
CODE = "__import__('pathlib').Path('pwned').touch()"
TOKENS = [
    "nan",
    "inf",
    "-inf",
    "1e999",
    "-1",
    "0",
    "1e-400",
    "9" * 5000,
    "None",
    "null",
    "true",
    "True",
    "\0",
    "\u2028",
]
TOKENS += ["\n", "\r", "\t", ",", "'", '"', "[", "]", "{", "}", "(", ")", ":", "|", "...", "missing:", "Exp999", CODE]
TOKENS += [
    "_task999999",
    "> Eval on experience 999999 from test stream ended.\n",
    "-",
    "\ud7ff",
    "\U0001f600",
    "%s",
    "\\",
]
#: Far above what a small file takes, far below what a reader that is quadratic in it would.
SECONDS = 10.0
QUIET = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@contextlib.contextmanager
def nothing_evaluated():
    """Evaluation of text is an error in here."""

    def forbidden(*_, **__):
        raise AssertionError("a log was evaluated")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(builtins, "eval", forbidden)
        yield


def survives(path, format, *, folder=False):
    """Read a file: it gives runs, or one refusal that names it."""
    start = time.perf_counter()
    try:
        with nothing_evaluated():
            runs = read(path.parent if folder else path, format, **DECLARED.get(format, {}))
    except InputError as refusal:
        message = str(refusal)
        # no line of a refusal is longer than a reader of it would stand, whatever the file holds
        assert str(path.parent if folder else path) in message
        assert len(message) < len(str(path)) + 600
    else:
        for run in runs:
            assert np.isfinite(run.matrix.values[~run.matrix.missing]).all()
            assert all(run.matrix.reason(int(k), int(j)) for k, j in np.argwhere(run.matrix.missing))
    assert time.perf_counter() - start < SECONDS


@pytest.fixture
def nothing_runs(monkeypatch, tmp_path):
    """A folder of its own, in which code that a log holds would leave a file if it ran."""
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    assert not (tmp_path / "pwned").exists()


def place(folder, format, content):
    """Write what stands for a log of a format; TRACE reads the folder, whose other files are valid."""
    if format != "trace":
        path = folder / "log.txt"
    else:
        path = folder / "trace" / VALID["trace"][0].name
        if not path.parent.exists():
            shutil.copytree(VALID["trace"][0].parent, path.parent)
    path.write_bytes(content)
    return path


def valid(format):
    """The valid logs of a format as text."""
    return [log.read_text() if isinstance(log, Path) else log for log in VALID[format]]


def test_every_format_is_fuzzed():
    assert set(VALID) == set(READERS)


@pytest.mark.parametrize("format", [*READERS, "auto"])
@QUIET
@given(content=st.binary(max_size=300) | st.text(max_size=300).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_any_bytes(format, content, nothing_runs):
    survives(place(nothing_runs, format, content), format, folder=format == "trace")


@pytest.mark.parametrize("format", READERS)
@QUIET
@given(data=st.data())
def test_valid_logs_cut_anywhere(format, data, nothing_runs):
    text = data.draw(st.sampled_from(valid(format)))
    cut = data.draw(st.integers(0, len(text)))
    survives(place(nothing_runs, format, text[:cut].encode()), format, folder=format == "trace")


@pytest.mark.parametrize("format", READERS)
@settings(QUIET, max_examples=40)
@given(data=st.data())
def test_valid_logs_with_a_few_edits(format, data, nothing_runs):
    text = data.draw(st.sampled_from(valid(format)))
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        stop = min(len(text), start + data.draw(st.sampled_from([0, 1, 2, 8, 200])))
        new = data.draw(st.sampled_from([*TOKENS, text[start:stop] * 2, text[stop : stop + 50]]))
        text = text[:start] + new + text[stop:]
    content = text.encode("utf-8", "replace")
    path = place(nothing_runs, format, content)
    survives(path, format, folder=format == "trace")
    with contextlib.suppress(InputError):
        read(path)


NUMBERS = ["nan", "inf", "1e999", "-0.5", "101", "9" * 400, "1e-400", "0x10", "1_0", "true", "null", "[]", "'1'", CODE]


@pytest.mark.parametrize("format", READERS)
def test_every_number_of_a_valid_log_replaced(format, nothing_runs):
    """Some forty numbers, spread over the log, by each of the odd ones in turn."""
    for text in valid(format):
        found = list(re.finditer(r"\d+(?:\.\d+)?", text))
        for i, match in enumerate(found[:: max(1, len(found) // 40)]):
            changed = text[: match.start()] + NUMBERS[i % len(NUMBERS)] + text[match.end() :]
            survives(place(nothing_runs, format, changed.encode()), format, folder=format == "trace")


HOSTILE = {
    "deep lists": "[" * 50_000,
    "deep objects": '{"test":' * 25_000,
    "deep dicts": "{'a':" * 25_000,
    "signs": "-" * 50_000 + "1",
    "brackets": "(" * 50_000,
    "a long line": "x" * 500_000,
    "a long row": "1," * 100_000 + "1",
    "a long row of tabs": "0.100000\t" * 50_000 + "0.1",
    "a long number": "9" * 500_000,
    "many lines": "\n" * 250_000,
    "many short rows": "1\n" * 50_000,
    "quotes": '"' * 50_001,
    "spaces": " " * 250_000 + "x",
    "keys of a curve": "CNN: {" * 25_000,
    "matrices": "Accuracy Matrix (CNN):\n" * 5_000,
    "evaluations": "> Eval on experience 1 (Task " * 5_000,
    "code": CODE,
    "a call in a dict": "{'accuracy_1_task1': " + CODE + "}",
    "a huge experience": '[{"Top1_Acc_Exp/eval_phase/test_stream/Task000/Exp999999": 0.5}]',
    "a huge task": "{'accuracy_999999_task999999': 1}",
    "a step far away": "step,task,value\n999999,1,5\n",
    "a huge group": "x => CNN: {'00-09': 1, '999990-999999': 2}",
    "a number of 400 digits": '{"group":"test","iter":0,"name":"acc_taw","task":0,"time":"","value":1'
    + "0" * 400
    + "}",
}


@pytest.mark.parametrize("format", [*READERS, "auto"])
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_logs(format, name, nothing_runs):
    survives(place(nothing_runs, format, HOSTILE[name].encode()), format, folder=format == "trace")


def test_many_rounds_take_no_more_than_linear_time(tmp_path):
    """A log of 150 experiences, whose keys repeat in each round, is read in a moment; a fault at its end is named."""
    key = "Top1_Acc_Exp/eval_phase/test_stream/Task000/Exp{:03d}".format
    rounds = [{key(j): 0.5 + 0.001 * (k % 100) for j in range(150)} for k in range(150)]
    path = tmp_path / "rounds.json"
    path.write_text("[" + ",\n".join(str(entry).replace("'", '"') for entry in rounds) + "]")
    start = time.perf_counter()
    [run] = read(path)
    assert run.matrix.T == 150
    rounds[-1][key(149)] = 7
    path.write_text("[" + ",\n".join(str(entry).replace("'", '"') for entry in rounds) + "]")
    with pytest.raises(InputError, match=r"rounds\.json, line 150: the score of task 150 after task 150 is 7"):
        read(path)
    assert time.perf_counter() - start < SECONDS
