"""Box plots: how an error spreads over repeats, by method and by level."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from confide.errors import InvalidParameterError
from confide.figures import style
from confide.figures.panels import FloatArray
from confide.figures.plain_axes import mark_decades, name_series, new_panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FEWEST_FOR_A_BOX = 5
"""Fewer numbers than this are drawn as points, for their quartiles say nothing."""


@dataclass(frozen=True, eq=False)
class BoxPanel:
    """One set of axes.

    Attributes
    ----------
    title
        What stands above it.
    levels
        What stands below each group of boxes.
    series
        By name, the numbers at each level; empty where there are none.
    y_label
        What stands at its vertical axis. Panels with the same label share one axis.
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
    colors: Mapping[str, str] | None = None,
) -> Figure:
    """Draw box plots side by side: median, quartiles, and whiskers to the extremes.

    Panels whose vertical axes have the same label share one range, so that heights can be compared.

    >>> panel = BoxPanel("ages", ("0.1", "0.3"), {"IBU": [np.array([0.5, 0.6]), np.array([0.2, 0.3])]}, "EMD (years)")
    >>> draw_boxes([panel], x_label="epsilon").axes[0].get_ylabel()
    'EMD (years)'
    """
    if not panels:
        raise InvalidParameterError("There is nothing to draw; give at least one panel.")
    names = list(dict.fromkeys(name for panel in panels for name in panel.series))
    chosen = dict(colors) if colors else {name: style.color_of(name, place) for place, name in enumerate(names)}
    with style.styled():
        figure, all_axes = new_panels(len(panels), columns, (_width(panels, len(names)), 3.1))
        for axes, panel in zip(all_axes, panels, strict=True):
            _add_panel(axes, panel, names, chosen)
            axes.set(xlabel=x_label, ylabel=panel.y_label, title=panel.title)
            alike = [other for other in panels if other.y_label == panel.y_label]
            limits = _limits(alike, is_logarithmic=is_logarithmic)
            if is_logarithmic:
                axes.set_yscale("log")
                mark_decades(axes.yaxis, *limits)
            axes.set_ylim(*limits)
        name_series(figure, names, [chosen[name] for name in names])
    return figure


def _add_panel(axes: Axes, panel: BoxPanel, names: Sequence[str], colors: Mapping[str, str]) -> None:
    width = 0.8 / len(names)
    for order, name in enumerate(names):
        offset = (order - (len(names) - 1) / 2) * width
        for place, numbers in enumerate(panel.series.get(name, ())):
            if len(numbers):
                _add_box(axes, np.asarray(numbers), place + offset, 0.8 * width, colors[name])
    for place in range(1, len(panel.levels)):
        axes.axvline(place - 0.5, color=style.RULE, linewidth=0.8, zorder=0)
    axes.set_xticks(range(len(panel.levels)), panel.levels)
    axes.set_xlim(-0.5, len(panel.levels) - 0.5)
    axes.grid(visible=False, axis="x")
    axes.tick_params(axis="x", length=0)


def _add_box(axes: Axes, numbers: FloatArray, place: float, width: float, color: str) -> None:
    low, high = float(numbers.min()), float(numbers.max())
    if numbers.size < FEWEST_FOR_A_BOX:
        axes.plot([place, place], [low, high], color=color, linewidth=1.0)
        axes.plot(np.full(numbers.size, place), numbers, linestyle="none", marker="o", markersize=3.2, color=color)
        return
    first, middle, third = np.quantile(numbers, (0.25, 0.5, 0.75)).tolist()
    axes.plot([place, place], [low, high], color=color, linewidth=0.9)
    axes.bar(place, third - first, width, bottom=first, color=color, linewidth=0)
    ends = place - width / 2, place + width / 2
    axes.plot(ends, [middle, middle], color="white", linewidth=1.1, solid_capstyle="butt")
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
    levels = max(len(panel.levels) for panel in panels)
    return float(np.clip(0.9 + 0.092 * levels * series, 3.6, 5.2))
