"""``yardsticks score tempora`` on files: the library's numbers, or one line that says what to do."""

import json
from pathlib import Path

import numpy as np
import pytest

from helpers import tempora
from helpers.cli import main
from helpers.errors import InputError, MissingExtra
from helpers.tempora import show

from ..selfcontained import addresses_outside

TIMES = ("--period", "39.9", "--threshold", "50", "--budget", "4000", "--frozen-accuracy", "0.001")


def log(**context):
    """Enough batches for an interval, with jitter."""
    rng = np.random.default_rng(0)
    times = np.round([40.5 + rng.gamma(2, 0.3, 120), 56 + rng.gamma(2, 0.3, 120)], 3)
    return tempora.Trace(rng.binomial(64, 0.48, 120), 64, *times, method="ETA", reference_ms=39.9, **context)


def live_run():
    """A live discrete run of twelve batches, of which every third was served."""
    correct, times = np.zeros((2, 12), dtype=int)
    correct[::3], times[::3] = 5, 110
    settings = {"protocol": "discrete", "period_ms": 39.9, "buffer": 0, "tie": "arrival"}
    return tempora.Trace(correct, 10, times, 0, reference_ms=39.9, live=settings, served=range(0, 12, 3))


@pytest.fixture
def folder(tmp_path):
    """A log in every format, and a live run."""
    log().to_csv(tmp_path / "log.csv")
    log().to_jsonl(tmp_path / "log.jsonl")
    log().save(tmp_path / "log.npz")
    live_run().save(tmp_path / "live.npz")
    log(arrival_ms=np.arange(120) * 50).to_csv(tmp_path / "arrivals.csv")
    return tmp_path


def score(folder, *options, trace="log.jsonl"):
    """Run the command on a file of a folder; file names among the options lie there too."""
    placed = [str(folder / option) if option.startswith("out.") else option for option in options]
    return main(["score", "tempora", str(folder / trace), *placed])


@pytest.mark.parametrize("trace", ["log.csv", "log.jsonl", "log.npz"])
def test_the_numbers_are_the_librarys(folder, capsys, trace):
    options = (*TIMES, "--reference", "39.9", "--confidence", "0.9", "--seed", "7", "--json", "out.json")
    assert score(folder, *options, trace=trace) == 0
    content = json.loads((folder / "out.json").read_text(encoding="utf-8"), parse_constant=pytest.fail)
    results = {
        "discrete": tempora.discrete(log(), period_ms=39.9),
        "continuous": tempora.continuous(log(), threshold_ms=50),
        "amortised": tempora.amortised(log(), budget_ms=4000, frozen_accuracy=0.001),
    }
    output = capsys.readouterr()
    assert output.err == ""
    for rule, result in results.items():
        parts = tempora.contributions(log(), result, frozen_accuracy=0.001)
        interval = tempora.bootstrap(parts, confidence=0.9, seed=7).interval
        assert content[rule] == {**result.to_dict(), "interval": list(interval), "interval_reason": None}
        assert "{!r}, interval {:.4f} to {:.4f}\n".format(result, *interval) in output.out
    assert content["confidence"] == 0.9
    assert content["trace"]["n"] == 120
    assert content["validity"] == json.loads(json.dumps(log().validity().to_dict()))
    assert (content["provenance"]["file"], content["provenance"]["seed"]) == (str(folder / trace), 7)
    assert "latencies Validity(INVALID; 120 batches are too few for the 99th percentile" in output.out
    if trace != "log.csv":
        assert (content["trace"]["method"], content["trace"]["reference_ms"]) == ("ETA", 39.9)


def test_switches_reach_the_score(folder):
    options = ("--buffer", "0", "--tie", "buffer", "--cut", "overshoot", "--charge", "total", "--ddof", "1")
    assert score(folder, *TIMES, *options, "--json", "out.json") == 0
    content = json.loads((folder / "out.json").read_text())
    discrete = tempora.discrete(log(), period_ms=39.9, buffer=0, tie="buffer")
    continuous = tempora.continuous(log(), threshold_ms=50, ddof=1)
    amortised = tempora.amortised(log(), budget_ms=4000, frozen_accuracy=0.001, cut="overshoot", charge="total")
    assert content["discrete"]["utility"] == discrete.utility
    assert content["continuous"]["utility"] == continuous.utility
    assert content["continuous"]["interval"] is None
    assert content["continuous"]["interval_reason"] == "ddof=1 is no mean over batches"
    assert content["amortised"]["utility"] == amortised.utility
    assert (content["amortised"]["switch"], content["discrete"]["buffer"]) == (amortised.switch, 0)


