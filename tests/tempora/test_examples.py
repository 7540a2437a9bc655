"""Every worked example of the specification, with what the other rules give: exact values, by hand."""

from fractions import Fraction as F

import numpy as np
import pytest

from helpers import tempora
from helpers.errors import InputError

from . import oracle

ULP = 1e-15


def stream(latency, *, correct=None, size=10):
    """Accuracies 0.1, 0.2, ... unless given, all of the latency intrinsic."""
    return tempora.Trace(correct or list(range(1, len(latency) + 1)), size, latency, 0)


DISCRETE = [
    # name, latencies, served, utility
    ("D1", [8] * 6, [0, 1, 2, 3, 4, 5], F(35, 100)),
    ("D2", [10] * 6, [0, 1, 2, 3, 4, 5], F(35, 100)),
    ("D3", [25] * 6, [0, 2, 5], F(1, 6)),
    ("D4", [20] * 6, [0, 2, 4, 5], F(1, 4)),
    ("D5", [5, 32, 5, 5, 5, 5], [0, 1, 4, 5], F(7, 30)),
    ("D6", [100, 1, 1, 1, 1, 1], [0, 5], F(7, 60)),
    ("D8", [25] * 5, [0, 2, 4], F(9, 50)),
    ("D9", [12] * 6, [0, 1, 2, 3, 4, 5], F(35, 100)),
    ("D10", [15, 15, 10, 10, 10, 10], [0, 1, 3, 4, 5], F(3, 10)),
]


@pytest.mark.parametrize(("name", "latency", "served", "utility"), DISCRETE, ids=lambda value: str(value)[:4])
def test_discrete(name, latency, served, utility):
    result = tempora.discrete(stream(latency), period_ms=10)
    assert result.served.tolist() == served
    assert result.utility == pytest.approx(float(utility), abs=ULP)
    assert result.availability == len(served) / len(latency)
    assert result.served_accuracy == pytest.approx(float(utility * len(latency) / len(served)), abs=ULP)
    assert result.kind == "projected"
    accuracy = [F(i, 10) for i in range(1, 7)]
    assert oracle.discrete_utility(accuracy[: len(latency)], served) == utility  # the table agrees with itself


def test_d3_and_d9_start_when_the_pipeline_is_free():
    assert tempora.discrete(stream([25] * 6), period_ms=10).start_ms.tolist() == [0, 25, 50]
    assert tempora.discrete(stream([12] * 6), period_ms=10).start_ms.tolist() == [0, 12, 24, 36, 48, 60]


def test_d5_finishes():
    assert tempora.discrete(stream([5, 32, 5, 5, 5, 5]), period_ms=10).finish_ms.tolist() == [5, 42, 47, 55]


def test_d7_one_batch():
    result = tempora.discrete(stream([100], correct=[7]), period_ms=10)
    assert (result.served.tolist(), result.availability, result.utility) == ([0], 1.0, 0.7)


@pytest.mark.parametrize(
    ("latency", "options", "served", "utility"),
    [
        ([8] * 6, {"tie": "buffer"}, [0, 1, 2, 3, 4, 5], F(35, 100)),  # D1, D2: every rule gives the same
        ([8] * 6, {"buffer": 0}, [0, 1, 2, 3, 4, 5], F(35, 100)),
        ([10] * 6, {"tie": "buffer"}, [0, 1, 2, 3, 4, 5], F(35, 100)),
        ([10] * 6, {"buffer": 0}, [0, 1, 2, 3, 4, 5], F(35, 100)),
        ([25] * 6, {"tie": "buffer"}, [0, 2, 4, 5], F(1, 4)),  # D3
        ([25] * 6, {"buffer": 0}, [0, 3], F(1, 12)),
        ([20] * 6, {"tie": "buffer"}, [0, 1, 3, 5], F(13, 60)),  # D4
        ([20] * 6, {"buffer": 0}, [0, 2, 4], F(3, 20)),
        ([5, 32, 5, 5, 5, 5], {"buffer": 0}, [0, 1, 5], F(3, 20)),  # D5
        ([12] * 6, {"buffer": 0}, [0, 2, 4], F(3, 20)),  # D9: half of the batches
        ([15, 15, 10, 10, 10, 10], {"tie": "buffer"}, [0, 1, 2, 3, 4, 5], F(35, 100)),  # D10
    ],
)
def test_discrete_under_the_other_rules(latency, options, served, utility):
    result = tempora.discrete(stream(latency), period_ms=10, **options)
    assert result.served.tolist() == served
    assert result.utility == pytest.approx(float(utility), abs=ULP)


@pytest.mark.parametrize(
    ("latency", "served", "utility"),
    [
        ([20] * 6, [0, 2, 4], F(3, 20)),  # D4
        ([100, 1, 1, 1, 1, 1], [0], F(1, 60)),  # D6
        ([25] * 5, [0, 2], F(2, 25)),  # D8
        ([12] * 6, [0, 1, 2, 3, 4], F(1, 4)),  # D9
    ],
)
def test_the_formula_taken_literally_loses_the_last_batch(latency, served, utility):
    """Not offered by the library: whether the waiting batch counts would depend on the length of the stream."""
    found, _, _ = oracle.recursion(latency, 10, drained=False)
    assert found == served
    assert oracle.discrete_utility([F(i + 1, 10) for i in range(len(latency))], found) == utility
    assert set(found) < set(tempora.discrete(stream(latency), period_ms=10).served.tolist())


