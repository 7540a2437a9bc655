"""Percentiles, the reference latency and the verdict: against exact binomial sums and at each boundary."""

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import uncertainty
from helpers.errors import InputError
from helpers.tempora import least_batches, percentile, reference_latency
from helpers.tempora.record import Trace
from helpers.tempora.validity import validity

MS = 1_000_000


def refused(message, call, *args, **kwargs):
    with pytest.raises(InputError) as refusal:
        call(*args, **kwargs)
    assert message in str(refusal.value)


def chance(n, p, most):
    """P(Bin(n, p) <= most), summed in exact fractions."""
    return sum(math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(most + 1))


def timed(latency_ms, **options):
    """A trace of so many batches whose latency is all intrinsic."""
    latency = np.round(latency_ms, 6)
    return Trace(np.full(len(latency), 30), 64, latency, 0, **options)


@pytest.fixture
def steady():
    """700 latencies between 39 and 40 ms, without any trend."""
    return 39.0 + np.random.default_rng(0).random(700)


# --- percentiles


@given(st.lists(st.integers(0, 50), min_size=1, max_size=40), st.sampled_from([1, 25, 50, 75, 90, 99, 99.9]))
def test_a_percentile_is_the_smallest_value_that_enough_do_not_exceed(times, percent):
    share = Fraction(str(percent)) / 100
    enough = [t for t in times if sum(other <= t for other in times) >= share * len(times)]
    assert percentile(np.array(times) * MS, percent).value_ms == min(enough)


def test_the_rank_is_exact():
    """In floats 0.07 * 100 and 0.28 * 100 lie above 7 and 28, so that rounding up would take the next rank."""
    assert 0.07 * 100 > 7
    assert 0.28 * 100 > 28
    for percent in range(1, 100):
        assert percentile(np.arange(1, 101) * MS, percent).value_ms == percent
    assert percentile(np.arange(1, 1001) * MS, 99.9).value_ms == 999
    assert percentile(np.array([5, 3, 9]) * MS, 50).value_ms == 5


@pytest.mark.parametrize("n", [40, 100, 150])
@pytest.mark.parametrize("percent", [50, 90])
@pytest.mark.parametrize("confidence", [0.9, 0.95])
def test_the_interval_of_a_percentile_is_exact_and_as_short_as_can_be(n, percent, confidence):
    """With continuous latencies it covers if from low to high - 1 of n lie below: each tail at most half the rest."""
    found = percentile(np.arange(1, n + 1) * MS, percent, confidence=confidence)
    low, high = map(int, found.interval)
    share, tail = Fraction(percent, 100), Fraction(str(1 - confidence)).limit_denominator(1000) / 2
    assert chance(n, share, low - 1) <= tail < chance(n, share, low)
    assert 1 - chance(n, share, high - 1) <= tail < 1 - chance(n, share, high - 2)


def test_too_few_batches_for_an_interval():
    """At level .95 the 99th percentile needs .99^n <= .025: 368 batches, and not one less."""
    assert 0.99**368 <= 0.025 < 0.99**367
    assert percentile(np.arange(368), 99).interval is not None
    short = percentile(np.arange(367) * MS, 99)
    assert short.interval is None
    assert short.value_ms == 363
    assert short.reason == "with 367 batches the 99th percentile has no upper end: 368 are needed"
    assert "1st percentile has no lower end: 368 are needed" in percentile(np.arange(367), 1).reason
    assert json.loads(json.dumps(short.to_dict()))["interval"] is None


@pytest.mark.parametrize(("percent", "least"), [(90, 64), (99, 662), (99.9, 6636), (50, 11)])
def test_least_batches_by_exact_sums(percent, least):
    """MLPerf's 64 and 662 among them: with 99 % confidence two or more lie beyond the percentile."""
    beyond = 1 - Fraction(str(percent)) / 100
    if least < 1000:
        assert chance(least, beyond, 1) <= Fraction(1, 100) < chance(least - 1, beyond, 1)
    assert least_batches(percent) == least


