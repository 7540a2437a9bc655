"""Official folder layouts: read right, and refused by name where something is missing or damaged."""

import sys

import numpy as np
import pytest
from PIL import Image

from helpers.datasets import folders
from helpers.errors import InputError, MissingExtra

NAMES = "airplane automobile bird cat deer dog frog horse ship truck".split()


def refused(function, *arguments, **options):
    with pytest.raises(InputError) as refusal:
        function(*arguments, **options)
    return str(refusal.value)


def write_picture(path, pixels):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.asarray(pixels, dtype=np.uint8)).save(path)


# --- CIFAR-10


@pytest.fixture
def cifar(tmp_path):
    """The binary version with 3 pictures a file, and what is in it by file."""
    rng = np.random.default_rng(0)
    content = {}
    for name in [*(f"data_batch_{i}.bin" for i in range(1, 6)), "test_batch.bin"]:
        labels, pixels = rng.integers(10, size=3), rng.integers(256, size=(3, 3, 32, 32))
        content[name] = (labels, pixels)
        records = [bytes([label]) + picture.astype(np.uint8).tobytes() for label, picture in zip(*content[name])]  # noqa: B905
        (tmp_path / name).write_bytes(b"".join(records))
    (tmp_path / "batches.meta.txt").write_text("\n".join(NAMES) + "\n\n", encoding="utf-8")
    return tmp_path, content


def test_cifar10_is_read_as_it_was_written(cifar):
    root, content = cifar
    test = folders.cifar10(root, rows=3)
    labels, pixels = content["test_batch.bin"]
    assert test.classes == tuple(NAMES)
    assert test.images.dtype == np.float32
    assert np.allclose(test.images * 255, pixels, atol=1e-4)
    assert np.array_equal(test.labels, labels)
    assert test.labels.dtype == np.int64
    train = folders.cifar10(str(root), "train", rows=3)
    files = [content[f"data_batch_{i}.bin"] for i in range(1, 6)]
    assert np.array_equal(train.labels, np.concatenate([labels for labels, _ in files]))
    assert np.allclose(train.images * 255, np.concatenate([pixels for _, pixels in files]), atol=1e-4)


def test_missing_cifar10_is_one_clear_message(cifar, tmp_path):
    root, _ = cifar
    (root / "data_batch_4.bin").unlink()
    (root / "batches.meta.txt").unlink()
    message = refused(folders.cifar10, root, "train", rows=3)
    assert message.startswith(f"CIFAR-10 is missing: there is no batches.meta.txt, data_batch_4.bin in {root}.")
    assert "University of Toronto" in message
    assert "put it there" in message
    assert "\n" not in message
    assert "test_batch.bin" in refused(folders.cifar10, tmp_path / "nowhere")


def test_damaged_cifar10_is_refused_by_file(cifar):
    root, _ = cifar
    path = root / "test_batch.bin"
    whole = path.read_bytes()
    assert f"{path}: has 9219 bytes, 10000 pictures take 30730000" in refused(folders.cifar10, root)
    for damaged in (whole[:-1], whole + b"\0", whole[:3073], b""):
        path.write_bytes(damaged)
        assert f"{path}: has {len(damaged)} bytes, 3 pictures take 9219" in refused(folders.cifar10, root, rows=3)
    path.write_bytes(whole[:3073] + b"\x0a" + whole[3074:])
    assert f"{path}: picture 1 has class 10, there are 10" in refused(folders.cifar10, root, rows=3)
    (root / "batches.meta.txt").write_text("cat\ndog\n", encoding="utf-8")
    assert "holds 2 class names" in refused(folders.cifar10, root, rows=3)
    assert "part is 'val'" in refused(folders.cifar10, root, "val")
    assert "rows is 0" in refused(folders.cifar10, root, rows=0)


# --- any folder of pictures


