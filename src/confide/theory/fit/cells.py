"""Outputs of a mechanism in cells, and the reports counted in them."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from confide.alphabets import Alphabet, Grid, LineGeometry, PlaneGeometry
from confide.channels import Channel, Dense, Embedded
from confide.channels.base import FloatArray, Indices
from confide.counts import Counts, add_up
from confide.errors import InvalidCountsError, InvalidParameterError
from confide.mechanisms import Mechanism, truncated

STEP = 0.05
"""The relative change of epsilon by which the score is differenced."""

MOST_CELLS = 1000
"""Outputs up to which each stands for itself; more are merged into blocks, so that a maximum takes milliseconds."""

FEWEST_CELLS = 16
"""Cells that are kept apart however few reports there are."""

LARGEST_QUICK, LARGEST_TESTED = 500_000, 5_000_000
"""Values times cells up to which a maximum takes well under a second; outputs are merged until it does;
and past which nothing is tested."""

MOST_BLOCKS = 256
"""Outputs of randomized response up to which each stands for itself: values are merged with them, and lose nothing."""

FEWEST_EXPECTED = 20
"""Reports that a cell gets under randomized response if nobody has its value; with 10, size may reach 15 %."""


@dataclass(frozen=True, eq=False)
class CellLayout:
    """The outputs of a mechanism in cells: neighbours are merged where there are too many.

    Attributes
    ----------
    mechanism
        The mechanism, or its truncated kin: raw noise is rounded to cells.
    cells, size
        The cell of each output (-1 for outputs that no value can produce), and how many there are.
    has_blocks
        Whether values are merged as their own outputs are: under randomized response values of one cell have one law.
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

    def closed_form(self, rows: FloatArray) -> FloatArray | None:
        """Return the maximum for each row of counts where a formula has it: under randomized response."""
        from confide.solvers.maximum import fill_water  # scipy's linear algebra takes a while to import

        response = self.mechanism.channel.keep_and_other if self.has_blocks else None
        if response is None:
            return None
        return np.array([fill_water(row / row.sum(), *response, self.members) for row in rows])

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


# Many groups share a layout, and an estimate is often made again; a merged matrix may take 40 MB.
@lru_cache(maxsize=4)
def _layout(mechanism: Mechanism, most: int, *, is_alone: bool) -> CellLayout:
    """List the outputs that a value can produce, and merge neighbours until few enough cells are left."""
    size = mechanism.alphabet.size
    has_blocks = is_alone and mechanism.channel.keep_and_other is not None
    most = most if has_blocks else max(FEWEST_CELLS, min(most, LARGEST_QUICK // size))
    cells = _merge_neighbours(mechanism.report_alphabet, most, is_ordered=not has_blocks)
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
    """The reports of one mechanism in cells: a layout, the reports in each cell, and those of each reachable output."""

    layout: CellLayout
    counts: FloatArray
    per_output: FloatArray

    @classmethod
    def of(cls, counts: Counts, mechanism: Mechanism, values: Alphabet | None, *, is_alone: bool) -> CellTable:
        """List the outputs and count the reports of each cell; an error where the outputs cannot be listed."""
        total = counts.total
        if not total > 0:
            raise InvalidCountsError("There are no reports to test; give at least one.")
        if not mechanism.has_channel:
            counts, mechanism = _round_to_cells(counts, mechanism, values)
        if mechanism.report_alphabet.size > LARGEST_TESTED:  # before any array over all of them is made
            raise InvalidParameterError(f"{mechanism.report_alphabet.size:,} outputs are too many to test.")
        if mechanism.facts.is_positive:
            mechanism.refuse_strays(counts)
        layout = _layout(mechanism, _most_cells(mechanism, total, is_alone=is_alone), is_alone=is_alone)
        per_output, reachable = mechanism.observe(counts).counts, layout.cells >= 0
        summed = np.bincount(layout.cells[reachable], per_output[reachable], layout.size).astype(np.float64)
        return cls(layout, summed, per_output[reachable])

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism whose reports are counted."""
        return self.layout.mechanism

    @property
    def cells(self) -> Indices:
        """The cell of each output."""
        return self.layout.cells

    @property
    def channel(self) -> Channel:
        """P(cell | value)."""
        return self.layout.channel

    @cached_property
    def total(self) -> float:
        """Number of reports."""
        return float(self.counts.sum())


def _most_cells(mechanism: Mechanism, total: float, *, is_alone: bool) -> int:
    """Return how many cells so many reports are counted in, at most."""
    response = mechanism.channel.keep_and_other if is_alone else None
    if response is None:
        return max(FEWEST_CELLS, min(MOST_CELLS, int(total // 2)))
    return max(1, min(MOST_BLOCKS, int(total * response[1] * mechanism.alphabet.size / FEWEST_EXPECTED)))


def _refuse_too_many(size: int, cells: int) -> None:
    if size * cells > LARGEST_TESTED:
        raise InvalidParameterError(f"{size:,} values times {cells:,} cells are too many to test.")


def _round_to_cells(counts: Counts, mechanism: Mechanism, values: Alphabet | None) -> tuple[Counts, Mechanism]:
    """Round unbounded reports to cells around the values: what the truncated mechanism would have reported."""
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
        outputs = replace(grid, rows=rows, columns=columns, first_row=first_row, first_column=first_column, holes=())
        corner = np.array([first_row, first_column])
        rounded = np.clip(np.rint(counts.reports), corner, corner + np.array([rows - 1, columns - 1])).astype(np.int64)
    else:
        raise InvalidParameterError(f"{alphabet!r} has no cells.")
    # On a line noise takes linear time, however long the line is.
    if alphabet.grid is not None and alphabet.size * outputs.size > 10 * LARGEST_TESTED:
        raise InvalidParameterError(f"{alphabet.size:,} values times {outputs.size:,} cells are too many to test.")
    return add_up(rounded, counts.counts), truncated(replace(mechanism, alphabet=alphabet), outputs)  # type: ignore[type-var]


def _box(values: Alphabet) -> Alphabet:
    """Return the range or the box that holds some values."""
    whole, places = values.selected_from, values.coordinates
    if whole is None:
        return values
    low, high = places.min(axis=0).astype(int).tolist(), places.max(axis=0).astype(int).tolist()
    if isinstance(whole.geometry, LineGeometry):
        return whole.between(low[0], high[0])
    rows, columns = high[0] - low[0] + 1, high[1] - low[1] + 1
    return Grid(rows, columns, whole.spacing, whole.unit, first_row=low[0], first_column=low[1])


def _merge_neighbours(outputs: Alphabet, most: int, *, is_ordered: bool) -> Indices:
    """Return the block of each output: at most about so many blocks of neighbours, or each output its own.

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
    """Return a mechanism at so many times its epsilon; None where it has none of its own."""
    if not is_dataclass(mechanism) or "epsilon" not in {one.name for one in fields(mechanism)}:
        return None
    try:
        return replace(mechanism, epsilon=mechanism.epsilon * factor)
    except InvalidParameterError:  # as far as this one goes
        return None


def name_of(alphabet: Alphabet, number: int) -> str:
    """Return what a value is called."""
    return alphabet.labels([number])[0]
