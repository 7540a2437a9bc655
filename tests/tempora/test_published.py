"""The source's tables, recomputed from its own latencies: what comes out, and what does not (errata).

Availability is taken at a constant latency of 781 batches a stream, as the source's own numbers do.
"""

import math

import numpy as np
import pytest

from helpers import results
from helpers.tempora import score
from helpers.tempora.analysis import availability, break_even, harmful_adaptation, rank_agreement, rankings
from helpers.tempora.latency import latency_table
from helpers.tempora.record import Trace
from helpers.tempora.scenario import scenarios

BATCHES, REFERENCE_MS, THRESHOLD_MS, BUDGET_MS = 781, 39.9, 50, 1000
DISCRETE, CONTINUOUS, AMORTISED = "discrete rho=100%", "continuous T=50ms", "amortised B=1s"


def published(table):
    """Rows of a table as {(row, column): value}."""
    return {(row["row"], row["column"]): row["value"] for row in results.published("tempora", table)}


UTILITY, LATENCY = published("T1-utility"), published("T2-latency")
FINDINGS, TEXT = published("T3-findings"), published("text")
METHODS = [method for method, column in LATENCY if column == "latency"]
HALF = 0.05 + 1e-9  # printed to one decimal


def constant(latency_ms, *, extrinsic_ms=0):
    """A stream of the source's length at a constant latency. Its accuracy does not matter."""
    return Trace(np.full(BATCHES, 32), 64, latency_ms, extrinsic_ms, reference_ms=REFERENCE_MS)


def responsiveness(method):
    """Mean weight where every batch waits for the whole latency, as in the second batch and all later ones."""
    return score.continuous(constant(LATENCY[method, "latency"]), threshold_ms=THRESHOLD_MS).responsiveness


@pytest.mark.parametrize("method", METHODS)
def test_availability_follows_from_the_printed_latency(method):
    latency = LATENCY[method, "latency"]
    derived = published("derived-availability")[method, "availability rho=100%"]
    found = availability(latency, period_ms=REFERENCE_MS, batches=BATCHES)
    assert round(found, 4) == derived
    assert found == score.discrete(constant(latency), period_ms=REFERENCE_MS).availability


@pytest.mark.parametrize("method", METHODS)
def test_slow_downs_follow_from_the_printed_latency_over_the_reference(method):
    intrinsic = REFERENCE_MS + LATENCY[method, "intrinsic above reference"]
    (row,) = latency_table([constant(round(intrinsic, 1), extrinsic_ms=LATENCY[method, "extrinsic"])])
    assert row.extrinsic_ms == pytest.approx(LATENCY[method, "extrinsic"])
    assert row.intrinsic_above_reference_ms == pytest.approx(LATENCY[method, "intrinsic above reference"])
    # three rounded numbers add up to within a tenth
    assert row.latency_ms == pytest.approx(LATENCY[method, "latency"], abs=0.1 + 1e-9)
    (whole,) = latency_table([constant(LATENCY[method, "latency"])])
    assert whole.slow_down == pytest.approx(LATENCY[method, "slow-down"], abs=0.005 + 1e-9)


@pytest.mark.parametrize("method", ["Standard", "NEO"])
def test_what_is_no_slower_than_the_reference_loses_nothing(method):
    trace = constant(REFERENCE_MS)
    assert score.discrete(trace, period_ms=REFERENCE_MS).availability == 1.0
    assert score.continuous(trace, threshold_ms=THRESHOLD_MS).responsiveness == 1.0
    assert score.amortised(trace, budget_ms=BUDGET_MS).switch == BATCHES
    printed = [UTILITY[method, column] for column in (DISCRETE, CONTINUOUS, AMORTISED)]
    assert printed == pytest.approx([printed[1]] * 3, abs=HALF)


def test_the_served_accuracy_of_eta_times_its_availability_is_its_utility():
    eta = availability(LATENCY["ETA", "latency"], period_ms=REFERENCE_MS, batches=BATCHES)
    assert round(eta, 2) == FINDINGS["ETA at rho=100%", "availability"] == 0.41
    served = FINDINGS["ETA at rho=100%", "served accuracy"]
    assert served * eta == pytest.approx(UTILITY["ETA", DISCRETE], abs=HALF)
    assert FINDINGS["ETA at rho=100%", DISCRETE] == UTILITY["ETA", DISCRETE]
    # half as much again would still not do
    factor = TEXT["ETA", "served accuracy factor that is still too little"]
    assert factor * served < FINDINGS["ETA at rho=100%", "break-even served accuracy"]


