"""Checks of reports, shapes and groups."""

from confide.check.answers import Fit, FitVerdict, GroupFits
from confide.check.differences import Difference, Differences
from confide.check.fit import fit_groups, fit_pool
from confide.check.shapes import ShapeFit, smoothness_of
from confide.check.uniformity import Uniformity

__all__ = [
    "Difference",
    "Differences",
    "Fit",
    "FitVerdict",
    "GroupFits",
    "ShapeFit",
    "Uniformity",
    "fit_groups",
    "fit_pool",
    "smoothness_of",
]
