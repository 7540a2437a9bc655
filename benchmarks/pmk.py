"""PM-k of 335 models on the shape of ImageNet-Vid-Robust against the loop over frames that public evaluations run.

The rival visits every frame of every set: the largest of 30 scores, looked up by the frame's key, is or is not in the
frame's list of labels. Sets, labels and predictions are made up with the real counts: 1,109 anchors, 21,070 similar
frames, one empty set, a few frames with two or three labels. The rival's time grows with models by definition, so that
few of them are timed and scaled.

Two claims, like against like: both from scores, and both from predicted classes, which no public evaluation is given.
From scores nearly all of our time goes into the largest of each frame, and half of that into turning the array.
Times are CPU time of this one process, which other load on the machine disturbs less; ratios are medians over rounds.
The scores of 335 models take 0.9 GB.

    OMP_NUM_THREADS=1 python benchmarks/pmk.py [--models 335] [--rounds 7]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from statistics import median

import numpy as np

from helpers import pmk

ANCHORS, PAIRS, CLASSES, TIMED = 1109, 21_070, 30, 3


def main() -> None:
    """Print one line per claim."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=int, default=335)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    sets, labels = make_sets()
    start = time.perf_counter()
    frames = pmk.FrameSets(sets, labels, classes=CLASSES)
    print(f"{frames}, {len(frames.frames)} frames, built once in {time.perf_counter() - start:.2f} s")
    scores = make_scores([labels[frame][0] for frame in frames.frames], options.models)
    classes = scores.argmax(axis=-1)
    by_key = [dict(zip(frames.frames, one, strict=True)) for one in scores[:TIMED]]
    class_by_key = [dict(zip(frames.frames, one.tolist(), strict=True)) for one in classes[:TIMED]]

    def rival_of_scores() -> list[tuple[int, int]]:
        return [loop(sets, labels, one) for one in by_key]

    def rival_of_classes() -> list[tuple[int, int]]:
        return [class_loop(sets, labels, one) for one in class_by_key]

    for given, array, rival in (("scores", scores, rival_of_scores), ("classes", classes, rival_of_classes)):
        ours = partial(pmk.counts, array, frames)
        ours()
        # rival and ours in turn, so that other load on the machine hits both
        rounds = [(seconds(rival) * options.models / TIMED, seconds(ours)) for _ in range(options.rounds)]
        slow, fast = (median(found) for found in zip(*rounds, strict=True))
        ratios = sorted(slow / fast for slow, fast in rounds)
        print(
            f"from {given:8} loop {slow:7.3f} s, counts {fast:6.3f} s for {options.models} models: "
            f"{median(ratios):.0f} times ({ratios[0]:.0f} to {ratios[-1]:.0f})"
        )
        found = list(zip(*(counted[:TIMED].tolist() for counted in ours()), strict=True))
        print(f"the same counts: {found == rival()}")


def make_scores(truth: Sequence[int], models: int) -> np.ndarray:
    """Scores of models that are right in nine of ten frames, float32; a few models over and over."""
    rng = np.random.default_rng(0)
    made = rng.normal(size=(TIMED, len(truth), CLASSES)).astype(np.float32)
    for scores in made:
        lucky = np.flatnonzero(rng.random(len(truth)) < 0.9)
        scores[lucky, np.array(truth)[lucky]] += 8.0
    return made[np.arange(models) % TIMED]


def make_sets() -> tuple[dict[str, list[str]], dict[str, list[int]]]:
    """Sets of up to ten frames on either side, one of them empty; 7 % of the frames with two or three labels."""
    rng = np.random.default_rng(1)
    size = np.full(ANCHORS, 19)
    size[0] = 0
    size[1 : 1 + PAIRS - int(size.sum())] += 1
    offsets = [d for d in range(-10, 11) if d]
    sets, labels = {}, {}
    for i in range(ANCHORS):
        keys = {d: f"val/ILSVRC2015_val_{i:08d}/{500 + d:06d}.JPEG" for d in (0, *offsets)}
        chosen = sorted(rng.choice(offsets, size[i], replace=False).tolist())
        sets[keys[0]] = [keys[d] for d in chosen]
        named = rng.choice(CLASSES, 1 + int(rng.random() < 0.07) + int(rng.random() < 0.002), replace=False).tolist()
        labels.update({keys[d]: named for d in (0, *chosen)})
    return sets, labels


def loop(
    sets: Mapping[str, Sequence[str]], labels: Mapping[str, Sequence[int]], scores: Mapping[str, np.ndarray]
) -> tuple[int, int]:
    """Right anchors, and sets without a wrong frame, one frame at a time from scores."""
    original = perturbed = 0
    for anchor, members in sets.items():
        wrong = 0
        for frame in members:
            wrong += np.argmax(scores[frame]) not in labels[frame]
        if np.argmax(scores[anchor]) in labels[anchor]:
            original += 1
            perturbed += wrong == 0
    return original, perturbed


def class_loop(
    sets: Mapping[str, Sequence[str]], labels: Mapping[str, Sequence[int]], classes: Mapping[str, int]
) -> tuple[int, int]:
    """The same from predicted classes."""
    original = perturbed = 0
    for anchor, members in sets.items():
        wrong = 0
        for frame in members:
            wrong += classes[frame] not in labels[frame]
        if classes[anchor] in labels[anchor]:
            original += 1
            perturbed += wrong == 0
    return original, perturbed


def seconds(work: Callable[[], object]) -> float:
    """CPU time of one call."""
    start = time.process_time()
    work()
    return time.process_time() - start


if __name__ == "__main__":
    main()
