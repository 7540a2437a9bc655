"""Traces after the printed means of the source: nothing in them was measured.

The source prints mean latencies and mean utilities. What is built here is one stream and six methods on it, such that
these means come out again:

- each latency varies around its printed mean by a stated share, independently of everything else;
- offline accuracy is the one that follows from the printed continuous utility (table ``derived-offline``);
- a method that learns starts at AdaBN's accuracy, since before its first step it *is* AdaBN, and nears a limit
  exponentially in the batches that it was given. Limit and pace are such that 781 batches average to the offline
  accuracy, and those that it can serve when batches come every 39.9 ms to the printed served accuracy;
- accuracy once frozen is the printed one, of a budget of 1 s. For longer budgets none is printed.

The shipped traces are rebuilt by ``python -m helpers.tempora.reconstruction``.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import brentq

from .. import arrays, records, results
from ..errors import InputError
from . import analysis, clock
from .record import Trace
from .scenario import SOURCE_BATCHES, SOURCE_REFERENCE_NS
from .streams import Stream
from .times import NS_PER_MS

#: Slow to fast to adapt; of the source's other methods no latency (NEO, LAME, DeYO) or no utility (Tent) is printed.
METHODS = ("Standard", "AdaBN", "SHOT-IM", "ETA", "CMF", "SAR")
BATCH = 64
#: Standard deviations by which the reference latency lies above the mean of standard inference.
SIGMAS = 6
REFERENCE_MS = SOURCE_REFERENCE_NS / NS_PER_MS
SHIPPED = Path(__file__).resolve().parents[2] / "data" / "records"
REBUILD = "python -m helpers.tempora.reconstruction"
STREAM = "mean of 15 corruptions of ImageNet-C"


@dataclass(frozen=True)
class Curve:
    r"""Accuracy of a method that has adapted to t batches: :math:`a(t) = a_\infty - (a_\infty - a_0) e^{-t / \tau}`.

    Attributes
    ----------
    start, limit : float
        Before the first batch, and after very many.
    pace : float
        :math:`\tau`, batches in which all but 1 / e of the way is gone.

    Examples
    --------
    >>> Curve(0.3, 0.5, 10)(np.array([0, 10])).round(4)
    array([0.3   , 0.4264])
    """

    start: float
    limit: float
    pace: float

    def __call__(self, adapted: Any) -> Any:
        """Accuracy after so many batches; a number or an array of them."""
        return self.limit - (self.limit - self.start) * np.exp(-np.asarray(adapted) / self.pace)

    def mean(self, n: int) -> float:
        """Mean accuracy on n batches, each of which is adapted to after it was answered."""
        return float(np.mean(self(np.arange(n))))

    @classmethod
    def through(cls, start: float, few: tuple[int, float], many: tuple[int, float]) -> Curve:
        """The curve from `start` whose mean over a few and over many batches is given, as (batches, mean).

        Examples
        --------
        >>> found = Curve.through(0.3, (300, 0.45), (800, 0.48))
        >>> round(found.mean(300), 6), round(found.mean(800), 6)
        (0.45, 0.48)
        """

        def curve(pace: float) -> Curve:
            kept = float(np.mean(np.exp(-np.arange(many[0]) / pace)))
            return cls(start, (many[1] - start * kept) / (1.0 - kept), pace)

        return curve(brentq(lambda pace: curve(pace).mean(few[0]) - few[1], 0.1, 10.0 * many[0], xtol=1e-12))


@cache
def curves() -> dict[str, Curve]:
    """How each method learns, from the source's numbers; Standard and AdaBN do not, they keep nothing of a batch."""
    utility, latency, derived = _printed("T1-utility"), _printed("T2-latency"), _printed("derived-offline")
    offline = {name: derived[name, "offline accuracy"] / 100 for name in METHODS[1:]}
    offline["Standard"] = utility["Standard", "continuous T=50ms"] / 100
    found = {name: Curve(offline[name], offline[name], 1.0) for name in METHODS[:2]}
    for name in METHODS[2:]:
        share = analysis.availability(latency[name, "latency"], period_ms=REFERENCE_MS, batches=SOURCE_BATCHES)
        served = utility[name, "discrete rho=100%"] / 100 / share
        few = (round(share * SOURCE_BATCHES), served)
        found[name] = Curve.through(offline["AdaBN"], few, (SOURCE_BATCHES, offline[name]))
    return found


