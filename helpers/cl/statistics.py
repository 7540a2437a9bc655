"""What repeated runs say: paired comparison, worst order, components of variance, and where two runs part."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from numbers import Real
from typing import Any

import numpy as np

from .. import uncertainty
from ..errors import InputError
from ..uncertainty import PairedT, SignFlip
from .curves import gapped
from .record import LIMITS, AccuracyMatrix, Run
from .score import metric as metric_of

#: With fewer pairs than this no two-sided sign-flip test reaches .05.
FEW_PAIRS = 6
UNITS = ("pair", "order", "seed")
LEVELS = ("seed", "order", "generation", "grading")

Key = tuple[Any, ...]


@dataclass(frozen=True)
class Paired:
    """Two methods compared run by run; see `paired`.

    Attributes
    ----------
    unit : {"pair", "order", "seed"}
        What counts as one independent repetition.
    keys : tuple
        The units: (seed, order), or the orders or seeds alone.
    differences : tuple of float
        First less second, for each unit.
    t : PairedT
    sign_flip : SignFlip
    least, most : Any
        Units with the smallest and the largest difference.
    warnings : tuple of str
    """

    unit: str
    keys: tuple[Any, ...]
    differences: tuple[float, ...]
    t: PairedT
    sign_flip: SignFlip
    least: Any
    most: Any
    warnings: tuple[str, ...]

    @property
    def n(self) -> int:
        """Number of units."""
        return len(self.keys)

    @property
    def mean(self) -> float:
        """Mean difference."""
        return self.t.mean

    def __repr__(self) -> str:
        t = "undefined" if self.t.p_value is None else f"{self.t.p_value:.3g}"
        warned = f", {len(self.warnings)} warnings" if self.warnings else ""
        return (
            f"Paired({self.n} units, mean {self.mean:.4g}, p {t} (t), {self.sign_flip.p_value:.3g} (sign-flip){warned})"
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything as valid JSON."""
        return {
            "unit": self.unit,
            "n": self.n,
            "keys": [list(key) if isinstance(key, tuple) else key for key in self.keys],
            "differences": list(self.differences),
            "t": self.t.to_dict(),
            "sign_flip": self.sign_flip.to_dict(),
            "least": list(self.least) if isinstance(self.least, tuple) else self.least,
            "most": list(self.most) if isinstance(self.most, tuple) else self.most,
            "warnings": list(self.warnings),
        }


def paired(
    first: Any,
    second: Any,
    *,
    metric: str = "acc.final",
    unit: str = "pair",
    alternative: str = "two-sided",
    confidence: float = 0.95,
    replicates: int = 100_000,
) -> Paired:
    r"""Compare two methods on the same seeds and orders, by Student's t and by sign flips.

    Runs of one seed and order share their luck, which cancels in the difference :math:`d_i = x_i - y_i`; two means with
    two standard deviations hide what pairs show. Runs are matched by their ids, never by position.

    Parameters
    ----------
    first, second : sequence of Run, or mapping of (seed, order) to number
        The two methods. The same keys on both sides, each once.
    metric : str
        For runs: the id that is compared.
    unit : {"pair", "order", "seed"}
        What is independent. With several seeds under each of a few orders the pairs of one order share its effect, and
        counting them as independent finds too much; "order" averages over seeds first, "seed" over orders.
    alternative : {"two-sided", "greater", "less"}
        "greater": the first method has the higher values.
    confidence : float
        Of the interval for the mean difference.
    replicates : int
        Of the sign-flip test beyond 20 units; up to there it is exact.

    Returns
    -------
    Paired
        Warned of where there are fewer than six units, since a two-sided sign-flip test then cannot fall below 0.05;
        and where pairs share orders or seeds, or all have one order, beyond which nothing follows.

    Raises
    ------
    InputError
        Ids that do not pair, or occur twice (all are named); runs of several methods on one side; a value that is
        undefined; an option out of range.

    Examples
    --------
    >>> a = dict(zip([(seed, 0) for seed in range(5)], [77.1, 75.4, 78.0, 76.2, 77.3]))
    >>> b = dict(zip([(seed, 0) for seed in range(5)], [75.0, 74.1, 76.9, 74.2, 76.0]))
    >>> paired(a, b)
    Paired(5 units, mean 1.56, p 0.00157 (t), 0.0625 (sign-flip), 2 warnings)
    """
    if unit not in UNITS:
        raise InputError(f"unit is {unit!r}: give one of {', '.join(map(repr, UNITS))}")
    x, y = _numbers(first, "first", metric), _numbers(second, "second", metric)
    lonely = [f"{key!r} only in {name}" for key, name in _unpaired(x, y)]
    if lonely:
        raise InputError(
            f"{len(lonely)} ids do not pair: {', '.join(lonely)}; run both methods on the same seeds and orders"
        )
    warnings = _dependence(list(x), unit)
    if unit != "pair":
        x, y = (_averaged(side, {"seed": 0, "order": 1}[unit]) for side in (x, y))
    keys = list(x)
    left, right = [x[key] for key in keys], [y[key] for key in keys]
    t = uncertainty.paired_t(left, right, alternative=alternative, confidence=confidence)
    flips = uncertainty.sign_flip(left, right, alternative=alternative, replicates=replicates)
    differences = tuple(a - b for a, b in zip(left, right, strict=True))
    if len(keys) < FEW_PAIRS:
        few = f"{len(keys)} units: the sign-flip test cannot fall below {flips.floor:g} ({alternative})"
        warnings = (f"{few}; two-sided, {FEW_PAIRS} are needed for .05", *warnings)
    least, most = (keys[int(i)] for i in (np.argmin(differences), np.argmax(differences)))
    return Paired(unit, tuple(keys), differences, t, flips, least, most, warnings)


