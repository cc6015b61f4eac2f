"""The numerical engines under the methods."""

from confide.solvers.clock import Clock, Found
from confide.solvers.dispatch import SOLVERS, can_follow_path, maximise

__all__ = ["SOLVERS", "Clock", "Found", "can_follow_path", "maximise"]
