"""Keys by content: when an executed notebook may stand in for an execution, and when a page is up to date.

The *execution key* is a hash over all that the outcome of a job depends on: the code cells, the parameters, the modules
of this library that the notebook can import, the data files it declares, and the environment. The *render key* adds the
prose. Nothing else counts: no times, no paths, no commits.
"""

from __future__ import annotations

import glob
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

from ..errors import InputError
from . import environment, parameters
from .closure import PACKAGE, ROOT, WORKER, closure
from .plan import Job

#: Raise this when jobs are executed in another way, so that what is stored no longer counts.
FORMAT = "1"
#: What a notebook's metadata declare: ``{"yardsticks": {"data": ["data/published/pa.csv"]}}``.
DECLARED = "yardsticks"
#: The tag of a code cell that changes how it runs.
_SKIPPED = "skip-execution"

Parts = dict[str, dict[str, str]]


@dataclass(frozen=True)
class Identity:
    """A job with its keys: `execution` and `render`, and the `parts` that the first is made of.

    `source` is the notebook as it stands, `files` what the job needs beside it, by path relative to its folder.
    """

    job: Job
    execution: str
    render: str
    parts: Parts
    source: bytes = field(repr=False)
    files: Mapping[str, bytes] = field(repr=False)


def identify(jobs: Sequence[Job]) -> list[Identity]:
    """The keys of jobs, from what the files say now. Paths of data are relative to the current folder.

    Raises
    ------
    InputError
        A notebook declares data that is not there, is not a file, or lies outside the current folder.
    """
    sources = {path: _Source(path) for path in {job.notebook for job in jobs}}
    here = environment.describe(Path.cwd())
    renderer = _sha(*(path.read_bytes() for path in _renderer()))
    return [_identity(job, sources[job.notebook], here, renderer) for job in jobs]


def changes(old: Parts, new: Parts) -> list[str]:
    """What differs between the parts of two keys, one line each, such as "helpers: helpers/pa/score.py changed"."""
    lines = []
    for part in new:
        before, after = old.get(part, {}), new[part]
        for name in sorted(before.keys() | after.keys()):
            if before.get(name) != after.get(name):
                lines.append(f"{part}: {_change(part, name, before.get(name), after.get(name))}")
    return lines


def _change(part: str, name: str, before: str | None, after: str | None) -> str:
    if part in ("parameters", "environment", "format") and name != environment.LOCK:
        absent = "as locked" if part == "environment" else "absent"
        return f"{name} {before or absent} -> {after or absent}"
    return f"{name} {'is new' if before is None else 'is gone' if after is None else 'changed'}"


def _identity(job: Job, source: _Source, here: dict[str, str], renderer: str) -> Identity:
    values = {name: json.dumps(value) for name, value in job.parameters.items()}
    data = source.data | _named_files(job)
    parts: Parts = {
        "format": {"batch": FORMAT},
        "code": source.code,
        "parameters": values,
        "helpers": source.hashes,
        "data": {name: _sha(content) for name, content in data.items()},
        "environment": here,
    }
    execution = _sha(json.dumps(parts, sort_keys=True).encode())
    render = _sha(execution.encode(), source.prose, renderer.encode())
    files = source.modules | {name: content for name, content in data.items() if _inside(name)}
    return Identity(job, execution, render, parts, source.raw, files)


