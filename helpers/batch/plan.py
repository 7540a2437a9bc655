"""Plan: a grid file becomes jobs, each with every parameter it will run with, or is refused as a whole.

A grid is YAML; a list value means one job per element, several lists their product::

    chapters:
      pa:
        parameters: {seed: [0, 1], epochs: 20}
        timeout_s: 300                  # of the whole job, 600 unless given
        notebook: notebooks/pa.ipynb    # unless given: notebooks/<chapter>.ipynb
      tempora: {}
"""

from __future__ import annotations

import difflib
import hashlib
import itertools
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from ..errors import InputError
from . import parameters
from .parameters import Parameter, Value

DEFAULT_TIMEOUT_S = 600.0
_LONGEST_S = 7 * 24 * 3600.0
_KEYS = ("parameters", "timeout_s", "notebook")


@dataclass(frozen=True)
class Job:
    """One execution of one notebook.

    `parameters` holds every parameter of the notebook, typed, in the notebook's order; `name` is unique in a
    plan and names the job's files; `timeout_s` limits the whole job, kernel start included.
    """

    chapter: str
    notebook: Path
    parameters: dict[str, Value]
    timeout_s: float
    name: str


def read_grid(path: str | Path) -> list[Job]:
    """The jobs of a grid file, in its order; nothing is run, and of the notebooks only one cell is read.

    Raises
    ------
    InputError
        Anything is wrong with the grid, or does not fit a notebook: unknown keys or parameters, values of
        another type than the notebook declares, a missing notebook, two jobs alike. The message names the
        place by its keys, such as ``grid.yml: chapters.pa.parameters.seed``.
    OSError
        The grid file cannot be read.
    """
    grid = _mapping(_load(Path(path)), f"{path}", "chapters")
    _only_keys(grid, ("chapters",), f"{path}: ")
    chapters = _mapping(grid.get("chapters"), f"{path}: chapters", "<chapter>")
    if not chapters:
        raise InputError(f"{path}: chapters is empty: name at least one, such as `pa: {{}}`")
    return [job for name, entry in chapters.items() for job in _chapter(name, entry, f"{path}: chapters.{name}")]


def read_parameters(notebook: str | Path) -> list[Parameter]:
    """The parameters that a notebook declares in its `parameters` cell.

    Raises
    ------
    InputError
        The file is no notebook, has not exactly one such cell, or the cell has another form than
        `parameters.declared` reads.
    OSError
        The file cannot be read.
    """
    try:
        cells = json.loads(Path(notebook).read_bytes())["cells"]
    except (ValueError, KeyError, TypeError):
        raise InputError(f"{notebook} is not a notebook of format 4: save it anew with Jupyter") from None
    index = parameters.find(cells, where=str(notebook))
    return parameters.declared(parameters.source(cells[index]), where=f"{notebook}, cell {index + 1}")


def _chapter(name: Any, entry: Any, where: str) -> list[Job]:
    """The jobs of one chapter: the product of its list values."""
    if not (isinstance(name, str) and re.fullmatch("[a-z][a-z0-9_]*", name)):
        raise InputError(f"{where}: a chapter's name is lower-case letters, digits and underscores")
    entry = _mapping(entry, where, "parameters")
    _only_keys(entry, _KEYS, f"{where}.")
    timeout_s = _timeout(entry.get("timeout_s", DEFAULT_TIMEOUT_S), f"{where}.timeout_s")
    notebook = _notebook(entry.get("notebook", f"notebooks/{name}.ipynb"), f"{where}.notebook")
    choices = _choices(entry.get("parameters"), notebook, f"{where}.parameters")
    jobs = []
    for values in (dict(zip(choices, row, strict=True)) for row in itertools.product(*choices.values())):
        jobs.append(Job(name, notebook, values, timeout_s, f"{name}-{_digest(values)}"))
    _refuse_duplicates(jobs, where)
    return jobs if len(jobs) > 1 else [replace(jobs[0], name=name)]


