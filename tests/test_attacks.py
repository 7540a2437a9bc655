"""Attacks: equal to foolbox where it has the attack, exact on a linear model, and honest about what they did."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from helpers import attacks, pa
from helpers.datasets import digits
from helpers.errors import InputError
from helpers.models import small, training


@pytest.fixture(scope="module")
def network():
    """A trained network and 120 test digits with their labels."""
    split = digits.load()
    model = training.fit(small.SmallCNN(), split.train_images, split.train_labels, epochs=8)
    return model, torch.from_numpy(split.test_images[:120]), torch.from_numpy(split.test_labels[:120])


class Linear(nn.Module):
    """Two classes, logits (m, 0): the boundary is the hyperplane m = 0."""

    def __init__(self, weight, bias):
        super().__init__()
        self.weight, self.bias = nn.Parameter(weight), bias

    def forward(self, x):
        margin = x.flatten(1) @ self.weight + self.bias
        return torch.stack([margin, torch.zeros_like(margin)], dim=1)


def mean_loss(model, x, y):
    with torch.no_grad():
        return cross_entropy(model(x), y).item()


@pytest.mark.rival
@pytest.mark.parametrize(("norm", "eps"), [("linf", 0.05), ("linf", 0.15), ("l2", 0.3)])
def test_pgd_equals_foolbox(network, norm, eps):
    import foolbox

    model, x, y = network
    rival = {"linf": foolbox.attacks.LinfPGD, "l2": foolbox.attacks.L2PGD}[norm]
    theirs = rival(abs_stepsize=2.5 * eps / 40, steps=40, random_start=False).run(
        foolbox.PyTorchModel(model, bounds=(0, 1)), x, foolbox.criteria.Misclassification(y), epsilon=eps
    )
    ours = pa.attacks.pgd(model, x, y, norm=norm, eps=eps, random_start=False)
    assert (ours.inputs - theirs).abs().max() < 1e-5


@pytest.mark.rival
def test_linf_fmn_equals_foolbox(network):
    import foolbox

    model, x, y = network
    theirs = foolbox.attacks.LInfFMNAttack(steps=100).run(
        foolbox.PyTorchModel(model, bounds=(0, 1)), x, foolbox.criteria.Misclassification(y)
    )
    ours = attacks.fmn(model, x, y, norm="linf")
    assert (ours.size - (theirs - x).flatten(1).abs().amax(dim=1)).abs().max() < 1e-5


@pytest.mark.parametrize("norm", ["linf", "l2"])
def test_fmn_finds_the_exact_distance_to_a_plane(norm):
    """Of a linear model the distance is |margin| / dual norm of the weights: reached to the last radius step, 0.2 %."""
    torch.manual_seed(0)
    weight = torch.randn(16)
    x = 0.4 + 0.2 * torch.rand(30, 16)  # far from 0 and 1, so that the box plays no part
    model = Linear(weight, -0.5 * weight.sum())
    margin = model(x)[:, 0].abs().detach()
    exact = margin / (weight.abs().sum() if norm == "linf" else weight.norm())
    found = attacks.fmn(model, x, norm=norm, steps=300)
    assert found.success.all()
    assert (found.size / exact).min() >= 1 - 1e-4
    assert (found.size / exact).max() < 1.002


def test_l2_fmn_crosses_every_boundary_of_the_digits(network):
    """Pixels at 0 or 1 cannot move outwards; ignoring that, half of the digits were never crossed."""
    model, x, y = network
    found = attacks.fmn(model, x, y, norm="l2")
    assert found.success.all()
    assert found.size.median() < 0.6


@pytest.mark.parametrize("norm", ["linf", "l2"])
@pytest.mark.parametrize("keep", ["last", "highest_loss"])
def test_pgd_stays_in_the_ball_and_in_the_picture(network, norm, keep):
    model, x, y = network
    eps = 0.1 if norm == "linf" else 1.0
    found = attacks.pgd(model, x, y, norm=norm, eps=eps, steps=7, restarts=2, keep=keep)
    assert found.inputs.min() >= 0
    assert found.inputs.max() <= 1
    assert found.size.max() <= eps * (1 + 1e-5)
    delta = (found.inputs - x).flatten(1)
    assert torch.allclose(found.size, delta.abs().amax(dim=1) if norm == "linf" else delta.norm(dim=1))


@pytest.mark.parametrize("norm", ["linf", "l2"])
@pytest.mark.parametrize("random_start", [True, False])
def test_a_budget_of_zero_changes_nothing(network, norm, random_start):
    model, x, y = network
    found = attacks.pgd(model, x, y, norm=norm, eps=0.0, steps=3, random_start=random_start)
    assert torch.equal(found.inputs, x)
    assert torch.equal(found.success, model(x).argmax(dim=1) != y)


def test_loss_grows_with_steps_restarts_and_budget(network):
    model, x, y = network

    def loss(**options):
        chosen = {"eps": 0.1, "steps": 10, **options}
        return mean_loss(model, attacks.pgd(model, x, y, norm="linf", **chosen).inputs, y)

    assert mean_loss(model, x, y) < loss(steps=1) < loss(steps=10)
    assert loss(steps=10) <= loss(steps=10, restarts=3)
    assert loss(steps=10) <= loss(steps=10, keep="highest_loss") + 1e-6
    assert loss(eps=0.05) < loss(eps=0.1) < loss(eps=0.2)


def test_a_strong_attack_leaves_less_than_a_tenth_right(network):
    """At eps 0.3 in Linf: anything weaker would make an undefended network look robust, the source's own mistake."""
    model, x, y = network
    assert attacks.pgd(model, x, y, norm="linf", eps=0.3).success.float().mean() > 0.9
    assert attacks.pgd(model, x, y, norm="l2", eps=0.3).success.float().mean() < 0.5


