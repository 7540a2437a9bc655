"""Write Vega, which draws the panels of the chapters, as one file that the book serves itself.

vl-convert-python holds Vega, Vega-Lite and Vega-Embed; the bundle is made of its own copies, without the network. The
hash says that it is the one that was tried: another version of the package makes another bundle.

It comes as an ES module that imports and exports nothing. Browsers load no modules from a book that is opened as a
file, so it is made a plain script.
"""

import hashlib
from pathlib import Path

import vl_convert
from vendor import VendorError

from helpers.explorer import VEGA_LITE

SHA256 = "f0099c4f28bbf57e251791e631e8de97e6ef8b57fec3302eb58878462e1c1047"


def provide(folder: Path) -> bool:
    """See to it that `folder` holds ``vega/vega.js``; returns whether it had to be made. Raises VendorError."""
    target = folder / "vega" / "vega.js"
    if target.is_file() and digest(target.read_text(encoding="utf-8")) == SHA256:
        return False
    script = plain_script(vl_convert.javascript_bundle(vl_version=VEGA_LITE))
    if digest(script) != SHA256:
        raise VendorError(
            f"vl-convert {vl_convert.__version__} makes a bundle of Vega with the SHA-256 {digest(script)}, not the "
            f"{SHA256} of book/vega.py: install what requirements.lock names, or try the new one and change the hash"
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(script, encoding="utf-8")
    return True


def plain_script(module: str) -> str:
    """A module without imports and exports, for a script element; the function keeps its names to itself."""
    return f'(() => {{"use strict";\n{module}\n}})();\n'


def digest(text: str) -> str:
    """SHA-256 in hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()
