"""Whether a page loads anything from elsewhere."""

import re


def addresses_outside(page: str) -> list[str]:
    """Every address in a page that is neither inside it nor the name of an XML namespace."""
    text = re.sub(r'xmlns(:\w+)?="[^"]*"', "", page)
    text = re.sub(r"data:[\w/+.-]+;base64,[A-Za-z0-9+/=\s]*", "data:", text)
    linked = re.findall(r"""\b(?:src|srcset|href|action|poster)\s*=\s*["']?([^"'\s>]*)""", text)
    linked += re.findall(r"""url\(\s*["']?([^"')]*)""", text) + re.findall(r"@import[^;]*", text)
    return [address for address in linked if not address.startswith(("#", "data:"))] + re.findall(r"\w*://\S*", text)