@pytest.mark.parametrize(("method", "digits", "insolvent"), [("ETA", 2, False), ("SAR", 3, True)])
def test_break_even_against_adabn_comes_out(method, digits, insolvent):
    """75.1 % and 149.5 %: the source divides by availabilities that it has rounded, to 0.41 and 0.206."""
    rival = UTILITY["AdaBN", DISCRETE] / 100
    printed = FINDINGS[f"{method} at rho=100%", "break-even served accuracy"]
    exact = availability(LATENCY[method, "latency"], period_ms=REFERENCE_MS, batches=BATCHES)
    found = break_even(rival, availability=round(exact, digits))
    assert round(100 * found.accuracy, 1) == printed
    assert found.insolvent is insolvent
    # unrounded it is a tenth of a per cent off, and the verdict the same
    assert round(100 * break_even(rival, availability=exact).accuracy, 1) == {"ETA": 75.2, "SAR": 149.4}[method]
    assert break_even(rival, availability=exact).insolvent is insolvent


def test_who_else_is_insolvent_beside_adabn():
    rival = UTILITY["AdaBN", DISCRETE] / 100
    found = {
        method: break_even(
            rival, availability=availability(LATENCY[method, "latency"], period_ms=REFERENCE_MS, batches=BATCHES)
        ).insolvent
        for method in METHODS
    }
    assert found == {"AdaBN": False, "Tent": False, "ETA": False, "SHOT-IM": False, "CMF": True, "SAR": True}


def test_the_810_times_slower_method_need_not_be_run():
    latency = TEXT["diffusion input adaptation", "slow-down"] * REFERENCE_MS
    served = availability(latency, period_ms=REFERENCE_MS, batches=BATCHES)
    assert served == 2 / BATCHES  # the first batch and the last
    for rival in ("Standard", "AdaBN", "SAR"):
        assert break_even(UTILITY[rival, DISCRETE] / 100, availability=served).accuracy > 30


@pytest.mark.parametrize("method", ["AdaBN", "ETA", "CMF", "SAR", "SHOT-IM"])
def test_offline_accuracy_from_the_continuous_utility(method):
    found = UTILITY[method, CONTINUOUS] / responsiveness(method)
    assert round(found, 1) == published("derived-offline")[method, "offline accuracy"]
    by_hand = UTILITY[method, CONTINUOUS] * (1 + (LATENCY[method, "latency"] - 39.9) / 10.1)
    assert found == pytest.approx(by_hand, rel=1e-9)


def test_erratum_the_offline_column_does_not_come_out():
    """The source prints about 26 for AdaBN and about 32 for SAR: neither fits its own utilities."""
    printed = {method: UTILITY[method, "offline accuracy"] for method in ("AdaBN", "SAR")}
    assert printed == {"AdaBN": 26, "SAR": 32}
    # no continuous utility exceeds the offline accuracy, whatever the latencies: a contradiction without any model
    assert UTILITY["AdaBN", CONTINUOUS] > printed["AdaBN"] + 0.5
    # a budget that is never spent leaves offline accuracy, and 781 batches at 1.2 ms above the reference cost 937 ms
    adabn = constant(LATENCY["AdaBN", "latency"])
    result = score.amortised(adabn, budget_ms=BUDGET_MS)
    assert (result.switch, round(result.spent_ms, 1)) == (BATCHES, 937.2)
    assert round(result.spent_ms) == published("derived-offline")["AdaBN", "overhead of a whole stream"]
    assert UTILITY["AdaBN", AMORTISED] == 31.72
    # three ways to the same number, none of them near 26
    by_continuous = UTILITY["AdaBN", CONTINUOUS] / responsiveness("AdaBN")
    by_discrete = UTILITY["AdaBN", DISCRETE] / availability(41.1, period_ms=REFERENCE_MS, batches=BATCHES)
    for found in (by_continuous, by_discrete, UTILITY["AdaBN", AMORTISED]):
        assert found == pytest.approx(31.7, abs=0.15)
    # SAR: 44.7 and not 32; an earlier benchmark of the same methods has 43.8
    assert UTILITY["SAR", CONTINUOUS] / responsiveness("SAR") == pytest.approx(44.7, abs=HALF)
    earlier = published("alfarra-error")
    assert 100 - earlier["SAR", "offline error"] == pytest.approx(44.7, abs=1)
    assert 100 - earlier["AdaBN", "offline error"] == pytest.approx(31.7, abs=0.3)
    assert 100 - earlier["Standard", "offline error"] == pytest.approx(18.16, abs=0.3)
    marked = {r["row"] for r in results.published("tempora", "T1-utility") if r["status"] == "inconsistent"}
    assert marked == set(printed)


