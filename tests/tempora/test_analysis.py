"""Scenarios, rankings, break-even, fronts and intervals: against hand-worked values, brute force and simulation."""

import itertools
import json
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from helpers.errors import InputError
from helpers.tempora import score
from helpers.tempora.analysis import availability, break_even, harmful_adaptation, pareto, rank_agreement, rankings
from helpers.tempora.interval import Contributions, Phase, bootstrap, contributions, seed_interval
from helpers.tempora.latency import latency_table
from helpers.tempora.record import Trace
from helpers.tempora.scenario import Scenario, scenarios
from helpers.tempora.times import ms_text, parse_ms

# few different utilities, so that ties are common
tables = st.integers(1, 5).flatmap(
    lambda methods: st.lists(
        st.lists(st.sampled_from([0.0, 0.1, 0.25, 0.5]), min_size=methods, max_size=methods), min_size=1, max_size=6
    )
)
unit = st.floats(0, 1)


def refused(message, call, *args, **kwargs):
    with pytest.raises(InputError) as refusal:
        call(*args, **kwargs)
    assert message in str(refusal.value)


# --- scenarios


def test_the_sources_grid_is_exact_and_its_labels_are_not():
    grid = scenarios()
    assert [scenario.protocol for scenario in grid] == ["discrete"] * 5 + ["continuous"] * 5 + ["amortised"] * 6
    exact = [Decimal("39.9") * Decimal(2) ** (Decimal(k) / 2) for k in range(5)]
    for scenario, period in zip(grid[:5], exact, strict=True):
        assert scenario.limit_ns == round(period * 1_000_000)
        assert round(float(period), 1) == round(scenario.limit_ms, 1)
    assert [round(scenario.limit_ms, 1) for scenario in grid[:5]] == [39.9, 56.4, 79.8, 112.9, 159.6]
    assert [scenario.limit_ns for scenario in grid[5:10]] == [t * 1_000_000 for t in (50, 100, 200, 400, 1000)]
    assert [scenario.limit_ns for scenario in grid[10:]] == [b * 10**9 for b in (1, 2, 4, 8, 16, 32)]
    assert [scenario.label for scenario in grid[5:]] == [
        *("T=50ms", "T=100ms", "T=200ms", "T=400ms", "T=1000ms"),
        *("B=1s", "B=2s", "B=4s", "B=8s", "B=16s", "B=32s"),
    ]
    # the label says 70 %, the pressure is 1 / sqrt(2), and the label is no way to the period
    seventy = grid[1]
    assert seventy.label == "rho=70%"
    assert seventy.pressure == pytest.approx(math.sqrt(0.5), abs=1e-8)
    assert abs(parse_ms(39.9 / 0.70) - seventy.limit_ns) > 500_000
    assert grid[5].pressure is None
    assert {scenario.reference_ns for scenario in grid} == {39_900_000}


@given(st.integers(100, 10**10))
def test_periods_are_rounded_to_the_nearest_nanosecond(reference_ns):
    grid = scenarios(ms_text(reference_ns))
    for k, scenario in enumerate(grid[:5]):
        # |limit - x| <= 1/2 for x = reference * sqrt(2)^k, squared to stay in whole numbers
        square = 4 * reference_ns**2 * 2**k
        assert (2 * scenario.limit_ns - 1) ** 2 <= square <= (2 * scenario.limit_ns + 1) ** 2


def test_another_device_and_a_shorter_stream_get_their_share():
    """Twice the reference latency, a tenth of the batches: thresholds double, budgets are a fifth."""
    grid = scenarios(79.8, batches=78)
    source = scenarios()
    assert [a.limit_ns for a in grid[5:10]] == [2 * b.limit_ns for b in source[5:10]]
    assert [a.limit_ns for a in grid[10:]] == [round(b.limit_ns * Fraction(2 * 78, 781)) for b in source[10:]]
    assert grid[5].label == "T=100ms"
    assert grid[10].label == "B=0.1997s"
    assert [a.label for a in grid[:5]] == [b.label for b in source[:5]]


def test_a_scenario_scores_by_its_own_protocol():
    trace = Trace([1, 2, 3, 4, 5, 6], 10, 25, 15)
    discrete = Scenario.of("discrete", 10, reference_ms=20)
    assert discrete.score(trace).utility == score.discrete(trace, period_ms=10).utility
    assert discrete.score(trace, tie="buffer").utility == score.discrete(trace, period_ms=10, tie="buffer").utility
    continuous = Scenario.of("continuous", 30, reference_ms=20)
    expected = score.continuous(trace, threshold_ms=30, reference_ms=20)
    assert continuous.score(trace).utility == expected.utility
    budget = Scenario.of("amortised", 50, reference_ms=20)
    expected = score.amortised(trace, budget_ms=50, reference_ms=20, frozen_accuracy=0.1)
    assert budget.score(trace, frozen_accuracy=0.1).utility == expected.utility
    assert budget.score(trace, frozen_accuracy=0.1).switch == 2
    assert json.loads(json.dumps(discrete.to_dict()))["pressure"] == 2.0