def _unpaired(x: Mapping[Key, float], y: Mapping[Key, float]) -> list[tuple[Key, str]]:
    alone = [(key, "first") for key in x if key not in y] + [(key, "second") for key in y if key not in x]
    return sorted(alone, key=repr)


def _averaged(values: Mapping[Key, float], position: int) -> dict[Any, float]:
    """Mean over all keys that share the id at a position."""
    groups: dict[Any, list[float]] = {}
    for key, value in values.items():
        groups.setdefault(key[position], []).append(value)
    return {id: math.fsum(group) / len(group) for id, group in groups.items()}


def _dependence(keys: Sequence[Key], unit: str) -> tuple[str, ...]:
    """What the ids say against taking units as independent, or beyond what a result reaches."""
    seeds, orders = {key[0] for key in keys}, {key[1] for key in keys}
    found = []
    if len(orders) == 1:
        found.append(
            "all runs share one order: the comparison says nothing of other orders, unless this one is given by nature"
        )
    shares_orders, shares_seeds = 1 < len(orders) < len(keys), 1 < len(seeds) < len(keys)
    if unit == "pair" and (shares_orders or shares_seeds):
        found.append(
            f"{len(keys)} pairs share {len(seeds)} seeds and {len(orders)} orders and may depend on each other: unit="
            '"order" or "seed" is on the safe side'
        )
    return tuple(found)


def _numbers(results: Any, name: str, metric: str) -> dict[Key, float]:
    """One number for each (seed, order)."""
    found: dict[Key, float] = {}
    for key, value in _entries(results, name):
        if isinstance(value, AccuracyMatrix):
            score = metric_of(metric, value)
            if score.value is None:
                raise InputError(f"{name}[{key!r}] has no {metric}: {score.reason}")
            value = score.value
        if len(key) != 2:
            raise InputError(f"{name} has key {key!r}: give (seed, order)")
        if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
            raise InputError(f"{name}[{key!r}] is {value!r}: give a finite number")
        found[key] = float(value)
    return found


def _entries(results: Any, name: str) -> list[tuple[Key, Any]]:
    """Keys and values of a mapping, or keys and matrices of runs of one method."""
    if isinstance(results, Mapping):
        entries = [(key if isinstance(key, tuple) else (key,), value) for key, value in results.items()]
    elif isinstance(results, Iterable) and not isinstance(results, str):
        entries = _of_runs(list(results), name)
    else:
        entries = []
    if not entries:
        raise InputError(f"{name} is {results!r}: give runs, or a mapping of (seed, order) to a number, at least one")
    keys = [key for key, _ in entries]
    twice = sorted({repr(key) for key in keys if keys.count(key) > 1})
    if twice:
        raise InputError(f"{name} has {', '.join(twice)} more than once: give each seed and order one run")
    return entries


def _of_runs(runs: list[Any], name: str) -> list[tuple[Key, Any]]:
    for i, run in enumerate(runs):
        if not isinstance(run, Run):
            raise InputError(f"{name}[{i}] is of type {type(run).__name__}: give runs, or a mapping of (seed, order)")
        if run.name != runs[0].name:
            raise InputError(f"{name} has runs of {runs[0].name!r} and of {run.name!r}: give those of one method")
        if run.seed is None and run.order is None:
            raise InputError(f"{name}[{i}] has neither seed nor order: declare what tells it from the other runs")
    return [((run.seed, run.order), run.matrix) for run in runs]


