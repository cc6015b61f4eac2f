"""The likelihood over distributions of three values: a triangle."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from confide.errors import InvalidParameterError
from confide.present.figures import style
from confide.present.figures.style import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Corners of the triangle, one a value.
CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(3) / 2]])
# Steps along each side at which the likelihood is computed; fewer from the side, where every facet is drawn.
FINENESS, SIDE_FINENESS = 90, 24
# Inches of a side: two stand beside each other on a tablet.
SIDE = 3.6
# Contours, each half as far below the maximum as the last.
LEVELS = 9

# The best explanations, light around dark, so that they stand out from every shade of the surface.
OUTLINED: tuple[dict[str, Any], ...] = (
    {"color": style.CARD, "linewidth": 6, "marker": "o", "markersize": 10},
    {"color": style.MLE, "linewidth": 3, "marker": "o", "markersize": 6},
)

Likelihood = Callable[[FloatArray], FloatArray]
"""Takes distributions, one a row, and returns their log-likelihoods."""


def draw_simplex(labels: Sequence[str], likelihood: Likelihood, best: FloatArray) -> Figure:
    """Draw a log-likelihood over the triangle, from above.

    Parameters
    ----------
    labels
        What the three values are called.
    likelihood
        Takes distributions, one a row, and returns their log-likelihoods.
    best
        Corners of the set of maximum-likelihood estimates, one a row: one point, the ends of a line, or more.

    Examples
    --------
    >>> figure = draw_simplex(["a", "b", "c"], lambda points: np.log(points @ [0.2, 0.5, 0.3]), np.array([[0, 1.0, 0]]))
    >>> len(figure.axes)
    2
    """
    _check(labels, best)
    points = simplex_points(FINENESS)
    below = _below_maximum(likelihood, points, best)
    with style.styled():
        figure = style.new_figure(SIDE, SIDE)
        axes = figure.add_subplot()
        _add_contours(figure, axes, points @ CORNERS, below)
        _add_frame(axes, labels)
        _add_set(axes, best @ CORNERS)
    return figure


def draw_simplex_from_the_side(labels: Sequence[str], likelihood: Likelihood, best: FloatArray) -> Figure:
    """Draw the same as a surface, as the paper does.

    The axes are the shares of the first and the last value.
    """
    _check(labels, best)
    points = _fan(SIDE_FINENESS)
    below = _below_maximum(likelihood, points.reshape(-1, 3), best).reshape(points.shape[:2])
    with style.styled():
        figure = style.new_figure(SIDE, SIDE)
        axes = figure.add_subplot(projection="3d", computed_zorder=False)
        counts = dict.fromkeys(("rcount", "ccount"), SIDE_FINENESS + 1)
        surface = axes.plot_surface(points[..., 0], points[..., 2], -below, cmap=style.heat(), linewidth=0.3, **counts)
        surface.set_edgecolor("face")  # white edges so close together shimmer, and none at all leave hairlines
        order = np.append(_around(best @ CORNERS), _around(best @ CORNERS)[0])
        for look in OUTLINED:
            axes.plot(best[order, 0], best[order, 2], np.zeros(order.size), **look)
        axes.view_init(elev=28, azim=-128)
        axes.set_box_aspect(None, zoom=0.8)  # words at its axes stay inside
        axes.set_xlabel(f"share of {labels[0]}")
        axes.set_ylabel(f"share of {labels[2]}")
        for axis in (axes.xaxis, axes.yaxis):
            style.show_percent(axis)
    return figure


def simplex_points(fineness: int) -> FloatArray:
    """Return distributions spread evenly over the triangle, corners included.

    >>> simplex_points(1).tolist()
    [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]
    """
    pairs = [(first, second) for first in range(fineness + 1) for second in range(fineness + 1 - first)]
    shares = np.array(pairs, dtype=np.float64) / fineness
    return np.column_stack([shares, np.maximum(1 - shares.sum(axis=1), 0.0)])


def _fan(fineness: int) -> FloatArray:
    """Return distributions in rows that spread from the second corner.

    They end on the opposite side.

    Four neighbours make a facet, so that all facets look one way; triangles would point up and down in turns.
    """
    reach, turn = np.meshgrid(*[np.linspace(0, 1, fineness + 1)] * 2, indexing="ij")
    return np.stack([reach * (1 - turn), 1 - reach, reach * turn], axis=-1)


def _check(labels: Sequence[str], best: FloatArray) -> None:
    if len(labels) != 3 or best.ndim != 2 or best.shape[1] != 3:
        raise InvalidParameterError(f"A triangle shows three values; got {len(labels)} labels and shape {best.shape}.")


def _below_maximum(likelihood: Likelihood, points: FloatArray, best: FloatArray) -> FloatArray:
    """Return how far each point is below the maximum.

    Impossible points count as the lowest possible one.
    """
    below: FloatArray = np.maximum(float(likelihood(best).max()) - likelihood(points), 0.0)
    possible = np.isfinite(below)
    return np.where(possible, below, below[possible].max(initial=1.0))


def _add_contours(figure: Figure, axes: Axes, places: FloatArray, below: FloatArray) -> None:
    from matplotlib.colors import BoundaryNorm

    deepest = max(float(below.max()), 1e-9)
    levels = np.concatenate([[0.0], deepest * 0.5 ** np.arange(LEVELS - 1, -1, -1)])
    colors = style.heat().reversed()
    norm = BoundaryNorm(levels, colors.N)
    shading = axes.tricontourf(places[:, 0], places[:, 1], below, levels=levels, cmap=colors, norm=norm)
    axes.tricontour(places[:, 0], places[:, 1], below, levels=levels[1:-1], colors=style.CARD, linewidths=0.5)
    bar = figure.colorbar(
        shading, ax=axes, orientation="horizontal", shrink=0.85, aspect=30, ticks=levels[[0, 3, 5, 7, 9]]
    )
    bar.ax.set_xticklabels([f"{level:.3g}" for level in levels[[0, 3, 5, 7, 9]]])
    bar.outline.set_linewidth(0.5)
    bar.set_label("log-likelihood below the maximum")


def _add_frame(axes: Axes, labels: Sequence[str]) -> None:
    closed = CORNERS[[0, 1, 2, 0]]
    axes.plot(closed[:, 0], closed[:, 1], color=style.TRUTH_EDGE, linewidth=1)
    for corner, label, (align, drop) in zip(
        CORNERS, labels, (("left", -12), ("right", -12), ("center", 12)), strict=True
    ):
        axes.annotate(f"only {label}", corner, (0, drop), textcoords="offset points", ha=align, va="center")
    axes.set_aspect("equal")
    axes.set_axis_off()
    axes.set_xlim(-0.05, 1.05)
    axes.set_ylim(-0.09, 0.95)


def _add_set(axes: Axes, places: FloatArray) -> None:
    """Draw the best explanations: a point, a line or a polygon."""
    ordered = places[_around(places)]
    axes.fill(ordered[:, 0], ordered[:, 1], color=style.MLE, alpha=0.35, linewidth=0)
    closed = np.vstack([ordered, ordered[:1]])
    for look in OUTLINED:
        axes.plot(closed[:, 0], closed[:, 1], solid_capstyle="round", clip_on=False, **look)


def _around(places: FloatArray) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return the order in which points stand around their middle."""
    away = places - places.mean(axis=0)
    return np.asarray(np.argsort(np.arctan2(away[:, 1], away[:, 0])), dtype=np.int64)
