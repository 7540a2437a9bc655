"""Papermill over grids: plan the jobs, execute each notebook in a process of its own, render the copies."""
