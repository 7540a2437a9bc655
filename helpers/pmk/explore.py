"""What a reader moves: a panel computed beforehand, and controls for a live kernel."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .. import explorer
from ..errors import InputError
from ..explorer import Axis, Explorer
from ..figures import Figure
from . import show
from .inputs import places_of
from .offsets import offset_errors
from .record import FrameSets, Predictions
from .score import Score, score
from .smoothing import smooth
from .timeline import Timeline

WINDOWS = (1, 3, 5, 9, 13, 17)
#: How a window lies, in words for the menu.
LIES = {"around the frame": "centred", "behind the frame": "causal"}
Places = Mapping[str, tuple[Any, int]]


def panel(
    models: Mapping[str, Predictions], frames: FrameSets, places: Places, *, confidence: float = 0.95
) -> Explorer:
    """Accuracy on anchors and on the worst frame against k, while predictions are smoothed over time.

    Every number is one of `score`, of predictions that `smooth` made.

    Parameters
    ----------
    models : mapping of str to Predictions
        Scores of each model for every frame of `places`, in its order.
    frames : FrameSets
        Sets with offsets.
    places : mapping of str to (clip, number)
        Where all frames of the clips lie.
    confidence : float
        Level of the intervals.

    Raises
    ------
    InputError
        Sets without offsets, predictions that are classes only or of other frames, what `smooth` and `score` refuse.
    """
    limits, smoothed = _limits(frames), _smoother(models, frames, places)
    rows = []
    for model, window, lies in itertools.product(models, WINDOWS, LIES):
        for one in score(smoothed(model, window, lies), frames, k=limits, confidence=confidence):
            rows += _rows(one, {"model": model, "window": window, "lies": lies})
    return explorer.build(
        rows,
        name="explore",
        x=Axis("k", "k, frames on either side of an anchor"),
        y=Axis("accuracy", "accuracy (share)"),
        series="frames",
        sliders={"window": "window of smoothing (frames)"},
        menus={"model": "model", "lies": "the window lies"},
        start={"window": 1},
        interval=("low", "high"),
        caption=(
            "Computed for every setting from the same scores. A window of one frame is no smoothing; one behind the "
            "frame needs no future."
        ),
    )


def controls(models: Mapping[str, Predictions], frames: FrameSets, places: Places) -> Any:
    """Live: errors at each offset of any model under any window."""
    furthest, smoothed = _limits(frames)[-1], _smoother(models, frames, places)

    def draw(model: str, window: int, lies: str) -> Figure:
        return show.both_errors(offset_errors(smoothed(model, window, lies), frames, k=furthest))

    return explorer.controls(
        draw,
        model=("model", list(models)),
        window=("window of smoothing (frames)", list(WINDOWS)),
        lies=("the window lies", list(LIES)),
    )


def _limits(frames: FrameSets) -> Sequence[int]:
    """Every k that changes something."""
    if frames.offset is None or not frames.pairs:
        raise InputError("frames has no offsets: there is no k to move")
    return list(range(1, int(np.abs(frames.offset).max()) + 1))


def _smoother(models: Mapping[str, Predictions], frames: FrameSets, places: Places) -> Callable[..., np.ndarray]:
    """Classes of a model, in the order of `frames.frames`, under a window."""
    for predictions in models.values():
        if predictions.scores is None or predictions.frames != tuple(places):
            raise InputError("models has predictions without scores, or of other frames than places: give those of all")
    line, at = Timeline.of_places(places), places_of(frames.frames, places)

    def smoothed(model: str, window: int, lies: str) -> np.ndarray:
        found: np.ndarray = smooth(models[model].scores, line, window=window, mode=LIES[lies]).classes[at]
        return found

    return smoothed


def _rows(one: Score, setting: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The two accuracies of a score."""
    found = []
    for name, rate in (("anchors", one.original), ("worst frame within k", one.perturbed)):
        low, high = rate.interval or (None, None)
        found.append({**setting, "k": one.k, "frames": name, "accuracy": rate.rate, "low": low, "high": high})
    return found
