"""Exact and secure sampling on integers: no floating point between the random bits and the report."""

from confide.sampling.bits import Bits, SecureBits, SeededBits, as_bits, as_generator
from confide.sampling.categorical import WeightRows
from confide.sampling.geometric import GeometricNoise
from confide.sampling.ratios import ratio_above
from confide.sampling.uniform import uniform_below

__all__ = [
    "Bits",
    "GeometricNoise",
    "SecureBits",
    "SeededBits",
    "WeightRows",
    "as_bits",
    "as_generator",
    "ratio_above",
    "uniform_below",
]
