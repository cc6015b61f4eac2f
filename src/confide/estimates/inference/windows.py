"""Windows, the shares that people ask for, and the narrowest ones of one width whose shares reports tell.

A window is some values in a row on a line, a square of cells on a plane, and a single value where values have no
order. Its share is *told* if both ends of its interval lie within the stated error of the estimate, and within half of
what the fullest window of that width holds: five points more or less say nothing of windows that hold two. The
intervals are those of :class:`confide.Likelihood`, which believe nothing of the truth, and so is the resolution.

Not all windows get an interval, which takes a few maxima of the likelihood. Replicates of the best explanation say of
every window how much its share varies; intervals decide on those that vary most. Widths are halved until one is not
told, and bisected from there.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TypeVar

import numpy as np

from confide.channels.base import FloatArray
from confide.estimates.inference.answers import Interval, error_of, in_words, percent, points
from confide.estimates.inference.bases import Basis, Likelihood
from confide.estimates.inference.inference import Inference, Question, ask, check_basis, check_level
from confide.values import Alphabet, Grid, Indices, LineGeometry, RingGeometry
from confide.values.queries import Query
from confide.values.wording import counted, plural, with_unit

Start = TypeVar("Start")

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


def _some(starts: list[Start], values: int) -> list[Start]:
    """Return every so manieth start, and the last one, so that their weights fit into memory: 32 MB.

    That is so past 2,000 values.
    """
    step = -(-len(starts) * values // 4_000_000)
    return starts if step <= 1 else list(dict.fromkeys([*starts[::step], starts[-1]]))


class _LineWindows:
    """Values in a row."""

    is_line = True

    def __init__(self, alphabet: Alphabet, whole: Alphabet, name: str) -> None:
        self.alphabet, self.whole, self.name = alphabet, whole, name
        self.places = alphabet.coordinates[:, 0].astype(np.int64)
        self.low, self.high = int(self.places.min()), int(self.places.max())
        self.longest = max(1, (self.high - self.low + 1) // 2)

    def of(self, width: int) -> list[Window]:
        starts = self.places[self.places + width - 1 <= self.high].tolist()
        return [self._between(start, start + width - 1) for start in _some(starts, self.places.size)]

    def broad(self) -> list[list[Window]]:
        ends = np.linspace(self.low, self.high + 1, 11).astype(np.int64).tolist()
        pairs = [(low, high - 1) for low, high in pairwise(ends) if high > low + 1]
        starts = [low for low in dict.fromkeys(ends) if self.low < low <= self.high]  # of all values everyone has one
        tails = [Window(self.whole.question(self.name, low), 1.0 * (self.places >= low)) for low in starts]
        tenths = [self._between(*pair) for pair in pairs]
        return [[one for one in kind if one.weights.any()] for kind in (tenths, tails)]

    def describe(self, width: int) -> str:
        unit, spacing, each = self.whole.unit, self.whole.spacing, self.whole.step_name
        if width == 1:
            return f"single {plural(each)}"
        if each != "value":
            return f"windows of {width:,} {plural(each)}"
        return f"windows of {width:,} values" + (f" ({with_unit(width * spacing, unit)})" if unit else "")

    def mosaic(self, distribution: FloatArray, most: int) -> Mosaic:
        order, step = np.argsort(self.places, kind="stable"), -(-distribution.size // most)
        columns = np.empty(order.size, dtype=np.int64)
        columns[order] = np.arange(order.size) // step
        return Mosaic(np.zeros_like(columns), columns)

    def join(self, places: Indices) -> Window:
        return self._between(int(self.places[places].min()), int(self.places[places].max()))

    def label(self, places: Indices) -> str:
        return self.whole.label_range(int(self.places[places].min()), int(self.places[places].max()))

    def _between(self, low: int, high: int) -> Window:
        inside = (self.places >= low) & (self.places <= high)
        return Window(self.whole.question(self.name, low, high), inside.astype(np.float64))


class _CellWindows:
    """Squares of cells, on a narrow grid as high, or as wide, as that is; and districts, which may have any shape."""

    is_line = False

    def __init__(self, grid: Grid) -> None:
        self.grid, self.longest = grid, max(1, max(grid.shape) // 2)
        self.rows, self.columns = grid.coordinates.astype(np.int64).T
        self.ends = (grid.first_row, grid.first_column, grid.first_row + grid.rows, grid.first_column + grid.columns)

    def of(self, width: int) -> list[Window]:
        height, breadth = min(width, self.grid.rows), min(width, self.grid.columns)
        top, left, bottom, right = self.ends
        tops, lefts = range(top, bottom - height + 1), range(left, right - breadth + 1)
        corners = _some([(row, column) for row in tops for column in lefts], self.grid.size)
        found = [self._box(row, column, row + height - 1, column + breadth - 1) for row, column in corners]
        return [one for one in found if one.weights.any()]

    def broad(self) -> list[list[Window]]:
        top, left, bottom, right = self.ends
        tails = []
        for word, along, low, high in (("row", self.rows, top, bottom), ("column", self.columns, left, right)):
            quarters = sorted({low + round((high - low) * part / 4) for part in (1, 2, 3)} - {low})
            tails += [Window(f"{word} >= {one}", 1.0 * (along >= one)) for one in quarters]
        blocks = self.of(max(1, round(max(self.grid.shape) / 4)))
        return [blocks, [one for one in tails if 0 < one.weights.sum() < self.grid.size]]

    def describe(self, width: int) -> str:
        height, breadth = min(width, self.grid.rows), min(width, self.grid.columns)
        if width == 1:
            return "single cells"
        size = f" ({with_unit(width * self.grid.spacing, self.grid.unit)} a side)" if self.grid.unit else ""
        return f"{'squares' if height == breadth else 'strips'} of {height:,} x {breadth:,} cells{size}"

    def mosaic(self, distribution: FloatArray, most: int) -> Mosaic:  # noqa: ARG002 (one contract)
        side = 1
        while -(-self.grid.rows // side) * -(-self.grid.columns // side) > most:
            side += 1
        return Mosaic((self.rows - self.ends[0]) // side, (self.columns - self.ends[1]) // side)

    def join(self, places: Indices) -> Window:
        rows, columns = self.rows[places], self.columns[places]
        box = self._box(int(rows.min()), int(columns.min()), int(rows.max()), int(columns.max()))
        if box.weights.sum() == places.size:
            return box
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

    def _box(self, top: int, left: int, bottom: int, right: int) -> Window:
        inside = (self.rows >= top) & (self.rows <= bottom) & (self.columns >= left) & (self.columns <= right)
        single = (top, left) == (bottom, right)
        question = f"cell == ({top}, {left})" if single else f"cell in ({top}, {left})..({bottom}, {right})"
        return Window(question, 1.0 * inside)


class _SingleValues:
    """Values one by one, where they have no order."""

    is_line = False
    longest = 1

    def __init__(self, alphabet: Alphabet, name: str) -> None:
        self.alphabet, self.name = alphabet, name

    def of(self, width: int) -> list[Window]:  # noqa: ARG002 (one contract)
        every = np.arange(self.alphabet.size)
        return [self.join(every[place : place + 1]) for place in _some(every.tolist(), every.size)]

    def broad(self) -> list[list[Window]]:
        return []

    def describe(self, width: int) -> str:  # noqa: ARG002 (one contract)
        return "single values"

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

is_line, longest
    Whether values lie in a row, and the widest window that is asked for: half of all values in a row.
of(width), broad(), describe(width)
    Windows of a width, all of them or every so many where there are very many values; questions that people ask, kind
    by kind: tenths and tails; windows of a width in words.
mosaic(distribution, most)
    Single values, or blocks of them where there are more than so many.
join(places), label(places)
    The window of the values with these numbers, which were grown together, and the same in few letters.
"""


