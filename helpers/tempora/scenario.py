"""The ways in which time is limited: scenarios relative to a reference latency."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

from .. import arrays
from ..errors import InputError
from . import score
from .record import Trace
from .rules import Frozen
from .score import Amortised, Continuous, Discrete
from .times import NS_PER_MS, ms_text, parse_ms

PROTOCOLS = ("discrete", "continuous", "amortised")
#: The source's grid for a reference latency of 39.9 ms and streams of 781 batches.
SOURCE_REFERENCE_NS, SOURCE_BATCHES = 39_900_000, 781
#: Powers of the square root of 2 in a period, with the source's name for the pressure: it cuts off 70.7 and 35.4.
PERIODS = ((0, "rho=100%"), (1, "rho=70%"), (2, "rho=50%"), (3, "rho=35%"), (4, "rho=25%"))
THRESHOLDS_MS = (50, 100, 200, 400, 1000)
BUDGETS_MS = (1000, 2000, 4000, 8000, 16000, 32000)


@dataclass(frozen=True)
class Scenario:
    """One way in which time is limited: a period, a threshold or a budget, relative to a reference latency.

    Attributes
    ----------
    protocol : str
        ``discrete``, ``continuous`` or ``amortised``.
    limit_ns : int
        The period, threshold or budget, exactly.
    reference_ns : int
        Latency of standard inference.
    label : str
        A short name to show, rounded; never to compute with.

    Raises
    ------
    InputError
        Another protocol, a reference latency or a period of 0, a threshold that is not above the reference latency.

    Examples
    --------
    >>> found = Scenario.of("discrete", 56.427121, reference_ms=39.9, label="rho=70%")
    >>> found.limit_ms, round(found.pressure, 4), found.label
    (56.427121, 0.7071, 'rho=70%')
    """

    protocol: str
    limit_ns: int
    reference_ns: int
    label: str = ""

    def __post_init__(self) -> None:
        """Refuse what no protocol could use."""
        if self.protocol not in PROTOCOLS:
            raise InputError(f"protocol is {self.protocol!r}: there are {', '.join(PROTOCOLS)}")
        arrays.whole_number(self.reference_ns, "reference_ns", least=1)
        arrays.whole_number(self.limit_ns, "limit_ns", least=1 if self.protocol == "discrete" else 0)
        if self.protocol == "continuous" and self.limit_ns <= self.reference_ns:
            raise InputError(
                f"threshold {self.limit_ms:g} ms is not above the reference latency "
                f"{self.reference_ns / NS_PER_MS:g} ms: give a longer one"
            )

    @classmethod
    def of(cls, protocol: str, limit_ms: Any, *, reference_ms: Any, label: str = "") -> Scenario:
        """A scenario from ms, which mean their shortest decimal; see `times.parse_ms`."""
        return cls(protocol, parse_ms(limit_ms, "limit_ms"), parse_ms(reference_ms, "reference_ms"), label)

    @property
    def limit_ms(self) -> float:
        """The limit in ms; read back as its shortest decimal it is exact."""
        return self.limit_ns / NS_PER_MS

    @property
    def pressure(self) -> float | None:
        """Reference latency over period, the source's rho, unrounded; None where nothing arrives by a clock."""
        return self.reference_ns / self.limit_ns if self.protocol == "discrete" else None

    def score(
        self, trace: Trace, *, frozen_accuracy: Frozen | None = None, **switches: Any
    ) -> Discrete | Continuous | Amortised:
        """Score a trace in this scenario; `frozen_accuracy` and further switches as the protocol's function takes them.

        Examples
        --------
        >>> trace = Trace([3, 4, 5, 6], 10, 40, 10)
        >>> round(Scenario.of("amortised", 25, reference_ms=40).score(trace, frozen_accuracy=0.1).utility, 12)
        0.225
        """
        limit = ms_text(self.limit_ns)
        if self.protocol == "discrete":
            return score.discrete(trace, period_ms=limit, **switches)
        reference = ms_text(self.reference_ns)
        if self.protocol == "continuous":
            return score.continuous(trace, threshold_ms=limit, reference_ms=reference, **switches)
        return score.amortised(
            trace, budget_ms=limit, reference_ms=reference, frozen_accuracy=frozen_accuracy, **switches
        )

    def to_dict(self) -> dict[str, Any]:
        """The fields as valid JSON."""
        return {**asdict(self), "limit_ms": self.limit_ms, "pressure": self.pressure}


def scenarios(reference_ms: Any = 39.9, *, batches: int = SOURCE_BATCHES) -> tuple[Scenario, ...]:
    r"""The source's sixteen scenarios, relative to the reference latency of a device and to the length of a stream.

    - five periods :math:`\gamma = \lambda \, 2^{k/2}`, k = 0 to 4;
    - five thresholds: 50, 100, 200, 400 and 1000 ms, times :math:`\lambda / 39.9` ms;
    - six budgets: 1, 2, 4, 8, 16 and 32 s, times :math:`\lambda / 39.9` ms and times batches / 781.

    With the defaults they are the source's own; on another device or stream the same share of the time is missing.

    Parameters
    ----------
    reference_ms : number
        Latency of standard inference, :math:`\lambda`, 39.9 by default.
    batches : int
        Batches of a stream, 781 by default. Budgets are spent over a stream, so a shorter one gets less.

    Returns
    -------
    tuple of Scenario
        Periods, then thresholds, then budgets. Limits are rounded to the nearest nanosecond once. Labels are rounded,
        those of periods as the source does: "rho=70%" has a pressure of 0.7071, and 39.9 / 0.70 is another period.

    Raises
    ------
    InputError
        A reference latency or a number of batches that is not above 0.

    Examples
    --------
    >>> grid = scenarios()
    >>> [scenario.limit_ms for scenario in grid[:5]]
    [39.9, 56.427121, 79.8, 112.854242, 159.6]
    >>> [scenario.label for scenario in grid[4:7]]
    ['rho=25%', 'T=50ms', 'T=100ms']
    >>> grid[-1]
    Scenario(protocol='amortised', limit_ns=32000000000, reference_ns=39900000, label='B=32s')
    """
    reference_ns = arrays.whole_number(parse_ms(reference_ms, "reference_ms"), "reference_ms in ns", least=1)
    arrays.whole_number(batches, "batches", least=1)
    scale = Fraction(reference_ns, SOURCE_REFERENCE_NS)
    found = [Scenario("discrete", _root_of_two(reference_ns, k), reference_ns, label) for k, label in PERIODS]
    for threshold_ms in THRESHOLDS_MS:
        limit_ns = round(threshold_ms * NS_PER_MS * scale)
        found.append(Scenario("continuous", limit_ns, reference_ns, f"T={limit_ns / NS_PER_MS:.4g}ms"))
    for budget_ms in BUDGETS_MS:
        limit_ns = round(budget_ms * NS_PER_MS * scale * Fraction(batches, SOURCE_BATCHES))
        found.append(Scenario("amortised", limit_ns, reference_ns, f"B={limit_ns / NS_PER_MS / 1000:.4g}s"))
    return tuple(found)


def _root_of_two(reference_ns: int, k: int) -> int:
    """reference_ns * 2 ** (k / 2), to the nearest integer; whole numbers throughout, so never a binary fraction."""
    doubled = math.isqrt(4 * reference_ns**2 * 2**k)  # twice the value, rounded down
    return (doubled + 1) // 2
