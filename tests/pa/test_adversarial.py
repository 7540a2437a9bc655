"""Cases that once went wrong, found by attacking the solver."""

import math

import numpy as np
import pytest
import torch

from helpers import pa
from helpers.errors import InputError

from . import oracle

MASK = float(np.finfo(np.float64).min)


def test_scales_beyond_float64_are_refused_with_a_remedy():
    clean = np.array([[2.0, 1.0, MASK], [1.0, 2.0, MASK], [3.0, 1.0, MASK]])
    with pytest.raises(InputError, match="row 0: mask classes with -1e9"):
        pa.agreement(clean, clean)
    logits, shifted = np.array([[2.0, 0, 1], [0, 1, 3]]), np.array([[2.0, 0, 1], [3, 1, 0]])
    with pytest.raises(InputError, match="multiply both"):
        pa.agreement(1e-170 * logits, 1e-170 * shifted)
    value = pa.agreement(logits, shifted).value
    for scale in (1e-95, 1e95):
        assert pa.agreement(scale * logits, scale * shifted).value == pytest.approx(value, abs=1e-9)


@pytest.mark.data
def test_interval_reaches_the_other_mode(shared):
    """E15 has two maxima a factor of 45 apart: replicates that prefer the other one must count."""
    example = {found["id"]: (a, b) for found, a, b in oracle.examples(shared)}["E15"]
    logits, shifted = (np.tile(array, (4, 1)) for array in example)
    low, high = pa.agreement(logits, shifted, confidence=0.9).interval
    assert low < 0.02
    assert high > 0.6


def test_interval_contains_the_value():
    rng = np.random.default_rng(0)
    for _ in range(200):
        row = rng.normal(0, 3, size=(2, 1, 3))
        logits, shifted = np.repeat(row, rng.integers(2, 30), axis=1)
        result = pa.agreement(logits, shifted, confidence=0.9)
        if result.interval is None:
            assert "resample" in result.reasons["interval"]
        else:
            low, high = result.interval
            assert 0 <= low <= result.value <= high <= math.log(3) + 1e-12
            assert low < high


def test_neighbouring_probabilities_stay_apart():
    """The logarithms of two adjacent floats can be equal, which would make a tie of a strict preference."""
    least = 0.1
    most = np.nextafter(least, 1)
    beliefs = np.full((1, 11), (1 - least - most) / 9 * 0.999)
    beliefs[0, :2] = most, least
    assert pa.agreement(beliefs, beliefs, inputs="probs").value == pytest.approx(math.log(11), abs=1e-12)


def test_masked_arrays_are_refused():
    masked = np.ma.masked_array([[3.0, 0.0]], [[False, True]])
    with pytest.raises(InputError, match="logits is a masked array"):
        pa.agreement(masked, [[1.0, 0.0]])


def test_bfloat16_has_a_failure_rate():
    assert pa.failure_rate(torch.eye(3).bfloat16(), torch.eye(3).bfloat16()).rate == 1.0


def test_an_interior_maximum_just_above_the_limit_is_found():
    """One row in 100,000 that gains a little before it reaches its limit of a three-way tie."""
    n, k = 100_000, 10
    logits = np.full((n, k), -3.0)
    logits[:, 0] = 0
    shifted = logits.copy()
    logits[0], shifted[0] = [0, 0] + [-300] * 8, [0, -0.001, 0] + [-300] * 7
    result = pa.agreement(logits, shifted)
    assert result.status == "interior"
    assert result.value > result.flip_rate_only - 1e-4
    assert result.value == pytest.approx(2.3025740920, abs=1e-8)


def test_a_plateau_is_no_maximum():
    """The supremum lies at infinity; rounding in the slope of the plateau before it must not look like a turn."""
    result = pa.agreement([[8.0, 2.0, 5.6], [0.8, 7.5, 7.1]], [[8.0, 2.0, 5.6], [0.0, 0.0, 0.0]])
    assert result.status == "infinite"
    assert result.local_maxima == ()
    mask = float(np.finfo(np.float32).min)
    logits = np.array([[2.0, 1.0, mask], [1.0, 2.0, mask], [3.0, 1.0, mask]])
    shifted = logits.copy()
    shifted[0] = [1.0, 2.0, mask]
    assert len(pa.agreement(logits, shifted).local_maxima) == 1


def test_everything_found_lies_in_the_range_searched():
    rng = np.random.default_rng(5)
    logits = rng.normal(size=(20_000, 100))
    shifted = logits + 0.3 * rng.normal(size=logits.shape)
    scale = 10.0 ** rng.choice([-6, -3, 0, 3], size=(20_000, 1))
    lost = (rng.random(20_000) < 0.2) & (scale[:, 0] > 1e-5)
    shifted[lost] = rng.normal(size=(lost.sum(), 100))
    result = pa.agreement((logits * scale).astype("f4"), (shifted * scale).astype("f4"))
    low, high = result.searched
    assert all(low <= beta <= high for beta, _ in result.local_maxima)
    assert low <= result.beta <= high


