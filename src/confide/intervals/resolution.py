"""Resolution: the narrowest windows of values whose shares reports tell, and what they tell best and worst.

A window is some values in a row on a line, a square of cells on a plane, and a single value where values have no
order. Its share is *told* if both ends of its interval lie within the stated error of the estimate, and within half of
what the fullest window of that width holds: five points more or less say nothing of windows that hold two. The
intervals are those of :class:`confide.Likelihood`, which believe nothing of the truth, and so is the resolution.

Not all windows get an interval, which takes a few maxima of the likelihood. Replicates of the best explanation, drawn
for the bias anyway, say of every window how much its share varies; intervals decide on those that vary most. Widths are
halved until one is not told, and bisected from there.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Protocol

import numpy as np

from confide.alphabets import Alphabet, Grid, Integers, Selection
from confide.channels.base import FloatArray
from confide.checks import read_only
from confide.errors import TooLargeError
from confide.intervals.answers import Interval, percent
from confide.intervals.bases import Basis, Likelihood
from confide.intervals.inference import Inference, check_basis, check_level
from confide.wording import label_value, plural, with_unit

ERROR = 0.05
"""The error within which shares are to be known unless told: five percentage points."""

LOUDEST = 4
"""Windows of a width that vary most over replicates, and get an interval each.

