"""PM-k: the worked examples, the slow way on random sets, k, missing predictions, intervals, what is said beside it."""

import json
import re
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import pmk
from helpers.errors import InputError
from helpers.uncertainty import Rate, clopper_pearson

from . import oracle

TOY = pmk.FrameSets(oracle.SETS, oracle.LABELS, offsets=oracle.OFFSETS)


def of_counts(original, perturbed, n):
    """A score of n anchors with one frame each, of which so many are right, and so many sets hold."""
    sets = {f"{i}a": [f"{i}b"] for i in range(n)}
    frames = pmk.FrameSets(sets, {anchor: [1] for anchor in sets}, offsets={anchor: [1] for anchor in sets})
    place = np.arange(n)
    said = np.concatenate([place < original, place < perturbed]).astype(np.int64)
    return pmk.score(said, frames)


def count(score):
    return score.original.count, score.perturbed.count, score.drop.count


# --- worked examples


def test_example_e1():
    score = pmk.score(oracle.PREDICTIONS, TOY)
    assert count(score) == (3, 2, 1)
    assert score.n == score.original.n == score.perturbed.n == score.drop.n == 4
    assert repr(score) == "Score(k=10, n=4: original 0.7500, perturbed 0.5000, drop 0.2500)"


def test_example_e2():
    score = pmk.score(oracle.PREDICTIONS, TOY, include_anchor=False)
    assert count(score) == (3, 3, 0)
    assert not score.include_anchor
    assert repr(score).endswith("drop 0.0000, anchors left out of their sets)")


def test_example_e3():
    errors = pmk.score(oracle.PREDICTIONS, TOY).by_offset
    assert {offset: (rate.count, rate.n) for offset, rate in errors.items()} == {-2: (0, 1), -1: (0, 1), 1: (1, 2)}


@pytest.mark.parametrize(
    ("x", "n", "low", "high"),
    [
        (0, 10, 0.0, 0.308497),
        (10, 10, 0.691503, 1.0),
        (749, 1109, 0.64694, 0.70290),
        (890, 2030, 0.41669, 0.46033),
    ],
)
def test_example_e10(x, n, low, high):
    assert of_counts(x, 0, n).original.interval == pytest.approx((low, high), abs=5e-6 if n > 10 else 5e-7)


def test_example_e11():
    reviewed, kept, anchors = (26029, 45631), (21070, 36827), (1109, 2030)
    assert (sum(reviewed), sum(kept), sum(anchors)) == (71660, 57897, 3139)
    assert sum(kept) + sum(anchors) == 61036
    assert anchors[0] == 5 + 694 + 410


@pytest.fixture(scope="module")
def real(shared):
    folder = shared / "data" / "ivr"
    if not folder.is_dir():
        pytest.skip("no ../shared/data/ivr beside the checkout")
    return pmk.read(folder, "imagenet-vid-robust")


@pytest.mark.data
def test_example_e12_always_bird(real):
    score = pmk.score(np.full(len(real.frames), 4), real)
    assert count(score) == (121, 121, 0)
    assert "every frame is predicted as class 4: a drop of 0 is then no merit" in score.warnings


@pytest.mark.data
def test_example_e12_oracle(real):
    truth = real.label[real.label_start[:-1]]
    assert count(pmk.score(truth, real)) == (1109, 1109, 0)
    number = np.array([int(re.search(r"(\d+)\.JPEG$", frame)[1]) for frame in real.frames])
    wrong = [next(c for c in range(30) if c not in real.labels_of(i)) for i in range(len(real.frames))]
    score = pmk.score(np.where(number % 7 == 0, wrong, truth), real)
    assert count(score) == (956, 7, 949)
    errors = {offset: (rate.count, rate.n) for offset, rate in score.by_offset.items()}
    assert (errors[-10], errors[10]) == ((128, 872), (181, 858))
    assert (errors[-7][0], errors[7][0]) == (0, 0)


