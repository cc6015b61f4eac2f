"""Likely subsets: finite parts of the alphabet that contain every maximum.

A value is unlikely if others make every report at least as likely, and some report likelier: one other value (paper,
definition unlikely), or a mixture of several. Moving its probability to those raises the likelihood, so no maximum
gives it any (paper, theorem likelysubset). The gain g = M (q / y) of an unlikely value is at most the mixture of
theirs, for whatever y, so the certificate n log(max g) over the rest holds for the whole alphabet, however long. The
facts that a mechanism declares decide which proof fits, never its class.

On a plane:

The box. If moving a row or a column away from a report only makes it less likely, then so does moving a cell out of the
box around all reports; true of every kernel here, of the taxicab distance too, where the paper's premise fails. Where
holes are in the way, a cell outside the box stays unless another cell lies between it and the box.

The widened hull (paper, proposition likelyplanar), where the Euclidean distance decides: it cuts off corners of the
box that a slanted cloud of reports leaves empty. A cell outside either is unlikely, so what is left is inside both.

Cells near reports, the only ones that can matter on an unbounded plane, however far apart the reports lie. Under
e^(-r distance) this function of the cell is subharmonic far from a report: it is no greater than its mean over
the four neighbouring cells. At distance rho in the direction (c, s), with c^2 + s^2 = 1, the neighbours ahead and
behind lie at

    sqrt((rho +- c)^2 + s^2) <= rho +- c + s^2 / (2 (rho - 1)),

so, with k = r / (2 (rho - 1)), the mean of the four over the middle is at least

    (cosh(r c) e^(-k s^2) + cosh(r s) e^(-k c^2)) / 2 >= sqrt(cosh(r c) cosh(r s) e^-k) >= sqrt(cosh(r) e^-k)

by the inequality of means, and because cosh(r c) cosh(r s) = (cosh(r (c + s)) + cosh(r (c - s))) / 2 is least where c
s = 0. That is above 1 for rho > 1 + r / (2 log cosh r), which is :func:`reach`. Now walk from a cell at random, one
step north, south, east or west at a time, until a cell within reach of a report is hit; on a plane that happens with
probability one. On the way the probability of every report only grows on average, so the mixture of the cells that
are hit, each with the probability of being hit, makes every report likelier than the cell where the walk began: that
cell is unlikely.

Under e^(-r taxicab distance). With the column fixed this is convex in the row between two rows that have reports, and
the other way round. So a cell is unlikely unless both its row and its column lie next to a report's.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from confide.errors import InvalidCountsError, InvalidParameterError
from confide.evidence.counts import Counts, add_up, require_counts
from confide.evidence.evidence import Evidence
from confide.mechanisms.base import Mechanism, Premise, require_mechanism
from confide.theory.spectra import LIMITS
from confide.values import Alphabet, Grid, Indices, LineGeometry, Selection, Values
from confide.values.geometry import LARGEST_LATTICE

Groups = Mapping[Mechanism, Counts]
"""Counts by mechanism: the reports of people with one mechanism each, over one alphabet."""


@dataclass(frozen=True)
class LikelySubset:
    """The values that a maximum of the likelihood can have.

    Attributes
    ----------
    whole
        The alphabet that the mechanism has; it may be unbounded.
    alphabet
        The part of it that is left, always finite. It may hold more than it must, so as to keep a simple shape.
    proof
        What rules the other values out, by the paper's label where it is in the paper, such as ``"likelylinear"``,
        ``"likelyplanar"``, ``"likelykrr"`` and ``"unlikely"``; empty where nothing was ruled out.
    reason
        The same in a sentence.
    """

    whole: Alphabet
    alphabet: Alphabet
    proof: str
    reason: str

    @property
    def size(self) -> int:
        """Number of values that are left."""
        return self.alphabet.size

    @property
    def values(self) -> Values:
        """The values that are left."""
        return self.alphabet.decode(np.arange(self.size))

    @property
    def is_whole(self) -> bool:
        """Whether nothing was ruled out."""
        return self.alphabet == self.whole

    @property
    def places(self) -> Indices:
        """The numbers that the values have in the whole alphabet."""
        return self.whole.encode(self.values)

    def spread(self, distribution: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return a distribution extended by zeros to a finite whole."""
        full: NDArray[np.float64] = np.zeros(self.whole.size)
        full[self.places] = distribution
        return full

    def explain(self) -> str:
        """Return in two sentences what was looked at and what follows.

        >>> from confide import Geometric, Integers, tally
        >>> from confide.theory import likely_subset
        >>> likely_subset(tally([3, 9]), Geometric(Integers(), epsilon=1.0)).explain().partition(":")[0]
        'Looked for among values 3 to 9, the range of the reports'
        """
        return (
            f"Looked for among {self.reason}. To give any other value of {self.whole!r} a share cannot raise the "
            f"likelihood, so the certificate holds for the whole of it."
        )

    def __len__(self) -> int:
        return self.size


