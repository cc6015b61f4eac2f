"""
What a declared shape buys
==========================

"Falling from 50" is declared before any report is seen. It narrows the interval of "65 or older".
"""

import matplotlib.pyplot as plt

import confide as cf

ages = cf.datasets.adult_ages()
mechanism = cf.TruncatedGeometric(ages.alphabet, epsilon=0.05)
counts = mechanism.simulate_counts(ages.histogram, rng=1)
shapes = [None, "nobody below 17", "falling from 50"]
answers = [cf.estimate(counts, mechanism, shape=shape).query("age >= 65") for shape in shapes]

figure, axes = plt.subplots(figsize=(7, 2))
for place, answer in enumerate(answers):
    axes.plot([answer.low, answer.high], [place, place], linewidth=4, solid_capstyle="butt")
axes.axvline(ages.distribution[65:].sum(), color="black", linewidth=1)
axes.set_yticks(range(3), [shape or "no shape" for shape in shapes])
axes.set(xlabel="share of people of 65 or older (line: truth)", xlim=(0, 0.12))
