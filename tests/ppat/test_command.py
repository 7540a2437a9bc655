"""``yardsticks score ppat`` on a file: the library's numbers, or one line that says what to do."""

import json

import numpy as np
import pytest

from helpers import ppat
from helpers.cli import main
from helpers.errors import InputError
from helpers.ppat import show
from helpers.ppat.weighting import uniform_q

from ..selfcontained import addresses_outside


@pytest.fixture
def run():
    """Sixty labels of a pool of five hundred."""
    rng = np.random.default_rng(0)
    pool = rng.gamma(2, size=500)
    proxy = pool + rng.normal(0, 0.3, 500)
    index = rng.permutation(500)[:60]
    q = rng.uniform(0.7, 1.4, 60) * uniform_q(60, 500)
    return ppat.Labels(pool[index], q, 500, proxy[index], index=index, pool_proxy_loss=proxy)


@pytest.fixture
def folder(tmp_path, run):
    """The same as a table, as a table without a proxy, and as a record."""
    run.save(tmp_path / "labels.npz")
    table = np.column_stack([run.loss, run.q, run.proxy_loss])
    for name, columns in (("labels", "loss,q,proxy_loss"), ("bare", "loss,q")):
        width = columns.count(",") + 1
        lines = [",".join(map(repr, row[:width])) for row in table.tolist()]
        (tmp_path / f"{name}.csv").write_text("\n".join([columns, *lines]) + "\n")
    pool = "\n".join(map(repr, run.pool_proxy_loss.tolist()))
    (tmp_path / "pool.csv").write_text(f"proxy_loss\n{pool}\n")
    return tmp_path


def score(folder, *options, labels="labels.csv", pool="pool.csv"):
    """Run the command in a folder."""
    placed = [str(folder / option) if option.startswith(("out.", "pool.")) else option for option in options]
    if labels.endswith(".csv"):
        placed += ["--pool-size", "500"]
        if labels == "labels.csv" and pool:
            placed += ["--pool-proxy", str(folder / pool)]
    return main(["score", "ppat", str(folder / labels), *placed])


@pytest.mark.parametrize("labels", ["labels.csv", "labels.npz"])
@pytest.mark.parametrize(
    ("options", "settings"),
    [
        ([], {}),
        (["--control", "0.5", "--intercept"], {"control": 0.5, "intercept": True}),
        (["--control", "dagger", "--confidence", "0.95"], {"control": "dagger", "confidence": 0.95}),
        (["--control", "star", "--variance", "unbiased"], {"control": "star", "variance": "unbiased"}),
        (
            ["--control", "predictable", "--refresh", "20", "--initial-control", "0.3"],
            {"control": "predictable", "refresh": 20, "initial_control": 0.3},
        ),
    ],
)
def test_the_numbers_are_the_librarys(folder, run, capsys, labels, options, settings):
    assert score(folder, *options, "--json", "out.json", labels=labels) == 0
    content = json.loads((folder / "out.json").read_text(encoding="utf-8"), parse_constant=pytest.fail)
    result = ppat.estimate(**run.arguments(), **settings)
    plain = {name: settings[name] for name in ("confidence", "variance") if name in settings}
    lure = ppat.estimate(run.loss, run.q, pool_size=500, **plain)
    origin, without, saved = (content.pop(name) for name in ("provenance", "without_proxy", "labels_saved"))
    assert content == json.loads(json.dumps(result.to_dict()))
    assert without == json.loads(json.dumps(lure.to_dict()))
    spread = ppat.pool_variance(run.loss, run.q, pool_size=500).value
    assert saved["equivalent"] == ppat.labels_saved(result.std_error, spread, labels=60, pool_size=500).equivalent
    assert origin["files"]["labels"] == str(folder / labels)
    output = capsys.readouterr()
    level = settings.get("confidence", 0.9)
    assert output.out.startswith(
        f"risk: {result.risk:.6g}, {level} interval {result.low:.6g} to {result.high:.6g}\nmethod: {result.method}\n"
    )
    assert f"control: {result.control:.6g}\nlabels: 60 of 500\nwithout the proxy: {lure.risk:.6g}, " in output.out
    assert (
        f"uniform labels, no proxy, of the same width: about {saved['equivalent']:.0f}, from this run alone"
        in output.out
    )
    assert output.err.count("warning: ") == len(result.diagnostics.warnings)


