"""Made clips: what they promise about accuracy, correlation, cuts, labels and types, and what they refuse."""

import math

import numpy as np
import pytest
from scipy.stats import norm

from helpers import pmk
from helpers.errors import InputError
from helpers.pmk import synthetic

N = 4000


@pytest.fixture(scope="module")
def made():
    return synthetic.clips(N, k=4, beyond=3, cuts=0.4, mislabelled=0.1, seed=1)


@pytest.fixture(scope="module")
def margins(made):
    """Scores of the class that each frame shows, shape (clips, frames)."""
    said = synthetic.predict(made, skill=1.0, difficulty=1.0, drift=1.5, memory=6.0, flicker=0.5, seed=2)
    scores = said.scores.reshape(*made.shows.shape, -1)
    return np.take_along_axis(scores, made.shows[..., None], axis=2)[..., 0]


def test_shapes_and_keys(made):
    assert made.shows.shape == (N, 15)
    assert made.candidates.n == made.reviewed.n == N
    assert made.candidates.pairs == 8 * N
    assert sorted(set(made.candidates.offset.tolist())) == [-4, -3, -2, -1, 1, 2, 3, 4]
    assert len(made.places) == 15 * N
    first = made.candidates.anchors[0]
    clip, number = made.places[first]
    assert first == f"{clip}/{number:06d}.jpg"
    # the anchor is in the middle of its clip
    numbers = sorted(t for name, t in made.places.values() if name == clip)
    assert numbers == list(range(number - 7, number + 8))


def test_every_frame_is_right_with_the_promised_probability(margins):
    """Clips are independent: a rate has a standard error of 0.7 %; fifteen of them within four."""
    known = norm.cdf(1.0 / math.sqrt(1.0 + 1.5**2 + 0.5**2))
    error = math.sqrt(known * (1 - known) / N)
    assert np.abs((margins > 0).mean(axis=0) - known).max() < 4 * error


def test_predictions_are_the_margins(made, margins):
    said = synthetic.predict(made, skill=1.0, difficulty=1.0, drift=1.5, memory=6.0, flicker=0.5, seed=2)
    assert np.array_equal(said.classes.reshape(made.shows.shape) == made.shows, margins > 0)


def test_moments_within_a_shot(made, margins):
    """Variance, and covariances at distance 1 and 5, of clips without a cut; bands are four standard errors."""
    whole = margins[(made.shot == 0).all(axis=1)]
    middle = whole - whole.mean()
    for distance in (0, 1, 5):
        expected = 1.0 + 1.5**2 * math.exp(-distance / 6.0) + 0.5**2 * (distance == 0)
        products = (middle[:, : 15 - distance] * middle[:, distance:]).mean(axis=1)
        assert abs(products.mean() - expected) < 4 * products.std() / math.sqrt(len(whole))


def test_shots_are_independent(made, margins):
    """Frames on both sides of a cut are uncorrelated, though one frame apart."""
    clip, time = np.nonzero(np.diff(made.shot, axis=1))
    before, after = margins[clip, time], margins[clip, time + 1]
    assert abs(np.corrcoef(before, after)[0, 1]) < 4 / math.sqrt(len(clip))


def test_a_cut_changes_the_class_and_never_the_anchor(made):
    has = (made.shot == 1).any(axis=1)
    assert abs(has.mean() - 0.4) < 4 * math.sqrt(0.24 / N)
    assert not made.shot[:, 7].any()
    for i in np.flatnonzero(has):
        assert np.count_nonzero(np.diff(made.shot[i])) == 1
    assert (np.where(made.shot == 1, made.shows, -1).max(axis=1)[has] != made.shows[has, 7]).all()
    # the first frame beyond it is uniform over the other 14 places
    first = np.where(made.shot[:, 0] == 1, made.shot.sum(axis=1) - 1, made.shot.argmax(axis=1))[has]
    counts = np.bincount(first, minlength=15)
    assert counts[7] == 0
    assert abs(counts[np.arange(15) != 7] - has.sum() / 14).max() < 4 * math.sqrt(has.sum() / 14)


def test_review_keeps_the_shot_and_completes_labels(made):
    kept = pmk.accepted(made.candidates)
    assert kept.frames == made.reviewed.frames
    assert np.array_equal(kept.start, made.reviewed.start)
    reach = 7
    sizes = (made.shot[:, reach - 4 : reach + 5] == 0).sum(axis=1) - 1
    assert np.array_equal(np.diff(made.reviewed.start), sizes)
    wrong = 0
    for i in range(N):
        first, shown = made.candidates.labels_of(i), int(made.shows[i, reach])
        assert len(first) == 1
        assert set(made.reviewed.labels_of(i)) == {*first, shown}
        wrong += first[0] != shown
    assert abs(wrong / N - 0.1) < 4 * math.sqrt(0.09 / N)


def test_types_follow_from_the_number(made):
    for key, kind in zip(made.reviewed.frames[:2000], made.reviewed.type[:2000], strict=True):
        number = made.places[key][1]
        assert kind == ("I" if number % 200 == 0 else "PPBPPBPB"[number % 8])
    shares = {kind: float(np.mean(made.reviewed.type[:N] == kind)) for kind in "IPB"}
    assert abs(shares["I"] - 1 / 200) < 4 * math.sqrt(0.005 / N)
    assert abs(shares["P"] - 5 / 8) < 0.035  # less I frames, which all fall on P
    assert abs(shares["B"] - 3 / 8) < 0.031


