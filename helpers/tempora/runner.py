"""What a method under test looks like, and how a batch is handed to it, timed and graded: alike for all methods."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from time import perf_counter_ns
from typing import Any, Protocol

import numpy as np

from .. import arrays, lazy
from ..errors import InputError
from .clock import Table, latencies

MEMBERS = ("forward", "reset", "freeze", "unfreeze")
_NOTHING = object()


class Method(Protocol):
    """A method of test-time adaptation: one small class, which neither times itself nor knows the protocol.

    `forward` is a generator that yields its prediction once, where it is out; what follows the ``yield`` is the work
    that holds up the next batch. The runner reads the clock at both places, so intrinsic and extrinsic latency are
    measured alike for every method. Two attributes are kept in the trace where a class has them: ``name`` (by default
    the name of the class) and ``policy``, which says what a frozen method keeps, such as the statistics it uses.

    Examples
    --------
    Classes by the nearer of two centres; each centre then moves to the mean of what was assigned to it:

    >>> class MovingCentres:
    ...     name, policy = "moving centres", "frozen: the centres of the last batch"
    ...     def __init__(self):
    ...         self.reset()
    ...     def reset(self):
    ...         self.centres, self.frozen = np.array([0.0, 1.0]), False
    ...     def freeze(self):
    ...         self.frozen = True
    ...     def unfreeze(self):
    ...         self.frozen = False
    ...     def forward(self, inputs):
    ...         scores = -abs(inputs[:, None] - self.centres)
    ...         yield scores
    ...         if not self.frozen:
    ...             nearest = scores.argmax(axis=1)
    ...             for k in set(nearest):
    ...                 self.centres[k] = inputs[nearest == k].mean()
    >>> method = MovingCentres()
    >>> steps = method.forward(np.array([0.2, 0.9, 1.1]))
    >>> next(steps).argmax(axis=1), next(steps, "done"), method.centres
    (array([0, 1, 1]), 'done', array([0.2, 1. ]))
    """

    def forward(self, inputs: Any) -> Iterator[Any]:
        """Yield probabilities or logits of shape (b, k) once, then do what remains to be done."""

    def reset(self) -> None:
        """Go back to the source model: everything that `forward` changes, random generators included."""

    def freeze(self) -> None:
        """Stop adapting: from here on `forward` only predicts."""

    def unfreeze(self) -> None:
        """Adapt again."""


class Batches(Protocol):
    """A stream: a length, and batch i as (inputs, labels), such as `streams.Stream` or a list of pairs."""

    def __len__(self) -> int: ...

    def __getitem__(self, i: int, /) -> tuple[Any, Any]: ...


class Session:
    """One method on one stream: hands over batches, times and grades what comes out, keeps it batch by batch.

    Attributes
    ----------
    correct, size, intrinsic_ns, extrinsic_ns : numpy.ndarray of int64, shape (n,)
        As in a trace; 0 where a batch has not been served.
    known : tuple of two arrays, or None
        Intrinsic and extrinsic nanoseconds of each batch where a table gives them; None where they are measured.
    frozen : bool
        Whether `freeze` has been called.
    """

    def __init__(self, method: Method, stream: Batches, clock: str | Table, device: str | None) -> None:
        missing = [name for name in MEMBERS if not callable(getattr(method, name, None))]
        if missing:
            raise InputError(f"method {method!r} has no {missing[0]}(): it needs {', '.join(MEMBERS)}")
        if len(stream) == 0:
            raise InputError("stream has no batches: give at least one")
        if isinstance(clock, str) and clock != "measured":
            raise InputError(f"clock is {clock!r}: give 'measured', or a table such as clock.published()")
        self.method, self.stream, self.device, self.n = method, stream, device, len(stream)
        self.name = str(getattr(method, "name", type(method).__name__))
        self.known = None if isinstance(clock, str) else latencies(clock, self.name, self.n)
        self.frozen = False
        self.correct, self.size, self.intrinsic_ns, self.extrinsic_ns = np.zeros((4, self.n), dtype=np.int64)

    def begin(self, warmup: int, seed: int) -> None:
        """Bring the method to its source state, with a warm-up before it where latencies are measured.

        The warm-up gives the first batch with standard normal noise on it, as the source does, so that buffers are
        allocated and kernels chosen before the clock counts; a table needs none.
        """
        self._call("in unfreeze()", self.method.unfreeze)
        self._call("in reset()", self.method.reset)
        self.synchronise = synchroniser(self.device)
        if self.known is not None or not warmup:
            return
        inputs, labels = self._batch(0)
        generator = np.random.default_rng(seed)
        for _ in range(warmup):
            self._meet(self._placed(_noisy(inputs, generator)), labels, "in the warm-up on batch 0")
        self._call("in reset()", self.method.reset)
        self.synchronise = synchroniser(self.device)  # a method may have loaded torch only now

    def serve(self, i: int) -> int:
        """Hand batch i to the method and keep what came out; its latency in nanoseconds comes back."""
        inputs, labels = self._batch(i)
        self.correct[i], intrinsic, extrinsic = self._meet(self._placed(inputs), labels, f"on batch {i} of {self.n}")
        if self.known is not None:
            # a frozen method has no work left after its prediction
            intrinsic, extrinsic = self.known[0][i], 0 if self.frozen else self.known[1][i]
        self.intrinsic_ns[i], self.extrinsic_ns[i] = intrinsic, extrinsic
        return int(intrinsic + extrinsic)

    def foreseen(self, i: int) -> int | None:
        """The latency of batch i in nanoseconds before it is served: only a table knows."""
        return None if self.known is None else int(self.known[0][i] + self.known[1][i])

    def freeze(self) -> None:
        """Freeze the method, once."""
        self._call("in freeze()", self.method.freeze)
        self.frozen = True

    def rewind(self, m: int) -> int:
        """Bring the method back to where it stood before batch m: reset it and lead it through batches 0..m-1 again.

        Nothing is timed or kept. The number of batches on which the method now gets another number of samples right
        comes back: 0, unless reset() forgets something or the device does not compute the same twice.
        """
        self._call("in reset()", self.method.reset)
        differ = 0
        for i in range(m):
            inputs, labels = self._batch(i)
            hits, _, _ = self._meet(self._placed(inputs), labels, f"on batch {i} of {self.n}, seen again")
            differ += int(hits != self.correct[i])
        return differ

    def count_samples(self) -> np.ndarray:
        """The sizes of all batches, served or not."""
        for i in np.flatnonzero(self.size == 0):
            self._batch(int(i))
        return self.size

    def _batch(self, i: int) -> tuple[Any, np.ndarray]:
        inputs, labels = self.stream[i]
        labels = arrays.to_numpy(arrays.as_array(labels, f"labels of batch {i}"))
        if labels.ndim != 1 or not labels.size or len(inputs) != len(labels):
            raise InputError(
                f"stream[{i}] has {len(inputs)} inputs and labels of shape {labels.shape}: give one label per input, "
                "and at least one"
            )
        self.size[i] = len(labels)
        return inputs, labels

    def _placed(self, inputs: Any) -> Any:
        if self.device is None:
            return inputs
        return lazy.require("torch", extra="torch").as_tensor(inputs).to(self.device)

    def _meet(self, inputs: Any, labels: np.ndarray, where: str) -> tuple[int, int, int]:
        """One batch: samples right, and nanoseconds before and after the prediction was out."""
        self.synchronise()
        start = perf_counter_ns()
        steps = self._call(where, self.method.forward, inputs)
        if not isinstance(steps, Iterator):
            raise InputError(f"method {self.name!r}: forward returns a {type(steps).__name__}: yield the prediction")
        outputs = self._call(where, next, steps, _NOTHING)
        self.synchronise()
        out = perf_counter_ns()
        # graded at once: a prediction that is out cannot be changed any more, and grading is not the method's time
        hits = self._grade(outputs, labels, where)
        resumed = perf_counter_ns()
        rest = self._call(where, next, steps, _NOTHING)
        self.synchronise()
        done = perf_counter_ns()
        if rest is not _NOTHING:
            raise InputError(f"method {self.name!r} yields twice {where}: a prediction is out once")
        return hits, out - start, done - resumed

    def _grade(self, outputs: Any, labels: np.ndarray, where: str) -> int:
        if outputs is _NOTHING:
            raise InputError(f"method {self.name!r} yields nothing {where}: yield the prediction once")
        name = f"the prediction of {self.name!r} {where}"
        scores = arrays.to_numpy(arrays.check_matrix(outputs, name, layout="a row per sample, a column per class"))
        if len(scores) != len(labels):
            raise InputError(f"{name} has {len(scores)} rows for {len(labels)} samples: give a row per sample")
        bad = np.flatnonzero(~np.isfinite(scores).all(axis=1))
        if bad.size:
            raise InputError(f"{name} is not finite in row {bad[0]}: the method has diverged, mend it or leave it out")
        classes = arrays.check_labels(labels, n=len(labels), k=scores.shape[1], name=f"the labels {where}")
        return int(np.sum(scores.argmax(axis=1) == classes))

    def _call(self, where: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call into the method; whatever it raises names the batch."""
        try:
            return function(*arguments)
        except Exception as error:
            raise RuntimeError(f"method {self.name!r} failed {where}: {type(error).__name__}: {error}") from error


