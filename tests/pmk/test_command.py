"""``yardsticks score pmk`` on files: the library's numbers, or one line that says what to do."""

import json

import numpy as np
import pytest

from helpers import pmk
from helpers.cli import main
from helpers.errors import InputError
from helpers.pmk import show

from ..selfcontained import addresses_outside
from . import oracle


@pytest.fixture
def case():
    return oracle.random_case(5)


@pytest.fixture
def frames(case):
    return pmk.FrameSets(case["sets"], case["labels"], frame_types=case["types"])


@pytest.fixture
def folder(tmp_path, case, frames):
    """The same sets as JSON, as a record and as a table; predictions as classes, coarse scores and fine scores."""

    def write(name, content):
        (tmp_path / name).write_text(json.dumps(content), encoding="utf-8")

    write("sets.json", case["sets"])
    write("labels.json", {frame: sorted(labels) for frame, labels in case["labels"].items()})
    write("groups.json", {anchor: f"film {i % 3}" for i, anchor in enumerate(case["sets"])})
    write("said.json", case["predictions"])
    # coarse class c has the fine classes c and c + 4; class 3 has none
    fine = {frame: (np.eye(9)[c] - 5.0).tolist() for frame, c in case["predictions"].items()}
    write("fine.json", fine)
    write("map.json", {**{str(c): c % 4 for c in range(8) if c % 4 != 3}})
    frames.save(tmp_path / "sets.npz")
    lines = ["anchor,frame,labels,offset"]
    for anchor, near in case["sets"].items():
        for frame, offset in zip([anchor, *near], [0, *case["offsets"][anchor]], strict=True):
            lines.append(f"{anchor},{frame},{' '.join(map(str, sorted(case['labels'].get(frame, []))))},{offset}")
    (tmp_path / "sets.csv").write_text("\n".join(lines))
    return tmp_path


def run(folder, *options, said="said.json", sets="sets.json", labels="labels.json"):
    """Run the command in a folder; options that name a file there are placed in it."""
    placed = [str(folder / text) if "." in text and not text[0].isdigit() else text for text in options]
    if labels:
        placed += ["--labels", str(folder / labels)]
    return main(["score", "pmk", str(folder / said), "--frames", str(folder / sets), *placed])


@pytest.mark.parametrize(
    ("options", "settings"),
    [
        ([], {"k": [10]}),
        (["--k", "1", "3"], {"k": [1, 3]}),
        (
            ["--leave-anchor-out", "--confidence", "0.8", "--k", "2"],
            {"k": [2], "include_anchor": False, "confidence": 0.8},
        ),
        (["--missing", "wrong", "--seed", "4"], {"k": [10], "missing": "wrong", "seed": 4}),
    ],
)
def test_the_numbers_are_the_librarys(folder, case, frames, capsys, options, settings):
    assert run(folder, *options, "--json", "out.json") == 0
    content = json.loads((folder / "out.json").read_text(encoding="utf-8"), parse_constant=pytest.fail)
    scores = pmk.score(case["predictions"], frames, **settings)
    assert content["scores"] == json.loads(json.dumps([score.to_dict() for score in scores]))
    assert content["provenance"]["files"]["frames"] == str(folder / "sets.json")
    output = capsys.readouterr()
    first = scores[0]
    assert output.out.startswith(f"original accuracy: {first.original.rate:.4f} ({first.original.count} of 12), ")
    for score in scores:
        assert f"perturbed accuracy, k = {score.k}: {score.perturbed.rate:.4f} (" in output.out
        assert f"drop, k = {score.k}: {score.drop.rate:.4f} (" in output.out
    out = "anchor: is left out of its set" in output.out
    assert out == ("--leave-anchor-out" in options)
    warnings = dict.fromkeys(text for score in scores for text in score.warnings)
    assert output.err == "".join(f"warning: {text}\n" for text in warnings)


@pytest.mark.parametrize("sets", ["sets.npz", "sets.csv"])
def test_sets_from_other_files(folder, capsys, sets):
    assert run(folder) == 0
    expected = capsys.readouterr().out
    assert run(folder, sets=sets, labels=None) == 0
    assert capsys.readouterr().out == expected


