r"""Exact draws without replacement, in constant expected time each, for many trials at once.

The law of a step mixes two laws on the points that are left, and each is a law on the whole pool given that the point
is new. So a step first chooses its component, then draws from that component's pool-wide law, by an alias table, until
the point is new. Where too few draws are new, a trial gets a table of its own over the points that it has left.

Every random number is a function of (seed, trial, step, count within the step): trial t is the same whatever else is
drawn, on any number of threads, and by either of the two paths below. `_one_by_one` is compiled by numba, which the
extra ``fast`` brings; `_side_by_side` needs NumPy only and steps through all trials together.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .. import arrays, lazy
from ..errors import MissingExtra

#: A trial gets a table of its own once fewer of its candidates than this are new. Sixty candidates cost microseconds,
#: a table of 50,000 points milliseconds: earlier it would not pay, later the mass that is left would lose digits.
ACCEPTANCE = 1 / 64
#: What the NumPy path holds at once: trials times points, trials times draws, candidates looked ahead at.
CELLS, DRAWS, AHEAD = 2**22, 2**19, 2**18

# Splitmix64: Steele, Lea and Flood (2014), "Fast splittable pseudorandom number generators".
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
S27, S30, S31, S32 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(32)
S11, UNIT = np.uint64(11), 2.0**-53
TINY = np.finfo(np.float64).tiny

#: Points, the probabilities with which they were drawn, and the step at which each trial stopped.
Drawn = tuple[np.ndarray, np.ndarray, np.ndarray]


class Tables(NamedTuple):
    """Alias tables of several score vectors over the same points, one per row."""

    probability: np.ndarray  # (G, N): a cell keeps its own point with this probability, else it gives its alias
    alias: np.ndarray  # (G, N)
    scores: np.ndarray  # (G, N)
    total: np.ndarray  # (G,): sum of the scores


def tables_of(scores: np.ndarray, epsilon: float) -> Tables:
    """Alias tables of the rows of `scores`, each of which has a positive entry unless `epsilon` is 1."""
    # uniform draws alone never look at the scores, so that these may be what is simplest to draw from
    rows = np.ones_like(scores) if epsilon == 1.0 else scores / np.maximum(scores.max(axis=1, keepdims=True), TINY)
    return Tables(*(np.stack(part) for part in zip(*map(_table, rows), strict=True)))


def _table(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    total = float(np.cumsum(scores)[-1])
    return *_alias_table(scores, total), scores, total


def trial_keys(seed: Any, trials: range) -> np.ndarray:
    """The key of each trial's random numbers."""
    state = np.random.SeedSequence(arrays.whole_number(seed, "seed", least=0)).generate_state(1, np.uint64)
    return _mix(state + GOLDEN * (np.arange(trials.start, trials.stop, dtype=np.uint64) + np.uint64(1)))


# What numba compiles is plain loops that add from left to right, as cumulative sums do: both paths round alike.


def _mix(z: Any) -> Any:
    """64 bits scrambled."""
    z = (z ^ (z >> S30)) * FIRST
    z = (z ^ (z >> S27)) * SECOND
    return z ^ (z >> S31)


def _uniform(key: Any, step: Any, count: Any) -> Any:
    """The uniform number in [0, 1) that belongs to a trial, a step, and a count within the step."""
    return (_mix(key + GOLDEN * ((step << S32) | count)) >> S11) * UNIT


def _alias_table(scores: np.ndarray, total: float) -> tuple[np.ndarray, np.ndarray]:
    """Cells of equal mass: each holds its own point up to a probability, and above it an alias.

    Points below the mean score are topped up by those above it, in order. How far each heavy point's excess reaches
    is found from cumulative sums: the light point that exhausts it may overshoot, and what it then lacks itself comes
    from the next heavy point.
    """
    n = scores.size
    probability, alias = np.ones(n), np.arange(n).astype(np.int32)
    share = scores / total * n if total > 0.0 else probability
    heavy, light = np.flatnonzero(share >= 1.0), np.flatnonzero(share < 1.0)
    if heavy.size == 0 or light.size == 0:
        return probability, alias
    excess = np.cumsum(share[heavy] - 1.0)
    lack = np.zeros(light.size + 1)
    lack[1:] = np.cumsum(1.0 - share[light])
    last = heavy.size - 1
    probability[light] = share[light]
    alias[light] = heavy[np.minimum(np.searchsorted(excess, lack[:-1], side="right"), last)]
    reached = np.minimum(np.searchsorted(lack, excess, side="left"), light.size)
    probability[heavy] = np.minimum(1.0 + excess - lack[reached], 1.0)
    alias[heavy] = heavy[np.minimum(np.arange(heavy.size) + 1, last)]
    return probability, alias


