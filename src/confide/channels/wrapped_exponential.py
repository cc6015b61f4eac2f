"""Geometric noise wrapped around a circle, in O(k).

With all wraps added up, P(z | x) = c (alpha^d + alpha^(k - d)) / (1 - alpha^k) for d steps from x to z and the constant
c = (1 - alpha) / (1 + alpha). A product with it is a fading sum in either direction that has gone around for ever: the
sum along a line, and what comes back around from its end, which is that end times alpha^i / (1 - alpha^k). Both only
add, so every entry has full relative accuracy. Wrapping keeps convolutions, so the inverse is that of the whole line,
wrapped: 1 + alpha^2 at a value and -alpha at its two neighbours, over (1 - alpha)^2.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from confide.channels.base import UNIT, Channel, FloatArray, Indices
from confide.channels.two_sided_exponential import running_sums
from confide.errors import NotInvertibleError


@dataclass(frozen=True, eq=False, repr=False)
class WrappedExponential(Channel):
    """M_xz = c (alpha^d + alpha^(k - d)) / (1 - alpha^k), d being the steps from x to z on a circle of k values.

    Parameters
    ----------
    size
        How many values there are.
    ratio
        alpha, the ratio between the probabilities of neighbours on a line.
    complement
        1 - alpha, given apart because it cancels when alpha is close to one.
    around
        1 - alpha^size, given apart for the same reason.

    >>> WrappedExponential(3, 0.5, 0.5, 0.875).push(np.array([1.0, 0.0, 0.0])).round(4)
    array([0.4286, 0.2857, 0.2857])
    """

    size: int
    ratio: float
    complement: float
    around: float

    @property
    def shape(self) -> tuple[int, int]:
        """See :attr:`Channel.shape`."""
        return self.size, self.size

    def push(self, distribution: FloatArray) -> FloatArray:
        """See :meth:`Channel.push`."""
        self.check_length(distribution, 0)
        return self._peak * self._smear(distribution)

    def pull(self, weights: FloatArray) -> FloatArray:
        """See :meth:`Channel.pull`; the matrix is symmetric."""
        self.check_length(weights, 1)
        return self._peak * self._smear(weights)

    def push_error(self, distribution: FloatArray, pushed: FloatArray) -> FloatArray:
        """See :meth:`Channel.push_error`."""
        # A step of a fading sum errs by 3 units of it at most, which then fades with it: smeared sums, once in each
        # direction. The power and the division of what comes back around add 8 units of it, the rest a few more.
        forward, backward = self._fading(distribution), self._fading(distribution[..., ::-1])[..., ::-1]
        both = self._fading(forward) + self._fading(backward[..., ::-1])[..., ::-1]
        error: FloatArray = UNIT * (3 * self._peak * both + 16 * pushed)
        return error

    def pull_error(self, weights: FloatArray, pulled: FloatArray) -> FloatArray:
        """See :meth:`Channel.pull_error`."""
        return self.push_error(weights, pulled)

    def select(self, values: Indices) -> FloatArray:
        """See :meth:`Channel.select`."""
        steps = (np.arange(self.size) - values[:, None]) % self.size
        rows: FloatArray = self._row[steps]
        return rows

    def unpush(self, frequencies: FloatArray) -> FloatArray:
        """See :meth:`Channel.unpush`."""
        # 1e-5: (1 - alpha) / (1 + alpha), the root of the smallest eigenvalue, below which an inverse has fewer than
        # six digits.
        if self.complement / (1 + self.ratio) < 1e-5:
            raise NotInvertibleError(
                f"The inverse of this matrix is lost in rounding: its rows differ by {self.complement**2:.2g} of "
                f"themselves. Use IBU() or MLE(), or a larger epsilon."
            )
        beside = np.roll(frequencies, 1, axis=-1) + np.roll(frequencies, -1, axis=-1)
        solved: FloatArray = ((1 + self.ratio**2) * frequencies - self.ratio * beside) / self.complement**2
        return solved

    def inverse_lengths(self) -> FloatArray:
        """See :meth:`Channel.inverse_lengths`; all rows of the inverse are the first one, turned."""
        first = np.zeros(self.size)
        first[0] = 1.0
        return np.full(self.size, float((self.unpush(first) ** 2).sum()))

    @property
    def _peak(self) -> float:
        """Probability of no noise on a line."""
        return self.complement / (1 + self.ratio)

    @cached_property
    def _powers(self) -> FloatArray:
        """What of the last sum comes back around to each value."""
        return self.ratio ** np.arange(1.0, self.size + 1) / self.around

    @cached_property
    def _row(self) -> FloatArray:
        steps = np.arange(self.size, dtype=np.float64)
        return self._peak * (self.ratio**steps + self.ratio ** (self.size - steps)) / self.around

    def _fading(self, vectors: FloatArray) -> FloatArray:
        """Return the fading sums from the left, gone around for ever: sum over j >= 0 of alpha^j b_(i - j)."""
        sums = running_sums(vectors, self.ratio)
        return sums + sums[..., -1:] * self._powers

    def _smear(self, vectors: FloatArray) -> FloatArray:
        """Return sums over both directions, what stays where it is being counted once."""
        backward = self._fading(vectors[..., ::-1])[..., ::-1]
        return self._fading(vectors) + self.ratio * np.roll(backward, -1, axis=-1)
