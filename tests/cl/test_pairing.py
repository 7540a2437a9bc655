"""Pairs by key, and worst orders."""

import json

import numpy as np
import pytest

from helpers.cl.pairing import paired, worst_order
from helpers.errors import InputError

from .repeated import A, B, keyed, run


def test_worked_example_13():
    found = paired(keyed(A), keyed(B))
    assert (found.n, found.mean, found.t.statistic) == (5, pytest.approx(1.56), pytest.approx(7.649, abs=5e-4))
    assert (found.t.p_value, found.sign_flip.p_value) == (pytest.approx(0.0016, abs=5e-5), 0.0625)
    assert found.interval == found.t.interval == pytest.approx((0.994, 2.126), abs=5e-4)
    assert repr(found) == "Paired(5 units, mean 1.56 (0.9937 to 2.126), p 0.00157 (t), 0.0625 (sign-flip), 2 warnings)"
    assert paired(keyed(A), keyed(B), alternative="greater").t.p_value == pytest.approx(0.0008, abs=5e-5)
    assert (found.least, found.most) == ((2, 0), (0, 0))


def test_worked_example_13b():
    found = paired(keyed([60, 72, 81, 68, 75]), keyed([58, 71, 78, 67, 73]))
    assert (found.mean, found.t.statistic) == (pytest.approx(1.8), pytest.approx(4.81, abs=5e-3))
    assert found.t.p_value == pytest.approx(0.0086, abs=5e-5)


def test_pairs_are_made_by_key_and_not_by_position():
    backwards = dict(reversed(keyed(B).items()))
    assert list(backwards) != list(keyed(B))
    assert paired(keyed(A), backwards) == paired(keyed(A), keyed(B))


def test_fewer_than_six_units_are_warned_of():
    five = paired(keyed(A), keyed(B)).warnings
    assert (
        five[0] == "5 units: the sign-flip test cannot fall below 0.0625 (two-sided); two-sided, 6 are needed for .05"
    )
    six = paired(keyed([*A, 77.0]), keyed([*B, 76.0]))
    assert six.sign_flip.p_value == 0.03125
    assert not [text for text in six.warnings if "units" in text]


def test_one_order_is_warned_of():
    assert any("all runs share one order" in text for text in paired(keyed(A), keyed(B)).warnings)
    several = {(seed, seed): value for seed, value in enumerate(A)}
    assert not any("share" in text for text in paired(several, several).warnings)


def test_ids_that_do_not_pair_are_all_named():
    with pytest.raises(InputError) as refusal:
        paired({(0, "a"): 1.0, (1, "a"): 2.0, (2, "a"): 3.0}, {(1, "a"): 1.0, (3, "a"): 2.0})
    message = str(refusal.value)
    assert message.startswith("3 ids do not pair:")
    for part in ("(0, 'a') only in first", "(2, 'a') only in first", "(3, 'a') only in second"):
        assert part in message


def test_runs_are_compared_by_a_metric():
    first = [run(80.0 + seed, seed) for seed in range(3)]
    second = [run(75.0, seed, name="EWC") for seed in (2, 0, 1)]
    found = paired(first, second)
    assert found.differences == (5.0, 6.0, 7.0)
    assert found.keys == ((0, "a"), (1, "a"), (2, "a"))
    assert paired(first, second, metric="clear.next_domain").mean == 0.0
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["keys"][0] == [0, "a"]


def test_a_run_without_the_metric_is_refused():
    with pytest.raises(InputError, match=r"first\[\(0, 'a'\)\] has no fwt.gem: "):
        paired([run(80.0)], [run(70.0)], metric="fwt.gem")


def test_units_average_what_depends():
    first = {(seed, order): 10.0 * order + seed for seed in range(3) for order in range(4)}
    second = dict.fromkeys(first, 0.0)
    by_order, by_seed = paired(first, second, unit="order"), paired(first, second, unit="seed")
    assert (by_order.keys, by_order.differences) == ((0, 1, 2, 3), (1.0, 11.0, 21.0, 31.0))
    assert (by_seed.keys, by_seed.differences) == ((0, 1, 2), (15.0, 16.0, 17.0))
    assert any("12 pairs share 3 seeds and 4 orders" in text for text in paired(first, second).warnings)
    assert not any("pairs share" in text for text in by_order.warnings)


