"""P(report | value) as an operator: push, pull, dense. One operator a file."""

from confide.channels.base import Channel, FloatArray, Indices, Layout
from confide.channels.bits import BitChannel
from confide.channels.dense import Dense
from confide.channels.embedded import Embedded
from confide.channels.kronecker import Kronecker
from confide.channels.piled import Piled
from confide.channels.planar import ClampedPlanarConvolution, PlanarConvolution
from confide.channels.randomized_response import RandomizedResponseChannel
from confide.channels.rescaled import Rescaled
from confide.channels.scattered import ScatteredExponential
from confide.channels.stacked import Stacked
from confide.channels.two_sided_exponential import TwoSidedExponential

__all__ = [
    "BitChannel",
    "Channel",
    "ClampedPlanarConvolution",
    "Dense",
    "Embedded",
    "FloatArray",
    "Indices",
    "Kronecker",
    "Layout",
    "Piled",
    "PlanarConvolution",
    "RandomizedResponseChannel",
    "Rescaled",
    "ScatteredExponential",
    "Stacked",
    "TwoSidedExponential",
]
