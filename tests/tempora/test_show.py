"""Figures: they show what was scored, say it in words, and refuse what does not belong together."""

import numpy as np
import pytest

from helpers import tempora
from helpers.errors import InputError
from helpers.tempora import show


def log(latency=25, n=40, **context):
    """Constant latency, 5 ms of it after the prediction."""
    return tempora.Trace(np.arange(n) % 10 + 1, 10, latency - 5, 5, **context)


def test_the_time_line_counts_what_is_served():
    trace = log()
    result = tempora.discrete(trace, period_ms=10)
    figure = show.timeline(trace, result, batches=6)
    assert figure.name == "timeline"
    assert "first 6 batches: 3 are served and 3 lost" in figure.alt
    assert "25.0 ms on average, 5.0 ms of them after" in figure.alt
    assert "first 5 batches: 2 are served and 3 lost" in show.timeline(trace, result, batches=5).alt
    whole = show.timeline(trace, result, batches=1000)
    assert f"first 40 batches: {len(result.served)} are served" in whole.alt


def test_the_time_line_of_own_arrivals():
    trace = log(n=3, arrival_ms=[0, 1, 100])
    assert "3 are served and 0 lost" in show.timeline(trace, tempora.discrete(trace)).alt


def test_the_time_line_refuses():
    result = tempora.discrete(log(), period_ms=10)
    with pytest.raises(InputError, match="result is of 40 batches, trace has 7: show the trace that was scored"):
        show.timeline(log(n=7), result)
    with pytest.raises(InputError, match="batches is 0"):
        show.timeline(log(), result, batches=0)


@pytest.mark.parametrize(
    ("rule", "times", "options"),
    [
        ("discrete", [20, 10, 40], {}),
        ("continuous", [30, 60], {"reference_ms": 20}),
        ("amortised", [0, 50], {"reference_ms": 20, "frozen_accuracy": 0.1}),
    ],
)
def test_pressure_is_told_from_tight_to_loose(rule, times, options):
    table = tempora.grid([log(), log(60)], rule, times, **options)
    figure = show.pressure(table, ["fast", "slow"], offline=[0.55, 0.55])
    low, high = np.argmin(times), np.argmax(times)
    assert f"fast {table.utility[0, low]:.3f} to {table.utility[0, high]:.3f}; slow" in figure.alt
    assert f"{rule.capitalize()} utility from {min(times)} to {max(times)} ms, {table.kind}" in figure.alt
    assert figure.name == f"pressure-{rule}"


def test_pressure_refuses():
    table = tempora.grid([log(), log(60)], "discrete", [10])
    with pytest.raises(InputError, match="names has 1 entries for 2 traces"):
        show.pressure(table, ["fast"])
    with pytest.raises(InputError, match="offline has 3 entries for 2 traces"):
        show.pressure(table, ["fast", "slow"], offline=[1, 1, 1])


def test_parts():
    trace = log()
    figure = show.decomposition(
        {
            "within": tempora.amortised(trace, budget_ms=50, reference_ms=20, frozen_accuracy=0.1),
            "lasts": tempora.amortised(trace, budget_ms=500, reference_ms=20),
        }
    )
    assert figure.name == "parts-amortised"
    assert "lasts: adapted share 1.000, adapted accuracy 0.550, frozen accuracy undefined, utility 0.550" in figure.alt
    discrete = show.decomposition({"ETA": tempora.discrete(trace, period_ms=25)})
    assert "ETA: availability 1.000, served accuracy 0.550, utility 0.550" in discrete.alt
    continuous = show.decomposition({"ETA": tempora.continuous(trace, threshold_ms=30, reference_ms=20)})
    assert "responsiveness" in continuous.alt


@pytest.mark.parametrize("names", [(), ("discrete", "continuous"), ("relative",)])
def test_parts_of_different_kinds_are_refused(names):
    results = {
        "discrete": tempora.discrete(log(), period_ms=10),
        "continuous": tempora.continuous(log(), threshold_ms=30, reference_ms=20),
        "relative": tempora.relative_speed(log(), reference_ms=10, fallback_accuracy=0),
    }
    with pytest.raises(InputError, match="give scores of one kind"):
        show.decomposition({name: results[name] for name in names})
