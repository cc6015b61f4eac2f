"""
Figures 21 and 22: likely subsets
=================================

Which values of an unbounded alphabet can have a share in the answer.
"""

from reproduction.sketch import sketch

figures = sketch("likely-subsets")
