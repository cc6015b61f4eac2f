"""
Bots stand out
==============

1% of devices always send 36. The goodness of fit sees it, and names the value.
"""

import matplotlib.pyplot as plt
import numpy as np

import confide as cf

ages = cf.datasets.adult_ages()
mechanism = cf.TruncatedGeometric(ages.alphabet, epsilon=0.05)
honest = mechanism.simulate_counts(ages.histogram, rng=1)
attacked = cf.merge([honest, cf.tally([36], counts=[500])])
print(cf.fit(honest, mechanism))
print(cf.fit(attacked, mechanism))

# %%

seen = mechanism.lay_out(attacked)
figure, axes = plt.subplots(figsize=(7, 2.5))
axes.bar(np.arange(100), seen, width=1, color=np.where(np.arange(100) == 36, "#c0392b", "0.75"))
axes.set(xlabel="reported age", ylabel="reports")
