r"""The numerics of the agreement kernel: one row is cheap, so rows are taken a tile at a time.

For one row with logits :math:`F`, :math:`F'` and :math:`S = F + F'`,

.. math:: f(\beta) = \log\sum_j p_j p'_j = \mathrm{lse}(\beta S) - \mathrm{lse}(\beta F) - \mathrm{lse}(\beta F')

is a difference of two convex functions, :math:`g = \mathrm{lse}(\beta S)` and :math:`h`, the other two terms.
Everything that the maximiser needs is a mean over rows of :math:`g`, :math:`h` and their first two derivatives.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeVar

import numpy as np

from .. import arrays

T = TypeVar("T")

#: Bytes of one buffer of a tile: all buffers of a tile together stay near a core's second-level cache.
TILE_BYTES = 1 << 19
#: Elements of one tile where the arrays live on a device, which wants large launches.
DEVICE_TILE = 1 << 24
#: Below this many array elements everything is done in float64: it costs nothing and is exact.
SMALL = 1_000_000
#: Sums over more classes than this lose too many digits in float32.
MOST_CLASSES = 200_000

G, H, DG, DH, D2G, D2H = range(6)


@dataclass(frozen=True)
class Pair:
    """Two aligned arrays of shape (n, k), checked; `log` says that they hold probabilities."""

    first: Any
    second: Any
    xp: Any
    log: bool
    chunk: int | None
    wide: bool = False  # the range of a row is too large for float32, whose squares would overflow

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.first.shape[0])

    @property
    def k(self) -> int:
        """Number of classes."""
        return int(self.first.shape[1])

    @property
    def threads(self) -> int:
        """Numeric threads used on this pair."""
        return arrays.thread_count(self.first)

    @property
    def working_dtype(self) -> Any:
        """float64, unless the data are large and hold no more than float32."""
        narrow = arrays.is_narrow(self.first) and arrays.is_narrow(self.second)
        single = narrow and not self.wide and self.n * self.k > SMALL and self.k <= MOST_CLASSES
        return self.xp.float32 if single else self.xp.float64

    @property
    def rounding(self) -> float:
        """Relative error of a mean moment in the working precision."""
        return 1e-7 if self.working_dtype == self.xp.float32 else 1e-13

    def tile_rows(self, dtype: Any) -> int:
        """Rows of one tile, such that all threads together hold at most `chunk` rows of both arrays."""
        xp = self.xp
        itemsize = 8 if dtype == xp.float64 else 4
        on_device = arrays.is_on_device(self.first)
        rows = (DEVICE_TILE if on_device else TILE_BYTES // itemsize) // max(self.k, 16)
        if self.chunk is not None:
            rows = min(rows, 2 * self.chunk // (Tile.BUFFERS * self.threads))
        return max(1, rows)


class Tile:
    """A few rows of both arrays as logits with row maximum 0, and room to weigh them.

    The buffers are made once per thread and used for all its tiles: allocating them anew costs as much as the
    arithmetic. NumPy and torch both take ``out=``.
    """

    BUFFERS = 7

    def __init__(self, pair: Pair, dtype: Any) -> None:
        self.pair = pair
        self.xp = pair.xp
        self.dtype = dtype
        self.single = dtype == self.xp.float32
        shape = (min(pair.tile_rows(dtype), pair.n), pair.k)
        device = arrays.device(pair.first)
        self.buffers = [self.xp.empty(shape, dtype=dtype, device=device) for _ in range(self.BUFFERS)]
        self.ones = self.xp.ones(pair.k, dtype=dtype, device=device)

    def load(self, start: int, stop: int) -> Tile:
        """Take rows start to stop; shifting before scaling by beta keeps digits."""
        xp = self.xp
        self.a, self.b, self.s, self.weight_a, self.weight_b, self.weight_s, self.scratch = (
            buffer[: stop - start, :] for buffer in self.buffers
        )
        self._shift(self.pair.first[start:stop, :], self.a)
        self._shift(self.pair.second[start:stop, :], self.b)
        xp.add(self.a, self.b, out=self.s)
        self.gap = -xp.max(self.s, axis=1)
        self.lowest = min(float(xp.min(self.a)), float(xp.min(self.b)))
        return self

    def _shift(self, block: Any, out: Any) -> None:
        xp = self.xp
        block = xp.astype(block, self.dtype, copy=False)
        top = xp.max(block, axis=1, keepdims=True)
        if self.pair.log:
            # the quotient keeps apart what the logarithms of two neighbouring probabilities would make equal
            xp.log(xp.divide(block, top, out=out), out=out)
        else:
            xp.subtract(block, top, out=out)

    def profile(self) -> tuple[Any, ...]:
        """The columns that `profile` gathers, in its order."""
        xp, a, b, s = self.xp, self.a, self.b, self.s
        top_a, top_b = a == 0, b == 0
        both = top_a & top_b
        lowest = xp.asarray(-np.inf, dtype=self.dtype, device=arrays.device(a))
        return (
            self.gap,
            xp.sum(xp.astype(top_a, xp.int32), axis=1),
            xp.sum(xp.astype(top_b, xp.int32), axis=1),
            xp.sum(xp.astype(both, xp.int32), axis=1),
            xp.max(xp.where(s == -self.gap[:, None], lowest, s), axis=1),
            xp.max(xp.where(top_a, lowest, a), axis=1),
            xp.min(a, axis=1),
            xp.min(b, axis=1),
        )

    def moments(self, beta: float, *, curvature: bool) -> np.ndarray:
        """g, h, g', h' and, where asked, g'', h'' of every row at one beta, float64, shape (rows, 4 or 6)."""
        self.curvature = curvature
        self._weigh(self.a, beta, self.weight_a, self.lowest)
        self._weigh(self.b, beta, self.weight_b, self.lowest)
        self.own = self._cumulants(self.weight_a, self.a)
        other = self._cumulants(self.weight_b, self.b)
        joint = self._joint_cumulants(beta)
        return _columns((j, a + b) for j, a, b in zip(joint, self.own, other, strict=True))

    def own_moments(self) -> np.ndarray:
        """The moments of the first array paired with itself, from the weights that `moments` has left behind."""
        self.xp.multiply(self.weight_a, self.weight_a, out=self.weight_s)
        joint = self._cumulants(self.weight_s, self.a)  # of S / 2: the i-th cumulant of S is 2 ** i times as large
        return _columns((2**i * j, 2 * a) for i, (j, a) in enumerate(zip(joint, self.own, strict=True)))

    def _weigh(self, x: Any, beta: float, out: Any, lowest: float) -> None:
        """exp(beta x) for x <= 0, but never so small that it, or a product of two, is denormal: those are slow."""
        xp = self.xp
        xp.multiply(x, beta, out=out)
        floor = -43.0 if self.single else -350.0
        if beta * lowest < floor:
            xp.clip(out, floor, None, out=out)
        xp.exp(out, out=out)
        if beta * lowest < -1e6:  # what was clipped still counts against logits this far away
            xp.subtract(out, math.exp(floor + 1e-3), out=out)
            xp.clip(out, 0.0, None, out=out)

    def _joint_cumulants(self, beta: float) -> list[Any]:
        """Cumulants of S under the product of the two weights.

        The product saves an exponential, but its row maximum is exp(-beta gap): rows where that is small are
        computed once more with a maximum of their own.
        """
        xp = self.xp
        xp.multiply(self.weight_a, self.weight_b, out=self.weight_s)
        cumulants = self._cumulants(self.weight_s, self.s)
        far = beta * self.gap > (12.0 if self.single else 150.0)
        if bool(xp.any(far)):
            gap = self.gap[far]
            s = self.s[far, :] + gap[:, None]
            weight = xp.empty_like(s)
            self._weigh(s, beta, weight, lowest=2.0 * self.lowest)
            shift = (-beta * gap, -gap, xp.zeros_like(gap))
            for cumulant, again, moved in zip(cumulants, self._cumulants(weight, s), shift, strict=False):
                cumulant[far] = again + moved
        return cumulants

    def _cumulants(self, weight: Any, x: Any) -> list[Any]:
        """Per row: log of the total weight, mean of x under the weights and, where asked, its variance."""
        xp = self.xp
        total = xp.vecdot(weight, self.ones)
        mean = xp.vecdot(weight, x) / total
        if not self.curvature:
            return [xp.log(total), mean]
        weighted = xp.multiply(weight, x, out=self.scratch[: x.shape[0], :])
        return [xp.log(total), mean, xp.vecdot(weighted, x) / total - mean * mean]


def _columns(pairs: Iterable[tuple[Any, Any]]) -> np.ndarray:
    return np.stack([arrays.to_numpy(column) for pair in pairs for column in pair], axis=1).astype(np.float64)


class _Workspace(threading.local):
    """One tile per thread."""

    tile: Tile | None = None


def _over_tiles(pair: Pair, dtype: Any, work: Callable[[Tile, int, int], T]) -> list[T]:
    workspace = _Workspace()

    def run(start: int, stop: int) -> T:
        if workspace.tile is None:
            workspace.tile = Tile(pair, dtype)
        with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
            return work(workspace.tile.load(start, stop), start, stop)

    return arrays.map_tiles(run, pair.n, pair.tile_rows(dtype), pair.threads)


def moments(pair: Pair, betas: Sequence[float], dtype: Any, *, curvature: bool = False) -> np.ndarray:
    """Means over rows of g, h, g', h' (and g'', h'') at each beta, shape (len(betas), 4 or 6)."""

    def work(tile: Tile, start: int, stop: int) -> np.ndarray:
        return np.stack([tile.moments(beta, curvature=curvature).sum(axis=0) for beta in betas])

    return np.sum(_over_tiles(pair, dtype, work), axis=0) / pair.n


@dataclass(frozen=True)
class RowsAt:
    """Every row's kernel f at one beta and its slope, both of shape (n,)."""

    beta: float
    value: np.ndarray
    slope: np.ndarray

    def moved_to(self, beta: float) -> np.ndarray:
        """f at a beta very near, along the slope."""
        return self.value + (beta - self.beta) * self.slope


