"""
Can more reports answer this?
=============================

A mechanism can hide a question for ever. The diagnosis says so before anyone is asked.
"""

import matplotlib.pyplot as plt
import numpy as np

import confide as cf

answers = cf.Categories(["never", "once", "often"])
blind = cf.FromMatrix(answers, np.array([[0.7, 0.3], [0.3, 0.7], [0.3, 0.7]]))
print(cf.diagnose(None, blind))

figure, axes = plt.subplots(figsize=(4.5, 2.6), layout="constrained")
axes.imshow(blind.channel.dense(), cmap="Blues", vmin=0, vmax=1)
axes.set_yticks(range(3), answers.labels())
axes.set_xticks(range(2), ["report A", "report B"])
for (row, column), chance in np.ndenumerate(blind.channel.dense()):
    axes.text(column, row, f"{chance:.0%}", ha="center", va="center", color="white" if chance > 0.5 else "black")

# %%
# "Once" and "often" give the same reports. "Never" can be estimated all the same:

print(cf.diagnose(None, blind, name="answer").query("answer == never"))
print(cf.diagnose(None, blind, name="answer").query("answer == often"))
