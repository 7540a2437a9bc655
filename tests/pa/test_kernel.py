"""The kernel itself, and the moments behind the search."""

import math

import numpy as np
import pytest

from helpers import pa
from helpers.errors import InputError
from helpers.pa import inputs, numerics

from . import oracle


def test_equals_the_formula_at_every_beta(noisy):
    betas = np.array([[0.0, 0.1], [1.0, 30.0]])
    ours = pa.kernel(*noisy, betas)
    assert ours.shape == betas.shape
    expected = [oracle.kernel(*noisy, beta) for beta in betas.ravel()]
    assert ours.ravel() == pytest.approx(expected, abs=1e-11)


def test_ends():
    clean = np.array([[3.0, 0.0, 0.0], [0.0, 2.0, 0.0]])
    assert pa.kernel(clean, clean, 0.0) == pytest.approx(-math.log(3), abs=1e-15)
    assert pa.kernel(clean, clean, math.inf) == 0.0
    assert pa.kernel(clean, clean[::-1], math.inf) == -math.inf


@pytest.mark.parametrize(("beta", "place"), [(-1.0, "beta is -1.0"), ([1.0, math.nan], "beta[1] is nan")])
def test_refuses_a_beta_that_is_none(noisy, beta, place):
    with pytest.raises(InputError) as refusal:
        pa.kernel(*noisy, beta)
    assert place in str(refusal.value)


@pytest.mark.parametrize("beta", [0.0, 0.3, 1.0, 7.0, 60.0])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_derivatives_match_finite_differences(noisy, beta, dtype):
    pair = inputs.pair_of(*(array.astype(dtype) for array in noisy), inputs="logits", chunk=None)
    width = 1e-4
    g, h, dg, dh, d2g, d2h = numerics.moments(pair, [beta], pair.xp.float64, curvature=True)[0]
    assert g - h == pytest.approx(oracle.kernel(pair.first, pair.second, beta), abs=1e-9)
    around = [oracle.kernel(pair.first, pair.second, beta + step) for step in (-width, 0.0, width)]
    assert dg - dh == pytest.approx((around[2] - around[0]) / (2 * width), abs=1e-6)
    assert d2g - d2h == pytest.approx((around[2] - 2 * around[1] + around[0]) / width**2, abs=1e-4)


def test_slope_at_zero_is_zero_and_curvature_is_twice_the_covariance(noisy):
    logits, shifted = noisy
    pair = inputs.pair_of(logits, shifted, inputs="logits", chunk=None)
    _, _, dg, dh, d2g, d2h = numerics.moments(pair, [0.0], pair.xp.float64, curvature=True)[0]
    assert dg - dh == pytest.approx(0.0, abs=1e-12)
    centred = (logits - logits.mean(axis=1, keepdims=True)) * (shifted - shifted.mean(axis=1, keepdims=True))
    assert d2g - d2h == pytest.approx(2 * centred.mean(axis=1).mean(), rel=1e-9)


def test_float32_moments_stay_close(noisy):
    pair = inputs.pair_of(*(array.astype(np.float32) for array in noisy), inputs="logits", chunk=None)
    for beta in (0.01, 0.5, 5.0, 100.0):
        narrow = numerics.moments(pair, [beta], pair.xp.float32, curvature=True)[0]
        wide = numerics.moments(pair, [beta], pair.xp.float64, curvature=True)[0]
        assert narrow == pytest.approx(wide, rel=2e-5, abs=2e-5)