def moments_and_rows(pair: Pair, betas: Sequence[float], dtype: Any) -> tuple[np.ndarray, list[RowsAt]]:
    """As `moments` with curvature, and each row's own f and slope at each beta."""

    def work(tile: Tile, start: int, stop: int) -> list[_Part]:
        return [_part(tile.moments(beta, curvature=True)) for beta in betas]

    return _gather(pair.n, betas, _over_tiles(pair, dtype, work))


#: Of one tile at one beta: the sums of the moments, and f and slope of each row.
_Part = tuple[np.ndarray, np.ndarray, np.ndarray]


def _part(rows: np.ndarray) -> _Part:
    return rows.sum(axis=0), rows[:, G] - rows[:, H], rows[:, DG] - rows[:, DH]


def _gather(n: int, betas: Sequence[float], tiles: list[list[_Part]]) -> tuple[np.ndarray, list[RowsAt]]:
    means = np.empty((len(betas), 6))
    rows = []
    for i, beta in enumerate(betas):
        sums, values, slopes = zip(*(tile[i] for tile in tiles), strict=True)
        means[i] = np.sum(sums, axis=0) / n
        rows.append(RowsAt(beta, np.concatenate(values), np.concatenate(slopes)))
    return means, rows


@dataclass(frozen=True)
class Mixtures:
    """Mixtures of shifted and clean rows: mixture r shifts the rows whose place in the order is below cuts[r].

    All mixtures share every pass: rows are summed by the slice between two cuts that their place lies in, and a
    mixture is shifted slices plus clean ones.
    """

    pair: Pair
    place: np.ndarray  # (n,) each row's place in the order, 0..n-1
    cuts: np.ndarray  # (mixtures,) ascending

    def moments(self, betas: Sequence[float]) -> np.ndarray:
        """Means over rows of g, h, g', h' of each mixture at each beta, shape (mixtures, len(betas), 4)."""
        slices = np.searchsorted(self.cuts, self.place, side="right")

        def work(tile: Tile, start: int, stop: int) -> np.ndarray:
            member = (slices[start:stop] == np.arange(len(self.cuts) + 1)[:, None]).astype(np.float64)
            both = [(member @ tile.moments(beta, curvature=False), member @ tile.own_moments()) for beta in betas]
            return np.array(both)

        total = np.sum(_over_tiles(self.pair, self.pair.working_dtype, work), axis=0)
        shifted = np.cumsum(total[:, 0], axis=1)[:, :-1]
        clean = np.cumsum(total[:, 1, ::-1], axis=1)[:, -2::-1]
        return np.moveaxis(shifted + clean, 1, 0) / self.pair.n


