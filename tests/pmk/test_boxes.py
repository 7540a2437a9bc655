"""The records of detection: checked once, saved whole, loaded as they were."""

import numpy as np
import pytest

from helpers import records
from helpers.errors import InputError
from helpers.pmk.boxes import Boxes, Detections

from . import coco_oracle

BOX = [[0, 0, 10, 10], [5, 5, 1, 2]]


def same(one, other):
    for name, value in vars(one).items():
        found = getattr(other, name)
        if isinstance(value, np.ndarray):
            assert value.dtype == found.dtype and np.array_equal(value, found), name
        else:
            assert value == found, name


def test_round_trip(tmp_path):
    truth, said = coco_oracle.random_boxes(1)
    truth = Boxes(
        truth.frames,
        truth.frame,
        truth.category,
        truth.box + 1 / 3,
        crowd=truth.crowd,
        area=truth.box[:, 2] / 3,
        categories=truth.categories,
        image_ids=truth.image_ids,
        provenance=records.provenance(seed=1),
    )
    assert truth.crowd.any()
    same(truth, Boxes.load(truth.save(tmp_path / "truth.npz")))
    same(said, Detections.load(said.save(tmp_path / "said.npz")))


def test_round_trip_without_a_single_box(tmp_path):
    truth = Boxes(["a", "b"], [], [], [], categories={4: "dog"})
    said = Detections(["a", "b"], [], [], [], [])
    same(truth, Boxes.load(truth.save(tmp_path / "truth.npz")))
    same(said, Detections.load(said.save(tmp_path / "said.npz")))
    assert repr(truth) == "Boxes(0 boxes of 1 categories, 0 crowds, 2 frames, 2 without boxes)"


def test_of_one_entry_per_frame_keeps_the_order():
    said = Detections.of({"a": ([2, 1], BOX, [0.5, 0.7]), "b": ([], [], []), "c": ([3], [[1, 1, 1, 1]], [0.1])})
    assert said.frames == ("a", "b", "c")
    assert said.frame.tolist() == [0, 0, 2]
    assert said.category.tolist() == [2, 1, 3]
    assert said.score.tolist() == [0.5, 0.7, 0.1]
    assert said.box.tolist() == [*map(list, BOX), [1, 1, 1, 1]]


def test_takes_tensors():
    torch = pytest.importorskip("torch")
    said = Detections.of({"a": (torch.tensor([2, 1]), torch.tensor(BOX), torch.tensor([0.5, 0.25]))})
    assert said.score.tolist() == [0.5, 0.25]
    assert said.box.dtype == np.float64


def test_arrays_are_copied_and_cannot_be_changed():
    box, crowd = np.array(BOX, dtype=float), np.array([True, False])
    truth = Boxes(["a", "b"], [0, 1], [1, 2], box, crowd=crowd)
    box[0], crowd[0] = 99, False
    assert truth.box.tolist() == BOX
    assert truth.crowd.tolist() == [True, False]
    for name in ("frame", "category", "box", "crowd", "area", "image_ids"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(truth, name)[0] = 0


def test_a_record_of_another_kind_is_refused(tmp_path):
    path = Detections(["a"], [], [], [], []).save(tmp_path / "said.npz")
    with pytest.raises(InputError, match="'pmk-boxes' record is needed"):
        Boxes.load(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"box": [[0, 0, 10, 10], [5, 5, -1, 2]]}, r"box\[1\] is \[5.0, 5.0, -1.0, 2.0\] \(frame 'b'\): a box is x, y"),
        ({"box": [[0, 0, 10, -1e-9], BOX[1]]}, r"box\[0\] is .* at least 0"),
        ({"box": [[0, np.nan, 10, 10], BOX[1]]}, r"box\[0\] is \[0.0, nan, 10.0, 10.0\] \(frame 'a'\): four finite"),
        ({"box": [[0, 0, np.inf, 10], BOX[1]]}, r"box\[0\] .* four finite"),
        ({"box": [BOX[0]]}, r"box has shape \(1, 4\).* each of the 2 boxes"),
        ({"box": [[0, 0, 10], [5, 5, 1]]}, r"box has shape \(2, 3\)"),
        ({"frame": [0, 2]}, r"frame\[1\] is 2: with 2 frames an index lies in 0..1"),
        ({"frame": [-1, 0]}, r"frame\[0\] is -1"),
        ({"frame": [0.0, 1.0]}, "frame has shape .* float64: give whole numbers"),
        ({"category": [1]}, "category has shape .* give 2 whole numbers"),
        ({"category": [1, True]}, r"category\[1\] is True: give 2 whole numbers"),
        ({"frame": [0, True]}, r"frame\[1\] is True: give whole numbers"),
        ({"box": [[0, 0, 10, True], BOX[1]]}, r"box\[0, 3\] is True: give x, y, width, height"),
        ({"frames": ["a", "a"]}, r"frames\[1\] is 'a' for the second time"),
        ({"frames": ["a", 3]}, r"frames\[1\] is 3: a frame key is a text"),
        ({"frames": []}, "frames is \\[\\]: give a list of at least one"),
        ({"frames": "ab"}, "frames is 'ab': give a list"),
    ],
)
def test_both_refuse(change, message):
    given = {"frames": ["a", "b"], "frame": [0, 1], "category": [1, 2], "box": BOX, **change}
    with pytest.raises(InputError, match=message):
        Boxes(**given)
    with pytest.raises(InputError, match=message):
        Detections(**given, score=[0.5, 0.6])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"categories": {1: "dog"}}, r"category\[1\] is 2 \(frame 'b'\), and the ground truth knows only 1"),
        ({"categories": {"1": "dog"}}, "categories has '1': an id is a whole number"),
        ({"crowd": [0, 1]}, "crowd has shape .* give 2 truth values"),
        ({"crowd": [True]}, "crowd has shape"),
        ({"area": [1.0]}, "area has shape .* give square pixels for each of the 2 boxes"),
        ({"area": ["a", "b"]}, r"area has type <U1: give square pixels"),
        ({"area": [1.0, None]}, r"area\[1\] is nan"),
        ({"area": [True, 1.0]}, r"area\[0\] is True: give square pixels"),
        ({"image_ids": [1, True]}, r"image_ids\[1\] is True: give 2 whole numbers"),
        ({"area": [1.0, -1.0]}, r"area\[1\] is -1.0: an area is a finite number of at least 0"),
        ({"area": [np.nan, 1.0]}, r"area\[0\] is nan"),
        ({"image_ids": [4, 4]}, r"image_ids\[1\] is 4 for the second time"),
        ({"image_ids": [4]}, "image_ids has shape"),
    ],
)
def test_ground_truth_refuses(change, message):
    with pytest.raises(InputError, match=message):
        Boxes(["a", "b"], [0, 1], [1, 2], BOX, **change)


