"""Networks small enough to train in a chapter, and the one training loop they share."""

from .. import lazy

lazy.require("torch", extra="torch")
