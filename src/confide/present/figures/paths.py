"""Paths of iterative methods: the log-likelihood, iteration by iteration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from confide.errors import InvalidParameterError
from confide.present.figures import style
from confide.present.figures.palette import colors_of
from confide.present.figures.panels import FloatArray
from confide.present.figures.style import mark_decades

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_POINTS = 400


def draw_path(
    paths: Mapping[str, Sequence[float]],
    *,
    ceiling: float | None = None,
    colors: Mapping[str, str] | None = None,
    width: float = style.MIDDLE,
) -> Figure:
    """Draw how far each method was from the highest log-likelihood, iteration by iteration.

    Parameters
    ----------
    paths
        The log-likelihood after each iteration, by the method's name; empty paths are left out.
    ceiling
        What no log-likelihood can exceed: that of an estimate plus its certificate. With it a band is drawn, for
        the maximum lies somewhere between the highest that was reached and the ceiling.
    colors
        The colour of each method, where other figures have given it one.
    width
        Inches across.

    >>> draw_path({"IBU": [-30.0, -20.0, -19.0]}).axes[0].get_xlabel()
    'iteration'
    """
    climbed = {name: np.asarray(path, dtype=np.float64) for name, path in paths.items() if len(path)}
    if not climbed:
        raise InvalidParameterError("There is no path to draw; only iterative methods have one.")
    reached = max(float(path.max()) for path in climbed.values())
    chosen = colors or dict(zip(climbed, colors_of(list(climbed)), strict=True))
    with style.styled():
        named = len(climbed) * (1 if ceiling is None else 2) if len(climbed) > 1 or ceiling is not None else 0
        figure = style.new_figure(width, 2.5 + 0.22 * named)
        axes = figure.add_subplot(xscale="log", yscale="log", xlabel="iteration")
        axes.set_ylabel("log-likelihood below\n" + ("the highest reached" if ceiling is None else "the maximum"))
        for name, path in climbed.items():
            _add_path(axes, path, reached, ceiling, (name, chosen[name]))
        mark_decades(axes.xaxis, *axes.get_xlim())
        mark_decades(axes.yaxis, *axes.get_ylim())
        if named:  # above: names may be longer than the axes
            figure.legend(loc="outside upper left", fontsize=style.SMALL)
    return figure


def _add_path(
    axes: Axes, path: FloatArray, reached: float, ceiling: float | None, name_and_color: tuple[str, str]
) -> None:
    """Draw one distance, or the band between the least and the most that it can be."""
    name, color = name_and_color
    iterations = _spread(path)
    chosen = path[iterations - 1]
    marker = "o" if iterations.size < 3 else ""
    least = _above_zero(reached - chosen)
    if ceiling is None:
        axes.plot(iterations, least, color=color, label=name, marker=marker)
        return
    most = _above_zero(max(ceiling, reached) - chosen)
    axes.plot(iterations, most, color=color, label=f"{name}, at most", marker=marker)
    axes.plot(iterations, least, color=color, label=f"{name}, at least", marker=marker, linewidth=1, linestyle="--")
    axes.fill_between(iterations, np.fmin(least, most), most, color=color, alpha=0.12, linewidth=0)


def _spread(path: FloatArray) -> NDArray[np.int64]:
    """Return numbers of iterations, from 1, spread evenly over a logarithmic axis."""
    return np.unique(np.geomspace(1, path.size, min(path.size, MOST_POINTS)).round().astype(np.int64))


def _above_zero(gaps: FloatArray) -> FloatArray:
    """Return gaps with gaps in them: a logarithmic axis has no place for zero, nor for what is not finite."""
    return np.where(np.isfinite(gaps) & (gaps > 0), gaps, np.nan)
