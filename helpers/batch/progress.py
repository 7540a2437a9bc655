"""What a run shows while it lasts: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Sequence
from typing import Any, TextIO

from .. import lazy
from .plan import Job
from .runner import Outcome

_SILENCE_S = 60.0


def watch(stream: TextIO | None = None) -> Progress:
    """The bar, where a person watches; lines, where a file or a build machine does."""
    stream = stream or sys.stdout
    return Bar(stream) if stream.isatty() else Progress(stream)


class Progress:
    """One line when a job starts or ends, and one a minute that names what is running."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self._lock = threading.Lock()  # jobs start in threads of their own
        self._running: dict[str, float] = {}
        self._waiting: dict[str, float | None] = {}
        self._took: list[float] = []
        self._workers = self._total = 1
        self._spoke = time.monotonic()

    def begin(self, cached: Sequence[Outcome], waiting: Sequence[tuple[Job, float | None]], workers: int) -> None:
        """Note what is to be done; `workers` jobs at a time."""
        self._workers, self._total = workers, len(waiting)
        self._waiting = {job.name: seconds for job, seconds in waiting}
        if cached:
            self.say(f"{len(cached)} cached, {len(waiting)} to execute")

    def started(self, name: str, where: str) -> None:
        """A job began."""
        self._note_start(name)
        self.say(f"{name} started{f' on {where}' if where else ''}")

    def finished(self, outcome: Outcome) -> None:
        """A job ended."""
        self._note_end(outcome)
        self.say(f"{line(outcome)}{self._ahead()}")

    def tick(self) -> None:
        """Say what is running, once a minute of silence."""
        if time.monotonic() - self._spoke > _SILENCE_S:
            self.say(f"running: {self.running()}{self._ahead()}")

    def say(self, text: str) -> None:
        """One whole line at once, because jobs report from threads."""
        self._spoke = time.monotonic()
        self.stream.write(f"{text}\n")
        self.stream.flush()

    def close(self) -> None:
        """Nothing more will come."""

    def running(self) -> str:
        """The running jobs with the seconds they have run."""
        now = time.monotonic()
        with self._lock:
            return ", ".join(f"{name} ({now - since:.0f} s)" for name, since in self._running.items())

    def seconds_left(self) -> float | None:
        """What the waiting jobs took last time, or as long as those of this run did, shared among the workers."""
        mean = sum(self._took) / len(self._took) if self._took else None
        now = time.monotonic()
        left = 0.0
        with self._lock:
            for name, known in self._waiting.items():
                expected = mean if known is None else known
                if expected is None:
                    return None
                left += max(0.0, expected - (now - self._running.get(name, now)))
        return left / max(1, min(self._workers, len(self._waiting)))

    def _note_start(self, name: str) -> None:
        with self._lock:
            self._running[name] = time.monotonic()

    def _note_end(self, outcome: Outcome) -> None:
        with self._lock:
            self._running.pop(outcome.job.name, None)
            self._waiting.pop(outcome.job.name, None)
        self._took.append(outcome.seconds)

    def _ahead(self) -> str:
        left = self.seconds_left()
        if not self._waiting:
            return ""
        return f"; {len(self._waiting)} left" + (f", about {duration(left)}" if left is not None else "")


class Bar(Progress):
    """One bar with the running jobs; failures are printed above it."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self._bar: Any = None

    def begin(self, cached: Sequence[Outcome], waiting: Sequence[tuple[Job, float | None]], workers: int) -> None:
        super().begin(cached, waiting, workers)
        if waiting:
            tqdm = lazy.require("tqdm", extra="batch").tqdm
            form = "{n_fmt}/{total_fmt} |{bar:20}| {elapsed}{postfix}"
            # as wide as the terminal is at the moment: a longer line would leave its start behind at every step
            self._bar = tqdm(total=len(waiting), file=self.stream, bar_format=form, leave=False, dynamic_ncols=True)

    def started(self, name: str, where: str) -> None:
        self._note_start(name)

    def finished(self, outcome: Outcome) -> None:
        self._note_end(outcome)
        if outcome.error is not None:
            self.say(line(outcome))
        self._bar.update()

    def tick(self) -> None:
        left = self.seconds_left()
        self._bar.set_postfix_str(", ".join([*([f"about {duration(left)} left"] if left else []), self.running()]))

    def say(self, text: str) -> None:
        if self._bar is None:
            super().say(text)
        else:
            self._bar.write(text, file=self.stream)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None


def line(outcome: Outcome) -> str:
    """What became of a job, in one line."""
    name, seconds = outcome.job.name, outcome.seconds
    if outcome.error is None:
        return f"{name} executed in {seconds:.1f} s"
    where = f" in {outcome.cell}" if outcome.cell else ""
    return f"{name} failed after {seconds:.1f} s{where}: {outcome.error}"


def duration(seconds: float) -> str:
    """A time that is an estimate, in words.

    >>> duration(41.2), duration(200), duration(9000)
    ('41 s', '3 min', '2.5 h')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
