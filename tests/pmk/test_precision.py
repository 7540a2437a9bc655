"""Average precision: the worked example, COCO's own evaluation, and what is refused."""

import json

import numpy as np
import pytest

from helpers.errors import InputError
from helpers.pmk.boxes import Boxes, Detections
from helpers.pmk.coco import write_coco, write_coco_results
from helpers.pmk.precision import MeanAP, frame_ap, mean_ap

from . import coco_oracle

HERE, THERE, AWAY = [0, 0, 10, 10], [50, 0, 10, 10], [20, 0, 10, 10]
COCO_THRESHOLDS = [0.5 + 0.05 * i for i in range(10)]


def one_frame(truth, said, **options):
    """AP of one frame from (category, box) and (category, box, score) rows."""
    there = Boxes.of({"a": tuple(zip(*truth, strict=True)) or ([], [])}, categories={1: "dog", 2: "cat"})
    seen = Detections.of({"a": tuple(zip(*said, strict=True)) or ([], [], [])})
    return frame_ap(seen, there, **options)["a"]


def test_worked_example_e7():
    truth = [(1, HERE), (1, THERE)]
    said = [(1, HERE, 0.9), (1, AWAY, 0.8), (1, THERE, 0.7)]
    assert one_frame(truth, said) == pytest.approx((51 + 50 * 2 / 3) / 101, abs=1e-15)
    assert one_frame(truth, said) == pytest.approx(0.834983, abs=5e-7)
    assert one_frame(truth, said, average="area") == pytest.approx(5 / 6, abs=1e-15)


def test_a_frame_without_objects_has_no_precision_and_one_without_detections_has_zero():
    assert one_frame([], [(1, HERE, 0.9)]) is None
    assert one_frame([(1, HERE)], []) == 0.0
    assert one_frame([], []) is None


def test_categories_without_objects_do_not_count_in_a_frame():
    assert one_frame([(1, HERE)], [(1, HERE, 0.5), (2, AWAY, 0.9)]) == 1.0
    assert one_frame([(1, HERE), (2, THERE)], [(1, HERE, 0.5)]) == 0.5
    assert one_frame([(1, HERE)], [(2, HERE, 0.9)], merge=True) == 1.0


def test_an_object_is_found_once():
    assert one_frame([(1, HERE), (1, THERE)], [(1, HERE, 0.9), (1, HERE, 0.8)], average="area") == 0.5


def test_the_surer_box_chooses_first_and_takes_what_it_overlaps_most():
    """The second box overlaps the left object alone, which the first one leaves to it."""
    left, right = [0, 0, 10, 10], [4, 0, 10, 10]
    said = [(1, [3, 0, 10, 10], 0.9), (1, [0, 0, 10, 10], 0.8)]
    assert one_frame([(1, left), (1, right)], said, iou=0.5) == 1.0


@pytest.mark.parametrize(("width", "found"), [(5, 1.0), (4.9, 0.0)])
def test_an_overlap_of_exactly_the_threshold_is_found(width, found):
    assert one_frame([(1, HERE)], [(1, [0, 0, width, 10], 0.9)], iou=0.5) == found


def test_of_objects_overlapped_equally_the_last_is_taken():
    """As COCO does: the second box finds the left object only where the first one took the right."""
    left, right, between = [0, 0, 10, 10], [4, 0, 10, 10], [2, 0, 10, 10]
    said = [(1, between, 0.9), (1, left, 0.8)]
    assert one_frame([(1, left), (1, right)], said, average="area") == 1.0
    assert one_frame([(1, right), (1, left)], said, average="area") == 0.5


def test_a_box_on_its_object_reaches_the_threshold_one_in_spite_of_rounding():
    box = [0.2, 0, 0.5, 1]
    assert (box[0] + box[2]) - box[0] < box[2]
    assert one_frame([(1, box)], [(1, box, 0.9)], iou=1.0) == 1.0


