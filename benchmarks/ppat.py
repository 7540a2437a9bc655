"""Active testing simulated against what a user would otherwise run: a loop over `rng.choice`, in one process.

One thousand runs of 500 labels on a pool of 50,000 points with log-normal scores, from losses to coverage: scores,
tables, draws, estimates, intervals. The rivals draw only, which flatters them; few of their draws are timed, and scaled
to all: the time of a draw changes by nothing but chance along a run.

    python benchmarks/ppat.py [--pool 50000] [--budget 500] [--trials 1000]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

import numpy as np

from helpers import lazy, ppat
from helpers.errors import MissingExtra

EPSILON, TIMED = 0.1, 25


def main() -> None:
    """Print one line per claim."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pool", type=int, default=50_000)
    parser.add_argument("--budget", type=int, default=500)
    parser.add_argument("--trials", type=int, default=1000)
    options = parser.parse_args()
    pool = make_pool(options.pool)
    scores = pool.moments.scores(pool.proxy_loss - pool.proxy_loss.mean())
    print(f"{options.trials} trials of {options.budget} labels, pool of {options.pool}")

    paths: dict[str, Callable[[], AbstractContextManager[None]]] = {"core install": lambda: lazy.hidden("numba")}
    try:
        lazy.require("numba", extra="fast")
        start = time.perf_counter()
        ppat.sample(scores, 5)
        print(f"first draw with `fast`, which loads or compiles   {time.perf_counter() - start:8.2f} s")
        paths["fast"] = nullcontext
    except MissingExtra as error:
        print(error)

    def work(path: str, step: Callable[[], object]) -> float:
        with paths[path]():
            return seconds(step)

    def everything() -> object:
        return ppat.simulate(pool, ["ppat 1"], budget=options.budget, trials=options.trials)

    def draws() -> object:
        return ppat.sample(scores, options.budget, trials=options.trials, epsilon=EPSILON)

    # rounds of rivals and ours in turn, so that other load on the machine hits both
    ours: dict[str, list[float]] = {}
    choice, multinomial, lean = [], [], []
    for _ in range(5):
        for path in paths:
            ours.setdefault(f"{path}, end to end", []).append(work(path, everything))
            ours.setdefault(f"{path}, draws only", []).append(work(path, draws))
        choice.append(seconds(lambda: choice_loop(scores, TIMED)) / TIMED)
        multinomial.append(seconds(lambda: multinomial_loop(scores, TIMED)) / TIMED)
        lean.append(seconds(lambda: cumulative_loop(scores, TIMED)) / TIMED)

    total = options.budget * options.trials
    rivals = {"rng.choice": min(choice), "multinomial": min(multinomial), "cumulative sum": min(lean)}
    for name, draw in rivals.items():
        print(f"{name + ' loop, scaled from ' + str(TIMED) + ' draws':48} {draw * total:9.1f} s")
    for name, times in ours.items():
        ratios = "  ".join(f"{rival} {draw * total / min(times):6.0f}" for rival, draw in rivals.items())
        print(f"{name:48} {min(times):9.3f} s   ratios: {ratios}")

    indices, q = ppat.sample(scores, options.budget, trials=2, epsilon=EPSILON)
    exact = np.array([probabilities(scores, points) for points in indices])
    print(f"largest relative error of a probability {np.max(np.abs(q / exact - 1)):.1e}")
    with lazy.hidden("numba"):
        plain = ppat.sample(scores, options.budget, trials=2, epsilon=EPSILON)
    print(f"both paths draw the same: {np.array_equal(indices, plain[0]) and np.array_equal(q, plain[1])}")


def make_pool(size: int) -> ppat.Pool:
    """Losses of a log-normal scale, which surrogate and proxy know to a third."""
    rng = np.random.default_rng(0)
    scale = rng.lognormal(0.0, 1.0, size)
    loss, proxy = (scale * rng.lognormal(-0.05, 0.3, size) for _ in range(2))
    return ppat.Pool(loss, proxy, ppat.proposal.Moments(scale, 0.3 * scale))


def seconds(work: Callable[[], object]) -> float:
    """Wall time of one call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def choice_loop(scores: np.ndarray, draws: int) -> list[int]:
    """The loop that comes to mind: probabilities over the pool, and one choice of it, for each draw."""
    rng = np.random.default_rng(0)
    weight, left = scores.copy(), np.ones(len(scores), dtype=bool)
    points = []
    for _ in range(draws):
        p = (1.0 - EPSILON) * weight / weight.sum() + EPSILON * left / left.sum()
        point = int(rng.choice(len(scores), p=p))
        weight[point], left[point] = 0.0, False
        points.append(point)
    return points


def multinomial_loop(scores: np.ndarray, draws: int) -> list[int]:
    """The reference codes' loop: a law over the list of the points that are left, drawn as a multinomial of one."""
    rng = np.random.default_rng(0)
    left, points = np.arange(len(scores)), []
    for _ in range(draws):
        p = (1.0 - EPSILON) * scores[left] / scores[left].sum() + EPSILON / len(left)
        place = int(np.argmax(rng.multinomial(1, p / p.sum())))
        points.append(int(left[place]))
        left = np.delete(left, place)
    return points


def cumulative_loop(scores: np.ndarray, draws: int) -> list[int]:
    """As lean as a draw over the whole pool gets: one cumulative sum and a search."""
    rng = np.random.default_rng(0)
    weight, left, points = scores.copy(), np.ones(len(scores)), []
    for _ in range(draws):
        law = np.cumsum(left if rng.random() < EPSILON else weight)
        point = int(np.searchsorted(law, rng.random() * law[-1], side="right"))
        weight[point] = left[point] = 0.0
        points.append(point)
    return points


def probabilities(scores: np.ndarray, points: np.ndarray) -> list[float]:
    """The probability of each draw, from the definition."""
    left, q = np.ones(len(scores), dtype=bool), []
    for point in points:
        q.append(ppat.proposal.mixture(scores, epsilon=EPSILON, left=left)[point])
        left[point] = False
    return q


if __name__ == "__main__":
    main()
