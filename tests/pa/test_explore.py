"""The panel's numbers are those of the kernel and its score, and the controls score what was chosen."""

import math
from typing import Any

import numpy as np
import pytest

from helpers import explorer, pa
from helpers.errors import InputError

RNG = np.random.default_rng(0)
CLEAN = 3 * RNG.normal(size=(80, 4))
SHIFTED = {
    f"{shift} {strength:g}": CLEAN + spread * RNG.normal(size=CLEAN.shape)
    for shift, strength, spread in (("noise", 0.2, 1.6), ("noise", 0.4, 3.2), ("blur", 0.6, 1.2), ("blur", 1.2, 2.4))
}
SHIFTED |= {"contrast 0.4": 0.5 * CLEAN, "contrast 0.8": 0.1 * CLEAN}
RECORD = pa.Logits(CLEAN, SHIFTED)
RESULTS = {name: pa.agreement(CLEAN, outputs) for name, outputs in SHIFTED.items()}


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    """What the panel is built from."""
    seen: list[list[dict[str, Any]]] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(explorer, "build", lambda rows, **_: seen.append(rows))
        pa.explore.panel(RECORD, RESULTS)
    return seen[0]


def at(rows: list[dict[str, Any]], what: str, shift: str, strength: float) -> list[tuple[float, float]]:
    where = {"what": what, "shift": shift, "strength": strength}
    return [(row["beta"], row["agreement"]) for row in rows if all(row[key] == where[key] for key in where)]


@pytest.mark.parametrize(
    ("name", "shift", "strength"), [("noise 0.2", "noise", 0.5), ("noise 0.4", "noise", 1.0), ("blur 0.6", "blur", 0.5)]
)
def test_points_are_the_kernel_s(rows: list[dict[str, Any]], name: str, shift: str, strength: float) -> None:
    curve = at(rows, "agreement", shift, strength)
    assert len(curve) > 10
    for beta, value in curve:
        assert value == pytest.approx(math.log(4) + pa.kernel(CLEAN, SHIFTED[name], beta), abs=1e-12)
        assert value >= -0.5 * math.log(4)
    result = RESULTS[name]
    assert result.status == "interior"
    assert at(rows, "its maximum", shift, strength) == [(result.beta, result.value)]
    assert max(value for _, value in curve) <= result.value + 1e-12
    assert {value for _, value in at(rows, "flips alone", shift, strength)} == {result.flip_rate_only}


def test_without_a_flip_there_is_no_mark(rows: list[dict[str, Any]]) -> None:
    assert RESULTS["contrast 0.8"].status == "infinite"
    assert at(rows, "its maximum", "contrast", 1.0) == []
    assert at(rows, "agreement", "contrast", 1.0)


def test_the_panel_starts_with_the_strongest_noise() -> None:
    panel = pa.explore.panel(RECORD, RESULTS)
    assert "At strength (share of the strongest) 1, shift noise: agreement" in panel.alt
    assert f"its maximum {RESULTS['noise 0.4'].value:.4g} at {RESULTS['noise 0.4'].beta:.4g}" in panel.alt
    assert "noise 0.4 (sd, of full brightness); blur 1.2 (sd, pixels); contrast 0.8 (share removed)" in panel.caption


def test_refusals() -> None:
    with pytest.raises(InputError, match=r"results has no 'noise 0\.2'"):
        pa.explore.panel(RECORD, {})
    uneven = {name: outputs for name, outputs in SHIFTED.items() if name != "blur 0.6"}
    with pytest.raises(InputError, match=r"none at strength 0\.5, shift 'blur'"):
        pa.explore.panel(pa.Logits(CLEAN, uneven), RESULTS)


def test_controls_score_what_was_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen: dict[str, Any] = {}
    monkeypatch.setattr(explorer, "controls", lambda draw, **choices: chosen.update(draw=draw, **choices))
    pa.explore.controls(RECORD)
    assert chosen["shift"][1][0] == "contrast 0.8"
    assert chosen["rows"][1] == [80, 40, 20, 10, 5]
    figure = chosen["draw"](shift="noise 0.4", rows=40)
    few = CLEAN[:40], SHIFTED["noise 0.4"][:40]
    assert figure == pa.show.kernel_curve(*few, pa.agreement(*few))