@pytest.fixture
def set_of_pictures(tmp_path):
    """Two classes: ant with b.png and a.PNG, bee with one grey picture; hidden files do not count."""
    rng = np.random.default_rng(1)
    pictures = {
        "ant/a.PNG": rng.integers(256, size=(6, 6, 3)),
        "ant/b.png": rng.integers(256, size=(6, 6, 3)),
        "bee/c.png": rng.integers(256, size=(6, 6)),
    }
    for name, pixels in pictures.items():
        write_picture(tmp_path / name, pixels)
    (tmp_path / ".hidden").write_text("")
    (tmp_path / "ant" / ".hidden").write_text("")
    return tmp_path, pictures


def test_pictures_come_by_class_and_name(set_of_pictures):
    root, pictures = set_of_pictures
    loaded = folders.image_folder(root, size=6)
    assert loaded.classes == ("ant", "bee")
    assert loaded.labels.tolist() == [0, 0, 1]
    assert loaded.images.shape == (3, 3, 6, 6)
    assert loaded.images.dtype == np.float32
    for image, pixels in zip(loaded.images, pictures.values(), strict=True):
        colour = pixels if pixels.ndim == 3 else np.repeat(pixels[..., None], 3, axis=2)
        assert np.allclose(image * 255, np.moveaxis(colour, 2, 0), atol=1e-4)
    grey = folders.image_folder(root, size=6, mode="L")
    assert grey.images.shape == (3, 1, 6, 6)
    assert np.allclose(grey.images[2, 0] * 255, pictures["bee/c.png"], atol=1e-4)


def test_classes_may_be_given_in_the_models_order_and_cut(set_of_pictures):
    root, _ = set_of_pictures
    files = folders.scan(root, classes=["bee", "ant"], per_class=1)
    assert files.classes == ("bee", "ant")
    assert files.labels.tolist() == [0, 1]
    assert [path.name for path in files.paths] == ["c.png", "a.PNG"]


def test_the_middle_square_after_the_shorter_side_is_resized(tmp_path):
    """Columns of 2 pixels in a picture of 8 x 16: halved, each is one pixel, and the middle four are kept."""
    levels = np.array([0, 30, 60, 90, 120, 150, 180, 210])
    write_picture(tmp_path / "wide.png", np.tile(np.repeat(levels, 2), (8, 1)))
    write_picture(tmp_path / "tall.png", np.tile(np.repeat(levels, 2), (8, 1)).T)
    wide, tall = folders.read([tmp_path / "wide.png", tmp_path / "tall.png"], size=4, mode="L")[:, 0] * 255
    assert np.allclose(wide, np.tile(levels[2:6], (4, 1)), atol=1)  # bytes round
    assert np.array_equal(tall, wide.T)
    odd = np.full((7, 31), 200)
    write_picture(tmp_path / "odd.png", odd)
    assert np.allclose(folders.read([tmp_path / "odd.png"], size=5)[0], 200 / 255)  # no dark border from the crop
    assert np.allclose(folders.read([tmp_path / "odd.png"], size=50)[0], 200 / 255)


def test_shrinking_averages(tmp_path):
    board = 255 * (np.indices((64, 64)).sum(axis=0) % 2)
    write_picture(tmp_path / "board.png", board)
    assert np.allclose(folders.read([tmp_path / "board.png"], size=8), 0.5, atol=0.05)


@pytest.mark.parametrize("ending", ["jpg", "png", "bmp", "tif", "webp"])
def test_truncated_pictures_are_refused_by_name(tmp_path, ending):
    path = tmp_path / f"picture.{ending}"
    write_picture(path, np.random.default_rng(2).integers(256, size=(40, 40, 3)))
    assert folders.read([path], size=8).shape == (1, 3, 8, 8)
    whole = path.read_bytes()
    for share in (0, 0.3, 0.7):
        path.write_bytes(whole[: int(share * len(whole))])
        assert f"{path}: cannot be read as a picture" in refused(folders.read, [path], size=8)


def test_deep_pictures_are_refused(tmp_path):
    path = tmp_path / "deep.png"
    Image.fromarray(np.full((4, 4), 40_000, dtype=np.uint16)).save(path)
    assert f"{path}: has more than 8 bits a channel" in refused(folders.read, [path], size=4)


