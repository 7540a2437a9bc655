r"""Temporal smoothing: what predictions gain from the frames around them, and what that costs in time.

A flicker of single frames can be smoothed away. Offline the window lies around the frame; in a running system it can
only lie behind it, or the answer has to wait. `smooth` does either, and `delay` says what each costs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import arrays
from ..errors import InputError, brief, listed
from .flips import flips_in_time
from .inputs import FURTHEST, places_of
from .judged import Tally, scored
from .record import FrameSets, Predictions, check_sets
from .resampling import Average
from .score import Score
from .timeline import Timeline

MODES = ("centred", "causal")
OF = ("scores", "votes")
#: Scores beyond this could add up to infinity in a window.
LARGEST = 1e290


@dataclass(frozen=True)
class Delay:
    """What a window costs in time.

    Attributes
    ----------
    waits : int
        Frames that must still come before a frame's answer can be given.
    trails : int
        Frames by which the answer to a clean change of class is late, counted from the frame that it is given for.
    ms : float or None
        Both together in milliseconds; None without a frame rate.
    """

    waits: int
    trails: int
    ms: float | None

    @property
    def frames(self) -> int:
        """Frames from a change to the answer that shows it."""
        return self.waits + self.trails

    def to_dict(self) -> dict[str, Any]:
        """The fields as valid JSON."""
        return {"waits": self.waits, "trails": self.trails, "frames": self.frames, "ms": self.ms}


def delay(window: int, mode: str, *, frame_rate: float | None = None) -> Delay:
    r"""How late a smoothed answer is: frames that it waits for, and frames by which it trails a change.

    .. math:: \text{centred: } \text{waits} = \frac{w - 1}2,\ \text{trails} = 0; \qquad
       \text{causal: } \text{waits} = 0,\ \text{trails} = \Big\lfloor \frac{w - 1}2 \Big\rfloor; \qquad
       \text{ms} = 1000\, \frac{\text{waits} + \text{trails}}{\text{frame rate}}.

    A centred window of w frames waits for the (w - 1) / 2 that are still to come, and then sees a change at once. A
    causal window waits for none, but follows a clean change from one class to another, of equal strength, only when the
    new class holds half of the window, :math:`\lfloor (w - 1) / 2 \rfloor` frames late. (Over an even w that half is a
    tie: votes give it to the new class, equal scores to the lower one, which may cost one frame more.) For odd w both
    are equally late: the causal answer is the centred one, given for a later frame. What differs is the frame that it
    is given for, so that a causal window is wrong where a centred one is merely not there yet.

    Parameters
    ----------
    window : int
        w, frames in the window, 1 for no smoothing; odd where it is centred.
    mode : str
        "centred" or "causal".
    frame_rate : float, optional
        Frames per second, for milliseconds. There is none by default: sets and predictions do not know it.

    Returns
    -------
    Delay
        Frames; milliseconds where the frame rate is given. What the model itself takes to compute comes on top.

    Raises
    ------
    InputError
        A window below 1 or beyond a thousand million, an even centred one, another mode, a frame rate that is no number
        or not above 0.

    References
    ----------
    A symmetric filter of w taps delays by (w - 1) / 2 samples (group delay of linear-phase filters; Oppenheim and
    Schafer, "Discrete-time signal processing"). That votes and summed scores follow a change just so late is held
    against `smooth` in the tests.

    Examples
    --------
    >>> delay(5, "causal", frame_rate=25)
    Delay(waits=0, trails=2, ms=80.0)
    >>> delay(5, "centred", frame_rate=25)
    Delay(waits=2, trails=0, ms=80.0)
    """
    behind, ahead = _reach(window, mode)
    if frame_rate is not None and (not arrays.is_number(frame_rate) or frame_rate < 1e-6):
        raise InputError(f"frame_rate is {frame_rate!r}: give frames per second, above 0")
    trails = behind // 2 if mode == "causal" else 0
    return Delay(ahead, trails, None if frame_rate is None else (ahead + trails) * 1000.0 / float(frame_rate))


def _reach(window: int, mode: str) -> tuple[int, int]:
    """Frames behind and ahead of a frame that belong to its window."""
    arrays.one_of(mode, "mode", MODES)
    arrays.whole_number(window, "window", least=1)
    if window > FURTHEST:
        raise InputError(f"window is {brief(window)}: give at most {FURTHEST:,} frames")
    if mode == "causal":
        return window - 1, 0
    if window % 2 == 0:
        raise InputError(f"window is {window}: a centred window has as many frames behind as ahead, give an odd number")
    return window // 2, window // 2


@dataclass(frozen=True, eq=False)
class Smoothed:
    """Predictions from windows of frames.

    Attributes
    ----------
    classes : int64 array of shape (..., frames)
        Predicted classes, in the order of the timeline.
    used : int64 array of shape (frames,)
        Frames that each window really had.
    window : int
        Frames it would have had far from ends and holes.
    mode, of : str
        How it was made.
    """

    classes: np.ndarray
    used: np.ndarray
    window: int
    mode: str
    of: str

    @property
    def short(self) -> int:
        """Frames whose window lacked some of its frames, at the end of a clip or beside a hole."""
        return int(np.sum(self.used < self.window))

    def __repr__(self) -> str:
        return (
            f"Smoothed({self.mode} over {self.window} frames, {self.of}; "
            f"{self.short} of {len(self.used)} windows are short)"
        )


def smooth(scores: Any, timeline: Timeline, *, window: int, mode: str = "centred", of: str = "scores") -> Smoothed:
    r"""Predict every frame from the frames of a window in time.

    Over the frames s of the window :math:`W_t` that exist, either the mean of scores or the most votes wins:

    .. math:: \hat y_t = \arg\max_c \frac{1}{|W_t|} \sum_{s \in W_t} z_{s,c} \qquad\text{or}\qquad
              \hat y_t = \arg\max_c \#\{s \in W_t : \arg\max_{c'} z_{s,c'} = c\}

    with W from t - (w-1)/2 to t + (w-1)/2 where centred and from t - w + 1 to t where causal.

    **Ends and holes.** A window keeps its place. Frames that it would have before a clip's first, after its last, or in
    a hole, are not there: the window is shorter, nothing is repeated, reflected or filled with zeros, and no frame from
    farther away takes their place. `used` says how many frames each window had.

    **Ties.** Of equal mean scores the lowest class wins, as without smoothing. Of classes with equally many votes the
    frame's own wins if it is one of them, so that smoothing changes nothing without a majority; otherwise the lowest.

    Parameters
    ----------
    scores : array of shape (..., frames, classes)
        Scores of every frame in the order of the timeline, the largest wins; leading axes are models. Averages depend
        on the scale: logits, probabilities and their logarithms smooth differently. Minus infinity is a class that
        cannot win, in a mean not for any frame whose window holds it.
    timeline : Timeline
        Where each frame lies.
    window : int
        w; 1 leaves everything as it is. Odd where centred.
    mode : str
        "centred" (default; needs frames that are still to come) or "causal".
    of : str
        "scores" (default) averages scores; "votes" counts predicted classes.

    Returns
    -------
    Smoothed

    Raises
    ------
    InputError
        Another number of frames than the timeline has, NaN or plus infinity among the scores, no finite score in a
        frame or window, a bad window, mode or `of`.

    Examples
    --------
    >>> scores = [[0.9, 0.1], [0.4, 0.6], [0.8, 0.2], [0.9, 0.1]]
    >>> line = Timeline([0, 0, 0, 0], [0, 1, 2, 3])
    >>> smooth(scores, line, window=3)
    Smoothed(centred over 3 frames, scores; 2 of 4 windows are short)
    >>> smooth(scores, line, window=1).classes, smooth(scores, line, window=3).classes
    (array([0, 1, 0, 0]), array([0, 0, 0, 0]))
    """
    behind, ahead = _reach(window, mode)
    arrays.one_of(of, "of", OF)
    values = _check_scores(scores, timeline)
    own = np.argmax(values, axis=-1)
    if of == "votes":
        values = (own[..., None] == np.arange(values.shape[-1])).astype(np.float64)
    total = np.zeros(values.shape)
    used = np.zeros(len(timeline), dtype=np.int64)
    furthest = timeline.span - 1  # a longer step finds no frame
    for step in range(-min(behind, furthest), min(ahead, furthest) + 1):
        place = timeline.at(step)
        there = np.flatnonzero(place >= 0)
        for model in np.ndindex(values.shape[:-2]):  # one by one: what fits into the cache is faster than all at once
            total[model][there] += values[model][place[there]]
        used[there] += 1
    if of == "votes":  # half a vote more breaks ties, and nothing else
        np.put_along_axis(total, own[..., None], np.take_along_axis(total, own[..., None], -1) + 0.5, -1)
    else:
        _refuse_hopeless(total, timeline)
    return Smoothed(np.argmax(total, axis=-1), used, window, mode, of)


@dataclass(frozen=True, eq=False)
class SmoothingEffect:
    """What one window does; see `smoothing_effect`.

    Attributes
    ----------
    window : int
        Frames in the window; 1 is the model as it is.
    mode, of : str
        As in `smooth`.
    score : Score, or Tally for many models
        PM-k of the smoothed predictions.
    flips : Average
        Share of consecutive frames whose predictions differ, see `flips_in_time`.
    delay : Delay
        What it costs in time.
    short : int
        Frames whose window lacked some of its frames.
    """

    window: int
    mode: str
    of: str
    score: Score | Tally
    flips: Average
    delay: Delay
    short: int

    def to_dict(self) -> dict[str, Any]:
        """The fields as valid JSON."""
        content = {name: getattr(self, name) for name in ("window", "mode", "of", "short")}
        return {**content, **{name: getattr(self, name).to_dict() for name in ("score", "flips", "delay")}}


def smoothing_effect(
    predictions: Any,
    frames: FrameSets,
    *,
    windows: Sequence[int] = (1, 3, 5, 9),
    modes: Sequence[str] = MODES,
    of: str = "scores",
    places: Mapping[str, tuple[Any, int]] | None = None,
    frame_rate: float | None = None,
    k: int = 10,
    confidence: float = 0.95,
    seed: int = 0,
) -> tuple[SmoothingEffect, ...]:
    """PM-k, flips and delay under temporal smoothing.

    The source's opening claim is that flicker can be smoothed away offline, and online only at the price of delay.
    These rows say how much of it: PM-k before and after, flips before and after, and the delay.

    Where `places` says where all frames of the clips lie, each prediction is smoothed over its clip. Without it, only
    the frames of the sets are known: each set is a clip of its own that ends with the set, so that windows at its outer
    frames are short, and `short` counts them. PM-k is the worst frame of a set, and a causal window has nothing behind
    the first frame of one: without `places` it looks worse than it would be in a running system. The frame numbers of a
    set have holes where review took frames out.

    Parameters
    ----------
    predictions : mapping of str to scores, Predictions with scores, or float array of shape (..., frames, classes)
        For every frame of `places` or, without them, of the sets; an array in the order of these, with models along its
        leading axes. It is copied for each window: give as many models at once as memory holds twice.
    frames : FrameSets
        What is scored.
    windows, modes, of
        Which windows, see `smooth`. Window 1 is the same in every mode and comes once.
    places : mapping of str to (clip, number), optional
        Clip and frame number of frame keys, the frames of the sets among them. The clip may be any name.
    frame_rate : float, optional
        Frames per second, for the delay in milliseconds.
    k : int
        As for `score`, the anchor taking part in its set.
    confidence, seed
        Of the intervals.

    Returns
    -------
    tuple of SmoothingEffect
        By window, then mode.

    Raises
    ------
    InputError
        Predictions that are classes only, frames without a prediction or a place, what `smooth` and `score` refuse.

    Examples
    --------
    >>> frames = FrameSets({"v/3": ["v/1", "v/2", "v/4", "v/5"]}, {"v/3": [0]}, classes=2)
    >>> scores = {"v/1": [0.9, 0.1], "v/2": [0.4, 0.6], "v/3": [0.8, 0.2], "v/4": [0.7, 0.3], "v/5": [0.8, 0.2]}
    >>> for row in smoothing_effect(scores, frames, windows=[1, 3], frame_rate=25):
    ...     print(row.window, row.mode, row.score.perturbed.count, row.flips.value, row.delay.ms, row.short)
    1 centred 0 0.5 0.0 0
    3 centred 1 0.0 40.0 2
    3 causal 1 0.0 40.0 2
    """
    check_sets(frames)
    arrays.whole_number(k, "k", least=1)
    for name, several in (("windows", windows), ("modes", modes)):
        if isinstance(several, str) or not isinstance(several, Sequence) or not several:
            raise InputError(f"{name} is {brief(several)}: give a list of at least one")
    timeline = Timeline.of(frames) if places is None else Timeline.of_places(places)
    keys = frames.frames if places is None else tuple(places)
    at = places_of(frames.frames, keys)
    missing = [frame for frame, found in zip(frames.frames, at, strict=True) if found < 0]
    if missing:
        raise InputError(f"places lacks {len(missing)} frames of the sets: {listed(missing)}")
    scores = _scores_of(predictions, keys)
    rows = []
    for window in windows:
        for mode in modes if window != 1 else modes[:1]:
            found = smooth(scores, timeline, window=window, mode=mode, of=of)
            rows.append(
                SmoothingEffect(
                    window,
                    mode,
                    of,
                    scored(found.classes[..., at], frames, k=k, confidence=confidence, seed=seed),
                    flips_in_time(found.classes, timeline, confidence=confidence, seed=seed),
                    delay(window, mode, frame_rate=frame_rate),
                    found.short,
                )
            )
    return tuple(rows)


def _scores_of(predictions: Any, keys: Sequence[str]) -> np.ndarray:
    """Scores in the order of the keys; an array is in that order already."""
    if not isinstance(predictions, Predictions | Mapping):
        values = arrays.to_numpy(arrays.detached(arrays.as_array(predictions, "predictions")))
        if values.dtype.kind != "f" or values.ndim < 2 or values.shape[-2] != len(keys):
            raise InputError(
                f"predictions has shape {values.shape} and type {values.dtype}: smoothing needs the scores of every "
                f"class as floats, shape (..., {len(keys)} frames, classes)"
            )
        if isinstance(predictions, list | tuple):  # an array of them would turn True into 1
            arrays.floats(predictions, "predictions", remedy="give scores")
        return values
    record = predictions if isinstance(predictions, Predictions) else Predictions.of(predictions)
    if record.scores is None:
        raise InputError("predictions has classes only: smoothing needs the scores of every class")
    rows = places_of(keys, record.frames)
    missing = [key for key, row in zip(keys, rows, strict=True) if row < 0]
    if missing:
        raise InputError(
            f"predictions has none for {len(missing)} of {len(keys)} frames: {listed(missing)}; predict them, or give "
            "places and sets without them: a frame that is not there is a hole"
        )
    return record.values[rows]


def _check_scores(scores: Any, timeline: Timeline) -> np.ndarray:
    values = arrays.floats(scores, "scores", remedy="give numbers, shape (..., frames, classes)")
    if values.ndim < 2 or values.shape[-1] == 0:
        raise InputError(f"scores has shape {values.shape}: give (..., frames, classes)")
    if values.shape[-2] != len(timeline):
        raise InputError(f"scores has shape {values.shape}: the timeline has {len(timeline)} frames")
    bad = np.isnan(values) | (values > LARGEST) | ((values < -LARGEST) & (values != -np.inf))
    remedy = (
        f"numbers within {LARGEST:g} of 0, or minus infinity, can be averaged; mend it, or leave the frame out of the "
        "timeline"
    )
    arrays.refuse_where(bad, values, "scores", remedy)
    _refuse_hopeless(values, timeline)
    return values


def _refuse_hopeless(values: np.ndarray, timeline: Timeline) -> None:
    hopeless = np.argwhere((values == -np.inf).all(axis=-1))
    if hopeless.size:
        frame = hopeless[0][-1]
        raise InputError(
            f"scores has no class that can win at frame {frame} (number {timeline.time[frame]} of its clip): each is "
            "minus infinity there or in its window; average finite scores, or count votes"
        )