# --- against the slow way


@given(st.integers(0, 2**32 - 1), st.booleans())
def test_equals_the_slow_way_for_every_k(seed, include_anchor):
    case = oracle.random_case(seed)
    frames = pmk.FrameSets(case["sets"], case["labels"], classes=4)
    scores = pmk.score(case["predictions"], frames, k=[3, 1, 4, 2], include_anchor=include_anchor)
    for score, k in zip(scores, [3, 1, 4, 2], strict=True):
        sets = oracle.within(case["sets"], case["offsets"], k)
        expected = oracle.counts(sets, case["labels"], case["predictions"], include_anchor=include_anchor)
        assert (score.k, score.original.count, score.perturbed.count) == (k, *expected)
        assert score.drop.count == expected[0] - expected[1]
        slow = oracle.by_offset(case["sets"], case["offsets"], case["labels"], case["predictions"], right_anchors=True)
        found = {offset: (rate.count, rate.n) for offset, rate in score.by_offset.items()}
        assert found == {offset: pair for offset, pair in slow.items() if abs(offset) <= k}


@given(st.integers(0, 2**32 - 1), st.booleans())
def test_many_models_at_once_equal_one_by_one(seed, include_anchor):
    case = oracle.random_case(seed)
    frames = pmk.FrameSets(case["sets"], case["labels"], classes=4)
    said = np.random.default_rng(seed).integers(4, size=(2, 3, len(frames.frames)))
    original, perturbed = pmk.counts(said, frames, k=[1, 3], include_anchor=include_anchor)
    assert original.shape == (2, 3)
    assert perturbed.shape == (2, 3, 2)
    assert np.array_equal(perturbed[..., 1], pmk.counts(said, frames, k=3, include_anchor=include_anchor)[1])
    for place in np.ndindex(2, 3):
        scores = pmk.score(said[place], frames, k=[1, 3], include_anchor=include_anchor)
        assert original[place] == scores[0].original.count
        assert perturbed[place].tolist() == [score.perturbed.count for score in scores]


def models_of(seed, empty):
    """Sets with an empty one in some place, up to three labels, and predictions of up to twenty models, some -1."""
    rng = np.random.default_rng(seed)
    case = oracle.random_case(seed, classes=5)
    anchors = [*case["sets"]]
    anchors.insert(empty, anchors.pop(0))
    case["sets"] = {anchor: case["sets"][anchor] for anchor in anchors}
    case["offsets"] = {anchor: case["offsets"][anchor] for anchor in case["sets"]}
    for labels in case["labels"].values():
        labels |= set(rng.choice(5, rng.integers(2), replace=False).tolist())
    frames = pmk.FrameSets(case["sets"], case["labels"], classes=5)
    truth = np.array([case["predictions"][frame] for frame in frames.frames])
    said = rng.integers(-1, 5, size=(rng.integers(1, 21), len(truth)))
    return case, frames, np.where(rng.random(said.shape) < 0.8, truth, said)


@given(st.integers(0, 2**32 - 1), st.sampled_from([0, 5, 11]), st.booleans())
def test_many_models_equal_the_slow_way(seed, empty, include_anchor):
    case, frames, said = models_of(seed, empty)
    original, perturbed = pmk.counts(said, frames, k=[2, 9, 1], include_anchor=include_anchor, missing="wrong")
    for model, classes in enumerate(said.tolist()):
        predictions = dict(zip(frames.frames, classes, strict=True))
        for place, k in enumerate([2, 9, 1]):
            sets = oracle.within(case["sets"], case["offsets"], k)
            expected = oracle.counts(sets, case["labels"], predictions, include_anchor=include_anchor)
            assert (original[model], perturbed[model, place]) == expected


