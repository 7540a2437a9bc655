"""Traces: exact milliseconds, one refusal per fault, and files that give back what was put in."""

import json
from decimal import ROUND_HALF_EVEN, Decimal
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import tempora
from helpers.errors import InputError
from helpers.tempora import parse_ms, read, read_upstream
from helpers.tempora.times import ms_text, parse_ms_row

FIELDS = ("correct", "size", "intrinsic_ns", "extrinsic_ns", "arrival_ns", "served")
CONTEXT = ("corruption", "method", "device", "policy", "reference_ns", "live", "provenance")


def content(trace):
    """Everything a trace holds, to compare."""
    arrays = {name: getattr(trace, name) for name in FIELDS}
    return {name: None if row is None else row.tolist() for name, row in arrays.items()} | {
        name: getattr(trace, name) for name in CONTEXT
    }


@pytest.fixture
def live():
    """A live discrete run in which batch 1 was lost, with everything that a trace can hold."""
    return tempora.Trace(
        [3, 0, 5],
        [10, 10, 8],
        [39.9, 0, 41.000001],
        [57.8, 0, 0],
        arrival_ms=[0, 39.9, 79.8],
        corruption="gaussian noise",
        method="Tent",
        device="cpu",
        policy="source statistics",
        reference_ms=39.9,
        live={"protocol": "discrete", "period_ms": 39.9, "buffer": 1, "tie": "arrival"},
        served=[0, 2],
        provenance={"seed": 3},
    )


def log():
    """An offline log."""
    return tempora.Trace([3, 4, 5], 10, [39.9, 40, 0.000001], [0, 56.6, 1e-3], method="ETA", reference_ms=39.9)


# --- milliseconds


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (39.9, 39_900_000),
        ("39.9", 39_900_000),
        (Decimal("39.9"), 39_900_000),
        (np.float64(39.9), 39_900_000),
        (np.float32(39.9), 39_900_000),  # its own shortest decimal, not the double nearest to it
        (40, 40_000_000),
        (0, 0),
        (0.0, 0),
        (1e-6, 1),
        (4e-7, 0),
        (5e-7, 0),  # half to even
        (1.5e-6, 2),
        (39.9 * 2**0.5, 56_427_121),
        (1e9, 10**15),
        (" 7.5 ", 7_500_000),
    ],
)
def test_a_time_means_its_shortest_decimal(value, expected):
    assert parse_ms(value) == expected
    assert parse_ms_row([value]).tolist() == [expected]


@given(st.lists(st.floats(0, 1e8), min_size=1, max_size=30))
def test_rows_are_read_as_single_values(values):
    expected = [int((Decimal(str(v)) * 10**6).to_integral_value(ROUND_HALF_EVEN)) for v in values]
    assert parse_ms_row(np.array(values)).tolist() == [parse_ms(v) for v in values] == expected


@pytest.mark.parametrize("highest", [2**8, 2**20, 2**40, 2**50, 2**55])
def test_rows_near_a_tie_are_read_exactly(highest):
    """Nanoseconds and a half, or so long that doubles are coarse: a plain product goes to the wrong side for some."""
    counts = np.random.default_rng(0).integers(highest // 2, highest, 1500).tolist()
    values = [float(f"{count}{half}e-6") for count in counts for half in (".5", ".4999", ".3", "")]
    exact = [parse_ms(v) for v in values]
    assert parse_ms_row(np.array(values)).tolist() == exact
    assert np.rint(np.array(values) * 10**6).astype(int).tolist() != exact


@given(st.integers(0, 2**53))
def test_nanoseconds_survive_as_text(count):
    assert parse_ms(ms_text(count)) == count


def test_whole_and_narrow_rows():
    assert parse_ms_row(np.array([1, 2], dtype=np.uint8)).tolist() == [1_000_000, 2_000_000]
    assert parse_ms_row(np.array([39.9, 0.1], dtype=np.float32)).tolist() == [39_900_000, 100_000]


def test_a_quotient_of_floats_would_be_wrong():
    """floor(k x 39.9 / 39.9) is not k for 42 of the first 781 k; as integers it is."""
    wrong = sum(int((k * 39.9) / 39.9) != k for k in range(1, 782))
    assert wrong == 42
    period = parse_ms(39.9)
    assert all((k * period) // period == k for k in range(1, 782))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (-1, "x is -1: a time in ms is finite and at least 0"),
        (-1e-9, "x is -1e-09: a time in ms is finite"),
        (float("nan"), "x is nan: a time in ms is finite"),
        (float("inf"), "x is inf: a time in ms is finite"),
        ("Infinity", "x is Infinity: a time in ms is finite"),
        ("soon", "x is 'soon': give a time in ms, such as 39.9"),
        ("", "x is '': give a time in ms"),
        (None, "x is None: give a time in ms"),
        (True, "x is True: give a time in ms"),
        ([1], r"x is \[1\]: give a time in ms"),
        (1e300, "x is 1e.300 ms: give a time in ms of less than 73 years"),
    ],
)
def test_what_is_no_time_is_refused(value, message):
    with pytest.raises(InputError, match=message):
        parse_ms(value, "x")


