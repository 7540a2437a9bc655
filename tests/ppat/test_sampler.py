"""Draws: the law of whole sequences, the probabilities, and the same points by either path, on any machine."""

import hashlib
import os
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2, kstest

from helpers import lazy, ppat
from helpers.errors import InputError
from helpers.ppat import drawing, proposal, sampler

ROOT = Path(__file__).resolve().parents[2]
PATHS = {"compiled": nullcontext, "numpy": lambda: lazy.hidden("numba")}
paths = pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)
GOLDEN = [1, 0.5, 2, 0.5, 1, 3]
DRAWN = [[4, 1, 2, 5, 3, 0], [5, 3, 2, 0, 4, 1], [3, 5, 4, 0, 2, 1]]
DRAWN_Q = "af7d64db1f4e8a9b"
#: Scores, epsilon. "steep" renews its table after nearly every draw; "some zero" runs out of scores half-way.
LAWS = {
    "fixed": ([1, 0.5, 2, 0.5, 1], 0.1),
    "no uniform part": ([1, 0.5, 2, 0.5, 1], 0.0),
    "uniform": ([1, 0.5, 2, 0.5, 1], 1.0),
    "some zero": ([1, 0, 2, 0, 0], 0.3),
    "steep": ([1, 1e-2, 1e-4, 1e-6, 1e-8], 0.3),
}


@pytest.fixture(scope="module", autouse=True)
def numba():
    """Without numba the first path would be the second under another name."""
    return pytest.importorskip("numba")


def sequences(scores, count, epsilon):
    """Every sequence with its probability, from the definition."""

    def extend(drawn, probability):
        if len(drawn) == count:
            yield drawn, probability
            return
        left = np.ones(len(scores), dtype=bool)
        left[list(drawn)] = False
        for point, share in enumerate(proposal.mixture(scores, epsilon=epsilon, left=left)):
            if share > 0:
                yield from extend((*drawn, point), probability * share)

    return dict(extend((), 1.0))


def statistic(expected, indices):
    """Pearson's chi squared of sequences with their law, and the 99.9 % point; rare sequences count together."""
    numbers = indices @ (10 ** np.arange(indices.shape[1])[::-1])
    observed = dict(zip(*np.unique(numbers, return_counts=True), strict=True))
    rows = [(observed.pop(int("".join(map(str, s))), 0), p * len(indices)) for s, p in expected.items()]
    assert not observed, "a sequence of probability 0 was drawn"
    often = [row for row in rows if row[1] >= 5]
    rare = np.sum([row for row in rows if row[1] < 5], axis=0) if len(often) < len(rows) else np.zeros(2)
    table = np.array(often + ([rare] if rare[1] > 1 else []))
    found = np.sum((table[:, 0] - table[:, 1]) ** 2 / table[:, 1])
    return found, chi2.ppf(0.999, len(table) - 1)


def from_scratch(scores, indices, epsilon):
    """The probability of every draw of one trial, each from the definition."""
    left, q = np.ones(len(scores), dtype=bool), []
    for point in indices:
        q.append(proposal.mixture(scores, epsilon=epsilon, left=left)[point])
        left[point] = False
    return np.array(q)


@paths
@pytest.mark.parametrize(("scores", "epsilon"), LAWS.values(), ids=LAWS)
def test_the_law_of_sequences(path, scores, epsilon):
    """60 sequences of 3 of 5; a fixed seed, and a band that a right sampler leaves once in a thousand."""
    trials = 10_000 if min(scores) < 0.1 else 200_000  # where each trial needs tables of its own
    with path():
        indices, _ = ppat.sample(scores, 3, trials=trials, epsilon=epsilon, seed=7)
    found, limit = statistic(sequences(np.array(scores), 3, epsilon), indices)
    assert found < limit


@pytest.mark.slow
def test_the_law_of_sequences_closely():
    """Up to 400,000 trials: a sequence that came one time in a hundred too often would show."""
    for name, trials in (("fixed", 400_000), ("uniform", 400_000), ("some zero", 100_000), ("steep", 100_000)):
        scores, epsilon = LAWS[name]
        indices, _ = ppat.sample(scores, 3, trials=trials, epsilon=epsilon, seed=8)
        found, limit = statistic(sequences(np.array(scores), 3, epsilon), indices)
        assert found < limit


