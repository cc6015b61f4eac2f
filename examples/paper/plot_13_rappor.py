"""
Figure 13: RAPPOR at epsilon 0.5
================================

A binomial and a uniform distribution over ten values, recovered by IBU.
"""

from reproduction.sketch import sketch

figures = sketch("rappor-examples")
