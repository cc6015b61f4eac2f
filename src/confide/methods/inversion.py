"""Inversion of the channel, or of each bit, raw and brought back to the simplex."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from confide.channels import BitChannel
from confide.channels.base import FloatArray
from confide.checks import check_choice
from confide.em import Monitor, Status
from confide.errors import NotInvertibleError
from confide.evidence import Evidence
from confide.methods.base import Method, Solution

Repair = Literal["none", "normalize", "project"]

SUFFIXES = {"none": "", "normalize": "-N", "project": "-P"}
"""What the paper puts behind the name of an inversion, by its repair."""


@dataclass(frozen=True)
class Inversion(Method):
    """Solve w M = q for w, then repair w if it is not a distribution.

    Parameters
    ----------
    repair
        ``"normalize"`` clips negative entries and rescales (INV-N), ``"project"`` takes the nearest distribution in
        Euclidean distance (INV-P), ``"none"`` returns w itself, which may be negative.

    >>> import confide as cf
    >>> mechanism = cf.RandomizedResponse(cf.Categories(["yes", "no"]), epsilon=1.0)
    >>> counts = cf.tally(["yes", "no"], counts=[600, 400])
    >>> cf.estimate(counts, mechanism, cf.Inversion("project")).distribution.round(3)
    array([0.716, 0.284])
    """

    repair: Repair = "normalize"

    def __post_init__(self) -> None:
        check_choice("repair", self.repair, tuple(REPAIRS))

    @property
    def name(self) -> str:
        """See :attr:`Method.name`."""
        return f"INV{SUFFIXES[self.repair]}"

    def solve(self, evidence: Evidence, monitor: Monitor | None = None) -> Solution:  # noqa: ARG002 (no steps to watch)
        """See :meth:`Method.solve`."""
        return _repaired(evidence.channel.unpush(evidence.frequencies), self.repair, "the inverse matrix")


@dataclass(frozen=True)
class BitInversion(Method):
    """Estimate each value's share from how often its bit was 1, and repair the vector if it is not a distribution.

    RAPPOR's own estimator: a bit is 1 with probability p for those who have the value and 1 - p for the others, so a
    share of (frequency - (1 - p)) / (2 p - 1) explains its frequency.

    Parameters
    ----------
    repair
        ``"normalize"`` clips and rescales the whole vector (RAP-N), ``"project"`` takes the nearest distribution
        (RAP-P), ``"none"`` returns the vector as it is.

    >>> import confide as cf
    >>> mechanism = cf.Rappor(cf.Categories(["a", "b"]), epsilon=4.0)
    >>> counts = cf.tally(mechanism.privatize(["a"] * 900 + ["b"] * 100, rng=1))
    >>> cf.estimate(counts, mechanism, cf.BitInversion("project")).distribution.round(1)
    array([0.9, 0.1])
    """

    repair: Repair = "normalize"

    def __post_init__(self) -> None:
        check_choice("repair", self.repair, tuple(REPAIRS))

    @property
    def name(self) -> str:
        """See :attr:`Method.name`."""
        return f"RAP{SUFFIXES[self.repair]}"

    def solve(self, evidence: Evidence, monitor: Monitor | None = None) -> Solution:  # noqa: ARG002 (no steps to watch)
        """See :meth:`Method.solve`."""
        channel = evidence.channel
        if not isinstance(channel, BitChannel):
            raise NotInvertibleError("RAPPOR's estimator needs RAPPOR's reports. Use IBU() or Inversion() for others.")
        ones = (channel.pull(evidence.frequencies) - 1) / channel.lift  # pull gives 1 + lift * frequency
        odds = math.sqrt(1 + channel.lift)  # p / (1 - p)
        return _repaired((ones * (odds + 1) - 1) / (odds - 1), self.repair, "inverting each bit")


def normalize(vector: FloatArray) -> FloatArray:
    """Clip negative entries to zero and rescale to sum one.

    >>> normalize(np.array([0.75, 0.5, -0.25]))
    array([0.6, 0.4, 0. ])
    """
    clipped = np.maximum(vector, 0.0)
    return clipped / float(clipped.sum())


def project(vector: FloatArray) -> FloatArray:
    """Return the distribution nearest to the vector in Euclidean distance.

    The nearest point is max(0, v - t) for the one t that makes it sum to one; sorting finds which entries stay
    positive (Wang and Carreira-Perpinan, 2013).

    >>> project(np.array([0.75, 0.5, -0.25]))
    array([0.625, 0.375, 0.   ])
    """
    descending: FloatArray = np.sort(vector)[::-1]
    shifts = (np.cumsum(descending) - 1) / np.arange(1, vector.size + 1)
    positive = int(np.flatnonzero(descending > shifts)[-1])
    projected: FloatArray = np.maximum(vector - shifts[positive], 0.0)
    # The subtraction cancels when entries are large, as raw inversions are; the sum is put right at the end.
    return projected / float(projected.sum())


REPAIRS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "none": lambda vector: vector,
    "normalize": normalize,
    "project": project,
}


def _repaired(raw: FloatArray, repair: Repair, source: str) -> Solution:
    """Return the repaired vector, and say how many entries were negative and what became of them."""
    negative = int((raw < 0).sum())
    words = f"{source} gave {negative:,} of {raw.size:,} values a negative probability"
    if negative:
        words += {"none": "", "normalize": ", clipped and rescaled", "project": ", projected away"}[repair]
    return Solution(REPAIRS[repair](raw), 0, Status.CLOSED_FORM, words)