@given(st.integers(0, 2**32 - 1), st.sampled_from([np.float16, np.float32, np.float64]))
def test_scores_are_counted_as_the_classes_that_win(seed, dtype):
    _, frames, said = models_of(seed, 0)
    rng = np.random.default_rng(seed)
    scores = rng.integers(-2, 3, size=(len(said), 2, len(frames.frames), 5)).astype(dtype)  # with many equal ones
    scores[rng.random(scores.shape) < 0.1] = -np.inf
    scores[..., 3] = 0.0  # no frame without a finite one
    classes = [[[row.index(max(row)) for row in rows] for rows in pair] for pair in scores.tolist()]
    for found, expected in zip(
        pmk.counts(scores, frames, k=[1, 3]), pmk.counts(np.array(classes), frames, k=[1, 3]), strict=True
    ):
        assert np.array_equal(found, expected)
    by_key = dict(zip(frames.frames, scores[0, 0], strict=True))
    array = pmk.score(scores[0, 0], frames)
    assert array == pmk.score(by_key, frames)
    assert (array.original.count, array.perturbed.count) == tuple(pmk.counts(by_key, frames))


def test_only_empty_sets_count_by_their_anchors():
    frames = pmk.FrameSets({"a": [], "b": []}, {"a": [0], "b": [1]})
    for include_anchor in (True, False):
        original, perturbed = pmk.counts([[0, 1], [0, 0], [1, 0]], frames, include_anchor=include_anchor)
        assert original.tolist() == perturbed.tolist() == [2, 1, 0]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.nan, r"predictions\['a-1'\] has the score nan for class 2"),
        (np.inf, r"predictions\['a-1'\] has the score inf for class 2"),
        (-np.inf, r"predictions\['a-1'\] has no finite score"),
    ],
)
@pytest.mark.parametrize("model", [0, 8, 19])
def test_scores_that_no_class_can_win_are_refused_in_any_model(value, message, model):
    scores = np.zeros((20, 9, 4), dtype=np.float32)
    scores[model, 4, :] = -np.inf
    scores[model, 4, 2] = value
    for scored in (pmk.counts, pmk.aligned):
        with pytest.raises(InputError, match=message):
            scored(scores, TOY)
    with pytest.raises(InputError, match=message):
        pmk.score(scores[model], TOY)
    with pytest.raises(InputError, match=message):
        TOY.correct(scores)


@pytest.mark.parametrize("model", [0, 7, 8, 16])
def test_a_strange_class_is_refused_in_any_model(model):
    said = np.zeros((17, 9), dtype=np.int8)
    for strange, message in ((4, "is class 4, but the classes"), (-2, "is class -2"), (-1, "has none for 1 of 9")):
        said[model, 2] = strange
        with pytest.raises(InputError, match=message):
            pmk.counts(said, TOY)


def test_scores_are_read_a_few_models_at_a_time(tmp_path):
    sets = {f"v{i}/1": [f"v{i}/2"] for i in range(1000)}
    frames = pmk.FrameSets(sets, {anchor: [0] for anchor in sets}, classes=20)
    path = tmp_path / "scores.npy"
    np.save(path, np.random.default_rng(0).normal(size=(50, 2000, 20)).astype(np.float32))
    scores = np.load(path, mmap_mode="r")
    tracemalloc.start()
    original, _ = pmk.counts(scores, frames)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert original.shape == (50,)
    assert peak < scores.nbytes / 5  # 8,192 frames as columns, with marks: a sixth of these scores, however many models


@given(st.integers(0, 2**32 - 1))
def test_a_larger_k_never_helps(seed):
    case = oracle.random_case(seed)
    frames = pmk.FrameSets(case["sets"], case["labels"], classes=4)
    held = [score.perturbed.count for score in pmk.score(case["predictions"], frames, k=[1, 2, 3, 4])]
    assert held == sorted(held, reverse=True)
    assert held[0] <= pmk.score(case["predictions"], frames).original.count


# --- k


