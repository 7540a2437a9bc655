"""Run a plan: what is stored is taken, the rest is executed and stored, and everything is laid out in a folder."""

from __future__ import annotations

import importlib.util
import json
import tempfile
from collections.abc import Collection, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from .. import lazy, records
from ..errors import InputError
from . import environment, keys, plan, render
from .engines import Cluster, Engine, Local
from .keys import Identity
from .plan import Job
from .store import Entry, Store

STORE = "_build/store"
_METRIC = {"value", "unit", "low", "high", "reason"}
KINDS = ("ipynb", "result.json", "log", "failed.ipynb")


@dataclass(frozen=True)
class Outcome:
    """What became of a job.

    `state` is "cached", "executed" or "failed" (from `stored` also "missing"); `seconds` is how long the execution
    took, whenever it was. After a failure `error` is one plain line, and `cell` says where the notebook stood, if it
    had begun. `result` is the file of results that the notebook concluded, or None.
    """

    job: Job
    state: str
    seconds: float
    result: bytes | None = None
    error: str | None = None
    cell: str | None = None


class Watch(Protocol):
    """What is told about a run while it lasts; `progress` has two that print."""

    def begin(self, cached: Sequence[Outcome], waiting: Sequence[tuple[Job, float | None]], workers: int) -> None:
        """Before anything is executed: what is there already, and what is not, with the seconds it may take."""

    def started(self, name: str, where: str) -> None:
        """A job began, at an address where it is not here."""

    def finished(self, outcome: Outcome) -> None:
        """A job ended."""

    def tick(self) -> None:
        """About once a second."""

    def say(self, text: str) -> None:
        """Something that a person may want to know."""


class _Blind:
    def begin(self, cached: Sequence[Outcome], waiting: Sequence[tuple[Job, float | None]], workers: int) -> None: ...
    def started(self, name: str, where: str) -> None: ...
    def finished(self, outcome: Outcome) -> None: ...
    def tick(self) -> None: ...
    def say(self, text: str) -> None: ...


def run(
    grid: str | Path | Sequence[Job],
    out: str | Path,
    *,
    store: str | Path = STORE,
    workers: int = 2,
    scheduler: str | None = None,
    shard: str | None = None,
    tags: Collection[str] = (),
    fresh: bool = False,
    watch: Watch | None = None,
) -> list[Outcome]:
    """Execute what of a grid is not stored, and lay all of it out in the folder `out`.

    A job leaves ``<name>.ipynb``, ``<name>.result.json`` (if the notebook concludes one) and ``<name>.log``; a failed
    one leaves ``<name>.failed.ipynb`` and the log. A failure stops no other job. An interrupt stops all; what was
    finished by then is stored.

    Parameters
    ----------
    grid : path or sequence of Job
        A grid file, or jobs that were planned.
    out : path
        The folder of the copies; made if it is not there.
    store : path or address
        Where executed notebooks are kept by content; see `store.Store`.
    workers : int
        How many jobs at a time on this machine. 2: what a small machine has cores for.
    scheduler : str, optional
        The address of a Dask scheduler; jobs then run on its workers.
    shard : str, optional
        ``"i/n"``: only this part of the jobs.
    tags : collection of str
        Only jobs with one of these tags.
    fresh : bool
        Execute also what is stored, and store it anew.
    watch : Watch, optional
        Told what happens; by default nobody is.

    Returns
    -------
    list of Outcome
        In the order of the jobs.

    Raises
    ------
    InputError
        The grid, a notebook, an option or the scheduler's address is wrong; nothing was executed.
    MissingExtra
        papermill (or Dask, or a driver of fsspec) is not installed.
    OSError
        `out` or `store` cannot be written: what was stored until then is kept.
    """
    identities = planned(grid, tags, shard)
    return _Run(Path(out), Store(store), watch or _Blind(), fresh).run(identities, workers, scheduler)


def planned(grid: str | Path | Sequence[Job], tags: Collection[str], shard: str | None = None) -> list[Identity]:
    """The jobs of a grid that are meant, with their keys; raises what `run` raises of a grid and its notebooks."""
    jobs = plan.read_grid(grid) if isinstance(grid, str | Path) else list(grid)
    chosen = plan.select(jobs, tags)
    return keys.identify(plan.shard(chosen, shard) if shard else chosen)


