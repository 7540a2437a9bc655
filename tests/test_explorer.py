"""Panels: what is in them at each setting, what they refuse, and how they show themselves."""

import itertools
import json
import math
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import explorer, lazy, results
from helpers.errors import InputError
from helpers.explorer import Axis, Explorer
from helpers.figures import SERIES
from tests.selfcontained import addresses_outside

SPEEDS, RULES, TIMES = (2, 0.5, 1), ("steady", "by chance"), (1.0, 2.0, 4.0)
METHODS = {"fast": 1, "slow": 3}


def table() -> list[dict[str, Any]]:
    """A full grid; the utility tells which row it is of."""
    return [
        {
            "speed": speed,
            "rule": rule,
            "time": time,
            "method": method,
            "utility": 1 / (1 + speed * time * cost + RULES.index(rule)),
            "low": 0.01,
            "high": 0.987654321,
        }
        for speed, rule, time, (method, cost) in itertools.product(SPEEDS, RULES, TIMES, METHODS.items())
    ]


def built(rows: list[dict[str, Any]] | None = None, **changes: Any) -> Explorer:
    arguments: dict[str, Any] = {
        "name": "demo",
        "x": Axis("time", "time (ms)", log=True),
        "y": Axis("utility", "utility (share)"),
        "series": "method",
        "sliders": {"speed": "speed (of its own)"},
        "menus": {"rule": "arrivals"},
        "start": {"speed": 1},
        "caption": "A demonstration.",
    }
    return explorer.build(table() if rows is None else rows, **{**arguments, **changes})


@pytest.fixture(scope="module")
def panel() -> Explorer:
    return built()


def values(panel: Explorer) -> list[dict[str, Any]]:
    """The data in it."""
    return list(panel.spec["data"]["values"])


def parameters(panel: Explorer) -> dict[str, dict[str, Any]]:
    return {parameter["name"]: parameter for parameter in panel.spec["params"]}


def test_sliders_run_upwards_and_menus_keep_their_order(panel: Explorer) -> None:
    found = parameters(panel)
    assert found["pick_speed"]["value"] == 1  # of 0.5, 1, 2
    assert found["pick_speed"]["bind"] == {
        "input": "range", "min": 0, "max": 2, "step": 1, "name": "speed (of its own) ",
    }  # fmt: skip
    assert panel.spec["usermeta"]["words"] == {"pick_speed": ["0.5", "1", "2"]}
    assert found["pick_rule"]["value"] == 0
    assert found["pick_rule"]["bind"]["labels"] == ["steady", "by chance"]
    assert found["pick_rule"]["bind"]["options"] == [0, 1]


def test_every_row_is_there_under_the_index_of_its_setting(panel: Explorer) -> None:
    expected = [
        (
            sorted(SPEEDS).index(row["speed"]),
            RULES.index(row["rule"]),
            row["time"],
            row["method"],
            float(f"{row['utility']:.4g}"),
        )
        for row in table()
    ]
    assert [(d["speed"], d["rule"], d["x"], d["s"], d["y"]) for d in values(panel)] == expected


@settings(max_examples=10)
@given(
    st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=4, unique=True),
    st.lists(st.text(min_size=1, max_size=5), min_size=1, max_size=3, unique=True),
    st.randoms(use_true_random=False),
)
def test_a_setting_picks_its_own_rows(numbers: list[float], texts: list[str], shuffle: Any) -> None:
    rows = [
        {"n": n, "t": t, "x": float(i), "s": "one", "y": float(numbers.index(n) * 10 + texts.index(t))}
        for n, t, i in itertools.product(numbers, texts, range(2))
    ]
    shuffle.shuffle(rows)
    controls = [
        explorer._control(rows, "n", "n", {}, is_slider=True),
        explorer._control(rows, "t", "t", {}, is_slider=False),
    ]
    data = explorer._data(rows, Axis("x", "x"), Axis("y", "y"), "s", controls, None)
    for (i, number), (j, text) in itertools.product(enumerate(controls[0].options), enumerate(controls[1].options)):
        picked = {d["y"] for d in data if (d["n"], d["t"]) == (i, j)}
        assert picked == {numbers.index(number) * 10 + texts.index(text)}
    assert controls[0].options == sorted(numbers)


