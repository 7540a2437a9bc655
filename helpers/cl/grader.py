"""The grader is part of the protocol: how steady it is, how far raters agree, whether it rewards length."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import stdtrit

from .. import arrays
from ..errors import InputError
from ..uncertainty import Interval, bootstrap_weights, check_confidence, percentile_interval

#: Squares and sums of such numbers stay finite.
LARGEST = 1e50
LEVELS = ("nominal", "ordinal", "interval")
WEIGHTS = ("none", "linear", "quadratic")
REPLICATES = 2000
#: Fewer items than this have no bootstrap interval.
FEW_ITEMS = 5
MOST_GRADES = 100


@dataclass(frozen=True)
class RaterAgreement:
    """Agreement beyond chance.

    Attributes
    ----------
    statistic : str
        "cohen-kappa", "fleiss-kappa" or "krippendorff-alpha", with its weights or level.
    value : float or None
        1 is perfect, 0 what chance gives, negative is worse than chance; None with `reason` where undefined.
    n_items, n_raters : int
        Items that count, and raters.
    interval : (float, float) or None
        Percentile bootstrap over items; None with `reason`.
    reason : str or None
        Why something is missing.
    """

    statistic: str
    value: float | None
    n_items: int
    n_raters: int
    interval: Interval | None
    reason: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The fields as valid JSON."""
        return asdict(self)


def cohen_kappa(
    first: Any, second: Any, *, weights: str = "none", confidence: float = 0.95, seed: int = 0
) -> RaterAgreement:
    r"""Cohen's kappa: do two raters agree more than their own habits explain?

    .. math:: \kappa = 1 - \frac{\sum_{ab} w_{ab} p_{ab}}{\sum_{ab} w_{ab} p_{a\cdot} p_{\cdot b}}

    over the joint shares :math:`p_{ab}` of their grades. The disagreement :math:`w` is 1 for unlike grades ("none"), or
    grows with the distance in rank, :math:`|a - b|` ("linear") or its square ("quadratic"). Ranks are places among the
    grades that occur.

    Parameters
    ----------
    first, second : array of shape (n,)
        Grades of the same n items: numbers or texts; texts are ranked alphabetically.
    weights : {"none", "linear", "quadratic"}
        Plain by default; the others are for grades with an order.
    confidence, seed : float, int
        Level and seed of the bootstrap over items.

    Returns
    -------
    RaterAgreement
        Undefined where both raters give one and the same grade throughout.

    Raises
    ------
    InputError
        Unequal lengths, no items, missing grades, weights of another name.

    References
    ----------
    Cohen (1960), Educational and Psychological Measurement 20, 37-46; Cohen (1968), Psychological Bulletin 70, 213-220.

    Examples
    --------
    >>> cohen_kappa([1, 1, 0, 0, 1, 0], [1, 1, 0, 1, 1, 0]).value
    0.6666666666666667
    """
    arrays.one_of(weights, "weights", WEIGHTS)
    a, b = _grades(first, "first"), _grades(second, "second")
    if len(a) != len(b):
        raise InputError(f"first has {len(a)} grades and second {len(b)}: grade the same items")
    codes, k = _codes(np.stack([a, b]))
    _few_grades(k)
    apart = np.abs(np.subtract.outer(np.arange(k), np.arange(k))).astype(np.float64)
    cost = {"none": (apart > 0).astype(np.float64), "linear": apart, "quadratic": apart**2}[weights]
    joint = _indicator(codes[0] * k + codes[1], k * k)

    def statistic(times: np.ndarray) -> np.ndarray:
        table = (times @ joint).reshape(-1, k, k)
        found = np.einsum("rab,ab->r", table, cost) * len(a)
        return _beyond_chance(found, np.einsum("ra,rb,ab->r", table.sum(2), table.sum(1), cost))

    name = "cohen-kappa" if weights == "none" else f"cohen-kappa, {weights} weights"
    return _agreement(name, statistic, len(a), 2, confidence, seed)


