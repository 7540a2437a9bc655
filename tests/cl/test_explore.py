"""The chapter's panel and controls: numbers of the score functions, and what they refuse."""

import pytest

from helpers import cl, explorer
from helpers.errors import InputError

PLASTIC = cl.AccuracyMatrix([[90, 60, 55], [80, 88, 62], [70, 78, 86]], baseline=33)
STABLE = cl.AccuracyMatrix([[60, 30, 30], [60, 58, 32], [60, 58, 55]], baseline=33)
BOTH = {"plastic": PLASTIC, "stable": STABLE}


@pytest.fixture
def built(monkeypatch):
    """The arguments that the panel hands over, instead of a drawing."""
    seen = {}

    def build(rows, **options):
        seen.update(options, rows=rows)

    monkeypatch.setattr(explorer, "build", build)
    cl.explore.panel(BOTH, "stable")
    return seen


def test_rows_are_metrics_of_the_matrix_raised(built):
    moved = cl.AccuracyMatrix(STABLE.values + 20, baseline=33)
    for method, matrix in (("plastic", PLASTIC), ("stable", moved)):
        found = {
            (row["name"], row["formula"]): row["value"]
            for row in built["rows"]
            if row["raised"] == 20 and row["method"] == method
        }
        expected = {
            (name, id): value.value
            for name in cl.explore.NAMES
            for id, value in cl.table(matrix, ids=cl.show.FAMILIES[name]).items()
        }
        assert found == expected


def test_it_goes_as_far_as_the_scale(built):
    amounts = sorted({row["raised"] for row in built["rows"]})
    assert amounts == list(range(-30, 41, 5))
    assert built["start"]["raised"] == 0


def test_a_change_stays_and_a_level_moves(built):
    by_formula = {}
    for row in built["rows"]:
        if row["method"] == "stable":
            by_formula.setdefault(row["formula"], set()).add(row["value"])
    assert by_formula["bwt.gem"] == {0.0}
    assert len(by_formula["bwt.clear"]) == 15


def test_the_panel_draws():
    panel = cl.explore.panel(BOTH, "stable")
    assert "stable 0 at bwt.gem" in panel.alt
    assert "76 at bwt.clear" in panel.alt


@pytest.mark.parametrize(
    ("matrices", "moved", "message"),
    [
        (BOTH, "neither", "moved is 'neither'"),
        ({"a": PLASTIC, "b": cl.AccuracyMatrix([[0.5]], scale="fraction")}, "a", "matrices have the scales"),
        ({"a": cl.AccuracyMatrix([[5.0]], scale="free")}, "a", "matrices have the scales free"),
    ],
)
def test_refusals(matrices, moved, message):
    with pytest.raises(InputError, match=message):
        cl.explore.panel(matrices, moved)


def test_controls_draw_the_matrix_as_it_stood(monkeypatch):
    seen = {}
    monkeypatch.setattr(explorer, "controls", lambda draw, **choices: seen.update(choices, draw=draw))
    cl.explore.controls(PLASTIC)
    assert seen["learned"][1] == [3, 2]
    assert seen["name"][1] == list(cl.show.FAMILIES)
    figure = seen["draw"](name="backward transfer", learned=2)
    expected = cl.show.definitions(PLASTIC.leading(2), "backward transfer")
    assert figure.alt == expected.alt != seen["draw"](name="backward transfer", learned=3).alt


def test_controls_offer_what_is_defined_at_every_moment(monkeypatch):
    seen = {}
    monkeypatch.setattr(explorer, "controls", lambda draw, **choices: seen.update(choices))
    cl.explore.controls(cl.AccuracyMatrix([[90, None], [70, 80]]))
    assert seen["name"][1] == ["backward transfer", "forgetting", "average accuracy"]


def test_controls_need_two_tasks():
    with pytest.raises(InputError, match="matrix has 1 task"):
        cl.explore.controls(cl.AccuracyMatrix([[90]]))