@dataclass(frozen=True)
class Profile:
    """What one pass over the rows tells before any beta is tried. All arrays have shape (n,), float64."""

    gap: np.ndarray  # max F + max F' - max S >= 0; 0 where the two argmax sets meet
    limit: np.ndarray  # f as beta grows without bound; -inf where the argmax sets are disjoint
    tied: np.ndarray  # log(|A| |A'|), 0 where both maxima are unique
    step: np.ndarray  # distance from max S to the next lower value of S, huge where there is none
    shared: np.ndarray  # |A n A'|
    span: np.ndarray  # range of F plus range of F'
    margin: np.ndarray  # top logit of F minus the second
    constant: np.ndarray  # F or F' is constant in this row

    def replaced(self, where: np.ndarray, other: Profile) -> Profile:
        """The profile with the rows `where` taken from another one."""
        return Profile(**{f.name: np.where(where, getattr(other, f.name), getattr(self, f.name)) for f in fields(self)})

    @property
    def finest(self) -> float:
        """The smallest difference between logits that decides how a row ends as beta grows."""
        differences = np.concatenate([self.gap, self.step, self.margin])
        return float(np.min(differences[differences > 0], initial=np.inf))

    @property
    def too_wide_for_float32(self) -> bool:
        """Whether squares of logits could overflow float32, as with classes masked by its most negative value."""
        return bool(np.max(self.span) > 1e17)

    @property
    def flips(self) -> np.ndarray:
        """Rows in which no class is the top one of both arrays."""
        return self.gap > 0


def profile(pair: Pair) -> tuple[Profile, Profile]:
    """One pass: gaps, ties, ranges and margins of every row, and the same for the first array paired with itself."""

    def work(tile: Tile, start: int, stop: int) -> np.ndarray:
        return np.stack([arrays.to_numpy(column).astype(np.float64) for column in tile.profile()])

    gap, size_a, size_b, shared, second_s, second_a, low_a, low_b = np.concatenate(
        _over_tiles(pair, pair.working_dtype, work), axis=1
    )
    margin = np.where(size_a > 1, 0.0, -second_a)

    def build(gap: np.ndarray, size: np.ndarray, shared: np.ndarray, second: np.ndarray, low: np.ndarray) -> Profile:
        tied = np.log(size_a) + np.log(size)
        with np.errstate(divide="ignore", over="ignore"):
            limit = np.where(gap == 0, np.log(shared) - tied, -np.inf)
            span = -low_a - low
        step = np.minimum(-gap - second, np.finfo(np.float64).max)
        return Profile(gap, limit, tied, step, shared, span, margin, constant=(low_a == 0) | (low == 0))

    itself = build(np.zeros(pair.n), size_a, size_a, 2 * second_a, low_a)
    return build(gap, size_b, shared, second_s, low_b), itself
