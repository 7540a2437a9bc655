"""Models compared, the best of several, several losses, labels saved: from one set of labels."""

import json
import math

import numpy as np
import pytest
from scipy import stats

from helpers import ppat
from helpers.errors import InputError
from helpers.ppat.control import controlled
from helpers.ppat.weighting import uniform_q

from . import simulation


def models(k=3, count=40, size=100, seed=0):
    """Losses of k models on the same points, with a proxy each."""
    rng = np.random.default_rng(seed)
    common = rng.gamma(2, size=size)
    pool = common + rng.normal(0, 0.3, (k, size)) + 0.1 * np.arange(k)[:, None]
    proxies = pool + rng.normal(0, 0.2, (k, size))
    index = rng.permutation(size)[:count]
    q = np.minimum(rng.uniform(0.5, 2, count) * uniform_q(count, size), 1)
    given = {"q": q, "pool_size": size, "proxy_losses": proxies[:, index], "pool_proxy_losses": proxies}
    return pool[:, index], given


class TestDifference:
    def test_it_is_the_estimate_of_the_differences(self):
        losses, given = models(k=2)
        for options in ({}, {"control": "dagger", "confidence": 0.8}, {"intercept": True, "variance": "unbiased"}):
            direct = ppat.estimate(
                losses[0] - losses[1],
                given["q"],
                pool_size=100,
                proxy_loss=given["proxy_losses"][0] - given["proxy_losses"][1],
                pool_proxy_loss=given["pool_proxy_losses"][0] - given["pool_proxy_losses"][1],
                **options,
            )
            assert ppat.difference(losses, **given, **options) == direct

    def test_means_do_for_a_fixed_control(self):
        losses, given = models(k=2)
        means = given.pop("pool_proxy_losses").mean(axis=1)
        whole = ppat.difference(losses, **given, pool_proxy_losses=models(k=2)[1]["pool_proxy_losses"])
        by_mean = ppat.difference(losses, **given, proxy_means=means)
        assert by_mean.risk == pytest.approx(whole.risk, rel=1e-12)
        assert by_mean.std_error == pytest.approx(whole.std_error, rel=1e-12)

    def test_it_is_antisymmetric(self):
        losses, given = models(k=2)
        flipped = {**given, **{key: given[key][::-1] for key in ("proxy_losses", "pool_proxy_losses")}}
        first, second = ppat.difference(losses, **given), ppat.difference(losses[::-1], **flipped)
        assert second.risk == pytest.approx(-first.risk)
        assert (-second.high, -second.low) == pytest.approx(first.interval)

    def test_pairs_are_tighter_than_two_intervals(self):
        losses, given = models(k=2)
        plain = {"q": given["q"], "pool_size": 100}
        pair = ppat.difference(losses, **plain)
        apart = math.hypot(*(ppat.estimate(loss, **plain).std_error for loss in losses))
        assert pair.std_error < 0.6 * apart

    def test_a_model_against_itself(self):
        losses, _ = models(k=2)
        found = ppat.difference([losses[0], losses[0]], uniform_q(40, 100), pool_size=100)
        assert (found.risk, found.low, found.high) == (0, 0, 0)