def test_scenario_refusals():
    refused("protocol is 'live'", Scenario, "live", 10, 10)
    refused("limit_ns is 0", Scenario, "discrete", 0, 10)
    refused("threshold 39.9 ms is not above", Scenario.of, "continuous", 39.9, reference_ms=39.9)
    refused("reference_ns is 0", Scenario.of, "amortised", 10, reference_ms=0)
    refused("limit_ms is -1", Scenario.of, "amortised", -1, reference_ms=1)
    refused("reference_ms in ns is 0", scenarios, 0)
    refused("batches is 0", scenarios, 39.9, batches=0)
    assert Scenario.of("amortised", 0, reference_ms=1).limit_ns == 0  # nothing to spend is a budget


# --- rankings: identities 26 and 27


@given(tables)
def test_ranks_and_wins_by_brute_force(cells):
    values = np.array(cells).T
    methods = [f"m{i}" for i in range(len(values))]
    found = rankings(values, methods)
    wins = dict.fromkeys(methods, Fraction(0))
    for c, column in enumerate(cells):
        for m, own in enumerate(column):
            better, equal = sum(u > own for u in column), sum(u == own for u in column)
            assert found.ranks[m, c] == better + (equal + 1) / 2
            assert found.best[m, c] == (better == 0)
        first = [m for m in range(len(column)) if column[m] == max(column)]
        for m in first:
            wins[methods[m]] += Fraction(1, len(first))
        assert found.winners[c] == " = ".join(methods[m] for m in first)
    assert found.wins == pytest.approx({name: float(count) for name, count in wins.items()})
    assert found.gap == pytest.approx(
        [np.mean([max(column) - column[m] for column in cells]) for m in range(len(values))]
    )


@given(tables)
def test_wins_add_up_to_the_cells(cells):
    """Identity 26, split and counted."""
    found = rankings(np.array(cells).T, [f"m{i}" for i in range(len(cells[0]))])
    assert found.cells == len(cells)
    assert sum(found.wins.values()) == pytest.approx(len(cells), abs=1e-9)
    assert sum(found.sole_wins.values()) + found.ties == len(cells)
    assert found.ties == sum(column.count(max(column)) > 1 for column in cells)


def test_cells_keep_their_shape():
    utilities = np.array([[[0.5, 0.1], [0.2, 0.2]], [[0.1, 0.5], [0.2, 0.3]], [[0.0, 0.5], [0.1, 0.1]]])
    found = rankings(utilities, ["A", "B", "C"])
    assert found.winners.tolist() == [["A", "B = C"], ["A = B", "B"]]
    assert (found.cells, found.ties) == (4, 2)
    assert found.wins == {"A": 1.5, "B": 2.0, "C": 0.5}
    assert found.sole_wins == {"A": 1, "B": 1, "C": 0}
    assert found.ranks[:, 0, 1].tolist() == [3.0, 1.5, 1.5]
    assert found.gap.tolist() == pytest.approx([(0 + 0.4 + 0 + 0.1) / 4, 0.4 / 4, (0.5 + 0 + 0.1 + 0.2) / 4])
    assert repr(found) == "Rankings(3 methods, 4 cells, 2 tied; wins: B 2, A 1.5, C 0.5)"
    content = json.loads(json.dumps(found.to_dict()))
    assert content["winners"] == [["A", "B = C"], ["A = B", "B"]]
    assert content["gap"]["B"] == pytest.approx(0.1)


def test_the_tie_rule_is_equality_to_twelve_decimals():
    assert rankings([[0.3], [0.1 + 0.2]], ["A", "B"]).winners.tolist() == ["A = B"]
    assert rankings([[0.3], [0.3 + 1e-11]], ["A", "B"]).winners.tolist() == ["B"]
    assert rankings([[0.31], [0.33]], ["A", "B"], decimals=1).winners.tolist() == ["A = B"]
    assert rankings([0.1, 0.2], ["A", "B"]).winners.item() == "B"  # a single cell
    assert rankings([[-0.0], [0.0]], ["A", "B"]).ties == 1


def test_ranking_refusals():
    refused("methods has 1 names, utilities 2 rows", rankings, [[0.1], [0.2]], ["A"])
    refused("its own name", rankings, [[0.1], [0.2]], ["A", "A"])
    refused("utilities[1, 0] is nan", rankings, [[0.1], [math.nan]], ["A", "B"])
    refused("utilities has shape (2, 0)", rankings, np.zeros((2, 0)), ["A", "B"])
    refused("utilities is no array", rankings, [[0.1, 0.2], [0.2]], ["A", "B"])
    refused("utilities[1, 0] is True: give a row of numbers", rankings, [[0.1, 0.2], [True, 0.3]], ["A", "B"])
    refused("decimals is -1", rankings, [[0.1], [0.2]], ["A", "B"], decimals=-1)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=4))
