"""Consistency of the maximum-likelihood estimate: identification, continuity and dominance.

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

from confide.channels.base import Channel, FloatArray
from confide.mechanisms.base import Mechanism
from confide.mechanisms.guarantees import Guarantee, LocalDP, MetricPrivacy, ProductGuarantee
from confide.theory.identification import Identification, identification
from confide.theory.spectra import LIMITS
from confide.theory.verdicts import Finding, Verdict, all_of
from confide.values import Alphabet

THEOREM = "theorem mlconsistencygen"


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
        """Implication of the three conditions together."""
        if self.identification.is_no:
            return Verdict.NO
        return all_of(self.identification.verdict, self.continuity.verdict, self.dominance.verdict)


def consistency(mechanism: Mechanism, known: Identification | None = None) -> Consistency:
    """Check the three conditions of consistency."""
    whole = known or identification(mechanism)
    sources = [f"definition id_cont_dom, section {name}" for name in ("continuity", "dominance")]
    everywhere = "Every report is possible from every value, so log P(z | phi) is continuous."
    continuity = Finding(Verdict.YES, everywhere, sources[0])
    if not mechanism.alphabet.is_finite:
        reason = "Over unbounded values the set of distributions is not compact, and P(z | phi) has no lower bound."
        return Consistency(whole, continuity, Finding(Verdict.NOT_COVERED, reason, THEOREM))
    positive = is_positive(mechanism)
    if positive:
        return Consistency(whole, continuity, dominance(mechanism))
    verdict = Verdict.TOO_CLOSE
    reason = "The matrix is too large to check whether every report is possible from every value."
    if positive is False:
        verdict = Verdict.NOT_COVERED
        reason = (
            "Some reports are possible from some values and impossible from others, where log P(z | phi) is unbounded."
        )
    return Consistency(whole, *(Finding(verdict, reason, source) for source in sources))


def is_positive(mechanism: Mechanism) -> bool | None:
    """Whether every output that can be reported can be reported from every value; None if too large to check.

    Asked of formulas rather than of numbers, which underflow: e^-1000 is positive, and 0.0 in float64.
    """
    facts = mechanism.facts
    if facts.is_positive is not None:
        return facts.is_positive
    if facts.parts is not None:
        parts = [is_positive(part) for part in facts.parts.values()]
        return False if False in parts else None if None in parts else True
    if facts.origin is not None and is_positive(facts.origin[0]):
        return True
    if not mechanism.has_channel:
        return None
    ends = column_ends(mechanism.channel)
    return None if ends is None else bool(((ends[0] > 0) | (ends[1] == 0)).all())


def column_ends(channel: Channel) -> tuple[FloatArray, FloatArray] | None:
    """Return the smallest and the largest entry of each column, from blocks of rows; None if there are too many."""
    values, outputs = channel.shape
    if values * outputs > LIMITS.entries:
        return None
    lowest, highest = np.full(outputs, np.inf), np.zeros(outputs)
    step = max(1, LIMITS.compared // outputs)
    for start in range(0, values, step):
        rows = channel.select(np.arange(start, min(start + step, values)))
        lowest, highest = np.minimum(lowest, rows.min(axis=0)), np.maximum(highest, rows.max(axis=0))
    return lowest, highest


def dominance(mechanism: Mechanism) -> Finding:
    """Return a function d(z) that bounds |log P(z | phi)| for all phi and has a finite mean."""
    facts = mechanism.facts
    if facts.dominance is not None:
        proof = facts.dominance
        return Finding(Verdict.YES, proof.reason, proof.source, proof.numbers)
    if not mechanism.report_alphabet.is_finite:
        return Finding(Verdict.NOT_COVERED, "Reports are unbounded, and no d(z) is known for them.", THEOREM)
    lowest = log_smallest(mechanism)
    reason = f"d(z) = -log of the smallest probability = {-lowest:.4g}, the same for every report."
    source = facts.corollary or "smallest probability, as in corollary consistency1"
    return Finding(Verdict.YES, reason, source, {"dominating constant": -lowest})


def log_smallest(mechanism: Mechanism) -> float:
    """Return the logarithm of the smallest probability in the matrix, or a lower bound on it that is finite."""
    facts = mechanism.facts
    if facts.log_smallest is not None:
        return facts.log_smallest
    if facts.parts is not None:
        return sum(log_smallest(part) for part in facts.parts.values())
    ends = column_ends(mechanism.channel)
    if ends is not None:
        least = float(ends[0][ends[1] > 0].min())
        if least > 0:
            return math.log(least)
    # A lower bound from the promise: no probability is less than e^-bound times the mean of its column.
    size = mechanism.alphabet.size
    means: FloatArray = mechanism.channel.push(np.full(size, 1 / size))
    return math.log(float(means[means > 0].min())) - largest_bound(mechanism.guarantee, mechanism.alphabet)


def largest_bound(guarantee: Guarantee, alphabet: Alphabet) -> float:
    """Return a log-ratio that the promise exceeds for no two values."""
    if isinstance(guarantee, ProductGuarantee) and alphabet.attributes is not None:
        return sum(map(largest_bound, guarantee.parts, alphabet.attributes.alphabets))
    if isinstance(guarantee, MetricPrivacy):
        return guarantee.epsilon * guarantee.metric.farthest(alphabet.coordinates)
    return float(guarantee.epsilon) if isinstance(guarantee, LocalDP) else math.inf
