"""
The square wave: one epsilon for every two ages
===============================================

Under plain local privacy, a report near the true age is e^epsilon times as likely as one farther away.
The estimate from such reports is much closer than from k-RR with the same promise.
"""

import matplotlib.pyplot as plt

import confide as cf

ages = cf.Integers(0, 99, unit="year")
people = cf.datasets.adult_ages().histogram
truth = people / people.sum()
wave, response = cf.SquareWave(ages, epsilon=2.0), cf.RandomizedResponse(ages, epsilon=2.0)

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
for age in (20, 60):
    reports = range(-wave.width, 100 + wave.width)
    left.step(reports, wave.channel.dense()[age], where="mid", label=f"true age {age}")
left.set(xlabel="reported age", ylabel="probability", ylim=(0, None))
left.legend(frameon=False, loc="upper right")

right.fill_between(range(100), truth, color="0.85", label="truth")
for mechanism, name in ((wave, "square wave"), (response, "k-RR")):
    answer = cf.estimate(mechanism.simulate_counts(people, rng=1), mechanism)
    right.plot(answer.distribution, label=f"{name}, {cf.emd(answer.distribution, truth, ages):.1f} years off")
right.set(xlabel="age", ylabel="share", ylim=(0, 0.045))
right.legend(frameon=False, loc="upper right")
