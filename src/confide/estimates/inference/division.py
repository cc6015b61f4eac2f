"""Division of values into the narrowest windows that reports resolve.

A line is cut into ranges. A plane is cut into boxes by repeated cuts from side to side. Among all divisions whose
shares are resolved, we choose the one with the smallest average window, averaged over people. Bootstrap replicates
forecast the error of every candidate window. The confidence intervals of the chosen windows decide: if a share is not
resolved, we cut again with stricter forecasts and, if that does not help, join the window with a neighbour.
Neighbouring windows that may both be empty are joined.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

import numpy as np

from confide.channels.base import FloatArray
from confide.estimates.inference.answers import Interval, error_of, percent
from confide.estimates.inference.inference import Basis, Inference, Likelihood, Question, ask, check_basis, check_level
from confide.evidence.evidence import Evidence
from confide.values import Alphabet, Grid, Indices, LineGeometry, PlaneGeometry, RingGeometry
from confide.values.queries import Query
from confide.values.wording import counted, plural

MOST_SINGLE = 20
"""Most single values without an order; beyond that, the rarest values share one window."""


@dataclass(frozen=True, eq=False)
class Window:
    """A window of values, as a question for its share.

    The question is a query text if `is_text`, and a name otherwise.
    """

    question: str
    weights: FloatArray
    is_text: bool = True

    @property
    def query(self) -> Query:
        """The query: its text if there is one, else the weights."""
        return self.question if self.is_text else self.weights


@dataclass(frozen=True, eq=False)
class Mosaic:
    """Pieces of which windows are made: single values or blocks.

    Blocks are used if there are very many values.

    Attributes
    ----------
    rows, columns
        The row and the column of each value's piece. A line is one row. None for values without an order.
    pieces
        For values without an order: the indices of the values in each piece. The last may have many.
    """

    rows: Indices | None = None
    columns: Indices | None = None
    pieces: tuple[Indices, ...] = ()


class _LineWindows:
    """Windows of values on a line."""

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
    """Windows on a plane: boxes, and unions of neighbouring boxes."""

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
        if inside.sum() == places.size:  # a box can be written as a query text
            single = (top, left) == (bottom, right)
            question = f"cell == ({top}, {left})" if single else f"cell in ({top}, {left})..({bottom}, {right})"
            return Window(question, 1.0 * inside)
        weights = np.zeros(self.grid.size)
        weights[places] = 1.0
        return Window(self.label(places), weights, is_text=False)

    def label(self, places: Indices) -> str:
        """Return the size of a district and its central cell."""
        if places.size == 1:
            return self.grid.labels(places)[0]
        rows, columns = self.rows[places], self.columns[places]
        nearest = int(np.argmin((rows - rows.mean()) ** 2 + (columns - columns.mean()) ** 2))
        return f"{counted(places.size, 'cell')} around {self.grid.labels(places[nearest])[0]}"


class _SingleValues:
    """Single values, for alphabets without an order."""

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
    Whether values lie on a line.
mosaic(distribution, most)
    Single values, or blocks of them if there are more than `most`.
join(places), label(places)
    The window of the values with these indices, and its short name.
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


PROPORTION = 0.5
"""Default relative error of each window's share: ±50%."""

MOST_CELLS = 500
"""Most pieces of a plane; larger planes use blocks of cells. 480 cells have 63,000 boxes."""

ENOUGH = 1_500_000
"""Values times outputs up to which reports are not binned: 300 maxima of 280 values and 2,000 reports take 3 s."""


