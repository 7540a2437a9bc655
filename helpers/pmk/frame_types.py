"""Frame-type ablation: does video compression, rather than the scene, cause the drop?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import arrays
from ..errors import InputError
from .inputs import TYPES
from .record import FrameSets, aligned, check_sets
from .score import Score, score


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
    score : Score or None
        None with `reason` where no anchor is left.
    reason : str or None
        Why there is no score.
    """

    without: str | None
    anchors: int
    pairs: int
    unknown: int
    score: Score | None
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
    predictions, k, missing, confidence, seed
        As for `score`, the anchor taking part in its set. For many models use `without_types` with `counts`.
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
    """
    check_sets(frames)
    arrays.whole_number(k, "k", least=1)
    classes = aligned(predictions, frames, missing=missing)
    if classes.ndim != 1:
        raise InputError(f"predictions has shape {classes.shape}: ablate one model at a time, or use without_types")
    options: dict[str, Any] = {"k": k, "missing": missing, "confidence": confidence, "seed": seed}
    if frames.type is None:
        raise InputError("frames has no frame types: give frame_types, which a video decoder tells")
    unknown = int(np.sum(frames.type == "?"))
    rows = [Ablation(None, 0, 0, unknown, score(classes, frames, **options))]
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
        rows.append(Ablation(kind, anchors, pairs, unknown, score(classes[places], kept, **options)))
    return tuple(rows)


def without_types(frames: FrameSets) -> Iterator[tuple[str, FrameSets | None, np.ndarray]]:
    """For each type among the frames: the type, the sets without it, and their frames as places in `frames.frames`.

    The sets are None where no anchor is left. For many models, ``counts(predictions[..., places], sets)``.

    Raises
    ------
    InputError
        No frame types.
    """
    check_sets(frames)
    if frames.type is None:
        raise InputError("frames has no frame types: give frame_types, which a video decoder tells")
    place = {frame: i for i, frame in enumerate(frames.frames)}
    for kind in TYPES:
        drop = frames.type == kind
        if kind == "?" or not drop.any():
            continue
        if drop[frames.anchor].all():
            yield kind, None, np.zeros(0, dtype=np.int64)
            continue
        kept = frames.subset(~drop[frames.anchor], ~drop[frames.member])
        yield kind, kept, np.array([place[frame] for frame in kept.frames], dtype=np.int64)
