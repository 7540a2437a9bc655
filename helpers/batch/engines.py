"""Where jobs run: in processes of this machine, or on the workers of a Dask cluster. Both give futures of outcomes."""

from __future__ import annotations

import asyncio
import logging
import pickle
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Protocol

from .. import lazy
from ..errors import InputError
from . import process

_PATIENCE_S = 10.0

Started = Callable[[str, str], object]
"""Called with a job's name and where it runs ("" here), perhaps from another thread."""


class Engine(Protocol):
    """Runs tasks (see `process.execute`) and gives futures of their outcomes."""

    workers: int

    def submit(self, name: str, task: dict[str, Any], gpus: int) -> Future[dict[str, Any]]:
        """Run a task as soon as there is room for it."""

    def close(self, *, stop: bool) -> None:
        """Wait for what runs, or with `stop` end it."""


class Local:
    """`workers` processes of this machine at a time; each job has a fresh one."""

    def __init__(self, workers: int, started: Started) -> None:
        if workers < 1:
            raise InputError(f"workers: {workers} is not a number of processes: give 1 or more")
        self.workers = workers
        self._started = started
        self._stop = threading.Event()
        self._pool = ThreadPoolExecutor(workers)  # a thread only waits for its process

    def submit(self, name: str, task: dict[str, Any], gpus: int) -> Future[dict[str, Any]]:
        return self._pool.submit(self._run, name, task)

    def _run(self, name: str, task: dict[str, Any]) -> dict[str, Any]:
        self._started(name, "")
        return process.execute(task, self._stop.is_set)

    def close(self, *, stop: bool) -> None:
        if stop:
            self._stop.set()
        self._pool.shutdown(cancel_futures=stop)


class Cluster:
    """The workers of a Dask scheduler that is there already, one job a worker thread.

    The code travels with the task, so workers need the packages of the environment but not this library, and no disk
    is shared. A job whose worker dies runs again on another. Jobs with `gpus` go to workers that offer the Dask
    resource ``GPU``.
    """

    def __init__(self, scheduler: str, started: Started) -> None:
        distributed = lazy.require("distributed", extra="batch")
        for name in ("client", "utils"):  # they print tracebacks of what is said here in one line
            logging.getLogger(f"distributed.{name}").setLevel(logging.CRITICAL)
        try:
            _greet(distributed, scheduler)
            self._client = distributed.Client(scheduler, set_as_default=False, timeout="15s")
        except (OSError, ValueError, TypeError) as error:
            reason = " ".join(str(error).split()) or f"nothing in {_PATIENCE_S:g} s"
            raise InputError(f"scheduler: no Dask scheduler answers at {scheduler!r} ({reason})") from error
        described = self._client.scheduler_info(n_workers=-1)["workers"]
        self.threads = sum(worker["nthreads"] for worker in described.values())
        self.workers = max(1, self.threads)  # more may come
        #: The most GPUs that one worker offers.
        self.gpus = max((int(worker["resources"].get("GPU", 0)) for worker in described.values()), default=0)
        self.dashboard = self._client.dashboard_link
        self._topic = f"yardsticks-{self._client.id}"
        self._client.subscribe_topic(self._topic, lambda event: started(*event[1]))
        self._executor = self._client.get_executor(pure=False)
        self._function = ByValue(process.execute_on_a_worker)

    def submit(self, name: str, task: dict[str, Any], gpus: int) -> Future[dict[str, Any]]:
        options = {"resources": {"GPU": gpus}} if gpus else {}
        future: Future[dict[str, Any]] = self._executor.submit(self._function, name, task, self._topic, **options)
        return future

    def close(self, *, stop: bool) -> None:
        self._executor.shutdown(wait=not stop)
        self._client.close()


def _greet(distributed: Any, scheduler: str) -> None:
    """Shake hands with a scheduler. A `Client` cannot be trusted to: it waits for ever for one that is mute, such as
    the dashboard, and one without a good address keeps the process from its end."""

    async def greet() -> None:
        secured = distributed.Security().get_connection_args("client")
        comm = await distributed.comm.connect(scheduler, timeout=_PATIENCE_S, **secured)
        await comm.close()

    with ThreadPoolExecutor(1) as pool:  # this thread may have a loop, as in a notebook
        pool.submit(asyncio.run, asyncio.wait_for(greet(), _PATIENCE_S)).result()


class ByValue:
    """A function that is pickled with its module's code, and so runs where that is not, or is another version."""

    def __init__(self, function: Callable[..., Any]) -> None:
        cloudpickle = lazy.require("cloudpickle", extra="batch")
        module = sys.modules[function.__module__]
        cloudpickle.register_pickle_by_value(module)
        try:
            self._code = cloudpickle.dumps(function)
        finally:
            cloudpickle.unregister_pickle_by_value(module)

    def __reduce__(self) -> tuple[Callable[[bytes], Any], tuple[bytes]]:
        return pickle.loads, (self._code,)

    def __call__(self, *arguments: Any) -> Any:
        return pickle.loads(self._code)(*arguments)
