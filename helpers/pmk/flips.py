"""Flips: how often a prediction changes along a sequence, whatever the truth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import arrays
from ..errors import InputError, brief
from .resampling import Average, by_group, mean, plain, ratio, scalar
from .timeline import Timeline

AGAINST = ("previous", "first")


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
        Of the percentile bootstrap over sequences (1,000 replicates).

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
    if against not in AGAINST:
        raise InputError(f"against is {against!r}: choose one of {', '.join(AGAINST)}")
    classes = check_classes(predictions, "predictions")
    if classes.ndim < 2 or classes.shape[-1] < 2 or classes.shape[-2] < 1:
        raise InputError(f"predictions has shape {classes.shape}: give sequences of at least 2 frames, (..., S, m)")
    reference = classes[..., :-1] if against == "previous" else classes[..., :1]
    return mean(np.mean(classes[..., 1:] != reference, axis=-1), confidence=confidence, seed=seed)


def check_classes(values: Any, name: str) -> np.ndarray:
    """Predicted classes as NumPy, or an InputError that names the place of what is none."""
    array = arrays.to_numpy(arrays.detached(arrays.as_array(values, name)))
    if array.dtype.kind not in "iu" or not array.ndim or not array.size:
        raise InputError(f"{name} has shape {array.shape} and type {array.dtype}: give class numbers as integers")
    if array.min() < 0:
        place = tuple(np.argwhere(array < 0)[0].tolist())
        raise InputError(f"{name}{list(place)} is {array[place]}: predict every frame, classes are at least 0")
    return array


@dataclass(frozen=True, eq=False)
class FlipRate:
    """Flip probabilities beside those of a reference model.

    Attributes
    ----------
    value : float or array, or None
        ImageNet-P's mean flip rate: the mean of `rates`, in units of the reference; below 1 is steadier than it.
    rates : dict of str to float or array, or None
        Flip rate of each perturbation: flip probability over that of the reference.
    reason : str or None
        Why something is undefined.
    """

    value: Any
    rates: dict[str, Any]
    reason: str | None = None

    def __repr__(self) -> str:
        return f"FlipRate(value={self.value}, {len(self.rates)} perturbations, reason={self.reason!r})"

    def to_dict(self) -> dict[str, Any]:
        """The fields as valid JSON."""
        rates = {name: plain(rate) for name, rate in self.rates.items()}
        return {"value": plain(self.value), "rates": rates, "reason": self.reason}


def mean_flip_rate(flips: Mapping[str, Any], reference: Mapping[str, float]) -> FlipRate:
    r"""ImageNet-P's mean flip rate over perturbations.

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
    FlipRate
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
    for name, given in (("flips", flips), ("reference", reference)):
        if not isinstance(given, Mapping):
            raise InputError(f"{name} is a {type(given).__name__}: give a mapping of perturbation to flip probability")
    unlike = sorted(set(flips) ^ set(reference), key=str)
    if unlike or not flips:
        raise InputError(f"flips and reference differ in {unlike}: give the same perturbations of both, at least one")
    rates: dict[str, Any] = {}
    shape: tuple[int, ...] | None = None
    for name in flips:
        bottom = _probability(reference[name], f"reference[{brief(name)}]")
        if bottom.ndim:
            raise InputError(f"reference[{brief(name)}] has shape {bottom.shape}: the reference is one model")
        top = _probability(flips[name], f"flips[{brief(name)}]")
        shape = top.shape if shape is None else shape
        if top.shape != shape:
            raise InputError(f"flips[{brief(name)}] has shape {top.shape}, the first {shape}: give the same models")
        rates[name] = scalar(top / bottom) if bottom > 0 else None
    undefined = [name for name, rate in rates.items() if rate is None]
    if undefined:
        return FlipRate(None, rates, f"the reference never flips under {', '.join(undefined)}")
    return FlipRate(scalar(np.mean(list(rates.values()), axis=0)), rates)


def _probability(value: Any, name: str) -> np.ndarray:
    number = arrays.to_numpy(arrays.as_array(value.value if isinstance(value, Average) else value, name))
    if number.dtype.kind not in "fiu" or not np.all((number >= 0) & (number <= 1)):
        raise InputError(f"{name} is {number}: a flip probability lies in 0..1")
    return number.astype(np.float64)


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
    confidence, seed
        Of the percentile bootstrap over clips (1,000 replicates), or over the units that several clips make up.

    Returns
    -------
    Average
        Without a value where no two frames follow each other; without an interval for under ten clips where some do.

    Raises
    ------
    InputError
        Another number of frames, no whole numbers, a class below 0.

    Examples
    --------
    >>> flips_in_time([0, 1, 1, 1], Timeline([7, 7, 7, 7], [1, 2, 3, 5])).value  # 3 and 5 are not compared
    0.5
    """
    classes = check_classes(predictions, "predictions")
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
