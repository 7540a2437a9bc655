"""What the library raises when it refuses something: one clear message each."""


class InputError(ValueError):
    """Bad input. The message names the argument, the offending place or value, and the remedy."""


class MissingExtra(ImportError):
    """An optional dependency is absent. The message names the extra that brings it."""