def test_the_test_of_the_law_can_fail():
    """The same draws against a law with slightly other scores."""
    indices, _ = ppat.sample(GOLDEN[:5], 3, trials=200_000, seed=7)
    found, limit = statistic(sequences(np.array([1, 0.5, 2.1, 0.5, 1]), 3, 0.1), indices)
    assert found > limit


@paths
def test_golden_probabilities(path):
    with path():
        indices, q = ppat.sample(GOLDEN, 3, trials=2000)
    which = np.flatnonzero((indices == [5, 2, 0]).all(axis=1))
    assert which.size > 10
    assert q[which[0]] == pytest.approx([0.3541666666666667, 0.38, 0.325], abs=1e-12)


@paths
@pytest.mark.parametrize("spread", [0.0, 1.0, 3.0, 5.0, 8.0])
@pytest.mark.parametrize(("size", "budget"), [(7, 7), (300, 300), (2000, 150)])
def test_probabilities_are_those_from_scratch(path, spread, size, budget):
    scores = np.random.default_rng(3).lognormal(0.0, spread, size)
    with path():
        indices, q = ppat.sample(scores, budget, trials=3, epsilon=0.05, seed=1)
    for trial in range(3):
        assert len(set(indices[trial])) == budget
        assert q[trial] == pytest.approx(from_scratch(scores, indices[trial], 0.05), rel=1e-12)


score_lists = st.lists(st.one_of(st.just(0.0), st.floats(1e-9, 1.0), st.floats(1e-300, 1e300)), min_size=1, max_size=30)


@settings(max_examples=150)
@given(score_lists.filter(lambda scores: max(scores) > 0), st.data(), st.integers(0, 2**70))
def test_both_paths_draw_the_same(scores, data, seed):
    budget = data.draw(st.integers(1, len(scores)))
    epsilon = data.draw(st.sampled_from([0.001, 0.1, 0.9, 1.0]))
    compiled = ppat.sample(scores, budget, trials=4, epsilon=epsilon, seed=seed)
    with lazy.hidden("numba"):
        plain = ppat.sample(scores, budget, trials=4, epsilon=epsilon, seed=seed)
    assert np.array_equal(compiled[0], plain[0])
    assert np.array_equal(compiled[1], plain[1])
    assert ((compiled[1] > 0) & (compiled[1] <= 1)).all()


@pytest.mark.parametrize("spread", [1.0, 4.0, 7.0])
@pytest.mark.parametrize(("size", "budget", "trials"), [(5000, 400, 60), (400, 400, 20), (60, 50, 300)])
def test_both_paths_draw_the_same_on_larger_pools(spread, size, budget, trials):
    scores = np.random.default_rng(4).lognormal(0.0, spread, size)
    compiled = ppat.sample(scores, budget, trials=trials, seed=5)
    with lazy.hidden("numba"):
        plain = ppat.sample(scores, budget, trials=trials, seed=5)
    assert np.array_equal(compiled[0], plain[0])
    assert np.array_equal(compiled[1], plain[1])


PROGRAM = """
import hashlib, sys
{hide}
import numpy as np
from helpers import ppat
scores = np.random.default_rng(0).lognormal(0, 4, 3000)
indices, q = ppat.sample(scores, 200, trials=40, seed=11)
moments = ppat.proposal.Moments(scores**0.1, scores**0.1)
again = ppat.sample_refreshed(moments, scores**0.1, scores**0.09, 120, refresh=40, trials=10, seed=3)
print(hashlib.sha256(b"".join(part.tobytes() for part in (indices, q, *again))).hexdigest())
print(sys.modules.get("numba") is not None)
"""


def digest(hide="", **environment):
    """What a fresh interpreter draws, and whether it had numba."""
    command = [sys.executable, "-W", "error", "-c", PROGRAM.format(hide=hide)]
    where = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=where)
    found, numba = done.stdout.split()
    return found, numba == "True"


def test_draws_are_the_same_without_numba_and_on_any_number_of_threads():
    found, numba = digest('sys.modules["numba"] = None', OMP_NUM_THREADS="1")
    assert not numba
    for threads in ("1", "2"):
        assert digest(OMP_NUM_THREADS=threads, NUMBA_NUM_THREADS=threads) == (found, True)


