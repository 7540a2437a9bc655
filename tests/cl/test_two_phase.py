"""The two-phase search: worked example E16, the order of decays, halting, and trainings that fail."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.cl.two_phase import two_phase_search
from helpers.errors import InputError

E16 = {8: 0.50, 4: 0.65, 2: 0.71, 1: 0.73}


def test_worked_example_16():
    relative = two_phase_search(E16.get, 8, best=0.9)
    assert (relative.value, len(relative.attempts), relative.threshold) == (1.0, 4, pytest.approx(0.72))
    absolute = two_phase_search(E16.get, 8, best=0.9, relative=False)
    assert (absolute.value, len(absolute.attempts), absolute.threshold) == (2.0, 3, pytest.approx(0.7))
    assert (relative.accepted, relative.accuracy, relative.reason) == (True, 0.73, None)
    assert [attempt.value for attempt in relative.attempts] == [8, 4, 2, 1]
    assert [attempt.accepted for attempt in relative.attempts] == [False, False, False, True]


def test_the_threshold_itself_is_enough():
    """.8 of .9 is .7200000000000001: a training at .72 must not fail by rounding."""
    assert two_phase_search(lambda value: 0.72, 8, best=0.9).accepted
    assert not two_phase_search(lambda value: 0.7199, 8, best=0.9).accepted


def test_several_values_decay_alone_and_then_together():
    """The sequence that the released code of the survey states."""
    tried = []
    two_phase_search(
        lambda values: tried.append((values["lambda"], values["alpha"])), {"lambda": 5, "alpha": 2}, best=1
    )
    assert tried[:7] == [(5, 2), (2.5, 2), (5, 1), (2.5, 1), (1.25, 1), (2.5, 0.5), (1.25, 0.5)]
    assert len(tried) == 10


def test_three_values():
    tried = []
    two_phase_search(lambda v: tried.append(tuple(v.values())), {"a": 8, "b": 4, "c": 2}, best=1, max_attempts=6)
    assert tried == [(8, 4, 2), (4, 4, 2), (8, 2, 2), (8, 4, 1), (4, 2, 1), (2, 2, 1)]


def test_it_halts_and_keeps_what_was_trained_last():
    found = two_phase_search(lambda value: 0.1, 8, best=0.9, max_attempts=3)
    assert (found.value, found.accepted, len(found.attempts)) == (2.0, False, 3)
    assert found.reason == "none of 3 trainings reached 0.72: the last one is kept"
    assert found.value == found.attempts[-1].value
    assert "not accepted after 3 trainings" in repr(found)


def test_nothing_more_is_trained_once_accepted():
    calls = []
    found = two_phase_search(lambda value: calls.append(value) or 0.8, 8, best=0.9)
    assert calls == [8.0]
    assert found.value == 8.0


@pytest.mark.parametrize("failure", [None, math.nan])
def test_a_failed_training_is_an_attempt_and_no_number(failure):
    found = two_phase_search(lambda value: failure if value > 2 else 0.8, 8, best=0.9)
    assert (found.value, len(found.attempts)) == (2.0, 3)
    assert found.attempts[0].accuracy is None
    text = json.dumps(found.to_dict(), allow_nan=False)
    assert json.loads(text)["attempts"][0]["accuracy"] == "failed"
    never = two_phase_search(lambda value: failure, 8, best=0.9, max_attempts=2)
    assert (never.accepted, never.accuracy, never.to_dict()["accuracy"]) == (False, None, "failed")


def test_phase_1_takes_the_best_learning_rate():
    found = two_phase_search(E16.get, 8, best={0.1: None, 0.01: 0.9, 0.001: 0.9, 0.0001: 0.4})
    assert (found.best, found.learning_rate) == (0.9, 0.01)
    assert two_phase_search(E16.get, 8, best=0.9).learning_rate is None


def test_the_next_task_starts_from_here():
    first = two_phase_search({(5, 2): 0.1, (2.5, 2): 0.9}.get, 5, best=0.5, max_attempts=2)
    assert isinstance(first.value, float)
    named = two_phase_search(lambda values: 0.9, {"lambda": 5}, best=0.9)
    assert named.value == {"lambda": 5.0}
    assert two_phase_search(lambda values: 0.9, named.value, best=0.9).value == {"lambda": 5.0}


def test_a_trainer_that_changes_its_values_does_not_change_the_search():
    found = two_phase_search(lambda values: values.update(a=99), {"a": 8, "b": 4}, best=1, max_attempts=3)
    assert [attempt.value for attempt in found.attempts] == [{"a": 8, "b": 4}, {"a": 4, "b": 4}, {"a": 8, "b": 2}]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8), st.floats(0, 0.9), st.floats(0.1, 0.9), st.booleans())
def test_what_is_accepted_reaches_the_threshold_and_nothing_before_does(accuracies, p, best, relative):
    if not relative and p > best:
        return
    remaining = iter(accuracies)
    options = {"best": best, "p": p, "relative": relative, "max_attempts": len(accuracies)}
    found = two_phase_search(lambda value: next(remaining), 1.0, **options)
    threshold = (1 - p) * best if relative else best - p
    assert all(attempt.accuracy < threshold for attempt in found.attempts[:-1])
    assert found.accepted == (found.accuracy >= threshold - 1e-12)
    assert found.accepted or len(found.attempts) == len(accuracies)
    assert found.value == 0.5 ** (len(found.attempts) - 1)


@pytest.mark.parametrize(
    ("start", "options", "message"),
    [
        (0, {}, "start is 0: give a positive number"),
        ({}, {}, "start is empty"),
        ({"a": 1, "b": -2}, {}, "start['b'] is -2"),
        ("big", {}, "start is 'big'"),
        (8, {"best": None}, "best is missing"),
        (8, {"best": {0.1: None}}, "best has no training that succeeded"),
        (8, {"best": {0.1: -1}}, "best[0.1] is -1"),
        (8, {"best": math.inf}, "best is inf"),
        (8, {"p": 1.0}, "p is 1.0"),
        (8, {"p": -0.1}, "p is -0.1"),
        (8, {"p": 0.95, "relative": False}, "p is 0.95, above the best accuracy 0.9"),
        (8, {"alpha": 1.0}, "alpha is 1.0: give a number between 0 and 1"),
        (8, {"alpha": 0}, "alpha is 0"),
        (8, {"max_attempts": 0}, "max_attempts is 0"),
    ],
)
def test_refusals(start, options, message):
    with pytest.raises(InputError) as refusal:
        two_phase_search(E16.get, start, **{"best": 0.9, **options})
    assert message in str(refusal.value)


def test_an_accuracy_that_is_none_is_refused_where_it_happens():
    with pytest.raises(InputError, match=r"train\(8.0\) is inf"):
        two_phase_search(lambda value: math.inf, 8, best=0.9)
    with pytest.raises(InputError, match=r"train\(8.0\) is 'good'"):
        two_phase_search(lambda value: "good", 8, best=0.9)


@pytest.mark.parametrize(
    ("train", "options", "message"),
    [
        (3, {}, "train is 3: give a function"),
        (lambda _: 0.9, {"relative": "no"}, "relative is 'no': give True or False"),
    ],
)
def test_what_is_no_function_and_no_switch_is_refused(train, options, message):
    with pytest.raises(InputError, match=f"^{message}"):
        two_phase_search(train, 8, best=0.9, **options)