def test_the_filters_compare_columns_with_their_own_controls(panel: Explorer) -> None:
    filters = [step["filter"].strip("()") for step in panel.spec["transform"]]
    assert filters == ["datum.speed == pick_speed", "datum.rule == pick_rule"]


def test_numbers_keep_four_figures() -> None:
    rows = [{**row, "utility": 0.123456789} for row in table()]
    assert {d["y"] for d in values(built(rows))} == {0.1235}


def test_series_have_the_colours_marks_and_dashes_of_the_other_figures(panel: Explorer) -> None:
    line, point = panel.spec["layer"]
    assert line["encoding"]["color"]["scale"] == {"domain": ["fast", "slow"], "range": [SERIES[0][0], SERIES[1][0]]}
    assert point["encoding"]["shape"]["scale"]["range"] == ["circle", "square"]
    assert line["encoding"]["strokeDash"]["scale"]["range"] == [[1, 0], [6, 3]]
    assert len(set(explorer._SHAPES.values())) == len({str(dash) for dash in explorer._DASHES.values()}) == len(SERIES)


def test_the_y_axis_holds_every_setting(panel: Explorer) -> None:
    [low, high] = panel.spec["layer"][0]["encoding"]["y"]["scale"]["domain"]
    assert (low, high) == (0, max(d["y"] for d in values(panel)))
    part = built(y=Axis("utility", "utility (share)", zero=False)).spec["layer"][0]["encoding"]["y"]["scale"]
    assert part["domain"][0] == min(d["y"] for d in values(panel)) > 0
    below = built([{**row, "utility": -row["utility"]} for row in table()])
    assert below.spec["layer"][0]["encoding"]["y"]["scale"]["domain"][1] == 0
    level = built([{**row, "utility": 0} for row in table()])
    assert level.spec["layer"][0]["encoding"]["y"]["scale"]["domain"] == [-0.5, 0.5]


def test_intervals_are_a_band_that_the_axis_holds_too() -> None:
    panel = built(interval=("low", "high"))
    band = panel.spec["layer"][0]
    assert band["mark"]["type"] == "area"
    assert (band["encoding"]["y"]["field"], band["encoding"]["y2"]["field"]) == ("low", "high")
    assert panel.spec["layer"][-1]["encoding"]["y"]["scale"]["domain"] == [0, 0.9877]
    assert {(d["low"], d["high"]) for d in values(panel)} == {(0.01, 0.9877)}


def test_texts_on_the_x_axis_are_points_without_lines() -> None:
    rows = [{**row, "time": f"task {row['time']:g}"} for row in table()]
    panel = built(rows, x=Axis("time", "task"), interval=("low", "high"))
    assert [layer["mark"]["type"] for layer in panel.spec["layer"]] == ["rule", "point"]
    assert panel.spec["layer"][1]["encoding"]["x"]["sort"] is None
    assert "fast 0.5 at task 1, 0.3333 at task 2, 0.2 at task 4" in panel.alt


def test_what_is_undefined_leaves_a_gap() -> None:
    rows = [{**row, "utility": None if row["time"] == 2 else row["utility"]} for row in table()]
    panel = built(rows)
    assert sum(d["y"] is None for d in values(panel)) == len(table()) // 3
    assert "fast 0.5 at 1 to 0.2 at 4" in panel.alt
    nothing = [{**row, "utility": None} for row in table()]
    assert built(nothing).alt.endswith("arrivals steady: undefined.")


def test_the_alt_text_tells_the_start() -> None:
    assert built().alt == (
        "Utility (share) against time (ms). At speed (of its own) 1, arrivals steady: "
        "fast 0.5 at 1 to 0.2 at 4; slow 0.25 at 1 to 0.07692 at 4."
    )
    moved = built(start={"speed": 2, "rule": "by chance"})
    assert "At speed (of its own) 2, arrivals by chance: fast 0.25 at 1 to 0.1 at 4" in moved.alt
    assert moved.spec["description"] == moved.alt


