"""Sphinx extension: the role {result}`chapter:metric:format` prints a number that a run measured.

The format is Python's (`.3f`, `.1%`) and may be left out. `metric.low` and `metric.high` are the ends of the
interval. A value that the run could not define prints as a dash that carries the reason. Whatever cannot be
looked up is an error at the line where it stands, so that no page shows a number that no run has measured.
"""

import json
from pathlib import Path
from typing import Any

from docutils import nodes
from executed import executed_folder
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxRole

INFINITIES = {"inf": "∞", "-inf": "−∞"}
ENDS = ("low", "high")


class Unresolved(ValueError):
    """A reference that names no value, or a format that does not fit it."""


def resolve(reference: str, folder: Path) -> tuple[str, str | None]:
    """Text for `chapter:metric[:format]`; where the value is undefined, a dash and the reason.

    Raises Unresolved, naming the part that is wrong and what there is instead.
    """
    chapter, metric, spec = split_reference(reference)
    value, reason = find_value(read_metrics(folder, chapter), chapter, metric)
    if value is None:
        return "—", reason
    return format_value(value, spec, reference), None


def split_reference(reference: str) -> tuple[str, str, str]:
    """Chapter, metric and format (may be empty). Raises Unresolved if there is no metric."""
    chapter, _, rest = reference.partition(":")
    metric, _, spec = rest.partition(":")
    if not (chapter and metric):
        raise Unresolved(f"{reference!r} must read chapter:metric or chapter:metric:format")
    return chapter, metric, spec


def read_metrics(folder: Path, chapter: str) -> dict[str, dict[str, Any]]:
    """The metrics in the chapter's result file. Raises Unresolved if there is none."""
    path = folder / f"{chapter}.result.json"
    if not path.is_file():
        known = ", ".join(sorted(p.name.removesuffix(".result.json") for p in folder.glob("*.result.json")))
        raise Unresolved(f"no results of a chapter {chapter!r} in {folder}; there are: {known or 'none'}")
    return dict(json.loads(path.read_text(encoding="utf-8"))["metrics"])


def find_value(metrics: dict[str, dict[str, Any]], chapter: str, name: str) -> tuple[Any, str | None]:
    """The value called `name`, and if it is None, why. Raises Unresolved for an unknown name."""
    if name in metrics:
        return metrics[name]["value"], metrics[name].get("reason") or "undefined"
    metric, _, end = name.rpartition(".")
    if metric in metrics and end in ENDS:
        return metrics[metric].get(end), metrics[metric].get("reason") or "no interval"
    raise Unresolved(f"chapter {chapter!r} has no metric {name!r}; there are: {', '.join(sorted(metrics))}")


def format_value(value: float | str, spec: str, reference: str) -> str:
    """The value as text. Infinity, which results hold as a string, becomes its sign whatever the format."""
    if value in INFINITIES:
        return INFINITIES[str(value)]
    try:
        return format(value, spec)
    except ValueError as error:
        raise Unresolved(f"{reference!r}: the format {spec!r} does not fit the value {value!r} ({error})") from error


class ResultRole(SphinxRole):
    """{result}`chapter:metric:format`"""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        folder = executed_folder(self.env.srcdir)
        chapter = self.text.partition(":")[0]
        self.env.note_dependency(str(folder / f"{chapter}.result.json"))
        try:
            text, reason = resolve(self.text, folder)
        except Unresolved as error:
            message = self.inliner.reporter.error(f"result: {error}", line=self.lineno)
            return [self.inliner.problematic(self.rawtext, self.rawtext, message)], [message]
        if reason is None:
            return [nodes.inline(text, text, classes=["ys-result"])], []
        return [nodes.abbreviation(text, text, explanation=reason)], []


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_role("result", ResultRole())
    return {"parallel_read_safe": True, "parallel_write_safe": True}
