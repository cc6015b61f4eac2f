"""Audits: check that a mechanism keeps its promise and draws as declared.

>>> import confide as cf
>>> result = audit(cf.TruncatedGeometric(cf.Integers(0, 9), epsilon=1.0))
>>> result.holds, round(result.worst.relative, 6), result.extent.value
(True, 1.0, 'exact over all pairs')

Reports come from :meth:`Mechanism.privatize` itself: in batches from seeded and from secure bits, one value at a time,
and with permanent noise. There are three kinds of tests: chi-square tests of each value's reports; how often a report
is the true value, for each value and for all together; and whether reports are shifted as under a larger or smaller
epsilon. The result states the smallest departures that these tests detect.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.channels.kernels import planar_geometric_kernel
from confide.errors import ConfideError, InvalidParameterError
from confide.mechanisms.base import Facts, LatticeNoise, Mechanism, Premise, SupportSets, require_mechanism
from confide.mechanisms.guarantees import MOST_BITS, LocalDP, MetricPrivacy, WorstRatio, power_exceeds, worst_of_rows
from confide.mechanisms.rounds import rounded_rows
from confide.mechanisms.sampling import Permanent, SecureBits, log_of
from confide.values import Alphabet, Indices, Plane, Selection
from confide.values.checks import check_count
from confide.values.metrics import Bracket, Euclidean, Manhattan, Uneven
from confide.values.wording import Shown, counted, label_value

FloatArray = NDArray[np.float64]
Reports = NDArray[Any]
Part = tuple[str, ...]


@dataclass(frozen=True)
class AuditLimits:
    """Levels, sizes and the seed of every audit.

    Attributes
    ----------
    least_expected
        Least expected reports per cell; rarer cells are merged.
    nominal
        Nominal significance level of all tests together. Counts are skewed, so true tails are heavier than nominal. For
        a Poisson count around 100, the mildest case, the tail at 1e-12 nominal is 1e-10. That leaves three orders of
        magnitude for the stated false alarm rate of 1e-9.
    step
        Relative increase of epsilon for measuring its effect.
    missed
        Probability of missing a departure of the stated size.
    seed
        A fixed seed, so that an audit gives the same numbers twice. Secure bits differ each time.
    most_drawn
        Most words of all reports together: 100,000 vectors of 100,000 bits (1,588 words) took 273 s.
    singly
        One report in this many is also drawn singly, which takes a hundred times as long, and one with permanent noise.
    largest_multiplied
        Most bits of all products of two rounds' weights that are multiplied: a second or two.
    """

    least_expected: float = 100.0
    nominal: float = 1e-12
    step: float = 0.01
    missed: float = 0.05
    seed: int = 2026
    most_drawn: int = 2**21
    singly: int = 500
    largest_multiplied: int = 2**28


LIMITS = AuditLimits()


@dataclass(frozen=True)
class Sensitivity:
    """Smallest departures that an audit detects with 95% power; `inf` if none.

    Attributes
    ----------
    epsilon
        Relative excess of epsilon, for all values; `inf` if the mechanism has no epsilon.
    truth
        Share of reports that are the true value instead of a noisy one.
    alone
        The same for one value alone, the hardest of those drawn.
    singly
        The same for reports drawn one at a time, or with permanent noise.
    """

    epsilon: float
    truth: float
    alone: float
    singly: float

    def __str__(self) -> str:
        epsilon = f"an epsilon {100 * self.epsilon:.2g}% too large" if self.epsilon <= 1 else ""
        shares = {"reports": self.truth, "reports of one value alone": self.alone}
        shares["reports drawn one at a time, or with permanent noise"] = self.singly
        truth = ", ".join(f"1 of {math.floor(1 / share):,} {what}" for what, share in shares.items() if share <= 1)
        found = [part for part in (epsilon, f"the true value in {truth}" if truth else "") if part]
        return "; ".join(found) or "nothing: too few reports were drawn"


@dataclass(frozen=True)
class Draws:
    """Result of counting reports.

    Attributes
    ----------
    reports
        Number of reports drawn.
    values
        Number of values that they were drawn for.
    p_value
        The smallest p-value of all tests, times their number.
    suspect
        Number of the value with the smallest p-value.
    sensitivity
        The smallest departures that the tests detect.
    """

    reports: int
    values: int
    p_value: float
    suspect: int
    sensitivity: Sensitivity

    @property
    def agree(self) -> bool:
        """Whether reports have the declared probabilities (false alarm rate below 1e-9)."""
        return self.p_value >= LIMITS.nominal


@dataclass(frozen=True)
class Cells:
    """Reports of one value, counted in cells.

    Attributes
    ----------
    part
        The attribute, if there are several.
    counts, chances
        Reports in each cell, and its declared probability.
    scores
        Derivative of each cell's log-probability by the logarithm of epsilon, up to a constant. Without an epsilon, the
        log-probability itself.
    own
        Number of reports that are the true value, and the probability of that.
    p_values
        p-values of further tests.
    is_epsilon
        Whether scores are of epsilon.
    """

    part: Part
    counts: NDArray[np.int64]
    chances: FloatArray
    scores: FloatArray
    own: tuple[int, float]
    p_values: tuple[float, ...] = ()
    is_epsilon: bool = True

    def tests(self) -> list[float]:
        """Return the p-values of all tests of these reports."""
        told = truth_tail(self.own[0], int(self.counts.sum()), self.own[1])
        return [chi_square(self.counts, self.chances), told, *self.p_values]


@dataclass
class Pool:
    """Reports of all values, drawn one way: true values and score sums."""

    told: list[tuple[float, int, int]] = field(default_factory=list)
    variance: float = 0.0
    third: float = 0.0
    excess: float = 0.0
    is_epsilon: bool = True

    def add(self, cells: Cells) -> None:
        """Add the reports of one value."""
        people = int(cells.counts.sum())
        mean = float(cells.chances @ cells.scores)
        centred = cells.scores - mean
        self.is_epsilon &= cells.is_epsilon
        self.told.append((cells.own[1], people, cells.own[0]))
        squares = cells.chances * centred * centred
        self.variance += people * float(squares.sum())
        self.third += people * float(squares @ centred)
        self.excess += float(cells.counts.astype(np.float64) @ centred)

    @property
    def is_tested(self) -> bool:
        """Whether the score sum is close enough to normal for a test."""
        # Up to a skewness of 0.1 the normal distribution gives the tail at 7 standard deviations within a factor of
        # e^(7^3 / 60). Below a variance of 64 not even a doubled epsilon would be found.
        return self.variance > 64.0 and abs(self.third) <= 0.1 * self.variance**1.5

    def p_values(self) -> list[float]:
        """Return p-values of the true values and, if near normal, scores."""
        chance, people, own = self.truths
        told = truth_tail(own, people, chance)
        return [told, math.erfc(abs(self.excess) / math.sqrt(2 * self.variance))] if self.is_tested else [told]

    @property
    def truths(self) -> tuple[float, int, int]:
        """Mean chance of the true value, number of reports, and true values.

        Values that are often reported unchanged would hide the others. So it takes values in the order of their
        chances, as many as detect the smallest share of true values.
        """
        chances, people, own = np.array(sorted(self.told)).T
        spread = np.sqrt(np.cumsum(people * chances * (1 - chances))) / np.maximum(np.cumsum(people * (1 - chances)), 1)
        last = int(spread.argmin()) + 1 if spread.any() else people.size
        reports = float(people[:last].sum())
        return float(chances[:last] @ people[:last]) / reports, int(reports), int(own[:last].sum())


Pools = dict[Part, Pool]
"""Reports of all values, by attribute."""


def count_draws(mechanism: Mechanism, values: Indices, reports: int) -> Draws:
    """Draw reports in several ways and test them.

    Half come from seeded and half from secure bits, plus a few drawn singly. Half are of `values`; the other values
    that :func:`probed_values` names share the rest.

    >>> import confide as cf
    >>> count_draws(cf.TruncatedGeometric(cf.Integers(0, 9), 1.0), np.array([0, 5]), 20_000).agree
    True
    """
    from scipy.special import ndtri

    others = np.setdiff1d(probed_values(mechanism, values), values)
    turns = [one for one in (values, others) if one.size]
    most = min(reports, LIMITS.most_drawn // max(1, mechanism.report_alphabet.parts))
    batch = np.concatenate([np.resize(one, max(one.size, most // 2 // len(turns))) for one in turns])
    single = np.resize(np.concatenate(turns), max(1, min(most // 4, reports // LIMITS.singly)))
    found: list[tuple[float, int]] = []
    pools: list[Pools] = []
    for people, way in ((batch, LIMITS.seed), (batch, SecureBits()), (single, None), (single, Permanent)):
        drawn, is_sound = _draw(mechanism, people, way)
        found += [] if is_sound else [(0.0, int(people[0]))]
        pools.append({})
        for value, cells in _counted(mechanism, people, drawn) if is_sound else ():
            pools[-1].setdefault(cells.part, Pool()).add(cells)
            if people is batch:
                found += [(p_value, value) for p_value in cells.tests()]
    if not any(pools) and not found:  # all values are near the ends of a huge alphabet
        return Draws(0, 0, 1.0, 0, Sensitivity(*[math.inf] * 4))
    found += [(p_value, int(values[0])) for each in pools for pool in each.values() for p_value in pool.p_values()]
    worst, suspect = min(found)
    people_drawn = 2 * (batch.size + single.size)
    # Smallest departures that the tests detect, for the worst way of drawing.
    level = LIMITS.nominal / len(found)
    batches, singles = ([pool for each in some for pool in each.values()] for some in (pools[:2], pools[2:]))

    def truth(some: Iterable[tuple[float, int, int]]) -> float:
        shares = {(people, chance) for chance, people, _ in some}
        return max((smallest_truth(*one, level) for one in shares), default=math.inf)

    # Under (1 + d) epsilon the mean score sum grows by d variances.
    reach = float(ndtri(1 - LIMITS.missed) - ndtri(level / 2))
    epsilons = [reach / math.sqrt(one.variance) if one.is_tested and one.is_epsilon else math.inf for one in batches]
    sensitivity = Sensitivity(
        max(epsilons, default=math.inf),
        truth(pool.truths for pool in batches),
        truth(one for pool in batches for one in pool.told),
        truth(pool.truths for pool in singles),
    )
    return Draws(people_drawn, values.size + others.size, min(1.0, worst * len(found)), suspect, sensitivity)


def probed_values(mechanism: Mechanism, first: Indices) -> Indices:
    """Return the values to draw reports for.

    All values if they are few, otherwise `first` and random others.
    """
    outputs = mechanism.report_alphabet
    # Up to 1024 values with 2**20 outputs in all. Only 16 if outputs cannot be listed: the noise is then declared to be
    # the same for every value.
    most = max(first.size, min(1024, 2**20 // outputs.size) if outputs.is_listable else 16)
    size = mechanism.alphabet.size if mechanism.alphabet.is_finite else 10**6
    if size <= most:
        return np.arange(size)
    return np.unique(np.concatenate([first, np.random.default_rng(LIMITS.seed).integers(0, size, most - first.size)]))


def _draw(mechanism: Mechanism, people: Indices, way: Any) -> tuple[Reports, bool]:
    """Draw a report each; return them, and whether they are sound.

    Sound reports are all outputs, and permanent ones repeat.
    """
    outputs, values = mechanism.report_alphabet, mechanism.alphabet.decode(people)
    is_same = True

    def secret() -> Permanent | None:
        return None if way is None and mechanism.lasting is None else Permanent(os.urandom(16), "audit")

    if way is None:
        each = [tuple(one) if isinstance(one, list) else one for one in values.tolist()]
        drawn = outputs.as_array([mechanism.privatize(one, rng=secret(), taken=True) for one in each])
    elif way is Permanent:
        secrets = [secret() for _ in range(people.size)]
        drawn = np.asarray(mechanism.privatize(values, rng=secrets, taken=True))
        # Permanent noise must repeat. A hundred are enough, and each takes an HMAC.
        again = mechanism.privatize(values[:100], rng=secrets[:100], taken=True)
        is_same = mechanism.lasting is not None or np.array_equal(again, drawn[:100])
    else:
        drawn = np.asarray(mechanism.privatize(values, rng=way, taken=True))
    return drawn, is_same and bool(outputs.contains(outputs.as_array(drawn)).all())


def _counted(mechanism: Mechanism, people: Indices, drawn: Reports) -> Iterator[tuple[int, Cells]]:
    """Count the reports of each value in cells."""
    order = np.argsort(people, kind="stable")
    values, starts = np.unique(people[order], return_index=True)
    for value, places in zip(values.tolist(), np.split(order, starts[1:]), strict=True):
        yield from ((value, cells) for cells in _cells(mechanism, value, drawn[places]))


def _cells(mechanism: Mechanism, value: int, reports: Reports, part: Part = ()) -> Iterator[Cells]:
    """Count the reports of one value in cells of known probability.

    It yields one result per attribute, if the probabilities are known.
    """
    facts, outputs = mechanism.facts, mechanism.report_alphabet
    if facts.bits is not None and outputs.bits is not None:
        yield _count_bits(part, outputs.bits.unpack(reports), value, *map(float, facts.bits))
    elif facts.supports is not None and not outputs.is_listable:
        yield _count_supports(part, facts.supports, reports, value, mechanism.alphabet.size)
    elif facts.parts is not None and mechanism.alphabet.attributes is not None and outputs.attributes is not None:
        numbers, columns = mechanism.alphabet.attributes.split(value), outputs.attributes.columns(reports)
        each = zip(facts.parts.items(), numbers, columns, strict=True)
        for (name, one), number, column in each:
            yield from _cells(one, int(number), column, (*part, name))
    elif facts.noise is not None and not mechanism.has_channel:
        places = outputs.steps(reports) if isinstance(outputs, Plane) else reports.reshape(len(reports), -1)
        moves = places - mechanism.alphabet.points([value])
        if not (facts.noise.is_clamped or facts.noise.is_redrawn) or _is_inside(mechanism, value, facts.noise):
            yield _count_noise(part, facts.noise, np.rint(moves * facts.noise.resolution))
    else:
        chances = _row(mechanism, value)
        counts = np.bincount(outputs.locate(reports), minlength=outputs.size)
        own = _own_or_likeliest(mechanism, value, chances)
        # Scores: growth of each output's log-probability with epsilon; without an epsilon, the log-probability.
        larger = _with_larger_epsilon(mechanism)
        rows = chances if larger is None else _row(larger, value)
        logs = [np.log(np.where((chances > 0) & (rows > 0), row, 1.0)) for row in (chances, rows)]
        scores, is_epsilon = (logs[0], False) if larger is None else ((logs[1] - logs[0]) / LIMITS.step, True)
        yield Cells(part, counts, chances, scores, (int(counts[own]), float(chances[own])), is_epsilon=is_epsilon)


@lru_cache(maxsize=8)
def _with_larger_epsilon(mechanism: Mechanism) -> Mechanism | None:
    """Return the mechanism with a slightly larger epsilon, or `None`.

    `None` if it has no epsilon or its outputs change.
    """
    try:
        larger = mechanism.at((1 + LIMITS.step) * getattr(mechanism, "epsilon", math.nan))
    except ConfideError:
        return None
    return larger if larger.report_alphabet == mechanism.report_alphabet and larger.has_channel else None


def _own_or_likeliest(mechanism: Mechanism, value: int, chances: FloatArray) -> int:
    """Return the number of the report that is the value itself.

    If reports are not values, the likeliest one.
    """
    outputs = mechanism.report_alphabet
    if type(outputs) is not type(mechanism.alphabet):
        return int(chances.argmax())
    own = int(outputs.locate(outputs.as_array(mechanism.alphabet.decode([value])))[0])
    return own if own >= 0 else int(chances.argmax())


def truth_tail(own: int, reports: int, chance: float) -> float:
    """Bound the probability of so many true values (Chernoff and Hoeffding).

    It also holds if chances differ between reports; `chance` is then their mean.

    >>> truth_tail(50, 100, 0.5), math.isclose(truth_tail(100, 100, 0.5), 0.5**100)
    (1.0, True)
    """
    return math.exp(-reports * _divergence(own / reports, chance)) if own > reports * chance else 1.0


def _divergence(share: float, chance: float) -> float:
    """Return the Kullback-Leibler divergence of two coins."""
    if chance <= 0 or (chance >= 1 and share < 1):
        return math.inf if share > 0 else 0.0
    told = share * math.log(share / chance) if share > 0 else 0.0
    return told + ((1 - share) * math.log((1 - share) / (1 - chance)) if share < 1 else 0.0)


def smallest_truth(reports: int, chance: float, level: float) -> float:
    """Return the smallest share of true values that :func:`truth_tail` detects.

    >>> f"{smallest_truth(100_000, 0.1, 1e-14):.4f}", smallest_truth(10, 0.5, 1e-14)
    ('0.0104', inf)
    """
    from scipy.special import bdtri

    if chance >= 1 or reports * _divergence(1.0, chance) < -math.log(level):
        return math.inf
    low, high = math.floor(reports * chance), reports  # bisect for the smallest count that is detected
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if truth_tail(middle, reports, chance) < level else (middle, high)
    needed = float(bdtri(high - 1, reports, LIMITS.missed))
    return (needed - chance) / (1 - chance)


def _row(mechanism: Mechanism, value: int) -> FloatArray:
    """Return P(output | value), from the channel or else the weights."""
    if mechanism.has_channel:
        row = mechanism.channel.select(np.array([value]))[0]
    else:
        weights = mechanism.weights(value)
        row = np.array([weight / sum(weights) for weight in weights])
    probabilities: FloatArray = row / row.sum()
    return probabilities


def _is_inside(mechanism: Mechanism, value: int, noise: LatticeNoise) -> bool:
    """Whether noise added to a value practically never leaves the alphabet."""
    reach = math.ceil(80 / -log_of(noise.ratio)) if noise.ratio is not None else 0
    values, start = mechanism.alphabet, mechanism.alphabet.decode([value])
    corners = (start - reach, start + reach)
    return all(bool(values.contains(one).all() and mechanism.report_alphabet.contains(one).all()) for one in corners)


def chi_square(counts: NDArray[np.int64], probabilities: FloatArray) -> float:
    """Return the p-value of counts, merging rare cells from the rarest up.

    >>> chi_square(np.array([498, 502]), np.array([0.5, 0.5])) > 0.5, chi_square(np.array([9, 1]), np.array([1.0, 0.0]))
    (True, 0.0)
    """
    if counts[probabilities <= 0].any():
        return 0.0
    order = np.argsort(probabilities, kind="stable")
    expected = np.cumsum(counts.sum() * probabilities[order])
    # A cell ends once enough reports are expected since the last end; the remainder joins the last cell.
    ends: list[int] = []
    enough = LIMITS.least_expected
    while (place := int(expected.searchsorted((expected[ends[-1]] if ends else 0.0) + enough))) < counts.size:
        ends.append(place)
    if len(ends) < 2:
        return 1.0
    ends[-1] = counts.size - 1
    foreseen = np.diff(expected[ends], prepend=0.0)
    observed = np.diff(np.cumsum(counts[order])[ends], prepend=0)
    return _tail(float(((observed - foreseen) ** 2 / foreseen).sum()), len(ends) - 1)


def _tail(statistic: float, freedom: int) -> float:
    """Return the probability that chi-square exceeds a statistic."""
    from scipy.special import gammaincc

    return float(gammaincc(freedom / 2, statistic / 2))


def _count_bits(part: Part, bits: NDArray[np.bool_], own: int, keep: float, flip: float) -> Cells:
    """Count bits set together, and test how often each is set.

    Joint counts detect bits that depend on each other.
    """
    from scipy.special import gammaln

    people, length = bits.shape
    shares = np.full(length, flip)
    shares[own] = keep
    spread = people * shares * (1 - shares)
    is_normal = spread >= LIMITS.least_expected / 4  # a binomial count this wide is close to normal
    deviations = (bits.sum(axis=0) - people * shares) ** 2 / np.maximum(spread, 1e-300)
    single = _tail(float(deviations[is_normal].sum()), int(is_normal.sum())) if is_normal.any() else 1.0
    others = bits.sum(axis=1) - bits[:, own]
    counts = np.arange(length)
    choices = gammaln(length) - gammaln(counts + 1) - gammaln(length - counts)
    row = np.exp(choices + counts * math.log(flip) + (length - 1 - counts) * math.log1p(-flip))
    both = np.concatenate([(1 - keep) * row, keep * row])
    seen = np.bincount(others + length * bits[:, own], minlength=both.size)
    both /= both.sum()
    scores = np.add.outer([0.0, math.log(keep / (1 - keep))], counts * math.log(flip / (1 - flip))).reshape(-1)
    return Cells(part, seen, both, scores, (int(seen[length]), float(both[length])), (single,))


def _count_supports(part: Part, supports: SupportSets, reports: Reports, own: int, size: int) -> Cells:
    """Count the reports that hold the value, another, both or neither.

    The other values take turns, so that all of them are looked at.
    """
    others = (own + 1 + np.arange(len(reports)) % (size - 1)) % size
    has_own = supports.holds(reports, np.full(len(reports), own))
    counts = np.bincount(2 * has_own + supports.holds(reports, others), minlength=4)
    keep, flip, both = supports.keep, supports.flip, supports.both
    chances = np.array([float(one) for one in (1 - keep - flip + both, flip - both, keep - both, both)])
    kept = float(keep)
    # Epsilon moves the share of sets with the own value, and nothing else.
    scores = np.array([-kept, -kept, 1 - kept, 1 - kept])
    return Cells(part, counts, chances, scores, (int(has_own.sum()), kept))


def _count_noise(part: Part, noise: LatticeNoise, moves: FloatArray) -> Cells:
    """Count displacements in lattice points, one row per report."""
    if noise.ratio is not None:
        return _count_axes(part, -log_of(noise.ratio), noise.stay, moves)
    # Planar noise: rings times quadrants. Quarter turns map the lattice onto itself, so quadrants are equally likely.
    decay = float(noise.rate or 0)
    from scipy.special import gammainc, gammaincinv

    radii = np.hypot(moves[:, 0], moves[:, 1])
    rings = 24
    edges = gammaincinv(2, np.arange(1, rings) / rings) / decay
    # Below a decay of 0.02 per lattice point, the radius is compared with its continuous limit, Gamma(2): the number of
    # lattice points within a radius then differs from its area by less than 1% (Gauss's circle problem), a third of
    # the counts' spread. Above it the lattice is summed up.
    if decay < 0.02:
        row = np.diff(gammainc(2, decay * edges), prepend=0.0, append=1.0)
        origin = decay**2 / (2 * math.pi)  # the density there
    else:
        reach = math.ceil(edges[-1]) + 1
        cells = planar_geometric_kernel((reach, reach), decay).cells
        distance = np.hypot(np.arange(reach)[:, None], np.arange(reach))
        copies = np.outer(1 + (np.arange(reach) > 0), 1 + (np.arange(reach) > 0))
        inside = np.histogram(distance, [-1.0, *edges], weights=cells * copies)[0]
        origin = float(cells[0, 0])
        row = np.append(inside, 1 - inside.sum())
    row[0] -= origin
    quadrant = (np.floor(np.arctan2(moves[:, 0], moves[:, 1]) / (math.pi / 2)).astype(np.int64)) % 4
    ring = np.searchsorted(edges, radii, side="left")
    numbers = np.where(radii == 0, 4 * rings, 4 * ring + quadrant)
    chances = np.maximum(np.append(np.repeat(row / 4, 4), origin), 0.0)
    # The mean distance of a ring under Gamma(2), in units of the noise's scale.
    ends = np.concatenate([[0.0], decay * edges, [math.inf]])
    distances = 2 * np.diff(gammainc(3, ends)) / np.diff(gammainc(2, ends))
    scores = -np.append(np.repeat(distances, 4), 0.0)
    counts = np.bincount(numbers, minlength=chances.size)
    return Cells(part, counts, chances / chances.sum(), scores, (int(counts[-1]), float(chances[-1])))


def _count_axes(part: Part, decay: float, stay: Fraction | None, moves: FloatArray) -> Cells:
    """Count two-sided geometric noise on each axis, and jointly."""
    # Bins of an eighth of the noise's scale. Each side has half of what does not stay, and P(move < m) falls from
    # there by e^-decay per point: half e^(decay m) for m <= 0. For geometric noise, half is e^-decay / (1 + e^-decay).
    half = math.exp(-decay) / (1 + math.exp(-decay)) if stay is None else float(1 - stay) / 2
    width, reach = max(1, int(0.125 / decay)), 64
    edges = np.arange(-reach, reach + 1) * width
    below = half * np.exp(-decay * np.where(edges <= 0, -edges, edges - 1))
    cumulative = np.where(edges <= 0, below, 1 - below)
    row = np.diff(cumulative, prepend=0.0, append=1.0)
    places = np.searchsorted(edges, moves, side="right")
    # Score of a bin: minus the distance of its middle, in units of the noise's scale.
    scores = -decay * np.abs(np.append(edges - width, edges[-1]) + (width - 1) / 2)
    own = int((moves == 0).all(axis=1).sum()), (1 - 2 * half) ** moves.shape[1]
    singles = [np.bincount(one, minlength=row.size) for one in places.T]
    if moves.shape[1] == 1:
        return Cells(part, singles[0], row, scores, own)
    joint = np.bincount(places[:, 0] * row.size + places[:, 1], minlength=row.size**2)
    each = tuple(chi_square(one, row) for one in singles)
    return Cells(part, joint, np.outer(row, row).reshape(-1), np.add.outer(scores, scores).reshape(-1), own, each)


class Extent(Enum):
    """Pairs that were compared, always in exact arithmetic."""

    ALL_PAIRS = "exact over all pairs"
    DIGITS = "over all pairs, to 70 digits"
    STRUCTURE = "exact by structure"
    SAMPLE = "exact on a sample of pairs"


@dataclass(frozen=True)
class Audit(Shown):
    """Outcome of an audit.

    Attributes
    ----------
    mechanism
        The audited mechanism.
    worst
        The largest log-ratio relative to its promise, with the numbers of its pair and output.
    left, right, output
        The pair of values that is easiest to distinguish, and the output that does so, in words.
    extent
        Whether all pairs were compared, their structure, or a sample.
    compared
        What was compared, and what was not, in a sentence.
    draws
        Reports drawn and counted.
    channel_error
        The largest relative difference, beyond rounding, between the channel that estimates use and the weights that
        reports are drawn from. 0 if they agree; `None` if there is no channel.
    lasting
        Audit of the permanent round, for the promise of any number of reports of one value; `None` without one.

    Examples
    --------
    >>> import confide as cf
    >>> found = cf.audit(cf.TruncatedGeometric(cf.Integers(0, 9), epsilon=1.0))
    >>> found.holds, found.extent.value
    (True, 'exact over all pairs')
    """

    mechanism: Mechanism
    worst: WorstRatio
    left: str
    right: str
    output: str
    extent: Extent
    compared: str
    draws: Draws
    channel_error: float | None = None
    lasting: Audit | None = None

    @property
    def holds(self) -> bool:
        """Whether promise, draws and channel all pass."""
        return not self.faults

    @property
    def faults(self) -> tuple[str, ...]:
        """Everything that is wrong, one sentence each."""
        found = []
        if self.worst.exceeds and not self.worst.is_measured:
            found.append("THE PROMISE IS NOT PROVEN: a part that it follows from breaks its own promise.")
        elif self.worst.exceeds:
            # Six digits of a tiny excess would look like no excess: state the difference instead.
            is_clear = self.worst.relative >= 1 + 1e-6
            times, more = f"{self.worst.relative:.6g} times the bound", f"a relative excess of {self.worst.excess:.2g}"
            found.append(f"THE PROMISE IS BROKEN: {self._ratio}: {times if is_clear else more}.")
        if not self.draws.agree:
            found.append(
                f"THE SAMPLER DRAWS SOMETHING ELSE: {counted(self.draws.reports, 'report')} of "
                f"{counted(self.draws.values, 'value')} have p = {self.draws.p_value:.3g} under the declared "
                f"probabilities. Value number {self.draws.suspect} deviates most."
            )
        if self.channel_error:
            found.append(
                f"THE CHANNEL DIFFERS from the weights that reports are drawn from, by a relative "
                f"{self.channel_error:.3g}: estimates are wrong."
            )
        return tuple(found) + (() if self.lasting is None else self.lasting.faults)

    def __str__(self) -> str:
        later = "" if self.lasting is None else f" For any number of reports of one value: {self.lasting}"
        if self.faults:
            return " ".join([*self.faults, self.compared]) + later
        if self.worst.log_ratio == 0:
            return f"The promise holds: no output distinguishes any two values. {self.compared}{later}"
        if not self.worst.is_measured:
            return f"The promise holds, by a theorem. {self.compared} {self._drawn}{later}"
        return f"The promise holds: {self._ratio}. This is the worst case. {self.compared} {self._drawn}{later}"

    @property
    def _ratio(self) -> str:
        return (
            f"output {self.output} is e^{self.worst.log_ratio:.6g} times as likely under {self.left} as under "
            f"{self.right}; the bound is e^{self.worst.bound:.6g}"
        )

    @property
    def _drawn(self) -> str:
        return (
            f"{counted(self.draws.reports, 'report')} drawn for {counted(self.draws.values, 'value')} have the "
            f"declared distribution. The tests would have found, with 95% power, {self.draws.sensitivity}."
        )


def audit(mechanism: Mechanism, *, reports: int = 500_000) -> Audit:
    """Audit a mechanism: exact weights against its promise, reports against weights.

    It compares all pairs of values under all outputs if they are few enough. For unbounded and large mechanisms it uses
    the structure that they declare (:class:`confide.mechanisms.Facts`): noise, bits, parts. For a large mechanism that
    declares nothing it compares a sample of pairs, and the result says so.

    Parameters
    ----------
    mechanism
        Any mechanism. One with only `alphabet`, `guarantee` and `weights` is audited in full.
    reports
        Number of reports to draw, half of them from secure bits. For every 500 of them, one more is drawn singly and
        one with permanent noise. At 100 ages, this detects an epsilon of 0.05 per year that is 3% too large.

    Examples
    --------
    >>> import confide as cf
    >>> audit(cf.TruncatedPlanarLaplace(cf.Grid(4, 4), epsilon=1.0)).holds
    True
    """
    require_mechanism("mechanism", mechanism)
    check_count("reports", reports, 1)
    worst, extent, compared, rows = _compare(mechanism)
    left, right = (_label(mechanism.alphabet, number) for number in (worst.left, worst.right))
    output = _label(mechanism.report_alphabet, worst.output)
    values = mechanism.alphabet
    last = values.size - 1 if values.is_finite else 10**6  # far from the first, for noise that depends on the value
    middle = min(last, last // 2 + math.isqrt(last) // 2)  # half a row further: the middle of a square, not its border
    key_values = np.unique(np.array([0, last, middle, worst.left, worst.right]))
    draws = count_draws(mechanism, key_values, reports)
    kind = type(mechanism)
    if kind._draw is Mechanism._draw and kind._report is Mechanism._report:
        # If reports are drawn from rows, these rows must equal the weights exactly.
        drawn, probed = mechanism._rows.cumulative, probed_values(mechanism, key_values).tolist()
        if not all(drawn[number] == tuple(accumulate(mechanism.weights(number))) for number in probed):
            draws = replace(draws, p_value=0.0)
    rounds = mechanism.facts.rounds
    lasting = None if rounds is None else audit(rounds[0], reports=reports)
    error = _channel_error(mechanism, rows)
    return Audit(mechanism, worst, left, right, output, extent, compared, draws, error, lasting)


Rows = dict[int, Sequence[int]]
"""Exact weights by value number."""

Comparison = tuple[WorstRatio, Extent, str, Rows]


def _compare(mechanism: Mechanism) -> Comparison:
    """Compare all rows, or what the structure proves, or some rows."""
    if _can_list_rows(mechanism):
        values, outputs = mechanism.alphabet, mechanism.report_alphabet
        rows = _rows(mechanism, range(values.size))
        worst = worst_of_rows(rows.values(), values, mechanism.guarantee, given_as_floats=_is_rounded(mechanism))
        pairs = math.comb(values.size, 2)
        compared = f"{_count_pairs(pairs)} compared under {_all(outputs.size, 'output')}, as integers."
        return worst, Extent.ALL_PAIRS, compared, rows

    by_structure = _compare_structure(mechanism)
    if by_structure is not None:
        return by_structure
    if mechanism.alphabet.is_listable and mechanism.report_alphabet.is_listable:
        return _compare_sample(mechanism)
    raise InvalidParameterError(
        f"{mechanism!r} cannot be audited: it has too many values or outputs to compare, and declares no structure. "
        f"Let its facts name its noise, bits, parts or origin, or audit it on a smaller alphabet."
    )


def _compare_structure(mechanism: Mechanism) -> Comparison | None:
    """Compare what the declared facts reduce the promise to, or return `None`."""
    facts, is_local = mechanism.facts, isinstance(mechanism.guarantee, LocalDP)
    metric = getattr(mechanism.guarantee, "metric", None)
    if facts.noise is not None and isinstance(metric, Euclidean | Manhattan | Uneven):
        return _compare_noise(mechanism, facts.noise)  # these metrics add up along straight lines
    if (facts.bits or facts.supports) and is_local:
        return _compare_two_chances(facts, Fraction(mechanism.guarantee.epsilon))  # type: ignore[attr-defined]
    if facts.parts is not None:
        return _compare_parts(facts.parts)
    if facts.origin is not None:
        # Merging outputs may lower the largest ratio; by how much is not computed.
        worst, extent, compared, _ = _compare(facts.origin[0])
        why = (
            f"Reports are made from the outputs of another mechanism, so by post-processing they reveal no more; "
            f"how much less was not computed. The other mechanism: {compared}"
        )
        output = int(facts.origin[1][worst.output])
        found = replace(worst, output=output, log_ratio=worst.bound, excess=0.0, is_measured=False)
        return found, Extent.STRUCTURE if extent is Extent.ALL_PAIRS else extent, why, {}
    if facts.rounds is not None and facts.premise is not Premise.OWN_VALUE:
        return _compare_rounds(mechanism, *facts.rounds)
    is_listed = mechanism.report_alphabet.is_listable
    return _compare_own_values(mechanism) if facts.premise is Premise.OWN_VALUE and is_local and is_listed else None


def _compare_two_chances(facts: Facts, epsilon: Fraction) -> Comparison:
    """Compare reports that have only two probabilities, up to a factor each."""
    if facts.bits is not None:
        keep, flip = facts.bits
        odds = keep * (1 - flip) / (flip * (1 - keep))
        ratio = min(odds, 1 / odds)
        why = (
            "Bits are independent, and two values differ in the probabilities of two bits only. So the odds of a kept "
            "bit divided by those of a flipped one, in integers, are the largest ratio of any two values under any "
            "bit vector."
        )
    else:
        assert facts.supports is not None  # noqa: S101 (for the type checker; whoever calls has asked)
        ratio = facts.supports.ratio
        why = (
            "A report has one probability from every value of the set that it supports, and another from every other "
            "value. Their ratio, in integers, is the largest of any two values under any report."
        )
    exceeds, log_ratio = power_exceeds(ratio, 1, lambda _: (epsilon, epsilon)), -log_of(ratio)
    excess = log_ratio - float(epsilon) if exceeds else 0.0
    return WorstRatio(0, 1, 1, log_ratio, float(epsilon), exceeds, excess), Extent.STRUCTURE, why, {}


def _can_list_rows(mechanism: Mechanism) -> bool:
    """Whether all rows of weights can be made and compared."""
    # Most bits of all weights for which every row is made: 300 values of geometric noise, one second.
    most_bits = 2**31
    values, outputs, facts = mechanism.alphabet, mechanism.report_alphabet, mechanism.facts
    if not (values.is_listable and outputs.is_listable) or (facts.origin and not _can_list_rows(facts.origin[0])):
        return False
    entries = values.size * outputs.size
    steps = entries if isinstance(mechanism.guarantee, LocalDP) else entries * values.size
    # Pairs of values times outputs up to which all are compared: 2**33, which is 2,048 of each and takes half a minute.
    # Only 2**20 for products: all their ratios are at their bounds, which takes exact arithmetic, and their parts prove
    # as much.
    if steps > (2**33 if facts.parts is None else 2**20) or entries > most_bits // 64:
        return False
    # Weights of uneven values have 64 bits per lattice point; multiplying those of 100,000 points took 8 s.
    if facts.noise is not None and facts.noise.points > 4096:
        return False
    if facts.rounds is not None and facts.premise is not Premise.OWN_VALUE:
        products = _count_products(*facts.rounds)
        bits = sum(max(weight.bit_length() for weight in one.weights(0)) for one in facts.rounds if products)
        if products is None or products * bits > LIMITS.largest_multiplied:
            return False
    # One row shows how long the weights are: those of noise grow with the number of values.
    return values.size * sum(weight.bit_length() for weight in mechanism.weights(0)) <= most_bits


def _count_products(permanent: Mechanism, fresh: Mechanism) -> int | None:
    """Return the number of products of two rounds' weights, or `None`.

    `None` if the weights of one round cannot be listed.
    """
    if not (_can_list_rows(permanent) and _can_list_rows(fresh)):
        return None
    return permanent.alphabet.size * fresh.alphabet.size * fresh.report_alphabet.size


def _compare_noise(mechanism: Mechanism, noise: LatticeNoise) -> Comparison:
    """Compare the noise with the promise for neighbours; other pairs follow.

    A sum of value and noise has P(z | x) = c r^(steps from x to z). From another value, the steps to z increase by at
    most the distance of the two values, so no ratio exceeds r^-steps. Along a line, steps and bounds both add up. On a
    plane, steps are at most sqrt 2 times the Euclidean distance, with equality on the diagonal.
    """
    values, guarantee = mechanism.alphabet, mechanism.guarantee
    assert isinstance(guarantee, MetricPrivacy)  # noqa: S101 (for the type checker; the one caller has asked)
    is_diagonal = values.parts > 1 and noise.ratio is not None and isinstance(guarantee.metric, Euclidean)
    step = [1] * values.parts if is_diagonal or values.parts == 1 else [0, 1]
    points = noise.resolution * sum(step) * (2 if noise.is_redrawn else 1)

    def bracket(precision: int) -> Bracket:
        low, high = guarantee.metric.bracket([0] * len(step), step, precision)
        return Fraction(guarantee.epsilon) * low, Fraction(guarantee.epsilon) * high

    if noise.ratio is not None:
        exceeds, log_ratio = power_exceeds(noise.ratio, points, bracket), -points * log_of(noise.ratio)
    else:
        rate = (noise.rate or Fraction(0)) * points
        exceeds, log_ratio = rate > bracket(MOST_BITS)[1], float(rate)
    # The numbers of two values one step apart, or of the first two values if the first 64 have no such pair.
    first = np.arange(min(values.size, 64) if values.is_finite else 1)
    there = values.locate(values.decode(first) + np.array(step if values.parts > 1 else step[0]))
    found = np.flatnonzero(there >= 0)
    pair = (int(first[found[0]]), int(there[found[0]])) if found.size else (0, min(1, values.size - 1))
    worst = WorstRatio(*pair, _own_output(mechanism, pair[0]), log_ratio, float(bracket(64)[1]), exceeds)
    why = ["The noise is the same for every value, so neighbours, compared as integers, cover all pairs:"]
    why.append("on a plane the promise is tightest on the diagonal." if is_diagonal else "distances add up.")
    if noise.is_clamped:
        why.append("Moving the sum to an output is post-processing, which reveals nothing more.")
    if noise.is_redrawn:
        why.append("Drawing again until the sum is a value costs the same factor once more.")
    return replace(worst, excess=worst.log_ratio - worst.bound if exceeds else 0.0), Extent.STRUCTURE, " ".join(why), {}


def _compare_parts(named: Mapping[str, Mechanism]) -> Comparison:
    """Compare each part.

    Ratios multiply and bounds add, so the worst pair differs in one part only.
    """
    parts = list(named.values())
    found = [_compare(part) for part in parts]
    # Of equal parts the first, which a reader sees first.
    place = max(range(len(parts)), key=lambda place: (found[place][0].exceeds, found[place][0].relative, -place))
    values = math.prod(part.alphabet.size for part in parts[place + 1 :])
    outputs = math.prod(part.report_alphabet.size for part in parts[place + 1 :])
    worst = found[place][0]
    worst = replace(worst, left=worst.left * values, right=worst.right * values, output=worst.output * outputs)
    worst = replace(worst, is_measured=all(one[0].is_measured for one in found))
    extent = Extent.SAMPLE if any(one[1] is Extent.SAMPLE for one in found) else Extent.STRUCTURE
    each = " ".join(f"For {name}: {one[2]}" for name, one in zip(named, found, strict=True))
    why = f"Attributes have independent noise, so their ratios multiply, and each was compared separately. {each}"
    return worst, extent, why, {}


def _compare_rounds(mechanism: Mechanism, permanent: Mechanism, fresh: Mechanism) -> Comparison:
    """Compare all pairs by rounded weights, or else each round separately.

    The promise of one report follows from the promises of both rounds.
    """
    values, outputs = mechanism.alphabet, mechanism.report_alphabet
    products = _count_products(permanent, fresh)
    # 2**23 products of rounded weights, 200 values of each round, take a few seconds.
    if products is not None and products <= 2**23:
        rows: Rows = dict(enumerate(rounded_rows(permanent, fresh)))
        worst = worst_of_rows(rows.values(), values, mechanism.guarantee, given_as_floats=_is_rounded(mechanism))
        # The weights' rounding, 2^-250, is 5e-76: an excess this small is a tie.
        if worst.excess < 1e-70:
            worst = replace(worst, exceeds=False, excess=0.0)
        pairs = _count_pairs(math.comb(values.size, 2))
        why = f"{pairs} compared under {_all(outputs.size, 'output')}, by integers with 70 exact digits."
        return worst, Extent.DIGITS, why, rows
    first, second = _compare(permanent), _compare(fresh)
    bound = float(mechanism.guarantee.bracket(values, first[0].left, first[0].right, 64)[1])
    # The proof gives the bound itself; the true maximum, which is smaller, is not computed.
    exceeds = first[0].exceeds or second[0].exceeds
    found = replace(first[0], output=0, log_ratio=bound, bound=bound, exceeds=exceeds, excess=0.0, is_measured=False)
    sampled = Extent.SAMPLE in (first[1], second[1])
    why = (
        f"The promise of one report follows from the promises of both rounds, which were compared separately. The "
        f"worst pair of values, and its margin, were not computed. The permanent round: {first[2]} The fresh round: "
        f"{second[2]}"
    )
    return found, Extent.SAMPLE if sampled else Extent.STRUCTURE, why, {}


def _compare_own_values(mechanism: Mechanism) -> Comparison | None:
    """Compare a few rows of k-RR's form; all other rows are alike.

    The form is one weight for the value itself and one for all others.
    """
    values = mechanism.alphabet
    numbers = sorted({0, 1, values.size // 2, values.size - 1})
    rows = _rows(mechanism, numbers)
    shapes = {(row[number], *sorted(set(row[:number]) | set(row[number + 1 :]))) for number, row in rows.items()}
    if len(shapes) > 1 or len(next(iter(shapes))) != 2:
        return None  # the rows contradict their declaration
    worst = worst_of_rows(rows.values(), Selection(values, values.decode(numbers)), mechanism.guarantee)
    why = (
        f"Every row declares one weight for its own value and one for all others. {len(numbers)} rows were checked, "
        f"and any two have the same ratio."
    )
    worst = replace(worst, left=numbers[worst.left], right=numbers[worst.right])
    return worst, Extent.STRUCTURE, why, rows


def _compare_sample(mechanism: Mechanism) -> Comparison:
    """Compare the ends, the middle, their neighbours, and random values."""
    values, outputs = mechanism.alphabet, mechanism.report_alphabet
    # At most 128 rows, hence 8,128 pairs, and 2**20 outputs in all rows together; at least four rows.
    count = min(128, max(4, 2**20 // outputs.size), values.size)
    middle = values.size // 2
    picked = [0, 1, values.size - 1, values.size - 2, middle, middle + 1]
    picked += np.random.default_rng(LIMITS.seed).choice(values.size, count, replace=False).tolist()
    numbers = list(dict.fromkeys(picked))[:count]
    rows = _rows(mechanism, numbers)
    some = Selection(values, values.decode(numbers))
    worst = worst_of_rows(rows.values(), some, mechanism.guarantee, given_as_floats=_is_rounded(mechanism))
    pairs, every = math.comb(len(numbers), 2), math.comb(values.size, 2)
    compared = (
        f"{pairs:,} of {every:,} pairs of values were compared under {_all(outputs.size, 'output')}, as integers: "
        f"the ends, the middle, their neighbours and random values. The other {every - pairs:,} were not."
    )
    worst = replace(worst, left=numbers[worst.left], right=numbers[worst.right])
    return worst, Extent.SAMPLE, compared, rows


def _is_rounded(mechanism: Mechanism) -> bool:
    """Whether weights come from a user's float64 numbers, directly or not."""
    facts = mechanism.facts
    behind = [*(facts.parts or {}).values(), *(() if facts.origin is None else facts.origin[:1]), *(facts.rounds or ())]
    return facts.is_rounded or any(map(_is_rounded, behind))


