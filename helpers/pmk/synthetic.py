"""Made clips with known truth: no image is in them, only labels, frame types and scores. For examples and checks.

Nothing here imitates a data set's numbers. What it is for: the true accuracy of every frame is known, causes can be
switched on one at a time, and a chapter runs where no video is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import arrays
from ..errors import InputError
from .boxes import Boxes, Detections
from .inputs import places_of
from .record import FrameSets, Predictions

#: Every so many frames one is stored whole; between them the pattern of the others repeats.
WHOLE_EVERY, PATTERN = 200, "PPBPPBPB"
#: What two classes score that no frame shows: a rival that wins once the true class falls below it, and the rest.
RIVAL, REST = 0.0, -1.0
WIDTH, HEIGHT = 80.0, 60.0


@dataclass(frozen=True, eq=False)
class Clips:
    """Made clips; see `clips`.

    Attributes
    ----------
    candidates : FrameSets
        All frames within k of each anchor, judged by the first label of the anchor, with the decisions of a review.
    reviewed : FrameSets
        The frames that review kept, with the labels that it completed.
    places : dict of str to (str, int)
        Clip and frame number of every frame, those beyond the sets among them.
    shows : int64 array of shape (n, frames of a clip)
        The class that each frame really shows; the anchor is in the middle column.
    shot : int64 array of the same shape
        0 in the anchor's shot, 1 beyond a cut.
    """

    candidates: FrameSets
    reviewed: FrameSets
    places: dict[str, tuple[str, int]]
    shows: np.ndarray
    shot: np.ndarray

    def __repr__(self) -> str:
        return f"Clips({len(self.shows)} clips of {self.shows.shape[1]} frames, {self.candidates.classes} classes)"


def clips(
    n: int,
    *,
    k: int = 10,
    beyond: int = 8,
    classes: int = 6,
    cuts: float = 0.25,
    mislabelled: float = 0.05,
    seed: int = 0,
) -> Clips:
    """Clips with an anchor in the middle, cuts, and first labels some of which are wrong.

    A clip shows one class. With probability `cuts` it has a cut, at a place that is uniform over the frames other than
    the anchor, and shows another class beyond it. The first label of an anchor is another class with probability
    `mislabelled`. Reviewers make no mistakes: they keep the frames of the anchor's shot, and add the class that it
    shows to the label. Frame numbers start anywhere; types follow from the number alone and touch nothing else.

    Parameters
    ----------
    n : int
        Clips, each with one anchor.
    k : int
        Candidate frames on either side of the anchor.
    beyond : int
        Further frames on either side, which belong to no set, but to the past and future of those that do.
    classes : int
        At least 3.
    cuts, mislabelled : float
        Probabilities.
    seed : int
        Of all draws.

    Returns
    -------
    Clips

    Raises
    ------
    InputError
        A number that is not whole or too small, a probability outside [0, 1].

    Examples
    --------
    >>> made = clips(20, k=3, beyond=2)
    >>> made
    Clips(20 clips of 11 frames, 6 classes)
    >>> made.candidates.pairs, made.reviewed.pairs <= 120
    (120, True)
    """
    for name, count, least in (("n", n, 1), ("k", k, 1), ("beyond", beyond, 0), ("classes", classes, 3)):
        arrays.whole_number(count, name, least=least)
    for name, share in (("cuts", cuts), ("mislabelled", mislabelled)):
        if not arrays.is_number(share) or not 0 <= share <= 1:
            raise InputError(f"{name} is {share!r}: give a probability, 0 to 1")
    rng = np.random.default_rng(seed)
    reach = k + beyond
    time = np.arange(-reach, reach + 1)
    shot = _shots(n, time, cuts, rng)
    first = rng.integers(classes, size=n)
    second = (first + rng.integers(1, classes, size=n)) % classes
    shows = np.where(shot == 0, first[:, None], second[:, None])
    label = np.where(rng.random(n) < mislabelled, (first + rng.integers(1, classes, size=n)) % classes, first)
    number = rng.integers(WHOLE_EVERY, 10 * WHOLE_EVERY, size=n)[:, None] + time
    names = [f"clip{i:05d}" for i in range(n)]
    keys = [[f"{name}/{t:06d}.jpg" for t in row] for name, row in zip(names, number.tolist(), strict=True)]
    near = np.flatnonzero((time != 0) & (np.abs(time) <= k))
    anchors = [row[reach] for row in keys]
    sets = {anchor: [row[j] for j in near] for anchor, row in zip(anchors, keys, strict=True)}
    kept = {anchors[i]: [keys[i][j] for j in near if shot[i, j] == 0] for i in range(n)}
    review = {(anchors[i], keys[i][j]): "similar" if shot[i, j] == 0 else "dissimilar" for i in range(n) for j in near}
    types = {
        key: _type(t)
        for row, numbers in zip(keys, number.tolist(), strict=True)
        for key, t in zip(row, numbers, strict=True)
    }
    options: dict[str, Any] = {"classes": classes, "provenance": {"made": "synthetic clips", "seed": seed}}
    candidates = FrameSets(
        sets,
        {anchor: [int(c)] for anchor, c in zip(anchors, label, strict=True)},
        frame_types=_of(types, sets),
        review=review,
        **options,
    )
    both = {anchor: {int(c), int(d)} for anchor, c, d in zip(anchors, label, first, strict=True)}
    reviewed = FrameSets(kept, both, frame_types=_of(types, kept), **options)
    places = {
        key: (name, t)
        for name, row, numbers in zip(names, keys, number.tolist(), strict=True)
        for key, t in zip(row, numbers, strict=True)
    }
    return Clips(candidates, reviewed, places, shows, shot)


def predict(
    made: Clips,
    *,
    skill: float = 1.5,
    difficulty: float = 1.5,
    drift: float = 1.0,
    memory: float = 15.0,
    flicker: float = 0.6,
    seed: int = 0,
) -> Predictions:
    r"""What a made model scores in every frame of made clips.

    The class that frame t of clip i shows scores

    .. math::

        m_{it} = \text{skill} + \text{difficulty} \cdot u_i + \text{drift} \cdot w_{it}
        + \text{flicker} \cdot e_{it}

    with standard normal u (one for each shot), w (a stationary autoregression whose correlation over d frames is
    :math:`e^{-d/\text{memory}}`) and e (anew in each frame). One rival class scores 0 and the others -1, so that the
    frame is right where m is above 0. Before and after a cut all draws are independent. Every frame, near the anchor or
    not, is right with the same probability

    .. math:: \Phi\big(\text{skill} / \sqrt{\text{difficulty}^2 + \text{drift}^2 + \text{flicker}^2}\big).

    Parameters
    ----------
    made : Clips
        Of `clips`.
    skill : float
        Mean score of the true class.
    difficulty, drift, flicker : float
        Standard deviations of what stays within a shot, of what moves slowly, and of what is new in each frame.
    memory : float
        Frames over which the slow part forgets, above 0.
    seed : int
        Of all draws; models with the same seed see the same clips as hard.

    Returns
    -------
    Predictions
        Scores of every frame in `made.places`.

    Raises
    ------
    InputError
        A number that is not finite, a negative standard deviation, a memory that is not positive.

    Examples
    --------
    >>> made = clips(20, k=3, beyond=2)
    >>> predict(made)
    Predictions(220 frames, scores of 6 classes)
    """
    for name, number in (("skill", skill), ("difficulty", difficulty), ("drift", drift), ("flicker", flicker)):
        if not arrays.is_number(number) or (number < 0 and name != "skill"):
            raise InputError(
                f"{name} is {number!r}: give a finite number" + ("" if name == "skill" else ", at least 0")
            )
    if not arrays.is_number(memory) or memory <= 0:
        raise InputError(f"memory is {memory!r}: give frames, above 0")
    rng = np.random.default_rng(seed)
    n, length = made.shows.shape
    classes, row = made.candidates.classes, np.arange(n)[:, None]
    # two shots of everything, from which each frame takes its own
    hard, fresh = rng.standard_normal((n, 2)), rng.standard_normal((n, length))
    slow = _autoregression(rng.standard_normal((n, 2, length)), float(np.exp(-1.0 / memory)))
    turn = rng.integers(1, classes, size=(n, 2))
    moving = np.take_along_axis(slow, made.shot[:, None, :], axis=1)[:, 0]
    margin = skill + difficulty * hard[row, made.shot] + drift * moving + flicker * fresh
    scores = np.full((n, length, classes), REST)
    np.put_along_axis(scores, ((made.shows + turn[row, made.shot]) % classes)[..., None], RIVAL, axis=2)
    np.put_along_axis(scores, made.shows[..., None], margin[..., None], axis=2)
    settings = {
        "skill": skill,
        "difficulty": difficulty,
        "drift": drift,
        "memory": memory,
        "flicker": flicker,
        "seed": seed,
    }
    return Predictions(tuple(made.places), scores.reshape(-1, classes), {"made": "synthetic scores", **settings})


def objects(made: Clips, predictions: Predictions, *, jitter: float = 0.08, seed: int = 0) -> tuple[Boxes, Detections]:
    """An object in every frame of the reviewed sets, and a detector that says the predicted class and misplaces boxes.

    The object crosses the frame at an even pace. The detector finds one box a frame: the true one, moved along both
    sides by normal errors that are anew in each frame. Its score is the softmax of the predicted class.

    Parameters
    ----------
    made, predictions
        Of `clips` and `predict`.
    jitter : float
        Standard deviation of the errors of place, as a share of the box's sides.
    seed : int
        Of all draws.

    Returns
    -------
    tuple of Boxes and Detections

    Raises
    ------
    InputError
        A jitter below 0, predictions that are not of these clips.

    Examples
    --------
    >>> made = clips(20, k=3, beyond=2, cuts=0)
    >>> truth, said = objects(made, predict(made))
    >>> truth
    Boxes(140 boxes of 6 categories, 0 crowds, 140 frames, 0 without boxes)
    """
    if not arrays.is_number(jitter) or jitter < 0:
        raise InputError(f"jitter is {jitter!r}: give a share of the box's sides, at least 0")
    if predictions.scores is None or predictions.frames != tuple(made.places):
        raise InputError("predictions is not of these clips: give what predict made of them")
    rng = np.random.default_rng(seed)
    at = places_of(made.reviewed.frames, made.places)
    n, length = made.shows.shape
    clip, time = np.divmod(at, length)
    pace, start = rng.normal(scale=4.0, size=(n, 2)), rng.uniform(200.0, 400.0, size=(n, 2))
    sides = np.tile([WIDTH, HEIGHT], (len(at), 1))
    corner = start[clip] + pace[clip] * (time - length // 2)[:, None]
    found = corner + sides * jitter * rng.standard_normal((len(at), 2))
    scores = predictions.scores[at]
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    each = np.arange(len(at))
    categories = {c: f"class {c}" for c in range(made.candidates.classes)}
    keys = made.reviewed.frames
    truth = Boxes(keys, each, made.shows[clip, time], np.hstack([corner, sides]), categories=categories)
    said = Detections(
        keys,
        each,
        predictions.classes[at],
        np.hstack([found, sides]),
        shares.max(axis=1) / shares.sum(axis=1),
    )
    return truth, said


def _shots(n: int, time: np.ndarray, cuts: float, rng: np.random.Generator) -> np.ndarray:
    """0 where a frame belongs to the anchor's shot, 1 beyond a cut."""
    reach = int(time[-1])
    has, after, distance = rng.random(n) < cuts, rng.random(n) < 0.5, rng.integers(1, reach + 1, size=n)
    beyond = np.where(after[:, None], time >= distance[:, None], time <= -distance[:, None])
    return np.asarray(has[:, None] & beyond, dtype=np.int64)


def _autoregression(noise: np.ndarray, correlation: float) -> np.ndarray:
    """Stationary along the last axis, with variance 1 throughout."""
    found = noise.copy()
    new = np.sqrt(1.0 - correlation**2)
    for t in range(1, noise.shape[-1]):
        found[..., t] = correlation * found[..., t - 1] + new * noise[..., t]
    return found


def _type(number: int) -> str:
    return "I" if number % WHOLE_EVERY == 0 else PATTERN[number % len(PATTERN)]


def _of(types: Mapping[str, str], sets: Mapping[str, list[str]]) -> dict[str, str]:
    """Types of the frames in sets, anchors included."""
    return {key: types[key] for anchor, members in sets.items() for key in (anchor, *members)}
