"""The scores beyond their identities: switches, live runs, refusals, many at once, what they say of themselves."""

import json
import subprocess
import sys
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from helpers import tempora
from helpers.errors import InputError


def log(n=6, latency=25, **context):
    """Accuracies 0.1, 0.2, ... and a constant latency, all intrinsic."""
    return tempora.Trace([i % 10 + 1 for i in range(n)], 10, latency, 0, **context)


def random_logs(count, n, seed=0):
    """Logs with latencies and sizes of their own."""
    rng = np.random.default_rng(seed)
    size = rng.integers(1, 65, size=(count, n))
    times = np.round(rng.gamma(4.0, 12.0, size=(2, count, n)), 4)
    return [tempora.Trace(rng.integers(0, size[i] + 1), size[i], times[0, i], times[1, i]) for i in range(count)]


def live_run(**live):
    """A discrete run in which batch 1 was lost."""
    settings = {"protocol": "discrete", "period_ms": 10, "buffer": 1, "tie": "arrival", **live}
    return tempora.Trace([1, 0, 3, 4], 10, [25, 0, 5, 5], 0, live=settings, served=[0, 2, 3])


def frozen_run(**live):
    """An amortised run that was frozen after two batches."""
    settings = {"protocol": "amortised", "budget_ms": 25, "cut": "within", "charge": "excess", "switch": 2, **live}
    return tempora.Trace([3, 4, 1, 1], 10, [40] * 4, [10, 10, 0, 0], reference_ms=40, live=settings)


# --- exactness


def test_a_period_is_rounded_once_and_arrivals_are_its_multiples():
    """At 39.9 ms batch k arrives at k x 39.9 exactly: batches that take 39.9 keep up for ever, in both ties."""
    trace = log(781, latency=39.9)
    for tie in ("arrival", "buffer"):
        result = tempora.discrete(trace, period_ms=39.9, tie=tie)
        assert result.availability == 1.0
        assert result.response_ms.tolist() == [39.9] * 781
    root = tempora.discrete(trace, period_ms=39.9 * 2**0.5)
    assert root.start_ns[-1] == 780 * 56_427_121
    assert root.period_ms == 56.427121


def test_periods_as_text_and_number_are_the_same():
    one, other = (tempora.discrete(log(), period_ms=period) for period in ("10.0", 10))
    assert one.to_dict() == other.to_dict()


def test_long_streams_do_not_drift():
    """Ten million nanoseconds a batch for 20 000 batches: the last start is exact."""
    trace = log(20_000, latency=10.000001)
    result = tempora.discrete(trace, period_ms=10.000001)
    assert result.start_ns[-1] == 19_999 * 10_000_001


# --- weights


def unequal():
    """Batch 1 is large and lost, batch 2 small and served."""
    return tempora.Trace([5, 0, 1], [10, 30, 2], [25, 1, 6], 0)


def test_discrete_by_batch_and_by_sample():
    by_batch, by_sample = (tempora.discrete(unequal(), period_ms=10, weight=w) for w in ("batch", "sample"))
    assert by_batch.served.tolist() == [0, 2]
    parts = (by_batch.availability, by_batch.served_accuracy, by_batch.utility)
    assert parts == pytest.approx((2 / 3, 0.5, 1 / 3))
    parts = (by_sample.availability, by_sample.served_accuracy, by_sample.utility)
    assert parts == pytest.approx((12 / 42, 6 / 12, 6 / 42))


def test_continuous_by_sample():
    result = tempora.continuous(unequal(), threshold_ms=25, reference_ms=6, weight="sample")
    kappa = np.array([0.5, 1, 1])
    assert result.weights.tolist() == kappa.tolist()
    assert result.accuracy == pytest.approx(6 / 42)
    assert result.responsiveness == pytest.approx((10 * 0.5 + 30 + 2) / 42)
    assert result.utility == pytest.approx((5 * 0.5 + 0 + 1) / 42)


