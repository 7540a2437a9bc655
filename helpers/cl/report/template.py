"""The form to start from: every field with its meaning beside it, read off the schema."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from .schema import SCHEMA, Field, described

HEADER = """\
# Report of a continual-learning experiment.
# Fill in every null. What does not apply or is not known is written {value: null, reason: "why"}, a whole section too.
# Then: yardsticks check-report FILE
"""
_TYPES = {"boolean": "true | false", "array": "a list", "string": "", "integer": "whole number", "number": "number"}


def template(content: Mapping[str, Any] | None = None) -> str:
    """A report as YAML with a comment at every field: empty, or filled with what `content` holds.

    Examples
    --------
    >>> print(template()[:330])
    # Report of a continual-learning experiment.
    ...
    meta:  # which report this is
      schema_version: null  # version of this form: 1
    ...
    """
    return HEADER + "\n".join(_fields(SCHEMA, content, "")) + "\n"


def _fields(group: Field, content: Any, indent: str) -> Iterator[str]:
    for name, wrapped in group["properties"].items():
        given = content is not None
        if given and name not in content:
            continue
        optional = "" if name in group["required"] else " (may be left out)"
        yield from _entry(name, described(wrapped), content[name] if given else None, given, indent, optional)


def _entry(name: str, field: Field, value: Any, given: bool, indent: str, optional: str) -> Iterator[str]:
    comment = f"  # {field['description']}{_kind(field)}{optional}"
    if "properties" in field and (not given or _is_group(value)):
        yield f"{indent}{name}:{comment}"
        yield from _fields(field, value, indent + "  ")
    elif "properties" in field.get("items", {}) and not given:
        yield f"{indent}{name}:{comment}"
        first, *rest = _fields(field["items"], None, indent + "    ")
        yield f"{indent}  - {first.strip()}"
        yield from rest
    elif isinstance(value, list) and value and isinstance(value[0], Mapping):
        yield f"{indent}{name}:{comment}"
        yield from (f"{indent}  - {_flow(item)}" for item in value)
    else:
        yield f"{indent}{name}: {_flow(value) if given else 'null'}{comment}"


def _is_group(value: Any) -> bool:
    return isinstance(value, Mapping) and set(value) != {"value", "reason"}


def _kind(field: Field) -> str:
    """What may stand there, where the words do not say it."""
    if "properties" in field:
        return ""
    if "enum" in field:
        return ": " + " | ".join(field["enum"])
    if "additionalProperties" in field:
        return " (name: value)"
    words = _TYPES.get(field["type"], "") if isinstance(field.get("type"), str) else ""
    return f" ({words})" if words else ""


def _flow(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
