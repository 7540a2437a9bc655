"""The training loss: the worst matching frame of each window, and nothing else, is pulled on."""

import pytest

torch = pytest.importorskip("torch")

from torch.nn.functional import cross_entropy  # noqa: E402

from helpers import pmk  # noqa: E402
from helpers.errors import InputError  # noqa: E402
from helpers.pmk.training import loss  # noqa: E402

E8 = [[2.0, 0, 0], [0.5, 1, 0], [0, 3, 1]]


@pytest.fixture
def batch():
    """Eight frames of four classes, and windows of unequal length that overlap and mix labels."""
    torch.manual_seed(3)
    logits = torch.randn(8, 4, dtype=torch.float64, requires_grad=True)
    return logits, torch.tensor([1, 1, 1, 2, 2, 2, 0, 1]), [[0, 1, 2], [3, 2, 4, 5], [6], [1, 3, 7]]


def slow(logits, labels, windows):
    """One frame at a time, from the definition."""
    worst = []
    for window in windows:
        target = labels[window[0]]
        matching = [frame for frame in window if labels[frame] == target]
        worst.append(max(cross_entropy(logits[frame][None], target[None]).item() for frame in matching))
    return sum(worst) / len(worst)


def test_is_a_lazy_name_of_the_house():
    assert pmk.loss is pmk.loss is loss


def test_worked_example_e8():
    logits = torch.tensor(E8, dtype=torch.float64, requires_grad=True)
    labels = torch.zeros(3, dtype=torch.long)
    each = [loss(logits, labels, [[frame]]).item() for frame in range(3)]
    assert each == pytest.approx([0.239545, 1.180270, 3.169846], abs=5e-7)
    value = loss(logits, labels, [[0, 1, 2]])
    value.backward()
    assert value.item() == pytest.approx(3.169846, abs=5e-7)
    assert torch.equal(logits.grad[:2], torch.zeros(2, 3, dtype=torch.float64))
    expected = torch.softmax(logits[2].detach(), 0) - torch.tensor([1.0, 0, 0], dtype=torch.float64)
    assert torch.allclose(logits.grad[2], expected, atol=1e-12)


def test_equals_the_definition(batch):
    assert loss(*batch).item() == pytest.approx(slow(*batch), abs=1e-12)


def test_gradients_match_finite_differences(batch):
    logits, labels, windows = batch
    assert torch.autograd.gradcheck(lambda x: loss(x, labels, windows), (logits,))


def test_padded_windows_are_the_same_as_lists(batch):
    logits, labels, windows = batch
    longest = max(map(len, windows))
    padded = torch.tensor([window + [-1] * (longest - len(window)) for window in windows])
    value, same = loss(logits, labels, windows), loss(logits, labels, padded)
    assert same.item() == value.item()
    holes = torch.tensor([[0, -1, 1, 2], [3, 2, 4, 5], [6, -1, -1, -1], [1, 3, -1, 7]])
    assert loss(logits, labels, holes).item() == value.item()


def test_padding_is_not_the_last_frame_nor_the_first(batch):
    """The frame that index -1 or 0 would reach is made the worst of all and of the anchor's label."""
    logits, labels, _ = batch
    spoilt = logits.detach().clone()
    spoilt[7, 1] = spoilt[0, 1] = -50.0
    windows = torch.tensor([[1, 2, -1], [1, -1, -1]])
    assert loss(spoilt, labels, windows).item() < 10.0


def test_frames_of_another_label_do_not_compete():
    logits = torch.tensor(E8, requires_grad=True)
    labels = torch.tensor([0, 0, 2])
    assert loss(logits, labels, [[2]]).item() > 2.0  # the worst frame of all
    value = loss(logits, labels, [[0, 1, 2]])
    value.backward()
    assert value.item() == pytest.approx(1.180270, abs=1e-6)
    assert logits.grad.abs().sum(dim=1).nonzero().flatten().tolist() == [1]


def test_the_anchor_belongs_to_its_window():
    logits = torch.tensor(E8[::-1])
    assert loss(logits, torch.zeros(3, dtype=torch.long), [[0, 1, 2]]).item() == pytest.approx(3.169846, abs=1e-6)


