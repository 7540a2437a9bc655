"""The report checker: what is missing fails with its path, and what contradicts itself too."""

from __future__ import annotations

import difflib
import hashlib
import importlib
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ... import lazy
from . import rules
from .finding import FAIL, WARN, FieldPath, Finding, joined
from .schema import SCHEMA, Field, described

#: Sections that do not apply to every experiment: safety to language models, a grader to generated answers.
CONDITIONAL = ("safety", "grader")
#: Sections without which there is no experiment to report: left out as a whole they fail.
ESSENTIAL = ("meta", "problem", "stream", "method", "results")
WRITE_ABSENT = 'or write {value: null, reason: "why"}'


@dataclass(frozen=True)
class ReportCheck:
    """What was found.

    Attributes
    ----------
    path : str
        The file.
    findings : tuple of Finding
        Failures first, then warnings, each by its path.
    skipped : tuple of str
        Rules that could not be applied, because a section that they need has failures.
    """

    path: str
    findings: tuple[Finding, ...]
    skipped: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing fails; warnings do not count."""
        return not any(finding.level == FAIL for finding in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """The fields as valid JSON."""
        return {
            "path": self.path,
            "ok": self.ok,
            "findings": [asdict(finding) for finding in self.findings],
            "skipped": list(self.skipped),
        }


def check_report(path: str | Path) -> ReportCheck:
    """Check a report: every field of the form, then what the fields say together.

    A missing field is a failure with its path, never a warning. Any value may be ``{value: null, reason: "why"}``. So
    may a section, but nothing that it says can be checked then: without meta, problem, stream, method or results there
    is no experiment to report and the check fails, without another it warns; safety and grader do not always apply. The
    rules hold numbers against the raw cells: the formulas must be computable and give the number reported, selection
    must not have seen the tasks reported, bounds and verdicts of safety gates must follow from their counts, and so on;
    `helpers.cl.report.rules.RULES` lists them.

    Parameters
    ----------
    path : str or Path
        A .yml, .yaml or .json file of at most 16 MiB.

    Returns
    -------
    ReportCheck
        `ok`, and `findings` with path, problem and remedy.

    Raises
    ------
    InputError
        The file is no report at all: unreadable, too large, a name written twice.
    OSError
        It cannot be opened.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "report.yml"
    ...     _ = file.write_text("meta: {title: A study}")
    ...     found = check_report(file)
    >>> found.ok, found.findings[0].path, found.findings[0].problem
    (False, 'baselines', 'is missing')
    """
    from .reading import read_report  # scoring a matrix needs no YAML

    content = read_report(path)
    found = [*_schema_findings(content), *_not_finite(content, ())]
    broken = {str(finding.path).split(".")[0] for finding in found}
    skipped = []
    plain = without_markers(content)
    for rule in rules.RULES:
        if broken & set(rule.needs):
            skipped.append(rule.name)
        else:
            found += rule.findings(plain)
    if "meta" not in broken:
        found += _content_hash(content, plain)
    else:
        skipped.append("content hash")
    found += [_left_out(section) for section in SCHEMA["properties"] if _is_left_out(section, plain, broken)]
    ordered = sorted(dict.fromkeys(found), key=lambda finding: (finding.level, finding.path))
    return ReportCheck(str(path), tuple(ordered), tuple(skipped))


def _is_left_out(section: str, plain: dict[str, Any], broken: set[str]) -> bool:
    return section not in broken and section not in CONDITIONAL and plain[section] is None


def _left_out(section: str) -> Finding:
    """The finding of a section without a value, since every rule that needs it is silent."""
    level = FAIL if section in ESSENTIAL else WARN
    return Finding(level, section, "is left out as a whole", "fill in what is known, with a reason for the rest")


def content_hash(content: Mapping[str, Any]) -> str:
    """SHA-256 of a report without its own hash: of its JSON with sorted names and no spaces, in UTF-8."""
    meta = {name: value for name, value in content["meta"].items() if name != "content_hash"}
    text = json.dumps({**content, "meta": meta}, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _content_hash(content: dict[str, Any], plain: dict[str, Any]) -> Iterator[Finding]:
    stated = (plain["meta"] or {}).get("content_hash")
    if stated is not None and stated.removeprefix("sha256:") != (found := content_hash(content)):
        yield Finding(FAIL, "meta.content_hash", "is not the hash of this report", f"write {found}")


def without_markers(value: Any) -> Any:
    """The content with None for every ``{value: null, reason}``."""
    if isinstance(value, dict):
        if set(value) == {"value", "reason"} and value["value"] is None:
            return None
        return {name: without_markers(inner) for name, inner in value.items()}
    return [without_markers(inner) for inner in value] if isinstance(value, list) else value


def _not_finite(value: Any, path: FieldPath) -> Iterator[Finding]:
    if isinstance(value, float) and not math.isfinite(value):
        remedy = f'a run that diverged is "failed" under selection; elsewhere {WRITE_ABSENT.removeprefix("or ")}'
        yield Finding(FAIL, joined(path), f"is {value}, which is no number", remedy)
    elif isinstance(value, dict | list):
        for name, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _not_finite(inner, (*path, name))


def _schema_findings(content: Any) -> Iterator[Finding]:
    with lazy.hidden("rfc3987_syntax"):
        jsonschema = importlib.import_module("jsonschema")
    for error in jsonschema.Draft202012Validator(SCHEMA).iter_errors(content):
        yield from _explained(error, tuple(error.absolute_path))


def _explained(error: Any, path: FieldPath) -> Iterator[Finding]:
    """One finding in the reader's words for each fault that the schema finds."""
    kind, given, field = error.validator, error.instance, error.schema
    if kind == "required":
        for name in (name for name in error.validator_value if name not in given):
            words = described(field["properties"][name]).get("description", "why there is no value")
            yield Finding(FAIL, joined((*path, name)), "is missing", f"add it ({words}), {WRITE_ABSENT}")
    elif kind == "additionalProperties":
        for name in sorted(set(given) - set(field["properties"])):
            yield Finding(FAIL, joined((*path, name)), "is not a field of the form", _meant(name, field))
    elif given is None:
        yield Finding(FAIL, joined(path), "is null without a reason", f"fill it in ({_words(field)}), {WRITE_ABSENT}")
    elif kind == "anyOf":
        yield Finding(FAIL, joined(path), "has neither runs nor scores", f"give one of them, {WRITE_ABSENT}")
    elif kind in ("minItems", "minProperties"):
        yield Finding(FAIL, joined(path), "is empty", f"fill it in ({_words(field)}), {WRITE_ABSENT}")
    else:
        yield Finding(
            FAIL, joined(path), f"is {_short(given)}", f"it must be {_expected(kind, field)} ({_words(field)})"
        )


def _meant(name: str, field: Field) -> str:
    near = difflib.get_close_matches(name, field["properties"], n=1)
    if near:
        return f"did you mean {near[0]}?"
    return f"the fields here are {', '.join(field['properties'])}"


def _words(field: Field) -> str:
    return str(field.get("description", "why there is no value"))


def _expected(kind: str, field: Field) -> str:
    limit = field[kind]
    if kind == "type":
        names = {"object": "a mapping", "array": "a list", "string": "text", "integer": "a whole number"}
        names |= {"number": "a number", "boolean": "true or false", "null": "null"}
        kinds = [limit] if isinstance(limit, str) else [name for name in limit if name != "object"]
        return " or ".join(names[name] for name in kinds)
    if kind == "enum":
        return "one of " + ", ".join(limit)
    forms = {"pattern": "of the form", "minimum": "at least", "maximum": "at most", "const": "exactly"}
    return f"{forms[kind]} {limit}"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