def test_the_mean_is_enough(folder, run, capsys):
    mean = repr(run.proxy_mean)
    assert score(folder, "--proxy-mean", mean, pool=None) == 0
    by_mean = capsys.readouterr().out
    assert score(folder) == 0
    assert capsys.readouterr().out == by_mean


def test_without_a_proxy_it_is_lure(folder, run, capsys):
    assert score(folder, "--json", "out.json", labels="bare.csv") == 0
    output = capsys.readouterr().out
    assert "method: LURE" in output
    assert "control" not in output
    assert "without the proxy" not in output
    content = json.loads((folder / "out.json").read_text())
    assert content["risk"] == ppat.estimate(run.loss, run.q, pool_size=500).risk
    assert content["without_proxy"] is None


def test_nothing_is_written_unless_asked(folder):
    before = set(folder.iterdir())
    assert score(folder) == 0
    assert set(folder.iterdir()) == before


def test_one_label_has_no_interval(tmp_path, capsys):
    (tmp_path / "one.csv").write_text("loss,q\n2,0.25\n")
    options = ["--pool-size", "8", "--json", str(tmp_path / "out.json"), "--html", str(tmp_path / "out.html")]
    assert main(["score", "ppat", str(tmp_path / "one.csv"), *options]) == 0
    output = capsys.readouterr().out
    assert "risk: 1, no interval: one label says nothing of the spread" in output
    assert "uniform labels, no proxy, of the same width: undefined: one label says nothing of the spread" in output
    assert json.loads((tmp_path / "out.json").read_text())["low"] is None
    assert (tmp_path / "out.html").read_text().count("<svg ") == 1


def test_the_report_is_self_contained(folder, run, capsys):
    assert score(folder, "--control", "dagger", "--html", "out.html") == 0
    page = (folder / "out.html").read_text(encoding="utf-8")
    assert addresses_outside(page) == []
    assert page.startswith("<!doctype html>")
    assert page.count("<svg ") == page.count('role="img" aria-label="') == 2
    assert "<script" not in page
    result = ppat.estimate(**run.arguments(), control="dagger")
    assert f"{result.risk:.6g}, 0.9 interval" in page
    assert page.count("<strong>Warning:</strong>") == len(result.diagnostics.warnings) > 0
    assert "<title>Risk from labels: labels.csv</title>" in page


def test_names_in_the_report_are_escaped(folder):
    (folder / "a&b <i>.csv").write_text((folder / "bare.csv").read_text())
    assert score(folder, "--html", "out.html", labels="a&b <i>.csv") == 0
    page = (folder / "out.html").read_text(encoding="utf-8")
    assert "a&amp;b &lt;i&gt;.csv" in page
    assert "<i>" not in page


def test_results_replace_old_ones_and_leave_nothing_beside(folder):
    for name in ("out.json", "out.html"):
        (folder / name).write_text("old")
    before = set(folder.iterdir())
    assert score(folder, "--json", "out.json", "--html", "out.html") == 0
    assert set(folder.iterdir()) == before
    assert json.loads((folder / "out.json").read_text())["labels"] == 60


