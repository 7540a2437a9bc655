"""The specification's worked examples, to 1e-9: the golden file, and what stands beside it in the text."""

import json

import numpy as np
import pytest

from helpers import ppat
from helpers.ppat.control import controlled
from helpers.ppat.weighting import gamma, terms

LOSS = np.array([1, 0.2, 2.5, 0.4, 0.9, 3])
PROXY = np.array([0.8, 0.3, 2, 0.5, 1.2, 2.6])
SCORES = np.array([1, 0.5, 2, 0.5, 1, 3])
ORDER = [5, 2, 0]
EXACT = {"rel": 0, "abs": 1e-9}


def probabilities(scores: np.ndarray, order: list[int], epsilon: float) -> np.ndarray:
    """q of a sequence under scores mixed with uniform draws."""
    left, q = set(range(len(scores))), []
    for i in order:
        q.append((1 - epsilon) * scores[i] / sum(scores[j] for j in left) + epsilon / len(left))
        left.remove(i)
    return np.array(q)


Q = probabilities(SCORES, ORDER, 0.1)
POOL = {"pool_size": 6, "proxy_loss": PROXY[ORDER], "pool_proxy_loss": PROXY}


@pytest.fixture(scope="module")
def golden(shared):
    return json.loads((shared / "specs" / "ppat_golden.json").read_text(encoding="utf-8"))


@pytest.mark.data
class TestFile:
    """ppat_golden.json, every entry that is no acquisition score."""

    def test_probabilities_and_weights(self, golden):
        assert pytest.approx(golden["q"], **EXACT) == Q
        assert ppat.weights(golden["q"], pool_size=6) == pytest.approx(golden["V"], **EXACT)
        assert gamma([1, 2, 3], 3, 6) == pytest.approx(golden["gamma"], **EXACT)

    @pytest.mark.parametrize("control", [0.0, 0.5, 1.0])
    def test_fixed_control(self, golden, control):
        expected = golden[f"ppat_lam{control}"]
        a = terms((LOSS - control * (PROXY - PROXY.mean()))[ORDER], Q, 6)
        assert a == pytest.approx(expected["A"], **EXACT)
        found = ppat.estimate(LOSS[ORDER], Q, **POOL, control=control)
        assert found.risk == pytest.approx(expected["R"], **EXACT)
        assert found.interval == pytest.approx((expected["lo"], expected["hi"]), **EXACT)
        assert 3 * found.std_error**2 == pytest.approx(expected["sigma2"], **EXACT)

    def test_estimated_controls(self, golden):
        dagger = ppat.estimate(LOSS[ORDER], Q, **POOL, control="dagger")
        assert dagger.control == pytest.approx(golden["lam_dagger_hat"], **EXACT)
        predictable = ppat.estimate(LOSS[ORDER], Q, **POOL, control="predictable", refresh=1)
        assert predictable.risk == pytest.approx(golden["ppat_predictable_lambda"], **EXACT)
        steps, controls = zip(*predictable.control_path, strict=True)
        assert steps == (1, 2, 3)
        assert controls == pytest.approx(golden["lam_dagger_prefix"], **EXACT)

    def test_random_and_intercept(self, golden):
        expected = golden["random_ppi_lam1"]
        found = ppat.random_sampling(LOSS[ORDER], **POOL)
        assert found.risk == pytest.approx(expected["R"], **EXACT)
        assert found.risk == pytest.approx(expected["direct"], **EXACT)
        assert 3 * found.std_error**2 == pytest.approx(expected["sigma2"], **EXACT)
        assert ppat.estimate(LOSS[ORDER], Q, **POOL, intercept=True).risk == pytest.approx(golden["diff_lam1"], **EXACT)

    def test_prefixes(self, golden):
        found = ppat.estimates(LOSS[ORDER], Q, pool_size=6)
        assert found.risk == pytest.approx(golden["lure_prefix_estimates"], **EXACT)

    def test_rivals(self, golden):
        expected = golden["asi"]
        hit = np.flatnonzero(expected["xi"])
        pi = np.array(expected["pi"])
        iid, design = (
            ppat.asi(LOSS[hit], pi[hit], hit, pool_proxy_loss=PROXY, variance=kind) for kind in ("iid", "design")
        )
        assert iid.risk == design.risk == pytest.approx(expected["R"], **EXACT)
        assert iid.std_error == pytest.approx(expected["se_iid"], **EXACT)
        assert design.std_error**2 == pytest.approx(expected["var_design"], **EXACT)
        mu, s2, f = np.array([0.5, 1, -1]), np.array([0.25, 0.04, 1]), np.array([0, 0.8, 0.2])
        assert ppat.ase(s2 + (mu - f) ** 2).risk == pytest.approx(golden["ase_gauss"], **EXACT)


