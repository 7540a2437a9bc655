"""Checks that the estimators share: each refusal names the argument, the place, and the remedy."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from .. import arrays
from ..errors import InputError
from ..uncertainty import check_confidence

CONTROLS = ("dagger", "star", "predictable")
VARIANCES = ("plugin", "unbiased")


class Proxy(NamedTuple):
    """What a cheap predictor says of the loss."""

    centred: np.ndarray  # c of the labelled points: proxy loss less the pool's mean, shape (m,)
    mean: float  # over the whole pool
    mean_square: float | None  # the pool's mean of c squared, where the whole pool is known


def check_draws(q: Any, pool_size: Any) -> tuple[np.ndarray, int]:
    """The probabilities of a run, and the size of the pool it was drawn from."""
    pool_size = arrays.whole_number(pool_size, "pool_size", least=1)
    q = arrays.real_vector(q, "q")
    remedy = "give the probability, in (0, 1], with which this point was drawn among the points that were left"
    arrays.refuse_where((q <= 0) | (q > 1), q, "q", remedy)
    if len(q) > pool_size:
        raise InputError(f"q has {len(q)} labels and pool_size is {pool_size}: without replacement there are no more")
    if len(q) == pool_size and abs(q[-1] - 1.0) > 1e-6:
        raise InputError(f"q[{len(q) - 1}] is {q[-1]}: the last point of a pool is drawn with probability 1")
    return q, pool_size


def check_series(values: Any, name: str, *, count: int) -> np.ndarray:
    """One finite number for each of the labelled points."""
    vector = arrays.real_vector(values, name)
    if len(vector) != count:
        raise InputError(f"{name} has {len(vector)} values and q has {count}: give one for each labelled point")
    return vector


def check_index(values: Any, *, count: int, pool_size: int) -> np.ndarray:
    """Which points of the pool were labelled: whole numbers from 0 to N - 1, none twice."""
    index = arrays.check_labels(values, n=count, k=pool_size, name="index")
    order = np.argsort(index, kind="stable")
    twice = np.flatnonzero(np.diff(index[order]) == 0)
    if twice.size:
        first, second = sorted(int(i) for i in order[twice[0] : twice[0] + 2])
        raise InputError(
            f"index[{second}] is {index[second]}, as index[{first}] is: without replacement no point is labelled twice"
        )
    return index


def check_proxy(proxy_loss: Any, proxy_mean: Any, pool_proxy_loss: Any, *, count: int, pool_size: int) -> Proxy | None:
    """The proxy loss of the labelled points, centred over the pool; None where none is given."""
    if proxy_loss is None:
        for name, value in (("proxy_mean", proxy_mean), ("pool_proxy_loss", pool_proxy_loss)):
            if value is not None:
                raise InputError(f"proxy_loss is missing, but {name} is given: give both, or none for plain LURE")
        return None
    labelled = check_series(proxy_loss, "proxy_loss", count=count)
    if proxy_mean is None and pool_proxy_loss is None:
        raise InputError(
            "proxy_mean is missing: proxy_loss needs its mean over the whole pool, or the whole pool as pool_proxy_loss"
        )
    mean_square = None
    if pool_proxy_loss is not None:
        pool = check_pool(pool_proxy_loss, "pool_proxy_loss", pool_size=pool_size)
        mean = float(pool.mean())
        mean_square = float(np.mean((pool - mean) ** 2))
        _refuse_other_mean(proxy_mean, mean, "pool_proxy_loss")
    else:
        mean = check_number(proxy_mean, "proxy_mean")
    if count == pool_size:
        _refuse_other_mean(mean, float(labelled.mean()), "proxy_loss, the whole pool,")
    return Proxy(labelled - mean, mean, mean_square)


def check_pool(values: Any, name: str, *, pool_size: int) -> np.ndarray:
    """One finite number for each point of the pool."""
    pool = arrays.real_vector(values, name)
    if len(pool) != pool_size:
        raise InputError(f"{name} has {len(pool)} values and pool_size is {pool_size}: give one for each point")
    return pool


def _refuse_other_mean(given: Any, mean: float, source: str) -> None:
    if given is not None and not math.isclose(check_number(given, "proxy_mean"), mean, rel_tol=1e-6, abs_tol=1e-9):
        raise InputError(f"proxy_mean is {given!r}, but {source} has mean {mean!r}: they must agree")


def check_number(value: Any, name: str) -> float:
    """A finite number."""
    if not arrays.is_number(value):
        raise InputError(f"{name} is {value!r}: give a finite number")
    return float(value)


def check_control(control: Any, proxy: Proxy | None) -> float | str:
    """How strongly the proxy is trusted: a number, or the name of a rule that the proxy allows."""
    if not isinstance(control, str):
        try:
            return check_number(control, "control")
        except InputError as error:
            raise InputError(f"{error}, or one of {', '.join(CONTROLS)}") from error
    if control not in CONTROLS:
        raise InputError(f"control is {control!r}: give a number, or one of {', '.join(CONTROLS)}")
    if proxy is None:
        raise InputError(f"control is {control!r}, but there is no proxy_loss to control with: give it with its mean")
    if control != "star":
        if proxy.mean_square is None:
            raise InputError(
                f"control is {control!r}, which divides by the pool's mean squared centred proxy: give pool_proxy_loss"
            )
        if proxy.mean_square <= 1e-24 * proxy.mean**2:
            raise InputError(
                f"pool_proxy_loss is {proxy.mean!r} for every point, so control={control!r} divides by zero: "
                "such a proxy says nothing, leave it out"
            )
    return control


def check_interval(confidence: Any, variance: Any) -> None:
    """The level of an interval, and how its width is found."""
    check_confidence(confidence)
    arrays.one_of(variance, "variance", VARIANCES)


def check_intercept(intercept: Any, proxy: Proxy | None) -> None:
    """A flag, which needs a proxy to act on."""
    if arrays.truth(intercept, "intercept") and proxy is None:
        raise InputError("intercept is True, but there is no proxy_loss to subtract: give it with its mean")
