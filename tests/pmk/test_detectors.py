"""PM-k of detectors: the worked example, COCO's own evaluation of the chosen frames, and the bootstrap by hand."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.errors import InputError
from helpers.pmk.boxes import Boxes, Detections
from helpers.pmk.coco import write_coco, write_coco_results
from helpers.pmk.detectors import _interval, _Sets, detection, localisation
from helpers.pmk.matching import match
from helpers.pmk.precision import frame_ap, mean_ap
from helpers.pmk.record import FrameSets

from . import coco_oracle

CATEGORIES = {2: "dog", 3: "cat", 7: "bird", 11: "never there"}
HERE, THERE, AWAY = [0, 0, 10, 10], [50, 0, 10, 10], [20, 0, 10, 10]


def sets(members, **options):
    return FrameSets(members, {anchor: [0] for anchor in members}, **options)


@pytest.fixture
def e7b():
    """Boxes that give the numbers of the specification's E7b, which states sets, choices and values only."""
    truth = {
        "a": ([1, 1], [HERE, THERE]),
        "b": ([1], [HERE]),
        "a+1": ([1, 1], [HERE, THERE]),
        "a+2": ([1, 2], [HERE, THERE]),
        "b+1": ([1], [HERE]),
    }
    said = {
        "a": ([1, 1, 1], [HERE, AWAY, THERE], [0.9, 0.6, 0.5]),
        "b": ([1], [HERE], [0.7]),
        "a+1": ([1], [HERE], [0.9]),
        "a+2": ([1, 1], [HERE, THERE], [0.9, 0.4]),
        "b+1": ([], [], []),
    }
    return Detections.of(said), Boxes.of(truth), sets({"a": ["a+1", "a+2"], "b": ["b+1"]})


def test_worked_example_e7b(e7b):
    score = detection(*e7b)
    assert score.frame_ap["a"] == pytest.approx(0.834983, abs=5e-7)
    assert score.frame_ap["a+1"] == pytest.approx(51 / 101)
    assert score.frame_ap["a+2"] == 0.5
    assert score.worst == {"a": "a+2", "b": "b+1"}
    assert score.original.value == pytest.approx(0.915842, abs=5e-7)
    assert score.perturbed.value == pytest.approx(0.252475, abs=5e-7)
    assert score.drop.value == pytest.approx(0.915842 - 0.252475, abs=1e-6)
    assert (score.n, score.moved, score.k) == (2, 2, None)


def test_worked_example_e7b_localisation(e7b):
    score = localisation(*e7b)
    assert score.worst == {"a": "a+1", "b": "b+1"}
    assert score.original.value == pytest.approx(0.915842, abs=5e-7)
    assert score.perturbed.value == pytest.approx(34 / 101)
    assert score.perturbed.value == pytest.approx(0.336634, abs=5e-7)
    assert score.perturbed.by_category == {0: score.perturbed.value}


def test_ties_keep_the_anchor_then_the_order_of_the_set():
    truth = Boxes.of({key: ([1], [HERE]) for key in ("z", "y", "x", "b", "a")})
    there, gone = ([1], [HERE], [0.9]), ([], [], [])
    members = sets({"x": ["z", "y"], "a": ["b"]})
    same = Detections.of(dict.fromkeys(truth.frames, there))
    assert detection(same, truth, members).worst == {"x": "x", "a": "a"}
    assert detection(same, truth, members).moved == 0
    lost = Detections.of({key: there if key in ("x", "a") else gone for key in truth.frames})
    assert detection(lost, truth, members).worst == {"x": "z", "a": "b"}
    turned = sets({"x": ["y", "z"], "a": ["b"]})
    assert detection(lost, truth, turned).worst == {"x": "y", "a": "b"}


