"""Which cells of a chapter cannot run without PyTorch. Found by reading, not by running.

A cell cannot where it imports torch, or a module of `helpers` that does so when it is imported. Nor can one that uses a
name which such a cell has set last, directly or through a function. What reading does not find: a room of `helpers`
that is loaded at its first use (`pa.measure`), a method that changes an object in place, and names behind a magic.
Such a cell fails, which `tests/book/as_in_a_browser.py` shows.
"""

import ast
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib.util import resolve_name
from pathlib import Path
from typing import Any

from IPython.core.inputtransformer2 import TransformerManager
from nbformat import NotebookNode

ROOT = Path(__file__).resolve().parents[1]


def left_out(cells: Sequence[NotebookNode]) -> set[int]:
    """The positions of the code cells that need PyTorch, or what such a cell has made.

    Raises SyntaxError where a cell is no Python, magics aside.
    """
    out: set[int] = set()
    have: set[str] = set()
    missing: set[str] = set()
    within: dict[str, set[str]] = {}  # what the functions that are there use when they are called
    for position, cell in enumerate(cells):
        if cell.cell_type != "code":
            continue
        tree = ast.parse(TransformerManager().transform_cell(cell.source))
        found = Names.of(tree)
        if needs_torch(tree) or reached(found.used, within) & missing:
            out.add(position)
            missing |= (found.bound | found.changed) - (found.imported & have)  # an import made twice changes nothing
        else:
            missing -= found.bound
            have |= found.bound
            within = {name: uses for name, uses in within.items() if name not in found.bound} | found.functions
    return out


def reached(names: Iterable[str], within: dict[str, set[str]]) -> set[str]:
    """Names, and all that the functions among them use, directly or through others."""
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += within.get(name, ())
    return found


class Names(ast.NodeVisitor):
    """What some code uses of what was there before it, and what it sets, in the order in which it runs.

    Both branches of a condition count as run.
    """

    def __init__(self, bound: Iterable[str] = ()) -> None:
        self.bound = set(bound)
        self.used: set[str] = set()
        self.imported: set[str] = set()
        self.changed: set[str] = set()  # an item or an attribute of it was set
        self.functions: dict[str, set[str]] = {}

    @classmethod
    def of(cls, tree: ast.AST) -> "Names":
        """The names of a whole cell."""
        found = cls()
        found.visit(tree)
        return found

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Store):
            self.bound.add(node.id)
        elif node.id not in self.bound:
            self.used.add(node.id)

    def each(self, *nodes: Any) -> None:
        """Visit nodes, and lists of them, in this order: fields lie in the order of the text."""
        for node in nodes:
            if isinstance(node, list):
                self.each(*node)
            elif node is not None:
                self.visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        self.each(node.value, node.targets)
        if isinstance(node.value, ast.Lambda):
            uses = self.inside(node.value)
            self.functions |= {target.id: uses for target in node.targets if isinstance(target, ast.Name)}

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self.each(node.annotation, node.value)
        if node.value is not None:
            self.visit(node.target)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name) and node.target.id not in self.bound:
            self.used.add(node.target.id)
        self.each(node.value, node.target)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self.each(node.value, node.target)

    def visit_For(self, node: ast.For) -> None:
        self.each(node.iter, node.target, node.body, node.orelse)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        self.change(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        self.change(node)

    def change(self, node: ast.Subscript | ast.Attribute) -> None:
        """Note whose item or attribute is set."""
        self.generic_visit(node)
        base: ast.AST = node
        while isinstance(base, ast.Subscript | ast.Attribute):
            base = base.value
        if isinstance(base, ast.Name) and not isinstance(node.ctx, ast.Load):
            self.changed.add(base.id)

    def visit_alias(self, node: ast.alias) -> None:
        name = node.asname or node.name.partition(".")[0]
        self.bound.add(name)
        self.imported.add(name)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        self.each(node.type)
        self.bound |= {node.name} if node.name else set()
        self.each(node.body)

    def comprehension(self, node: Any) -> None:
        """Its loops come before what they make, and their names stay inside."""
        inner = Names(self.bound)
        values = (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,)
        for loop in node.generators:
            inner.each(loop.iter, loop.target, loop.ifs)
        inner.each(*values)
        self.used |= inner.used

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = comprehension

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self.function(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self.each(node.decorator_list)
        self.functions[node.name] = self.function(node, node.name)
        self.bound.add(node.name)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.each(node.decorator_list, node.bases, node.keywords)
        inner = Names(self.bound)
        inner.each(node.body)
        self.used |= inner.used
        self.functions[node.name] = set().union(*inner.functions.values(), inner.used)
        self.bound.add(node.name)

    def function(self, node: ast.Lambda | ast.FunctionDef, name: str = "") -> set[str]:
        """What a function uses from outside. It counts as used here too: it is there to be called."""
        self.each(node.args.defaults, node.args.kw_defaults)
        uses = self.inside(node) - {name}  # one that calls itself is there by then
        self.used |= uses - self.bound
        return uses

    def inside(self, node: ast.Lambda | ast.FunctionDef) -> set[str]:
        """Names in the body of a function that are neither its arguments nor set in it."""
        body = node.body if isinstance(node.body, list) else [node.body]
        own = {one.arg for one in ast.walk(node.args) if isinstance(one, ast.arg)}
        own |= {one.id for part in body for one in ast.walk(part) if is_set(one)}
        inner = Names(own)
        inner.each(body)
        return inner.used


def is_set(node: ast.AST) -> bool:
    """Whether a node sets a name."""
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


# Imports


def needs_torch(tree: ast.AST) -> bool:
    """Whether a cell imports torch, anywhere in it, or a module of `helpers` that needs it."""
    return any(loads_torch(name) for node in ast.walk(tree) for name in imported(node, ""))


def imported(node: ast.AST, package: str) -> Iterator[str]:
    """The modules that an import statement in `package` may load; ``lazy.require("x", ...)`` is one too."""
    match node:
        case ast.Import():
            yield from (alias.name for alias in node.names)
        case ast.ImportFrom() if package or not node.level:
            base = resolve_name("." * node.level + (node.module or ""), package) if node.level else node.module or ""
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr="require"), args=[ast.Constant(value=str(name)), *_])):
            yield name