@dataclass(frozen=True)
class WorstOrder:
    """The order under which a method does worst; see `worst_order`.

    Attributes
    ----------
    order : Any or None
        Its id; None with the reason where there is only one.
    value : float or None
        Mean over its seeds.
    mean : float
        Mean over all orders, each counting alike.
    by_order : dict
        The mean of every order.
    reason : str or None
    warnings : tuple of str
    """

    order: Any
    value: float | None
    mean: float
    by_order: dict[Any, float]
    reason: str | None = None
    warnings: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Everything as valid JSON; orders are written as texts."""
        return {**asdict(self), "by_order": {str(order): value for order, value in self.by_order.items()}}


def worst_order(results: Any, *, metric: str = "acc.final", direction: str = "higher") -> WorstOrder:
    """The order under which a method does worst, which a mean over orders hides.

    Parameters
    ----------
    results : sequence of Run, or mapping of (seed, order) to number
    metric : str
        For runs: the id.
    direction : {"higher", "lower"}
        Which values are better. Of equal orders the first is named.

    Returns
    -------
    WorstOrder
        Warned of where orders have unlike numbers of seeds, and where there are fewer than five.

    Raises
    ------
    InputError
        As for `paired`; an unknown direction.

    Examples
    --------
    >>> found = worst_order({(0, "a"): 80.0, (1, "a"): 82.0, (0, "b"): 70.0, (1, "b"): 74.0})
    >>> found.order, found.value, found.mean
    ('b', 72.0, 76.5)
    """
    if direction not in ("higher", "lower"):
        raise InputError(f'direction is {direction!r}: give "higher" or "lower"')
    values = _numbers(results, "results", metric)
    by_order = _averaged(values, 1)
    mean = math.fsum(by_order.values()) / len(by_order)
    if len(by_order) == 1:
        return WorstOrder(None, None, mean, by_order, "one order: there is none to be worse than")
    counts = [sum(key[1] == order for key in values) for order in by_order]
    warnings = []
    if len(set(counts)) > 1:
        warnings.append(
            f"orders have {min(counts)} to {max(counts)} seeds: means of few seeds vary more, and look worst"
        )
    if len(by_order) < 5:
        warnings.append(f"{len(by_order)} orders: the worst of fewer than 5 says little of the worst there is")
    worst = (min if direction == "higher" else max)(by_order, key=by_order.__getitem__)
    return WorstOrder(worst, by_order[worst], mean, by_order, None, tuple(warnings))


@dataclass(frozen=True)
class Component:
    """One component of variance.

    Attributes
    ----------
    value : float or None
        Variance in the squared unit of the results; None with the reason where the design cannot tell. A negative
        estimate is reported as 0.
    raw : float or None
        The estimate itself, which may be negative: then the component is small against its error.
    std_error : float or None
        Of the estimate, were effects normal; rough for few levels.
    levels : int
        How many levels the estimate rests on.
    reason : str or None
        Why there is no value.
    note : str or None
        What else is in the value.
    """

    value: float | None
    raw: float | None
    std_error: float | None
    levels: int
    reason: str | None = None
    note: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The fields as valid JSON."""
        return asdict(self)


@dataclass(frozen=True)
class Variance:
    """Where the spread of results comes from; see `variance`.

    Attributes
    ----------
    mean : float
        Mean over all results.
    components : dict of str to Component
        "sample", "seed", "order", "seed x order", "generation", "grading".
    design : {"crossed", "seeds within orders", "orders within seeds", "one to one"}
    warnings : tuple of str
    """

    mean: float
    components: dict[str, Component]
    design: str
    warnings: tuple[str, ...] = ()

    def __repr__(self) -> str:
        shown = [
            f"{name} {component.value:.4g}" if component.value is not None else f"{name} undefined"
            for name, component in self.components.items()
        ]
        return f"Variance(mean {self.mean:.4g}; {', '.join(shown)}; {self.design})"

    def to_dict(self) -> dict[str, Any]:
        """Everything as valid JSON."""
        return {
            "mean": self.mean,
            "components": {name: component.to_dict() for name, component in self.components.items()},
            "design": self.design,
            "warnings": list(self.warnings),
        }


