"""Matrix inversion, raw and brought back to the simplex."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from confide.channels.base import FloatArray
from confide.checks import check_choice
from confide.evidence import Evidence
from confide.methods.base import Method, Monitor, Solution, Status
from confide.methods.simplex import normalize, project

Repair = Literal["none", "normalize", "project"]

REPAIRS = {"none": lambda vector: vector, "normalize": normalize, "project": project}
NAMES = {"none": "INV", "normalize": "INV-N", "project": "INV-P"}
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
        check_repair(self.repair)

    @property
    def name(self) -> str:
        """See :attr:`Method.name`."""
        return NAMES[self.repair]

    @property
    def full_name(self) -> str:
        """See :attr:`Method.full_name`."""
        return f"{ADJECTIVES[self.repair]} matrix inversion ({self.name})"

    def solve(self, evidence: Evidence, monitor: Monitor | None = None) -> Solution:  # noqa: ARG002 (no steps to watch)
        """See :meth:`Method.solve`."""
        raw = evidence.channel.unpush(evidence.frequencies)
        explanation = explain_repair("the inverse matrix", raw, self.repair)
        return Solution(REPAIRS[self.repair](raw), 0, Status.CLOSED_FORM, explanation)


def check_repair(repair: object) -> None:
    """Refuse a repair that is not known."""
    check_choice("repair", repair, tuple(REPAIRS))


def explain_repair(source: str, raw: FloatArray, repair: Repair) -> str:
    """Say how many entries were negative, and what became of them."""
    negative = int((raw < 0).sum())
    sentence = f"{source} gave {negative:,} of {raw.size:,} values a negative probability"
    if negative == 0 or repair == "none":
        return sentence
    return sentence + {"normalize": ", clipped and rescaled", "project": ", projected away"}[repair]
