"""Which values are left of an endless alphabet: the paper's pictures of likely subsets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from confide.channels.base import FloatArray
from reproduction.base import RESULTS, Claim, Computation, Picture, Tables, judge
from reproduction.table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SPACING = 0.3
"""The side of a cell on the plane, in kilometres."""

PLACES = np.array(
    [
        *([0, 0], [6, 0], [8, 2], [5, 4], [5, 3], [1, 3], [2, 2.4]),
        *([1, 1], [2, 2], [1.5, 2], [3, 2], [3, 0.2], [4, 2.5], [4, 3], [6, 3], [6, 2], [5, 0.5], [5.5, 0.5]),
    ]
)
"""The paper's reports on the plane (fig:likely_planar), east and north in kilometres."""

STEP = 0.75
NUMBERS = np.array([3.0, 4.0, 2.0, 2.5, 0.5, 1.0])
"""The paper's reports on the line (fig:convex_likely_linear), and the spacing of its values."""

COLUMNS = {"picture": "text", "role": "text", "x": "number", "y": "number"}
FACTS, WIDENING = "facts", "delta'"
FACT_COLUMNS = {"name": "text", "amount": "number", "unit": "text"}


def compute() -> dict[str, Table]:
    """Return every point of both pictures with its role, and the distances that the paper names."""
    from confide.theory.likely_subsets.hulls import Hull, discretization_error, widening

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
    """Return the centres of the cells that the paper draws, from -2 to 10 and from -2 to 6 kilometres."""
    east, north = (np.arange(-2 + SPACING / 2, end, SPACING) for end in (10, 6))
    return np.stack(np.meshgrid(east, north), axis=-1).reshape(-1, 2)


def _line() -> list[tuple[str, str, float, float]]:
    """Return the values from below the smallest report to above the largest (proposition likelylinear), and others."""
    values = STEP * np.arange(-2, 10)
    first, last = values[values <= NUMBERS.min()].max(), values[values >= NUMBERS.max()].min()
    is_kept = (values >= first) & (values <= last)
    named = (("report", NUMBERS), ("kept", values[is_kept]), ("ruled out", values[~is_kept]))
    return [point for role, xs in named for point in _points("line", role, np.column_stack([xs, np.zeros(xs.size)]))]


def _points(picture: str, role: str, points: FloatArray) -> list[tuple[str, str, float, float]]:
    return [(picture, role, float(x), float(y)) for x, y in points]


def draw(tables: Tables) -> Figure:
    """Draw both pictures."""
    from reproduction.subsets import LineSubset, PlaneSubset, draw_subsets

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
            ("d_max", 8.25, "the largest distance between reports, d_max", ""),
            (
                "delta' of the paper",
                1.87,
                "the widening delta'",
                f"From delta and d_max rounded to two digits, as the paper has it; {facts[WIDENING]:.4f} unrounded.",
            ),
        )
    ]


EXPERIMENT = Computation(
    name="likely-subsets",
    title="Which values are left of an endless alphabet",
    paper=("fig:convex_likely_linear", "fig:likely_planar"),
    compute=compute,
    kinds={RESULTS: COLUMNS, FACTS: FACT_COLUMNS},
    pictures=(
        Picture(
            "likely-subsets",
            "Values that the reports rule out have probability zero in every maximum-likelihood estimate, so an "
            "endless alphabet can be cut to the rest. The reports are those of the paper's drawings.",
            draw,
        ),
    ),
    claims=check,
)