def test_amortised_by_sample():
    result = tempora.amortised(
        unequal(), budget_ms=24, reference_ms=0, frozen_accuracy=[9, 0.5, 0.25], weight="sample", cut="overshoot"
    )
    assert result.switch == 1
    assert result.adapted_share == pytest.approx(10 / 42)
    assert result.frozen_accuracy == pytest.approx((30 * 0.5 + 2 * 0.25) / 32)
    assert result.utility == pytest.approx((5 + 15 + 0.5) / 42)


def test_relative_speed_and_hybrid_by_sample():
    trace = unequal()
    result = tempora.relative_speed(trace, reference_ms=15, fallback_accuracy=[0, 0.5, 0], weight="sample")
    assert result.served.tolist() == [0, 2]
    assert result.utility == pytest.approx((5 + 15 + 1) / 42)
    mixed = tempora.hybrid(
        trace, period_ms=10, reference_ms=5, threshold_ms=25, budget_ms=20, frozen_accuracy=0.5, weight="sample"
    )
    # batch 0: waits 25, discount 1/2; batch 2: frozen, starts at 25, out 10 after its arrival, discount 4/5
    assert mixed.served.tolist() == [0, 2]
    assert mixed.utility == pytest.approx((5 * 0.5 + 1 * 0.8) / 42)
    assert mixed.availability == pytest.approx(12 / 42)


# --- frozen accuracies


@pytest.mark.parametrize(
    "frozen", [0.25, np.float32(0.25), [9, 9, 0.25, 0.25], np.array([np.nan, 9, 0.25, 0.25]), lambda m: 0.25]
)
def test_a_frozen_accuracy_is_a_number_a_row_or_a_function(frozen):
    """Entries before the switch are not looked at."""
    result = tempora.amortised(log(4, 50), budget_ms=25, reference_ms=40, frozen_accuracy=frozen)
    assert (result.switch, result.frozen_accuracy) == (2, 0.25)


def test_a_function_is_asked_about_the_switch():
    asked = []

    def frozen(m):
        asked.append(m)
        return [0.5] * (4 - m)

    tempora.amortised(log(4, 50), budget_ms=25, reference_ms=40, frozen_accuracy=frozen)
    tempora.amortised(log(4, 50), budget_ms=1000, reference_ms=40, frozen_accuracy=frozen)  # lasts: nothing to ask
    assert asked == [2]


@pytest.mark.parametrize(
    ("frozen", "message"),
    [
        (None, "frozen_accuracy is missing: the method is frozen before batch 2 of 4"),
        (1.5, "frozen_accuracy is 1.5: an accuracy lies in"),
        (float("nan"), "frozen_accuracy is nan: an accuracy lies in"),
        ([0, 0, 0.5, -0.5], r"frozen_accuracy\[3\] is -0.5: an accuracy lies in"),
        ([0.5] * 3, r"frozen_accuracy has shape \(3,\) and type float64: give one accuracy, or 4 of them"),
        (lambda m: [0.5] * 4, r"frozen_accuracy has shape \(4,\) and type float64: give one accuracy, or 2 of them"),
        ("high", "frozen_accuracy has type <U4: give one accuracy, or 4 of them"),
        ([0.5, 0.5, 0.5, True], r"frozen_accuracy\[3\] is True: give one accuracy"),
    ],
)
def test_frozen_accuracies_that_are_refused(frozen, message):
    with pytest.raises(InputError, match=message):
        tempora.amortised(log(4, 50), budget_ms=25, reference_ms=40, frozen_accuracy=frozen)


# --- projected and live


def test_an_offline_log_is_projected_and_refused_where_a_live_run_is_required():
    trace = log()
    assert tempora.discrete(trace, period_ms=10).kind == "projected"
    assert tempora.amortised(trace, budget_ms=0, reference_ms=40).kind == "projected"
    assert tempora.continuous(trace, threshold_ms=50, reference_ms=40).kind == "exact"
    with pytest.raises(InputError, match="require is 'live', but this trace is no live run under 'discrete'"):
        tempora.discrete(trace, period_ms=10, require="live")
    with pytest.raises(InputError, match="require is 'live', but this trace is no live run under 'amortised'"):
        tempora.amortised(trace, budget_ms=0, reference_ms=40, require="live")


