"""What a chapter concludes: held against the schema, written whole, read by the book."""

import csv
import json
import math

import numpy as np
import pytest

from helpers import results
from helpers.errors import InputError
from helpers.figures import Figure
from helpers.results import Metric, conclude, published
from helpers.uncertainty import Rate

METRICS = {"agreement": Metric(2.1, "nat", interval=(2.0, 2.2)), "status": Metric("interior", "")}


@pytest.fixture(autouse=True)
def no_batch(monkeypatch):
    """Tests never write where a surrounding batch run wants its result."""
    monkeypatch.delenv(results.DESTINATION, raising=False)


@pytest.fixture
def sound():
    """The content of a sound result file."""
    figure = Figure("kernel", "Line plot of something.", "<svg />")
    return conclude("pa", parameters={"seed": 0}, metrics=METRICS, figures=[figure]).to_dict()


def test_the_shape_of_a_result(sound):
    assert {key: value for key, value in sound.items() if key != "provenance"} == {
        "schema": "yardsticks-result",
        "version": 1,
        "chapter": "pa",
        "parameters": {"seed": 0},
        "metrics": {
            "agreement": {"value": 2.1, "unit": "nat", "low": 2.0, "high": 2.2, "reason": None},
            "status": {"value": "interior", "unit": "", "low": None, "high": None, "reason": None},
        },
        "figures": {"kernel": {"alt": "Line plot of something."}},
    }
    assert sound["provenance"]["record"] == "measured in this run"
    assert sound["provenance"]["seed"] == 0
    results.check(sound, where="here")


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (math.inf, "inf"),
        (-math.inf, "-inf"),
        (np.float32(0.5), 0.5),
        (np.int64(3), 3.0),
        ("interior", "interior"),
    ],
)
def test_a_value_as_it_is_written(value, written):
    content = Metric(value, "nat", interval=(0.0, math.inf)).to_dict()
    assert content["value"] == written
    assert (content["low"], content["high"]) == (0.0, "inf")
    json.dumps(content, allow_nan=False)


def test_a_rate_as_a_metric():
    rate = Rate.of(3, 10)
    assert Metric.of(rate) == Metric(0.3, "ratio", rate.interval)
    undefined = Metric.of(Rate.of(0, 0))
    assert (undefined.value, undefined.reason) == (None, "no rows to count")


def test_null_needs_a_reason():
    undefined = Metric(None, "nat", reason="one class: nothing to disagree about")
    result = conclude("pa", parameters={}, metrics={"relative": undefined})
    assert result.to_dict()["metrics"]["relative"]["value"] is None
    for reason in (None, ""):
        with pytest.raises(InputError, match=r"result of 'pa': \$\.metrics\.relative\.reason: "):
            conclude("pa", parameters={}, metrics={"relative": Metric(None, "nat", reason=reason)})


@pytest.mark.parametrize(
    ("metric", "key"),
    [
        (Metric(math.nan, "nat"), "value"),
        (Metric(1.0, "nat", interval=(math.nan, 2.0)), "low"),
        (Metric(1.0, "nat", interval=(0.0, math.nan)), "high"),
    ],
)
def test_nan_is_refused_in_a_notebook_as_in_a_batch_run(metric, key):
    with pytest.raises(InputError, match=rf"result of 'pa': \$\.metrics\.relative\.{key}: nan says nothing"):
        conclude("pa", parameters={}, metrics={"relative": metric})


@pytest.mark.parametrize("value", [np.int64(0), math.nan, {1, 2}])
def test_a_parameter_that_is_no_json_is_refused_in_a_notebook_as_in_a_batch_run(value):
    with pytest.raises(InputError, match="result of 'pa': cannot be written as JSON"):
        conclude("pa", parameters={"seed": value}, metrics=METRICS)


def test_two_figures_of_one_name_are_refused():
    """One would silently replace the other, and their ids would clash on the page."""
    twins = [Figure("kernel", f"Line plot number {i}.", "<svg />") for i in (1, 2)]
    with pytest.raises(InputError, match="figures has 2 named 'kernel'"):
        conclude("pa", parameters={}, metrics=METRICS, figures=twins)


DELETE = object()


@pytest.mark.parametrize(
    ("path", "value", "named"),
    [
        ("schema", "other", "$.schema: 'yardsticks-result' was expected"),
        ("version", 2, "$.version: 1 was expected"),
        ("chapter", "", "$.chapter: "),
        ("parameters", [], "$.parameters: "),
        ("metrics", {}, "$.metrics: "),
        ("metrics/agreement/value", [1.0], "$.metrics.agreement.value: "),
        ("metrics/agreement/value", True, "$.metrics.agreement.value: "),
        ("metrics/agreement/low", {}, "$.metrics.agreement.low: "),
        ("metrics/agreement/unit", None, "$.metrics.agreement.unit: "),
        ("metrics/agreement/unit", DELETE, "$.metrics.agreement: 'unit' is a required property"),
        ("metrics/agreement/error", 0.1, "$.metrics.agreement: Additional properties"),
        ("figures/kernel/alt", "too short", "$.figures.kernel.alt: 'too short' is too short"),
        ("figures/kernel", {}, "$.figures.kernel: 'alt' is a required property"),
        ("provenance/seed", DELETE, "$.provenance: 'seed' is a required property"),
        ("provenance/record", DELETE, "$.provenance: 'record' is a required property"),
        ("remarks", "", "$: Additional properties"),
        ("figures", DELETE, "$: 'figures' is a required property"),
    ],
)
def test_the_schema_names_the_path_of_the_fault(sound, path, value, named):
    *folders, last = path.split("/")
    place = sound
    for folder in folders:
        place = place[folder]
    if value is DELETE:
        del place[last]
    else:
        place[last] = value
    with pytest.raises(InputError) as refusal:
        results.check(sound, where="x.result.json")
    assert str(refusal.value).startswith(f"x.result.json: {named}")


