"""All metrics of many accuracy matrices against a loop that takes one matrix at a time.

The loop is what a user would write: NumPy on one matrix, every formula in as few operations as it needs. It computes
the same metrics, and the largest difference is printed. Few of its matrices are timed, and scaled to all.

    python benchmarks/cl.py [--runs 10000] [--tasks 20]

Other tools' own functions, on 2,000 matrices of 20 tasks, one thread, measured once from fetched copies in November
2026, because they cannot be installed here. Microseconds per matrix:

    Mammoth e75a491, backward_transfer, forward_transfer, forgetting   206     `metrics_of`, the same three   7.1
    Avalanche eb075be, functional.forgetting, its last row averaged    204     `metrics_of`, the same one     1.2

On the same matrices all four agree with bwt.gem, fwt.gem, forgetting.inclusive and forgetting.avalanche to 3e-14. On
30 random matrices of 2 to 7 tasks, so do continuum 43ba009 (bwt.dr, clear.next_domain, forgetting.continuum, acc.dr,
rem.dr, bwtplus.dr) to 3e-16, and the script of GEM 34c6b8e (acc.final, bwt.gem_script, and fwt.gem_script in single
precision).
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from helpers import cl
from helpers.cl.metrics import MATRIX_IDS

TIMED = 300


def main() -> None:
    """Print one line per claim."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--tasks", type=int, default=20)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    cells = rng.uniform(0.0, 100.0, (options.runs, options.tasks, options.tasks))
    baseline, reference = rng.uniform(0.0, 20.0, options.tasks), rng.uniform(80.0, 100.0, options.tasks)
    n, classes = rng.integers(50, 500, options.tasks), rng.integers(1, 9, options.tasks)
    given = {"baseline": baseline, "reference": reference, "n": n, "classes": classes}
    holed = np.where(rng.random(cells.shape) < 0.01, np.nan, cells)
    print(f"{options.runs} matrices of {options.tasks} tasks, {len(MATRIX_IDS)} metrics")

    loop, ours, with_holes = [], [], []
    timed = cells[:TIMED]
    for _ in range(5):  # in turn, so that other load on the machine hits both
        start = time.perf_counter()
        expected = [one(matrix, baseline, reference, n, classes) for matrix in timed]
        loop.append((time.perf_counter() - start) / len(timed) * options.runs)
        start = time.perf_counter()
        found = cl.metrics_of(cells, **given)
        ours.append(time.perf_counter() - start)
        start = time.perf_counter()
        cl.metrics_of(holed, **given)
        with_holes.append(time.perf_counter() - start)

    print(f"loop over matrices, scaled from {len(timed):4}       {min(loop):8.3f} s")
    print(f"metrics_of                              {min(ours):8.3f} s   ratio {min(loop) / min(ours):6.0f}")
    print(f"metrics_of, one cell in a hundred missing {min(with_holes):6.3f} s   (the loop skips no cell)")
    errors = [np.abs(found[id][: len(timed)] - [values[id] for values in expected]).max() for id in MATRIX_IDS]
    print(f"largest difference {max(errors):.1e}")


def one(
    a: np.ndarray, baseline: np.ndarray, reference: np.ndarray, n: np.ndarray, classes: np.ndarray
) -> dict[str, float]:
    """Every metric of one matrix; what several formulas share is computed once."""
    t = len(a)
    lower, upper, since = np.tril_indices(t, -1), np.triu_indices(t, 1), np.tril_indices(t)
    diagonal, ahead, last = a.diagonal(), a.diagonal(1), a[-1]
    moved, gained = last[:-1] - diagonal[:-1], ahead - baseline[1:]
    lost = a[:-1, :-1].max(axis=0) - last[:-1]
    lost_since = np.array([a[j:-1, j].max() for j in range(t - 1)]) - last[:-1]
    final, below, above, seen = last.mean(), a[lower].mean(), a[upper].mean(), a[since].mean()
    at_all_times = (a[lower] - diagonal[lower[1]]).mean()
    return {
        "acc.final": final,
        "bwt.gem": moved.mean(),
        "bwt.gem_script": moved.sum() / t,
        "fwt.gem": gained.mean(),
        "fwt.gem_script": gained.sum() / t,
        "forgetting.rwalk": lost.mean(),
        "forgetting.continuum": lost_since.mean(),
        "forgetting.inclusive": np.maximum(lost, 0.0).mean(),
        "forgetting.raptormai": (a.max(axis=0) - last).mean(),
        "forgetting.avalanche": -moved.mean(),
        "forgetting.worst": lost.max(),
        "intransigence.rwalk": reference[-1] - a[-1, -1],
        "learning_accuracy": diagonal.mean(),
        "aia.task_mean": np.mean([a[k, : k + 1].mean() for k in range(t)]),
        "aia.icarl": np.mean([a[k, : k + 1] @ n[: k + 1] / n[: k + 1].sum() for k in range(t)]),
        "wavg.facil": last @ classes / classes.sum(),
        "bwt.clear": below,
        "fwt.clear": above,
        "clear.in_domain": diagonal.mean(),
        "clear.next_domain": ahead.mean(),
        "clear.accuracy": seen,
        "bwt.dr": at_all_times,
        "rem.dr": 1.0 - abs(min(at_all_times, 0.0)) / 100.0,
        "bwtplus.dr": max(at_all_times, 0.0),
        "acc.dr": seen,
        "fwt.dr": above,
        "trace.op": final,
        "trace.bwt": moved.sum() / t,
    }


if __name__ == "__main__":
    main()
