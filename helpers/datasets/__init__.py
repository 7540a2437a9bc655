"""Data: what ships inside a dependency, and checked loaders for the official layouts of the rest."""
