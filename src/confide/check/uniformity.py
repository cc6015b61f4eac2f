"""Test of reports against a uniform population.

Under a uniform population u a report z has probability y_z = (u M)_z. For every direction d that sums to zero, the
score (d M)_z / y_z of a report has mean zero. So every direction has a test, through push alone and however columns are
scaled: the mean score over its spread. We use three kinds:

- where neighbours mean something, long waves: cosines over the values, from one half wave on;
- single values: the gain g_x - 1 of each, with g = M (q / y), by Bernstein's inequality, valid for few reports too;
- all values together: the sum of the squared gains, less what each report contributes alone.

The smallest p-value counts, times the number of tests (Bonferroni).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cached_property, lru_cache, reduce
from itertools import product

import numpy as np

from confide.channels import Layout, SupportChannel
from confide.channels.base import FloatArray
from confide.evidence.evidence import Evidence
from confide.mechanisms.base import Mechanism
from confide.mechanisms.guarantees import MetricPrivacy
from confide.values.checks import read_only

LEVEL = 0.01
"""Significance level of the uniformity test."""


@dataclass(frozen=True)
class UniformityTest:
    """Result of a test against a uniform population.

    Attributes
    ----------
    p_value
        How often reports of a uniform population are at least as far from their expectation.
    people
        How many people would show, with power 90%, that half of the values are three times as common as the other half;
        infinite if no number would.
    """

    p_value: float
    people: float

    @property
    def is_seen(self) -> bool:
        """Whether the reports reject a uniform population."""
        return self.p_value < LEVEL


def uniformity_test(evidence: Evidence, tests: int = 1) -> UniformityTest:
    """Test reports against a uniform population over all values.

    `tests` is the number of tests of the same people: the level is divided among them.

    >>> from confide.channels import RandomizedResponseChannel
    >>> channel = RandomizedResponseChannel(10, 0.55, 0.05)
    >>> uniformity_test(Evidence(channel, np.full(10, 50.0))).is_seen
    False
    >>> uniformity_test(Evidence(channel, np.array([140.0] + [40.0] * 9))).is_seen
    True
    """
    layout = evidence.layout if evidence.layout is not None else evidence.channel.layout
    levels, waves = ((), None) if layout is None or max(layout.shape) < 2 else _waves(layout.shape)
    number, found = (len(levels) + 2) * tests, UniformityTest(1.0, math.inf)
    if layout is not None and waves is not None:
        held = waves if layout.places is None else waves[:, layout.places]
        found = _test_waves(evidence, levels, held, LEVEL / number)
    if found.p_value * number >= LEVEL:  # else the others could only say so too
        found = _both(found, _test_values(evidence, LEVEL / number))
    return UniformityTest(min(1.0, found.p_value * number), found.people)


def _both(one: UniformityTest, other: UniformityTest) -> UniformityTest:
    return UniformityTest(min(one.p_value, other.p_value), min(one.people, other.people))


@lru_cache(maxsize=4)
def _waves(shape: tuple[int, ...]) -> tuple[tuple[int, ...], FloatArray]:
    """Return each test's number of waves, and the waves over a box."""
    # Half waves along a line that are tested together: the first, the first two, and so on. In a box, three in all.
    of_line = (1, 2, 4, 8)
    most = of_line[-1] if len(shape) == 1 else 3
    boxes = product(*(range(min(most + 1, side)) for side in shape))
    numbers = sorted((one for one in boxes if 1 <= sum(one) <= most), key=sum)
    sums = [sum(one) for one in numbers]
    steps = of_line if len(shape) == 1 else [sums.index(one) for one in sorted(set(sums))[1:]]
    axes = [np.cos(np.pi * np.outer(np.arange(most + 1), np.arange(side) + 0.5) / side) for side in shape]
    parts = [[axis[wave] for axis, wave in zip(axes, one, strict=True)] for one in numbers]
    waves = np.array([reduce(np.multiply.outer, part).reshape(-1) for part in parts])
    return (*(step for step in steps if step < len(numbers)), len(numbers)), read_only(waves)


