"""Records: what goes in comes out, and whatever cannot be vouched for is refused by name."""

import json
import os
import pickle
import threading
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import records
from helpers.errors import InputError
from helpers.records import Field, Schema

SCHEMA = Schema(
    "sample",
    2,
    {
        "score": Field("float", ("n", "k"), "nat"),
        "label": Field("int", ("n",), "class", optional=True),
        "kept": Field("bool", ("n",), "", optional=True),
        "open": Field("float", ("m",), "ms", optional=True, finite=False),
        "shift/*": Field("float", ("n", "k"), "nat", optional=True),
    },
)
SCORE = np.arange(6.0).reshape(3, 2)


def write(path, manifest=None, **arrays):
    """A file written by hand, past every check; no manifest where it is None."""
    if manifest is not None:
        arrays["manifest"] = np.frombuffer(json.dumps(manifest).encode(), dtype=np.uint8)
    np.savez_compressed(path, **arrays)
    return path


HEAD = {"schema": "sample", "version": 2}


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", ">f8", "longdouble"])
def test_round_trip_of_floats(tmp_path, dtype):
    score = np.array([[0.1, -2.5], [3e-5, 60000.0]]).astype(dtype)
    content, manifest = records.load(records.save(tmp_path / "x.npz", SCHEMA, {"score": score}, {}), SCHEMA)
    assert list(content) == ["score"]
    assert content["score"].dtype == score.dtype
    assert np.array_equal(content["score"], score)
    assert manifest["units"] == {"score": "nat"}


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">i4"])
def test_round_trip_of_whole_numbers(tmp_path, dtype):
    label = np.array([0, 1, np.iinfo(dtype).max], dtype=dtype)
    path = records.save(tmp_path / "x.npz", SCHEMA, {"score": SCORE, "label": label}, {})
    loaded = records.load(path, SCHEMA)[0]["label"]
    assert loaded.dtype == label.dtype
    assert np.array_equal(loaded, label)


def test_round_trip_of_everything_else(tmp_path):
    arrays = {
        "score": np.asfortranarray(SCORE),
        "kept": np.array([True, False, True]),
        "open": np.array([np.inf, np.nan, -np.inf, 1.0]),
        "shift/noise 0.1": SCORE[:, ::-1],
        "shift/ümlaut/deeper": SCORE + 1,
    }
    manifest = {"provenance": {"seed": 3, "note": "größer als π"}}
    path = records.save(str(tmp_path / "x.npz"), SCHEMA, arrays, manifest)
    assert path == tmp_path / "x.npz"
    content, head = records.load(str(path), SCHEMA)
    assert content.keys() == arrays.keys()
    for name, array in arrays.items():
        assert np.array_equal(content[name], array, equal_nan=array.dtype.kind == "f"), name
    assert (head["schema"], head["version"], head["provenance"]) == ("sample", 2, manifest["provenance"])
    assert head["units"]["open"] == "ms"


def test_the_manifest_is_plain_json_in_the_archive(tmp_path):
    path = records.save(tmp_path / "x.npz", SCHEMA, {"score": SCORE}, {"provenance": {"seed": 1}})
    with np.load(path, allow_pickle=False) as archive:
        assert json.loads(archive["manifest"].tobytes()) == {
            "provenance": {"seed": 1},
            "schema": "sample",
            "units": {"score": "nat"},
            "version": 2,
        }


