"""Readers: small folders in the official layouts, tables, JSON files, and what is refused."""

import json

import pytest

from helpers import pmk
from helpers.errors import InputError

NAMES = ["good", "unsure", "bad", "person", "bird", "none", "car"]
PAIR_NAMES = ["similar", "correct", "dissimilar", "blur-increase", "bad-anchor"]
INDEX = {"0": "person", "1": "bird", **{str(i): f"class {i}" for i in range(2, 22)}, "22": "none", "23": "car"}


def write(path, content):
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def annotations(rows, names):
    return {
        "annotations": [
            {"key": key, "notes": "", "labels": [names.index(name) for name in said]} for key, said in rows
        ],
        "labels": names,
    }


@pytest.fixture
def ytbb(tmp_path):
    """Five clips: kept, unsure, bad, spoilt by a pair, kept without a single similar frame."""
    anchors = [
        ("frames/v1_1000/frame-15.jpg", ["bad"]),  # replaced below
        ("frames/v1_1000/frame-15.jpg", ["good", "bird"]),
        ("frames/v2_1000/frame-15.jpg", ["good", "unsure"]),
        ("frames/v3_1000/frame-15.jpg", ["bird"]),
        ("frames/v4_1000/frame-15.jpg", ["good"]),
        ("frames/v5_1000/frame-15.jpg", ["good"]),
    ]
    pairs = [
        (1, 14, ["similar", "correct"]),
        (1, 16, ["similar", "blur-increase"]),
        (1, 17, ["dissimilar"]),  # replaced by a second file
        (1, 18, ["correct"]),
        (2, 16, ["similar"]),
        (4, 16, ["similar"]),
        (4, 17, ["bad-anchor"]),
        (5, 16, ["dissimilar"]),
    ]

    def key(clip, frame):
        return f"frames/v{clip}_1000/frame-15.jpg,frames/v{clip}_1000/frame-{frame}.jpg"

    write(tmp_path / "anchor_labels.json", annotations(anchors, NAMES))
    write(tmp_path / "pmk_labels.json", annotations([(key(c, f), said) for c, f, said in pairs], PAIR_NAMES))
    write(tmp_path / "pmk_labels_2.json", annotations([(key(1, 17), ["similar"])], PAIR_NAMES))
    write(tmp_path / "ytbb_class_index.json", INDEX)
    first = "\n".join(["v1,1000,0", "v2,1000,0", "v3,1000,0", "v4,1000,3", "v5,1000,22", "v9,1000,23"])
    write(tmp_path / "ytbb_robustness_test_anchors_full.csv", f"ytid,time_ms,label\n{first}\n")
    return tmp_path


def test_youtube_bb_robust(ytbb):
    frames = pmk.read(ytbb, "ytbb-robust")
    assert frames.anchors == ("v1_1000/frame-15.jpg", "v5_1000/frame-15.jpg")
    assert frames.frames[2:] == ("v1_1000/frame-14.jpg", "v1_1000/frame-17.jpg")
    assert frames.offset.tolist() == [-1, 2]
    assert frames.classes == 24
    assert frames.labels_of(0) == (0, 1)  # the first label, and the one that review added
    assert frames.labels_of(1) == (23,)  # 22 in the table is class 23 of the index
    assert frames.judge.tolist() == [0, 0]  # the anchor's labels judge its frames
    assert frames.decision.tolist() == ["correct, similar", "similar"]
    assert frames.warnings[0] == "1 set is empty and counts by its anchor: v5_1000/frame-15.jpg"
    assert frames.provenance == {"format": "ytbb-robust", "reviewed": True}


@pytest.mark.parametrize(("first", "meant"), [(22, 23), (23, 22), (21, 21)])
def test_two_first_labels_of_youtube_bb_are_swapped_back(ytbb, first, meant):
    write(ytbb / "ytbb_robustness_test_anchors_full.csv", f"ytid,time_ms,label\nv1,1000,0\nv5,1000,{first}\n")
    assert pmk.read(ytbb, "ytbb-robust").labels_of(1) == (meant,)


