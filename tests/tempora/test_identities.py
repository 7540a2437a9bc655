"""The identities that the three utilities must satisfy, numbered as in the specification; those that do not hold in
general (served count in the period, utility in anything but T) are left out on purpose."""

from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import tempora
from helpers.tempora import pipeline

from . import oracle

#: Sums of up to 40 terms of at most 1 in doubles.
ROUNDING = 1e-14
MS = 1_000_000


@st.composite
def traces(draw, least=1, longest=40, slowest=60):
    """Small whole milliseconds, so that ties of arrivals and finishes are frequent; sizes differ."""
    n = draw(st.integers(least, longest))
    rows = [draw(st.lists(st.integers(0, slowest), min_size=n, max_size=n)) for _ in range(2)]
    size = draw(st.lists(st.integers(1, 9), min_size=n, max_size=n))
    correct = [draw(st.integers(0, most)) for most in size]
    return tempora.Trace(correct, size, *rows)


@st.composite
def switches(draw):
    """Buffer and tie."""
    return {"buffer": draw(st.integers(0, 4)), "tie": draw(st.sampled_from(["arrival", "buffer"]))}


periods = st.integers(1, 70)


def exact(trace):
    """Accuracies as fractions."""
    return [F(c, s) for c, s in zip(trace.correct.tolist(), trace.size.tolist(), strict=True)]