def test_rank_agreement_is_spearman_with_average_ranks(pairs):
    """Identity 27: Pearson's correlation of average ranks, undefined where one side is constant."""
    first, second = np.array(pairs, dtype=float).T / 10
    (found,) = rank_agreement(first[:, None], second)
    if len(set(first)) == 1 or len(set(second)) == 1:
        assert found.value is None
        assert "the same for all" in found.reason
    else:
        expected = np.corrcoef(stats.rankdata(first), stats.rankdata(second))[0, 1]
        assert found.value == pytest.approx(expected, abs=1e-9)


def test_rank_agreement_takes_rounding_for_a_tie():
    exact = rank_agreement([[0.3], [0.3], [0.1]], [0.3, 0.2, 0.1])[0].value
    assert (
        rank_agreement([[0.3], [0.1 + 0.2], [0.1]], [0.3, 0.2, 0.1])[0].value == exact == pytest.approx(math.sqrt(0.75))
    )
    # a score on the other side of a tie counts only where it differs by more
    assert rank_agreement([[0.3], [0.2], [0.1]], [0.3, 0.1 + 0.2, 0.1])[0].value == pytest.approx(math.sqrt(0.75))


def test_rank_agreement_of_each_scenario_has_an_interval():
    offline = np.linspace(0.1, 0.8, 8)
    found = rank_agreement(np.stack([offline, -offline + 1], axis=1), offline, replicates=200)
    assert [each.value for each in found] == [1.0, -1.0]
    assert found[0].interval == (1.0, 1.0)
    refused("offline (2,)", rank_agreement, [[0.1], [0.2], [0.3]], [0.1, 0.2])
    refused("offline[0] is nan", rank_agreement, [[0.1], [0.2]], [math.nan, 0.2])


# --- break-even: identity 24


@given(unit, unit, unit)
def test_break_even_solves_each_utility_for_accuracy(utility, share, frozen):
    if share < 1e-3:
        return
    a = break_even(utility, availability=share).accuracy
    assert share * a == pytest.approx(utility, abs=1e-9)
    covariance = (frozen - 0.5) / 2
    a = break_even(utility, responsiveness=share, alignment=covariance).accuracy
    assert a * share + covariance == pytest.approx(utility, abs=1e-9)
    a = break_even(utility, adapted_share=share, frozen_accuracy=frozen).accuracy
    assert share * a + (1 - share) * frozen == pytest.approx(utility, abs=1e-9)


def test_break_even_of_real_results_is_their_own_accuracy():
    """A method that is compared with itself breaks even at what it has."""
    rng = np.random.default_rng(3)
    trace = Trace(rng.integers(0, 65, 40), 64, rng.uniform(35, 45, 40).round(3), rng.uniform(0, 30, 40).round(3))
    d = score.discrete(trace, period_ms=39.9)
    assert break_even(d.utility, availability=d.availability).accuracy == pytest.approx(d.served_accuracy)
    c = score.continuous(trace, threshold_ms=50, reference_ms=39.9)
    found = break_even(c.utility, responsiveness=c.responsiveness, alignment=c.alignment)
    assert found.accuracy == pytest.approx(c.accuracy)
    assert found.protocol == "continuous"
    a = score.amortised(trace, budget_ms=200, reference_ms=39.9, frozen_accuracy=0.2)
    assert 0 < a.switch < trace.n
    found = break_even(a.utility, adapted_share=a.adapted_share, frozen_accuracy=a.frozen_accuracy)
    assert found.accuracy == pytest.approx(a.adapted_accuracy)
    assert found.protocol == "amortised"


def test_exactly_one_is_solvent_and_anything_above_is_not():
    assert break_even(0.3, availability=0.3).insolvent is False
    # 0.8 - 0.1 is a rounding error above 0.7
    assert 0.8 - 0.1 > 0.7
    assert break_even(0.8, responsiveness=0.7, alignment=0.1).insolvent is False
    assert break_even(0.3 + 1e-9, availability=0.3).insolvent is True
    assert break_even(0.3 - 1e-9, availability=0.3).insolvent is False
    assert break_even(0.9, adapted_share=0.5, frozen_accuracy=0.1).insolvent is True
    assert break_even(0.55, adapted_share=0.5, frozen_accuracy=0.1).insolvent is False


def test_a_method_that_is_ahead_already_needs_nothing():
    found = break_even(0.1, adapted_share=0.5, frozen_accuracy=0.4)
    assert found.accuracy == pytest.approx(-0.2)
    assert found.insolvent is False


