"""The log-likelihood over all distributions on three values, as a landscape in a triangle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from confide.errors import InvalidParameterError
from confide.figures import style
from confide.figures.panels import FloatArray
from confide.figures.plain_axes import new_panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CONTOURS = 14


@dataclass(frozen=True, eq=False)
class Surface:
    """Heights over points of the triangle theta_1, theta_3 >= 0, theta_1 + theta_3 <= 1.

    Attributes
    ----------
    title, remark
        What stands above it.
    first, third
        theta_1 and theta_3 of each point; theta_2 is what is left to one.
    heights
        The log-likelihood there.
    tops
        Points of the maximum: one, or the two ends of an edge of maxima.
    """

    title: str
    remark: str
    first: FloatArray
    third: FloatArray
    heights: FloatArray
    tops: FloatArray


def draw_surfaces(surfaces: Sequence[Surface], *, x_label: str, y_label: str) -> Figure:
    """Draw landscapes as contours, with their tops marked.

    >>> import numpy as np
    >>> corner = np.array([0.0, 1.0, 0.0])
    >>> surface = Surface("L", "", corner, np.array([0.0, 0.0, 1.0]), np.array([-3.0, -2.0, -1.0]), np.array([[0, 1]]))
    >>> draw_surfaces([surface], x_label="first", y_label="third").axes[0].get_xlabel()
    'first'
    """
    if not surfaces:
        raise InvalidParameterError("There is nothing to draw; give at least one surface.")
    with style.styled():
        figure, all_axes = new_panels(len(surfaces), 2, (4.9, 4.0))
        for axes, surface in zip(all_axes, surfaces, strict=True):
            _add_surface(figure, axes, surface)
            axes.set(xlabel=x_label, ylabel=y_label, aspect="equal", xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
        _name_tops(figure)
    return figure


def _add_surface(figure: Figure, axes: Axes, surface: Surface) -> None:
    from matplotlib.tri import Triangulation

    mesh = Triangulation(surface.first, surface.third)
    filled = axes.tricontourf(mesh, surface.heights, levels=CONTOURS, cmap=style.heat().reversed())
    axes.tricontour(mesh, surface.heights, levels=CONTOURS, colors="white", linewidths=0.5, linestyles="solid")
    axes.plot(*surface.tops.T, color=style.NOISY, linewidth=3.2, marker="o", markersize=7, clip_on=False, zorder=5)
    axes.grid(visible=False)
    axes.set_title(surface.title, pad=20)
    axes.annotate(
        surface.remark, (0, 1), (0, 6), xycoords="axes fraction", textcoords="offset points", color=style.FAINT
    )
    bar = figure.colorbar(filled, ax=axes, shrink=0.85, aspect=22)
    bar.outline.set_linewidth(0.5)
    bar.set_label("log-likelihood L (nats)")


def _name_tops(figure: Figure) -> None:
    from matplotlib.lines import Line2D

    handle = Line2D([], [], color=style.NOISY, linewidth=3.2, marker="o", markersize=7, label="where L is highest")
    figure.legend(handles=[handle], loc="outside upper right", fontsize=10)