def _test_waves(evidence: Evidence, levels: tuple[int, ...], waves: FloatArray, level: float) -> UniformityTest:
    """Test the first waves together, for each of several numbers of them.

    With w = sqrt(q) and the scores of a wave times w as a column, Hotelling's statistic is n times the squared length
    of w in the space of the columns. Its spread is that of the reports themselves, so it never exceeds n.
    """
    from scipy.special import chdtrc  # here and below: whoever blurs a value need not load scipy

    size, n = evidence.channel.shape[0], evidence.total
    rows = np.vstack([np.ones(size), waves, _halves(size)])
    rows[1:] -= rows[1:].mean(axis=1, keepdims=True)
    pushed = evidence.channel.push(rows)[:, evidence.seen]
    root = np.sqrt(evidence.frequencies[evidence.seen])
    scores = pushed[1:] / pushed[0] * root
    basis, triangle = np.linalg.qr(scores[: min(levels[-1], root.size)].T)
    # A wave whose scores follow from those of the others, but for rounding, tells nothing of its own.
    has_own = np.abs(triangle.diagonal()) > 1e-9 * np.linalg.norm(triangle, axis=0)
    lengths = np.cumsum(np.where(has_own[:, None], basis.T @ np.column_stack([root, scores[-1]]), 0.0) ** 2, axis=0)
    ranks = np.cumsum(has_own)
    found = UniformityTest(1.0, math.inf)
    for one in levels:
        last = min(one, ranks.size) - 1
        rank, (length, told) = int(ranks[last]), lengths[last]
        # Reports per wave at which the chi-squared law is good enough: with five, 8 waves rejected ten times too often.
        enough = 20 * rank
        if rank > 0 and told > 0:
            p_value = float(chdtrc(rank, n * length)) if n >= enough else 1.0
            found = _both(found, UniformityTest(p_value, max(enough, _needed(rank, level) / float(told))))
    return found


def _halves(size: int) -> FloatArray:
    """Return the contrast whose first half is three times as common."""
    half: FloatArray = np.where(np.arange(size) < size / 2, 0.5, -0.5)
    return half - float(half.mean())


def _needed(freedom: float, level: float) -> float:
    """Return the noncentrality that a chi-squared test needs for power 90%.

    The variable then has mean f + c and variance 2 f + 4 c, so c solves f + c - s sqrt(2 f + 4 c) = quantile.
    """
    from scipy.special import chdtri

    above, surely = float(chdtri(freedom, level)) - freedom, 1.2816  # the normal quantile of that power
    return above + 2 * surely**2 + surely * math.sqrt(4 * surely**2 + 2 * freedom + 4 * above)


@dataclass(frozen=True, eq=False)
class _Gains:
    """Gains of all values, and how one uniform report changes them.

    Attributes
    ----------
    gain
        g_x - 1, the mean over all reports.
    spread, most
        Variance and largest value of one report's contribution.
    own
        Mean over all reports of the squared length of one contribution.
    trace, square
        Traces of the covariance of one report and of its square; the latter is NaN if it would take long.
    told
        Squared length of one person's contribution if half of the values are three times as common as the others.
    """

    gain: FloatArray
    spread: FloatArray
    most: FloatArray
    own: float
    trace: float
    square: float
    told: float

    @classmethod
    def of(cls, evidence: Evidence) -> _Gains | None:
        """Compute them; `None` if the matrix is too large."""
        size, outputs = evidence.channel.shape
        if evidence.channel.keep_and_other is not None:
            return cls._of_response(evidence, *evidence.channel.keep_and_other)
        if size * outputs > 4_000_000 and isinstance(evidence.channel, SupportChannel):
            return cls._of_sets(evidence, evidence.channel)
        # So large a matrix takes 30 ms.
        if size * outputs > 4_000_000:
            return None
        matrix, q = evidence.channel.dense(), evidence.frequencies
        expected = matrix.mean(axis=0)
        # Of continuous reports and of bit vectors the channel has only the outputs that were seen: they stand for all.
        is_whole = abs(float(expected.sum()) - 1.0) < 1e-9
        shown = expected > 0 if is_whole else q > 0
        share, less = (expected if is_whole else q)[shown], matrix[:, shown] / expected[shown] - 1.0
        gain = less @ q[shown]
        weighted = less * np.sqrt(share)
        # So many products take half a second.
        is_quick = size * outputs * min(size, outputs) <= 1_000_000_000
        square = math.nan
        if is_quick:
            square = float((weighted @ weighted.T if size <= outputs else weighted.T @ weighted).__pow__(2).sum())
        told = weighted @ (_halves(size) / size @ weighted)
        return cls(
            gain,
            (weighted**2).sum(axis=1),
            less.max(axis=1),
            float((less**2).sum(axis=0) @ q[shown]),
            float((weighted**2).sum()),
            square,
            float(told @ told),
        )

    @classmethod
    def _of_sets(cls, evidence: Evidence, channel: SupportChannel) -> _Gains:
        """Compute them for reports that support sets of values, by sums alone.

        The trace of the squared covariance would take the whole matrix.
        """
        size, q = channel.shape[0], evidence.frequencies
        expected = channel.push(np.full(size, 1 / size))
        is_whole = abs(float(expected.sum()) - 1.0) < 1e-9
        share = expected if is_whole else q
        spread = channel.squares(share / expected**2) - 2 * channel.pull(share / expected) + share.sum()
        # The sum of M_xz^2 over the values, of which as many are in the set of z as sums over sets of ones say.
        members = channel.sums_over_sets(np.ones(size))
        squares = channel.outside**2 * (size + channel.lift * (channel.lift + 2) * members)
        most = channel.outside * (1 + max(channel.lift, 0.0)) / expected.min() - 1
        return cls(
            channel.pull(q / expected) - 1,
            np.maximum(spread, 0.0),
            np.full(size, most),
            float(q @ (squares / expected**2 - size)),
            float(np.maximum(spread, 0.0).sum()),
            math.nan,
            0.0,
        )

    @classmethod
    def _of_response(cls, evidence: Evidence, keep: float, other: float) -> _Gains:
        """Compute them for randomized response.

        One report adds (keep - other) k (e_z - 1 / k).
        """
        size = evidence.channel.shape[0]
        lift = (keep - other) * size
        every = np.ones(size)
        own = lift**2 * (1 - 1 / size)
        each = lift**2 / size
        return cls(
            lift * (evidence.frequencies - 1 / size),
            every * (own / size),
            every * (lift * (1 - 1 / size)),
            own,
            own,
            each**2 * (size - 1),
            each**2 / (4 * size) * (1 - (size % 2) / size**2),
        )


