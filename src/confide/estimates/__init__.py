"""Estimates with confidence intervals, for one population or for groups."""

from confide.estimates.estimate import Estimate, Outcome
from confide.estimates.groups import GroupEstimates
from confide.estimates.inference import Band, Bootstrap, CrossTable, Interval, Likelihood, Prospect, Windows

__all__ = [
    "Band",
    "Bootstrap",
    "CrossTable",
    "Estimate",
    "GroupEstimates",
    "Interval",
    "Likelihood",
    "Outcome",
    "Prospect",
    "Windows",
]