def synchroniser(device: str | None) -> Callable[[], None]:
    """What waits for the device to finish, so that a clock can be read; on a CPU there is nothing to wait for.

    Without a `device` it is the current accelerator, where torch is loaded and there is one.
    """
    torch = _accelerated(device)
    return (lambda: None) if torch is None else (lambda: torch.accelerator.synchronize(device))


def device_name(device: str | None) -> str:
    """What latencies are measured on: the name of the GPU, the kind of another accelerator, or "cpu"."""
    torch = _accelerated(device)
    if torch is None:
        return "cpu"
    return str(
        torch.cuda.get_device_name(device) if torch.cuda.is_available() else torch.accelerator.current_accelerator()
    )


def _accelerated(device: str | None) -> Any:
    """Torch, if it is loaded and `device` is an accelerator; else None. A method without torch needs none."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.accelerator.is_available() or (device or "").startswith("cpu"):
        return None
    return torch


def _noisy(inputs: Any, generator: np.random.Generator) -> Any:
    """Inputs with standard normal noise; whole numbers, such as tokens, stay as they are."""
    noise = generator.standard_normal(tuple(inputs.shape))
    if isinstance(inputs, np.ndarray):
        return inputs + noise.astype(inputs.dtype) if inputs.dtype.kind == "f" else inputs
    if not inputs.is_floating_point():
        return inputs
    return inputs + lazy.require("torch", extra="torch").as_tensor(noise).to(inputs)
