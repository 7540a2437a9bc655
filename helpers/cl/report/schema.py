"""The report's fields as a JSON Schema; the template and the checker are both read off it.

Every field is required, and every field may be ``{value: null, reason: "..."}``.
"""

from __future__ import annotations

from typing import Any

from ..grader import LEVELS
from ..inputs import MOST
from ..metrics import REGISTRY_VERSION
from ..record import BASELINES, SCENARIOS
from ..safety import FAMILIES

Field = dict[str, Any]

#: What stands in place of a value that does not apply or is not known.
ABSENT: Field = {
    "type": "object",
    "required": ["value", "reason"],
    "additionalProperties": False,
    "properties": {"value": {"type": "null"}, "reason": {"type": "string", "pattern": r"\S"}},
}
#: A group may have a field named value itself, but not only that.
_SEEMS_ABSENT: Field = {
    "type": "object",
    "required": ["value"],
    "properties": {"value": {"type": "null"}},
    "propertyNames": {"enum": ["value", "reason"]},
}

HASH = r"^(sha256:)?[0-9a-f]{64}$"
DAY = r"^\d{4}-\d{2}-\d{2}$"
MOMENT = r"^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})?)?$"


def text(words: str) -> Field:
    """Some words."""
    return {"type": "string", "pattern": r"\S", "description": words}


def matching(pattern: str, words: str) -> Field:
    """Words of a set form: a hash, a date."""
    return {"type": "string", "pattern": pattern, "description": words}


def number(words: str, *, least: float | None = None, most: float | None = None) -> Field:
    """A number within bounds."""
    bounds = {name: bound for name, bound in (("minimum", least), ("maximum", most)) if bound is not None}
    return {"type": "number", **bounds, "description": words}


def whole(words: str, *, least: int = 0) -> Field:
    """A whole number."""
    return {"type": "integer", "minimum": least, "maximum": int(MOST), "description": words}


def flag(words: str) -> Field:
    """Yes or no."""
    return {"type": "boolean", "description": words}


def choice(words: str, *options: str) -> Field:
    """One of several words."""
    return {"enum": list(options), "description": words}


def rows(words: str, item: Field, *, least: int = 1) -> Field:
    """A list of items of one form."""
    return {"type": "array", "items": item, "minItems": least, "description": words}


def named(words: str, item: Field | None = None) -> Field:
    """A mapping whose names the author chooses."""
    return {"type": "object", "additionalProperties": item or {}, "minProperties": 1, "description": words}


def group(words: str, optional: tuple[str, ...] = (), **fields: Field) -> Field:
    """Fields that belong together; all but the optional ones are required."""
    return {
        "type": "object",
        "required": [name for name in fields if name not in optional],
        "additionalProperties": False,
        "properties": {name: or_absent(field) for name, field in fields.items()},
        "description": words,
    }


def or_absent(field: Field) -> Field:
    """The field, or null with a reason. The field itself stays under ``else``, for `described`."""
    kind = field.get("type")
    if kind is None or kind == "object":
        seems = _SEEMS_ABSENT if kind == "object" else {"type": "object"}
        return {"if": seems, "then": ABSENT, "else": field, "description": field["description"]}
    # keywords for objects and for other types leave each other alone, and a long table is checked several times as fast
    kinds = [kind] if isinstance(kind, str) else kind
    return {**field, **ABSENT, "type": [*kinds, "object"], "else": field}


_TASK = text("task id")
_VALUE = number("score on the metric's scale")
_INTERVAL_UNITS = ("seed", "order", "sample", "generation", "grader")


def _baseline(words: str, **more: Field) -> Field:
    fields = group(
        f"{words}: its runs, or its scores",
        ("runs", "scores"),
        runs=rows("its runs in results.cells", text("run id")),
        scores=named("its scores by task id", _VALUE),
        **more,
    )
    return {**fields, "anyOf": [{"required": ["runs"]}, {"required": ["scores"]}]}


