"""The record of posterior agreement: a model's logits on clean inputs and under each shift."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .. import arrays, records
from ..records import Field, Schema

#: The book's own record, which "shipped" stands for; `helpers.pa.example` rebuilds it.
SHIPPED = Path(__file__).resolve().parents[2] / "data" / "records" / "pa-digits.npz"
LAYOUT = "a row per input and a column per class, shape (n, k)"
SCHEMA = Schema(
    "pa-logits",
    1,
    {
        "logits": Field("float", ("n", "k"), "logit"),
        "shifted/*": Field("float", ("n", "k"), "logit"),
        "labels": Field("int", ("n",), "class", optional=True),
    },
)


@dataclass(frozen=True, eq=False)
class Logits:
    """Clean and shifted logits of one model on the same n inputs, with k classes.

    Parameters
    ----------
    logits : numpy.ndarray of shape (n, k)
        Outputs on the clean inputs.
    shifted : mapping of str to numpy.ndarray of shape (n, k)
        Outputs under each shift, by name; row i everywhere belongs to the same input.
    labels : numpy.ndarray of shape (n,), optional
        True classes 0..k-1. Agreement never uses them; accuracies do.
    provenance : mapping
        Where the numbers come from; see `records.provenance`.

    Raises
    ------
    InputError
        Shapes that do not match, a value that is not finite, a label outside 0..k-1.

    Examples
    --------
    >>> import numpy as np
    >>> record = Logits(np.eye(3), {"noise 0.1": np.eye(3)[[0, 1, 1]]})
    >>> list(record.shifted)
    ['noise 0.1']
    """

    logits: np.ndarray
    shifted: Mapping[str, np.ndarray]
    labels: np.ndarray | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check everything once, so that whoever holds a record can rely on it."""
        records.check(SCHEMA, self._arrays(), where="Logits")
        if self.labels is not None:
            n, k = self.logits.shape
            arrays.check_labels(self.labels, n=n, k=k)

    def _arrays(self) -> dict[str, np.ndarray]:
        content = {
            "logits": self.logits,
            **{f"shifted/{name}": array for name, array in self.shifted.items()},
        }
        return content if self.labels is None else {**content, "labels": self.labels}

    def save(self, path: str | Path) -> Path:
        """Write the record to one .npz file, whole or not at all."""
        return records.save(path, SCHEMA, self._arrays(), {"provenance": dict(self.provenance)})

    @classmethod
    def load(cls, path: str | Path) -> Logits:
        """Read a record; "shipped" stands for the book's own. Refuses what it cannot vouch for, see `records.load`."""
        content, manifest = records.load(SHIPPED if path == "shipped" else path, SCHEMA)
        shifted = {name.split("/", 1)[1]: array for name, array in content.items() if name.startswith("shifted/")}
        return cls(content["logits"], shifted, content.get("labels"), manifest.get("provenance", {}))