def test_of_equally_bad_frames_the_anchor_counts():
    logits = torch.ones(3, 2, requires_grad=True)
    loss(logits, torch.zeros(3, dtype=torch.long), [[1, 0, 2]]).backward()
    assert logits.grad.abs().sum(dim=1).nonzero().flatten().tolist() == [1]


def test_an_impossible_class_is_infinitely_bad_and_still_the_worst():
    logits = torch.tensor([[0.0, 0.0], [-torch.inf, 0.0]])
    assert loss(logits, torch.zeros(2, dtype=torch.long), [[0, 1]]).item() == float("inf")


def test_following_it_lowers_the_worst_error():
    """Two paraphrases of each of two sentences: any things that mean the same make a window."""
    torch.manual_seed(0)
    sentences, model = torch.randn(6, 5), torch.nn.Linear(5, 2)
    labels, windows = torch.tensor([0, 0, 0, 1, 1, 1]), [[0, 1, 2], [3, 4, 5]]
    optimiser = torch.optim.SGD(model.parameters(), lr=0.2)
    before = loss(model(sentences), labels, windows).item()
    for _ in range(100):
        optimiser.zero_grad()
        loss(model(sentences), labels, windows).backward()
        optimiser.step()
    assert loss(model(sentences), labels, windows).item() < before / 2


LOGITS, LABELS = torch.zeros(3, 2), torch.tensor([0, 1, 0])


@pytest.mark.parametrize(
    ("logits", "labels", "windows", "message"),
    [
        (torch.zeros(3), LABELS, [[0]], r"logits is of shape \(3,\)"),
        (torch.zeros(3, 2, dtype=torch.long), LABELS, [[0]], "logits is .*int64: give a tensor of outputs"),
        ([[0.0, 1.0]], LABELS, [[0]], "logits is list"),
        (LOGITS, LABELS[:2], [[0]], "labels is .* each of the 3 frames"),
        (LOGITS, LABELS.float(), [[0]], "labels is .*float32"),
        (LOGITS, torch.tensor([0, 2, 0]), [[0]], r"labels\[1\] is 2: with 2 classes it lies in 0..1"),
        (LOGITS, torch.tensor([0, 1, -1]), [[0]], r"labels\[2\] is -1"),
        (LOGITS, LABELS, [], r"windows is \[\]: give at least one"),
        (LOGITS, LABELS, 3, "windows is 3: give at least one"),
        (LOGITS, LABELS, "ab", "windows is 'ab': give at least one"),
        (LOGITS, LABELS, [[0], []], r"windows\[1\] is empty: give the rows of an anchor"),
        (LOGITS, LABELS, [[0], [0.5]], r"windows\[1\] has .* float64: give the rows of an anchor"),
        (LOGITS, LABELS, [[0, -1]], r"windows\[0\]\[1\] is -1: .* from 0 up"),
        (LOGITS, LABELS, [[0], [1, True]], r"windows\[1\]\[1\] is True: give the rows"),
        (LOGITS, LABELS, [0, 1], r"windows\[0\] has shape \(\)"),
        (LOGITS, LABELS, [["a"]], r"windows\[0\] has .* <U1: give the rows"),
        (LOGITS, LABELS, [[0], [1, 3]], r"windows\[1, 1\] is 3: with 3 frames it lies in 0..2"),
        (LOGITS, LABELS, torch.tensor([[0, -2]]), r"windows\[0, 1\] is -2"),
        (LOGITS, LABELS, torch.tensor([[-1, 0]]), r"windows\[0\] does not begin with a frame"),
        (LOGITS, LABELS, torch.tensor([0, 1]), r"windows is of shape \(2,\)"),
        (LOGITS * float("nan"), LABELS, [[0]], r"logits\[0\] is \[nan, nan\]: no cross-entropy"),
    ],
)
def test_refuses(logits, labels, windows, message):
    with pytest.raises(InputError, match=message):
        loss(logits, labels, windows)