def likely_subset(counts: Counts, mechanism: Mechanism) -> LikelySubset:
    """Return a finite part of the alphabet that contains every maximum.

    Every distribution of greatest likelihood over the whole alphabet is zero outside it (paper, theorem likelysubset).

    Parameters
    ----------
    counts
        The reports, counted by :func:`confide.tally`.
    mechanism
        The mechanism that they went through; the premise among its facts decides which values are ruled out.

    Examples
    --------
    >>> import confide as cf
    >>> subset = likely_subset(cf.tally([3, 5, 5, 9]), cf.Geometric(cf.Integers(), epsilon=1.0))
    >>> subset.alphabet, subset.proof
    (Integers(3, 9), 'likelylinear')
    >>> likely_subset(cf.tally([3, 5, 10**9]), cf.Geometric(cf.Integers(), epsilon=1.0)).alphabet.values
    array([         3,          5, 1000000000])
    """
    require_counts(counts)
    require_mechanism("mechanism", mechanism)
    return likely_subset_of({mechanism: counts})


def likely_subset_of(groups: Groups) -> LikelySubset:
    """Return the likely subset for groups with different mechanisms.

    Whatever rules a value out must do so for the reports of all groups at once. The range, the box, the hull and the
    neighbourhoods of all peaks together do, because the same other values are better for every group. Where one group
    used k-RR, the values that it reported are added: any other value is as likely there as can be least.
    """
    seen = {mechanism: _seen(counts) for mechanism, counts in groups.items()}
    whole = next(iter(seen)).alphabet
    premises = {mechanism.facts.premise for mechanism in seen}
    if premises == {Premise.OWN_VALUE}:
        for mechanism, counts in seen.items():
            mechanism.refuse_strays(counts)
        places = np.unique(np.concatenate([whole.encode(counts.reports) for counts in seen.values()]))
        reason = (
            f"the {places.size:,} values that were reported: no other explains any report better (proposition "
            f"likelykrr)"
        )
        return _kept(whole, places, "likelykrr", reason)
    is_line = isinstance(whole.geometry, LineGeometry) and premises <= {Premise.LINE, Premise.OWN_VALUE}
    on_plane = {Premise.COORDINATES, Premise.DISTANCE, Premise.OWN_VALUE}
    if is_line or (whole.geometry.dimensions == 2 and premises <= on_plane):
        peaks = np.concatenate([mechanism.peaks(counts) for mechanism, counts in seen.items()])
        decays = [one.facts.decay for one in seen if one.facts.decay is not None]
        if is_line:
            return _on_line(whole, peaks[:, 0], is_exponential=len(decays) == len(seen))
        is_euclidean = premises == {Premise.DISTANCE}
        if whole.grid is not None:
            return likely_in_grid(whole.grid, peaks, is_euclidean=is_euclidean)
        shared = len(premises) == 1 and len(decays) == len(seen)
        return likely_on_lattice(whole, peaks, decay=min(decays) if shared else None, is_euclidean=is_euclidean)

    parts = next(iter(seen)).facts.parts
    if len(seen) == 1 and parts is not None:
        return _of_parts(*next(iter(seen.items())), parts)
    return _pruned(whole, seen)


def _seen(counts: Counts) -> Counts:
    """Return counts without reports that were seen no time."""
    seen = counts.counts > 0
    if not seen.any():
        raise InvalidCountsError("There are no reports to estimate from; give at least one.")
    return counts if seen.all() else Counts(counts.reports[seen], counts.counts[seen])


