"""Which groups differ from all the others, at a false discovery rate.

Where a group's people have the distribution that all others have, their reports are exchangeable with those of the
others, whatever that distribution is and whatever the mechanism does. Given all reports, those of the group are then
drawn from them without replacement: a law without unknowns. So a p-value needs no estimate to be right.

The statistic looks at what a mechanism lets through. With f a function of the value, the score of a report z in the
direction of f is E[f(value) | z] under the distribution of all people. On a line the functions are Legendre's
polynomials of the rank among all people (Neyman's smooth test): the first tells higher from lower, the second wide from
narrow. On a plane there are five of two coordinates; on categories, the indicators of the commonest. Means of scores,
made uncorrelated, are squared and summed, the first ones with more weight. The law of the sum is simulated: groups of
the same size are drawn from all reports, thousands of times. A large group that differs is set aside before the others
are compared, so that these do not differ on its account.

>>> import confide as cf
>>> mechanism = cf.TruncatedGeometric(cf.Integers(0, 99), epsilon=0.1)
>>> ages = {"Oslo": range(30, 50), "Bern": range(30, 50), "Rome": range(40, 60)}
>>> groups = {town: cf.tally(mechanism.privatize(list(span) * 100, rng=1)) for town, span in ages.items()}
>>> found = differences({town: [(counts, mechanism)] for town, counts in groups.items()})
>>> found["Rome"].is_different, bool(found["Rome"].scores[0] > 0)
(True, True)
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from statistics import NormalDist
from typing import Any, TypeVar

import numpy as np

from confide.channels.base import Channel, FloatArray, Indices
from confide.evidence.counts import Counts, merge
from confide.evidence.evidence import Evidence
from confide.mechanisms import Mechanism
from confide.mechanisms.base import observe_weighted
from confide.solve.em import EM, RowStack, uniform
from confide.theory.likely_subsets import likely_subset_of
from confide.values import Alphabet

DEGREES = 4
"""Polynomials on a line: mean, spread, skew and peak; more differ by what no noise lets through."""


@dataclass(frozen=True, eq=False)
class Directions:
    """Functions of the value in whose directions groups are compared.

    Attributes
    ----------
    theta
        The distribution of all people, about.
    functions
        One row each.
    weights
        How much each counts.
    slope
        How much the mean of the values rises along the first one; None off the line.
    """

    theta: FloatArray
    functions: FloatArray
    weights: FloatArray
    slope: float | None = None

    @classmethod
    def over(cls, alphabet: Alphabet, theta: FloatArray) -> Directions:
        """Choose score functions: by order, by coordinates, or one by one.

        >>> from confide import Categories
        >>> Directions.over(Categories(["red", "green", "blue"]), np.array([0.2, 0.5, 0.3])).functions
        array([[0., 1., 0.],
               [0., 0., 1.]])
        """
        values = alphabet.decode(np.arange(alphabet.size))
        if values.dtype.kind not in "iuf":
            # 30: categories that have a direction of their own, the commonest ones.
            common = np.argsort(-theta, kind="stable")[: min(30, theta.size - 1)]
            rows = np.zeros((common.size, theta.size))
            rows[np.arange(common.size), common] = 1.0
            return cls(theta, rows, np.ones(common.size))
        if values.ndim == 1:
            first, *others = _polynomials(values, theta)
            slope = float(theta @ (values * first) - (theta @ values) * (theta @ first))
            return cls(theta, np.array([first, *others]), 1 / np.arange(1.0, DEGREES + 1), slope)
        axes = [_polynomials(axis, theta)[:2] for axis in values.reshape(theta.size, -1).T]
        linear, bent = [one for one, _ in axes], [two for _, two in axes]
        mixed = [linear[0] * one for one in linear[1:]]
        weights = [1.0] * len(linear) + [0.5] * (len(mixed) + len(bent))
        return cls(theta, np.array([*linear, *mixed, *bent]), np.array(weights))

    def scores(self, channel: Channel) -> FloatArray:
        """Return E[f | report] for every output, one row each.

        The row of an impossible output is 0.
        """
        outputs = channel.push(self.theta)
        expected = channel.push(self.theta * self.functions)
        scores: FloatArray = np.divide(expected, outputs, out=np.zeros_like(expected), where=outputs > 0)
        return scores.T


def _polynomials(values: FloatArray, theta: FloatArray) -> list[FloatArray]:
    """Return Legendre polynomials of each value's rank among all people."""
    distinct, places = np.unique(values, return_inverse=True)
    shares = np.bincount(places, theta, distinct.size)
    ranks = (np.cumsum(shares) - shares / 2)[places]
    return [np.polynomial.Legendre.basis(degree)(2 * ranks - 1) for degree in range(1, DEGREES + 1)]