def test_draws_do_not_change_between_releases():
    """Whoever quotes a seed must get these points again: a change here is a change of every published simulation."""
    indices, q = ppat.sample(GOLDEN, 6, trials=3, seed=0)
    assert indices.tolist() == DRAWN
    assert hashlib.sha256(np.round(q, 12).tobytes()).hexdigest()[:16] == DRAWN_Q


@paths
def test_a_trial_depends_on_its_number_and_the_seed_alone(path):
    with path():
        many, q = ppat.sample(GOLDEN, 4, trials=50, seed=9)
        few, _ = ppat.sample(GOLDEN, 4, trials=5, seed=9)
        other, _ = ppat.sample(GOLDEN, 4, trials=50, seed=10)
        values = proposal.check_scores(GOLDEN, 0.1)
        part, part_q = sampler.drawn(values, 4, range(20, 30), epsilon=0.1, seed=9)
    assert np.array_equal(many[:5], few)
    assert not np.array_equal(many, other)
    assert np.array_equal(many[20:30], part)
    assert np.array_equal(q[20:30], part_q)


@paths
def test_what_is_held_at_once_changes_nothing(path, monkeypatch):
    scores = np.random.default_rng(5).lognormal(0.0, 3.0, 200)
    with path():
        whole = ppat.sample(scores, 90, trials=23, seed=2)
        monkeypatch.setattr(drawing, "CELLS", 900)
        monkeypatch.setattr(drawing, "AHEAD", 1)
        parts = ppat.sample(scores, 90, trials=23, seed=2)
    assert np.array_equal(whole[0], parts[0])
    assert np.array_equal(whole[1], parts[1])


@paths
def test_the_whole_pool_is_a_permutation(path):
    scores = np.random.default_rng(6).lognormal(0.0, 2.0, 500)
    with path():
        indices, q = ppat.sample(scores, 500, trials=8)
    assert np.array_equal(np.sort(indices, axis=1), np.tile(np.arange(500), (8, 1)))
    assert q[:, -1] == pytest.approx(1.0, abs=1e-12)
    assert len({tuple(row) for row in indices}) == 8


@paths
def test_once_the_scores_are_used_up_the_rest_is_uniform(path):
    with path():
        indices, q = ppat.sample([0, 5, 0, 0, 3, 0], 6, trials=200, epsilon=0.01, seed=3)
    last = np.array([np.flatnonzero(np.isin(row, [1, 4])).max() for row in indices])
    assert (last == 1).mean() > 0.9
    for step in range(2, 6):
        after = last < step
        assert q[after, step] == pytest.approx(1.0 / (6 - step), rel=1e-12)


@paths
def test_one_point_with_nearly_all_the_mass(path):
    """Drawn first, it leaves a millionth of the mass: rejection alone would take a million attempts a draw."""
    scores = np.full(3000, 1e-9)
    scores[17] = 1.0
    with path():
        indices, q = ppat.sample(scores, 40, trials=100, epsilon=0.01, seed=4)
    assert (indices[:, 0] == 17).mean() > 0.9
    after = np.flatnonzero(indices[:, 0] == 17)
    assert q[after, 1] == pytest.approx(1.0 / 2999, rel=1e-12)


@paths
def test_scores_count_by_their_ratio_only(path):
    scores = np.array([1.0, 3.0, 0.25, 2.0])
    with path():
        indices, q = ppat.sample(scores, 3, trials=50)
        huge = ppat.sample(scores * 2.0**1000, 3, trials=50)
    assert np.array_equal(indices, huge[0])
    assert np.array_equal(q, huge[1])


def test_a_pool_of_one():
    indices, q = ppat.sample([2.0], 1, trials=3)
    assert indices.tolist() == [[0]] * 3
    assert q.tolist() == [[1.0]] * 3


@given(st.lists(st.floats(1e-12, 1e3), min_size=1, max_size=60), st.integers(0, 20))
def test_alias_tables_hold_the_law(positive, zeros):
    """A point's probability is what its own cell keeps, and what other cells give it."""
    scores = np.random.default_rng(0).permutation(np.array(positive + [0.0] * zeros))
    keeps, alias = drawing._alias_table(scores, float(np.cumsum(scores)[-1]))
    assert keeps.min() >= -1e-12
    assert keeps.max() <= 1.0
    law = keeps.copy()
    np.add.at(law, alias, 1.0 - keeps)
    assert law / len(scores) == pytest.approx(scores / scores.sum(), rel=1e-9, abs=1e-14)
    assert not keeps[scores == 0].any()
    assert not np.isin(np.flatnonzero(scores == 0), alias[keeps < 1.0]).any()


