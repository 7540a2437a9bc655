"""PM-k the slow way: dict loops written from the definitions, sharing nothing with the library.

Frames are keys, sets and labels are dicts, a prediction is a class. Counts come back as whole numbers, rates as
fractions, so that a comparison with the library is exact.
"""

import random
from collections.abc import Mapping, Sequence
from fractions import Fraction

Sets = Mapping[str, Sequence[str]]
Labels = Mapping[str, Sequence[int] | set[int]]
Classes = Mapping[str, int]

#: The toy of the specification: four anchors, one of them without similar frames, one with two labels.
SETS = {"a": ["a-1", "a+1"], "b": ["b-2", "b+1"], "c": [], "d": ["d+1"]}
OFFSETS = {"a": [-1, 1], "b": [-2, 1], "c": [], "d": [1]}
LABELS = {"a": {0}, "b": {1, 2}, "c": {3}, "d": {0}}
PREDICTIONS = {"a": 0, "a-1": 0, "a+1": 0, "b": 2, "b-2": 1, "b+1": 3, "c": 3, "d": 1, "d+1": 0}
TYPES = {"a": "P", "a-1": "I", "a+1": "B", "b": "B", "b-2": "P", "b+1": "P", "c": "I", "d": "P", "d+1": "B"}


def right(frame: str, anchor: str, predictions: Classes, labels: Labels) -> bool:
    """Whether the class is in the frame's own label set, or in its anchor's where it has none."""
    return predictions[frame] in labels.get(frame, labels[anchor])


def within(sets: Sets, offsets: Mapping[str, Sequence[int]] | None, k: int | None) -> dict[str, list[str]]:
    """The sets without frames farther than k from their anchor."""
    if offsets is None or k is None:
        return {anchor: list(frames) for anchor, frames in sets.items()}
    kept = {}
    for anchor, frames in sets.items():
        kept[anchor] = [frame for frame, offset in zip(frames, offsets[anchor], strict=True) if abs(offset) <= k]
    return kept


def counts(sets: Sets, labels: Labels, predictions: Classes, *, include_anchor: bool = True) -> tuple[int, int]:
    """Anchors that are right, and anchors whose whole set is; an empty set counts by its anchor."""
    original = perturbed = 0
    for anchor, frames in sets.items():
        anchor_right = right(anchor, anchor, predictions, labels)
        judged = [right(frame, anchor, predictions, labels) for frame in frames]
        if include_anchor or not frames:
            judged.append(anchor_right)
        original += anchor_right
        perturbed += all(judged)
    return original, perturbed


def by_offset(
    sets: Sets, offsets: Mapping[str, Sequence[int]], labels: Labels, predictions: Classes, *, right_anchors: bool
) -> dict[int, tuple[int, int]]:
    """For each offset the wrong frames and all frames: of the sets with a right anchor, or of all sets."""
    found: dict[int, list[int]] = {}
    for anchor, frames in sets.items():
        for frame, offset in zip(frames, offsets[anchor], strict=True):
            entry = found.setdefault(offset, [0, 0])
            if right_anchors and not right(anchor, anchor, predictions, labels):
                continue
            entry[0] += not right(frame, anchor, predictions, labels)
            entry[1] += 1
    return {offset: (wrong, n) for offset, (wrong, n) in sorted(found.items())}


def without_type(sets: Sets, types: Mapping[str, str], kind: str) -> dict[str, list[str]]:
    """The sets without anchors and without similar frames of one type."""
    return {
        anchor: [frame for frame in frames if types[frame] != kind]
        for anchor, frames in sets.items()
        if types[anchor] != kind
    }


def neighbours(sets: Sets, labels: Labels, predictions: Classes) -> dict[str, Fraction | None]:
    """Average drop (sets weigh alike) and conditional error (frames pooled, and sets alike) of the similar frames."""
    drop, shares, wrong, n = Fraction(0), [], 0, 0
    for anchor, frames in sets.items():
        anchor_right = right(anchor, anchor, predictions, labels)
        errors = [not right(frame, anchor, predictions, labels) for frame in frames]
        share = Fraction(sum(errors), len(errors)) if errors else Fraction(int(not anchor_right))
        drop += share - (not anchor_right)
        if anchor_right and errors:
            shares.append(share)
            wrong += sum(errors)
            n += len(errors)
    return {
        "average_drop": drop / len(sets),
        "conditional_error": Fraction(wrong, n) if n else None,
        "conditional_error_of_sets": sum(shares, Fraction(0)) / len(shares) if shares else None,
    }