def test_youtube_bb_robust_before_review(ytbb):
    frames = pmk.read(ytbb, "ytbb-robust", reviewed=False)
    assert [anchor[:2] for anchor in frames.anchors] == ["v1", "v2", "v3", "v4", "v5"]
    assert frames.pairs == 8
    assert frames.labels_of(0) == (0,)
    assert frames.decision.tolist()[1] == "blur-increase, similar"


def test_the_latest_annotation_wins_also_if_it_rejects(ytbb):
    write(ytbb / "anchor_labels_2.json", annotations([("frames/v1_1000/frame-15.jpg", ["good", "bad"])], NAMES))
    assert pmk.read(ytbb, "ytbb-robust").anchors == ("v5_1000/frame-15.jpg",)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "anchor_labels_2.json",
            annotations([], ["good", "bad"]),
            "list of labels is unlike that of anchor_labels.json",
        ),
        ("anchor_labels_2.json", {"labels": NAMES}, "annotations with key and labels"),
        (
            "anchor_labels_2.json",
            {"annotations": [{"key": "v1_1000/frame-15.jpg", "labels": [9]}], "labels": NAMES},
            r"annotation of 'v1_1000/frame-15.jpg' is \[9\]: places in a list of 7",
        ),
        ("pmk_labels_2.json", annotations([("v1_1000/frame-15.jpg", [])], PAIR_NAMES), "names no pair"),
        ("ytbb_class_index.json", {"0": "person"}, "names the class 'bird'"),
        ("ytbb_class_index.json", {"x": "person"}, "ytbb_class_index.json has 'x': 'person'"),
        ("ytbb_class_index.json", {"0": ["person"]}, "ytbb_class_index.json has '0'"),
        ("x_anchors_full.csv", "ytid,time_ms,label\nv1,1,0\n", r"has 2 files \*anchors_full.csv, 1 is needed"),
        (
            "ytbb_robustness_test_anchors_full.csv",
            "ytid,time_ms,label\nv1,1000,0\n",
            "has no first label: clip 'v5_1000'",
        ),
        ("ytbb_robustness_test_anchors_full.csv", "ytid,time_ms,label\nv1,1000,x\n", "line 2: label is 'x'"),
        (
            "ytbb_robustness_test_anchors_full.csv",
            "ytid,label\nv1,0\n",
            "line 1: 'time_ms' is missing: the columns are ytid, time_ms, label$",
        ),
        ("ytbb_robustness_test_anchors_full.csv", "", "line 1: 'ytid' is missing"),
    ],
)
def test_bad_youtube_bb_folders(ytbb, name, content, message):
    write(ytbb / name, content)
    with pytest.raises(InputError, match=message) as refusal:
        pmk.read(ytbb, "ytbb-robust")
    assert str(ytbb) in str(refusal.value)


@pytest.mark.parametrize("name", ["anchor_labels.json", "ytbb_class_index.json"])
def test_missing_youtube_bb_files(ytbb, name):
    (ytbb / name).unlink()
    with pytest.raises(InputError, match=r"has (no|0) files? "):
        pmk.read(ytbb, "ytbb-robust")


SETS = {"val/c/000010.JPEG": ["val/c/000009.JPEG", "val/c/000011.JPEG"], "val/d/000001.JPEG": []}
LABELS = {
    "val/c/000010.JPEG": [4],
    "val/c/000009.JPEG": [4, 7],
    "val/c/000011.JPEG": [7],
    "val/d/000001.JPEG": [2],
}


