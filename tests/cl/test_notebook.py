"""What the chapter carries with it is what the tests hold."""

import json
import math
import re
from pathlib import Path

from helpers import cl

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).parent
NOTEBOOK = json.loads((ROOT / "notebooks" / "cl.ipynb").read_text(encoding="utf-8"))
SOURCES = ["".join(cell["source"]) for cell in NOTEBOOK["cells"]]
SHIPPED = ROOT / "data" / "reports" / "cl-synthetic.yml"


def test_the_shipped_report_passes_and_says_that_it_is_synthetic():
    assert cl.check_report(SHIPPED).findings == ()
    assert "synthetic" in SHIPPED.read_text(encoding="utf-8")


def test_the_log_in_the_chapter_was_written_by_the_tool():
    [text] = re.findall(r'gem_log = """\\\n(.*?)"""', "\n".join(SOURCES), flags=re.S)
    assert text == (HERE / "logs" / "gem" / "gem.txt").read_text(encoding="utf-8")


def test_every_file_that_is_read_is_declared():
    declared = NOTEBOOK["metadata"]["yardsticks"]["data"]
    assert declared == ["data/published/cl.csv", "data/reports/cl-synthetic.yml"]
    assert all((ROOT / path).is_file() for path in declared)


def test_lines_fit_a_page():
    assert not [line for source in SOURCES for line in source.split("\n") if len(line) > 79]


def test_numbers_of_the_prose_are_concluded():
    asked = set(re.findall(r"\{result\}`cl:(\w+)", "\n".join(SOURCES)))
    concluded = set(re.findall(r'^        "(\w+)":', SOURCES[-1], flags=re.M)) | {
        *(f"first_after_{k}" for k in range(1, 4)),
        *(f"sd_{component}" for component in ("order", "seed", "rest")),
        *(f"tta_{what}_{method}" for what in ("online", "delay", "recovery") for method in ("quick", "slow", "fixed")),
    }
    assert len(asked) > 30
    assert asked <= concluded


def test_the_gate_of_the_exercise_is_the_closed_form():
    assert cl.upper_bound(0, 598) <= 0.005 < cl.upper_bound(0, 597)
    assert math.ceil(math.log(0.05) / math.log(0.995)) == 598
    assert cl.upper_bound(1, 947) <= 0.005 < cl.upper_bound(1, 946)
