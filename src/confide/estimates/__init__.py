"""Estimates with confidence intervals, for one population or for groups."""

from confide.estimates.estimate import Outcome
from confide.estimates.groups import GroupEstimates
from confide.estimates.inference import Band, CrossTable, Interval, Prospect, Windows

__all__ = ["Band", "CrossTable", "GroupEstimates", "Interval", "Outcome", "Prospect", "Windows"]
