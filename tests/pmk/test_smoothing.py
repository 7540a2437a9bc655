"""Temporal smoothing: worked windows, ends and holes, delay, and what it does to PM-k and flips."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.errors import InputError
from helpers.pmk.flips import flips_in_time
from helpers.pmk.record import FrameSets, Predictions
from helpers.pmk.score import score
from helpers.pmk.smoothing import delay, smooth, smoothing_effect
from helpers.pmk.timeline import Timeline

from . import oracle


def line(n, clip=0):
    return Timeline([clip] * n, range(n))


def one_hot(classes, k=3):
    return np.eye(k)[classes]


@pytest.mark.parametrize("of", ["scores", "votes"])
@pytest.mark.parametrize(
    ("classes", "mode", "window", "expected"),
    [
        ("00100", "centred", 3, "00000"),  # one flicker is outvoted on either side
        ("00100", "causal", 3, "00000"),
        ("000111", "centred", 3, "000111"),  # a change keeps its place
        ("000111", "causal", 3, "000011"),  # or comes one frame late
        ("00001111", "causal", 5, "00000011"),  # and two
        ("00001111", "centred", 5, "00001111"),
        ("0110110", "centred", 1, "0110110"),
        ("00110", "centred", 3, "00110"),  # the last window holds two frames: a tie, and its own is the lower class
    ],
)
def test_worked_sequences(of, classes, mode, window, expected):
    found = smooth(one_hot([int(c) for c in classes]), line(len(classes)), window=window, mode=mode, of=of)
    assert "".join(map(str, found.classes)) == expected


def test_scores_weigh_what_votes_do_not():
    """One sure frame beats two unsure ones in the mean, and is outvoted by them."""
    scores = [[0.4, 0.6], [1.0, 0.0], [0.4, 0.6]]
    assert smooth(scores, line(3), window=3).classes[1] == 0
    assert smooth(scores, line(3), window=3, of="votes").classes[1] == 1


def test_ties():
    """Two frames of one vote each: the frame's own class wins; of equal means the lower class."""
    scores = one_hot([1, 0])
    assert smooth(scores, line(2), window=3, of="votes").classes.tolist() == [1, 0]
    assert smooth(scores, line(2), window=3).classes.tolist() == [0, 0]
    # own class 2 has one vote of five, 0 and 1 have two each: the lower of those
    assert smooth(one_hot([1, 0, 2, 1, 0]), line(5), window=5, of="votes").classes[2] == 0


def test_ends_are_not_padded():
    # repeating the first frame would give class 1
    assert smooth([[0.40, 0.60], [0.65, 0.35]], line(2), window=3).classes[0] == 0
    # reflecting the second would give class 0
    assert smooth([[0.40, 0.60], [0.56, 0.44]], line(2), window=3).classes[0] == 1
    found = smooth([[-3.0, -2.0], [-1.0, -2.5]], line(2), window=5)
    assert found.classes.tolist() == [0, 0]
    assert found.used.tolist() == [2, 2]


def test_windows_keep_their_place_beside_holes():
    """Frames 0 1 _ 3 4: no window looks across the hole for a replacement."""
    scores = one_hot([0, 0, 1, 1])
    gap = Timeline([0] * 4, [0, 1, 3, 4])
    for mode, used in (("centred", [2, 2, 2, 2]), ("causal", [1, 2, 2, 2])):
        found = smooth(scores, gap, window=3, mode=mode, of="votes")
        assert found.used.tolist() == used, mode
        assert found.classes.tolist() == [0, 0, 1, 1]
    assert smooth(scores, gap, window=5).used.tolist() == [2, 3, 3, 2]
    assert smooth(scores, gap, window=1).short == 0


def test_windows_do_not_leave_their_clip():
    found = smooth(one_hot([0, 0, 1, 1]), Timeline([0, 0, 1, 1], [0, 1, 2, 3]), window=3)
    assert (found.classes.tolist(), found.used.tolist(), found.short) == ([0, 0, 1, 1], [2, 2, 2, 2], 4)


CLIPS = st.dictionaries(
    st.sampled_from("uv"),
    st.dictionaries(
        st.integers(0, 9), st.lists(st.integers(-8, 8).map(lambda i: i / 8), min_size=3, max_size=3), min_size=1
    ),
    min_size=1,
)


