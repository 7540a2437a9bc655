"""Each entry of book/errata/pa.yml, shown: the source's claim fails, and what is said to hold instead does."""

import math

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, Dataset, TensorDataset

from helpers import pa
from helpers.calibration import expected_calibration_error
from helpers.datasets import digits
from helpers.errors import InputError
from helpers.models import defences, small, training

from . import oracle

# Whole numbers and a power of two classes: uniform beliefs and the slope at beta = 0 are then exact in floating point.
WHOLE_CLASSES = 16


@pytest.fixture
def whole() -> tuple[np.ndarray, np.ndarray]:
    """100 rows of 16 whole-numbered logits, a fifth of which flip."""
    rng = np.random.default_rng(0)
    logits = rng.integers(-2, 3, size=(100, WHOLE_CLASSES)).astype(float)
    logits[np.arange(100), rng.integers(WHOLE_CLASSES, size=100)] += 6
    return logits, logits + rng.integers(-3, 4, size=logits.shape)


def sketch(
    logits: np.ndarray, shifted: np.ndarray, *, epochs: int = 500, detach: bool = True
) -> tuple[float, torch.Tensor]:
    """The article's sketch from the logits on: its score and its beta. `detach=False` mends the lost gradient."""
    first, second = torch.from_numpy(logits), torch.from_numpy(shifted)

    def loss(beta: torch.Tensor) -> torch.Tensor:
        inner = beta.clone().detach().requires_grad_(True) if detach else beta
        logs = torch.log_softmax(inner * first, dim=1) + torch.log_softmax(inner * second, dim=1)
        return -torch.logsumexp(logs, dim=1).sum() / len(first)

    beta = torch.tensor([1.0], dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.Adam([beta], lr=0.1)
    for _ in range(epochs):
        optimiser.zero_grad()
        loss(beta).backward()
        optimiser.step()
        with torch.no_grad():
            beta.clamp_(min=0.0)
    return math.log(logits.shape[1]) + loss(beta).item(), beta


def slope(logits: torch.Tensor, shifted: torch.Tensor, beta: torch.Tensor) -> torch.Tensor:
    """Derivative of the mean log agreement: E S - E F - E F', each under its own softmax, S = F + F'."""

    def mean(scores: torch.Tensor) -> torch.Tensor:
        return (torch.softmax(beta * scores, dim=1) * scores).sum(dim=1)

    return (mean(logits + shifted) - mean(logits) - mean(shifted)).mean()


def adam(logits: np.ndarray, shifted: np.ndarray, *, start: float = 1.0, epochs: int = 500) -> np.ndarray:
    """The sources' search, mended: beta after each epoch of Adam at rate 0.1 on all rows, clamped at 0.

    The slope is written out, since what automatic differentiation gives at beta = 0 is rounding noise.
    """
    first, second = torch.from_numpy(logits), torch.from_numpy(shifted)
    beta = torch.tensor(start, dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.Adam([beta], lr=0.1)
    path = []
    with torch.no_grad():
        for _ in range(epochs):
            beta.grad = -slope(first, second, beta)
            optimiser.step()
            beta.clamp_(min=0.0)
            path.append(beta.item())
    return np.array(path)


def score_at(logits: np.ndarray, shifted: np.ndarray, beta: float) -> float:
    """log k plus the mean log agreement at one beta."""
    return math.log(logits.shape[1]) + oracle.kernel(logits, shifted, beta)


def votes(n: int, k: int, flips: int, *, scale: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """One-hot logits times `scale`; the first `flips` of the n rows go to each other class in turn."""
    before = np.arange(n) % k
    after = before.copy()
    after[:flips] = (before[:flips] + 1 + np.arange(flips) // k % (k - 1)) % k
    return scale * np.eye(k)[before], scale * np.eye(k)[after]


class Pairs(Dataset):
    """Pairs by index, as in the authors' data set: as many as the shortest side has."""

    def __init__(self, *sides: torch.Tensor) -> None:
        self.sides = sides

    def __len__(self) -> int:
        return min(len(side) for side in self.sides)

    def __getitem__(self, index: int) -> list[torch.Tensor]:
        return [side[index] for side in self.sides]


def test_kernel_not_concave(noisy, bimodal):
    """A concave function with slope 0 at 0 could never exceed its value there: the score would always be 0."""
    for logits, shifted, sign in ((*noisy, 1), (*bimodal, 1), (noisy[0], -noisy[1], -1)):
        first, second = torch.from_numpy(logits), torch.from_numpy(shifted)
        beta = torch.tensor(0.0, dtype=torch.float64, requires_grad=True)
        logs = torch.log_softmax(beta * first, dim=1) + torch.log_softmax(beta * second, dim=1)
        (first_order,) = torch.autograd.grad(torch.logsumexp(logs, 1).mean(), beta, create_graph=True)
        (second_order,) = torch.autograd.grad(first_order, beta)
        centred = [array - array.mean(axis=1, keepdims=True) for array in (logits, shifted)]
        covariance = float(np.mean(centred[0] * centred[1]))
        assert first_order.item() == pytest.approx(0, abs=1e-12)
        assert second_order.item() == pytest.approx(2 * covariance, rel=1e-9)
        assert np.sign(covariance) == sign

    grid = np.linspace(0, 12, 241)
    rising, falling = (
        np.array([np.logaddexp.reduce(beta * scores, axis=1).sum() for beta in grid])
        for scores in (sum(bimodal), np.vstack(bimodal))
    )
    values = np.array([oracle.kernel(*bimodal, beta) for beta in grid])
    assert values == pytest.approx((rising - falling) / 2, abs=1e-12)
    assert (np.diff(rising, 2) > 0).all() and (np.diff(falling, 2) > 0).all()
    bends = np.diff(values, 2)
    assert bends.min() < -1e-6 and bends.max() > 1e-6

    (left, _), (right, _) = pa.agreement(*bimodal).local_maxima
    valley = min(oracle.kernel(*bimodal, beta) for beta in np.linspace(left, right, 50))
    assert valley < min(oracle.kernel(*bimodal, left), oracle.kernel(*bimodal, right)) - 1e-3


def test_one_start_does_not_suffice(bimodal):
    from_one, from_ten = (adam(*bimodal, start=start)[-1] for start in (1.0, 10.0))
    assert (f"{from_one:.2f}", f"{from_ten:.2f}") == ("1.57", "9.58")
    assert f"{score_at(*bimodal, from_one):.3f}" == "0.159"
    assert f"{score_at(*bimodal, from_ten):.3f}" == "0.189"
    result = pa.agreement(*bimodal)
    assert [beta for beta, _ in result.local_maxima] == pytest.approx([from_one, from_ten], rel=1e-3)
    assert result.beta == pytest.approx(from_ten, rel=1e-3)

    # a local maximum at 0.53 that lies below the limit: log 3 from one row, log 3 - log 2 from the tied one
    tied = np.array([[0.8, 0.8, -0.5], [0.7, 6.4, 19.3]]), np.array([[0.5, -0.4, 0.2], [-15.1, -3.4, 12.9]])
    result = pa.agreement(*tied)
    assert len(result.local_maxima) == 1 and result.local_maxima[0][1] > 0.5
    assert (result.beta, result.value) == (math.inf, pytest.approx(math.log(3) - math.log(2) / 2))


def test_zero_is_absorbing(whole):
    logits, shifted = (300 * array for array in whole)
    at_zero = slope(torch.from_numpy(logits), torch.from_numpy(shifted), torch.tensor(0.0))
    assert at_zero.item() == 0.0

    path = adam(logits, shifted)
    assert path[:9] == pytest.approx(1 - 0.1 * np.arange(1, 10), abs=0.02)
    assert path[9] == pytest.approx(0, abs=0.01)
    assert (path[10:] == 0.0).all()
    assert pa.agreement(logits, shifted).value > score_at(logits, shifted, 0.0) + 1

    assert adam(*whole)[-1] == pytest.approx(pa.agreement(*whole).beta, rel=1e-3)  # never gets to 0


def test_sketch_beta_never_moves(noisy):
    logits, shifted = (array[:50] for array in noisy)
    score, beta = sketch(logits, shifted)
    assert beta.grad is None
    assert beta.item() == 1.0
    assert score == pytest.approx(math.log(6) - pa.kernel(logits, shifted, 1.0), abs=1e-12)

    _, mended = sketch(logits, shifted, detach=False)
    assert mended.grad is not None
    assert mended.item() == pytest.approx(pa.agreement(logits, shifted).beta, rel=1e-3)
    assert abs(mended.item() - 1.0) > 0.5


def test_sketch_score_inverted(noisy):
    logits, shifted = noisy
    shuffled = shifted[np.random.default_rng(0).permutation(len(shifted))]
    for options in ({"epochs": 1}, {"epochs": 100, "detach": False}):
        matched, unmatched = (sketch(logits, other, **options)[0] for other in (shifted, shuffled))
        assert unmatched > matched >= math.log(6)
    assert pa.agreement(logits, shifted).value > pa.agreement(logits, shuffled).value + 0.5
    for beta in (0.0, 0.1, 1.0, 10.0):
        assert max(pa.kernel(logits, other, beta) for other in (shifted, shuffled)) <= 0


def test_sketch_truncates_pairs(noisy):
    logits, shifted = (torch.from_numpy(array[:12]) for array in noisy)

    def walk(second: torch.Tensor, *, shuffle: bool = False) -> list[np.ndarray]:
        """The logits that the sketch gathers, four rows at a time."""
        generator = torch.Generator().manual_seed(0)
        loaders = (
            DataLoader(TensorDataset(logits), batch_size=4),
            DataLoader(TensorDataset(second), batch_size=4, shuffle=shuffle, generator=generator),
        )
        batches = [(first, other) for (first,), (other,) in zip(*loaders, strict=False)]
        return [torch.cat(part).numpy() for part in zip(*batches, strict=True)]

    assert [len(part) for part in walk(shifted[:8])] == [8, 8]  # four rows gone, nothing said
    assert len(DataLoader(Pairs(logits, shifted[:7]), batch_size=1)) == 7
    with pytest.raises(InputError, match=r"logits has shape \(12, 6\) and shifted \(8, 6\)"):
        pa.agreement(logits, shifted[:8])

    value = pa.agreement(logits, shifted).value
    assert pa.agreement(*walk(shifted)).value == pytest.approx(value, abs=1e-12)
    assert pa.agreement(*walk(shifted, shuffle=True)).value < value - 0.5


def test_no_flip_is_not_calibration(noisy):
    """Labels drawn from the model's own beliefs make it calibrated; ten times the logits make it overconfident."""
    logits = noisy[0] / 3
    beliefs = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    drawn = (np.random.default_rng(0).random((400, 1)) > beliefs.cumsum(axis=1)).sum(axis=1)
    errors, stopped = [], []
    for scale in (1.0, 10.0):
        errors.append(expected_calibration_error(scale * logits, drawn))
        for shifted in (scale * logits, 0.5 * scale * logits + 3):
            result = pa.agreement(scale * logits, shifted)
            assert (result.value, result.beta) == (pytest.approx(math.log(6), abs=1e-12), math.inf)
        path = adam(scale * logits, scale * logits, epochs=200)
        stopped.append([score_at(scale * logits, scale * logits, path[epoch]) for epoch in (19, 199)])
    assert errors[0] < 0.1 < 0.3 < errors[1]
    for after_20, after_200 in stopped:
        assert after_20 < after_200 < math.log(6)
    assert stopped[0][1] < stopped[1][1]  # the calibrated model is rated lower


def test_perfect_model_has_no_finite_beta():
    """The thesis' experiment: 1000 rows, two classes, logits of +-1/2 that never change."""
    labels = np.arange(1000) % 2
    for predicted in (labels, np.zeros(1000, dtype=int)):
        logits = np.eye(2)[predicted] - 0.5
        total = 1000 * pa.kernel(logits, logits, 12.33)
        assert total == pytest.approx(-0.0082, rel=0.1)  # the printed number is the sum, not the mean
        assert total < 1000 * pa.kernel(logits, logits, 12.4) < 1000 * pa.kernel(logits, logits, 25.0) < 0
        result = pa.agreement(logits, logits)
        assert (result.status, result.beta) == ("infinite", math.inf)
        assert result.value == pytest.approx(math.log(2), abs=1e-12)
        assert pa.kernel(logits, logits, math.inf) == 0.0

        path = adam(logits[:10], logits[:10])
        assert (np.diff(path) > 0).all()  # beta is the number of epochs, in other units
        assert path[249] < path[499] - 0.5


def test_adam_depends_on_logit_scale(whole):
    reference = pa.agreement(*whole)
    for scale in (0.003, 1.0, 300.0):
        logits, shifted = (scale * array for array in whole)
        missed = reference.value - score_at(logits, shifted, adam(logits, shifted)[-1])
        assert missed == pytest.approx(0, abs=1e-6) if scale == 1.0 else missed > 1
        result = pa.agreement(logits, shifted)
        assert result.value == pytest.approx(reference.value, abs=1e-9)
        assert result.beta * scale == pytest.approx(reference.beta, rel=1e-8)


def test_beta_not_comparable(noisy):
    logits, shifted = noisy
    result, tenth = pa.agreement(logits, shifted), pa.agreement(logits / 10, shifted / 10)
    assert tenth.value == pytest.approx(result.value, abs=1e-9)
    assert tenth.beta == pytest.approx(10 * result.beta, rel=1e-8)
    assert tenth.beta_margin == pytest.approx(result.beta_margin, rel=1e-8)

    robust, fragile = pa.agreement(*votes(900, 10, 9, scale=10.0)), pa.agreement(*votes(900, 10, 450, scale=0.1))
    assert robust.value > fragile.value + 1
    assert robust.beta < fragile.beta
    assert robust.beta_margin > fragile.beta_margin


def test_disagreement_does_not_force_zero():
    clean, shifted = np.array([[1.0, 0.9, -5.0]]), np.array([[0.9, 1.0, -5.0]])
    assert pa.failure_rate(shifted, clean).count == 0
    result = pa.agreement(clean, shifted)
    assert (f"{result.value:.2f}", f"{result.beta:.2f}", result.status) == ("0.40", "1.16", "interior")
    assert score_at(clean, shifted, result.beta) == pytest.approx(result.value, abs=1e-12)
    # without the third class, which both rule out, nothing remains
    assert pa.agreement(clean[:, :2], shifted[:, :2]).value == 0
    assert result.value == pytest.approx(math.log(3) - math.log(2), abs=0.01)


def test_constant_model_needs_a_preference():
    for k in (3, 5):
        tied = np.zeros((7, k))
        tied[:, :2] = 1
        preferring, uniform = np.tile(np.arange(k) / 7, (7, 1)), np.tile(np.arange(7.0)[:, None], (1, k))
        assert pa.agreement(preferring, preferring).value == pytest.approx(math.log(k), abs=1e-12)
        assert pa.agreement(tied, tied).value == pytest.approx(math.log(k) - math.log(2), abs=1e-12)
        flat = pa.agreement(uniform, uniform)
        assert (flat.value, flat.status) == (0.0, "flat")


def test_exponential_underflows():
    small, large = pa.agreement(*votes(1000, 10, 10)), pa.agreement(*votes(10_000, 10, 100))
    sums = [result.n * (result.value - math.log(10)) for result in (small, large)]
    assert f"{sums[1]:.0f}" == "-780"
    assert torch.exp(torch.tensor(sums, dtype=torch.float64))[1].item() == 0.0
    assert math.exp(-745) > 0 == math.exp(-746)
    assert f"{100 * large.relative:.0f}" == "97"
    assert large.value == pytest.approx(small.value, abs=1e-2)


def test_softmax_product_underflows(noisy):
    def by_product(logits: torch.Tensor, shifted: torch.Tensor) -> torch.Tensor:
        return torch.log((torch.softmax(logits, dim=1) * torch.softmax(shifted, dim=1)).sum(dim=1))

    logits, shifted = (torch.from_numpy(array) for array in noisy)
    assert by_product(logits, shifted).numpy() == pytest.approx(oracle.kernel_rows(*noisy, 1.0), abs=1e-9)

    clean = torch.tensor([[200.0, 0.0]] * 9 + [[200.0, 0.0]])
    flipped = torch.tensor([[200.0, 0.0]] * 9 + [[0.0, 200.0]])
    rows = by_product(clean, flipped)
    assert rows.isneginf().tolist() == [False] * 9 + [True]
    assert rows.sum().item() == -math.inf
    assert pa.kernel(clean[9:], flipped[9:], 1.0) == pytest.approx(math.log(2) - 200, abs=1e-9)
    assert pa.kernel(clean, flipped, 1.0) == pytest.approx((math.log(2) - 200) / 10, abs=1e-9)


def test_ratio_mixes_rows(noisy):
    logits, attacked = noisy[0], np.roll(noisy[0], 1, axis=1)  # every row flips
    result = pa.curve(logits, attacked, [0.3])[0]
    assert result.flips.count == 0.3 * len(logits)
    rows = np.random.default_rng(0).permutation(400)[:120]
    mixed = logits.copy()
    mixed[rows] = attacked[rows]
    assert result.value == pytest.approx(pa.agreement(logits, mixed).value, abs=1e-9)
    blended = pa.agreement(logits, 0.3 * attacked + 0.7 * logits)
    assert abs(result.value - blended.value) > 0.1

    half = np.repeat([True, False], 200)  # a hard and a harmless half
    partly = np.where(half[:, None], attacked, logits)
    size = np.abs(partly - logits).max(axis=1)
    values = [pa.curve(logits, partly, [0.3], order=name, size=size)[0].value for name in ("smallest", "largest")]
    assert values[0] == pytest.approx(math.log(6), abs=1e-9)
    assert values[1] < values[0] - 1

    clean, flipped = votes(400, 4, 400)
    for seed in (0, 1):
        assert [step.flips.count for step in pa.curve(clean, flipped, [0.1, 0.2, 0.4], seed=seed)] == [40, 80, 160]
        first = np.random.default_rng(seed).permutation(400)[:40]
        only_first = clean.copy()
        only_first[first] = flipped[first]
        # the rows of the lowest ratio belong to every higher one
        assert [step.flips.count for step in pa.curve(clean, only_first, [0.1, 0.2, 0.4], seed=seed)] == [40, 40, 40]


def test_failure_rate_counts_rows():
    def by_batches(shifted: np.ndarray, labels: np.ndarray, size: int = 16) -> float:
        """As the authors' base class counts: over the number of batches times the length of the last one."""
        same, batches = 0, 0
        for start in range(0, len(labels), size):
            batch = labels[start : start + size]
            same += int((shifted[start : start + size].argmax(axis=1) == batch).sum())
            batches += 1
        return same / (len(batch) * batches)

    for n, right in ((10, True), (48, True), (40, False), (49, False)):
        labels = np.arange(n) % 4
        rate = pa.failure_rate(np.eye(4)[labels], labels)
        assert (rate.count, rate.n, rate.rate) == (n, n, 1.0)
        assert (by_batches(np.eye(4)[labels], labels) == 1.0) is right
    assert by_batches(np.eye(4)[labels], labels) > 1

    # of ten rows two are wrong from the start, four are attacked (one of the wrong among them), three of these flip
    labels = np.zeros(10, dtype=int)
    clean = np.array([1, 1, 0, 0, 0, 0, 0, 0, 0, 0])
    shifted = np.array([2, 1, 1, 1, 0, 0, 0, 0, 0, 0])
    rate = pa.failure_rate(np.eye(4)[shifted], labels)
    assert (rate.count, rate.n) == (6, 10)
    assert pa.failure_rate(np.eye(4)[shifted], np.eye(4)[clean]).count == 7


@pytest.fixture(scope="module")
def digit_network():
    """An undefended network and 150 test digits."""
    split = digits.load()
    model = training.fit(small.SmallCNN(), split.train_images, split.train_labels, epochs=10)
    return model, split.test_images[:150], split.test_labels[:150]


def test_l2_default_is_a_weak_attack(digit_network):
    model, images, labels = digit_network
    found = {
        norm: pa.table(
            pa.measure.logits(
                model, images, pa.measure.attacked(model, images, labels, [0.3], norm=norm), labels=labels
            )
        )[0]
        for norm in ("linf", "l2")
    }
    assert found["linf"].afr_t.rate < 0.1
    assert found["l2"].afr_t.rate > 0.5
    # under the real attack both fall together, where the source saw accuracy stay
    assert found["linf"].agreement.relative < 0.15 < found["l2"].agreement.relative


def test_hidden_gradient_is_no_defence(digit_network):
    model, images, labels = digit_network
    defended = defences.JpegReverseSigmoid(model)
    around = torch.nn.Sequential(defences.Jpeg(gradient="straight_through"), model)

    def judge(attacked_on):
        pictures = pa.measure.attacked(attacked_on, images, labels, [0.15], steps=10)
        return pa.table(pa.measure.logits(defended, images, pictures, labels=labels))[0]

    naive, through, transferred = judge(defended), judge(around), judge(model)
    assert naive.afr_t.rate > 0.8
    assert max(through.afr_t.rate, transferred.afr_t.rate) < 0.5
    assert through.agreement.value < naive.agreement.value - 0.5
