"""The `parameters` cell: read, refused, rewritten."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.batch.parameters import Parameter, canonical, declared, literal, rewrite
from helpers.errors import InputError

CELL = '''\
# What the run is about.
count: int = 3  # images, 1 to 10
rate: float = -1e-3  # per step, below 0

limit: float = float("inf")  # nat, above 0
name: str = "a # b"  # one of: "a # b", c
quick: bool = False
text: str = """two
lines"""  # any text
record: str = (
    "long "
    "path"
)  # a path; é costs two bytes
é: str = "é"; last: int = 0x10'''


def test_declared() -> None:
    assert declared(CELL) == [
        Parameter("count", "int", 3, "images, 1 to 10"),
        Parameter("rate", "float", -0.001, "per step, below 0"),
        Parameter("limit", "float", math.inf, "nat, above 0"),
        Parameter("name", "str", "a # b", 'one of: "a # b", c'),
        Parameter("quick", "bool", False, ""),
        Parameter("text", "str", "two\nlines", "any text"),
        Parameter("record", "str", "long path", "a path; é costs two bytes"),
        Parameter("é", "str", "é", ""),
        Parameter("last", "int", 16, ""),
    ]


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("a: int = 1\nb = 2", r"here, line 2: `b = 2` is not a declaration; write one parameter a line"),
        ("import os", "line 1: `import os` is not a declaration"),
        ("a: int", "line 1: `a: int` is not a declaration"),
        ("%matplotlib inline", "here, line 1: not Python"),
        ("a: list = []", "'a' has the type list; use int, float, str or bool"),
        ("a: int = 1.0", "default of 'a': 1.0 is a decimal number, not int: write 1"),
        ("a: bool = 1", "default of 'a': 1 is an integer, not bool: write true or false"),
        ("a: str = None", "default of 'a': None is nothing, not str: put it in quotes"),
        ("a: float = 2 ** 3", r"`2 \*\* 3` is not a plain literal: write the value itself"),
        ('a: float = float("nan")', "is not a plain literal"),
        ("a: int = 1\na: int = 2", "line 2: 'a' is declared twice"),
    ],
)
def test_cell_refused(cell: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        declared(cell, where="here")


@pytest.mark.parametrize(
    ("value", "kind", "message"),
    [
        (True, "int", "True is a truth value, not int: write an integer"),
        (False, "float", "False is a truth value, not float: write a number"),
        ("5", "int", "'5' is text, not int: write 5"),
        ("1e-3", "float", "'1e-3' is text, not float: write 0.001"),
        ("high", "float", "'high' is text, not float: write a number"),
        (2.5, "int", "2.5 is a decimal number, not int: write an integer"),
        ([1], "int", "is a list, not int"),
        ({}, "str", "is a dict, not str"),
        (math.nan, "float", "NaN is not a parameter value"),
        (10**400, "float", "too large for a float"),
    ],
)
def test_value_refused(value: object, kind: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        canonical(value, kind)


def test_canonical_values() -> None:
    assert type(canonical(2, "float")) is float
    assert math.copysign(1, canonical(-0.0, "float")) == 1
    assert canonical(True, "bool") is True
    assert canonical(10**400, "int") == 10**400


def test_rewrite_touches_only_values_that_change() -> None:
    assert rewrite(CELL, {}) == CELL
    values = {
        "count": -4,
        "rate": math.inf,
        "limit": -math.inf,
        "name": 'say "#"',
        "quick": True,
        "text": "one\ntwo",
        "record": "short",
        "é": "ü",
        "last": 16,
    }
    assert (
        rewrite(CELL, values)
        == """\
# What the run is about.
count: int = -4  # images, 1 to 10
rate: float = float("inf")  # per step, below 0

limit: float = float("-inf")  # nat, above 0
name: str = "say \\"#\\""  # one of: "a # b", c
quick: bool = True
text: str = "one\\ntwo"  # any text
record: str = (
    "short"
)  # a path; é costs two bytes
é: str = "ü"; last: int = 0x10"""
    )


def test_rewrite_refuses_what_the_cell_does_not_declare() -> None:
    with pytest.raises(InputError, match=r"declares no 'beta'; it has: a"):
        rewrite("a: int = 1", {"beta": 1})
    with pytest.raises(InputError, match=r"parameter 'a': 'x' is text, not int"):
        rewrite("a: int = 1", {"a": "x"})


@given(
    st.integers(),
    st.floats(allow_nan=False).map(lambda x: x + 0.0),
    st.text(st.characters(exclude_categories=["Cs"])),
    st.booleans(),
)
def test_any_value_survives_the_cell(count: int, rate: float, name: str, quick: bool) -> None:
    values = {"count": count, "rate": rate, "name": name, "quick": quick}
    assert "\n" not in literal(name)
    assert {p.name: p.default for p in declared(rewrite(CELL, values)) if p.name in values} == values
