"""Sets of whole clips: anchors in the middle, frames within k, one clip one group."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.errors import InputError
from helpers.pmk.clips import sets_of_clips
from helpers.pmk.score import score


def clips_of(*lengths):
    return {f"clip {c}": [f"{c} {i}" for i in range(n)] for c, n in enumerate(lengths)}


def set_of(frames, anchor):
    row = frames.anchors.index(anchor)
    span = slice(frames.start[row], frames.start[row + 1])
    return [frames.frames[i] for i in frames.member[span]], frames.offset[span].tolist()


def test_the_middle_frame_is_the_anchor():
    frames = sets_of_clips(clips_of(5, 4, 1), {"clip 0": 0, "clip 1": [1, 2], "clip 2": 1}, k=2, classes=4)
    assert frames.anchors == ("0 2", "1 2", "2 0")
    assert set_of(frames, "0 2") == (["0 0", "0 1", "0 3", "0 4"], [-2, -1, 1, 2])
    assert set_of(frames, "1 2") == (["1 0", "1 1", "1 3"], [-2, -1, 1])
    assert set_of(frames, "2 0") == ([], [])
    assert [frames.labels_of(i) for i in range(3)] == [(0,), (1, 2), (1,)]
    assert (frames.classes, frames.group_names) == (4, ("clip 0", "clip 1", "clip 2"))


@given(st.lists(st.integers(1, 9), min_size=1, max_size=4), st.integers(1, 4), st.integers(1, 9))
def test_every_stretch_has_its_anchor(lengths, k, every):
    clips = clips_of(*lengths)
    frames = sets_of_clips(clips, dict.fromkeys(clips, 0), k=k, every=every)
    expected = {}
    for clip, keys in clips.items():
        for begin in range(0, len(keys), every):
            stretch = keys[begin : begin + every]
            middle = keys.index(stretch[len(stretch) // 2])
            near = [(key, i - middle) for i, key in enumerate(keys) if 0 < abs(i - middle) <= k]
            expected[keys[middle]] = ([key for key, _ in near], [offset for _, offset in near], clip)
    assert list(frames.anchors) == list(expected)
    for row, (anchor, (members, offsets, clip)) in enumerate(expected.items()):
        assert set_of(frames, anchor) == (members, offsets)
        assert frames.group_names[frames.group[row]] == clip


def test_one_anchor_a_clip_has_exact_intervals_and_several_have_not():
    clips = clips_of(*[9] * 12)
    labels = dict.fromkeys(clips, 1)
    said = {key: np.int64(1) for keys in clips.values() for key in keys}
    assert score(said, sets_of_clips(clips, labels)).method.startswith("Clopper-Pearson")
    frames = sets_of_clips(clips, labels, k=1, every=3)
    assert (frames.n, score(said, frames, k=1).method) == (36, "bootstrap over 12 groups")


@pytest.mark.parametrize(
    ("clips", "labels", "options", "message"),
    [
        ({}, {}, {}, r"clips is \{\}: give a mapping of at least one clip"),
        ([["a"]], {"a": 0}, {}, "clips is"),
        ({"a": ["x"]}, [0], {}, r"labels is \[0\]"),
        ({"a": ["x"], "b": ["y"]}, {"a": 0, "c": 1}, {}, "clips and labels differ in 2 clips: b, c"),
        ({"a": []}, {"a": 0}, {}, r"clips\['a'\] is \[\]: give a list of at least one frame key"),
        ({"a": "xyz"}, {"a": 0}, {}, r"clips\['a'\] is 'xyz'"),
        ({"a": ["x", "y", "x"]}, {"a": 0}, {}, r"clips\['a'\] holds a frame twice"),
        ({"a": ["x"], "b": ["x"]}, {"a": 0, "b": 1}, {}, r"clips\['b'\] holds 'x', which clips\['a'\] has too"),
        ({"a": ["x", "z"], "b": ["x", "y"]}, {"a": 0, "b": 1}, {}, "sets of several groups share 1 of the frames: x"),
        ({"a": ["x", 2]}, {"a": 0}, {}, r"clips\['a'\] has the key 2: frames are named by texts"),
        ({"a": [["x"], "y"]}, {"a": 0}, {}, r"clips\['a'\] has the key \['x'\]"),
        ({"a": ["x"]}, {"a": "dog"}, {}, r"labels\['x'\] is 'dog': give class numbers, such as the places of names"),
        ({"a": ["x"]}, {"a": 0}, {"k": 0}, "k is 0"),
        ({"a": ["x"]}, {"a": 0}, {"every": 0}, "every is 0"),
        ({"a": ["x"]}, {"a": 3}, {"classes": 2}, "has class 3, but classes is 2"),
    ],
)
def test_refusals(clips, labels, options, message):
    with pytest.raises(InputError, match=message):
        sets_of_clips(clips, labels, **options)