def windows_over(alphabet: Alphabet, name: str | None = None) -> WindowKind:
    """Return the windows over an alphabet.

    >>> from confide import Integers
    >>> [one.question for one in windows_over(Integers(0, 3), "age").of(2)]
    ['age in 0..1', 'age in 1..2', 'age in 2..3']
    """
    word = name if name is not None and name.isidentifier() else "value"
    whole = alphabet.selected_from or alphabet
    # Windows in a ring end where it is cut, between its last value and its first.
    if isinstance(whole.geometry, LineGeometry | RingGeometry):
        return _LineWindows(alphabet, whole, word)
    return _SingleValues(alphabet, word) if alphabet.grid is None else _CellWindows(alphabet.grid)


ERROR = 0.05
"""The error within which shares are to be known unless told: five percentage points."""


@dataclass(frozen=True)
class Resolution:
    """The narrowest windows of values whose shares reports tell, and the answers that they know best and worst.

    Attributes
    ----------
    width
        Values in a row, or cells on a side of a square; 1 for single values, None where not even windows of half of
        all values, or no single values of an alphabet without order, are told.
    windows
        What such windows are called, such as "windows of 12 years".
    error, level
        The error that was asked for, and how often an interval holds the truth.
    within
        The error that was held: the one asked for, or half of what the fullest window holds if that is less.
    least_known
        The least known window of that width, of those that vary most; None without a width.
    not_told
        A window of the next narrower width whose share is not told; where there is no width, the least known of the
        widest ones. None where single values are told.
    best, worst
        Of each value, each tenth of the values in a row and each upper tail: the one known best, and the one known
        worst.
    """

    width: int | None
    windows: str
    error: float
    level: float
    within: float
    least_known: Interval | None
    not_told: Interval | None
    best: Interval
    worst: Interval

    @property
    def sentences(self) -> tuple[str, ...]:
        """All of it in words, one sentence each."""
        return (*self._told(), f"Best known of all is {in_words(self.best)}; least known is {in_words(self.worst)}.")

    def _told(self) -> Iterable[str]:
        within = f"within {points(self.within)} at {percent(self.level)}"
        asked = f"less than the {points(self.error)} asked for, which would say nothing of such windows"
        half = "" if self.within >= self.error else f" (half of what the fullest holds, and {asked})"
        if self.least_known is not None:
            told = f"{self.windows} {within}{half}: {in_words(self.least_known)}, at worst"
            yield f"These reports tell the shares of {told}."
        if self.not_told is not None and self.width is None:
            only = f"only within {points(error_of(self.not_told))}"
            missed = f"{self.windows} {within}{half}, {only}: {in_words(self.not_told)}"
            yield f"These reports do not tell the shares of {missed}."
        elif self.not_told is not None:
            yield f"Narrower ones they do not tell: {in_words(self.not_told)}."

    def __str__(self) -> str:
        return " ".join(self.sentences)