def test_pairs_that_share_orders_find_too_much():
    """No difference on average, one that varies with the order: 6 orders, 5 seeds, level .05, 300 samples.

    Taking pairs as independent rejects far too often; averaging within orders keeps the level: 15 expected, sd 3.8,
    band up to 15 + 3.5 sd.
    """
    rng = np.random.default_rng(5)
    rejected = {"pair": 0, "order": 0}
    for _ in range(300):
        effect = rng.normal(size=6)
        first = {(s, o): effect[o] + rng.normal(scale=0.5) for s in range(5) for o in range(6)}
        for unit in rejected:
            found = paired(first, dict.fromkeys(first, 0.0), unit=unit, replicates=1)
            rejected[unit] += found.t.p_value <= 0.05
    assert rejected["order"] <= 28
    assert rejected["pair"] >= 90


@pytest.mark.parametrize(
    ("first", "second", "options", "message"),
    [
        ({}, {}, {}, "first is {}: give runs"),
        ([1, 2], [1, 2], {}, "first[0] is of type int"),
        ({0: 1.0}, {0: 1.0}, {}, "first has key (0,): give (seed, order)"),
        ("a" * 100, {0: 1.0}, {}, "first is 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...: give runs"),
        (
            {(0, 0): 1.0, (0, 1): 2.0, (1, 1): 3.0},
            {(0, 1): 1.0},
            {},
            "2 ids do not pair: (0, 0) only in first, (1, 1) only",
        ),
        ({(0, 0): np.nan}, {(0, 0): 1.0}, {}, "first[(0, 0)] is nan"),
        ({(0, 0): 1.0}, {(0, 0): 10**400}, {}, "second[(0, 0)] is 1000"),
        ({(0, 0): 1.0}, {(0, 0): "a"}, {}, "second[(0, 0)] is 'a'"),
        ({(0, 0): 1.0}, {(0, 0): 1.0}, {"unit": "run"}, "unit is 'run'"),
        ({(0, 0): 1.0}, {(0, 0): 1.0}, {"alternative": "one"}, "alternative is 'one'"),
        ([run(80.0), run(81.0)], [run(80.0)], {}, "first has (0, 'a') more than once"),
        ([run(80.0), run(81.0, 1, name="EWC")], [run(80.0)], {}, "first has runs of 'ER' and of 'EWC'"),
        ([run(80.0, None, None)], [run(80.0)], {}, "first[0] has neither seed nor order"),
    ],
)
def test_paired_refusals(first, second, options, message):
    with pytest.raises(InputError) as refusal:
        paired(first, second, **options)
    assert message in str(refusal.value)


# --- worst order


def test_worst_order():
    values = {(0, "a"): 80.0, (1, "a"): 82.0, (0, "b"): 70.0, (1, "b"): 74.0, (0, "c"): 71.0, (1, "c"): 90.0}
    found = worst_order(values)
    assert (found.order, found.value, found.mean) == ("b", 72.0, pytest.approx((81 + 72 + 80.5) / 3))
    assert worst_order(values, direction="lower").order == "a"
    assert any("3 orders" in text for text in found.warnings)
    assert json.loads(json.dumps(found.to_dict()))["by_order"] == {"a": 81.0, "b": 72.0, "c": 80.5}


def test_one_order_has_no_worst():
    found = worst_order([run(80.0, 0), run(90.0, 1)])
    assert (found.order, found.value, found.mean) == (None, None, 85.0)
    assert "one order" in found.reason


def test_orders_with_unlike_numbers_of_seeds():
    found = worst_order({(s, o): float(o) for o in range(5) for s in range(1 + (o == 0))})
    assert found.order == 0
    assert found.warnings == ("orders have 1 to 2 seeds: means of few seeds vary more, and look worst",)
    with pytest.raises(InputError, match="direction is 'down'"):
        worst_order(keyed(A), direction="down")


def test_results_whose_squares_overflow_are_refused():
    with pytest.raises(InputError, match=r"first\[\(0, 0\)\] is 1e\+300: give a finite number, of at most 1e\+100"):
        paired({(seed, 0): 1e300 for seed in range(5)}, {(seed, 0): 0.0 for seed in range(5)})
