"""The score against worked values, an oracle of its own, and everything that must not change it."""

import json
import math

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays as hnp_arrays

from helpers import pa
from helpers.errors import InputError
from helpers.pa import numerics

from . import oracle

values = st.floats(-20, 20, allow_nan=False).map(lambda x: round(x, 3))


@st.composite
def pairs(draw, max_rows=8, max_classes=5):
    """Two arrays of logits of one shape."""
    shape = (draw(st.integers(1, max_rows)), draw(st.integers(2, max_classes)))
    first = draw(hnp_arrays(np.float64, shape, elements=values))
    second = draw(hnp_arrays(np.float64, shape, elements=values))
    # probabilities by chance would be refused, rightly
    assume(not any(np.allclose(array.sum(axis=1), 1, atol=0.02) for array in (first, second)))
    return first, second


@pytest.mark.data
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-9), (np.float32, 1e-6)])
def test_worked_examples(shared, dtype, tolerance):
    for example, logits, shifted in oracle.examples(shared):
        result = pa.agreement(logits.astype(dtype), shifted.astype(dtype))
        name = example["id"]
        assert result.value == pytest.approx(float(example["value"]), abs=tolerance), name
        expected = float(example["beta"].lstrip("+").replace("flat", "0"))
        if dtype == np.float64:
            assert result.beta == pytest.approx(expected, rel=1e-9), name
            assert len(result.local_maxima) == len(example["local_maxima"]), name
            for (beta, value), (its_beta, its_kernel) in zip(result.local_maxima, example["local_maxima"], strict=True):
                assert beta == pytest.approx(float(its_beta), rel=1e-8), name
                assert value == pytest.approx(float(its_kernel) + math.log(logits.shape[1]), abs=1e-9), name
            at_one = pa.kernel(logits, shifted, 1.0)
            assert at_one == pytest.approx(float(example["kernel_at_1"]), abs=1e-9), name
        assert result.certified, name


@given(pairs())
def test_equals_a_dense_grid(pair):
    result = pa.agreement(*pair)
    dense = oracle.dense_value(*pair, points=300)
    # the grid can only fall short, by its spacing: ratio 1.07, curvature of order log k
    assert dense - 1e-9 <= result.value <= dense + 5e-3
    assert result.value <= result.bound + 1e-12


@given(pairs())
def test_is_the_kernel_at_its_own_beta(pair):
    result = pa.agreement(*pair)
    at_optimum = oracle.limit(*pair) if math.isinf(result.beta) else oracle.kernel(*pair, result.beta)
    assert result.value == pytest.approx(at_optimum + math.log(result.k), abs=1e-9)
    assert 0 <= result.value <= math.log(result.k) + 1e-12
    assert result.per_row.mean() == pytest.approx(result.value, abs=1e-9)


@given(pairs())
def test_status_says_what_beta_is(pair):
    result = pa.agreement(*pair)
    assert {
        "interior": 0 < result.beta < math.inf and result.value > 0,
        "infinite": math.isinf(result.beta),
        "zero": result.beta == 0 and result.value == 0,
        "flat": result.beta == 0 and result.value == 0,
    }[result.status]
    assert result.certified


@given(pairs(), st.floats(-5, 5), st.floats(-5, 5), st.randoms(use_true_random=False))
def test_invariances(pair, first_constant, second_constant, random):
    """Row constants, permutations of rows and classes, exchange of the two arrays, repeated rows."""
    logits, shifted = pair
    value = pa.agreement(logits, shifted).value
    rows = random.sample(range(len(logits)), len(logits))
    classes = random.sample(range(logits.shape[1]), logits.shape[1])
    variants = {
        "exchanged": (shifted, logits),
        "rows": (logits[rows], shifted[rows]),
        "classes": (logits[:, classes], shifted[:, classes]),
        "repeated": (np.repeat(logits, 3, axis=0), np.repeat(shifted, 3, axis=0)),
    }
    for name, variant in variants.items():
        assert pa.agreement(*variant).value == pytest.approx(value, abs=1e-9), name


def test_row_constants_change_nothing(noisy):
    logits, shifted = noisy
    constants = np.random.default_rng(2).normal(0, 100, size=(len(logits), 1))
    assert pa.agreement(logits + constants, shifted - constants).value == pytest.approx(
        pa.agreement(logits, shifted).value, abs=1e-9
    )


