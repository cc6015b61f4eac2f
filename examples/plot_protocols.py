"""
A thousand choices: which protocol?
===================================

With a thousand choices, use projective geometry response. It errs as little as one noisy bit for each choice, and a
report takes 13 bits in place of a thousand. k-RR errs more with every choice on the list.
"""

import math

import matplotlib.pyplot as plt
import numpy as np

import confide as cf

size, people, epsilon = 1000, 50_000, 3.0
choices = cf.Categories([f"choice {rank}" for rank in range(1, size + 1)])
shares = 1 / np.arange(1, size + 1) ** 1.2
everyone = np.random.default_rng(1).multinomial(people, shares / shares.sum())
truth = everyone / people

protocols = {
    "k-RR": cf.RandomizedResponse(choices, epsilon),
    "Hadamard response": cf.HadamardResponse(choices, epsilon),
    "optimized unary": cf.OptimizedUnary(choices, epsilon),
    "projective geometry": cf.ProjectiveGeometryResponse(choices, epsilon),
}
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
for place, (name, mechanism) in enumerate(protocols.items()):
    reports = mechanism.simulate_counts(everyone, rng=2)
    found = cf.Inversion("norm-sub").solve(mechanism.observe(reports)).distribution
    vectors = mechanism.report_alphabet.bits
    bits = math.ceil(math.log2(mechanism.report_alphabet.size)) if vectors is None else vectors.length
    left.barh(place, 1e4 * ((found - truth) ** 2).sum(), color=f"C{place}")
    left.annotate(f"{bits:,} bits a report", (0, place), xytext=(6, 0), textcoords="offset points", va="center")
    right.plot(range(1, 21), found[:20], "o-", color=f"C{place}", ms=3, lw=0.8, label=name)
left.set(yticks=range(len(protocols)), yticklabels=protocols, xlabel="squared error of all shares, times 10,000")
right.plot(range(1, 21), truth[:20], "k_", ms=9, label="truth")
right.set(xlabel="rank of the choice", ylabel="share", xticks=(1, 5, 10, 15, 20))
right.legend(frameon=False)
