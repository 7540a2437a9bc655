"""Reading a report: YAML or JSON, nothing executed, bounded, every name once."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml
from yaml.constructor import SafeConstructor
from yaml.resolver import Resolver

from ...errors import InputError, brief
from ...records import checked_path, unique_keys

#: A report of 16 MiB holds about a hundred thousand cells.
LARGEST = 16 * 2**20
#: Levels of nesting, of which the form itself has a third.
DEEPEST = 30
TOO_DEEP = "nested too deeply: a report has a few levels"
#: libyaml's parser where PyYAML was built with it: it is many times as fast, and gives the same events and lines.
PARSER = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader
TAG = "tag:yaml.org,2002:"
TEXT = ("!", f"{TAG}str")
FORMS = tuple(TAG + name for name in ("null", "bool", "int", "float"))


class _Scalars(Resolver, SafeConstructor):
    """What a plain text means: dates stay texts, and 1e-3 is a number, as YAML 1.2 and everybody else has it."""

    yaml_implicit_resolvers = {  # noqa: RUF012
        first: [(tag, pattern) for tag, pattern in resolvers if tag in FORMS]
        for first, resolvers in Resolver.yaml_implicit_resolvers.items()
    }

    def __init__(self) -> None:
        Resolver.__init__(self)
        SafeConstructor.__init__(self)

    def value(self, event: yaml.ScalarEvent) -> Any:
        """The value of a scalar by its form, a text where that is asked for."""
        if event.tag in TEXT:
            return event.value
        if event.tag is not None:
            raise _fault(f"the tag {event.tag}: write a plain value", event)
        tag = self.resolve(yaml.ScalarNode, event.value, event.implicit)
        try:
            return self.yaml_constructors[tag](self, yaml.ScalarNode(tag, event.value))
        except ValueError as error:
            raise _fault(f"{brief(event.value)} has the form of a number and is none", event) from error


_Scalars.add_implicit_resolver(
    f"{TAG}float", re.compile(r"^[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+$"), list("-+.0123456789")
)


class _Document:
    """The one document of a text, built from the parser's events, because a tree of marked nodes is ten times as large.

    Plain values only: a name written twice is refused, and so are aliases, which can swell to any size.
    """

    def __init__(self, text: str) -> None:
        self.next: Callable[[], Any] = PARSER(text).get_event
        self.scalars = _Scalars()

    def content(self) -> Any:
        """What the document holds, None if the text is empty."""
        self.next()  # the start of the stream
        if isinstance(self.next(), yaml.StreamEndEvent):
            return None
        found = self._value(self.next(), 0)
        self.next()  # the end of the document
        if not isinstance(event := self.next(), yaml.StreamEndEvent):
            raise _fault("a second document: a report is one", event)
        return found

    def _value(self, event: Any, depth: int) -> Any:
        if isinstance(event, yaml.ScalarEvent):
            return self.scalars.value(event)
        if isinstance(event, yaml.AliasEvent):
            raise _fault("an alias (*name): write the values out", event)
        kind = "seq" if isinstance(event, yaml.SequenceStartEvent) else "map"
        if event.tag not in (None, "!", TAG + kind):
            raise _fault(f"the tag {event.tag}: write a plain value", event)
        if depth == DEEPEST:
            raise _fault(TOO_DEEP, event)
        return self._list(depth + 1) if kind == "seq" else self._mapping(depth + 1)

    def _list(self, depth: int) -> list[Any]:
        found = []
        while not isinstance(event := self.next(), yaml.SequenceEndEvent):
            found.append(self._value(event, depth))
        return found

    def _mapping(self, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while not isinstance(event := self.next(), yaml.MappingEndEvent):
            name = self._name(event)
            if name in found:
                raise _fault(f"{name!r} is written twice: keep one", event)
            found[name] = self._value(self.next(), depth)
        return found

    def _name(self, event: Any) -> str:
        """A name as it is written; << would merge another mapping."""
        is_plain = isinstance(event, yaml.ScalarEvent) and event.tag in (None, *TEXT)
        if not is_plain or (event.value == "<<" and event.implicit[0]):
            raise _fault("a name must be plain text", event)
        return str(event.value)


def _fault(reason: str, event: Any) -> yaml.YAMLError:
    return yaml.MarkedYAMLError(problem=reason, problem_mark=event.start_mark)


def read_report(path: str | Path) -> dict[str, Any]:
    """The content of a report file.

    Raises
    ------
    InputError
        Another ending than .yml, .yaml or .json; a file above 16 MiB; text that is no UTF-8, YAML or JSON; a name
        written twice; an alias; nesting that has no end; something other than a mapping at the top.
    OSError
        The file cannot be read.
    """
    path = checked_path(path)
    if path.suffix not in (".yml", ".yaml", ".json"):
        raise InputError(f"{path}: a report is a .yml, .yaml or .json file")
    with path.open("rb") as stream:
        data = stream.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise InputError(f"{path}: larger than {LARGEST // 2**20} MiB: keep learning curves and cells of one report")
    try:
        text = data.decode("utf-8-sig")
        is_json = path.suffix == ".json"
        content = json.loads(text, object_pairs_hook=unique_keys) if is_json else _Document(text).content()
    except RecursionError as error:
        raise InputError(f"{path}: {TOO_DEEP}") from error
    except (yaml.YAMLError, ValueError) as error:
        raise InputError(f"{path}: cannot be read ({' '.join(str(error).split())})") from error
    if not isinstance(content, dict):
        raise InputError(f"{path}: holds {type(content).__name__}: a report is a mapping of sections")
    if _is_deep(content):
        raise InputError(f"{path}: {TOO_DEEP}")
    return content


def _is_deep(content: Any) -> bool:
    """Whether it is nested beyond `DEEPEST`, found level by level, because what follows would run out of stack."""
    level = [content]
    for _ in range(DEEPEST):
        held = [
            value.values() if isinstance(value, dict) else value for value in level if isinstance(value, dict | list)
        ]
        level = [inner for values in held for inner in values]
    return bool(level)
