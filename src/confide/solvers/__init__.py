"""The numerical engines under the methods."""

from confide.solvers.maximum import SOLVERS, can_follow_path, maximise
from confide.solvers.search import Clock, Found

__all__ = ["SOLVERS", "Clock", "Found", "can_follow_path", "maximise"]
