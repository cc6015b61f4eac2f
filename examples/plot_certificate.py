"""
A certified maximum
===================

EM climbs slowly. The certificate bounds how far the likelihood can still rise. Newton's method proves the maximum.
"""

import matplotlib.pyplot as plt

import confide as cf

ages = cf.datasets.adult_ages()
mechanism = cf.TruncatedGeometric(ages.alphabet, epsilon=0.1)
counts = mechanism.simulate_counts(ages.histogram, rng=1)
path: list[tuple[int, float]] = []
cf.estimate(counts, mechanism, cf.IBU(delta=1e-4), monitor=lambda number, height: path.append((number, height)))
best = cf.estimate(counts, mechanism, cf.MLE())
print(best.status, f"certificate {best.certificate:.1e} nats after {best.iterations} iterations")

figure, axes = plt.subplots(figsize=(7, 3))
axes.loglog([one for one, _ in path], [best.log_likelihood - height for _, height in path])
axes.set(xlabel="EM steps", ylabel="nats below the maximum")