The least known of all was among the four that vary most in each of twelve cases: ages and spikes under geometric noise,
a flat truth under the exponential mechanism, windows of 1, 6, 12 and half of all values.
"""

LEAST, MOST = 1, 2
"""Questions of each kind that vary least, and most, whose intervals are compared for the best and the least known."""

TENTHS = 10

MOST_VALUES = 2_000
"""Values up to which every window is looked at: a matrix of all windows by all values takes 32 MB."""


@dataclass(frozen=True, eq=False)
class Window:
    """A question for the share of some values: a text that can be asked, or a name where there is none, and weights."""

    question: str
    weights: FloatArray
    is_text: bool = True

    @property
    def size(self) -> int:
        """Number of values."""
        return int(np.count_nonzero(self.weights))


class Windows(Protocol):
    """Windows over one kind of alphabet."""

    longest: int
    """The widest window that is asked for: half of all values in a row."""

    def of(self, width: int) -> list[Window]:
        """Return all windows of a width."""

    def cover(self, width: int) -> list[Window]:
        """Return windows of a width side by side; the last may be narrower."""

    def broad(self) -> list[list[Window]]:
        """Return questions that people ask, kind by kind: tenths and tails."""

    def describe(self, width: int) -> str:
        """Return windows of a width in words."""


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
        return (*self._told(), f"Best known of all is {_in_words(self.best)}; least known is {_in_words(self.worst)}.")

    def _told(self) -> Iterable[str]:
        within = f"within {points(self.within)} at {percent(self.level)}"
        asked = f"less than the {points(self.error)} asked for, which would say nothing of such windows"
        half = "" if self.within >= self.error else f" (half of what the fullest holds, and {asked})"
        if self.least_known is not None:
            told = f"{self.windows} {within}{half}: {_in_words(self.least_known)}, at worst"
            yield f"These reports tell the shares of {told}."
        if self.not_told is not None and self.width is None:
            only = f"only within {points(error_of(self.not_told))}"
            missed = f"{self.windows} {within}{half}, {only}: {_in_words(self.not_told)}"
            yield f"These reports do not tell the shares of {missed}."
        elif self.not_told is not None:
            yield f"Narrower ones they do not tell: {_in_words(self.not_told)}."

    def __str__(self) -> str:
        return " ".join(self.sentences)


def points(share: float) -> str:
    """Return a share in percentage points, rounded up: an error is within it.

    >>> points(0.05), points(0.01), points(0.00123), points(0.304)
    ('5 points', '1 point', '0.13 points', '31 points')
    """
    digits = 1 - math.floor(math.log10(100 * share)) if share > 0 else 0
    # A little less, so that 5 points, which float64 may hold as a little more, stay 5.
    number = f"{math.ceil(100 * share * 10.0**digits * (1 - 1e-9)) / 10.0**digits:.3g}"
    return f"{number} {'point' if number == '1' else 'points'}"


def resolve(
    inference: Inference, error: float, level: float, basis: Basis | None = None, name: str | None = None
) -> Resolution:
    """Find the resolution of reports; see :meth:`confide.Estimate.resolution`."""
    check_level("error", error)
    check_level("level", level)
    if inference.alphabet.size > MOST_VALUES:
        raise TooLargeError(
            f"The resolution is looked for among at most {MOST_VALUES:,} values; there are "
            f"{inference.alphabet.size:,}. Ask query(...) for the windows that matter."
        )
    chosen = check_basis(basis, Likelihood())
    return _WindowSearch(inference, error, level, chosen, windows_over(inference.alphabet, name)).run()


@dataclass(frozen=True, eq=False)
class _WindowSearch:
    """The search for the narrowest windows that are told."""

    inference: Inference
    error: float
    level: float
    basis: Basis
    windows: Windows

    def run(self) -> Resolution:
        narrow, wide, told, missed = 0, 0, None, None
        width = self.windows.longest
        while width > narrow and width != wide:
            found, is_told = self._judge(width)
            if is_told:
                wide, told = width, found
            else:
                narrow, missed = width, found
                if not wide:
                    break
            # Halved until one is not told, and bisected from there.
            width = (narrow + wide) // 2 if narrow else wide // 2
        best, worst = self._extremes()
        shown = wide or self.windows.longest
        return Resolution(
            width=wide or None,
            windows=self.windows.describe(shown),
            error=self.error,
            level=self.level,
            within=self._limit(self.windows.of(shown)),
            least_known=told,
            not_told=missed,
            best=best,
            worst=worst,
        )

    def _judge(self, width: int) -> tuple[Interval, bool]:
        """Return the least known window of a width, and whether all are told."""
        windows = self.windows.of(width)
        limit, found = self._limit(windows), []
        for place in np.argsort(-self._spreads(windows), kind="stable")[:LOUDEST].tolist():
            found.append(self._ask(windows[place]))
            # Of the widest it is said how well they are known, whether that is enough or not.
            if error_of(found[-1]) > limit and width < self.windows.longest:
                break
        worst = max(found, key=error_of)
        return worst, error_of(worst) <= limit

    def _limit(self, windows: list[Window]) -> float:
        return min(self.error, max(self._share(one) for one in windows) / 2)

    def _share(self, window: Window) -> float:
        return float(window.weights @ self.inference.spread(self.inference.distribution))

    def _spreads(self, windows: list[Window]) -> FloatArray:
        queries = np.array([one.weights for one in windows])
        return self.basis.spreads(self.inference.seen_by(self.basis), queries, self.level)

    def _ask(self, window: Window) -> Interval:
        query = window.question if window.is_text else window.weights
        return replace(self.inference.query(query, self.level, None, self.basis), question=window.question)

    def _extremes(self) -> tuple[Interval, Interval]:
        """Return the questions known best and worst, of a few of each kind that vary least and most."""
        found = []
        for kind in [self.windows.of(1), *self.windows.broad()]:
            if kind:
                order = np.argsort(self._spreads(kind), kind="stable").tolist()
                found += [self._ask(kind[place]) for place in dict.fromkeys([*order[:LEAST], *order[-MOST:]])]
        return min(found, key=lambda one: one.width), max(found, key=lambda one: one.width)


def side_by_side(alphabet: Alphabet, width: int, name: str | None = None) -> list[Window]:
    """Return windows of a width that cover all values, each once; the last may be narrower.

    >>> [one.question for one in side_by_side(Integers(0, 4), 2, "age")]
    ['age in 0..1', 'age in 2..3', 'age == 4']
    """
    return windows_over(alphabet, name).cover(width)


def windows_over(alphabet: Alphabet, name: str | None = None) -> Windows:
    """Return the windows over an alphabet.

    >>> [one.question for one in windows_over(Integers(0, 3), "age").of(2)]
    ['age in 0..1', 'age in 1..2', 'age in 2..3']
    """
    word = name if name is not None and name.isidentifier() else "value"
    if isinstance(alphabet, Integers) or (isinstance(alphabet, Selection) and isinstance(alphabet.whole, Integers)):
        return _LineWindows(alphabet, word)
    return _SquareWindows(alphabet) if isinstance(alphabet, Grid) else _SingleValues(alphabet, word)


class _LineWindows:
    """Values in a row."""

    def __init__(self, alphabet: Integers | Selection, name: str) -> None:
        self.alphabet, self.name = alphabet, name
        self.places = alphabet.coordinates[:, 0].astype(np.int64)
        self.low, self.high = int(self.places.min()), int(self.places.max())
        self.longest = max(1, (self.high - self.low + 1) // 2)

    def of(self, width: int) -> list[Window]:
        starts = self.places[self.places + width - 1 <= self.high].tolist()
        return [self._between(start, start + width - 1) for start in starts]

    def cover(self, width: int) -> list[Window]:
        starts = range(self.low, self.high + 1, width)
        found = [self._between(start, min(start + width - 1, self.high)) for start in starts]
        return [one for one in found if one.weights.any()]

    def broad(self) -> list[list[Window]]:
        ends = np.linspace(self.low, self.high + 1, TENTHS + 1).astype(np.int64).tolist()
        pairs = [(low, high - 1) for low, high in pairwise(ends) if high > low + 1]
        tails = [Window(f"{self.name} >= {low}", (self.places >= low).astype(np.float64)) for low in ends[1:-1]]
        return [
            [one for one in kind if one.weights.any()] for kind in ([self._between(*pair) for pair in pairs], tails)
        ]

    def _between(self, low: int, high: int) -> Window:
        weights = ((self.places >= low) & (self.places <= high)).astype(np.float64)
        return Window(f"{self.name} == {low}" if low == high else f"{self.name} in {low}..{high}", weights)

    def describe(self, width: int) -> str:
        whole = self.alphabet.whole if isinstance(self.alphabet, Selection) else self.alphabet
        unit, spacing = (whole.unit, whole.spacing) if isinstance(whole, Integers) else ("", 1.0)
        if width == 1:
            return f"single {plural(unit) if unit and spacing == 1 else 'values'}"
        if spacing == 1 and unit:
            return f"windows of {width:,} {plural(unit)}"
        return f"windows of {width:,} values" + (f" ({with_unit(width * spacing, unit)})" if unit else "")


class _SquareWindows:
    """Squares of cells; on a narrow grid as high, or as wide, as that is."""

    def __init__(self, grid: Grid) -> None:
        self.grid, self.longest = grid, max(1, max(grid.shape) // 2)
        self.rows, self.columns = grid.coordinates.astype(np.int64).T
        self.ends = (grid.first_row, grid.first_column, grid.first_row + grid.rows, grid.first_column + grid.columns)

    def of(self, width: int) -> list[Window]:
        height, breadth = min(width, self.grid.rows), min(width, self.grid.columns)
        top, left, bottom, right = self.ends
        corners = [
            (row, column) for row in range(top, bottom - height + 1) for column in range(left, right - breadth + 1)
        ]
        found = [self._box(row, column, row + height - 1, column + breadth - 1) for row, column in corners]
        return [one for one in found if one.weights.any()]

    def cover(self, width: int) -> list[Window]:
        top, left, bottom, right = self.ends
        corners = [(row, column) for row in range(top, bottom, width) for column in range(left, right, width)]
        ends = [(min(row + width, bottom) - 1, min(column + width, right) - 1) for row, column in corners]
        found = [self._box(*corner, *end) for corner, end in zip(corners, ends, strict=True)]
        return [one for one in found if one.weights.any()]

    def broad(self) -> list[list[Window]]:
        top, left, bottom, right = self.ends
        tails = [Window(f"row >= {row}", (self.rows >= row).astype(np.float64)) for row in _between(top, bottom)]
        tails += [Window(f"column >= {one}", (self.columns >= one).astype(np.float64)) for one in _between(left, right)]
        blocks = self.of(max(1, round(max(self.grid.shape) / 4)))
        return [blocks, [one for one in tails if 0 < one.size < self.grid.size]]

    def _box(self, top: int, left: int, bottom: int, right: int) -> Window:
        inside = (self.rows >= top) & (self.rows <= bottom) & (self.columns >= left) & (self.columns <= right)
        single = (top, left) == (bottom, right)
        question = f"cell == ({top}, {left})" if single else f"cell in ({top}, {left})..({bottom}, {right})"
        return Window(question, inside.astype(np.float64))

    def describe(self, width: int) -> str:
        height, breadth = min(width, self.grid.rows), min(width, self.grid.columns)
        if width == 1:
            return "single cells"
        size = f" ({with_unit(width * self.grid.spacing, self.grid.unit)} a side)" if self.grid.unit else ""
        return f"{'squares' if height == breadth else 'strips'} of {height:,} x {breadth:,} cells{size}"


class _SingleValues:
    """Values one by one, where they have no order."""

    longest = 1

    def __init__(self, alphabet: Alphabet, name: str) -> None:
        self.alphabet, self.name = alphabet, name

    def of(self, width: int) -> list[Window]:  # noqa: ARG002 (one contract)
        eye = read_only(np.eye(self.alphabet.size))
        labels = [label_value(value) for value in self.alphabet.decode(np.arange(self.alphabet.size)).tolist()]
        return [Window(f"{self.name} == {one}", row, is_text=False) for one, row in zip(labels, eye, strict=True)]

    def cover(self, width: int) -> list[Window]:
        return self.of(width)

    def broad(self) -> list[list[Window]]:
        return []

    def describe(self, width: int) -> str:  # noqa: ARG002 (one contract)
        return "single values"


def _between(low: int, high: int) -> list[int]:
    return sorted({low + round((high - low) * part / 4) for part in (1, 2, 3)} - {low})


def error_of(answer: Interval) -> float:
    """Return how far the truth may lie from the estimate, at the level of the interval."""
    return max(answer.high - answer.estimate, answer.estimate - answer.low)


def _in_words(answer: Interval) -> str:
    low, high = f"{answer.low:.2%}", f"{answer.high:.2%}"
    return f"{answer.question}, {answer.estimate:.2%} (between {low} and {high})"