def test_rows_twenty_decades_apart():
    """The right maximum of the first row lies 1e20 above that of the second."""
    rng = np.random.default_rng(9)
    row = np.array([[2.0, 1.9, -5.0, 0.0], [1.9, 2.0, -5.0, 0.0]])
    logits, shifted = np.stack([1e-10 * row[0], 1e10 * row[0]]), np.stack([1e-10 * row[1], 1e10 * row[0]])
    logits += 0.0 * rng.normal(size=logits.shape)
    result = pa.agreement(logits, shifted)
    alone = pa.agreement(row[:1], row[1:])
    assert result.value == pytest.approx((alone.value + math.log(4)) / 2, abs=1e-9)
    assert result.certified


RAGGED = [[1.0, 2.0], [3.0]]
GOOD = [[1.0, 0.0], [0.0, 1.5]]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pa.agreement(RAGGED, GOOD), "logits is no array"),
        (lambda: pa.agreement(GOOD, np.ones((2, 2), dtype="timedelta64[s]")), "shifted has type timedelta64"),
        (lambda: pa.agreement(GOOD, np.ones((2, 2), dtype=bool)), "shifted has type bool"),
        (lambda: pa.agreement(GOOD, GOOD, chunk=1.5), "chunk is 1.5"),
        (lambda: pa.agreement(GOOD, GOOD, chunk=True), "chunk is True"),
        (lambda: pa.agreement(GOOD, GOOD, chunk="a"), "chunk is 'a'"),
        (lambda: pa.agreement(GOOD, GOOD, confidence="a"), "confidence is 'a'"),
        (lambda: pa.agreement(GOOD, GOOD, confidence=1j), "confidence is 1j"),
        (lambda: pa.agreement(GOOD, GOOD, seed=-1), "seed is -1"),
        (lambda: pa.agreement(GOOD, GOOD, seed=None), "seed is None"),
        (lambda: pa.agreement(GOOD, GOOD, inputs=np.array(["logits"])), "inputs is"),
        (lambda: pa.curve(GOOD, GOOD, "a"), "ratios has shape ()"),
        (lambda: pa.curve(GOOD, GOOD, 0.5), "ratios has shape ()"),
        (lambda: pa.curve(GOOD, GOOD, [0.5], order=[[0], [1]]), "order must list each of the 2 rows"),
        (lambda: pa.curve(GOOD, GOOD, [0.5], order=RAGGED), "order is no array"),
        (lambda: pa.curve(GOOD, GOOD, [0.5], order="smallest", size=["a", "b"]), "size has shape (2,)"),
        (lambda: pa.kernel(GOOD, GOOD, "a"), "beta has type"),
        (lambda: pa.failure_rate(RAGGED, GOOD), "shifted is no array"),
        (lambda: pa.failure_rate(GOOD, [0, 1], confidence=None), "confidence is None"),
    ],
)
def test_what_is_no_input_is_refused_by_name(call, message):
    with pytest.raises(InputError) as refusal:
        call()
    assert message in str(refusal.value)


def test_torch_integers_are_numbers_too():
    whole = torch.tensor([[2, 0, 1], [0, 3, 1]])
    assert pa.agreement(whole, whole).value == pa.agreement(whole.numpy(), whole.numpy()).value


def test_results_and_records_compare_by_identity(noisy):
    """Field by field they hold arrays, whose comparison has no single truth."""
    result, record = pa.agreement(*noisy), pa.Logits(noisy[0], {"shift": noisy[1]})
    assert result == result
    assert record == record
    assert record != pa.Logits(noisy[0], {"shift": noisy[1]})


def test_a_record_without_rows_is_refused():
    with pytest.raises(InputError, match="'logits' has shape"):
        pa.Logits(np.zeros((0, 3)), {"shift": np.zeros((0, 3))})


def test_column_numbers_are_not_taken_for_logits(tmp_path):
    from helpers.pa.command import read

    (tmp_path / "frame.csv").write_text("0,1,2\n1.5,2.5,3.5\n")
    with pytest.raises(InputError, match="line 1: 0,1,2 looks like column numbers"):
        read(tmp_path / "frame.csv")


def test_the_curve_is_drawn_at_the_scale_of_the_logits():
    for scale in (1e-6, 1.0, 1e6):
        low, high = pa.show.range_of_beta(pa.agreement(scale * np.eye(3), scale * np.eye(3)), scale * np.eye(3))
        assert (low * scale, high * scale) == pytest.approx((0.01, 1000.0))


def test_shifts_are_named_where_they_are_missing(noisy):
    record = pa.Logits(noisy[0], {"noise 0.1": noisy[1]})
    result = pa.agreement(*noisy)
    with pytest.raises(InputError, match=r"accuracy has no 'noise 0.1'"):
        pa.show.by_strength({"noise 0.1": result}, {})
    with pytest.raises(InputError, match=r"shift is 'blur 1': the record has noise 0.1"):
        pa.show.worst_rows(result, record, "blur 1", noisy[0], noisy[1])