def test_a_live_discrete_run_is_scored_by_what_it_served():
    for result in (tempora.discrete(live_run(), require="live"), tempora.discrete(live_run(), period_ms=10.0)):
        assert (result.kind, result.served.tolist()) == ("live", [0, 2, 3])
        assert result.start_ms.tolist() == [0, 25, 30]
        assert result.finish_ms.tolist() == [25, 30, 35]
        assert result.utility == pytest.approx(0.8 / 4)
        assert result.period_ms == 10.0


def test_a_live_run_that_served_everything_need_not_list_it():
    trace = tempora.Trace(
        [1, 2], 10, 5, 0, live={"protocol": "discrete", "period_ms": 10, "buffer": 1, "tie": "arrival"}
    )
    assert tempora.discrete(trace).served.tolist() == [0, 1]
    assert tempora.discrete(trace).kind == "live"


def test_a_live_run_with_arrivals_of_its_own():
    trace = tempora.Trace(
        [1, 2], 10, 5, 0, arrival_ms=[3, 4], live={"protocol": "discrete", "buffer": 1, "tie": "arrival"}
    )
    result = tempora.discrete(trace)
    assert (result.start_ms.tolist(), result.period_ms, result.kind) == ([3, 8], None, "live")
    with pytest.raises(InputError, match="period_ms is given, but this live run had arrivals of its own"):
        tempora.discrete(trace, period_ms=10)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"period_ms": 11}, "period_ms is 11, but this trace is a live run with 10"),
        ({"buffer": 0}, "buffer is 0, but this trace is a live run with 1"),
        ({"tie": "buffer"}, "tie is 'buffer', but this trace is a live run with 'arrival'"),
    ],
)
def test_a_live_discrete_run_under_other_settings_is_refused(options, message):
    with pytest.raises(InputError, match=message):
        tempora.discrete(live_run(), **options)


def test_a_run_that_lost_batches_has_no_other_score():
    run = live_run()
    for score in (
        lambda: tempora.continuous(run, threshold_ms=50, reference_ms=10),
        lambda: tempora.amortised(run, budget_ms=50, reference_ms=10),
        lambda: tempora.hybrid(run, period_ms=10, budget_ms=50, reference_ms=10, threshold_ms=50),
        lambda: tempora.relative_speed(run, reference_ms=10, fallback_accuracy=0),
        lambda: tempora.grid([log(4), run], "discrete", [10]),
    ):
        with pytest.raises(InputError, match="needs a log in which the method met and adapted to every batch"):
            score()


def test_a_live_amortised_run_has_its_own_frozen_batches():
    """A frozen batch costs nothing, so where the freeze came is kept in the trace and not read from latencies."""
    result = tempora.amortised(frozen_run(), budget_ms=25, require="live")
    assert (result.kind, result.switch, result.spent_ms) == ("live", 2, 20.0)
    assert result.utility == pytest.approx(0.225)
    assert result.adapted_accuracy == pytest.approx(0.35)
    assert result.frozen_accuracy == pytest.approx(0.1)


def test_a_live_run_that_the_budget_outlasted_is_as_good_as_a_log():
    trace = frozen_run(switch=4)
    assert tempora.continuous(trace, threshold_ms=50).kind == "exact"
    assert tempora.amortised(trace, budget_ms=25).frozen_accuracy is None
    with pytest.raises(InputError, match="adapted to every batch"):
        tempora.continuous(frozen_run(), threshold_ms=50)


def test_a_continuous_run_is_a_log():
    trace = log(live={"protocol": "continuous"})
    assert tempora.discrete(trace, period_ms=10).kind == "projected"
    assert tempora.continuous(trace, threshold_ms=50, reference_ms=40).kind == "exact"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"budget_ms": 26}, "budget_ms is 26, but this trace is a live run with 25"),
        ({"cut": "overshoot"}, "cut is 'overshoot', but this trace is a live run with 'within'"),
        ({"charge": "total"}, "charge is 'total', but this trace is a live run with 'excess'"),
        ({"reference_ms": 30}, "reference_ms is 30, this live run had another: leave it out"),
        ({"frozen_accuracy": 0.1}, "frozen_accuracy is given for a live run"),
    ],
)
def test_a_live_amortised_run_under_other_settings_is_refused(options, message):
    with pytest.raises(InputError, match=message):
        tempora.amortised(frozen_run(), **{"budget_ms": 25, **options})


