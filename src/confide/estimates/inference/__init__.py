"""Confidence intervals, and how they are computed.

There are two bases. :class:`Likelihood` includes every answer that the reports allow. It assumes nothing about the
truth and does not depend on the method; use it for questions over many values. :class:`Bootstrap` draws new reports and
solves them with the method itself, through :meth:`confide.Method.solve_many`. Use it for single values: under strong
noise, almost nothing is known of them without a smoothness assumption. A new basis is one subclass of :class:`Basis`.
Windows show which questions the likelihood can answer.
"""

from confide.estimates.inference.answers import Band, CrossTable, Interval, Parts, Prospect, level_of_each, percent
from confide.estimates.inference.division import PROPORTION, Windows
from confide.estimates.inference.inference import Basis, Bootstrap, Inference, Likelihood, check_level

__all__ = [
    "PROPORTION",
    "Band",
    "Basis",
    "Bootstrap",
    "CrossTable",
    "Inference",
    "Interval",
    "Likelihood",
    "Parts",
    "Prospect",
    "Windows",
    "check_level",
    "level_of_each",
    "percent",
]