def test_least_batches_follow_the_confidence():
    assert least_batches(90, confidence=0.9) == 38
    assert chance(38, Fraction(1, 10), 1) <= Fraction(1, 10) < chance(37, Fraction(1, 10), 1)


def test_percentile_refusals():
    for percent in (0, 100, -1, math.nan, True, "99"):
        refused("percent is", percentile, np.arange(5), percent)
        refused("percent is", least_batches, percent)
    refused("latency_ns is empty", percentile, np.array([], dtype=np.int64), 50)
    refused("confidence is 2", least_batches, 90, confidence=2)


# --- reference latency


def test_six_population_standard_deviations_above_the_mean():
    """Latencies 38, 38, 40, 48: mean 41, deviations -3, -3, -1, 7, variance 68 / 4 = 17."""
    found = reference_latency([38, 38, 40, 48])
    assert found.value_ns == round((41 + 6 * math.sqrt(17)) * MS)
    assert found.deviation_ms == pytest.approx(math.sqrt(17))
    assert (found.mean_ms, found.n, found.exceedance.count) == (41, 4, 0)
    assert reference_latency([38, 38, 40, 48], sigmas=1).value_ns == round((41 + math.sqrt(17)) * MS)
    assert reference_latency([38, 38, 40, 48], sigmas=1).exceedance.count == 1
    assert found.rule == "mean + 6 population standard deviations"


def test_equal_latencies_are_their_own_reference_and_never_exceed_it():
    found = reference_latency([39.9] * 781)
    assert (found.value_ns, found.deviation_ms, found.exceedance.count) == (39_900_000, 0.0, 0)


def test_exceedance_is_strict_and_bounded_exactly():
    times = np.arange(1, 201)
    found = reference_latency(times, percent=99)
    assert found.value_ms == 198  # itself does not exceed itself
    assert (found.exceedance.count, found.exceedance.rate) == (2, 0.01)
    assert found.exceedance.interval == uncertainty.clopper_pearson(2, 200, confidence=0.95)
    assert found.rule == "99th percentile, nearest rank"
    clean = reference_latency(np.full(781, 40.0), confidence=0.95).exceedance
    # the upper end for none of n: 1 - .025^(1/n)
    assert clean.interval == pytest.approx((0.0, 1 - 0.025 ** (1 / 781)))
    assert clean.interval[1] == pytest.approx(0.0047, abs=5e-5)
    content = json.loads(json.dumps(found.to_dict()))
    assert content["exceedance"]["count"] == 2
    assert content["value_ms"] == 198


@given(st.lists(st.integers(0, 1000), min_size=2, max_size=60), st.sampled_from([50, 90, 99, 99.999]))
def test_an_empirical_reference_is_exceeded_no_more_often_than_it_says(times, percent):
    found = reference_latency(times, percent=percent)
    assert found.exceedance.count == sum(time > found.value_ms for time in times)
    assert found.exceedance.rate <= 1 - percent / 100 + 1e-12


def test_long_tails_show_in_the_exceedance():
    """One batch in fifty takes ten times as long: normal thinking would expect one in a thousand million above."""
    times = np.where(np.arange(10_000) % 50 == 0, 400.0, 40.0)
    found = reference_latency(times)
    assert found.value_ms == pytest.approx(47.2 + 6 * 360 * math.sqrt(0.02 * 0.98))
    assert found.exceedance.rate == 0.02


def test_traces_are_pooled():
    first, second = Trace([1, 1], 2, [38, 38], [0, 0], corruption="fog"), Trace([1, 1], 2, [30, 40], [10, 8])
    assert reference_latency([first, second]).value_ns == reference_latency([38, 38, 40, 48]).value_ns
    assert reference_latency(first).n == 2
    live = Trace([1, 0, 1], 2, [30, 0, 50], 0, live={"protocol": "discrete"}, served=[0, 2])
    assert reference_latency(live).mean_ms == 40