def test_without_offsets_k_is_not_applied_and_the_result_says_so():
    frames = pmk.FrameSets({"a": ["far", "near"]}, {"a": [0]}, classes=2)
    score = pmk.score({"a": 0, "near": 0, "far": 1}, frames, k=1)
    assert (score.k, count(score), score.by_offset) == (None, (1, 0, 1), {})
    assert repr(score).startswith("Score(all frames, n=1")
    assert "no offsets are known: k is not applied" in score.warnings


def test_frames_beyond_k_are_counted_and_do_not_matter():
    frames = pmk.FrameSets({"v/5": ["v/6", "v/8"], "w/1": ["w/9"]}, {"v/5": [0], "w/1": [0]}, classes=2)
    said = {"v/5": 0, "v/6": 0, "v/8": 1, "w/1": 0, "w/9": 1}
    near, exact, far = pmk.score(said, frames, k=[2, 3, 20])
    assert [score.perturbed.count for score in (near, exact, far)] == [2, 1, 0]
    assert near.warnings[-2:] == (
        "2 of 3 frames lie beyond k = 2 and do not count",
        "1 set has no frame within k = 2: w/1",
    )
    assert far.warnings[-1] == "no frame is further than 8 frames from its anchor, k is 20"
    assert pmk.score(said, frames, k=8).warnings == frames.warnings


def test_a_set_without_a_near_frame_counts_by_its_anchor_when_anchors_are_left_out():
    frames = pmk.FrameSets({"v/5": ["v/9"], "w/5": ["w/9"]}, {"v/5": [0], "w/5": [0]}, classes=2)
    said = {"v/5": 0, "v/9": 1, "w/5": 1, "w/9": 0}
    near, far = pmk.score(said, frames, k=[3, 4], include_anchor=False)
    assert (near.perturbed.count, far.perturbed.count) == (1, 1)
    assert near.drop.count == 0
    assert pmk.score({**said, "v/9": 0}, frames, k=4, include_anchor=False).drop.count == -1


@pytest.mark.parametrize("k", [0, -1, 2.0, True, None, "10", [], [1, 0]])
def test_bad_k(k):
    with pytest.raises(InputError, match=r"k(\[1\])? is "):
        pmk.score(oracle.PREDICTIONS, TOY, k=k)
    with pytest.raises(InputError, match=r"k(\[1\])? is "):
        pmk.counts(oracle.PREDICTIONS, TOY, k=k)


# --- missing predictions


def without(*keys):
    return {frame: c for frame, c in oracle.PREDICTIONS.items() if frame not in keys}


def test_missing_frames_are_refused_counted_wrong_or_left_out():
    with pytest.raises(InputError, match="predictions has none for 1 of 9 frames: a-1"):
        pmk.score(without("a-1"), TOY)
    wrong = pmk.score(without("a-1"), TOY, missing="wrong")
    assert (count(wrong), wrong.n, wrong.missing) == ((3, 1, 2), 4, "wrong")
    assert "1 of 9 frames have no prediction and are counted as wrong: a-1" in wrong.warnings
    left = pmk.score(without("a-1"), TOY, missing="skip")
    assert (count(left), left.n) == ((3, 2, 1), 4)
    assert "1 of 9 frames have no prediction and are left out: a-1" in left.warnings
    assert -1 not in left.by_offset
    assert left.by_offset[1] == pmk.score(oracle.PREDICTIONS, TOY).by_offset[1]


def test_a_missing_anchor_is_wrong_or_takes_its_set_along():
    wrong = pmk.score(without("b"), TOY, missing="wrong")
    assert (count(wrong), wrong.n) == ((2, 2, 0), 4)
    left = pmk.score(without("b"), TOY, missing="skip")
    assert (count(left), left.n) == ((2, 2, 0), 3)


def test_a_missing_frame_does_not_hide_a_wrong_one():
    left = pmk.score(without("b-2"), TOY, missing="skip")
    assert count(left) == (3, 2, 1)


