"""Traces made from printed means: the means come out, the stand-ins behave as said, and what is shipped is fresh."""

import numpy as np
import pytest

from helpers import results, tempora
from helpers.errors import InputError
from helpers.tempora import reconstruction
from helpers.tempora.measure import AmortisedScenario, ContinuousScenario, DiscreteScenario, run
from helpers.tempora.reconstruction import Curve, Learner

METHODS = reconstruction.METHODS
LEARNING = ("SHOT-IM", "ETA", "CMF", "SAR")
#: Where a rebuild took place, and when, is not what it built.
CIRCUMSTANCE = {"python", "versions", "time"}
# Over seeds, offline accuracy varies with a deviation of at most 0.06 points and live utility of 0.11: three of these.
OFFLINE_BAND, LIVE_BAND = 0.2, 0.33


@pytest.fixture(scope="module")
def traces():
    return reconstruction.traces()


def printed(table):
    return {(row["row"], row["column"]): row["value"] for row in results.published("tempora", table)}


def same(one, other):
    for name in ("correct", "size", "intrinsic_ns", "extrinsic_ns"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    for name in ("corruption", "method", "device", "policy", "reference_ns", "live", "served", "arrival_ns"):
        assert getattr(one, name) == getattr(other, name)
    kept = ({k: v for k, v in trace.provenance.items() if k not in CIRCUMSTANCE} for trace in (one, other))
    assert next(kept) == next(kept)


def test_a_fresh_rebuild_equals_what_is_shipped(traces, tmp_path, capsys):
    shipped = reconstruction.load()
    assert list(shipped) == list(traces) == list(METHODS)
    for name, trace in traces.items():
        same(shipped[name], trace)
    reconstruction.main([str(tmp_path / "new" / "folder")])
    written = capsys.readouterr().out.split()
    assert len(written) == len(METHODS)
    for name, trace in reconstruction.load(tmp_path / "new" / "folder").items():
        same(shipped[name], trace)


def test_what_is_shipped_is_small_and_says_what_it_is():
    files = sorted(reconstruction.SHIPPED.glob("tempora-*.npz"))
    assert len(files) == len(METHODS)
    assert max(path.stat().st_size for path in files) <= 100_000
    for trace in reconstruction.load().values():
        assert trace.provenance["rebuild"] == "python -m helpers.tempora.reconstruction"
        assert "not measured" in trace.provenance["what"]
        assert (trace.provenance["seed"], trace.provenance["jitter"], trace.provenance["batches"]) == (0, 0.01, 781)


def test_latencies_have_the_printed_means(traces):
    latency = printed("T2-latency")
    for name in METHODS[1:]:
        trace = traces[name]
        assert trace.latency_ms.mean() == pytest.approx(latency[name, "latency"], abs=1e-3)
        assert trace.extrinsic_ms.mean() == pytest.approx(latency[name, "extrinsic"], abs=1e-3)
        assert trace.intrinsic_ms.std() == pytest.approx(0.01 * trace.intrinsic_ms.mean(), abs=1e-3)
    assert len(np.unique(traces["AdaBN"].extrinsic_ns)) == 1
    # six deviations above the mean of standard inference lies lambda
    assert tempora.reference_latency(traces["Standard"]).value_ms == pytest.approx(39.9, abs=1e-3)
    assert {trace.reference_ns for trace in traces.values()} == {39_900_000}
    # parts and methods vary independently of one another: four standard errors of a correlation of 781 pairs are 0.14
    eta = traces["ETA"]
    for other in (eta.extrinsic_ns, traces["CMF"].intrinsic_ns, traces["Standard"].intrinsic_ns):
        assert abs(np.corrcoef(eta.intrinsic_ns, other)[0, 1]) < 0.14


def test_accuracies_are_those_that_follow_from_print(traces):
    offline = printed("derived-offline")
    for name in METHODS[1:]:
        assert 100 * traces[name].accuracy.mean() == pytest.approx(offline[name, "offline accuracy"], abs=OFFLINE_BAND)
    # without learning there is no noise: the difficulties are evenly spaced
    for name, value in (("Standard", 0.1816), ("AdaBN", 0.318)):
        assert traces[name].correct.sum() == pytest.approx(781 * 64 * value, abs=1)
    frozen = reconstruction.frozen_accuracies()
    assert frozen == {"Standard": 0.1816, "AdaBN": None, "SHOT-IM": 0.322, "ETA": 0.001, "CMF": 0.001, "SAR": 0.001}


def test_printed_utilities_come_out(traces):
    utility, frozen = printed("T1-utility"), reconstruction.frozen_accuracies()
    for name, trace in traces.items():
        late = tempora.continuous(trace, threshold_ms=50)
        assert 100 * late.utility == pytest.approx(utility[name, "continuous T=50ms"], abs=0.1)
        spent = tempora.amortised(trace, budget_ms=1000, frozen_accuracy=frozen[name], cut="overshoot")
        assert 100 * spent.utility == pytest.approx(utility[name, "amortised B=1s"], abs=0.1)


@pytest.mark.parametrize("name", METHODS)
def test_live_the_printed_discrete_utility_comes_out(traces, name):
    trace = traces[name]
    lived = run(
        Learner(name),
        reconstruction.stream(),
        DiscreteScenario(39.9),
        clock={name: (trace.intrinsic_ms, trace.extrinsic_ms)},
    )
    found = tempora.discrete(lived, require="live")
    assert 100 * found.utility == pytest.approx(printed("T1-utility")[name, "discrete rho=100%"], abs=LIVE_BAND)
    projected = tempora.discrete(trace, period_ms=39.9)
    assert found.served.tolist() == projected.served.tolist()
    if name in LEARNING:
        assert found.utility < projected.utility - 0.005
    else:
        assert found.utility == projected.utility


def test_the_offline_log_is_the_stand_in_given_every_batch(traces):
    for name in METHODS:
        log = run(Learner(name), reconstruction.stream(), ContinuousScenario(), clock={name: (1, 0)})
        np.testing.assert_array_equal(log.correct, traces[name].correct)


def test_a_frozen_stand_in_scores_what_is_printed_and_learns_no_more(traces):
    method, clock = Learner("ETA"), {"ETA": (41.1, 56.6)}
    lived = run(method, reconstruction.stream(), AmortisedScenario(1000), clock=clock, reference_ms=39.9)
    found = tempora.amortised(lived, budget_ms=1000)
    assert (found.switch, method.adapted) == (17, 17)
    assert found.frozen_accuracy == pytest.approx(0.001, abs=2e-4)
    assert lived.correct[:17].tolist() == traces["ETA"].correct[:17].tolist()
    method.unfreeze()
    assert next(method.forward(np.array([0.5])))[0, 0] == pytest.approx(float(method.curve(17)))
    method.reset()
    assert next(method.forward(np.array([0.5])))[0, 0] == pytest.approx(0.318)


def test_a_frozen_accuracy_that_is_not_printed_is_refused():
    method = Learner("AdaBN")
    method.freeze()
    with pytest.raises(InputError, match="no accuracy of a frozen AdaBN: give it a longer budget"):
        next(method.forward(np.array([0.5])))


def test_a_curve_through_two_means():
    for truth in (Curve(0.3, 0.5, 20.0), Curve(0.3, 0.6, 400.0)):
        few, many = 0.0, 0.0
        for t in range(700):  # by hand
            value = truth.limit - (truth.limit - truth.start) * np.exp(-t / truth.pace)
            few, many = few + value * (t < 150), many + value
        found = Curve.through(0.3, (150, few / 150), (700, many / 700))
        assert (found.limit, found.pace) == pytest.approx((truth.limit, truth.pace), rel=1e-6)
    curves, utility, offline = reconstruction.curves(), printed("T1-utility"), printed("derived-offline")
    for name in LEARNING:
        share = tempora.availability(printed("T2-latency")[name, "latency"], period_ms=39.9, batches=781)
        served = curves[name].mean(round(781 * share))
        assert 100 * share * served == pytest.approx(utility[name, "discrete rho=100%"], abs=1e-6)
        assert 100 * curves[name].mean(781) == pytest.approx(offline[name, "offline accuracy"], abs=1e-6)
        assert curves[name].start == curves["AdaBN"].start < curves[name].limit < 0.52
        assert 20 < curves[name].pace < 200


def test_difficulties_are_even_and_in_random_order():
    stream = reconstruction.stream(batches=20, seed=3)
    assert np.sort(stream.inputs) == pytest.approx((np.arange(20 * 64) + 0.5) / (20 * 64))
    assert abs(np.corrcoef(stream.inputs[1:], stream.inputs[:-1])[0, 1]) < 0.1
    assert (len(stream), stream.labels.max()) == (20, 0)
    assert not np.array_equal(stream.inputs, reconstruction.stream(batches=20, seed=4).inputs)


def test_the_options_do_what_they_say():
    still = reconstruction.traces(jitter=0, batches=30)
    assert still["ETA"].n == 30 and np.ptp(still["ETA"].latency_ns) == 0
    assert still["Standard"].latency_ms[0] == 39.9
    one, other = (reconstruction.traces(seed=seed, batches=30)["ETA"] for seed in (1, 2))
    assert not np.array_equal(one.latency_ns, other.latency_ns) and not np.array_equal(one.correct, other.correct)
    assert one.latency_ms.mean() == pytest.approx(97.7, abs=2e-3)
    # the curve of learning is that of the batches, whatever the length
    assert reconstruction.traces(batches=30, jitter=0)["ETA"].accuracy.mean() < 0.37


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"jitter": -0.01}, "jitter is -0.01: give a share from 0 to 0.02"),
        ({"jitter": 0.03}, "jitter is 0.03"),
        ({"jitter": float("nan")}, "jitter is nan"),
        ({"batches": 1}, "batches is 1"),
        ({"seed": -1}, "seed is -1"),
    ],
)
def test_options_out_of_range_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        reconstruction.traces(**options)


def test_other_names_and_missing_files_are_refused(tmp_path):
    with pytest.raises(InputError, match="name is 'LAME': there are Standard, AdaBN"):
        Learner("LAME")
    found = reconstruction.traces(batches=10)
    reconstruction.save(found, tmp_path)
    (tmp_path / "tempora-shot-im.npz").unlink()
    with pytest.raises(InputError, match=r"there is no tempora-shot-im.npz: write the traces with python -m"):
        reconstruction.load(tmp_path)