def test_a_batch_run_gets_its_file_whole(tmp_path, monkeypatch):
    path = tmp_path / "pa.result.json"
    path.write_text("old")
    monkeypatch.setenv(results.DESTINATION, str(path))
    metrics = {**METRICS, "beta": Metric(math.inf, "1 / logit", reason="exact")}
    result = conclude("pa", parameters={"seed": 0, "note": "größer"}, metrics=metrics)
    text = path.read_text(encoding="utf-8")
    assert json.loads(text) == result.to_dict()
    assert json.loads(text)["metrics"]["beta"]["value"] == "inf"
    assert text.endswith("}\n")
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("metrics", [{}, {"a": Metric(None, "nat")}])
def test_a_refused_result_leaves_the_old_file_whole(tmp_path, monkeypatch, metrics):
    path = tmp_path / "pa.result.json"
    path.write_text("old")
    monkeypatch.setenv(results.DESTINATION, str(path))
    with pytest.raises(InputError):
        conclude("pa", parameters={}, metrics=metrics)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_without_a_batch_run_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    conclude("pa", parameters={"seed": 0}, metrics=METRICS)
    assert list(tmp_path.iterdir()) == []


def test_a_run_knows_whether_it_makes_a_page(monkeypatch):
    assert not results.in_batch()
    monkeypatch.setenv(results.DESTINATION, "pa.result.json")
    assert results.in_batch()


def test_a_loaded_record_brings_its_own_provenance():
    origin = {"python": "3.12", "versions": {"numpy": "2.0"}, "hardware": "a GPU", "seed": 5, "time": "then"}
    result = conclude("pa", parameters={"seed": 0}, metrics=METRICS, record="pa-digits", provenance=origin)
    assert result.provenance == {**origin, "record": "loaded from pa-digits"}
    assert "record" not in origin  # the caller's own is left alone


def test_the_stamp_says_how_the_numbers_were_made():
    origin = {
        "python": "3.12",
        "versions": {"numpy": "2.0"},
        "hardware": "<b>fast</b> & cheap",
        "seed": 5,
        "time": "2026-01-01T00:00:00+00:00",
    }
    stamp = conclude("pa", parameters={}, metrics=METRICS, record="x.npz", provenance=origin)._repr_html_()
    for text in ("loaded from x.npz", "numpy 2.0", "2026-01-01", "&lt;b&gt;fast&lt;/b&gt; &amp; cheap"):
        assert text in stamp
    assert "<b>" not in stamp


@pytest.fixture
def tables(tmp_path, monkeypatch):
    """A folder of made-up published tables."""
    monkeypatch.setattr(results, "PUBLISHED", tmp_path)
    (tmp_path / "demo.csv").write_text(
        "source,table,row,column,value,unit,low,high,n,status,note\n"
        'demo,T1,a,score,80.10,percent,79,81.5,15,printed,"a comma, here"\n'
        "demo,T2,b,reading,,words,,,,printed,falls\n"
        "demo,T1,b,score,-3e-2,percent,,,,derived,\n",
        encoding="utf-8",
    )
    (tmp_path / "other.csv").write_text("source,table\n")
    (tmp_path / "tables.csv").write_text("source,table,title,rows\ndemo,T1,Scores,2\n")


@pytest.mark.usefixtures("tables")
def test_published_rows():
    first, second = published("demo", "T1")
    assert first == {
        "source": "demo",
        "table": "T1",
        "row": "a",
        "column": "score",
        "value": 80.1,
        "unit": "percent",
        "low": 79.0,
        "high": 81.5,
        "n": 15.0,
        "status": "printed",
        "note": "a comma, here",
    }
    assert (second["value"], second["low"], second["high"], second["n"]) == (-0.03, None, None, None)
    assert [row["value"] for row in published("demo", "T2")] == [None]


@pytest.mark.usefixtures("tables")
@pytest.mark.parametrize(
    ("source", "table", "message"),
    [
        ("dmeo", "T1", "source is 'dmeo': published tables exist for demo, other"),
        ("tables", "T1", "source is 'tables': published tables exist for demo, other"),
        ("demo", "T11", "table is 'T11': demo has T1, T2"),
        ("demo", "T3", "table is 'T3': demo has T1, T2"),
    ],
)
def test_unknown_tables_are_refused_with_the_known_ones(source, table, message):
    with pytest.raises(InputError) as refusal:
        published(source, table)
    assert str(refusal.value) == message


def test_every_listed_table_can_be_had():
    with (results.PUBLISHED / "tables.csv").open(encoding="utf-8", newline="") as stream:
        for entry in csv.DictReader(stream):
            assert len(published(entry["source"], entry["table"])) == int(entry["rows"])


def test_an_estimate_has_an_interval_or_says_why_not():
    with pytest.raises(InputError, match="metrics has 'bare' without an interval"):
        conclude("pa", parameters={}, metrics={"bare": Metric(0.5, "ratio")})
    conclude(
        "pa", parameters={}, metrics={"status": Metric("interior", ""), "why": Metric(0.5, "ratio", reason="exact")}
    )