@pytest.mark.parametrize("scale", [1e-6, 1e-3, 1.0, 300.0, 1e6])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_scale_law(noisy, scale, dtype):
    logits, shifted = noisy
    reference = pa.agreement(logits, shifted)
    scaled = pa.agreement((scale * logits).astype(dtype), (scale * shifted).astype(dtype))
    assert scaled.value == pytest.approx(reference.value, abs=1e-9 if dtype == np.float64 else 1e-6)
    assert scaled.beta * scale == pytest.approx(reference.beta, rel=1e-8 if dtype == np.float64 else 1e-5)
    assert scaled.beta_margin == pytest.approx(reference.beta_margin, rel=1e-5)


@pytest.mark.parametrize(
    ("classes", "rate", "scale", "value", "beta"),
    [
        (1000, 0.01, 1.0, 6.7826861968408, 12.1975350157011),
        (10, 0.5, 1.0, 0.510825623765991, 3.04452243772342),
    ],
)
def test_closed_form_for_votes(classes, rate, scale, value, beta):
    """One-hot logits: capacity of the k-ary symmetric channel, every other class hit equally often."""
    n = 100 * (classes - 1) if classes < 100 else 100 * 10
    labels = np.zeros(n, dtype=int)
    flipped = labels.copy()
    flips = round(rate * n)
    flipped[:flips] = 1 + np.arange(flips) % (classes - 1)
    result = pa.agreement(scale * np.eye(classes)[labels], scale * np.eye(classes)[flipped])
    assert result.value == pytest.approx(value, abs=1e-9)
    assert result.flip_rate_only == pytest.approx(value, abs=1e-9)
    assert result.beta == pytest.approx(beta, rel=1e-9)
    assert result.flips.count == flips


@given(st.integers(2, 50), st.integers(1, 30), st.integers(0, 30), st.floats(0.01, 50))
def test_two_class_closed_form(n, agree, flip, scale):
    """Equal margins D, flip rate r: log 2 - H(r) and beta = 2 atanh(sqrt(1 - 2 r)) / D."""
    logits = np.tile([scale, 0.0], (agree + flip, 1))
    shifted = logits.copy()
    shifted[:flip] = shifted[:flip, ::-1]
    result = pa.agreement(logits - 5.0, shifted - 5.0)
    rate = flip / (agree + flip)
    assert result.value == pytest.approx(pa.flip_rate_capacity(rate, 2), abs=1e-9)
    if 0 < rate < 0.5:
        assert result.beta * scale == pytest.approx(2 * math.atanh(math.sqrt(1 - 2 * rate)), rel=1e-6)


def test_two_local_maxima_and_the_global_one(bimodal):
    logits, shifted = bimodal
    result = pa.agreement(logits, shifted)
    assert len(result.local_maxima) == 2
    assert result.value == max(value for _, value in result.local_maxima)
    assert result.certified


def test_three_local_maxima():
    """Rows whose scales lie decades apart; found by random search, its maxima lie at 0.12, 13.6 and 45."""
    logits = np.array([[50.0, 0.0, -10.0], [4.2, 3.3, -4.2], [0.02, 0.07, 0.08]])
    shifted = np.array([[330.0, 20.0, 70.0], [1.2, -1.5, 0.9], [0.04, 0.07, -0.08]])
    result = pa.agreement(logits, shifted)
    assert [beta for beta, _ in result.local_maxima] == pytest.approx([0.1219, 13.63, 45.38], rel=1e-3)
    assert result.beta == result.local_maxima[1][0]
    assert result.value == pytest.approx(oracle.dense_value(logits, shifted), abs=1e-4)


def test_scales_decades_apart():
    """The maximum of one row may lie where all others are flat; a dense grid over nine decades finds no more."""
    rng = np.random.default_rng(5)
    for _ in range(40):
        scales = np.array([[300.0], [3.0], [0.05]])
        logits = rng.normal(size=(3, 3)) * scales
        shifted = rng.normal(size=(3, 3)) * scales
        assert pa.agreement(logits, shifted).value >= oracle.dense_value(logits, shifted, points=300) - 1e-9


def test_an_almost_equal_maximum_is_not_missed(bimodal):
    """Weights of rows tuned until both maxima agree to 1e-3: the higher one wins on either side."""
    logits, shifted = bimodal
    for copies in range(1, 30, 3):
        rows = [0] * 10 + [1] * copies
        result = pa.agreement(logits[rows], shifted[rows])
        assert result.value >= oracle.dense_value(logits[rows], shifted[rows], points=400) - 1e-9


def test_confident_flips_do_not_overflow():
    """log 2 - 200 at beta = 1 for logits (200, 0) against (0, 200), also in float32 and half precision."""
    for dtype in (np.float64, np.float32, np.float16):
        clean = np.array([[200.0, 0.0]], dtype=dtype)
        assert pa.kernel(clean, clean[:, ::-1], 1.0) == pytest.approx(math.log(2) - 200, rel=1e-12)
    huge = np.array([[3e38, 0.0, -3e38]], dtype=np.float32)
    assert pa.agreement(huge, huge).status == "infinite"
    assert pa.agreement(np.repeat(huge, 2, 0), np.vstack([huge, huge[:, ::-1]])).value >= 0


