"""
Figure 31: lab procedures
=========================

The number of lab procedures per hospital stay.
"""

from reproduction.sketch import sketch

figures = sketch("lab-levels")
