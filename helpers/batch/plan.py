"""Plan: a grid file becomes jobs, each with every parameter it will run with, or is refused as a whole.

A grid is YAML; a list value means one job per element, several lists their product::

    chapters:
      pa:
        parameters: {seed: [0, 1], epochs: [10, 20]}
        exclude: [{seed: 1, epochs: 20}]     # of the product, the jobs that have all these values
        include: [{seed: 7, epochs: 200}]    # further jobs; without `parameters`, the only ones
        timeout_s: 300                  # of the whole job, 600 unless given
        memory_mb: 4000                 # the job is stopped above it; no limit unless given
        gpus: 1                         # of a cluster's workers; 0 unless given
        tags: [slow]                    # to run a part of the grid
        notebook: notebooks/pa.ipynb    # unless given: notebooks/<chapter>.ipynb
      tempora: {}
"""

from __future__ import annotations

import difflib
import hashlib
import itertools
import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from ..errors import InputError
from . import parameters
from .parameters import Parameter, Value

DEFAULT_TIMEOUT_S = 600.0
_LONGEST_S = 7 * 24 * 3600.0
_LARGEST_MB = 1e8
_MOST_GPUS = 1024
_KEYS = ("parameters", "include", "exclude", "timeout_s", "memory_mb", "gpus", "tags", "notebook")

Row = dict[str, Value]


@dataclass(frozen=True)
class Job:
    """One execution of one notebook.

    `parameters` holds every parameter of the notebook, typed, in the notebook's order; `name` is unique in a
    plan and names the job's files; `timeout_s` limits the whole job, kernel start included; `memory_mb` (None: no
    limit) holds for all its processes together.
    """

    chapter: str
    notebook: Path
    parameters: Row
    timeout_s: float
    name: str
    memory_mb: float | None = None
    gpus: int = 0
    tags: tuple[str, ...] = ()


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
        The file is no notebook of format 4.5 or newer, has not exactly one such cell, the cell has another form than
        `parameters.declared` reads, or a cell is meant to fail.
    OSError
        The file cannot be read.
    """
    try:
        content = json.loads(Path(notebook).read_bytes())
        cells = content["cells"]
        known = content["nbformat"] == 4 and content["nbformat_minor"] >= 5 and isinstance(cells, list)
        for cell in cells:
            known &= isinstance(parameters.source(cell) + cell["cell_type"] + cell["id"], str)
            known &= isinstance(parameters.tags(cell), list)
    except (ValueError, KeyError, TypeError, AttributeError):
        known = False
    if not known:
        raise InputError(f"{notebook} is not a notebook of format 4.5: save it anew with Jupyter")
    for number, cell in enumerate(cells, start=1):
        if "raises-exception" in parameters.tags(cell):  # to papermill the run has failed all the same
            remedy = "catch the exception in the cell and print it"
            raise InputError(f"{notebook}, cell {number} is tagged raises-exception, which is not looked at: {remedy}")
    index = parameters.find(cells, where=str(notebook))
    return parameters.declared(parameters.source(cells[index]), where=f"{notebook}, cell {index + 1}")


def select(jobs: Sequence[Job], tags: Collection[str]) -> list[Job]:
    """The jobs that have one of these tags; all jobs where no tag is given.

    Raises
    ------
    InputError
        A tag that no job has.
    """
    known = {tag for job in jobs for tag in job.tags}
    for tag in tags:
        if tag not in known:
            raise InputError(f"tag: no chapter of the grid has {tag!r}; {_suggest(tag, tuple(sorted(known)))}")
    return [job for job in jobs if not tags or set(tags) & set(job.tags)]


def shard(jobs: Sequence[Job], part: str) -> list[Job]:
    """The i-th of n parts of a plan, ``"i/n"`` with i from 1: every n-th job, so that the parts together are the plan.

    Raises
    ------
    InputError
        Not of that form, or i outside 1 to n.

    Examples
    --------
    >>> shard("abcde", "2/3")
    ['b', 'e']
    """
    found = re.fullmatch(r"(\d+)/(\d+)", part)
    number, parts = map(int, found.groups()) if found else (0, 0)
    if not 1 <= number <= parts:
        raise InputError(f"shard: {part!r} is no part: write i/n with i from 1 to n, such as 1/4")
    return list(jobs[number - 1 :: parts])


def _chapter(name: Any, entry: Any, where: str) -> list[Job]:
    """The jobs of one chapter: the product of its list values, less `exclude`, and `include`."""
    if not (isinstance(name, str) and re.fullmatch("[a-z][a-z0-9_]*", name)):
        raise InputError(f"{where}: a chapter's name is lower-case letters, digits and underscores")
    entry = _mapping(entry, where, "parameters")
    _only_keys(entry, _KEYS, f"{where}.")
    notebook = _notebook(entry.get("notebook", f"notebooks/{name}.ipynb"), f"{where}.notebook")
    rows = _rows(entry, _Declared(notebook), where)
    common: dict[str, Any] = {
        "timeout_s": _number(entry.get("timeout_s", DEFAULT_TIMEOUT_S), f"{where}.timeout_s", "seconds", _LONGEST_S),
        "memory_mb": None
        if entry.get("memory_mb") is None
        else _number(entry["memory_mb"], f"{where}.memory_mb", "megabytes", _LARGEST_MB),
        "gpus": _gpus(entry.get("gpus", 0), f"{where}.gpus"),
        "tags": _tags(entry.get("tags"), f"{where}.tags"),
    }
    jobs = [Job(name, notebook, row, name=f"{name}-{digest(row)}", **common) for row in rows]
    _refuse_duplicates(jobs, where)
    return jobs if len(jobs) > 1 else [replace(jobs[0], name=name)]


class _Declared:
    """The parameters of a notebook, and how values of a grid are held against them."""

    def __init__(self, notebook: Path) -> None:
        self.notebook = notebook
        self.parameters = {parameter.name: parameter for parameter in read_parameters(notebook)}

    def typed(self, given: Any, where: str) -> dict[str, list[Value]]:
        """Every given parameter with the values that it takes."""
        given = _mapping(given, where, "<parameter>")
        for name in given:
            if name not in self.parameters:
                remedy = _suggest(name, self.parameters)
                raise InputError(f"{where}.{name}: {self.notebook.name} has no such parameter; {remedy}")
        return {name: self._values(value, self.parameters[name], f"{where}.{name}") for name, value in given.items()}

    def product(self, values: Mapping[str, list[Value]]) -> list[Row]:
        """One row per combination, in the notebook's order; what is not given takes its default."""
        choices = {name: values.get(name, [parameter.default]) for name, parameter in self.parameters.items()}
        return [dict(zip(choices, row, strict=True)) for row in itertools.product(*choices.values())]

    def _values(self, given: Any, parameter: Parameter, where: str) -> list[Value]:
        if given == []:
            raise InputError(f"{where}: an empty list gives no job: give a value, or leave the parameter out")
        values = given if isinstance(given, list) else [given]
        try:
            typed = [parameters.canonical(value, parameter.type) for value in values]
        except ValueError as error:
            declared = f"{self.notebook.name} declares {parameter.name}: {parameter.type}"
            raise InputError(f"{where}: {error} ({declared})") from None
        for value in typed:
            if not parameter.allows(value):
                raise InputError(f"{where}: {value!r} is out of range; {self.notebook.name} declares: {parameter.help}")
        return typed


