"""Does the estimate come closer to the truth as reports come in? Identification, continuity and dominance.

The maximum-likelihood estimate converges to the truth in probability if all three hold (theorem mlconsistencygen,
definition id_cont_dom), and only if the first does.

>>> from confide import Integers, TruncatedGeometric
>>> answer = consistency(TruncatedGeometric(Integers(0, 99), epsilon=0.05))
>>> answer.verdict, answer.dominance.reason
(<Verdict.YES: 'yes'>, 'd(z) = -log of the smallest probability = 8.589, the same for every report.')
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from confide.alphabets import Alphabet, Grid, Pairs
from confide.channels.base import Channel, FloatArray
from confide.guarantees import Guarantee, LocalDP, MetricPrivacy, ProductGuarantee
from confide.mechanisms import (
    Exponential,
    Geometric,
    Laplace,
    Mechanism,
    PlanarGeometric,
    PlanarLaplace,
    Product,
    RandomizedResponse,
    Rappor,
    Remapped,
    Taxicab,
    TruncatedGeometric,
    TruncatedLaplace,
    TruncatedPlanarGeometric,
    TruncatedPlanarLaplace,
    TruncatedTaxicab,
)
from confide.theory.identification import Identification, identification
from confide.theory.lemmas import reports_every_value
from confide.theory.verdicts import Finding, Verdict, all_of

THEOREM = "theorem mlconsistencygen"
SECTION = "definition id_cont_dom, section continuity"

MOST_ENTRIES = 100_000_000
"""Entries of a matrix up to which all are looked at: a few seconds."""

BLOCK = 4_000_000
"""Entries that are looked at together."""

EVERYWHERE = (
    RandomizedResponse,
    Rappor,
    Geometric,
    Laplace,
    Taxicab,
    PlanarGeometric,
    PlanarLaplace,
    TruncatedGeometric,
    TruncatedLaplace,
    TruncatedTaxicab,
    TruncatedPlanarGeometric,
    TruncatedPlanarLaplace,
    Exponential,
)
"""Mechanisms whose noise reaches every output from every value, by their formula."""


@dataclass(frozen=True)
class Consistency:
    """Whether the maximum-likelihood estimate converges to the truth, by its three conditions.

    Attributes
    ----------
    identification, continuity, dominance
        The conditions, each with its reason.
    verdict
        What follows: yes by the theorem, no where identification fails, and else what the theorem leaves open.
    """

    identification: Identification
    continuity: Finding
    dominance: Finding

    @property
    def verdict(self) -> Verdict:
        """What the three conditions imply together."""
        if self.identification.is_no:
            return Verdict.NO
        return all_of(self.identification.verdict, self.continuity.verdict, self.dominance.verdict)


def consistency(mechanism: Mechanism, known: Identification | None = None) -> Consistency:
    """Check the three conditions of consistency."""
    whole = known or identification(mechanism)
    if not mechanism.alphabet.is_finite:
        return Consistency(whole, _continuity_of_noise(), _endless_dominance())
    positive = is_positive(mechanism)
    if not positive:
        explain = _zeros if positive is False else _unchecked
        return Consistency(whole, explain(SECTION), explain("definition id_cont_dom, section dominance"))
    return Consistency(whole, _continuity_of_noise(), dominance(mechanism))


def is_positive(mechanism: Mechanism) -> bool | None:
    """Whether every output that can be reported can be reported from every value; None if too large to check.

    Asked of formulas rather than of numbers, which underflow: e^-1000 is positive, and 0.0 in float64.
    """
    if isinstance(mechanism, EVERYWHERE):
        return True
    if isinstance(mechanism, Product):
        parts = is_positive(mechanism.first), is_positive(mechanism.second)
        return False if False in parts else None if None in parts else True
    if isinstance(mechanism, Remapped) and is_positive(mechanism.mechanism):
        return True
    if not mechanism.has_channel:
        return None
    ends = column_ends(mechanism.channel)
    return None if ends is None else bool(((ends[0] > 0) | (ends[1] == 0)).all())


def column_ends(channel: Channel) -> tuple[FloatArray, FloatArray] | None:
    """Return the smallest and the largest entry of each column, from blocks of rows; None if there are too many."""
    values, outputs = channel.shape
    if values * outputs > MOST_ENTRIES:
        return None
    lowest, highest = np.full(outputs, np.inf), np.zeros(outputs)
    step = max(1, BLOCK // outputs)
    for start in range(0, values, step):
        rows = channel.select(np.arange(start, min(start + step, values)))
        lowest, highest = np.minimum(lowest, rows.min(axis=0)), np.maximum(highest, rows.max(axis=0))
    return lowest, highest


def dominance(mechanism: Mechanism) -> Finding:
    """Return a function d(z) that bounds |log P(z | phi)| for all phi and has a finite mean."""
    source = "corollary consistency1"
    match mechanism:
        case Geometric():
            return _line_dominance(mechanism, "corollary consistency2")
        case Taxicab():
            return _taxicab_dominance(mechanism)
        case Laplace() | PlanarGeometric() | PlanarLaplace():
            return _distance_dominance()
        case RandomizedResponse() | Rappor() | TruncatedGeometric() | TruncatedTaxicab():
            pass
        case _:
            source = "smallest probability, as in corollary consistency1"
    lowest = log_smallest(mechanism)
    reason = f"d(z) = -log of the smallest probability = {-lowest:.4g}, the same for every report."
    return Finding(Verdict.YES, reason, source, {"dominating constant": -lowest})


def log_smallest(mechanism: Mechanism) -> float:
    """Return the logarithm of the smallest probability in the matrix, or a lower bound on it that is finite."""
    closed = _log_smallest_by_formula(mechanism)
    if closed is not None:
        return closed
    if isinstance(mechanism, Product):
        return log_smallest(mechanism.first) + log_smallest(mechanism.second)
    ends = column_ends(mechanism.channel)
    if ends is not None:
        least = float(ends[0][ends[1] > 0].min())
        if least > 0:
            return math.log(least)
    return _log_smallest_by_promise(mechanism)


def _log_smallest_by_formula(mechanism: Mechanism) -> float | None:
    match mechanism:
        case RandomizedResponse(alphabet, epsilon):
            return -epsilon - math.log1p((alphabet.size - 1) * math.exp(-epsilon))
        case Rappor(alphabet, epsilon):
            return -alphabet.size * (epsilon / 2 + math.log1p(math.exp(-epsilon / 2)))
        case TruncatedGeometric() if reports_every_value(mechanism):
            low, high = mechanism.alphabet.span
            first, last = mechanism.report_alphabet.span
            return _log_smallest_on_a_line(mechanism.epsilon * mechanism.alphabet.spacing, (low, high), (first, last))
        case TruncatedTaxicab(Grid() as grid) if reports_every_value(mechanism):
            return _log_smallest_taxicab(mechanism, grid)
    return None


def _log_smallest_taxicab(mechanism: TruncatedTaxicab, grid: Grid) -> float | None:
    box = mechanism.report_alphabet
    if grid.holes:
        return None  # the farthest cell may be a hole
    rate = mechanism.epsilon / math.sqrt(2) * grid.spacing
    starts, sides = (grid.first_row, grid.first_column), grid.shape
    ends = zip(starts, sides, (box.first_row, box.first_column), box.shape, strict=True)
    return sum(
        _log_smallest_on_a_line(rate, (start, start + side - 1), (first, first + width - 1))
        for start, side, first, width in ends
    )


def _log_smallest_on_a_line(rate: float, values: tuple[int, int], outputs: tuple[int, int]) -> float:
    """Return the smallest log-probability of the clamped geometric mechanism: at an end, or just inside it."""
    (low, high), (first, last) = values, outputs
    inner = math.log(-math.expm1(-rate)) - math.log1p(math.exp(-rate))
    at_end = -math.log1p(math.exp(-rate)) - rate * max(last - low, high - first)
    if last - first < 2:
        return at_end
    return min(at_end, inner - rate * max(last - 1 - low, high - first - 1))


def _log_smallest_by_promise(mechanism: Mechanism) -> float:
    """Return a lower bound from the promise: no probability is less than e^-bound times the mean of its column."""
    size = mechanism.alphabet.size
    means: FloatArray = mechanism.channel.push(np.full(size, 1 / size))
    return math.log(float(means[means > 0].min())) - _largest_bound(mechanism.guarantee, mechanism.alphabet)


def _largest_bound(guarantee: Guarantee, alphabet: Alphabet) -> float:
    """Return a log-ratio that the promise exceeds for no two values: that of the corners of the box around them."""
    if isinstance(guarantee, ProductGuarantee) and isinstance(alphabet, Pairs):
        return _largest_bound(guarantee.first, alphabet.first) + _largest_bound(guarantee.second, alphabet.second)
    if isinstance(guarantee, MetricPrivacy):
        points = alphabet.coordinates
        return guarantee.epsilon * float(guarantee.metric.between(points.min(axis=0), points.max(axis=0)))
    return float(guarantee.epsilon) if isinstance(guarantee, LocalDP) else math.inf


def _continuity_of_noise() -> Finding:
    return Finding(Verdict.YES, "Every report is possible from every value, so log P(z | phi) is continuous.", SECTION)


def _zeros(source: str) -> Finding:
    reason = "Some reports are possible from some values and impossible from others, where log P(z | phi) is unbounded."
    return Finding(Verdict.NOT_COVERED, reason, source)


def _unchecked(source: str) -> Finding:
    reason = "The matrix is too large to check whether every report is possible from every value."
    return Finding(Verdict.TOO_CLOSE, reason, source)


def _endless_dominance() -> Finding:
    return Finding(
        Verdict.NOT_COVERED,
        "Over endless values the set of distributions is not compact, and P(z | phi) comes as close to 0 as one likes.",
        THEOREM,
    )


def _line_dominance(mechanism: Geometric, source: str) -> Finding:
    low, high = mechanism.alphabet.span
    rate = mechanism.epsilon * mechanism.alphabet.spacing
    constant = -math.log(-math.expm1(-rate)) + math.log1p(math.exp(-rate))
    reason = f"d(z) = {rate:.4g} (|z - {low}| + {high - low}) + {constant:.4g}, whose mean is finite."
    return Finding(Verdict.YES, reason, source, {"lambda times spacing": rate, "-log a": constant})


def _taxicab_dominance(mechanism: Taxicab) -> Finding:
    grid = mechanism.alphabet
    assert isinstance(grid, Grid)  # noqa: S101 (for the type checker; endless values were dealt with before)
    rate = mechanism.epsilon / math.sqrt(2) * grid.spacing
    constant = 2 * (-math.log(-math.expm1(-rate)) + math.log1p(math.exp(-rate)))
    ends = sum(grid.shape) - 2
    reason = (
        f"d(row, column) = {rate:.4g} (|row - {grid.first_row}| + |column - {grid.first_column}| + {ends}) "
        f"+ {constant:.4g}, whose mean is finite."
    )
    return Finding(Verdict.YES, reason, "corollary consistency3", {"lambda times spacing": rate, "-2 log a": constant})


def _distance_dominance() -> Finding:
    return Finding(
        Verdict.YES,
        "d(z) = c (distance from z to some value + the diameter of the values) - log a, whose mean is finite.",
        "as in corollaries consistency2 and consistency3",
    )
