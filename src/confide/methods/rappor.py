"""Bit inversion, RAPPOR's own estimator: invert each bit, then bring the whole vector back to the simplex."""

from __future__ import annotations

from dataclasses import dataclass

from confide.evidence import Evidence
from confide.methods.base import Method, Monitor, Solution, Status
from confide.methods.inversion import ADJECTIVES, REPAIRS, Repair, check_repair, explain_repair

NAMES = {"none": "RAP", "normalize": "RAP-N", "project": "RAP-P"}


@dataclass(frozen=True)
class BitInversion(Method):
    """Estimate each value's share from how often its bit was 1, and repair what is not a distribution.

    A bit is 1 with probability p for those who have the value and q for the others, so a share of
    (frequency - q) / (p - q) explains its frequency; under RAPPOR q is 1 - p. For any :class:`UnaryEncoding`.

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
        check_repair(self.repair)

    @property
    def name(self) -> str:
        """See :attr:`Method.name`."""
        return NAMES[self.repair]

    @property
    def full_name(self) -> str:
        """See :attr:`Method.full_name`."""
        return f"RAPPOR's {ADJECTIVES[self.repair]} estimator ({self.name})"

    def solve(self, evidence: Evidence, monitor: Monitor | None = None) -> Solution:  # noqa: ARG002 (no steps to watch)
        """See :meth:`Method.solve`."""
        raw = evidence.channel.unbit(evidence.frequencies)
        explanation = explain_repair("inverting each bit", raw, self.repair)
        return Solution(REPAIRS[self.repair](raw), 0, Status.CLOSED_FORM, explanation)
