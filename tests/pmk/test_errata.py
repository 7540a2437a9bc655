"""Each entry of book/errata/pmk.yml, shown: the source's claim fails, and what is said to hold instead does."""

import math

import numpy as np
import pytest
from scipy.special import ndtri

from helpers import pmk
from helpers.errors import InputError
from helpers.pmk import effective, synthetic
from helpers.results import published
from helpers.uncertainty import Rate, clopper_pearson

from . import oracle

TUNED = "IVR: ILSVRC + fine-tuned on ImageNet-Vid"
SETS = {"IVR": 1109, "YTBB": 2030}


def cells(table):
    """Rows of a published table by row and column."""
    return {(row["row"], row["column"]): row for row in published("pmk", table)}


def value(table, row, column):
    return cells(table)[row, column]["value"]


def interval(count, n):
    """Exact interval in percent, as printed."""
    return tuple(round(100 * end, 1) for end in clopper_pearson(count, n))


def printed(row, column):
    cell = cells("T2-models")[row, column]
    return cell["value"], (cell["low"], cell["high"])


def wilson(count, n):
    z, p = float(ndtri(0.975)), count / n
    middle, half = p + z * z / (2 * n), z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return tuple(round(100 * (middle + sign * half) / (1 + z * z / n), 1) for sign in (-1, 1))


def drop(table, row):
    return round(value(table, row, "original") - value(table, row, "perturbed"), 1)


def test_images_are_pairs():
    pairs = sum(value("T1-dataset", "frame pairs accepted", data) for data in SETS)
    anchors = sum(value("T1-dataset", "anchors accepted", data) for data in SETS)
    assert value("text", "data sets", "images") == pairs == 57897
    assert pairs + anchors == 61036


def test_anchor_takes_part():
    toy = pmk.FrameSets(oracle.SETS, oracle.LABELS, offsets=oracle.OFFSETS)
    assert pmk.score(oracle.PREDICTIONS, toy).perturbed.count == 2
    assert pmk.score(oracle.PREDICTIONS, toy, include_anchor=False).perturbed.count == 3
    only_neighbour = pmk.FrameSets({"a": ["b"]}, {"a": [0]}, classes=2)
    assert pmk.score({"a": 1, "b": 0}, only_neighbour, include_anchor=False).drop.count == -1
    assert pmk.score({"a": 1, "b": 0}, only_neighbour).drop.count == 0


def test_robust_model_contradicts_itself():
    row = "IVR: ILSVRC + l-inf robustness (ResNeXt-101)"
    assert printed(row, "perturbed") == (40.8, (39.0, 43.7))
    count = round(0.408 * 1109)
    assert interval(count, 1109) == (37.8, 43.7)
    assert drop("T2-models", row) == 13.5 != value("T2-models", row, "drop") == 12.4
    other = [count for count in range(1110) if round(100 * count / 1109, 1) == 41.9]
    assert any(interval(count, 1109)[0] == 39.0 for count in other)
    assert round(54.3 - 41.9, 1) == 12.4


def test_detector_intervals_are_not_exact():
    row = f"{TUNED}-Det"
    for column, exact in (("original", (75.1, 80.1)), ("perturbed", (62.5, 68.2))):
        count = int(value("T2-counts", row, column))
        assert interval(count, 1109) == exact != printed(row, column)[1]
        assert wilson(count, 1109) == printed(row, column)[1]
    fits = {
        model: all(
            wilson(int(value("T2-counts", model, column)), SETS[model.split(":")[0]]) == printed(model, column)[1]
            for column in ("original", "perturbed")
        )
        for model, _ in cells("T2-counts")
        if any(cells("T2-models")[model, c]["status"] == "inconsistent" for c in ("original", "perturbed"))
    }
    assert [model for model, fit in fits.items() if fit] == [row]


def test_clip_intervals_are_of_other_counts():
    assert printed("IVR: CLIP zero-shot", "original") == (95.3, interval(1056, 1109))
    assert round(100 * 1056 / 1109, 1) == 95.2
    assert interval(1057, 1109) == (93.9, 96.5)
    assert printed("IVR: CLIP zero-shot", "perturbed") == (89.2, (87.2, 91.0))
    assert interval(989, 1109) == (87.2, 90.9)
    assert printed("YTBB: CLIP zero-shot", "original") == (95.2, interval(1927, 2030))
    assert round(100 * 1927 / 2030, 1) == 94.9
    assert interval(1932, 2030) == (94.1, 96.1)


