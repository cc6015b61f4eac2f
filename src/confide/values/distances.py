"""Distances between distributions.

>>> from confide import Integers
>>> emd([1, 0, 0], [0, 0, 1], Integers(0, 2))
2.0
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from confide.errors import InvalidDistributionError, InvalidParameterError, MissingExtraError, SolverError
from confide.values import Alphabet, LineGeometry, PlaneGeometry, RingGeometry, UnorderedGeometry
from confide.values.checks import as_distribution, require_kinds, size_of
from confide.values.limits import LARGEST_SQUARE


def emd(left: ArrayLike, right: ArrayLike, alphabet: Alphabet) -> float:
    """Earth mover's distance: the least work that turns one distribution into the other, in units of distance.

    Exact: the difference of cumulative sums on a line, a transport problem on a grid, total variation on
    categories, where every two values are at distance one.

    >>> from confide import Integers
    >>> emd([1, 0, 0], [0, 0.5, 0.5], Integers(0, 2, unit="year"))
    1.5
    """
    require_kinds(emd, locals())
    p = as_distribution(left, alphabet.size, "left distribution")
    q = as_distribution(right, alphabet.size, "right distribution")
    if isinstance(alphabet.geometry, LineGeometry):
        if alphabet.positions is not None:
            return float(alphabet.geometry.gaps @ np.abs(np.cumsum(p - q)[:-1]))
        return float(alphabet.spacing * np.abs(np.cumsum(p - q)[:-1]).sum())
    if isinstance(alphabet.geometry, RingGeometry):
        # What flows over each step, less what flows all around: the median makes the least of it (Werman et al., 1986).
        flows = np.cumsum(p - q)
        return float(np.abs(flows - np.median(flows)).sum())
    if isinstance(alphabet.geometry, UnorderedGeometry):
        return total_variation(p, q)
    if isinstance(alphabet.geometry, PlaneGeometry):
        return _transport(p, q, alphabet)
    raise InvalidParameterError(f"No earth mover's distance is known on {alphabet!r}.")


def has_emd(alphabet: Alphabet) -> bool:
    """Whether :func:`emd` can be computed on this alphabet.

    >>> from confide import Grid, Integers
    >>> has_emd(Integers(0, 9)), has_emd(Grid(1000, 1000))
    (True, False)
    """
    if isinstance(alphabet.geometry, PlaneGeometry):
        return alphabet.size <= LARGEST_SQUARE
    return isinstance(alphabet.geometry, LineGeometry | UnorderedGeometry | RingGeometry)


def total_variation(left: ArrayLike, right: ArrayLike) -> float:
    """Return the largest difference in probability over all sets of values.

    >>> total_variation([0.5, 0.5], [0.75, 0.25])
    0.25
    """
    p, q = _pair(left, right)
    return float(np.abs(p - q).sum() / 2)


def kl_divergence(left: ArrayLike, right: ArrayLike) -> float:
    """Kullback-Leibler divergence of `right` from `left`, in nats; infinite if `right` rules out what `left` has.

    >>> round(kl_divergence([1.0, 0.0], [0.5, 0.5]), 4)
    0.6931
    """
    p, q = _pair(left, right)
    present = p > 0
    if (q[present] == 0).any():
        return float("inf")
    # Rounding can take the sum of two nearly equal distributions below zero, where no divergence lies.
    return max(0.0, float((p[present] * np.log(p[present] / q[present])).sum()))


def hellinger(left: ArrayLike, right: ArrayLike) -> float:
    """Hellinger distance, between 0 and 1.

    >>> hellinger([1.0, 0.0], [0.0, 1.0])
    1.0
    """
    p, q = _pair(left, right)
    return float(np.linalg.norm(np.sqrt(p) - np.sqrt(q)) / np.sqrt(2))


def _pair(left: ArrayLike, right: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    sizes = size_of(left, "left distribution"), size_of(right, "right distribution")
    if sizes[0] != sizes[1]:
        raise InvalidDistributionError(f"Two distributions must have the same length; got {sizes[0]} and {sizes[1]}.")
    return as_distribution(left, sizes[0], "left distribution"), as_distribution(right, sizes[0], "right distribution")


def _transport(p: NDArray[np.float64], q: NDArray[np.float64], alphabet: Alphabet) -> float:
    # Mass that stays where it is costs nothing, so only the surplus has to travel (for any metric ground distance).
    surplus, deficit = np.maximum(p - q, 0), np.maximum(q - p, 0)
    sources, sinks = np.flatnonzero(surplus), np.flatnonzero(deficit)
    if sources.size == 0 or sinks.size == 0:
        return 0.0
    if alphabet.size > LARGEST_SQUARE:
        raise InvalidParameterError(
            f"An exact EMD over {alphabet.size:,} cells does not fit; at most {LARGEST_SQUARE:,}. Merge cells first."
        )
    points = alphabet.coordinates
    cost = alphabet.metric.between(points[sources][:, None], points[sinks][None])
    moved, taken = float(surplus.sum()), float(deficit.sum())
    shares = surplus[sources] / moved, deficit[sinks] / taken
    value, log = _load_pot().emd2(*shares, np.ascontiguousarray(cost), numItermax=50_000_000, log=True)
    # POT merely warns when it runs out of iterations, and returns a wrong value.
    if log["warning"] is not None or log["result_code"] != 1:
        raise SolverError(f"The transport solver did not finish ({log['warning']}); no EMD is given.")
    return moved * float(value)


def _load_pot() -> Any:
    try:
        import ot  # takes two seconds, so only where it is needed
    except ImportError:
        raise MissingExtraError("POT", "The earth mover's distance on a grid", "planar") from None
    return ot