@pytest.mark.parametrize("name", ["availability", "responsiveness", "adapted_share"])
def test_nothing_breaks_even_over_a_share_of_zero(name):
    found = break_even(0.3, **{name: 0.0})
    assert found.accuracy is None
    assert found.insolvent is None
    assert found.reason == f"{name} is 0: no accuracy of the method enters the utility"
    assert json.loads(json.dumps(found.to_dict()))["insolvent"] is None


def test_a_whole_adapted_stream_needs_no_frozen_accuracy():
    assert break_even(0.4, adapted_share=1.0).accuracy == 0.4
    refused("frozen_accuracy is missing: 0.5 of", break_even, 0.4, adapted_share=0.5)


def test_break_even_refusals():
    refused("0 are given", break_even, 0.3)
    refused("2 are given", break_even, 0.3, availability=0.5, responsiveness=0.5)
    refused("reference_utility is 30.8: give a number from 0 to 1 (divide percent", break_even, 30.8, availability=0.4)
    refused("availability is 1.2", break_even, 0.3, availability=1.2)
    refused("adapted_share is nan", break_even, 0.3, adapted_share=math.nan)
    refused("frozen_accuracy is -0.1", break_even, 0.3, adapted_share=0.5, frozen_accuracy=-0.1)
    refused("frozen_accuracy is 0.1: it belongs", break_even, 0.3, availability=0.5, frozen_accuracy=0.1)
    refused("alignment is 0.1: it belongs", break_even, 0.3, availability=0.5, alignment=0.1)
    refused("alignment is 0.3: a covariance", break_even, 0.3, responsiveness=0.5, alignment=0.3)
    refused("reference_utility is True", break_even, True, availability=0.5)


@given(st.integers(0, 4000), st.integers(1, 1000), st.integers(1, 60))
def test_availability_is_what_the_protocol_serves(latency_us, period_us, batches):
    """Identity 4, against the simulation of the protocol."""
    latency, period = f"{Decimal(latency_us) / 1000}", f"{Decimal(period_us) / 1000}"
    trace = Trace(np.zeros(batches, dtype=int), 1, latency, 0)
    served = score.discrete(trace, period_ms=period).availability
    assert availability(latency, period_ms=period, batches=batches) == served


@given(st.integers(1, 10**6), st.integers(1, 10**4), st.integers(1, 10**5))
def test_the_endless_stream_is_the_limit_and_the_least(latency_us, period_us, batches):
    latency, period = f"{Decimal(latency_us) / 1000}", f"{Decimal(period_us) / 1000}"
    limit = availability(latency, period_ms=period)
    assert limit == min(1.0, period_us / latency_us)
    finite = availability(latency, period_ms=period, batches=batches)
    assert limit - 1e-12 <= finite <= limit + 2 / batches


def test_the_810_times_slower_method_is_insolvent_unrun():
    served = availability(810 * 39.9, period_ms=39.9)
    assert served == pytest.approx(1 / 810)
    # even where the rival is standard inference, the worst one in the table
    assert break_even(0.182, availability=served).insolvent
    assert break_even(0.182, availability=availability(810 * 39.9, period_ms=39.9, batches=781)).insolvent
    # the first and the last batch are served, so a stream of two says nothing about it
    assert availability(810 * 39.9, period_ms=39.9, batches=2) == 1.0


def test_availability_counts_in_whole_nanoseconds():
    """Latency 3 x 39.9 exactly: of 7 batches 0, 3 and 6, so ceil(6 / 3) + 1 = 3; a float quotient may give 4."""
    assert availability(119.7, period_ms=39.9, batches=7) == 3 / 7
    assert availability("119.700001", period_ms=39.9, batches=7) == 3 / 7
    assert availability("119.699999", period_ms=39.9, batches=7) == 4 / 7
    assert availability("39.899999", period_ms=39.9) == availability(39.9, period_ms=39.9) == 1.0
    refused("period_ms is 0", availability, 10, period_ms=0)
    refused("latency_ms is -1", availability, -1, period_ms=10)
    refused("batches is 0", availability, 10, period_ms=10, batches=0)


# --- harmful adaptation: identity 25


def test_harmful_is_strictly_below():
    assert harmful_adaptation(0.1, 0.2).harmful is True
    assert harmful_adaptation(0.2, 0.2).harmful is False
    assert harmful_adaptation(0.3, 0.1 + 0.2).harmful is False  # equal but for rounding
    assert harmful_adaptation(0.25, 0.2).harmful is False
    assert harmful_adaptation(0.1, 0.4).difference == pytest.approx(-0.3)
    unknown = harmful_adaptation(None, 0.2)
    assert (unknown.harmful, unknown.difference) == (None, None)
    assert "no batch was frozen" in unknown.reason
    assert json.loads(json.dumps(unknown.to_dict()))["harmful"] is None
    refused("frozen_accuracy is 20", harmful_adaptation, 20, 0.2)
    refused("unadapted_accuracy is nan", harmful_adaptation, 0.2, math.nan)


