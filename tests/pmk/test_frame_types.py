"""Frame-type ablation: anchors and similar frames of a type leave together."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.errors import InputError
from helpers.pmk.frame_types import frame_type_ablation, without_types
from helpers.pmk.record import FrameSets
from helpers.pmk.score import counts, score

from . import oracle


@pytest.fixture
def toy():
    return FrameSets(oracle.SETS, oracle.LABELS, offsets=oracle.OFFSETS, frame_types=oracle.TYPES)


def triple(row):
    return row.score.n, row.score.original.count, row.score.perturbed.count


def test_worked_example_e4(toy):
    rows = frame_type_ablation(oracle.PREDICTIONS, toy)
    assert [row.without for row in rows] == [None, "I", "P", "B"]
    assert [triple(row) for row in rows] == [(4, 3, 2), (3, 2, 1), (2, 2, 2), (3, 2, 2)]
    assert [(row.anchors, row.pairs) for row in rows] == [(0, 0), (1, 1), (2, 2), (1, 2)]


@given(st.integers(0, 10_000), st.sampled_from([1, 2, 10]))
def test_equals_the_loop(seed, k):
    case = oracle.random_case(seed, anchors=8)
    frames = FrameSets(case["sets"], case["labels"], offsets=case["offsets"], frame_types=case["types"], classes=4)
    near = oracle.within(case["sets"], case["offsets"], k)
    for row in frame_type_ablation(case["predictions"], frames, k=k):
        kept = oracle.without_type(near, case["types"], row.without)
        assert len(kept) == len(near) - row.anchors
        if row.score is None:
            assert not kept
            continue
        assert triple(row) == (len(kept), *oracle.counts(kept, case["labels"], case["predictions"]))


def test_dropped_anchors_add_up_where_all_types_are_known(toy):
    rows = frame_type_ablation(oracle.PREDICTIONS, toy)[1:]
    assert sum(row.anchors for row in rows) == toy.n


def test_unknown_types_stay_and_are_counted(toy):
    types = {**oracle.TYPES, "c": "?", "b+1": "?"}
    frames = FrameSets(oracle.SETS, oracle.LABELS, offsets=oracle.OFFSETS, frame_types=types)
    rows = {row.without: row for row in frame_type_ablation(oracle.PREDICTIONS, frames)}
    assert set(rows) == {None, "I", "P", "B"}
    assert [rows[kind].unknown for kind in (None, "I", "P", "B")] == [2, 2, 2, 1]
    assert triple(rows["I"]) == (4, 3, 2)  # c is no longer known to be an I frame
    assert triple(rows["P"]) == (2, 2, 1)  # b+1 stays, and is wrong


def test_all_anchors_of_one_type():
    types = {"v/1": "I", "v/2": "P"}
    frames = FrameSets({"v/1": ["v/2"]}, {"v/1": [0]}, frame_types=types)
    rows = frame_type_ablation({"v/1": 0, "v/2": 0}, frames)
    assert [row.without for row in rows] == [None, "I", "P"]
    assert (rows[1].score, rows[1].reason) == (None, "all 1 anchors are of type I")
    assert triple(rows[2]) == (1, 1, 1)


def test_missing_predictions(toy):
    absent = {key: value for key, value in oracle.PREDICTIONS.items() if key not in ("a", "b+1")}
    with pytest.raises(InputError, match="none for 2 of 9"):
        frame_type_ablation(absent, toy)
    skipped = {row.without: row for row in frame_type_ablation(absent, toy, missing="skip")}
    assert triple(skipped[None]) == (3, 2, 2)
    assert triple(skipped["P"]) == (2, 2, 2)
    wrong = {row.without: row for row in frame_type_ablation(absent, toy, missing="wrong")}
    assert triple(wrong[None]) == (4, 2, 1)
    only = {"a": 0, "a-1": 0, "a+1": 0, "d": 0, "d+1": 0}  # what is left without P has no prediction
    row = frame_type_ablation(only, toy, missing="skip")[2]
    assert (row.without, row.score, row.reason) == ("P", None, "no anchor that is left has a prediction")


def test_many_models_are_each_model(toy):
    models = np.random.default_rng(0).integers(0, 4, size=(2, 3, len(toy.frames)))
    rows = frame_type_ablation(models, toy, k=1)
    for place in np.ndindex(2, 3):
        for row, alone in zip(rows, frame_type_ablation(models[place], toy, k=1), strict=True):
            assert (row.without, row.anchors, row.pairs) == (alone.without, alone.anchors, alone.pairs)
            found = (row.score.n, row.score.original[place], row.score.perturbed[place], row.score.drop[place])
            assert found == (*triple(alone), alone.score.drop.count)
            assert row.score.k == alone.score.k == 1
    assert repr(rows[0].score) == "Tally(models (2, 3), n=4)"
    assert json.loads(json.dumps(rows[1].to_dict()))["score"]["original"] == rows[1].score.original.tolist()
    with pytest.raises(InputError, match="missing is 'skip'"):
        frame_type_ablation(models, toy, missing="skip")


def test_sets_without_a_type_go_with_any_function(toy):
    models = np.random.default_rng(1).integers(0, 4, size=(5, len(toy.frames)))
    rows = {row.without: row for row in frame_type_ablation(models, toy)}
    for kind, sets, places in without_types(toy):
        original, perturbed = counts(models[:, places], sets)
        assert (rows[kind].score.original.tolist(), rows[kind].score.n) == (original.tolist(), sets.n)
        assert rows[kind].score.perturbed.tolist() == perturbed.tolist()


def test_refusals(toy):
    plain = FrameSets(oracle.SETS, oracle.LABELS)
    with pytest.raises(InputError, match="frames has no frame types"):
        frame_type_ablation(oracle.PREDICTIONS, plain)
    with pytest.raises(InputError, match="frames has no frame types"):
        list(without_types(plain))
    with pytest.raises(InputError, match=r"predictions has shape \(2, 8\)"):
        frame_type_ablation([[0] * 8] * 2, toy)


def test_options_reach_the_score_and_json(toy):
    row = frame_type_ablation(oracle.PREDICTIONS, toy, k=1, confidence=0.8)[0]
    assert row.score == score([oracle.PREDICTIONS[f] for f in toy.frames], toy, k=1, confidence=0.8)
    content = json.loads(json.dumps([row.to_dict() for row in frame_type_ablation(oracle.PREDICTIONS, toy)]))
    assert content[1]["without"] == "I" and content[1]["score"]["n"] == 3


def test_one_k_and_frame_sets_are_needed():
    frames = FrameSets({"a": ["b"]}, {"a": [0]}, frame_types={"a": "I", "b": "P"})
    with pytest.raises(InputError, match="k is"):
        frame_type_ablation({"a": 0, "b": 0}, frames, k=[1, 2])
    with pytest.raises(InputError, match="frames is a dict"):
        list(without_types({"a": ["b"]}))
