"""One door for NumPy and torch: what comes in is checked, what goes out is NumPy."""

import math
import sys
import threading
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from helpers import arrays
from helpers.errors import InputError

LAYOUT = "rows and columns, shape (n, k)"


def test_as_array_leaves_arrays_alone_and_converts_lists():
    array, tensor = np.ones(2), torch.ones(2)
    assert arrays.as_array(array, "x") is array
    assert arrays.as_array(tensor, "x") is tensor
    assert arrays.as_array([[1, 2]], "x").tolist() == [[1, 2]]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([[1.0, 2.0], [3.0]], "x is no array: "),
        (np.ma.masked_less(np.arange(3.0), 1), "x is a masked array: fill the masked values"),
    ],
)
def test_as_array_refuses(value, message):
    with pytest.raises(InputError) as refusal:
        arrays.as_array(value, "x")
    assert message in str(refusal.value)


@pytest.mark.parametrize("value", [1, np.int64(1), np.uint8(1)])
def test_whole_number(value):
    number = arrays.whole_number(value, "chunk", least=1)
    assert (type(number), number) == (int, 1)


@pytest.mark.parametrize("value", [0, -1, 1.0, True, "1", None, float("nan")])
def test_whole_number_refuses(value):
    with pytest.raises(InputError) as refusal:
        arrays.whole_number(value, "chunk", least=1)
    assert str(refusal.value) == f"chunk is {value!r}: give a whole number of at least 1"


@pytest.mark.parametrize(
    "values", [[1, 2.5], np.array([1, 2.5], np.float32), torch.tensor([1, 2.5], requires_grad=True)]
)
def test_real_vector(values):
    array = arrays.real_vector(values, "size")
    assert array.dtype == np.float64
    assert array.tolist() == [1.0, 2.5]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (1.0, "size has shape () and type float64: give a list of numbers"),
        ([], "size has shape (0,)"),
        ([[1.0]], "size has shape (1, 1)"),
        ([True], "size has shape (1,) and type bool"),
        (["a"], "size has shape (1,) and type <U1"),
        ([1.0, float("nan")], "size[1] is nan: give finite numbers"),
        ([float("-inf")], "size[0] is -inf"),
    ],
)
def test_real_vector_refuses(values, message):
    with pytest.raises(InputError) as refusal:
        arrays.real_vector(values, "size")
    assert message in str(refusal.value)


def test_a_memory_map_is_not_read_into_memory(tmp_path):
    np.save(tmp_path / "x.npy", np.ones((3, 2)))
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    assert isinstance(arrays.check_matrix(mapped, "logits", layout=LAYOUT), np.memmap)


def test_namespace_of_equals_and_of_strangers():
    names = ("logits", "shifted")
    assert arrays.namespace(np.ones(1), np.ones(1), names=names).__name__.endswith("numpy")
    assert arrays.namespace(torch.ones(1), torch.ones(1), names=names).__name__.endswith("torch")
    with pytest.raises(InputError, match=r"logits and shifted come from different libraries \(numpy, torch\)"):
        arrays.namespace(np.ones(1), torch.ones(1), names=names)
    # "meta" is a device that every build of torch has
    with pytest.raises(InputError, match="logits and shifted lie on different devices"):
        arrays.namespace(torch.ones(1), torch.ones(1, device="meta"), names=names)


def test_to_numpy_drops_the_gradient_tape():
    tensor = torch.ones(2, requires_grad=True)
    assert arrays.to_numpy(tensor).tolist() == [1.0, 1.0]
    assert not arrays.detached(tensor).requires_grad
    assert arrays.to_numpy([1, 2]).tolist() == [1, 2]
    plain = np.ones(2)
    assert arrays.detached(plain) is plain


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_half_precision_comes_home_as_float32(dtype):
    array = arrays.to_numpy(torch.tensor([0.5, -2.0], dtype=dtype))
    assert array.dtype == np.float32
    assert array.tolist() == [0.5, -2.0]
    assert arrays.to_numpy(torch.ones(1, dtype=torch.float64)).dtype == np.float64
    assert arrays.to_numpy(torch.ones(1, dtype=torch.int16)).dtype == np.int16


def test_device():
    assert not arrays.is_on_device(np.ones(1))
    assert not arrays.is_on_device(torch.ones(1))
    assert arrays.is_on_device(torch.ones(1, device="meta"))
    assert arrays.device(torch.ones(1)) == torch.device("cpu")


