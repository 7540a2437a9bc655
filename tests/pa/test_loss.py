"""The training loss: minus the kernel, with gradients of both sides, and it does what it is for."""

import numpy as np
import pytest
import torch

from helpers import pa
from helpers.errors import InputError

from . import oracle


@pytest.fixture
def batch(noisy):
    return [torch.from_numpy(array).requires_grad_() for array in noisy]


def test_is_minus_the_kernel_at_the_batchs_own_beta(batch, noisy):
    result = pa.agreement(*noisy)
    assert pa.loss(*batch).item() == pytest.approx(-oracle.kernel(*noisy, result.beta), abs=1e-12)
    assert pa.loss(*batch).item() == pytest.approx(np.log(6) - result.value, abs=1e-9)
    assert pa.loss(*batch, beta=2.0).item() == pytest.approx(-oracle.kernel(*noisy, 2.0), abs=1e-12)


def test_gradients_match_finite_differences():
    torch.manual_seed(0)
    logits = torch.randn(4, 3, dtype=torch.float64, requires_grad=True)
    shifted = torch.randn(4, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda a, b: pa.loss(a, b, beta=1.5), (logits, shifted))


def test_beta_is_held_fixed_because_it_is_optimal(batch):
    """By the envelope theorem the gradient at the optimum equals that of the optimised value: checked on one logit."""
    pa.loss(*batch).backward()
    step = torch.zeros_like(batch[0])
    step[3, 2] = 1e-5
    with torch.no_grad():
        up, down = (pa.agreement(batch[0] + sign * step, batch[1]).value for sign in (1, -1))
    assert batch[0].grad[3, 2].item() == pytest.approx(-(up - down) / 2e-5, rel=1e-4)


def test_without_flips_it_is_zero_and_has_no_pull():
    logits = torch.eye(3, requires_grad=True)
    value = pa.loss(logits, torch.eye(3))
    value.backward()
    assert value.item() == 0.0
    assert torch.equal(logits.grad, torch.zeros(3, 3))
    assert pa.loss(logits, torch.eye(3), beta=1.0).item() > 0


def test_following_it_raises_agreement(noisy):
    logits, shifted = (torch.from_numpy(array).clone() for array in noisy)
    before = pa.agreement(logits, shifted).value
    shifted.requires_grad_()
    optimiser = torch.optim.SGD([shifted], lr=50.0)
    for _ in range(20):
        optimiser.zero_grad()
        pa.loss(logits, shifted).backward()
        optimiser.step()
    assert pa.agreement(logits, shifted).value > before + 0.1


@pytest.mark.parametrize("beta", [-1.0, float("inf"), float("nan")])
def test_refuses_a_beta_that_cannot_be_followed(batch, beta):
    with pytest.raises(InputError, match="beta is"):
        pa.loss(*batch, beta=beta)
