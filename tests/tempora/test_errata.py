"""Each entry of book/errata/tempora.yml, shown: the source's claim fails, and what is said to hold instead does."""

from fractions import Fraction as F

import numpy as np
import pytest
import torch
from scipy.stats import norm

from helpers import results, tempora
from helpers.errors import InputError
from helpers.uncertainty import clopper_pearson

from . import oracle

BATCHES, REFERENCE_MS = 781, 39.9
DISCRETE, CONTINUOUS, AMORTISED = "discrete rho=100%", "continuous T=50ms", "amortised B=1s"


def published(table):
    """Rows of a table as {(row, column): value}."""
    return {(row["row"], row["column"]): row["value"] for row in results.published("tempora", table)}


def constant(latency_ms, n=BATCHES):
    """A stream at a constant latency. Its accuracy does not matter."""
    return tempora.Trace(np.full(n, 32), 64, latency_ms, 0, reference_ms=REFERENCE_MS)


def stream(latency):
    """Accuracies 0.1, 0.2, ... and these latencies."""
    return tempora.Trace(list(range(1, len(latency) + 1)), 10, latency, 0)


def exact_availability(method):
    latency = published("T2-latency")[method, "latency"]
    return tempora.availability(latency, period_ms=REFERENCE_MS, batches=BATCHES)


def test_offline_column_contradicts_itself():
    utility, latency = published("T1-utility"), published("T2-latency")
    assert (utility["AdaBN", "offline accuracy"], utility["SAR", "offline accuracy"]) == (26, 32)
    # a weight is at most 1, so no continuous utility exceeds the mean accuracy
    assert utility["AdaBN", CONTINUOUS] == 28.42 > 26 + 0.5
    adabn = tempora.amortised(constant(latency["AdaBN", "latency"]), budget_ms=1000)
    assert (adabn.switch, f"{adabn.spent_ms:.0f}") == (BATCHES, "937")
    for method, offline in (("AdaBN", 31.8), ("SAR", 44.7)):
        late = tempora.continuous(constant(latency[method, "latency"]), threshold_ms=50)
        assert round(utility[method, CONTINUOUS] / late.responsiveness, 1) == offline
    assert utility["AdaBN", AMORTISED] == 31.72


def test_pressure_labels_are_rounded():
    periods = {cell.label: cell for cell in tempora.scenarios() if cell.protocol == "discrete"}
    assert list(periods) == ["rho=100%", "rho=70%", "rho=50%", "rho=35%", "rho=25%"]
    assert [round(100 * cell.pressure, 1) for cell in periods.values()] == [100, 70.7, 50, 35.4, 25]
    meant, labelled = periods["rho=70%"].limit_ms, REFERENCE_MS / 0.70
    assert (round(meant, 1), round(labelled, 1)) == (56.4, 57.0)
    share = [tempora.discrete(constant(97.7), period_ms=period).availability for period in (meant, labelled)]
    assert 0.004 < share[1] - share[0] < 0.008


def test_break_even_from_rounded_availability():
    rival = published("T1-utility")["AdaBN", DISCRETE] / 100
    for method, digits, printed, exact in (("ETA", 2, 75.1, 75.2), ("SAR", 3, 149.5, 149.4)):
        share = exact_availability(method)
        assert published("T3-findings")[f"{method} at rho=100%", "break-even served accuracy"] == printed
        rounded = tempora.break_even(rival, availability=round(share, digits))
        found = tempora.break_even(rival, availability=share)
        assert (round(100 * rounded.accuracy, 1), round(100 * found.accuracy, 1)) == (printed, exact)
        assert rounded.insolvent is found.insolvent is (method == "SAR")


def test_eta_is_not_insolvent():
    rival = published("T1-utility")["AdaBN", DISCRETE] / 100
    found = {
        method: tempora.break_even(rival, availability=exact_availability(method))
        for method in ("Tent", "ETA", "SHOT-IM", "CMF", "SAR")
    }
    assert {method for method, needed in found.items() if needed.insolvent} == {"CMF", "SAR"}
    served = published("T3-findings")["ETA at rho=100%", "served accuracy"] / 100
    assert 1.5 * served < found["ETA"].accuracy < 1
    assert round(found["ETA"].accuracy / served, 2) == 1.65


def test_covariance_with_ddof_1():
    trace = tempora.Trace([0, 10], 10, [40, 100], 0)
    found, code = (tempora.continuous(trace, threshold_ms=100, reference_ms=40, ddof=ddof) for ddof in (0, 1))
    assert found.weights.tolist() == [1, 0.5]
    mean_of_products = float(np.mean(trace.accuracy * found.weights))
    assert (found.utility, code.utility) == (mean_of_products, 0.125) == (0.25, 0.125)
    assert code.alignment == pytest.approx(np.cov(trace.accuracy, found.weights)[0, 1])
    one = tempora.continuous(constant(100, n=1), threshold_ms=100, ddof=1)
    assert one.utility is None and "one batch" in one.reasons["utility"]
    # what a paper of 781 batches would not notice
    hits = np.random.default_rng(0).binomial(64, 0.4, size=BATCHES)
    noisy = tempora.Trace(hits, 64, 40 + hits, 0, reference_ms=REFERENCE_MS)
    long = [tempora.continuous(noisy, threshold_ms=50, ddof=ddof).utility for ddof in (0, 1)]
    assert 0 < abs(long[0] - long[1]) < 1e-4