def fill(
    keys: np.ndarray, rows: np.ndarray, tables: Tables, start: int, epsilon: float, indices: np.ndarray, q: np.ndarray
) -> None:
    """Draw the steps from `start` on, in place; trial t draws from table ``rows[t]`` while enough of its draws are new.

    Then it gets a table of the points that it has left, and so on.
    """
    draw = _compiled() or _side_by_side
    n, budget = tables.scores.shape[1], indices.shape[1]
    chunk = max(1, min(CELLS // n, DRAWS // budget))
    for first in range(0, len(keys), chunk):
        part = slice(first, first + chunk)
        key, row, points, chances = keys[part], rows[part], indices[part], q[part]
        begin = np.full(len(key), start)
        points[:, start:], chances[:, start:], end = draw(
            key, _shared(tables, row), begin, points[:, :start], budget, epsilon
        )
        while np.any(end < budget):
            who = np.flatnonzero(end < budget)
            left, lots = _own(tables.scores, row[who], points[who], end[who])
            local, chance, later = draw(key[who], lots, end[who], points[who, :0], budget, epsilon)
            column = end[who, None] + np.arange(local.shape[1])
            trial, step = np.nonzero(column < later[:, None])
            points[who[trial], column[trial, step]] = left[lots.at[trial] + local[trial, step]]
            chances[who[trial], column[trial, step]] = chance[trial, step]
            end[who] = later


class _Lots(NamedTuple):
    """One alias table for each trial, anywhere in flat arrays: tables may differ in size, or be the same."""

    probability: np.ndarray
    alias: np.ndarray
    scores: np.ndarray
    total: np.ndarray
    at: np.ndarray  # where each trial's table begins
    size: np.ndarray


def _shared(tables: Tables, row: np.ndarray) -> _Lots:
    """Tables of the whole pool."""
    n = tables.scores.shape[1]
    flat = [part.ravel() for part in tables[:3]]
    return _Lots(flat[0], flat[1], flat[2], tables.total[row], row * n, np.full(len(row), n))


def _own(scores: np.ndarray, row: np.ndarray, points: np.ndarray, drawn: np.ndarray) -> tuple[np.ndarray, _Lots]:
    """For each trial the points that are left after its first `drawn`, one trial after the other, and their tables."""
    left, made = [], []
    for trial_row, trial_points, count in zip(row, points, drawn, strict=True):
        available = np.ones(scores.shape[1], dtype=bool)
        available[trial_points[:count]] = False
        left.append(np.flatnonzero(available))
        made.append(_table(scores[trial_row, left[-1]]))
    flat = [np.concatenate([table[k] for table in made]) for k in range(3)]
    size = np.array([len(one) for one in left])
    total = np.array([table[3] for table in made])
    return np.concatenate(left), _Lots(flat[0], flat[1], flat[2], total, np.cumsum(size) - size, size)


def _compiled() -> Callable[..., Drawn] | None:
    """`_one_by_one` as machine code, or None where numba is not installed."""
    try:
        return _compile(lazy.require("numba", extra="fast"))
    except MissingExtra:
        return None


@functools.cache
def _compile(numba: Any) -> Callable[..., Drawn]:
    for function in (_mix, _uniform):
        lazy.require("numba.extending", extra="fast").register_jitable(function)
    try:
        return numba.njit(_one_by_one, cache=True)
    except RuntimeError:  # there is nowhere to write
        return numba.njit(_one_by_one)


def _one_by_one(
    keys: np.ndarray, lots: _Lots, begin: np.ndarray, past: np.ndarray, budget: int, epsilon: float
) -> Drawn:
    """Points of the steps from `begin` on, their probabilities, and where each trial needs another table, or `budget`.

    `past` are the points that were drawn before. A plain loop, which only numba makes fast.
    """
    point = np.zeros((len(keys), budget - begin.min()), dtype=np.int64)
    chance, end = np.zeros(point.shape), np.full(len(keys), budget)
    owner = np.full(lots.size.max(), -1, dtype=np.int32)  # the last trial that drew the point: never cleared
    for t in range(len(keys)):
        key, at, size, whole = keys[t], lots.at[t], lots.size[t], lots.total[t]
        gone = 0.0
        for k in range(-past.shape[1], budget - begin[t]):
            if k >= 0:
                left = size - past.shape[1] - k
                mass = whole - gone
                if left < ACCEPTANCE * size or (whole > 0.0 and mass < ACCEPTANCE * whole):
                    end[t] = begin[t] + k
                    break
                step, count, new = np.uint64(begin[t] + k), np.uint64(1), -1
                even = whole == 0.0 or _uniform(key, step, np.uint64(0)) < epsilon
                while new < 0 or owner[new] == t:
                    new = int(_uniform(key, step, count) * size)
                    if not even and _uniform(key, step, count + np.uint64(1)) >= lots.probability[at + new]:
                        new = lots.alias[at + new]
                    count += np.uint64(2)
                point[t, k] = new
                chance[t, k] = 1.0 / left
                if mass > 0.0:
                    chance[t, k] = min((1.0 - epsilon) * lots.scores[at + new] / mass + epsilon / left, 1.0)
            else:
                new = past[t, k]
            owner[new] = t
            gone += lots.scores[at + new]
    return point, chance, end


def _side_by_side(
    keys: np.ndarray, lots: _Lots, begin: np.ndarray, past: np.ndarray, budget: int, epsilon: float
) -> Drawn:
    """`_one_by_one` in NumPy: all steps of all trials at once."""
    return _Stretch(keys, lots, begin, past, budget, epsilon).settle()


class _Stretch:
    """Steps of several trials, drawn together from tables that are not renewed in between.

    Every step takes its first candidate. While two steps of a trial hold the same point, the later one turns to its
    next candidate; so does a step whose point was drawn before. A candidate is passed over only for an earlier step
    that holds it, or that passed it over because a still earlier one does: so no step ever goes beyond the candidate
    that drawing one by one would give it, and where all points of a trial differ, they are what drawing one by one
    gives.
    """

    def __init__(
        self, keys: np.ndarray, lots: _Lots, begin: np.ndarray, past: np.ndarray, budget: int, epsilon: float
    ) -> None:
        self.keys, self.lots, self.begin, self.past, self.epsilon = keys, lots, begin, past, epsilon
        self.count = budget - int(begin.min())
        step = np.arange(self.count)
        self.within = begin[:, None] + step < budget
        # steps beyond the budget do not count, but are there
        self.left = np.maximum(lots.size[:, None] - past.shape[1] - step, 1)
        component = _uniform(keys[:, None], (begin[:, None] + step).astype(np.uint64), np.zeros(1, dtype=np.uint64))
        self.even = ((component < epsilon) | (lots.total[:, None] == 0.0)).ravel()
        # what each step holds, and its next candidate; which step holds each point of each trial
        self.point = np.zeros(self.left.shape, dtype=np.int64)
        self.attempt = np.zeros(self.left.shape, dtype=np.uint64)
        self.base = np.cumsum(lots.size) - lots.size
        self.holder = np.full(int(lots.size.sum()), self.count, dtype=np.int32)
        self.holder[self.base[:, None] + past] = -1

    def settle(self) -> Drawn:
        """What `_one_by_one` returns."""
        work, passes = np.flatnonzero(self.within), 0
        horizon = self.within.sum(axis=1)
        while work.size:
            trial, step = np.divmod(work, self.count)
            near = step < horizon[trial]
            moved = self._advance(work[near], passes)
            work = np.concatenate([moved, work[~near]])
            passes += 1
            # whether tables are spent need not be asked often where most steps have settled
            many = 8 * work.size > self.point.size
            if moved.size == 0 or (passes & (passes - 1) == 0 and (many or passes >= 8)) or (many and passes % 8 == 0):
                end, horizon = self._ends(self._mass(work)[2], work)
                trial, step = np.divmod(work, self.count)
                work = work[step < end[trial]]
        score, mass, spent = self._mass(work)
        mixed = (1.0 - self.epsilon) * score / np.where(mass > 0.0, mass, 1.0) + self.epsilon / self.left
        chance = np.where(mass > 0.0, np.minimum(mixed, 1.0), 1.0 / self.left)
        return self.point, chance, self.begin + self._ends(spent, work)[0]

    def _advance(self, work: np.ndarray, passes: int) -> np.ndarray:
        """Give each step at work its next free candidate; returns the steps that then are still, or again, without."""
        trial, step = np.divmod(work, self.count)
        # once few steps are left, look several candidates ahead
        width = 1 if passes < 4 else max(1, min(4 ** (passes - 3), 64, AHEAD // max(work.size, 1)))
        tries = self._candidates(work, trial, step, width)
        free = self.holder[self.base[trial, None] + tries] > step[:, None]
        found, first = free.any(axis=1), free.argmax(axis=1)
        self.attempt.ravel()[work] += np.where(found, first + 1, width).astype(np.uint64)
        waiting, work, trial, step = work[~found], work[found], trial[found], step[found]
        candidate = tries[found, first[found]]
        self.point.ravel()[work] = candidate
        place = self.base[trial] + candidate
        before = self.holder[place]
        np.minimum.at(self.holder, place, step.astype(np.int32))
        won = self.holder[place] == step
        ousted = won & (before < self.count)
        return np.concatenate([waiting, work[~won], trial[ousted] * self.count + before[ousted]])

    def _candidates(self, work: np.ndarray, trial: np.ndarray, step: np.ndarray, width: int) -> np.ndarray:
        """The next candidates of each step, shape (steps, width)."""
        key, number = self.keys[trial, None], (self.begin[trial] + step).astype(np.uint64)[:, None]
        count = np.uint64(2) * (self.attempt.ravel()[work, None] + np.arange(width, dtype=np.uint64)) + np.uint64(1)
        cell = (_uniform(key, number, count) * self.lots.size[trial, None]).astype(np.int64)
        place = self.lots.at[trial, None] + cell
        keeps = _uniform(key, number, count + np.uint64(1)) < self.lots.probability[place]
        return np.where(self.even[work, None] | keeps, cell, self.lots.alias[place])

    def _mass(self, work: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The score of each point, the mass that was left before it, and whether the table was spent by then.

        Steps still at work have taken nothing yet.
        """
        first, lots = self.past.shape[1], self.lots
        score = lots.scores[lots.at[:, None] + np.concatenate([self.past, self.point], axis=1)]
        score[work // self.count, first + work % self.count] = 0.0
        before = np.concatenate([np.zeros((len(score), 1)), score[:, :-1]], axis=1)
        gone = np.cumsum(before, axis=1)[:, first:]
        whole = lots.total[:, None]
        mass = whole - gone
        spent = (self.left < ACCEPTANCE * lots.size[:, None]) | ((whole > 0.0) & (mass < ACCEPTANCE * whole))
        return score[:, first:], mass, spent

    def _ends(self, spent: np.ndarray, work: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """How many steps of each trial hold, for all that is certain, and how many seem to.

        The points before a trial's first step at work are certain, so it is certain whether the table is spent there.
        """
        count = self.within.sum(axis=1)
        certain = count.copy()
        trial, step = np.divmod(work, self.count)
        np.minimum.at(certain, trial, step + 1)
        spent = spent & self.within
        seen = np.where(spent.any(axis=1), spent.argmax(axis=1), count)
        return np.where(seen < certain, seen, count), seen
