"""The panel's numbers are those of the scores, and the controls score what was chosen."""

from typing import Any

import numpy as np
import pytest

from helpers import explorer, results, tempora
from helpers.errors import InputError

RIGHT = 30 + np.arange(40) % 20


def log(intrinsic: float, extrinsic: float, **changes: Any) -> tempora.Trace:
    return tempora.Trace(RIGHT, 64, intrinsic, extrinsic, **{"reference_ms": 40, **changes})


TRACES = {"quick": log(40, 0), "slow": log(50, 70)}
FROZEN = {"quick": None, "slow": 0.25}


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    """What the panel is built from."""
    with pytest.MonkeyPatch.context() as patch:
        seen: list[list[dict[str, Any]]] = []
        patch.setattr(explorer, "build", lambda rows, **_: seen.append(rows))
        tempora.explore.panel(TRACES, FROZEN)
    return seen[0]


def at(rows: list[dict[str, Any]], share: float, setting: str, method: str) -> dict[float, float]:
    """Utility by time given."""
    return {
        row["time"]: row["utility"]
        for row in rows
        if (row["share"], row["method"]) == (share, method) and row["setting"].startswith(setting)
    }


def test_its_own_latency_gives_the_scores_as_they_are(rows: list[dict[str, Any]]) -> None:
    slow = TRACES["slow"]
    assert at(rows, 1.0, "discrete: period, one", "slow")[2] == tempora.discrete(slow, period_ms=80).utility
    assert at(rows, 1.0, "discrete: period, none", "slow")[2] == tempora.discrete(slow, period_ms=80, buffer=0).utility
    assert at(rows, 1.0, "continuous", "slow")[2.5] == tempora.continuous(slow, threshold_ms=100).utility
    # 400 for 781 batches are 400 * 40 / 781 for the 40 of the log
    amortised = tempora.amortised(slow, budget_ms=400 * 40 * 40 / 781, frozen_accuracy=0.25)
    assert 0 < amortised.adapted_share < 1
    assert at(rows, 1.0, "amortised", "slow")[400] == amortised.utility


def test_the_slider_takes_what_lies_beyond_the_reference(rows: list[dict[str, Any]]) -> None:
    half = log(45, 35)
    assert at(rows, 0.5, "discrete: period, one", "slow")[1] == tempora.discrete(half, period_ms=40).utility
    assert at(rows, 0.5, "continuous", "slow")[1.25] == tempora.continuous(half, threshold_ms=50).utility
    free = at(rows, 0.0, "discrete: period, one", "slow")
    assert free[1] == TRACES["slow"].accuracy.mean()
    assert at(rows, 0.25, "continuous", "quick") == at(rows, 1.0, "continuous", "quick")


def test_the_panel_starts_with_the_latency_as_it_is() -> None:
    panel = tempora.explore.panel(TRACES, FROZEN)
    assert "At cost of adapting (share of its own) 1, what is short discrete: period, one batch waits" in panel.alt
    assert panel.name == "explore"


@pytest.mark.parametrize(
    ("traces", "frozen", "said"),
    [
        ({}, {}, "traces has none"),
        ({"a": log(1, 0, reference_ms=None)}, {"a": None}, "a None ns and 40 batches"),
        ({"a": log(1, 0), "b": log(1, 0, reference_ms=41)}, FROZEN, "a 40000000 ns .*, b 41000000 ns"),
        (TRACES, {"quick": None}, "frozen has no 'slow'"),
    ],
)
def test_refusals(traces: dict[str, Any], frozen: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        tempora.explore.panel(traces, frozen)


def test_controls_show_the_time_line_of_what_was_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(results.DESTINATION, raising=False)
    chosen: dict[str, Any] = {}
    monkeypatch.setattr(explorer, "controls", lambda draw, **choices: chosen.update(draw=draw, **choices))
    tempora.explore.controls(TRACES)
    assert chosen["method"][1] == ["quick", "slow"]
    figure = chosen["draw"](method="slow", period=3.0, buffer=0)
    expected = tempora.discrete(TRACES["slow"], period_ms=120, buffer=0)
    assert figure == tempora.show.timeline(TRACES["slow"], expected, batches=16)
