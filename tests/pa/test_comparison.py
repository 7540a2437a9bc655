"""Everything beside agreement, and what scoring only some rows costs."""

import numpy as np
import pytest
from scipy.special import softmax

from helpers import calibration, pa
from helpers.errors import InputError


@pytest.fixture
def record(noisy):
    labels = np.where(np.arange(400) % 4 == 0, 5, noisy[0].argmax(axis=1))
    return pa.Logits(noisy[0], {"noise 1": noisy[1], "none 0": noisy[0]}, labels)


def test_each_column_is_what_it_says(record):
    rows = pa.table(record)
    assert [row.shift for row in rows] == ["noise 1", "none 0"]
    row, clean, shifted = rows[0], record.logits, record.shifted["noise 1"]
    right, right_after = (array.argmax(axis=1) == record.labels for array in (clean, shifted))
    assert row.afr_t.count == right_after.sum()
    assert row.afr_p.count == (clean.argmax(axis=1) == shifted.argmax(axis=1)).sum()
    assert (row.success.count, row.success.n) == ((right & ~right_after).sum(), right.sum())
    assert row.agreement.value == pa.agreement(clean, shifted).value
    assert row.calibration_error == calibration.expected_calibration_error(shifted, record.labels)
    assert row.temperature == calibration.fit_temperature(shifted, record.labels)


def test_nothing_succeeds_without_a_shift(record):
    row = pa.table(record)[1]
    assert row.success.count == 0
    assert row.afr_p.rate == 1.0
    assert row.agreement.status == "infinite"


def test_a_record_without_labels_is_refused(noisy):
    with pytest.raises(InputError, match="record has no labels"):
        pa.table(pa.Logits(noisy[0], {"noise 1": noisy[1]}))


def test_subsamples_scatter_as_one_over_root_n(noisy):
    """With replacement the spread would be s / sqrt(n); without, sqrt(1 - n / 400) of that. Band: 4 standard errors."""
    small, large = pa.subsample(*noisy, [50, 200], draws=100, seed=1)
    expected = np.sqrt(50 / 200) * np.sqrt((1 - 200 / 400) / (1 - 50 / 400))
    ratio = large.spread / small.spread
    assert abs(ratio - expected) < 4 * ratio * np.hypot(
        small.spread_error / small.spread, large.spread_error / large.spread
    )
    assert small.bias > 0  # beta fits few rows better than many


def test_all_rows_are_no_subsample(noisy):
    (whole,) = pa.subsample(*noisy, [400], draws=3)
    assert whole.bias == pytest.approx(0.0, abs=1e-9)
    assert whole.spread == pytest.approx(0.0, abs=1e-9)


def test_subsample_repeats_by_seed(noisy):
    assert pa.subsample(*noisy, [30], draws=4, seed=2) == pa.subsample(*noisy, [30], draws=4, seed=2)
    assert pa.subsample(*noisy, [30], draws=4, seed=2) != pa.subsample(*noisy, [30], draws=4, seed=3)


@pytest.mark.parametrize(
    ("sizes", "draws", "message"),
    [([0], 5, "sizes is 0"), ([401], 5, "sizes has 401: there are 400 rows"), ([10], 1, "draws is 1")],
)
def test_subsample_refusals(noisy, sizes, draws, message):
    with pytest.raises(InputError) as refusal:
        pa.subsample(*noisy, sizes, draws=draws)
    assert message in str(refusal.value)


def test_expected_calibration_error_of_the_table_uses_the_shifted_logits(record):
    confident = softmax(record.shifted["noise 1"], axis=1).max(axis=1).mean()
    accuracy = pa.table(record)[0].afr_t.rate
    assert pa.table(record)[0].calibration_error >= abs(confident - accuracy) - 1e-12


def test_the_spread_is_that_of_a_sample(noisy):
    """Of two draws: their distance over the square root of 2, the divisor being n - 1."""
    rng = np.random.default_rng(4)
    some = [rng.permutation(400)[:30] for _ in range(2)]
    first, second = (pa.agreement(noisy[0][rows], noisy[1][rows]).value for rows in some)
    (found,) = pa.subsample(*noisy, [30], draws=2, seed=4)
    assert found.spread == pytest.approx(abs(first - second) / np.sqrt(2), abs=1e-12)
    assert found.bias == pytest.approx((first + second) / 2 - pa.agreement(*noisy).value, abs=1e-12)