def _of_parts(mechanism: Mechanism, counts: Counts, named: Mapping[str, Mechanism]) -> LikelySubset:
    """Keep combinations of kept parts.

    What rules out a part rules out every combination that has it.
    """
    mechanism.refuse_strays(counts)
    mechanisms = list(named.values())
    sizes = [part.report_alphabet.size for part in mechanisms]
    numbers = np.unravel_index(mechanism.report_alphabet.locate(counts.reports), sizes)
    parts = [
        likely_subset(add_up(part.report_alphabet.decode(places), counts.counts), part)
        for part, places in zip(mechanisms, numbers, strict=True)
    ]
    kept = np.meshgrid(*(part.places for part in parts), indexing="ij")
    places = np.ravel_multi_index([axis.reshape(-1) for axis in kept], [part.alphabet.size for part in mechanisms])
    proofs = " and ".join(dict.fromkeys(part.proof for part in parts if part.proof))
    told = "; ".join(f"for {name}, {part.reason}" for name, part in zip(named, parts, strict=True))
    reason = f"combinations of likely values; {told}"
    return _kept(mechanism.alphabet, places.astype(np.int64), proofs, reason)


def _pruned(whole: Alphabet, groups: Groups) -> LikelySubset:
    evidence = Evidence.pool([mechanism.observe(counts) for mechanism, counts in groups.items()])
    # 3000: values up to which all pairs are compared: a table of 9 million truth values.
    if whole.size > 3000 or whole.size * evidence.channel.shape[1] > LIMITS.matrix:
        reason = f"all values: {whole.size:,} are too many to compare each with each, and nothing else is known of them"
        return LikelySubset(whole, whole, "", reason)
    kept = np.flatnonzero(~is_unlikely(evidence.channel.dense()[:, evidence.seen]))
    reason = (
        f"{kept.size:,} of {whole.size:,} values: each of the others explains every report no better than another "
        f"value, and some report less well (definition unlikely)"
    )
    return _kept(whole, kept, "unlikely", reason)


def _kept(whole: Alphabet, places: NDArray[np.int64], proof: str, reason: str) -> LikelySubset:
    if places.size == whole.size:
        return LikelySubset(whole, whole, "", "all values: none explains the reports less well than another")
    return LikelySubset(whole, Selection(whole, whole.decode(places)), proof, reason)


def _on_line(whole: Alphabet, peaks: NDArray[np.float64], *, is_exponential: bool) -> LikelySubset:
    """Return the range of the peaks, or the values next to them.

    The latter if the range is much too long.

    Beyond the outermost peaks values are unlikely (paper, proposition likelylinear). The paper asks that a report be
    likelier from any nearer value. Its proof compares values on one side of all reports alone, so less is enough:
    Premise.LINE. Between the reports they are where P(z | x) is a constant times alpha^|z - x|: from one value next to
    a report to the next such value the function x -> alpha^|z - x| is convex for every reported z, because no z lies
    between. So a value there makes every report less likely than the mixture of the two that has it as its mean.
    """
    low, high = int(np.floor(peaks.min())), int(np.ceil(peaks.max()))
    if whole.is_finite:
        low, high = np.clip([low, high], *whole.span).tolist()
    near = np.unique(np.concatenate([np.floor(peaks), np.ceil(peaks)]).astype(np.int64))
    # 4_000_000: values past which only those next to a report are taken; a vector over the range would take 32 MB.
    length = high - low + 1
    is_too_long = length > 4_000_000 or (length > LIMITS.longest_range and length > LIMITS.sparsest_range * near.size)
    if not whole.is_finite and is_exponential and is_too_long:
        reason = (
            f"{near.size:,} values next to a report: those beyond the reports explain each of them less well "
            f"(proposition likelylinear), and so do those between, than a mixture of their neighbours, by convexity"
        )
        return LikelySubset(whole, Selection(whole, near), "likelylinear and convexity", reason)
    if low == high and not (whole.is_finite and whole.size < 2):
        # A range that mechanisms accept has two values: one more never hurts.
        has_next = not whole.is_finite or high < whole.span[1]
        low, high = (low, high + 1) if has_next else (low - 1, high)
    if whole.is_finite and (low, high) == whole.span:
        return LikelySubset(whole, whole, "", "the reports reach from one end of the alphabet to the other")
    reason = (
        f"values {low} to {high}, the range of the reports: those beyond explain each report less well "
        f"(proposition likelylinear)"
    )
    return LikelySubset(whole, whole.between(low, high), "likelylinear", reason)


