"""Papermill over grids: plan the jobs, execute each notebook once, in a process of its own, and gather the results."""

from ..lazy import attributes

__all__ = ["collect", "explain", "read_grid", "run", "verify"]

__getattr__ = attributes(
    __name__,
    {
        "collect": ".gather:collect batch",
        "explain": ".runner:explain batch",
        "read_grid": ".plan:read_grid batch",
        "run": ".runner:run batch",
        "verify": ".verification:verify batch",
    },
)
