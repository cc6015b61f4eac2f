"""Figures of certainty: series with bands, ranges and residuals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from confide.errors import InvalidDistributionError
from confide.estimates.inference import Interval
from confide.present.figures import style
from confide.present.figures.shares import label_values
from confide.present.figures.style import FloatArray
from confide.values import Alphabet, Grid, LineGeometry

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Residuals within this are nothing unusual; the scale of a map reaches this far at least.
USUAL, LEAST_SCALE = 2.0, 4.0
# Outputs and values without an order that get a bar: those that stand out most.
MOST_BARS = 20


def draw_series(axes: Axes, answers: Mapping[str, Interval]) -> None:
    """Draw answers that follow each other as a line with a band.

    Weeks, dates, waves.
    """
    now, low, high = np.array([(one.estimate, one.low, one.high) for one in answers.values()]).T
    places = np.arange(now.size)
    axes.fill_between(places, low, high, color=style.STACKED, alpha=style.BAND_ALPHA, linewidth=0)
    axes.plot(places, now, marker="o", color=style.STACKED, markersize=4)
    labels = style.shorten(list(answers), 22)
    letters = 9 * axes.figure.get_size_inches()[0]  # type: ignore[union-attr]  # so many stand beside each other
    step = -(-sum(len(one) + 2 for one in labels) // round(letters))
    axes.set_xticks(places[::step], labels[::step])
    axes.grid(visible=False, axis="x")
    first = next(iter(answers.values()))
    if first.is_share:
        style.show_percent(axes.yaxis)
    axes.set_ylabel(first.question)


@style.styled()
def draw_waves(answers: Mapping[str, Interval], width: float) -> Figure:
    """Return answers that follow each other as a figure of their own."""
    figure = style.new_figure(width, 2.6)
    draw_series(figure.add_subplot(), answers)
    return figure


def draw_ranges(
    alphabet: Alphabet, lowest: FloatArray, highest: FloatArray, name: str = "value", *, width: float = style.MIDDLE
) -> Figure:
    """Draw the range of each value's share.

    Of very many values, the widest ranges.

    >>> import confide as cf
    >>> draw_ranges(cf.Integers(1, 3), np.zeros(3), np.array([0.3, 0.7, 0.3])).axes[0].get_xlabel()
    'value'
    """
    for bounds in (lowest, highest):
        if np.shape(bounds) != (alphabet.size,):
            raise InvalidDistributionError(
                f"Give one share for each of {alphabet.size} values; got {np.shape(bounds)}."
            )
    with style.styled():
        if isinstance(alphabet.geometry, LineGeometry):
            figure = style.new_figure(width, 2.9)
            axes = figure.add_subplot()
            places = alphabet.coordinates[:, 0]
            air = 0.008 * float(highest.max())  # a share that is known is a hair, not nothing
            axes.bar(places, np.maximum(highest - lowest, air), 0.72, lowest, color=style.MLE, linewidth=0)
            axes.set_xlim(places[0] - 0.6, places[-1] + 0.6)
            axes.set_ylim(0, 1.06 * max(float(highest.max()), 1e-9))
            axes.grid(visible=False, axis="x")
            style.count_ticks(axes.xaxis, round(1.6 * axes.figure.get_size_inches()[0]))  # type: ignore[union-attr]
            style.show_percent(axes.yaxis)
            axes.set_xlabel(name)
            axes.set_ylabel("share of people")

            return figure
        order = np.argsort(lowest - highest, kind="stable")  # of too many, the widest bars
        shown = np.arange(lowest.size) if lowest.size <= MOST_BARS else order[:MOST_BARS]
        figure = style.new_figure(width, 0.9 + 0.3 * shown.size)
        axes, rows, low, high = figure.add_subplot(), np.arange(shown.size), lowest[shown], highest[shown]
        axes.barh(rows, np.maximum(high - low, 0.006 * high.max()), 0.62, low, color=style.MLE, linewidth=0)
        for place, left, right in zip(rows, low, high, strict=True):
            words = " to ".join(dict.fromkeys(style.percent(round(end, 4)) for end in (left, right)))
            axes.annotate(words, (right, place), (6, 0), textcoords="offset points", va="center", fontsize=style.SMALL)
        style.lay_bars(axes, alphabet.labels(shown))
        axes.set_xlim(0, 1.3 * max(float(high.max()), 1e-9))
        style.show_percent(axes.xaxis)
        axes.set_xlabel("share of people")
    return figure


@style.styled()
def draw_residuals(
    outputs: Alphabet, residuals: FloatArray, name: str = "report", *, width: float = style.MIDDLE
) -> Figure:
    """Draw residuals of outputs in standard errors.

    An output that no value can produce has no residual, which is NaN.

    >>> import confide as cf
    >>> draw_residuals(cf.Integers(0, 2), np.array([0.5, -1.0, 2.5])).axes[0].get_ylabel()
    'standard errors'
    """
    if outputs.grid is not None:
        return _residual_map(outputs.grid, residuals)
    if isinstance(outputs.geometry, LineGeometry):
        figure = style.new_figure(width, 2.4)
        axes = figure.add_subplot()
        places = outputs.coordinates[:, 0]
        heights = np.nan_to_num(residuals)
        axes.axhspan(-USUAL, USUAL, color=style.RULE, alpha=0.6, linewidth=0)
        axes.axhline(0, color=style.TRUTH_EDGE, linewidth=0.8)
        edges = np.append(places - 0.5, places[-1] + 0.5)
        axes.stairs(np.where(heights > 0, heights, 0), edges, fill=True, color=style.NOISY, linewidth=0)
        axes.stairs(np.where(heights < 0, heights, 0), edges, fill=True, color=style.FAINT, linewidth=0)
        axes.set_xlim(places[0] - 0.6, places[-1] + 0.6)
        reach = max(LEAST_SCALE, 1.06 * float(np.abs(heights).max()))
        axes.set_ylim(-reach, reach)
        axes.grid(visible=False, axis="x")
        if outputs.has_labels:
            label_values(axes, outputs)
        else:
            style.count_ticks(axes.xaxis, round(1.6 * axes.figure.get_size_inches()[0]))  # type: ignore[union-attr]
        axes.set_xlabel(name)
        axes.set_ylabel("standard errors")

        return figure
    return _residual_bars(outputs, residuals, width)


def _residual_map(grid: Grid, residuals: FloatArray) -> Figure:
    longer = max(grid.shape)
    figure = style.new_figure(2.1 * max(grid.columns / longer, 0.35) + 1.6, 2.1 * max(grid.rows / longer, 0.35) + 0.7)
    axes = figure.add_subplot()
    axes.set_facecolor(style.HOLE)
    reach = max(LEAST_SCALE, float(np.nanmax(np.abs(residuals), initial=0.0)))
    west, south = grid.first_column - 0.5, grid.first_row - 0.5
    extent = (west, west + grid.columns, south, south + grid.rows)
    picture = grid.picture(residuals)
    image = axes.imshow(picture, origin="lower", extent=extent, interpolation="none", cmap=style.scale("residuals"))
    image.set_clim(-reach, reach)
    axes.grid(visible=False)
    for axis, label in ((axes.xaxis, "column"), (axes.yaxis, "row")):
        style.count_ticks(axis, 6)
        axis.set_label_text(label)
    bar = figure.colorbar(image, ax=axes, shrink=0.9)
    bar.outline.set_linewidth(0.5)
    bar.set_label("standard errors")
    return figure


def _residual_bars(outputs: Alphabet, residuals: FloatArray, width: float) -> Figure:
    heights = np.nan_to_num(residuals)
    shown = np.sort(np.argsort(-np.abs(heights), kind="stable")[:MOST_BARS])
    places = np.arange(shown.size)
    figure = style.new_figure(width, 0.85 + 0.27 * max(3, shown.size))
    axes = figure.add_subplot()
    axes.axvspan(-USUAL, USUAL, color=style.RULE, alpha=0.6, linewidth=0)
    axes.axvline(0, color=style.TRUTH_EDGE, linewidth=0.8)
    colors = [style.NOISY if heights[one] > 0 else style.FAINT for one in shown]
    axes.barh(places, heights[shown], height=0.6, color=colors)
    style.lay_bars(axes, style.shorten(outputs.labels(shown)))
    reach = max(LEAST_SCALE, 1.06 * float(np.abs(heights).max()))
    axes.set_xlim(-reach, reach)
    axes.set_xlabel("standard errors")
    return figure