def is_unlikely(matrix: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which rows another row exceeds: nowhere below it, and somewhere above.

    Of equal rows none is unlikely by the other, so every maximum over all rows is one over those that are left.

    >>> is_unlikely(np.array([[0.1, 0.2], [0.1, 0.3], [0.4, 0.1], [0.1, 0.3]]))
    array([ True, False, False, False])
    """
    # For each pair of rows whether the first is nowhere above the second, column by column.
    below = np.ones((matrix.shape[0], matrix.shape[0]), dtype=bool)
    for column in matrix.T:
        below &= column[:, None] <= column[None, :]
    unlikely: NDArray[np.bool_] = np.any(below & ~below.T, axis=1)
    return unlikely


Points = NDArray[np.float64]
Cells = NDArray[np.int64]


def likely_in_grid(whole: Grid, peaks: Points, *, is_euclidean: bool) -> LikelySubset:
    """Return the box of the peaks, less corners outside the hull.

    Cells that no other rules out may leave holes.

    The hull needs a cell within delta of each of its points, so it must lie inside a grid without holes.
    """
    start = np.array([whole.first_row, whole.first_column], dtype=np.int64)
    end: Cells = start + np.array(whole.shape) - 1
    corners = _corners(peaks)
    first, last = (np.clip(corner, start, end) for corner in corners)
    is_inside = bool((corners[0] >= start).all() and (corners[1] <= end).all())
    if whole.holes:
        first, last = _around_holes(whole, first, last)
    first, last = _two_at_least(first, last, start, end)
    part = _box_of(whole, first, last)
    if whole.holes:
        holes = np.array(whole.holes)
        inside = holes[((holes >= first) & (holes <= last)).all(axis=1)].tolist()
        part = replace(part, holes=[(row, column) for row, column in inside])
    if part == whole:
        return LikelySubset(whole, whole, "", "the reports reach from one side of the grid to the other")
    return _cut_corners(whole, part, peaks) if is_euclidean and is_inside and not whole.holes else _boxed(whole, part)


def likely_on_lattice(whole: Alphabet, peaks: Points, *, decay: float | None, is_euclidean: bool) -> LikelySubset:
    """Return the box of the peaks, less corners outside the hull.

    If it is too large, the cells near reports.

    The decay is that of the slowest of several mechanisms; None if they do not share a distance.
    """
    first, last = _corners(peaks)
    size = float(np.prod((last - first + 1).astype(np.float64)))
    is_grid = size <= LIMITS.region and first.min() >= -LARGEST_LATTICE
    is_small = is_grid and size <= LIMITS.largest_box
    few = None if is_small or decay is None else _near_cells(peaks, decay, is_euclidean=is_euclidean)
    if few is not None and not (is_grid and LIMITS.sparsest_box * few.shape[0] >= size):
        where = "near a report" if is_euclidean else "in a row and a column next to a report's"
        reason = (
            f"{few.shape[0]:,} cells {where}: those farther out explain each report less well than a mixture of these, "
            f"by {'a random walk' if is_euclidean else 'convexity'}"
        )
        proof = "bounding box and subharmonicity" if is_euclidean else "bounding box and convexity"
        return LikelySubset(whole, Selection(whole, few), proof, reason)
    if not is_grid:
        (south, west), (north, east) = first.tolist(), last.tolist()
        raise InvalidParameterError(
            f"The reports lie too far apart, and too many, for an estimate on {whole!r}: rows {south} to {north}, "
            f"columns {west} to {east}, and more than {LIMITS.region:,} cells could matter. Estimate over "
            f"Grid(rows, columns, first_row=..., first_column=...) that holds everyone; the reports need not be made "
            f"again."
        )
    part = _box_of(whole, *_two_at_least(first, last))
    return _cut_corners(whole, part, peaks) if is_euclidean else _boxed(whole, part)


def _boxed(whole: Alphabet, part: Grid) -> LikelySubset:
    reason = f"{_describe(part)}: those outside explain each report less well than the nearest cell of the box"
    return LikelySubset(whole, part, "bounding box", reason)


def _cut_corners(whole: Alphabet, part: Grid, peaks: Points) -> LikelySubset:
    # 1000: cells of a box from which on its corners are worth cutting off.
    # 200_000: cells of a box up to which corners outside the widened hull are cut off: each becomes a hole, a Python
    # pair.
    if not 1000 <= part.size <= 200_000:
        return _boxed(whole, part)
    hull = Hull.of(peaks)
    margin = widening(discretization_error(1.0), hull.diameter)
    outside = hull.distances(part.coordinates) > margin * (1 + 1e-12)
    # 0.75: corners are cut off if no more than this part of the box is left.
    if outside.mean() <= 1 - 0.75:
        return _boxed(whole, part)
    cut = replace(part, holes=[(row, column) for row, column in part.decode(np.flatnonzero(outside)).tolist()])
    width = f"{margin * whole.spacing:.3g}{f' {whole.unit}' if whole.unit else ''}"
    reason = (
        f"{_describe(cut)}, that lie in their convex hull widened by delta' = {width}: those outside explain each "
        f"report less well (proposition likelyplanar)"
    )
    return LikelySubset(whole, cut, "likelyplanar", reason)


def _near_cells(peaks: Points, decay: float, *, is_euclidean: bool) -> Cells | None:
    """Return cells near reports within their box; None if too many."""
    first, last = _corners(peaks)
    if not is_euclidean:
        rows, columns = crossings(peaks)
        if rows.size * columns.size > LIMITS.region:
            return None
        return np.stack(np.meshgrid(rows, columns, indexing="ij"), axis=-1).reshape(-1, 2)
    # 50_000_000: cells within reach of reports, each counted for every report, up to which they are listed.
    # At most how many cells lie within the radius of a point.
    if (float(peaks.shape[0]) * (2 * reach(decay) + 1) ** 2) > 50_000_000:
        return None
    cells = cells_within(peaks, reach(decay))
    inside: Cells = cells[((cells >= first) & (cells <= last)).all(axis=1)]
    return inside if inside.shape[0] <= LIMITS.region else None


def _corners(peaks: Points) -> tuple[Cells, Cells]:
    return np.floor(peaks.min(axis=0)).astype(np.int64), np.ceil(peaks.max(axis=0)).astype(np.int64)


def _around_holes(whole: Grid, first: Cells, last: Cells) -> tuple[Cells, Cells]:
    """Return the box around all cells that are not ruled out."""
    start = np.array([whole.first_row, whole.first_column])
    present = np.zeros(whole.shape, dtype=bool)
    present.reshape(-1)[whole.places] = True
    sums = np.zeros((whole.rows + 1, whole.columns + 1), dtype=np.int64)
    sums[1:, 1:] = present.cumsum(axis=0).cumsum(axis=1)
    cells = whole.decode(np.arange(whole.size)) - start
    inner = np.clip(cells, first - start, last - start)
    low, high = np.minimum(cells, inner), np.maximum(cells, inner) + 1
    between = sums[high[:, 0], high[:, 1]] - sums[low[:, 0], high[:, 1]] - sums[high[:, 0], low[:, 1]]
    between += sums[low[:, 0], low[:, 1]]
    kept = cells[(cells == inner).all(axis=1) | (between == 1)] + start
    return kept.min(axis=0), kept.max(axis=0)


def _two_at_least(
    first: Cells, last: Cells, start: Cells | None = None, end: Cells | None = None
) -> tuple[Cells, Cells]:
    """Return a box of at least two rows and columns.

    Mechanisms need that; an extra cell does no harm.
    """
    longer = np.where(last > first, last, last + 1)
    if start is None or end is None:
        return first, longer
    longer = np.minimum(longer, end)
    return np.where(longer > first, first, np.maximum(first - 1, start)), longer


def _box_of(whole: Alphabet, first: Cells, last: Cells) -> Grid:
    (rows, columns), (row, column) = (last - first + 1).tolist(), first.tolist()
    return Grid(rows, columns, whole.spacing, whole.unit, (), row, column)


def _describe(part: Grid) -> str:
    return f"{part.size:,} cells of the box around the reports, {part.rows:,} rows by {part.columns:,} columns"


@dataclass(frozen=True, eq=False)
class Hull:
    """A convex polygon, segment or point by its corners, counter-clockwise.

    >>> square = Hull.of(np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 1.0], [0.0, 2.0], [2.0, 2.0]]))
    >>> square.corners.shape[0], round(square.diameter, 3)
    (4, 2.828)
    >>> square.distances(np.array([[1.0, 1.0], [3.0, 3.0]])).round(3)
    array([0.   , 1.414])
    """

    corners: Points

    @classmethod
    def of(cls, points: Points) -> Hull:
        """Return the hull of points, by Andrew's monotone chain."""
        # The first and the last point of each row, in order; no other can be a corner.
        ordered = points[np.lexsort((points[:, 1], points[:, 0]))]
        is_new = np.diff(ordered[:, 0], prepend=np.nan, append=np.nan) != 0
        ends = ordered[is_new[:-1] | is_new[1:]].tolist()
        distinct = list(dict.fromkeys((row, column) for row, column in ends))
        lower, upper = _chain(distinct), _chain(distinct[::-1])
        return cls(np.array((lower[:-1] + upper[:-1]) or lower))

    @property
    def diameter(self) -> float:
        """d_max, the largest distance between two of the points.

        It lies between two corners.
        """
        difference = self.corners[:, None] - self.corners[None, :]
        return float(np.hypot(difference[..., 0], difference[..., 1]).max())

    def distances(self, points: Points) -> NDArray[np.float64]:
        """Return how far points lie outside; 0 inside."""
        inside = np.full(points.shape[0], self.corners.shape[0] > 2)
        nearest = np.full(points.shape[0], np.inf)
        for start, end in zip(self.corners, np.roll(self.corners, -1, axis=0), strict=True):
            side, offset = end - start, points - start
            inside &= side[0] * offset[:, 1] - side[1] * offset[:, 0] >= 0
            along = np.clip(offset @ side / max(float(side @ side), 1e-300), 0.0, 1.0)
            foot = offset - along[:, None] * side
            nearest = np.minimum(nearest, np.hypot(foot[:, 0], foot[:, 1]))
        return np.where(inside, 0.0, nearest)