def test_half_precision_is_widened_before_any_sum():
    """F + F' of 40,000 overflows half precision (65,504); rounding there makes ties, which are kept."""
    clean = np.array([[40_000.0, 0.0], [0.0, 40_000.0]], dtype=np.float16)
    assert pa.agreement(clean, clean).value == pytest.approx(math.log(2), abs=1e-12)
    tied = np.array([[1000.1, 1000.0, 0.0]], dtype=np.float16)
    assert pa.agreement(tied, tied).value == pytest.approx(math.log(3) - math.log(2), abs=1e-9)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_torch_gives_the_same_numbers(noisy, dtype):
    logits, shifted = (torch.from_numpy(array).to(dtype) for array in noisy)
    ours = pa.agreement(logits, shifted, confidence=0.9)
    numpy = pa.agreement(logits.double().numpy(), shifted.double().numpy(), confidence=0.9)
    assert ours.value == pytest.approx(numpy.value, abs=1e-12)
    assert ours.interval == pytest.approx(numpy.interval, abs=1e-9)
    assert isinstance(ours.per_row, np.ndarray)


def test_a_tensor_with_gradient_is_scored_without_it(noisy):
    logits, shifted = (torch.from_numpy(array) for array in noisy)
    assert pa.agreement(logits.requires_grad_(), shifted).value == pa.agreement(*noisy).value


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_gpu_gives_the_same_numbers(noisy):
    logits, shifted = (torch.from_numpy(array).cuda() for array in noisy)
    assert pa.agreement(logits, shifted).value == pytest.approx(pa.agreement(*noisy).value, abs=1e-9)


@pytest.mark.parametrize("chunk", [1, 7, 100, 10_000])
def test_chunks_change_nothing(noisy, chunk):
    few = [array[:101] for array in noisy]
    whole, parts = pa.agreement(*few, confidence=0.9), pa.agreement(*few, confidence=0.9, chunk=chunk)
    assert parts.value == pytest.approx(whole.value, abs=1e-12)
    assert parts.interval == pytest.approx(whole.interval, abs=1e-9)


def test_memory_mapped_files(noisy, tmp_path):
    for name, array in zip(("a", "b"), noisy, strict=True):
        np.save(tmp_path / f"{name}.npy", array)
    mapped = [np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in "ab"]
    assert pa.agreement(*mapped).value == pa.agreement(*noisy).value


def test_large_float32_data_reach_float64_accuracy():
    """Above a million elements the search runs in float32; the last word is float64."""
    rng = np.random.default_rng(3)
    logits = rng.normal(0, 3, size=(12_000, 100)).astype(np.float32)
    shifted = logits + rng.normal(0, 2, size=logits.shape).astype(np.float32)
    large = pa.agreement(logits, shifted)
    exact = pa.agreement(logits.astype(np.float64), shifted.astype(np.float64))
    assert large.value == pytest.approx(exact.value, abs=1e-9)
    assert large.beta == pytest.approx(exact.beta, rel=1e-6)
    assert large.certified


@pytest.mark.parametrize("small", [numerics.SMALL, 1000])
def test_extreme_masks_in_float32(monkeypatch, small):
    """Classes masked with the most negative float32 must not turn sums into infinities, in large data neither."""
    monkeypatch.setattr(numerics, "SMALL", small)
    rng = np.random.default_rng(4)
    logits = rng.normal(0, 3, size=(300, 6)).astype(np.float32)
    shifted = logits + rng.normal(0, 1, size=logits.shape).astype(np.float32)
    rest = pa.agreement(logits[:, :5].astype(np.float64), shifted[:, :5].astype(np.float64))
    for mask in (-1e9, -1e16, -1e30, np.finfo(np.float32).min):
        masked, both = logits.copy(), shifted.copy()
        masked[:, 5], both[:, 5] = mask, mask
        assert pa.agreement(masked, both).value - math.log(6) == pytest.approx(rest.value - math.log(5), abs=1e-6)


def test_log_probabilities_and_probabilities(noisy):
    logits, shifted = noisy
    value = pa.agreement(logits, shifted).value
    logs = [array - np.log(np.exp(array).sum(axis=1, keepdims=True)) for array in noisy]
    assert pa.agreement(*logs, inputs="log_probs").value == pytest.approx(value, abs=1e-9)
    assert pa.agreement(*map(np.exp, logs), inputs="probs").value == pytest.approx(value, abs=1e-9)