def test_models_with_one_seed_see_the_same_clips_as_hard(made):
    one, two = (synthetic.predict(made, flicker=0, drift=0, skill=skill, seed=4).classes for skill in (0.5, 2.0))
    truth = made.shows.ravel()
    assert ((one == truth) <= (two == truth)).all()
    assert (one == truth).mean() < (two == truth).mean()
    assert not np.array_equal(one, synthetic.predict(made, flicker=0, drift=0, skill=0.5, seed=5).classes)


def test_wrong_answers_are_the_shots_rival(made):
    """Wrong frames of a shot all say the same, which is not the class shown."""
    said = synthetic.predict(made, seed=6).classes.reshape(made.shows.shape)
    turn = np.where(said == made.shows, 0, (said - made.shows) % 6)
    both = []
    for i in range(N):
        rivals = [set(turn[i][(made.shot[i] == shot) & (turn[i] > 0)].tolist()) for shot in (0, 1)]
        assert max(map(len, rivals)) <= 1
        if all(rivals):
            both.append(rivals[0] == rivals[1])
    # the other shot draws anew, one of five
    assert abs(np.mean(both) - 0.2) < 4 * math.sqrt(0.16 / len(both))


def test_objects(made):
    small = synthetic.clips(60, k=3, beyond=1, cuts=0, mislabelled=0, seed=3)
    said = synthetic.predict(small, seed=3)
    truth, found = synthetic.objects(small, said, jitter=0.0, seed=3)
    assert truth.frames == found.frames == small.reviewed.frames
    assert np.array_equal(truth.box, found.box)
    right, right_near = small.reviewed.correct(pmk.aligned(said, small.reviewed))
    alike = truth.category == found.category
    assert np.array_equal(alike[: small.reviewed.n], right)
    assert alike.sum() == right.sum() + right_near.sum()
    # even pace: second differences along a clip vanish
    at = {key: i for i, key in enumerate(truth.frames)}
    for anchor in small.reviewed.anchors[:5]:
        clip, number = small.places[anchor]
        line = np.array([truth.box[at[f"{clip}/{number + d:06d}.jpg"]] for d in range(-3, 4)])
        assert np.abs(np.diff(line, 2, axis=0)).max() < 1e-9
    assert (found.score > 1 / 6).all()
    _, off = synthetic.objects(small, said, jitter=0.1, seed=3)
    error = (off.box - truth.box)[:, :2] / truth.box[:, 2:]
    assert abs(error.std() - 0.1) < 4 * 0.1 / math.sqrt(2 * error.size)
    assert np.array_equal(off.box[:, 2:], truth.box[:, 2:])


def test_localisation_is_perfect_without_jitter():
    small = synthetic.clips(40, k=3, beyond=0, seed=3)
    truth, found = synthetic.objects(small, synthetic.predict(small), jitter=0.0)
    score = pmk.localisation(found, truth, small.reviewed)
    assert (score.original.value, score.perturbed.value) == (1.0, 1.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n": 0}, "n is 0"),
        ({"n": 2.0}, r"n is 2\.0"),
        ({"k": 0}, "k is 0"),
        ({"beyond": -1}, "beyond is -1"),
        ({"classes": 2}, "classes is 2"),
        ({"cuts": 1.5}, r"cuts is 1\.5: give a probability"),
        ({"mislabelled": -0.1}, r"mislabelled is -0\.1: give a probability"),
        ({"cuts": True}, "cuts is True"),
    ],
)
def test_clips_refuse(arguments, message):
    with pytest.raises(InputError, match=message):
        synthetic.clips(**{"n": 5, **arguments})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"skill": math.nan}, "skill is nan: give a finite number$"),
        ({"drift": -1.0}, r"drift is -1\.0: give a finite number, at least 0"),
        ({"difficulty": math.inf}, "difficulty is inf"),
        ({"flicker": "much"}, "flicker is 'much'"),
        ({"memory": 0}, "memory is 0: give frames, above 0"),
    ],
)
def test_predict_refuses(arguments, message):
    with pytest.raises(InputError, match=message):
        synthetic.predict(synthetic.clips(2, k=1, beyond=0), **arguments)


def test_a_negative_skill_is_a_bad_model():
    said = synthetic.predict(synthetic.clips(50, k=1, beyond=0, cuts=0), skill=-20.0)
    assert said.scores.max() == 0.0


def test_objects_refuse():
    small, other = synthetic.clips(3, k=1, beyond=0), synthetic.clips(3, k=1, beyond=0, seed=9)
    said = synthetic.predict(small)
    with pytest.raises(InputError, match=r"jitter is -0\.1"):
        synthetic.objects(small, said, jitter=-0.1)
    with pytest.raises(InputError, match="predictions is not of these clips"):
        synthetic.objects(other, said)
    with pytest.raises(InputError, match="predictions is not of these clips"):
        synthetic.objects(small, pmk.Predictions(said.frames, said.classes))