def frozen_accuracies() -> dict[str, float | None]:
    """Accuracy of each method once frozen, as printed for a budget of 1 s; None for AdaBN, which does not use it up."""
    collapsed = _printed("text")["Tent, ETA, CMF, SAR, DeYO", "accuracy when frozen"] / 100
    kept = _printed("T3-findings")["SHOT-IM", "accuracy when frozen"] / 100
    known = {"Standard": curves()["Standard"].start, "AdaBN": None, "SHOT-IM": kept}
    return {name: known.get(name, collapsed) for name in METHODS}


def _printed(table: str) -> dict[tuple[str, str], float]:
    """Published numbers by row and column."""
    rows = results.published("tempora", table)
    return {(row["row"], row["column"]): row["value"] for row in rows if row["value"] is not None}


class Learner:
    """A simulated method: right on every sample whose difficulty its accuracy reaches. See `runner.Method`.

    Its accuracy grows with each batch that it was given, so that batches which it never sees cost it twice: they are
    not answered, and nothing is learned from them.

    Parameters
    ----------
    name : str
        One of `METHODS`.

    Raises
    ------
    InputError
        Another name; a forward pass of a frozen method whose frozen accuracy is not printed.

    Examples
    --------
    >>> method = Learner("ETA")
    >>> for scores in method.forward(np.array([0.2, 0.4, 0.9])):
    ...     print(scores[:, 0], scores.argmax(axis=1))
    [0.318 0.318 0.318] [0 1 1]
    >>> method.adapted
    1
    """

    def __init__(self, name: str) -> None:
        if name not in METHODS:
            raise InputError(f"name is {name!r}: there are {', '.join(METHODS)}")
        self.name, self.curve, self.left = name, curves()[name], frozen_accuracies()[name]
        self.policy = "frozen: the printed accuracy"
        self.reset()

    def reset(self) -> None:
        """Forget every batch."""
        self.adapted, self.frozen = 0, False

    def freeze(self) -> None:
        """Stop learning, and fall to the frozen accuracy."""
        self.frozen = True

    def unfreeze(self) -> None:
        """Learn again."""
        self.frozen = False

    def forward(self, difficulty: np.ndarray) -> Iterator[np.ndarray]:
        """Two scores per sample, its own accuracy and the difficulty: the higher one wins, class 0 is right."""
        accuracy = self.left if self.frozen else float(self.curve(self.adapted))
        if accuracy is None:
            raise InputError(f"the source prints no accuracy of a frozen {self.name}: give it a longer budget")
        yield np.column_stack([np.full(len(difficulty), accuracy), difficulty])
        self.adapted += not self.frozen


def stream(*, batches: int = SOURCE_BATCHES, seed: int = 0) -> Stream:
    """The stream of the traces: batches of 64 samples, each with a difficulty, in random order.

    The difficulties are evenly spaced between 0 and 1, so a method of constant accuracy a is right on a share of a of
    the whole stream, to half a sample. All labels are 0; see `Learner`.
    """
    n = BATCH * arrays.whole_number(batches, "batches", least=2)
    spaced = (np.arange(n) + 0.5) / n
    order = np.random.default_rng([arrays.whole_number(seed, "seed", least=0), 0]).permutation(n)
    return Stream(spaced[order], np.zeros(n, dtype=np.int64), BATCH, corruption=STREAM)


