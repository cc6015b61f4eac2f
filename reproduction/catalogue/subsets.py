"""Likely subsets of an unbounded alphabet, in the paper's two pictures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from confide.channels.base import FloatArray
from confide.present.figures import style
from reproduction.claims import Claim, judge
from reproduction.experiments import Computation, Picture
from reproduction.table import RESULTS, Table, Tables

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# The side of a cell on the plane, in kilometres.
SPACING = 0.3

PLACES = np.array(
    [
        *([0, 0], [6, 0], [8, 2], [5, 4], [5, 3], [1, 3], [2, 2.4]),
        *([1, 1], [2, 2], [1.5, 2], [3, 2], [3, 0.2], [4, 2.5], [4, 3], [6, 3], [6, 2], [5, 0.5], [5.5, 0.5]),
    ]
)
"""The paper's reports on the plane (fig:likely_planar), east and north in kilometres."""

STEP = 0.75
# The paper's reports on the line (fig:convex_likely_linear), and the spacing of its values.
NUMBERS = np.array([3.0, 4.0, 2.0, 2.5, 0.5, 1.0])

COLUMNS = {"picture": "text", "role": "text", "x": "number", "y": "number"}
FACTS, WIDENING = "facts", "delta'"
FACT_COLUMNS = {"name": "text", "amount": "number", "unit": "text"}


def compute() -> dict[str, Table]:
    """Return every point of both pictures, and the paper's distances."""
    from confide.theory.likely_subsets import Hull, discretization_error, widening

    hull = Hull.of(PLACES)
    delta = discretization_error(SPACING)
    wider = widening(delta, hull.diameter)
    cells = _cells()
    is_kept = hull.distances(cells) <= wider
    points = [
        *_points("plane", "report", PLACES),
        *_points("plane", "corner", hull.corners),
        *_points("plane", "kept", cells[is_kept]),
        *_points("plane", "ruled out", cells[~is_kept]),
        *_line(),
    ]
    facts = {
        "delta": delta,
        "d_max": hull.diameter,
        WIDENING: wider,
        "delta' of the paper": widening(round(delta, 2), round(hull.diameter, 2)),
    }
    return {
        RESULTS: Table(COLUMNS, tuple(points)),
        FACTS: Table(FACT_COLUMNS, tuple((name, amount, "km") for name, amount in facts.items())),
    }


def _cells() -> FloatArray:
    """Return the centres of the cells that the paper draws.

    From -2 to 10 and from -2 to 6 kilometres.
    """
    east, north = (np.arange(-2 + SPACING / 2, end, SPACING) for end in (10, 6))
    return np.stack(np.meshgrid(east, north), axis=-1).reshape(-1, 2)


def _line() -> list[tuple[str, str, float, float]]:
    """Return the values around all reports, and others.

    Proposition likelylinear.
    """
    values = STEP * np.arange(-2, 10)
    first, last = values[values <= NUMBERS.min()].max(), values[values >= NUMBERS.max()].min()
    is_kept = (values >= first) & (values <= last)
    named = (("report", NUMBERS), ("kept", values[is_kept]), ("ruled out", values[~is_kept]))
    return [point for role, xs in named for point in _points("line", role, np.column_stack([xs, np.zeros(xs.size)]))]


def _points(picture: str, role: str, points: FloatArray) -> list[tuple[str, str, float, float]]:
    return [(picture, role, float(x), float(y)) for x, y in points]


def draw(tables: Tables) -> Figure:
    """Draw both pictures."""

    def points(picture: str, role: str) -> FloatArray:
        rows = tables[RESULTS].where(picture=picture, role=role)
        return np.column_stack([rows.numbers("x"), rows.numbers("y")])

    kept, others = points("line", "kept")[:, 0], points("line", "ruled out")[:, 0]
    line = LineSubset(points("line", "report")[:, 0], np.sort(np.append(kept, others)), kept.min(), kept.max())
    wider = tables[FACTS].where(name=WIDENING).median("amount")
    roles = (points("plane", role) for role in ("report", "corner", "kept", "ruled out"))
    reports, corners, inside, outside = roles
    return draw_subsets(line, PlaneSubset(reports, corners, wider, inside, outside, "km"))


def check(tables: Tables) -> list[Claim]:
    """Lay the paper's distances beside ours."""
    facts = {str(name): float(amount or 0) for name, amount, _ in tables[FACTS].rows}
    return [
        judge(
            f"Likely subset on a plane: {what}, in km",
            f"{printed:.2f}",
            f"{facts[name]:.4f}",
            holds=round(facts[name], 2) == printed,
            note=note,
        )
        for name, printed, what, note in (
            ("delta", 0.21, "the discretization error delta", ""),
            ("d_max", 8.25, "the largest distance between reports", ""),
            (
                "delta' of the paper",
                1.87,
                "the widening of their hull",
                f"From the two above rounded to two digits, as the paper has it; {facts[WIDENING]:.4f} unrounded.",
            ),
        )
    ]


