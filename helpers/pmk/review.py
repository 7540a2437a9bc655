"""The effect of review: the same predictions on all candidate frames, and on those that reviewers kept."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import InputError, brief, listed
from .inputs import places_of
from .judged import Judged, Tally, scored
from .record import FrameSets, Predictions, aligned, check_sets
from .resampling import Average, by_group, difference
from .score import Score


@dataclass(frozen=True, eq=False)
class ReviewEffect:
    """What review changes; see `review_effect`.

    Attributes
    ----------
    before, after : Score, or Tally for many models
        On the candidates, and on the reviewed sets.
    pairs_before, pairs_after : int
        Similar frames of each.
    original_change, perturbed_change, drop_change : Average
        After less before, arrays in them for many models. Review that takes out frames for their unlikeness makes the
        drop change negative.
    """

    before: Score | Tally
    after: Score | Tally
    pairs_before: int
    pairs_after: int
    original_change: Average
    perturbed_change: Average
    drop_change: Average

    def __repr__(self) -> str:
        if isinstance(self.before, Tally) or isinstance(self.after, Tally):
            shape = self.before.original.shape if isinstance(self.before, Tally) else ()
            return f"ReviewEffect(models {shape}, {self.before.n} anchors before, {self.after.n} after)"
        return (
            f"ReviewEffect(drop {self.before.drop.rate:.4f} of {self.before.n} anchors before, "
            f"{self.after.drop.rate:.4f} of {self.after.n} after)"
        )

    def to_dict(self) -> dict[str, Any]:
        """The fields as valid JSON."""
        return {
            name: entry if isinstance(entry, int) else entry.to_dict()
            for name, entry in ((name, getattr(self, name)) for name in self.__dataclass_fields__)
        }


def review_effect(
    predictions: Any,
    candidates: FrameSets,
    reviewed: FrameSets,
    *,
    k: int = 10,
    missing: str = "error",
    confidence: float = 0.95,
    seed: int = 0,
) -> ReviewEffect:
    """Score the same predictions before and after review of the sets.

    Before: all candidate frames of all anchors, with the labels they came with. After: the anchors and frames that
    reviewers kept, with the labels they corrected. A drop that shrinks tells how much of it came from frames that are
    not similar to their anchor, or wrongly labelled.

    Parameters
    ----------
    predictions
        As for `score`, for every candidate frame; an int array of shape (..., frames) in the order of the candidates
        holds many models.
    candidates, reviewed : FrameSets
        Before and after. What was reviewed must have been a candidate; `accepted` makes reviewed sets of decisions.
    k, missing
        As for `score`, the anchor taking part in its set; of many models none may skip frames, as for `counts`.
    confidence, seed
        Of the intervals. Those of the changes are percentile bootstraps over groups of the candidates (each anchor is
        one where none are given), in which both scores see the same resample: they share most of their anchors.

    Returns
    -------
    ReviewEffect

    Raises
    ------
    InputError
        Reviewed anchors or frames that were no candidates, listed; an anchor with another group than there; or what
        `score` and `counts` refuse.

    Examples
    --------
    >>> labels = {"v/3": [0], "w/3": [1]}
    >>> candidates = FrameSets({"v/3": ["v/2", "v/4"], "w/3": ["w/4"]}, labels)
    >>> reviewed = FrameSets({"v/3": ["v/2"], "w/3": ["w/4"]}, labels)  # v/4 was found dissimilar
    >>> predictions = {"v/2": 0, "v/3": 0, "v/4": 1, "w/3": 1, "w/4": 1}
    >>> effect = review_effect(predictions, candidates, reviewed)
    >>> effect
    ReviewEffect(drop 0.5000 of 2 anchors before, 0.0000 of 2 after)
    >>> effect.drop_change.value, effect.drop_change.reason
    (-0.5, '10 groups are needed to resample')
    """
    check_sets(candidates, "candidates")
    check_sets(reviewed, "reviewed")
    _refuse_strangers(candidates, reviewed)
    _refuse_other_groups(candidates, reviewed)
    options: dict[str, Any] = {"k": k, "missing": missing}
    spread: dict[str, Any] = {"confidence": confidence, "seed": seed}
    old_said, new_said = _for_both(predictions, candidates, reviewed, missing)
    before, after = scored(old_said, candidates, **options, **spread), scored(new_said, reviewed, **options, **spread)
    columns = []
    for said, sets in ((new_said, reviewed), (old_said, candidates)):
        judged = Judged.of(said, sets, **options)
        at = places_of(sets.anchors, candidates.anchors)
        values = np.zeros((4, *judged.right.shape[:-1], candidates.n))
        values[..., at] = judged.right, judged.holds, judged.right & ~judged.holds, judged.counts
        columns.append(by_group(values, candidates.group, len(candidates.group_names)))
    new, old = columns
    changes = [
        difference(new[j], new[3], old[j], old[3], nothing="no anchor is left to score", **spread) for j in range(3)
    ]
    return ReviewEffect(before, after, candidates.pairs, reviewed.pairs, changes[0], changes[1], changes[2])


def _for_both(predictions: Any, candidates: FrameSets, reviewed: FrameSets, missing: str) -> tuple[Any, Any]:
    """Predictions for either sets: by key as they are, else as classes in the order of each."""
    if isinstance(predictions, Mapping | Predictions):
        return predictions, predictions
    classes = aligned(predictions, candidates, missing=missing)
    return classes, classes[..., places_of(reviewed.frames, candidates.frames)]


def _refuse_strangers(candidates: FrameSets, reviewed: FrameSets) -> None:
    known, kept = _pairs(candidates), _pairs(reviewed)
    strangers: list[Any] = sorted(set(reviewed.anchors) - set(candidates.anchors)) or sorted(kept - known)
    if strangers:
        raise InputError(
            f"reviewed has {len(strangers)} anchors or frames that were no candidates: {listed(strangers)}; "
            "give the candidates that the review began with"
        )


def _refuse_other_groups(candidates: FrameSets, reviewed: FrameSets) -> None:
    """Both sides are resampled by the candidates' groups, so the reviewed sets must have the same."""
    before, after = _groups(candidates), _groups(reviewed)
    for anchor in reviewed.anchors:
        if before.get(anchor) != after.get(anchor):
            raise InputError(
                f"anchor {brief(anchor)} has the group {brief(after.get(anchor))} in reviewed and "
                f"{brief(before.get(anchor))} in candidates: give both the same groups="
            )