def test_the_attack_on_agreement_needs_no_labels(network):
    """It lowers the agreement of belief more than cross-entropy does, which climbs past the boundary instead."""
    model, x, _ = network

    def agreement(attacked):
        with torch.no_grad():
            return pa.kernel(model(x), model(attacked.inputs), 1.0)

    on_agreement = attacks.pgd(model, x, norm="linf", eps=0.1, objective="agreement", random_start=False)
    on_prediction = attacks.pgd(model, x, norm="linf", eps=0.1, random_start=False)
    assert agreement(on_agreement) < pa.kernel(model(x).detach(), model(x).detach(), 1.0) - 0.1
    assert agreement(on_agreement) <= agreement(on_prediction) + 1e-6


def test_success_is_judged_from_the_pictures_given_back(network):
    model, x, y = network
    for found in (attacks.pgd(model, x, y, norm="linf", eps=0.1), attacks.fmn(model, x, y, norm="linf")):
        assert torch.equal(found.success, model(found.inputs).argmax(dim=1) != y)


def test_rows_wrong_from_the_start_stay_as_they_are(network):
    model, x, y = network
    wrong = model(x).argmax(dim=1) != y
    found = attacks.fmn(model, x, y, norm="l2", steps=20)
    assert torch.equal(found.inputs[wrong], x[wrong])
    assert (found.size[wrong] == 0).all()
    assert found.success[wrong].all()


def test_a_dead_network_is_reported_as_not_crossed():
    """Without a gradient there is no direction: no NaN, no crossing, clean pictures back."""
    model = Linear(torch.zeros(4), torch.tensor(1.0))
    x = torch.rand(5, 4, generator=torch.Generator().manual_seed(0))
    for norm in attacks.NORMS:
        found = attacks.fmn(model, x, norm=norm, steps=5)
        assert torch.equal(found.inputs, x)
        assert not found.success.any()
        assert not attacks.pgd(model, x, norm=norm, eps=0.1, steps=3).inputs.isnan().any()


def test_the_model_is_left_as_it_was(network):
    """Dropout is off during the attack, every module's mode comes back, and no gradient is left in the weights."""
    _, x, y = network
    model = nn.Sequential(small.SmallCNN(), nn.Dropout(0.9))
    model.train()
    model[0].eval()
    first = attacks.pgd(model, x, y, norm="linf", eps=0.1, steps=3)
    second = attacks.pgd(model, x, y, norm="linf", eps=0.1, steps=3)
    assert torch.equal(first.inputs, second.inputs)
    assert (model.training, model[0].training, model[1].training) == (True, False, True)
    assert all(weight.grad is None for weight in model.parameters())
    assert not x.requires_grad


def test_random_starts_follow_the_seed_alone(network):
    model, x, y = network
    torch.manual_seed(1)
    state = torch.get_rng_state()
    first = attacks.pgd(model, x, y, norm="l2", eps=0.5, steps=2, seed=1).inputs
    assert torch.equal(state, torch.get_rng_state())
    assert torch.equal(first, attacks.pgd(model, x, y, norm="l2", eps=0.5, steps=2, seed=1).inputs)
    assert not torch.equal(first, attacks.pgd(model, x, y, norm="l2", eps=0.5, steps=2, seed=2).inputs)


