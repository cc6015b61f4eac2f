"""
Figure 19: a good and a bad choice
==================================

Two estimates from the same reports. One stopped too early.
"""

from reproduction.sketch import sketch

figures = sketch("start-examples")
