"""The panels' numbers are those of the simulation, and the controls estimate what was chosen."""

from typing import Any

import numpy as np
import pytest

from helpers import explorer, ppat
from helpers.errors import InputError
from helpers.ppat import Method, Pool, proposal

RNG = np.random.default_rng(0)
SURPRISE = RNG.normal(size=300)
POOL = Pool(
    SURPRISE**2,
    proxy_loss=0.8 * SURPRISE**2 + 0.1 * RNG.random(300),
    moments=proposal.Moments.gaussian(SURPRISE, 0.1),
)
OTHER = Pool(2 * SURPRISE**2, proxy_loss=POOL.proxy_loss, moments=POOL.moments)
SETTINGS: dict[str, Any] = {"trials": 20, "seed": 3, "confidence": 0.8}


@pytest.fixture(scope="module")
def built() -> list[dict[str, Any]]:
    """What the two panels are built from."""
    seen: list[dict[str, Any]] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(explorer, "build", lambda rows, **options: seen.append({"rows": rows, **options}))
        ppat.explore.panels({"one": POOL, "other": OTHER}, budget=[10, 40], epsilon=0.3, **SETTINGS)
    return seen


def at(built: list[dict[str, Any]], **where: Any) -> dict[str, Any]:
    [row] = [row for row in built[0]["rows"] if all(row[key] == value for key, value in where.items())]
    return dict(row)


@pytest.mark.parametrize(("name", "pool"), [("one", POOL), ("other", OTHER)])
@pytest.mark.parametrize("labels", [10, 40])
@pytest.mark.parametrize(
    ("method", "equal"),
    [
        ("random + proxy", Method("uniform", control=0.75)),
        ("LURE", Method("expected_loss", epsilon=0.3)),
        ("PPAT", Method(control=0.75, epsilon=0.3)),
        ("PPAT + intercept", Method(control=0.75, intercept=True, epsilon=0.3)),
    ],
)
def test_points_are_those_of_a_simulation(
    built: list[dict[str, Any]], name: str, pool: Pool, labels: int, method: str, equal: Method
) -> None:
    found = ppat.simulate(pool, {"random": Method("uniform"), "it": equal}, budget=[10, 40], **SETTINGS)
    it, random = found.row("it", labels), found.row("random", labels)
    row = at(built, pool=name, labels=labels, method=method, control=0.75)
    assert row["error"] == it["mean_squared_error"] / random["mean_squared_error"]
    assert (row["coverage"], row["coverage_low"], row["coverage_high"]) == (
        it["coverage"], it["coverage_low"], it["coverage_high"],
    )  # fmt: skip


def test_a_control_of_zero_is_no_proxy(built: list[dict[str, Any]]) -> None:
    assert at(built, pool="one", labels=40, method="random + proxy", control=0.0)["error"] == 1
    lure = {at(built, pool="one", labels=40, method="LURE", control=c)["error"] for c in ppat.explore.CONTROLS}
    assert len(lure) == 1


def test_both_panels_start_with_most_labels_and_the_first_pool() -> None:
    error, coverage = ppat.explore.panels({"one": POOL, "other": OTHER}, budget=[10, 40], **SETTINGS)
    assert (error.name, coverage.name) == ("explore-error", "explore-coverage")
    for panel in (error, coverage):
        assert "At labels 40, pool one: random + proxy" in panel.alt
        assert "20 runs" in panel.caption
    assert "whose 0.8 interval" in coverage.caption
    assert coverage.spec["layer"][0]["mark"]["type"] == "area"


def test_no_pool_is_refused() -> None:
    with pytest.raises(InputError, match="pools is empty"):
        ppat.explore.panels({}, budget=[10])


def test_controls_estimate_what_was_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen: dict[str, Any] = {}
    monkeypatch.setattr(explorer, "controls", lambda draw, **choices: chosen.update(draw=draw, **choices))
    [order], [q] = ppat.sample(POOL.moments.scores(), 30)
    assert POOL.proxy_loss is not None
    labels = ppat.Labels(POOL.loss[order], q, 300, proxy_loss=POOL.proxy_loss[order], pool_proxy_loss=POOL.proxy_loss)
    ppat.explore.controls(labels)
    figure = chosen["draw"](control=0.25, confidence=0.5, variance="unbiased")
    curve = ppat.estimates(**labels.arguments(), control=0.25, confidence=0.5, variance="unbiased")
    assert figure == ppat.show.budget_curve(curve)
    assert 1.0 in chosen["control"][1]