NAN = float("nan")


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({}, "array 'score' is missing from this 'sample' record"),
        ({"score": SCORE, "extra": SCORE}, "array 'extra' does not belong in a 'sample' record: leave it out"),
        ({"score": SCORE, "label/x": SCORE}, "array 'label/x' does not belong"),
        ({"score": SCORE, "shift": SCORE}, "array 'shift' does not belong"),
        ({"score": SCORE.astype(int)}, "array 'score' has type int64, float is expected"),
        ({"score": SCORE.astype(complex)}, "array 'score' has type complex128"),
        ({"score": SCORE.astype(str)}, "array 'score' has type <U"),
        ({"score": SCORE, "label": np.zeros(3)}, "array 'label' has type float64, int is expected"),
        ({"score": SCORE, "label": np.zeros(3, bool)}, "array 'label' has type bool, int is expected"),
        ({"score": SCORE, "kept": np.zeros(3, int)}, "array 'kept' has type int64, bool is expected"),
        ({"score": SCORE[0]}, "array 'score' has shape (2,), axes (n, k) are expected"),
        ({"score": SCORE[None]}, "array 'score' has shape (1, 3, 2), axes (n, k) are expected"),
        (
            {"score": SCORE, "label": np.zeros(4, int)},
            "array 'label' has 4 along axis 0 (n), but 'score' has 3",
        ),
        (
            {"score": SCORE, "shift/a": SCORE, "shift/b": SCORE.T},
            "array 'shift/b' has 2 along axis 0 (n), but 'score' has 3",
        ),
        (
            {"score": SCORE, "shift/a": SCORE[:, :1]},
            "array 'shift/a' has 1 along axis 1 (k), but 'score' has 2",
        ),
        ({"score": np.where(SCORE == 3, NAN, SCORE)}, "array 'score'[1, 1] is nan: every value must be finite"),
        ({"score": SCORE, "shift/a": np.where(SCORE == 4, -np.inf, SCORE)}, "array 'shift/a'[2, 0] is -inf"),
    ],
)
def test_refusals_name_file_array_index_and_expectation(tmp_path, arrays, message):
    """The same words whether the record is about to be written or has been read."""
    target = tmp_path / "x.npz"
    with pytest.raises(InputError) as refusal:
        records.save(target, SCHEMA, arrays, {})
    assert f"{target}: {message}" in str(refusal.value)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(InputError) as refusal:
        records.load(write(target, HEAD, **arrays), SCHEMA)
    assert f"{target}: {message}" in str(refusal.value)


def test_a_family_that_is_not_optional_needs_a_member():
    schema = Schema("sample", 1, {"shift/*": Field("float", ("n",), "nat")})
    with pytest.raises(InputError, match=r"here: array 'shift/\*' is missing"):
        records.check(schema, {}, where="here")
    records.check(schema, {"shift/a": np.zeros(2)}, where="here")


@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        (None, "has no manifest, so it is no record"),
        ({"schema": "other", "version": 2}, "this is a 'other' record, a 'sample' record is needed"),
        ({"version": 2}, "this is a None record"),
        ({"schema": "sample", "version": 1}, "version 1 of 'sample' is unknown here, version 2 is read"),
        ({"schema": "sample", "version": 3}, "version 3 of 'sample' is unknown here"),
        ({"schema": "sample"}, "version None of 'sample' is unknown here"),
        ([1, 2], "its manifest is no JSON object"),
    ],
)
def test_a_manifest_that_cannot_be_vouched_for(tmp_path, manifest, message):
    path = write(tmp_path / "x.npz", manifest, score=SCORE)
    with pytest.raises(InputError) as refusal:
        records.load(path, SCHEMA)
    assert str(refusal.value).startswith(f"{path}: {message}")


@pytest.mark.parametrize("text", [b"{", b"\xff\xfe\x00", b""])
def test_a_manifest_that_is_no_json(tmp_path, text):
    path = write(tmp_path / "x.npz", manifest=None)
    np.savez(path, score=SCORE, manifest=np.frombuffer(text, dtype=np.uint8))
    with pytest.raises(InputError, match=r"x\.npz: its manifest is no JSON"):
        records.load(path, SCHEMA)


class Payload:
    """Would leave a file behind if it were ever unpickled."""

    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return Path.touch, (self.mark,)


@pytest.mark.parametrize("place", ["score", "label", "manifest"])
def test_python_objects_are_refused_and_never_run(tmp_path, place):
    mark = tmp_path / "executed"
    pickle.loads(pickle.dumps(Payload(mark)))
    assert mark.exists()  # so the payload works
    mark.unlink()
    arrays = {"score": SCORE, "manifest": np.frombuffer(json.dumps(HEAD).encode(), dtype=np.uint8)}
    np.savez(tmp_path / "x.npz", **{**arrays, place: np.array([Payload(mark)], dtype=object)})
    with pytest.raises(InputError, match=r"x\.npz: holds Python objects, which are never loaded"):
        records.load(tmp_path / "x.npz", SCHEMA)
    assert not mark.exists()