def literal(latency, period, *, base):
    """The printed pointer, max(p + 1, floor(f / period) + 1), batches counted from `base`; the first arrives at 0."""
    served, batch, free = [], base, 0
    while batch < len(latency) + base:
        served.append(batch - base)
        free = max(free, (batch - base if base else batch) * period) + latency[batch - base]
        batch = max(batch + 1, free // period + 1)
    return served


@pytest.mark.parametrize("latency", [[25] * 6, [12] * 6, [5, 32, 5, 5, 5, 5], [17, 23, 4, 41, 8, 19, 33, 2, 26, 11]])
def test_index_base_decides_the_buffer(latency):
    trace = stream(latency)
    without, buffered = (tempora.discrete(trace, period_ms=10, buffer=size).served.tolist() for size in (0, 1))
    assert literal(latency, 10, base=0) == without != buffered
    # counted from 1 it is the buffered pipeline, as far as the literal pointer goes
    found = literal(latency, 10, base=1)
    assert found == oracle.recursion(latency, 10, drained=False)[0]
    assert buffered[: len(found)] == found and len(buffered) <= len(found) + 1
    if latency == [25] * 6:
        assert (without, buffered) == ([0, 3], [0, 2, 5])


def test_literal_recursion_loses_the_last_batch():
    for latency, short, whole in (([100, 1, 1, 1, 1, 1], [0], [0, 5]), ([25] * 5, [0, 2], [0, 2, 4])):
        assert literal(latency, 10, base=1) == short
        for tie in ("arrival", "buffer"):  # the code drains its queue too
            assert oracle.event_queue(latency, range(0, 10 * len(latency), 10), tie=tie)[0][-1] == len(latency) - 1
        assert tempora.discrete(stream(latency), period_ms=10).served.tolist() == whole
    found = tempora.discrete(stream([25] * 5), period_ms=10)
    assert found.utility == pytest.approx(float(F(9, 50)), abs=1e-15)
    assert oracle.discrete_utility([F(i, 10) for i in range(1, 6)], [0, 2]) == F(2, 25)


def test_code_and_formula_break_ties_differently():
    utility = {}
    for tie, served in (("arrival", [0, 2, 4, 5]), ("buffer", [0, 1, 3, 5])):
        found = tempora.discrete(stream([20] * 6), period_ms=10, tie=tie)
        assert found.served.tolist() == served == oracle.event_queue([20] * 6, range(0, 60, 10), tie=tie)[0]
        utility[tie] = found.utility
    assert utility == pytest.approx({"arrival": float(F(1, 4)), "buffer": float(F(13, 60))}, abs=1e-15)
    # no tie, no difference
    same = [tempora.discrete(stream([21] * 6), period_ms=10, tie=tie).served.tolist() for tie in ("arrival", "buffer")]
    assert same[0] == same[1]


def test_floats_misplace_arrivals():
    step, finish, summed = 39.9, 0.0, 0
    for k in range(1, BATCHES + 1):
        finish += step
        summed += int(finish / step) != k
    assert summed == 379
    assert sum(int(k * step / step) != k for k in range(1, BATCHES + 1)) == 42
    whole = tempora.parse_ms(step)
    assert all(k * whole // whole == k for k in range(1, BATCHES + 1))

    batch, free, served = 0, 0.0, []
    while batch < BATCHES:  # the recursion in floats, every latency two periods
        served.append(batch)
        free = max(free, batch * step) + 2 * step
        batch = max(batch + 1, min(int(free / step), BATCHES - 1))
    exact = tempora.discrete(constant(79.8), period_ms=step).served.tolist()
    assert exact == [*range(0, BATCHES, 2)]
    assert served != exact


def test_budget_is_overshot():
    trace = tempora.Trace([3, 4, 5, 6], 10, 40, 10, reference_ms=40)
    for budget, within, overshoot in ((25, 2, 3), (20, 2, 2), (9, 0, 1), (0, 0, 0)):
        costs = [10] * 4
        found = [
            tempora.amortised(trace, budget_ms=budget, frozen_accuracy=0.1, cut=cut).switch
            for cut in ("within", "overshoot")
        ]
        assert found == [within, overshoot] == [oracle.switch(costs, budget, cut=c) for c in ("within", "overshoot")]
    for cut, adapted in (("within", (35.5, 37.2, 39.2)), ("overshoot", (33.5, 33.1, 33.6))):
        for method, accuracy in zip(("ETA", "CMF", "SAR"), adapted, strict=True):
            log = constant(published("T2-latency")[method, "latency"])
            share = tempora.amortised(log, budget_ms=1000, frozen_accuracy=0.001, cut=cut).adapted_share
            utility = published("T1-utility")[method, AMORTISED] / 100
            implied = [
                100 * tempora.break_even(utility, adapted_share=share, frozen_accuracy=frozen).accuracy
                for frozen in (0.001, 0.0015, 0.0005)
            ]
            assert implied[0] == pytest.approx(accuracy, abs=0.051)
            # what 0.1 % is rounded from leaves points of room
            assert implied[1] < accuracy - 2 and implied[2] > accuracy + 2


def test_collapse_needs_no_adaptation():
    """Two classes on either side of a feature's mean; a batch normalisation, and no gradient step at all."""
    rng = np.random.default_rng(0)
    labels = rng.integers(2, size=6400)
    feature = torch.tensor(30 + 2 * labels + rng.normal(0, 0.2, 6400), dtype=torch.float32)[:, None]
    for batches, left in ((7, 0.48), (9, 0.39), (18, 0.15)):
        assert round(0.9**batches, 2) == left
        accuracy = {}
        for start in ("reset", "source"):
            norm_layer = torch.nn.BatchNorm1d(1, momentum=0.1)
            if start == "source":
                norm_layer.running_mean[:], norm_layer.running_var[:] = feature.mean(), feature.var()
            for k in range(batches):
                batch = feature[64 * k : 64 * (k + 1)]
                adapting = (norm_layer(batch) > 0).squeeze().numpy() == labels[64 * k : 64 * (k + 1)]
                assert adapting.mean() > 0.9  # with the batch's own statistics all is well
            norm_layer.eval()
            with torch.no_grad():
                accuracy[start] = float(np.mean((norm_layer(feature) > 0).squeeze().numpy() == labels))
        assert accuracy["source"] > 0.99
        assert accuracy["reset"] == pytest.approx(0.5, abs=0.02)  # everything is taken for one class


def test_milliseconds_do_not_travel_alone():
    wait, threshold = constant(50, n=3), 100
    worth = [
        tempora.continuous(wait, threshold_ms=threshold, reference_ms=reference).responsiveness
        for reference in (39.9, 12.3, 50)
    ]
    assert [round(value, 2) for value in worth] == [0.86, 0.70, 1]
    with pytest.raises(InputError, match=r"threshold_ms is 100 and reference_ms 105.3"):
        tempora.continuous(wait, threshold_ms=threshold, reference_ms=105.3)
    twice = tempora.continuous(constant(100, n=3), threshold_ms=2 * threshold, reference_ms=2 * 12.3)
    assert twice.responsiveness == worth[1]


def test_six_sigma_is_not_five_nines():
    assert norm.sf(6) < 1.01e-9
    assert round(norm.isf(1e-5), 1) == 4.3
    # the worst case of Cantelli's bound 1 / (1 + 36): one batch in 37 lies six deviations above the mean
    worst = np.array([10] * 36 + [47])
    assert worst[-1] - worst.mean() == pytest.approx(6 * worst.std())
    found = tempora.reference_latency(worst.astype(float), sigmas=5.999)
    assert (found.exceedance.count, found.exceedance.n) == (1, 37)
    _, high = clopper_pearson(0, 11_715)
    assert 1e-4 < high < 1e-3


def test_overhead_counts_from_the_reference():
    rng = np.random.default_rng(0)
    times = rng.normal(37.5, 0.4, size=2000)
    reference = tempora.reference_latency(times)
    lam = reference.value_ms
    standard = tempora.Trace(np.ones(2000, dtype=int), 2, times, 0, method="Standard", reference_ms=lam)
    slower = tempora.Trace(np.ones(2000, dtype=int), 2, times + 3, 0, method="AdaBN", reference_ms=lam)
    base, row = tempora.latency_table([standard, slower])
    assert base.intrinsic_above_reference_ms < 0 and base.slow_down < 1
    true_overhead = row.intrinsic_ms - base.intrinsic_ms
    assert true_overhead == pytest.approx(3)
    assert true_overhead - row.intrinsic_above_reference_ms == pytest.approx(6 * reference.deviation_ms, abs=1e-6)
    assert row.slow_down < row.latency_ms / base.latency_ms
    printed = published("T2-latency")["AdaBN", "slow-down"]
    assert round(published("T2-latency")["AdaBN", "latency"] / REFERENCE_MS, 2) == printed == 1.03


def test_seven_hundred_and_fifty_evaluations():
    text = published("text")
    methods, corruptions, grid = text["experiment", "methods"], text["experiment", "corruptions"], tempora.scenarios()
    assert text["experiment", "evaluations"] == 750
    assert methods * corruptions * len(grid) == 2160
    assert corruptions * len(grid) == 240
    periods = [cell for cell in grid if cell.protocol == "discrete"]
    assert (methods + 1) * corruptions * len(periods) == 750
