"""IBU on many groups at once: one matrix with a row a group goes through the channel in place of many vectors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from confide.channels import Channel, Dense
from confide.channels.base import FloatArray
from confide.evidence import Evidence

BLOCK = 2**17
"""Numbers in a matrix of groups: a megabyte, which stays in a processor's own memory."""

LARGEST_DENSE = 512
"""Values and outputs up to which the stored matrix is the fastest channel for a whole matrix of groups."""


@dataclass(frozen=True, eq=False)
class Ending:
    """Where one group ended: its distribution, after how many steps, how far the last one rose, and if by the rule."""

    distribution: FloatArray
    iterations: int
    rise: float
    is_met: bool


@dataclass(frozen=True, eq=False)
class Batch:
    """Groups whose reports went through one channel.

    Attributes
    ----------
    channel
        The channel.
    frequencies
        The share of each output among the reports, one row a group.
    totals, offsets
        How many reports each group has, and what its log-likelihood gains or loses whatever the distribution.
    """

    channel: Channel
    frequencies: FloatArray
    totals: FloatArray
    offsets: FloatArray

    @classmethod
    def of(cls, groups: Sequence[Evidence], channel: Channel) -> Batch:
        """Put groups one below the other."""
        frequencies = np.array([group.frequencies for group in groups])
        totals = np.array([group.total for group in groups])
        return cls(channel, frequencies, totals, np.array([group.log_offset for group in groups]))

    def select(self, rows: NDArray[np.int64]) -> Batch:
        """Return some of the groups."""
        return Batch(self.channel, self.frequencies[rows], self.totals[rows], self.offsets[rows])

    def gain(self, outputs: FloatArray) -> FloatArray:
        """See :meth:`Evidence.gain`."""
        seen = self.frequencies > 0
        return self.channel.pull(np.divide(self.frequencies, outputs, out=np.zeros_like(outputs), where=seen))

    def log_likelihood(self, outputs: FloatArray) -> FloatArray:
        """See :meth:`Evidence.log_likelihood_of_outputs`; minus infinity where a report has become impossible."""
        with np.errstate(divide="ignore"):
            logs = np.log(outputs, out=np.zeros_like(outputs), where=self.frequencies > 0)
        likelihoods: FloatArray = self.totals * np.einsum("ij,ij->i", self.frequencies, logs) + self.offsets
        return likelihoods

    def certificates(self, gain: FloatArray) -> FloatArray:
        """See :meth:`Evidence.certificate_of`."""
        highest = gain.max(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            bounds = np.where(highest > 0, self.totals * np.log(highest), np.inf)
        certificates: FloatArray = np.maximum(bounds, 4e-16 * self.totals)
        return certificates


def quickest(channel: Channel) -> Channel:
    """Return the channel that takes a whole matrix through fastest."""
    return Dense(channel.dense(), channel.layout) if max(channel.shape) <= LARGEST_DENSE else channel


def in_blocks(groups: Sequence[Evidence]) -> Iterator[Sequence[Evidence]]:
    """Cut groups into blocks that fit into a processor's own memory."""
    rows = max(1, BLOCK // max(groups[0].channel.shape))
    return (groups[start : start + rows] for start in range(0, len(groups), rows))


def climb(batch: Batch, start: FloatArray, limit: int, *, delta: float | None, tolerance: float) -> list[Ending]:
    """Run IBU on all groups of a batch, each until its own rule is met.

    The rule is the paper's where `delta` is given, else that the certificate is at most the tolerance. Groups that have
    ended are taken out of the matrix once they are half of it.
    """
    endings: dict[int, Ending] = {}
    alive, is_open = np.arange(batch.totals.size), np.ones(batch.totals.size, dtype=bool)
    theta = np.tile(start, (alive.size, 1))
    outputs = batch.channel.push(theta)
    gain, likelihood = batch.gain(outputs), batch.log_likelihood(outputs)
    for iteration in range(1, limit + 1):
        theta = theta * gain
        outputs = batch.channel.push(theta)
        gain = batch.gain(outputs)
        previous, likelihood = likelihood, batch.log_likelihood(outputs)
        with np.errstate(invalid="ignore"):
            rise = likelihood - previous
        is_met = np.abs(rise) < delta if delta is not None else batch.certificates(gain) <= tolerance
        ended = is_open & (is_met | (iteration == limit))
        for row in np.flatnonzero(ended).tolist():
            distribution = theta[row] / theta[row].sum()
            endings[int(alive[row])] = Ending(distribution, iteration, float(rise[row]), bool(is_met[row]))
        is_open &= ~ended
        if not is_open.any():
            break
        if 2 * np.count_nonzero(is_open) <= is_open.size:
            rows = np.flatnonzero(is_open)
            batch, alive, is_open = batch.select(rows), alive[rows], is_open[rows]
            theta, gain, likelihood = theta[rows], gain[rows], likelihood[rows]
    return [endings[number] for number in range(len(endings))]
