"""Each entry of book/errata/cl.yml, shown: the claim fails, and what is said to hold instead does."""

import itertools
from pathlib import Path

import numpy as np
import pytest

from helpers import cl, results
from helpers.errors import InputError

LOGS = Path(__file__).parent / "logs"
WORKED = cl.AccuracyMatrix([[90, 12, 9], [92, 88, 14], [75, 63, 93]], baseline=10)
COLLAPSE = cl.AccuracyMatrix(99 * np.eye(5), baseline=10, reference=97, scenario="class")


def value(id, matrix, **options):
    return cl.metric(id, matrix, **options).value


def published(table):
    """Rows of a table as {(row, column): value}."""
    return {(row["row"], row["column"]): row["value"] for row in results.published("cl", table)}


def test_lca_is_not_0_19():
    notebook = published("agem-permuted-mnist")
    areas = {method: area for (method, column), area in notebook.items() if column == "LCA"}
    assert min(areas, key=areas.get) == "PNN"
    assert round(areas["PNN"], 2) == 0.20
    assert published("text")["PNN", "Permuted MNIST LCA"] == 0.19


def test_lca_in_print_is_a_trapezoid():
    curves = [[0.1, 0.3, 0.5, 0.6], [0.2, 0.2, 0.4, 0.8]]
    mean, trapezoid = (cl.lca(curves, beta=3, form=form).value for form in ("agem", "trapz"))
    z = cl.average_curve(curves, beta=3)
    assert mean == pytest.approx(0.3875) == z.mean()
    assert trapezoid == pytest.approx(0.375) == np.trapezoid(z) / 3
    printed = published("agem-lca")
    ends = 2 * (11 * printed["GEM", "LCA sum"] - 10 * printed["GEM", "LCA trapezoid"])
    assert 0 < ends < 1  # what both forms of one curve imply for its two ends is possible
    assert printed["GEM", "LCA sum"] != pytest.approx(printed["GEM", "LCA trapezoid"], abs=0.002)
    straight = [[0.0, 0.5, 1.0]]
    assert cl.lca(straight, beta=2).value == cl.lca(straight, beta=2, form="trapz").value


def test_two_phase_threshold_is_relative():
    accuracy = {8: 0.50, 4: 0.65, 2: 0.71, 1: 0.73}
    relative = cl.two_phase_search(accuracy.get, 8, best=0.9)
    absolute = cl.two_phase_search(accuracy.get, 8, best=0.9, relative=False)
    assert (relative.value, len(relative.attempts)) == (1, 4)
    assert (absolute.value, len(absolute.attempts)) == (2, 3)
    assert (relative.threshold, absolute.threshold) == pytest.approx((0.72, 0.70))
    text = published("text")
    assert (text["two-phase selection", "threshold p"], text["two-phase selection", "decay alpha"]) == (0.2, 0.5)


def test_failure_is_no_infinity():
    with pytest.raises(InputError, match="inf"):
        cl.AccuracyMatrix([[np.inf, 0], [0, 1]], scale="free")
    found = cl.two_phase_search({4: None, 2: 0.8}.get, 4, best=0.9)
    assert found.to_dict()["attempts"][0]["accuracy"] == "failed"


def test_best_moment_is_not_unique():
    peaked = cl.AccuracyMatrix([[70, 85, 40], [72, 80, 45], [71, 78, 82]])
    found = [value(f"forgetting.{which}", peaked) for which in ("rwalk", "continuum", "avalanche")]
    assert found == [4.0, 1.5, 0.5]
    unseen = cl.AccuracyMatrix([[70, None, None], [72, 80, None], [71, 78, 82]])
    assert value("forgetting.rwalk", unseen) == value("forgetting.continuum", unseen) == 1.5


def test_forgetting_may_be_negative():
    rising = cl.AccuracyMatrix([[50, 20, 20], [60, 70, 30], [65, 75, 80]])
    assert value("forgetting.rwalk", rising) == -5.0
    assert value("forgetting.inclusive", rising) == value("forgetting.raptormai", rising) == 0.0
    assert value("forgetting.raptormai", WORKED) == pytest.approx(value("forgetting.inclusive", WORKED) * 2 / 3)


def test_avalanche_forgetting_has_no_maximum():
    matrices = np.random.default_rng(0).uniform(0, 100, size=(50, 6, 6))
    ids = ["forgetting.avalanche", "bwt.gem", "forgetting.continuum"]
    minus, transfer, maximum = (cl.metrics_of(matrices, ids=ids)[id] for id in ids)
    assert np.allclose(minus, -transfer)
    assert np.all(maximum >= minus - 1e-9)
    assert np.mean(maximum - minus) > 1


