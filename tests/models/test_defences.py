"""Defended models hide what they should and nothing else; models of known score score what is known."""

import io
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from sklearn.svm import SVC
from torch import nn

from helpers import attacks, pa
from helpers.datasets import digits
from helpers.errors import InputError
from helpers.models import defences, training
from helpers.models.small import SmallCNN


@pytest.fixture(scope="module")
def split():
    return digits.load()


@pytest.fixture(scope="module")
def network(split):
    return training.fit(SmallCNN(), split.train_images, split.train_labels, epochs=5, learning_rate=3e-3)


def accuracy(model, images, labels):
    return np.mean(training.logits(model, images).argmax(axis=1) == labels)


# --- the adversary of adversarial training


def test_the_adversary_is_pgd_that_remembers_nothing(network, split):
    x, y = torch.from_numpy(split.train_images[:32]), torch.from_numpy(split.train_labels[:32])
    adversary = defences.pgd_adversary(0.15)
    neighbour = torch.cat([x[:-1], x[:1]]), torch.cat([y[:-1], y[:1]])
    first, other = adversary(network, x, y), adversary(network, *neighbour)
    assert torch.equal(first, adversary(network, x, y))
    assert 0.14 < (first - x).abs().max() <= 0.15 + 1e-6
    assert (network(first).argmax(dim=1) == y).float().mean() < 0.6
    assert not torch.allclose(first[:-1], other[:-1])  # in another batch the same pictures start elsewhere


def test_an_adversary_takes_seven_steps(network, split, monkeypatch):
    told = {}

    def spy(model, x, y, **settings):
        told.update(settings)
        return attacks.Attacked(x, x[:, 0, 0, 0], y > 0, settings)

    monkeypatch.setattr(attacks, "pgd", spy)
    x, y = torch.from_numpy(split.train_images[:4]), torch.from_numpy(split.train_labels[:4])
    assert torch.equal(defences.pgd_adversary(0.1)(network, x, y), x)
    assert (told.pop("seed") >= 0, told) == (True, {"norm": "linf", "eps": 0.1, "steps": 7})


# --- JPEG


@pytest.mark.parametrize("quality", [10, 75, 95])
@pytest.mark.parametrize("mode", ["L", "RGB"])
def test_jpeg_is_pillows_own_round_trip(mode, quality):
    rng = np.random.default_rng(0)
    shape = (3, 9, 14) if mode == "L" else (3, 9, 14, 3)
    pixels = rng.integers(256, size=shape).astype(np.uint8)
    expected = []
    for picture in pixels:
        buffer = io.BytesIO()
        Image.fromarray(picture, mode).save(buffer, "JPEG", quality=quality)
        expected.append(np.asarray(Image.open(buffer)))
    layout = pixels[:, None] if mode == "L" else pixels.transpose(0, 3, 1, 2)
    outputs = defences.jpeg(torch.from_numpy(layout / np.float32(255)), quality)
    found = outputs.numpy()[:, 0] if mode == "L" else outputs.numpy().transpose(0, 2, 3, 1)
    assert outputs.dtype == torch.float32
    assert np.array_equal(np.round(255 * found).astype(np.uint8), np.stack(expected))
    assert np.abs(found - np.stack(expected) / 255).max() < 1e-6


def test_brightness_is_rounded_to_the_nearest_of_256_and_clipped():
    """A flat picture survives JPEG unchanged, so only the rounding is seen."""
    levels = torch.tensor([100.4, 100.6, -20.0, 300.0]) / 255
    flat = levels.reshape(4, 1, 1, 1).expand(4, 1, 8, 8)
    assert (255 * defences.jpeg(flat)).mean(dim=(1, 2, 3)).tolist() == pytest.approx([100, 101, 0, 255])


def test_digits_change_little_but_they_change(split):
    x = torch.from_numpy(split.test_images[:50])
    assert 0.001 < (defences.jpeg(x) - x).abs().mean() < 0.03
    assert (defences.jpeg(x, 10) - x).abs().mean() > (defences.jpeg(x) - x).abs().mean()


@pytest.mark.parametrize(("gradient", "slope"), [("blocked", 0.0), ("straight_through", 1.0)])
def test_the_gradient_through_jpeg_is_zero_or_the_identity(gradient, slope):
    x = torch.rand(2, 1, 8, 8, generator=torch.Generator().manual_seed(0), requires_grad=True)
    weights = torch.randn(2, 1, 8, 8, generator=torch.Generator().manual_seed(1))
    outputs = defences.Jpeg(gradient=gradient)(x)
    assert torch.equal(outputs, defences.jpeg(x))
    assert torch.equal(torch.autograd.grad((weights * outputs).sum(), x)[0], slope * weights)


# --- reverse sigmoid