def test_one_class_has_nothing_to_disagree_about():
    result = pa.agreement([[3.0], [4.0]], [[1.0], [0.0]])
    assert (result.value, result.status, result.relative) == (0.0, "flat", None)
    assert "one class" in result.reasons["relative"]


def test_labels_play_no_part_and_worst_rows_come_first(noisy):
    result = pa.agreement(*noisy)
    worst = result.worst_rows(5)
    assert np.all(np.diff(result.per_row[worst]) >= 0)
    assert result.per_row[worst[0]] == result.per_row.min()


def test_beta_margin_is_beta_times_the_median_clean_margin(noisy):
    logits, shifted = noisy
    top = np.sort(logits, axis=1)
    result = pa.agreement(logits, shifted)
    assert result.beta_margin == pytest.approx(result.beta * np.median(top[:, -1] - top[:, -2]), rel=1e-12)


def test_flips_are_rows_without_a_shared_top_class():
    clean = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [2.0, 0.0, 0.0]])
    shifted = np.array([[0.0, 1.0, 1.0], [0.0, 0.0, 1.0], [0.0, 2.0, 0.0]])
    assert pa.agreement(clean, shifted).flips.count == 2


def test_to_dict_is_valid_json(noisy):
    for result in (pa.agreement(*noisy), pa.agreement([[1.0, 0.0]], [[1.0, 0.0]], confidence=0.9)):
        text = json.dumps(result.to_dict(), allow_nan=False)
        assert json.loads(text)["status"] == result.status
    assert json.loads(text)["beta"] == "inf"


NAN, INF = float("nan"), float("inf")
GOOD = [[1.0, 0.0], [0.0, 1.5]]


@pytest.mark.parametrize(
    ("logits", "shifted", "options", "message"),
    [
        ([[1.0, 0.0]], GOOD, {}, "logits has shape (1, 2) and shifted (2, 2)"),
        ([1.0, 0.0], GOOD, {}, "logits has shape (2,)"),
        (GOOD, np.zeros((2, 0)), {}, "shifted has shape (2, 0)"),
        (np.zeros((0, 3)), np.zeros((0, 3)), {}, "logits has shape (0, 3)"),
        ([[1.0, NAN], [0.0, 1.5]], GOOD, {}, "logits[0, 1] is nan"),
        (GOOD, [[1.0, 0.0], [-INF, 1.0]], {}, "shifted[1, 0] is -inf"),
        (np.array([["a", "b"]]), GOOD, {}, "logits has type"),
        (np.array([[1j, 0], [0, 1]]), GOOD, {}, "logits has type complex128"),
        (GOOD, GOOD, {"inputs": "odds"}, "inputs is 'odds'"),
        (GOOD, GOOD, {"chunk": 0}, "chunk is 0"),
        (GOOD, GOOD, {"confidence": 95}, "confidence is 95"),
        ([[0.9, 0.1]], [[0.6, 0.4]], {}, "pass inputs='probs'"),
        ([[0.9, 0.1]], [[6.0, 4.0]], {}, "logits holds probabilities"),
        ([[9.0, 1.0]], [[0.6, 0.4]], {}, "shifted holds probabilities"),
        ([[1.0, 0.0]], [[0.6, 0.4]], {"inputs": "probs"}, "logits[0, 1] is 0.0"),
        ([[0.5, 0.4]], [[0.6, 0.4]], {"inputs": "probs"}, "logits[0] sums to 0.9"),
        ([[0.5, -0.5]], [[0.6, 0.4]], {"inputs": "probs"}, "logits[0, 1] is -0.5"),
        (np.array(GOOD), torch.tensor(GOOD), {}, "different libraries"),
    ],
)
def test_refusals_name_argument_place_and_remedy(logits, shifted, options, message):
    with pytest.raises(InputError) as refusal:
        pa.agreement(logits, shifted, **options)
    assert message in str(refusal.value)


def test_a_bad_value_deep_in_a_large_array_is_named(tmp_path):
    logits = np.zeros((300_000, 10), dtype=np.float32)
    logits[:, 0] = 1
    shifted = logits.copy()
    shifted[271_828, 7] = np.inf
    with pytest.raises(InputError, match=r"shifted\[271828, 7\] is inf"):
        pa.agreement(logits, shifted)


def test_votes_are_not_taken_for_probabilities():
    """Rows of exact zeros and ones sum to 1 as well, and are meant as logits (worked example E02)."""
    votes = np.eye(3)
    assert pa.agreement(votes, votes).value == pytest.approx(math.log(3))
