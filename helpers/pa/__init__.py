"""Posterior agreement: how stable is a model's belief under covariate shift, labels aside?"""

from ..lazy import attributes
from .comparison import Row, Subsample, subsample, table
from .interval import flip_rate_capacity
from .pairing import Pairs, ceiling, pair
from .record import Logits
from .score import Agreement, agreement, curve, failure_rate, kernel

__all__ = [
    "Agreement",
    "Logits",
    "Pairs",
    "Row",
    "Subsample",
    "agreement",
    "ceiling",
    "curve",
    "failure_rate",
    "flip_rate_capacity",
    "kernel",
    "pair",
    "subsample",
    "table",
]

__getattr__ = attributes(
    __name__,
    {
        "attacks": "helpers.attacks torch",
        "example": ".example torch",
        "explore": ".explore jupyter",
        "loss": ".regulariser:loss torch",
        "measure": ".measure torch",
        "show": ".show jupyter",
    },
)
