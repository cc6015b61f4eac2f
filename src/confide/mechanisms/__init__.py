"""What people's devices do to a value. One mechanism a file; a new one joins by standing in MECHANISMS."""

from confide.mechanisms.base import Mechanism
from confide.mechanisms.exponential import Exponential
from confide.mechanisms.from_matrix import FromMatrix
from confide.mechanisms.geometric import Geometric, TruncatedGeometric
from confide.mechanisms.laplace import Laplace, TruncatedLaplace
from confide.mechanisms.planar_geometric import PlanarGeometric, TruncatedPlanarGeometric
from confide.mechanisms.planar_laplace import PlanarLaplace, TruncatedPlanarLaplace
from confide.mechanisms.product import Product
from confide.mechanisms.randomized_response import RandomizedResponse
from confide.mechanisms.rappor import Rappor
from confide.mechanisms.remapped import Remapped
from confide.mechanisms.taxicab import Taxicab, TruncatedTaxicab
from confide.mechanisms.truncation import truncated

MECHANISMS: dict[str, type[Mechanism]] = {
    mechanism.kind: mechanism
    for mechanism in (
        RandomizedResponse,
        Rappor,
        TruncatedGeometric,
        Geometric,
        TruncatedLaplace,
        Laplace,
        Exponential,
        TruncatedTaxicab,
        Taxicab,
        TruncatedPlanarGeometric,
        PlanarGeometric,
        TruncatedPlanarLaplace,
        PlanarLaplace,
        FromMatrix,
        Product,
        Remapped,
    )
}
"""Every mechanism by its name in a survey file."""

__all__ = [
    "MECHANISMS",
    "Exponential",
    "FromMatrix",
    "Geometric",
    "Laplace",
    "Mechanism",
    "PlanarGeometric",
    "PlanarLaplace",
    "Product",
    "RandomizedResponse",
    "Rappor",
    "Remapped",
    "Taxicab",
    "TruncatedGeometric",
    "TruncatedLaplace",
    "TruncatedPlanarGeometric",
    "TruncatedPlanarLaplace",
    "TruncatedTaxicab",
    "truncated",
]