# --- fronts

points = st.lists(
    st.tuples(st.integers(0, 4), st.sampled_from([0.0, 0.1, 0.2, 0.3, 0.1 + 0.2])), min_size=1, max_size=12
)


@given(points)
def test_a_front_is_what_nothing_dominates(found):
    cost, utility = [float(c) for c, _ in found], [u for _, u in found]
    exact = [round(u, 12) for u in utility]

    def dominated(i):
        return any(
            cost[j] <= cost[i] and exact[j] >= exact[i] and (cost[j] < cost[i] or exact[j] > exact[i])
            for j in range(len(found))
        )

    front = pareto(cost, utility)
    assert front.on_front.tolist() == [not dominated(i) for i in range(len(found))]
    assert sorted(front.indices) == np.flatnonzero(front.on_front).tolist()
    assert [cost[i] for i in front.indices] == sorted(cost[i] for i in front.indices)
    assert front.on_front.any()


def test_points_that_are_equal_stand_together_in_the_order_given():
    assert pareto([2, 1, 2, 1], [0.5, 0.3, 0.5, 0.2]).indices.tolist() == [1, 0, 2]
    # equal in utility: the cheaper one only; equal in cost: the better one only
    assert pareto([1, 2], [0.3, 0.3]).indices.tolist() == [0]
    assert pareto([1, 1], [0.2, 0.3]).indices.tolist() == [1]
    assert pareto([1, 2], [0.31, 0.33], decimals=1).indices.tolist() == [0]
    refused("cost has 2 values and utility 1", pareto, [1, 2], [0.1])
    refused("utility[1] is nan", pareto, [1, 2], [0.1, math.nan])
    refused("cost has shape (0,)", pareto, [], [])
    assert json.loads(json.dumps(pareto([1], [0.1]).to_dict())) == {"on_front": [True], "indices": [0]}


def test_a_front_over_budgets_drops_what_more_money_does_not_mend():
    """Utility need not grow with the budget (identity 20): a longer adaptation that ends worse leaves the front."""
    trace = Trace([8, 8, 1, 1], 10, 40, 10)
    budgets = [0, 20, 40]
    utility = [
        score.amortised(trace, budget_ms=b, reference_ms=40, frozen_accuracy=lambda m: 0.2 if m == 0 else 0.6).utility
        for b in budgets
    ]
    assert utility == pytest.approx([0.2, 0.7, 0.45])
    assert pareto(budgets, utility).indices.tolist() == [0, 1]


# --- intervals


@pytest.fixture
def noisy():
    """60 batches of two sizes and of uneven latency."""
    rng = np.random.default_rng(5)
    size = np.where(np.arange(60) % 7 == 6, 16, 64)
    return Trace(rng.binomial(size, 0.5), size, rng.uniform(35, 45, 60).round(3), rng.uniform(0, 40, 60).round(3))


@pytest.mark.parametrize("weight", ["batch", "sample"])
def test_contributions_add_up_to_the_utility(noisy, weight):
    frozen = np.random.default_rng(6).uniform(0, 0.3, noisy.n)
    results = [
        (score.discrete(noisy, period_ms=39.9, weight=weight), None),
        (score.continuous(noisy, threshold_ms=50, reference_ms=39.9, weight=weight), None),
        (score.amortised(noisy, budget_ms=400, reference_ms=39.9, frozen_accuracy=frozen, weight=weight), frozen),
        (score.amortised(noisy, budget_ms=400, reference_ms=39.9, frozen_accuracy=0.1, weight=weight), 0.1),
        (score.amortised(noisy, budget_ms=400, reference_ms=39.9, frozen_accuracy=frozen, weight=weight), None),
        (score.amortised(noisy, budget_ms=10**6, reference_ms=39.9, weight=weight), None),
        (score.amortised(noisy, budget_ms=0, reference_ms=39.9, frozen_accuracy=frozen, weight=weight), frozen),
    ]
    for result, given_frozen in results:
        parts = contributions(noisy, result, frozen_accuracy=given_frozen)
        assert parts.utility == pytest.approx(result.utility, abs=1e-12)
    names = [[phase.name for phase in contributions(noisy, r, frozen_accuracy=f).phases] for r, f in results]
    assert names == [["served"], ["measured"], *[["adapted", "frozen"]] * 3, ["adapted"], ["frozen"]]
    assert contributions(noisy).utility == pytest.approx(noisy.accuracy.mean(), abs=1e-12)


