"""Errata and glossary: one file per chapter, joined and checked."""

import ast
from pathlib import Path

import joined
import pytest
from sphinx.errors import ExtensionError

ROOT = Path(__file__).resolve().parents[2]
ERRATA = joined.load_errata(ROOT / "book" / "errata")
ENTRY = "- {id: %s, source: a paper, claim: it is, holds: it is not, test: 'tests/a.py::test_it'}\n"


def test_errata_come_in_the_order_of_files_and_entries(tmp_path: Path) -> None:
    (tmp_path / "b.yml").write_text(ENTRY % "third", encoding="utf-8")
    (tmp_path / "a.yml").write_text(ENTRY % "first-one" + ENTRY % "second", encoding="utf-8")
    (tmp_path / "c.yml").write_text("", encoding="utf-8")
    errata = joined.load_errata(tmp_path)
    assert [(erratum.chapter, erratum.id) for erratum in errata] == [
        ("a", "first-one"),
        ("a", "second"),
        ("b", "third"),
    ]
    assert errata[0].title == "First one"


@pytest.mark.parametrize(
    ("id", "title"),
    [
        ("lca-is-not-0-19", "LCA is not 0.19"),
        ("no-forward-transfer-in-class-il", "No forward transfer in Class-IL"),
        ("best-control-is-observable", "Best control is observable"),
        ("covariance-with-ddof-1", "Covariance with ddof 1"),
    ],
)
def test_a_title_is_the_id_as_readers_write_it(id: str, title: str) -> None:
    assert joined.Erratum("cl", id, "a paper", "it is", "it is not", "t").title == title


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (ENTRY % "taken" + ENTRY % "taken", "b.yml: erratum id 'taken' is taken by b.yml"),
        (ENTRY % "other", "b.yml: erratum id 'other' is taken by a.yml"),
        (ENTRY % "Not_An_Id", "b.yml: entry 1: id 'Not_An_Id' must be lower-case words joined by hyphens"),
        (
            "- {id: x, claim: y}\n",
            "b.yml: entry 1: must have exactly the keys id, source, claim, holds, test",
        ),
        ((ENTRY % "x").replace("it is not", "''"), "b.yml: entry 1: holds must be text, not ''"),
        ("id: x\n", "b.yml: must hold a YAML list, not a dict"),
        ("- [\n", "b.yml: not valid YAML"),
    ],
)
def test_bad_errata_are_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "a.yml").write_text(ENTRY % "other", encoding="utf-8")
    (tmp_path / "b.yml").write_text(text, encoding="utf-8")
    with pytest.raises(ExtensionError, match=message):
        joined.load_errata(tmp_path)


def test_terms_are_joined_in_alphabetical_order(tmp_path: Path) -> None:
    (tmp_path / "a.yml").write_text("pair: two\nAnchor: one\n", encoding="utf-8")
    (tmp_path / "b.yml").write_text("nat: a unit\n", encoding="utf-8")
    assert list(joined.load_glossary(tmp_path)) == ["Anchor", "nat", "pair"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Pair: again\n", "b.yml: term 'pair' is taken by a.yml"),
        ("flip: ''\n", "b.yml: term 'flip': a term and its definition must be text"),
        ("1: one\n", "b.yml: term 1: a term and its definition must be text"),
        ("- flip\n", "b.yml: must hold a YAML dict, not a list"),
    ],
)
def test_bad_terms_are_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "a.yml").write_text("pair: two\n", encoding="utf-8")
    (tmp_path / "b.yml").write_text(text, encoding="utf-8")
    with pytest.raises(ExtensionError, match=message):
        joined.load_glossary(tmp_path)


def test_the_books_own_files_are_sound() -> None:
    assert ERRATA
    assert joined.load_glossary(ROOT / "book" / "glossary")


@pytest.mark.parametrize("erratum", ERRATA, ids=[erratum.id for erratum in ERRATA])
def test_every_erratum_has_its_test(erratum: joined.Erratum) -> None:
    file, _, name = erratum.test.partition("::")
    assert name == f"test_{erratum.id.replace('-', '_')}"
    assert (ROOT / file).is_file(), f"{file} is not there"
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
