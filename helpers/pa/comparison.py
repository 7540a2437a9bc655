"""Agreement beside everything else that is said of the same shift."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .. import arrays, calibration
from ..errors import InputError
from ..uncertainty import Rate
from .record import Logits
from .score import Agreement, agreement, failure_rate


@dataclass(frozen=True)
class Row:
    """One shift of one model.

    Attributes
    ----------
    shift : str
        Its name in the record.
    afr_t : Rate
        Accuracy under the shift, over all rows.
    afr_p : Rate
        Predictions that the shift leaves as they were, over all rows.
    success : Rate
        Of the rows that were right before, those that are wrong after: what an attacker counts.
    agreement : Agreement
        The score, with `flip_rate_only` and `beta_margin`.
    calibration_error, temperature : float
        Expected calibration error and best temperature on the shifted inputs.
    """

    shift: str
    afr_t: Rate
    afr_p: Rate
    success: Rate
    agreement: Agreement
    calibration_error: float
    temperature: float


def table(record: Logits, *, confidence: float | None = None, seed: int = 0) -> list[Row]:
    """Score every shift of a record that has labels, in the record's order.

    Parameters
    ----------
    record : Logits
        With labels.
    confidence : float, optional
        Level of the interval of each agreement; none by default.
    seed : int
        Seed of its bootstrap, 0 by default.

    Returns
    -------
    list of Row

    Raises
    ------
    InputError
        The record has no labels: accuracies need them, `agreement` does not.

    Examples
    --------
    >>> record = Logits(np.eye(3), {"turned": np.eye(3)[[0, 1, 1]]}, np.array([0, 1, 0]))
    >>> row = table(record)[0]
    >>> row.afr_t.count, row.afr_p.count, row.success.count, row.success.n
    (2, 2, 0, 2)
    """
    if record.labels is None:
        raise InputError("record has no labels: accuracies need them; pa.agreement scores the shifts without")
    right = record.logits.argmax(axis=1) == record.labels
    rows = []
    for name, shifted in record.shifted.items():
        wrong = shifted.argmax(axis=1) != record.labels
        rows.append(
            Row(
                shift=name,
                afr_t=failure_rate(shifted, record.labels),
                afr_p=failure_rate(shifted, record.logits),
                success=Rate.of(int(np.sum(right & wrong)), int(np.sum(right))),
                agreement=agreement(record.logits, shifted, confidence=confidence, seed=seed),
                calibration_error=calibration.expected_calibration_error(shifted, record.labels),
                temperature=calibration.fit_temperature(shifted, record.labels),
            )
        )
    return rows


@dataclass(frozen=True)
class Subsample:
    """Agreement of random subsets of some size, beside that of all rows; see `subsample`.

    Attributes
    ----------
    n : int
        Rows of a subset.
    bias : float
        Mean of subset less all rows, in nats.
    spread, spread_error : float
        Standard deviation over subsets, in nats, and how far it is known.
    """

    n: int
    bias: float
    spread: float
    spread_error: float


def subsample(
    logits: np.ndarray, shifted: np.ndarray, sizes: Sequence[int], *, draws: int = 50, seed: int = 0
) -> list[Subsample]:
    """What scoring only some rows costs: the source advises it for large data.

    Subsets are drawn without replacement. Few rows see rare flips too seldom, so agreement is biased as well as
    scattered: read both.

    Parameters
    ----------
    logits, shifted : numpy.ndarray of shape (n, k)
        All rows, as for `agreement`.
    sizes : sequence of int
        Rows of a subset, each from 1 to n.
    draws : int
        Subsets per size, at least 2; 50 by default: the spread is known to about 1 / sqrt(2 draws) of itself.
    seed : int
        Seed of the draws.

    Returns
    -------
    list of Subsample
        One for each size.

    Raises
    ------
    InputError
        A size outside 1..n, fewer than 2 draws.

    References
    ----------
    Carvalho et al. (2025), arXiv:2503.16271, advises subsets for large data.

    Examples
    --------
    Four of 100 rows flip; a subset of ten has seldom any:

    >>> clean = np.tile([1.0, 0.0], (100, 1))
    >>> shifted = np.where(np.arange(100)[:, None] % 25 == 0, clean[:, ::-1], clean)
    >>> few, all_rows = subsample(clean, shifted, [10, 100], draws=20)
    >>> few.bias > 0.0, abs(all_rows.bias) < 1e-9
    (True, True)
    """
    arrays.whole_number(draws, "draws", least=2)
    whole = agreement(logits, shifted)
    rng = np.random.default_rng(seed)
    found = []
    for size in sizes:
        if arrays.whole_number(size, "sizes", least=1) > whole.n:
            raise InputError(f"sizes has {size}: there are {whole.n} rows")
        rows = [rng.permutation(whole.n)[:size] for _ in range(draws)]
        errors = np.array([agreement(logits[some], shifted[some]).value for some in rows]) - whole.value
        spread = float(errors.std(ddof=1))
        found.append(Subsample(size, float(errors.mean()), spread, spread / np.sqrt(2.0 * (draws - 1))))
    return found
