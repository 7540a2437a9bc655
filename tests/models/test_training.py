"""The training loop: it learns, it can be repeated, and it leaves everything else alone."""

import copy

import numpy as np
import pytest
import torch
from torch import nn

from helpers import attacks, pa, results
from helpers.datasets import digits
from helpers.errors import InputError
from helpers.models import defences, training
from helpers.models.small import SmallCNN


@pytest.fixture(scope="module")
def bars():
    """Pictures with one bright row (class 0..7 by its height), in noise."""
    rng = np.random.default_rng(0)
    labels = rng.integers(8, size=256)
    images = rng.uniform(0, 0.3, size=(256, 1, 8, 8)).astype(np.float32)
    images[np.arange(256), 0, labels] = 1.0
    return images, labels


def weights(model):
    return torch.cat([parameter.detach().cpu().ravel() for parameter in model.parameters()])


def test_a_small_network_learns(bars):
    images, labels = bars
    model = SmallCNN(seed=0)
    fitted = training.fit(model, images, labels, epochs=12, learning_rate=3e-3)
    assert fitted is model
    assert not model.training
    assert np.mean(training.logits(model, images).argmax(axis=1) == labels) > 0.95


def test_the_same_seeds_give_the_same_weights(bars):
    """Whatever the global generator holds, which stays as it was."""

    def fitted(model_seed, seed):
        return weights(training.fit(SmallCNN(seed=model_seed), *bars, epochs=1, seed=seed))

    torch.manual_seed(1)
    before = torch.get_rng_state()
    first = fitted(0, 0)
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(2)
    assert torch.equal(fitted(0, 0), first)
    assert not torch.equal(fitted(0, 1), first)
    assert not torch.equal(fitted(1, 0), first)


def test_one_step_is_adam_on_cross_entropy():
    """One batch, one epoch, a linear model: the first step of Adam moves each weight by the learning rate."""
    model = nn.Linear(3, 2, bias=False)
    nn.init.zeros_(model.weight)
    images, labels = np.array([[1.0, -2.0, 0.5]], dtype=np.float32), np.array([1])
    training.fit(model, images, labels, epochs=1, learning_rate=0.01)
    # gradient of the loss at zero: (softmax - one-hot) x, with softmax = 1/2
    expected = -0.01 * np.sign(np.outer([0.5, -0.5], images[0]))
    assert np.allclose(model.weight.detach().cpu(), expected, atol=1e-6)


def test_every_row_is_seen_once_per_epoch(bars):
    images, labels = bars
    seen = []

    class Spy(nn.Linear):
        def forward(self, rows):
            seen.append(rows.flatten(1).cpu().numpy())
            return super().forward(rows.flatten(1))

    training.fit(Spy(64, 8), images[:50], labels[:50], epochs=2, batch=16)
    assert [len(rows) for rows in seen] == [16, 16, 16, 2] * 2
    for epoch in (seen[:4], seen[4:]):
        rows = np.concatenate(epoch)
        assert np.array_equal(rows[np.lexsort(rows.T)], (flat := images[:50].reshape(50, 64))[np.lexsort(flat.T)])
    assert not np.array_equal(seen[0], seen[4])  # and in another order each time


@pytest.mark.parametrize("batch_run", [True, False])
def test_a_bar_shows_progress_but_not_on_a_page(bars, monkeypatch, capsys, batch_run):
    if batch_run:
        monkeypatch.setenv(results.DESTINATION, "pa.result.json")
    else:
        monkeypatch.delenv(results.DESTINATION, raising=False)
    training.fit(SmallCNN(), bars[0][:8], bars[1][:8], epochs=1)
    assert ("training" in capsys.readouterr().err) is not batch_run


@pytest.mark.parametrize("epochs", [0, -2, True])
def test_no_epochs_are_refused(bars, epochs):
    with pytest.raises(InputError, match=f"epochs is {epochs}: give a whole number of at least 1"):
        training.fit(SmallCNN(), *bars, epochs=epochs)


def after_one_step(**options):
    """Weights of a linear model after one step on one row, from the weights 0."""
    model = nn.Linear(2, 2, bias=False)
    nn.init.zeros_(model.weight)
    training.fit(model, np.array([[1.0, 0.0]], np.float32), np.array([1]), epochs=1, learning_rate=0.01, **options)
    return model.weight.detach().cpu().numpy()


def swap(model, x, y):
    """A shift that swaps the two inputs, and leaves a gradient behind as careless attacks do."""
    model(x).sum().backward()
    return x.flip(1)


def test_an_adversary_replaces_the_pictures():
    assert np.allclose(after_one_step(), 0.01 * np.array([[-1, 0], [1, 0]]))
    assert np.allclose(after_one_step(adversary=swap), 0.01 * np.array([[0, -1], [0, 1]]))