def variance(
    results: Any,
    *,
    metric: str = "acc.final",
    levels: Sequence[str] = ("seed", "order"),
    n: int | None = None,
    scale: str = "percent",
) -> Variance:
    r"""Separate the variance of results by where it comes from: test sample, seed, order, generation, grading.

    A result is modelled as a sum of independent random effects,

    .. math:: y_{sogr} = \mu + S_s + O_o + (SO)_{so} + G_{g(so)} + R_{r(sog)},

    seeds crossed with orders, generations (answers sampled anew from one model) nested in a run, gradings (the same
    answers graded anew) nested in a generation. Each component is estimated from the mean squares of the balanced
    analysis of variance, by the method of moments: unbiased, and therefore negative at times. Where each seed has
    orders of its own, or each order seeds of its own, the inner factor is nested in the outer one; where every run has
    its own seed and its own order the two cannot be told apart.

    If results hold the scores of single test samples (the same ones, in the same order, in every result), samples are
    one more crossed random factor: what they bring to the other mean squares is taken out, and the sample component is
    the variance of one result over fresh test samples. Ten thousand questions put to one checkpoint tell this component
    and no other.

    Parameters
    ----------
    results : sequence of Run, or mapping of key to number or to array of shape (n,)
        Keys are tuples of ids in the order of `levels`; a single id where there is one level.
    metric : str
        For runs: the id. The sample component needs "acc.final" and n in the matrices.
    levels : sequence of str
        What the ids stand for: some of "seed", "order", "generation", "grading".
    n : int, optional
        With numbers that are accuracies: test samples behind each, for the binomial sample component.
    scale : {"percent", "fraction"}
        Of those accuracies.

    Returns
    -------
    Variance
        A component without a value says why: a level that occurs once has no spread of its own, and what it brings is
        part of the component above it, which says so in its note.

    Raises
    ------
    InputError
        Designs that are not balanced (the first missing id is named), unknown levels, values that are not finite,
        arrays of unequal length.

    References
    ----------
    Searle, Casella and McCulloch (1992), Variance Components, chapter 4. Cornfield and Tukey (1956), Average values of
    mean squares in factorials.

    Examples
    --------
    >>> by_order = {"a": [80.0, 82.0, 81.0], "b": [74.0, 76.0, 75.0]}
    >>> found = variance({(seed, order): by_order[order][seed] for seed in range(3) for order in "ab"})
    >>> found.components["order"].value, found.components["seed"].value
    (18.0, 1.0)
    >>> found.components["grading"].reason
    'every result has one grading: its variance is not seen'
    """
    names = _levels(levels, results)
    entries = _entries(results, "results")
    for key, _ in entries:
        if len(key) != len(names):
            raise InputError(f"results has key {key!r}: give ids for {', '.join(names)}")
    values = {key: _scores(value, f"results[{key!r}]", metric) for key, value in entries}
    array, design = _designed(values, names)
    sample = _sample(entries, array, metric, n, scale)
    components = {"sample": sample, **_components(array, design)}
    warnings = []
    for name in ("seed", "order"):
        count = components[name].levels
        if components[name].value is not None and count < 5:
            warnings.append(f"{count} levels of {name} tell its variance roughly: five or more are better")
    for name, component in components.items():
        if component.raw is not None and component.raw < 0.0:
            warnings.append(f"the estimate for {name} is negative, {component.raw:.3g}, and reported as 0")
    return Variance(float(array.mean()), components, design, tuple(warnings))


def _levels(levels: Sequence[str], results: Any) -> tuple[str, ...]:
    names = (levels,) if isinstance(levels, str) else tuple(levels)
    if not names or len(set(names)) < len(names) or any(name not in LEVELS for name in names):
        raise InputError(f"levels is {levels!r}: give some of {', '.join(map(repr, LEVELS))}, each once")
    if not isinstance(results, Mapping) and names != ("seed", "order"):
        raise InputError(f"levels is {levels!r}: runs have a seed and an order, other levels need a mapping")
    return names


def _scores(value: Any, name: str, metric: str) -> np.ndarray:
    """One result as the scores of its samples; a number counts as one."""
    if isinstance(value, AccuracyMatrix):
        score = metric_of(metric, value)
        if score.value is None:
            raise InputError(f"{name} has no {metric}: {score.reason}")
        value = score.value
    scores = np.atleast_1d(gapped(np.atleast_1d(np.asarray(value)), name, ndim=1))
    missing = np.flatnonzero(np.isnan(scores))
    if missing.size:
        raise InputError(f"{name} lacks sample {missing[0]}: leave a sample out of all results, or out of none")
    return scores


def _designed(values: dict[Key, np.ndarray], names: tuple[str, ...]) -> tuple[np.ndarray, str]:
    """Results of shape (seeds, orders, generations, gradings, samples), and what is nested in what."""
    lengths = {key: len(scores) for key, scores in values.items()}
    first = next(iter(lengths))
    for key, length in lengths.items():
        if length != lengths[first]:
            raise InputError(
                f"results[{key!r}] has {length} samples and results[{first!r}] {lengths[first]}: give the same"
            )
    full = {tuple(key[names.index(name)] if name in names else 0 for name in LEVELS): key for key in values}
    runs = sorted({key[:2] for key in full}, key=repr)
    grid, design = _grid(runs)
    blocks = [[_block(full, values, run) for run in row] for row in grid]
    shapes = {block.shape for row in blocks for block in row}
    if len(shapes) > 1:
        raise InputError(
            "results is not balanced: every seed and order needs the same number of generations, and each of these of "
            f"gradings; there are {sorted({shape[:2] for shape in shapes})}"
        )
    return np.array(blocks), design


def _grid(runs: list[Key]) -> tuple[list[list[Key]], str]:
    """Runs in rows and columns: a row is a seed and a column an order, unless one is nested in the other."""
    seeds, orders = (sorted({run[i] for run in runs}, key=repr) for i in (0, 1))
    if len(runs) == len(seeds) * len(orders):
        return [[(seed, order) for order in orders] for seed in seeds], "crossed"
    if len(runs) == len(seeds) == len(orders):
        return [[run] for run in runs], "one to one"
    for i, design in ((1, "seeds within orders"), (0, "orders within seeds")):
        groups = [[run for run in runs if run[i] == id] for id in (seeds, orders)[i]]
        alone = len(runs) == len((seeds, orders)[1 - i])  # every inner id occurs once
        if alone and len({len(group) for group in groups}) == 1:
            return ([list(row) for row in zip(*groups, strict=True)] if i == 1 else groups), design
    absent = [(seed, order) for seed in seeds for order in orders if (seed, order) not in runs]
    raise InputError(
        f"results is not balanced: seed {absent[0][0]!r} lacks order {absent[0][1]!r}, and so on {len(absent)} times: "
        "run every seed under every order"
    )


