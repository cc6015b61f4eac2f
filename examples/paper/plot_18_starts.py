"""
Figure 18: where IBU starts, and when it stops
==============================================

A small delta makes the start unimportant.
"""

from reproduction.sketch import sketch

figures = sketch("start-delta")
