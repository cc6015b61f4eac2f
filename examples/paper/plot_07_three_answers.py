"""
Figure 7: three best answers that disagree
==========================================

25 cells reported as 16. Three very different maps explain the reports equally well.
"""

from reproduction.sketch import sketch

figures = sketch("san-francisco")