def _block(full: dict[Key, Key], values: dict[Key, np.ndarray], run: Key) -> np.ndarray:
    """All results of one run, of shape (generations, gradings, samples)."""
    keys = sorted((key for key in full if key[:2] == run), key=repr)
    generations = sorted({key[2] for key in keys}, key=repr)
    rows = [[values[full[key]] for key in keys if key[2] == generation] for generation in generations]
    counts = {len(row) for row in rows}
    if len(counts) > 1:
        raise InputError(
            f"results is not balanced: generations of run {run!r} have {sorted(counts)} gradings, give them alike"
        )
    return np.array(rows)


@dataclass(frozen=True)
class _Square:
    """A mean square of results, and that of its interaction with samples, each with its degrees of freedom."""

    value: float
    df: int
    by_sample: float
    samples: int

    @classmethod
    def of(cls, deviations: np.ndarray, df: int) -> _Square:
        """From deviations whose last axis is samples; their interaction is what means over samples do not explain."""
        samples = deviations.shape[-1]
        between = float(np.sum(deviations.mean(axis=-1) ** 2))
        rest = float(np.sum(deviations**2)) - samples * between
        return cls(between / df, df, rest / (df * (samples - 1)) if samples > 1 else 0.0, samples)

    def terms(self, weight: float) -> list[tuple[float, float, int]]:
        """Weight, mean square and degrees of freedom of each part, the share of samples taken out."""
        own = (weight, self.value, self.df)
        if self.samples == 1:
            return [own]
        return [own, (-weight / self.samples, self.by_sample, self.df * (self.samples - 1))]


def _components(array: np.ndarray, design: str) -> dict[str, Component]:
    seeds, orders, generations, gradings, _ = array.shape
    squares = _squares(array, design)
    below = "generation" if "generation" in squares else "grading" if "grading" in squares else None
    under = generations if below == "generation" else gradings
    hidden = [name for name, count in (("generation", generations), ("grading", gradings)) if count == 1]
    found = {
        "grading": _component(squares, "grading", None, 1, gradings, []),
        "generation": _component(
            squares, "generation", "grading", gradings, generations, hidden if generations > 1 else []
        ),
    }
    if design == "one to one":
        together = "every run has its own seed and its own order: the two cannot be told apart"
        found |= {name: Component(None, None, None, seeds, together) for name in ("seed", "order")}
        found["seed x order"] = _component(squares, "run", below, under, seeds, ["seed", "order", *hidden])
    else:
        inner = "seed x order" if design == "crossed" else "seed" if design.startswith("seeds") else "order"
        sizes = {"seed": seeds, "order": orders, "seed x order": min(seeds, orders)}
        found[inner] = _component(squares, inner, below, under, sizes[inner], hidden)
        for name, other in (("seed", orders), ("order", seeds)):
            if name == inner:
                continue
            lower, width = (inner, other) if inner in squares else (below, under)
            rest = [] if inner in squares else [part for part in ("seed x order",) if design == "crossed"] + hidden
            found[name] = _component(squares, name, lower, width, sizes[name], rest)
        if design != "crossed":
            nested = f"{design}: their interaction is part of {inner}"
            found["seed x order"] = Component(None, None, None, 0, nested)
    return {name: found[name] for name in ("seed", "order", "seed x order", "generation", "grading")}


def _squares(array: np.ndarray, design: str) -> dict[str, _Square]:
    """Mean squares of all effects that have degrees of freedom."""
    seeds, orders, generations, gradings, _ = array.shape
    answers = array.mean(axis=3)
    runs = answers.mean(axis=2)
    by_seed, by_order, grand = runs.mean(axis=1), runs.mean(axis=0), runs.mean(axis=(0, 1))
    cells = seeds * orders
    effects: dict[str, tuple[np.ndarray, int]] = {
        "grading": (array - answers[:, :, :, None], cells * generations * (gradings - 1)),
        "generation": (answers - runs[:, :, None], cells * (generations - 1)),
    }
    if design == "crossed":
        effects["seed x order"] = (runs - by_seed[:, None] - by_order + grand, (seeds - 1) * (orders - 1))
        effects["seed"] = (by_seed - grand, seeds - 1)
        effects["order"] = (by_order - grand, orders - 1)
    elif design == "one to one":
        effects["run"] = (by_seed - grand, seeds - 1)
    elif design == "seeds within orders":
        effects["seed"] = (runs - by_order, orders * (seeds - 1))
        effects["order"] = (by_order - grand, orders - 1)
    else:
        effects["order"] = (runs - by_seed[:, None], seeds * (orders - 1))
        effects["seed"] = (by_seed - grand, seeds - 1)
    return {name: _Square.of(deviations, df) for name, (deviations, df) in effects.items() if df > 0}


