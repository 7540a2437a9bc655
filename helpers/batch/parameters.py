"""The `parameters` cell of a notebook: what it declares, and the same cell with other values.

One parameter a line: ``epochs: int = 20  # passes over the training set, 1 to 200``. Types are int, float,
str and bool; values are plain literals, and ``float("inf")``.
"""

from __future__ import annotations

import ast
import io
import json
import math
import re
import tokenize
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from ..errors import InputError

Value = bool | int | float | str

_TYPES: dict[str, type] = {"int": int, "float": float, "str": str, "bool": bool}
_FORM = "write one parameter a line, as `name: type = literal  # unit, range`"


_NUMBER = r"(-?\d+(?:\.\d+)?(?:e-?\d+)?)"
#: The range at the end of a parameter's comment.
_RANGE = re.compile(rf"(?:^|[\s,]){_NUMBER} to {_NUMBER}\s*$")


@dataclass(frozen=True)
class Parameter:
    """One declared parameter; `type` is "int", "float", "str" or "bool", `help` the comment on its line."""

    name: str
    type: str
    default: Value
    help: str

    def allows(self, value: Value) -> bool:
        """Whether a value lies in the range that the comment ends in, like ``1 to 200``; other comments allow all."""
        found = _RANGE.search(self.help)
        if found is None or isinstance(value, str | bool):
            return True
        low, high = map(float, found.groups())
        return low <= value <= high


def tags(cell: Mapping[str, Any]) -> list[str]:
    """The tags of a notebook cell."""
    return list(cell.get("metadata", {}).get("tags", []))


def source(cell: Mapping[str, Any]) -> str:
    """The text of a notebook cell, which a file holds as one string or as a list of lines."""
    text = cell["source"]
    return text if isinstance(text, str) else "".join(text)


def find(cells: list[Any], *, where: str) -> int:
    """The index of the one code cell tagged `parameters`.

    Raises
    ------
    InputError
        There is none, or more than one; `where` (a notebook's name) opens the message.
    """
    tagged = [i for i, cell in enumerate(cells) if "parameters" in tags(cell)]
    found = [i for i in tagged if cells[i]["cell_type"] == "code"]
    if len(found) != 1:
        raise InputError(f"{where} has {len(found) or 'no'} code cells tagged `parameters`: tag one (it may be empty)")
    return found[0]


def declared(text: str, *, where: str = "parameters cell") -> list[Parameter]:
    """The parameters that the source of a `parameters` cell declares, in its order.

    Raises
    ------
    InputError
        A line has another form, a type or value is not one of the four, or a name comes twice;
        `where` opens the message.

    Examples
    --------
    >>> declared("alpha: float = 1  # unitless, 0 to 5")
    [Parameter(name='alpha', type='float', default=1.0, help='unitless, 0 to 5')]
    """
    statements = _statements(text, where)  # refuses what is not Python, before the comments are read
    comments = _comments(text)
    parameters: dict[str, Parameter] = {}
    for node in statements:
        parameter = _parameter(node, comments.get(node.end_lineno or 0, ""), f"{where}, line {node.lineno}")
        if parameter.name in parameters:
            raise InputError(f"{where}, line {node.lineno}: {parameter.name!r} is declared twice; delete one")
        parameters[parameter.name] = parameter
    return list(parameters.values())


def rewrite(text: str, values: Mapping[str, Value]) -> str:
    """The source of a `parameters` cell with other values; comments, and values that stay, as they were.

    Raises
    ------
    InputError
        `values` names a parameter that the cell does not declare, or has a value of another type.

    Examples
    --------
    >>> rewrite("alpha: float = 1.0  # unitless, 0 to 5", {"alpha": 3})
    'alpha: float = 3.0  # unitless, 0 to 5'
    """
    parameters = {parameter.name: parameter for parameter in declared(text)}
    if unknown := sorted(set(values) - set(parameters)):
        raise InputError(f"the parameters cell declares no {unknown[0]!r}; it has: {', '.join(parameters)}")
    code = text.encode()  # the columns of `ast` count bytes
    starts = [0]
    for line in code.split(b"\n"):
        starts.append(starts[-1] + len(line) + 1)
    for node in reversed(_statements(text, "parameters cell")):
        assert isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value
        old = parameters[node.target.id]
        try:
            new = canonical(values.get(old.name, old.default), old.type)
        except ValueError as error:
            raise InputError(f"parameter {old.name!r}: {error}") from None
        if new == old.default:
            continue
        first = starts[node.value.lineno - 1] + node.value.col_offset
        last = starts[(node.value.end_lineno or 0) - 1] + (node.value.end_col_offset or 0)
        code = code[:first] + literal(new).encode() + code[last:]
    return code.decode()


