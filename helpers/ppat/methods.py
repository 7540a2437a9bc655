"""What a simulation runs: methods by name, on a pool of which everything is known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import arrays
from ..errors import InputError
from . import inputs, proposal
from .control import Terms, controlled

PROPOSALS = ("uniform", "expected_loss", "second_moment", "oracle")
ESTIMATORS = ("weighted", "plain_mean", "proxy", "ase", "asi")


@dataclass(frozen=True, eq=False, repr=False)
class Pool:
    """Everything that is known of a pool in a simulation.

    Attributes
    ----------
    loss : numpy.ndarray of shape (N,)
        The loss of every point; its mean is what is estimated.
    proxy_loss : numpy.ndarray of shape (N,), optional
        The loss against a cheap predictor's labels.
    moments : proposal.Moments, optional
        A surrogate's mean and deviation of each loss, for proposals that are not uniform.

    Raises
    ------
    InputError
        Unequal lengths, values that are not finite.

    Examples
    --------
    >>> Pool([1.0, 0.2, 2.5], proxy_loss=[0.8, 0.3, 2.0])
    Pool(3 points, risk 1.23333, with proxy)
    """

    loss: np.ndarray
    proxy_loss: np.ndarray | None = None
    moments: proposal.Moments | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "loss", arrays.real_vector(self.loss, "loss"))
        if self.proxy_loss is not None:
            checked = inputs.check_pool(self.proxy_loss, "proxy_loss", pool_size=len(self))
            object.__setattr__(self, "proxy_loss", checked)
        if self.moments is not None and len(self.moments) != len(self):
            raise InputError(f"moments are of {len(self.moments)} points and loss of {len(self)}: give one per point")

    def __len__(self) -> int:
        return len(self.loss)

    def __repr__(self) -> str:
        known = [name for name, value in [("proxy", self.proxy_loss), ("moments", self.moments)] if value is not None]
        return f"Pool({len(self)} points, risk {self.risk:.6g}" + (f", with {' and '.join(known)})" if known else ")")

    @property
    def risk(self) -> float:
        """The mean loss."""
        return float(self.loss.mean())

    def variate(self, intercept: bool) -> np.ndarray:
        """What a control multiplies at each point: the proxy loss, centred unless an intercept makes up for its mean.

        Raises
        ------
        InputError
            The pool has no proxy loss.
        """
        if self.proxy_loss is None:
            raise InputError("the pool has no proxy_loss for a control to multiply: give it in the pool")
        return self.proxy_loss if intercept else self.proxy_loss - self.proxy_loss.mean()

    def terms(
        self,
        indices: np.ndarray,
        q: np.ndarray,
        control: float | str | None,
        *,
        refresh: int = 100,
        initial_control: float = 1.0,
        intercept: bool = False,
    ) -> Terms:
        """The terms of runs that drew the points `indices`, shape (..., m); without a control, those of the loss alone.

        Raises
        ------
        InputError
            A control, but no proxy loss.
        """
        loss = self.loss[indices]
        if control is None:
            return controlled(loss, q, len(self))
        centred = self.variate(intercept=False)
        return controlled(
            loss,
            q,
            len(self),
            centred=centred[indices],
            proxy_mean=float(np.mean(self.proxy_loss)),  # type: ignore[arg-type]
            mean_square=float(np.mean(centred**2)),
            control=control,
            refresh=refresh,
            initial_control=initial_control,
            intercept=intercept,
        )


@dataclass(frozen=True)
class Method:
    """How points are drawn, and what is made of their losses.

    Attributes
    ----------
    proposal : {"uniform", "expected_loss", "second_moment", "oracle"}
        What scores are: see `proposal`. "second_moment" is PPAT's.
    control : float, {"dagger", "star", "predictable"} or None
        Strength of the proxy in the estimate, as for `estimate`. None, the default, leaves the proxy out.
    proposal_control : float, optional
        Strength of the proxy in the scores. By default that of the estimate; where that is a rule, scores follow the
        labels as in `sample_refreshed`.
    intercept : bool
        As for `estimate`, in estimate and scores.
    variance : {"plugin", "unbiased"}
        As for `estimate`.
    epsilon : float
        Share of uniform draws, 0.1 by default.
    refresh, initial_control : int, float
        Of controls that follow the labels.
    estimator : {"weighted", "plain_mean", "proxy", "ase", "asi"}
        "weighted" is LURE or PPAT. "plain_mean" leaves the weights out, and is biased; "proxy" and "ase" need no
        labels; "asi" flips a coin for each point, with as many labels as the budget in expectation.

    Raises
    ------
    InputError
        An unknown name, or a number that is none.
    """

    proposal: str = "second_moment"
    control: float | str | None = None
    proposal_control: float | None = None
    intercept: bool = False
    variance: str = "plugin"
    epsilon: float = 0.1
    refresh: int = 100
    initial_control: float = 1.0
    estimator: str = "weighted"

    def __post_init__(self) -> None:
        for name, known in [("proposal", PROPOSALS), ("estimator", ESTIMATORS), ("variance", inputs.VARIANCES)]:
            arrays.one_of(getattr(self, name), name, known)
        if isinstance(self.control, str) and self.control not in inputs.CONTROLS:
            raise InputError(f"control is {self.control!r}: give a number, or one of {', '.join(inputs.CONTROLS)}")
        for name in ("control", "proposal_control", "initial_control", "epsilon"):
            if getattr(self, name) is not None and not isinstance(getattr(self, name), str):
                inputs.check_number(getattr(self, name), name)
        arrays.whole_number(self.refresh, "refresh", least=1)
        arrays.truth(self.intercept, "intercept")
        if self.proposal == "oracle" and isinstance(self.control, str) and self.proposal_control is None:
            raise InputError(f"control is {self.control!r}: for an oracle's scores give proposal_control, a number")

    @property
    def follows_labels(self) -> bool:
        """Whether scores change as labels arrive."""
        return self.proposal == "second_moment" and isinstance(self.control, str) and self.proposal_control is None

    @property
    def strength(self) -> float:
        """The control in the scores, for scores that stay."""
        if self.proposal_control is not None:
            return self.proposal_control
        if isinstance(self.control, str):
            return self.initial_control
        return self.control or 0.0


#: Methods by name. PPAT and its rivals; last, what becomes of PPAT without its proposal, its control or its weights.
METHODS: Mapping[str, Method] = {
    "random": Method("uniform"),
    "random + proxy": Method("uniform", 1.0),
    "lure": Method("expected_loss"),
    "ppat 0.5": Method("second_moment", 0.5),
    "ppat 1": Method("second_moment", 1.0),
    "ppat dagger": Method("second_moment", "dagger"),
    "ppat star": Method("second_moment", "star"),
    "ppat predictable": Method("second_moment", "predictable"),
    "ppat 0.5 + intercept": Method("second_moment", 0.5, intercept=True),
    "ppat 1 + intercept": Method("second_moment", 1.0, intercept=True),
    "proxy": Method("uniform", estimator="proxy"),
    "ase": Method("uniform", estimator="ase"),
    "asi": Method("uniform", estimator="asi"),
    "lure proposal + proxy": Method("expected_loss", 1.0),
    "ppat proposal, no control": Method("second_moment", proposal_control=1.0),
    "ppat proposal, plain mean": Method("second_moment", proposal_control=1.0, estimator="plain_mean"),
}


def chosen_methods(methods: Any) -> dict[str, Method]:
    """Methods by name: a mapping of one's own, or names of `METHODS`."""
    if isinstance(methods, Mapping):
        for name, method in methods.items():
            if not isinstance(method, Method):
                raise InputError(f"methods[{name!r}] is {method!r}: give a Method, or list names of METHODS")
        chosen = dict(methods)
    else:
        names = [methods] if isinstance(methods, str) else list(methods)
        for name in names:
            if name not in METHODS:
                raise InputError(f"methods has {name!r}: choose among {', '.join(METHODS)}, or give a Method")
        chosen = {name: METHODS[name] for name in names}
    if not chosen:
        raise InputError("methods is empty: give at least one")
    return chosen


def check_method(name: str, method: Method, pool: Pool) -> None:
    """Refuse a method that needs what the pool lacks."""
    labels = method.estimator in ("weighted", "plain_mean")
    by_surrogate = labels and method.proposal in ("expected_loss", "second_moment")
    by_proxy = labels and (method.control is not None or (by_surrogate and method.strength != 0.0))
    if pool.moments is None and (by_surrogate or method.estimator in ("ase", "asi")):
        raise InputError(f"methods has {name!r}, which needs the moments of the losses: give them in the pool")
    if pool.proxy_loss is None and (by_proxy or method.estimator in ("proxy", "asi")):
        raise InputError(f"methods has {name!r}, which needs a proxy loss: give it in the pool")
    if isinstance(method.control, str) and method.estimator == "weighted":
        assert pool.proxy_loss is not None
        if np.ptp(pool.proxy_loss) == 0.0:
            raise InputError(f"methods has {name!r}, but proxy_loss is the same for all points: it says nothing")
