"""Table 2's intervals: those that follow from the counts, reproduced, and those that do not, named."""

import numpy as np
import pytest

from helpers import pmk
from helpers.results import published

#: Cells whose printed interval is not the exact one of the printed accuracy (specification, section 6).
AT_ODDS = {
    ("IVR: ILSVRC + l-inf robustness (ResNeXt-101)", "perturbed"),
    ("IVR: ILSVRC + fine-tuned on ImageNet-Vid-Det", "original"),
    ("IVR: ILSVRC + fine-tuned on ImageNet-Vid-Det", "perturbed"),
    ("IVR: CLIP zero-shot", "original"),
    ("IVR: CLIP zero-shot", "perturbed"),
    ("YTBB: CLIP zero-shot", "original"),
}
PRINTED = {(row["row"], row["column"]): row for row in published("pmk", "T2-models")}
COUNTS = {(row["row"], row["column"]): row for row in published("pmk", "T2-counts")}
MODELS = sorted({model for model, _ in PRINTED})


def scored(original, perturbed, n):
    """A model that is right on so many of n anchors, and on so many whole sets, one frame each."""
    sets = {f"{i}a": [f"{i}b"] for i in range(n)}
    frames = pmk.FrameSets(sets, {anchor: [1] for anchor in sets}, offsets={anchor: [1] for anchor in sets})
    place = np.arange(n)
    return pmk.score(np.concatenate([place < original, place < perturbed]).astype(int), frames)


@pytest.fixture(scope="module")
def scores():
    return {
        model: scored(
            *(int(COUNTS[model, column]["value"]) for column in ("original", "perturbed")),
            int(PRINTED[model, "original"]["n"]),
        )
        for model in MODELS
    }


@pytest.mark.parametrize("model", MODELS)
def test_rates_and_intervals(scores, model):
    for column in ("original", "perturbed"):
        rate, printed = getattr(scores[model], column), PRINTED[model, column]
        assert round(100 * rate.rate, 1) == printed["value"]
        ends = tuple(round(100 * end, 1) for end in rate.interval)
        assert (ends == (printed["low"], printed["high"])) == ((model, column) not in AT_ODDS)
        assert (printed["status"] == "inconsistent") == ((model, column) in AT_ODDS)


@pytest.mark.parametrize("model", MODELS)
def test_the_drop_is_that_of_the_counts_or_of_the_rounded_rates(scores, model):
    score, printed = scores[model], PRINTED[model, "drop"]
    of_counts = round(100 * score.drop.rate, 1)
    of_rounded = round(round(100 * score.original.rate, 1) - round(100 * score.perturbed.rate, 1), 1)
    assert (printed["value"] in (of_counts, of_rounded)) == (printed["status"] == "printed")
    low, high = score.drop.interval
    assert low < score.drop.rate < high


def test_22_of_28_cells_reproduce():
    assert len(AT_ODDS) == 28 - 22
    assert len(MODELS) == 14


def test_the_same_drop_is_printed_as_15_0_and_15_1(scores):
    base, tuned = scores["IVR: ILSVRC"], scores["IVR: ILSVRC + fine-tuned on ImageNet-Vid"]
    assert base.drop.count == tuned.drop.count == 167
    assert round(100 * base.drop.rate, 2) == 15.06


def test_the_testbed_has_the_counts_of_the_base_rows():
    testbed = {row["column"]: row["value"] for row in published("pmk", "testbed-counts") if row["row"] == "resnet50"}
    for data in ("IVR", "YTBB"):
        for column in ("original", "perturbed"):
            assert testbed[f"{data} {column}"] == COUNTS[f"{data}: ILSVRC", column]["value"]


def test_no_model_of_the_testbed_gains():
    rows = {(row["row"], row["column"]): row["value"] for row in published("pmk", "testbed-counts")}
    for model, column in rows:
        if column.endswith("original"):
            assert rows[model, column.replace("original", "perturbed")] <= rows[model, column]
