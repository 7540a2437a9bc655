"""Live runs on a virtual clock: who is served, what is timed, when a method is frozen, what is refused."""

import hashlib
import math
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from helpers import results, tempora
from helpers.errors import InputError
from helpers.tempora import measure, runner, score
from helpers.tempora.clock import published
from helpers.tempora.measure import AmortisedScenario, ContinuousScenario, DiscreteScenario, run
from helpers.tempora.streams import Stream, poisson

from . import oracle

MS = 1_000_000


class Scripted:
    """Says what the inputs tell it to: the class in column 0, and once frozen the class in column 1."""

    def __init__(self, name="scripted"):
        self.name, self.frozen = name, False

    def forward(self, inputs):
        yield np.eye(2)[(inputs[:, int(self.frozen)] > 0.5).astype(int)]

    def reset(self):
        pass

    def freeze(self):
        self.frozen = True

    def unfreeze(self):
        self.frozen = False


class Learner(Scripted):
    """Gets as many samples of a batch right as it has adapted to batches before."""

    policy = "frozen: stops counting"

    def __init__(self, name="learner"):
        super().__init__(name)
        self.seen, self.calls = 0, []

    def forward(self, inputs):
        self.calls.append(("frozen" if self.frozen else "adapting", int(inputs[0, 0])))
        wrong = np.arange(len(inputs)) >= self.seen
        yield np.eye(2)[wrong.astype(int)]
        if not self.frozen:
            self.seen += 1

    def reset(self):
        self.calls.append("reset")
        self.seen = 0

    def freeze(self):
        self.calls.append("freeze")
        super().freeze()


def scripted_stream(correct, frozen=None, size=10):
    """A stream on which `Scripted` gets correct[i] samples of batch i right, frozen[i] once it is frozen."""
    columns = [correct, correct if frozen is None else frozen]
    said = np.stack([(np.arange(size) >= np.array(row)[:, None]).ravel() for row in columns], axis=1)
    return Stream(said.astype(np.float64), np.zeros(len(said), int), batch=size)


def numbered_stream(n, size=10):
    """A stream whose inputs are the number of their batch; label 0 throughout."""
    return Stream(np.repeat(np.arange(n), size)[:, None], np.zeros(n * size, int), batch=size)


def tick(latency, arrival, buffer, tie):
    """The discrete protocol one unit of time after the other, as a bystander would see it."""
    waiting, served, free, now = [], [], 0, 0
    while now <= max(arrival) or waiting:
        due = [i for i, time in enumerate(arrival) if time == now]
        early = tie == "arrival" and buffer > 0 and served and free == now
        if early:
            waiting = (waiting + due)[-buffer:]
        while free <= now and waiting:
            served.append(waiting.pop(0))
            free = now + latency[served[-1]]
        for batch in [] if early else due:
            if free <= now:
                served.append(batch)
                free = now + latency[batch]
            elif buffer:
                waiting = [*waiting, batch][-buffer:]
        now += 1
    return served


# --- discrete -------------------------------------------------------------------------------------------------------

TENTHS = [1, 2, 3, 4, 5, 6]
WORKED = [
    ("D1", [8] * 6, 1, "arrival", [0, 1, 2, 3, 4, 5]),
    ("D2", [10] * 6, 1, "arrival", [0, 1, 2, 3, 4, 5]),
    ("D2 no buffer", [10] * 6, 0, "arrival", [0, 1, 2, 3, 4, 5]),
    ("D3", [25] * 6, 1, "arrival", [0, 2, 5]),
    ("D3 code tie", [25] * 6, 1, "buffer", [0, 2, 4, 5]),
    ("D3 no buffer", [25] * 6, 0, "arrival", [0, 3]),
    ("D4", [20] * 6, 1, "arrival", [0, 2, 4, 5]),
    ("D4 code tie", [20] * 6, 1, "buffer", [0, 1, 3, 5]),
    ("D4 no buffer", [20] * 6, 0, "arrival", [0, 2, 4]),
    ("D4 no buffer, code tie", [20] * 6, 0, "buffer", [0, 2, 4]),
    ("D5", [5, 32, 5, 5, 5, 5], 1, "arrival", [0, 1, 4, 5]),
    ("D5 no buffer", [5, 32, 5, 5, 5, 5], 0, "arrival", [0, 1, 5]),
    ("D6", [100, 1, 1, 1, 1, 1], 1, "arrival", [0, 5]),
    ("D7", [100], 1, "arrival", [0]),
    ("D8", [25] * 5, 1, "arrival", [0, 2, 4]),
    ("D9", [12] * 6, 1, "arrival", [0, 1, 2, 3, 4, 5]),
    ("D9 no buffer", [12] * 6, 0, "arrival", [0, 2, 4]),
    ("D10", [15, 15, 10, 10, 10, 10], 1, "arrival", [0, 1, 3, 4, 5]),
    ("D10 code tie", [15, 15, 10, 10, 10, 10], 1, "buffer", [0, 1, 2, 3, 4, 5]),
    ("two may wait", [25] * 6, 2, "arrival", [0, 1, 4, 5]),
]


