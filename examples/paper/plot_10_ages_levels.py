"""
Figures 10 and 24: ages under metric privacy
============================================

The error of each method by level of privacy: earth mover's distance, then total variation.
"""

from reproduction.sketch import sketch

figures = sketch("ages-levels")
