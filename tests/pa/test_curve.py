"""Agreement over adversarial ratios: the same as scoring each mixture by itself."""

import numpy as np
import pytest
from hypothesis import given

from helpers import pa
from helpers.errors import InputError

from .test_agreement import pairs

RATIOS = [0.0, 0.1, 0.25, 0.5, 1.0]


def mixed(logits, attacked, order, ratio):
    rows = order[: round(ratio * len(logits))]
    mixture = logits.copy()
    mixture[rows] = attacked[rows]
    return mixture


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_equals_scoring_each_mixture(noisy, dtype):
    logits, attacked = (array.astype(dtype) for array in noisy)
    order = np.random.default_rng(3).permutation(len(logits))
    for ratio, result in zip(RATIOS, pa.curve(logits, attacked, RATIOS, seed=3), strict=True):
        alone = pa.agreement(logits, mixed(logits, attacked, order, ratio))
        assert result.value == pytest.approx(alone.value, abs=1e-8)
        assert result.status == alone.status
        assert result.per_row is None
        assert "agreement" in result.reasons["per_row"]
        assert result.flips == alone.flips
        assert result.beta_margin == pytest.approx(alone.beta_margin, rel=1e-6)
        assert result.bound >= alone.value - 1e-9


@given(pairs(max_rows=6))
def test_equals_scoring_each_mixture_on_anything(pair):
    order = np.arange(len(pair[0]))
    for ratio, result in zip(RATIOS, pa.curve(*pair, RATIOS, order=order), strict=True):
        alone = pa.agreement(pair[0], mixed(*pair, order, ratio))
        assert result.value == pytest.approx(alone.value, abs=2e-4)
        assert result.bound >= alone.value - 1e-9


def test_large_float32_mixtures():
    rng = np.random.default_rng(3)
    logits = rng.normal(0, 3, size=(12_000, 100)).astype(np.float32)
    attacked = logits + rng.normal(0, 2, size=logits.shape).astype(np.float32)
    order = np.random.default_rng(0).permutation(len(logits))
    for ratio, result in zip((0.3, 1.0), pa.curve(logits, attacked, (0.3, 1.0)), strict=True):
        alone = pa.agreement(logits, mixed(logits, attacked, order, ratio))
        assert result.value == pytest.approx(alone.value, abs=1e-6)


def test_order_of_ratios_is_kept_and_repeats_are_allowed(noisy):
    forward = pa.curve(*noisy, [0.0, 0.5, 1.0])
    backward = pa.curve(*noisy, [1.0, 0.5, 0.5, 0.0])
    assert [r.value for r in backward] == pytest.approx([forward[i].value for i in (2, 1, 1, 0)], abs=1e-9)


def test_orders(noisy):
    logits, attacked = noisy
    size = np.abs(attacked - logits).max(axis=1)
    by_size = np.argsort(size, kind="stable")
    smallest = pa.curve(logits, attacked, [0.3], order="smallest", size=size)[0]
    largest = pa.curve(logits, attacked, [0.3], order="largest", size=size)[0]
    assert smallest.value == pytest.approx(pa.curve(logits, attacked, [0.3], order=by_size)[0].value)
    assert largest.value == pytest.approx(pa.curve(logits, attacked, [0.3], order=by_size[::-1])[0].value)
    assert smallest.value > largest.value
    assert pa.curve(*noisy, [0.3], seed=0)[0].value != pa.curve(*noisy, [0.3], seed=1)[0].value


def test_flips_are_nested(noisy):
    counts = [result.flips.count for result in pa.curve(*noisy, np.linspace(0, 1, 11))]
    assert counts[0] == 0
    assert counts == sorted(counts)


@pytest.mark.parametrize(
    ("ratios", "options", "message"),
    [
        ([0.5, 1.2], {}, "ratios[1] is 1.2"),
        ([], {}, "ratios has shape (0,)"),
        ([float("nan")], {}, "ratios[0] is nan"),
        ([0.5], {"order": "upwards"}, "order is 'upwards'"),
        ([0.5], {"order": "smallest"}, "needs size"),
        ([0.5], {"order": "smallest", "size": [1.0]}, "size has 1 numbers"),
        ([0.5], {"order": np.zeros(400, dtype=int)}, "each of the 400 rows"),
    ],
)
def test_refusals(noisy, ratios, options, message):
    with pytest.raises(InputError) as refusal:
        pa.curve(*noisy, ratios, **options)
    assert message in str(refusal.value)