def test_folders_that_are_not_as_they_should_be(set_of_pictures):
    root, _ = set_of_pictures
    message = refused(folders.scan, root / "cat")
    assert f"is missing: there is no cat in {root}" in message
    assert f"{root / 'bee'}: 'bee' is no class of ant" in refused(folders.scan, root, classes=["ant"])
    assert f"{root / 'cat'}: there is no such folder" in refused(folders.scan, root, classes=["ant", "bee", "cat"])
    assert "names one class twice" in refused(folders.scan, root, classes=["ant", "bee", "ant"])
    assert "per_class is 0" in refused(folders.scan, root, per_class=0)
    assert "size is 0" in refused(folders.read, [], size=0)
    assert "mode is 'CMYK'" in refused(folders.read, [], size=4, mode="CMYK")
    (root / "ant" / "notes.txt").write_text("x")
    assert f"{root / 'ant' / 'notes.txt'}: is no picture" in refused(folders.scan, root)
    assert f"{root / 'ant' / 'notes.txt'}: is a file" in refused(folders.scan, root / "ant" / "notes.txt")
    (root / "ant" / "notes.txt").unlink()
    (root / "fly").mkdir()
    assert f"{root / 'fly'}: is empty" in refused(folders.scan, root)
    assert f"{root / 'fly'}: is empty" in refused(folders.scan, root / "fly")
    (root / "fly").rmdir()
    assert f"{root / 'ant'}: holds the file a.PNG" in refused(folders.scan, root / "ant")
    write_picture(root / "ant" / "red" / "d.png", np.zeros((4, 4)))
    assert f"{root / 'ant' / 'red'}: is a folder among pictures: is root one level too high?" in refused(
        folders.scan, root
    )


def test_without_pillow_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    with pytest.raises(MissingExtra, match=r"pip install 'yardsticks\[jupyter\]'"):
        folders.read(["x.png"], size=4)


# --- PACS and ImageNet


def test_pacs(tmp_path):
    for domain in folders.PACS_DOMAINS:
        for number, name in enumerate(folders.PACS_CLASSES):
            write_picture(tmp_path / domain / name / "pic_001.png", np.full((4, 4, 3), 30 * number))
    loaded = folders.pacs(tmp_path, size=4)
    assert tuple(loaded) == folders.PACS_DOMAINS
    for pictures in loaded.values():
        assert pictures.classes == folders.PACS_CLASSES
        assert np.allclose(pictures.images[:, 0, 0, 0] * 255, 30 * pictures.labels)
    (tmp_path / "photo").rename(tmp_path / "photos")
    message = refused(folders.pacs, tmp_path, size=4)
    assert message.startswith(f"PACS is missing: there is no photo in {tmp_path}.")
    assert "Li et al. 2017" in message


def test_imagenet(tmp_path, monkeypatch):
    monkeypatch.setattr(folders, "IMAGENET_CLASSES", 2)
    assert "there is no val in" in refused(folders.imagenet, tmp_path / "val")
    for name in ("n01440764", "n01443537"):
        write_picture(tmp_path / "val" / name / "ILSVRC2012_val_00000001.JPEG", np.zeros((4, 4, 3)))
        write_picture(tmp_path / "val" / name / "ILSVRC2012_val_00000002.JPEG", np.zeros((4, 4, 3)))
    files = folders.imagenet(tmp_path / "val")
    assert files.classes == ("n01440764", "n01443537")
    assert files.labels.tolist() == [0, 0, 1, 1]
    assert len(folders.imagenet(tmp_path / "val", per_class=1).paths) == 2
    write_picture(tmp_path / "val" / "n01484850" / "x.JPEG", np.zeros((4, 4, 3)))
    assert "it holds 3 classes, ImageNet has 2 folders" in refused(folders.imagenet, tmp_path / "val")
    (tmp_path / "val" / "n01484850").rename(tmp_path / "val" / "shark")
    assert "shark is no WordNet id" in refused(folders.imagenet, tmp_path / "val")