@dataclass(frozen=True, eq=False)
class Windows:
    """Windows of unequal width, as narrow as these reports resolve.

    A share is resolved if both ends of its interval lie within `error` of it, relative to the share. With an error of
    0.5, an estimate of 12% needs an interval within 6% to 18%. If a window has less than an even share, that of a
    uniform population, the error is relative to the even share instead: reports can show that a share is small, but not
    how small in proportion.

    Attributes
    ----------
    alphabet
        The values.
    members
        The indices of the values in each window. Every value is in one window.
    labels
        A short name of each, such as "25 to 34" or, on a plane, "6 cells around (2, 3)".
    answers
        The share of each, with its interval.
    error, level
        The relative error to reach, and the coverage of intervals.
    remark
        A sentence on binned reports; empty if none were binned.

    Examples
    --------
    >>> import confide as cf
    >>> mechanism = cf.TruncatedGeometric(cf.Integers(0, 9), epsilon=1.0)
    >>> windows = cf.estimate(mechanism.simulate_counts([100] * 5 + [300] * 5, rng=1), mechanism).windows()
    >>> len(windows), windows.labels[0]
    (6, '0')
    """

    alphabet: Alphabet
    members: tuple[Indices, ...]
    labels: tuple[str, ...]
    answers: tuple[Interval, ...]
    error: float
    level: float
    remark: str = ""

    def __len__(self) -> int:
        return len(self.answers)

    @property
    def are_single(self) -> bool:
        """Whether every value has a window of its own."""
        return len(self) == self.alphabet.size

    @cached_property
    def proportions(self) -> FloatArray:
        """Relative error of each share.

        It is relative to an even share if that is larger.
        """
        pairs = zip(self.answers, self.members, strict=True)
        return np.array([_excess(one, where.size / self.alphabet.size, 1.0) for one, where in pairs])

    @property
    def told(self) -> tuple[bool, ...]:
        """Whether each share is resolved.

        A window that is not has no neighbour left to join.
        """
        return tuple((self.proportions <= self.error).tolist())

    @cached_property
    def ranks(self) -> list[int]:
        """Place of each window among all, the fullest is 1.

        The numbers of districts.
        """
        order = np.argsort([-one.estimate for one in self.answers], kind="stable").tolist()
        return [1 + order.index(place) for place in range(len(order))]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The labels as people are told them.

        Those of districts with their number.
        """
        if self.alphabet.grid is None:
            return self.labels
        numbered = zip(self.ranks, self.labels, strict=True)
        return tuple(f"district {rank} ({label})" for rank, label in numbered)

    @cached_property
    def window_of(self) -> Indices:
        """The index of each value's window."""
        found = np.empty(self.alphabet.size, dtype=np.int64)
        for number, places in enumerate(self.members):
            found[places] = number
        return found

    def heights(self, of: Literal["estimate", "low", "high"]) -> FloatArray:
        """Return each window's share, or an end, per value."""
        return np.array([getattr(one, of) / where.size for one, where in zip(self.answers, self.members, strict=True)])

    @property
    def headline(self) -> str:
        """How finely these reports resolve the values, in a sentence.

        A second sentence follows if reports were binned.
        """
        return f"{self._finding} {self.remark}".rstrip()

    @property
    def in_short(self) -> str:
        """The number of windows, as a noun phrase."""
        return "single values" if self.are_single else counted(len(self), self._noun)

    @property
    def _noun(self) -> str:
        return "district" if isinstance(self.alphabet.geometry, PlaneGeometry) else "range"

    @property
    def _finding(self) -> str:
        within = (
            f"within \N{PLUS-MINUS SIGN}{percent(self.error)} ({percent(self.level)} confidence; small shares: "
            f"\N{PLUS-MINUS SIGN}{percent(self.error)} of an even share)"
        )
        if missed := sum(not one for one in self.told):
            return f"Of {counted(len(self), self._noun)}, {missed:,} have a share that is not known to {within}."
        if len(self) == 1 < self.alphabet.size:
            return f"These reports do not resolve two {plural(self._noun)}, each share to {within}."
        return f"These reports resolve {self.in_short}. Each share is known to {within}."

    def __str__(self) -> str:
        each = [
            f"{one.question}, {one.estimate:.2%} (between {one.low:.2%} and {one.high:.2%})" for one in self.answers
        ]
        return f"{self.headline} {'; '.join(each)}."


def _excess(answer: Interval, even: float, error: float) -> float:
    """Return the error of a share relative to the allowed error.

    `even` is the even share of as many values.
    """
    return error_of(answer) / (error * max(answer.estimate, even))


def divide(
    inference: Inference, error: float, level: float, basis: Basis | None = None, name: str | None = None
) -> Windows:
    """Divide all values into windows; see :meth:`confide.estimates.Estimate.windows`."""
    check_level("error", error)
    check_level("level", level)
    chosen = check_basis(basis, Likelihood())
    return _Growth(inference, error, level, chosen, windows_over(inference.alphabet, name)).run()


@dataclass(eq=False)
class _Patch:
    """A candidate window, with its forecast error, interval and neighbours."""

    places: Indices
    share: float
    forecast: float = 0.0
    answer: Interval | None = None
    around: set[int] = field(default_factory=set)


