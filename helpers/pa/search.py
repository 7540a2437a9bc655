r"""The global maximum of the agreement kernel over beta in [0, inf].

The kernel is not concave, so a local method proves nothing. The search goes from outside in:

1. rigorous bounds close both ends: :math:`f \le -\log k + \beta^2 C / 8` near zero and a decreasing bound in the tail;
2. a grid (ratio sqrt 2) of what is left gives a bracket for each local maximum;
3. safeguarded Newton steps in :math:`\log\beta` refine every bracket, in float64 at the end;
4. between two evaluated betas, :math:`g` lies below its chord and :math:`h` above its tangents. That bounds the
   kernel from above; intervals that could still beat the best value are split until none can (branch and bound).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from .numerics import D2G, D2H, DG, DH, G, H, Profile

#: A maximum is called certified when no beta can beat it by more than this many nats.
CERTIFIED = 1e-4
#: Below the beta at which the kernel could first gain this much over a uniform belief nothing is looked for.
NEGLIGIBLE = 1e-10
#: Differences below this many nats are rounding, not agreement.
NOISE = 1e-12
GRID_RATIO = math.sqrt(2.0)

#: Means over rows of g, h and their derivatives at the given betas, shape (len(betas), 4), or 6 with the second ones.
Evaluate = Callable[[Sequence[float]], np.ndarray]


@dataclass(frozen=True)
class Bracket:
    """A local maximum between two values of log beta, and where it probably is: at log beta `start`, so high `top`."""

    low: float
    high: float
    start: float
    top: float

    @classmethod
    def between(cls, log_beta: np.ndarray, slope: np.ndarray, value: np.ndarray) -> Bracket:
        """Take the slope for the parabola that has both ends right and the gain between them as its integral."""
        low, high = log_beta.tolist()
        parabola = _slope_parabola(slope, float(np.diff(value)[0]) / (high - low))
        roots = [root.real for root in np.roots(parabola) if abs(root.imag) < 1e-9 and 0.0 <= root.real <= 1.0]
        root = roots[0] if len(roots) == 1 else 0.5  # the middle where rounding hides it
        top = float(value[0]) + (high - low) * float(np.polyval(np.polyint(parabola), root))
        return cls(low, high, low + (high - low) * root, top)


def _slope_parabola(slope: np.ndarray, mean: float) -> list[float]:
    """Coefficients, highest first, of the parabola on [0, 1] with the given ends and mean."""
    s0, s1 = slope
    return [3 * (s0 + s1 - 2 * mean), 6 * mean - 4 * s0 - 2 * s1, s0]


@dataclass
class Samples:
    """Betas evaluated so far, in ascending order, with the moments at each."""

    evaluate: Evaluate
    rounding: float = 1e-13  # slopes below this share of their terms are noise
    beta: np.ndarray = field(default_factory=lambda: np.empty(0))
    moments: np.ndarray = field(default_factory=lambda: np.empty(0))

    def add(self, betas: Sequence[float]) -> None:
        """Evaluate new betas, if there are any."""
        if not len(betas):
            return
        fresh = self.evaluate([float(beta) for beta in betas])  # a NumPy scalar would widen float32 arrays
        moments = fresh if not self.moments.size else np.concatenate([self.moments, fresh], axis=-2)
        beta = np.concatenate([self.beta, betas])
        order = np.argsort(beta, kind="stable")
        self.beta, self.moments = beta[order], moments[..., order, :]

    @property
    def value(self) -> np.ndarray:
        """The kernel at each beta."""
        return self.moments[:, G] - self.moments[:, H]

    @property
    def slope(self) -> np.ndarray:
        """Its derivative by log beta."""
        return self.beta * (self.moments[:, DG] - self.moments[:, DH])

    def of(self, mixture: int) -> Samples:
        """The samples of one of several mixtures that were evaluated together."""
        return Samples(self.evaluate, self.rounding, self.beta, self.moments[mixture])

    def brackets(self) -> list[Bracket]:
        """Neighbouring betas between which the slope turns from rising to falling.

        Where the slope is rounding (on a plateau, as when every row has reached its limit) it counts as neither.
        """
        slope = self.slope
        terms = self.beta * (np.abs(self.moments[:, DG]) + np.abs(self.moments[:, DH]))
        clear = np.flatnonzero(np.abs(slope) > self.rounding * terms)
        turns = [[i, j] for i, j in pairwise(clear) if slope[i] > 0 > slope[j]]
        return [Bracket.between(np.log(self.beta[turn]), slope[turn], self.value[turn]) for turn in turns]

    def doubtful(self) -> list[float]:
        """Where a cell with equal slopes at both ends may hide a maximum and a minimum: its gain does not fit them."""
        slope, found = self.slope, []
        for i in np.flatnonzero((slope[:-1] * slope[1:] > 0) & (self.beta[:-1] > 0)):
            width = math.log(self.beta[i + 1] / self.beta[i])
            gain = (self.value[i + 1] - self.value[i]) / width
            bend, tilt, _ = _slope_parabola(slope[i : i + 2], gain)
            turn = -tilt / (2 * bend) if bend else -1.0
            if 0 < turn < 1 and (slope[i] + tilt * turn / 2) * slope[i] < 0:
                found.append(float(self.beta[i] * math.exp(turn * width)))
        return found

    def cell_bounds(self) -> np.ndarray:
        """The most that the kernel can be between each two neighbouring betas."""
        left, right = self.moments[:-1], self.moments[1:]
        width = np.diff(self.beta)
        ends = np.maximum(self.value[:-1], self.value[1:])
        with np.errstate(divide="ignore", invalid="ignore"):
            # where the two tangents of h cross, measured from the left end
            turn = (left[:, H] - right[:, H] + right[:, DH] * width) / (right[:, DH] - left[:, DH])
            chord = left[:, G] + (right[:, G] - left[:, G]) * turn / width
            crossing = chord - (left[:, H] + left[:, DH] * turn)
        inside = np.isfinite(crossing) & (turn > 0) & (turn < width)
        return np.where(inside, np.minimum(np.maximum(ends, crossing), 0.0), ends)


@dataclass(frozen=True)
class Bounds:
    """What the profile of the rows proves about the kernel without evaluating it."""

    k: int
    flat: bool  # in every row one of the two arrays is constant: the kernel does not depend on beta
    curvature: float  # mean of (range F + range F')^2
    limit: float  # the kernel at infinite beta, -inf where a row disagrees
    scale: float  # a typical margin, or a part of the range where margins are 0
    highest: float  # beyond this beta every row follows its limit or its slope
    tail_rows: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]

    @property
    def floor(self) -> float:
        """What the kernel reaches at one of its ends, without any search."""
        return max(-math.log(self.k), self.limit)

    @classmethod
    def of(cls, rows: Profile, k: int) -> Bounds:
        """Read the bounds off a profile."""
        margin = float(np.median(rows.margin))
        scale = margin if margin > 1e-6 * float(np.mean(rows.span)) else float(np.mean(rows.span)) / 8.0 or 1.0
        return cls(
            k=k,
            flat=bool(np.all(rows.constant)),
            curvature=float(np.mean(rows.span**2)),
            limit=float(np.mean(rows.limit)),
            scale=scale,
            highest=max(1e3 / rows.finest, 1e3 / scale),
            tail_rows=(rows.gap, rows.step, rows.shared, rows.tied),
        )

    def head(self, beta: float | np.ndarray) -> float | np.ndarray:
        """No beta up to this one has a kernel above the returned value; increasing in beta."""
        return -math.log(self.k) + beta**2 * self.curvature / 8.0

    def head_end(self, best: float) -> float:
        """No beta below this one has a kernel above `best`."""
        return math.sqrt(8.0 * max(0.0, best + math.log(self.k)) / self.curvature)

    def guesses(self, low: float, high: float) -> list[float]:
        """A few betas around the scale of the logits, to find a value that shuts most of the range out."""
        return [min(max(factor / self.scale, low), high) for factor in (0.5, 2.0, 8.0)]

    def tail(self, beta: float) -> float:
        """No beta from this one on has a kernel above the returned value; decreasing in beta."""
        gap, step, shared, tied = self.tail_rows
        with np.errstate(over="ignore", under="ignore"):
            mass = np.where(gap > 0, self.k, shared + (self.k - shared) * np.exp(-beta * step))
            return float(np.mean(np.minimum(0.0, np.log(mass) - tied - beta * gap)))

    def tail_start(self, best: float) -> float:
        """The smallest beta (to 1 %) whose tail cannot exceed `best`; inf if there is none."""
        if not self.tail(self.highest) <= best:
            return math.inf
        low, high = math.log(1e-6 / math.sqrt(self.curvature)), math.log(self.highest)
        while high - low > 0.01:
            middle = (low + high) / 2
            low, high = (low, middle) if self.tail(math.exp(middle)) <= best else (middle, high)
        return math.exp(high)


@dataclass(frozen=True)
class Maximum:
    """The solution: kernel values in nats (at most 0), betas in units of inverse logits."""

    beta: float
    kernel: float
    status: str  # interior | infinite | zero | flat
    bound: float  # no beta has a kernel above this
    local: tuple[tuple[float, float], ...]  # every local maximum found, (beta, kernel)
    searched: tuple[float, float]

    @property
    def certified(self) -> bool:
        """Whether the maximum is proven global, to `CERTIFIED` nats."""
        return self.bound - self.kernel <= CERTIFIED


def _without_search(bounds: Bounds) -> Maximum | None:
    """The maximum where the profile alone decides it."""
    if bounds.flat:
        level = -math.log(bounds.k)
        return Maximum(0.0, level, "flat", level, (), (0.0, math.inf))
    if bounds.limit >= 0.0:  # in every row one class is the top one of both arrays: nothing can be higher
        return Maximum(math.inf, 0.0, "infinite", 0.0, (), (0.0, math.inf))
    return None


def maximise(
    evaluate: Evaluate, exact: Evaluate, bounds: Bounds, *, budget: int, wide: bool, rounding: float = 1e-13
) -> Maximum:
    """Find the global maximum over beta in [0, inf] and say what is proven about it.

    `evaluate` may work in float32 (`rounding` is then its relative error); `exact` works in float64 and has the last
    word. `budget` caps the number of
    betas that the proof may evaluate. `wide` searches every beta at which the kernel could exceed its
    value at zero; otherwise only those at which it could be the global maximum.
    """
    decided = _without_search(bounds)
    if decided is not None:
        return decided
    samples = Samples(evaluate, rounding)
    searched = _grid(samples, bounds, wide=wide)
    samples.add(samples.doubtful())
    _branch(samples, bounds, budget)
    local = _newton(exact, samples.brackets(), tolerance=1e-6)
    return _best(local, samples, bounds, searched)


def maximise_mixtures(evaluate: Evaluate, bounds: Sequence[Bounds], *, wide: bool, rounding: float) -> list[Maximum]:
    """Search several mixtures of the same rows at once: every evaluated beta serves all of them.

    `evaluate` returns shape (mixtures, len(betas), 4). A grid brackets the maxima of every mixture, and all betas at
    which one of them probably lies are evaluated once more, for all. The bound is as tight as these betas make it: no
    cell is split for its sake.
    """
    maxima = {m: maximum for m, bound in enumerate(bounds) if (maximum := _without_search(bound)) is not None}
    searching = [m for m in range(len(bounds)) if m not in maxima]
    if searching:
        samples = Samples(evaluate, rounding)
        searched = _shared_grid(samples, {m: bounds[m] for m in searching}, wide=wide)
        samples.add([math.exp(bracket.start) for m in searching for bracket in samples.of(m).brackets()])
        for m in searching:
            local = [(math.exp(bracket.start), bracket.top) for bracket in samples.of(m).brackets()]
            maxima[m] = _best(local, samples.of(m), bounds[m], searched)
    return [maxima[m] for m in range(len(bounds))]


def _shared_grid(samples: Samples, bounds: Mapping[int, Bounds], *, wide: bool) -> tuple[float, float]:
    """Evaluate a grid that holds the window of every mixture, and return its ends."""
    windows = [_window(bound, bound.floor) for bound in bounds.values()]
    if not wide:
        samples.add(list(bounds.values())[len(bounds) // 2].guesses(*_hull(windows)))
        windows = [_window(b, max(b.floor, float(np.max(samples.of(m).value)))) for m, b in bounds.items()]
    low, high = _hull(windows)
    samples.add(_geometric(low, high, GRID_RATIO if wide else GRID_RATIO**2))
    return low, high


def _best(
    local: Sequence[tuple[float, float]], samples: Samples, bounds: Bounds, searched: tuple[float, float]
) -> Maximum:
    """The highest of the local maxima and the two ends; of equally good ones an end, then the smallest beta."""
    zero = -math.log(bounds.k)
    candidates = [(zero, 0.0, "zero"), (bounds.limit, math.inf, "infinite")]
    candidates += [(value, beta, "interior") for beta, value in local]
    top = max(value for value, *_ in candidates)
    value, beta, status = next(candidate for candidate in candidates if candidate[0] >= top - NOISE)
    return Maximum(beta, value, status, _proven(samples, bounds, value), tuple(local), searched)


def _grid(samples: Samples, bounds: Bounds, *, wide: bool) -> tuple[float, float]:
    """Evaluate the grid and return its ends."""
    low, high = _window(bounds, bounds.floor)
    if wide:
        samples.add([0.0, *_geometric(low, high, GRID_RATIO)])
        return low, high
    samples.add(bounds.guesses(low, high))
    low, high = _window(bounds, max(bounds.floor, float(np.max(samples.value))))
    # below the scale of the logits there is rarely anything: left to the proof, which takes larger steps
    middle = min(max(low, 1e-3 / bounds.scale), high / 2)
    samples.add(sorted({low, *_geometric(middle, high, GRID_RATIO**2)}))
    return low, high


def _window(bounds: Bounds, best: float) -> tuple[float, float]:
    """The range of beta in which the kernel can exceed `best`.

    Where the limit is finite the tail reaches it only at infinity, so it is left a little above.
    """
    slack = NEGLIGIBLE if math.isfinite(bounds.limit) else 0.0
    high = min(bounds.tail_start(best + slack), bounds.highest)
    return min(bounds.head_end(best + NEGLIGIBLE) / GRID_RATIO, high / 2), high


def _hull(windows: Sequence[tuple[float, float]]) -> tuple[float, float]:
    return min(low for low, _ in windows), max(high for _, high in windows)


def _geometric(low: float, high: float, ratio: float) -> list[float]:
    count = max(2, math.ceil(math.log(high / low) / math.log(ratio)) + 1)
    return np.geomspace(low, high, count).tolist()


def _newton(evaluate: Evaluate, brackets: Sequence[Bracket], *, tolerance: float) -> list[tuple[float, float]]:
    """Refine every bracket at once by Newton steps in log beta; a step that leaves its bracket is a bisection.

    Ends when a step is shorter than `tolerance` and takes it: the error left is of its square in log beta and
    of its cube in the value.
    """
    low, at, high = np.array([(b.low, b.start, b.high) for b in brackets]).reshape(-1, 3).T
    value = np.full(len(at), -np.inf)
    active = np.ones(len(at), dtype=bool)
    for _ in range(60):
        if not active.any():
            break
        now = np.flatnonzero(active)
        row = evaluate(np.exp(at[now]).tolist())
        slope = row[:, DG] - row[:, DH]
        low[now], high[now] = np.where(slope > 0, at[now], low[now]), np.where(slope > 0, high[now], at[now])
        step, gain = _newton_step(np.exp(at[now]), row)
        safe = (at[now] + step >= low[now]) & (at[now] + step <= high[now])
        value[now] = row[:, G] - row[:, H] + np.where(safe, gain, 0.0)
        step = np.where(safe, step, (low[now] + high[now]) / 2 - at[now])
        active[now] = np.abs(step) > tolerance
        at[now] += step
    return list(zip(np.exp(at).tolist(), value.tolist(), strict=True))


def _newton_step(beta: np.ndarray, moments: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The step in log beta to the top of the parabola, and what it gains; NaN where there is no top."""
    slope = beta * (moments[:, DG] - moments[:, DH])
    curvature = beta**2 * (moments[:, D2G] - moments[:, D2H]) + slope
    with np.errstate(divide="ignore", invalid="ignore"):
        step = np.where(curvature < 0, -slope / curvature, np.nan)
    return step, slope * step / 2