@pytest.mark.parametrize(
    ("array", "narrow"),
    [
        (np.ones(1, np.float16), True),
        (np.ones(1, np.float32), True),
        (np.ones(1, np.float64), False),
        (np.ones(1, np.int16), False),
        (torch.ones(1, dtype=torch.bfloat16), True),
        (torch.ones(1, dtype=torch.float32), True),
        (torch.ones(1, dtype=torch.float64), False),
        (torch.ones(1, dtype=torch.int16), False),
    ],
)
def test_is_narrow(array, narrow):
    assert arrays.is_narrow(array) is narrow


@pytest.mark.parametrize(
    "value",
    [
        [[1.0, 2.0]],
        np.ones((2, 3), np.float16),
        np.ones((2, 3), np.uint8),
        torch.ones(2, 3, requires_grad=True),
        torch.ones(2, 3, dtype=torch.bfloat16),
        torch.ones(2, 3, dtype=torch.int64),
    ],
)
def test_check_matrix_takes_real_numbers(value):
    assert arrays.check_matrix(value, "logits", layout=LAYOUT).ndim == 2


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (3.0, "logits has shape (): give rows and columns"),
        ([1.0, 2.0], "logits has shape (2,): give rows and columns"),
        (np.ones((1, 2, 3)), "logits has shape (1, 2, 3)"),
        (np.ones((0, 3)), "logits has shape (0, 3)"),
        (np.ones((3, 0)), "logits has shape (3, 0)"),
        (np.ones((1, 2), complex), "logits has type complex128: give real numbers"),
        (np.ones((1, 2), bool), "logits has type bool"),
        (np.array([["a", 1.0]], object), "logits has type object"),
        ([[1.0, 2.0], [3.0]], "logits is no array: "),
        (np.zeros((1, 2), "timedelta64[s]"), "logits has type timedelta64[s]"),
        (torch.ones(1, 2, dtype=torch.bool), "logits has type torch.bool"),
        (torch.ones(1, 2, dtype=torch.complex64), "logits has type torch.complex64"),
    ],
)
def test_check_matrix_refuses(value, message):
    with pytest.raises(InputError) as refusal:
        arrays.check_matrix(value, "logits", layout=LAYOUT)
    assert message in str(refusal.value)


@pytest.mark.parametrize("labels", [[0, 2, 1], np.array([0, 2, 1], np.uint8), torch.tensor([0, 2, 1])])
def test_check_labels_takes_whole_numbers(labels):
    assert arrays.check_labels(labels, n=3, k=3).tolist() == [0, 2, 1]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0, 1], "truth has shape (2,): give 3 class numbers, shape (3,)"),
        ([[0], [1], [2]], "truth has shape (3, 1)"),
        ([[0], [1, 2]], "truth is no array: "),
        ([0.0, 1.0, 2.0], "truth has shape (3,) and type float64: give class numbers as integers"),
        ([True, False, True], "truth has shape (3,) and type bool"),
        ([0, 3, 1], "truth[1] is 3: with 3 classes a label lies in 0..2"),
        ([0, 1, -1], "truth[2] is -1"),
    ],
)
def test_check_labels_refuses(labels, message):
    with pytest.raises(InputError) as refusal:
        arrays.check_labels(labels, n=3, k=3, name="truth")
    assert message in str(refusal.value)


@pytest.mark.parametrize(
    ("allowed", "threads"),
    [("1", 1), ("2", 2), ("64", 4), ("", 4), ("0", 4), ("4,2", 4), ("-1", 4), ("many", 4)],
)
def test_threads_stay_within_what_is_allowed_and_there(monkeypatch, allowed, threads):
    monkeypatch.setattr(arrays.os, "sched_getaffinity", lambda _: {0, 1, 2, 3}, raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", allowed)
    assert arrays.thread_count(np.ones(1)) == threads
    assert arrays.thread_count(torch.ones(1)) == 1


@given(st.integers(1, 50), st.integers(1, 60), st.integers(1, 3))
def test_tiles_cover_every_row_once_and_in_order(rows, tile, threads):
    spans = arrays.map_tiles(lambda start, stop: (start, stop), rows, tile, threads)
    assert [row for span in spans for row in range(*span)] == list(range(rows))
    assert all(0 < stop - start <= tile for start, stop in spans)


def test_tiles_run_at_once_and_hand_on_what_goes_wrong():
    meeting = threading.Barrier(2, timeout=10)  # breaks unless two tiles are under way together
    assert len(arrays.map_tiles(lambda start, stop: meeting.wait(), 4, 2, threads=2)) == 2

    def refuse(start, stop):
        raise InputError(f"row {start}")

    with pytest.raises(InputError, match="row 0"):
        arrays.map_tiles(refuse, 4, 2, threads=2)


@pytest.mark.parametrize("columns", [1, 2, 30, 64, 65, 200])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int64])
@pytest.mark.parametrize("rows", [1, 511, 513, 9000])
def test_first_largest_is_argmax_with_ties_and_across_slabs(rows, columns, dtype):
    values = np.random.default_rng(columns).integers(-3, 3, size=(rows, columns)).astype(dtype)
    for layout in (values, np.asfortranarray(values), np.repeat(values, 2, axis=1)[:, ::2]):
        layout.flags.writeable = False
        found, largest = arrays.first_largest(layout)
        assert (found.dtype, largest.dtype) == (np.int64, dtype)
        np.testing.assert_array_equal(found, values.argmax(axis=1))
        np.testing.assert_array_equal(largest, values.max(axis=1))


