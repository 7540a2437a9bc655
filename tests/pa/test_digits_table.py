"""The specification's demonstration on digits, at a fixed seed: every number within .03, after robust training .05.

A robust training hangs on the order in which its sums are added: at eps .15 it ends with an AFR_T of .725 on a CPU with
AVX-512, of .730 with AVX2 and of .740 with another memory layout, where the specification has .700.

The specification's step length is not stated. A step of eps / 30 (foolbox's default) fits it and was chosen for that;
the default of `attacks.pgd` is longer and attacks harder.
"""

import numpy as np
import pytest

from helpers import pa
from helpers.datasets import digits
from helpers.models import defences, small, training

BAND = {"plain": 0.03, "robust": 0.05}
EPS = (0.05, 0.10, 0.15, 0.20, 0.30)
AFR_T = {"plain": (0.891, 0.559, 0.171, 0.012, 0.000), "robust": (0.941, 0.859, 0.700, 0.467, 0.013)}
RELATIVE = {"plain": (0.918, 0.658, 0.376, 0.200, 0.049), "robust": (0.972, 0.895, 0.746, 0.537, 0.153)}


@pytest.mark.slow
def test_the_table_is_reproduced_and_robust_beats_plain():
    split = digits.load()
    adversaries = {"plain": None, "robust": defences.pgd_adversary(0.15)}
    found = {}
    for name, adversary in adversaries.items():
        model = training.fit(small.SmallCNN(), split.train_images, split.train_labels, epochs=60, adversary=adversary)
        pictures = pa.measure.attacked(model, split.test_images, split.test_labels, EPS, step=1 / 30)
        record = pa.measure.logits(model, split.test_images, pictures, labels=split.test_labels)
        found[name] = pa.table(record)
        assert [row.afr_t.rate for row in found[name]] == pytest.approx(AFR_T[name], abs=BAND[name])
        assert [row.agreement.relative for row in found[name]] == pytest.approx(RELATIVE[name], abs=BAND[name])
    for plain, robust in zip(found["plain"], found["robust"], strict=True):
        assert robust.agreement.value > plain.agreement.value
        assert robust.afr_t.rate >= plain.afr_t.rate
    # the plain network at the largest budget: an attack that leaves more is too weak to judge by
    assert found["plain"][-1].afr_t.rate < 0.1
    assert np.all(np.diff([row.agreement.value for row in found["plain"]]) < 0)