LEVEL = 0.03
"""The false discovery rate that is asked for. What is promised is 5 in 100; simulated p-values scatter a little."""


FEWEST, RESOLUTION = 2000, 20
"""Simulated groups at the least; and how many of them should lie beyond the smallest p-value that can matter."""

MOST_DRAWN, ALL_DRAWN, CHUNK = 10_000_000, 120_000_000, 300_000
"""Reports that are drawn for groups of one size, at most; for all sizes together; and at a time."""

LARGE = 20_000
"""Reports past which means of scores, all of them bounded, are normal as far as anyone can tell."""

NUMBERED, MOST_EXACT = 32, 10**9
"""Cells, and reports, up to which groups are drawn without replacement, each size by itself."""

GroupKey = TypeVar("GroupKey", bound=Hashable)
Part = tuple[Counts, Mechanism]


@dataclass(frozen=True, eq=False)
class Difference:
    """Whether a group differs from all the others together.

    Attributes
    ----------
    is_different
        Whether the p-value is small enough among those of all groups (Benjamini and Hochberg, 1995).
    p_value
        How often a group drawn at random would be as different.
    statistic
        The weighted sum of squares that the p-value belongs to; 1 on average where nothing differs.
    scores
        The group's means along the directions, in standard errors; on a line the first is positive where values are
        higher, the second where they are wider spread.
    visible
        On a line: how much higher or lower the mean would have to be to show, four times in five; None elsewhere.
    """

    is_different: bool
    p_value: float
    statistic: float
    scores: FloatArray
    visible: float | None = None


@dataclass(frozen=True, eq=False)
class Differences(Mapping[Any, Difference]):
    """Differences of all groups.

    Attributes
    ----------
    groups
        The difference of each.
    level
        The share of the groups named as different, on average, that are not.
    """

    groups: Mapping[Any, Difference]
    level: float = LEVEL

    @cached_property
    def different(self) -> list[Any]:
        """The groups that differ, the smallest p-value first."""
        found = [key for key, one in self.groups.items() if one.is_different]
        return sorted(found, key=lambda key: self.groups[key].p_value)

    def __getitem__(self, key: Any) -> Difference:
        return self.groups[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.groups)

    def __len__(self) -> int:
        return len(self.groups)


