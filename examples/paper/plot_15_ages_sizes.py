"""
Figures 15 and 28: more people, ages
====================================

IBU needs far fewer people than inversion for the same error.
"""

from reproduction.sketch import sketch

figures = sketch("ages-sizes")
