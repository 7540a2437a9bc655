"""Effective robustness: how far a model lies above the line that ordinary models draw."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import ndtri

from .. import arrays
from ..errors import InputError
from ..uncertainty import Interval, Rate, check_confidence
from .tables import rows_of

#: Anchors of the published sets: accuracies of the testbed are whole counts of these.
ANCHORS = {"imagenet-vid-robust": 1109, "ytbb-robust": 2030}
#: Parts of the names of rows that are no models of their own: checkpoints along a training, training on fewer images or
#: classes, classifiers on raw pixels.
NOT_ORDINARY = ("subsample", "epoch", "identity")
#: Percentages are printed with 14 digits or so: what is farther from a whole count was counted on another set.
WHOLE = 1e-6
#: Under so many anchors the mean of three-valued things is not yet normal.
FEW_ANCHORS = 10


@dataclass(frozen=True)
class Line:
    r"""The least-squares line of perturbed on original accuracy.

    Attributes
    ----------
    slope, intercept : float
        Accuracies are rates from 0 to 1: an intercept of -0.19 is one of -19 where accuracies are in percent.
    n : int
        Models it was fitted to.
    residual : float
        Standard deviation of the models about it, with n - 2 degrees of freedom.
    """

    slope: float
    intercept: float
    n: int
    residual: float

    def __call__(self, original: Any) -> Any:
        """Perturbed accuracy that the line gives to an original one."""
        return self.slope * original + self.intercept

    def __repr__(self) -> str:
        return f"Line({self.slope:.4f} x {self.intercept:+.4f}, {self.n} models, residual {self.residual:.4f})"

    def to_dict(self) -> dict[str, Any]:
        """The fields as valid JSON."""
        return asdict(self)


def fit_line(original: Any, perturbed: Any) -> Line:
    r"""Fit perturbed accuracy as a straight line in original accuracy, by least squares over models.

    Accuracies before and after a shift lie near a line for models of many kinds, so that the drop alone says how high a
    model's accuracy is rather than how robust it is. The line is straight in the accuracies themselves, as the source
    draws it; the testbed's own figures are straight in their logits, which matters near 0 and 1 only.

    Parameters
    ----------
    original, perturbed : array of shape (n,)
        Accuracies of n models, rates from 0 to 1.

    Returns
    -------
    Line

    Raises
    ------
    InputError
        Fewer than three models, unequal lengths, accuracies outside [0, 1], or the same original accuracy for all.

    References
    ----------
    Taori et al. (2020), "Measuring robustness to natural distribution shifts in image classification".

    Examples
    --------
    >>> fit_line([0.4, 0.6, 0.8], [0.2, 0.42, 0.64])
    Line(1.1000 x -0.2400, 3 models, residual 0.0000)
    """
    x, y = _rates(original, "original"), _rates(perturbed, "perturbed")
    if len(x) != len(y):
        raise InputError(f"original has {len(x)} models and perturbed {len(y)}: give both accuracies of each")
    if len(x) < 3:
        raise InputError(f"original has {len(x)} models: a line that can be missed needs at least 3")
    from_mean = x - x.mean()
    spread = float(np.sum(from_mean**2))
    if np.ptp(x) == 0.0 or spread == 0.0:  # squares of tiny differences vanish
        raise InputError(f"original is {x[0]} for all models: a line needs models of unlike accuracy")
    slope = float(np.sum(from_mean * (y - y.mean()))) / spread
    intercept = float(y.mean() - slope * x.mean())
    residual = math.sqrt(float(np.sum((y - slope * x - intercept) ** 2)) / (len(x) - 2))
    return Line(slope, intercept, len(x), residual)


def _rates(values: Any, name: str) -> np.ndarray:
    array = arrays.real_vector(values, name)
    outside = (array < 0.0) | (array > 1.0)
    arrays.refuse_where(outside, array, name, "accuracies are rates from 0 to 1, divide percent by 100")
    return array


@dataclass(frozen=True)
class EffectiveRobustness:
    """How far above the line of other models one model lies.

    Attributes
    ----------
    value : float
        Perturbed accuracy less what the line gives to the original one; above 0 is more robust than its accuracy alone
        would make it.
    interval : tuple of float, or None
        For other anchors of the same kind, the line taken as it is.
    reason : str or None
        Why there is no interval.
    """

    value: float
    interval: Interval | None
    reason: str | None = None

    def __repr__(self) -> str:
        ends = self.interval and tuple(round(end, 4) for end in self.interval)
        return f"EffectiveRobustness({self.value:+.4f}, interval={ends}, reason={self.reason!r})"

    def to_dict(self) -> dict[str, Any]:
        """The fields as valid JSON."""
        return asdict(self)


def effective_robustness(
    original: int, perturbed: int, n: int, line: Line, *, confidence: float = 0.95
) -> EffectiveRobustness:
    r"""Perturbed accuracy beyond what a line of other models gives to the original accuracy.

    .. math:: \rho = \frac{p}{n} - \Big( s \frac{o}{n} + c \Big)

    for o anchors right, p of them with their whole set, of n, and the line's slope s and intercept c.

    The interval is that of a mean of n independent anchors. Each contributes 1 - s, -s or 0, as its whole set is right,
    only the anchor itself, or neither, so their variance follows from the counts, and the ends are normal quantiles.
    Original and perturbed accuracy are of the same anchors: intervals of the two alone would say nothing about their
    distance. It holds for one anchor per video, and takes the line as known.

    Parameters
    ----------
    original, perturbed : int
        Anchors that are right, and those of them whose whole set is.
    n : int
        Anchors.
    line : Line
        Of `fit_line`, on models that this one is to be compared with.
    confidence : float
        Nominal level, 0.95 by default.

    Returns
    -------
    EffectiveRobustness
        Without an interval for under 10 anchors, or where all anchors fared alike: then nothing tells how they vary.

    Raises
    ------
    InputError
        Counts that are not 0 <= perturbed <= original <= n.

    Examples
    --------
    >>> effective_robustness(749, 582, 1109, Line(1.047, -0.192, 212, 0.02))
    EffectiveRobustness(+0.0097, interval=(-0.0118, 0.0311), reason=None)
    """
    check_confidence(confidence)
    for name, count in (("original", original), ("perturbed", perturbed), ("n", n)):
        arrays.whole_number(count, name, least=1 if name == "n" else 0)
    if not perturbed <= original <= n:
        raise InputError(
            f"perturbed is {perturbed}, original {original}, n {n}: "
            "with the anchor in its set, perturbed <= original <= n"
        )
    if not isinstance(line, Line):
        raise InputError(f"line is a {type(line).__name__}: give a Line, such as fit_line returns")
    value = perturbed / n - line(original / n)
    contributions = np.array([1.0 - line.slope, -line.slope, 0.0])
    shares = np.array([perturbed, original - perturbed, n - original]) / n
    variance = float(shares @ contributions**2 - (shares @ contributions) ** 2)
    if n < FEW_ANCHORS:
        return EffectiveRobustness(value, None, f"no interval from under {FEW_ANCHORS} anchors")
    if np.max(shares) == 1.0:
        return EffectiveRobustness(value, None, "all anchors fared alike: nothing tells how they vary")
    half = float(ndtri(0.5 + confidence / 2.0)) * math.sqrt(variance / (n - 1))
    return EffectiveRobustness(value, (value - half, value + half))


@dataclass(frozen=True)
class Point:
    """One model of a testbed with its intervals, as a scatter of models shows it.

    Attributes
    ----------
    model : str
        Its name.
    original, perturbed, drop : Rate
        Clopper-Pearson intervals of the three counts; the drop is a count too, of anchors that only their set gets
        wrong.
    effective : EffectiveRobustness or None
        None without a line.
    """

    model: str
    original: Rate
    perturbed: Rate
    drop: Rate
    effective: EffectiveRobustness | None


@dataclass(frozen=True, eq=False)
class Testbed:
    """Published accuracies of many models on one set of anchors, as counts.

    Attributes
    ----------
    name : str
        The set, such as "imagenet-vid-robust".
    n : int
        Its anchors.
    models : tuple of str
        Names of the models.
    original, perturbed : int64 array of shape (models,)
        Anchors that are right, and those whose whole set is.
    without : tuple of str
        Rows of the file that have no accuracy on this set.
    """

    __test__ = False  # the name is the field's, it is no test

    name: str
    n: int
    models: tuple[str, ...]
    original: np.ndarray
    perturbed: np.ndarray
    without: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Testbed({self.name}: {len(self.models)} models, {self.n} anchors, {len(self.without)} rows without)"

    def __len__(self) -> int:
        return len(self.models)

    def ordinary(self, leave_out: Sequence[str] = NOT_ORDINARY) -> Testbed:
        """The models whose names contain none of some texts.

        Raises
        ------
        InputError
            A text that no name contains, most likely misspelt; or no model left.
        """
        for text in leave_out:
            if not any(text in model for model in self.models):
                raise InputError(f"leave_out has {text!r}: no model's name contains it")
        keep = [i for i, model in enumerate(self.models) if not any(text in model for text in leave_out)]
        if not keep:
            raise InputError(f"leave_out is {tuple(leave_out)}: that leaves no model")
        names = tuple(self.models[i] for i in keep)
        return Testbed(self.name, self.n, names, self.original[keep], self.perturbed[keep], self.without)

    def line(self) -> Line:
        """The line of these models, see `fit_line`."""
        return fit_line(self.original / self.n, self.perturbed / self.n)

    def points(self, line: Line | None = None, *, confidence: float = 0.95) -> tuple[Point, ...]:
        """Every model with its intervals and, given a line, its effective robustness."""
        found = []
        for model, o, p in zip(self.models, self.original.tolist(), self.perturbed.tolist(), strict=True):
            rates = [Rate.of(count, self.n, confidence=confidence) for count in (o, p, o - p)]
            above = None if line is None else effective_robustness(o, p, self.n, line, confidence=confidence)
            found.append(Point(model, rates[0], rates[1], rates[2], above))
        return tuple(found)


def read_testbed(path: str | Path, name: str = "imagenet-vid-robust", *, n: int | None = None) -> Testbed:
    r"""Read published accuracies from the testbed's table, one row a model.

    The file has a column ``model`` and, for a set S, ``S_pm0`` and ``S_pm10``: accuracies in percent on the anchors and
    on whole sets within ten frames. They come back as counts, exactly:

    .. math:: \text{count} = \frac{\text{percent}}{100}\, n, \quad \text{refused unless it is whole to } 10^{-6}.

    Parameters
    ----------
    path : path
        The CSV file, such as ``robustness_top1s.csv`` of github.com/modestyachts/imagenet-testbed (MIT).
    name : str
        The set, the S of the columns; "imagenet-vid-robust" by default, the one whose frames have labels of their own.
    n : int, optional
        Its anchors; by default what is known of "imagenet-vid-robust" (1,109) and "ytbb-robust" (2,030).

    Returns
    -------
    Testbed
        Rows without accuracies on this set are named in `without`.

    Raises
    ------
    InputError
        No such columns, an unknown n, a model twice, no model at all; an accuracy that is no number, no whole count of
        n, outside 0..100 or higher on whole sets than on anchors: named by its line and column.
    OSError
        The file cannot be opened.

    References
    ----------
    Taori et al. (2020), "Measuring robustness to natural distribution shifts in image classification": the testbed.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "top1.csv")
    ...     _ = path.write_text("model,clips_pm0,clips_pm10\nsmall,75.0,50.0\nlarge,100.0,75.0\nother,,\n")
    ...     found = read_testbed(path, "clips", n=4)
    >>> found
    Testbed(clips: 2 models, 4 anchors, 1 rows without)
    >>> found.models, found.original, found.perturbed
    (('small', 'large'), array([3, 4]), array([2, 3]))
    """
    if n is None and name not in ANCHORS:
        raise InputError(f"name is {name!r}: give n, its number of anchors; known are {', '.join(ANCHORS)}")
    anchors = ANCHORS[name] if n is None else arrays.whole_number(n, "n", least=1)
    columns = [f"{name}_pm0", f"{name}_pm10"]
    models: dict[str, tuple[int, int]] = {}
    without: list[str] = []
    for line, row in rows_of(path, needed=("model", *columns)):
        model, where = row["model"], f"{path}, line {line}"
        if not model or model in models or model in without:
            raise InputError(f"{where}: model {model!r} is empty or stands there twice: give each row its own name")
        if not all(row[column] for column in columns):
            without.append(model)
            continue
        original, perturbed = (_count(row[column], anchors, f"{where}, {column}") for column in columns)
        if perturbed > original:
            raise InputError(f"{where}: {columns[1]} is above {columns[0]}, a set holds its anchor: swapped?")
        models[model] = (original, perturbed)
    if not models:
        raise InputError(f"{path}: no row has both {columns[0]} and {columns[1]}")
    counts = np.array(list(models.values()), dtype=np.int64)
    return Testbed(name, anchors, tuple(models), counts[:, 0], counts[:, 1], tuple(without))


def _count(text: str, n: int, where: str) -> int:
    """A percentage as a count of n."""
    try:
        count = float(text) * n / 100.0
    except ValueError as error:
        raise InputError(f"{where}: {text!r} is no number") from error
    if not math.isfinite(count) or abs(count - round(count)) > WHOLE or not 0 <= round(count) <= n:
        raise InputError(f"{where}: {text} % is no whole count of {n} anchors: give the n of this set")
    return round(count)