@pytest.mark.parametrize("inner", ["", "metadata"])
def test_imagenet_vid_robust(tmp_path, inner):
    folder = tmp_path / inner
    folder.mkdir(exist_ok=True)
    write(folder / "pmsets.json", SETS)
    write(folder / "labels.json", LABELS)
    frames = pmk.read(tmp_path, "imagenet-vid-robust")
    assert (frames.n, frames.pairs, frames.classes) == (2, 2, 30)
    assert frames.offset.tolist() == [-1, 1]
    assert frames.judge.tolist() == [2, 3]  # every frame has labels of its own
    assert frames.labels_of(2) == (4, 7)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match="has 0 files pmsets"):
        pmk.read(tmp_path, "imagenet-vid-robust")


def test_json_files_of_sets_labels_and_groups(tmp_path):
    paths = [write(tmp_path / "s.json", SETS), write(tmp_path / "l.json", LABELS)]
    clips = write(tmp_path / "g.json", dict.fromkeys(SETS, "film"))
    assert pmk.read_sets(*paths).classes == 8
    frames = pmk.read_sets(*paths, groups=clips, classes=30)
    assert (frames.classes, frames.group_names) == (30, ("film",))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": ["b"], "a": ["c"]}', "key 'a' occurs twice in one object"),
        ('{"a": ["b"', r"no JSON \("),
        ('["a"]', "no JSON object"),
        ('{"a": "b"}', r"sets\['a'\] is 'b'"),
        ("[" * 100_000, r"no JSON \("),
        (b"\xff\xfe", r"not UTF-8 text \("),
    ],
)
def test_bad_json_files(tmp_path, text, message):
    path = tmp_path / "s.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    labels = write(tmp_path / "l.json", {"a": [0]})
    with pytest.raises(InputError, match=message) as refusal:
        pmk.read_sets(path, labels)
    assert str(refusal.value).startswith(str(path))
    assert str(refusal.value).count(str(path)) == 1


def test_predictions_are_read_from_json_and_records(tmp_path):
    path = write(tmp_path / "p.json", {"a": [0.1, 0.9], "b": [0.6, 0.4]})
    predictions = pmk.read_predictions(path)
    assert predictions.classes.tolist() == [1, 0]
    again = pmk.read_predictions(predictions.save(tmp_path / "p.npz"))
    assert again.classes.tolist() == [1, 0]
    with pytest.raises(InputError, match=r"p.json: predictions\['a'\] has the score nan"):
        pmk.read_predictions(write(path, '{"a": [NaN, 1.0]}'))
    with pytest.raises(InputError, match=r"m.json: class_map has 'x'"):
        pmk.read_class_map(write(tmp_path / "m.json", {"x": 1}))


TABLE = """anchor,frame,labels,offset,type,group,decision
v/a,v/a,0 2,0,P,film,
v/a,v/b,,1,B,film,similar
v/a,v/c,1,-2,?,,"moved, similar"
w/a,w/a,3,,I,other,
"""


def test_tables(tmp_path):
    frames = pmk.read(write(tmp_path / "sets.csv", "\ufeff" + TABLE))
    assert frames.frames == ("v/a", "w/a", "v/b", "v/c")
    assert frames.offset.tolist() == [1, -2]
    assert [frames.labels_of(i) for i in range(4)] == [(0, 2), (3,), (), (1,)]
    assert "".join(frames.type) == "PIB?"
    assert frames.group_names == ("film", "other")
    assert frames.decision.tolist() == ["similar", "moved, similar"]
    assert frames.classes == 4
    assert pmk.read(tmp_path / "sets.csv", "csv", classes=9).classes == 9