def differences(pools: Mapping[GroupKey, Sequence[Part]], *, level: float = LEVEL, seed: int = 0) -> Differences:
    """Test of each group whether its people differ from all the others.

    Parameters
    ----------
    pools
        The counts of each group with the mechanism that they went through; several where its people used several.
        Groups are then compared within each mechanism, and the comparisons are added up.
    level
        The false discovery rate.
    seed
        The seed of the simulated groups: the same reports always get the same p-values.
    """
    pools = {key: [(_independent(counts), mechanism) for counts, mechanism in pool] for key, pool in pools.items()}
    if len(pools) < 2:
        nothing = Difference(is_different=False, p_value=1.0, statistic=0.0, scores=np.zeros(0))
        return Differences(dict.fromkeys(pools, nothing), level)
    total = sum(counts.total for pool in pools.values() for counts, _ in pool)
    large = 0.02 * total  # reports from which on a group that differs is set aside before the others are compared
    left, found = dict(pools), dict[GroupKey, Difference]()
    while True:
        found |= _judge_all(left, len(pools), level, seed)
        judged = _reject(found, level)
        # A large group that differs makes all others differ from what it is part of: it is set aside, and they are
        # compared once more. Small ones move the others by nothing that could be seen.
        sizes = {key: sum(counts.total for counts, _ in pool) for key, pool in left.items()}
        heavy = [key for key in left if judged[key].is_different and sizes[key] >= large]
        if len(left) <= 2 or not heavy:
            break
        del left[max(heavy, key=lambda key: judged[key].statistic)]
    # Many small ones together do move the others: all are compared once more with those that are left, without the
    # most different ones, which may be a quarter of all people.
    small = sorted((key for key in left if judged[key].is_different), key=lambda key: -judged[key].statistic)
    together = np.cumsum([sizes[key] for key in small])
    small = small[: int(np.searchsorted(together, total / 4))]
    if small and together[len(small) - 1] >= large and len(left) - len(small) > 2:
        judged = _reject(found | _judge_all(left, len(pools), level, seed, apart=set(small)), level)
    return Differences({key: judged[key] for key in pools}, level)


def _independent(counts: Counts) -> Counts:
    """Return as many reports as are certainly independent.

    They are counts that add up with those of other groups.
    """
    found = counts.independent
    if not found.is_thinned:
        return found
    return Counts(found.reports, found.counts, found.origin, squares=found.squares, blocks=found.blocks)


def _reject(found: Mapping[GroupKey, Difference], level: float) -> dict[GroupKey, Difference]:
    """Return the same with the verdicts that the p-values have among all."""
    rejected = benjamini_hochberg(np.array([one.p_value for one in found.values()]), level).tolist()
    return {key: replace(one, is_different=yes == 1) for (key, one), yes in zip(found.items(), rejected, strict=True)}


def _judge_all(
    pools: Mapping[GroupKey, Sequence[Part]],
    groups: int,
    level: float,
    seed: int,
    apart: Collection[GroupKey] = (),
) -> dict[GroupKey, Difference]:
    """Compare each group with the others, without those kept apart.

    Of how many groups in all decides how fine p-values must be.
    """
    comparison = _Comparison(_layers(pools, apart), groups, level, np.random.default_rng(seed))
    return {key: comparison.judge(place) for place, key in enumerate(pools)}


def benjamini_hochberg(p_values: FloatArray, level: float) -> Indices:
    """Return which hypotheses are rejected at a false discovery rate.

    0 or 1 each.

    >>> benjamini_hochberg(np.array([0.02, 0.9, 0.021, 0.8]), 0.05)
    array([1, 0, 1, 0])
    """
    order = np.argsort(p_values)
    is_below = p_values[order] <= level * np.arange(1, p_values.size + 1) / p_values.size
    rejected = np.zeros(p_values.size, dtype=np.int64)
    rejected[order[: int(np.flatnonzero(is_below)[-1]) + 1 if is_below.any() else 0]] = 1
    return rejected