@given(CLIPS, st.sampled_from([(1, False), (3, False), (5, False), (2, True), (3, True), (6, True)]), st.booleans())
def test_equals_the_loop(clips, shape, votes):
    """Scores are multiples of 1/8, so that ties are exact."""
    window, causal = shape
    rows = [(clip, t) for clip, numbers in clips.items() for t in numbers][::-1]
    expected = oracle.smooth(clips, window=window, causal=causal, votes=votes)
    found = smooth(
        [clips[clip][t] for clip, t in rows],
        Timeline(["uv".index(clip) for clip, _ in rows], [t for _, t in rows]),
        window=window,
        mode="causal" if causal else "centred",
        of="votes" if votes else "scores",
    )
    assert found.classes.tolist() == [expected[clip][t] for clip, t in rows]


@given(st.integers(0, 1000), st.sampled_from([1, 3, 5, 7]))
def test_causal_is_centred_later(seed, window):
    """Far from the ends the causal answer is the centred one of (w - 1) / 2 frames before."""
    scores = np.random.default_rng(seed).integers(0, 100, size=(20, 3)) / 128
    late = window // 2
    causal, centred = (smooth(scores, line(20), window=window, mode=m).classes for m in ("causal", "centred"))
    assert causal[window - 1 :].tolist() == centred[window - 1 - late : 20 - late].tolist()


@given(st.integers(0, 1000), st.sampled_from(["scores", "votes"]))
def test_window_one_changes_nothing(seed, of):
    scores = np.random.default_rng(seed).normal(size=(9, 4))
    for mode in ("centred", "causal"):
        assert smooth(scores, line(9), window=1, mode=mode, of=of).classes.tolist() == scores.argmax(axis=1).tolist()


def test_many_models_at_once():
    scores = np.random.default_rng(0).normal(size=(2, 3, 8, 4))
    times = Timeline([0] * 4 + [1] * 4, [0, 1, 3, 4, 0, 1, 2, 3])
    for of in ("scores", "votes"):
        found = smooth(scores, times, window=3, of=of)
        assert found.classes.shape == (2, 3, 8)
        for place in np.ndindex(2, 3):
            one = smooth(scores[place], times, window=3, of=of)
            assert found.classes[place].tolist() == one.classes.tolist()


@pytest.mark.parametrize("of", ["scores", "votes"])
@pytest.mark.parametrize("window", [1, 3, 5, 7])
@pytest.mark.parametrize("mode", ["centred", "causal"])
def test_delay_is_what_a_clean_change_takes(mode, window, of):
    found = smooth(one_hot([0] * 10 + [1] * 10), line(20), window=window, mode=mode, of=of)
    expected = delay(window, mode)
    assert found.classes.tolist().index(1) - 10 == expected.trails
    assert expected.waits == (window // 2 if mode == "centred" else 0)
    assert expected.frames == (window - 1) // 2


@pytest.mark.parametrize("window", [2, 4, 6])
def test_delay_of_even_windows(window):
    votes = smooth(one_hot([0] * 10 + [1] * 10), line(20), window=window, mode="causal", of="votes")
    assert votes.classes.tolist().index(1) - 10 == delay(window, "causal").trails == window // 2 - 1
    # equal scores tie at half of the window, and the lower class wins
    for classes, late in (([0] * 10 + [1] * 10, 1), ([1] * 10 + [0] * 10, 0)):
        scores = smooth(one_hot(classes), line(20), window=window, mode="causal")
        assert scores.classes.tolist().index(classes[-1]) - 10 == window // 2 - 1 + late


def test_delay_in_time():
    assert delay(9, "causal", frame_rate=30).ms == pytest.approx(4 / 30 * 1000)
    assert delay(9, "centred", frame_rate=30).to_dict() == {
        "waits": 4,
        "trails": 0,
        "frames": 4,
        "ms": pytest.approx(400 / 3),
    }
    assert delay(9, "causal").ms is None
    assert delay(1, "centred", frame_rate=30).ms == 0.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"window": 0}, "window is 0: give a whole number of at least 1"),
        ({"window": 4}, "window is 4: a centred window has as many frames behind as ahead"),
        ({"window": 2.0}, "window is 2.0"),
        ({"window": 3, "mode": "both"}, "mode is 'both'"),
        ({"window": 3, "of": "logits"}, "of is 'logits'"),
    ],
)
def test_bad_windows(options, message):
    with pytest.raises(InputError, match=message):
        smooth(one_hot([0, 1]), line(2), **options)