def test_uniform_numbers_are_uniform_and_their_own():
    """200,000 numbers over trials, steps and counts: none twice, and no streak in any of the three directions."""
    keys = drawing.trial_keys(1, range(100))
    step = np.arange(100, dtype=np.uint64)[:, None]
    numbers = drawing._uniform(keys[:, None, None], step, np.arange(20, dtype=np.uint64))
    assert np.unique(numbers).size == numbers.size
    assert kstest(numbers.ravel(), "uniform").pvalue > 0.001
    for axis in range(3):
        moved = np.moveaxis(numbers, axis, 0)
        pair = np.corrcoef(moved[:-1].ravel(), moved[1:].ravel())[0, 1]
        assert abs(pair) < 4 / np.sqrt(numbers.size)  # four standard errors


# scores that follow the labels

LOSS, PROXY = np.array([1, 0.2, 2.5, 0.4, 0.9]), np.array([0.8, 0.3, 2, 0.5, 1.2])
MOMENTS = proposal.Moments(PROXY + 0.2, [0.5, 0.4, 0.6, 0.2, 0.3])


def control_of(indices, q, loss=LOSS, proxy=PROXY):
    """The estimated least-squares control of one run, from the definition."""
    c = proxy - proxy.mean()
    return np.mean(ppat.weights(q, len(loss)) * loss[indices] * c[indices]) / np.mean(c**2)


def follow(drawn, q, refresh, grid, intercept):
    """The law of the next draw, given those before it."""
    seen = len(drawn) // refresh * refresh
    control = 1.0 if seen == 0 else control_of(np.array(drawn[:seen]), np.array(q[:seen]))
    control = np.round(control / grid) * grid
    left = np.ones(len(LOSS), dtype=bool)
    left[list(drawn)] = False
    term = control * (PROXY if intercept else PROXY - PROXY.mean())
    return proposal.mixture(MOMENTS.scores(term), epsilon=0.1, left=left), control


@paths
@pytest.mark.parametrize("intercept", [False, True])
def test_the_law_of_sequences_with_refreshed_scores(path, intercept):
    def extend(drawn, q):
        if len(drawn) == 4:
            yield drawn, np.prod(q)
            return
        law, _ = follow(drawn, q, 2, 0.05, intercept)
        for point in np.flatnonzero(law):
            yield from extend((*drawn, int(point)), [*q, law[point]])

    with path():
        indices, q, control = ppat.sample_refreshed(
            MOMENTS, LOSS, PROXY, 4, refresh=2, intercept=intercept, trials=100_000, seed=3
        )
    found, limit = statistic(dict(extend((), [])), indices)
    assert found < limit
    for trial in range(20):
        for step in range(4):
            law, strength = follow(tuple(indices[trial, :step]), q[trial, :step], 2, 0.05, intercept)
            assert q[trial, step] == pytest.approx(law[indices[trial, step]], rel=1e-12)
            assert control[trial, step] == pytest.approx(strength, abs=1e-12)


def refreshed_pool(size=400):
    rng = np.random.default_rng(8)
    truth = rng.normal(size=size)
    loss, proxy = (truth + 0.3 * rng.normal(size=size)) ** 2, (truth + 0.3 * rng.normal(size=size)) ** 2
    return proposal.Moments.gaussian(truth, 0.1), loss, proxy


def test_refreshed_draws_are_the_same_by_both_paths():
    pool = refreshed_pool()
    compiled = ppat.sample_refreshed(*pool, 300, refresh=50, trials=30, seed=2)
    with lazy.hidden("numba"):
        plain = ppat.sample_refreshed(*pool, 300, refresh=50, trials=30, seed=2)
    for one, other in zip(compiled, plain, strict=True):
        assert np.array_equal(one, other)


