"""
Around the clock
================

Hours lie on a circle: 23 and 0 are neighbours. Noise wraps around.
"""

import matplotlib.pyplot as plt
import numpy as np

import confide as cf

hours = np.arange(24)
truth = np.exp(1.5 * np.cos((hours - 22) * 2 * np.pi / 24))
truth = truth / truth.sum()
mechanism = cf.WrappedGeometric(cf.Hours(), epsilon=0.5)
counts = mechanism.simulate_counts((truth * 10_000).round(), rng=1)
estimate = cf.estimate(counts, mechanism)
print(estimate.query("hour in 20..2", name="hour"))

figure, axes = plt.subplots(figsize=(4, 4), subplot_kw={"projection": "polar"})
angles = hours * 2 * np.pi / 24
axes.bar(angles, truth, width=0.26, color="0.85", label="truth")
axes.plot(np.append(angles, angles[0]), np.append(estimate.distribution, estimate.distribution[0]), label="confide")
axes.set_theta_zero_location("N")
axes.set_theta_direction(-1)
axes.set_xticks(angles[::3], [f"{hour}:00" for hour in hours[::3]])
axes.set_yticks([])
axes.legend(frameon=False, loc="lower left")
