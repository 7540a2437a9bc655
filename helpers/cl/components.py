"""Components of variance: how much of the spread of results is the test sample's, the seed's, the order's."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ..errors import InputError
from .inputs import LIMITS, gapped
from .keyed import Key, entries_of, scored
from .record import AccuracyMatrix

LEVELS = ("seed", "order", "generation", "grading")


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
    analysis of variance, by the method of moments, such as

    .. math:: \hat\sigma^2_S = \frac{MS_S - MS_{SO}}{\#\text{orders}}, \qquad
        \hat\sigma^2_O = \frac{MS_O - MS_{SO}}{\#\text{seeds}}

    where every seed ran under every order: unbiased, and therefore negative at times. Where each seed has
    orders of its own, or each order seeds of its own, the inner factor is nested in the outer one; where every run has
    its own seed and its own order the two cannot be told apart.

    If results hold the scores of single test samples (the same ones, in the same order, in every result), samples are
    one more crossed random factor: what they bring to the other mean squares is taken out, and the sample component is
    the variance of one result over fresh test samples. Ten thousand questions put to one checkpoint tell this component
    and no other.

    Parameters
    ----------
    results : sequence of Run, or mapping of key to number or to array of shape (n,)
        Keys are tuples of ids in the order of `levels`; a single id where there is one level. An array holds the scores
        of the same n test samples in every result.
    metric : str
        For runs: the id, "acc.final" by default, for which alone the sample component follows from the n of matrices.
    levels : sequence of str
        What the ids stand for: some of "seed", "order", "generation", "grading"; seed and order by default, the two
        that runs have.
    n : int, optional
        With numbers that are accuracies: test samples behind each, for the binomial sample component
        :math:`\hat p (1 - \hat p) / (n - 1)`.
    scale : {"percent", "fraction"}
        Of those accuracies, for n only: "percent" by default, as most papers print them.

    Returns
    -------
    Variance
        Components in the squared unit of the results, and the mean of these. A component without a value says why: a
        level that occurs once has no spread of its own, and what it brings is part of the component above it, which
        says so in its note.

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
    entries = entries_of(results, "results")
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
    names = (levels,) if isinstance(levels, str) else tuple(levels) if isinstance(levels, Iterable) else ()
    if not names or any(name not in LEVELS for name in names) or len(set(names)) < len(names):
        raise InputError(f"levels is {levels!r}: give some of {', '.join(map(repr, LEVELS))}, each once")
    if not isinstance(results, Mapping) and names != ("seed", "order"):
        raise InputError(f"levels is {levels!r}: runs have a seed and an order, other levels need a mapping")
    return names


def _scores(value: Any, name: str, metric: str) -> np.ndarray:
    """One result as the scores of its samples; a number counts as one."""
    found = scored(value, name, metric)
    scores = gapped([found] if np.ndim(found) == 0 else found, name, ndim=1)
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
    # hypot, because squares of squares would overflow
    error = math.hypot(*(weight * square * math.sqrt(2.0 / (df + 2)) for weight, square, df in terms))
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