def published(p, beta, gamma):
    """The formula of Lee et al., in double precision from probabilities."""
    logit = np.log(p) - np.log1p(-p)
    perturbed = p - beta * (1 / (1 + np.exp(-gamma * logit)) - 0.5)
    return perturbed / perturbed.sum(axis=1, keepdims=True)


@pytest.mark.parametrize(("beta", "gamma"), [(1.0, 0.1), (0.7, 0.2), (0.2, 0.9)])
def test_the_reverse_sigmoid_is_the_formula(beta, gamma):
    p = np.array([[0.7, 0.2, 0.1], [0.4, 0.35, 0.25], [0.001, 0.009, 0.99]])
    outputs = defences.reverse_sigmoid(torch.from_numpy(np.log(p)), beta=beta, gamma=gamma)
    assert np.allclose(outputs.exp(), published(p, beta, gamma), atol=1e-12)


def test_a_worked_row():
    """p = (0.8, 0.2), beta 1, gamma 1/2: sigma(log 2) = 2/3, so r = +-1/6 and p becomes (19/30, 11/30)."""
    outputs = defences.reverse_sigmoid(torch.tensor([[0.8, 0.2]]).log(), gamma=0.5)
    assert outputs.exp()[0].tolist() == pytest.approx([19 / 30, 11 / 30])


@given(
    st.lists(st.floats(-60, 60, width=32), min_size=2, max_size=6),
    st.floats(0.01, 1.0),
    st.floats(0.01, 0.99),
)
def test_a_class_above_one_half_stays_on_top(row, beta, gamma):
    """And beliefs stay a distribution with finite slopes, however certain they are."""
    logits = torch.tensor([row], dtype=torch.float64, requires_grad=True)
    outputs = defences.reverse_sigmoid(logits, beta=beta, gamma=gamma)
    outputs[0, 0].backward()
    assert outputs.exp().sum().item() == pytest.approx(1)
    assert logits.grad.isfinite().all()
    if logits.softmax(dim=1).max() > 0.51:
        assert outputs.max() - outputs[0, logits.argmax()] < 1e-9


def test_a_class_below_one_half_may_lose_its_place():
    """0.2 against nearly nothing: the perturbation lifts the smallest belief above the highest."""
    p = np.array([[0.2, *np.full(8, 0.1 - 1e-6), 8e-6]])
    outputs = defences.reverse_sigmoid(torch.from_numpy(np.log(p)))
    assert np.allclose(outputs.exp(), published(p, 1.0, 0.1), atol=1e-12)
    assert (p.argmax(), int(outputs.argmax())) == (0, 9)


def test_a_certain_row_keeps_its_gradient_which_points_backwards():
    """At a margin of 40, where p rounds to 1 in float32: surer inside is published as less sure."""
    logits = torch.tensor([[40.0, 0.0, 0.0]], requires_grad=True)
    outputs = defences.reverse_sigmoid(logits)
    outputs[0, 0].backward()
    assert outputs.isfinite().all()
    assert -0.1 < logits.grad[0, 0] < -1e-4


# --- both together


def test_the_defence_is_jpeg_then_the_model_then_the_reverse_sigmoid(network, split):
    images = split.test_images[:60]
    outputs = training.logits(defences.JpegReverseSigmoid(network, quality=40, beta=0.7, gamma=0.2), images)
    inner = torch.from_numpy(training.logits(network, defences.jpeg(torch.from_numpy(images), 40).numpy()))
    assert np.allclose(outputs, defences.reverse_sigmoid(inner, beta=0.7, gamma=0.2), atol=1e-5)
    assert accuracy(defences.JpegReverseSigmoid(network), images, split.test_labels[:60]) > 0.85


def test_only_the_naive_attack_is_stopped(network, split):
    """Blocked gradients leave the attack at its random start; around them, and by transfer, pictures cross."""
    images, labels = split.test_images[:60], split.test_labels[:60]
    x, y = torch.from_numpy(images), torch.from_numpy(labels)
    defended = defences.JpegReverseSigmoid(network)
    around = nn.Sequential(defences.Jpeg(gradient="straight_through"), network)

    def survives(target):
        found = attacks.pgd(target, x, y, norm="linf", eps=0.15, steps=15)
        return accuracy(defended, found.inputs.numpy(), labels)

    naive = attacks.pgd(defended, x, y, norm="linf", eps=0.15, steps=3, random_start=False)
    assert torch.equal(naive.inputs, x)
    assert survives(defended) > 0.7
    assert max(survives(around), survives(network)) < 0.5


# --- models of known score