class TestBest:
    def test_by_hand(self):
        losses, given = models(k=3)
        found = ppat.best(losses, **given, confidence=0.9)
        z = stats.norm.ppf(1 - 0.1 / 2)
        pairs = {}
        for i in range(3):
            for j in range(3):
                if i != j:
                    rows = [i, j]
                    part = {key: given[key][rows] for key in ("proxy_losses", "pool_proxy_losses")}
                    pair = ppat.difference(losses[rows], q=given["q"], pool_size=100, **part)
                    pairs[i, j] = (pair.risk, z * pair.std_error)
        others = {i: [pairs[i, j] for j in range(3) if j != i] for i in range(3)}
        assert found.candidates == tuple(i for i in range(3) if all(d <= w for d, w in others[i]))
        assert found.regret == pytest.approx([max(0, max(d + w for d, w in others[i])) for i in range(3)])
        assert found.selected == int(np.argmin([risk.risk for risk in found.risks])) == 0
        single = {"proxy_loss": given["proxy_losses"][1], "pool_proxy_loss": given["pool_proxy_losses"][1]}
        assert found.risks[1] == ppat.estimate(losses[1], given["q"], pool_size=100, **single)
        json.dumps(found.to_dict(), allow_nan=False)

    def test_a_clear_winner(self):
        losses, given = models(k=3)
        losses = losses + np.array([[5.0], [0.0], [5.0]])
        found = ppat.best(losses, given["q"], pool_size=100)
        assert (found.selected, found.candidates, found.regret[1]) == (1, (1,), 0.0)
        assert found.regret[0] > 4

    def test_two_models(self):
        losses, given = models(k=2)
        found = ppat.best(losses, **given, confidence=0.95)
        pair = ppat.difference(losses, **given)
        assert found.regret[0] == pytest.approx(max(0, pair.risk + stats.norm.ppf(0.95) * pair.std_error))

    def test_one_label_excludes_nothing(self):
        found = ppat.best([[1.0], [2.0]], [0.1], pool_size=10)
        assert (found.candidates, found.regret) == ((0, 1), None)
        assert found.reason == "one label says nothing of the spread"
        assert json.loads(json.dumps(found.to_dict()))["regret"] is None

    def test_everything_holds_at_once(self):
        """Four models close together: the best is a candidate and no regret exceeds its bound, in 90% of runs at least.

        Bonferroni over three correlated comparisons is conservative; 400 runs know a coverage of .9 to .015.
        """
        rng = np.random.default_rng(3)
        size, count, trials = 400, 80, 400
        pool = rng.gamma(2, size=size) + rng.normal(0, 0.5, (4, size)) + 0.1 * np.arange(4)[:, None]
        scores = np.exp(0.5 * rng.normal(size=size))
        case = simulation.Case(pool[0], pool[0], scores, epsilon=0.2)
        index, q = simulation.draws(case, count, trials, seed=4)
        regrets = pool.mean(axis=1) - pool.mean(axis=1).min()
        holds = excluded = 0
        for row, share in zip(index, q, strict=True):
            found = ppat.best(pool[:, row], share, pool_size=size)
            holds += int(np.argmin(regrets)) in found.candidates and bool(np.all(regrets <= found.regret))
            excluded += 4 - len(found.candidates)
        assert holds / trials > 0.9 - 3 * np.sqrt(0.09 / trials)
        assert excluded > trials  # it is not that nothing were ever said