# --- what a trace refuses


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"intrinsic_ms": [1, -2, 3]}, r"intrinsic_ms\[1\] is -2: a time in ms is finite and at least 0"),
        ({"intrinsic_ms": np.array([1, -2.5, 3])}, r"intrinsic_ms\[1\] is -2.5: a time in ms is finite"),
        ({"extrinsic_ms": [0, 0, float("nan")]}, r"extrinsic_ms\[2\] is nan: a time in ms is finite"),
        ({"extrinsic_ms": np.array([0, np.inf, 0])}, r"extrinsic_ms\[1\] is inf: a time in ms is finite"),
        ({"extrinsic_ms": -1}, "extrinsic_ms is -1: a time in ms is finite"),
        ({"extrinsic_ms": np.ones((3, 1))}, r"extrinsic_ms has shape \(3, 1\) and type float64"),
        ({"intrinsic_ms": [1, 2]}, "intrinsic has 2 values and correct 3: give one for each batch"),
        ({"size": [10, 10]}, "size has 2 values and correct 3"),
        ({"arrival_ms": [0]}, "arrival has 1 values and correct 3"),
        ({"correct": [], "size": []}, "correct is empty: a trace has at least one batch"),
        ({"correct": [1, 11, 2]}, r"correct\[1\] is 11: there are not so many samples in the batch"),
        ({"correct": [1, 2, -1]}, r"correct\[2\] is -1: count the samples predicted right"),
        ({"correct": [0.5, 1, 1]}, r"correct has shape \(3,\) and type float64: give a row of whole numbers"),
        ({"correct": 3}, r"correct has shape \(\)"),
        ({"size": 0}, r"size\[0\] is 0: a batch has at least one sample"),
        ({"size": [10, 10, 0]}, r"size\[2\] is 0: a batch has at least one sample"),
        ({"size": 10.0}, r"size has shape \(\) and type float64"),
        ({"arrival_ms": [0, 5, 4]}, r"arrival_ns\[2\] is 4000000: the batch before it comes later, sort by arrival"),
        ({"reference_ms": -3}, "reference_ms is -3"),
        ({"method": 7}, "method is 7: give a name"),
        ({"live": "yes"}, "live is 'yes': give a mapping"),
        ({"provenance": "mine"}, "provenance is 'mine': give a mapping"),
        ({"served": [0, 1, 2]}, "served is given without live"),
        ({"served": [], "live": {}}, "served is empty: the first batch is always served"),
        ({"served": [0, 3], "live": {}}, r"served\[1\] is 3: batches are 0 to 2"),
        ({"served": [0, 2, 2], "live": {}}, r"served\[2\] is 2: list each batch once, in order"),
        (
            {"served": [0, 2], "live": {}},
            r"correct\[1\] is 2: the batch was never served: it has neither hits nor time",
        ),
        ({"intrinsic_ms": 1e12, "extrinsic_ms": 1e12}, "add up to more than 73 years"),
    ],
)
def test_one_clear_refusal_each(change, message):
    arguments = {"correct": [1, 2, 3], "size": 10, "intrinsic_ms": 40, "extrinsic_ms": 0, **change}
    with pytest.raises(InputError, match=message) as refusal:
        tempora.Trace(**arguments)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("part", ["intrinsic_ns", "extrinsic_ns", "arrival_ns"])
def test_negative_nanoseconds_are_refused_too(part):
    arguments = {"intrinsic_ns": [1, 1], "extrinsic_ns": [1, 1], part: [0, -1]}
    with pytest.raises(InputError, match=rf"{part}\[1\] is -1"):
        tempora.Trace.from_ns([1, 1], [2, 2], **arguments)


