"""The command: verbs are found, help is there, and every refusal is one line and exit status 2."""

import argparse
import importlib
import re

import pytest

import helpers
from helpers import cli
from helpers.errors import InputError, MissingExtra
from helpers.pa import command

PACKAGES = (*cli.HOUSES, *cli.VERBS.values())
SCORE = ["score", "pa", "--logits", "a.npy", "--shifted", "b.npy"]


@pytest.mark.parametrize("name", PACKAGES)
def test_every_command_module_offers_what_the_command_needs(name):
    module = importlib.import_module(f"helpers.{name}.command")
    assert isinstance(module.SUMMARY, str)
    assert module.SUMMARY
    assert module.configure(argparse.ArgumentParser()) is None
    assert callable(module.run)


@pytest.mark.parametrize("arguments", [["--help"], ["score", "--help"], ["score", "pa", "--help"]])
def test_help(capsys, arguments):
    with pytest.raises(SystemExit) as end:
        cli.main(arguments)
    assert end.value.code == 0
    text = capsys.readouterr().out
    assert text.startswith("usage: yardsticks")
    listed = re.findall(r"^    (\S+)", text, re.MULTILINE)
    if arguments == ["score", "--help"]:
        assert listed == [house for house in cli.HOUSES if house in PACKAGES]
    if arguments == ["--help"]:
        assert listed == ["score", *(verb for verb, package in cli.VERBS.items() if package in PACKAGES)]


def test_version(capsys):
    with pytest.raises(SystemExit) as end:
        cli.main(["--version"])
    assert end.value.code == 0
    assert capsys.readouterr().out == f"yardsticks {helpers.__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ([], "VERB"),
        (["measure"], "measure"),
        (["score"], "CHAPTER"),
        (["score", "nothing"], "nothing"),
        (["score", "pa"], "--logits, --shifted"),
        (["score", "pa", "--logits", "a.npy"], "--shifted"),
        ([*SCORE, "--inputs", "odds"], "odds"),
        ([*SCORE, "--confidence", "high"], "--confidence: invalid float value: 'high'"),
    ],
)
def test_what_cannot_be_parsed_ends_with_status_2(capsys, arguments, named):
    with pytest.raises(SystemExit) as end:
        cli.main(arguments)
    assert end.value.code == 2
    assert named in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (InputError("logits has shape (3,)"), "logits has shape (3,)"),
        (
            MissingExtra("torch is not installed: pip install 'yardsticks[torch]'"),
            "torch is not installed: pip install 'yardsticks[torch]'",
        ),
        (FileNotFoundError(2, "No such file or directory", "a.npy"), "a.npy: No such file or directory"),
        (OSError(28, "No space left on device"), "No space left on device"),
        (InputError("a library's words:\nmore of them\n"), "a library's words: more of them"),
        (OSError("an error of a library's own"), "an error of a library's own"),
    ],
)
def test_a_refusal_is_one_line_and_status_2(monkeypatch, capsys, error, line):
    def refuse(_):
        raise error

    monkeypatch.setattr(command, "run", refuse)
    assert cli.main(SCORE) == 2
    assert capsys.readouterr() == ("", f"yardsticks: {line}\n")


def test_an_interrupt_ends_quietly(monkeypatch, capsys):
    def interrupt(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "run", interrupt)
    assert cli.main(SCORE) == 130
    assert capsys.readouterr().err == "yardsticks: interrupted\n"


@pytest.mark.parametrize("error", [KeyError("x"), ValueError("x"), ImportError("x")])
def test_a_fault_of_our_own_is_not_dressed_up_as_a_refusal(monkeypatch, error):
    def fail(_):
        raise error

    monkeypatch.setattr(command, "run", fail)
    with pytest.raises(type(error)):
        cli.main(SCORE)


@pytest.mark.parametrize("status", [0, 1])
def test_the_status_of_a_verb_is_handed_on(monkeypatch, status):
    monkeypatch.setattr(command, "run", lambda _: status)
    assert cli.main(SCORE) == status


def test_without_arguments_of_its_own_it_reads_those_of_the_process(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["yardsticks", "--version"])
    with pytest.raises(SystemExit):
        cli.main()
    assert helpers.__version__ in capsys.readouterr().out


READS = {
    "score pa": ["--logits", "--shifted", "--labels"],
    "score tempora": [""],
    "score ppat": ["", "--pool-proxy"],
    "score pmk": ["", "--frames", "--labels", "--groups", "--class-map"],
    "score cl": [""],
    "check-report": [""],
}


@pytest.mark.parametrize("option", ["--json", "--html"])
@pytest.mark.parametrize(("verb", "name"), [(verb, name) for verb, names in READS.items() for name in names])
def test_nothing_that_is_read_is_written_over(tmp_path, capsys, monkeypatch, verb, name, option):
    if verb == "check-report" and option == "--html":
        pytest.skip("it writes no page")
    monkeypatch.chdir(tmp_path)
    read = [text for n, each in enumerate(READS[verb]) for text in ([each] if each else []) + [f"file{n}.csv"]]
    place = f"file{READS[verb].index(name)}.csv"
    # none of the files is there, so that a command which read one first would say that
    assert cli.main([*verb.split(), *read, option, f"./{place}"]) == 2
    refused = rf"yardsticks: {option} is {place}, which is read as \w+: give a file of its own\n"
    assert re.fullmatch(refused, capsys.readouterr().err)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("verb", [verb for verb in READS if verb != "check-report"])
def test_two_results_are_not_written_to_one_file(tmp_path, capsys, monkeypatch, verb):
    monkeypatch.chdir(tmp_path)
    read = [text for each in READS[verb] for text in ([each] if each else []) + ["file.csv"]]
    assert cli.main([*verb.split(), *read, "--json", "out", "--html", "./out"]) == 2
    assert "--html is out, which --json writes: give a file of its own" in capsys.readouterr().err
