"""What one would otherwise report: the plain mean, the proxy alone, ASE, ASI, and what they refuse."""

import json
import math

import numpy as np
import pytest
from scipy import stats

from helpers import ppat
from helpers.errors import InputError


class TestRivals:
    def test_biased_mean_and_proxy(self):
        loss, pool = np.array([3.0, 2.5, 1.0]), np.array([0.8, 0.3, 2, 0.5, 1.2, 2.6])
        mean = ppat.biased_mean(loss, pool_size=6)
        assert (mean.risk, mean.interval, mean.method) == (pytest.approx(loss.mean()), None, "plain mean")
        proxy = ppat.pure_proxy(pool)
        assert proxy.risk == pytest.approx(pool.mean())
        assert (proxy.labels, proxy.pool_size) == (0, 6)
        for found in (mean, proxy):
            assert found.reason
            json.dumps(found.to_dict(), allow_nan=False)

    def test_ase_takes_labels_in_place_of_expectations(self):
        assert ppat.ase([1.0, 2.0, 4.0], loss=[7.0], index=[1]).risk == pytest.approx(4)
        assert ppat.ase([1.0, 2.0, 4.0]).risk == pytest.approx(7 / 3)
        given = np.array([1.0, 2.0, 4.0])
        ppat.ase(given, loss=[7.0], index=[1])
        assert given[1] == 2  # the caller's array is left alone

    def test_asi_interval(self):
        found = ppat.asi([1, 2.5, 3], [0.5, 0.8, 0.9], [0, 2, 5], pool_proxy_loss=[0.8, 0.3, 2, 0.5, 1.2, 2.6])
        half = stats.norm.ppf(0.95) * found.std_error
        assert found.interval == pytest.approx((found.risk - half, found.risk + half))

    @pytest.mark.parametrize(
        ("call", "message"),
        [
            (lambda: ppat.random_sampling([1.0] * 4, pool_size=3), "loss has 4 labels and pool_size is 3"),
            (lambda: ppat.random_sampling([1.0, math.nan], pool_size=3), "loss[1] is nan"),
            (lambda: ppat.biased_mean([1.0] * 4, pool_size=3), "loss has 4 labels"),
            (lambda: ppat.pure_proxy([1.0, math.inf]), "pool_proxy_loss[1] is inf"),
            (lambda: ppat.ase([1.0, math.nan]), "expected_loss[1] is nan"),
            (lambda: ppat.ase([1.0], loss=[1.0]), "loss and index belong together"),
            (lambda: ppat.ase([1.0, 1.0], loss=[1.0, 2.0], index=[1, 1]), "index[1] is 1, as index[0] is"),
            (lambda: ppat.ase([1.0, 1.0], loss=[1.0], index=[2]), "index[0] is 2"),
            (lambda: asi(inclusion=[0.5, 0.0]), "inclusion[1] is 0.0: give the probability, in (0, 1]"),
            (lambda: asi(inclusion=[0.5, 1.1]), "inclusion[1] is 1.1"),
            (lambda: asi(inclusion=[0.5]), "inclusion has 1 values and loss has 2"),
            (lambda: asi(index=[0]), "index has shape (1,)"),
            (lambda: asi(index=[0, 3]), "index[1] is 3"),
            (lambda: asi(index=[2, 2]), "index[1] is 2, as index[0] is: without replacement"),
            (lambda: asi(variance="plugin"), "variance is 'plugin': choose one of iid, design"),
            (lambda: asi(confidence=1.0), "confidence is 1.0"),
            (lambda: asi(loss=[1.0, math.nan]), "loss[1] is nan"),
        ],
    )
    def test_refusals(self, call, message):
        with pytest.raises(InputError) as refusal:
            call()
        assert message in str(refusal.value)


def asi(**changes):
    given = {"loss": [1.0, 2.0], "inclusion": [0.5, 0.5], "index": [0, 1], **changes}
    return ppat.asi(**given, **({} if "pool_proxy_loss" in given else {"pool_proxy_loss": [1.0, 1.0, 2.0]}))
