"""Goodness of fit: whether reports can come from their mechanism at all."""

from confide.check.fit.answers import IN_DOUBT, LEVEL, Fit, FitVerdict, GroupFits, Outlier, Power
from confide.check.fit.tables import TOLERANCE
from confide.check.fit.testing import Examination, examine, fit, fit_groups, fit_pool, fit_pools, misfits

__all__ = [
    "IN_DOUBT",
    "LEVEL",
    "TOLERANCE",
    "Examination",
    "Fit",
    "FitVerdict",
    "GroupFits",
    "Outlier",
    "Power",
    "examine",
    "fit",
    "fit_groups",
    "fit_pool",
    "fit_pools",
    "misfits",
]