class TestSeveralLosses:
    P = np.array([[0.7, 0.2, 0.1], [0.1, 0.0, 0.9], [0.4, 0.4, 0.2]])

    def test_losses_of_a_classifier(self):
        labels = [0, 1, 2]
        zero_one, cross, squared = (
            ppat.label_losses(ppat.class_losses(self.P, kind), labels)
            for kind in ("zero_one", "cross_entropy", "squared")
        )
        assert list(zero_one) == [0, 1, 1]
        assert cross == pytest.approx([-np.log(0.7), -np.log(1e-12), -np.log(0.2)])
        onehot = np.eye(3)[labels]
        assert squared == pytest.approx(np.sum((self.P - onehot) ** 2, axis=1))

    def test_certainty_that_is_right_costs_nothing(self):
        assert list(ppat.class_losses([[1.0, 0.0]], "cross_entropy")[0]) == [0, -np.log(1e-12)]

    def test_ties_go_to_the_first_class(self):
        assert list(ppat.class_losses(self.P, "zero_one")[2]) == [0, 1, 1]

    def test_soft_pseudo_labels(self):
        soft = np.array([[0.5, 0.5, 0], [0, 1, 0], [0.2, 0.3, 0.5]])
        table = ppat.class_losses(self.P, "squared")
        assert ppat.label_losses(table, soft) == pytest.approx(
            [row @ losses for row, losses in zip(soft, table, strict=True)]
        )
        assert ppat.label_losses(table, np.eye(3)) == pytest.approx(ppat.label_losses(table, [0, 1, 2]))

    @pytest.mark.parametrize(
        ("call", "message"),
        [
            (
                lambda p: ppat.class_losses(p, "hinge"),
                "kind is 'hinge': choose one of zero_one, cross_entropy, squared",
            ),
            (lambda p: ppat.class_losses(p[0], "squared"), "probabilities has shape (3,)"),
            (lambda p: ppat.class_losses(2 * p, "squared"), "probabilities[0, 0] is 1.4"),
            (lambda p: ppat.class_losses(-p, "squared"), "probabilities[0, 0] is -0.7"),
            (lambda p: ppat.class_losses(0.9 * p, "squared"), "probabilities[0] sums to 0.9"),
            (lambda p: ppat.class_losses(np.full((1, 2), np.nan), "squared"), "probabilities[0, 0] is nan"),
            (lambda p: ppat.label_losses(p, [0, 1]), "labels has shape (2,)"),
            (lambda p: ppat.label_losses(p, [0, 1, 3]), "labels[2] is 3"),
            (lambda p: ppat.label_losses(p, np.full((3, 2), 0.5)), "labels has shape (3, 2) and table (3, 3)"),
        ],
    )
    def test_refused_losses(self, call, message):
        with pytest.raises(InputError) as refusal:
            call(self.P)
        assert message in str(refusal.value)

    def test_each_loss_is_estimated_on_its_own(self):
        losses, given = models(k=2)
        names = {"first": 0, "second": 1}
        found = ppat.risks(
            {name: losses[i] for name, i in names.items()},
            given["q"],
            pool_size=100,
            proxy_losses={name: given["proxy_losses"][i] for name, i in names.items()},
            pool_proxy_losses={name: given["pool_proxy_losses"][i] for name, i in names.items()},
            control=0.5,
        )
        for name, i in names.items():
            proxy = {"proxy_loss": given["proxy_losses"][i], "pool_proxy_loss": given["pool_proxy_losses"][i]}
            assert found[name] == ppat.estimate(losses[i], given["q"], pool_size=100, control=0.5, **proxy)

    def test_simultaneous_intervals(self):
        losses, given = models(k=2)
        named = {"a": losses[0], "b": losses[1]}
        found = ppat.risks(named, given["q"], pool_size=100, simultaneous=True)
        assert found["a"] == ppat.estimate(losses[0], given["q"], pool_size=100, confidence=0.95)

    @pytest.mark.parametrize(
        ("call", "message"),
        [
            (lambda: ppat.risks({}, [0.1], pool_size=9), "losses is empty or no mapping"),
            (lambda: ppat.risks([1.0], [0.1], pool_size=9), "losses is empty or no mapping"),
            (
                lambda: ppat.risks({"a": [1.0]}, [0.1], pool_size=9, proxy_losses={"b": [1.0]}),
                "proxy_loss has b and losses has a",
            ),
            (lambda: ppat.risks({"a": [1.0], "b": [math.nan]}, [0.1], pool_size=9), "b: loss[0] is nan"),
            (lambda: ppat.risks({"a": [1.0]}, [0.1], pool_size=9, confidence=2), "confidence is 2"),
            (lambda: ppat.difference([[1.0]], [0.1], pool_size=9), "losses has 1 rows: give two models"),
            (lambda: ppat.best([[1.0]], [0.1], pool_size=9), "losses has 1 row: give at least two models"),
            (lambda: ppat.best([[1.0], [2.0]], [0.1], pool_size=9, confidence=0), "confidence is 0"),
            (lambda: ppat.difference([1.0, 2.0], [0.1], pool_size=9), "losses has shape (2,)"),
            (lambda: ppat.difference([[1.0], [math.inf]], [0.1], pool_size=9), "losses[1, 0] is inf"),
            (
                lambda: ppat.difference([[1.0, 2], [2.0, 3]], [0.1], pool_size=9),
                "losses has shape (2, 2): give a row of 1 values",
            ),
            (
                lambda: ppat.difference([[1.0], [2.0]], [0.1], pool_size=9, proxy_losses=[[1.0]], proxy_means=[1, 1]),
                "proxy_losses has shape (1, 1): give a row of 1 values for each of 2 models",
            ),
            (
                lambda: ppat.difference(
                    [[1.0], [2.0]], [0.1], pool_size=9, proxy_losses=[[1.0], [1.0]], proxy_means=[1]
                ),
                "proxy_means has 1 values: give one for each of 2 models",
            ),
            (lambda: ppat.difference([[1.0], [2.0]], [0.1], pool_size=9, proxy_means=[1, 1]), "proxy_loss is missing"),
            (lambda: ppat.difference([[1.0], [2.0]], [1.5], pool_size=9), "q[0] is 1.5"),
        ],
    )
    def test_refusals(self, call, message):
        with pytest.raises(InputError) as refusal:
            call()
        assert message in str(refusal.value)


