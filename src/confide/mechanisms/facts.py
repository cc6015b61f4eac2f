"""Facts that a mechanism declares about itself.

Theory reads these facts and never asks for a mechanism's class. It computes a missing fact from the channel if the
channel is small enough, and otherwise reports it as unknown. So a mechanism without facts gets correct but slower
answers. ``tests/laws/test_facts.py`` checks every declaration of every registered mechanism against its exact weights.
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
"""Source of the proof that e^(-c distance) makes an invertible matrix.

A function f is strictly positive definite if the matrix [f(x - z)] over any distinct points is positive definite, and
so invertible. On a line and on a plane, e^(-c |x|) is, because its Fourier transform is positive everywhere. So are its
products. The columns of an unbounded mechanism at the values themselves are such a matrix, times a constant.
"""


class Premise(Enum):
    """Shape of P(report | value) in the value, for likely subsets.

    The peak of a report is a place where it is at least as likely as anywhere else; see :meth:`Mechanism.peaks`.
    """

    NOTHING = "nothing is known of which values make a report likely"
    OWN_VALUE = "a report is likeliest from the value that it names, and equally likely from all others"
    LINE = "on a line, a report gets no likelier as the value moves away from its peak, to either side"
    COORDINATES = "on a plane, a report gets no likelier as the row or the column moves away from its peak"
    DISTANCE = "on a plane, a report is the less likely the greater the Euclidean distance of the value from it"


@dataclass(frozen=True)
class Proof:
    """A proven statement.

    Attributes
    ----------
    reason
        The statement in a sentence.
    source
        The paper's lemma or corollary, or the underlying theorem.
    numbers
        Numbers in the statement, by name.
    """

    reason: str
    source: str
    numbers: Mapping[str, float] = field(default_factory=dict)


FOURIER = Proof(
    "Reports are values plus noise whose Fourier series is positive everywhere, so it can be divided away.",
    "positive Fourier series",
)
"""Independence over unbounded values, where there is no last column.

There theta M is the convolution of theta with the noise. By Poisson's formula the noise's Fourier series is a sum of
positive terms.
"""


@dataclass(frozen=True)
class Bound:
    """Bound on the mean squared error of inversion, for any true distribution.

    Attributes
    ----------
    kind
        ``"at most"`` or ``"at least"``.
    per_report
        The bound times the number of reports.
    proposition
        Its name in the paper.
    holds
        Whether its conditions are met. If not, the number means nothing and `condition` names the unmet ones.
    condition
        The conditions in words.
    misprint
        The number that the paper prints for this setting, if its own formula gives another; otherwise empty.
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
    """Noise on a lattice, the same for every value, in exact numbers.

    Attributes
    ----------
    ratio
        Smallest factor between probabilities of adjacent lattice points, for noise that falls with the steps along all
        axes. `None` for noise that falls with the Euclidean distance.
    rate
        The exponent c, if probabilities are exactly proportional to e^(-c distance) in lattice points.
    stay
        Probability of no displacement, if it is not that of geometric noise, (1 - ratio) / (1 + ratio).
    resolution
        Lattice points per step of the alphabet.
    points
        Lattice points from the first value to the last, for uneven values; otherwise 0.
    is_clamped
        Whether the sum is then mapped to outputs, by a map that does not use the value.
    is_redrawn
        Whether noise is drawn again until the sum is a value, so that the normalizer depends on the value.
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
    """Declared facts of a mechanism over its alphabet; defaults mean unknown.

    Attributes
    ----------
    is_positive
        Whether every possible output is possible from every value. Declared from the formula, because numbers
        underflow: e^-1000 is positive, but 0.0 in float64.
    independence
        Why the rows P(. | value) are linearly independent, so that the distribution is identifiable.
    premise
        The shape of P(report | value) in the value.
    decay
        The rate r, if P(report | value) is exactly a constant times e^(-r distance), in steps. The distance is
        Euclidean, or taxicab under `Premise.COORDINATES`.
    log_smallest
        Logarithm of the smallest positive probability.
    dominance
        For unbounded outputs: why some d(z) with a finite mean bounds abs(log P(z | phi)) for all distributions phi.
        For finitely many outputs the smallest probability does.
    corollary
        The paper's corollary on consistency for finitely many outputs, if it names this mechanism.
    inversion_bound
        The paper's bound on the error of matrix inversion.
    is_rounded
        Whether the weights are float64 numbers from a user, which may miss their promise by rounding.
    noise
        The noise added to the value. Audits of unbounded and of large mechanisms use it.
    bits
        P(bit x is 1 | x) and P(bit x is 1 | another value), if a report has one independent bit for each value.
    parts
        Mechanisms by attribute, if each attribute goes through its own, independently.
    origin
        A mechanism and the report number of each of its outputs, if reports are made from its outputs.
    rounds
        A mechanism whose output is kept, and one that makes a fresh report of it each time.
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
