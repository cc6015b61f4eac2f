"""Prospects of a question: what of the width of its interval comes from people and from noise, and what would help.

All of it is computed from reports without chance: as many of each kind as the channel makes of a distribution on
average. The profile of their likelihood says what a survey of that size tells an answer apart from.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from confide.channels.base import Channel, FloatArray
from confide.evidence import Evidence
from confide.intervals.answers import Interval
from confide.intervals.bases import allowed_fall, standard_errors
from confide.intervals.inference import Inference
from confide.intervals.region import Region
from confide.intervals.unbiased import is_unbiased
from confide.wording import listed

TIMES = (2, 10)
"""Multiples of the people for which it is said how wide an interval would be."""
STRONGER = (2, 4)
"""Multiples of epsilon for which it is."""


@dataclass(frozen=True)
class Prospect:
    """What the width of an interval comes from, and how wide it would be with more people or a larger epsilon.

    Attributes
    ----------
    question
        What was asked.
    width
        The width of the interval.
    sampling
        How wide it would be had all told the truth: what comes from having asked only so many people.
    people
        About how wide it would be, by the number of people.
    epsilon
        The same, by epsilon; empty where the mechanism has none, or there are several.
    reports
        How many there are.
    is_share
        Whether the answer is a share of people.
    """

    question: str
    width: float
    sampling: float
    people: Mapping[int, float]
    epsilon: Mapping[float, float]
    reports: int
    is_share: bool = True

    @property
    def noise(self) -> float:
        """What the noise adds to the width."""
        return max(0.0, self.width - self.sampling)

    def __str__(self) -> str:
        more = [f"{self._shown(width)} with {people:,} people" for people, width in self.people.items()]
        more += [f"{self._shown(width)} with epsilon {epsilon:g}" for epsilon, width in self.epsilon.items()]
        parts = f"{self._shown(self.sampling)} from having asked {self.reports:,} people, the rest from the noise"
        return f"{self._shown(self.width)} wide: {parts}. It would be about {listed(more)}."

    def _shown(self, width: float) -> str:
        return f"{width:.2%}" if self.is_share else f"{width:.3g}"


def look_ahead(
    inference: Inference, answer: Interval, weights: FloatArray, channels: Mapping[float, Channel]
) -> Prospect:
    """Say what the width of an answer comes from, and what would narrow it.

    The channels are those of the mechanism by epsilon, its own first; none where there is no such thing. More people
    are the same reports so many times over. For a larger epsilon reports come from the estimate, without chance.
    """
    fall, people = allowed_fall(answer.level), inference.evidence.total
    now = _width(inference, weights, answer.level)
    longer = {round(times * people): _width(inference, weights, answer.level, times) for times in TIMES}
    source = np.maximum(inference.distribution, 0.0)
    source = source / source.sum()
    regions = {epsilon: expected_region(one, source, people) for epsilon, one in channels.items()}
    low, high = np.array([one.ends(weights, fall) for one in regions.values()]).reshape(-1, 2).T
    ratios = (high - low) / (high - low)[:1] if low.size and high[0] > low[0] else np.zeros(0)
    sampling = min(answer.width, _sampling(inference, weights, answer.level))
    return Prospect(
        question=answer.question,
        width=answer.width,
        sampling=sampling,
        people={number: answer.width * width / now for number, width in longer.items()} if now > 0 else {},
        epsilon=dict(zip(list(regions)[1:], np.maximum(answer.width * ratios[1:], sampling).tolist(), strict=False)),
        reports=round(people),
        is_share=answer.is_share,
    )


def _width(inference: Inference, weights: FloatArray, level: float, people: float = 1.0) -> float:
    """Return how wide the interval would be with the same reports so many times over."""
    fall = allowed_fall(level) / people
    if is_unbiased(inference.evidence):
        return math.sqrt(2 * fall)
    parts = [(inference.region, weights)]
    if inference.region.with_fewer_values is not None:
        region, values = inference.region.with_fewer_values
        parts.append((region, weights[values]))
    low, high = np.array([region.ends(some, fall) for region, some in parts]).T
    lowest, highest = float(low.min()), float(high.max())
    if inference.region.few_values is not None:
        few, errors = inference.region.few_values, standard_errors(level)
        lowest = max(min(lowest, few.lowest(weights, errors, people)), float(weights.min()))
        highest = min(max(highest, -few.lowest(-weights, errors, people)), float(weights.max()))
    return highest - lowest


def _sampling(inference: Inference, weights: FloatArray, level: float) -> float:
    """Return how wide the interval would be had all people told the truth."""
    shares, people = np.maximum(inference.distribution, 0.0), inference.evidence.total
    shares = shares / shares.sum()
    variance = float(shares @ weights**2) - float(shares @ weights) ** 2
    # Of what nobody said, the likelihood allows a little.
    least = float(np.ptp(weights)) * -math.expm1(-allowed_fall(level) / people)
    return max(2 * standard_errors(level) * math.sqrt(max(variance, 0.0) / people), least)


def expected_region(channel: Channel, truth: FloatArray, people: float) -> Region:
    """Return the region around a distribution, from the reports of so many people without their chance."""
    evidence = Evidence(channel, people * channel.push(truth))
    return Region(evidence, truth, evidence.log_likelihood(truth), 0.0)