@pytest.mark.parametrize("columns", [3, 70])
def test_first_largest_tells_rows_that_have_none(columns):
    values = np.zeros((4, columns))
    values[1, 2], values[2, 0], values[3, :] = np.nan, np.inf, -np.inf
    found, largest = arrays.first_largest(values)
    np.testing.assert_array_equal(largest, [0.0, np.nan, np.inf, -np.inf])
    assert found[[0, 2, 3]].tolist() == [0, 0, 0]
    assert [part.shape for part in arrays.first_largest(np.empty((0, columns)))] == [(0,), (0,)]


@pytest.mark.parametrize(
    "value", [0, -1.5, np.float32(2), np.int8(3), np.uint64(2**64 - 1), Fraction(1, 3), sys.float_info.max]
)
def test_numbers(value):
    assert arrays.is_number(value) is True


@pytest.mark.parametrize(
    "value",
    [True, np.True_, math.nan, math.inf, -math.inf, np.float32("nan"), 10**400, "1", None, 1j, [1.0], np.ones(1)],
)
def test_what_is_no_number(value):
    assert arrays.is_number(value) is False


def test_floats_take_none_for_nan_and_copy():
    given = np.arange(4.0).reshape(2, 2)
    found = arrays.floats(given, "x")
    assert found is not given
    assert not np.shares_memory(found, given)
    np.testing.assert_array_equal(arrays.floats([[1, None], [2.5, np.int8(3)]], "x"), [[1, np.nan], [2.5, 3]])
    assert arrays.floats(torch.tensor([1, 2]), "x").dtype == np.float64
    assert np.isnan(arrays.floats(None, "x"))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([[1, None], [None, "2"]], "x[1, 1] is '2': give numbers, and None for what is missing"),
        ([None, True], "x[1] is True: give numbers"),
        (object, "x is <class 'object'>: give numbers"),
        ([True, False], "x has type bool: give numbers"),
        (["a"], "x has type <U1: give numbers"),
    ],
)
def test_floats_refuse(values, message):
    with pytest.raises(InputError) as refusal:
        arrays.floats(values, "x")
    assert str(refusal.value).startswith(message)


@pytest.mark.parametrize(
    ("values", "place"),
    [
        ([[True, 2], [3, 4]], r"x\[0, 0\] is True"),
        ([[1, 2], [3, 10**400]], r"x\[1, 1\] is 1000"),
        (["1", 2], "x has type"),
    ],
)
def test_a_truth_value_or_a_number_too_long_among_numbers_is_refused(values, place):
    with pytest.raises(InputError, match=f"^{place}"):
        arrays.floats(values, "x")


def test_a_truth_value_in_a_vector_is_refused():
    with pytest.raises(InputError, match=r"^x\[1\] is True: give numbers"):
        arrays.real_vector([0.5, True], "x")


@pytest.mark.parametrize("value", ["no", 1, None, np.array([True])])
def test_truth_refuses(value):
    with pytest.raises(InputError, match=r"^x is .*: give True or False"):
        arrays.truth(value, "x")
    assert arrays.truth(np.True_, "x") is True


@pytest.mark.parametrize("value", ["late", 1, None, ("early",), np.array(["early"])])
def test_one_of_refuses_what_is_no_known_word(value):
    assert arrays.one_of("early", "tie", ("early", "later")) == "early"
    with pytest.raises(InputError, match=r"^tie is .*: choose one of early, later$"):
        arrays.one_of(value, "tie", ("early", "later"))


