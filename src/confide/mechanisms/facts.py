"""Facts that a mechanism declares about itself; theory reads them, and never asks for a mechanism's class.

Whatever is left out is computed from the channel, where that is small enough, or reported as unknown. So a mechanism
without any fact is served rightly, if more slowly; and a wrong one fails in ``tests/laws/test_facts.py``, which holds
every declaration of every registered mechanism against its exact weights.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from typing import TYPE_CHECKING

from confide.values import Indices

if TYPE_CHECKING:
    from confide.mechanisms.base import Mechanism

POSITIVE_DEFINITE = "positive definite kernel"
"""Source of a proof that e^(-c distance) makes an invertible matrix.

A function f is strictly positive definite if the matrix [f(x - z)] over any distinct points is positive definite, and
so invertible. e^(-c |x|) is, on a line and on a plane, because its Fourier transform is positive everywhere; so are its
products. The columns of an unbounded mechanism at the values themselves are such a matrix, times a constant.
"""


class Premise(Enum):
    """Shape of P(report | value) in the value, on which a likely subset may rest.

    A peak of a report is a place from which it is as likely as from anywhere; :meth:`Mechanism.peaks` says where.
    """

    NOTHING = "nothing is known of which values make a report likely"
    OWN_VALUE = "a report is likeliest from the value that it names, and equally likely from all others"
    LINE = "on a line, a report gets no likelier as the value moves away from its peak, to either side"
    COORDINATES = "on a plane, a report gets no likelier as the row or the column moves away from its peak"
    DISTANCE = "on a plane, a report is the less likely the greater the Euclidean distance of the value from it"


@dataclass(frozen=True)
class Proof:
    """A statement that is proven.

    Attributes
    ----------
    reason
        The statement in a sentence.
    source
        The lemma or corollary, by its name in the paper, or the theorem it rests on.
    numbers
        Numbers that stand in it, by name.
    """

    reason: str
    source: str
    numbers: Mapping[str, float] = field(default_factory=dict)


FOURIER = Proof(
    "Reports are values plus noise whose Fourier series is positive everywhere, so it can be divided away.",
    "positive Fourier series",
)
"""Independence over unbounded values, where there is no last column.

There theta M is the convolution of theta with the noise, whose Fourier series is a sum of positive terms, by Poisson's
formula.
"""


@dataclass(frozen=True)
class Bound:
    """A bound on the mean squared error of matrix inversion, whatever the true distribution.

    Attributes
    ----------
    kind
        ``"at most"`` or ``"at least"``.
    per_report
        The bound times the number of reports.
    proposition
        Its name in the paper.
    holds
        Whether its conditions are met; if not, `condition` says which is not, and the number means nothing.
    condition
        The conditions in words.
    misprint
        The number that the paper prints for this very setting, where its own formula gives another; empty elsewhere.
    """

    kind: str
    per_report: float
    proposition: str
    holds: bool
    condition: str
    misprint: str = ""

    @classmethod
    def at_least(cls, per_report: float, proposition: str, conditions: dict[str, bool], misprint: str = "") -> Bound:
        """Return a lower bound that holds if all its conditions do."""
        holds = all(conditions.values())
        broken = [words for words, is_met in conditions.items() if not is_met]
        words = " and ".join(conditions) if holds else f"not met: {' and '.join(broken)}"
        return cls("at least", per_report, proposition, holds, words, misprint)


@dataclass(frozen=True)
class LatticeNoise:
    """Noise on a lattice, the same for every value, in the exact numbers that it is drawn from.

    Attributes
    ----------
    ratio
        The least factor by which a probability falls from a lattice point to the next along an axis, where it falls
        with the steps along all axes; None where it falls with the Euclidean distance.
    rate
        The exponent c, where probabilities are exactly proportional to e^(-c distance) in lattice points.
    stay
        The probability of no displacement, where it is not (1 - ratio) / (1 + ratio), as of geometric noise.
    resolution
        Lattice points a step of the alphabet.
    points
        Lattice points from the first value to the last, where they are more than values; 0 elsewhere.
    is_clamped
        Whether the sum is moved to some outputs afterwards, by a map that does not know the value.
    is_redrawn
        Whether noise is drawn again until the sum is a value, so that its normaliser differs from value to value.
    """

    ratio: Fraction | None = None
    rate: Fraction | None = None
    stay: Fraction | None = None
    resolution: int = 1
    points: int = 0
    is_clamped: bool = False
    is_redrawn: bool = False


@dataclass(frozen=True, eq=False)
class Facts:
    """Declared facts of one mechanism over its own alphabet; a default means that nothing is known.

    Attributes
    ----------
    is_positive
        Whether every output that can be reported at all can be reported from every value. Declared from the formula,
        because numbers underflow: e^-1000 is positive, and 0.0 in float64.
    independence
        Why the rows P(. | value) are linearly independent, so that no two distributions give the same reports.
    premise
        The shape of P(report | value) in the value.
    decay
        The rate r, where P(report | value) is exactly a constant times e^(-r distance), in steps; the distance is the
        Euclidean one, or the taxicab one under `Premise.COORDINATES`.
    log_smallest
        The logarithm of the smallest positive probability.
    dominance
        Why some d(z) with a finite mean bounds abs(log P(z | phi)) for all distributions phi, where outputs are
        unbounded; for finitely many outputs the smallest probability does.
    corollary
        The paper's corollary that states consistency for finitely many outputs, where it names this mechanism.
    inversion_bound
        The paper's bound on the error of matrix inversion.
    is_rounded
        Whether the weights are float64 numbers that somebody computed, so that they may miss their promise by rounding.
    noise
        The noise that is added to the value, which audits of unbounded and of large mechanisms rest on.
    bits
        P(bit x is 1 | x) and P(bit x is 1 | another value), where a report is one bit for each value, each drawn
        independently.
    parts
        Mechanisms by the names of attributes, where each attribute of a value goes through its own, independently.
    origin
        A mechanism, and for each of its outputs the number of the report, where reports are made from its outputs.
    rounds
        A mechanism whose output is kept, and one that makes a report of it each time anew.
    """

    is_positive: bool | None = None
    independence: Proof | None = None
    premise: Premise = Premise.NOTHING
    decay: float | None = None
    log_smallest: float | None = None
    dominance: Proof | None = None
    corollary: str = ""
    inversion_bound: Bound | None = None
    is_rounded: bool = False
    noise: LatticeNoise | None = None
    bits: tuple[Fraction, Fraction] | None = None
    parts: Mapping[str, Mechanism] | None = None
    origin: tuple[Mechanism, Indices] | None = None
    rounds: tuple[Mechanism, Mechanism] | None = None
