"""
Figures 14 and 27: RAPPOR by level of privacy
=============================================

IBU beside RAPPOR's own estimators.
"""

from reproduction.sketch import sketch

figures = sketch("rappor-levels")
