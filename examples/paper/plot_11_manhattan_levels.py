"""
Figures 11 and 25: Manhattan under geo-indistinguishability
===========================================================

Four planar mechanisms. Strong noise defeats inversion, not IBU.
"""

from reproduction.sketch import sketch

figures = sketch("manhattan-levels")
