"""Which modules of the library a notebook can import: found by reading, and complete."""

import ast
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from helpers.batch import closure as module
from helpers.batch import parameters
from helpers.batch.closure import ROOT, WORKER, closure

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def make_library(root: Path, files: Mapping[str, str], monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small library at `root` in the place of this one; files are named without "helpers/" and ".py"."""
    for name, text in files.items():
        path = root / "helpers" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    monkeypatch.setattr(module, "ROOT", root)
    module._imports.cache_clear()  # what is no Python depends on the library, too
    return root


LIBRARY = {
    "__init__": "",
    "errors": "import numpy",
    "lazy": "def require(module, *, extra): ...",
    "house/__init__": 'from ..lazy import attributes\n__getattr__ = attributes(__name__, {"show": ".show:draw x"})',
    "house/score": "from .record import Log",
    "house/record": "from .. import errors\nfrom . import score",  # a circle
    "house/show": "def draw():\n    from ..pictures import svg",
    "pictures": "import typing\nif typing.TYPE_CHECKING:\n    import helpers.deep.down.well",
    "deep/__init__": "",
    "deep/down/__init__": "",
    "deep/down/well": "from ...errors import E\nfrom .. import down\nfrom . import bucket\nfrom . import nothing",
    "deep/down/bucket": "",
    "required": 'require("helpers.errors", extra="x")',
    "imported": 'import importlib\nimportlib.import_module(".down", "x")\nimportlib.import_module(".deep.down")',
    "absolute": 'attributes(__name__, {"a": "helpers.errors x", "b": "numpy.linalg x"})',
    "broken": "def (",
}
HOUSE = {"house/__init__", "house/show", "pictures", "deep/__init__", "deep/down/__init__", "deep/down/well"}
HOUSE |= {"deep/down/bucket", "errors", "lazy"}


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return make_library(tmp_path / "library", LIBRARY, monkeypatch)


CASES = [
    ("", None),
    ("import numpy, helpersome, tests.helpers\nfrom nothelpers.errors import E", None),
    ("import helpers", set()),
    ("import helpers.errors as e, numpy", {"errors"}),
    ("from helpers import errors", {"errors"}),
    ("from helpers import (\n    errors,\n    lazy as slow,\n)", {"errors", "lazy"}),
    ("from helpers.errors import E", {"errors"}),
    ("from helpers import nothing", set()),
    ("def f():\n    if x:\n        import helpers.errors", {"errors"}),
    ("try:\n    from helpers import errors\nexcept ImportError:\n    pass", {"errors"}),
    ("from helpers import house", HOUSE),
    ("from helpers.house import *", HOUSE),
    ("import helpers.house.score", HOUSE | {"house/score", "house/record"}),
    ("from helpers import required", {"required", "errors"}),
    ("from helpers import imported", {"imported", "deep/__init__", "deep/down/__init__"}),
    ("from helpers import absolute", {"absolute", "errors"}),
    ("import importlib; importlib.import_module('helpers.errors')", {"errors"}),
    ("print('helpers.errors')", {"errors"}),  # too much rather than too little
    ("print('helpersome.errors', '.errors', 'see helpers.errors')", None),
    ("x = 'import helpers.errors'  # import helpers.errors", None),
    ("%matplotlib inline\n!pip list\nfrom helpers import errors", {"errors"}),
    ("%%time\nfrom helpers import errors", {"errors"}),
    ("%time from helpers import errors", set(LIBRARY) - {"__init__"}),
    ("if x:\n    !ls\n    %pwd\nelse:\n    import helpers.errors", {"errors"}),
    ("%%bash\nfor x in *; do echo $x; done", set(LIBRARY) - {"__init__"}),
    ("x = (", set(LIBRARY) - {"__init__"}),
    ("import helpers.broken", set(LIBRARY) - {"__init__"}),
]


@pytest.mark.parametrize(("source", "modules"), CASES, ids=[source or "nothing" for source, _ in CASES])
def test_closure(library: Path, source: str, modules: set[str] | None) -> None:
    wanted = set() if modules is None else modules | {"__init__"}
    found = closure([source])
    assert set(found) == {f"helpers/{name}.py" for name in wanted}
    assert list(found) == sorted(found) and all(path == library / name for name, path in found.items())


def test_cells_are_read_apart_and_together(library: Path) -> None:
    assert set(closure(["import helpers.errors", "x = 1", "import helpers.lazy"])) == {
        "helpers/__init__.py",
        "helpers/errors.py",
        "helpers/lazy.py",
    }
    assert closure([]) == {}


def test_a_module_that_was_edited_is_read_anew(library: Path) -> None:
    before = closure(["import helpers.errors"])
    (library / "helpers/errors.py").write_text("from . import lazy")
    assert set(closure(["import helpers.errors"])) - set(before) == {"helpers/lazy.py"}


def cells(notebook: Path) -> list[str]:
    """The code of a notebook, but for its parameters."""
    content = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in content if cell["cell_type"] == "code" and "parameters" not in parameters.tags(cell)]
    return [parameters.source(cell) for cell in code]


def imports(sources: list[str]) -> list[str]:
    """Every import statement in code cells, wherever it stands."""
    trees = [ast.parse(module._without_magics(source)) for source in sources]
    return [
        ast.unparse(node) for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)
    ]


IMPORTED = """
import inspect, json, sys

def loaded():
    return {name: module for name, module in sys.modules.items() if name.split(".")[0] == "helpers"}

def touch_every_lazy_attribute():
    touched = set()
    while True:
        rooms = [
            (module, room)
            for module in loaded().values()
            if "__getattr__" in vars(module)
            for room in inspect.getclosurevars(vars(module)["__getattr__"]).nonlocals["rooms"]
            if (module, room) not in touched
        ]
        if not rooms:
            return
        for module, room in rooms:
            getattr(module, room)
        touched.update(rooms)

found = []
for statements in json.load(sys.stdin):
    for name in loaded():
        del sys.modules[name]
    for statement in statements:
        exec(statement, {})
    touch_every_lazy_attribute()
    found.append(sorted(module.__file__ for module in loaded().values()))
json.dump(found, sys.stdout)
"""


def imported(tasks: list[list[str]]) -> list[set[str]]:
    """For every list of statements: the files of the library that are loaded after them and all lazy attributes."""
    done = subprocess.run(
        [sys.executable, "-c", IMPORTED], input=json.dumps(tasks), capture_output=True, text=True, cwd=ROOT, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return [{Path(path).relative_to(ROOT).as_posix() for path in paths} for paths in json.loads(done.stdout)]


def test_the_closures_of_the_books_notebooks_and_of_every_module_are_complete() -> None:
    sources = {notebook.name: cells(notebook) for notebook in NOTEBOOKS}
    sources |= {name: [f"import {name}"] for name in map(module._name, (ROOT / "helpers").rglob("*.py"))}
    loaded = dict(zip(sources, imported([imports(source) for source in sources.values()]), strict=True))
    assert len(loaded["pa.ipynb"]) > 20 and "helpers/pa/show.py" in loaded["helpers.pa"]  # or nothing was looked at
    for name, files in loaded.items():
        assert files <= set(closure(sources[name])), name


def test_no_module_is_imported_by_a_name_that_reading_cannot_find() -> None:
    """Of what imports by name, only `lazy` itself, and the command, which no notebook needs, compute the name."""
    for path in (ROOT / "helpers").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and is_importer(node.func) and path.name not in ("lazy.py", "cli.py"):
                values = [v for a in node.args for v in (a.values if isinstance(a, ast.Dict) else [a])]
                plain = [v for v in values if isinstance(v, ast.Constant) and isinstance(v.value, str)]
                named = [v for v in values if isinstance(v, ast.Name) and v.id == "__name__"]
                assert plain and len(plain) + len(named) == len(values), f"{path}, line {node.lineno}"
    needed = {name for notebook in NOTEBOOKS for name in closure(cells(notebook))} | set(closure([WORKER]))
    assert "helpers/batch/worker.py" in needed and "helpers/cli.py" not in needed


def is_importer(function: Any) -> bool:
    name = function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")
    return name in ("import_module", "__import__", "require", "attributes")
