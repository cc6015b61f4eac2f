"""Which values are left when reports rule the others out: on a line, and on a plane."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from confide.figures import style
from confide.figures.panels import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ARC_POINTS = 24


@dataclass(frozen=True, eq=False)
class LineSubset:
    """Reports on a line, the values around them, and the first and the last value that are left."""

    reports: FloatArray
    values: FloatArray
    first: float
    last: float


@dataclass(frozen=True, eq=False)
class PlaneSubset:
    """Reports on a plane, the corners of their hull, by how much it is widened, and the values that are left."""

    reports: FloatArray
    corners: FloatArray
    widening: float
    kept: FloatArray
    dropped: FloatArray
    unit: str


def draw_subsets(line: LineSubset, plane: PlaneSubset) -> Figure:
    """Draw both pictures, one above the other."""
    with style.styled():
        figure = style.new_figure(9.2, 6.4)
        above, below = figure.subplots(2, 1, height_ratios=(1, 4.6))
        _add_line(above, line)
        _add_plane(below, plane)
    return figure


def _add_line(axes: Axes, line: LineSubset) -> None:
    left = (line.values >= line.first) & (line.values <= line.last)
    axes.axvspan(line.first, line.last, color=style.SKY, alpha=0.25, linewidth=0, label="likely subset")
    axes.plot(line.values[left], np.zeros(left.sum()), "+", color=style.BLUE, markersize=11, label="value kept")
    axes.plot(
        line.values[~left], np.zeros((~left).sum()), "+", color=style.FAINT, markersize=9, label="value ruled out"
    )
    axes.plot(line.reports, np.zeros(line.reports.size), "o", color=style.NOISY, markersize=5, label="report")
    axes.set(title="On a line: between the values that enclose all reports", yticks=[], ylim=(-1, 1), xlabel="value")
    axes.grid(visible=False)
    axes.spines["left"].set_visible(False)
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=9)


def _add_plane(axes: Axes, plane: PlaneSubset) -> None:
    from matplotlib.patches import Polygon

    axes.plot(*plane.dropped.T, ".", color=style.TRUTH, markersize=2.2, label="value ruled out")
    axes.plot(*plane.kept.T, ".", color=style.SKY, markersize=3.4, label="value kept")
    around = Polygon(outline(plane.corners, plane.widening), fill=False, edgecolor=style.BLUE, linewidth=1.8)
    around.set_label(f"hull widened by delta' = {plane.widening:.2f} {plane.unit}")
    hull = Polygon(plane.corners, fill=False, edgecolor=style.INK, linewidth=1.4, linestyle="--")
    hull.set_label("hull of reports")
    axes.add_patch(around)
    axes.add_patch(hull)
    ends = _farthest(plane.corners)
    length = float(np.linalg.norm(ends[1] - ends[0]))
    axes.plot(*ends.T, ":", color=style.NOISY, label=f"largest distance {length:.2f} {plane.unit}")
    axes.plot(*plane.reports.T, "o", color=style.NOISY, markersize=4.5, label="report")
    axes.set(
        title="On a plane: the hull of all reports, widened",
        xlabel=f"east ({plane.unit})",
        ylabel=f"north ({plane.unit})",
        aspect="equal",
    )
    axes.grid(visible=False)
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=9)


def _farthest(corners: FloatArray) -> FloatArray:
    """Return the two corners that are farthest apart."""
    apart = np.linalg.norm(corners[:, None] - corners[None], axis=-1)
    return corners[list(np.unravel_index(int(apart.argmax()), apart.shape))]


def outline(corners: FloatArray, distance: float) -> FloatArray:
    """Return the rim of a convex polygon widened by a distance: its sides moved out, joined by arcs.

    >>> rim = outline(np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), 1.0)
    >>> bool(np.allclose(rim.min(axis=0), -1.0, atol=0.01))
    True
    """
    rim = []
    for before, corner, after in zip(np.roll(corners, 1, axis=0), corners, np.roll(corners, -1, axis=0), strict=True):
        first, last = (np.arctan2(*_outward(*side)[::-1]) for side in ((before, corner), (corner, after)))
        angles = np.linspace(first, first + (last - first) % (2 * np.pi), ARC_POINTS)
        rim.append(corner + distance * np.column_stack([np.cos(angles), np.sin(angles)]))
    return np.concatenate(rim)


def _outward(start: FloatArray, end: FloatArray) -> FloatArray:
    """Return the outward normal of a side of a polygon whose corners run counter-clockwise."""
    side = end - start
    return np.array([side[1], -side[0]])
