"""Outputs of a mechanism in cells, with counts and fitted probabilities."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from typing import Any

import numpy as np

from confide.channels import Channel, ColumnStack, Dense, Embedded
from confide.channels.base import FloatArray, Indices
from confide.errors import InvalidCountsError, InvalidParameterError
from confide.evidence.counts import Counts, add_up
from confide.evidence.evidence import Evidence
from confide.mechanisms import Mechanism, truncated
from confide.mechanisms.base import by_mechanism
from confide.solve.methods import MLE
from confide.theory.likely_subsets import likely_subset_of
from confide.values import Alphabet, Grid, LineGeometry, PlaneGeometry

LARGEST_QUICK, LARGEST_TESTED = 500_000, 5_000_000
"""Values times cells: outputs are merged down to the first (well under a second); past the second nothing is tested."""


@dataclass(frozen=True, eq=False)
class CellLayout:
    """The outputs of a mechanism in cells; neighbours may share one.

    Attributes
    ----------
    mechanism
        The mechanism, or its truncated kin: raw noise is rounded to cells.
    cells, size
        The cell of each output (-1 for outputs that no value can produce), and the number of cells.
    has_blocks
        Whether values are merged as their outputs are: under randomized response, values of one cell have one law.
    """

    mechanism: Mechanism
    cells: Indices
    size: int
    has_blocks: bool = False

    @cached_property
    def is_merged(self) -> bool:
        """Whether some outputs share a cell, or have none."""
        return not np.array_equal(self.cells, np.arange(self.cells.size))

    @cached_property
    def channel(self) -> Channel:
        """P(cell | value)."""
        return self.merged(self.mechanism.channel)

    def merged(self, channel: Channel, *, is_stored: bool = True) -> Channel:
        """Return a channel over outputs as one over cells."""
        if not self.is_merged:
            return channel
        if self.has_blocks and channel.keep_and_other is not None:
            keep, other = channel.keep_and_other
            return Dense(np.diag(np.full(self.size, keep - other)) + other * self.members)
        merged = Embedded(channel, np.arange(channel.shape[0]), self.cells, self.size)
        is_small = math.prod(channel.shape) <= LARGEST_TESTED
        return Dense(merged.dense(), merged.layout) if is_stored and is_small else merged

    @cached_property
    def members(self) -> FloatArray:
        """Number of outputs in each cell."""
        return np.bincount(self.cells[self.cells >= 0], minlength=self.size).astype(np.float64)

    @cached_property
    def neighbours(self) -> tuple[Channel, Channel] | None:
        """The channels at a slightly larger and smaller epsilon, if any."""
        # The score is differenced over 5 % of epsilon on each side. Each channel is asked for one product, so that
        # nothing is gained by storing a matrix.
        larger, smaller = self.at(1.05, is_stored=False), self.at(0.95, is_stored=False)
        return None if larger is None or smaller is None else (larger, smaller)

    def at(self, factor: float, *, is_stored: bool = True) -> Channel | None:
        """Return the channel at a multiple of epsilon; `None` if unavailable."""
        changed = scaled(self.mechanism, factor)
        # Where outputs depend on epsilon, as under the square wave, reports at another one have other cells.
        if changed is None or changed.report_alphabet != self.mechanism.report_alphabet:
            return None
        return self.merged(changed.channel, is_stored=is_stored)

    def label(self, cell: int) -> str:
        """Return the label of a cell."""
        members = np.flatnonzero(self.cells == cell)
        first, last = self.mechanism.report_alphabet.labels(members[[0, -1]])
        return first if members.size == 1 else f"{first} to {last}"


# Many groups share a layout, and an estimate is often made again; a merged matrix may take 40 MB.
@lru_cache(maxsize=4)
def _layout(mechanism: Mechanism, most: int, *, is_alone: bool) -> CellLayout:
    """List the reachable outputs, and merge neighbours into few enough cells."""
    size = mechanism.alphabet.size
    has_blocks = is_alone and mechanism.channel.keep_and_other is not None
    # 16 cells are kept apart however few reports there are.
    most = most if has_blocks else max(16, min(most, LARGEST_QUICK // size))
    pairs = mechanism.report_alphabet.attributes if mechanism.facts.supports is not None else None
    if pairs is None:
        cells = _merge_neighbours(mechanism.report_alphabet, most, is_ordered=not has_blocks)
    else:  # seeds and buckets: each seed has few reports, and one is like another
        seeds, buckets = pairs.split(np.arange(pairs.size))
        cells = seeds // math.ceil(pairs.size / most) * pairs.shape[1] + buckets
    if mechanism.facts.is_positive and not has_blocks:
        # Every cell is reachable, so that no channel need be made for nothing.
        _refuse_too_many(size, np.unique(cells).size)
    reachable = mechanism.channel.push(np.full(size, 1.0 / size)) > 0
    kept, numbers = np.unique(cells[reachable], return_inverse=True)
    cells = np.full(cells.size, -1)
    cells[reachable] = numbers
    _refuse_too_many(kept.size if has_blocks else size, kept.size)
    return CellLayout(mechanism, cells, kept.size, has_blocks)


@dataclass(frozen=True, eq=False)
class CellTable:
    """The reports of one mechanism, counted per cell and per output."""

    layout: CellLayout
    counts: FloatArray
    per_output: FloatArray

    @classmethod
    def of(cls, counts: Counts, mechanism: Mechanism, values: Alphabet | None, *, is_alone: bool) -> CellTable:
        """Count the reports of each cell; raise if outputs cannot be listed."""
        total = counts.total
        if not total > 0:
            raise InvalidCountsError("There are no reports to test; give at least one.")
        if mechanism.facts.supports is not None and not mechanism.has_channel:
            raise InvalidParameterError("Too many different reports are possible, and each is rare.")
        if not mechanism.has_channel:
            counts, mechanism = _round_to_cells(counts, mechanism, values)
        if mechanism.report_alphabet.size > LARGEST_TESTED:  # before any array over all of them is made
            raise InvalidParameterError(f"{mechanism.report_alphabet.size:,} outputs are too many to test.")
        if mechanism.facts.is_positive:
            mechanism.refuse_strays(counts)
        most = min(1000, int(total // 2))  # with a thousand cells a maximum takes milliseconds
        if is_alone and (response := mechanism.channel.keep_and_other) is not None:
            # A cell whose value nobody has gets 20 reports; with 10, the size of the test may reach 15 %. Values are
            # merged with their outputs, and lose nothing.
            most = max(1, min(256, int(total * response[1] * mechanism.alphabet.size / 20)))
        layout = _layout(mechanism, most, is_alone=is_alone)
        per_output, reachable = mechanism.observe(counts).counts, layout.cells >= 0
        summed = np.bincount(layout.cells[reachable], per_output[reachable], layout.size).astype(np.float64)
        return cls(layout, summed, per_output[reachable])

    @cached_property
    def total(self) -> float:
        """Number of reports."""
        return float(self.counts.sum())


def _refuse_too_many(size: int, cells: int) -> None:
    if size * cells > LARGEST_TESTED:
        raise InvalidParameterError(f"{size:,} values times {cells:,} cells are too many to test.")


def _round_to_cells(counts: Counts, mechanism: Mechanism, values: Alphabet | None) -> tuple[Counts, Mechanism]:
    """Round unbounded reports to cells, as the truncated mechanism would."""
    alphabet = mechanism.alphabet if values is None else _box(values)
    guarantee: Any = mechanism.guarantee
    # Two scales of the noise beyond the values; the ends collect the rest.
    margin = max(1, math.ceil(2 / (guarantee.epsilon * getattr(alphabet, "spacing", 1.0))))
    outputs: Alphabet
    if isinstance(alphabet.geometry, LineGeometry):
        low, high = alphabet.span
        outputs = alphabet.between(low - margin, high + margin)
        rounded = np.clip(np.rint(counts.reports), low - margin, high + margin).astype(np.int64)
    elif (grid := alphabet.grid) is not None:
        rows, columns = grid.rows + 2 * margin, grid.columns + 2 * margin
        first_row, first_column = grid.first_row - margin, grid.first_column - margin
        # Places are cells of the Earth, with rows of their own: reports beyond them are plain cells.
        outputs = Grid(rows, columns, grid.spacing, grid.unit, (), first_row, first_column)
        corner = np.array([first_row, first_column])
        rounded = np.clip(np.rint(counts.reports), corner, corner + np.array([rows - 1, columns - 1])).astype(np.int64)
    else:
        raise InvalidParameterError(f"{alphabet!r} has no cells.")
    # On a line noise takes linear time, however long the line is.
    if alphabet.grid is not None and alphabet.size * outputs.size > 10 * LARGEST_TESTED:
        raise InvalidParameterError(f"{alphabet.size:,} values times {outputs.size:,} cells are too many to test.")
    return add_up(rounded, counts.counts), truncated(replace(mechanism, alphabet=alphabet), outputs)  # type: ignore[type-var]


def _box(values: Alphabet) -> Alphabet:
    """Return the range or box that contains some values."""
    whole = values.selected_from
    if whole is None:
        return values
    places = values.coordinates
    low, high = places.min(axis=0).astype(int).tolist(), places.max(axis=0).astype(int).tolist()
    if isinstance(whole.geometry, LineGeometry):
        return whole.between(low[0], high[0])
    rows, columns = high[0] - low[0] + 1, high[1] - low[1] + 1
    return Grid(rows, columns, whole.spacing, whole.unit, first_row=low[0], first_column=low[1])


def _merge_neighbours(outputs: Alphabet, most: int, *, is_ordered: bool) -> Indices:
    """Return the block of each output, at most about `most` blocks.

    Where order means nothing to the mechanism, categories are merged too.
    """
    if outputs.size <= most or (is_ordered and not isinstance(outputs.geometry, LineGeometry | PlaneGeometry)):
        return np.arange(outputs.size)
    if outputs.grid is None:
        width = math.ceil(outputs.size / most)
        # Under randomized response no block may be smaller than the others.
        return np.minimum(np.arange(outputs.size) // width, outputs.size if is_ordered else outputs.size // width - 1)
    side = math.ceil(math.sqrt(outputs.size / most))
    row, column = np.divmod(outputs.grid.places, outputs.grid.columns)
    blocks: Indices = row // side * outputs.grid.columns + column // side
    return blocks


@lru_cache(maxsize=64)  # kernels on a plane take a while to compute, and stay with the mechanism
def scaled(mechanism: Mechanism, factor: float) -> Mechanism | None:
    """Return a mechanism at a multiple of its epsilon; `None` if unavailable."""
    try:
        return mechanism.at(getattr(mechanism, "epsilon", math.nan) * factor)
    except InvalidParameterError:  # it has none, or goes no further
        return None


LOUD = (0.1, 4.0, 4.5)
"""Screening: p-value of G2, score for epsilon and residual beyond which replicates are drawn.

