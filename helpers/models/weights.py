"""Trained weights kept by content: what was trained in the same way before is loaded, if it can be vouched for."""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from .. import records
from ..errors import InputError
from .training import best_device

#: The environment variable that names the folder of kept weights; unset, everything is trained afresh.
CACHE = "YARDSTICKS_CACHE"


def cached(
    train: Callable[[], nn.Module], *, key: Mapping[str, Any], folder: str | Path | None = None
) -> dict[str, Tensor]:
    """The weights that `train` gives, from the folder if they lie there, else trained and laid there.

    The file is named by a hash of the key, of torch's version, of the kind of device and of this package's code, and
    holds that description too. It is read only if its checksum beside it fits, never with Python objects in it, and
    trained again where anything is amiss.

    Parameters
    ----------
    train : callable
        Trains and returns the network.
    key : mapping
        All that the weights depend on, as JSON: recipe, seeds, and the `content_hash` of the data.
    folder : path, optional
        By default the folder that the environment variable YARDSTICKS_CACHE names; without one nothing is kept.

    Returns
    -------
    dict of str to torch.Tensor
        For ``load_state_dict``, on the CPU.

    Raises
    ------
    InputError
        A key that is not JSON.
    OSError
        The folder cannot be written to.
    """
    description = _describe(key)
    chosen = folder or os.environ.get(CACHE)
    if not chosen:
        return _state(train())
    path = Path(chosen) / f"{hashlib.sha256(description.encode()).hexdigest()}.pt"
    state = _read(path, description)
    if state is None:
        state = _state(train())
        _write(path, description, state)
    return state


def content_hash(*arrays: np.ndarray) -> str:
    """One hash of the types, shapes and values of some arrays.

    >>> content_hash(np.zeros(2)) == content_hash(np.zeros((2, 1)))
    False
    """
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(f"{array.dtype.str} {array.shape} ".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _describe(key: Mapping[str, Any]) -> str:
    """The key and what every training depends on, as JSON in one spelling."""
    everything = {"key": key, "torch": torch.__version__, "device": best_device().type, "code": _code()}
    try:
        return json.dumps(everything, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InputError(f"key cannot be written as JSON ({error}): give plain numbers, strings and lists") from error


@cache
def _code() -> str:
    """Hash of this package's source: weights of an earlier attack or training loop are not the same weights."""
    package = Path(__file__).resolve().parent.parent
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        digest.update(f"{path.relative_to(package).as_posix()}\n".encode() + path.read_bytes())
    return digest.hexdigest()


def _state(model: nn.Module) -> dict[str, Tensor]:
    return {name: tensor.detach().cpu().clone() for name, tensor in model.state_dict().items()}


def _checksum(path: Path) -> Path:
    return path.with_suffix(".sha256")


def _read(path: Path, description: str) -> dict[str, Tensor] | None:
    """The weights in a file, or None where there is none that can be vouched for."""
    try:
        content, expected = path.read_bytes(), _checksum(path).read_bytes()
    except FileNotFoundError:
        return None
    if hashlib.sha256(content).hexdigest().encode() != expected.strip():
        return None
    try:
        stored = torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
    except Exception:  # the bytes are anybody's: whatever they do to the reader, they are no weights
        return None
    if not isinstance(stored, dict) or stored.get("description") != description:
        return None
    return stored.get("state")


def _write(path: Path, description: str, state: dict[str, Tensor]) -> None:
    """Weights first, checksum last: what was interrupted between the two is not read."""
    path.parent.mkdir(parents=True, exist_ok=True)
    buffer = io.BytesIO()
    torch.save({"description": description, "state": state}, buffer)
    content = buffer.getvalue()
    for target, value in (
        (path, content),
        (_checksum(path), f"{hashlib.sha256(content).hexdigest()}\n".encode()),
    ):
        with records.atomic(target) as temporary:
            temporary.write_bytes(value)
