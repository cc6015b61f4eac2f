"""
Figure 32: Paris
================

Check-ins in Paris under five mechanisms.
"""

from reproduction.sketch import sketch

figures = sketch("paris-levels")