@pytest.mark.parametrize(
    ("score", "message"),
    [
        (None, "score is None"),
        ([0.5], "score has shape .* each of the 2 boxes"),
        ([0.5, np.nan], r"score\[1\] is nan \(frame 'b'\): give finite scores"),
        ([np.inf, 0.5], r"score\[0\] is inf"),
        (["high", "low"], "score has type <U4: give a number for each"),
        ([0.5, True], r"score\[1\] is True: give a number"),
    ],
)
def test_detections_refuse(score, message):
    with pytest.raises(InputError, match=message):
        Detections(["a", "b"], [0, 1], [1, 2], BOX, score)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (([1, 2], BOX), r"frame 'a' has .*: give \(categories, boxes, scores\)"),
        (([1, 2], BOX, [0.5]), "frame 'a' has 2, 2, 1 categories, boxes, scores: give one of each per box"),
        ((1, BOX, [0.5, 0.5]), "give one of each per box"),
    ],
)
def test_entries_of_unlike_length_are_refused(entry, message):
    with pytest.raises(InputError, match=message):
        Detections.of({"a": entry})


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (([1, True], BOX, [0.5, 0.5]), r"boxes\['a'\].categories\[1\] is True: give a category id for each box"),
        (([1, 2], [BOX[0], [0, 0, True, 1]], [0.5, 0.5]), r"boxes\['a'\].boxes\[1, 2\] is True: give x, y"),
        ((np.array([True, False]), BOX, [0.5, 0.5]), r"boxes\['a'\].categories has .* bool: give a category id"),
        (([1, 2], BOX, np.ma.array([0.5, 0.5], mask=[0, 1])), r"boxes\['a'\].scores is a masked array"),
        (([1, 2], BOX, [True, 0.5]), r"boxes\['a'\].scores\[0\] is True: give a number for each box"),
    ],
)
def test_truth_values_are_no_numbers(entry, message):
    with pytest.raises(InputError, match=message):
        Detections.of({"a": entry})


@pytest.mark.parametrize("empty", [[], np.zeros(0), np.zeros(0, dtype=np.int64)])
def test_nothing_may_have_any_type(empty):
    assert len(Detections(["a"], empty, empty, empty, empty).frame) == 0


def test_a_record_keeps_its_own_copy():
    place, box = np.array([0]), np.array([[0.0, 0.0, 1.0, 1.0]])
    found = Boxes(["a"], place, np.array([1]), box)
    place[0], box[0, 0] = 5, 9.0
    assert (found.frame.tolist(), found.box.tolist()) == ([0], [[0.0, 0.0, 1.0, 1.0]])


def test_entries_of_unlike_shape_are_refused():
    with pytest.raises(InputError, match="boxes of unlike shapes"):
        Boxes.of({"a": ([1], [[0, 0, 10, 10]]), "b": ([1], [[0, 0, 10]])})


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"categories": [1]}, "categories is"),
        ({"categories": {1: "a", "b": "c"}}, "categories has 'b'"),
        ({"categories": {1: "a", 10**30: "c"}}, "64 bits"),
        ({"provenance": [1, 2]}, "provenance is"),
        ({"category": np.array([2**64 - 1], dtype=np.uint64)}, r"category\[0\] is 18446744073709551615"),
        ({"box": [[0, 0, 1e200, 1e200]]}, r"box\[0\]"),
    ],
)
def test_odd_parts_of_a_record_are_refused(options, said):
    parts = {"frame": [0], "category": [1], "box": [[0, 0, 1, 1]]}
    with pytest.raises(InputError, match=said):
        Boxes(["a"], **{**parts, **options})


@pytest.mark.parametrize("boxes", [None, [1], "a"])
def test_boxes_of_no_mapping_are_refused(boxes):
    with pytest.raises(InputError, match="boxes is"):
        Boxes.of(boxes)
    with pytest.raises(InputError, match="boxes is"):
        Detections.of(boxes)
