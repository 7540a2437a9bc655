"""A proxy trained again as labels arrive: exact over every sequence of tiny pools."""

from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from helpers import ppat
from helpers.errors import InputError
from helpers.ppat.retraining import in_force

from . import oracle

EXACT = {"rel": 0, "abs": 1e-12}
pools = pytest.mark.parametrize("pool", oracle.POOLS.values(), ids=oracle.POOLS)
proposals = pytest.mark.parametrize("proposal", oracle.PROPOSALS.values(), ids=oracle.PROPOSALS)
schedules = pytest.mark.parametrize("trained_on", [[0], [0, 1, 2], [0, 2]], ids=str)


@cache
def trained(pool: oracle.Pool, seen: tuple[int, ...]) -> list[Fraction]:
    """Proxy losses of the whole pool after the labels of `seen`: drawn to the losses of similar points, above all its
    own."""
    found = []
    for first in pool.proxy:
        nearness = [4 / (1 + 10 * abs(first - pool.proxy[j])) for j in seen]
        pulled = sum((w * pool.loss[j] for w, j in zip(nearness, seen, strict=True)), Fraction(0))
        found.append((first + pulled) / (1 + sum(nearness, Fraction(0))))
    return found


def centred(values: list[Fraction]) -> list[Fraction]:
    return [x - oracle.mean(values) for x in values]


def exact(
    pool: oracle.Pool, run: oracle.Run, trained_on: list[int], control: Fraction, intercept: bool = False
) -> list[Fraction]:
    """A_m with the proxy of step m, from the formula."""
    found = []
    for m in range(len(run.index)):
        version = trained(pool, run.index[: max(k for k in trained_on if k <= m)])
        offset = version if intercept else centred(version)
        z = [loss - control * x for loss, x in zip(pool.loss, offset, strict=True)]
        term = (z[run.index[m]] / run.q[m] + sum((z[j] for j in run.index[:m]), Fraction(0))) / pool.size
        found.append(term + (control * oracle.mean(version) if intercept else 0))
    return found


def estimate(pool: oracle.Pool, run: oracle.Run, trained_on: list[int], control: Fraction, **options) -> Fraction:
    a = exact(pool, run, trained_on, control, **options)
    return oracle.mean([f * x for f, x in zip(oracle.gamma(len(a), pool.size), a, strict=True)])


def given(pool: oracle.Pool, run: oracle.Run, trained_on: list[int]) -> dict:
    """What the library is told."""
    versions = [trained(pool, run.index[:k]) for k in trained_on]
    return {
        "loss": [float(pool.loss[i]) for i in run.index],
        "q": [float(share) for share in run.q],
        "pool_size": pool.size,
        "proxy_losses": [[float(version[i]) for i in run.index] for version in versions],
        "proxy_means": [float(oracle.mean(version)) for version in versions],
        "trained_on": trained_on,
    }


@pools
@proposals
@schedules
@pytest.mark.parametrize("intercept", [False, True])
def test_unbiased_in_rationals_and_in_the_library(pool, proposal, trained_on, intercept):
    half, total, found = Fraction(1, 2), Fraction(0), 0.0
    for run in oracle.runs(pool, 3, proposal):
        value = estimate(pool, run, trained_on, half, intercept=intercept)
        total += run.probability * value
        library = ppat.retrained(**given(pool, run, trained_on), control=0.5, intercept=intercept).risk
        assert library == pytest.approx(float(value), **EXACT)
        found += float(run.probability) * library
    assert total == pool.risk
    assert found == pytest.approx(float(pool.risk), **EXACT)


@proposals
def test_post_hoc_form_is_biased(proposal):
    """The last proxy for all labels, its own among them: no less plausible, and off by half a percent to four."""
    pool, total, found = oracle.SPEC, Fraction(0), 0.0
    for run in oracle.runs(pool, 3, proposal):
        last = trained(pool, run.index)
        z = [loss - c for loss, c in zip(pool.loss, centred(last), strict=True)]
        total += run.probability * oracle.weighted_mean(z, run, pool.size)
        labels = [float(pool.loss[i]) for i in run.index], [float(share) for share in run.q]
        library = ppat.estimate(
            *labels,
            pool_size=5,
            proxy_loss=[float(last[i]) for i in run.index],
            pool_proxy_loss=[float(x) for x in last],
        )
        found += float(run.probability) * library.risk
    assert abs(total - pool.risk) > Fraction(5, 1000)
    assert found == pytest.approx(float(total), **EXACT)


@proposals
def test_a_version_that_has_seen_the_label_of_its_step_is_biased(proposal):
    """The check can fail: one label too many, and the estimate is off."""
    pool, total = oracle.SPEC, Fraction(0)
    for run in oracle.runs(pool, 3, proposal):
        a = []
        for m, i in enumerate(run.index):
            z = [x - c for x, c in zip(pool.loss, centred(trained(pool, run.index[: m + 1])), strict=True)]
            a.append((z[i] / run.q[m] + sum((z[j] for j in run.index[:m]), Fraction(0))) / pool.size)
        total += run.probability * oracle.mean([f * x for f, x in zip(oracle.gamma(3, 5), a, strict=True)])
    assert abs(total - pool.risk) > Fraction(1, 100)


