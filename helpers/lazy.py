"""Optional dependencies and torch-bound rooms are loaded at first use, not at import."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from .errors import MissingExtra


def require(module: str, *, extra: str) -> Any:
    """Import an optional module, or say which extra brings it.

    Raises
    ------
    MissingExtra
        The module, or something it needs, is not installed.

    Examples
    --------
    >>> require("json", extra="jupyter").dumps([1])
    '[1]'
    >>> require("no_such_module", extra="batch")
    Traceback (most recent call last):
    ...
    helpers.errors.MissingExtra: no_such_module is not installed: pip install 'yardsticks[batch]'
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        missing = error.name or module
        raise MissingExtra(f"{missing} is not installed: pip install 'yardsticks[{extra}]'") from error


@contextmanager
def hidden(module: str) -> Iterator[None]:
    """Make `module` seem not to be installed, for imports that would load it without need.

    jsonschema looks for ``rfc3987_syntax``, whose import takes two seconds, to check addresses, which nothing here has.
    """
    loaded = sys.modules.get(module)
    sys.modules[module] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        if loaded is None:
            del sys.modules[module]
        else:
            sys.modules[module] = loaded


def attributes(package: str, rooms: Mapping[str, str]) -> Callable[[str], Any]:
    """Make a module-level ``__getattr__`` that imports rooms of a package on first access.

    `rooms` maps the attribute to the module that it stands for, absolute or relative to `package`, or to a function in
    it, followed by the extra it needs: ``{"measure": ".measure torch", "loss": ".regulariser:loss torch"}``.
    """

    def load(name: str) -> Any:
        if name not in rooms:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        target, extra = rooms[name].split()
        path, _, function = target.partition(":")
        module = require(package + path if path.startswith(".") else path, extra=extra)
        return getattr(module, function) if function else module

    return load