def test_reference_refusals():
    refused("latencies has 1 values: a spread needs at least 2", reference_latency, [40])
    refused("latencies has 0 values", reference_latency, np.array([]))
    refused("latencies[1] is nan", reference_latency, [40, math.nan])
    refused("latencies[0] is -1", reference_latency, [-1, 40])
    refused("sigmas is -1", reference_latency, [40, 41], sigmas=-1)
    refused("sigmas is inf", reference_latency, [40, 41], sigmas=math.inf)
    refused("percent is 100", reference_latency, [40, 41], percent=100)
    one = Trace([1], 2, 30, 0, method="Standard", device="Pi")
    refused("latencies has 1 values", reference_latency, one)
    other = Trace([1], 2, 30, 0, method="Tent", device="Pi")
    refused("latencies[1] has method 'Tent' and latencies[0] 'Standard'", reference_latency, [one, other])
    elsewhere = Trace([1], 2, 30, 0, method="Standard", device="GPU")
    refused("latencies[1] has device 'GPU'", reference_latency, [one, elsewhere])
    refused("latencies[1] is a int: give traces only", reference_latency, [one, 40])


# --- the verdict


def test_a_good_run_is_valid(steady):
    found = validity(timed(steady, reference_ms=40), exceedance=0.01)
    assert found.valid
    assert (found.verdict, found.reasons, found.not_judged) == ("VALID", (), ())
    assert [check.name for check in found.checks] == ["batches", "clock", "drift", "share over reference"]
    assert found.least_batches == 662
    assert found.percentile.value_ms == percentile((steady * MS).round().astype(np.int64), 99).value_ms
    assert repr(found) == "Validity(VALID)"
    assert timed(steady).validity(percent=90).valid


def test_the_percentile_decides_how_many_batches_it_takes(steady):
    assert validity(timed(steady[:662])).valid
    short = validity(timed(steady[:661]))
    assert short.verdict == "INVALID"
    assert short.reasons == ("661 batches are too few for the 99th percentile: 662 are needed",)
    assert validity(timed(steady[:64]), percent=90).valid
    assert not validity(timed(steady[:63]), percent=90).valid
    assert validity(timed(steady[:38]), percent=90, confidence=0.9).valid


def test_only_batches_that_were_met_count(steady):
    latency = np.zeros(1400)
    latency[::2] = steady.round(6)
    correct = np.where(np.arange(1400) % 2 == 0, 30, 0)
    trace = Trace(correct, 64, latency, 0, live={"protocol": "discrete"}, served=np.arange(0, 1400, 2))
    assert validity(trace).valid
    assert validity(trace).percentile.n == 700


def test_a_coarse_clock_is_refused_at_one_per_cent_of_the_median(steady):
    assert validity(timed(np.where(np.arange(700) % 3 == 0, 40.4, 40.0))).valid
    coarse = validity(timed(np.where(np.arange(700) % 3 == 0, 40.400001, 40.0)))
    assert coarse.resolution_ms == pytest.approx(0.400001)
    assert coarse.reasons == ("the clock steps by 0.400001 ms, 1.00% of the median latency: at most 1% is fine enough",)
    ticks = validity(timed(np.where(np.random.default_rng(0).random(700) < 0.5, 31.25, 46.875)))
    assert ticks.resolution_ms == 15.625
    assert not ticks.valid
    # the caller knows better
    assert validity(timed(steady), resolution_ms=0.1).valid
    assert not validity(timed(steady), resolution_ms=1).valid


def test_equal_latencies_hide_the_clock():
    found = validity(timed(np.full(700, 39.9)))
    assert found.valid
    assert found.resolution_ms is None
    assert found.not_judged[0] == "clock: all latencies are equal, so the step of the clock cannot be seen"
    assert found.drift == 0
    nothing = validity(timed(np.where(np.arange(700) % 3 == 0, 1.0, 0.0)))
    assert "half of the latencies are 0" in nothing.reasons[0]
    assert validity(timed(np.zeros(700))).reasons == nothing.reasons


