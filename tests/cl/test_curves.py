"""Learning curve area: worked example E10, a published curve, and the definition written out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.cl.curves import average_curve, lca
from helpers.errors import InputError

E10 = [[0.1, 0.3, 0.5, 0.6], [0.2, 0.2, 0.4, 0.8]]
# Z_0..Z_10 of GEM, as printed in plotting_code/agem_plots.ipynb of the A-GEM repository (MIT), commit 4542149.
GEM_MNIST = [
    *(0.09812353, 0.1610647, 0.17345884, 0.20008238, 0.19457644, 0.23791176),
    *(0.26005882, 0.27361766, 0.30264702, 0.32512945, 0.32201171),
]
GEM_CIFAR = [
    *(0.20129414, 0.27117646, 0.3057647, 0.35011765, 0.368, 0.38694119),
    *(0.36729413, 0.40600002, 0.4105882, 0.43294117, 0.42964703),
]


def test_worked_example_10():
    assert average_curve(E10, beta=3) == pytest.approx([0.15, 0.25, 0.45, 0.7])
    assert [lca(E10, beta=b).value for b in range(4)] == pytest.approx([0.15, 0.2, 0.28333333, 0.3875])
    assert [lca(E10, beta=b, form="trapz").value for b in range(4)] == pytest.approx([0.15, 0.2, 0.275, 0.375])


@pytest.mark.parametrize(("curve", "area"), [(GEM_MNIST, 0.233861469), (GEM_CIFAR, 0.3614294105)])
def test_the_notebook_of_a_gem_prints_the_trapezoid(curve, area):
    assert lca([curve], form="trapz").value == pytest.approx(area, abs=1e-9)


def test_the_definition_gives_another_number_for_the_same_curve():
    assert lca([GEM_MNIST]).value == pytest.approx(0.231698, abs=5e-7)


@given(st.lists(st.lists(st.floats(0, 1), min_size=5, max_size=5), min_size=1, max_size=4), st.integers(0, 4))
def test_both_forms_are_what_they_are_called(curves, beta):
    z = np.mean(curves, axis=0)[: beta + 1]
    assert lca(curves, beta=beta).value == pytest.approx(sum(z) / (beta + 1))
    if beta:
        assert lca(curves, beta=beta, form="trapz").value == pytest.approx(np.trapezoid(z) / beta)


def test_later_points_do_not_matter():
    longer = [[*curve, 99.0] for curve in E10]
    assert lca(longer, beta=3) == lca(E10, beta=3)


def test_a_missing_point_leaves_it_undefined():
    found = lca([[0.1, 0.3, 0.5], [0.2, None, 0.4]], beta=2)
    assert (found.id, found.value, found.coverage) == ("lca.agem", None, (5, 6))
    assert found.reason.startswith("curve 1 has no point for minibatch 1")
    short = lca([[0.1, 0.3, 0.5], [0.2]], beta=2, form="trapz")
    assert (short.value, short.coverage) == (None, (4, 6))
    assert short.reason.startswith("curve 1 has no point for minibatch 1")


def test_the_average_curve_keeps_gaps():
    assert np.isnan(average_curve([[0.1, 0.3], [0.2]], beta=2)).tolist() == [False, True, True]


def test_to_dict_is_json():
    assert lca(E10, beta=3).to_dict()["coverage"] == [8, 8]
    assert lca(E10, beta=3).direction == "higher"


@pytest.mark.parametrize(
    ("curves", "options", "message"),
    [
        ([], {}, "curves is empty"),
        (3, {}, "curves is empty"),
        ([[0.1, np.inf]], {}, "curves[0][1] is inf: a score is finite"),
        ([[0.1], ["a"]], {}, "curves[1] has type"),
        ([[[0.1]]], {}, "curves[0] has shape (1, 1)"),
        (E10, {"form": "simpson"}, "form is 'simpson': choose one of agem, trapz"),
        (E10, {"beta": -1}, "beta is -1"),
    ],
)
def test_refusals(curves, options, message):
    with pytest.raises(InputError) as refusal:
        lca(curves, **options)
    assert message in str(refusal.value)


def test_a_beta_beyond_memory_is_refused():
    with pytest.raises(InputError, match="beta is 1000000000000: give at most 1000000 minibatches"):
        lca([[0.1, 0.2]], beta=10**12)