class TestText:
    """What the text gives beyond the file, to the twelve digits printed there."""

    def test_weights_of_shorter_prefixes(self):
        assert ppat.weights(Q[:2], 6) == pytest.approx([0.576470588235, 0.526315789474], **EXACT)
        assert ppat.weights(Q[:1], 6) == pytest.approx([0.470588235294], **EXACT)

    def test_controls_of_every_prefix_and_the_estimate_after_them(self):
        curve = ppat.estimates(LOSS[ORDER], Q, **POOL, control="dagger")
        assert curve.control == pytest.approx([2.856037151702, 2.495946716637, 1.825687174108], **EXACT)
        assert curve.risk[-1] == pytest.approx(0.810572445955, **EXACT)
        centred = PROXY - PROXY.mean()
        assert np.mean(LOSS * centred) / np.mean(centred**2) == pytest.approx(1.251644736842, **EXACT)
        assert np.linalg.lstsq(centred[:, None], LOSS, rcond=None)[0][0] == pytest.approx(1.251644736842, **EXACT)

    def test_uniform_draws(self):
        uniform = [1 / 6, 1 / 5, 1 / 4]
        assert terms(LOSS[ORDER], np.array(uniform), 6) == pytest.approx([3, 2.583333333333, 1.583333333333], **EXACT)
        assert ppat.weights(uniform, 6) == pytest.approx([1, 1, 1], **EXACT)
        assert ppat.random_sampling(LOSS[ORDER], pool_size=6).risk == pytest.approx(13 / 6, **EXACT)

    def test_census(self):
        order = [5, 2, 0, 1, 4, 3]
        q = probabilities(SCORES, order, 0.1)
        assert list(ppat.weights(q, 6)) == [1] * 6
        assert list(gamma(np.arange(1, 7), 6, 6)) == [0, 0, 0, 0, 0, 6]
        found = ppat.estimate(LOSS[order], q, pool_size=6)
        assert found.risk == pytest.approx(LOSS.mean(), **EXACT)
        assert (found.std_error, found.low, found.high) == (0, found.risk, found.risk)

    def test_pool_of_twelve(self):
        loss = np.array([1, 0.2, 2.5, 0.4, 0.9, 3, 0.1, 0.7, 1.6, 0.3, 0.8, 2])
        proxy, order = 0.8 * loss + 0.1, [5, 2, 0, 4, 1]
        q = probabilities(np.sqrt(loss + 0.5), order, 0.2)
        assert q == pytest.approx(
            [0.118265494423, 0.125927613107, 0.108046017405, 0.117802033308, 0.101755474789], **EXACT
        )
        plugin, unbiased = (
            ppat.estimate(
                loss[order], q, pool_size=12, proxy_loss=proxy[order], pool_proxy_loss=proxy, control=0.5, variance=kind
            )
            for kind in ("plugin", "unbiased")
        )
        assert plugin.risk == unbiased.risk == pytest.approx(1.205537666064, **EXACT)
        assert plugin.std_error**2 == pytest.approx(0.008696488622, **EXACT)
        assert unbiased.std_error**2 == pytest.approx(0.011805608881, **EXACT)
        run = controlled(loss[order], q, 12, centred=(proxy - proxy.mean())[order], control=0.5)
        assert run.estimate_at(5) == pytest.approx(1.205537666064, **EXACT)
