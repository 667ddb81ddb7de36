"""Finds the fastest configuration of an algorithm on a graph by measurement."""

from weft.tuning.report import TuningReport
from weft.tuning.tuner import tune

__all__ = ["TuningReport", "tune"]