@pytest.mark.parametrize(("latency", "buffer", "tie", "served"), [w[1:] for w in WORKED], ids=[w[0] for w in WORKED])
def test_worked_examples_live(latency, buffer, tie, served):
    n = len(latency)
    trace = run(
        Scripted(),
        scripted_stream(TENTHS[:n]),
        DiscreteScenario(10, buffer=buffer, tie=tie),
        clock={"scripted": (latency, 0)},
    )
    assert trace.served.tolist() == served
    assert trace.correct.tolist() == [TENTHS[i] if i in served else 0 for i in range(n)]
    assert trace.latency_ns.tolist() == [latency[i] * MS if i in served else 0 for i in range(n)]
    assert trace.size.tolist() == [10] * n
    assert trace.live == {"protocol": "discrete", "period_ms": 10.0, "buffer": buffer, "tie": tie}
    result = score.discrete(trace, buffer=buffer, tie=tie, require="live")
    assert result.kind == "live"
    assert result.utility == pytest.approx(sum(TENTHS[i] for i in served) / 10 / n)


times = st.integers(0, 40)
protocols = st.tuples(st.integers(0, 3), st.sampled_from(["arrival", "buffer"]))


@given(st.lists(st.tuples(times, times), min_size=1, max_size=14), st.integers(1, 30), protocols)
def test_a_live_run_from_a_table_is_the_projection_of_a_method_without_state(parts, period, protocol):
    """Two implementations, events here and a recursion there, and a bystander who counts the ticks."""
    buffer, tie = protocol
    n, (before, after) = len(parts), zip(*parts, strict=True)
    table, stream = {"scripted": (before, after)}, scripted_stream([i % 11 for i in range(n)])
    live = run(Scripted(), stream, DiscreteScenario(period, buffer=buffer, tie=tie), clock=table)
    log = run(Scripted(), stream, ContinuousScenario(), clock=table)
    projected = score.discrete(log, period_ms=period, buffer=buffer, tie=tie)
    scored = score.discrete(live, buffer=buffer, tie=tie, require="live")
    assert (scored.kind, projected.kind) == ("live", "projected")
    assert scored.utility == projected.utility
    assert scored.availability == projected.availability
    for name in ("served", "start_ns", "finish_ns", "response_ns"):
        assert np.array_equal(getattr(scored, name), getattr(projected, name)), name
    latency, arrival = [e + w for e, w in parts], [i * period for i in range(n)]
    assert live.served.tolist() == tick(latency, arrival, buffer, tie)
    served, starts, finishes = oracle.event_queue(latency, arrival, buffer=buffer, tie=tie)
    assert live.served.tolist() == served
    assert scored.start_ms.tolist() == starts and scored.finish_ms.tolist() == finishes


gaps = st.lists(st.integers(1, 30), max_size=13)


@given(gaps, st.integers(0, 25), st.data(), protocols)
def test_irregular_arrivals_live_and_projected(steps, first, data, protocol):
    buffer, tie = protocol
    arrival = np.cumsum([first, *steps]).tolist()
    latency = data.draw(st.lists(times, min_size=len(arrival), max_size=len(arrival)))
    stream = scripted_stream([i % 11 for i in range(len(arrival))])
    scenario = DiscreteScenario(arrival_ms=arrival, buffer=buffer, tie=tie)
    live = run(Scripted(), stream, scenario, clock={"scripted": (latency, 0)})
    assert live.live["period_ms"] is None
    assert live.arrival_ns.tolist() == [time * MS for time in arrival]
    assert live.served.tolist() == tick(latency, arrival, buffer, tie)
    log = tempora.Trace(stream_hits(stream), 10, latency, 0, arrival_ms=arrival)
    projected = score.discrete(log, buffer=buffer, tie=tie)
    scored = score.discrete(live, buffer=buffer, tie=tie)
    assert scored.utility == projected.utility
    assert np.array_equal(scored.finish_ns, projected.finish_ns)


def stream_hits(stream):
    return [int((inputs[:, 0] == labels).sum()) for inputs, labels in stream]


@pytest.mark.parametrize(
    ("buffer", "served"),
    [(0, [0, 3, 6]), (1, [0, 2, 3, 5, 6]), (2, [0, 1, 2, 4, 5, 6])],
)
def test_worked_irregular_arrivals(buffer, served):
    """Each batch takes 10 ms. With one place batch 2 has replaced batch 1 by 10; at 20 batch 3 arrives; and so on."""
    scenario = DiscreteScenario(arrival_ms=[0, 3, 4, 20, 21, 22, 40], buffer=buffer)
    trace = run(Scripted(), scripted_stream([1] * 7), scenario, clock={"scripted": (4, 6)})
    assert trace.served.tolist() == served


def test_of_batches_that_arrive_together_an_idle_method_takes_the_first():
    scenario = DiscreteScenario(arrival_ms=[0, 50, 50, 50])
    trace = run(Scripted(), scripted_stream([1] * 4), scenario, clock={"scripted": (10, 0)})
    assert trace.served.tolist() == [0, 1, 3]


