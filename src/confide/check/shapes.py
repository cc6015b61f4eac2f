"""Test declared shapes against reports, and learn widths from past data.

The statistic is twice the fall of the log-likelihood from its maximum over all distributions to that over the
distributions of the shape. On the border of a shape it has no known law, so replicates are drawn from the best
distribution of the shape (parametric bootstrap), and solved both ways side by side. Strong noise hides much: a test
that finds nothing says little, so its power against plain breaks of the shape is part of the answer.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from confide.channels import Dense, Mixture
from confide.channels.base import FloatArray
from confide.check.answers import CHANCE, LEVEL, SURE, FitVerdict, Power, rarity
from confide.check.cells import CellTable, draw_again
from confide.check.fit import ROUNDS, has_bits
from confide.errors import InvalidParameterError
from confide.evidence.counts import Counts
from confide.evidence.evidence import Evidence
from confide.evidence.shapes import Shape
from confide.mechanisms import Mechanism
from confide.solve.methods import MLE
from confide.solve.methods.shaped import in_mixture
from confide.values import Alphabet, LineGeometry
from confide.values.checks import as_floats, require_kinds
from confide.values.wording import label_value, listed

SHAPE_IN_DOUBT = "These answers assume the shape, and the reports contradict it."
"""Remark beside intervals under a shape that the reports speak against."""

AFTERWARDS = (
    "chosen afterwards, not declared in the survey: intervals are valid only if nobody looked at the reports first"
)
"""Remark beside a shape that comes from an option."""

DRAWN, FEW_DRAWN = 19, 5
"""Surveys with a break that its power is measured on; fewer where each is solved by itself."""


NEAR, MOST_NEAR = 5.0, 8
"""Of several sets of mixtures, nats below the best and number of those that replicates are solved on.