@dataclass(frozen=True, eq=False)
class LineSubset:
    """Reports on a line, the values around them, and those left."""

    reports: FloatArray
    values: FloatArray
    first: float
    last: float


@dataclass(frozen=True, eq=False)
class PlaneSubset:
    """Reports on a plane, their widened hull, and the values left."""

    reports: FloatArray
    corners: FloatArray
    widening: float
    kept: FloatArray
    dropped: FloatArray
    unit: str


def draw_subsets(line: LineSubset, plane: PlaneSubset) -> Figure:
    """Draw both pictures, one above the other."""
    with style.styled():
        is_narrow = style.ROOM.get() <= style.NARROW
        figure = style.new_figure(style.NARROW if is_narrow else 9.2, 8.0 if is_narrow else 6.4)
        above, below = figure.subplots(2, 1, height_ratios=(1, 3.0 if is_narrow else 4.6))
        _add_line(above, line)
        _add_plane(below, plane)
    return figure


def _add_line(axes: Axes, line: LineSubset) -> None:
    left = (line.values >= line.first) & (line.values <= line.last)
    axes.axvspan(line.first, line.last, color=style.STACKED, alpha=0.15, linewidth=0, label="likely subset")
    axes.plot(line.values[left], np.zeros(left.sum()), "+", color=style.STACKED, markersize=11, label="value kept")
    axes.plot(
        line.values[~left], np.zeros((~left).sum()), "+", color=style.FAINT, markersize=9, label="value ruled out"
    )
    axes.plot(line.reports, np.zeros(line.reports.size), "o", color=style.NOISY, markersize=5, label="report")
    axes.set(title="On a line: the span of all reports", yticks=[], ylim=(-1, 1), xlabel="value")
    axes.grid(visible=False)
    axes.spines["left"].set_visible(False)
    _add_legend(axes)


def _add_plane(axes: Axes, plane: PlaneSubset) -> None:
    from matplotlib.patches import Polygon

    axes.plot(*plane.dropped.T, ".", color=style.TRUTH_EDGE, markersize=2.2, label="value ruled out")
    axes.plot(*plane.kept.T, ".", color=style.STACKED, markersize=3.4, label="value kept")
    around = Polygon(outline(plane.corners, plane.widening), fill=False, edgecolor=style.STACKED, linewidth=1.8)
    around.set_label(f"hull widened by {plane.widening:.2f} {plane.unit}")
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
    _add_legend(axes)


def _add_legend(axes: Axes) -> None:
    """Add the legend beside the axes, or below if narrow."""
    is_narrow = style.ROOM.get() <= style.NARROW
    if is_narrow:
        axes.set_title(axes.get_title(loc="left").replace(": ", ":\n"))
    below = (0.0, -0.22 if axes.get_ylabel() else -0.75)
    if is_narrow:
        axes.legend(loc="upper left", bbox_to_anchor=below, fontsize=style.SMALL)
    else:
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=style.SMALL)


def _farthest(corners: FloatArray) -> FloatArray:
    """Return the two corners that are farthest apart."""
    apart = np.linalg.norm(corners[:, None] - corners[None], axis=-1)
    return corners[list(np.unravel_index(int(apart.argmax()), apart.shape))]


def outline(corners: FloatArray, distance: float) -> FloatArray:
    """Return the rim of a convex polygon widened by a distance.

    >>> rim = outline(np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), 1.0)
    >>> bool(np.allclose(rim.min(axis=0), -1.0, atol=0.01))
    True
    """
    rim = []
    for before, corner, after in zip(np.roll(corners, 1, axis=0), corners, np.roll(corners, -1, axis=0), strict=True):
        first, last = (np.arctan2(*_outward(*side)[::-1]) for side in ((before, corner), (corner, after)))
        angles = np.linspace(first, first + (last - first) % (2 * np.pi), 24)
        rim.append(corner + distance * np.column_stack([np.cos(angles), np.sin(angles)]))
    return np.concatenate(rim)


def _outward(start: FloatArray, end: FloatArray) -> FloatArray:
    """Return the outward normal of a polygon's side, counter-clockwise."""
    side = end - start
    return np.array([side[1], -side[0]])


LIKELY_SUBSETS = Computation(
    name="likely-subsets",
    title="Values that are left of an unbounded alphabet",
    paper=("fig:convex_likely_linear", "fig:likely_planar"),
    compute=compute,
    kinds={RESULTS: COLUMNS, FACTS: FACT_COLUMNS},
    pictures=(
        Picture(
            "likely-subsets",
            "Values that the reports rule out have probability zero in every maximum-likelihood estimate, so an "
            "unbounded alphabet can be cut to the rest. The reports are those of the paper's drawings.",
            draw,
        ),
    ),
    claims=check,
)