@pytest.mark.parametrize(("norm", "low", "high"), [("linf", 0.45, 0.55), ("l2", 0.93, 0.95)])
def test_random_starts_are_uniform_in_the_ball(norm, low, high):
    """Mean radius of a uniform ball of d = 16: Linf coordinates have mean 1/2, the L2 radius d / (d + 1) = 0.941."""
    x = torch.full((4000, 16), 0.5)
    start = attacks._random_start(x, norm, 0.1, torch.Generator().manual_seed(0))
    delta = (start - x) / 0.1
    radius = delta.abs().mean() if norm == "linf" else delta.norm(dim=1).mean()
    assert low < radius < high


def test_everything_it_was_told_is_kept(network):
    model, x, y = network
    settings = attacks.pgd(model, x[:2], y[:2], norm="l2", eps=0.1, steps=2, restarts=2, keep="highest_loss").settings
    assert settings == {
        "attack": "pgd", "norm": "l2", "eps": 0.1, "steps": 2, "step": None, "random_start": True, "restarts": 2,
        "keep": "highest_loss", "objective": "cross_entropy", "seed": 0,
    }  # fmt: skip


X, Y = torch.full((2, 1, 8, 8), 0.5), torch.tensor([0, 1])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: attacks.pgd(m, X, Y, norm="l1", eps=0.1), "norm is 'l1'"),
        (lambda m: attacks.pgd(m, X, Y, norm="l2", eps=-0.1), "eps is -0.1"),
        (lambda m: attacks.pgd(m, X, Y, norm="l2", eps=float("nan")), "eps is nan"),
        (lambda m: attacks.pgd(m, X, Y, norm="l2", eps=0.1, steps=0), "steps is 0"),
        (lambda m: attacks.pgd(m, X, Y, norm="l2", eps=0.1, restarts=0), "restarts is 0"),
        (lambda m: attacks.pgd(m, X, Y, norm="l2", eps=0.1, keep="best"), "keep is 'best'"),
        (lambda m: attacks.pgd(m, X, Y, norm="l2", eps=0.1, objective="margin"), "objective is 'margin'"),
        (lambda m: attacks.pgd(m, 255 * X, Y, norm="l2", eps=0.1), "x[0] leaves [0, 1]"),
        (lambda m: attacks.pgd(m, X - 0.5 + float("nan"), Y, norm="l2", eps=0.1), "x[0] leaves [0, 1]"),
        (lambda m: attacks.pgd(m, X.int(), Y, norm="l2", eps=0.1), "type torch.int32"),
        (lambda m: attacks.pgd(m, X, Y[:1], norm="l2", eps=0.1), "y has shape (1,)"),
        (lambda m: attacks.pgd(m, X, Y + 9, norm="l2", eps=0.1), "y[1] is 10"),
        (lambda m: attacks.fmn(m, X, Y, norm="l0"), "norm is 'l0'"),
        (lambda m: attacks.pgd(m, X, Y, norm="l2", eps=True), "eps is True"),
        (lambda m: attacks.pgd(m, X, Y, norm="l2", eps="8/255"), "eps is '8/255'"),
        (lambda m: attacks.pgd(m, X, Y, norm=["l2"], eps=0.1), "norm is ['l2']: choose one of linf, l2"),
        (lambda m: attacks.pgd(m, X, Y, norm="l2", eps=0.1, step=0.0), "step is 0.0: give a length above 0"),
        (lambda m: attacks.pgd(m, X, Y, norm="l2", eps=0.1, random_start="no"), "random_start is 'no'"),
        (lambda m: attacks.pgd(m, X.numpy(), Y, norm="l2", eps=0.1), "x is a ndarray: give a torch tensor"),
        (lambda m: attacks.pgd(m, X, [0, True], norm="l2", eps=0.1), "y[1] is True"),
        (lambda m: attacks.fmn(m, X, Y, norm="l2", step=-1.0), "step is -1.0"),
        (lambda m: attacks.fmn(m, X, Y, norm="l2", gamma=1.5), "gamma is 1.5"),
        (lambda m: attacks.fmn(m, X, Y, norm="l2", gamma=0.0), "gamma is 0.0"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(InputError) as refusal:
        call(small.SmallCNN())
    assert message in str(refusal.value)


def test_repr_says_how_often_it_won(network):
    model, x, y = network
    found = attacks.fmn(model, x[:4], y[:4], norm="linf")
    assert repr(found).startswith(f"Attacked({int(found.success.sum())} of 4 succeed, median linf ")
    assert np.isfinite(found.size.numpy()).all()