def test_nothing_left_is_refused():
    with pytest.raises(InputError, match="none for any anchor"):
        pmk.score({"a-1": 0}, TOY, missing="skip")
    with pytest.raises(InputError, match="none for any anchor"):
        pmk.score(np.full(9, -1), TOY, missing="skip")


def test_many_models_cannot_skip():
    with pytest.raises(InputError, match="missing is 'skip'"):
        pmk.counts(oracle.PREDICTIONS, TOY, missing="skip")
    with pytest.raises(InputError, match="missing is 'drop': choose one of error, wrong, skip"):
        pmk.counts(np.zeros((9, 4)), TOY, missing="drop")
    assert pmk.counts(without("a-1"), TOY, missing="wrong")[1] == 1


def test_predictions_for_other_frames_and_ties_are_named():
    scores = {frame: np.eye(4)[c] for frame, c in oracle.PREDICTIONS.items()}
    scores |= {"d": [0.0, 1.0, 1.0, 0.0], "z": [1.0, 0.0, 0.0, 0.0]}
    score = pmk.score(scores, TOY)
    assert count(score) == (3, 2, 1)
    assert "equal top scores in 1 of 10 frames: the first class counts" in score.warnings
    assert "1 of 10 predictions are for frames in no set: z" in score.warnings
    rows = np.array([scores[frame] for frame in TOY.frames])
    assert "equal top scores in 1 of 9 frames: the first class counts" in pmk.score(rows, TOY).warnings


def test_one_model_at_a_time():
    with pytest.raises(InputError, match="one model at a time"):
        pmk.score(np.zeros((2, 9), dtype=int), TOY)


# --- what is said beside it


def test_a_constant_predictor_has_no_drop_and_its_accuracy_stands_beside_it():
    score = pmk.score(dict.fromkeys(oracle.PREDICTIONS, 0), TOY)
    assert score.drop.count == 0
    assert "original 0.5000, perturbed 0.5000, drop 0.0000" in repr(score)
    assert "every frame is predicted as class 0: a drop of 0 is then no merit" in score.warnings
    assert not any("no merit" in text for text in pmk.score(oracle.PREDICTIONS, TOY).warnings)


@pytest.mark.parametrize(
    ("reachable", "expected"), [([0, 1, 2, 3], 4), ([0], 2), ([2], 1), ([1, 2], 1), ([3, 0], 3), ([17], 0)]
)
def test_reachable_anchors(reachable, expected):
    frames = pmk.FrameSets(oracle.SETS, {**oracle.LABELS, "a-1": [0], "b+1": [17]}, classes=18)
    score = pmk.score(oracle.PREDICTIONS, frames, reachable=reachable)
    assert (score.reachable, score.n) == (expected, 4)


def test_reachable_needs_a_class():
    assert pmk.score(oracle.PREDICTIONS, TOY).reachable is None
    with pytest.raises(InputError, match="reachable is empty"):
        pmk.score(oracle.PREDICTIONS, TOY, reachable=[])
    with pytest.raises(InputError, match="reachable has -1"):
        pmk.score(oracle.PREDICTIONS, TOY, reachable=[-1])


def test_the_result_is_valid_json():
    score = pmk.score(oracle.PREDICTIONS, TOY, reachable=[0])
    content = json.loads(json.dumps(score.to_dict(), allow_nan=False))
    assert content["drop"] == json.loads(json.dumps(score.drop.to_dict()))
    assert [entry["offset"] for entry in content["by_offset"]] == [-2, -1, 1]
    assert content["by_offset"][2]["count"] == 1
    assert (content["k"], content["n"], content["reachable"], content["missing"]) == (10, 4, 2, "error")


# --- intervals


