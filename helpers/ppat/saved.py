"""Labels saved: how many uniformly drawn labels would have given the same width."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from .. import arrays
from ..errors import InputError
from ..results import Metric
from . import inputs
from .control import controlled


def pool_variance(loss: Any, q: Any, *, pool_size: int) -> Metric:
    r"""The pool's variance of the loss (divisor N - 1), unbiased, from labels chosen in whatever way.

    .. math:: \hat s^2 = \frac{N}{N-1} \Big( \hat R_{\ell^2} - \hat R_\ell^2 + \widehat{\mathrm{Var}}(\hat R_\ell) \Big)

    with the LURE estimates of the mean square and the mean, and the unbiased variance of the latter.

    Parameters
    ----------
    loss, q, pool_size
        As for `estimate`.

    Returns
    -------
    Metric
        Without a value where the unbiased variance is undefined, or the estimate is negative.

    Raises
    ------
    InputError
        As `estimate` does.

    Examples
    --------
    Of uniform labels it is nearly the sample variance, here 1.5025.

    >>> uniform = [1 / 100, 1 / 99, 1 / 98, 1 / 97]
    >>> round(pool_variance([3, 2.5, 1, 0.4], uniform, pool_size=100).value, 4)
    1.5032
    """
    unit = "loss squared"
    q, pool_size = inputs.check_draws(q, pool_size)
    loss = inputs.check_series(loss, "loss", count=len(q))
    if pool_size == 1:
        return Metric(None, unit, reason="a pool of one point has no variance")
    run = controlled(loss, q, pool_size)
    spread, mean = float(run.variance_at(len(q), "unbiased")), float(run.estimate_at(len(q)))
    if np.isnan(spread):
        return Metric(None, unit, reason=f"{len(q)} of {pool_size} labels do not have an unbiased variance")
    square = float(controlled(loss**2, q, pool_size).estimate_at(len(q)))
    value = pool_size / (pool_size - 1) * (square - mean**2 + spread)
    if value < 0:
        return Metric(None, unit, reason="so few labels give a negative estimate")
    return Metric(value, unit, reason="one run does not bound it")


@dataclass(frozen=True)
class LabelsSaved:
    """What choosing labels was worth.

    Attributes
    ----------
    equivalent : float or None
        How many uniformly drawn labels give intervals of the same width; None with `reason` where undefined.
    saved : float or None
        `equivalent` less the labels that were used; negative where uniform draws would have done better.
    error : float or None
        Monte-Carlo standard error of both; None with `reason` for one run.
    trials : int
        Runs averaged over.
    reason : str or None
        Why something is missing.
    """

    equivalent: float | None
    saved: float | None
    error: float | None
    trials: int
    reason: str | None = None

    def __repr__(self) -> str:
        if self.equivalent is None or self.saved is None:
            return f"LabelsSaved(undefined: {self.reason})"
        error = "" if self.error is None else f" +- {self.error:.1f}"
        return (
            f"LabelsSaved({self.saved:.1f}{error}: as good as {self.equivalent:.1f} uniform ones, {self.trials} runs)"
        )

    def to_dict(self) -> dict[str, Any]:
        """The fields as valid JSON."""
        return asdict(self)


def labels_saved(std_error: Any, variance: Any, *, labels: int, pool_size: int) -> LabelsSaved:
    r"""How many uniformly drawn labels give the same width.

    n uniform labels have variance :math:`(1/n - 1/N)\, s^2`, so with the mean square standard error :math:`v` of the
    chosen ones

    .. math:: n = \frac{s^2}{v + s^2 / N}.

    Widths are compared by their root mean square over trials: it does not depend on how widths scatter, which on a
    heavy-tailed pool would flatter uniform draws, most of which see no outlier.

    Parameters
    ----------
    std_error : number or array of shape (trials,)
        Standard errors of the estimates, of one run or several.
    variance : number or array of shape (trials,)
        Variance of the loss over the pool, divisor N - 1: known, or estimated by `pool_variance` in each run. To
        compare with uniform draws *and* the proxy, give the variance of loss less controlled proxy loss.
    labels, pool_size : int
        m and N.

    Returns
    -------
    LabelsSaved
        Its Monte-Carlo error comes from the scatter over trials, by the delta method.

    Raises
    ------
    InputError
        Negative or not finite values, unequal lengths, m > N.

    Examples
    --------
    >>> labels_saved([0.01, 0.012], 0.5, labels=500, pool_size=50_000)
    LabelsSaved(3287.9 +- 631.3: as good as 3787.9 uniform ones, 2 runs)
    """
    pool_size = arrays.whole_number(pool_size, "pool_size", least=1)
    if arrays.whole_number(labels, "labels", least=1) > pool_size:
        raise InputError(f"labels is {labels} and pool_size is {pool_size}: without replacement there are no more")
    numbers = {"std_error": std_error, "variance": variance}
    errors, spreads = (
        arrays.not_negative(np.atleast_1d(arrays.to_numpy(arrays.as_array(value, name))), name)
        for name, value in numbers.items()
    )
    squares = errors**2
    trials = max(len(squares), len(spreads))
    if 1 < len(squares) != len(spreads) > 1:
        raise InputError(
            f"std_error has {len(squares)} values and variance {len(spreads)}: give one each for every trial"
        )
    v, s2 = float(squares.mean()), float(spreads.mean())
    if s2 == 0:
        return LabelsSaved(None, None, None, trials, "all losses are equal: one label is as good as all")
    n = s2 / (v + s2 / pool_size)
    if trials == 1:
        return LabelsSaved(n, n - labels, None, trials, "one run has no Monte-Carlo error")
    moves = (v * n**2 / s2**2) * spreads - (n**2 / s2) * squares
    return LabelsSaved(n, n - labels, float(moves.std(ddof=1) / np.sqrt(trials)), trials)
