"""One contract over all readers: what each promises, whatever its grammar."""

import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest

from helpers.cl import AccuracyMatrix, Run
from helpers.cl.readers import READERS, read, sniff
from helpers.cl.record import NOT_GIVEN
from helpers.errors import InputError

LOGS = Path(__file__).parents[1] / "logs"
MNIST = "facil/mnist_finetuning"
STAMP = "2026-11-30-02-03.txt"
#: Each log, its format, and how many runs it holds.
EXAMPLES = [
    ("avalanche/eval_results.csv", "avalanche-csv", 1),
    ("avalanche/rounds.json", "avalanche-dict", 1),
    ("avalanche/all_metrics.json", "avalanche-dict", 1),
    ("avalanche/stale_rounds.json", "avalanche-dict", 1),
    ("avalanche/stale_all_metrics.json", "avalanche-dict", 1),
    ("avalanche/log.txt", "avalanche-text", 1),
    (f"{MNIST}/results/acc_taw-{STAMP}", "facil", 1),
    (f"{MNIST}/results/acc_tag-{STAMP}", "facil", 1),
    (f"{MNIST}/raw_log-{STAMP}", "facil", 2),
    ("mammoth/class-il/seq-mnist/sgd/logs.pyd", "mammoth", 2),
    ("mammoth/task-il/seq-mnist/sgd/logs.pyd", "mammoth", 2),
    ("mammoth", "mammoth", 4),
    ("gem/gem.txt", "gem", 1),
    ("gem/single.txt", "gem", 1),
    ("continuum/log.json", "continuum", 1),
    ("pycil/stdout.txt", "pycil", 4),
    ("pycil/stdout_12_tasks.txt", "pycil", 1),
    ("trace/finetuning", "trace", 5),
    ("long.csv", "long-csv", 2),
    ("wide.csv", "wide-csv", 1),
]
#: What a log of each format leaves to the reader to declare.
DECLARED = {
    "long-csv": {"scale": "percent"},
    "wide-csv": {"scale": "percent", "rows": "time"},
}
PLAIN = {
    "long.csv": "run,seed,step,task,value,n\n"
    "ER,0,0,1,10,50\nER,0,1,1,90,50\nER,0,2,1,80,50\nER,0,2,2,95,40\n"
    "ER,1,1,1,91,50\nER,1,2,1,missing: crashed,50\nER,1,2,2,94,40\n",
    "wide.csv": "after,digits,letters\nbaseline,10,12\n1,90,20\n2,75,93\n",
}


@pytest.fixture(params=EXAMPLES, ids=[example[0] for example in EXAMPLES])
def example(request, tmp_path):
    """A valid log with its format and its number of runs."""
    name, format, count = request.param
    if name not in PLAIN:
        return LOGS / name, format, count
    path = tmp_path / name
    path.write_text(PLAIN[name])
    return path, format, count


def test_every_reader_has_an_example_and_a_name():
    assert {format for _, format, _ in EXAMPLES} == set(READERS)
    for name, reader in READERS.items():
        assert reader.name == name
        assert reader.source
        assert (reader.scale is None) == (name in (*DECLARED, "trace"))


def test_a_log_gives_a_list_of_runs(example):
    path, format, count = example
    runs = read(path, format, **DECLARED.get(format, {}))
    assert isinstance(runs, list)
    assert len(runs) == count
    for run in runs:
        assert isinstance(run, Run)
        assert isinstance(run.matrix, AccuracyMatrix)
        assert run.matrix.name == run.name
        assert run.matrix.provenance == {"file": path.name, "format": format}
        assert run.matrix.scale in ("percent", "fraction")


def test_every_missing_cell_says_why_so_that_the_matrix_can_be_saved(example, tmp_path):
    path, format, _ = example
    for run in read(path, format, **DECLARED.get(format, {})):
        for k, j in np.argwhere(run.matrix.missing):
            assert run.matrix.reason(int(k), int(j)) not in (None, "", NOT_GIVEN)
        saved = AccuracyMatrix.load(run.matrix.save(tmp_path / "matrix.npz"))
        assert saved.to_dict() == run.matrix.to_dict()


def test_the_grammar_is_recognised_and_no_other(example):
    path, format, _ = example
    assert sniff(path) == format
    options = DECLARED.get(format, {})
    told, found = read(path, format, **options), read(path, **options)
    assert [run.matrix.to_dict() for run in told] == [run.matrix.to_dict() for run in found]


def test_a_log_read_as_any_other_format_is_refused(example):
    path, format, _ = example
    for other in set(READERS) - {format}:
        with pytest.raises(InputError, match=path.name):
            read(path, other, **DECLARED.get(other, {}))


def test_what_a_tool_writes_itself_is_not_declared_again(example):
    path, format, _ = example
    given = {"scale": "fraction", "rows": "time", "direction": "higher"}
    for name in set(given) - set(READERS[format].options):
        with pytest.raises(InputError, match=f"{name} is '{given[name]}', but {format} logs have their own"):
            read(path, format, **{name: given[name]})


@pytest.mark.parametrize(("format", "missing"), [("long-csv", "scale"), ("wide-csv", "scale"), ("wide-csv", "rows")])
def test_scale_and_orientation_of_a_table_are_declared(tmp_path, format, missing):
    path = tmp_path / "table.csv"
    path.write_text(PLAIN["wide.csv"])
    declared = {name: value for name, value in DECLARED[format].items() if name != missing}
    with pytest.raises(InputError, match=f"{missing} is not given"):
        read(path, format, **declared)


