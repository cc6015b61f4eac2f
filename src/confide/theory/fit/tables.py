"""Reports in cells, and their best explanation: what the test of fit looks at."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cache, cached_property, lru_cache
from typing import Any

import numpy as np

from confide.alphabets import Alphabet, Grid, Integers
from confide.channels import Channel, ColumnStack, Dense, Embedded
from confide.channels.base import FloatArray, Indices
from confide.counts import Counts, tally
from confide.errors import InvalidCountsError, InvalidParameterError
from confide.evidence import Evidence
from confide.mechanisms import Mechanism, truncated
from confide.methods import MLE
from confide.theory.likely_subsets import likely_subset_of
from confide.wording import label_value

LOUD = (0.1, 4.0, 4.5)
"""Screening: p-value of G2, score for epsilon and residual beyond which replicates are drawn.

Of surveys on the ages in which all is well 10 to 15 % are beyond; 1.2 epsilon gives a score of 5.5 on average where it
is least visible (exponential, 0.05 per year)."""

STEP = 0.05
"""The relative change of epsilon by which the score is differenced."""

MOST_CELLS = 1000
"""Outputs up to which each stands for itself; more are merged into blocks, so that a maximum takes milliseconds."""

FEWEST_CELLS = 16
"""Cells that are kept apart however few reports there are."""

LARGEST_QUICK, LARGEST_TESTED = 500_000, 5_000_000
"""Values times cells up to which a maximum takes well under a second; outputs are merged until it does;
and past which nothing is tested."""

TOLERANCE = 0.3
"""The certificate of each maximum in nats; G2 has a spread of twelve and more. A finer one changes no figure."""

Group = tuple[Counts, Mechanism]


@dataclass(frozen=True, eq=False)
class CellTable:
    """The reports of one mechanism in cells: its outputs, neighbours merged where there are too many.

    Attributes
    ----------
    mechanism
        The mechanism, or its truncated kin: raw noise is rounded to cells.
    counts, cells
        Reports per cell, and the cell of each output (-1 for outputs that no value can produce).
    """

    mechanism: Mechanism
    counts: FloatArray
    cells: Indices

    @classmethod
    def of(cls, counts: Counts, mechanism: Mechanism, values: Alphabet | None) -> CellTable:
        """List the outputs and count the reports of each cell; an error where the outputs cannot be listed."""
        total = counts.total
        if not total > 0:
            raise InvalidCountsError("There are no reports to test; give at least one.")
        if not mechanism.has_channel:
            counts, mechanism = _round_to_cells(counts, mechanism, values)
        size = mechanism.alphabet.size
        most = max(FEWEST_CELLS, min(MOST_CELLS, int(total // 2), LARGEST_QUICK // size))
        cells = _merge_neighbours(mechanism.report_alphabet, most)
        if mechanism.facts.is_positive:  # every cell is reachable, so that no channel need be made for nothing
            mechanism.refuse_strays(counts)
            _refuse_too_many(size, np.unique(cells).size)
        per_output = mechanism.observe(counts).counts
        reachable = mechanism.channel.push(np.full(size, 1.0 / size)) > 0
        cells = np.where(reachable, cells, -1)
        kept, numbers = np.unique(cells[reachable], return_inverse=True)
        cells[reachable] = numbers
        _refuse_too_many(size, kept.size)
        summed = np.bincount(cells[reachable], per_output[reachable], kept.size).astype(np.float64)
        return cls(mechanism, summed, cells)

    @cached_property
    def channel(self) -> Channel:
        """P(cell | value)."""
        return self.merged(self.mechanism.channel)

    def merged(self, channel: Channel, *, is_stored: bool = True) -> Channel:
        """Return a channel over outputs as one over cells."""
        size = self.counts.size
        if np.array_equal(self.cells, np.arange(size)):
            return channel
        merged = Embedded(channel, np.arange(channel.shape[0]), self.cells, size)
        is_small = math.prod(channel.shape) <= LARGEST_TESTED
        return Dense(merged.dense(), merged.layout) if is_stored and is_small else merged

    @cached_property
    def total(self) -> float:
        """Number of reports."""
        return float(self.counts.sum())

    @cached_property
    def neighbours(self) -> tuple[Channel, Channel] | None:
        """The channels at a slightly larger and a slightly smaller epsilon; None for a mechanism without one."""
        # Each is asked for one product, so that nothing is gained by storing a matrix.
        larger, smaller = self.at(1 + STEP, is_stored=False), self.at(1 - STEP, is_stored=False)
        return None if larger is None or smaller is None else (larger, smaller)

    def at(self, factor: float, *, is_stored: bool = True) -> Channel | None:
        """Return the channel at so many times the epsilon; None for a mechanism without one."""
        changed = scaled(self.mechanism, factor)
        # Where outputs depend on epsilon, as under the square wave, reports at another one have other cells.
        if changed is None or changed.report_alphabet != self.mechanism.report_alphabet:
            return None
        return self.merged(changed.channel, is_stored=is_stored)

    def label(self, cell: int) -> str:
        """Return what a cell is called."""
        members = np.flatnonzero(self.cells == cell)
        first, last = (name_of(self.mechanism.report_alphabet, int(number)) for number in members[[0, -1]])
        return first if members.size == 1 else f"{first} to {last}"


@dataclass(frozen=True, eq=False)
class Tables:
    """The tables of a pool over one alphabet."""

    parts: tuple[CellTable, ...]

    @classmethod
    def of(cls, groups: Sequence[Group]) -> Tables:
        """List the outputs of every mechanism; where values are unbounded, over the likely ones of all groups."""
        values = None
        if not groups[0][1].alphabet.is_finite:
            merged: dict[Mechanism, Counts] = {}
            for counts, mechanism in groups:
                merged[mechanism] = merged[mechanism] + counts if mechanism in merged else counts
            values = likely_subset_of(merged).alphabet
        return cls(tuple(CellTable.of(counts, mechanism, values) for counts, mechanism in groups))

    @cached_property
    def channel(self) -> Channel:
        """P(cell | value), the parts side by side."""
        channels = tuple(part.channel for part in self.parts)
        return channels[0] if len(channels) == 1 else ColumnStack(channels)

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
        return self.look(self.counts)

    def look(self, counts: FloatArray) -> Look:
        """Lay counts against their best explanation."""
        return Look(self, counts, solve(self.channel, counts), self.channel)

    def replicates(self, source: Look, number: int, generator: np.random.Generator) -> list[Look]:
        """Draw the reports of every part anew from an explanation, as many as there were, and explain them."""
        drawn = []
        for start, end, part in self.spans:
            shares = source.expected[start:end] / source.expected[start:end].sum()
            drawn.append(generator.multinomial(max(1, round(part.total)), shares, size=number))
        return [self.look(row.astype(np.float64)) for row in np.concatenate(drawn, axis=1)]

    def label(self, cell: int) -> str:
        """Return what a cell of any part is called."""
        number = self.ends.index(self.part_of(cell)[0])
        return self.parts[number].label(cell - self.ends[number])


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
        left, sizes, _ = np.linalg.svd(np.concatenate(rows).T, full_matrices=False)
        return np.asarray(left[:, sizes > 1e-9 * sizes[0]])

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
            if part.neighbours is not None:
                change = np.zeros_like(root)
                larger, smaller = (channel.push(self.theta) for channel in part.neighbours)
                change[start:end] = part.total * (larger - smaller)
                found.append(self._score(change / root, centred))
        return np.array(found)

    def _score(self, direction: FloatArray, centred: FloatArray) -> float:
        visible = direction - self._basis @ (self._basis.T @ direction)
        length = float(np.linalg.norm(visible))
        return float(visible @ centred) / length if length > 1e-6 * np.linalg.norm(direction) else 0.0

    @cached_property
    def is_loud(self) -> bool:
        """Whether one of the statistics is such that replicates are worth their time."""
        p_value, score, residual = LOUD
        score = max(score, 0.37 * math.sqrt(self.degrees))  # on Manhattan good surveys have 3.3 to 4.4 on average
        loudest = max(np.abs(self.scores).max(initial=0.0) / score, np.abs(self.residuals).max() / residual)
        return self.p_value < p_value or bool(loudest > 1)

    @property
    def row(self) -> FloatArray:
        """All statistics: p-value of G2, largest residuals up and down, scores."""
        return np.array([self.p_value, self.residuals.max(), -self.residuals.min(), *self.scores])


def solve(channel: Channel, counts: FloatArray) -> FloatArray:
    """Return the maximum of the likelihood."""
    return MLE(TOLERANCE, time_limit=60.0).solve(Evidence(channel, counts)).distribution


def _refuse_too_many(size: int, cells: int) -> None:
    if size * cells > LARGEST_TESTED:
        raise InvalidParameterError(f"{size:,} values times {cells:,} cells are too many to test.")


def _round_to_cells(counts: Counts, mechanism: Mechanism, values: Alphabet | None) -> tuple[Counts, Mechanism]:
    """Round unbounded reports to cells around the values: what the truncated mechanism would have reported."""
    alphabet = mechanism.alphabet if values is None else _box(values)
    guarantee: Any = mechanism.guarantee
    # Two scales of the noise beyond the values; the ends collect the rest.
    margin = max(1, math.ceil(2 / (guarantee.epsilon * getattr(alphabet, "spacing", 1.0))))
    if isinstance(alphabet, Integers):
        low, high = alphabet.span
        outputs: Integers | Grid = replace(alphabet, low=low - margin, high=high + margin)
        rounded = np.clip(np.rint(counts.reports), low - margin, high + margin).astype(np.int64)
    elif isinstance(alphabet, Grid):
        outputs = replace(
            alphabet,
            rows=alphabet.rows + 2 * margin,
            columns=alphabet.columns + 2 * margin,
            first_row=alphabet.first_row - margin,
            first_column=alphabet.first_column - margin,
            holes=(),
        )
        corner = np.array([outputs.first_row, outputs.first_column])
        rounded = np.clip(np.rint(counts.reports), corner, corner + outputs.shape - 1).astype(np.int64)
    else:
        raise InvalidParameterError(f"{alphabet!r} has no cells.")
    # On a line noise takes linear time, however long the line is.
    if isinstance(alphabet, Grid) and alphabet.size * outputs.size > 10 * LARGEST_TESTED:
        raise InvalidParameterError(f"{alphabet.size:,} values times {outputs.size:,} cells are too many to test.")
    return tally(rounded, counts.counts), truncated(replace(mechanism, alphabet=alphabet), outputs)  # type: ignore[type-var]


def _box(values: Alphabet) -> Alphabet:
    """Return the range or the box that holds some values."""
    if isinstance(values, Integers | Grid):
        return values
    whole, places = values.whole, values.coordinates  # type: ignore[attr-defined]
    low, high = places.min(axis=0).astype(int).tolist(), places.max(axis=0).astype(int).tolist()
    if isinstance(whole, Integers):
        return replace(whole, low=low[0], high=high[0])
    rows, columns = high[0] - low[0] + 1, high[1] - low[1] + 1
    return Grid(rows, columns, whole.spacing, whole.unit, first_row=low[0], first_column=low[1])


def _merge_neighbours(outputs: Alphabet, most: int) -> Indices:
    """Return the block of each output: at most about so many blocks of neighbours, or each output its own."""
    if outputs.size <= most or not isinstance(outputs, Integers | Grid):
        return np.arange(outputs.size)
    if isinstance(outputs, Integers):
        return np.arange(outputs.size) // math.ceil(outputs.size / most)
    side = math.ceil(math.sqrt(outputs.size / most))
    row, column = np.divmod(outputs.places, outputs.columns)
    blocks: Indices = row // side * outputs.columns + column // side
    return blocks


@lru_cache(maxsize=64)  # kernels on a plane take a while to compute, and stay with the mechanism
def scaled(mechanism: Mechanism, factor: float) -> Mechanism | None:
    """Return a mechanism at so many times its epsilon; None where it has none of its own."""
    if not is_dataclass(mechanism) or "epsilon" not in {one.name for one in fields(mechanism)}:
        return None
    try:
        return replace(mechanism, epsilon=mechanism.epsilon * factor)
    except InvalidParameterError:  # as far as this one goes
        return None


def name_of(alphabet: Alphabet, number: int) -> str:
    """Return what a value is called."""
    value = alphabet.decode([number])[0]
    return label_value(value.tolist() if isinstance(value, np.ndarray) else value)


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
