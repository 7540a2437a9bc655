"""Active testing the slow way, in exact rationals: every sequence of a tiny pool with its probability.

Written from the formulas, sharing nothing with the library. A proposal is a function of the points drawn so far (in
order), the points that are left, and the pool; it returns a probability for each point that is left. It may look at
the losses of the drawn points, and at nothing else that labels reveal.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

Proposal = Callable[[Sequence[int], Sequence[int], "Pool"], list[Fraction]]


@dataclass(frozen=True)
class Pool:
    """Losses and proxy losses of all points, as fractions."""

    loss: tuple[Fraction, ...]
    proxy: tuple[Fraction, ...]

    @classmethod
    def of(cls, loss: Sequence[object], proxy: Sequence[object]) -> "Pool":
        return cls(tuple(Fraction(x) for x in loss), tuple(Fraction(x) for x in proxy))

    @property
    def size(self) -> int:
        return len(self.loss)

    @property
    def risk(self) -> Fraction:
        return mean(self.loss)

    @property
    def proxy_mean(self) -> Fraction:
        return mean(self.proxy)

    @property
    def centred(self) -> list[Fraction]:
        return [x - self.proxy_mean for x in self.proxy]


@dataclass(frozen=True)
class Run:
    """One sequence: the points in the order drawn, the probability of each draw, and of the whole sequence."""

    index: tuple[int, ...]
    q: tuple[Fraction, ...]
    probability: Fraction


#: The pool of the specification's exhaustive enumeration, and two others: rare losses, and a proxy that is no good.
SPEC = Pool.of(["1", "1/5", "5/2", "2/5", "9/10"], ["4/5", "3/10", "2", "1/2", "6/5"])
RARE = Pool.of([0, 0, 1, 0, 0, 1], ["1/10", "1/5", "7/10", "1/10", "3/5", "1/2"])
BAD_PROXY = Pool.of(["3", "1/4", "2", "1/2"], ["1/5", "2", "1/3", "3/2"])
#: Seven points: the smallest pool in which three labels have an unbiased variance that cannot be negative.
SEVEN = Pool.of(["1", "1/5", "5/2", "2/5", "9/10", "3", "1/10"], ["4/5", "3/10", "2", "1/2", "6/5", "13/5", "1/5"])
POOLS = {"spec": SPEC, "rare": RARE, "bad proxy": BAD_PROXY}


def mixed(scores: Sequence[Fraction], epsilon: Fraction) -> list[Fraction]:
    """Probabilities proportional to the scores, mixed with uniform ones."""
    total = sum(scores, Fraction(0))
    if not total:
        return [Fraction(1, len(scores))] * len(scores)
    return [(1 - epsilon) * score / total + epsilon / len(scores) for score in scores]


EPSILON = Fraction(1, 10)


def uniform(_: Sequence[int], left: Sequence[int], __: Pool) -> list[Fraction]:
    return [Fraction(1, len(left))] * len(left)


def fixed(_: Sequence[int], left: Sequence[int], __: Pool) -> list[Fraction]:
    """Scores 1, 1/2, 2, 1/2, 1 (3, 1/5) whatever has been seen."""
    scores = [Fraction(x) for x in ("1", "1/2", "2", "1/2", "1", "3", "1/5")]
    return mixed([scores[i] for i in left], EPSILON)


def label_adaptive(drawn: Sequence[int], left: Sequence[int], pool: Pool) -> list[Fraction]:
    """Points whose proxy is near that of a point of large loss."""
    scores = [
        Fraction(1, 4) + sum((pool.loss[j] / (1 + abs(pool.proxy[i] - pool.proxy[j])) for j in drawn), Fraction(0))
        for i in left
    ]
    return mixed(scores, EPSILON)


def control_adaptive(drawn: Sequence[int], left: Sequence[int], pool: Pool) -> list[Fraction]:
    """Scores |proxy - lambda c| with the lambda of the labels so far: weights and control both depend on the labels."""
    c = pool.centred
    square = sum((c[j] ** 2 for j in drawn), Fraction(0))
    control = sum((pool.loss[j] * c[j] for j in drawn), Fraction(0)) / square if square else Fraction(1)
    return mixed([abs(pool.proxy[i] - control * c[i]) for i in left], EPSILON)


PROPOSALS: dict[str, Proposal] = {
    "fixed": fixed,
    "uniform": uniform,
    "label-adaptive": label_adaptive,
    "control-adaptive": control_adaptive,
}


def runs(pool: Pool, count: int, proposal: Proposal) -> Iterator[Run]:
    """Every sequence of `count` points; the probabilities sum to one exactly."""

    def extend(drawn: tuple[int, ...], q: tuple[Fraction, ...], probability: Fraction) -> Iterator[Run]:
        if len(drawn) == count:
            yield Run(drawn, q, probability)
            return
        left = [i for i in range(pool.size) if i not in drawn]
        for i, share in zip(left, proposal(drawn, left, pool), strict=True):
            if share:
                yield from extend((*drawn, i), (*q, share), probability * share)

    return extend((), (), Fraction(1))


def expectation(pool: Pool, count: int, proposal: Proposal, statistic: Callable[[Run], object]) -> object:
    """The exact mean of a statistic over all sequences, if the statistic is exact; of floats, to rounding."""
    return sum(run.probability * statistic(run) for run in runs(pool, count, proposal))  # type: ignore[operator]


def mean(values: Sequence[Fraction]) -> Fraction:
    return sum(values, Fraction(0)) / len(values)


def terms(z: Sequence[Fraction], run: Run, size: int) -> list[Fraction]:
    """A_m of the values z, one for each point of the pool."""
    picked = [z[i] for i in run.index]
    return [(picked[m] / run.q[m] + sum(picked[:m], Fraction(0))) / size for m in range(len(picked))]


def gamma(count: int, size: int) -> list[Fraction]:
    if count == size:
        return [Fraction(0)] * (size - 1) + [Fraction(size)]
    return [Fraction(size * (size - count), (size - m) * (size - m + 1)) for m in range(1, count + 1)]


def weights(run: Run, size: int) -> list[Fraction]:
    """V_m, from its own formula."""
    count = len(run.q)
    if count == size:
        return [Fraction(1)] * count
    return [
        1 + Fraction(size - count, size - m) * (1 / ((size - m + 1) * run.q[m - 1]) - 1) for m in range(1, count + 1)
    ]


def weighted_mean(z: Sequence[Fraction], run: Run, size: int) -> Fraction:
    """LURE of the values z."""
    return mean([v * z[i] for v, i in zip(weights(run, size), run.index, strict=True)])


def controlled(pool: Pool, control: Fraction) -> list[Fraction]:
    return [loss - control * c for loss, c in zip(pool.loss, pool.centred, strict=True)]


def dagger(pool: Pool, run: Run) -> Fraction:
    """The estimated least-squares control."""
    product = [loss * c for loss, c in zip(pool.loss, pool.centred, strict=True)]
    return weighted_mean(product, run, pool.size) / mean([c * c for c in pool.centred])


def predictable(pool: Pool, run: Run, refresh: int, initial: Fraction) -> Fraction:
    """The estimate whose control at each step comes from the labels before it."""
    base, proxy = terms(pool.loss, run, pool.size), terms(pool.centred, run, pool.size)
    total = Fraction(0)
    for m, factor in enumerate(gamma(len(run.q), pool.size)):
        seen = m // refresh * refresh
        control = dagger(pool, Run(run.index[:seen], run.q[:seen], Fraction(0))) if seen else initial
        total += factor * (base[m] - control * proxy[m])
    return total / len(run.q)


def unbiased_variance(a: Sequence[Fraction], size: int) -> Fraction:
    """The finite-sample variance estimate of the mean of gamma * a."""
    count = len(a)
    factors = gamma(count, size)
    risk = mean([factor * term for factor, term in zip(factors, a, strict=True)])
    scale = [(factor / count) ** 2 / (1 - 2 * factor / count) for factor in factors]
    squares = [s * (term - risk) ** 2 for s, term in zip(scale, a, strict=True)]
    return sum(squares, Fraction(0)) / (1 + sum(scale, Fraction(0)))
