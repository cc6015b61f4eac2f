"""
Figure 5: how many people RAPPOR needs
======================================

The probability that the likelihood has a single maximum, by the number of people.
"""

from reproduction.sketch import sketch

figures = sketch("rappor-concavity")
