"""Which cells need PyTorch: by what they import, and by what they use of cells that do."""

import ast
from pathlib import Path

import nbformat
import pytest
import torchless

ROOT = Path(__file__).resolve().parents[2]
PA_NEEDS = ["pa-31", "pa-34", "pa-36", "pa-38", "pa-40", "pa-41", "pa-47", "pa-25"]


def left_out(*sources: str) -> list[int]:
    """The positions of those code cells, a text before them not counted."""
    cells = [nbformat.v4.new_markdown_cell("import torch"), *map(nbformat.v4.new_code_cell, sources)]
    return sorted(position - 1 for position in torchless.left_out(cells))


@pytest.mark.parametrize(
    "source",
    [
        "import torch",
        "import numpy, torch.nn as nn",
        "def f():\n    from torch import nn",
        "from helpers import attacks",
        "import helpers.models.small",
        "from helpers.models import training",
        "from helpers.pa import measure",
        "from helpers.pa import loss",
        "from helpers.pa.example import record",
        "%matplotlib inline\nimport torch",
    ],
)
def test_imports_that_need_torch(source: str) -> None:
    assert left_out(source) == [0]


@pytest.mark.parametrize(
    "source",
    [
        "import torchmetrics",
        "from . import torch",
        "text = 'import torch'",
        "# import torch",
        "from helpers import calibration, pa, pmk, results, uncertainty",
        "from helpers.pa import agreement, explore, show",
        "from helpers.datasets import corruptions, digits",
        "from helpers.tempora import reconstruction",
        "import numpy as np\n%time np.ones(3)\n!ls\nnp.ones?",
        "%%bash\nimport torch",
    ],
)
def test_imports_that_do_not(source: str) -> None:
    assert left_out(source) == []


def test_every_module_is_told_right() -> None:
    """Held against what the import itself says, for the rooms that chapters import and those that they do not."""
    known = {
        "attacks": True,
        "models": True,
        "models.small": True,
        "models.weights": True,
        "pa.example": True,
        "pa.regulariser": True,
        "tempora.measure": True,
        "pa": False,
        "pa.record": False,
        "pa.show": False,
        "ppat": False,
        "pmk.synthetic": False,
        "lazy": False,
        "cli": False,
    }
    assert {name: torchless.loads_torch(f"helpers.{name}") for name in known} == known


def test_what_builds_on_such_a_cell_goes_with_it() -> None:
    cells = ["a = 1", "import torch\nb = torch.ones(1)", "c = b + a", "d = a", "print(c)", "display(d)"]
    assert left_out(*cells) == [1, 2, 4]


def test_a_name_that_is_set_again_is_there_again() -> None:
    assert left_out("import torch\nx = 1", "x = 2", "x") == [0]
    assert left_out("import torch\nx = 1", "x", "x = 2", "x") == [0, 1]


def test_a_name_that_such_a_cell_sets_again_would_be_stale() -> None:
    assert left_out("x = 1", "x", "import torch\nx = 2", "x") == [2, 3]
    assert left_out("x = {}", "import torch\nx['a'] = 2", "x") == [1, 2]
    assert left_out("x = f()", "import torch\nx.a[0].b = 2", "x") == [1, 2]


def test_an_import_that_is_made_twice_changes_nothing() -> None:
    assert left_out("import numpy as np", "import torch\nimport numpy as np", "np.ones(1)") == [1]
    assert left_out("import torch\nimport numpy as np", "np.ones(1)") == [0, 1]


@pytest.mark.parametrize(
    "source",
    [
        "x",
        "x.y[0]",
        "x += 1",
        "x = x + 1",
        "x: int = x",
        "for x in x: pass",
        "for i in range(3):\n    print(x)",
        "[x for _ in y]",
        "[x for x in x]",
        "{k: x for k in y}",
        "def f():\n    return x",
        "def f(a=x): pass",
        "def x(a=x): pass",
        "@x\ndef f(): pass",
        "f = lambda: x",
        "class A(x): pass",
        "class A:\n    y = x",
        "f'{x}'",
        "del x",
        "x['a'] = 1",
        "with x as x: pass",
        "if (x := x): pass",
        "v(*[x])",
    ],
)
def test_uses(source: str) -> None:
    assert left_out("y = z = 1", "import torch\nx = 1", source) == [1, 2]


@pytest.mark.parametrize(
    "source",
    [
        "x = 1\nx",
        "y.x",
        "f(x=1)",
        "for x in y: x",
        "[x for x in y]",
        "{x: x for x in y}",
        "lambda x: x",
        "def f(x, *a, **k): return x",
        "def f(a):\n    x = 1\n    return x",
        "def x(): return x()\nx()",
        "import x\nx",
        "with y as x: x",
        "try:\n    pass\nexcept E as x:\n    x",
        "if (x := 1): x",
        "x: int = 1\nx",
        "'x'",
        "class x: pass\nx",
        "if y:\n    x = 1\nelse:\n    x = 2\nx",
    ],
)
def test_what_is_no_use_of_what_was_there(source: str) -> None:
    assert left_out("y = z = 1", "import torch\nx = 1", source) == [1]


def test_a_function_takes_what_it_uses_along() -> None:
    cells = ["def f():\n    return g()\n\n\ndef g():\n    return x", "x = 1", "f()", "import torch\nx = 2", "f()", "1"]
    assert left_out(*cells) == [3, 4]
    assert left_out("f = lambda: x", "x = 1", "import torch\nx = 2", "f()") == [2, 3]
    assert left_out("def f(): return x", "import torch\nx = 2", "def f(): return 1", "f()") == [1]
    assert left_out("def f(): return x", "f = 1", "import torch\nx = 2", "f") == [2]


def test_a_method_that_changes_an_object_is_not_seen() -> None:
    """Nor a name behind a magic: limits that book/torchless.py states."""
    assert left_out("x = []", "import torch\nx.append(1)", "x", "import torch\ny = 1", "%time y") == [1, 3]


def test_what_is_no_python_is_refused() -> None:
    with pytest.raises(SyntaxError):
        left_out("x = = 1")


def test_posterior_agreement_needs_torch_for_the_attacks_and_what_follows_from_them() -> None:
    cells = nbformat.read(ROOT / "notebooks" / "pa.ipynb", as_version=4).cells
    assert [cells[position].id for position in sorted(torchless.left_out(cells))] == PA_NEEDS


def test_a_module_is_read_without_what_is_for_type_checkers() -> None:
    tree = ast.parse("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import torch\nelse:\n    import b\n")
    names = [name for node in torchless.at_import(tree.body) for name in torchless.imported(node, "")]
    assert "torch" not in names
    assert torchless.file_of("numpy") is None