@pytest.mark.parametrize("rate", [0, -1.0, float("inf"), float("nan"), True, "25"])
def test_bad_frame_rates(rate):
    with pytest.raises(InputError, match="frame_rate is"):
        delay(3, "causal", frame_rate=rate)


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ([[0.5, np.nan], [0, 1]], r"scores\[0, 1\] is nan"),
        ([[0.5, 0.0], [np.inf, 1]], r"scores\[1, 0\] is inf"),
        ([[0.5, 0.0]], "the timeline has 2 frames"),
        ([0.5, 0.0], r"scores has shape \(2,\)"),
        ([["a", "b"], ["a", "b"]], "type <U1"),
        ([[0.5, 0.0], [True, 1]], r"scores\[1, 0\] is True: give numbers"),
        ([[0.5, 0.0], [None, 1]], r"scores\[1, 0\] is nan"),
        ([[-np.inf, -np.inf], [0, 1]], "no class that can win at frame 0"),
        ([[-np.inf, 0], [0, -np.inf]], "no class that can win at frame 0"),
    ],
)
def test_bad_scores(scores, message):
    with pytest.raises(InputError, match=message):
        smooth(scores, line(2), window=3)


def test_unmapped_classes_never_win():
    scores = np.array([[-3.0, -np.inf, -2.0], [-1.0, -np.inf, -2.5], [-4.0, -np.inf, -2.0]])
    for of in ("scores", "votes"):
        assert 1 not in smooth(scores, line(3), window=3, of=of).classes
    # frames that exclude unlike classes can still vote
    assert smooth([[-np.inf, 0], [0, -np.inf]], line(2), window=3, of="votes").classes.tolist() == [1, 0]


# --- PM-k under smoothing


def clip(classes, *, first=0, name="v"):
    return {f"{name}/{first + i}": one_hot([c])[0] for i, c in enumerate(classes)}


def test_a_flicker_is_smoothed_away_at_the_price_of_delay():
    scores = clip([0, 0, 1, 0, 0])
    frames = FrameSets({"v/2": ["v/0", "v/1", "v/3", "v/4"]}, {"v/2": [1]}, classes=3)
    judged_by_flicker = smoothing_effect(scores, frames, windows=[1, 3])
    assert [row.score.original.count for row in judged_by_flicker] == [1, 0, 0]
    frames = FrameSets({"v/1": ["v/0", "v/2", "v/3", "v/4"]}, {"v/1": [0]}, classes=3)
    rows = smoothing_effect(scores, frames, windows=[1, 3], frame_rate=10, of="votes")
    assert [(row.window, row.mode) for row in rows] == [(1, "centred"), (3, "centred"), (3, "causal")]
    assert [(row.score.original.count, row.score.perturbed.count) for row in rows] == [(1, 0), (1, 1), (1, 1)]
    assert [row.flips.value for row in rows] == [0.5, 0.0, 0.0]
    assert [row.delay.ms for row in rows] == [0.0, 100.0, 100.0]
    assert [row.short for row in rows] == [0, 2, 2]
    assert {row.of for row in rows} == {"votes"}


def test_causal_smoothing_is_late_where_the_object_changes():
    """The truth changes with the picture: centred windows keep up, causal ones are wrong for two frames."""
    scores = clip([0, 0, 0, 0, 1, 1, 1, 1])
    labels = {f"v/{i}": [int(i >= 4)] for i in range(8)}
    frames = FrameSets({"v/3": [f"v/{i}" for i in range(8) if i != 3]}, labels, classes=3)
    rows = {row.mode: row for row in smoothing_effect(scores, frames, windows=[5], of="votes")}
    assert rows["centred"].score.perturbed.count == 1
    assert rows["causal"].score.perturbed.count == 0
    assert rows["causal"].flips.value == rows["centred"].flips.value == 1 / 7