def test_contributions_of_a_live_run_are_of_the_batches_it_met():
    live = {"protocol": "discrete", "period_ms": 10}
    trace = Trace([1, 0, 3, 0, 5], 10, [25, 0, 25, 0, 25], 0, live=live, served=[0, 2, 4])
    parts = contributions(trace, score.discrete(trace, require="live"))
    assert parts.phases[0].values.tolist() == [0.1, 0.3, 0.5]
    assert contributions(trace).utility == pytest.approx(0.3)
    live = {"protocol": "amortised", "budget_ms": 15, "cut": "within", "charge": "excess", "switch": 1}
    trace = Trace([5, 1, 3], 10, 40, [10, 10, 0], live=live, reference_ms=40)
    parts = contributions(trace, score.amortised(trace, budget_ms=15, require="live"))
    assert [phase.values.tolist() for phase in parts.phases] == [[0.5], [0.1, 0.3]]
    assert not any(phase.known for phase in parts.phases)


def test_contributions_refuse_what_does_not_belong_together(noisy):
    other = Trace([1] * 60, 2, 40, 0)
    refused("does not come from this trace", contributions, other, score.discrete(noisy, period_ms=39.9))
    shorter = Trace([1] * 5, 2, 40, 0)
    refused("result is of 60 batches, trace has 5", contributions, shorter, score.discrete(other, period_ms=39.9))
    upstream = score.continuous(noisy, threshold_ms=50, reference_ms=39.9, ddof=1)
    refused("result has ddof=1", contributions, noisy, upstream)
    frozen = score.amortised(noisy, budget_ms=400, reference_ms=39.9, frozen_accuracy=0.1)
    refused("and this frozen accuracy", contributions, noisy, frozen, frozen_accuracy=0.2)


def whole(values, share=1.0, name="measured", **options):
    return Contributions((Phase(name, share, np.asarray(values, dtype=float), **options),))


def test_block_bootstrap_by_enumeration():
    """Twelve values in blocks of four: all 12^3 draws of starts, widened by sqrt(3 / 2)."""
    values = np.array([0.1, 0.2, 0.15, 0.3, 0.5, 0.45, 0.4, 0.35, 0.2, 0.25, 0.3, 0.1])
    ring = np.concatenate([values, values])
    blocks = [ring[start : start + 4].sum() for start in range(12)]
    means = np.array([sum(draw) / 12 for draw in itertools.product(blocks, repeat=3)])
    exact = values.mean() + (means - values.mean()) * math.sqrt(3 / 2)
    expected = np.quantile(exact, [0.05, 0.95])
    found = bootstrap(whole(values), block=4, confidence=0.9, replicates=40_000, seed=1)
    # of 40 000 draws a share of .05 is known to .001, which moves an end by .0015 at most; the band is twice that
    assert found.interval == pytest.approx(tuple(expected), abs=0.004)
    assert found.value == values.mean()
    assert found.n == 12


def test_the_last_block_is_cut_to_fit():
    """Eleven values in blocks of five, five and one: all 11^3 draws of starts, widened by sqrt(2.2 / 1.2)."""
    values = np.random.default_rng(0).random(11)
    ring = np.concatenate([values, values])
    five = [ring[start : start + 5].sum() for start in range(11)]
    means = np.array([(a + b + c) / 11 for a, b, c in itertools.product(five, five, values)])
    exact = values.mean() + (means - values.mean()) * math.sqrt(2.2 / 1.2)
    found = bootstrap(whole(values), block=5, confidence=0.9, replicates=40_000, seed=1)
    # a whole block of five in place of the last would widen this by a fifth, .03 at each end
    assert found.interval == pytest.approx(tuple(np.quantile(exact, [0.05, 0.95])), abs=0.005)


def test_phases_are_drawn_apart_and_keep_their_share():
    """A level of 0 in one phase and of 1 in the other: were they mixed the interval would be wide."""
    rng = np.random.default_rng(1)
    low, high = rng.uniform(0, 0.01, 50), rng.uniform(0.99, 1, 50)
    parts = Contributions((Phase("adapted", 0.2, high), Phase("frozen", 0.8, low)))
    found = bootstrap(parts, replicates=500)
    assert found.interval[1] - found.interval[0] < 0.005
    assert bootstrap(whole(np.concatenate([low, high])), block=1, replicates=500).interval[1] > 0.55
    # the share scales the spread
    half = bootstrap(whole(high, share=0.5), replicates=500).interval
    full = bootstrap(whole(high), replicates=500).interval
    assert half[1] - half[0] == pytest.approx((full[1] - full[0]) / 2)


def test_streams_are_averaged():
    rng = np.random.default_rng(2)
    streams = [whole(rng.normal(level, 0.05, 200)) for level in (0.2, 0.8)]
    found = bootstrap(streams, replicates=500)
    assert found.value == pytest.approx(np.mean([part.utility for part in streams]))
    widths = [np.subtract(*bootstrap(part, replicates=500).interval[::-1]) for part in streams]
    # independent streams: half the root of the sum of squares; the ends of 500 draws scatter by a few per cent
    assert np.subtract(*found.interval[::-1]) == pytest.approx(np.hypot(*widths) / 2, rel=0.15)
    assert found.n == 400


