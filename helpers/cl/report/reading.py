"""Reading a report: YAML or JSON, nothing executed, bounded, every name once."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import yaml

from ...errors import InputError
from ...records import unique_keys
from ..readers.reader import checked_path

#: A report of 16 MiB holds about a hundred thousand cells.
LARGEST = 16 * 2**20
#: Levels of nesting, of which the form itself has a third.
DEEPEST = 30
TOO_DEEP = "nested too deeply: a report has a few levels"


class _Loader(yaml.SafeLoader):
    """Plain values only: a name written twice is refused, and so are aliases, which can swell to any size.

    Dates stay texts, and 1e-3 is a number, as YAML 1.2 and everybody else has it.
    """

    yaml_implicit_resolvers = {  # noqa: RUF012
        first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            mark = self.peek_event().start_mark
            raise yaml.constructor.ConstructorError(None, None, "an alias (*name): write the values out", mark)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode) or key.tag == "tag:yaml.org,2002:merge":
                raise yaml.constructor.ConstructorError(None, None, "a name must be plain text", key.start_mark)
            if key.value in seen:
                reason = f"{key.value!r} is written twice: keep one"
                raise yaml.constructor.ConstructorError(None, None, reason, key.start_mark)
            seen.add(key.value)
        return {str(key): value for key, value in super().construct_mapping(node, deep=deep).items()}


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"^[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+$"), list("-+.0123456789")
)


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
        content = json.loads(text, object_pairs_hook=unique_keys) if is_json else yaml.load(text, _Loader)
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