class _Run:
    def __init__(self, out: Path, store: Store, watch: Watch, fresh: bool) -> None:
        self.out, self.store, self.watch, self.fresh = out, store, watch, fresh

    def run(self, identities: list[Identity], workers: int, scheduler: str | None) -> list[Outcome]:
        self.out.mkdir(parents=True, exist_ok=True)
        found = {i.job.name: self._stored(i) for i in identities}
        missing = [i for i in identities if found[i.job.name] is None]
        outcomes = {name: outcome for name, outcome in found.items() if outcome is not None}
        expected = self._expected(missing)
        missing.sort(key=lambda i: -(expected[i.job.name] or float("inf")))  # the longest first, unknown ones before
        waiting = [(i.job, expected[i.job.name]) for i in missing]
        if not missing:
            self.watch.begin(list(outcomes.values()), waiting, workers)
        else:
            if importlib.util.find_spec("papermill") is None:  # look without importing: that takes a second
                lazy.require("papermill", extra="batch")
            self.store.probe()
            with tempfile.TemporaryFile(dir=self.out):  # raises now what would else be raised after the first job
                pass
            engine = self._engine(workers, scheduler, [identity.job for identity in missing])
            self.watch.begin(list(outcomes.values()), waiting, engine.workers)
            outcomes |= self._execute(missing, engine)
        return [outcomes[i.job.name] for i in identities]

    def _engine(self, workers: int, scheduler: str | None, jobs: Sequence[Job]) -> Engine:
        if scheduler is None:
            return Local(workers, self.watch.started)
        cluster = Cluster(scheduler, self.watch.started)
        self.watch.say(f"{cluster.threads} worker threads at {scheduler}; dashboard: {cluster.dashboard}")
        unmet = [job.gpus for job in jobs if job.gpus > cluster.gpus]
        if unmet:  # Dask says nothing, and a worker that comes later may offer what they need
            said = f"{len(unmet)} job waits" if len(unmet) == 1 else f"{len(unmet)} jobs wait"
            self.watch.say(f"{said} for a worker with --resources GPU={max(unmet)}: none that is there offers as much")
        return cluster

    def _execute(self, missing: list[Identity], engine: Engine) -> dict[str, Outcome]:
        for identity in missing:
            for kind in KINDS:  # what an earlier run left must not pass for this run's
                self._write(identity.job, kind, None)
        outcomes: dict[str, Outcome] = {}
        needed = environment.required(Path.cwd())
        waiting: dict[Future[dict[str, Any]], Identity] = {}
        try:
            for identity in missing:
                waiting[engine.submit(identity.job.name, _task(identity, needed), identity.job.gpus)] = identity
            while waiting:
                done, _ = wait(waiting, timeout=1.0, return_when=FIRST_COMPLETED)
                for future in done:
                    outcome = self._settle(waiting.pop(future), future)
                    outcomes[outcome.job.name] = outcome
                    self.watch.finished(outcome)
                self.watch.tick()
        except BaseException as error:
            engine.close(stop=True)
            if isinstance(error, KeyboardInterrupt):
                self._keep(waiting)
            raise
        engine.close(stop=False)
        return outcomes

    def _keep(self, waiting: dict[Future[dict[str, Any]], Identity]) -> None:
        """After an interrupt: store the jobs that had succeeded by then."""
        for future, identity in waiting.items():
            if future.done() and not future.cancelled() and not future.exception() and not future.result()["error"]:
                self.watch.finished(self._settle(identity, future))

    def _stored(self, identity: Identity) -> Outcome | None:
        """Lay out what the store has of a job, if it has it."""
        entry = None if self.fresh else self.store.entry(identity.execution)
        return None if entry is None else self.lay_out(identity, entry, "cached")

    def _settle(self, identity: Identity, future: Future[dict[str, Any]]) -> Outcome:
        """Store and lay out what a job gave; or say why it gave nothing."""
        job = identity.job
        try:
            found = future.result()
        except CancelledError as error:
            raise InputError("scheduler: it went away; run again to go on from here") from error
        except Exception as error:  # of the cluster, such as workers that died again and again: other jobs may go on
            why = f"the engine gave up: {type(error).__name__}: {' '.join(str(error).split())}"
            found = {"error": why, "cell": None, "executed": None, "log": f"{why}\n".encode(), "seconds": 0.0}
        if found["error"] is None and found["result"] is not None and not _is_result(found["result"]):
            found["error"] = "its result is not one: let helpers.results.conclude write it"
        if found["error"] is None:
            note = {
                "chapter": job.chapter,
                "parameters": job.parameters,
                "parts": identity.parts,
                "key": identity.execution,
                "finished": datetime.now(UTC).isoformat(timespec="seconds"),
                **{name: found[name] for name in ("seconds", "peak_mb", "attempts", "host")},
            }
            entry = Entry(render.cleaned(found["executed"]), found["result"], found["log"], note)
            self.store.add(identity, entry)
            return self.lay_out(identity, entry, "executed")
        self._write(job, "log", found["log"])
        if found["executed"] is not None:
            self._write(job, "failed.ipynb", found["executed"])
        return Outcome(job, "failed", found["seconds"], None, found["error"], found["cell"])

    def lay_out(self, identity: Identity, entry: Entry, state: str) -> Outcome:
        job = identity.job
        page = self.store.page(identity)
        if page is None:
            page = render.page(identity.source, entry.executed, job.parameters)
            self.store.add_page(identity, page)
        self._write(job, "ipynb", page)
        self._write(job, "result.json", entry.result)
        self._write(job, "log", entry.log)
        self._write(job, "failed.ipynb", None)
        return Outcome(job, state, entry.note["seconds"], entry.result)

    def _write(self, job: Job, kind: str, content: bytes | None) -> None:
        """Make one of a job's files say `content` (None: not be there), in one step, if it does not."""
        path = self.out / f"{job.name}.{kind}"
        if content is None:
            path.unlink(missing_ok=True)
        elif not (path.is_file() and path.read_bytes() == content):
            try:
                with records.atomic(path) as beside:
                    beside.write_bytes(content)
            except OSError as error:  # a full disk is reported without a name
                raise OSError(error.errno, error.strerror, str(path)) from error

    def _expected(self, identities: Sequence[Identity]) -> dict[str, float | None]:
        """Seconds that each job may take: what it took last, else what its chapter's jobs took, else None."""
        notes = {chapter: self.store.notes(chapter) for chapter in {i.job.chapter for i in identities}}
        expected: dict[str, float | None] = {}
        for identity in identities:
            took = {name: note["seconds"] for name, note in notes[identity.job.chapter].items()}
            mean = sum(took.values()) / len(took) if took else None
            expected[identity.job.name] = took.get(plan.digest(identity.job.parameters), mean)
        return expected


