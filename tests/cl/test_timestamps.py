"""Dates of training and test texts: what is not later is named, and odd dates are refused."""

from datetime import UTC, date, datetime

import pytest

from helpers.cl.timestamps import check_timestamps
from helpers.errors import InputError


def test_dates():
    found = check_timestamps(["2023-01-05", date(2023, 9, 30)], ["2023-10-01", "2023-09-30", "2021-01-01"])
    assert (found.train_max, found.test_min, found.violations) == ("2023-09-30", "2021-01-01", (1, 2))
    assert found.to_dict() == {"train_max": "2023-09-30", "test_min": "2021-01-01", "violations": [1, 2]}


def test_moments_are_compared_in_universal_time_and_as_coarsely_as_the_coarsest():
    late = check_timestamps(["2024-05-01T12:00:00+02:00"], ["2024-05-01T10:00:01Z", "2024-05-01T10:00:00Z"])
    assert late.violations == (1,)
    assert check_timestamps([datetime(2024, 5, 1, 12)], ["2024-05-01T13:00:00"]).violations == ()
    assert check_timestamps(["2024-05-01"], ["2024-05-01T13:00:00", "2024-05-02T00:00:00"]).violations == (0,)
    assert check_timestamps([datetime(2024, 5, 1, 9, tzinfo=UTC)], ["2024-05-01"]).violations == (0,)


@pytest.mark.parametrize(
    ("train", "test", "message"),
    [
        ([], ["2024-01-01"], "train is empty"),
        (["2024-01-01"], [], "test is empty"),
        (["2024-13-01"], ["2024-01-01"], "train[0] is '2024-13-01': give an ISO date"),
        (["2024-01-01"], ["2024-01-01", None], "test[1] is None"),
        (
            ["0001-01-01T00:00:00+14:00"],
            ["2024-01-01T00:00:00Z"],
            "train[0] is '0001-01-01T00:00:00+14:00': give an ISO",
        ),
        ([20240101], ["2024-01-01"], "train[0] is 20240101"),
        ("2024-01-01", ["2024-01-01"], "train is '2024-01-01': give several dates"),
        (["2024-01-01T00:00:00"], ["2024-01-01T00:00:00Z"], "with and without a time zone"),
    ],
)
def test_date_refusals(train, test, message):
    with pytest.raises(InputError) as refusal:
        check_timestamps(train, test)
    assert message in str(refusal.value)
