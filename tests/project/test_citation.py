"""CITATION.cff, the licences and the version agree with each other."""

import subprocess
import sys
import tomllib
from pathlib import Path

import yaml

import helpers

ROOT = Path(__file__).resolve().parents[2]
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))


def test_citation_is_valid() -> None:
    check = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.citation-file-format"]
    done = subprocess.run([*check, "CITATION.cff"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_citation_says_what_is_cited() -> None:
    assert {"cff-version", "message", "title", "authors", "version", "license", "abstract"} <= CITATION.keys()
    assert CITATION["title"] == "Yardsticks"
    assert CITATION["version"] == helpers.__version__


def test_citation_has_no_address_yet() -> None:
    assert not CITATION.keys() & {"url", "repository", "repository-code", "doi"}


def test_code_is_mit_and_prose_is_cc_by() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["license"] == CITATION["license"] == "MIT"
    assert (ROOT / "LICENSE").read_text(encoding="utf-8").startswith("MIT License\n")
    prose = (ROOT / "LICENSE-prose").read_text(encoding="utf-8")
    assert "CC BY 4.0" in prose
    assert "Section 8 -- Interpretation." in prose