def fleiss_kappa(ratings: Any, *, confidence: float = 0.95, seed: int = 0) -> RaterAgreement:
    r"""Fleiss' kappa: agreement of a fixed number of raters, who may differ from item to item.

    .. math::

        \kappa = \frac{\bar P - \bar P_e}{1 - \bar P_e}, \quad
        \bar P = \frac1n \sum_i \frac{\sum_c m_{ic} (m_{ic} - 1)}{r (r - 1)}, \quad
        \bar P_e = \sum_c \Big( \frac{1}{nr} \sum_i m_{ic} \Big)^2,

    where :math:`m_{ic}` of the r raters gave item i of n the grade c: the share of pairs of raters that agree on an
    item, less what the shares of the grades would give by chance. It has no unit, and reads 1 for perfect agreement.

    Parameters
    ----------
    ratings : array of shape (n, r)
        Row i holds the r grades of item i, numbers or texts, which need no order. Missing grades are for
        `krippendorff_alpha`.
    confidence : float
        Level of the bootstrap over items, 0.95 by default, as is customary.
    seed : int
        Of the bootstrap's 2,000 samples, 0 by default, so that the interval repeats.

    Returns
    -------
    RaterAgreement
        Undefined where only one grade occurs. There is no interval for fewer than five items, nor without disagreement.

    Raises
    ------
    InputError
        Fewer than two raters, missing grades, no items, numbers among texts, a confidence or seed out of range.

    References
    ----------
    Fleiss (1971), Psychological Bulletin 76, 378-382.

    Examples
    --------
    >>> round(fleiss_kappa([[0, 0, 1], [1, 1, 1], [0, 0, 0], [0, 1, 1]]).value, 4)
    0.3333
    """
    table = _rating_table(ratings)
    if _missing(table).any():
        row, column = np.argwhere(_missing(table))[0]
        raise InputError(f"ratings[{row}, {column}] is missing: use krippendorff_alpha, which allows for it")
    n, raters = table.shape
    codes, k = _codes(table)
    counts = np.stack([(codes == grade).sum(axis=1) for grade in range(k)], axis=1).astype(np.float64)
    alike = (counts * (counts - 1)).sum(axis=1) / (raters * (raters - 1))

    def statistic(times: np.ndarray) -> np.ndarray:
        chance = np.sum((times @ counts / (n * raters)) ** 2, axis=1)
        return _beyond_chance(1.0 - times @ alike / n, 1.0 - chance)

    return _agreement("fleiss-kappa", statistic, n, raters, confidence, seed)


def krippendorff_alpha(
    ratings: Any, *, level: str = "nominal", confidence: float = 0.95, seed: int = 0
) -> RaterAgreement:
    r"""Krippendorff's alpha: agreement of any number of raters, missing grades allowed.

    .. math:: \alpha = 1 - \frac{D_o}{D_e} = 1 - (N - 1)
        \frac{\sum_{cd} o_{cd}\, \delta^2_{cd}}{\sum_{cd} n_c n_d\, \delta^2_{cd}},

    where :math:`o_{cd} = \sum_i o_{icd}` counts pairs of grades within items,
    :math:`o_{icd} = m_{ic} (m_{id} - [c = d]) / (m_i - 1)`,
    :math:`n_c = \sum_d o_{cd}` and :math:`N = \sum_c n_c`. The difference :math:`\delta^2` is 1 for unlike grades
    ("nominal"), :math:`(c - d)^2` ("interval"), or the squared number of grades given between the two, ends counted
    half ("ordinal"). Items with fewer than two grades tell nothing of agreement and do not count. It has no unit, and
    reads 1 for perfect agreement.

    Parameters
    ----------
    ratings : array of shape (n, r)
        Row i holds the grades of item i by r raters; None or NaN where one did not grade, among texts None.
    level : {"nominal", "ordinal", "interval"}
        What differences between grades mean; numbers are needed unless nominal, the default, which assumes nothing of
        their order.
    confidence : float
        Level of the bootstrap over items, 0.95 by default, as is customary.
    seed : int
        Of the bootstrap's 2,000 samples, 0 by default, so that the interval repeats.

    Returns
    -------
    RaterAgreement
        Undefined where fewer than two items have two grades, or only one grade occurs. There is no interval for fewer
        than five items, nor without disagreement.

    Raises
    ------
    InputError
        Fewer than two raters, no items, another level, grades that are no numbers at the level interval or ordinal,
        numbers among texts, a confidence or seed out of range.

    References
    ----------
    Krippendorff (2011), Computing Krippendorff's alpha-reliability.

    Examples
    --------
    >>> round(krippendorff_alpha([[1, 1, None], [2, 2, 3], [3, 3, 3], [None, 1, 1]]).value, 4)
    0.7188
    """
    arrays.one_of(level, "level", LEVELS)
    table = _rating_table(ratings)
    raters = table.shape[1]
    present = ~_missing(table)
    table, present = table[present.sum(axis=1) > 1], present[present.sum(axis=1) > 1]
    name = f"krippendorff-alpha, {level}"
    if len(table) < 2:
        return RaterAgreement(name, None, len(table), raters, None, "fewer than two items have two grades")
    grades, inverse = np.unique(_comparable(table[present], level), return_inverse=True)
    counts = np.zeros((len(table), len(grades)))
    np.add.at(counts, (np.nonzero(present)[0], inverse), 1.0)
    statistic = {"nominal": _nominal, "interval": _interval, "ordinal": _ordinal}[level](counts, grades)
    return _agreement(name, statistic, len(table), raters, confidence, seed)


