"""What a run shows: lines in a file, a bar on a terminal, the time that is left."""

import fcntl
import io
import os
import pty
import re
import select
import struct
import sys
import termios
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

import pytest

from helpers.batch import progress
from helpers.batch.plan import Job
from helpers.batch.progress import Bar, Progress, duration, line, watch
from helpers.batch.runner import Outcome
from helpers.errors import MissingExtra


class Clock:
    """A clock that moves when it is told to."""

    now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(progress, "time", clock)
    return clock


def job(name: str) -> Job:
    return Job("pa", Path("pa.ipynb"), {}, 60.0, name)


def done(name: str, seconds: float = 4.0, error: str | None = None, cell: str | None = None) -> Outcome:
    return Outcome(job(name), "failed" if error else "executed", seconds, None, error, cell)


def begun(shown: Progress, *, workers: int = 2, cached: int = 0, **waiting: float | None) -> Progress:
    shown.begin([done("old")] * cached, [(job(name), seconds) for name, seconds in waiting.items()], workers)
    return shown


def lines(shown: Progress) -> list[str]:
    assert isinstance(shown.stream, io.StringIO)
    text = shown.stream.getvalue()
    assert text == "" or text.endswith("\n")
    return text.splitlines()


def test_a_run_in_lines(clock: Clock) -> None:
    shown = begun(Progress(io.StringIO()), cached=3, a=10.0, b=20.0, c=30.0)
    shown.started("a", "")
    shown.started("b", "tcp://worker:1")
    clock.now += 10
    shown.finished(done("a", 10.0))
    shown.started("c", "")
    clock.now += 30
    shown.finished(done("b", 40.04, "ValueError: no", "code cell 2 (`f()`)"))
    shown.tick()
    shown.finished(done("c", 30.0, "the kernel died"))
    shown.close()
    assert lines(shown) == [
        "3 cached, 3 to execute",
        "a started",
        "b started on tcp://worker:1",
        "a executed in 10.0 s; 2 left, about 20 s",  # half of 10 and 30
        "c started",
        "b failed after 40.0 s in code cell 2 (`f()`): ValueError: no; 1 left, about 0 s",
        "c failed after 30.0 s: the kernel died",
    ]


def test_nothing_cached_and_nothing_waiting() -> None:
    assert lines(begun(Progress(io.StringIO()), a=1.0)) == []
    assert lines(begun(Progress(io.StringIO()), cached=2)) == ["2 cached, 0 to execute"]


def test_once_a_minute_of_silence_it_says_what_is_running(clock: Clock) -> None:
    shown = begun(Progress(io.StringIO()), a=100.0, b=None)
    shown.started("a", "")
    clock.now += 20
    shown.started("b", "")
    for seconds in (0, 59, 1):
        clock.now += seconds
        shown.tick()
    assert len(lines(shown)) == 2
    clock.now += 1
    shown.tick()
    shown.tick()
    assert lines(shown)[2:] == ["running: a (81 s), b (61 s); 2 left"]
    clock.now += 61
    shown.finished(done("b", 122.0))
    clock.now += 61
    shown.tick()
    assert lines(shown)[3:] == ["b executed in 122.0 s; 1 left, about 0 s", "running: a (203 s); 1 left, about 0 s"]


@pytest.mark.parametrize(
    ("workers", "waiting", "left"),
    [
        (1, {"a": 10.0, "b": 30.0}, 40.0),
        (2, {"a": 10.0, "b": 30.0}, 20.0),
        (8, {"a": 10.0, "b": 30.0}, 20.0),  # two jobs occupy no more than two workers
        (2, {"a": 10.0, "b": None}, None),
        (2, {}, 0.0),
    ],
)
def test_time_left(workers: int, waiting: dict[str, float | None], left: float | None) -> None:
    assert begun(Progress(io.StringIO()), workers=workers, **waiting).seconds_left() == left


def test_time_left_falls_while_jobs_run_and_learns_from_those_that_ended(clock: Clock) -> None:
    shown = begun(Progress(io.StringIO()), workers=1, a=None, b=None, c=None, d=5.0)
    shown.started("a", "")
    clock.now += 8
    assert shown.seconds_left() is None
    shown.finished(done("a", 8.0))
    assert shown.seconds_left() == 8.0 + 8.0 + 5.0
    shown.started("b", "")
    clock.now += 3
    assert shown.seconds_left() == 5.0 + 8.0 + 5.0
    clock.now += 60  # it takes longer than expected: the others are still to come
    assert shown.seconds_left() == 8.0 + 5.0
    shown.finished(done("b", 64.0))
    assert shown.seconds_left() == 36.0 + 5.0


