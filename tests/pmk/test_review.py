"""What review changes: the same predictions on candidates and on what reviewers kept."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.errors import InputError
from helpers.pmk.record import FrameSets, Predictions
from helpers.pmk.review import accepted, review_effect
from helpers.pmk.score import score
from helpers.uncertainty import bootstrap_weights

from . import oracle

LABELS = {"a": [0], "b": [1, 2], "d": [0]}
SETS = {"a": ["a-1", "a+1"], "b": ["b-2", "b+1"], "d": ["d+1"]}
PREDICTIONS = {key: value for key, value in oracle.PREDICTIONS.items() if key != "c"}
REVIEW = {
    ("a", "a-1"): "similar",
    ("a", "a+1"): "similar",
    ("b", "b-2"): "similar",
    ("b", "b+1"): "blur-increase",
    ("d", "d+1"): "similar",
}


@pytest.fixture
def candidates():
    return FrameSets(SETS, LABELS, review=REVIEW, classes=4)


def test_worked_example_e6(candidates):
    """Review takes out anchor d and the dissimilar b+1: (2, 1 of 3) becomes (2, 2 of 2)."""
    reviewed = accepted(candidates).subset([True, True, False])
    found = review_effect(PREDICTIONS, candidates, reviewed)
    assert [(s.original.count, s.perturbed.count, s.n) for s in (found.before, found.after)] == [(2, 1, 3), (2, 2, 2)]
    assert (found.pairs_before, found.pairs_after) == (5, 3)
    assert found.original_change.value == pytest.approx(1 - 2 / 3)
    assert found.perturbed_change.value == pytest.approx(1 - 1 / 3)
    assert found.drop_change.value == pytest.approx(0 - 1 / 3)
    assert found.drop_change.reason == "10 groups are needed to resample"


def test_accepted_frames(candidates):
    assert accepted(candidates).frames == ("a", "b", "d", "a-1", "a+1", "b-2", "d+1")
    both = accepted(candidates, ("similar", "blur-increase"))
    assert both.frames == candidates.frames
    with pytest.raises(
        InputError, match="accept has 'good', which nobody decided: the decisions are blur-increase, similar"
    ):
        accepted(candidates, ("similar", "good"))
    with pytest.raises(InputError, match="frames has no review decisions"):
        accepted(FrameSets(SETS, LABELS))


def test_labels_of_review_count_after_it(candidates):
    corrected = FrameSets(SETS, {**LABELS, "d": [0, 1]}, classes=4)
    found = review_effect(PREDICTIONS, candidates, corrected)
    assert (found.before.original.count, found.after.original.count) == (2, 3)
    assert found.original_change.value == pytest.approx(1 / 3)


@given(st.integers(0, 10_000))
def test_changes_are_those_of_the_scores(seed):
    case = oracle.random_case(seed, anchors=14)
    frames = FrameSets(case["sets"], case["labels"], offsets=case["offsets"], classes=4)
    rng = np.random.default_rng(seed)
    keep = rng.random(14) < 0.8
    keep[0] = True
    kept = frames.subset(keep, rng.random(frames.pairs) < 0.7)
    found = review_effect(case["predictions"], frames, kept, k=3)
    before, after = (score(case["predictions"], sets, k=3) for sets in (frames, kept))
    assert (found.before, found.after) == (before, after)
    for name in ("original", "perturbed", "drop"):
        change = getattr(found, f"{name}_change").value
        assert change == pytest.approx(getattr(after, name).rate - getattr(before, name).rate, abs=1e-12)


def many(lost, reviewed_out, groups=None):
    """200 sets of one frame each; the frames of some are wrong, and review takes some out."""
    sets = {f"v{i}/1": [f"v{i}/2"] for i in range(200)}
    frames = FrameSets(sets, {anchor: [0] for anchor in sets}, classes=2, groups=groups and groups(sets))
    predictions = dict.fromkeys(sets, 0) | {f"v{i}/2": int(i < lost) for i in range(200)}
    return predictions, frames, frames.subset(None, np.arange(200) >= reviewed_out)


def test_interval_of_the_change_is_paired():
    """Of 60 lost sets review saves 20: the change is a tenth of 200 coins, whatever the other 40 do."""
    found = review_effect(*many(60, 20))
    low, high = found.drop_change.interval
    sd = np.sqrt(0.1 * 0.9 / 200)
    assert found.drop_change.value == pytest.approx(-0.1)
    assert high - low == pytest.approx(2 * 1.96 * sd, rel=0.12)
    assert found.original_change.interval is None  # nothing changed in any resample
    assert "alike" in found.original_change.reason


def test_an_anchor_keeps_its_place_in_the_resamples():
    """Against the resamples one by one, the first 50 anchors being taken out by review."""
    predictions, frames, kept = many(60, 20)
    reviewed = kept.subset(np.arange(200) >= 50)
    found = review_effect(predictions, frames, reviewed)
    lost_before, lost_after, left = np.arange(200) < 60, np.arange(200) < 60, np.arange(200) >= 50
    weights = np.concatenate(list(bootstrap_weights(200, 2000, np.random.default_rng(0))))
    replicates = weights @ (lost_after & left) / (weights @ left) - weights @ lost_before / 200
    assert found.drop_change.value == pytest.approx(10 / 150 - 60 / 200)
    assert found.drop_change.interval == pytest.approx(np.quantile(replicates, [0.025, 0.975]), abs=1e-12)


def test_groups_are_resampled_together():
    found = review_effect(*many(60, 20, lambda sets: {a: str(int(a[1:-2]) // 10) for a in sets}))
    assert found.drop_change.n == 20
    low, high = found.drop_change.interval
    assert high - low > 2 * 1.5 * np.sqrt(0.1 * 0.9 / 20)  # two of twenty groups, not twenty of 200 anchors


def test_refusals(candidates):
    with pytest.raises(InputError, match="reviewed has 1 anchors or frames that were no candidates: x"):
        review_effect(PREDICTIONS, candidates, FrameSets({**SETS, "x": []}, {**LABELS, "x": [0]}))
    with pytest.raises(InputError, match=r"no candidates: \('a', 'a\+2'\)"):
        review_effect(PREDICTIONS, candidates, FrameSets({"a": ["a+2"]}, {"a": [0]}))
    with pytest.raises(InputError, match=r"predictions has shape \(7,\)"):
        review_effect([0] * 7, candidates, candidates)
    with pytest.raises(InputError, match="none for 1 of 8"):
        review_effect({k: v for k, v in PREDICTIONS.items() if k != "b+1"}, candidates, candidates)


def test_many_models_are_each_model():
    case = oracle.random_case(3, anchors=14)
    groups = {anchor: str(i // 2) for i, anchor in enumerate(case["sets"])}
    frames = FrameSets(case["sets"], case["labels"], offsets=case["offsets"], groups=groups, classes=4)
    rng = np.random.default_rng(3)
    kept = frames.subset(rng.random(14) < 0.9, rng.random(frames.pairs) < 0.6)
    models = rng.integers(0, 3, size=(2, 2, len(frames.frames)))
    models[1] = np.where(rng.random(models[1].shape) < 0.8, [frames.labels_of(0)[0]], models[1])
    found = review_effect(models, frames, kept, k=2)
    assert repr(found) == f"ReviewEffect(models (2, 2), 14 anchors before, {kept.n} after)"
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["after"]["n"] == kept.n
    for place in np.ndindex(2, 2):
        by_key = dict(zip(frames.frames, models[place].tolist(), strict=True))
        alone = review_effect(by_key, frames, kept, k=2)
        for side in ("before", "after"):
            many, one = getattr(found, side), getattr(alone, side)
            assert (many.n, many.original[place], many.perturbed[place], many.drop[place]) == (
                one.n,
                one.original.count,
                one.perturbed.count,
                one.drop.count,
            )
        for name in ("original_change", "perturbed_change", "drop_change"):
            assert getattr(found, name).value[place] == pytest.approx(getattr(alone, name).value, abs=1e-12)
        in_order = review_effect(models[place], frames, kept, k=2)
        assert (in_order.before, in_order.after.drop) == (score(models[place], frames, k=2), alone.after.drop)
    with pytest.raises(InputError, match="missing is 'skip'"):
        review_effect(models, frames, kept, missing="skip")


def test_intervals_of_many_models_are_those_of_each():
    predictions, frames, kept = many(60, 20)
    other = many(100, 50)[0]
    models = np.array([[said[key] for key in frames.frames] for said in (predictions, other)])
    found = review_effect(models, frames, kept).drop_change
    for i, said in enumerate((predictions, other)):
        alone = review_effect(said, frames, kept).drop_change
        assert (found.interval[0][i], found.interval[1][i]) == pytest.approx(alone.interval, abs=1e-12)


def test_missing_predictions_are_treated_alike(candidates):
    absent = {k: v for k, v in PREDICTIONS.items() if k not in ("b+1", "d")}
    for missing in ("wrong", "skip"):
        found = review_effect(absent, candidates, candidates, missing=missing)
        assert found.before == found.after == score(absent, candidates, missing=missing)
        assert found.drop_change.value == 0.0


def test_records_json_and_repr(candidates):
    found = review_effect(Predictions.of(PREDICTIONS), candidates, accepted(candidates))
    assert repr(found) == "ReviewEffect(drop 0.3333 of 3 anchors before, 0.0000 of 3 after)"
    content = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert content["pairs_after"] == 4 and content["before"]["n"] == 3


@pytest.mark.parametrize("accept", ["similar", 3, None])
def test_accepted_decisions_are_a_list(accept):
    frames = FrameSets({"a": ["b"]}, {"a": [0]}, review={("a", "b"): "similar"})
    with pytest.raises(InputError, match="accept is"):
        accepted(frames, accept)


def test_a_mapping_is_no_frame_sets():
    frames = FrameSets(SETS, LABELS)
    with pytest.raises(InputError, match="reviewed is a dict"):
        review_effect(PREDICTIONS, frames, SETS)
    with pytest.raises(InputError, match="frames is a dict"):
        accepted(SETS)


def test_groups_of_both_sides_must_agree():
    groups = {"a": "film", "b": "film", "d": "other"}
    grouped, plain = FrameSets(SETS, LABELS, groups=groups, classes=5), FrameSets(SETS, LABELS, classes=5)
    regrouped = FrameSets(SETS, LABELS, groups={**groups, "d": "third"}, classes=5)
    for candidates, reviewed, anchor in ((grouped, plain, "a"), (plain, grouped, "a"), (grouped, regrouped, "d")):
        with pytest.raises(InputError, match=f"anchor '{anchor}' has the group .* in reviewed and .* in candidates"):
            review_effect(PREDICTIONS, candidates, reviewed)
    fewer = grouped.subset([True, False, True])
    assert review_effect(PREDICTIONS, grouped, fewer).after.n == 2