def test_places_let_windows_look_beyond_the_sets():
    """Frame 2 is right only with frames 0 and 1 of its clip, which are in no set."""
    scores = {**clip([0, 0, 1, 0, 0]), **clip([2, 2], name="w")}
    places = {key: (key[0], int(key[2:])) for key in scores}
    frames = FrameSets({"v/2": ["v/3"], "w/0": ["w/1"]}, {"v/2": [0], "w/0": [2]}, classes=3)
    inside = smoothing_effect(scores, frames, windows=[3], modes=["causal"], of="votes")[0]
    beyond = smoothing_effect(scores, frames, windows=[3], modes=["causal"], of="votes", places=places)[0]
    assert (inside.score.original.count, beyond.score.original.count) == (1, 2)
    assert (inside.short, beyond.short) == (4, 4)
    assert beyond.flips.value == 0.0


def test_rows_are_those_of_score_and_flips():
    case = oracle.random_case(5, anchors=12)
    frames = FrameSets(case["sets"], case["labels"], offsets=case["offsets"], classes=4)
    values = np.random.default_rng(1).normal(size=(len(frames.frames), 4))
    predictions = Predictions(frames.frames, values)
    for row in smoothing_effect(predictions, frames, windows=[1, 3, 5], k=3, confidence=0.9, seed=2):
        found = smooth(values, Timeline.of(frames), window=row.window, mode=row.mode)
        assert row.score == score(found.classes, frames, k=3, confidence=0.9, seed=2)
        expected = flips_in_time(found.classes, Timeline.of(frames), confidence=0.9, seed=2)
        assert (row.flips.value, row.flips.interval) == (expected.value, expected.interval)
        assert row.short == found.short
    unsmoothed = smoothing_effect(predictions, frames, windows=[1], k=3)[0]
    assert unsmoothed.score.perturbed == score(predictions, frames, k=3).perturbed
    json.dumps(unsmoothed.to_dict(), allow_nan=False)


def test_many_models_are_each_model():
    case = oracle.random_case(5, anchors=12)
    frames = FrameSets(case["sets"], case["labels"], offsets=case["offsets"], classes=4)
    models = np.random.default_rng(1).normal(size=(2, 3, len(frames.frames), 4))
    rows = smoothing_effect(models, frames, windows=[1, 3], k=3, of="votes")
    for place in np.ndindex(2, 3):
        alone = smoothing_effect(Predictions(frames.frames, models[place]), frames, windows=[1, 3], k=3, of="votes")
        for row, one in zip(rows, alone, strict=True):
            assert (row.window, row.mode, row.short, row.delay) == (one.window, one.mode, one.short, one.delay)
            assert row.score.original[place] == one.score.original.count
            assert row.score.perturbed[place] == one.score.perturbed.count
            assert row.flips.value[place] == pytest.approx(one.flips.value, abs=1e-12)
    json.dumps([row.to_dict() for row in rows], allow_nan=False)
    one = smoothing_effect(models[0, 0], frames, windows=[3], k=3)[0]
    assert one.score == smoothing_effect(Predictions(frames.frames, models[0, 0]), frames, windows=[3], k=3)[0].score


def test_arrays_follow_the_places():
    """Frames of the clip in another order than those of the sets."""
    scores = clip([0, 0, 1, 0, 0])
    frames = FrameSets({"v/2": ["v/1", "v/3"]}, {"v/2": [0]}, classes=3)
    places = {key: ("v", int(key[2:])) for key in reversed(scores)}
    models = np.array([[scores[key] for key in places], [scores["v/2"]] * 5])
    row = smoothing_effect(models, frames, windows=[3], modes=["causal"], of="votes", places=places)[0]
    assert (row.score.original.tolist(), row.score.perturbed.tolist()) == ([1, 0], [1, 0])


def test_half_and_single_precision_are_widened():
    """Limits of float64 are no numbers of float32: they must not be compared with it."""
    for narrow in (np.float16, np.float32):
        scores = np.array([[0.5, 0.25], [0.125, 0.75]], dtype=narrow)
        assert smooth(scores, line(2), window=3).classes.tolist() == [1, 1]