def test_several_thresholds_give_the_mean():
    said = [(1, [0, 0, 7, 10], 0.9)]
    assert one_frame([(1, HERE)], said, iou=[0.5, 0.6, 0.7, 0.8]) == 0.75
    assert one_frame([(1, HERE)], [(1, HERE, 0.9)], iou=np.array([0.5, 1.0])) == 1.0


def test_the_weakest_detections_beyond_the_limit_are_dropped():
    said = [(1, HERE, 0.1), (1, AWAY, 0.9)]
    assert one_frame([(1, HERE)], said, max_detections=2) == 0.5
    assert one_frame([(1, HERE)], said, max_detections=1) == 0.0


def test_a_box_in_a_crowd_does_not_count_and_the_crowd_need_not_be_found():
    """By hand: the two boxes in the crowd are passed over, so the object's box is the first that counts."""
    frames = ["a"]
    truth = Boxes(frames, [0, 0], [1, 1], [[0, 0, 40, 40], [60, 0, 10, 10]], crowd=[True, False])
    said = Detections(frames, [0, 0, 0], [1, 1, 1], [[0, 0, 5, 5], [9, 9, 5, 5], [60, 0, 10, 10]], [0.9, 0.8, 0.7])
    assert frame_ap(said, truth) == {"a": 1.0}
    assert frame_ap(said, Boxes(frames, [0], [1], [[0, 0, 40, 40]], crowd=[True])) == {"a": None}
    assert mean_ap(said, truth).objects == 1


def test_boxes_without_area_are_allowed_and_find_nothing():
    assert one_frame([(1, [5, 5, 0, 0])], [(1, [5, 5, 0, 0], 0.9)]) == 0.0


def test_pooling_ranks_boxes_of_all_frames_together():
    truth = Boxes.of({"a": ([1], [HERE]), "b": ([1], [HERE])})
    said = Detections.of({"a": ([1], [HERE], [0.5]), "b": ([1], [AWAY], [0.9])})
    assert frame_ap(said, truth) == {"a": 1.0, "b": 0.0}
    pooled = mean_ap(said, truth)
    assert pooled.value == pytest.approx(51 * 0.5 / 101)  # the false box of b is the surest of all
    assert (pooled.frames, pooled.objects, pooled.interval) == (2, 2, None)
    assert pooled.reason.startswith("frames of one video")
    assert json.loads(json.dumps(pooled.to_dict(), allow_nan=False))["by_category"] == {"1": pooled.value}


def test_nothing_to_find_anywhere_is_undefined_and_says_so():
    pooled = mean_ap(Detections.of({"a": ([], [], [])}), Boxes.of({"a": ([], [])}, categories={1: "dog"}))
    assert pooled == MeanAP(None, {1: None}, 1, 0, None, "no frame has ground truth")
    assert repr(pooled) == "MeanAP(undefined: no frame has ground truth)"


def test_order_of_frames_in_the_predictions_does_not_matter():
    truth, said = coco_oracle.random_boxes(5)
    turned = Detections(said.frames[::-1], len(said.frames) - 1 - said.frame, said.category, said.box, said.score)
    assert frame_ap(turned, truth) == frame_ap(said, truth)
    assert mean_ap(turned, truth) == mean_ap(said, truth)


def test_many_pairs_are_measured_in_tiles(monkeypatch):
    truth, said = coco_oracle.random_boxes(3, frames=30)
    whole = frame_ap(said, truth, merge=True)
    monkeypatch.setattr("helpers.pmk.matching.PAIRS_AT_ONCE", 7)
    assert frame_ap(said, truth, merge=True) == whole