def test_fine_tuning_changes_nothing():
    drops = {
        model: Rate.of(int(value("T2-counts", model, "original") - value("T2-counts", model, "perturbed")), 1109)
        for model in ("IVR: ILSVRC", TUNED)
    }
    assert {rate.count for rate in drops.values()} == {167}
    assert round(100 * drops[TUNED].rate, 2) == 15.06
    assert [value("T2-models", model, "drop") for model in drops] == [15.0, 15.1]
    assert drop("T2-models", "IVR: ILSVRC") == 15.0
    # and the row of the detector can only come from counts
    row = f"{TUNED}-Det"
    assert drop("T2-models", row) == 12.2 != value("T2-models", row, "drop")


def test_review_drops_are_not_of_their_rows():
    for data, printed_drop, own, said, shrinks in (("IVR", 14.4, 14.6, 1.8, 1.6), ("YTBB", 8.9, 8.2, 1.1, 1.8)):
        before, after = f"{data}: without review", f"{data}: with review"
        assert value("T4-review", after, "drop") == printed_drop
        assert drop("T4-review", after) == own
        assert value("text", "review", f"{data} reduction of the drop") == said
        assert round(value("T4-review", before, "drop") - printed_drop, 1) == said
        assert round(drop("T4-review", before) - own, 1) == shrinks


def test_review_gains_are_larger():
    for column, gains in (("original", [4.5, 4.8]), ("perturbed", [6.1, 6.6])):
        found = [
            round(
                value("T4-review", f"{d}: with review", column) - value("T4-review", f"{d}: without review", column), 1
            )
            for d in SETS
        ]
        cell = cells("text")["review", f"gain in {column} accuracy"]
        assert found == gains
        assert min(found) > cell["high"] - 0.5
        assert max(found) > cell["high"] + 0.5


def test_medians_are_single_models():
    for data in SETS:
        section = value("text", "ILSVRC", f"{data} median drop")
        assert section == value("T2-models", f"{data}: ILSVRC", "drop")
        assert abs(section - value("text", "all classifiers", f"{data} median drop")) >= 1
        noisy = value("text", "noise augmentation", f"{data} median drop")
        assert noisy == value("T2-models", f"{data}: ILSVRC + noise augmentation", "drop")
    summary = cells("testbed-summary")
    assert [round(summary[data, "median drop"]["value"], 1) for data in SETS] == [16.5, 14.2]


def test_robust_loss_has_another_baseline():
    row = f"{TUNED}, PM-k loss"
    for column, said, own in (("original", 31.3, 44.6), ("perturbed", 22.7, 35.9)):
        accuracy = {model: value("T2-models", model, column) for model in (row, TUNED, "IVR: ILSVRC")}
        assert value("text", "PM-k loss", f"loss of {column} accuracy") == said
        assert round(accuracy["IVR: ILSVRC"] - accuracy[row], 1) == said
        assert round(accuracy[TUNED] - accuracy[row], 1) == own
    assert value("text", "PM-k loss", "drop before") == value("T2-models", TUNED, "drop")


def test_cut_not_rounded():
    detection = [
        row["value"] for (name, c), row in cells("T3-detection").items() if "detection" in name and c == "drop"
    ]
    cell = cells("text")["detectors", "drop in detection mAP"]
    assert (cell["low"], cell["high"]) == (math.floor(min(detection)), math.floor(max(detection))) == (12, 15)
    assert (min(detection), max(detection)) == (12.5, 15.7)
    best = {data: value("text", "best public model", f"{data} drop") for data in SETS}
    assert best == {"IVR": 14, "YTBB": 8}
    assert value("T2-models", f"{TUNED} (ResNet-152)", "drop") == 14.6


