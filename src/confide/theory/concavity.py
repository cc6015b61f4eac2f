"""Strict concavity of the likelihood for the reports at hand, and the uniqueness of its maximum.

Theorem strictconcavity: the rank of [G 1]. G holds the columns of the reports that were seen, 1 is a column of ones,
and rows of both together must be linearly independent. How often a report was seen does not matter, nor does any scale
of a column. Uniqueness of the maximum is weaker, and decided where strict concavity fails.

>>> from confide import Categories, FromMatrix, Integers, RandomizedResponse, tally
>>> mechanism = RandomizedResponse(Integers(1, 4), epsilon=1.0)
>>> strict_concavity(mechanism, tally([1, 2, 3])).verdict, strict_concavity(mechanism, tally([1, 2])).verdict
(<Verdict.YES: 'yes'>, <Verdict.NO: 'no'>)
>>> twins = FromMatrix(Categories([1, 2, 3]), [[0.45, 0.10, 0.45], [0.05, 0.90, 0.05], [0.45, 0.10, 0.45]])
>>> uniqueness(twins, tally([2, 2, 2, 2])).verdict, uniqueness(twins, tally([2, 2, 2, 2, 1, 3])).verdict
(<Verdict.YES: 'yes'>, <Verdict.NO: 'no'>)
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from confide.channels.base import FloatArray, Indices
from confide.errors import InvalidParameterError
from confide.evidence.counts import Counts
from confide.evidence.evidence import Evidence
from confide.mechanisms.base import Mechanism
from confide.mechanisms.sampling import log_of
from confide.theory.identification import Identification, identification
from confide.theory.maximum_set import MaximumSet, maximum_set
from confide.theory.spectra import LIMITS, Spectrum, ends_of
from confide.theory.verdicts import Finding, Verdict
from confide.values.checks import SUM_TOLERANCE, check_count

THEOREM = "theorem strictconcavity"
SLACKNESS = "complementary slackness"


@dataclass(frozen=True)
class Concavity(Finding):
    """Whether the log-likelihood is strictly concave for the reports at hand.

    Attributes
    ----------
    distinct
        How many columns of the channel were seen; reports that say the same of the values share one.
    spectrum
        The singular values of [G 1], where they were needed.
    """

    distinct: int = 0
    spectrum: Spectrum | None = None


def strict_concavity(mechanism: Mechanism, counts: Counts) -> Concavity:
    """Decide whether the log-likelihood of these reports is strictly concave."""
    return concavity_of(mechanism.observe(counts), identification(mechanism))


def concavity_of(evidence: Evidence, known: Identification) -> Concavity:
    """Decide the same from counts that were laid against the channel already."""
    seen = np.flatnonzero(evidence.counts > 0)
    values, distinct = evidence.channel.shape[0], int(seen.size)
    if distinct + 1 < values:
        were = f"{distinct:,} distinct report was" if distinct == 1 else f"{distinct:,} distinct reports were"
        reason = f"Only {were} seen; {values:,} values need {values - 1:,} at the least."
        return Concavity(Verdict.NO, reason, THEOREM, {}, distinct)
    # Where rows sum to one no output is missing, and the columns span all that those of the mechanism do. Reports may
    # have been merged on the way, as those beyond the values are at the border; but only where their columns are
    # proportional, or the likelihood would be another. So the rank is the mechanism's own.
    sums = evidence.channel.pull(np.ones(evidence.channel.shape[1]))
    is_stochastic = bool(np.abs(sums - 1).max() <= SUM_TOLERANCE)
    if is_stochastic and known.is_yes and evidence.channel.shape[1] == values:
        # An invertible square channel is decided by counting, which needs no rank: its columns are independent and add
        # up to 1, in that one way. So any k - 1 of them and 1 are independent as well.
        every = f"All {values:,} outputs were seen, and their columns are independent."
        but_one = "All outputs but one were seen; their columns and 1, which is the sum of all, are independent."
        told = (every, "corollary strictlyConcave_one_mech") if distinct == values else (but_one, THEOREM)
        return Concavity(Verdict.YES, *told, {}, distinct)
    bits = evidence.channel.bit_vectors
    if bits is not None and binary_rank(bits, values) == values:
        reason = f"The {distinct:,} distinct bit vectors, and ones, have rank {values:,} over the binary field already."
        return Concavity(Verdict.YES, reason, "proposition strictlyConcaverappor, lemma binarymatrix", {}, distinct)
    spectrum, few = None, 4 * values
    if seen.size > 2 * few:  # a few of many columns may be enough for a full rank
        spectrum = _spectrum_with_ones(evidence, seen[:: seen.size // few])
    if spectrum is None or spectrum.independence is not Verdict.YES:
        spectrum = _spectrum_with_ones(evidence, seen)
    measured = _measured(spectrum, distinct)
    return Concavity(spectrum.independence, measured, THEOREM, spectrum.numbers(), distinct, spectrum)


def unbounded_concavity(evidence: Evidence) -> Concavity:
    """Decide the same for unbounded values: never, because reports are finitely many."""
    distinct = int(np.count_nonzero(evidence.counts))
    hold = "distinct report holds" if distinct == 1 else "distinct reports hold"
    reason = f"Values are unbounded, and {distinct:,} {hold} against at most {distinct + 1:,}."
    return Concavity(Verdict.NO, reason, THEOREM, {}, distinct)


def concavity_chance(mechanism: Mechanism, people: int) -> float:
    """Return a lower bound on the probability that so many bit vectors make the likelihood strictly concave.

    It is known before any data (proposition strictlyConcaverappor), and zero for fewer people than values. For n
    people the bits of one value are n independent coins, so no vector of n bits has a probability above p^n, where p
    is that of the likelier side of the most biased coin. By then 2^i of them lie in the span of i values before.

    >>> from confide import Integers, Rappor
    >>> round(concavity_chance(Rappor(Integers(1, 10), epsilon=1.0), people=25), 4)
    0.9927
    """
    check_count("people", people, 0)
    size, bits = mechanism.alphabet.size, mechanism.facts.bits
    if people < size:
        return 0.0
    if bits is None:
        raise InvalidParameterError(f"Reports of {mechanism!r} are not known to be one bit for each value.")
    # The largest probability that a bit has either value, exactly: in float64 it may round to 1.
    log_miss = people * log_of(max(max(one, 1 - one) for one in bits))
    return float(np.prod(-np.expm1(np.minimum(log_miss + math.log(2) * np.arange(size), 0.0))))


def people_for_concavity(mechanism: Mechanism, probability: float = 0.99) -> int | None:
    """Return how many people make the likelihood of bit vectors strictly concave with at least this probability.

    None where even `LIMITS.people` are not known to be enough: under a large epsilon hardly any bit is flipped.
    """
    low, high = 0, mechanism.alphabet.size
    while concavity_chance(mechanism, high) < probability:
        low, high = high, 2 * high
        if low >= LIMITS.people:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if concavity_chance(mechanism, middle) >= probability else (middle, high)
    return high


def binary_rank(packed: NDArray[np.uint8], size: int) -> int:
    """Return the rank over the binary field of packed bit vectors of this many bits, with a vector of ones besides.

    A full rank there is a full rank over the reals (lemma binarymatrix), with no rounding in it. A rank that is not
    full says nothing.
    """
    vectors = (int.from_bytes(row.tobytes(), "little") for row in packed)
    basis: dict[int, int] = {}
    for one in itertools.chain([(1 << size) - 1], vectors):
        # Take from a vector what the basis holds already; a basis vector stands by its top bit.
        vector = one
        while vector.bit_length() in basis:
            vector ^= basis[vector.bit_length()]
        if vector:
            basis[vector.bit_length()] = vector
        if len(basis) == size:
            break
    return len(basis)


def _spectrum_with_ones(evidence: Evidence, seen: Indices) -> Spectrum:
    """Return the singular values of [G 1], with all columns brought to the same length."""
    channel = evidence.channel
    values = channel.shape[0]
    if values <= LIMITS.dense and values * seen.size <= LIMITS.matrix:
        columns = channel.dense()[:, seen]
        scaled = columns / np.maximum(np.linalg.norm(columns, axis=0), np.finfo(np.float64).tiny)
        return Spectrum.of(np.column_stack([scaled, np.full(values, values**-0.5)]), channel.rounding)
    scale = 1.0 / channel.push(np.full(values, values**-0.5))[seen]

    def push(vectors: FloatArray) -> FloatArray:
        ones = vectors.sum(axis=-1, keepdims=True) * values**-0.5
        return np.concatenate([channel.push(vectors)[..., seen] * scale, ones], axis=-1)

    def pull(weights: FloatArray) -> FloatArray:
        full = np.zeros((*weights.shape[:-1], channel.shape[1]))
        full[..., seen] = weights[..., :-1] * scale
        pulled: FloatArray = channel.pull(full) + weights[..., -1:] * values**-0.5
        return pulled

    return ends_of(push, pull, (values, seen.size + 1))


def _measured(spectrum: Spectrum, distinct: int) -> str:
    seen = "the only distinct report" if distinct == 1 else f"the {distinct:,} distinct reports"
    of_it = f"the smallest singular value of [G 1] is {spectrum.smallest:.3g}"
    if spectrum.independence is Verdict.YES:
        some = f"{spectrum.columns - 1:,} of {distinct:,} distinct reports"
        return f"The columns of {some if spectrum.columns <= distinct else seen} and 1 have full rank: {of_it}."
    if spectrum.independence is Verdict.NO:
        return f"The columns of {seen} and 1 have rank {spectrum.rank:,} of {spectrum.rows:,}."
    if not spectrum.is_complete:
        return f"There are too many values to compute all singular values of [G 1]; by iteration, {of_it} or less."
    return f"Double precision cannot tell: {of_it}, neither clearly zero nor clearly not."


def uniqueness(mechanism: Mechanism, counts: Counts) -> Finding:
    """Decide whether these reports have a single maximum-likelihood estimate."""
    concavity = strict_concavity(mechanism, counts)
    return from_concavity(concavity) if concavity.is_yes else uniqueness_of(maximum_set(mechanism, counts))


def from_concavity(concavity: Concavity) -> Finding:
    """Return what strict concavity implies."""
    return Finding(Verdict.YES, f"The likelihood is strictly concave. {concavity.reason}", "proposition uniqueness")


def uniqueness_of(best: MaximumSet) -> Finding:
    """Decide uniqueness from the set of maximum-likelihood estimates.

    Yes only where no direction is left, and no only where two best explanations are there for sure, however close:
    probabilities are compared with what they themselves may be off.
    """
    free, zero = best.free.size, best.alphabet.size - best.free.size
    numbers: dict[str, float] = {"values that may be positive": free, "free directions": best.dimension}
    if best.dimension == 0:
        reason = (
            f"{zero:,} of {best.alphabet.size:,} values have probability 0 in every best explanation, and the rows of "
            f"the other {free:,} are linearly independent on the reports seen."
        )
        if free == 1:
            reason = f"All but one of the {best.alphabet.size:,} values have probability 0 in every best explanation."
        elif zero == 0:
            reason = f"The rows of all {free:,} values are linearly independent on the reports seen."
        return Finding(Verdict.YES, reason, SLACKNESS, numbers)
    numbers = numbers | {"freedom of a value, at least": best.spread, "precision": best.precision}
    if best.is_exact:
        directions = "one direction" if best.dimension == 1 else f"{best.dimension:,} directions"
        moved = f"between two of them a value's share differs by {100 * best.spread:.3g}%"
        reason = f"The best explanations form a set with {directions}; {moved}."
        return Finding(Verdict.NO, reason, f"{SLACKNESS}, linear programs", numbers)
    # Values that no report seen tells apart, and that have a share together in every best explanation. Of classes of
    # the same rows 8 are looked at, those with the largest shares first; a share above 1e-6, in its own unit, is no
    # slack of a linear program.
    inside = best.point[best.free]
    classes = [one for one in best.flat.twins if inside[one].sum() > 0]
    classes.sort(key=lambda one: -float(inside[one].sum()))
    twins = next((best.free[one] for one in classes[:8] if best.least_share(one) > 1e-6), None)
    if twins is not None:
        first, second = (best.alphabet.labels()[value] for value in twins[:2].tolist())
        reason = (
            f"No report seen tells {first} from {second}, and every best explanation gives them a share, which may go "
            f"to either."
        )
        return Finding(Verdict.NO, reason, f"{SLACKNESS}, linear programs", numbers)
    some = f"{best.dimension:,} of {free:,} directions"
    hidden = (
        f"In {some} the likelihood changes by no more than double precision resolves, so whether the best explanation "
        f"is unique cannot be told."
    )
    settled = (
        f"{some} change no report, but whether one can be taken without a negative probability depends on digits that "
        f"double precision does not hold."
    )
    return Finding(Verdict.TOO_CLOSE, settled if best.is_settled else hidden, SLACKNESS, numbers)