def _test_values(evidence: Evidence, level: float) -> UniformityTest:
    """Test single values, and all of them together."""
    from scipy.special import chdtrc

    gains, n = _Gains.of(evidence), evidence.total
    # Smaller traces carry no information: their square underflows in float64.
    if gains is None or not gains.trace > 1e-150:
        return UniformityTest(1.0, math.inf)
    up = np.maximum(gains.gain, 0.0)
    bernstein = n * up**2 / (2 * (gains.spread + gains.most * up / 3) + 1e-300)
    single = gains.gain.size * math.exp(-float(bernstein.max()))
    if math.isnan(gains.square):
        return UniformityTest(single, math.inf)
    freedom = gains.trace**2 / gains.square
    told = gains.told * math.sqrt(freedom / gains.square)
    people = _needed(freedom, level) / told if told > 0 else math.inf
    if freedom > n:  # too few reports for a sum of squares to be near its law
        return UniformityTest(single, people)
    apart = (n * float(gains.gain @ gains.gain) - gains.own) / math.sqrt(2 * gains.square)
    together = float(chdtrc(freedom, max(0.0, freedom + math.sqrt(2 * freedom) * apart)))
    return UniformityTest(min(single, together), people)


@dataclass(frozen=True, eq=False)
class Uniformity:
    """Test against a uniform population, in which all values are equally common.

    Attributes
    ----------
    p_value
        How often reports of a uniform population are at least as far from their expectation.
    is_rejected
        Whether the reports reject a uniform population, at a level of 1%.
    reports
        The number of reports.
    people
        How many people would show, with power 90%, a population whose first half of values is three times as common as
        the second; infinite if no number would.
    """

    p_value: float
    is_rejected: bool
    reports: float
    people: float
    mechanism: Mechanism | None = field(default=None, repr=False)

    @classmethod
    def of(cls, mechanisms: tuple[Mechanism, ...], evidence: Evidence) -> Uniformity | None:
        """Test the reports; `None` unless the evidence covers a finite alphabet."""
        alphabet = mechanisms[0].alphabet
        if not alphabet.is_finite or alphabet.size != evidence.channel.shape[0] or alphabet.size < 2:
            return None
        alone = mechanisms[0] if len(mechanisms) == 1 else None
        parts = (alone.facts.parts if alone is not None else None) or {}
        if evidence.variances is not None:
            # Weighted reports are as many as the value with the heaviest ones leaves: more would find shapes by chance.
            heaviest = max(
                1.0, float(evidence.inflations(evidence.channel.push(np.full(alphabet.size, 1 / alphabet.size))).max())
            )
            evidence = replace(evidence, counts=evidence.counts / heaviest)
        tests = len(parts) + 1
        found = [uniformity_test(evidence, tests)]
        # Each attribute is tested alone too: among a thousand combinations a peak of one attribute drowns.
        table = evidence.counts.reshape([part.report_alphabet.size for part in parts.values()] or -1)
        for place, part in enumerate(parts.values()):
            own = table.sum(axis=tuple(axis for axis in range(table.ndim) if axis != place))
            if part.alphabet.size > 1:
                layout = Layout.of(part.alphabet)
                found.append(uniformity_test(Evidence(part.channel, own, layout=layout), tests))
        # The first half of all combinations is the first half of the first attribute's values, whose test sees it.
        least = UniformityTest(min(one.p_value for one in found), min(one.people for one in found[:2]))
        return cls(least.p_value, least.is_seen, evidence.total, least.people, alone)

    @property
    def is_weak(self) -> bool:
        """Whether the reports are too few or too noisy to reject uniformity."""
        return not self.is_rejected and self.reports < self.people

    @cached_property
    def epsilon(self) -> float | None:
        """The epsilon that would suffice with as many people; `None` if unknown."""
        mechanism = self.mechanism
        if mechanism is None or not self.is_weak or not mechanism.has_channel:
            return None
        is_made_so = is_dataclass(mechanism) and any(one.name == "epsilon" for one in fields(mechanism))
        # 2000: values up to which it is looked for which epsilon would do: a second on a plane.
        if not is_made_so or mechanism.alphabet.size > 2000:
            return None
        # At the largest epsilon tried hardly any noise is left.
        # A local promise knows no distance, so the spacing does not scale it.
        step = mechanism.alphabet.spacing if isinstance(mechanism.guarantee, MetricPrivacy) else 1.0
        largest = (10.0 + math.log(mechanism.alphabet.size)) / step
        low, high = math.log(mechanism.epsilon), math.log(largest)  # type: ignore[attr-defined]
        if high <= low or self._needed_at(math.exp(high)) > self.reports:
            return None
        # 9: steps of that search, which halve the range of log epsilon: two digits are shown.
        for _ in range(9):
            middle = (low + high) / 2
            low, high = (low, middle) if self._needed_at(math.exp(middle)) <= self.reports else (middle, high)
        return math.exp(high)

    def _needed_at(self, epsilon: float) -> float:
        """Return how many people another epsilon would need."""
        other = self.mechanism.at(epsilon)  # type: ignore[union-attr]  # see epsilon
        channel = other.channel
        size = channel.shape[0]
        expected = np.maximum(channel.push(np.full(size, 1 / size)), 0.0)
        return uniformity_test(Evidence(channel, self.reports * expected, layout=Layout.of(other.alphabet))).people

    def __str__(self) -> str:
        if self.is_rejected:
            return f"The population is not uniform{self._odds}."
        return f"{self.headline} {self.cure}"

    @property
    def headline(self) -> str:
        """The first line of an estimate from such reports."""
        return f"These reports cannot be distinguished from those of a uniform population{self._odds}."

    @property
    def cure(self) -> str:
        """What would show another population, or would have shown it."""
        reference = "a population whose first half of values is three times as common as the second"
        if not self.is_weak:
            return f"They would have shown, nine times in ten, {reference}."
        if math.isinf(self.people):
            return f"The shape of the estimate may be chance. No number of such reports would show {reference}."
        ways = f"about {_up(self.people):,.10g} people"
        ways += f", or epsilon {_up(self.epsilon):g}" if self.epsilon is not None else ""
        return f"The shape of the estimate may be chance. To show {reference} would take {ways}."

    @property
    def _odds(self) -> str:
        return f" (p = {self.p_value:.2g})" if self.p_value >= 1e-4 else " (p < 0.0001)"


def _up(amount: float) -> float:
    """Return a number rounded up to two digits.

    >>> _up(1234567.0), _up(1.31)
    (1300000.0, 1.4)
    """
    unit = 10.0 ** (math.floor(math.log10(amount)) - 1)
    return round(math.ceil(amount / unit - 1e-9) * unit, 10)
