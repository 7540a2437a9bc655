"""``yardsticks score pa`` on files: the library's numbers, or one line that says what to do."""

import csv
import json
import math
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest

from helpers import pa
from helpers.cli import main
from helpers.errors import InputError, MissingExtra
from helpers.pa import command, show
from helpers.pa.command import read

from ..selfcontained import addresses_outside

LABELS = np.arange(400) % 6


@pytest.fixture
def folder(tmp_path, noisy):
    """Files of logits and labels, in every format."""
    for name, array in (("clean", noisy[0]), ("shifted", noisy[1]), ("labels", LABELS)):
        np.save(tmp_path / f"{name}.npy", array)
        np.savez_compressed(tmp_path / f"{name}.npz", anything=array)
        with (tmp_path / f"{name}.csv").open("w", newline="") as stream:
            csv.writer(stream).writerows(np.atleast_2d(array.T).T.tolist())
    return tmp_path


def score(folder, *options, clean="clean.npy", shifted="shifted.npy"):
    """Run the command on two files of a folder; file names among the options lie there too."""
    placed = [str(folder / option) if "." in option and option[0].isalpha() else option for option in options]
    return main(["score", "pa", "--logits", str(folder / clean), "--shifted", str(folder / shifted), *placed])


@pytest.mark.parametrize("ending", ["npy", "npz", "csv"])
def test_the_numbers_are_the_librarys(folder, noisy, capsys, ending):
    options = ("--labels", f"labels.{ending}", "--json", "out.json", "--confidence", "0.9", "--seed", "7")
    assert score(folder, *options, clean=f"clean.{ending}", shifted=f"shifted.{ending}") == 0
    result = pa.agreement(*noisy, confidence=0.9, seed=7)
    content = json.loads((folder / "out.json").read_text(encoding="utf-8"))
    rates, origin = content.pop("rates"), content.pop("provenance")
    assert origin["files"] == {"logits": str(folder / f"clean.{ending}"), "shifted": str(folder / f"shifted.{ending}")}
    assert (origin["inputs"], origin["seed"]) == ("logits", 7)
    assert content == json.loads(json.dumps(result.to_dict()))
    assert rates["AFR_P, predictions kept"]["count"] == pa.failure_rate(noisy[1], noisy[0]).count
    assert rates["Accuracy, clean"]["count"] == pa.failure_rate(noisy[0], LABELS).count
    assert rates["AFR_T, accuracy under the shift"]["count"] == pa.failure_rate(noisy[1], LABELS).count
    output = capsys.readouterr()
    assert output.err == ""
    low, high = result.interval
    assert output.out.startswith(f"agreement {result.value:.6f} nat [{low:.6f}, {high:.6f}], relative ")
    assert "interior, proven global" in output.out
    accuracy = rates["Accuracy, clean"]
    assert f"Accuracy, clean: {accuracy['rate']:.4f}, {accuracy['count']} of 400" in output.out
    assert f"beta x margin {result.beta_margin:.6g}" in output.out


def test_without_labels_no_accuracy_and_without_files_none_written(folder, capsys):
    before = set(folder.iterdir())
    assert score(folder) == 0
    output = capsys.readouterr().out
    assert "AFR_P" in output
    assert "ccuracy" not in output
    assert set(folder.iterdir()) == before


def test_chunks_change_nothing(folder, capsys):
    assert score(folder) == 0
    whole = capsys.readouterr().out
    assert score(folder, "--chunk", "17") == 0
    assert capsys.readouterr().out == whole


@pytest.mark.parametrize("inputs", ["probs", "log_probs"])
def test_other_inputs(folder, noisy, inputs):
    for name, logits in zip(("clean", "shifted"), noisy, strict=True):
        logs = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
        np.save(folder / f"{name}.npy", np.exp(logs) if inputs == "probs" else logs)
    assert score(folder, "--inputs", inputs, "--json", "out.json", "--html", "out.html") == 0
    value = json.loads((folder / "out.json").read_text())["value"]
    assert value == pytest.approx(pa.agreement(*noisy).value, abs=1e-9)


def test_infinity_is_a_word_in_the_json(folder):
    assert score(folder, "--json", "out.json", shifted="clean.npy") == 0
    content = json.loads((folder / "out.json").read_text(), parse_constant=pytest.fail)
    assert (content["beta"], content["status"]) == ("inf", "infinite")
    assert content["value"] == pytest.approx(math.log(6))


