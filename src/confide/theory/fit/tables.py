"""Reports in cells, and their best explanation: what the test of fit looks at."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from confide.channels import Channel, ColumnStack
from confide.channels.base import FloatArray
from confide.counts import Counts
from confide.evidence import Evidence
from confide.mechanisms import Mechanism
from confide.methods import MLE
from confide.theory.fit.cells import LARGEST_TESTED, CellTable
from confide.theory.likely_subsets import likely_subset_of

LOUD = (0.1, 4.0, 4.5)
"""Screening: p-value of G2, score for epsilon and residual beyond which replicates are drawn.

Of surveys on the ages in which all is well 10 to 15 % are beyond; 1.2 epsilon gives a score of 5.5 on average where it
is least visible (exponential, 0.05 per year)."""

TOLERANCE = 0.03
"""The certificate of each maximum in nats; G2 has a spread of twelve and more, and supports no longer change."""

WEIGHTS = (0.4, 0.3, 0.15, 0.15)
"""Division of the level among G2, epsilon, and residuals up and down."""

Group = tuple[Counts, Mechanism]


@dataclass(frozen=True, eq=False)
class Tables:
    """The tables of a pool over one alphabet.

    Attributes
    ----------
    parts
        One table for each mechanism.
    known
        The maximum of the likelihood of the reports, where somebody has it already.
    near
        The same where some cells are of several outputs: the maximum over cells is a little higher.
    """

    parts: tuple[CellTable, ...]
    known: FloatArray | None = None
    near: FloatArray | None = None

    @classmethod
    def of(cls, groups: Sequence[Group], known: FloatArray | None = None) -> Tables:
        """List the outputs of every mechanism; where values are unbounded, over the likely ones of all groups."""
        values = None
        if not groups[0][1].alphabet.is_finite:
            merged: dict[Mechanism, Counts] = {}
            for counts, mechanism in groups:
                merged[mechanism] = merged[mechanism] + counts if mechanism in merged else counts
            values = likely_subset_of(merged).alphabet
        is_alone = len(groups) == 1
        parts = tuple(CellTable.of(*group, values, is_alone=is_alone) for group in groups)
        # Over other values, or over blocks of values, it would have to be found anew.
        is_usable = values is None and all(part.mechanism == pair[1] for part, pair in zip(parts, groups, strict=True))
        if known is None or not is_usable or any(part.layout.has_blocks for part in parts):
            return cls(parts)
        return cls(parts, near=known) if any(part.layout.is_merged for part in parts) else cls(parts, known)

    @cached_property
    def channel(self) -> Channel:
        """P(cell | value), the parts side by side."""
        channels = tuple(part.channel for part in self.parts)
        return channels[0] if len(channels) == 1 else ColumnStack(channels)

    @property
    def has_floors_alone(self) -> bool:
        """Whether all that can be tested is that no cell falls below a floor: randomized response.

        Then G2 given its support is a chi-squared at most, whoever the people are, and no replicates are needed.
        """
        return self.parts[0].layout.has_blocks

    @cached_property
    def counts(self) -> FloatArray:
        """Reports per cell."""
        return np.concatenate([part.counts for part in self.parts])

    @cached_property
    def people(self) -> FloatArray:
        """Number of reports of the part that each cell is of."""
        return np.repeat([part.total for part in self.parts], [part.counts.size for part in self.parts])

    @cached_property
    def ends(self) -> list[int]:
        """First cell of each part, and the end of the last one."""
        return [0, *np.cumsum([part.counts.size for part in self.parts]).tolist()]

    @property
    def spans(self) -> Iterator[tuple[int, int, CellTable]]:
        """First cell and end of each part, with the part."""
        return zip(self.ends[:-1], self.ends[1:], self.parts, strict=True)

    def part_of(self, cell: int) -> tuple[int, int]:
        """Return where the cells of the part begin and end that a cell is of."""
        number = int(np.searchsorted(self.ends, cell, side="right")) - 1
        return self.ends[number], self.ends[number + 1]

    @cached_property
    def first(self) -> Look:
        """The reports against their best explanation."""
        if self.known is not None:
            return Look(self, self.counts, self.known, self.channel)
        return self.looks(self.counts[None])[0]

    def is_louder_than(self, p_value: float) -> bool:
        """Whether one of the statistics is such that replicates are worth their time; see :attr:`LOUD`."""
        if self.near is not None and not Look(self, self.counts, self.near, self.channel).is_louder_than(p_value):
            return False
        return self.first.is_louder_than(p_value)

    def looks(self, rows: FloatArray) -> list[Look]:
        """Lay each row of counts against its best explanation; the rows are solved side by side."""
        found = self.parts[0].layout.closed_form(rows) if len(self.parts) == 1 else None
        if found is None:
            solutions = MLE(TOLERANCE, time_limit=60.0).solve_many(Evidence(self.channel, rows[0]), rows)
            found = np.array([one.distribution for one in solutions])
        return [Look(self, row, theta, self.channel) for row, theta in zip(rows, found, strict=True)]

    def generator(self, seed: int) -> np.random.Generator:
        """Return a generator of these reports' own.

        The same reports always get the same p-value; but were all surveys to share the luck of a hundred replicates,
        the size of the test would be off by it, by two points of five.
        """
        return np.random.default_rng([seed, zlib.crc32(self.counts.tobytes())])

    def replicates(self, expected: FloatArray, number: int, generator: np.random.Generator) -> FloatArray:
        """Draw the reports of every part anew from expected counts, as many as there were, a number of times."""
        drawn = []
        for start, end, part in self.spans:
            shares = expected[start:end] / expected[start:end].sum()
            drawn.append(generator.multinomial(max(1, round(part.total)), shares, size=number))
        return np.concatenate(drawn, axis=1).astype(np.float64)

    def label(self, cell: int) -> str:
        """Return what a cell of any part is called."""
        number = self.ends.index(self.part_of(cell)[0])
        return self.parts[number].layout.label(cell - self.ends[number])


@dataclass(frozen=True, eq=False)
class Look:
    """Counts against their best explanation.

    Attributes
    ----------
    tables, counts
        What was explained.
    theta
        The maximum of the likelihood.
    channel
        P(cell | value) under which it is; that of the tables, or one at another epsilon.
    """

    tables: Tables
    counts: FloatArray
    theta: FloatArray
    channel: Channel

    @cached_property
    def expected(self) -> FloatArray:
        """The counts that the maximum expects."""
        return np.maximum(self.tables.people * self.channel.push(self.theta), 1e-300)

    @cached_property
    def deviances(self) -> FloatArray:
        """The part of each cell in G2."""
        return deviances_of(self.counts, self.expected)

    @cached_property
    def statistic(self) -> float:
        """The likelihood ratio G2."""
        return float(self.deviances.sum())

    @cached_property
    def _basis(self) -> FloatArray:
        """An orthonormal basis of what the explanation can take up: its support, and the total of each part."""
        tables, root = self.tables, np.sqrt(self.expected)
        support = np.flatnonzero(self.theta > 0.01 / self.counts.sum())
        if support.size == 0:  # spread over a hundred times as many values as there are people: none stands out
            support = np.flatnonzero(self.theta > 0)
        if support.size > 4 * root.size:  # far more values than cells: all there is can be taken up
            return np.eye(root.size)
        # Few rows at a time: a channel may have many more outputs than there are cells.
        few = max(1, LARGEST_TESTED // max(part.cells.size for part in tables.parts))
        taken = [self.channel.select(support[start : start + few]) for start in range(0, support.size, few)]
        rows = [np.concatenate(taken) * (tables.people / root)]
        if len(tables.parts) > 1:
            for start, end, _ in tables.spans:
                rows.append(np.where((np.arange(root.size) >= start) & (np.arange(root.size) < end), root, 0.0)[None])
        every = np.concatenate(rows)
        sizes, turned = np.linalg.eigh(every @ every.T)  # a quarter of the time of a singular value decomposition
        is_seen = sizes > 1e-14 * sizes[-1]
        # Where rows are nearly alike, squares have lost the right angles.
        return np.asarray(np.linalg.qr(every.T @ (turned[:, is_seen] / np.sqrt(sizes[is_seen])))[0])

    @cached_property
    def rank(self) -> int:
        """Number of directions that the explanation can take up."""
        return int(self._basis.shape[1])

    @cached_property
    def degrees(self) -> float:
        """The expected G2: one for each cell, less in cells that are hardly ever reported, less the rank."""
        return max(0.0, float(deviance_moments(self.expected)[0].sum()) - self.rank)

    @cached_property
    def p_value(self) -> float:
        """P(G2 is larger), given the support."""
        return float(tail_of_ratio(np.array(self.statistic), self.expected, self.rank))

    @cached_property
    def residuals(self) -> FloatArray:
        """Signed roots of the deviances, studentized."""
        leverage = np.maximum(1 - (self._basis**2).sum(axis=1), 0.05)
        signed: FloatArray = np.sign(self.counts - self.expected) * np.sqrt(self.deviances / leverage)
        return signed

    @cached_property
    def scores(self) -> FloatArray:
        """The score for a larger epsilon, one for each part that has one, in units of its spread given the support."""
        tables, root = self.tables, np.sqrt(self.expected)
        centred, found = (self.counts - self.expected) / root, []
        for start, end, part in tables.spans:
            if part.layout.neighbours is not None:
                change = np.zeros_like(root)
                larger, smaller = (channel.push(self.theta) for channel in part.layout.neighbours)
                change[start:end] = part.total * (larger - smaller)
                found.append(float(self._visible(change / root) @ centred))
        return np.array(found)

    def _visible(self, direction: FloatArray) -> FloatArray:
        """Return what the support cannot take up of a direction, of length one; nothing where it takes up all."""
        visible: FloatArray = direction - self._basis @ (self._basis.T @ direction)
        length = float(np.linalg.norm(visible))
        return visible / length if length > 1e-6 * np.linalg.norm(direction) else np.zeros_like(visible)

    def is_louder_than(self, p_value: float) -> bool:
        """Whether a statistic is beyond :data:`LOUD`, with another p-value; none is where all is taken up."""
        if self.rank >= self.counts.size:
            return False
        if self.p_value < p_value or self.tables.has_floors_alone:
            return self.p_value < p_value
        # On Manhattan good surveys have scores of 3.3 to 4.4 on average.
        score = max(LOUD[1], 0.37 * math.sqrt(self.degrees))
        return bool(np.abs(self.scores).max(initial=0.0) > score or np.abs(self.residuals).max() > LOUD[2])

    @property
    def row(self) -> FloatArray:
        """All statistics: p-value of G2, largest residuals up and down, scores."""
        return np.array([self.p_value, self.residuals.max(), -self.residuals.min(), *self.scores])


def solve(channel: Channel, counts: FloatArray) -> FloatArray:
    """Return the maximum of the likelihood."""
    return MLE(TOLERANCE, time_limit=60.0).solve(Evidence(channel, counts)).distribution


def bounds_of(rows: FloatArray, among: FloatArray, room: float = 1.0) -> FloatArray:
    """Return the weighted Bonferroni bound of each row of statistics, with the mean and the spread of others."""
    from scipy.special import stdtr

    spread = np.maximum(among.std(axis=0, ddof=1), 0.25) * room
    distance = (rows - among.mean(axis=0)) / spread
    bounds = [rows[:, 0] / WEIGHTS[0]]
    if rows.shape[1] > 3:
        chances = 2 * stdtr(len(among) - 1, -np.abs(distance[:, 3:]))
        bounds.append(chances.min(axis=1) * chances.shape[1] / WEIGHTS[1])
    # A largest residual is the maximum of many: Gumbel's tail, with the mean and the spread of the replicates.
    tails = -np.expm1(-np.exp(-np.clip(math.pi / math.sqrt(6) * distance[:, 1:3] + np.euler_gamma, -20, 700)))
    bounds += [tails[:, 0] / WEIGHTS[2], tails[:, 1] / WEIGHTS[3]]
    least: FloatArray = np.min(bounds, axis=0)
    return least


def deviances_of(counts: FloatArray, expected: FloatArray) -> FloatArray:
    """Return what each cell adds to G2; their sum is the likelihood ratio, for both counts have the same total."""
    ratio = np.divide(counts, expected, out=np.ones_like(counts), where=counts > 0)
    terms: FloatArray = 2 * (counts * np.log(ratio) - counts + expected)
    return np.maximum(terms, 0.0)


def tail_of_ratio(ratio: FloatArray, expected: FloatArray, rank: int) -> FloatArray:
    """Return P(G2 is larger), one for each row: a gamma with the mean and variance of Poisson deviances.

    Each direction that the explanation takes up leaves one of them less, and a variance of two less.
    """
    from scipy.special import gammaincc

    means, variances = deviance_moments(expected)
    mean = means.sum(axis=-1) - rank
    safe = np.maximum(mean, 0.5)
    variance = np.maximum(variances.sum(axis=-1) - 2 * rank, safe)
    tail: FloatArray = np.where(mean < 0.5, 1.0, gammaincc(safe**2 / variance, ratio * safe / variance))
    return tail


def deviance_moments(expected: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return mean and variance of the deviance of a Poisson count: nearly 1 and 2 unless few are expected."""
    grid, means, variances = _deviance_table()
    logs = np.log(np.maximum(expected, grid[0]))
    small = expected < grid[0]
    mean = np.interp(logs, np.log(grid), means)
    variance = np.interp(logs, np.log(grid), variances)
    return np.where(small, 0.0, mean), np.where(small, 0.0, variance)


@cache
def _deviance_table() -> tuple[FloatArray, FloatArray, FloatArray]:
    from scipy.special import gammaln, xlogy

    grid = np.logspace(-4, 2, 61)
    counts = np.arange(200.0)[:, None]
    weights = np.exp(xlogy(counts, grid) - grid - gammaln(counts + 1))
    terms = 2 * (xlogy(counts, counts / grid) - counts + grid)
    means = (weights * terms).sum(axis=0)
    return grid, means, (weights * terms**2).sum(axis=0) - means**2