def test_a_table_of_three_columns_is_enough(tmp_path):
    frames = pmk.read(write(tmp_path / "sets.csv", "frame,anchor,labels\nv/5,v/5,1\nv/7,v/5,\n"))
    assert frames.offset.tolist() == [2]
    assert frames.type is frames.group is frames.decision is None
    path = frames.save(tmp_path / "sets.npz")
    assert pmk.read(path).frames == ("v/5", "v/7")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: 'anchor' is missing: the columns are anchor, frame, labels and, optionally, offset"),
        ("anchor,frame\na,a\n", "line 1: 'labels' is missing"),
        ("anchor,frame,labels,colour\na,a,0,red\n", "line 1: 'colour' is unknown"),
        ("anchor,frame,labels,labels\na,a,0,1\n", "line 1: a name repeats"),
        ("anchor,frame,labels\n", "holds no line after the header"),
        ("anchor,frame,labels\na,a\n", "line 2: 2 cells, the header has 3"),
        ("anchor,frame,labels\na,a,dog\n", "line 2: labels is 'dog'"),
        ("anchor,frame,labels\na,b,\n", "labels lacks 1 of 1 anchors: a"),
        ("anchor,frame,labels\na,a,0\na,b,\na,b,\n", "line 4: 'b' of 'a' has line 3 already: keep one"),
        ("anchor,frame,labels\na,a,0\na,a,1\n", "line 3: 'a' of 'a' has line 2 already: keep one"),
        ("anchor,frame,labels,offset\na,a,0,\na,b,,\n", "line 3: offset is ''"),
        ("anchor,frame,labels,offset\na,a,0,4\n", "line 2: the anchor 'a' has the offset 4"),
        ("anchor,frame,labels,decision\na,a,0,similar\n", "line 2: the anchor 'a' has a decision"),
        ("anchor,frame,labels,group\na,a,0,x\na,b,,y\n", "line 3: group of 'a' is 'y', but an earlier line says 'x'"),
        ("anchor,frame,labels,group\na,a,0,\n", "groups lacks 1 of 1 anchors: a"),
        ("anchor,frame,labels,type\na,a,0,I\na,b,,\n", r"frame_types\['b'\] is ''"),
        ("anchor,frame,labels,decision\na,a,0,\na,b,,\n", r"review\[\('a', 'b'\)\] is ''"),
        ('anchor,frame,labels\n"a,a,0\n', "no table"),
    ],
)
def test_bad_tables(tmp_path, text, message):
    path = write(tmp_path / "sets.csv", text)
    with pytest.raises(InputError, match=message) as refusal:
        pmk.read(path)
    assert str(path) in str(refusal.value)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("sets.txt", {}, "format is None: choose one of imagenet-vid-robust, ytbb-robust, csv"),
        ("sets.csv", {"format": "tsv"}, "format is 'tsv'"),
        ("sets.csv", {"format": "record"}, "format is 'record'"),
        ("sets.csv", {"reviewed": False}, "reviewed is False, but only ytbb-robust"),
        ("folder", {"format": "ytbb-robust", "classes": 3}, "the ytbb-robust format knows its number of classes"),
    ],
)
def test_bad_choices(tmp_path, name, options, message):
    with pytest.raises(InputError, match=message):
        pmk.read(tmp_path / name, **options)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError):
        pmk.read(tmp_path / "none.csv")
    with pytest.raises(FileNotFoundError):
        pmk.read_predictions(tmp_path / "none.json")


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("a,a,0\na,a,0\n", "line 3: 'a' of 'a' has line 2 already"),
        ("a,a,0\na,b,0\na,b,0\n", "line 4: 'b' of 'a' has line 3 already"),
        (",,0\n", "line 2: its anchor or frame is empty"),
        ("a,a,1_0\n", "line 2: labels is '1_0'"),
        (f"a,a,{'9' * 5000}\n", "line 2: labels is '999"),
    ],
)
def test_odd_lines_of_a_table_are_refused(tmp_path, lines, said):
    path = write(tmp_path / "sets.csv", "anchor,frame,labels\n" + lines)
    with pytest.raises(InputError, match=said):
        pmk.read(path)


def test_a_refused_label_names_the_file_of_labels(tmp_path):
    sets, labels = write(tmp_path / "s.json", {"a": ["b"]}), write(tmp_path / "l.json", {"a": []})
    with pytest.raises(InputError, match=r"l\.json: labels\['a'\] is empty"):
        pmk.read_sets(sets, labels)
