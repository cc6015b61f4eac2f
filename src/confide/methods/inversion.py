"""Inversion of the channel, or of each bit, raw and brought back to the simplex."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from confide.channels.base import FloatArray
from confide.checks import check_choice
from confide.em import Monitor, Status
from confide.evidence import Evidence
from confide.methods.base import Method, Solution

Repair = Literal["none", "normalize", "project"]

SUFFIXES = {"none": "", "normalize": "-N", "project": "-P"}
"""Suffix of the name of an inversion in the paper, by its repair."""

ADJECTIVES = {"none": "raw", "normalize": "normalised", "project": "projected"}


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

    @property
    def full_name(self) -> str:
        """See :attr:`Method.full_name`."""
        return f"{ADJECTIVES[self.repair]} matrix inversion ({self.name})"

    def solve(self, evidence: Evidence, monitor: Monitor | None = None) -> Solution:  # noqa: ARG002 (no steps to watch)
        """See :meth:`Method.solve`."""
        return _repaired(evidence.channel.unpush(evidence.frequencies), self.repair, "the inverse matrix")


@dataclass(frozen=True)
class BitInversion(Method):
    """Estimate each value's share from how often its bit was 1, and repair the vector if it is not a distribution.

    RAPPOR's own estimator: a bit is 1 with probability p for those who have the value and q for the others, so a share
    of (frequency - q) / (p - q) explains its frequency; under RAPPOR q is 1 - p. For any :class:`UnaryEncoding`.

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

    @property
    def full_name(self) -> str:
        """See :attr:`Method.full_name`."""
        return f"RAPPOR's {ADJECTIVES[self.repair]} estimator ({self.name})"

    def solve(self, evidence: Evidence, monitor: Monitor | None = None) -> Solution:  # noqa: ARG002 (no steps to watch)
        """See :meth:`Method.solve`."""
        return _repaired(evidence.channel.unbit(evidence.frequencies), self.repair, "inverting each bit")


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