def _choices(given: Any, notebook: Path, where: str) -> dict[str, list[Value]]:
    """Every parameter of the notebook with the values it takes: those given, else the default."""
    given = _mapping(given, where, "<parameter>")
    declared = {parameter.name: parameter for parameter in read_parameters(notebook)}
    for name in given:
        if name not in declared:
            remedy = _suggest(name, declared)
            raise InputError(f"{where}.{name}: {notebook.name} has no such parameter; {remedy}")
    return {
        parameter.name: _values(given[parameter.name], parameter, notebook, f"{where}.{parameter.name}")
        if parameter.name in given
        else [parameter.default]
        for parameter in declared.values()
    }


def _values(given: Any, parameter: Parameter, notebook: Path, where: str) -> list[Value]:
    if given == []:
        raise InputError(f"{where}: an empty list gives no job: give a value, or leave the parameter out")
    values = given if isinstance(given, list) else [given]
    try:
        typed = [parameters.canonical(value, parameter.type) for value in values]
    except ValueError as error:
        declared = f"{notebook.name} declares {parameter.name}: {parameter.type}"
        raise InputError(f"{where}: {error} ({declared})") from None
    for value in typed:
        if not parameter.allows(value):
            raise InputError(f"{where}: {value!r} is out of range; {notebook.name} declares: {parameter.help}")
    return typed


def _refuse_duplicates(jobs: list[Job], where: str) -> None:
    seen: set[str] = set()
    for job in jobs:
        if job.name in seen:
            raise InputError(f"{where}.parameters: two jobs have {job.parameters}: drop the repeated value")
        seen.add(job.name)


def _digest(values: Mapping[str, Value]) -> str:
    """Eight hexadecimal digits that name a set of parameters, whatever their order."""
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:8]


def _timeout(value: Any, where: str) -> float:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not (number and 0 < value <= _LONGEST_S):
        raise InputError(f"{where}: {value!r} is no time limit: write seconds, above 0, at most {_LONGEST_S:.0f}")
    return float(value)


def _notebook(value: Any, where: str) -> Path:
    if not isinstance(value, str):
        raise InputError(f"{where}: {value!r} is not a path: write the notebook's path as text")
    if not Path(value).is_file():
        raise InputError(f"{where}: there is no file {value} in {Path.cwd()}: paths start from the current folder")
    return Path(value).resolve()


def _mapping(value: Any, where: str, key: str) -> dict[Any, Any]:
    """The mapping that stands at `where`; nothing written counts as an empty one."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise InputError(f"{where}: {value!r} stands where keys belong: write `{key}: ...` lines under it")
    return value


def _only_keys(mapping: Mapping[Any, Any], known: tuple[str, ...], prefix: str) -> None:
    for key in mapping:
        if key not in known:
            raise InputError(f"{prefix}{key}: unknown key; {_suggest(key, known)}")


def _suggest(name: object, known: Mapping[str, Any] | tuple[str, ...]) -> str:
    close = difflib.get_close_matches(str(name), list(known), n=1)
    names = f"known: {', '.join(known)}" if known else "it has none"
    return f"did you mean {close[0]}? ({names})" if close else names


class _Loader(yaml.SafeLoader):
    """YAML's safe loader, except that a key given twice is refused where YAML silently keeps the last."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key in (key for key, _ in node.value if isinstance(key, yaml.ScalarNode)):
            if key.value in seen:
                reason = f"{key.value} is given twice, keep one"
                raise yaml.constructor.ConstructorError(None, None, reason, key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)


def _load(path: Path) -> Any:
    try:
        return yaml.load(path.read_bytes(), _Loader)  # a subclass of the safe loader
    except (yaml.YAMLError, ValueError) as error:  # ValueError: a date that is none
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark else ""
        reason = getattr(error, "problem", None) or error
        raise InputError(f"{path}{line}: this is not YAML that a grid may have: {reason}") from None