@pytest.mark.parametrize(("correlation", "block", "band"), [(0.0, None, (0.90, 0.98)), (0.5, None, (0.86, 0.96))])
def test_coverage_under_independence_and_memory(correlation, block, band):
    """300 streams of 400 batches. Truth .935 and .925; a band of three standard errors of 300 trials is .045."""
    assert band[0] <= coverage(correlation, block) <= band[1]


def test_single_batches_would_be_too_sure_where_neighbours_resemble_each_other():
    assert coverage(0.5, 1) < 0.82


def coverage(correlation, block, n=400, trials=300):
    rng = np.random.default_rng(7)
    hits = 0
    for trial in range(trials):
        noise = rng.normal(size=n + 30)
        series = np.zeros(n + 30)
        for i in range(1, n + 30):
            series[i] = correlation * series[i - 1] + math.sqrt(1 - correlation**2) * noise[i]
        found = bootstrap(whole(0.5 + 0.05 * series[30:]), block=block, replicates=300, seed=trial)
        hits += found.interval[0] <= 0.5 <= found.interval[1]
    return hits / trials


def test_a_fixed_schedule_adds_no_noise_of_its_own():
    """Every second batch is served and each is right in half: drawing skipped ones too would move the utility."""
    rng = np.random.default_rng(3)
    trace = Trace(rng.binomial(64, 0.5, 400), 64, 40, 40)
    found = bootstrap(contributions(trace, score.discrete(trace, period_ms=40)), replicates=1000)
    # standard deviation of a batch of 64 is 1/16; 201 of 400 are served
    expected = 1.96 * 0.5 * (1 / 16) / math.sqrt(200)
    assert (found.interval[1] - found.interval[0]) / 2 == pytest.approx(expected, rel=0.25)


def test_no_interval_without_a_reason():
    few = bootstrap(whole(np.arange(9) / 10, name="adapted"))
    assert few.interval is None
    assert few.reason == "9 adapted batches are too few for a bootstrap: 10 are needed"
    assert bootstrap(whole(np.arange(10) / 10)).interval is not None
    equal = bootstrap(whole(np.full(50, 0.5)))
    assert (equal.value, equal.interval) == (0.5, None)
    assert "alike" in equal.reason
    assert json.loads(json.dumps(equal.to_dict()))["interval"] is None
    known = Contributions(
        (Phase("adapted", 0.5, np.arange(20) / 20), Phase("frozen", 0.5, np.array([0.1]), known=True))
    )
    assert bootstrap(known).interval is not None  # one number that is known is not a phase of one batch
    assert bootstrap(known).n == 20


def test_an_interval_stays_where_a_mean_can_lie():
    """Fifteen batches, all right but one: widened replicates would pass 1."""
    values = np.ones(15)
    values[4] = 0.2
    assert bootstrap(whole(values), confidence=0.999).interval[1] <= 1.0


def test_bootstrap_repeats_by_seed_and_refuses():
    values = np.random.default_rng(0).random(30)
    assert bootstrap(whole(values), seed=1) == bootstrap(whole(values), seed=1)
    assert bootstrap(whole(values), seed=1).interval != bootstrap(whole(values), seed=2).interval
    refused("parts holds no Contributions", bootstrap, [])
    refused("parts holds no Contributions", bootstrap, [0.1, 0.2])
    refused("block is 16: with 30 measured batches give at most 15", bootstrap, whole(values), block=16)
    refused("block is 0", bootstrap, whole(values), block=0)
    refused("replicates is 0", bootstrap, whole(values), replicates=0)
    refused("confidence is 95", bootstrap, whole(values), confidence=95)


def test_the_default_block_is_the_cube_root_rounded_up():
    values = np.random.default_rng(4).random(27)
    assert bootstrap(whole(values)) == bootstrap(whole(values), block=3)
    longer = np.random.default_rng(4).random(28)
    assert bootstrap(whole(longer)) == bootstrap(whole(longer), block=4)


# --- over seeds


def test_students_interval_over_seeds():
    values = [0.187, 0.190, 0.184]
    found = seed_interval(values, confidence=0.9)
    expected = stats.t.interval(0.9, 2, loc=np.mean(values), scale=stats.sem(values))
    assert found.interval == pytest.approx(tuple(expected), abs=1e-12)
    assert (found.value, found.n) == (np.mean(values), 3)