def test_a_bare_pickle_is_refused_and_never_run(tmp_path):
    mark, path = tmp_path / "executed", tmp_path / "x.npz"
    path.write_bytes(pickle.dumps(Payload(mark)))
    with pytest.raises(InputError, match=r"x\.npz: holds Python objects"):
        records.load(path, SCHEMA)
    assert not mark.exists()


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The bytes of a sound record, and what it holds."""
    rng = np.random.default_rng(0)
    arrays = {"score": rng.normal(size=(20, 3)), "label": rng.integers(3, size=20)}
    path = records.save(tmp_path_factory.mktemp("whole") / "x.npz", SCHEMA, arrays, {})
    return path.read_bytes(), arrays


@pytest.mark.parametrize("share", [0.0, 0.001, 0.1, 0.5, 0.9, 0.98, 0.999])
def test_a_truncated_file_is_refused(tmp_path, whole, share):
    content, _ = whole
    path = tmp_path / "x.npz"
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(InputError, match=r"x\.npz: "):
        records.load(path, SCHEMA)


@given(st.data())
def test_a_damaged_file_is_refused_or_harmless(tmp_path_factory, whole, data):
    """Change any one byte: the checksums, the manifest or the schema notice, or the numbers are the same."""
    content, arrays = whole
    place, change = data.draw(st.integers(0, len(content) - 1)), data.draw(st.integers(1, 255))
    damaged = bytearray(content)
    damaged[place] ^= change
    path = tmp_path_factory.mktemp("damaged") / "x.npz"
    path.write_bytes(damaged)
    try:
        loaded, _ = records.load(path, SCHEMA)
    except InputError as refusal:
        assert str(path) in str(refusal)
    else:
        assert all(np.array_equal(loaded[name], arrays[name]) for name in loaded)


def test_an_encrypted_or_newer_archive_is_refused(tmp_path, whole):
    """What `zipfile` cannot open it reports as RuntimeError or NotImplementedError."""
    content, _ = whole
    entry = content.index(b"PK\x01\x02")  # the directory's first entry: version needed at 6, flags at 8
    path = tmp_path / "x.npz"
    for offset, value in ((6, 0xFF), (8, 0x01)):
        damaged = bytearray(content)
        damaged[entry + offset] |= value
        path.write_bytes(damaged)
        with pytest.raises(InputError, match=r"x\.npz: truncated or damaged"):
            records.load(path, SCHEMA)


def test_an_array_file_is_no_record(tmp_path):
    np.save(tmp_path / "x.npy", SCORE)
    with pytest.raises(InputError, match=r"x\.npy: a single array \(\.npy\), not an archive"):
        records.load(tmp_path / "x.npy", SCHEMA)


@pytest.mark.parametrize("name", ["manifest", "score", "remarks.txt"])
def test_an_archive_with_something_else_than_arrays_is_refused(tmp_path, name):
    path = write(tmp_path / "x.npz", None if name == "manifest" else HEAD)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(name, json.dumps(HEAD))
    with pytest.raises(InputError, match=rf"x\.npz: entry '{name}' is no array"):
        records.load(path, SCHEMA)


def test_an_array_with_a_broken_header_is_refused(tmp_path):
    """Its closing brace is lost: NumPy lets the tokenizer's own error through."""
    np.save(tmp_path / "score.npy", SCORE)
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.writestr("score.npy", (tmp_path / "score.npy").read_bytes().replace(b"}", b" ", 1))
    with pytest.raises(InputError, match=r"x\.npz: truncated or damaged"):
        records.load(tmp_path / "x.npz", SCHEMA)


def test_other_files_are_refused(tmp_path):
    (tmp_path / "text.npz").write_text("size,correct\n1,1\n")
    with zipfile.ZipFile(tmp_path / "empty.npz", "w"):
        pass
    for name in ("text.npz", "empty.npz"):
        with pytest.raises(InputError, match=name):
            records.load(tmp_path / name, SCHEMA)
    with pytest.raises(FileNotFoundError, match=r"none\.npz"):
        records.load(tmp_path / "none.npz", SCHEMA)
    with pytest.raises(IsADirectoryError):
        records.load(tmp_path, SCHEMA)


def test_a_record_is_named_npz(tmp_path):
    with pytest.raises(InputError, match=r"x\.npy: a record is a \.npz file"):
        records.save(tmp_path / "x.npy", SCHEMA, {"score": SCORE}, {})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("value", [NAN, np.float64("inf"), np.int64(3), Path("x")])
def test_provenance_that_is_no_json_is_refused(tmp_path, value):
    with pytest.raises(InputError, match=r"x\.npz: the manifest cannot be written as JSON"):
        records.save(tmp_path / "x.npz", SCHEMA, {"score": SCORE}, {"provenance": {"odd": value}})
    assert list(tmp_path.iterdir()) == []