class TestLabelsSaved:
    def test_the_equivalent_number_gives_the_same_variance(self):
        found = ppat.labels_saved(0.02, 1.7, labels=100, pool_size=5000)
        n = found.equivalent
        assert (1 / n - 1 / 5000) * 1.7 == pytest.approx(0.02**2)
        assert found.saved == pytest.approx(n - 100)
        assert (found.error, found.reason) == (None, "one run has no Monte-Carlo error")

    def test_limits(self):
        assert ppat.labels_saved(0.0, 1.0, labels=5, pool_size=80).equivalent == pytest.approx(80)
        same = ppat.labels_saved(1.0, 0.0, labels=5, pool_size=80)
        assert (same.equivalent, same.saved, same.reason) == (
            None,
            None,
            "all losses are equal: one label is as good as all",
        )
        assert "undefined" in repr(same)
        assert ppat.labels_saved(9.0, 1.0, labels=5, pool_size=80).saved < 0
        json.dumps(same.to_dict(), allow_nan=False)

    def test_uniform_labels_save_nothing(self):
        """By the unbiased variance, whose mean is exact; the Monte-Carlo error says how near zero to expect."""
        loss = np.random.default_rng(0).gamma(2, size=500)
        index, q = simulation.uniform_draws(500, 60, 3000, seed=1)
        errors = np.sqrt(controlled(loss[index], q, 500).variance_at(60, "unbiased"))
        found = ppat.labels_saved(errors, loss.var(ddof=1), labels=60, pool_size=500)
        assert abs(found.saved) < 3.3 * found.error
        assert found.error < 1

    @pytest.mark.parametrize("known", [True, False])
    def test_monte_carlo_error(self, known):
        """The error of a block is the scatter over blocks: 40 blocks know it to 11%, three times that is allowed."""
        case = simulation.regression(600, seed=2)
        index, q = simulation.draws(case, 50, 40 * 60, seed=3)
        run = controlled(case.loss[index], q, 600, centred=case.centred[index])
        errors = np.sqrt(run.variance_at(50, "unbiased"))
        spread: np.ndarray | float = case.loss.var(ddof=1)
        if not known:
            lure, square = controlled(case.loss[index], q, 600), controlled(case.loss[index] ** 2, q, 600)
            spread = 600 / 599 * (square.estimate_at(50) - lure.estimate_at(50) ** 2 + lure.variance_at(50, "unbiased"))
            spread = np.maximum(spread, 0)
        blocks = [
            ppat.labels_saved(
                errors[i : i + 60],
                spread if known else spread[i : i + 60],
                labels=50,
                pool_size=600,
            )
            for i in range(0, 2400, 60)
        ]
        scatter = np.std([block.equivalent for block in blocks], ddof=1)
        assert np.mean([block.error for block in blocks]) == pytest.approx(scatter, rel=0.35)
        assert np.mean([block.saved for block in blocks]) > 20  # what a good proxy is worth on this pool
        assert blocks[0].trials == 60

    def test_pool_variance_of_the_whole_pool(self):
        loss = np.array([1.0, 4.0, 2.0, 9.0])
        found = ppat.pool_variance(loss, uniform_q(4, 4), pool_size=4)
        assert found.value == pytest.approx(loss.var(ddof=1))

    def test_pool_variance_that_is_undefined(self):
        assert ppat.pool_variance([1.0], [1.0], pool_size=1).reason == "a pool of one point has no variance"
        few = ppat.pool_variance([1.0, 2.0], [0.1, 0.1], pool_size=10)
        assert (few.value, few.reason) == (None, "2 of 10 labels do not have an unbiased variance")
        negative = ppat.pool_variance([1.0] * 5, [1 / 200] * 5, pool_size=100)
        assert (negative.value, negative.reason) == (None, "so few labels give a negative estimate")

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (([0.1, -0.1], 1.0, 5, 10), "std_error[1] is -0.1: give numbers of at least 0"),
            ((0.1, -1.0, 5, 10), "variance[0] is -1.0"),
            ((math.nan, 1.0, 5, 10), "std_error[0] is nan"),
            (([0.1] * 3, [1.0] * 2, 5, 10), "std_error has 3 values and variance 2"),
            ((0.1, 1.0, 11, 10), "labels is 11 and pool_size is 10"),
            ((0.1, 1.0, 0, 10), "labels is 0"),
            ((0.1, 1.0, 5, 2.5), "pool_size is 2.5"),
        ],
    )
    def test_refusals(self, arguments, message):
        std_error, variance, labels, size = arguments
        with pytest.raises(InputError) as refusal:
            ppat.labels_saved(std_error, variance, labels=labels, pool_size=size)
        assert message in str(refusal.value)