def _rows(entry: Mapping[Any, Any], declared: _Declared, where: str) -> list[Row]:
    """The parameters of every job of a chapter."""
    values = declared.typed(entry.get("parameters"), f"{where}.parameters")
    included = _list(entry.get("include"), f"{where}.include")
    excluded = _list(entry.get("exclude"), f"{where}.exclude")
    rows = [] if included and "parameters" not in entry else declared.product(values)
    for index, item in enumerate(excluded):
        place = f"{where}.exclude[{index}]"
        match = declared.typed(item, place)
        kept = [row for row in rows if not all(row[name] in match[name] for name in match)]
        if len(kept) == len(rows):
            raise InputError(f"{place}: no job has {_brief(item)}: mend it or drop it")
        rows = kept
    for index, item in enumerate(included):
        place = f"{where}.include[{index}]"
        further = declared.typed(item, place)
        for name, several in values.items():
            if name not in further and len(several) > 1:
                raise InputError(f"{place}: parameters lists several values of {name}: say which one this job takes")
        rows += declared.product(values | further)
    if not rows:
        raise InputError(f"{where}.exclude: leaves no job: drop an entry, or the chapter")
    return rows


def _refuse_duplicates(jobs: list[Job], where: str) -> None:
    seen: set[str] = set()
    for job in jobs:
        if job.name in seen:
            raise InputError(f"{where}: two jobs have {job.parameters}: drop the repeated value")
        seen.add(job.name)


def digest(values: Mapping[str, Value]) -> str:
    """Eight hexadecimal digits that name a set of parameters, whatever their order."""
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:8]


def _brief(item: Any) -> str:
    return ", ".join(f"{name}: {value}" for name, value in item.items()) if item else "no parameter at all"


def _list(value: Any, where: str) -> list[Any]:
    """The list of mappings that stands at `where`; nothing written counts as an empty one."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise InputError(f"{where}: {value!r} stands where a list belongs: write `- {{<parameter>: <value>}}` lines")
    return value


def _tags(value: Any, where: str) -> tuple[str, ...]:
    tags = [] if value is None else value
    if not isinstance(tags, list) or not all(isinstance(tag, str) and re.fullmatch(r"[\w.-]+", tag) for tag in tags):
        raise InputError(
            f"{where}: {value!r} is no list of tags: write words of letters, digits, . _ -, as [slow, gpu]"
        )
    return tuple(tags)


def _gpus(value: Any, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _MOST_GPUS:
        raise InputError(f"{where}: {value!r} is no number of GPUs: write an integer from 0 to {_MOST_GPUS}")
    return value


def _number(value: Any, where: str, unit: str, most: float) -> float:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not (number and 0 < value <= most):
        raise InputError(f"{where}: {value!r} is no limit: write {unit}, above 0, at most {most:.0f}")
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