def texts_of(svg: str) -> list[str]:
    return [text for text in re.findall(r">([^<>]+)</(?:text|tspan)>", svg) if text.strip()]


def test_the_plain_figure_shows_the_start_and_says_so(panel: Explorer) -> None:
    assert panel.svg is not None
    shown = texts_of(panel.svg)
    assert "speed (of its own): 1" in shown and "arrivals: steady" in shown
    assert {"time (ms)", "utility (share)", "fast", "slow"} <= set(shown)
    other = built(start={"speed": 0.5}).svg
    assert other is not None
    assert "speed (of its own): 0.5" in texts_of(other)
    paths = [re.findall(r'aria-roledescription="line mark" d="([^"]*)"', svg) for svg in (panel.svg, other)]
    assert len(paths[0]) == len(paths[1]) == 2
    assert paths[0] != paths[1]


def test_the_plain_figure_follows_the_page(panel: Explorer) -> None:
    assert panel.svg is not None
    colours = set(re.findall(r'(?:fill|stroke)="([^"]+)"', panel.svg))
    assert colours <= {"none", "transparent", "currentColor", SERIES[0][0], SERIES[1][0]}
    assert panel.svg.startswith("<svg viewBox=") and ' role="img" aria-label="Utility' in panel.svg[:200]
    assert 'width="' not in panel.svg[: panel.svg.index(">")]


def test_nothing_on_the_page_leads_outside_and_no_id_can_clash(panel: Explorer) -> None:
    assert addresses_outside(panel.html) == []
    assert panel.svg is not None
    assert " id=" not in panel.svg and "url(#" not in panel.svg


def test_the_page_gets_the_spec_as_it_is(panel: Explorer) -> None:
    bundle, _ = panel._repr_mimebundle_(include=None, exclude=None)
    assert set(bundle) == {"text/html", "text/plain"}
    assert bundle["text/plain"] == panel.alt
    found = re.search(r'<script type="application/json">(.*?)</script>', bundle["text/html"], re.S)
    assert found is not None
    assert json.loads(found[1]) == panel.spec
    assert "<figcaption>A demonstration.</figcaption>" in bundle["text/html"]


def test_texts_cannot_break_out_of_the_page() -> None:
    evil = '</script><!--<script>"&'
    rows = [{**row, "method": evil if row["method"] == "fast" else "slow"} for row in table()]
    page = built(rows, caption=evil, y=Axis("utility", evil)).html
    assert page.count("<script") == page.count("</script>") == 1
    assert "<!--" not in page
    assert json.loads(page.split(">", 2)[2].split("</script>")[0])["data"]["values"][0]["s"] == evil
    label = re.search(r'aria-label="([^"]*)"', page)
    assert label is not None and label[1].startswith("&lt;/script&gt;")


def test_without_vl_convert_the_front_end_draws_it() -> None:
    with lazy.hidden("vl_convert"):
        panel = built()
    assert panel.svg is None
    bundle, _ = panel._repr_mimebundle_()
    assert set(bundle) == {"application/vnd.vegalite.v5+json", "text/plain"}
    assert bundle["application/vnd.vegalite.v5+json"] == {**panel.spec, "width": 560}
    assert f'<div class="ys-explorer-static">{panel.alt}</div>' in panel.html