def _component(
    squares: dict[str, _Square], name: str, lower: str | None, width: int, levels: int, holds: list[str]
) -> Component:
    """Its mean square less that of the effect below it, which `width` of its units are averaged over."""
    if name not in squares:
        reason = f"every result has one {name}" if name != "seed x order" else "one seed or one order"
        return Component(None, None, None, levels, f"{reason}: its variance is not seen")
    terms = squares[name].terms(1.0)
    if lower in squares:
        terms += squares[lower].terms(-1.0 / width)
    raw = math.fsum(weight * square for weight, square, _ in terms)
    # a chi-square of df degrees has variance 2 df, estimated without bias over df + 2
    error = math.sqrt(math.fsum(2.0 * (weight * square) ** 2 / (df + 2) for weight, square, df in terms))
    note = f"holds what {' and '.join(holds)} bring, which this design does not separate" if holds else None
    return Component(max(raw, 0.0), raw, error, levels, None, note)


def _sample(entries: list[tuple[Key, Any]], array: np.ndarray, metric: str, n: int | None, scale: str) -> Component:
    """Variance of one result over fresh test samples."""
    samples = array.shape[-1]
    if samples > 1:
        value = float(np.mean(array.var(axis=-1, ddof=1))) / samples
        return Component(
            value, value, None, samples, None, "its own error is not estimated: samples need not be normal"
        )
    shared = (
        "the same test samples serve all runs: without their single scores a part of this is in the components above"
    )
    if isinstance(entries[0][1], AccuracyMatrix):
        return _sample_of_matrices([matrix for _, matrix in entries], metric, shared)
    if n is None:
        return Component(None, None, None, 0, "neither n nor scores of single samples are given")
    if scale not in LIMITS:
        raise InputError(f"scale is {scale!r}: a binomial variance needs accuracies in percent or as a fraction")
    if isinstance(n, bool) or not isinstance(n, int) or n < 2:
        raise InputError(f"n is {n!r}: give the number of test samples, at least 2")
    shares = array.ravel() / LIMITS[scale]
    outside = np.flatnonzero((shares < 0.0) | (shares > 1.0))
    if outside.size:
        raise InputError(
            f"results has {array.ravel()[outside[0]]:g}, outside 0..{LIMITS[scale]:g}: n belongs to accuracies"
        )
    value = float(np.mean(shares * (1.0 - shares))) / (n - 1) * LIMITS[scale] ** 2
    return Component(value, value, None, n, None, shared)


def _sample_of_matrices(matrices: list[AccuracyMatrix], metric: str, note: str) -> Component:
    if metric != "acc.final":
        return Component(
            None, None, None, 0, f"the cells of {metric} share test samples: give scores of single samples"
        )
    found = []
    for matrix in matrices:
        counts = None if matrix.n is None else matrix.n[-1]
        if counts is None or matrix.scale not in LIMITS or np.any(counts < 2):
            return Component(
                None, None, None, 0, "a matrix lacks n, has fewer than two samples in a cell, or no bounded scale"
            )
        shares = matrix.values[-1] / LIMITS[matrix.scale]
        found.append(np.sum(shares * (1.0 - shares) / (counts - 1)) * (LIMITS[matrix.scale] / matrix.T) ** 2)
    value = float(np.mean(found))
    return Component(value, value, None, int(matrices[0].n[-1].sum()), None, note)  # type: ignore[index]


#: What a run may declare, in the order in which a difference would spread.
STAGES = ("data", "training", "generation", "grader")
_EVIDENCE = ("matrix", "data", "training", "grader", "checkpoints", "predictions")


@dataclass(frozen=True)
class Stage:
    """What two runs declare of one stage.

    Attributes
    ----------
    name : {"data", "training", "generation", "grader"}
    status : {"same", "differs", "not declared"}
    differs : tuple of str
        The fields, tasks or cells that differ.
    one_sided : tuple of str
        Fields that only one run declares.
    """

    name: str
    status: str
    differs: tuple[str, ...] = ()
    one_sided: tuple[str, ...] = ()


@dataclass(frozen=True)
class Difference:
    """Where two runs part; see `diff`.

    Attributes
    ----------
    verdict : {"none", "data", "training", "generation", "grader", "noise", "unexplained"}
        The first stage that differs.
    text : str
        The same in words.
    stages : tuple of Stage
        All stages, in order.
    cells : int
        Cells that both runs have.
    beyond : int
        Of these, how many differ by more than the tolerance.
    largest : float
        The largest difference of a cell, second less first in size.
    first : tuple of int or None
        Earliest cell (time, task) beyond the tolerance, from 0.
    tolerance : float
    warnings : tuple of str
    """

    verdict: str
    text: str
    stages: tuple[Stage, ...]
    cells: int
    beyond: int
    largest: float
    first: tuple[int, int] | None
    tolerance: float
    warnings: tuple[str, ...]

    def __repr__(self) -> str:
        return f"Difference({self.verdict}: {self.text})"

    def to_dict(self) -> dict[str, Any]:
        """Everything as valid JSON."""
        return {
            **asdict(self),
            "stages": [
                {**asdict(stage), "differs": list(stage.differs), "one_sided": list(stage.one_sided)}
                for stage in self.stages
            ],
            "first": None if self.first is None else list(self.first),
            "warnings": list(self.warnings),
        }