def test_far_frames_after_right_anchors():
    """Bands: 3,000 clips give each rate a standard error of at most 0.8 % (right anchors) and 1 % (all)."""
    made = synthetic.clips(3000, k=10, beyond=0, cuts=0, mislabelled=0, seed=1)
    said = synthetic.predict(made, drift=1.2, flicker=0.0, memory=15, seed=1)
    errors = pmk.offset_errors(said, made.reviewed)
    ends, beside = np.abs(errors.offset) == 10, np.abs(errors.offset) == 1
    assert errors.error_after_right[ends].mean() > errors.error_after_right[beside].mean() + 0.04
    assert abs(errors.error[ends].mean() - errors.error[beside].mean()) < 0.02


def test_fewer_frames_drop_less():
    """P frames are most, touch nothing, and yet the drop goes down without them; as many frames at random do it too."""
    made = synthetic.clips(1500, k=10, beyond=0, cuts=0, mislabelled=0, seed=2)
    frames, said = made.reviewed, synthetic.predict(made, seed=2)
    without = {row.without: row for row in pmk.frame_type_ablation(said, frames)}["P"]
    anchors = frames.type[frames.anchor] != "P"
    pairs = np.ones(frames.pairs, dtype=bool)
    left = np.flatnonzero(anchors[frames.row])
    pairs[np.random.default_rng(0).choice(left, without.pairs, replace=False)] = False
    same, fair = (pmk.score(said, frames.subset(anchors, chosen)) for chosen in (None, pairs))
    assert same.n == fair.n == without.score.n
    assert same.drop.rate - without.score.drop.rate > 0.05
    # the same anchors, other frames of the same kind: they differ in few sets, a tenth of the anchors would be many
    assert abs(fair.drop.rate - without.score.drop.rate) < 0.04


def test_compression_rows_without_letters():
    names = ("without i-frames", "without p-frames", "without b-frames")
    left = [value("T5-compression", name, "anchors") for name in names]
    assert [1109 - n for n in left] == [5, 694, 410]
    assert sum(1109 - n for n in left) == 1109
    assert sum(1109 - n for n in (left[0], left[2], left[1])) == 1109


def test_smoothing_is_no_cure():
    """Slow errors stay under a centred window; a causal one is as good without cuts, and worse with them."""
    options = {"windows": [1, 9], "frame_rate": 30}
    made = synthetic.clips(800, cuts=0, mislabelled=0, seed=3)
    slow = synthetic.predict(made, drift=1.5, flicker=0, memory=40, seed=3)
    plain, centred, causal = pmk.smoothing_effect(slow, made.reviewed, places=made.places, **options)
    assert centred.score.drop.interval[0] > 0.05
    assert centred.score.drop.count > 0.4 * plain.score.drop.count
    assert centred.delay.ms == causal.delay.ms
    # without cuts the causal answers are the centred ones of four frames before: the same up to chance
    assert abs(causal.score.perturbed.rate - centred.score.perturbed.rate) < 0.02
    assert causal.score.perturbed.rate > plain.score.perturbed.rate
    cut = synthetic.clips(800, cuts=1, mislabelled=0, seed=3)
    said = synthetic.predict(cut, seed=3)
    _, centred, causal = pmk.smoothing_effect(said, cut.reviewed, places=cut.places, **options)
    assert causal.score.perturbed.rate < centred.score.perturbed.rate - 0.04


def test_worst_frames_can_gain():
    """Anchors: perfect one by one, and a false box of one outranks the object of the other. Neighbours: nine of ten."""
    places = [[30 * i, 0, 10, 10] for i in range(12)]
    many = ([1] * 10, places[:10])
    truth = pmk.Boxes.of({"a": ([1], places[:1]), "b": ([1], places[:1]), "a+1": many, "b+1": many})
    nine = ([1] * 9, places[:9], [0.9] * 9)
    said = pmk.Detections.of(
        {
            "a": ([1], places[:1], [0.2]),
            "b": ([1, 1], [places[0], places[11]], [0.9, 0.8]),
            "a+1": nine,
            "b+1": nine,
        }
    )
    score = pmk.detection(said, truth, pmk.FrameSets({"a": ["a+1"], "b": ["b+1"]}, {"a": [1], "b": [1]}))
    assert score.worst == {"a": "a+1", "b": "b+1"}
    assert score.original.value == pytest.approx((51 + 50 * 2 / 3) / 101)
    assert score.perturbed.value == pytest.approx(91 / 101)
    assert score.drop.value < 0


