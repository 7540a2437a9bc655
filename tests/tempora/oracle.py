"""TEMPORA the slow way: exact fractions, one event or one batch at a time, sharing nothing with the library."""

from collections import deque
from fractions import Fraction
from heapq import heapify, heappop, heappush


def event_queue(latency, arrival, *, buffer=1, tie="arrival"):
    """Served batches, their starts and finishes: arrivals and finishes in the order of time, one waiting line."""
    arrives_first = tie == "arrival" and buffer > 0
    events = [(time, not arrives_first, "arrival", i) for i, time in enumerate(arrival)]
    heapify(events)
    waiting, busy, served, starts, finishes = deque(), False, [], [], []

    def start(batch, now):
        served.append(batch)
        starts.append(now)
        finishes.append(now + latency[batch])
        heappush(events, (finishes[-1], arrives_first, "finish", batch))

    while events:
        now, _, what, batch = heappop(events)
        if what == "arrival" and not busy:
            start(batch, now)
            busy = True
        elif what == "arrival":
            waiting.append(batch)
            if len(waiting) > buffer:
                waiting.popleft()
        elif waiting:
            start(waiting.popleft(), now)
        else:
            busy = False
    return served, starts, finishes


def recursion(latency, period, *, drained=True):
    """The published formula, 0-based: the next batch is max(p + 1, floor(f / period)).

    Taken literally, the stream is over as soon as that lies past its end; drained, the waiting batch is served first.
    """
    last = len(latency) - 1
    served, starts, finishes = [], [], []
    batch, free = 0, 0
    while batch <= last:
        served.append(batch)
        starts.append(max(free, batch * period))
        free = starts[-1] + latency[batch]
        finishes.append(free)
        newest = free // period
        batch = max(batch + 1, min(newest, last) if drained else newest)
    return served, starts, finishes


def mean(values):
    """The exact mean."""
    values = list(values)
    return sum(values, Fraction(0)) / len(values)


def discrete_utility(accuracy, served):
    """Right answers among the served, out of the whole stream."""
    return sum((accuracy[i] for i in served), Fraction(0)) / len(accuracy)


def kappas(intrinsic, extrinsic, reference, threshold):
    """The discount of each batch."""
    waits = [before + e for before, e in zip([0, *extrinsic], intrinsic, strict=False)]
    return [1 / (1 + Fraction(max(0, wait - reference), threshold - reference)) for wait in waits]


def continuous(accuracy, kappa, *, ddof=0):
    """Accuracy, responsiveness, covariance and utility."""
    a, k, n = mean(accuracy), mean(kappa), len(kappa)
    covariance = sum((x - a) * (y - k) for x, y in zip(accuracy, kappa, strict=True)) / (n - ddof)
    return a, k, covariance, a * k + covariance


def switch(cost, budget, *, cut="within"):
    """Batches adapted to, by reading a meter batch by batch."""
    spent, adapted = 0, 0
    for c in cost:
        if (cut == "within" and spent + c > budget) or (cut == "overshoot" and spent >= budget):
            break
        spent, adapted = spent + c, adapted + 1
    return adapted


def amortised_utility(accuracy, frozen, m):
    """Adapted up to m, frozen from there."""
    return mean([*accuracy[:m], *frozen[m:]])


def delayed(latency, reference, speed=1):
    """The predecessor's loop: a counter of batches still to be skipped."""
    delay, served = 0, []
    for i, time in enumerate(latency):
        if delay:
            delay -= 1
            continue
        served.append(i)
        delay = max(0, -(-time * speed // reference) - 1)
    return served


def hybrid(accuracy, intrinsic, extrinsic, frozen, *, arrival, reference, threshold, budget):
    """Utility, served batches and how many were adapted to; one waiting place, the freshest wins."""
    now, spent, adapting, adapted, gain, served, todo = 0, 0, True, 0, Fraction(0), [], 0
    while todo < len(arrival):
        there = [i for i in range(todo, len(arrival)) if arrival[i] <= now]
        batch = there[-1] if there else todo
        now = max(now, arrival[batch])
        cost = max(0, intrinsic[batch] + extrinsic[batch] - reference)
        adapting = adapting and spent + cost <= budget
        e, rest, a = (
            (intrinsic[batch], extrinsic[batch], accuracy[batch]) if adapting else (reference, 0, frozen[batch])
        )
        spent, adapted = spent + cost * adapting, adapted + adapting
        late = max(0, now + e - arrival[batch] - reference)
        gain += a / (1 + Fraction(late, threshold - reference))
        served.append(batch)
        now, todo = now + e + rest, batch + 1
    return gain / len(arrival), served, adapted
