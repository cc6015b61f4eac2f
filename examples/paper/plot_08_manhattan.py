"""
Figure 8: Manhattan in cells of half a kilometre
================================================

Where 98,061 check-ins were made.
"""

from reproduction.sketch import sketch

figures = sketch("manhattan-map")