Of surveys on the ages in which all is well 10 to 15 % are beyond; 1.2 epsilon gives a score of 5.5 on average where it
is least visible (exponential, 0.05 per year)."""

TOLERANCE = 0.03
"""The certificate of each maximum in nats; G2 has a spread of twelve and more, and supports no longer change."""

WEIGHTS = (0.4, 0.3, 0.15, 0.15)
"""Division of the level among G2, epsilon, and residuals up and down."""

BOTS, HONEST, TWICE = 0.01, 0.05, 0.05
"""Share of bots that a tested survey must see; shares of true values and of duplicates, which it mostly cannot."""

FACTORS_TRIED = (1.2, 0.8)
"""Multiples of epsilon whose power is computed."""

Group = tuple[Counts, Mechanism]


@dataclass(frozen=True, eq=False)
class Tables:
    """The tables of a pool over one alphabet.

    Attributes
    ----------
    parts
        One table for each mechanism.
    known
        The maximum of the likelihood of the reports, if the caller has it.
    near
        The same if some cells merge outputs: the maximum over cells is a little higher.
    """

    parts: tuple[CellTable, ...]
    known: FloatArray | None = None
    near: FloatArray | None = None

    @classmethod
    def of(cls, groups: Sequence[Group], known: FloatArray | None = None) -> Tables:
        """List the outputs of every mechanism.

        If values are unbounded, the tables are over the likely values of all groups.
        """
        values = None
        if not groups[0][1].alphabet.is_finite:
            values = likely_subset_of(by_mechanism(groups)).alphabet
        is_alone = len(groups) == 1
        parts = tuple(CellTable.of(*group, values, is_alone=is_alone) for group in groups)
        # Over other values, or over blocks of values, it would have to be found anew.
        is_usable = values is None and all(
            part.layout.mechanism == pair[1] for part, pair in zip(parts, groups, strict=True)
        )
        if known is None or not is_usable or any(part.layout.has_blocks for part in parts):
            return cls(parts)
        return cls(parts, near=known) if any(part.layout.is_merged for part in parts) else cls(parts, known)

    @cached_property
    def channel(self) -> Channel:
        """P(cell | value), the parts side by side."""
        channels = tuple(part.layout.channel for part in self.parts)
        return channels[0] if len(channels) == 1 else ColumnStack(channels)

    @property
    def has_floors_alone(self) -> bool:
        """Whether only floors can be tested: randomized response.

        Then G2 given its support is at most chi-squared for every population, so no replicates are needed.
        """
        return self.parts[0].layout.has_blocks

    @cached_property
    def counts(self) -> FloatArray:
        """Reports per cell."""
        return np.concatenate([part.counts for part in self.parts])

    @cached_property
    def people(self) -> FloatArray:
        """Number of reports of each cell's part."""
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
        """Return the first cell and the end of a cell's part."""
        number = int(np.searchsorted(self.ends, cell, side="right")) - 1
        return self.ends[number], self.ends[number + 1]

    @cached_property
    def first(self) -> Statistics:
        """The reports against their best explanation."""
        if self.known is not None:
            return Statistics(self, self.counts, self.known, self.channel)
        return self.statistics_of(self.counts[None])[0]

    def is_louder_than(self, p_value: float) -> bool:
        """Whether a statistic makes replicates worth their time; see :attr:`LOUD`."""
        if self.near is not None and not Statistics(self, self.counts, self.near, self.channel).is_louder_than(p_value):
            return False
        return self.first.is_louder_than(p_value)

    def statistics_of(self, rows: FloatArray) -> list[Statistics]:
        """Fit each row of counts; the rows are solved side by side."""
        from confide.solve.maximum import fill_water  # scipy's linear algebra takes a while to import

        layout = self.parts[0].layout
        response = layout.mechanism.channel.keep_and_other if layout.has_blocks else None
        if response is not None:  # blocks are those of one mechanism alone
            found = [fill_water(row / row.sum(), *response, layout.members) for row in rows]
        else:
            solutions = MLE(TOLERANCE, time_limit=60.0).solve_many(Evidence(self.channel, rows[0]), rows)
            found = [one.distribution for one in solutions]
        return [Statistics(self, row, theta, self.channel) for row, theta in zip(rows, found, strict=True)]

    def generator(self, seed: int) -> np.random.Generator:
        """Return a generator seeded by these reports.

        The same reports always get the same p-value. If all surveys shared their replicates, the size of the test would
        be off by their luck: two points of five.
        """
        return np.random.default_rng([seed, zlib.crc32(self.counts.tobytes())])

    def replicates(self, expected: FloatArray, number: int, generator: np.random.Generator) -> FloatArray:
        """Draw the reports of every part from expected counts, several times."""
        return draw_again([(part.total, expected[start:end]) for start, end, part in self.spans], number, generator)

    def label(self, cell: int) -> str:
        """Return the label of a cell of any part."""
        number = self.ends.index(self.part_of(cell)[0])
        return self.parts[number].layout.label(cell - self.ends[number])


