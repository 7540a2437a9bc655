"""The bundle that draws the panels is made once, and only if it is the one that was tried."""

from pathlib import Path
from types import SimpleNamespace

import pytest
import vega
from vendor import VendorError

SCRIPT = '(() => {"use strict";\nconst one = 1; window.vegaEmbed = one;\n\n})();\n'


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A stand-in for vl-convert; the list holds a version for each bundle that was made."""
    versions: list[str] = []

    def bundle(*, vl_version: str) -> str:
        versions.append(vl_version)
        return "const one = 1; window.vegaEmbed = one;\n"

    monkeypatch.setattr(vega, "vl_convert", SimpleNamespace(javascript_bundle=bundle, __version__="9.9"))
    monkeypatch.setattr(vega, "SHA256", vega.digest(SCRIPT))
    return versions


def test_it_is_made_once(made: list[str], tmp_path: Path) -> None:
    assert vega.provide(tmp_path)
    assert not vega.provide(tmp_path)
    assert made == ["6.4"]
    assert (tmp_path / "vega" / "vega.js").read_text(encoding="utf-8") == SCRIPT


def test_a_changed_file_is_made_again(made: list[str], tmp_path: Path) -> None:
    vega.provide(tmp_path)
    (tmp_path / "vega" / "vega.js").write_text("alert(1)", encoding="utf-8")
    assert vega.provide(tmp_path)
    assert "alert" not in (tmp_path / "vega" / "vega.js").read_text(encoding="utf-8")


def test_another_bundle_is_refused(made: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(vega, "SHA256", "0" * 64)
    with pytest.raises(VendorError, match=r"vl-convert 9\.9 makes a bundle .* not the 0{64} of book/vega\.py"):
        vega.provide(tmp_path)
    assert not (tmp_path / "vega").exists()