META = group(
    "which report this is",
    schema_version={"const": 1, "description": "version of this form: 1"},
    report_id=text("a name of its own"),
    title=text("title"),
    authors=rows("who answers for it", text("name")),
    date=matching(DAY, "date of the report, YYYY-MM-DD"),
    tool=group("what computed the metrics", name=text("name"), version=text("version")),
    metric_registry_version=text(f"version of the list of metric ids: {REGISTRY_VERSION}"),
    license=text("licence of the report"),
    content_hash=matching(HASH, "SHA-256 of the report without this field, as the checker computes it"),
)
PROBLEM = group(
    "what was asked, and what the learner was told",
    scenario=choice("scenario", *SCENARIOS),
    task_id_at_train=flag("is the task id given in training?"),
    task_id_at_test=flag("is the task id given at test time?"),
    boundary_at_train=flag("are task boundaries visible in training?"),
    boundary_source=choice("where boundaries come from", "human", "time-window", "detector", "none"),
    detector=group(
        "boundary detector",
        name=text("name"),
        delay=number("mean delay of detection, in steps", least=0),
        false_alarm_rate=number("false alarms per step", least=0, most=1),
        counted_in_result=flag("do delay and false alarms count in the result?"),
    ),
    output=group(
        "output space",
        space=choice("heads", "multi-head", "single-head"),
        masked_at_train=flag("are logits masked in training?"),
        masked_at_test=flag("are logits masked at test time?"),
        classes=choice("classes that compete at test time", "task", "seen", "all"),
    ),
    passes=group("passes over the stream", kind=choice("kind", "online", "offline"), epochs=whole("epochs", least=1)),
    old_data=choice("access to data of earlier tasks", "none", "buffer", "generator", "full"),
    stop_rule=text("when training of a task ends"),
    success_criteria=rows("declared before the run", text("criterion")),
    claim_scope=text("what the conclusion covers, and what it does not"),
)
STREAM = group(
    "the data, the tasks and their orders",
    dataset=group(
        "data set",
        name=text("name"),
        version=text("version"),
        sha256=matching(HASH, "SHA-256 of the archive or manifest"),
        source=text("where it was had"),
        licence=text("licence"),
        time_range=group(
            "when the data are from", start=matching(MOMENT, "first date"), end=matching(MOMENT, "last date")
        ),
    ),
    split_recipe=text("how tasks and splits are made from it, exactly"),
    tasks=rows(
        "every task of the stream",
        group(
            "task",
            id=_TASK,
            name=text("name"),
            classes=rows("classes", {"type": ["string", "integer"], "description": "class"}),
            n_train=whole("training samples"),
            n_val=whole("validation samples"),
            n_test=whole("test samples", least=1),
            weight=number("weight in means over tasks", least=0),
            files=named("SHA-256 of each file", matching(HASH, "SHA-256")),
        ),
    ),
    first_task_size=whole("classes of the first task, which may be larger than the rest", least=1),
    orders=rows(
        "every order that was run",
        group(
            "order",
            id=text("order id"),
            permutation=rows("task ids in the order of training", _TASK),
            kind=choice("where it comes from", "random", "chronological", "min", "max", "given"),
            seed=whole("seed that generated it"),
            declared_before_run=flag("was it fixed before any result was seen?"),
        ),
    ),
    order_is_natural=flag("is the order given by the data (then orders are not averaged)?"),
    sample_order_seed=whole("seed of the order of samples within tasks"),
    augmentations=rows("augmentations, empty for none", text("augmentation"), least=0),
    shift=text("label shift or blurred boundaries"),
    unobservable=rows(
        "cells of the accuracy matrix without a value, for every run",
        group(
            "cells",
            ("order",),
            order=text("order id; every order where left out"),
            step=whole("tasks trained before the evaluation, from 1", least=1),
            task=_TASK,
            reason=choice("why", "no interface", "not evaluated", "not applicable"),
        ),
        least=0,
    ),
)
MODEL = group(
    "what is trained",
    architecture=text("architecture"),
    parameters=whole("trainable and frozen parameters together"),
    init=group(
        "initialisation",
        kind=choice("kind", "random", "pretrained"),
        name=text("name of the pretrained weights"),
        hash=matching(HASH, "SHA-256 of the weights"),
        data_cutoff=matching(DAY, "date after which no pretraining data come from"),
        data=rows("pretraining data sets", text("data set")),
        overlap=text("declared overlap of pretraining data with the tasks"),
    ),
    precision=text("number format, such as float32"),
    frozen=rows("frozen parts, empty for none", text("part"), least=0),
)
METHOD = group(
    "how it is trained, and how that was chosen",
    name=text("name"),
    family=choice("family", "regularisation", "replay", "isolation", "distillation", "prompt", "other", "none"),
    reference=text("publication"),
    commit=text("commit of the code"),
    hyperparameters=named("every hyper-parameter with its value, estimators included"),
    optimiser=text("optimiser and its settings"),
    reset_at_boundary=flag("is the optimiser reset between tasks?"),
    batch_size=whole("batch size", least=1),
    steps_per_task=rows("training steps of each task", whole("steps")),
    selection=group(
        "how hyper-parameters were selected",
        protocol=choice(
            "first-k: on tasks that are not reported; two-phase: on each new task; all-tasks sees the future",
            "first-k",
            "two-phase",
            "all-tasks",
            "fixed",
        ),
        k=whole("number of tasks used for selection"),
        tasks=rows("task ids used for selection, empty for none", _TASK, least=0),
        validation_source=text("what selection was scored on"),
        grid=named("values that were to be tried"),
        p=number("two-phase: accuracy that may be lost", least=0, most=1),
        alpha=number("two-phase: factor of decay", least=0, most=1),
        max_attempts=whole("two-phase: most attempts per task", least=1),
        relative=flag("two-phase: is p a share of the best accuracy?"),
        tried=rows(
            "every value that was tried",
            group(
                "attempt",
                task=_TASK,
                values=named("values"),
                score={"type": ["number", "string"], "pattern": "^failed$", "description": 'score, or "failed"'},
            ),
            least=0,
        ),
        failures=rows("what failed, divergence included, empty for none", text("failure"), least=0),
    ),
    ablations=rows(
        "parts taken out, with run ids", group("ablation", part=text("part"), runs=rows("runs", text("id")))
    ),
)
BASELINES_SECTION = group(
    "what the method is compared with",
    naive_fine_tuning=_baseline("plain fine-tuning"),
    joint=_baseline("joint training on all tasks so far"),
    fine_tuning_with_replay=_baseline("fine-tuning with replay"),
    er_equal_budget=_baseline("experience replay of equal budget"),
    method_ablation=_baseline("the method without its idea"),
    resource_matched=_baseline("another method of matched resources"),
    single_task=_baseline("a model for each task alone"),
    random_init=_baseline("untrained networks", n_inits=whole("number of initialisations averaged", least=1)),
    old_zero_shot=_baseline("the model before the stream"),
    interface_control=_baseline("a model that has the interface only"),
)
RESOURCES = group(
    "what it cost, and what is matched",
    methods=rows(
        "one entry per method and baseline",
        group(
            "costs",
            name=text("method"),
            buffer=group(
                "stored data",
                raw_bytes=whole("raw samples"),
                feature_bytes=whole("features"),
                generated_bytes=whole("generated samples or generator"),
                index_bytes=whole("index and metadata"),
                samples=whole("number of samples"),
            ),
            model_bytes=whole("model"),
            added_parameters_per_task=number("parameters added per task", least=0),
            copies_bytes=whole("importance weights, teachers and other copies"),
            train_compute=group(
                "training compute",
                amount=number("amount", least=0),
                unit=choice("unit", "FLOPs", "MACs"),
                counter=text("what counted it"),
                layers=text("which layers are covered"),
            ),
            train_tokens=whole("training tokens or samples seen"),
            wall_s=number("wall-clock seconds", least=0),
            peak_ram_bytes=whole("peak memory"),
            peak_vram_bytes=whole("peak memory of the accelerator"),
            hardware=text("hardware"),
            threads=whole("threads", least=1),
            validation_compute=text("compute spent on selection and validation"),
            inference=group(
                "cost of a prediction",
                latency_p50_ms=number("median latency", least=0),
                latency_p95_ms=number("95th percentile", least=0),
                active_modules=number("modules active in one prediction", least=0),
                kv_cache_bytes=whole("key-value cache"),
                retrieval=text("cost of retrieval"),
            ),
        ),
    ),
    matching=group(
        "the view in which methods are comparable",
        view=choice("what is equal", "storage", "FLOPs", "wall-clock"),
        tolerance=number("relative tolerance", least=0),
        matched=rows("resources that agree", text("resource"), least=0),
        unmatched=rows("resources that do not", text("resource"), least=0),
    ),
)
_FAMILY = ("capability", "quality", "calibration", "refusal", "cost")
_FAMILY_FIELDS: dict[str, Any] = {name: rows(f"metrics of {name}", text("metric")) for name in _FAMILY}
_SIDE = group("one side", run=text("run id"), metric=text("metric id"))
RESULTS = group(
    "raw cells first, everything else derived from them",
    metrics=named(
        "every metric of the cells, by name",
        group(
            "metric",
            scale=choice("scale", "percent", "fraction", "free"),
            higher_is_better=flag("are higher values better?"),
            scenario=choice("scenario it was scored under", *SCENARIOS),
        ),
    ),
    cells=rows(
        "the accuracy matrices as a long table",
        group(
            "cell",
            ("correct", "timestamp", "checkpoint"),
            run=text("run id"),
            seed=whole("seed"),
            order=text("order id"),
            step=whole("tasks trained before the evaluation; 0 is before any"),
            task=_TASK,
            metric=text("metric"),
            value=_VALUE,
            n=whole("samples", least=1),
            correct=whole("of them correct"),
            timestamp=matching(MOMENT, "when evaluated"),
            checkpoint=matching(HASH, "SHA-256 of the checkpoint"),
        ),
    ),
    curves=rows(
        "learning curves within tasks",
        group(
            "curve",
            run=text("run id"),
            seed=whole("seed"),
            order=text("order id"),
            task=_TASK,
            metric=text("metric"),
            batches=rows("batches seen, from 0", whole("batches")),
            values=rows("score at each", _VALUE),
        ),
    ),
    evaluation_period=whole("steps between evaluations within a task", least=1),
    predictions=named("SHA-256 of each file of predictions per sample", matching(HASH, "SHA-256")),
    derived=rows(
        "every number of the conclusions",
        group(
            "derived number",
            metric=text("metric id with its variant, such as bwt.gem"),
            of=rows("names of the metrics it is computed from", text("metric")),
            runs=rows("runs averaged over", text("run id")),
            value=number("value"),
            coverage=group("cells", used=whole("used"), needed=whole("needed")),
            baseline=choice("kind of baseline subtracted", *BASELINES),
            orientation={"const": "row=time", "description": "layout of the matrix: row=time"},
            higher_is_better=flag("are higher values better?"),
        ),
    ),
    intervals=rows(
        "an interval for every claim",
        group(
            "interval",
            metric=text("metric id"),
            about=choice("what is claimed about", "method", "checkpoint"),
            level=number("level", least=0, most=1),
            method=text("how it was computed"),
            unit=choice("what varies independently", *_INTERVAL_UNITS),
            low=number("lower end"),
            high=number("upper end"),
        ),
    ),
    worst_order=group("worst order", order=text("order id"), metric=text("metric id"), value=number("value")),
    per_task_differences=named("difference from the main baseline by task id", number("difference")),
    paired_tests=rows(
        "comparisons of methods, keyed and not zipped",
        group(
            "test",
            first=_SIDE,
            second=_SIDE,
            keys=rows("what pairs the runs, such as seed and order", text("key")),
            n=whole("pairs", least=1),
            test=choice("test", "t", "sign-flip", "wilcoxon"),
            sides=choice("sides", "one-sided", "two-sided"),
            p=number("p value", least=0, most=1),
            correction=text("correction for several tests"),
        ),
    ),
    families=group(
        "which metrics belong to which family; there is no total over families",
        **_FAMILY_FIELDS,
    ),
    outside_stream=group(
        "what the sequence did to abilities outside it",
        general=number("change of general ability, trace.dG"),
        instruction=number("change of instruction following, trace.dI"),
        safety=number("change of safety, trace.dS"),
        old_corpus_loss=number("change of the loss on the old corpus"),
    ),
    test_time=group(
        "test-time adaptation",
        online_accuracy=number("accuracy before each update"),
        delay=number("samples until a shift is recovered from", least=0),
        recovery=number("accuracy back on the source"),
    ),
)
_SETS: dict[str, Any] = {
    family: group(
        f"{family}: {kind} are counted",
        n=whole("requests", least=1),
        count=whole(kind),
        upper=number("one-sided upper bound of the rate", least=0, most=1),
        confidence=number("level of the bound", least=0.5, most=1),
        method=choice("method of the bound", "clopper-pearson", "wilson"),
        limit=number("declared limit of the bound", least=0, most=1),
        verdict=choice("verdict", "pass", "block"),
    )
    for family, kind in FAMILIES.items()
}
SAFETY = group(
    "hard gates; for language models",
    sets=group(
        "one set for each family",
        **_SETS,
    ),
    rotation_date=matching(DAY, "date by which the sealed variants are replaced"),
    used_for_tuning=whole("how often these sets were used for tuning"),
)
GRADER = group(
    "what graded generated answers",
    kind=choice("kind", "exact", "execution", "rule", "judge", "human"),
    version=text("name and version"),
    hash=matching(HASH, "SHA-256 of the grader or its weights"),
    prompt_hash=matching(HASH, "SHA-256 of the prompt"),
    rubric=text("rubric"),
    decoding=named("decoding settings of model and judge"),
    candidate_order_randomised=flag("is the order of candidates drawn at random?"),
    blind=flag("are the candidates' origins hidden?"),
    repeats=whole("gradings of each output", least=1),
    agreement=group(
        "agreement of raters",
        statistic=choice(
            "statistic", "cohen-kappa", "fleiss-kappa", *(f"krippendorff-alpha, {level}" for level in LEVELS)
        ),
        value=number("value", most=1),
        n_raters=whole("raters", least=2),
    ),
    length_control=group(
        "slope of score against length", slope=number("slope"), low=number("lower end"), high=number("upper end")
    ),
    grading_variance=number("between gradings of the same output", least=0),
    generation_variance=number("between outputs for the same item"),
    drift_policy=text("what is done when the judge changes"),
)
_HITS = whole("hits")
CONTAMINATION = group(
    "whether test items were seen before",
    pairs=rows("what was checked against what", group("pair", train=text("training texts"), test=text("test items"))),
    exact=group("equal texts", algorithm=text("hash"), hits=_HITS),
    normalised=group("equal normalised texts", rule=text("rule: NFKC, case, space, punctuation"), hits=_HITS),
    ngram=group(
        "long n-grams",
        n=whole("tokens, 13 is common", least=2),
        tokeniser=text("tokens"),
        coverage=number("share of the item covered", least=0, most=1),
        hits=_HITS,
    ),
    short=group("items of fewer tokens than n", rule=text("rule"), hits=_HITS),
    neighbour=group(
        "neighbours in meaning or form",
        encoder=text("encoder"),
        threshold=number("cosine", least=-1, most=1),
        hits=_HITS,
        reviewed=whole("of them read by a person"),
    ),
    timestamps=group(
        "dates",
        train_max=matching(MOMENT, "latest training text"),
        test_min=matching(MOMENT, "earliest test item"),
        violations=whole("items that are not later"),
    ),
    unauditable_base=choice("a base whose data cannot be read is met by", "post-cutoff", "random mapping", "sealed"),
    with_flagged=number("result with the flagged items"),
    without_flagged=number("result without them"),
    scope=text("what the conclusion covers"),
)
REPRO = group(
    "how to get the numbers again",
    commit=text("commit of the repository"),
    dirty=flag("were there changes that are not in the commit?"),
    environment=group("environment", lock=text("lock file"), sha256=matching(HASH, "its SHA-256")),
    command=text("command"),
    config_hash=matching(HASH, "SHA-256 of the configuration"),
    seeds=named("seeds of every level", rows("seeds", whole("seed"))),
    determinism=text("flags of determinism"),
    data_manifest_hash=matching(HASH, "SHA-256 of the list of data files"),
    log_hash=matching(HASH, "SHA-256 of the log"),
    checkpoints=named("SHA-256 of the checkpoint of each stage", matching(HASH, "SHA-256")),
    tolerances=named("expected numeric tolerance by metric", number("tolerance", least=0)),
    rerun=group("evidence of a re-run", who=text("who"), machine=text("on what"), deviation=text("what differed")),
    deviations=rows("deviations from the plan, empty for none", text("deviation"), least=0),
)

SCHEMA: Field = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "Report of a continual-learning experiment",
    **group(
        "report of a continual-learning experiment",
        meta=META,
        problem=PROBLEM,
        stream=STREAM,
        model=MODEL,
        method=METHOD,
        baselines=BASELINES_SECTION,
        resources=RESOURCES,
        results=RESULTS,
        safety=SAFETY,
        grader=GRADER,
        contamination=CONTAMINATION,
        repro=REPRO,
    ),
}


def described(field: Field) -> Field:
    """The field itself, without the choice of leaving it empty."""
    inner: Field = field.get("else", field)
    return inner