def discretization_error(spacing: float) -> float:
    """Return delta, the greatest distance to the nearest cell's centre.

    It is h / sqrt 2.

    >>> round(discretization_error(0.3), 2)
    0.21
    """
    return spacing / math.sqrt(2)


def widening(delta: float, diameter: float) -> float:
    """Return delta', by how much the hull is widened (paper, eq. extension).

    >>> round(widening(0.21, 8.25), 2)
    1.87
    """
    return math.sqrt(delta**2 + 2 * delta * diameter)


def _chain(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    chain: list[tuple[float, float]] = []
    for point in points:
        while len(chain) > 1:
            (row, column), (down, along) = chain[-2], chain[-1]
            if (down - row) * (point[1] - column) - (along - column) * (point[0] - row) > 0:  # it turns left
                break
            chain.pop()
        chain.append(point)
    return chain


def reach(decay: float) -> float:
    """Return where e^(-decay distance) falls below its neighbours' mean.

    In cells, over the four neighbours.

    >>> round(reach(0.2), 2), round(reach(5.0), 2)
    (6.03, 1.58)
    """
    log_cosh = math.log1p(2 * math.sinh(decay / 2) ** 2) if decay < 20 else decay - math.log(2)
    return 1 + decay / (2 * log_cosh)


def cells_within(points: NDArray[np.float64], radius: float) -> Cells:
    """Return cells within the radius of any point, row by row.

    >>> cells_within(np.array([[0.0, 0.0]]), 1.0).tolist()
    [[-1, 0], [0, -1], [0, 0], [0, 1], [1, 0]]
    """
    radius = radius * (1 + 1e-12)  # a cell too many is none too many
    height = math.floor(radius) + 1
    rows = np.rint(points[:, :1]) + np.arange(-height, height + 1)
    half = radius**2 - (rows - points[:, :1]) ** 2
    present = half >= 0
    width = np.sqrt(np.maximum(half, 0.0))
    starts, ends = np.ceil(points[:, 1:] - width)[present], np.floor(points[:, 1:] + width)[present]
    # What follows returns the cells of these intervals of columns, each once.
    intervals = np.stack([rows[present], starts, ends]).astype(np.int64)[:, starts <= ends]
    rows, starts, ends = intervals[:, np.lexsort((intervals[1], intervals[0]))]
    # Within a row an interval begins where the furthest end before it stopped; the offset keeps rows apart.
    number = np.cumsum(np.diff(rows, prepend=rows[:1]) != 0)
    shift = number * (int(ends.max()) - int(starts.min()) + 2)
    furthest = np.maximum.accumulate(ends + shift) - shift
    begins = np.maximum(starts, np.concatenate([starts[:1], np.where(np.diff(number), starts[1:], furthest[:-1] + 1)]))
    lengths = np.maximum(ends - begins + 1, 0)
    offsets = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return np.stack([np.repeat(rows, lengths), np.repeat(begins, lengths) + offsets], axis=-1)


def crossings(points: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows and the columns next to a point."""
    down, along = (np.unique(np.concatenate([np.floor(part), np.ceil(part)])) for part in points.T)
    return down.astype(np.int64), along.astype(np.int64)
