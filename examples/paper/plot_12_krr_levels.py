"""
Figures 12 and 26: k-RR
=======================

Under k-RR the methods come out alike.
"""

from reproduction.sketch import sketch

figures = sketch("krr-levels")
