"""Which questions have an answer although the distribution has none.

A query c is identified if all distributions that give the same reports give it the same answer. These differ by a w
with w M = 0, so c must be orthogonal to all such w: it must lie in the span of the columns of M. Beyond the paper.

>>> from confide import Categories, FromMatrix
>>> mechanism = FromMatrix(Categories([1, 2, 3]), [[0.45, 0.10, 0.45], [0.05, 0.90, 0.05], [0.45, 0.10, 0.45]])
>>> [query_identification(mechanism, query).verdict.value for query in ("x == 2", "x == 1", "x in {1, 3}")]
['yes', 'no', 'yes']
"""

from __future__ import annotations

import math

import numpy as np

from confide.alphabets import Alphabet, unbounded
from confide.channels.base import Channel, FloatArray
from confide.mechanisms import Mechanism
from confide.queries import Query, as_weights
from confide.theory.identification import Identification, identification
from confide.theory.spectra import ROUNDING, Spectrum, digits_of, is_storable, left_vectors
from confide.theory.verdicts import Finding, Verdict

SOURCE = "column space of the mechanism"

OUTSIDE = 1e3
"""A query is not in the span where this many times more of it lies outside than rounding can put there."""

BLURRED = 1e-7
"""Where rounding alone puts more than this outside, nothing is said."""


def query_identification(
    mechanism: Mechanism,
    query: Query,
    name: str | None = None,
    known: Identification | None = None,
    of: Alphabet | None = None,
) -> Finding:
    """Decide whether reports reveal the answer to a query, given enough of them.

    Parameters
    ----------
    mechanism
        The mechanism.
    query
        See :func:`confide.queries.as_weights`.
    name
        What a value is called in a text.
    known
        What is known of the mechanism's identification, where that was asked before.
    of
        The values that the query is about, where the mechanism's have no end.
    """
    values = of or mechanism.alphabet
    if not values.is_finite:
        raise unbounded(values, "Integers(low, high) or Grid(rows, columns)")
    weights = as_weights(query, values, name)
    whole = known or identification(mechanism)
    if whole.is_yes:
        return Finding(Verdict.YES, f"The whole distribution is identified. {whole.reason}", whole.source)
    if not mechanism.alphabet.is_finite:
        return Finding(
            Verdict.NOT_COVERED, "The values have no end, and the whole is not known to be identified.", SOURCE
        )
    return channel_query(mechanism.channel, weights)


def channel_query(channel: Channel, weights: FloatArray) -> Finding:
    """Decide the same from a channel and the query's weights."""
    # The sum of all probabilities is known, so a constant may be taken off; what remains is what is asked.
    asked = weights - float(weights.mean())
    length = float(np.linalg.norm(asked))
    if length <= 1e-15 * float(np.abs(weights).max(initial=0.0)) * weights.size:
        return Finding(Verdict.YES, "It asks for the same of every value, and probabilities sum to 1.", SOURCE)
    if not is_storable(channel):
        return Finding(Verdict.TOO_CLOSE, "The matrix is too large to decide it.", SOURCE)
    vectors, spectrum = left_vectors(channel.dense(), digits_of(channel))
    return _decide(vectors.T @ (asked / length), spectrum)


def _decide(parts: FloatArray, spectrum: Spectrum) -> Finding:
    """Split a query into what lies along clear columns, and along what is zero for sure.

    The split is known to rounding times the condition number of what is kept.
    """
    singular = np.zeros(parts.size)
    singular[: spectrum.singular_values.size] = spectrum.singular_values
    weakest = float(singular[singular > spectrum.clear].min())
    blur = 10 * ROUNDING * math.sqrt(parts.size) * spectrum.largest / weakest
    unclear = float(np.linalg.norm(parts[singular <= spectrum.clear]))
    numbers = {"share outside the column space": unclear, "of which rounding, at most": blur}
    if unclear <= blur <= BLURRED:
        return Finding(Verdict.YES, "It is a combination of the mechanism's columns, to rounding.", SOURCE, numbers)
    if unclear > OUTSIDE * blur and spectrum.independence is Verdict.NO and spectrum.is_sharp:
        reason = f"A share of {unclear:.3g} of it lies outside the mechanism's columns."
        return Finding(Verdict.NO, reason, SOURCE, numbers)
    reason = f"A share of {unclear:.3g} of it seems to lie outside the mechanism's columns, which is not clear enough."
    return Finding(Verdict.TOO_CLOSE, reason, SOURCE, numbers)