def test_script_divides_by_all_tasks():
    for kind in ("bwt", "fwt"):
        assert value(f"{kind}.gem_script", WORKED) == pytest.approx(value(f"{kind}.gem", WORKED) * 2 / 3)
    assert value("trace.bwt", WORKED) == value("bwt.gem_script", WORKED)
    [run] = cl.read(LOGS / "gem" / "gem.txt")
    assert cl.reconcile(run.matrix, -0.0362, digits=4).matches == ("bwt.gem_script", "trace.bwt")
    assert cl.reconcile(run.matrix, -0.0216, digits=4).matches == ("fwt.gem_script",)


def test_later_moments_are_another_formula():
    assert round(value("bwt.dr", WORKED), 2) == -12.67
    pairs = np.random.default_rng(1).uniform(0, 100, size=(50, 2, 2))
    found = cl.metrics_of(pairs, ids=["bwt.gem", "bwt.dr"])
    assert np.allclose(found["bwt.gem"], found["bwt.dr"])
    peaked = cl.AccuracyMatrix([[70, 85, 40], [72, 80, 45], [71, 78, 82]])
    assert value("bwt.gem", peaked) < 0 < value("bwt.dr", peaked)


def test_average_accuracy_is_three_numbers():
    sized = cl.AccuracyMatrix(WORKED.values, n=[300, 100, 100])
    found = [value(id, sized) for id in ("acc.final", "aia.task_mean", "aia.icarl")]
    by_samples = (90 + (3 * 92 + 88) / 4 + (3 * 75 + 63 + 93) / 5) / 3
    assert found == pytest.approx([77, 257 / 3, by_samples])
    assert [round(number, 2) for number in found] == [77, 85.67, 85.73]


def test_no_forward_transfer_in_class_il():
    found = cl.metric("fwt.gem", COLLAPSE)
    assert found.value is None
    assert "Class-IL" in found.reason
    for level in (50, 99):  # whatever was learned, what would come out is minus the baseline
        plain = cl.AccuracyMatrix(level * np.eye(5), baseline=10)
        assert value("fwt.gem", plain) == -10


def test_zeros_are_not_observations():
    seen = cl.AccuracyMatrix([[80, None, None], [78, 82, 40], [74, 80, 85]], baseline=[None, None, 35])
    assert value("fwt.gem", seen) is None
    assert value("fwt.gem", seen, observed_only=True) == 5.0
    filled = cl.AccuracyMatrix(np.nan_to_num(seen.values), baseline=[0, 10, 35])
    assert value("fwt.gem", filled) == -2.5
    assert any("0 invents a transfer" in warning for warning in filled.warnings)
    [path] = (LOGS / "facil").rglob("acc_tag-*.txt")
    [run] = cl.read(path, "facil")
    above = np.triu(np.ones_like(run.matrix.missing), 1)
    assert run.matrix.missing[above].all()
    assert "0.000000" in path.read_text(encoding="utf-8")


def test_a_hole_hides_the_peak():
    holed = cl.AccuracyMatrix([[80, 20, 20], [78, None, 40], [74, 70, 85]])
    skipped = (np.nanmax(holed.values[:-1], axis=0) - holed.values[-1])[:-1]
    assert skipped.mean() == -22
    assert value("forgetting.rwalk", holed) is None
    before = cl.AccuracyMatrix([[80, None, None], [78, 75, None], [74, 70, 85]])
    assert value("forgetting.rwalk", before) == 5.5


def test_five_runs_cannot_tell():
    for count, reaches in ((5, False), (6, True)):
        keys = [(seed, 0) for seed in range(count)]
        better = dict(zip(keys, np.arange(1.0, count + 1), strict=True))
        found = cl.paired(better, dict.fromkeys(keys, 0.0))
        assert found.sign_flip.p_value == 2 / 2**count
        assert (found.sign_flip.p_value < 0.05) is reaches
        assert any("sign-flip test cannot fall below" in warning for warning in found.warnings) is not reaches


def test_bound_needs_a_name():
    bounds = {
        (n, method): cl.upper_bound(0, n, method=method) for n in (298, 299) for method in ("clopper-pearson", "wilson")
    }
    assert [key for key, bound in bounds.items() if bound > 0.01] == [(298, "clopper-pearson")]
    assert round(100 * bounds[298, "clopper-pearson"], 4) == 1.0002
    verdict = cl.gate({"harmful": (0, 298)}, limits={"violations": 0.01}, required=("harmful",))
    assert (verdict.passed, verdict.method) == (False, "clopper-pearson")


def test_order_disparity_holds_position():
    by_position = [60.0, 70.0, 95.0]
    orders = list(itertools.permutations(range(3)))
    scores = [[by_position[order.index(task)] for task in range(3)] for order in orders]
    assert np.ptp(np.mean(scores, axis=1)) == 0
    assert cl.order_sensitivity(scores).aopd.value == 35.0
    trained = cl.order_sensitivity([by_position] * 6, permutations=dict(enumerate(orders)))
    assert trained.aopd.value == 35.0


def test_intransigence_alone_flatters():
    assert value("intransigence.rwalk", COLLAPSE) == -2.0
    assert value("acc.final", COLLAPSE) == pytest.approx(19.8)