def flip_probability(sequences: Sequence[Sequence[int]], *, against: str = "previous") -> Fraction:
    """Mean over sequences of the share of frames that differ from the one before, or from the first."""
    shares = []
    for sequence in sequences:
        flips = 0
        for j in range(1, len(sequence)):
            other = sequence[j - 1] if against == "previous" else sequence[0]
            flips += sequence[j] != other
        shares.append(Fraction(flips, len(sequence) - 1))
    return sum(shares, Fraction(0)) / len(shares)


def top5_distance(sequences: Sequence[Sequence[Sequence[int]]], *, against: str = "previous") -> Fraction:
    """Mean over sequences of the distance between rankings of all classes, best first, as the paper writes it."""
    means = []
    for sequence in sequences:
        distance = 0
        for j in range(1, len(sequence)):
            earlier = sequence[j - 1] if against == "previous" else sequence[0]
            sigma = [sequence[j].index(c) + 1 for c in earlier]
            for i in range(1, 6):
                low, high = min(i, sigma[i - 1]), max(i, sigma[i - 1])
                distance += sum(1 <= place - 1 <= 5 for place in range(low + 1, high + 1))
        means.append(Fraction(distance, len(sequence) - 1))
    return sum(means, Fraction(0)) / len(means)


def flips_in_time(clips: Mapping[str, Mapping[int, int]]) -> tuple[int, int]:
    """Flips, and pairs of frames that follow each other directly; {clip: {frame number: class}}."""
    flips = pairs = 0
    for numbers in clips.values():
        for number, predicted in numbers.items():
            if number + 1 in numbers:
                pairs += 1
                flips += numbers[number + 1] != predicted
    return flips, pairs


def smooth(
    clips: Mapping[str, Mapping[int, Sequence[float]]], *, window: int, causal: bool, votes: bool
) -> dict[str, dict[int, int]]:
    """The class of every frame from the frames of its window that are there; ties as the library documents them."""
    behind, ahead = (window - 1, 0) if causal else (window // 2, window // 2)
    smoothed: dict[str, dict[int, int]] = {}
    for clip, numbers in clips.items():
        smoothed[clip] = {}
        for number, own in numbers.items():
            rows = [numbers[t] for t in range(number - behind, number + ahead + 1) if t in numbers]
            if votes:
                cast = [first_largest(row) for row in rows]
                tally = [cast.count(c) for c in range(len(own))]
                best = [c for c in range(len(own)) if tally[c] == max(tally)]
                smoothed[clip][number] = first_largest(own) if first_largest(own) in best else best[0]
            else:
                sums = [sum((Fraction(row[c]) for row in rows), Fraction(0)) for c in range(len(own))]
                smoothed[clip][number] = first_largest(sums)
    return smoothed


def first_largest(row: Sequence[float] | Sequence[Fraction]) -> int:
    """The lowest index of the largest value."""
    return max(range(len(row)), key=lambda c: (row[c], -c))


def fold(row: Sequence[float], groups: Sequence[Sequence[int]], how: str) -> list[float | None]:
    """Fine scores to coarse ones; None for a group without a member."""
    folded: list[float | None] = []
    for group in groups:
        values = sorted(row[c] for c in group)
        if not values:
            folded.append(None)
        elif how == "max":
            folded.append(values[-1])
        elif how == "median":
            middle = len(values) // 2
            folded.append(values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) / 2)
        else:
            folded.append(sum(values) / (1 if how == "sum" else len(values)))
    return folded


def random_case(seed: int, *, anchors: int = 12, reach: int = 4, classes: int = 4) -> dict[str, dict]:
    """Sets with holes, clip ends and an empty one; label sets of the frames' own or of their anchors; all types."""
    rng = random.Random(seed)
    case: dict[str, dict] = {"sets": {}, "offsets": {}, "labels": {}, "predictions": {}, "types": {}}
    for i in range(anchors):
        anchor = f"clip{i:02d}/{100:06d}.jpg"
        reachable = [d for d in range(-reach, reach + 1) if d]
        offsets = sorted(rng.sample(reachable, rng.randint(1, 2 * reach))) if i else []
        frames = [f"clip{i:02d}/{100 + d:06d}.jpg" for d in offsets]
        case["sets"][anchor], case["offsets"][anchor] = frames, offsets
        truth = set(rng.sample(range(classes), rng.randint(1, 2)))
        case["labels"][anchor] = truth
        for frame in [anchor, *frames]:
            if frame != anchor and rng.random() < 0.3:
                case["labels"][frame] = set(rng.sample(range(classes), rng.randint(1, 2)))
            lucky = rng.random() < 0.8
            case["predictions"][frame] = rng.choice(sorted(truth)) if lucky else rng.randrange(classes)
            case["types"][frame] = rng.choice("IPB?")
    return case
