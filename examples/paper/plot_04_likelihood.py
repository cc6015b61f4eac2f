"""
Figures 4 and 6: when the likelihood has one maximum
====================================================

Three values, a few reports. The likelihood has one peak, or a ridge of equally good answers.
"""

from reproduction.sketch import sketch

figures = sketch("likelihood-surfaces")