@pytest.mark.parametrize(
    ("lines", "options", "message"),
    [
        ("loss,q\n1,0.5\n1,1.5\n", [], "q[1] is 1.5: give the probability, in (0, 1]"),
        ("loss,q\n1,0.5\nnan,0.5\n", [], "line 3: nan is not finite"),
        ("loss,q\n" + "1,0.5\n" * 501, [], "q has 501 labels and pool_size is 500"),
        ("loss,q,index\n1,0.5,3\n1,0.5,3\n", [], "index[1] is 3, as index[0] is"),
        ("loss,q\n1,0.5\n1\n", [], "line 3: 1 values, the header has 2"),
        ("loss,q,proxy_loss\n1,0.5,1\n", [], "proxy_mean is missing"),
        ("loss,q\n1,0.5\n", ["--proxy-mean", "1"], "proxy_loss is missing, but proxy_mean is given"),
        ("loss,q\n1,0.5\n", ["--control", "best"], "--control is 'best': give a number, or one of dagger"),
        ("loss,q\n1,0.5\n", ["--control", "dagger"], "control is 'dagger', but there is no proxy_loss"),
        ("loss,q\n1,0.5\n", ["--control", "nan"], "control is nan: give a finite number"),
        ("loss,q\n1,0.5\n", ["--intercept"], "intercept is True, but there is no proxy_loss"),
        ("loss,q\n1,0.5\n", ["--confidence", "90"], "confidence is 90.0"),
        ("loss,q\n1,0.5\n", ["--refresh", "0"], "refresh is 0"),
        ("loss,q,proxy_loss\n1,0.5,1\n", ["--proxy-mean", "1", "--control", "dagger"], "give pool_proxy_loss"),
    ],
)
def test_refusals_are_one_line(folder, capsys, lines, options, message):
    (folder / "bad.csv").write_text(lines)
    before = set(folder.iterdir())
    assert score(folder, *options, "--json", "out.json", labels="bad.csv") == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith("yardsticks: ")
    assert output.err.count("\n") == 1
    assert message in output.err
    assert set(folder.iterdir()) == before


def test_refused_files(folder, capsys):
    for arguments, message in (
        (["none.csv", "--pool-size", "9"], "No such file"),
        (["labels.csv"], "pool_size is missing"),
        (["labels.npz", "--pool-size", "9"], "pool_size is given, but the record says otherwise"),
        (["pool.csv", "--pool-size", "9"], "line 1: 'loss' is missing"),
    ):
        assert main(["score", "ppat", str(folder / arguments[0]), *arguments[1:]]) == 2
        assert message in capsys.readouterr().err
    (folder / "pool.csv").write_text("loss\n1\n")
    assert score(folder) == 2
    assert "line 1: 'proxy_loss' is missing: the columns are proxy_loss" in capsys.readouterr().err


class TestFigures:
    def test_the_curve_says_where_it_ends(self, run):
        curve = ppat.estimates(**run.arguments())
        drawn = show.budget_curve(curve)
        assert f"It ends at {curve.risk[-1]:.4g} after 60 of 500 labels" in drawn.alt
        assert f"interval {curve.low[-1]:.4g} to {curve.high[-1]:.4g}" in drawn.alt
        assert "together do not" in drawn.caption

    def test_the_largest_share_is_named(self, run):
        arguments = run.arguments()
        loss = arguments.pop("loss").copy()
        loss[7] = 500
        labels = ppat.Labels(loss, **arguments)
        drawn = show.contributions(labels, {"control": 0.0})
        dominance = ppat.estimate(**labels.arguments(), control=0.0).diagnostics.dominance
        assert f"The largest is {dominance**2:.1%}, of label 8." in drawn.alt

    def test_equal_terms_have_no_shares(self):
        labels = ppat.Labels(np.zeros(5), uniform_q(5, 9), 9)
        assert "The largest is 0.0%" in show.contributions(labels, {}).alt
        assert "It ends at 0 after 5 of 9" in show.budget_curve(ppat.estimates(**labels.arguments())).alt

    def test_a_single_label_has_no_shares(self):
        with pytest.raises(ValueError, match="labels holds 1 label"):
            show.contributions(ppat.Labels([1.0], [0.1], 9), {})


def test_a_failing_report_leaves_nothing_written(folder, monkeypatch):
    def fails(*_, **__):
        raise InputError("nothing can be drawn")

    before = set(folder.iterdir())
    monkeypatch.setattr(show, "budget_curve", fails)
    assert score(folder, "--json", "out.json", "--html", "out.html") == 2
    assert set(folder.iterdir()) == before