def test_properties():
    trace = log()
    assert trace.n == 3
    assert trace.accuracy.tolist() == [0.3, 0.4, 0.5]
    assert trace.latency_ns.tolist() == [39_900_000, 96_600_000, 1_001]
    assert trace.intrinsic_ms.tolist() == [39.9, 40, 1e-6]
    assert trace.extrinsic_ms.tolist() == [0, 56.6, 1e-3]
    assert trace.latency_ms.tolist() == [39.9, 96.6, 0.001001]
    assert trace.reference_ns == 39_900_000
    assert trace.size.tolist() == [10, 10, 10]


def test_a_trace_does_not_change_with_the_arrays_it_came_from():
    counts = np.array([1, 2])
    trace = tempora.Trace(counts, 10, 1, 1)
    counts[0] = 9
    assert trace.correct.tolist() == [1, 2]


def test_repr(live):
    assert (
        repr(log()) == "Trace(3 batches, 30 samples, accuracy 0.4000, mean latency 45.500 ms, method ETA, offline log)"
    )
    assert repr(live) == (
        "Trace(3 batches, 28 samples, 2 batches served, accuracy 0.4444, mean latency 69.350 ms, method Tent, "
        "corruption gaussian noise, device cpu, live discrete)"
    )


# --- another device


def test_retime_keeps_predictions_and_takes_times(live):
    trace = log()
    faster = trace.retime({"ETA": (10.1, 20), "Tent": (1, 1)}, reference_ms=10, device="other")
    assert faster.correct.tolist() == trace.correct.tolist()
    assert (faster.intrinsic_ms.tolist(), faster.extrinsic_ms.tolist()) == ([10.1] * 3, [20] * 3)
    assert (faster.device, faster.method, faster.reference_ns, faster.live) == ("other", "ETA", 10_000_000, None)
    assert trace.retime(intrinsic_ms=[1, 2, 3], extrinsic_ms=0).reference_ns is None
    assert trace.retime(intrinsic_ms=[1, 2, 3], extrinsic_ms=0).intrinsic_ms.tolist() == [1, 2, 3]


def test_retime_makes_a_live_run_a_projection():
    trace = tempora.Trace([1, 1], 2, 1, 1, arrival_ms=[0, 39.9], live={"protocol": "discrete"}, served=[0, 1])
    assert tempora.discrete(trace).kind == "live"
    retimed = trace.retime(intrinsic_ms=5, extrinsic_ms=0)
    assert tempora.discrete(retimed).kind == "projected"
    assert retimed.arrival_ns.tolist() == [0, 39_900_000]


def test_retime_refuses(live):
    with pytest.raises(InputError, match="1 of 3 batches were never served: retime an offline log"):
        live.retime(intrinsic_ms=1, extrinsic_ms=1)
    for wrong in ({}, {"intrinsic_ms": 1}, {"extrinsic_ms": 1}, {"table": {}, "intrinsic_ms": 1, "extrinsic_ms": 1}):
        with pytest.raises(InputError, match="retime takes a table, or intrinsic_ms and extrinsic_ms together"):
            log().retime(**wrong)
    with pytest.raises(InputError, match="table has no method 'ETA', it has 'SAR'"):
        log().retime({"SAR": (1, 1)})
    with pytest.raises(InputError, match="intrinsic has 2 values and correct 3"):
        log().retime(intrinsic_ms=[1, 2], extrinsic_ms=0)


# --- files


@pytest.mark.parametrize("ending", ["npz", "jsonl"])
def test_files_that_keep_everything(tmp_path, live, ending):
    path = tmp_path / f"trace.{ending}"
    for trace in (live, log(), tempora.Trace([1], 1, 0, 0)):
        trace.save(path) if ending == "npz" else trace.to_jsonl(path)
        assert content(read(path)) == content(trace)


def test_csv_keeps_the_batches(tmp_path):
    trace = tempora.Trace([3, 4], [10, 8], [39.9, 40], [0, 1e-6], arrival_ms=[0, 39.9])
    assert trace.to_csv(tmp_path / "trace.csv").read_text() == (
        "size,correct,intrinsic_ms,extrinsic_ms,arrival_ms\n10,3,39.9,0,0\n8,4,40,0.000001,39.9\n"
    )
    assert content(read(tmp_path / "trace.csv")) == content(trace)
    log().to_csv(tmp_path / "log.csv")
    assert (tmp_path / "log.csv").read_text().startswith("size,correct,intrinsic_ms,extrinsic_ms\n10,3,39.9,0\n")


