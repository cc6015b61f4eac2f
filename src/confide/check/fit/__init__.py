"""Goodness of fit: whether counted reports can come from a mechanism at all, whoever the people are."""

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