Statistic = Callable[[np.ndarray], np.ndarray]


def _nominal(counts: np.ndarray, _: np.ndarray) -> Statistic:
    size = counts.sum(axis=1)
    apart = (size**2 - np.sum(counts**2, axis=1)) / (size - 1.0)

    def statistic(times: np.ndarray) -> np.ndarray:
        n = times @ counts
        total = n.sum(axis=1)
        return _beyond_chance(times @ apart * (total - 1.0), total**2 - np.sum(n**2, axis=1))

    return statistic


def _interval(counts: np.ndarray, grades: np.ndarray) -> Statistic:
    x = grades - np.average(grades, weights=counts.sum(axis=0))  # squares of small numbers keep their digits
    x = x / np.max(np.abs(x)) if len(grades) > 1 else 0.0 * x
    size, first, second = counts.sum(axis=1), counts @ x, counts @ x**2
    apart = (size * second - first**2) / (size - 1.0)

    def statistic(times: np.ndarray) -> np.ndarray:
        total = times @ size
        expected = (times @ second) / total - ((times @ first) / total) ** 2
        return _beyond_chance((times @ apart) * (total - 1.0) / total**2, expected)

    return statistic


def _ordinal(counts: np.ndarray, grades: np.ndarray) -> Statistic:
    k = _few_grades(len(grades))
    pairs = _pairs_within(counts)

    def statistic(times: np.ndarray) -> np.ndarray:
        o = (times @ pairs).reshape(-1, k, k)
        n = o.sum(axis=2)
        middle = n.cumsum(axis=1) - n / 2.0  # of each grade's block of ranks
        delta = (middle[:, :, None] - middle[:, None, :]) ** 2
        found = np.sum(o * delta, axis=(1, 2)) * (n.sum(axis=1) - 1.0)
        return _beyond_chance(found, np.sum(n[:, :, None] * n[:, None, :] * delta, axis=(1, 2)))

    return statistic


def _few_grades(k: int) -> int:
    """Tables of grade against grade stay small."""
    if k > MOST_GRADES:
        raise InputError(
            f"ratings hold {k} different grades, at most {MOST_GRADES} here: use krippendorff_alpha at the "
            "level interval for scores"
        )
    return k


def _pairs_within(counts: np.ndarray) -> sparse.csr_array:
    """Each item's share of the table of coincidences, flattened: (n, k * k), of which few are not zero."""
    items, firsts, seconds = [], [], []
    for number, row in enumerate(counts):
        seen = np.flatnonzero(row)
        items.append(np.full(len(seen) ** 2, number))
        firsts.append(np.repeat(seen, len(seen)))
        seconds.append(np.tile(seen, len(seen)))
    i, c, d = np.concatenate(items), np.concatenate(firsts), np.concatenate(seconds)
    value = counts[i, c] * (counts[i, d] - (c == d)) / (counts.sum(axis=1) - 1.0)[i]
    k = counts.shape[1]
    return sparse.csr_array((value, (i, c * k + d)), shape=(len(counts), k * k))


def _agreement(name: str, statistic: Statistic, n: int, raters: int, confidence: float, seed: int) -> RaterAgreement:
    """The statistic of all items, and of bootstrap samples of them."""
    check_confidence(confidence)
    arrays.whole_number(seed, "seed", least=0)
    value = float(statistic(np.ones((1, n)))[0])
    if np.isnan(value):
        return RaterAgreement(name, None, n, raters, None, "only one grade occurs: nothing tells agreement from habit")
    if n < FEW_ITEMS:
        return RaterAgreement(name, value, n, raters, None, f"{n} items are too few for an interval")
    if value == 1.0:
        return RaterAgreement(name, value, n, raters, None, "no disagreement seen: how rare it is cannot be resampled")
    draws = np.concatenate(
        [statistic(times) for times in bootstrap_weights(n, REPLICATES, np.random.default_rng(seed))]
    )
    empty = int(np.isnan(draws).sum())
    if empty:
        return RaterAgreement(name, value, n, raters, None, f"{empty} of {REPLICATES} resamples have one grade only")
    return RaterAgreement(name, value, n, raters, percentile_interval(draws, confidence=confidence))


