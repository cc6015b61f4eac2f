"""
A map of Manhattan
==================

Check-ins blurred by planar Laplace noise of 2 per km, and the map recovered from them.
"""

import matplotlib.pyplot as plt
import numpy as np

import confide as cf

city = cf.datasets.manhattan()
mechanism = cf.TruncatedPlanarLaplace(city.alphabet, epsilon=2.0)
counts = mechanism.simulate_counts(city.histogram, rng=1)
estimate = cf.estimate(counts, mechanism)

rows, columns = city.alphabet.rows, city.alphabet.columns
reports = mechanism.lay_out(counts)
figure, panels = plt.subplots(1, 3, figsize=(8, 4.2))
for axes, shares, title in zip(
    panels,
    (city.distribution, reports / reports.sum(), estimate.distribution),
    ("truth", "reports", "confide"),
    strict=True,
):
    axes.imshow(np.sqrt(shares).reshape(rows, columns), origin="lower", cmap="Blues", vmin=0, vmax=0.25)
    axes.set(title=title, xticks=[], yticks=[])