def _branch(samples: Samples, bounds: Bounds, budget: int) -> None:
    """Split every interval that could still beat the best value, until none can or the budget is spent."""
    while True:
        target = max(bounds.limit, float(np.max(samples.value))) + CERTIFIED / 2
        cells = np.flatnonzero(_cell_bounds(samples, bounds, target) > target)
        splits = [_middle(samples.beta[i], samples.beta[i + 1]) for i in cells]
        if bounds.tail(samples.beta[-1]) > target and math.isfinite(bounds.tail_start(target)):
            splits.append(bounds.tail_start(target))
        if not splits or len(splits) > budget:
            return
        budget -= len(splits)
        samples.add(splits)


def _cell_bounds(samples: Samples, bounds: Bounds, target: float) -> np.ndarray:
    """The most that the kernel can be in each cell, by the sharpest of the three bounds.

    The tail bound costs a pass over the profile, so it is asked only of cells that exceed `target` without it.
    """
    upper = np.minimum(samples.cell_bounds(), bounds.head(samples.beta[1:]))
    for i in np.flatnonzero(upper > target):
        upper[i] = min(upper[i], bounds.tail(samples.beta[i]))
    return upper


def _middle(low: float, high: float) -> float:
    return math.sqrt(low * high) if low > 0 else high / 2


def _proven(samples: Samples, bounds: Bounds, best: float) -> float:
    """An upper bound on the kernel over all beta, from the evaluated points and the two ends."""
    first, last = samples.beta[0], samples.beta[-1]
    return max(best, float(np.max(_cell_bounds(samples, bounds, best))), float(bounds.head(first)), bounds.tail(last))
