"""
Figure 20: time
===============

What a smaller delta costs. Times depend on the machine that built this page.
"""

from reproduction.sketch import sketch

figures = sketch("time-and-error")