@pytest.mark.parametrize("option", ["scale", "rows", "direction"])
def test_unknown_choices_are_refused(tmp_path, option):
    path = tmp_path / "wide.csv"
    path.write_text(PLAIN["wide.csv"])
    with pytest.raises(InputError, match=f"{option} is 'sideways': choose one of"):
        read(path, "wide-csv", **{**DECLARED["wide-csv"], option: "sideways"})


def test_an_unknown_format_is_refused_with_the_known_ones():
    with pytest.raises(InputError, match=r"format is 'sequoia': choose one of avalanche-csv, .*wide-csv, or auto"):
        read("log.txt", "sequoia")


def test_two_grammars_that_fit_are_both_named(tmp_path):
    """Two scores of a long table are also a square of 2 x 2 with names above it and beside it."""
    path = tmp_path / "table.csv"
    path.write_text("step,task,value\n1,1,90\n2,1,80\n")
    with pytest.raises(InputError, match=r"table.csv: long-csv and wide-csv both fit: choose one"):
        read(path, scale="percent")
    assert read(path, "wide-csv", scale="percent", rows="time")[0].matrix.tasks == ("task", "value")


def test_no_grammar_that_fits_is_said(tmp_path):
    path = tmp_path / "letter.txt"
    path.write_text("Dear reader,\n")
    with pytest.raises(InputError, match=r"letter.txt: no known grammar fits: choose a format of"):
        read(path)
    with pytest.raises(InputError, match="no known grammar fits"):
        read(tmp_path)


def test_the_head_may_end_inside_a_character(tmp_path):
    path = tmp_path / "log.txt"
    for shift in range(4):
        path.write_text("-- >> Start of eval phase << --\n" + "x" * shift + "\U0001f600" * 2**15)
        assert sniff(path) == "avalanche-text"


class Bomb:
    """Writes a file when it is unpickled."""

    def __init__(self, target):
        self.target = target

    def __reduce__(self):
        return (Path.touch, (self.target,))


@pytest.mark.parametrize("format", [*(name for name, reader in READERS.items() if reader.sniff), "auto"])
@pytest.mark.parametrize("suffix", [".pt", ".txt"])
def test_pickles_are_refused_with_a_recipe_and_never_opened(tmp_path, format, suffix):
    target, path = tmp_path / "pwned", tmp_path / f"log{suffix}"
    path.write_bytes(pickle.dumps(Bomb(target)))
    pickle.loads(path.read_bytes())
    assert target.exists()  # the bomb works
    target.unlink()
    with pytest.raises(InputError, match=rf"log\{suffix}: pickles and archives are never opened here.*: \w+"):
        read(path, format, **DECLARED.get(format, {}))
    assert not target.exists()


def test_archives_are_refused_and_recipes_fit_the_tool(tmp_path):
    path = tmp_path / "matrix.bin"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", pickle.dumps(1))
    with pytest.raises(InputError, match=r"AccuracyMatrix\.load"):
        read(path)
    with pytest.raises(InputError, match=r"a \.txt beside every \.pt"):
        read(path, "gem")
    with pytest.raises(InputError, match=r"json\.dump\(logger\.logger_dict"):
        read(path, "continuum")
    np.save(tmp_path / "scores.npy", [[90.0]])
    with pytest.raises(
        InputError, match=r"is a NumPy array, not a log: AccuracyMatrix\(numpy.load\('scores.npy'\), sca"
    ):
        read(tmp_path / "scores.npy")


@pytest.mark.parametrize("path", [None, 3, "a\0b"])
def test_what_is_no_path_is_refused(path):
    with pytest.raises(InputError, match=r"path is .*: give the name of a file"):
        read(path)


@pytest.mark.parametrize("format", [name for name, reader in READERS.items() if reader.sniff])
def test_empty_files_folders_and_wrong_bytes_are_refused(tmp_path, format):
    path = tmp_path / "log.txt"
    for content, said in ((b"", "log.txt"), (b" \n\n", "log.txt"), (b"a\n\xff\n", "log.txt, line 2: not UTF-8 text")):
        path.write_bytes(content)
        with pytest.raises(InputError, match=said):
            read(path, format, **DECLARED.get(format, {}))
    with pytest.raises(InputError, match="is a folder"):
        read(tmp_path, format, **DECLARED.get(format, {}))
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "nothing", format, **DECLARED.get(format, {}))


def test_a_file_above_the_limit_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("helpers.cl.readers.reader.MAX_BYTES", 2**20)
    path = tmp_path / "log.txt"
    path.write_text("x" * (2**20 + 1))
    with pytest.raises(InputError, match="is larger than 1 MiB: keep the lines that hold the accuracies"):
        read(path, "avalanche-text")


def test_line_ends_and_a_mark_in_front_do_not_matter(example, tmp_path):
    path, format, _ = example
    if path.is_dir():
        return
    folder = tmp_path / path.parent.parent.parent.name / path.parent.parent.name / path.parent.name
    folder.mkdir(parents=True, exist_ok=True)
    copy = folder / path.name
    copy.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))
    options = DECLARED.get(format, {})
    for expected, found in zip(read(path, format, **options), read(copy, format, **options), strict=True):
        np.testing.assert_array_equal(expected.matrix.values, found.matrix.values)
