"""Optional dependencies: found when needed, named when absent."""

import json
import sys

import pytest

from helpers import lazy, pa
from helpers.errors import MissingExtra


def test_require_imports():
    assert lazy.require("json", extra="batch") is json
    assert lazy.require("xml.etree.ElementTree", extra="batch").__name__ == "xml.etree.ElementTree"


@pytest.mark.parametrize(
    ("module", "named"),
    [
        ("certainly_absent", "certainly_absent"),
        ("certainly_absent.rooms", "certainly_absent"),
        ("json.rooms", "json.rooms"),
    ],
)
def test_what_is_absent_is_named_with_its_extra(module, named):
    with pytest.raises(MissingExtra) as refusal:
        lazy.require(module, extra="jupyter")
    assert str(refusal.value) == f"{named} is not installed: pip install 'yardsticks[jupyter]'"
    assert isinstance(refusal.value, ImportError)


def test_a_room_that_lacks_its_library_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "helpers.pa.measure", None)  # how Python itself says "not there"
    monkeypatch.delitem(vars(pa), "measure", raising=False)
    with pytest.raises(MissingExtra, match=r"pip install 'yardsticks\[torch\]'"):
        pa.measure  # noqa: B018


def test_what_a_module_itself_lacks_is_named(tmp_path, monkeypatch):
    (tmp_path / "needs_another.py").write_text("import certainly_absent\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(MissingExtra, match="certainly_absent is not installed"):
        lazy.require("needs_another", extra="batch")


def test_a_broken_module_is_not_called_absent(tmp_path, monkeypatch):
    (tmp_path / "broken_module.py").write_text("raise ImportError('a library of the wrong version')\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ImportError, match="wrong version") as refusal:
        lazy.require("broken_module", extra="batch")
    assert not isinstance(refusal.value, MissingExtra)


def test_attributes_import_rooms_on_first_access(monkeypatch):
    load = lazy.attributes("xml", {"tree": ".etree.ElementTree batch", "elsewhere": "json batch"})
    assert load("tree").__name__ == "xml.etree.ElementTree"
    assert load("elsewhere") is json
    with pytest.raises(AttributeError, match="module 'xml' has no attribute 'other'"):
        load("other")


def test_a_house_opens_its_rooms_on_first_access():
    assert pa.show.__name__ == "helpers.pa.show"
    assert pa.measure.__name__ == "helpers.pa.measure"
    with pytest.raises(AttributeError, match=r"module 'helpers\.pa' has no attribute 'agrement'"):
        pa.agrement  # noqa: B018
