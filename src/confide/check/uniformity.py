"""What to say where reports cannot be told from those of a uniform population, and what would tell them apart."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cached_property

import numpy as np

from confide.channels import Layout
from confide.check.departures import UniformityTest as Departure
from confide.check.departures import uniformity_test as departure
from confide.evidence.evidence import Evidence
from confide.mechanisms.base import Mechanism

LARGEST = 2000
"""Values up to which it is looked for which epsilon would do: a second on a plane."""


@dataclass(frozen=True, eq=False)
class Uniformity:
    """Whether reports tell their people from a uniform population, in which every value is equally common.

    Attributes
    ----------
    p_value
        How often reports of a uniform population are at least as far from what is expected of them.
    is_rejected
        Whether the reports speak against it, at a level of one in a hundred.
    reports
        How many there are.
    people
        How many would show, nine times in ten, a population in which the first half of the values is three times as
        common as the second; infinite where no number would.
    """

    p_value: float
    is_rejected: bool
    reports: float
    people: float
    mechanism: Mechanism | None = field(default=None, repr=False)

    @classmethod
    def of(cls, mechanisms: tuple[Mechanism, ...], evidence: Evidence) -> Uniformity | None:
        """Test the reports; None where the evidence is over some of the values, or these have no uniform one."""
        alphabet = mechanisms[0].alphabet
        if not alphabet.is_finite or alphabet.size != evidence.channel.shape[0] or alphabet.size < 2:
            return None
        found = _departure(mechanisms, evidence)
        alone = mechanisms[0] if len(mechanisms) == 1 else None
        return cls(found.p_value, found.is_seen, evidence.total, found.people, alone)

    @property
    def is_weak(self) -> bool:
        """Whether the reports are too few, or too noisy, to speak against it, so that an estimate may be chance."""
        return not self.is_rejected and self.reports < self.people

    @cached_property
    def epsilon(self) -> float | None:
        """The epsilon with which as many people would do; None where none is known to, or not looked for."""
        mechanism = self.mechanism
        if mechanism is None or not self.is_weak or not _can_vary(mechanism):
            return None
        low, high = math.log(mechanism.epsilon), math.log(_largest_epsilon(mechanism))  # type: ignore[attr-defined]
        if high <= low or self._needed_at(math.exp(high)) > self.reports:
            return None
        # 9: steps of that search, which halve the range of log epsilon: two digits are shown.
        for _ in range(9):
            middle = (low + high) / 2
            low, high = (low, middle) if self._needed_at(math.exp(middle)) <= self.reports else (middle, high)
        return math.exp(high)

    def _needed_at(self, epsilon: float) -> float:
        """Return how many people would do with another epsilon."""
        other = self.mechanism.at(epsilon)  # type: ignore[union-attr]  # see _can_vary
        channel = other.channel
        size = channel.shape[0]
        expected = np.maximum(channel.push(np.full(size, 1 / size)), 0.0)
        return departure(Evidence(channel, self.reports * expected, layout=Layout.of(other.alphabet))).people

    def __str__(self) -> str:
        if self.is_rejected:
            return f"The reports tell their people from a uniform population{self._odds}."
        return f"{self.headline} {self.cure}"

    @property
    def headline(self) -> str:
        """The first line of an estimate from such reports."""
        return f"These reports cannot be told from those of a uniform population, all values alike{self._odds}."

    @property
    def cure(self) -> str:
        """What would tell them apart, or would have."""
        reference = "a population in which the first half of the values is three times as common as the second"
        if not self.is_weak:
            return f"They would have shown, nine times in ten, {reference}."
        if math.isinf(self.people):
            return f"What the estimate shows beyond that may be chance. No number of such reports shows {reference}."
        ways = f"about {_up(self.people):,.10g} people"
        ways += f", or epsilon {_up(self.epsilon):g}" if self.epsilon is not None else ""
        return f"What the estimate shows beyond that may be chance. To show {reference} would take {ways}."

    @property
    def _odds(self) -> str:
        return f" (p = {self.p_value:.2g})" if self.p_value >= 1e-4 else " (p < 0.0001)"


def _departure(mechanisms: tuple[Mechanism, ...], evidence: Evidence) -> Departure:
    """Test the reports of all attributes, and of each alone: among a thousand combinations a peak of one drowns."""
    parts = mechanisms[0].facts.parts if len(mechanisms) == 1 else None
    if parts is None:
        return departure(evidence)
    table = evidence.counts.reshape([part.report_alphabet.size for part in parts.values()])
    found = [departure(evidence, len(parts) + 1)]
    for place, part in enumerate(parts.values()):
        own = table.sum(axis=tuple(axis for axis in range(table.ndim) if axis != place))
        if part.alphabet.size > 1:
            layout = Layout.of(part.alphabet)
            found.append(departure(Evidence(part.channel, own, layout=layout), len(parts) + 1))
    # The first half of all combinations is the first half of the first attribute's values, which its own test sees.
    return Departure(min(one.p_value for one in found), min(one.people for one in found[:2]))


def _can_vary(mechanism: Mechanism) -> bool:
    """Whether the same mechanism can be had with another epsilon, and its outputs be listed."""
    is_made_so = is_dataclass(mechanism) and any(one.name == "epsilon" for one in fields(mechanism))
    return is_made_so and mechanism.alphabet.size <= LARGEST and mechanism.has_channel


def _largest_epsilon(mechanism: Mechanism) -> float:
    """Return an epsilon with hardly any noise left."""
    return (10.0 + math.log(mechanism.alphabet.size)) / float(getattr(mechanism.alphabet, "spacing", 1.0))


def _up(amount: float) -> float:
    """Return a number rounded up to two digits.

    >>> _up(1234567.0), _up(1.31)
    (1300000.0, 1.4)
    """
    unit = 10.0 ** (math.floor(math.log10(amount)) - 1)
    return round(math.ceil(amount / unit - 1e-9) * unit, 10)
