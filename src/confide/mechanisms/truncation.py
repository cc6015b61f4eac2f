"""From a mechanism with endless reports to its truncated kin."""

from __future__ import annotations

from confide.alphabets import Grid, Integers
from confide.errors import InvalidParameterError
from confide.mechanisms.base import Mechanism
from confide.mechanisms.geometric import Geometric, TruncatedGeometric
from confide.mechanisms.laplace import Laplace, TruncatedLaplace
from confide.mechanisms.planar_geometric import PlanarGeometric, TruncatedPlanarGeometric
from confide.mechanisms.planar_laplace import PlanarLaplace, TruncatedPlanarLaplace
from confide.mechanisms.taxicab import Taxicab, TruncatedTaxicab


def truncated(mechanism: Mechanism, outputs: Integers | Grid | None = None) -> Mechanism:
    """Return the mechanism whose reports are moved to the nearest of `outputs`; the alphabet if left out.

    >>> from confide import Integers
    >>> truncated(Geometric(Integers(0, 99), epsilon=0.05), Integers(-10, 109))
    TruncatedGeometric(alphabet=Integers(0, 99), epsilon=0.05, outputs=Integers(-10, 109))
    """
    match mechanism, outputs:
        case Geometric(alphabet, epsilon), Integers() | None:
            return TruncatedGeometric(alphabet, epsilon, outputs)
        case Laplace(alphabet, epsilon), Integers() | None:
            return TruncatedLaplace(alphabet, epsilon, outputs)
        case Taxicab(Grid() as alphabet, epsilon), Grid() | None:
            return TruncatedTaxicab(alphabet, epsilon, outputs)
        case PlanarGeometric(Grid() as alphabet, epsilon), Grid() | None:
            return TruncatedPlanarGeometric(alphabet, epsilon, outputs)
        case PlanarLaplace(Grid() as alphabet, epsilon), Grid() | None:
            return TruncatedPlanarLaplace(alphabet, epsilon, outputs)
    raise InvalidParameterError(
        f"{mechanism!r} cannot be truncated to {outputs!r}: give an unbounded mechanism on a finite alphabet, and "
        f"outputs of the same kind. Remapped() post-processes any other mechanism."
    )