@pytest.mark.parametrize(
    "values", [[[0, 2], [1, 3]], np.array([[0, 2], [1, 3]], np.uint8), torch.tensor([[0, 2], [1, 3]])]
)
def test_whole_numbers(values):
    found = arrays.whole_numbers(values, "x", layout="classes")
    assert found.dtype == np.int64
    assert found.tolist() == [[0, 2], [1, 3]]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([0.0, 1.0], "x has shape (2,) and type float64: give classes"),
        ([True, False], "x has shape (2,) and type bool: give classes"),
        ([0, True], "x[1] is True: give classes"),
        ([[[0, 1]], [[2, False]]], "x[1, 0, 1] is False: give classes"),
        ([np.array([0, 1]), [2, np.True_]], "x[1, 1] is np.True_: give classes"),
        ([10**30], "x has shape (1,) and type object"),
        (np.array([0, 2**63], np.uint64), "x[1] is 9223372036854775808: give numbers below 2 to the power of 63"),
    ],
)
def test_whole_numbers_refuse(values, message):
    with pytest.raises(InputError) as refusal:
        arrays.whole_numbers(values, "x", layout="classes")
    assert str(refusal.value).startswith(message)


def test_a_whole_row_may_be_empty_and_is_a_copy():
    given = np.arange(3)
    assert not np.shares_memory(arrays.whole_row(given, "x"), given)
    assert arrays.whole_row([], "x").dtype == np.int64
    with pytest.raises(InputError, match=r"^x has shape \(1, 2\) and type int64: give a row of whole numbers$"):
        arrays.whole_row([[1, 2]], "x")
    with pytest.raises(InputError, match=r"^x has shape \(0,\) and type float64"):
        arrays.whole_row(np.array([]), "x")


def test_labels_among_which_one_is_a_truth_value_are_refused():
    with pytest.raises(InputError, match=r"^labels\[2\] is True: give class numbers"):
        arrays.check_labels([0, 1, True], n=3, k=2)


def test_not_negative():
    assert arrays.not_negative([0, 0.5], "x").tolist() == [0.0, 0.5]
    with pytest.raises(InputError, match=r"^x\[1\] is -0.5: give numbers of at least 0$"):
        arrays.not_negative([0, -0.5, -1], "x")


def test_probabilities_come_back_as_they_are():
    given = np.array([[0.5, 0.505], [1 + 1e-7, 0.0]], np.float64)
    np.testing.assert_array_equal(arrays.probabilities(given, "x", layout=LAYOUT), given)
    half = np.array([[0.3333, 0.6665]], np.float16)
    np.testing.assert_array_equal(arrays.probabilities(half, "x", layout=LAYOUT), half)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([0.5, 0.5], "x has shape (2,): give rows and columns"),
        ([[0.5, 0.5], [1.1, -0.1]], "x[1, 0] is 1.1: give probabilities, each in [0, 1]"),
        ([[0.5, -0.5]], "x[0, 1] is -0.5"),
        ([[0.5, math.nan]], "x[0, 1] is nan"),
        ([[0.5, 0.5], [0.5, 0.48]], "x[1] sums to 0.98: each row sums to 1"),
        ([[0.5, 0.52]], "x[0] sums to 1.02"),
    ],
)
def test_probabilities_refuse(values, message):
    with pytest.raises(InputError) as refusal:
        arrays.probabilities(values, "x", layout=LAYOUT)
    assert str(refusal.value).startswith(message)


@given(st.lists(st.booleans(), min_size=6, max_size=6))
def test_the_first_bad_place_is_named(flags):
    bad, values = np.array(flags).reshape(2, 3), np.arange(6).reshape(2, 3)
    if not any(flags):
        return arrays.refuse_where(bad, values, "x", "mend it")
    first = flags.index(True)
    with pytest.raises(InputError) as refusal:
        arrays.refuse_where(bad, values, "x", "mend it")
    assert str(refusal.value) == f"x[{first // 3}, {first % 3}] is {first}: mend it"


def test_a_single_bad_number_has_no_place():
    with pytest.raises(InputError, match=r"^x is 3: mend it$"):
        arrays.refuse_where(np.array(True), np.array(3), "x", "mend it")


def test_refuse_not_finite_names_the_first_place():
    arrays.refuse_not_finite(np.ones((2, 2)), "x")
    with pytest.raises(InputError, match=r"x\[1, 0\] is inf: every value must be finite"):
        arrays.refuse_not_finite(np.array([[1.0, 2.0], [np.inf, np.nan]]), "x")
    with pytest.raises(InputError, match=r"x\[2\] is nan: mend it"):
        arrays.refuse_not_finite(np.array([1.0, 2.0, np.nan]), "x", "mend it")