def test_shared_tables_change_nothing(monkeypatch):
    pool = refreshed_pool()
    whole = ppat.sample_refreshed(*pool, 120, refresh=40, trials=30, seed=2)
    assert len(np.unique(whole[2])) > 4
    monkeypatch.setattr(sampler, "TABLES", 2)
    parts = ppat.sample_refreshed(*pool, 120, refresh=40, trials=30, seed=2)
    for one, other in zip(whole, parts, strict=True):
        assert np.array_equal(one, other)


def test_controls_lie_on_the_grid_and_change_on_schedule():
    indices, q, control = ppat.sample_refreshed(*refreshed_pool(), 100, refresh=30, grid=0.25, trials=8, seed=1)
    assert np.array_equal(control / 0.25, np.round(control / 0.25))
    assert (np.diff(control, axis=1)[:, [step for step in range(99) if step not in (29, 59, 89)]] == 0).all()
    assert (control[:, :30] == 1.0).all()
    _, loss, proxy = refreshed_pool()
    for trial in range(8):
        exact = control_of(indices[trial, :60], q[trial, :60], loss, proxy)
        assert abs(control[trial, 60] - exact) <= 0.125 + 1e-12


def test_before_the_first_refresh_draws_are_those_of_fixed_scores():
    moments, loss, proxy = refreshed_pool()
    indices, q, _ = ppat.sample_refreshed(moments, loss, proxy, 50, initial_control=0.5, trials=4)
    fixed = ppat.sample(moments.scores(0.5 * (proxy - proxy.mean())), 50, trials=4)
    assert np.array_equal(indices, fixed[0])
    assert q == pytest.approx(fixed[1], rel=1e-12)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ppat.sample([1.0, np.nan], 1), r"scores\[1\] is nan"),
        (lambda: ppat.sample([1.0, -2.0], 1), r"scores\[1\] is -2.0"),
        (lambda: ppat.sample([0.0, 0.0], 1), "scores are 0 for every point"),
        (lambda: ppat.sample([1.0, 0.0], 1, epsilon=0.0), r"scores\[1\] is 0 and so is epsilon"),
        (lambda: ppat.sample([1.0, 1.0], 3), "budget is 3 and the pool has 2 points"),
        (lambda: ppat.sample([1.0, 1.0], 0), "budget is 0"),
        (lambda: ppat.sample([1.0, 1.0], 1.5), "budget is 1.5"),
        (lambda: ppat.sample([1.0, 1.0], 1, trials=0), "trials is 0"),
        (lambda: ppat.sample([1.0, 1.0], 1, epsilon=-0.1), "epsilon is -0.1"),
        (lambda: ppat.sample([1.0, 1.0], 1, seed=-1), "seed is -1"),
        (lambda: ppat.sample([[1.0, 1.0]], 1), "scores has shape"),
        (lambda: ppat.sample_refreshed(MOMENTS, LOSS[:4], PROXY, 2), "loss has 4 values"),
        (lambda: ppat.sample_refreshed(MOMENTS, LOSS, PROXY, 6), "budget is 6"),
        (lambda: ppat.sample_refreshed(MOMENTS, LOSS, np.ones(5), 2), "proxy_loss is 1.0 for every point"),
        (lambda: ppat.sample_refreshed(MOMENTS, LOSS, PROXY, 2, epsilon=0.0), "epsilon is 0.0"),
        (lambda: ppat.sample_refreshed(MOMENTS, LOSS, PROXY, 2, grid=0.0), "grid is 0.0"),
        (lambda: ppat.sample_refreshed(MOMENTS, LOSS, PROXY, 2, intercept="no"), "intercept is 'no'"),
        (lambda: ppat.sample_refreshed(MOMENTS, LOSS, PROXY, 2, refresh=0), "refresh is 0"),
        (lambda: ppat.sample_refreshed(MOMENTS, LOSS, PROXY, 2, initial_control=np.nan), "initial_control is nan"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_numba_is_not_loaded_before_it_is_needed():
    code = "import sys; from helpers import ppat; print('numba' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "False"


def test_nowhere_to_keep_what_was_compiled():
    """On a read-only machine numba refuses to cache, and compiles all the same."""

    class ReadOnly:
        @staticmethod
        def njit(function, cache=False):
            if cache:
                raise RuntimeError("cannot cache function: no locator available")
            return function

    assert drawing._compile(ReadOnly) is drawing._one_by_one