@pytest.mark.parametrize("load", [0.5, 1.0, 97.7 / 39.9])
@pytest.mark.parametrize("buffer", [0, 1])
def test_poisson_arrivals_against_the_closed_form(buffer, load):
    """Availability 1 / (1 + r) and 1 / (r + exp(-r)), within four standard errors.

    Arrivals between pickups are independent from pickup to pickup: 1 + K or max(K, 1), K Poisson of mean r. A renewal
    count over n arrivals has variance n var / mean^3.
    """
    n = 6000
    mean = 1 + load if buffer == 0 else load + math.exp(-load)
    variance = load if buffer == 0 else load**2 + load + math.exp(-load) - mean**2
    scenario = DiscreteScenario(arrival_ms=poisson(n, period_ms=10, seed=7), buffer=buffer)
    stream = scripted_stream([1] * n, size=1)
    trace = run(Scripted(), stream, scenario, clock={"scripted": (10 * load, 0)})
    assert abs(len(trace.served) / n - 1 / mean) < 4 * math.sqrt(variance / mean**3 / n)


@pytest.mark.parametrize("method", ["AdaBN", "Tent", "ETA", "SHOT-IM", "CMF", "SAR"])
def test_availabilities_follow_from_the_published_latencies(method):
    rows = results.published("tempora", "derived-availability")
    [expected] = [row["value"] for row in rows if row["row"] == method]
    stream = scripted_stream([1] * 781, size=1)
    trace = run(Scripted(method), stream, DiscreteScenario(39.9), clock=published())
    assert round(len(trace.served) / 781, 4) == expected
    assert (trace.method, trace.device) == (method, "table")


def test_a_method_meets_only_the_batches_that_time_leaves_it():
    """D3 with a method that learns: a projection of the offline log believes it to have learnt from skipped batches."""
    learner, table = Learner(), {"learner": (20, 5)}
    live = run(learner, numbered_stream(6), DiscreteScenario(10), clock=table)
    assert [call[1] for call in learner.calls if call != "reset"] == [0, 2, 5]
    assert live.correct.tolist() == [0, 0, 1, 0, 0, 2]
    log = run(Learner(), numbered_stream(6), ContinuousScenario(), clock=table)
    assert log.correct.tolist() == [0, 1, 2, 3, 4, 5]
    assert score.discrete(live).utility == pytest.approx(0.3 / 6)
    assert score.discrete(log, period_ms=10).utility == pytest.approx(0.7 / 6)


# --- continuous and the context of a trace --------------------------------------------------------------------------


def test_continuous_serves_all_and_scores_as_any_log():
    """C3 of the specification."""
    table = {"scripted": (40, 60)}
    trace = run(Scripted(), scripted_stream([2, 4, 6]), ContinuousScenario(), clock=table, reference_ms=40)
    assert trace.live == {"protocol": "continuous"}
    assert trace.served is None and trace.arrival_ns is None
    result = score.continuous(trace, threshold_ms=100)
    assert result.utility == pytest.approx(7 / 30)
    assert result.kind == "exact"


def test_a_trace_says_where_it_comes_from():
    stream = Stream(np.zeros((5, 1)), np.zeros(5, int), batch=2, corruption="fog")
    trace = run(Learner(), stream, ContinuousScenario(), reference_ms=39.9, warmup=0, seed=12)
    assert (trace.method, trace.corruption, trace.policy) == ("learner", "fog", "frozen: stops counting")
    assert trace.reference_ns == 39_900_000
    assert trace.provenance["seed"] == 12
    assert trace.size.tolist() == [2, 2, 1]
    assert trace.device == ("cpu" if not torch.accelerator.is_available() else trace.device)


def test_a_plain_list_of_batches_and_a_method_without_a_name():
    class Constant(Scripted):
        def __init__(self):
            self.frozen = False

    batches = [(np.zeros((2, 2)), [0, 1]), (np.zeros((1, 2)), [0])]
    trace = run(Constant(), batches, ContinuousScenario(), clock={"Constant": (1, 0)})
    assert (trace.method, trace.corruption, trace.policy) == ("Constant", "", "")
    assert trace.correct.tolist() == [1, 1]


def test_a_cell_of_a_grid_is_played_with_its_defaults():
    """The source's grid: live utilities of a method without state are the projections, at every cell."""
    stream = scripted_stream([i % 11 for i in range(60)])
    log = run(Scripted("ETA"), stream, ContinuousScenario(), clock=published(), reference_ms=39.9)
    cells = tempora.scenarios(39.9, batches=60)
    for cell in cells:
        trace = run(Scripted("ETA"), stream, cell, clock=published())
        assert trace.live["protocol"] == cell.protocol
        assert trace.reference_ns == 39_900_000
        limit = cell.limit_ms
        if cell.protocol == "discrete":
            scored = score.discrete(trace, period_ms=limit, require="live")
            assert scored.utility == score.discrete(log, period_ms=limit).utility
        elif cell.protocol == "continuous":
            assert (
                score.continuous(trace, threshold_ms=limit).utility == score.continuous(log, threshold_ms=limit).utility
            )
        else:
            scored = score.amortised(trace, budget_ms=limit, require="live")
            assert scored.switch == score.amortised(log, budget_ms=limit, frozen_accuracy=0.0).switch
    assert run(Scripted("ETA"), stream, cells[0], clock=published(), reference_ms=20).reference_ns == 20_000_000


