"""Executing what is stored once more: what counts as the same, and what is said where it is not."""

import json
from pathlib import Path
from typing import Any

import pytest

from helpers.batch.runner import run
from helpers.batch.store import Entry
from helpers.batch.verification import differences, verify
from helpers.cli import main

from .conftest import Pretended, Project, make

TWO = "chapters: {pa: {parameters: {seed: [0, 1]}}}"


def entry(*outputs: str, time: str = "2026-11-29T10:00:00+00:00", version: str = "1", **metrics: Any) -> Entry:
    """An outcome with one code cell per output."""
    cells = [
        {"cell_type": "code", "source": "f()", "outputs": [{"output_type": "stream", "name": "stdout", "text": text}]}
        for text in outputs
    ]
    origin = {"time": time, "hardware": f"made at {time}", "versions": version}
    keys = ("value", "unit", "low", "high", "reason")
    found = {name: dict(zip(keys, value, strict=True)) for name, value in metrics.items()}
    result = json.dumps({"metrics": found, "provenance": origin}).encode()
    return Entry(json.dumps({"cells": cells, "metadata": {}}).encode(), result, b"", {})


SCORE = (0.5, "nat", 0.25, 0.75, None)


def test_times_hosts_and_addresses_do_not_count() -> None:
    one = entry("<f at 0x7f0011223344> 2026-11-29T10:00:00+00:00", score=SCORE)
    two = entry("<f at 0x7fffffffff00> 2027-01-01T00:00:00+00:00", time="2027-01-01T00:00:00+00:00", score=SCORE)
    assert differences(one, two) == []


@pytest.mark.parametrize(
    ("other", "lines"),
    [
        (
            entry("1", "2", score=(0.5000000000000001, *SCORE[1:])),
            ["metric score: 0.5 [0.25, 0.75] -> 0.5000000000000001 [0.25, 0.75]"],
        ),
        (entry("1", "2", score=(0.5, "nat", None, None, "none")), ["metric score: 0.5 [0.25, 0.75] -> 0.5"]),
        (entry("1", "2"), ["metric score: 0.5 [0.25, 0.75] -> absent"]),
        (entry("1", "2", score=SCORE, more=SCORE), ["metric more: absent -> 0.5 [0.25, 0.75]"]),
        (entry("1", "2", score=SCORE, version="2"), ["provenance of the result"]),
        (entry("1", "3", score=SCORE), ["output of code cell 2"]),
    ],
)
def test_differences(other: Entry, lines: list[str]) -> None:
    assert differences(entry("1", "2", score=SCORE), other) == lines


def test_a_result_that_is_gone() -> None:
    one = entry("1", score=SCORE)
    found = differences(one, Entry(one.executed, None, b"", {}))
    assert found == ["metric score: 0.5 [0.25, 0.75] -> absent", "provenance of the result"]


def test_the_same_again(project: Project, pretended: Pretended) -> None:
    pretended.text = "always this\n"
    grid = project(TWO, pa=make("alpha"))
    run(grid, "out")
    before = {path: path.read_bytes() for path in Path("_build/store").rglob("*") if path.is_file()}
    verdicts = verify(grid)
    assert [verdict.state for verdict in verdicts] == ["same", "same"] and len(pretended.tasks) == 4
    assert {path: path.read_bytes() for path in Path("_build/store").rglob("*") if path.is_file()} == before


def test_another_output_a_failure_and_what_is_not_stored(
    project: Project, pretended: Pretended, capsys: pytest.CaptureFixture[str]
) -> None:
    grid = project("chapters: {pa: {parameters: {seed: [0, 1, 2]}}}", pa=make("alpha"))
    run(grid, "out", shard="1/3")
    run(grid, "out", shard="2/3")

    def fail(task: dict[str, Any]) -> None:
        if task["parameters"]["seed"] == 1:
            raise RuntimeError("no luck")

    pretended.before = fail
    assert main(["batch", "verify", str(grid)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "3 jobs: 0 same, 1 different, 1 failed, 1 missing"
    assert "  output of code cell 2" in lines and any("no luck" in line for line in lines)


def test_exit_status_zero_where_all_is_the_same(
    project: Project, pretended: Pretended, capsys: pytest.CaptureFixture[str]
) -> None:
    pretended.text = "always this\n"
    grid = project(TWO, pa=make("alpha"))
    run(grid, "out")
    assert main(["batch", "verify", str(grid)]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "2 jobs: 2 same, 0 different, 0 failed, 0 missing"
