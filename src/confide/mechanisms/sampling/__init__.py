"""Exact and secure sampling on integers.

No floating point stands between the random bits and a report of a finite mechanism, of geometric or Laplace noise, or
of RAPPOR. Unbounded planar noise is accepted by comparing floats where these are a million times their error away
from the edge, and integers of any size where they are not, so its probabilities are exact as well.
"""

from confide.mechanisms.sampling.bits import (
    BUCKETS,
    Bits,
    OddsCoin,
    PowerCoin,
    SecureBits,
    SeededBits,
    as_bits,
    as_generator,
    as_integers,
    exponential_bounds,
    log_of,
    over_root_two,
    permutation,
    power_bounds,
    ratio_above,
    scatter,
    toss_all,
    uniform_below,
)
from confide.mechanisms.sampling.categorical import WeightRows
from confide.mechanisms.sampling.geometric import (
    GeometricNoise,
    LaplaceCellNoise,
    PlanarGeometricNoise,
    ProductNoise,
    TableNoise,
)
from confide.mechanisms.sampling.permanent import Permanent, PermanentBits, as_permanents

__all__ = [
    "BUCKETS",
    "Bits",
    "GeometricNoise",
    "LaplaceCellNoise",
    "OddsCoin",
    "Permanent",
    "PermanentBits",
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
    "as_permanents",
    "exponential_bounds",
    "log_of",
    "over_root_two",
    "permutation",
    "power_bounds",
    "ratio_above",
    "scatter",
    "toss_all",
    "uniform_below",
]