def test_jupyterlab_draws_it_too(panel: Explorer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Its kernel names the notebook that it belongs to; that of a live page names a file that is not there."""
    notebook = tmp_path / "demo.ipynb"
    monkeypatch.setenv("JPY_SESSION_NAME", str(notebook))
    assert set(panel._repr_mimebundle_()[0]) == {"text/html", "text/plain"}
    notebook.touch()
    bundle, _ = panel._repr_mimebundle_()
    assert set(bundle) == {"application/vnd.vegalite.v5+json", "text/plain"}
    assert bundle["application/vnd.vegalite.v5+json"]["width"] == 560, (
        "the panel is not there yet whose width it could take"
    )
    monkeypatch.setenv("YARDSTICKS_RESULT", str(tmp_path / "result.json"))
    assert set(panel._repr_mimebundle_()[0]) == {"text/html", "text/plain"}, (
        "a batch that was started from such a kernel"
    )


HOLED = [row for row in table() if (row["speed"], row["rule"]) != (2, "by chance")]


@pytest.mark.parametrize(
    ("rows", "changes", "said"),
    [
        ([], {}, "rows is empty"),
        (HOLED, {}, "rows has none at speed 2, rule 'by chance'"),
        ([{k: v for k, v in row.items() if k != "rule"} for row in table()], {}, r"rows\[0\] has no column 'rule'"),
        ([*table(), {**table()[0], "utility": math.nan}], {}, r"rows\[36\]\['utility'\] is nan: .* None where"),
        ([*table(), {**table()[0], "utility": "0.5"}], {}, r"rows\[36\]\['utility'\] is '0.5'"),
        ([*table(), {**table()[0], "utility": True}], {}, r"rows\[36\]\['utility'\] is True"),
        ([*table(), {**table()[0], "time": None}], {}, r"rows\[36\]\['time'\] is None: give a finite number$"),
        ([*table(), {**table()[0], "speed": math.inf}], {}, r"rows\[36\]\['speed'\] is inf"),
        ([*table(), {**table()[0], "time": 0}], {}, r"rows\[36\]\['time'\] is 0: a logarithmic axis"),
        (
            [*table(), {**table()[0], "low": 0}],
            {"y": Axis("utility", "u", log=True), "interval": ("low", "high")},
            "'low'",
        ),
        (table(), {"start": {"speed": 3}}, "start has 3 for 'speed', which has 0.5, 1, 2"),
        (table(), {"start": {"sped": 1}}, "start has 'sped', which is neither"),
        (table(), {"start": {"time": 1}}, "start has 'time', which is neither"),
        (
            [{**row, "method": f"{row['method']} {row['time']:g}"} for row in table()],
            {},
            "6 values of 'method': at most 4",
        ),
        (
            [{**row, "how fast": 1} for row in table()],
            {"sliders": {"how fast": "s"}, "start": {}},
            "'how fast' cannot be",
        ),
        (table() * 60, {}, "'demo' weigh [0-9]+ kB on the page"),
    ],
)
def test_refusals_name_what_is_wrong(rows: list[dict[str, Any]], changes: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        built(rows, **changes)


# ---------------------------------------------------------------- live controls


def test_in_a_batch_run_controls_are_a_line_of_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(results.DESTINATION, "result.json")
    note = explorer.controls(lambda n: n, n=("n", [1, 2]))
    assert note._repr_html_() == '<p class="ys-note">Controls appear here when this page runs live.</p>'
    assert not hasattr(note, "_repr_mimebundle_")


def test_live_controls_call_with_the_values_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(results.DESTINATION, raising=False)
    shown: list[Any] = []
    monkeypatch.setattr("IPython.display.display", shown.append)
    panel = explorer.controls(
        lambda **chosen: chosen,
        beta=("beta (1 / logit)", [0.5, 1e-6]),
        shift=("shift", ["noise", "blur"]),
    )
    beta, shift, _ = panel.children
    assert (beta.description, shift.description) == ("beta (1 / logit)", "shift")
    assert [label for label, _ in beta.options] == ["0.5", "1e-06"]
    assert not beta.continuous_update
    beta.value, shift.value = 1e-6, "blur"
    assert shown == [
        {"beta": 0.5, "shift": "noise"},
        {"beta": 1e-6, "shift": "noise"},
        {"beta": 1e-6, "shift": "blur"},
    ]


def test_controls_refuse_an_empty_choice() -> None:
    with pytest.raises(InputError, match="nothing to choose from for 'shift'"):
        explorer.controls(print, shift=("shift", []))


def test_importing_it_is_light() -> None:
    code = "import sys; from helpers import explorer; print({'altair', 'vl_convert', 'ipywidgets'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