def test_a_live_trace_is_a_record(tmp_path):
    trace = run(Scripted(), scripted_stream(TENTHS), DiscreteScenario(10), clock={"scripted": (25, 0)})
    loaded = tempora.Trace.load(trace.save(tmp_path / "live.npz"))
    assert loaded.live == trace.live
    assert np.array_equal(loaded.served, trace.served)
    assert score.discrete(loaded, require="live").utility == score.discrete(trace).utility


# --- amortised ------------------------------------------------------------------------------------------------------

BUDGETS = [
    ("A1", [10] * 4, 25, "within", 2),
    ("A1 code", [10] * 4, 25, "overshoot", 3),
    ("A2", [10] * 4, 20, "within", 2),
    ("A2 code", [10] * 4, 20, "overshoot", 2),
    ("A3", [10] * 4, 9, "within", 0),
    ("A3 code", [10] * 4, 9, "overshoot", 1),
    ("A4", [10] * 4, 0, "within", 0),
    ("A4 code", [10] * 4, 0, "overshoot", 0),
    ("A5", [10] * 4, 40, "within", 4),
    ("A5 code", [10] * 4, 40, "overshoot", 4),
    ("A7", [10, 10, 0, 5], 20, "within", 3),
    ("A7 code", [10, 10, 0, 5], 20, "overshoot", 2),
    ("free", [0] * 4, 0, "within", 4),
]
ACCURACY = {0: 0.1, 1: 0.15, 2: 0.225, 3: 0.325, 4: 0.45}


@pytest.fixture
def fake_time(monkeypatch):
    """A stopwatch that methods set forward themselves, in ms, and a device that works only when it is waited for."""
    state = SimpleNamespace(now=0, pending=0, syncs=0)

    def synchronise():
        state.now, state.pending, state.syncs = state.now + state.pending, 0, state.syncs + 1

    monkeypatch.setattr(runner, "perf_counter_ns", lambda: round(state.now * MS))
    monkeypatch.setattr(runner, "synchroniser", lambda device: synchronise)
    return state


class Timed(Scripted):
    """Takes 40 ms for a prediction, and what the script says after it unless it is frozen."""

    def __init__(self, time, costs):
        super().__init__()
        self.time, self.costs, self.count, self.freezes = time, costs, 0, 0

    def forward(self, inputs):
        self.time.now += 40
        [outputs] = super().forward(inputs)
        yield outputs
        if not self.frozen:
            self.time.now += self.costs[self.count % len(self.costs)]
            self.count += 1

    def reset(self):
        self.count = 0

    def freeze(self):
        super().freeze()
        self.freezes += 1


@pytest.mark.parametrize("measured", [False, True], ids=["table", "measured"])
@pytest.mark.parametrize(("cost", "budget", "cut", "switch"), [b[1:] for b in BUDGETS], ids=[b[0] for b in BUDGETS])
def test_worked_budgets_live(cost, budget, cut, switch, measured, fake_time):
    method = Timed(fake_time, cost)
    trace = run(
        method,
        scripted_stream([3, 4, 5, 6], frozen=[1] * 4),
        AmortisedScenario(budget, cut=cut),
        clock="measured" if measured else {"scripted": (40, cost)},
        reference_ms=40,
    )
    spent = sum(cost[:switch])
    assert trace.live == {
        "protocol": "amortised",
        "budget_ms": budget,
        "cut": cut,
        "charge": "excess",
        "reference_ms": 40,
        "switch": switch,
        "spent_ms": spent,
        "replay_differs": 0,
    }
    assert trace.accuracy.mean() == pytest.approx(ACCURACY[switch])
    assert trace.intrinsic_ms.tolist() == [40] * 4
    assert trace.extrinsic_ms.tolist() == cost[:switch] + [0] * (4 - switch)
    assert method.freezes == (switch < 4)
    result = score.amortised(trace, budget_ms=budget, cut=cut, require="live")
    assert (result.kind, result.switch, result.spent_ms) == ("live", switch, spent)
    assert result.utility == pytest.approx(ACCURACY[switch])


@given(
    st.lists(st.tuples(st.integers(30, 50), st.integers(0, 20)), min_size=1, max_size=12),
    st.integers(0, 150),
    st.sampled_from(["within", "overshoot"]),
    st.sampled_from(["excess", "total"]),
)
def test_a_live_budget_is_the_projection_of_a_method_without_state(parts, budget, cut, charge):
    n, (before, after) = len(parts), zip(*parts, strict=True)
    adapted, frozen = [i % 11 for i in range(n)], [(3 * i + 1) % 11 for i in range(n)]
    stream, table = scripted_stream(adapted, frozen), {"scripted": (before, after)}
    settings = {"reference_ms": 40, "cut": cut, "charge": charge}
    scenario = AmortisedScenario(budget, cut=cut, charge=charge)
    live = run(Scripted(), stream, scenario, clock=table, reference_ms=40)
    log = run(Scripted(), stream, ContinuousScenario(), clock=table)
    scored = score.amortised(live, budget_ms=budget, **settings)
    projected = score.amortised(log, budget_ms=budget, frozen_accuracy=np.array(frozen) / 10, **settings)
    assert (scored.switch, scored.utility) == (projected.switch, projected.utility)
    assert live.live["spent_ms"] == projected.spent_ms