def test_several_classes_without_counterpart():
    """As many anchors as passed the first review, 78 of them with a class that no fine class folds into."""
    n, hopeless = 2169, 78
    groups = [[0, 1], [2], []]
    frames = pmk.FrameSets(
        {f"v{i}": [] for i in range(n)}, {f"v{i}": [2] if i < hopeless else [i % 2] for i in range(n)}
    )
    knows = np.array(
        [[-9.0, -9, -9] if i < hopeless else np.where(np.arange(3) == 2 * (i % 2), 0, -9) for i in range(n)]
    )
    said = pmk.Predictions(frames.anchors, pmk.fold(knows, groups))
    score = pmk.score(said, frames, reachable=[c for c, group in enumerate(groups) if group])
    assert score.reachable == score.original.count == n - hopeless
    assert round(100 * score.original.rate, 1) == 96.4


def test_zero_is_no_score():
    logits, groups = np.array([[-3.0, -2.0, -2.5]]), [[0], [1, 2], []]
    filled = np.zeros((1, 3))
    for coarse, group in enumerate(groups):
        if group:
            filled[:, coarse] = logits[:, group].max(axis=1)
    assert filled.argmax() == 2
    assert pmk.fold(logits, groups).argmax() == 1
    assert pmk.fold(logits, groups)[0, 2] == -np.inf


def test_registered_size_is_stale(tmp_path):
    path = tmp_path / "table.csv"
    models = {row["row"] for row in published("pmk", "testbed-counts")}
    counts = {
        model: [value("testbed-counts", model, f"YTBB {c}") for c in ("original", "perturbed")] for model in models
    }
    lines = [f"{model},{100 * a / 2030!r},{100 * b / 2030!r}" for model, (a, b) in counts.items()]
    path.write_text("\n".join(["model,ytbb-robust_pm0,ytbb-robust_pm10", *lines, ""]), encoding="utf-8")
    assert len(pmk.read_testbed(path, "ytbb-robust")) == 7
    with pytest.raises(InputError, match="no whole count of 2530"):
        pmk.read_testbed(path, "ytbb-robust", n=2530)
    assert value("T1-dataset", "anchors accepted", "YTBB") == 2030


@pytest.mark.data
def test_which_models_are_ordinary(shared):
    table = pmk.read_testbed(shared / "data" / "ivr" / "testbed.csv")
    plain = table.ordinary()
    assert (len(plain), round(plain.line().slope, 3), round(100 * plain.line().intercept, 1)) == (217, 1.049, -19.4)
    fewer = table.ordinary((*effective.NOT_ORDINARY, "resnet18_"))
    assert set(plain.models) - set(fewer.models) == {
        "resnet18_swsl", "resnet18_ssl", "resnet18_lpf2", "resnet18_lpf3", "resnet18_lpf5",
    }  # fmt: skip
    summary = cells("testbed-summary")
    assert len(fewer) == summary["IVR", "median drop"]["n"] == 212
    line = fewer.line()
    assert round(line.slope, 3) == summary["IVR", "slope of perturbed on original"]["value"]
    assert round(100 * line.intercept, 1) == summary["IVR", "intercept of perturbed on original"]["value"]
    medians = [float(np.median(100 * (bed.original - bed.perturbed) / bed.n)) for bed in (plain, fewer)]
    assert [round(median, 1) for median in medians] == [16.6, 16.5]
    assert other_filters(plain, fewer) == {fewer.models}


def other_filters(plain, stated):
    """What is left without any piece of a name, of three letters or more, with the stated count, line and median."""
    names, drop = np.array(plain.models), plain.original - plain.perturbed
    pieces = {name[i:j] for name in plain.models for i in range(len(name)) for j in range(i + 3, len(name) + 1)}
    left = {mask.tobytes(): mask for mask in (np.char.find(names, piece) < 0 for piece in pieces)}
    found = set()
    for mask in left.values():
        if mask.sum() != len(stated):
            continue
        line = effective.fit_line(plain.original[mask] / plain.n, plain.perturbed[mask] / plain.n)
        numbers = (line.slope, 100 * line.intercept, 100 * float(np.median(drop[mask])) / plain.n)
        if [round(n, d) for n, d in zip(numbers, (3, 1, 1), strict=True)] == [1.047, -19.2, 16.5]:
            found.add(tuple(names[mask].tolist()))
    return found
