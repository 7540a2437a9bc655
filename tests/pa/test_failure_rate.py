"""Attack failure rates: counts over all rows."""

import numpy as np
import pytest
import torch

from helpers import pa
from helpers.errors import InputError
from helpers.uncertainty import clopper_pearson

SHIFTED = np.array([[2.0, 1.0, 0.0], [0.0, 3.0, 1.0], [0.0, 1.0, 5.0], [1.0, 0.0, 0.0]])


def test_against_labels_and_against_clean_predictions():
    against_labels = pa.failure_rate(SHIFTED, [0, 1, 1, 2])
    assert (against_labels.count, against_labels.n, against_labels.rate) == (2, 4, 0.5)
    assert against_labels.interval == clopper_pearson(2, 4)
    clean = SHIFTED[[0, 2, 2, 3]]
    assert pa.failure_rate(SHIFTED, clean).count == 3
    assert pa.failure_rate(torch.from_numpy(SHIFTED), torch.from_numpy(clean)).count == 3


def test_the_first_of_tied_classes_is_the_prediction():
    assert pa.failure_rate([[1.0, 1.0, 0.0]], [0]).count == 1
    assert pa.failure_rate([[1.0, 1.0, 0.0]], [1]).count == 0


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ([0, 1, 2], "reference has shape (3,)"),
        ([0, 1, 2, 3], "reference[3] is 3"),
        ([0, -1, 2, 0], "reference[1] is -1"),
        ([0.0, 1.0, 2.0, 0.0], "reference has shape (4,) and type float64"),
        (SHIFTED[:2], "reference has shape (2, 3)"),
        (np.where(SHIFTED == 5, np.nan, SHIFTED), "reference[2, 2] is nan"),
    ],
)
def test_refusals(reference, message):
    with pytest.raises(InputError) as refusal:
        pa.failure_rate(SHIFTED, reference)
    assert message in str(refusal.value)