def test_a_job_that_nobody_announced_disturbs_nothing() -> None:
    shown = begun(Progress(io.StringIO()), a=1.0)
    shown.finished(done("other"))
    assert lines(shown) == ["other executed in 4.0 s; 1 left, about 1 s"]


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "0 s"), (0.6, "1 s"), (89.9, "90 s"), (90, "2 min"), (150, "2 min"), (5399, "90 min"), (5400, "1.5 h")],
)
def test_duration(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_line() -> None:
    assert line(done("pa", 1.25)) == "pa executed in 1.2 s"
    assert line(done("pa", 2, "E: x")) == "pa failed after 2.0 s: E: x"
    assert line(done("pa", 2, "E: x", "code cell 1 (`x`)")) == "pa failed after 2.0 s in code cell 1 (`x`): E: x"


def test_lines_of_many_threads_stay_whole() -> None:
    names = [f"job{number}" for number in range(200)]
    shown = begun(Progress(io.StringIO()), **dict.fromkeys(names, 1.0))
    threads = [threading.Thread(target=lambda n=n: [shown.started(name, "") for name in names[n::8]]) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(lines(shown)) == sorted(f"{name} started" for name in names)
    assert shown.running().count(" (0 s)") == 200


class Terminal:
    """Both ends of a pseudo terminal that is 100 columns wide."""

    def __init__(self) -> None:
        self._master, end = pty.openpty()
        fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
        self.stream: TextIO = os.fdopen(end, "w")

    def new(self) -> str:
        """What was written since the last time."""
        text = b""
        while select.select([self._master], [], [], 0.05)[0]:
            text += os.read(self._master, 4096)
        return text.decode()

    def close(self) -> None:
        self.stream.close()
        os.close(self._master)


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    terminal = Terminal()
    yield terminal
    terminal.close()


def test_a_bar_where_a_person_watches_and_lines_elsewhere(
    terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert type(watch(terminal.stream)) is Bar
    with (tmp_path / "log").open("w") as stream:
        assert type(watch(stream)) is Progress
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    assert watch().stream is sys.stdout  # the output as it is now, not as it was when this was imported


def test_a_run_with_a_bar(terminal: Terminal, clock: Clock) -> None:
    shown = begun(watch(terminal.stream), cached=1, a=10.0, b=20.0, c=30.0)
    assert terminal.new().startswith("1 cached, 3 to execute\r\n\r0/3 |")
    shown.started("a", "")
    shown.started("b", "tcp://worker:1")
    assert terminal.new() == ""  # a job that starts is only in the bar
    clock.now += 4
    shown.tick()
    assert re.search(r"\r0/3 \| *\| \d\d:\d\d, about 26 s left, a \(4 s\), b \(4 s\)", terminal.new())
    shown.finished(done("a"))
    shown.tick()
    text = terminal.new()
    assert re.search(r"\r1/3 \|█{6}\S? *\| \d\d:\d\d, about 23 s left, b \(4 s\)", text) and "executed" not in text
    shown.finished(done("b", 4.0, "ValueError: no", "code cell 2 (`f()`)"))
    text = terminal.new()
    assert "b failed after 4.0 s in code cell 2 (`f()`): ValueError: no\r\n" in text  # a line of its own, which stays
    assert text.count("\n") == 1
    shown.say("a word")
    assert re.search(r"\r *\ra word\r\n", terminal.new())
    shown.finished(done("c"))
    shown.close()
    assert re.search(r"\r *\r$", terminal.new())  # no bar is left
    shown.close()
    shown.say("afterwards")
    assert terminal.new() == "afterwards\r\n"


def test_a_bar_of_many_jobs_stays_on_one_line(terminal: Terminal) -> None:
    names = [f"chapter-{number:08x}" for number in range(30)]
    shown = begun(watch(terminal.stream), **dict.fromkeys(names, None))
    for name in names:
        shown.started(name, "")
    for _ in range(3):
        shown.tick()
    text = terminal.new()
    assert "\n" not in text and max(map(len, text.split("\r"))) <= 100
    shown.close()


def test_no_bar_where_nothing_is_to_be_done(terminal: Terminal) -> None:
    shown = begun(watch(terminal.stream), cached=2)
    shown.close()
    assert terminal.new() == "2 cached, 0 to execute\r\n"


def test_a_bar_without_tqdm_names_the_extra(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tqdm", None)
    with pytest.raises(MissingExtra, match=r"tqdm is not installed: pip install 'yardsticks\[batch\]'"):
        begun(watch(terminal.stream), a=1.0)