def test_samples_as_weights(folder):
    (folder / "unequal.csv").write_text("size,correct,intrinsic_ms,extrinsic_ms\n10,5,25,0\n30,0,1,0\n2,1,6,0\n")
    options = ("--period", "10", "--threshold", "25", "--budget", "24", "--reference", "6", "--weight", "sample")
    assert score(folder, *options, "--json", "out.json", trace="unequal.csv") == 0
    content = json.loads((folder / "out.json").read_text())
    assert content["discrete"]["utility"] == pytest.approx(6 / 42)
    assert {content[rule]["weight"] for rule in ("discrete", "continuous", "amortised")} == {"sample"}


def test_one_utility_is_enough_and_no_file_is_written_unasked(folder, capsys):
    before = set(folder.iterdir())
    assert score(folder, "--threshold", "50") == 0
    output = capsys.readouterr().out
    assert "Continuous(" in output
    assert "Discrete(" not in output and "Amortised(" not in output
    assert set(folder.iterdir()) == before


def test_milliseconds_are_read_as_written(folder):
    """39.9 as text is 39.9 exactly, so a log at that very latency keeps up."""
    tempora.Trace([1] * 781, 2, 39.9, 0).to_csv(folder / "exact.csv")
    assert score(folder, "--period", "39.9", "--tie", "buffer", "--json", "out.json", trace="exact.csv") == 0
    content = json.loads((folder / "out.json").read_text())["discrete"]
    assert (content["availability"], content["response_ms"]["p99"]) == (1.0, 39.9)
    assert content["interval"] is None
    assert "all batches are alike" in content["interval_reason"]


def test_a_trace_with_arrivals_of_its_own(folder, capsys):
    assert score(folder, "--period", "trace", trace="arrivals.csv") == 0
    trace = log(arrival_ms=np.arange(120) * 50)
    assert repr(tempora.discrete(trace)) in capsys.readouterr().out


def test_a_live_run(folder, capsys):
    options = ("--period", "trace", "--buffer", "0", "--live", "--html", "out.html")
    assert score(folder, *options, trace="live.npz") == 0
    output = capsys.readouterr().out
    assert "4 of 12 batches served, live), no interval: 4 served batches are too few" in output
    assert "live" in (folder / "out.html").read_text()


def test_upstream_files_need_a_corruption(folder, capsys):
    batch = {"num_samples": 64, "num_correct": 30, "prediction_time": 41.1, "adaptation_time": 56.6}
    stream = {"batch_summaries": [batch] * 12}
    content = {"arguments": {"method": "eta"}, "results": {"fog": stream, "snow": stream}}
    (folder / "20250101_000000.log").write_text(json.dumps(content))
    options = ("--period", "39.9", "--format", "upstream")
    assert score(folder, *options, "--corruption", "fog", trace="20250101_000000.log") == 0
    assert "method eta, corruption fog" in capsys.readouterr().out
    assert score(folder, *options, trace="20250101_000000.log") == 2
    assert "choose one of fog, snow" in capsys.readouterr().err


def test_the_report_is_self_contained(folder):
    assert score(folder, *TIMES, "--html", "out.html") == 0
    page = (folder / "out.html").read_text(encoding="utf-8")
    assert addresses_outside(page) == []
    assert page.startswith("<!doctype html>")
    assert page.count("<svg ") == page.count('role="img" aria-label="') == 7  # a time line, three bars, three sweeps
    assert "<script" not in page
    for result in (tempora.discrete(log(), period_ms=39.9), tempora.continuous(log(), threshold_ms=50)):
        assert repr(result) in page


@pytest.mark.parametrize(
    ("options", "trace", "figures"),
    [
        (("--period", "39.9"), "log.jsonl", 3),
        (("--period", "trace"), "arrivals.csv", 2),  # no period to vary
        (("--threshold", "50"), "log.jsonl", 2),
        (("--budget", "100000"), "log.jsonl", 1),  # tighter budgets would need a frozen accuracy
        (("--budget", "0", "--frozen-accuracy", "0.5"), "log.jsonl", 2),
        (("--period", "39.9", "--buffer", "0"), "live.npz", 2),  # a live run is not projected
    ],
)
def test_figures_of_a_report(folder, options, trace, figures):
    assert score(folder, *options, "--html", "out.html", trace=trace) == 0
    assert (folder / "out.html").read_text().count("<svg ") == figures