def test_jitter_below_the_reference_gives_nothing_back():
    """Costs 10, 0 (not -10), 10: after two batches 10 of 15 ms are gone, and the third exceeds the budget."""
    table = {"scripted": ([50, 30, 50], 0)}
    trace = run(Scripted(), scripted_stream([1] * 3), AmortisedScenario(15, cut="within"), clock=table, reference_ms=40)
    assert trace.live["switch"] == 2
    assert trace.live["spent_ms"] == 10


def test_total_charge_needs_no_reference():
    trace = run(
        Scripted(), scripted_stream([1] * 4), AmortisedScenario(120, charge="total"), clock={"scripted": (40, 10)}
    )
    assert trace.live["switch"] == 2
    assert trace.reference_ns is None


def test_a_table_knows_the_costly_batch_beforehand():
    learner = Learner()
    run(learner, numbered_stream(4), AmortisedScenario(25), clock={"learner": (40, 10)}, reference_ms=40)
    assert learner.calls == ["reset", ("adapting", 0), ("adapting", 1), "freeze", ("frozen", 2), ("frozen", 3)]


class TimedLearner(Learner):
    """A learner that takes 50 ms for a batch it adapts to."""

    def __init__(self, time, forgets=True):
        super().__init__()
        self.time, self.forgets = time, forgets

    def forward(self, inputs):
        self.time.now += 40
        yield from super().forward(inputs)
        self.time.now += 0 if self.frozen else 10

    def reset(self):
        if self.forgets:
            super().reset()


def test_a_stopwatch_knows_it_afterwards_and_takes_the_method_back(fake_time):
    """That batch 2 exceeds the budget is known once it has been adapted to: back to where 0 and 1 had led."""
    learner = TimedLearner(fake_time)
    trace = run(learner, numbered_stream(4), AmortisedScenario(25), reference_ms=40, warmup=0)
    adapting = [("adapting", i) for i in range(3)]
    assert learner.calls == ["reset", *adapting, "reset", *adapting[:2], "freeze", ("frozen", 2), ("frozen", 3)]
    assert trace.correct.tolist() == [0, 1, 2, 2]
    assert trace.live["replay_differs"] == 0
    assert trace.latency_ms.tolist() == [50, 50, 40, 40]


def test_a_reset_that_forgets_something_shows(fake_time):
    trace = run(TimedLearner(fake_time, forgets=False), numbered_stream(4), AmortisedScenario(25), reference_ms=40)
    assert trace.live["replay_differs"] == 2


# --- the stopwatch --------------------------------------------------------------------------------------------------


class Device(Scripted):
    """Hands work to a device and goes on: 30 ms before the prediction is out and 50 ms after it, 1 ms of its own."""

    def __init__(self, time):
        super().__init__()
        self.time = time

    def forward(self, inputs):
        self.time.now += 1
        self.time.pending += 30
        yield np.eye(2)[np.zeros(len(inputs), int)]
        self.time.now += 1
        self.time.pending += 50


class Idle(Scripted):
    """Does nothing after its prediction."""


def test_work_is_booked_where_it_was_started(fake_time):
    """The device is waited for before each reading; what was pending from before is nobody's."""
    fake_time.pending = 1000
    trace = run(Device(fake_time), scripted_stream([1, 1]), ContinuousScenario(), warmup=0)
    assert trace.intrinsic_ms.tolist() == [31, 31]
    assert trace.extrinsic_ms.tolist() == [51, 51]


def test_grading_is_not_the_methods_time(fake_time, monkeypatch):
    grade = runner.Session._grade

    def slowly(self, *arguments):
        fake_time.now += 500
        return grade(self, *arguments)

    monkeypatch.setattr(runner.Session, "_grade", slowly)
    trace = run(Device(fake_time), scripted_stream([1]), ContinuousScenario(), warmup=0)
    assert trace.latency_ms.tolist() == [82]


def test_every_method_is_waited_for_alike(fake_time):
    counts = []
    for method in (Device(fake_time), Idle(), Learner()):
        fake_time.syncs = 0
        run(method, scripted_stream([1] * 5), ContinuousScenario(), warmup=0)
        counts.append(fake_time.syncs)
    assert counts == [15, 15, 15]


def test_a_prediction_that_is_out_cannot_be_changed():
    class Second(Scripted):
        def forward(self, inputs):
            outputs = np.eye(2)[np.zeros(len(inputs), int)]
            yield outputs
            outputs[:] = outputs[:, ::-1]

    trace = run(Second(), scripted_stream([10, 10]), ContinuousScenario(), warmup=0)
    assert trace.correct.tolist() == [10, 10]


def test_the_device_is_waited_for_where_there_is_one(monkeypatch):
    waited = []
    accelerator = SimpleNamespace(
        is_available=lambda: True, synchronize=waited.append, current_accelerator=lambda: "npu"
    )
    cuda = SimpleNamespace(is_available=lambda: True, get_device_name=lambda device: f"GPU {device}")
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(accelerator=accelerator, cuda=cuda))
    runner.synchroniser("cuda:1")()
    runner.synchroniser(None)()
    runner.synchroniser("cpu")()
    assert waited == ["cuda:1", None]
    assert [runner.device_name(device) for device in ("cuda:1", "cpu")] == ["GPU cuda:1", "cpu"]
    cuda.is_available = lambda: False
    assert runner.device_name(None) == "npu"
    accelerator.is_available = lambda: False
    runner.synchroniser(None)()
    monkeypatch.delitem(sys.modules, "torch")
    runner.synchroniser(None)()
    assert waited == ["cuda:1", None]
    assert runner.device_name(None) == "cpu"