@pytest.mark.parametrize(("period", "served"), [(1, [0, 2, 3, 4]), (2, [0, 1, 4])])
def test_d11_a_slower_stream_may_be_served_less(period, served):
    assert tempora.discrete(stream([2, 6, 1, 2, 1]), period_ms=period).served.tolist() == served


def score(correct, intrinsic, extrinsic, **options):
    """Continuous utility with the examples' lambda and T."""
    trace = tempora.Trace(correct, 10, intrinsic, extrinsic)
    return tempora.continuous(trace, **{"reference_ms": 40, "threshold_ms": 100, **options})


def test_c2_half_at_the_threshold():
    result = score([8], [100], [0])
    assert (result.weights.tolist(), result.utility, result.alignment) == ([0.5], 0.4, 0.0)
    upstream = score([8], [100], [0], ddof=1)
    assert upstream.utility is upstream.alignment is None
    assert upstream.reasons["utility"] == upstream.reasons["alignment"] == "one batch has no covariance with ddof=1"


def test_c3_the_parts_add_up():
    result = score([2, 4, 6], [40] * 3, [60] * 3)
    assert result.wait_ms.tolist() == [40, 100, 100]
    assert result.weights.tolist() == [1, 0.5, 0.5]
    parts = (result.accuracy, result.responsiveness, result.alignment, result.utility)
    assert parts == pytest.approx((0.4, 2 / 3, -1 / 30, 7 / 30), abs=ULP)
    upstream = score([2, 4, 6], [40] * 3, [60] * 3, ddof=1)
    assert (upstream.alignment, upstream.utility) == pytest.approx((-1 / 20, 13 / 60), abs=ULP)


def test_c4_the_late_batch_is_the_right_one():
    result = score([0, 10], [40, 100], [0, 0])
    assert (result.responsiveness, result.alignment, result.utility) == (0.75, -0.125, 0.25)
    assert score([0, 10], [40, 100], [0, 0], ddof=1).utility == 0.125


def test_c5_the_last_extrinsic_part_is_not_waited_for():
    assert score([10, 10], [40, 40], [0, 999]).utility == 1.0


def test_c6_a_fast_prediction_makes_up_for_work_on_the_batch_before():
    result = score([3, 5], [20, 20], [15, 15])
    assert result.wait_ms.tolist() == [20, 35]
    assert result.utility == result.accuracy == 0.4


@pytest.mark.parametrize("reference", [100, 101])
def test_c7_no_time_beyond_standard_inference(reference):
    message = rf"threshold_ms is 100 and reference_ms {reference}: .* give a threshold above the reference"
    with pytest.raises(InputError, match=message):
        score([8], [100], [0], reference_ms=reference)


def spend(budget, *, cost=(10, 10, 10, 10), frozen=0.1, **options):
    """Amortised utility of accuracies 0.3, 0.4, ... at the given cost per batch."""
    correct = list(range(3, 3 + len(cost)))
    trace = tempora.Trace(correct, 10, 40, list(cost))
    return tempora.amortised(trace, budget_ms=budget, reference_ms=40, frozen_accuracy=frozen, **options)


@pytest.mark.parametrize(
    ("name", "budget", "options", "switch", "utility"),
    [
        ("A1", 25, {}, 2, F(9, 40)),
        ("A1", 25, {"cut": "overshoot"}, 3, F(13, 40)),
        ("A2", 20, {}, 2, F(9, 40)),
        ("A2", 20, {"cut": "overshoot"}, 2, F(9, 40)),
        ("A3", 9, {}, 0, F(1, 10)),
        ("A3", 9, {"cut": "overshoot"}, 1, F(3, 20)),
        ("A4", 0, {}, 0, F(1, 10)),
        ("A4", 0, {"cut": "overshoot"}, 0, F(1, 10)),
        ("A5", 40, {}, 4, F(9, 20)),
        ("A5", 40, {"cut": "overshoot"}, 4, F(9, 20)),
        ("A7", 20, {"cost": (10, 10, 0, 5)}, 3, F(13, 40)),
        ("A7", 20, {"cost": (10, 10, 0, 5), "cut": "overshoot"}, 2, F(9, 40)),
    ],
)
def test_amortised(name, budget, options, switch, utility):
    result = spend(budget, **options)
    assert (result.switch, result.adapted_share) == (switch, switch / 4)
    assert result.utility == pytest.approx(float(utility), abs=ULP)


def test_a1_parts():
    result = spend(25)
    assert (result.adapted_share, result.frozen_accuracy) == (0.5, 0.1)
    assert result.adapted_accuracy == pytest.approx(0.35, abs=ULP)
    assert result.spent_ms == 20
    assert spend(25, cut="overshoot").spent_ms == 30