@dataclass(eq=False)
class _Growth:
    """Windows in the making.

    `scale` is the ratio of interval errors to the spread of replicates, as learned from `known`. It starts at 3.3: for
    the ages at 0.05 and 0.2 per year it was 2.7 to 4.1.
    """

    inference: Inference
    error: float
    level: float
    basis: Basis
    kind: WindowKind
    patches: dict[int, _Patch] = field(default_factory=dict, init=False)
    scale: float = field(default=3.3, init=False)
    asked_level: float = field(default=0.0, init=False)
    known: list[tuple[float, float]] = field(default_factory=list, init=False)

    def run(self) -> Windows:
        # Windows are made of single values, or of blocks if there are too many.
        mosaic = self.kind.mosaic(self.inference.shares, 250 if self.kind.is_line else MOST_CELLS)
        if mosaic.rows is not None and mosaic.columns is not None:
            self.asked_level = self.level
            self._cut(mosaic.rows, mosaic.columns)
            self._find_neighbours(mosaic.rows, mosaic.columns)
            while True:
                self._join_all()
                self._ask(self.patches.values())
                is_done = all(self._excess(one) <= 1 or not one.around for one in self.patches.values())
                if is_done and not self._join_empty():
                    break
        else:
            # Values without an order stay single; the last piece may be all the rarest.
            pieces = mosaic.pieces
            self.asked_level = 1 - (1 - self.level) * len(pieces) / self.inference.alphabet.size
            self.patches = {number: self._patch(places) for number, places in enumerate(pieces)}
            self._ask(self.patches.values())
            *others, rest = [one.answer for one in self.patches.values() if one.answer is not None]
            if pieces[-1].size > 1:
                low = min(rest.low, max(0.0, 1 - sum(one.high for one in others)))
                high = max(rest.high, 1 - sum(one.low for one in others))
                self.patches[len(pieces) - 1].answer = replace(rest, low=low, high=high)

        order = sorted(self.patches.values(), key=lambda one: int(one.places.min()))
        members = tuple(np.sort(one.places) for one in order)
        answers = tuple(one.answer for one in order if one.answer is not None)
        labels = tuple(self.kind.label(places) for places in members)
        return Windows(self.inference.alphabet, members, labels, answers, self.error, self.level)

    def _patch(self, places: Indices, forecast: float = 0.0) -> _Patch:
        return _Patch(places, float(self.inference.shares[places].sum()), forecast)

    def _spreads(self, queries: FloatArray) -> FloatArray:
        # A forecast needs only the likely values: with surroundings, a hundred maxima on an unbounded plane take
        # minutes.
        return self.basis.spreads(self.inference, queries, self.asked_level)

    def _excess(self, one: _Patch) -> float:
        """Return the error of a patch relative to the allowed error.

        It uses the interval, or the forecast if there is none yet.
        """
        even = one.places.size / self.inference.alphabet.size
        if one.answer is not None:
            return _excess(one.answer, even, self.error)
        return self.scale * one.forecast / (self.error * max(one.share, even))

    def _ask(self, patches: Iterable[_Patch]) -> None:
        """Compute missing intervals together, and recalibrate the forecasts."""
        asked = [one for one in patches if one.answer is None]
        windows = [self.kind.join(one.places) for one in asked]
        questions = [(self.inference, Question("query", one.query)) for one in windows]
        for one, window, answer in zip(asked, windows, ask(questions, self.asked_level, self.basis), strict=True):
            one.answer = replace(answer, question=window.question)
        self.known += [
            (error_of(one.answer) / one.forecast, one.share) for one in asked if one.answer and one.forecast > 0
        ]
        if sum(share for _, share in self.known) > 0:
            # Take the median over people, because forecasts of the many empty windows are poor. Use all intervals so
            # far: the latest ones alone replace windows that were not resolved, and would bias the scale.
            ratios, shares = np.array(sorted(self.known)).T
            self.scale = float(ratios[np.searchsorted(np.cumsum(shares), shares.sum() / 2)])

    def _cut(self, rows: Indices, columns: Indices) -> None:
        """Cut all values into resolved windows, as patches."""
        boxes, size = _Boxes(rows, columns), self.inference.alphabet.size
        forecasts, prices_of = {}, {}
        shares, sizes = (boxes.gather(one) for one in (self.inference.shares, np.ones(size)))
        for shape in boxes.shapes:
            # Spread of each box's share over replicates, by height and breadth. A batch of weights takes 32 MB.
            room = boxes.room(shape)
            most = max(1, 4_000_000 // (size * room[1]))
            parts = [self._spreads(boxes.queries(shape, top, most)) for top in range(0, room[0], most)]
            forecasts[shape] = np.concatenate(parts).reshape(room)
            prices_of[shape] = boxes.sums(shape, shares), boxes.sums(shape, sizes) / size
        found: dict[Box, _Patch] = {}
        # By this share of all values one more window must narrow the average window; it keeps empty values together.
        one_more = 1e-5
        for number in range(4):  # cut again with stricter forecasts if intervals are too wide
            prices = {}
            for shape, (held, even) in prices_of.items():
                # What each box adds to the average window size over people; `inf` if its share is not resolved.
                is_told = self.scale * 1.1**number * forecasts[shape] <= self.error * np.maximum(held, even)
                prices[shape] = np.where(even == 0, 0.0, np.where(is_told, held * even + one_more, np.inf))
            for (height, breadth, top, left), one in found.items():  # these have intervals
                price = one.share * one.places.size / size + one_more
                prices[height, breadth][top, left] = price if self._excess(one) <= 1 else np.inf
            chosen = boxes.cut(prices)
            for box in chosen:
                height, breadth, top, left = box
                found.setdefault(box, self._patch(boxes.inside(box), float(forecasts[height, breadth][top, left])))
            self._ask(found[box] for box in chosen)
            if all(self._excess(found[box]) <= 1 for box in chosen):
                break
        self.patches = dict(enumerate(found[box] for box in chosen))

    def _find_neighbours(self, rows: Indices, columns: Indices) -> None:
        picture = np.full((int(rows.max()) + 1, int(columns.max()) + 1), -1)
        for number, one in self.patches.items():
            picture[rows[one.places], columns[one.places]] = number
        for here, there in ((picture[:, :-1], picture[:, 1:]), (picture[:-1], picture[1:])):
            beside = (here != there) & (here >= 0) & (there >= 0)
            for one, other in zip(here[beside].tolist(), there[beside].tolist(), strict=True):
                self.patches[one].around.add(other)
                self.patches[other].around.add(one)

    def _join_all(self) -> None:
        """Join the least resolved patch with a neighbour, until all are resolved."""
        while True:
            open_ones = [key for key, one in self.patches.items() if one.around]
            worst = max(open_ones, key=lambda key: self._excess(self.patches[key]), default=None)
            if worst is None or self._excess(self.patches[worst]) <= 1:
                return
            others = sorted(self.patches[worst].around)
            unions = [np.concatenate([self.patches[worst].places, self.patches[other].places]) for other in others]
            queries = np.zeros((len(unions), self.inference.alphabet.size))
            for row, places in zip(queries, unions, strict=True):
                row[places] = 1.0
            made = [self._patch(*pair) for pair in zip(unions, self._spreads(queries).tolist(), strict=True)]
            best = min(range(len(made)), key=lambda place: self._excess(made[place]))
            self._unite(worst, others[best], made[best])

    def _unite(self, key: int, other: int, made: _Patch) -> int:
        """Replace two patches by one, and return its number."""
        number = max(self.patches) + 1
        made.around = (self.patches.pop(key).around | self.patches.pop(other).around) - {key, other}
        for neighbour in made.around:
            self.patches[neighbour].around -= {key, other}
            self.patches[neighbour].around.add(number)
        self.patches[number] = made
        return number

    def _join_empty(self) -> bool:
        """Join neighbours that may both be empty.

        Return whether there were any.
        """
        # A lower end of at most one person in ten thousand counts as zero.
        empty = {key for key, one in self.patches.items() if one.answer is not None and one.answer.low <= 1e-4}
        found = False
        while pairs := [(key, other) for key in empty for other in self.patches[key].around & empty]:
            key, other = min(pairs)
            places = np.concatenate([self.patches[key].places, self.patches[other].places])
            empty = empty - {key, other} | {self._unite(key, other, self._patch(places))}
            found = True
        return found


Box = tuple[int, int, int, int]
"""Height and breadth of a box of pieces, its first row and its first column."""


@dataclass(frozen=True, eq=False)
class _Boxes:
    """All boxes of pieces that lie in rows and columns."""

    rows: Indices
    columns: Indices

    @cached_property
    def ends(self) -> tuple[int, int]:
        return int(self.rows.max()) + 1, int(self.columns.max()) + 1

    @cached_property
    def shapes(self) -> list[tuple[int, int]]:
        """Heights and breadths of boxes, smaller ones first."""
        return [(height, breadth) for height in range(1, self.ends[0] + 1) for breadth in range(1, self.ends[1] + 1)]

    def gather(self, numbers: FloatArray) -> FloatArray:
        """Return the two-dimensional cumulative sums over all pieces."""
        sums = np.zeros((self.ends[0] + 1, self.ends[1] + 1))
        np.add.at(sums, (self.rows + 1, self.columns + 1), numbers)
        return sums.cumsum(axis=0).cumsum(axis=1)

    def room(self, shape: tuple[int, int]) -> tuple[int, int]:
        """Return the number of start rows and columns for a shape."""
        return self.ends[0] - shape[0] + 1, self.ends[1] - shape[1] + 1

    def sums(self, shape: tuple[int, int], sums: FloatArray) -> FloatArray:
        """Return the sum over each box, from cumulative sums."""
        height, breadth = shape
        return sums[height:, breadth:] - sums[:-height, breadth:] - sums[height:, :-breadth] + sums[:-height, :-breadth]

    def queries(self, shape: tuple[int, int], top: int, most: int) -> FloatArray:
        """Return the weights of all boxes that begin in some rows."""
        height, breadth = shape
        tops = np.arange(top, min(top + most, self.room(shape)[0]))[:, None]
        lefts = np.arange(self.room(shape)[1])[:, None]
        is_row = (self.rows >= tops) & (self.rows < tops + height)
        is_column = (self.columns >= lefts) & (self.columns < lefts + breadth)
        return (is_row[:, None] & is_column).reshape(-1, self.rows.size).astype(np.float64)

    def inside(self, box: Box) -> Indices:
        """Return the indices of the values in a box."""
        height, breadth, top, left = box
        is_row = (self.rows >= top) & (self.rows < top + height)
        return np.flatnonzero(is_row & (self.columns >= left) & (self.columns < left + breadth))

    def cut(self, prices: dict[tuple[int, int], FloatArray]) -> list[Box]:
        """Return the cheapest division by cuts from side to side.

        It is found by dynamic programming.
        """
        best: dict[tuple[int, int], FloatArray] = {}
        cuts: dict[tuple[int, int], Indices] = {}
        for shape in self.shapes:
            (height, breadth), (down, along) = shape, self.room(shape)
            across = [best[part, breadth][:down] + best[height - part, breadth][part:] for part in range(1, height)]
            beside = [best[height, one][:, :along] + best[height, breadth - one][:, one:] for one in range(1, breadth)]
            ways = [prices[shape], *across, *beside]
            cuts[shape], best[shape] = np.argmin(ways, axis=0), np.min(ways, axis=0)
        found, waiting = [], [(*self.ends, 0, 0)]
        while waiting:
            height, breadth, top, left = box = waiting.pop()
            cut = int(cuts[height, breadth][top, left])
            if cut == 0:
                found.append(box)
            elif cut < height:
                waiting += [(height - cut, breadth, top + cut, left), (cut, breadth, top, left)]
            else:
                part = cut - height + 1
                waiting += [(height, breadth - part, top, left + part), (height, part, top, left)]
        return [box for box in found if self.inside(box).size]


def gather_reports(evidence: Evidence, points: FloatArray, decay: float) -> tuple[Evidence, float] | None:
    """Bin reports in squares, and return the side in steps.

    None if that is not needed. If reports are points of the plane, nearly all are distinct, and one maximum of the
    likelihood multiplies all values by all reports. The log-likelihood ratios of two reports at distance d differ by at
    most 2 d decay nats, so those in one small square are counted as one, with their average likelihood. The position
    within the square is lost, which makes no visible difference to districts known to within half of their share. Other
    intervals use the reports as they are.

    `points` are the outputs in steps. `decay` is the number of nats that noise falls in one step.
    """
    values, outputs = evidence.channel.shape
    if not evidence.channel.is_stored or points.shape != (outputs, 2) or values * outputs <= ENOUGH:
        return None
    # Double the side until there are few enough squares, or until noise falls by one nat along it. On Manhattan at 1
    # per km the side is 250 m for 98,061 reports, half a cell: a maximum takes a fortieth of the time.
    side = 0.125 / decay
    while True:
        # The index of each point's square.
        _, numbers = np.unique(np.floor(points / side), axis=0, return_inverse=True)
        numbers = numbers.reshape(-1).astype(np.int64)
        if values * (int(numbers.max()) + 1) <= ENOUGH or 2 * side * decay > 1.0:
            return evidence.gathered(numbers), side
        side *= 2
