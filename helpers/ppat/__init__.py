"""Prediction-powered active testing: what is the risk of this model, with few labels and a cheap predictor?"""

from ..lazy import attributes
from . import proposal
from .comparison import Best, best, difference, risks
from .diagnostics import Diagnostics
from .losses import class_losses, label_losses
from .methods import METHODS, Method, Pool
from .optional_stopping import Stopping, stopping
from .outcome import Estimate, Estimates
from .record import Labels, read
from .retraining import retrained
from .rivals import ase, asi, biased_mean, pure_proxy, random_sampling
from .sampler import sample, sample_refreshed
from .saved import LabelsSaved, labels_saved, pool_variance
from .score import estimate, estimates
from .sequence import ConfidenceSequence, confidence_sequence
from .simulation import Simulation, simulate
from .weighting import weights

__all__ = [
    "METHODS",
    "Best",
    "ConfidenceSequence",
    "Diagnostics",
    "Estimate",
    "Estimates",
    "Labels",
    "LabelsSaved",
    "Method",
    "Pool",
    "Simulation",
    "Stopping",
    "ase",
    "asi",
    "best",
    "biased_mean",
    "class_losses",
    "confidence_sequence",
    "difference",
    "estimate",
    "estimates",
    "label_losses",
    "labels_saved",
    "pool_variance",
    "proposal",
    "pure_proxy",
    "random_sampling",
    "read",
    "retrained",
    "risks",
    "sample",
    "sample_refreshed",
    "simulate",
    "stopping",
    "weights",
]

__getattr__ = attributes(__name__, {"explore": ".explore jupyter", "show": ".show jupyter"})
