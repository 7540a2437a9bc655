"""Natural shifts: nothing at strength 0, more with strength, and picture by picture."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.datasets.corruptions import CORRUPTIONS, corrupt
from helpers.errors import InputError


@pytest.fixture(scope="module")
def images():
    return np.random.default_rng(0).uniform(size=(20, 3, 8, 8)).astype(np.float32)


STRENGTHS = {"noise": [0.0, 0.1, 0.3, 1.0], "blur": [0.0, 0.5, 1.0, 3.0], "contrast": [0.0, 0.3, 0.6, 1.0]}


def test_every_corruption_is_tested():
    assert STRENGTHS.keys() == CORRUPTIONS.keys()


@pytest.mark.parametrize("name", CORRUPTIONS)
def test_strength_0_changes_nothing_and_more_changes_more(images, name):
    distances = [np.abs(corrupt(images, name, s) - images).mean() for s in STRENGTHS[name]]
    assert distances[0] < 1e-6
    assert np.all(np.diff(distances) > 1e-3)


@pytest.mark.parametrize("name", CORRUPTIONS)
def test_what_comes_out_is_pictures_and_what_went_in_is_left_alone(images, name):
    before = images.copy()
    for dtype in (np.float32, np.float64):
        shifted = corrupt(images.astype(dtype), name, STRENGTHS[name][-1])
        assert shifted.shape == images.shape
        assert shifted.dtype == np.float32
        assert shifted.min() >= 0.0
        assert shifted.max() <= 1.0
    assert np.array_equal(images, before)


@pytest.mark.parametrize("name", ["blur", "contrast"])
def test_each_picture_is_shifted_by_itself(images, name):
    together = corrupt(images, name, 0.7)
    alone = np.concatenate([corrupt(picture[None], name, 0.7, seed=9) for picture in images])
    assert np.allclose(together, alone, atol=1e-6)


def test_noise_has_the_stated_spread_and_follows_its_seed(images):
    grey = np.full((50, 1, 20, 20), 0.5)
    noise = corrupt(grey, "noise", 0.1, seed=3) - grey
    assert noise.std() == pytest.approx(0.1, rel=0.02)  # 20,000 draws tell it to 0.5 %
    assert noise.mean() == pytest.approx(0.0, abs=0.003)
    assert np.array_equal(corrupt(images, "noise", 0.1, seed=3), corrupt(images, "noise", 0.1, seed=3))
    assert not np.array_equal(corrupt(images, "noise", 0.1, seed=3), corrupt(images, "noise", 0.1, seed=4))


def test_noise_grows_along_one_direction():
    """The same draws at every strength, so that a curve over strengths is of one shift and not of many."""
    grey = np.full((2, 1, 8, 8), 0.5)
    weak, strong = (corrupt(grey, "noise", s, seed=1) - grey for s in (0.01, 0.05))
    assert np.allclose(strong, 5 * weak, atol=1e-6)


def test_blur_of_a_point_is_a_gaussian():
    point = np.zeros((1, 1, 41, 41))
    point[0, 0, 20, 20] = 1.0
    blurred = corrupt(point, "blur", 2.0)[0, 0].astype(float)
    y, x = np.mgrid[-20:21, -20:21]
    expected = np.exp(-(x**2 + y**2) / (2 * 2.0**2))
    assert np.allclose(blurred, expected / expected.sum(), atol=1e-4)


def test_blur_leaves_channels_apart():
    images = np.zeros((2, 3, 8, 8))
    images[1, 2] = np.random.default_rng(2).uniform(size=(8, 8))
    blurred = corrupt(images, "blur", 1.0)
    assert blurred[1, 2].max() > 0
    blurred[1, 2] = 0
    assert np.all(blurred == 0)


@given(st.floats(0, 1))
def test_contrast_keeps_the_mean_and_scales_the_spread(strength):
    images = np.random.default_rng(1).uniform(size=(3, 2, 4, 4))
    shifted = corrupt(images, "contrast", strength)
    axes = (1, 2, 3)
    assert np.allclose(shifted.mean(axis=axes), images.mean(axis=axes), atol=1e-6)
    assert np.allclose(shifted.std(axis=axes), (1 - strength) * images.std(axis=axes), atol=1e-6)


@pytest.mark.parametrize(
    ("name", "strength", "message"),
    [
        ("fog", 0.1, "corruption is 'fog': choose one of noise, blur, contrast"),
        ("noise", -0.1, "strength of noise is -0.1: give a number from 0"),
        ("blur", math.nan, "strength of blur is nan: give a number from 0"),
        ("blur", math.inf, "strength of blur is inf"),
        ("contrast", 1.5, "strength of contrast is 1.5: give a number from 0 to 1.0"),
        ("contrast", True, "strength of contrast is True: give a number from 0 to 1.0"),
        (["noise"], 0.1, "corruption is ['noise']: choose one of"),
    ],
)
def test_refusals(images, name, strength, message):
    with pytest.raises(InputError) as refusal:
        corrupt(images, name, strength)
    assert message in str(refusal.value)