def test_an_official_folder(tmp_path, capsys):
    (tmp_path / "pmsets.json").write_text('{"val/c/000002.JPEG": ["val/c/000003.JPEG"]}')
    (tmp_path / "labels.json").write_text('{"val/c/000002.JPEG": [4], "val/c/000003.JPEG": [4]}')
    (tmp_path / "said.json").write_text('{"val/c/000002.JPEG": 4, "val/c/000003.JPEG": 29}')
    assert run(tmp_path, "--format", "imagenet-vid-robust", sets="", labels=None) == 0
    assert "drop, k = 10: 1.0000 (1 of 1)" in capsys.readouterr().out


@pytest.mark.parametrize("fold", ["max", "sum"])
def test_fine_scores_are_folded_and_reachable_anchors_told(folder, frames, capsys, fold):
    fine = json.loads((folder / "fine.json").read_text())
    keys, scores = tuple(fine), np.array(list(fine.values()))
    groups = [[0, 4], [1, 5], [2, 6], []]
    folded = pmk.Predictions(keys, pmk.fold(scores, groups, how=fold))
    expected = pmk.score(folded, frames, reachable=[0, 1, 2])
    options = ["--class-map", "map.json", "--classes", "4", "--fold", fold, "--json", "out.json"]
    assert run(folder, *options, said="fine.json") == 0
    content = json.loads((folder / "out.json").read_text())
    assert content["scores"] == [json.loads(json.dumps(expected.to_dict()))]
    assert content["provenance"]["fold"] == fold
    named = f"anchors with a label that the model can name: {expected.reachable} of 12, so that "
    assert named + f"{expected.reachable / 12:.4f} is the most to be had" in capsys.readouterr().out
    assert expected.reachable < 12


def test_a_class_map_says_how_many_classes_there_are(folder, capsys):
    (folder / "map.json").write_text(json.dumps({str(c): c for c in range(9)}))
    fine = json.loads((folder / "fine.json").read_text())
    fine[next(iter(fine))] = np.eye(9)[8].tolist()  # a class beyond all labels
    (folder / "fine.json").write_text(json.dumps(fine))
    assert run(folder, "--class-map", "map.json", said="fine.json") == 0
    by_map = capsys.readouterr().out
    assert "12 of 12, so that 1.0000" in by_map
    assert run(folder, "--class-map", "map.json", said="fine.json", sets="sets.csv", labels=None) == 0
    assert capsys.readouterr().out == by_map


def test_groups_change_the_intervals(folder, capsys):
    assert run(folder, "--groups", "groups.json") == 0
    output = capsys.readouterr().out
    assert "intervals: bootstrap over 3 groups" in output
    assert "no interval: 3 groups are too few to resample: 10 are needed" in output


def test_a_constant_model_is_told_from_a_steady_one(folder, case, capsys):
    (folder / "said.json").write_text(json.dumps(dict.fromkeys(case["predictions"], 1)))
    (folder / "labels.json").write_text(json.dumps({anchor: [i % 2] for i, anchor in enumerate(case["sets"])}))
    assert run(folder, "--html", "out.html") == 0
    output = capsys.readouterr()
    assert "original accuracy: 0.5000 (6 of 12)" in output.out
    assert "drop, k = 10: 0.0000 (0 of 12)" in output.out
    assert "warning: every frame is predicted as class 1: a drop of 0 is then no merit\n" in output.err
    page = (folder / "out.html").read_text(encoding="utf-8")
    assert "6 of 12 anchors are right" in page
    assert "a drop of 0 is then no merit" in page


def test_without_offsets_the_output_says_all_frames(tmp_path, capsys):
    (tmp_path / "sets.json").write_text('{"how old are you": ["what is your age"]}')
    (tmp_path / "labels.json").write_text('{"how old are you": [0]}')
    (tmp_path / "said.json").write_text('{"how old are you": 0, "what is your age": 1}')
    assert run(tmp_path, "--classes", "2", "--k", "1", "5", "--html", "out.html") == 0
    output = capsys.readouterr()
    assert output.out.count("drop, all frames: 1.0000 (1 of 1)") == 1
    assert "no offsets are known: k is not applied" in output.err
    assert "<svg" not in (tmp_path / "out.html").read_text()


def test_the_report_is_self_contained_and_escaped(folder):
    (folder / "a&b <i>.json").write_text((folder / "said.json").read_text())
    assert run(folder, "--k", "1", "2", "4", "--html", "out.html", said="a&b <i>.json") == 0
    page = (folder / "out.html").read_text(encoding="utf-8")
    assert addresses_outside(page) == []
    assert page.count("<svg ") == page.count('role="img" aria-label="') == 2
    assert "<script" not in page
    assert "PM-k: a&amp;b &lt;i&gt;.json" in page
    assert "<i>" not in page


