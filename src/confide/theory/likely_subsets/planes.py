"""Likely cells of a plane.

The box of the reports. If moving a row or a column away from a report only makes it less likely, then so does moving
a cell out of the box around all reports; true of every kernel here, of the taxicab distance too, where the paper's
premise fails. Where holes are in the way, a cell outside the box stays unless another cell lies between it and the
box.

The widened hull (paper, proposition likelyplanar), where the Euclidean distance decides: it cuts off corners of the
box that a slanted cloud of reports leaves empty. A cell outside either is unlikely, so what is left is inside both.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from confide.alphabets import Grid, Lattice, Selection
from confide.alphabets.planes import LARGEST_LATTICE
from confide.errors import InvalidParameterError
from confide.theory.likely_subsets.hulls import Hull, discretization_error, widening
from confide.theory.likely_subsets.neighbourhoods import cells_within, count_within, crossings, reach
from confide.theory.likely_subsets.subset import LikelySubset

Points = NDArray[np.float64]
Corner = NDArray[np.int64]

LARGEST_BOX = 20_000
"""Cells up to which the box of the reports is taken whole."""

SPARSEST = 20
"""Past that, it is taken whole if one cell in so many lies near a report."""

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
    end: Corner = start + np.array(whole.shape) - 1
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


def _near_cells(peaks: Points, decay: float, *, is_euclidean: bool) -> Corner | None:
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
    inside: Corner = cells[((cells >= first) & (cells <= last)).all(axis=1)]
    return inside if inside.shape[0] <= LARGEST_REGION else None


def _near(whole: Lattice, cells: Corner, *, is_euclidean: bool) -> LikelySubset:
    where = "near a report" if is_euclidean else "in a row and a column next to a report's"
    rule = "a random walk" if is_euclidean else "convexity"
    reason = (
        f"{cells.shape[0]:,} cells {where}: those farther out explain each report less well than a mixture of these, "
        f"by {rule}"
    )
    proof = "bounding box and subharmonicity" if is_euclidean else "bounding box and convexity"
    return LikelySubset(whole, Selection(whole, cells), proof, reason)


def _corners(peaks: Points) -> tuple[Corner, Corner]:
    return np.floor(peaks.min(axis=0)).astype(np.int64), np.ceil(peaks.max(axis=0)).astype(np.int64)


def _around_holes(whole: Grid, first: Corner, last: Corner) -> tuple[Corner, Corner]:
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
    first: Corner, last: Corner, start: Corner | None = None, end: Corner | None = None
) -> tuple[Corner, Corner]:
    """Return a box that mechanisms accept, of two rows and two columns: a cell too many is none too many."""
    longer = np.where(last > first, last, last + 1)
    if start is None or end is None:
        return first, longer
    longer = np.minimum(longer, end)
    return np.where(longer > first, first, np.maximum(first - 1, start)), longer


def _box_of(whole: Lattice | Grid, first: Corner, last: Corner) -> Grid:
    (rows, columns), (row, column) = (last - first + 1).tolist(), first.tolist()
    return Grid(rows, columns, whole.spacing, whole.unit, (), row, column)


def _cut_out(whole: Grid, first: Corner, last: Corner) -> Grid:
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