class Warmed(Scripted):
    """Keeps what it is given."""

    def __init__(self):
        super().__init__()
        self.log = []

    def forward(self, inputs):
        self.log.append(np.array(inputs))
        yield np.eye(2)[np.zeros(len(inputs), int)]

    def reset(self):
        self.log.append("reset")

    def unfreeze(self):
        self.log.append("unfreeze")


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_warm_up_is_five_calls_on_the_first_batch_with_noise_and_a_reset(dtype):
    method, size = Warmed(), 4000
    inputs = np.arange(2 * size)[:, None].astype(dtype)
    run(method, Stream(inputs, np.zeros(2 * size, int), batch=size), ContinuousScenario(), seed=3)
    assert method.log[:2] == ["unfreeze", "reset"]
    assert isinstance(method.log[7], str)
    assert np.array_equal(np.concatenate(method.log[8:]), inputs)
    noises = [call - inputs[:size] for call in method.log[2:7]]
    assert all(call.dtype == dtype for call in method.log[2:7])
    if dtype is np.int64:
        assert not any(noise.any() for noise in noises)
        return
    for noise in noises:
        # 4000 standard normals: mean within 4 / sqrt(4000), standard deviation within 4 / sqrt(8000)
        assert abs(noise.mean()) < 0.064 and abs(noise.std() - 1) < 0.045
    assert not np.array_equal(noises[0], noises[1])
    again = Warmed()
    run(again, Stream(inputs, np.zeros(2 * size, int), batch=size), ContinuousScenario(), seed=3)
    assert np.array_equal(again.log[2], method.log[2])


def test_a_table_needs_no_warm_up_and_it_can_be_left_out():
    counts = []
    for options in ({"clock": {"scripted": (1, 1)}}, {"warmup": 0}, {"warmup": 2}):
        method = Warmed()
        run(method, scripted_stream([1, 1]), ContinuousScenario(), **options)
        counts.append(sum(not isinstance(call, str) for call in method.log))
    assert counts == [2, 2, 4]


def test_a_frozen_method_takes_the_intrinsic_part_of_a_table():
    table = {"scripted": ([41, 42, 43], [10, 11, 12])}
    trace = run(Scripted(), scripted_stream([1] * 3), AmortisedScenario(11), clock=table, reference_ms=40)
    assert trace.live["switch"] == 1
    assert trace.intrinsic_ms.tolist() == [41, 42, 43]
    assert trace.extrinsic_ms.tolist() == [10, 0, 0]


class Gradient:
    """Entropy minimisation on a linear layer, as small as a method with a gradient step can be."""

    def __init__(self):
        self.source = torch.eye(2).tolist()
        self.layer = torch.nn.Linear(2, 2, bias=False)
        self.reset()

    def reset(self):
        self.layer.load_state_dict({"weight": torch.tensor(self.source)})
        self.optimiser = torch.optim.SGD(self.layer.parameters(), lr=0.1, momentum=0.9)
        self.frozen = False

    def freeze(self):
        self.frozen = True

    def unfreeze(self):
        self.frozen = False

    def forward(self, inputs):
        assert isinstance(inputs, torch.Tensor)
        outputs = self.layer(inputs)
        yield outputs
        if not self.frozen:
            torch.special.entr(outputs.softmax(1)).sum(1).mean().backward()
            self.optimiser.step()
            self.optimiser.zero_grad()


@pytest.mark.parametrize("as_tensor", [False, True])
def test_a_method_with_gradients_runs_measured(as_tensor):
    rng = np.random.default_rng(5)
    inputs = rng.normal(size=(64, 2)).astype(np.float32)
    stream = Stream(torch.as_tensor(inputs) if as_tensor else inputs, inputs.argmax(1), batch=16)
    method = Gradient()
    trace = run(method, stream, ContinuousScenario(), device=None if as_tensor else "cpu")
    assert trace.correct[0] == 16
    assert (trace.intrinsic_ns > 0).all() and (trace.extrinsic_ns > 0).all()
    assert not torch.equal(method.layer.weight, torch.eye(2))
    # after the yield comes the gradient step, or next to nothing; the fastest batch was held up by nobody
    frozen = run(method, stream, AmortisedScenario(0), reference_ms=0, device="cpu")
    assert frozen.live["switch"] == 0
    assert frozen.extrinsic_ns.min() < trace.extrinsic_ns.min()


