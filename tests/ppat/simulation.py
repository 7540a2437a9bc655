"""Pools and an exact vectorised sampler for the simulations, sharing nothing with the library's own."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Case:
    """A pool of losses with their proxies, and the scores of a proposal."""

    loss: np.ndarray
    proxy: np.ndarray
    scores: np.ndarray
    epsilon: float = 0.1

    @property
    def risk(self) -> float:
        return float(self.loss.mean())

    @property
    def centred(self) -> np.ndarray:
        return self.proxy - self.proxy.mean()


def regression(size: int, *, seed: int, surrogate_error: float = 0.3, proxy_error: float = 0.2) -> Case:
    """Squared errors of a wrong model on two features; surrogate and proxy know the truth up to the errors given."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(size, 2))
    truth = np.sin(2 * x[:, 0]) + 0.5 * x[:, 1]
    label, prediction = truth + 0.3 * rng.normal(size=size), 0.6 * x[:, 0] + 0.5 * x[:, 1]
    surrogate = truth + surrogate_error * rng.normal(size=size)
    difference, variance = surrogate - prediction, surrogate_error**2 + 0.09
    proxy = (truth + proxy_error * rng.normal(size=size) - prediction) ** 2
    expected = variance + difference**2
    centred = proxy - proxy.mean()
    scores = np.sqrt(2 * variance**2 + 4 * variance * difference**2 + (expected - centred) ** 2)
    return Case((label - prediction) ** 2, proxy, scores)


def bad_surrogate(size: int, *, seed: int) -> Case:
    """A surrogate that puts its scores where the loss is not."""
    case = regression(size, seed=seed)
    scores = np.exp(np.random.default_rng(seed + 1).normal(size=size))
    return Case(case.loss, case.proxy, scores)


def outliers(size: int, *, seed: int) -> Case:
    """One point in two hundred has an enormous loss that neither the proxy nor the surrogate sees."""
    case = regression(size, seed=seed)
    rng = np.random.default_rng(seed + 1)
    hit = rng.permutation(size)[: size // 200]
    loss = case.loss.copy()
    loss[hit] += (12 * rng.standard_t(3, size=len(hit))) ** 2
    return Case(loss, case.proxy, case.scores)


def draws(case: Case, budget: int, trials: int, *, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Index and probability of every draw, shape (trials, budget).

    The component of the mixture is chosen first, and points that are gone are rejected within it: the law is exact.
    """
    size, rows = len(case.loss), np.arange(trials)
    rng = np.random.default_rng(seed)
    cumulative = np.cumsum(case.scores)
    gone = np.zeros((trials, size), dtype=bool)
    mass = np.zeros(trials)
    index, q = np.empty((trials, budget), dtype=np.int64), np.empty((trials, budget))
    for step in range(budget):
        flat = rng.random(trials) < case.epsilon
        chosen = np.zeros(trials, dtype=np.int64)
        open_rows = rows
        while open_rows.size:
            u = rng.random(open_rows.size)
            by_score = np.minimum(np.searchsorted(cumulative, u * cumulative[-1], side="right"), size - 1)
            pick = np.where(flat[open_rows], (u * size).astype(np.int64), by_score)
            chosen[open_rows] = pick
            open_rows = open_rows[gone[open_rows, pick]]
        scores = case.scores[chosen]
        q[:, step] = (1 - case.epsilon) * scores / (cumulative[-1] - mass) + case.epsilon / (size - step)
        index[:, step] = chosen
        gone[rows, chosen] = True
        mass += scores
    return index, q


def uniform_draws(size: int, budget: int, trials: int, *, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The same for uniform draws."""
    ones = np.ones(size)
    return draws(Case(ones, ones, ones, epsilon=1.0), budget, trials, seed=seed)


def zero_one(case: Case) -> Case:
    loss, proxy = ((x > np.quantile(x, 0.8)).astype(float) for x in (case.loss, case.proxy))
    return Case(loss, proxy, case.scores, case.epsilon)