def test_the_report_is_self_contained(folder, noisy):
    assert score(folder, "--labels", "labels.npy", "--html", "report.html") == 0
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert addresses_outside(page) == []
    assert page.startswith("<!doctype html>")
    assert page.count("<svg ") == page.count('role="img" aria-label="') == 2
    assert "<script" not in page
    assert f"{pa.agreement(*noisy).value:.6f} nat" in page
    assert "Accuracy, clean" in page


def test_results_replace_old_ones_and_leave_nothing_beside(folder):
    for name in ("out.json", "out.html"):
        (folder / name).write_text("old")
    before = set(folder.iterdir())
    assert score(folder, "--json", "out.json", "--html", "out.html") == 0
    assert set(folder.iterdir()) == before
    assert json.loads((folder / "out.json").read_text())["n"] == 400
    assert (folder / "out.html").read_text().startswith("<!doctype html>")


@pytest.mark.parametrize("option", ["--json", "--html"])
def test_a_full_disk_leaves_the_old_file_whole(folder, capsys, monkeypatch, option):
    (folder / "out.file").write_text("old")
    before = set(folder.iterdir())

    def full(path, text, **_):
        path.write_bytes(text[: len(text) // 2].encode())
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    assert score(folder, option, "out.file") == 2
    assert "No space left on device" in capsys.readouterr().err
    assert (folder / "out.file").read_text() == "old"
    assert set(folder.iterdir()) == before


class Payload:
    """Would leave a file behind if it were ever unpickled."""

    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return Path.touch, (self.mark,)


def bad_files(folder):
    """Files that the command must refuse."""
    objects = np.array([[Payload(folder / "executed")]], dtype=object)
    np.save(folder / "object.npy", objects)
    np.savez(folder / "object.npz", x=objects)
    (folder / "pickle.npy").write_bytes(pickle.dumps(Payload(folder / "executed")))
    np.savez(folder / "two.npz", first=np.eye(2), second=np.eye(2))
    np.savez(folder / "none.npz")
    for ending in ("npy", "npz"):
        content = (folder / f"clean.{ending}").read_bytes()
        (folder / f"cut.{ending}").write_bytes(content[: len(content) // 2])
        (folder / f"blank.{ending}").write_bytes(b"")
    damaged = bytearray((folder / "clean.npz").read_bytes())
    damaged[400] ^= 0xFF
    (folder / "damaged.npz").write_bytes(damaged)
    damaged[400] ^= 0xFF
    damaged[damaged.index(b"anything.npy") + 32] ^= 0x07  # where the compressed stream begins: zlib cannot read on
    (folder / "undeflatable.npz").write_bytes(damaged)
    (folder / "header.npy").write_bytes((folder / "clean.npy").read_bytes().replace(b"}", b" ", 1))
    np.save(folder / "wide.npy", np.zeros(1, [(f"a column with a long name, number {i}", float) for i in range(500)]))
    (folder / "renamed.npy").write_bytes((folder / "clean.npz").read_bytes())
    (folder / "array.npz").write_bytes((folder / "clean.npy").read_bytes())
    with zipfile.ZipFile(folder / "text.npz", "w") as archive:
        archive.writestr("notes", "no array")
    (folder / "typo.csv").write_text("1,2.O\n3,4\n")
    (folder / "indexed.csv").write_text(",0,1\n0,0.5,0.2\n1,0.1,0.9\n")  # a table with its row numbers
    (folder / "words.csv").write_text("a,b\n1,2\n3,four\n")
    (folder / "ragged.csv").write_text("1,2\n3,4\n5\n")
    (folder / "blank.csv").write_text("")
    (folder / "header.csv").write_text("a,b\n")
    (folder / "semicolons.csv").write_text("a;b\n1;2\n")
    (folder / "latin.csv").write_bytes("größe,höhe\n1,2\n".encode("latin-1"))
    (folder / "list.txt").write_text("1 2\n")
    (folder / "is_a_folder.npy").mkdir()
    np.save(folder / "one_axis.npy", np.ones(5))
    np.save(folder / "complex.npy", np.ones((400, 6), complex))
    np.save(folder / "nan.npy", np.where(np.arange(2400).reshape(400, 6) == 615, np.nan, 1.0))
    np.save(folder / "fewer.npy", np.ones((399, 6)))
    np.save(folder / "empty.npy", np.zeros((0, 6)))
    np.save(folder / "sums.npy", np.full((400, 6), 1 / 6) + np.eye(400, 6) * 1e-3)


@pytest.mark.parametrize(
    ("options", "files", "line"),
    [
        ((), {"clean": "absent.npy"}, "absent.npy: No such file or directory"),
        ((), {"shifted": "absent.csv"}, "absent.csv: No such file or directory"),
        ((), {"clean": "is_a_folder.npy"}, "is_a_folder.npy: Is a directory"),
        ((), {"clean": "list.txt"}, "list.txt: arrays are read from .npy, .npz and .csv files"),
        ((), {"clean": "object.npy"}, "object.npy: not a readable array (Array can't be memory-mapped: Python objects"),
        ((), {"clean": "object.npz"}, "object.npz: holds Python objects, which are never loaded"),
        ((), {"clean": "pickle.npy"}, "pickle.npy: not a readable array"),
        ((), {"clean": "two.npz"}, "two.npz: holds 2 arrays (first, second): save one array to a file"),
        ((), {"clean": "none.npz"}, "none.npz: holds 0 arrays"),
        ((), {"clean": "cut.npy"}, "cut.npy: not a readable array"),
        ((), {"clean": "cut.npz"}, "cut.npz: truncated or damaged"),
        ((), {"clean": "undeflatable.npz"}, "undeflatable.npz: truncated or damaged"),
        ((), {"clean": "blank.npy"}, "blank.npy: not a readable array"),
        ((), {"clean": "blank.npz"}, "blank.npz: is no .npz file"),
        ((), {"clean": "damaged.npz"}, "damaged.npz: truncated or damaged"),
        ((), {"clean": "words.csv"}, "words.csv, line 3: could not convert string to float: 'four'"),
        ((), {"clean": "typo.csv"}, "typo.csv, line 1: could not convert string to float: '2.O'"),
        ((), {"clean": "indexed.csv"}, "indexed.csv, line 1: could not convert string to float: ''"),
        ((), {"clean": "latin.csv"}, "latin.csv: not UTF-8 text"),
        ((), {"clean": "header.npy"}, "header.npy: not a readable array"),
        ((), {"clean": "renamed.npy"}, "renamed.npy: not a readable array"),
        ((), {"clean": "wide.npy"}, "wide.npy: not a readable array"),
        ((), {"clean": "array.npz"}, "array.npz: a single array (.npy), not an archive"),
        ((), {"clean": "text.npz"}, "text.npz: entry 'notes' is no array"),
        ((), {"clean": "ragged.csv"}, "ragged.csv, line 3: 1 values, the lines before have 2"),
        ((), {"clean": "semicolons.csv"}, "semicolons.csv, line 2: could not convert"),
        ((), {"clean": "blank.csv"}, "logits has shape (0,)"),
        ((), {"clean": "header.csv"}, "logits has shape (0,)"),
        ((), {"clean": "one_axis.npy"}, "logits has shape (5,)"),
        ((), {"shifted": "complex.npy"}, "shifted has type complex128"),
        ((), {"shifted": "nan.npy"}, "shifted[102, 3] is nan: every value must be finite"),
        ((), {"shifted": "fewer.npy"}, "logits has shape (400, 6) and shifted (399, 6)"),
        ((), {"clean": "empty.npy", "shifted": "empty.npy"}, "logits has shape (0, 6)"),
        ((), {"clean": "sums.npy", "shifted": "sums.npy"}, "pass inputs='probs'"),
        (("--inputs", "probs"), {}, "with inputs='probs' each value lies in (0, 1]"),
        (("--confidence", "95"), {}, "confidence is 95.0: give a level between 0 and 1"),
        (("--confidence", "nan"), {}, "confidence is nan"),
        (("--chunk", "0"), {}, "chunk is 0"),
        (("--labels", "absent.npy"), {}, "absent.npy: No such file or directory"),
        (("--labels", "one_axis.npy"), {}, "labels has shape (5,): give 400 class numbers"),
        (("--labels", "fewer.npy"), {}, "labels has shape (399, 6)"),
        (("--labels", "clean.npy"), {}, "labels has shape (400, 6)"),
        (("--seed", "-1"), {}, "seed is -1: give a whole number of at least 0"),
    ],
)
def test_a_refusal_is_one_line_and_nothing_is_written(folder, capsys, options, files, line):
    bad_files(folder)
    (folder / "out.json").write_text("old")
    before = set(folder.iterdir())
    assert score(folder, *options, "--json", "out.json", "--html", "out.html", **files) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith("yardsticks: ")
    assert output.err.count("\n") == 1
    assert line in output.err
    assert set(folder.iterdir()) == before
    assert (folder / "out.json").read_text() == "old"


@pytest.mark.parametrize("option", ["--json", "--html"])
@pytest.mark.parametrize(
    ("target", "problem"), [("absent/out.file", "No such file or directory"), ("taken.folder", "Is a directory")]
)
def test_a_target_that_cannot_be_written_is_named(folder, capsys, option, target, problem):
    (folder / "taken.folder").mkdir()
    before = set(folder.iterdir())
    assert score(folder, option, target) == 2
    assert capsys.readouterr().err == f"yardsticks: {folder / target}: {problem}\n"
    assert set(folder.iterdir()) == before


def test_without_matplotlib_the_extra_is_named_and_no_report_begun(folder, capsys, monkeypatch):
    def absent(module, *, extra):
        raise MissingExtra(f"{module} is not installed: pip install 'yardsticks[{extra}]'")

    monkeypatch.setattr("helpers.lazy.require", absent)
    before = set(folder.iterdir())
    assert score(folder, "--html", "out.html") == 2
    assert "pip install 'yardsticks[jupyter]'" in capsys.readouterr().err
    assert set(folder.iterdir()) == before


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1,2\n3,4\n", [[1.0, 2.0], [3.0, 4.0]]),
        ("a,b\n1,2\n3,4\n", [[1.0, 2.0], [3.0, 4.0]]),
        ("1,2\r\n3,4\r\n\r\n", [[1.0, 2.0], [3.0, 4.0]]),
        ("\n 1e-3 , -2.5\n\n3,4", [[1e-3, -2.5], [3.0, 4.0]]),
        ("\ufeff1,2\n3,4\n", [[1.0, 2.0], [3.0, 4.0]]),  # spreadsheets put this mark before the first number
        ("\ufeffa,b\n1,2\n3,4\n", [[1.0, 2.0], [3.0, 4.0]]),
        ("1,2\n", [[1.0, 2.0]]),
        ("label\n0\n2\n1\n", [0, 2, 1]),
        ("0.5\n2\n", [0.5, 2.0]),
    ],
)
def test_csv(tmp_path, text, expected):
    (tmp_path / "x.csv").write_bytes(text.encode())
    array = read(tmp_path / "x.csv")
    assert array.tolist() == expected
    assert array.dtype == np.array(expected).dtype


def test_csv_keeps_every_digit(tmp_path):
    array = np.random.default_rng(0).normal(size=(20, 3)) * 1e6
    (tmp_path / "x.csv").write_text("\n".join(",".join(map(repr, row)) for row in array.tolist()))
    assert np.array_equal(read(tmp_path / "x.csv"), array)


def test_npy_is_mapped_and_not_read(folder, noisy):
    array = read(folder / "clean.npy")
    assert isinstance(array, np.memmap)
    assert np.array_equal(array, noisy[0])


def test_drawing_is_loaded_only_for_a_report(folder, monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("nothing is to be drawn")

    monkeypatch.setattr("helpers.figures.subplots", refuse)
    assert score(folder, "--json", "out.json") == 0
    with pytest.raises(AssertionError):
        score(folder, "--html", "out.html")


def test_a_maximum_that_is_not_proven_says_so(folder, capsys, monkeypatch):
    from dataclasses import replace

    original = command.agreement
    monkeypatch.setattr(command, "agreement", lambda *a, **k: replace(original(*a, **k), bound=1.7))
    assert score(folder) == 0
    assert "not proven global (bound 1.700000)" in capsys.readouterr().out


@pytest.mark.parametrize("first", [0, 1])
def test_an_index_column_is_no_class(folder, noisy, capsys, first):
    """As `DataFrame.to_csv` writes it: a class that counts the rows would never flip."""
    lines = [",cat,dog,fox,owl,bat,ant"]
    lines += [f"{first + i}," + ",".join(map(str, row)) for i, row in enumerate(noisy[0].tolist())]
    (folder / "frame.csv").write_text("\n".join(lines))
    assert score(folder, clean="frame.csv") == 2
    assert "the first column counts the rows" in capsys.readouterr().err


def test_more_classes_than_rows_is_pointed_out(folder, noisy, capsys):
    for name, array in zip(("clean", "shifted"), noisy, strict=True):
        np.save(folder / f"{name}_turned.npy", array.T)
    assert score(folder, clean="clean_turned.npy", shifted="shifted_turned.npy") == 0
    assert "400 classes and 6 rows; is the array transposed?" in capsys.readouterr().err


def test_a_failing_report_leaves_nothing_written(folder, monkeypatch):
    def fails(*_, **__):
        raise InputError("nothing can be drawn")

    before = set(folder.iterdir())
    monkeypatch.setattr(show, "contributions", fails)
    assert score(folder, "--json", "out.json", "--html", "out.html") == 2
    assert set(folder.iterdir()) == before