def clips(sizes, seed, *, spread=True):
    """Sets of one frame in clips of these sizes, and predictions that fail clip by clip, or at random."""
    rng = np.random.default_rng(seed)
    anchors = [f"c{clip}/{100 * i}.jpg" for clip, size in enumerate(sizes) for i in range(1, size + 1)]
    clip = [anchor.split("/")[0] for anchor in anchors]
    sets = {anchor: [anchor.replace("00.jpg", "01.jpg")] for anchor in anchors}
    groups = dict(zip(anchors, clip, strict=True))
    frames = pmk.FrameSets(sets, {anchor: [1] for anchor in anchors}, groups=groups)
    luck = rng.random(len(sizes)) if spread else np.full(len(sizes), 0.5)
    chance = luck[frames.group]
    said = (rng.random((2, frames.n)) < chance).astype(np.int64)
    said[1] &= said[0]
    return frames, said.ravel()


@pytest.mark.parametrize("groups", [None, {"a": "w", "b": "x", "c": "y", "d": "z"}])
def test_one_anchor_per_group_is_exact(groups):
    frames = pmk.FrameSets(oracle.SETS, oracle.LABELS, offsets=oracle.OFFSETS, groups=groups)
    score = pmk.score(oracle.PREDICTIONS, frames, confidence=0.9)
    assert score.method == "Clopper-Pearson, one anchor per group"
    for rate, x in ((score.original, 3), (score.perturbed, 2), (score.drop, 1)):
        assert rate == Rate.of(x, 4, confidence=0.9)
        assert rate.interval == clopper_pearson(x, 4, confidence=0.9)
    assert score.by_offset[1].interval == clopper_pearson(1, 2, confidence=0.9)


def test_several_anchors_per_group_are_resampled_as_groups():
    frames, said = clips([20] * 30, seed=1)
    score = pmk.score(said, frames)
    assert score.method == "bootstrap over 30 groups"
    for rate in (score.original, score.perturbed, score.drop, score.by_offset[1]):
        assert rate.interval is not None
        assert rate.interval[0] < rate.rate < rate.interval[1]
        assert rate.reason is None
    # Clips fail together, so that an interval that takes their 600 anchors for independent is far too short.
    exact = clopper_pearson(score.original.count, 600)
    assert np.ptp(score.original.interval) > 2 * np.ptp(exact)
    # The standard error of a mean over 30 clips; a percentile bootstrap knows it to some tenths.
    per_clip = (said[:600] == 1).reshape(30, 20).mean(axis=1)
    assert np.ptp(score.original.interval) == pytest.approx(2 * 1.96 * per_clip.std() / np.sqrt(30), rel=0.15)
    assert pmk.score(said, frames) == score
    assert pmk.score(said, frames, seed=1).original.interval != score.original.interval
    assert np.ptp(pmk.score(said, frames, confidence=0.8).drop.interval) < np.ptp(score.drop.interval)


def test_clips_weigh_by_their_anchors():
    frames, said = clips([1] * 15 + [40] * 15, seed=2)
    score = pmk.score(said, frames)
    assert score.original.rate == score.original.count / 615
    low, high = score.original.interval
    assert low < score.original.rate < high


def test_the_interval_of_the_drop_is_its_own():
    """Coverage of the group bootstrap, 200 runs at 95 %: at least 0.88 (it falls short by some points with 20 groups;
    below 0.88 lies 4 standard errors of 0.015 under 0.94)."""
    truth, held = 0.5 - 1 / 3, 0  # with a chance c that is uniform: c of the anchors are right, c squared of the sets
    for seed in range(200):
        frames, said = clips([4] * 20, seed=seed)
        score = pmk.score(said, frames)
        held += score.drop.interval[0] <= truth <= score.drop.interval[1]
    assert 0.88 <= held / 200 <= 0.995


def test_under_ten_groups_there_is_no_interval():
    frames, said = clips([5] * 9, seed=3)
    score = pmk.score(said, frames)
    for rate in (score.original, score.perturbed, score.drop):
        assert rate.rate is not None
        assert rate.interval is None
        assert rate.reason == "9 groups are too few to resample: 10 are needed"
    frames, said = clips([5] * 10, seed=3)
    assert pmk.score(said, frames).original.interval is not None


