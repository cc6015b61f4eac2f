"""Counts laid against a channel: what a method sees of a survey, and how it judges an answer."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from confide.channels.base import Channel, FloatArray
from confide.checks import read_only
from confide.errors import InvalidCountsError


@dataclass(frozen=True, eq=False)
class Evidence:
    """How often each output of a channel was reported.

    Attributes
    ----------
    channel
        P(output | value).
    counts
        Reports per output of the channel.
    log_offset
        What the log-likelihood gains or loses, whatever the distribution, because outputs were merged or rescaled
        on the way into this channel.

    >>> from confide.channels import RandomizedResponseChannel
    >>> evidence = Evidence(RandomizedResponseChannel(2, 0.75, 0.25), np.array([3.0, 1.0]))
    >>> round(evidence.log_likelihood(np.array([1.0, 0.0])), 4)
    -2.2493
    """

    channel: Channel
    counts: FloatArray
    log_offset: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "counts", read_only(np.array(self.counts, dtype=np.float64)))
        if not self.total > 0:
            raise InvalidCountsError("There are no reports to estimate from; give at least one.")

    @property
    def total(self) -> float:
        """n, the number of reports."""
        return float(self.counts.sum())

    @property
    def frequencies(self) -> FloatArray:
        """q, the share of each output among the reports."""
        return self.counts / self.total

    def log_likelihood(self, distribution: FloatArray) -> float:
        """Return L, the log-probability of all reports together (paper, eq. L_ibu)."""
        return self.log_likelihood_of_outputs(self.channel.push(distribution))

    def log_likelihood_of_outputs(self, outputs: FloatArray) -> float:
        """Return L from a distribution that was pushed already."""
        seen = self.counts > 0
        if not (outputs[seen] > 0).all():
            return -math.inf
        return float(self.counts[seen] @ np.log(outputs[seen])) + self.log_offset

    def gain(self, outputs: FloatArray) -> FloatArray:
        """Return g = pull(q / push(theta)): what L would gain, per report, from a little more of each value."""
        ratio = np.divide(self.frequencies, outputs, out=np.zeros_like(outputs), where=self.counts > 0)
        return self.channel.pull(ratio)

    def certificate(self, distribution: FloatArray) -> float:
        """Return an upper bound on how much any other distribution could add to L: n log max g.

        For any phi, by Jensen, L(phi) - L(theta) = n sum_z q_z log(phi M / theta M)_z <= n log sum_x phi_x g_x
        <= n log max g. The last is at most n (max g - 1).
        """
        outputs = self.channel.push(distribution)
        if not (outputs[self.counts > 0] > 0).all():
            return math.inf
        return self.total * max(0.0, math.log(float(self.gain(outputs).max())))