def test_sums_in_another_order_are_a_tie():
    """AP 1, 51/101 and 17/101 of three categories, whichever has which: the mean is the same but for rounding."""
    places = [[30 * i, 0, 10, 10] for i in range(6)]
    counts = (1, 2, 6)  # objects of a category, of which one is found

    def frame(order):
        kind = [c for c, number in zip(order, counts, strict=True) for _ in range(number)]
        box = [place for number in counts for place in places[:number]]
        found = [kind.index(c) for c in order]
        return (kind, box), (list(order), [box[i] for i in found], [0.9] * 3)

    keys = {"a": (1, 2, 3), "b": (2, 3, 1), "c": (3, 2, 1), "d": (3, 1, 2), "e": (1, 3, 2), "f": (2, 1, 3)}
    made = {key: frame(order) for key, order in keys.items()}
    truth = Boxes.of({key: there for key, (there, _) in made.items()})
    said = Detections.of({key: seen for key, (_, seen) in made.items()})
    assert len(set(frame_ap(said, truth).values())) > 1
    for anchor in keys:
        others = [key for key in keys if key != anchor]
        assert detection(said, truth, sets({anchor: others})).worst == {anchor: anchor}


def test_frames_without_objects_take_no_place_and_are_counted():
    truth = Boxes.of({"a": ([], []), "a2": ([1], [HERE]), "b": ([1], [HERE]), "b2": ([], []), "c": ([], [])})
    said = Detections.of({key: ([1], [HERE], [0.9]) for key in truth.frames})
    score = detection(said, truth, sets({"a": ["a2"], "b": ["b2"], "c": []}))
    assert score.worst == {"a": "a2", "b": "b", "c": "c"}
    assert score.frame_ap == {"a": None, "a2": 1.0, "b": 1.0, "b2": None, "c": None}
    assert score.frames_without_truth == 3
    assert score.without_truth == ("c",)
    assert score.moved == 1
    assert "1 sets have no frame with ground truth and keep their anchors in both figures: c" in score.notes
    assert score.original.frames == score.perturbed.frames == 3
    # equal scores rank by frame: the false box of anchor a comes before the true one of b
    assert score.original.value == pytest.approx(0.5)
    assert score.perturbed.value == 1.0  # more than the original: nothing forbids it
    assert score.drop.value == pytest.approx(-0.5)


def test_false_boxes_of_a_set_without_objects_count_in_both_figures():
    """The sure false box in c ranks before the true one of b: precision one half, whatever frame stands for c."""
    truth = Boxes.of({"b": ([1], [HERE]), "c": ([], []), "c2": ([], [])})
    said = Detections.of({"b": ([1], [HERE], [0.5]), "c": ([1], [HERE], [0.9]), "c2": ([], [], [])})
    score = detection(said, truth, {"b": [], "c": ["c2"]})
    assert (score.worst, score.moved) == ({"b": "b", "c": "c"}, 0)
    assert score.original.value == score.perturbed.value == pytest.approx(0.5)
    assert score.drop.value == 0.0


def test_nothing_to_find_at_all_is_undefined():
    truth = Boxes.of({"a": ([], []), "b": ([], [])}, categories={1: "dog"})
    said = Detections.of({"a": ([1], [HERE], [0.9]), "b": ([], [], [])})
    score = detection(said, truth, sets({"a": ["b"]}))
    assert (score.original.value, score.perturbed.value, score.drop.value) == (None, None, None)
    assert score.drop.reason == "no frame has ground truth"
    assert "mAP undefined over 1 anchors" in repr(score)
    many = Boxes(list("abcdefghijkl"), [], [], [], categories={1: "dog"})
    none = Detections(list("abcdefghijkl"), [], [], [], [])
    assert detection(none, many, sets({key: [] for key in many.frames})).perturbed.interval is None


def test_k_limits_the_sets_and_is_not_applied_without_offsets(e7b):
    said, truth, frames = e7b
    near = sets({"a": ["a+1", "a+2"], "b": ["b+1"]}, offsets={"a": [1, 2], "b": [1]})
    score = detection(said, truth, near, k=1)
    assert (score.k, score.worst["a"]) == (1, "a+1")
    assert score.frames_without_truth == 0  # frames beyond k are none of its business
    assert set(score.frame_ap) == {"a", "b", "a+1", "b+1"}
    assert detection(said, truth, near, k=2).worst["a"] == "a+2"
    free = detection(said, truth, frames, k=1)
    assert (free.k, free.worst["a"]) == (None, "a+2")
    assert any("k was not applied" in note for note in free.notes)