SCRIPT = """
import hashlib, numpy as np
from helpers.tempora import measure, streams
from helpers.tempora.clock import published

class Centres:
    name = "ETA"
    def reset(self): self.centres, self.generator = np.zeros((3, 4)), np.random.default_rng(1)
    def freeze(self): self.frozen = True
    def unfreeze(self): self.frozen = False
    def forward(self, inputs):
        scores = -((inputs[:, None] - self.centres) ** 2).sum(2)
        yield scores
        if not self.frozen:
            for k in range(3):
                self.centres[k] += 0.1 * (inputs[scores.argmax(1) == k] - self.centres[k]).sum(0)
            self.centres += 0.01 * self.generator.normal(size=(3, 4))

rng = np.random.default_rng(0)
labels = rng.integers(0, 3, 2000)
stream = streams.Stream(rng.normal(size=(2000, 4)) + labels[:, None], labels, batch=20,
                        order=streams.correlated(labels, 1600, class_length=30))
arrivals = streams.poisson(80, period_ms=60)
digest = hashlib.sha256()
for scenario in (measure.DiscreteScenario(39.9), measure.DiscreteScenario(arrival_ms=arrivals, buffer=2),
                 measure.ContinuousScenario(), measure.AmortisedScenario(1000)):
    trace = measure.run(Centres(), stream, scenario, clock=published(), reference_ms=39.9)
    for name in ("correct", "intrinsic_ns", "extrinsic_ns", "served", "arrival_ns"):
        if getattr(trace, name) is not None:
            digest.update(getattr(trace, name).tobytes())
    digest.update(repr(sorted(trace.live.items())).encode())
    print(int(trace.correct.sum()), trace.live.get("switch"))
print(digest.hexdigest())
"""


def test_a_run_from_a_table_is_the_same_in_every_process():
    """Bit by bit, with another order of hashing: what is served, what is right, when the method is frozen."""
    said = []
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path), "OMP_NUM_THREADS": "1"},
            capture_output=True,
            check=False,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        said.append(done.stdout)
    assert said[0] == said[1]
    *lines, digest = said[0].split("\n")[:-1]
    assert len(digest) == len(hashlib.sha256().hexdigest())
    assert lines[3].endswith(" 17"), "57.8 ms a batch: seventeen fit into a second"
    assert len({line.split()[0] for line in lines}) == 4, "else the protocols make no difference here"


# --- refusals -------------------------------------------------------------------------------------------------------


class Failing(Learner):
    """Raises on the given batch, before or after its prediction, the first time only."""

    def __init__(self, batch, after=False):
        super().__init__()
        self.batch, self.after = batch, after

    def forward(self, inputs):
        due, self.batch = (inputs[0, 0] == self.batch), (None if inputs[0, 0] == self.batch else self.batch)
        if due and not self.after:
            raise KeyError("lost")
        yield from super().forward(inputs)
        if due:
            raise MemoryError("too large")


@pytest.mark.parametrize(
    ("method", "message"),
    [
        (Failing(2), "method 'learner' failed on batch 2 of 6: KeyError: 'lost'"),
        (Failing(5, after=True), "method 'learner' failed on batch 5 of 6: MemoryError: too large"),
        (Failing(0), "method 'learner' failed in the warm-up on batch 0: KeyError: 'lost'"),
    ],
)
def test_a_method_that_raises_is_named_with_the_batch(method, message):
    with pytest.raises(RuntimeError) as failure:
        run(method, numbered_stream(6), ContinuousScenario())
    assert str(failure.value) == message
    assert isinstance(failure.value.__cause__, KeyError | MemoryError)


@pytest.mark.parametrize("member", ["reset", "freeze", "unfreeze"])
def test_a_method_that_raises_elsewhere_is_named_too(member):
    method = Scripted()
    setattr(method, member, lambda: 1 / 0)
    with pytest.raises(RuntimeError, match=rf"method 'scripted' failed in {member}\(\): ZeroDivisionError"):
        run(method, scripted_stream([1]), AmortisedScenario(0), clock={"scripted": (5, 5)}, reference_ms=1)


def test_after_a_failure_a_run_can_be_repeated():
    """Nothing of the first attempt is left: the same method starts from its source state."""
    method, table = Failing(3), {"learner": (20, 5)}
    with pytest.raises(RuntimeError, match="batch 3 of 6"):
        run(method, numbered_stream(6), ContinuousScenario(), clock=table)
    again = run(method, numbered_stream(6), ContinuousScenario(), clock=table)
    assert again.correct.tolist() == [0, 1, 2, 3, 4, 5]


def test_a_run_starts_unfrozen_after_one_that_froze():
    learner, table = Learner(), {"learner": (20, 5)}
    run(learner, numbered_stream(3), AmortisedScenario(0), clock=table, reference_ms=0)
    assert learner.frozen
    again = run(learner, numbered_stream(3), ContinuousScenario(), clock=table)
    assert again.correct.tolist() == [0, 1, 2]


def test_an_interrupt_is_not_a_failure_of_the_method():
    class Interrupted(Scripted):
        def forward(self, inputs):
            raise KeyboardInterrupt
            yield

    with pytest.raises(KeyboardInterrupt):
        run(Interrupted(), scripted_stream([1]), ContinuousScenario())


def forward_as(outputs):
    """A method whose forward yields the given values, whatever it is shown."""
    method = Scripted()
    method.forward = lambda inputs: iter(outputs)
    return method


GOOD = np.full((10, 2), 0.5)
NAN_ROW = np.where(np.arange(10)[:, None] == 7, np.nan, GOOD)