def test_a3_and_a5_undefined_parts_have_a_reason():
    none_adapted, none_frozen = spend(9), spend(40)
    assert none_adapted.adapted_accuracy is None
    assert none_adapted.reasons == {
        "adapted_accuracy": "the budget does not pay for the first batch: none was adapted to"
    }
    assert none_frozen.frozen_accuracy is None
    assert none_frozen.reasons == {"frozen_accuracy": "the budget lasts to the end: no batch was frozen"}
    assert spend(25).reasons == {}


def test_a8_standard_inference_is_not_charged():
    """Costs 0, 0 and 57.8: the third batch is adapted to from a budget of exactly 57.8 ms on."""
    trace = tempora.Trace([1, 1, 1], 2, [39.0, 39.9, 97.7], 0)
    options = {"reference_ms": 39.9, "frozen_accuracy": 0.0}
    assert tempora.amortised(trace, budget_ms=0, **options).switch == 2
    assert tempora.amortised(trace, budget_ms=57.799999, **options).switch == 2
    assert tempora.amortised(trace, budget_ms=57.8, **options).spent_ms == 57.8
    total = tempora.amortised(trace, budget_ms=78.9, frozen_accuracy=0.0, charge="total")
    assert (total.switch, total.spent_ms, total.reference_ms) == (2, 78.9, None)


@pytest.mark.parametrize(
    ("availability", "needed", "insolvent"), [(0.41, 0.7512, False), (0.206, 1.4951, True)], ids=["B1", "B2"]
)
def test_b1_to_b3_break_even(availability, needed, insolvent):
    """AdaBN's 30.8 % at the availability of ETA and of SAR: the accuracy needed, and whether there can be one (B3)."""
    found = tempora.break_even(0.308, availability=availability)
    assert found.accuracy == pytest.approx(needed, abs=5e-5)
    assert found.insolvent is insolvent


# RTX 4080, ResNet-50, period 39.9 ms, 781 batches: latency and availability
SOURCE = {"AdaBN": (41.1, 0.9718), "Tent": (97.1, 0.4123), "ETA": (97.7, 0.4097), "SHOT-IM": (121.0, 0.3316)}
SOURCE |= {"CMF": (160.1, 0.2510), "SAR": (195.2, 0.2061)}


@pytest.mark.parametrize("method", SOURCE)
def test_the_sources_availabilities(method):
    latency, availability = SOURCE[method]
    trace = tempora.Trace(np.zeros(781, dtype=int), 64, latency, 0)
    assert round(tempora.discrete(trace, period_ms=39.9).availability, 4) == availability


def test_hybrid_worked_by_hand():
    """Batch 0: out after 20, discount 1/2, spends all 15 ms. Batch 2 starts at 25 and 3 at 35, frozen, 15 late each.

    U = (0.6 / 2 + 2 x 0.3 x 2/3) / 4 = 7/40, and the parts: 3/4 x (0.4 x 11/18 - 1/90).
    """
    trace = tempora.Trace([6] * 4, 10, 20, 5)
    result = tempora.hybrid(trace, period_ms=10, reference_ms=10, threshold_ms=20, budget_ms=15, frozen_accuracy=0.3)
    assert result.served.tolist() == [0, 2, 3]
    assert result.start_ns.tolist() == [0, 25_000_000, 35_000_000]
    assert result.finish_ns.tolist() == [25_000_000, 35_000_000, 45_000_000]
    assert result.response_ns.tolist() == [20_000_000, 15_000_000, 15_000_000]
    parts = (result.utility, result.availability, result.served_accuracy, result.responsiveness, result.alignment)
    assert parts == pytest.approx((7 / 40, 3 / 4, 0.4, 11 / 18, -1 / 90), abs=ULP)
    assert (result.switch, result.spent_ms, result.adapted_share) == (1, 15.0, pytest.approx(1 / 3))
    assert (result.adapted_accuracy, result.frozen_accuracy) == pytest.approx((0.6, 0.3), abs=ULP)


def test_the_predecessors_rule_worked_by_hand():
    """25 ms against 10: r = 2.5, two skipped, 5 ms idled away; the fallback's 0.2 is earned on four of six batches."""
    result = tempora.relative_speed(stream([25] * 6), reference_ms=10, fallback_accuracy=0.2)
    assert (result.served.tolist(), result.skips.tolist(), result.idle_ms.tolist()) == ([0, 3], [2, 2], [5, 5])
    parts = (result.utility, result.availability, result.served_accuracy, result.optimism)
    assert parts == pytest.approx((13 / 60, 1 / 3, 0.25, 2 / 15), abs=ULP)
    assert result.fallback_accuracy == pytest.approx(0.2, abs=ULP)
    half_speed = tempora.relative_speed(stream([25] * 6), reference_ms=10, fallback_accuracy=0.2, stream_speed=0.5)
    assert (half_speed.served.tolist(), half_speed.idle_ms.tolist()) == ([0, 2, 4], [15, 15, 15])
