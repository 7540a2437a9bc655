"""Frame-type ablation: does video compression, rather than the scene, cause the drop?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import arrays
from ..errors import InputError
from .inputs import TYPES, places_of
from .judged import Tally, scored
from .record import FrameSets, aligned, check_sets
from .score import Score


@dataclass(frozen=True)
class Ablation:
    """The score without one type of frame.

    Attributes
    ----------
    without : str or None
        The type that was left out; None for all frames.
    anchors, pairs : int
        Anchors that were left out, and similar frames of the others.
    unknown : int
        Frames of unknown type, which stay.
    score : Score, or Tally for many models, or None
        None with `reason` where no anchor is left.
    reason : str or None
        Why there is no score.
    """

    without: str | None
    anchors: int
    pairs: int
    unknown: int
    score: Score | Tally | None
    reason: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The fields as valid JSON."""
        return {
            "without": self.without,
            "anchors": self.anchors,
            "pairs": self.pairs,
            "unknown": self.unknown,
            "score": None if self.score is None else self.score.to_dict(),
            "reason": self.reason,
        }


def frame_type_ablation(
    predictions: Any,
    frames: FrameSets,
    *,
    k: int = 10,
    missing: str = "error",
    confidence: float = 0.95,
    seed: int = 0,
) -> tuple[Ablation, ...]:
    """Score all frames, then without each type: its anchors with their sets, and its frames in the sets of others.

    A coded video stores I frames whole, P frames as changes from an earlier frame and B frames as changes from frames
    on both sides. If one type were to blame, the drop would go where it is left out. Each row has its own anchors: its
    accuracies differ from those of all frames for that reason too, so read its drop and n.

    Frames of unknown type ("?") stay in every row, and are counted there.

    Parameters
    ----------
    predictions
        As for `score`; an int array of shape (..., frames) holds many models.
    k, missing, confidence, seed
        As for `score`, the anchor taking part in its set; of many models none may skip frames, as for `counts`.
    frames : FrameSets
        Sets with frame types.

    Returns
    -------
    tuple of Ablation
        All frames first, then I, P and B as far as there are such frames.

    Raises
    ------
    InputError
        No frame types, or what `score` refuses.

    References
    ----------
    Shankar et al. (2021), "Do image classifiers generalize across time?", section 4.4.

    Examples
    --------
    >>> frames = FrameSets(
    ...     {"v/3": ["v/2", "v/4"], "w/3": ["w/4"]},
    ...     {"v/3": [0], "w/3": [1]},
    ...     frame_types={"v/3": "P", "v/2": "I", "v/4": "B", "w/3": "B", "w/4": "P"},
    ... )
    >>> predictions = {"v/2": 0, "v/3": 0, "v/4": 1, "w/3": 1, "w/4": 1}
    >>> for row in frame_type_ablation(predictions, frames):
    ...     print(row.without, row.score.n, row.score.original.count, row.score.perturbed.count)
    None 2 2 1
    I 2 2 1
    P 1 1 1
    B 1 1 1

    Two models at once, in the order of ``frames.frames``:

    >>> frames.frames
    ('v/3', 'w/3', 'v/2', 'v/4', 'w/4')
    >>> [row.score.perturbed.tolist() for row in frame_type_ablation([[0, 1, 0, 1, 1], [0, 1, 0, 0, 1]], frames)]
    [[1, 2], [1, 2], [1, 1], [1, 1]]
    """
    check_sets(frames)
    arrays.whole_number(k, "k", least=1)
    classes = aligned(predictions, frames, missing=missing)
    options: dict[str, Any] = {"k": k, "missing": missing, "confidence": confidence, "seed": seed}
    if frames.type is None:
        raise InputError("frames has no frame types: give frame_types, which a video decoder tells")
    unknown = int(np.sum(frames.type == "?"))
    rows = [Ablation(None, 0, 0, unknown, scored(classes, frames, **options))]
    for kind, kept, places in without_types(frames):
        if kept is None:
            rows.append(Ablation(kind, frames.n, 0, 0, None, f"all {frames.n} anchors are of type {kind}"))
            continue
        anchors = frames.n - kept.n
        pairs = int(np.sum((frames.type[frames.row] != kind) & (frames.type[frames.member] == kind)))
        unknown = int(np.sum(frames.type[places] == "?"))
        if missing == "skip" and (classes[places[: kept.n]] < 0).all():
            rows.append(Ablation(kind, anchors, pairs, unknown, None, "no anchor that is left has a prediction"))
            continue
        rows.append(Ablation(kind, anchors, pairs, unknown, scored(classes[..., places], kept, **options)))
    return tuple(rows)


def without_types(frames: FrameSets) -> Iterator[tuple[str, FrameSets | None, np.ndarray]]:
    """The sets without I frames, without P frames and without B frames, as far as there are such frames.

    Leaving out a type takes its anchors with their whole sets, and its frames out of the sets of other anchors. Frames
    of unknown type ("?") stay. `frame_type_ablation` scores what comes out; take this for any other measure of sets.

    Parameters
    ----------
    frames : FrameSets
        Sets with a type for each frame, given as ``frame_types=``; a video decoder tells them.

    Yields
    ------
    kind : str
        The type that is left out: "I", "P" or "B".
    kept : FrameSets or None
        The sets without it, None where no anchor is left.
    places : int64 array of shape (kept frames,)
        The frames of `kept` as places in ``frames.frames``, so that predictions follow as ``predictions[..., places]``;
        empty where nothing is left.

    Raises
    ------
    InputError
        No `FrameSets`, or no frame types.

    References
    ----------
    Shankar et al. (2021), "Do image classifiers generalize across time?", section 4.4.

    Examples
    --------
    >>> frames = FrameSets(
    ...     {"v/3": ["v/2", "v/4"]}, {"v/3": [0]}, frame_types={"v/3": "P", "v/2": "I", "v/4": "B"}
    ... )
    >>> for kind, kept, places in without_types(frames):
    ...     print(kind, kept, places)
    I FrameSets(1 anchors, 1 similar frames, 1 classes) [0 2]
    P None []
    B FrameSets(1 anchors, 1 similar frames, 1 classes) [0 1]
    """
    check_sets(frames)
    if frames.type is None:
        raise InputError("frames has no frame types: give frame_types, which a video decoder tells")
    for kind in TYPES:
        drop = frames.type == kind
        if kind == "?" or not drop.any():
            continue
        if drop[frames.anchor].all():
            yield kind, None, np.zeros(0, dtype=np.int64)
            continue
        kept = frames.subset(~drop[frames.anchor], ~drop[frames.member])
        yield kind, kept, places_of(kept.frames, frames.frames)