def test_frames_beyond_k_need_no_predictions(e7b):
    said, truth, _ = e7b
    near = sets({"a": ["a+1", "far"]}, offsets={"a": [1, 20]})
    assert detection(said, truth, near).worst == {"a": "a+1"}
    with pytest.raises(InputError, match=r"truth lacks 1 of 3 frames: far"):
        detection(said, truth, near, k=20)


def test_a_frame_chosen_twice_counts_twice():
    truth = Boxes.of({"a": ([1], [HERE]), "b": ([1], [HERE]), "shared": ([1, 2], [HERE, THERE])})
    said = Detections.of({"a": ([1], [HERE], [0.9]), "b": ([1], [HERE], [0.8]), "shared": ([2], [THERE], [0.7])})
    members = sets({"a": ["shared"], "b": ["shared"]}, groups={"a": "clip", "b": "clip"})
    score = detection(said, truth, members)
    assert score.worst == {"a": "shared", "b": "shared"}
    assert (score.perturbed.frames, score.perturbed.objects) == (2, 4)
    assert score.perturbed.by_category == {1: 0.0, 2: 1.0}


def test_bare_sets_are_enough(e7b):
    said, truth, frames = e7b
    bare = detection(said, truth, {"a": ["a+1", "a+2"], "b": ["b+1"]})
    assert bare.to_dict() == detection(said, truth, frames).to_dict()


def test_the_range_of_areas_chooses_the_objects(e7b):
    """Objects of 100 and 400 square pixels: of each range only its own are to be found."""
    truth = Boxes.of({"a": ([1, 1], [HERE, [0, 20, 20, 20]]), "a2": ([1], [[0, 20, 20, 20]])})
    said = Detections.of({"a": ([1, 1], [HERE, AWAY], [0.9, 0.8]), "a2": ([1], [THERE], [0.9])})
    small = detection(said, truth, {"a": ["a2"]}, area_range=(0, 200))
    assert (small.original.value, small.original.objects, small.worst) == (1.0, 1, {"a": "a"})
    assert small.frame_ap == {"a": 1.0, "a2": None}
    large = detection(said, truth, {"a": ["a2"]}, area_range=(200, 1000))
    assert (large.original.value, large.frame_ap) == (0.0, {"a": 0.0, "a2": 0.0})
    assert (small.settings["area_range"], large.to_dict()["area_range"]) == ([0.0, 200.0], [200.0, 1000.0])
    assert detection(*e7b).settings["area_range"] == "all"


def test_to_dict_is_valid_json(e7b):
    content = json.loads(json.dumps(detection(*e7b, iou=np.array([0.5, 0.75])).to_dict(), allow_nan=False))
    assert content["iou"] == [0.5, 0.75]
    assert content["original"]["interval"] is None
    assert content["drop"]["reason"] == "2 groups are too few for an interval: a bootstrap needs 10"


