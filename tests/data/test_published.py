"""The sources' published numbers: schema, completeness, and the arithmetic behind each contradiction."""

import csv
import math
from collections import Counter
from pathlib import Path

import pytest
from scipy.special import betaincinv

FOLDER = Path(__file__).parents[2] / "data" / "published"
SOURCES = ["tempora", "ppat", "pmk", "cl", "pa"]
HEADER = ["source", "table", "row", "column", "value", "unit", "low", "high", "n", "status", "note"]
STATUSES = {"printed", "derived", "inconsistent"}
UNITS = {
    "1/255", "beta", "correlation", "count", "frames per second", "level", "loss", "mAP", "ms", "nat",
    "percent", "points", "probability", "rank", "ratio", "s", "squared error", "standard deviations", "words",
}  # fmt: skip

# Counted in the source documents, not in the files: rows x columns, plus what a cell holds beyond one number.
EXPECTED = {
    "tempora": {
        "T1-utility": 7 * 4 + 2,  # methods x utilities; two cells of words also hold a rank and a win count
        "T2-latency": 6 * 4,  # methods x latencies
        "T3-findings": 4 + 3 + 5 + 2 + 4 + 3,  # six rows of words, their numbers and findings
        "text": 22,  # one per number or range in the prose, and ETA's wins as a count
        "derived-availability": 6,  # T2's methods
        "derived-offline": 5 + 1,  # T2's methods that T1 has too, and AdaBN's overhead
        "derived-amortised": 3 * 4,  # ETA, CMF, SAR x (batches, accuracy) by two cuts
        "alfarra-error": 5 * 2 + 2,  # methods x (offline, online); two more offline only
    },
    "ppat": {
        "T1-main": 7 * 6,  # estimators x (error, width, coverage) on two pools
        "T2-ablation": 7 * 3,  # configurations x (two pools, comment)
        "text": 12,
    },
    "pmk": {
        "T1-dataset": 5 * 2 + 5,  # rows x data sets, and five shares in brackets
        "T2-models": (8 + 6) * 3,  # IVR and YTBB rows x (original, perturbed, drop)
        "T2-counts": (8 + 6) * 2,
        "T3-detection": 6 * 3,
        "T4-review": 4 * 3,
        "T5-compression": 4 * 4,
        "T5-counts": 3 + 3,
        "testbed-counts": 7 * 4,
        "testbed-summary": 4,
        "text": 48,
    },
    "cl": {
        "benchmarks": 3,  # lost table: what the prose says of rows 1-2, 3, 4-5
        "split-mnist": 2,
        "hand-example": 5 + 3,
        "agem-permuted-mnist": 7 * 4 + 1,  # methods x metrics, and the accuracy of multi-task training
        "agem-lca": 2,
        "bell-lawrence": 3,
        "core50": 5,
        "temporalwiki": 2,
        "text": 11,
    },
    "pa": {
        "T1-trends": 3 * 3,  # models x (PA, AFR_T, reading), all words
        "text": 19,
        "thesis-beta": 6 * 2,
        "thesis-toy": 2 * 2 + 1,
        "undefended-check": 3,
    },
}

Row = dict[str, str]


