"""
Figure 1: the ages of 48,842 people
===================================

Inversion amplifies the noise. IBU recovers the ages.
"""

from reproduction.sketch import sketch

figures = sketch("ages-example")
