"""TEMPORA: what does test-time adaptation deliver when time is limited?"""

from ..lazy import attributes
from . import clock, streams
from .analysis import (
    BreakEven,
    Front,
    Harm,
    Rankings,
    availability,
    break_even,
    harmful_adaptation,
    pareto,
    rank_agreement,
    rankings,
)
from .interval import Contributions, Estimate, bootstrap, contributions, seed_interval
from .latency import LatencyRow, latency_table
from .mixed import Hybrid, hybrid
from .percentiles import Percentile, least_batches, percentile
from .predecessor import RelativeSpeed, relative_speed
from .readers import read, read_upstream
from .record import Trace
from .reference import ReferenceLatency, reference_latency
from .scenario import Scenario, scenarios
from .score import Amortised, Continuous, Discrete, amortised, continuous, discrete
from .sweep import Grid, grid
from .times import parse_ms
from .validity import Validity

__all__ = [
    "Amortised",
    "BreakEven",
    "Continuous",
    "Contributions",
    "Discrete",
    "Estimate",
    "Front",
    "Grid",
    "Harm",
    "Hybrid",
    "LatencyRow",
    "Percentile",
    "Rankings",
    "ReferenceLatency",
    "RelativeSpeed",
    "Scenario",
    "Trace",
    "Validity",
    "amortised",
    "availability",
    "bootstrap",
    "break_even",
    "clock",
    "continuous",
    "contributions",
    "discrete",
    "grid",
    "harmful_adaptation",
    "hybrid",
    "latency_table",
    "least_batches",
    "pareto",
    "parse_ms",
    "percentile",
    "rank_agreement",
    "rankings",
    "read",
    "read_upstream",
    "reference_latency",
    "relative_speed",
    "scenarios",
    "seed_interval",
    "streams",
]

__getattr__ = attributes(
    __name__,
    {
        "explore": ".explore jupyter",
        "measure": ".measure torch",
        "show": ".show jupyter",
    },
)