def in_ms(array_ns):
    """Whole milliseconds as integers."""
    return (array_ns // MS).tolist()


@given(traces(), switches())
def test_01_a_pipeline_that_keeps_up_serves_everything(trace, options):
    period = max(1, int(trace.latency_ms.max()))
    result = tempora.discrete(trace, period_ms=period, **options)
    assert result.availability == 1.0
    assert result.utility == pytest.approx(float(oracle.mean(exact(trace))), abs=ROUNDING)


@given(traces(), periods, switches(), st.sampled_from(["batch", "sample"]))
def test_02_utility_is_availability_times_served_accuracy(trace, period, options, weight):
    result = tempora.discrete(trace, period_ms=period, weight=weight, **options)
    assert result.utility == pytest.approx(result.availability * result.served_accuracy, rel=1e-14, abs=1e-300)
    assert result.utility <= result.availability <= 1.0
    if weight == "batch":
        assert result.utility == pytest.approx(
            float(oracle.discrete_utility(exact(trace), result.served.tolist())), abs=ROUNDING
        )


@given(traces(), periods, switches())
def test_03_work_conserving(trace, period, options):
    result = tempora.discrete(trace, period_ms=period, **options)
    arrival = result.served * period * MS
    assert result.served[0] == 0
    assert options["buffer"] == 0 or result.served[-1] == trace.n - 1
    assert (np.diff(result.served) > 0).all()
    assert (result.start_ns >= arrival).all()
    assert (result.finish_ns - result.start_ns == trace.latency_ns[result.served]).all()
    assert (result.start_ns[1:] == np.maximum(result.finish_ns[:-1], arrival[1:])).all()
    assert (result.response_ns == result.start_ns - arrival + trace.intrinsic_ns[result.served]).all()


@given(st.integers(1, 60), periods, st.integers(0, 300))
def test_04_closed_form_for_constant_latency(n, period, above):
    latency = period + above
    served = tempora.discrete(tempora.Trace([0] * n, 1, latency, 0), period_ms=period).served
    assert len(served) == min(n, -(-(n - 1) * period // latency) + 1)


def test_04_the_limit_of_a_long_stream():
    """780 gaps: the first and the last batch make up at most 2/781."""
    result = tempora.discrete(tempora.Trace([0] * 781, 64, 41.1, 56.6), period_ms=39.9)
    assert 0 < result.availability - 39.9 / 97.7 < 2 / 781


@given(traces(), periods, switches(), st.integers(2, 1000))
def test_05_the_unit_of_time_is_arbitrary(trace, period, options, factor):
    slower = tempora.Trace.from_ns(trace.correct, trace.size, trace.intrinsic_ns * factor, trace.extrinsic_ns * factor)
    one, other = (
        tempora.discrete(trace, period_ms=period, **options),
        tempora.discrete(slower, period_ms=period * factor, **options),
    )
    assert one.served.tolist() == other.served.tolist()
    assert (one.start_ns * factor == other.start_ns).all()
    assert one.utility == other.utility


@given(traces(), periods, switches())
def test_06_the_recursion_is_the_event_queue(trace, period, options):
    result = tempora.discrete(trace, period_ms=period, **options)
    arrival = [i * period for i in range(trace.n)]
    simulated = oracle.event_queue(in_ms(trace.latency_ns), arrival, **options)
    assert (result.served.tolist(), in_ms(result.start_ns), in_ms(result.finish_ns)) == simulated
    if options == {"buffer": 1, "tie": "arrival"}:
        assert simulated == oracle.recursion(in_ms(trace.latency_ns), period)


@given(traces(), periods)
def test_06_the_published_formula_is_the_default(trace, period):
    result = tempora.discrete(trace, period_ms=period)
    formula = oracle.recursion(in_ms(trace.latency_ns), period)
    assert (result.served.tolist(), in_ms(result.start_ns), in_ms(result.finish_ns)) == formula
    literal, _, _ = oracle.recursion(in_ms(trace.latency_ns), period, drained=False)
    assert literal in (formula[0], formula[0][:-1])  # the drain adds the last batch and nothing else


@given(traces(), st.data(), switches())
def test_06_with_arrivals_of_their_own(trace, data, options):
    """Equal arrivals included."""
    gaps = data.draw(st.lists(st.integers(0, 50), min_size=trace.n, max_size=trace.n))
    arrival = np.cumsum(gaps).tolist()
    bursty = tempora.Trace.from_ns(
        trace.correct, trace.size, trace.intrinsic_ns, trace.extrinsic_ns, arrival_ns=np.array(arrival) * MS
    )
    result = tempora.discrete(bursty, **options)
    simulated = oracle.event_queue(in_ms(trace.latency_ns), arrival, **options)
    assert (result.served.tolist(), in_ms(result.start_ns), in_ms(result.finish_ns)) == simulated
    assert result.period_ms is None


@given(st.lists(traces(longest=12), min_size=1, max_size=5), st.lists(periods, min_size=1, max_size=4), switches())
def test_06_stepping_all_together_is_stepping_one_by_one(logs, gaps, options):
    n = min(trace.n for trace in logs)
    latency = np.stack([trace.latency_ns[:n] for trace in logs])
    together = pipeline.serve_many(latency, np.array(gaps) * MS, **options)
    for i, j in np.ndindex(len(logs), len(gaps)):
        arrival = range(0, n * gaps[j] * MS, gaps[j] * MS)
        alone, _, _ = pipeline.serve(latency[i].tolist().__getitem__, arrival, **options)
        assert np.flatnonzero(together[i, j]).tolist() == alone.tolist()


@given(st.integers(1, 60), periods, st.integers(0, 200), st.sampled_from(["arrival", "buffer"]))
def test_08_a_buffer_never_hurts_at_constant_latency(n, period, latency, tie):
    trace = tempora.Trace([0] * n, 1, latency, 0)
    buffered = tempora.discrete(trace, period_ms=period, tie=tie)
    assert len(buffered.served) >= len(tempora.discrete(trace, period_ms=period, buffer=0).served)


@given(traces(), periods, switches(), st.integers(0, 500))
def test_09_what_is_never_served_changes_nothing(trace, period, options, other):
    result = tempora.discrete(trace, period_ms=period, **options)
    lost = np.ones(trace.n, dtype=bool)
    lost[result.served] = False
    changed = tempora.Trace.from_ns(
        np.where(lost, 0, trace.correct),
        trace.size,
        np.where(lost, other * MS, trace.intrinsic_ns),
        np.where(lost, 0, trace.extrinsic_ns),
    )
    again = tempora.discrete(changed, period_ms=period, **options)
    assert again.served.tolist() == result.served.tolist()
    assert again.to_dict() == result.to_dict()


limits = st.tuples(st.integers(0, 60), st.integers(1, 100)).map(lambda pair: (pair[0], pair[0] + pair[1]))


def score(trace, limit, **options):
    """Continuous utility with a pair (lambda, T)."""
    return tempora.continuous(trace, reference_ms=limit[0], threshold_ms=limit[1], **options)


@given(traces(), limits, st.sampled_from(["batch", "sample"]))
def test_10_the_parts_of_continuous_utility_add_up(trace, limit, weight):
    result = score(trace, limit, weight=weight)
    parts = result.accuracy * result.responsiveness + result.alignment
    assert result.utility == pytest.approx(parts, abs=ROUNDING)
    mass = trace.size if weight == "sample" else np.ones(trace.n)
    assert result.utility == pytest.approx(np.average(trace.accuracy * result.weights, weights=mass), abs=ROUNDING)


@given(traces(), limits)
def test_10_against_fractions(trace, limit):
    kappa = oracle.kappas(in_ms(trace.intrinsic_ns), in_ms(trace.extrinsic_ns), *limit)
    result = score(trace, limit)
    assert result.weights.tolist() == [float(k) for k in kappa]
    found = (result.accuracy, result.responsiveness, result.alignment, result.utility)
    assert found == pytest.approx([float(x) for x in oracle.continuous(exact(trace), kappa)], abs=ROUNDING)
    if trace.n > 1:
        upstream = score(trace, limit, ddof=1)
        expected = oracle.continuous(exact(trace), kappa, ddof=1)
        assert (upstream.alignment, upstream.utility) == pytest.approx([float(x) for x in expected[2:]], abs=ROUNDING)


@given(traces(), limits)
def test_11_the_discount(trace, limit):
    result = score(trace, limit)
    assert ((result.weights > 0) & (result.weights <= 1)).all()
    assert ((result.weights == 1) == (result.wait_ms <= limit[0])).all()
    assert ((result.weights == 0.5) == (result.wait_ms == limit[1])).all()


@given(traces(), limits)
def test_12_at_most_the_accuracy(trace, limit):
    result = score(trace, limit)
    assert result.utility <= result.accuracy
    late_and_right = (result.wait_ms > limit[0]) & (trace.correct > 0)
    assert (result.utility == result.accuracy) == (not late_and_right.any())


@given(traces(), limits, st.integers(1, 500))
def test_13_a_longer_threshold_never_hurts(trace, limit, more):
    assert score(trace, (limit[0], limit[1] + more)).utility >= score(trace, limit).utility


@given(traces(), limits)
def test_14_without_hurry_utility_is_accuracy(trace, limit):
    """At a threshold of 10^9 ms a wait of at most 120 ms costs at most 1.2e-7."""
    result = score(trace, (limit[0], 10**9))
    assert result.accuracy - 2e-7 <= result.utility <= result.accuracy


@given(traces(), limits, st.integers(0, 1000))
def test_15_the_last_extrinsic_part_has_no_effect(trace, limit, other):
    extrinsic = trace.extrinsic_ns.copy()
    extrinsic[-1] = other * MS
    changed = tempora.Trace.from_ns(trace.correct, trace.size, trace.intrinsic_ns, extrinsic)
    assert score(changed, limit).to_dict() == score(trace, limit).to_dict()
    assert score(trace, limit).wait_ns[0] == trace.intrinsic_ns[0]


@given(traces(), limits)
def test_16_bounds_of_the_alignment(trace, limit):
    result = score(trace, limit)
    assert abs(result.alignment) <= np.std(trace.accuracy) * np.std(result.weights) + ROUNDING
    if trace.n == 1:
        assert result.alignment == 0.0


@given(traces(), st.integers(0, 50))
def test_16_a_constant_discount_aligns_with_nothing(trace, wait):
    steady = tempora.Trace(trace.correct, trace.size, wait, 0)
    assert score(steady, (10, 30)).alignment == pytest.approx(0.0, abs=1e-16)


def test_17_the_order_matters_because_work_is_carried_over():
    rows = np.array([[9, 40, 0], [1, 40, 60], [5, 40, 0]])
    swapped = rows[[1, 0, 2]]
    one, other = (
        score(tempora.Trace(correct, 10, intrinsic, extrinsic), (40, 100))
        for correct, intrinsic, extrinsic in (rows.T, swapped.T)
    )
    assert one.wait_ms.tolist() == [40, 40, 100]
    assert other.wait_ms.tolist() == [40, 100, 40]
    assert one.utility != other.utility


@given(traces(), limits, st.integers(0, 60), st.randoms())
def test_17_unless_the_extrinsic_part_is_constant(trace, limit, rest, random):
    """Then only the first wait, without work before it, depends on the order: the first batch stays where it is."""
    order = [0, *random.sample(range(1, trace.n), trace.n - 1)]
    one, other = (
        score(tempora.Trace(trace.correct[rows], trace.size[rows], trace.intrinsic_ms[rows], rest), limit)
        for rows in (list(range(trace.n)), order)
    )
    assert one.utility == pytest.approx(other.utility, abs=ROUNDING)


budgets = st.integers(0, 3000)
rules = st.fixed_dictionaries({"cut": st.sampled_from(["within", "overshoot"])})


def spend(trace, budget, reference, frozen=0.25, **options):
    """Amortised utility."""
    return tempora.amortised(trace, budget_ms=budget, reference_ms=reference, frozen_accuracy=frozen, **options)


def cost_of(trace, reference):
    """Cost of each batch in ms."""
    return [max(0, latency - reference) for latency in in_ms(trace.latency_ns)]


@given(traces(), budgets, st.integers(0, 80), rules, st.data())
def test_18_the_parts_of_amortised_utility(trace, budget, reference, options, data):
    frozen = [data.draw(st.integers(0, 8)) / 8 for _ in range(trace.n)]
    result = spend(trace, budget, reference, frozen=frozen, **options)
    m = oracle.switch(cost_of(trace, reference), budget, **options)
    assert result.switch == m
    assert result.utility == pytest.approx(
        float(oracle.amortised_utility(exact(trace), [F(a) for a in frozen], m)), abs=ROUNDING
    )
    parts = result.adapted_share * (result.adapted_accuracy or 0) + (1 - result.adapted_share) * (
        result.frozen_accuracy or 0
    )
    assert result.utility == parts
    assert (result.adapted_accuracy is None) == (m == 0) == ("adapted_accuracy" in result.reasons)
    assert (result.frozen_accuracy is None) == (m == trace.n) == ("frozen_accuracy" in result.reasons)
    function = spend(trace, budget, reference, frozen=lambda switch: frozen[switch:], **options)
    assert function.to_dict() == result.to_dict()


@given(traces(), budgets, st.integers(0, 80))
def test_19_the_budget_lies_between_two_batches(trace, budget, reference):
    m, cost = spend(trace, budget, reference).switch, cost_of(trace, reference)
    assert sum(cost[:m]) <= budget
    assert m == trace.n or sum(cost[: m + 1]) > budget


@given(traces(), budgets, st.integers(0, 80), st.integers(0, 500), rules)
def test_20_more_budget_adapts_no_less(trace, budget, reference, more, options):
    less, enough = (spend(trace, b, reference, **options).switch for b in (budget, budget + more))
    assert less <= enough


@given(traces(), st.integers(0, 80), st.integers(0, 100))
def test_21_the_two_ends_of_the_budget(trace, reference, more):
    cost = cost_of(trace, reference)
    offline = float(oracle.mean(exact(trace)))
    assert spend(trace, sum(cost) + more, reference, frozen=None).utility == pytest.approx(offline, abs=ROUNDING)
    if cost[0] > 0:
        none = spend(trace, cost[0] - 1, reference, frozen=0.25)
        assert (none.switch, none.utility) == (0, 0.25)


@given(traces(), budgets)
def test_22_what_costs_nothing_never_ends(trace, budget):
    assert spend(trace, budget, 120, frozen=None).switch == trace.n


@given(traces(), budgets, st.integers(0, 80))
def test_23_the_overshoot(trace, budget, reference):
    m, cost = spend(trace, budget, reference).switch, cost_of(trace, reference)
    over = spend(trace, budget, reference, cut="overshoot").switch
    assert over <= m + 1
    if over < m:
        assert sum(cost[:over]) == budget
        assert set(cost[over:m]) == {0}


@given(traces(), st.integers(1, 50), st.sampled_from([1, 0.5, 0.25]))
def test_the_predecessors_rule_is_the_unbuffered_pipeline(trace, reference, speed):
    result = tempora.relative_speed(trace, reference_ms=reference, fallback_accuracy=0, stream_speed=speed)
    same = tempora.discrete(trace, period_ms=reference / speed, buffer=0)
    assert (
        result.served.tolist() == same.served.tolist() == oracle.delayed(in_ms(trace.latency_ns), reference, F(speed))
    )
    assert result.utility == pytest.approx(same.utility, abs=ROUNDING)
    gaps = np.diff(result.served) - 1
    assert result.skips[:-1].tolist() == gaps.tolist()


@given(traces(), periods, limits, budgets, st.data())
def test_hybrid_against_its_own_simulation(trace, period, limit, budget, data):
    frozen = [data.draw(st.integers(0, 8)) for _ in range(trace.n)]
    result = tempora.hybrid(
        trace,
        period_ms=period,
        reference_ms=limit[0],
        threshold_ms=limit[1],
        budget_ms=budget,
        frozen_accuracy=[a / 8 for a in frozen],
    )
    utility, served, adapted = oracle.hybrid(
        exact(trace),
        in_ms(trace.intrinsic_ns),
        in_ms(trace.extrinsic_ns),
        [F(a, 8) for a in frozen],
        arrival=[i * period for i in range(trace.n)],
        reference=limit[0],
        threshold=limit[1],
        budget=budget,
    )
    assert (result.served.tolist(), result.switch) == (served, adapted)
    assert result.utility == pytest.approx(float(utility), abs=ROUNDING)
    joint = result.served_accuracy * result.responsiveness + result.alignment
    assert result.utility == pytest.approx(result.availability * joint, abs=ROUNDING)
    phases = result.adapted_share * (result.adapted_accuracy or 0) + (1 - result.adapted_share) * (
        result.frozen_accuracy or 0
    )
    assert result.served_accuracy == pytest.approx(phases, abs=ROUNDING)


@given(traces(), periods, budgets, st.integers(0, 80), switches(), st.sampled_from(["batch", "sample"]), rules)
def test_hybrid_with_two_constraints_out_of_reach(trace, period, budget, reference, options, weight, cut):
    """A threshold of 10^9 ms takes less than 1e-5 off a wait of at most 41 x 120 ms."""
    far = {"threshold_ms": 10**9, "reference_ms": reference, "weight": weight}
    alone = tempora.discrete(trace, period_ms=period, weight=weight, **options)
    mixed = tempora.hybrid(trace, period_ms=period, budget_ms=10**6, **far, **options)
    assert mixed.served.tolist() == alone.served.tolist()
    assert (mixed.start_ns == alone.start_ns).all() and (mixed.finish_ns == alone.finish_ns).all()
    assert mixed.utility == pytest.approx(alone.utility, abs=1e-5)
    spent = spend(trace, budget, reference, weight=weight, **cut)
    slow = tempora.hybrid(trace, period_ms=1000, budget_ms=budget, frozen_accuracy=0.25, **far, **options, **cut)
    assert (slow.switch, slow.spent_ms) == (spent.switch, spent.spent_ms)
    assert slow.utility == pytest.approx(spent.utility, abs=1e-5)
