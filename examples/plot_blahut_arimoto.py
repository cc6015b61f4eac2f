"""
Least information at the same distance: Blahut-Arimoto
======================================================

The mechanism of Blahut and Arimoto prefers reports that suit most people, and never reports the rim.
That reveals less about a person. It also hides the distribution: values beyond the outermost report look alike.
"""

import matplotlib.pyplot as plt
import numpy as np

import confide as cf

ages = cf.Integers(0, 99, unit="year")
plain, least = cf.Exponential(ages, epsilon=0.2), cf.BlahutArimoto(ages, epsilon=0.2)

figure, panels = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained", sharey=True)
for panel, mechanism, name in zip(panels, (plain, least), ("exponential", "Blahut-Arimoto"), strict=True):
    for age in (2, 9, 50):
        panel.plot(mechanism.channel.dense()[age], label=f"true age {age}")
    used = np.flatnonzero(mechanism.channel.dense().max(axis=0))
    panel.set(title=f"{name}: reports {used[0]} to {used[-1]}", xlabel="reported age")
panels[0].set(ylabel="probability", ylim=(0, None))
panels[0].legend(frameon=False)
