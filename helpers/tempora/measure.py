"""Measure: a method meets a stream live, under one protocol of time, and what happened becomes a trace."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np
from tqdm.auto import tqdm

from .. import arrays, records, results
from ..arrays import one_of
from ..errors import InputError
from .clock import Table, VirtualClock
from .pipeline import TIES
from .record import Trace
from .rules import CHARGES, CUTS, costs, period_of
from .runner import Batches, Method, Session, device_name
from .scenario import Scenario
from .times import NS_PER_MS, ms_text, parse_ms, parse_ms_row


@dataclass(frozen=True, eq=False)
class DiscreteScenario:
    """Batches arrive whether or not the method is ready: a sensor. What it cannot take in time is lost.

    Parameters
    ----------
    period_ms : number, optional
        A batch arrives every `period_ms`, the first at 0.
    arrival_ms : array of shape (n,), optional
        Instead of a period: when each batch arrives, non-decreasing, such as `streams.poisson` gives.
    buffer : int
        Batches that may wait: 1 in the source, 0 for none. A full buffer gives up its oldest batch for a new one; the
        longest waiting batch is picked up first.
    tie : {"arrival", "buffer"}
        A batch that arrives in the very nanosecond in which the method gets ready is there already ("arrival", the
        formula of the source), or comes after the pick-up ("buffer", its code). Without a buffer there is no
        difference: the batch is picked up.

    Raises
    ------
    InputError
        Neither or both of period and arrivals, a period of 0, arrivals that run backwards, a negative buffer, an
        unknown tie.

    Examples
    --------
    >>> DiscreteScenario(39.9).arrivals_ns(3)
    [0, 39900000, 79800000]
    """

    period_ms: Any = None
    arrival_ms: Any = None
    buffer: int = 1
    tie: str = "arrival"

    def __post_init__(self) -> None:
        """Check everything once."""
        if (self.period_ms is None) == (self.arrival_ms is None):
            raise InputError("a discrete scenario takes period_ms or arrival_ms: give one of them")
        if self.period_ms is not None:
            period_of(self.period_ms, 1)
        arrays.whole_number(self.buffer, "buffer", least=0)
        one_of(self.tie, "tie", TIES)
        if self.arrival_ms is not None:
            times = parse_ms_row(self.arrival_ms, "arrival_ms")
            early = np.flatnonzero(np.diff(times) < 0)
            if early.size:
                raise InputError(f"arrival_ms[{early[0] + 1}] is before the one ahead: sort the arrivals")

    def arrivals_ns(self, n: int) -> list[int]:
        """When each of n batches arrives, in nanoseconds."""
        if self.period_ms is not None:
            period = period_of(self.period_ms, n)
            return list(range(0, n * period, period))
        times = parse_ms_row(self.arrival_ms).tolist()
        if len(times) != n:
            raise InputError(f"arrival_ms has {len(times)} values and the stream {n} batches: give one for each")
        return times


@dataclass(frozen=True)
class ContinuousScenario:
    """The next batch is sent once the last prediction is out: a user who waits. Every batch reaches the method."""


@dataclass(frozen=True)
class AmortisedScenario:
    """The method may adapt until its overhead has used up a budget; then it is frozen for the rest of the stream.

    Parameters
    ----------
    budget_ms : number
        What the overheads of all batches together may come to, at least 0.
    cut : {"within", "overshoot"}
        "within": the sum of overheads stays within the budget, the batch that would exceed it meets the frozen method
        (the formula of the source). "overshoot": the method adapts as long as less than the budget has been spent, and
        the batch that exceeds it is adapted to (its code).
    charge : {"excess", "total"}
        What a batch costs: its latency above standard inference, at least 0 (so a batch that is faster gives nothing
        back), or the whole latency.

    Raises
    ------
    InputError
        A negative budget, an unknown cut or charge.
    """

    budget_ms: Any
    cut: str = "within"
    charge: str = "excess"

    def __post_init__(self) -> None:
        """Check everything once."""
        parse_ms(self.budget_ms, "budget_ms")
        one_of(self.cut, "cut", CUTS)
        one_of(self.charge, "charge", CHARGES)


Played = DiscreteScenario | ContinuousScenario | AmortisedScenario


def run(
    method: Method,
    stream: Batches,
    scenario: Played | Scenario,
    *,
    clock: str | Table = "measured",
    reference_ms: Any = None,
    device: str | None = None,
    warmup: int = 5,
    seed: int = 0,
) -> Trace:
    r"""Run a method on a stream under a protocol of time, on a virtual clock that advances by its latencies.

    The method meets exactly the batches that it would meet in time: skipped batches are not shown to it, and it is
    frozen when its budget is used up. Nothing waits: a batch takes as long as it takes, and the clock follows.

    Parameters
    ----------
    method : Method
        See `runner.Method`. It is reset and unfrozen first, and left as the run leaves it.
    stream : sequence of (inputs, labels)
        A `streams.Stream`, or anything with a length and an index that gives the batches, some of them repeatedly.
    scenario : DiscreteScenario, ContinuousScenario or AmortisedScenario
        Or a `Scenario` of a grid such as `scenarios()`: its protocol with the defaults, and its reference latency.
    clock : "measured" or mapping
        "measured": :math:`e_i` from handing over the batch until its prediction is out and :math:`\ell_i` from there
        until the method returns, by `time.perf_counter_ns`, the device synchronised before each reading. A mapping
        gives intrinsic and extrinsic ms by the method's name, such as `clock.published()`: the run is then the same
        wherever the method computes the same. A frozen method takes the intrinsic part only.
    reference_ms : number, optional
        Latency :math:`\lambda` of standard inference, kept in the trace; needed to charge the excess over it.
    device : str, optional
        Where inputs are put before the clock starts, such as "cuda"; by default they stay where the stream has them.
    warmup : int
        Calls on the first batch, with noise, before a measured run: 5, as in the source. A reset follows.
    seed : int
        Seed of that noise.

    Returns
    -------
    Trace
        With `live` set. Batches that were never served have size, but neither hits nor latency. Of an amortised run
        ``live["switch"]`` is the number of batches adapted to and ``live["spent_ms"]`` what they cost.

    Raises
    ------
    InputError
        No batches, a method without a member or with another kind of prediction, a table without the method, a
        scenario that does not fit the stream. A prediction with NaN is refused: the method has diverged.
    RuntimeError
        The method raised something; the message names the batch, the cause is chained. No trace comes back.

    Notes
    -----
    With `cut` "within" on a measured clock, that a batch exceeds the budget is known only once it is done. The method
    is then reset and led through the batches before it again, off the clock, and frozen there;
    ``live["replay_differs"]`` counts batches that came out differently (0 if `reset` restores everything).

    Examples
    --------
    >>> from helpers.tempora.streams import Stream
    >>> class Sign:
    ...     def forward(self, inputs):
    ...         yield np.hstack([-inputs, inputs])
    ...     def reset(self): pass
    ...     freeze = unfreeze = reset
    >>> stream = Stream(np.array([[-1.0], [2.0], [3.0], [-4.0], [5.0], [6.0]]), [0, 1, 1, 0, 0, 1], batch=1)
    >>> trace = run(Sign(), stream, DiscreteScenario(10), clock={"Sign": (20, 5)})
    >>> trace.served, trace.correct
    (array([0, 2, 5]), array([1, 0, 1, 0, 0, 1]))
    """
    arrays.whole_number(warmup, "warmup", least=0)
    arrays.whole_number(seed, "seed", least=0)
    reference_ns = None if reference_ms is None else parse_ms(reference_ms, "reference_ms")
    if isinstance(scenario, Scenario):
        reference_ns = scenario.reference_ns if reference_ns is None else reference_ns
        scenario = _played(scenario)
    session = Session(method, stream, clock, device)
    _check_fit(scenario, session.n, reference_ns)
    session.begin(warmup, seed)
    arrival_ns = served = None
    with tqdm(total=session.n, desc=session.name, unit="batch", leave=False, disable=results.in_batch()) as bar:
        if isinstance(scenario, DiscreteScenario):
            live, served = _discrete(session, scenario, bar)
            arrival_ns = None if scenario.arrival_ms is None else scenario.arrivals_ns(session.n)
        elif isinstance(scenario, AmortisedScenario):
            live = _amortised(session, scenario, reference_ns, bar)
        else:
            live = _continuous(session, bar)
    return Trace.from_ns(
        session.correct,
        session.count_samples(),
        session.intrinsic_ns,
        session.extrinsic_ns,
        arrival_ns=arrival_ns,
        corruption=str(getattr(stream, "corruption", "")),
        method=session.name,
        device="table" if session.known is not None else device_name(device),
        policy=str(getattr(method, "policy", "")),
        reference_ns=reference_ns,
        live=live,
        served=served,
        provenance=records.provenance(seed=seed),
    )


def _played(scenario: Scenario) -> Played:
    """A cell of a grid as it is played: a threshold matters to the score alone."""
    limit = ms_text(scenario.limit_ns)
    if scenario.protocol == "discrete":
        return DiscreteScenario(limit)
    return AmortisedScenario(limit) if scenario.protocol == "amortised" else ContinuousScenario()


def _check_fit(scenario: Any, n: int, reference_ns: int | None) -> None:
    """Refuse a scenario that cannot be played, before the method has been touched."""
    if isinstance(scenario, DiscreteScenario):
        scenario.arrivals_ns(n)
    elif isinstance(scenario, AmortisedScenario):
        if scenario.charge == "excess" and reference_ns is None:
            raise InputError("reference_ms is missing: the excess is charged over it; give it, or charge='total'")
    elif not isinstance(scenario, ContinuousScenario):
        raise InputError(f"scenario is {scenario!r}: give a Discrete-, Continuous- or AmortisedScenario")


def _discrete(session: Session, scenario: DiscreteScenario, bar: tqdm) -> tuple[dict[str, Any], list[int]]:
    """Batches arrive, wait and are picked up, one event after the other, until none is left."""
    clock, arrivals, arrived = VirtualClock(), deque(enumerate(scenario.arrivals_ns(session.n))), 0
    waiting: deque[int] = deque(maxlen=scenario.buffer)  # full: the oldest falls out
    arrival_comes_first = scenario.tie == "arrival" and scenario.buffer > 0
    served: list[int] = []
    while True:
        while arrivals and arrivals[0][1] < clock.now_ns + arrival_comes_first:
            waiting.append(arrivals.popleft()[0])
        if waiting:
            batch = waiting.popleft()
        elif arrivals:
            batch, arrived = arrivals.popleft()
            clock.wait_until(arrived)
        else:
            break
        clock.advance(session.serve(batch))
        served.append(batch)
        bar.update(batch + 1 - bar.n)
    period = None if scenario.period_ms is None else parse_ms(scenario.period_ms) / NS_PER_MS
    live = {"protocol": "discrete", "period_ms": period, "buffer": scenario.buffer, "tie": scenario.tie}
    return live, served


def _continuous(session: Session, bar: tqdm) -> dict[str, Any]:
    for i in range(session.n):
        session.serve(i)
        bar.update()
    return {"protocol": "continuous"}


def _amortised(session: Session, scenario: AmortisedScenario, reference_ns: int | None, bar: tqdm) -> dict[str, Any]:
    """Adapt while the meter allows it, then freeze once; see the notes of `run` on a batch that exceeds the budget."""
    budget, spent, switch, differ = parse_ms(scenario.budget_ms), 0, session.n, 0
    within = scenario.cut == "within"

    def cost(latency: int) -> int:
        return int(costs(np.asarray(latency), reference_ns, scenario.charge))

    for i in range(session.n):
        ahead = session.foreseen(i)
        used_up = (ahead is not None and spent + cost(ahead) > budget) if within else spent >= budget
        if used_up and not session.frozen:
            session.freeze()
            switch = i
        latency = session.serve(i)
        if not session.frozen and within and spent + cost(latency) > budget:
            differ = session.rewind(i)
            session.freeze()
            session.serve(i)
            switch = i
        elif not session.frozen:
            spent += cost(latency)
        bar.update()
    return {
        "protocol": "amortised",
        "budget_ms": budget / NS_PER_MS,
        "cut": scenario.cut,
        "charge": scenario.charge,
        "reference_ms": None if reference_ns is None else reference_ns / NS_PER_MS,
        "switch": switch,
        "spent_ms": spent / NS_PER_MS,
        "replay_differs": differ,
    }
