"""The role {result}: numbers in prose come from the run."""

from pathlib import Path

import measured
import pytest


@pytest.mark.parametrize(
    ("reference", "text"),
    [
        ("demo:score", "2.125"),
        ("demo:score:.2f", "2.12"),
        ("demo:score:.1%", "212.5%"),
        ("demo:score.low:.1f", "2.0"),
        ("demo:score.high:.2f", "2.25"),
        ("demo:bwt.gem:.1f", "-20.0"),
        ("demo:status", "interior"),
        ("demo:beta:.3f", "∞"),
    ],
)
def test_a_value_is_looked_up_and_formatted(run: Path, reference: str, text: str) -> None:
    assert measured.resolve(reference, run) == (text, None)


@pytest.mark.parametrize(
    ("reference", "reason"),
    [
        ("demo:slope:.2f", "one point only"),
        ("demo:slope.low:.2f", "one point only"),
        ("demo:bwt.gem.high", "no interval"),
    ],
)
def test_an_undefined_value_is_a_dash_with_its_reason(run: Path, reference: str, reason: str) -> None:
    assert measured.resolve(reference, run) == ("—", reason)


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("demo", "'demo' must read chapter:metric"),
        ("demo:", "must read chapter:metric"),
        ("other:score", "no results of a chapter 'other' in .*; there are: demo"),
        (
            "demo:scores",
            "chapter 'demo' has no metric 'scores'; there are: beta, bwt.gem, score, slope, status",
        ),
        ("demo:score.middle", "has no metric 'score.middle'"),
        ("demo:score:.3q", "'demo:score:.3q': the format '.3q' does not fit the value 2.125"),
        ("demo:status:.3f", "the format '.3f' does not fit the value 'interior'"),
    ],
)
def test_what_cannot_be_looked_up_is_refused(run: Path, reference: str, message: str) -> None:
    with pytest.raises(measured.Unresolved, match=message):
        measured.resolve(reference, run)