def resolve(
    inference: Inference, error: float, level: float, basis: Basis | None = None, name: str | None = None
) -> Resolution:
    """Find the resolution of reports; see :meth:`confide.Estimate.resolution`."""
    check_level("error", error)
    check_level("level", level)
    search = _WindowSearch(inference, error, level, check_basis(basis, Likelihood()))
    windows = windows_over(inference.alphabet, name)
    narrow, wide, told, missed = 0, 0, None, None
    width = windows.longest
    while width > narrow and width != wide:
        found, is_told = search.judge(windows.of(width), to_the_end=width == windows.longest)
        if is_told:
            wide, told = width, found
        else:
            narrow, missed = width, found
            if not wide:
                break
        # Halved until one is not told, and bisected from there.
        width = (narrow + wide) // 2 if narrow else wide // 2
    best, worst = search.extremes([windows.of(1), *windows.broad()])
    shown = wide or windows.longest
    within, words = search.limit(windows.of(shown)), windows.describe(shown)
    return Resolution(wide or None, words, error, level, within, told, missed, best, worst)


@dataclass(frozen=True, eq=False)
class _WindowSearch:
    """The search for the narrowest windows that are told."""

    inference: Inference
    error: float
    level: float
    basis: Basis

    def judge(self, windows: list[Window], *, to_the_end: bool) -> tuple[Interval, bool]:
        """Return the least known of windows of a width, and whether all are told.

        Four that vary most over replicates get an interval each. The least known of all was among them in each of
        twelve cases: ages and spikes under geometric noise, a flat truth under the exponential mechanism, windows of 1,
        6, 12 and half of all values.
        """
        limit, found = self.limit(windows), []
        for place in np.argsort(-self._spreads(windows), kind="stable")[:4].tolist():
            found += self._ask([windows[place]])
            # Of the widest it is said how well they are known, whether that is enough or not.
            if error_of(found[-1]) > limit and not to_the_end:
                break
        worst = max(found, key=error_of)
        return worst, error_of(worst) <= limit

    def limit(self, windows: list[Window]) -> float:
        """Return the error that is allowed: the one asked for, or half of what the fullest window holds if less."""
        return min(self.error, max(float(one.weights @ self.inference.shares) for one in windows) / 2)

    def _spreads(self, windows: list[Window]) -> FloatArray:
        queries = np.array([one.weights for one in windows])
        return self.basis.spreads(self.inference.seen_by(self.basis), queries, self.level)

    def _ask(self, windows: list[Window]) -> list[Interval]:
        answers = ask([(self.inference, Question("query", one.query)) for one in windows], self.level, self.basis)
        return [replace(answer, question=one.question) for answer, one in zip(answers, windows, strict=True)]

    def extremes(self, kinds: list[list[Window]]) -> tuple[Interval, Interval]:
        """Return the questions known best and worst, of the one of each kind that varies least and the two most."""
        asked = []
        for every in kinds:
            kind = [one for one in every if self.inference.lift(one.weights).any()]  # by a shape some may be nobody's
            if kind:
                order = np.argsort(self._spreads(kind), kind="stable").tolist()
                asked += [kind[place] for place in dict.fromkeys([*order[:1], *order[-2:]])]
        found = self._ask(asked)
        return min(found, key=lambda one: one.width), max(found, key=lambda one: one.width)
