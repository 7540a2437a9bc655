"""The report of an experiment: a form with every field, and a checker that says what is missing."""

from .check import ReportCheck, check_report, content_hash
from .finding import Finding
from .template import template

__all__ = ["Finding", "ReportCheck", "check_report", "content_hash", "template"]
