"""Frames in time: ends, holes, what lies beside what."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.errors import InputError
from helpers.pmk.record import FrameSets
from helpers.pmk.timeline import Timeline

from . import oracle

PLACES = st.sets(st.tuples(st.integers(5, 7), st.integers(-4, 4)), min_size=1, max_size=20)


@given(PLACES, st.integers(-10, 10), st.randoms())
def test_neighbours_equal_a_search(places, step, random):
    rows = list(places)
    random.shuffle(rows)
    line = Timeline(*np.array(rows).T)
    expected = [rows.index((c, t + step)) if (c, t + step) in places else -1 for c, t in rows]
    assert line.at(step).tolist() == expected
    assert line.clips == len({c for c, _ in rows})


@given(PLACES)
def test_consecutive_frames_and_holes(places):
    rows = sorted(places)
    line = Timeline(*np.array(rows).T)
    expected = {((c, t), (c, t + 1)) for c, t in rows if (c, t + 1) in places}
    assert {(rows[a], rows[b]) for a, b in zip(*line.consecutive(), strict=True)} == expected
    holes = sum(a[0] == b[0] and b[1] - a[1] > 1 for a, b in itertools.pairwise(rows))
    assert line.holes == holes


def test_sets_become_clips():
    frames = FrameSets(oracle.SETS, oracle.LABELS, offsets=oracle.OFFSETS)
    line = Timeline.of(frames)
    assert dict(zip(frames.frames, zip(line.clip.tolist(), line.time.tolist(), strict=True), strict=True)) == {
        "a": (0, 0), "b": (1, 0), "c": (2, 0), "d": (3, 0), "a-1": (0, -1), "a+1": (0, 1),
        "b-2": (1, -2), "b+1": (1, 1), "d+1": (3, 1),
    }  # fmt: skip
    assert repr(line) == "Timeline(9 frames in 4 clips, 1 hole)"


def test_named_clips_in_the_order_of_the_mapping():
    line = Timeline.of_places({"b7": ("b", 7), "a1": ("a", 1), "b8": ("b", 8), "c": (3, -2)})
    assert (line.clip.tolist(), line.time.tolist(), line.clips) == ([0, 1, 0, 2], [7, 1, 8, -2], 3)
    assert line.at(1).tolist() == [2, -1, -1, -1]


@pytest.mark.parametrize(
    ("places", "message"),
    [
        ([("v", 1)], r"places is \[\('v', 1\)\]: give a mapping of frame to clip and frame number"),
        ({}, r"places is \{\}"),
        ({"a": ("v", 1, 2)}, r"places\['a'\] is \('v', 1, 2\): give the clip and the frame number in it"),
        ({"a": ("v", 1.0)}, r"places\['a'\] has 1.0: frame numbers lie within"),
        ({"a": ("v", 1), "b": ("v", 1)}, r"time\[0\] and time\[1\] are both 1 in clip 0"),
    ],
)
def test_bad_places(places, message):
    with pytest.raises(InputError, match=message):
        Timeline.of_places(places)


def test_refusals():
    with pytest.raises(InputError, match=r"time\[0\] and time\[2\] are both 4 in clip 9"):
        Timeline([9, 9, 9], [4, 5, 4])
    with pytest.raises(InputError, match="clip has 2 frames and time 1"):
        Timeline([0, 0], [1])
    with pytest.raises(InputError, match="type float64"):
        Timeline([0, 0], [1.0, 2.0])
    with pytest.raises(InputError, match=r"time\[0\] is True: give a whole number for each frame"):
        Timeline([0, 0], [True, 2])
    with pytest.raises(InputError, match="clip is empty: give a whole number for each frame"):
        Timeline([], [])
    with pytest.raises(InputError, match="frames has no offsets"):
        Timeline.of(FrameSets({"a": ["x"]}, {"a": [0]}))
    shared = FrameSets({"v/1": ["v/2"], "v/3": ["v/2"]}, {"v/1": [0], "v/3": [0]}, groups={"v/1": "v", "v/3": "v"})
    with pytest.raises(InputError, match="1 frames in several sets: v/2"):
        Timeline.of(shared)


def test_the_numbers_are_its_own():
    time = np.array([1, 2])
    line = Timeline([0, 0], time)
    time[0] = 7
    assert line.time.tolist() == [1, 2]


@pytest.mark.parametrize("time", [[0, 2**62], [-(2**62), 0], np.array([0, 2**64 - 1], dtype=np.uint64)])
def test_numbers_that_would_overflow_are_refused(time):
    with pytest.raises(InputError, match=r"time\[[01]\] is"):
        Timeline([0, 1], time)


def test_a_mapping_is_no_frame_sets():
    with pytest.raises(InputError, match="frames is a dict"):
        Timeline.of({"a": ["b"]})