def _beyond_chance(found: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """1 less the disagreement found over that expected by chance; NaN where chance leaves none."""
    none = expected <= 1e-12
    return np.where(none, np.nan, 1.0 - found / np.where(none, 1.0, expected))


def _indicator(column: np.ndarray, width: int) -> sparse.csr_array:
    n = len(column)
    return sparse.csr_array((np.ones(n), (np.arange(n), column)), shape=(n, width))


def _grades(values: Any, name: str) -> np.ndarray:
    array = np.asarray(arrays.to_numpy(arrays.as_array(values, name)))
    if array.ndim != 1 or not array.size:
        raise InputError(f"{name} has shape {array.shape}: give one grade per item")
    bad = np.flatnonzero(_missing(array))
    if bad.size:
        raise InputError(f"{name}[{bad[0]}] is missing: leave the item out, or use krippendorff_alpha")
    _refuse_mixed(values, name)
    return array


def _rating_table(ratings: Any) -> np.ndarray:
    table = np.asarray(arrays.to_numpy(arrays.as_array(ratings, "ratings")))
    if table.ndim != 2 or not table.size or table.shape[1] < 2:
        raise InputError(f"ratings has shape {table.shape}: give one row per item, one column per rater, at least two")
    _refuse_mixed(ratings, "ratings")
    return table


def _refuse_mixed(values: Any, name: str) -> None:
    """NumPy makes texts of numbers that stand among texts, of NaN too."""
    if not isinstance(values, list | tuple):
        return
    grades = (grade for grade in np.array(values, dtype=object).flat if grade is not None)
    if len({isinstance(grade, str) for grade in grades}) > 1:
        raise InputError(f"{name} holds numbers and texts: give all grades as one of them, None for a missing one")


def _missing(table: np.ndarray) -> np.ndarray:
    """None and NaN, in whatever kind of array."""
    return np.array([value is None or value != value for value in table.ravel()]).reshape(table.shape)


def _codes(table: np.ndarray) -> tuple[np.ndarray, int]:
    grades, codes = np.unique(_comparable(table.ravel(), "nominal"), return_inverse=True)
    return codes.reshape(table.shape), len(grades)


def _comparable(grades: np.ndarray, level: str) -> np.ndarray:
    """Numbers as float64; texts as they are, where grades need only be told apart."""
    if grades.dtype.kind == "c":
        raise InputError("ratings hold complex numbers: number the grades in their order")
    try:
        numbers = grades.astype(np.float64)
        if not np.all(np.abs(numbers) <= LARGEST):
            raise InputError(f"ratings hold a grade that is not finite (at most {LARGEST:g}): leave it out as None")
        return numbers
    except InputError:
        raise
    except (TypeError, ValueError) as error:
        if level == "nominal" and all(isinstance(grade, str) for grade in grades.tolist()):
            return grades.astype(str)
        raise InputError(f"ratings hold grades that are no numbers ({error}): number them in their order") from error


@dataclass(frozen=True)
class GraderVariance:
    """Where the spread of a graded score comes from; all in squared units of the score.

    Attributes
    ----------
    generation, grading : float or None
        Variance between outputs for the same item, and between gradings of the same output, each of one item; None
        with the reason. An estimate of `generation` may be negative where it is small.
    generation_interval, grading_interval : (float, float) or None
        Percentile bootstrap over items.
    standard_error : float or None
        Of the mean score over these items, from both sources; the choice of items is not in it.
    n_items, n_generations, n_gradings : int
        The shape of the scores.
    reasons : dict of str to str
        Why something is missing.
    """

    generation: float | None
    grading: float | None
    generation_interval: Interval | None
    grading_interval: Interval | None
    standard_error: float | None
    n_items: int
    n_generations: int
    n_gradings: int
    reasons: dict[str, str]

    def to_dict(self) -> dict[str, Any]:
        """The fields as valid JSON."""
        return asdict(self)


def grader_variance(scores: Any, *, confidence: float = 0.95, seed: int = 0) -> GraderVariance:
    r"""Generation variance and grading variance apart: grade fixed outputs again, and generate again.

    With score :math:`y_{igr}` of item i, its output g, and the r-th grading of that output,

    .. math::

        \hat\sigma^2_\text{grading} = \overline{s^2_r(y_{igr})}, \qquad
        \hat\sigma^2_\text{generation} = \overline{s^2_g(\bar y_{ig\cdot})} - \hat\sigma^2_\text{grading} / R,

    where :math:`s^2` has divisor R - 1 over gradings and G - 1 over outputs, and the bar means over items (and
    outputs): the nested analysis of variance. Variances are in the squared unit of the scores, the standard error in
    their unit.
    Both are unbiased if gradings of one output are drawn independently; a drift that all gradings of a day share is not
    seen unless the days are the gradings.

    Parameters
    ----------
    scores : array of shape (n, G, R)
        n items, G outputs each, R gradings of each output, in the unit of the score.
    confidence : float
        Level of the bootstrap over items, 0.95 by default, as is customary.
    seed : int
        Of the bootstrap's 2,000 samples, 0 by default, so that the intervals repeat.

    Returns
    -------
    GraderVariance
        With G = 1 nothing is said of generation; with R = 1 the two cannot be told apart, and both are None.

    Raises
    ------
    InputError
        Another number of axes, an empty one, values that are not finite numbers, a confidence or seed out of range.

    References
    ----------
    Searle, Casella and McCulloch (1992), Variance Components, chapter 4.

    Examples
    --------
    Two outputs for one item, each graded twice.

    >>> found = grader_variance([[[4.0, 6.0], [8.0, 10.0]]])
    >>> found.grading, found.generation
    (2.0, 7.0)
    """
    array = arrays.floats(scores, "scores", remedy="give numbers of shape (n, G, R)")
    if array.ndim != 3 or not array.size:
        raise InputError(f"scores has shape {array.shape}: give numbers of shape (n, G, R)")
    too_large = ~(np.abs(array) <= LARGEST)  # or NaN
    arrays.refuse_where(too_large, array, "scores", f"give finite numbers, up to {LARGEST:g}")
    check_confidence(confidence)
    arrays.whole_number(seed, "seed", least=0)
    n, outputs, gradings = array.shape
    if gradings == 1:
        reason = "one grading per output does not tell the grader from the model: grade the same outputs again"
        reasons = dict.fromkeys(("generation", "grading", "intervals"), reason)
        return GraderVariance(None, None, None, None, _within_items(array), n, outputs, gradings, reasons)
    grading = array.var(axis=2, ddof=1).mean(axis=1)
    draws = np.random.default_rng(seed).integers(n, size=(REPLICATES, n)) if n >= FEW_ITEMS else None

    def interval(values: np.ndarray) -> Interval | None:
        return None if draws is None else percentile_interval(values[draws].mean(axis=1), confidence=confidence)

    reasons = {} if draws is not None else {"intervals": f"{n} items are too few to resample"}
    common = (n, outputs, gradings)
    if outputs == 1:
        reasons["generation"] = reasons["standard_error"] = "one output per item: generate again"
        return GraderVariance(None, float(grading.mean()), None, interval(grading), None, *common, reasons)
    generation = array.mean(axis=2).var(axis=1, ddof=1) - grading / gradings
    return GraderVariance(
        float(generation.mean()),
        float(grading.mean()),
        interval(generation),
        interval(grading),
        _within_items(array),
        *common,
        reasons,
    )


def _within_items(array: np.ndarray) -> float | None:
    """Standard error of the mean over fixed items: outputs are what is drawn, whatever part the grader has in it."""
    n, outputs, _ = array.shape
    if outputs == 1:
        return None
    return float(np.sqrt(array.mean(axis=2).var(axis=1, ddof=1).sum() / outputs)) / n


@dataclass(frozen=True)
class LengthBias:
    """How much a grader's score grows with length.

    Attributes
    ----------
    slope : float or None
        Score per unit of length; None with `reason` where undefined.
    interval : (float, float) or None
        Of the slope; one that excludes 0 says that length goes with score.
    n : int
        Graded outputs.
    n_items : int or None
        Items within which outputs were compared; None where they were not.
    reason : str or None
        Why something is missing.
    """

    slope: float | None
    interval: Interval | None
    n: int
    n_items: int | None
    reason: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The fields as valid JSON."""
        return asdict(self)


def length_bias(scores: Any, lengths: Any, *, items: Any = None, confidence: float = 0.95) -> LengthBias:
    r"""Slope of score against length, by least squares, with its interval.

    .. math:: \hat\beta = \frac{\sum_i \tilde x_i \tilde y_i}{\sum_i \tilde x_i^2}, \qquad
        \widehat{\mathrm{Var}}(\hat\beta) = \frac{\sum_i \tilde x_i^2 e_i^2 / (1 - h_i)^2}{(\sum_i \tilde x_i^2)^2},

    where :math:`\tilde x, \tilde y` are lengths and scores less their mean (within the item, where `items` is given),
    :math:`e` the residuals and :math:`h` their leverages: the variance HC3, which holds where the spread of scores
    depends on length, as it does for bounded scores. A better answer may need to be longer: compare several outputs of
    the same items, and let people or an executor judge part of them, before calling a slope a bias.

    Parameters
    ----------
    scores : array of shape (n,)
        What the grader gave.
    lengths : array of shape (n,)
        Tokens or characters; pass log2 of them for a slope per doubling.
    items : array of shape (n,), optional
        The item that each output answers, two outputs or more of each: slopes within items, so that hard items that
        need long answers do not mix in.
    confidence : float
        Level of the interval, 0.95 by default; t quantile.

    Returns
    -------
    LengthBias
        Undefined where lengths do not vary (within items).

    Raises
    ------
    InputError
        Unequal lengths of the arguments, values that are not finite numbers, an item with one output.

    References
    ----------
    MacKinnon and White (1985), Journal of Econometrics 29, 305-325.

    Examples
    --------
    >>> found = length_bias([5.0, 6.1, 6.9, 8.0, 9.2], [10, 20, 30, 40, 50])
    >>> round(found.slope, 3), found.interval[0] > 0
    (0.103, True)
    """
    y, x = arrays.real_vector(scores, "scores"), arrays.real_vector(lengths, "lengths")
    check_confidence(confidence)
    for name, vector in (("scores", y), ("lengths", x)):
        arrays.refuse_where(np.abs(vector) > LARGEST, vector, name, f"give numbers up to {LARGEST:g}")
    if len(x) != len(y):
        raise InputError(f"scores has {len(y)} values and lengths {len(x)}: give one length per score")
    group, sizes = _item_groups(items, len(y))
    n_items = None if items is None else len(sizes)
    centred_x, centred_y = _centred(x, group, sizes), _centred(y, group, sizes)
    square = float(centred_x @ centred_x)
    if square <= 1e-24 * float(x @ x):
        return LengthBias(
            None, None, len(y), n_items, "lengths do not vary" + ("" if items is None else " within items")
        )
    slope = float(centred_x @ centred_y) / square
    left = len(y) - len(sizes) - 1
    leverage = 1.0 / sizes[group] + centred_x**2 / square
    if left < 1 or np.any((leverage > 1 - 1e-9) & (centred_x != 0)):
        return LengthBias(slope, None, len(y), n_items, "too few outputs for an interval: one alone sets the slope")
    residual = (centred_y - slope * centred_x) / np.maximum(1.0 - leverage, 1e-9)
    error = float(np.sqrt(np.sum((centred_x * residual) ** 2))) / square
    reach = float(stdtrit(left, 0.5 + confidence / 2.0)) * error
    return LengthBias(slope, (slope - reach, slope + reach), len(y), n_items)


def _item_groups(items: Any, n: int) -> tuple[np.ndarray, np.ndarray]:
    if items is None:
        return np.zeros(n, dtype=np.int64), np.array([n])
    array = np.asarray(arrays.to_numpy(arrays.as_array(items, "items")))
    if array.shape != (n,):
        raise InputError(f"items has shape {array.shape}: give the item of each of the {n} outputs")
    missing = np.flatnonzero(_missing(array))
    if missing.size:
        raise InputError(f"items[{missing[0]}] is missing: say which item each output answers")
    names, group, sizes = np.unique(array, return_inverse=True, return_counts=True)
    if np.any(sizes == 1):
        alone = names[int(np.argmin(sizes))]
        raise InputError(f"items has one output of {str(alone)!r}: within items two are compared, leave it out")
    return group, sizes


def _centred(values: np.ndarray, group: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    return values - (arrays.counts(group, weights=values) / sizes)[group]
