"""What did a model keep, lose and transfer over a sequence of tasks?"""

from ..lazy import attributes
from .anytime import aaa, min_acc, wc_acc, windowed
from .components import Component, Variance, variance
from .contamination import Contamination, Effect, find_contamination
from .curves import average_curve, lca
from .difference import Difference, Stage, diff
from .families import Delta, Families, deltas
from .grader import (
    GraderVariance,
    LengthBias,
    RaterAgreement,
    cohen_kappa,
    fleiss_kappa,
    grader_variance,
    krippendorff_alpha,
    length_bias,
)
from .metrics import METRICS, REGISTRY_VERSION, Metric
from .orders import OrderSensitivity, Path, Paths, order_sensitivity, paths
from .pairing import Paired, WorstOrder, paired, worst_order
from .ranking import Comparison, Ranking, compare, rank
from .readers import READERS, read
from .reconciliation import Reconciliation, reconcile
from .record import AccuracyMatrix, Run
from .report import Finding, ReportCheck, check_report
from .safety import Gate, SafetySet, SafetyVerdict, gate, upper_bound
from .score import Table, Value, metric, metrics_of, per_task, steps, table
from .searches import Hit
from .stream import online_accuracy, prequential, prequential_curve
from .summaries import Mean, Summary, summary
from .testtime import Adaptation, adaptation
from .texts import normalise
from .timestamps import Timestamps, check_timestamps
from .two_phase import Attempt, TwoPhase, two_phase_search

__all__ = [
    "METRICS",
    "READERS",
    "REGISTRY_VERSION",
    "AccuracyMatrix",
    "Adaptation",
    "Attempt",
    "Comparison",
    "Component",
    "Contamination",
    "Delta",
    "Difference",
    "Effect",
    "Families",
    "Finding",
    "Gate",
    "GraderVariance",
    "Hit",
    "LengthBias",
    "Mean",
    "Metric",
    "OrderSensitivity",
    "Paired",
    "Path",
    "Paths",
    "Ranking",
    "RaterAgreement",
    "Reconciliation",
    "ReportCheck",
    "Run",
    "SafetySet",
    "SafetyVerdict",
    "Stage",
    "Summary",
    "Table",
    "Timestamps",
    "TwoPhase",
    "Value",
    "Variance",
    "WorstOrder",
    "aaa",
    "adaptation",
    "average_curve",
    "check_report",
    "check_timestamps",
    "cohen_kappa",
    "compare",
    "deltas",
    "diff",
    "find_contamination",
    "fleiss_kappa",
    "gate",
    "grader_variance",
    "krippendorff_alpha",
    "lca",
    "length_bias",
    "metric",
    "metrics_of",
    "min_acc",
    "normalise",
    "online_accuracy",
    "order_sensitivity",
    "paired",
    "paths",
    "per_task",
    "prequential",
    "prequential_curve",
    "rank",
    "read",
    "reconcile",
    "steps",
    "summary",
    "table",
    "two_phase_search",
    "upper_bound",
    "variance",
    "wc_acc",
    "windowed",
    "worst_order",
]

__getattr__ = attributes(
    __name__,
    {
        "explore": ".explore jupyter",
        "show": ".show jupyter",
    },
)