def test_a_constant_classifier_agrees_fully_at_chance_accuracy(split):
    model = defences.ConstantClassifier(10, preferred=3)
    x, y = torch.from_numpy(split.test_images), torch.from_numpy(split.test_labels)
    found = attacks.pgd(model, x, y, norm="linf", eps=0.3, steps=2)
    clean, shifted = (training.logits(model, images) for images in (split.test_images, found.inputs.numpy()))
    score = pa.agreement(clean, shifted)
    assert (score.value, score.beta) == (pytest.approx(math.log(10)), math.inf)
    assert accuracy(model, split.test_images, split.test_labels) == np.mean(split.test_labels == 3)


def test_a_perfect_classifier_knows_what_it_was_told(network, split):
    images, labels = split.test_images[:50], split.test_labels[:50]
    moved = attacks.pgd(network, torch.from_numpy(images), norm="linf", eps=0.2, steps=3).inputs.numpy()
    model = defences.PerfectClassifier(np.concatenate([images, moved]), np.tile(labels, 2), classes=10)
    order = np.random.default_rng(0).permutation(50)
    assert np.array_equal(training.logits(model, images[order]), np.eye(10)[labels[order]])
    assert np.array_equal(training.logits(model, moved[order]), np.eye(10)[labels[order]])
    x = torch.from_numpy(images)
    assert torch.equal(attacks.pgd(model, x, norm="linf", eps=0.0, steps=1).inputs, x)
    with pytest.raises(InputError, match=r"images\[1\] is not among the pictures"):
        model(torch.from_numpy(np.stack([images[0], split.test_images[60]])))


def test_scores_of_a_support_vector_machine(split):
    machine = SVC(gamma=0.5).fit(split.train_images.reshape(1200, -1), split.train_labels)
    model = defences.ScoreModel(machine)
    scores = training.logits(model, split.test_images)
    assert (scores.shape, scores.dtype) == ((597, 10), np.float32)
    assert np.allclose(scores, machine.decision_function(split.test_images.reshape(597, -1)), atol=1e-6)
    assert accuracy(model, split.test_images, split.test_labels) > 0.97
    x = torch.from_numpy(split.test_images[:2])
    with pytest.raises(InputError, match="no gradient: attack another model"):
        attacks.pgd(model, x, norm="linf", eps=0.1)


IMAGES = torch.zeros(2, 1, 8, 8)


class Fitted:
    """A classifier that gives one column too few."""

    def __init__(self, classes):
        self.classes_ = np.array(classes)

    def decision_function(self, rows):
        return np.zeros((len(rows), len(self.classes_) - 1))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: defences.jpeg(IMAGES[:, 0]), "images has shape (2, 8, 8)"),
        (lambda: defences.jpeg(IMAGES.expand(2, 2, 8, 8)), "images has shape (2, 2, 8, 8)"),
        (lambda: defences.jpeg(IMAGES, 0), "quality is 0"),
        (lambda: defences.jpeg(IMAGES, 101), "quality is 101"),
        (lambda: defences.Jpeg(gradient="none"), "gradient is 'none'"),
        (lambda: defences.JpegReverseSigmoid(SmallCNN(), gradient="bpda"), "gradient is 'bpda'"),
        (lambda: defences.reverse_sigmoid(torch.zeros(2, 3), beta=1.5), "beta is 1.5"),
        (lambda: defences.reverse_sigmoid(torch.zeros(2, 3), beta=0.0), "beta is 0.0"),
        (lambda: defences.reverse_sigmoid(torch.zeros(2, 3), gamma=1.0), "gamma 1.0"),
        (lambda: defences.reverse_sigmoid(torch.zeros(2, 3), beta=True), "beta is True"),
        (lambda: defences.reverse_sigmoid(torch.zeros(2, 1)), "logits has shape (2, 1)"),
        (lambda: defences.ConstantClassifier(0), "classes is 0"),
        (lambda: defences.ConstantClassifier(3, preferred=3), "preferred is 3: with 3 classes it lies in 0..2"),
        (lambda: defences.PerfectClassifier(IMAGES.numpy(), np.array([0, 1]), classes=2), "labels[1] is 1, but"),
        (lambda: defences.PerfectClassifier(IMAGES.numpy(), np.array([0, 2]), classes=2), "labels[1] is 2"),
        (lambda: defences.PerfectClassifier(IMAGES.numpy(), np.array([0]), classes=2), "labels has shape (1,)"),
        (lambda: defences.ScoreModel(SVC()), "classifier has classes []"),
        (lambda: defences.ScoreModel(Fitted([0, 1])), "classifier has classes [0, 1]"),
        (lambda: defences.ScoreModel(Fitted([1, 2, 3])), "classifier has classes [1, 2, 3]"),
        (lambda: defences.ScoreModel(Fitted([0, 1, 2]))(IMAGES), "decision_function gives shape (2, 2)"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(InputError) as refusal:
        call()
    assert message in str(refusal.value)