@pytest.mark.rival
@pytest.mark.parametrize("merge", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_equals_a_loop_of_pycocotools(seed, merge, tmp_path):
    """Each frame by itself, the least one of each set, and the chosen frames in one evaluation."""
    pytest.importorskip("pycocotools")
    truth, said = coco_oracle.random_boxes(seed, frames=24)
    frames = coco_oracle.random_sets(truth, seed)
    there = json.loads(write_coco(tmp_path / "truth.json", truth).read_text())
    seen = json.loads(write_coco_results(tmp_path / "said.json", said, truth).read_text())
    image = dict(zip(truth.frames, truth.image_ids, strict=True))
    alone = {
        key: coco_oracle.mean(coco_oracle.evaluate(there, seen, [number], merge=merge)) for key, number in image.items()
    }
    chosen = {}
    for i, anchor in enumerate(frames.anchors):
        members = [frames.frames[m] for m in frames.member[frames.start[i] : frames.start[i + 1]]]
        defined = [key for key in (anchor, *members) if alone[key] is not None]
        chosen[anchor] = min(defined, key=lambda key: round(alone[key], 9)) if defined else anchor
    score = (localisation if merge else detection)(said, truth, frames)
    assert score.worst == chosen
    for part, keys in ((score.original, frames.anchors), (score.perturbed, chosen.values())):
        expected = coco_oracle.evaluate(there, seen, [image[key] for key in keys], merge=merge)
        assert part.value == pytest.approx(coco_oracle.mean(expected), abs=1e-9)


def by_frame(truth, said):
    """The boxes of each frame, and what was said of it."""
    rows = {}
    for i, key in enumerate(truth.frames):
        here, seen = truth.frame == i, said.frame == i
        rows[key] = (
            (truth.category[here], truth.box[here]),
            (said.category[seen], said.box[seen], said.score[seen]),
        )
    return rows


def repeated(rows, keys):
    """The frames of `keys` as a data set of their own, repeats as frames of their own name."""
    names = [f"{key} ({i})" for i, key in enumerate(keys)]
    truth = Boxes.of({name: rows[key][0] for name, key in zip(names, keys, strict=True)}, categories=CATEGORIES)
    return Detections.of({name: rows[key][1] for name, key in zip(names, keys, strict=True)}), truth


@given(st.integers(0, 10_000))
def test_pooled_weights_are_repeated_frames(seed):
    """What the bootstrap weighs is what evaluating the drawn frames anew would give, brute force."""
    truth, said = coco_oracle.random_boxes(seed, crowds=False)
    # distinct scores: copies of a frame rank by frame, and ties between frames would be broken in another order
    score = np.random.default_rng(seed).permutation(len(said.score)).astype(float)
    said = Detections(said.frames, said.frame, said.category, said.box, score)
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 5, len(truth.frames))
    weights = rng.integers(0, 3, 5)
    keys = [key for key, g in zip(truth.frames, group, strict=True) for _ in range(weights[g])]
    if not keys:
        return
    members = sets(
        {key: [] for key in truth.frames}, groups={k: str(g) for k, g in zip(truth.frames, group, strict=True)}
    )
    at_group = np.array([weights[int(name)] for name in members.group_names], dtype=float)
    matches = match(said, truth, iou=0.5, max_detections=100, merge=False)
    order = rng.permutation(len(truth.frames))  # sets need not come in the order of the frames chosen for them
    pooled = _Sets(matches, order, members.group[order], "recall_points")
    found = pooled.pool.ap(pooled.weights(at_group[None]))[0]
    expected = mean_ap(*repeated(by_frame(truth, said), keys)).by_category.values()
    assert found.tolist() == pytest.approx([np.nan if v is None else v for v in expected], abs=1e-12, nan_ok=True)