def read(name: str) -> list[list[str]]:
    """All lines of one published file, the header first."""
    with open(FOLDER / f"{name}.csv", newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


def rows(source: str) -> list[Row]:
    """The lines of one source as dicts."""
    return [dict(zip(HEADER, line, strict=True)) for line in read(source)[1:]]


EVERY_ROW = [row for source in SOURCES for row in rows(source)]
CELLS: dict[tuple[str, ...], Row] = {(row["source"], row["table"], row["row"], row["column"]): row for row in EVERY_ROW}


def number(*cell: str) -> float:
    """Value of the cell (source, table, row, column)."""
    return float(CELLS[cell]["value"])


def status(*cell: str) -> str:
    """Status of the cell (source, table, row, column)."""
    return CELLS[cell]["status"]


# --- schema


@pytest.mark.parametrize("source", SOURCES)
def test_header_and_shape(source: str) -> None:
    lines = read(source)
    assert lines[0] == HEADER
    assert all(len(line) == len(HEADER) for line in lines)
    assert {line[0] for line in lines[1:]} == {source}


def test_every_file_is_known() -> None:
    assert {path.name for path in FOLDER.iterdir()} == {f"{name}.csv" for name in [*SOURCES, "tables"]}


def test_statuses_and_units() -> None:
    assert {row["status"] for row in EVERY_ROW} == STATUSES
    assert {row["unit"] for row in EVERY_ROW} == UNITS


def test_numbers_parse_and_intervals_hold_their_value() -> None:
    for row in EVERY_ROW:
        present = [float(row[key]) for key in ("low", "value", "high") if row[key]]
        assert all(map(math.isfinite, present)), row
        assert present == sorted(present), row
        assert not row["n"] or int(row["n"]) > 0, row


def test_empty_values_are_explained() -> None:
    for row in EVERY_ROW:
        assert row["value"] or row["note"] or row["low"] or row["high"], row
        assert row["status"] == "printed" or row["note"], row
        if row["unit"] == "words":
            assert not (row["value"] or row["low"] or row["high"]) and row["note"], row


def test_keys_are_unique_and_labels_are_plain_english() -> None:
    assert len(CELLS) == len(EVERY_ROW)
    for row in EVERY_ROW:
        assert row["table"] and row["row"] and row["column"], row
        assert all(text.isascii() and text == text.strip() for text in row.values()), row


# --- completeness


def test_rows_per_table_equal_the_count_in_the_source() -> None:
    counted = {source: dict(Counter(row["table"] for row in rows(source))) for source in SOURCES}
    assert counted == EXPECTED


def test_the_list_of_tables_agrees() -> None:
    header, *lines = read("tables")
    assert header == ["source", "table", "title", "rows"]
    listed = [(source, table, int(count)) for source, table, _, count in lines]
    assert listed == [(source, table, n) for source in SOURCES for table, n in EXPECTED[source].items()]
    assert all(title for _, _, title, _ in lines)


@pytest.mark.parametrize(
    ("cell", "printed"),
    [
        (("tempora", "T1-utility", "SHOT-IM", "amortised B=1s"), "32.22"),
        (("tempora", "T1-utility", "SHOT-IM", "offline accuracy"), "13.15 67.62"),
        (("tempora", "T2-latency", "AdaBN", "extrinsic"), "0.0"),
        (("tempora", "T2-latency", "SAR", "extrinsic"), "154.1"),
        (("tempora", "T3-findings", "longer threshold T", "Spearman with offline at T=50ms"), "-0.19"),
        (("ppat", "T1-main", "ASI", "CIFAR-10 median squared error"), "9.8e-5"),
        (("ppat", "T1-main", "Random", "Keggdirected coverage"), "0.084"),
        (("ppat", "T1-main", "ASE", "Keggdirected coverage"), ""),
        (("ppat", "T2-ablation", "Proxy labels only", "CIFAR-10 median squared error"), "8.9e-3"),
        (("pmk", "T1-dataset", "frame pairs accepted", "YTBB"), "36827"),
        (("pmk", "T2-models", "IVR: ILSVRC", "original"), "67.5 64.7 70.3"),
        (("pmk", "T2-models", "YTBB: CLIP zero-shot", "perturbed"), "88.5 87.0 89.8"),
        (("pmk", "T3-detection", "localisation: Faster R-CNN ResNet-101", "drop"), "11.5"),
        (("pmk", "T5-compression", "without p-frames", "anchors"), "415"),
        (("pmk", "testbed-counts", "resnet152", "YTBB perturbed"), "944"),
        (("cl", "split-mnist", "EWC", "Class-IL accuracy"), "20.01"),
        (("cl", "core50", "ER", "CORe50 accuracy"), "80.10"),
        (("cl", "bell-lawrence", "largest against smallest distance", "p value"), "0.008"),
        (("cl", "agem-permuted-mnist", "A-GEM", "worst forgetting"), "0.131"),
        (("pa", "thesis-beta", "JPEG + reverse sigmoid", "FMN"), "19.8"),
        (("pa", "undefended-check", "WRN-28-10, RobustBench", "Linf 8/255 accuracy"), "0.00"),
    ],
)
def test_hard_numbers(cell: tuple[str, ...], printed: str) -> None:
    row = CELLS[cell]
    assert " ".join(row[key] for key in ("value", "low", "high") if row[key]) == printed


# --- tempora

REFERENCE_MS, PERIOD_MS, BATCHES = 39.9, 39.9, 781


def latency(method: str) -> float:
    """Printed latency per batch in ms."""
    return number("tempora", "T2-latency", method, "latency")


@pytest.mark.parametrize("method", ["AdaBN", "Tent", "ETA", "SHOT-IM", "CMF", "SAR"])
def test_tempora_latencies_add_up_and_give_the_availability(method: str) -> None:
    parts = [number("tempora", "T2-latency", method, c) for c in ("intrinsic above reference", "extrinsic")]
    assert latency(method) == pytest.approx(REFERENCE_MS + sum(parts), abs=0.11)
    slow_down = number("tempora", "T2-latency", method, "slow-down")
    assert round(latency(method) / REFERENCE_MS, 2) == slow_down
    served = math.ceil((BATCHES - 1) * PERIOD_MS / latency(method)) + 1
    availability = number("tempora", "derived-availability", method, "availability rho=100%")
    assert availability == pytest.approx(served / BATCHES, abs=5e-5)


@pytest.mark.parametrize("method", ["AdaBN", "ETA", "CMF", "SAR", "SHOT-IM"])
def test_tempora_offline_accuracy_from_continuous_utility(method: str) -> None:
    responsiveness = 10.1 / (10.1 + latency(method) - REFERENCE_MS)
    implied = number("tempora", "T1-utility", method, "continuous T=50ms") / responsiveness
    derived = number("tempora", "derived-offline", method, "offline accuracy")
    assert derived == pytest.approx(implied, abs=0.06)


@pytest.mark.parametrize("method", ["AdaBN", "SAR"])
def test_tempora_offline_column_is_contradicted(method: str) -> None:
    cell = ("tempora", "T1-utility", method, "offline accuracy")
    assert status(*cell) == "inconsistent"
    assert number("tempora", "derived-offline", method, "offline accuracy") - number(*cell) > 5


def test_tempora_adabn_never_spends_its_budget() -> None:
    overhead_ms = number("tempora", "derived-offline", "AdaBN", "overhead of a whole stream")
    assert overhead_ms == round(BATCHES * (latency("AdaBN") - REFERENCE_MS)) < 1000
    error = number("tempora", "alfarra-error", "AdaBN", "offline error")
    assert 100 - error == pytest.approx(number("tempora", "T1-utility", "AdaBN", "amortised B=1s"), abs=0.5)


@pytest.mark.parametrize("method", ["ETA", "CMF", "SAR"])
def test_tempora_amortised_cut(method: str) -> None:
    utility = number("tempora", "T1-utility", method, "amortised B=1s")
    frozen = number("tempora", "T3-findings", "amortised B=1s", "accuracy when frozen")
    within = math.floor(1000 / (latency(method) - REFERENCE_MS))
    for cut, m in (("within", within), ("overshoot", within + 1)):
        assert number("tempora", "derived-amortised", method, f"adapted batches, cut {cut}") == m
        adapted = frozen + (utility - frozen) * BATCHES / m
        printed = number("tempora", "derived-amortised", method, f"adapted accuracy, cut {cut}")
        assert printed == pytest.approx(adapted, abs=0.06)


def test_tempora_break_even_and_shares() -> None:
    adabn = number("tempora", "T1-utility", "AdaBN", "discrete rho=100%")
    eta, column = "ETA at rho=100%", "break-even served accuracy"
    availability = number("tempora", "T3-findings", eta, "availability")
    assert round(adabn / availability, 1) == number("tempora", "T3-findings", eta, column)
    served = number("tempora", "T3-findings", eta, "served accuracy")
    assert round(served * availability, 1) == number("tempora", "T1-utility", "ETA", "discrete rho=100%")
    sar = number("tempora", "T3-findings", "SAR at rho=100%", column)
    assert round(adabn / 0.206, 1) == sar
    cells = 16 * 15
    won = number("tempora", "T3-findings", "offline against rho=100%", "CMF timed wins")
    lost = number("tempora", "text", "CMF", "timed losses")
    assert won + lost == cells
    assert round(100 * won / cells, 1) == 12.1
    assert round(100 * lost / cells, 1) == number("tempora", "text", "CMF", "timed loss share")
    eta_share = number("tempora", "text", "ETA", "timed win share")
    assert round(100 * number("tempora", "text", "ETA", "timed wins") / cells, 1) == eta_share


def test_tempora_evaluations_are_not_the_printed_product() -> None:
    product = math.prod(
        number("tempora", "text", "experiment", c) for c in ("methods", "corruptions", "time scenarios")
    )
    assert product == 2160 != number("tempora", "text", "experiment", "evaluations")
    assert status("tempora", "text", "experiment", "evaluations") == "inconsistent"
    corruptions = number("tempora", "text", "experiment", "corruptions")
    assert number("tempora", "text", "experiment", "batches") == BATCHES * corruptions


# --- ppat


def test_ppat_tables_agree_on_the_full_method() -> None:
    for column in ("Keggdirected median squared error", "CIFAR-10 median squared error"):
        assert number("ppat", "T1-main", "PPAT lambda=1", column) == number(
            "ppat", "T2-ablation", "PPAT lambda=1", column
        )


@pytest.mark.parametrize("control", ["1", "0.5"])
def test_ppat_rule_of_thumb_fails_when_spreads_differ(control: str) -> None:
    cell = ("ppat", "text", f"PPAT lambda={control}", "correlation said to be enough")
    assert status(*cell) == "inconsistent"
    correlation, sd_risk, sd_control, strength = number(*cell) + 0.1, 1.0, 2.0, float(control)
    covariance = correlation * sd_risk * sd_control
    variance = sd_risk**2 - 2 * strength * covariance + strength**2 * sd_control**2
    assert variance > sd_risk**2


def test_ppat_coverage_claim_is_above_its_own_table() -> None:
    cell = ("ppat", "text", "PPAT", "coverage with very few labels")
    assert status(*cell) == "inconsistent"
    columns = [f"{pool} coverage" for pool in ("Keggdirected", "CIFAR-10")]
    coverages = [number("ppat", "T1-main", "PPAT lambda estimated", column) for column in columns]
    assert max(coverages) * 100 < number(*cell)


def test_ppat_interval_is_about_half_as_wide() -> None:
    ours, lure = (number("ppat", "T1-main", m, "Keggdirected interval width") for m in ("PPAT lambda=1", "LURE"))
    assert round(100 * (1 - ours / lure)) == 47


# --- pmk

MODELS = [row for row in rows("pmk") if row["table"] == "T2-models"]


def clopper_pearson(count: int, n: int) -> tuple[float, float]:
    """95 % Clopper-Pearson interval of a proportion strictly between 0 and 1, in percent."""
    return 100 * betaincinv(count, n - count + 1, 0.025), 100 * betaincinv(count + 1, n - count, 0.975)


def test_pmk_intervals_follow_from_counts_unless_called_inconsistent() -> None:
    cells = [row for row in MODELS if row["column"] != "drop"]
    reproduced = 0
    for row in cells:
        count, n = int(number("pmk", "T2-counts", row["row"], row["column"])), int(row["n"])
        assert f"{100 * count / n:.1f}" == row["value"], row
        same = [f"{end:.1f}" for end in clopper_pearson(count, n)] == [row["low"], row["high"]]
        assert same == (row["status"] == "printed"), row
        reproduced += same
    assert (reproduced, len(cells)) == (22, 28)


def test_pmk_drops_are_differences_unless_called_inconsistent() -> None:
    """From the rounded accuracies or from the counts: the source uses both."""
    drops = [r for r in rows("pmk") if r["column"] == "drop" and r["table"][:2] in ("T2", "T3", "T4")]
    for row in drops:
        original, perturbed = (number("pmk", row["table"], row["row"], c) for c in ("original", "perturbed"))
        candidates = {f"{original - perturbed:.1f}"}
        if row["table"] == "T2-models":
            counts = [number("pmk", "T2-counts", row["row"], c) for c in ("original", "perturbed")]
            candidates.add(f"{100 * (counts[0] - counts[1]) / int(row['n']):.1f}")
        assert (row["value"] in candidates) == (row["status"] == "printed"), row
    assert [row["value"] for row in drops if row["status"] == "inconsistent"] == ["12.4", "14.4", "8.9"]


def test_pmk_review_repeats_the_models_table() -> None:
    for data, model in (("IVR", "ImageNet-Vid"), ("YTBB", "Youtube-BB")):
        row = f"{data}: ILSVRC + fine-tuned on {model} (ResNet-152)"
        for column in ("original", "perturbed"):
            reviewed = number("pmk", "T4-review", f"{data}: with review", column)
            assert reviewed == number("pmk", "T2-models", row, column)


def test_pmk_review_effects_in_the_text_are_contradicted() -> None:
    gains: dict[str, list[float]] = {"original": [], "perturbed": []}
    for data in ("IVR", "YTBB"):
        before, after = f"{data}: without review", f"{data}: with review"
        for column, gain in gains.items():
            without, reviewed = (number("pmk", "T4-review", row, column) for row in (before, after))
            gain.append(reviewed - without)
        reduction = ("pmk", "text", "review", f"{data} reduction of the drop")
        assert status(*reduction) == "inconsistent"
        printed_after = number("pmk", "T4-review", after, "drop")
        printed_before = number("pmk", "T4-review", before, "drop")
        assert number(*reduction) == pytest.approx(printed_before - printed_after)
        assert number(*reduction) != pytest.approx(gains["perturbed"][-1] - gains["original"][-1], abs=0.05)
    for column, gain in gains.items():
        cell = CELLS["pmk", "text", "review", f"gain in {column} accuracy"]
        assert cell["status"] == "inconsistent"
        assert min(gain) > float(cell["high"])


def test_pmk_loss_is_compared_with_another_row() -> None:
    trained, tuned, base = (
        f"IVR: ILSVRC{suffix}"
        for suffix in (" + fine-tuned on ImageNet-Vid, PM-k loss", " + fine-tuned on ImageNet-Vid", "")
    )
    for column, against_tuned in (("original", 44.6), ("perturbed", 35.9)):
        cell = ("pmk", "text", "PM-k loss", f"loss of {column} accuracy")
        value = {row: number("pmk", "T2-models", row, column) for row in (trained, tuned, base)}
        assert status(*cell) == "inconsistent"
        assert number(*cell) == pytest.approx(value[base] - value[trained])
        assert against_tuned == pytest.approx(value[tuned] - value[trained])


def test_pmk_data_set_sums() -> None:
    total = {
        name: sum(number("pmk", "T1-dataset", name, data) for data in ("IVR", "YTBB"))
        for name in ("anchors accepted", "frame pairs reviewed", "frame pairs accepted")
    }
    assert total["anchors accepted"] == number("pmk", "text", "data sets", "sets")
    assert total["frame pairs reviewed"] == number("pmk", "text", "data sets", "image pairs reviewed")
    assert total["frame pairs accepted"] == number("pmk", "text", "data sets", "images")  # pairs, not images
    assert total["frame pairs accepted"] + total["anchors accepted"] == 61036
    assert status("pmk", "text", "data sets", "images") == "inconsistent"
    shares = [r for r in rows("pmk") if r["table"] == "T1-dataset" and r["column"].endswith("share")]
    for row in shares:
        count = number("pmk", "T1-dataset", row["row"], row["column"].removesuffix(" share"))
        assert round(100 * count / int(row["n"])) == float(row["value"])


def test_pmk_abstract_medians_differ_from_the_section() -> None:
    for data in ("IVR", "YTBB"):
        column = f"{data} median drop"
        section = number("pmk", "text", "ILSVRC", column)
        assert section == number("pmk", "T2-models", f"{data}: ILSVRC", "drop")
        assert status("pmk", "text", "all classifiers", column) == "inconsistent"
        assert number("pmk", "text", "all classifiers", column) != round(section)


def test_pmk_compression_rows_drop_every_anchor_once() -> None:
    dropped = 0.0
    for kind in "ipb":
        row = f"without {kind}-frames"
        gone = number("pmk", "T5-counts", row, "dropped anchors")
        assert 1109 - gone == number("pmk", "T5-compression", row, "anchors")
        dropped += gone
    assert dropped == 1109
    right = [number("pmk", "T5-counts", "without p-frames", c) for c in ("original", "perturbed")]
    for count, column in zip(right, ("original", "perturbed"), strict=True):
        assert round(100 * count / 415, 1) == number("pmk", "T5-compression", "without p-frames", column)
    assert round(100 * (right[0] - right[1]) / 415, 2) == 10.12


def test_pmk_testbed_resnet50_is_the_base_row() -> None:
    for data in ("IVR", "YTBB"):
        for column in ("original", "perturbed"):
            count = number("pmk", "T2-counts", f"{data}: ILSVRC", column)
            assert number("pmk", "testbed-counts", "resnet50", f"{data} {column}") == count


# --- cl


def test_cl_hand_example() -> None:
    first = [number("cl", "hand-example", "task 1", f"accuracy after task {k}") for k in (1, 2, 3)]
    forgotten = [number("cl", "hand-example", f"task {j}", "forgetting") for j in (1, 2)]
    mean_forgetting = number("cl", "hand-example", "average forgetting F_3", "value")
    transfer = number("cl", "hand-example", "BWT", "value")
    assert forgotten[0] == max(first[:2]) - first[2]
    assert sum(forgotten) / 2 == mean_forgetting
    assert (first[2] - first[0] - forgotten[1]) / 2 == transfer
    excess = number("cl", "hand-example", "average forgetting F_3", "excess over -BWT")
    assert excess == mean_forgetting + transfer == (first[1] - first[0]) / 2


def test_cl_agem_rows() -> None:
    table = "agem-permuted-mnist"
    methods = [r["row"] for r in rows("cl") if r["table"] == table and r["column"] == "LCA"]
    assert max(methods, key=lambda m: number("cl", table, m, "ACC")) == "PNN"
    assert min(methods, key=lambda m: number("cl", table, m, "LCA")) == "PNN"
    assert number("cl", table, "PNN", "LCA") == pytest.approx(
        number("cl", "text", "PNN", "Permuted MNIST LCA"), abs=0.01
    )
    assert round(number("cl", "agem-lca", "GEM", "LCA trapezoid"), 3) == number("cl", table, "GEM", "LCA")


# --- pa


def log_agreement(logits: list[float], shifted: list[float], beta: float) -> float:
    """One row's log agreement of two Gibbs distributions, in nats."""

    def log_sum_exp(scores: list[float]) -> float:
        return math.log(sum(math.exp(beta * score) for score in scores))

    both = [a + b for a, b in zip(logits, shifted, strict=True)]
    return log_sum_exp(both) - log_sum_exp(logits) - log_sum_exp(shifted)


REFUTED = {(row["row"], row["column"]) for row in rows("pa") if row["status"] == "inconsistent"}
AGREEING = ([2.0, 0.0], [1.0, 0.0])


def test_pa_kernel_is_convex_at_zero_so_not_concave() -> None:
    curvature = sum(w * log_agreement(*AGREEING, beta) for w, beta in ((1, 0.0), (-2, 0.1), (1, 0.2)))
    assert curvature > 0
    assert ("PA", "concavity in beta") in REFUTED


def test_pa_zero_needs_no_disagreement() -> None:
    for beta in (0.0, 1.0, 9.0):
        assert math.log(2) + log_agreement([1.0, 1.0], [3.0, 3.0], beta) == pytest.approx(0)
    assert ("PA", "meaning of 0") in REFUTED


def test_pa_beta_is_an_inverse_logit_scale() -> None:
    smaller = log_agreement([0.2, 0.0], [0.1, 0.0], 10.0)
    assert smaller == pytest.approx(log_agreement(*AGREEING, 1.0))
    assert ("low optimal beta", "sign of fragility") in REFUTED


def test_pa_without_a_flip_rises_for_ever_and_stays_negative() -> None:
    values = [log_agreement(*AGREEING, beta) for beta in (1.0, 12.33, 20.0)]
    assert values == sorted(values) and values[-1] < 0
    # A finite optimum is an optimiser that stopped; log K minus a negative number exceeds log K.
    claims = {
        ("PA at ratio 0", "finite optimum shows clean confidence"),
        ("perfect classifier", "beta"),
        ("sketch", "reported score"),
    }
    assert claims <= REFUTED


def test_pa_undefended_row_rests_on_a_weak_attack() -> None:
    table = "undefended-check"
    flips = CELLS["pa", table, "WRN-28-10, released PGD run", "further label flips"]
    still_right_at_least = number("pa", table, "WRN-28-10, RobustBench", "clean accuracy") - 100 * float(
        flips["value"]
    ) / int(flips["n"])
    assert still_right_at_least > 80 > number("pa", table, "WRN-28-10, RobustBench", "Linf 8/255 accuracy")
    assert status("pa", "T1-trends", "undefended", "AFR_T with rising ratio") == "inconsistent"


def test_pa_random_classifier_of_the_thesis() -> None:
    value = number("pa", "thesis-toy", "random classifier", "sum of log agreement")
    assert value == pytest.approx(-1000 * math.log(2), abs=0.01)
