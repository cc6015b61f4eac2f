"""Intervals around an answer, which say what they rest on.

Two bases. The likelihood takes every answer that the reports allow, whatever the method, and assumes nothing of the
truth; it is for questions over many values. The bootstrap draws new reports and solves them again by the method itself,
through :meth:`confide.Method.solve_many`; it is for single values, where without a belief in smoothness almost nothing
is known under strong noise. A new basis is one subclass of :class:`Basis`. Windows say for which questions the
likelihood is enough.
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
