"""Counts with their channel: log-likelihood and certificate of an answer.

The certificate bounds what any distribution could add to the likelihood, and is true in exact arithmetic. For any
positive v over the reported outputs, and y = theta M with theta summing to one, duality says of every phi

    sum_z q_z log (phi M)_z / y_z  <=  log max(M v) + sum_z q_z log(q_z / (v_z y_z)),

whose last sum is zero at v = q / y. So the only errors that count are those of the product M v, near its maximum, and
of y, weighed by q. Channels bound both. Where their bounds are too wide to be of use, both are computed anew from
single entries of M, in extended precision.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from confide.channels.base import UNIT, Channel, Dense, FloatArray, Indices, Layout
from confide.channels.composed import Blocks, ColumnStack, Mixed, Mixture
from confide.errors import InvalidCountsError
from confide.evidence.designs import Covariance
from confide.values.checks import MOST_REPORTS, as_floats, read_only

MOST_ENTRIES = 30_000_000
"""Entries of M that are worth computing one by one: about a second."""

BLOCK_OF_ENTRIES = 500_000
"""Entries held at a time: 8 MB in extended precision."""


def dual_bound(channel: Channel, counts: FloatArray, distribution: FloatArray, outputs: FloatArray) -> float:
    """Bound what any distribution could add to L, in nats.

    Parameters
    ----------
    channel
        M.
    counts
        Reports per output.
    distribution
        theta, which gives every reported output a positive probability.
    outputs
        theta M, as `channel.push` computed it.

    Examples
    --------
    >>> dual_bound(Dense(np.eye(2)), np.array([3.0, 1.0]), np.array([0.75, 0.25]), np.array([0.75, 0.25])) < 1e-14
    True
    """
    total, seen = float(counts.sum()), np.flatnonzero(counts)
    shares = counts / total
    ratio = np.divide(shares, outputs, out=np.zeros_like(outputs), where=shares > 0)
    gain = channel.pull(ratio)
    if not 0 < float(gain.max()) < math.inf:
        return math.inf
    gain_error = channel.error(1, ratio, gain) + channel.entry_error * gain
    # The logarithm of the sum of theta, which is one but for rounding.
    excess = float(np.log(distribution.astype(np.longdouble).sum()))
    bound, as_computed = math.inf, math.log(float(gain.max()))
    largest = float((channel.error(0, distribution, outputs)[seen] / outputs[seen]).max())
    if largest < 1:
        # With e = error / y below 1, the sum of -q log(1 - e) is at most that of q e / (1 - e), and q / y is v.
        weighted = channel.weighted_push_error(distribution, outputs, ratio)
        short = weighted / (1 - largest) + channel.entry_error
        # Four roundings: of the shares q, of v = q / y and of the logarithm.
        bound = math.log(float((gain + gain_error).max())) + short + excess + 4 * UNIT
    # An error of so many nats, a tenth of MLE's default tolerance, or of 5 % of the certificate is simply added.
    if total * (bound - as_computed) > max(1e-7, 0.05 * total * as_computed):
        # The values that may have the maximum of M v.
        contenders = np.flatnonzero(gain + gain_error >= float((gain - gain_error).max()))
        if (np.count_nonzero(distribution) + contenders.size) * seen.size <= MOST_ENTRIES:
            bound = min(bound, _bound_by_entries(channel, counts, distribution, contenders) + excess)
    return total * bound


def _bound_by_entries(channel: Channel, counts: FloatArray, distribution: FloatArray, contenders: Indices) -> float:
    """Return the bound per report from single entries of M."""
    seen, atoms = np.flatnonzero(counts), np.flatnonzero(distribution)
    step = max(1, BLOCK_OF_ENTRIES // seen.size)

    def rows_of(values: Indices) -> Iterator[tuple[slice, NDArray[np.longdouble]]]:
        for start in range(0, values.size, step):
            part = slice(start, start + step)
            yield part, channel.block(values[part], seen).astype(np.longdouble)

    weights, reported = (one.astype(np.longdouble) for one in (distribution[atoms], counts[seen]))
    outputs = np.zeros(seen.size, dtype=np.longdouble)
    for part, rows in rows_of(atoms):
        outputs += weights[part] @ rows
    if not (outputs > 0).all():
        return math.inf
    ratio = reported / reported.sum() / outputs
    highest = max(float((rows @ ratio - 1).max()) for _, rows in rows_of(contenders))
    summing = (atoms.size + seen.size + 8) * float(np.finfo(np.longdouble).eps)
    return math.log1p(highest) + 2 * channel.entry_error + summing


@dataclass(frozen=True, eq=False)
class Evidence:
    """Counts of a channel's outputs: what a method sees of a survey.

    Attributes
    ----------
    channel
        P(output | value).
    counts
        Reports per output of the channel.
    log_offset
        What the log-likelihood gains or loses, whatever the distribution, because outputs were merged or rescaled
        on the way into this channel.
    layout
        How the values lie, where the alphabet says that neighbours mean something. The channel alone cannot say: k-RR
        treats ages and colours alike.
    variances
        Of weighted reports: the variance of each count. None without weights, where a count is its own variance.
    design
        Of strata and clusters: their rows and factors (:class:`Covariance`); the diagonal is in the variances.

    Examples
    --------
    >>> from confide.channels import RandomizedResponseChannel
    >>> evidence = Evidence(RandomizedResponseChannel(2, 0.75, 0.25), np.array([3.0, 1.0]))
    >>> round(evidence.log_likelihood(np.array([1.0, 0.0])), 4)
    -2.2493
    """

    channel: Channel
    counts: FloatArray
    log_offset: float = 0.0
    layout: Layout | None = None
    variances: FloatArray | None = None
    design: Covariance | None = None

    # The distribution that was proven last, if any, with its certificate.
    _proofs: list[tuple[FloatArray, float]] = field(default_factory=list, init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "counts", read_only(as_floats("counts", self.counts)))
        # The largest count by itself, too, for a sum that overflows warns.
        least, most = self.counts.min(initial=0.0), self.counts.max(initial=0.0)
        if not most < MOST_REPORTS or not self.total < MOST_REPORTS or least < 0:
            raise InvalidCountsError(
                f"Counts must be numbers of at least 0 that add up to less than 2**63; got {least:g} to {most:g}."
            )
        if not self.total > 0:
            raise InvalidCountsError("There are no reports to estimate from; give at least one.")

    @classmethod
    def pool(cls, groups: Sequence[Evidence]) -> Evidence:
        """Pool groups with different channels over the same values.

        Their log-likelihoods add, and so every method, and the certificate, works on the pool as on one group.
        """
        if len(groups) == 1:
            return groups[0]
        channel = ColumnStack(tuple(group.channel for group in groups))
        counts = np.concatenate([group.counts for group in groups])
        variances = np.concatenate([group.spread for group in groups])
        is_weighted = any(group.variances is not None for group in groups)
        offset = sum(group.log_offset for group in groups)
        pooled = cls(channel, counts, offset, groups[0].layout, variances if is_weighted else None)
        designs = [group.design for group in groups]
        if all(one is None for one in designs):
            return pooled
        from scipy.sparse import block_diag, csr_array

        pairs = list(zip(groups, designs, strict=True))
        rows = [csr_array((0, own.counts.size)) if one is None else one.rows for own, one in pairs]
        diagonals = [own.spread if one is None else one.diagonal for own, one in pairs]
        factors = np.concatenate([one.factors for one in designs if one is not None])
        return replace(pooled, design=Covariance(np.concatenate(diagonals), block_diag(rows, "csr"), factors))

    def mixed(self, mixture: Mixture) -> Evidence:
        """Return evidence about the shares of a mixture's components."""
        return replace(self, channel=Mixed(self.channel, mixture), layout=mixture.layout)

    def in_blocks(self, blocks: Blocks) -> Evidence | None:
        """Return evidence about blocks; `None` if the channel has no blocks."""
        channel = self.channel.in_blocks(blocks.side) if self.channel.shape[0] == self.channel.shape[1] else None
        if channel is None:
            return None
        variances = None if self.variances is None else blocks.nearest(self.variances)
        design = None if self.design is None else self.design.mapped(blocks.nearest)
        return Evidence(channel, blocks.nearest(self.counts), self.log_offset, Layout(blocks.grid), variances, design)

    def gathered(self, numbers: NDArray[np.int64]) -> Evidence:
        """Merge outputs of the same number, averaging their likelihoods.

        Exact up to a factor for each output, which no answer depends on.

        >>> evidence = Evidence(Dense(np.array([[0.6, 0.3, 0.1], [0.1, 0.3, 0.6]])), np.array([2.0, 1.0, 1.0]))
        >>> few = evidence.gathered(np.array([0, 0, 1]))
        >>> few.counts, few.channel.dense()
        (array([3., 1.]), array([[1.5, 0.1],
               [0.5, 0.6]]))
        """
        columns = self.channel.dense() * self.counts
        rows = np.array([np.bincount(numbers, weights=row) for row in columns])
        counts = np.bincount(numbers, weights=self.counts).astype(np.float64)
        variances = None if self.variances is None else np.bincount(numbers, weights=self.variances).astype(np.float64)
        design = None
        if self.design is not None:
            design = self.design.mapped(lambda row: np.bincount(numbers, weights=row).astype(np.float64))
        return Evidence(Dense(rows, self.channel.layout), counts, self.log_offset, self.layout, variances, design)

    @cached_property
    def total(self) -> float:
        """n, the number of reports."""
        return float(self.counts.sum())

    @property
    def spread(self) -> FloatArray:
        """The variance of each count; without weights, the count itself."""
        return self.counts if self.variances is None else self.variances

    def inflation(self, outputs: FloatArray, others: FloatArray) -> float:
        """Return the design effect from one distribution of outputs to another.

        Twice a fall of the log-likelihood along it is this number times chi-squared (Rao and Scott, 1981): the
        sandwich variance of the score along it, sum S r^2, over the variance that the counts would have as numbers of
        people, sum W r^2. It is 1 without weights.
        """
        if self.variances is None:
            return 1.0
        slopes = np.divide(outputs, others, out=np.ones_like(outputs), where=self.counts > 0) - 1
        alone = float(self.counts @ slopes**2)
        return float(self.quadratic(slopes)) / alone if alone > 0 else 1.0

    def quadratic(self, slopes: FloatArray) -> FloatArray:
        """Return the variance of the sum of a slope for each report.

        One or several rows of slopes by output.
        """
        if self.design is None:
            return np.asarray(slopes**2 @ self.spread)
        diagonal, rows, factors = self.design
        together = (rows @ slopes.T).T ** 2 @ factors
        return np.asarray(np.maximum(slopes**2 @ diagonal + together, 0.0))

    def inflations(self, outputs: FloatArray) -> FloatArray:
        """Return the usual weight of each value's reports.

        It is a multiple of the effective one. `outputs` is the distribution of outputs. Means over the distribution of
        values are 1 at a maximum of the likelihood.
        """
        if self.variances is None:
            return np.ones(self.channel.shape[0])
        shares = np.divide(self.counts, outputs, out=np.zeros_like(outputs), where=outputs > 0)
        squares = np.divide(self.variances, outputs, out=np.zeros_like(outputs), where=outputs > 0)
        sent = self.channel.pull(shares)
        return np.divide(self.channel.pull(squares), sent, out=np.ones_like(sent), where=sent > 0)

    @cached_property
    def frequencies(self) -> FloatArray:
        """q, the share of each output among the reports."""
        return read_only(self.counts / self.total)

    @cached_property
    def seen(self) -> slice | NDArray[np.bool_]:
        """Reported outputs; a slice if all were, which avoids a copy."""
        reported = self.counts > 0
        return slice(None) if reported.all() else reported

    def log_likelihood(self, distribution: FloatArray) -> float:
        """Return L, the log-probability of all reports together (paper, eq. L_ibu)."""
        return self.log_likelihood_of_outputs(self.channel.push(distribution))

    def log_likelihood_of_outputs(self, outputs: FloatArray) -> float:
        """Return L from a distribution that was pushed already."""
        if not self.explains(outputs):
            return -math.inf
        mean = float(self.frequencies[self.seen] @ np.log(outputs[self.seen]))  # q . log y
        return self.total * mean + self.log_offset

    def explains(self, outputs: FloatArray) -> bool:
        """Whether every reported output has a positive probability."""
        return bool((outputs[self.seen] > 0).all())

    def ratio(self, outputs: FloatArray) -> FloatArray:
        """Return q / y, and 0 where there are no reports."""
        # Where every output was reported, nothing is divided by zero and nothing is copied.
        if isinstance(self.seen, slice):
            return self.frequencies / outputs
        return np.divide(self.frequencies, outputs, out=np.zeros_like(outputs), where=self.seen)

    def gain(self, outputs: FloatArray) -> FloatArray:
        """Return g = pull(q / push(theta)), the gradient of L per report."""
        return self.channel.pull(self.ratio(outputs))

    def certificate(self, distribution: FloatArray) -> float:
        """Bound what any other distribution could add: n log max g.

        For any phi, by Jensen, L(phi) - L(theta) = n sum_z q_z log(phi M / theta M)_z <= n log sum_x phi_x g_x
        <= n log max g. The last is at most n (max g - 1).
        """
        # A method that proves its own answer and the estimate that judges it ask for the same proof: it is kept.
        if self._proofs and np.array_equal(self._proofs[-1][0], distribution):
            return self._proofs[-1][1]
        outputs = self.channel.push(distribution)
        if not self.explains(outputs):
            return math.inf
        # Rounding errors are part of the bound: what is printed is true in exact arithmetic.
        bound = max(dual_bound(self.channel, self.counts, distribution, outputs), self.resolution)
        self._proofs[:] = [(distribution.copy(), bound)]
        return bound

    def certificate_of(self, gain: FloatArray) -> float:
        """Return n log max g without rounding errors, to steer a search.

        Not below what float64 can resolve, and infinite where g is not a number.
        """
        return certificate_bound(float(gain.max()), self.total, self.resolution)

    @property
    def resolution(self) -> float:
        """Smallest certificate that float64 distinguishes from 0."""
        # g itself is known to 4e-16 at best, and M as well as its entries are.
        return (4e-16 + self.channel.entry_error) * self.total


def certificate_bound(highest: float, total: float, resolution: float) -> float:
    """Return n log max g, at least `resolution`; inf unless positive."""
    return max(total * math.log(highest), resolution) if highest > 0 else math.inf