@dataclass(frozen=True, eq=False)
class _Layer:
    """All reports of one mechanism: scores, totals and each group's own.

    Attributes
    ----------
    scores
        One row a cell, one column a direction; their mean over all reports is zero.
    counts
        Reports in each cell.
    sums, sizes
        Sum of the scores of each group, and its number of reports.
    directions
        The directions.
    """

    scores: FloatArray
    counts: FloatArray
    sums: FloatArray
    sizes: FloatArray
    directions: Directions

    @property
    def total(self) -> float:
        """Number of reports."""
        return float(self.counts.sum())

    @cached_property
    def covariance(self) -> FloatArray:
        """The covariance of the scores of one report."""
        return (self.scores.T * self.counts) @ self.scores / max(self.total - 1, 1.0)

    def spread(self, size: float) -> float:
        """Return the factor from scores to a group's covariance.

        The group is drawn without replacement.
        """
        return size * (1 - size / self.total)

    def draw(self, size: int, number: int, generator: np.random.Generator) -> FloatArray:
        """Return simulated sums over many groups of one size.

        At most half of all reports are drawn.
        """
        if size == 0:
            return np.zeros((number, self.scores.shape[1]))
        if size >= LARGE:
            law = self.spread(size) * self.covariance
            return generator.multivariate_normal(np.zeros(self.scores.shape[1]), law, number, check_valid="ignore")
        if self.is_coarse:
            whole = np.rint(self.counts).astype(np.int64)
            size = min(size, int(whole.sum()))
            drawn = generator.multivariate_hypergeometric(whole, size, number, method="marginals")
            return drawn @ self.scores
        sums = np.empty((number, self.scores.shape[1]))
        rows = max(1, CHUNK // size)
        for begin in range(0, number, rows):
            some = min(rows, number - begin)
            picked = self.scores[self._cells[generator.integers(self._cells.size, size=(some, size))]]
            sums[begin : begin + some] = picked.sum(axis=1)
        # A few of many reports may as well be put back after each draw: their sums are a little wider than without. A
        # fair part is brought to the width that it has without; tails become heavier, never lighter, for both skew and
        # excess are smaller without replacement.
        return sums if 20 * size <= self.total else math.sqrt(self.spread(size) / size) * sums

    @property
    def is_coarse(self) -> bool:
        """Whether cells are few, so that ties matter.

        No approximation will do then.
        """
        return self.counts.size <= NUMBERED and self.total < MOST_EXACT

    @cached_property
    def _cells(self) -> Indices:
        """The cell of each report; evenly spaced ones if very many."""
        total = round(self.total)
        # Of more reports than are numbered to be drawn from, that many stand for all.
        most = 4_000_000
        places = np.arange(total) if total <= most else np.linspace(0, total - 1, most)
        return np.searchsorted(np.cumsum(self.counts), places + 0.5).clip(0, self.counts.size - 1)


@dataclass(frozen=True, eq=False)
class _Comparison:
    """Every group against the others, over all layers, with simulated laws."""

    layers: Sequence[_Layer]
    groups: int
    level: float
    generator: np.random.Generator
    laws: dict[tuple[int, ...], FloatArray] = field(default_factory=dict)

    @cached_property
    def whitening(self) -> FloatArray:
        """Decorrelate scores over all reports, each direction after those before it."""
        covariance = sum(layer.total * layer.covariance for layer in self.layers) / sum(
            one.total for one in self.layers
        )
        return _whitening(np.asarray(covariance))

    @cached_property
    def weights(self) -> FloatArray:
        """Weight of each direction; a direction that is dropped has zeros."""
        return self.layers[0].directions.weights

    @cached_property
    def sizes(self) -> Indices:
        """Size of each group in each layer, or of the others.

        The smaller of the two counts: both have one law.
        """
        sizes = np.array([np.minimum(one.sizes, one.total - one.sizes) for one in self.layers]).T
        rounded: Indices = np.rint(np.maximum(sizes, 0.0)).astype(np.int64)
        return rounded

    @cached_property
    def simulated(self) -> list[tuple[int, ...]]:
        """Sizes to simulate the law for; similar sizes share one."""
        same = [one.is_coarse for one in self.layers]
        return [
            tuple(min(size, LARGE) if one else _rounded(size) for size, one in zip(row, same, strict=True))
            for row in self.sizes.tolist()
        ]

    def judge(self, place: int) -> Difference:
        """Return a group's p-value, and where it differs.

        Whether that counts depends on the others.
        """
        spreads = [layer.spread(float(layer.sizes[place])) for layer in self.layers]
        if not any(self.sizes[place]):  # the group is everybody, or nobody
            return Difference(is_different=False, p_value=1.0, statistic=0.0, scores=np.zeros(self.weights.size))
        law = sum(spread * layer.covariance for spread, layer in zip(spreads, self.layers, strict=True))
        sums = sum(layer.sums[place] for layer in self.layers)
        errors = np.sqrt(np.einsum("ij,jk,ik->i", self.whitening, law, self.whitening))
        scores = np.divide(self.whitening @ sums, errors, out=np.zeros_like(errors), where=errors > 0)
        if not self.weights.size:  # one value alone
            return Difference(is_different=False, p_value=1.0, statistic=0.0, scores=scores)
        statistic = float(self._statistic(np.atleast_2d(sums), np.asarray(law))[0])
        p_value = self._chance(statistic, self.simulated[place])
        visible = self._visible(spreads)
        return Difference(is_different=False, p_value=p_value, statistic=statistic, scores=scores, visible=visible)

    def _statistic(self, sums: FloatArray, law: FloatArray) -> FloatArray:
        """Return weighted sums of squares, relative to their mean."""
        mean = float(np.einsum("i,ij,jk,ik->", self.weights, self.whitening, law, self.whitening))
        return ((sums @ self.whitening.T) ** 2) @ self.weights / max(mean, 1e-300)

    def _chance(self, statistic: float, sizes: tuple[int, ...]) -> float:
        """Return the p-value: the rank among simulated groups, or their tail."""
        if sizes not in self.laws:
            self.laws[sizes] = self._simulate(sizes)
        drawn = self.laws[sizes]
        beyond = drawn.size - int(np.searchsorted(drawn, statistic * (1 - 1e-9)))
        ranked = (1 + beyond) / (1 + drawn.size)
        if beyond or drawn.size >= self._enough:
            return ranked
        # Beyond 50 simulated groups the tail is taken for exponential; that of a sum of squares falls faster.
        tail = drawn[-50:]
        excess = float((tail - tail[0]).mean())
        beyond_tail = tail.size / drawn.size * math.exp(-(statistic - float(tail[0])) / excess) if excess > 0 else 1.0
        return min(ranked, beyond_tail)

    @property
    def _enough(self) -> int:
        """Number of simulated groups that tells the smallest p-value that can matter."""
        return max(FEWEST, math.ceil(RESOLUTION * self.groups / self.level))

    def _simulate(self, sizes: tuple[int, ...]) -> FloatArray:
        drawn = sum(size for size in sizes if size < LARGE)
        budget = min(MOST_DRAWN, ALL_DRAWN // len(set(self.simulated)))
        number = min(self._enough, max(FEWEST, budget // max(drawn, self.weights.size)))
        sums = sum(layer.draw(size, number, self.generator) for layer, size in zip(self.layers, sizes, strict=True))
        law = sum(layer.spread(size) * layer.covariance for layer, size in zip(self.layers, sizes, strict=True))
        return np.sort(self._statistic(np.asarray(sums), np.asarray(law)))

    def _visible(self, spreads: Sequence[float]) -> float | None:
        """Return the shift of the mean that the test would have seen.

        Along the first direction, where tilts move both.
        """
        slope = self.layers[0].directions.slope
        told = sum(spread * layer.covariance[0, 0] for spread, layer in zip(spreads, self.layers, strict=True))
        if slope is None or not told > 0:
            return None
        # 0.8: probability with which a difference that `visible` names would have shown.
        needed = NormalDist().inv_cdf(1 - self.level / (2 * self.groups)) + NormalDist().inv_cdf(0.8)
        return needed * slope / math.sqrt(told)


def _rounded(size: int) -> int:
    """Return a size, rounded down: smaller groups have heavier tails.

    >>> _rounded(7), _rounded(300), _rounded(310)
    (7, 284, 284)
    """
    # Up to 20 reports each size is simulated by itself; beyond, sizes that differ by less than the ratio together.
    few, ratio = 20, 1.15
    if size <= few:
        return size
    return min(size, LARGE, math.floor(few * ratio ** math.floor(math.log(size / few, ratio))))


def _whitening(covariance: FloatArray) -> FloatArray:
    """Return a lower triangular W with W C W' = 1.

    Directions that those before them determine have rows of zeros.
    """
    size = covariance.shape[0]
    whitening = np.zeros((size, size))
    for place in range(size):
        row = np.eye(size)[place]
        row = row - (whitening @ covariance[:, place]) @ whitening
        left = float(row @ covariance @ row)
        # 1e-9: the part of a direction's variance that the ones before must leave for it to count.
        if left > 1e-9 * max(float(covariance[place, place]), 1e-300):
            whitening[place] = row / math.sqrt(left)
    return whitening


def _layers(pools: Mapping[GroupKey, Sequence[Part]], apart: Collection[GroupKey] = ()) -> list[_Layer]:
    """Lay out each mechanism's reports by score.

    Groups apart are scored, but nothing is drawn from them.
    """
    members: dict[Mechanism, dict[int, Counts]] = {}
    for place, pool in enumerate(pools.values()):
        for counts, mechanism in pool:
            groups = members.setdefault(mechanism, {})
            groups[place] = groups[place] + counts if place in groups else counts
    everybody = {mechanism: merge(groups.values()) for mechanism, groups in members.items()}
    alphabet = next(iter(everybody)).alphabet
    part = None if alphabet.is_finite else likely_subset_of(everybody).alphabet
    values = alphabet if part is None else part
    directions = Directions.over(values, _everybody(everybody, part, values.size))
    away = {place for place, key in enumerate(pools) if key in apart}
    layers = [_layer(mechanism, groups, part, directions, (len(pools), away)) for mechanism, groups in members.items()]
    return [layer for layer in layers if layer is not None]


def _everybody(everybody: Mapping[Mechanism, Counts], part: Alphabet | None, size: int) -> FloatArray:
    """Return about the distribution of all people.

    It is uniform where bit vectors are too many to store.
    """
    # 50_000_000: entries of a matrix, distinct reports times values, up to which the distribution of all people is
    # looked for.
    if max(counts.reports.shape[0] for counts in everybody.values()) * size > 50_000_000:
        return uniform(size)
    pooled = Evidence.pool([observe_weighted(mechanism, counts, part) for mechanism, counts in everybody.items()])
    # 50: EM steps to the distribution of all people, which only decides where the test looks: p-values are right for
    # any.
    *_, last = islice(EM(RowStack.of(pooled), uniform(size)), 50)
    return last.distribution(0)


def _layer(
    mechanism: Mechanism,
    groups: Mapping[int, Counts],
    part: Alphabet | None,
    directions: Directions,
    rest: tuple[int, set[int]],
) -> _Layer | None:
    """Score the reports of one mechanism.

    Groups that share a channel are scored at once.
    """
    number, apart = rest
    blocks: dict[int, tuple[Channel, FloatArray, FloatArray]] = {}  # with the channel, so that its id stays its own
    sums, sizes = np.zeros((number, directions.weights.size)), np.zeros(number)
    for place, own in groups.items():
        evidence = observe_weighted(mechanism, own, part)
        channel = evidence.channel
        if id(channel) not in blocks:
            blocks[id(channel)] = channel, directions.scores(channel), np.zeros(channel.shape[1])
        _, scores, counts = blocks[id(channel)]
        reported = evidence.counts
        if own.squares is not None:
            # Weighted reports are as many as the direction with the heaviest ones leaves.
            centred = scores - reported @ scores / reported.sum()
            alone, weighted = reported @ centred**2, evidence.quadratic(centred.T)
            heaviest = float(np.divide(weighted, alone, out=np.ones_like(alone), where=alone > 0).max())
            reported = reported / max(1.0, heaviest)
        if place not in apart:
            counts += reported
        sums[place], sizes[place] = reported @ scores, reported.sum()
    every = np.concatenate([scores for _, scores, _ in blocks.values()])
    counts = np.concatenate([counts for _, _, counts in blocks.values()])
    if not counts.sum() > 0:  # nobody to compare with went through this mechanism
        return None
    mean, seen = counts @ every / counts.sum(), counts > 0
    return _Layer((every - mean)[seen], counts[seen], sums - sizes[:, None] * mean, sizes, directions)