def test_groups_that_are_all_alike_show_no_spread():
    frames, said = clips([2] * 12, seed=0)
    score = pmk.score(np.ones_like(said), frames)
    assert score.original.rate == 1.0
    assert score.original.interval is None
    assert score.original.reason == "all groups are alike: resampling them shows no spread"


def test_a_drop_that_can_be_negative_is_resampled():
    sets = {f"v{i}/1": [f"v{i}/2"] for i in range(40)}
    frames = pmk.FrameSets(sets, {anchor: [1] for anchor in sets})
    said = np.random.default_rng(4).integers(2, size=80)
    score = pmk.score(said, frames, include_anchor=False)
    assert score.original.interval == clopper_pearson(score.original.count, 40)
    assert score.perturbed.interval == clopper_pearson(score.perturbed.count, 40)
    assert score.drop.count == int(said[:40].sum() - said[40:].sum())
    low, high = score.drop.interval
    assert low < 0 < high
    assert score.method.endswith("; of the drop, which can be negative, bootstrap over anchors")
    few = pmk.score(oracle.PREDICTIONS, TOY, include_anchor=False)
    assert few.original.interval is not None
    assert few.drop.interval is None
    assert "4 groups are too few" in few.drop.reason


def test_no_right_anchor_leaves_errors_by_offset_undefined():
    score = pmk.score(dict.fromkeys(oracle.PREDICTIONS, 3) | {"c": 0}, TOY)
    assert score.original.count == 0
    assert score.by_offset[1] == Rate(0, 0, None, None, "no rows to count")
    frames, said = clips([2] * 12, seed=0)
    assert pmk.score(np.zeros_like(said), frames).by_offset[1].reason == "no rows to count"


@pytest.mark.parametrize("confidence", [0, 1, 95])
def test_bad_confidence(confidence):
    with pytest.raises(InputError, match="confidence is"):
        pmk.score(oracle.PREDICTIONS, TOY, confidence=confidence)


@pytest.mark.parametrize("k", [2, 10, 2**31 - 1, 2**31, 10**30])
def test_a_k_beyond_every_frame_changes_nothing(k):
    score = pmk.score(oracle.PREDICTIONS, TOY, k=k)
    assert (score.original.count, score.perturbed.count) == (3, 2)
    alone = pmk.score(oracle.PREDICTIONS, TOY, k=k, include_anchor=False)
    assert alone.perturbed.count == 3  # the empty set still counts by its anchor


@pytest.mark.parametrize("reachable", [3, "01", [4], [10**30], [True]])
def test_reachable_classes_are_those_of_the_sets(reachable):
    with pytest.raises(InputError, match=r"reachable (is|has)"):
        pmk.score(oracle.PREDICTIONS, TOY, reachable=reachable)


@pytest.mark.parametrize("seed", [-1, "x", None])
def test_the_seed_is_checked_even_where_nothing_is_drawn(seed):
    with pytest.raises(InputError, match="seed is"):
        pmk.score(oracle.PREDICTIONS, TOY, seed=seed)


@pytest.mark.parametrize("scored", [pmk.score, pmk.counts, pmk.neighbour_averages, pmk.offset_errors])
def test_a_mapping_is_no_frame_sets(scored):
    with pytest.raises(InputError, match="frames is a dict: give FrameSets"):
        scored(oracle.PREDICTIONS, oracle.SETS)


@pytest.mark.parametrize("function", [pmk.score, pmk.counts])
def test_a_text_is_no_switch(function):
    frames = pmk.FrameSets({"a": ["a2"]}, {"a": [0]})
    with pytest.raises(InputError, match="include_anchor is 'no': give True or False"):
        function({"a": 0, "a2": 0}, frames, include_anchor="no")
