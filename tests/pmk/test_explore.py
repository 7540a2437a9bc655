"""What a reader moves: every number of the panel is a score's, the controls draw the right errors."""

import numpy as np
import pytest

from helpers import explorer, pmk
from helpers.errors import InputError
from helpers.pmk import explore, show, synthetic


@pytest.fixture(scope="module")
def made():
    return synthetic.clips(40, k=3, beyond=2, seed=1)


@pytest.fixture(scope="module")
def models(made):
    return {
        "mixed": synthetic.predict(made, seed=1),
        "flickering": synthetic.predict(made, flicker=1.2, drift=0, seed=1),
    }


@pytest.fixture(scope="module")
def rows(made, models):
    """The rows that the panel is built of."""
    taken = []

    def build(given, **_):
        taken.extend(given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(explorer, "build", build)
        explore.panel(models, made.reviewed, made.places, confidence=0.9)
    return taken


def test_rows_are_those_of_smoothed_scores(rows, made, models):
    assert len(rows) == 2 * len(explore.WINDOWS) * 2 * 3 * 2
    for window, mode in ((1, "centred"), (5, "causal"), (9, "centred")):
        options = {"windows": [window], "modes": [mode], "places": made.places, "k": 2, "confidence": 0.9}
        effect = pmk.smoothing_effect(models["flickering"], made.reviewed, **options)[0]
        words = {mode: words for words, mode in explore.LIES.items()}[mode]
        found = {
            row["frames"]: row
            for row in rows
            if (row["model"], row["window"], row["lies"], row["k"]) == ("flickering", window, words, 2)
        }
        for name, rate in (("anchors", effect.score.original), ("worst frame within k", effect.score.perturbed)):
            assert found[name]["accuracy"] == rate.rate
            assert (found[name]["low"], found[name]["high"]) == rate.interval


def test_the_panel_starts_without_smoothing(made, models):
    panel = explore.panel({"mixed": models["mixed"]}, made.reviewed, made.places)
    plain = pmk.score(models["mixed"], made.reviewed, k=3)
    assert panel.name == "explore"
    assert f"{plain.perturbed.rate:.4g}" in panel.alt


def test_controls_draw_the_errors_of_the_smoothed(made, models, monkeypatch):
    taken = {}
    monkeypatch.setattr(explorer, "controls", lambda draw, **choices: taken.update(draw=draw, choices=choices))
    explore.controls(models, made.reviewed, made.places)
    assert list(taken["choices"]) == ["model", "window", "lies"]
    assert taken["choices"]["model"][1] == ["mixed", "flickering"]
    drawn = taken["draw"]("mixed", 1, "behind the frame")
    plain = pmk.offset_errors(models["mixed"], made.reviewed, k=3)
    assert drawn.alt == show.both_errors(plain).alt
    assert taken["draw"]("mixed", 9, "behind the frame").alt != drawn.alt


def test_refusals(made, models):
    bare = pmk.FrameSets({"a": ["b"]}, {"a": [0]}, classes=6)
    with pytest.raises(InputError, match="frames has no offsets"):
        explore.panel(models, bare, made.places)
    classes = pmk.Predictions(tuple(made.places), np.zeros(len(made.places), dtype=int))
    with pytest.raises(InputError, match="predictions without scores, or of other frames"):
        explore.panel({"constant": classes}, made.reviewed, made.places)
    turned = dict(reversed(made.places.items()))
    with pytest.raises(InputError, match="predictions without scores, or of other frames"):
        explore.panel(models, made.reviewed, turned)
