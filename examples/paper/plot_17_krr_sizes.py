"""
Figures 17 and 30: more people, k-RR
====================================

Under k-RR, all methods need about as many people.
"""

from reproduction.sketch import sketch

figures = sketch("krr-sizes")
