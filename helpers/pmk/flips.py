"""Flips: how often, and how much, a prediction changes along a sequence, whatever the truth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import arrays
from ..errors import InputError, bracketed, brief
from .resampling import Average, by_group, mean, plain, ratio, scalar
from .timeline import Timeline

AGAINST = ("previous", "first")
#: Classes that the top-5 distance looks at.
TOP = 5
#: A top-5 distance when none of the classes is among the later five: 5 + 4 + 3 + 2 + 1.
FARTHEST = 15


def flip_probability(
    predictions: Any, *, against: str = "previous", confidence: float = 0.95, seed: int = 0
) -> Average:
    r"""ImageNet-P's flip probability of sequences of equal length.

    .. math:: \mathrm{FP} = \frac1S \sum_{i=1}^S \frac{1}{m-1} \sum_{j=2}^m
       \mathbf 1[f(x_j^{(i)}) \ne f(x_{j-1}^{(i)})]

    over S sequences of m frames. Frames that change on from one another, such as those of a tilt or a zoom, are held
    against the previous one. The frames of a noise sequence are fresh noise on one image rather than steps of a motion:
    there :math:`f(x_1)`, the prediction of the first, stands in place of :math:`f(x_{j-1})`.

    It needs no labels, so that a prediction which is constantly wrong never flips, and it is a mean over frames where
    PM-k counts the worst.

    Parameters
    ----------
    predictions : int array of shape (..., S, m)
        Predicted classes in the order of time, m at least 2. Leading axes are models.
    against : str
        "previous" (default) or "first", the latter for noise sequences.
    confidence, seed
        Of the percentile bootstrap over sequences (2,000 replicates).

    Returns
    -------
    Average
        Without an interval for under ten sequences.

    Raises
    ------
    InputError
        No whole numbers, a class below 0, fewer than 2 frames, no sequence, another `against`.

    References
    ----------
    Hendrycks and Dietterich (2019), "Benchmarking neural network robustness to common corruptions and perturbations".

    Examples
    --------
    >>> found = flip_probability([[0, 0, 1, 0], [2, 2, 2, 2]])
    >>> round(found.value, 6), found.reason
    (0.333333, '10 groups are needed to resample')
    >>> flip_probability([[0, 1, 1, 1]]).value, flip_probability([[0, 1, 1, 1]], against="first").value
    (0.3333333333333333, 1.0)
    """
    arrays.one_of(against, "against", AGAINST)
    classes = _classes(predictions)
    if classes.ndim < 2 or classes.shape[-1] < 2 or classes.shape[-2] < 1:
        raise InputError(f"predictions has shape {classes.shape}: give sequences of at least 2 frames, (..., S, m)")
    reference = classes[..., :-1] if against == "previous" else classes[..., :1]
    return mean(np.mean(classes[..., 1:] != reference, axis=-1), confidence=confidence, seed=seed)


def top5_distance(predictions: Any, *, against: str = "previous", confidence: float = 0.95, seed: int = 0) -> Average:
    r"""ImageNet-P's distance between the five best classes of consecutive frames, uT5D.

    .. math:: \mathrm{uT5D} = \frac1S \sum_{i=1}^S \frac{1}{m-1} \sum_{j=2}^m d(x_{j-1}^{(i)}, x_j^{(i)}), \qquad
       d(x, x') = \sum_{r=1}^5 \big| r - \min(r'_r, 6) \big|,

    where :math:`r'_r` is the rank in frame x' of the class that has rank r in frame x. All ranks beyond five are one
    place, the sixth. A distance of 0 is the same five classes in the same order, 2 one exchange of neighbours, and 15,
    the largest, five others. It looks from the earlier frame to the later one and is not symmetric: where a new class
    comes in at the top each of the old ones moves, five places in all; the way back costs nine.

    Parameters
    ----------
    predictions : int array of shape (..., S, m, 5)
        The five best classes of each frame, best first, in S sequences of m frames in the order of time, m at least 2:
        such as ``np.argsort(-scores, axis=-1, kind="stable")[..., :5]``. Leading axes are models.
    against : str
        "previous" (default) or "first", the latter for noise sequences, as for `flip_probability`.
    confidence, seed
        Of the percentile bootstrap over sequences, as for `flip_probability`.

    Returns
    -------
    Average
        In [0, 15]; without an interval for under ten sequences.

    Raises
    ------
    InputError
        No whole numbers, a class below 0 or twice in a frame, other than five classes, fewer than 2 frames, no
        sequence, another `against`.

    References
    ----------
    Hendrycks and Dietterich (2019), "Benchmarking neural network robustness to common corruptions and perturbations";
    its formula counts the same places one by one, and ``ranking_dist`` of its code is this sum.

    Examples
    --------
    The second and third class change places, then 9 comes in before all others.

    >>> top5_distance([[[0, 1, 2, 3, 4], [0, 2, 1, 3, 4], [9, 0, 2, 1, 3]]]).value  # (2 + 5) / 2
    3.5
    """
    arrays.one_of(against, "against", AGAINST)
    classes = _classes(predictions)
    if classes.ndim < 3 or classes.shape[-1] != TOP or classes.shape[-2] < 2 or classes.shape[-3] < 1:
        raise InputError(
            f"predictions has shape {classes.shape}: give the five best classes of sequences of at least 2 frames, "
            "(..., S, m, 5)"
        )
    ordered = np.sort(classes, axis=-1)
    twice = np.argwhere((ordered[..., 1:] == ordered[..., :-1]).any(axis=-1))
    if twice.size:
        place = tuple(twice[0])
        raise InputError(f"predictions{bracketed(place)} is {classes[place].tolist()}: give five different classes")
    reference = classes[..., :-1, :] if against == "previous" else classes[..., :1, :]
    rank = np.arange(1, TOP + 1)
    same = reference[..., :, None] == classes[..., 1:, None, :]  # class of rank r, found at each later rank
    later = np.where(same, rank, 0).sum(axis=-1)
    distance = np.abs(rank - np.where(later, later, TOP + 1)).sum(axis=-1)
    return mean(np.mean(distance, axis=-1), confidence=confidence, seed=seed)


def _classes(predictions: Any) -> np.ndarray:
    """Predicted classes as int64, or an InputError that names the place of what is none."""
    classes = arrays.whole_numbers(predictions, "predictions", layout="class numbers as integers")
    if not classes.ndim or not classes.size:
        raise InputError(f"predictions has shape {classes.shape}: give a class for each frame, at least one")
    arrays.refuse_where(classes < 0, classes, "predictions", "predict every frame, classes are at least 0")
    return classes


@dataclass(frozen=True, eq=False)
class Relative:
    """Flip probabilities, or top-5 distances, beside those of a reference model.

    Attributes
    ----------
    value : float or array, or None
        The mean of `rates`, in units of the reference; below 1 is steadier than it.
    rates : dict of str to float or array, or None
        Of each perturbation the model's number over that of the reference.
    reason : str or None
        Why something is undefined.
    """

    value: Any
    rates: dict[str, Any]
    reason: str | None = None

    def __repr__(self) -> str:
        return f"Relative(value={self.value}, {len(self.rates)} perturbations, reason={self.reason!r})"

    def to_dict(self) -> dict[str, Any]:
        """The fields as valid JSON."""
        rates = {name: plain(rate) for name, rate in self.rates.items()}
        return {"value": plain(self.value), "rates": rates, "reason": self.reason}


def mean_flip_rate(flips: Mapping[str, Any], reference: Mapping[str, Any]) -> Relative:
    r"""ImageNet-P's mean flip rate over perturbations, mFR.

    .. math:: \mathrm{mFR} = \frac1P \sum_p \frac{\mathrm{FP}_p}{\mathrm{FP}_p^{\text{reference}}}

    The published reference is AlexNet. Perturbations differ much in how many flips they cause; the division lets each
    weigh alike. It is a mean of ratios, not the ratio of means.

    Parameters
    ----------
    flips : mapping of str to float, array or Average
        Flip probability of each perturbation; arrays for several models.
    reference : mapping of str to float or Average
        The same perturbations of the reference model.

    Returns
    -------
    Relative
        Without a value, but with the reason, where the reference never flips in a perturbation.

    Raises
    ------
    InputError
        No mappings, no perturbations, unlike names or numbers of models, a number outside [0, 1].

    Examples
    --------
    >>> mean_flip_rate({"tilt": 0.25, "noise": 0.75}, {"tilt": 0.5, "noise": 0.5}).value
    1.0
    """
    return _relative(flips, reference, "flips", "a flip probability", 1)


def mean_top5_distance(distances: Mapping[str, Any], reference: Mapping[str, Any]) -> Relative:
    r"""ImageNet-P's mean top-5 distance over perturbations, mT5D.

    .. math:: \mathrm{mT5D} = \frac1P \sum_p \frac{\mathrm{uT5D}_p}{\mathrm{uT5D}_p^{\text{reference}}}

    As `mean_flip_rate`, of distances. The published reference is AlexNet.

    Parameters
    ----------
    distances : mapping of str to float, array or Average
        `top5_distance` of each perturbation; arrays for several models.
    reference : mapping of str to float or Average
        The same perturbations of the reference model.

    Returns
    -------
    Relative
        Without a value, but with the reason, where the reference's five classes never move in a perturbation.

    Raises
    ------
    InputError
        As `mean_flip_rate`; a number outside [0, 15].

    Examples
    --------
    >>> mean_top5_distance({"tilt": 2.0, "noise": 6.0}, {"tilt": 4.0, "noise": 4.0}).value
    1.0
    """
    return _relative(distances, reference, "distances", "a top-5 distance", FARTHEST)


def _relative(given: Mapping[str, Any], reference: Mapping[str, Any], name: str, what: str, most: int) -> Relative:
    """Numbers from 0 to `most` of each perturbation over those of the reference."""
    for argument, values in ((name, given), ("reference", reference)):
        if not isinstance(values, Mapping):
            raise InputError(f"{argument} is a {type(values).__name__}: give a mapping of perturbation to {what[2:]}")
    unlike = sorted(set(given) ^ set(reference), key=str)
    if unlike or not given:
        raise InputError(f"{name} and reference differ in {unlike}: give the same perturbations of both, at least one")
    rates: dict[str, Any] = {}
    shape: tuple[int, ...] | None = None
    for key in given:
        bottom = _number(reference[key], f"reference[{brief(key)}]", what, most)
        if bottom.ndim:
            raise InputError(f"reference[{brief(key)}] has shape {bottom.shape}: the reference is one model")
        top = _number(given[key], f"{name}[{brief(key)}]", what, most)
        shape = top.shape if shape is None else shape
        if top.shape != shape:
            raise InputError(f"{name}[{brief(key)}] has shape {top.shape}, the first {shape}: give the same models")
        rates[key] = scalar(top / bottom) if bottom > 0 else None
    undefined = [key for key, rate in rates.items() if rate is None]
    if undefined:
        return Relative(None, rates, f"the reference has 0 under {', '.join(undefined)}, which divides nothing")
    return Relative(scalar(np.mean(list(rates.values()), axis=0)), rates)


def _number(value: Any, name: str, what: str, most: int) -> np.ndarray:
    """A number, or one for each model; what is undefined is NaN or None, and no number of 0..`most` either."""
    remedy = f"{what} lies in 0..{most}"
    number = arrays.floats(value.value if isinstance(value, Average) else value, name, remedy=remedy)
    arrays.refuse_where(~((number >= 0) & (number <= most)), number, name, remedy)
    return number


def flips_in_time(predictions: Any, timeline: Timeline, *, confidence: float = 0.95, seed: int = 0) -> Average:
    r"""Share of pairs of consecutive frames whose predictions differ, in clips of any length.

    .. math:: \frac{\#\{(t, t+1) : f(x_t) \ne f(x_{t+1})\}}{\#\{(t, t+1)\}}

    Only frames whose numbers differ by exactly 1 within one clip are compared: nothing is compared across a hole, or
    across two clips. All pairs weigh alike, so a long clip weighs more than a short one; `flip_probability` weighs
    sequences alike.

    Parameters
    ----------
    predictions : int array of shape (..., frames)
        Predicted classes in the order of the timeline. Leading axes are models.
    timeline : Timeline
        Where each frame lies; `Timeline.of` gives that of frame sets.
    confidence : float
        Level of the interval, 0.95 by default as everywhere here.
    seed : int
        Of the percentile bootstrap over clips (2,000 replicates), or over the units that several clips make up: frames
        of one clip are not independent of each other.

    Returns
    -------
    Average
        In [0, 1]; without a value where no two frames follow each other, without an interval for under ten clips where
        some do.

    Raises
    ------
    InputError
        Another number of frames than the timeline has, no whole numbers, a class below 0.

    References
    ----------
    The flip probability of Hendrycks and Dietterich (2019), "Benchmarking neural network robustness to common
    corruptions and perturbations", whose sequences have equal length, here pooled over pairs of frames.

    Examples
    --------
    >>> flips_in_time([0, 1, 1, 1], Timeline([7, 7, 7, 7], [1, 2, 3, 5])).value  # 3 and 5 are not compared
    0.5
    """
    classes = _classes(predictions)
    if classes.shape[-1] != len(timeline):
        raise InputError(f"predictions has shape {classes.shape}: the timeline has {len(timeline)} frames")
    earlier, later = timeline.consecutive()
    flips = np.zeros(classes.shape)
    flips[..., earlier] = classes[..., earlier] != classes[..., later]
    compared = np.zeros(len(timeline))
    compared[earlier] = 1.0
    unit, units = timeline.unit[timeline.clip], int(timeline.unit.max()) + 1
    return ratio(
        by_group(flips, unit, units),
        by_group(compared, unit, units),
        confidence=confidence,
        seed=seed,
        nothing="no two frames follow each other",
    )