@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        ([], "method 'scripted' yields nothing on batch 0 of 2: yield the prediction once"),
        ([GOOD, GOOD], "method 'scripted' yields twice on batch 0 of 2"),
        ([GOOD[:9]], "the prediction of 'scripted' on batch 0 of 2 has 9 rows for 10 samples"),
        ([GOOD[:, 0]], "the prediction of 'scripted' on batch 0 of 2 has shape (10,)"),
        ([np.full((10, 2), "a")], "the prediction of 'scripted' on batch 0 of 2 has type"),
        ([NAN_ROW], "the prediction of 'scripted' on batch 0 of 2 is not finite in row 7: the method has diverged"),
        ([torch.as_tensor(-np.inf * GOOD)], "is not finite in row 0"),
    ],
)
def test_another_kind_of_prediction_is_refused(outputs, message):
    with pytest.raises(InputError) as refusal:
        run(forward_as(outputs), scripted_stream([1, 1]), ContinuousScenario(), warmup=0)
    assert message in str(refusal.value)


def test_a_forward_that_returns_is_told_to_yield():
    method = Scripted()
    method.forward = lambda inputs: GOOD
    with pytest.raises(InputError, match="forward returns a ndarray: yield the prediction"):
        run(method, scripted_stream([1]), ContinuousScenario())


@pytest.mark.parametrize("member", ["forward", "reset", "freeze", "unfreeze"])
def test_a_method_needs_all_four_members(member):
    method = SimpleNamespace(**{name: print for name in ("forward", "reset", "freeze", "unfreeze") if name != member})
    with pytest.raises(InputError, match=rf"has no {member}\(\): it needs forward, reset, freeze, unfreeze"):
        run(method, scripted_stream([1]), ContinuousScenario())


@pytest.mark.parametrize(
    ("stream", "message"),
    [
        ([], "stream has no batches"),
        ([(GOOD, np.zeros(9, int))], "stream[0] has 10 inputs and labels of shape (9,)"),
        ([(GOOD, np.zeros((10, 1), int))], "stream[0] has 10 inputs and labels of shape (10, 1)"),
        ([(GOOD, [0] * 10), (GOOD[:0], [])], "stream[1] has 0 inputs and labels of shape (0,)"),
        ([(GOOD, [0] * 9 + [2])], "the labels on batch 0 of 1[9] is 2: with 2 classes"),
        ([(GOOD, [0.0] * 10)], "the labels on batch 0 of 1 has shape (10,) and type float64"),
    ],
)
def test_a_stream_without_usable_batches_is_refused(stream, message):
    with pytest.raises(InputError) as refusal:
        run(Scripted(), stream, ContinuousScenario(), warmup=0)
    assert message in str(refusal.value)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: DiscreteScenario(), "takes period_ms or arrival_ms: give one of them"),
        (lambda: DiscreteScenario(10, arrival_ms=[0, 1]), "takes period_ms or arrival_ms: give one of them"),
        (lambda: DiscreteScenario(0), "period_ms is 0: give a period above 0"),
        (lambda: DiscreteScenario(-5), "period_ms is -5"),
        (lambda: DiscreteScenario(math.nan), "period_ms is nan"),
        (lambda: DiscreteScenario(arrival_ms=[0, 5, 4]), "arrival_ms[2] is before the one ahead: sort the arrivals"),
        (lambda: DiscreteScenario(arrival_ms=[0, -1]), "arrival_ms[1] is -1"),
        (lambda: DiscreteScenario(10, buffer=-1), "buffer is -1"),
        (lambda: DiscreteScenario(10, tie="first"), "tie is 'first': choose one of arrival, buffer"),
        (lambda: AmortisedScenario(-1), "budget_ms is -1"),
        (lambda: AmortisedScenario(math.inf), "budget_ms is inf"),
        (lambda: AmortisedScenario(1, cut="before"), "cut is 'before': choose one of within, overshoot"),
        (lambda: AmortisedScenario(1, charge="all"), "charge is 'all': choose one of excess, total"),
    ],
)
def test_a_scenario_that_cannot_be_is_refused(make, message):
    with pytest.raises(InputError) as refusal:
        make()
    assert message in str(refusal.value)


@pytest.mark.parametrize(
    ("scenario", "options", "message"),
    [
        (DiscreteScenario(arrival_ms=[0, 1, 2]), {}, "arrival_ms has 3 values and the stream 2 batches"),
        (AmortisedScenario(5), {}, "reference_ms is missing"),
        ("discrete", {}, "scenario is 'discrete': give a Discrete-, Continuous- or AmortisedScenario"),
        (ContinuousScenario(), {"clock": "table"}, "clock is 'table': give 'measured', or a table"),
        (ContinuousScenario(), {"clock": {"other": (1, 1)}}, "the table has no latencies of 'scripted' (other)"),
        (ContinuousScenario(), {"clock": None}, "the table has no latencies of 'scripted' (is None, no mapping)"),
        (ContinuousScenario(), {"warmup": -1}, "warmup is -1"),
        (ContinuousScenario(), {"seed": -1}, "seed is -1"),
        (ContinuousScenario(), {"reference_ms": -1}, "reference_ms is -1"),
    ],
)
def test_a_run_that_does_not_fit_is_refused_before_the_method_is_touched(scenario, options, message):
    method = Warmed()
    with pytest.raises(InputError) as refusal:
        method.name = "scripted"
        run(method, scripted_stream([1, 1]), scenario, **options)
    assert message in str(refusal.value)
    assert method.log == []


def test_measure_is_where_the_house_says():
    assert tempora.measure.run is measure.run
