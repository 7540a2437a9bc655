"""Python values written as text, read without running anything: a whitelist of what a plain result contains."""

from __future__ import annotations

import ast
import math
import warnings
from typing import Any

from ...errors import InputError

#: A longer text is refused: the parser needs up to eight seconds per megabyte.
MAX_LENGTH = 2**19
NAMES = {"nan": math.nan, "inf": math.inf}
SCALARS = ("float64", "float32", "float16", "int64", "int32", "bool_", "bool")
#: Objects that may occur and whose content is not needed, such as ``device(type='cpu')``.
NAMED = ("device", "PosixPath", "WindowsPath")


def literal(text: str) -> Any:
    """The value of a Python expression of plain parts.

    Numbers, texts, None, True, False, ``nan``, ``inf``, lists, tuples, sets and dicts of them, NumPy scalars such as
    ``np.float64(0.5)``, and ``device(...)`` or ``PosixPath(...)``, of which only the name is kept. Nothing is
    evaluated.

    Raises
    ------
    InputError
        Anything else, a key twice in one dict, or more than 512 KiB of text.

    Examples
    --------
    >>> literal("{'acc': np.float64(0.5), 'device': device(type='cpu'), 'loss': [nan, -1]}")
    {'acc': 0.5, 'device': 'device(...)', 'loss': [nan, -1]}
    >>> literal("__import__('os').getcwd()")
    Traceback (most recent call last):
    ...
    helpers.errors.InputError: holds a call of "__import__('os').getcwd", which is no plain value
    """
    if len(text) > MAX_LENGTH:
        raise InputError(f"has {len(text)} characters, at most {MAX_LENGTH} are read: shorten what no matrix needs")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an odd escape in somebody's log is no fault of the reader's
            return _value(ast.parse(text.strip(), mode="eval").body)
    except InputError:
        raise
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise InputError(f"is no Python value ({str(error)[:60]}): was the file cut off?") from error


def _value(node: ast.AST) -> Any:
    match node:
        case ast.Constant(value=str() | int() | float() | None as constant):
            return constant
        case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=ast.Constant() | ast.Name()):
            return _signed(node)
        case ast.Name(id=name) if name in NAMES:
            return NAMES[name]
        case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts):
            return [_value(part) for part in parts]
        case ast.Dict(keys=keys, values=values):
            return _dict(keys, values)
        case ast.Call(func=ast.Attribute(value=ast.Name(id="np" | "numpy"), attr=kind), args=[part], keywords=[]):
            if kind in SCALARS and isinstance(value := _value(part), int | float):
                return value
        case ast.Call(func=ast.Name(id=kind)) if kind in NAMED:
            return f"{kind}(...)"
    raise InputError(f"holds {_described(node)}, which is no plain value")


def _signed(node: ast.UnaryOp) -> float:
    value = _value(node.operand)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"holds a sign before {str(value)[:40]!r}")
    return -value if isinstance(node.op, ast.USub) else value


def _dict(keys: list[ast.expr | None], values: list[ast.expr]) -> dict[Any, Any]:
    content: dict[Any, Any] = {}
    for key, value in zip(keys, values, strict=True):
        name = None if key is None else _value(key)
        if not isinstance(name, str | int):
            raise InputError("holds a dict whose keys are no texts or numbers")
        if name in content:
            raise InputError(f"names the key {str(name)[:40]!r} twice")
        content[name] = _value(value)
    return content


def _described(node: ast.AST) -> str:
    text = ast.unparse(node.func if isinstance(node, ast.Call) else node)[:40]
    return f"a call of {text!r}" if isinstance(node, ast.Call) else repr(text)
