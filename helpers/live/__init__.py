"""The built book on a local server, with kernels behind its pages."""

from ..lazy import attributes

__all__ = ["serve"]

__getattr__ = attributes(__name__, {"serve": ".server:serve jupyter"})
