"""Kept weights: trained once, named by all they depend on, and never trusted without their checksum."""

import hashlib
import os
import pickle

import numpy as np
import pytest
import torch

from helpers import records
from helpers.errors import InputError
from helpers.models import training, weights
from helpers.models.small import SmallCNN

KEY = {"recipe": "plain", "epochs": 1, "seed": 0}


class Training:
    """Counts how often it is asked; each time the weights are others."""

    def __init__(self):
        self.runs = 0

    def __call__(self):
        self.runs += 1
        return SmallCNN(seed=self.runs)


@pytest.fixture
def train():
    return Training()


@pytest.fixture(autouse=True)
def no_folder(monkeypatch):
    monkeypatch.delenv(weights.CACHE, raising=False)


def same(one, other):
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def stored(folder):
    (path,) = folder.glob("*.pt")
    return path


def test_the_second_call_does_not_train(train, tmp_path):
    folder = tmp_path / "new" / "folder"
    first = weights.cached(train, key=KEY, folder=folder)
    second = weights.cached(train, key=dict(reversed(KEY.items())), folder=folder)
    assert train.runs == 1
    assert same(first, second)
    assert same(second, SmallCNN(seed=1).state_dict())
    model = SmallCNN(seed=5)
    model.load_state_dict(second)
    assert np.array_equal(
        training.logits(model, np.ones((1, 1, 8, 8), np.float32)),
        training.logits(SmallCNN(seed=1), np.ones((1, 1, 8, 8), np.float32)),
    )


def test_weights_given_back_are_the_callers_own(tmp_path):
    model = SmallCNN()
    state = weights.cached(lambda: model, key=KEY)
    next(iter(state.values())).zero_()
    assert next(model.parameters()).abs().sum() > 0


def test_without_a_folder_every_call_trains(train, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    weights.cached(train, key=KEY)
    weights.cached(train, key=KEY)
    assert train.runs == 2
    assert not list(tmp_path.iterdir())


def test_the_folder_may_come_from_the_environment(train, tmp_path, monkeypatch):
    monkeypatch.setenv(weights.CACHE, str(tmp_path))
    weights.cached(train, key=KEY)
    weights.cached(train, key=KEY)
    assert train.runs == 1
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".pt", ".sha256"]


@pytest.mark.parametrize("change", [{"seed": 1}, {"recipe": "robust"}, {"data": "0" * 64}])
def test_another_key_is_another_file(train, tmp_path, change):
    weights.cached(train, key=KEY, folder=tmp_path)
    weights.cached(train, key={**KEY, **change}, folder=tmp_path)
    assert train.runs == 2
    assert len(list(tmp_path.glob("*.pt"))) == 2


@pytest.mark.parametrize("what", ["torch", "code"])
def test_another_torch_or_other_code_is_another_file(train, tmp_path, monkeypatch, what):
    weights.cached(train, key=KEY, folder=tmp_path)
    if what == "torch":
        monkeypatch.setattr(torch, "__version__", "0.0")
    else:
        monkeypatch.setattr(weights, "_code", lambda: "other")
    weights.cached(train, key=KEY, folder=tmp_path)
    assert train.runs == 2
    assert len(list(tmp_path.glob("*.pt"))) == 2


def test_the_checksum_is_that_of_the_file(train, tmp_path):
    weights.cached(train, key=KEY, folder=tmp_path)
    path = stored(tmp_path)
    assert path.with_suffix(".sha256").read_text().strip() == hashlib.sha256(path.read_bytes()).hexdigest()
    assert torch.load(path, weights_only=True)["state"].keys() == SmallCNN().state_dict().keys()


