"""Cells near reports: the only ones that can matter on an endless plane, however far apart the reports lie.

Under e^(-r distance). Far from a report this function of the cell is subharmonic: it is no greater than its mean over
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

import numpy as np
from numpy.typing import NDArray

Cells = NDArray[np.int64]


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