@pytest.mark.parametrize("option", ["--json", "--html"])
def test_a_full_disk_leaves_the_old_file_whole(folder, capsys, monkeypatch, option):
    (folder / "out.file").write_text("old")
    before = set(folder.iterdir())

    def full(path, text, **_):
        path.write_bytes(text[: len(text) // 2].encode())
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    assert score(folder, *TIMES, option, "out.file") == 2
    assert "No space left on device" in capsys.readouterr().err
    assert (folder / "out.file").read_text() == "old"
    assert set(folder.iterdir()) == before


@pytest.mark.parametrize(
    ("options", "trace", "line"),
    [
        ((), "log.csv", "nothing to score: give --period, --threshold or --budget"),
        (TIMES, "absent.csv", "absent.csv: No such file or directory"),
        (TIMES, "broken.csv", "broken.csv, line 3: extrinsic_ms is -1: a time in ms is finite and at least 0"),
        (TIMES, "broken.txt", "a trace is read from .csv, .jsonl, .npz, .json files"),
        (("--period", "0"), "log.jsonl", "period_ms is 0: give a period above 0"),
        (("--period", "-3"), "log.jsonl", "period_ms is -3: a time in ms is finite"),
        (("--period", "soon"), "log.jsonl", "period_ms is 'soon': give a time in ms"),
        (("--period", "nan"), "log.jsonl", "period_ms is nan: a time in ms is finite"),
        (("--period", "trace"), "log.jsonl", "period_ms is missing: give it, or a trace that has arrivals of its own"),
        (("--threshold", "39.9"), "log.jsonl", "threshold_ms is 39.9 and reference_ms 39.9"),
        (("--threshold", "50"), "log.csv", "reference_ms is missing"),
        (("--budget", "-1", "--frozen-accuracy", "0"), "log.jsonl", "budget_ms is -1: a time in ms"),
        (("--budget", "100"), "log.jsonl", "frozen_accuracy is missing: the method is frozen before batch 1 of 120"),
        (("--budget", "100", "--frozen-accuracy", "50"), "log.jsonl", "frozen_accuracy is 50.0: an accuracy lies in"),
        (("--period", "10", "--buffer", "-1"), "log.jsonl", "buffer is -1: give a whole number of at least 0"),
        (("--period", "10", "--live"), "log.jsonl", "require is 'live', but this trace is no live run"),
        (("--period", "10", "--confidence", "95"), "log.jsonl", "confidence is 95.0: give a level between 0 and 1"),
        (("--period", "10", "--seed", "-1"), "log.jsonl", "seed is -1: give a whole number of at least 0"),
        (("--period", "10", "--corruption", "fog"), "log.jsonl", "a jsonl file holds one stream: leave it out"),
        (("--period", "39.9"), "live.npz", "buffer is 1, but this trace is a live run with 0"),
        (("--threshold", "50"), "live.npz", "a log in which the method met and adapted to every batch"),
    ],
)
def test_a_refusal_is_one_line_and_nothing_is_written(folder, capsys, options, trace, line):
    (folder / "broken.csv").write_text("size,correct,intrinsic_ms,extrinsic_ms\n64,30,40,0\n64,30,40,-1\n")
    (folder / "broken.txt").write_text("64 30 40 0\n")
    (folder / "out.json").write_text("old")
    before = set(folder.iterdir())
    assert score(folder, *options, "--json", "out.json", "--html", "out.html", trace=trace) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith("yardsticks: ")
    assert output.err.count("\n") == 1
    assert line in output.err
    assert set(folder.iterdir()) == before
    assert (folder / "out.json").read_text() == "old"


def test_without_matplotlib_the_extra_is_named_and_no_report_begun(folder, capsys, monkeypatch):
    def absent(module, *, extra):
        raise MissingExtra(f"{module} is not installed: pip install 'yardsticks[{extra}]'")

    monkeypatch.setattr("helpers.lazy.require", absent)
    before = set(folder.iterdir())
    assert score(folder, *TIMES, "--html", "out.html") == 2
    assert "pip install 'yardsticks[jupyter]'" in capsys.readouterr().err
    assert set(folder.iterdir()) == before


def test_drawing_is_loaded_only_for_a_report(folder, monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("nothing is to be drawn")

    monkeypatch.setattr("helpers.figures.subplots", refuse)
    assert score(folder, *TIMES, "--json", "out.json") == 0
    with pytest.raises(AssertionError):
        score(folder, *TIMES, "--html", "out.html")


def test_a_failing_report_leaves_nothing_written(folder, monkeypatch):
    def fails(*_, **__):
        raise InputError("nothing can be drawn")

    before = set(folder.iterdir())
    monkeypatch.setattr(show, "timeline", fails)
    assert score(folder, *TIMES, "--json", "out.json", "--html", "out.html") == 2
    assert set(folder.iterdir()) == before
