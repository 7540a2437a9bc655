"""Intervals under rules of stopping: what a simulation of them says, and that it says what the public functions do."""

import json
import math
from typing import ClassVar

import numpy as np
import pytest

from helpers import ppat
from helpers.errors import InputError
from helpers.ppat import optional_stopping

from . import simulation

NICE = simulation.regression(2000, seed=1)


class TestStopping:
    """Three rules of stopping, from the same runs."""

    pool = ppat.Pool(simulation.zero_one(NICE).loss, proxy_loss=simulation.zero_one(NICE).proxy)
    options: ClassVar = {"budget": 200, "width": 0.12, "first": 30, "epsilon": 0.3, "seed": 4, "tightest": 120}

    def test_only_the_sequence_survives_all_rules(self):
        """1000 runs. Uniform draws, for which a bound of the loss is worth most."""
        found = ppat.stopping(
            self.pool, np.ones(2000), **{**self.options, "epsilon": 1.0, "width": 0.1, "budget": 300}, bounds=(0, 1)
        )
        fixed, safe = (
            {rule: found.row(kind, rule) for rule in optional_stopping.RULES}
            for kind in ("fixed number", "time-uniform")
        )
        assert fixed["fixed budget"]["coverage"] == pytest.approx(0.9, abs=0.03)
        assert fixed["target excluded"]["coverage"] < 0.6
        assert fixed["every look"]["coverage"] == fixed["target excluded"]["coverage"]
        assert fixed["narrow enough"]["labels"] < 250
        for row in safe.values():
            assert row["coverage"] >= 0.9
        assert safe["fixed budget"]["labels"] == 300
        assert safe["fixed budget"]["width"] > fixed["fixed budget"]["width"]

    @pytest.mark.parametrize("bounds", [None, (0, 1)])
    @pytest.mark.parametrize("proxy", [{}, {"control": 0.7}, {"control": 0.7, "intercept": True}], ids=str)
    def test_is_what_the_public_functions_say(self, bounds, proxy):
        scores, target = NICE.scores, 0.3
        found = ppat.stopping(
            self.pool, scores, trials=12, bounds=bounds, target=target, confidence=0.6, **self.options, **proxy
        )
        indices, q = ppat.sample(scores, 200, trials=12, epsilon=0.3, seed=4)
        expected: dict = {}
        for index, share in zip(indices, q, strict=True):
            given = {"loss": self.pool.loss[index], "q": share, "pool_size": 2000, "confidence": 0.6}
            if proxy:
                over = self.pool.proxy_loss
                given |= {"proxy_loss": over[index], "pool_proxy_loss": over, **proxy}
            fixed = ppat.estimates(**given)
            limits = {} if bounds is None else {"bounds": bounds, "epsilon": 0.3}
            safe = ppat.confidence_sequence(**given, **limits, first=30, tightest=120)
            for kind, ends in (("fixed number", fixed), (safe.kind, safe)):
                looks = range(30, 201)
                intervals = {m: (ends.low[m - 1], ends.high[m - 1]) for m in looks}
                narrow = [m for m in looks if intervals[m][1] - intervals[m][0] <= 0.12]
                out = [m for m in looks if not intervals[m][0] <= target <= intervals[m][1]]
                covers = {m: low <= self.pool.risk <= high for m, (low, high) in intervals.items()}
                for rule, at in (
                    ("fixed budget", 200),
                    ("narrow enough", [*narrow, 200][0]),
                    ("target excluded", [*out, 200][0]),
                ):
                    span = intervals[at][1] - intervals[at][0]
                    expected.setdefault((kind, rule), []).append((at, covers[at], span))
                expected.setdefault((kind, "every look"), []).append((200, all(covers.values()), np.nan))
        assert len(found.rows) == len(expected) == 8
        for (kind, rule), trials in expected.items():
            row, (labels, covered, width) = found.row(kind, rule), np.array(trials, dtype=float).T
            assert row["labels"] == pytest.approx(labels.mean())
            assert row["coverage"] == pytest.approx(covered.mean())
            assert row["early"] == pytest.approx(np.mean(labels < 200))
            if rule != "every look":
                assert row["width"] == pytest.approx(width.mean(), rel=1e-9)
                assert row["width_se"] == pytest.approx(width.std(ddof=1) / math.sqrt(12), rel=1e-9)
        if bounds is None:  # the rules do stop
            assert 30 < found.row("fixed number", "target excluded")["labels"] < 200

    def test_batches_change_nothing(self, monkeypatch):
        whole = ppat.stopping(self.pool, NICE.scores, trials=7, **self.options)
        monkeypatch.setattr(optional_stopping, "DRAWS", 2400)
        assert ppat.stopping(self.pool, NICE.scores, trials=7, **self.options) == whole

    def test_report(self):
        found = ppat.stopping(self.pool, NICE.scores, trials=3, **self.options)
        assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["budget"] == 200
        assert len(repr(found).splitlines()) == 9
        with pytest.raises(InputError, match="no row of 'time-uniform'"):
            found.row("time-uniform", "fixed budget")

    def test_runs_without_an_interval_are_counted(self):
        """Two of 2000 points have a loss: most runs see none, and say so."""
        pool = ppat.Pool(np.eye(1, 2000, 5)[0] + np.eye(1, 2000, 9)[0])
        found = ppat.stopping(pool, np.ones(2000), trials=20, **{**self.options, "epsilon": 1.0})
        row = found.row("asymptotic time-uniform", "fixed budget")
        assert 10 < row["undefined"] < 20
        assert row["width"] > 0  # in the mean over the others

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"budget": 20}, "budget is 20 and first is 30"),
            ({"budget": 3000}, "budget is 3000"),
            ({"width": 0}, "width is 0"),
            ({"target": "low"}, "target is 'low'"),
            ({"bounds": (0, 0.5)}, "outside bounds"),
            ({"bounds": (0, 1), "epsilon": 0.0}, "epsilon is 0, but bounds"),
            ({"intercept": True}, "intercept is True, but there is no control"),
            ({"trials": 1}, "trials is 1"),
            ({"scores": np.ones(7)}, "scores has 7 values"),
            ({"pool": ppat.Pool(np.ones(2000)), "control": 1.0}, "no proxy_loss"),
            ({"variance": "best"}, "variance is 'best'"),
        ],
    )
    def test_refusals(self, change, message):
        options = {"pool": self.pool, "scores": NICE.scores, "trials": 2, **self.options, **change}
        with pytest.raises(InputError, match=message):
            ppat.stopping(options.pop("pool"), options.pop("scores"), **options)
