"""
Dice, cards and crosswise questions
===================================

What each design by hand promises, and how well 2,000 people's answers are then known.
"""

import matplotlib.pyplot as plt

import confide as cf

answer = cf.Categories(["yes", "no"])
designs = {
    "crosswise, 1 in 4": cf.Crosswise(answer, share=0.25),
    "cards, 80% red": cf.KukCards(answer, red=[0.8, 0.2]),
    "one die": cf.Dice(answer, [[6], [1]]),
    "unrelated question": cf.UnrelatedQuestion(answer, honest="2/3", share=0.25),
    "two dice": cf.Dice(answer, [[2, 3, 4], [11, 12]], dice=2),
}
people = [400, 1600]  # a fifth of them say yes, if asked directly
found = {
    name: cf.estimate(design.simulate_counts(people, rng=1), design).query("answer == yes")
    for name, design in designs.items()
}

figure, axes = plt.subplots(figsize=(7, 3))
for place, (name, share) in enumerate(found.items()):
    axes.plot([share.low, share.high], [place, place], linewidth=6, alpha=0.4)
    axes.plot(share.estimate, place, "o", color="black")
    axes.text(0.36, place, f"epsilon {designs[name].guarantee.epsilon:.2f}", va="center")
axes.axvline(0.2, color="black", linewidth=1)
axes.set_yticks(range(len(found)), list(found))
axes.set(xlabel="share of yes, with its 95% interval", xlim=(0.05, 0.45))

# %%
# What respondents read:

for step in designs["two dice"].instructions:
    print(step)
