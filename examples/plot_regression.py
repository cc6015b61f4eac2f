"""
Why did they say yes?
=====================

Four thousand people answer a delicate question through randomized response. Age, sex and city stand beside it. Crosses
are what the reports would say if they were taken for true answers.
"""

import matplotlib.pyplot as plt
import numpy as np

import confide as cf

rng = np.random.default_rng(1)
age, female = rng.integers(20, 65, 4000), rng.integers(0, 2, 4000)
city = rng.choice(["Bern", "Oslo", "Rome"], 4000)
odds = -2.5 + 0.03 * age + 0.6 * female + 0.5 * (city == "Oslo")
truth = np.where(rng.random(4000) < 1 / (1 + np.exp(-odds)), "yes", "no")

survey = cf.Survey(cf.RandomizedResponse(cf.Categories(["no", "yes"]), epsilon=1.5), "answer", "A delicate question")
data = {"age": age / 10, "female": female, "city": city, "report": survey.mechanism.privatize(truth, rng=2)}
found = cf.regress("answer ~ age + female + C(city)", data, survey)

figure, axes = plt.subplots(figsize=(7, 3))
found.plot(axes)

# %%

print(found)
