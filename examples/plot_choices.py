"""
Choices from a list
===================

k-RR reports the true choice with a probability that epsilon allows. Raw counts understate the winner.
The estimate does not.
"""

import matplotlib.pyplot as plt
import numpy as np

import confide as cf

parties = cf.Categories(["red", "green", "blue", "grey", "other"])
truth = np.array([0.42, 0.27, 0.18, 0.09, 0.04])
mechanism = cf.RandomizedResponse(parties, epsilon=1.0)
counts = mechanism.simulate_counts((truth * 20_000).round(), rng=1)
estimate = cf.estimate(counts, mechanism)
ends = [estimate.query(f"party == {name}", name="party") for name in parties.labels()]

figure, axes = plt.subplots(figsize=(7, 3))
places = np.arange(5)
reports = mechanism.lay_out(counts)
axes.bar(places - 0.25, reports / reports.sum(), width=0.25, color="0.8", label="reports")
axes.bar(places, estimate.distribution, width=0.25, label="confide, 95% interval")
axes.vlines(places, [one.low for one in ends], [one.high for one in ends], color="black")
axes.bar(places + 0.25, truth, width=0.25, color="0.3", label="truth")
axes.set_xticks(places, parties.labels())
axes.legend(frameon=False)
