"""Measure: the record holds what the model said, row by row and shift by shift."""

import numpy as np
import pytest
import torch
from torch import nn

from helpers import pa
from helpers.datasets.corruptions import corrupt
from helpers.errors import InputError
from helpers.pa import measure


class Doubled(nn.Module):
    """Twice the pixels; something else while training."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(2.0))

    def forward(self, images):
        return self.scale * images.flatten(1) + (1000.0 if self.training else 0.0)


@pytest.fixture(scope="module")
def images():
    return np.random.default_rng(0).uniform(size=(7, 1, 2, 2)).astype(np.float32)


def test_shifts_are_named_by_corruption_and_strength(images):
    shifted = measure.shifts(images, {"noise": [0.1, 0.25], "blur": [1.0]}, seed=3)
    assert list(shifted) == ["noise 0.1", "noise 0.25", "blur 1"]
    assert np.array_equal(shifted["noise 0.25"], corrupt(images, "noise", 0.25, seed=3))
    assert np.array_equal(shifted["blur 1"], corrupt(images, "blur", 1.0))


def test_an_unknown_shift_is_refused(images):
    with pytest.raises(InputError, match="corruption is 'fog'"):
        measure.shifts(images, {"fog": [1.0]})


def test_the_record_holds_what_the_model_said(images):
    model = Doubled().train()
    shifted = measure.shifts(images, {"noise": [0.1], "contrast": [0.5]})
    labels = np.arange(7) % 4
    record = measure.logits(model, images, shifted, labels=labels, seed=11)
    assert isinstance(record, pa.Logits)
    assert np.array_equal(record.logits, 2 * images.reshape(7, 4))
    assert list(record.shifted) == list(shifted)
    for name, pictures in shifted.items():
        assert np.array_equal(record.shifted[name], 2 * pictures.reshape(7, 4)), name
    assert np.array_equal(record.labels, labels)
    assert model.training


def test_provenance_has_the_seed_and_the_versions(images, tmp_path):
    record = measure.logits(Doubled(), images, {"none": images}, seed=11)
    assert record.labels is None
    assert record.provenance["seed"] == 11
    assert record.provenance["versions"]["torch"].startswith(torch.__version__.split("+")[0])
    assert pa.Logits.load(record.save(tmp_path / "x.npz")).provenance == record.provenance


def test_a_shift_of_other_pictures_is_refused(images):
    with pytest.raises(InputError, match=r"array 'shifted/fewer' has 3 along axis 0 \(n\), but 'logits' has 7"):
        measure.logits(Doubled(), images, {"fewer": images[:3]})


def test_a_model_that_breaks_down_is_refused(images):
    """A model that answers NaN has no belief to agree about."""
    model = Doubled()
    nn.init.constant_(model.scale, float("nan"))
    with pytest.raises(InputError, match=r"array 'logits'\[0, 0\] is nan"):
        measure.logits(model, images, {"none": images})