@proposals
def test_unbiased_variance(proposal):
    pool, runs = oracle.SEVEN, list(oracle.runs(oracle.SEVEN, 3, proposal))
    found = [ppat.retrained(**given(pool, run, [0, 1, 2]), variance="unbiased") for run in runs]
    p = np.array([float(run.probability) for run in runs])
    risk = np.array([one.risk for one in found])
    assert p @ np.array([one.std_error**2 for one in found]) == pytest.approx(
        p @ (risk - float(pool.risk)) ** 2, **EXACT
    )


def test_one_version_is_estimate():
    run = next(oracle.runs(oracle.SEVEN, 4, oracle.fixed))
    labels = given(oracle.SEVEN, run, [0])
    for options in ({}, {"control": 0.3, "intercept": True, "confidence": 0.8}, {"variance": "unbiased"}):
        found = ppat.retrained(**labels, **options)
        kept = {name: labels[name] for name in ("loss", "q", "pool_size")}
        expected = ppat.estimate(
            **kept, proxy_loss=labels["proxy_losses"][0], proxy_mean=labels["proxy_means"][0], **options
        )
        assert found.interval == pytest.approx(expected.interval, rel=1e-13)
        assert found.diagnostics == expected.diagnostics
        assert found.method == f"{expected.method}, retrained"


def test_the_whole_pool_has_its_mean():
    run = next(oracle.runs(oracle.SPEC, 5, oracle.label_adaptive))
    found = ppat.retrained(**given(oracle.SPEC, run, [0, 1, 3]))
    assert found.risk == pytest.approx(1.0, **EXACT)
    assert (found.low, found.high, found.std_error) == (found.risk, found.risk, 0.0)


def test_a_proxy_that_learns_beats_the_one_it_started_from():
    """A proxy that knows nothing at first, refitted by least squares each 20 labels; 300 runs of uniform draws."""
    rng, size, count = np.random.default_rng(1), 400, 120
    x = rng.normal(size=(size, 2))
    loss = 2 + x @ [1.0, -0.5] + 0.2 * rng.normal(size=size)
    design, errors = np.column_stack([np.ones(size), x]), {"plain": [], "retrained": []}
    q = 1 / (size - np.arange(count))
    seen = [0, *range(20, count, 20)]
    for _ in range(300):
        index = rng.permutation(size)[:count]
        fits = [np.zeros(3)] + [np.linalg.lstsq(design[index[:k]], loss[index[:k]])[0] for k in seen[1:]]
        pool = np.array([design @ fit for fit in fits])
        found = ppat.retrained(
            loss[index], q, pool_size=size, proxy_losses=pool[:, index], proxy_means=pool.mean(axis=1), trained_on=seen
        )
        errors["retrained"].append(found.risk - loss.mean())
        errors["plain"].append(loss[index].mean() - loss.mean())
    plain, better = (np.array(errors[name]) for name in ("plain", "retrained"))
    assert better.std() < 0.65 * plain.std()  # the first twenty labels are without a proxy
    assert abs(better.mean()) < 3.3 * better.std() / np.sqrt(300)


def test_versions_in_force():
    assert in_force(np.array([0, 1, 4]), 6).tolist() == [0, 1, 1, 1, 2, 2]


def test_one_label_has_no_interval():
    found = ppat.retrained([1.0], [0.5], pool_size=3, proxy_losses=[[1.0]], proxy_means=[1.0], trained_on=[0])
    assert found.interval is None
    assert found.reason == "one label says nothing of the spread"


LABELS = {
    "loss": [3.0, 2.5, 1.0],
    "q": [0.3, 0.4, 0.3],
    "pool_size": 6,
    "proxy_losses": [[2.6, 2.0, 0.8], [2.9, 2.4, 0.9]],
    "proxy_means": [1.2, 1.3],
    "trained_on": [0, 2],
}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"trained_on": [0, 3]}, r"trained_on\[1\] is 3 of 3 labels: no term is left"),
        ({"trained_on": [1, 2]}, r"trained_on\[0\] is 1: the first term needs"),
        ({"trained_on": [0, 0]}, r"trained_on\[1\] is 0 after 0"),
        ({"trained_on": [0, 1, 2]}, "trained_on has 3 values and proxy_losses 2 rows"),
        ({"trained_on": [0.0, 2.0]}, r"trained_on has shape .* give a row of whole numbers"),
        ({"proxy_means": [1.2]}, "proxy_means has 1 values"),
        ({"proxy_losses": [[2.6, 2.0], [2.9, 2.4]]}, "proxy_losses has rows of 2 values and q has 3"),
        ({"proxy_losses": [2.6, 2.0, 0.8]}, "proxy_losses has shape"),
        ({"proxy_losses": [[2.6, 2.0, 0.8], [2.9, float("nan"), 0.9]]}, r"proxy_losses\[1, 1\] is nan"),
        ({"loss": [3.0, 2.5]}, "loss has 2 values"),
        ({"q": [0.3, 0.0, 0.3]}, r"q\[1\] is 0.0"),
        ({"control": "star"}, "control is 'star'"),
        ({"intercept": 1}, "intercept is 1"),
        ({"variance": "best"}, "variance is 'best'"),
        ({"confidence": 90}, "confidence is 90"),
        ({"pool_size": 3, "q": [0.3, 0.4, 1.0]}, r"proxy_means\[0\] is 1.2, but proxy_losses\[0\]"),
    ],
)
def test_refusals(change, message):
    ppat.retrained(**LABELS)
    with pytest.raises(InputError, match=message):
        ppat.retrained(**{**LABELS, **change})
