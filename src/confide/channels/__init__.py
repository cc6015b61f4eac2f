"""P(report | value) as an operator: push, pull, dense. One operator a file."""

from confide.channels.base import Channel
from confide.channels.dense import Dense
from confide.channels.randomized_response import RandomizedResponseChannel
from confide.channels.two_sided_exponential import TwoSidedExponential

__all__ = ["Channel", "Dense", "RandomizedResponseChannel", "TwoSidedExponential"]
