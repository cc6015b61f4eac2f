"""Exact and secure sampling on integers: no floating point between the random bits and the report."""

from confide.sampling.bits import Bits, SecureBits, SeededBits, as_bits, as_generator
from confide.sampling.categorical import WeightRows
from confide.sampling.coins import OddsCoin, PowerCoin
from confide.sampling.geometric import GeometricNoise, LaplaceCellNoise
from confide.sampling.planar import PlanarGeometricNoise, ProductNoise, TableNoise
from confide.sampling.ratios import (
    as_integers,
    exponential_bounds,
    log_of,
    over_root_two,
    ratio_above,
)
from confide.sampling.uniform import uniform_below

__all__ = [
    "Bits",
    "GeometricNoise",
    "LaplaceCellNoise",
    "OddsCoin",
    "PlanarGeometricNoise",
    "PowerCoin",
    "ProductNoise",
    "SecureBits",
    "SeededBits",
    "TableNoise",
    "WeightRows",
    "as_bits",
    "as_generator",
    "as_integers",
    "exponential_bounds",
    "log_of",
    "over_root_two",
    "ratio_above",
    "uniform_below",
]