def test_a_penalty_is_added_to_the_loss_on_clean_pictures():
    """Cross-entropy moves the clean column only; the penalty, on the shifted one, pulls the other by its sign."""
    seen = []

    def penalty(clean, shifted):
        seen.append((clean.shape, shifted.shape))
        return shifted[:, 0].sum() - shifted[:, 1].sum()

    assert np.allclose(after_one_step(adversary=swap, penalty=penalty), 0.01 * np.array([[-1, -1], [1, 1]]))
    assert np.allclose(
        after_one_step(adversary=swap, penalty=penalty, penalty_weight=0.0), 0.01 * np.array([[-1, 0], [1, 0]])
    )
    # against cross-entropy, whose gradient is 1/2 at the start: the weight decides which of them wins
    against = {"adversary": lambda model, x, y: x, "penalty": lambda clean, shifted: -penalty(clean, shifted)}
    assert after_one_step(**against, penalty_weight=0.4)[0, 0] < 0 < after_one_step(**against, penalty_weight=0.6)[0, 0]
    assert set(seen) == {((1, 2), (1, 2))}


def test_the_adversary_sees_every_batch_with_its_labels(bars):
    images, labels = bars
    seen = []

    def spy(model, x, y):
        assert model.training
        seen.append(np.array_equal(x[:, 0].argmax(dim=1)[:, 0].cpu(), y.cpu()) or (len(x), len(y)))
        return x

    first = training.fit(SmallCNN(), images, labels, epochs=1, adversary=spy)
    assert len(seen) == 4
    assert torch.equal(weights(first), weights(training.fit(SmallCNN(), images, labels, epochs=1)))


@pytest.fixture(scope="module")
def trained():
    """One network trained further in three ways: plainly, against attacks, and for agreement; and 150 test digits."""
    split = digits.load()
    rows, adversary = (split.train_images, split.train_labels), defences.pgd_adversary(0.15)
    start = training.fit(SmallCNN(), *rows, epochs=6, learning_rate=3e-3)

    def further(epochs, **options):
        return training.fit(copy.deepcopy(start), *rows, epochs=epochs, **options)

    networks = {
        "plain": further(4),
        "robust": further(4, adversary=adversary),
        "regularised": further(2, adversary=adversary, penalty=pa.loss),
    }
    return networks, torch.from_numpy(split.test_images[:150]), torch.from_numpy(split.test_labels[:150])


def under_attack(trained, name):
    """Accuracy on clean and on attacked digits, and relative agreement between them."""
    networks, x, y = trained
    model = networks[name]
    attacked = attacks.pgd(model, x, y, norm="linf", eps=0.1, steps=20).inputs.numpy()
    clean, shifted = training.logits(model, x.numpy()), training.logits(model, attacked)
    right = [np.mean(outputs.argmax(axis=1) == y.numpy()) for outputs in (clean, shifted)]
    return *right, pa.agreement(clean, shifted).relative


def test_adversarial_training_makes_robust(trained):
    plain, robust = under_attack(trained, "plain"), under_attack(trained, "robust")
    assert robust[0] > 0.9
    assert robust[1] > plain[1] + 0.1


def test_the_penalty_raises_agreement(trained):
    plain, regularised = under_attack(trained, "plain"), under_attack(trained, "regularised")
    assert regularised[0] > 0.85
    assert regularised[2] > plain[2] + 0.05


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"penalty": pa.loss}, "penalty needs shifted pictures"),
        ({"penalty_weight": -1.0}, "penalty_weight is -1.0"),
        ({"penalty_weight": float("nan")}, "penalty_weight is nan"),
        ({"penalty_weight": "1"}, "penalty_weight is '1'"),
        ({"batch": 0}, "batch is 0"),
        ({"learning_rate": 0.0}, "learning_rate is 0.0"),
    ],
)
def test_hooks_that_make_no_sense_are_refused(bars, options, message):
    with pytest.raises(InputError, match=message):
        training.fit(SmallCNN(), *bars, epochs=1, **options)


class Fickle(nn.Module):
    """Gives other outputs while training."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(2.0))

    def forward(self, images):
        return self.scale * images.flatten(1) + (100.0 if self.training else 0.0)


@pytest.mark.parametrize("was_training", [True, False])
def test_logits_come_from_evaluation_mode_which_ends_with_the_call(bars, was_training):
    model = Fickle().train(was_training)
    outputs = training.logits(model, bars[0])
    assert np.array_equal(outputs, 2 * bars[0].reshape(256, 64))
    assert model.training is was_training


@pytest.mark.parametrize("batch", [1, 100, 256, 1000])
def test_logits_do_not_depend_on_the_batch(bars, batch):
    model = SmallCNN(seed=1)
    outputs = training.logits(model, bars[0], batch=batch)
    assert outputs.shape == (256, 10)
    assert outputs.dtype == np.float32
    assert np.allclose(outputs, training.logits(model, bars[0]), atol=1e-5)


def test_half_precision_outputs_come_back_as_float32(bars):
    class Half(Fickle):
        def forward(self, images):
            return super().forward(images).to(torch.bfloat16)

    assert training.logits(Half(), bars[0]).dtype == np.float32


def test_the_device_is_one_that_there_is():
    assert training.best_device().type == ("cuda" if torch.cuda.is_available() else "cpu")


def test_a_small_network_has_as_many_outputs_as_classes():
    assert SmallCNN(classes=3)(torch.zeros(2, 1, 8, 8)).shape == (2, 3)
    assert sum(parameter.numel() for parameter in SmallCNN().parameters()) == pytest.approx(30_000, rel=0.6)
