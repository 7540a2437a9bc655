"""Average precision as pycocotools finds it, one evaluation at a time; and random boxes that provoke ties."""

import contextlib
import io

import numpy as np

from helpers.pmk.boxes import Boxes, Detections
from helpers.pmk.record import FrameSets


def evaluate(truth, said, images=None, *, iou=(0.5,), max_detections=100, area_range=(0, 1e10), merge=False):
    """Average precision by category and threshold, shape (thresholds, categories), NaN where COCO has -1."""
    from pycocotools.coco import COCO
    from pycocotools.cocoeval import COCOeval

    with contextlib.redirect_stdout(io.StringIO()):
        there = COCO()
        there.dataset = truth
        there.createIndex()
        run = COCOeval(there, there.loadRes([dict(entry) for entry in said]), "bbox")
        if images is not None:
            run.params.imgIds = list(images)
        run.params.iouThrs = np.array(iou)
        run.params.maxDets = [max_detections]
        run.params.areaRng, run.params.areaRngLbl = [list(area_range)], ["range"]
        run.params.useCats = int(not merge)
        run.evaluate()
        run.accumulate()
    precision = run.eval["precision"][:, :, :, 0, 0]  # thresholds, recall points, categories
    return np.where(precision > -1, precision, np.nan).mean(axis=1)


def mean(precision):
    """COCO's summary: the mean of what is defined, None where nothing is."""
    return None if np.isnan(precision).all() else float(np.nanmean(precision))


def random_boxes(seed, *, frames=12, crowds=True):
    """Few places, sizes and scores, so that overlaps, thresholds and scores tie; some frames are empty."""
    rng = np.random.default_rng(seed)
    keys = [f"frame {i}" for i in range(frames)]
    categories = {2: "dog", 3: "cat", 7: "bird", 11: "never there"}

    def boxes(count):
        corner = rng.integers(0, 4, (count, 2)) * 5
        return np.hstack([corner, rng.choice([0, 5, 10, 10, 10, 15], (count, 2))]).astype(float)

    there = rng.integers(0, 5, frames) * (rng.random(frames) < 0.8)
    truth = Boxes(
        keys,
        rng.permutation(np.repeat(np.arange(frames), there)),
        rng.choice([2, 3, 7], there.sum()),
        boxes(there.sum()),
        crowd=(rng.random(there.sum()) < 0.15) if crowds else None,
        categories=categories,
        image_ids=np.sort(rng.choice(50 * frames, frames, replace=False)),
    )
    seen = rng.integers(0, 12, frames) * (rng.random(frames) < 0.8)
    seen[0] = 5  # pycocotools cannot read an empty list
    found = boxes(seen.sum())
    place = rng.permutation(np.repeat(np.arange(frames), seen))
    copied = rng.random(len(found)) < 0.5
    kind = rng.choice([2, 3, 7, 11], len(found))
    for i in np.flatnonzero(copied):
        same = np.flatnonzero(truth.frame == place[i])
        if len(same):
            chosen = rng.choice(same)
            found[i] = np.maximum(truth.box[chosen] + rng.choice([0, 0, 0, 1, -2], 4), 0)
            kind[i] = truth.category[chosen]
    return truth, Detections(keys, place, kind, found, rng.choice([0.1, 0.25, 0.5, 0.9], len(found)))


def random_sets(truth, seed, *, size=3):
    """The frames of random boxes cut into sets of an anchor and its followers."""
    keys = list(np.random.default_rng(seed).permutation(truth.frames))
    sets = {str(keys[i]): [str(key) for key in keys[i + 1 : i + size]] for i in range(0, len(keys), size)}
    return FrameSets(sets, {anchor: [0] for anchor in sets})
