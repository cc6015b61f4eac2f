"""
Why fresh noise is not enough
=============================

One person, 40 years old, reports every day. The median of fresh reports gives the age away. Permanent noise does not.
"""

import matplotlib.pyplot as plt
import numpy as np

import confide as cf

survey = cf.Survey(cf.TruncatedGeometric(cf.Integers(0, 99, unit="year"), epsilon=0.05), name="age")
fresh = np.array(survey.privatize([40] * 365, rng=1))
secret = b"a secret that never leaves the phone"
permanent = np.full(365, survey.privatize(40, rng=cf.Permanent(secret)))

figure, axes = plt.subplots(figsize=(7, 3))
days = np.arange(1, 366)
for reports, label in ((fresh, "fresh noise"), (permanent, "permanent noise")):
    axes.plot(days, [np.median(reports[:day]) for day in days], label=label)
axes.axhline(40, color="black", linewidth=1)
axes.set(xscale="log", xlabel="days", ylabel="best guess of the age", ylim=(0, 99))
axes.legend(frameon=False)
