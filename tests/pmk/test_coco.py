"""COCO JSON: there and back without a change, and what is refused names the file and the entry."""

import copy
import json

import numpy as np
import pytest

from helpers.errors import InputError
from helpers.pmk.boxes import Boxes, Detections
from helpers.pmk.coco import read_coco, read_coco_results, write_coco, write_coco_results

from . import coco_oracle
from .test_boxes import same

FILE = {
    "info": {"year": 2026},
    "images": [{"id": 30, "file_name": "b.jpg", "width": 64}, {"id": 4, "file_name": "a.jpg"}],
    "annotations": [
        {"id": 1, "image_id": 30, "category_id": 2, "bbox": [0, 1, 10.5, 10], "area": 1.0, "iscrowd": 0},
        {"id": 2, "image_id": 4, "category_id": 9, "bbox": [0.1, 0, 5, 5], "iscrowd": 1},
        {"id": 3, "image_id": 30, "category_id": 9, "bbox": [7, 7, 5, 5]},
    ],
    "categories": [{"id": 9, "name": "cat"}, {"id": 2, "name": "dog"}],
}
RESULTS = [
    {"image_id": 4, "category_id": 9, "bbox": [0.1, 0, 5, 5], "score": 0.25},
    {"image_id": 30, "category_id": 2, "bbox": [0, 0, 5, 5], "score": 1},
]


@pytest.fixture
def written(tmp_path):
    def write(content, name="file.json"):
        path = tmp_path / name
        path.write_text(json.dumps(content))
        return path

    return write


def test_frames_are_ordered_by_image_id_and_annotations_as_in_the_file(written):
    truth = read_coco(written(FILE))
    assert truth.frames == ("a.jpg", "b.jpg")
    assert truth.image_ids.tolist() == [4, 30]
    assert truth.categories == {2: "dog", 9: "cat"}
    assert truth.frame.tolist() == [1, 0, 1]
    assert truth.category.tolist() == [2, 9, 9]
    assert truth.box.tolist() == [[0, 1, 10.5, 10], [0.1, 0, 5, 5], [7, 7, 5, 5]]
    assert truth.crowd.tolist() == [False, True, False]
    assert truth.area.tolist() == [1.0, 25.0, 25.0]  # as the file says, else that of the box


def test_a_crowd_may_have_the_mark_ignore(written):
    assert read_coco(written(changed(("annotations", 1, "ignore"), 1))).crowd.tolist() == [False, True, False]


def test_every_image_counts_as_seen(written):
    said = read_coco_results(written(RESULTS[:1]), read_coco(written(FILE, "truth.json")))
    assert said.frames == ("a.jpg", "b.jpg")
    assert said.frame.tolist() == [0]
    assert said.score.tolist() == [0.25]


@pytest.mark.parametrize("seed", range(5))
def test_round_trip_is_exact(tmp_path, seed):
    truth, said = coco_oracle.random_boxes(seed)
    truth = Boxes(
        truth.frames,
        truth.frame,
        truth.category,
        truth.box / 3,
        crowd=truth.crowd,
        area=truth.box[:, 2] * truth.box[:, 3] / 11,
        categories=truth.categories,
        image_ids=truth.image_ids,
    )
    score = np.random.default_rng(seed).standard_normal(len(said.score))
    said = Detections(said.frames, said.frame, said.category, said.box / 7, score)
    path = write_coco(tmp_path / "truth.json", truth)
    loaded = read_coco(path)
    same(truth, loaded)
    results = write_coco_results(tmp_path / "said.json", said, truth)
    same(said, read_coco_results(results, loaded))
    assert write_coco(tmp_path / "again.json", loaded).read_text() == path.read_text()


def test_annotation_ids_begin_at_one(tmp_path):
    """pycocotools takes a match with id 0 for no match."""
    truth, _ = coco_oracle.random_boxes(0)
    written = json.loads(write_coco(tmp_path / "truth.json", truth).read_text())
    assert [entry["id"] for entry in written["annotations"]] == list(range(1, len(truth.frame) + 1))
    assert written["annotations"][0]["area"] == truth.box[0, 2] * truth.box[0, 3]


def test_empty_lists_are_read(written):
    truth = read_coco(written({**FILE, "annotations": []}))
    assert len(truth.frame) == 0
    assert len(read_coco_results(written([]), truth).frame) == 0