def literal(value: Value) -> str:
    """A value as Python source on one line.

    Examples
    --------
    >>> print(literal('a "b"'), literal(-2.5), literal(float("inf")), literal(True))
    "a \\"b\\"" -2.5 float("inf") True
    """
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)  # Python reads every escape that JSON writes
    if isinstance(value, float) and math.isinf(value):
        return f'float("{value}")'
    return repr(value)


def canonical(value: object, kind: str) -> Value:
    """`value` as the type named `kind`: an int serves as a float, a bool never as a number.

    Raises
    ------
    ValueError
        Another type, or NaN. The message says what was found and what to write instead, but not where.

    Examples
    --------
    >>> canonical(2, "float")
    2.0
    >>> canonical("1e-3", "float")
    Traceback (most recent call last):
    ...
    ValueError: '1e-3' is text, not float: write 0.001
    """
    if isinstance(value, bool) == (kind == "bool"):
        if kind == "float" and isinstance(value, int | float):
            return _finite_or_infinite(value)
        if kind != "float" and isinstance(value, _TYPES[kind]):
            return cast(Value, value)
    raise ValueError(f"{value!r} is {_described(value)}, not {kind}: {_remedy(value, kind)}")


def _finite_or_infinite(value: int | float) -> float:
    try:
        number = float(value)
    except OverflowError:
        raise ValueError("the integer is too large for a float: write .inf, or a smaller number") from None
    if math.isnan(number):
        raise ValueError("NaN is not a parameter value: write a number")
    return number + 0.0  # turns -0.0 into 0.0: the two are one job


def _described(value: object) -> str:
    names = {"bool": "a truth value", "int": "an integer", "float": "a decimal number", "str": "text"}
    name = type(value).__name__
    return names.get(name, "nothing" if value is None else f"a {name}")


def _remedy(value: object, kind: str) -> str:
    """What to write instead; the very value where it is clear (YAML reads 1e-3 as text)."""
    if kind == "bool":
        return "write true or false"
    if kind == "str":
        return "put it in quotes"
    wanted = "write an integer" if kind == "int" else "write a number"
    try:
        number = float(value) if isinstance(value, str | float) else math.nan
    except ValueError:
        return wanted
    if kind == "float" and math.isfinite(number):
        return f"write {number}"
    return f"write {int(number)}" if number.is_integer() else wanted


def _statements(text: str, where: str) -> list[ast.stmt]:
    try:
        return ast.parse(text).body
    except SyntaxError as error:
        raise InputError(f"{where}, line {error.lineno}: not Python ({error.msg}); {_FORM}") from None


def _comments(text: str) -> dict[int, str]:
    """Line number -> the comment on that line, without its sign."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return {t.start[0]: t.string.lstrip("#").strip() for t in tokens if t.type == tokenize.COMMENT}


def _parameter(node: ast.stmt, comment: str, where: str) -> Parameter:
    if not (isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None):
        raise InputError(f"{where}: `{_first_line(node)}` is not a declaration; {_FORM}")
    name, kind = node.target.id, ast.unparse(node.annotation)
    if kind not in _TYPES:
        raise InputError(f"{where}: {name!r} has the type {kind}; use int, float, str or bool")
    try:
        default = canonical(_evaluated(node.value), kind)
    except ValueError as error:
        raise InputError(f"{where}: default of {name!r}: {error}") from None
    return Parameter(name, kind, default, comment)


def _evaluated(node: ast.expr) -> object:
    """The literal's value; `float("inf")`, which is no literal to Python, is one here."""
    infinite = {'float("inf")': math.inf, 'float("-inf")': -math.inf}
    spelled = ast.unparse(node).replace("'", '"')
    if spelled in infinite:
        return infinite[spelled]
    try:
        return ast.literal_eval(node)
    except ValueError:
        raise ValueError(f"`{spelled}` is not a plain literal: write the value itself") from None


def _first_line(node: ast.stmt) -> str:
    return ast.unparse(node).splitlines()[0]