def test_nothing_is_written_unless_asked(folder):
    before = set(folder.iterdir())
    assert run(folder) == 0
    assert set(folder.iterdir()) == before


@pytest.mark.parametrize(
    ("options", "said", "message"),
    [
        ([], "none.json", "No such file"),
        (["--k", "0"], "said.json", "k[0] is 0"),
        (["--confidence", "95"], "said.json", "confidence is 95.0"),
        (["--classes", "2"], "said.json", "but classes is 2: labels lie in 0..1"),
        (["--class-map", "map.json"], "said.json", "holds classes, but --class-map folds scores"),
        (["--class-map", "labels.json"], "fine.json", "class_map has 'clip00/000100.jpg'"),
        ([], "fine.json", "fold the scores, or give the sets their number of classes"),
        (["--format", "csv"], "said.json", "--labels is given, but"),
        (["--groups", "sets.json"], "few.json", "predictions has none for"),
    ],
)
def test_refusals_are_one_line(folder, case, capsys, options, said, message):
    few = dict(list(case["predictions"].items())[:4])
    (folder / "few.json").write_text(json.dumps(few))
    (folder / "fine.json").write_text(json.dumps({frame: np.eye(9)[8].tolist() for frame in case["predictions"]}))
    (folder / "sets.json").write_text(json.dumps(case["sets"]))
    if "--groups" in options:
        options = ["--groups", "groups.json"]
    before = set(folder.iterdir())
    assert run(folder, *options, "--json", "out.json", said=said) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith("yardsticks: ")
    assert output.err.count("\n") == 1
    assert message in output.err
    assert set(folder.iterdir()) == before


@pytest.mark.parametrize(
    ("sets", "options", "message"),
    [
        ("sets.json", [], "--labels is missing"),
        ("sets.npz", ["--groups", "groups.json"], "--groups is given, but"),
        ("sets.npz", ["--classes", "7"], "the record format knows its number of classes"),
        ("sets.npz", ["--class-map", "wide.json"], "has 5 coarse classes, the sets have 4"),
        ("said.txt", [], "format is None"),
    ],
)
def test_refused_combinations(folder, capsys, sets, options, message):
    (folder / "wide.json").write_text('{"0": 4}')
    assert run(folder, *options, said="fine.json", sets=sets, labels=None) == 2
    assert message in capsys.readouterr().err


def test_a_class_map_that_does_not_fit_is_named_with_its_file(tmp_path, capsys):
    for name, content in {
        "p.json": {"a": [0.1, 0.9]},
        "s.json": {"a": []},
        "l.json": {"a": [0]},
        "map.json": {"0": 0, "7": 1},
    }.items():
        (tmp_path / name).write_text(json.dumps(content), encoding="utf-8")
    sets = ["--frames", str(tmp_path / "s.json"), "--labels", str(tmp_path / "l.json")]
    chosen = ["--class-map", str(tmp_path / "map.json")]
    assert main(["score", "pmk", str(tmp_path / "p.json"), *sets, *chosen]) == 2
    assert f"{tmp_path / 'map.json'} with {tmp_path / 'p.json'}: groups[1] has 7" in capsys.readouterr().err


def test_a_negative_seed_is_refused_in_one_line(tmp_path, capsys):
    for name, content in {"p.json": {"a": 0}, "s.json": {"a": []}, "l.json": {"a": [0]}}.items():
        (tmp_path / name).write_text(json.dumps(content), encoding="utf-8")
    sets = ["--frames", str(tmp_path / "s.json"), "--labels", str(tmp_path / "l.json")]
    assert main(["score", "pmk", str(tmp_path / "p.json"), *sets, "--leave-anchor-out", "--seed", "-1"]) == 2
    assert capsys.readouterr().err == "yardsticks: seed is -1: give a whole number of at least 0\n"


def test_a_failing_report_leaves_nothing_written(folder, monkeypatch):
    def fails(*_, **__):
        raise InputError("nothing can be drawn")

    before = set(folder.iterdir())
    monkeypatch.setattr(show, "report", fails)
    assert run(folder, "--json", "out.json", "--html", "out.html") == 2
    assert set(folder.iterdir()) == before