def flip_a_byte(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def truncate(path):
    path.write_bytes(path.read_bytes()[:-100])


def lose_the_checksum(path):
    path.with_suffix(".sha256").unlink()


def garble_the_checksum(path):
    path.with_suffix(".sha256").write_bytes(b"\xff\xfe")


def lose_the_weights(path):
    path.unlink()


@pytest.mark.parametrize(
    "damage",
    [flip_a_byte, truncate, lose_the_checksum, garble_the_checksum, lose_the_weights],
    ids=lambda f: f.__name__,
)
def test_a_damaged_file_is_trained_again_and_mended(train, tmp_path, damage):
    weights.cached(train, key=KEY, folder=tmp_path)
    damage(stored(tmp_path))
    assert same(weights.cached(train, key=KEY, folder=tmp_path), SmallCNN(seed=2).state_dict())
    assert same(weights.cached(train, key=KEY, folder=tmp_path), SmallCNN(seed=2).state_dict())
    assert train.runs == 2


class Bomb:
    """Runs a command when it is unpickled."""

    def __init__(self, target):
        self.target = target

    def __reduce__(self):
        return os.mkdir, (str(self.target),)


def replace(path, content):
    path.write_bytes(content)
    path.with_suffix(".sha256").write_text(hashlib.sha256(content).hexdigest())


def test_a_foreign_file_is_not_run_even_if_its_checksum_fits(train, tmp_path):
    weights.cached(train, key=KEY, folder=tmp_path / "cache")
    path = stored(tmp_path / "cache")
    replace(path, pickle.dumps(Bomb(tmp_path / "pickled")))
    weights.cached(train, key=KEY, folder=tmp_path / "cache")
    torch.save({"state": Bomb(tmp_path / "saved")}, path)
    replace(path, path.read_bytes())
    weights.cached(train, key=KEY, folder=tmp_path / "cache")
    torch.save([1.0], path)
    replace(path, path.read_bytes())
    weights.cached(train, key=KEY, folder=tmp_path / "cache")
    assert train.runs == 4
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["cache"]


def test_weights_of_another_recipe_under_this_name_are_not_taken(train, tmp_path):
    weights.cached(train, key={"recipe": "robust"}, folder=tmp_path)
    robust = stored(tmp_path).read_bytes()
    plain = {*tmp_path.glob("*.pt")}
    weights.cached(train, key=KEY, folder=tmp_path)
    (mine,) = {*tmp_path.glob("*.pt")} - plain
    replace(mine, robust)
    assert same(weights.cached(train, key=KEY, folder=tmp_path), SmallCNN(seed=3).state_dict())


@pytest.mark.parametrize("survivors", [0, 1])
def test_an_interrupted_write_leaves_nothing_that_is_read(train, tmp_path, monkeypatch, survivors):
    """Interrupted in the first file, or in the second: no temporary files, and the next call trains."""
    entered = []

    class Interrupted(records.atomic):
        def __enter__(self):
            entered.append(super().__enter__())
            if len(entered) > survivors:
                self.__exit__(KeyboardInterrupt)
                raise KeyboardInterrupt
            return entered[-1]

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(records, "atomic", Interrupted)
        weights.cached(train, key=KEY, folder=tmp_path)
    assert len(list(tmp_path.iterdir())) == survivors
    weights.cached(train, key=KEY, folder=tmp_path)
    assert train.runs == 2


def test_content_hashes_see_values_types_and_shapes():
    array = np.arange(6.0).reshape(2, 3)
    others = [array + 1, array.astype(np.float32), array.reshape(3, 2), array.T, array[::-1]]
    hashes = {weights.content_hash(each) for each in (array, *others)}
    assert len(hashes) == 6
    assert weights.content_hash(np.asfortranarray(array)) == weights.content_hash(array)
    assert weights.content_hash(array, array) != weights.content_hash(array)


@pytest.mark.parametrize("value", [object(), float("nan"), np.zeros(2)])
def test_a_key_that_is_no_json_is_refused(train, value):
    with pytest.raises(InputError, match="key cannot be written as JSON"):
        weights.cached(train, key={"seed": value})
    assert train.runs == 0
