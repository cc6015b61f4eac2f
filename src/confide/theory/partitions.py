"""Partition of the values into classes that no report can tell apart: the mechanism on classes, and its estimate.

>>> from confide import Categories, FromMatrix
>>> mechanism = FromMatrix(Categories([1, 2, 3]), [[0.45, 0.10, 0.45], [0.05, 0.90, 0.05], [0.45, 0.10, 0.45]])
>>> parts = partition(mechanism)
>>> parts.labels, parts.identification.verdict
(('{1, 3}', '2'), <Verdict.YES: 'yes'>)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from confide.alphabets import Alphabet, Categories, Indices, unbounded
from confide.channels import Embedded
from confide.channels.base import Channel, FloatArray
from confide.checks import as_distribution, read_only
from confide.counts import Counts
from confide.errors import InvalidParameterError
from confide.evidence import Evidence
from confide.mechanisms import FromMatrix, Mechanism
from confide.mechanisms.base import require_mechanism
from confide.methods import MLE
from confide.theory.identification import Identification, channel_identification, identification
from confide.theory.spectra import find_classes, is_storable

LONGEST_LABEL = 4
"""Values of a class that are named; of larger classes the first few are, and the rest counted."""


@dataclass(frozen=True, eq=False)
class Partition:
    """The classes of values with identical rows, X / ~ of the paper, and the mechanism on them.

    Attributes
    ----------
    alphabet
        The values.
    class_of
        The number of the class of each value; classes are ordered by their first values.
    identification
        Whether the mechanism on the classes is full rank, so that the distribution over the classes is identified.
    """

    alphabet: Alphabet
    class_of: Indices
    identification: Identification
    mechanism: Mechanism

    @cached_property
    def size(self) -> int:
        """Number of classes."""
        return int(self.class_of.max()) + 1

    @property
    def is_trivial(self) -> bool:
        """Whether every value stands alone."""
        return self.size == self.alphabet.size

    @cached_property
    def classes(self) -> tuple[Indices, ...]:
        """The numbers of the values in each class."""
        order = np.argsort(self.class_of, kind="stable")
        return tuple(np.split(order, np.cumsum(np.bincount(self.class_of))[:-1]))

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """A short text for each class."""
        return tuple(_label(self.alphabet, members) for members in self.classes)

    def merge(self, distribution: FloatArray) -> FloatArray:
        """Add up a distribution over the values class by class."""
        known = as_distribution(distribution, self.alphabet.size, "distribution")
        return np.bincount(self.class_of, known, minlength=self.size).astype(np.float64)

    @cached_property
    def quotient(self) -> Mechanism:
        """The mechanism whose values are the classes (the paper's M~)."""
        if self.is_trivial:
            return self.mechanism
        channel = quotient_channel(self.mechanism.channel, self.classes)
        if not is_storable(channel):
            raise InvalidParameterError(f"The mechanism on {self.size:,} classes is too large to store.")
        return FromMatrix(Categories(list(self.labels)), channel.dense(), self.mechanism.report_alphabet)

    def estimate(self, counts: Counts, method: MLE | None = None) -> FloatArray:
        """Return the maximum-likelihood probability of each class."""
        evidence = self.mechanism.observe(counts)
        if not self.is_trivial:
            channel = quotient_channel(evidence.channel, self.classes)
            evidence = Evidence(channel, evidence.counts, evidence.log_offset)
        return read_only((method or MLE()).solve(evidence).distribution)


def partition(mechanism: Mechanism, known: Identification | None = None) -> Partition:
    """Sort the values into classes that no report can tell apart.

    Parameters
    ----------
    mechanism
        The mechanism.
    known
        What is known of its identification, where that was asked before.
    """
    require_mechanism("mechanism", mechanism)
    alphabet = mechanism.alphabet
    if not alphabet.is_finite:
        raise unbounded(alphabet)
    whole = known or identification(mechanism)
    if whole.is_yes:
        return _trivial(mechanism, whole)
    classes = tuple(find_classes(mechanism.channel)) if whole.classes is None else whole.classes
    if len(classes) == alphabet.size:
        return _trivial(mechanism, whole)
    class_of = np.empty(alphabet.size, dtype=np.int64)
    for number, members in enumerate(classes):
        class_of[members] = number
    on_classes = channel_identification(quotient_channel(mechanism.channel, classes))
    return Partition(alphabet, class_of, on_classes, mechanism)


def quotient_channel(channel: Channel, classes: tuple[Indices, ...]) -> Embedded:
    """Return the channel over the classes: the row of each class's first value."""
    firsts = np.array([members[0] for members in classes], dtype=np.int64)
    return Embedded(channel, firsts, np.arange(channel.shape[1]), channel.shape[1])


def _trivial(mechanism: Mechanism, known: Identification) -> Partition:
    return Partition(mechanism.alphabet, np.arange(mechanism.alphabet.size), known, mechanism)


def _label(alphabet: Alphabet, members: Indices) -> str:
    values = alphabet.labels(members)
    if len(values) == 1:
        return values[0]
    more = f", and {len(values) - LONGEST_LABEL:,} more" if len(values) > LONGEST_LABEL else ""
    return f"{{{', '.join(values[:LONGEST_LABEL])}{more}}}"
