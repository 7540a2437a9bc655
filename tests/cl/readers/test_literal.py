"""The reader of Python values: what a plain result contains comes back, everything else is refused and nothing runs."""

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.cl.readers.literal import MAX_LENGTH, literal
from helpers.errors import InputError

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner),
    max_leaves=20,
)


@given(PLAIN)
def test_the_text_of_a_plain_value_gives_it_back(value):
    assert literal(str([value])) == [value]


@given(st.floats() | st.integers(-(2**60), 2**60).map(np.int64) | st.floats(width=32).map(np.float32))
def test_numbers_of_numpy_come_back(value):
    scalar = np.float64(value) if isinstance(value, float) else value
    [found] = literal(repr([scalar]))
    assert found == scalar or (math.isnan(found) and math.isnan(scalar))


def test_names_of_objects_are_kept_without_their_content():
    text = "{'device': device(type='cuda', index=0), 'path': PosixPath('/a/b'), 'ok': np.True_}"
    with pytest.raises(InputError, match=r"holds 'np\.True_'"):
        literal(text)
    assert literal(text.replace("np.True_", "np.bool_(True)")) == {
        "device": "device(...)",
        "path": "PosixPath(...)",
        "ok": True,
    }
    assert literal("{'a': (1, -2.5, +3), 'b': {4}, 'c': -inf}") == {"a": [1, -2.5, 3], "b": [4], "c": -math.inf}


@pytest.mark.parametrize(
    "text",
    [
        "__import__('pathlib').Path('pwned').touch()",
        "open('pwned', 'w')",
        "np.float64(open('pwned', 'w'))",
        "np.load('pwned')",
        "os.float64(1)",
        "np.float64('1')",
        "np.float64(1, 2)",
        "np.float64(x=1)",
        "np.float64(*[1])",
        "[x for x in [open('pwned', 'w')]]",
        "lambda: 0",
        "(x := 1)",
        "f'{open(1)}'",
        "{**{'a': 1}}",
        "[*[1]]",
        "{'a': 1, 'a': 2}",
        "{1.5: 2}",
        "{(1, 2): 3}",
        "1 + 1",
        "1 if 1 else 2",
        "1 < 2",
        "not 1",
        "~1",
        "--1",
        "-'a'",
        "-True",
        "-x",
        "x",
        "nan.real",
        "[1][0]",
        "1j",
        "b'a'",
        "...",
        "1; 2",
        "1 2",
        "",
        "a = 1",
        "{'a': 1",
        "\0",
        "9" * 5000,
    ],
)
def test_everything_else_is_refused_and_nothing_runs(text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError):
        literal(text)
    assert not Path("pwned").exists()


@pytest.mark.parametrize(
    ("piece", "end"),
    [
        ("-", "1"),
        ("not ", "1"),
        ("(", ""),
        ("[", ""),
        ("{'a':", ""),
        ("lambda:", "1"),
        ("1 if 1 else ", "1"),
        ("1+", "1"),
        ("2**", "2"),
        ("1<", "1"),
        ("1 and ", "1"),
        ("a", ".b" * 20_000),
        ("a", "()" * 20_000),
        ("a", "[0]" * 20_000),
        ("f'{", ""),
        ("\\", ""),
    ],
)
def test_what_is_nested_on_purpose_is_refused(piece, end):
    with pytest.raises(InputError):
        literal(piece * (50_000 // len(piece)) + end)


def test_a_text_that_is_too_long_is_refused():
    assert literal("'" + "a" * (MAX_LENGTH - 2) + "'") == "a" * (MAX_LENGTH - 2)
    with pytest.raises(InputError, match=f"at most {MAX_LENGTH} are read"):
        literal("'" + "a" * (MAX_LENGTH - 1) + "'")


def test_odd_escapes_give_no_warning():
    assert literal(r"{'path': 'C:\data'}") == {"path": r"C:\data"}