def test_effect_refusals():
    frames = FrameSets({"v/1": ["v/2"]}, {"v/1": [0]}, classes=3)
    scores = clip([0, 0, 0])
    with pytest.raises(InputError, match="predictions has classes only"):
        smoothing_effect({"v/1": 0, "v/2": 0}, frames)
    with pytest.raises(InputError, match=r"predictions has shape \(3, 2\) and type int64: smoothing needs the scores"):
        smoothing_effect(np.zeros((3, 2), dtype=int), frames)
    with pytest.raises(InputError, match=r"predictions has shape \(3, 3\) .* shape \(\.\.\., 2 frames, classes\)"):
        smoothing_effect(np.zeros((3, 3)), frames)
    with pytest.raises(InputError, match=r"predictions\[1, 0\] is True: give scores"):
        smoothing_effect([[0.5, 0.5, 0.0], [True, 0.5, 0.0]], frames)
    with pytest.raises(InputError, match="predictions has none for 1 of 2 frames: v/2"):
        smoothing_effect({"v/1": scores["v/1"]}, frames)
    with pytest.raises(InputError, match="places lacks 1 frames of the sets: v/2"):
        smoothing_effect(scores, frames, places={"v/1": (0, 1)})
    with pytest.raises(InputError, match=r"places\['v/2'\] is 2: give the clip"):
        smoothing_effect(scores, frames, places={"v/1": ("v", 1), "v/2": 2})
    with pytest.raises(InputError, match="both 1 in clip 0"):
        smoothing_effect(scores, frames, places={"v/1": ("v", 1), "v/2": ("v", 1)})
    with pytest.raises(InputError, match="frames has no offsets"):
        smoothing_effect({"a": [1.0, 0], "x": [1.0, 0]}, FrameSets({"a": ["x"]}, {"a": [0]}, classes=2))


SMALL = FrameSets({"v/3": ["v/2"]}, {"v/3": [0]}, classes=2)
BOTH = {"v/2": [1.0, 0.0], "v/3": [0.0, 1.0]}


@pytest.mark.parametrize("mode", ["centred", "causal"])
def test_a_window_far_beyond_the_clip_is_the_whole_clip(mode):
    scores, line = [[0.9, 0.1], [0.4, 0.6], [0.8, 0.2]], Timeline([0, 0, 0], [1, 2, 3])
    wide = smooth(scores, line, window=999_999_999, mode=mode)
    assert wide.used.tolist() == ([3, 3, 3] if mode == "centred" else [1, 2, 3])
    np.testing.assert_array_equal(wide.classes, smooth(scores, line, window=7, mode=mode).classes)
    with pytest.raises(InputError, match="window is 1000"):
        smooth(scores, line, window=10**30 + 1, mode=mode)


def test_scores_too_large_to_average_are_refused():
    with pytest.raises(InputError, match=r"scores\[0, 1\] is 1.7e\+308"):
        smooth([[0.0, 1.7e308], [0.0, 1.0]], Timeline([0, 0], [1, 2]), window=3)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"windows": 3}, "windows is 3"),
        ({"windows": []}, "windows is"),
        ({"modes": "causal"}, "modes is 'causal'"),
        ({"modes": []}, "modes is"),
        ({"k": [1, 2]}, "k is"),
        ({"places": [1]}, r"places is \[1\]: give a mapping"),
        ({"places": {"v/2": ("v", True), "v/3": ("v", 2)}}, "places.* has True"),
        ({"places": {"v/2": (["v"], 1), "v/3": ("v", 2)}}, "places.* is"),
        ({"places": {"v/2": ("v", 10**30), "v/3": ("v", 2)}}, "places.* has 1000"),
        ({"frame_rate": 1e-320}, "frame_rate is"),
    ],
)
def test_odd_options_of_the_effect_are_refused(options, said):
    with pytest.raises(InputError, match=said):
        smoothing_effect(BOTH, SMALL, **options)


def test_the_effect_needs_frame_sets():
    with pytest.raises(InputError, match="frames is a dict"):
        smoothing_effect(BOTH, {"v/3": ["v/2"]})