def test_a_live_run_is_no_csv(tmp_path, live):
    with pytest.raises(InputError, match="a live run would pass for an offline log"):
        live.to_csv(tmp_path / "trace.csv")
    assert not (tmp_path / "trace.csv").exists()


@given(st.lists(st.integers(0, 2**56), min_size=1, max_size=8))
def test_every_nanosecond_survives_text(tmp_path_factory, drawn):
    """The longest has more digits than a double."""
    folder, times = tmp_path_factory.mktemp("text"), [*drawn, 2**56 - 12_345_677]
    trace = tempora.Trace.from_ns([0] * len(times), 1, times, times[::-1], arrival_ns=sorted(times))
    trace.to_csv(folder / "a.csv")
    trace.to_jsonl(folder / "a.jsonl")
    assert content(read(folder / "a.csv")) == content(read(folder / "a.jsonl")) == content(trace)


def test_jsonl_without_a_head_and_other_spellings(tmp_path):
    path = tmp_path / "log.txt"
    path.write_text(
        '{"correct": 3, "size": 10, "extrinsic_ms": 0, "intrinsic_ms": 39.9}\n\n'
        '{"correct": 4, "size": 10, "extrinsic_ms": "56.6", "intrinsic_ms": 4.0e1}\n'
    )
    trace = read(path, "jsonl")
    assert (trace.intrinsic_ns.tolist(), trace.extrinsic_ns.tolist()) == ([39_900_000, 40_000_000], [0, 56_600_000])


def test_csv_from_a_spreadsheet(tmp_path):
    (tmp_path / "log.csv").write_bytes(
        b"\xef\xbb\xbfcorrect, size ,extrinsic_ms,intrinsic_ms\r\n 3,10,0,39.9\r\n\r\n4,10,56.6,40\r\n"
    )
    trace = read(tmp_path / "log.csv")
    assert (trace.correct.tolist(), trace.intrinsic_ns.tolist()) == ([3, 4], [39_900_000, 40_000_000])


HEAD = "size,correct,intrinsic_ms,extrinsic_ms\n"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "", "a.csv: is empty: begin with the header size,correct,intrinsic_ms,extrinsic_ms"),
        ("a.csv", HEAD, "a.csv: holds no batch"),
        ("a.csv", "64,30,40,0\n", "a.csv, line 1: 'size' is missing: the columns are size, correct"),
        ("a.csv", "size,correct,intrinsic_ms\n1,1,1\n", "line 1: 'extrinsic_ms' is missing"),
        ("a.csv", "index," + HEAD + "0,1,1,1,1\n", "line 1: 'index' is unknown"),
        ("a.csv", "size," + HEAD + "1,1,1,1,1\n", "line 1: a name repeats"),
        ("a.csv", HEAD + "64,30,40\n", "line 2: 3 values, the header has 4"),
        ("a.csv", HEAD + "64,30,40,0\n64,30.5,40,0\n", "line 3: correct is '30.5': give a whole number of samples"),
        ("a.csv", HEAD + "64,,40,0\n", "line 2: correct is '': give a whole number"),
        ("a.csv", HEAD + "64,30,-40,0\n", "line 2: intrinsic_ms is -40: a time in ms is finite and at least 0"),
        ("a.csv", HEAD + "64,30,40,nan\n", "line 2: extrinsic_ms is nan: a time in ms is finite"),
        ("a.csv", HEAD + "64,30,40,\n", "line 2: extrinsic_ms is '': give a time in ms"),
        ("a.csv", HEAD + "64,30,40,0\n64,65,40,0\n", r"a.csv: correct\[1\] is 65: there are not so many samples"),
        ("a.jsonl", "", "a.jsonl: holds no batch"),
        ("a.jsonl", "[1]\n", "line 1: is no JSON object"),
        ("a.jsonl", "size\n", "line 1: is no JSON"),
        ("a.jsonl", "[" * 100_000, "line 1: is no JSON"),
        ("a.jsonl", '{"size": 1}\n', "line 1: 'correct' is missing"),
        (
            "a.jsonl",
            '{"size": 1, "correct": true, "intrinsic_ms": 1, "extrinsic_ms": 1}\n',
            "line 1: correct is 'True': give a whole number",
        ),
        (
            "a.jsonl",
            '{"size": 1, "correct": 1, "intrinsic_ms": NaN, "extrinsic_ms": 1}\n',
            "line 1: intrinsic_ms is NaN: a time in ms is finite",
        ),
        (
            "a.jsonl",
            '{"size": 1, "correct": 1, "intrinsic_ms": 1, "extrinsic_ms": 1, "arrival_ms": 0}\n'
            '{"size": 1, "correct": 1, "intrinsic_ms": 1, "extrinsic_ms": 1}\n',
            "line 2: give arrival_ms for every batch, or for none",
        ),
        ("a.jsonl", '{"trace": {"speed": 3}}\n', "line 1: the entry 'trace' is {'speed': 3}: it may name corruption"),
        ("a.txt", "", "format is None: a trace is read from .csv, .jsonl, .npz, .json files, or choose one of csv"),
        ("a.json", "{}", "a.json: entry 'arguments' is missing"),
        ("a.json", "{", "a.json: is no JSON"),
        ("a.json", '{"arguments": {}, "results": {}}', "a.json: entry 'results' is empty"),
        ("a.json", '{"arguments": {}, "results": {"fog": {}}}', "results, fog: entry 'batch_summaries' is missing"),
        ("a.npz", "no archive", "a.npz: is no .npz file"),
    ],
)
def test_bad_files_name_the_place(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=message) as refusal:
        read(tmp_path / name)
    assert "\n" not in str(refusal.value)


