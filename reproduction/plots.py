"""Plots of the reproduction: boxes, curves, clouds and likelihood landscapes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from confide.errors import InvalidParameterError
from confide.present.figures import style
from confide.present.figures.style import FloatArray, colors_of, mark_decades, ordered

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Quartiles of fewer numbers say nothing: they are drawn as points.
FEWEST_FOR_A_BOX = 5
CONTOURS = 14
# Letters of names of which two stand beside each other on a telephone.
LONGEST_OF_TWO = 17


def new_panels(count: int, columns: int, size: tuple[float, float]) -> tuple[Figure, list[Axes]]:
    """Return a figure with empty axes, in rows of `columns`.

    The size is that of one panel.
    """
    if not count:
        raise InvalidParameterError("There is nothing to draw; give at least one panel.")
    beside = style.columns_within(min(count, columns), size[0])
    rows = -(-count // beside)
    # Room for the legend, which stands above all panels; on a telephone in several lines.
    legend = 1.2 if style.ROOM.get() <= style.NARROW else 0.35
    figure = style.new_figure(min(beside * size[0], style.ROOM.get()), rows * size[1] + legend)
    return figure, [figure.add_subplot(rows, beside, place) for place in range(1, count + 1)]


def _legend_columns(names: Sequence[str], most: int) -> int:
    """Return the number of names side by side in a legend."""
    narrow = 2 if max(map(len, names)) <= LONGEST_OF_TWO else 1
    return min(len(names), narrow if style.ROOM.get() <= style.NARROW else most)


@dataclass(frozen=True, eq=False)
class BoxPanel:
    """Axes with groups of boxes.

    Attributes
    ----------
    title
        Words above the axes.
    levels
        Words below each group of boxes.
    series
        By name, the numbers at each level; empty where there are none.
    y_label
        Words at the vertical axis. Panels with the same label share one range.
    """

    title: str
    levels: tuple[str, ...]
    series: Mapping[str, Sequence[FloatArray]]
    y_label: str = ""

    def __post_init__(self) -> None:
        for name, groups in self.series.items():
            if len(groups) != len(self.levels):
                raise InvalidParameterError(f"{name!r} needs numbers for {len(self.levels)} levels; got {len(groups)}.")


def draw_boxes(
    panels: Sequence[BoxPanel],
    *,
    x_label: str,
    columns: int = 3,
    is_logarithmic: bool = True,
    is_ordered: bool = False,
) -> Figure:
    """Draw box plots: median, quartiles, and whiskers to the extremes.

    Panels whose vertical axes have the same label share one range, so that heights can be compared. Series that are
    ordered, such as settings of one method, have shades of a scale; others the colour of their method.

    >>> panel = BoxPanel("ages", ("0.1", "0.3"), {"IBU": [np.array([0.5, 0.6]), np.array([0.2, 0.3])]}, "EMD (years)")
    >>> draw_boxes([panel], x_label="epsilon").axes[0].get_ylabel()
    'EMD (years)'
    """
    names = list(dict.fromkeys(name for panel in panels for name in panel.series))
    colors = dict(zip(names, ordered(len(names)) if is_ordered else colors_of(names), strict=True))
    with style.styled():
        figure, all_axes = new_panels(len(panels), columns, (_width(panels, len(names)), 3.1))
        for axes, panel in zip(all_axes, panels, strict=True):
            _add_boxes(axes, panel, colors)
            below = x_label.replace("; ", ";\n") if style.ROOM.get() <= style.NARROW else x_label
            axes.set(xlabel=below, ylabel=panel.y_label, title=panel.title)
            alike = [other for other in panels if other.y_label == panel.y_label]
            limits = _limits(alike, is_logarithmic=is_logarithmic)
            if is_logarithmic:
                axes.set_yscale("log")
                mark_decades(axes.yaxis, *limits)
            axes.set_ylim(*limits)
        _name_series(figure, colors)
    return figure


def _name_series(figure: Figure, colors: Mapping[str, str]) -> None:
    from matplotlib.patches import Patch

    handles = [Patch(color=color, label=name) for name, color in colors.items()]
    beside = _legend_columns(list(colors), len(handles))
    figure.legend(handles=handles, loc="outside upper center", ncols=beside, fontsize=10, handlelength=1.1)


def _add_boxes(axes: Axes, panel: BoxPanel, colors: Mapping[str, str]) -> None:
    width = 0.8 / len(colors)
    for order, (name, color) in enumerate(colors.items()):
        offset = (order - (len(colors) - 1) / 2) * width
        for place, numbers in enumerate(panel.series.get(name, ())):
            if len(numbers):
                _add_box(axes, np.asarray(numbers), place + offset, 0.8 * width, color)
    for place in range(1, len(panel.levels)):
        axes.axvline(place - 0.5, color=style.RULE, linewidth=0.8, zorder=0)
    axes.set_xticks(range(len(panel.levels)), panel.levels)
    axes.set_xlim(-0.5, len(panel.levels) - 0.5)
    axes.grid(visible=False, axis="x")
    axes.tick_params(axis="x", length=0)


def _add_box(axes: Axes, numbers: FloatArray, place: float, width: float, color: str) -> None:
    low, high = float(numbers.min()), float(numbers.max())
    axes.plot([place, place], [low, high], color=color, linewidth=0.9)
    if numbers.size < FEWEST_FOR_A_BOX:
        axes.plot(np.full(numbers.size, place), numbers, linestyle="none", marker="o", markersize=3.2, color=color)
        return
    first, middle, third = np.quantile(numbers, (0.25, 0.5, 0.75)).tolist()
    axes.bar(place, third - first, width, bottom=first, color=color, linewidth=0)
    ends = place - width / 2, place + width / 2
    axes.plot(ends, [middle, middle], color=style.CARD, linewidth=1.1, solid_capstyle="butt")
    # A box that is flatter than its own median line would vanish under it.
    axes.plot(ends, [third, third], color=color, linewidth=0.8, solid_capstyle="butt")
    axes.plot(ends, [first, first], color=color, linewidth=0.8, solid_capstyle="butt")


def _limits(panels: Sequence[BoxPanel], *, is_logarithmic: bool) -> tuple[float, float]:
    """Return a common axis for all panels, with a little air."""
    numbers = np.concatenate([np.ravel(one) for panel in panels for groups in panel.series.values() for one in groups])
    if not numbers.size:
        raise InvalidParameterError("There is nothing to draw; every series is empty.")
    high = float(numbers.max())
    if not is_logarithmic:
        return 0.0, 1.04 * max(high, 1e-12)
    low = float(numbers[numbers > 0].min()) if (numbers > 0).any() else 0.1 * high
    return low / 1.15, 1.15 * max(high, low * 1.01)


def _width(panels: Sequence[BoxPanel], series: int) -> float:
    """Return inches that leave a box wide enough to be seen."""
    levels = max((len(panel.levels) for panel in panels), default=0)
    return float(np.clip(0.9 + 0.092 * levels * series, 3.6, 5.6))


@dataclass(frozen=True, eq=False)
class Series:
    """Points with a line or as a cloud, and their band.

    Attributes
    ----------
    x, y
        Places of the points.
    color, linestyle, marker
        Look of the line; ``"none"`` for the line gives a cloud.
    low, high
        Ends of the band around the line, where there is one.
    """

    x: FloatArray
    y: FloatArray
    color: str
    linestyle: str = "-"
    marker: str = ""
    low: FloatArray | None = None
    high: FloatArray | None = None

    def __post_init__(self) -> None:
        if len(self.x) != len(self.y):
            raise InvalidParameterError(f"A series needs as many x as y; got {len(self.x)} and {len(self.y)}.")


def draw_curves(
    panels: Mapping[str, Mapping[str, Series]],
    *,
    x_label: str,
    y_label: str,
    size: tuple[float, float],
    logarithmic: str = "",
) -> Figure:
    """Draw curves and clouds by name, in one or two panels.

    Panels share their axes.

    Parameters
    ----------
    panels
        By title, the curves by name.
    x_label, y_label
        Words at the axes, with units.
    size
        Inches of one panel.
    logarithmic
        Axes that are logarithmic: ``""``, ``"x"``, ``"y"`` or ``"xy"``.

    Examples
    --------
    >>> line = Series(np.array([1.0, 2.0]), np.array([0.1, 0.2]), "black")
    >>> draw_curves({"": {"a line": line}}, x_label="n", y_label="p", size=(4, 3)).axes[0].get_ylabel()
    'p'
    """
    with style.styled():
        figure, all_axes = new_panels(len(panels), 2, size)
        for axes, (title, curves) in zip(all_axes, panels.items(), strict=True):
            for name, curve in curves.items():
                _add_series(axes, name, curve)
            axes.set(xlabel=x_label, title=title)
        _share_axes(all_axes, logarithmic)
        for axes in all_axes[::2]:
            axes.set_ylabel(y_label)
        named = {
            label: handle for axes in all_axes for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
        }
        beside = _legend_columns(list(named), 4)
        figure.legend(named.values(), named.keys(), loc="outside upper center", ncols=beside, fontsize=style.SMALL)
    return figure


def _add_series(axes: Axes, name: str, series: Series) -> None:
    if series.low is not None and series.high is not None:
        axes.fill_between(series.x, series.low, series.high, color=series.color, alpha=0.16, linewidth=0)
    is_cloud = series.linestyle == "none"
    axes.plot(
        series.x,
        series.y,
        color=series.color,
        linestyle=series.linestyle,
        marker=series.marker,
        markersize=3.0 if is_cloud else 4.5,
        alpha=0.65 if is_cloud else 1.0,
        markeredgewidth=0,
        label=name,
    )


def _share_axes(all_axes: Sequence[Axes], logarithmic: str) -> None:
    for name in ("x", "y"):
        lows, highs = zip(*(getattr(axes, f"get_{name}lim")() for axes in all_axes), strict=True)
        low, high = min(lows), max(highs)
        if name in logarithmic:
            low, high = _positive_limits(all_axes, name)
        for axes in all_axes:
            if name in logarithmic:
                getattr(axes, f"set_{name}scale")("log")
                mark_decades(getattr(axes, f"{name}axis"), low, high)
            getattr(axes, f"set_{name}lim")(low, high)


def _positive_limits(all_axes: Sequence[Axes], name: str) -> tuple[float, float]:
    lines = [line for axes in all_axes for line in axes.get_lines()]
    numbers = np.concatenate([np.asarray(getattr(line, f"get_{name}data")(), dtype=float) for line in lines])
    positive = numbers[np.isfinite(numbers) & (numbers > 0)]
    return float(positive.min()) / 1.2, float(positive.max()) * 1.2


@dataclass(frozen=True, eq=False)
class Surface:
    """Log-likelihood over the triangle of theta_1 and theta_3.

    theta_1, theta_3 >= 0 and theta_1 + theta_3 <= 1.

    Attributes
    ----------
    title, remark
        Words above it.
    first, third
        theta_1 and theta_3 of each point; theta_2 is what is left to one.
    heights
        Log-likelihood there.
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

    >>> corner = np.array([0.0, 1.0, 0.0])
    >>> surface = Surface("L", "", corner, np.array([0.0, 0.0, 1.0]), np.array([-3.0, -2.0, -1.0]), np.array([[0, 1]]))
    >>> draw_surfaces([surface], x_label="first", y_label="third").axes[0].get_xlabel()
    'first'
    """
    from matplotlib.lines import Line2D

    with style.styled():
        figure, all_axes = new_panels(len(surfaces), 2, (4.9, 4.0))  # a telephone has them below each other
        for axes, surface in zip(all_axes, surfaces, strict=True):
            _add_surface(figure, axes, surface)
            axes.set(xlabel=x_label, ylabel=y_label, aspect="equal", xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
        handle = Line2D([], [], color=style.MLE, linewidth=3.2, marker="o", markersize=7, label="where L is highest")
        figure.legend(handles=[handle], loc="outside upper right", fontsize=10)
    return figure


def _add_surface(figure: Figure, axes: Axes, surface: Surface) -> None:
    from matplotlib.tri import Triangulation

    mesh = Triangulation(surface.first, surface.third)
    filled = axes.tricontourf(mesh, surface.heights, levels=CONTOURS, cmap=style.heat().reversed())
    axes.tricontour(mesh, surface.heights, levels=CONTOURS, colors=style.CARD, linewidths=0.5, linestyles="solid")
    axes.plot(*surface.tops.T, color=style.MLE, linewidth=3.2, marker="o", markersize=7, clip_on=False, zorder=5)
    axes.grid(visible=False)
    # Words that are longer than the axes would shrink them.
    is_narrow = style.ROOM.get() <= style.NARROW
    title, remark = surface.title, surface.remark
    if is_narrow:
        title, remark = title.replace(", ", ",\n", 1), remark.replace("; ", ";\n")
    axes.set_title(title, pad=20 + 14 * remark.count("\n"))
    axes.annotate(remark, (0, 1), (0, 6), xycoords="axes fraction", textcoords="offset points", color=style.FAINT)
    bar = figure.colorbar(filled, ax=axes, shrink=0.85, aspect=22, location="bottom" if is_narrow else "right")
    bar.outline.set_linewidth(0.5)
    bar.set_label("log-likelihood L (nats)")
