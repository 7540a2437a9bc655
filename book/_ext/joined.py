"""Sphinx extension: errata and glossary are one file per chapter, joined here into one page each.

`book/errata/<chapter>.yml` is a list of {id, source, claim, holds, test}; `book/glossary/<chapter>.yml` maps
terms to definitions. The directives `joined-errata` and `joined-glossary` take the folder, relative to the
repository root.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

#: Names that an id, which is in small letters, cannot show.
WRITTEN = {
    name.lower().replace("-", " "): name for name in ("LCA", "Class-IL", "PPI", "ASI", "ETA", "Adam", "L2", "Avalanche")
}
FIELDS = ("id", "source", "claim", "holds", "test")


@dataclass(frozen=True)
class Erratum:
    """One place where a source is wrong: its claim, what holds instead, and the test that shows it."""

    chapter: str
    id: str
    source: str
    claim: str
    holds: str
    test: str

    @property
    def title(self) -> str:
        """The id as words, written as readers know them."""
        words = re.sub(r"\b(\d+)-(\d+)\b", r"\1.\2", self.id).replace("-", " ").capitalize()
        return re.sub(
            "|".join(rf"\b{name}\b" for name in WRITTEN), lambda found: WRITTEN[found[0].lower()], words, flags=re.I
        )


def load_errata(folder: Path) -> list[Erratum]:
    """The errata of all chapters, in the order of the files. Raises ExtensionError, naming file and entry."""
    errata: list[Erratum] = []
    owners: dict[str, str] = {}
    for path in sorted(folder.glob("*.yml")):
        entries = _read_yaml(path, list)
        for number, entry in enumerate(entries, start=1):
            erratum = _erratum(entry, path, f"entry {number}")
            _claim(owners, erratum.id, path, "erratum id")
            errata.append(erratum)
    return errata


def load_glossary(folder: Path) -> dict[str, str]:
    """Definitions of all chapters by term, alphabetically. Raises ExtensionError, naming file and term."""
    terms: dict[str, str] = {}
    owners: dict[str, str] = {}
    for path in sorted(folder.glob("*.yml")):
        for term, definition in _read_yaml(path, dict).items():
            if not (isinstance(term, str) and isinstance(definition, str) and definition.strip()):
                raise ExtensionError(f"{path}: term {term!r}: a term and its definition must be text")
            _claim(owners, term.casefold(), path, "term")
            terms[term] = definition.strip()
    return dict(sorted(terms.items(), key=lambda item: item[0].casefold()))


def _read_yaml(path: Path, kind: type) -> Any:
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise ExtensionError(f"{path}: not valid YAML: {error}") from error
    if content is None:
        return kind()
    if not isinstance(content, kind):
        raise ExtensionError(f"{path}: must hold a YAML {kind.__name__}, not a {type(content).__name__}")
    return content


def _erratum(entry: Any, path: Path, place: str) -> Erratum:
    if not isinstance(entry, dict) or set(entry) != set(FIELDS):
        raise ExtensionError(f"{path}: {place}: must have exactly the keys {', '.join(FIELDS)}")
    empty = [key for key in FIELDS if not (isinstance(entry[key], str) and entry[key].strip())]
    if empty:
        raise ExtensionError(f"{path}: {place}: {empty[0]} must be text, not {entry[empty[0]]!r}")
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", entry["id"]):
        raise ExtensionError(f"{path}: {place}: id {entry['id']!r} must be lower-case words joined by hyphens")
    return Erratum(path.stem, **{key: entry[key].strip() for key in FIELDS})


def _claim(owners: dict[str, str], name: str, path: Path, kind: str) -> None:
    if name in owners:
        raise ExtensionError(f"{path}: {kind} {name!r} is taken by {owners[name]}; choose another or drop one")
    owners[name] = path.name


def chapter_title(root: Path, chapter: str) -> str:
    """The first heading of the chapter's notebook."""
    notebook = json.loads((root / "notebooks" / f"{chapter}.ipynb").read_text(encoding="utf-8"))
    text = "\n".join("".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "markdown")
    heading = re.search(r"^# (.+)$", text, flags=re.MULTILINE)
    if heading is None:
        raise ExtensionError(f"notebooks/{chapter}.ipynb has no first-level heading")
    return heading.group(1).strip()


class _Joined(SphinxDirective):
    """A directive whose argument is a folder of YAML files; a change in one re-reads the page."""

    required_arguments = 1

    def folder(self) -> Path:
        folder = Path(self.env.srcdir, self.arguments[0])
        for path in folder.glob("*.yml"):
            self.env.note_dependency(str(path))
        return folder

    def parse(self, text: str) -> list[nodes.Node]:
        """Nodes for Markdown text without headings."""
        return self.parse_text_to_nodes(text, offset=self.content_offset)


class JoinedErrata(_Joined):
    """All errata: a section for each chapter, in it a section for each erratum."""

    def run(self) -> list[nodes.Node]:
        sections: dict[str, nodes.section] = {}
        for erratum in load_errata(self.folder()):
            if erratum.chapter not in sections:
                sections[erratum.chapter] = self.chapter_section(erratum.chapter)
            sections[erratum.chapter] += self.erratum_section(erratum)
        return list(sections.values())

    def chapter_section(self, chapter: str) -> nodes.section:
        return self.section(chapter_title(Path(self.env.srcdir), chapter), f"errata-{chapter}")

    def erratum_section(self, erratum: Erratum) -> nodes.section:
        section = self.section(erratum.title, f"erratum-{erratum.id}")
        section["classes"].append("ys-erratum")
        section += self.parse(
            f"**Claim.** {erratum.claim} *({erratum.source})*\n\n"
            f"**What holds.** {erratum.holds}\n\n"
            f"Shown by `{erratum.test}`."
        )
        return section

    def section(self, title: str, anchor: str) -> nodes.section:
        """An empty section whose title is Markdown, with a fixed anchor."""
        section = nodes.section(ids=[anchor], names=[nodes.fully_normalize_name(anchor)])
        self.state.document.note_explicit_target(section, section)
        heading = nodes.title()
        for paragraph in self.parse(title):
            heading += paragraph.children
        section += heading
        return section


class JoinedGlossary(_Joined):
    """All terms as one glossary, so that the role {term} finds them."""

    def run(self) -> list[nodes.Node]:
        terms = load_glossary(self.folder())
        entries = [f"{term}\n  {' '.join(definition.split())}\n" for term, definition in terms.items()]
        return self.parse("\n".join(["``````{glossary}", *entries, "``````"]))


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("joined-errata", JoinedErrata)
    app.add_directive("joined-glossary", JoinedGlossary)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