def test_a_freeze_that_the_trace_does_not_tell():
    trace = frozen_run()
    untold = {key: value for key, value in trace.live.items() if key != "switch"}
    run = tempora.Trace(trace.correct, 10, 40, trace.extrinsic_ms, reference_ms=40, live=untold)
    with pytest.raises(InputError, match="live has no entry 'switch'"):
        tempora.amortised(run, budget_ms=25)


# --- refusals


def discrete(**options):
    """On a log, with a period."""
    return tempora.discrete(log(), **{"period_ms": 10, **options})


def continuous(**options):
    """On a log, with both times."""
    return tempora.continuous(log(), **{"threshold_ms": 50, "reference_ms": 40, **options})


def amortised(**options):
    """On a log, with everything."""
    return tempora.amortised(log(), **{"budget_ms": 9, "reference_ms": 20, "frozen_accuracy": 0, **options})


def relative(**options):
    """On a log, with everything."""
    return tempora.relative_speed(log(), **{"reference_ms": 10, "fallback_accuracy": 0, **options})


def hybrid(**options):
    """On a log, with everything."""
    times = {"period_ms": 10, "threshold_ms": 50, "budget_ms": 9, "reference_ms": 20}
    return tempora.hybrid(log(), **{**times, "frozen_accuracy": 0, **options})


def many(**options):
    """Two logs on one grid."""
    return tempora.grid(**{"traces": [log(), log(4)], "rule": "discrete", "times_ms": [10], **options})