def _own_output(mechanism: Mechanism, value: int) -> int:
    """Return the number of the report that names the value, else 0."""
    outputs = mechanism.report_alphabet
    return max(0, int(outputs.locate(outputs.as_array(mechanism.alphabet.decode([value])))[0]))


def _channel_error(mechanism: Mechanism, rows: Rows) -> float | None:
    """Return the largest relative difference of channel and weights, beyond rounding."""
    if not rows or not mechanism.has_channel:
        return None
    relative, absolute = 1e-9, 1e-15  # the FFT of planes leaves as much
    largest = 0.0
    for number, row in rows.items():
        total = sum(row)
        exact = np.array([weight / total for weight in row])
        difference = np.abs(mechanism.channel.select(np.array([number]))[0] - exact)
        off = difference > relative * exact + absolute
        if off.any():
            largest = max(largest, float((difference[off] / np.maximum(exact[off], absolute)).max()))
    return largest


def _rows(mechanism: Mechanism, numbers: Iterable[int]) -> Rows:
    """Return the weights of some values, checked for length."""
    rows = {number: mechanism.weights(number) for number in numbers}
    for number, row in rows.items():
        if len(row) != mechanism.report_alphabet.size:
            raise InvalidParameterError(
                f"Row {number} has {counted(len(row), 'weight')}, but there are {mechanism.report_alphabet.size:,} "
                f"outputs."
            )
    return rows


def _label(alphabet: Alphabet, number: int) -> str:
    value = alphabet.decode([number]).tolist()[0]
    if alphabet.bits is not None and alphabet.parts > 1:
        return f"{value[0]} (of {alphabet.bits.length:,} bits)"  # the number fits into the first word
    return alphabet.labels([number])[0] if alphabet.has_labels else label_value(value)


def _count_pairs(pairs: int) -> str:
    """Return the subject of a sentence, with its verb."""
    if pairs < 2:
        return "There is no pair of values to be" if pairs == 0 else "The one pair of values was"
    return f"All {pairs:,} pairs of values were"


def _all(count: int, noun: str) -> str:
    return f"the one {noun}" if count == 1 else f"all {counted(count, noun)}"
