"""Renderings: each does what its name says, to each picture by itself, and gives pictures."""

import numpy as np
import pytest

from helpers.datasets import digits
from helpers.datasets.renderings import RENDERINGS, STRIPE, TILT, render
from helpers.errors import InputError


@pytest.fixture(scope="module")
def images():
    return digits.load().test_images[:50]


def square(size=21, inner=5):
    """A bright square in the middle of a dark picture."""
    picture = np.zeros((1, 1, size, size))
    picture[..., inner:-inner, inner:-inner] = 1.0
    return picture


@pytest.mark.parametrize("name", RENDERINGS)
def test_what_comes_out_is_pictures_and_what_went_in_is_left_alone(images, name):
    before = images.copy()
    for dtype in (np.float32, np.float64):
        rendered = render(images.astype(dtype), name)
        assert rendered.shape == images.shape
        assert rendered.dtype == np.float32
        assert rendered.min() >= 0.0
        assert rendered.max() <= 1.0
        assert not np.shares_memory(rendered, images)
    assert np.array_equal(images, before)
    assert np.array_equal(render(images, name, seed=3), render(images, name, seed=3))


@pytest.mark.parametrize("name", RENDERINGS)
def test_each_picture_and_channel_is_rendered_by_itself(images, name):
    together = render(np.concatenate([images, images[::-1]], axis=1), name)
    assert np.allclose(together[:, :1], render(images, name), atol=1e-6)
    assert np.allclose(together[:1, :1], render(images[:1], name), atol=1e-6)
    if name != "textured":  # whose pattern goes by the place of the picture
        assert np.allclose(together[:, 1:], render(images[::-1].copy(), name), atol=1e-6)
        assert np.allclose(render(images[7:8], name), render(images, name)[7:8], atol=1e-6)


def test_all_renderings_differ(images):
    rendered = [render(images, name) for name in RENDERINGS]
    for i, first in enumerate(rendered):
        for second in rendered[:i]:
            assert np.abs(first - second).mean() > 0.03


def test_plain_and_inverted(images):
    assert np.array_equal(render(images, "plain"), images)
    assert np.allclose(render(images, "inverted") + images, 1.0)
    assert np.array_equal(render(render(images, "inverted"), "inverted"), images)


def test_thick_is_the_brightest_of_each_2_x_2():
    rng = np.random.default_rng(0)
    picture = rng.uniform(size=(2, 1, 6, 7))
    padded = np.pad(picture, ((0, 0), (0, 0), (1, 0), (1, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (2, 2), axis=(2, 3))
    thick = render(picture, "thick")
    assert min(np.abs(thick[:, :, i : i + 5, j : j + 6] - windows.max(axis=(4, 5))[:, :, 1:, 1:]).max()
               for i in (0, 1) for j in (0, 1)) < 1e-6  # fmt: skip
    assert np.all(thick >= picture.astype(np.float32))
    assert np.sum(render(square(), "thick")) == 12 * 12  # from 11 x 11: one pixel wider, not two


def test_outline_is_1_at_straight_edges_and_0_on_even_ground():
    outline = render(square(), "outline")[0, 0]
    assert outline[10, 10] == outline[1, 1] == 0.0
    assert outline[10, 4] == outline[10, 5] == outline[4, 10] == outline[5, 10] == pytest.approx(1.0)
    assert np.array_equal(outline, outline.T)
    half = render(0.5 * square(), "outline")[0, 0]
    assert half[10, 5] == pytest.approx(0.5)


def test_tilted_turns_counter_clockwise_by_the_stated_angle():
    picture = np.zeros((1, 1, 41, 41))
    picture[..., 20, 32:35] = 1.0  # to the right of the middle
    tilted = render(picture, "tilted")[0, 0].astype(float)
    rows, columns = np.mgrid[:41, :41]
    up, right = 20 - np.average(rows, weights=tilted), np.average(columns, weights=tilted) - 20
    assert np.degrees(np.arctan2(up, right)) == pytest.approx(TILT, abs=0.5)
    assert np.hypot(up, right) == pytest.approx(13, abs=0.2)
    assert render(np.ones((1, 1, 41, 41)), "tilted")[0, 0, 0, 0] == 0.0


def test_textured_has_stripes_behind_the_picture():
    dark = render(np.zeros((40, 1, 12, 12)), "textured", seed=1)
    assert set(np.unique(dark)) == {0.0, STRIPE}
    assert dark.mean() == pytest.approx(STRIPE / 2, abs=0.02)
    assert np.array_equal(dark[:, :, 1:, :-1], dark[:, :, :-1, 1:])  # along the diagonal nothing changes
    assert len(np.unique(dark.reshape(40, -1), axis=0)) == 4  # a start of its own in each picture
    assert not np.array_equal(dark, render(np.zeros((40, 1, 12, 12)), "textured", seed=2))
    bright = np.full((1, 1, 12, 12), 0.8)
    assert np.allclose(render(bright, "textured"), 0.8)  # brighter ink stays


@pytest.mark.parametrize(
    ("images", "name", "message"),
    [
        (np.zeros((1, 1, 8, 8)), "sketch", "rendering is 'sketch': choose one of plain, inverted"),
        (np.zeros((8, 8)), "thick", "images has shape (8, 8)"),
        (np.zeros((0, 1, 8, 8)), "thick", "images has shape (0, 1, 8, 8)"),
        (np.zeros((1, 1, 8, 8), dtype=np.uint8), "thick", "type uint8"),
        (np.full((1, 1, 8, 8), 16.0), "thick", "images range from 16 to 16: scale"),
        (np.full((1, 1, 8, 8), -0.1), "thick", "images range from -0.1"),
        (np.full((1, 1, 8, 8), np.nan), "thick", "images range from nan"),
    ],
)
def test_refusals(images, name, message):
    with pytest.raises(InputError) as refusal:
        render(images, name)
    assert message in str(refusal.value)