@pytest.mark.parametrize(
    ("score", "options", "message"),
    [
        (discrete, {"period_ms": 0}, "period_ms is 0: give a period above 0"),
        (discrete, {"period_ms": 1e-9}, "period_ms is 1e-09: give a period above 0"),
        (discrete, {"period_ms": -1}, "period_ms is -1: a time in ms is finite and at least 0"),
        (discrete, {"period_ms": float("nan")}, "period_ms is nan: a time in ms is finite"),
        (discrete, {"period_ms": 5e11}, "period_ms is 500000000000.0: 6 batches would take 73 years"),
        (discrete, {"period_ms": None}, "period_ms is missing: give it, or a trace that has arrivals of its own"),
        (discrete, {"buffer": -1}, "buffer is -1: give a whole number of at least 0"),
        (discrete, {"buffer": 1.0}, "buffer is 1.0: give a whole number"),
        (discrete, {"tie": "later"}, "tie is 'later': choose one of arrival, buffer"),
        (discrete, {"weight": None}, "weight is None: choose one of batch, sample"),
        (discrete, {"require": "both"}, "require is 'both': choose one of projected, live"),
        (continuous, {"threshold_ms": 40}, "threshold_ms is 40 and reference_ms 40: "),
        (continuous, {"threshold_ms": -5}, "threshold_ms is -5: a time in ms is finite"),
        (continuous, {"threshold_ms": float("inf")}, "threshold_ms is inf: a time in ms is finite"),
        (continuous, {"reference_ms": None}, "reference_ms is missing: give the latency of standard inference"),
        (continuous, {"reference_ms": -1}, "reference_ms is -1: a time"),
        (continuous, {"ddof": 2}, "ddof is 2: choose 0"),
        (continuous, {"ddof": True}, "ddof is True: choose 0"),
        (continuous, {"ddof": 1, "weight": "sample"}, "ddof=1 repeats the source's code"),
        (continuous, {"weight": "pixel"}, "weight is 'pixel'"),
        (amortised, {"budget_ms": -1}, "budget_ms is -1: a time in ms is finite and at least 0"),
        (amortised, {"budget_ms": "much"}, "budget_ms is 'much': give a time in ms"),
        (amortised, {"reference_ms": None}, "reference_ms is missing"),
        (amortised, {"cut": "before"}, "cut is 'before': choose one of within, overshoot"),
        (amortised, {"charge": "half"}, "charge is 'half': choose one of excess, total"),
        (amortised, {"weight": "pixel"}, "weight is 'pixel'"),
        (relative, {"reference_ms": 0}, "reference_ms is 0: a speed relative to no time at all"),
        (relative, {"reference_ms": None}, "reference_ms is missing"),
        (relative, {"stream_speed": 0}, "stream_speed is 0: give a number above 0 and at most 1"),
        (relative, {"stream_speed": 1.01}, "stream_speed is 1.01: give a number"),
        (relative, {"stream_speed": "fast"}, "stream_speed is 'fast': give a number"),
        (relative, {"stream_speed": float("nan")}, "stream_speed is nan: give a number"),
        (relative, {"fallback_accuracy": 2}, "fallback_accuracy is 2.0: an accuracy lies in"),
        (relative, {"fallback_accuracy": [0.5]}, r"fallback_accuracy has shape \(1,\)"),
        (relative, {"weight": "pixel"}, "weight is 'pixel'"),
        (hybrid, {"threshold_ms": 20}, "threshold_ms is 20 and reference_ms 20: "),
        (hybrid, {"period_ms": 0}, "period_ms is 0: give a period above 0"),
        (hybrid, {"budget_ms": -3}, "budget_ms is -3: a time"),
        (hybrid, {"frozen_accuracy": None}, "frozen_accuracy is missing: give one accuracy, or 6 of them"),
        (relative, {"fallback_accuracy": None}, "fallback_accuracy is missing: give one accuracy, or 6 of them"),
        (hybrid, {"frozen_accuracy": 7}, "frozen_accuracy is 7.0: an accuracy lies in"),
        (hybrid, {"buffer": -1}, "buffer is -1"),
        (hybrid, {"tie": ""}, "tie is ''"),
        (hybrid, {"cut": ""}, "cut is ''"),
        (hybrid, {"charge": ""}, "charge is ''"),
        (hybrid, {"weight": ""}, "weight is ''"),
        (many, {"rule": "best"}, "rule is 'best': choose one of discrete, continuous, amortised"),
        (many, {"traces": []}, "0 traces and 1 settings: give at least one of each"),
        (many, {"times_ms": []}, "2 traces and 0 settings: give at least one of each"),
        (many, {"times_ms": [10, 0]}, "period_ms is 0: give a period above 0"),
        (many, {"buffer": -1}, "buffer is -1"),
        (many, {"tie": ""}, "tie is ''"),
        (many, {"weight": ""}, "weight is ''"),
        (many, {"rule": "continuous"}, r"traces\[0\]: reference_ms is missing"),
        (
            many,
            {"rule": "amortised", "reference_ms": 1, "frozen_accuracy": [0.5]},
            "frozen_accuracy has 1 entries for 2 traces: give one for each",
        ),
        (
            many,
            {"rule": "amortised", "reference_ms": 1, "frozen_accuracy": [0.5, 5]},
            r"traces\[1\]: frozen_accuracy is 5.0: an accuracy lies in",
        ),
        (
            many,
            {"traces": [log(1)], "rule": "continuous", "times_ms": [50], "reference_ms": 40, "ddof": 1},
            r"traces\[0\]: one batch has no covariance with ddof=1",
        ),
    ],
)
def test_one_clear_refusal_each(score, options, message):
    with pytest.raises(InputError, match=message) as refusal:
        score(**options)
    assert "\n" not in str(refusal.value)


def test_the_reference_of_a_trace_is_taken_unless_another_is_given():
    trace = log(reference_ms=20)
    assert tempora.continuous(trace, threshold_ms=50).reference_ms == 20
    assert tempora.continuous(trace, threshold_ms=50, reference_ms=30).reference_ms == 30


def test_a_period_goes_before_arrivals_of_an_offline_log():
    trace = log(3, arrival_ms=[0, 100, 200])
    assert tempora.discrete(trace).start_ms.tolist() == [0, 100, 200]
    assert tempora.discrete(trace, period_ms=30).start_ms.tolist() == [0, 30, 60]


# --- what the predecessor's rule hides


