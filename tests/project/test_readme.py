"""The README says what is so."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tools import readme

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")


def test_table_of_chapters_is_made_from_their_files():
    assert readme.with_table(TEXT, readme.table(ROOT)) == TEXT
    assert len(list((ROOT / "book" / "chapters").glob("*.yml"))) == 5


def test_every_link_leads_to_a_file():
    targets = re.findall(r"\]\(([^)#]+)\)", TEXT)
    assert targets
    for target in targets:
        assert (ROOT / target).exists(), target


def test_every_picture_is_there_is_small_and_is_described():
    pictures = re.findall(r"!\[([^\]]*)\]\(([^)]+)\)", TEXT)
    assert {Path(target).name for _, target in pictures} >= {"explore.png", "run.png"}
    for description, target in pictures:
        assert len(description.split()) > 5, target
        assert (ROOT / target).stat().st_size < 150_000, target


def test_the_five_lines_run(tmp_path):
    code = re.search(r"```python\n(.*?)```", TEXT, flags=re.S).group(1)
    rng = np.random.default_rng(0)
    np.save(tmp_path / "clean.npy", rng.normal(size=(50, 3)))
    np.save(tmp_path / "shifted.npy", rng.normal(size=(50, 3)))
    ran = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert ran.stdout.startswith("Agreement(value=")


def test_the_table_is_not_taken_on_trust(tmp_path):
    with pytest.raises(ValueError):
        readme.with_table("no markers", "table")
    assert readme.with_table(f"a{readme.BEGIN}old{readme.END}b", "new") == f"a{readme.BEGIN}\nnew\n{readme.END}b"