@pytest.mark.rival
@pytest.mark.parametrize("merge", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_equals_pycocotools_frame_by_frame_and_pooled(seed, merge, tmp_path):
    """Random boxes with ties of score and overlap, crowds, empty frames, boxes without area; 1e-9 asked for."""
    pytest.importorskip("pycocotools")
    truth, said = coco_oracle.random_boxes(seed)
    there = json.loads(write_coco(tmp_path / "truth.json", truth).read_text())
    seen = json.loads(write_coco_results(tmp_path / "said.json", said, truth).read_text())
    for iou, limit in (([0.5], 100), (COCO_THRESHOLDS, 100), ([0.5, 1.0], 2)):
        options = {"iou": iou, "max_detections": limit, "merge": merge}
        expected = coco_oracle.evaluate(there, seen, **options)
        pooled = mean_ap(said, truth, **options)
        assert pooled.value == pytest.approx(coco_oracle.mean(expected), abs=1e-9)
        each = [np.nan if value is None else value for value in pooled.by_category.values()]
        assert each == pytest.approx(expected.mean(axis=0), abs=1e-9, nan_ok=True)
        by_frame = frame_ap(said, truth, **options)
        for image, key in zip(truth.image_ids, truth.frames, strict=True):
            alone = coco_oracle.mean(coco_oracle.evaluate(there, seen, [image], **options))
            assert (by_frame[key] is None) == (alone is None), key
            assert alone is None or by_frame[key] == pytest.approx(alone, abs=1e-9), key


def test_an_object_outside_the_range_excuses_one_box_and_a_crowd_any_number():
    """Two boxes within the range lie on an object beyond it: the second is a false one, which halves the precision."""
    large = [0, 0, 20, 20]
    said = Detections.of({"a": ([1] * 3, [[0, 0, 19, 20], [0, 0, 20, 19], [50, 0, 10, 10]], [0.9, 0.8, 0.7])})
    for crowd, ap in ((False, 0.5), (True, 1.0)):
        truth = Boxes(["a"], [0, 0], [1, 1], [large, [50, 0, 10, 10]], crowd=np.array([crowd, False]))
        assert frame_ap(said, truth, area_range=(0, 390)) == {"a": pytest.approx(ap)}
    assert mean_ap(said, truth, area_range=(0, 390)).objects == 1


def test_an_object_within_the_range_is_preferred_to_one_outside_that_overlaps_more():
    """Overlap 100/150 with the object of 100 square pixels, 150/160 with that of 160."""
    truth = Boxes.of({"a": ([1, 1], [[0, 0, 10, 16], HERE])})
    said = Detections.of({"a": ([1], [[0, 0, 10, 15]], [0.5])})
    assert frame_ap(said, truth, area_range=(0, 150)) == {"a": 1.0}


@pytest.mark.parametrize(("most", "found"), [(100, 1.0), (99, None)])
def test_both_ends_of_a_range_belong_to_it(most, found):
    truth = Boxes.of({"a": ([1], [HERE])})
    assert frame_ap(SAID, truth, area_range=(0, most)) == {"a": found}
    assert frame_ap(SAID, truth, area_range=(200 - most, 1000)) == {"a": found}


@pytest.mark.rival
@pytest.mark.parametrize("scale", [3.2, 9.6])
@pytest.mark.parametrize("seed", range(6))
def test_ranges_of_areas_equal_pycocotools(seed, scale, tmp_path):
    """Sides of 10 become 32 or 96, where the ranges meet; half of the segments are smaller than their boxes."""
    pytest.importorskip("pycocotools")
    truth, said = coco_oracle.random_boxes(seed, frames=8)
    rng = np.random.default_rng(seed)
    box = truth.box * scale
    area = box[:, 2] * box[:, 3] * rng.choice([1.0, 0.5], len(box))
    truth = Boxes(
        truth.frames, truth.frame, truth.category, box, crowd=truth.crowd, area=area, categories=truth.categories
    )
    said = Detections(said.frames, said.frame, said.category, said.box * scale, said.score)
    there = json.loads(write_coco(tmp_path / "truth.json", truth).read_text())
    seen = json.loads(write_coco_results(tmp_path / "said.json", said, truth).read_text())
    ranges = {"small": (0, 1024), "medium": (1024, 9216), "large": (9216, 1e10), (500.0, 2000.0): (500, 2000)}
    for name, merge in ((name, merge) for name in ranges for merge in (False, True)):
        theirs = {"area_range": ranges[name], "merge": merge, "iou": [0.5, 0.75]}
        ours = {**theirs, "area_range": name}
        expected = coco_oracle.mean(coco_oracle.evaluate(there, seen, **theirs))
        pooled = mean_ap(said, truth, **ours).value
        assert (pooled is None) == (expected is None)
        assert expected is None or pooled == pytest.approx(expected, abs=1e-9)
        for image, (key, found) in zip(truth.image_ids, frame_ap(said, truth, **ours).items(), strict=True):
            alone = coco_oracle.mean(coco_oracle.evaluate(there, seen, [image], **theirs))
            assert (found is None) == (alone is None), key
            assert alone is None or found == pytest.approx(alone, abs=1e-9), key


@pytest.mark.rival
@pytest.mark.parametrize("objects", [7, 29, 100])
def test_recall_points_are_reached_as_in_pycocotools(objects, tmp_path):
    """Recalls such as 29/100 meet a recall point within rounding: one point more or less is 1/101."""
    pytest.importorskip("pycocotools")
    rng = np.random.default_rng(objects)
    place = np.stack([np.arange(objects) * 20, np.zeros(objects)], axis=1)
    box = np.hstack([place, np.full((objects, 2), 10)]).astype(float)
    truth = Boxes(["a"], np.zeros(objects, int), np.ones(objects, int), box)
    found = np.where(rng.random(objects)[:, None] < 0.6, box, box + np.array([0, 50, 0, 0]))
    said = Detections(["a"], np.zeros(objects, int), np.ones(objects, int), found, rng.random(objects))
    there = json.loads(write_coco(tmp_path / "truth.json", truth).read_text())
    seen = json.loads(write_coco_results(tmp_path / "said.json", said, truth).read_text())
    expected = coco_oracle.mean(coco_oracle.evaluate(there, seen))
    assert mean_ap(said, truth).value == pytest.approx(expected, abs=1e-9)
    assert frame_ap(said, truth)["a"] == pytest.approx(expected, abs=1e-9)


SAID = Detections.of({"a": ([1], [HERE], [0.5])})
TRUTH = Boxes.of({"a": ([1], [HERE])})


@pytest.mark.parametrize(
    ("said", "truth", "options", "message"),
    [
        (SAID, TRUTH, {"iou": 0.0}, "iou has 0.0: an overlap threshold lies above 0"),
        (SAID, TRUTH, {"iou": [0.5, 1.5]}, "iou has 1.5"),
        (SAID, TRUTH, {"iou": float("nan")}, "iou has nan"),
        (SAID, TRUTH, {"iou": "half"}, "iou has 'half'"),
        (SAID, TRUTH, {"iou": []}, "iou is empty"),
        (SAID, TRUTH, {"average": "voc"}, "average is 'voc': choose one of recall_points, area"),
        (SAID, TRUTH, {"max_detections": 0}, "max_detections is 0"),
        ({"a": []}, TRUTH, {}, "predictions is a dict: give Detections"),
        (SAID, SAID, {}, "truth is a Detections: give Boxes"),
        (SAID, Boxes.of({"a": ([2], [HERE])}), {}, r"category of predictions\[0\] is 1 \(frame 'a'\)"),
        (
            SAID,
            Boxes.of({"a": ([1], [HERE]), "z": ([], [])}),
            {},
            "predictions lacks 1 of 2 frames: z; run the detector",
        ),
    ],
)
def test_refuses(said, truth, options, message):
    for function in (frame_ap, mean_ap):
        with pytest.raises(InputError, match=message):
            function(said, truth, **options)