def _is_result(content: bytes) -> bool:
    """Whether a file has what the table and the page of runs look for; `results.conclude` writes it so."""
    try:
        metrics = json.loads(content)["metrics"]
        return all(metric.keys() >= _METRIC for metric in metrics.values())
    except (ValueError, KeyError, TypeError, AttributeError):
        return False


def _task(identity: Identity, needed: dict[str, str]) -> dict[str, Any]:
    return {
        "notebook": identity.source,
        "parameters": identity.job.parameters,
        "files": dict(identity.files),
        "environment": needed,
        "timeout_s": identity.job.timeout_s,
        "memory_mb": identity.job.memory_mb,
    }


def stored(
    grid: str | Path, out: str | Path | None = None, *, store: str | Path = STORE, tags: Collection[str] = ()
) -> list[Outcome]:
    """What the store has of a grid, without executing anything; laid out in the folder `out`, if one is given.

    Raises
    ------
    InputError, OSError
        As `run`.
    """
    place, folder = Store(store), None if out is None else Path(out)
    identities = planned(grid, tags)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    laying = _Run(folder or Path(), place, _Blind(), False)
    outcomes = []
    for identity in identities:
        entry = place.entry(identity.execution)
        if entry is None:
            outcomes.append(Outcome(identity.job, "missing", 0.0))
        elif folder is None:
            outcomes.append(Outcome(identity.job, "cached", entry.note["seconds"], entry.result))
        else:
            outcomes.append(laying.lay_out(identity, entry, "cached"))
    return outcomes


def explain(
    grid: str | Path,
    *,
    store: str | Path = STORE,
    tags: Collection[str] = (),
    shard: str | None = None,
    fresh: bool = False,
) -> list[tuple[Job, str, list[str]]]:
    """For each job of a grid: "cached", "prose" (only the page is made anew) or "execute", and why.

    A job that has to be executed is compared with its own latest success, else with the one of its chapter that
    differs in the fewest lines.

    Raises
    ------
    InputError, OSError
        As `run`.
    """
    place = Store(store)
    return [(i.job, *_explained(i, place, fresh)) for i in planned(grid, tags, shard)]


def _explained(identity: Identity, store: Store, fresh: bool) -> tuple[str, list[str]]:
    if fresh:
        return "execute", ["a fresh run was asked for"]
    if store.entry(identity.execution) is not None:
        if store.page(identity) is not None:
            return "cached", []
        return "prose", ["the notebook's text changed: its page is made anew from the stored outputs"]
    notes = store.notes(identity.job.chapter)
    own = notes.get(plan.digest(identity.job.parameters))
    reasons = [keys.changes(note["parts"], identity.parts) for note in ([own] if own else notes.values())]
    if not reasons:
        return "execute", ["no job of this chapter is stored"]
    return "execute", min(reasons, key=len) or ["what was stored is gone or damaged"]
