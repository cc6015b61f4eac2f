"""Curves and clouds of points on common axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from confide.errors import InvalidParameterError
from confide.figures import style
from confide.figures.panels import FloatArray
from confide.figures.plain_axes import mark_decades, new_panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class Curve:
    """Points, joined by a line or not, with a band where they spread.

    Attributes
    ----------
    x, y
        The points.
    color, linestyle, marker
        How they look; no line gives a cloud.
    low, high
        The band around the curve, where there is one.
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
            raise InvalidParameterError(f"A curve needs as many x as y; got {len(self.x)} and {len(self.y)}.")


@dataclass(frozen=True, eq=False)
class CurvePanel:
    """One set of axes: curves by name, each with its look."""

    title: str
    curves: Mapping[str, Curve]
    marks: Mapping[str, float] = field(default_factory=dict)
    """Horizontal lines by name."""


def draw_curves(
    panels: Sequence[CurvePanel],
    *,
    x_label: str,
    y_label: str,
    columns: int = 3,
    size: tuple[float, float] = (4.2, 3.0),
    logarithmic: str = "",
) -> Figure:
    """Draw curves side by side on common axes.

    Parameters
    ----------
    panels
        What to draw.
    x_label, y_label
        What stands at the axes, with units.
    columns
        How many panels stand side by side at most.
    size
        Inches of one panel.
    logarithmic
        Which axes are logarithmic: ``""``, ``"x"``, ``"y"`` or ``"xy"``.

    >>> line = Curve(np.array([1.0, 2.0]), np.array([0.1, 0.2]), "black")
    >>> draw_curves([CurvePanel("", {"a line": line})], x_label="n", y_label="p").axes[0].get_ylabel()
    'p'
    """
    if not panels:
        raise InvalidParameterError("There is nothing to draw; give at least one panel.")
    with style.styled():
        figure, all_axes = new_panels(len(panels), columns, size)
        for axes, panel in zip(all_axes, panels, strict=True):
            for name, curve in panel.curves.items():
                _add_curve(axes, name, curve)
            for name, height in panel.marks.items():
                axes.axhline(height, color=style.FAINT, linewidth=1, linestyle=":", label=name)
            axes.set(xlabel=x_label, title=panel.title)
        _share_axes(all_axes, logarithmic)
        for place in range(0, len(all_axes), columns):
            all_axes[place].set_ylabel(y_label)
        _add_legend(figure, all_axes)
    return figure


def _add_curve(axes: Axes, name: str, curve: Curve) -> None:
    if curve.low is not None and curve.high is not None:
        axes.fill_between(curve.x, curve.low, curve.high, color=curve.color, alpha=0.16, linewidth=0)
    is_cloud = curve.linestyle == "none"
    axes.plot(
        curve.x,
        curve.y,
        color=curve.color,
        linestyle=curve.linestyle,
        marker=curve.marker,
        markersize=3.0 if is_cloud else 4.5,
        alpha=0.65 if is_cloud else 1.0,
        markeredgewidth=0,
        label=name,
    )


def _share_axes(all_axes: Sequence[Axes], logarithmic: str) -> None:
    for axis_name in ("x", "y"):
        limits = np.array([getattr(axes, f"get_{axis_name}lim")() for axes in all_axes])
        low, high = float(limits[:, 0].min()), float(limits[:, 1].max())
        for axes in all_axes:
            if axis_name in logarithmic:
                low, high = _positive_limits(all_axes, axis_name)
                getattr(axes, f"set_{axis_name}scale")("log")
                mark_decades(getattr(axes, f"{axis_name}axis"), low, high)
            getattr(axes, f"set_{axis_name}lim")(low, high)


def _positive_limits(all_axes: Sequence[Axes], axis_name: str) -> tuple[float, float]:
    lines = [line for axes in all_axes for line in axes.get_lines()]
    numbers = np.concatenate([np.asarray(getattr(line, f"get_{axis_name}data")(), dtype=float) for line in lines])
    positive = numbers[np.isfinite(numbers) & (numbers > 0)]
    return float(positive.min()) / 1.2, float(positive.max()) * 1.2


def _add_legend(figure: Figure, all_axes: Sequence[Axes]) -> None:
    named = {
        label: handle
        for axes in all_axes
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
        if label
    }
    if len(named) > 1:
        figure.legend(named.values(), named.keys(), loc="outside upper center", ncols=min(len(named), 4), fontsize=9.5)
