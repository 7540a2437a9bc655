"""Predict, score, then learn: worked example E15, and a replay of the stream label by label."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.cl.stream import online_accuracy, prequential, prequential_curve
from helpers.errors import InputError

HITS = [1, 0, 1, 1, 0, 1, 1, 1]
WAYS = [{}, {"how": "window", "window": 3}, {"how": "fading", "alpha": 0.8}]


def test_worked_example_15():
    assert prequential(HITS).value == 0.75
    assert prequential(HITS, how="window", window=4).value == 0.75
    assert prequential(HITS, how="fading", alpha=0.9).value == pytest.approx(0.7787, abs=5e-5)


def test_ids_and_coverage():
    assert (prequential(HITS).id, prequential(HITS).coverage) == ("prequential", (8, 8))
    window = prequential(HITS, how="window", window=3)
    assert (window.id, window.coverage) == ("prequential.window", (3, 8))
    assert prequential(HITS, how="fading", alpha=0.5).id == "prequential.fading"


def replay(scores, delays, how, window=None, alpha=None):
    """The stream as it happens: a question each step, and then all labels that are due."""
    known, curve = [], []
    for now in range(len(scores)):
        known += [i for i in range(now + 1) if i + delays[i] <= now and i not in known]
        curve.append(mean([scores[i] for i in sorted(known, key=lambda i: (i + delays[i], i))], how, window, alpha))
    order = sorted(range(len(scores)), key=lambda i: (i + delays[i], i))
    return curve, mean([scores[i] for i in order], how, window, alpha)


def mean(values, how, window, alpha):
    values = values[-window:] if window else values
    weights = [(alpha or 1.0) ** (len(values) - 1 - i) for i in range(len(values))]
    return np.average(values, weights=weights) if values else np.nan


@given(
    st.lists(st.tuples(st.floats(0, 1), st.integers(0, 5)), min_size=1, max_size=12),
    st.sampled_from(WAYS),
)
def test_against_a_replay(stream, way):
    scores, delays = (list(column) for column in zip(*stream, strict=True))
    options = {"how": "cumulative", **way}
    curve, final = replay(scores, delays, **options)
    assert prequential_curve(scores, delay=delays, **way) == pytest.approx(curve, nan_ok=True, abs=1e-9)
    assert prequential(scores, delay=delays, **way).value == pytest.approx(final, abs=1e-9)


def test_a_delay_hides_the_last_labels_until_the_stream_is_over():
    assert np.isnan(prequential_curve(HITS, delay=3)[:3]).all()
    assert prequential_curve(HITS, delay=3)[3] == 1.0
    assert prequential_curve(HITS, delay=3)[-1] == pytest.approx(3 / 5)
    assert prequential(HITS, delay=3) == prequential(HITS)


def test_labels_that_overtake_each_other():
    """The first label comes last: a window of one ends with it."""
    assert prequential([0, 1, 1], how="window", window=1, delay=[5, 0, 0]).value == 0.0
    assert prequential([0, 1, 1], how="window", window=1).value == 1.0


def test_fading_by_one_is_cumulative():
    assert prequential(HITS, how="fading", alpha=1.0).value == prequential(HITS).value
    assert prequential(HITS, how="window", window=100).value == prequential(HITS).value


def test_online_accuracy():
    assert online_accuracy([0.5, 0.7, 0.9]).value == pytest.approx(0.7)
    found = online_accuracy([0.5, 0.7, 0.9], sizes=[10, 10, 5])
    assert (found.id, found.value, found.coverage) == ("ocp.online", pytest.approx(0.66), (3, 3))


def test_online_accuracy_needs_every_batch():
    found = online_accuracy([0.5, None, 0.9])
    assert (found.value, found.coverage) == (None, (2, 3))
    assert "batch 1 was not measured" in found.reason


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"how": "mean"}, "how is 'mean': choose one of"),
        ({"how": "window"}, "how is 'window' with window=None"),
        ({"how": "fading"}, "how is 'fading' with window=None and alpha=None"),
        ({"window": 3}, "how is 'cumulative' with window=3"),
        ({"how": "window", "window": 0}, "window is 0"),
        ({"how": "fading", "alpha": 0.0}, "alpha is 0.0"),
        ({"how": "fading", "alpha": 1.5}, "alpha is 1.5"),
        ({"delay": -1}, "delay[0] is -1: no label comes before its question"),
        ({"delay": [0, 1]}, "delay has shape (2,)"),
        ({"delay": 0.5}, "delay has shape () and type float64"),
        ({"delay": [0, True, *[0] * (len(HITS) - 2)]}, "delay[1] is True"),
    ],
)
def test_refusals(options, message):
    for function in (prequential, prequential_curve):
        with pytest.raises(InputError) as refusal:
            function(HITS, **options)
        assert message in str(refusal.value)


def test_scores_must_be_numbers():
    with pytest.raises(InputError, match=r"scores\[1\] is nan"):
        prequential([1, np.nan])
    with pytest.raises(InputError, match="sizes has 2 entries for 3 batches"):
        online_accuracy([0.1, 0.2, 0.3], sizes=[1, 2])
    with pytest.raises(InputError, match=r"sizes\[1\] is 0.0: a batch has at least 1 sample"):
        online_accuracy([0.1, 0.2], sizes=[1, 0])


def test_a_comparison_of_predictions_is_a_row_of_hits():
    hits = np.array([1, 2, 3, 4]) == np.array([1, 0, 3, 4])
    for row in (hits, hits.tolist()):
        assert prequential(row).value == 0.75
    with pytest.raises(InputError, match=r"scores\[0\] is True: give numbers"):
        prequential([True, 0.5])


def test_a_window_beyond_the_stream_holds_all_of_it():
    assert prequential([1, 0, 1], how="window", window=10**30) == prequential([1, 0, 1], how="window", window=3)
    assert prequential([1, 0, 1], how="window", window=2).value == 0.5  # one less than the stream
    assert prequential_curve([1, 0, 1], how="window", window=10**30).tolist() == [1.0, 0.5, pytest.approx(2 / 3)]


def test_scores_whose_sums_overflow_and_a_truth_value_for_alpha_are_refused():
    with pytest.raises(InputError, match=r"scores\[1\] is 1e\+308: give scores of at most 1e\+100"):
        prequential([0.0, 1e308])
    with pytest.raises(InputError, match="alpha is True"):
        prequential([1, 0], how="fading", alpha=True)