def test_a_target_that_cannot_be_replaced_is_named_and_nothing_left_beside(tmp_path):
    folder = tmp_path / "x.npz"
    folder.mkdir()
    with pytest.raises(OSError, match=r"x\.npz'$") as error:
        records.save(folder, SCHEMA, {"score": SCORE}, {})
    assert error.value.filename == str(folder)
    assert list(tmp_path.iterdir()) == [folder]


def test_a_folder_that_is_not_there_is_named_by_the_target(tmp_path):
    path = tmp_path / "absent" / "x.npz"
    with pytest.raises(FileNotFoundError) as error:
        records.save(path, SCHEMA, {"score": SCORE}, {})
    assert error.value.filename == str(path)


def test_a_failing_save_leaves_the_old_file_whole(tmp_path, monkeypatch):
    """The disk fills up half-way: the old record is untouched and nothing else lies beside it."""
    path = records.save(tmp_path / "x.npz", SCHEMA, {"score": SCORE}, {})
    before = path.read_bytes()

    def full(stream, **_):
        stream.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(records.np, "savez_compressed", full)
    with pytest.raises(OSError, match="No space left"):
        records.save(path, SCHEMA, {"score": SCORE + 1}, {})
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_save_replaces_at_once(tmp_path):
    """Until the block ends the old content stands under the name; then the new one does."""
    path = tmp_path / "x.txt"
    path.write_text("old")
    with records.atomic(path) as temporary:
        assert temporary.parent == tmp_path  # same file system, so that renaming is atomic
        temporary.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no pipes of this kind")
def test_a_pipe_is_not_replaced_by_a_file(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="pipe: is a device or a pipe"):
        records.write_text(tmp_path / "pipe", "new")
    assert (tmp_path / "pipe").is_fifo()
    assert list(tmp_path.iterdir()) == [tmp_path / "pipe"]


@pytest.mark.skipif(os.name == "nt", reason="Windows wants a privilege for symbolic links")
def test_a_symbolic_link_stays_and_its_file_is_replaced(tmp_path):
    (tmp_path / "inner").mkdir()
    target, link, dangling = tmp_path / "inner" / "x.txt", tmp_path / "link.txt", tmp_path / "dangling.txt"
    target.write_text("old")
    link.symlink_to(target)
    dangling.symlink_to("inner/y.txt")
    records.write_text(link, "new")
    records.write_text(dangling, "made")
    assert link.is_symlink()
    assert dangling.is_symlink()
    assert target.read_text() == "new"
    assert (tmp_path / "inner" / "y.txt").read_text() == "made"
    assert sorted(path.name for path in (tmp_path / "inner").iterdir()) == ["x.txt", "y.txt"]


@pytest.mark.parametrize("content", ["", "P", "a,b\n1,2\n"])
def test_text_is_no_npz_file_and_no_pickle_either(tmp_path, content):
    (tmp_path / "x.npz").write_text(content)
    with pytest.raises(InputError, match=r"x\.npz: is no \.npz file"):
        records.read_npz(tmp_path / "x.npz")


def test_results_in_a_folder_that_is_read_are_refused(tmp_path):
    chosen = {"frames": tmp_path, "json": None, "html": tmp_path / "labels.json"}
    with pytest.raises(InputError, match=r"--html is .*labels\.json, in .*, which is read as frames: give a file of"):
        records.refuse_overwriting(chosen, inputs=["frames", "labels"])
    records.refuse_overwriting({**chosen, "html": tmp_path.parent / "labels.json"}, inputs=["frames", "labels"])


def test_an_interrupt_leaves_nothing_behind(tmp_path):
    with pytest.raises(KeyboardInterrupt), records.atomic(tmp_path / "x.txt") as temporary:
        temporary.write_text("half")
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_others_remove_meanwhile_is_written_all_the_same(tmp_path):
    """Two looks at the old file, one before and one after it went, would find it to be neither file nor nothing."""
    path, done = tmp_path / "x.txt", threading.Event()

    def remove():
        while not done.is_set():
            path.unlink(missing_ok=True)

    remover = threading.Thread(target=remove)
    remover.start()
    try:
        for _ in range(2000):
            with records.atomic(path) as temporary:
                temporary.write_text("whole")
    finally:
        done.set()
        remover.join()
    assert {entry.name for entry in tmp_path.iterdir()} <= {"x.txt"}


