"""Directions in which groups are compared: functions of the value, chosen by what values are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from confide.alphabets import Alphabet
from confide.channels.base import Channel, FloatArray, Indices

DEGREES = 4
"""Polynomials on a line: mean, spread, skew and peak; more differ by what no noise lets through."""

MOST_INDICATORS = 30
"""Categories that have a direction of their own, the commonest ones."""


@dataclass(frozen=True, eq=False)
class Directions:
    """Functions of the value in whose directions groups are compared.

    Attributes
    ----------
    theta
        The distribution of all people, about.
    functions
        One row each.
    weights
        How much each counts.
    slope
        How much the mean of the values rises along the first one; None off the line.
    """

    theta: FloatArray
    functions: FloatArray
    weights: FloatArray
    slope: float | None = None

    @classmethod
    def over(cls, alphabet: Alphabet, theta: FloatArray) -> Directions:
        """Choose functions that suit the values: by their order, by their coordinates, or one by one.

        >>> from confide import Categories
        >>> Directions.over(Categories(["red", "green", "blue"]), np.array([0.2, 0.5, 0.3])).functions
        array([[0., 1., 0.],
               [0., 0., 1.]])
        """
        values = alphabet.decode(np.arange(alphabet.size))
        if values.dtype.kind not in "iuf":
            common = np.argsort(-theta, kind="stable")[: min(MOST_INDICATORS, theta.size - 1)]
            return cls(theta, _indicators(common, theta.size), np.ones(common.size))
        if values.ndim == 1:
            first, *others = _polynomials(values, theta)
            slope = float(theta @ (values * first) - (theta @ values) * (theta @ first))
            return cls(theta, np.array([first, *others]), 1 / np.arange(1.0, DEGREES + 1), slope)
        axes = [_polynomials(axis, theta)[:2] for axis in values.reshape(theta.size, -1).T]
        linear, bent = [one for one, _ in axes], [two for _, two in axes]
        mixed = [linear[0] * one for one in linear[1:]]
        weights = [1.0] * len(linear) + [0.5] * (len(mixed) + len(bent))
        return cls(theta, np.array([*linear, *mixed, *bent]), np.array(weights))

    def scores(self, channel: Channel) -> FloatArray:
        """Return E[f | report] for every output of a channel, one row each; 0 for one that cannot be."""
        outputs = channel.push(self.theta)
        expected = channel.push(self.theta * self.functions)
        scores: FloatArray = np.divide(expected, outputs, out=np.zeros_like(expected), where=outputs > 0)
        return scores.T


def _indicators(places: Indices, size: int) -> FloatArray:
    rows = np.zeros((places.size, size))
    rows[np.arange(places.size), places] = 1.0
    return rows


def _polynomials(values: FloatArray, theta: FloatArray) -> list[FloatArray]:
    """Return Legendre's polynomials of the rank that each value has among all people, between -1 and 1."""
    distinct, places = np.unique(values, return_inverse=True)
    shares = np.bincount(places, theta, distinct.size)
    ranks = (np.cumsum(shares) - shares / 2)[places]
    return [np.polynomial.Legendre.basis(degree)(2 * ranks - 1) for degree in range(1, DEGREES + 1)]