class _Source:
    """One notebook: what of it and around it the keys are made of, read once for all its jobs."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.raw = path.read_bytes()
        self.notebook: dict[str, Any] = json.loads(self.raw)  # `plan` has refused what is no notebook

    @cached_property
    def code(self) -> dict[str, str]:
        """A hash for each code cell. The `parameters` cell is left out: its values are a part of their own."""
        hashes = {}
        for number, cell in self._code_cells():
            texts = [parameters.source(cell), *([_SKIPPED] if _SKIPPED in parameters.tags(cell) else [])]
            hashes[f"code cell {number}"] = _sha(*(text.encode() for text in texts))
        return hashes

    @cached_property
    def hashes(self) -> dict[str, str]:
        """A hash for each module that the notebook can import."""
        paths = closure(parameters.source(cell) for _, cell in self._code_cells())
        return {name: _sha(self.modules[name]) for name in paths}

    @cached_property
    def modules(self) -> dict[str, bytes]:
        """The content of these modules, and of those that run the job."""
        paths = closure([WORKER, *(parameters.source(cell) for _, cell in self._code_cells())])
        return {name: path.read_bytes() for name, path in paths.items()}

    @cached_property
    def data(self) -> dict[str, bytes]:
        """The content of every declared data file."""
        told = self.notebook.get("metadata", {}).get(DECLARED, {})
        declared = told.get("data", []) if isinstance(told, dict) else None
        if not isinstance(declared, list) or not all(isinstance(item, str) for item in declared):
            raise InputError(f"{self.path}: metadata.{DECLARED}.data is {declared!r}: write a list of paths")
        return {name: Path(name).read_bytes() for item in declared for name in _matches(item, self.path)}

    @cached_property
    def prose(self) -> bytes:
        """All that a page shows of the notebook itself, whatever outputs lie in it."""
        cells = [cell | {"source": parameters.source(cell)} for cell in self.notebook["cells"]]
        for cell in cells:
            cell.pop("outputs", None)
            cell.pop("execution_count", None)
        return json.dumps([cells, self.notebook.get("metadata")], sort_keys=True).encode()

    def _code_cells(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """The code cells but for the one with parameters, with their numbers among all code cells."""
        code = (cell for cell in self.notebook["cells"] if cell["cell_type"] == "code")
        for number, cell in enumerate(code, start=1):
            if "parameters" not in parameters.tags(cell):
                yield number, cell


def _matches(pattern: str, notebook: Path) -> list[str]:
    """The files of a declared path, which may have ``*`` in it."""
    where = f"{notebook.name} declares the data {pattern!r}"
    if not _inside(pattern):
        raise InputError(f"{where}: write a path inside the project")
    found = [name for name in sorted(glob.glob(pattern, recursive=True)) if not Path(name).is_dir()]
    if not found and Path(pattern).is_dir():
        raise InputError(f"{where}, which is a folder: name its files, as {pattern.rstrip('/')}/*")
    if not found:
        raise InputError(f"{where}: there is no such file in {Path.cwd()}: run from the project's folder")
    return [Path(name).as_posix() for name in found]


def _named_files(job: Job) -> dict[str, bytes]:
    """Files that a text parameter names, such as a record: what is in them counts, not only their name.

    A folder inside the project stands for all files in it, if it is written with a slash: a word alone may mean
    anything. Of a folder elsewhere only the name counts: it may hold a whole data set.
    """
    texts = [value for value in job.parameters.values() if isinstance(value, str) and value]
    return {path.as_posix(): path.read_bytes() for text in texts for path in _files_at(text)}


def _files_at(text: str) -> list[Path]:
    path = Path(text)
    try:
        if path.is_file():
            return [path]
        if "/" in text and _inside(text) and path.is_dir():
            return sorted(inner for inner in path.rglob("*") if inner.is_file())
    except (OSError, ValueError):  # a text too long for a name, or with a null in it
        pass
    return []


def _inside(name: str) -> bool:
    """Whether a path stays in the folder it starts from: such files are laid out for the job, others only hashed."""
    return not Path(name).is_absolute() and ".." not in PurePosixPath(name).parts


def _renderer() -> list[Path]:
    """The modules that make the published copy of an executed notebook."""
    folder = ROOT / PACKAGE / "batch"
    return [folder / "render.py", folder / "parameters.py"]


def _sha(*contents: bytes) -> str:
    """One hash of several contents; where one ends matters."""
    whole = hashlib.sha256()
    for content in contents:
        whole.update(f"{len(content)} ".encode() + content)
    return whole.hexdigest()
