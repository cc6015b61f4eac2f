"""Mechanisms: they add noise to a value on a person's device.

Add one of your own with ``confide.register``.
"""

from confide.mechanisms.base import Bound, Facts, LatticeNoise, Mechanism, Premise, Proof, truncated
from confide.mechanisms.combinations import Product, Remapped
from confide.mechanisms.finite import BlahutArimoto, Exponential, FromMatrix
from confide.mechanisms.guarantees import LocalDP, MetricPrivacy
from confide.mechanisms.hadamard_response import HadamardResponse
from confide.mechanisms.line import Geometric, Laplace, TruncatedGeometric, TruncatedLaplace, WrappedGeometric
from confide.mechanisms.one_bit import OneBitMean
from confide.mechanisms.planar_noise import (
    PlanarGeometric,
    PlanarLaplace,
    Taxicab,
    TruncatedPlanarGeometric,
    TruncatedPlanarLaplace,
    TruncatedTaxicab,
)
from confide.mechanisms.projective_geometry import ProjectiveGeometryResponse
from confide.mechanisms.questionnaires import Crosswise, Dice, ForcedResponse, KukCards, UnrelatedQuestion
from confide.mechanisms.randomized_response import OptimizedUnary, RandomizedResponse, Rappor, Unary, UnaryEncoding
from confide.mechanisms.rounds import TwoRounds
from confide.mechanisms.square_wave import PlanarSquareWave, SquareWave
from confide.mechanisms.support_sets import LocalHashing, SubsetSelection
from confide.values.base import Kinds

MECHANISMS: Kinds[type[Mechanism]] = Kinds(
    Mechanism,
    {
        one.kind: one
        for one in (
            *(RandomizedResponse, Rappor, SquareWave, PlanarSquareWave, OptimizedUnary, SubsetSelection, LocalHashing),
            *(Unary, HadamardResponse, ProjectiveGeometryResponse, OneBitMean),
            *(TruncatedGeometric, Geometric, TruncatedLaplace, Laplace, Exponential, BlahutArimoto, WrappedGeometric),
            *(TruncatedTaxicab, Taxicab, TruncatedPlanarGeometric, PlanarGeometric),
            *(TruncatedPlanarLaplace, PlanarLaplace),
            *(ForcedResponse, Dice, Crosswise, UnrelatedQuestion, KukCards),
            *(FromMatrix, Product, Remapped, TwoRounds),
        )
    },
)
"""Every mechanism by its name in a survey file, the simplest of each kind first."""

__all__ = [
    "MECHANISMS",
    "BlahutArimoto",
    "Bound",
    "Crosswise",
    "Dice",
    "Exponential",
    "Facts",
    "ForcedResponse",
    "FromMatrix",
    "Geometric",
    "HadamardResponse",
    "KukCards",
    "Laplace",
    "LatticeNoise",
    "LocalDP",
    "LocalHashing",
    "Mechanism",
    "MetricPrivacy",
    "OneBitMean",
    "OptimizedUnary",
    "PlanarGeometric",
    "PlanarLaplace",
    "PlanarSquareWave",
    "Premise",
    "Product",
    "ProjectiveGeometryResponse",
    "Proof",
    "RandomizedResponse",
    "Rappor",
    "Remapped",
    "SquareWave",
    "SubsetSelection",
    "Taxicab",
    "TruncatedGeometric",
    "TruncatedLaplace",
    "TruncatedPlanarGeometric",
    "TruncatedPlanarLaplace",
    "TruncatedTaxicab",
    "TwoRounds",
    "Unary",
    "UnaryEncoding",
    "UnrelatedQuestion",
    "WrappedGeometric",
    "truncated",
]