def changed(place, value):
    """FILE with another value at (list, index, field); ... leaves the field out."""
    content = copy.deepcopy(FILE)
    key, index, field = place
    if value is ...:
        del content[key][index][field]
    else:
        content[key][index][field] = value
    return content


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([], "is no object with images"),
        ({"images": []}, "has no list of categories"),
        ({**FILE, "images": [], "annotations": []}, r"frames is \[\]"),
        ({**FILE, "annotations": [3]}, r"annotations\[0\] is 3: each entry is an object"),
        (changed(("images", 1, "id"), 30), r"images\[1\].id is 30 for the second time"),
        (changed(("images", 1, "id"), "4"), r"images\[1\].id has '4'"),
        (changed(("images", 1, "file_name"), "b.jpg"), r"frames\[1\] is 'b.jpg' for the second time"),
        (changed(("images", 1, "file_name"), ...), r"images\[1\].file_name is None: give a text"),
        (changed(("categories", 1, "id"), 9), r"categories\[1\].id is 9 for the second time"),
        (
            changed(("annotations", 2, "image_id"), 5),
            r"annotations\[2\].image_id is 5: the ground truth has no such id",
        ),
        (changed(("annotations", 2, "category_id"), 1), r"annotations\[2\].category_id is 1: .* no such id"),
        (changed(("annotations", 2, "category_id"), ...), r"annotations\[2\].category_id has None"),
        (changed(("annotations", 1, "bbox"), [0, 0, 5]), r"annotations\[1\].bbox is \[0, 0, 5\]: give x, y"),
        (changed(("annotations", 1, "bbox"), ...), r"annotations\[1\].bbox is None"),
        (changed(("annotations", 1, "bbox"), [0, 0, "5", 5]), r"annotations\[1\].bbox"),
        (changed(("annotations", 1, "bbox"), [0, 0, -5, 5]), r"box\[1\] is \[0.0, 0.0, -5.0, 5.0\] \(frame 'a.jpg'\)"),
        (changed(("annotations", 1, "bbox"), [0, float("nan"), 5, 5]), r"\[1\]\.bbox is .* four finite numbers"),
        (changed(("annotations", 1, "iscrowd"), 2), r"annotations\[1\].iscrowd is 2: give 0 or 1"),
        (
            changed(("annotations", 0, "ignore"), 1),
            r"annotations\[0\] has the mark ignore, which COCO's code overlooks",
        ),
        (changed(("annotations", 0, "area"), -1.0), r"annotations\[0\].area is -1.0: give square pixels"),
        (changed(("annotations", 0, "area"), None), r"annotations\[0\].area is None"),
    ],
)
def test_refuses_ground_truth(written, content, message):
    path = written(content)
    with pytest.raises(InputError, match=f"^{path}: .*{message}"):
        read_coco(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"score": ...}, r"\[1\] has score None: average precision ranks by score"),
        ({"score": float("nan")}, r"\[1\] has score nan: average precision"),
        ({"score": "0.5"}, r"\[1\] has score '0.5'"),
        ({"score": True}, r"\[1\] has score True"),
        ({"image_id": 31}, r"\[1\].image_id is 31: the ground truth has no such id"),
        ({"category_id": 3}, r"\[1\].category_id is 3: the ground truth has no such id"),
        ({"bbox": [0, 0, 5, -5]}, r"box\[1\] is \[0.0, 0.0, 5.0, -5.0\] \(frame 'b.jpg'\)"),
        ({"bbox": [0, 0, 5, float("inf")]}, r"\[1\]\.bbox is .* four finite numbers"),
    ],
)
def test_refuses_results(written, change, message):
    results = copy.deepcopy(RESULTS)
    results[1] = {key: value for key, value in {**results[1], **change}.items() if value is not ...}
    path = written(results)
    with pytest.raises(InputError, match=f"^{path}: {message}"):
        read_coco_results(path, read_coco(written(FILE, "truth.json")))


def test_refuses_what_is_no_list_or_no_json(written, tmp_path):
    truth = read_coco(written(FILE, "truth.json"))
    with pytest.raises(InputError, match="is no list: give COCO results"):
        read_coco_results(written({"results": []}), truth)
    with pytest.raises(InputError, match=r"\[0\] is 7: each entry is an object"):
        read_coco_results(written([7]), truth)
    broken = tmp_path / "broken.json"
    broken.write_text('{"images": [')
    with pytest.raises(InputError, match=r"broken\.json: no JSON"):
        read_coco(broken)


def test_results_of_frames_without_an_image_id_are_refused(tmp_path):
    _, said = coco_oracle.random_boxes(0)
    fewer, _ = coco_oracle.random_boxes(0, frames=4)
    with pytest.raises(InputError, match=r"predictions has 8 frames that truth lacks, first 'frame 4'"):
        write_coco_results(tmp_path / "said.json", said, fewer)
    assert not (tmp_path / "said.json").exists()