def test_stepped_penalty():
    """All latencies in (20, 30] cost the same by the predecessor's rule; in milliseconds they do not."""
    logs = [log(60, latency) for latency in (20.1, 25, 30)]
    stepped = {tempora.relative_speed(trace, reference_ms=10, fallback_accuracy=0).availability for trace in logs}
    smooth = [tempora.discrete(trace, period_ms=10).availability for trace in logs]
    assert stepped == {1 / 3}
    assert smooth[0] > smooth[1] > smooth[2]


def test_forced_idling_and_the_optimistic_fallback():
    trace = log(60, 25)
    result = tempora.relative_speed(trace, reference_ms=10, fallback_accuracy=0.3)
    assert result.idle_ms.tolist() == [5.0] * 20
    honest = tempora.relative_speed(trace, reference_ms=10, fallback_accuracy=0)
    assert result.utility - honest.utility == pytest.approx(result.optimism) == pytest.approx(0.3 * 2 / 3)
    assert result.utility > result.availability > tempora.discrete(trace, period_ms=10, buffer=0).utility


def test_nothing_skipped_nothing_fallen_back():
    result = tempora.relative_speed(log(), reference_ms=25, fallback_accuracy=1)
    assert (result.fallback_accuracy, result.optimism, result.availability) == (None, 0.0, 1.0)
    assert result.reasons == {"fallback_accuracy": "no batch was skipped"}


def test_ratios_are_exact():
    """3 x 0.1 ms is three times 0.1 ms, not a hair more: two batches are skipped, not three."""
    trace = log(8, latency=0.3)
    assert 0.3 / 0.1 < 3 < 0.1 * 3 / 0.1  # what doubles make of it
    assert tempora.relative_speed(trace, reference_ms=0.1, fallback_accuracy=0).skips.tolist() == [2, 2, 2]
    assert tempora.relative_speed(trace, reference_ms=0.1, fallback_accuracy=0, stream_speed=0.1).skips[0] == 0


# --- many at once


@pytest.mark.parametrize("options", [{}, {"tie": "buffer"}, {"buffer": 0}, {"buffer": 3}, {"weight": "sample"}])
def test_a_grid_of_periods_is_exact(options):
    """Long streams, so that sums of floats would differ if they were taken in another order."""
    logs = random_logs(7, 781) + random_logs(2, 100, seed=1)
    periods = [39.9, 39.9 * 2**0.5, 79.8, 10, 400]
    table = tempora.grid(logs, "discrete", periods, **options)
    assert (table.rule, table.kind, table.times_ms[1]) == ("discrete", "projected", 56.427121)
    for i, trace in enumerate(logs):
        for j, period in enumerate(periods):
            alone = tempora.discrete(trace, period_ms=period, **options)
            assert (table.utility[i, j], table.share[i, j]) == (alone.utility, alone.availability)


def test_grids_of_thresholds_and_budgets_are_exact():
    logs = random_logs(3, 50)
    thresholds, budgets = [50, 100, 1000], [0, 100, 2000]
    table = tempora.grid(logs, "continuous", thresholds, reference_ms=39.9, ddof=1)
    spent = tempora.grid(
        logs, "amortised", budgets, reference_ms=39.9, frozen_accuracy=[0.1, lambda m: 0.2, [0.3] * 50], cut="overshoot"
    )
    assert (table.kind, spent.kind, spent.utility.shape) == ("exact", "projected", (3, 3))
    for i, trace in enumerate(logs):
        for j in range(3):
            alone = tempora.continuous(trace, threshold_ms=thresholds[j], reference_ms=39.9, ddof=1)
            assert (table.utility[i, j], table.share[i, j]) == (alone.utility, alone.responsiveness)
            alone = tempora.amortised(
                trace, budget_ms=budgets[j], reference_ms=39.9, frozen_accuracy=0.1 * (i + 1), cut="overshoot"
            )
            assert spent.utility[i, j] == pytest.approx(alone.utility, abs=1e-15)
            assert spent.share[i, j] == alone.adapted_share
    for frozen in (0.1, np.array(0.1), lambda m: 0.1):  # one for all
        everywhere = tempora.grid(logs, "amortised", budgets, reference_ms=39.9, frozen_accuracy=frozen)
        assert everywhere.utility[2, 0] == pytest.approx(0.1)


