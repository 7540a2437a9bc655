"""Calibration against loops and grids that leave nothing to a library."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from helpers.calibration import expected_calibration_error, fit_temperature
from helpers.errors import InputError


@st.composite
def predictions(draw):
    """Logits of a middling classifier, and labels."""
    n, k = draw(st.integers(1, 40)), draw(st.integers(2, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return rng.normal(0, draw(st.floats(0.1, 5)), size=(n, k)), rng.integers(k, size=n)


def ece_by_hand(logits, labels, bins):
    """Guo et al., equation 3, one row at a time: a bin is ((b - 1) / bins, b / bins]."""
    members = [[] for _ in range(bins)]
    for row, label in zip(np.asarray(logits, dtype=float), labels, strict=True):
        exps = [math.exp(x - max(row)) for x in row]
        confidence = max(exps) / sum(exps)
        b = next(b for b in range(1, bins + 1) if confidence <= b / bins or b == bins)
        members[b - 1].append((confidence, int(np.argmax(row)) == label))
    total = 0.0
    for bin_ in members:
        if bin_:
            confidence, right = np.mean(bin_, axis=0)
            total += len(bin_) / len(labels) * abs(right - confidence)
    return total


def cross_entropy(logits, labels, temperature):
    scores = np.asarray(logits) / temperature
    scores = scores - scores.max(axis=1, keepdims=True)
    return np.mean(np.log(np.exp(scores).sum(axis=1)) - scores[np.arange(len(labels)), labels])


@given(predictions(), st.integers(1, 20))
def test_ece_equals_a_loop(drawn, bins):
    ece = expected_calibration_error(*drawn, bins=bins)
    assert ece == pytest.approx(ece_by_hand(*drawn, bins), abs=1e-12)
    assert 0 <= ece <= 1


def test_ece_at_the_edges_of_bins():
    """Confidences of exactly 1/4, 1/2 and 1 belong to the bin below the edge.

    The rows are right and wrong so that a row in the wrong bin would no longer cancel its neighbour's gap.
    """
    gone = -1000.0  # its exponential is exactly 0
    logits = [
        [0.0, gone, gone, gone],  # confidence 1, in (3/4, 1] with the next
        [0.0, -3.0, gone, gone],
        [0.0, 0.0, gone, gone],  # confidence 1/2, in (1/4, 1/2] with the next
        [1.0, 1.0, 0.6, 0.6],
        [0.0, 0.0, 0.0, 0.0],  # confidence 1/4, alone in (0, 1/4]
    ]
    labels = [1, 0, 0, 2, 3]
    high, middle = 1 / (1 + math.exp(-3)), 1 / (2 + 2 * math.exp(-0.4))
    expected = (abs((0 - 1) + (1 - high)) + abs((1 - 0.5) + (0 - middle)) + abs(0 - 0.25)) / 5
    assert expected_calibration_error(logits, labels, bins=4) == pytest.approx(expected, abs=1e-12)
    assert ece_by_hand(logits, labels, 4) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("logits", "labels", "ece"),
    [
        ([[50.0, 0.0]] * 4, [0, 0, 0, 0], 0.0),
        ([[900.0, 0.0]] * 4, [1, 1, 1, 1], 1.0),
        ([[0.0, 0.0]] * 4, [0, 1, 0, 1], 0.0),
        ([[math.log(3), 0.0]] * 4, [0, 0, 0, 1], 0.0),
    ],
)
def test_ece_of_clear_cases(logits, labels, ece):
    assert expected_calibration_error(logits, labels) == pytest.approx(ece, abs=1e-12)


@given(predictions())
def test_temperature_is_the_lowest_point_of_a_dense_grid(drawn):
    temperature = fit_temperature(*drawn)
    losses = [cross_entropy(*drawn, t) for t in np.geomspace(1e-3, 1e3, 1200)]
    if temperature == 0.0:
        best = 0.0 if np.all(drawn[0].argmax(axis=1) == drawn[1]) else min(losses)
    elif math.isinf(temperature):
        best = math.log(drawn[0].shape[1])
    else:
        best = cross_entropy(*drawn, temperature)
    assert best <= min(losses) + 1e-12
    assert min(losses) <= best + 1e-3 or not 1e-3 < temperature < 1e3


def test_temperature_closed_form():
    """Two classes, equal margins D, a share r right: sigmoid(D / T) = r."""
    for right, margin in ((9, 1.0), (6, 40.0), (7, 1e-3)):
        logits = np.tile([margin, 0.0], (10, 1))
        labels = np.arange(10) >= right
        expected = margin / math.log(right / (10 - right))
        assert fit_temperature(logits, labels.astype(int)) == pytest.approx(expected, rel=1e-9)


def test_temperature_follows_the_scale_and_ignores_row_constants():
    rng = np.random.default_rng(0)
    logits, labels = rng.normal(0, 2, size=(300, 4)), rng.integers(4, size=300)
    labels[:200] = logits[:200].argmax(axis=1)
    temperature = fit_temperature(logits, labels)
    for scale in (1e-6, 7.0, 1e6):
        moved = scale * logits + 100 * scale * rng.normal(size=(300, 1))
        assert fit_temperature(moved, labels) == pytest.approx(scale * temperature, rel=1e-6)


@pytest.mark.parametrize("mask", [-1e3, -1e9, -1e12, -1e30])
def test_a_masked_class_leaves_the_temperature_alone(mask):
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(200, 5))
    labels = np.where(np.arange(200) < 60, rng.integers(5, size=200), logits.argmax(axis=1))
    masked = np.column_stack([logits, np.full(200, mask)])
    assert fit_temperature(masked, labels) == pytest.approx(fit_temperature(logits, labels), rel=1e-9)


@pytest.mark.parametrize(
    ("logits", "labels", "temperature"),
    [
        ([[1.0, 0.0], [0.0, 2.0]], [0, 1], 0.0),  # all right: the colder, the better
        ([[1.0, 0.0], [0.0, 2.0]], [1, 0], math.inf),  # all wrong: the warmer, the better
        ([[1.0, 0.0], [1.0, 0.0]], [0, 1], math.inf),  # as often wrong as right
        ([[3.0, 3.0], [5.0, 5.0]], [0, 1], math.inf),  # says nothing
        ([[4.0]], [0], math.inf),
    ],
)
def test_temperature_without_a_finite_optimum(logits, labels, temperature):
    assert fit_temperature(logits, labels) == temperature


def test_torch_and_half_precision_give_the_numbers_of_numpy():
    rng = np.random.default_rng(1)
    logits = rng.normal(size=(50, 3)).astype(np.float16)
    labels = rng.integers(3, size=50)
    tensors = torch.from_numpy(logits).requires_grad_(), torch.from_numpy(labels)
    for function in (expected_calibration_error, fit_temperature):
        bfloat = tensors[0].to(torch.bfloat16)
        assert function(bfloat, labels) == function(bfloat.float(), labels)
        assert function(*tensors) == function(logits, labels) == function(logits.astype(float), labels)


GOOD = [[1.0, 0.0], [0.0, 1.0]]


@pytest.mark.parametrize(
    ("logits", "labels", "message"),
    [
        ([1.0, 0.0], [0, 1], "logits has shape (2,)"),
        (np.zeros((0, 2)), [], "logits has shape (0, 2)"),
        (GOOD, [0], "labels has shape (1,): give 2 class numbers"),
        (GOOD, [0, 2], "labels[1] is 2"),
        (GOOD, [0.0, 1.0], "labels has shape (2,) and type float64"),
        ([[1.0, 0.0], [0.0, math.nan]], [0, 1], "logits[1, 1] is nan: every value must be finite"),
        ([[math.inf, 0.0], [0.0, 1.0]], [0, 1], "logits[0, 0] is inf"),
        (np.array(GOOD, dtype=bool), [0, 1], "logits has type bool"),
    ],
)
def test_refusals(logits, labels, message):
    for function in (expected_calibration_error, fit_temperature):
        with pytest.raises(InputError) as refusal:
            function(logits, labels)
        assert message in str(refusal.value)


@pytest.mark.parametrize("bins", [0, -3])
def test_bins_are_at_least_one(bins):
    with pytest.raises(InputError, match=f"bins is {bins}: give a whole number of at least 1"):
        expected_calibration_error(GOOD, [0, 1], bins=bins)
