"""P(report | value) as an operator: push, pull, dense."""

from confide.channels.base import (
    Channel,
    Dense,
    FloatArray,
    Indices,
    Layout,
    RandomizedResponseChannel,
    Rescaled,
)
from confide.channels.composed import ColumnStack, Composed, Embedded, Kronecker, Margins, Mixed, Mixture, VerticalStack
from confide.channels.planar import ClampedPlanarConvolution, PlanarConvolution, kernel_in_blocks
from confide.channels.supports import BitChannel, HashChannel, SupportChannel
from confide.channels.two_sided_exponential import ScatteredExponential, TwoSidedExponential, WrappedExponential

__all__ = ["BitChannel", "Channel", "ClampedPlanarConvolution", "ColumnStack", "Composed", "Dense", "Embedded"]
__all__ += [
    "FloatArray",
    "HashChannel",
    "Indices",
    "Kronecker",
    "Layout",
    "Margins",
    "Mixed",
    "Mixture",
    "PlanarConvolution",
]
__all__ += [
    "RandomizedResponseChannel",
    "Rescaled",
    "ScatteredExponential",
    "SupportChannel",
    "TwoSidedExponential",
    "VerticalStack",
]
__all__ += ["WrappedExponential", "kernel_in_blocks"]
