"""
Figures 16 and 29: more people, Manhattan
=========================================

The same on a map.
"""

from reproduction.sketch import sketch

figures = sketch("manhattan-sizes")
