"""The virtual clock, and latencies from a table."""

import subprocess
import sys

import numpy as np
import pytest

from helpers import results
from helpers.errors import InputError
from helpers.tempora import Trace
from helpers.tempora.clock import VirtualClock, latencies, published


def test_the_clock_adds_up_exactly():
    """781 periods of 39.9 ms: a running sum of floats is wrong for 379 of them."""
    clock = VirtualClock()
    for i in range(1, 782):
        clock.advance(39_900_000)
        assert clock.now_ns == i * 39_900_000
    assert type(clock.now_ns) is int


def test_numpy_durations_do_not_wrap_around():
    clock = VirtualClock()
    clock.advance(np.int64(2**62))
    clock.advance(np.int64(2**62))
    assert clock.now_ns == 2**63


def test_waiting_ends_at_the_time_and_never_before_now():
    clock = VirtualClock()
    clock.wait_until(7)
    assert clock.now_ns == 7
    clock.advance(5)
    clock.wait_until(11)
    assert clock.now_ns == 12
    clock.wait_until(12)
    assert repr(clock) == "VirtualClock(now_ns=12)"


def test_the_clock_never_runs_backwards():
    clock = VirtualClock()
    with pytest.raises(InputError, match="duration_ns is -1: a clock never runs backwards"):
        clock.advance(-1)
    assert clock.now_ns == 0


def test_the_published_table_keeps_the_printed_latencies():
    rows = results.published("tempora", "T2-latency")
    printed = {(row["row"], row["column"]): row["value"] for row in rows}
    table = published()
    assert list(table) == ["Standard", "AdaBN", "Tent", "ETA", "SHOT-IM", "CMF", "SAR"]
    assert table.pop("Standard") == (39.9, 0.0)
    for name in table:
        [intrinsic], [extrinsic] = latencies(table, name, 1)
        assert (intrinsic + extrinsic) / 1e6 == printed[name, "latency"]
        assert extrinsic / 1e6 == printed[name, "extrinsic"]
        # three printed numbers, each rounded to 0.1 ms, differ from a sum by at most 0.15 ms
        assert abs(intrinsic / 1e6 - 39.9 - printed[name, "intrinsic above reference"]) < 0.15
        assert round((intrinsic + extrinsic) / 39_900_000, 2) == printed[name, "slow-down"]


def test_a_trace_takes_the_same_table():
    trace = Trace([1, 2], 10, [5, 6], [7, 8], method="ETA").retime(published(), device="RTX 4080")
    assert trace.latency_ms.tolist() == [97.7, 97.7]


def test_latencies_are_one_for_all_or_one_for_each():
    intrinsic, extrinsic = latencies({"a": [39.9, np.array([1.5, 0.0, 2.25])]}, "a", 3)
    assert intrinsic.tolist() == [39_900_000] * 3
    assert extrinsic.tolist() == [1_500_000, 0, 2_250_000]
    assert intrinsic.dtype == extrinsic.dtype == np.int64


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"b": (1, 2), "c": (1, 2)}, "the table has no latencies of 'a' (b, c)"),
        (5, "the table has no latencies of 'a' (is 5, no mapping)"),
        ({"a": 5}, "the table gives 5 for 'a': give intrinsic and extrinsic ms, a pair"),
        ({"a": (1, 2, 3)}, "the table gives (1, 2, 3) for 'a'"),
        ({"a": (1, [1, 2])}, "extrinsic ms of 'a': the table has 2 batches and the stream 3"),
        ({"a": ([1, 2, 3, 4], 1)}, "intrinsic ms of 'a': the table has 4 batches and the stream 3"),
        ({"a": (-1, 0)}, "intrinsic ms of 'a' is -1"),
        ({"a": (1, float("nan"))}, "extrinsic ms of 'a' is nan"),
        ({"a": (1, [0, 1, float("inf")])}, "extrinsic ms of 'a'[2] is inf"),
    ],
)
def test_a_table_that_does_not_fit_is_refused(table, message):
    with pytest.raises(InputError) as refusal:
        latencies(table, "a", 3)
    assert message in str(refusal.value)


def test_clock_streams_and_runner_need_no_torch():
    code = (
        "import sys; from helpers.tempora import clock, runner, streams; clock.published(); "
        "sys.exit('torch' in sys.modules or 'matplotlib' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
