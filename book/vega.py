"""Write Vega, which draws the panels of the chapters, as one file that the book serves itself.

vl-convert-python holds Vega, Vega-Lite and Vega-Embed; the bundle is made of its own copies, without the network. The
hash says that it is the one that was tried: another version of the package makes another bundle.
"""

import hashlib
from pathlib import Path

import vl_convert
from vendor import VendorError

from helpers.explorer import VEGA_LITE

SHA256 = "3425bd951a44d478d0505c6b5d1e8d57656b6e9a4da7bfe88a718ce61d76e572"


def provide(folder: Path) -> bool:
    """See to it that `folder` holds ``vega/vega.js``; returns whether it had to be made. Raises VendorError."""
    target = folder / "vega" / "vega.js"
    if target.is_file() and digest(target.read_text(encoding="utf-8")) == SHA256:
        return False
    bundle = vl_convert.javascript_bundle(vl_version=VEGA_LITE)
    if digest(bundle) != SHA256:
        raise VendorError(
            f"vl-convert {vl_convert.__version__} makes a bundle of Vega with the SHA-256 {digest(bundle)}, not the "
            f"{SHA256} of book/vega.py: install what requirements.lock names, or try the new one and change the hash"
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(bundle, encoding="utf-8")
    return True


def digest(text: str) -> str:
    """SHA-256 in hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()
