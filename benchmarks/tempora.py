"""TEMPORA's table against the shortest correct Python loops: ratios, measured in one process.

The source's table is 16 scenarios (5 periods, 5 thresholds, 6 budgets) x 10 methods x 15 corruptions x 781 batches. The
rival steps through one stream at a time on plain integers, and is given them as such. Both must agree on every cell.

    python benchmarks/tempora.py [--batches 781] [--streams 15]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence

import numpy as np

from helpers import tempora

REFERENCE = 39.9
PERIODS = [REFERENCE * 2 ** (k / 2) for k in range(5)]
THRESHOLDS = [50, 100, 200, 400, 1000]
BUDGETS = [1000 * 2**k for k in range(6)]
FROZEN = 0.001
#: Intrinsic and extrinsic ms of ten methods, of the source's kind.
METHODS = [
    (39.0, 0.0),
    (41.1, 0.0),
    (39.5, 0.0),
    (40.0, 0.0),
    (41.1, 56.1),
    (41.1, 56.6),
    (41.1, 79.8),
    (41.1, 95.0),
    (41.1, 119.0),
    (41.1, 154.1),
]


def main() -> None:
    """Print one line per claim."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batches", type=int, default=781)
    parser.add_argument("--streams", type=int, default=15)
    options = parser.parse_args()
    traces = make_traces(options.streams, options.batches)
    plain = [as_lists(trace) for trace in traces]
    scenarios = len(PERIODS) + len(THRESHOLDS) + len(BUDGETS)
    print(f"{scenarios} scenarios x {len(traces)} streams (10 methods) x {options.batches} batches")

    library_table(traces[:2])
    # rounds of rival and ours in turn, so that other load on the machine hits both
    ours, rival, parts = [], [], []
    for _ in range(3):
        ours.append(seconds(lambda: library_table(traces)))
        rival.append(seconds(lambda: loop_table(plain)))
        parts.append([seconds(part) for part in library_parts(traces)])
    print(f"helpers.tempora.grid     {min(ours):8.3f} s")
    for name, taken in zip(("discrete", "continuous", "amortised"), np.min(parts, axis=0), strict=True):
        print(f"  of which {name:10}    {taken:8.3f} s")
    print(f"loops in plain Python    {min(rival):8.3f} s   ratio {min(rival) / min(ours):.1f}")
    single = seconds(lambda: [tempora.discrete(t, period_ms=p) for t in traces for p in PERIODS])
    print(f"discrete, one by one     {single:8.3f} s   {1000 * single / len(traces) / len(PERIODS):.2f} ms each")
    error = np.abs(library_table(traces) - loop_table(plain)).max()
    print(f"largest difference of any cell {error:.1e}")


def make_traces(streams: int, batches: int) -> list[tempora.Trace]:
    """Ten methods on each stream, with jitter to the microsecond."""
    rng = np.random.default_rng(0)
    traces = []
    for intrinsic, extrinsic in METHODS:
        for _ in range(streams):
            jitter = np.round(rng.gamma(2.0, 0.2, size=(2, batches)), 3)
            rest = extrinsic + jitter[1] if extrinsic else 0
            correct = rng.binomial(64, 0.4, size=batches)
            traces.append(tempora.Trace(correct, 64, np.round(intrinsic + jitter[0], 3), rest))
    return traces


def library_parts(traces: Sequence[tempora.Trace]) -> list[Callable[[], np.ndarray]]:
    """The three thirds of the table, by `grid`."""
    return [
        lambda: tempora.grid(traces, "discrete", PERIODS).utility,
        lambda: tempora.grid(traces, "continuous", THRESHOLDS, reference_ms=REFERENCE).utility,
        lambda: (
            tempora.grid(
                traces, "amortised", BUDGETS, reference_ms=REFERENCE, frozen_accuracy=FROZEN, cut="overshoot"
            ).utility
        ),
    ]


def library_table(traces: Sequence[tempora.Trace]) -> np.ndarray:
    """Every utility, shape (streams, scenarios)."""
    return np.concatenate([part() for part in library_parts(traces)], axis=1)


Plain = tuple[list[float], list[int], list[int]]


def as_lists(trace: tempora.Trace) -> Plain:
    """Accuracy and both parts of the latency as plain numbers."""
    return trace.accuracy.tolist(), trace.intrinsic_ns.tolist(), trace.extrinsic_ns.tolist()


def loop_table(logs: Sequence[Plain]) -> np.ndarray:
    """The same table, one stream and one scenario at a time."""
    reference = tempora.parse_ms(REFERENCE)
    periods, thresholds, budgets = ([tempora.parse_ms(t) for t in row] for row in (PERIODS, THRESHOLDS, BUDGETS))
    return np.array(
        [
            [loop_discrete(*log, period) for period in periods]
            + [loop_continuous(*log, reference, threshold) for threshold in thresholds]
            + [loop_amortised(*log, reference, budget) for budget in budgets]
            for log in logs
        ]
    )


def loop_discrete(accuracy: list[float], intrinsic: list[int], extrinsic: list[int], period: int) -> float:
    """Serve, see what has arrived, take the newest."""
    last = len(accuracy) - 1
    right, batch, free = 0.0, 0, 0
    while batch <= last:
        right += accuracy[batch]
        free = max(free, batch * period) + intrinsic[batch] + extrinsic[batch]
        batch = max(batch + 1, min(free // period, last))
    return right / len(accuracy)


def loop_continuous(
    accuracy: list[float], intrinsic: list[int], extrinsic: list[int], reference: int, threshold: int
) -> float:
    """Wait for the work on the batch before and for the prediction."""
    total, carried = 0.0, 0
    for a, e, rest in zip(accuracy, intrinsic, extrinsic, strict=True):
        total += a / (1 + max(0, carried + e - reference) / (threshold - reference))
        carried = rest
    return total / len(accuracy)


def loop_amortised(
    accuracy: list[float], intrinsic: list[int], extrinsic: list[int], reference: int, budget: int
) -> float:
    """Read the meter before each batch."""
    total, spent = 0.0, 0
    for a, e, rest in zip(accuracy, intrinsic, extrinsic, strict=True):
        if spent < budget:
            total, spent = total + a, spent + max(0, e + rest - reference)
        else:
            total += FROZEN
    return total / len(accuracy)


def seconds(work: Callable[[], object]) -> float:
    """Wall time of one call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
