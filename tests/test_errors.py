"""How refusals are put: where, which place, which names, and never a whole long value."""

import numpy as np
import pytest

from helpers.errors import InputError, bracketed, brief, listed, located


def test_a_refusal_says_where():
    with pytest.raises(InputError, match=r"^labels.csv: q is 0$") as refusal, located("labels.csv"):
        raise InputError("q is 0")
    assert isinstance(refusal.value.__cause__, InputError)


@pytest.mark.parametrize("fault", [ValueError("q"), KeyError("q"), KeyboardInterrupt()])
def test_other_faults_pass_as_they_are(fault):
    with pytest.raises(type(fault)) as passed, located("labels.csv"):
        raise fault
    assert passed.value is fault


def test_nothing_is_said_of_what_succeeds():
    with located("labels.csv"):
        found = 1
    assert found == 1


@pytest.mark.parametrize(
    ("index", "text"), [((2,), "[2]"), ([0, 3], "[0, 3]"), (np.array([1, 2], dtype=np.uint8), "[1, 2]"), ((), "")]
)
def test_bracketed(index, text):
    assert bracketed(index) == text


def test_listed():
    assert listed([]) == ""
    assert listed(range(10)) == "0, 1, 2, 3, 4, 5, 6, 7, 8, 9"
    assert listed(range(12)) == "0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 2 more"
    assert listed("abc", most=1) == "a and 2 more"


def test_brief():
    assert brief("a" * 58) == repr("a" * 58)
    cut = brief("a" * 59)
    assert (len(cut), cut[-4:]) == (60, "a...")


def test_names_that_are_long_or_hold_control_characters_are_quoted_and_cut():
    assert listed(["plain", "\x1b[31m", "z" * 10**6]) == "plain, '\\x1b[31m', '" + "z" * 56 + "..."