def test_intervals_are_those_of_drawn_groups_evaluated_anew():
    """300 draws of groups by hand, each scored as a data set of its own, have the centre and spread of the interval."""
    truth, said = coco_oracle.random_boxes(11, frames=96, crowds=False)
    frames = coco_oracle.random_sets(truth, 11, size=2)
    clip = {anchor: str(i // 2) for i, anchor in enumerate(frames.anchors)}
    members = {a: [frames.frames[m] for m in frames.member[frames.row == i]] for i, a in enumerate(frames.anchors)}
    score = detection(said, truth, sets(members, groups=clip), confidence=0.5)
    rng = np.random.default_rng(0)
    rows, draws = by_frame(truth, said), []
    for _ in range(300):
        drawn = rng.integers(0, 24, 24).astype(str)
        anchors = [a for name in drawn for a in frames.anchors if clip[a] == name]
        worst = [score.worst[a] for a in anchors]
        draws.append([mean_ap(*repeated(rows, keys)).value for keys in (anchors, worst)])
    original, perturbed = np.array(draws).T
    for part, values in (
        (score.original, original),
        (score.perturbed, perturbed),
        (score.drop, original - perturbed),
    ):
        low, high = part.interval
        spread = values.std(ddof=1)
        # five standard errors of the 300 draws here and the 1000 there: 0.047 of a spread, 0.066 spreads of a mean
        assert (high - low) / 2 / 0.67449 == pytest.approx(spread, rel=0.24)
        assert (high + low) / 2 == pytest.approx(2 * part.value - values.mean(), abs=0.33 * spread)


def population(rng, n, *, size=3, categories=4):
    """Sets of frames with one to three objects, each found with the skill of its set."""
    keys = [f"f {i}" for i in range(n * size)]
    count = np.repeat(rng.integers(1, 4, n), size)
    frame = np.repeat(np.arange(n * size), count)
    category = rng.integers(0, categories, len(frame))
    box = np.stack([40.0 * np.arange(len(frame)), 0 * frame, 10 + 0 * frame, 10 + 0 * frame], axis=1)
    hit = rng.random(len(frame)) < np.repeat(rng.beta(6, 2, n), size)[frame]
    found = np.where(hit[:, None], box, box + np.array([0, 50, 0, 0]))
    said = Detections(keys, frame, category, found, rng.normal(hit, 0.7))
    return (
        said,
        Boxes(keys, frame, category, box),
        sets({keys[i]: keys[i + 1 : i + size] for i in range(0, len(keys), size)}),
    )


@pytest.mark.slow
def test_intervals_hold_the_value_of_a_large_population():
    """150 samples of 60 sets from 3,000: 95 % intervals are to hold the value of all in 90 % of them at least.

    Three and a half standard errors of 150 samples below 90 % are 81 %.
    """
    said, truth, members = population(np.random.default_rng(1), 3000)
    whole = detection(said, truth, members)
    rng = np.random.default_rng(6)
    held = []
    for _ in range(150):
        mask = np.zeros(members.n, dtype=bool)
        mask[rng.choice(members.n, 60, replace=False)] = True
        sample = detection(said, truth, members.subset(mask))
        held.append(
            [
                low <= of_all.value <= high
                for of_all, (low, high) in (
                    (whole.original, sample.original.interval),
                    (whole.perturbed, sample.perturbed.interval),
                    (whole.drop, sample.drop.interval),
                )
            ]
        )
    assert np.all(np.mean(held, axis=0) >= 0.81)


def test_intervals_follow_the_seed_and_the_confidence():
    truth, said = coco_oracle.random_boxes(11, frames=96)
    frames = coco_oracle.random_sets(truth, 11, size=3)
    one, same, other = (detection(said, truth, frames, seed=seed) for seed in (0, 0, 1))
    assert one.original.interval == same.original.interval != other.original.interval
    narrow = detection(said, truth, frames, confidence=0.5)
    for part in ("original", "perturbed", "drop"):
        (low, high), (inner_low, inner_high) = getattr(one, part).interval, getattr(narrow, part).interval
        assert low < inner_low < inner_high < high


@pytest.mark.parametrize(("clips", "there"), [(9, False), (10, True)])
def test_under_ten_groups_there_is_no_interval(clips, there):
    truth, said = coco_oracle.random_boxes(2, frames=120)
    frames = coco_oracle.random_sets(truth, 2, size=2)
    groups = {anchor: str(i % clips) for i, anchor in enumerate(frames.anchors)}
    members = {a: [frames.frames[m] for m in frames.member[frames.row == i]] for i, a in enumerate(frames.anchors)}
    score = detection(said, truth, sets(members, groups=groups))
    for part in (score.original, score.perturbed, score.drop):
        assert (part.interval is not None) == there
        assert part.reason == (None if there else "9 groups are too few for an interval: a bootstrap needs 10")


def test_with_few_groups_to_a_category_there_is_no_interval():
    """Twelve anchors of six categories: two groups to each."""
    keys = [f"f {i}" for i in range(12)]
    truth = Boxes(keys, np.arange(12), np.arange(12) % 6, [HERE] * 12)
    said = Detections(keys, np.arange(12), np.arange(12) % 6, [HERE] * 12, np.ones(12))
    score = detection(said, truth, sets({key: [] for key in keys}))
    assert score.original.interval is None
    assert score.drop.reason.startswith("a category has objects in 2.0 groups on average, too few for an interval")
    one = localisation(said, truth, sets({key: [] for key in keys}))
    for part in (one.original, one.perturbed, one.drop):
        assert (part.interval, part.reason) == (None, "all groups are alike: resampling them shows no spread")


def test_one_side_may_have_an_interval_alone():
    """Anchors of six categories, two groups to each; the worst frames are all of one category, half of them missed."""
    keys = [f"a {i}" for i in range(12)] + [f"b {i}" for i in range(12)]
    kinds = np.append(np.arange(12) % 6, np.zeros(12, dtype=int))
    truth = Boxes(keys, np.arange(24), kinds, [HERE] * 24)
    missed = np.arange(24) >= 12
    said = Detections(
        keys,
        np.append(np.arange(24), np.arange(12, 24)),
        np.append(kinds, np.zeros(12, dtype=int)),
        [[500, 500, 5, 5] if gone and i % 2 else HERE for i, gone in enumerate(missed)] + [[700, 700, 5, 5]] * 12,
        np.append(np.full(24, 0.5), np.full(12, 0.9)),
    )
    found = detection(said, truth, sets({f"a {i}": [f"b {i}"] for i in range(12)}))
    assert found.moved == 12
    assert (found.perturbed.reason, found.perturbed.interval is None) == (None, False)
    for part in (found.original, found.drop):
        assert part.interval is None
        assert part.reason.startswith("a category has objects in 2.0 groups on average")


def test_an_interval_stays_in_order_where_the_bias_leads_beyond_one():
    """Draws far below the value, which all but repeat each other: both ends would lie above 1."""
    assert _interval(0.99, np.array([0.94, 0.95, 0.96]), 0.0, 0.5) == (1.0, 1.0)
    low, high = _interval(0.5, np.array([0.4, 0.5, 0.6]), 0.0, 0.95)
    assert (low, high) == pytest.approx((0.5 - 0.196, 0.5 + 0.196), abs=1e-4)
    assert _interval(-0.9, np.array([-0.9, -0.5]), -1.0, 0.5)[0] == -1.0


@given(st.integers(0, 10_000))
def test_the_chosen_frame_is_the_least_of_its_set(seed):
    truth, said = coco_oracle.random_boxes(seed)
    frames = coco_oracle.random_sets(truth, seed)
    score = detection(said, truth, frames)
    by_frame = frame_ap(said, truth)
    assert score.frame_ap == by_frame
    for i, anchor in enumerate(frames.anchors):
        members = [anchor, *(frames.frames[m] for m in frames.member[frames.row == i])]
        defined = [by_frame[key] for key in members if by_frame[key] is not None]
        worst = score.worst[anchor]
        assert (anchor in score.without_truth) == (not defined)
        assert by_frame[worst] == pytest.approx(min(defined), abs=1e-12) if defined else worst == anchor


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"frames": ["a", "a+1"]}, r"frames is a list: give FrameSets\(sets, labels\)"),
        ({"frames": {"a": ["a"]}}, r"sets\['a'\] holds the anchor itself"),
        ({"area_range": "tiny"}, "area_range is 'tiny': choose one of all, small, medium, large, or give the least"),
        ({"area_range": (5, 1)}, r"area_range is \(5, 1\)"),
        ({"area_range": (1,)}, r"area_range is \(1,\)"),
        ({"area_range": (0, float("inf"))}, "area_range is"),
        ({"frames": sets({"a": ["a+1"], "c": ["c+1"]})}, r"truth lacks 2 of 4 frames: c, c\+1; list a frame without"),
        ({"predictions": Detections.of({"a": ([], [], [])})}, r"predictions lacks 4 of 5 frames: b, a\+1, a\+2, b\+1"),
        ({"predictions": Detections.of({"a": ([3], [HERE], [0.5])})}, r"category of predictions\[0\] is 3"),
        ({"k": 0}, "k is 0"),
        ({"confidence": 1.0}, "confidence is 1.0"),
        ({"iou": -0.5}, "iou has -0.5"),
        ({"average": "mean"}, "average is 'mean'"),
        ({"max_detections": 0.5}, "max_detections is 0.5"),
    ],
)
def test_refuses(e7b, change, message):
    given_ = dict(zip(("predictions", "truth", "frames"), e7b, strict=True)) | change
    for function in (detection, localisation):
        with pytest.raises(InputError, match=message):
            function(**given_)


def test_the_seed_is_checked_even_where_nothing_is_drawn():
    truth, said = Boxes.of({"a": ([2], [[0, 0, 9, 9]])}), Detections.of({"a": ([2], [[0, 0, 9, 9]], [0.5])})
    with pytest.raises(InputError, match="seed is 'x'"):
        detection(said, truth, FrameSets({"a": []}, {"a": [0]}), seed="x")