def diff(run_a: Any, run_b: Any, *, tolerance: float | None = None) -> Difference:
    """Where do two runs part: in the data, in training, in grading, or by arithmetic noise alone?

    Stages are compared in the order in which a difference spreads, and the first that differs is the verdict:

    1. ``data``: a declared field of the data differs (manifest hash, order of tasks, preprocessing).
    2. ``training``: a declared field differs (seed, configuration, commit, environment), or checkpoints differ and so
       do cells beyond the tolerance.
    3. ``generation``: checkpoints agree, predictions do not, and cells differ beyond the tolerance.
    4. ``grader``: a declared field of the grader differs, or predictions agree and cells differ beyond the tolerance.
    5. ``noise``: nothing declared differs, and no cell differs beyond the tolerance.

    What differs beyond the tolerance without any of these is ``unexplained``; equal cells without any of these are
    ``none``. A checkpoint hash changes with the last bit, so checkpoints that differ while cells agree are noise.

    Parameters
    ----------
    run_a, run_b : Run, AccuracyMatrix, or mapping
        A run declares its order (data), its method, seed and information (training). A mapping has ``matrix`` (any of
        the other two) and what is known of:

        - ``data``, ``training``, ``grader``: a mapping of field to hash, number or text;
        - ``checkpoints``: T hashes, one after each task;
        - ``predictions``: a mapping of (time, task) from 0 to a hash.
    tolerance : float, optional
        How far a cell may move by arithmetic alone, in its own unit; declare what a repetition of one run gives. By
        default a millionth of the scale, which is rounding in a file or in single precision.

    Returns
    -------
    Difference
        Warned of stages before the verdict that are not declared: an earlier difference cannot be excluded then.

    Raises
    ------
    InputError
        Runs of other tasks, size, scale or metric, whose cells cannot be compared; unknown keys; a tolerance below 0.

    Examples
    --------
    >>> first, second = AccuracyMatrix([[90, 10], [70, 80]]), AccuracyMatrix([[90, 10], [65, 80]])
    >>> same = {"data": {"manifest": "3f"}, "training": {"config": "a1", "seed": 0}, "checkpoints": ["c0", "c1"]}
    >>> diff(
    ...     {"matrix": first, "grader": {"version": 1}, **same},
    ...     {"matrix": second, "grader": {"version": 2}, **same},
    ... )
    Difference(grader: version of the grader differs; 1 of 4 cells differ, first values[1, 0] by -5)
    """
    a, b = _declared(run_a, "run_a"), _declared(run_b, "run_b")
    left, right = a["matrix"], b["matrix"]
    for name in ("T", "tasks", "scale", "metric"):
        if getattr(left, name) != getattr(right, name):
            raise InputError(
                f"run_b has {name} {getattr(right, name)!r} and run_a {getattr(left, name)!r}: cells of unlike "
                "matrices are not compared"
            )
    allowed = 1e-6 * LIMITS.get(left.scale, 1.0) if tolerance is None else tolerance
    if isinstance(allowed, bool) or not isinstance(allowed, Real) or not 0.0 <= allowed < math.inf:
        raise InputError(f"tolerance is {tolerance!r}: give a number of at least 0, in the unit of the cells")
    moved = right.values - left.values
    both = ~np.isnan(moved)
    far = np.argwhere(both & (np.abs(np.nan_to_num(moved)) > allowed))
    largest = float(np.max(np.abs(moved[both]), initial=0.0))
    declared = {name: _fields(name, a[name], b[name]) for name in ("data", "training", "grader")}
    hashes = {name: _fields(name, a[name], b[name]) for name in ("checkpoints", "predictions")}
    stages = _stages(declared, hashes)
    verdict, cause = _verdict(declared, hashes, len(far) > 0, largest > 0.0)
    first = (int(far[0, 0]), int(far[0, 1])) if far.size else None
    seen = "no cell differs" if largest == 0.0 else f"no cell differs by more than {allowed:g}"
    if first:
        seen = f"{len(far)} of {int(both.sum())} cells differ, first values[{first[0]}, {first[1]}] by {moved[first]:g}"
    return Difference(
        verdict=verdict,
        text=f"{cause}; {seen}",
        stages=stages,
        cells=int(both.sum()),
        beyond=len(far),
        largest=largest,
        first=first,
        tolerance=float(allowed),
        warnings=_doubts(stages, verdict, int(np.sum(left.missing != right.missing))),
    )