@pytest.mark.skipif(os.name == "nt", reason="Windows has no file modes")
@pytest.mark.parametrize("umask", [0o022, 0o077])
def test_a_record_is_as_readable_as_any_new_file(tmp_path, umask):
    before = os.umask(umask)
    try:
        path = records.save(tmp_path / "x.npz", SCHEMA, {"score": SCORE}, {})
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o666 & ~umask


def test_provenance_is_json_and_says_where_and_with_what():
    origin = records.provenance(seed=7)
    assert json.loads(json.dumps(origin, allow_nan=False)) == origin
    assert origin["versions"]["numpy"] == np.__version__
    assert "torch" not in origin["versions"] or origin["versions"]["torch"]
    assert origin["seed"] == 7
    assert "cores" in origin["hardware"]
    assert records.provenance(hardware="a made-up machine")["hardware"] == "a made-up machine"
    assert origin["time"].endswith("+00:00")


@pytest.mark.parametrize("path", [None, 3, b"a.npz", "a\0.npz"])
def test_a_path_that_is_none_is_refused(path):
    for use in (
        lambda: records.save(path, SCHEMA, {"score": SCORE}, {}),
        lambda: records.load(path, SCHEMA),
        lambda: records.read_json(path),
        lambda: records.write_json(path, {}),
    ):
        with pytest.raises(InputError, match=r"^path is .*: give the name of a file$"):
            use()


# --- text files


def test_text_comes_back_without_the_mark_of_spreadsheets(tmp_path):
    path = records.write_text(tmp_path / "a.txt", "size\nä\n")
    assert (path.read_bytes(), records.read_text(path)) == ("size\nä\n".encode(), "size\nä\n")
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert records.read_text(path) == "size\nä\n"


def test_text_that_is_not_utf8_is_refused(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match=r"a.txt: not UTF-8 text \(.*\): save it again as UTF-8"):
        records.read_text(tmp_path / "a.txt")


def test_json_comes_back(tmp_path):
    content = {"b": [1.5, None], "a": {"ä": True}}
    path = records.write_json(tmp_path / "a.json", content)
    assert (records.read_json(path), list(records.read_json(path))) == (content, ["b", "a"])
    assert path.read_text(encoding="utf-8").endswith("}\n")
    with pytest.raises(ValueError, match="not JSON compliant"):
        records.write_json(path, {"a": float("nan")})
    assert records.read_json(path) == content  # what was there is still there


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1, "b": {"a": 2, "a": 3}}', "key 'a' occurs twice in one object: keep one"),
        (f'{{"{"a" * 99}": 1, "{"a" * 99}": 2}}', f"key '{'a' * 56}... occurs twice"),
        ('{"a": 1', "no JSON (Expecting"),
        ("[" * 100_000, "no JSON (maximum recursion"),
    ],
)
def test_bad_json(tmp_path, text, message):
    path = records.write_text(tmp_path / "a.json", text)
    with pytest.raises(InputError) as refusal:
        records.read_json(path)
    assert str(refusal.value).startswith(f"{path}: {message}")


@pytest.mark.parametrize(
    ("names", "options", "fault"),
    [
        (["q"], {}, "'p' is missing"),
        (["p", "q", "r"], {}, "'r' is unknown"),
        (["p", "q", "p"], {}, "a name repeats"),
        (["p", "q", "r", "r"], {"others": True}, "a name repeats"),
        (["q", "r"], {"others": True}, "'p' is missing"),
    ],
)
def test_columns(names, options, fault):
    with pytest.raises(InputError) as refusal:
        records.check_columns(names, needed=("p", "q"), where="a.csv, line 1", **options)
    assert str(refusal.value) == f"a.csv, line 1: {fault}: the columns are p, q"


def test_columns_that_are_allowed():
    records.check_columns(["q", "p"], needed=("p", "q"), where="")
    records.check_columns(["q", "r", "p"], needed=("p", "q"), optional=("r", "s"), where="")
    records.check_columns(["q", "r", "p"], needed=("p", "q"), others=True, where="")
    with pytest.raises(InputError, match=r"the columns are p and, optionally, r, s$"):
        records.check_columns(["t"], needed=("p",), optional=("r", "s"), where="")