@cache
def loads_torch(name: str) -> bool:
    """Whether importing a module, or a lazy attribute of a package, imports torch."""
    seen: set[str] = set()
    waiting = [name]
    while waiting:
        one = waiting.pop()
        package = one.rpartition(".")[0]
        if one == "torch" or lazily(package, one.rpartition(".")[2]):
            return True
        if one not in seen:
            seen.add(one)
            waiting += [package] if package else []
            waiting += imports_of(one)
    return False


@cache
def imports_of(name: str) -> tuple[str, ...]:
    """What a module of `helpers` imports when it is imported."""
    path = file_of(name)
    if path is None:
        return ()
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    body = ast.parse(path.read_text(encoding="utf-8")).body
    return tuple(one for statement in at_import(body) for one in imported(statement, package))


def at_import(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements that run when a module is imported: not those in functions, nor those for type checkers."""
    for statement in body:
        yield statement
        checked = isinstance(statement, ast.If) and "TYPE_CHECKING" in ast.unparse(statement.test)
        if isinstance(statement, ast.If | ast.Try | ast.With) and not checked:
            yield from at_import(one for one in ast.iter_child_nodes(statement) if isinstance(one, ast.stmt))


@cache
def lazily(package: str, name: str) -> bool:
    """Whether `name` is one of a package's ``lazy.attributes`` and needs the extra torch."""
    path = file_of(package)
    tables = [] if path is None else ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    rooms = [pair for node in tables if isinstance(node, ast.Dict) for pair in zip(node.keys, node.values, strict=True)]
    return any(
        isinstance(key, ast.Constant)
        and key.value == name
        and isinstance(room, ast.Constant)
        and str(room.value).endswith(" torch")
        for key, room in rooms
    )


def file_of(name: str) -> Path | None:
    """The file of a module of `helpers`; None where there is no such module."""
    if name.partition(".")[0] != "helpers":
        return None
    path = ROOT.joinpath(*name.split("."))
    return next((one for one in (path / "__init__.py", path.with_suffix(".py")) if one.is_file()), None)
