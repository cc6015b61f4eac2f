"""Likely cells of a plane: the box of the reports, their widened hull, and the cells near one.

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
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from confide.alphabets import Grid, Lattice, Selection
from confide.alphabets.geometry import LARGEST_LATTICE
from confide.errors import InvalidParameterError
from confide.theory.likely_subsets import LikelySubset

Points = NDArray[np.float64]
Cells = NDArray[np.int64]

LARGEST_BOX = 20_000
"""Cells up to which the box of the reports is taken whole."""

SPARSEST = 20
"""Cells of a box for each one near a report, up to which a larger box is taken whole as well."""

LARGEST_REGION = 2_000_000
"""Cells past which no likely subset is given, for nothing could be estimated on it."""

MOST_NEAR = 50_000_000
"""Cells within reach of reports, each counted for every report, up to which they are listed."""

SMALLEST_HULL = 1000
"""Cells of a box from which on its corners are worth cutting off."""

LARGEST_HULL = 200_000
"""Cells of a box up to which corners outside the widened hull are cut off: each becomes a hole, a Python pair."""

WORTH_CUTTING = 0.75
"""Corners are cut off if no more than this part of the box is left."""

BOX_REASON = "those outside explain each report less well than the nearest cell of the box"


def likely_in_grid(whole: Grid, peaks: Points, *, is_euclidean: bool) -> LikelySubset:
    """Return the box of the peaks, without corners outside the widened hull; all that no other rules out, with holes.

    The hull needs a cell within delta of each of its points, so it must lie inside a grid without holes.
    """
    start = np.array([whole.first_row, whole.first_column], dtype=np.int64)
    end: Cells = start + np.array(whole.shape) - 1
    corners = _corners(peaks)
    first, last = (np.clip(corner, start, end) for corner in corners)
    is_inside = bool((corners[0] >= start).all() and (corners[1] <= end).all())
    if whole.holes:
        first, last = _around_holes(whole, first, last)
    part = _cut_out(whole, *_two_at_least(first, last, start, end))
    if part == whole:
        return LikelySubset(whole, whole, "", "the reports reach from one side of the grid to the other")
    return _cut_corners(whole, part, peaks) if is_euclidean and is_inside and not whole.holes else _boxed(whole, part)


def likely_on_lattice(whole: Lattice, peaks: Points, *, decay: float | None, is_euclidean: bool) -> LikelySubset:
    """Return the box of the peaks, without corners outside the widened hull; the cells near reports if it is too large.

    The decay is that of the slowest of several mechanisms; None if they do not share a distance.
    """
    first, last = _corners(peaks)
    size = float(np.prod((last - first + 1).astype(np.float64)))
    is_grid = size <= LARGEST_REGION and first.min() >= -LARGEST_LATTICE
    is_small = is_grid and size <= LARGEST_BOX
    few = None if is_small or decay is None else _near_cells(peaks, decay, is_euclidean=is_euclidean)
    if few is not None and not (is_grid and SPARSEST * few.shape[0] >= size):
        return _near(whole, few, is_euclidean=is_euclidean)
    if not is_grid:
        raise _too_far_apart(whole, peaks)
    part = _box_of(whole, *_two_at_least(first, last))
    return _cut_corners(whole, part, peaks) if is_euclidean else _boxed(whole, part)


def _boxed(whole: Lattice | Grid, part: Grid) -> LikelySubset:
    return LikelySubset(whole, part, "bounding box", f"{_describe(part)}: {BOX_REASON}")


def _cut_corners(whole: Lattice | Grid, part: Grid, peaks: Points) -> LikelySubset:
    if not SMALLEST_HULL <= part.size <= LARGEST_HULL:
        return _boxed(whole, part)
    hull = Hull.of(peaks)
    margin = widening(discretization_error(1.0), hull.diameter)
    outside = hull.distances(part.coordinates) > margin * (1 + 1e-12)
    if outside.mean() <= 1 - WORTH_CUTTING:
        return _boxed(whole, part)
    cut = replace(part, holes=[(row, column) for row, column in part.decode(np.flatnonzero(outside)).tolist()])
    width = f"{margin * whole.spacing:.3g}{f' {whole.unit}' if whole.unit else ''}"
    reason = (
        f"{_describe(cut)}, that lie in their convex hull widened by delta' = {width}: those outside explain each "
        f"report less well (proposition likelyplanar)"
    )
    return LikelySubset(whole, cut, "likelyplanar", reason)


def _near_cells(peaks: Points, decay: float, *, is_euclidean: bool) -> Cells | None:
    """Return the cells near reports, inside their box; None if they are too many to list."""
    first, last = _corners(peaks)
    if not is_euclidean:
        rows, columns = crossings(peaks)
        if rows.size * columns.size > LARGEST_REGION:
            return None
        return np.stack(np.meshgrid(rows, columns, indexing="ij"), axis=-1).reshape(-1, 2)
    if count_within(peaks, reach(decay)) > MOST_NEAR:
        return None
    cells = cells_within(peaks, reach(decay))
    inside: Cells = cells[((cells >= first) & (cells <= last)).all(axis=1)]
    return inside if inside.shape[0] <= LARGEST_REGION else None


def _near(whole: Lattice, cells: Cells, *, is_euclidean: bool) -> LikelySubset:
    where = "near a report" if is_euclidean else "in a row and a column next to a report's"
    rule = "a random walk" if is_euclidean else "convexity"
    reason = (
        f"{cells.shape[0]:,} cells {where}: those farther out explain each report less well than a mixture of these, "
        f"by {rule}"
    )
    proof = "bounding box and subharmonicity" if is_euclidean else "bounding box and convexity"
    return LikelySubset(whole, Selection(whole, cells), proof, reason)


def _corners(peaks: Points) -> tuple[Cells, Cells]:
    return np.floor(peaks.min(axis=0)).astype(np.int64), np.ceil(peaks.max(axis=0)).astype(np.int64)


def _around_holes(whole: Grid, first: Cells, last: Cells) -> tuple[Cells, Cells]:
    """Return the box around all cells that no other rules out: those with none between them and the box."""
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
    """Return a box that mechanisms accept, of two rows and two columns: a cell too many is none too many."""
    longer = np.where(last > first, last, last + 1)
    if start is None or end is None:
        return first, longer
    longer = np.minimum(longer, end)
    return np.where(longer > first, first, np.maximum(first - 1, start)), longer


def _box_of(whole: Lattice | Grid, first: Cells, last: Cells) -> Grid:
    (rows, columns), (row, column) = (last - first + 1).tolist(), first.tolist()
    return Grid(rows, columns, whole.spacing, whole.unit, (), row, column)


def _cut_out(whole: Grid, first: Cells, last: Cells) -> Grid:
    """Return the cells of a grid within a box, with the holes that lie there."""
    box = _box_of(whole, first, last)
    if not whole.holes:
        return box
    cells = np.array(whole.holes)
    inside = cells[((cells >= first) & (cells <= last)).all(axis=1)].tolist()
    return replace(box, holes=[(row, column) for row, column in inside])


def _describe(part: Grid) -> str:
    return f"{part.size:,} cells of the box around the reports, {part.rows:,} rows by {part.columns:,} columns"


def _too_far_apart(whole: Lattice, peaks: Points) -> InvalidParameterError:
    (south, west), (north, east) = (corner.tolist() for corner in _corners(peaks))
    return InvalidParameterError(
        f"The reports lie too far apart, and too many, for an estimate on {whole!r}: rows {south} to {north}, columns "
        f"{west} to {east}, and more than {LARGEST_REGION:,} cells could matter. Estimate over "
        f"Grid(rows, columns, first_row=..., first_column=...) that holds everyone; the reports need not be made again."
    )


@dataclass(frozen=True, eq=False)
class Hull:
    """A convex polygon by its corners, counter-clockwise; it may be a segment or a point.

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
        distinct = _extremes(points)
        lower, upper = _chain(distinct), _chain(distinct[::-1])
        return cls(np.array((lower[:-1] + upper[:-1]) or lower))

    @property
    def diameter(self) -> float:
        """d_max, the largest distance between two of the points: it lies between two corners."""
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
    """Return delta, the largest distance from a point of the plane to the nearest of its cells: h / sqrt 2.

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


def _extremes(points: Points) -> list[tuple[float, float]]:
    """Return the first and the last point of each row, in order; no other can be a corner."""
    ordered = points[np.lexsort((points[:, 1], points[:, 0]))]
    is_new = np.diff(ordered[:, 0], prepend=np.nan, append=np.nan) != 0
    ends = ordered[is_new[:-1] | is_new[1:]].tolist()
    return list(dict.fromkeys((row, column) for row, column in ends))


def _chain(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    chain: list[tuple[float, float]] = []
    for point in points:
        while len(chain) > 1 and not _turns_left(chain[-2], chain[-1], point):
            chain.pop()
        chain.append(point)
    return chain


def _turns_left(first: tuple[float, float], second: tuple[float, float], third: tuple[float, float]) -> bool:
    area = (second[0] - first[0]) * (third[1] - first[1]) - (second[1] - first[1]) * (third[0] - first[0])
    return area > 0


def reach(decay: float) -> float:
    """Return the distance, in cells, beyond which e^(-decay distance) is below its mean over the four neighbours.

    >>> round(reach(0.2), 2), round(reach(5.0), 2)
    (6.03, 1.58)
    """
    log_cosh = math.log1p(2 * math.sinh(decay / 2) ** 2) if decay < 20 else decay - math.log(2)
    return 1 + decay / (2 * log_cosh)


def count_within(points: NDArray[np.float64], radius: float) -> float:
    """Return at most how many cells lie within the radius of a point."""
    return float(points.shape[0]) * (2 * radius + 1) ** 2


def cells_within(points: NDArray[np.float64], radius: float) -> Cells:
    """Return the cells within the radius of any of the points, row by row.

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
    return _merged(rows[present].astype(np.int64), starts.astype(np.int64), ends.astype(np.int64))


def crossings(points: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows and the columns next to a point."""
    down, along = (np.unique(np.concatenate([np.floor(part), np.ceil(part)])) for part in points.T)
    return down.astype(np.int64), along.astype(np.int64)


def _merged(rows: Cells, starts: Cells, ends: Cells) -> Cells:
    """Return the cells of intervals of columns, each once."""
    filled = starts <= ends
    order = np.lexsort((starts[filled], rows[filled]))
    rows, starts, ends = rows[filled][order], starts[filled][order], ends[filled][order]
    # Within a row an interval begins where the furthest end before it stopped; the offset keeps rows apart.
    number = np.cumsum(np.diff(rows, prepend=rows[:1]) != 0)
    shift = number * (int(ends.max()) - int(starts.min()) + 2)
    furthest = np.maximum.accumulate(ends + shift) - shift
    begins = np.maximum(starts, np.concatenate([starts[:1], np.where(np.diff(number), starts[1:], furthest[:-1] + 1)]))
    lengths = np.maximum(ends - begins + 1, 0)
    offsets = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return np.stack([np.repeat(rows, lengths), np.repeat(begins, lengths) + offsets], axis=-1)
