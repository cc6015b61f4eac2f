"""Windows over each kind of alphabet: values in a row on a line, cells on a plane, single values without an order.

:mod:`confide.estimates.inference.division` chooses among them; here stands what they are made of and called.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from confide.channels.base import FloatArray
from confide.values import Alphabet, Grid, Indices, LineGeometry, RingGeometry
from confide.values.queries import Query
from confide.values.wording import counted

MOST_SINGLE = 20
"""Values without an order that stand by themselves; where there are more, the fullest do, and the others together."""


@dataclass(frozen=True, eq=False)
class Window:
    """A question for the share of some values: a text that can be asked, or a name where there is none, and weights."""

    question: str
    weights: FloatArray
    is_text: bool = True

    @property
    def query(self) -> Query:
        """What is asked: the text, where there is one."""
        return self.question if self.is_text else self.weights


@dataclass(frozen=True, eq=False)
class Mosaic:
    """Pieces that windows are made of: single values, or blocks of them where there are very many.

    Attributes
    ----------
    rows, columns
        The row and the column of the piece that each value is in; a line is one row. None where there is no order.
    pieces
        Where there is no order, the numbers of the values in each; those of the last may be many.
    """

    rows: Indices | None = None
    columns: Indices | None = None
    pieces: tuple[Indices, ...] = ()


class _LineWindows:
    """Values in a row."""

    is_line = True

    def __init__(self, alphabet: Alphabet, whole: Alphabet, name: str) -> None:
        self.alphabet, self.whole, self.name = alphabet, whole, name
        self.places = alphabet.coordinates[:, 0].astype(np.int64)

    def mosaic(self, distribution: FloatArray, most: int) -> Mosaic:
        order, step = np.argsort(self.places, kind="stable"), -(-distribution.size // most)
        columns = np.empty(order.size, dtype=np.int64)
        columns[order] = np.arange(order.size) // step
        return Mosaic(np.zeros_like(columns), columns)

    def join(self, places: Indices) -> Window:
        low, high = int(self.places[places].min()), int(self.places[places].max())
        inside = (self.places >= low) & (self.places <= high)
        return Window(self.whole.question(self.name, low, high), inside.astype(np.float64))

    def label(self, places: Indices) -> str:
        return self.whole.label_range(int(self.places[places].min()), int(self.places[places].max()))


class _CellWindows:
    """Districts of cells: boxes, and whatever neighbouring boxes are together."""

    is_line = False

    def __init__(self, grid: Grid) -> None:
        self.grid = grid
        self.rows, self.columns = grid.coordinates.astype(np.int64).T

    def mosaic(self, distribution: FloatArray, most: int) -> Mosaic:  # noqa: ARG002 (one contract)
        side = 1
        while -(-self.grid.rows // side) * -(-self.grid.columns // side) > most:
            side += 1
        return Mosaic((self.rows - self.grid.first_row) // side, (self.columns - self.grid.first_column) // side)

    def join(self, places: Indices) -> Window:
        rows, columns = self.rows[places], self.columns[places]
        top, left, bottom, right = int(rows.min()), int(columns.min()), int(rows.max()), int(columns.max())
        inside = (self.rows >= top) & (self.rows <= bottom) & (self.columns >= left) & (self.columns <= right)
        if inside.sum() == places.size:  # a box, which has a text that can be asked
            single = (top, left) == (bottom, right)
            question = f"cell == ({top}, {left})" if single else f"cell in ({top}, {left})..({bottom}, {right})"
            return Window(question, 1.0 * inside)
        weights = np.zeros(self.grid.size)
        weights[places] = 1.0
        return Window(self.label(places), weights, is_text=False)

    def label(self, places: Indices) -> str:
        """Return the size of a district and the cell of it that is nearest to its middle."""
        if places.size == 1:
            return self.grid.labels(places)[0]
        rows, columns = self.rows[places], self.columns[places]
        nearest = int(np.argmin((rows - rows.mean()) ** 2 + (columns - columns.mean()) ** 2))
        return f"{counted(places.size, 'cell')} around {self.grid.labels(places[nearest])[0]}"


class _SingleValues:
    """Values one by one, where they have no order."""

    is_line = False

    def __init__(self, alphabet: Alphabet, name: str) -> None:
        self.alphabet, self.name = alphabet, name

    def mosaic(self, distribution: FloatArray, most: int) -> Mosaic:  # noqa: ARG002 (one contract)
        every = np.arange(distribution.size)
        order = every if every.size <= MOST_SINGLE else np.argsort(-distribution, kind="stable")[: MOST_SINGLE - 1]
        rest = np.setdiff1d(every, order)
        single = tuple(order[place : place + 1] for place in range(order.size))
        return Mosaic(pieces=(*single, rest) if rest.size else single)

    def join(self, places: Indices) -> Window:
        weights = np.zeros(self.alphabet.size)
        weights[places] = 1.0
        name = self.label(places)
        return Window(f"{self.name} == {name}" if places.size == 1 else name, weights, is_text=False)

    def label(self, places: Indices) -> str:
        if places.size > 1:
            return f"{counted(places.size, 'other')} together"
        return self.alphabet.labels(places)[0]


WindowKind = _LineWindows | _CellWindows | _SingleValues
"""Windows over one kind of alphabet.

is_line
    Whether values lie in a row.
mosaic(distribution, most)
    Single values, or blocks of them where there are more than so many.
join(places), label(places)
    The window of the values with these numbers, which were grown together, and the same in few letters.
"""


def windows_over(alphabet: Alphabet, name: str | None = None) -> WindowKind:
    """Return the windows over an alphabet.

    >>> from confide import Integers
    >>> windows_over(Integers(0, 3), "age").join([1, 2]).question
    'age in 1..2'
    """
    word = name if name is not None and name.isidentifier() else "value"
    whole = alphabet.selected_from or alphabet
    # Windows in a ring end where it is cut, between its last value and its first.
    if isinstance(whole.geometry, LineGeometry | RingGeometry):
        return _LineWindows(alphabet, whole, word)
    return _SingleValues(alphabet, word) if alphabet.grid is None else _CellWindows(alphabet.grid)
