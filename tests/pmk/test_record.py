"""Frame sets and predictions as records: what they hold, what they say is unusual, what they refuse."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import pmk, records
from helpers.errors import InputError
from helpers.pmk.record import PREDICTIONS, SETS

from . import oracle

TOY = {"sets": oracle.SETS, "labels": oracle.LABELS, "offsets": oracle.OFFSETS}


def toy(**changes):
    return pmk.FrameSets(**{**TOY, **changes})


def same(first, second):
    """Two frame sets with equal contents."""
    assert vars(first).keys() == vars(second).keys()
    for name, value in vars(first).items():
        other = getattr(second, name)
        assert np.array_equal(value, other) if isinstance(value, np.ndarray) else value == other, name


def test_the_arrays_of_the_toy():
    frames = toy(frame_types=oracle.TYPES, groups={"a": "x", "b": "y", "c": "x", "d": "z"})
    assert frames.frames == ("a", "b", "c", "d", "a-1", "a+1", "b-2", "b+1", "d+1")
    assert frames.start.tolist() == [0, 2, 4, 4, 5]
    assert frames.member.tolist() == [4, 5, 6, 7, 8]
    assert frames.row.tolist() == frames.judge.tolist() == [0, 0, 1, 1, 3]
    assert frames.offset.tolist() == [-1, 1, -2, 1, 1]
    assert frames.group.tolist() == [0, 1, 0, 2]
    assert frames.group_names == ("x", "y", "z")
    assert "".join(frames.type) == "PBIPIBPPB"
    assert [frames.labels_of(i) for i in (1, 2, 4)] == [(1, 2), (3,), ()]
    assert (frames.n, frames.pairs, frames.classes) == (4, 5, 4)
    assert repr(frames) == "FrameSets(4 anchors, 5 similar frames, 3 groups, 4 classes)"
    assert frames.within(1).tolist() == [True, True, False, True, True]


def test_arrays_are_read_only():
    with pytest.raises(ValueError, match="read-only"):
        toy().offset[0] = 3


def test_what_is_unusual_is_counted_and_named():
    frames = pmk.FrameSets(
        {"v/10.jpg": ["v/9.jpg", "v/12.jpg"], "v/13.jpg": ["v/12.jpg"], "w/5.jpg": []},
        {"v/10.jpg": [0, 1], "v/9.jpg": [1, 0, 1], "v/13.jpg": [0], "v/12.jpg": [0], "w/5.jpg": [2]},
        groups={"v/10.jpg": "v", "v/13.jpg": "v", "w/5.jpg": "w"},
    )
    assert frames.offset.tolist() == [-1, 2, -1]
    assert frames.warnings == (
        "1 set is empty and counts by its anchor: w/5.jpg",
        "1 set has holes in its offsets: v/10.jpg",
        "1 set has frames with other labels than its anchor: v/10.jpg",
        "several sets share 1 of the frames: v/12.jpg",
    )


def test_a_set_that_begins_beside_its_anchor_has_no_hole():
    assert pmk.FrameSets({"v/5": ["v/6", "v/7"]}, {"v/5": [0]}).warnings == ()
    assert pmk.FrameSets({"v/5": ["v/7", "v/8"]}, {"v/5": [0]}).warnings == ("1 set has holes in its offsets: v/5",)


@pytest.mark.parametrize(
    ("anchor", "frame", "offset"),
    [
        ("val/clip/000442.JPEG", "val/clip/000432.JPEG", -10),
        ("ab_1000/frame-15.jpg", "ab_1000/frame-17.jpg", 2),
        ("clip/7", "clip/10", 3),
        ("clip/7", "clap/10", None),  # another folder
        ("clip/7.jpg", "clip/10.png", None),  # another kind of file
        ("q7", "q8", None),  # no folder: the names of paraphrases, not of frames
        ("clip/a7b", "clip/a8b", None),
        ("clip/1", "clip/99999999999999999999", None),  # a hash or a time, no number of a neighbouring frame
    ],
)
def test_offsets_of_keys(anchor, frame, offset):
    frames = pmk.FrameSets({anchor: [frame]}, {anchor: [0]})
    assert (frames.offset is None) if offset is None else (frames.offset.tolist() == [offset])
    assert ("no offsets are known: k is not applied" in frames.warnings) == (offset is None)


def test_offsets_can_be_refused_and_given():
    keys, labels = {"clip/7": ["clip/10"]}, {"clip/7": [0]}
    assert pmk.FrameSets(keys, labels, offsets={}).offset is None
    assert pmk.FrameSets(keys, labels, offsets={"clip/7": [-4]}).offset.tolist() == [-4]


def test_own_labels_judge_where_there_are_any():
    frames = pmk.FrameSets({"a": ["b", "c"]}, {"a": [0, 2], "b": [1]})
    assert frames.judge.tolist() == [1, 0]
    anchor, members = frames.correct([[0, 1, 2], [2, 0, 1], [1, 1, 1], [-1, -1, -1]])
    assert anchor[:, 0].tolist() == [True, True, False, False]
    assert members.tolist() == [[True, True], [False, False], [True, False], [False, False]]


def test_a_shared_frame_is_judged_by_each_of_its_anchors():
    frames = pmk.FrameSets({"a": ["s"], "b": ["s"]}, {"a": [0], "b": [1]}, groups={"a": "v", "b": "v"})
    assert frames.correct([0, 1, 1])[1].tolist() == [False, True]


@given(st.integers(0, 2**32 - 1))
def test_correct_equals_the_slow_way(seed):
    case = oracle.random_case(seed)
    frames = pmk.FrameSets(case["sets"], case["labels"])
    said = [case["predictions"][frame] for frame in frames.frames]
    anchors, members = frames.correct([said, said])
    expected = [oracle.right(a, a, case["predictions"], case["labels"]) for a in case["sets"]]
    pairs = [(f, a) for a, near in case["sets"].items() for f in near]
    assert anchors.tolist() == [expected, expected]
    assert members[1].tolist() == [oracle.right(f, a, case["predictions"], case["labels"]) for f, a in pairs]
    assert frames.offset.tolist() == [d for near in case["offsets"].values() for d in near]


@given(st.integers(0, 2**32 - 1))
def test_subset_equals_sets_made_from_less(seed):
    case = oracle.random_case(seed)
    frames = pmk.FrameSets(case["sets"], case["labels"], frame_types=case["types"])
    rng = np.random.default_rng(seed)
    anchors, pairs = rng.random(frames.n) < 0.7, rng.random(frames.pairs) < 0.6
    anchors[0] = True
    kept = iter(pairs.tolist())
    sets = {a: [f for f in near if next(kept)] for a, near in case["sets"].items()}
    sets = {a: near for a, near in sets.items() if anchors[frames.anchors.index(a)]}
    used = {f for a, near in sets.items() for f in (a, *near)}
    fewer = pmk.FrameSets(
        sets,
        {f: labels for f, labels in case["labels"].items() if f in used},
        frame_types={f: case["types"][f] for f in used},
        classes=frames.classes,
    )
    same(frames.subset(anchors, pairs), fewer)


def test_subset_keeps_offsets_unknown():
    frames = pmk.FrameSets({"v/1": ["v/2", "other"]}, {"v/1": [0]}, classes=7)
    fewer = frames.subset(pairs=[True, False])
    assert fewer.offset is None
    assert fewer.classes == 7


@pytest.mark.parametrize("options", [{}, {"frame_types": oracle.TYPES, "groups": dict.fromkeys("abcd", "x")}])
def test_frame_sets_are_saved_and_loaded(tmp_path, options):
    review = {(a, f): "similar" if "+" in f else "unsure" for a, near in oracle.SETS.items() for f in near}
    frames = toy(review=review, classes=9, provenance={"from": "a test"}, **options)
    path = frames.save(tmp_path / "sets.npz")
    same(pmk.FrameSets.load(path), frames)
    assert frames.decision.tolist() == ["unsure", "similar", "unsure", "similar", "similar"]
    same(frames.subset(), frames)


def test_sets_without_a_single_frame_are_saved_too(tmp_path):
    frames = pmk.FrameSets({"a": [], "b": []}, {"a": [0], "b": [1]})
    path = frames.save(tmp_path / "sets.npz")
    assert pmk.FrameSets.load(path).pairs == 0
    assert pmk.score({"a": 0, "b": 0}, frames).perturbed.count == 1


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("member", [4, 5, 6, 7, 99], r"'member'\[4\] is 99"),
        ("member", [-1, 5, 6, 7, 8], r"'member'\[0\] is -1"),
        ("start", [0, 2, 1, 4, 5], "'start' does not rise from 0 to 5"),
        ("start", [0, 2, 4, 4, 9], "'start' does not rise from 0 to 5"),
        ("label_start", [0, 1, 5], "'label_start' does not rise from 0 to 5 in the length"),
        ("label", [0, 1, 2, 3, -4], "whole number from 0"),
        ("offset", [-1, 1, 0, 1, 1], "is 0: that is the anchor's own place"),
        ("type", [0, 1, 2, 3, 4, 0, 0, 0, 0], r"'type'\[4\] is 4"),
        ("group", [0, 1, 2, 3], r"'group'\[0\] is 0"),
    ],
)
def test_a_record_that_points_nowhere_is_refused(tmp_path, name, value, message):
    frames = toy()
    path = frames.save(tmp_path / "sets.npz")
    content, manifest = records.load(path, SETS)
    records.save(path, SETS, {**content, name: np.array(value)}, manifest)
    with pytest.raises(InputError, match=message) as refusal:
        pmk.FrameSets.load(path)
    assert str(refusal.value).startswith(str(path))


@pytest.mark.parametrize(
    "change", [{"frames": None}, {"frames": ["a", 3]}, {"names": {}}, {"frames": ["a", "b"]}, {"frames": ["a"] * 9}]
)
def test_a_record_without_its_names_is_refused(tmp_path, change):
    path = toy().save(tmp_path / "sets.npz")
    content, manifest = records.load(path, SETS)
    records.save(path, SETS, content, {**manifest, **change})
    with pytest.raises(InputError, match=r"manifest|points beyond|does not rise"):
        pmk.FrameSets.load(path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sets": {}}, "give the similar frames of at least one anchor"),
        ({"sets": [["a"]]}, "sets is "),
        ({"sets": {**oracle.SETS, "a": "b"}}, r"sets\['a'\] is 'b': give a list"),
        ({"sets": {**oracle.SETS, "a": [1, 2]}}, r"sets\['a'\] has the key 1"),
        ({"sets": {**oracle.SETS, "a": ["a", "a-1"]}}, r"sets\['a'\] holds the anchor itself"),
        ({"sets": {**oracle.SETS, "a": ["a-1", "a-1"]}}, r"sets\['a'\] holds 'a-1' twice"),
        ({"sets": {**oracle.SETS, "a": ["a-1", "b+1"]}}, r"sets of several groups share 1 of the frames: b\+1"),
        ({"sets": {**oracle.SETS, "a": ["a-1", "b"]}}, "sets of several groups share 1 of the frames: b;"),
        ({"labels": {**oracle.LABELS, "a": []}}, r"labels\['a'\] is empty"),
        ({"labels": {**oracle.LABELS, "a+1": set()}}, r"labels\['a\+1'\] is empty"),
        ({"labels": {**oracle.LABELS, "a": [-1]}}, r"labels\['a'\] has -1"),
        ({"labels": {**oracle.LABELS, "a": [True]}}, r"labels\['a'\] has True"),
        ({"labels": {**oracle.LABELS, "a": [1.0]}}, r"labels\['a'\] has 1.0"),
        ({"labels": {**oracle.LABELS, "a": "12"}}, r"labels\['a'\] is '12'"),
        ({"labels": {**oracle.LABELS, "a": 3.0}}, r"labels\['a'\] is 3.0: give class numbers$"),
        ({"labels": {**oracle.LABELS, "a": True}}, r"labels\['a'\] is True: give class numbers"),
        ({"labels": {**oracle.LABELS, "a": "dog"}}, r"labels\['a'\] is 'dog': give class numbers, such as the places"),
        ({"labels": {**oracle.LABELS, "a": ["dog"]}}, r"labels\['a'\] has 'dog': a label is .*, such as the places of"),
        ({"labels": {**oracle.LABELS, "z": [3]}}, "labels has keys that match nothing in sets, 1 in all: z"),
        ({"labels": {"a": [0]}}, "labels lacks 3 of 4 anchors: b, c, d"),
        ({"labels": [0, 1]}, "labels is "),
        ({"classes": 3}, r"labels\['c'\] has class 3, but classes is 3"),
        ({"classes": 0}, "classes is 0"),
        ({"offsets": {**oracle.OFFSETS, "a": [1, 1]}}, r"'a-1' in the set of 'a' and of 'a\+1' are both 1"),
        ({"offsets": {**oracle.OFFSETS, "a": [0, 1]}}, r"'a-1' in the set of 'a' is 0"),
        ({"offsets": {**oracle.OFFSETS, "a": [1]}}, r"offsets\['a'\] has 1 entries, but the set has 2"),
        ({"offsets": {**oracle.OFFSETS, "a": [-1.0, 1]}}, r"offsets\['a'\] has -1.0"),
        ({"offsets": {"a": [-1, 1], "b": [-2, 1]}}, "offsets lacks 1 of 3 anchors: d"),
        ({"offsets": {**oracle.OFFSETS, "z": [1]}}, "offsets has keys that match nothing in sets, 1 in all: z"),
        ({"offsets": {**oracle.OFFSETS, "a": [-(10**12), 1]}}, r"offsets\['a'\] has -1000000000000"),
        ({"offsets": {**oracle.OFFSETS, "a": 1}}, r"offsets\['a'\] is 1: give a list"),
        ({"groups": {**dict.fromkeys("abc", "x"), "d": None}}, r"groups\['d'\] is None"),
        ({"labels": {**oracle.LABELS, "a": [10**30]}}, r"labels\['a'\] has 1000000"),
        ({"offsets": [1]}, "offsets is "),
        ({"frame_types": {**oracle.TYPES, "a": "X"}}, r"frame_types\['a'\] is 'X': give one of"),
        ({"frame_types": {"a": "I"}}, "frame_types lacks 8 of 9 frames"),
        ({"groups": {"a": "x"}}, "groups lacks 3 of 4 anchors"),
        (
            {"groups": {**dict.fromkeys("abcd", "x"), "e": "x"}},
            "groups has keys that match nothing in sets, 1 in all: e",
        ),
        ({"review": {("a", "a-1"): "similar"}}, "review lacks 4 of 5 pairs"),
        ({"review": {("a", "b"): "similar"}}, "review has keys that match nothing"),
    ],
)
def test_bad_sets_get_one_clear_error(changes, message):
    with pytest.raises(InputError, match=message):
        toy(**changes)


def test_a_refusal_lists_ten_keys_and_counts_the_rest():
    labels = {**oracle.LABELS, **{f"z{i:02d}": [0] for i in range(13)}}
    with pytest.raises(InputError, match=r"labels has keys .*, 13 in all: z00, .*, z09 and 3 more$"):
        toy(labels=labels)


@pytest.mark.parametrize(
    ("mask", "message"),
    [([True], "shape"), ([1, 1, 1, 1], "boolean mask"), ([False] * 4, "anchors keeps none")],
)
def test_bad_masks(mask, message):
    with pytest.raises(InputError, match=message):
        toy().subset(mask)


@pytest.mark.parametrize("k", [0, -1, 1.5, True, None])
def test_within_refuses(k):
    with pytest.raises(InputError, match="k is "):
        toy().within(k)


# --- predictions


def test_of_equal_scores_the_first_wins_and_ties_are_counted():
    predictions = pmk.Predictions.of({"a": [0.4, 0.4, 0.2], "b": [-3, -2, -2.5], "c": [1, 2, 2]})
    assert predictions.classes.tolist() == [0, 1, 1]
    assert predictions.ties == 2
    assert pmk.Predictions.of({"a": 3, "b": 0}).ties == 0


def test_one_class_needs_no_list_and_numbers_may_come_out_of_tensors():
    torch = pytest.importorskip("torch")
    one = pmk.FrameSets({"a": ["a2"]}, {"a": 2, "a2": torch.tensor(1)})
    assert (one.labels_of(0), one.labels_of(1)) == ((2,), (1,))
    said = dict(zip(one.frames, torch.eye(3)[[2, 0]].argmax(1), strict=True))
    assert pmk.Predictions.of(said).values.tolist() == [2, 0]
    assert pmk.Predictions.of({"a": np.array(2)}).scores is None


@pytest.mark.parametrize("values", [{"a": 3, "b": 0}, {"a": [0.5, -math.inf], "b": [1, 2]}])
def test_predictions_are_saved_and_loaded(tmp_path, values):
    predictions = pmk.Predictions.of(values)
    loaded = pmk.Predictions.load(predictions.save(tmp_path / "said.npz"))
    assert loaded.frames == ("a", "b")
    assert np.array_equal(loaded.values, predictions.values)
    assert loaded.classes.tolist() == predictions.classes.tolist()


def test_a_record_of_both_classes_and_scores_is_refused(tmp_path):
    path = tmp_path / "said.npz"
    both = {"class": np.array([1]), "score": np.array([[0.0, 1.0]])}
    records.save(path, PREDICTIONS, both, {"frames": ["a"]})
    with pytest.raises(InputError, match="holds 2 arrays"):
        pmk.Predictions.load(path)


@pytest.mark.parametrize(
    ("predictions", "message"),
    [
        ({"a": [0.0, math.nan], "b": [0.0, 1.0]}, r"predictions\['a'\] has the score nan for class 1"),
        ({"a": [0.0, 1.0], "b": [math.inf, 1.0]}, r"predictions\['b'\] has the score inf for class 0"),
        ({"a": [-math.inf, -math.inf]}, r"predictions\['a'\] has no finite score"),
        ({"a": [0.0, 1.0], "b": [0.0]}, r"predictions\['b'\] has scores of shape \(1,\)"),
        ({"a": [0.0, 1.0], "b": 1}, r"predictions\['b'\] and predictions\['a'\] are unlike"),
        ({"a": -1}, r"predictions\['a'\] is -1"),
        ({"a": 1.0}, r"predictions\['a'\] is 1.0: a class is a whole number from 0 to 999999$"),
        ({"a": "dog"}, r"predictions\['a'\] is 'dog': a class is .* the places of names in a list"),
        ({"a": np.array(1.5)}, r"predictions\['a'\] is 1.5"),
        ({"a": True}, r"predictions\['a'\] is True"),
        ({"a": "dog"}, r"predictions\['a'\] is 'dog'"),
        ({"a": ["x", "y"]}, r"predictions\['a'\] has type <U1"),
        ({"a": 10**30}, r"predictions\['a'\] is 1000000"),
        ({"a": [10**400, 1]}, r"predictions\['a'\]\[0\] is 1000000"),
        ({"a": None}, r"predictions\['a'\] is None"),
        ({}, "predictions is {}"),
        ([1], r"predictions is \[1\]"),
    ],
)
def test_bad_predictions_get_one_clear_error(predictions, message):
    with pytest.raises(InputError, match=message):
        pmk.Predictions.of(predictions)


def test_predictions_as_arrays_are_checked():
    with pytest.raises(InputError, match="frames holds 'a' twice"):
        pmk.Predictions(("a", "a"), np.array([1, 2]))
    with pytest.raises(InputError, match="for 1 frames"):
        pmk.Predictions(("a",), np.array([1, 2]))
    assert json.dumps(pmk.Predictions(("a",), np.array([[1, 2]])).classes.tolist()) == "[1]"


# --- predictions in the order of the sets


def test_aligned_takes_keys_in_any_order_and_arrays_of_models():
    frames = toy()
    expected = [oracle.PREDICTIONS[frame] for frame in frames.frames]
    turned = dict(reversed(oracle.PREDICTIONS.items()))
    assert pmk.aligned(turned, frames).tolist() == expected
    assert pmk.aligned(pmk.Predictions.of(turned), frames).tolist() == expected
    many = np.array([expected, expected], dtype=np.int8)
    assert pmk.aligned(many, frames).tolist() == [expected, expected]
    scores = np.eye(4)[[expected, expected[::-1]]]
    assert pmk.aligned(scores, frames).tolist() == [expected, expected[::-1]]
    assert pmk.aligned(scores[0].tolist(), frames).tolist() == expected


def test_scores_are_right_as_the_classes_that_win():
    frames = toy(labels={**oracle.LABELS, "b": [1, 2, 3], "a-1": [0, 3]})
    scores = np.random.default_rng(0).integers(3, size=(5, 2, 9, 4)).astype(np.float32)
    for found, expected in zip(frames.correct(scores), frames.correct(scores.argmax(axis=-1)), strict=True):
        assert found.shape[:2] == (5, 2)
        assert np.array_equal(found, expected)


def test_no_number_that_is_no_class_is_right():
    frames = toy(labels={**oracle.LABELS, "b": [1, 2, 3], "a-1": [0, 3]})
    for strange in (-1, -2, -3, 4):
        assert not any(part.any() for part in frames.correct(np.full(9, strange)))


def test_sets_with_unlike_labels_are_told_whatever_their_number():
    frames = toy(labels={"a": [0], "a-1": [0, 3], "b": [1, 2], "b-2": [1, 2, 3], "c": [3], "d": [0, 1], "d+1": [0, 1]})
    assert "2 sets have frames with other labels than their anchors: a, b" in frames.warnings


@pytest.mark.parametrize("missing", ["wrong", "skip"])
def test_missing_predictions_are_minus_one_where_allowed(missing):
    said = {frame: c for frame, c in oracle.PREDICTIONS.items() if frame not in ("b", "b+1")}
    assert pmk.aligned(said, toy(), missing=missing).tolist() == [0, -1, 3, 1, 0, 0, 1, -1, 0]


def test_missing_predictions_are_listed():
    said = {frame: c for frame, c in oracle.PREDICTIONS.items() if frame not in ("b", "b+1")}
    with pytest.raises(InputError, match=r"predictions has none for 2 of 9 frames: b, b\+1; predict them"):
        pmk.aligned(said, toy())
    with pytest.raises(InputError, match="predictions has none for 1 of 9 frames: d; predict"):
        pmk.aligned([[0] * 9, [0, 0, 0, -1, 0, 0, 0, 0, 0]], toy())


@pytest.mark.parametrize(
    ("predictions", "message"),
    [
        ({"x": 0, "y": 1}, "has no key that is a frame of the sets: it has x, y; the sets have a, b"),
        ({**oracle.PREDICTIONS, "d+1": 4}, r"predictions of 'd\+1' is class 4, but the classes are 0\.\.3"),
        ([0] * 8, r"shape \(8,\)"),
        ([0.0] * 9, r"type float64: give whole numbers, .* 9 frames .* or scores of shape \(..., 9, 4\)"),
        ([[0.0] * 4] * 8, r"shape \(8, 4\)"),
        (np.zeros((9, 5)), r"scores of 5 classes, but the classes are 0\.\.3: fold the scores"),
        (np.zeros((2, 9, 3)), r"scores of 3 classes, but the classes are 0\.\.3"),
        ([[True, 0.5, 0.0, 0.0]] * 9, r"predictions\[0, 0\] is True: give scores"),
        (np.zeros((0, 9, 4)), r"shape \(0, 9, 4\)"),
        ([0, 0, 0, 0, -2, 0, 0, 0, 0], "predictions of 'a-1' is class -2"),
        ([[0] * 9, [0, 0, 7, 0, 0, 0, 0, 0, 0]], "predictions of 'c' is class 7"),
    ],
)
def test_aligned_refuses(predictions, message):
    with pytest.raises(InputError, match=message):
        pmk.aligned(predictions, toy())


def test_an_unknown_choice_is_refused():
    with pytest.raises(InputError, match="missing is 'drop': choose one of error, wrong, skip"):
        pmk.aligned(oracle.PREDICTIONS, toy(), missing="drop")


@pytest.mark.data
def test_the_real_sets_are_as_described(shared, tmp_path):
    folder = shared / "data" / "ivr"
    if not folder.is_dir():
        pytest.skip("no ../shared/data/ivr beside the checkout")
    frames = pmk.read(folder, "imagenet-vid-robust")
    assert (frames.n, frames.pairs, len(frames.frames), frames.classes) == (1109, 21070, 22179, 30)
    sizes, counts = np.unique(np.diff(frames.label_start), return_counts=True)
    assert dict(zip(sizes.tolist(), counts.tolist(), strict=True)) == {1: 20665, 2: 1463, 3: 51}
    assert [text.split(":")[0] for text in frames.warnings] == [
        "1 set is empty and counts by its anchor",
        "141 sets have holes in their offsets",
        "2 sets have frames with other labels than their anchors",
    ]
    assert np.bincount(frames.offset + 10, minlength=21).tolist() == [
        *(1009, 1010, 1027, 1041, 1046, 1056, 1079, 1084, 1093, 1101, 0),
        *(1100, 1088, 1080, 1070, 1063, 1048, 1040, 1027, 1012, 996),
    ]
    same(pmk.FrameSets.load(frames.save(tmp_path / "ivr.npz")), frames)


HUGE = np.array([0] * 8 + [2**64 - 1], dtype=np.uint64)
SOME = ["a", "b"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: pmk.Predictions(["a"], HUGE[-1:]), r"predictions\['a'\] is 18446744073709551615: a class is a whole"),
        (lambda: pmk.aligned(HUGE, toy(), missing="wrong"), "predictions has the class 18446744073709551615"),
        (lambda: toy().correct(HUGE), "predictions has the class 18446744073709551615"),
        (lambda: pmk.counts(np.zeros((0, 9), dtype=int), toy()), r"predictions has shape \(0, 9\)"),
        (
            lambda: pmk.Predictions.of({"a": ["0.1", "0.2"]}),
            r"predictions\['a'\] has type <U3: give a class, or a list",
        ),
        (lambda: pmk.Predictions.of({"a": [True, False]}), r"predictions\['a'\] has type bool"),
        (lambda: pmk.Predictions.of({"a": [True, 0.5]}), r"predictions\['a'\]\[0\] is True"),
        (lambda: pmk.Predictions.of({"a": [1j, 0.5]}), r"predictions\['a'\] has type complex128"),
        (lambda: pmk.Predictions(SOME, [True, 2]), r"predictions\[0\] is True: give classes, or scores"),
        (lambda: pmk.aligned([[0] * 9, [True] + [0] * 8], toy()), r"predictions\[1, 0\] is True: give whole numbers"),
        (lambda: pmk.Predictions("ab", [0, 1]), "frames is 'ab': give a list of frame keys"),
        (lambda: pmk.Predictions(None, [0]), "frames is None: give a list of frame keys"),
        (lambda: pmk.Predictions([1, 2], [0, 1]), "frames has the key 1: frames are named by texts"),
        (lambda: pmk.Predictions([["a"], "b"], [0, 1]), r"frames has the key \['a'\]"),
        (lambda: pmk.Predictions(SOME, [0, 1], provenance=[1]), r"provenance is \[1\]: give a mapping"),
        (lambda: pmk.aligned(oracle.PREDICTIONS, oracle.SETS), r"frames is a dict: give FrameSets\(sets, labels\)"),
        (lambda: toy(provenance=[1]), r"provenance is \[1\]: give a mapping"),
        (lambda: toy(offsets=np.array([1])), r"offsets is array\(\[1\]\): give a mapping"),
        (lambda: toy(offsets=0), "offsets is 0: give a mapping"),
        (lambda: toy(offsets={**oracle.OFFSETS, "a": np.array(1)}), r"offsets\['a'\] is array\(1\): give a list"),
        (lambda: toy(frame_types={**oracle.TYPES, "a": np.array(["I"])}), r"frame_types\['a'\] is array"),
        (lambda: toy(groups={"a": True, "b": 0, "c": 1, "d": 2}), r"groups\['a'\] is True: name the clip"),
        (lambda: toy(classes=10**40), "classes is 10{40}: give at most 1000000"),
        (lambda: toy(labels={**oracle.LABELS, "a": [5_000_000]}), r"labels\['a'\] has 5000000: .* from 0 to 999999"),
        (
            lambda: toy(labels={**oracle.LABELS, "a": np.array([[3]])}),
            r"labels\['a'\] is array\(\[\[3\]\]\): give class",
        ),
    ],
)
def test_what_would_wrap_crash_or_pass_is_refused(make, message):
    with pytest.raises(InputError, match=f"^{message}"):
        make()


@pytest.mark.parametrize("key", ["k" * 10**6, "\x1b[31mred"])
def test_long_and_unprintable_keys_are_cut_and_quoted(key):
    messages = []
    for make in (
        lambda: pmk.FrameSets({key: [key]}, {}),
        lambda: pmk.FrameSets({key: []}, {key: []}),
        lambda: pmk.FrameSets({key: []}, {"a": [0]}),
        lambda: pmk.aligned({key: 0}, toy()),
        lambda: pmk.Predictions.of({key: -1}),
        lambda: pmk.Predictions([key, key], [0, 0]),
    ):
        with pytest.raises(InputError) as refusal:
            make()
        messages.append(str(refusal.value))
    messages += pmk.FrameSets({key: []}, {key: [0]}).warnings
    assert len(messages) == 7
    for message in messages:
        assert len(message) < 300
        assert message.isprintable()