Others could only bring the best of the shape nearer, so that the test errs to the side of the shape.
"""

ROUGHLY = MLE(tolerance=0.02, time_limit=60.0)


@dataclass(frozen=True)
class ShapeFit:
    """Fit of a shape: whether reports speak against it.

    Attributes
    ----------
    shape
        The shape.
    verdict
        Fits, fits poorly, does not fit, or cannot be tested here: nothing speaks against it, and little could.
    p_value
        How often reports of the best distribution of the shape speak as loudly against it.
    fall
        Nats by which that distribution explains the reports less well than the best one of any shape.
    replicates
        How many the p-value rests on.
    sights
        What the test would have seen; none for a bad fit.
    obstacle
        Why nothing can be tested, where that is so.
    """

    shape: Shape
    verdict: FitVerdict
    p_value: float = 1.0
    fall: float = 0.0
    replicates: int = 0
    sights: tuple[Power, ...] = ()
    obstacle: str = ""

    @property
    def is_bad(self) -> bool:
        """Whether the reports speak against the shape."""
        return self.verdict.is_bad

    @property
    def headline(self) -> str:
        """The verdict in one sentence."""
        said = "declared shape" if self.shape.is_declared else "shape"
        if self.verdict is FitVerdict.DOES_NOT_FIT:
            return f"These reports do not come from the {said} {self.shape}: it is wrong."
        if self.verdict is FitVerdict.FITS_POORLY:
            return f"These reports speak against the {said} {self.shape}."
        if self.obstacle:
            return f"The {said} {self.shape} cannot be tested here."
        if self.verdict is FitVerdict.FITS:
            return f"These reports are consistent with the {said} {self.shape} (p = {self.p_value:.2g})."
        return f"Nothing speaks against the {said} {self.shape} (p = {self.p_value:.2g}), but the test is weak here."

    @property
    def details(self) -> tuple[str, ...]:
        """Sentences after the headline: how bad, or what would have shown."""
        if self.is_bad:
            worse = (
                f"The log-likelihood of its best distribution is {self.fall:.1f} nats below that of any shape. If the "
                f"shape is right, that happens by chance in {rarity(self.p_value)} surveys."
            )
            chance = (CHANCE,) if self.verdict is FitVerdict.FITS_POORLY else ()
            return (worse, *chance, SHAPE_IN_DOUBT)
        if self.obstacle:
            return (self.obstacle,)
        if not self.sights:
            return ()
        told = listed([f"in {one.power:.0%} of surveys with {one.alternative}" for one in self.sights])
        return (f"A wrong shape would show {told}.",)

    def __str__(self) -> str:
        return " ".join([self.headline, *self.details])


def examine_shape(
    groups: Sequence[tuple[Counts, Mechanism]], shape: Shape, mixtures: Sequence[Mixture]
) -> ShapeExamination:
    """Lay the reports of a pool out to test a shape.

    >>> import confide as cf
    >>> mechanism, shape = cf.TruncatedGeometric(cf.Integers(0, 19), epsilon=1.0), Shape.of("falling")
    >>> counts = cf.tally(mechanism.privatize([15] * 2000, rng=1))
    >>> examine_shape([(counts, mechanism)], shape, shape.mixtures(mechanism.alphabet)).test().is_bad
    True
    """
    alphabet, parts, obstacle = groups[0][1].alphabet, list[Evidence](), ""
    if any(has_bits(mechanism) for _, mechanism in groups):
        obstacle = "Reports that are bit vectors are too many to list, so that none are drawn anew."
        return ShapeExamination(alphabet, shape, (), tuple(mixtures), obstacle)
    try:
        # The channels have all outputs, so that reports can be drawn anew.
        for group in groups:
            table = CellTable.of(*group, None, is_alone=False)
            parts.append(Evidence(table.layout.channel, table.counts))
    except InvalidParameterError as error:
        parts, obstacle = [], str(error)
    return ShapeExamination(alphabet, shape, tuple(parts), tuple(mixtures), obstacle)


@dataclass(frozen=True, eq=False)
class ShapeExamination:
    """Best of a shape against best of all.

    For the reports, and for replicates of them.
    """

    alphabet: Alphabet
    shape: Shape
    parts: tuple[Evidence, ...]
    mixtures: tuple[Mixture, ...]
    obstacle: str = ""

    @cached_property
    def _free(self) -> Evidence:
        return Evidence.pool(self.parts)

    @cached_property
    def _best(self) -> tuple[FloatArray, list[Mixture]]:
        """Best distribution of the shape, and the mixtures near it."""
        found = []
        for mixture in self.mixtures:
            evidence = in_mixture(self.parts, mixture)
            shares = ROUGHLY.solve(evidence).distribution
            found.append((evidence.log_likelihood(shares), mixture, shares))
        highest = max(one[0] for one in found)
        near = sorted((one for one in found if one[0] >= highest - NEAR), key=lambda one: -one[0])
        step = -(-len(near) // MOST_NEAR)
        return near[0][1].spread(near[0][2]), [one[1] for one in near[::step]]

    def falls(self, rows: FloatArray) -> FloatArray:
        """Return how many nats the best of the shape loses."""
        shaped = np.max([_highest(in_mixture(self.parts, mixture), rows) for mixture in self._best[1]], axis=0)
        falls: FloatArray = np.maximum(_highest(self._free, rows) - shaped, 0.0)
        return falls

    def draw(self, theta: FloatArray, number: int, generator: np.random.Generator) -> FloatArray:
        """Draw the reports of every part anew from a distribution."""
        weights = [(part.total, np.maximum(part.channel.push(theta), 0.0)) for part in self.parts]
        return draw_again(weights, number, generator)

    @cached_property
    def fall(self) -> float:
        """Nats between the best of the shape and of all."""
        return float(self.falls(self._free.counts[None])[0])

    @property
    def is_loud(self) -> bool:
        """Whether replicates are worth their time.

        One constraint alone gives a fall of 1.35 in one of twenty cases.
        """
        # 1.0: nats below which no replicates are drawn for a warning.
        return not self.obstacle and self.fall > 1.0

    @cached_property
    def _is_small(self) -> bool:
        """Whether replicates are solved side by side."""
        # 512: values and outputs up to which replicates are solved side by side; beyond, forty are the most.
        return max(self._free.channel.shape) <= 512

    def test(self, seed: int = 0) -> ShapeFit:
        """Draw replicates, and see how far the reports stand out."""
        if self.obstacle:
            return ShapeFit(self.shape, FitVerdict.CANNOT_BE_TESTED, obstacle=self.obstacle)
        # Luck of their own for these reports: shared by all surveys, that of the replicates would move the size.
        theta = self._best[0]
        generator = np.random.default_rng([seed, zlib.crc32(self._free.counts.tobytes())])
        fall, falls = self.fall, np.empty(0)
        for number in ROUNDS if self._is_small else ROUNDS[:2]:
            falls = np.append(falls, self.falls(self.draw(theta, number - falls.size, generator)))
            p_value = _chance_of(fall, falls)
            # 0.25: the p-value from which on a round of replicates is the last.
            if p_value >= 0.25:
                break
        if p_value <= LEVEL:
            verdict = FitVerdict.DOES_NOT_FIT if p_value < SURE else FitVerdict.FITS_POORLY
            return ShapeFit(self.shape, verdict, p_value, fall, falls.size)
        sights = self._sights(theta, falls, generator)
        verdict = FitVerdict.FITS if sights[0].is_seen else FitVerdict.CANNOT_BE_TESTED
        return ShapeFit(self.shape, verdict, p_value, fall, falls.size, sights)

    def _sights(self, theta: FloatArray, falls: FloatArray, generator: np.random.Generator) -> tuple[Power, ...]:
        """Return how probably plain breaks would show: heaps on one value."""
        loud = float(np.quantile(falls, 1 - LEVEL, method="higher"))
        place, sights = self._break_at(theta), []
        label = label_value(self.alphabet.decode(np.array([place])).tolist()[0])
        # (0.05, 0.2): share of all people who stand on one value in the breaks that power is told for.
        for share in (0.05, 0.2):
            heaped = (1 - share) * theta
            heaped[place] += share
            drawn = self.draw(heaped, DRAWN if self._is_small else FEW_DRAWN, generator)
            power = float((self.falls(drawn) > loud).mean())
            sights.append(Power(f"{share:.0%} of all people on {label} alone", power))
        return tuple(sights)

    def _break_at(self, theta: FloatArray) -> int:
        """Return the value at which a heap breaks the shape."""
        outside = np.flatnonzero(np.sum([one.spread(np.ones(one.count)) for one in self.mixtures], axis=0) == 0)
        if outside.size and not self.shape.is_order and self.shape.term("smooth") is None:
            return int(outside[outside.size // 2])
        inside = np.setdiff1d(np.arange(theta.size), outside)
        for kind in ("falling", "convex", "rising"):
            term = self.shape.term(kind)
            if term is not None and term.where is not None and isinstance(self.alphabet.geometry, LineGeometry):
                where = int(self.alphabet.encode([term.where])[0])
                part = inside[inside <= where] if kind == "rising" else inside[inside >= where]
                return int(part[part.size // 2])
        if self.shape.is_order:  # the midst is where such a shape may well have its peak
            return int(np.searchsorted(np.cumsum(theta), 0.9))
        return int(np.searchsorted(np.cumsum(theta), 0.5))


def _highest(evidence: Evidence, rows: FloatArray) -> FloatArray:
    """Return the highest log-likelihood of each row of counts, without its constant."""
    solved = np.array([one.distribution for one in ROUGHLY.solve_many(evidence, rows)])
    outputs = np.maximum(evidence.channel.push(solved), 1e-300)
    return np.asarray((rows * np.log(outputs)).sum(axis=1))


def _chance_of(fall: float, falls: FloatArray) -> float:
    """Return the rank of a fall among replicates.

    Beyond all of them, by a gamma distribution of their mean and spread.
    """
    from scipy.special import gammaincc

    rank = (1 + int(np.count_nonzero(falls >= fall))) / (falls.size + 1)
    if rank > 1 / (falls.size + 1):
        return rank
    mean, variance = float(falls.mean()), max(float(falls.var(ddof=1)), 0.05)
    tail = float(gammaincc(max(mean, 0.05) ** 2 / variance, fall * max(mean, 0.05) / variance))
    return min(rank, tail)


def bring(distribution: FloatArray, shape: Shape, alphabet: Alphabet) -> FloatArray:
    """Return the distribution of a shape that is nearest to another.

    Nearest by Kullback-Leibler divergence.

    >>> from confide import Integers
    >>> bring(np.array([0.2, 0.4, 0.4]), Shape.of("falling"), Integers(0, 2)).round(3)
    array([0.333, 0.333, 0.333])
    """
    support = shape.support(alphabet)
    kept = support.spread(support.gather(distribution))
    if not kept.sum() > 0:
        raise InvalidParameterError(f"By the shape {shape} nobody has any of the values that this distribution has.")
    # 1e4: people whose nats the nearest distribution of a shape is found to.
    evidence, found = Evidence(Dense(np.eye(alphabet.size)), 1e4 * kept / kept.sum()), []
    for mixture in shape.mixtures(alphabet):
        mixed = evidence.mixed(mixture)
        shares = ROUGHLY.solve(mixed).distribution
        found.append((mixed.log_likelihood(shares), mixture.spread(shares)))
    return max(found, key=lambda pair: pair[0])[1]


def smoothness_of(histogram: ArrayLike, alphabet: Alphabet, *, error: float = 0.01) -> float:
    """Return the width for ``smooth = ...`` that past data allow.

    It is the largest width whose mixtures still show the shares of the data.

    A mixture of bumps is fitted to past values for one width after another. The answer is the last width at which every
    share of the kind "at most x" (on a grid, of every box from its first cell) is within `error` of what it was, and
    what chance alone adds for so many people, 1 / sqrt(people). It is in the unit of distances; 0 where even the
    narrowest bumps miss.

    Parameters
    ----------
    histogram
        How many people had each value: past data without noise, such as a census or an older survey.
    alphabet
        The values.
    error
        How far a share may be off: 0.01 for one percentage point.

    Examples
    --------
    >>> import confide as cf
    >>> ages = cf.datasets.adult_ages()
    >>> cf.check.smoothness_of(ages.histogram, ages.alphabet)
    4.0
    """
    require_kinds(smoothness_of, locals())
    counts = as_floats("histogram", histogram)
    if counts.shape != (alphabet.size,) or not (counts >= 0).all() or not counts.sum() > 0:
        raise InvalidParameterError(
            f"A histogram has one count of people for each of the {alphabet.size:,} values, and some people; got "
            f"shape {counts.shape}."
        )
    evidence, widest = Evidence(Dense(np.eye(alphabet.size)), counts), 0.0
    allowed, spacing = error + 1 / np.sqrt(counts.sum()), float(getattr(alphabet, "spacing", 1.0))
    # Widths of bumps to try, in steps of the values.
    for steps in (0.5, 0.7, 1.0, 1.4, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 12.0, 15.0, 20.0, 30.0, 50.0):
        mixture = Shape.of(f"smooth = {steps * spacing}").mixtures(alphabet)[0]
        shares = ROUGHLY.solve(evidence.mixed(mixture)).distribution
        if _distance(mixture.spread(shares) - evidence.frequencies, alphabet) > allowed:
            break
        widest = steps * spacing
    return widest


def _distance(differences: FloatArray, alphabet: Alphabet) -> float:
    """Return the largest difference of a share "at most x".

    On a grid, of a box from the first cell.
    """
    if alphabet.grid is not None:
        boxes = np.nan_to_num(alphabet.grid.picture(differences)).cumsum(axis=0).cumsum(axis=1)
        return float(np.abs(boxes).max())
    return float(np.abs(np.cumsum(differences)).max())
