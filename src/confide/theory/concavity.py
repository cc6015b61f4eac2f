"""Is the likelihood strictly concave for these reports? Theorem strictconcavity: the rank of [G 1].

G holds the columns of the reports that were seen, 1 is a column of ones, and rows of both together must be linearly
independent. How often a report was seen does not matter, nor does any scale of a column.

>>> from confide import RandomizedResponse, Integers, tally
>>> mechanism = RandomizedResponse(Integers(1, 4), epsilon=1.0)
>>> strict_concavity(mechanism, tally([1, 2, 3])).verdict, strict_concavity(mechanism, tally([1, 2])).verdict
(<Verdict.YES: 'yes'>, <Verdict.NO: 'no'>)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from confide.channels import BitChannel
from confide.channels.base import FloatArray, Indices
from confide.checks import check_count
from confide.counts import Counts
from confide.errors import InvalidParameterError
from confide.evidence import Evidence
from confide.mechanisms import Geometric, Mechanism, Rappor, Taxicab
from confide.theory.identification import Identification, identification
from confide.theory.spectra import LARGEST_DENSE, LARGEST_MATRIX, Spectrum, digits_of, ends_of
from confide.theory.verdicts import Finding, Verdict

THEOREM = "theorem strictconcavity"
COROLLARY = "corollary strictlyConcave_one_mech"

MOST_PEOPLE = 10**15
"""People up to whom it is asked how many are enough."""

Step = Callable[[FloatArray], FloatArray]


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
    return concavity_of(mechanism, mechanism.observe(counts), identification(mechanism))


def concavity_of(mechanism: Mechanism, evidence: Evidence, known: Identification) -> Concavity:
    """Decide the same from counts that were laid against the channel already."""
    seen = np.flatnonzero(evidence.counts > 0)
    values, distinct = evidence.channel.shape[0], int(seen.size)
    if distinct + 1 < values:
        return Concavity(Verdict.NO, _too_few(values, distinct), THEOREM, {}, distinct)
    square = _square(evidence, known, distinct) if _is_whole(mechanism, evidence) else None
    if square is not None:
        return square
    if isinstance(mechanism, Rappor) and binary_rank(mechanism, evidence) == values:
        reason = f"The {distinct:,} distinct bit vectors, and ones, have rank {values:,} over the binary field already."
        return Concavity(Verdict.YES, reason, "proposition strictlyConcaverappor, lemma binarymatrix", {}, distinct)
    spectrum = _spectrum_of_some(evidence, seen)
    return Concavity(
        spectrum.independence, _measured(spectrum, distinct), THEOREM, spectrum.numbers(), distinct, spectrum
    )


def endless_concavity(evidence: Evidence) -> Concavity:
    """Decide the same for endless values: never, because reports are finitely many."""
    distinct = int(np.count_nonzero(evidence.counts))
    hold = "distinct report holds" if distinct == 1 else "distinct reports hold"
    reason = f"There is no end of values, and {distinct:,} {hold} against at most {distinct + 1:,}."
    return Concavity(Verdict.NO, reason, THEOREM, {}, distinct)


def rappor_concavity_bound(mechanism: Rappor, people: int) -> float:
    """Return a lower bound on the probability that so many reports make the likelihood strictly concave.

    It is known before any data (proposition strictlyConcaverappor), and zero for fewer people than values.

    >>> from confide import Integers
    >>> round(rappor_concavity_bound(Rappor(Integers(1, 10), epsilon=1.0), people=25), 4)
    0.9927
    """
    check_count("people", people, 0)
    size = mechanism.alphabet.size
    if people < size:
        return 0.0
    # The logarithm of p = 1 / (1 + e^(-epsilon / 2)), which itself rounds to 1 for a large epsilon.
    log_miss = -people * math.log1p(math.exp(-mechanism.epsilon / 2))
    return float(np.prod(-np.expm1(np.minimum(log_miss + math.log(2) * np.arange(size), 0.0))))


def people_for_concavity(mechanism: Rappor, probability: float = 0.99) -> int | None:
    """Return how many people make RAPPOR's likelihood strictly concave with at least this probability.

    None where even `MOST_PEOPLE` are not known to be enough: under a large epsilon hardly any bit is flipped.
    """
    low, high = 0, mechanism.alphabet.size
    while rappor_concavity_bound(mechanism, high) < probability:
        low, high = high, 2 * high
        if low >= MOST_PEOPLE:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if rappor_concavity_bound(mechanism, middle) >= probability else (middle, high)
    return high


def binary_rank(mechanism: Rappor, evidence: Evidence) -> int:
    """Return the rank over the binary field of the bit vectors seen, with a vector of ones besides.

    A full rank there is a full rank over the reals (lemma binarymatrix), with no rounding in it. A rank that is not
    full says nothing.
    """
    size = mechanism.alphabet.size
    if not isinstance(evidence.channel, BitChannel):
        raise InvalidParameterError(f"The bits of RAPPOR are in a BitChannel; got {type(evidence.channel).__name__}.")
    vectors = (int.from_bytes(row.tobytes(), "little") for row in evidence.channel.packed)
    basis: dict[int, int] = {}
    _reduce(basis, (1 << size) - 1)
    for vector in vectors:
        _reduce(basis, vector)
        if len(basis) == size:
            break
    return len(basis)


def _reduce(basis: dict[int, int], vector: int) -> None:
    """Take from a vector what the basis holds already, and add what is left; a basis vector stands by its top bit."""
    while vector:
        top = vector.bit_length()
        if top not in basis:
            basis[top] = vector
            return
        vector ^= basis[top]


def _is_whole(mechanism: Mechanism, evidence: Evidence) -> bool:
    """Whether the evidence is laid against a stochastic matrix with all its outputs, not the columns seen alone."""
    if isinstance(mechanism, Geometric | Taxicab):
        return True  # reports beyond the values are counted at the border, as by the truncated mechanism
    return mechanism.has_channel and evidence.channel is mechanism.channel


def _square(evidence: Evidence, known: Identification, distinct: int) -> Concavity | None:
    """Decide an invertible square channel by counting, which needs no rank.

    Its columns are independent and add up to 1, in that one way. So any k - 1 of them and 1 are independent as well.
    """
    values, outputs = evidence.channel.shape
    if not known.is_yes or outputs != values:
        return None
    if distinct == values:
        return Concavity(
            Verdict.YES,
            f"All {values:,} outputs were seen, and their columns are independent.",
            COROLLARY,
            {},
            distinct,
        )
    reason = "All outputs but one were seen; their columns and 1, which is the sum of all, are independent."
    return Concavity(Verdict.YES, reason, THEOREM, {}, distinct)


def _spectrum_of_some(evidence: Evidence, seen: Indices) -> Spectrum:
    """Return the singular values of [G 1] from a few of many columns, if these are enough for a full rank."""
    few = 4 * evidence.channel.shape[0]
    if seen.size > 2 * few:
        some = _spectrum_with_ones(evidence, seen[:: seen.size // few])
        if some.independence is Verdict.YES:
            return some
    return _spectrum_with_ones(evidence, seen)


def _spectrum_with_ones(evidence: Evidence, seen: Indices) -> Spectrum:
    """Return the singular values of [G 1], with all columns brought to the same length."""
    values = evidence.channel.shape[0]
    if values <= LARGEST_DENSE and values * seen.size <= LARGEST_MATRIX:
        columns = evidence.channel.dense()[:, seen]
        scaled = columns / np.maximum(np.linalg.norm(columns, axis=0), np.finfo(np.float64).tiny)
        return Spectrum.of(np.column_stack([scaled, np.full(values, values**-0.5)]), digits_of(evidence.channel))
    return ends_of(*_products(evidence, seen), (values, seen.size + 1))


def _products(evidence: Evidence, seen: Indices) -> tuple[Step, Step]:
    channel = evidence.channel
    scale = 1.0 / channel.push(np.full(channel.shape[0], channel.shape[0] ** -0.5))[seen]

    def push(vectors: FloatArray) -> FloatArray:
        ones = vectors.sum(axis=-1, keepdims=True) * channel.shape[0] ** -0.5
        return np.concatenate([channel.push(vectors)[..., seen] * scale, ones], axis=-1)

    def pull(weights: FloatArray) -> FloatArray:
        full = np.zeros((*weights.shape[:-1], channel.shape[1]))
        full[..., seen] = weights[..., :-1] * scale
        pulled: FloatArray = channel.pull(full) + weights[..., -1:] * channel.shape[0] ** -0.5
        return pulled

    return push, pull


def _too_few(values: int, distinct: int) -> str:
    seen = f"{distinct:,} distinct report was" if distinct == 1 else f"{distinct:,} distinct reports were"
    return f"Only {seen} seen; {values:,} values need {values - 1:,} at the least."


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
