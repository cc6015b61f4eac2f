"""Base classes of mechanisms on a plane: noise, clamped or unbounded."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from confide.channels import Channel, Dense, Embedded
from confide.errors import InvalidParameterError
from confide.evidence.counts import Counts
from confide.evidence.evidence import Evidence
from confide.mechanisms.base import (
    Facts,
    Mechanism,
    MetricMechanism,
    Premise,
    UnboundedMechanism,
    merge_weights,
    require_finite,
    require_tabled,
    settle_epsilon,
)
from confide.mechanisms.sampling import Bits
from confide.values import Alphabet, Grid, Indices, Lattice, Plane, unbounded

LARGEST_DENSE = 700
"""Most cells for which a stored matrix is faster than a structured product."""


class PlaneMechanism(MetricMechanism):
    """A mechanism on cells with epsilon per unit of Euclidean distance.

    This is geo-indistinguishability.
    """

    alphabet: Grid | Lattice
    _takes_coordinates: ClassVar[bool] = False

    def __post_init__(self) -> None:
        given: object = self.alphabet
        geometry, name = given.geometry if isinstance(given, Alphabet) else None, type(self).__name__
        if geometry is None or geometry.dimensions != 2 or not geometry.is_whole:
            raise InvalidParameterError(f"{name} needs cells of a plane, Grid(rows, columns); got {self.alphabet!r}.")
        if self.alphabet.bounds is not None and not self.alphabet.is_finite and not self._takes_coordinates:
            raise InvalidParameterError(
                f"{name} needs cells, and coordinates have none. Use PlanarLaplace, or Places with a cell size."
            )
        if self.alphabet.is_finite and self.alphabet.size < 2:
            raise InvalidParameterError(f"{name} needs at least two cells; got {self.alphabet!r}. Add some.")
        settle_epsilon(self, self.alphabet.spacing)

    @abstractmethod
    def _noise(self, count: int, bits: Bits) -> tuple[Indices, Indices]:
        """Draw displacements in rows and columns."""


class TruncatedPlaneMechanism(PlaneMechanism):
    """Noise on a plane, moved to the nearest output (default: the alphabet).

    Noise is clamped to a box around alphabet and outputs. A cell of the box that is not an output, such as a hole, is
    reported as the nearest output. Both steps are post-processing, so the promise stays.
    """

    alphabet: Grid
    outputs: Grid | None

    def __post_init__(self) -> None:
        super().__post_init__()
        name, outputs = type(self).__name__, cast("object", self.outputs)
        require_finite(self.alphabet, name)
        if min(self.alphabet.shape) < 2:  # a grid of one row or column is a line
            raise InvalidParameterError(
                f"{name} needs at least two rows and two columns; got {self.alphabet!r}. For one line use "
                f"Integers(low, high)."
            )
        if outputs is None:
            return
        if not isinstance(outputs, Alphabet) or outputs.grid is None or outputs.spacing != self.alphabet.spacing:
            raise InvalidParameterError(
                f"Outputs must be a Grid with the spacing of the alphabet, {self.alphabet.spacing:g}; got {outputs!r}."
            )
        if (outputs.locate(self.alphabet.decode(np.arange(self.alphabet.size))) < 0).all():
            raise InvalidParameterError(
                f"The outputs {outputs!r} miss the alphabet {self.alphabet!r} altogether. Choose others that overlap."
            )

    @property
    def report_alphabet(self) -> Grid:
        return self.alphabet if self.outputs is None else self.outputs

    @property
    def facts(self) -> Facts:
        """See :attr:`Mechanism.facts`; shared by all clamped noise on a plane."""
        return Facts(is_positive=True, premise=Premise.COORDINATES)

    @property
    def reports_every_value(self) -> bool:
        """Whether outputs are a full box with all values, as lemmas require."""
        values, outputs = self.alphabet, self.report_alphabet
        if outputs.holes:
            return False
        if hull(outputs, values) == outputs:  # the usual case, without checking a million cells
            return True
        return bool(values.holes) and bool(outputs.contains(values.decode(np.arange(values.size))).all())

    @property
    def tables(self) -> dict[str, list[Any]]:
        """See :attr:`Mechanism.tables`; the output number of each cell of the box."""
        require_tabled(self, 0 if self._is_plain else self._box.size)
        return {} if self._is_plain else {"nearest": self._remap.tolist()}

    def peaks(self, counts: Counts) -> NDArray[np.float64]:
        """See :meth:`Mechanism.peaks`.

        An output that replaces neighbouring holes is likely from all of them.
        """
        return self._cells_reported(counts)[0].astype(np.float64)

    def observe_within(self, counts: Counts, part: Alphabet) -> Evidence:
        """See :meth:`Mechanism.observe_within`; uses a window around part and reports.

        Noise is clamped to the window, so its rim collects what lies beyond. The window therefore includes one more row
        or column where the box continues, which has no reports.
        """
        if part.grid is None:
            return super().observe_within(counts, part)
        cells, numbers = self._cells_reported(counts)
        # The box of the part and the reports, one wider where the mechanism's own box continues.
        box, corner = self._box, np.array([part.grid.first_row, part.grid.first_column])
        start = np.array([box.first_row, box.first_column])
        first = np.maximum(np.minimum(cells.min(axis=0), corner) - 1, start)
        last = np.minimum(np.maximum(cells.max(axis=0), corner + part.grid.shape - 1) + 1, start + box.shape - 1)
        rows, columns = (last - first + 1).tolist()
        window = box.window(int(first[0]), int(first[1]), rows, columns)
        channel = self._box_channel(window.shape)
        if window.size <= LARGEST_DENSE:
            channel = Dense(channel.dense(), channel.layout)
        remap = np.full(window.size, -1, dtype=np.int64)
        remap[window.encode(cells)] = numbers
        values = window.encode(part.decode(np.arange(part.size)))
        return Evidence(Embedded(channel, values, remap, counts.counts.size), counts.counts)

    def _cells_reported(self, counts: Counts) -> tuple[NDArray[np.int64], Indices]:
        """Return the box cells behind the reports seen, and their report numbers."""
        self.refuse_strays(counts)
        if self._is_plain:
            return counts.reports.astype(np.int64), np.arange(counts.counts.size)
        number_of = np.full(self.report_alphabet.size, -1, dtype=np.int64)
        number_of[self.report_alphabet.locate(counts.reports)] = np.arange(counts.counts.size)
        numbers = number_of[self._remap]
        seen = np.flatnonzero(numbers >= 0)
        return self._box.decode(seen), numbers[seen]

    @property
    def _is_plain(self) -> bool:
        """Whether values and outputs are the same, without holes."""
        return self.alphabet == self.report_alphabet and not self.alphabet.holes

    @cached_property
    def channel(self) -> Channel:
        channel = self._box_channel(self._box.shape)
        if self._box.size <= LARGEST_DENSE:
            channel = Dense(channel.dense(), channel.layout)
        if self._is_plain:
            return channel
        embedded = Embedded(channel, self._values, self._remap, self.report_alphabet.size)
        return Dense(embedded.dense(), embedded.layout) if self._box.size <= LARGEST_DENSE else embedded

    def weights(self, index: int) -> Sequence[int]:
        row, column = divmod(int(self._values[index]), self._box.columns)
        return merge_weights(self._remap, self._box_weights(row, column), self.report_alphabet.size)

    @abstractmethod
    def _box_channel(self, shape: tuple[int, int]) -> Channel:
        """Return the channel of noise clamped to a box."""

    @abstractmethod
    def _box_weights(self, row: int, column: int) -> list[int]:
        """Return the exact weights of clamped noise, from one cell."""

    @cached_property
    def _box(self) -> Grid:
        """The smallest grid without holes around alphabet and outputs."""
        return hull(self.alphabet, self.report_alphabet)

    @cached_property
    def _values(self) -> Indices:
        """Places of the values in the box."""
        return self._box.encode(self.alphabet.decode(np.arange(self.alphabet.size)))

    @cached_property
    def _remap(self) -> Indices:
        """Output number that each cell of the box is reported as."""
        return nearest_cells(self._box, self.report_alphabet)

    def _draw(self, indices: Indices, bits: Bits) -> Indices:
        # If values and outputs are the whole box, no array over all its cells is needed.
        places = indices if self._is_plain else self._values[indices]
        rows, columns = self._moved(*np.divmod(places, self._box.columns), bits)
        cells: Indices = rows * self._box.columns + columns
        return cells if self._is_plain else self._remap[cells]

    def _moved(self, rows: Indices, columns: Indices, bits: Bits) -> tuple[Indices, Indices]:
        """Return rows and columns of the box after noise."""
        down, along = self._noise(rows.size, bits)
        return np.clip(rows + down, 0, self._box.rows - 1), np.clip(columns + along, 0, self._box.columns - 1)


class UnboundedPlaneMechanism(UnboundedMechanism, PlaneMechanism):
    """Noise on a plane with unbounded reports.

    Reports are cells of the lattice unless a subclass overrides that. P(report | value) does not depend on which other
    values exist.
    """

    _kin: ClassVar[Any]
    """The same noise, clamped to a grid."""

    @property
    def report_alphabet(self) -> Lattice | Plane:
        return Lattice(self.alphabet.spacing, self.alphabet.unit)

    @abstractmethod
    def _evidence(self, counts: Counts, cells: Alphabet) -> Evidence:
        """Return counts with the probabilities of their reports under some cells."""

    def observe(self, counts: Counts) -> Evidence:
        if self.alphabet.grid is None:
            raise unbounded(self.alphabet)
        self.refuse_strays(counts)
        return self._evidence(counts, self.alphabet.grid)

    def observe_within(self, counts: Counts, part: Alphabet) -> Evidence:
        if self.alphabet.bounds is not None and not self.alphabet.is_finite:  # coordinates, without any cells
            raise unbounded(self.alphabet)
        if part.grid is not None:
            own: Mechanism = replace(self, alphabet=part.grid)  # type: ignore[type-var]  # it is a dataclass
            return own.observe(counts)
        if part.selected_from is None:
            return super().observe_within(counts, part)
        self.refuse_strays(counts)
        return self._evidence(counts, part)

    def _truncated(self, outputs: Alphabet | None) -> Mechanism | None:
        if self.alphabet.grid is None or (outputs is not None and outputs.grid is None):
            return None
        found: Mechanism = self._kin(self.alphabet.grid, self.epsilon, None if outputs is None else outputs.grid)
        return found

    def _report(self, indices: Indices, bits: Bits) -> NDArray[Any]:
        reports: NDArray[Any] = self.alphabet.decode(indices) + np.stack(self._noise(indices.size, bits), axis=-1)
        return reports


def shaded(rate: Fraction) -> float:
    """Return the rate for tables of weights, slightly below the promise.

    Table entries are float64 numbers with relative errors below 1e-13. Lowering the rate by one part in 10^9, and by
    10^-12 more, leaves every pair of cells more room than that, so the rounded weights keep the promise exactly.
    """
    return float(rate) * (1 - 1e-9) - 1e-12


def nearest_cells(box: Grid, outputs: Grid) -> Indices:
    """Return the nearest output's number for each cell of a box.

    Of equally near outputs, the lowest number. It uses whole numbers only: the table is part of a survey's document and
    must not depend on a library's rounding.
    """
    numbers = outputs.locate(box.decode(np.arange(box.size))).reshape(box.shape)
    if (numbers >= 0).all():
        return numbers.reshape(-1)
    is_wide = box.columns > box.rows  # the second pass takes the square of the columns' number
    numbers = numbers.T if is_wide else numbers
    rows, columns = numbers.shape
    # For each cell: the last output passed along its column, from above and from below, and how many rows ago. Before
    # the first output: -1, and a distance larger than any.
    sides = np.empty((2, 2, rows, columns), dtype=np.int64)
    for side, step in zip(sides, (1, -1), strict=True):
        last = np.array([[-1], [rows + columns]]) + np.zeros(columns, dtype=np.int64)
        for row, own in zip(range(rows)[::step], numbers[::step], strict=True):
            side[:, row] = last = np.where(own >= 0, [own, np.zeros_like(own)], last + np.array([[0], [1]]))
    above, below = sides
    # Numbers grow downwards, so of equally far outputs the one above has the lower number.
    named, steps = np.where(above[1] <= below[1], above, below)
    found, across, farthest = numbers.copy(), np.arange(columns), rows + columns
    for row in np.flatnonzero((numbers < 0).any(axis=1)).tolist():
        missing = np.flatnonzero(numbers[row] < 0)
        squares = (missing[:, None] - across) ** 2 + np.where(named[row] < 0, farthest, steps[row]) ** 2
        is_nearest = squares == squares.min(axis=1, keepdims=True)
        found[row, missing] = np.where(is_nearest, named[row], numbers.size).min(axis=1)
    return (found.T if is_wide else found).reshape(-1)


def hull(*parts: Grid) -> Grid:
    """Return the smallest grid without holes that contains all these grids."""
    first = min(part.first_row for part in parts), min(part.first_column for part in parts)
    rows = max(part.first_row + part.rows for part in parts) - first[0]
    columns = max(part.first_column + part.columns for part in parts) - first[1]
    one = parts[0]
    if (one.first_row, one.first_column, *one.shape) == (*first, rows, columns):
        return one.box  # keeps the class, such as cells on the Earth
    return one.window(*first, rows, columns)