def test_bootstrap_over_seeds_is_widened():
    """Of 12 seeds: the spread of the replicates, sigma / sqrt(k), times sqrt(k / (k - 1)) is s / sqrt(k)."""
    values = np.random.default_rng(8).normal(0.3, 0.01, 12)
    low, high = seed_interval(values, how="bootstrap").interval
    # 2000 draws: the ends scatter by about 4 % of the width; without the widening it would be 4.3 % less
    assert (high - low) / (2 * 1.96) == pytest.approx(stats.sem(values), rel=0.1)
    assert seed_interval(values, how="bootstrap", seed=1) == seed_interval(values, how="bootstrap", seed=1)


def test_widening_is_by_k_over_k_minus_one():
    """The draws of the generator themselves, widened by hand."""
    values = np.random.default_rng(9).normal(0.3, 0.01, 10)
    draws = np.random.default_rng(3).integers(10, size=(2000, 10))
    means = values.mean() + (values[draws].mean(axis=1) - values.mean()) * math.sqrt(10 / 9)
    expected = np.quantile(means, [0.025, 0.975])
    assert seed_interval(values, how="bootstrap", seed=3).interval == pytest.approx(tuple(expected), abs=1e-12)


@pytest.mark.parametrize(("count", "how", "needed"), [(1, "t", 2), (9, "bootstrap", 10)])
def test_too_few_seeds(count, how, needed):
    found = seed_interval(np.linspace(0.1, 0.2, count), how=how)
    assert found.interval is None
    assert f"{needed} are needed" in found.reason


def test_seeds_that_agree_to_the_last_digit_are_suspicious():
    found = seed_interval([0.3, 0.3, 0.3])
    assert found.interval is None
    assert "may not have been independent" in found.reason
    refused("how is 'z'", seed_interval, [0.1, 0.2], how="z")
    refused("utilities[1] is nan", seed_interval, [0.1, math.nan])
    refused("confidence is 1", seed_interval, [0.1, 0.2], confidence=1)


# --- latencies side by side


def test_latency_table_pools_streams_and_splits_parts():
    first = Trace([1] * 20, 10, np.linspace(40, 42, 20).round(3), 10, method="ETA", reference_ms=39.9)
    second = Trace([1] * 10, 10, 44, 40, method="ETA", reference_ms=39.9)
    plain = Trace([1] * 12, 10, np.linspace(38, 39, 12).round(3), 0, method="Standard", reference_ms=39.9)
    eta, standard = latency_table([first, plain, second], percents=(50, 90))
    intrinsic = np.concatenate([first.intrinsic_ms, second.intrinsic_ms])
    extrinsic = np.concatenate([first.extrinsic_ms, second.extrinsic_ms])
    assert (eta.method, eta.batches, standard.method) == ("ETA", 30, "Standard")
    assert eta.intrinsic_ms == pytest.approx(intrinsic.mean())
    assert eta.extrinsic_ms == pytest.approx(extrinsic.mean())
    assert eta.latency_ms == pytest.approx(intrinsic.mean() + extrinsic.mean())
    assert eta.intrinsic_above_reference_ms == pytest.approx(intrinsic.mean() - 39.9)
    assert eta.slow_down == pytest.approx(eta.latency_ms / 39.9)
    assert standard.slow_down < 1
    assert eta.interval[0] < eta.latency_ms < eta.interval[1]
    latencies = sorted(intrinsic + extrinsic)
    assert [found.value_ms for found in eta.percentiles] == pytest.approx([latencies[14], latencies[26]])
    content = json.loads(json.dumps(eta.to_dict()))
    assert content["percentiles"][0]["percent"] == 50
    assert content["slow_down"] == eta.slow_down


def test_latency_table_counts_only_batches_that_were_met():
    trace = Trace([1, 0, 1], 10, [30, 0, 50], 0, live={"protocol": "discrete"}, served=[0, 2], reference_ms=20)
    (row,) = latency_table([trace], percents=(50,))
    assert (row.batches, row.latency_ms, row.slow_down) == (2, 40.0, 2.0)


def test_latency_table_without_a_reference_says_so():
    trace = Trace([1] * 3, 10, [30, 31, 32], 0)
    (row,) = latency_table([trace])
    assert (row.slow_down, row.intrinsic_above_reference_ms) == (None, None)
    assert row.reasons["slow_down"] == "the traces have no reference latency"
    assert latency_table([trace], reference_ms=31)[0].slow_down == 1.0
    assert json.loads(json.dumps(row.to_dict()))["interval"] is None


def test_latency_table_refusals():
    one = Trace([1], 10, 30, 0, reference_ms=20, device="Pi")
    refused("traces is empty", latency_table, [])
    other = Trace([1], 10, 30, 0, reference_ms=21, device="Pi")
    refused("traces[1] has another reference latency", latency_table, [one, other])
    elsewhere = Trace([1], 10, 30, 0, reference_ms=20, device="GPU")
    refused("traces[1] was timed on 'GPU'", latency_table, [one, elsewhere])
    refused("percent is 100", latency_table, [one], percents=(100,))