def _groups(frames: FrameSets) -> dict[str, str]:
    if frames.group is None:
        return {}
    return {anchor: frames.group_names[i] for anchor, i in zip(frames.anchors, frames.group.tolist(), strict=True)}


def _pairs(frames: FrameSets) -> set[tuple[str, str]]:
    pairs = zip(frames.row.tolist(), frames.member.tolist(), strict=True)
    return {(frames.frames[row], frames.frames[member]) for row, member in pairs}


def accepted(frames: FrameSets, accept: Collection[str] = ("similar",)) -> FrameSets:
    r"""The sets with only those frames whose review decision is among the accepted ones; all anchors stay.

    .. math:: N'(a_i) = \{b \in N(a_i) : \text{decision}(a_i, b) \in A\}

    with A the accepted decisions. A score of the result beside one of all frames tells what review does to the drop, as
    `review_effect` does with intervals. A set may become empty; it then counts by its anchor, and is named in the
    warnings.

    Parameters
    ----------
    frames : FrameSets
        Sets with a decision about each pair of anchor and frame, given as ``review=``.
    accept : collection of str
        Decisions that let a frame stay, "similar" by default: the word of the published annotations for a frame that a
        person holds to show the same thing as its anchor.

    Returns
    -------
    FrameSets
        The same anchors, labels, groups and number of classes; the accepted frames with their offsets, types and
        decisions.

    Raises
    ------
    InputError
        No `FrameSets`, sets without decisions, no list of decisions, or an accepted decision that nobody took: the ones
        that were are listed.

    References
    ----------
    Shankar et al. (2021), "Do image classifiers generalize across time?", Table 1: 57,897 of 71,660 pairs were
    accepted. The decisions are those of github.com/modestyachts/imagenet-testbed.

    Examples
    --------
    >>> review = {("v/3", "v/2"): "similar", ("v/3", "v/4"): "dissimilar"}
    >>> accepted(FrameSets({"v/3": ["v/2", "v/4"]}, {"v/3": [0]}, review=review)).frames
    ('v/3', 'v/2')
    """
    check_sets(frames)
    if isinstance(accept, str) or not isinstance(accept, Collection):
        raise InputError(f"accept is {brief(accept)}: give a list of decisions")
    if frames.decision is None:
        raise InputError("frames has no review decisions: give them as review=")
    taken = sorted(set(frames.decision.tolist()))
    unknown = [decision for decision in accept if decision not in taken]
    if unknown:
        raise InputError(f"accept has {brief(unknown[0])}, which nobody decided: the decisions are {', '.join(taken)}")
    return frames.subset(None, np.isin(frames.decision, list(accept)))