@pytest.mark.parametrize("method", ["ETA", "CMF", "SAR"])
@pytest.mark.parametrize("cut", ["within", "overshoot"])
def test_where_the_budget_ends_and_what_accuracy_that_implies(method, cut):
    """The published utilities need the overshoot of the released code: only then are the accuracies plausible."""
    derived = published("derived-amortised")
    trace = constant(LATENCY[method, "latency"])
    result = score.amortised(trace, budget_ms=BUDGET_MS, frozen_accuracy=0.001, cut=cut)
    assert result.switch == derived[method, f"adapted batches, cut {cut}"]
    implied = break_even(UTILITY[method, AMORTISED] / 100, adapted_share=result.switch / BATCHES, frozen_accuracy=0.001)
    assert 100 * implied.accuracy == pytest.approx(derived[method, f"adapted accuracy, cut {cut}"], abs=HALF)


def test_overshoot_makes_the_three_methods_agree():
    derived = published("derived-amortised")
    spread = {
        cut: np.ptp([derived[method, f"adapted accuracy, cut {cut}"] for method in ("ETA", "CMF", "SAR")])
        for cut in ("within", "overshoot")
    }
    assert spread["overshoot"] < 0.6 < 3 < spread["within"]


def test_share_frozen_and_harm_at_one_second():
    switch = published("derived-amortised")["ETA", "adapted batches, cut overshoot"]
    frozen = 100 * (1 - switch / BATCHES)
    assert math.floor(frozen) == FINDINGS["amortised B=1s", "share frozen"] == 97
    assert round(frozen, 1) == 97.7  # printed cut, not rounded
    for accuracy, harmful in ((FINDINGS["amortised B=1s", "accuracy when frozen"], True), (32.22, False)):
        assert harmful_adaptation(accuracy / 100, UTILITY["Standard", "offline accuracy"] / 100).harmful is harmful


def test_counts_of_the_experiment():
    corruptions, found = TEXT["experiment", "corruptions"], scenarios()
    assert len(found) == TEXT["experiment", "time scenarios"] == 16
    cells = len(found) * corruptions
    assert cells == 240
    assert corruptions * BATCHES == TEXT["experiment", "batches"] == 11_715
    wins, losses, eta = FINDINGS["offline against rho=100%", "CMF timed wins"], TEXT["CMF", "timed losses"], 103
    assert wins + losses == cells
    assert round(100 * wins / cells, 1) == FINDINGS["offline against rho=100%", "CMF timed win share"] == 12.1
    assert round(100 * losses / cells, 1) == TEXT["CMF", "timed loss share"] == 87.9
    assert round(100 * eta / cells, 1) == TEXT["ETA", "timed win share"] == 42.9
    assert TEXT["ETA", "timed wins"] == eta
    # "more than 750" evaluations are not the product that the source writes
    assert TEXT["experiment", "methods"] * cells == 2160 != TEXT["experiment", "evaluations"]


def test_the_grid_is_that_of_the_table():
    labels = [f"{scenario.protocol} {scenario.label}" for scenario in scenarios()]
    assert {DISCRETE, CONTINUOUS, AMORTISED} <= set(labels)
    assert scenarios()[0].reference_ns == TEXT["standard inference", "reference latency"] * 1_000_000


def test_winners_of_the_printed_table():
    methods = ["Standard", "AdaBN", "NEO", "ETA", "CMF", "SAR", "SHOT-IM"]
    table = [[UTILITY[method, column] for column in (DISCRETE, CONTINUOUS, AMORTISED)] for method in methods]
    found = rankings(table, methods, decimals=2)
    assert found.winners.tolist() == ["AdaBN", "AdaBN", "SHOT-IM"]
    # by hand: offline order CMF ETA SAR SHOT AdaBN NEO Standard, at T = 50 ms AdaBN NEO Standard ETA SHOT CMF SAR
    offline = [18.16, 31.8, 22.14, 48.5, 49.5, 44.7, 42.7]
    differences = [4, 4, 4, 2, 5, 4, 1]
    expected = 1 - 6 * sum(d * d for d in differences) / (7 * 48)
    tight = rank_agreement(np.array(table)[:, 1:2], offline, replicates=100)[0]
    assert tight.value == pytest.approx(expected)
    assert tight.value < 0  # the source prints -0.19 for its ten methods, three of which have no printed utility
