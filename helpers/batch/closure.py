"""Which files of this library a notebook can import, directly or through others.

Found by reading, not by running: every import statement counts, also one inside a function, and so do the lazy
attributes of a package and what `lazy.require` names. A job gets these files and no others, so an import that
reading does not find fails loudly instead of escaping the key.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

PACKAGE = "helpers"
ROOT = Path(__file__).resolve().parents[2]
#: What runs a notebook; it is imported beside what the notebook imports.
WORKER = f"import {PACKAGE}.batch.worker"


def closure(sources: Iterable[str]) -> dict[str, Path]:
    """Relative path -> file, of every module that some source code can import from this library.

    Source that is not Python (other than IPython's ``%`` and ``!`` lines) may import anything, so all modules count.

    Examples
    --------
    >>> sorted(closure(["from helpers import errors"]))
    ['helpers/__init__.py', 'helpers/errors.py']
    """
    found: dict[str, Path] = {}
    waiting = [name for source in sources for name in _imports(_without_magics(source), "")]
    while waiting:
        name = waiting.pop()
        path = _file(name)
        if name not in found and path is not None:
            found[name] = path
            waiting += _imports_of(name, path)
            if "." in name:
                waiting.append(name.rpartition(".")[0])
    return {path.relative_to(ROOT).as_posix(): path for path in sorted(found.values())}


def _imports_of(name: str, path: Path) -> tuple[str, ...]:
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    return _imports(path.read_text(encoding="utf-8"), package)


@cache
def _imports(source: str, package: str) -> tuple[str, ...]:
    """Names that may be modules of this library, imported by a source that lies in `package` ("": in none)."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return tuple(_name(path) for path in (ROOT / PACKAGE).rglob("*.py"))
    return tuple(name for node in ast.walk(tree) for name in _named(node, package) if name.split(".")[0] == PACKAGE)


def _named(node: ast.AST, package: str) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        base = _absolute("." * node.level + (node.module or ""), package)
        yield base
        yield from (f"{base}.{alias.name}" for alias in node.names)
    elif isinstance(node, ast.Call):
        # lazy.require("helpers.x"), importlib.import_module("helpers.x"), and the rooms of lazy.attributes
        for argument in node.args:
            values = argument.values if isinstance(argument, ast.Dict) else [argument]
            for value in values:
                if isinstance(value, ast.Constant) and isinstance(value.value, str):
                    target = re.match(rf"(\.|{PACKAGE}\.)[\w.]+", value.value)
                    if target:
                        yield _absolute(target[0], package)


def _absolute(name: str, package: str) -> str:
    """A name with leading dots, seen from `package`."""
    level = len(name) - len(name.lstrip("."))
    if level == 0:
        return name
    parts = package.split(".")[: len(package.split(".")) - level + 1]
    return ".".join([*parts, name[level:]]).rstrip(".")


def _file(name: str) -> Path | None:
    path = ROOT.joinpath(*name.split("."))
    if (path / "__init__.py").is_file():
        return path / "__init__.py"
    module = path.with_suffix(".py")
    return module if module.is_file() else None


def _name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _without_magics(source: str) -> str:
    """IPython's own lines become empty statements, unless one names the library: that stays, and is not Python."""
    return re.sub(rf"^(\s*)[%!](?!.*\b{PACKAGE}\b).*$", r"\1pass", source, flags=re.M)