def _declared(run: Any, name: str) -> dict[str, Any]:
    """The matrix, and what is declared of each stage."""
    given = dict(run) if isinstance(run, Mapping) else {"matrix": run}
    unknown = [key for key in given if key not in _EVIDENCE]
    if unknown:
        raise InputError(f"{name} has {unknown[0]!r}: known are {', '.join(map(repr, _EVIDENCE))}")
    matrix = given.get("matrix")
    found: dict[str, Any] = {"data": {}, "training": {}, "grader": {}}
    if isinstance(matrix, Run):
        known = {"method": matrix.name, "seed": matrix.seed, **matrix.information}
        found["training"] = {key: value for key, value in known.items() if value is not None}
        found["data"] = {} if matrix.order is None else {"order": matrix.order}
        matrix = matrix.matrix
    if not isinstance(matrix, AccuracyMatrix):
        raise InputError(f"{name} has a matrix of type {type(matrix).__name__}: give a Run or an AccuracyMatrix")
    for key in ("data", "training", "grader"):
        if not isinstance(given.get(key, {}), Mapping):
            raise InputError(f"{name}[{key!r}] is {given[key]!r}: give a mapping of field to hash, number or text")
        for field, value in given.get(key, {}).items():
            if found[key].setdefault(field, value) != value:
                raise InputError(
                    f"{name}[{key!r}] has {field} {value!r}, its run {found[key][field]!r}: which is right?"
                )
    checkpoints = given.get("checkpoints")
    if checkpoints is not None and (isinstance(checkpoints, str) or len(checkpoints) != matrix.T):
        raise InputError(f"{name}['checkpoints'] has {len(checkpoints)} entries: give {matrix.T}, one after each task")
    predictions = given.get("predictions")
    if predictions is not None and not isinstance(predictions, Mapping):
        raise InputError(f"{name}['predictions'] is no mapping: give a hash for each (time, task)")
    numbered = {} if checkpoints is None else dict(enumerate(checkpoints))
    return {**found, "matrix": matrix, "checkpoints": numbered, "predictions": dict(predictions or {})}


def _fields(name: str, a: Mapping[Any, Any], b: Mapping[Any, Any]) -> Stage:
    shared = [key for key in a if key in b]
    differs = tuple(str(key) for key in shared if a[key] != b[key])
    one_sided = tuple(str(key) for key in {**a, **b} if (key in a) != (key in b))
    return Stage(name, "differs" if differs else "same" if shared else "not declared", differs, one_sided)


def _stages(declared: Mapping[str, Stage], hashes: Mapping[str, Stage]) -> tuple[Stage, ...]:
    """The four stages; hashes of checkpoints stand for training too, those of predictions for generation."""
    fields, checkpoints, predictions = declared["training"], hashes["checkpoints"], hashes["predictions"]
    known = [part.status for part in (fields, checkpoints) if part.status != "not declared"]
    training = Stage(
        "training",
        "differs" if "differs" in known else "same" if known else "not declared",
        (*fields.differs, *(f"checkpoint {k}" for k in checkpoints.differs)),
        fields.one_sided,
    )
    generation = Stage("generation", predictions.status, predictions.differs, predictions.one_sided)
    return declared["data"], training, generation, declared["grader"]


def _verdict(declared: Mapping[str, Stage], hashes: Mapping[str, Stage], beyond: bool, moved: bool) -> tuple[str, str]:
    """The first stage that differs, and why it is that one."""
    checkpoints, predictions = hashes["checkpoints"], hashes["predictions"]
    for name in ("data", "training"):
        if declared[name].differs:
            return name, _differ(declared[name])
    if checkpoints.differs and beyond:
        return "training", f"checkpoints differ from number {checkpoints.differs[0]} on though what is declared agrees"
    if checkpoints.status == "same" and predictions.differs and beyond:
        return "generation", f"checkpoints agree, predictions of {len(predictions.differs)} cells do not"
    if declared["grader"].differs:
        return "grader", _differ(declared["grader"])
    if predictions.status == "same" and beyond:
        return "grader", "predictions agree and their scores do not: the grader changed undeclared"
    if beyond:
        return "unexplained", "nothing declared explains the difference"
    if moved or checkpoints.differs or predictions.differs:
        return "noise", "nothing declared differs"
    return "none", "nothing differs"


def _differ(stage: Stage) -> str:
    return f"{_listed(stage.differs)} of the {stage.name} {'differs' if len(stage.differs) == 1 else 'differ'}"


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(names[:5]) + more


def _doubts(stages: Sequence[Stage], verdict: str, one_sided_cells: int) -> tuple[str, ...]:
    reach = STAGES.index(verdict) if verdict in STAGES else len(STAGES)
    found = []
    for i, stage in enumerate(stages):
        if stage.status == "not declared" and i < reach and stage.name != "generation":
            found.append(f"{stage.name} is not declared by both: a difference there cannot be excluded")
        if stage.one_sided:
            found.append(f"{_listed(stage.one_sided)} of the {stage.name} is declared by one run only")
    if one_sided_cells:
        found.append(f"{one_sided_cells} cells are missing in one run only and are not compared")
    return tuple(found)
