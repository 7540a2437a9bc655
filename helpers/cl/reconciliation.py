"""Which formula yields a published number?"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from .. import arrays
from ..errors import InputError
from .metrics import MATRIX_IDS, METRICS
from .record import AccuracyMatrix
from .score import GEM_BASELINE, check_matrix, metrics_of

AS_COMPUTED = "as computed"
MOST_DIGITS = 15
#: How the sign and the scale of a number are commonly changed in print, by the factor.
_CHANGES = {
    AS_COMPUTED: 1.0,
    "with the sign reversed": -1.0,
    "as a fraction": 0.01,
    "as a percentage": 100.0,
    "as a fraction with the sign reversed": -0.01,
    "as a percentage with the sign reversed": -100.0,
}


@dataclass(frozen=True)
class Match:
    """One way to the number.

    Attributes
    ----------
    id : str
        The formula.
    variant : str
        "as computed", or what was done to the value or the cells.
    value : float
        What comes out, unrounded, in the unit of the published number.
    baseline : str or None
        The kind of baseline that was subtracted.
    """

    id: str
    variant: str
    value: float
    baseline: str | None = None

    def __repr__(self) -> str:
        against = f", baseline {self.baseline}" if self.baseline else ""
        return f"Match({self.id} {self.variant}{against}: {self.value:.6g})"


@dataclass(frozen=True)
class Reconciliation:
    """What yields a published number.

    Attributes
    ----------
    published : float
        The number.
    digits : int
        Decimals to which it was rounded.
    found : tuple of Match
        Every way to it, plain ones first.
    nearest : tuple of Match
        Where there is none: the three values that come nearest, as computed.
    """

    published: float
    digits: int
    found: tuple[Match, ...]
    nearest: tuple[Match, ...]

    @property
    def matches(self) -> tuple[str, ...]:
        """Ids whose value equals the number, as computed."""
        return tuple(dict.fromkeys(match.id for match in self.found if match.variant == AS_COMPUTED))

    @property
    def variants(self) -> tuple[Match, ...]:
        """Ways to the number that change the sign, the scale or the cells."""
        return tuple(match for match in self.found if match.variant != AS_COMPUTED)

    def __repr__(self) -> str:
        number = f"{self.published:.{self.digits}f}"
        if not self.found:
            near = ", ".join(f"{match.id} {match.value:.{self.digits + 1}f}" for match in self.nearest)
            return f"Reconciliation({number}: no formula yields it; nearest {near or 'none'})"
        plain = ", ".join(self.matches) or "no formula as it stands"
        changed = "".join(f"; {match.id} {match.variant}" for match in self.variants)
        return f"Reconciliation({number}: {plain}{changed})"

    def to_dict(self) -> dict[str, Any]:
        """The fields as valid JSON, with the plain matches by id."""
        return {
            "published": self.published,
            "digits": self.digits,
            "matches": list(self.matches),
            "found": [asdict(match) for match in self.found],
            "nearest": [asdict(match) for match in self.nearest],
        }


def reconcile(matrix: AccuracyMatrix, published: float, *, digits: int = 2) -> Reconciliation:
    """Name every formula, baseline and habit of print that turns this matrix into a published number.

    All formulas are tried against all baselines that the matrix has; as they stand, with the sign reversed, as
    fraction or percentage; for forward transfer over the observed cells alone; and with zeros written into missing
    cells, as many tools store them. What `metric` leaves undefined under Class-IL is tried as well, because it is
    printed all the same.

    Parameters
    ----------
    matrix : AccuracyMatrix
        The scores.
    published : float
        The number.
    digits : int
        Decimals to which it was rounded, 0 to 15, 2 by default: whatever lies within half a unit of the last one is a
        match.

    Returns
    -------
    Reconciliation

    Raises
    ------
    InputError
        A number that is not finite, or digits outside 0 to 15.

    Examples
    --------
    >>> matrix = AccuracyMatrix([[90, 12, 9], [92, 88, 14], [75, 63, 93]])
    >>> reconcile(matrix, -12.67)
    Reconciliation(-12.67: bwt.dr)
    >>> reconcile(matrix, -20).matches
    ('bwt.gem',)
    >>> reconcile(matrix, 0.2)
    Reconciliation(0.20: no formula as it stands; forgetting.avalanche as a fraction; bwt.gem as a fraction with the \
sign reversed)
    """
    if not arrays.is_number(published):
        raise InputError(f"published is {published!r}: give a finite number")
    if arrays.whole_number(digits, "digits", least=0) > MOST_DIGITS:
        raise InputError(f"digits is {digits}: give at most {MOST_DIGITS}, as many as float64 holds")
    check_matrix(matrix)
    computed = _all_values(matrix)
    # half a unit of the last decimal, and a little for the rounding of binary numbers
    slack = 0.5 * 10.0**-digits * (1.0 + 1e-9) + 1e-12
    found = []
    for change, factor in _CHANGES.items():
        if not _makes_sense(change, matrix.scale):
            continue
        for match in computed:
            value = match.value * factor
            if abs(value - published) > slack or (value == 0.0 and change != AS_COMPUTED):
                continue
            variant = ", ".join(part for part in (match.variant, change) if part != AS_COMPUTED) or AS_COMPUTED
            found.append(replace(match, variant=variant, value=value))
    plain = [match for match in computed if match.variant == AS_COMPUTED]
    nearest = [] if found else sorted(plain, key=lambda match: abs(match.value - published))[:3]
    ordered = sorted(found, key=lambda match: match.variant != AS_COMPUTED)
    return Reconciliation(float(published), digits, tuple(ordered), tuple(nearest))


def _makes_sense(change: str, scale: str) -> bool:
    """Percents are printed as fractions and the other way round, a free scale as neither."""
    if "fraction" in change:
        return scale == "percent"
    return scale == "fraction" if "percentage" in change else True


def _all_values(matrix: AccuracyMatrix) -> list[Match]:
    """Values of every formula: strict, over observed cells, and with zeros for missing cells."""
    found = _values(matrix, AS_COMPUTED)
    seen = {(match.id, match.baseline) for match in found}
    found += [
        match
        for match in _values(matrix, "over observed cells only", observed_only=True)
        if (match.id, match.baseline) not in seen
    ]
    if matrix.missing.any():
        strict = {(match.id, match.baseline): match.value for match in found if match.variant == AS_COMPUTED}
        filled = _values(matrix, "with zeros in missing cells", filled=True)
        found += [match for match in filled if strict.get((match.id, match.baseline)) != match.value]
    return found


def _values(matrix: AccuracyMatrix, variant: str, *, filled: bool = False, observed_only: bool = False) -> list[Match]:
    kinds = list(matrix.baselines) or [GEM_BASELINE]
    found = []
    for kind in kinds:
        baseline = matrix.baselines.get(kind)
        cells, samples = matrix.values, matrix.n
        if filled:
            cells = np.nan_to_num(cells)
            baseline = None if baseline is None else np.nan_to_num(baseline)
            samples = None if samples is None or not samples.all() else samples
        # as arrays and without the scenario: what was printed was computed whatever it meant
        values = metrics_of(
            cells[None],
            baseline=baseline,
            reference=matrix.reference,
            n=samples,
            classes=matrix.classes,
            scale=matrix.scale,
            direction=matrix.direction,
            observed_only=observed_only,
        )
        for id in MATRIX_IDS:
            subtracts = id.startswith("fwt.gem")
            if np.isnan(values[id][0]) or (kind != kinds[0] and not subtracts):
                continue
            if observed_only and not METRICS[id].observed_only:
                continue
            found.append(Match(id, variant, float(values[id][0]), kind if subtracts else None))
    return found
