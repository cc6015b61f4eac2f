"""
Figure 9: Manhattan recovered
=============================

The same map from noisy reports, by each method.
"""

from reproduction.sketch import sketch

figures = sketch("manhattan-heatmaps")