# --- what results say of themselves


def results():
    """One of each."""
    return [discrete(), continuous(), amortised(), amortised(budget_ms=1000), relative(), hybrid(), live_score()]


def live_score():
    """Of a live run."""
    return tempora.discrete(live_run())


def test_reprs():
    assert [repr(result) for result in results()[:6]] == [
        "Discrete(utility=0.1667 = availability 0.5000 x served accuracy 0.3333, 3 of 6 batches served, projected)",
        "Continuous(utility=0.3500 = accuracy 0.3500 x responsiveness 1.0000 +0.0000 alignment, 6 batches, exact)",
        "Amortised(utility=0.0167 = 0.1667 x adapted 0.1000 + 0.8333 x frozen 0.0000, switch after 1 of 6, projected)",
        "Amortised(utility=0.3500 = 1.0000 x adapted 0.3500 + 0.0000 x frozen undefined, switch after 6 of 6, "
        "projected)",
        "RelativeSpeed(utility=0.0833, of which fallback 0.0000; 2 of 6 batches served at accuracy 0.2500, "
        "mean idling 5.000 ms)",
        "Hybrid(utility=0.0143 = availability 0.6667 x (accuracy 0.0250 x responsiveness 0.8095 +0.0012 alignment), "
        "4 of 6 batches served, 1 adapted to, projected)",
    ]
    assert repr(tempora.continuous(log(1), threshold_ms=50, reference_ms=40, ddof=1)) == (
        "Continuous(utility undefined: one batch has no covariance with ddof=1)"
    )
    assert repr(many()) == "Grid(discrete, 2 traces x 1 settings, projected)"


@pytest.mark.parametrize("result", results(), ids=lambda result: type(result).__name__)
def test_results_are_valid_json_and_frozen(result):
    content = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert content == result.to_dict()
    assert content["utility"] == result.utility
    assert content["kind"] == result.kind
    assert content["batches"] == result.n
    with pytest.raises(FrozenInstanceError):
        result.utility = 1.0


def test_what_is_undefined_has_its_reason_in_json():
    content = amortised(budget_ms=1000).to_dict()
    assert content["frozen_accuracy"] is None
    assert content["reasons"] == {"frozen_accuracy": "the budget lasts to the end: no batch was frozen"}


def test_response_percentiles_are_times_that_occurred():
    """Starts 0, 25, 50 for arrivals 0, 20, 50, each out 25 later."""
    result = discrete()
    assert result.response_ms.tolist() == [25, 30, 25]
    assert result.to_dict()["response_ms"] == {"p50": 25.0, "p90": 30.0, "p99": 30.0}
    assert continuous().to_dict()["wait_ms"] == {"p50": 25.0, "p90": 25.0, "p99": 25.0}


# --- the house


def test_public_names_are_there():
    assert sorted(tempora.__all__) == tempora.__all__
    for name in (*tempora.__all__, "measure", "show"):
        assert getattr(tempora, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'shows'"):
        tempora.shows  # noqa: B018


def test_scoring_needs_numpy_and_scipy_only():
    """Also through the command, whose rooms are imported by every other command."""
    code = (
        "import sys; from helpers import cli, tempora; trace = tempora.Trace([1, 2], 4, 40, 60, reference_ms=40); "
        "tempora.discrete(trace, period_ms=50); tempora.continuous(trace, threshold_ms=50); trace.validity(); "
        "tempora.grid([trace], 'discrete', [50]); "
        "sys.exit(bool({'torch', 'matplotlib', 'pandas', 'seaborn', 'tqdm'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_two_batches_have_the_covariance_of_the_source():
    found = tempora.continuous(tempora.Trace([2, 6], 10, 40, 60), threshold_ms=100, reference_ms=40, ddof=1)
    assert found.weights.tolist() == [1.0, 0.5]
    assert found.alignment == pytest.approx(-0.1)  # twice the population's
    assert found.utility == pytest.approx(0.4 * 0.75 - 0.1)
