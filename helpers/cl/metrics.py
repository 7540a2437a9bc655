"""The registry: one id for each formula, because one name stands for many.

Formulas of accuracy matrices and of continual evaluation were compared with released code. No code that computes them
was found for ``intransigence.rwalk``, ``lca.agem`` (the notebook released with the paper has ``lca.trapz``), ``opd``,
``mopd``, ``aopd`` and the ids of TRACE: they follow descriptions of the papers, whose own text was not at hand.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import InputError
from . import formulas
from .formulas import Sum

GEM = "Lopez-Paz and Ranzato 2017, GEM"
GEM_SCRIPT = "the released script of GEM, which divides by T"
RWALK = "Chaudhry et al. 2018, RWalk"
AGEM = "Chaudhry et al. 2019, A-GEM"
CLEAR = "Lin et al. 2021, CLEAR"
DR = "Díaz-Rodríguez et al. 2018"
TRACE = "Wang et al. 2023, TRACE"
DE_LANGE = "De Lange et al. 2023, continual evaluation"
APD = "Yoon et al. 2020, APD"
BELL = "Bell and Lawrence 2022"


@dataclass(frozen=True)
class Metric:
    """One formula under its id.

    Attributes
    ----------
    id : str
        Name and variant; two numbers are compared only under one id.
    formula : str
        In words and symbols.
    source : str
        Where it is from.
    direction : {"higher", "lower", "matrix", "none"}
        Which values are better; "matrix" where the value is a score itself and follows the matrix, "none" where the
        value describes and does not judge.
    needs : str
        What must have been observed.
    kind : {"level", "change", "share"}
        A score, a difference of scores (whose sign a lower-is-better matrix turns), or a fraction of 1.
    least : int
        Tasks below which it is undefined.
    observed_only : bool
        Whether a mean over the observed cells alone is offered.
    per_task : bool
        Whether the value is a mean of one term per task, see `per_task`.
    function : str
        For what a matrix cannot yield: the function that computes it from what it needs. Else empty.
    """

    id: str
    formula: str
    source: str
    direction: str
    needs: str
    kind: str = "change"
    least: int = 2
    observed_only: bool = False
    per_task: bool = False
    function: str = ""

    @property
    def from_matrix(self) -> bool:
        """Whether an accuracy matrix yields it."""
        return not self.function


_DIAGONAL, _LAST, _UPPER = "the diagonal", "the last row", "all cells above the diagonal"
_HISTORY = "each old task from its own training on"
_HISTORY_ALL = "each task from its own training on"

_LEVEL: dict[str, Any] = {"direction": "matrix", "kind": "level"}
_SINCE: dict[str, Any] = {"needs": _HISTORY, "direction": "lower", "per_task": True}

_MATRIX_METRICS = (
    Metric("acc.final", "mean_j A[T,j]", GEM, needs=_LAST, least=1, per_task=True, **_LEVEL),
    Metric(
        "bwt.gem",
        "sum_{i<T} (A[T,i] - A[i,i]) / (T-1)",
        GEM,
        "higher",
        f"{_DIAGONAL} and {_LAST}",
        per_task=True,
    ),
    Metric("bwt.gem_script", "sum_{i<T} (A[T,i] - A[i,i]) / T", GEM_SCRIPT, "higher", f"{_DIAGONAL} and {_LAST}"),
    Metric(
        "fwt.gem",
        "sum_{i=2..T} (A[i-1,i] - b[i]) / (T-1)",
        GEM,
        "higher",
        "each task just before its training, and a baseline",
        observed_only=True,
        per_task=True,
    ),
    Metric(
        "fwt.gem_script",
        "sum_{i=2..T} (A[i-1,i] - b[i]) / T",
        GEM_SCRIPT,
        "higher",
        "each task just before its training, and a baseline",
    ),
    Metric(
        "forgetting.rwalk",
        "mean_{j<T} (max_{l<T} A[l,j] - A[T,j]), moments before training included",
        RWALK,
        **_SINCE,
    ),
    Metric(
        "forgetting.continuum",
        "mean_{j<T} (max_{j<=l<T} A[l,j] - A[T,j]), moments since training only",
        "continuum; any tool that evaluates trained tasks only",
        **_SINCE,
    ),
    Metric(
        "forgetting.inclusive",
        "mean_{j<T} (max_{l<=T} A[l,j] - A[T,j]), never negative",
        "Mammoth, PyCIL",
        **_SINCE,
    ),
    Metric(
        "forgetting.raptormai",
        "mean_{j<=T} (max_{l<=T} A[l,j] - A[T,j]), never negative, over T",
        "online-continual-learning of RaptorMai",
        "lower",
        _HISTORY_ALL,
        per_task=True,
    ),
    Metric(
        "forgetting.avalanche",
        "sum_{i<T} (A[i,i] - A[T,i]) / (T-1), no maximum",
        "Avalanche",
        "lower",
        f"{_DIAGONAL} and {_LAST}",
        per_task=True,
    ),
    Metric(
        "forgetting.worst",
        "max_{j<T} (max_{l<T} A[l,j] - A[T,j])",
        "the released notebook of A-GEM",
        "lower",
        _HISTORY,
    ),
    Metric(
        "intransigence.rwalk",
        "a*[T] - A[T,T]",
        RWALK,
        "lower",
        "the newest task just after its training, and a joint reference",
        least=1,
    ),
    Metric("learning_accuracy", "mean_k A[k,k]", "Riemer et al. 2019, MER", needs=_DIAGONAL, least=1, **_LEVEL),
    Metric(
        "aia.task_mean",
        "mean_k mean_{j<=k} A[k,j]",
        "Rebuffi et al. 2017, iCaRL, with tasks alike",
        needs=f"{_DIAGONAL} and below",
        least=1,
        **_LEVEL,
    ),
    Metric(
        "aia.icarl",
        "mean_k of the accuracy over all samples of tasks 1..k",
        "Rebuffi et al. 2017, iCaRL",
        needs=f"{_DIAGONAL} and below, and n",
        least=1,
        **_LEVEL,
    ),
    Metric(
        "wavg.facil",
        "sum_j c[j] A[T,j] / sum_j c[j], with c[j] classes in task j",
        "Masana et al. 2023, FACIL",
        needs=f"{_LAST}, and classes",
        least=1,
        **_LEVEL,
    ),
    Metric("bwt.clear", "mean_{k>j} A[k,j], nothing subtracted", CLEAR, needs="all cells below the diagonal", **_LEVEL),
    Metric("fwt.clear", "mean_{k<j} A[k,j], nothing subtracted", CLEAR, needs=_UPPER, observed_only=True, **_LEVEL),
    Metric("clear.in_domain", "mean_k A[k,k]", CLEAR, needs=_DIAGONAL, least=1, **_LEVEL),
    Metric(
        "clear.next_domain",
        "mean_{k<T} A[k,k+1]",
        f"{CLEAR}; continuum calls it forward transfer",
        needs="each task just before its training",
        observed_only=True,
        **_LEVEL,
    ),
    Metric("clear.accuracy", "mean_{k>=j} A[k,j]", CLEAR, needs=f"{_DIAGONAL} and below", least=1, **_LEVEL),
    Metric(
        "bwt.dr",
        "2 sum_{k>j} (A[k,j] - A[j,j]) / (T(T-1))",
        f"{DR}; continuum, CapyMOA and RaptorMai call it backward transfer",
        "higher",
        f"{_DIAGONAL} and below",
    ),
    Metric(
        "rem.dr",
        "1 - |min(bwt.dr, 0)|, scores as fractions",
        DR,
        "higher",
        f"{_DIAGONAL} and below, on a bounded scale",
        kind="share",
    ),
    Metric("bwtplus.dr", "max(bwt.dr, 0)", DR, "higher", f"{_DIAGONAL} and below"),
    Metric("acc.dr", "mean_{k>=j} A[k,j]", DR, needs=f"{_DIAGONAL} and below", least=1, **_LEVEL),
    Metric("fwt.dr", "mean_{k<j} A[k,j]", DR, needs=_UPPER, observed_only=True, **_LEVEL),
    Metric("trace.op", "mean_j A[T,j]", TRACE, needs=_LAST, least=1, **_LEVEL),
    Metric("trace.bwt", "sum_{i<=T} (A[T,i] - A[i,i]) / T", TRACE, "higher", f"{_DIAGONAL} and {_LAST}"),
)

_CURVES, _STREAM = "learning curves within each task", "predictions in the order of the stream"
_EVALUATIONS, _ORDERS = "evaluations within and between tasks", "the same tasks under several orders"

#: What a matrix cannot yield, under its id, with the function that takes what it needs.
_ELSEWHERE = (
    Metric(
        "lca.agem",
        "mean_{b=0..beta} Z_b, with Z_b the mean over tasks after b batches",
        AGEM,
        "higher",
        _CURVES,
        kind="level",
        function="lca",
    ),
    Metric(
        "lca.trapz",
        "trapezoid(Z_0..Z_beta) / beta",
        "the released notebook of A-GEM",
        "higher",
        _CURVES,
        kind="level",
        function="lca",
    ),
    Metric(
        "prequential",
        "score each prediction, then learn from it",
        "Gama et al. 2013; river",
        "higher",
        _STREAM,
        kind="level",
        least=1,
        function="prequential",
    ),
    Metric(
        "prequential.window",
        "the mean of the last w scores",
        "Gama et al. 2013; river",
        "higher",
        _STREAM,
        kind="level",
        least=1,
        function="prequential",
    ),
    Metric(
        "prequential.fading",
        "sum_i alpha^(n-i) x_i / sum_i alpha^(n-i)",
        "Gama et al. 2013",
        "higher",
        _STREAM,
        kind="level",
        least=1,
        function="prequential",
    ),
    Metric(
        "ocp.online",
        "mean accuracy of each batch before its update",
        "online continual learning; CapyMOA",
        "higher",
        _STREAM,
        kind="level",
        least=1,
        function="online_accuracy",
    ),
    Metric(
        "tta.delay",
        "batches after a shift until a declared accuracy is reached, mean over shifts",
        "test-time adaptation read as continual learning",
        "lower",
        _STREAM,
        least=1,
        function="adaptation",
    ),
    Metric(
        "tta.recovery",
        "accuracy on the source after the stream less before it",
        "test-time adaptation read as continual learning",
        "higher",
        "source data scored before and after the stream",
        least=1,
        function="adaptation",
    ),
    Metric(
        "min_acc",
        "mean_{i<k} min of the evaluations of task i since it was learned",
        DE_LANGE,
        "higher",
        _EVALUATIONS,
        kind="level",
        function="min_acc",
    ),
    Metric(
        "wc_acc", "A_cur / k + (1 - 1/k) min_acc", DE_LANGE, "higher", _EVALUATIONS, kind="level", function="wc_acc"
    ),
    Metric(
        "wf_w",
        "largest drop between two evaluations inside a window",
        DE_LANGE,
        "lower",
        _EVALUATIONS,
        function="windowed",
    ),
    Metric(
        "wp_w",
        "largest rise between two evaluations inside a window",
        DE_LANGE,
        "higher",
        _EVALUATIONS,
        function="windowed",
    ),
    Metric(
        "aaa",
        "mean over evaluations of the mean accuracy on tasks seen",
        "Caccia et al. 2022",
        "higher",
        _EVALUATIONS,
        kind="level",
        least=1,
        function="aaa",
    ),
    Metric("opd", "max_r - min_r of a task's score over orders r", APD, "lower", _ORDERS, function="order_sensitivity"),
    Metric("mopd", "max_t OPD_t", APD, "lower", _ORDERS, function="order_sensitivity"),
    Metric("aopd", "mean_t OPD_t", APD, "lower", _ORDERS, function="order_sensitivity"),
    Metric(
        "path.min",
        "open path of the least total distance between tasks",
        BELL,
        "none",
        "distances between tasks",
        function="paths",
    ),
    Metric(
        "path.max",
        "open path of the largest total distance between tasks",
        BELL,
        "none",
        "distances between tasks",
        function="paths",
    ),
    Metric("path.random", "mean total distance over orders", BELL, "none", "distances between tasks", function="paths"),
    Metric(
        "trace.dG",
        "mean over probes of general ability, after less before",
        TRACE,
        "higher",
        "probes of general ability",
        least=1,
        function="deltas",
    ),
    Metric(
        "trace.dI",
        "mean over probes of instruction following, after less before",
        TRACE,
        "higher",
        "probes of instruction following",
        least=1,
        function="deltas",
    ),
    Metric(
        "trace.dS",
        "mean over probes of safety, after less before",
        TRACE,
        "higher",
        "probes of safety",
        least=1,
        function="deltas",
    ),
)

#: Of the list of ids: another formula under an id, or an id that goes, makes a new one.
REGISTRY_VERSION = "1"
#: Every id with its formula, source, direction and needs.
METRICS: dict[str, Metric] = {entry.id: entry for entry in (*_MATRIX_METRICS, *_ELSEWHERE)}
#: The ids that an accuracy matrix yields.
MATRIX_IDS = tuple(entry.id for entry in _MATRIX_METRICS)

#: Ids that are sums of cells, by the function that states their weights for T tasks.
SUMS: dict[str, Callable[[int], Sum]] = {
    "acc.final": formulas.final_accuracy,
    "bwt.gem": formulas.backward_transfer,
    "bwt.gem_script": formulas.backward_transfer_by_t,
    "fwt.gem": formulas.forward_transfer,
    "fwt.gem_script": formulas.forward_transfer_by_t,
    "forgetting.avalanche": formulas.avalanche_forgetting,
    "intransigence.rwalk": formulas.intransigence,
    "learning_accuracy": formulas.diagonal,
    "aia.task_mean": formulas.mean_of_accuracies,
    "bwt.clear": formulas.below_diagonal,
    "fwt.clear": formulas.above_diagonal,
    "clear.in_domain": formulas.diagonal,
    "clear.next_domain": formulas.next_domain,
    "clear.accuracy": formulas.on_and_below_diagonal,
    "bwt.dr": formulas.backward_transfer_at_all_times,
    "rem.dr": formulas.backward_transfer_at_all_times,
    "bwtplus.dr": formulas.backward_transfer_at_all_times,
    "acc.dr": formulas.on_and_below_diagonal,
    "fwt.dr": formulas.above_diagonal,
    "trace.op": formulas.final_accuracy,
    "trace.bwt": formulas.backward_transfer_by_t,
}
#: Ids that take a maximum over time, by the function that gives their terms per task.
PEAKS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "forgetting.rwalk": formulas.peak_forgetting,
    "forgetting.worst": formulas.peak_forgetting,
    "forgetting.inclusive": formulas.peak_forgetting,
    "forgetting.raptormai": formulas.peak_forgetting,
    "forgetting.continuum": formulas.peak_forgetting_since_training,
}
#: Of these, the ones whose maximum includes the end, so that no term is negative.
END_INCLUDED = ("forgetting.inclusive", "forgetting.raptormai")


def look_up(id: str) -> Metric:
    """The registry's entry.

    Raises
    ------
    InputError
        An unknown id; those that begin alike are listed.
    """
    if isinstance(id, str) and id in METRICS:
        return METRICS[id]
    family = [known for known in METRICS if known.split(".")[0] == str(id).split(".")[0].lower()]
    raise InputError(f"id is {id!r}: known are {', '.join(family or METRICS)}")
