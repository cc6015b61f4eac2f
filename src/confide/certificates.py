"""Upper bound on what any distribution could add to the likelihood, true in exact arithmetic.

For any positive v over the reported outputs, and y = theta M with theta summing to one, duality says of every phi

    sum_z q_z log (phi M)_z / y_z  <=  log max(M v) + sum_z q_z log(q_z / (v_z y_z)),

whose last sum is zero at v = q / y. So the only errors that count are those of the product M v, near its maximum, and
of y, weighed by q. Channels bound both. Where their bounds are too wide to be of use, both are computed anew from
single entries of M, in extended precision.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from confide.channels.base import UNIT, Channel, FloatArray, Indices

ROUNDING = 4 * UNIT
"""Relative error of the shares q, of v = q / y and of the logarithm."""

NEGLIGIBLE_ERROR = 1e-7
"""Nats up to which an error bound is simply added: a tenth of the tolerance that MLE has unless told otherwise."""

NEGLIGIBLE_SHARE = 0.05
"""The same as a share of the certificate."""

MOST_ENTRIES = 30_000_000
"""Entries of M that are worth computing one by one: about a second."""

BLOCK_OF_ENTRIES = 500_000
"""Entries held at a time: 8 MB in extended precision."""

Long = NDArray[np.longdouble]


@dataclass(frozen=True, eq=False)
class DualBound:
    """A distribution judged against counts of reports.

    Attributes
    ----------
    channel
        M.
    counts
        Reports per output.
    distribution
        theta, which gives every reported output a positive probability.
    outputs
        theta M, as `channel.push` computed it.

    >>> from confide.channels import Dense
    >>> DualBound(Dense(np.eye(2)), np.array([3.0, 1.0]), np.array([0.75, 0.25]), np.array([0.75, 0.25])).bound < 1e-14
    True
    """

    channel: Channel
    counts: FloatArray
    distribution: FloatArray
    outputs: FloatArray

    @cached_property
    def bound(self) -> float:
        """L* - L(theta) at most, in nats of all reports."""
        highest, total = float(self._gain.max()), float(self.counts.sum())
        if not 0 < highest < math.inf:
            return math.inf
        bound, as_computed = self._quick(), math.log(highest)
        allowed = max(NEGLIGIBLE_ERROR, NEGLIGIBLE_SHARE * total * as_computed)
        if total * (bound - as_computed) > allowed and self._entries <= MOST_ENTRIES:
            bound = min(bound, self._careful())
        return total * bound

    @cached_property
    def _seen(self) -> Indices:
        return np.flatnonzero(self.counts)

    @cached_property
    def _atoms(self) -> Indices:
        return np.flatnonzero(self.distribution)

    @cached_property
    def _shares(self) -> FloatArray:
        return self.counts / float(self.counts.sum())

    @cached_property
    def _ratio(self) -> FloatArray:
        """The ratio v = q / y, and 0 where there are no reports."""
        return np.divide(self._shares, self.outputs, out=np.zeros_like(self.outputs), where=self._shares > 0)

    @cached_property
    def _gain(self) -> FloatArray:
        return self.channel.pull(self._ratio)

    @cached_property
    def _gain_error(self) -> FloatArray:
        return self.channel.pull_error(self._ratio, self._gain) + self.channel.entry_error * self._gain

    @cached_property
    def _contenders(self) -> Indices:
        """The values that may have the maximum of M v."""
        return np.flatnonzero(self._gain + self._gain_error >= float((self._gain - self._gain_error).max()))

    @property
    def _entries(self) -> int:
        """Number of entries of M that a careful bound takes."""
        return (self._atoms.size + self._contenders.size) * self._seen.size

    @cached_property
    def _excess(self) -> float:
        """The logarithm of the sum of theta, which is one but for rounding."""
        return float(np.log(self.distribution.astype(np.longdouble).sum()))

    def _quick(self) -> float:
        """Return the bound per report from the channel's products and their errors."""
        error = self.channel.push_error(self.distribution, self.outputs)[self._seen] / self.outputs[self._seen]
        largest = float(error.max())
        if not largest < 1:
            return math.inf
        # With e = error / y below 1, the sum of -q log(1 - e) is at most that of q e / (1 - e), and q / y is v.
        weighted = self.channel.weighted_push_error(self.distribution, self.outputs, self._ratio)
        short = weighted / (1 - largest) + self.channel.entry_error
        return math.log(float((self._gain + self._gain_error).max())) + short + self._excess + ROUNDING

    def _careful(self) -> float:
        """Return the bound per report from entries of M."""
        counts, weights = (
            part.astype(np.longdouble) for part in (self.counts[self._seen], self.distribution[self._atoms])
        )
        outputs: Long = np.zeros(self._seen.size, dtype=np.longdouble)
        for part, rows in self._rows(self._atoms):
            outputs += weights[part] @ rows
        if not (outputs > 0).all():
            return math.inf
        ratio = counts / counts.sum() / outputs
        highest = max(float((rows @ ratio - 1).max()) for _, rows in self._rows(self._contenders))
        summing = (self._atoms.size + self._seen.size + 8) * float(np.finfo(np.longdouble).eps)
        return math.log1p(highest) + self._excess + 2 * self.channel.entry_error + summing

    def _rows(self, values: Indices) -> Iterator[tuple[slice, Long]]:
        """Yield blocks of rows of M at the reported outputs."""
        step = max(1, BLOCK_OF_ENTRIES // self._seen.size)
        for start in range(0, values.size, step):
            part = slice(start, start + step)
            yield part, self.channel.block(values[part], self._seen).astype(np.longdouble)
