"""
The square wave on a map: one epsilon for every two places
==========================================================

Under plain local privacy, a reported cell within the disc is e^epsilon times as likely as one farther away.
Reports may lie beyond the grid. The estimate is much closer than from k-RR with the same promise.
"""

import matplotlib.pyplot as plt
import numpy as np

import confide as cf

grid = cf.Grid(16, 16, unit="km")
rows, columns = grid.decode(np.arange(grid.size)).T
shares = np.exp(-((rows - 4) ** 2 + (columns - 5) ** 2) / 6) + np.exp(-((rows - 11) ** 2 + (columns - 10) ** 2) / 14)
people = np.random.default_rng(0).multinomial(30_000, shares / shares.sum())
truth = people / people.sum()
wave, response = cf.PlanarSquareWave(grid, epsilon=3.0), cf.RandomizedResponse(grid, epsilon=3.0)

figure, panels = plt.subplots(1, 4, figsize=(9, 2.6), layout="constrained")
row = wave.channel.select(np.array([8 * 16 + 8]))[0].reshape(wave.report_alphabet.shape)
shown = {"reports of one cell": row, "truth": grid.picture(truth)}
for mechanism, name in ((wave, "square wave"), (response, "k-RR")):
    answer = cf.estimate(mechanism.simulate_counts(people, rng=1), mechanism)
    away = cf.emd(answer.distribution, truth, grid)
    shown[f"{name}, {away:.1f} km off"] = grid.picture(answer.distribution)
for panel, (title, picture) in zip(panels, shown.items(), strict=True):
    panel.imshow(picture, origin="lower", vmin=0, vmax=None if picture is row else truth.max())
    panel.set(title=title, xticks=[], yticks=[])
