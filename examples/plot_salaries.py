"""
Salaries in bins
================

Uneven bins, the last one open. Epsilon is per thousand dollars between the middles of bins.
"""

import matplotlib.pyplot as plt
import numpy as np

import confide as cf

salaries = cf.Bins(edges=[0, 20, 40, 60, 80, 100, 150], above=True, unit="thousand")
people = np.random.default_rng(1).lognormal(np.log(52), 0.5, 20_000).round(2)
mechanism = cf.TruncatedGeometric(salaries, epsilon=0.05)
estimate = cf.estimate(cf.tally(mechanism.privatize(people, rng=1)), mechanism)
truth = np.bincount(salaries.encode(salaries.take(people)), minlength=salaries.size) / people.size
print(estimate.query("salary >= 100", name="salary"))

figure, axes = plt.subplots(figsize=(7, 3))
places = np.arange(salaries.size)
axes.bar(places - 0.2, estimate.distribution, width=0.4, label="confide")
axes.bar(places + 0.2, truth, width=0.4, color="0.3", label="truth")
axes.set_xticks(places, salaries.labels(), rotation=20)
axes.legend(frameon=False)