def test_other_refusals_of_read(tmp_path, live):
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "absent.csv")
    (tmp_path / "latin.csv").write_bytes("größe\n".encode("latin-1"))
    with pytest.raises(InputError, match="not UTF-8 text"):
        read(tmp_path / "latin.csv")
    live.save(tmp_path / "a.npz")
    with pytest.raises(InputError, match="corruption is 'fog', but a npz file holds one stream: leave it out"):
        read(tmp_path / "a.npz", corruption="fog")
    with pytest.raises(InputError, match="format is 'xml'"):
        read(tmp_path / "a.npz", "xml")


def test_a_record_with_a_strange_manifest_is_refused(tmp_path, live):
    path = live.save(tmp_path / "a.npz")
    with np.load(path) as archive:
        arrays = dict(archive)
    manifest = json.loads(arrays["manifest"].tobytes())
    for change, message in (
        ({"trace": {"speed": 1}}, "a.npz: the manifest's entry 'trace' is"),
        ({"trace": {"live": 3}}, "a.npz: live is 3: give a mapping"),
        ({"trace": {}}, "a.npz: served is given without live"),
    ):
        arrays["manifest"] = np.frombuffer(json.dumps({**manifest, **change}).encode(), dtype=np.uint8)
        np.savez(path, **arrays)
        with pytest.raises(InputError, match=message):
            tempora.Trace.load(path)


def test_what_json_cannot_hold_is_refused_before_writing(tmp_path):
    trace = tempora.Trace([1], 1, 1, 1, live={"period_ms": float("nan")})
    for write, name in ((trace.save, "a.npz"), (trace.to_jsonl, "a.jsonl")):
        with pytest.raises(InputError, match="cannot be written as JSON"):
            write(tmp_path / name)
        assert not (tmp_path / name).exists()


# --- the source's result files, laid out as its code writes them


def upstream(arguments, batches, *, extra=()):
    """A result file: every argument is text, totals and statistics beside the batches."""
    summaries = [
        {
            "index": i,
            "num_samples": 64,
            "num_correct": right,
            "prediction_time": before,
            "adaptation_time": after,
            "wall_clock_time": before + after,
            **dict(zip(extra, more, strict=True)),
        }
        for i, (right, before, after, *more) in enumerate(batches)
    ]
    stream = {"num_batches": len(batches), "prediction_time": {"avg": float("nan")}, "batch_summaries": summaries}
    return json.dumps(
        {
            "timestamp": "20250101_000000",
            "arguments": {"seed": "2025", "method": "tent", "device": "cuda", **arguments},
            "results": {"gaussian_noise": stream, "fog": stream},
        }
    )


BATCHES = [(20, 41.100000000000001, 56.1), (30, 41.0, 0.0), (25, 40.5, 56.25)]


