"""Keep the README's table of chapters and its picture in step with what they come from.

The table is made from ``book/chapters/*.yml``. The picture is the figure that the executed chapter on posterior
agreement drew (`make book`), with a middle grey for its text because a picture in a README has no text colour.

    python tools/readme.py            say whether the table is up to date
    python tools/readme.py --fix      write the table
    python tools/readme.py --picture  write the picture from _build/executed
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parent.parent
ORDER = ("tempora", "ppat", "pmk", "cl", "pa")
BEGIN, END = "<!-- chapters: made by tools/readme.py -->", "<!-- end of chapters -->"
PICTURE = ROOT / "book" / "_static" / "agreement.svg"


def table(root: Path) -> str:
    """The chapters as a Markdown table."""
    rows = ["| chapter | question | state |", "|---|---|---|"]
    for name in ORDER:
        chapter = yaml.safe_load((root / "book" / "chapters" / f"{name}.yml").read_text(encoding="utf-8"))
        link = f"[{chapter['title']}](notebooks/{name}.ipynb)"
        rows.append(f"| {link} | {chapter['question']} | {chapter['state']} |")
    return "\n".join(rows)


def with_table(readme: str, chapters: str) -> str:
    """The README with its table replaced."""
    before, rest = readme.split(BEGIN)
    return f"{before}{BEGIN}\n{chapters}\n{END}{rest.split(END)[1]}"


def picture(notebook: str) -> str:
    """The executed chapter's figure of agreement against strength, as a file of its own."""
    for cell in json.loads(notebook)["cells"]:
        for output in cell.get("outputs", []):
            page = "".join(output.get("data", {}).get("text/html", []))
            if 'aria-label="Relative agreement' in page:
                svg = page[page.index("<svg ") : page.index("</svg>") + len("</svg>")]
                return svg.replace("<svg ", '<svg color="#6e7781" ', 1) + "\n"
    raise SystemExit("the executed chapter has no figure of agreement against strength: run make book")


def main() -> int:
    """Check or write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fix", action="store_true")
    parser.add_argument("--picture", action="store_true")
    options = parser.parse_args()
    if options.picture:
        executed = ROOT / "_build" / "executed" / "pa.ipynb"
        PICTURE.write_text(picture(executed.read_text(encoding="utf-8")), encoding="utf-8")
    path = ROOT / "README.md"
    readme = path.read_text(encoding="utf-8")
    fresh = with_table(readme, table(ROOT))
    if options.fix:
        path.write_text(fresh, encoding="utf-8")
    elif fresh != readme:
        print("README.md: the table of chapters is not what book/chapters says: python tools/readme.py --fix")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
