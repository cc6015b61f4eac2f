"""Directions in which the likelihood does not change, and how far a computed maximum may be off in all others.

A best explanation theta is known by theta G = mu and theta 1 = 1. A report that is rare among very many has a tiny mu,
and the values that explain it tiny probabilities, which absolute comparisons would take for rounding. So everything
here is in units of its own: a value x in units of the most that it can have, min_z mu_z / G_xz, and each report in
units of mu_z. Units are powers of two, which change no digit of the entries.

>>> rows, fitted = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]), np.array([1 - 1e-9, 1e-9])
>>> flat = flat_directions(rows, fitted, shares=fitted, gap=4e-16)
>>> flat.basis.round(3) + 0.0, flat.scale
(array([[ 0.   , -0.707,  0.707]]), array([1.00000000e+00, 9.31322575e-10, 9.31322575e-10]))
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from confide.channels.base import FloatArray, Indices
from confide.channels.dense import GIVEN, Dense
from confide.checks import read_only
from confide.theory.spectra import ROUNDING, Spectrum, find_classes, left_vectors

DUST = 1e-12
"""Coefficients of a direction that are rounding; left in, they make linear programs degenerate."""

TRUSTED = 0.07
"""The gap to the maximum may be this part of the rarest report's share; see :func:`is_trusted`."""

LEAST_ERROR = 1e-14
"""No probability is known better than this, in its own unit."""


@dataclass(frozen=True, eq=False)
class FlatDirections:
    """The directions d with d G = 0 and d 1 = 0, over some values.

    Attributes
    ----------
    basis
        Orthonormal, one row a direction, each value in its unit.
    scale
        The units: the most probability that each value can have, to a factor of two.
    error
        How far each value of the point may be off from some best explanation, its flat directions aside, in its unit.
    spectrum
        The singular values behind it.
    twins
        Values that no report seen tells apart, class by class, by their places.
    """

    basis: FloatArray
    scale: FloatArray
    error: FloatArray
    spectrum: Spectrum
    twins: tuple[Indices, ...] = ()

    @property
    def dimension(self) -> int:
        """Number of independent directions."""
        return int(self.basis.shape[0])

    @property
    def is_settled(self) -> bool:
        """Whether they are beyond doubt; if not, there may be fewer."""
        return self.spectrum.is_sharp


def flat_directions(
    rows: FloatArray, fitted: FloatArray, shares: FloatArray, gap: float, digits: float = GIVEN
) -> FlatDirections:
    """Find all directions over these values that change no report that was seen.

    Parameters
    ----------
    rows
        P(report | value), for each value and each report that was seen.
    fitted
        The probability of each of these reports by the point.
    shares
        The share of each among all reports.
    gap
        By how much the mean log-likelihood of the point may be below the maximum, in nats.
    digits
        The share of itself to which a probability is known.
    """
    reports = _powers_of_two(1 / fitted)
    scale = _powers_of_two(1 / np.maximum((rows / fitted).max(axis=1), 1.0))
    equations = np.column_stack([rows * reports * scale[:, None], scale])
    equations /= _powers_of_two(np.linalg.norm(equations, axis=0))
    vectors, spectrum = left_vectors(equations, digits)
    # Along what is not clearly above rounding the likelihood does not change in any digit that float64 holds.
    kept = int((spectrum.singular_values > spectrum.clear).sum())
    error = np.full(scale.size, np.inf)
    if is_trusted(gap, shares):
        error = _error(vectors[:, :kept], rows * scale[:, None] * (np.sqrt(shares) / fitted), scale, gap)
    basis = without_dust(np.ascontiguousarray(vectors[:, kept:].T))
    return FlatDirections(read_only(basis), read_only(scale), read_only(error), spectrum, _twins(rows, basis))


def is_trusted(gap: float, shares: FloatArray) -> bool:
    """Whether a gap to the maximum is small enough to bound how far fitted probabilities are off.

    With v = mu / mu_point, where sum q / v <= 1, the gap bounds sum q (1/v - 1 + log v). Each term is at least
    (v - 1)^2 / 4, and (1/v - 1)^2 / 4, while v is between 2/3 and 3/2; and it is, while no term can exceed 0.07. So
    sum q (v - 1)^2 <= 4 gap.
    """
    return gap <= TRUSTED * float(shares.min())


def without_dust(vectors: FloatArray) -> FloatArray:
    """Return numbers of the order of one with those that are rounding set to zero."""
    return np.where(np.abs(vectors) > DUST, vectors, 0.0)


def _twins(rows: FloatArray, basis: FloatArray) -> tuple[Indices, ...]:
    """Return the classes of several values with the same rows, where there is any direction at all."""
    classes = find_classes(Dense(rows)) if basis.size else []
    return tuple(members for members in classes if members.size > 1)


def _powers_of_two(numbers: FloatArray) -> FloatArray:
    """Return the nearest powers of two: to multiply by them rounds nothing."""
    return np.exp2(np.round(np.log2(numbers)))


def _error(kept: FloatArray, weighted: FloatArray, scale: FloatArray, gap: float) -> FloatArray:
    """Return how far each value may be off along the directions that do change reports.

    What the point lacks is e = kept g with e 1 = 0, and |e G sqrt(q) / mu| <= 2 sqrt(gap). So g ranges over an
    ellipsoid, whose width is sought along each value.
    """
    from scipy.linalg import solve_triangular

    around_ones, _ = np.linalg.qr((kept.T @ scale)[:, None], mode="complete")
    moves = kept @ around_ones[:, 1:]
    if moves.shape[1] == 0:
        return np.full(scale.size, LEAST_ERROR)
    factor = np.linalg.qr((moves.T @ weighted).T, mode="r")
    if float(np.abs(np.diag(factor)).min()) <= 1e3 * ROUNDING * float(weighted.max()):
        return np.full(scale.size, np.inf)
    widths = np.linalg.norm(solve_triangular(factor, moves.T, trans="T"), axis=0)
    return np.asarray(2 * math.sqrt(gap) * widths + LEAST_ERROR)
