"""P(report | value) as an operator: push, pull, dense. One operator a file."""

from confide.channels.base import Channel, FloatArray, Indices, Layout, Rescaled
from confide.channels.bits import BitChannel
from confide.channels.clamped_planar import ClampedPlanarConvolution, kernel_in_blocks
from confide.channels.composed import Composed, Embedded, Kronecker
from confide.channels.dense import Dense
from confide.channels.mixed import Margins, Mixed, Mixture
from confide.channels.planar import PlanarConvolution
from confide.channels.randomized_response import RandomizedResponseChannel
from confide.channels.scattered import ScatteredExponential
from confide.channels.stacks import ColumnStack, VerticalStack
from confide.channels.two_sided_exponential import TwoSidedExponential
from confide.channels.wrapped_exponential import WrappedExponential

__all__ = [
    "BitChannel",
    "Channel",
    "ClampedPlanarConvolution",
    "ColumnStack",
    "Composed",
    "Dense",
    "Embedded",
    "FloatArray",
    "Indices",
    "Kronecker",
    "Layout",
    "Margins",
    "Mixed",
    "Mixture",
    "PlanarConvolution",
    "RandomizedResponseChannel",
    "Rescaled",
    "ScatteredExponential",
    "TwoSidedExponential",
    "VerticalStack",
    "WrappedExponential",
    "kernel_in_blocks",
]