def test_upstream_offline(tmp_path):
    path = tmp_path / "20250101_000000.json"
    path.write_text(upstream({}, BATCHES))
    traces = read_upstream(path)
    assert list(traces) == ["gaussian_noise", "fog"]
    trace = read(path, corruption="fog")
    assert content(trace) == content(traces["fog"])
    assert (trace.corruption, trace.method, trace.device, trace.live) == ("fog", "tent", "cuda", None)
    assert trace.intrinsic_ns.tolist() == [41_100_000, 41_000_000, 40_500_000]
    assert (trace.size.tolist(), trace.correct.tolist()) == ([64] * 3, [20, 30, 25])
    assert trace.provenance == {"file": path.name, "arguments": {"seed": "2025", "method": "tent", "device": "cuda"}}
    with pytest.raises(InputError, match="corruption is None: choose one of gaussian_noise, fog"):
        read(path)
    with pytest.raises(InputError, match="corruption is 'rain': choose one of gaussian_noise, fog"):
        read(path, corruption="rain")


def test_upstream_continuous_is_an_offline_log_with_its_reference(tmp_path):
    arguments = {"decay_threshold": "50.0", "response_budget": "39.9"}
    (tmp_path / "a.json").write_text(upstream(arguments, BATCHES))
    trace = read(tmp_path / "a.json", corruption="fog")
    assert (trace.live, trace.reference_ns) == (None, 39_900_000)
    assert tempora.continuous(trace, threshold_ms=50, ddof=1).utility is not None


def test_upstream_discrete_is_live(tmp_path):
    """Skipped batches carry their samples as skipped, and zeros for the rest."""
    extra = ("num_skipped", "start_timestamp", "queue_wait_time")
    batches = [(20, 41.1, 56.1, 0, 0.0, 0.0), (0, 0, 0, 64, 0, 0), (25, 41.1, 56.1, 0, 97.2, 17.4)]
    (tmp_path / "a.json").write_text(upstream({"interval": "39.9", "queue_size": "1"}, batches, extra=extra))
    trace = read(tmp_path / "a.json", corruption="fog")
    assert trace.served.tolist() == [0, 2]
    assert trace.live == {"protocol": "discrete", "period_ms": "39.9", "buffer": 1, "tie": "buffer"}
    result = tempora.discrete(trace, period_ms=39.9, tie="buffer", require="live")
    assert (result.kind, result.start_ms.tolist()) == ("live", [0.0, 97.2])
    assert result.utility == pytest.approx(45 / 192)


def test_upstream_amortised_is_live(tmp_path):
    """Each adapted batch costs 57.3 ms: the meter reads 0 and 57.3 before batches 0 and 1, 114.6 before batch 2."""
    batches = [(20, 41.1, 56.1), (30, 41.1, 56.1), (1, 39.9, 0.0), (2, 39.9, 0.0)]
    (tmp_path / "a.json").write_text(upstream({"overhead_budget": "100", "response_budget": "39.9"}, batches))
    trace = read(tmp_path / "a.json", corruption="fog")
    result = tempora.amortised(trace, budget_ms=100, cut="overshoot", require="live")
    assert (result.kind, result.switch, result.spent_ms) == ("live", 2, 114.6)
    assert (result.adapted_accuracy, result.frozen_accuracy) == pytest.approx((50 / 128, 3 / 128))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"num_samples": None}, "fog, batch 1: entry 'num_samples' is missing"),
        ({"num_correct": 65}, r"fog: correct\[1\] is 65: there are not so many"),
        ({"num_correct": 1.5}, "fog: correct has shape"),
        ({"prediction_time": float("nan")}, r"fog: intrinsic_ms\[1\] is NaN: a time in ms is finite"),
        ({"adaptation_time": -0.5}, r"fog: extrinsic_ms\[1\] is -0.5: a time in ms is finite"),
    ],
)
def test_upstream_faults_are_named(tmp_path, change, message):
    whole = json.loads(upstream({}, BATCHES))
    batch = whole["results"]["fog"]["batch_summaries"][1]
    batch.update(change)
    if None in change.values():
        del batch[next(iter(change))]
    (tmp_path / "a.json").write_text(json.dumps(whole))
    with pytest.raises(InputError, match=message):
        read_upstream(tmp_path / "a.json")


def test_arrival_order_is_kept():
    trace = tempora.Trace([0] * 4, 1, 1, 0, arrival_ms=[0, 0, 2, 2])
    assert all(a <= b for a, b in pairwise(trace.arrival_ns))