def traces(*, seed: int = 0, jitter: float = 0.01, batches: int = SOURCE_BATCHES) -> dict[str, Trace]:
    r"""Offline logs of six methods, made to have the means that the source prints.

    Parameters
    ----------
    seed : int
        Of difficulties and latencies.
    jitter : float
        Standard deviation of each part of the latency, as a share of its mean; 0 to 0.02. The mean of every trace is
        the printed one, to a microsecond. Standard inference, whose mean is not printed, has the one that lies six
        standard deviations below :math:`\lambda`.
    batches : int
        Length of the stream, 781 by default. The curves of learning do not depend on it.

    Returns
    -------
    dict of str to Trace

    Raises
    ------
    InputError
        An option out of range.

    Examples
    --------
    >>> found = traces()
    >>> print(f"{found['ETA'].n} batches, {found['ETA'].accuracy.mean():.3f}, {found['ETA'].latency_ms.mean():.3f} ms")
    781 batches, 0.486, 97.700 ms
    """
    if not arrays.is_number(jitter) or not 0 <= jitter <= 0.02:
        raise InputError(f"jitter is {jitter!r}: give a share from 0 to 0.02")
    difficulty = stream(batches=batches, seed=seed).inputs.reshape(batches, BATCH)
    means = clock.published() | {"Standard": (REFERENCE_MS / (1.0 + SIGMAS * jitter), 0.0)}
    found = {}
    for number, name in enumerate(METHODS, start=1):
        rng = np.random.default_rng([seed, number])
        intrinsic, extrinsic = (_around(mean, jitter, batches, rng) for mean in means[name])
        found[name] = Trace(
            (difficulty <= curves()[name](np.arange(batches))[:, None]).sum(axis=1),
            BATCH,
            intrinsic,
            extrinsic,
            corruption=STREAM,
            method=name,
            device="RTX 4080, printed means",
            policy="frozen: the printed accuracy",
            reference_ms=REFERENCE_MS,
            provenance=_provenance(seed, jitter, batches),
        )
    return found


def _around(mean: float, jitter: float, n: int, rng: np.random.Generator) -> np.ndarray:
    """Normal times in ms, to a microsecond, with exactly this mean and this standard deviation before rounding."""
    noise = rng.standard_normal(n)
    return np.round(mean * (1.0 + jitter * (noise - noise.mean()) / noise.std()), 3)


def _provenance(seed: int, jitter: float, batches: int) -> dict[str, Any]:
    return {
        **records.provenance(seed=seed, hardware="no device: made from printed means"),
        "what": "reconstructed from the means that the source prints, not measured",
        "jitter": jitter,
        "batches": batches,
        "rebuild": REBUILD,
    }


def load(record: str | Path = "shipped") -> dict[str, Trace]:
    """The six traces, as `save` writes them, from a folder; "shipped" stands for the book's own.

    Raises
    ------
    InputError
        A trace that is missing or damaged.
    """
    folder = SHIPPED if record == "shipped" else Path(record)
    missing = [name for name in METHODS if not _file(folder, name).is_file()]
    if missing:
        raise InputError(f"{folder}: there is no {_file(folder, missing[0]).name}: write the traces with {REBUILD}")
    return {name: Trace.load(_file(folder, name)) for name in METHODS}


def save(found: dict[str, Trace], folder: str | Path) -> list[Path]:
    """Write each trace as ``tempora-<method>.npz``."""
    return [trace.save(_file(folder, name)) for name, trace in found.items()]


def _file(folder: str | Path, name: str) -> Path:
    return Path(folder) / f"tempora-{name.lower()}.npz"


def main(argv: list[str] | None = None) -> None:
    """Write the traces anew."""
    parser = argparse.ArgumentParser(prog=REBUILD, description="Write the traces that the chapter starts from.")
    parser.add_argument("folder", nargs="?", type=Path, default=SHIPPED, help="where to (data/records)")
    folder = parser.parse_args(argv).folder
    folder.mkdir(parents=True, exist_ok=True)
    for path in save(traces(), folder):
        print(path)


if __name__ == "__main__":
    main()
