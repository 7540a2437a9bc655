"""Every formula again, in plain loops over lists with None for missing: slow, and as close to the papers as code gets.

Times and tasks count from 1, as in the papers: ``a[k, j]`` is the score on task j after training task k.
"""

from __future__ import annotations


def cells(matrix):
    """A list of lists as {(k, j): score}, None for missing."""
    return {(k + 1, j + 1): matrix[k][j] for k in range(len(matrix)) for j in range(len(matrix))}


def mean(values):
    """The mean, or None where one is missing or there is none."""
    values = list(values)
    if not values or any(value is None for value in values):
        return None
    return sum(values) / len(values)


def less(first, second):
    """A difference, None where a side is missing."""
    return None if first is None or second is None else first - second


def forgotten(a, j, end, since, until):
    """Best of the moments from 1 to `until` less the end; moments before `since` may be missing, later ones may not."""
    best = None
    for k in range(1, until + 1):
        if a[k, j] is None:
            if k >= since:
                return None
            continue
        best = a[k, j] if best is None or a[k, j] > best else best
    return less(best, a[end, j])


def evaluate(matrix, *, baseline=None, reference=None, n=None, classes=None, higher=True, top=100.0):
    """All metrics of one matrix by id, None where undefined."""
    t = len(matrix)
    a = cells(matrix)
    # of differences: the same cells, higher always better
    sign = 1.0 if higher else -1.0
    s = {place: None if value is None else sign * value for place, value in a.items()}
    b = [None] * t if baseline is None else [None if x is None else sign * x for x in baseline]
    tasks = range(1, t + 1)
    old = range(1, t)

    moved = [less(s[t, i], s[i, i]) for i in old]
    ahead = [less(s[i - 1, i], b[i - 1]) for i in range(2, t + 1)]
    below = [(k, j) for k in tasks for j in tasks if k > j]
    above = [(k, j) for k in tasks for j in tasks if k < j]
    since = [(k, j) for k in tasks for j in tasks if k >= j]
    over_all_times = mean(less(s[k, j], s[j, j]) for k, j in below)
    lost = [forgotten(s, j, t, since=j, until=t - 1) for j in old]

    found = {
        "acc.final": mean(a[t, j] for j in tasks),
        "bwt.gem": mean(moved),
        "bwt.gem_script": scaled(mean(moved), (t - 1) / t),
        "fwt.gem": mean(ahead),
        "fwt.gem_script": scaled(mean(ahead), (t - 1) / t),
        "forgetting.rwalk": mean(lost),
        "forgetting.worst": None if not lost or None in lost else max(lost),
        "forgetting.continuum": mean(lost_since(s, t)),
        "forgetting.inclusive": mean(forgotten(s, j, t, since=j, until=t) for j in old),
        "forgetting.raptormai": mean(forgotten(s, j, t, since=j, until=t) for j in tasks) if t > 1 else None,
        "forgetting.avalanche": mean(less(s[i, i], s[t, i]) for i in old),
        "intransigence.rwalk": None if reference is None else scaled(less(reference[t - 1], a[t, t]), sign),
        "learning_accuracy": mean(a[k, k] for k in tasks),
        "aia.task_mean": mean(mean(a[k, j] for j in range(1, k + 1)) for k in tasks),
        "aia.icarl": None if n is None else mean(pooled(a, n, k) for k in tasks),
        "wavg.facil": None if classes is None else weighted([a[t, j] for j in tasks], classes),
        "bwt.clear": mean(a[place] for place in below),
        "fwt.clear": mean(a[place] for place in above),
        "clear.in_domain": mean(a[k, k] for k in tasks),
        "clear.next_domain": mean(a[k, k + 1] for k in old),
        "clear.accuracy": mean(a[place] for place in since),
        "bwt.dr": over_all_times,
        "rem.dr": None if over_all_times is None else 1.0 - abs(min(over_all_times / top, 0.0)),
        "bwtplus.dr": None if over_all_times is None else max(over_all_times, 0.0),
        "acc.dr": mean(a[place] for place in since),
        "fwt.dr": mean(a[place] for place in above),
        "trace.op": mean(a[t, j] for j in tasks),
        "trace.bwt": scaled(mean(moved), (t - 1) / t),
    }
    return found


def lost_since(s, t):
    """Forgetting with moments before training blanked."""
    blanked = {(k, j): value if k >= j else None for (k, j), value in s.items()}
    return [forgotten(blanked, j, t, since=j, until=t - 1) for j in range(1, t)]


def pooled(a, n, k):
    """Accuracy over all samples of tasks 1 to k after step k."""
    return weighted([a[k, j] for j in range(1, k + 1)], [n[k - 1][j - 1] for j in range(1, k + 1)])


def weighted(values, weights):
    """A weighted mean, None where a value is missing."""
    if any(value is None for value in values):
        return None
    return sum(value * weight for value, weight in zip(values, weights, strict=True)) / sum(weights)


def scaled(value, factor):
    """A multiple, None of None."""
    return None if value is None else value * factor