def test_drift_is_told_from_scatter():
    """A rise of 6 % between the thirds fails; one of 4 % does not; nor does one that chance would make."""
    rng = np.random.default_rng(1)
    noise = rng.normal(0, 0.2, 700)
    third = 233
    for rise, valid in ((0.06, False), (0.04, True), (-0.06, False)):
        level = np.full(700, 40.0)
        level[-third:] *= 1 + rise
        found = validity(timed(level + noise))
        assert found.valid is valid
        assert found.drift == pytest.approx(rise, abs=0.002)
    found = validity(timed(level + noise), drift=0.07)
    assert found.valid
    reason = validity(timed(level + noise)).reasons[0]
    assert reason.startswith("the median latency changes by -6.0% from the first to the last third")
    # so much scatter that the medians of five batches differ by more than 5 % most of the time
    wild = [validity(timed(rng.uniform(20, 60, 15)), percent=50) for _ in range(200)]
    large = [found for found in wild if abs(found.drift) > 0.05]
    assert len(large) > 100
    failed = sum(found.checks[2].passed is False for found in wild)
    assert failed <= 8  # at level .01 nine or more of 200 happen twice in ten thousand times


def test_drift_needs_batches():
    found = validity(timed(40 + np.random.default_rng(2).random(14)), percent=50, confidence=0.9)
    assert found.drift is None
    assert "drift: 14 batches are too few to compare the first third with the last" in found.not_judged
    assert validity(timed(40 + np.random.default_rng(2).random(15)), percent=50).drift is not None


def test_a_share_over_the_reference_must_be_shown(steady):
    """None of 459 shows at most 1 % with confidence .99, since .99^459 <= .01; none of 458 does not."""
    assert 0.99**459 <= 0.01 < 0.99**458
    options = {"percent": 90, "exceedance": 0.01}
    assert validity(timed(steady[:459], reference_ms=40), **options).valid
    found = validity(timed(steady[:458], reference_ms=40), **options)
    assert found.reasons == (
        "0 of 458 batches took longer than the reference latency of 40 ms: that does not show, with confidence 0.99, "
        "at most 0.01",
    )
    # one above takes 662, as for the percentile
    above = steady.copy()
    above[5] = 40.5
    assert validity(timed(above[:662], reference_ms=40), **options).valid
    assert not validity(timed(above[:661], reference_ms=40), **options).valid
    assert validity(timed(above[:662], reference_ms=40), **options).over_reference.count == 1


def test_the_share_is_reported_but_promised_only_by_the_caller(steady):
    found = validity(timed(steady, reference_ms=39.5))
    assert found.valid
    assert found.over_reference.count == np.sum(steady > 39.5)
    assert found.over_reference.interval == uncertainty.clopper_pearson(
        found.over_reference.count, 700, confidence=0.99
    )
    assert "no share is promised" in found.not_judged[0]
    assert validity(timed(steady, reference_ms=39.5), reference_ms=40).over_reference.count == 0
    exact = timed(np.full(700, 39.9), reference_ms=39.9)
    assert validity(exact).over_reference.count == 0  # as long is not longer
    assert validity(timed(steady)).over_reference is None
    assert "the trace has no reference latency" in validity(timed(steady)).not_judged[0]


def test_all_reasons_are_given_at_once():
    found = validity(
        timed(np.where(np.arange(60) < 30, 20.0, 30.0), reference_ms=10), exceedance=0.5, resolution_ms=None
    )
    assert len(found.reasons) == 4
    assert repr(found).startswith("Validity(INVALID; 60 batches are too few")
    content = json.loads(json.dumps(found.to_dict()))
    assert content["verdict"] == "INVALID"
    assert len(content["checks"]) == 4
    assert content["over_reference"]["count"] == 60


def test_validity_refusals(steady):
    trace = timed(steady)
    refused("exceedance is given, but the trace has no reference", validity, trace, exceedance=0.01)
    refused("exceedance is 1.5", validity, trace, exceedance=1.5, reference_ms=40)
    refused("exceedance is 0", validity, trace, exceedance=0, reference_ms=40)
    refused("drift is -0.1", validity, trace, drift=-0.1)
    refused("drift is nan", validity, trace, drift=math.nan)
    refused("percent is 100", validity, trace, percent=100)
    refused("resolution_ms is -1", validity, trace, resolution_ms=-1)
    refused("reference_ms is -1", validity, trace, reference_ms=-1)
    refused("confidence is 1", validity, trace, confidence=1)