@dataclass(frozen=True, eq=False)
class Statistics:
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
        """Orthonormal basis of what the fit can absorb.

        It is spanned by the rows of the support and the total of each part.
        """
        tables, root = self.tables, np.sqrt(self.expected)
        support = np.flatnonzero(self.theta > 0.01 / self.counts.sum())
        if support.size == 0:  # spread over a hundred times as many values as there are people: none stands out
            support = np.flatnonzero(self.theta > 0)
        if support.size > 4 * root.size:  # far more values than cells: all there is can be taken up
            return np.eye(root.size)
        # Few rows at a time: a channel may have many more outputs than there are cells.
        few = max(1, LARGEST_TESTED // max(part.layout.cells.size for part in tables.parts))
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
        """Number of directions that the fit can absorb."""
        return int(self._basis.shape[1])

    @cached_property
    def degrees(self) -> float:
        """The expected G2: about one per cell, less the rank."""
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
        """The standardized score for a larger epsilon, one for each part."""
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
        """Return the unit direction that the support cannot absorb, or zero."""
        visible: FloatArray = direction - self._basis @ (self._basis.T @ direction)
        length = float(np.linalg.norm(visible))
        return visible / length if length > 1e-6 * np.linalg.norm(direction) else np.zeros_like(visible)

    def is_louder_than(self, p_value: float) -> bool:
        """Whether a statistic is beyond :data:`LOUD`, with another p-value."""
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


def draw_again(parts: Sequence[tuple[float, FloatArray]], number: int, generator: np.random.Generator) -> FloatArray:
    """Draw the reports of every part anew, several times."""
    drawn = [
        generator.multinomial(max(1, round(total)), weights / weights.sum(), size=number) for total, weights in parts
    ]
    return np.concatenate(drawn, axis=1).astype(np.float64)


def bounds_of(rows: FloatArray, among: FloatArray, room: float = 1.0) -> FloatArray:
    """Return the weighted Bonferroni bound of each row of statistics.

    Rows are standardized by the mean and spread of the rows `among`.
    """
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
    """Return each cell's part of G2.

    The sum is the likelihood ratio, because both counts have the same total.
    """
    ratio = np.divide(counts, expected, out=np.ones_like(counts), where=counts > 0)
    terms: FloatArray = 2 * (counts * np.log(ratio) - counts + expected)
    return np.maximum(terms, 0.0)


def tail_of_ratio(ratio: FloatArray, expected: FloatArray, rank: int) -> FloatArray:
    """Return P(G2 is larger) for each row, by a gamma distribution.

    It has the mean and variance of Poisson deviances. Each direction that the fit absorbs takes one from the mean and
    two from the variance.
    """
    from scipy.special import gammaincc

    means, variances = deviance_moments(expected)
    mean = means.sum(axis=-1) - rank
    safe = np.maximum(mean, 0.5)
    variance = np.maximum(variances.sum(axis=-1) - 2 * rank, safe)
    return np.where(mean < 0.5, 1.0, gammaincc(safe**2 / variance, ratio * safe / variance))


def deviance_moments(expected: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return mean and variance of a Poisson count's deviance.

    They are nearly 1 and 2 unless few are expected.
    """
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


def noncentral_power(level: float, degrees: float, noncentrality: float) -> float:
    """Return the power of a chi-squared test.

    >>> round(noncentral_power(0.05, 1, 7.849), 3)
    0.8
    """
    from scipy.special import chdtri, chndtr

    return 1 - float(chndtr(chdtri(degrees, level), degrees, noncentrality))
