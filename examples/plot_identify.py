"""
Can more reports answer this?
=============================

A mechanism can hide a question for ever. The diagnosis says so before anyone is asked.
"""

import numpy as np

import confide as cf

answers = cf.Categories(["never", "once", "often"])
blind = cf.FromMatrix(answers, np.array([[0.7, 0.3], [0.3, 0.7], [0.3, 0.7]]))
print(cf.diagnose(None, blind))

# %%
# "Once" and "often" give the same reports. "Never" can be estimated all the same:

print(cf.diagnose(None, blind, name="answer").query("answer == never"))
print(cf.diagnose(None, blind, name="answer").query("answer == often"))
